#include "sim/traffic.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX (UINT32_C(1) << 30)
#define TICKS_MAX   (UINT32_C(1) << 20)
#define NO_LINK     UINT32_MAX
#define ANY_HOST    UINT32_MAX

/* Numbers of groups' receivers, which other queue pairs of the host do not have, and of their
 * sources, which are Designated QPNs. */
#define RECEIVER_QPS (UINT32_C(1) << 20)
#define SOURCE_QPS   (UINT32_C(1) << 21)

static bool is_link_of(const struct traffic_link *link, const struct workload_flow *w)
{
	return link->src == w->src && link->dst == w->dst && link->qp == w->qp &&
	       link->group == w->group;
}

static uint32_t *link_slot(const struct traffic *t, const struct workload_flow *w)
{
	uint64_t key = (uint64_t)w->src << 32 | w->dst;
	uint32_t i = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) + w->qp + w->group;

	for (;; i++) {
		uint32_t *slot = &t->link_of[i & t->link_mask];

		if (*slot == NO_LINK || is_link_of(&t->links[*slot], w))
			return slot;
	}
}

/* How many messages of a flow may be posted at a time. */
static uint32_t messages_of(const struct workload_flow *w)
{
	uint32_t message = w->message_bytes ? w->message_bytes : MESSAGE_MAX;
	uint64_t n = (w->bytes + message - 1) / message;

	return n < w->window ? (uint32_t)n : w->window;
}

/* A queue pair for each receiver of a group, and one of a number that no other group's source has:
 * it is the Designated QPN. */
static uint32_t plan_group(struct traffic *t, uint32_t number)
{
	const struct workload_group *g = &t->workload->groups[number];
	struct groups_member *receivers = t->receivers + g->first;

	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t host = t->workload->receivers[g->first + i];

		receivers[i] = (struct groups_member){
			.host = host,
			.qpn = RECEIVER_QPS + t->qps[host]++,
		};
	}
	t->qps[g->src]++;
	t->groups[number] = (struct traffic_group){
		.source = {.host = g->src, .qpn = SOURCE_QPS + number},
		.receivers = receivers,
		.n_receivers = g->n,
	};
	return t->groups[number].source.qpn;
}

static void plan_ends(struct traffic *t, struct traffic_link *link)
{
	if (link->group) {
		link->src_qp = plan_group(t, link->group - 1);
		return;
	}
	link->src_qp = t->qps[link->src]++;
	link->dst_qp = t->qps[link->dst]++;
}

static void plan_link(struct traffic *t, uint32_t flow)
{
	const struct workload_flow *w = &t->workload->flows[flow];
	uint32_t *slot = link_slot(t, w);

	if (*slot == NO_LINK) {
		*slot = t->n_links;
		t->links[t->n_links++] = (struct traffic_link){
			.src = w->src,
			.dst = w->dst,
			.qp = w->qp,
			.group = w->group,
		};
		plan_ends(t, &t->links[*slot]);
	}
	t->flows[flow].link = *slot;
	t->links[*slot].messages += messages_of(w);
}

static bool is_sooner(const struct traffic_start *a, const struct traffic_start *b)
{
	return a->at < b->at || (a->at == b->at && a->flow < b->flow);
}

static void push_start(struct traffic *t, psec at, uint32_t flow)
{
	struct traffic_host *h = &t->hosts[t->workload->flows[flow].src];
	struct traffic_start start = {at, flow}, *heap = t->starts + h->first;
	uint32_t i = h->n++;

	t->n_starts++;
	while (i > 0 && is_sooner(&start, &heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = start;
}

static uint32_t pop_start(struct traffic *t, uint32_t host)
{
	struct traffic_host *h = &t->hosts[host];
	struct traffic_start *heap = t->starts + h->first, last = heap[--h->n];
	uint32_t flow = heap[0].flow, i = 0;

	t->n_starts--;
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= h->n)
			break;
		if (child + 1 < h->n && is_sooner(&heap[child + 1], &heap[child]))
			child++;
		if (!is_sooner(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return flow;
}

/* A flow waits for one start at a time: each host needs as many places as it has flows. */
static void plan_starts(struct traffic *t, uint32_t n_hosts)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < t->workload->n; i++)
		t->hosts[t->workload->flows[i].src].n++;
	for (uint32_t h = 0; h < n_hosts; h++) {
		uint32_t n = t->hosts[h].n;

		t->hosts[h] = (struct traffic_host){.first = first};
		first += n;
	}
}

/* Gives each flow to a group room for what its receivers got; how much there must be in all. */
static size_t plan_receipts(struct traffic *t)
{
	size_t n = 1;

	for (uint32_t i = 0; t->flows && i < t->workload->n; i++) {
		const struct workload_group *g =
			workload_group_of(t->workload, &t->workload->flows[i]);

		t->flows[i].receipts = (uint32_t)n;
		n += g ? g->n : 0;
	}
	return n;
}

int traffic_init(struct traffic *t, const struct workload *w, uint32_t n_hosts, psec tick_ps)
{
	uint32_t slots = 4;

	while (slots < 2 * w->n)
		slots *= 2;
	*t = (struct traffic){.workload = w, .tick_ps = tick_ps, .link_mask = slots - 1};
	t->flows = calloc(w->n + 1, sizeof *t->flows);
	t->links = calloc(w->n + 1, sizeof *t->links);
	t->qps = calloc(n_hosts, sizeof *t->qps);
	t->ops = calloc(n_hosts, sizeof *t->ops);
	t->link_of = malloc(slots * sizeof *t->link_of);
	t->starts = calloc(w->n + 1, sizeof *t->starts);
	t->hosts = calloc(n_hosts, sizeof *t->hosts);
	t->groups = calloc(w->n_groups + 1, sizeof *t->groups);
	t->receivers = calloc(w->n_receivers + 1, sizeof *t->receivers);
	t->receipts = calloc(plan_receipts(t), sizeof *t->receipts);
	if (!t->flows || !t->links || !t->qps || !t->ops || !t->link_of || !t->starts ||
	    !t->hosts || !t->groups || !t->receivers || !t->receipts) {
		traffic_fini(t);
		return -ENOMEM;
	}
	plan_starts(t, n_hosts);
	memset(t->link_of, 0xff, slots * sizeof *t->link_of);
	for (uint32_t i = 0; i < w->n; i++) {
		plan_link(t, i);
		t->ops[w->flows[i].src] += messages_of(&w->flows[i]);
		t->flows[i].repeats_left = w->flows[i].repeat;
		t->flows[i].n_before = w->flows[i].n_before;
		if (w->flows[i].n_before == 0)
			push_start(t, w->flows[i].start_ps, i);
	}
	return 0;
}

void traffic_fini(struct traffic *t)
{
	free(t->flows);
	free(t->links);
	free(t->qps);
	free(t->ops);
	free(t->link_of);
	free(t->starts);
	free(t->hosts);
	free(t->groups);
	free(t->receivers);
	free(t->receipts);
	free(t->ticks);
	*t = (struct traffic){0};
}

static void arm(const struct traffic *t, struct sim *s, uint32_t host)
{
	const struct traffic_host *h = &t->hosts[host];

	sim_alarm_arm(s, host, h->n ? t->starts[h->first].at : PSEC_NEVER);
}

/* A receive, of a message's or for the one that a message took. */
static void post_receive(struct sim *s, uint32_t host, uint32_t qp)
{
	struct op op = {.code = ENGINE_RECV, .qp = qp};

	if (s->cfg.transport->takes_receives)
		sim_post(s, host, &op);
}

static int open_qp(struct sim *s, struct sim_qp *qp)
{
	const struct sim_transport *transport = s->cfg.transport;

	qp->now = sim_host_now(s, qp->host);
	return transport->open(transport->context, s->hosts[qp->host].engine, qp);
}

/* The end of a connection that sends, or the other one. */
static int open_end(struct sim *s, const struct traffic_link *link, bool is_source)
{
	uint32_t first = s->cfg.transport->first_qp;
	struct sim_qp qp = {
		.qp = first + (is_source ? link->src_qp : link->dst_qp),
		.peer = is_source ? link->dst : link->src,
		.peer_qp = first + (is_source ? link->dst_qp : link->src_qp),
		.host = is_source ? link->src : link->dst,
		.sends = is_source ? link->messages : 0,
		.takes = is_source ? 0 : link->messages,
	};

	return open_qp(s, &qp);
}

/* An end of a connection to a group: the source's, or a receiver's. All speak to the Proxy. */
static int open_member(const struct traffic *t, struct sim *s, const struct traffic_link *link,
		       const struct groups_member *member)
{
	const struct traffic_group *g = &t->groups[link->group - 1];
	bool is_source = member == &g->source;
	struct sim_qp qp = {
		.qp = member->qpn,
		.peer = s->n_hosts + link->group - 1,
		.peer_qp = g->source.qpn,
		.host = member->host,
		.sends = is_source ? link->messages : 0,
		.takes = is_source ? 0 : link->messages,
		.is_member = true,
		.port = (uint8_t)member->port,
		.psn = g->psn,
	};
	int error = open_qp(s, &qp);

	for (uint32_t i = 0; !error && i < qp.takes; i++)
		post_receive(s, qp.host, qp.qp);
	return error;
}

/* Both ends of a connection, or all of a group; host: only those at it. */
static int open_link(const struct traffic *t, struct sim *s, const struct traffic_link *link,
		     uint32_t host)
{
	const struct traffic_group *g = link->group ? &t->groups[link->group - 1] : NULL;
	int error = 0;

	if (host == ANY_HOST || host == link->src)
		error = g ? open_member(t, s, link, &g->source) : open_end(s, link, true);
	if (!g && !error && (host == ANY_HOST || host == link->dst))
		error = open_end(s, link, false);
	for (uint32_t i = 0; g && !error && i < g->n_receivers; i++)
		if (host == ANY_HOST || host == g->receivers[i].host)
			error = open_member(t, s, link, &g->receivers[i]);
	return error;
}

bool traffic_is_local(const struct workload *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		for (uint32_t k = 0; k < w->flows[i].n_after; k++) {
			uint32_t next = w->after[w->flows[i].first_after + k];

			if (w->flows[i].group || w->flows[next].src != w->flows[i].dst)
				return false;
		}
	return true;
}

int traffic_start(struct traffic *t, struct sim *s)
{
	for (uint32_t i = 0; i < t->n_links; i++) {
		int error = open_link(t, s, &t->links[i], ANY_HOST);

		if (error)
			return error;
	}
	for (uint32_t h = 0; h < s->n_hosts; h++)
		arm(t, s, h);
	return 0;
}

static void end_flow(struct traffic *t, uint32_t flow, int16_t status)
{
	struct traffic_flow *f = &t->flows[flow];

	if (f->state == TRAFFIC_DONE || f->state == TRAFFIC_FAILED)
		return;
	t->n_running -= f->state == TRAFFIC_RUNNING;
	f->status = status;
	f->state = status ? TRAFFIC_FAILED : TRAFFIC_DONE;
	if (status)
		t->n_failed++;
	else
		t->n_done++;
}

/* Posts as many messages as the flow's window allows. An engine whose queue is full is asked again
 * when something of this flow completes; with nothing outstanding nothing would, and it fails. */
static void post(struct traffic *t, struct sim *s, uint32_t flow)
{
	const struct workload_flow *w = &t->workload->flows[flow];
	struct traffic_flow *f = &t->flows[flow];
	const struct traffic_link *link = &t->links[f->link];
	uint32_t message = w->message_bytes ? w->message_bytes : MESSAGE_MAX;

	while (f->state == TRAFFIC_RUNNING && f->outstanding < w->window &&
	       f->posted_bytes < w->bytes) {
		uint64_t left = w->bytes - f->posted_bytes;
		uint32_t key = f->from ? f->key : s->cfg.transport->key;
		struct sge sge = {f->from ? f->from + f->posted_bytes : NULL,
				  left < message ? (uint32_t)left : message, key};
		struct op op = {
			.code = ENGINE_WRITE_IMM,
			.flags = f->from ? ENGINE_TRUSTED : 0,
			.key = key,
			.remote = f->from ? f->posted_bytes : 0,
			.cookie = flow | (uint64_t)sge.len << 32,
			.imm = flow,
			.qp = s->cfg.transport->first_qp + link->src_qp,
			.peer = link->dst,
			.sg = &sge,
			.n_sg = 1,
		};

		/* Counted first: the engine may complete it before sim_post returns. */
		f->posted_bytes += sge.len;
		f->outstanding++;
		int answer = sim_post(s, w->src, &op);

		if (answer == 0)
			continue;
		f->posted_bytes -= sge.len;
		f->outstanding--;
		if (answer != -ENOMEM || f->outstanding == 0)
			end_flow(t, flow, (int16_t)answer);
		return;
	}
}

static void forget_receipts(struct traffic *t, uint32_t flow)
{
	const struct workload_group *g = workload_group_of(t->workload, &t->workload->flows[flow]);

	for (uint32_t i = 0; g && i < g->n; i++)
		t->receipts[t->flows[flow].receipts + i].delivered_bytes = 0;
}

static void begin(struct traffic *t, struct sim *s, uint32_t flow)
{
	struct traffic_flow *f = &t->flows[flow];

	if (f->state == TRAFFIC_FAILED)
		return;
	if (f->state == TRAFFIC_WAITING) {
		f->state = TRAFFIC_RUNNING;
		t->n_running++;
		f->started_ps = sim_now(s);
	}
	t->links[f->link].is_used = true;
	f->round_ps = sim_now(s);
	f->posted_bytes = 0;
	f->acked_bytes = 0;
	f->delivered_bytes = 0;
	f->n_whole = 0;
	forget_receipts(t, flow);
	post(t, s, flow);
}

void traffic_alarm(struct traffic *t, struct sim *s, uint32_t host)
{
	const struct traffic_host *h = &t->hosts[host];

	while (h->n && t->starts[h->first].at <= sim_now(s))
		begin(t, s, pop_start(t, host));
	arm(t, s, host);
}

/* Once only: forged packets may deliver more than was sent. */
static void release(struct traffic *t, struct sim *s, uint32_t flow)
{
	const struct workload_flow *w = &t->workload->flows[flow];

	if (t->flows[flow].is_released)
		return;
	t->flows[flow].is_released = true;
	for (uint32_t i = 0; i < w->n_after; i++) {
		uint32_t next = t->workload->after[w->first_after + i];
		psec start = t->workload->flows[next].start_ps;

		assert(t->flows[next].n_before > 0);
		if (--t->flows[next].n_before > 0)
			continue;
		push_start(t, start > sim_now(s) ? start : sim_now(s), next);
		arm(t, s, t->workload->flows[next].src);
	}
}

/* Without memory for more ticks the last one takes the rest: a coarser picture, not a failed
 * run. */
static void count_tick(struct traffic *t, psec now, uint64_t bytes)
{
	uint64_t tick = now / t->tick_ps;

	if (tick >= TICKS_MAX)
		tick = TICKS_MAX - 1;
	if (tick >= t->tick_room) {
		uint32_t room = (uint32_t)tick + 1 + t->tick_room;
		uint64_t *ticks = realloc(t->ticks, room * sizeof *ticks);

		if (ticks) {
			memset(ticks + t->tick_room, 0, (room - t->tick_room) * sizeof *ticks);
			t->ticks = ticks;
			t->tick_room = room;
		} else if (t->tick_room == 0) {
			return;
		} else {
			tick = t->tick_room - 1;
		}
	}
	t->ticks[tick] += bytes;
	if (tick >= t->n_ticks)
		t->n_ticks = (uint32_t)tick + 1;
}

/* The place of a host among a group's receivers; NO_LINK: it is none. */
static uint32_t receiver_of(const struct traffic *t, const struct workload_group *g, uint32_t host)
{
	const uint32_t *hosts = t->workload->receivers + g->first;
	uint32_t from = 0, end = g->n;

	while (from < end) {
		uint32_t middle = from + (end - from) / 2;

		if (hosts[middle] == host)
			return middle;
		if (hosts[middle] < host)
			from = middle + 1;
		else
			end = middle;
	}
	return NO_LINK;
}

/* Notes what a receiver of a group got; whether all of them have all now. */
static bool is_everywhere(struct traffic *t, const struct sim *s, uint32_t flow, uint32_t host,
			  uint32_t bytes)
{
	const struct workload_flow *w = &t->workload->flows[flow];
	const struct workload_group *g = &t->workload->groups[w->group - 1];
	struct traffic_flow *f = &t->flows[flow];
	uint32_t place = receiver_of(t, g, host);

	if (place == NO_LINK)
		return false;
	struct traffic_receipt *r = &t->receipts[f->receipts + place];
	bool was_whole = r->delivered_bytes >= w->bytes;

	r->delivered_bytes += bytes;
	r->delivered_ps = sim_now(s);
	if (!was_whole && r->delivered_bytes >= w->bytes)
		f->n_whole++;
	return f->n_whole == g->n;
}

static void on_received(struct traffic *t, struct sim *s, uint32_t host, const struct done *done)
{
	uint32_t flow = (uint32_t)done->imm;

	/* A receive that no message will come for any more. */
	if (done->status)
		return;
	post_receive(s, host, done->qp);
	/* A forged packet may name anything. */
	if (done->imm >= t->workload->n)
		return;
	const struct workload_flow *w = &t->workload->flows[flow];
	struct traffic_flow *f = &t->flows[flow];

	f->delivered_bytes += done->len;
	f->total_bytes += done->len;
	/* Of several receivers one may be looked at before another who was there first. */
	if (f->delivered_ps < sim_now(s))
		f->delivered_ps = sim_now(s);
	bool is_whole = w->group ? is_everywhere(t, s, flow, host, done->len)
				 : f->delivered_bytes >= w->bytes;

	if (is_whole && f->repeats_left == 1)
		release(t, s, flow);
}

static void on_sent(struct traffic *t, struct sim *s, const struct done *done)
{
	uint32_t flow = (uint32_t)done->cookie;
	const struct workload_flow *w = &t->workload->flows[flow];
	struct traffic_flow *f = &t->flows[flow];

	f->outstanding--;
	/* A flow that failed stays so, whatever of it still completes. */
	if (f->state != TRAFFIC_RUNNING)
		return;
	if (done->status) {
		end_flow(t, flow, done->status);
		return;
	}
	f->acked_bytes += done->cookie >> 32;
	if (f->acked_bytes < w->bytes) {
		post(t, s, flow);
		return;
	}
	f->completed_ps = sim_now(s);
	f->busy_ps += f->completed_ps - f->round_ps;
	if (--f->repeats_left == 0) {
		/* What is acknowledged was delivered, also where a forged packet hid that. */
		release(t, s, flow);
		end_flow(t, flow, 0);
		return;
	}
	push_start(t, sim_now(s) + w->gap_ps, flow);
	arm(t, s, w->src);
}

void traffic_done(struct traffic *t, struct sim *s, uint32_t host, const struct done *done)
{
	if (done->code == ENGINE_DONE_RECEIVED)
		on_received(t, s, host, done);
	else if (done->code == ENGINE_DONE_SENT)
		on_sent(t, s, done);
}

void traffic_received(struct traffic *t, const struct sim *s, uint64_t bytes)
{
	count_tick(t, sim_now(s), bytes);
}

static bool is_at(const struct traffic *t, const struct workload_flow *w, uint32_t host)
{
	const struct workload_group *g = workload_group_of(t->workload, w);

	return w->src == host || w->dst == host || (g && receiver_of(t, g, host) != NO_LINK);
}

/* What was under way is lost with the queue pairs. Those that were never used are made anew; one
 * that was cannot be, as its peer goes on counting from where it was. */
void traffic_restarted(struct traffic *t, struct sim *s, uint32_t host)
{
	for (uint32_t i = 0; i < t->workload->n; i++) {
		const struct workload_flow *w = &t->workload->flows[i];

		if (is_at(t, w, host) && t->flows[i].state == TRAFFIC_RUNNING)
			end_flow(t, i, -ECONNRESET);
	}
	for (uint32_t i = 0; i < t->n_links; i++) {
		if (!t->links[i].is_used)
			open_link(t, s, &t->links[i], host);
	}
}

bool traffic_is_over(const struct traffic *t)
{
	return t->n_running == 0 && t->n_starts == 0;
}
