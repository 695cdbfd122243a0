/* `weft top`: how the queue pairs of all processes on devices fare, look by look.
 *
 * Processes show themselves (control/member.h); this only reads. Rates come from two looks, by the
 * times that the process itself gives. */
#ifndef WEFT_TOOLS_TOP_TOP_H
#define WEFT_TOOLS_TOP_TOP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/nsec.h"
#include "control/members.h"
#include "control/store.h"
#include "transport/transport.h"

/* States of an EV, in the order of struct member_pair. */
enum top_ev { TOP_GOOD, TOP_SKIP, TOP_BAD, TOP_DENIED, TOP_EVS };

struct top_pair {
	struct member_pair p;
	bool has_rate; /* it was there at the look before */
	uint64_t tx_bps, rx_bps;
	uint64_t retx; /* packets retransmitted since then */
	/* EVs stand port by port: those of port i are first[i] .. first[i + 1] - 1. */
	uint16_t first[MEMBER_PORTS + 1];
};

struct top_process {
	struct member_who who;
	bool is_hidden; /* of another user: this one is not shown its queue pairs */
	struct member_device device;
	uint32_t n;
	struct top_pair *pairs; /* the busiest first */
};

struct top_device {
	char name[64];
	const struct transport *transport;
	bool is_governed; /* by a controller, whose profiles say what the EVs are */
	char store[STORE_NAME_MAX];
	struct members *members;
	uint32_t n;
	struct top_process *list;
};

struct top {
	uint32_t n;
	struct top_device *devices;
};

/* What queue pairs of a process are sorted by: the busiest, lowest number, lowest peer, most
 * packets retransmitted, longest round trip first. */
enum top_key { TOP_BY_RATE, TOP_BY_NUMBER, TOP_BY_PEER, TOP_BY_RETX, TOP_BY_RTT, TOP_KEYS };
void top_sort(struct top *t, enum top_key by);

/* Finds the processes that are there now. What they tell controllers is taken and forgotten: until
 * then one that has ended stays. 0 or a negative errno. */
int top_find(struct members *m);
/* Looks at the devices once more; now is that of CLOCK_MONOTONIC. 0 or a negative errno. */
int top_look(struct top *t, nsec now);
/* Ends what top_look and members_open made. */
void top_fini(struct top *t);

/* State of EV i < n_evs of a pair that shows it (i < MEMBER_EVS). */
enum top_ev top_ev_state(const struct member_pair *p, uint32_t i);
/* How many of its EVs a pair shows. */
uint32_t top_evs_shown(const struct member_pair *p);
/* "RTS" and so on. */
const char *top_state_word(uint8_t state);
/* The peer's address as text. */
void top_peer(const struct member_pair *p, char text[64]);

/* What stands in place of the queue pairs of a hidden process. */
#define TOP_HIDDEN "of another user; run weft top as root, or as that user, to see its queue pairs"

/* Writes a look: lines of text, or a line of JSON. */
struct top_style {
	bool has_color, is_brief;
};
void top_text(const struct top *t, const struct top_style *style, FILE *out);
void top_json(const struct top *t, FILE *out);

/* Writes what the engines of processes recorded, as it comes: lines of text, or of JSON. */
struct top_events {
	bool has_json;
	bool is_once;         /* all there is, and no more */
	uint32_t qp;          /* of this queue pair alone; 0: of all */
	uint64_t count;       /* ends after so many; 0: when the user says so */
	uint32_t interval_ms; /* between two looks */
};
/* 0 or a negative errno. */
int top_events(struct top *t, const struct top_events *wanted, FILE *out);

/* The view on a terminal, by ncurses: columns as the width has room for, lines that scroll, and a
 * line of help. NULL where the terminal is of an unknown kind. The terminal is as it was after
 * top_screen_close. */
struct top_screen;
struct top_screen *top_screen_open(const struct top_style *style);
void top_screen_close(struct top_screen *s);
void top_screen_draw(struct top_screen *s, struct top *t);
/* Does what the keys pressed so far ask for, a new size included; false: to end. */
bool top_screen_keys(struct top_screen *s, struct top *t);

#endif
