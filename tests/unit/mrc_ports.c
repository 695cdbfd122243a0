/* Ports that go down and come up, ours and the peer's (MRC 7.4.8, 9.3.2): what leaves by which, who
 * is told, and that work goes on when one opens. */
#include "mrc_evs.h"

#define ROUNDS 400u

static void ports_down(uint32_t side, uint32_t ports)
{
	mrc_ports_down(w.end[side].e, w.now, ports);
}

/* Turns are counted by the ports by which their queue pairs may leave. */
static void check_turns_of(uint32_t side, const struct mrc_turns *t, bool is_answer)
{
	uint32_t n_on[ENGINE_PORTS] = {0};

	for (uint32_t i = 0; i < w.end[side].n_qps; i++) {
		const struct mrc_qp *p = pair_of(side, i);

		if (!list_is_linked(is_answer ? &p->answer_link : &p->send_link))
			continue;
		uint32_t ports = mrc_ports_of(engine_of(side), p, is_answer);

		for (uint32_t port = 0; port < ENGINE_PORTS; port++)
			n_on[port] += ports >> port & 1;
	}
	for (uint32_t port = 0; port < ENGINE_PORTS; port++)
		assert_int_equal(t->n_on[port], n_on[port]);
}

static void check_turns(uint32_t side)
{
	check_turns_of(side, &engine_of(side)->sending, false);
	check_turns_of(side, &engine_of(side)->answering, true);
}

/* Two ends with two queue pairs, four EVs behind each of two ports. */
static void begin_both(void)
{
	begin_evs(2);
	w.is_held[1] = false;
	w.end[1].cfg.n_ports = 2;
	w.end[0].n_qps = w.end[1].n_qps = 2;
	for (uint32_t i = 0; i < END_QPS; i++) {
		w.end[1].qp[i].attr.sq_psn = SQ_PSN;
		w.end[1].qp[i].attr.timeout = LONG_TIMEOUT;
		w.end[1].qp[i].caps.max_mpr = 255;
	}
	connect();
}

static void post_from(uint32_t side, uint32_t qp, uint32_t n_pkts)
{
	post((struct work){.side = (uint8_t)side,
			   .qp = qp,
			   .cookie = next_cookie(),
			   .len = n_pkts * PMTU,
			   .code = ENGINE_WRITE});
}

/* Eight works, four from each end, all of which succeed; returns the place in the log where they
 * began. */
static uint32_t exchange(void)
{
	uint32_t from = w.n_log, n = 0;
	struct done done;

	for (uint32_t i = 0; i < 8; i++)
		post_from(i % 2, i / 2 % 2, 32);
	run();
	for (uint32_t i = 0; i < 2; i++)
		for (; end_poll(&w.end[i], &done); n++)
			assert_int_equal(done.status, ENGINE_OK);
	assert_int_equal(n, 8);
	return from;
}

/* The ports by which an end's packets of queue pairs left, from a place in the log on. */
static uint32_t ports_taken(uint32_t side, uint32_t from, bool is_answer)
{
	uint32_t ports = 0;

	for (uint32_t i = from; i < w.n_log; i++) {
		uint8_t opcode = w.log[i].h.bth.opcode;

		if (w.log[i].from == side && !is_endpoint(opcode) && is_answer != is_data(opcode))
			ports |= 1u << w.log[i].port;
	}
	return ports;
}

/* The updates that an end sent, and what the last one said. */
static uint32_t updates_of(uint32_t side, uint32_t *mask)
{
	uint32_t n = n_seen(side, MRC_OP_ENDPOINT_REQUEST);

	if (n > 0) {
		const struct sighting *s = seen(side, MRC_OP_ENDPOINT_REQUEST, n - 1);

		assert_int_equal(s->h.erth.op, MRC_ENDPOINT_PORT_STATUS);
		assert_int_equal(s->tclass, ENGINE_CONTROL);
		*mask = s->h.erth.port_status_mask >> 1;
	}
	return n;
}

static void lose_port_0(uint32_t from, const struct end_pkt *p, struct fate *fate)
{
	(void)from;
	fate->is_lost = p->tx.port == 0;
}

static void a_port_that_is_down_is_told_and_not_used(void **state)
{
	uint32_t mask = 0, from;

	(void)state;
	begin_both();
	from = exchange();
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(ports_taken(i / 2, from, i % 2), 3);
	ports_down(0, 1);
	w.script = lose_port_0;
	/* Both queue pairs have the same peer: it is told once. */
	from = w.n_log;
	run();
	assert_int_equal(updates_of(0, &mask), 1);
	assert_int_equal(mask, 2);
	assert_int_equal(w.log[from].port, 1);
	from = exchange();
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(ports_taken(i / 2, from, i % 2), 2);
	/* No news is no news. */
	ports_down(0, 1);
	run();
	assert_int_equal(updates_of(0, &mask), 1);
	w.script = NULL;
	ports_down(0, 0);
	run();
	assert_int_equal(updates_of(0, &mask), 2);
	assert_int_equal(mask, 3);
	from = exchange();
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(ports_taken(i / 2, from, i % 2), 3);
	assert_int_equal(updates_of(1, &mask), 0);
	assert_int_equal(mrc_usage(w.end[0].e).probes, 0);
	/* The caller learns of the peer's ports, not of our own updates. */
	struct mrc_endpoint_done done;

	assert_int_equal(mrc_endpoint_poll(w.end[0].e, &done, 1), 0);
	assert_int_equal(mrc_endpoint_poll(w.end[1].e, &done, 1), 1);
	assert_int_equal(done.port_status, 3);
}

static void lose_endpoint(uint32_t from, const struct end_pkt *p, struct fate *fate)
{
	(void)from;
	fate->is_lost = is_endpoint(p->h.bth.opcode);
}

/* A peer that has not learnt of a port's return would do without it for ever: it is told until it
 * answers, and each time the wait is twice as long. */
static void an_update_is_repeated_until_it_is_answered(void **state)
{
	uint32_t mask = 0, n;

	(void)state;
	begin_both();
	exchange();
	nsec wait = mrc_probe_timeout_ns(pair_of(0, 0));

	w.script = lose_endpoint;
	ports_down(0, 1);
	run_until(w.now + 60 * wait);
	n = updates_of(0, &mask);
	/* 1 + 2 + 4 + 8 + 16 and less than 32 more. */
	assert_in_range(n, 5, 6);
	assert_int_equal(mask, 2);
	/* What is out of date is not repeated. */
	ports_down(0, 0);
	run_until(w.now + 6 * wait);
	assert_in_range(updates_of(0, &mask), n + 2, n + 4);
	assert_int_equal(mask, 3);
	w.script = NULL;
	run();
	n = updates_of(0, &mask);
	assert_int_equal(mask, 3);
	assert_int_equal(mrc_usage(w.end[0].e).probes, 0);
	run_until(w.now + 10000 * wait);
	assert_int_equal(updates_of(0, &mask), n);
}

static void every_peer_is_told(void **state)
{
	uint32_t peers = 0;

	(void)state;
	begin_evs(2);
	w.end[0].n_qps = 4;
	w.end[0].qp[1].attr.peer = PEER + 1;
	w.end[0].qp[3].attr.peer = PEER + 1;
	connect();
	ports_down(0, 2);
	assert_int_equal(gather(), 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(is_request(&gone[i], MRC_ENDPOINT_PORT_STATUS));
		assert_int_equal(gone[i].h.erth.port_status_mask, 1 << 1);
		assert_int_equal(gone[i].port, 0);
		peers |= 1u << (gone[i].peer - PEER);
	}
	assert_int_equal(peers, 3);
}

/* Only what goes to that peer, and only by ports that we have. */
static void a_peers_word_is_about_itself(void **state)
{
	struct mrc_progress p;

	(void)state;
	begin_evs(2);
	w.end[0].n_qps = 2;
	w.end[0].qp[1].attr.peer = PEER + 1;
	connect();
	report_ports(0xfffffffe);
	EXPECT_EVS(.good = 4, .bad = 4);
	assert_int_equal(fare().open_ports, 2);
	assert_int_equal(mrc_qp_progress(w.end[0].e, w.end[0].qp[1].number, &p), 0);
	assert_int_equal(p.open_ports, 3);
	/* Other EVs to it change nothing of that. */
	set_evs(q->attr.evs, 0);
	assert_int_equal(fare().open_ports, 2);
	report_ports(3);
	EXPECT_EVS(.good = 8);
}

/* The ports that the peer was asked by with the last gather. */
static uint32_t ports_asked(void)
{
	uint32_t ports = 0;

	for (uint32_t i = 0; i < n_gone; i++)
		ports |= gone[i].is_probe ? 1u << gone[i].port : 0;
	return ports;
}

/* Who can send in the peer's name can say what it likes of its ports: the peer is asked, and a port
 * is shut where it answers by others alone. Not where it answers, or is silent, or where packets
 * arrive that were sent since. */
static void a_peers_word_is_confirmed(void **state)
{
	static const uint8_t answered[] = {3, 0, 2, 1}, open[] = {3, 3, 3, 1};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		begin_evs(2);
		warm();
		say_ports(1);
		assert_int_equal(fare().open_ports, 3);
		gather();
		assert_int_equal(ports_asked(), 3);
		w.now += RTT;
		answer_by(answered[i]);
		assert_int_equal(fare().open_ports, 3);
		/* Said once more before that is known, it is not asked once more. */
		if (!(answered[i] & 2)) {
			say_ports(3);
			say_ports(1);
			gather();
			assert_int_equal(n_probes(), 0);
		}
		w.now += mrc_probe_timeout_ns(q) + 1000;
		gather();
		assert_int_equal(fare().open_ports, open[i]);
	}
}

static void what_arrives_speaks_for_its_port(void **state)
{
	(void)state;
	for (uint32_t is_before = 0; is_before < 2; is_before++) {
		uint64_t last;

		begin_evs(2);
		warm();
		if (!is_before)
			say_ports(1);
		w.now += 1000;
		post_packets(8);
		gather();
		last = q->req.sent.next - 1;
		w.now += 1000;
		if (is_before) {
			say_ports(1);
			gather();
		}
		w.now += RTT;
		answer_by(1);
		sack_all(last);
		w.now += mrc_probe_timeout_ns(q) + 1000;
		gather();
		assert_int_equal(fare().open_ports, is_before ? 1 : 3);
	}
}

/* All that can go by these ports does; returns those that the peer was asked by. */
static uint32_t ask_by(uint16_t port0, uint16_t port1)
{
	const uint16_t room[ENGINE_PORTS] = {port0, port1};
	uint32_t ports = 0;

	while (end_pull(&w.end[0], w.now, room, END_BATCH) > 0)
		for (uint32_t i = 0; i < w.end[0].n_out; i++)
			if (prober_of(&w.end[0].out[i].h))
				ports |= 1u << w.end[0].out[i].tx.port;
	return ports;
}

/* A question to a port goes by any of its EVs, but by none that is denied meanwhile (9.3.2.1). */
static void a_question_takes_no_ev_that_is_denied(void **state)
{
	uint32_t first, n;

	(void)state;
	for (uint32_t is_all = 0; is_all < 2; is_all++) {
		begin_evs(2);
		warm();
		first = q->attr.evs->first[1];
		n = is_all ? q->attr.evs->first[2] - first : 2;
		say_ports(1);
		assert_int_equal(ask_by(9, 0), 1);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, first + i, true), 0);
		gather();
		assert_int_equal(ports_asked(), is_all ? 0 : 2);
		for (uint32_t i = 0; i < n_gone; i++)
			assert_true(!gone[i].is_probe || gone[i].ev_number == first + n);
	}
}

/* What was not asked, as the port was paused or without a link for long, is asked when it is free;
 * and by the other port again, as an answer of before says nothing of now. */
static void a_question_waits_for_its_port(void **state)
{
	(void)state;
	begin_evs(2);
	warm();
	say_ports(1);
	assert_int_equal(ask_by(9, 0), 1);
	w.now += 20 * mrc_probe_timeout_ns(q);
	assert_int_equal(ask_by(9, 0), 0);
	gather();
	assert_int_equal(ports_asked(), 3);
	assert_int_equal(fare().open_ports, 3);
	w.now += RTT;
	answer_by(1);
	w.now += mrc_probe_timeout_ns(q) + 1000;
	gather();
	assert_int_equal(fare().open_ports, 1);
}

/* Nor is it forgotten where it may not be put, or the queue pair takes other EVs meanwhile. */
static void a_question_is_put_when_it_may(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		begin_evs(2);
		warm();
		if (i == 1)
			deny_ports(2);
		if (i == 2)
			ports_down(0, 2);
		if (i == 3)
			for (uint32_t ev = 0; ev < 8; ev++)
				mrc_qp_deny(w.end[0].e, w.now, OURS, ev, true);
		say_ports(1);
		assert_int_equal(ask_by(9, 0) & 2, 0);
		w.now += 20 * mrc_probe_timeout_ns(q);
		if (i == 0)
			set_evs(q->attr.evs, 0);
		if (i == 1)
			deny_ports(0);
		if (i == 2)
			ports_down(0, 0);
		if (i == 3)
			for (uint32_t ev = 0; ev < 8; ev++)
				mrc_qp_deny(w.end[0].e, w.now, OURS, ev, false);
		gather();
		assert_int_equal(ports_asked() & 2, 2);
	}
}

/* The one of the last gather's that asked by a port. */
static struct gone asked_by(uint32_t port)
{
	uint32_t i = 0;

	while (i < n_gone && !(gone[i].is_probe && gone[i].port == port))
		i++;
	assert_true(i < n_gone);
	return gone[i];
}

static uint32_t open_of(uint32_t qp)
{
	struct mrc_progress p;

	assert_int_equal(mrc_qp_progress(w.end[0].e, w.end[0].qp[qp].number, &p), 0);
	return p.open_ports;
}

/* Whatever it asks for, what was sent by a port and is answered was received there: also when it is
 * answered late, and for all queue pairs with that peer. Not what was sent before. */
static void any_probe_speaks_for_its_port(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		bool is_late = i & 1, is_before = i & 2;
		struct gone control = {0}, probe = {0};
		uint64_t n = 1;

		begin_evs(2);
		w.end[0].n_qps = 2;
		warm();
		post_packets(8);
		gather();
		while (q->attr.evs->set.evs[ev_taken(n)].port != 1)
			n++;
		w.now += 1000;
		for (uint32_t k = 0; k < 2; k++) {
			if (k == is_before) {
				say_ports(1);
				gather();
				control = asked_by(0);
			} else {
				sack_marked(n, MRC_MARK_ALWAYS_SKIP, 0);
				w.now += 1000;
				gather();
				probe = asked_by(1);
			}
			w.now += 1000;
		}
		w.now += RTT;
		answer_probe(&control, MRC_MARK_NONE);
		if (!is_late)
			answer_probe(&probe, MRC_MARK_NONE);
		w.now += mrc_probe_timeout_ns(q) + 1000;
		gather();
		for (uint32_t k = 0; k < 2; k++)
			assert_int_equal(open_of(k), is_late || is_before ? 1 : 3);
		if (is_late)
			answer_probe(&probe, MRC_MARK_NONE);
		for (uint32_t k = 0; k < 2; k++)
			assert_int_equal(open_of(k), is_before ? 1 : 3);
	}
}

/* What one queue pair finds holds for all with that peer, and for those that come later. */
static void one_asks_for_all(void **state)
{
	struct mrc_progress p;

	(void)state;
	begin_evs(2);
	w.end[0].n_qps = 3;
	warm();
	say_ports(1);
	gather();
	assert_int_equal(n_probes(), 2);
	w.now += RTT;
	answer_by(1);
	w.now += mrc_probe_timeout_ns(q) + 1000;
	gather();
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(mrc_qp_progress(w.end[0].e, w.end[0].qp[i].number, &p), 0);
		assert_int_equal(p.open_ports, 1);
	}
}

/* Whoever begins later begins with what is known by then. */
static void a_queue_pair_begins_behind_a_port_that_is_down(void **state)
{
	(void)state;
	begin_evs(2);
	join_to(MRC_RESET);
	ports_down(0, 1);
	end_rise(&w.end[0], w.now, 0, MRC_RTS);
	q = pair_of(0, 0);
	assert_int_equal(fare().open_ports, 2);
	EXPECT_EVS(.good = 4, .bad = 4);
	ports_down(0, 0);
	EXPECT_EVS(.good = 8);
}

/* Nothing leaves, nobody waits in vain: law 3 is held by every pull. */
static void all_ports_shut(void **state)
{
	(void)state;
	begin_evs(2);
	warm();
	ports_down(0, 3);
	post_packets(4);
	assert_int_equal(gather(), 0);
	assert_int_equal(fare().open_ports, 0);
	EXPECT_EVS(.bad = 8);
	assert_true(mrc_ops.deadline(w.end[0].e, ALL_FREE) > w.now);
	check_turns(0);
	ports_down(0, 1);
	gather();
	assert_int_equal(n_data(), 4);
	assert_int_equal(n_requests(MRC_ENDPOINT_PORT_STATUS), 1);
	for (uint32_t i = 0; i < n_gone; i++)
		assert_int_equal(gone[i].port, 1);
}

/* Two ports, and a queue pair that gives up after few timeouts. */
static void begin_impatient(void)
{
	begin_evs(2);
	w.end[0].qp[0].attr.timeout = 10;
	w.end[0].qp[0].attr.linear_retries = 1;
	w.end[0].qp[0].attr.exp_retries = 2;
	connect();
	gather();
}

/* As if packets were sent to nowhere: work that only waits ends as what is out does, whether it was
 * posted before the ports went or after. A port that is back in time is in time. */
static void what_waits_ends_behind_shut_ports(void **state)
{
	(void)state;
	for (uint32_t order = 0; order < 2; order++) {
		uint32_t steps = 0;

		begin_impatient();
		if (order)
			post_packets(4);
		ports_down(0, 3);
		if (!order)
			post_packets(4);
		nsec from = w.now;

		/* 1 + 1 of them, and half of the next; then a port is back, and gone again. */
		while (step_until(from + 3 * TIMEOUT_NS(10)))
			assert_true(++steps < 1000);
		assert_int_equal(COUNT(timeouts), 2);
		ports_down(0, 1);
		ports_down(0, 3);
		from = w.now;
		while (step_until(from + 9 * TIMEOUT_NS(10)))
			assert_true(++steps < 1000);
		expect_end(1, ENGINE_RETRY_EXCEEDED);
		assert_int_equal(COUNT(timeouts), 2 + 4);
		assert_int_equal(COUNT(tx_retx), 0);
		check_idle(&w.end[0]);
	}
}

/* The same where the peer said that no port of ours that is left is up, and is gone since: with
 * one denied here, and the other shut by its word. */
static void what_waits_ends_behind_peer_ports_down(void **state)
{
	(void)state;
	for (uint32_t order = 0; order < 2; order++) {
		uint32_t steps = 0;

		begin_impatient();
		report_ports(1);
		if (order)
			deny_ports(1);
		post_packets(4);
		if (!order)
			deny_ports(1);
		nsec from = w.now;

		assert_int_equal(gather(), 0);
		while (step_until(from + 9 * TIMEOUT_NS(10)))
			assert_true(++steps < 1000);
		expect_end(1, ENGINE_RETRY_EXCEEDED);
		assert_int_equal(COUNT(timeouts), 4);
		assert_int_equal(COUNT(tx_data), 0);
		check_idle(&w.end[0]);
	}
}

/* The same by denial, with a turn in hand. */
static void all_ports_denied(void **state)
{
	(void)state;
	begin_evs(2);
	connect();
	post_packets(4);
	deny_ports(3);
	check_turns(0);
	assert_int_equal(gather(), 0);
	deny_ports(1);
	check_turns(0);
	assert_int_equal(gather(), 4);
	assert_int_equal(gone[0].port, 1);
}

static void what_is_out_ends_behind_shut_ports(void **state)
{
	uint32_t steps = 0;

	(void)state;
	begin_evs(2);
	w.end[0].qp[0].attr.timeout = 10;
	w.end[0].qp[0].attr.linear_retries = 1;
	w.end[0].qp[0].attr.exp_retries = 2;
	connect();
	post_packets(1);
	assert_int_equal(gather(), 1);
	ports_down(0, 3);
	nsec from = w.now;

	while (step_until(w.now + TIMEOUT_NS(16)))
		assert_true(++steps < 1000);
	expect_end(1, ENGINE_RETRY_EXCEEDED);
	assert_int_equal(COUNT(tx_retx), 0);
	assert_int_equal(COUNT(tx_endpoint), 0);
	/* 1 + 1 + 2 + 4 of them. */
	assert_in_range(w.now - from, 8 * TIMEOUT_NS(10), 8 * TIMEOUT_NS(10) + 10 * WIDTH);
	check_idle(&w.end[0]);
}

/* Of what left, one packet is data: returns of which queue pair. */
static uint32_t expect_one_data(void)
{
	uint32_t i = 0;

	assert_int_equal(n_data(), 1);
	while (!is_data(gone[i].h.bth.opcode))
		i++;
	return gone[i].h.bth.dest_qp - w.end[1].qp[0].number;
}

/* Queue pairs 1 and 2 starve for the one chunk; it comes free while no port is open. */
static void the_starved_wait_for_a_port(void **state)
{
	(void)state;
	begin_evs(2);
	w.end[0].n_qps = 3;
	w.end[0].cfg.max_out_pkts = ENGINE_SENT_PKTS;
	connect();
	gather();
	for (uint32_t i = 0; i < 3; i++)
		post_from(0, i, 1);
	assert_int_equal(gather(), 1);
	assert_true(list_is_linked(&pair_of(0, 1)->starved_link));
	assert_true(list_is_linked(&pair_of(0, 2)->starved_link));
	ports_down(0, 3);
	check_turns(0);
	ack(0);
	assert_int_equal(gather(), 0);
	ports_down(0, 2);
	gather();
	uint32_t first = expect_one_data();

	ports_down(0, 3);
	ack_qp(first, 0);
	assert_int_equal(gather(), 0);
	ports_down(0, 1);
	gather();
	assert_int_equal(expect_one_data(), 3 - first);
	check_turns(0);
}

/* Whatever opens and closes, and whenever: once all is open, all is done. */
static void ports_come_and_go(void **state)
{
	struct done done;
	uint32_t n = 0;

	(void)state;
	begin_both();
	prng_init(&w.rng, check_seed(7), 0);
	w.squeeze = 300;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t side = below(2);

		if (below(4) == 0)
			ports_down(side, below(4));
		if (below(4) == 0)
			deny_ports((uint8_t)below(4));
		if (n < 60 && below(3) == 0) {
			post_from(side, below(2), 1 + below(40));
			n++;
		}
		run_until(w.now + below(3000));
		check_turns(0);
		check_turns(1);
	}
	deny_ports(0);
	ports_down(0, 0);
	ports_down(1, 0);
	w.squeeze = 0;
	run();
	for (uint32_t i = 0; i < 2; i++) {
		for (; end_poll(&w.end[i], &done); n--)
			assert_int_equal(done.status, ENGINE_OK);
		check_idle(&w.end[i]);
		check_records(i);
	}
	assert_int_equal(n, 0);
	check_ends();
}

static void take_data(uint32_t n)
{
	struct mrc_pkt h = {
		.bth = {.opcode = MRC_OP_WRITE_ONLY,
			.pkey = 0xffff,
			.dest_qp = OURS,
			.ack_req = 1,
			.psn = psn24_of(w.end[0].qp[0].attr.rq_psn + n).v},
		.reth = {area_va(TARGET), area_key(&w.end[0], TARGET), PMTU},
		.payload = {NULL, PMTU},
	};

	inject(0, &h);
}

/* The ports by which eight answers leave, each so long after its packet came in by port 0. */
static uint32_t ports_of_answers(nsec wait)
{
	static uint32_t n;
	uint32_t ports = 0;

	n = counts(&w.end[0])->rx_data == 0 ? 0 : n;
	for (uint32_t i = 0; i < 8; i++, n++) {
		take_data(n);
		w.now += wait;
		gather();
		for (uint32_t k = 0; k < n_gone; k++)
			if (gone[k].h.bth.opcode == MRC_OP_SACK)
				ports |= 1u << gone[k].port;
	}
	return ports;
}

/* Answers leave by ports that requests may take; where there is none, by any. */
static void answers_keep_to_the_ports_in_use(void **state)
{
	(void)state;
	begin_evs(2);
	connect();
	/* Where a packet came in, that plane works: others only when that is long ago. */
	assert_int_equal(ports_of_answers(0), 1);
	assert_int_equal(ports_of_answers(MRC_RX_PORT_NS), 3);
	deny_ports(1);
	assert_int_equal(ports_of_answers(MRC_RX_PORT_NS), 2);
	deny_ports(0);
	report_ports(1);
	assert_int_equal(ports_of_answers(MRC_RX_PORT_NS), 1);
	/* A peer without any port would not have said so. */
	report_ports(0);
	assert_int_equal(fare().open_ports, 1);
	deny_ports(1);
	assert_int_equal(fare().open_ports, 0);
	assert_int_equal(ports_of_answers(MRC_RX_PORT_NS), 3);
	deny_ports(0);
	/* One that waits when its port closes takes another. */
	report_ports(3);
	take_data(32);
	deny_ports(2);
	check_turns(0);
	gather();
	for (uint32_t i = 0; i < n_gone; i++)
		if (!is_endpoint(gone[i].h.bth.opcode))
			assert_int_equal(gone[i].port, 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_port_that_is_down_is_told_and_not_used),
	cmocka_unit_test(an_update_is_repeated_until_it_is_answered),
	cmocka_unit_test(every_peer_is_told),
	cmocka_unit_test(a_peers_word_is_about_itself),
	cmocka_unit_test(a_peers_word_is_confirmed),
	cmocka_unit_test(what_arrives_speaks_for_its_port),
	cmocka_unit_test(a_question_takes_no_ev_that_is_denied),
	cmocka_unit_test(a_question_waits_for_its_port),
	cmocka_unit_test(a_question_is_put_when_it_may),
	cmocka_unit_test(any_probe_speaks_for_its_port),
	cmocka_unit_test(one_asks_for_all),
	cmocka_unit_test(a_queue_pair_begins_behind_a_port_that_is_down),
	cmocka_unit_test(all_ports_shut),
	cmocka_unit_test(all_ports_denied),
	cmocka_unit_test(what_is_out_ends_behind_shut_ports),
	cmocka_unit_test(what_waits_ends_behind_shut_ports),
	cmocka_unit_test(what_waits_ends_behind_peer_ports_down),
	cmocka_unit_test(the_starved_wait_for_a_port),
	cmocka_unit_test(ports_come_and_go),
	cmocka_unit_test(answers_keep_to_the_ports_in_use),
};

CHECK_MAIN(cases)
