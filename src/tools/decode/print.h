/* The three forms in which `weft decode` prints a packet: a line, a tree of headers, JSON. Each
 * writes to a stream and leaves its errors to the caller, who checks ferror. */
#ifndef WEFT_TOOLS_DECODE_PRINT_H
#define WEFT_TOOLS_DECODE_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/decode/record.h"
#include "tools/decode/tally.h"
#include "tools/decode/value.h"

/* How text is laid out, and what a line remembers of the lines before it. */
struct view {
	FILE *out;
	bool color;
	enum usid_format usid;
	int64_t first_sec; /* time of the first packet */
	uint32_t first_nsec;
	uint32_t address_width; /* of the widest pair of addresses so far */
};

enum tone { TONE_PLAIN, TONE_STRONG, TONE_FAINT, TONE_WARN, TONE_BAD };

/* The escape sequence that starts a tone; TONE_PLAIN ends any. "" without color. */
const char *view_tone(const struct view *v, enum tone tone);

/* One line for one packet. */
void line_print(struct view *v, const struct record *r);

/* One line for a whole file. */
void line_summary(const struct view *v, const char *file, const struct tally *t);

/* Every header and field, under the packet's line. */
void tree_print(const struct view *v, const struct record *r);

/* One JSON object on one line, for a packet or for a whole file. */
void json_print(FILE *out, const struct record *r);
void json_summary(FILE *out, const char *file, const struct tally *t);

/* Every rule that packets are held against, a line each. */
void line_rules(const struct view *v);
void json_rules(FILE *out);

#endif
