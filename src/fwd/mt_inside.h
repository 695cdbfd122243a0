/* Between the files of fwd/mt_*: an RC packet as they all look at it, and what both ways share. */
#ifndef WEFT_FWD_MT_INSIDE_H
#define WEFT_FWD_MT_INSIDE_H

#include <string.h>

#include "fwd/mt_node.h"
#include "wire/net.h"
#include "wire/roce.h"
#include "wire/srh.h"

enum {
	MT_SEAL_BYTES = 4,
	MT_SRC_AT = 8, /* of an IPv6 header */
	MT_DST_AT = 24,
	MT_BTH_AT = ipv6_bytes + udp_bytes,
};

/* A RoCEv2 packet over plain IPv6, whose headers are known to fit. */
struct mt_packet {
	const uint8_t *ip;
	uint32_t at, end; /* of the frame: the IPv6 header, and past the seal */
	uint8_t hop_limit, dscp, ecn;
	struct roce_pkt roce; /* headers alone */
};

/* A packet that was looked at: native, or out of an outer header. */
struct mt_arrival {
	const struct mt_input *in;
	struct mt_packet packet;
	bool is_wrapped, has_srh;
	struct srh_view srh;
};

static inline bool mt_is_same(const uint8_t *a, const uint8_t *b)
{
	return memcmp(a, b, 16) == 0;
}

static inline bool mt_is_port(uint16_t expected, uint16_t port)
{
	return expected == MT_ANY_PORT || expected == port;
}

/* Whether a packet's seal is right: MT_DROP_SEAL, or MT_DROP_MALFORMED when not all of it is there.
 */
enum mt_drop mt_check_seal(const struct mt_input *in, const struct mt_packet *p);

/* A request of r->group: from where it should come, to where it should go. Checks the rest, and
 * sets r where it passes. */
enum mt_drop mt_down_take(const struct mt_node *n, const struct mt_arrival *a, struct mt_result *r);

/* An answer to the Proxy of r->group, or to the node's own address. */
enum mt_drop mt_up_take(const struct mt_node *n, const struct mt_arrival *a, struct mt_result *r);

#endif
