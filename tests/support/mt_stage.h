/* One node of a multicast tree with its routes, and packets for it: for tests of fwd/mt_*.
 *
 *	source fd00:a::1 - headend - node under test - nodes fd00:c::N, receivers fd00:b::N
 *
 * open_stage makes the node what a test wants it to be; make and wrap build a packet in st.in; take
 * runs it and keeps copies and answers, complete. Packets are put together here by themselves, with
 * a seal and a checksum over all their bytes: nothing of it is by difference. */
#ifndef WEFT_TESTS_SUPPORT_MT_STAGE_H
#define WEFT_TESTS_SUPPORT_MT_STAGE_H

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "check.h"
#include "fwd/mt_node.h"
#include "wire/icrc.h"
#include "wire/net.h"
#include "wire/roce.h"
#include "wire/srh_plan.h"

enum {
	STAGE_PORTS = 8,
	STAGE_UP = 1, /* port of the node above, or of the source */
	STAGE_RECEIVERS = 2,
	STAGE_NODES = 3,
	STAGE_BRANCHES = 1024,
	STAGE_FRAME = 8192,
	STAGE_COPIES = 128,
	STAGE_QPN = 0xd001,
	STAGE_SOURCE_QPN = 0x5001,
	STAGE_ROUTES = 64,
	IP_AT = 14, /* of frames without tags */
};

/* What the node under test is: bits. */
enum {
	STAGE_BY_TLV = 1,
	STAGE_HEADEND = 2,
	STAGE_HAS_RECEIVERS = 4, /* fd00:b::1 to 3, branches 0 to 2 */
	STAGE_HAS_NODES = 8,     /* fd00:c::1 and 2, branches 4 and 5 */
	STAGE_IS_GUARDED = 16,
};

#define STAGE_ADDRESS(net, host)                                                    \
	{                                                                           \
		0xfd, 0, 0, (net), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (uint8_t)(host) \
	}
#define STAGE_SID(node)                                                                  \
	{                                                                                \
		0xfc, 0xbb, 0xbb, 0, 0xe0, (uint8_t)(node), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
	}

static const uint8_t stage_source[16] = STAGE_ADDRESS(0xa, 1);
static const uint8_t stage_proxy[16] = STAGE_ADDRESS(0x9, 1);
static const uint8_t stage_headend[16] = STAGE_ADDRESS(0xe, 1);
static const uint8_t stage_above[16] = STAGE_ADDRESS(0xe, 8);
static const uint8_t stage_node[16] = STAGE_ADDRESS(0xe, 9);
static const uint8_t stage_sid[16] = STAGE_SID(1);

/* A packet to be made; 0 is what most have, see stage_request. */
struct stage_packet {
	const uint8_t *src, *dst;
	uint8_t dscp, ecn, hops;
	uint32_t label, payload;
	bool has_checksum;
	struct roce_pkt roce;
};

struct stage_copy {
	struct mt_copy is;
	uint8_t bytes[STAGE_FRAME];
};

static struct {
	struct fwd_switch sw;
	struct fwd_port ports[STAGE_PORTS];
	struct fwd_group routes_to[STAGE_PORTS];
	uint16_t members[STAGE_PORTS];
	struct mt_node node;
	struct mt_group group;
	struct mt_branch branches[STAGE_BRANCHES];
	struct mt_branch_state states[STAGE_BRANCHES];
	uint32_t by_address[STAGE_BRANCHES];
	struct mt_wrap wrap;
	uint8_t srh[SRH_MAX], guard_segments[SRH_MAX], guard_hmac[32];
	uint32_t srh_len;
	uint8_t in[STAGE_FRAME];
	uint32_t len;
	uint32_t stored; /* 0: all of it */
	bool is_known_good;
	struct mt_result r;
	struct stage_copy copies[STAGE_COPIES];
	uint32_t n_copies;
	uint8_t answer[MT_ANSWER_MAX], cnp[MT_ANSWER_MAX];
	uint32_t answer_len, cnp_len;
	uint16_t answer_port, cnp_port;
} st;

static inline void stage_address(uint8_t out[16], uint8_t net, uint32_t host)
{
	memcpy(out, (const uint8_t[16])STAGE_ADDRESS(net, 0), 16);
	put_be32(out + 12, host);
}

static inline void stage_route(const uint8_t *address, uint8_t len, uint32_t to)
{
	struct fwd_prefix prefix = {.len = len};

	memcpy(prefix.address, address, 16);
	assert_int_equal(fwd_routes_add(&st.sw.routes, &prefix, to), 0);
}

static inline void stage_open_routes(void)
{
	uint8_t net[16];
	void *memory = malloc(fwd_routes_bytes(STAGE_ROUTES));

	assert_non_null(memory);
	st.sw = (struct fwd_switch){.ports = st.ports,
				    .groups = st.routes_to,
				    .members = st.members,
				    .n_ports = STAGE_PORTS};
	fwd_routes_init(&st.sw.routes, memory, STAGE_ROUTES);
	for (uint32_t i = 0; i < STAGE_PORTS; i++) {
		st.members[i] = (uint16_t)i;
		st.routes_to[i] = (struct fwd_group){i, 1, false};
		st.ports[i] = (struct fwd_port){
			{2, 0, 0, 0, 0, (uint8_t)i}, {6, 0, 0, 0, 0, (uint8_t)i}, false};
	}
	stage_address(net, 0xa, 0);
	stage_route(net, 32, STAGE_UP);
	stage_address(net, 0xe, 0);
	stage_route(net, 32, STAGE_UP);
	stage_address(net, 0xb, 0);
	stage_route(net, 32, STAGE_RECEIVERS);
	stage_route((const uint8_t[16])STAGE_SID(0), 32, STAGE_NODES);
	stage_route(stage_proxy, 128, FWD_MULTICAST);
	stage_route(stage_sid, 128, FWD_MULTICAST);
	stage_route(stage_node, 128, FWD_MULTICAST);
}

static inline void stage_join(uint32_t branch, bool is_node)
{
	struct mt_branch *b = &st.branches[branch];

	b->is_node = is_node;
	stage_address(b->address, is_node ? 0xc : 0xb, is_node ? branch - 3 : branch + 1);
	memcpy(b->sid, (const uint8_t[16])STAGE_SID(0xc0 + branch), 16);
	b->port = is_node ? STAGE_NODES : STAGE_RECEIVERS;
	b->qpn = is_node || st.group.is_edge_by_tlv ? 0 : 0x0b0001 + branch;
	assert_int_equal(mt_merge_join(&st.group.merge, branch), 0);
	mt_group_index(&st.group);
}

/* An SRH with one TLV of each edge that is given, as the headend would make it. */
static inline void stage_srh(const struct srh_edge *edges, uint32_t n_edges, bool has_hmac)
{
	struct srh_segment segments[2];
	const struct srh_plan plan = {.next_header = IPPROTO_IPV6_IN,
				      .segments_left = 1,
				      .flags = has_hmac ? SRH_FLAG_HMAC : 0,
				      .segments = segments,
				      .n_segments = 2,
				      .endmt_type = ENDMT_TLV_TYPE,
				      .edges = edges,
				      .n_edges = n_edges,
				      .has_hmac = has_hmac,
				      .key_id = 7};

	memcpy(segments[0].address, stage_proxy, 16);
	memcpy(segments[1].address, stage_sid, 16);
	int len = srh_plan_put(&plan, (struct span){st.srh, sizeof st.srh});

	assert_true(len > 0);
	st.srh_len = (uint32_t)len;
	if (has_hmac)
		memset(st.srh + len - 32, 0x5a, 32);
}

/* The header of a tree whose edge under test has the receivers 1 to 3. */
static inline void stage_usual_srh(bool has_hmac)
{
	struct endmt_receiver receivers[3] = {
		{.qpn = 0x0b0001}, {.qpn = 0x0b0002}, {.qpn = 0x0b0003}};
	struct srh_edge edge = {.receivers = receivers, .n = 3};

	memcpy(edge.address, stage_sid, 16);
	for (uint32_t i = 0; i < 3; i++)
		stage_address(receivers[i].address, 0xb, i + 1);
	stage_srh(&edge, 1, has_hmac);
}

static inline void stage_set_guard(void)
{
	struct mt_guard *g = &st.group.guard;

	memcpy(g->src, stage_headend, 16);
	g->last_entry = 1;
	g->flags = SRH_FLAG_HMAC;
	g->key_id = 7;
	memcpy(st.guard_segments, st.srh + srh_bytes, 32);
	memset(st.guard_hmac, 0x5a, 32);
	g->segments = (struct cspan){st.guard_segments, 32};
	g->hmac = (struct cspan){st.guard_hmac, 32};
}

static inline void stage_set_group(uint32_t what)
{
	bool is_headend = what & STAGE_HEADEND;
	const struct mt_merge_cfg cfg = {.n_branches = STAGE_BRANCHES, .is_first = is_headend};
	struct mt_group *g = &st.group;

	*g = (struct mt_group){.qpn = STAGE_QPN,
			       .is_edge_by_tlv = what & STAGE_BY_TLV,
			       .wrap = is_headend ? &st.wrap : NULL,
			       .up = {.qpn = STAGE_SOURCE_QPN, .port = STAGE_UP},
			       .is_first = is_headend,
			       .sport = 0xc123,
			       .dscp = 48,
			       .most_bytes = 4096 + 100,
			       .branches = st.branches,
			       .n_branches = STAGE_BRANCHES,
			       .by_address = st.by_address};
	memcpy(g->proxy, stage_proxy, 16);
	memcpy(g->up.address, is_headend ? stage_source : stage_above, 16);
	if (!is_headend)
		memcpy(g->sid, stage_sid, 16);
	mt_merge_init(&g->merge, &cfg, st.states);
}

static inline void open_stage(uint32_t what)
{
	free(st.sw.routes.slots);
	memset(&st, 0, sizeof st);
	stage_open_routes();
	st.node = (struct mt_node){
		.fib = &st.sw, .tlv_type = ENDMT_TLV_TYPE, .groups = &st.group, .n_groups = 1};
	memcpy(st.node.address, stage_node, 16);
	stage_usual_srh(what & STAGE_IS_GUARDED);
	if (what & STAGE_HEADEND) {
		memcpy(st.srh + 2 * 16 + srh_bytes + 4, stage_node, 16); /* its own TLV */
		st.wrap = (struct mt_wrap){.hop_limit = 99, .srh = {st.srh, st.srh_len}};
		memcpy(st.wrap.src, stage_headend, 16);
	}
	stage_set_group(what);
	if (what & STAGE_IS_GUARDED)
		stage_set_guard();
	for (uint32_t i = 0; i < 3 && what & STAGE_HAS_RECEIVERS; i++)
		stage_join(i, false);
	for (uint32_t i = 4; i < 6 && what & STAGE_HAS_NODES; i++)
		stage_join(i, true);
	const char *fault = mt_node_fault(&st.node);

	if (fault)
		fail_msg("%s", fault);
}

static inline void close_stage(void)
{
	free(st.sw.routes.slots);
	st.sw.routes.slots = NULL;
}

/* RFC 8200 8.1, over all of a packet. */
static inline uint16_t stage_checksum(const uint8_t *ip)
{
	uint32_t length = get_be16(ip + 4);
	uint64_t sum = IPPROTO_UDP_IN + length;

	for (uint32_t i = 8; i < 40 + length; i += 2)
		if (i != 46)
			sum += get_be16(ip + i);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum != 0 ? (uint16_t)~sum : 0xffff;
}

/* A fresh seal, and a fresh checksum where there was one. */
static inline void stage_seal(uint8_t *ip)
{
	uint32_t at = 40u + get_be16(ip + 4) - 4;

	icrc_put(ip + at, icrc_of((struct cspan){ip, at}));
	if (get_be16(ip + 46) != 0)
		put_be16(ip + 46, stage_checksum(ip));
}

static inline struct stage_packet stage_request(uint8_t opcode, uint32_t psn)
{
	struct stage_packet p = {
		.src = stage_source,
		.dst = stage_proxy,
		.dscp = 26,
		.ecn = FWD_ECN_ECT0,
		.hops = 64,
		.label = 0x12345,
		.roce.bth = {.opcode = opcode, .pkey = 0xffff, .dest_qp = STAGE_QPN, .psn = psn},
		.roce.reth = {0x1122334455667788, 0xabcdef01, 5}};
	uint16_t has = 0;

	roce_opcode_stack(opcode, &has);
	if (has & ROCE_PAYLOAD) {
		p.payload = 8;
		p.roce.bth.pad = 3;
	}
	return p;
}

/* An ACK, NAK or CNP from a branch of the group, for the node under test. */
static inline struct stage_packet stage_answer(uint32_t branch, uint8_t opcode, uint32_t psn)
{
	const struct mt_branch *b = &st.branches[branch];
	struct stage_packet p = stage_request(opcode, psn);

	p.src = b->address;
	p.dst = b->is_node ? stage_node : stage_proxy;
	p.roce.bth.m = 1;
	p.roce.aeth = (struct aeth){.value = 31, .msn = 7};
	return p;
}

/* Writes the packet as a native one; st.len is the frame's. */
static inline void make(const struct stage_packet *p)
{
	uint8_t *ip = st.in + IP_AT, transport[128];
	uint32_t head = roce_head_put(&p->roce, (struct span){transport, sizeof transport});
	uint16_t length = (uint16_t)(8 + head + p->payload + 4);
	struct ipv6 v6 = {6, p->dscp, p->ecn, p->label, length, IPPROTO_UDP_IN, p->hops, {0}, {0}};
	struct udp udp = {0xc001, NET_ROCE_PORT, length, p->has_checksum};

	memset(st.in, 0xee, 12);
	put_be16(st.in + 12, ETHERTYPE_IPV6);
	memcpy(v6.src, p->src, 16);
	memcpy(v6.dst, p->dst, 16);
	ipv6_put(&v6, ip);
	udp_put(&udp, ip + 40);
	memcpy(ip + 48, transport, head);
	for (uint32_t i = 0; i < p->payload; i++)
		ip[48 + head + i] = (uint8_t)(i * 7 + 1);
	stage_seal(ip);
	st.len = IP_AT + 40 + length;
	st.stored = 0;
}

/* Puts the outer header and the SRH around what make wrote. */
static inline void wrap(void)
{
	uint8_t *ip = st.in + IP_AT;
	uint32_t inner = st.len - IP_AT, front = 40 + st.srh_len;
	struct ipv6 v6 = {
		6,  26,  FWD_ECN_ECT0, 0x12345, (uint16_t)(inner + st.srh_len), IPPROTO_ROUTING_IN,
		50, {0}, {0}};

	memmove(ip + front, ip, inner);
	memcpy(v6.src, stage_headend, 16);
	memcpy(v6.dst, stage_sid, 16);
	ipv6_put(&v6, ip);
	memcpy(ip + 40, st.srh, st.srh_len);
	st.len += front;
}

/* The inner packet of what wrap wrote. */
static inline uint8_t *inner_ip(void)
{
	return st.in + IP_AT + 40 + st.srh_len;
}

static inline void stage_keep_copies(void)
{
	static uint8_t front[MT_FRONT_MAX];
	struct mt_copy copy;

	for (st.n_copies = 0; mt_node_copy(&st.node, &st.r, &copy, front); st.n_copies++) {
		assert_true(st.n_copies < STAGE_COPIES);
		struct stage_copy *to = &st.copies[st.n_copies];

		to->is = copy;
		assert_true(copy.front_len <= MT_FRONT_MAX && copy.len <= STAGE_FRAME);
		assert_true(copy.from + copy.len - copy.front_len <= st.len);
		memcpy(to->bytes, front, copy.front_len);
		memcpy(to->bytes + copy.front_len, st.in + copy.from, copy.len - copy.front_len);
		mt_copy_finish(&copy, to->bytes);
	}
}

/* Hands the frame to the node, and holds the books against each other. */
static inline enum mt_drop take_by(uint16_t port)
{
	struct fwd_frame f = {st.in, st.stored ? st.stored : st.len, st.len};
	struct fwd_view view;
	uint64_t drops[MT_DROP_COUNT];

	memcpy(drops, st.node.drops, sizeof drops);
	assert_int_equal(fwd_view_get(&f, &view), FWD_DROP_NONE);
	mt_node_take(&st.node, &(struct mt_input){port, &f, &view, st.is_known_good}, &st.r);
	stage_keep_copies();
	drops[st.r.drop] += st.r.drop != MT_DROP_NONE;
	assert_memory_equal(drops, st.node.drops, sizeof drops);
	assert_true(st.r.drop == MT_DROP_NONE || st.n_copies == 0);
	st.answer_len = st.cnp_len = 0;
	if (st.r.group && st.r.out.has_answer)
		st.answer_len = mt_node_answer(&st.node, st.r.group, &st.r.out.answer, st.answer,
					       &st.answer_port);
	if (st.r.group && st.r.out.has_cnp)
		st.cnp_len = mt_node_cnp(&st.node, st.r.group, st.cnp, &st.cnp_port);
	return st.r.drop;
}

static inline enum mt_drop take_it(void)
{
	return take_by(STAGE_UP);
}

static inline enum mt_drop take_from(uint32_t branch)
{
	return take_by(st.branches[branch].port);
}

#endif
