/* EV format profiles: every step with every set of attributes, and the widths that a mode has. */
#include "mrcapi_ctl_rig.h"

#define STATE  MRC_CTL_EV_FMT_PROFILE_STATE
#define CUR    MRC_CTL_EV_FMT_PROFILE_CUR_STATE
#define MODE   MRC_CTL_EV_FMT_PROFILE_MODE
#define OP     MRC_CTL_EV_FMT_PROFILE_OP
#define VENDOR MRC_CTL_EV_FMT_VENDOR_CFG
#define ALIEN  (1 << 4)

#define SET MRC_CTL_EV_FMT_OP_MODIFY_FIELDS
#define ASK MRC_CTL_EV_FMT_OP_QUERY_FIELDS

static const struct mrc_ctl_ev_fmt_field three[] = {{10}, {8}, {4}};

/* Where a format may be, and who names it. */
enum place { NOWHERE, BARE, FULL, FULL_NAMED, ON, ON_NAMED, ON_USED, PLACES };

static const enum mrc_ctl_profile_state state_at[PLACES] = {
	INIT, OFFLINE, OFFLINE, OFFLINE, ONLINE, ONLINE, ONLINE,
};

static void put(enum place place)
{
	control_remove(rig_state, CONTROL_EV, 9);
	control_remove(rig_state, CONTROL_FORMAT, 1);
	if (place == NOWHERE)
		return;
	struct control_format *f = control_add_format(rig_state, 1);

	f->phase = (uint8_t)state_at[place];
	f->wide = CONTROL_STRUCTURED;
	f->n_fields = place == BARE ? 0 : 1;
	f->width[0] = place == BARE ? 0 : 16;
	if (place != FULL_NAMED && place != ON_NAMED && place != ON_USED)
		return;
	struct control_profile *p = control_add_profile(rig_state, 9);

	p->mode = CONTROL_EXPLICIT;
	p->phase = place == ON_USED ? CONTROL_ONLINE : CONTROL_OFFLINE;
	p->format_id = 1;
	assert_int_equal(control_set_count(rig_state, p, 1), 0);
	p->evs[0].port = 1;
}

/* What mrc_ctl.h says of one call with good values of everything, as one table would. */
static int expect(enum place place, int mask, uint32_t target, uint32_t op)
{
	uint32_t from = (uint32_t)state_at[place], to = mask & STATE ? target : from;
	bool sets = mask & OP && op == SET, asks = mask & OP && op == ASK;
	bool has_fields = place > BARE || sets;

	if (mask & ALIEN || to > 2 || (from == 0 && to == 2) || (from == 2 && to == 0))
		return -EINVAL;
	if (from == 0 && to == 0)
		return mask & (MODE | OP | VENDOR) ? -EINVAL : 0;
	if ((from == 0 && !(mask & MODE)) || (mask & OP && !sets && !asks))
		return -EINVAL;
	if (from == 2 && (mask & (MODE | VENDOR) || sets))
		return -EINVAL;
	if (from == 2 && to == 1 && place == ON_USED)
		return -EBUSY;
	if (from == 1 && to == 0 && place == FULL_NAMED)
		return -EBUSY;
	return from == 1 && to == 2 && !has_fields ? -EINVAL : 0;
}

static void one(enum place place, int mask, uint32_t target, uint32_t op)
{
	struct mrc_ctl_ev_fmt_field fields[32];
	struct mrc_ctl_ev_fmt_profile_attr a = {
		.profile_state = (enum mrc_ctl_profile_state)target,
		.cur_profile_state = state_at[place],
		.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV,
	};
	int wanted = expect(place, mask, target, op);
	uint32_t is = wanted == 0 && mask & STATE ? target : (uint32_t)state_at[place];

	put(place);
	memcpy(fields, three, sizeof three);
	a.ev_fmt_op.op = (enum mrc_ctl_ev_fmt_op)op;
	a.ev_fmt_op.fmt_fields = fields;
	a.ev_fmt_op.fmt_field_count = op == SET ? 3 : 32;
	int got = rig_modify_format(1, &a, mask);

	if (got != wanted)
		fail_msg("place %d mask %x target %u op %u: %d, not %d", place, (unsigned)mask,
			 target, op, got, wanted);
	const struct control_format *f = control_find_format(rig_state, 1);

	assert_int_equal(f ? f->phase : CONTROL_INIT, is);
	if (!got && f && mask & OP && op == SET)
		assert_int_equal(f->n_fields, 3);
	else if (f && place > BARE)
		assert_int_equal(f->n_fields, 1);
}

static void every_step_with_everything(void **state)
{
	static const int bits[] = {STATE, CUR, MODE, OP, VENDOR, ALIEN};

	(void)state;
	for (uint32_t place = 0; place < PLACES; place++)
		for (uint32_t set = 0; set < 1u << 6; set++)
			for (uint32_t target = 0; target < 4; target++)
				for (uint32_t op = 0; op < 3; op++) {
					int mask = 0;

					for (uint32_t i = 0; i < 6; i++)
						mask |= set >> i & 1 ? bits[i] : 0;
					one((enum place)place, mask, target, op);
				}
}

/* An assertion, of a state that is another. */
static void current_state_must_be_true(void **state)
{
	struct mrc_ctl_ev_fmt_profile_attr a = {0};

	(void)state;
	for (uint32_t place = 0; place < PLACES; place++)
		for (uint32_t said = 0; said < 4; said++) {
			bool is_true = said == (uint32_t)state_at[place];

			put((enum place)place);
			a.cur_profile_state = (enum mrc_ctl_profile_state)said;
			assert_int_equal(rig_modify_format(1, &a, CUR), is_true ? 0 : -EINVAL);
			assert_false(rig_last.is_changed);
		}
}

/* The widths of a mode (9.4.3). */
static int set_widths(enum mrc_ctl_ev_fmt_mode mode, uint8_t width, int n)
{
	struct mrc_ctl_ev_fmt_field fields[40];
	struct mrc_ctl_ev_fmt_profile_attr a = {.profile_state = OFFLINE, .ev_fmt_mode = mode};

	memset(fields, width, sizeof fields);
	a.ev_fmt_op.op = SET;
	a.ev_fmt_op.fmt_fields = fields;
	a.ev_fmt_op.fmt_field_count = n;
	put(NOWHERE);
	int error = rig_modify_format(1, &a, STATE | MODE | OP);

	assert_true(error == 0 || !control_find_format(rig_state, 1));
	return error;
}

static void widths(void **state)
{
	static const struct {
		enum mrc_ctl_ev_fmt_mode mode;
		uint8_t width;
		int n, wanted;
	} cases[] = {
		{MRC_CTL_EV_FMT_MODE_STEV, 32, 1, 0},
		{MRC_CTL_EV_FMT_MODE_STEV, 1, 32, 0},
		{MRC_CTL_EV_FMT_MODE_STEV, 1, 33, -E2BIG},
		{MRC_CTL_EV_FMT_MODE_STEV, 11, 3, -E2BIG},
		{MRC_CTL_EV_FMT_MODE_STEV, 33, 1, -E2BIG},
		{MRC_CTL_EV_FMT_MODE_STEV, 0, 1, -EINVAL},
		{MRC_CTL_EV_FMT_MODE_STEV, 1, 0, -EINVAL},
		{MRC_CTL_EV_FMT_MODE_STEV, 1, -1, -EINVAL},
		{MRC_CTL_EV_FMT_MODE_UDP, 16, 1, 0},
		{MRC_CTL_EV_FMT_MODE_UDP, 17, 1, -E2BIG},
		{MRC_CTL_EV_FMT_MODE_UDP, 8, 3, -E2BIG},
		{MRC_CTL_EV_FMT_MODE_SRV6, 32, 8, 0},
		{MRC_CTL_EV_FMT_MODE_SRV6, 32, 9, -E2BIG},
		{MRC_CTL_EV_FMT_MODE_SRV6, 33, 1, -E2BIG},
		{MRC_CTL_EV_FMT_MODE_SRV6, 8, 32, 0},
		{(enum mrc_ctl_ev_fmt_mode)0, 8, 1, -EINVAL},
		{(enum mrc_ctl_ev_fmt_mode)3, 8, 1, -EINVAL},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(set_widths(cases[i].mode, cases[i].width, cases[i].n),
				 cases[i].wanted);
	rig_device.has_segments = false;
	assert_int_equal(set_widths(MRC_CTL_EV_FMT_MODE_SRV6, 8, 1), -EOPNOTSUPP);
}

/* A mode that has no room for the fields that there are. */
static void narrower_mode(void **state)
{
	struct mrc_ctl_ev_fmt_profile_attr a = {.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP};

	(void)state;
	put(FULL);
	control_find_format(rig_state, 1)->width[0] = 17;
	assert_int_equal(rig_modify_format(1, &a, MODE), -E2BIG);
	assert_int_equal(control_find_format(rig_state, 1)->wide, CONTROL_STRUCTURED);
	a.ev_fmt_op.fmt_field_count = 1;
	assert_int_equal(rig_modify_format(1, &a, OP), -EINVAL); /* no array */
}

static void vendor_has_nothing(void **state)
{
	struct mrc_ctl_ev_fmt_profile_attr a = {0};

	(void)state;
	put(BARE);
	a.vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE - 1] = 1;
	assert_int_equal(rig_modify_format(1, &a, VENDOR), -EINVAL);
	memset(a.vendor_cfg, 0, sizeof a.vendor_cfg);
	assert_int_equal(rig_modify_format(1, &a, VENDOR), 0);
}

static void queries(void **state)
{
	struct mrc_ctl_ev_fmt_field fields[3];
	struct mrc_ctl_ev_fmt_profile_attr a;

	(void)state;
	memset(&a, 0xff, sizeof a);
	put(NOWHERE);
	assert_int_equal(rig_query_format(1, &a, CUR), 0);
	assert_int_equal(a.cur_profile_state, INIT);
	assert_int_equal(rig_query_format(1, &a, MODE), -EINVAL);
	assert_int_equal(rig_query_format(1, &a, VENDOR), -EINVAL);
	assert_int_equal(rig_query_format(1, &a, ALIEN), -EINVAL);
	rig_format(1, MRC_CTL_EV_FMT_MODE_SRV6, three, 3);
	a.ev_fmt_op.op = ASK;
	a.ev_fmt_op.fmt_fields = fields;
	a.ev_fmt_op.fmt_field_count = 2;
	assert_int_equal(rig_query_format(1, &a, CUR | MODE | OP | VENDOR), -E2BIG);
	assert_int_equal(a.ev_fmt_op.fmt_field_count, 3);
	assert_int_equal(rig_query_format(1, &a, CUR | MODE | OP | VENDOR), 0);
	assert_int_equal(a.cur_profile_state, ONLINE);
	assert_int_equal(a.ev_fmt_mode, MRC_CTL_EV_FMT_MODE_SRV6);
	assert_memory_equal(fields, three, sizeof three);
	assert_int_equal(a.vendor_cfg[0] | a.vendor_cfg[127], 0);
	a.ev_fmt_op.fmt_field_count = 100;
	assert_int_equal(rig_modify_format(1, &a, OP), 0);
	assert_false(rig_last.is_changed);
	assert_int_equal(a.ev_fmt_op.fmt_field_count, 3);
	a.ev_fmt_op.fmt_field_count = -1;
	assert_int_equal(rig_query_format(1, &a, OP), -EINVAL);
	a.ev_fmt_op.fmt_field_count = 3;
	a.ev_fmt_op.fmt_fields = NULL;
	assert_int_equal(rig_query_format(1, &a, OP), -EINVAL);
	a.ev_fmt_op.op = SET;
	assert_int_equal(rig_query_format(1, &a, OP), -EINVAL);
}

/* Values that follow no format hold none, whatever its id. */
static void format_that_nobody_names(void **state)
{
	struct mrc_ctl_ev_fmt_profile_attr a = {
		.profile_state = OFFLINE,
		.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP,
	};
	struct control_profile *p = control_add_profile(rig_state, 9);

	(void)state;
	p->mode = CONTROL_AUTO;
	p->phase = CONTROL_ONLINE;
	assert_int_equal(control_set_count(rig_state, p, 1), 0);
	assert_int_equal(rig_modify_format(0, &a, STATE | MODE), 0);
	a.profile_state = INIT;
	assert_int_equal(rig_modify_format(0, &a, STATE), 0);
}

static void full_table(void **state)
{
	struct mrc_ctl_ev_fmt_profile_attr a = {
		.profile_state = OFFLINE,
		.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP,
	};

	(void)state;
	for (uint64_t id = 0; id < CONTROL_PROFILES; id++)
		assert_int_equal(rig_modify_format(UINT64_MAX - id, &a, STATE | MODE), 0);
	assert_int_equal(rig_modify_format(1, &a, STATE | MODE), -ENOMEM);
	a.profile_state = INIT;
	assert_int_equal(rig_modify_format(UINT64_MAX, &a, STATE), 0);
	a.profile_state = OFFLINE;
	assert_int_equal(rig_modify_format(1, &a, STATE | MODE), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
static const struct CMUnitTest cases[] = {
	CASE(every_step_with_everything),
	CASE(current_state_must_be_true),
	CASE(widths),
	CASE(narrower_mode),
	CASE(vendor_has_nothing),
	CASE(queries),
	CASE(format_that_nobody_names),
	CASE(full_table),
};
CHECK_MAIN(cases)
