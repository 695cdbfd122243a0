/* Inside of the reading of a configuration: the keys, and a device while it is being described.
 *
 * Values come from a file or from the environment and are read by the same functions, each of which
 * looks at one key only. What keys have to do with each other is checked at the end, with a place
 * for the sentence that says it: the line of the file, or the variable. */
#ifndef WEFT_CONFIG_INSIDE_H
#define WEFT_CONFIG_INSIDE_H

#include "config/config.h"

#define CONFIG_WINDOW_LEAST 4096u
#define CONFIG_WINDOW_MOST  (UINT64_C(1) << 30)
#define CONFIG_POOL_LEAST   (UINT64_C(1) << 20)
#define CONFIG_POOL_MOST    (UINT64_C(1) << 34)

enum config_key {
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
	KEY_WINDOW,
	KEY_RATE,
	KEY_EV,
	KEY_EV_COUNT,
	KEY_EV_MIN_ACTIVE,
	KEY_EV_BURST,
	KEY_POOL_MEMORY,
	KEY_STRANGER_RATE,
	CONFIG_KEYS,
};

/* A device that is being described. */
struct config_draft {
	struct config_device d;
	struct config_error *error;  /* where a sentence goes */
	uint32_t given;              /* a bit for each key */
	uint32_t lines[CONFIG_KEYS]; /* of those given; 0: by the environment */
	uint32_t line;               /* of its name */
};

/* What is wrong with a value, and what would be right: "give on or off". */
struct config_why {
	char at[CONFIG_WHY_MAX];
};

struct config_reader {
	const char *name;     /* in a file */
	const char *variable; /* in the environment; NULL: none */
	uint32_t needs;       /* enum transport_feature: means nothing to a transport without */
	/* false: *why says what is wrong. value is the reader's to cut up. */
	bool (*read)(struct config_setup *s, char *value, struct config_why *why);
};

extern const struct config_reader config_readers[CONFIG_KEYS];

/* The words of cc, by enum cc_kind, and of encodings; NULL behind the last. */
extern const char *const config_cc_names[];
extern const char *const config_encoding_names[];

/* Keeps what is wrong; returns false. */
bool config_wrong(struct config_why *why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Takes a number off the front of *at, decimal, or hexadecimal after 0x; false when there is none
 * or it is more than most. */
bool config_take_number(const char **at, uint64_t most, uint64_t *value);

/* ev.c: "auto", "auto:128", "structured:16:0xc000:0xff:0:255,16:0". */
bool config_read_ev(struct config_setup *s, char *value, struct config_why *why);
/* How many EVs there will be. */
uint32_t config_evs(const struct config_setup *s);

/* config_finish.c: fills in what was not given and checks the whole. file: for sentences, or NULL.
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
