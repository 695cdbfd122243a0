#include "sim/peers.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#define HOP_LIMIT  64
#define SET        4u /* whose hops share a cache line */
#define SETS_FIRST 16u
#define SETS_BITS  10u /* at most so many, as a power of 2 */

/* A path's number goes into the key, so different EVs of one path share an entry. */
struct entry {
	uint64_t key;     /* 0: free */
	uint32_t n_paths; /* of the egress's (src, port, dst) */
	struct encap_head head;
};

/* Where one entropy value leads from an egress. */
struct known {
	uint64_t key; /* 0: free */
	uint64_t hops;
};

/* Entries by open addressing, at most half full. Known hops in sets; when one is full there will be
 * more sets, or the first of it goes. */
struct sim_peers {
	struct entry *entries;
	uint32_t mask, n;
	struct known *known;
	uint32_t n_sets;
	struct carrier_use via;
};

struct sim_peers *sim_peers_new(const struct carrier_use *via)
{
	struct sim_peers *peers = calloc(1, sizeof *peers);

	if (peers)
		peers->via = *via;
	return peers;
}

void sim_peers_free(struct sim_peers *peers)
{
	if (peers) {
		free(peers->entries);
		free(peers->known);
	}
	free(peers);
}

static uint64_t key_of(uint32_t dst, uint32_t port, uint32_t path)
{
	return ((uint64_t)dst << 32 | port << 24 | (path & 0xffffff)) + 1;
}

static struct entry *slot_of(const struct sim_peers *peers, uint64_t key)
{
	uint32_t i = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	for (;; i++) {
		struct entry *e = &peers->entries[i & peers->mask];

		if (e->key == key || e->key == 0)
			return e;
	}
}

static int grow(struct sim_peers *peers)
{
	uint32_t size = peers->entries ? 2 * (peers->mask + 1) : 4;
	struct sim_peers next = {
		.entries = calloc(size, sizeof(struct entry)),
		.mask = size - 1,
		.n = peers->n,
		.known = peers->known,
		.n_sets = peers->n_sets,
		.via = peers->via,
	};

	if (!next.entries)
		return -1;
	for (uint32_t i = 0; peers->entries && i <= peers->mask; i++)
		if (peers->entries[i].key)
			*slot_of(&next, peers->entries[i].key) = peers->entries[i];
	free(peers->entries);
	*peers = next;
	return 0;
}

static void fill(struct entry *e, const struct sim_peers *peers, const struct routing *r,
		 const struct sim_egress *egress, uint32_t path)
{
	const struct topology *t = r->topology;
	uint32_t port = t->nodes[egress->src].first_port + egress->port;
	struct encap_ends ends = {.dport = peers->via.port, .hop_limit = HOP_LIMIT};
	struct encap_segments segments;
	struct routing_path found;

	if (carrier_is_native(peers->via.is))
		ends.native = peers->via.protocol;
	memcpy(ends.src_mac, r->macs[port], 6);
	memcpy(ends.dst_mac, r->macs[t->ports[port].peer], 6);
	routing_address(r, egress->src, t->ports[port].plane, ends.src);
	routing_address(r, egress->dst, t->ports[port].plane, ends.dst);
	routing_path(r, egress->src, egress->port, egress->dst, path, &found);
	segments.n = found.n_segments;
	memcpy(segments.at, found.container, sizeof segments.at);
	encap_make(&e->head, &ends, &segments);
}

static struct entry *find(struct sim_peers *peers, const struct routing *r,
			  const struct sim_egress *egress, uint32_t path)
{
	uint64_t key = key_of(egress->dst, egress->port, path);

	if (peers->entries) {
		struct entry *e = slot_of(peers, key);

		if (e->key)
			return e;
	}
	if ((!peers->entries || 2 * (peers->n + 1) > peers->mask) && grow(peers))
		return NULL;
	struct entry *e = slot_of(peers, key);

	e->key = key;
	e->n_paths = routing_n_paths(r, egress->src, egress->port, egress->dst);
	fill(e, peers, r, egress, path);
	peers->n++;
	return e;
}

const struct encap_head *sim_peers_head(struct sim_peers *peers, const struct routing *r,
					const struct sim_egress *egress)
{
	struct entry *e = find(peers, r, egress, 0);

	if (e && routing_is_srv6(r) && egress->ev % e->n_paths)
		e = find(peers, r, egress, egress->ev % e->n_paths);
	return e ? &e->head : NULL;
}

_Static_assert(ENGINE_PORTS <= 8, "a port has three bits of the key");

/* A destination has at most 28 bits: there are no more addresses in a plane. */
static inline uint64_t egress_key(const struct sim_egress *egress)
{
	return (uint64_t)egress->ev << 32 | egress->dst << 4 | egress->port << 1 | 1;
}

/* By the highest bits of the product, on which all of the key has a say: entropy values of some
 * fabrics end in zeros. */
static inline struct known *set_of(const struct sim_peers *peers, uint64_t key)
{
	uint64_t mixed = key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SETS_BITS);

	return &peers->known[SET * (mixed & (peers->n_sets - 1))];
}

void sim_peers_fetch(const struct sim_peers *peers, const struct sim_egress *egress)
{
	if (peers->n_sets)
		__builtin_prefetch(set_of(peers, egress_key(egress)));
}

/* The place of an egress, or a free one of its set; NULL when that is full. */
static inline struct known *place_of(const struct sim_peers *peers, uint64_t key)
{
	struct known *set = set_of(peers, key);

	for (uint32_t i = 0; i < SET; i++)
		if (set[i].key == key || set[i].key == 0)
			return &set[i];
	return NULL;
}

/* Twice the sets, up to a bound. */
static bool grow_known(struct sim_peers *peers)
{
	uint32_t n_sets = peers->n_sets ? 2 * peers->n_sets : SETS_FIRST;
	size_t bytes = n_sets * SET * sizeof(struct known);
	struct known *known = n_sets <= 1u << SETS_BITS ? aligned_alloc(64, bytes) : NULL;
	struct sim_peers next = {.known = known, .n_sets = n_sets};

	if (!known)
		return false;
	memset(known, 0, bytes);
	for (uint32_t i = 0; i < peers->n_sets * SET; i++) {
		struct known *k = place_of(&next, peers->known[i].key);

		/* There is one: what is in two sets comes from one. */
		if (k && peers->known[i].key)
			*k = peers->known[i];
	}
	free(peers->known);
	peers->known = known;
	peers->n_sets = n_sets;
	return true;
}

/* Sends headers through the switches to see where they lead, and remembers it if there is memory.
 */
static uint64_t explore(struct sim_peers *peers, const struct routing *r,
			const struct sim_egress *egress)
{
	const struct encap_head *head = sim_peers_head(peers, r, egress);
	struct encap_packet empty = {.ev = egress->ev};
	uint8_t bytes[ENCAP_BYTES_MAX];
	struct known found = {.key = egress_key(egress)}, *k = NULL;

	if (!head)
		return 0;
	encap_write(head, &empty, bytes);
	found.hops = routing_walk(r, r->topology->nodes[egress->src].first_port + egress->port,
				  bytes, head->len);
	while (!(peers->n_sets && (k = place_of(peers, found.key))) && grow_known(peers))
		;
	if (!k && peers->n_sets)
		k = set_of(peers, found.key);
	if (k)
		*k = found;
	return found.hops;
}

uint64_t sim_peers_hops(struct sim_peers *peers, const struct routing *r,
			const struct sim_egress *egress)
{
	if (routing_is_srv6(r))
		return 0;
	const struct known *k = peers->n_sets ? place_of(peers, egress_key(egress)) : NULL;

	return k && k->key ? k->hops : explore(peers, r, egress);
}
