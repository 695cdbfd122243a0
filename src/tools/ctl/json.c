/* What `weft ctl` shows, as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/ctl/ctl.h"
#include "tools/json_file.h"
#include "tools/text.h"

static void put_formats(struct json_writer *w, const struct ctl_state *s)
{
	json_array(w, "formats", JSON_INLINE);
	for (uint32_t i = 0; i < s->n_formats; i++) {
		const struct ctl_format *f = &s->formats[i];

		json_object(w, NULL, JSON_INLINE);
		json_number_text(w, "id", f->id);
		json_text(w, "state", ctl_profile_state_word(f->state));
		json_text(w, "mode", ctl_word(ctl_format_modes, f->mode));
		json_array(w, "fields", JSON_INLINE);
		for (uint32_t k = 0; k < f->n_fields; k++)
			json_number(w, NULL, f->fields[k].width);
		json_close(w);
		json_close(w);
	}
	json_close(w);
}

static void put_values(struct json_writer *w, const struct ctl_profile *p)
{
	json_array(w, "values", JSON_INLINE);
	for (uint32_t i = 0; i < p->n_values; i++) {
		struct text t;

		text_clear(&t);
		ctl_value_text(&t, p->format_mode, &p->values[i].ev);
		json_object(w, NULL, JSON_INLINE);
		json_text(w, "value", t.at);
		json_number(w, "port", p->values[i].ev.port);
		json_text(w, "state", ctl_ev_state_word(p->values[i].state));
		json_close(w);
	}
	json_close(w);
}

static void put_fields(struct json_writer *w, const struct ctl_profile *p)
{
	json_array(w, "fields", JSON_INLINE);
	for (uint32_t k = 0; k < p->n_fields; k++) {
		json_object(w, NULL, JSON_INLINE);
		json_number(w, "width", p->fields[k].width);
		json_number(w, "init", p->fields[k].init_val);
		json_number(w, "mask", p->fields[k].mask);
		json_number(w, "min", p->fields[k].min_val);
		json_number(w, "max", p->fields[k].max_val);
		json_close(w);
	}
	json_close(w);
}

static void put_profiles(struct json_writer *w, const struct ctl_state *s)
{
	json_array(w, "ev_profiles", JSON_INLINE);
	for (uint32_t i = 0; i < s->n_profiles; i++) {
		const struct ctl_profile *p = &s->profiles[i];

		json_object(w, NULL, JSON_INLINE);
		json_number_text(w, "id", p->id);
		json_text(w, "state", ctl_profile_state_word(p->state));
		json_text(w, "mode", ctl_word(ctl_modes, p->mode));
		if (p->mode != MRC_CTL_EV_MODE_AUTO)
			json_number_text(w, "format", p->format);
		json_number(w, "count", p->count);
		json_number(w, "min_active", p->min_active);
		json_array(w, "events", JSON_INLINE);
		if (p->events & MRC_CTL_EV_GOOD)
			json_text(w, NULL, "good");
		if (p->events & MRC_CTL_EV_ASSUMED_BAD)
			json_text(w, NULL, "bad");
		json_close(w);
		put_fields(w, p);
		put_values(w, p);
		json_close(w);
	}
	json_close(w);
}

static void put_nscc(struct json_writer *w, const struct ctl_cc *cc)
{
	for (const struct ctl_nscc_key *k = ctl_nscc_keys; k->name; k++) {
		uint64_t value = ctl_nscc_get(&cc->nscc, k);
		char key[64];

		snprintf(key, sizeof key, "%s%s", k->name, k->kind == CTL_NSCC_TIME ? "_ns" : "");
		if (k->kind == CTL_NSCC_RATIO)
			json_decimal(w, key, value, 6);
		else
			json_number(w, key, value);
	}
}

static void put_ccs(struct json_writer *w, const struct ctl_state *s)
{
	json_array(w, "cc_profiles", JSON_INLINE);
	for (uint32_t i = 0; i < s->n_ccs; i++) {
		const struct ctl_cc *cc = &s->ccs[i];

		json_object(w, NULL, JSON_INLINE);
		json_number_text(w, "id", cc->id);
		json_text(w, "state", ctl_profile_state_word(cc->state));
		json_text(w, "algorithm", cc->is_nscc ? "uet-1.0-nscc" : NULL);
		if (cc->is_nscc)
			put_nscc(w, cc);
		json_close(w);
	}
	json_close(w);
}

void ctl_json(const struct ctl_state *s)
{
	struct json_writer w = json_file(stdout);

	json_object(&w, NULL, JSON_INLINE);
	put_formats(&w, s);
	put_profiles(&w, s);
	put_ccs(&w, s);
	json_close(&w);
	json_end(&w);
}

static void put_device(struct json_writer *w, const struct ctl_device *d)
{
	json_object(w, NULL, JSON_INLINE);
	json_text(w, "name", d->info.name);
	json_text(w, "driver", config_driver_names[d->info.setup.driver]);
	json_number(w, "ports", d->info.n_ports);
	json_number(w, "max_mpr", d->mrc_attr.mpr_attr.max_mpr);
	json_number(w, "max_wimm", d->mrc_attr.wimm_attr.max_wimm);
	json_number(w, "max_profiles", d->attr.ev.ev_max_profiles);
	json_number(w, "max_values", d->attr.ev.ev_max_count);
	json_number(w, "free_values", d->attr.ev.ev_free_count);
	json_number(w, "max_values_of_one", d->attr.ev.ev_max_count_profile);
	json_number(w, "max_width", d->attr.ev.ev_max_width);
	json_close(w);
}

void ctl_devices_json(const struct ctl_device *list, uint32_t n)
{
	struct json_writer w = json_file(stdout);

	json_object(&w, NULL, JSON_INLINE);
	json_array(&w, "devices", JSON_INLINE);
	for (uint32_t i = 0; i < n; i++)
		put_device(&w, &list[i]);
	json_close(&w);
	json_close(&w);
	json_end(&w);
}

void ctl_ports_json(const struct ctl_device *d, uint32_t enabled)
{
	struct json_writer w = json_file(stdout);

	json_object(&w, NULL, JSON_INLINE);
	json_array(&w, "ports", JSON_INLINE);
	for (uint32_t i = 0; i < d->info.n_ports; i++) {
		const struct nic_port *p = &d->info.ports[i];

		json_object(&w, NULL, JSON_INLINE);
		json_number(&w, "port", i + 1);
		json_text(&w, "interface", p->interface);
		json_truth(&w, "enabled", enabled >> (i + 1) & 1);
		json_truth(&w, "link", p->is_up);
		json_number(&w, "speed_bps", p->speed_bps);
		json_close(&w);
	}
	json_close(&w);
	json_close(&w);
	json_end(&w);
}

static const char *const deeds[] = {"same", "made", "changed", "removed"};

static void report_json(const struct ctl_report *r)
{
	struct json_writer w = json_file(stdout);

	json_object(&w, NULL, JSON_INLINE);
	json_array(&w, "done", JSON_INLINE);
	for (uint32_t i = 0; i < r->n; i++) {
		const struct ctl_done *d = &r->list[i];

		json_object(&w, NULL, JSON_INLINE);
		json_text(&w, "kind", ctl_kind_word(d->kind));
		json_number_text(&w, "id", d->id);
		json_text(&w, "deed", deeds[d->deed]);
		json_close(&w);
	}
	json_close(&w);
	json_close(&w);
	json_end(&w);
}

void ctl_report_print(const struct ctl_report *r, bool has_json)
{
	if (has_json) {
		report_json(r);
		return;
	}
	for (uint32_t i = 0; i < r->n; i++) {
		const struct ctl_done *d = &r->list[i];

		printf("%s %" PRIu64 ": %s\n", ctl_kind_word(d->kind), d->id, deeds[d->deed]);
	}
}
