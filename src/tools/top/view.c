/* A look of `weft top` as text. */
#include <inttypes.h>
#include <string.h>

#include "tools/amount.h"
#include "tools/text.h"
#include "tools/top/top.h"

#define NS_PS UINT64_C(1000)

enum tone { TONE_PLAIN, TONE_STRONG, TONE_GOOD, TONE_WARN, TONE_BAD, TONE_FAINT };

static const char *tone(const struct top_style *style, enum tone t)
{
	static const char *const codes[] = {"\033[0m",  "\033[1m",  "\033[32m",
					    "\033[33m", "\033[31m", "\033[2m"};

	return style->has_color ? codes[t] : "";
}

/* "12.345": Gb/s, cut; "-" at the first look. */
static struct amount gbps(const struct top_pair *pair, uint64_t bps)
{
	struct amount a = {"-"};

	if (pair->has_rate)
		snprintf(a.at, sizeof a.at, "%" PRIu64 ".%03u", bps / 1000000000u,
			 (unsigned)(bps / 1000000u % 1000));
	return a;
}

static void put_ports(const struct member_device *d, const struct top_style *style, FILE *out)
{
	for (uint32_t i = 0; i < d->n_ports && i < MEMBER_PORTS; i++) {
		bool is_up = d->ports_up >> i & 1;

		fprintf(out, " %u ", i + 1);
		text_put_safe(out, d->port[i]);
		fprintf(out, " %s%s%s", tone(style, is_up ? TONE_GOOD : TONE_BAD),
			is_up ? "up" : "DOWN", tone(style, TONE_PLAIN));
	}
}

static void put_process(const struct top_process *p, const struct top_style *style, FILE *out)
{
	const struct member_device *d = &p->device;

	fputs(tone(style, TONE_STRONG), out);
	text_put_safe(out, p->who.command);
	fprintf(out, "%s, process %d, user %u: ", tone(style, TONE_PLAIN), (int)p->who.pid,
		(unsigned)p->who.uid);
	if (p->is_hidden) {
		fputs(TOP_HIDDEN "\n", out);
		return;
	}
	fprintf(out, "%u queue pairs", d->n_pairs);
	if (d->n_pairs > p->n)
		fprintf(out, " (%u shown)", p->n);
	fputs(", driver ", out);
	text_put_safe(out, d->driver[0] ? d->driver : "-");
	fputs(", ports", out);
	put_ports(d, style, out);
	if (d->rx_dropped)
		fprintf(out, ", dropped %" PRIu64, d->rx_dropped);
	if (d->rx_missed)
		fprintf(out, ", missed %" PRIu64, d->rx_missed);
	fputc('\n', out);
}

static void put_heading(FILE *out)
{
	fputs("  QP        peer                   state  tx Gb/s  rx Gb/s     window  in flight"
	      "        srtt    retx  timeouts  good skip  bad denied\n",
	      out);
}

static void put_pair(const struct top_pair *pair, FILE *out)
{
	const struct member_pair *p = &pair->p;
	char peer[64];

	top_peer(p, peer);
	fprintf(out,
		"  0x%06x  %-21s  %-5s  %7s  %7s  %9s  %9s  %10s  %6" PRIu64 "  %8" PRIu64
		"  %4u %4u %4u %6u\n",
		p->number, peer, top_state_word(p->state), gbps(pair, pair->tx_bps).at,
		gbps(pair, pair->rx_bps).at, amount_bytes(p->window_bytes).at,
		amount_bytes(p->inflight_bytes).at,
		p->srtt_ns ? amount_time(p->srtt_ns * NS_PS).at : "-", p->retx_packets, p->timeouts,
		p->evs[TOP_GOOD], p->evs[TOP_SKIP], p->evs[TOP_BAD], p->evs[TOP_DENIED]);
}

/* The EVs of a port, a character each. */
static void put_evs(const struct top_pair *pair, uint32_t port, const struct top_style *style,
		    FILE *out)
{
	static const char letters[] = ".sXd";
	static const enum tone tones[TOP_EVS] = {TONE_GOOD, TONE_WARN, TONE_BAD, TONE_FAINT};
	uint32_t shown = top_evs_shown(&pair->p);
	enum top_ev before = TOP_EVS;
	uint32_t first = pair->first[port], end = pair->first[port + 1];

	if (first == end || first >= shown)
		return;
	fprintf(out, "    port %u%s ", port + 1, pair->p.open_ports >> port & 1 ? " " : "!");
	for (uint32_t i = first; i < end && i < shown; i++) {
		enum top_ev state = top_ev_state(&pair->p, i);

		if (state != before)
			fputs(tone(style, tones[state]), out);
		before = state;
		fputc(letters[state], out);
	}
	fprintf(out, "%s%s\n", tone(style, TONE_PLAIN), end > shown ? " ..." : "");
}

static void put_device(const struct top_device *d, const struct top_style *style, FILE *out)
{
	fprintf(out, "%s%s%s: %u process%s\n", tone(style, TONE_STRONG), d->name,
		tone(style, TONE_PLAIN), d->n, d->n == 1 ? "" : "es");
	for (uint32_t i = 0; i < d->n; i++) {
		const struct top_process *p = &d->list[i];

		put_process(p, style, out);
		if (p->n)
			put_heading(out);
		for (uint32_t k = 0; k < p->n; k++) {
			put_pair(&p->pairs[k], out);
			for (uint32_t port = 0; port < MEMBER_PORTS && !style->is_brief; port++)
				put_evs(&p->pairs[k], port, style, out);
		}
	}
}

void top_text(const struct top *t, const struct top_style *style, FILE *out)
{
	for (uint32_t i = 0; i < t->n; i++)
		put_device(&t->devices[i], style, out);
	if (!t->n)
		fputs("no device; weft devices shows what there is\n", out);
}
