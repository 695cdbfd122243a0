#include "fwd/sid.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/net.h"
#include "wire/srh.h"

enum { DST_AT = 24, NEXT_HEADER_AT = 6, PORTS_BYTES = 4 };

/* What stands between the outer IPv6 header and the upper layer. */
struct behind {
	struct srh srh;
	uint32_t srh_len; /* 0: no segment routing header */
	uint8_t next;     /* type of the upper layer */
};

/* Bytes of the packet that are in memory, from its IP header on. */
static uint32_t bytes_there(const struct fwd_frame *f, const struct fwd_view *view)
{
	uint32_t stored = f->stored - view->ip_at;

	return stored < view->ip_len ? stored : view->ip_len;
}

static const struct fwd_sid *find_sid(const struct fwd_sids *sids, const uint8_t *dst)
{
	bool is_f3216 = sids->format == FWD_F3216;
	uint32_t block = is_f3216 ? get_be32(dst) : get_be16(dst);
	uint16_t usid = get_be16(dst + (is_f3216 ? 4 : 2));

	if (block != sids->block)
		return NULL;
	for (uint32_t i = 0; i < sids->n; i++)
		if (sids->sids[i].usid == usid)
			return &sids->sids[i];
	return NULL;
}

/* RFC 9800 4.1.1, N01 to N06: all that follows the first uSID, the argument, takes its place, and
 * zeros enter at the end. False, and unchanged, when the argument is zero. */
static bool shift(uint8_t *dst, uint8_t format)
{
	uint64_t high = get_be64(dst), low = get_be64(dst + 8);
	uint64_t usids = UINT64_MAX >> (format == FWD_F3216 ? 32 : 16);

	if ((high & usids >> 16) == 0 && low == 0)
		return false;
	put_be64(dst, (high & ~usids) | (high << 16 & usids) | low >> 48);
	put_be64(dst + 8, low << 16);
	return true;
}

/* A segment routing header is looked for right behind the IPv6 header, where MRC has its only one
 * (MRC 9.3.5). Its TLVs are not looked at: RFC 8754 2.1 lets a node ignore what it is not
 * configured to process, and no HMAC is configured here. */
static enum fwd_drop look_behind(const struct fwd_frame *f, const struct fwd_view *view,
				 struct behind *b)
{
	uint32_t there = bytes_there(f, view);

	b->srh_len = 0;
	b->next = view->protocol;
	if (view->protocol != IPPROTO_ROUTING_IN)
		return FWD_DROP_NONE;
	if (there < ipv6_bytes + srh_bytes)
		return FWD_DROP_SID_HEADER;
	srh_get(view->ip + ipv6_bytes, &b->srh);
	uint32_t behind_head = 8u * b->srh.ext_len;

	if (b->srh.routing_type != SRH_ROUTING_TYPE || there < ipv6_bytes + srh_bytes + behind_head)
		return FWD_DROP_SID_HEADER;
	/* RFC 8986 4.1, S08 to S10; one segment past the list is a reduced header, which leaves out
	 * the segment that was the first destination (RFC 8754 4.1.1). */
	if (srh_segment_bytes * (b->srh.last_entry + 1u) > behind_head ||
	    b->srh.segments_left > b->srh.last_entry + 1u)
		return FWD_DROP_SID_HEADER;
	b->srh_len = srh_bytes + behind_head;
	b->next = b->srh.next_header;
	return FWD_DROP_NONE;
}

/* By the rule of fwd_view_get: a packet too short for ports has none, one whose ports are not in
 * memory is malformed. */
static enum fwd_drop view_ports(const struct fwd_frame *f, struct fwd_view *view)
{
	bool has_ports = (view->protocol == IPPROTO_UDP_IN || view->protocol == IPPROTO_TCP_IN) &&
			 view->ip_len >= ipv6_bytes + PORTS_BYTES;

	view->sport = view->dport = 0;
	if (!has_ports)
		return FWD_DROP_NONE;
	if (bytes_there(f, view) < ipv6_bytes + PORTS_BYTES)
		return FWD_DROP_MALFORMED;
	view->sport = get_be16(view->ip + ipv6_bytes);
	view->dport = get_be16(view->ip + ipv6_bytes + 2);
	return FWD_DROP_NONE;
}

/* Takes out the n bytes behind the first `keep`, which move forward: payload never moves. */
static void cut(struct fwd_frame *f, struct fwd_view *view, uint32_t keep, uint32_t n)
{
	memmove(f->at + n, f->at, keep);
	f->at += n;
	f->stored -= n;
	f->len -= n;
	view->ip = f->at + view->ip_at;
}

/* RFC 8986 4.16.1, S14.1 to S14.4. */
static enum fwd_drop pop_srh(struct fwd_frame *f, struct fwd_view *view, const struct behind *b)
{
	cut(f, view, view->ip_at + ipv6_bytes, b->srh_len);
	view->ip[NEXT_HEADER_AT] = view->protocol = b->next;
	fwd_set_ip_len(view, view->ip_len - b->srh_len);
	return view_ports(f, view);
}

/* RFC 8986 4.1: the next segment of the list becomes the destination. Without one the packet is for
 * whatever runs on this node behind the segment, and nothing does (S02, 4.1.1). */
static enum fwd_drop promote(const struct fwd_sid *sid, struct fwd_frame *f, struct fwd_view *view)
{
	struct behind b;
	enum fwd_drop drop = look_behind(f, view, &b);

	if (drop != FWD_DROP_NONE)
		return drop;
	if (b.srh_len == 0 || b.srh.segments_left == 0)
		return FWD_DROP_SID_END;
	uint8_t *srh = view->ip + ipv6_bytes;

	b.srh.segments_left--;
	srh_put(&b.srh, srh);
	memcpy(view->ip + DST_AT, srh + srh_bytes + srh_segment_bytes * b.srh.segments_left,
	       srh_segment_bytes);
	if (sid->psp && b.srh.segments_left == 0)
		return pop_srh(f, view, &b);
	return FWD_DROP_NONE;
}

/* What the fabric said on the outer header must reach the receiver on the inner one: congestion by
 * RFC 6040 4.2, where a mark on a packet whose ends do not understand it means loss, and that the
 * packet was trimmed by UE 4.1.3. */
static enum fwd_drop carry_inward(const struct fwd_view *outer, bool is_trimmed,
				  struct fwd_view *view)
{
	uint8_t inward = fwd_ecn_inward(view->ecn, outer->ecn);

	if (inward == FWD_ECN_DROP)
		return FWD_DROP_SID_ECN;
	if (inward != view->ecn)
		fwd_set_ecn(view, inward);
	if (is_trimmed && view->dscp != outer->dscp)
		fwd_set_dscp(view, outer->dscp);
	return FWD_DROP_NONE;
}

/* Reads the IPv6 header now at view->ip, which is known to be in memory; the packet has room for
 * `room` bytes. A trimming switch shortens the outermost length only, so that of a trimmed packet
 * is history here (M-42). */
static enum fwd_drop view_inner(const struct fwd_frame *f, uint32_t room, bool is_trimmed,
				struct fwd_view *view)
{
	struct ipv6 ip;

	ipv6_get(view->ip, &ip);
	uint32_t claimed = (uint32_t)ipv6_bytes + ip.length;

	if (ip.version != 6)
		return FWD_DROP_SID_UPPER;
	if (claimed > room && !is_trimmed)
		return FWD_DROP_MALFORMED;
	view->ip_len = claimed < room ? claimed : room;
	view->flow_label = ip.flow_label;
	view->dscp = ip.dscp;
	view->ecn = ip.ecn;
	view->hop_limit = ip.hop_limit;
	view->protocol = ip.next_header;
	return view_ports(f, view);
}

/* RFC 8986 4.4 and 4.6. Like there, the argument of the SID is not looked at. */
static enum fwd_drop decapsulate(const struct fwd_sids *sids, struct fwd_frame *f,
				 struct fwd_view *view)
{
	struct behind b;
	enum fwd_drop drop = look_behind(f, view, &b);

	if (drop != FWD_DROP_NONE)
		return drop;
	if (b.srh_len != 0 && b.srh.segments_left != 0)
		return FWD_DROP_SID_LEFT;
	if (b.next != IPPROTO_IPV6_IN)
		return FWD_DROP_SID_UPPER;
	const struct fwd_view outer = *view;
	uint32_t off = ipv6_bytes + b.srh_len;
	bool is_trimmed = net_trim_of(&sids->trims, outer.dscp) != NET_WHOLE;

	if (bytes_there(f, view) < off + ipv6_bytes)
		return FWD_DROP_MALFORMED;
	/* The packet ends where the outer header said. Link padding behind it goes: once the inner
	 * length exceeds the frame, nobody could tell the two apart. */
	f->len = outer.ip_at + outer.ip_len;
	f->stored = f->stored < f->len ? f->stored : f->len;
	cut(f, view, view->ip_at, off);
	drop = view_inner(f, outer.ip_len - off, is_trimmed, view);
	if (drop != FWD_DROP_NONE)
		return drop;
	return carry_inward(&outer, is_trimmed, view);
}

struct fwd_sid_result fwd_sid_execute(const struct fwd_sids *sids, struct fwd_frame *f,
				      struct fwd_view *view)
{
	struct fwd_sid_result r = {.drop = FWD_DROP_NONE, .next = FWD_SID_NOT_OURS};

	if (view->version != 6)
		return r;
	uint8_t *dst = view->ip + DST_AT;
	const struct fwd_sid *sid = find_sid(sids, dst);

	if (!sid)
		return r;
	bool has_port = sid->behaviour == FWD_SID_UA || sid->behaviour == FWD_SID_DX6;

	r.next = has_port ? FWD_SID_PORT : FWD_SID_ROUTE;
	r.port = sid->port;
	r.decapsulated = sid->behaviour == FWD_SID_DT6 || sid->behaviour == FWD_SID_DX6;
	if (r.decapsulated)
		r.drop = decapsulate(sids, f, view);
	else if (!shift(dst, sids->format))
		r.drop = promote(sid, f, view);
	return r;
}

uint32_t fwd_sid_capacity(enum fwd_sid_format format)
{
	return format == FWD_F3216 ? 6 : 7;
}

void fwd_container_put(uint8_t address[16], uint32_t block, enum fwd_sid_format format,
		       const uint16_t *usids, uint32_t n)
{
	uint32_t at = format == FWD_F3216 ? 4 : 2;

	assert(n <= fwd_sid_capacity(format));
	memset(address, 0, 16);
	if (format == FWD_F3216)
		put_be32(address, block);
	else
		put_be16(address, (uint16_t)block);
	for (uint32_t i = 0; i < n && at < 16; i++, at += 2)
		put_be16(address + at, usids[i]);
}
