/* Requests of RC that are well formed and still may not be executed: keys, ranges, rights, limits
 * (IBTA 9.7.4, 9.9.3 table 57), and receives that are not posted (IBTA 9.7.5.2.8). One case each.
 */
#include "rc_twins.h"

#define OTHER_KEY 0x99u

/* What touches memory of ours. */
static const uint8_t touching[] = {ROCE_OP_WRITE_ONLY,     ROCE_OP_WRITE_FIRST,
				   ROCE_OP_WRITE_ONLY_IMM, ROCE_OP_READ_REQUEST,
				   ROCE_OP_COMPARE_SWAP,   ROCE_OP_FETCH_ADD};
#define N_TOUCHING sizeof touching

/* A request of that kind for va and key, of eight bytes, or of many where it is a first. */
static struct crafted *touch(uint8_t opcode, uint64_t va, uint32_t key)
{
	uint32_t payload = opcode == ROCE_OP_WRITE_FIRST ? PMTU : 8;
	uint16_t stack;

	assert_true(roce_opcode_stack(opcode, &stack));
	if (!(stack & ROCE_PAYLOAD))
		payload = 0;
	struct crafted *c = request(opcode, payload);

	c->h.reth.va = c->h.atomic.va = va;
	c->h.reth.rkey = c->h.atomic.rkey = key;
	c->h.reth.dmalen = opcode == ROCE_OP_WRITE_FIRST ? PMTU + 8 : 8;
	craft(c, payload);
	return c;
}

/* Refused as a fault of protection. A write with immediate data has taken its receive, which tells
 * of it (IBTA 11.6.2). */
static void refuse_access(uint8_t opcode, uint64_t va, uint32_t key)
{
	struct end *s = &d.end[SUBJECT];
	struct crafted *c = touch(opcode, va, key);
	struct done done;

	if (opcode != ROCE_OP_WRITE_ONLY_IMM) {
		refuse(c, AETH_NAK_REMOTE_ACCESS);
		return;
	}
	feed(SUBJECT, c);
	assert_true(end_poll(s, &done));
	assert_int_equal(done.cookie, 100);
	assert_int_equal(done.status, ENGINE_LOCAL_ACCESS);
	assert_int_equal(done.code, ENGINE_DONE_RECEIVED);
	expect_aeth(AETH_NAK, AETH_NAK_REMOTE_ACCESS, d.rq_psn);
	expect_flushed(3, 3);
	assert_memory_equal(s->area, d.end[TWIN].area, sizeof s->area);
	check_balance(s);
}

static void key_unknown(void **state)
{
	static const uint32_t keys[] = {0, 1, 0xdead, UINT32_MAX};

	(void)state;
	for (uint32_t i = 0; i < N_TOUCHING; i++)
		for (uint32_t k = 0; k < 4; k++) {
			born(4);
			refuse_access(touching[i], area_va(TARGET), keys[k]);
		}
}

/* A byte before the region, or after it. */
static void range_outside(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < N_TOUCHING; i++) {
		born(4);
		refuse_access(touching[i], area_va(TARGET) - 8, area_key(&d.end[0], TARGET));
		born(4);
		refuse_access(touching[i], area_va(TARGET) + AREA, area_key(&d.end[0], TARGET));
	}
	/* All but the last byte inside; atomics cannot be, for their alignment. */
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t len = touching[i] == ROCE_OP_WRITE_FIRST ? PMTU + 8 : 8;

		born(4);
		refuse_access(touching[i], area_va(TARGET) + AREA - len + 1,
			      area_key(&d.end[0], TARGET));
	}
}

/* An address whose end is beyond 2^64. */
static void range_wrap(void **state)
{
	struct mem_entry top = {.iova = UINT64_MAX - 0xfff,
				.len = 0x1000,
				.key = OTHER_KEY,
				.pd = PD,
				.access = ALL_ACCESS};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		born(4);
		top.at = area_at(&d.end[SUBJECT], TARGET, 0);
		assert_int_equal(mem_add(d.end[SUBJECT].mem, &top), 0);
		refuse_access(touching[i], UINT64_MAX - 3, OTHER_KEY);
	}
}

/* A region that does not give the right: to write, to read, to do atomics. */
static void no_permission(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < N_TOUCHING; i++) {
		struct mem_entry entry = {
			.iova = area_va(TARGET), .len = AREA, .key = OTHER_KEY, .pd = PD};
		uint8_t right = touching[i] == ROCE_OP_READ_REQUEST ? MEM_REMOTE_READ
				: i < 3                             ? MEM_REMOTE_WRITE
								    : MEM_REMOTE_ATOMIC;

		born(4);
		entry.at = area_at(&d.end[SUBJECT], TARGET, 0);
		entry.access = ALL_ACCESS & (uint8_t)~right;
		assert_int_equal(mem_add(d.end[SUBJECT].mem, &entry), 0);
		refuse_access(touching[i], area_va(TARGET), OTHER_KEY);
	}
}

/* What the queue pair itself does not allow is an operation it does not have. */
static void qp_without_permission(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < N_TOUCHING; i++) {
		struct engine_attr attr = {.access = MEM_LOCAL_WRITE};

		born(4);
		assert_int_equal(
			rc_qp_modify(d.end[SUBJECT].e, d.now, OURS, &attr, ENGINE_SET_ACCESS), 0);
		refuse(touch(touching[i], area_va(TARGET), area_key(&d.end[0], TARGET)),
		       AETH_NAK_INVALID_REQUEST);
	}
}

static void key_of_other_domain(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < N_TOUCHING; i++) {
		struct mem_entry entry = {.iova = area_va(TARGET),
					  .len = AREA,
					  .key = OTHER_KEY,
					  .pd = PD + 1,
					  .access = ALL_ACCESS};

		born(4);
		entry.at = area_at(&d.end[SUBJECT], TARGET, 0);
		assert_int_equal(mem_add(d.end[SUBJECT].mem, &entry), 0);
		refuse_access(touching[i], area_va(TARGET), OTHER_KEY);
	}
}

/* A window of type 2 that another queue pair bound, and one that nobody did. */
static void window_of_other_qp(void **state)
{
	struct mem_entry window = {.key = OTHER_KEY, .pd = PD, .kind = MEM_WINDOW_2};
	struct mem_binding to = {.va = area_va(TARGET),
				 .len = 4096,
				 .new_key = OTHER_KEY,
				 .qp = OURS + 1,
				 .access = MEM_REMOTE_WRITE};

	(void)state;
	for (uint32_t is_bound = 0; is_bound < 2; is_bound++) {
		born(4);
		to.region = area_key(&d.end[0], TARGET);
		assert_int_equal(mem_add(d.end[SUBJECT].mem, &window), 0);
		if (is_bound)
			assert_int_equal(mem_bind(d.end[SUBJECT].mem, OTHER_KEY, &to), 0);
		refuse_access(ROCE_OP_WRITE_ONLY, area_va(TARGET), OTHER_KEY);
	}
}

static void misaligned_atomic(void **state)
{
	(void)state;
	for (uint32_t off = 1; off < 8; off++) {
		born(4);
		refuse(touch(ROCE_OP_FETCH_ADD, area_va(TARGET) + off, area_key(&d.end[0], TARGET)),
		       AETH_NAK_INVALID_REQUEST);
		born(4);
		refuse(touch(ROCE_OP_COMPARE_SWAP, area_va(TARGET) + off,
			     area_key(&d.end[0], TARGET)),
		       AETH_NAK_INVALID_REQUEST);
	}
}

/* Neither the address on the wire nor the place in memory may be misaligned, where they differ. */
static void misaligned_region(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct mem_entry entry = {.len = 64,
					  .iova = 0x8000 + (i ? 4 : 0),
					  .key = OTHER_KEY,
					  .pd = PD,
					  .access = ALL_ACCESS};

		born(4);
		entry.at = area_at(&d.end[SUBJECT], TARGET, i ? 0 : 4);
		assert_int_equal(mem_add(d.end[SUBJECT].mem, &entry), 0);
		refuse(touch(ROCE_OP_FETCH_ADD, entry.iova, OTHER_KEY), AETH_NAK_INVALID_REQUEST);
	}
}

/* No message is longer than 2^31 bytes (IBTA 9.7.2), whatever a region would hold. */
static void length_over_2_gib(void **state)
{
	static const uint32_t lengths[] = {(UINT32_C(1) << 31) + 1, UINT32_MAX};
	struct mem_entry large = {.iova = 0,
				  .len = UINT64_C(1) << 40,
				  .key = OTHER_KEY,
				  .pd = PD,
				  .access = ALL_ACCESS};

	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t k = 0; k < 2; k++) {
			struct crafted *c;

			born(4);
			assert_int_equal(mem_add(d.end[SUBJECT].mem, &large), 0);
			c = touch(k ? ROCE_OP_READ_REQUEST : ROCE_OP_WRITE_FIRST, 0, OTHER_KEY);
			c->h.reth.dmalen = lengths[i];
			craft(c, k ? 0 : PMTU);
			refuse(c, AETH_NAK_INVALID_REQUEST);
		}
	/* As long as that, a write may begin. */
	born(4);
	assert_int_equal(mem_add(d.end[SUBJECT].mem, &large), 0);
	struct crafted *c = touch(ROCE_OP_WRITE_FIRST, 0, OTHER_KEY);

	c->h.reth.dmalen = UINT32_C(1) << 31;
	craft(c, PMTU);
	feed(SUBJECT, c);
	expect_aeth(AETH_ACK, 4, d.rq_psn);
}

/* Without bytes no key is looked at (IBTA C9-88). */
static void no_bytes_no_key(void **state)
{
	struct crafted *c;

	(void)state;
	born(4);
	c = request(ROCE_OP_WRITE_ONLY, 0);
	c->h.reth = (struct reth){0, 0xdead, 0};
	craft(c, 0);
	feed(SUBJECT, c);
	d.msn = 1;
	expect_aeth(AETH_ACK, 4, d.rq_psn);
	d.rq_psn = psn_plus(d.rq_psn, 1);
	c = request(ROCE_OP_READ_REQUEST, 0);
	c->h.reth = (struct reth){UINT64_MAX, 0xdead, 0};
	craft(c, 0);
	feed(SUBJECT, c);
	assert_int_equal(only_answer()->bth.opcode, ROCE_OP_READ_RESPONSE_ONLY);
	assert_int_equal(end_state(&d.end[SUBJECT], 0), ENGINE_RTS);
}

/* A send without a receive is put off, as often as it comes; what is behind it is not answered.
 * Once there is a receive all is as if it had come then. */
static void no_receive_posted(void **state)
{
	static const uint8_t opcodes[] = {ROCE_OP_SEND_ONLY, ROCE_OP_SEND_FIRST,
					  ROCE_OP_SEND_ONLY_IMM, ROCE_OP_WRITE_ONLY_IMM};
	static const size_t but[] = {COUNTER(rx_rnr_sent), COUNTER(tx_nak), COUNTER(drop_ahead), 0};

	(void)state;
	for (uint32_t i = 0; i < sizeof opcodes; i++) {
		uint32_t len = opcodes[i] == ROCE_OP_SEND_FIRST ? PMTU : 16;
		struct crafted *c;

		born(0);
		for (uint32_t k = 1; k <= 3; k++) {
			feed(SUBJECT, request(opcodes[i], len));
			expect_aeth(AETH_RNR_NAK, 1, d.rq_psn);
			assert_int_equal(counts(&d.end[SUBJECT])->rx_rnr_sent, k);
			c = request(ROCE_OP_SEND_ONLY, 8);
			c->h.bth.psn = psn_plus(d.rq_psn, 1);
			craft(c, 8);
			feed(SUBJECT, c);
			assert_int_equal(counts(&d.end[SUBJECT])->drop_ahead, k);
			check_same(but);
		}
		for (uint32_t e = 0; e < 2; e++)
			for (uint32_t k = 0; k < 4; k++)
				assert_int_equal(end_recv(&d.end[e], d.now, 0, 1024 * k, 1000, k),
						 0);
		if (opcodes[i] != ROCE_OP_SEND_FIRST)
			live_on(but);
	}
}

/* More reads at once than were agreed on. */
static void too_many_reads(void **state)
{
	struct end *s = &d.end[SUBJECT];

	(void)state;
	born(4);
	assert_int_equal(end_set(s, d.now, 0, ENGINE_SQD, 0), 0);
	struct engine_attr attr = {.dest_rd_atomic = 2};

	assert_int_equal(rc_qp_modify(s->e, d.now, OURS, &attr, ENGINE_SET_DEST_RD_ATOMIC), 0);
	assert_int_equal(end_set(s, d.now, 0, ENGINE_RTS, 0), 0);
	for (uint32_t i = 0; i < 3; i++) {
		feed(SUBJECT,
		     touch(ROCE_OP_READ_REQUEST, area_va(TARGET), area_key(&d.end[0], TARGET)));
		d.rq_psn = psn_plus(d.rq_psn, 1);
	}
	assert_int_equal(counts(s)->rx_nak_sent, 1);
	assert_int_equal(end_state(s, 0), ENGINE_ERROR);
	assert_int_equal(end_pull(s, d.now, wide, END_BATCH), 3);
	assert_int_equal(s->out[2].h.aeth.type, AETH_NAK);
	assert_int_equal(s->out[2].h.aeth.value, AETH_NAK_INVALID_REQUEST);
	assert_int_equal(s->out[2].h.bth.psn, psn_plus(d.rq_psn, -1));
	assert_int_equal(s->out[2].h.aeth.msn, 2);
}

/* A send that shall invalidate what is no window of ours: the receive is spent, the peer refused.
 */
static void invalidate_unknown(void **state)
{
	static const uint32_t n_keys = 2;
	struct end *s = &d.end[SUBJECT];

	(void)state;
	for (uint32_t i = 0; i < n_keys; i++) {
		struct crafted *c;
		struct done done;

		born(4);
		c = request(ROCE_OP_SEND_ONLY_INV, 0);
		c->h.ieth.rkey = i ? area_key(&d.end[0], TARGET) : 0xdead;
		craft(c, 0);
		feed(SUBJECT, c);
		expect_aeth(AETH_NAK, AETH_NAK_REMOTE_ACCESS, d.rq_psn);
		assert_true(end_poll(s, &done));
		assert_int_equal(done.cookie, 100);
		assert_int_not_equal(done.status, ENGINE_OK);
		expect_flushed(3, 3);
		assert_int_equal(end_state(s, 0), ENGINE_ERROR);
		assert_non_null(mem_entry(s->mem, area_key(s, TARGET)));
	}
}

/* A region that goes while a write arrives, or a read is answered: nothing more of it is touched.
 */
static void region_gone_in_between(void **state)
{
	struct end *s = &d.end[SUBJECT];
	struct crafted *c;

	(void)state;
	born(4);
	c = touch(ROCE_OP_WRITE_FIRST, area_va(TARGET), area_key(s, TARGET));
	feed(SUBJECT, c);
	feed(TWIN, c);
	expect_aeth(AETH_ACK, 4, d.rq_psn);
	assert_int_equal(mem_remove(s->mem, area_key(s, TARGET)), 0);
	d.rq_psn = psn_plus(d.rq_psn, 1);
	refuse(request(ROCE_OP_WRITE_LAST, 8), AETH_NAK_REMOTE_ACCESS);

	/* Back again, but not to be written. */
	born(4);
	struct mem_entry entry = *mem_entry(s->mem, area_key(s, TARGET));

	c = touch(ROCE_OP_WRITE_FIRST, area_va(TARGET), area_key(s, TARGET));
	feed(SUBJECT, c);
	feed(TWIN, c);
	expect_aeth(AETH_ACK, 4, d.rq_psn);
	entry.access = MEM_LOCAL_WRITE | MEM_REMOTE_READ;
	assert_int_equal(mem_remove(s->mem, entry.key), 0);
	assert_int_equal(mem_add(s->mem, &entry), 0);
	d.rq_psn = psn_plus(d.rq_psn, 1);
	refuse(request(ROCE_OP_WRITE_LAST, 8), AETH_NAK_REMOTE_ACCESS);

	born(4);
	c = touch(ROCE_OP_READ_REQUEST, area_va(TARGET), area_key(s, TARGET));
	c->h.reth.dmalen = 3 * PMTU;
	craft(c, 0);
	feed(SUBJECT, c);
	assert_int_equal(end_pull(s, d.now, wide, 1), 1);
	assert_int_equal(s->out[0].h.bth.opcode, ROCE_OP_READ_RESPONSE_FIRST);
	assert_int_equal(mem_remove(s->mem, area_key(s, TARGET)), 0);
	expect_aeth(AETH_NAK, AETH_NAK_REMOTE_ACCESS, psn_plus(d.rq_psn, 1));
	expect_flushed(3, 4);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(key_unknown),
	cmocka_unit_test(range_outside),
	cmocka_unit_test(range_wrap),
	cmocka_unit_test(no_permission),
	cmocka_unit_test(qp_without_permission),
	cmocka_unit_test(key_of_other_domain),
	cmocka_unit_test(window_of_other_qp),
	cmocka_unit_test(misaligned_atomic),
	cmocka_unit_test(misaligned_region),
	cmocka_unit_test(length_over_2_gib),
	cmocka_unit_test(no_bytes_no_key),
	cmocka_unit_test(no_receive_posted),
	cmocka_unit_test(too_many_reads),
	cmocka_unit_test(invalidate_unknown),
	cmocka_unit_test(region_gone_in_between),
};
CHECK_MAIN(cases)
