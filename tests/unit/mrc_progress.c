/* The requestor's counts for its congestion controller, and how far it is (MRC 8.3 to 8.5, 8.7):
 * what is in flight, what the controller is told, and what its window lets go. */
#include "mrc_evs.h"

#define WRAP (UINT64_C(1) << 32) /* bytes that rcvd_bytes counts before it wraps */
#define MOST 8u                  /* packets of the largest window of NSCC */

/* Nominal bytes of a packet (8.3.1): the UDP length, and 40. */
static const uint32_t one =
	mrc_bth_bytes + meth_bytes + tseth_bytes + reth_bytes + PMTU + UDP_MORE + 40;

/* What the controller was told last, and how often. */
static struct cc_ack reported;
static uint32_t n_acks, n_losses, n_sent;
static uint64_t bytes_sent, bytes_new;
static enum cc_loss why;
static struct cc_ops spy;

static void spy_on_ack(struct cc *c, const struct cc_ack *ack)
{
	(void)c;
	reported = *ack;
	n_acks++;
}

static void spy_on_loss(struct cc *c, const struct cc_ack *ack, enum cc_loss loss)
{
	(void)c;
	reported = *ack;
	why = loss;
	n_losses++;
}

static void spy_on_sent(struct cc *c, nsec now, uint32_t bytes)
{
	(void)c;
	(void)now;
	n_sent++;
	bytes_sent += bytes;
}

static void spy_on_new(struct cc *c, nsec now, uint64_t bytes)
{
	(void)c;
	(void)now;
	bytes_new += bytes;
}

static void place_spy(void)
{
	spy = *q->req.cc.ops;
	spy.on_new = spy_on_new;
	spy.on_ack = spy_on_ack;
	spy.on_loss = spy_on_loss;
	spy.on_sent = spy_on_sent;
	q->req.cc.ops = &spy;
	reported = (struct cc_ack){0};
	n_acks = n_losses = n_sent = 0;
	bytes_sent = bytes_new = 0;
}

/* n packets are out, of one work each. */
static void begin_out(uint32_t n)
{
	begin_evs(1);
	connect();
	place_spy();
	for (uint32_t i = 0; i < n; i++)
		post_packets(1);
	assert_int_equal(pull_all(), n);
}

/* A SACK for all up to cack, and for the packet that caused it, with the peer's count. */
static void sack_bytes(int64_t cack, uint64_t bytes)
{
	say((struct mrc_pkt){
		.bth = {.opcode = MRC_OP_SACK},
		.seth = {.cack_psn = psn_of(cack), .cc_type = MRC_CC_TYPE_NSCC},
		.cc = {.rcvd_bytes = (uint32_t)((bytes + 255) >> 8) & 0xffffff,
		       .ooo_count = UINT16_MAX},
	});
}

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + 255) & ~UINT64_C(255);
}

static void inflight_is_of_nominal_sizes(void **state)
{
	(void)state;
	begin_out(10);
	assert_int_equal(fare().inflight_bytes, 10 * one);
	/* 8.7: OnSend, with the same size, and at once. */
	assert_int_equal(n_sent, 10);
	assert_int_equal(bytes_sent, 10 * one);
	sack_all(3);
	assert_int_equal(fare().inflight_bytes, 6 * one);
	nack(5, MRC_NACK_TRIMMED);
	assert_int_equal(fare().inflight_bytes, 5 * one);
	assert_int_equal(pull_all(), 1);
	assert_int_equal(fare().inflight_bytes, 6 * one);
	assert_int_equal(n_sent, 11);
	ack(9);
	assert_int_equal(fare().inflight_bytes, 0);
	/* Padding counts, and so does immediate data. */
	post((struct work){.cookie = next_cookie(), .len = 5, .code = ENGINE_WRITE_IMM});
	assert_int_equal(pull_all(), 1);
	assert_int_equal(fare().inflight_bytes, one - PMTU + 8 + immdt_bytes);
}

/* 8.7: the controller learns of a packet once nothing can keep it any more. */
static void a_packet_that_cannot_go_is_not_counted(void **state)
{
	(void)state;
	begin_evs(1);
	w.end[0].n_qps = 2;
	w.end[0].cfg.max_out_pkts = ENGINE_SENT_PKTS;
	connect();
	gather();
	place_spy();
	/* No port. */
	deny_ports(1);
	post_packets(1);
	assert_int_equal(gather(), 0);
	assert_int_equal(n_sent, 0);
	assert_int_equal(fare().inflight_bytes, 0);
	/* A port, and no room to keep its record. */
	post((struct work){.qp = 1, .cookie = 9, .len = PMTU, .code = ENGINE_WRITE});
	assert_int_equal(gather(), 1);
	deny_ports(0);
	assert_int_equal(gather(), 0);
	assert_int_equal(n_sent, 0);
	assert_int_equal(fare().inflight_bytes, 0);
	ack_qp(1, 0);
	assert_int_equal(gather(), 1);
	assert_int_equal(n_sent, 1);
	assert_int_equal(fare().inflight_bytes, one);
}

static void received_bytes_ahead_of_the_map_count(void **state)
{
	(void)state;
	begin_out(10);
	sack_bytes(0, 5 * one);
	assert_int_equal(reported.bytes, rounded(5 * one));
	assert_int_equal(reported.pkts, 1);
	assert_int_equal(fare().inflight_bytes, 10 * one - rounded(5 * one));
	assert_int_equal(reported.out_bytes, fare().inflight_bytes);
	/* The map follows: nothing is told twice. */
	SACK(.cack = 0, .from = 2, .map = 0xf, .acked = 2);
	assert_int_equal(reported.pkts, 4);
	assert_int_equal(reported.bytes, 0);
	assert_int_equal(fare().inflight_bytes, 10 * one - rounded(5 * one));
	/* A peer that does not count: the map does. */
	sack_all(8);
	assert_int_equal(reported.bytes, 9 * one - rounded(5 * one));
	assert_int_equal(fare().inflight_bytes, one);
	sack_bytes(9, 10 * one);
	assert_int_equal(reported.bytes, one);
	assert_int_equal(fare().inflight_bytes, 0);
	assert_int_equal(n_acks, 4);
}

/* 8.4: it only grows, so that one that is less is from before. */
static void older_counts_are_ignored(void **state)
{
	(void)state;
	begin_out(10);
	sack_bytes(-1, 5 * one);
	sack_bytes(-1, 4 * one);
	assert_int_equal(reported.bytes, 0);
	assert_int_equal(q->req.reported_bytes, rounded(5 * one));
	sack_bytes(-1, 6 * one);
	assert_int_equal(reported.bytes, rounded(6 * one) - rounded(5 * one));
	assert_int_equal(fare().inflight_bytes, 10 * one - rounded(6 * one));
}

/* M-62: a peer that counts duplicates, or anything else, gives us no more room than what is out
 * takes, and that only until nothing is. */
static void duplicates_that_count_do_not_open_the_window(void **state)
{
	(void)state;
	begin_out(10);
	sack_bytes(-1, 10 * one);
	assert_int_equal(reported.bytes, 10 * one);
	assert_int_equal(fare().inflight_bytes, 0);
	sack_bytes(-1, 500 * one);
	assert_int_equal(reported.bytes, 0);
	post_packets(1);
	assert_int_equal(pull_all(), 1);
	assert_int_equal(fare().inflight_bytes, one);
	/* Nothing is out: all is as it should be. */
	ack(10);
	post_packets(1);
	assert_int_equal(pull_all(), 1);
	assert_int_equal(fare().inflight_bytes, one);
	sack_bytes(-1, 502 * one);
	assert_int_equal(fare().inflight_bytes, 0);
	/* The same by a SACK. */
	begin_out(10);
	sack_bytes(9, 500 * one);
	post_packets(1);
	assert_int_equal(pull_all(), 1);
	assert_int_equal(fare().inflight_bytes, one);
	/* Lost is not out, either. */
	begin_out(10);
	sack_bytes(-1, 5 * one);
	w.now += TIMEOUT_NS(LONG_TIMEOUT) + WIDTH;
	assert_true(pull_all() >= 10);
	assert_int_equal(fare().inflight_bytes, 10 * one);
	/* A SACK that shows all that arrived ends it as well. */
	begin_out(10);
	sack_bytes(3, 9 * one);
	assert_int_equal(fare().inflight_bytes, 10 * one - rounded(9 * one));
	say((struct mrc_pkt){
		.bth = {.opcode = MRC_OP_SACK},
		.seth = {.cack_psn = psn_of(3), .ack_psn_offset = 2, .cc_type = MRC_CC_TYPE_NSCC},
		.cc = {.rcvd_bytes = (uint32_t)(rounded(9 * one) >> 8), .ooo_count = 1},
	});
	assert_int_equal(fare().inflight_bytes, 5 * one);
}

/* MRC-8.4-X02: as if so much had been sent and acknowledged before. */
static void the_count_wraps(void **state)
{
	struct mrc_requester *req;

	(void)state;
	begin_evs(1);
	connect();
	place_spy();
	req = &q->req;
	req->sent.acked_bytes = req->reported_bytes = req->known_bytes = WRAP - 512;
	req->rcvd_units = (WRAP - 512) >> 8;
	for (uint32_t i = 0; i < 10; i++)
		post_packets(1);
	assert_int_equal(pull_all(), 10);
	sack_bytes(-1, WRAP - 512 + 256);
	assert_int_equal(reported.bytes, 256);
	sack_bytes(-1, WRAP + 1024);
	assert_int_equal(reported.bytes, 1024 + 256);
	assert_int_equal(req->reported_bytes, WRAP + 1024);
	assert_int_equal(fare().inflight_bytes, 10 * one - 1024 - 512);
	/* From before the wrap. */
	sack_bytes(-1, WRAP - 256);
	assert_int_equal(reported.bytes, 0);
	assert_int_equal(req->reported_bytes, WRAP + 1024);
}

/* 8.5: what was acknowledged is a loss of no bytes. */
static void a_nack_of_what_arrived_is_a_loss_of_nothing(void **state)
{
	(void)state;
	begin_out(10);
	w.now += RTT;
	SACK(.cack = -1, .from = 4, .map = 1, .acked = 4, .ooo = 99);
	nack(4, MRC_NACK_TRIMMED);
	assert_int_equal(n_losses, 1);
	assert_int_equal(why, CC_LOSS_TRIM);
	assert_int_equal(reported.bytes, 0);
	assert_int_equal(reported.pkts, 0);
	assert_int_equal(reported.out_bytes, 9 * one);
	assert_int_equal(COUNT(lost_nack), 0);
	nack(5, MRC_NACK_TRIMMED);
	assert_int_equal(n_losses, 2);
	assert_int_equal(reported.bytes, one);
	assert_int_equal(reported.out_bytes, 8 * one);
}

/* Table 8-2: each event has its action, and a Transport ACK is none of them. */
static void every_event_has_its_action(void **state)
{
	(void)state;
	begin_out(4);
	ack(0);
	assert_int_equal(n_acks + n_losses, 0);
	sack_all(1);
	assert_int_equal(n_acks, 1);
	assert_int_equal(reported.bytes, 2 * one);
	nack(2, MRC_NACK_TRIMMED);
	assert_int_equal(n_losses, 1);
	assert_int_equal(pull_all(), 1);
	assert_int_equal(n_sent, 5);
	/* Silence, and what is inferred from others. */
	w.now += TIMEOUT_NS(LONG_TIMEOUT) + WIDTH;
	pull_all();
	assert_int_equal(n_losses, 2);
	assert_int_equal(why, CC_LOSS_TIMEOUT);
	assert_int_equal(reported.bytes, 2 * one);
	assert_int_equal(reported.out_bytes, 0);
	begin_evs(1);
	warm();
	place_spy();
	lose_by_gap();
	assert_int_equal(why, CC_LOSS_GAP);
	assert_int_equal(n_losses, 1);
	assert_int_equal(reported.bytes, one);
}

/* 8.6: new work is told of by all that its packets will take, and is backlog until they are sent.
 */
static void new_work_is_told_of(void **state)
{
	static const uint32_t lens[] = {0, 1, PMTU - 1, PMTU, PMTU + 1, 7 * PMTU + 2};

	(void)state;
	for (uint32_t k = 0; k < 4; k++) {
		uint64_t reported_new = 0;

		begin_evs(1);
		w.end[0].qp[0].attr.flags = k & 1 ? MRC_NO_TIMESTAMPS : 0;
		connect();
		place_spy();
		for (uint32_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
			post((struct work){.len = lens[i],
					   .code = k & 2 ? ENGINE_WRITE_IMM : ENGINE_WRITE});
			assert_true(bytes_new > reported_new + lens[i]);
			reported_new = bytes_new;
			assert_int_equal(fare().backlog_bytes, reported_new);
		}
		while (end_pull(&w.end[0], w.now, wide, 1) > 0)
			assert_int_equal(fare().backlog_bytes, reported_new - bytes_sent);
		assert_int_equal(bytes_sent, reported_new);
		/* What is retransmitted is not new; what is given up is none any more. */
		nack(1, MRC_NACK_TRIMMED);
		assert_int_equal(pull_all(), 1);
		assert_int_equal(fare().backlog_bytes, 0);
		post((struct work){.len = 5, .code = ENGINE_WRITE});
		struct mrc_attr attr = {.state = MRC_ERROR};

		assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, OURS, &attr, MRC_SET_STATE), 0);
		assert_int_equal(fare().backlog_bytes, 0);
	}
}

/* Windows of whole packets: the largest has room for MOST of them. They grow by hardly a thing, so
 * that what takes from them is seen. */
static void begin_nscc(void)
{
	begin_evs(1);
	w.end[0].cfg.cc = (struct cc_cfg){
		.kind = CC_NSCC,
		.window_bytes = UINT64_C(1) << 24,
		.line_rate_bps = UINT64_C(100000000000),
		.nscc = {.base_rtt_ns = RTT,
			 .mtu_bytes = one,
			 .max_wnd_bytes = MOST * one,
			 .adjust_period_ns = NSCC_NS_MAX,
			 .alpha_q40 = 1,
			 .fi_q24 = 1},
	};
	w.end[0].cfg.sack_every_bytes = one;
	connect();
}

/* The window, in bytes. */
static uint64_t cwnd(void)
{
	return fare().window_bytes + one - 1;
}

static void expect_activity(enum mrc_activity a)
{
	assert_int_equal(fare().activity, a);
}

/* cwnd > inflight (8.3.1), to the byte. */
static void a_window_that_is_full_to_the_byte(void **state)
{
	(void)state;
	begin_evs(1);
	w.end[0].cfg.cc.window_bytes = 2 * one;
	connect();
	post_packets(3);
	assert_int_equal(gather(), 2);
	assert_int_equal(fare().inflight_bytes, 2 * one);
	expect_activity(MRC_ACTIVE);
	begin_evs(1);
	w.end[0].cfg.cc.window_bytes = 2 * one + 1;
	connect();
	post_packets(3);
	assert_int_equal(gather(), 3);
}

/* Where the peer answers more seldom than the window has bytes, every packet asks (AckRequest). */
static void a_small_window_asks_with_every_packet(void **state)
{
	(void)state;
	for (uint32_t is_small = 0; is_small < 2; is_small++) {
		begin_nscc();
		engine_of(0)->cfg.sack_every_bytes = MOST * one + is_small;
		post_packets(20);
		assert_int_equal(gather(), MOST);
		for (uint32_t i = 0; i < MOST; i++)
			assert_int_equal(gone[i].h.bth.ack_req, is_small || i == MOST - 1);
	}
}

/* UE 3.6.13.6: the packet that closes the window asks, or nobody would tell that it may open. */
static void the_window_holds_data_back(void **state)
{
	(void)state;
	begin_nscc();
	assert_int_equal(cwnd(), MOST * one);
	post_packets(20);
	assert_int_equal(gather(), MOST);
	for (uint32_t i = 0; i < MOST; i++)
		assert_int_equal(gone[i].h.bth.ack_req, i == MOST - 1);
	w.now += RTT;
	assert_int_equal(gather(), 0);
	sack_all(0);
	assert_int_equal(gather(), 1);
	assert_int_equal(gone[0].h.bth.ack_req, 1);
	/* At the end of what there is, too. */
	w.now += RTT;
	sack_all(MOST);
	assert_int_equal(gather(), MOST);
	w.now += RTT;
	sack_all(2 * MOST);
	assert_int_equal(gather(), 3);
	assert_int_equal(gone[0].h.bth.ack_req | gone[1].h.bth.ack_req, 0);
	assert_int_equal(gone[2].h.bth.ack_req, 1);
}

/* 7.5.1, UE 3.6.13.2: the peer takes a part of the window, and gives it back. */
static void penalties_and_their_end_reach_the_window(void **state)
{
	struct mrc_pkt h = {
		.bth = {.opcode = MRC_OP_SACK},
		.seth = {.cc_type = MRC_CC_TYPE_NSCC},
		.cc = {.rcv_cwnd_pen = 64},
	};

	(void)state;
	begin_nscc();
	post_packets(64);
	assert_int_equal(gather(), MOST);
	w.now += RTT;
	h.seth.cack_psn = psn_of(1);
	say(h);
	/* What is out then, less half of what arrived. */
	assert_int_equal(cwnd(), (MOST - 3) * one);
	assert_int_equal(gather(), 0);
	/* Without a penalty nothing is taken, and what grows is little. */
	w.now += 1000;
	h.seth.cack_psn = psn_of(2);
	h.cc.rcv_cwnd_pen = 0;
	say(h);
	assert_in_range(cwnd(), (MOST - 3) * one, (MOST - 2) * one);
	h.cc.restore_cwnd = 1;
	say(h);
	assert_int_equal(cwnd(), MOST * one);
	assert_true(gather() > 0);
}

static void losses_reach_the_window(void **state)
{
	(void)state;
	begin_nscc();
	post_packets(64);
	assert_int_equal(gather(), MOST);
	w.now += RTT;
	nack(2, MRC_NACK_TRIMMED);
	assert_int_equal(cwnd(), (MOST - 1) * one);
	nack(3, MRC_NACK_TRIMMED_LASTHOP);
	assert_int_equal(cwnd(), (MOST - 2) * one);
	/* No room at the peer is no congestion. */
	nack(4, MRC_NACK_NO_BITMAP);
	assert_int_equal(cwnd(), (MOST - 2) * one);
	/* Silence: all five that are out, and down to one packet. */
	w.now += TIMEOUT_NS(LONG_TIMEOUT);
	gather();
	assert_int_equal(COUNT(timeouts), 1);
	assert_int_equal(cwnd(), one);
	assert_int_equal(n_data(), 1);
}

static void a_gap_reaches_the_window(void **state)
{
	(void)state;
	begin_nscc();
	for (uint32_t i = 0; i < MOST; i++) {
		post_packets(1);
		gather();
		w.now += RTT / 2;
	}
	w.now += RTT / 2;
	SACK(.cack = 0, .from = 2, .map = 0x3f, .acked = MOST - 1);
	assert_int_equal(COUNT(lost_gap), 1);
	assert_int_equal(cwnd(), (MOST - 1) * one);
}

/* 8.3, Figure 4: from idle with new work to ready, active, pending, and back. */
static void a_queue_pair_becomes_active_pending_and_idle(void **state)
{
	(void)state;
	begin_nscc();
	expect_activity(MRC_IDLE);
	post_packets(2);
	expect_activity(MRC_READY);
	/* Some of it was sent, and there is room for more. */
	assert_int_equal(end_pull(&w.end[0], w.now, wide, 1), 1);
	expect_activity(MRC_READY);
	gather();
	expect_activity(MRC_PENDING);
	post_packets(10);
	expect_activity(MRC_READY);
	/* The window is full. */
	assert_int_equal(gather(), MOST - 2);
	expect_activity(MRC_ACTIVE);
	/* With all arrived there is room again, and then no more to send. */
	w.now += RTT;
	sack_all(MOST - 1);
	expect_activity(MRC_READY);
	gather();
	expect_activity(MRC_PENDING);
	sack_all(11);
	/* Arrived, but executed only when the Transport ACK says so. */
	expect_activity(MRC_PENDING);
	ack(11);
	expect_activity(MRC_IDLE);
}

/* PENDING to ACTIVE by a NACK, and back as the packet turns out to have arrived; a window that is
 * cut takes READY to ACTIVE without a packet sent. */
static void repairs_move_it_too(void **state)
{
	struct mrc_pkt h = {
		.bth = {.opcode = MRC_OP_SACK},
		.seth = {.cack_psn = psn_of(2), .cc_type = MRC_CC_TYPE_NSCC},
		.cc = {.rcv_cwnd_pen = 127},
	};

	(void)state;
	begin_nscc();
	post_packets(MOST);
	gather();
	expect_activity(MRC_PENDING);
	nack(3, MRC_NACK_TRIMMED);
	expect_activity(MRC_ACTIVE);
	SACK(.cack = -1, .from = 3, .map = 1, .acked = 3, .ooo = 99);
	assert_int_equal(COUNT(spared), 1);
	expect_activity(MRC_PENDING);
	/* Everything arrives, executed or not. */
	nack(0, MRC_NACK_TRIMMED);
	assert_int_equal(q->req.sent.n_lost, 1);
	ack(MOST - 1);
	expect_activity(MRC_IDLE);
	/* By a timeout, and ready as soon as there is room for it. */
	begin_nscc();
	post_packets(1);
	gather();
	w.now += TIMEOUT_NS(LONG_TIMEOUT) + WIDTH;
	end_pull(&w.end[0], w.now, wide, 0);
	expect_activity(MRC_READY);
	gather();
	expect_activity(MRC_PENDING);
	/* The peer's penalty closes the window on what was ready. */
	begin_nscc();
	post_packets(4);
	gather();
	post_packets(2);
	expect_activity(MRC_READY);
	w.now += RTT;
	say(h);
	expect_activity(MRC_ACTIVE);
	assert_int_equal(gather(), 0);
}

/* MRC-8.3-01: records of packets stay until they are acknowledged, and the window and what is known
 * of EVs and round trips even then; all ends in MRC_ERROR, or with the queue pair. */
static void state_is_kept_while_not_idle(void **state)
{
	struct mrc_attr attr = {.state = MRC_ERROR};

	(void)state;
	begin_nscc();
	post_packets(4);
	gather();
	w.now += RTT;
	nack(0, MRC_NACK_TRIMMED);
	expect_activity(MRC_READY);
	assert_int_equal(mrc_usage(w.end[0].e).out_chunks, 1);
	gather();
	sack_marked(2, MRC_MARK_ALWAYS_SKIP, 0);
	uint64_t window = cwnd();

	assert_true(window < MOST * one);
	w.now += RTT;
	gather();
	expect_activity(MRC_PENDING);
	assert_int_equal(mrc_usage(w.end[0].e).out_chunks, 1);
	ack(3);
	expect_activity(MRC_IDLE);
	assert_int_equal(mrc_usage(w.end[0].e).out_chunks, 0);
	w.now += TIMEOUT_NS(24);
	gather();
	assert_int_equal(cwnd(), window);
	assert_int_equal(fare().evs[PATH_ASSUMED_BAD], 1);
	assert_in_range(fare().srtt_ns, 1, 2 * RTT);
	/* PENDING, and the queue pair fails. */
	post_packets(1);
	gather();
	expect_activity(MRC_PENDING);
	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, OURS, &attr, MRC_SET_STATE), 0);
	expect_activity(MRC_IDLE);
	check_idle(&w.end[0]);
}

static void progress_of_nobody(void **state)
{
	struct mrc_progress p;

	(void)state;
	begin_evs(1);
	join_to(MRC_RESET);
	assert_int_equal(mrc_qp_progress(w.end[0].e, OURS + 1, &p), -ENOENT);
	assert_int_equal(mrc_qp_progress(w.end[0].e, OURS, &p), 0);
	assert_int_equal(p.activity, MRC_IDLE);
	assert_int_equal(p.open_ports, 0);
	for (uint32_t i = 0; i < PATH_STATES; i++)
		assert_int_equal(p.evs[i], 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(inflight_is_of_nominal_sizes),
	cmocka_unit_test(a_packet_that_cannot_go_is_not_counted),
	cmocka_unit_test(received_bytes_ahead_of_the_map_count),
	cmocka_unit_test(older_counts_are_ignored),
	cmocka_unit_test(duplicates_that_count_do_not_open_the_window),
	cmocka_unit_test(the_count_wraps),
	cmocka_unit_test(a_nack_of_what_arrived_is_a_loss_of_nothing),
	cmocka_unit_test(every_event_has_its_action),
	cmocka_unit_test(new_work_is_told_of),
	cmocka_unit_test(a_window_that_is_full_to_the_byte),
	cmocka_unit_test(a_small_window_asks_with_every_packet),
	cmocka_unit_test(the_window_holds_data_back),
	cmocka_unit_test(penalties_and_their_end_reach_the_window),
	cmocka_unit_test(losses_reach_the_window),
	cmocka_unit_test(a_gap_reaches_the_window),
	cmocka_unit_test(a_queue_pair_becomes_active_pending_and_idle),
	cmocka_unit_test(repairs_move_it_too),
	cmocka_unit_test(state_is_kept_while_not_idle),
	cmocka_unit_test(progress_of_nobody),
};

CHECK_MAIN(cases)
