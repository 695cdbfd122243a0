/* Captures of a foreign implementation: RoCEv2 RC between two Linux guests (kernel rdma_rxe). Every
 * packet must decode, its ICRC be right, and its headers encode to the same bytes. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "wire/packet.h"

#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden"
#endif

#define PACKETS_MAX 64

struct capture {
	uint32_t n;
	struct {
		uint32_t len;
		uint8_t bytes[2048];
	} packet[PACKETS_MAX];
};

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* Reads a little-endian pcap of Ethernet frames. */
static void read_capture(const char *name, struct capture *c)
{
	char path[512];
	uint8_t head[24], record[16];

	snprintf(path, sizeof path, "%s/soft-roce/%s.pcap", GOLDEN_DIR, name);
	FILE *f = fopen(path, "rb");

	if (!f)
		fail_msg("cannot open %s", path);
	assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
	assert_int_equal(le32(head), 0xa1b2c3d4);
	assert_int_equal(le32(head + 20), 1);
	for (c->n = 0; fread(record, 1, sizeof record, f) == sizeof record; c->n++) {
		uint32_t len = le32(record + 8);

		assert_true(c->n < PACKETS_MAX && len <= sizeof c->packet[0].bytes);
		c->packet[c->n].len = len;
		assert_int_equal(fread(c->packet[c->n].bytes, 1, len, f), len);
	}
	fclose(f);
}

/* Decodes one packet whole and checks that its transport headers encode to what was captured. */
static void check_packet(const uint8_t *bytes, uint32_t len, struct wire_packet *pkt)
{
	struct net_cfg cfg = net_cfg_default();
	struct wire_trail trail;
	uint8_t head[64];
	struct wire_fault fault =
		wire_packet_get((struct cspan){bytes, len}, NET_LINK_ETHERNET, &cfg, pkt, &trail);

	if (fault.why != WIRE_DROP_NONE)
		fail_msg("%s at byte %u", wire_drop_name(fault.why), fault.at);
	assert_int_equal(pkt->family, WIRE_ROCE);
	assert_true(pkt->has_crc && pkt->crc == pkt->crc_right);
	uint32_t n = roce_head_put(&pkt->roce, (struct span){head, sizeof head});

	assert_memory_equal(head, bytes + pkt->net.transport, n);
	for (uint32_t i = 0; i < trail.n; i++) {
		const struct wire_layout *l = trail.layer[i].layout;
		uint8_t h[256], out[64];

		l->get(bytes + trail.layer[i].at, h);
		l->put(h, out);
		assert_memory_equal(out, bytes + trail.layer[i].at, l->bytes);
	}
}

static void check_capture(const char *name, uint8_t ip_version, const uint8_t *opcodes, uint32_t n)
{
	static struct capture c;
	char file[32];
	bool seen[256] = {false};

	snprintf(file, sizeof file, "%s-v%u", name, ip_version);
	read_capture(file, &c);
	assert_true(c.n > 0);
	for (uint32_t i = 0; i < c.n; i++) {
		struct wire_packet pkt;

		check_packet(c.packet[i].bytes, c.packet[i].len, &pkt);
		assert_int_equal(net_ip(&pkt.net)->version, ip_version);
		seen[pkt.roce.bth.opcode] = true;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!seen[opcodes[i]])
			fail_msg("%s has no %s", file, roce_opcode_name(opcodes[i]));
}

#define CAPTURE(name, ...)                                        \
	static void soft_roce_##name(void **state)                \
	{                                                         \
		static const uint8_t opcodes[] = {__VA_ARGS__};   \
                                                                  \
		(void)state;                                      \
		check_capture(#name, 4, opcodes, sizeof opcodes); \
		check_capture(#name, 6, opcodes, sizeof opcodes); \
	}

CAPTURE(write, ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE, ROCE_OP_WRITE_LAST, ROCE_OP_ACKNOWLEDGE)
CAPTURE(read, ROCE_OP_READ_REQUEST, ROCE_OP_READ_RESPONSE_FIRST, ROCE_OP_READ_RESPONSE_MIDDLE,
	ROCE_OP_READ_RESPONSE_LAST)
CAPTURE(send, ROCE_OP_SEND_FIRST, ROCE_OP_SEND_LAST, ROCE_OP_ACKNOWLEDGE)
CAPTURE(atomic, ROCE_OP_FETCH_ADD, ROCE_OP_ATOMIC_ACKNOWLEDGE)
CAPTURE(cas, ROCE_OP_COMPARE_SWAP, ROCE_OP_ATOMIC_ACKNOWLEDGE)

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(soft_roce_write), cmocka_unit_test(soft_roce_read),
	cmocka_unit_test(soft_roce_send),  cmocka_unit_test(soft_roce_atomic),
	cmocka_unit_test(soft_roce_cas),
};
CHECK_MAIN(cases)
