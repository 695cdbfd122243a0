/* MRC header stacks, field positions and the resolutions that touch the wire. */
#include "check.h"

#include <string.h>

#include "base/prng.h"
#include "catalog.h"
#include "wire/mrc.h"

/* Table 6-2: the headers after BTH, TSETH left out, and their bytes with BTH. */
static const struct {
	uint8_t opcode, head;
	bool data;
	const char *headers[3];
	const char *name;
} stacks[] = {
	{0xc6, 32, true, {"meth", "reth"}, "MRC WRITE First"},
	{0xc7, 32, true, {"meth", "reth"}, "MRC WRITE Middle"},
	{0xc8, 32, true, {"meth", "reth"}, "MRC WRITE Last"},
	{0xc9, 36, true, {"meth", "reth", "immdt"}, "MRC WRITE Last Imm"},
	{0xca, 32, true, {"meth", "reth"}, "MRC WRITE Only"},
	{0xcb, 36, true, {"meth", "reth", "immdt"}, "MRC WRITE Only Imm"},
	{0xd1, 16, false, {"aeth"}, "MRC Acknowledge"},
	{0xd8, 28, false, {"erth"}, "MRC Endpoint Request"},
	{0xd9, 48, false, {"eeth"}, "MRC Endpoint Response"},
	{0xdc, 48, false, {"seth", "cc_state"}, "MRC SACK"},
	{0xdd, 32, false, {"neth"}, "MRC NACK"},
	{0xde, 28, false, {"peth"}, "MRC Probe Request"},
};

/* The engines know opcodes by these. */
static_assert(MRC_OP_WRITE_FIRST == 0xc6 && MRC_OP_WRITE_MIDDLE == 0xc7 &&
		      MRC_OP_WRITE_LAST == 0xc8 && MRC_OP_WRITE_LAST_IMM == 0xc9 &&
		      MRC_OP_WRITE_ONLY == 0xca && MRC_OP_WRITE_ONLY_IMM == 0xcb,
	      "opcodes of writes");

#define N_STACKS (sizeof stacks / sizeof stacks[0])

/* The trail must name BTH, the headers of row k in their order, and TSETH behind METH. */
static void check_order(size_t k, bool ts, const struct wire_trail *trail)
{
	uint32_t n = 0;

	assert_string_equal(trail->layer[n++].layout->name, "mrc_bth");
	for (size_t i = 0; i < 3 && stacks[k].headers[i]; i++) {
		assert_string_equal(trail->layer[n++].layout->name, stacks[k].headers[i]);
		if (i == 0 && ts && stacks[k].data)
			assert_string_equal(trail->layer[n++].layout->name, "tseth");
	}
	assert_int_equal(trail->n, n);
}

/* Random headers of row k: read in the order of the table, and written to the same bytes. */
static void check_stack(struct prng *rnd, size_t k, uint8_t ts)
{
	uint32_t n = stacks[k].head + (stacks[k].data && ts ? 4u : 0);
	uint8_t in[64], out[64];
	struct wire_trail trail = {.n = 0};
	struct mrc_pkt pkt;
	struct cursor c = cursor_of((struct cspan){in, n});

	prng_fill(rnd, in, sizeof in);
	in[0] = stacks[k].opcode;
	in[1] = 0;
	in[8] = (uint8_t)((in[8] & 0xef) | ts << 4);
	assert_int_equal(mrc_pkt_get(&c, false, &pkt, &trail).why, WIRE_DROP_NONE);
	check_order(k, ts, &trail);
	assert_int_equal(!!(pkt.has & MRC_PAYLOAD), stacks[k].data);
	assert_int_equal(mrc_head_put(&pkt, (struct span){out, sizeof out}), n);
	assert_memory_equal(in, out, n);
	for (uint32_t room = 0; room < n; room++)
		assert_int_equal(mrc_head_put(&pkt, (struct span){out, room}), 0);
}

static void stack_of_every_opcode(void **state)
{
	struct prng rnd;

	(void)state;
	prng_init(&rnd, check_seed(0x737461636b), 0);
	for (unsigned op = 0, k = 0; op < 256; op++) {
		bool known = k < N_STACKS && stacks[k].opcode == op;
		struct mrc_pkt unknown = {.bth = {.opcode = (uint8_t)op}};
		uint8_t bytes[64];
		uint16_t stack = 0;

		assert_int_equal(mrc_opcode_stack((uint8_t)op, &stack), known);
		assert_int_equal(mrc_opcode_name((uint8_t)op) != NULL, known);
		assert_int_equal(mrc_opcode_is_ours((uint8_t)op), op >= 0xc0 && op <= 0xdf);
		if (known) {
			assert_string_equal(mrc_opcode_name((uint8_t)op), stacks[k].name);
			check_stack(&rnd, k, 0);
			check_stack(&rnd, k, 1);
			k++;
		} else {
			assert_int_equal(mrc_head_put(&unknown, (struct span){bytes, sizeof bytes}),
					 0);
		}
	}
}

/* Every unassigned opcode of MRC's space is dropped as such (Table 6-14 keeps RC's rule). */
static void unassigned_opcodes(void **state)
{
	static struct sample s;
	struct net_cfg cfg = catalog_cfg();
	unsigned dropped = 0;

	(void)state;
	catalog_find("MRC SACK, IPv6", &s);
	for (unsigned op = 0xc0; op <= 0xdf; op++) {
		struct wire_packet pkt;
		struct cspan frame = {s.frame.bytes, s.frame.len};

		if (mrc_opcode_name((uint8_t)op))
			continue;
		s.frame.bytes[s.frame.ip_at + 48] = (uint8_t)op;
		frame_fix_icrc(&s.frame, s.frame.ip_at);
		struct wire_fault fault =
			wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, NULL);

		assert_int_equal(fault.why, WIRE_DROP_OPCODE);
		assert_int_equal(fault.at, s.frame.ip_at + 48);
		dropped++;
	}
	assert_int_equal(dropped, 32 - N_STACKS);
}

/* The write with immediate that WIRE's vectors spell out, byte for byte. */
static void known_write(void **state)
{
	static const uint8_t want[] = {0xcb, 0xb0, 0xff, 0xff, 0x00, 0x00, 0x02, 0x22, 0x90, 0x00,
				       0x01, 0x96, 0x00, 0x03, 0x00, 0x07, 0x12, 0x34, 0x00, 0x01,
				       0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00,
				       0x0a, 0x0b, 0x00, 0x00, 0x00, 0x05, 0xde, 0xad, 0xbe, 0xef};
	struct mrc_pkt p = {
		.bth = {.opcode = MRC_OP_WRITE_ONLY_IMM,
			.se = 1,
			.pad = 3,
			.pkey = MRC_PKEY_DEFAULT,
			.dest_qp = 0x222,
			.ack_req = 1,
			.ts = 1,
			.psn = 406},
		.meth = {.rqmsn = 3, .msn = 7},
		.tseth = {.tx_timestamp = 0x1234, .ftype = MRC_FTYPE_TIMESTAMP},
		.reth = {.va = 0x00007f0000001000, .rkey = 0x0a0b, .dmalen = 5},
		.imm = {0xdeadbeef},
	};
	uint8_t bytes[64];

	(void)state;
	assert_int_equal(mrc_head_put(&p, (struct span){bytes, sizeof bytes}), sizeof want);
	assert_memory_equal(bytes, want, sizeof want);
}

/* The SACK of WIRE's vectors, read back field by field. */
static void known_sack(void **state)
{
	static const uint8_t bytes[] = {0xdc, 0x00, 0xff, 0xff, 0x00, 0x00, 0x01, 0x11, 0x20, 0x00,
					0x01, 0x95, 0x00, 0x20, 0x01, 0x13, 0xc0, 0x01, 0x02, 0x03,
					0x02, 0x22, 0x01, 0x11, 0x00, 0x00, 0x01, 0x95, 0x00, 0x08,
					0x01, 0x0c, 0x00, 0x00, 0x00, 0x01, 0x80, 0x00, 0x00, 0x81,
					0x12, 0x34, 0x00, 0x04, 0x85, 0x00, 0xab, 0xcd};
	struct cursor c = cursor_of((struct cspan){bytes, sizeof bytes});
	struct mrc_pkt p;

	(void)state;
	assert_int_equal(mrc_pkt_get(&c, false, &p, NULL).why, WIRE_DROP_NONE);
	assert_int_equal(p.bth.rtx, 1);
	assert_int_equal(p.bth.psn, 405);
	assert_int_equal(p.seth.m, MRC_MARK_SKIP);
	assert_int_equal(p.seth.pr, 0);
	assert_int_equal(mrc_offset_psn(p.seth.cack_psn, p.seth.ack_psn_offset), 680);
	assert_int_equal(p.seth.entropy, 0xc0010203);
	assert_int_equal(p.seth.spdcid, 0x0222);
	assert_int_equal(p.seth.dpdcid, 0x0111);
	assert_int_equal(p.seth.mpr, 8);
	assert_int_equal(mrc_offset_psn(p.seth.cack_psn, p.seth.sack_offset), 673);
	assert_int_equal(p.seth.sack_bitmap,
			 1 | 1ull << (680 - 673) | 1ull << (704 - 673) | 1ull << (705 - 673));
	assert_int_equal(p.cc.tx_timestamp, 0x1234);
	assert_int_equal(p.cc.ooo_count, 4);
	assert_int_equal(p.cc.restore_cwnd, 1);
	assert_int_equal(p.cc.rcv_cwnd_pen, 5);
	assert_int_equal(p.cc.rcvd_bytes, 0x00abcd);
}

/* The offsets are signed and PSNs wrap at 24 bits. */
static void offsets_wrap(void **state)
{
	(void)state;
	assert_int_equal(mrc_offset_psn(0xfffff3, 0x0010), 0x000003);
	assert_int_equal(mrc_offset_psn(0x000079, 0xfee2), 0xffff5b);
	assert_int_equal(mrc_offset_psn(0x231120, 0xffdc), 0x2310fc);
	assert_int_equal(mrc_offset_psn(0, 0x8000), 0xff8000);
}

static enum wire_drop decode(const struct sample *s, struct wire_packet *pkt)
{
	struct net_cfg cfg = catalog_cfg();
	struct cspan frame = {s->frame.bytes, s->frame.len};

	return wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, pkt, NULL).why;
}

/* M-13: a NACK may carry the length of the packet it answers; its end is the IP length. No other
 * packet may. */
static void trim_nack_keeps_the_original_length(void **state)
{
	static struct sample s;
	struct wire_packet pkt;

	(void)state;
	catalog_find("MRC NACK trimmed, IPv6", &s);
	assert_int_equal(decode(&s, &pkt), WIRE_DROP_NONE);
	assert_int_equal(pkt.net.udp.length, 308);
	assert_int_equal(pkt.mrc.neth.nack_reason, MRC_NACK_TRIMMED);
	assert_int_equal(pkt.net.end - pkt.net.udp_at, 8 + 32 + 4);
	catalog_find("MRC SACK, IPv6", &s);
	put_be16(s.frame.bytes + s.frame.ip_at + 44, 308);
	frame_fix_icrc(&s.frame, s.frame.ip_at);
	assert_int_equal(decode(&s, &pkt), WIRE_DROP_UDP_LENGTH);
}

/* M-49: BTH must survive trimming; METH, TSETH, RETH and ImmDt may be cut. */
static void trimmed_packets_keep_their_first_headers(void **state)
{
	static struct sample s;
	struct mrc_pkt pkt;
	uint8_t bytes[64];
	struct mrc_pkt in = {.bth = {.opcode = MRC_OP_WRITE_ONLY_IMM, .ts = 1}};
	uint32_t whole = mrc_head_put(&in, (struct span){bytes, sizeof bytes});

	(void)state;
	for (uint32_t len = 0; len <= whole + 8; len++) {
		struct cursor c = cursor_of((struct cspan){bytes, len});
		enum wire_drop why = mrc_pkt_get(&c, true, &pkt, NULL).why;

		assert_int_equal(why, len < 12 ? WIRE_DROP_TRUNCATED : WIRE_DROP_NONE);
		if (why != WIRE_DROP_NONE)
			continue;
		assert_int_equal(!!(pkt.has & MRC_METH), len >= 16);
		assert_int_equal(!!(pkt.has & MRC_TSETH), len >= 20);
		assert_int_equal(!!(pkt.has & MRC_RETH), len >= 36);
		assert_int_equal(!!(pkt.has & MRC_IMMDT), len >= 40);
		assert_false(pkt.has & MRC_PAYLOAD);
		assert_int_equal(pkt.payload.len, 0);
	}
	struct wire_packet view;

	catalog_find("MRC WRITE First trimmed, IPv6, all headers", &s);
	assert_int_equal(decode(&s, &view), WIRE_DROP_NONE);
	assert_false(view.has_crc);
	assert_true(view.mrc.has & MRC_RETH);
}

/* Nothing but data is cut: a changed DSCP must not switch off the check of a control packet. One
 * that is whole is what it was (M-48), but for a NACK with another one's length. */
static void control_packets_are_never_trimmed(void **state)
{
	static struct sample s;
	unsigned control = 0, whole = 0;

	(void)state;
	for (uint32_t i = 0; i < catalog_size(); i++) {
		struct wire_packet pkt;

		catalog_get(i, &s);
		if (s.family != WIRE_MRC || strstr(s.name, "WRITE") ||
		    s.frame.bytes[s.frame.ip_at] >> 4 != 6)
			continue;
		uint32_t keep = s.frame.len - s.frame.ip_at - ipv6_bytes;

		frame_trim(&s.frame, CATALOG_DSCP_TRIMMED, keep);
		enum wire_drop why = decode(&s, &pkt);

		assert_int_equal(why, strstr(s.name, "NACK trimmed") ? WIRE_DROP_TRIMMED
								     : WIRE_DROP_NONE);
		assert_int_equal(pkt.net.trim, NET_TRIMMED);
		if (why == WIRE_DROP_NONE) {
			s.frame.bytes[s.frame.len - 1] ^= 1;
			assert_int_equal(decode(&s, &pkt), WIRE_DROP_ICRC);
			whole++;
		}
		frame_trim(&s.frame, CATALOG_DSCP_TRIMMED, keep - 4);
		assert_int_equal(decode(&s, &pkt), WIRE_DROP_TRIMMED);
		control++;
	}
	assert_true(control > 40 && whole > 40);
}

/* A header that was cut leaves room for no later one, even if bytes happen to be left. */
static void nothing_is_read_behind_a_cut(void **state)
{
	struct mrc_pkt in = {.bth = {.opcode = MRC_OP_WRITE_ONLY_IMM}}, pkt;
	uint8_t bytes[64] = {0};

	(void)state;
	mrc_head_put(&in, (struct span){bytes, sizeof bytes});
	struct cursor c = cursor_of((struct cspan){bytes, 16 + 8});

	assert_int_equal(mrc_pkt_get(&c, true, &pkt, NULL).why, WIRE_DROP_NONE);
	assert_int_equal(pkt.has, MRC_METH);
}

/* Table 7-11: reserved and unsupported fields of control packets are ignored, pad among them;
 * M-43: so is ts. Bytes behind the headers are not. */
static void control_packets_ignore_reserved(void **state)
{
	static const uint8_t opcodes[] = {0xd1, 0xd8, 0xd9, 0xdc, 0xdd, 0xde};

	(void)state;
	for (size_t i = 0; i < sizeof opcodes; i++) {
		struct mrc_pkt in = {.bth = {.opcode = opcodes[i],
					     .se = 1,
					     .m = 1,
					     .pad = 3,
					     .rsv_var = 0xff,
					     .rsv0 = 1,
					     .ts = 1,
					     .rsv_inv = 15}};
		struct mrc_pkt out;
		uint8_t bytes[64] = {0};
		uint32_t n = mrc_head_put(&in, (struct span){bytes, sizeof bytes});
		struct cursor c = cursor_of((struct cspan){bytes, n});

		assert_int_equal(mrc_pkt_get(&c, false, &out, NULL).why, WIRE_DROP_NONE);
		assert_false(out.has & MRC_TSETH);
		for (uint32_t more = 1; more <= 8; more++) {
			c = cursor_of((struct cspan){bytes, n + more});
			assert_int_equal(mrc_pkt_get(&c, false, &out, NULL).why, WIRE_DROP_EXCESS);
		}
	}
}

static void data_payload_and_padding(void **state)
{
	struct mrc_pkt in = {.bth = {.opcode = MRC_OP_WRITE_ONLY, .pad = 3}}, out;
	uint8_t bytes[64] = {0};
	uint32_t n = mrc_head_put(&in, (struct span){bytes, sizeof bytes});
	struct cursor c = cursor_of((struct cspan){bytes, n + 8});

	(void)state;
	assert_int_equal(mrc_pkt_get(&c, false, &out, NULL).why, WIRE_DROP_NONE);
	assert_int_equal(out.payload.len, 5);
	c = cursor_of((struct cspan){bytes, n + 7});
	assert_int_equal(mrc_pkt_get(&c, false, &out, NULL).why, WIRE_DROP_PAYLOAD_LENGTH);
	c = cursor_of((struct cspan){bytes, n});
	assert_int_equal(mrc_pkt_get(&c, false, &out, NULL).why, WIRE_DROP_PAD);
}

static void version_must_be_zero(void **state)
{
	struct mrc_pkt in = {.bth = {.opcode = MRC_OP_NACK}}, out;
	uint8_t bytes[64];
	uint32_t n = mrc_head_put(&in, (struct span){bytes, sizeof bytes});

	(void)state;
	for (uint8_t tver = 1; tver < 16; tver++) {
		struct cursor c = cursor_of((struct cspan){bytes, n});

		bytes[1] = tver;
		assert_int_equal(mrc_pkt_get(&c, false, &out, NULL).why, WIRE_DROP_BTH_VERSION);
	}
}

/* Table 7-17 by number. */
static void nack_reasons(void **state)
{
	static const struct {
		uint8_t reason;
		const char *name;
	} known[] = {{0x01, "TRIMMED"},       {0x02, "TRIMMED_LASTHOP"}, {0x06, "NO_BITMAP"},
		     {0x07, "NO_PKT_BUFFER"}, {0x0a, "NO_RESOURCE"},     {0x0b, "PSN_OOR_WINDOW"},
		     {0x19, "UNEXP_EVENT"}};

	(void)state;
	for (unsigned r = 0, k = 0; r < 256; r++) {
		bool want = k < sizeof known / sizeof known[0] && known[k].reason == r;

		assert_int_equal(mrc_nack_name((uint8_t)r) != NULL, want);
		if (want)
			assert_string_equal(mrc_nack_name((uint8_t)r), known[k++].name);
	}
}

static void random_round_trips(void **state)
{
	struct prng rnd;

	(void)state;
	prng_init(&rnd, check_seed(0x6d7263), 0);
	for (int round = 0; round < 1000000; round++) {
		uint8_t in[64], out[64];
		struct mrc_pkt pkt;
		unsigned k = (unsigned)prng_below(&rnd, N_STACKS);

		prng_fill(&rnd, in, sizeof in);
		in[0] = stacks[k].opcode;
		in[1] &= 0xf0;
		struct cursor c = cursor_of((struct cspan){in, sizeof in});

		assert_int_equal(mrc_head_get(&c, false, &pkt, NULL).why, WIRE_DROP_NONE);
		uint32_t n = mrc_head_put(&pkt, (struct span){out, sizeof out});

		assert_int_equal(n, stacks[k].head + (stacks[k].data && pkt.bth.ts ? 4 : 0));
		assert_memory_equal(in, out, n);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(stack_of_every_opcode),
	cmocka_unit_test(unassigned_opcodes),
	cmocka_unit_test(known_write),
	cmocka_unit_test(known_sack),
	cmocka_unit_test(offsets_wrap),
	cmocka_unit_test(trim_nack_keeps_the_original_length),
	cmocka_unit_test(trimmed_packets_keep_their_first_headers),
	cmocka_unit_test(control_packets_are_never_trimmed),
	cmocka_unit_test(nothing_is_read_behind_a_cut),
	cmocka_unit_test(control_packets_ignore_reserved),
	cmocka_unit_test(data_payload_and_padding),
	cmocka_unit_test(version_must_be_zero),
	cmocka_unit_test(nack_reasons),
	cmocka_unit_test(random_round_trips),
};
CHECK_MAIN(cases)
