#include "tools/pcapng.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES (1u << 20)
#define DSCPS_TEXT   192u /* all 64, of two digits and a comma each */

enum { BLOCK_SECTION = 0x0a0d0d0a, BLOCK_INTERFACE = 1, BLOCK_FRAME = 6 };
enum {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	OPTION_FLAGS = 2,
	OPTION_NAME = 2,
	OPTION_SPEED = 8,
	OPTION_TSRESOL = 9
};

#define MAGIC         UINT32_C(0x1a2b3c4d)
#define LINK_ETHERNET 1u
#define TSRESOL_NSEC  9u
#define FLAG_IN       1u
#define FLAG_OUT      2u

struct pcapng {
	FILE *file;
	int error;
	uint32_t n_interfaces;
};

static void put(struct pcapng *f, const void *bytes, size_t len)
{
	if (!f->error && fwrite(bytes, 1, len, f->file) != len)
		f->error = errno ? errno : EIO;
}

static void put_le(struct pcapng *f, uint64_t value, uint32_t len)
{
	uint8_t bytes[8];

	for (uint32_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	put(f, bytes, len);
}

static uint32_t padded(uint32_t len)
{
	return (len + 3) & ~UINT32_C(3);
}

static void put_padded(struct pcapng *f, const void *bytes, uint32_t len)
{
	static const uint8_t zeros[4];

	put(f, bytes, len);
	put(f, zeros, padded(len) - len);
}

static void put_option(struct pcapng *f, uint16_t code, uint16_t len)
{
	put_le(f, code, 2);
	put_le(f, len, 2);
}

/* DSCPs with commas between them; NET_DSCP_NONE where there is none. */
static void dscps_print(uint64_t dscps, char text[DSCPS_TEXT])
{
	size_t at = 0;

	if (!dscps)
		snprintf(text, DSCPS_TEXT, "%u", NET_DSCP_NONE);
	for (; dscps; dscps &= dscps - 1)
		at += (size_t)snprintf(text + at, DSCPS_TEXT - at, at ? ",%d" : "%d",
				       __builtin_ctzll(dscps));
}

static void put_section(struct pcapng *f, const struct net_cfg *net)
{
	char text[64 + 2 * DSCPS_TEXT], trimmed[DSCPS_TEXT], lasthop[DSCPS_TEXT];

	dscps_print(net->trims.trimmed, trimmed);
	dscps_print(net->trims.lasthop, lasthop);
	uint32_t text_len = (uint32_t)snprintf(text, sizeof text,
					       PCAPNG_MARK PCAPNG_PORT "=%u " PCAPNG_TRIMMED
								       "=%s " PCAPNG_LASTHOP "=%s",
					       net->carriers.use[0].port, trimmed, lasthop);
	uint32_t len = 28 + 4 + padded(text_len) + 4;

	put_le(f, BLOCK_SECTION, 4);
	put_le(f, len, 4);
	put_le(f, MAGIC, 4);
	put_le(f, 1, 2);
	put_le(f, 0, 2);
	put_le(f, UINT64_MAX, 8); /* how long the section is, nobody knows yet */
	put_option(f, OPTION_COMMENT, (uint16_t)text_len);
	put_padded(f, text, text_len);
	put_option(f, OPTION_END, 0);
	put_le(f, len, 4);
}

struct pcapng *pcapng_create(const char *path, const struct net_cfg *net)
{
	struct pcapng *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->file = fopen(path, "wb");
	if (!f->file) {
		free(f);
		return NULL;
	}
	setvbuf(f->file, NULL, _IOFBF, BUFFER_BYTES);
	put_section(f, net);
	return f;
}

uint32_t pcapng_interface(struct pcapng *f, const char *name, uint64_t speed_bps)
{
	uint32_t name_len = (uint32_t)strlen(name);
	uint32_t len = 16 + 4 + padded(name_len) + 12 + 8 + 4 + 4;

	put_le(f, BLOCK_INTERFACE, 4);
	put_le(f, len, 4);
	put_le(f, LINK_ETHERNET, 2);
	put_le(f, 0, 2);
	put_le(f, 0, 4); /* frames are never cut */
	put_option(f, OPTION_NAME, (uint16_t)name_len);
	put_padded(f, name, name_len);
	put_option(f, OPTION_SPEED, 8);
	put_le(f, speed_bps, 8);
	put_option(f, OPTION_TSRESOL, 1);
	put_le(f, TSRESOL_NSEC, 4);
	put_option(f, OPTION_END, 0);
	put_le(f, len, 4);
	return f->n_interfaces++;
}

void pcapng_write(struct pcapng *f, const struct pcapng_frame *frame)
{
	uint32_t len = 28 + padded(frame->bytes.len) + 8 + 4 + 4;

	put_le(f, BLOCK_FRAME, 4);
	put_le(f, len, 4);
	put_le(f, frame->interface, 4);
	put_le(f, frame->at >> 32, 4);
	put_le(f, frame->at, 4);
	put_le(f, frame->bytes.len, 4);
	put_le(f, frame->bytes.len, 4);
	put_padded(f, frame->bytes.at, frame->bytes.len);
	put_option(f, OPTION_FLAGS, 4);
	put_le(f, frame->is_out ? FLAG_OUT : FLAG_IN, 4);
	put_option(f, OPTION_END, 0);
	put_le(f, len, 4);
}

int pcapng_error(const struct pcapng *f)
{
	return f->error;
}

int pcapng_close(struct pcapng *f)
{
	int error;

	if (fclose(f->file) != 0 && !f->error)
		f->error = errno;
	error = f->error;
	free(f);
	return error;
}
