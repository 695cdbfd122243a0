/* cc/nscc.h in a closed loop: flows through one queue that marks as Ultra Ethernet 1.0 recommends
 * (3.6.17), all acknowledged one round trip after they left it. */
#include "cc/nscc.h"

#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "cc/cc.h"
#include "check.h"

/* Time goes in slots, in each of which the queue lets one packet go: 4000 bytes at 100 Gb/s. */
#define PACKET   4000u
#define SLOT_NS  UINT64_C(320)
#define RTT      40u /* slots, and packets of one BDP */
#define FLOWS    8u
#define DEPTH    1024u
#define PER_SLOT 4u /* a sender's link is that much faster */

struct packet {
	uint32_t flow, sent_slot;
	bool is_marked;
};

struct loop {
	struct cc_cfg cfg;
	struct cc cc[FLOWS];
	uint32_t out[FLOWS], acked[FLOWS]; /* packets */
	bool is_on[FLOWS];
	struct packet queue[DEPTH], ev[RTT];
	bool has[RTT]; /* a packet is on that slot of the way back */
	uint32_t head, n, slot, longest, served;
	struct prng p;
};

static void loop_start(struct loop *l, bool has_trimming)
{
	memset(l, 0, sizeof *l);
	l->cfg = (struct cc_cfg){
		.kind = CC_NSCC,
		.window_bytes = UINT64_MAX,
		.line_rate_bps = 400000000000,
		.nscc = {.base_rtt_ns = RTT * SLOT_NS,
			 .receiver_bps = 100000000000,
			 .mtu_bytes = PACKET,
			 .has_trimming = has_trimming},
	};
	prng_init(&l->p, check_seed(0x25ce), 0);
}

static nsec now_of(const struct loop *l)
{
	return 1000000 + l->slot * SLOT_NS;
}

static void turn_on(struct loop *l, uint32_t flow)
{
	l->is_on[flow] = true;
	cc_start(&l->cc[flow], &l->cfg, now_of(l));
}

static void receive(struct loop *l)
{
	const struct packet *k = &l->ev[l->slot % RTT];

	if (!l->has[l->slot % RTT])
		return;
	l->has[l->slot % RTT] = false;
	l->out[k->flow]--;
	l->acked[k->flow]++;
	struct cc_ack a = {
		.now = now_of(l),
		.rtt_ns = (l->slot - k->sent_slot) * SLOT_NS,
		.bytes = PACKET,
		.pkts = 1,
		.out_bytes = l->out[k->flow] * PACKET,
		.is_marked = k->is_marked,
	};

	cc_on_ack(&l->cc[k->flow], &a);
}

/* A queue deeper than one BDP trims, where switches do: the flow learns of it a round trip later in
 * truth, here at once. */
static void enqueue(struct loop *l, uint32_t flow)
{
	if (l->cfg.nscc.has_trimming && l->n >= RTT) {
		struct cc_ack trim = {
			.now = now_of(l), .bytes = PACKET, .out_bytes = l->out[flow] * PACKET};

		cc_on_loss(&l->cc[flow], &trim, CC_LOSS_TRIM);
		return;
	}
	assert_true(l->n < DEPTH);
	l->queue[(l->head + l->n++) % DEPTH] = (struct packet){flow, l->slot, false};
	l->out[flow]++;
	l->longest = l->n > l->longest ? l->n : l->longest;
}

/* Marks as a packet leaves: none at 0.2 BDP, all at 0.8. */
static void serve(struct loop *l)
{
	if (l->n == 0)
		return;
	struct packet k = l->queue[l->head];
	uint32_t low = RTT / 5, high = RTT * 4 / 5, depth = --l->n;

	l->head = (l->head + 1) % DEPTH;
	depth = depth < low ? low : depth > high ? high : depth;
	k.is_marked = prng_chance(&l->p, depth - low, high - low);
	l->ev[l->slot % RTT] = k;
	l->has[l->slot % RTT] = true;
	l->served++;
}

static void run(struct loop *l, uint32_t slots)
{
	for (uint32_t end = l->slot + slots; l->slot < end; l->slot++) {
		receive(l);
		for (uint32_t i = 0; i < FLOWS * PER_SLOT; i++) {
			uint32_t flow = (i + l->slot) % FLOWS;
			uint64_t window = l->is_on[flow] ? cc_grant(&l->cc[flow]).window_bytes : 0;

			if (l->out[flow] * (uint64_t)PACKET < window)
				enqueue(l, flow);
		}
		serve(l);
	}
}

/* Starts to count anew. */
static void settle(struct loop *l)
{
	memset(l->acked, 0, sizeof l->acked);
	l->longest = l->n;
	l->served = 0;
}

static double jain(const struct loop *l)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < FLOWS; i++) {
		sum += l->acked[i];
		squares += (double)l->acked[i] * l->acked[i];
	}
	return sum * sum / (FLOWS * squares);
}

static void one_flow_fills_the_link(void **state)
{
	static struct loop l;

	(void)state;
	loop_start(&l, false);
	turn_on(&l, 0);
	run(&l, 20 * RTT);
	assert_true(l.served >= 19 * RTT);
	settle(&l);
	run(&l, 500 * RTT);
	printf("one flow: %u of %u slots, queue %u\n", l.served, 500 * RTT, l.longest);
	assert_true(l.served * 100 >= 500 * RTT * 95);
	assert_true(l.longest < RTT); /* the target is base_rtt */
	/* Also from the smallest window. */
	l.cc[0].u.nscc.cwnd_q24 = (uint64_t)PACKET << 24;
	run(&l, 25 * RTT);
	settle(&l);
	run(&l, 10 * RTT);
	assert_true(l.served * 100 >= 10 * RTT * 95);
}

/* Eight begin at once with a window of 1.5 BDP each, or one after the other. */
static void check_shares(bool has_trimming, bool is_staggered)
{
	static struct loop l;

	loop_start(&l, has_trimming);
	for (uint32_t i = 0; i < FLOWS; i++) {
		turn_on(&l, i);
		run(&l, is_staggered ? 10 * RTT : 0);
	}
	run(&l, 400 * RTT);
	settle(&l);
	run(&l, 400 * RTT);
	printf("eight, trimming %d, staggered %d: %u of %u slots, queue %u, Jain %.3f\n",
	       has_trimming, is_staggered, l.served, 400 * RTT, l.longest, jain(&l));
	assert_true(l.served * 100 >= 400 * RTT * 95);
	assert_true(l.longest <= 2 * RTT);
	assert_true(jain(&l) >= 0.95);
	/* Seven stop. What they had out drains, and the last takes the link. */
	for (uint32_t i = 1; i < FLOWS; i++)
		l.is_on[i] = false;
	run(&l, 2 * RTT);
	uint32_t trips = 2;

	for (uint32_t before = 0; trips < 40; trips++) {
		before = l.served;
		run(&l, RTT);
		if (l.served - before >= RTT * 9 / 10)
			break;
	}
	printf("the last takes the link in %u round trips\n", trips);
	assert_true(trips <= 15);
}

static void eight_flows_share_and_yield(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		check_shares(i & 1, i >> 1 & 1);
}

static void same_calls_same_answers(void **state)
{
	static struct loop a, b;

	(void)state;
	loop_start(&a, true);
	loop_start(&b, true);
	for (uint32_t i = 0; i < FLOWS; i++) {
		turn_on(&a, i);
		turn_on(&b, i);
	}
	run(&a, 100 * RTT);
	for (uint32_t i = 0; i < 100; i++)
		run(&b, RTT);
	for (uint32_t i = 0; i < FLOWS; i++) {
		assert_int_equal(a.cc[i].u.nscc.cwnd_q24, b.cc[i].u.nscc.cwnd_q24);
		assert_int_equal(a.acked[i], b.acked[i]);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(one_flow_fills_the_link),
	cmocka_unit_test(eight_flows_share_and_yield),
	cmocka_unit_test(same_calls_same_answers),
};

CHECK_MAIN(cases)
