/* The way up: which answers count, and those that are made. */
#include "base/bytes.h"
#include "fwd/mt_inside.h"
#include "wire/seal.h"

enum mt_drop mt_check_seal(const struct mt_input *in, const struct mt_packet *p)
{
	uint32_t bytes = p->end - p->at - MT_SEAL_BYTES;

	if (in->is_known_good)
		return MT_DROP_NONE;
	if (in->frame->stored < p->end)
		return MT_DROP_MALFORMED;
	return seal_sum(&seal_icrc, &(struct cspan){p->ip, bytes}, 1) ==
			       seal_get(&seal_icrc, p->ip + bytes)
		       ? MT_DROP_NONE
		       : MT_DROP_SEAL;
}

static enum mt_drop drop_of(enum mt_fate fate)
{
	switch (fate) {
	case MT_TAKEN:
	case MT_REPEATED: return MT_DROP_NONE;
	case MT_STALE: return MT_DROP_STALE;
	case MT_BEYOND: return MT_DROP_BEYOND;
	case MT_STRANGER: return MT_DROP_STRANGER;
	default: return MT_DROP_INVALID;
	}
}

/* What a receiver says in its own numbers, in those of the source (T-28). */
static struct mt_answer answer_of(const struct mt_shift *shift, const struct roce_pkt *roce)
{
	return (struct mt_answer){
		.psn = psn24_of(roce->bth.psn - shift->psn),
		.syndrome = aeth_syndrome((enum aeth_type)roce->aeth.type, roce->aeth.value),
		.msn = psn24_of(roce->aeth.msn - shift->msn),
	};
}

enum mt_drop mt_up_take(const struct mt_node *n, const struct mt_arrival *a, struct mt_result *r)
{
	struct mt_group *g = r->group;
	const struct mt_packet *p = &a->packet;
	const struct bth *bth = &p->roce.bth;
	uint32_t branch = mt_group_find(g, p->ip + MT_SRC_AT);

	if (branch == MT_NO_BRANCH)
		return MT_DROP_SOURCE;
	struct mt_branch *b = &g->branches[branch];

	/* T-24: receivers answer to the Proxy, nodes to the node above them. */
	if (b->is_node != mt_is_same(p->ip + MT_DST_AT, n->address))
		return MT_DROP_PROXY;
	if (!mt_is_port(b->port, a->in->in_port))
		return MT_DROP_PORT;
	if (bth->opcode != ROCE_OP_ACKNOWLEDGE && bth->opcode != ROCE_OP_CNP)
		return MT_DROP_OPCODE;
	/* By T-26 nothing counts before its CRC was found right: what corruption made of an ACK
	 * would be believed by the source. */
	enum mt_drop drop = mt_check_seal(a->in, p);

	if (drop != MT_DROP_NONE)
		return drop;
	struct mt_answer answer = answer_of(&b->shift, &p->roce);

	drop = drop_of(bth->opcode == ROCE_OP_CNP
			       ? mt_merge_cnp(&g->merge, branch, &r->out)
			       : mt_merge_answer(&g->merge, branch, &answer, &r->out));
	if (drop == MT_DROP_NONE) {
		b->pkey = bth->pkey;
		b->mig_req = bth->m;
	}
	return drop;
}

/* P_Key and MigReq of the branch in whose name an answer is made (T-35); of who said nothing yet,
 * those that the source uses. */
static void put_branch(const struct mt_group *g, uint32_t branch, struct bth *bth)
{
	const struct mt_branch *b = branch < g->n_branches ? &g->branches[branch] : NULL;

	if (b && b->pkey != 0) {
		bth->pkey = b->pkey;
		bth->m = b->mig_req;
	} else {
		bth->pkey = g->pkey != 0 ? g->pkey : ROCE_PKEY_DEFAULT;
		bth->m = g->mig_req;
	}
}

/* Puts everything in front of the transport's bytes, of which there are n, and the seal behind
 * them, and routes it. The length of the frame, or 0. */
static uint32_t finish(struct mt_node *n, const struct mt_group *g, uint32_t bytes, uint8_t *frame,
		       uint16_t *port)
{
	uint8_t *ip = frame + eth_bytes;
	uint16_t length = (uint16_t)(udp_bytes + bytes + MT_SEAL_BYTES);
	struct eth eth = {.type = ETHERTYPE_IPV6};
	struct ipv6 v6 = {.version = 6,
			  .dscp = g->dscp,
			  .length = length,
			  .next_header = IPPROTO_UDP_IN,
			  .hop_limit = 64};
	struct udp udp = {.sport = g->sport, .dport = NET_ROCE_PORT, .length = length};

	/* T-11: towards the source as its peer, the Proxy; between nodes by their own addresses. */
	memcpy(v6.src, g->is_first ? g->proxy : n->address, sizeof v6.src);
	memcpy(v6.dst, g->up.address, sizeof v6.dst);
	eth_put(&eth, frame);
	ipv6_put(&v6, ip);
	udp_put(&udp, ip + ipv6_bytes);
	seal_put(&seal_icrc, ip + MT_BTH_AT + bytes,
		 seal_sum(&seal_icrc, &(struct cspan){ip, MT_BTH_AT + bytes}, 1));
	uint32_t len = eth_bytes + ipv6_bytes + length;
	struct fwd_verdict v = fwd_switch_send(n->fib, &(struct fwd_frame){frame, len, len});

	*port = v.port;
	if (v.drop == FWD_DROP_NONE && !v.local && !v.multicast)
		return len;
	n->skips[MT_DROP_NO_ROUTE]++;
	return 0;
}

static struct bth head_of(const struct mt_group *g, uint8_t opcode, uint32_t branch)
{
	struct bth bth = {.opcode = opcode, .dest_qp = g->is_first ? g->up.qpn : g->qpn};

	put_branch(g, branch, &bth);
	return bth;
}

uint32_t mt_node_answer(struct mt_node *n, const struct mt_group *g, const struct mt_answer *answer,
			uint8_t *frame, uint16_t *port)
{
	uint8_t *at = frame + eth_bytes + MT_BTH_AT;
	uint32_t behind;
	struct bth bth = head_of(g, ROCE_OP_ACKNOWLEDGE, mt_merge_holder(&g->merge, &behind));
	struct aeth aeth = {.type = answer->syndrome >> 5 & 3,
			    .value = answer->syndrome & 0x1f,
			    .msn = answer->msn.v};

	bth.psn = answer->psn.v;
	bth_put(&bth, at);
	aeth_put(&aeth, at + bth_bytes);
	return finish(n, g, bth_bytes + aeth_bytes, frame, port);
}

uint32_t mt_node_cnp(struct mt_node *n, const struct mt_group *g, uint8_t *frame, uint16_t *port)
{
	uint8_t *at = frame + eth_bytes + MT_BTH_AT;
	struct bth bth = head_of(g, ROCE_OP_CNP, mt_merge_most_congested(&g->merge));

	bth.becn = 1;
	bth_put(&bth, at);
	memset(at + bth_bytes, 0, cnp_bytes);
	return finish(n, g, bth_bytes + cnp_bytes, frame, port);
}
