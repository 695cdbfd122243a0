#include <inttypes.h>
#include <stdio.h>

#include "tools/demo/demo.h"
#include "tools/json_file.h"

static void put_place(struct json_writer *w, const struct demo *d)
{
	const struct scenario *s = &d->sides[DEMO_MRC].scenario;

	json_number(w, "seed", d->seed);
	json_number(w, "planes", s->topology.n_planes);
	json_number(w, "hosts", s->topology.n_hosts);
	json_number(w, "base_rtt_ps", s->base_rtt_ps);
	json_number(w, "bytes", DEMO_BYTES);
	json_number(w, "trimmed", s->names.trimmed);
	json_number(w, "trimmed_lasthop", s->names.trimmed_lasthop);
	json_object(w, "place", JSON_INLINE);
	json_number(w, "plane", d->place.plane);
	json_text(w, "link", d->place.link);
	json_close(w);
}

static void put_rate(struct json_writer *w, const char *key, const struct demo_row *r,
		     uint32_t which)
{
	json_object(w, key, JSON_INLINE);
	json_number(w, "bps", r->bps[which]);
	json_number(w, "ideal_bps", r->ideal_bps[which]);
	json_number(w, "retx", r->retx[which]);
	json_close(w);
}

static void put_row(struct json_writer *w, const char *key, const struct demo *d,
		    const struct demo_row *r)
{
	const struct mrc_progress *p = &r->progress;

	json_object(w, key, JSON_INLINE);
	json_number(w, "at_ps", r->at_ps);
	for (uint32_t i = 0; i < DEMO_SIDES; i++)
		put_rate(w, d->sides[i].key, r, i);
	json_object(w, "evs", JSON_INLINE);
	json_number(w, "good", p->evs[PATH_GOOD]);
	json_number(w, "skip", p->evs[PATH_SKIP]);
	json_number(w, "assumed_bad", p->evs[PATH_ASSUMED_BAD]);
	json_number(w, "denied", p->evs[PATH_DENIED]);
	json_close(w);
	json_number(w, "window_bytes", p->window_bytes);
	json_number(w, "inflight_bytes", p->inflight_bytes);
	json_number(w, "srtt_ns", p->srtt_ns);
	json_number(w, "open_ports", p->open_ports);
	json_number(w, "planes_up", r->planes_up);
	json_close(w);
}

static void put_side(struct json_writer *w, const struct demo *d, uint32_t which)
{
	const struct demo_side *side = &d->sides[which];
	char hash[24];

	snprintf(hash, sizeof hash, "%016" PRIx64, side->run.sim.trace_hash);
	json_object(w, side->key, JSON_LINES);
	json_number(w, "qps", side->n_qps);
	json_number(w, "qps_done", demo_done(side));
	json_number(w, "delivered_bytes", side->bytes);
	json_number(w, "ideal_bytes", side->ideal_bytes);
	json_number(w, "longest_still_ps", side->longest_ps);
	json_truth(w, "failed", side->is_failed);
	json_number(w, "hashed_bytes", d->hashed[which]);
	json_text(w, "sha256_sent", d->sent_hash[which]);
	json_text(w, "sha256_received", d->got_hash[which]);
	json_truth(w, "verified", d->is_verified[which]);
	json_text(w, "trace_hash", hash);
	json_close(w);
}

static void put_events(struct json_writer *w, const struct demo *d)
{
	json_array(w, "events", JSON_LINES);
	for (uint32_t i = 0; i < d->n_events; i++) {
		json_object(w, NULL, JSON_INLINE);
		json_number(w, "at_ps", d->events[i].at_ps);
		json_text(w, "kind", d->events[i].kind);
		json_text(w, "text", d->events[i].text);
		json_close(w);
	}
	json_close(w);
	json_number(w, "events_missed", d->n_missed);
}

void demo_json(const struct demo *d)
{
	const struct demo_row last = demo_now(d);
	struct json_writer w = json_file(stdout);

	json_object(&w, NULL, JSON_LINES);
	put_place(&w, d);
	json_array(&w, "slices", JSON_LINES);
	for (uint32_t i = 0; i < d->n_slices; i++)
		put_row(&w, NULL, d, &d->slices[i]);
	json_close(&w);
	put_events(&w, d);
	put_row(&w, "end", d, &last);
	for (uint32_t i = 0; i < DEMO_SIDES; i++)
		put_side(&w, d, i);
	json_number(&w, "captured_frames", d->n_frames);
	json_truth(&w, "proven", demo_is_proven(d));
	json_close(&w);
	json_end(&w);
}
