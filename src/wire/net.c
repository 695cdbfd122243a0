#include "wire/net.h"

#include "wire/foreign.h"

WIRE_DEFINE(eth, ETH_FIELDS)
WIRE_DEFINE(vlan, VLAN_FIELDS)
WIRE_DEFINE(ipv4, IPV4_FIELDS)
WIRE_DEFINE(ipv6, IPV6_FIELDS)
WIRE_DEFINE(udp, UDP_FIELDS)
WIRE_DEFINE(entropy, ENTROPY_FIELDS)
WIRE_DEFINE(ev32, EV32_FIELDS)

/* The state of one walk. end shrinks with every length field that is believed. */
struct walk {
	struct cursor c;
	const struct net_cfg *cfg;
	struct net_pkt *pkt;
	struct wire_trail *trail;
};

uint16_t ipv4_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < ipv4_bytes; i += 2)
		sum += get_be16(header + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static struct wire_fault get_eth(struct walk *w, uint16_t *type)
{
	const uint8_t *p = TAKE(&w->c, w->trail, eth);

	if (!p)
		return fault_at(WIRE_DROP_TRUNCATED, w->c.at, eth_layout());
	eth_get(p, &w->pkt->eth);
	w->pkt->has_eth = true;
	*type = w->pkt->eth.type;
	return no_fault();
}

static struct wire_fault get_vlans(struct walk *w, uint16_t *type)
{
	struct net_pkt *pkt = w->pkt;

	while (*type == ETHERTYPE_VLAN || *type == ETHERTYPE_QINQ) {
		if (pkt->n_vlan == NET_VLANS_MAX)
			return foreign_vlan_fault(w->c, w->cfg);
		const uint8_t *p = TAKE(&w->c, w->trail, vlan);

		if (!p)
			return fault_at(WIRE_DROP_TRUNCATED, w->c.at, vlan_layout());
		vlan_get(p, &pkt->vlan[pkt->n_vlan]);
		*type = pkt->vlan[pkt->n_vlan++].type;
	}
	return no_fault();
}

/* The EtherType that the first byte of a bare IP packet amounts to; 0 for none. */
static struct wire_fault guess_type(const struct walk *w, uint16_t *type)
{
	const uint8_t *p = peek(&w->c, 1);

	if (!p)
		return fault_at(WIRE_DROP_TRUNCATED, w->c.at, ipv4_layout());
	*type = p[0] >> 4 == 4 ? ETHERTYPE_IPV4 : p[0] >> 4 == 6 ? ETHERTYPE_IPV6 : 0;
	return no_fault();
}

/* The outermost IP header says where the packet ends, inside the frame: what follows is link
 * padding. An inner one must agree with it. A trimming switch rewrites the outermost length only,
 * so in a trimmed packet inner lengths are history; and where a hop took the outer header off,
 * the length that is left may even exceed the frame (M-42). */
static struct wire_fault bound_by_ip(struct walk *w, const struct net_ip *ip, uint32_t ip_len)
{
	bool is_outer = w->pkt->n_ip == 1;
	uint32_t header = ip->version == 4 ? ipv4_bytes : ipv6_bytes;
	uint32_t there = w->c.len - ip->at;
	struct wire_fault bad = fault_at(WIRE_DROP_IP_LENGTH, ip->at + (ip->version == 4 ? 2 : 4),
					 ip->version == 4 ? ipv4_layout() : ipv6_layout());

	if (ip_len < header)
		return bad;
	if (w->pkt->trim != NET_WHOLE) {
		if (is_outer && ip_len < there)
			w->c.len = ip->at + ip_len;
		return no_fault();
	}
	if (ip_len > there || (!is_outer && ip_len != there))
		return bad;
	w->c.len = ip->at + ip_len;
	return no_fault();
}

/* The outermost header says it. */
static void note_trim(struct walk *w, uint8_t dscp)
{
	if (w->pkt->n_ip == 1)
		w->pkt->trim = net_trim_of(&w->cfg->trims, dscp);
}

static struct wire_fault get_ipv4(struct walk *w, uint8_t *next)
{
	struct net_ip *ip = &w->pkt->ip[w->pkt->n_ip];
	uint32_t at = w->c.at;
	const uint8_t *p = TAKE(&w->c, w->trail, ipv4);

	if (!p)
		return fault_at(WIRE_DROP_TRUNCATED, at, ipv4_layout());
	ip->version = 4;
	ip->at = at;
	ipv4_get(p, &ip->v4);
	if (ip->v4.version != 4)
		return fault_at(WIRE_DROP_IP_VERSION, at, ipv4_layout());
	if (ip->v4.ihl < 5)
		return fault_at(WIRE_DROP_IP4_HEADER, at, ipv4_layout());
	/* RoCEv2 senders set none, and no rule says how the ICRC would cover them. */
	if (ip->v4.ihl > 5)
		return fault_at(WIRE_DROP_IP4_OPTIONS, at, ipv4_layout());
	if (ipv4_checksum(p) != 0)
		return fault_at(WIRE_DROP_IP4_CHECKSUM, at + 10, ipv4_layout());
	if (ip->v4.mf || ip->v4.fragment)
		return fault_at(WIRE_DROP_IP_FRAGMENT, at + 6, ipv4_layout());
	w->pkt->n_ip++;
	note_trim(w, ip->v4.dscp);
	*next = ip->v4.protocol;
	return bound_by_ip(w, ip, ip->v4.length);
}

static struct wire_fault get_ipv6(struct walk *w, uint8_t *next)
{
	struct net_ip *ip = &w->pkt->ip[w->pkt->n_ip];
	uint32_t at = w->c.at;
	const uint8_t *p = TAKE(&w->c, w->trail, ipv6);

	if (!p)
		return fault_at(WIRE_DROP_TRUNCATED, at, ipv6_layout());
	ip->version = 6;
	ip->at = at;
	ipv6_get(p, &ip->v6);
	if (ip->v6.version != 6)
		return fault_at(WIRE_DROP_IP_VERSION, at, ipv6_layout());
	w->pkt->n_ip++;
	note_trim(w, ip->v6.dscp);
	*next = ip->v6.next_header;
	return bound_by_ip(w, ip, (uint32_t)ip->v6.length + ipv6_bytes);
}

/* The segment routing header of an outer IPv6 header; nothing but an IP packet may follow it. */
static struct wire_fault get_srh(struct walk *w, uint8_t *next)
{
	uint32_t at = w->c.at;
	struct wire_fault fault = srh_view_get(&w->c, w->cfg->endmt_type, &w->pkt->srh, w->trail);

	if (fault.why != WIRE_DROP_NONE)
		return fault;
	w->pkt->has_srh = true;
	*next = w->pkt->srh.head.next_header;
	if (*next == IPPROTO_ROUTING_IN)
		return fault_at(WIRE_DROP_IP6_EXTENSION, at, srh_layout());
	if (*next != IPPROTO_IPV4_IN && *next != IPPROTO_IPV6_IN)
		return fault_at(WIRE_DROP_SRH_BARE, at, srh_layout());
	return no_fault();
}

static bool is_extension(uint8_t next)
{
	/* Hop-by-hop, routing, fragment, authentication, destination options, mobility, HIP, shim6
	 * (the IPv6 extension header registry); ESP hides what follows, so it is foreign. */
	static const uint8_t list[] = {0, IPPROTO_ROUTING_IN, 44, 51, 60, 135, 139, 140};

	for (unsigned i = 0; i < sizeof list; i++)
		if (next == list[i])
			return true;
	return false;
}

/* One IP header and, behind an outermost IPv6 header, one segment routing header. */
static struct wire_fault get_ip(struct walk *w, uint8_t version, uint8_t *next)
{
	struct wire_fault fault = version == 4 ? get_ipv4(w, next) : get_ipv6(w, next);

	if (fault.why != WIRE_DROP_NONE || version == 4)
		return fault;
	if (*next == IPPROTO_ROUTING_IN && w->pkt->n_ip == 1)
		return get_srh(w, next);
	if (is_extension(*next))
		return fault_at(WIRE_DROP_IP6_EXTENSION, net_ip(w->pkt)->at + 6, ipv6_layout());
	return no_fault();
}

static struct wire_fault get_ips(struct walk *w, uint8_t version)
{
	uint8_t next = 0;
	struct wire_fault fault = get_ip(w, version, &next);

	if (fault.why == WIRE_DROP_NONE && (next == IPPROTO_IPV4_IN || next == IPPROTO_IPV6_IN))
		fault = get_ip(w, next == IPPROTO_IPV4_IN ? 4 : 6, &next);
	if (fault.why != WIRE_DROP_NONE)
		return fault;
	if (next == IPPROTO_IPV4_IN || next == IPPROTO_IPV6_IN)
		return fault_at(WIRE_DROP_IP_DEPTH, w->c.at, NULL);
	if (next == IPPROTO_UDP_IN)
		return no_fault();
	const struct carrier_use *native = carrier_of_ip(&w->cfg->carriers, next);

	if (!native)
		return fault_at(WIRE_DROP_NOT_UDP, w->c.at, NULL);
	w->pkt->carrier = native->is;
	return no_fault();
}

/* Down to what follows IP; a fault on the way is ours only if the packet leads to a carrier. */
static struct wire_fault follow(struct walk *w, uint8_t version)
{
	const struct cursor start = w->c;
	struct wire_fault fault = get_ips(w, version);

	if (fault.why == WIRE_DROP_NONE || wire_drop_is_foreign(fault.why))
		return fault;
	struct wire_fault foreign = foreign_fault(start, version, w->cfg);

	return foreign.why != WIRE_DROP_NONE ? foreign : fault;
}

static struct wire_fault get_version(struct walk *w, uint16_t link, uint8_t *version)
{
	uint16_t type = link;
	struct wire_fault fault = link == NET_LINK_ETHERNET ? get_eth(w, &type)
				  : link == NET_LINK_IP     ? guess_type(w, &type)
							    : no_fault();

	if (fault.why == WIRE_DROP_NONE)
		fault = get_vlans(w, &type);
	if (fault.why != WIRE_DROP_NONE)
		return fault;
	if (type != ETHERTYPE_IPV4 && type != ETHERTYPE_IPV6)
		return fault_at(WIRE_DROP_NOT_IP, w->c.at, NULL);
	*version = type == ETHERTYPE_IPV4 ? 4 : 6;
	return no_fault();
}

static void begin_transport(struct walk *w)
{
	w->pkt->transport = w->c.at;
	w->pkt->end = w->c.len;
}

static struct wire_fault get_udp(struct walk *w)
{
	const uint8_t *p = TAKE(&w->c, w->trail, udp);

	if (!p)
		return fault_at(WIRE_DROP_TRUNCATED, w->c.at, udp_layout());
	udp_get(p, &w->pkt->udp);
	begin_transport(w);
	const struct carrier_use *use =
		carrier_of_udp(&w->cfg->carriers, (uint16_t)w->pkt->udp.dport);

	w->pkt->carrier = use ? use->is : NULL;
	return no_fault();
}

static struct wire_fault get_entropy(struct walk *w)
{
	const uint8_t *p = TAKE(&w->c, w->trail, entropy);

	if (!p)
		return fault_at(WIRE_DROP_TRUNCATED, w->c.at, entropy_layout());
	entropy_get(p, &w->pkt->entropy);
	begin_transport(w);
	return no_fault();
}

struct wire_fault net_get_into(struct cspan frame, uint16_t link, const struct net_cfg *cfg,
			       struct net_pkt *pkt, struct wire_trail *trail)
{
	struct walk w = {cursor_of(frame), cfg, pkt, trail};
	uint8_t version = 0;
	struct wire_fault fault;

	fault = get_version(&w, link, &version);
	if (fault.why == WIRE_DROP_NONE)
		fault = follow(&w, version);
	if (fault.why != WIRE_DROP_NONE)
		return fault;
	pkt->udp_at = w.c.at;
	fault = pkt->carrier ? get_entropy(&w) : get_udp(&w);
	if (fault.why != WIRE_DROP_NONE)
		return fault;
	if (!pkt->carrier)
		return fault_at(WIRE_DROP_NOT_ROCE, pkt->udp_at + 2, udp_layout());
	return no_fault();
}

struct wire_fault net_get(struct cspan frame, uint16_t link, const struct net_cfg *cfg,
			  struct net_pkt *pkt, struct wire_trail *trail)
{
	memset(pkt, 0, sizeof *pkt);
	return net_get_into(frame, link, cfg, pkt, trail);
}

struct wire_fault net_udp_length_fault(const struct net_pkt *pkt, const uint8_t *head)
{
	const struct carrier *c = pkt->carrier;

	if (pkt->trim != NET_WHOLE || pkt->udp.length == pkt->end - pkt->udp_at)
		return no_fault();
	if (carrier_is_native(c) || carrier_has_other_length(c, head))
		return no_fault();
	return fault_at(WIRE_DROP_UDP_LENGTH, pkt->udp_at + 4, udp_layout());
}

uint32_t net_entropy(const struct net_pkt *pkt)
{
	const struct net_ip *ip = net_ip(pkt);
	uint32_t label = ip->version == 6 ? ip->v6.flow_label : 0;

	return carrier_entropy(
		(uint16_t)(carrier_is_native(pkt->carrier) ? pkt->entropy.entropy : pkt->udp.sport),
		label);
}

uint8_t net_ecn(const struct net_pkt *pkt)
{
	return pkt->ip[0].version == 4 ? pkt->ip[0].v4.ecn : pkt->ip[0].v6.ecn;
}

uint8_t net_dscp(const struct net_pkt *pkt)
{
	return pkt->ip[0].version == 4 ? pkt->ip[0].v4.dscp : pkt->ip[0].v6.dscp;
}
