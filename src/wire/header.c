#include "wire/header.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Text that grows in a span and stays terminated; used counts what a larger span would hold. */
struct text {
	struct span out;
	uint32_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
	uint32_t left = t->used < t->out.len ? t->out.len - t->used : 0;
	va_list args;

	va_start(args, format);
	int n = vsnprintf(left ? (char *)t->out.at + t->used : NULL, left, format, args);

	va_end(args);
	assert(n >= 0);
	t->used += (uint32_t)n;
}

uint64_t wire_field_value(const struct wire_field *f, const uint8_t *header)
{
	return wire_bits_get(header, f->bit, f->width);
}

const struct wire_field *wire_field_find(const struct wire_layout *layout, const char *name)
{
	for (unsigned i = 0; i < layout->n_fields; i++)
		if (strcmp(layout->fields[i].name, name) == 0)
			return &layout->fields[i];
	return NULL;
}

bool wire_field_is_reserved(const struct wire_field *f)
{
	return strncmp(f->name, "rsv", 3) == 0;
}

static bool is_zero(const uint8_t *bytes, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

uint64_t wire_member_value(const struct wire_field *f, const void *h)
{
	const uint8_t *at = (const uint8_t *)h + f->at;
	uint8_t v8;
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (f->size) {
	case 1: memcpy(&v8, at, 1); return v8;
	case 2: memcpy(&v16, at, 2); return v16;
	case 4: memcpy(&v32, at, 4); return v32;
	default: memcpy(&v64, at, 8); return v64;
	}
}

uint32_t wire_print(const struct wire_layout *layout, const void *h, struct span out)
{
	struct text t = {out, 0};

	add(&t, "%s", layout->name);
	for (unsigned i = 0; i < layout->n_fields; i++) {
		const struct wire_field *f = &layout->fields[i];
		const uint8_t *member = (const uint8_t *)h + f->at;

		if (wire_field_is_reserved(f) && is_zero(member, f->size))
			continue;
		add(&t, " %s=", f->name);
		if (f->width <= 4)
			add(&t, "%" PRIu64, wire_member_value(f, h));
		else if (f->width <= 64)
			add(&t, "0x%0*" PRIx64, (f->width + 3) / 4, wire_member_value(f, h));
		else
			for (unsigned b = 0; b < f->size; b++)
				add(&t, "%02x", member[b]);
	}
	return t.used;
}
