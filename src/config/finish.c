/* What a description leaves open, what the environment says, and whether the whole makes sense. */
#define _GNU_SOURCE /* secure_getenv(3) */

#include "config/inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cc/cc.h"

#define TAIL_MOST 80u

const char *config_tail(const char *file)
{
	size_t len = strlen(file);

	return len > TAIL_MOST ? file + len - TAIL_MOST : file;
}

int config_fail(struct config_error *error, int number, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->at, sizeof error->at, format, args);
	va_end(args);
	return -number;
}

int config_fail_at(struct config_error *error, const char *file, uint32_t line, const char *format,
		   ...)
{
	char says[CONFIG_ERROR_MAX], place[TAIL_MOST + 16] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(says, sizeof says, format, args);
	va_end(args);
	/* What stands in a file, or in a name, may be meant for a terminal. */
	for (char *c = says; *c; c++) {
		if ((*c > 0 && *c < ' ') || *c == 0x7f)
			*c = '?';
	}
	if (file && line)
		snprintf(place, sizeof place, "%s:%u: ", config_tail(file), line);
	else if (file)
		snprintf(place, sizeof place, "%s: ", config_tail(file));
	return config_fail(error, EINVAL, "%s%s", place, says);
}

static bool is_given(const struct config_draft *draft, uint32_t key)
{
	return draft->given >> key & 1;
}

/* The key of a number, which there is. */
static struct config_key key_of(uint32_t number)
{
	struct config_key key = {.of_row = NULL};

	config_key(number, &key);
	return key;
}

/* A key that does not go with the rest. */
__attribute__((format(printf, 4, 5))) static int fail_key(const struct config_draft *draft,
							  const char *file, uint32_t number,
							  const char *format, ...)
{
	const struct config_key key = key_of(number);
	char says[CONFIG_WHY_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(says, sizeof says, format, args);
	va_end(args);
	if (is_given(draft, number) && !draft->lines[number] && key.variable)
		return config_fail_at(draft->error, NULL, 0, "%s: %s: %s", key.variable,
				      draft->d.name, says);
	return config_fail_at(draft->error, file, draft->lines[number], "%s: %s: %s", draft->d.name,
			      key.setting.name, says);
}

static bool takes_cc(const struct transport *t, uint8_t cc)
{
	return t->ccs >> cc & 1;
}

/* The transport is said by the name, where it is not said otherwise; else it is the first. */
static void settle_transport(struct config_draft *draft)
{
	static const char weft[] = "weft_";
	const char *name = draft->d.name;

	if (is_given(draft, KEY_TRANSPORT))
		return;
	draft->d.setup.transport = transports[0];
	if (strncmp(name, weft, strlen(weft)) != 0)
		return;
	name += strlen(weft);
	for (uint32_t i = 0; i < TRANSPORTS; i++)
		if (!strncmp(name, transports[i]->name, strlen(transports[i]->name)))
			draft->d.setup.transport = transports[i];
}

/* What a variable says, if there is one; number is that of its key. */
static int take_variable(struct config_draft *draft, const struct config_key *key, uint32_t number)
{
	const char *text = key->variable ? secure_getenv(key->variable) : NULL;
	struct config_setup s = draft->d.setup;
	struct config_why why = {""};
	char value[4096];

	if (!text)
		return 0;
	if (number == KEY_EV)
		s.evs.n = 0; /* ev-count belongs to the ev that it replaces */
	size_t len = strnlen(text, sizeof value - 1);

	memcpy(value, text, len);
	value[len] = 0;
	if (text[len])
		return config_fail_at(draft->error, NULL, 0, "%s is longer than %zu bytes",
				      key->variable, len);
	if (!config_read_value(key, &s, value, &why))
		return config_fail_at(draft->error, NULL, 0, "%s=%.40s: %s", key->variable, text,
				      why.at);
	/* It is for all devices, and they are not all of one kind. */
	if (!config_key_suits(key, s.transport) ||
	    (number == KEY_CC && !takes_cc(s.transport, s.cc)))
		return 0;
	draft->d.setup = s;
	draft->given |= UINT64_C(1) << number;
	draft->lines[number] = 0;
	return 0;
}

int config_environment(struct config_draft *draft)
{
	struct config_key key;
	int r = 0;

	settle_transport(draft);
	for (uint32_t i = 0; !r && config_key(i, &key); i++)
		r = take_variable(draft, &key, i);
	return r;
}

static void say_why(struct config_draft *draft, const char *file, const char *reason)
{
	const char *name = config_driver_names[draft->d.setup.driver];

	if (reason)
		snprintf(draft->d.why, sizeof draft->d.why, "%s: %s", name, reason);
	else if (file && draft->lines[KEY_DRIVER])
		snprintf(draft->d.why, sizeof draft->d.why, "%s: asked for by %s:%u", name,
			 config_tail(file), draft->lines[KEY_DRIVER]);
	else
		snprintf(draft->d.why, sizeof draft->d.why, "%s: asked for by WEFT_DRIVER", name);
}

/* Words in a sentence: "fixed or nscc". */
struct names {
	char at[CONFIG_WHY_MAX / 2];
};

static void add_name(struct names *list, const char *name)
{
	size_t len = strlen(list->at);

	snprintf(list->at + len, sizeof list->at - len, "%s%s", len ? " or " : "", name);
}

/* The transports with these features. */
static const char *names_with(struct names *list, uint32_t features)
{
	list->at[0] = 0;
	for (uint32_t i = 0; i < TRANSPORTS; i++)
		if (!(features & ~transports[i]->features))
			add_name(list, transports[i]->name);
	return list->at;
}

/* The transports that a key means something to. */
static const char *names_for(struct names *list, const struct config_key *key)
{
	list->at[0] = 0;
	for (uint32_t i = 0; i < TRANSPORTS; i++)
		if (config_key_suits(key, transports[i]))
			add_name(list, transports[i]->name);
	return list->at;
}

static const char *cc_names(struct names *list, const struct transport *t)
{
	list->at[0] = 0;
	for (uint8_t cc = 0; config_cc_names[cc]; cc++)
		if (takes_cc(t, cc))
			add_name(list, config_cc_names[cc]);
	return list->at;
}

/* What udp lacks for this device; NULL: nothing. */
static const char *beyond_udp(const struct config_setup *s)
{
	if (s->n_ports > 1)
		return "it has several ports, and udp has one";
	if (s->evs.is_generated)
		return "udp cannot carry entropy values of a format";
	if (s->has_trim)
		return "udp never sees a packet that was cut";
	if (s->has_lo || s->n_addresses)
		return "udp has the addresses of its interface only";
	return NULL;
}

static enum config_number beyond_key(const struct config_setup *s)
{
	if (s->n_ports > 1)
		return KEY_DRIVER;
	if (s->evs.is_generated)
		return KEY_EV;
	return s->has_trim ? KEY_TRIM : KEY_ADDRESSES;
}

static int settle_driver(struct config_draft *draft, const char *file)
{
	struct config_setup *s = &draft->d.setup;
	const char *lack = beyond_udp(s);
	struct names list;

	if (s->n_ports > s->transport->ports_max)
		return fail_key(draft, file, KEY_PORTS,
				"a device of %s has at most %u; several need transport = %s",
				s->transport->name, s->transport->ports_max,
				names_with(&list, TRANSPORT_PROFILES));
	if (!is_given(draft, KEY_DRIVER)) {
		s->driver = lack ? CONFIG_RAW : CONFIG_UDP;
		say_why(draft, file, lack ? lack : "the default");
		return 0;
	}
	say_why(draft, file, NULL);
	if (s->driver != CONFIG_UDP || !lack)
		return 0;
	return fail_key(draft, file, beyond_key(s), "%s; give driver = raw or xdp", lack);
}

static int settle_cc(struct config_draft *draft, const char *file)
{
	struct config_setup *s = &draft->d.setup;
	struct names list;

	if (!is_given(draft, KEY_CC))
		s->cc = s->transport->cc;
	if (takes_cc(s->transport, s->cc))
		return 0;
	return fail_key(draft, file, KEY_CC, "%s is not for %s; give %s", config_cc_names[s->cc],
			s->transport->name, cc_names(&list, s->transport));
}

static const enum config_number class_keys[ENGINE_TCLASSES] = {
	[ENGINE_DATA] = KEY_DSCP_DATA,
	[ENGINE_RETX] = KEY_DSCP_RETRANSMIT,
	[ENGINE_NO_TRIM] = KEY_DSCP_NO_TRIM,
	[ENGINE_CONTROL] = KEY_DSCP_CONTROL,
};

static void settle_dscps(struct config_draft *draft)
{
	struct config_setup *s = &draft->d.setup;
	const struct transport_dscps *dscps = &s->transport->dscps;

	for (uint32_t i = 0; i < ENGINE_TCLASSES; i++) {
		if (!is_given(draft, class_keys[i]))
			s->dscp[i] = s->has_trim ? dscps->trimmable[i] : dscps->plain[i];
	}
}

/* Data of a service level must not look as if it were cut. */
static int check_service_levels(const struct config_draft *draft, const char *file)
{
	const struct config_setup *s = &draft->d.setup;

	for (uint32_t i = 0; i < CONFIG_SLS * ENGINE_CONTROL && s->has_trim; i++) {
		uint32_t sl = i / ENGINE_CONTROL;
		uint8_t dscp = s->sl_dscp[sl][i % ENGINE_CONTROL];

		if (s->sls >> sl & 1 &&
		    (dscp == s->dscp_trimmed || dscp == s->dscp_trimmed_lasthop))
			return fail_key(draft, file, KEY_SERVICE_LEVELS,
					"%u says by trim that a packet was cut, and by service "
					"level %u that it was not; change one of them",
					dscp, sl);
	}
	return 0;
}

static int settle_trim(struct config_draft *draft, const char *file)
{
	struct config_setup *s = &draft->d.setup;

	if (!is_given(draft, KEY_TRIM) && transport_has(s->transport, TRANSPORT_TRIMS) &&
	    s->driver != CONFIG_UDP) {
		s->has_trim = true;
		s->dscp_trimmed = s->transport->dscps.trimmed;
		s->dscp_trimmed_lasthop = s->transport->dscps.trimmed_lasthop;
	}
	settle_dscps(draft);
	for (uint32_t i = 0; i < ENGINE_TCLASSES && s->has_trim; i++) {
		bool is_given_here = is_given(draft, class_keys[i]);

		if (s->dscp[i] == s->dscp_trimmed || s->dscp[i] == s->dscp_trimmed_lasthop)
			return fail_key(draft, file, is_given_here ? class_keys[i] : KEY_TRIM,
					"%u says by trim that a packet was cut, and by %s that it "
					"was not; change one of them",
					s->dscp[i], key_of(class_keys[i]).setting.name);
	}
	return check_service_levels(draft, file);
}

static int check_evs(const struct config_draft *draft, const char *file)
{
	const struct config_setup *s = &draft->d.setup;
	uint32_t n = config_evs(s);

	if (s->evs.min_active <= n)
		return 0;
	return fail_key(draft, file, KEY_EV_MIN_ACTIVE, "%u of %u EVs: %s", s->evs.min_active, n,
			path_error_name(PATH_TOO_MANY));
}

/* Keys that mean something to other transports only. */
static int check_features(const struct config_draft *draft, const char *file)
{
	struct config_key key;
	struct names list;

	for (uint32_t i = 0; config_key(i, &key); i++)
		if (is_given(draft, i) && !config_key_suits(&key, draft->d.setup.transport))
			return fail_key(draft, file, i, "is for devices with transport = %s",
					names_for(&list, &key));
	return 0;
}

int config_finish(struct config_draft *draft, const char *file)
{
	struct config_setup *s = &draft->d.setup;
	int r;

	settle_transport(draft);
	if (!s->n_ports)
		return config_fail_at(draft->error, file, draft->line,
				      "%s has no ports: give ports = INTERFACE ...", draft->d.name);
	r = check_features(draft, file);
	if (!r)
		r = settle_driver(draft, file);
	if (!r)
		r = settle_cc(draft, file);
	if (!r)
		r = settle_trim(draft, file);
	if (!r && transport_has(s->transport, TRANSPORT_PROFILES))
		r = check_evs(draft, file);
	return r;
}

int config_default(struct config_device *d, struct config_error *error)
{
	struct config_draft draft = {
		.d = *d, .error = error, .given = 1u << KEY_PORTS | 1u << KEY_TRANSPORT};
	int r = config_environment(&draft);

	if (!r)
		r = config_finish(&draft, NULL);
	if (!r)
		*d = draft.d;
	return r;
}
