/* Opcodes and layouts: IBTA volume 1, chapter 9 and annex A17 (RoCEv2), and MRC 1.0, Table 6-2 and
 * chapter 7.5.5. */
#include "codec.h"

#include <stdio.h>
#include <string.h>

enum {
	OP_SEND_ONLY = 0x04,
	OP_WRITE_ONLY = 0x0a,
	OP_READ_REQUEST = 0x0c,
	OP_READ_RESPONSE_ONLY = 0x10,
	OP_ACKNOWLEDGE = 0x11,
	OP_CNP = 0x81,
	OP_MRC_WRITE_ONLY = 0xca,
	OP_MRC_ACKNOWLEDGE = 0xd1,
	OP_MRC_ENDPOINT_REQUEST = 0xd8,
	OP_MRC_SACK = 0xdc,
	OP_MRC_NACK = 0xdd,
	OP_MRC_PROBE = 0xde,

	BTH_VARIANT = 4, /* byte of the base transport header that the ICRC does not cover */
	BTH_BYTES = 12,
	BECN = 0x40,
	ACK_REQUEST = 0x80,
	SYNDROME_ACK = 0x1f, /* no credits told */
	SYNDROME_REMOTE_ACCESS = 0x62,
	NACK_UNEXPECTED_EVENT = 0x19, /* Table 7-17: fatal */
	TIMESTAMP = 1,                /* ftype */
	PORT_STATUS = 0,
	EV_PROBE = 1,
	OTHER_PORT = 1 << 2, /* bit n is port n: the second is up, and the first is not */
	ENDPOINT_QP = 2,
};

static const char *const names[CODEC_KINDS] = {
	[CODEC_RANDOM] = "random",
	[CODEC_RC_WRITE] = "rc-write",
	[CODEC_RC_SEND] = "rc-send",
	[CODEC_RC_READ] = "rc-read",
	[CODEC_RC_ACK] = "rc-ack",
	[CODEC_RC_NAK] = "rc-nak",
	[CODEC_RC_RESPONSE] = "rc-response",
	[CODEC_RC_CNP] = "rc-cnp",
	[CODEC_MRC_WRITE] = "mrc-write",
	[CODEC_MRC_ACK] = "mrc-ack",
	[CODEC_MRC_NAK] = "mrc-nak",
	[CODEC_MRC_SACK] = "mrc-sack",
	[CODEC_MRC_NACK] = "mrc-nack",
	[CODEC_MRC_PROBE] = "mrc-probe",
	[CODEC_MRC_EV_PROBE] = "mrc-ev-probe",
	[CODEC_MRC_PORTS] = "mrc-ports",
};

const char *codec_name(enum codec_kind kind)
{
	return names[kind];
}

enum codec_kind codec_find(const char *name)
{
	unsigned i = 0;

	while (i < CODEC_KINDS && strcmp(names[i], name) != 0)
		i++;
	return (enum codec_kind)i;
}

/* SplitMix64, of which the upper half is taken. */
uint32_t codec_draw(struct codec_random *random)
{
	uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(z >> 32);
}

static void put(struct codec_packet *p, uint64_t value, uint32_t bytes)
{
	while (bytes-- > 0)
		p->bytes[p->len++] = (uint8_t)(value >> 8 * bytes);
}

static void put_random(struct codec_packet *p, uint32_t bytes, struct codec_random *random)
{
	while (bytes-- > 0)
		p->bytes[p->len++] = (uint8_t)codec_draw(random);
}

struct bth {
	uint8_t opcode, variant, flags;
	uint32_t qp, psn;
};

/* Padding 0, version 0, the default partition. */
static void put_bth(struct codec_packet *p, const struct bth *h)
{
	put(p, h->opcode, 1);
	put(p, 0, 1);
	put(p, 0xffff, 2);
	put(p, h->variant, 1);
	put(p, h->qp, 3);
	put(p, h->flags, 1);
	put(p, h->psn, 3);
}

/* An address and a key that nobody told. */
static void put_reth(struct codec_packet *p, uint32_t bytes, struct codec_random *random)
{
	put(p, (uint64_t)codec_draw(random) << 12 | UINT64_C(0x7f0000000000), 8);
	put(p, codec_draw(random), 4);
	put(p, bytes, 4);
}

static void put_aeth(struct codec_packet *p, uint8_t syndrome, struct codec_random *random)
{
	put(p, syndrome, 1);
	put(p, codec_draw(random), 3);
}

/* What the last word of PETH and ERTH is: a time of the sender's, in units of 128 ns. */
static void put_stamp(struct codec_packet *p, struct codec_random *random)
{
	put(p, codec_draw(random), 2);
	put(p, TIMESTAMP, 2);
}

static void write_rc(struct codec_packet *p, enum codec_kind kind, const struct codec_guess *g,
		     struct codec_random *random)
{
	struct bth h = {.qp = g->qp, .psn = g->psn};

	switch (kind) {
	case CODEC_RC_WRITE:
		h.opcode = OP_WRITE_ONLY;
		h.flags = ACK_REQUEST;
		put_bth(p, &h);
		put_reth(p, g->body, random);
		break;
	case CODEC_RC_SEND:
		h.opcode = OP_SEND_ONLY;
		h.flags = ACK_REQUEST;
		put_bth(p, &h);
		break;
	case CODEC_RC_READ:
		h.opcode = OP_READ_REQUEST;
		put_bth(p, &h);
		put_reth(p, 1 << 20, random);
		return;
	case CODEC_RC_RESPONSE:
		h.opcode = OP_READ_RESPONSE_ONLY;
		put_bth(p, &h);
		put_aeth(p, SYNDROME_ACK, random);
		break;
	case CODEC_RC_CNP: /* annex A17: 16 bytes of zeros follow */
		h = (struct bth){.opcode = OP_CNP, .variant = BECN, .qp = g->qp};
		put_bth(p, &h);
		put(p, 0, 8);
		put(p, 0, 8);
		return;
	default:
		h.opcode = OP_ACKNOWLEDGE;
		put_bth(p, &h);
		put_aeth(p, kind == CODEC_RC_ACK ? SYNDROME_ACK : SYNDROME_REMOTE_ACCESS, random);
		return;
	}
	put_random(p, g->body, random);
}

/* SETH and CC_STATE (Tables 7-14 and 7-12): all up to cack_psn arrived, and of what follows some.
 */
static void put_sack(struct codec_packet *p, const struct codec_guess *g,
		     struct codec_random *random)
{
	put(p, 0, 2);
	put(p, 0, 2);                  /* ack_psn is cack_psn */
	put(p, codec_draw(random), 4); /* entropy */
	put(p, codec_draw(random), 2); /* of the sender, ... */
	put(p, g->qp, 2);              /* ... and of the receiver */
	put(p, g->psn, 4);             /* a reserved byte, and cack_psn */
	put(p, 0, 1);                  /* congestion state as Table 7-12 has it */
	put(p, 0, 1);                  /* no range told */
	put(p, 1, 2);                  /* the map begins behind cack_psn */
	put(p, codec_draw(random), 4);
	put(p, codec_draw(random), 4);
	put(p, codec_draw(random), 2); /* timestamp */
	put(p, codec_draw(random) & 0x7fff, 2);
	put(p, codec_draw(random), 4);
}

/* NETH (Table 7-16). */
static void put_neth(struct codec_packet *p, const struct codec_guess *g,
		     struct codec_random *random)
{
	put(p, 0, 2);
	put(p, NACK_UNEXPECTED_EVENT, 1);
	put(p, 0, 1);
	put(p, codec_draw(random), 4);
	put(p, codec_draw(random), 2);
	put(p, g->qp, 2);
	put(p, g->psn, 4);
	put(p, 2 << 4, 1); /* cc_type: a timestamp */
	put(p, 0, 1);
	put(p, codec_draw(random), 2);
}

/* PETH (Table 7-18). */
static void put_peth(struct codec_packet *p, const struct codec_guess *g,
		     struct codec_random *random)
{
	put(p, 0, 4);
	put(p, codec_draw(random), 2);
	put(p, 0, 2);
	put(p, codec_draw(random), 2);
	put(p, g->qp, 2);
	put_stamp(p, random);
}

/* ERTH (Table 7-20), asked on queue pair 2. */
static void put_endpoint(struct codec_packet *p, uint32_t op, struct codec_random *random)
{
	struct bth h = {.opcode = OP_MRC_ENDPOINT_REQUEST, .qp = ENDPOINT_QP};

	h.psn = codec_draw(random) & 0xffff;
	put_bth(p, &h);
	put(p, op, 2);
	put(p, 0, 2);
	put(p, op == PORT_STATUS ? OTHER_PORT : 0, 4);
	put(p, 0, 4);
	put_stamp(p, random);
}

static void write_mrc(struct codec_packet *p, enum codec_kind kind, const struct codec_guess *g,
		      struct codec_random *random)
{
	struct bth h = {.qp = g->qp, .psn = g->psn};

	switch (kind) {
	case CODEC_MRC_WRITE:
		h.opcode = OP_MRC_WRITE_ONLY;
		h.flags = ACK_REQUEST;
		put_bth(p, &h);
		put(p, codec_draw(random), 4); /* METH: both counts of messages */
		put_reth(p, g->body, random);
		put_random(p, g->body, random);
		return;
	case CODEC_MRC_SACK:
		h.opcode = OP_MRC_SACK;
		put_bth(p, &h);
		put_sack(p, g, random);
		return;
	case CODEC_MRC_NACK:
		h.opcode = OP_MRC_NACK;
		put_bth(p, &h);
		put_neth(p, g, random);
		return;
	case CODEC_MRC_PROBE:
		h.opcode = OP_MRC_PROBE;
		h.psn = 0;
		put_bth(p, &h);
		put_peth(p, g, random);
		return;
	case CODEC_MRC_EV_PROBE: put_endpoint(p, EV_PROBE, random); return;
	case CODEC_MRC_PORTS: put_endpoint(p, PORT_STATUS, random); return;
	default:
		h.opcode = OP_MRC_ACKNOWLEDGE;
		put_bth(p, &h);
		put_aeth(p, kind == CODEC_MRC_ACK ? SYNDROME_ACK : SYNDROME_REMOTE_ACCESS, random);
		return;
	}
}

void codec_write(struct codec_packet *p, enum codec_kind kind, const struct codec_guess *guess,
		 struct codec_random *random)
{
	p->len = 0;
	if (kind == CODEC_RANDOM)
		put_random(p, guess->body, random);
	else if (kind < CODEC_MRC_WRITE)
		write_rc(p, kind, guess, random);
	else
		write_mrc(p, kind, guess, random);
}

/* CRC-32 of Ethernet, a bit at a time into a table at the first use. */
static uint32_t crc_of(uint32_t crc, const uint8_t *bytes, size_t len)
{
	static uint32_t table[256];

	if (!table[1]) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (unsigned bit = 0; bit < 8; bit++)
				c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
			table[i] = c;
		}
	}
	for (size_t i = 0; i < len; i++)
		crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
	return crc;
}

/* Annex A17: eight bytes of ones in place of a local route header, then the packet with all that
 * may change on its way as ones: type of service, hops, both checksums, and of IPv6 the label. */
static uint32_t icrc(const struct codec_packet *p, const struct codec_ends *w)
{
	struct codec_packet front = {.len = 0};
	uint32_t udp_len = 8 + p->len + 4;
	uint8_t bth[BTH_BYTES];
	uint32_t crc;

	put(&front, UINT64_MAX, 8);
	if (w->is_v6) {
		put(&front, 0x6fffffff, 4);
		put(&front, udp_len, 2);
		put(&front, 17 << 8 | 0xff, 2);
	} else {
		put(&front, 0x45ff, 2);
		put(&front, 20 + udp_len, 2);
		put(&front, 0x4000, 4); /* identification 0, not to be cut */
		put(&front, 0xff11, 2);
		put(&front, 0xffff, 2);
	}
	memcpy(front.bytes + front.len, w->from, w->is_v6 ? 16 : 4);
	front.len += w->is_v6 ? 16 : 4;
	memcpy(front.bytes + front.len, w->to, w->is_v6 ? 16 : 4);
	front.len += w->is_v6 ? 16 : 4;
	put(&front, w->sport, 2);
	put(&front, w->dport, 2);
	put(&front, udp_len, 2);
	put(&front, 0xffff, 2);
	crc = crc_of(UINT32_MAX, front.bytes, front.len);
	if (p->len <= BTH_VARIANT)
		return ~crc_of(crc, p->bytes, p->len);
	uint32_t head = p->len < BTH_BYTES ? p->len : BTH_BYTES;

	memcpy(bth, p->bytes, head);
	bth[BTH_VARIANT] = 0xff;
	return ~crc_of(crc_of(crc, bth, head), p->bytes + head, p->len - head);
}

void codec_seal(struct codec_packet *p, const struct codec_ends *ends)
{
	uint32_t crc = icrc(p, ends);

	for (unsigned i = 0; i < 4; i++)
		p->bytes[p->len++] = (uint8_t)(crc >> 8 * i);
}

/* Payload of a UDP datagram, its way, and the ICRC that it has on the wire. */
struct vector {
	const char *what, *payload, *icrc;
	struct codec_ends ends;
};

static const struct vector vectors[] = {
	/* Of this project's reading of MRC, computed by another program. */
	{"an MRC SACK over IPv6",
	 "dc00ffff000001112000019500200113c001020302220111000001950008010c0000000180000081123400048"
	 "5"
	 "00abcd",
	 "b3d657cb",
	 {{0xfd, [15] = 2}, {0xfd, [15] = 1}, 0xc123, 4791, true}},
	{"an MRC WRITE Only with immediate data over IPv4",
	 "cbb0ffff00000222900001960003000712340001"
	 "00007f000000100000000a0b00000005deadbeef68656c6c6f000000",
	 "c849f523",
	 {{192, 0, 2, 1}, {192, 0, 2, 2}, 0xc001, 4791, false}},
	/* The headers of a copy that leaves a node of a multicast tree. */
	{"an RC SEND Only over IPv6",
	 "0430ffff400b000180ffffff68656c6c6f000000",
	 "6c9f61cd",
	 {{0xfd, 0, 0, 9, [15] = 1}, {0xfd, 0, 0, 0xb, [15] = 1}, 0xc001, 4791, true}},
};

static void put_hex(struct codec_packet *p, const char *hex)
{
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		put(p, byte, 1);
}

/* A SACK with known fields, as this file writes it: the fields at their places. */
static bool sack_is_right(void)
{
	struct codec_random random = {1};
	struct codec_guess g = {.qp = 0x123456, .psn = 0xabcdef};
	struct codec_packet p;

	codec_write(&p, CODEC_MRC_SACK, &g, &random);
	return p.len == 48 && !memcmp(p.bytes, "\xdc\0\xff\xff\0\x12\x34\x56\0\xab\xcd\xef", 12) &&
	       !memcmp(p.bytes + 12 + 10, "\x34\x56\0\xab\xcd\xef\0\0\0\1", 10);
}

bool codec_check(void)
{
	bool is_right = sack_is_right();

	if (!is_right)
		printf("a SACK has not its fields at their places\n");
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		struct codec_packet p = {.len = 0}, want = {.len = 0};

		put_hex(&p, vectors[i].payload);
		put_hex(&want, vectors[i].icrc);
		codec_seal(&p, &vectors[i].ends);
		if (memcmp(p.bytes + p.len - 4, want.bytes, 4) != 0) {
			printf("the ICRC of %s is wrong\n", vectors[i].what);
			is_right = false;
		}
	}
	return is_right;
}
