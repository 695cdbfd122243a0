/* The commands of `weft`, and what they share: exit statuses and the way errors are said. main.c
 * holds the list of commands and calls them. */
#ifndef WEFT_TOOLS_COMMAND_H
#define WEFT_TOOLS_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

/* Documented in weft(1); scripts rely on them. The worst of several is the largest. */
enum {
	STATUS_OK = 0,
	STATUS_MALFORMED = 1, /* at least one malformed packet */
	STATUS_USAGE = 2,
	STATUS_FILE = 3, /* a file cannot be read or written, or is not what it should be */
};

struct command {
	const char *name;
	const char *brief;                 /* one line for `weft help` */
	const char *help;                  /* all of `weft help NAME` */
	int (*run)(int argc, char **argv); /* argv[0] is "weft NAME"; returns a status */
};

extern const struct command decode_command;
extern const struct command perf_command;
extern const struct command run_command;
extern const struct command sim_command;

/* Says on standard error what is wrong with the command line and how to get help. Returns
 * STATUS_USAGE. */
__attribute__((format(printf, 2, 3))) int usage_error(const char *name, const char *format, ...);

struct option;

/* Says the same of an option that getopt_long refused: what getopt would say itself, but with the
 * control characters of the argument made harmless, as it may be the name of a file that somebody
 * else chose. arg is the argument that was read last. */
int usage_bad_option(const char *name, const struct option *options, const char *arg);

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
