#include "sim/peers.h"

#include <stdlib.h>
#include <string.h>

#include "wire/net.h"

#define HOP_LIMIT 64

/* A path's number goes into the key, so different EVs of one path share an entry. */
struct entry {
	uint64_t key;     /* 0: free */
	uint32_t n_paths; /* of the way's (src, port, dst) */
	struct encap_head head;
};

/* Open addressing; at most half full. */
struct sim_peers {
	struct entry *entries;
	uint32_t mask, n;
};

struct sim_peers *sim_peers_new(void)
{
	return calloc(1, sizeof(struct sim_peers));
}

void sim_peers_free(struct sim_peers *peers)
{
	if (peers)
		free(peers->entries);
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
	struct sim_peers next = {calloc(size, sizeof(struct entry)), size - 1, peers->n};

	if (!next.entries)
		return -1;
	for (uint32_t i = 0; peers->entries && i <= peers->mask; i++)
		if (peers->entries[i].key)
			*slot_of(&next, peers->entries[i].key) = peers->entries[i];
	free(peers->entries);
	*peers = next;
	return 0;
}

static void fill(struct entry *e, const struct routing *r, const struct sim_way *way, uint32_t path)
{
	const struct topology *t = r->topology;
	uint32_t port = t->nodes[way->src].first_port + way->port;
	struct encap_ends ends = {.dport = NET_ROCE_PORT, .hop_limit = HOP_LIMIT};
	struct encap_segments segments;
	struct routing_path found;

	memcpy(ends.src_mac, r->macs[port], 6);
	memcpy(ends.dst_mac, r->macs[t->ports[port].peer], 6);
	routing_address(r, way->src, t->ports[port].plane, ends.src);
	routing_address(r, way->dst, t->ports[port].plane, ends.dst);
	routing_path(r, way->src, way->port, way->dst, path, &found);
	segments.n = found.n_segments;
	memcpy(segments.at, found.container, sizeof segments.at);
	encap_make(&e->head, &ends, &segments);
}

static struct entry *find(struct sim_peers *peers, const struct routing *r,
			  const struct sim_way *way, uint32_t path)
{
	uint64_t key = key_of(way->dst, way->port, path);

	if (peers->entries) {
		struct entry *e = slot_of(peers, key);

		if (e->key)
			return e;
	}
	if ((!peers->entries || 2 * (peers->n + 1) > peers->mask) && grow(peers))
		return NULL;
	struct entry *e = slot_of(peers, key);

	e->key = key;
	e->n_paths = routing_n_paths(r, way->src, way->port, way->dst);
	fill(e, r, way, path);
	peers->n++;
	return e;
}

const struct encap_head *sim_peers_head(struct sim_peers *peers, const struct routing *r,
					const struct sim_way *way)
{
	bool is_srv6 = r->cfg.mode == ROUTING_USID || r->cfg.mode == ROUTING_USID_SRH;
	struct entry *e = find(peers, r, way, 0);

	if (e && is_srv6 && way->ev % e->n_paths)
		e = find(peers, r, way, way->ev % e->n_paths);
	return e ? &e->head : NULL;
}
