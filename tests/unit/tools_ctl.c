/* `weft ctl`: values as text, files, and the way from what a device has to what a file wants. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ctl_fake.h"

#define PORTS 0x6u /* 1 and 2 */

static const char fabric[] = "ports: {1: up, 2: down}\n"
			     "formats:\n"
			     "  1: {mode: structured, fields: [16, 16]}\n"
			     "  2: {mode: srv6, fields: [32, 16, 16, 16]}\n"
			     "ev_profiles:\n"
			     "  7:\n"
			     "    mode: explicit\n"
			     "    format: 1\n"
			     "    min_active: 2\n"
			     "    events: [good, bad]\n"
			     "    values: [0xc0010002, 0xc0010003/2, 0xc0010004]\n"
			     "    denied: [0xc0010003]\n"
			     "  0x8:\n"
			     "    mode: generated\n"
			     "    format: 2\n"
			     "    count: 4\n"
			     "    fields: [32:0xfc000000, 16:0x100:0xf:0:3, 16:0, 16:1]\n"
			     "  9: {mode: auto, count: 6}\n"
			     "cc_profiles:\n"
			     "  3: {algorithm: uet-1.0-nscc, base_rtt: 12us, gamma: 0.8, "
			     "max_cwnd: 1MiB}\n"
			     "  4: {algorithm: none}\n";

static struct ctl_source source_of(const char *text)
{
	return (struct ctl_source){"test.yaml", text, strlen(text)};
}

static void read_device(struct mrc_context *m, struct ctl_state *s)
{
	struct ctl_ids ids;

	fake_ids(m, &ids);
	assert_int_equal(ctl_state_read(m, PORTS, &ids, s), 0);
	for (uint32_t k = 0; k < CONTROL_KINDS; k++)
		free(ids.at[k]);
}

/* Applies text, which must be a good file; errno of the failure, or 0. */
static int apply(struct mrc_context *m, const char *text, bool is_exact, struct ctl_report *report)
{
	struct ctl_source source = source_of(text);
	struct ctl_state now, wanted;
	char why[CTL_WHY_MAX] = "";

	read_device(m, &now);
	if (ctl_file_read(&source, &now, &wanted, why))
		fail_msg("%s", why);
	int r = ctl_apply(m, &now, &wanted, is_exact, report) ? errno : 0;

	ctl_state_fini(&now);
	ctl_state_fini(&wanted);
	return r;
}

/* The same, of which only success and the deeds matter. */
static void apply_well(struct mrc_context *m, const char *text, bool is_exact)
{
	struct ctl_report report;

	assert_int_equal(apply(m, text, is_exact, &report), 0);
	ctl_report_fini(&report);
}

static enum ctl_deed deed_of(const struct ctl_report *r, uint32_t kind, uint64_t id)
{
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->list[i].kind == kind && r->list[i].id == id)
			return r->list[i].deed;
	}
	fail_msg("nothing is said of %s %u", ctl_kind_word(kind), (unsigned)id);
	return CTL_SAME;
}

static void values_are_read_as_they_are_written(void **state)
{
	static const struct {
		enum mrc_ctl_ev_fmt_mode mode;
		const char *text, *written;
		uint8_t first, last;
	} values[] = {
		{MRC_CTL_EV_FMT_MODE_STEV, "0xc0010002/1", "0xc0010002/1", 0xc0, 0x02},
		{MRC_CTL_EV_FMT_MODE_STEV, "258/8", "0x00000102/8", 0x00, 0x02},
		{MRC_CTL_EV_FMT_MODE_UDP, "0xC001/2", "0xc001/2", 0xc0, 0x01},
		{MRC_CTL_EV_FMT_MODE_SRV6, "fc00:0:100:200::/3", "fc00:0:100:200::/3", 0xfc, 0},
		{MRC_CTL_EV_FMT_MODE_SRV6, "fc00::,fc01::5/1", "fc00::,fc01::5/1", 0xfc, 0x05},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		struct mrc_ctl_ev ev;
		struct text t;

		assert_true(ctl_value_read(values[i].text, values[i].mode, &ev));
		text_clear(&t);
		ctl_value_text(&t, values[i].mode, &ev);
		assert_string_equal(t.at, values[i].written);
		assert_int_equal(ev.val[0], values[i].first);
		assert_int_equal(ev.val[ctl_value_bytes(values[i].mode) - 1], values[i].last);
	}
}

static void other_text_is_no_value(void **state)
{
	static const struct {
		enum mrc_ctl_ev_fmt_mode mode;
		const char *text;
	} bad[] = {
		{MRC_CTL_EV_FMT_MODE_STEV, ""},
		{MRC_CTL_EV_FMT_MODE_STEV, "0x100000000/1"},
		{MRC_CTL_EV_FMT_MODE_STEV, "0xc0010002/0"},
		{MRC_CTL_EV_FMT_MODE_STEV, "0xc0010002/9"},
		{MRC_CTL_EV_FMT_MODE_STEV, "0xc0010002/"},
		{MRC_CTL_EV_FMT_MODE_STEV, "fc00::/1"},
		{MRC_CTL_EV_FMT_MODE_UDP, "0x10000"},
		{MRC_CTL_EV_FMT_MODE_SRV6, "0xc0010002/1"},
		{MRC_CTL_EV_FMT_MODE_SRV6, "fc00::,/1"},
		{MRC_CTL_EV_FMT_MODE_SRV6, "fc00::,fc01::,fc02::/1"},
	};
	struct mrc_ctl_ev ev;
	char endless[512];

	(void)state;
	for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_false(ctl_value_read(bad[i].text, bad[i].mode, &ev));
	memset(endless, '1', sizeof endless - 1);
	endless[sizeof endless - 1] = 0;
	assert_false(ctl_value_read(endless, MRC_CTL_EV_FMT_MODE_STEV, &ev));
}

static void a_file_makes_a_device(void **state)
{
	struct ctl_report report;
	struct mrc_context m;
	struct ctl_state s;

	(void)state;
	fake_init(&m);
	assert_int_equal(apply(&m, fabric, false, &report), 0);
	assert_int_equal(deed_of(&report, CONTROL_EV, 8), CTL_MADE);
	assert_int_equal(deed_of(&report, CTL_OF_PORT, 1), CTL_SAME);
	assert_int_equal(deed_of(&report, CTL_OF_PORT, 2), CTL_CHANGED);
	ctl_report_fini(&report);
	read_device(&m, &s);
	assert_int_equal(s.enabled_ports, 1u << 1);
	assert_int_equal(s.n_formats, 2);
	assert_int_equal(s.n_profiles, 3);
	assert_int_equal(s.n_ccs, 2);
	const struct ctl_profile *p = ctl_find_profile(&s, 7);

	assert_int_equal(p->state, MRC_CTL_PROFILE_ONLINE);
	assert_int_equal(p->n_values, 3);
	assert_int_equal(p->values[1].ev.port, 2);
	assert_int_equal(p->values[0].state, MRC_CTL_EV_GOOD);
	assert_int_equal(p->values[1].state, MRC_CTL_EV_DENIED);
	assert_int_equal(p->events, MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD);
	p = ctl_find_profile(&s, 8);
	assert_int_equal(p->n_fields, 4);
	assert_int_equal(p->fields[1].max_val, 3);
	assert_int_equal(p->format_mode, MRC_CTL_EV_FMT_MODE_SRV6);
	const struct ctl_cc *cc = ctl_find_cc(&s, 3);

	assert_int_equal(cc->nscc.base_rtt, 12000);
	assert_int_equal(cc->nscc.max_cwnd, 1u << 20);
	assert_true(cc->nscc.gamma > 0.79f && cc->nscc.gamma < 0.81f);
	assert_false(ctl_find_cc(&s, 4)->is_nscc);
	ctl_state_fini(&s);
	fake_fini(&m);
}

static void the_same_file_changes_nothing(void **state)
{
	struct ctl_report report;
	struct mrc_context m;

	(void)state;
	fake_init(&m);
	apply_well(&m, fabric, false);
	m.busy = 7;
	uint32_t before = m.n_modified;

	assert_int_equal(apply(&m, fabric, true, &report), 0);
	assert_int_equal(m.n_modified, before);
	for (uint32_t i = 0; i < report.n; i++)
		assert_int_equal(report.list[i].deed, CTL_SAME);
	ctl_report_fini(&report);
	fake_fini(&m);
}

static char *save(struct mrc_context *m)
{
	struct ctl_state s;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	read_device(m, &s);
	ctl_file_print(&s, out);
	assert_int_equal(fclose(out), 0);
	ctl_state_fini(&s);
	return text;
}

/* What is saved makes the same device of an empty one, and changes nothing on its own. */
static void check_saved(struct mrc_context *m)
{
	struct mrc_context other;
	char *text = save(m);
	uint32_t before = m->n_modified;

	fake_init(&other);
	apply_well(m, text, true);
	assert_int_equal(m->n_modified, before);
	apply_well(&other, text, true);
	char *again = save(&other);

	assert_string_equal(again, text);
	free(text);
	free(again);
	fake_fini(&other);
}

static void a_saved_state_is_a_file(void **state)
{
	struct mrc_context m;

	(void)state;
	fake_init(&m);
	apply_well(&m, fabric, false);
	check_saved(&m);
	fake_fini(&m);
}

static void only_what_differs_is_built_anew(void **state)
{
	static const char next[] = "ev_profiles:\n"
				   "  7: {mode: explicit, format: 1, values: [0xc0010009]}\n"
				   "  9: {mode: auto, count: 6}\n";
	struct ctl_report report;
	struct mrc_context m;

	(void)state;
	fake_init(&m);
	apply_well(&m, fabric, false);
	m.busy = 9;
	assert_int_equal(apply(&m, next, false, &report), 0);
	assert_int_equal(deed_of(&report, CONTROL_EV, 7), CTL_CHANGED);
	assert_int_equal(deed_of(&report, CONTROL_EV, 9), CTL_SAME);
	ctl_report_fini(&report);
	const struct ctl_profile *p = ctl_find_profile(&m.s, 7);

	assert_int_equal(p->count, 1);
	assert_int_equal(p->min_active, 0);
	assert_int_equal(p->state, MRC_CTL_PROFILE_ONLINE);
	/* What the file does not name stays. */
	assert_int_equal(m.s.n_profiles, 3);
	assert_int_equal(m.s.n_ccs, 2);
	fake_fini(&m);
}

/* Whatever a file says of a profile, another word there is another profile. */
static void each_difference_counts(void **state)
{
	static const struct {
		uint32_t kind;
		const char *first, *then;
	} pairs[] = {
		{CONTROL_EV, "{mode: auto, count: 4}", "{mode: auto, count: 5}"},
		{CONTROL_EV, "{mode: auto, count: 4}", "{mode: auto, count: 4, min_active: 1}"},
		{CONTROL_EV, "{mode: auto, count: 4}", "{mode: auto, count: 4, events: [bad]}"},
		{CONTROL_EV, "{mode: auto, count: 4}", "{mode: auto, count: 4, state: offline}"},
		{CONTROL_EV, "{mode: explicit, format: 1, values: [1]}",
		 "{mode: explicit, format: 2, values: [1]}"},
		{CONTROL_EV, "{mode: explicit, format: 1, values: [1]}",
		 "{mode: explicit, format: 1, values: [1/2]}"},
		{CONTROL_EV, "{mode: generated, format: 1, count: 2, fields: [16:0:3:0:3]}",
		 "{mode: generated, format: 1, count: 2, fields: [16:0:3:0:2]}"},
		{CONTROL_CC, "{algorithm: uet-1.0-nscc}", "{algorithm: none}"},
		{CONTROL_CC, "{algorithm: uet-1.0-nscc}", "{algorithm: uet-1.0-nscc, eta: 0.1}"},
		{CONTROL_CC, "{algorithm: uet-1.0-nscc, disable_qa: true}",
		 "{algorithm: uet-1.0-nscc}"},
		{CONTROL_FORMAT, "{mode: udp, fields: [16]}", "{mode: structured, fields: [16]}"},
		{CONTROL_FORMAT, "{mode: udp, fields: [16]}", "{mode: udp, fields: [8, 8]}"},
	};
	static const char *const keys[] = {"formats", "ev_profiles", "cc_profiles"};

	(void)state;
	for (uint32_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		struct ctl_report report;
		struct mrc_context m;
		char text[200];

		fake_init(&m);
		apply_well(&m,
			   "formats: {1: {mode: udp, fields: [16]}, 2: {mode: udp, fields: "
			   "[16]}}\n",
			   false);
		snprintf(text, sizeof text, "%s: {3: %s}\n", keys[pairs[i].kind], pairs[i].first);
		apply_well(&m, text, false);
		snprintf(text, sizeof text, "%s: {3: %s}\n", keys[pairs[i].kind], pairs[i].then);
		assert_int_equal(apply(&m, text, false, &report), 0);
		if (deed_of(&report, pairs[i].kind, 3) != CTL_CHANGED)
			fail_msg("%s is taken for %s", pairs[i].then, pairs[i].first);
		ctl_report_fini(&report);
		fake_fini(&m);
	}
}

static void who_names_a_changed_format_comes_back(void **state)
{
	struct ctl_report report;
	struct mrc_context m;

	(void)state;
	fake_init(&m);
	apply_well(&m, fabric, false);
	assert_int_equal(
		apply(&m, "formats: {1: {mode: structured, fields: [8, 24]}}\n", false, &report),
		0);
	assert_int_equal(deed_of(&report, CONTROL_FORMAT, 1), CTL_CHANGED);
	assert_int_equal(deed_of(&report, CONTROL_EV, 7), CTL_CHANGED);
	ctl_report_fini(&report);
	const struct ctl_profile *p = ctl_find_profile(&m.s, 7);

	assert_int_equal(ctl_find_format(&m.s, 1)->fields[0].width, 8);
	assert_int_equal(p->state, MRC_CTL_PROFILE_ONLINE);
	assert_int_equal(p->n_values, 3);
	assert_int_equal(p->values[1].state, MRC_CTL_EV_DENIED);
	fake_fini(&m);
}

/* One that is in use stays, and so does all that was taken offline before it was met. */
static void a_profile_in_use_stops_all(void **state)
{
	static const char next[] = "formats: {2: {mode: srv6, fields: [32, 32]}}\n"
				   "ev_profiles:\n"
				   "  7: {mode: explicit, format: 1, values: [0xc0010009]}\n"
				   "  9: {mode: auto, count: 5}\n";
	struct ctl_report report;
	struct mrc_context m;

	(void)state;
	fake_init(&m);
	apply_well(&m, fabric, false);
	m.busy = 9;
	char *before = save(&m);

	assert_int_equal(apply(&m, next, true, &report), EBUSY);
	assert_true(report.is_untouched);
	assert_int_equal(report.kind, CONTROL_EV);
	assert_int_equal(report.id, 9);
	assert_string_equal(report.what, "EV profile 9: cannot go offline");
	assert_int_equal(report.n, 0);
	ctl_report_fini(&report);
	char *after = save(&m);

	assert_string_equal(after, before);
	free(before);
	free(after);
	fake_fini(&m);
}

static void exact_removes_the_rest(void **state)
{
	struct ctl_report report;
	struct mrc_context m;

	(void)state;
	fake_init(&m);
	apply_well(&m, fabric, false);
	assert_int_equal(apply(&m, "cc_profiles: {4: {algorithm: none}}\n", true, &report), 0);
	assert_int_equal(deed_of(&report, CONTROL_EV, 7), CTL_REMOVED);
	assert_int_equal(deed_of(&report, CONTROL_FORMAT, 1), CTL_REMOVED);
	assert_int_equal(deed_of(&report, CONTROL_CC, 4), CTL_SAME);
	ctl_report_fini(&report);
	assert_int_equal(m.s.n_formats, 0);
	assert_int_equal(m.s.n_profiles, 0);
	assert_int_equal(m.s.n_ccs, 1);
	fake_fini(&m);
}

static void a_refused_step_is_named(void **state)
{
	struct ctl_report report;
	struct mrc_context m;

	(void)state;
	fake_init(&m);
	m.refuses_fields = true;
	assert_int_equal(apply(&m, fabric, false, &report), E2BIG);
	assert_string_equal(report.what, "format 1: its fields are refused");
	ctl_report_fini(&report);
	fake_fini(&m);
}

/* A step that fails half way leaves nothing of what was done before it. */
static void a_failure_is_undone(void **state)
{
	static const char next[] = "ports: {2: up}\n"
				   "ev_profiles:\n"
				   "  7: {mode: explicit, format: 1, values: [0xc0010009]}\n"
				   "  5: {mode: auto, count: 5}\n"
				   "cc_profiles: {3: {algorithm: none}, 6: {algorithm: none}}\n";
	struct ctl_report report;
	struct mrc_context m;

	(void)state;
	fake_init(&m);
	apply_well(&m, fabric, false);
	char *before = save(&m);

	m.refused_cc = 6;
	assert_int_equal(apply(&m, next, false, &report), ENOMEM);
	assert_string_equal(report.what, "CC profile 6: cannot be made");
	assert_true(report.is_untouched);
	assert_int_equal(report.n, 0);
	ctl_report_fini(&report);
	char *after = save(&m);

	assert_string_equal(after, before);
	assert_null(ctl_find_profile(&m.s, 5));
	assert_int_equal(ctl_find_profile(&m.s, 7)->count, 3);
	assert_true(ctl_find_cc(&m.s, 3)->is_nscc);
	free(before);
	free(after);
	fake_fini(&m);
}

/* Denying goes on while queue pairs use the profile, by all ports unless one is named. */
static void values_are_denied_and_allowed(void **state)
{
	struct ctl_denial denial = {.is_denied = true};
	struct mrc_ctl_ev evs[2];
	struct mrc_context m;
	struct ctl_state s;
	uint32_t failed = 9;

	(void)state;
	fake_init(&m);
	apply_well(&m, fabric, false);
	m.busy = 7;
	read_device(&m, &s);
	assert_true(ctl_value_read("0xc0010002", MRC_CTL_EV_FMT_MODE_STEV, &evs[0]));
	assert_true(ctl_value_read("0xc0010003/1", MRC_CTL_EV_FMT_MODE_STEV, &evs[1]));
	denial.profile = ctl_find_profile(&s, 7);
	denial.evs = evs;
	denial.n = 2;
	/* The second is by another port: nothing of it happens. */
	assert_int_equal(ctl_deny(&m, &denial, &failed), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(failed, 1);
	assert_int_equal(ctl_find_profile(&m.s, 7)->values[0].state, MRC_CTL_EV_GOOD);
	evs[1].port = 2;
	assert_int_equal(ctl_deny(&m, &denial, &failed), 0);
	assert_int_equal(ctl_find_profile(&m.s, 7)->values[0].state, MRC_CTL_EV_DENIED);
	assert_int_equal(ctl_find_profile(&m.s, 7)->values[1].state, MRC_CTL_EV_DENIED);
	assert_int_equal(ctl_find_profile(&m.s, 7)->values[2].state, MRC_CTL_EV_GOOD);
	denial.is_denied = false;
	assert_int_equal(ctl_deny(&m, &denial, &failed), 0);
	assert_int_equal(ctl_find_profile(&m.s, 7)->values[0].state, MRC_CTL_EV_GOOD);
	ctl_state_fini(&s);
	fake_fini(&m);
}

static void a_file_says_what_is_denied(void **state)
{
	struct ctl_report report;
	struct mrc_context m;

	(void)state;
	fake_init(&m);
	apply_well(&m, "ev_profiles: {9: {mode: auto, count: 6}}\n", false);
	m.busy = 9;
	/* Values that the device drew: 0xc0000000 by port 1, 0xc0010000 by port 2, ... */
	assert_int_equal(apply(&m,
			       "ev_profiles: {9: {mode: auto, count: 6, denied: "
			       "[0xc0010000]}}\n",
			       false, &report),
			 0);
	assert_int_equal(deed_of(&report, CONTROL_EV, 9), CTL_CHANGED);
	ctl_report_fini(&report);
	assert_int_equal(m.s.profiles[0].values[1].state, MRC_CTL_EV_DENIED);
	/* Without the key it is left alone; with an empty list nothing is denied. */
	apply_well(&m, "ev_profiles: {9: {mode: auto, count: 6}}\n", false);
	assert_int_equal(m.s.profiles[0].values[1].state, MRC_CTL_EV_DENIED);
	apply_well(&m, "ev_profiles: {9: {mode: auto, count: 6, denied: []}}\n", false);
	assert_int_equal(m.s.profiles[0].values[1].state, MRC_CTL_EV_GOOD);
	assert_int_equal(apply(&m, "ev_profiles: {9: {mode: auto, count: 6, denied: [1]}}\n", false,
			       &report),
			 ENOENT);
	ctl_report_fini(&report);
	fake_fini(&m);
}

/* Of fabric: an explicit, a generated and a drawn value are denied. The latter two were made up. */
static const char denials[] = "ev_profiles:\n"
			      "  8:\n"
			      "    mode: generated\n"
			      "    format: 2\n"
			      "    count: 4\n"
			      "    fields: [32:0xfc000000, 16:0x100:0xf:0:3, 16:0, 16:1]\n"
			      "    denied: [\"c002::\"]\n"
			      "  9: {mode: auto, count: 6, denied: [0xc0010000]}\n";

static void make_denials(struct mrc_context *m)
{
	fake_init(m);
	apply_well(m, fabric, false);
	apply_well(m, denials, false);
	assert_int_equal(ctl_find_profile(&m->s, 8)->values[2].state, MRC_CTL_EV_DENIED);
	assert_int_equal(ctl_find_profile(&m->s, 9)->values[1].state, MRC_CTL_EV_DENIED);
}

/* Applies text, which must fail and leave everything as it was. */
static void apply_in_vain(struct mrc_context *m, const char *text, int number)
{
	struct ctl_report report;
	char *before = save(m);

	assert_int_equal(apply(m, text, false, &report), number);
	assert_true(report.is_untouched);
	ctl_report_fini(&report);
	char *after = save(m);

	assert_string_equal(after, before);
	free(before);
	free(after);
}

/* One profile that is in use, after another was offline for a moment. */
static void denials_come_back_from_offline(void **state)
{
	struct mrc_context m;

	(void)state;
	make_denials(&m);
	m.busy = 9;
	apply_in_vain(&m,
		      "formats: {2: {mode: srv6, fields: [32, 32]}}\n"
		      "ev_profiles: {9: {mode: auto, count: 5}}\n",
		      EBUSY);
	fake_fini(&m);
}

/* Also those of a profile that the file leaves the same but for them. */
static void denials_are_undone(void **state)
{
	struct mrc_context m;

	(void)state;
	make_denials(&m);
	m.refused_cc = 6;
	apply_in_vain(&m,
		      "formats: {2: {mode: srv6, fields: [32, 32]}}\n"
		      "ev_profiles: {9: {mode: auto, count: 6, denied: [0xc0000000]}}\n"
		      "cc_profiles: {6: {algorithm: none}}\n",
		      ENOMEM);
	fake_fini(&m);
}

/* A profile that goes for its format, or for another key, keeps what it can of them. */
static void denials_outlast_other_changes(void **state)
{
	struct mrc_context m;

	(void)state;
	make_denials(&m);
	apply_well(&m, "formats: {2: {mode: srv6, fields: [32, 32]}}\n", false);
	assert_int_equal(ctl_find_profile(&m.s, 8)->values[2].state, MRC_CTL_EV_DENIED);
	apply_well(&m, "ev_profiles: {9: {mode: auto, count: 4}}\n", false);
	assert_int_equal(ctl_find_profile(&m.s, 9)->values[1].state, MRC_CTL_EV_DENIED);
	apply_well(&m, "ev_profiles: {9: {mode: auto, count: 1}}\n", false);
	assert_int_equal(ctl_find_profile(&m.s, 9)->values[0].state, MRC_CTL_EV_GOOD);
	fake_fini(&m);
}

static void what_does_not_come_back_is_said(void **state)
{
	struct ctl_report report;
	struct mrc_context m;

	(void)state;
	make_denials(&m);
	m.busy = 9;
	m.stuck = 7;
	assert_int_equal(apply(&m,
			       "ev_profiles:\n"
			       "  7: {mode: explicit, format: 1, values: [0xc0010009]}\n"
			       "  9: {mode: auto, count: 5}\n",
			       false, &report),
			 EBUSY);
	assert_false(report.is_untouched);
	assert_string_equal(report.what, "EV profile 9: cannot go offline");
	ctl_report_fini(&report);
	fake_fini(&m);
}

/* The values that a device makes up are the same on another one. */
static void denials_are_saved(void **state)
{
	struct mrc_context m, other;

	(void)state;
	make_denials(&m);
	fake_init(&other);
	char *text = save(&m);

	apply_well(&other, text, true);
	assert_int_equal(ctl_find_profile(&other.s, 7)->values[1].state, MRC_CTL_EV_DENIED);
	assert_int_equal(ctl_find_profile(&other.s, 8)->values[2].state, MRC_CTL_EV_DENIED);
	assert_int_equal(ctl_find_profile(&other.s, 9)->values[1].state, MRC_CTL_EV_DENIED);
	free(text);
	fake_fini(&m);
	fake_fini(&other);
}

/* Profiles that are not finished are saved and made again as well. */
static void what_is_offline_may_be_unfinished(void **state)
{
	static const char unfinished[] =
		"formats:\n"
		"  1: {mode: structured, state: offline}\n"
		"  2: {mode: udp, state: offline, fields: []}\n"
		"ev_profiles:\n"
		"  3: {mode: explicit, state: offline, format: 1, count: 3, values: []}\n"
		"  4: {mode: explicit, state: offline, format: 2, count: 3, values: [7, 8/2]}\n"
		"  5: {mode: generated, state: offline, format: 1, count: 2}\n"
		"  6: {mode: explicit, state: offline, format: 1, values: [7]}\n";
	struct mrc_context m;

	(void)state;
	fake_init(&m);
	apply_well(&m, unfinished, false);
	assert_int_equal(ctl_find_profile(&m.s, 4)->count, 3);
	assert_int_equal(ctl_find_profile(&m.s, 4)->values[1].ev.port, 2);
	check_saved(&m);
	fake_fini(&m);
}

static void wrong_files_say_where(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{"ports: {3: up}\n", "ports.3: is no port of the device"},
		{"ports: {1: sideways}\n", "one of down, up"},
		{"formats: {x: {mode: udp, fields: [16]}}\n", "is no number"},
		{"formats: {1: {mode: udp}}\n", "formats.1.fields: is missing"},
		{"formats: {1: {mode: udp, fields: []}}\n", "has 0 fields"},
		{"formats: {1: {mode: udp, fields: [33]}}\n", "too large"},
		{"formats:\n  1: {mode: udp, fields: [16]}\n  0x1: {mode: udp, fields: [16]}\n",
		 "test.yaml:3: formats.0x1: is there already"},
		{"ev_profiles: {1: {mode: explicit, format: 5, values: [1]}}\n",
		 "neither the file nor the device has a format 5"},
		{"formats: {1: {mode: udp, fields: [16]}}\nev_profiles: {1: {mode: explicit, "
		 "format: 1, values: [0x10000]}}\n",
		 "write 16 bits and a port"},
		{"formats: {1: {mode: udp, fields: [16]}}\nev_profiles: {1: {mode: explicit, "
		 "format: 1, values: [], state: offline}}\n",
		 "is empty; write at least one value"},
		{"formats: {1: {mode: udp, fields: [16]}}\nev_profiles: {1: {mode: explicit, "
		 "format: 1, count: 2, values: [1]}}\n",
		 "more than the 1 values; leave it out"},
		{"formats: {1: {mode: udp, fields: [16]}}\nev_profiles: {1: {mode: explicit, "
		 "format: 1, count: 1, values: [1, 2]}}\n",
		 "less than the 2 values"},
		{"formats: {1: {mode: udp, fields: [16]}}\nev_profiles: {1: {mode: generated, "
		 "format: 1, count: 2}}\n",
		 "fields: is missing"},
		{"ev_profiles: {1: {mode: auto, min_active: 9, count: 8}}\n", "more than the 8"},
		{"ev_profiles: {1: {mode: auto, coutn: 8}}\n", "did you mean \"count\"?"},
		{"formats: {1: {mode: udp, fields: [16]}}\nev_profiles: {1: {mode: generated, "
		 "format: 1, count: 2, fields: [16:0:1]}}\n",
		 "is no field"},
		{"ev_profiles: {1: {mode: auto, state: offline, denied: [1]}}\n",
		 "before the profile is online"},
		{"cc_profiles: {1: {algorithm: cubic}}\n", "one of none, uet-1.0-nscc"},
		{"cc_profiles: {1: {algorithm: none, eta: 2}}\n", "unknown key"},
		{"cc_profiles: {1: {algorithm: uet-1.0-nscc, base_rtt: 12}}\n", "needs a unit"},
		{"profiles: {}\n", "unknown key"},
		{"7\n", "not a map"},
	};
	const struct ctl_state current = {.said_ports = PORTS};

	(void)state;
	for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct ctl_source source = source_of(wrong[i].text);
		char why[CTL_WHY_MAX] = "";
		struct ctl_state s;

		assert_int_equal(ctl_file_read(&source, &current, &s, why), -EINVAL);
		if (!strstr(why, wrong[i].says))
			fail_msg("%s: \"%s\"", wrong[i].text, why);
		assert_null(s.formats);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(values_are_read_as_they_are_written),
	cmocka_unit_test(other_text_is_no_value),
	cmocka_unit_test(a_file_makes_a_device),
	cmocka_unit_test(the_same_file_changes_nothing),
	cmocka_unit_test(a_saved_state_is_a_file),
	cmocka_unit_test(only_what_differs_is_built_anew),
	cmocka_unit_test(each_difference_counts),
	cmocka_unit_test(who_names_a_changed_format_comes_back),
	cmocka_unit_test(a_profile_in_use_stops_all),
	cmocka_unit_test(exact_removes_the_rest),
	cmocka_unit_test(a_refused_step_is_named),
	cmocka_unit_test(a_failure_is_undone),
	cmocka_unit_test(values_are_denied_and_allowed),
	cmocka_unit_test(a_file_says_what_is_denied),
	cmocka_unit_test(denials_come_back_from_offline),
	cmocka_unit_test(denials_are_undone),
	cmocka_unit_test(denials_outlast_other_changes),
	cmocka_unit_test(what_does_not_come_back_is_said),
	cmocka_unit_test(denials_are_saved),
	cmocka_unit_test(what_is_offline_may_be_unfinished),
	cmocka_unit_test(wrong_files_say_where),
};

CHECK_MAIN(cases)
