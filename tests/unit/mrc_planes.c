/* MRC and its planes: what is out by a port that dies, and who is told of ports, and when. */
#include "mrc_evs.h"

#define PLANES       2u
#define OUT_PKTS     500u /* packets sent at most */
#define PEER_PORT_NS UINT64_C(10000000)

static nsec comes_at[OUT_PKTS]; /* at the peer; 0: not on its way */
static bool is_here[OUT_PKTS];

/* Data that left by port 0 comes half a round trip later, that by port 1 never. */
static void note_gone(bool has_second_plane)
{
	for (uint32_t i = 0; i < n_gone; i++) {
		uint32_t n = psn24_of(gone[i].h.bth.psn - SQ_PSN).v;

		if (is_data(gone[i].h.bth.opcode) && (gone[i].port == 0 || has_second_plane))
			comes_at[n] = w.now + RTT;
	}
}

/* The answers to what came: each tells of all that is here. */
static void answer_all(void)
{
	for (uint32_t n = 0; n < OUT_PKTS; n++) {
		uint64_t cack = q->req.sent.una - 1, map = 0;
		uint32_t ooo = 0;

		if (comes_at[n] == 0 || comes_at[n] > w.now || is_here[n])
			continue;
		is_here[n] = true;
		while (cack + 1 < OUT_PKTS && is_here[cack + 1])
			cack++;
		for (uint64_t i = cack + 1; i < OUT_PKTS; i++) {
			ooo += is_here[i];
			if (i - cack - 1 < 64)
				map |= (uint64_t)is_here[i] << (i - cack - 1);
		}
		SACK(.cack = (int64_t)cack, .from = (int64_t)cack + 1, .map = map, .acked = n,
		     .ooo = ooo);
	}
}

/* Some losses, and nothing that arrives, are enough to know: what else is out by that port is
 * retransmitted at once, by the others, and no timeout is waited for. */
static void what_is_out_by_a_dead_port_is_retransmitted(void **state)
{
	uint32_t out = 0;

	(void)state;
	memset(comes_at, 0, sizeof comes_at);
	memset(is_here, 0, sizeof is_here);
	begin_evs(PLANES);
	warm();
	is_here[0] = true;
	for (uint32_t i = 1; i < OUT_PKTS && fare().open_ports == 3; i++) {
		out = 0;
		for (uint64_t n = q->req.sent.una; n < q->req.sent.next; n++)
			out += q->attr.evs->set.evs[ev_taken(n)].port == 1 && !is_here[n];
		w.now += 1000;
		post_packets(1);
		gather();
		note_gone(i < 50);
		answer_all();
	}
	assert_int_equal(fare().open_ports, 1);
	/* What left in the last round trip by that port, but for what was found to be lost. */
	assert_in_range(COUNT(lost_port), 10, out);
	assert_int_equal(COUNT(lost_timeout), 0);
	gather();
	assert_int_equal(q->req.sent.n_lost, 0);
	assert_true(COUNT(tx_retx) >= COUNT(lost_port));
	for (uint64_t n = q->req.sent.una; n < q->req.sent.next; n++)
		assert_true(is_here[n] || q->attr.evs->set.evs[ev_taken(n)].port == 0);
}

/* An answer that shows a part of what is out is followed by the next probe at once; one that shows
 * all of it is not. */
static void probes_follow_each_other(void **state)
{
	(void)state;
	for (uint32_t is_all = 0; is_all < 2; is_all++) {
		uint32_t steps = 0, n = 0;

		begin_evs(1);
		w.end[0].qp[0].attr.flags = MRC_OBLIVIOUS;
		warm();
		send_each(140);
		/* It counts those behind a gap. */
		SACK(.cack = 0, .from = 0, .acked = 0, .ooo = 1);
		while (COUNT(tx_probe) == 0 && ++steps < 1000) {
			w.now += 1000;
			gather();
		}
		assert_int_equal(COUNT(tx_probe), 1);
		w.now += RTT;
		while (n < 10) {
			uint64_t before = COUNT(tx_probe);

			/* 100 came, somewhere; or none did. */
			SACK(.cack = 0, .from = 1, .is_probed = true, .probe_id = q->req.probe_id,
			     .ooo = is_all ? 0 : 100);
			gather();
			if (COUNT(tx_probe) == before)
				break;
			n++;
		}
		/* One for each 64 that are out. */
		assert_int_equal(n, is_all ? 0 : 2);
	}
}

/* A peer that said it has a port down may have forgotten that, or its word was not its own: it
 * is asked by that port now and then, and an answer opens it. */
static void a_peer_port_down_is_asked_for(void **state)
{
	(void)state;
	begin_evs(PLANES);
	warm();
	report_ports(1);
	assert_int_equal(fare().open_ports, 1);
	/* Not while there is nothing to send. */
	w.now += 2 * PEER_PORT_NS;
	gather();
	assert_int_equal(n_probes(), 0);
	post_packets(1);
	gather();
	w.now += 1000;
	gather();
	assert_int_equal(n_probes(), 1);
	assert_int_equal(gone[0].port, 1);
	assert_int_equal(gone[0].h.bth.opcode, MRC_OP_PROBE_REQUEST);
	respond();
	assert_int_equal(fare().open_ports, 3);
}

/* What came by a port that is down is not answered: the peer would take it for up. */
static void by_a_port_that_is_down_nobody_answers(void **state)
{
	struct mrc_pkt h = {
		.bth = {.opcode = MRC_OP_ENDPOINT_REQUEST, .dest_qp = MRC_ENDPOINT_QP},
		.erth = {.op = MRC_ENDPOINT_EV_PROBE},
	};

	(void)state;
	begin_evs(PLANES);
	warm();
	mrc_ports_down(w.end[0].e, w.now, 2);
	for (uint8_t port = 0; port < PLANES; port++)
		inject_as(0, &h, (struct rx_pkt){.peer = PEER, .local = LOCAL, .port = port});
	assert_int_equal(COUNT(rx_endpoint), 1);
	assert_int_equal(COUNT(drop_state), 1);
}

/* The queue pair that carries the update ends: another with that peer tells it. */
static void an_update_outlives_its_queue_pair(void **state)
{
	uint32_t n = 0;

	(void)state;
	begin_evs(2);
	w.end[0].n_qps = 2;
	connect();
	mrc_ports_down(w.end[0].e, w.now, 2);
	gather();
	assert_int_equal(n_requests(MRC_ENDPOINT_PORT_STATUS), 1);
	for (uint32_t i = 0; i < 2; i++) {
		struct mrc_attr attr = {.state = MRC_RESET};

		if (list_is_empty(&pair_of(0, i)->req.own_probes))
			continue;
		assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, w.end[0].qp[i].number, &attr,
					       MRC_SET_STATE),
				 0);
		break;
	}
	for (uint32_t i = 0; i < 100; i++) {
		w.now += 1000000;
		n += end_pull(&w.end[0], w.now, wide, END_BATCH);
	}
	assert_true(n > 0);
}

/* More peers than own places: those beyond are told when there is room. */
static void many_peers_are_told(void **state)
{
	uint32_t peers = 0;

	(void)state;
	begin_evs(2);
	w.end[0].cfg.max_probes = 4;
	w.end[0].n_qps = 4;
	for (uint32_t i = 0; i < 4; i++)
		w.end[0].qp[i].attr.peer = PEER + i;
	connect();
	mrc_ports_down(w.end[0].e, w.now, 2);
	for (uint32_t k = 0; k < 1000; k++) {
		gather();
		for (uint32_t i = 0; i < n_gone; i++)
			peers |= 1u << (gone[i].peer - PEER);
		respond();
		w.now += 100000;
	}
	assert_int_equal(peers, 15);
}

/* A peer that is met while a port is down is told of it. */
static void a_new_peer_is_told(void **state)
{
	(void)state;
	begin_evs(2);
	connect();
	mrc_ports_down(w.end[0].e, w.now, 2);
	gather();
	respond();
	w.end[0].n_qps = 2;
	w.end[0].qp[1].attr.peer = PEER + 1;
	w.end[0].qp[1].attr.mpr_dest = 8;
	end_add_qp(&w.end[0], 1);
	end_rise(&w.end[0], w.now, 1, MRC_RTS);
	w.now += 1000000;
	gather();
	assert_int_equal(n_requests(MRC_ENDPOINT_PORT_STATUS), 1);
}

/* Probes that never left, for want of a place, say nothing of their port. */
static void what_was_not_asked_is_no_evidence(void **state)
{
	struct mrc_endpoint r = {
		.peer = PEER, .local = LOCAL, .ev = {.value = 1}, .op = MRC_ENDPOINT_EV_PROBE};

	(void)state;
	begin_evs(2);
	w.end[0].cfg.max_probes = 2;
	warm();
	assert_int_equal(mrc_endpoint_post(w.end[0].e, w.now, &r), 0);
	assert_int_equal(mrc_endpoint_post(w.end[0].e, w.now, &r), 0);
	lose_by_gap();
	for (uint32_t i = 0; i < 400; i++) {
		w.now += 1000;
		gather();
	}
	assert_int_equal(fare().open_ports, 3);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(what_is_out_by_a_dead_port_is_retransmitted),
	cmocka_unit_test(probes_follow_each_other),
	cmocka_unit_test(a_peer_port_down_is_asked_for),
	cmocka_unit_test(by_a_port_that_is_down_nobody_answers),
	cmocka_unit_test(an_update_outlives_its_queue_pair),
	cmocka_unit_test(many_peers_are_told),
	cmocka_unit_test(a_new_peer_is_told),
	cmocka_unit_test(what_was_not_asked_is_no_evidence),
};

CHECK_MAIN(cases)
