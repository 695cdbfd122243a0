/* Bad packets of any kind, one case each: malformed, for the wrong queue pair, from the wrong
 * place, of no sense. All but operations that MRC does not have are dropped without a trace. */
#include <string.h>

#include "encap/encap.h"
#include "mrc_twins.h"
#include "wire/icrc.h"
#include "wire/packet.h"

#define FRAME 512u

static const uint8_t known[] = {
#define OPCODE(value, id, text, stack) value,
	MRC_OPCODES(OPCODE)
#undef OPCODE
};

/* Which of those have a payload; and which are for the endpoint, not for a queue pair. */
static bool has_payload(uint8_t opcode)
{
	uint16_t stack;

	assert_true(mrc_opcode_stack(opcode, &stack));
	return stack & MRC_PAYLOAD;
}

static struct crafted *any_at(uint8_t opcode, int64_t n)
{
	struct crafted *c = packet(opcode, n, has_payload(opcode) ? 7 : 0);

	if (is_endpoint(opcode))
		c->h.bth.dest_qp = MRC_ENDPOINT_QP;
	c->h.reth.dmalen = 7;
	craft(c, has_payload(opcode) ? 7 : 0);
	return c;
}

static struct crafted *any(uint8_t opcode)
{
	return any_at(opcode, EXPECTED);
}

static void empty(void **state)
{
	struct crafted *c;

	(void)state;
	born();
	c = data(EXPECTED);
	c->len = 0;
	drop(c, COUNTER(drop_malformed));
}

static void one_byte(void **state)
{
	static const size_t but[] = {COUNTER(drop_malformed), 0};

	(void)state;
	born();
	for (uint32_t byte = 0; byte < 256; byte++) {
		struct crafted *c = data(EXPECTED);

		c->bytes[0] = (uint8_t)byte;
		c->len = 1;
		check_dropped(c, COUNTER(drop_malformed));
	}
	live_on(but);
}

/* Every packet of MRC, with and without a timestamp, cut after each of its bytes where that leaves
 * no packet. Data that is expected would be answered: test mrc_refuse. */
static void every_truncation(void **state)
{
	static const size_t but[] = {COUNTER(drop_malformed), 0};
	uint32_t n = 0;

	(void)state;
	born();
	for (uint32_t i = 0; i < 2 * sizeof known; i++) {
		struct crafted *c = any_at(known[i / 2], EXPECTED + 2);
		uint32_t payload = has_payload(known[i / 2]) ? 8 : 0;

		c->h.bth.ts = i % 2;
		craft(c, payload ? 7 : 0);
		uint32_t whole = c->len;

		for (c->len = 0; c->len < whole; c->len++)
			if (c->len < whole - payload || c->len % 4 != 0) {
				check_dropped(c, COUNTER(drop_malformed));
				n++;
			}
	}
	assert_true(n > 500);
	live_on(but);
}

/* Bytes behind a packet that has no payload; payload that is not whole words; more padding than
 * there are bytes. */
static void wrong_lengths(void **state)
{
	static const size_t but[] = {COUNTER(drop_malformed), 0};

	(void)state;
	born();
	for (uint32_t i = 0; i < sizeof known; i++)
		for (uint32_t more = 1; more <= 8; more++) {
			struct crafted *c = any_at(known[i], EXPECTED + 2);

			if (has_payload(known[i]) && more % 4 == 0)
				continue;
			memset(c->bytes + c->len, 0, more);
			c->len += more;
			check_dropped(c, COUNTER(drop_malformed));
		}
	for (uint8_t pad = 1; pad < 4; pad++) {
		struct crafted *c = packet(MRC_OP_WRITE_ONLY, EXPECTED + 2, 0);

		c->bytes[1] = (uint8_t)(pad << 4);
		check_dropped(c, COUNTER(drop_malformed));
	}
	live_on(but);
}

/* From somebody else's address. */
static void wrong_destination(void **state)
{
	static const size_t but[] = {COUNTER(drop_stranger), 0};

	(void)state;
	born();
	for (uint32_t i = 0; i < sizeof known; i++) {
		struct crafted *c = any(known[i]);

		if (is_endpoint(known[i]))
			continue;
		c->rx.peer++;
		check_dropped(c, COUNTER(drop_stranger));
		c->rx.trimmed = NET_TRIMMED;
		check_dropped(c, COUNTER(drop_stranger));
	}
	live_on(but);
}

static void wrong_version(void **state)
{
	static const size_t but[] = {COUNTER(drop_version), 0};

	(void)state;
	born();
	for (uint32_t i = 0; i < sizeof known; i++)
		for (uint8_t tver = 1; tver < 16; tver++) {
			struct crafted *c = any(known[i]);

			c->h.bth.tver = tver;
			craft(c, 0);
			check_dropped(c, COUNTER(drop_version));
		}
	live_on(but);
}

/* Not of MRC's part of the opcode space. */
static void unknown_opcode(void **state)
{
	static const size_t but[] = {COUNTER(drop_opcode), 0};

	(void)state;
	born();
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		struct crafted *c = data(EXPECTED);

		c->bytes[0] = (uint8_t)opcode;
		if (!mrc_opcode_is_ours((uint8_t)opcode))
			check_dropped(c, COUNTER(drop_opcode));
	}
	live_on(but);
}

/* Operations of RC that MRC does not have, and what is not assigned at all, in MRC's part (Table
 * 6-14): refused if the PSN is one that would be taken, else dropped. */
static void read_send_atomic(void **state)
{
	static const int64_t taken[] = {EXPECTED, EXPECTED + 2, 8 * 128};
	static const int64_t settled[] = {0, 3, 5};

	(void)state;
	for (uint32_t opcode = 0xc0; opcode < 0xe0; opcode++) {
		bool is_request = opcode < 0xcd || (opcode > 0xd2 && opcode < 0xd8);

		if (mrc_opcode_name((uint8_t)opcode))
			continue;
		for (uint32_t i = 0; i < 3; i++) {
			struct crafted *c;

			born();
			c = data(taken[i]);
			c->bytes[0] = (uint8_t)opcode;
			if (!is_request)
				check_dropped(c, COUNTER(drop_opcode));
			else if (i > 0)
				check_dropped(c, COUNTER(drop_early));
			else
				refuse(c, AETH_NAK_INVALID_REQUEST);
		}
		born();
		for (uint32_t i = 0; i < 3; i++) {
			struct crafted *c = data(settled[i]);

			c->bytes[0] = (uint8_t)opcode;
			check_dropped(c, COUNTER(drop_opcode));
		}
		born();
		struct crafted *c = data(EXPECTED + 8 * 128);

		c->bytes[0] = (uint8_t)opcode;
		check_dropped(c, is_request ? COUNTER(drop_range) : COUNTER(drop_opcode));
	}
}

/* What is reserved says nothing: both ends, of which one gets it set, go on alike. */
static void reserved_bits(void **state)
{
	static const size_t nothing[] = {0};
	struct crafted *c;

	(void)state;
	born();
	c = asking(EXPECTED);
	feed(TWIN, c);
	c->h.bth.rsv_var = 0xff;
	c->h.bth.rsv_inv = 0xf;
	c->h.bth.rsv0 = c->h.bth.m = 1;
	c->h.bth.pkey = 0x7fff;
	craft(c, 8);
	feed(SUBJECT, c);
	check_same(nothing);
	c = sack(UNA + 1, 0x3);
	feed(TWIN, c);
	c->h.bth.rsv_var = 0xff;
	c->h.bth.rsv_inv = 0xf;
	c->h.bth.rsv0 = c->h.bth.m = c->h.bth.se = c->h.bth.ts = c->h.bth.ack_req = 1;
	c->h.bth.pkey = 0;
	c->h.seth.rsv_type = c->h.seth.cc_fl = 0xf;
	c->h.seth.rsv_nh = 0x1f;
	c->h.seth.rsv0 = c->h.seth.rsv1 = c->h.seth.rsv2 = c->h.seth.rsv3 = 1;
	c->h.seth.rsv4 = 0xff;
	c->h.seth.spdcid = c->h.seth.dpdcid = 0xbeef;
	c->h.cc.rsv0 = 1;
	craft(c, 0);
	c->bytes[1] |= 0x30;
	feed(SUBJECT, c);
	check_same(nothing);
	c = probe(9);
	feed(TWIN, c);
	c->h.bth.ts = 1;
	c->h.peth.rsv_type = 0xf;
	c->h.peth.rsv0 = 0x7f;
	c->h.peth.rsv1 = c->h.peth.vendor_info = 0xff;
	c->h.peth.rsv2 = c->h.peth.spdcid = c->h.peth.dpdcid = 0xffff;
	c->h.peth.rsv3 = 0x7ff;
	craft(c, 0);
	feed(SUBJECT, c);
	check_same(nothing);
}

static void qp_unknown(void **state)
{
	static const uint32_t numbers[] = {0, 1, 3, OURS - 1, OURS + 1, OURS + 0x10000, 0xffffff};
	static const size_t but[] = {COUNTER(drop_qp), 0};

	(void)state;
	born();
	for (uint32_t i = 0; i < sizeof known; i++)
		for (uint32_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
			struct crafted *c = any(known[i]);

			c->h.bth.dest_qp = numbers[k];
			craft(c, has_payload(known[i]) ? 7 : 0);
			check_dropped(c, COUNTER(drop_qp));
		}
	live_on(but);
}

/* Endpoint packets to a queue pair, and a queue pair's packets to the endpoint (7.3). */
static void endpoint_and_pair(void **state)
{
	static const size_t but[] = {COUNTER(drop_qp), 0};

	(void)state;
	born();
	for (uint32_t i = 0; i < sizeof known; i++) {
		struct crafted *c = any(known[i]);

		c->h.bth.dest_qp = is_endpoint(known[i]) ? OURS : MRC_ENDPOINT_QP;
		craft(c, has_payload(known[i]) ? 7 : 0);
		check_dropped(c, COUNTER(drop_qp));
	}
	live_on(but);
}

/* Whatever the state says it cannot take, every opcode, leaves a queue pair as it was. */
static void check_state(uint8_t to)
{
	born();
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(end_set(&d.end[i], d.now, 0, MRC_RESET, 0), 0);
		end_rise(&d.end[i], d.now, 0, to);
	}
	for (uint32_t opcode = 0xc0; opcode < 0xe0; opcode++) {
		bool is_answer = opcode == MRC_OP_SACK || opcode == MRC_OP_NACK ||
				 opcode == MRC_OP_ACKNOWLEDGE;
		struct crafted *c = data(0);

		if (is_endpoint((uint8_t)opcode) || (to == MRC_RTR && !is_answer))
			continue;
		if (mrc_opcode_name((uint8_t)opcode))
			c = any((uint8_t)opcode);
		c->bytes[0] = (uint8_t)opcode;
		check_dropped(c, COUNTER(drop_state));
		c->rx.trimmed = NET_TRIMMED;
		check_dropped(c, COUNTER(drop_state));
	}
}

static void qp_in_reset(void **state)
{
	(void)state;
	check_state(MRC_RESET);
}

static void qp_in_init(void **state)
{
	(void)state;
	check_state(MRC_INIT);
}

/* In MRC_RTR only requests are taken. */
static void answer_in_rtr(void **state)
{
	(void)state;
	check_state(MRC_RTR);
}

static void qp_just_destroyed(void **state)
{
	struct end *s = &d.end[SUBJECT];
	uint32_t n = 0;

	(void)state;
	born();
	for (uint32_t i = 0; i < 2; i++)
		assert_non_null(mrc_qp_free(d.end[i].e, OURS));
	memset(s->qp[0].memory, 0xee, mrc_qp_size(&s->qp[0].caps));
	for (uint32_t i = 0; i < sizeof known; i++)
		if (!is_endpoint(known[i])) {
			feed(SUBJECT, any(known[i]));
			n++;
		}
	assert_int_equal(counts(s)->drop_qp, n);
	pull_both();
	check_same_packets();
	check_same_completions();
	check_idle(s);
	assert_int_equal(mrc_ops.deadline(s->e, ALL_FREE), NSEC_NEVER);
	check_balance(s);
}

/* Only data is ever trimmed: a changed DSCP must not switch off the check of anything else. */
static void trimmed_control(void **state)
{
	static const size_t but[] = {COUNTER(drop_malformed), 0};

	(void)state;
	born();
	for (uint32_t opcode = 0xc0; opcode < 0xe0; opcode++) {
		struct crafted *c = data(EXPECTED);

		if (mrc_opcode_name((uint8_t)opcode))
			c = any((uint8_t)opcode);
		if (mrc_opcode_name((uint8_t)opcode) && has_payload((uint8_t)opcode))
			continue;
		c->bytes[0] = (uint8_t)opcode;
		c->rx.trimmed = NET_TRIMMED;
		check_dropped(c, COUNTER(drop_malformed));
	}
	live_on(but);
}

/* A frame of MRC as it is on the wire. */
struct framed {
	uint8_t bytes[FRAME];
	uint32_t len;
	struct encap_head head;
};

static const uint8_t our_address[16] = {0xfd, 1, [15] = 4};

static enum wire_drop decode(const struct framed *f, struct wire_packet *got)
{
	struct net_cfg cfg = net_cfg_default();

	return wire_packet_get((struct cspan){f->bytes, f->len}, NET_LINK_ETHERNET, &cfg, got, NULL)
		.why;
}

static void close_frame(struct framed *f)
{
	struct wire_packet got;

	assert_int_equal(decode(f, &got), WIRE_DROP_ICRC);
	icrc_put(f->bytes + got.seal_at, got.crc_right);
}

/* A write to us behind so many segments, the first of which may be our address as well. */
static struct framed frame_of(uint8_t segments)
{
	struct encap_ends ends = {.src = {0xfd, 1, [15] = 3}, .dport = 4791, .hop_limit = 64};
	struct encap_segments list = {.n = segments, .at = {{0xfd, 1, [15] = 4}, {0xfc, 2}}};
	const struct crafted *c = data(EXPECTED);
	struct encap_packet p = {.ev = EV, .transport_bytes = c->len + 4, .ecn = 2};
	struct framed f = {.len = 0};

	memcpy(ends.dst, our_address, sizeof ends.dst);
	encap_make(&f.head, &ends, &list);
	encap_write(&f.head, &p, f.bytes);
	memcpy(f.bytes + f.head.len, c->bytes, c->len);
	f.len = f.head.len + c->len + icrc_bytes;
	close_frame(&f);
	return f;
}

/* What a driver does with a frame: the subject gets it if it is whole, and inside it is for us. */
static bool arrive(const struct framed *f)
{
	struct wire_packet got;

	if (decode(f, &got) != WIRE_DROP_NONE)
		return false;
	const struct net_ip *ip = &got.net.ip[got.net.n_ip - 1];
	struct rx_pkt rx = {.peer = PEER,
			    .local = LOCAL,
			    .ev = net_entropy(&got.net),
			    .ecn = net_ecn(&got.net),
			    .udp_len = got.net.udp.length,
			    .trimmed = (uint8_t)got.net.trim};
	uint32_t len = got.seal_at - got.net.transport;

	assert_int_equal(got.family, WIRE_MRC);
	if (memcmp(ip->v6.dst, our_address, sizeof our_address) != 0)
		return false;
	end_input(&d.end[SUBJECT], d.now, rx, f->bytes + got.net.transport, len, len);
	return true;
}

/* The frames of this file are good ones before they are spoiled. */
static void frames_are_taken(void **state)
{
	(void)state;
	for (uint8_t segments = 0; segments < 3; segments++) {
		struct framed f;

		born();
		f = frame_of(segments);
		assert_true(arrive(&f));
		assert_int_equal(counts(&d.end[SUBJECT])->rx_data, 5);
	}
}

/* Every bit of the transport and of the inner addresses (M-25), but for those of the base transport
 * header that routers may change. */
static void bad_icrc(void **state)
{
	static const size_t nothing[] = {0};

	(void)state;
	born();
	for (uint8_t segments = 0; segments < 3; segments++) {
		struct framed f = frame_of(segments);
		uint32_t addresses = f.head.inner_at + 8u;

		for (uint32_t at = addresses; at < f.len; at++)
			for (uint32_t bit = 0; bit < 8 && at != f.head.len + 4u; bit++) {
				bool is_udp = at >= f.head.front_at && at < f.head.len;

				f.bytes[at] ^= (uint8_t)(1u << bit);
				if (!is_udp)
					assert_false(arrive(&f));
				f.bytes[at] ^= (uint8_t)(1u << bit);
			}
	}
	check_same(nothing);
	live_on(nothing);
}

/* Good frames, outside for us, whose inner destination is another. */
static void inner_destination_not_ours(void **state)
{
	static const size_t nothing[] = {0};

	(void)state;
	born();
	for (uint8_t segments = 0; segments < 3; segments++)
		for (uint32_t bit = 0; bit < 128; bit++) {
			struct framed f = frame_of(segments);
			struct wire_packet got;

			f.bytes[f.head.inner_at + 24u + bit / 8] ^= (uint8_t)(1u << bit % 8);
			close_frame(&f);
			assert_int_equal(decode(&f, &got), WIRE_DROP_NONE);
			assert_false(arrive(&f));
		}
	check_same(nothing);
	live_on(nothing);
}

/* A segment routing header that says more segments are left than its list has. */
static void segments_left_beyond_list(void **state)
{
	static const size_t nothing[] = {0};

	(void)state;
	born();
	for (uint32_t left = 2; left < 256; left++) {
		struct framed f = frame_of(2);
		struct wire_packet got;

		f.bytes[f.head.outer_at + 40u + 3] = (uint8_t)left;
		assert_int_equal(decode(&f, &got), WIRE_DROP_SRH_LEFT);
		assert_false(arrive(&f));
	}
	check_same(nothing);
	live_on(nothing);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(empty),
	cmocka_unit_test(one_byte),
	cmocka_unit_test(every_truncation),
	cmocka_unit_test(wrong_lengths),
	cmocka_unit_test(wrong_destination),
	cmocka_unit_test(wrong_version),
	cmocka_unit_test(unknown_opcode),
	cmocka_unit_test(read_send_atomic),
	cmocka_unit_test(reserved_bits),
	cmocka_unit_test(qp_unknown),
	cmocka_unit_test(endpoint_and_pair),
	cmocka_unit_test(qp_in_reset),
	cmocka_unit_test(qp_in_init),
	cmocka_unit_test(answer_in_rtr),
	cmocka_unit_test(qp_just_destroyed),
	cmocka_unit_test(trimmed_control),
	cmocka_unit_test(frames_are_taken),
	cmocka_unit_test(bad_icrc),
	cmocka_unit_test(inner_destination_not_ours),
	cmocka_unit_test(segments_left_beyond_list),
};
CHECK_MAIN(cases)
