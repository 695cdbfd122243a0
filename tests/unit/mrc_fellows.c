/* Queue pairs that take the same EVs to the same peer: what one of them knows of a dead EV, and
 * what it only suspects. */
#include "mrc_evs.h"

enum { FINDER, FELLOW, ELSEWHERE, APART };

static uint64_t other_memory[64];
static struct path_profile other_evs;

static enum path_state state_at(uint32_t pair, uint32_t ev)
{
	return path_state(&pair_of(0, pair)->req.path, ev);
}

static void set_path(uint32_t pair, const struct path_profile *evs)
{
	struct mrc_attr attr = pair_of(0, pair)->attr;

	attr.evs = evs;
	w.end[0].qp[pair].attr.evs = evs;
	assert_int_equal(
		mrc_qp_modify(w.end[0].e, w.now, pair_of(0, pair)->id.number, &attr, MRC_SET_PATH),
		0);
	check_records(0);
}

/* Four queue pairs with 8 EVs each: one to another peer, one with EVs of its own. */
static void begin_fellows(void)
{
	begin_evs(1);
	w.end[0].n_qps = 4;
	w.end[0].qp[ELSEWHERE].attr.peer++;
	warm();
	const struct path_profile *evs = q->attr.evs;
	struct path_ev copy[8];

	assert_int_equal(evs->set.n, 8);
	for (uint32_t i = 0; i < 8; i++)
		copy[i] = evs->set.evs[i];
	assert_int_equal(path_profile_explicit(&other_evs, other_memory, copy, 8), PATH_OK);
	set_path(APART, &other_evs);
}

/* Time goes by, in which nobody answers a probe of that EV, and all others are. */
static void nothing_gets_through(uint32_t ev, uint32_t us)
{
	for (uint32_t i = 0; i < us; i++) {
		w.now += 1000;
		gather();
		for (uint32_t k = 0; k < n_gone; k++)
			if (gone[k].is_probe && gone[k].ev_number != ev)
				answer_probe(&gone[k], MRC_MARK_NONE);
	}
}

/* The first loss is told to nobody; when two probes are lost as well, the EV is out for those who
 * take it to the same peer, and for one that begins later. */
static void a_dead_ev_is_known_to_all(void **state)
{
	(void)state;
	begin_fellows();
	uint32_t ev = lose_by_gap();

	assert_int_equal(state_of(ev), PATH_ASSUMED_BAD);
	assert_int_equal(state_at(FELLOW, ev), PATH_GOOD);
	nothing_gets_through(ev, 1000);
	assert_true(path_is_silent(&q->req.path, ev));
	assert_true(path_is_silent(&pair_of(0, FELLOW)->req.path, ev));
	assert_int_equal(state_at(ELSEWHERE, ev), PATH_GOOD);
	assert_int_equal(state_at(APART, ev), PATH_GOOD);
	for (uint32_t other = 0; other < 8; other++)
		assert_true(other == ev || state_at(FELLOW, other) == PATH_GOOD);
	set_path(APART, q->attr.evs);
	assert_int_equal(state_at(APART, ev), PATH_ASSUMED_BAD);
	set_path(ELSEWHERE, q->attr.evs);
	assert_int_equal(state_at(ELSEWHERE, ev), PATH_GOOD);
}

/* Any number of EVs may be dead, as long as some are left: those who were told hold none of them
 * for a suspect, of which the oldest comes back when there are many. */
static void all_dead_evs_are_known(void **state)
{
	(void)state;
	begin_fellows();
	for (uint32_t ev = 0; ev < 6; ev++) {
		path_on_dead(&q->req.path, ev, w.now);
		path_on_dead(&pair_of(0, FELLOW)->req.path, ev, w.now);
	}
	set_path(APART, q->attr.evs);
	for (uint32_t ev = 0; ev < 8; ev++)
		assert_int_equal(state_at(APART, ev), ev < 6 ? PATH_ASSUMED_BAD : PATH_GOOD);
}

/* What the peer said of its ports, and was not asked for yet, is doubted by those who come later.
 */
static void a_newcomer_doubts_what_others_do(void **state)
{
	(void)state;
	begin_evs(2);
	w.end[0].n_qps = 2;
	join_to(MRC_RESET);
	end_rise(&w.end[0], w.now, FINDER, MRC_RTS);
	q = pair_of(0, FINDER);
	say_ports(1);
	end_rise(&w.end[0], w.now, FELLOW, MRC_RTS);
	assert_int_equal(pair_of(0, FELLOW)->req.doubted, 2);
}

/* An EV that lets some through is nobody's but its finder's matter. */
static void a_gray_ev_is_not(void **state)
{
	uint32_t n = 0;

	(void)state;
	begin_fellows();
	uint32_t ev = lose_by_gap();

	for (uint32_t i = 0; i < 2000; i++) {
		w.now += 1000;
		gather();
		for (uint32_t k = 0; k < n_gone; k++)
			if (gone[k].is_probe && n++ % 2 == 0)
				answer_probe(&gone[k], MRC_MARK_NONE);
	}
	assert_true(n > 4);
	assert_int_equal(state_of(ev), PATH_ASSUMED_BAD);
	assert_int_equal(state_at(FELLOW, ev), PATH_GOOD);
}

/* Who was told finds out for itself that the EV is well again. */
static void and_comes_back_for_each(void **state)
{
	(void)state;
	begin_fellows();
	uint32_t ev = lose_by_gap();

	nothing_gets_through(ev, 1000);
	assert_int_equal(state_at(FELLOW, ev), PATH_ASSUMED_BAD);
	post((struct work){.qp = FELLOW, .cookie = 1000, .len = PMTU, .code = ENGINE_WRITE});
	nothing_gets_through(PATH_NONE - 1, 2000);
	assert_int_equal(state_at(FELLOW, ev), PATH_GOOD);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_dead_ev_is_known_to_all),
	cmocka_unit_test(all_dead_evs_are_known),
	cmocka_unit_test(a_gray_ev_is_not),
	cmocka_unit_test(and_comes_back_for_each),
	cmocka_unit_test(a_newcomer_doubts_what_others_do),
};

CHECK_MAIN(cases)
