/* A node of multicast trees with groups of all kinds, and whatever comes to it by whatever port:
 * each packet is counted once, every copy lies in its frame and goes where the group says, damaged
 * as it came, and every answer that is made can be read and says no more than the receivers did. */
#include "fuzz.h"

#include <stdbool.h>

#include "base/bytes.h"
#include "catalog.h"
#include "fwd/mt_node.h"
#include "mt_records.h"
#include "wire/icrc.h"
#include "wire/net.h"
#include "wire/packet.h"
#include "wire/srh_plan.h"

enum { PORTS = 6, PORT_UP = 1, PORT_RECEIVERS = 2, PORT_NODES = 3, ROUTES = 32 };
enum { EDGE, HEADEND, SHIFTED, TRANSIT, PRINTED, GROUPS = MT_RECORD_GROUPS };
enum { RECEIVERS = 3, BRANCHES = 5 }; /* nodes come behind the receivers */
enum { FIRST_PSN = 0xfffffc, FAR = 0x10000, FRAME_MOST = 4096 };
enum { NATIVE_LEAST = ipv6_bytes + udp_bytes + bth_bytes + icrc_bytes };

#define ADDRESS(net, host)                                                 \
	{                                                                  \
		0xfd, 0, 0, (net), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (host) \
	}

static const uint8_t own[16] = {0xfc, 0xbb, 0xbb, 0, 0xe0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
static const uint8_t above[16] = {0xfc, 0xbb, 0xbb, 0, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
static const uint8_t source[16] = ADDRESS(0xa, 1);
static const uint8_t headend[16] = ADDRESS(0xe, 1);

/* What a group is made of. The first has the names of the samples. */
static const struct kind {
	bool is_first, is_by_tlv, is_guarded, keeps_source, as_printed, ejects, has_start;
	bool has_shift;
	uint8_t receivers, nodes; /* bits */
} kinds[GROUPS] = {
	[EDGE] = {.is_by_tlv = true, .ejects = true, .receivers = 3, .nodes = 1},
	[HEADEND] = {.is_first = true,
		     .is_by_tlv = true,
		     .has_start = true,
		     .receivers = 7,
		     .nodes = 3},
	[SHIFTED] = {.is_first = true, .has_start = true, .has_shift = true, .receivers = 7},
	[TRANSIT] = {.is_guarded = true, .has_start = true, .nodes = 3},
	[PRINTED] = {.keeps_source = true, .as_printed = true, .has_shift = true, .receivers = 7},
};

static struct fwd_switch fib;
static struct fwd_port ports[PORTS];
static struct fwd_group ways[PORTS];
static uint16_t members[PORTS];

/* Everything that an input changes. */
static struct world {
	struct mt_group groups[GROUPS];
	struct mt_branch branches[GROUPS][BRANCHES];
	struct mt_branch_state states[GROUPS][BRANCHES];
	uint32_t by_address[GROUPS][BRANCHES];
	uint64_t packets;
} world, at_first;

static struct mt_node node = {
	.fib = &fib, .tlv_type = ENDMT_TLV_TYPE, .groups = world.groups, .n_groups = GROUPS};
static struct mt_wrap wraps[GROUPS];
/* The header that requests of a group come in, or leave the headend in. */
static uint8_t srhs[GROUPS][SRH_MAX], hmac[SRH_HMAC_MAX];
static uint32_t srh_len[GROUPS];

static void put_address(uint8_t out[16], uint8_t net, uint32_t host)
{
	memset(out, 0, 16);
	out[0] = 0xfd;
	out[3] = net;
	put_be32(out + 12, host);
}

/* fcbb:bb00:e0NN:: */
static void put_sid(uint8_t out[16], uint32_t node_number)
{
	memset(out, 0, 16);
	memcpy(out, own, 5);
	out[5] = (uint8_t)node_number;
}

static void add_route(const uint8_t *address, uint8_t len, uint32_t to)
{
	struct fwd_prefix prefix = {.len = len};

	memcpy(prefix.address, address, 16);
	must(fwd_routes_add(&fib.routes, &prefix, to) == 0);
}

static void set_up_routes(void)
{
	static uint64_t memory[2048];
	uint8_t net[16];

	fib = (struct fwd_switch){
		.sids.trims = net_trims_of(CATALOG_DSCP_TRIMMED, CATALOG_DSCP_TRIMMED_LASTHOP),
		.ports = ports,
		.groups = ways,
		.members = members,
		.n_ports = PORTS};
	must(fwd_routes_bytes(ROUTES) <= sizeof memory);
	fwd_routes_init(&fib.routes, memory, ROUTES);
	for (uint32_t i = 0; i < PORTS; i++) {
		members[i] = (uint16_t)i;
		ways[i] = (struct fwd_group){i, 1, false};
	}
	add_route(source, 128, PORT_UP);
	add_route(above, 128, PORT_UP);
	put_address(net, 0xb, 0);
	add_route(net, 32, PORT_RECEIVERS);
	put_sid(net, 0);
	add_route(net, 32, PORT_NODES);
	add_route(own, 128, FWD_MULTICAST);
}

static void set_up_srh(uint32_t i)
{
	struct endmt_receiver receivers[RECEIVERS + 1];
	struct srh_edge edge = {.receivers = receivers, .n = RECEIVERS + 1};
	struct srh_segment segments[2];
	const struct srh_plan plan = {.next_header = IPPROTO_IPV6_IN,
				      .segments_left = 1,
				      .segments = segments,
				      .n_segments = 2,
				      .endmt_type = ENDMT_TLV_TYPE,
				      .edges = &edge,
				      .n_edges = 1,
				      .has_hmac = kinds[i].is_guarded,
				      .key_id = 7};
	struct mt_guard *guard = &world.groups[i].guard;

	memcpy(edge.address, own, 16);
	for (uint32_t k = 0; k <= RECEIVERS; k++) {
		receivers[k] = (struct endmt_receiver){.qpn = 0x0b0001 + k};
		put_address(receivers[k].address, 0xb, k + 1);
	}
	memcpy(segments[0].address, world.groups[i].proxy, 16);
	put_sid(segments[1].address, 1);
	int len = srh_plan_put(&plan, (struct span){srhs[i], SRH_MAX});

	must(len > 0);
	srh_len[i] = (uint32_t)len;
	wraps[i] = (struct mt_wrap){.hop_limit = 99, .srh = {srhs[i], srh_len[i]}};
	memcpy(wraps[i].src, headend, 16);
	if (!kinds[i].is_guarded)
		return;
	memcpy(guard->src, headend, 16);
	guard->last_entry = 1;
	guard->key_id = 7;
	guard->segments = (struct cspan){srhs[i] + srh_bytes, 32};
	guard->hmac = (struct cspan){hmac, sizeof hmac};
}

static void set_up_branch(uint32_t i, uint32_t k)
{
	struct mt_branch *b = &world.branches[i][k];

	b->is_node = k >= RECEIVERS;
	if (b->is_node) {
		put_sid(b->address, 0xc0 + k);
		b->address[15] = 1;
		put_sid(b->sid, 0xc0 + k);
	} else {
		put_address(b->address, 0xb, k + 1);
		b->qpn = kinds[i].is_by_tlv ? 0 : 0x0b0001 + k;
	}
	b->port = b->is_node ? PORT_NODES : PORT_RECEIVERS;
	if (kinds[i].has_shift)
		b->shift = (struct mt_shift){.va = UINT64_MAX - k,
					     .rkey = k,
					     .has_rkey = k > 0,
					     .psn = 5 * k,
					     .msn = 3 * k};
	must(mt_merge_join(&world.groups[i].merge, k) == 0);
}

static void set_up_group(uint32_t i)
{
	const struct kind *kind = &kinds[i];
	const struct mt_merge_cfg cfg = {.n_branches = BRANCHES,
					 .has_start = kind->has_start,
					 .start = psn24_of(FIRST_PSN),
					 .is_first = kind->is_first,
					 .as_printed = kind->as_printed,
					 .ejects = kind->ejects,
					 .cnps_most = 2};
	struct mt_group *g = &world.groups[i];

	*g = (struct mt_group){
		.qpn = 0xd001 + i,
		.is_edge_by_tlv = kind->is_by_tlv,
		.keeps_source = kind->keeps_source,
		.wrap = kind->is_first ? &wraps[i] : NULL,
		.up = {.qpn = 0x5001, .port = kind->is_first ? PORT_UP : MT_ANY_PORT},
		.is_first = kind->is_first,
		.sport = 0xc00d,
		.dscp = CATALOG_DSCP_CONTROL,
		.most_bytes = 1200,
		.branches = world.branches[i],
		.n_branches = BRANCHES,
		.by_address = world.by_address[i]};
	put_address(g->proxy, 9, i + 1);
	add_route(g->proxy, 128, FWD_MULTICAST);
	memcpy(g->up.address, kind->is_first ? source : above, 16);
	if (!kind->is_first) {
		put_sid(g->sid, 1);
		g->sid[7] = (uint8_t)i;
		add_route(g->sid, 128, FWD_MULTICAST);
	}
	set_up_srh(i);
	mt_merge_init(&g->merge, &cfg, world.states[i]);
	for (uint32_t k = 0; k < BRANCHES; k++)
		if ((kind->receivers | kind->nodes << RECEIVERS) >> k & 1)
			set_up_branch(i, k);
	mt_group_index(g);
}

/* All that an input finds. */
static void begin(void)
{
	if (at_first.groups[0].qpn == 0) {
		set_up_routes();
		memcpy(node.address, own, 16);
		for (uint32_t i = 0; i < GROUPS; i++)
			set_up_group(i);
		must(mt_node_fault(&node) == NULL);
		at_first = world;
	}
	world = at_first;
	memset(node.drops, 0, sizeof node.drops);
	memset(node.skips, 0, sizeof node.skips);
}

/* ------------------------------------------------------------------ frames */

/* The packet of RoCEv2 in a frame: behind a segment routing header where there is one. NULL: there
 * is none, or not all of its bytes. */
static uint8_t *native(const struct fwd_frame *f, uint32_t *bytes)
{
	struct fwd_view view;

	if (fwd_view_get(f, &view) != FWD_DROP_NONE || view.version != 6)
		return NULL;
	uint32_t at = view.ip_at, end = view.ip_at + view.ip_len;

	if (end > f->stored)
		return NULL;
	if (view.protocol == IPPROTO_ROUTING_IN && at + ipv6_bytes + srh_bytes <= end)
		at += ipv6_bytes + 8u + 8u * f->at[at + ipv6_bytes + 1];
	if (at + NATIVE_LEAST > end || f->at[at] >> 4 != 6)
		return NULL;
	*bytes = (uint32_t)ipv6_bytes + get_be16(f->at + at + 4);
	return at + *bytes <= end && *bytes >= NATIVE_LEAST ? f->at + at : NULL;
}

static bool is_sealed(const uint8_t *ip, uint32_t bytes)
{
	uint8_t right[icrc_bytes];

	icrc_put(right, icrc_of((struct cspan){ip, bytes - icrc_bytes}));
	return memcmp(ip + bytes - icrc_bytes, right, icrc_bytes) == 0;
}

/* What UDP's checksum leaves, modulo 2^16 - 1: 0 of one that is right (RFC 8200 8.1). */
static uint32_t checksum_rest(const uint8_t *ip, uint32_t bytes)
{
	uint64_t sum = IPPROTO_UDP_IN + bytes - ipv6_bytes;

	for (uint32_t i = 8; i < bytes; i++)
		sum += (uint64_t)ip[i] << (i & 1 ? 0 : 8);
	return (uint32_t)(sum % 0xffff);
}

static void seal(const struct fwd_frame *f)
{
	uint32_t bytes;
	uint8_t *ip = native(f, &bytes);

	if (!ip)
		return;
	icrc_put(ip + bytes - icrc_bytes, icrc_of((struct cspan){ip, bytes - icrc_bytes}));
	if (get_be16(ip + 46) != 0)
		put_be16(ip + 46, (uint16_t)(0xffff - (checksum_rest(ip, bytes) + 0xffff -
						       get_be16(ip + 46)) %
							      0xffff));
}

static void put_transport(const uint8_t *record, const struct mt_group *g,
			  const struct mt_branch *b, struct roce_pkt *p)
{
	bool is_request = record[MT_RECORD_WHAT] & MT_RECORD_IS_REQUEST;
	int32_t from = (int32_t)(record[MT_RECORD_PSN] ^ 0x80u) - 0x80;
	uint32_t psn = FIRST_PSN +
		       (uint32_t)(record[MT_RECORD_WHAT] & MT_RECORD_IS_FAR ? from * FAR : from);

	*p = (struct roce_pkt){
		.bth = {.opcode = record[MT_RECORD_OPCODE],
			.pkey = 0xffff,
			.dest_qp = g->qpn,
			.ack_req = (record[MT_RECORD_WHAT] & MT_RECORD_ASKS) != 0,
			.psn = (psn + (is_request ? 0 : b->shift.psn)) & 0xffffff},
		.reth = {0x1122334455667788, 0xabcdef01, 5},
		.aeth = {.type = record[MT_RECORD_SYNDROME] >> 5 & 3,
			 .value = record[MT_RECORD_SYNDROME] & 31,
			 .msn = record[MT_RECORD_MSN]},
	};
}

/* Writes a request of a group, or an answer of a branch; its length. */
static uint32_t make(const uint8_t *record, const struct mt_group *g, const struct mt_branch *b,
		     uint8_t *frame)
{
	bool is_request = record[MT_RECORD_WHAT] & MT_RECORD_IS_REQUEST;
	uint32_t i = g->qpn - 0xd001, outer = is_request && !g->wrap ? ipv6_bytes + srh_len[i] : 0;
	uint8_t *ip = frame + eth_bytes + outer;
	struct roce_pkt p;

	put_transport(record, g, b, &p);
	uint32_t head = roce_head_put(&p, (struct span){ip + 48, 128});
	uint32_t payload = is_request && p.has & ROCE_PAYLOAD ? 4u * record[MT_RECORD_SYNDROME] : 0;
	uint32_t length = udp_bytes + head + payload + icrc_bytes;
	struct ipv6 v6 = {.version = 6,
			  .ecn = FWD_ECN_ECT0,
			  .length = (uint16_t)length,
			  .next_header = IPPROTO_UDP_IN,
			  .hop_limit = 64};
	struct udp udp = {0xc001, NET_ROCE_PORT, (uint16_t)length,
			  record[MT_RECORD_WHAT] & MT_RECORD_HAS_CHECKSUM};

	memset(ip + 48 + head, 0x57, payload + icrc_bytes);
	memcpy(v6.src, is_request ? source : b->address, 16);
	memcpy(v6.dst, is_request || !b->is_node ? g->proxy : own, 16);
	ipv6_put(&v6, ip);
	udp_put(&udp, ip + ipv6_bytes);
	eth_put(&(struct eth){.type = ETHERTYPE_IPV6}, frame);
	if (outer > 0) {
		v6.length = (uint16_t)(srh_len[i] + ipv6_bytes + length);
		v6.next_header = IPPROTO_ROUTING_IN;
		memcpy(v6.src, headend, 16);
		memcpy(v6.dst, g->sid, 16);
		ipv6_put(&v6, frame + eth_bytes);
		memcpy(frame + eth_bytes + ipv6_bytes, srhs[i], srh_len[i]);
	}
	return eth_bytes + outer + ipv6_bytes + length;
}

/* ------------------------------------------------------------------ what must hold */

static uint64_t sum(const uint64_t *counts, uint32_t n)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++)
		all += counts[i];
	return all;
}

/* Every packet is a drop, a request or an answer, and groups say the same of it as the node. */
static void check_counts(void)
{
	struct mt_counts all = {.passed = 0};
	uint64_t good = 0;

	for (uint32_t i = 0; i < GROUPS; i++) {
		const struct mt_counts *c = &world.groups[i].merge.counts;

		good += c->passed + c->fates[MT_TAKEN] + c->fates[MT_REPEATED];
		all.refused += c->refused;
		all.alone += c->alone;
		for (uint32_t k = 0; k < MT_FATES; k++)
			all.fates[k] += c->fates[k];
	}
	must(world.packets == good + sum(node.drops, MT_DROP_COUNT));
	must(node.drops[MT_DROP_NONE] == 0 && node.skips[MT_DROP_NONE] == 0);
	must(node.drops[MT_DROP_REFUSED] == all.refused && node.drops[MT_DROP_ALONE] == all.alone);
	must(node.drops[MT_DROP_STALE] == all.fates[MT_STALE]);
	must(node.drops[MT_DROP_BEYOND] == all.fates[MT_BEYOND]);
	must(node.drops[MT_DROP_STRANGER] == all.fates[MT_STRANGER]);
	must(node.drops[MT_DROP_INVALID] == all.fates[MT_INVALID]);
}

/* A frame that was made here is right in every byte, and says the answer; NULL: a CNP. */
static void check_made(const struct mt_group *g, const struct mt_answer *answer,
		       const uint8_t *frame, uint32_t len, uint16_t port)
{
	const struct net_cfg cfg = catalog_cfg();
	struct wire_packet p;

	if (len == 0)
		return;
	must(len <= MT_ANSWER_MAX && port < PORTS);
	must(wire_packet_get((struct cspan){frame, len}, NET_LINK_ETHERNET, &cfg, &p, NULL).why ==
	     WIRE_DROP_NONE);
	must(p.family == WIRE_ROCE);
	must(p.roce.bth.opcode == (answer ? ROCE_OP_ACKNOWLEDGE : ROCE_OP_CNP));
	must(p.roce.bth.dest_qp == (g->is_first ? g->up.qpn : g->qpn));
	must(memcmp(frame + eth_bytes + 24, g->up.address, 16) == 0);
	if (!answer)
		return;
	must(p.roce.bth.psn == answer->psn.v && p.roce.aeth.msn == answer->msn.v);
	must(aeth_syndrome((enum aeth_type)p.roce.aeth.type, p.roce.aeth.value) ==
	     answer->syndrome);
}

/* Nothing that a live branch lacks is acknowledged, by an ACK or by what a NAK implies. */
static void check_answer(const struct mt_group *g, const struct mt_answer *answer)
{
	bool is_ack = answer->syndrome >> 5 == AETH_ACK;
	psn24 acked = is_ack ? answer->psn : psn24_prev(answer->psn);

	for (uint32_t i = 0; i < g->n_branches; i++) {
		const struct mt_branch_state *b = &g->merge.branches[i];

		if (b->state == MT_LIVE && !g->merge.is_over)
			must(b->is_known && psn24_le(acked, b->acked));
	}
}

static void check_out(const struct mt_group *g, const struct mt_out *out)
{
	uint8_t *frame = malloc(MT_ANSWER_MAX);
	uint16_t port;

	must(frame != NULL);
	if (out->has_answer) {
		uint32_t len = mt_node_answer(&node, g, &out->answer, frame, &port);

		check_answer(g, &out->answer);
		check_made(g, &out->answer, frame, len, port);
	}
	if (out->has_cnp) {
		uint32_t len = mt_node_cnp(&node, g, frame, &port);

		check_made(g, NULL, frame, len, port);
	}
	free(frame);
}

/* A copy that is whole is as right, or as wrong, as what it was made of. */
static void check_whole(const struct fwd_frame *f, const struct mt_copy *copy, const uint8_t *front)
{
	uint8_t *made = malloc(copy->len);
	uint32_t was_bytes, bytes;

	must(made != NULL);
	memcpy(made, front, copy->front_len);
	memcpy(made + copy->front_len, f->at + copy->from, copy->len - copy->front_len);
	mt_copy_finish(copy, made);
	const uint8_t *was = native(f, &was_bytes);
	const uint8_t *is = native(&(struct fwd_frame){made, copy->len, copy->len}, &bytes);

	must(was && is && bytes == was_bytes);
	must(is_sealed(was, bytes) == is_sealed(is, bytes));
	must((get_be16(was + 46) == 0) == (get_be16(is + 46) == 0));
	if (get_be16(was + 46) != 0)
		must(checksum_rest(was, bytes) == checksum_rest(is, bytes));
	free(made);
}

static void check_copy(const struct fwd_frame *f, const struct mt_group *g,
		       const struct mt_copy *copy, const uint8_t *front)
{
	const struct mt_branch *b = &g->branches[copy->branch];
	struct fwd_view view;

	must(copy->front_len <= MT_FRONT_MAX && copy->len >= copy->front_len);
	must(copy->from + (copy->len - copy->front_len) <= f->len);
	must(copy->seal_at < copy->len && copy->port < PORTS);
	must(fwd_view_get(
		     &(struct fwd_frame){(uint8_t *)(uintptr_t)front, copy->front_len, copy->len},
		     &view) == FWD_DROP_NONE);
	const uint8_t *to = view.ip + 24;

	must(view.hop_limit > 0 && view.ip_at + view.ip_len == copy->len);
	must(memcmp(to, b->is_node ? b->sid : b->address, 16) == 0);
	must(mt_address_is_usable(to) && memcmp(to, own, 16) != 0);
	must(memcmp(to, g->proxy, 16) != 0 && memcmp(to, g->sid, 16) != 0);
	must(g->merge.branches[copy->branch].state == MT_LIVE);
	if (f->stored == f->len)
		check_whole(f, copy, front);
}

static void check_copies(const struct fwd_frame *f, struct mt_result *r)
{
	uint8_t *front = malloc(MT_FRONT_MAX);
	uint32_t seen = 0;
	struct mt_copy copy;

	must(front != NULL);
	while (mt_node_copy(&node, r, &copy, front)) {
		must(r->is_request && copy.branch < BRANCHES && !(seen >> copy.branch & 1));
		seen |= 1u << copy.branch;
		check_copy(f, r->group, &copy, front);
	}
	must(!mt_node_copy(&node, r, &copy, front));
	free(front);
}

/* ------------------------------------------------------------------ an input */

static void take_frame(const struct fwd_frame *f, uint16_t port, bool is_known_good)
{
	uint8_t *was = malloc(f->stored ? f->stored : 1);
	struct mt_input in = {.in_port = port, .frame = f, .is_known_good = is_known_good};
	struct fwd_view view;
	struct mt_result r;

	must(was != NULL);
	memcpy(was, f->at, f->stored);
	if (fwd_view_get(f, &view) == FWD_DROP_NONE) {
		in.view = &view;
		world.packets++;
		mt_node_take(&node, &in, &r);
		must((unsigned)r.drop < MT_DROP_COUNT && mt_drop_name(r.drop) != NULL);
		must(!r.is_request || (r.group && r.drop == MT_DROP_NONE));
		check_copies(f, &r);
		must(r.group || !(r.out.has_answer || r.out.has_cnp || r.out.opens_window));
		if (r.group)
			check_out(r.group, &r.out);
	}
	must(memcmp(was, f->at, f->stored) == 0);
	check_counts();
	free(was);
}

/* A frame has a block of memory of its own size. */
static void play_frame(const uint8_t *record, uint32_t len)
{
	bool is_known_good = record[MT_RECORD_WHAT] & MT_RECORD_IS_KNOWN_GOOD;
	struct fwd_frame f = {malloc(len ? len : 1), len, len};

	must(f.at != NULL);
	memcpy(f.at, record + MT_RECORD_HEAD, len);
	if (record[MT_RECORD_WHAT] & MT_RECORD_IS_SEALED)
		seal(&f);
	if (is_known_good)
		f.len += 16u * record[MT_RECORD_VIRTUAL];
	take_frame(&f, record[MT_RECORD_PORT], is_known_good);
	free(f.at);
}

static struct mt_group *group_of(const uint8_t *record)
{
	return &world.groups[(record[MT_RECORD_GROUP] & 15) % GROUPS];
}

static uint32_t branch_of(const uint8_t *record)
{
	return (record[MT_RECORD_GROUP] >> 4) % BRANCHES;
}

static void play_made(const uint8_t *record)
{
	static uint8_t bytes[FRAME_MOST];
	const struct mt_group *g = group_of(record);
	const struct mt_branch *b = &g->branches[branch_of(record)];
	bool is_request = record[MT_RECORD_WHAT] & MT_RECORD_IS_REQUEST;
	uint32_t len = make(record, g, b, bytes);
	struct fwd_frame f = {bytes, len, len};

	if (record[MT_RECORD_WHAT] & MT_RECORD_IS_SEALED)
		seal(&f);
	take_frame(&f, (uint16_t)((is_request ? PORT_UP : b->port) + record[MT_RECORD_PORT]),
		   record[MT_RECORD_WHAT] & MT_RECORD_IS_KNOWN_GOOD);
}

static void play_member(const uint8_t *record)
{
	struct mt_group *g = group_of(record);
	uint32_t branch = branch_of(record);
	struct mt_out out = {.has_answer = false};
	enum mt_event event;

	if (record[MT_RECORD_OPCODE] % 3 == 0)
		mt_merge_join(&g->merge, branch);
	else if (record[MT_RECORD_OPCODE] % 3 == 1)
		mt_merge_leave(&g->merge, branch, &out);
	else
		mt_merge_eject(&g->merge, branch, &out);
	check_out(g, &out);
	for (uint32_t n = 0; mt_merge_event(&g->merge, &branch, &event); n++)
		must(branch < BRANCHES && (unsigned)event < MT_EVENTS && n < BRANCHES * MT_EVENTS);
}

static void play_window(const uint8_t *record)
{
	struct mt_group *g = group_of(record);
	struct mt_out out;

	mt_merge_window(&g->merge, &out);
	must(!out.has_answer && !out.opens_window);
	check_out(g, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	begin();
	while (size >= MT_RECORD_HEAD) {
		uint32_t kind = data[MT_RECORD_WHAT] % MT_RECORD_KINDS, len = 0;

		if (kind == MT_RECORD_FRAME)
			len = get_be16(data + MT_RECORD_LEN);
		if (len > size - MT_RECORD_HEAD)
			len = (uint32_t)(size - MT_RECORD_HEAD);
		if (kind == MT_RECORD_FRAME)
			play_frame(data, len);
		else if (kind == MT_RECORD_MADE)
			play_made(data);
		else if (kind == MT_RECORD_WINDOW)
			play_window(data);
		else
			play_member(data);
		data += MT_RECORD_HEAD + len;
		size -= MT_RECORD_HEAD + len;
	}
	return 0;
}
