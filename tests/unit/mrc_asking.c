/* What the engine asks for itself keeps to what was denied, to the class of data, and to the peer
 * that it is for. */
#include "mrc_evs.h"

/* The peer says that port 0 alone is up. */
static void begin_peer_port_down(void)
{
	begin_evs(2);
	warm();
	report_ports(1);
	assert_int_equal(fare().open_ports, 1);
}

/* How many probes leave by port 1 in a while, and how many of them on this EV. */
static uint32_t probes_by_port_1(uint32_t ev, uint32_t *on_it)
{
	uint32_t n = 0;

	*on_it = 0;
	post_packets(1);
	for (uint32_t k = 0; k < 10; k++) {
		w.now += MRC_PEER_PORT_NS;
		gather();
		for (uint32_t i = 0; i < n_gone; i++) {
			bool is_probe = gone[i].h.bth.opcode == MRC_OP_PROBE_REQUEST;

			n += is_probe && gone[i].port == 1;
			*on_it += is_probe && gone[i].ev_number == ev;
		}
	}
	return n;
}

/* 9.3.2.1: whether the port is up again is not asked by what is denied, or down. */
static void a_peer_port_down_is_asked_for_where_it_may_be(void **state)
{
	struct mrc_attr attr = {.denied_ports = 2};
	uint32_t on_it, first;

	(void)state;
	begin_peer_port_down();
	first = q->attr.evs->first[1];
	assert_true(probes_by_port_1(first, &on_it) > 0);
	assert_true(on_it > 0);
	begin_peer_port_down();
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, first, true), 0);
	assert_true(probes_by_port_1(first, &on_it) > 0);
	assert_int_equal(on_it, 0);
	begin_peer_port_down();
	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, OURS, &attr, MRC_SET_DENIED_PORTS), 0);
	assert_int_equal(probes_by_port_1(first, &on_it), 0);
	begin_peer_port_down();
	mrc_ports_down(w.end[0].e, w.now, 2);
	assert_int_equal(probes_by_port_1(first, &on_it), 0);
}

/* 7.5.5.1: an EV is judged in the queues that its data takes. */
static void probes_of_evs_have_the_class_of_data(void **state)
{
	uint32_t n = 0;

	(void)state;
	begin_evs(1);
	warm();
	q->attr.tclass[ENGINE_DATA] = ENGINE_DSCP + 40;
	assert_int_equal(mrc_qp_judge(w.end[0].e, w.now, OURS, 3, true), 0);
	post_packets(1);
	for (uint32_t k = 0; k < 20; k++) {
		w.now += 5000;
		gather();
		for (uint32_t i = 0; i < n_gone; i++) {
			assert_int_equal(gone[i].tclass, ENGINE_DSCP + 40);
			n += gone[i].h.bth.opcode == MRC_OP_PROBE_REQUEST && gone[i].ev_number == 3;
		}
	}
	assert_true(n > 0);
}

/* Who tells a peer of our ports goes to another: someone else of those with the peer tells it. */
static void a_peer_is_told_when_its_teller_leaves(void **state)
{
	struct mrc_attr drain = {.state = MRC_SQD};
	uint32_t n_reported = 0;

	(void)state;
	begin_evs(2);
	w.end[0].n_qps = 2;
	connect();
	mrc_ports_down(w.end[0].e, w.now, 2);
	gather();
	assert_int_equal(n_requests(MRC_ENDPOINT_PORT_STATUS), 1);
	const struct mrc_qp *reporter = pair_of(0, 0);

	if (list_is_empty(&reporter->req.own_probes))
		reporter = pair_of(0, 1);
	struct mrc_attr attr = reporter->attr;

	attr.peer = PEER + 77;
	assert_int_equal(
		mrc_qp_modify(w.end[0].e, w.now, reporter->id.number, &drain, MRC_SET_STATE), 0);
	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, reporter->id.number, &attr, MRC_SET_PATH),
			 0);
	for (uint32_t k = 0; k < 100; k++) {
		w.now += 1000000;
		gather();
		for (uint32_t i = 0; i < n_gone; i++)
			n_reported += is_request(&gone[i], MRC_ENDPOINT_PORT_STATUS) &&
				      gone[i].peer == PEER;
	}
	assert_true(n_reported > 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_peer_port_down_is_asked_for_where_it_may_be),
	cmocka_unit_test(probes_of_evs_have_the_class_of_data),
	cmocka_unit_test(a_peer_is_told_when_its_teller_leaves),
};

CHECK_MAIN(cases)
