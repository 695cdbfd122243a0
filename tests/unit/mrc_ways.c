/* What a requestor makes of its ways (MRC 9.3): which it takes, and what takes one out of use, has
 * it skipped or brings it back. */
#include "mrc_ways.h"

/* Both values behind both ports: the wire's entropy alone does not tell the plane. */
static const struct path_way twins[] = {
	{0xa0000000, 0}, {0xb0000000, 0}, {0xa0000000, 1}, {0xb0000000, 1}};

static void begin_twins(void)
{
	static struct ways set;

	begin_ways(2);
	ways_make(&set, twins, 4);
	w.end[0].qp[0].attr.ways = &set.profile;
	connect();
}

/* Of n packets, all out since now. */
static void send_together(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		post_packets(1);
	assert_int_equal(gather(), n);
}

/* The first packet that is out and went by this way. */
static uint64_t packet_by(uint32_t way)
{
	uint64_t n = q->req.sent.una;

	while (way_taken(n) != way)
		n++;
	return n;
}

/* Table 9-3: this one is out of use, the other seven are as they were; and no packet of many takes
 * it. */
static void expect_only_bad(uint32_t way)
{
	EXPECT_WAYS(.good = 7, .bad = 1);
	assert_int_equal(state_of(way), PATH_ASSUMED_BAD);
	for (uint32_t i = 0; i < 64; i++)
		post_packets(1);
	gather();
	assert_true(n_data() >= 64);
	for (uint32_t i = 0; i < n_gone; i++)
		if (is_data(gone[i].h.bth.opcode))
			assert_int_not_equal(gone[i].way, way);
}

static void a_gap_takes_its_way_out(void **state)
{
	(void)state;
	begin_ways(1);
	warm();
	EXPECT_WAYS(.good = 8);
	uint32_t way = lose_by_gap();

	expect_only_bad(way);
}

/* Of two that are missing, one is the first of all, and the other is behind it. */
static void gaps_take_their_ways_out(void **state)
{
	(void)state;
	begin_ways(1);
	warm();
	send_each(30);
	uint64_t n = 4;

	while (way_taken(n) == way_taken(3))
		n++;
	uint32_t first = way_taken(3), second = way_taken(n);

	w.now += 10000;
	SACK(.cack = 2, .from = 4, .map = ((1u << 27) - 1) ^ 1u << (n - 4), .acked = 30);
	assert_int_equal(COUNT(lost_gap), 2);
	EXPECT_WAYS(.good = 6, .bad = 2);
	assert_int_equal(state_of(first), PATH_ASSUMED_BAD);
	assert_int_equal(state_of(second), PATH_ASSUMED_BAD);
}

static void an_overdue_packet_takes_its_way_out(void **state)
{
	(void)state;
	begin_ways(1);
	warm();
	send_together(5);
	uint32_t way = way_taken(2);

	w.now += 1000;
	SACK(.cack = 1, .from = 3, .map = 7, .acked = 5);
	EXPECT_WAYS(.good = 8);
	w.now += 3 * RTT;
	gather();
	assert_int_equal(COUNT(lost_gap), 1);
	expect_only_bad(way);
}

static void a_packet_that_a_probe_misses_takes_its_way_out(void **state)
{
	(void)state;
	begin_ways(1);
	warm();
	send_together(1);
	uint32_t way = way_taken(1);

	w.now += 5 * RTT;
	assert_int_equal(gather(), 1);
	assert_int_equal(gone[0].h.bth.opcode, MRC_OP_PROBE_REQUEST);
	w.now += RTT;
	SACK(.cack = 0, .from = 0, .is_probed = true, .probe_id = gone[0].h.peth.probe_id);
	assert_int_equal(COUNT(lost_probe), 1);
	expect_only_bad(way);
}

static void a_timeout_takes_its_way_out(void **state)
{
	(void)state;
	begin_ways(1);
	connect();
	send_together(1);
	uint32_t way = way_taken(0);

	w.now += TIMEOUT_NS(LONG_TIMEOUT) + WIDTH;
	gather();
	assert_int_equal(COUNT(lost_timeout), 1);
	expect_only_bad(way);
}

/* A switch that cut a packet told of it, and so did a peer without room: the way works. */
static void what_is_told_takes_nothing_out(void **state)
{
	static const uint8_t reasons[] = {
		MRC_NACK_TRIMMED_LASTHOP, MRC_NACK_NO_BITMAP,      MRC_NACK_NO_PKT_BUFFER,
		MRC_NACK_NO_RESOURCE,     MRC_NACK_PSN_OOR_WINDOW,
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof reasons; i++) {
		begin_ways(1);
		warm();
		send_together(4);
		nack(2, reasons[i]);
		assert_int_equal(COUNT(lost_nack), 1);
		EXPECT_WAYS(.good = 8);
		w.now += 10 * RTT;
		gather();
		assert_int_equal(n_probes(), 0);
	}
	begin_ways(1);
	warm();
	send_together(4);
	nack_marked(2, MRC_NACK_TRIMMED, gone[1].ev);
	EXPECT_WAYS(.good = 7, .skip = 1);
}

/* What is probed is the way, all the way: by a reliability probe to the peer's queue pair, in the
 * class of data (M-22, M-47). */
static void expect_probe_of(const struct gone *g, uint32_t way)
{
	assert_int_equal(g->way, way);
	assert_int_equal(g->h.bth.opcode, MRC_OP_PROBE_REQUEST);
	assert_int_equal(g->h.bth.dest_qp, q->attr.remote_qp);
	assert_int_equal(g->tclass, ENGINE_DATA);
	assert_int_equal(g->not_ect, 0);
	assert_int_equal(g->peer, PEER);
}

static void clean_probes_bring_a_way_back(void **state)
{
	uint32_t n = 0;

	(void)state;
	begin_ways(1);
	warm();
	uint32_t way = lose_by_gap();

	for (uint32_t i = 0; i < 200 && state_of(way) == PATH_ASSUMED_BAD; i++) {
		w.now += 1000;
		gather();
		for (uint32_t k = 0; k < n_gone; k++)
			if (gone[k].is_probe)
				expect_probe_of(&gone[k], way);
		n += n_probes();
		respond();
	}
	assert_int_equal(n, TRAIN);
	EXPECT_WAYS(.good = 8);
	bool is_taken = false;

	send_together(32);
	for (uint32_t i = 0; i < n_gone; i++)
		is_taken |= gone[i].way == way;
	assert_true(is_taken);
	assert_int_equal(COUNT(tx_endpoint), 0);
	assert_int_equal(mrc_usage(w.end[0].e).probes, 0);
}

static void heal(uint32_t way)
{
	for (uint32_t i = 0; i < 200 && state_of(way) == PATH_ASSUMED_BAD; i++) {
		w.now += 1000;
		gather();
		respond();
	}
	assert_int_equal(state_of(way), PATH_GOOD);
}

/* Lost before its way came back, and missed only then: it is no news of the way as it is now. */
static void a_loss_from_before_its_return_takes_nothing_out(void **state)
{
	(void)state;
	begin_ways(1);
	warm();
	send_each(30);
	/* The last but one is too young to be missed with the first of its way. */
	uint32_t way = way_taken(29);
	int64_t first = 1;

	while (way_taken((uint64_t)first) != way)
		first++;
	assert_true(first < 15);
	uint64_t all = (UINT64_C(1) << (30 - first)) - 1, missing = UINT64_C(1) << (28 - first);

	SACK(.cack = first - 1, .from = first + 1, .map = all ^ missing, .acked = 30);
	assert_int_equal(COUNT(lost_gap), 1);
	EXPECT_WAYS(.good = 7, .bad = 1);
	heal(way);
	assert_int_equal(COUNT(lost_gap), 1);
	send_each(1);
	SACK(.cack = first, .from = first + 1, .map = all ^ missing, .acked = 31);
	assert_int_equal(COUNT(lost_gap), 2);
	EXPECT_WAYS(.good = 8);
}

/* A port is under suspicion until something that left by it after the loss arrives. */
static void arrivals_clear_a_port(void **state)
{
	(void)state;
	begin_ways(2);
	warm();
	lose_by_gap();
	assert_int_not_equal(q->req.path.suspect, 0);
	send_each(8);
	sack_all((int64_t)q->req.sent.next - 1);
	assert_int_equal(q->req.path.suspect, 0);
	assert_int_equal(fare().open_ports, 3);
}

static uint32_t n_probes_of(uint32_t way)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_gone; i++)
		n += gone[i].is_probe && gone[i].way == way;
	return n;
}

/* One that nobody answers has failed; the next waits longer. */
static void failed_probes_do_not(void **state)
{
	uint32_t n = 0;
	nsec last = 0, gap = 0;

	(void)state;
	begin_ways(1);
	w.end[0].cfg.path.backoff_max_ns = 4000000;
	warm();
	uint32_t way = lose_by_gap();

	for (uint32_t i = 0; i < 3000; i++) {
		w.now += 1000;
		gather();
		assert_int_equal(state_of(way), PATH_ASSUMED_BAD);
		if (n_probes_of(way) == 0)
			continue;
		assert_int_equal(n_probes_of(way), 1);
		assert_true(n == 0 || w.now - last > gap);
		gap = n > 0 ? w.now - last : 0;
		last = w.now;
		n++;
	}
	assert_in_range(n, 4, 8);
	EXPECT_WAYS(.good = 7, .bad = 1);
}

/* 9.3.1, M-47: what the SACK of a probe says of the way is where that goes. */
static void the_answer_says_how_a_way_is(void **state)
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
		begin_ways(1);
		warm();
		uint32_t way = lose_by_gap(), n = 0;

		for (uint32_t i = 0; i < 200 && n < TRAIN; i++) {
			w.now += 1000;
			gather();
			for (uint32_t j = 0; j < n_gone; j++)
				if (gone[j].is_probe)
					answer_probe(&gone[j], table[k].mark);
			n += n_probes();
		}
		assert_int_equal(state_of(way), table[k].state);
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
	ack(first + 29);
	for (struct done done; end_poll(&w.end[0], &done);)
		continue;
}

/* 7.4.6: those of ways and those of what arrived. */
static void probes_have_identifiers_of_their_own(void **state)
{
	uint16_t next = 0;
	uint32_t n_of_ways = 0, n = 0;

	(void)state;
	begin_ways(1);
	warm();
	lose_by_gap();
	for (uint32_t i = 0; i < 1000; i++) {
		w.now += 1000;
		gather();
		for (uint32_t k = 0; k < n_gone; k++) {
			if (gone[k].h.bth.opcode != MRC_OP_PROBE_REQUEST)
				continue;
			assert_int_equal(gone[k].h.peth.probe_id, ++next);
			n_of_ways += gone[k].is_probe;
			n++;
		}
	}
	assert_in_range(n_of_ways, 2, n - 2);
	/* The answer to one of them is not taken for that of another. */
	SACK(.cack = 2, .from = 2, .is_probed = true, .probe_id = (uint16_t)(next + 1));
	assert_int_equal(COUNT(drop_unasked), 1);
}

/* 8 ways on 8 ports, losses on all of them: when that ends, spraying is what it was. */
static void recovery_needs_no_ev_probes(void **state)
{
	uint32_t least = 8;

	(void)state;
	begin_ways(8);
	warm();
	for (uint32_t i = 0; i < 48; i++) {
		lose_one_of_thirty();
		least = fare().ways[PATH_GOOD] < least ? fare().ways[PATH_GOOD] : least;
	}
	assert_int_equal(COUNT(lost_gap), 48);
	assert_true(least < 8);
	post_packets(1);
	for (uint32_t i = 0; i < 2000 && fare().ways[PATH_GOOD] < 8; i++) {
		w.now += 1000;
		gather();
		for (uint32_t k = 0; k < n_gone; k++)
			if (gone[k].is_probe)
				answer_probe(&gone[k], MRC_MARK_NONE);
	}
	EXPECT_WAYS(.good = 8);
	assert_int_equal(fare().open_ports, 0xff);
	assert_int_equal(COUNT(tx_endpoint), 0);
}

/* 9.3.1: SACK with SKIP_ONCE. The way loses one turn and is good again. */
static void a_mark_skips_a_way_once(void **state)
{
	bool is_taken = false;

	(void)state;
	begin_ways(1);
	connect();
	send_together(8);
	uint32_t way = way_taken(5);

	sack_marked(5, MRC_MARK_SKIP, gone[5].ev);
	EXPECT_WAYS(.good = 7, .skip = 1);
	assert_int_equal(state_of(way), PATH_SKIP);
	for (uint32_t i = 0; i < 64 && state_of(way) == PATH_SKIP; i++) {
		send_together(1);
		assert_int_not_equal(gone[0].way, way);
	}
	EXPECT_WAYS(.good = 8);
	send_together(32);
	for (uint32_t i = 0; i < n_gone; i++)
		is_taken |= gone[i].way == way;
	assert_true(is_taken);
	/* No mark, no skip. */
	sack_marked(6, MRC_MARK_NONE, gone[6].ev);
	EXPECT_WAYS(.good = 8);
}

static void a_trim_skips_its_way_but_not_at_the_last_hop(void **state)
{
	(void)state;
	begin_ways(1);
	connect();
	send_together(8);
	nack_marked(3, MRC_NACK_TRIMMED_LASTHOP, gone[3].ev);
	EXPECT_WAYS(.good = 8);
	nack_marked(4, MRC_NACK_TRIMMED, gone[4].ev);
	EXPECT_WAYS(.good = 7, .skip = 1);
	assert_int_equal(state_of(way_taken(4)), PATH_SKIP);
}

static void a_way_that_the_peer_calls_bad_is_out(void **state)
{
	(void)state;
	begin_ways(1);
	connect();
	send_together(8);
	uint32_t way = way_taken(2);

	sack_marked(2, MRC_MARK_ALWAYS_SKIP, gone[2].ev);
	EXPECT_WAYS(.good = 7, .bad = 1);
	assert_int_equal(state_of(way), PATH_ASSUMED_BAD);
	/* And is probed. */
	w.now += 2 * WIDTH;
	gather();
	assert_int_equal(n_probes(), 1);
	expect_probe_of(&gone[0], way);
}

/* MRC-9.3.2-01: by the packet's own record, whichever port it left by; what the SACK or NACK
 * says of the entropy is the same for both. */
static void the_plane_is_known_by_the_packet(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < 3 * 4; k++) {
		uint32_t way = k / 3;

		begin_twins();
		send_together(16);
		uint64_t n = packet_by(way);

		if (k % 3 == 0)
			sack_marked(n, MRC_MARK_SKIP, twins[way].ev);
		else if (k % 3 == 1)
			nack_marked(n, MRC_NACK_TRIMMED, twins[way].ev);
		else
			sack_marked(n, MRC_MARK_ALWAYS_SKIP, twins[way].ev);
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(state_of(i), i != way     ? PATH_GOOD
						      : k % 3 == 2 ? PATH_ASSUMED_BAD
								   : PATH_SKIP);
	}
}

/* Of a packet that was retransmitted it is not known which time is meant; of one that is out no
 * more there is no record. What is left is the entropy. */
static void else_the_way_is_known_by_the_entropy(void **state)
{
	(void)state;
	begin_twins();
	send_together(4);
	nack(0, MRC_NACK_NO_BITMAP);
	assert_int_equal(gather(), 1);
	assert_int_equal(gone[0].h.bth.rtx, 1);
	/* Another than it took last. */
	uint32_t other = way_taken(0) % 2 == 0;

	sack_marked(0, MRC_MARK_SKIP, twins[other].ev);
	EXPECT_WAYS(.good = 3, .skip = 1);
	assert_int_equal(state_of(other), PATH_SKIP);
	/* Out no more. */
	ack(3);
	SACK(.cack = 3, .from = 3, .acked = 3);
	say((struct mrc_pkt){.bth = {.opcode = MRC_OP_SACK},
			     .seth = {.cack_psn = psn_of(3),
				      .entropy = twins[1 - other].ev,
				      .m = MRC_MARK_SKIP,
				      .cc_type = MRC_CC_TYPE_NSCC}});
	EXPECT_WAYS(.good = 2, .skip = 2);
	assert_int_equal(state_of(1 - other), PATH_SKIP);
	/* Of no way. */
	say((struct mrc_pkt){.bth = {.opcode = MRC_OP_SACK},
			     .seth = {.cack_psn = psn_of(3),
				      .entropy = 0xc0000000,
				      .m = MRC_MARK_ALWAYS_SKIP,
				      .cc_type = MRC_CC_TYPE_NSCC}});
	EXPECT_WAYS(.good = 2, .skip = 2);
	assert_int_equal(COUNT(rx_sack), 4);
}

static void oblivious_of_all_that(void **state)
{
	(void)state;
	begin_ways(1);
	w.end[0].qp[0].attr.flags = MRC_OBLIVIOUS;
	warm();
	lose_by_gap();
	EXPECT_WAYS(.good = 8);
	sack_marked(30, MRC_MARK_SKIP, w.end[0].ways[0].ev);
	nack_marked(3, MRC_NACK_TRIMMED, w.end[0].ways[1].ev);
	sack_marked(30, MRC_MARK_ALWAYS_SKIP, w.end[0].ways[2].ev);
	EXPECT_WAYS(.good = 8);
	w.now += TIMEOUT_NS(LONG_TIMEOUT) + WIDTH;
	gather();
	assert_int_equal(COUNT(timeouts), 1);
	EXPECT_WAYS(.good = 8);
	w.now += RTT;
	gather();
	assert_int_equal(COUNT(tx_endpoint), 0);
}

/* What leaves of 64 packets goes by these ways only, and by each of them. */
static void expect_taken(uint64_t ways)
{
	uint64_t seen_ways = 0;

	for (uint32_t i = 0; i < 64; i++)
		post_packets(1);
	gather();
	assert_int_equal(n_gone, 64);
	for (uint32_t i = 0; i < n_gone; i++)
		seen_ways |= UINT64_C(1) << gone[i].way;
	assert_int_equal(seen_ways, ways);
	ack((int64_t)q->req.sent.next - 1);
	for (struct done done; end_poll(&w.end[0], &done);)
		continue;
}

/* 9.3.2.1: ways 0 to 3 are of port 0, 4 to 7 of port 1. */
static void ports_of_a_queue_pair_are_denied(void **state)
{
	struct mrc_attr attr = {.denied_ports = 4};

	(void)state;
	begin_ways(2);
	connect();
	expect_taken(0xff);
	deny_ports(2);
	EXPECT_WAYS(.good = 4, .denied = 4);
	assert_int_equal(fare().open_ports, 1);
	expect_taken(0x0f);
	/* New ways, same word. */
	set_ways(q->attr.ways, 0);
	expect_taken(0x0f);
	deny_ports(1);
	EXPECT_WAYS(.good = 4, .denied = 4);
	expect_taken(0xf0);
	deny_ports(0);
	EXPECT_WAYS(.good = 8);
	expect_taken(0xff);
	/* There is no port 2. */
	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, OURS, &attr, MRC_SET_DENIED_PORTS),
			 -EINVAL);
	EXPECT_WAYS(.good = 8);
}

static void ports_are_denied_before_the_start(void **state)
{
	(void)state;
	begin_ways(2);
	join_to(MRC_RESET);
	q = pair_of(0, 0);
	w.end[0].qp[0].attr.denied_ports = 1;
	assert_int_equal(end_set(&w.end[0], w.now, 0, MRC_INIT, MRC_SET_DENIED_PORTS), 0);
	end_rise(&w.end[0], w.now, 0, MRC_RTS);
	expect_taken(0xf0);
}

static void a_profile_denies_ways_and_ports(void **state)
{
	static struct ways set;

	(void)state;
	begin_ways(2);
	ways_make(&set, twins, 4);
	path_profile_deny(&set.profile, 3, true);
	w.end[0].qp[0].attr.ways = &set.profile;
	connect();
	EXPECT_WAYS(.good = 3, .denied = 1);
	expect_taken(0x7);
	path_profile_deny_ports(&set.profile, 1);
	set_ways(&set.profile, 0);
	EXPECT_WAYS(.good = 1, .denied = 3);
	expect_taken(0x4);
	/* The word of the queue pair does not take back the profile's. */
	deny_ports(0);
	EXPECT_WAYS(.good = 1, .denied = 3);
}

static void a_way_is_denied_and_allowed_again(void **state)
{
	(void)state;
	begin_ways(2);
	connect();
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, 2, true), 0);
	EXPECT_WAYS(.good = 7, .denied = 1);
	expect_taken(0xfb);
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, 2, false), 0);
	EXPECT_WAYS(.good = 8);
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
	assert_int_equal(gone[0].way, 6);
	/* A queue pair without ways has none to deny. */
	struct mrc_attr attr = {.state = MRC_RESET};

	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, OURS, &attr, MRC_SET_STATE), 0);
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, 0, true), -EINVAL);
	EXPECT_WAYS(.good = 0);
}

/* What left before has no way among the new ones, nor do the probes of the old. */
static void ways_are_replaced_under_packets(void **state)
{
	static struct ways set;

	(void)state;
	begin_ways(1);
	warm();
	ways_make(&set, twins, 2);
	uint32_t way = lose_by_gap();

	w.now += 2 * WIDTH;
	gather();
	assert_int_equal(n_probes(), 1);
	assert_int_equal(state_of(way), PATH_ASSUMED_BAD);
	send_each(30);
	set_ways(&set.profile, 0);
	EXPECT_WAYS(.good = 2);
	assert_int_equal(mrc_usage(w.end[0].e).probes, 0);
	respond();
	w.now += 10000;
	SACK(.cack = 31, .from = 33, .map = (1u << 27) - 1, .acked = 59);
	assert_int_equal(COUNT(lost_gap), 2);
	EXPECT_WAYS(.good = 2);
	/* Marked ones of those, too. */
	sack_marked(60, MRC_MARK_ALWAYS_SKIP, w.end[0].ways[0].ev);
	EXPECT_WAYS(.good = 2);
	gather();
	assert_true(n_data() >= 1 && gone[0].way < 2);
}

static void bursts_take_one_way(void **state)
{
	uint32_t changes = 0;

	(void)state;
	begin_ways(2);
	w.end[0].qp[0].attr.burst = 4;
	connect();
	send_together(32);
	for (uint32_t i = 1; i < 32; i++) {
		changes += gone[i].way != gone[i - 1].way;
		if (i % 4 > 0)
			assert_int_equal(gone[i].way, gone[i - 1].way);
	}
	assert_int_equal(changes, 7);
	/* Without a word, each packet has its own. */
	set_ways(q->attr.ways, 0);
	send_together(32);
	for (uint32_t i = 1; i < 32; i++)
		assert_int_not_equal(gone[i].way, gone[i - 1].way);
}

/* A driver sends a burst by one call as long as it is not cut: pulls of six and bursts of four
 * would meet only in every third. */
static void a_pull_begins_a_burst(void **state)
{
	static const uint16_t room[ENGINE_PORTS] = {8, 8, 8, 8, 8, 8, 8, 8};
	uint32_t before = UINT32_MAX;

	(void)state;
	begin_ways(2);
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
static void queue_pairs_take_ways_in_orders_of_their_own(void **state)
{
	uint32_t evs[2][64], same = 0;

	(void)state;
	begin_ways(1);
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
	cmocka_unit_test(a_gap_takes_its_way_out),
	cmocka_unit_test(gaps_take_their_ways_out),
	cmocka_unit_test(an_overdue_packet_takes_its_way_out),
	cmocka_unit_test(a_packet_that_a_probe_misses_takes_its_way_out),
	cmocka_unit_test(a_timeout_takes_its_way_out),
	cmocka_unit_test(what_is_told_takes_nothing_out),
	cmocka_unit_test(clean_probes_bring_a_way_back),
	cmocka_unit_test(a_loss_from_before_its_return_takes_nothing_out),
	cmocka_unit_test(arrivals_clear_a_port),
	cmocka_unit_test(failed_probes_do_not),
	cmocka_unit_test(the_answer_says_how_a_way_is),
	cmocka_unit_test(probes_have_identifiers_of_their_own),
	cmocka_unit_test(recovery_needs_no_ev_probes),
	cmocka_unit_test(a_mark_skips_a_way_once),
	cmocka_unit_test(a_trim_skips_its_way_but_not_at_the_last_hop),
	cmocka_unit_test(a_way_that_the_peer_calls_bad_is_out),
	cmocka_unit_test(the_plane_is_known_by_the_packet),
	cmocka_unit_test(else_the_way_is_known_by_the_entropy),
	cmocka_unit_test(oblivious_of_all_that),
	cmocka_unit_test(ports_of_a_queue_pair_are_denied),
	cmocka_unit_test(ports_are_denied_before_the_start),
	cmocka_unit_test(a_profile_denies_ways_and_ports),
	cmocka_unit_test(a_way_is_denied_and_allowed_again),
	cmocka_unit_test(ways_are_replaced_under_packets),
	cmocka_unit_test(bursts_take_one_way),
	cmocka_unit_test(a_pull_begins_a_burst),
	cmocka_unit_test(queue_pairs_take_ways_in_orders_of_their_own),
};

CHECK_MAIN(cases)
