#include "tools/command.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/edits.h"
#include "tools/text.h"

#define OPTIONS_MAX 24u
#define FIRST_CODE  256 /* what getopt_long returns for the first option, if it has no letter */

/* What getopt_long wants to know of a command's options, and of --help. */
struct getopt_table {
	struct option longs[OPTIONS_MAX + 2];
	char letters[2 * OPTIONS_MAX + 4];
};

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

int command_error(const char *name, int status, const char *what, const char *why)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", name);
	if (what) {
		text_put_safe(stderr, what);
		fputs(": ", stderr);
	}
	text_put_safe(stderr, why);
	fputc('\n', stderr);
	return status;
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

/* "-v, --verbose", "--count N". */
static void add_names(struct text *t, const struct command_option *o)
{
	text_clear(t);
	if (o->letter)
		text_add(t, "-%c, ", o->letter);
	text_add(t, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
}

static void print_options(const struct command_option *options)
{
	struct text names;
	uint32_t width = 0;

	for (const struct command_option *o = options; o->name; o++) {
		add_names(&names, o);
		width = names.len > width ? names.len : width;
	}
	for (const struct command_option *o = options; o->name; o++) {
		const char *line = o->help;

		add_names(&names, o);
		for (size_t n; *line; line += n + (line[n] == '\n')) {
			n = strcspn(line, "\n");
			printf("  %-*s  %.*s\n", (int)width, line == o->help ? names.at : "",
			       (int)n, line);
		}
	}
}

void command_help(const struct command *c)
{
	fputs(c->usage, stdout);
	if (c->options) {
		fputc('\n', stdout);
		print_options(c->options);
	}
	if (c->notes)
		printf("\n%s", c->notes);
}

static struct getopt_table make_table(const struct command *c)
{
	struct getopt_table t = {.longs = {{"help", no_argument, NULL, 'h'}}};
	char *letter = t.letters;

	/* The colon: we say ourselves what is wrong. */
	letter += sprintf(letter, "%s:h", c->is_prefix ? "+" : "");
	for (uint32_t i = 0; c->options[i].name; i++) {
		const struct command_option *o = &c->options[i];

		assert(i < OPTIONS_MAX);
		t.longs[i + 1] =
			(struct option){o->name, o->value ? required_argument : no_argument, NULL,
					o->letter ? o->letter : FIRST_CODE + (int)i};
		if (o->letter)
			*letter++ = o->letter;
		if (o->letter && o->value)
			*letter++ = ':';
	}
	return t;
}

/* Says what getopt_long would say itself of an option that it refused, but with the control
 * characters of the argument made harmless, as it may be the name of a file that somebody else
 * chose. arg is the argument that was read last. */
static int refuse_option(const char *name, const struct option *all, const char *arg)
{
	const struct option *longs;

	for (longs = all; longs->name; longs++)
		if (optopt == longs->val)
			return usage_error(name, "--%s takes no value", longs->name);
	if (optopt)
		return usage_error(name, "there is no option '-%c'", optopt);
	char word[EDITS_MOST + 2];
	const char *begin = arg + strspn(arg, "-");

	snprintf(word, sizeof word, "%.*s", (int)strcspn(begin, "="), begin);
	struct edits_guess guess = edits_guess(word);

	for (longs = all; longs->name; longs++)
		edits_offer(&guess, longs->name);
	if (!guess.nearest)
		return usage_error(name, "there is no option '%s'", arg);
	return usage_error(name, "there is no option '%s'; did you mean '--%s'?", arg,
			   guess.nearest);
}

static int refuse_word(const char *name, const struct command_option *o, const char *value)
{
	struct text list;

	text_clear(&list);
	for (uint32_t i = 0; o->words[i]; i++)
		text_add(&list, "%s%s", i == 0 ? "" : o->words[i + 1] ? ", " : " or ", o->words[i]);
	return usage_error(name, "--%s takes %s, not '%s'", o->name, list.at, value);
}

static void store(void *place, uint32_t bytes, uint64_t number)
{
	switch (bytes) {
	case 1: *(uint8_t *)place = (uint8_t)number; break;
	case 2: *(uint16_t *)place = (uint16_t)number; break;
	case 4: *(uint32_t *)place = (uint32_t)number; break;
	case 8: *(uint64_t *)place = number; break;
	default: break;
	}
}

static int take_option(const char *name, const struct command_option *o, char *value, void *job)
{
	void *place = (char *)job + o->at;
	uint64_t number = 1;

	if (o->read)
		return o->read(job, value);
	if (o->words) {
		for (number = 0; o->words[number] && strcmp(o->words[number], value) != 0;)
			number++;
		if (!o->words[number])
			return refuse_word(name, o, value);
	} else if (o->high) {
		if (!parse_number(value, o->low, o->high, &number))
			return usage_error(name,
					   "--%s takes a number from %" PRIu64 " to %" PRIu64
					   ", not '%s'",
					   o->name, o->low, o->high, value);
	} else if (o->value) {
		*(const char **)place = value;
		return STATUS_OK;
	}
	store(place, o->bytes, number);
	return STATUS_OK;
}

int command_options(const struct command *c, int argc, char **argv, void *job)
{
	struct getopt_table t = make_table(c);
	bool wants_help = false;

	for (int code; (code = getopt_long(argc, argv, t.letters, t.longs, NULL)) != -1;) {
		const char *arg = argv[optind - 1];
		uint32_t i = 0;

		if (code == ':')
			return usage_error(argv[0], "%s needs a value", arg);
		if (code == '?')
			return refuse_option(argv[0], t.longs, arg);
		wants_help |= code == 'h';
		if (code == 'h')
			continue;
		while (t.longs[i + 1].val != code)
			i++;
		int status = take_option(argv[0], &c->options[i], optarg, job);

		if (status != STATUS_OK)
			return status;
	}
	if (!wants_help)
		return STATUS_OK;
	command_help(c);
	return STATUS_HELP;
}
