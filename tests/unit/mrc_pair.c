/* Queue pairs of MRC: how they are made, which steps they take and with what, how work ends when
 * they fail, are reset, drained or freed, in whatever state. */
#include "mrc/state.h"
#include "mrc_stage.h"

#define NEEDED_RTR (MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP | MRC_SET_RQ_PSN | MRC_SET_MPR)
#define NEEDED_RTS (MRC_SET_SQ_PSN | MRC_SET_MPR_DEST)
#define STATES     (MRC_ERROR + 1)

static struct end *const me = &w.end[0];

static int modify(const struct mrc_attr *attr, uint32_t set)
{
	return mrc_qp_modify(me->e, w.now, me->qp[0].number, attr, set);
}

static struct mrc_attr query(void)
{
	struct mrc_attr attr;

	assert_int_equal(mrc_qp_query(me->e, me->qp[0].number, &attr, NULL, NULL), 0);
	return attr;
}

/* End 0 with one queue pair in a state, by the shortest way there. */
static void rise(uint32_t state)
{
	start(state);
	join_to((uint8_t)(state <= MRC_RTS ? state : MRC_RTS));
	if (state > MRC_RTS)
		assert_int_equal(end_set(me, w.now, 0, (uint8_t)state, 0), 0);
	assert_int_equal(end_state(me, 0), state);
	if (state == MRC_SQD)
		expect_event(me, me->qp[0].number, ENGINE_EVENT_DRAINED);
}

static void sizes(void **state)
{
	const struct mrc_caps good = {.max_send = 1, .max_mpr = 1};
	struct mrc_caps bad[8];

	(void)state;
	assert_true(mrc_qp_size(&good) > 0);
	/* A window advertises: the largest costs places, not records. */
	struct mrc_caps wide_open = good;

	wide_open.max_mpr = MRC_MPR_MAX;
	assert_true(mrc_qp_size(&wide_open) < mrc_qp_size(&good) + 4096);
	for (uint32_t i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].max_send = 0;
	bad[1].max_send = MRC_WR_MAX + 1;
	bad[2].max_recv = MRC_WR_MAX + 1;
	bad[3].max_send_sge = ENGINE_SGE + 1;
	bad[4].max_mpr = 0;
	bad[5].max_wimm = MRC_WIMM_MAX + 1;
	bad[6].max_send = UINT32_MAX;
	bad[7].max_recv = UINT32_MAX;
	start(1);
	join();
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(mrc_qp_size(&bad[i]), 0);
		assert_int_equal(mrc_qp_new(me->e, 77, &bad[i], me), -EINVAL);
	}
	bad[0] = (struct mrc_caps){.max_send = MRC_WR_MAX,
				   .max_recv = MRC_WR_MAX,
				   .max_send_sge = ENGINE_SGE,
				   .max_mpr = MRC_MPR_MAX,
				   .max_wimm = MRC_WIMM_MAX};
	assert_true(mrc_qp_size(&bad[0]) > 0);
}

static void numbers(void **state)
{
	(void)state;
	start(1);
	me->n_qps = 0;
	join();
	struct end_qp *q = &me->qp[0];
	static const uint32_t bad[] = {0, 1, 2, MRC_NUMBERS, UINT32_MAX};

	end_add_qp(me, 0);
	for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(mrc_qp_new(me->e, bad[i], &q->caps, me), -EINVAL);
	assert_int_equal(mrc_qp_new(me->e, q->number, &q->caps, me), -EEXIST);
	/* Neighbours, and such that differ in their upper bits only. */
	me->qp[1].number = 3;
	me->qp[2].number = q->number ^ 0x800000;
	me->qp[3].number = MRC_NUMBERS - 1;
	for (uint32_t i = 1; i < 4; i++)
		end_add_qp(me, i);
	assert_int_equal(mrc_qp_new(me->e, 99, &q->caps, me), -ENOSPC);
	assert_true(mrc_has_qp(me->e, MRC_ENDPOINT_QP));
	assert_false(mrc_has_qp(me->e, 0));
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(mrc_has_qp(me->e, me->qp[i].number));
		assert_ptr_equal(mrc_qp_free(me->e, me->qp[i].number), me->qp[i].memory);
		assert_false(mrc_has_qp(me->e, me->qp[i].number));
		assert_null(mrc_qp_free(me->e, me->qp[i].number));
		for (uint32_t k = i + 1; k < 4; k++)
			assert_true(mrc_has_qp(me->e, me->qp[k].number));
	}
	struct mrc_attr attr = {0};

	assert_int_equal(modify(&attr, MRC_SET_STATE), -ENOENT);
	assert_int_equal(mrc_qp_query(me->e, q->number, &attr, NULL, NULL), -ENOENT);
	struct op op = {.code = ENGINE_WRITE, .qp = q->number};

	assert_int_equal(mrc_ops.post(me->e, w.now, &op), -ENOENT);
	assert_null(mrc_qp_free(me->e, 2));
	end_add_qp(me, 0);
}

/* IBTA 10.3.1: each step from each state. */
static void every_step(void **state)
{
	static const bool allowed[STATES][STATES] = {
		[MRC_RESET] = {[MRC_RESET] = true, [MRC_INIT] = true, [MRC_ERROR] = true},
		[MRC_INIT] = {[MRC_RESET] = true,
			      [MRC_INIT] = true,
			      [MRC_RTR] = true,
			      [MRC_ERROR] = true},
		[MRC_RTR] = {[MRC_RESET] = true, [MRC_RTS] = true, [MRC_ERROR] = true},
		[MRC_RTS] = {[MRC_RESET] = true,
			     [MRC_RTS] = true,
			     [MRC_SQD] = true,
			     [MRC_ERROR] = true},
		[MRC_SQD] = {[MRC_RESET] = true,
			     [MRC_RTS] = true,
			     [MRC_SQD] = true,
			     [MRC_ERROR] = true},
		[MRC_ERROR] = {[MRC_RESET] = true, [MRC_ERROR] = true},
	};

	(void)state;
	for (uint32_t from = 0; from <= MRC_ERROR; from++)
		for (uint32_t to = 0; to < 256; to++) {
			uint32_t set = to == MRC_RTR && from == MRC_INIT  ? NEEDED_RTR
				       : to == MRC_RTS && from == MRC_RTR ? NEEDED_RTS
									  : 0;
			bool is_step = to < STATES && allowed[from][to];

			/* Beyond the states one value does for all, but the last. */
			if (to > STATES && to < 255)
				continue;
			rise(from);
			assert_int_equal(end_set(me, w.now, 0, (uint8_t)to, set),
					 is_step ? 0 : -EINVAL);
			assert_int_equal(end_state(me, 0), is_step ? to : from);
		}
}

/* Each thing that a step needs, left out. It may have been set before. */
static void what_steps_need(void **state)
{
	(void)state;
	for (uint32_t bit = 2; bit <= MRC_SET_FLAGS; bit <<= 1) {
		rise(MRC_INIT);
		if (NEEDED_RTR & bit) {
			assert_int_equal(end_set(me, w.now, 0, MRC_RTR, NEEDED_RTR & ~bit),
					 -EINVAL);
			assert_int_equal(end_state(me, 0), MRC_INIT);
			/* Nothing of what was refused is kept. */
			assert_int_equal(end_set(me, w.now, 0, MRC_RTR, bit), -EINVAL);
			assert_int_equal(end_set(me, w.now, 0, MRC_INIT, NEEDED_RTR & ~bit), 0);
			assert_int_equal(end_set(me, w.now, 0, MRC_RTR, bit), 0);
			continue;
		}
		assert_int_equal(end_set(me, w.now, 0, MRC_RTR, NEEDED_RTR), 0);
		if (NEEDED_RTS & bit) {
			assert_int_equal(end_set(me, w.now, 0, MRC_RTS, NEEDED_RTS & ~bit),
					 -EINVAL);
			assert_int_equal(end_state(me, 0), MRC_RTR);
		}
		assert_int_equal(end_set(me, w.now, 0, MRC_RTS, NEEDED_RTS), 0);
	}
	/* What was set before MRC_RESET is forgotten. */
	rise(MRC_RTS);
	assert_int_equal(end_set(me, w.now, 0, MRC_RESET, 0), 0);
	assert_int_equal(end_set(me, w.now, 0, MRC_INIT, 0), 0);
	assert_int_equal(end_set(me, w.now, 0, MRC_RTR, 0), -EINVAL);
	end_rise(me, w.now, 0, MRC_RTS);
}

static struct evs none, far;
/* Congestion control of a queue pair's own: one that is fine, one without a window. */
static const struct cc_cfg narrow = {.window_bytes = 4096}, shut = {.window_bytes = 0};

/* Attributes, one or two of a kind, in range and out of it. */
static const struct {
	uint32_t set;
	struct mrc_attr attr;
	bool is_good;
} settings[] = {
	{MRC_SET_PMTU, {.pmtu = 0}, false},
	{MRC_SET_PMTU, {.pmtu = 128}, false},
	{MRC_SET_PMTU, {.pmtu = 256}, true},
	{MRC_SET_PMTU, {.pmtu = 1500}, false},
	{MRC_SET_PMTU, {.pmtu = 4096}, true},
	{MRC_SET_PMTU, {.pmtu = 8192}, false},
	{MRC_SET_PATH, {.evs = NULL}, false},
	{MRC_SET_PATH, {.evs = &none.profile}, false},
	{MRC_SET_PATH, {.evs = &far.profile}, false},
	{MRC_SET_PATH, {.evs = &w.end[0].set.profile}, true},
	{MRC_SET_REMOTE_QP, {.remote_qp = MRC_NUMBERS - 1}, true},
	{MRC_SET_REMOTE_QP, {.remote_qp = MRC_NUMBERS}, false},
	{MRC_SET_RQ_PSN, {.rq_psn = MRC_NUMBERS - 1}, true},
	{MRC_SET_RQ_PSN, {.rq_psn = MRC_NUMBERS}, false},
	{MRC_SET_SQ_PSN, {.sq_psn = MRC_NUMBERS - 1}, true},
	{MRC_SET_SQ_PSN, {.sq_psn = MRC_NUMBERS}, false},
	{MRC_SET_TIMEOUT, {.timeout = MRC_TIMEOUT_MAX}, true},
	{MRC_SET_TIMEOUT, {.timeout = MRC_TIMEOUT_MAX + 1}, false},
	{MRC_SET_RETRIES, {.linear_retries = 7, .exp_retries = 25}, true},
	{MRC_SET_RETRIES, {.linear_retries = 8, .exp_retries = 25}, false},
	{MRC_SET_RETRIES, {.linear_retries = 7, .exp_retries = 26}, false},
	{MRC_SET_MPR, {.mpr = 0}, false},
	{MRC_SET_MPR, {.mpr = 16}, true},
	{MRC_SET_MPR, {.mpr = 17}, false},
	{MRC_SET_MPR_DEST, {.mpr_dest = 0}, false},
	{MRC_SET_MPR_DEST, {.mpr_dest = MRC_MPR_MAX}, true},
	{MRC_SET_WIMM, {.wimm = 64}, true},
	{MRC_SET_WIMM, {.wimm = 65}, false},
	{MRC_SET_WIMM_DEST, {.wimm_dest = UINT16_MAX}, true},
	{MRC_SET_PENALTY, {.penalty = 127}, true},
	{MRC_SET_PENALTY, {.penalty = 128}, false},
	{MRC_SET_FLAGS, {.flags = 255}, true},
	{MRC_SET_DENIED_PORTS, {.denied_ports = 1}, true},
	{MRC_SET_DENIED_PORTS, {.denied_ports = 2}, false},
	{MRC_SET_CC, {.cc = NULL}, true},
	{MRC_SET_CC, {.cc = &narrow}, true},
	{MRC_SET_CC, {.cc = &shut}, false},
	{MRC_SET_WIMM << 1, {.flags = 0}, false},
	{UINT32_C(1) << 31, {.flags = 0}, false},
};

/* Field by field: padding may be anything. */
static void expect_same(const struct mrc_attr *a, const struct mrc_attr *b)
{
	assert_int_equal(a->state, b->state);
	assert_int_equal(a->access, b->access);
	assert_int_equal(a->pmtu, b->pmtu);
	assert_int_equal(a->peer, b->peer);
	assert_int_equal(a->local, b->local);
	assert_ptr_equal(a->evs, b->evs);
	assert_int_equal(a->remote_qp, b->remote_qp);
	assert_int_equal(a->rq_psn, b->rq_psn);
	assert_int_equal(a->sq_psn, b->sq_psn);
	assert_int_equal(a->timeout, b->timeout);
	assert_int_equal(a->linear_retries, b->linear_retries);
	assert_int_equal(a->exp_retries, b->exp_retries);
	assert_int_equal(a->mpr, b->mpr);
	assert_int_equal(a->mpr_dest, b->mpr_dest);
	assert_int_equal(a->wimm, b->wimm);
	assert_int_equal(a->wimm_dest, b->wimm_dest);
	assert_int_equal(a->penalty, b->penalty);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->denied_ports, b->denied_ports);
	assert_ptr_equal(a->cc, b->cc);
	assert_int_equal(a->burst, b->burst);
}

/* An attribute out of range, each alone, and nothing of the others taken with it. */
static void ranges(void **state)
{
	static const struct path_ev beyond = {.port = 1};

	(void)state;
	evs_make(&far, &beyond, 1);
	for (uint32_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
		struct mrc_attr attr = settings[i].attr, before;

		rise(MRC_INIT);
		before = query();
		attr.access = ALL_ACCESS + 1;
		attr.state = MRC_INIT;
		assert_int_equal(modify(&attr, settings[i].set | MRC_SET_ACCESS | MRC_SET_STATE),
				 settings[i].is_good ? 0 : -EINVAL);
		if (!settings[i].is_good) {
			struct mrc_attr after = query();

			expect_same(&before, &after);
		} else {
			assert_int_equal(query().access, ALL_ACCESS + 1);
		}
	}
}

/* Which attributes may be set in which state, all with values that are not those of before. */
static void when_it_may_change(void **state)
{
	static const uint32_t at_any_time = MRC_SET_ACCESS | MRC_SET_TIMEOUT | MRC_SET_RETRIES |
					    MRC_SET_WIMM_DEST | MRC_SET_PENALTY |
					    MRC_SET_DENIED_PORTS;
	static const uint32_t allowed[STATES] = {
		[MRC_RESET] = UINT32_MAX,
		[MRC_INIT] = UINT32_MAX,
		[MRC_RTR] = at_any_time | MRC_SET_SQ_PSN | MRC_SET_MPR_DEST | MRC_SET_FLAGS |
			    MRC_SET_CC,
		[MRC_RTS] = at_any_time,
		[MRC_SQD] = at_any_time | MRC_SET_PATH,
		[MRC_ERROR] = at_any_time,
	};
	struct mrc_attr attr = {
		.access = MEM_LOCAL_WRITE,
		.pmtu = 512,
		.peer = PEER + 1,
		.local = LOCAL,
		.evs = &me->set.profile,
		.remote_qp = 99,
		.rq_psn = 5,
		.timeout = 9,
		.linear_retries = 1,
		.exp_retries = 1,
		.mpr = 5,
		.mpr_dest = 5,
		.wimm = 5,
		.wimm_dest = 5,
		.penalty = 5,
		.flags = MRC_NO_TIMESTAMPS,
		.cc = &narrow,
	};

	(void)state;
	for (uint32_t s = 0; s <= MRC_ERROR; s++)
		for (uint32_t bit = MRC_SET_ACCESS; bit <= MRC_SET_WIMM; bit <<= 1) {
			rise(s);
			assert_int_equal(modify(&attr, bit), allowed[s] & bit ? 0 : -EINVAL);
			assert_int_equal(end_state(me, 0), s);
		}
	/* Other EVs to the same peer, and flags that nobody agreed on, also at work. */
	rise(MRC_RTS);
	attr.peer = PEER;
	attr.flags = query().flags | MRC_NO_TRIM | MRC_RESTORE_CWND | MRC_COUNT_TRIMS;
	assert_int_equal(modify(&attr, MRC_SET_PATH | MRC_SET_FLAGS), 0);
	assert_int_equal(query().flags, attr.flags);
	/* Our range, where both ends do that; the same one is no change. */
	attr.mpr = query().mpr;
	assert_int_equal(modify(&attr, MRC_SET_MPR), 0);
	for (uint32_t s = MRC_RTR; s <= MRC_SQD; s++) {
		start(s);
		me->qp[0].attr.flags = w.end[1].qp[0].attr.flags = MRC_DYNAMIC_MPR;
		join_to((uint8_t)(s <= MRC_RTS ? s : MRC_RTS));
		if (s == MRC_SQD)
			assert_int_equal(end_set(me, w.now, 0, MRC_SQD, 0), 0);
		attr.mpr = 3;
		assert_int_equal(modify(&attr, MRC_SET_MPR), 0);
		assert_int_equal(query().mpr, 3);
	}
}

static void query_tells(void **state)
{
	struct work k = {.cookie = 1, .code = ENGINE_WRITE, .len = 5000};
	struct mrc_caps caps;
	bool is_draining = true;

	(void)state;
	start(1);
	me->qp[0].attr.sq_psn = MRC_NUMBERS - 2;
	join();
	assert_int_equal(mrc_qp_query(me->e, me->qp[0].number, NULL, &caps, &is_draining), 0);
	assert_memory_equal(&caps, &me->qp[0].caps, sizeof caps);
	assert_false(is_draining);
	struct mrc_attr a = query();

	assert_int_equal(a.state, MRC_RTS);
	assert_int_equal(a.sq_psn, MRC_NUMBERS - 2);
	assert_int_equal(a.rq_psn, me->qp[0].attr.rq_psn);
	assert_int_equal(a.mpr, 8);
	assert_int_equal(a.mpr_dest, 8);
	assert_int_equal(a.remote_qp, w.end[1].qp[0].number);
	assert_ptr_equal(a.evs, &me->set.profile);
	post(k);
	run();
	/* Five packets later. */
	assert_int_equal(query().sq_psn, 3);
	assert_int_equal(mrc_qp_query(w.end[1].e, w.end[1].qp[0].number, &a, NULL, NULL), 0);
	assert_int_equal(a.rq_psn, 3);
}

/* MRC_ERROR, at every moment of a message: all work comes back in its order, and nothing of it is
 * received on the wire any more. */
static void flushed(void **state)
{
	(void)state;
	for (nsec moment = 0; moment < 6000; moment += 250) {
		struct work k[3] = {
			{.code = ENGINE_WRITE, .len = 20000},
			{.code = ENGINE_WRITE_IMM, .len = 9000, .to = 30000},
			{.code = ENGINE_WRITE, .len = 100, .to = 50000, .flags = ENGINE_SILENT}};
		uint32_t n_ok = 0;
		struct done d;

		start(moment);
		w.end[0].cfg.cc.window_bytes = 8192;
		join();
		post_recv(0, 0, 91);
		post_recv(0, 0, 92);
		post_recv(1, 0, 93);
		for (uint32_t i = 0; i < 3; i++) {
			k[i].cookie = i;
			assert_int_equal(try_post(&k[i]), 0);
		}
		run_until(w.now + moment);
		assert_int_equal(end_set(me, w.now, 0, MRC_ERROR, 0), 0);
		assert_int_equal(end_pull(me, w.now, wide, END_BATCH), 0);
		assert_true(mrc_ops.deadline(me->e, ALL_FREE) == NSEC_NEVER);
		check_idle(me);
		while (n_ok < 3 && end_poll(me, &d) && d.status == ENGINE_OK) {
			assert_int_equal(d.cookie, n_ok);
			n_ok++;
		}
		/* The sends first, then the receives: the loop took one of them. */
		for (uint32_t i = n_ok; i < 3; i++, end_poll(me, &d)) {
			assert_int_equal(d.cookie, i);
			assert_int_equal(d.status, ENGINE_FLUSHED);
		}
		assert_int_equal(d.cookie, 91);
		assert_int_equal(d.status, ENGINE_FLUSHED);
		expect_flushed_recv(0, 0, 92);
		expect_nothing(0);
		/* What is posted now comes back at once. */
		assert_int_equal(try_post(&k[0]), 0);
		expect_sent(&k[0], ENGINE_FLUSHED);
		post_recv(0, 0, 94);
		expect_flushed_recv(0, 0, 94);
		assert_int_equal(counts(me)->failed, 0);
		/* The peer gives up by itself, if it waits for anything. */
		run();
		check_balance(me);
	}
}

/* Silent work that is flushed is told of, and a full queue is empty once it is polled. */
static void flush_of_a_full_queue(void **state)
{
	struct work k = {.code = ENGINE_WRITE, .len = 10, .flags = ENGINE_SILENT};

	(void)state;
	rise(MRC_RTS);
	w.is_held[0] = true;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 64; i++) {
			k.cookie = i;
			assert_int_equal(try_post(&k), 0);
			post_recv(0, 0, i);
		}
		assert_int_equal(try_post(&k), -ENOMEM);
		assert_int_equal(try_post_recv(0, 0, 1), -ENOMEM);
		assert_int_equal(end_set(me, w.now, 0, MRC_ERROR, 0), 0);
		assert_int_equal(try_post(&k), -ENOMEM);
		struct done d;
		uint32_t n[2] = {0, 0};

		while (end_poll(me, &d)) {
			assert_int_equal(d.status, ENGINE_FLUSHED);
			assert_int_equal(d.cookie, n[d.code == ENGINE_DONE_RECEIVED]++);
			assert_int_equal(d.flags, 0);
		}
		assert_int_equal(n[0], 64);
		assert_int_equal(n[1], 64);
	}
}

/* MRC_RESET forgets everything, completions and events too, at every moment; and the queue pair can
 * begin anew, with other numbers. */
static void reset_and_again(void **state)
{
	struct work k = {.cookie = 1, .code = ENGINE_WRITE_IMM, .len = 30000, .imm = 7};

	(void)state;
	for (nsec moment = 0; moment < 8000; moment += 500) {
		start(moment);
		w.end[0].cfg.cc.window_bytes = 8192;
		join();
		post_recv(0, 0, 1);
		post_recv(1, 0, 2);
		assert_int_equal(try_post(&k), 0);
		run_until(w.now + moment);
		for (uint32_t i = 0; i < 2; i++) {
			struct end *s = &w.end[i];

			assert_int_equal(end_set(s, w.now, 0, MRC_RESET, 0), 0);
			check_idle(s);
			expect_nothing(i);
			expect_no_event(s);
			assert_true(mrc_ops.deadline(s->e, ALL_FREE) == NSEC_NEVER);
			assert_int_equal(try_post_recv(i, 0, 1), -EINVAL);
			s->qp[0].attr.sq_psn = 1000 + i;
			s->qp[0].attr.rq_psn = 1001 - i;
			w.next_psn[i][0] = psn24_of(1000 + i);
		}
		/* What is still on its way is for nobody. */
		run();
		for (uint32_t i = 0; i < 2; i++)
			end_rise(&w.end[i], w.now, 0, MRC_RTS);
		post_recv(1, 0, 3);
		post(k);
		run();
		expect_sent(&k, ENGINE_OK);
		expect_received(&k, 3);
		expect_nothing(0);
		expect_nothing(1);
		check_ends();
	}
}

/* Freed in every state and with work at every stage, its memory is the caller's again; its list
 * places, chunks and timers are gone, and the others go on. */
static void freed_in_every_state(void **state)
{
	(void)state;
	for (uint32_t s = 0; s <= MRC_ERROR; s++)
		for (nsec moment = 0; moment < 4000; moment += 333) {
			struct work k = {.code = ENGINE_WRITE, .len = 30000};

			start(s);
			w.end[0].cfg.cc.window_bytes = 8192;
			w.end[0].n_qps = 3;
			w.lose = 100;
			join_to((uint8_t)(s < MRC_RTS ? s : MRC_RTS));
			for (k.qp = 0; k.qp < 3 && s >= MRC_RTS; k.qp++)
				assert_int_equal(try_post(&k), 0);
			if (s > MRC_RESET)
				post_recv(0, 1, 5);
			run_until(w.now + moment);
			if (s > MRC_RTS)
				assert_int_equal(end_set(me, w.now, 1, (uint8_t)s, 0), 0);
			assert_ptr_equal(mrc_qp_free(me->e, me->qp[1].number), me->qp[1].memory);
			memset(me->qp[1].memory, 0xee, mrc_qp_size(&me->qp[1].caps));
			w.lose = 0;
			run();
			check_balance(me);
			check_idle(me);
			if (s < MRC_RTS)
				continue;
			struct done d;
			uint32_t n = 0;

			for (; end_poll(me, &d); n++)
				assert_int_not_equal(d.qp, me->qp[1].number);
			assert_int_equal(n, 2);
		}
}

/* MRC_SQD: what has begun is finished, an event says so once, new work waits until MRC_RTS. */
static void drained(void **state)
{
	struct work k[2] = {{.cookie = 1, .code = ENGINE_WRITE, .len = 20000},
			    {.cookie = 2, .code = ENGINE_WRITE, .len = 20000, .to = 30000}};
	bool is_draining;

	(void)state;
	start(1);
	w.end[0].cfg.cc.window_bytes = 8192;
	join();
	/* With nothing to wait for, at once. */
	assert_int_equal(end_set(me, w.now, 0, MRC_SQD, 0), 0);
	expect_event(me, me->qp[0].number, ENGINE_EVENT_DRAINED);
	assert_int_equal(end_set(me, w.now, 0, MRC_SQD, 0), 0);
	expect_no_event(me);
	assert_int_equal(end_set(me, w.now, 0, MRC_RTS, 0), 0);
	post(k[0]);
	run_until(w.now + 100);
	post(k[1]);
	assert_int_equal(end_set(me, w.now, 0, MRC_SQD, 0), 0);
	assert_int_equal(mrc_qp_query(me->e, me->qp[0].number, NULL, NULL, &is_draining), 0);
	assert_true(is_draining);
	expect_no_event(me);
	run();
	expect_sent(&k[0], ENGINE_OK);
	expect_nothing(0);
	expect_event(me, me->qp[0].number, ENGINE_EVENT_DRAINED);
	expect_no_event(me);
	assert_int_equal(mrc_qp_query(me->e, me->qp[0].number, NULL, NULL, &is_draining), 0);
	assert_false(is_draining);
	/* It still receives. */
	struct work back = {.cookie = 3, .side = 1, .code = ENGINE_WRITE, .len = 3000};

	post(back);
	run();
	expect_sent(&back, ENGINE_OK);
	assert_int_equal(end_set(me, w.now, 0, MRC_RTS, 0), 0);
	run();
	expect_sent(&k[1], ENGINE_OK);
	expect_no_event(me);
	check_ends();
	check_idle(me);
}

/* Draining that is called off is not reported. */
static void draining_called_off(void **state)
{
	struct work k = {.cookie = 1, .code = ENGINE_WRITE, .len = 20000};

	(void)state;
	start(1);
	join();
	post(k);
	run_until(w.now + 100);
	assert_int_equal(end_set(me, w.now, 0, MRC_SQD, 0), 0);
	assert_int_equal(end_set(me, w.now, 0, MRC_RTS, 0), 0);
	run();
	expect_sent(&k, ENGINE_OK);
	expect_no_event(me);
}

/* New EVs are taken at once, and a turn is kept over the change: on the ports of the new ones. */
static void other_evs(void **state)
{
	static const struct path_ev evs[] = {{0xaaaa0001, 1}, {0xaaaa0002, 2}};
	static const uint16_t only_0[ENGINE_PORTS] = {9}, only_2[ENGINE_PORTS] = {0, 0, 9};
	struct work k = {.cookie = 1, .code = ENGINE_WRITE, .len = 20000};
	struct evs set, one;
	struct mrc_attr attr;

	(void)state;
	start(1);
	w.end[0].cfg.n_ports = 4;
	w.end[0].n_evs = 1;
	join();
	me->n_evs = END_EVS;
	evs_make(&set, &evs[1], 1);
	evs_make(&one, evs, 1);
	post(k);
	assert_int_equal(mrc_ops.deadline(me->e, engine_may_all(1)), w.now);
	assert_true(mrc_ops.deadline(me->e, engine_may_all(0xe)) > w.now);
	attr = query();
	attr.evs = &set.profile;
	me->qp[0].attr.evs = &set.profile;
	assert_int_equal(modify(&attr, MRC_SET_PATH), 0);
	assert_true(mrc_ops.deadline(me->e, engine_may_all(0xb)) > w.now);
	assert_int_equal(mrc_ops.deadline(me->e, engine_may_all(4)), w.now);
	assert_int_equal(end_pull(me, w.now, only_0, 5), 0);
	assert_int_equal(end_pull(me, w.now, only_2, 5), 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(w.end[0].out[i].tx.ev, 0xaaaa0002);
		send_one(0, &w.end[0].out[i]);
	}
	attr.evs = &one.profile;
	assert_int_equal(modify(&attr, MRC_SET_PATH), 0);
	run();
	/* The first of the message and four more had left before. */
	for (uint32_t i = 0; i < n_seen(0, MRC_OP_WRITE_MIDDLE); i++)
		assert_int_equal(seen(0, MRC_OP_WRITE_MIDDLE, i)->port, i < 4 ? 2 : 1);
	expect_sent(&k, ENGINE_OK);
	check_ends();
}

/* An EV that is changed while it drains: what has begun still leaves. */
static void other_evs_while_draining(void **state)
{
	struct work k = {.cookie = 1, .code = ENGINE_WRITE, .len = 40000};

	(void)state;
	start(1);
	join();
	post(k);
	assert_int_equal(send_some(0, wide, 5), 5);
	assert_int_equal(end_set(me, w.now, 0, MRC_SQD, 0), 0);
	assert_int_equal(end_set(me, w.now, 0, MRC_SQD, MRC_SET_PATH), 0);
	assert_int_equal(mrc_ops.deadline(me->e, ALL_FREE), w.now);
	run();
	expect_sent(&k, ENGINE_OK);
	expect_event(me, me->qp[0].number, ENGINE_EVENT_DRAINED);
	check_ends();
}

/* Queue pairs that wait for a chunk may fail, be reset or freed: the others get it. */
static void ended_while_starved(void **state)
{
	(void)state;
	for (uint32_t how = 0; how < 3; how++) {
		struct done d;

		start(how);
		me->n_qps = 4;
		me->cfg.max_out_pkts = 1;
		join();
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(
				try_post(&(struct work){
					.qp = i, .code = ENGINE_WRITE, .cookie = i, .len = 9000}),
				0);
		run_until(w.now + 100);
		assert_int_equal(mrc_usage(me->e).out_chunks, 1);
		for (uint32_t i = 1; i < 3; i++) {
			if (how < 2)
				assert_int_equal(
					end_set(me, w.now, i, how ? MRC_ERROR : MRC_RESET, 0), 0);
			if (how == 1)
				continue;
			assert_non_null(mrc_qp_free(me->e, me->qp[i].number));
			memset(me->qp[i].memory, 0xee, mrc_qp_size(&me->qp[i].caps));
		}
		run();
		while (end_poll(me, &d)) {
			bool is_victim = d.cookie == 1 || d.cookie == 2;

			assert_true(!is_victim || how == 1);
			assert_int_equal(d.status, is_victim ? ENGINE_FLUSHED : ENGINE_OK);
		}
		check_idle(me);
	}
}

/* One that fails does so once. */
static void failed_once(void **state)
{
	struct work k = {.cookie = 1, .code = ENGINE_WRITE, .len = 5};

	(void)state;
	start(1);
	join();
	w.lose = 1000;
	assert_int_equal(try_post(&k), 0);
	run();
	expect_sent(&k, ENGINE_RETRY_EXCEEDED);
	mrc_fail(mrc_of(me->e), mrc_find(mrc_of(me->e), me->qp[0].number));
	assert_int_equal(counts(me)->failed, 1);
	assert_int_equal(end_set(me, w.now, 0, MRC_ERROR, 0), 0);
	expect_nothing(0);
	check_idle(me);
}

/* Events wait for whoever asks, each kind once, the queue pair that came first at the front. */
static void events_in_order(void **state)
{
	struct engine_event got[4];

	(void)state;
	start(1);
	me->n_qps = 3;
	join();
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t k = 0; k < 2; k++) {
			assert_int_equal(end_set(me, w.now, 2 - i, MRC_SQD, 0), 0);
			assert_int_equal(end_set(me, w.now, 2 - i, MRC_RTS, 0), 0);
		}
	assert_int_equal(me->e->ops->events(me->e, got, 1), 1);
	assert_int_equal(got[0].number, me->qp[2].number);
	/* One that ends takes its events with it. */
	assert_non_null(mrc_qp_free(me->e, me->qp[1].number));
	assert_int_equal(end_set(me, w.now, 2, MRC_SQD, 0), 0);
	assert_int_equal(me->e->ops->events(me->e, got, 4), 2);
	assert_int_equal(got[0].number, me->qp[0].number);
	assert_int_equal(got[0].kind, ENGINE_EVENT_DRAINED);
	assert_int_equal(got[1].number, me->qp[2].number);
	expect_no_event(me);
	/* Also if it was the last one of all. */
	assert_int_equal(end_set(me, w.now, 2, MRC_RTS, 0), 0);
	assert_int_equal(end_set(me, w.now, 2, MRC_SQD, 0), 0);
	assert_int_equal(end_set(me, w.now, 0, MRC_SQD, 0), 0);
	assert_non_null(mrc_qp_free(me->e, me->qp[0].number));
	end_add_qp(me, 1);
	end_rise(me, w.now, 1, MRC_RTS);
	assert_int_equal(end_set(me, w.now, 1, MRC_SQD, 0), 0);
	assert_int_equal(me->e->ops->events(me->e, got, 4), 2);
	assert_int_equal(got[0].number, me->qp[2].number);
	assert_int_equal(got[1].number, me->qp[1].number);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(sizes),
	cmocka_unit_test(numbers),
	cmocka_unit_test(every_step),
	cmocka_unit_test(what_steps_need),
	cmocka_unit_test(ranges),
	cmocka_unit_test(when_it_may_change),
	cmocka_unit_test(query_tells),
	cmocka_unit_test(flushed),
	cmocka_unit_test(flush_of_a_full_queue),
	cmocka_unit_test(reset_and_again),
	cmocka_unit_test(freed_in_every_state),
	cmocka_unit_test(drained),
	cmocka_unit_test(draining_called_off),
	cmocka_unit_test(other_evs),
	cmocka_unit_test(other_evs_while_draining),
	cmocka_unit_test(ended_while_starved),
	cmocka_unit_test(failed_once),
	cmocka_unit_test(events_in_order),
};
CHECK_MAIN(cases)
