#include "io/frames_inside.h"

#include <assert.h>

enum {
	/* Transport headers of this length at least lie in the first piece: more than any have. */
	HEAD_NEAR = 96,
};

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

/* Whether all headers down to what is carried lie in the first piece of a frame: the parser is told
 * of the length of both, and must not read on behind the first. */
static bool is_near(const struct carrier_use *via, struct cspan first)
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
	return next == via->protocol && take(&c, carrier_front_bytes(via->is));
}

static uint32_t frame_bytes(const struct cspan piece[FRAMES_PIECES])
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < FRAMES_PIECES; i++)
		bytes += piece[i].len;
	return bytes;
}

/* The part of all pieces that is [from, to) of the frame. */
static void cut(const struct cspan piece[FRAMES_PIECES], uint32_t from, uint32_t to,
		struct cspan out[FRAMES_PIECES])
{
	for (uint32_t i = 0; i < FRAMES_PIECES; i++) {
		uint32_t len = piece[i].len;
		uint32_t begin = from < len ? from : len, end = to < len ? to : len;

		out[i] = (struct cspan){NULL, 0};
		if (begin < end)
			out[i] = (struct cspan){piece[i].at + begin, end - begin};
		from -= begin;
		to -= end;
	}
}

/* What the headers down to the carried bytes say. */
struct stack {
	uint32_t ip_at, transport, end; /* bytes of the frame: the innermost IP, the carried ones */
	uint32_t ev;
	uint16_t udp_len;
	uint8_t version, dscp, ecn, ttl;
	enum net_trim trim;
	bool is_cut;
};

/* The CRC that a packet ends with: the tail's bytes from `at` on. */
static uint32_t tail_at(const struct seal *seal, const struct cspan piece[FRAMES_PIECES],
			uint32_t at)
{
	struct cspan tail[FRAMES_PIECES];
	uint8_t bytes[SEAL_TAIL_MAX];

	uint32_t have = 0;

	cut(piece, at, at + seal->tail_bytes, tail);
	if (tail[0].len == seal->tail_bytes)
		return seal_get(seal, tail[0].at);
	for (uint32_t i = 0; i < FRAMES_PIECES; i++) {
		if (tail[i].len)
			memcpy(bytes + have, tail[i].at, tail[i].len);
		have += tail[i].len;
	}
	return seal_get(seal, bytes);
}

/* end: of the packet without its tail. Of a cipher nobody here has the key. */
static bool is_seal_right(const struct seal *seal, const struct stack *s,
			  const struct cspan piece[FRAMES_PIECES], uint32_t end)
{
	struct cspan covered[FRAMES_PIECES];
	uint32_t n = FRAMES_PIECES;

	if (!seal_is_crc(seal))
		return seal->sum == SEAL_NONE;
	if (end < s->ip_at + seal_least(seal, s->version == 4))
		return false;
	cut(piece, s->ip_at, end, covered);
	while (n > 1 && !covered[n - 1].len)
		n--;
	return seal_sum(seal, covered, n) == tail_at(seal, piece, end);
}

/* One end of the packet as tables have it. */
static struct addr end_of(const struct stack *s, const uint8_t *frame, uint32_t port, bool is_dst)
{
	struct addr a = {.family = s->version == 4 ? AF_INET : AF_INET6};
	const uint8_t *ip = frame + s->ip_at;

	if (s->version == 4)
		memcpy(a.ip, ip + (is_dst ? 16 : 12), 4);
	else
		memcpy(a.ip, ip + (is_dst ? 24 : 8), 16);
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

/* The stack that nearly all packets have, IPv6 right behind Ethernet, then the carrier's front, and
 * whole. false: it is another, or something about it is odd, and then what it is is for the general
 * case to say. */
static bool read_plain(const struct frames *f, const struct cspan piece[FRAMES_PIECES],
		       struct stack *s)
{
	const struct carrier_use *via = &f->via;
	const bool is_native = carrier_is_native(via->is);
	const uint32_t transport = eth_bytes + ipv6_bytes + carrier_front_bytes(via->is);
	const uint8_t *ip, *front;
	uint32_t first, payload;

	if (piece[0].len < transport + (piece[1].len ? HEAD_NEAR : via->is->head_least))
		return false;
	ip = piece[0].at + eth_bytes;
	front = ip + ipv6_bytes;
	first = get_be32(ip);
	payload = get_be16(ip + 4);
	*s = (struct stack){
		.ip_at = eth_bytes,
		.transport = transport,
		.end = eth_bytes + ipv6_bytes + payload,
		.ev = carrier_entropy(get_be16(front), first),
		.udp_len = is_native ? 0 : get_be16(front + 4),
		.version = (uint8_t)(first >> 28),
		.dscp = first >> 22 & 0x3f,
		.ecn = first >> 20 & 3,
		.ttl = ip[7],
	};
	return get_be16(ip - 2) == ETHERTYPE_IPV6 && s->version == 6 && ip[6] == via->protocol &&
	       (is_native || (get_be16(front + 2) == via->port && s->udp_len == payload)) &&
	       s->end >= transport + via->is->head_least + f->seal->tail_bytes &&
	       s->end <= frame_bytes(piece) && net_trim_of(&f->net.trims, s->dscp) == NET_WHOLE;
}

/* Any stack. The counter that the frame is dropped under, or NULL. */
static uint64_t *read_any(const struct frames *f, const struct cspan piece[FRAMES_PIECES],
			  struct stack *s)
{
	uint32_t len = frame_bytes(piece), left, near;
	struct driver_counters *count = f->count;
	struct wire_fault fault;
	struct net_pkt net;

	if (len > piece[0].len && !is_near(&f->via, piece[0]))
		return &count->drop_headers;
	fault = net_get((struct cspan){piece[0].at, len}, NET_LINK_ETHERNET, &f->net, &net, NULL);
	if (fault.why != WIRE_DROP_NONE)
		return fault.why == WIRE_DROP_TRUNCATED ? &count->drop_short : &count->drop_headers;
	left = net.end - net.transport;
	if (left < net.carrier->head_least)
		return &count->drop_short;
	near = left < HEAD_NEAR ? left : HEAD_NEAR;
	if (net.transport + near > piece[0].len || is_of_vlan(&net))
		return &count->drop_headers;
	if (net_udp_length_fault(&net, piece[0].at + net.transport).why != WIRE_DROP_NONE)
		return &count->drop_headers;
	*s = (struct stack){
		.ip_at = net_ip(&net)->at,
		.transport = net.transport,
		.end = net.end,
		.ev = net_entropy(&net),
		.udp_len = net.udp.length,
		.version = net_ip(&net)->version,
		.dscp = net_dscp(&net),
		.ecn = net_ecn(&net),
		.ttl = ttl_of(&net),
		.trim = net.trim,
		.is_cut = net_is_cut(&net),
	};
	return NULL;
}

/* The place of an address of ours, ADDRS_NONE: it is not. Most packets are to the same as the last.
 */
static uint32_t local_of(struct frames *f, const struct addr *dst)
{
	uint32_t last = f->last_local;

	if (addrs_is_taken(&f->local_addrs, last) &&
	    addr_equal(addrs_at(&f->local_addrs, last), dst))
		return last;
	last = addrs_find(&f->local_addrs, dst);
	if (last != ADDRS_NONE)
		f->last_local = last;
	return last;
}

static bool is_expected(const struct frames *f, const struct stack *s, const uint8_t *bytes,
			const struct addr *from)
{
	const struct driver_call call = {
		.qp = carrier_bits_get(&f->via.is->number, bytes + s->transport),
		.peer = frames_peers_known(f, from),
		.len = s->end - s->transport,
	};

	return !f->guard || driver_guard_expects(f->guard, &call);
}

/* The transport's bytes are [from, end). */
static void lend(const struct stack *s, const struct cspan piece[FRAMES_PIECES], uint32_t from,
		 uint32_t end, struct rx_pkt *p)
{
	uint32_t head_end = from + ENGINE_HEAD_MAX;

	if (head_end > end)
		head_end = end;
	if (head_end > piece[0].len)
		head_end = piece[0].len;
	p->head = (struct cspan){piece[0].at + from, head_end - from};
	cut(piece, head_end, end, p->body);
	p->ev = s->ev;
	p->udp_len = s->udp_len;
	p->dscp = s->dscp;
	p->ttl = s->ttl;
	p->trimmed = (uint8_t)s->trim;
	p->is_uncut = s->trim != NET_WHOLE && !s->is_cut;
	p->ecn = s->ecn;
}

/* The counter that the frame is dropped under, or NULL. */
static uint64_t *read_frame(struct frames *f, uint32_t port,
			    const struct cspan piece[FRAMES_PIECES], struct rx_pkt *p)
{
	struct driver_counters *count = f->count;
	struct stack s;
	uint64_t *drop = read_plain(f, piece, &s) ? NULL : read_any(f, piece, &s);
	uint32_t local, peer, tail;
	const struct seal *seal;
	struct addr a;

	if (drop)
		return drop;
	seal = carrier_seal_of(f->via.is, piece[0].at + s.transport);
	tail = s.is_cut ? 0 : seal->tail_bytes;
	if (s.end - s.transport < f->via.is->head_least + tail)
		return &count->drop_short;
	a = end_of(&s, piece[0].at, port, true);
	local = local_of(f, &a);
	if (local == ADDRS_NONE)
		return &count->drop_headers;
	a = end_of(&s, piece[0].at, port, false);
	if (!is_expected(f, &s, piece[0].at, &a))
		return &count->drop_stranger;
	if (!s.is_cut && !is_seal_right(seal, &s, piece, s.end - tail))
		return &count->drop_icrc;
	peer = frames_peers_seen(f, &a);
	if (peer == DRIVER_NO_HANDLE)
		return &count->drop_peers;
	p->peer = peer;
	p->local = f->local_owners[local];
	lend(&s, piece, s.transport + seal->head_bytes, s.end - tail, p);
	return NULL;
}

bool frames_read(struct frames *f, nsec now, uint32_t port, const struct cspan piece[FRAMES_PIECES],
		 struct rx_pkt *p)
{
	uint64_t *drop;

	assert(port < f->cfg.n_ports);
	f->count->rx++;
	*p = (struct rx_pkt){.at = now, .port = (uint8_t)port};
	drop = read_frame(f, port, piece, p);
	if (drop) {
		++*drop;
		return false;
	}
	f->count->rx_delivered++;
	f->count->rx_trimmed += p->trimmed != NET_WHOLE;
	return true;
}
