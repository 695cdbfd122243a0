/* Big-endian loads and stores at any alignment, the only way integers enter or leave a packet.
 * Callers pass bytes that take() gave them: no length is checked here. */
#ifndef WEFT_BASE_BYTES_H
#define WEFT_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTES_BE16(v) __builtin_bswap16(v)
#define BYTES_BE32(v) __builtin_bswap32(v)
#define BYTES_BE64(v) __builtin_bswap64(v)
#else
#define BYTES_BE16(v) (v)
#define BYTES_BE32(v) (v)
#define BYTES_BE64(v) (v)
#endif

static inline uint16_t get_be16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof v);
	return BYTES_BE16(v);
}

static inline uint32_t get_be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint32_t get_be32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return BYTES_BE32(v);
}

static inline uint64_t get_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return BYTES_BE64(v);
}

static inline void put_be16(uint8_t *p, uint16_t v)
{
	v = BYTES_BE16(v);
	memcpy(p, &v, sizeof v);
}

/* Stores the low 24 bits. */
static inline void put_be24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
}

static inline void put_be32(uint8_t *p, uint32_t v)
{
	v = BYTES_BE32(v);
	memcpy(p, &v, sizeof v);
}

static inline void put_be64(uint8_t *p, uint64_t v)
{
	v = BYTES_BE64(v);
	memcpy(p, &v, sizeof v);
}

#endif
