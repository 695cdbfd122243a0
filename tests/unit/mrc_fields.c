/* Numbers and identifiers in the packets that an engine sends, in all of their bits: other tests
 * have small ones, which fit fields that are cut short as well. */
#include "mrc_peer.h"

/* Own and remote numbers of queue pairs, both of 24 bits. */
static const struct {
	uint32_t ours, remote;
} numbers[] = {
	{0x018000, 0xa47fff}, {0x5b7fff, 0xc98000}, {0xfffffe, 0x01ffff}, {0x010000, 0x020000}};

#define N_NUMBERS (sizeof numbers / sizeof numbers[0])

static void take_numbers(uint32_t k)
{
	w.end[0].qp[0].number = w.end[1].qp[0].attr.remote_qp = numbers[k].ours;
	w.end[1].qp[0].number = w.end[0].qp[0].attr.remote_qp = numbers[k].remote;
}

/* The first data packet is cut. */
static void cut_first(uint32_t from, const struct end_pkt *p, struct fate *fate)
{
	if (is_data(p->h.bth.opcode) && w.n_new[from] == 1 && !p->h.bth.rtx)
		fate->trimmed = NET_TRIMMED;
}

/* Table 7-6, notes 4 and 5, with M-09: the low 16 bits of who sends and of who is meant. */
static void contexts_of_answers(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < N_NUMBERS; k++) {
		struct work work = {.cookie = 1, .len = 5000, .code = ENGINE_WRITE};

		start(k);
		take_numbers(k);
		join();
		w.script = cut_first;
		post(work);
		run();
		expect_sent(&work, ENGINE_OK);
		const struct sighting *s = seen(1, MRC_OP_SACK, 0), *n = seen(1, MRC_OP_NACK, 0);

		assert_int_equal(s->h.bth.dest_qp, numbers[k].ours);
		assert_int_equal(s->h.seth.spdcid, numbers[k].remote & 0xffff);
		assert_int_equal(s->h.seth.dpdcid, numbers[k].ours & 0xffff);
		assert_int_equal(n->h.bth.dest_qp, numbers[k].ours);
		assert_int_equal(n->h.neth.spdcid, numbers[k].remote & 0xffff);
		assert_int_equal(n->h.neth.dpdcid, numbers[k].ours & 0xffff);
		check_ends();
	}
}

/* A packet is out, and nothing is learnt of it: the requestor asks, with the identifier behind
 * `last`. */
static const struct mrc_pkt *probe_after(uint16_t last)
{
	post_packets(1);
	pull_all();
	w.now += 40000;
	sack_all(0);
	ack(0);
	post_packets(1);
	pull_all();
	q->req.probe_id = last;
	for (uint32_t i = 0; pull() == 0; i++) {
		assert_true(i < 10000);
		w.now += 1000;
	}
	assert_int_equal(w.end[0].out[0].h.bth.opcode, MRC_OP_PROBE_REQUEST);
	return &w.end[0].out[0].h;
}

static void contexts_of_probes(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < N_NUMBERS; k++) {
		begin();
		take_numbers(k);
		connect();
		const struct mrc_pkt *h = probe_after(0);

		assert_int_equal(h->bth.dest_qp, numbers[k].remote);
		assert_int_equal(h->peth.spdcid, numbers[k].ours & 0xffff);
		assert_int_equal(h->peth.dpdcid, numbers[k].remote & 0xffff);
	}
}

/* 7.4.6: an answer with any other bit is not the answer to this probe, and the next probe is
 * another one. */
static void identifiers_of_probes(void **state)
{
	static const uint16_t last[] = {0x00fe, 0x00ff, 0x7fff, 0x80ff, 0xfffe, 0xffff};

	(void)state;
	for (uint32_t k = 0; k < sizeof last / sizeof last[0]; k++) {
		begin();
		connect();
		uint16_t id = probe_after(last[k])->peth.probe_id;

		assert_int_equal(id, (uint16_t)(last[k] + 1));
		w.now += 40000;
		for (uint32_t bit = 0; bit < 16; bit++) {
			SACK(.cack = 1, .from = 1, .is_probed = true,
			     .probe_id = (uint16_t)(id ^ 1u << bit));
			assert_int_equal(COUNT(drop_unasked), bit + 1);
			assert_int_equal(q->req.sent.una, 1);
		}
		SACK(.cack = 1, .from = 1, .is_probed = true, .probe_id = id);
		assert_int_equal(q->req.sent.una, 2);
	}
}

/* MRC-7.4.7-01, and the same of port status: an endpoint response has all 16 bits of what it
 * answers, and PSN[23:16] is not part of it. */
static void identifiers_of_endpoints(void **state)
{
	(void)state;
	start(1);
	join();
	for (uint32_t k = 0; k < 2 * 18; k++) {
		uint32_t id = k / 2 < 16 ? 1u << k / 2 : k / 2 == 16 ? 0xa5c3 : 0xffff;
		struct mrc_pkt h = {
			.bth = {.opcode = MRC_OP_ENDPOINT_REQUEST,
				.dest_qp = MRC_ENDPOINT_QP,
				.psn = id | 0x5a0000},
			.erth = {.op = k % 2 ? MRC_ENDPOINT_EV_PROBE : MRC_ENDPOINT_PORT_STATUS,
				 .port_status_mask = 2},
		};

		inject(1, &h);
		assert_int_equal(end_pull(&w.end[1], w.now, wide, 2), 1);
		assert_int_equal(w.end[1].out[0].h.bth.opcode, MRC_OP_ENDPOINT_RESPONSE);
		assert_int_equal(w.end[1].out[0].h.bth.psn, id);
		assert_int_equal(w.end[1].out[0].h.eeth.op, h.erth.op);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(contexts_of_answers),
	cmocka_unit_test(contexts_of_probes),
	cmocka_unit_test(identifiers_of_probes),
	cmocka_unit_test(identifiers_of_endpoints),
};

CHECK_MAIN(cases)
