#include "io/udp_inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* Buckets of single-linked entries. Entries never used come from fresh_peer, so that a large table
 * costs memory only as far as it is filled. */

static uint32_t bucket_of(const struct udp_driver *u, const struct udp_addr *addr)
{
	uint64_t words[3], sum = 0;

	static_assert(sizeof *addr == sizeof words, "addresses are hashed whole");
	memcpy(words, addr, sizeof words);
	for (unsigned i = 0; i < 3; i++) {
		sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		sum ^= sum >> 32;
	}
	return (uint32_t)sum & u->bucket_mask;
}

int udp_peers_init(struct udp_driver *u)
{
	uint32_t n_buckets = 1;

	while (n_buckets < u->cfg.max_peers)
		n_buckets *= 2;
	u->bucket_mask = n_buckets - 1;
	u->peers = calloc(u->cfg.max_peers, sizeof *u->peers);
	u->buckets = malloc(n_buckets * sizeof *u->buckets);
	if (!u->peers || !u->buckets)
		return -ENOMEM;
	memset(u->buckets, 0xff, n_buckets * sizeof *u->buckets);
	u->free_peer = u->last_peer = DRIVER_NO_HANDLE;
	return 0;
}

void udp_peers_fini(struct udp_driver *u)
{
	free(u->peers);
	free(u->buckets);
}

static uint32_t find(const struct udp_driver *u, const struct udp_addr *addr)
{
	uint32_t h = u->buckets[bucket_of(u, addr)];

	while (h != DRIVER_NO_HANDLE && !udp_addr_equal(&u->peers[h].addr, addr))
		h = u->peers[h].next;
	return h;
}

static uint32_t make(struct udp_driver *u, const struct udp_addr *addr)
{
	uint32_t h = u->free_peer;
	uint32_t *bucket = &u->buckets[bucket_of(u, addr)];

	if (h != DRIVER_NO_HANDLE)
		u->free_peer = u->peers[h].next;
	else if (u->fresh_peer < u->cfg.max_peers)
		h = u->fresh_peer++;
	else
		return DRIVER_NO_HANDLE;
	u->peers[h] = (struct udp_peer){.addr = *addr, .next = *bucket, .is_used = true};
	udp_name_of(addr, u->cfg.port, &u->peers[h].name);
	*bucket = h;
	return h;
}

static void discard(struct udp_driver *u, uint32_t handle)
{
	uint32_t *link = &u->buckets[bucket_of(u, &u->peers[handle].addr)];

	while (*link != handle)
		link = &u->peers[*link].next;
	*link = u->peers[handle].next;
	u->peers[handle].next = u->free_peer;
	u->peers[handle].is_used = false;
	u->free_peer = handle;
	if (u->last_peer == handle)
		u->last_peer = DRIVER_NO_HANDLE;
}

uint32_t udp_peer_get(struct driver *d, const struct sockaddr *remote)
{
	struct udp_driver *u = udp_of(d);
	struct udp_addr addr;
	uint32_t h;

	if (!udp_addr_of(remote, &addr))
		return DRIVER_NO_HANDLE;
	h = find(u, &addr);
	if (h == DRIVER_NO_HANDLE)
		h = make(u, &addr);
	if (h != DRIVER_NO_HANDLE)
		u->peers[h].refs++;
	return h;
}

void udp_peer_hold(struct driver *d, uint32_t handle)
{
	struct udp_driver *u = udp_of(d);

	assert(handle < u->fresh_peer && u->peers[handle].is_used);
	u->peers[handle].refs++;
}

void udp_peer_put(struct driver *d, uint32_t handle)
{
	struct udp_driver *u = udp_of(d);
	struct udp_peer *p = &u->peers[handle];

	assert(handle < u->fresh_peer && p->is_used && p->refs > 0);
	/* One that a packet of the last receive names as well lives until the next. */
	if (--p->refs == 0 && !p->is_passing)
		discard(u, handle);
}

uint32_t udp_peers_known(const struct udp_driver *u, const struct udp_addr *addr)
{
	uint32_t h = u->last_peer;

	return h != DRIVER_NO_HANDLE && udp_addr_equal(&u->peers[h].addr, addr) ? h : find(u, addr);
}

uint32_t udp_peers_seen(struct udp_driver *u, const struct udp_addr *addr)
{
	uint32_t h = udp_peers_known(u, addr);
	struct udp_peer *p;

	if (h == DRIVER_NO_HANDLE)
		h = make(u, addr);
	if (h == DRIVER_NO_HANDLE)
		return h;
	u->last_peer = h;
	p = &u->peers[h];
	/* Also one that is held: it may be put before its packets are looked at. */
	if (!p->is_passing) {
		assert(u->n_passing < DRIVER_BATCH);
		p->is_passing = true;
		u->passing[u->n_passing++] = h;
	}
	return h;
}

void udp_peers_settle(struct udp_driver *u)
{
	for (uint32_t i = 0; i < u->n_passing; i++) {
		struct udp_peer *p = &u->peers[u->passing[i]];

		p->is_passing = false;
		if (p->refs == 0)
			discard(u, u->passing[i]);
	}
	u->n_passing = 0;
}
