/* Writes the golden captures: one pcap per packet type, every sample of the catalog in it, and one
 * with every kind of damage. usage: generate DIRECTORY
 *
 * The captures are kept in the tree; a test writes them again and compares. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"

/* Native pcap, microseconds, Ethernet, written little-endian on every machine. */
static void put_le32(FILE *f, uint32_t v)
{
	for (int i = 0; i < 4; i++, v >>= 8)
		fputc((int)(v & 0xff), f);
}

static FILE *open_capture(const char *directory, const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s.pcap", directory, name);
	FILE *f = fopen(path, "wb");

	if (!f) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	put_le32(f, 0xa1b2c3d4);
	put_le32(f, 2 | 4 << 16);
	put_le32(f, 0);
	put_le32(f, 0);
	put_le32(f, 65535);
	put_le32(f, 1);
	return f;
}

static void close_capture(FILE *f)
{
	if (ferror(f) || fclose(f)) {
		perror("capture");
		exit(EXIT_FAILURE);
	}
}

static void write_sample(FILE *f, const struct sample *s, uint32_t number)
{
	put_le32(f, 1700000000);
	put_le32(f, number * 10);
	put_le32(f, s->frame.len);
	put_le32(f, s->frame.len);
	fwrite(s->frame.bytes, 1, s->frame.len, f);
}

int main(int argc, char **argv)
{
	static struct sample s;
	char open_file[sizeof s.file] = "";
	FILE *f = NULL;
	uint32_t number = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	for (uint32_t i = 0; i < catalog_size(); i++) {
		catalog_get(i, &s);
		if (strcmp(open_file, s.file) != 0) {
			if (f)
				close_capture(f);
			f = open_capture(argv[1], s.file);
			memcpy(open_file, s.file, sizeof open_file);
			number = 0;
		}
		write_sample(f, &s, number++);
	}
	close_capture(f);
	f = open_capture(argv[1], "malformed");
	for (enum wire_drop why = WIRE_DROP_NONE + 1; why < WIRE_DROP_COUNT; why++) {
		catalog_damaged(why, &s);
		write_sample(f, &s, (uint32_t)why - 1);
	}
	close_capture(f);
	return EXIT_SUCCESS;
}
