/* What a requestor makes of its EVs (MRC 9.3): which it takes, and what takes one out of use, has
 * it skipped or brings it back. */
#include "mrc_evs.h"

/* Both values behind both ports: the wire's entropy alone does not tell the plane. */
static const struct path_ev twins[] = {
	{0xa0000000, 0}, {0xb0000000, 0}, {0xa0000000, 1}, {0xb0000000, 1}};

static void begin_twins(void)
{
	static struct evs set;

	begin_evs(2);
	evs_make(&set, twins, 4);
	w.end[0].qp[0].attr.evs = &set.profile;
	connect();
}

/* Of n packets, all out since now. */
static void send_together(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		post_packets(1);
	assert_int_equal(gather(), n);
}

/* The first packet that is out and went by this EV. */
static uint64_t packet_by(uint32_t ev)
{
	uint64_t n = q->req.sent.una;

	while (ev_taken(n) != ev)
		n++;
	return n;
}

/* Table 9-3: this one is out of use, the other seven are as they were; and no packet of many takes
 * it. */
static void expect_only_bad(uint32_t ev)
{
	EXPECT_EVS(.good = 7, .bad = 1);
	assert_int_equal(state_of(ev), PATH_ASSUMED_BAD);
	for (uint32_t i = 0; i < 64; i++)
		post_packets(1);
	gather();
	assert_true(n_data() >= 64);
	for (uint32_t i = 0; i < n_gone; i++)
		if (is_data(gone[i].h.bth.opcode))
			assert_int_not_equal(gone[i].ev_number, ev);
}

static void a_gap_takes_its_ev_out(void **state)
{
	(void)state;
	begin_evs(1);
	warm();
	EXPECT_EVS(.good = 8);
	uint32_t ev = lose_by_gap();

	expect_only_bad(ev);
}

/* Of two that are missing, one is the first of all, and the other is behind it. */
static void gaps_take_their_evs_out(void **state)
{
	(void)state;
	begin_evs(1);
	warm();
	send_each(30);
	uint64_t n = 4;

	while (ev_taken(n) == ev_taken(3))
		n++;
	uint32_t first = ev_taken(3), second = ev_taken(n);

	w.now += 10000;
	SACK(.cack = 2, .from = 4, .map = ((1u << 27) - 1) ^ 1u << (n - 4), .acked = 30);
	assert_int_equal(COUNT(lost_gap), 2);
	EXPECT_EVS(.good = 6, .bad = 2);
	assert_int_equal(state_of(first), PATH_ASSUMED_BAD);
	assert_int_equal(state_of(second), PATH_ASSUMED_BAD);
}

static void an_overdue_packet_takes_its_ev_out(void **state)
{
	(void)state;
	begin_evs(1);
	warm();
	send_together(5);
	uint32_t ev = ev_taken(2);

	w.now += 1000;
	SACK(.cack = 1, .from = 3, .map = 7, .acked = 5);
	EXPECT_EVS(.good = 8);
	w.now += 3 * RTT;
	gather();
	assert_int_equal(COUNT(lost_gap), 1);
	expect_only_bad(ev);
}

static void a_packet_that_a_probe_misses_takes_its_ev_out(void **state)
{
	(void)state;
	begin_evs(1);
	warm();
	send_together(1);
	uint32_t ev = ev_taken(1);

	w.now += 5 * RTT;
	assert_int_equal(gather(), 1);
	assert_int_equal(gone[0].h.bth.opcode, MRC_OP_PROBE_REQUEST);
	w.now += RTT;
	SACK(.cack = 0, .from = 0, .is_probed = true, .probe_id = gone[0].h.peth.probe_id);
	assert_int_equal(COUNT(lost_probe), 1);
	expect_only_bad(ev);
}

static void a_timeout_takes_its_ev_out(void **state)
{
	(void)state;
	begin_evs(1);
	connect();
	send_together(1);
	uint32_t ev = ev_taken(0);

	w.now += TIMEOUT_NS(LONG_TIMEOUT) + WIDTH;
	gather();
	assert_int_equal(COUNT(lost_timeout), 1);
	expect_only_bad(ev);
}

/* A switch that cut a packet told of it, and so did a peer without room: the EV works. */
static void what_is_told_takes_nothing_out(void **state)
{
	static const uint8_t reasons[] = {
		MRC_NACK_TRIMMED_LASTHOP, MRC_NACK_NO_BITMAP,      MRC_NACK_NO_PKT_BUFFER,
		MRC_NACK_NO_RESOURCE,     MRC_NACK_PSN_OOR_WINDOW,
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof reasons; i++) {
		begin_evs(1);
		warm();
		send_together(4);
		nack(2, reasons[i]);
		assert_int_equal(COUNT(lost_nack), 1);
		EXPECT_EVS(.good = 8);
		w.now += 10 * RTT;
		gather();
		assert_int_equal(n_probes(), 0);
	}
	begin_evs(1);
	warm();
	send_together(4);
	nack_marked(2, MRC_NACK_TRIMMED, gone[1].ev);
	EXPECT_EVS(.good = 7, .skip = 1);
}

/* What is probed is the EV, all the way: by a reliability probe to the peer's queue pair, in the
 * class of data (M-22, M-47). */
static void expect_probe_of(const struct gone *g, uint32_t ev)
{
	assert_int_equal(g->ev_number, ev);
	assert_int_equal(g->h.bth.opcode, MRC_OP_PROBE_REQUEST);
	assert_int_equal(g->h.bth.dest_qp, q->attr.remote_qp);
	assert_int_equal(g->tclass, ENGINE_DATA);
	assert_int_equal(g->not_ect, 0);
	assert_int_equal(g->peer, PEER);
}

static void clean_probes_bring_an_ev_back(void **state)
{
	uint32_t n = 0;

	(void)state;
	begin_evs(1);
	warm();
	uint32_t ev = lose_by_gap();

	for (uint32_t i = 0; i < 200 && state_of(ev) == PATH_ASSUMED_BAD; i++) {
		w.now += 1000;
		gather();
		for (uint32_t k = 0; k < n_gone; k++)
			if (gone[k].is_probe)
				expect_probe_of(&gone[k], ev);
		n += n_probes();
		respond();
	}
	assert_int_equal(n, TRAIN);
	EXPECT_EVS(.good = 8);
	bool is_taken = false;

	send_together(32);
	for (uint32_t i = 0; i < n_gone; i++)
		is_taken |= gone[i].ev_number == ev;
	assert_true(is_taken);
	assert_int_equal(COUNT(tx_endpoint), 0);
	assert_int_equal(mrc_usage(w.end[0].e).probes, 0);
}

static void heal(uint32_t ev)
{
	for (uint32_t i = 0; i < 200 && state_of(ev) == PATH_ASSUMED_BAD; i++) {
		w.now += 1000;
		gather();
		respond();
	}
	assert_int_equal(state_of(ev), PATH_GOOD);
}

/* Lost before its EV came back, and missed only then: it is no news of the EV as it is now. */
static void a_loss_from_before_its_return_takes_nothing_out(void **state)
{
	(void)state;
	begin_evs(1);
	warm();
	send_each(30);
	/* The last but one is too young to be missed with the first of its EV. */
	uint32_t ev = ev_taken(29);
	int64_t first = 1;

	while (ev_taken((uint64_t)first) != ev)
		first++;
	assert_true(first < 15);
	uint64_t all = (UINT64_C(1) << (30 - first)) - 1, missing = UINT64_C(1) << (28 - first);

	SACK(.cack = first - 1, .from = first + 1, .map = all ^ missing, .acked = 30);
	assert_int_equal(COUNT(lost_gap), 1);
	EXPECT_EVS(.good = 7, .bad = 1);
	heal(ev);
	assert_int_equal(COUNT(lost_gap), 1);
	send_each(1);
	SACK(.cack = first, .from = first + 1, .map = all ^ missing, .acked = 31);
	assert_int_equal(COUNT(lost_gap), 2);
	EXPECT_EVS(.good = 8);
}

/* A port is under suspicion until something that left by it after the loss arrives. */
static void arrivals_clear_a_port(void **state)
{
	(void)state;
	begin_evs(2);
	warm();
	lose_by_gap();
	assert_int_not_equal(q->req.path.suspect, 0);
	send_each(8);
	sack_all((int64_t)q->req.sent.next - 1);
	assert_int_equal(q->req.path.suspect, 0);
	assert_int_equal(fare().open_ports, 3);
}

static uint32_t n_probes_of(uint32_t ev)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_gone; i++)
		n += gone[i].is_probe && gone[i].ev_number == ev;
	return n;
}

/* One that nobody answers has failed; the next waits longer. */
static void failed_probes_do_not(void **state)
{
	uint32_t n = 0;
	nsec last = 0, gap = 0;

	(void)state;
	begin_evs(1);
	w.end[0].cfg.path.backoff_max_ns = 4000000;
	warm();
	uint32_t ev = lose_by_gap();

	for (uint32_t i = 0; i < 3000; i++) {
		w.now += 1000;
		gather();
		assert_int_equal(state_of(ev), PATH_ASSUMED_BAD);
		if (n_probes_of(ev) == 0)
			continue;
		assert_int_equal(n_probes_of(ev), 1);
		assert_true(n == 0 || w.now - last > gap);
		gap = n > 0 ? w.now - last : 0;
		last = w.now;
		n++;
	}
	assert_in_range(n, 4, 8);
	EXPECT_EVS(.good = 7, .bad = 1);
}

/* 9.3.1, M-47: what the SACK of a probe says of the EV is where that goes. */
static void the_answer_says_how_an_ev_is(void **state)
{
	static const struct {
		uint8_t mark, state;
	} table[] = {
		{MRC_MARK_NONE, PATH_GOOD},
		{MRC_MARK_SKIP, PATH_SKIP},
		{MRC_MARK_ALWAYS_SKIP, PATH_ASSUMED_BAD},
		{MRC_MARK_RESERVED, PATH_GOOD},
	};

	(void)state;
	for (uint32_t k = 0; k < sizeof table / sizeof table[0]; k++) {
		begin_evs(1);
		warm();
		uint32_t ev = lose_by_gap(), n = 0;

		for (uint32_t i = 0; i < 200 && n < TRAIN; i++) {
			w.now += 1000;
			gather();
			for (uint32_t j = 0; j < n_gone; j++)
				if (gone[j].is_probe)
					answer_probe(&gone[j], table[k].mark);
			n += n_probes();
		}
		assert_int_equal(state_of(ev), table[k].state);
		assert_int_equal(COUNT(drop_unasked), 0);
	}
}

/* All but the first of 30 packets arrive, that one by its second sending, and the peer answers
 * reliability probes, which it must, and no EV probe, which it need not (7.4.7). */
static void lose_one_of_thirty(void)
{
	int64_t first = (int64_t)q->req.sent.next;

	for (uint32_t i = 0; i < 30; i++) {
		post_packets(1);
		w.now += 1000;
		gather();
		for (uint32_t k = 0; k < n_gone; k++)
			if (gone[k].is_probe)
				answer_probe(&gone[k], MRC_MARK_NONE);
	}
	w.now += 10000;
	SACK(.cack = first - 1, .from = first + 1, .map = (1u << 29) - 1, .acked = first + 29);
	w.now += 1000;
	gather();
	w.now += RTT;
	sack_all(first + 29);
	ack_and_poll(first + 29);
}

/* 7.4.6: those of EVs and those of what arrived. */
static void probes_have_identifiers_of_their_own(void **state)
{
	uint16_t next = 0;
	uint32_t n_of_evs = 0, n = 0;

	(void)state;
	begin_evs(1);
	warm();
	lose_by_gap();
	for (uint32_t i = 0; i < 1000; i++) {
		w.now += 1000;
		gather();
		for (uint32_t k = 0; k < n_gone; k++) {
			if (gone[k].h.bth.opcode != MRC_OP_PROBE_REQUEST)
				continue;
			assert_int_equal(gone[k].h.peth.probe_id, ++next);
			n_of_evs += gone[k].is_probe;
			n++;
		}
	}
	assert_in_range(n_of_evs, 2, n - 2);
	/* The answer to one of them is not taken for that of another. */
	SACK(.cack = 2, .from = 2, .is_probed = true, .probe_id = (uint16_t)(next + 1));
	assert_int_equal(COUNT(drop_unasked), 1);
}

/* 8 EVs on 8 ports, losses on all of them: when that ends, spraying is what it was. */
static void recovery_needs_no_ev_probes(void **state)
{
	uint32_t least = 8;

	(void)state;
	begin_evs(8);
	warm();
	for (uint32_t i = 0; i < 48; i++) {
		lose_one_of_thirty();
		least = fare().evs[PATH_GOOD] < least ? fare().evs[PATH_GOOD] : least;
	}
	assert_int_equal(COUNT(lost_gap), 48);
	assert_true(least < 8);
	post_packets(1);
	for (uint32_t i = 0; i < 2000 && fare().evs[PATH_GOOD] < 8; i++) {
		w.now += 1000;
		gather();
		for (uint32_t k = 0; k < n_gone; k++)
			if (gone[k].is_probe)
				answer_probe(&gone[k], MRC_MARK_NONE);
	}
	EXPECT_EVS(.good = 8);
	assert_int_equal(fare().open_ports, 0xff);
	assert_int_equal(COUNT(tx_endpoint), 0);
}

/* 9.3.1: SACK with SKIP_ONCE. The EV loses one turn and is good again. */
static void a_mark_skips_an_ev_once(void **state)
{
	bool is_taken = false;

	(void)state;
	begin_evs(1);
	connect();
	send_together(8);
	uint32_t ev = ev_taken(5);

	sack_marked(5, MRC_MARK_SKIP, gone[5].ev);
	EXPECT_EVS(.good = 7, .skip = 1);
	assert_int_equal(state_of(ev), PATH_SKIP);
	for (uint32_t i = 0; i < 64 && state_of(ev) == PATH_SKIP; i++) {
		send_together(1);
		assert_int_not_equal(gone[0].ev_number, ev);
	}
	EXPECT_EVS(.good = 8);
	send_together(32);
	for (uint32_t i = 0; i < n_gone; i++)
		is_taken |= gone[i].ev_number == ev;
	assert_true(is_taken);
	/* No mark, no skip. */
	sack_marked(6, MRC_MARK_NONE, gone[6].ev);
	EXPECT_EVS(.good = 8);
}

static void a_trim_skips_its_ev_but_not_at_the_last_hop(void **state)
{
	(void)state;
	begin_evs(1);
	connect();
	send_together(8);
	nack_marked(3, MRC_NACK_TRIMMED_LASTHOP, gone[3].ev);
	EXPECT_EVS(.good = 8);
	nack_marked(4, MRC_NACK_TRIMMED, gone[4].ev);
	EXPECT_EVS(.good = 7, .skip = 1);
	assert_int_equal(state_of(ev_taken(4)), PATH_SKIP);
}

static void an_ev_that_the_peer_calls_bad_is_out(void **state)
{
	(void)state;
	begin_evs(1);
	connect();
	send_together(8);
	uint32_t ev = ev_taken(2);

	sack_marked(2, MRC_MARK_ALWAYS_SKIP, gone[2].ev);
	EXPECT_EVS(.good = 7, .bad = 1);
	assert_int_equal(state_of(ev), PATH_ASSUMED_BAD);
	/* And is probed. */
	w.now += 2 * WIDTH;
	gather();
	assert_int_equal(n_probes(), 1);
	expect_probe_of(&gone[0], ev);
}

/* MRC-9.3.2-01: by the packet's own record, whichever port it left by; what the SACK or NACK
 * says of the entropy is the same for both. */
static void the_plane_is_known_by_the_packet(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < 3 * 4; k++) {
		uint32_t ev = k / 3;

		begin_twins();
		send_together(16);
		uint64_t n = packet_by(ev);

		if (k % 3 == 0)
			sack_marked(n, MRC_MARK_SKIP, twins[ev].value);
		else if (k % 3 == 1)
			nack_marked(n, MRC_NACK_TRIMMED, twins[ev].value);
		else
			sack_marked(n, MRC_MARK_ALWAYS_SKIP, twins[ev].value);
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(state_of(i), i != ev      ? PATH_GOOD
						      : k % 3 == 2 ? PATH_ASSUMED_BAD
								   : PATH_SKIP);
	}
}

/* Of a packet that was retransmitted it is not known which time is meant; of one that is out no
 * more there is no record. What is left is the entropy. */
static void else_the_ev_is_known_by_the_entropy(void **state)
{
	(void)state;
	begin_twins();
	send_together(4);
	nack(0, MRC_NACK_NO_BITMAP);
	assert_int_equal(gather(), 1);
	assert_int_equal(gone[0].h.bth.rtx, 1);
	/* Another than it took last. */
	uint32_t other = ev_taken(0) % 2 == 0;

	sack_marked(0, MRC_MARK_SKIP, twins[other].value);
	EXPECT_EVS(.good = 3, .skip = 1);
	assert_int_equal(state_of(other), PATH_SKIP);
	/* Out no more. */
	ack(3);
	SACK(.cack = 3, .from = 3, .acked = 3);
	say((struct mrc_pkt){.bth = {.opcode = MRC_OP_SACK},
			     .seth = {.cack_psn = psn_of(3),
				      .entropy = twins[1 - other].value,
				      .m = MRC_MARK_SKIP,
				      .cc_type = MRC_CC_TYPE_NSCC}});
	EXPECT_EVS(.good = 2, .skip = 2);
	assert_int_equal(state_of(1 - other), PATH_SKIP);
	/* Of no EV. */
	say((struct mrc_pkt){.bth = {.opcode = MRC_OP_SACK},
			     .seth = {.cack_psn = psn_of(3),
				      .entropy = 0xc0000000,
				      .m = MRC_MARK_ALWAYS_SKIP,
				      .cc_type = MRC_CC_TYPE_NSCC}});
	EXPECT_EVS(.good = 2, .skip = 2);
	assert_int_equal(COUNT(rx_sack), 4);
}

static void oblivious_of_all_that(void **state)
{
	(void)state;
	begin_evs(1);
	w.end[0].qp[0].attr.flags = MRC_OBLIVIOUS;
	warm();
	lose_by_gap();
	EXPECT_EVS(.good = 8);
	sack_marked(30, MRC_MARK_SKIP, w.end[0].evs[0].value);
	nack_marked(3, MRC_NACK_TRIMMED, w.end[0].evs[1].value);
	sack_marked(30, MRC_MARK_ALWAYS_SKIP, w.end[0].evs[2].value);
	EXPECT_EVS(.good = 8);
	w.now += TIMEOUT_NS(LONG_TIMEOUT) + WIDTH;
	gather();
	assert_int_equal(COUNT(timeouts), 1);
	EXPECT_EVS(.good = 8);
	w.now += RTT;
	gather();
	assert_int_equal(COUNT(tx_endpoint), 0);
}

/* What leaves of 64 packets goes by these EVs only, and by each of them. */
static void expect_taken(uint64_t evs)
{
	uint64_t seen_evs = 0;

	for (uint32_t i = 0; i < 64; i++)
		post_packets(1);
	gather();
	assert_int_equal(n_gone, 64);
	for (uint32_t i = 0; i < n_gone; i++)
		seen_evs |= UINT64_C(1) << gone[i].ev_number;
	assert_int_equal(seen_evs, evs);
	ack_and_poll((int64_t)q->req.sent.next - 1);
}

/* 9.3.2.1: EVs 0 to 3 are of port 0, 4 to 7 of port 1. */
static void ports_of_a_queue_pair_are_denied(void **state)
{
	struct mrc_attr attr = {.denied_ports = 4};

	(void)state;
	begin_evs(2);
	connect();
	expect_taken(0xff);
	deny_ports(2);
	EXPECT_EVS(.good = 4, .denied = 4);
	assert_int_equal(fare().open_ports, 1);
	expect_taken(0x0f);
	/* New EVs, same word. */
	set_evs(q->attr.evs, 0);
	expect_taken(0x0f);
	deny_ports(1);
	EXPECT_EVS(.good = 4, .denied = 4);
	expect_taken(0xf0);
	deny_ports(0);
	EXPECT_EVS(.good = 8);
	expect_taken(0xff);
	/* There is no port 2. */
	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, OURS, &attr, MRC_SET_DENIED_PORTS),
			 -EINVAL);
	EXPECT_EVS(.good = 8);
}

static void ports_are_denied_before_the_start(void **state)
{
	(void)state;
	begin_evs(2);
	join_to(MRC_RESET);
	q = pair_of(0, 0);
	w.end[0].qp[0].attr.denied_ports = 1;
	assert_int_equal(end_set(&w.end[0], w.now, 0, MRC_INIT, MRC_SET_DENIED_PORTS), 0);
	end_rise(&w.end[0], w.now, 0, MRC_RTS);
	expect_taken(0xf0);
}

static void a_profile_denies_evs_and_ports(void **state)
{
	static struct evs set;

	(void)state;
	begin_evs(2);
	evs_make(&set, twins, 4);
	path_profile_deny(&set.profile, 3, true);
	w.end[0].qp[0].attr.evs = &set.profile;
	connect();
	EXPECT_EVS(.good = 3, .denied = 1);
	expect_taken(0x7);
	path_profile_deny_ports(&set.profile, 1);
	set_evs(&set.profile, 0);
	EXPECT_EVS(.good = 1, .denied = 3);
	expect_taken(0x4);
	/* The word of the queue pair does not take back the profile's. */
	deny_ports(0);
	EXPECT_EVS(.good = 1, .denied = 3);
}

static void an_ev_is_denied_and_allowed_again(void **state)
{
	(void)state;
	begin_evs(2);
	connect();
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, 2, true), 0);
	EXPECT_EVS(.good = 7, .denied = 1);
	expect_taken(0xfb);
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, 2, false), 0);
	EXPECT_EVS(.good = 8);
	expect_taken(0xff);
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, 8, true), -EINVAL);
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS + 1, 0, true), -ENOENT);
	/* And says of others that they are bad, or good. */
	assert_int_equal(mrc_qp_judge(w.end[0].e, w.now, OURS, 8, true), -EINVAL);
	assert_int_equal(mrc_qp_judge(w.end[0].e, w.now, OURS + 1, 0, true), -ENOENT);
	assert_int_equal(mrc_qp_judge(w.end[0].e, w.now, OURS, 3, true), 0);
	assert_int_equal(path_state(&pair_of(0, 0)->req.path, 3), PATH_ASSUMED_BAD);
	assert_int_equal(mrc_qp_judge(w.end[0].e, w.now, OURS, 3, false), 0);
	assert_int_equal(path_state(&pair_of(0, 0)->req.path, 3), PATH_GOOD);
	/* All of them: nothing goes until one is allowed. */
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, i, true), 0);
	post_packets(1);
	assert_int_equal(gather(), 0);
	assert_int_equal(fare().open_ports, 0);
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, 6, false), 0);
	assert_int_equal(gather(), 1);
	assert_int_equal(gone[0].ev_number, 6);
	/* A queue pair without EVs has none to deny. */
	struct mrc_attr attr = {.state = MRC_RESET};

	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, OURS, &attr, MRC_SET_STATE), 0);
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, 0, true), -EINVAL);
	EXPECT_EVS(.good = 0);
}

/* What left before has no EV among the new ones, nor do the probes of the old. */
static void evs_are_replaced_under_packets(void **state)
{
	static struct evs set;

	(void)state;
	begin_evs(1);
	warm();
	evs_make(&set, twins, 2);
	uint32_t ev = lose_by_gap();

	w.now += 2 * WIDTH;
	gather();
	assert_int_equal(n_probes(), 1);
	assert_int_equal(state_of(ev), PATH_ASSUMED_BAD);
	send_each(30);
	set_evs(&set.profile, 0);
	EXPECT_EVS(.good = 2);
	assert_int_equal(mrc_usage(w.end[0].e).probes, 0);
	respond();
	w.now += 10000;
	SACK(.cack = 31, .from = 33, .map = (1u << 27) - 1, .acked = 59);
	assert_int_equal(COUNT(lost_gap), 2);
	EXPECT_EVS(.good = 2);
	/* Marked ones of those, too. */
	sack_marked(60, MRC_MARK_ALWAYS_SKIP, w.end[0].evs[0].value);
	EXPECT_EVS(.good = 2);
	gather();
	assert_true(n_data() >= 1 && gone[0].ev_number < 2);
}

static void bursts_take_one_ev(void **state)
{
	uint32_t changes = 0;

	(void)state;
	begin_evs(2);
	w.end[0].qp[0].attr.burst = 4;
	connect();
	send_together(32);
	for (uint32_t i = 1; i < 32; i++) {
		changes += gone[i].ev_number != gone[i - 1].ev_number;
		if (i % 4 > 0)
			assert_int_equal(gone[i].ev_number, gone[i - 1].ev_number);
	}
	assert_int_equal(changes, 7);
	/* Without a word, each packet has its own. */
	set_evs(q->attr.evs, 0);
	send_together(32);
	for (uint32_t i = 1; i < 32; i++)
		assert_int_not_equal(gone[i].ev_number, gone[i - 1].ev_number);
}

/* A driver sends a burst by one call as long as it is not cut: pulls of six and bursts of four
 * would meet only in every third. */
static void a_pull_begins_a_burst(void **state)
{
	static const uint16_t room[ENGINE_PORTS] = {8, 8, 8, 8, 8, 8, 8, 8};
	uint32_t before = UINT32_MAX;

	(void)state;
	begin_evs(2);
	w.end[0].qp[0].attr.burst = 4;
	connect();
	post((struct work){.cookie = 1, .len = 24 * PMTU, .code = ENGINE_WRITE});
	for (uint32_t k = 0; k < 4; k++) {
		const struct end_pkt *out = w.end[0].out;

		assert_int_equal(end_pull(&w.end[0], w.now, room, 6), 6);
		assert_int_not_equal(out[0].tx.ev, before);
		for (uint32_t i = 1; i < 6; i++)
			if (i == 4)
				assert_int_not_equal(out[i].tx.ev, out[i - 1].tx.ev);
			else
				assert_int_equal(out[i].tx.ev, out[i - 1].tx.ev);
		before = out[5].tx.ev;
	}
}

/* MRC-9.3.1-02: in another order than others. */
static void queue_pairs_take_evs_in_orders_of_their_own(void **state)
{
	uint32_t evs[2][64], same = 0;

	(void)state;
	begin_evs(1);
	w.end[0].n_qps = 2;
	connect();
	for (uint32_t k = 0; k < 2; k++) {
		post((struct work){.qp = k, .cookie = k, .len = 64 * PMTU, .code = ENGINE_WRITE});
		assert_int_equal(gather(), 64);
		for (uint32_t i = 0; i < 64; i++)
			evs[k][i] = gone[i].ev;
	}
	for (uint32_t i = 0; i < 64; i++)
		same += evs[0][i] == evs[1][i];
	assert_true(same < 32);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_gap_takes_its_ev_out),
	cmocka_unit_test(gaps_take_their_evs_out),
	cmocka_unit_test(an_overdue_packet_takes_its_ev_out),
	cmocka_unit_test(a_packet_that_a_probe_misses_takes_its_ev_out),
	cmocka_unit_test(a_timeout_takes_its_ev_out),
	cmocka_unit_test(what_is_told_takes_nothing_out),
	cmocka_unit_test(clean_probes_bring_an_ev_back),
	cmocka_unit_test(a_loss_from_before_its_return_takes_nothing_out),
	cmocka_unit_test(arrivals_clear_a_port),
	cmocka_unit_test(failed_probes_do_not),
	cmocka_unit_test(the_answer_says_how_an_ev_is),
	cmocka_unit_test(probes_have_identifiers_of_their_own),
	cmocka_unit_test(recovery_needs_no_ev_probes),
	cmocka_unit_test(a_mark_skips_an_ev_once),
	cmocka_unit_test(a_trim_skips_its_ev_but_not_at_the_last_hop),
	cmocka_unit_test(an_ev_that_the_peer_calls_bad_is_out),
	cmocka_unit_test(the_plane_is_known_by_the_packet),
	cmocka_unit_test(else_the_ev_is_known_by_the_entropy),
	cmocka_unit_test(oblivious_of_all_that),
	cmocka_unit_test(ports_of_a_queue_pair_are_denied),
	cmocka_unit_test(ports_are_denied_before_the_start),
	cmocka_unit_test(a_profile_denies_evs_and_ports),
	cmocka_unit_test(an_ev_is_denied_and_allowed_again),
	cmocka_unit_test(evs_are_replaced_under_packets),
	cmocka_unit_test(bursts_take_one_ev),
	cmocka_unit_test(a_pull_begins_a_burst),
	cmocka_unit_test(queue_pairs_take_evs_in_orders_of_their_own),
};

CHECK_MAIN(cases)
