/* The state of a device as a file that weft ctl apply takes, and as tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scenario/units.h"
#include "tools/amount.h"
#include "tools/ctl/ctl.h"

#define NS_PS 1000u

static void print_ports(const struct ctl_state *s, FILE *out)
{
	fputs("ports:\n", out);
	for (uint32_t port = 1; port <= ENGINE_PORTS; port++) {
		if (s->said_ports >> port & 1)
			fprintf(out, "  %u: %s\n", port,
				s->enabled_ports >> port & 1 ? "up" : "down");
	}
}

static void print_state(enum mrc_ctl_profile_state state, FILE *out)
{
	if (state != MRC_CTL_PROFILE_ONLINE)
		fprintf(out, "    state: %s\n", ctl_profile_state_word(state));
}

static void print_formats(const struct ctl_state *s, FILE *out)
{
	fputs("formats:\n", out);
	for (uint32_t i = 0; i < s->n_formats; i++) {
		const struct ctl_format *f = &s->formats[i];

		fprintf(out, "  %" PRIu64 ":\n    mode: %s\n", f->id,
			ctl_word(ctl_format_modes, f->mode));
		print_state(f->state, out);
		fputs("    fields: [", out);
		for (uint32_t k = 0; k < f->n_fields; k++)
			fprintf(out, "%s%u", k ? ", " : "", f->fields[k].width);
		fputs("]\n", out);
	}
}

static void print_fields(const struct ctl_profile *p, FILE *out)
{
	fputs("    fields:\n", out);
	for (uint32_t i = 0; i < p->n_fields; i++) {
		const struct mrc_ctl_ev_field *f = &p->fields[i];

		fprintf(out, "      - %u:0x%x", f->width, f->init_val);
		if (f->mask || f->min_val || f->max_val)
			fprintf(out, ":0x%x:%u:%u", f->mask, f->min_val, f->max_val);
		fputc('\n', out);
	}
}

/* All values that there are yet, or those that are denied. */
static void print_values(const struct ctl_profile *p, bool is_denied, FILE *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_values; i++) {
		struct text t;

		if (!p->values[i].ev.port || (is_denied && p->values[i].state != MRC_CTL_EV_DENIED))
			continue;
		text_clear(&t);
		ctl_value_text(&t, p->format_mode, &p->values[i].ev);
		fprintf(out, "%s      - %s\n", n++ ? "" : "\n", t.at);
	}
	if (!n)
		fputs(" []\n", out);
}

/* An explicit profile has as many places as values, unless some are still to come. */
static bool has_gaps(const struct ctl_profile *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_values; i++)
		n += p->values[i].ev.port != 0;
	return n < p->count;
}

/* What the device makes up, it makes up from the number of the profile: the same values each time,
 * so that a file can say which of them are denied. */
static void print_profile(const struct ctl_profile *p, FILE *out)
{
	fprintf(out, "  %" PRIu64 ":\n    mode: %s\n", p->id, ctl_word(ctl_modes, p->mode));
	print_state(p->state, out);
	if (p->mode != MRC_CTL_EV_MODE_AUTO)
		fprintf(out, "    format: %" PRIu64 "\n", p->format);
	if (p->mode != MRC_CTL_EV_MODE_EXP || has_gaps(p))
		fprintf(out, "    count: %u\n", p->count);
	fprintf(out, "    min_active: %u\n    events: [%s%s%s]\n", p->min_active,
		p->events & MRC_CTL_EV_GOOD ? "good" : "",
		p->events == (MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD) ? ", " : "",
		p->events & MRC_CTL_EV_ASSUMED_BAD ? "bad" : "");
	if (p->n_fields)
		print_fields(p, out);
	if (p->mode == MRC_CTL_EV_MODE_EXP) {
		fputs("    values:", out);
		print_values(p, false, out);
	}
	if (p->mode == MRC_CTL_EV_MODE_EXP || p->state == MRC_CTL_PROFILE_ONLINE) {
		fputs("    denied:", out);
		print_values(p, true, out);
	}
}

/* One number of NSCC as a file has it. */
static void nscc_text(const struct mrc_ctl_cc_nscc_cfg *n, const struct ctl_nscc_key *k,
		      char text[40])
{
	uint64_t value = ctl_nscc_get(n, k);

	switch (k->kind) {
	case CTL_NSCC_FLAG: snprintf(text, 40, "%s", value ? "true" : "false"); break;
	case CTL_NSCC_COUNT: units_write(UNITS_COUNT, value, text, 40); break;
	case CTL_NSCC_BYTES: units_write(UNITS_BYTES, value, text, 40); break;
	case CTL_NSCC_TIME: units_write(UNITS_TIME, value * NS_PS, text, 40); break;
	case CTL_NSCC_RATIO: units_write(UNITS_RATIO, value, text, 40); break;
	}
}

static void print_cc(const struct ctl_cc *cc, FILE *out)
{
	char text[40];

	fprintf(out, "  %" PRIu64 ":\n    algorithm: %s\n", cc->id,
		cc->is_nscc ? "uet-1.0-nscc" : "none");
	print_state(cc->state, out);
	for (const struct ctl_nscc_key *k = ctl_nscc_keys; cc->is_nscc && k->name; k++) {
		if (!ctl_nscc_get(&cc->nscc, k))
			continue;
		nscc_text(&cc->nscc, k, text);
		fprintf(out, "    %s: %s\n", k->name, text);
	}
}

void ctl_file_print(const struct ctl_state *s, FILE *out)
{
	fputs("# for weft ctl apply\n", out);
	print_ports(s, out);
	if (s->n_formats)
		print_formats(s, out);
	if (s->n_profiles)
		fputs("ev_profiles:\n", out);
	for (uint32_t i = 0; i < s->n_profiles; i++)
		print_profile(&s->profiles[i], out);
	if (s->n_ccs)
		fputs("cc_profiles:\n", out);
	for (uint32_t i = 0; i < s->n_ccs; i++)
		print_cc(&s->ccs[i], out);
}

static void table_formats(const struct ctl_state *s)
{
	puts("format            state    mode        fields");
	for (uint32_t i = 0; i < s->n_formats; i++) {
		const struct ctl_format *f = &s->formats[i];

		printf("%-16" PRIu64 "  %-7s  %-10s  ", f->id, ctl_profile_state_word(f->state),
		       ctl_word(ctl_format_modes, f->mode));
		for (uint32_t k = 0; k < f->n_fields; k++)
			printf("%s%u", k ? " " : "", f->fields[k].width);
		putchar('\n');
	}
}

static uint32_t count_state(const struct ctl_profile *p, enum mrc_ctl_ev_state state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_values; i++)
		n += p->values[i].state == state;
	return n;
}

static const char *events_word(int events)
{
	static const char *const words[] = {"-", "good", "bad", "good bad"};

	return words[events & 3];
}

static void table_values(const struct ctl_profile *p)
{
	for (uint32_t i = 0; i < p->n_values; i++) {
		struct text t;

		text_clear(&t);
		ctl_value_text(&t, p->format_mode, &p->values[i].ev);
		printf("  %-40s  %s\n", t.at, ctl_ev_state_word(p->values[i].state));
	}
}

static void table_profiles(const struct ctl_state *s, bool has_values)
{
	puts("EV profile        state    mode       format  values  least  good   bad  denied  "
	     "events");
	for (uint32_t i = 0; i < s->n_profiles; i++) {
		const struct ctl_profile *p = &s->profiles[i];

		printf("%-16" PRIu64 "  %-7s  %-9s  ", p->id, ctl_profile_state_word(p->state),
		       ctl_word(ctl_modes, p->mode));
		if (p->mode == MRC_CTL_EV_MODE_AUTO)
			printf("%6s", "-");
		else
			printf("%6" PRIu64, p->format);
		printf("  %6u  %5u  %4u  %4u  %6u  %s\n", p->count, p->min_active,
		       count_state(p, MRC_CTL_EV_GOOD), count_state(p, MRC_CTL_EV_ASSUMED_BAD),
		       count_state(p, MRC_CTL_EV_DENIED), events_word(p->events));
		if (has_values)
			table_values(p);
	}
}

static void table_ccs(const struct ctl_state *s)
{
	char text[40];

	puts("CC profile        state    algorithm     what is not the default");
	for (uint32_t i = 0; i < s->n_ccs; i++) {
		const struct ctl_cc *cc = &s->ccs[i];
		bool is_first = true;

		printf("%-16" PRIu64 "  %-7s  %-12s  ", cc->id, ctl_profile_state_word(cc->state),
		       cc->is_nscc ? "uet-1.0-nscc" : "none");
		for (const struct ctl_nscc_key *k = ctl_nscc_keys; cc->is_nscc && k->name; k++) {
			if (!ctl_nscc_get(&cc->nscc, k))
				continue;
			nscc_text(&cc->nscc, k, text);
			printf("%s%s %s", is_first ? "" : ", ", k->name, text);
			is_first = false;
		}
		puts(is_first ? "-" : "");
	}
}

void ctl_table(const struct ctl_state *s, bool has_values)
{
	if (!s->n_formats && !s->n_profiles && !s->n_ccs) {
		puts("no profiles: queue pairs use what the device's setup says");
		return;
	}
	if (s->n_formats)
		table_formats(s);
	if (s->n_profiles) {
		fputs(s->n_formats ? "\n" : "", stdout);
		table_profiles(s, has_values);
	}
	if (s->n_ccs) {
		fputs(s->n_formats || s->n_profiles ? "\n" : "", stdout);
		table_ccs(s);
	}
}

void ctl_devices_table(const struct ctl_device *list, uint32_t n)
{
	if (!n) {
		puts("no MRC device; weft devices shows what there is");
		return;
	}
	puts("device        driver  ports  MPR  WIMM  profiles  values  of one  width");
	for (uint32_t i = 0; i < n; i++) {
		const struct ctl_device *d = &list[i];

		printf("%-12s  %-6s  %5u  %3u  %4u  %8u  %6u  %6u  %5u\n", d->info.name,
		       config_driver_names[d->info.setup.driver], d->info.n_ports,
		       d->mrc_attr.mpr_attr.max_mpr, d->mrc_attr.wimm_attr.max_wimm,
		       d->attr.ev.ev_max_profiles, d->attr.ev.ev_max_count,
		       d->attr.ev.ev_max_count_profile, d->attr.ev.ev_max_width);
	}
}

void ctl_ports_table(const struct ctl_device *d, uint32_t enabled)
{
	puts("port  interface         control   link   Gb/s");
	for (uint32_t i = 0; i < d->info.n_ports; i++) {
		const struct nic_port *p = &d->info.ports[i];

		printf("%4u  %-16s  %-8s  %-5s  ", i + 1, p->interface,
		       enabled >> (i + 1) & 1 ? "up" : "down",
		       !p->ifindex ? "none"
		       : p->is_up  ? "up"
				   : "down");
		if (p->speed_bps)
			printf("%4" PRIu64 "\n", p->speed_bps / 1000000000u);
		else
			puts("   -");
	}
}
