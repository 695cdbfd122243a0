#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nic/nic.h"
#include "tools/command.h"
#include "tools/text.h"

/* What env(1) and the shell answer for a program that is not there, and one that does not start. */
#define STATUS_NOT_STARTED 126
#define STATUS_NOT_FOUND   127

#define LIBRARY "libweft-verbs.so"

static const char usage[] =
	"usage: weft run [--interfaces LIST] [--verbose] [--] PROGRAM [ARGUMENT...]\n"
	"\n"
	"Runs an RDMA program, unchanged, on RoCEv2 devices in software: weft_rc0, weft_rc1,\n"
	"..., one for each network interface with an address, loopback included. It needs no\n"
	"RDMA hardware, no kernel module and no privilege. Devices of the system stay usable.\n";

static const char notes[] = "exit status: that of PROGRAM, or\n"
			    "  2    the command line is wrong\n"
			    "  3    there is no device as it was asked for, or " LIBRARY " is not\n"
			    "       where it should be: standard error says why\n"
			    "  126  PROGRAM cannot be started\n"
			    "  127  PROGRAM is not found\n"
			    "\n"
			    "examples:\n"
			    "  weft run ibv_devinfo -v\n"
			    "  weft run ib_write_bw -d weft_rc0                # on one side\n"
			    "  weft run ib_write_bw -d weft_rc0 192.0.2.1      # on the other\n";

struct job {
	const char *name; /* "weft run" */
	const char *interfaces;
	bool verbose;
};

static const struct command_option options[] = {
	{"interfaces", "LIST", "only these interfaces, in this order: names with commas",
	 OPTION_INTO(interfaces)},
	{"verbose", NULL, "say on standard error what a device refused, and why",
	 OPTION_INTO(verbose)},
	{.name = NULL},
};

static int read_options(struct job *job, int argc, char **argv)
{
	int status = command_options(&run_command, argc, argv, job);

	if (status != STATUS_OK)
		return status;
	if (job->interfaces && !*job->interfaces)
		return usage_error(job->name, "--interfaces needs at least one name");
	if (optind == argc)
		return usage_error(job->name, "name a program to run");
	return STATUS_OK;
}

/* Where the library may be, seen from the folder that this command is in: the build tree, then the
 * installation, which may have been moved as a whole. */
static const char *const places[] = {
	"%s/../verbs/" LIBRARY,
	"%s/../" WEFT_LIBDIR "/" LIBRARY,
};

/* The folder of this command into path; false: the system does not tell. */
static bool find_folder(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);

	if (n <= 0)
		return false;
	path[n] = '\0';
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
	return slash != NULL;
}

/* Its real path into path, PATH_MAX bytes. */
static bool find_library(char *path)
{
	char folder[PATH_MAX], place[2 * PATH_MAX];

	if (!find_folder(folder, sizeof folder))
		return false;
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(place, sizeof place, places[i], folder);
#pragma GCC diagnostic pop
		if (realpath(place, path))
			return true;
	}
	return realpath(WEFT_PREFIX "/" WEFT_LIBDIR "/" LIBRARY, path) != NULL;
}

/* Behind what is there already: a sanitizer's library insists on being the first. */
static int preload(const struct job *job, const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	char *all = NULL;

	/* ld.so(8): the list is separated by either, and has no way to quote them. */
	if (strpbrk(library, " :"))
		return command_error(job->name, STATUS_FILE, library,
				     "a path with a space or colon cannot be preloaded");
	if (before && *before) {
		size_t size = strlen(before) + strlen(library) + 2;

		all = malloc(size);
		if (all)
			snprintf(all, size, "%s:%s", before, library);
	} else {
		all = strdup(library);
	}
	int failed = !all || setenv("LD_PRELOAD", all, 1) != 0 ||
		     (job->verbose && setenv("WEFT_VERBOSE", "1", 1) != 0);

	free(all);
	return failed ? memory_error(job->name) : STATUS_OK;
}

/* "; interfaces here: lo, eth0". */
static void add_interfaces(struct text *t)
{
	struct if_nameindex *all = if_nameindex();

	for (uint32_t i = 0; all && all[i].if_name; i++)
		text_add(t, "%s%s", i ? ", " : "; interfaces here: ", all[i].if_name);
	if (all)
		if_freenameindex(all);
}

/* What keeps a described device from being used: none of its ports is an interface. */
static bool is_usable(const struct nic_info *info)
{
	for (uint32_t i = 0; i < info->n_ports; i++)
		if (info->ports[i].ifindex)
			return true;
	return false;
}

static int refuse_devices(const struct job *job, const struct nic_info *list, int n)
{
	static const char variable[] = "WEFT_INTERFACES";
	const char *why = n < 0 ? nic_error() : "";
	bool is_named = strncmp(why, variable, sizeof variable - 1) == 0;
	struct text t;

	text_clear(&t);
	if (is_named && job->interfaces)
		text_add(&t, "--interfaces%s", why + sizeof variable - 1);
	else if (n < 0)
		text_add(&t, "%s", why);
	else
		text_add(&t, "no device can be used: %s: there is no interface %s", list[0].name,
			 list[0].setup.interfaces[0]);
	if (is_named || n > 0)
		add_interfaces(&t);
	if (n < 0 && !is_named)
		text_add(&t, " (mend that, or name interfaces with --interfaces)");
	return command_error(job->name, STATUS_FILE, NULL, t.at);
}

/* The program would see no device, and could not say why. A machine without any interface for us
 * may have devices of its own. */
static int check_devices(const struct job *job)
{
	struct nic_info *list = NULL;

	if (job->interfaces && setenv("WEFT_INTERFACES", job->interfaces, 1) != 0)
		return memory_error(job->name);
	int n = nic_list(&list), status = n < 0 ? refuse_devices(job, NULL, n) : STATUS_OK, i = 0;

	while (i < n && !is_usable(&list[i]))
		i++;
	if (n > 0 && i == n)
		status = refuse_devices(job, list, n);
	free(list);
	return status;
}

static int start(const struct job *job, char **argv)
{
	char library[PATH_MAX];
	int checked = check_devices(job);

	if (checked != STATUS_OK)
		return checked;

	if (!find_library(library))
		return command_error(job->name, STATUS_FILE, NULL,
				     LIBRARY " is neither beside this command nor in " WEFT_PREFIX
					     "/" WEFT_LIBDIR);
	int status = preload(job, library);

	if (status != STATUS_OK)
		return status;
	execvp(argv[0], argv);
	int why = errno;

	return command_error(job->name, why == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_STARTED,
			     argv[0], strerror(why));
}

static int run(int argc, char **argv)
{
	struct job job = {.name = argv[0]};
	int status = read_options(&job, argc, argv);

	if (status == STATUS_HELP)
		return finish_output(job.name);
	if (status != STATUS_OK)
		return status;
	/* What main ignores for this command, the program expects to be ended by. */
	signal(SIGPIPE, SIG_DFL);
	return start(&job, argv + optind);
}

const struct command run_command = {
	.name = "run",
	.brief = "run an RDMA program on devices in software",
	.usage = usage,
	.options = options,
	.notes = notes,
	.run = run,
	.is_prefix = true,
};
