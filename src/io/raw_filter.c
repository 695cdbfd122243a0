/* Which packets are ours, as a program of the classic packet filter (packet(7), the kernel's
 * Documentation/networking/filter.rst). A load beyond the end of a packet ends it with a refusal,
 * so no length is checked; what the program lets through is checked by who reads it. */
#include "io/raw_inside.h"

#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

enum {
	MOST = 64, /* instructions */
	REFUSE = 254,
	ACCEPT = 255, /* marks: where a jump goes, before the ends are known */

	AT_TYPE = 12,
	AT_IP = 14,
	V4_FRAGMENT = 6,
	V4_PROTOCOL = 9,
	V6_NEXT = 6,
	V6_BYTES = 40,
	UDP_TO = 2,
	UDP_QP = 8 + 4,          /* of the BTH: a reserved byte and the destination's number */
	MORE_OR_OFFSET = 0x3fff, /* of an IPv4 fragment */
	SRH_TYPE = 4,            /* RFC 8754 */
	VLAN_ID = 0x0fff,
	QP_OWNED = 3, /* numbers from here on have an owner */
};

struct program {
	struct sock_filter at[MOST];
	uint16_t n;
};

static uint16_t emit(struct program *p, uint16_t code, uint32_t k)
{
	assert(p->n < MOST);
	p->at[p->n] = (struct sock_filter){.code = code, .k = k};
	return p->n++;
}

/* Goes on if the accumulator is k. */
static void require(struct program *p, uint32_t k)
{
	p->at[emit(p, BPF_JMP | BPF_JEQ | BPF_K, k)].jf = REFUSE;
}

/* Jumps if it is k, to where land() says. */
static uint16_t leave_if(struct program *p, uint32_t k)
{
	return emit(p, BPF_JMP | BPF_JEQ | BPF_K, k);
}

static void land(struct program *p, uint16_t from)
{
	p->at[from].jt = (uint8_t)(p->n - from - 1);
}

static void load_byte(struct program *p, uint32_t at)
{
	emit(p, BPF_LD | BPF_B | BPF_ABS, at);
}

/* UDP, which begins at this place behind the index register, to port and one of our queue pairs:
 * the last check of each kind of packet. */
static void check_udp(struct program *p, uint32_t at, uint16_t port, uint8_t tag)
{
	emit(p, BPF_LD | BPF_H | BPF_IND, at + UDP_TO);
	require(p, port);
	emit(p, BPF_LD | BPF_W | BPF_IND, at + UDP_QP);
	emit(p, BPF_ALU | BPF_AND | BPF_K, 0xffffff);
	p->at[emit(p, BPF_JMP | BPF_JGE | BPF_K, QP_OWNED)].jf = ACCEPT;
	emit(p, BPF_ALU | BPF_RSH | BPF_K, 16);
	uint16_t is_owner = emit(p, BPF_JMP | BPF_JEQ | BPF_K, tag);

	p->at[is_owner].jt = ACCEPT;
	p->at[is_owner].jf = REFUSE;
}

/* To this host, and not of a VLAN: a tag was taken off before and is kept beside the packet. One
 * that says no VLAN (0) gives a priority only. */
static void check_link(struct program *p)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE));
	require(p, PACKET_HOST);
	emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG));
	emit(p, BPF_ALU | BPF_AND | BPF_K, VLAN_ID);
	require(p, 0);
}

static void check_v4(struct program *p, uint16_t port, uint8_t tag)
{
	load_byte(p, AT_IP + V4_PROTOCOL);
	require(p, IPPROTO_UDP_IN);
	emit(p, BPF_LD | BPF_H | BPF_ABS, AT_IP + V4_FRAGMENT);
	p->at[emit(p, BPF_JMP | BPF_JSET | BPF_K, MORE_OR_OFFSET)].jt = REFUSE;
	emit(p, BPF_LDX | BPF_B | BPF_MSH, AT_IP);
	check_udp(p, AT_IP, port, tag);
}

/* UDP; or an IPv6 packet with UDP, behind a segment routing header or directly. */
static void check_v6(struct program *p, uint16_t port, uint8_t tag)
{
	const uint32_t inner = AT_IP + V6_BYTES;

	emit(p, BPF_LDX | BPF_IMM, 0);
	load_byte(p, AT_IP + V6_NEXT);
	uint16_t at_inner = leave_if(p, IPPROTO_IPV6_IN);
	uint16_t at_routing = leave_if(p, IPPROTO_ROUTING_IN);

	require(p, IPPROTO_UDP_IN);
	check_udp(p, inner, port, tag);

	land(p, at_routing);
	load_byte(p, inner);
	require(p, IPPROTO_IPV6_IN);
	load_byte(p, inner + 2);
	require(p, SRH_TYPE);
	load_byte(p, inner + 1);
	emit(p, BPF_ALU | BPF_ADD, 1);
	emit(p, BPF_ALU | BPF_LSH | BPF_K, 3);
	emit(p, BPF_MISC | BPF_TAX, 0);

	land(p, at_inner);
	emit(p, BPF_LD | BPF_B | BPF_IND, inner + V6_NEXT);
	require(p, IPPROTO_UDP_IN);
	check_udp(p, inner + V6_BYTES, port, tag);
}

/* Both ends, and the jumps to them. */
static void finish(struct program *p)
{
	uint16_t refuse = emit(p, BPF_RET | BPF_K, 0);
	uint16_t accept = emit(p, BPF_RET | BPF_K, UINT32_MAX);

	for (uint16_t i = 0; i < refuse; i++) {
		uint8_t *jumps[] = {&p->at[i].jt, &p->at[i].jf};

		for (unsigned j = 0; j < 2; j++) {
			if (*jumps[j] == REFUSE)
				*jumps[j] = (uint8_t)(refuse - i - 1);
			else if (*jumps[j] == ACCEPT)
				*jumps[j] = (uint8_t)(accept - i - 1);
		}
	}
}

int raw_filter_attach(int fd, uint16_t port, uint8_t tag)
{
	struct program p = {.n = 0};
	struct sock_fprog prog;

	check_link(&p);
	emit(&p, BPF_LD | BPF_H | BPF_ABS, AT_TYPE);
	uint16_t at_v4 = leave_if(&p, ETHERTYPE_IPV4);

	require(&p, ETHERTYPE_IPV6);
	check_v6(&p, port, tag);
	land(&p, at_v4);
	check_v4(&p, port, tag);
	finish(&p);
	prog = (struct sock_fprog){p.n, p.at};
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof prog) ? -errno : 0;
}
