/* Telling UTF-8 from other bytes. Whoever passes on text of unknown origin calls this. */
#ifndef WEFT_BASE_UTF8_H
#define WEFT_BASE_UTF8_H

#include <stdint.h>

/* The length of the UTF-8 sequence that s starts with; 0 when it is none. Overlong forms and
 * surrogates are none. s is terminated, and nothing behind its end is read. */
static inline uint32_t utf8_length(const char *text)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *s = (const uint8_t *)text;
	uint32_t n = s[0] < 0x80       ? 1
		     : s[0] >> 5 == 6  ? 2
		     : s[0] >> 4 == 14 ? 3
		     : s[0] >> 3 == 30 ? 4
				       : 0;
	uint32_t code = n < 2 ? s[0] : s[0] & (0x7fu >> n);

	for (uint32_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return n;
}

#endif
