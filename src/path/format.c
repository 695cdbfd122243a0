#include "path/format.h"

#include <stdbool.h>
#include <string.h>

#define COMBINATIONS_MAX (UINT64_C(1) << 32)

const char *path_error_name(enum path_error error)
{
	static const char *const names[PATH_ERRORS] = {
		[PATH_OK] = "ok",
		[PATH_NO_EVS] = "no entropy values",
		[PATH_TOO_MANY] = "too many entropy values",
		[PATH_BAD_PORT] = "no such port",
		[PATH_BAD_ENCODING] = "no such encoding, or no fields or too many",
		[PATH_BAD_WIDTH] = "a field's width is not 1 to 32 bits",
		[PATH_TOO_WIDE] = "the fields have more bits than the encoding",
		[PATH_BAD_FIELD] = "a field's value or mask is wider than the field",
		[PATH_BAD_RANGE] = "a field's bounds do not fit its mask",
		[PATH_TOO_VARIED] = "more than 2^32 combinations",
	};

	return (uint32_t)error < PATH_ERRORS ? names[error] : "?";
}

uint32_t path_encoding_bits(enum path_encoding encoding)
{
	static const uint32_t bits[PATH_ENCODINGS] = {16, 32, 128, 256};

	return (uint32_t)encoding < PATH_ENCODINGS ? bits[encoding] : 0;
}

static uint64_t span_of(uint32_t bits)
{
	return UINT64_C(1) << bits;
}

static uint64_t choices(const struct path_field *f)
{
	return f->max - (uint64_t)f->min + 1;
}

static enum path_error check_field(const struct path_field *f)
{
	if (f->width == 0 || f->width > PATH_FIELD_WIDTH)
		return PATH_BAD_WIDTH;
	if (f->init >= span_of(f->width) || f->mask >= span_of(f->width))
		return PATH_BAD_FIELD;
	if (f->min > f->max || f->max >= span_of((uint32_t)__builtin_popcount(f->mask)))
		return PATH_BAD_RANGE;
	return PATH_OK;
}

enum path_error path_format_check(const struct path_format *f, uint64_t *combinations)
{
	uint32_t width = 0;
	uint64_t n = 1;
	bool is_varied = false;

	if ((uint32_t)f->encoding >= PATH_ENCODINGS || f->n_fields == 0 ||
	    f->n_fields > PATH_FIELDS_MAX)
		return PATH_BAD_ENCODING;
	for (uint32_t i = 0; i < f->n_fields; i++) {
		const struct path_field *field = &f->fields[i];
		enum path_error error = check_field(field);

		if (error)
			return error;
		width += field->width;
		if (n <= COMBINATIONS_MAX / choices(field))
			n *= choices(field);
		else
			is_varied = true;
	}
	if (width > path_encoding_bits(f->encoding))
		return PATH_TOO_WIDE;
	if (is_varied)
		return PATH_TOO_VARIED;
	*combinations = n;
	return PATH_OK;
}

/* The field's value with the bits of number in those of its mask. */
static uint32_t overlay(const struct path_field *f, uint32_t number)
{
	uint32_t value = f->init & ~f->mask;

	for (uint32_t left = f->mask; left; left &= left - 1, number >>= 1)
		if (number & 1)
			value |= left & -left;
	return value;
}

/* Puts the low width bits of v behind the at bits that are there. */
static void append(uint8_t value[PATH_VALUE_BYTES], uint32_t at, uint32_t width, uint32_t v)
{
	for (uint32_t i = 0; i < width; i++) {
		uint32_t bit = at + i;

		if (v >> (width - 1 - i) & 1)
			value[bit / 8] = (uint8_t)(value[bit / 8] | 0x80u >> bit % 8);
	}
}

void path_format_value(const struct path_format *f, uint64_t i, uint8_t value[PATH_VALUE_BYTES])
{
	uint32_t at = 0;

	memset(value, 0, PATH_VALUE_BYTES);
	for (uint32_t k = 0; k < f->n_fields; k++)
		at += f->fields[k].width;
	/* The last field counts fastest: its number is the lowest digit. */
	for (uint32_t k = f->n_fields; k-- > 0;) {
		const struct path_field *field = &f->fields[k];

		at -= field->width;
		append(value, at, field->width,
		       overlay(field, field->min + (uint32_t)(i % choices(field))));
		i /= choices(field);
	}
}

void path_format_expand(const struct path_format *f, const uint8_t bare[PATH_VALUE_BYTES],
			uint8_t value[PATH_VALUE_BYTES])
{
	uint32_t at = 0, from = 0;

	memset(value, 0, PATH_VALUE_BYTES);
	for (uint32_t k = 0; k < f->n_fields; k++) {
		const struct path_field *field = &f->fields[k];
		uint32_t n = (uint32_t)__builtin_popcount(field->mask), number = 0;

		for (uint32_t i = 0; i < n; i++, from++)
			number = number << 1 | (bare[from / 8] >> (7 - from % 8) & 1u);
		append(value, at, field->width, overlay(field, number));
		at += field->width;
	}
}

uint32_t path_format_ev(const struct path_format *f, uint64_t i)
{
	uint8_t value[PATH_VALUE_BYTES];

	if (f->encoding != PATH_ECMP && f->encoding != PATH_STRUCTURED)
		return (uint32_t)i;
	path_format_value(f, i, value);
	return (uint32_t)value[0] << 24 | (uint32_t)value[1] << 16 | (uint32_t)value[2] << 8 |
	       value[3];
}
