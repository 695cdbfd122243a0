#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/amount.h"
#include "tools/demo/demo.h"
#include "tools/stats.h"

#define PANEL_EVENTS 9u
#define BAR_CHARS    40u

enum tone_kind { TONE_NONE, TONE_BOLD, TONE_RED, TONE_GREEN };

static const char *tone(const struct demo_view *v, enum tone_kind kind)
{
	static const char *const codes[] = {"\033[0m", "\033[1m", "\033[31m", "\033[32m"};

	return v->has_color ? codes[kind] : "";
}

/* "331.2": Gb/s with one decimal, cut. */
static struct amount gbps(uint64_t bps)
{
	struct amount a;

	snprintf(a.at, sizeof a.at, "%" PRIu64 ".%u", bps / 1000000000u,
		 (unsigned)(bps / 100000000u % 10));
	return a;
}

/* "0.402": milliseconds. */
static struct amount millis(psec time)
{
	struct amount a;

	snprintf(a.at, sizeof a.at, "%" PRIu64 ".%03u", time / PSEC_MS,
		 (unsigned)(time / PSEC_US % 1000));
	return a;
}

static void put_title(const struct demo_view *v, const struct demo *d)
{
	printf("%sweft demo: 128 MiB over 8 planes of 50 Gb/s, two tiers, SRv6 uSID%s (seed "
	       "%" PRIu64 ")\n",
	       tone(v, TONE_BOLD), tone(v, TONE_NONE), d->seed);
	printf("MRC     one queue pair, NSCC, sprays over 128 EVs\n"
	       "RC      one queue pair, DCQCN, on its one path, by plane %u\n"
	       "RC x8   eight queue pairs, DCQCN, 16 MiB each, one by each plane\n\n",
	       d->place.plane);
}

static void put_heading(void)
{
	printf("            Gb/s                           MRC: EVs            MRC: kB"
	       "      packets retransmitted\n"
	       " time/ms     MRC  (ideal)     RC   RC x8   good  skip   bad  window  flight"
	       "     MRC      RC   RC x8\n");
}

static void put_slice(const struct demo_row *r)
{
	const struct mrc_progress *p = &r->progress;

	printf("%8s  %6s  %7s %6s  %6s  %5u %5u %5u  %6" PRIu64 "  %6" PRIu64 "  %6" PRIu64
	       "  %6" PRIu64 "  %6" PRIu64 "\n",
	       millis(r->at_ps).at, gbps(r->bps[DEMO_MRC]).at, gbps(r->ideal_bps[DEMO_MRC]).at,
	       gbps(r->bps[DEMO_RC]).at, gbps(r->bps[DEMO_RC8]).at, p->evs[PATH_GOOD],
	       p->evs[PATH_SKIP], p->evs[PATH_ASSUMED_BAD], p->window_bytes / 1000,
	       p->inflight_bytes / 1000, r->retx[DEMO_MRC], r->retx[DEMO_RC], r->retx[DEMO_RC8]);
}

static void put_event(const struct demo_view *v, const struct demo_event *e)
{
	printf("%8s  %s%s%s", millis(e->at_ps).at, tone(v, TONE_BOLD), e->text, tone(v, TONE_NONE));
}

/* Every line of the panel ends here: what stood in the line before is wiped. */
static void end_line(struct demo_view *v)
{
	fputs("\033[K\n", stdout);
	v->n_lines++;
}

static void put_bar(struct demo_view *v, const struct demo *d, const struct demo_row *r,
		    uint32_t which)
{
	uint64_t full_bps = d->sides[DEMO_MRC].plane_bps * DEMO_PLANES;
	uint64_t bps = r->bps[which];
	uint32_t n = (uint32_t)stats_scale(bps, BAR_CHARS, full_bps);
	bool is_still = bps == 0;

	printf("  %-5s %s[", d->sides[which].name, tone(v, is_still ? TONE_RED : TONE_GREEN));
	for (uint32_t i = 0; i < BAR_CHARS; i++)
		putchar(i < n ? '#' : ' ');
	printf("]%s %6s of %6s Gb/s", tone(v, TONE_NONE), gbps(bps).at,
	       gbps(r->ideal_bps[which]).at);
	end_line(v);
}

static void put_state(struct demo_view *v, const struct demo *d, const struct demo_row *r)
{
	const struct mrc_progress *p = &r->progress;

	printf("  planes     ");
	for (uint32_t i = 0; i < DEMO_PLANES; i++) {
		bool is_up = r->planes_up >> i & 1, is_used = p->open_ports >> i & 1;

		printf(" %s%u%s%s", tone(v, is_up && is_used ? TONE_GREEN : TONE_RED), i,
		       !is_up    ? " lost"
		       : is_used ? ""
				 : " unused",
		       tone(v, TONE_NONE));
	}
	end_line(v);
	printf("  EVs         %u good, %u skip, %u assumed bad, %u denied", p->evs[PATH_GOOD],
	       p->evs[PATH_SKIP], p->evs[PATH_ASSUMED_BAD], p->evs[PATH_DENIED]);
	end_line(v);
	printf("  window      %s, in flight %s", amount_bytes(p->window_bytes).at,
	       amount_bytes(p->inflight_bytes).at);
	end_line(v);
	printf("  round trip  %s", amount_time(p->srtt_ns * PSEC_NS).at);
	end_line(v);
	printf("  retx       ");
	for (uint32_t i = 0; i < DEMO_SIDES; i++)
		printf("%s %s %" PRIu64, i ? "," : "", d->sides[i].name, r->retx[i]);
	end_line(v);
	printf("  delivered  ");
	for (uint32_t i = 0; i < DEMO_SIDES; i++)
		printf("%s %s %s", i ? "," : "", d->sides[i].name,
		       amount_bytes(d->sides[i].bytes).at);
	end_line(v);
}

static void put_panel(struct demo_view *v, const struct demo *d)
{
	const struct demo_row r = demo_now(d);

	if (v->n_lines)
		printf("\033[%uA\r", v->n_lines);
	v->n_lines = 0;
	printf("  %stime        %s ms%s, %u %% of %s", tone(v, TONE_BOLD), millis(r.at_ps).at,
	       tone(v, TONE_NONE), (unsigned)stats_scale(d->sides[DEMO_MRC].bytes, 100, DEMO_BYTES),
	       amount_bytes(DEMO_BYTES).at);
	end_line(v);
	end_line(v);
	for (uint32_t i = 0; i < DEMO_SIDES; i++)
		put_bar(v, d, &r, i);
	end_line(v);
	put_state(v, d, &r);
	end_line(v);
	for (uint32_t i = 0; i < PANEL_EVENTS; i++) {
		uint32_t first = d->n_events > PANEL_EVENTS ? d->n_events - PANEL_EVENTS : 0;

		if (first + i < d->n_events)
			put_event(v, &d->events[first + i]);
		end_line(v);
	}
	fflush(stdout);
}

void demo_view_begin(struct demo_view *v, const struct demo *d)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool is_dumb = !term || strcmp(term, "dumb") == 0;

	*v = (struct demo_view){.is_panel = isatty(STDOUT_FILENO) && !is_dumb};
	v->has_color = v->is_panel && !(no_color && no_color[0]);
	put_title(v, d);
	if (!v->is_panel)
		put_heading();
}

void demo_view_show(struct demo_view *v, const struct demo *d)
{
	if (v->is_panel) {
		put_panel(v, d);
		return;
	}
	for (; v->n_events < d->n_events; v->n_events++) {
		put_event(v, &d->events[v->n_events]);
		putchar('\n');
	}
	for (; v->n_slices < d->n_slices; v->n_slices++)
		put_slice(&d->slices[v->n_slices]);
}

/* The least goodput of any slice while the flow was running. */
static uint64_t least_bps(const struct demo *d, uint32_t which)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < d->n_slices; i++)
		if (d->slices[i].bps[which] < least)
			least = d->slices[i].bps[which];
	return d->n_slices ? least : 0;
}

/* What is told of a side at the end. */
enum cell {
	CELL_NAME,
	CELL_QPS,
	CELL_DELIVERED,
	CELL_GOODPUT,
	CELL_SHARE,
	CELL_WORST,
	CELL_STILL,
	CELL_RETX,
	CELL_FAILED,
	CELL_HASHED,
	CELL_VERIFIED,
	CELL_COUNT,
};

static struct amount words(const char *text)
{
	struct amount a;

	snprintf(a.at, sizeof a.at, "%s", text);
	return a;
}

static struct amount cell_of(const struct demo *d, uint32_t which, enum cell cell)
{
	const struct demo_side *side = &d->sides[which];
	struct amount a;

	switch (cell) {
	case CELL_NAME: return words(side->name);
	case CELL_QPS:
		snprintf(a.at, sizeof a.at, "%u of %u", demo_done(side), side->n_qps);
		return a;
	case CELL_DELIVERED: return amount_bytes(side->bytes);
	case CELL_GOODPUT: return amount_rate(stats_scale(side->bytes, 8 * PSEC_S, d->now_ps));
	case CELL_SHARE:
		snprintf(a.at, sizeof a.at, "%u %%",
			 (unsigned)stats_scale(side->bytes, 100, side->ideal_bytes));
		return a;
	case CELL_WORST: return amount_rate(least_bps(d, which));
	case CELL_STILL: return amount_time(side->longest_ps);
	case CELL_RETX: snprintf(a.at, sizeof a.at, "%" PRIu64, demo_now(d).retx[which]); return a;
	case CELL_FAILED: return words(side->is_failed ? "failed" : "none");
	case CELL_HASHED: return amount_bytes(d->hashed[which]);
	default: return words(d->is_verified[which] ? "yes" : "NO");
	}
}

static void put_summary(const struct demo *d)
{
	static const char *const whats[CELL_COUNT] = {
		[CELL_NAME] = "",
		[CELL_QPS] = "queue pairs that are done",
		[CELL_DELIVERED] = "payload delivered",
		[CELL_GOODPUT] = "goodput, mean",
		[CELL_SHARE] = "of the ideal of these paths",
		[CELL_WORST] = "goodput, the worst 100 us",
		[CELL_STILL] = "longest time of a queue pair without a byte",
		[CELL_RETX] = "packets retransmitted",
		[CELL_FAILED] = "queue pairs that failed",
		[CELL_HASHED] = "bytes compared by SHA-256",
		[CELL_VERIFIED] = "the receiver's are the sender's",
	};

	putchar('\n');
	for (uint32_t i = 0; i < CELL_COUNT; i++) {
		printf("  %-44s", whats[i]);
		for (uint32_t k = 0; k < DEMO_SIDES; k++)
			printf(" %15s", cell_of(d, k, (enum cell)i).at);
		putchar('\n');
	}
	printf("  SHA-256 of the memory that MRC's receiver placed:\n  %s\n\n",
	       d->got_hash[DEMO_MRC]);
}

static bool is_all_verified(const struct demo *d)
{
	bool is_good = true;

	for (uint32_t i = 0; i < DEMO_SIDES; i++)
		is_good = is_good && d->is_verified[i];
	return is_good;
}

void demo_view_end(const struct demo_view *v, const struct demo *d)
{
	const struct demo_side *mrc = &d->sides[DEMO_MRC], *rc = &d->sides[DEMO_RC];
	const struct demo_side *rc8 = &d->sides[DEMO_RC8];

	put_summary(d);
	if (d->n_missed)
		printf("%u more events are not listed.\n", d->n_missed);
	if (d->capture)
		printf("%" PRIu64 " frames of h0's ports in the capture, for weft decode\n",
		       d->n_frames);
	if (!demo_is_proven(d)) {
		printf("%sdemo: FAILED: MRC delivered %s of %s, %s%s\n", tone(v, TONE_RED),
		       amount_bytes(d->hashed[DEMO_MRC]).at, amount_bytes(DEMO_BYTES).at,
		       is_all_verified(d) ? "unharmed as far as they came"
					  : "and the bytes are not the sender's",
		       tone(v, TONE_NONE));
		return;
	}
	printf("%sdemo: MRC delivered %s intact past a lost plane, a gray link and a congested "
	       "path, never still for longer than %s; in that time RC delivered %s on one path and "
	       "%s on eight, and stood still for %s on the one that failed. "
	       "Next: make tour, weft help, README.md%s\n",
	       tone(v, TONE_BOLD), amount_bytes(mrc->bytes).at, amount_time(mrc->longest_ps).at,
	       amount_bytes(rc->bytes).at, amount_bytes(rc8->bytes).at,
	       amount_time(rc8->longest_ps).at, tone(v, TONE_NONE));
}
