/* What a file wants of a device: YAML, see docs/controller.md. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/conf.h"
#include "tools/command.h"
#include "tools/ctl/ctl.h"

#define NS_PS   1000u
#define MILLION 1000000u

struct reader {
	struct conf c;
	const struct ctl_state *current;
	struct ctl_state *s;
};

/* The number that a key of a map of profiles is. */
static uint64_t read_id(struct conf *c, struct conf_node *node)
{
	uint64_t id = 0;

	node->used = true;
	if (!parse_number(node->key, 0, UINT64_MAX, &id))
		conf_fail(c, node, "is no number; profiles have numbers, like 7 or 0x700");
	return id;
}

/* Room for what the children of a map become; NULL: there is none, or a mistake. */
static void *make_room(struct conf *c, const struct conf_node *map, uint32_t most, size_t size)
{
	if (!map || c->status)
		return NULL;
	if (map->n > most) {
		conf_fail(c, map, "has %u entries; there is room for %u", map->n, most);
		return NULL;
	}
	void *room = calloc(map->n + 1, size);

	if (!room)
		conf_fail_memory(c);
	return room;
}

static enum mrc_ctl_profile_state read_state(struct conf *c, struct conf_node *map)
{
	static const char *const words[] = {"offline", "online", NULL};

	return conf_get_choice(c, map, "state", words, 1) ? MRC_CTL_PROFILE_ONLINE
							  : MRC_CTL_PROFILE_OFFLINE;
}

/* Fields, of which a profile may have none while it is offline. */
static bool is_list_of_fields(struct conf *c, const struct conf_node *list,
			      enum mrc_ctl_profile_state state)
{
	if (!conf_is_list(c, list))
		return false;
	if (list->n > PATH_FIELDS_MAX || (!list->n && state == MRC_CTL_PROFILE_ONLINE))
		conf_fail(c, list, "has %u fields; 1 to %u may be", list->n, PATH_FIELDS_MAX);
	return !c->status;
}

static void read_ports(struct reader *r)
{
	static const char *const words[] = {"down", "up", NULL};
	struct conf_node *map = conf_get_map(&r->c, r->c.root, "ports");

	for (struct conf_node *node = map ? map->first : NULL; node && !r->c.status;
	     node = node->next) {
		uint64_t port = 0;

		node->used = true;
		if (!parse_number(node->key, 1, ENGINE_PORTS, &port) ||
		    (r->current->said_ports && !(r->current->said_ports >> port & 1))) {
			conf_fail(&r->c, node, "is no port of the device; weft ctl ports has them");
			return;
		}
		r->s->said_ports |= 1u << port;
		if (conf_choice(&r->c, node, words))
			r->s->enabled_ports |= 1u << port;
	}
}

static void read_format(struct reader *r, struct conf_node *map, struct ctl_format *f)
{
	static const char hint[] = "write widths in bits, like [10, 8, 4]";
	struct conf *c = &r->c;

	if (!conf_is_map(c, map))
		return;
	const struct conf_node *mode = conf_need(c, map, "mode", "structured, srv6 or udp");

	f->mode = (enum mrc_ctl_ev_fmt_mode)(1 << conf_choice(c, mode, ctl_format_modes));
	f->state = read_state(c, map);
	const struct conf_node *list = f->state == MRC_CTL_PROFILE_ONLINE
					       ? conf_need(c, map, "fields", hint)
					       : conf_get(c, map, "fields");
	bool has_fields = is_list_of_fields(c, list, f->state);

	for (const struct conf_node *node = has_fields ? list->first : NULL; node && !c->status;
	     node = node->next)
		f->fields[f->n_fields++].width = (uint8_t)conf_number(
			c, node, UNITS_COUNT, (struct conf_range){1, PATH_FIELD_WIDTH, 0});
	conf_finish(c, map, "a format");
}

static void read_formats(struct reader *r)
{
	struct conf *c = &r->c;
	struct conf_node *map = conf_get_map(c, c->root, "formats");

	r->s->formats = make_room(c, map, CONTROL_PROFILES, sizeof *r->s->formats);
	for (struct conf_node *node = map && r->s->formats ? map->first : NULL; node && !c->status;
	     node = node->next) {
		struct ctl_format f = {.id = read_id(c, node)};

		if (ctl_find_format(r->s, f.id))
			conf_fail(c, node, "is there already, under another name of its number");
		read_format(r, node, &f);
		r->s->formats[r->s->n_formats++] = f;
	}
}

/* width:init, or width:init:mask:min:max. */
static bool parse_field(const char *text, struct mrc_ctl_ev_field *f)
{
	uint32_t *const parts[] = {&f->width, &f->init_val, &f->mask, &f->min_val, &f->max_val};
	char copy[80], *at = copy;
	uint32_t n = 0;

	if (strlen(text) >= sizeof copy)
		return false;
	memcpy(copy, text, strlen(text) + 1);
	for (char *part; (part = strsep(&at, ":")); n++) {
		uint64_t value = 0;

		if (n == sizeof parts / sizeof parts[0] ||
		    !parse_number(part, 0, UINT32_MAX, &value))
			return false;
		*parts[n] = (uint32_t)value;
	}
	return n == 2 || n == 5;
}

static void read_fields(struct conf *c, const struct conf_node *list, struct ctl_profile *p)
{
	if (!is_list_of_fields(c, list, p->state))
		return;
	for (const struct conf_node *node = list->first; node && !c->status; node = node->next) {
		if (!parse_field(conf_text(c, node), &p->fields[p->n_fields++]))
			conf_fail(c, node,
				  "\"%.40s\" is no field; write width:init or "
				  "width:init:mask:min:max",
				  node->text);
	}
}

/* One value; port 0 is left where the text has none. */
static struct mrc_ctl_ev read_value(struct conf *c, const struct conf_node *node,
				    const struct ctl_profile *p)
{
	struct mrc_ctl_ev ev;
	const char *text = conf_text(c, node);

	if (!ctl_value_read(text, p->format_mode, &ev))
		conf_fail(c, node, "\"%.60s\" is no value of this format; write %s", text,
			  ctl_value_like(p->format_mode));
	return ev;
}

static void read_values(struct conf *c, const struct conf_node *list, struct ctl_profile *p)
{
	if (!conf_is_list(c, list))
		return;
	p->values = make_room(c, list, CONTROL_EVS, sizeof *p->values);
	if (!p->values)
		return;
	for (const struct conf_node *node = list->first; node && !c->status; node = node->next) {
		struct mrc_ctl_ev ev = read_value(c, node, p);

		ev.port = ev.port ? ev.port : 1;
		p->values[p->n_values].state = MRC_CTL_EV_GOOD;
		p->values[p->n_values++].ev = ev;
	}
}

/* How many values there are; while an explicit profile is offline, some may be still to come. */
static void read_count(struct conf *c, struct conf_node *map, struct ctl_profile *p)
{
	p->count = conf_get_u32(c, map, "count", (struct conf_range){1, CONTROL_EVS, 0});
	if (p->mode == MRC_CTL_EV_MODE_GEN)
		conf_need(c, map, "count", "how many values are to be made");
	if (p->mode != MRC_CTL_EV_MODE_EXP || c->status)
		return;
	if (!p->count && !p->n_values)
		conf_fail_key(c, map, "values", "is empty; write at least one value");
	else if (p->count && p->n_values > p->count)
		conf_fail_key(c, map, "count", "less than the %u values", p->n_values);
	else if (p->n_values < p->count && p->state == MRC_CTL_PROFILE_ONLINE)
		conf_fail_key(c, map, "count",
			      "more than the %u values; leave it out, or write state: offline",
			      p->n_values);
	p->count = p->count ? p->count : p->n_values;
}

static void read_denied(struct conf *c, const struct conf_node *list, struct ctl_profile *p)
{
	if (!conf_is_list(c, list))
		return;
	if (p->state != MRC_CTL_PROFILE_ONLINE && p->mode != MRC_CTL_EV_MODE_EXP) {
		conf_fail(c, list, "there are no values to deny before the profile is online");
		return;
	}
	p->denied = make_room(c, list, CONTROL_EVS, sizeof *p->denied);
	p->has_denied = p->denied != NULL;
	for (const struct conf_node *node = p->denied ? list->first : NULL; node && !c->status;
	     node = node->next)
		p->denied[p->n_denied++] = read_value(c, node, p);
}

static int read_events(struct conf *c, struct conf_node *list)
{
	static const char *const words[] = {"good", "bad", NULL};
	int mask = 0;

	if (!conf_is_list(c, list))
		return 0;
	for (const struct conf_node *node = list->first; node && !c->status; node = node->next)
		mask |= conf_choice(c, node, words) ? MRC_CTL_EV_ASSUMED_BAD : MRC_CTL_EV_GOOD;
	return mask;
}

/* The format of a profile must be known, to know what its values are. */
static void read_format_id(struct reader *r, struct conf_node *map, struct ctl_profile *p)
{
	struct conf_node *node = conf_need(&r->c, map, "format", "the number of a format");
	const char *text = conf_text(&r->c, node);

	if (!node || r->c.status)
		return;
	if (!parse_number(text, 0, UINT64_MAX, &p->format)) {
		conf_fail(&r->c, node, "\"%.40s\" is no number; write that of a format", text);
		return;
	}
	const struct ctl_format *f = ctl_find_format(r->s, p->format);

	if (!f)
		f = ctl_find_format(r->current, p->format);
	if (!f)
		conf_fail(&r->c, node, "neither the file nor the device has a format %" PRIu64,
			  p->format);
	else
		p->format_mode = f->mode;
}

static void read_profile(struct reader *r, struct conf_node *map, struct ctl_profile *p)
{
	static const char fields_hint[] = "write width:init:mask:min:max of each field";
	struct conf *c = &r->c;

	if (!conf_is_map(c, map))
		return;
	const struct conf_node *mode = conf_need(c, map, "mode", "auto, explicit or generated");

	p->mode = (enum mrc_ctl_ev_mode)(1 << conf_choice(c, mode, ctl_modes));
	p->format_mode = MRC_CTL_EV_FMT_MODE_STEV;
	p->state = read_state(c, map);
	if (p->mode != MRC_CTL_EV_MODE_AUTO)
		read_format_id(r, map, p);
	if (p->mode == MRC_CTL_EV_MODE_EXP)
		read_values(c, conf_need(c, map, "values", "a list of all of them"), p);
	read_count(c, map, p);
	if (p->mode == MRC_CTL_EV_MODE_GEN && p->state == MRC_CTL_PROFILE_ONLINE)
		conf_need(c, map, "fields", fields_hint);
	if (p->mode != MRC_CTL_EV_MODE_AUTO)
		read_fields(c, conf_get(c, map, "fields"), p);
	p->min_active = conf_get_u32(c, map, "min_active", (struct conf_range){0, CONTROL_EVS, 0});
	if (p->count && p->min_active > p->count)
		conf_fail_key(c, map, "min_active", "more than the %u values there are", p->count);
	p->events = read_events(c, conf_get(c, map, "events"));
	read_denied(c, conf_get(c, map, "denied"), p);
	conf_finish(c, map, "an EV profile");
}

static void read_profiles(struct reader *r)
{
	struct conf *c = &r->c;
	struct conf_node *map = conf_get_map(c, c->root, "ev_profiles");

	r->s->profiles = make_room(c, map, CONTROL_PROFILES, sizeof *r->s->profiles);
	for (struct conf_node *node = map && r->s->profiles ? map->first : NULL; node && !c->status;
	     node = node->next) {
		struct ctl_profile p = {.id = read_id(c, node)};

		if (ctl_find_profile(r->s, p.id))
			conf_fail(c, node, "is there already, under another name of its number");
		read_profile(r, node, &p);
		r->s->profiles[r->s->n_profiles++] = p;
	}
}

static void read_nscc(struct conf *c, struct conf_node *map, struct mrc_ctl_cc_nscc_cfg *n)
{
	static const enum units_kind units[] = {[CTL_NSCC_COUNT] = UNITS_COUNT,
						[CTL_NSCC_BYTES] = UNITS_BYTES,
						[CTL_NSCC_TIME] = UNITS_TIME,
						[CTL_NSCC_RATIO] = UNITS_RATIO};
	static const uint64_t scale[] = {[CTL_NSCC_COUNT] = 1,
					 [CTL_NSCC_BYTES] = 1,
					 [CTL_NSCC_TIME] = NS_PS,
					 [CTL_NSCC_RATIO] = MILLION};

	for (const struct ctl_nscc_key *k = ctl_nscc_keys; k->name; k++) {
		uint64_t value;

		if (k->kind == CTL_NSCC_FLAG) {
			value = conf_get_flag(c, map, k->name, false);
		} else {
			value = conf_get_number(c, map, k->name, units[k->kind],
						(struct conf_range){0, k->max * scale[k->kind], 0});
			value /= k->kind == CTL_NSCC_TIME ? NS_PS : 1;
		}
		ctl_nscc_set(n, k, value);
	}
}

static void read_cc(struct reader *r, struct conf_node *map, struct ctl_cc *cc)
{
	static const char *const words[] = {"none", "uet-1.0-nscc", NULL};
	struct conf *c = &r->c;

	if (!conf_is_map(c, map))
		return;
	cc->is_nscc = conf_choice(c, conf_need(c, map, "algorithm", "uet-1.0-nscc or none"), words);
	cc->state = read_state(c, map);
	if (cc->is_nscc)
		read_nscc(c, map, &cc->nscc);
	conf_finish(c, map, cc->is_nscc ? "a CC profile" : "a CC profile without an algorithm");
}

static void read_ccs(struct reader *r)
{
	struct conf *c = &r->c;
	struct conf_node *map = conf_get_map(c, c->root, "cc_profiles");

	r->s->ccs = make_room(c, map, CONTROL_PROFILES, sizeof *r->s->ccs);
	for (struct conf_node *node = map && r->s->ccs ? map->first : NULL; node && !c->status;
	     node = node->next) {
		struct ctl_cc cc = {.id = read_id(c, node)};

		if (ctl_find_cc(r->s, cc.id))
			conf_fail(c, node, "is there already, under another name of its number");
		read_cc(r, node, &cc);
		r->s->ccs[r->s->n_ccs++] = cc;
	}
}

int ctl_file_read(const struct ctl_source *source, const struct ctl_state *current,
		  struct ctl_state *s, char why[CTL_WHY_MAX])
{
	struct reader r = {
		.c = {.file = source->name, .error = why, .error_len = CTL_WHY_MAX},
		.current = current,
		.s = s,
	};

	*s = (struct ctl_state){0};
	if (!conf_load(&r.c, source->text, source->len)) {
		read_ports(&r);
		read_formats(&r);
		read_profiles(&r);
		read_ccs(&r);
		conf_finish(&r.c, r.c.root, "a file of weft ctl");
	}
	int status = r.c.status;

	conf_free(&r.c);
	if (status)
		ctl_state_fini(s);
	return status;
}
