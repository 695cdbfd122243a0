/* Small fabrics for tests, and a packet that real switches carry across them. */
#ifndef WEFT_TESTS_SUPPORT_FABRIC_H
#define WEFT_TESTS_SUPPORT_FABRIC_H

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "check.h"
#include "leaf_spine.h"
#include "sim/routing.h"
#include "wire/net.h"

enum { HOPS_MAX = 16, HOP_LIMIT = 64 };

static const struct topology_link any_link = {UINT64_C(400000000000), 500 * PSEC_NS, 0};

static inline struct topology_cfg leaf_spine(uint32_t hosts, uint32_t hosts_per_leaf,
					     uint32_t spines)
{
	return leaf_spine_of(hosts, hosts_per_leaf, spines, any_link);
}

static inline struct topology_cfg fat_tree(uint32_t hosts, uint32_t hosts_per_leaf,
					   uint32_t leaves_per_pod, uint32_t spines, uint32_t cores)
{
	struct topology_cfg cfg = leaf_spine(hosts, hosts_per_leaf, spines);

	cfg.kind = TOPOLOGY_FAT_TREE;
	cfg.leaves_per_pod = leaves_per_pod;
	cfg.cores = cores;
	return cfg;
}

static inline struct topology_cfg with_planes(struct topology_cfg cfg, uint32_t planes,
					      uint32_t nic_ports, uint32_t uplinks)
{
	cfg.planes = planes;
	cfg.nic_ports = nic_ports;
	cfg.uplinks = uplinks;
	return cfg;
}

static inline void build_regular(struct topology *t, struct topology_cfg cfg)
{
	char error[200] = "";

	if (topology_build(t, &cfg, error, sizeof error) != 0)
		fail_msg("%s", error);
}

/* A fabric from text: "h NAME", "s NAME TIER PLANE" and "l A B", one after the other. */
static inline void draw(struct topology *t, const char *text)
{
	struct topology_draft *d = topology_begin();
	char error[200], a[16], b[16], kind;
	unsigned tier, plane;
	int n;

	for (; sscanf(text, " %c %15s%n", &kind, a, &n) == 2; text += n) {
		text += n;
		n = 0;
		if (kind == 'h') {
			assert_int_equal(topology_host(d, a, error, sizeof error), 0);
		} else if (kind == 's') {
			assert_int_equal(sscanf(text, "%u %u%n", &tier, &plane, &n), 2);
			assert_int_equal(topology_switch(d, a, (uint8_t)tier, (uint8_t)plane, error,
							 sizeof error),
					 0);
		} else {
			assert_int_equal(sscanf(text, "%15s%n", b, &n), 1);
			assert_int_equal(topology_link(d, a, b, &any_link, error, sizeof error), 0);
		}
	}
	assert_int_equal(topology_end(d, t, error, sizeof error), 0);
}

static inline struct routing_cfg plain(enum routing_mode mode)
{
	return (struct routing_cfg){
		.mode = mode,
		.hash_fields = FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL,
		.ev_layout = {3, {10, 8, 4}},
	};
}

static inline void build_routing(struct routing *r, const struct topology *t,
				 struct routing_cfg cfg)
{
	char error[200] = "";

	if (routing_build(r, t, &cfg, 7, error, sizeof error) != 0)
		fail_msg("%s", error);
}

static inline uint32_t peer_node(const struct topology *t, uint32_t port)
{
	return t->ports[t->ports[port].peer].node;
}

/* A packet on the wire, and the ports it left by. */
struct trip {
	uint8_t bytes[256];
	struct fwd_frame frame;
	struct fwd_view view;
	enum fwd_drop drop;
	uint32_t ports[HOP_LIMIT + 1], n;
};

static inline uint8_t *put_ipv6(uint8_t *at, uint32_t payload, uint8_t next, uint32_t label,
				const uint8_t *dst)
{
	static const uint8_t src[16] = {0xfd, 1};

	put_be32(at, UINT32_C(6) << 28 | label);
	put_be16(at + 4, (uint16_t)payload);
	at[6] = next;
	at[7] = HOP_LIMIT;
	memcpy(at + 8, src, 16);
	memcpy(at + 24, dst, 16);
	return at + 40;
}

/* Ethernet, the outer headers of path, IPv6, UDP and 16 bytes; ev is source port and flow label. */
static inline void make_frame(struct trip *trip, const struct routing_path *path,
			      const uint8_t *dst, uint32_t ev)
{
	const uint32_t inner = 40 + 8 + 16;
	uint8_t *at = trip->bytes + 14;

	memset(trip, 0, sizeof *trip);
	put_be16(trip->bytes + 12, ETHERTYPE_IPV6);
	if (path->n_segments == 1)
		at = put_ipv6(at, inner, IPPROTO_IPV6_IN, 0, path->container[0]);
	if (path->n_segments == 2) {
		/* A reduced list: the first segment is only the destination (RFC 8754 4.1.1). */
		static const uint8_t srh[8] = {IPPROTO_IPV6_IN, 2, SRH_ROUTING_TYPE, 1};

		at = put_ipv6(at, 24 + inner, IPPROTO_ROUTING_IN, 0, path->container[0]);
		memcpy(at, srh, 8);
		memcpy(at + 8, path->container[1], 16);
		at += 24;
	}
	at = put_ipv6(at, 24, IPPROTO_UDP_IN, ev & 0xffff, dst);
	put_be16(at, (uint16_t)(ev >> 16));
	put_be16(at + 2, NET_ROCE_PORT);
	put_be16(at + 4, 24);
	trip->frame.at = trip->bytes;
	trip->frame.len = trip->frame.stored = (uint32_t)(at + 24 - trip->bytes);
}

/* Sends the frame out of a host's port and lets real switches carry it; the host it reaches, or
 * UINT32_MAX with the reason in trip->drop. */
static inline uint32_t travel(const struct routing *r, struct trip *trip, uint32_t port)
{
	const struct topology *t = r->topology;

	trip->ports[trip->n++] = port;
	for (;;) {
		uint32_t node = peer_node(t, port), peer = t->ports[port].peer;

		if (node < t->n_hosts)
			return node;
		const struct fwd_switch *sw = &r->switches[node - t->n_hosts];
		struct fwd_verdict v = fwd_switch_forward(sw, &trip->frame, &trip->view);

		trip->drop = v.drop;
		if (v.drop != FWD_DROP_NONE)
			return UINT32_MAX;
		assert_false(v.local);
		assert_int_equal(t->ports[peer].node, node);
		assert_in_range(v.port, 0, t->nodes[node].n_ports - 1);
		port = t->nodes[node].first_port + v.port;
		assert_memory_equal(trip->frame.at, r->macs[t->ports[port].peer], 6);
		assert_memory_equal(trip->frame.at + 6, r->macs[port], 6);
		assert_int_equal(sw->ports[v.port].is_edge, peer_node(t, port) < t->n_hosts);
		assert_in_range(trip->n, 0, HOP_LIMIT);
		trip->ports[trip->n++] = port;
	}
}

static inline enum fwd_drop fate(const struct routing *r, uint32_t src, const uint8_t *address,
				 uint32_t ev)
{
	const struct routing_path native = {.n_segments = 0};
	struct trip trip;

	make_frame(&trip, &native, address, ev);
	assert_int_equal(travel(r, &trip, r->topology->nodes[src].first_port), UINT32_MAX);
	return trip.drop;
}

#endif
