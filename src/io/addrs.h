/* A table of addresses, each at a place of its own that it keeps: what a driver of frames knows of
 * peers, of itself, of routes and of neighbours stands in arrays of its own by that place.
 *
 * Finding, adding and removing take a time that does not depend on how many there are. Places are
 * given out from the lowest, those that were removed first: a large table costs memory only as far
 * as it is filled. One thread at a time calls this. */
#ifndef WEFT_IO_ADDRS_H
#define WEFT_IO_ADDRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#define ADDRS_NONE UINT32_MAX
#define ADDRS_TEXT 64u

/* Every byte counts when two are compared. */
struct addr {
	uint8_t ip[16];  /* IPv4: the first four, the rest zero */
	uint32_t where;  /* what else tells two apart: a port, or 0 */
	uint32_t family; /* AF_INET, AF_INET6 */
};

static inline bool addr_equal(const struct addr *a, const struct addr *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* IPv6: of one link only (fe80::/10). */
static inline bool addr_is_of_link(const struct addr *a)
{
	return a->family == AF_INET6 && a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80;
}

/* The address in a name, where = 0; *scope is the interface that the name says. false: neither IPv4
 * nor IPv6, IPv4 inside IPv6, or not one host's: a wildcard or a group. */
bool addr_of(const struct sockaddr *name, struct addr *a, uint32_t *scope);

/* Returns text, which has ADDRS_TEXT bytes. */
const char *addr_text(const struct addr *a, char *text);

struct addrs {
	struct addrs_entry *at;
	uint32_t *buckets; /* place + 1 of the first, 0: none */
	uint32_t bucket_mask, max, n, fresh, free;
};

/* 0 or -ENOMEM; addrs_fini is allowed after both, and on zeros. */
int addrs_init(struct addrs *t, uint32_t max);
void addrs_fini(struct addrs *t);

/* The place, or ADDRS_NONE. */
uint32_t addrs_find(const struct addrs *t, const struct addr *a);

/* A place for one that has none; ADDRS_NONE when the table is full. */
uint32_t addrs_add(struct addrs *t, const struct addr *a);
void addrs_remove(struct addrs *t, uint32_t place);

/* The address at a place that is taken. */
const struct addr *addrs_at(const struct addrs *t, uint32_t place);

/* Places from here on were never used. */
static inline uint32_t addrs_end(const struct addrs *t)
{
	return t->fresh;
}

/* Any place < addrs_end. */
bool addrs_is_taken(const struct addrs *t, uint32_t place);

#endif
