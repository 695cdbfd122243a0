#include <stdarg.h>
#include <stdio.h>

#include "rc/rc.h"
#include "tools/amount.h"
#include "tools/demo/demo.h"
#include "tools/stats.h"

#define FAULT_GRAY 1u             /* of the faults, the one that is no plane */
#define STALL_PS   (50 * PSEC_US) /* several round trips without a byte */
#define MILLION    1000000u

__attribute__((format(printf, 3, 4))) static void note(struct demo *d, const char *kind,
						       const char *format, ...)
{
	struct demo_event *e = &d->events[d->n_events];
	va_list args;

	if (d->n_events == DEMO_EVENTS_MAX) {
		d->n_missed++;
		return;
	}
	e->at_ps = d->now_ps;
	e->kind = kind;
	va_start(args, format);
	vsnprintf(e->text, sizeof e->text, format, args);
	va_end(args);
	d->n_events++;
}

static const struct sim_port *port_of(const struct demo_side *side, uint32_t i)
{
	const struct sim *s = &side->run.sim;

	return &s->ports[s->hosts[DEMO_SRC].first_port + i];
}

static struct mrc_progress progress_of(const struct demo *d)
{
	const struct run *r = &d->sides[DEMO_MRC].run;
	struct mrc_progress p = {0};

	mrc_qp_progress(r->sim.hosts[DEMO_SRC].engine, demo_qp_of(r, 0, true), &p);
	return p;
}

static uint32_t evs_out(const struct mrc_progress *p)
{
	return p->evs[PATH_ASSUMED_BAD] + p->evs[PATH_DENIED];
}

static const char *evs_word(uint32_t n)
{
	return n == 1 ? "EV" : "EVs";
}

static uint32_t planes_up(const struct demo *d)
{
	uint32_t up = 0;

	for (uint32_t i = 0; i < DEMO_PLANES; i++)
		up |= (uint32_t)!port_of(&d->sides[DEMO_MRC], i)->is_down << i;
	return up;
}

static bool is_running(const struct demo_side *side, uint32_t flow)
{
	return side->run.traffic.flows[flow].state == TRAFFIC_RUNNING;
}

static uint32_t cross_running(const struct demo_side *side)
{
	uint32_t n = 0;

	for (uint32_t i = side->n_qps; i < side->run.scenario->workload.n; i++)
		n += is_running(side, i);
	return n;
}

/* Payload that may arrive: MRC's by every plane that is up, that of a queue pair of RC by its own,
 * until it is done. Cross traffic has no claim on MRC, whose other EVs have room for all of it; of
 * RC's path it has its share. */
static uint64_t ideal_bps(const struct demo *d, uint32_t which)
{
	const struct demo_side *side = &d->sides[which];
	uint64_t sum = 0;

	if (which == DEMO_MRC)
		return (uint64_t)__builtin_popcount(d->planes_up) * side->plane_bps;
	for (uint32_t i = 0; i < side->n_qps; i++) {
		uint32_t port = side->n_qps == 1 ? d->place.port : i;
		uint32_t n = port == d->place.port ? 1 + cross_running(side) : 1;

		if (is_running(side, i) && (d->planes_up >> port & 1))
			sum += side->plane_bps / n;
	}
	return sum;
}

static uint64_t rate(uint64_t bytes, psec time)
{
	return stats_scale(bytes, 8 * PSEC_S, time);
}

static struct demo_row row_of(const struct demo *d)
{
	struct demo_row row = {
		.at_ps = d->now_ps,
		.progress = progress_of(d),
		.planes_up = d->planes_up,
	};

	for (uint32_t i = 0; i < DEMO_SIDES; i++) {
		const struct run *r = &d->sides[i].run;

		row.retx[i] = run_retransmitted_by(r, DEMO_SRC);
	}
	return row;
}

struct demo_row demo_now(const struct demo *d)
{
	struct demo_row row = row_of(d);
	uint32_t steps = d->n_steps < DEMO_NOW_STEPS ? d->n_steps : DEMO_NOW_STEPS - 1;

	for (uint32_t i = 0; i < DEMO_SIDES; i++) {
		const struct demo_side *side = &d->sides[i];
		uint64_t before = side->bytes_at[(d->n_steps - steps) % DEMO_NOW_STEPS];

		row.bps[i] = rate(side->bytes - before, steps * DEMO_STEP_PS);
		row.ideal_bps[i] = ideal_bps(d, i);
	}
	return row;
}

static void end_slice(struct demo *d)
{
	struct demo_row *row = &d->slices[d->n_slices];

	if (d->n_slices == DEMO_SLICES_MAX)
		return;
	*row = row_of(d);
	psec from = d->n_slices ? d->slices[d->n_slices - 1].at_ps : 0;

	for (uint32_t i = 0; i < DEMO_SIDES; i++) {
		struct demo_side *side = &d->sides[i];

		row->bps[i] = rate(side->bytes - side->slice_bytes, d->now_ps - from);
		row->ideal_bps[i] = rate(side->slice_ideal, d->now_ps - from);
		side->slice_bytes = side->bytes;
		side->slice_ideal = 0;
	}
	d->n_slices++;
}

/* Whether anything arrived lately by a queue pair; where a side has several, the sentence names it
 * by its plane. */
static void watch_stalls(struct demo *d, struct demo_side *side, uint32_t i, bool has_arrived)
{
	struct demo_qp *qp = &side->qps[i];
	psec quiet = d->now_ps - qp->arrived_ps;
	char where[32] = "";

	if (side->n_qps > 1)
		snprintf(where, sizeof where, ", plane %u,", i);
	if (has_arrived) {
		if (qp->is_stalled)
			note(d, "moves", "%s%s moves again, after %s without a byte", side->name,
			     where, amount_time(quiet).at);
		qp->is_stalled = false;
		qp->arrived_ps = d->now_ps;
		return;
	}
	if (!is_running(side, i))
		return;
	if (quiet > side->longest_ps)
		side->longest_ps = quiet;
	if (!qp->is_stalled && quiet >= STALL_PS) {
		note(d, "stalls", "%s%s stalls: nothing arrived for %s", side->name, where,
		     amount_time(quiet).at);
		qp->is_stalled = true;
	}
}

/* Of several queue pairs at one receiver each has its own count: the PSN that it expects. */
static void watch_qps(struct demo *d, struct demo_side *side)
{
	const struct run *r = &side->run;
	struct engine_attr attr;

	for (uint32_t i = 0; i < side->n_qps; i++) {
		rc_qp_query(r->sim.hosts[DEMO_DST].engine, demo_qp_of(r, i, false), &attr, NULL,
			    NULL);
		watch_stalls(d, side, i, attr.rq_psn != side->qps[i].psn);
		side->qps[i].psn = attr.rq_psn;
	}
}

static void watch_side(struct demo *d, uint32_t which)
{
	struct demo_side *side = &d->sides[which];
	uint64_t bytes = side->run.sim.hosts[DEMO_DST].received_bytes;
	uint64_t ideal = ideal_bps(d, which) / MILLION / 8;

	side->slice_ideal += ideal;
	side->ideal_bytes += ideal;
	if (side->n_qps == 1)
		watch_stalls(d, side, 0, bytes != side->bytes);
	else
		watch_qps(d, side);
	side->bytes = bytes;
	side->bytes_at[d->n_steps % DEMO_NOW_STEPS] = bytes;
	for (uint32_t i = 0; i < side->n_qps && !side->is_failed; i++)
		if (side->run.traffic.flows[i].state == TRAFFIC_FAILED) {
			note(d, "failed", "a queue pair of %s failed", side->name);
			side->is_failed = true;
		}
}

static void watch_planes(struct demo *d, const struct mrc_progress *p)
{
	uint32_t up = planes_up(d);

	for (uint32_t i = 0; i < DEMO_PLANES; i++) {
		uint32_t bit = 1u << i;

		if (d->planes_up & ~up & bit) {
			note(d, "plane-lost", "plane %u lost", i);
			d->changed_ps = d->now_ps;
		}
		if (~d->planes_up & up & bit) {
			note(d, "plane-back", "plane %u back", i);
			d->changed_back_ps = d->now_ps;
		}
		if (d->open_ports & ~p->open_ports & bit)
			note(d, "plane-unused", "MRC: plane %u out of use, %u EVs, %s later", i,
			     evs_out(p), amount_time(d->now_ps - d->changed_ps).at);
		if (~d->open_ports & p->open_ports & bit)
			note(d, "plane-used", "MRC: plane %u in use again, %s later", i,
			     amount_time(d->now_ps - d->changed_back_ps).at);
	}
	d->planes_up = up;
	d->open_ports = p->open_ports;
}

/* EVs come back when what ailed them ends, or while it goes on. */
static void note_good(struct demo *d, uint32_t all)
{
	bool is_over = d->changed_back_ps >= d->out_ps;
	psec since = is_over ? d->changed_back_ps : d->out_ps;

	note(d, "evs-good", "MRC: all %u EVs good again, %s%s; at most %u were out", all,
	     amount_time(d->now_ps - since).at, is_over ? " later" : " after the first went",
	     d->most_out);
}

static void watch_evs(struct demo *d, const struct mrc_progress *p)
{
	uint32_t out = evs_out(p), all = out + p->evs[PATH_GOOD] + p->evs[PATH_SKIP];

	if (out > d->most_out)
		d->most_out = out;
	if (out && !d->is_out) {
		note(d, "evs-out", "MRC: %u %s out of use, %s later", out, evs_word(out),
		     amount_time(d->now_ps - d->changed_ps).at);
		d->is_out = true;
		d->out_ps = d->now_ps;
	}
	if (!out && d->is_out) {
		note_good(d, all);
		d->is_out = false;
		d->most_out = 0;
	}
}

static void watch_gray(struct demo *d)
{
	const struct run *r = &d->sides[DEMO_MRC].run;
	bool is_gray = r->sim.ports[d->place.uplink].is_impaired;
	uint64_t lost = impair_counts(r->impair)[FAULT_GRAY].touched;
	uint64_t retx = run_retransmitted_by(r, DEMO_SRC);

	if (is_gray && !d->is_gray) {
		note(d, "gray", "link %s turns gray: it loses %u %% of its packets", d->place.link,
		     r->faults[FAULT_GRAY].ppm / (MILLION / 100));
		d->changed_ps = d->now_ps;
		d->retx_before = retx;
	}
	if (lost && !d->has_lost) {
		note(d, "gray-loss", "the gray link drops its first packet of MRC, %s later",
		     amount_time(d->now_ps - d->changed_ps).at);
		d->has_lost = true;
	}
	if (!is_gray && d->is_gray) {
		note(d, "gray-over", "link %s is well again", d->place.link);
		note(d, "gray-count",
		     "it dropped %u packets of MRC, answers and probes too; %u were retransmitted",
		     (unsigned)lost, (unsigned)(retx - d->retx_before));
		d->changed_back_ps = d->now_ps;
	}
	d->is_gray = is_gray;
}

static void watch_cross(struct demo *d, const struct mrc_progress *p)
{
	const struct run *r = &d->sides[DEMO_MRC].run;
	const struct sim_port_counts *c = &r->sim.ports[d->place.uplink].counts;
	uint32_t n = cross_running(&d->sides[DEMO_MRC]);

	if (n && !d->is_crossed) {
		note(d, "crossed", "%u other hosts send all they have over link %s", n,
		     d->place.link);
		d->changed_ps = d->now_ps;
		d->marked_before = c->marked + c->trimmed;
	}
	if (n && !d->has_marked && c->marked + c->trimmed > d->marked_before) {
		note(d, "congested", "its queue grows: the first packet is %s, %s later",
		     c->trimmed ? "trimmed" : "marked", amount_time(d->now_ps - d->changed_ps).at);
		d->has_marked = true;
	}
	if (d->has_marked && !d->has_skipped && p->evs[PATH_SKIP]) {
		note(d, "skipped", "MRC: %u %s to be skipped, %s later", p->evs[PATH_SKIP],
		     evs_word(p->evs[PATH_SKIP]), amount_time(d->now_ps - d->changed_ps).at);
		d->has_skipped = true;
	}
	if (!n && d->is_crossed) {
		note(d, "crossed-over", "the other hosts of MRC's fabric are done");
		d->changed_back_ps = d->now_ps;
	}
	d->is_crossed = n != 0;
}

void demo_watch(struct demo *d)
{
	const struct mrc_progress p = progress_of(d);

	if (d->n_steps == 1) {
		d->planes_up = planes_up(d);
		d->open_ports = p.open_ports;
	}
	/* What could arrive in this step is a matter of the planes that were up before its end. */
	for (uint32_t i = 0; i < DEMO_SIDES; i++)
		watch_side(d, i);
	watch_planes(d, &p);
	watch_gray(d);
	watch_cross(d, &p);
	watch_evs(d, &p);
	if (d->now_ps % DEMO_SLICE_PS == 0)
		end_slice(d);
}
