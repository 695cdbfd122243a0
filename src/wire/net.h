/* Ethernet, VLAN, IPv4, IPv6 and UDP, and the walk from the first byte of a frame to what a carrier
 * carries, through one SRv6 encapsulation where there is one (MRC 9.3.5).
 *
 * net_get checks every length before it reads, so that a struct net_pkt it accepts can be trusted:
 * the carried bytes lie in [net.transport, net.end) of the frame. */
#ifndef WEFT_WIRE_NET_H
#define WEFT_WIRE_NET_H

#include "base/span.h"
#include "wire/carrier.h"
#include "wire/drop.h"
#include "wire/endmt.h"
#include "wire/header.h"
#include "wire/srh.h"
#include "wire/trail.h"

/* clang-format off */
#define ETH_FIELDS(F) \
	F(dst,               0, 48) \
	F(src,              48, 48) \
	F(type,             96, 16)
WIRE_HEADER(eth, 14, ETH_FIELDS)

/* What follows an 802.1Q or 802.1ad type: the tag, then the type of the next header. */
#define VLAN_FIELDS(F) \
	F(pcp,               0,  3) \
	F(dei,               3,  1) \
	F(vid,               4, 12) \
	F(type,             16, 16)
WIRE_HEADER(vlan, 4, VLAN_FIELDS)

#define IPV4_FIELDS(F) \
	F(version,           0,  4) \
	F(ihl,               4,  4) \
	F(dscp,              8,  6) \
	F(ecn,              14,  2) \
	F(length,           16, 16) \
	F(id,               32, 16) \
	F(rsv0,             48,  1) \
	F(df,               49,  1) \
	F(mf,               50,  1) \
	F(fragment,         51, 13) \
	F(ttl,              64,  8) \
	F(protocol,         72,  8) \
	F(checksum,         80, 16) \
	F(src,              96, 32) \
	F(dst,             128, 32)
WIRE_HEADER(ipv4, 20, IPV4_FIELDS)

#define IPV6_FIELDS(F) \
	F(version,           0,  4) \
	F(dscp,              4,  6) \
	F(ecn,              10,  2) \
	F(flow_label,       12, 20) \
	F(length,           32, 16) \
	F(next_header,      48,  8) \
	F(hop_limit,        56,  8) \
	F(src,              64, 128) \
	F(dst,             192, 128)
WIRE_HEADER(ipv6, 40, IPV6_FIELDS)

/* The checksum is 0 on send and ignored on receipt (MRC-7.5.5.2-02); length keeps the original
 * length in a trimmed packet and in the NACK that answers one (M-13, M-42). */
#define UDP_FIELDS(F) \
	F(sport,             0, 16) \
	F(dport,            16, 16) \
	F(length,           32, 16) \
	F(checksum,         48, 16)
WIRE_HEADER(udp, 8, UDP_FIELDS)

/* In front of what native IP carries: the entropy stands where UDP has its source port (UE Table
 * 3-31). */
#define ENTROPY_FIELDS(F) \
	F(entropy,           0, 16) \
	F(rsv0,             16, 16)
WIRE_HEADER(entropy, 4, ENTROPY_FIELDS)

/* The 32-bit entropy of a packet, as a responder reflects it (MRC Table 9-1, M-08). */
#define EV32_FIELDS(F) \
	F(udp_sport,         0, 16) \
	F(flow_label,       16, 16)
WIRE_HEADER(ev32, 4, EV32_FIELDS)
/* clang-format on */

enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_QINQ = 0x88a8,
	IPPROTO_IPV4_IN = 4,
	IPPROTO_TCP_IN = 6,
	IPPROTO_UDP_IN = 17,
	IPPROTO_IPV6_IN = 41,
	IPPROTO_ROUTING_IN = 43,
	NET_ROCE_PORT = 4791, /* MRC 7.5.5.2 prints 4971 once; Table 7-9 and IANA say this (M-01) */
	NET_DSCP_NONE = 0xff,
	NET_VLANS_MAX = 2,
};

enum net_trim { NET_WHOLE, NET_TRIMMED, NET_TRIMMED_LASTHOP };

/* What a DSCP says of trimming, a bit for each that says so: each that may be trimmed has one that
 * says it was, several the same or each its own (UE 4.1). All 0: packets are never trimmed. */
struct net_trims {
	uint64_t trimmed, lasthop;
};

static inline enum net_trim net_trim_of(const struct net_trims *t, uint8_t dscp)
{
	uint64_t bit = UINT64_C(1) << (dscp & 63u);

	/* Most packets are whole. */
	if (!((t->trimmed | t->lasthop) & bit))
		return NET_WHOLE;
	return t->trimmed & bit ? NET_TRIMMED : NET_TRIMMED_LASTHOP;
}

/* Of one DSCP each. NET_DSCP_NONE: none says so. */
static inline struct net_trims net_trims_of(uint8_t trimmed, uint8_t lasthop)
{
	return (struct net_trims){
		trimmed != NET_DSCP_NONE ? UINT64_C(1) << (trimmed & 63u) : 0,
		lasthop != NET_DSCP_NONE ? UINT64_C(1) << (lasthop & 63u) : 0,
	};
}

/* What a deployment decides. Zero is not a valid configuration: start from net_cfg_default, which
 * follows RoCEv2 alone. */
struct net_cfg {
	struct carriers carriers; /* packets of others are foreign */
	struct net_trims trims;
	uint8_t endmt_type; /* TLV of End.MT in segment routing headers; 0: there is none */
};

static inline struct net_cfg net_cfg_default(void)
{
	struct net_cfg cfg = {.trims = {0, 0}, .endmt_type = ENDMT_TLV_TYPE};

	carriers_add(&cfg.carriers, &carrier_roce, 0);
	return cfg;
}

/* The UDP port of the carrier that was added first. */
static inline uint16_t *net_cfg_port(struct net_cfg *cfg)
{
	return &cfg->carriers.use[0].port;
}

/* The same with another port, and with DSCPs of trimmed packets. */
static inline struct net_cfg net_cfg_of(uint16_t port, uint8_t trimmed, uint8_t lasthop)
{
	struct net_cfg cfg = net_cfg_default();

	*net_cfg_port(&cfg) = port;
	cfg.trims = net_trims_of(trimmed, lasthop);
	return cfg;
}

/* What a frame starts with: an Ethernet header, an IP header of either version, or, for a link
 * whose own header was taken off, what that header announced: the EtherType itself, 0x0600 or more.
 */
enum { NET_LINK_ETHERNET, NET_LINK_IP };

/* One IP header, where it stands in the frame. */
struct net_ip {
	uint8_t version; /* 4 or 6: which of the two is set */
	uint32_t at;
	union {
		struct ipv4 v4;
		struct ipv6 v6;
	};
};

/* A frame down to UDP, or to the entropy header of native IP: of these the one that the carrier has
 * is set. ip[0] is the outermost header, ip[n_ip - 1] the one it belongs to. */
struct net_pkt {
	bool has_eth, has_srh;
	uint8_t n_vlan, n_ip;
	enum net_trim trim; /* by the outermost DSCP (M-42) */
	struct eth eth;
	struct vlan vlan[NET_VLANS_MAX];
	struct net_ip ip[2];
	struct srh_view srh;
	const struct carrier *carrier;
	struct udp udp;
	struct entropy entropy;
	uint32_t udp_at;         /* or the entropy header's place */
	uint32_t transport, end; /* bytes of the frame: the carried ones; past the IP payload */
};

/* Walks frame to what is carried. On WIRE_DROP_NONE *pkt is whole; on any other reason
 * it holds only what came before the fault, and must not be used beyond printing. The UDP length
 * is left to net_udp_length_fault: some MRC packets carry another one on purpose. trail may be
 * NULL. */
struct wire_fault net_get(struct cspan frame, uint16_t link, const struct net_cfg *cfg,
			  struct net_pkt *pkt, struct wire_trail *trail);
/* The same into one that is all zeros, as part of a packet that was cleared as a whole. */
struct wire_fault net_get_into(struct cspan frame, uint16_t link, const struct net_cfg *cfg,
			       struct net_pkt *pkt, struct wire_trail *trail);

/* The UDP length must be what the IP length leaves, except where trimming changed it, or the
 * carrier has packets with another one: head is the carried bytes, head_least of them. */
struct wire_fault net_udp_length_fault(const struct net_pkt *pkt, const uint8_t *head);

/* Whether a switch cut bytes off the packet, with the tail of its seal. It may mark one as trimmed
 * that is as short already as it would leave it: then the UDP length is still right, and nothing is
 * missing (M-48). Native IP has no such length. */
static inline bool net_is_cut(const struct net_pkt *pkt)
{
	if (pkt->trim == NET_WHOLE)
		return false;
	return carrier_is_native(pkt->carrier) || pkt->udp.length != pkt->end - pkt->udp_at;
}

/* The innermost IP header. */
static inline const struct net_ip *net_ip(const struct net_pkt *pkt)
{
	return &pkt->ip[pkt->n_ip - 1];
}

/* The entropy of wire/carrier.h, of the innermost flow label; 0 for its bits over IPv4. Under SRv6
 * that is the handle the requestor put there (M-26). */
uint32_t net_entropy(const struct net_pkt *pkt);

/* Congestion mark and DSCP of the outermost header: what the fabric said about this packet. */
uint8_t net_ecn(const struct net_pkt *pkt);
uint8_t net_dscp(const struct net_pkt *pkt);

/* The Internet checksum (RFC 1071) of an IPv4 header of 20 bytes; 0 over a header whose own
 * checksum is right. */
uint16_t ipv4_checksum(const uint8_t *header);

#endif
