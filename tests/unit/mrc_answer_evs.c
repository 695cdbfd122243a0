/* The EVs of MRC's answers: which one they tell of, and which they take (7.5.2.1). */
#include "frame.h"
#include "mrc_responder.h"

/* The field tells the EV of the packet that caused the answer (MRC-7.5.2.1-01), the answer takes
 * EVs of its own. */
static void entropy_comes_back(void **state)
{
	static const uint32_t evs[] = {0, 1, 0xffffffff, 0x80000000, 0x0000c0de, 0xc0de0000};

	(void)state;
	start();
	for (uint32_t i = 0; i < sizeof evs / sizeof evs[0]; i++) {
		w.rx.ev = evs[i];
		ask(i);
		expect_sack(i + 1, i, 1);
		assert_int_equal(w.got.seth.entropy, evs[i]);
		expect_ack(i + 1, i + 1);
	}
}

/* A write of 8 bytes that asks, in a frame whose sender has the EV 0xc0015678; as a driver reads
 * that, perhaps behind a switch that cut it. */
static void arrive_in_frame(uint8_t ip_version, bool is_trimmed)
{
	static struct frame f;
	struct frame_spec spec = {.ip_version = ip_version, .sport = 0xc001, .flow_label = 0x5678};
	struct net_cfg cfg = net_cfg_of(NET_ROCE_PORT, 18, 20);
	struct mrc_pkt h = request(MRC_OP_WRITE_ONLY, 0);
	uint8_t head[ENGINE_HEAD_MAX], body[8] = {0};
	struct net_pkt net;

	h.reth.dmalen = sizeof body;
	h.bth.ack_req = 1;
	uint32_t len = mrc_head_put(&h, (struct span){head, sizeof head});

	frame_build(&f, &spec, (struct cspan){head, len}, (struct cspan){body, sizeof body});
	if (is_trimmed)
		frame_trim(&f, 18, udp_bytes + len);
	struct cspan frame = {f.bytes, f.len};

	assert_int_equal(net_get(frame, NET_LINK_ETHERNET, &cfg, &net, NULL).why, WIRE_DROP_NONE);
	assert_int_equal(net.trim, is_trimmed ? NET_TRIMMED : NET_WHOLE);
	w.rx.ev = net_entropy(&net);
	w.rx.trimmed = (uint8_t)net.trim;
	w.rx.head = (struct cspan){f.bytes + net.transport, len};
	w.rx.body[0] = (struct cspan){f.bytes + net.transport + len, is_trimmed ? 0 : sizeof body};
	w.rx.at = w.now;
	mrc_ops.input(w.e, w.now, &w.rx, 1);
}

/* MRC-7.5.2.1-02: IPv4 has no flow label, and what an answer says of it is 0. */
static void entropy_without_a_flow_label(void **state)
{
	(void)state;
	for (uint8_t version = 4; version <= 6; version += 2) {
		uint32_t ev = version == 4 ? 0xc0010000 : 0xc0015678;

		start();
		arrive_in_frame(version, false);
		expect_sack(1, 0, 1);
		assert_int_equal(w.got.seth.entropy, ev);
		defaults();
		w.cfg.has_trim_nack = true;
		open_engine();
		arrive_in_frame(version, true);
		assert_true(pull());
		assert_int_equal(w.got.bth.opcode, MRC_OP_NACK);
		assert_int_equal(w.got.neth.entropy, ev);
	}
}

/* The peer says that it should not be sent anything with this entropy. */
static void reported_to_avoid(uint32_t ev)
{
	deliver((struct mrc_pkt){.bth = {.opcode = MRC_OP_SACK, .dest_qp = NUMBER},
				 .seth = {.m = MRC_MARK_ALWAYS_SKIP,
					  .entropy = ev,
					  .cack_psn = w.attr.sq_psn - 1,
					  .cc_type = MRC_CC_TYPE_NSCC}},
		0);
}

/* How many of 30 answers take each EV. */
static void count_answers(uint32_t n_on[N_EVS])
{
	memset(n_on, 0, N_EVS * sizeof *n_on);
	for (uint16_t i = 0; i < 30; i++) {
		probe(i);
		w.now += MRC_RX_PORT_NS;
		assert_true(pull());
		n_on[w.tx.ev & 3]++;
	}
}

/* Answers are for the same peer as requests, and leave out what is bad for those (MRC-7.5.2.1-03);
 * where requests have no EV at all, what is denied; and where everything is they go all the same.
 */
static void answers_shun_bad_evs(void **state)
{
	uint32_t n_on[N_EVS];

	(void)state;
	start();
	to_rts();
	reported_to_avoid(w.evs[0].value);
	assert_int_equal(path_state(&w.q->req.path, 0), PATH_ASSUMED_BAD);
	count_answers(n_on);
	assert_int_equal(n_on[0], 0);
	assert_int_equal(n_on[1], 15);
	assert_int_equal(n_on[2], 15);
	/* No port is for requests. */
	w.attr.denied_ports = 3;
	assert_int_equal(modify(MRC_RTS, MRC_SET_DENIED_PORTS), 0);
	assert_int_equal(mrc_qp_deny(w.e, w.now, NUMBER, 2, true), 0);
	assert_int_equal(path_ports(&w.q->req.path), 0);
	count_answers(n_on);
	assert_int_equal(n_on[w.set.profile.set.evs[2].value & 3], 0);
	assert_int_equal(n_on[0], 15);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(mrc_qp_deny(w.e, w.now, NUMBER, i, true), 0);
	count_answers(n_on);
	assert_int_equal(n_on[0] + n_on[1] + n_on[2], 30);
}

/* Answers walk over the EVs evenly, among the ports that have room; without any they wait. */
static void evs_of_answers(void **state)
{
	uint32_t n_on[N_EVS] = {0};

	(void)state;
	start();
	/* By other ports than the one that brought the packet only when that is long ago. */
	for (uint16_t i = 0; i < 30; i++) {
		probe(i);
		w.now += MRC_RX_PORT_NS;
		assert_true(pull());
		n_on[w.tx.ev & 3]++;
	}
	for (uint32_t i = 0; i < N_EVS; i++)
		assert_int_equal(n_on[i], 10);
	for (uint16_t i = 0; i < 20; i++) {
		probe(i);
		w.now += MRC_RX_PORT_NS;
		assert_false(pull_on(0, 0));
		assert_true(mrc_ops.deadline(w.e, engine_may_all(3)) <= w.now);
		assert_true(i % 2 ? pull_on(0, 1) : pull_on(1, 0));
		assert_int_equal(w.tx.port, i % 2);
		assert_int_equal(w.got.seth.ack_psn_offset, i);
	}
	expect_none();
	assert_true(mrc_ops.deadline(w.e, engine_may_all(3)) > w.now);
}

/* One EV only, and its port is shut. */
static void no_ev_is_free(void **state)
{
	(void)state;
	defaults();
	evs_make(&w.set, &w.evs[1], 1);
	open_engine();
	ask(0);
	assert_false(pull_on(8, 0));
	assert_int_equal(mrc_usage(w.e).answers, 1);
	assert_true(mrc_ops.deadline(w.e, engine_may_all(1)) > w.now);
	assert_true(mrc_ops.deadline(w.e, engine_may_all(2)) <= w.now);
	expect_sack(1, 0, 1);
	expect_ack(1, 1);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(entropy_comes_back),   cmocka_unit_test(entropy_without_a_flow_label),
	cmocka_unit_test(answers_shun_bad_evs), cmocka_unit_test(evs_of_answers),
	cmocka_unit_test(no_ev_is_free),
};

CHECK_MAIN(cases)
