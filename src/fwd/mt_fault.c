/* What a controller may get wrong about a group, found before a packet finds it. */
#include <string.h>

#include "fwd/mt_inside.h"
#include "wire/net.h"
#include "wire/roce.h"
#include "wire/srh.h"

enum {
	QPN_LEAST = 2, /* 0 and 1 are those of management (IBTA 3.5.2) */
	BITS_24 = 0xffffff,
	LENGTH_MAX = 0xffff, /* of what follows an IPv6 header */
	/* The shortest request: no payload. */
	LEAST_BYTES = ipv6_bytes + udp_bytes + bth_bytes + MT_SEAL_BYTES,
};

static bool is_qpn(uint32_t qpn)
{
	return qpn >= QPN_LEAST && qpn < BITS_24;
}

/* Whether packets to an address are this node's own: of whatever group. */
static bool is_own(const struct mt_node *n, const uint8_t *address)
{
	if (mt_is_same(address, n->address))
		return true;
	for (uint32_t i = 0; i < n->n_groups; i++)
		if (mt_is_same(address, n->groups[i].proxy) ||
		    (!n->groups[i].wrap && mt_is_same(address, n->groups[i].sid)))
			return true;
	return false;
}

static const char *names_fault(const struct mt_node *n, const struct mt_group *g)
{
	if (!is_qpn(g->qpn))
		return "the Designated QPN is no number of a queue pair";
	if (!mt_address_is_usable(g->proxy))
		return "the Proxy Address is not a unicast address of the network";
	if (mt_is_same(g->proxy, n->address))
		return "the Proxy Address is the node's own";
	if (!g->wrap && !mt_address_is_usable(g->sid))
		return "the segment is not a unicast address of the network";
	if (!g->wrap && (mt_is_same(g->sid, g->proxy) || mt_is_same(g->sid, n->address)))
		return "the segment is the Proxy Address, or the node's own address";
	if (!mt_address_is_usable(g->up.address))
		return "the address above is not a unicast address of the network";
	if (is_own(n, g->up.address))
		return "the address above is one of this node";
	if (g->is_first && !is_qpn(g->up.qpn))
		return "the source's QPN is no number of a queue pair";
	if (g->wrap && g->up.port == MT_ANY_PORT)
		return "the headend is not told by which port the source sends (T-12)";
	if (g->dscp > 63)
		return "the DSCP of answers has more than 6 bits";
	return NULL;
}

static bool has_nodes(const struct mt_group *g)
{
	for (uint32_t i = 0; i < g->n_by_address; i++)
		if (g->branches[g->by_address[i]].is_node)
			return true;
	return false;
}

static const char *lengths_fault(const struct mt_group *g)
{
	uint32_t wrapped = g->wrap ? g->wrap->srh.len : 0;

	if (g->most_bytes < LEAST_BYTES || g->most_bytes > ipv6_bytes + LENGTH_MAX)
		return "the length of requests is none that a request can have (T-30)";
	if (g->most_bytes + wrapped > LENGTH_MAX)
		return "requests and their segment routing header are longer than IPv6 can say";
	uint32_t all = g->most_bytes + (g->wrap && has_nodes(g) ? ipv6_bytes + wrapped : 0);

	if (g->mtu != 0 && all > g->mtu)
		return "requests with the headers around them are longer than the MTU (T-30)";
	return NULL;
}

/* A header that receivers are to find their TLVs in, and pass on as it is. */
static const char *wrap_fault(const struct mt_node *n, const struct mt_group *g)
{
	const struct mt_wrap *wrap = g->wrap;

	bool is_needed = has_nodes(g) || (g->is_edge_by_tlv && g->n_receivers > 0);

	if (!wrap || (!is_needed && wrap->srh.len == 0))
		return NULL;
	if (wrap->srh.len < srh_bytes || wrap->srh.len > SRH_MAX)
		return "the segment routing header has a length that none has";
	struct cursor c = cursor_of(wrap->srh);
	struct srh_view srh;

	if (srh_view_get(&c, n->tlv_type, &srh, NULL).why != WIRE_DROP_NONE || cursor_left(&c) > 0)
		return "the segment routing header is malformed";
	if (srh.head.next_header != IPPROTO_IPV6_IN)
		return "the segment routing header does not say that IPv6 follows";
	if (srh.head.segments_left == 0)
		return "the segment routing header has no segments left (T-08)";
	if (srh.head.segments_left > srh.head.last_entry)
		return "the segment routing header leaves its first segment out (T-08)";
	if (has_nodes(g) && (!mt_address_is_usable(wrap->src) || wrap->hop_limit < 2))
		return "the outer header's source address or hop limit cannot travel";
	return NULL;
}

static const char *guard_fault(const struct mt_guard *guard)
{
	if (guard->hmac.len == 0 && guard->segments.len == 0)
		return NULL;
	if (guard->hmac.len != SRH_HMAC_MAX)
		return "the guard has no HMAC of 32 bytes (T-12)";
	if (guard->segments.len != srh_segment_bytes * (guard->last_entry + 1u))
		return "the guard has not the segments that its last entry says (T-12)";
	return NULL;
}

static const char *shift_fault(const struct mt_group *g, const struct mt_branch *b)
{
	const struct mt_shift *s = &b->shift;
	bool has_shift = s->va != 0 || s->has_rkey || s->psn != 0 || s->msn != 0;

	if (has_shift && (b->is_node || g->is_edge_by_tlv))
		return "only provisioned receivers have numbers of their own (T-27, T-28)";
	if (s->psn > BITS_24 || s->msn > BITS_24)
		return "an offset of PSNs or MSNs has more than 24 bits";
	return NULL;
}

static const char *branch_fault(const struct mt_node *n, const struct mt_group *g,
				const struct mt_branch *b)
{
	if (!mt_address_is_usable(b->address))
		return "a branch's address is not a unicast address of the network";
	if (is_own(n, b->address))
		return "a branch has an address of this node, or a Proxy Address";
	if (mt_is_same(b->address, g->up.address))
		return "a branch has the address that requests come from";
	if (b->is_node && (!mt_address_is_usable(b->sid) || is_own(n, b->sid)))
		return "a node's segment is not a unicast address elsewhere";
	if (!b->is_node && !g->is_edge_by_tlv && !is_qpn(b->qpn))
		return "a receiver's QPN is no number of a queue pair";
	return shift_fault(g, b);
}

static const char *branches_fault(const struct mt_node *n, const struct mt_group *g)
{
	if (g->n_by_address > g->n_branches)
		return "more branches are indexed than there are";
	for (uint32_t i = 0; i < g->n_by_address; i++) {
		const struct mt_branch *b = &g->branches[g->by_address[i]];
		const char *fault = branch_fault(n, g, b);

		if (fault)
			return fault;
		if (i > 0 && mt_is_same(b->address, g->branches[g->by_address[i - 1]].address))
			return "two branches have one address (T-25)";
	}
	return NULL;
}

const char *mt_group_fault(const struct mt_node *n, const struct mt_group *g)
{
	const char *fault = names_fault(n, g);

	if (!fault)
		fault = branches_fault(n, g);
	if (!fault)
		fault = lengths_fault(g);
	if (!fault)
		fault = wrap_fault(n, g);
	return fault ? fault : guard_fault(&g->guard);
}

const char *mt_node_fault(const struct mt_node *n)
{
	if (!mt_address_is_usable(n->address))
		return "the node's address is not a unicast address of the network";
	/* A type whose top bit is set names what may change on the way (RFC 8754 2.1). */
	if (n->tlv_type == SRH_TLV_PAD1 || n->tlv_type == SRH_TLV_PADN ||
	    n->tlv_type == SRH_TLV_HMAC || n->tlv_type > 127)
		return "the type of End.MT TLVs is another TLV's, or one that may change (T-03)";
	for (uint32_t i = 0; i < n->n_groups; i++) {
		const char *fault = mt_group_fault(n, &n->groups[i]);

		if (fault)
			return fault;
		if (i > 0 && n->groups[i].qpn <= n->groups[i - 1].qpn)
			return "groups are not sorted by their Designated QPNs, each once";
	}
	return NULL;
}
