#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/text.h"

/* What env(1) and the shell answer for a program that is not there, and one that does not start. */
#define STATUS_NOT_STARTED 126
#define STATUS_NOT_FOUND   127

#define LIBRARY "libweft-verbs.so"

static const char help[] =
	"usage: weft run [--interfaces LIST] [--verbose] [--] PROGRAM [ARGUMENT...]\n"
	"\n"
	"Runs an RDMA program, unchanged, on RoCEv2 devices in software: weft_rc0, weft_rc1,\n"
	"..., one for each network interface with an address, loopback included. It needs no\n"
	"RDMA hardware, no kernel module and no privilege. Devices of the system stay usable.\n"
	"\n"
	"  --interfaces LIST  only these interfaces, in this order: names with commas\n"
	"  --verbose          say on standard error what a device refused, and why\n"
	"\n"
	"exit status: that of PROGRAM, or\n"
	"  2    the command line is wrong\n"
	"  3    " LIBRARY " is not where it should be\n"
	"  126  PROGRAM cannot be started\n"
	"  127  PROGRAM is not found\n"
	"\n"
	"examples:\n"
	"  weft run ibv_devinfo -v\n"
	"  weft run ib_write_bw -d weft_rc0                # on one side\n"
	"  weft run ib_write_bw -d weft_rc0 192.0.2.1      # on the other\n";

enum { OPT_INTERFACES = 256, OPT_VERBOSE };

static const struct option options[] = {
	{"interfaces", required_argument, NULL, OPT_INTERFACES},
	{"verbose", no_argument, NULL, OPT_VERBOSE},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

struct job {
	const char *name; /* "weft run" */
	const char *interfaces;
	bool verbose, help;
};

/* The plus: what follows the program's name is the program's. */
static int read_options(struct job *job, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "+:h", options, NULL)) != -1) {
		const char *arg = argv[optind - 1];

		switch (option) {
		case OPT_INTERFACES: job->interfaces = optarg; break;
		case OPT_VERBOSE: job->verbose = true; break;
		case 'h': job->help = true; break;
		case ':': return usage_error(job->name, "%s needs a value", arg);
		default: return usage_bad_option(job->name, options, arg);
		}
	}
	if (job->interfaces && !*job->interfaces)
		return usage_error(job->name, "--interfaces needs at least one name");
	if (!job->help && optind == argc)
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
	if (strpbrk(library, " :")) {
		fprintf(stderr, "%s: ", job->name);
		text_put_safe(stderr, library);
		fputs(": a path with a space or colon cannot be preloaded\n", stderr);
		return STATUS_FILE;
	}
	if (before && *before) {
		size_t size = strlen(before) + strlen(library) + 2;

		all = malloc(size);
		if (all)
			snprintf(all, size, "%s:%s", before, library);
	} else {
		all = strdup(library);
	}
	int failed = !all || setenv("LD_PRELOAD", all, 1) != 0 ||
		     (job->interfaces && setenv("WEFT_INTERFACES", job->interfaces, 1) != 0) ||
		     (job->verbose && setenv("WEFT_VERBOSE", "1", 1) != 0);

	free(all);
	if (failed)
		fprintf(stderr, "%s: out of memory\n", job->name);
	return failed ? STATUS_FILE : STATUS_OK;
}

static int start(const struct job *job, char **argv)
{
	char library[PATH_MAX];

	if (!find_library(library)) {
		fprintf(stderr, "%s: " LIBRARY " is neither beside this command nor in %s\n",
			job->name, WEFT_PREFIX "/" WEFT_LIBDIR);
		return STATUS_FILE;
	}
	int status = preload(job, library);

	if (status != STATUS_OK)
		return status;
	execvp(argv[0], argv);
	int why = errno;

	fprintf(stderr, "%s: ", job->name);
	text_put_safe(stderr, argv[0]);
	fprintf(stderr, ": %s\n", strerror(why));
	return why == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_STARTED;
}

static int run(int argc, char **argv)
{
	struct job job = {.name = argv[0]};
	int status = read_options(&job, argc, argv);

	if (status != STATUS_OK)
		return status;
	if (job.help) {
		fputs(help, stdout);
		return finish_output(job.name);
	}
	/* What main ignores for this command, the program expects to be ended by. */
	signal(SIGPIPE, SIG_DFL);
	return start(&job, argv + optind);
}

const struct command run_command = {
	"run",
	"run an RDMA program on devices in software",
	help,
	run,
};
