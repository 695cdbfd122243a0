/* Samples of End.MT: a request on its way to an edge node, the copy that a receiver gets, and what
 * nodes answer to the node above them. The request, its segment routing header and the copy are
 * worked-out bytes; so is the HMAC, which covers no TLV (T-12) and so fits both headers. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "catalog.h"
#include "catalog_endmt.h"
#include "wire/icrc.h"

#define EDGE     "fcbbbb00e00100000000000000000001"
#define PARENT   "fcbbbb00e00000000000000000000001"
#define HEADEND  "fd00000e000000000000000000000001"
#define SID      "fcbbbb00e00100000000000000000000"
#define SEGMENTS "fd000009000000000000000000000001" SID

/* SEND Only of the source fd00:a::1 to the proxy fd00:9::1, designated QPN 00d001, PSN ffffff. */
#define REQUEST                                                                                    \
	"6001234500201140fd00000a000000000000000000000001fd000009000000000000000000000001c00112b7" \
	"002000000430ffff4000d00180ffffff68656c6c6f000000424c4c95"
/* The same as fd00:b::1 gets it, its queue pair 0b0001. */
#define COPY                                                                                       \
	"600123450020113ffd000009000000000000000000000001fd00000b000000000000000000000001c00112b7" \
	"002000000430ffff400b000180ffffff68656c6c6f0000006c9f61cd"
#define RECEIVER "fd00000b0000000000000000000000010b000100"
#define SRH_ONE  "290a040101000000" SEGMENTS "7c2a0000" EDGE "01000000" RECEIVER "04020000"
/* Two edges with odd numbers of receivers, so that no padding stands before the HMAC (T-02). */
#define SRH_HMAC_TWO                                                                       \
	"2919040101080000" SEGMENTS "7c2a0000" EDGE "01000000" RECEIVER                    \
	"7c520000fcbbbb00e0020000000000000000000103000000"                                 \
	"fd00000b0000000000000000000000020b000200fd00000b0000000000000000000000030b000300" \
	"fd00000b0000000000000000000000040b000400"                                         \
	"0526800000000007f9249a58fb47e4b4be991635e95bc7377150af2ffa29336ee08b90e15b2e252a"

static const struct endmt_sample {
	const char *name;
	const char *srh, *packet; /* NULL: it is an answer */
	uint8_t opcode;
} samples[CATALOG_ENDMT] = {
	{"request", SRH_ONE, REQUEST, ROCE_OP_SEND_ONLY},
	{"request, two edges, HMAC", SRH_HMAC_TWO, REQUEST, ROCE_OP_SEND_ONLY},
	{"copy", NULL, COPY, ROCE_OP_SEND_ONLY},
	{"ACK to the node above", NULL, NULL, ROCE_OP_ACKNOWLEDGE},
	{"CNP to the node above", NULL, NULL, ROCE_OP_CNP},
};

static uint8_t nibble(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void add_hex(struct frame *f, const char *hex)
{
	for (; *hex; hex += 2) {
		assert(f->len < FRAME_MAX);
		f->bytes[f->len++] = (uint8_t)(nibble(hex[0]) << 4 | nibble(hex[1]));
	}
}

static void add_ipv6(struct frame *f, struct ipv6 ip, const char *addresses)
{
	ip.version = 6;
	ip.hop_limit = 64;
	ipv6_put(&ip, f->bytes + f->len);
	f->len += ipv6_bytes - 32;
	add_hex(f, addresses);
}

/* Outer flow label, DSCP and ECN are those of the packet inside (T-32). */
static void build_request(struct frame *f, const struct endmt_sample *e)
{
	size_t bytes = (strlen(e->srh) + strlen(e->packet)) / 2;
	struct ipv6 outer = {.flow_label = 0x12345,
			     .next_header = IPPROTO_ROUTING_IN,
			     .length = (uint16_t)bytes};

	add_ipv6(f, outer, HEADEND SID);
	add_hex(f, e->srh);
	add_hex(f, e->packet);
}

/* From an edge to the node above: the designated QPN names the group (T-24, T-35). */
static void build_answer(struct frame *f, const struct endmt_sample *e)
{
	bool is_cnp = e->opcode == ROCE_OP_CNP;
	struct roce_pkt p = {
		.bth = {.opcode = e->opcode,
			.m = 1,
			.pkey = 0xffff,
			.becn = is_cnp,
			.dest_qp = 0x00d001,
			.psn = is_cnp ? 0 : 0xffffff},
		.aeth = {.type = AETH_ACK, .value = 14, .msn = 1},
	};
	uint8_t head[64];
	uint32_t n = roce_head_put(&p, (struct span){head, sizeof head});
	uint32_t length = udp_bytes + n + icrc_bytes;
	struct ipv6 ip = {.dscp = CATALOG_DSCP_CONTROL,
			  .next_header = IPPROTO_UDP_IN,
			  .length = (uint16_t)length};
	struct udp udp = {.sport = 0xc00d, .dport = NET_ROCE_PORT, .length = (uint16_t)length};

	add_ipv6(f, ip, EDGE PARENT);
	udp_put(&udp, f->bytes + f->len);
	memcpy(f->bytes + f->len + udp_bytes, head, n);
	f->len += length;
	frame_fix_icrc(f, f->ip_at);
}

void catalog_endmt(uint32_t i, struct sample *s)
{
	struct eth eth = {0x020000000001, 0x020000000002, ETHERTYPE_IPV6};
	const struct endmt_sample *e = &samples[i];
	struct frame *f = &s->frame;

	eth_put(&eth, f->bytes);
	f->len = f->ip_at = eth_bytes;
	if (e->srh)
		build_request(f, e);
	else if (e->packet)
		add_hex(f, e->packet);
	else
		build_answer(f, e);
	s->family = WIRE_ROCE;
	s->opcode = e->opcode;
	snprintf(s->file, sizeof s->file, "endmt");
	snprintf(s->name, sizeof s->name, "End.MT %s", e->name);
}
