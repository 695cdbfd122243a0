#include "fwd/mt_node.h"

#include "base/bytes.h"
#include "fwd/mt_inside.h"

static const struct {
	const char *name, *text;
} drops[MT_DROP_COUNT] = {
#define DROP_ROW(id, word, sentence) [MT_DROP_##id] = {word, sentence},
	MT_DROPS(DROP_ROW)
#undef DROP_ROW
};

const char *mt_drop_name(enum mt_drop drop)
{
	return (unsigned)drop < MT_DROP_COUNT ? drops[drop].name : NULL;
}

const char *mt_drop_text(enum mt_drop drop)
{
	return (unsigned)drop < MT_DROP_COUNT ? drops[drop].text : NULL;
}

/* The transport headers, and that payload and padding fill what is left in front of the seal: by
 * lengths, for payload may not be in memory. */
static enum mt_drop get_roce(const struct fwd_frame *f, struct mt_packet *p)
{
	uint32_t at = p->at + MT_BTH_AT, seal_at = p->end - MT_SEAL_BYTES;
	uint32_t stored = f->stored < seal_at ? f->stored : seal_at;

	if (seal_at < at + bth_bytes || stored < at + bth_bytes)
		return MT_DROP_MALFORMED;
	struct cursor c = cursor_of((struct cspan){f->at + at, stored - at});
	struct wire_fault fault = roce_head_get(&c, &p->roce, NULL);

	if (fault.why != WIRE_DROP_NONE)
		return fault.why == WIRE_DROP_OPCODE ? MT_DROP_OPCODE : MT_DROP_MALFORMED;
	uint32_t rest = seal_at - at - c.at;
	bool is_right =
		p->roce.has & ROCE_PAYLOAD ? rest % 4 == 0 && p->roce.bth.pad <= rest : rest == 0;

	return is_right ? MT_DROP_NONE : MT_DROP_MALFORMED;
}

/* The packet whose IPv6 header stands at p->at and which ends at p->end. A fragment and an
 * extension header are nothing of RoCEv2: the transport must follow at once. */
static enum mt_drop get_packet(const struct fwd_frame *f, struct mt_packet *p)
{
	struct ipv6 ip;
	struct udp udp;

	if (p->end < p->at + ipv6_bytes || f->stored < p->at + ipv6_bytes)
		return MT_DROP_MALFORMED;
	p->ip = f->at + p->at;
	ipv6_get(p->ip, &ip);
	if (ip.version != 6 || ip.next_header != IPPROTO_UDP_IN)
		return MT_DROP_UPPER;
	if (p->end - p->at != (uint32_t)ipv6_bytes + ip.length || ip.length < udp_bytes ||
	    f->stored < p->at + MT_BTH_AT)
		return MT_DROP_MALFORMED;
	udp_get(p->ip + ipv6_bytes, &udp);
	if (udp.dport != NET_ROCE_PORT)
		return MT_DROP_UPPER;
	if (udp.length != ip.length)
		return MT_DROP_MALFORMED;
	p->hop_limit = ip.hop_limit;
	p->dscp = ip.dscp;
	p->ecn = ip.ecn;
	return get_roce(f, p);
}

/* Takes the segment routing header, if there is one, and leaves the place and the type of what
 * follows. Its End.MT TLVs wait until all else was checked (draft 9). */
static enum mt_drop get_srh(const struct mt_input *in, struct mt_arrival *a, uint8_t *next)
{
	const struct fwd_frame *f = in->frame;
	uint32_t at = in->view->ip_at + ipv6_bytes, end = a->packet.end;

	a->packet.at = at;
	*next = in->view->protocol;
	if (*next != IPPROTO_ROUTING_IN)
		return MT_DROP_NONE;
	struct cursor c =
		cursor_of((struct cspan){f->at + at, (f->stored < end ? f->stored : end) - at});

	if (srh_view_get(&c, 0, &a->srh, NULL).why != WIRE_DROP_NONE)
		return MT_DROP_SRH;
	a->has_srh = true;
	a->packet.at += c.at;
	*next = a->srh.head.next_header;
	return MT_DROP_NONE;
}

static bool is_trimmed(const struct mt_node *n, uint8_t dscp)
{
	return net_trim_of(&n->fib->sids.trims, dscp) != NET_WHOLE;
}

/* Reads all of it, and changes nothing. */
static enum mt_drop look(const struct mt_node *n, const struct mt_input *in, struct mt_arrival *a)
{
	const struct fwd_view *v = in->view;
	uint8_t next;

	if (v->version != 6)
		return MT_DROP_UPPER;
	/* The cut may lie anywhere, also in the list of segments. */
	if (is_trimmed(n, v->dscp))
		return MT_DROP_TRIMMED;
	a->packet.at = v->ip_at;
	a->packet.end = v->ip_at + v->ip_len;
	if (v->protocol == IPPROTO_UDP_IN)
		return get_packet(in->frame, &a->packet);
	a->is_wrapped = true;
	enum mt_drop drop = get_srh(in, a, &next);

	if (drop != MT_DROP_NONE)
		return drop;
	if (next != IPPROTO_IPV6_IN)
		return MT_DROP_UPPER;
	drop = get_packet(in->frame, &a->packet);
	if (drop == MT_DROP_NONE && is_trimmed(n, a->packet.dscp))
		return MT_DROP_TRIMMED;
	return drop;
}

static struct mt_group *find_group(const struct mt_node *n, uint32_t qpn)
{
	uint32_t from = 0, end = n->n_groups;

	while (from < end) {
		uint32_t middle = from + (end - from) / 2;

		if (n->groups[middle].qpn == qpn)
			return &n->groups[middle];
		if (n->groups[middle].qpn > qpn)
			end = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

/* T-09: what comes natively to the Proxy is a request if the source sent it to its headend, else an
 * answer; what comes to the segment is End.MT. */
static enum mt_drop sort_out(const struct mt_node *n, const struct mt_arrival *a,
			     struct mt_result *r)
{
	const struct mt_group *g = r->group;
	const uint8_t *dst = a->in->view->ip + MT_DST_AT, *inner = a->packet.ip;

	if (a->is_wrapped) {
		if (g->wrap || !mt_is_same(dst, g->sid))
			return MT_DROP_SID;
		if (!mt_is_same(inner + MT_DST_AT, g->proxy))
			return MT_DROP_PROXY;
	} else {
		if (mt_is_same(dst, n->address))
			return mt_up_take(n, a, r);
		if (!mt_is_same(dst, g->proxy))
			return !g->wrap && mt_is_same(dst, g->sid) ? MT_DROP_NO_SRH : MT_DROP_PROXY;
		if (!g->wrap || !mt_is_same(inner + MT_SRC_AT, g->up.address))
			return mt_up_take(n, a, r);
	}
	return mt_is_port(g->up.port, a->in->in_port) ? mt_down_take(n, a, r) : MT_DROP_PORT;
}

void mt_node_take(struct mt_node *n, const struct mt_input *in, struct mt_result *r)
{
	struct mt_arrival a = {.in = in};

	r->group = NULL;
	r->is_request = false;
	r->out = (struct mt_out){.has_answer = false};
	r->drop = look(n, in, &a);
	if (r->drop == MT_DROP_NONE) {
		r->group = find_group(n, a.packet.roce.bth.dest_qp);
		r->drop = r->group ? sort_out(n, &a, r) : MT_DROP_GROUP;
	}
	if (r->drop != MT_DROP_NONE)
		n->drops[r->drop]++;
}
