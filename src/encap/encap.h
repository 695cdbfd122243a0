/* The headers around a transport's packet: Ethernet, IPv6 and perhaps one SRv6 encapsulation
 * (MRC 9.3.5), or IPv4, then UDP or the entropy header of native IP. Made once for each destination
 * and path, then copied and completed for each packet. */
#ifndef WEFT_ENCAP_ENCAP_H
#define WEFT_ENCAP_ENCAP_H

#include <stdbool.h>
#include <stdint.h>

#define ENCAP_BYTES_MAX 126u /* Ethernet, IPv6, an SRH of one segment, IPv6, UDP */

struct encap_ends {
	uint8_t src_mac[6], dst_mac[6];
	uint8_t src[16], dst[16]; /* IPv4: the first four bytes */
	uint16_t dport;           /* of UDP */
	uint8_t native; /* IP protocol of what goes without UDP, behind an entropy header; 0: UDP */
	uint8_t hop_limit;
	bool is_v4;
};

/* Segments as they stand in the packet: the outer destination, then that of the SRH. */
struct encap_segments {
	uint8_t n; /* 0: no encapsulation; 1; 2: with an SRH */
	uint8_t at[2][16];
};

struct encap_head {
	uint8_t bytes[ENCAP_BYTES_MAX];
	uint8_t len;
	uint8_t outer_at, inner_at; /* equal without encapsulation */
	uint8_t front_at;           /* UDP, or the entropy header */
	bool is_v4, is_native;
};

/* What differs from packet to packet. */
struct encap_packet {
	uint32_t ev; /* to UDP source port or entropy, and flow labels (MRC Table 9-1, M-26) */
	uint32_t transport_bytes; /* behind UDP or the entropy header, the seal's included */
	uint16_t udp_len;         /* 0: the right one; native IP has none */
	uint8_t dscp, ecn;
};

/* Over IPv4 there are no segments, and nothing may cut the packet up: the identification is 0,
 * which the ICRC covers, and says nothing in a packet that is never in pieces (RFC 6864 4.1). */
void encap_make(struct encap_head *h, const struct encap_ends *ends,
		const struct encap_segments *segments);

/* Writes h->len bytes to out. */
void encap_write(const struct encap_head *h, const struct encap_packet *p, uint8_t *out);

#endif
