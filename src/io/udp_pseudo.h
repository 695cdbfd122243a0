/* The headers in front of a transport's packet, as its seal covers them: a socket shows none of
 * them to its owner. What a hop or the kernel may change, a seal must mask; one that does not is
 * not for a socket, which can neither compute nor check it.
 *
 * The ICRC alone covers one such field all the same, the identification of IPv4, which the kernel
 * chooses: 0 for a packet alone, since fragments are forbidden (RFC 6864), and in a burst, which
 * segmentation offload cuts, 0, 1, 2 and so on, as the test udp-wire sees on the wire. A receiver
 * tries the places in which a packet of its size can be: a burst has at most UDP_SEGMENTS_MAX
 * packets and UDP_BURST_MAX bytes, and none of it is longer than the one before. That is up to 64
 * places of short packets, 15 of 4096 bytes of payload: a packet with a random ICRC is taken with a
 * chance of 64, or 15, in 2^32; over IPv6, which has no identification, of 1. Kept apart from the
 * driver's state because the wire's names for the UDP header are the driver's own. */
#ifndef WEFT_IO_UDP_PSEUDO_H
#define WEFT_IO_UDP_PSEUDO_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/carrier.h"

enum {
	UDP_IPV4_BYTES = 20,
	UDP_IPV6_BYTES = 40,
	UDP_HEADER_BYTES = 8,
	UDP_SEGMENTS_MAX = 64, /* of one offloaded send: what every kernel with offload takes */
	UDP_BURST_MAX = 65507, /* bytes behind the headers of IPv4 */
	UDP_FRONTS = 8,        /* lengths whose CRC is remembered */
	UDP_MASKED = 16,       /* carried bytes that masks of a seal reach, at most */
};

/* An address without its port; every byte counts when two are compared. */
struct udp_addr {
	uint8_t ip[16];  /* IPv4: the first four, the rest zero */
	uint32_t scope;  /* of a link-local address, else 0 */
	uint32_t family; /* AF_INET, AF_INET6 */
};

/* What each identification in 0 .. 63 changes in a CRC. */
struct udp_deltas {
	uint32_t bytes; /* that it covers behind the identification; 0: not made yet */
	uint32_t of[UDP_SEGMENTS_MAX];
};

/* Makes the deltas of a CRC that covers so many bytes behind the identification, where they are of
 * another number. */
void udp_deltas_make(struct udp_deltas *d, uint32_t bytes);

/* Zero it before its first use. */
struct udp_pseudo {
	uint8_t at[UDP_IPV6_BYTES + UDP_HEADER_BYTES]; /* lengths and identification are zero */
	const struct seal *seal;
	uint32_t ip_len;
	uint32_t covered;                            /* of the carried bytes, by udp_pseudo_crc */
	uint8_t zeros[UDP_MASKED], ones[UDP_MASKED]; /* its masks of these */
	bool has_ids;                                /* the seal covers the identification */
	struct {
		uint32_t bytes, crc;
	} fronts[UDP_FRONTS]; /* of packets with so many bytes of UDP payload; 0: none */
	struct udp_deltas ids;
};

/* How many places in a burst a packet with so many bytes of UDP payload, at least one, can have:
 * the identifications from 0 on that it may have. */
static inline uint32_t udp_pseudo_ids(uint32_t bytes)
{
	uint32_t n = UDP_BURST_MAX / bytes;

	return n > UDP_SEGMENTS_MAX ? UDP_SEGMENTS_MAX : n > 1 ? n : 1;
}

struct udp_ends {
	const struct udp_addr *from, *to; /* of one family */
	uint16_t sport, dport;
	const struct seal *seal; /* by a CRC, one that udp_pseudo_knows */
};

/* Whether all that a seal by a CRC covers is known here, of both kinds of IP. */
bool udp_pseudo_knows(const struct seal *s);

/* Headers of packets from one end to the other. What is known of these already is kept. */
void udp_pseudo_make(struct udp_pseudo *p, const struct udp_ends *ends);

/* The CRC of all in front of the carried bytes and of the first p->covered of these, in a packet
 * with bytes of UDP payload, the seal included. id: the low byte of the identification, which
 * counts where the seal covers it. UDP_MASKED carried bytes can be read, be they the packet's. */
uint32_t udp_pseudo_crc(struct udp_pseudo *p, uint32_t bytes, uint8_t id, const uint8_t *carried);

#endif
