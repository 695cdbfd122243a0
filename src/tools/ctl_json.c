/* What `weft ctl` shows, as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/ctl.h"
#include "tools/text.h"

/* A 64-bit number may be more than a reader of JSON keeps: profiles' numbers are text. */
static void put_id(const char *key, uint64_t id)
{
	printf("\"%s\":\"%" PRIu64 "\"", key, id);
}

static void put_formats(const struct ctl_state *s)
{
	fputs("\"formats\":[", stdout);
	for (uint32_t i = 0; i < s->n_formats; i++) {
		const struct ctl_format *f = &s->formats[i];

		fputs(i ? ",{" : "{", stdout);
		put_id("id", f->id);
		printf(",\"state\":\"%s\",\"mode\":\"%s\",\"fields\":[",
		       ctl_profile_state_word(f->state), ctl_word(ctl_format_modes, f->mode));
		for (uint32_t k = 0; k < f->n_fields; k++)
			printf("%s%u", k ? "," : "", f->fields[k].width);
		fputs("]}", stdout);
	}
	fputs("]", stdout);
}

static void put_values(const struct ctl_profile *p)
{
	fputs(",\"values\":[", stdout);
	for (uint32_t i = 0; i < p->n_values; i++) {
		struct text t;

		text_clear(&t);
		ctl_value_text(&t, p->format_mode, &p->values[i].ev);
		printf("%s{\"value\":\"%s\",\"port\":%u,\"state\":\"%s\"}", i ? "," : "", t.at,
		       p->values[i].ev.port, ctl_ev_state_word(p->values[i].state));
	}
	fputs("]", stdout);
}

static void put_profiles(const struct ctl_state *s)
{
	fputs(",\"ev_profiles\":[", stdout);
	for (uint32_t i = 0; i < s->n_profiles; i++) {
		const struct ctl_profile *p = &s->profiles[i];

		fputs(i ? ",{" : "{", stdout);
		put_id("id", p->id);
		printf(",\"state\":\"%s\",\"mode\":\"%s\"", ctl_profile_state_word(p->state),
		       ctl_word(ctl_modes, p->mode));
		if (p->mode != MRC_CTL_EV_MODE_AUTO) {
			fputs(",", stdout);
			put_id("format", p->format);
		}
		printf(",\"count\":%u,\"min_active\":%u,\"events\":[%s%s%s]", p->count,
		       p->min_active, p->events & MRC_CTL_EV_GOOD ? "\"good\"" : "",
		       p->events == (MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD) ? "," : "",
		       p->events & MRC_CTL_EV_ASSUMED_BAD ? "\"bad\"" : "");
		fputs(",\"fields\":[", stdout);
		for (uint32_t k = 0; k < p->n_fields; k++)
			printf("%s{\"width\":%u,\"init\":%u,\"mask\":%u,\"min\":%u,\"max\":%u}",
			       k ? "," : "", p->fields[k].width, p->fields[k].init_val,
			       p->fields[k].mask, p->fields[k].min_val, p->fields[k].max_val);
		fputs("]", stdout);
		put_values(p);
		fputs("}", stdout);
	}
	fputs("]", stdout);
}

static void put_ccs(const struct ctl_state *s)
{
	fputs(",\"cc_profiles\":[", stdout);
	for (uint32_t i = 0; i < s->n_ccs; i++) {
		const struct ctl_cc *cc = &s->ccs[i];

		fputs(i ? ",{" : "{", stdout);
		put_id("id", cc->id);
		printf(",\"state\":\"%s\",\"algorithm\":%s", ctl_profile_state_word(cc->state),
		       cc->is_nscc ? "\"uet-1.0-nscc\"" : "null");
		for (const struct ctl_nscc_key *k = ctl_nscc_keys; cc->is_nscc && k->name; k++) {
			uint64_t value = ctl_nscc_get(&cc->nscc, k);

			if (k->kind == CTL_NSCC_RATIO)
				printf(",\"%s\":%" PRIu64 ".%06" PRIu64, k->name, value / 1000000,
				       value % 1000000);
			else
				printf(",\"%s%s\":%" PRIu64, k->name,
				       k->kind == CTL_NSCC_TIME ? "_ns" : "", value);
		}
		fputs("}", stdout);
	}
	fputs("]", stdout);
}

void ctl_json(const struct ctl_state *s)
{
	fputs("{", stdout);
	put_formats(s);
	put_profiles(s);
	put_ccs(s);
	fputs("}\n", stdout);
}

void ctl_devices_json(const struct ctl_device *list, uint32_t n)
{
	fputs("{\"devices\":[", stdout);
	for (uint32_t i = 0; i < n; i++) {
		const struct ctl_device *d = &list[i];

		fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
		text_put_json(stdout, d->info.name);
		printf(",\"driver\":\"%s\",\"ports\":%u,\"max_mpr\":%u,\"max_wimm\":%u,"
		       "\"max_profiles\":%u,\"max_values\":%u,\"free_values\":%u,"
		       "\"max_values_of_one\":%u,\"max_width\":%u}",
		       nic_driver_names[d->info.setup.driver], d->info.n_ports,
		       d->mrc_attr.mpr_attr.max_mpr, d->mrc_attr.wimm_attr.max_wimm,
		       d->attr.ev.ev_max_profiles, d->attr.ev.ev_max_count,
		       d->attr.ev.ev_free_count, d->attr.ev.ev_max_count_profile,
		       d->attr.ev.ev_max_width);
	}
	fputs("]}\n", stdout);
}

void ctl_ports_json(const struct ctl_device *d, uint32_t enabled)
{
	fputs("{\"ports\":[", stdout);
	for (uint32_t i = 0; i < d->info.n_ports; i++) {
		const struct nic_port *p = &d->info.ports[i];

		printf("%s{\"port\":%u,\"interface\":", i ? "," : "", i + 1);
		text_put_json(stdout, p->interface);
		printf(",\"enabled\":%s,\"link\":%s,\"speed_bps\":%" PRIu64 "}",
		       enabled >> (i + 1) & 1 ? "true" : "false", p->is_up ? "true" : "false",
		       p->speed_bps);
	}
	fputs("]}\n", stdout);
}

void ctl_report_print(const struct ctl_report *r, bool has_json)
{
	static const char *const words[] = {"same", "made", "changed", "removed"};

	fputs(has_json ? "{\"done\":[" : "", stdout);
	for (uint32_t i = 0; i < r->n; i++) {
		const struct ctl_done *d = &r->list[i];

		if (has_json)
			printf("%s{\"kind\":\"%s\",\"id\":\"%" PRIu64 "\",\"deed\":\"%s\"}",
			       i ? "," : "", ctl_kind_word(d->kind), d->id, words[d->deed]);
		else
			printf("%s %" PRIu64 ": %s\n", ctl_kind_word(d->kind), d->id,
			       words[d->deed]);
	}
	fputs(has_json ? "]}\n" : "", stdout);
}
