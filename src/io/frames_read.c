#include "io/frames_inside.h"

#include <assert.h>

#include "base/crc32.h"
#include "wire/icrc.h"
#include "wire/mrc.h"

enum {
	/* Transport headers of this length at least lie in the first piece: more than any have. */
	HEAD_NEAR = 96,
};

static_assert((int)FRAMES_BTH_BYTES == (int)mrc_bth_bytes, "the wire's own number");

/* How many bytes an IP header takes with the routing header behind it, and what it announces. 0:
 * nothing of ours begins so. */
static uint32_t ip_bytes(const struct cursor *c, bool is_v4, uint8_t *next)
{
	const uint8_t *p = peek(c, is_v4 ? ipv4_bytes : ipv6_bytes);
	const uint8_t *routing;

	if (!p)
		return 0;
	*next = is_v4 ? p[9] : p[6];
	if (is_v4)
		return p[0] == 0x45 ? ipv4_bytes : 0;
	if (*next != IPPROTO_ROUTING_IN)
		return ipv6_bytes;
	routing = peek(c, ipv6_bytes + srh_bytes);
	if (!routing)
		return 0;
	*next = routing[ipv6_bytes];
	return ipv6_bytes + srh_bytes + 8u * routing[ipv6_bytes + 1];
}

/* Whether all headers down to UDP lie in the first piece of a frame: the parser is told of the
 * length of both, and must not read on behind the first. */
static bool is_near(struct cspan first)
{
	struct cursor c = cursor_of(first);
	const uint8_t *p = take(&c, eth_bytes);
	uint16_t type = p ? get_be16(p + 12) : 0;
	uint8_t next = 0;

	for (unsigned i = 0;
	     i < NET_VLANS_MAX && (type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ); i++) {
		p = take(&c, vlan_bytes);
		type = p ? get_be16(p + 2) : 0;
	}
	if (type != ETHERTYPE_IPV4 && type != ETHERTYPE_IPV6)
		return false;
	next = type == ETHERTYPE_IPV4 ? IPPROTO_IPV4_IN : IPPROTO_IPV6_IN;
	for (unsigned i = 0; i < 2 && (next == IPPROTO_IPV4_IN || next == IPPROTO_IPV6_IN); i++) {
		uint32_t bytes = ip_bytes(&c, next == IPPROTO_IPV4_IN, &next);

		if (!bytes || !take(&c, bytes))
			return false;
	}
	return next == IPPROTO_UDP_IN && take(&c, udp_bytes);
}

/* The part of both pieces that is [from, to) of the frame. */
static void cut(const struct cspan piece[FRAMES_PIECES], uint32_t from, uint32_t to,
		struct cspan out[FRAMES_PIECES])
{
	uint32_t split = piece[0].len, first_to = to < split ? to : split;

	out[0] = out[1] = (struct cspan){NULL, 0};
	if (from < first_to)
		out[0] = (struct cspan){piece[0].at + from, first_to - from};
	if (from < split)
		from = split;
	if (from < to)
		out[1] = (struct cspan){piece[1].at + (from - split), to - from};
}

/* end: of the packet without its ICRC. */
static bool icrc_is_right(const struct net_pkt *net, const struct cspan piece[FRAMES_PIECES],
			  uint32_t end)
{
	uint32_t at = net_ip(net)->at, covered, crc;
	struct cspan rest[FRAMES_PIECES], sum[FRAMES_PIECES];
	uint8_t bytes[icrc_bytes];
	uint32_t n = 0;

	crc = icrc_begin(piece[0].at + at, &covered);
	cut(piece, at + covered, end, rest);
	crc = crc32_update(crc, rest[0].at, rest[0].len);
	crc = crc32_update(crc, rest[1].at, rest[1].len);
	cut(piece, end, end + icrc_bytes, sum);
	for (unsigned i = 0; i < FRAMES_PIECES; i++)
		for (uint32_t k = 0; k < sum[i].len && n < icrc_bytes; k++)
			bytes[n++] = sum[i].at[k];
	return crc == icrc_get(bytes);
}

/* One end of the packet as tables have it. */
static struct addr end_of(const struct net_ip *ip, const uint8_t *frame, uint32_t port, bool is_dst)
{
	struct addr a = {.family = ip->version == 4 ? AF_INET : AF_INET6};

	if (ip->version == 4)
		memcpy(a.ip, frame + ip->at + (is_dst ? 16 : 12), 4);
	else
		memcpy(a.ip, is_dst ? ip->v6.dst : ip->v6.src, 16);
	if (addr_is_of_link(&a))
		a.where = port + 1;
	return a;
}

/* A tag of another network than the interface's own; one that has only a priority is none. */
static bool is_of_vlan(const struct net_pkt *net)
{
	for (unsigned i = 0; i < net->n_vlan; i++)
		if (net->vlan[i].vid)
			return true;
	return false;
}

static uint8_t ttl_of(const struct net_pkt *net)
{
	return net->ip[0].version == 4 ? net->ip[0].v4.ttl : net->ip[0].v6.hop_limit;
}

/* Everything up to the transport header. The counter that it is dropped under, or NULL. */
static uint64_t *check_headers(struct frames *f, uint32_t port,
			       const struct cspan piece[FRAMES_PIECES], struct net_pkt *net,
			       uint32_t *local)
{
	uint32_t len = piece[0].len + piece[1].len, left, near;
	struct driver_counters *count = f->count;
	struct wire_fault fault;
	struct addr dst;

	if (piece[1].len > 0 && !is_near(piece[0]))
		return &count->drop_headers;
	fault = net_get((struct cspan){piece[0].at, len}, NET_LINK_ETHERNET, &f->net, net, NULL);
	if (fault.why != WIRE_DROP_NONE)
		return fault.why == WIRE_DROP_TRUNCATED ? &count->drop_short : &count->drop_headers;
	left = net->end - net->transport;
	if (left < FRAMES_BTH_BYTES + (net->trim == NET_WHOLE ? (uint32_t)icrc_bytes : 0))
		return &count->drop_short;
	near = left < HEAD_NEAR ? left : HEAD_NEAR;
	if (net->transport + near > piece[0].len || is_of_vlan(net))
		return &count->drop_headers;
	/* A NACK may carry the length of the packet that it answers (M-13). */
	if (piece[0].at[net->transport] != MRC_OP_NACK &&
	    net_udp_length_fault(net).why != WIRE_DROP_NONE)
		return &count->drop_headers;
	dst = end_of(net_ip(net), piece[0].at, port, true);
	*local = addrs_find(&f->local_addrs, &dst);
	return *local == ADDRS_NONE ? &count->drop_headers : NULL;
}

static void lend(const struct frames *f, const struct net_pkt *net,
		 const struct cspan piece[FRAMES_PIECES], uint32_t end, struct rx_pkt *p)
{
	uint32_t head_end = net->transport + ENGINE_HEAD_MAX;

	if (head_end > end)
		head_end = end;
	if (head_end > piece[0].len)
		head_end = piece[0].len;
	p->head = (struct cspan){piece[0].at + net->transport, head_end - net->transport};
	cut(piece, head_end, end, p->body);
	p->ev = net_entropy(net);
	p->udp_len = net->udp.length;
	p->tclass = f->tclass_of[net_dscp(net)];
	p->ttl = ttl_of(net);
	p->trimmed = (uint8_t)net->trim;
	p->ecn = net_ecn(net);
}

bool frames_read(struct frames *f, nsec now, uint32_t port, const struct cspan piece[FRAMES_PIECES],
		 struct rx_pkt *p)
{
	struct net_pkt net;
	uint32_t local = 0, peer, end;
	uint64_t *drop;
	struct addr src;

	assert(port < f->cfg.n_ports);
	f->count->rx++;
	drop = check_headers(f, port, piece, &net, &local);
	if (drop) {
		++*drop;
		return false;
	}
	end = net.end - (net.trim == NET_WHOLE ? (uint32_t)icrc_bytes : 0);
	if (net.trim == NET_WHOLE && !icrc_is_right(&net, piece, end)) {
		f->count->drop_icrc++;
		return false;
	}
	src = end_of(net_ip(&net), piece[0].at, port, false);
	peer = frames_peers_seen(f, &src);
	if (peer == DRIVER_NO_HANDLE) {
		f->count->drop_peers++;
		return false;
	}
	*p = (struct rx_pkt){
		.at = now,
		.peer = peer,
		.local = f->local_owners[local],
		.port = (uint8_t)port,
	};
	lend(f, &net, piece, end, p);
	f->count->rx_delivered++;
	f->count->rx_trimmed += net.trim != NET_WHOLE;
	return true;
}
