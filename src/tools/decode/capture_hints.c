/* What a capture says of its own packets, where weft wrote it (pcapng_create): a comment of the
 * section header, which libpcap passes over. The file may be anybody's, so every number is checked.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tools/command.h"
#include "tools/decode/capture.h"
#include "tools/pcapng.h"

#define SECTION_TYPE   UINT32_C(0x0a0d0d0a)
#define SECTION_MAGIC  UINT32_C(0x1a2b3c4d)
#define SECTION_HEAD   24u   /* in front of its options */
#define SECTION_MAX    4096u /* ours is a fraction of it */
#define FIRST_BYTES    12u   /* type, length and magic: less than any capture has */
#define OPTION_COMMENT 1u

struct section {
	uint8_t bytes[SECTION_MAX];
	uint32_t len;
	bool is_big; /* big-endian */
};

static uint32_t get32(const struct section *s, uint32_t at)
{
	uint32_t value = get_be32(s->bytes + at);

	return s->is_big ? value : __builtin_bswap32(value);
}

static uint32_t get16(const struct section *s, uint32_t at)
{
	uint16_t value = get_be16(s->bytes + at);

	return s->is_big ? value : __builtin_bswap16(value);
}

bool dscps_parse(char *text, uint64_t *dscps)
{
	uint64_t n, all = 0;
	char *rest = NULL;

	for (char *one = strtok_r(text, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		if (!parse_number(one, 0, 63, &n))
			return false;
		all |= UINT64_C(1) << n;
	}
	if (all)
		*dscps = all;
	return all != 0;
}

/* "weft: udp-port=4791 trimmed=18,22 trimmed-lasthop=20"; a word that is not known is passed over.
 */
static void read_words(struct net_cfg *net, char *text)
{
	char *rest = NULL;

	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *value = strchr(word, '=');
		uint64_t n;

		if (!value)
			continue;
		*value++ = '\0';
		if (strcmp(word, PCAPNG_PORT) == 0 && parse_number(value, 1, UINT16_MAX, &n))
			*net_cfg_port(net) = (uint16_t)n;
		else if (strcmp(word, PCAPNG_TRIMMED) == 0)
			dscps_parse(value, &net->trims.trimmed);
		else if (strcmp(word, PCAPNG_LASTHOP) == 0)
			dscps_parse(value, &net->trims.lasthop);
	}
}

static void read_comment(struct net_cfg *net, const uint8_t *at, uint32_t len)
{
	const size_t mark = strlen(PCAPNG_MARK);
	char text[256];

	if (len < mark || len >= sizeof text || memcmp(at, PCAPNG_MARK, mark) != 0)
		return;
	memcpy(text, at, len);
	text[len] = '\0';
	read_words(net, text + mark);
}

static void read_options(struct net_cfg *net, const struct section *s)
{
	uint32_t at = SECTION_HEAD, end = s->len - 4;

	while (at + 4 <= end) {
		uint32_t code = get16(s, at), len = get16(s, at + 2);

		if (code == 0 || len > end - at - 4)
			return;
		if (code == OPTION_COMMENT)
			read_comment(net, s->bytes + at + 4, len);
		at += 4 + ((len + 3) & ~UINT32_C(3));
	}
}

/* Reads the section header as far as there is one, and no byte more. */
static void read_section(FILE *file, struct section *s)
{
	s->len = (uint32_t)fread(s->bytes, 1, FIRST_BYTES, file);
	/* The type reads the same in both orders. */
	if (s->len < FIRST_BYTES || get_be32(s->bytes) != SECTION_TYPE)
		return;
	s->is_big = get_be32(s->bytes + 8) == SECTION_MAGIC;
	uint32_t len = get32(s, 4);

	if (len < SECTION_HEAD + 4 || len > SECTION_MAX || len % 4 != 0)
		return;
	s->len += (uint32_t)fread(s->bytes + s->len, 1, len - s->len, file);
}

bool capture_peek(FILE *file, struct net_cfg *net)
{
	static struct section s;

	read_section(file, &s);
	if (s.len > SECTION_HEAD + 4 && s.len == get32(&s, 4))
		read_options(net, &s);
	/* A pipe cannot go back, and glibc takes back as much as it gave. */
	for (uint32_t i = s.len; i > 0; i--)
		if (ungetc(s.bytes[i - 1], file) == EOF)
			return false;
	return true;
}
