/* The values of EV profiles: given ones and their states, fields, and those that the device makes
 * up; how packets carry them. */
#include "mrcapi_ctl_rig.h"

#define STATE  MRC_CTL_EV_PROFILE_STATE
#define VALUES MRC_CTL_EV_PROFILE_EV_OP
#define FIELDS MRC_CTL_EV_PROFILE_EV_FIELDS_OP
#define MODE   MRC_CTL_EV_PROFILE_MODE
#define NEW    (STATE | MODE | MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT)

#define GOOD   MRC_CTL_EV_GOOD
#define BAD    MRC_CTL_EV_ASSUMED_BAD
#define DENIED MRC_CTL_EV_DENIED

static const struct mrc_ctl_ev_fmt_field two[] = {{8}, {8}};

/* A profile, offline. */
static void make(enum mrc_ctl_ev_mode mode, uint32_t count)
{
	struct mrc_ctl_ev_profile_attr a = {
		.profile_state = OFFLINE,
		.ev_mode = mode,
		.ev_fmt_profile_id = 1,
		.ev_count = count,
	};

	assert_int_equal(rig_modify_ev(5, &a, NEW), 0);
}

static int go(enum mrc_ctl_profile_state to)
{
	struct mrc_ctl_ev_profile_attr a = {.profile_state = to};

	return rig_modify_ev(5, &a, STATE);
}

static int run(enum mrc_ctl_ev_op op, struct mrc_ctl_ev_op_entry *entries, int n)
{
	struct mrc_ctl_ev_profile_attr a = {.ev_op = {op, entries, n}};

	return rig_modify_ev(5, &a, VALUES);
}

static int replace(struct mrc_ctl_ev from, struct mrc_ctl_ev to, int state, uint32_t flags)
{
	struct mrc_ctl_ev_op_entry entry = {from, to, (enum mrc_ctl_ev_state)state, flags};

	return run(MRC_CTL_EV_OP_REPLACE_EV, &entry, 1);
}

static int set_state(struct mrc_ctl_ev ev, int state, uint32_t flags)
{
	struct mrc_ctl_ev_op_entry entry = {ev, {{0}, 0}, (enum mrc_ctl_ev_state)state, flags};

	return run(MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, 1);
}

/* The state of a value as a query has it, or a negative errno. */
static int64_t ask(struct mrc_ctl_ev ev)
{
	struct mrc_ctl_ev_op_entry entry = {.ev = ev};
	struct mrc_ctl_ev_profile_attr a = {
		.ev_op = {MRC_CTL_EV_OP_QUERY_EV_STATE, &entry, 1},
	};
	int error = rig_query_ev(5, &a, VALUES);

	return error ? error : (int64_t)(uint32_t)entry.state;
}

static int set_fields(struct mrc_ctl_ev_field *fields, int n)
{
	struct mrc_ctl_ev_profile_attr a = {
		.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields, n},
	};

	return rig_modify_ev(5, &a, FIELDS);
}

static const struct control_profile *profile(void)
{
	return control_find_profile(rig_state, 5);
}

static int setup(void **state)
{
	int error = rig_setup(state);

	if (!error)
		rig_format(1, MRC_CTL_EV_FMT_MODE_STEV, two, 2);
	return error;
}

static const struct mrc_ctl_ev none, a1 = {{0xaa}, 1}, a2 = {{0xaa}, 2}, b1 = {{0xbb, 1}, 1},
				     c2 = {{0xcc}, 2};

static void places_are_filled_one_by_one(void **state)
{
	struct mrc_ctl_ev_op_entry array[4];
	struct mrc_ctl_ev_profile_attr a = {
		.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, array, 2},
	};

	(void)state;
	make(MRC_CTL_EV_MODE_EXP, 3);
	assert_int_equal(ask(none), (uint32_t)MRC_CTL_EV_UNKNOWN);
	assert_int_equal(ask(a1), -ENOENT);
	assert_int_equal(replace(none, a1, GOOD, 0), 0);
	assert_int_equal(replace(none, c2, 0, 0), 0);
	assert_int_equal(go(ONLINE), -EINVAL);
	assert_int_equal(replace(none, b1, DENIED, 0), 0);
	assert_int_equal(replace(none, b1, GOOD, 0), -ENOENT);
	assert_int_equal(go(ONLINE), 0);
	assert_int_equal(ask(a1), GOOD);
	assert_int_equal(ask(c2), GOOD);
	assert_int_equal(ask(b1), DENIED);
	assert_int_equal(rig_query_ev(5, &a, VALUES), -E2BIG);
	assert_int_equal(a.ev_op.entry_count, 3);
	a.ev_op.entry_count = 4;
	rig_bad_evs = 1 << 1 | 1 << 2;
	assert_int_equal(rig_query_ev(5, &a, VALUES), 0);
	assert_int_equal(a.ev_op.entry_count, 3);
	assert_memory_equal(&array[0].ev, &a1, sizeof a1);
	assert_int_equal(array[0].state, GOOD);
	assert_memory_equal(&array[1].ev, &c2, sizeof c2);
	assert_int_equal(array[1].state, BAD);
	assert_memory_equal(&array[2].ev, &b1, sizeof b1);
	assert_int_equal(array[2].state, DENIED);
	/* What is assumed bad is so while it is used. */
	assert_int_equal(go(OFFLINE), 0);
	assert_int_equal(ask(c2), GOOD);
}

static void copies(void **state)
{
	(void)state;
	make(MRC_CTL_EV_MODE_EXP, 4);
	assert_int_equal(replace(none, a1, GOOD, MRC_CTL_EV_OP_F_ALL_COPIES), 0);
	assert_int_equal(ask(none), -ENOENT);
	assert_int_equal(replace(a1, b1, GOOD, 0), 0);
	assert_int_equal(profile()->evs[0].val[0], 0xbb);
	assert_int_equal(profile()->evs[1].val[0], 0xaa);
	assert_int_equal(set_state(a1, DENIED, 0), 0);
	assert_true(profile()->evs[1].is_denied);
	assert_false(profile()->evs[2].is_denied);
	assert_int_equal(set_state(a1, DENIED, MRC_CTL_EV_OP_F_ALL_COPIES), 0);
	assert_true(profile()->evs[2].is_denied && profile()->evs[3].is_denied);
	assert_false(profile()->evs[0].is_denied);
	assert_int_equal(set_state(a1, GOOD, MRC_CTL_EV_OP_F_ALL_COPIES), 0);
	assert_false(profile()->evs[1].is_denied || profile()->evs[3].is_denied);
}

/* 9.3.2: a value belongs to one plane. It may move to another, as a whole. */
static void a_value_is_of_one_plane(void **state)
{
	(void)state;
	make(MRC_CTL_EV_MODE_EXP, 3);
	assert_int_equal(replace(none, a1, GOOD, 0), 0);
	assert_int_equal(replace(none, a2, GOOD, 0), 0);
	assert_int_equal(replace(none, c2, GOOD, 0), 0);
	assert_int_equal(go(ONLINE), -EINVAL);
	assert_int_equal(replace(a2, a1, GOOD, 0), 0);
	assert_int_equal(go(ONLINE), 0);
	assert_int_equal(replace(c2, a2, GOOD, 0), -EINVAL);
	assert_int_equal(ask(c2), GOOD);
	assert_int_equal(replace(a1, a2, GOOD, 0), -EINVAL);
	assert_int_equal(profile()->evs[0].port, 1);
	assert_int_equal(replace(a1, a2, GOOD, MRC_CTL_EV_OP_F_ALL_COPIES), 0);
	assert_int_equal(profile()->evs[0].port, 2);
	assert_int_equal(profile()->evs[1].port, 2);
}

static void values_that_cannot_be(void **state)
{
	struct mrc_ctl_ev_op_entry entry = {.flags = 2};

	(void)state;
	make(MRC_CTL_EV_MODE_EXP, 2);
	assert_int_equal(replace(none, (struct mrc_ctl_ev){{1}, 3}, GOOD, 0), -EINVAL);
	assert_int_equal(replace(none, (struct mrc_ctl_ev){{0, 0, 0x80}, 1}, GOOD, 0), -EINVAL);
	assert_int_equal(replace(none, (struct mrc_ctl_ev){{1}, 0}, GOOD, 0), -EINVAL);
	assert_int_equal(replace(none, none, DENIED, 0), -EINVAL);
	assert_int_equal(replace(none, a1, BAD, 0), -EINVAL);
	assert_int_equal(replace(none, a1, GOOD | DENIED, 0), -EINVAL);
	assert_int_equal(replace(none, a1, GOOD, 2), -EINVAL);
	assert_int_equal(set_state(none, DENIED, 0), -ENOENT);
	assert_int_equal(replace(none, a1, GOOD, MRC_CTL_EV_OP_F_ALL_COPIES), 0);
	assert_int_equal(set_state(a1, BAD, 0), -EINVAL);
	assert_int_equal(set_state(a1, 0, 0), -EINVAL);
	assert_int_equal(run(MRC_CTL_EV_OP_MODIFY_EV_STATE, NULL, 1), -EINVAL);
	assert_int_equal(run(MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, -1), -EINVAL);
	assert_int_equal(run(MRC_CTL_EV_OP_QUERY_EV_STATE, NULL, 1), -EINVAL);
	assert_int_equal(run(MRC_CTL_EV_OP_QUERY_EV_ARRAY, NULL, 9), -EINVAL);
	assert_int_equal(run(MRC_CTL_EV_OP_QUERY_EV_ARRAY, &entry, -1), -EINVAL);
	/* Offline a place may be emptied again, online not. */
	assert_int_equal(replace(a1, none, 0, 0), 0);
	assert_int_equal(replace(none, b1, 0, 0), 0);
	assert_int_equal(go(ONLINE), 0);
	assert_int_equal(replace(a1, none, 0, 0), -EINVAL);
	assert_int_equal(replace(a1, a2, 0, 0), 0);
	assert_false(rig_last.is_exclusive);
}

/* Entries are taken one by one: those before the one that fails are done. */
static void what_was_done_before_a_failure(void **state)
{
	struct mrc_ctl_ev_op_entry entries[] = {
		{a1, {{0}, 0}, DENIED, 0},
		{b1, {{0}, 0}, DENIED, 0},
		{a2, {{0}, 0}, DENIED, 0},
	};
	struct mrc_ctl_ev_profile_attr a = {
		.profile_state = ONLINE,
		.ev_mode = MRC_CTL_EV_MODE_EXP,
		.ev_fmt_profile_id = 1,
		.ev_count = 2,
		.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, entries, 3},
	};

	(void)state;
	make(MRC_CTL_EV_MODE_EXP, 2);
	assert_int_equal(replace(none, a1, 0, 0), 0);
	assert_int_equal(replace(none, a2, 0, 0), 0);
	assert_int_equal(rig_modify_ev(5, &a, STATE | VALUES), -ENOENT);
	assert_true(rig_last.is_partial && rig_last.is_changed);
	assert_int_equal(ask(a1), DENIED);
	assert_int_equal(ask(a2), GOOD);
	assert_int_equal(profile()->phase, CONTROL_OFFLINE);
	/* Nothing was done, so there is nothing to keep. */
	a.ev_op.entries = entries + 1;
	a.ev_op.entry_count = 1;
	assert_int_equal(rig_modify_ev(5, &a, VALUES), -ENOENT);
	assert_false(rig_last.is_partial);
	/* Without the step out of INIT there is no profile. */
	struct mrc_ctl_ev_op_entry fill[] = {{none, a1, GOOD, 0}, {b1, a2, GOOD, 0}};

	a.profile_state = OFFLINE;
	a.ev_op = (__typeof__(a.ev_op)){MRC_CTL_EV_OP_REPLACE_EV, fill, 2};
	assert_int_equal(rig_modify_ev(6, &a, NEW | VALUES), -ENOENT);
	assert_null(control_find_profile(rig_state, 6));
	fill[1].ev = none;
	assert_int_equal(rig_modify_ev(6, &a, NEW | VALUES), 0);
	assert_int_equal(control_find_profile(rig_state, 6)->evs[1].port, 2);
}

/* A controller denies paths while they are used; that is what it is for. */
static void states_change_under_users(void **state)
{
	(void)state;
	make(MRC_CTL_EV_MODE_EXP, 1);
	assert_int_equal(replace(none, a1, 0, 0), 0);
	assert_int_equal(go(ONLINE), 0);
	rig_users = 3;
	assert_int_equal(set_state(a1, DENIED, 0), 0);
	assert_false(rig_last.is_exclusive);
	assert_int_equal(set_fields(NULL, 0), -EBUSY);
	assert_int_equal(go(OFFLINE), -EBUSY);
	assert_int_equal(ask(a1), DENIED);
	/* So it does with a value, which those who use it follow. */
	assert_int_equal(replace(a1, a2, 0, 0), 0);
	assert_false(rig_last.is_exclusive);
	assert_int_equal(ask(a2), MRC_CTL_EV_GOOD);
	assert_int_equal(profile()->evs[0].n_good, 0);
	/* Each GOOD is news, denied or not, until it is known again what it was. */
	for (uint32_t i = 1; i <= 128; i++) {
		assert_int_equal(set_state(a2, MRC_CTL_EV_GOOD, 0), 0);
		assert_int_equal(profile()->evs[0].n_good, i % 128);
	}
	assert_int_equal(set_state(a2, DENIED, 0), 0);
	assert_int_equal(profile()->evs[0].n_good, 0);
}

static void fields_that_cannot_be(void **state)
{
	static const struct {
		struct mrc_ctl_ev_field field;
		int wanted;
	} cases[] = {
		{{8, 0xff, 0, 255, 0xff}, 0},   {{0, 0, 0, 0, 0}, -EINVAL},
		{{33, 0, 0, 0, 0}, -EINVAL},    {{8, 0x100, 0, 0, 0}, -EINVAL},
		{{8, 0, 0, 0, 0x100}, -EINVAL}, {{8, 0, 2, 1, 3}, -EINVAL},
		{{8, 0, 0, 4, 0x81}, -EINVAL},  {{8, 0, 0, 3, 0x81}, 0},
		{{9, 0, 0, 0, 0}, -EINVAL},     {{32, 0, 0, 0, 0}, -EINVAL},
	};
	struct mrc_ctl_ev_field many[33];

	(void)state;
	make(MRC_CTL_EV_MODE_GEN, 4);
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct mrc_ctl_ev_field field = cases[i].field;

		assert_int_equal(set_fields(&field, 1), cases[i].wanted);
	}
	for (uint32_t i = 0; i < 33; i++)
		many[i] = (struct mrc_ctl_ev_field){.width = 8};
	assert_int_equal(set_fields(many, 3), -EINVAL); /* the format has two */
	assert_int_equal(set_fields(many, 5), -E2BIG);  /* and its mode 32 bits */
	assert_int_equal(set_fields(many, 33), -E2BIG);
	assert_int_equal(set_fields(many, -1), -EINVAL);
	assert_int_equal(set_fields(NULL, 1), -EINVAL);
	assert_int_equal(set_fields(many, 0), -EINVAL);
	make(MRC_CTL_EV_MODE_EXP, 4);
	assert_int_equal(set_fields(many, 2), 0);
	assert_int_equal(set_fields(many, 0), 0);
	assert_int_equal(profile()->n_fields, 0);
}

static void fields_are_told(void **state)
{
	struct mrc_ctl_ev_field fields[] = {{4, 8, 1, 2, 3}, {8, 0x80, 0, 1, 1}}, got[2];
	struct mrc_ctl_ev_profile_attr a = {
		.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, got, 1},
	};

	(void)state;
	make(MRC_CTL_EV_MODE_GEN, 4);
	assert_int_equal(set_fields(fields, 2), 0);
	assert_int_equal(rig_query_ev(5, &a, FIELDS), -E2BIG);
	assert_int_equal(a.ev_fields_op.field_count, 2);
	assert_int_equal(rig_query_ev(5, &a, FIELDS), 0);
	assert_memory_equal(got, fields, sizeof got);
	a.ev_fields_op.field_count = -1;
	assert_int_equal(rig_query_ev(5, &a, FIELDS), -EINVAL);
	a.ev_fields_op.field_count = 2;
	a.ev_fields_op.fields = NULL;
	assert_int_equal(rig_query_ev(5, &a, FIELDS), -EINVAL);
}

/* 9.4.3: within the bounds of the fields, none twice, over all ports; as many as there are. */
static void generated(void **state)
{
	struct mrc_ctl_ev_field fields[] = {{4, 8, 1, 2, 3}, {8, 0x40, 0, 1, 1}};
	uint32_t seen = 0, ports = 0;

	(void)state;
	make(MRC_CTL_EV_MODE_GEN, 100);
	assert_int_equal(set_fields(fields, 2), 0);
	struct mrc_ctl_ev_profile_attr a = {.profile_state = ONLINE, .ev_min_active = 50};

	assert_int_equal(rig_modify_ev(5, &a, STATE | MRC_CTL_EV_PROFILE_MIN_ACTIVE), 0);
	assert_int_equal(profile()->count, 4);
	assert_int_equal(profile()->min_active, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct control_ev *ev = &profile()->evs[i];

		/* A field of the format is wider: the profile's stands at its end. */
		assert_true(ev->val[0] == 9 || ev->val[0] == 10);
		assert_true(ev->val[1] == 0x40 || ev->val[1] == 0x41);
		seen |= 1u << (2 * (ev->val[0] - 9) + (ev->val[1] & 1));
		ports |= 1u << ev->port;
		assert_int_equal(ev->val[2] | ev->val[3], 0);
	}
	assert_int_equal(seen, 15);
	assert_int_equal(ports, 1 << 1 | 1 << 2);
	uint8_t value[PATH_VALUE_BYTES];

	control_expand(rig_state, profile(), 3, value);
	assert_memory_equal(value, profile()->evs[3].val, sizeof value);
	/* Again online they are the same ones; other fields make others at once. */
	struct control_ev before = profile()->evs[0];

	assert_int_equal(go(OFFLINE), 0);
	assert_int_equal(profile()->evs[0].port, 0);
	assert_int_equal(go(ONLINE), 0);
	assert_memory_equal(&profile()->evs[0], &before, sizeof before);
	fields[0].init_val = 4;
	assert_int_equal(set_fields(fields, 2), 0);
	assert_true(profile()->evs[0].val[0] == 5 || profile()->evs[0].val[0] == 6);
	assert_int_equal(replace(none, a1, 0, 0), -EINVAL);
}

/* Values of an address and a segment, whose combinations a number names. */
static void generated_wide(void **state)
{
	struct mrc_ctl_ev_fmt_field usids[16];
	struct mrc_ctl_ev_field fields[16];

	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		usids[i].width = 16;
		fields[i] = (struct mrc_ctl_ev_field){16, 0xf000 + i, 0, 0, 0};
	}
	fields[0] = (struct mrc_ctl_ev_field){16, 0, 7, 8, 0xffff};
	fields[15] = (struct mrc_ctl_ev_field){16, 0xab00, 1, 4, 7};
	control_remove(rig_state, CONTROL_FORMAT, 1);
	rig_format(1, MRC_CTL_EV_FMT_MODE_SRV6, usids, 16);
	make(MRC_CTL_EV_MODE_GEN, 8);
	assert_int_equal(set_fields(fields, 16), 0);
	assert_int_equal(go(ONLINE), 0);
	assert_int_equal(profile()->count, 8);
	for (uint32_t i = 0; i < 8; i++) {
		const uint8_t *val = profile()->evs[i].val;

		assert_true(val[0] == 0 && (val[1] == 7 || val[1] == 8));
		assert_int_equal(val[3], 1);
		assert_int_equal(val[28], 0xf0);
		assert_int_equal(val[30], 0xab);
		assert_true(val[31] >= 1 && val[31] <= 4);
	}
	/* More combinations than 32 bits name. */
	for (uint32_t i = 0; i < 3; i++)
		fields[i] = (struct mrc_ctl_ev_field){16, 0, 0, 0xffff, 0xffff};
	assert_int_equal(set_fields(fields, 16), -E2BIG);
	assert_int_equal(profile()->fields[15].max, 4);
}

/* 9.4.1: the device's own choice. */
static void automatic(void **state)
{
	(void)state;
	make(MRC_CTL_EV_MODE_AUTO, 1024);
	assert_int_equal(go(ONLINE), 0);
	assert_int_equal(profile()->count, 1024);
	uint32_t of_port[3] = {0};

	for (uint32_t i = 0; i < 1024; i++) {
		of_port[profile()->evs[i].port]++;
		assert_true(profile()->evs[i].val[0] >= 0xc0);
		for (uint32_t k = 0; k < i; k++)
			assert_true(memcmp(profile()->evs[i].val, profile()->evs[k].val, 2) != 0);
	}
	assert_int_equal(of_port[1], 512);
	assert_int_equal(of_port[2], 512);
	/* Queue pairs of two profiles do not all take the same paths. */
	struct mrc_ctl_ev_profile_attr a = {
		.profile_state = OFFLINE,
		.ev_mode = MRC_CTL_EV_MODE_AUTO,
		.ev_count = 1024,
	};

	assert_int_equal(rig_modify_ev(6, &a, NEW), 0);
	a.profile_state = ONLINE;
	assert_int_equal(rig_modify_ev(6, &a, STATE), 0);
	assert_memory_not_equal(control_find_profile(rig_state, 6)->evs, profile()->evs,
				1024 * sizeof(struct control_ev));
	struct mrc_ctl_ev first = {{0}, profile()->evs[0].port};

	memcpy(first.val, profile()->evs[0].val, sizeof first.val);
	assert_int_equal(set_state(first, DENIED, 0), 0);
	assert_int_equal(ask(first), DENIED);
}

/* What is given in short goes out with the fields around it, and is told as it was given. */
static void short_values(void **state)
{
	struct mrc_ctl_ev_field fields[] = {{4, 8, 0, 7, 7}, {8, 0x80, 0, 3, 0x11}};
	uint8_t value[PATH_VALUE_BYTES];
	const struct mrc_ctl_ev given = {{0x58}, 2}; /* 010 11 */

	(void)state;
	make(MRC_CTL_EV_MODE_EXP, 2);
	assert_int_equal(set_fields(fields, 2), 0);
	assert_int_equal(replace(none, (struct mrc_ctl_ev){{0x5c}, 2}, 0, 0), -EINVAL);
	assert_int_equal(replace(none, given, 0, 0), 0);
	control_expand(rig_state, profile(), 1, value); /* nothing there */
	assert_int_equal(value[0] | value[1], 0);
	assert_int_equal(replace(none, given, 0, 0), 0);
	assert_int_equal(go(ONLINE), 0);
	assert_int_equal(ask(given), GOOD);
	control_expand(rig_state, profile(), 0, value);
	assert_int_equal(value[0], 8 | 2);
	assert_int_equal(value[1], 0x80 | 0x11);
	assert_int_equal(value[2] | value[31], 0);
	/* Without fields they are what they are. */
	assert_int_equal(set_fields(NULL, 0), 0);
	control_expand(rig_state, profile(), 0, value);
	assert_memory_equal(value, given.val, sizeof value);
	/* And given ones that are too long for new fields keep those away. */
	assert_int_equal(replace(given, (struct mrc_ctl_ev){{0, 1}, 1}, 0, 0), 0);
	assert_int_equal(set_fields(fields, 2), -EINVAL);
	assert_int_equal(profile()->n_fields, 0);
}

/* A format that changed under a profile that is offline is seen when that comes online. */
static void format_changes_below(void **state)
{
	struct mrc_ctl_ev_fmt_field narrow = {4};
	struct mrc_ctl_ev_fmt_profile_attr f = {
		.profile_state = OFFLINE,
		.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, &narrow, 1},
	};
	struct mrc_ctl_ev_field wide = {8, 0, 0, 255, 255};

	(void)state;
	make(MRC_CTL_EV_MODE_EXP, 1);
	assert_int_equal(replace(none, b1, 0, 0), 0);
	assert_int_equal(rig_modify_format(1, &f, MRC_CTL_EV_FMT_PROFILE_STATE), 0);
	f.profile_state = ONLINE;
	assert_int_equal(
		rig_modify_format(1, &f, MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_OP),
		0);
	assert_int_equal(go(ONLINE), -EINVAL);
	assert_int_equal(replace(b1, (struct mrc_ctl_ev){{0xf0}, 1}, 0, 0), 0);
	assert_int_equal(go(ONLINE), 0);
	assert_int_equal(set_fields(&wide, 1), -EINVAL);
}

/* And so are fields that it has no room for any more. */
static void format_narrows_below(void **state)
{
	struct mrc_ctl_ev_fmt_field narrow = {4};
	struct mrc_ctl_ev_fmt_profile_attr f = {
		.profile_state = OFFLINE,
		.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, &narrow, 1},
	};
	struct mrc_ctl_ev_field field = {8, 0x80, 0, 0, 3};

	(void)state;
	make(MRC_CTL_EV_MODE_EXP, 1);
	assert_int_equal(set_fields(&field, 1), 0);
	assert_int_equal(replace(none, (struct mrc_ctl_ev){{0xc0}, 1}, 0, 0), 0);
	assert_int_equal(rig_modify_format(1, &f, MRC_CTL_EV_FMT_PROFILE_STATE), 0);
	assert_int_equal(rig_modify_format(1, &f, MRC_CTL_EV_FMT_PROFILE_OP), 0);
	f.profile_state = ONLINE;
	assert_int_equal(rig_modify_format(1, &f, MRC_CTL_EV_FMT_PROFILE_STATE), 0);
	assert_int_equal(go(ONLINE), -EINVAL);
	field.width = 4;
	field.init_val = 8;
	assert_int_equal(set_fields(&field, 1), 0);
	assert_int_equal(go(ONLINE), 0);
}

/* Where the bits of formats go. */
static void encodings(void **state)
{
	struct control_format f = {.wide = CONTROL_SRV6, .n_fields = 4, .width = {32, 32, 32, 32}};

	(void)state;
	assert_int_equal(control_encoding(&f), PATH_USID);
	f.width[f.n_fields++] = 1;
	assert_int_equal(control_encoding(&f), PATH_USID_SRH);
	f.wide = CONTROL_UDP;
	assert_int_equal(control_encoding(&f), PATH_ECMP);
	f.wide = CONTROL_STRUCTURED;
	assert_int_equal(control_encoding(&f), PATH_STRUCTURED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, rig_teardown)
static const struct CMUnitTest cases[] = {
	CASE(places_are_filled_one_by_one),
	CASE(copies),
	CASE(a_value_is_of_one_plane),
	CASE(values_that_cannot_be),
	CASE(what_was_done_before_a_failure),
	CASE(states_change_under_users),
	CASE(fields_that_cannot_be),
	CASE(fields_are_told),
	CASE(generated),
	CASE(generated_wide),
	CASE(automatic),
	CASE(short_values),
	CASE(format_changes_below),
	CASE(format_narrows_below),
	CASE(encodings),
};
CHECK_MAIN(cases)
