/* The commands of `weft`, and what they share: options, exit statuses and the way errors are said.
 * main.c holds the list of commands and calls them.
 *
 * A command describes its options in one table, which is both what its command line is read by and
 * what `weft help` prints. */
#ifndef WEFT_TOOLS_COMMAND_H
#define WEFT_TOOLS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Documented in weft(1) and the page of each command; scripts rely on them. The worst of several is
 * the largest. */
enum {
	STATUS_HELP = -1, /* of command_options: the help was asked for and printed */
	STATUS_OK = 0,
	STATUS_MALFORMED = 1, /* at least one packet that is malformed, or breaks a rule */
	STATUS_USAGE = 2,
	STATUS_FILE = 3, /* a file cannot be read or written, or is not what it should be */
};

/* An option. Its value is
 *	without `value`  none: its place becomes 1, or true
 *	with `read`      what that function makes of it, which also says what is wrong
 *	with `words`     one of them: its place becomes the number of the word, from 0
 *	with `high`      a number in [low, high]: its place is an unsigned integer of any width
 *	else             any text: its place is a const char *, which then points into argv */
struct command_option {
	const char *name;   /* after two dashes; NULL ends a table */
	const char *value;  /* what the help calls the value */
	const char *help;   /* a line, or more with \n between them */
	uint32_t at, bytes; /* its place, see OPTION_INTO; none: the value is only checked */
	char letter;        /* another name, after one dash; 0: none */
	uint64_t low, high;
	const char *const *words;            /* NULL behind the last */
	int (*read)(void *job, char *value); /* returns a status */
};

/* The place of an option: a member of the `struct job` that the command's file has for its own. */
#define OPTION_INTO(member) \
	.at = offsetof(struct job, member), .bytes = sizeof(((struct job *)NULL)->member)

struct command {
	const char *name;
	const char *brief; /* one line for `weft help` */
	/* `weft help NAME` is usage, a line for each option, and notes: each but the first may be
	 * missing, and ends with \n. */
	const char *usage;
	const struct command_option *options;
	const char *notes;
	int (*run)(int argc, char **argv); /* argv[0] is "weft NAME"; returns a status */
	bool is_prefix; /* what follows the first argument that is no option is not ours */
};

extern const struct command ctl_command;
extern const struct command decode_command;
extern const struct command demo_command;
extern const struct command devices_command;
extern const struct command perf_command;
extern const struct command ping_command;
extern const struct command run_command;
extern const struct command sim_command;
extern const struct command top_command;

/* Prints all of `weft help NAME`. */
void command_help(const struct command *c);

/* Reads the options of a command line into job; optind then stands on the first argument that is
 * none. -h and --help are options of every command. STATUS_OK, STATUS_HELP, or STATUS_USAGE after
 * saying what is wrong. */
int command_options(const struct command *c, int argc, char **argv, void *job);

/* Says on standard error what is wrong with the command line and how to get help. Returns
 * STATUS_USAGE. */
__attribute__((format(printf, 2, 3))) int usage_error(const char *name, const char *format, ...);

/* Says on standard error why something failed, after what standard output still holds: both may
 * share a terminal. what, if not NULL, is the file or program that it is about. Returns status. */
int command_error(const char *name, int status, const char *what, const char *why);

/* The same of a lack of memory. */
static inline int memory_error(const char *name)
{
	command_error(name, STATUS_FILE, NULL, "out of memory");
	return STATUS_FILE;
}

/* True when standard output is gone or full: there is nobody to print for. To be asked right after
 * printing, while errno still says why. */
bool is_output_broken(void);

/* Writes out what stdout still holds. STATUS_OK also when the reader went away, which is its
 * right; else says what failed and returns STATUS_FILE. */
int finish_output(const char *name);

/* Reads all of text as a number in [low, high], decimal, or hexadecimal after 0x; false when it is
 * anything else. A leading zero means nothing: nobody writes a DSCP in octal. */
bool parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value);

#endif
