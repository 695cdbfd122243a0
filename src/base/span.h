/* Spans of bytes, and a cursor that cannot run past their end.
 *
 * A decoder gets bytes only from take(): NULL when the packet is short, so nothing is read before
 * its length is checked. Everyone who touches packet bytes calls this. */
#ifndef WEFT_BASE_SPAN_H
#define WEFT_BASE_SPAN_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes to read. at NULL with len > 0 means virtual bytes, all zero, that nobody stores. */
struct cspan {
	const uint8_t *at;
	uint32_t len;
};

/* Bytes to write. */
struct span {
	uint8_t *at;
	uint32_t len;
};

/* Reads a cspan front to back. Invariant: at <= len. */
struct cursor {
	const uint8_t *base;
	uint32_t at, len;
};

/* A cursor over real bytes; virtual ones have nothing to read. */
static inline struct cursor cursor_of(struct cspan s)
{
	static const uint8_t none;

	assert(s.at || s.len == 0);
	return (struct cursor){s.at ? s.at : &none, 0, s.len};
}

static inline uint32_t cursor_left(const struct cursor *c)
{
	return c->len - c->at;
}

/* The next n bytes, and moves past them; NULL, and stays, when fewer are left. */
static inline const uint8_t *take(struct cursor *c, uint32_t n)
{
	if (n > cursor_left(c))
		return NULL;
	const uint8_t *p = c->base + c->at;

	c->at += n;
	return p;
}

/* The next n bytes without moving; NULL when fewer are left. */
static inline const uint8_t *peek(const struct cursor *c, uint32_t n)
{
	return n > cursor_left(c) ? NULL : c->base + c->at;
}

/* The bytes from the cursor on; does not move. */
static inline struct cspan cursor_rest(const struct cursor *c)
{
	return (struct cspan){c->base + c->at, cursor_left(c)};
}

/* Cuts the last n bytes off what is left; false, and unchanged, when fewer are left. */
static inline int cursor_trim(struct cursor *c, uint32_t n)
{
	if (n > cursor_left(c))
		return 0;
	c->len -= n;
	return 1;
}

#endif
