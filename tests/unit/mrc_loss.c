/* Loss and its repair, between two engines on a wire that a script spoils: what is retransmitted,
 * when, and how often; and when a silent peer is given up. */
#define PMTU 4096u
#include "mrc_peer.h"

#define DELAY    5000u
#define RTT      (2 * DELAY)
#define TICK     100u /* between packets of the flow */
#define TIMEOUT  14u  /* 16.8 ms: no test but those of silence comes there */
#define MESSAGE  (16 * PMTU)
#define PER_WORK 16u

static uint64_t posted, polled;
static uint32_t target, n_drops; /* of a script: the packet it is about, and how often */
static nsec first_at, retx_at;   /* when that packet was sent first, and last */

static void begin_tries(uint32_t timeout, uint32_t linear, uint32_t exponential)
{
	start(1);
	for (uint32_t i = 0; i < 2; i++) {
		struct end *s = &w.end[i];

		s->is_virtual = true;
		s->cfg.cc.window_bytes = UINT64_C(1) << 22;
		for (uint32_t k = 0; k < END_QPS; k++) {
			s->qp[k].attr.pmtu = PMTU;
			s->qp[k].attr.mpr = 16;
			s->qp[k].attr.sq_psn = SQ_PSN;
			s->qp[k].attr.timeout = (uint8_t)timeout;
			s->qp[k].attr.linear_retries = (uint8_t)linear;
			s->qp[k].attr.exp_retries = (uint8_t)exponential;
			s->qp[k].attr.flags = MRC_OBLIVIOUS; /* packets alone are looked at here */
		}
	}
	w.delay = DELAY;
	posted = polled = 0;
	target = n_drops = 0;
	first_at = retx_at = 0;
}

static void begin_two(void)
{
	begin_tries(TIMEOUT, 3, 4);
}

static void begin_joined(void)
{
	begin_two();
	join();
}

static void post_bytes(uint32_t len)
{
	post((struct work){.cookie = ++posted, .len = len, .code = ENGINE_WRITE});
}

static void take_done(void)
{
	struct done done;

	while (end_poll(&w.end[0], &done)) {
		assert_int_equal(done.cookie, ++polled);
		assert_int_equal(done.status, ENGINE_OK);
	}
}

static void expect_quiet_end(void)
{
	run();
	take_done();
	assert_int_equal(polled, posted);
	check_records(0);
	check_idle(&w.end[0]);
	check_idle(&w.end[1]);
	check_ends();
}

/* A flow of a packet each TICK until `until`: works are posted as they are needed. */
static void flow_until(nsec until)
{
	w.is_held[0] = true;
	while (w.now < until) {
		run_until(w.now + TICK);
		take_done();
		while (posted - polled < 60)
			post_bytes(MESSAGE);
		send_some(0, wide, 1);
		check_records(0);
	}
}

/* What is posted is sent at that pace, until all is done. */
static void flow_out(void)
{
	for (uint32_t i = 0; polled < posted; i++) {
		assert_true(i < 400000);
		run_until(w.now + TICK);
		take_done();
		send_some(0, wide, 1);
		check_records(0);
	}
	w.is_held[0] = false;
	expect_quiet_end();
}

static uint64_t n_lost(void)
{
	const struct mrc_counters *c = counts(&w.end[0]);

	return c->lost_gap + c->lost_probe + c->lost_nack + c->lost_timeout;
}

/* Drops the target's first n_drops transmissions, and notes when it goes. */
static void drop_target(uint32_t from, const struct end_pkt *p, struct fate *fate)
{
	if (from != 0 || !is_data(p->h.bth.opcode) || p->h.bth.psn != psn24_of(SQ_PSN + target).v)
		return;
	if (first_at == 0)
		first_at = w.now;
	retx_at = w.now;
	if (n_drops > 0) {
		n_drops--;
		fate->is_lost = true;
	}
}

static void timeouts_grow_as_the_table_says(void **state)
{
	const struct {
		uint8_t timeout, linear;
		uint32_t i;
		nsec want;
	} cases[] = {
		{0, 0, 0, 1024},
		{0, 0, 1, 2048},
		{0, 0, 2, 4096},
		{3, 0, 0, 8192},
		{3, 2, 2, 8192},
		{3, 2, 3, 16384},
		{3, 2, 5, 65536},
		{24, 0, 0, UINT64_C(1024) << 24},
		{24, 0, 1, UINT64_C(1024) << 24},
		{20, 7, 7, UINT64_C(1024) << 20},
		{20, 7, 11, UINT64_C(1024) << 24},
		{20, 7, 12, UINT64_C(1024) << 24},
		{0, 0, 24, UINT64_C(1024) << 24},
		{0, 0, 25, UINT64_C(1024) << 24},
		{24, 7, UINT32_MAX, UINT64_C(1024) << 24},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct mrc_attr attr = {.timeout = cases[i].timeout,
					.linear_retries = cases[i].linear};

		assert_int_equal(mrc_timeout_ns(&attr, cases[i].i), cases[i].want);
	}
}

static void a_flow_without_loss_repeats_nothing(void **state)
{
	(void)state;
	begin_joined();
	flow_until(w.now + 100 * RTT);
	flow_out();
	assert_int_equal(COUNT(tx_retx), 0);
	assert_int_equal(COUNT(tx_probe), 0);
	assert_int_equal(n_lost(), 0);
	assert_int_equal(COUNT(timeouts), 0);
	assert_in_range(pair_of(0, 0)->req.srtt, RTT - RTT / 8, RTT + RTT / 8);
}

static void a_single_loss_is_repaired_within_two_round_trips(void **state)
{
	(void)state;
	for (target = 200; target < 220; target++) {
		uint32_t which = target;

		begin_joined();
		target = which;
		n_drops = 1;
		w.script = drop_target;
		flow_until(w.now + 60 * RTT);
		flow_out();
		assert_int_equal(COUNT(tx_retx), 1);
		assert_int_equal(COUNT(lost_gap), 1);
		assert_int_equal(COUNT(tx_probe), 0);
		assert_int_equal(COUNT(timeouts), 0);
		assert_true(retx_at + DELAY - first_at <= 2 * RTT);
	}
}

/* All of a message leaves at once, so that nothing was sent long after what is lost: it is overdue
 * when those that overtook it are acknowledged. */
static void a_loss_in_a_short_message_is_repaired_within_two_round_trips(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < PER_WORK - 1; i++) {
		begin_joined();
		for (uint32_t k = 0; k < 10; k++) {
			post_bytes(MESSAGE);
			run();
			take_done();
		}
		target = 10 * PER_WORK + i;
		n_drops = 1;
		w.script = drop_target;
		post_bytes(MESSAGE);
		expect_quiet_end();
		assert_int_equal(COUNT(tx_retx), 1);
		assert_int_equal(COUNT(lost_gap), 1);
		assert_int_equal(COUNT(tx_probe), 0);
		assert_int_equal(COUNT(timeouts), 0);
		assert_true(retx_at + DELAY - first_at <= 2 * RTT);
	}
}

static void the_last_packet_is_found_by_a_probe(void **state)
{
	(void)state;
	begin_joined();
	for (uint32_t k = 0; k < 10; k++) {
		post_bytes(MESSAGE);
		run();
		take_done();
	}
	target = 11 * PER_WORK - 1;
	n_drops = 1;
	w.script = drop_target;
	post_bytes(MESSAGE);
	nsec sent = w.now, wait = 3 * RTT; /* 2 * srtt, and what varies */

	expect_quiet_end();
	assert_int_equal(COUNT(tx_probe), 1);
	assert_int_equal(COUNT(lost_probe), 1);
	assert_int_equal(COUNT(tx_retx), 1);
	assert_int_equal(COUNT(timeouts), 0);
	assert_true(retx_at - sent <= RTT + wait + RTT);
	assert_int_equal(seen(0, MRC_OP_PROBE_REQUEST, 0)->tclass, ENGINE_DATA);
}

/* Nothing is known of the peer yet: only the timeout remains. */
static void the_very_first_packet_waits_for_the_timeout(void **state)
{
	(void)state;
	begin_joined();
	n_drops = 1;
	w.script = drop_target;
	post_bytes(100);
	expect_quiet_end();
	assert_int_equal(COUNT(timeouts), 1);
	assert_int_equal(COUNT(lost_timeout), 1);
	assert_int_equal(COUNT(tx_probe), 0);
	assert_in_range(retx_at - first_at, TIMEOUT_NS(TIMEOUT), TIMEOUT_NS(TIMEOUT) + 2 * WIDTH);
}

/* SACKs have their say once. Then its own time must pass, though others arrive all the while, and
 * it is the time of the first try (MRC-7.4.4-15). */
static void a_lost_repair_waits_for_its_timeout(void **state)
{
	nsec timeout = TIMEOUT_NS(TIMEOUT);

	(void)state;
	for (uint32_t extra = 0; extra < 3; extra++) {
		begin_joined();
		target = 300;
		n_drops = 2 + extra;
		w.script = drop_target;
		flow_until(w.now + 3 * RTT);
		nsec first = first_at;

		flow_until(w.now + (1 + extra) * timeout);
		flow_out();
		assert_int_equal(COUNT(tx_retx), 2 + extra);
		assert_int_equal(COUNT(lost_gap), 1);
		assert_int_equal(COUNT(lost_probe), 0);
		assert_int_equal(COUNT(timeouts), 1 + extra);
		assert_in_range(retx_at - first, (1 + extra) * timeout,
				(1 + extra) * timeout + 8 * RTT);
	}
}

/* Not by SACKs that come of their own, nor by those that answer probes: the target never arrives,
 * and the peer says so all the while. */
static void sacks_repeat_a_packet_once(void **state)
{
	(void)state;
	begin_two();
	w.end[1].qp[0].attr.mpr = 4;
	join();
	target = 100;
	n_drops = UINT32_MAX;
	w.script = drop_target;
	flow_until(w.now + 80 * RTT);
	assert_true(COUNT(tx_probe) > 2);
	assert_int_equal(COUNT(tx_retx), 1);
	assert_int_equal(COUNT(lost_gap), 1);
	assert_int_equal(n_lost(), 1);
	/* The peer's range is full: the rest waits for the one. */
	assert_int_equal(pair_of(0, 0)->req.sent.una, target);
	assert_int_equal(pair_of(0, 0)->req.sent.next, target + 4 * MRC_MPR_UNIT);
	w.script = NULL;
	flow_out();
	assert_int_equal(COUNT(tx_retx), 2);
}

static void drop_sacks(uint32_t from, const struct end_pkt *p, struct fate *fate)
{
	(void)from;
	fate->is_lost = p->h.bth.opcode == MRC_OP_SACK;
}

static void transport_acks_alone_carry_a_flow(void **state)
{
	(void)state;
	begin_joined();
	w.script = drop_sacks;
	flow_until(w.now + 50 * RTT);
	flow_out();
	assert_int_equal(COUNT(timeouts), 0);
	assert_int_equal(COUNT(tx_retx), 0);
}

static void drop_acks(uint32_t from, const struct end_pkt *p, struct fate *fate)
{
	(void)from;
	if (p->h.bth.opcode == MRC_OP_ACKNOWLEDGE && n_drops > 0) {
		n_drops--;
		fate->is_lost = true;
	}
}

/* What SACKs say ends no work (MRC-7.2.1-02): the last packet is retransmitted until its Transport
 * ACK comes. */
static void lost_transport_acks_are_asked_for(void **state)
{
	(void)state;
	for (uint32_t lost = 1; lost < 5; lost++) {
		begin_joined();
		post_bytes(MESSAGE);
		run();
		take_done();
		n_drops = lost;
		w.script = drop_acks;
		post_bytes(MESSAGE);
		run_until(w.now + RTT + 2000);
		expect_nothing(0);
		check_records(0);
		expect_quiet_end();
		assert_int_equal(COUNT(tx_retx), lost);
		assert_int_equal(COUNT(tx_probe), 0);
		assert_int_equal(COUNT(timeouts), 0);
		assert_int_equal(n_lost(), 0);
	}
}

static uint32_t sack_odds;

static void drop_some_sacks(uint32_t from, const struct end_pkt *p, struct fate *fate)
{
	drop_target(from, p, fate);
	if (p->h.bth.opcode == MRC_OP_SACK)
		fate->is_lost = chance(sack_odds);
}

/* A map tells of 64 packets, and maps get lost: nobody is taken for lost who was not said to be
 * missing. */
static void lost_sacks_repeat_nothing_else(void **state)
{
	(void)state;
	for (sack_odds = 100; sack_odds <= 900; sack_odds += 100) {
		begin_two();
		w.seed = sack_odds;
		prng_init(&w.rng, sack_odds, 0);
		for (uint32_t i = 0; i < 2; i++)
			w.end[i].cfg.sack_every_bytes = 128 * PMTU;
		join();
		target = 500;
		n_drops = 1;
		w.script = drop_some_sacks;
		flow_until(w.now + 100 * RTT);
		flow_out();
		assert_int_equal(COUNT(tx_retx), 1);
		assert_int_equal(COUNT(timeouts), 0);
	}
}

/* Each port's packets take their own time. What is learnt in the beginning holds. */
static void reordering_that_is_known_repeats_nothing(void **state)
{
	(void)state;
	for (nsec apart = 200; apart <= 2000; apart += 300) {
		begin_two();
		w.end[0].cfg.n_ports = w.end[1].cfg.n_ports = 4;
		for (uint32_t p = 0; p < 4; p++)
			w.port_delay[p] = p * apart;
		join();
		flow_until(w.now + 40 * RTT);
		uint64_t before = COUNT(tx_retx);

		flow_until(w.now + 100 * RTT);
		assert_int_equal(COUNT(tx_retx), before);
		flow_out();
		assert_int_equal(COUNT(tx_retx), before);
		assert_int_equal(COUNT(timeouts), 0);
		/* Three eighths of the round trip are granted from the start. */
		if (4 * apart <= 3 * RTT / 8)
			assert_int_equal(before, 0);
		assert_true(pair_of(0, 0)->req.reorder_ns <= pair_of(0, 0)->req.srtt);
	}
}

/* And the bound that was learnt does not hide a loss. */
static void a_loss_among_reordered_packets_is_repaired(void **state)
{
	(void)state;
	begin_two();
	w.end[0].cfg.n_ports = w.end[1].cfg.n_ports = 4;
	for (uint32_t p = 0; p < 4; p++)
		w.port_delay[p] = p * 1800;
	join();
	flow_until(w.now + 40 * RTT);
	uint64_t before = COUNT(tx_retx);

	target = (uint32_t)pair_of(0, 0)->req.sent.next + 100;
	n_drops = 1;
	w.script = drop_target;
	flow_until(w.now + 60 * RTT);
	flow_out();
	assert_int_equal(COUNT(tx_retx), before + 1);
	assert_int_equal(COUNT(timeouts), 0);
	assert_true(retx_at + DELAY - first_at <= 3 * RTT);
}

static nsec dark_from, dark_until;

static void drop_in_the_dark(uint32_t from, const struct end_pkt *p, struct fate *fate)
{
	(void)from;
	(void)p;
	fate->is_lost = w.now >= dark_from && w.now < dark_until;
}

/* The time that all silences of a queue pair take, each after the one before it. */
static nsec give_up_ns(uint32_t linear, uint32_t exponential, nsec base)
{
	nsec sum = 0;

	for (uint32_t i = 0; i <= linear + exponential; i++)
		sum += i <= linear ? base : base << (i - linear);
	return sum;
}

static void silence_ends_the_queue_pair_at_its_time(void **state)
{
	static const uint8_t tries[][2] = {{0, 0}, {0, 1}, {1, 0}, {7, 0}, {0, 5}, {3, 4}, {7, 7}};

	(void)state;
	for (uint32_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
		uint32_t linear = tries[i][0], exponential = tries[i][1];

		for (uint32_t is_warm = 0; is_warm < 2; is_warm++) {
			begin_tries(8, linear, exponential);
			join();
			if (is_warm) {
				post_bytes(MESSAGE);
				run();
				take_done();
			}
			dark_from = w.now;
			dark_until = NSEC_NEVER;
			w.script = drop_in_the_dark;
			post_bytes(MESSAGE);
			post_bytes(MESSAGE);
			nsec end = w.now + give_up_ns(linear, exponential, TIMEOUT_NS(8));

			run_until(end - 1);
			expect_nothing(0);
			check_records(0);
			assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
			run_until(end + WIDTH);
			assert_int_equal(end_state(&w.end[0], 0), MRC_ERROR);
			expect_done(0, (struct done){.cookie = ++polled,
						     .status = ENGINE_RETRY_EXCEEDED});
			expect_done(0, (struct done){.cookie = ++polled, .status = ENGINE_FLUSHED});
			run();
			expect_nothing(0);
			assert_int_equal(COUNT(failed), 1);
			assert_int_equal(COUNT(timeouts), linear + exponential + 1);
			assert_int_equal(COUNT(tx_retx), 2 * PER_WORK * (linear + exponential));
			check_idle(&w.end[0]);
		}
	}
}

static void a_black_out_within_the_tries_is_survived(void **state)
{
	(void)state;
	begin_tries(8, 3, 4);
	join();
	flow_until(w.now + 20 * RTT);
	dark_from = w.now;
	dark_until = w.now + give_up_ns(3, 4, TIMEOUT_NS(8)) - (TIMEOUT_NS(8) << 4) + 2 * RTT;
	w.script = drop_in_the_dark;
	w.is_held[0] = false;
	run_until(w.now + RTT);
	take_done();
	run_until(dark_until);
	expect_nothing(0);
	assert_int_equal(pair_of(0, 0)->req.tries, 7);
	expect_quiet_end();
	assert_int_equal(COUNT(timeouts), 7);
	assert_int_equal(COUNT(failed), 0);
	assert_int_equal(pair_of(0, 0)->req.tries, 0);
	/* The next silence is a first one again. */
	dark_from = w.now;
	dark_until = NSEC_NEVER;
	post_bytes(100);
	run_until(w.now + give_up_ns(3, 4, TIMEOUT_NS(8)) + WIDTH);
	expect_done(0, (struct done){.cookie = ++polled, .status = ENGINE_RETRY_EXCEEDED});
}

static void endless_retries_never_fail(void **state)
{
	(void)state;
	begin_tries(0, 0, MRC_EXP_MAX);
	join();
	dark_from = w.now;
	/* Each silence is twice the one before, up to 17 s. */
	dark_until = w.now + UINT64_C(5000000000000);
	w.script = drop_in_the_dark;
	post_bytes(100);
	run_until(dark_until);
	expect_nothing(0);
	assert_true(COUNT(timeouts) > 200);
	expect_quiet_end();
	assert_int_equal(COUNT(failed), 0);
}

/* Until the timeout, probes go in doubled distances, each on another EV. */
static void unanswered_probes_are_repeated_more_and_more_slowly(void **state)
{
	(void)state;
	begin_joined();
	for (uint32_t k = 0; k < 20; k++) {
		post_bytes(MESSAGE);
		run();
		take_done();
	}
	dark_from = w.now;
	dark_until = NSEC_NEVER;
	w.script = drop_in_the_dark;
	post_bytes(100);
	nsec sent = w.now;

	run_until(w.now + TIMEOUT_NS(TIMEOUT) - 1000);
	assert_int_equal(COUNT(timeouts), 0);
	uint32_t n = n_seen(0, MRC_OP_PROBE_REQUEST);

	assert_in_range(n, 8, 11);
	nsec last = seen(0, MRC_OP_PROBE_REQUEST, 0)->at, gap = last - sent;

	assert_in_range(gap, 2 * RTT, 4 * RTT);
	for (uint32_t i = 1; i < n; i++) {
		const struct sighting *p = seen(0, MRC_OP_PROBE_REQUEST, i);

		assert_in_range(p->at - last, 2 * gap - 2 * WIDTH, 2 * gap + 2 * WIDTH);
		assert_int_not_equal(p->ev, seen(0, MRC_OP_PROBE_REQUEST, i - 1)->ev);
		assert_int_equal(p->h.peth.probe_id,
				 seen(0, MRC_OP_PROBE_REQUEST, i - 1)->h.peth.probe_id + 1);
		assert_int_equal(p->h.peth.ftype, MRC_FTYPE_TIMESTAMP);
		gap = p->at - last;
		last = p->at;
	}
}

/* What a SACK leaves open is not taken for lost: only what its map, its cack_psn, or a count that
 * agrees with our records says is missing. */
static void only_what_is_said_to_be_missing_is_lost(void **state)
{
	(void)state;
	begin_by_hand(200);
	/* The 201st arrived, and all but packets 1 and 130; nothing is told of 2 ... 100. */
	SACK(.cack = 0, .from = 101, .map = ~(UINT64_C(1) << 29), .acked = 200, .ooo = 198);
	assert_int_equal(COUNT(lost_gap), 2);
	pull_all();
	/* Now the rest is told of, and it is complete: but all of it is here. */
	SACK(.cack = 0, .from = 2, .map = UINT64_MAX, .acked = 65, .ooo = 198);
	SACK(.cack = 0, .from = 66, .map = UINT64_MAX, .acked = 66, .ooo = 198);
	assert_int_equal(COUNT(lost_gap), 2);
	SACK(.cack = 0, .from = 138, .map = UINT64_MAX >> 1, .acked = 166, .ooo = 198);
	assert_int_equal(COUNT(lost_gap), 2);
}

/* What was retransmitted is judged by SACKs no more, however long ago that was. */
static void what_was_retransmitted_is_not_judged(void **state)
{
	(void)state;
	for (uint32_t is_all = 0; is_all < 2; is_all++) {
		begin_by_hand(40);
		nack(30, MRC_NACK_TRIMMED);
		assert_int_equal(pull_all(), 1);
		w.now += 50000;
		post_packets(1);
		assert_int_equal(pull_all(), 1);
		w.now += 40000;
		/* Packet 41 was sent 50 us after it, and arrived, with all others. */
		SACK(.cack = 29, .from = 31, .map = 0x7ff, .acked = 41, .ooo = is_all ? 11 : 12);
		assert_int_equal(q->req.sent.una, 30);
		assert_int_equal(COUNT(lost_gap), 0);
	}
}

/* Nobody overtook what was sent last: it is only not told of yet, or the way has become long. */
static void what_nobody_overtook_is_not_overdue(void **state)
{
	(void)state;
	begin_by_hand(40);
	sack_all(20);
	for (uint32_t i = 0; i < 80; i++) {
		w.now += 1000;
		assert_int_equal(pull_all(), 0);
	}
	assert_int_equal(n_lost(), 0);
	/* One that was overtaken is. */
	SACK(.cack = 20, .from = 20, .acked = 22, .map = 5, .ooo = 1);
	w.now += 1000;
	assert_int_equal(pull_all(), 1);
	assert_int_equal(COUNT(lost_gap), 1);
}

/* The bound grows with what comes late, but not much beyond the round trip, and shrinks again. */
static void the_bound_is_learnt(void **state)
{
	(void)state;
	begin_by_hand(100);
	SACK(.cack = 0, .from = 20, .acked = 20, .map = 1, .ooo = 90);
	assert_int_equal(q->req.reorder_ns, 3 * q->req.srtt / 8);
	/* 17 us behind packet 20. */
	SACK(.cack = 0, .from = 3, .acked = 3, .map = 1, .ooo = 90);
	assert_in_range(q->req.reorder_ns, 17000, 23000);
	SACK(.cack = 0, .from = 100, .acked = 100, .map = 1, .ooo = 90);
	SACK(.cack = 0, .from = 4, .acked = 4, .map = 1, .ooo = 90);
	assert_in_range(q->req.reorder_ns, 96000, q->req.srtt + 4 * q->req.rttvar);
	nsec high = q->req.reorder_ns;

	ack(100);
	for (uint32_t i = 1; i <= 100; i++)
		expect_end(i + 1, ENGINE_OK);
	for (int64_t i = 101; i < 2000; i++) {
		post_packets(1);
		pull_all();
		w.now += 40000;
		sack_all(i);
		ack(i);
		expect_end((uint64_t)i + 1, ENGINE_OK);
	}
	assert_true(q->req.reorder_ns < high / 2);
	assert_true(q->req.reorder_ns >= 3 * q->req.srtt / 8);
}

/* A packet that is here at once after it was retransmitted was not lost. */
static void a_needless_repeat_widens_the_bound(void **state)
{
	(void)state;
	begin_by_hand(60);
	SACK(.cack = 10, .from = 11, .acked = 60, .map = 0xfffffffffffe, .ooo = 90);
	assert_int_equal(COUNT(lost_gap), 1);
	uint16_t first = stamp_of(11);

	assert_int_equal(pull_all(), 1);
	nsec bound = q->req.reorder_ns;

	w.now += 5000;
	SACK(.cack = 58, .from = 58, .acked = 11, .stamp = first);
	assert_in_range(q->req.reorder_ns, 2 * bound - 1000, 2 * bound);
	/* After a whole round trip it was the repeat that arrived. */
	begin_by_hand(60);
	SACK(.cack = 10, .from = 11, .acked = 60, .map = 0xfffffffffffe, .ooo = 90);
	assert_int_equal(pull_all(), 1);
	w.now += 40000;
	SACK(.cack = 58, .from = 58, .acked = 11, .is_retx = true);
	assert_in_range(q->req.reorder_ns, bound - 1000, bound);
}

/* Before the first round trip is known nobody is judged, and silence alone brings the Transport ACK
 * back. */
static void without_a_round_trip_nobody_is_judged(void **state)
{
	(void)state;
	begin();
	w.end[0].qp[0].attr.timeout = TIMEOUT;
	w.end[0].is_virtual = w.end[1].is_virtual = true;
	connect();
	for (uint32_t i = 0; i < 4; i++) {
		post_packets(1);
		w.now += 10000;
		pull_all();
	}
	nack(0, MRC_NACK_NO_BITMAP);
	pull_all();
	/* What came back is no measure: the packet was sent twice, and the stamp is missing. */
	SACK(.cack = 0, .from = 2, .map = 2, .acked = 0, .is_other = true);
	assert_int_equal(q->req.srtt, 0);
	assert_int_equal(COUNT(lost_gap), 0);
	SACK(.cack = 3, .from = 3, .acked = 0, .is_other = true);
	assert_int_equal(q->req.sent.una, 4);
	assert_int_equal(q->req.srtt, 0);
	w.now += TIMEOUT_NS(TIMEOUT) + WIDTH;
	assert_int_equal(pull_all(), 1);
	assert_int_equal(w.end[0].out[0].h.bth.psn, psn_of(3));
	assert_int_equal(COUNT(timeouts), 1);
	ack(3);
	check_idle(&w.end[0]);
}

/* Whoever pulls rarely does not make the peer's time longer than by that once. */
static void lateness_does_not_add_up(void **state)
{
	(void)state;
	begin_tries(8, 7, 3);
	join();
	dark_from = 0;
	dark_until = NSEC_NEVER;
	w.script = drop_in_the_dark;
	post_bytes(100);
	send_some(0, wide, END_BATCH);
	nsec end = w.now + give_up_ns(7, 3, TIMEOUT_NS(8));

	w.is_held[0] = true;
	while (end_state(&w.end[0], 0) == MRC_RTS) {
		assert_true(w.now < end + 2 * 1009);
		w.now += 1009;
		send_some(0, wide, END_BATCH);
	}
	assert_in_range(w.now, end, end + 1009 + WIDTH);
}

/* Whatever is lost, doubled, trimmed or late: all is done in order, and the records are right. */
static void random_faults_leave_the_records_right(void **state)
{
	uint64_t seed = check_seed(20260);

	(void)state;
	for (uint64_t i = 0; i < 60; i++) {
		begin_tries(7, 7, MRC_EXP_MAX);
		w.seed = seed + i;
		prng_init(&w.rng, w.seed, 0);
		w.end[0].cfg.n_ports = w.end[1].cfg.n_ports = 1 + below(4);
		w.end[0].cfg.cc.window_bytes = UINT64_C(1) << (13 + below(10));
		w.end[0].cfg.max_out_pkts = 64 + below(512);
		w.end[0].qp[0].attr.pmtu = (uint16_t)(256u << below(5));
		w.lose = below(200);
		w.twice = below(100);
		w.trim = below(100);
		w.jitter = below(3000);
		w.squeeze = below(500);
		join();
		for (uint32_t k = 0; k < 40; k++)
			post_bytes(below(20000));
		for (uint32_t steps = 0; step_until(NSEC_NEVER); steps++) {
			assert_true(steps < STEPS_MAX);
			take_done();
			check_records(0);
		}
		expect_quiet_end();
		assert_true(COUNT(lost_gap) <= COUNT(tx_data));
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(timeouts_grow_as_the_table_says),
	cmocka_unit_test(a_flow_without_loss_repeats_nothing),
	cmocka_unit_test(a_single_loss_is_repaired_within_two_round_trips),
	cmocka_unit_test(a_loss_in_a_short_message_is_repaired_within_two_round_trips),
	cmocka_unit_test(the_last_packet_is_found_by_a_probe),
	cmocka_unit_test(the_very_first_packet_waits_for_the_timeout),
	cmocka_unit_test(a_lost_repair_waits_for_its_timeout),
	cmocka_unit_test(sacks_repeat_a_packet_once),
	cmocka_unit_test(transport_acks_alone_carry_a_flow),
	cmocka_unit_test(lost_transport_acks_are_asked_for),
	cmocka_unit_test(lost_sacks_repeat_nothing_else),
	cmocka_unit_test(reordering_that_is_known_repeats_nothing),
	cmocka_unit_test(a_loss_among_reordered_packets_is_repaired),
	cmocka_unit_test(silence_ends_the_queue_pair_at_its_time),
	cmocka_unit_test(a_black_out_within_the_tries_is_survived),
	cmocka_unit_test(endless_retries_never_fail),
	cmocka_unit_test(unanswered_probes_are_repeated_more_and_more_slowly),
	cmocka_unit_test(only_what_is_said_to_be_missing_is_lost),
	cmocka_unit_test(what_was_retransmitted_is_not_judged),
	cmocka_unit_test(what_nobody_overtook_is_not_overdue),
	cmocka_unit_test(the_bound_is_learnt),
	cmocka_unit_test(a_needless_repeat_widens_the_bound),
	cmocka_unit_test(without_a_round_trip_nobody_is_judged),
	cmocka_unit_test(lateness_does_not_add_up),
	cmocka_unit_test(random_faults_leave_the_records_right),
};

CHECK_MAIN(cases)
