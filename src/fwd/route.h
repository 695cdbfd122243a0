/* Longest-prefix-match routes over 128-bit addresses; IPv4 lives in ::ffff:0:0/96. Static: routes
 * are added while a switch is set up, then only looked up. */
#ifndef WEFT_FWD_ROUTE_H
#define WEFT_FWD_ROUTE_H

#include <stddef.h>
#include <stdint.h>

#define FWD_ROUTE_NONE UINT32_MAX

struct fwd_prefix {
	uint8_t address[16]; /* bits beyond len are ignored */
	uint8_t len;         /* 0 .. 128 */
};

/* One hash table for each prefix length in use, looked up from the longest. Invariant: a slot is
 * used by the route of its own length only. */
struct fwd_routes {
	struct fwd_route_slot *slots;
	uint32_t mask;   /* slots - 1 */
	uint32_t n, max; /* routes in use, routes that fit */
	uint8_t n_lens;  /* prefix lengths in use, longest first */
	uint8_t lens[129];
	uint32_t count[129]; /* routes of each length */
};

/* Bytes of memory for at most max routes; max >= 1. */
size_t fwd_routes_bytes(uint32_t max);

/* Starts an empty table in memory, aligned for any type, which it keeps. */
void fwd_routes_init(struct fwd_routes *t, void *memory, uint32_t max);

/* Adds a route to value (anything but FWD_ROUTE_NONE), or replaces the value of that very prefix.
 * 0; -EINVAL for a prefix length beyond 128 or for that value; -ENOSPC when the table is full. On
 * an error nothing changed. */
int fwd_routes_add(struct fwd_routes *t, const struct fwd_prefix *prefix, uint32_t value);

/* The value of the longest prefix that covers address, or FWD_ROUTE_NONE. */
uint32_t fwd_routes_find(const struct fwd_routes *t, const uint8_t address[16]);

/* ::ffff:a.b.c.d */
void fwd_route_map_ipv4(uint8_t address[16], const uint8_t ipv4[4]);

#endif
