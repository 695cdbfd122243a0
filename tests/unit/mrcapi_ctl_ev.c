/* EV profiles: every step with every set of attributes and every operation, with and without queue
 * pairs that use them; counts and formats. */
#include "mrcapi_ctl_rig.h"

#define STATE  MRC_CTL_EV_PROFILE_STATE
#define CUR    MRC_CTL_EV_PROFILE_CUR_STATE
#define MODE   MRC_CTL_EV_PROFILE_MODE
#define FMT    MRC_CTL_EV_PROFILE_FMT_ID
#define COUNT  MRC_CTL_EV_PROFILE_COUNT
#define MIN    MRC_CTL_EV_PROFILE_MIN_ACTIVE
#define EVENTS MRC_CTL_EV_PROFILE_EVENT_MASK
#define VALUES MRC_CTL_EV_PROFILE_EV_OP
#define FIELDS MRC_CTL_EV_PROFILE_EV_FIELDS_OP
#define VENDOR MRC_CTL_EV_PROFILE_VENDOR_CFG
#define ALIEN  (1 << 9)

#define AUTO MRC_CTL_EV_MODE_AUTO
#define EXP  MRC_CTL_EV_MODE_EXP
#define GEN  MRC_CTL_EV_MODE_GEN

static const struct mrc_ctl_ev_fmt_field two[] = {{8}, {8}};
static struct mrc_ctl_ev_field pair_of_fields[] = {{4, 0, 0, 15, 15}, {8, 0x80, 0, 3, 3}};

static int setup(void **state)
{
	int error = rig_setup(state);

	if (!error)
		rig_format(1, MRC_CTL_EV_FMT_MODE_STEV, two, 2);
	return error;
}

/* Where a profile of four values may be. */
static const struct place {
	enum mrc_ctl_ev_mode mode;
	enum mrc_ctl_profile_state state;
	bool has_values, has_fields;
} places[] = {
	{AUTO, INIT, false, false},    {EXP, INIT, false, false},    {GEN, INIT, false, false},
	{AUTO, OFFLINE, false, false}, {EXP, OFFLINE, false, false}, {EXP, OFFLINE, true, false},
	{GEN, OFFLINE, false, false},  {GEN, OFFLINE, false, true},  {AUTO, ONLINE, true, false},
	{EXP, ONLINE, true, false},    {GEN, ONLINE, true, true},
};
#define PLACES (sizeof places / sizeof places[0])

static uint8_t mode_of(enum mrc_ctl_ev_mode mode)
{
	return mode == AUTO ? CONTROL_AUTO : mode == EXP ? CONTROL_EXPLICIT : CONTROL_GENERATED;
}

static void put(const struct place *at)
{
	control_remove(rig_state, CONTROL_EV, 5);
	if (at->state == INIT)
		return;
	struct control_profile *p = control_add_profile(rig_state, 5);

	p->mode = mode_of(at->mode);
	p->phase = (uint8_t)at->state;
	p->format_id = at->mode == AUTO ? 0 : 1;
	assert_int_equal(control_set_count(rig_state, p, 4), 0);
	for (uint32_t i = 0; i < 4 && at->has_values; i++)
		p->evs[i] = (struct control_ev){.val = {0x80, (uint8_t)i}, .port = 1};
	p->n_fields = at->has_fields ? 1 : 0;
	p->fields[0] = (struct path_field){8, 0, 255, 0, 255};
}

/* Of one call with values that are good wherever they may be given. */
struct call {
	int mask;
	uint32_t target, values_op, fields_op, users;
};

/* Whether the operation itself can be done on what is there, or comes along. */
static int expect_op(const struct place *at, const struct call *c)
{
	bool has_values = at->has_values;

	if (c->mask & FIELDS && c->fields_op == 0 && at->mode == AUTO)
		return -EINVAL;
	if (!(c->mask & VALUES))
		return 0;
	if (c->values_op == MRC_CTL_EV_OP_REPLACE_EV)
		return at->mode == EXP ? 0 : -EINVAL;
	return c->values_op == MRC_CTL_EV_OP_MODIFY_EV_STATE && !has_values ? -ENOENT : 0;
}

static int expect(const struct place *at, const struct call *c)
{
	uint32_t from = (uint32_t)at->state, to = c->mask & STATE ? c->target : from;
	bool sets_fields = c->mask & FIELDS && c->fields_op == 0;

	if (c->mask & ALIEN || to > 2 || (from == 0 && to == 2) || (from == 2 && to == 0))
		return -EINVAL;
	if (from == 0 && to == 0)
		return c->mask & ~(STATE | CUR) ? -EINVAL : 0;
	if ((c->mask & VALUES && c->mask & FIELDS) || (c->mask & VALUES && c->values_op > 3) ||
	    (c->mask & FIELDS && c->fields_op > 1))
		return -EINVAL;
	if (from == 2 && c->mask & (MODE | FMT | COUNT | MIN | VENDOR))
		return -EINVAL;
	if (from == 2 && c->users && (to != 2 || sets_fields))
		return -EBUSY;
	if (from == 0 && !(c->mask & MODE))
		return -EINVAL;
	if (from == 0 && at->mode != AUTO && (c->mask & (FMT | COUNT)) != (FMT | COUNT))
		return -EINVAL;
	int error = expect_op(at, c);

	if (error || from == to || to != 2)
		return error;
	if (at->mode == EXP)
		return at->has_values ? 0 : -EINVAL;
	return at->mode == GEN && !at->has_fields && !sets_fields ? -EINVAL : 0;
}

static struct mrc_ctl_ev_profile_attr good(const struct place *at, const struct call *c,
					   struct mrc_ctl_ev_op_entry entries[CTL_AUTO_EVS])
{
	struct mrc_ctl_ev_profile_attr a = {
		.profile_state = (enum mrc_ctl_profile_state)c->target,
		.cur_profile_state = at->state,
		.ev_mode = at->mode,
		.ev_fmt_profile_id = 1,
		.ev_count = 4,
		.ev_min_active = 2,
		.ev_event_mask = MRC_CTL_EV_GOOD,
	};

	memset(entries, 0, CTL_AUTO_EVS * sizeof *entries);
	if (at->has_values)
		entries[0].ev = (struct mrc_ctl_ev){{0x80, 0}, 1};
	entries[0].ev_new = (struct mrc_ctl_ev){{0x80, 9}, 2};
	entries[0].state = MRC_CTL_EV_DENIED;
	a.ev_op.op = (enum mrc_ctl_ev_op)c->values_op;
	a.ev_op.entries = entries;
	a.ev_op.entry_count = c->values_op == MRC_CTL_EV_OP_QUERY_EV_ARRAY ? (int)CTL_AUTO_EVS : 1;
	a.ev_fields_op.op = (enum mrc_ctl_ev_fields_op)c->fields_op;
	a.ev_fields_op.fields = pair_of_fields;
	a.ev_fields_op.field_count = 2;
	/* Given values would not be in the short form of these. */
	if (at->mode == EXP)
		a.ev_fields_op.field_count = c->fields_op == 0 ? 0 : 2;
	return a;
}

static void check_result(const struct place *at, const struct call *c, bool is_denied)
{
	const struct control_profile *p = control_find_profile(rig_state, 5);
	uint32_t to = c->mask & STATE ? c->target : (uint32_t)at->state;

	assert_int_equal(p ? p->phase : CONTROL_INIT, to);
	assert_true(control_is_whole(rig_state));
	if (!p)
		return;
	assert_int_equal(p->count, at->mode == AUTO && at->state == INIT && !(c->mask & COUNT)
					   ? CTL_AUTO_EVS
					   : 4);
	assert_int_equal(p->min_active, c->mask & MIN ? 2 : 0);
	assert_int_equal(p->event_mask, c->mask & EVENTS ? CONTROL_REPORT_GOOD : 0);
	if (p->mode == CONTROL_EXPLICIT && c->mask & VALUES && c->values_op < 2)
		assert_int_equal(p->evs[0].is_denied, is_denied);
	for (uint32_t i = 0; i < p->count && p->mode != CONTROL_EXPLICIT; i++)
		assert_int_equal(p->evs[i].port != 0, p->phase == CONTROL_ONLINE);
}

static void one(const struct place *at, const struct call *c)
{
	struct mrc_ctl_ev_op_entry entries[CTL_AUTO_EVS];
	struct mrc_ctl_ev_profile_attr a = good(at, c, entries);
	struct mrc_ctl_ev_field fields[2];
	int wanted = expect(at, c);

	if (c->fields_op == 1)
		a.ev_fields_op.fields = fields;
	put(at);
	rig_users = c->users;
	struct ctl_edit e = rig_edit(5, c->mask);
	int got = ctl_ev_modify(&e, &a);

	if (got != wanted)
		fail_msg("mode %d state %d values %d mask %x target %u ops %u %u users %u: %d, "
			 "not %d",
			 at->mode, at->state, at->has_values, (unsigned)c->mask, c->target,
			 c->values_op, c->fields_op, c->users, got, wanted);
	if (!got)
		check_result(at, c, true);
	/* Whoever changes nothing must not wake everybody. */
	if (!got && !(c->mask & ~(CUR | VALUES | FIELDS)) && c->values_op > 1 && c->fields_op)
		assert_false(e.is_changed);
}

static void every_step_with_everything(void **state)
{
	static const int bits[] = {STATE,  CUR,    MODE,   FMT,    COUNT, MIN,
				   EVENTS, VALUES, FIELDS, VENDOR, ALIEN};

	(void)state;
	for (uint32_t n = 0; n < PLACES * 2048 * 4 * 2; n++) {
		struct call c = {.target = n % 4, .users = n / 4 % 2};
		uint32_t set = n / 8 % 2048;

		for (uint32_t i = 0; i < 11; i++)
			c.mask |= set >> i & 1 ? bits[i] : 0;
		if (c.mask & ALIEN && set & 0x1f) /* a few of these are enough */
			continue;
		for (c.values_op = 0; c.values_op < (c.mask & VALUES ? 5 : 1); c.values_op++)
			for (c.fields_op = 0; c.fields_op < (c.mask & FIELDS ? 3 : 1);
			     c.fields_op++)
				one(&places[n / (2048 * 8)], &c);
	}
}

static void current_state_must_be_true(void **state)
{
	struct mrc_ctl_ev_profile_attr a = {0};

	(void)state;
	for (uint32_t i = 0; i < PLACES; i++)
		for (uint32_t said = 0; said < 4; said++) {
			put(&places[i]);
			a.cur_profile_state = (enum mrc_ctl_profile_state)said;
			assert_int_equal(rig_modify_ev(5, &a, CUR),
					 said == (uint32_t)places[i].state ? 0 : -EINVAL);
		}
}

static void numbers_out_of_range(void **state)
{
	static const struct place offline = {EXP, OFFLINE, true, false};
	struct mrc_ctl_ev_profile_attr a = {.ev_count = 0};

	(void)state;
	put(&offline);
	assert_int_equal(rig_modify_ev(5, &a, COUNT), -EINVAL);
	a.ev_count = 1025;
	assert_int_equal(rig_modify_ev(5, &a, COUNT), -EINVAL);
	a.ev_mode = (enum mrc_ctl_ev_mode)(EXP | GEN);
	assert_int_equal(rig_modify_ev(5, &a, MODE), -EINVAL);
	a.ev_fmt_profile_id = 2;
	assert_int_equal(rig_modify_ev(5, &a, FMT), -EINVAL);
	a.ev_min_active = 5;
	assert_int_equal(rig_modify_ev(5, &a, MIN), -EINVAL);
	a.ev_min_active = 4;
	assert_int_equal(rig_modify_ev(5, &a, MIN), 0);
	a.ev_count = 3; /* below what is kept active */
	assert_int_equal(rig_modify_ev(5, &a, COUNT), -EINVAL);
	a.ev_event_mask = MRC_CTL_EV_DENIED;
	assert_int_equal(rig_modify_ev(5, &a, EVENTS), -EINVAL);
	a.ev_event_mask = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD;
	assert_int_equal(rig_modify_ev(5, &a, EVENTS), 0);
	a.vendor_cfg[3] = 1;
	assert_int_equal(rig_modify_ev(5, &a, VENDOR), -EINVAL);
	const struct control_profile *p = control_find_profile(rig_state, 5);

	assert_int_equal(p->count, 4);
	assert_int_equal(p->evs[3].val[1], 3);
	assert_int_equal(p->event_mask, 3);
}

/* Values are new where their number or their kind is, and so are fields. */
static void what_empties_values(void **state)
{
	static const struct place offline = {EXP, OFFLINE, true, false};
	struct mrc_ctl_ev_profile_attr a = {.ev_mode = EXP, .ev_count = 4};

	(void)state;
	put(&offline);
	assert_int_equal(rig_modify_ev(5, &a, MODE | COUNT), 0);
	assert_int_equal(control_find_profile(rig_state, 5)->evs[1].port, 1);
	a.ev_count = 5;
	assert_int_equal(rig_modify_ev(5, &a, COUNT), 0);
	assert_int_equal(control_find_profile(rig_state, 5)->evs[1].port, 0);
	put(&offline);
	control_find_profile(rig_state, 5)->n_fields = 1;
	control_find_profile(rig_state, 5)->fields[0] = (struct path_field){8, 0, 255, 0, 255};
	a.ev_mode = GEN;
	assert_int_equal(rig_modify_ev(5, &a, MODE), 0);
	assert_int_equal(control_find_profile(rig_state, 5)->evs[1].port, 0);
	assert_int_equal(control_find_profile(rig_state, 5)->n_fields, 0);
	/* From AUTO on there is no format yet. */
	a.ev_mode = AUTO;
	assert_int_equal(rig_modify_ev(5, &a, MODE), 0);
	assert_int_equal(control_find_profile(rig_state, 5)->format_id, 0);
	a.ev_mode = EXP;
	assert_int_equal(rig_modify_ev(5, &a, MODE), -EINVAL);
	a.ev_fmt_profile_id = 1;
	assert_int_equal(rig_modify_ev(5, &a, MODE | FMT), 0);
}

/* A profile comes online only with its format, and holds it there. */
static void format_and_profile(void **state)
{
	static const struct place full = {EXP, OFFLINE, true, false};
	struct mrc_ctl_ev_fmt_profile_attr f = {.profile_state = OFFLINE};
	struct mrc_ctl_ev_profile_attr a = {.profile_state = ONLINE};

	(void)state;
	put(&full);
	assert_int_equal(rig_modify_format(1, &f, MRC_CTL_EV_FMT_PROFILE_STATE), 0);
	assert_int_equal(rig_modify_ev(5, &a, STATE), -EINVAL);
	f.profile_state = INIT;
	assert_int_equal(rig_modify_format(1, &f, MRC_CTL_EV_FMT_PROFILE_STATE), -EBUSY);
	f.profile_state = ONLINE;
	assert_int_equal(rig_modify_format(1, &f, MRC_CTL_EV_FMT_PROFILE_STATE), 0);
	assert_int_equal(rig_modify_ev(5, &a, STATE), 0);
	f.profile_state = OFFLINE;
	assert_int_equal(rig_modify_format(1, &f, MRC_CTL_EV_FMT_PROFILE_STATE), -EBUSY);
	a.profile_state = OFFLINE;
	assert_int_equal(rig_modify_ev(5, &a, STATE), 0);
	assert_true(rig_last.is_exclusive);
	assert_int_equal(rig_modify_format(1, &f, MRC_CTL_EV_FMT_PROFILE_STATE), 0);
}

static void full_tables(void **state)
{
	struct mrc_ctl_ev_profile_attr a = {
		.profile_state = OFFLINE,
		.ev_mode = EXP,
		.ev_fmt_profile_id = 1,
		.ev_count = 1024,
	};

	(void)state;
	for (uint64_t id = 0; id < CONTROL_EVS_ALL / 1024; id++)
		assert_int_equal(rig_modify_ev(id, &a, STATE | MODE | FMT | COUNT), 0);
	a.ev_count = 1;
	assert_int_equal(rig_modify_ev(99, &a, STATE | MODE | FMT | COUNT), -ENOMEM);
	a.ev_count = 512;
	assert_int_equal(rig_modify_ev(3, &a, COUNT), 0);
	a.ev_count = 1;
	for (uint64_t id = CONTROL_EVS_ALL / 1024; id < CONTROL_PROFILES; id++)
		assert_int_equal(rig_modify_ev(id, &a, STATE | MODE | FMT | COUNT), 0);
	assert_int_equal(rig_modify_ev(99, &a, STATE | MODE | FMT | COUNT), -ENOMEM);
}

static void queries(void **state)
{
	static const struct place online = {GEN, ONLINE, true, true};
	struct mrc_ctl_ev_profile_attr a;

	(void)state;
	memset(&a, 0xff, sizeof a);
	assert_int_equal(rig_query_ev(5, &a, CUR), 0);
	assert_int_equal(a.cur_profile_state, INIT);
	for (int bit = 0; bit < 32; bit++)
		if (!((1u << bit) & (STATE | CUR)))
			assert_int_equal(rig_query_ev(5, &a, (int)(1u << bit)), -EINVAL);
	put(&online);
	control_find_profile(rig_state, 5)->min_active = 3;
	control_find_profile(rig_state, 5)->event_mask = CONTROL_REPORT_BAD;
	assert_int_equal(
		rig_query_ev(5, &a, STATE | CUR | MODE | FMT | COUNT | MIN | EVENTS | VENDOR), 0);
	assert_int_equal(a.profile_state, ONLINE);
	assert_int_equal(a.cur_profile_state, ONLINE);
	assert_int_equal(a.ev_mode, GEN);
	assert_int_equal(a.ev_fmt_profile_id, 1);
	assert_int_equal(a.ev_count, 4);
	assert_int_equal(a.ev_min_active, 3);
	assert_int_equal(a.ev_event_mask, MRC_CTL_EV_ASSUMED_BAD);
	assert_int_equal(a.vendor_cfg[0] | a.vendor_cfg[127], 0);
	for (uint32_t op = 0; op < 2; op++) {
		a.ev_op.op = (enum mrc_ctl_ev_op)op;
		assert_int_equal(rig_query_ev(5, &a, VALUES), -EINVAL);
	}
	a.ev_fields_op.op = MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS;
	assert_int_equal(rig_query_ev(5, &a, FIELDS), -EINVAL);
	assert_int_equal(rig_query_ev(5, &a, ALIEN), -EINVAL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, rig_teardown)
static const struct CMUnitTest cases[] = {
	CASE(every_step_with_everything),
	CASE(current_state_must_be_true),
	CASE(numbers_out_of_range),
	CASE(what_empties_values),
	CASE(format_and_profile),
	CASE(full_tables),
	CASE(queries),
};
CHECK_MAIN(cases)
