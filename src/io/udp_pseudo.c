#include "io/udp_pseudo.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "wire/icrc.h"
#include "wire/net.h"
#include "wire/roce.h"

static_assert((int)UDP_IPV4_BYTES == (int)ipv4_bytes && (int)UDP_IPV6_BYTES == (int)ipv6_bytes &&
		      (int)UDP_HEADER_BYTES == (int)udp_bytes &&
		      (int)UDP_BTH_BYTES == (int)bth_bytes &&
		      (int)UDP_ROCE_PORT == (int)NET_ROCE_PORT,
	      "the wire's own numbers");

/* Fields that the ICRC masks are left as they are: icrc_begin replaces them. */
void udp_pseudo_make(struct udp_pseudo *p, const struct udp_ends *ends)
{
	uint8_t *udp;

	memset(p->at, 0, sizeof p->at);
	if (ends->from->family == AF_INET) {
		p->ip_len = ipv4_bytes;
		p->at[0] = 0x45;
		p->at[6] = 0x40; /* the sockets forbid fragments */
		p->at[9] = IPPROTO_UDP_IN;
		memcpy(p->at + 12, ends->from->ip, 4);
		memcpy(p->at + 16, ends->to->ip, 4);
	} else {
		p->ip_len = ipv6_bytes;
		p->at[0] = 0x60;
		p->at[6] = IPPROTO_UDP_IN;
		memcpy(p->at + 8, ends->from->ip, 16);
		memcpy(p->at + 24, ends->to->ip, 16);
	}
	udp = p->at + p->ip_len;
	put_be16(udp, ends->sport);
	put_be16(udp + 2, ends->dport);
}

uint32_t udp_pseudo_crc(struct udp_pseudo *p, uint32_t bytes, uint8_t id, const uint8_t *bth)
{
	uint8_t *udp = p->at + p->ip_len;
	uint16_t udp_len = (uint16_t)(udp_bytes + bytes);
	uint32_t covered;

	if (p->ip_len == ipv4_bytes) {
		put_be16(p->at + 2, (uint16_t)(ipv4_bytes + udp_len));
		p->at[5] = id;
	} else {
		put_be16(p->at + 4, udp_len);
	}
	put_be16(udp + 4, udp_len);
	memcpy(udp + udp_bytes, bth, bth_bytes);
	return icrc_begin(p->at, &covered);
}
