/* Answers questions about header codecs on standard input, for the layout referee:
 *
 *	put HEADER FIELD     the header's bytes with that field all ones, the rest zero, in hex
 *	get HEADER HEX       the fields that are not zero after decoding, name=value in hex
 *	fields HEADER        the names of its fields, in order */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/layouts.h"

#define BYTES_MAX 64

static void die(const char *what, const char *name)
{
	fprintf(stderr, "probe: %s: %s\n", what, name);
	exit(2);
}

static const struct wire_layout *layout_of(const char *name)
{
	const struct wire_layout *l = wire_layout_find(name);

	if (!l)
		die("no such header", name);
	return l;
}

static void put(const char *header, const char *field)
{
	const struct wire_layout *l = layout_of(header);
	const struct wire_field *f = wire_field_find(l, field);
	uint8_t h[256] = {0}, bytes[BYTES_MAX];

	if (!f)
		die("no such field", field);
	memset(h + f->at, 0xff, f->size);
	l->put(h, bytes);
	for (unsigned i = 0; i < l->bytes; i++)
		printf("%02x", bytes[i]);
	putchar('\n');
}

static void get(const char *header, const char *hex)
{
	const struct wire_layout *l = layout_of(header);
	uint8_t h[256] = {0}, bytes[BYTES_MAX];

	for (unsigned i = 0; i < l->bytes; i++) {
		unsigned byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			die("short hex for", header);
		bytes[i] = (uint8_t)byte;
	}
	l->get(bytes, h);
	for (unsigned i = 0; i < l->n_fields; i++) {
		const struct wire_field *f = &l->fields[i];

		if (f->width > 64 && h[f->at] == 0 &&
		    !memcmp(h + f->at, h + f->at + 1, f->size - 1u))
			continue;
		if (f->width > 64) {
			printf("%s=", f->name);
			for (unsigned b = 0; b < f->size; b++)
				printf("%02x", h[f->at + b]);
			putchar(' ');
		} else if (wire_member_value(f, h)) {
			printf("%s=%" PRIx64 " ", f->name, wire_member_value(f, h));
		}
	}
	putchar('\n');
}

int main(void)
{
	char command[16], header[64], argument[256];

	while (scanf("%15s %63s", command, header) == 2) {
		if (strcmp(command, "fields") == 0) {
			const struct wire_layout *l = layout_of(header);

			for (unsigned i = 0; i < l->n_fields; i++)
				printf("%s%c", l->fields[i].name, i + 1 < l->n_fields ? ' ' : '\n');
		} else if (scanf("%255s", argument) == 1 && strcmp(command, "put") == 0) {
			put(header, argument);
		} else if (strcmp(command, "get") == 0) {
			get(header, argument);
		} else {
			die("no such command", command);
		}
		fflush(stdout);
	}
	return 0;
}
