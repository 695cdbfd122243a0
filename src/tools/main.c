#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command.h"
#include "tools/text.h"

static int run_help(int argc, char **argv);
static int run_version(int argc, char **argv);

static const struct command help_command = {
	"help",
	"show how to use weft, or one of its commands",
	"usage: weft help [COMMAND]\n",
	run_help,
};

static const struct command version_command = {
	"version",
	"show the version of weft",
	"usage: weft version\n",
	run_version,
};

static const struct command *const commands[] = {
	&decode_command, &perf_command, &run_command, &sim_command, &help_command, &version_command,
};

#define N_COMMANDS (sizeof commands / sizeof commands[0])

int usage_error(const char *name, const char *format, ...)
{
	const char *command = strchr(name, ' ');
	char says[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(says, sizeof says, format, args);
	va_end(args);
	fprintf(stderr, "%s: ", name);
	text_put_safe(stderr, says);
	fprintf(stderr, "; see: weft help%s\n", command ? command : "");
	return STATUS_USAGE;
}

int usage_bad_option(const char *name, const struct option *options, const char *arg)
{
	for (; options->name; options++)
		if (optopt == options->val)
			return usage_error(name, "--%s takes no value", options->name);
	if (optopt)
		return usage_error(name, "there is no option '-%c'", optopt);
	return usage_error(name, "there is no option '%s'", arg);
}

/* The first error of standard output. */
static int output_error;

bool is_output_broken(void)
{
	if (!output_error && ferror(stdout))
		output_error = errno ? errno : EIO;
	return output_error != 0;
}

int finish_output(const char *name)
{
	if (!output_error && fflush(stdout) != 0)
		output_error = errno;
	if (!is_output_broken() || output_error == EPIPE)
		return STATUS_OK;
	fprintf(stderr, "%s: cannot write the output: %s\n", name, strerror(output_error));
	return STATUS_FILE;
}

bool parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;

	errno = 0;
	*value = strtoull(text, &end, base);
	return errno == 0 && *end == '\0' && *value >= low && *value <= high;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* Single-character edits between a and b, which is at most 31 long. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[32], n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < n; j++) {
			size_t best = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (diagonal + 1 < best)
				best = diagonal + 1;
			row[j + 1] = best;
		}
	}
	return row[n];
}

static int no_command(const char *name)
{
	const struct command *nearest = NULL;
	size_t least = 4;

	for (size_t i = 0; i < N_COMMANDS; i++) {
		size_t distance = edit_distance(name, commands[i]->name);

		if (distance < least && distance < strlen(commands[i]->name)) {
			least = distance;
			nearest = commands[i];
		}
	}
	if (nearest)
		return usage_error("weft", "there is no command '%s'; did you mean '%s'?", name,
				   nearest->name);
	return usage_error("weft", "there is no command '%s'", name);
}

static void print_usage(FILE *out)
{
	fputs("usage: weft COMMAND [ARGUMENT...]\n\ncommands:\n", out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->brief);
	fputs("\nFor one of them: weft help COMMAND, or man weft.\n", out);
}

static int run_help(int argc, char **argv)
{
	if (argc > 2)
		return usage_error(argv[0], "one command at a time");
	if (argc == 2) {
		const struct command *command = find_command(argv[1]);

		if (!command)
			return no_command(argv[1]);
		fputs(command->help, stdout);
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
