/* How a wire header is written down: one field list, from which the compiler makes the struct, the
 * decoder, the encoder and the table that printers and tests walk.
 *
 *	#define UDP_FIELDS(F) \
 *		F(sport,    0, 16) \
 *		F(dport,   16, 16) \
 *		...
 *	WIRE_HEADER(udp, 8, UDP_FIELDS)       in the header file
 *	WIRE_DEFINE(udp, UDP_FIELDS)          in one source file
 *
 * gives struct udp, udp_bytes, udp_get(p, &h), udp_put(&h, p), udp_print(&h, out) and the table
 * udp_layout().
 * A line is name, first bit and width, as the specification draws them, most significant bit
 * first; the fields tile the header. Up to 64 bits are an unsigned integer, more are a byte array
 * (whole bytes only). A name that starts with "rsv" is reserved: kept, so that decoding and
 * encoding give the same bytes, and shown only when it is not zero.
 *
 * get and put know no lengths: callers pass bytes that take() gave them. */
#ifndef WEFT_WIRE_HEADER_H
#define WEFT_WIRE_HEADER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/span.h"

/* One line of a field list, for those who walk fields at run time. */
struct wire_field {
	const char *name;
	uint16_t bit, width; /* on the wire */
	uint16_t at, size;   /* in the struct */
};

struct wire_layout {
	const char *name;
	uint16_t bytes, size; /* on the wire; of the struct */
	uint16_t n_fields;
	const struct wire_field *fields;
	void (*get)(const uint8_t *p, void *h);
	void (*put)(const void *h, uint8_t *p);
};

/* Writes "name field=value ..." into out, always terminated; returns the length it needed. */
uint32_t wire_print(const struct wire_layout *layout, const void *h, struct span out);

/* The value of an integer field (at most 64 bits wide) straight from the header's bytes. */
uint64_t wire_field_value(const struct wire_field *f, const uint8_t *header);

/* The value of an integer field in the header's struct. */
uint64_t wire_member_value(const struct wire_field *f, const void *h);

/* The field of that name, or NULL. */
const struct wire_field *wire_field_find(const struct wire_layout *layout, const char *name);

/* Reserved fields are sent as zero and ignored on receipt. */
bool wire_field_is_reserved(const struct wire_field *f);

#define WIRE_INLINE static inline __attribute__((always_inline))

/* Bits [bit, bit + width) of p, width at most 64 and within 8 bytes. */
WIRE_INLINE uint64_t wire_bits_get(const uint8_t *p, unsigned bit, unsigned width)
{
	const uint8_t *q = p + bit / 8;
	unsigned bytes = (bit % 8 + width + 7) / 8;
	uint64_t v;

	switch (bytes) {
	case 1: v = q[0]; break;
	case 2: v = get_be16(q); break;
	case 3: v = get_be24(q); break;
	case 4: v = get_be32(q); break;
	case 5: v = (uint64_t)q[0] << 32 | get_be32(q + 1); break;
	case 6: v = (uint64_t)get_be16(q) << 32 | get_be32(q + 2); break;
	case 7: v = (uint64_t)get_be24(q) << 32 | get_be32(q + 3); break;
	default: v = get_be64(q); break;
	}
	return v >> (bytes * 8 - bit % 8 - width) & (UINT64_MAX >> (64 - width));
}

/* Sets those bits to the low bits of v. They must be zero before. */
WIRE_INLINE void wire_bits_put(uint8_t *p, unsigned bit, unsigned width, uint64_t v)
{
	uint8_t *q = p + bit / 8;
	unsigned bytes = (bit % 8 + width + 7) / 8;

	v = (v & (UINT64_MAX >> (64 - width))) << (bytes * 8 - bit % 8 - width);
	switch (bytes) {
	case 1: q[0] = (uint8_t)(q[0] | v); break;
	case 2: put_be16(q, (uint16_t)(get_be16(q) | v)); break;
	case 3: put_be24(q, (uint32_t)(get_be24(q) | v)); break;
	case 4: put_be32(q, (uint32_t)(get_be32(q) | v)); break;
	case 5:
		q[0] = (uint8_t)(q[0] | v >> 32);
		put_be32(q + 1, (uint32_t)(get_be32(q + 1) | v));
		break;
	case 6:
		put_be16(q, (uint16_t)(get_be16(q) | v >> 32));
		put_be32(q + 2, (uint32_t)(get_be32(q + 2) | v));
		break;
	case 7:
		put_be24(q, (uint32_t)(get_be24(q) | v >> 32));
		put_be32(q + 3, (uint32_t)(get_be32(q + 3) | v));
		break;
	default: put_be64(q, get_be64(q) | v); break;
	}
}

/* One field between the wire and a struct member of the given size. The arguments after the
 * pointers are constants, so that a call compiles to a load, a shift and a store. */
WIRE_INLINE void wire_load(void *member, unsigned size, const uint8_t *p, unsigned bit,
			   unsigned width)
{
	if (width > 64) {
		memcpy(member, p + bit / 8, width / 8);
	} else {
		uint64_t v = wire_bits_get(p, bit, width);
		uint8_t v8 = (uint8_t)v;
		uint16_t v16 = (uint16_t)v;
		uint32_t v32 = (uint32_t)v;

		switch (size) {
		case 1: memcpy(member, &v8, 1); break;
		case 2: memcpy(member, &v16, 2); break;
		case 4: memcpy(member, &v32, 4); break;
		default: memcpy(member, &v, 8); break;
		}
	}
}

WIRE_INLINE void wire_store(const void *member, unsigned size, uint8_t *p, unsigned bit,
			    unsigned width)
{
	if (width > 64) {
		memcpy(p + bit / 8, member, width / 8);
	} else {
		uint8_t v8;
		uint16_t v16;
		uint32_t v32;
		uint64_t v;

		switch (size) {
		case 1: memcpy(&v8, member, 1), v = v8; break;
		case 2: memcpy(&v16, member, 2), v = v16; break;
		case 4: memcpy(&v32, member, 4), v = v32; break;
		default: memcpy(&v, member, 8); break;
		}
		wire_bits_put(p, bit, width, v);
	}
}

/* clang-format off */
#define WIRE_TYPE(width)                                                                           \
	__typeof__(__builtin_choose_expr((width) <= 8, (uint8_t)0,                                 \
		__builtin_choose_expr((width) <= 16, (uint16_t)0,                                  \
		__builtin_choose_expr((width) <= 32, (uint32_t)0,                                  \
		__builtin_choose_expr((width) <= 64, (uint64_t)0,                                  \
			*(uint8_t(*)[((width) + 7) / 8])0)))))
/* clang-format on */

#define WIRE_MEMBER(name, bit, width) WIRE_TYPE(width) name;
#define WIRE_WIDTH(name, bit, width)  +(width)
#define WIRE_LOAD(name, bit, width)   wire_load(&h->name, sizeof h->name, p, bit, width);
#define WIRE_STORE(name, bit, width)  wire_store(&h->name, sizeof h->name, p, bit, width);

#define WIRE_HEADER(header, length, FIELDS)                                                     \
	struct header {                                                                         \
		FIELDS(WIRE_MEMBER)                                                             \
	};                                                                                      \
	enum { header##_bytes = (length) };                                                     \
	_Static_assert(0 FIELDS(WIRE_WIDTH) == (length)*8, #header " does not fill its bytes"); \
	const struct wire_layout *header##_layout(void);                                        \
	static inline void header##_get(const uint8_t *p, struct header *h)                     \
	{                                                                                       \
		FIELDS(WIRE_LOAD)                                                               \
	}                                                                                       \
	static inline void header##_put(const struct header *h, uint8_t *p)                     \
	{                                                                                       \
		memset(p, 0, length);                                                           \
		FIELDS(WIRE_STORE)                                                              \
	}                                                                                       \
	static inline uint32_t header##_print(const struct header *h, struct span out)          \
	{                                                                                       \
		return wire_print(header##_layout(), h, out);                                   \
	}

#define WIRE_ROW(name, bit, width) \
	{#name, bit, width, offsetof(self, name), sizeof(((self *)0)->name)},

/* The run-time table of a header. It is a function so that every list can call its struct self. */
#define WIRE_DEFINE(header, FIELDS)                                           \
	static void header##_get_any(const uint8_t *p, void *h)               \
	{                                                                     \
		header##_get(p, h);                                           \
	}                                                                     \
	static void header##_put_any(const void *h, uint8_t *p)               \
	{                                                                     \
		header##_put(h, p);                                           \
	}                                                                     \
	const struct wire_layout *header##_layout(void)                       \
	{                                                                     \
		typedef struct header self;                                   \
		static const struct wire_field fields[] = {FIELDS(WIRE_ROW)}; \
		static const struct wire_layout layout = {                    \
			.name = #header,                                      \
			.bytes = header##_bytes,                              \
			.size = sizeof(self),                                 \
			.n_fields = sizeof fields / sizeof fields[0],         \
			.fields = fields,                                     \
			.get = header##_get_any,                              \
			.put = header##_put_any,                              \
		};                                                            \
		return &layout;                                               \
	}

#endif
