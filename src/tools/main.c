#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/edits.h"
#include "tools/command.h"

static int run_help(int argc, char **argv);
static int run_version(int argc, char **argv);

static const struct command help_command = {
	.name = "help",
	.brief = "show how to use weft, or one of its commands",
	.usage = "usage: weft help [COMMAND]\n",
	.run = run_help,
};

static const struct command version_command = {
	.name = "version",
	.brief = "show the version of weft",
	.usage = "usage: weft version\n",
	.run = run_version,
};

static const struct command *const commands[] = {
	&ctl_command,  &decode_command, &demo_command,    &devices_command,
	&perf_command, &ping_command,   &run_command,     &sim_command,
	&top_command,  &help_command,   &version_command,
};

#define N_COMMANDS (sizeof commands / sizeof commands[0])

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int no_command(const char *name)
{
	struct edits_guess guess = edits_guess(name);

	for (size_t i = 0; i < N_COMMANDS; i++)
		edits_offer(&guess, commands[i]->name);
	if (guess.nearest)
		return usage_error("weft", "there is no command '%s'; did you mean '%s'?", name,
				   guess.nearest);
	return usage_error("weft", "there is no command '%s'", name);
}

static void print_usage(FILE *out)
{
	fputs("usage: weft COMMAND [ARGUMENT...]\n\ncommands:\n", out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->brief);
	fputs("\nFor one of them: weft help COMMAND, or man weft-COMMAND.\n", out);
}

static int run_help(int argc, char **argv)
{
	if (argc > 2)
		return usage_error(argv[0], "one command at a time");
	if (argc == 2) {
		const struct command *command = find_command(argv[1]);

		if (!command)
			return no_command(argv[1]);
		command_help(command);
	} else {
		print_usage(stdout);
	}
	return finish_output(argv[0]);
}

static int run_version(int argc, char **argv)
{
	if (argc > 1)
		return usage_error(argv[0], "takes no arguments");
	puts("weft " WEFT_VERSION);
	return finish_output(argv[0]);
}

/* Options that are commands everywhere else. */
static const char *command_name(const char *arg)
{
	if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
		return help_command.name;
	if (strcmp(arg, "--version") == 0 || strcmp(arg, "-V") == 0)
		return version_command.name;
	return arg;
}

int main(int argc, char **argv)
{
	char name[32];

	/* A reader that goes away is seen as EPIPE, see finish_output. */
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		print_usage(stderr);
		return STATUS_USAGE;
	}
	const struct command *command = find_command(command_name(argv[1]));

	if (!command)
		return no_command(argv[1]);
	snprintf(name, sizeof name, "weft %s", command->name);
	argv[1] = name;
	return command->run(argc - 1, argv + 1);
}
