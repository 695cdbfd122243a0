#define _GNU_SOURCE /* secure_getenv(3) */

#include "tools/sim/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/amount.h"
#include "tools/clock.h"
#include "tools/stats.h"
#include "tools/text.h"

#define SECOND   UINT64_C(1000000000)
#define EVERY_NS (SECOND / 5)

bool progress_is_wanted(void)
{
	const char *asked = secure_getenv("WEFT_PROGRESS");

	return isatty(STDERR_FILENO) || (asked && strcmp(asked, "1") == 0);
}

void progress_begin(struct progress *p, const struct run *run, const char *name)
{
	const struct workload *w = &run->scenario->workload;

	*p = (struct progress){.run = run, .name = name, .began = clock_now()};
	p->shown = p->began;
	for (uint32_t i = 0; i < w->n; i++)
		p->total_bytes += workload_bytes(w, &w->flows[i]);
}

/* Per mille of the bytes. Whole messages are known exactly, but a run may consist of a few long
 * ones: what reached the hosts on the wire is a fair guess until they complete. */
static uint64_t share_of(const struct progress *p)
{
	const struct run *run = p->run;
	const struct sim *s = &run->sim;
	const struct sim_transport *t = s->cfg.transport;
	uint64_t known = 0, wire = 0;

	for (uint32_t i = 0; i < run->traffic.n_ticks; i++)
		known += run->traffic.ticks[i];
	for (uint32_t i = 0; i < s->n_ports; i++)
		if (s->ports[i].link.is_edge)
			wire += s->ports[i].counts.sent_bytes;
	uint64_t whole = t->payload_bytes + t->data_head_bytes + s->encap_bytes + t->ack_bytes;
	uint64_t guess =
		stats_scale(stats_scale(wire, t->payload_bytes, whole), 1000, p->total_bytes);
	uint64_t exact = stats_scale(known, 1000, p->total_bytes);

	if (guess > 990)
		guess = 990;
	if (exact > 1000)
		exact = 1000;
	return exact > guess ? exact : guess;
}

void progress_show(struct progress *p)
{
	nsec now = p->run ? clock_now() : 0;

	if (!p->run || now - p->shown < EVERY_NS)
		return;
	const struct sim *s = &p->run->sim;
	uint64_t share = share_of(p);
	uint64_t rate = stats_scale(s->agenda.n_fired - p->shown_events, SECOND, now - p->shown);

	fputs("\rsimulating", stderr);
	if (p->name) {
		fputc(' ', stderr);
		text_put_safe(stderr, p->name);
	}
	fprintf(stderr, ": %s, %u%% of the bytes, %s events/s", amount_time(sim_now(s)).at,
		(unsigned)(share / 10), amount_count(rate).at);
	if (share > 0)
		fprintf(stderr, ", about %u s left",
			(unsigned)stats_scale(now - p->began, 1000 - share, share * SECOND));
	fputs("\033[K", stderr);
	fflush(stderr);
	p->has_line = true;
	p->shown = now;
	p->shown_events = s->agenda.n_fired;
}

void progress_end(struct progress *p)
{
	if (p->has_line)
		fputs("\r\033[K", stderr);
	p->run = NULL;
}
