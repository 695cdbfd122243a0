/* A requestor with few tries, and works of one packet each without bytes, whose peer is a script.
 */
#ifndef WEFT_TESTS_SUPPORT_MRC_WORD_H
#define WEFT_TESTS_SUPPORT_MRC_WORD_H

#include "mrc_peer.h"

#define TIMEOUT 10u

/* With few tries, and no bytes. */
static inline void begin_here(void)
{
	begin();
	w.end[0].qp[0].caps.max_send = 512;
	w.end[0].qp[0].caps.max_send_sge = 1;
	w.end[0].qp[0].attr.timeout = TIMEOUT;
	w.end[0].qp[0].attr.linear_retries = 1;
	w.end[0].qp[0].attr.exp_retries = 2;
	w.end[0].is_virtual = w.end[1].is_virtual = true;
}

/* n works of one packet each are out. */
static inline void begin_sent(uint32_t n)
{
	begin_here();
	connect();
	for (uint32_t i = 0; i < n; i++)
		post_packets(1);
	assert_int_equal(pull_all(), n);
}

/* The packet that goes next, alone, is retransmitted. */
static inline void expect_retx(int64_t count)
{
	assert_int_equal(pull(), 1);
	const struct mrc_bth *bth = &w.end[0].out[0].h.bth;

	assert_int_equal(bth->opcode, MRC_OP_WRITE_ONLY);
	assert_int_equal(bth->psn, psn_of(count));
	assert_int_equal(bth->rtx, 1);
}

/* What the peer refused waits; no longer. */
static inline void pass_pause(void)
{
	if (w.now < q->req.pause_until)
		w.now = q->req.pause_until;
}

/* A first round trip of 40 us, so that probes are 120 us after what was received last at most. */
static inline void begin_timed(uint8_t flags)
{
	begin_here();
	w.end[0].qp[0].attr.flags = flags;
	connect();
	post_packets(1);
	pull_all();
	uint16_t stamp = mrc_stamp(w.now);

	w.now += 40000;
	SACK(.cack = 0, .from = 0, .acked = 0, .stamp = flags & MRC_NO_TIMESTAMPS ? 0 : stamp);
	ack(0);
	assert_in_range(q->req.srtt, 40000, 40063);
	expect_end(1, ENGINE_OK);
}

static inline void wait_for_probe(void)
{
	for (uint32_t i = 0; pull() == 0; i++) {
		assert_true(i < 10000);
		w.now += 1000;
	}
	assert_int_equal(w.end[0].n_out, 1);
	assert_int_equal(w.end[0].out[0].h.bth.opcode, MRC_OP_PROBE_REQUEST);
}

#endif
