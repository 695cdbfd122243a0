/* What a description leaves open, what the environment says, and whether the whole makes sense. */
#define _GNU_SOURCE /* secure_getenv(3) */

#include "nic/setup_inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cc/cc.h"
#include "nic/inside.h"

#define TAIL_MOST 80u

/* Where nothing else is said, the numbers that `weft sim` uses too: a trimming fabric knows data by
 * the first, and cuts none of the third (MRC Table 7-7). */
#define DSCP_TRIMMABLE       10u
#define DSCP_TRIMMABLE_RETX  12u
#define DSCP_NO_TRIM         0u
#define DSCP_CONTROL         46u
#define DSCP_TRIMMED         18u
#define DSCP_TRIMMED_LASTHOP 20u

const char *setup_tail(const char *file)
{
	size_t len = strlen(file);

	return len > TAIL_MOST ? file + len - TAIL_MOST : file;
}

int setup_fail(const char *file, uint32_t line, const char *format, ...)
{
	char says[NIC_SENTENCE_MAX], place[TAIL_MOST + 16] = "";
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
		snprintf(place, sizeof place, "%s:%u: ", setup_tail(file), line);
	else if (file)
		snprintf(place, sizeof place, "%s: ", setup_tail(file));
	return nic_fail(EINVAL, "%s%s", place, says);
}

static bool is_given(const struct setup_draft *draft, enum setup_key key)
{
	return draft->given & 1u << key;
}

/* A key that does not go with the rest. */
__attribute__((format(printf, 4, 5))) static int fail_key(const struct setup_draft *draft,
							  const char *file, enum setup_key key,
							  const char *format, ...)
{
	const struct setup_reader *reader = &setup_readers[key];
	char says[NIC_WHY_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(says, sizeof says, format, args);
	va_end(args);
	if (is_given(draft, key) && !draft->lines[key] && reader->variable)
		return setup_fail(NULL, 0, "%s: %s: %s", reader->variable, draft->d.name, says);
	return setup_fail(file, draft->lines[key], "%s: %s: %s", draft->d.name, reader->name, says);
}

static bool takes_cc(uint8_t transport, uint8_t cc)
{
	return cc == CC_FIXED || cc == (transport == NIC_RC ? CC_DCQCN : CC_NSCC);
}

/* The transport is said by the name, where it is not said otherwise. */
static void settle_transport(struct setup_draft *draft)
{
	if (!is_given(draft, KEY_TRANSPORT))
		draft->d.setup.transport =
			!strncmp(draft->d.name, "weft_mrc", strlen("weft_mrc")) ? NIC_MRC : NIC_RC;
}

int setup_environment(struct setup_draft *draft)
{
	settle_transport(draft);
	for (uint32_t key = 0; key < SETUP_KEYS; key++) {
		const struct setup_reader *reader = &setup_readers[key];
		const char *text = reader->variable ? secure_getenv(reader->variable) : NULL;
		struct nic_setup s = draft->d.setup;
		struct setup_why why = {""};
		char value[4096];

		if (!text)
			continue;
		if (key == KEY_EV)
			s.evs.n = 0; /* ev-ways belongs to the ev that it replaces */
		size_t len = strnlen(text, sizeof value - 1);

		memcpy(value, text, len);
		value[len] = 0;
		if (text[len])
			return setup_fail(NULL, 0, "%s is longer than %zu bytes", reader->variable,
					  len);
		if (!reader->read(&s, value, &why))
			return setup_fail(NULL, 0, "%s=%.40s: %s", reader->variable, text, why.at);
		/* It is for all devices, and they are not all of one kind. */
		if ((reader->is_of_mrc && s.transport != NIC_MRC) ||
		    (key == KEY_CC && !takes_cc(s.transport, s.cc)))
			continue;
		draft->d.setup = s;
		draft->given |= 1u << key;
		draft->lines[key] = 0;
	}
	return 0;
}

static void say_why(struct setup_draft *draft, const char *file, const char *reason)
{
	const char *name = nic_driver_names[draft->d.setup.driver];

	if (reason)
		snprintf(draft->d.why, sizeof draft->d.why, "%s: %s", name, reason);
	else if (file && draft->lines[KEY_DRIVER])
		snprintf(draft->d.why, sizeof draft->d.why, "%s: asked for by %s:%u", name,
			 setup_tail(file), draft->lines[KEY_DRIVER]);
	else
		snprintf(draft->d.why, sizeof draft->d.why, "%s: asked for by WEFT_DRIVER", name);
}

/* What udp lacks for this device; NULL: nothing. */
static const char *beyond_udp(const struct nic_setup *s)
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

static enum setup_key beyond_key(const struct nic_setup *s)
{
	if (s->n_ports > 1)
		return KEY_DRIVER;
	if (s->evs.is_generated)
		return KEY_EV;
	return s->has_trim ? KEY_TRIM : KEY_ADDRESSES;
}

static int settle_driver(struct setup_draft *draft, const char *file)
{
	struct nic_setup *s = &draft->d.setup;
	const char *lack = beyond_udp(s);

	if (s->transport == NIC_RC && s->n_ports > 1)
		return fail_key(draft, file, KEY_PORTS,
				"a device of RC has one port; several need transport = mrc");
	if (!is_given(draft, KEY_DRIVER)) {
		s->driver = lack ? NIC_RAW : NIC_UDP;
		say_why(draft, file, lack ? lack : "the default");
		return 0;
	}
	say_why(draft, file, NULL);
	if (s->driver != NIC_UDP || !lack)
		return 0;
	return fail_key(draft, file, beyond_key(s), "%s; give driver = raw or xdp", lack);
}

static int settle_cc(struct setup_draft *draft, const char *file)
{
	struct nic_setup *s = &draft->d.setup;

	if (!is_given(draft, KEY_CC))
		s->cc = s->transport == NIC_RC ? CC_FIXED : CC_NSCC;
	if (s->is_cnp_port_checked && s->transport != NIC_RC)
		return fail_key(draft, file, KEY_CNP_PORT, "only rc has CNPs; leave it out");
	if (takes_cc(s->transport, s->cc))
		return 0;
	return fail_key(draft, file, KEY_CC, "%s is not for %s; give fixed or %s",
			setup_cc_names[s->cc], nic_transport_names[s->transport],
			s->transport == NIC_RC ? "dcqcn" : "nscc");
}

static const enum setup_key class_keys[ENGINE_TCLASSES] = {
	[ENGINE_DATA] = KEY_DSCP_DATA,
	[ENGINE_RETX] = KEY_DSCP_RETRANSMIT,
	[ENGINE_NO_TRIM] = KEY_DSCP_NO_TRIM,
	[ENGINE_CONTROL] = KEY_DSCP_CONTROL,
};

/* RC has no classes: all of its packets are alike, as RoCE NICs have it until they are told. */
static void settle_dscps(struct setup_draft *draft)
{
	struct nic_setup *s = &draft->d.setup;
	const uint8_t of_mrc[ENGINE_TCLASSES] = {
		[ENGINE_DATA] = s->has_trim ? DSCP_TRIMMABLE : DSCP_NO_TRIM,
		[ENGINE_RETX] = DSCP_TRIMMABLE_RETX,
		[ENGINE_NO_TRIM] = DSCP_NO_TRIM,
		[ENGINE_CONTROL] = DSCP_CONTROL,
	};

	for (uint32_t i = 0; i < ENGINE_TCLASSES; i++) {
		if (!is_given(draft, class_keys[i]))
			s->dscp[i] = s->transport == NIC_MRC ? of_mrc[i] : 0;
	}
}

/* Data of a service level must not look as if it were cut. */
static int check_service_levels(const struct setup_draft *draft, const char *file)
{
	const struct nic_setup *s = &draft->d.setup;

	for (uint32_t i = 0; i < NIC_SLS * ENGINE_CONTROL && s->has_trim; i++) {
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

static int settle_trim(struct setup_draft *draft, const char *file)
{
	struct nic_setup *s = &draft->d.setup;

	if (!is_given(draft, KEY_TRIM) && s->transport == NIC_MRC && s->driver != NIC_UDP) {
		s->has_trim = true;
		s->dscp_trimmed = DSCP_TRIMMED;
		s->dscp_trimmed_lasthop = DSCP_TRIMMED_LASTHOP;
	}
	settle_dscps(draft);
	for (uint32_t i = 0; i < ENGINE_TCLASSES && s->has_trim; i++) {
		bool is_given_here = is_given(draft, class_keys[i]);

		if (s->dscp[i] == s->dscp_trimmed || s->dscp[i] == s->dscp_trimmed_lasthop)
			return fail_key(draft, file, is_given_here ? class_keys[i] : KEY_TRIM,
					"%u says by trim that a packet was cut, and by %s that it "
					"was not; change one of them",
					s->dscp[i], setup_readers[class_keys[i]].name);
	}
	return check_service_levels(draft, file);
}

static int check_ways(const struct setup_draft *draft, const char *file)
{
	const struct nic_setup *s = &draft->d.setup;
	uint32_t n = setup_ways(s);

	if (s->evs.min_active <= n)
		return 0;
	return fail_key(draft, file, KEY_EV_MIN_ACTIVE, "%u of %u ways: %s", s->evs.min_active, n,
			path_error_name(PATH_TOO_MANY));
}

static int check_of_mrc(const struct setup_draft *draft, const char *file)
{
	for (uint32_t key = 0; key < SETUP_KEYS; key++) {
		if (setup_readers[key].is_of_mrc && is_given(draft, key))
			return fail_key(draft, file, key, "is for devices with transport = mrc");
	}
	return 0;
}

int setup_finish(struct setup_draft *draft, const char *file)
{
	struct nic_setup *s = &draft->d.setup;
	int r = 0;

	settle_transport(draft);
	if (!s->n_ports)
		return setup_fail(file, draft->line, "%s has no ports: give ports = INTERFACE ...",
				  draft->d.name);
	if (s->transport == NIC_RC)
		r = check_of_mrc(draft, file);
	if (!r)
		r = settle_driver(draft, file);
	if (!r)
		r = settle_cc(draft, file);
	if (!r)
		r = settle_trim(draft, file);
	if (!r && s->transport == NIC_MRC)
		r = check_ways(draft, file);
	return r;
}

int nic_setup_default(struct nic_described *d)
{
	struct setup_draft draft = {.d = *d, .given = 1u << KEY_PORTS | 1u << KEY_TRANSPORT};
	int r = setup_environment(&draft);

	if (!r)
		r = setup_finish(&draft, NULL);
	if (!r)
		*d = draft.d;
	return r;
}
