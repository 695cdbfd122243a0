/* What every packet of MRC must pass before either side looks at it: each way to be malformed, of
 * another version, for somebody else or from somebody else is one counter, and changes nothing
 * (law 1). Payload is found wherever the driver left it. */
#include "mrc_stage.h"

#define ME     1u /* the end that is sent to */
#define AT     512u
#define LENGTH 100u

static const uint8_t opcodes[] = {
	MRC_OP_WRITE_FIRST,
	MRC_OP_WRITE_MIDDLE,
	MRC_OP_WRITE_LAST,
	MRC_OP_WRITE_LAST_IMM,
	MRC_OP_WRITE_ONLY,
	MRC_OP_WRITE_ONLY_IMM,
	MRC_OP_ACKNOWLEDGE,
	MRC_OP_ENDPOINT_REQUEST,
	MRC_OP_ENDPOINT_RESPONSE,
	MRC_OP_SACK,
	MRC_OP_NACK,
	MRC_OP_PROBE_REQUEST,
};
#define OPCODES (sizeof opcodes)

static bool is_answer(uint8_t opcode)
{
	return opcode == MRC_OP_SACK || opcode == MRC_OP_NACK || opcode == MRC_OP_ACKNOWLEDGE;
}

static const struct mrc_counters *c;

/* End 1 in a state, and nothing that it would send by itself. */
static void rise(uint32_t state)
{
	start(state);
	join_to((uint8_t)(state <= MRC_RTS ? state : MRC_RTS));
	if (state > MRC_RTS)
		assert_int_equal(end_set(&w.end[ME], w.now, 0, (uint8_t)state, 0), 0);
	c = counts(&w.end[ME]);
}

/* A packet of any kind that a queue pair may take; data of no bytes, number n from the start. */
static struct mrc_pkt packet(uint8_t opcode, uint32_t n)
{
	const struct end_qp *q = &w.end[ME].qp[0];
	struct mrc_pkt h = {
		.bth = {.opcode = opcode,
			.pkey = 0xffff,
			.dest_qp = is_endpoint(opcode) ? MRC_ENDPOINT_QP : q->number,
			.psn = (q->attr.rq_psn + n) % MRC_NUMBERS},
		.seth = {.cack_psn = (q->attr.sq_psn - 1) % MRC_NUMBERS},
		.neth = {.nack_reason = MRC_NACK_TRIMMED, .nack_psn = q->attr.sq_psn},
		.aeth = {.value = MRC_AETH_NO_CREDIT},
		.erth = {.op = MRC_ENDPOINT_EV_PROBE},
	};

	if (opcode == MRC_OP_ACKNOWLEDGE)
		h.bth.psn = (q->attr.sq_psn - 1) % MRC_NUMBERS;
	return h;
}

/* One with payload, to AT of TARGET. */
static struct mrc_pkt data(uint32_t n, uint32_t len)
{
	struct mrc_pkt h = packet(MRC_OP_WRITE_ONLY, n);

	h.bth.pad = -len & 3;
	h.reth = (struct reth){
		.va = area_va(TARGET) + AT, .rkey = area_key(&w.end[ME], TARGET), .dmalen = len};
	h.payload = (struct cspan){w.end[1 - ME].image[SOURCE], len};
	return h;
}

static uint32_t bytes_of(const struct mrc_pkt *h, uint8_t *bytes)
{
	uint32_t head = mrc_head_put(h, (struct span){bytes, ENGINE_HEAD_MAX});

	assert_true(head > 0);
	if (h->payload.len > 0)
		memcpy(bytes + head, h->payload.at, h->payload.len);
	memset(bytes + head + h->payload.len, 0, h->bth.pad);
	return head + h->payload.len + h->bth.pad;
}

/* Nothing was placed, nothing is answered, the queue pair is as it was. */
static void check_untouched(uint32_t state)
{
	struct mrc_attr attr;

	assert_int_equal(end_pull(&w.end[ME], w.now, wide, END_BATCH), 0);
	assert_int_equal(mrc_qp_query(w.end[ME].e, w.end[ME].qp[0].number, &attr, NULL, NULL), 0);
	assert_int_equal(attr.state, state);
	if (state >= MRC_RTR)
		assert_int_equal(attr.rq_psn, w.end[ME].qp[0].attr.rq_psn);
	expect_nothing(ME);
	expect_no_event(&w.end[ME]);
	check_idle(&w.end[ME]);
	check_ends();
}

/* No byte, one, and every length at which some header is not whole. Data that is expected would be
 * answered: test mrc_refuse. */
static void every_truncation(void **state)
{
	uint8_t bytes[256];

	(void)state;
	rise(MRC_RTS);
	uint64_t n = 0;

	for (uint32_t i = 0; i < OPCODES; i++)
		for (uint8_t ts = 0; ts < 2; ts++) {
			struct mrc_pkt h = packet(opcodes[i], 1);

			h.bth.ts = ts;
			uint32_t len = bytes_of(&h, bytes);

			for (uint32_t cut_at = 0; cut_at < len; cut_at++) {
				inject_bytes(ME, bytes, cut_at);
				assert_int_equal(c->drop_malformed, ++n);
			}
		}
	check_untouched(MRC_RTS);
}

/* Control packets end with their headers, whatever their padding field says (Table 7-11); data is a
 * multiple of four bytes, and its padding is part of it. */
static void wrong_lengths(void **state)
{
	uint8_t bytes[256] = {0};
	uint64_t n = 0;

	(void)state;
	rise(MRC_RTS);
	for (uint32_t i = 0; i < OPCODES; i++) {
		struct mrc_pkt h = packet(opcodes[i], 1);
		uint32_t len = bytes_of(&h, bytes);

		for (uint32_t more = 1; more < 12; more++) {
			if (is_data(opcodes[i]) && more % 4 == 0)
				continue;
			memset(bytes + len, 0, more);
			inject_bytes(ME, bytes, len + more);
			assert_int_equal(c->drop_malformed, ++n);
		}
	}
	/* Padding without anything that it could be part of. */
	for (uint8_t pad = 1; pad < 4; pad++) {
		struct mrc_pkt h = data(1, 0);

		h.bth.pad = pad;
		uint32_t len = bytes_of(&h, bytes);

		inject_bytes(ME, bytes, len - pad);
		assert_int_equal(c->drop_malformed, ++n);
	}
	check_untouched(MRC_RTS);
	for (uint8_t pad = 0; pad < 4; pad++) {
		struct mrc_pkt h = packet(MRC_OP_PROBE_REQUEST, 0);

		h.bth.pad = pad;
		uint32_t len = mrc_head_put(&h, (struct span){bytes, sizeof bytes});

		inject_bytes(ME, bytes, len);
		assert_int_equal(c->rx_probe, pad + 1u);
	}
}

static void wrong_version(void **state)
{
	(void)state;
	rise(MRC_RTS);
	for (uint32_t i = 0; i < OPCODES; i++)
		for (uint8_t tver = 1; tver < 16; tver++) {
			struct mrc_pkt h = packet(opcodes[i], 0);

			h.bth.tver = tver;
			inject(ME, &h);
			assert_int_equal(c->drop_version, i * 15 + tver);
		}
	check_untouched(MRC_RTS);
}

/* Seven eighths of the opcodes are not MRC's. */
static void opcodes_of_others(void **state)
{
	uint8_t bytes[64];
	uint64_t n = 0;

	(void)state;
	rise(MRC_RTS);
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		struct mrc_pkt h = packet(MRC_OP_WRITE_ONLY, 0);
		uint32_t len = bytes_of(&h, bytes);

		bytes[0] = (uint8_t)opcode;
		if (opcode >> 5 == 6)
			continue;
		inject_bytes(ME, bytes, len);
		assert_int_equal(c->drop_opcode, ++n);
	}
	check_untouched(MRC_RTS);
}

/* Those of MRC that are not assigned, SEND, READ and ATOMIC among them, are refused where a request
 * would be taken (Table 6-14), and only there. In the places of responses and of control packets
 * they are no requests, and nothing comes of them. */
static void unassigned_opcodes(void **state)
{
	uint8_t bytes[64];
	uint32_t n = 0, n_control = 0;

	(void)state;
	for (uint32_t opcode = 0xc0; opcode < 0xe0; opcode++) {
		if (mrc_opcode_name((uint8_t)opcode))
			continue;
		n++;
		rise(MRC_RTS);
		struct mrc_pkt h = packet(MRC_OP_WRITE_ONLY, 0);
		uint32_t len = bytes_of(&h, bytes);
		struct rx_pkt rx = {.peer = PEER, .local = LOCAL, .trimmed = NET_TRIMMED};

		bytes[0] = (uint8_t)opcode;
		end_input(&w.end[ME], w.now, rx, bytes, len, len);
		assert_int_equal(c->drop_malformed, 1);
		check_untouched(MRC_RTS);
		inject_bytes(ME, bytes, mrc_bth_bytes);
		if ((opcode >= 0xcd && opcode <= 0xd2) || opcode >= 0xd8) {
			assert_int_equal(c->drop_opcode, 1);
			check_untouched(MRC_RTS);
			n_control++;
			continue;
		}
		assert_int_equal(c->rx_nak_sent, 1);
		assert_int_equal(end_state(&w.end[ME], 0), MRC_ERROR);
		expect_event(&w.end[ME], w.end[ME].qp[0].number, ENGINE_EVENT_INVALID);
		assert_int_equal(end_pull(&w.end[ME], w.now, wide, 2), 1);
		assert_int_equal(w.end[ME].out[0].h.aeth.type, AETH_NAK);
		assert_int_equal(w.end[ME].out[0].h.aeth.value, AETH_NAK_INVALID_REQUEST);
		check_ends();
	}
	assert_int_equal(n, 32 - OPCODES);
	assert_int_equal(n_control, 8);
}

static void unknown_queue_pairs(void **state)
{
	uint64_t n = 0;

	(void)state;
	rise(MRC_RTS);
	uint32_t number = w.end[ME].qp[0].number;
	const uint32_t wrong[] = {
		0, 1, 2, 3, number - 1, number + 1, number ^ 0x800000, MRC_NUMBERS - 1};

	for (uint32_t i = 0; i < OPCODES; i++)
		for (uint32_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
			struct mrc_pkt h = packet(opcodes[i], 0);

			if (is_endpoint(opcodes[i]) && wrong[k] == MRC_ENDPOINT_QP)
				continue;
			h.bth.dest_qp = wrong[k];
			inject(ME, &h);
			assert_int_equal(c->drop_qp, ++n);
		}
	/* A queue pair is not for endpoint operations, and one that has ended for nothing. */
	struct mrc_pkt h = packet(MRC_OP_ENDPOINT_REQUEST, 0);

	h.bth.dest_qp = number;
	inject(ME, &h);
	assert_int_equal(c->drop_qp, ++n);
	check_untouched(MRC_RTS);
	assert_ptr_equal(mrc_qp_free(w.end[ME].e, number), w.end[ME].qp[0].memory);
	h = data(0, LENGTH);
	inject(ME, &h);
	assert_int_equal(c->drop_qp, ++n);
	check_ends();
}

/* The receiving side works from MRC_RTR on, the sending side from MRC_RTS on (IBTA 10.3.1). */
static void states_and_packets(void **state)
{
	(void)state;
	for (uint32_t s = MRC_RESET; s <= MRC_ERROR; s++)
		for (uint32_t i = 0; i < OPCODES; i++) {
			bool is_taken = s == MRC_RTS || s == MRC_SQD ||
					(s == MRC_RTR && !is_answer(opcodes[i]));

			if (is_endpoint(opcodes[i]))
				continue;
			rise(s);
			if (s == MRC_SQD)
				expect_event(&w.end[ME], w.end[ME].qp[0].number,
					     ENGINE_EVENT_DRAINED);
			struct mrc_pkt h = packet(opcodes[i], 0);

			if (opcodes[i] == MRC_OP_WRITE_ONLY_IMM && s != MRC_RESET)
				post_recv(ME, 0, 1);
			inject(ME, &h);
			assert_int_equal(c->drop_state, !is_taken);
			if (!is_taken && opcodes[i] != MRC_OP_WRITE_ONLY_IMM)
				check_untouched(s);
			if (is_taken && opcodes[i] == MRC_OP_WRITE_ONLY)
				assert_int_equal(c->rx_data, 1);
			if (is_taken && opcodes[i] == MRC_OP_PROBE_REQUEST)
				assert_int_equal(c->rx_probe, 1);
			check_ends();
		}
}

/* From the peer, to whichever of our addresses, and from nobody else. */
static void strangers(void **state)
{
	uint64_t n = 0;

	(void)state;
	rise(MRC_RTS);
	for (uint32_t i = 0; i < OPCODES; i++) {
		struct mrc_pkt h = packet(opcodes[i], 0);

		if (is_endpoint(opcodes[i]))
			continue;
		inject_as(ME, &h, (struct rx_pkt){.peer = PEER + 1, .local = LOCAL});
		assert_int_equal(c->drop_stranger, ++n);
	}
	check_untouched(MRC_RTS);
	struct mrc_pkt h = packet(MRC_OP_PROBE_REQUEST, 0);

	inject_as(ME, &h, (struct rx_pkt){.peer = PEER, .local = LOCAL + 1});
	assert_int_equal(c->rx_probe, 1);
}

/* A packet of another partition is not for us, whether it is data, a Transport ACK or an unknown
 * request; a limited member's is (IBTA 9.6.1.1.3). Control packets carry some other value there,
 * and go by their opcode (M-04). */
static void partitions(void **state)
{
	static const uint16_t wrong[] = {0, 1, 0x1234, 0x7ffe, 0x8000, 0xfffe};
	uint64_t n = 0;

	(void)state;
	for (uint32_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
		n = 0;
		rise(MRC_RTS);
		for (uint32_t i = 0; i < OPCODES; i++) {
			struct mrc_pkt h = packet(opcodes[i], 0);

			h.bth.pkey = wrong[k];
			if (!is_data(opcodes[i]) && opcodes[i] != MRC_OP_ACKNOWLEDGE)
				continue;
			inject(ME, &h);
			assert_int_equal(c->drop_pkey, ++n);
		}
		struct mrc_pkt h = data(0, LENGTH);
		uint8_t bytes[256];
		uint32_t len = bytes_of(&h, bytes);

		bytes[0] = 0xc4;
		put_be16(bytes + 2, wrong[k]);
		inject_bytes(ME, bytes, len);
		assert_int_equal(c->drop_pkey, ++n);
		assert_int_equal(n, 8);
		check_untouched(MRC_RTS);
		h = packet(MRC_OP_PROBE_REQUEST, 0);
		h.bth.pkey = wrong[k];
		inject(ME, &h);
		assert_int_equal(c->rx_probe, 1);
		h = packet(MRC_OP_ENDPOINT_REQUEST, 0);
		h.bth.pkey = wrong[k];
		inject(ME, &h);
		assert_int_equal(c->rx_endpoint, 1);
		h = packet(MRC_OP_SACK, 0);
		h.bth.pkey = wrong[k];
		inject(ME, &h);
		assert_int_equal(c->rx_sack, 1);
		assert_int_equal(c->drop_pkey, n);
	}
	rise(MRC_RTS);
	struct mrc_pkt h = data(0, LENGTH);

	h.bth.pkey = 0x7fff;
	inject(ME, &h);
	assert_int_equal(c->rx_data, 1);
}

/* Reserved bits, the partition key of control packets (M-04), the packet delivery contexts (M-09),
 * and in control packets BTH.m and se are not looked at. */
static void what_is_ignored(void **state)
{
	(void)state;
	rise(MRC_RTS);
	struct mrc_pkt h = data(0, LENGTH);

	h.bth.rsv_var = 0xff;
	h.bth.rsv0 = 1;
	h.bth.rsv_inv = 0xf;
	h.bth.m = 1;
	h.bth.ts = 1;
	h.tseth.rsv0 = 0x7ff;
	inject(ME, &h);
	assert_int_equal(c->rx_data, 1);
	h = packet(MRC_OP_PROBE_REQUEST, 0);
	h.bth = (struct mrc_bth){.opcode = MRC_OP_PROBE_REQUEST,
				 .dest_qp = w.end[ME].qp[0].number,
				 .se = 1,
				 .m = 1,
				 .pad = 3,
				 .rsv_var = 0xff,
				 .ts = 1,
				 .rsv_inv = 0xf,
				 .psn = 0xffffff};
	h.peth = (struct peth){.rsv_type = 0xf,
			       .rsv_nh = 0x1f,
			       .rsv0 = 0x7f,
			       .rsv1 = 0xff,
			       .vendor_info = 0xff,
			       .rsv2 = 0xffff,
			       .spdcid = 0x5555,
			       .dpdcid = 0xaaaa,
			       .rsv3 = 0x7ff};
	uint8_t bytes[64];
	uint32_t len = mrc_head_put(&h, (struct span){bytes, sizeof bytes});

	inject_bytes(ME, bytes, len);
	assert_int_equal(c->rx_probe, 1);
	memcpy(w.end[ME].image[TARGET] + AT, w.end[1 - ME].image[SOURCE], LENGTH);
	check_ends();
}

/* Only data is ever cut, and of that BTH is left at least (M-49). Nothing of a trimmed packet is
 * placed, if all of its payload is there. */
static void trimmed_packets(void **state)
{
	struct rx_pkt rx = {.peer = PEER, .local = LOCAL, .trimmed = NET_TRIMMED, .udp_len = 999};
	uint8_t bytes[256];
	uint64_t n_bad = 0, n_good = 0;

	(void)state;
	rise(MRC_RTS);
	for (uint32_t i = 0; i < OPCODES; i++) {
		struct mrc_pkt h = packet(opcodes[i], 0);

		if (is_data(opcodes[i]))
			continue;
		inject_as(ME, &h, rx);
		assert_int_equal(c->drop_malformed, ++n_bad);
	}
	check_untouched(MRC_RTS);
	for (uint8_t ts = 0; ts < 2; ts++) {
		struct mrc_pkt h = data(0, LENGTH);

		h.bth.ts = ts;
		uint32_t len = bytes_of(&h, bytes);

		for (uint32_t left = 0; left <= len; left++) {
			end_input(&w.end[ME], w.now, rx, bytes, left, left);
			if (left < mrc_bth_bytes)
				n_bad++;
			else
				n_good++;
			assert_int_equal(c->drop_malformed, n_bad);
			assert_int_equal(c->rx_trimmed, n_good);
		}
	}
	assert_int_equal(c->rx_data, 0);
	check_ends();
}

/* Marked as trimmed, and nothing was cut: control packets are what they were, with the lengths that
 * they must have; data is not placed (M-48). */
static void marked_and_whole(void **state)
{
	struct rx_pkt rx = {
		.peer = PEER, .local = LOCAL, .trimmed = NET_TRIMMED, .is_uncut = 1, .udp_len = 99};
	uint8_t bytes[256] = {0};

	(void)state;
	rise(MRC_RTS);
	struct mrc_pkt h = packet(MRC_OP_PROBE_REQUEST, 0);
	uint32_t len = bytes_of(&h, bytes);

	end_input(&w.end[ME], w.now, rx, bytes, len, len);
	assert_int_equal(c->rx_probe, 1);
	end_input(&w.end[ME], w.now, rx, bytes, len + 4, len + 4);
	end_input(&w.end[ME], w.now, rx, bytes, len - 4, len - 4);
	assert_int_equal(c->drop_malformed, 2);
	h = packet(MRC_OP_ENDPOINT_REQUEST, 0);
	inject_as(ME, &h, rx);
	assert_int_equal(c->rx_endpoint, 1);
	h = data(0, LENGTH);
	inject_as(ME, &h, rx);
	assert_int_equal(c->rx_trimmed, 1);
	len = bytes_of(&h, bytes);
	end_input(&w.end[ME], w.now, rx, bytes, len - 1, len - 1);
	assert_int_equal(c->drop_malformed, 3);
	assert_int_equal(c->rx_data, 0);
	check_ends();
}

/* The same bytes, wherever the pieces end. */
static void payload_in_pieces(void **state)
{
	uint8_t bytes[256];

	(void)state;
	for (uint32_t len = LENGTH - 7; len <= LENGTH; len++) {
		rise(MRC_RTS);
		struct mrc_pkt h = data(0, len);
		uint32_t all = bytes_of(&h, bytes), head = all - len - h.bth.pad;

		memcpy(w.end[ME].image[TARGET] + AT, w.end[1 - ME].image[SOURCE], len);
		for (uint32_t i = head, n = 0; i <= all; i += 5)
			for (uint32_t k = i; k <= all; k += 7, n++) {
				struct rx_pkt rx = {
					.head = {bytes, i},
					.body = {{bytes + i, k - i}, {bytes + k, all - k}},
					.at = w.now,
					.peer = PEER,
					.local = LOCAL,
				};

				h = data(n, len);
				bytes_of(&h, bytes);
				memset(area_at(&w.end[ME], TARGET, AT), 0, len);
				mrc_ops.input(w.end[ME].e, w.now, &rx, 1);
				assert_int_equal(c->rx_data, n + 1);
				assert_memory_equal(area_at(&w.end[ME], TARGET, AT), h.payload.at,
						    len);
			}
		check_ends();
	}
}

/* Virtual bytes are zeros. */
static void virtual_payload(void **state)
{
	(void)state;
	rise(MRC_RTS);
	for (uint32_t len = 1; len < 40; len++) {
		struct mrc_pkt h = data(len - 1, len);

		h.payload.at = NULL;
		inject(ME, &h);
		assert_int_equal(c->rx_data, len);
		memset(w.end[ME].image[TARGET] + AT, 0, len);
		check_memory(&w.end[ME]);
	}
	assert_int_equal(c->rx_bytes, 39 * 40 / 2);
	check_ends();
}

/* Several at once, more than one group and no whole number of them, good and bad in any order, each
 * in its counter; marked ones among those taken are counted besides, and what follows is not read.
 */
static void many_at_once(void **state)
{
	enum { MANY = 200, MORE = 264 };
	static uint8_t bytes[MORE][256];
	static struct rx_pkt rx[MORE];

	(void)state;
	rise(MRC_RTS);
	for (uint32_t i = 0; i < MORE; i++) {
		struct mrc_pkt h = data(i, LENGTH);

		if (i % 2 == 0)
			h.bth.tver = 1;
		else if (i % 4 == 1)
			h.bth.dest_qp ^= 1;
		rx[i] = (struct rx_pkt){.head = {bytes[i], bytes_of(&h, bytes[i])},
					.at = w.now,
					.peer = PEER,
					.local = LOCAL,
					.ecn = i % 8 == 7 ? 3 : 2};
	}
	mrc_ops.input(w.end[ME].e, w.now, rx, MANY);
	assert_int_equal(c->rx, MANY);
	assert_int_equal(c->rx_data, MANY / 4);
	assert_int_equal(c->drop_version, MANY / 2);
	assert_int_equal(c->drop_qp, MANY / 4);
	assert_int_equal(c->rx_ecn, MANY / 8);
	memcpy(w.end[ME].image[TARGET] + AT, w.end[1 - ME].image[SOURCE], LENGTH);
	check_ends();
}

/* Random bytes behind a good beginning: whatever they are, they are counted once. */
static void noise(void **state)
{
	uint8_t bytes[512];
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(1), 0);
	rise(MRC_RTS);
	for (uint32_t i = 0; i < 20000; i++) {
		struct mrc_pkt h = packet(opcodes[prng_below(&rng, OPCODES)], 0);
		uint32_t len = bytes_of(&h, bytes), all = (uint32_t)prng_below(&rng, 120);

		prng_fill(&rng, bytes + len, sizeof bytes - len);
		for (uint32_t k = (uint32_t)prng_below(&rng, 4); k > 0; k--)
			bytes[prng_below(&rng, len)] = (uint8_t)prng_u32(&rng);
		if (end_state(&w.end[ME], 0) == MRC_ERROR)
			rise(MRC_RTS);
		struct rx_pkt rx = {.peer = PEER,
				    .local = LOCAL,
				    .trimmed = (uint8_t)(prng_below(&rng, 8) == 0),
				    .is_uncut = (uint8_t)(prng_below(&rng, 2) == 0),
				    .ecn = (uint8_t)prng_below(&rng, 4)};

		end_input(&w.end[ME], w.now, rx, bytes, all, all);
		w.now += 100;
		end_pull(&w.end[ME], w.now, wide, END_BATCH);
		check_balance(&w.end[ME]);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(every_truncation),   cmocka_unit_test(wrong_lengths),
	cmocka_unit_test(wrong_version),      cmocka_unit_test(opcodes_of_others),
	cmocka_unit_test(unassigned_opcodes), cmocka_unit_test(unknown_queue_pairs),
	cmocka_unit_test(states_and_packets), cmocka_unit_test(strangers),
	cmocka_unit_test(partitions),         cmocka_unit_test(what_is_ignored),
	cmocka_unit_test(trimmed_packets),    cmocka_unit_test(marked_and_whole),
	cmocka_unit_test(payload_in_pieces),  cmocka_unit_test(virtual_payload),
	cmocka_unit_test(many_at_once),       cmocka_unit_test(noise),
};
CHECK_MAIN(cases)
