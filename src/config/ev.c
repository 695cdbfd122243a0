/* The entropy values of a configuration: AUTO, or fields of a format (MRC 9.4). */
#include "config/inside.h"

#include <string.h>

#include "path/profile.h"

static const char *const encoding_names[PATH_ENCODINGS + 1] = {
	[PATH_ECMP] = "ecmp",
	[PATH_STRUCTURED] = "structured",
	[PATH_USID] = "usid",
	[PATH_USID_SRH] = "usid-srh",
};

/* width:init[:mask:min:max] off the front of *at. */
static bool take_field(const char **at, struct path_field *f)
{
	uint32_t *const parts[] = {&f->width, &f->init, &f->mask, &f->min, &f->max};
	uint32_t n = 0;

	*f = (struct path_field){0};
	do {
		uint64_t v;

		*at += n > 0;
		if (n == sizeof parts / sizeof parts[0] || !config_take_number(at, UINT32_MAX, &v))
			return false;
		*parts[n++] = (uint32_t)v;
	} while (**at == ':');
	return n == 2 || n == 5;
}

static bool check_fields(const struct config_evs *e, struct config_why *why)
{
	struct path_format format = {e->encoding, e->fields, e->n_fields};
	uint64_t combinations;

	for (uint32_t i = 0; i < e->n_fields; i++) {
		const struct path_format one = {PATH_USID_SRH, &e->fields[i], 1};
		enum path_error error = path_format_check(&one, &combinations);

		if (error)
			return config_wrong(why, "field %u: %s", i + 1, path_error_name(error));
	}
	enum path_error error = path_format_check(&format, &combinations);

	if (error == PATH_TOO_WIDE)
		return config_wrong(why, "%s: %s has %u", path_error_name(error),
				    encoding_names[e->encoding], path_encoding_bits(e->encoding));
	return !error || config_wrong(why, "%s", path_error_name(error));
}

static bool read_fields(struct config_evs *e, const char *at, struct config_why *why)
{
	for (;;) {
		at += strspn(at, " \t");
		if (e->n_fields == PATH_FIELDS_MAX)
			return config_wrong(why, "at most %u fields", PATH_FIELDS_MAX);
		if (!take_field(&at, &e->fields[e->n_fields]))
			break;
		e->n_fields++;
		at += strspn(at, " \t");
		if (!*at)
			return check_fields(e, why);
		if (*at++ != ',')
			break;
	}
	return config_wrong(why, "field %u: give width:init or width:init:mask:min:max",
			    e->n_fields + 1);
}

static bool read_auto(struct config_evs *e, const char *at, struct config_why *why)
{
	uint64_t n = 0;

	if (*at && (*at++ != ':' || !config_take_number(&at, PATH_EVS_MAX, &n) || *at || !n))
		return config_wrong(why, "give auto, or auto:N with N from 1 to %u", PATH_EVS_MAX);
	if (n && e->n)
		return config_wrong(why, "ev-count says how many there are; leave one of them out");
	e->n = n ? (uint32_t)n : e->n;
	return true;
}

bool config_read_ev(struct config_setup *s, char *value, struct config_why *why)
{
	struct config_evs *e = &s->evs;
	size_t len = strcspn(value, ":");

	*e = (struct config_evs){.n = e->n, .min_active = e->min_active};
	if (!strncmp(value, "auto", 4) && len == 4)
		return read_auto(e, value + len, why);
	for (uint32_t i = 0; i < PATH_ENCODINGS; i++) {
		const char *name = encoding_names[i];

		if (strlen(name) != len || strncmp(name, value, len) != 0 || !value[len])
			continue;
		e->is_generated = true;
		e->encoding = (enum path_encoding)i;
		return read_fields(e, value + len + 1, why);
	}
	return config_wrong(why, "give auto, auto:N, or ecmp, structured, usid or usid-srh, a "
				 "colon, and fields with commas");
}

uint32_t config_evs(const struct config_setup *s)
{
	const struct path_format format = {s->evs.encoding, s->evs.fields, s->evs.n_fields};
	uint32_t n = s->evs.n ? s->evs.n : path_profile_default((1u << s->n_ports) - 1);
	uint64_t combinations = 0;

	if (s->evs.is_generated && !path_format_check(&format, &combinations) && combinations < n)
		n = (uint32_t)combinations;
	return n;
}

bool config_read_ev_count(struct config_setup *s, char *value, struct config_why *why)
{
	uint64_t v = 0;

	if (!config_read_number(value, 1, PATH_EVS_MAX, &v, why))
		return false;
	if (s->evs.n)
		return config_wrong(why, "ev says how many there are; leave one of them out");
	s->evs.n = (uint32_t)v;
	return true;
}

void config_print_ev(const struct config_setup *s, struct config_page *page)
{
	const struct config_evs *e = &s->evs;

	config_add(page, "%s", e->is_generated ? encoding_names[e->encoding] : "auto");
	for (uint32_t i = 0; i < e->n_fields; i++) {
		const struct path_field *f = &e->fields[i];

		config_add(page, "%c%u:0x%x", i ? ',' : ':', f->width, f->init);
		if (f->mask || f->min || f->max)
			config_add(page, ":0x%x:%u:%u", f->mask, f->min, f->max);
	}
}
