/* A look of `weft top` on a terminal.
 *
 * What there is to show is a list of lines; as many as fit stand between the headings and the help,
 * from the first one that the user scrolled to. A line is cut at the right edge, never wrapped. */
#include <inttypes.h>
#include <ncurses.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/amount.h"
#include "tools/top/top.h"

#define NS_PS       UINT64_C(1000)
#define CELL_MAX    64u
#define LINE_MAX    512u
#define INDENT      1
#define PEER_LEAST  15
#define PEER_MOST   39
#define ROWS_AROUND 3 /* title, headings, help */
#define KEY_ESCAPE  27

enum tone { TONE_PLAIN, TONE_GOOD, TONE_WARN, TONE_BAD };

/* What a line is about: a device, a process of it, a queue pair, or the EVs of a port. */
struct line {
	const struct top_device *device;
	const struct top_process *process;
	const struct top_pair *pair;
	int port; /* -1: the pair itself */
};

struct top_screen {
	SCREEN *screen;
	bool has_color, is_brief;
	enum top_key by;
	uint32_t first; /* line at the top */
	struct line *lines;
	uint32_t n, room;
	uint32_t n_processes, n_pairs;
};

static const char *const key_names[TOP_KEYS] = {"rate", "QP", "peer", "retx", "srtt"};
static const char key_letters[TOP_KEYS + 1] = "rnpxt";

/* The columns, in the order in which they stand. The lower its rank, the sooner a column is there
 * when the screen widens. */
enum column {
	COLUMN_QP,
	COLUMN_PEER,
	COLUMN_STATE,
	COLUMN_TX,
	COLUMN_RX,
	COLUMN_WINDOW,
	COLUMN_FLIGHT,
	COLUMN_RTT,
	COLUMN_RETX,
	COLUMN_TIMEOUTS,
	COLUMN_GOOD,
	COLUMN_SKIP,
	COLUMN_BAD,
	COLUMN_DENIED,
	COLUMNS,
};

static const struct {
	const char *title;
	int width;
	uint32_t rank;
} columns[COLUMNS] = {
	{"QP", 8, 0},      {"peer", PEER_LEAST, 1}, {"state", 5, 2},       {"tx Gb/s", 7, 3},
	{"rx Gb/s", 7, 4}, {"window", 10, 7},       {"in flight", 10, 10}, {"srtt", 10, 6},
	{"retx", 6, 5},    {"timeouts", 8, 9},      {"good", 4, 11},       {"skip", 4, 12},
	{"bad", 4, 8},     {"denied", 6, 13},
};

struct top_screen *top_screen_open(const struct top_style *style)
{
	struct top_screen *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->screen = newterm(NULL, stdout, stdin);
	if (!s->screen) {
		free(s);
		return NULL;
	}
	s->is_brief = style->is_brief;
	s->has_color = style->has_color && has_colors() && start_color() == OK;
	if (s->has_color) {
		use_default_colors();
		init_pair(TONE_GOOD, COLOR_GREEN, -1);
		init_pair(TONE_WARN, COLOR_YELLOW, -1);
		init_pair(TONE_BAD, COLOR_RED, -1);
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	return s;
}

void top_screen_close(struct top_screen *s)
{
	if (!s)
		return;
	endwin();
	delscreen(s->screen);
	free(s->lines);
	free(s);
}

static int tone(const struct top_screen *s, enum tone t)
{
	return s->has_color ? (int)COLOR_PAIR(t) : t == TONE_BAD ? (int)A_BOLD : (int)A_NORMAL;
}

/* Writes at the cursor, as far as the row goes; what other users' processes call themselves cannot
 * act on the terminal. */
__attribute__((format(printf, 2, 3))) static void put(int attributes, const char *format, ...)
{
	char text[LINE_MAX];
	va_list args;
	int room = COLS - getcurx(stdscr);

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	for (char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	attron(attributes);
	/* The last place of a row stays free: a cursor behind it would be in the next one. */
	if (room > 1)
		addnstr(text, room - 1);
	attroff(attributes);
}

/* Which columns there is room for, and how wide that of the peer is. */
static uint32_t choose(int *peer_width)
{
	uint32_t chosen = 0;
	int left = COLS - 1 - INDENT;

	for (uint32_t rank = 0; rank < COLUMNS; rank++)
		for (uint32_t i = 0; i < COLUMNS; i++) {
			if (columns[i].rank != rank)
				continue;
			if (columns[i].width + 1 > left)
				rank = COLUMNS;
			else
				chosen |= 1u << i;
			left -= columns[i].width + 1;
			break;
		}
	*peer_width = PEER_LEAST;
	if (chosen == (1u << COLUMNS) - 1 && left > 0)
		*peer_width += left < PEER_MOST - PEER_LEAST ? left : PEER_MOST - PEER_LEAST;
	return chosen;
}

static void write_rate(const struct top_pair *pair, uint64_t bps, char text[CELL_MAX])
{
	if (pair->has_rate)
		snprintf(text, CELL_MAX, "%" PRIu64 ".%03u", bps / 1000000000u,
			 (unsigned)(bps / 1000000u % 1000));
	else
		snprintf(text, CELL_MAX, "-");
}

static void write_cell(const struct top_pair *pair, enum column c, char text[CELL_MAX])
{
	const struct member_pair *p = &pair->p;

	switch (c) {
	case COLUMN_QP: snprintf(text, CELL_MAX, "0x%06x", p->number); break;
	case COLUMN_PEER: top_peer(p, text); break;
	case COLUMN_STATE: snprintf(text, CELL_MAX, "%s", top_state_word(p->state)); break;
	case COLUMN_TX: write_rate(pair, pair->tx_bps, text); break;
	case COLUMN_RX: write_rate(pair, pair->rx_bps, text); break;
	case COLUMN_WINDOW:
		snprintf(text, CELL_MAX, "%s",
			 p->window_bytes ? amount_bytes(p->window_bytes).at : "-");
		break;
	case COLUMN_FLIGHT:
		snprintf(text, CELL_MAX, "%s", amount_bytes(p->inflight_bytes).at);
		break;
	case COLUMN_RTT:
		snprintf(text, CELL_MAX, "%s",
			 p->srtt_ns ? amount_time(p->srtt_ns * NS_PS).at : "-");
		break;
	case COLUMN_RETX: snprintf(text, CELL_MAX, "%" PRIu64, p->retx_packets); break;
	case COLUMN_TIMEOUTS: snprintf(text, CELL_MAX, "%" PRIu64, p->timeouts); break;
	default:
		if (p->n_evs)
			snprintf(text, CELL_MAX, "%u", p->evs[TOP_GOOD + (c - COLUMN_GOOD)]);
		else
			snprintf(text, CELL_MAX, "-");
		break;
	}
}

static bool is_left(uint32_t column)
{
	return column <= COLUMN_STATE;
}

/* The row of a queue pair, or without one the headings. */
static void put_columns(const struct top_pair *pair, int attributes)
{
	int peer_width;
	uint32_t chosen = choose(&peer_width);
	char cell[CELL_MAX];

	put(attributes, "%*s", INDENT, "");
	for (uint32_t i = 0; i < COLUMNS; i++) {
		int width = i == COLUMN_PEER ? peer_width : columns[i].width;

		if (!(chosen >> i & 1))
			continue;
		if (pair)
			write_cell(pair, (enum column)i, cell);
		else
			snprintf(cell, sizeof cell, "%s", columns[i].title);
		/* What does not fit would shift all behind it. */
		if ((int)strlen(cell) > width)
			memcpy(cell + width - 1, "~", 2);
		put(attributes, "%*s ", is_left(i) ? -width : width, cell);
	}
}

static void put_evs(const struct top_screen *s, const struct line *line)
{
	static const char letters[] = ".sXd";
	static const enum tone tones[TOP_EVS] = {TONE_GOOD, TONE_WARN, TONE_BAD, TONE_PLAIN};
	const struct top_pair *pair = line->pair;
	uint32_t port = (uint32_t)line->port, shown = top_evs_shown(&pair->p);
	bool is_open = pair->p.open_ports >> port & 1;

	put(tone(s, is_open ? TONE_PLAIN : TONE_BAD), "    port %u%s ", port + 1,
	    is_open ? " " : "!");
	for (uint32_t i = pair->first[port]; i < pair->first[port + 1] && i < shown; i++) {
		enum top_ev state = top_ev_state(&pair->p, i);

		put(tone(s, tones[state]), "%c", letters[state]);
	}
	if (pair->first[port + 1] > shown)
		put(A_NORMAL, " ...");
}

static void put_process(const struct top_screen *s, const struct top_process *p)
{
	const struct member_device *d = &p->device;

	put(A_BOLD, "%.*s", (int)sizeof p->who.command, p->who.command);
	put(A_NORMAL, " %d, user %u: ", (int)p->who.pid, (unsigned)p->who.uid);
	if (p->is_hidden) {
		put(A_NORMAL, TOP_HIDDEN);
		return;
	}
	put(A_NORMAL, "%u QPs, %.*s", d->n_pairs, (int)sizeof d->driver,
	    d->driver[0] ? d->driver : "-");
	if (d->n_pairs > p->n)
		put(A_NORMAL, ", %u shown", p->n);
	for (uint32_t i = 0; i < d->n_ports && i < MEMBER_PORTS; i++) {
		bool is_up = d->ports_up >> i & 1;

		put(A_NORMAL, "%s%.*s ", i ? " " : ", ", (int)sizeof d->port[i], d->port[i]);
		put(tone(s, is_up ? TONE_GOOD : TONE_BAD), "%s", is_up ? "up" : "DOWN");
	}
	if (d->rx_dropped)
		put(A_NORMAL, ", dropped %" PRIu64, d->rx_dropped);
	if (d->rx_missed)
		put(A_NORMAL, ", missed %" PRIu64, d->rx_missed);
}

static void put_line(const struct top_screen *s, const struct line *line)
{
	if (line->port >= 0)
		put_evs(s, line);
	else if (line->pair)
		put_columns(line->pair, A_NORMAL);
	else if (line->process)
		put_process(s, line->process);
	else
		put(A_BOLD, "%s: %u process%s", line->device->name, line->device->n,
		    line->device->n == 1 ? "" : "es");
}

/* False without memory: the list then ends there. */
static bool add(struct top_screen *s, struct line line)
{
	if (s->n == s->room) {
		uint32_t room = s->room ? 2 * s->room : 64;
		struct line *more = realloc(s->lines, room * sizeof *more);

		if (!more)
			return false;
		s->lines = more;
		s->room = room;
	}
	s->lines[s->n++] = line;
	return true;
}

static void list_process(struct top_screen *s, const struct top_device *d,
			 const struct top_process *p)
{
	bool has_room = add(s, (struct line){d, p, NULL, -1});

	s->n_processes++;
	s->n_pairs += p->device.n_pairs;
	for (uint32_t i = 0; i < p->n && has_room; i++) {
		const struct top_pair *pair = &p->pairs[i];

		has_room = add(s, (struct line){d, p, pair, -1});
		for (int port = 0; port < (int)MEMBER_PORTS && !s->is_brief && has_room; port++)
			if (pair->first[port] < pair->first[port + 1] &&
			    pair->first[port] < top_evs_shown(&pair->p))
				has_room = add(s, (struct line){d, p, pair, port});
	}
}

static uint32_t rows_between(void)
{
	return LINES > ROWS_AROUND ? (uint32_t)(LINES - ROWS_AROUND) : 1;
}

static uint32_t last_first(const struct top_screen *s)
{
	return s->n > rows_between() ? s->n - rows_between() : 0;
}

static void put_help(const struct top_screen *s)
{
	uint32_t end = s->first + rows_between();

	move(LINES - 1, 0);
	put(A_REVERSE, "%u-%u of %u  q quit  s sort: %s (%s)  w EVs  arrows PgUp PgDn",
	    s->n ? s->first + 1 : 0, end < s->n ? end : s->n, s->n, key_names[s->by], key_letters);
}

void top_screen_draw(struct top_screen *s, struct top *t)
{
	top_sort(t, s->by);
	s->n = s->n_processes = s->n_pairs = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct top_device *d = &t->devices[i];

		if (!add(s, (struct line){d, NULL, NULL, -1}))
			break;
		for (uint32_t k = 0; k < d->n; k++)
			list_process(s, d, &d->list[k]);
	}
	if (s->first > last_first(s))
		s->first = last_first(s);
	erase();
	move(0, 0);
	put(A_BOLD, "weft top");
	put(A_NORMAL, "  %u device%s, %u process%s, %u queue pair%s", t->n, t->n == 1 ? "" : "s",
	    s->n_processes, s->n_processes == 1 ? "" : "es", s->n_pairs,
	    s->n_pairs == 1 ? "" : "s");
	move(1, 0);
	put_columns(NULL, A_UNDERLINE);
	for (uint32_t i = 0; i < rows_between() && s->first + i < s->n; i++) {
		move(2 + (int)i, 0);
		put_line(s, &s->lines[s->first + i]);
	}
	if (!t->n) {
		move(2, 0);
		put(A_NORMAL, "no device; weft devices shows what there is");
	}
	put_help(s);
	refresh();
}

static void scroll_by(struct top_screen *s, int64_t by)
{
	int64_t to = (int64_t)s->first + by;

	s->first = to < 0 ? 0 : to > last_first(s) ? last_first(s) : (uint32_t)to;
}

/* False for the key that ends it. */
static bool act(struct top_screen *s, int key)
{
	const char *letter = key > 0 && key < 128 ? strchr(key_letters, key) : NULL;

	if (letter) {
		s->by = (enum top_key)(letter - key_letters);
		return true;
	}
	switch (key) {
	case 'q':
	case 'Q':
	case KEY_ESCAPE: return false;
	case 's': s->by = (enum top_key)((s->by + 1) % TOP_KEYS); break;
	case 'w': s->is_brief = !s->is_brief; break;
	case KEY_UP: scroll_by(s, -1); break;
	case KEY_DOWN: scroll_by(s, 1); break;
	case KEY_PPAGE: scroll_by(s, -(int64_t)rows_between()); break;
	case KEY_NPAGE: scroll_by(s, rows_between()); break;
	case KEY_HOME: s->first = 0; break;
	case KEY_END: s->first = last_first(s); break;
	default: break; /* KEY_RESIZE: to be drawn anew is all it asks for */
	}
	return true;
}

bool top_screen_keys(struct top_screen *s, struct top *t)
{
	bool has_changed = false;

	for (int key; (key = getch()) != ERR; has_changed = true)
		if (!act(s, key))
			return false;
	if (has_changed)
		top_screen_draw(s, t);
	return true;
}
