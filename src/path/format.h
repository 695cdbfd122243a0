/* The bits of an entropy value: a row of fields, one for each hop that reads one (MRC 9.4.3, Table
 * 9-2, and the fields of the control interface's EV profiles).
 *
 * A field is init with its bits of mask overwritten by a number: the number's bits go into the bits
 * of mask in their order, as many as mask has, and lie between min and max. Fields stand one behind
 * the other, the first one in the highest bits. A combination is one number for each field, counted
 * through with the last field fastest. Set-up only; profiles and the control interface call this.
 */
#ifndef WEFT_PATH_FORMAT_H
#define WEFT_PATH_FORMAT_H

#include <stdint.h>

#define PATH_FIELDS_MAX  32u
#define PATH_FIELD_WIDTH 32u
#define PATH_VALUE_BYTES 32u

/* Where the bits go, and so how many there may be (9.4.3). */
enum path_encoding {
	PATH_ECMP,       /* UDP source port: 16 */
	PATH_STRUCTURED, /* source port and flow label: 32 */
	PATH_USID,       /* the outer destination address: 128 */
	PATH_USID_SRH,   /* that and one segment behind it: 256 */
	PATH_ENCODINGS,
};

struct path_field {
	uint32_t width; /* 1 .. PATH_FIELD_WIDTH bits */
	uint32_t init, mask;
	uint32_t min, max; /* of the bits that mask takes */
};

struct path_format {
	enum path_encoding encoding;
	const struct path_field *fields;
	uint32_t n_fields; /* 1 .. PATH_FIELDS_MAX */
};

enum path_error {
	PATH_OK,
	PATH_NO_EVS,       /* a count of none */
	PATH_TOO_MANY,     /* more than PATH_EVS_MAX; of ev_min_active: more than there are */
	PATH_BAD_PORT,     /* no port, or one beyond PATH_PORTS */
	PATH_BAD_ENCODING, /* an encoding or a count of fields that there is not */
	PATH_BAD_WIDTH,    /* a field without bits or with more than PATH_FIELD_WIDTH */
	PATH_TOO_WIDE,     /* all fields together: more bits than the encoding has */
	PATH_BAD_FIELD,    /* init or mask beyond the width */
	PATH_BAD_RANGE,    /* min above max, or max beyond what the bits of mask hold */
	PATH_TOO_VARIED,   /* more than 2^32 combinations: no 32-bit entropy value names one */
	PATH_ERRORS,
};

/* The name of an error, for messages. */
const char *path_error_name(enum path_error error);

/* The most bits of an encoding. */
uint32_t path_encoding_bits(enum path_encoding encoding);

/* Whether the format is good; if so, *combinations is how many there are, 1 .. 2^32. */
enum path_error path_format_check(const struct path_format *f, uint64_t *combinations);

/* Combination number i of a good format as bits, the first field from the highest bit of value[0]
 * on, what no field covers zero. */
void path_format_value(const struct path_format *f, uint64_t i, uint8_t value[PATH_VALUE_BYTES]);

/* An entropy value in its short form, the bits of all masks one behind the other from the highest
 * bit of bare[0] on, filled out to the fields of a good format. */
void path_format_expand(const struct path_format *f, const uint8_t bare[PATH_VALUE_BYTES],
			uint8_t value[PATH_VALUE_BYTES]);

/* The 32-bit entropy value of combination i of a good format: the bits themselves of ECMP and
 * structured ones, from the highest on; of segment lists i, which path_format_value turns into
 * their bits. */
uint32_t path_format_ev(const struct path_format *f, uint64_t i);

#endif
