/* The way down: requests that are believed, and their copies. */
#include "base/bytes.h"
#include "fwd/mt_inside.h"
#include "wire/seal.h"

enum {
	FIRST_CHANGED = MT_SRC_AT, /* of what a seal covers */
	CHECKSUM_AT = ipv6_bytes + 6,
	QPN_AT = MT_BTH_AT + 5,
	PSN_AT = MT_BTH_AT + 9,
	RETH_AT = MT_BTH_AT + bth_bytes,
	RKEY_AT = RETH_AT + 8,
};

/* How an opcode goes down a tree. */
enum kind { NOT_OURS, BEGINS = 1, ENDS = 2, MIDDLE = 4, REFUSED = 8 };

static uint8_t kind_of(uint8_t opcode)
{
	switch (opcode) {
	case ROCE_OP_SEND_FIRST:
	case ROCE_OP_WRITE_FIRST: return BEGINS;
	case ROCE_OP_SEND_MIDDLE:
	case ROCE_OP_WRITE_MIDDLE: return MIDDLE;
	case ROCE_OP_SEND_LAST:
	case ROCE_OP_SEND_LAST_IMM:
	case ROCE_OP_WRITE_LAST:
	case ROCE_OP_WRITE_LAST_IMM: return ENDS;
	case ROCE_OP_SEND_ONLY:
	case ROCE_OP_SEND_ONLY_IMM:
	case ROCE_OP_WRITE_ONLY:
	case ROCE_OP_WRITE_ONLY_IMM: return BEGINS | ENDS;
	/* What one peer alone could answer, or whose key is one peer's (T-29). */
	case ROCE_OP_READ_REQUEST:
	case ROCE_OP_COMPARE_SWAP:
	case ROCE_OP_FETCH_ADD:
	case ROCE_OP_SEND_ONLY_INV: return BEGINS | ENDS | REFUSED;
	case ROCE_OP_SEND_LAST_INV: return ENDS | REFUSED;
	default: return NOT_OURS;
	}
}

static bool is_equal(struct cspan a, struct cspan b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* Everything that the HMAC covers (RFC 8754 2.1.2.1), for it is the same in all packets of a group:
 * alone it would go with any segments. */
static bool is_guarded(const struct mt_guard *guard, const struct mt_arrival *a)
{
	const struct srh_view *srh = &a->srh;

	return srh->has_hmac && mt_is_same(a->in->view->ip + MT_SRC_AT, guard->src) &&
	       srh->head.last_entry == guard->last_entry && srh->head.flags == guard->flags &&
	       srh->hmac.key_id == guard->key_id && is_equal(srh->segments, guard->segments) &&
	       is_equal(srh->hmac_value, guard->hmac);
}

/* Draft 6.2, S01 to S03. Where no receiver is, RFC 9524 needs no segment routing header. */
static enum mt_drop check_outer(const struct mt_group *g, const struct mt_arrival *a)
{
	bool is_edge = g->n_receivers > 0, has_guard = g->guard.hmac.len > 0;

	/* RFC 8754 4.3.1.1 S09, RFC 9524 2.2. */
	if (a->in->view->hop_limit <= 1)
		return MT_DROP_HOP_LIMIT;
	if (!a->has_srh && (is_edge || has_guard))
		return MT_DROP_NO_SRH;
	if (is_edge && a->srh.head.segments_left == 0)
		return MT_DROP_NO_SEGMENTS;
	/* A list that leaves out its first segment does not say where its TLVs begin (T-08). */
	if (is_edge && a->srh.head.segments_left > a->srh.head.last_entry && a->srh.tlvs.len > 0)
		return MT_DROP_SRH;
	return has_guard && !is_guarded(&g->guard, a) ? MT_DROP_GUARD : MT_DROP_NONE;
}

/* Why the receiver of a TLV gets nothing; else its branch. */
static enum mt_drop find_receiver(const struct mt_node *n, const struct mt_group *g,
				  const uint8_t *address, uint32_t *branch)
{
	*branch = mt_group_find(g, address);
	if (!mt_address_is_usable(address) || mt_is_same(address, n->address) ||
	    mt_is_same(address, g->proxy) || mt_is_same(address, g->sid))
		return MT_DROP_ADDRESS;
	return *branch == MT_NO_BRANCH || g->branches[*branch].is_node ? MT_DROP_RECEIVER
								       : MT_DROP_NONE;
}

/* Draft 6.2, S04 and S05, each receiver held against those that the group allows (T-12): who is not
 * allowed is passed over, as one without a route is. */
static enum mt_drop list_receivers(const struct mt_node *n, const struct mt_group *g,
				   struct cspan tlvs, const uint8_t *sid, struct mt_walk *w)
{
	const struct endmt_edge edge = {n->address, sid};

	if (endmt_receivers_get(tlvs, n->tlv_type, &edge, &w->receivers).why != WIRE_DROP_NONE)
		return MT_DROP_TLV;
	for (uint32_t i = 0; i < w->receivers.n; i++) {
		struct endmt_receiver entry = endmt_receiver_at(&w->receivers, i);

		w->listed[i].refused = find_receiver(n, g, entry.address, &w->listed[i].branch);
	}
	return w->receivers.n > 0 ? MT_DROP_NONE : MT_DROP_NO_TLV;
}

/* A headend that is an edge too has its TLV in the header that it puts in front of others' copies.
 */
static enum mt_drop list_own(const struct mt_node *n, const struct mt_group *g, struct mt_walk *w)
{
	struct cursor c = cursor_of(g->wrap->srh);
	struct srh_view srh;

	if (srh_view_get(&c, 0, &srh, NULL).why != WIRE_DROP_NONE)
		return MT_DROP_SRH;
	return list_receivers(n, g, srh.tlvs, n->address, w);
}

/* Damaged requests go down as they are, for receivers to drop (T-13). But one flipped bit of an
 * opcode must not end the group (T-29), nor one of a PSN move the highest that answers are held
 * against to where the source will not be for long (T-26, T-34). */
static bool must_be_right(const struct mt_group *g, const struct bth *bth)
{
	const struct mt_merge *m = &g->merge;
	psn24 psn = psn24_of(bth->psn);

	if (g->is_first && kind_of(bth->opcode) & REFUSED)
		return true;
	if (m->has_highest)
		return psn24_gt(psn, psn24_next(m->highest));
	return m->cfg.has_start && !psn24_eq(psn, m->cfg.start);
}

/* Everything that can be said without changing anything. */
static enum mt_drop check(const struct mt_node *n, const struct mt_arrival *a, struct mt_result *r)
{
	const struct mt_group *g = r->group;
	const struct mt_packet *p = &a->packet;
	struct mt_walk *w = &r->walk;
	bool is_edge = g->n_receivers > 0;
	enum mt_drop drop = a->is_wrapped ? check_outer(g, a) : MT_DROP_NONE;

	if (drop != MT_DROP_NONE)
		return drop;
	if ((is_edge || !a->is_wrapped) && p->hop_limit <= 1)
		return MT_DROP_HOP_LIMIT;
	if (p->end - p->at > g->most_bytes)
		return MT_DROP_TOO_LONG;
	if (kind_of(p->roce.bth.opcode) == NOT_OURS)
		return MT_DROP_OPCODE;
	if (must_be_right(g, &p->roce.bth) && (drop = mt_check_seal(a->in, p)) != MT_DROP_NONE)
		return drop;
	w->ecn = a->is_wrapped ? fwd_ecn_inward(p->ecn, a->in->view->ecn) : p->ecn;
	if (is_edge && w->ecn == FWD_ECN_DROP)
		return MT_DROP_ECN;
	w->receivers.n = 0;
	if (!is_edge || !g->is_edge_by_tlv)
		return MT_DROP_NONE;
	if (!a->is_wrapped)
		return list_own(n, g, w);
	return list_receivers(n, g, a->srh.tlvs, a->in->view->ip + MT_DST_AT, w);
}

enum mt_drop mt_down_take(const struct mt_node *n, const struct mt_arrival *a, struct mt_result *r)
{
	struct mt_group *g = r->group;
	const struct mt_packet *p = &a->packet;
	const struct bth *bth = &p->roce.bth;
	struct mt_walk *w = &r->walk;
	enum mt_drop drop = check(n, a, r);

	if (drop != MT_DROP_NONE)
		return drop;
	uint8_t kind = kind_of(bth->opcode);
	const struct mt_data data = {
		.psn = psn24_of(bth->psn),
		.begins = kind & BEGINS,
		.ends = kind & ENDS,
		.asks = bth->ack_req,
		.is_refused = kind & REFUSED,
	};
	enum mt_pass pass = mt_merge_down(&g->merge, &data, &r->out);

	if (pass != MT_PASS)
		return pass == MT_REFUSED ? MT_DROP_REFUSED : MT_DROP_ALONE;
	g->pkey = bth->pkey;
	g->mig_req = bth->m;
	w->frame = a->in->frame->at;
	w->ip_at = a->in->view->ip_at;
	w->inner_at = p->at;
	w->end = p->end;
	w->is_wrapped = a->is_wrapped;
	w->has_reth = p->roce.has & ROCE_RETH;
	w->psn = data.psn;
	w->next = 0;
	r->is_request = true;
	return MT_DROP_NONE;
}

/* Who gets the next copy, and by which QPN: nodes and provisioned receivers, then those of TLVs. */
static uint32_t next_branch(struct mt_node *n, struct mt_result *r, uint32_t *qpn)
{
	const struct mt_group *g = r->group;
	struct mt_walk *w = &r->walk;

	while (w->next < g->n_branches) {
		uint32_t branch = w->next++;
		const struct mt_branch *b = &g->branches[branch];

		*qpn = b->qpn;
		if ((b->is_node || !g->is_edge_by_tlv) && mt_merge_takes(&g->merge, branch, w->psn))
			return branch;
	}
	while (w->next - g->n_branches < w->receivers.n) {
		uint32_t entry = w->next++ - g->n_branches, branch = w->listed[entry].branch;

		if (w->listed[entry].refused != MT_DROP_NONE) {
			n->skips[w->listed[entry].refused]++;
			continue;
		}
		*qpn = endmt_receiver_at(&w->receivers, entry).qpn;
		if (mt_merge_takes(&g->merge, branch, w->psn))
			return branch;
	}
	return MT_NO_BRANCH;
}

/* RFC 1624 equation 3 over words that change from was to is. */
static uint16_t amend(uint16_t checksum, const uint8_t *was, const uint8_t *is, uint32_t bytes)
{
	uint32_t sum = (uint16_t)~checksum;

	for (uint32_t i = 0; i < bytes; i += 2)
		sum += (uint32_t)(uint16_t)~get_be16(was + i) + get_be16(is + i);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	/* 0 would say that there is none (RFC 768; T-13). */
	return (uint16_t)~sum != 0 ? (uint16_t)~sum : 0xffff;
}

/* S08 to S10: the native packet as one receiver's own. Bytes [FIRST_CHANGED, bytes) of it hold all
 * changes that seal and checksum see. */
static void address(const struct mt_group *g, const struct mt_branch *b, const struct mt_walk *w,
		    uint32_t qpn, uint8_t *ip)
{
	ip[1] = (uint8_t)((ip[1] & 0xcf) | w->ecn << 4);
	ip[7]--;
	if (!g->keeps_source)
		memcpy(ip + MT_SRC_AT, g->proxy, 16);
	memcpy(ip + MT_DST_AT, b->address, 16);
	put_be24(ip + QPN_AT, qpn);
	put_be24(ip + PSN_AT, w->psn.v + b->shift.psn);
	if (!w->has_reth)
		return;
	put_be64(ip + RETH_AT, get_be64(ip + RETH_AT) + b->shift.va);
	if (b->shift.has_rkey)
		put_be32(ip + RKEY_AT, b->shift.rkey);
}

static void copy_for_receiver(const struct mt_group *g, const struct mt_branch *b,
			      const struct mt_walk *w, uint32_t qpn, struct mt_copy *copy,
			      uint8_t *front)
{
	const uint8_t *was = w->frame + w->inner_at;
	uint8_t *ip = front + w->ip_at;
	uint32_t head = RETH_AT + (w->has_reth ? reth_bytes : 0);
	uint32_t changed = head - FIRST_CHANGED, seal_at = w->end - w->inner_at - MT_SEAL_BYTES;

	memcpy(front, w->frame, w->ip_at);
	memcpy(ip, was, head);
	address(g, b, w, qpn, ip);
	copy->front_len = w->ip_at + head;
	copy->from = w->inner_at + head;
	copy->len = w->ip_at + w->end - w->inner_at;
	copy->seal_at = w->ip_at + seal_at;
	/* T-13: a fresh one would make damage good. */
	copy->seal = seal_difference(&seal_icrc, &(struct seal_change){
							 .was = was + FIRST_CHANGED,
							 .is = ip + FIRST_CHANGED,
							 .at = FIRST_CHANGED,
							 .len = changed,
							 .end = seal_at,
						 });
	uint16_t checksum = get_be16(was + CHECKSUM_AT);

	copy->checksum_at = w->ip_at + CHECKSUM_AT;
	copy->has_checksum = checksum != 0;
	if (copy->has_checksum)
		put_be16(ip + CHECKSUM_AT,
			 amend(checksum, was + FIRST_CHANGED, ip + FIRST_CHANGED, changed));
}

/* RFC 9524 2.2: another destination, one hop less, all else as it came. */
static void copy_for_node(const struct mt_branch *b, const struct mt_walk *w, struct mt_copy *copy,
			  uint8_t *front)
{
	uint32_t head = w->ip_at + ipv6_bytes;

	memcpy(front, w->frame, head);
	memcpy(front + w->ip_at + MT_DST_AT, b->sid, 16);
	front[w->ip_at + 7]--;
	copy->front_len = copy->from = head;
	copy->len = w->end;
}

/* The headend's: draft 5.2 step 1, by T-32. */
static void wrap_for_node(const struct mt_group *g, const struct mt_branch *b,
			  const struct mt_walk *w, struct mt_copy *copy, uint8_t *front)
{
	struct cspan srh = g->wrap->srh;
	struct ipv6 v6;

	ipv6_get(w->frame + w->ip_at, &v6);
	v6.length = (uint16_t)(srh.len + w->end - w->ip_at);
	v6.next_header = IPPROTO_ROUTING_IN;
	v6.hop_limit = g->wrap->hop_limit;
	memcpy(v6.src, g->wrap->src, 16);
	memcpy(v6.dst, b->sid, 16);
	memcpy(front, w->frame, w->ip_at);
	ipv6_put(&v6, front + w->ip_at);
	memcpy(front + w->ip_at + ipv6_bytes, srh.at, srh.len);
	copy->front_len = w->ip_at + ipv6_bytes + srh.len;
	copy->from = w->ip_at;
	copy->len = copy->front_len + w->end - w->ip_at;
}

/* S11: by the routes to its destination. */
static bool send(struct mt_node *n, struct mt_copy *copy, uint8_t *front)
{
	struct fwd_frame f = {front, copy->front_len, copy->len};
	struct fwd_verdict v = fwd_switch_send(n->fib, &f);
	bool is_here = v.local || v.multicast;

	copy->port = v.port;
	if (v.drop == FWD_DROP_NONE && !is_here)
		return true;
	n->skips[is_here ? MT_DROP_ADDRESS : MT_DROP_NO_ROUTE]++;
	return false;
}

bool mt_node_copy(struct mt_node *n, struct mt_result *r, struct mt_copy *copy, uint8_t *front)
{
	const struct mt_walk *w = &r->walk;
	uint32_t qpn, branch;

	if (!r->is_request)
		return false;
	while ((branch = next_branch(n, r, &qpn)) != MT_NO_BRANCH) {
		struct mt_branch *b = &r->group->branches[branch];

		*copy = (struct mt_copy){.branch = branch};
		if (b->is_node && w->is_wrapped) {
			copy_for_node(b, w, copy, front);
		} else if (b->is_node) {
			wrap_for_node(r->group, b, w, copy, front);
		} else {
			b->qpn = qpn;
			copy_for_receiver(r->group, b, w, qpn, copy, front);
		}
		if (send(n, copy, front))
			return true;
	}
	return false;
}

void mt_copy_finish(const struct mt_copy *copy, uint8_t *frame)
{
	uint8_t *tail = frame + copy->seal_at, was[MT_SEAL_BYTES];

	/* What a node gets is sealed as it was. */
	if (copy->seal_at == 0)
		return;
	memcpy(was, tail, sizeof was);
	seal_put(&seal_icrc, tail, seal_get(&seal_icrc, tail) ^ copy->seal);
	if (!copy->has_checksum)
		return;
	uint8_t *checksum = frame + copy->checksum_at;

	put_be16(checksum, amend(get_be16(checksum), was, tail, sizeof was));
}
