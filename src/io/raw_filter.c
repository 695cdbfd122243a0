/* Which packets are ours, as a program of the classic packet filter. What it lets through is
 * checked by who reads it. */
#include "io/filter.h"
#include "io/raw_inside.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

enum {
	REFUSE = 0,

	AT_TYPE = 12,
	AT_IP = 14,
	V4_FRAGMENT = 6,
	V4_PROTOCOL = 9,
	V6_NEXT = 6,
	V6_BYTES = 40,
	UDP_TO = 2,
	MORE_OR_OFFSET = 0x3fff, /* of an IPv4 fragment */
	SRH_TYPE = 4,            /* RFC 8754 */
	VLAN_ID = 0x0fff,
};
#define ACCEPT UINT32_MAX

static void load_byte(struct filter *f, uint32_t at)
{
	filter_step(f, BPF_LD | BPF_B | BPF_ABS, at);
}

/* To this host, and not of a VLAN: a tag was taken off before and is kept beside the packet. One
 * that says no VLAN (0) gives a priority only. */
static void check_link(struct filter *f)
{
	filter_step(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE));
	filter_require(f, PACKET_HOST, REFUSE);
	filter_step(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG));
	filter_step(f, BPF_ALU | BPF_AND | BPF_K, VLAN_ID);
	filter_require(f, 0, REFUSE);
}

/* The index register has where the header is; goes on to what follows it. */
static uint16_t pass_v4(struct filter *f, uint8_t protocol)
{
	load_byte(f, AT_IP + V4_PROTOCOL);
	filter_require(f, protocol, REFUSE);
	filter_step(f, BPF_LD | BPF_H | BPF_ABS, AT_IP + V4_FRAGMENT);
	f->at[filter_step(f, BPF_JMP | BPF_JSET | BPF_K, MORE_OR_OFFSET)].jf = 1;
	filter_step(f, BPF_RET | BPF_K, REFUSE);
	filter_step(f, BPF_LDX | BPF_B | BPF_MSH, AT_IP);
	filter_step(f, BPF_MISC | BPF_TXA, 0);
	filter_step(f, BPF_ALU | BPF_ADD, AT_IP);
	filter_step(f, BPF_MISC | BPF_TAX, 0);
	return filter_jump(f);
}

/* What the carrier goes by; or an IPv6 packet with that, behind a segment routing header or
 * directly. */
static uint16_t pass_v6(struct filter *f, uint8_t protocol)
{
	const uint32_t inner = AT_IP + V6_BYTES;

	filter_step(f, BPF_LDX | BPF_IMM, 0);
	load_byte(f, AT_IP + V6_NEXT);
	uint16_t at_inner = filter_jump_if(f, IPPROTO_IPV6_IN);
	uint16_t at_routing = filter_jump_if(f, IPPROTO_ROUTING_IN);

	filter_require(f, protocol, REFUSE);
	filter_step(f, BPF_LDX | BPF_IMM, inner);
	uint16_t outermost = filter_jump(f);

	filter_land(f, at_routing);
	load_byte(f, inner);
	filter_require(f, IPPROTO_IPV6_IN, REFUSE);
	load_byte(f, inner + 2);
	filter_require(f, SRH_TYPE, REFUSE);
	load_byte(f, inner + 1);
	filter_step(f, BPF_ALU | BPF_ADD, 1);
	filter_step(f, BPF_ALU | BPF_LSH | BPF_K, 3);
	filter_step(f, BPF_MISC | BPF_TAX, 0);

	filter_land(f, at_inner);
	filter_step(f, BPF_LD | BPF_B | BPF_IND, inner + V6_NEXT);
	filter_require(f, protocol, REFUSE);
	filter_step(f, BPF_MISC | BPF_TXA, 0);
	filter_step(f, BPF_ALU | BPF_ADD, inner + V6_BYTES);
	filter_step(f, BPF_MISC | BPF_TAX, 0);
	filter_land(f, outermost);
	return filter_jump(f);
}

/* What follows IP begins where the index register says: to our port, if it is UDP; then the
 * register moves to what is carried. */
static void check_front(struct filter *f, const struct carrier_use *via)
{
	if (!carrier_is_native(via->is)) {
		filter_step(f, BPF_LD | BPF_H | BPF_IND, UDP_TO);
		filter_require(f, via->port, REFUSE);
	}
	filter_step(f, BPF_MISC | BPF_TXA, 0);
	filter_step(f, BPF_ALU | BPF_ADD, carrier_front_bytes(via->is));
	filter_step(f, BPF_MISC | BPF_TAX, 0);
}

void raw_filter_make(struct filter *f, const struct carrier_use *via, uint8_t tag)
{
	static const struct filter_ends for_all = {ACCEPT, ACCEPT};

	f->n = 0;
	check_link(f);
	filter_step(f, BPF_LD | BPF_H | BPF_ABS, AT_TYPE);
	uint16_t at_v4 = filter_jump_if(f, ETHERTYPE_IPV4);

	filter_require(f, ETHERTYPE_IPV6, REFUSE);
	uint16_t by_v6 = pass_v6(f, via->protocol);

	filter_land(f, at_v4);
	uint16_t by_v4 = pass_v4(f, via->protocol);

	filter_land(f, by_v6);
	filter_land(f, by_v4);
	check_front(f, via);
	filter_owner(f, via->is, &for_all);
	filter_require(f, tag, REFUSE);
	filter_step(f, BPF_RET | BPF_K, ACCEPT);
}

int raw_filter_attach(int fd, const struct carrier_use *via, uint8_t tag)
{
	struct filter f;
	struct sock_fprog prog = {.filter = f.at};

	raw_filter_make(&f, via, tag);
	prog.len = f.n;
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof prog) ? -errno : 0;
}
