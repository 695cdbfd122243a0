#include <inttypes.h>
#include <stdio.h>

#include "tools/demo.h"
#include "tools/text.h"

static const char *flag(bool is)
{
	return is ? "true" : "false";
}

static void put_place(const struct demo *d)
{
	const struct scenario *s = &d->sides[DEMO_MRC].scenario;

	printf("{\"seed\":%" PRIu64 ",\"planes\":%u,\"hosts\":%u,\"base_rtt_ps\":%" PRIu64
	       ",\"bytes\":%" PRIu64 ",\n",
	       d->seed, s->topology.n_planes, s->topology.n_hosts, s->base_rtt_ps, DEMO_BYTES);
	printf("\"trimmed\":%u,\"trimmed_lasthop\":%u,\n\"place\":{\"plane\":%u,\"link\":",
	       s->names.trimmed, s->names.trimmed_lasthop, d->place.plane);
	text_put_json(stdout, d->place.link);
	fputs("},\n", stdout);
}

static void put_rate(const char *name, const struct demo_row *r, uint32_t which)
{
	printf("\"%s\":{\"bps\":%" PRIu64 ",\"ideal_bps\":%" PRIu64 ",\"resent\":%" PRIu64 "}",
	       name, r->bps[which], r->ideal_bps[which], r->resent[which]);
}

static void put_row(const struct demo_row *r)
{
	const struct mrc_progress *p = &r->progress;

	printf("{\"at_ps\":%" PRIu64 ",", r->at_ps);
	put_rate("mrc", r, DEMO_MRC);
	putchar(',');
	put_rate("rc", r, DEMO_RC);
	printf(",\"ways\":{\"good\":%u,\"skip\":%u,\"assumed_bad\":%u,\"denied\":%u}",
	       p->ways[PATH_GOOD], p->ways[PATH_SKIP], p->ways[PATH_ASSUMED_BAD],
	       p->ways[PATH_DENIED]);
	printf(",\"window_bytes\":%" PRIu64 ",\"inflight_bytes\":%" PRIu64 ",\"srtt_ns\":%" PRIu64
	       ",\"open_ports\":%u,\"planes_up\":%u}",
	       p->window_bytes, p->inflight_bytes, p->srtt_ns, p->open_ports, r->planes_up);
}

static void put_side(const struct demo *d, uint32_t which)
{
	const struct demo_side *side = &d->sides[which];

	printf("{\"delivered_bytes\":%" PRIu64 ",\"ideal_bytes\":%" PRIu64
	       ",\"longest_still_ps\":%" PRIu64 ",\"failed\":%s,\"hashed_bytes\":%" PRIu64 ",\n",
	       side->bytes, side->ideal_bytes, side->longest_ps, flag(side->is_failed),
	       d->hashed[which]);
	printf(" \"sha256_sent\":\"%s\",\n \"sha256_received\":\"%s\",\"verified\":%s,"
	       "\"trace_hash\":\"%016" PRIx64 "\"}",
	       d->sent_hash[which], d->got_hash[which], flag(d->is_verified[which]),
	       side->run.sim.trace_hash);
}

void demo_json(const struct demo *d)
{
	const struct demo_row last = demo_now(d);

	put_place(d);
	fputs("\"slices\":[", stdout);
	for (uint32_t i = 0; i < d->n_slices; i++) {
		fputs(i ? ",\n " : "\n ", stdout);
		put_row(&d->slices[i]);
	}
	fputs("],\n\"events\":[", stdout);
	for (uint32_t i = 0; i < d->n_events; i++) {
		printf("%s{\"at_ps\":%" PRIu64 ",\"kind\":\"%s\",\"text\":", i ? ",\n " : "\n ",
		       d->events[i].at_ps, d->events[i].kind);
		text_put_json(stdout, d->events[i].text);
		putchar('}');
	}
	printf("],\n\"events_missed\":%u,\n\"end\":", d->n_missed);
	put_row(&last);
	fputs(",\n\"mrc\":", stdout);
	put_side(d, DEMO_MRC);
	fputs(",\n\"rc\":", stdout);
	put_side(d, DEMO_RC);
	printf(",\n\"captured_frames\":%" PRIu64 ",\"proven\":%s}\n", d->n_frames,
	       flag(demo_is_proven(d)));
}
