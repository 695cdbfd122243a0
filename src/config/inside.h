/* Inside of the reading of a configuration: the keys, and a device while it is being described.
 *
 * Values come from a file or from the environment and are read by the same functions, each of which
 * looks at one key only. What keys have to do with each other is checked at the end, with a place
 * for the sentence that says it: the line of the file, or the variable. */
#ifndef WEFT_CONFIG_INSIDE_H
#define WEFT_CONFIG_INSIDE_H

#include "config/config.h"

#define CONFIG_SEPARATORS   " \t,+"
#define CONFIG_DSCP_MOST    63u
#define CONFIG_WINDOW_LEAST 4096u
#define CONFIG_WINDOW_MOST  (UINT64_C(1) << 30)
#define CONFIG_KEYS_MAX     64u /* those of rows among them */

/* Keys by number: these, and from CONFIG_KEYS on those that rows of transports bring. */
enum config_number {
	KEY_TRANSPORT,
	KEY_DRIVER,
	KEY_PORTS,
	KEY_ADDRESSES,
	KEY_DSCP_DATA,
	KEY_DSCP_RETRANSMIT,
	KEY_DSCP_NO_TRIM,
	KEY_DSCP_CONTROL,
	KEY_SERVICE_LEVELS,
	KEY_ECN,
	KEY_TRIM,
	KEY_CC,
	KEY_CNP_PORT,
	KEY_TRACE,
	KEY_WINDOW,
	KEY_RATE,
	KEY_EV,
	KEY_EV_COUNT,
	KEY_EV_MIN_ACTIVE,
	KEY_EV_BURST,
	CONFIG_KEYS,
};

/* What is wrong with a value, and what would be right: "give on or off". */
struct config_why {
	char at[CONFIG_WHY_MAX];
};

/* Text in memory that may be too small: what does not fit is only counted. */
struct config_page {
	char *at;
	size_t room, len;
};

struct config_key {
	struct setting setting; /* its place is in struct config_setup */
	const char *variable;   /* in the environment; NULL: none */
	uint32_t needs;         /* enum transport_feature: means nothing to a transport without */
	const struct transport_key *of_row; /* NULL: it is no row's */
	bool is_always; /* is printed whatever it is; else 0 is what was not said, and is not */
	/* For values that are more than one setting; NULL: it is one. false: *why says what is
	 * wrong. value is the reader's to cut up. Who prints nothing has nothing to say. */
	bool (*read)(struct config_setup *s, char *value, struct config_why *why);
	void (*print)(const struct config_setup *s, struct config_page *page);
};

/* A device that is being described. */
struct config_draft {
	struct config_device d;
	struct config_error *error;      /* where a sentence goes */
	uint64_t given;                  /* a bit for each key */
	uint32_t lines[CONFIG_KEYS_MAX]; /* of those given; 0: by the environment */
	uint32_t line;                   /* of its name */
};

/* values.c: keeps what is wrong; returns false. */
bool config_wrong(struct config_why *why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Takes a number off the front of *at, decimal, or hexadecimal after 0x; false when there is none
 * or it is more than most. */
bool config_take_number(const char **at, uint64_t most, uint64_t *value);
/* The whole of text is such a number, in a range. */
bool config_read_number(const char *text, uint64_t low, uint64_t high, uint64_t *value,
			struct config_why *why);
/* The place of a word among some, of which the last is NULL. */
bool config_read_word(const char *value, const char *const *words, uint64_t *number,
		      struct config_why *why);
/* Any setting but a fraction. */
bool config_read_setting(const struct setting *k, const char *text, void *to,
			 struct config_why *why);
void config_print_setting(const struct setting *k, const void *from, struct config_page *page);
void config_add(struct config_page *page, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ports.c, dscp.c and ev.c: see struct config_key. "auto", "auto:128",
 * "structured:16:0xc000:0xff:0:255,16:0". */
bool config_read_ports(struct config_setup *s, char *value, struct config_why *why);
void config_print_ports(const struct config_setup *s, struct config_page *page);
bool config_read_addresses(struct config_setup *s, char *value, struct config_why *why);
void config_print_addresses(const struct config_setup *s, struct config_page *page);
bool config_read_service_levels(struct config_setup *s, char *value, struct config_why *why);
void config_print_service_levels(const struct config_setup *s, struct config_page *page);
bool config_read_trim(struct config_setup *s, char *value, struct config_why *why);
void config_print_trim(const struct config_setup *s, struct config_page *page);
bool config_read_ev(struct config_setup *s, char *value, struct config_why *why);
void config_print_ev(const struct config_setup *s, struct config_page *page);
bool config_read_ev_count(struct config_setup *s, char *value, struct config_why *why);
/* How many EVs there will be. */
uint32_t config_evs(const struct config_setup *s);

/* keys.c: the words of cc, by enum cc_kind; NULL behind the last. */
extern const char *const config_cc_names[];
/* The key of a number; false: there are not so many. */
bool config_key(uint32_t number, struct config_key *key);
/* Whether it means something to a transport. */
bool config_key_suits(const struct config_key *key, const struct transport *t);
bool config_read_value(const struct config_key *key, struct config_setup *s, char *value,
		       struct config_why *why);
void config_print_value(const struct config_key *key, const struct config_setup *s,
			struct config_page *page);

/* finish.c: fills in what was not given and checks the whole. file: for sentences, or NULL.
 * 0 or -EINVAL. */
int config_finish(struct config_draft *draft, const char *file);
/* Gives the draft what the environment says and its transport can use; 0 or -EINVAL. */
int config_environment(struct config_draft *draft);

/* Says the sentence "file:line: ...", of a long path the end; line 0: of the file. Returns -EINVAL.
 */
int config_fail_at(struct config_error *error, const char *file, uint32_t line, const char *format,
		   ...) __attribute__((format(printf, 4, 5)));
/* Says a sentence; returns -number. */
int config_fail(struct config_error *error, int number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The last part of a file's name that a sentence has room for. */
const char *config_tail(const char *file);

#endif
