#include "tools/ctl/ctl.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/edits.h"
#include "tools/command.h"
#include "tools/ends.h"
#include "tools/input.h"

static const char usage[] =
	"usage: weft ctl [OPTION...] devices | ports | show | save | clear\n"
	"       weft ctl [OPTION...] port NUMBER up|down\n"
	"       weft ctl [OPTION...] apply FILE\n"
	"       weft ctl [OPTION...] deny|allow PROFILE VALUE[/PORT]...\n"
	"       weft ctl [OPTION...] events\n"
	"\n"
	"Controls MRC devices: their ports, the profiles of entropy values and of congestion\n"
	"control that queue pairs name, and what is told of paths. What is set holds at once,\n"
	"for every process on the device, and outlives this one.\n";

static const char notes[] =
	"commands:\n"
	"  devices  the MRC devices, and what they have room for\n"
	"  ports    the ports of a device; `port 2 down` takes one out of use\n"
	"  show     all profiles\n"
	"  save     the same as a file for apply\n"
	"  apply    makes the device what a file says (- is standard input): what is the same\n"
	"           stays, what differs is taken offline, built anew and put online\n"
	"  clear    removes all profiles and puts all ports up\n"
	"  deny     takes values of a profile out of use, while queue pairs use it as well;\n"
	"           allow gives them back. Without /PORT: by whichever port\n"
	"  events   values that are assumed bad, or good again, until Ctrl-C\n"
	"\n"
	"All but devices need CAP_NET_ADMIN.\n"
	"\n"
	"exit status:\n"
	"  0    done\n"
	"  2    the command line is wrong\n"
	"  3    the device refused, or the file is wrong: standard error says why, and what\n"
	"       to do\n"
	"\n"
	"examples:\n"
	"  weft ctl --device weft_mrc0 save > fabric.yaml\n"
	"  weft ctl --device weft_mrc0 apply fabric.yaml\n"
	"  weft ctl --device weft_mrc0 deny 7 0xc0010002/1 0xc0020002\n"
	"  weft ctl --device weft_mrc0 --json --for 60 events\n";

struct job {
	const char *device;
	bool has_json, has_values, is_exact;
	uint32_t count, for_s;
};

static const struct command_option options[] = {
	{"device", "NAME", "the device (default: the only one of MRC)", OPTION_INTO(device)},
	{"json", NULL, "one JSON document instead; of events one object a line",
	 OPTION_INTO(has_json)},
	{"values", NULL, "show: with each value of each profile, and its state",
	 OPTION_INTO(has_values)},
	{"exact", NULL, "apply: remove the profiles that the file does not have",
	 OPTION_INTO(is_exact)},
	{"count", "N", "events: end after so many", OPTION_INTO(count), .low = 1,
	 .high = UINT32_MAX},
	{"for", "SECONDS", "events: end after so long", OPTION_INTO(for_s), .low = 1,
	 .high = 1u << 30},
	{.name = NULL},
};

/* A command line in work. */
struct call {
	const char *name; /* "weft ctl" */
	const struct job *job;
	char **args;
	int n_args;
	struct ctl_device d;
};

static int read_now(struct call *c, struct ctl_state *s)
{
	struct ctl_ids ids;
	int r = ctl_ids_read(&c->d, &ids);

	*s = (struct ctl_state){0};
	if (!r) {
		r = ctl_state_read(c->d.mrc, c->d.attr.phy_port_mask, &ids, s);
		int number = errno;

		ctl_ids_fini(&ids);
		errno = number;
	}
	return r ? ctl_error(&c->d, c->name, "its state cannot be read") : STATUS_OK;
}

static int run_devices(struct call *c)
{
	struct nic_info *list = NULL;
	int n = ctl_devices(c->name, &list), status = n < 0 ? STATUS_FILE : STATUS_OK;
	struct ctl_device *devices = n > 0 ? calloc((size_t)n, sizeof *devices) : NULL;
	uint32_t kept = 0;

	if (n > 0 && !devices)
		status = memory_error(c->name);
	for (int i = 0; i < n && devices; i++) {
		if (c->job->device && strcmp(c->job->device, list[i].name) != 0)
			continue;
		int r = ctl_open(&devices[kept], c->name, list[i].name, false);

		ctl_close(&devices[kept]);
		kept += r == STATUS_OK;
		status = r > status ? r : status;
	}
	if (n >= 0 && c->job->has_json)
		ctl_devices_json(devices, kept);
	else if (n >= 0)
		ctl_devices_table(devices, kept);
	free(devices);
	free(list);
	return status;
}

static int run_ports(struct call *c)
{
	struct ctl_ids none = {.n = {0}};
	struct ctl_state s;

	if (ctl_state_read(c->d.mrc, c->d.attr.phy_port_mask, &none, &s))
		return ctl_error(&c->d, c->name, "its ports cannot be read");
	if (c->job->has_json)
		ctl_ports_json(&c->d, s.enabled_ports);
	else
		ctl_ports_table(&c->d, s.enabled_ports);
	ctl_state_fini(&s);
	return STATUS_OK;
}

static int run_port(struct call *c)
{
	bool is_up = strcmp(c->args[1], "up") == 0;
	struct mrc_ctl_port_attr attr = {is_up ? MRC_CTL_PORT_ADMIN_ENABLED
					       : MRC_CTL_PORT_ADMIN_DISABLED};
	uint64_t port;

	if (!is_up && strcmp(c->args[1], "down") != 0)
		return usage_error(c->name, "a port goes up or down, not '%s'", c->args[1]);
	if (!parse_number(c->args[0], 1, c->d.info.n_ports, &port))
		return usage_error(c->name, "%s has the ports 1 to %u, not '%s'", c->d.info.name,
				   c->d.info.n_ports, c->args[0]);
	if (mrc_ctl_modify_port(c->d.mrc, (uint8_t)port, &attr, MRC_CTL_PORT_ADMIN_STATE))
		return ctl_error(&c->d, c->name, "the port stays as it is");
	return STATUS_OK;
}

/* As a table, or as a file; as JSON it is the same. */
static int put_state(struct call *c, bool is_file)
{
	struct ctl_state s;
	int status = read_now(c, &s);

	if (status != STATUS_OK)
		return status;
	if (c->job->has_json)
		ctl_json(&s);
	else if (is_file)
		ctl_file_print(&s, stdout);
	else
		ctl_table(&s, c->job->has_values);
	ctl_state_fini(&s);
	return STATUS_OK;
}

static int run_show(struct call *c)
{
	return put_state(c, false);
}

static int run_save(struct call *c)
{
	return put_state(c, true);
}

/* Of a profile that is in use it says by whom. */
static void add_reason(struct call *c, const struct ctl_report *r, struct text *t)
{
	text_add(t, "%s: ", r->what);
	if (errno != EBUSY || r->kind >= CONTROL_KINDS) {
		ctl_explain(&c->d, errno, t);
		return;
	}
	if (r->kind == CONTROL_FORMAT)
		text_add(t, "EV profiles name it");
	else
		ctl_users(&c->d, (enum control_kind)r->kind, r->id, t);
	text_add(t, "; end them, or use another number");
}

static int say_failed(struct call *c, const struct ctl_report *r)
{
	struct text t;

	text_clear(&t);
	add_reason(c, r, &t);
	text_add(&t, r->is_untouched ? ". Nothing was changed"
				     : ". Some of it was changed: weft ctl show");
	return command_error(c->name, STATUS_FILE, c->d.info.name, t.at);
}

static int apply(struct call *c, const struct ctl_state *now, const struct ctl_state *wanted,
		 bool is_exact)
{
	struct ctl_report report;
	int status = STATUS_OK;

	/* An interrupt between two steps would leave profiles offline, or gone. */
	ends_hold();
	if (ctl_apply(c->d.mrc, now, wanted, is_exact, &report))
		status = say_failed(c, &report);
	else
		ctl_report_print(&report, c->job->has_json);
	ctl_report_fini(&report);
	fflush(stdout);
	ends_release();
	return status;
}

static int run_apply(struct call *c)
{
	struct ctl_state now, wanted;
	char why[CTL_WHY_MAX] = "";
	struct input in;
	int status = read_now(c, &now);

	if (status != STATUS_OK)
		return status;
	if (input_read_file(&in, c->args[0], why, sizeof why)) {
		status = command_error(c->name, STATUS_FILE, c->args[0], why);
	} else {
		struct ctl_source source = {in.shown, in.text, in.len};

		if (ctl_file_read(&source, &now, &wanted, why)) {
			status = command_error(c->name, STATUS_FILE, NULL, why);
		} else {
			status = apply(c, &now, &wanted, c->job->is_exact);
			ctl_state_fini(&wanted);
		}
		input_fini(&in);
	}
	ctl_state_fini(&now);
	return status;
}

static int run_clear(struct call *c)
{
	uint32_t ports = c->d.attr.phy_port_mask;
	const struct ctl_state none = {.said_ports = ports, .enabled_ports = ports};
	struct ctl_state now;
	int status = read_now(c, &now);

	if (status != STATUS_OK)
		return status;
	status = apply(c, &now, &none, true);
	ctl_state_fini(&now);
	return status;
}

/* The values that a command line names; NULL after saying what is wrong. */
static struct mrc_ctl_ev *read_values(struct call *c, const struct ctl_profile *p)
{
	uint32_t n = (uint32_t)c->n_args - 1;
	struct mrc_ctl_ev *evs = calloc(n, sizeof *evs);

	if (!evs)
		memory_error(c->name);
	for (uint32_t i = 0; i < n && evs; i++) {
		if (ctl_value_read(c->args[i + 1], p->format_mode, &evs[i]))
			continue;
		usage_error(c->name, "'%s' is no value of profile %" PRIu64 ": give %s",
			    c->args[i + 1], p->id, ctl_value_like(p->format_mode));
		free(evs);
		evs = NULL;
	}
	return evs;
}

static int deny(struct call *c, const struct ctl_profile *p, bool is_denied)
{
	struct mrc_ctl_ev *evs = read_values(c, p);
	struct ctl_denial denial = {p, evs, (uint32_t)c->n_args - 1, is_denied};
	uint32_t failed = 0;
	int status = STATUS_OK;

	if (!evs)
		return STATUS_USAGE;
	if (ctl_deny(c->d.mrc, &denial, &failed))
		status = ctl_error(&c->d, c->name,
				   errno == ENOENT ? c->args[failed + 1] : "nothing changed");
	free(evs);
	return status;
}

static int run_deny_or_allow(struct call *c, bool is_denied)
{
	struct ctl_state s;
	uint64_t id;

	if (!parse_number(c->args[0], 0, UINT64_MAX, &id))
		return usage_error(c->name, "'%s' is no number of a profile", c->args[0]);
	int status = read_now(c, &s);

	if (status != STATUS_OK)
		return status;
	const struct ctl_profile *p = ctl_find_profile(&s, id);

	status = p ? deny(c, p, is_denied)
		   : command_error(c->name, STATUS_FILE, c->args[0],
				   "there is no such EV profile; weft ctl show has them");
	ctl_state_fini(&s);
	return status;
}

static int run_deny(struct call *c)
{
	return run_deny_or_allow(c, true);
}

static int run_allow(struct call *c)
{
	return run_deny_or_allow(c, false);
}

static int run_events(struct call *c)
{
	const struct ctl_watch w = {.name = c->name,
				    .count = c->job->count,
				    .for_s = c->job->for_s,
				    .has_json = c->job->has_json};

	return ctl_events(&c->d, &w);
}

static const struct verb {
	const char *name;
	const char *args; /* for messages */
	int least, most;  /* of them; most 0 with a least: no limit */
	bool needs_device;
	int (*run)(struct call *c);
} verbs[] = {
	{"devices", "no arguments", 0, 0, false, run_devices},
	{"ports", "no arguments", 0, 0, true, run_ports},
	{"port", "NUMBER up or NUMBER down", 2, 2, true, run_port},
	{"show", "no arguments", 0, 0, true, run_show},
	{"save", "no arguments", 0, 0, true, run_save},
	{"apply", "a FILE", 1, 1, true, run_apply},
	{"clear", "no arguments", 0, 0, true, run_clear},
	{"deny", "PROFILE VALUE...", 2, 0, true, run_deny},
	{"allow", "PROFILE VALUE...", 2, 0, true, run_allow},
	{"events", "no arguments", 0, 0, true, run_events},
};

#define N_VERBS (sizeof verbs / sizeof verbs[0])

static const struct verb *find_verb(const char *name, const char *word)
{
	struct edits_guess guess = edits_guess(word);

	for (uint32_t i = 0; i < N_VERBS; i++) {
		if (strcmp(word, verbs[i].name) == 0)
			return &verbs[i];
		edits_offer(&guess, verbs[i].name);
	}
	if (guess.nearest)
		usage_error(name, "there is no '%s'; did you mean '%s'?", word, guess.nearest);
	else
		usage_error(name, "there is no '%s'", word);
	return NULL;
}

static int run_verb(const struct verb *v, struct call *c)
{
	if (c->n_args < v->least || (c->n_args > v->most && (v->most || !v->least)))
		return usage_error(c->name, "%s takes %s", v->name, v->args);
	int status = v->needs_device ? ctl_open(&c->d, c->name, c->job->device, true) : STATUS_OK;

	if (status != STATUS_OK)
		return status;
	status = v->run(c);
	ctl_close(&c->d);
	return status;
}

static int run_ctl(int argc, char **argv)
{
	struct job job = {.device = NULL};
	int status = command_options(&ctl_command, argc, argv, &job);

	if (status != STATUS_OK)
		return status == STATUS_HELP ? finish_output(argv[0]) : status;
	if (optind == argc)
		return usage_error(argv[0], "say what to do");
	const struct verb *v = find_verb(argv[0], argv[optind]);
	struct call *c = v ? calloc(1, sizeof *c) : NULL;

	if (!v)
		return STATUS_USAGE;
	if (!c)
		return memory_error(argv[0]);
	*c = (struct call){.name = argv[0],
			   .job = &job,
			   .args = argv + optind + 1,
			   .n_args = argc - optind - 1};
	status = run_verb(v, c);
	free(c);
	int written = finish_output(argv[0]);

	return written > status ? written : status;
}

const struct command ctl_command = {
	.name = "ctl",
	.brief = "control MRC devices: ports, profiles of paths and congestion, events",
	.usage = usage,
	.options = options,
	.notes = notes,
	.run = run_ctl,
};
