#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/clock.h"
#include "tools/perf/perf.h"
#include "tools/stats.h"

#define BATCH       32u   /* works posted, or completions taken, at a time */
#define CALL_EVERY  1024u /* polls between two looks at the control connection or the clock */
#define GROUP       16u   /* works reported together, where many short ones are out */
#define GROUP_BYTES 16384u
#define OUT_BYTES   (UINT32_C(1) << 26) /* a test must come to its end when its time is over */
#define CREDITS     64u      /* receives posted again that the sender is told of at once */
#define SAMPLES_MAX 2000000u /* the last so many are kept */
#define NSEC_PER_MS UINT64_C(1000000)
#define QUIET_NS    UINT64_C(30000000000) /* no progress for so long: the test has failed */

/* The works of one queue pair in flight. */
struct lane {
	uint64_t posted, done;
	uint64_t receives; /* posted, of all times */
	uint64_t reported; /* of these, that the sender knows of */
};

/* A test at work. */
struct load {
	struct perf_end *e;
	struct perf_link *l;
	struct lane *lanes;
	struct nic_work work[BATCH];
	struct sge sg[BATCH];
	struct done done[BATCH];
	uint32_t signal_every;
	uint32_t n_owed; /* answers that had no room in the queue yet */
	bool is_behind;  /* a count of receives had none */
	struct perf_interval interval;
};

static const char *const status_texts[ENGINE_STATUSES] = {
	[ENGINE_OK] = "done",
	[ENGINE_LOCAL_LENGTH] = "it did not fit the receive",
	[ENGINE_LOCAL_QP] = "the queue pair cannot do it",
	[ENGINE_LOCAL_PROTECTION] = "our key does not cover our memory",
	[ENGINE_FLUSHED] = "the queue pair had failed before",
	[ENGINE_BIND_FAILED] = "binding failed",
	[ENGINE_BAD_RESPONSE] = "the answer made no sense",
	[ENGINE_LOCAL_ACCESS] = "our memory is protected",
	[ENGINE_REMOTE_INVALID] = "the other side takes it for senseless",
	[ENGINE_REMOTE_ACCESS] = "the other side protects its memory",
	[ENGINE_REMOTE_OPERATION] = "the other side failed",
	[ENGINE_RETRY_EXCEEDED] = "the other side does not answer",
	[ENGINE_RNR_EXCEEDED] = "the other side posts no receives",
	[ENGINE_FATAL] = "the device failed",
	[ENGINE_CANCELLED] = "it was taken back",
};

static int failed(const struct load *d, const struct done *done)
{
	bool is_known = done->status >= 0 && done->status < ENGINE_STATUSES;

	fprintf(stderr, "%s: a message failed on queue pair 0x%06x: %s\n", d->l->name, done->qp,
		is_known ? status_texts[done->status] : strerror(-done->status));
	return -EIO;
}

static int refused(const struct load *d, int why)
{
	fprintf(stderr, "%s: the device refused work: %s\n", d->l->name, strerror(-why));
	return why;
}

/* Nothing happens: is somebody still there? The server says nothing during a test, and a client
 * only that it is over. 0, or a negative errno after saying why. */
static int check_quiet(const struct load *d, uint64_t since_ns)
{
	char line[PERF_LINE_MAX];

	if (perf_is_called(d->l)) {
		int answer = perf_read_line(d->l, line);

		return answer != 0 ? answer : refused(d, -EPROTO);
	}
	if (clock_now() - since_ns <= QUIET_NS)
		return 0;
	fprintf(stderr, "%s: no message was done for %d s\n", d->l->name,
		(int)(QUIET_NS / UINT64_C(1000000000)));
	return -ETIMEDOUT;
}

/* A work of the test on queue pair i, in place k of the arrays. */
static void prepare(struct load *d, uint32_t k, uint32_t i)
{
	static const uint8_t codes[PERF_OPS] = {ENGINE_WRITE, ENGINE_READ, ENGINE_SEND,
						ENGINE_ATOMIC, ENGINE_WRITE_IMM};
	struct perf_end *e = d->e;
	uint8_t code = codes[e->test.op];
	bool is_in = code == ENGINE_READ || code == ENGINE_ATOMIC;
	uint64_t n = d->lanes[i].posted + k;

	d->sg[k] = (struct sge){is_in ? perf_in_at(e, i, n) : perf_out_at(e, i, n), e->test.size,
				nic_mr_key(e->mr)};
	if (e->test.is_verified)
		perf_fill(e, i, n);
	/* Peers lay their memory out alike: what we send lands in the place to receive. */
	uint64_t offset = perf_out_offset(&e->test, i, n) + (is_in ? 0 : e->test.size);

	d->work[k].op = (struct op){
		.cookie = i,
		.remote = e->peer_va + offset,
		.key = e->peer_key,
		.sg = &d->sg[k],
		.n_sg = 1,
		.code = code,
		.atomic_op = ENGINE_FETCH_ADD,
		.operand = {{1}},
	};
}

/* Posts up to n works on queue pair i; how many, or a negative errno. */
static int post(struct load *d, uint32_t i, uint32_t n)
{
	struct lane *lane = &d->lanes[i];
	uint32_t posted = 0;

	for (uint32_t k = 0; k < n; k++) {
		prepare(d, k, i);
		/* A completion for some stands for those before it. */
		if ((lane->posted + k + 1) % d->signal_every != 0)
			d->work[k].op.flags = ENGINE_SILENT;
	}
	int answer = nic_post(d->e->qps[i], d->work, n, &posted);

	lane->posted += posted;
	return answer != 0 && answer != -ENOMEM ? refused(d, answer) : (int)posted;
}

/* Writes say themselves where they go. */
static int post_receives(struct load *d, uint32_t i, uint32_t n)
{
	struct lane *lane = &d->lanes[i];
	uint32_t posted;

	for (uint32_t k = 0; k < n; k++) {
		uint8_t *at = perf_in_at(d->e, i, lane->receives + k);

		d->sg[k] = (struct sge){at, d->e->test.size, nic_mr_key(d->e->mr)};
		d->work[k].op = (struct op){.cookie = i,
					    .sg = &d->sg[k],
					    .n_sg = d->e->test.op == PERF_SEND,
					    .code = ENGINE_RECV};
	}
	int answer = nic_post(d->e->qps[i], d->work, n, &posted);

	lane->receives += posted;
	return answer != 0 ? refused(d, answer) : 0;
}

static int post_all_receives(struct load *d)
{
	for (uint32_t i = 0; i < d->e->test.qps; i++)
		for (uint32_t left = perf_receives(&d->e->test); left > 0;) {
			uint32_t n = left < BATCH ? left : BATCH;
			int answer = post_receives(d, i, n);

			if (answer != 0)
				return answer;
			left -= n;
		}
	return 0;
}

static int poll(struct load *d)
{
	int n = nic_cq_poll(d->e->cq, d->done, BATCH);

	for (int k = 0; k < n; k++)
		if (d->done[k].status != ENGINE_OK)
			return failed(d, &d->done[k]);
	return n < 0 ? refused(d, n) : n;
}

static bool takes_receives(const struct perf_test *t)
{
	return t->op == PERF_SEND || t->op == PERF_WRITE_IMM;
}

/* Where an early message is fatal to a queue pair, its sender is told how many receives there were
 * so far, by a write into its memory. Others put such a message off. */
static bool has_credits(const struct perf_test *t)
{
	return !transport_has(transports[t->transport], TRANSPORT_NOT_READY) &&
	       t->op == PERF_WRITE_IMM && t->mode == PERF_BANDWIDTH;
}

static int report_credits(struct load *d, uint32_t i)
{
	struct perf_end *e = d->e;
	struct lane *lane = &d->lanes[i];
	uint64_t reported = lane->receives;
	struct sge piece = {&reported, sizeof reported, 0};
	uint32_t posted;
	struct nic_work work = {
		.op = {.remote = e->peer_va + perf_credit_offset(&e->test, i),
		       .key = e->peer_key,
		       .sg = &piece,
		       .n_sg = 1,
		       .flags = ENGINE_INLINE,
		       .code = ENGINE_WRITE},
	};
	int answer = nic_post(e->qps[i], &work, 1, &posted);

	if (posted == 1)
		lane->reported = reported;
	else
		d->is_behind = true;
	return answer != 0 && answer != -ENOMEM ? refused(d, answer) : 0;
}

static int report_all_credits(struct load *d)
{
	int answer = 0;

	d->is_behind = false;
	for (uint32_t i = 0; answer == 0 && i < d->e->test.qps; i++)
		if (d->lanes[i].receives - d->lanes[i].reported >= CREDITS)
			answer = report_credits(d, i);
	return answer;
}

static uint64_t credits_of(const struct load *d, uint32_t i)
{
	const struct perf_end *e = d->e;
	const uint8_t *at = e->memory + perf_credit_offset(&e->test, i);
	uint64_t reported = __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
	uint64_t all = reported ? reported : perf_receives(&e->test);

	return all - d->lanes[i].posted;
}

/* How many works of queue pair i may be posted now: whole groups only, since the last work of all
 * must be one that is reported; and not one by one, which would send them one by one. */
static uint32_t room_of(const struct load *d, uint32_t i)
{
	const struct perf_test *t = &d->e->test;
	const struct lane *lane = &d->lanes[i];
	uint64_t room = t->depth - (lane->posted - lane->done);

	if (has_credits(t)) {
		uint64_t credits = credits_of(d, i);

		room = credits < room ? credits : room;
	}
	uint32_t n = room < BATCH ? (uint32_t)room : BATCH;

	if (n < BATCH && n < t->depth / 2 && lane->posted > lane->done)
		return 0;
	return n - n % d->signal_every;
}

/* One turn: posts what fits everywhere, takes what is done. How many works were done. */
static int turn(struct load *d, uint64_t left)
{
	const struct perf_test *t = &d->e->test;

	for (uint32_t i = 0; i < t->qps && left > 0; i++) {
		uint32_t n = room_of(d, i);

		if (n > left)
			n = (uint32_t)left;
		if (n == 0)
			continue;
		int posted = post(d, i, n);

		if (posted < 0)
			return posted;
		left -= (uint64_t)posted;
	}
	int n = poll(d), works = 0;

	for (int k = 0; k < n; k++) {
		struct lane *lane = &d->lanes[d->done[k].cookie];

		lane->done += d->signal_every;
		works += (int)d->signal_every;
	}
	return n < 0 ? n : works;
}

/* Reports an interval that is over. */
static inline void look(struct load *d, uint64_t now, uint64_t messages, uint64_t legs)
{
	if (now >= d->interval.next_ns)
		perf_interval_end(&d->interval, d->e, d->l,
				  (struct perf_so_far){now, messages, legs});
}

/* The last one, which need not be whole. The end of the test may lie before a look that saw nothing
 * new. */
static void finish_look(struct load *d, uint64_t end, uint64_t messages, uint64_t legs)
{
	if (end > d->interval.from_ns)
		perf_interval_end(&d->interval, d->e, d->l,
				  (struct perf_so_far){end, messages, legs});
}

static int drive_bandwidth(struct load *d, struct perf_result *r)
{
	const struct perf_test *t = &d->e->test;
	uint64_t posted = 0, polls = 0;
	uint64_t start = clock_now(), last = start;

	perf_interval_begin(&d->interval, d->e, d->l, start);
	/* Works of a group that is not whole would never be reported. */
	if (t->depth >= 4 * GROUP && t->count % GROUP == 0 && t->size <= GROUP_BYTES)
		d->signal_every = GROUP;
	for (bool is_over = false; !is_over || r->messages < posted; polls++) {
		int n = turn(d, is_over ? 0 : t->count ? t->count - posted : UINT64_MAX);

		if (n < 0)
			return n;
		r->messages += (uint64_t)n;
		posted = 0;
		for (uint32_t i = 0; i < t->qps; i++)
			posted += d->lanes[i].posted;
		if (n == 0 && polls % CALL_EVERY != 0)
			continue;
		uint64_t now = clock_now();
		int answer = n > 0 ? 0 : check_quiet(d, last);

		if (answer != 0)
			return answer;
		if (n > 0)
			last = now;
		look(d, now, r->messages, 1);
		is_over =
			t->count ? posted == t->count : now - start >= t->duration_ms * NSEC_PER_MS;
	}
	r->elapsed_ns = last - start;
	finish_look(d, last, r->messages, 1);
	return 0;
}

/* Posts one work and waits until it is done. */
static int round_trip(struct load *d)
{
	int n = post(d, 0, 1);
	uint64_t start = clock_now();

	for (uint64_t polls = 1; n >= 0; polls++) {
		n = poll(d);
		if (n > 0)
			return 0;
		if (n == 0 && polls % CALL_EVERY == 0)
			n = check_quiet(d, start);
	}
	return n;
}

/* Sends mark and waits for the peer's: by its write into our memory, or by its message. That ours
 * was acknowledged need not be known before the next, unless the queue is full of such. */
static int ping(struct load *d, uint8_t mark)
{
	const struct perf_end *e = d->e;
	struct lane *lane = &d->lanes[0];
	uint32_t size = e->test.size;
	const uint8_t *in = perf_in_at(e, 0, 0) + size - 1;
	uint64_t start = clock_now();
	bool is_received = false;

	perf_out_at(e, 0, 0)[size - 1] = mark;
	int n = post(d, 0, 1);

	for (uint64_t polls = 1; n >= 0; polls++) {
		n = poll(d);
		for (int k = 0; k < n; k++) {
			lane->done += d->done[k].code == ENGINE_DONE_SENT;
			is_received |= d->done[k].code == ENGINE_DONE_RECEIVED;
		}
		if (e->test.op == PERF_WRITE)
			is_received = __atomic_load_n(in, __ATOMIC_ACQUIRE) == mark;
		if (is_received && lane->posted - lane->done < e->test.depth)
			return takes_receives(&e->test) ? post_receives(d, 0, 1) : 0;
		if (n >= 0 && polls % CALL_EVERY == 0)
			n = check_quiet(d, start);
	}
	return n;
}

/* Latencies in samples, sorted in place, into the result. */
static void summarize(struct perf_result *r, uint64_t *samples, size_t n)
{
	struct stats s = stats_of(samples, n);

	r->least_ns = s.min;
	r->mean_ns = s.mean;
	r->most_ns = s.max;
	for (uint32_t i = 0; i < PERF_PERCENTILES; i++)
		r->percentile_ns[i] = stats_percentile(samples, n, perf_percentiles[i].which);
}

static int drive_latency(struct load *d, struct perf_result *r)
{
	const struct perf_test *t = &d->e->test;
	bool is_mutual = t->op == PERF_WRITE || takes_receives(t);
	uint64_t most = t->count && t->count < SAMPLES_MAX ? t->count : SAMPLES_MAX;
	uint64_t *samples = malloc(most * sizeof *samples);
	uint64_t start = clock_now(), n = 0, now = start, legs = is_mutual ? 2 : 1;
	int answer = samples ? 0 : -ENOMEM;

	perf_interval_begin(&d->interval, d->e, d->l, start);
	while (answer == 0 &&
	       (t->count ? n < t->count : now - start < t->duration_ms * NSEC_PER_MS)) {
		uint64_t before = now;

		answer = is_mutual ? ping(d, (uint8_t)(n % 255 + 1)) : round_trip(d);
		now = clock_now();
		samples[n++ % most] = (now - before) / legs;
		look(d, now, n, legs);
	}
	if (answer == 0)
		finish_look(d, now, n, legs);
	r->messages = n;
	r->elapsed_ns = now - start;
	if (answer == 0)
		summarize(r, samples, n < most ? n : most);
	free(samples);
	return answer;
}

uint32_t perf_depth(const struct perf_test *t)
{
	uint64_t most = OUT_BYTES / t->size / t->qps;

	return most < 2          ? (t->depth < 2 ? t->depth : 2)
	       : most < t->depth ? (uint32_t)most
				 : t->depth;
}

/* A device is opened for each test, and its counters begin at 0 with it. */
static void count(struct perf_end *e, struct perf_result *r)
{
	const struct transport *t = transports[e->test.transport];

	r->retransmitted = nic_count(e->user, t->count_retx);
	for (uint32_t i = 0; i < t->n_retx_reasons && i < PERF_REASONS_MAX; i++)
		r->reasons[i] = nic_count(e->user, t->retx_reasons[i]);
	for (uint32_t i = 0; i < e->test.qps; i++) {
		struct transport_progress p;

		if (nic_qp_progress(e->qps[i], &p) != 0)
			continue;
		r->evs_used += p.evs[PATH_GOOD] + p.evs[PATH_SKIP];
		for (uint32_t state = 0; state < PATH_STATES; state++)
			r->evs += p.evs[state];
	}
}

int perf_drive(struct perf_end *e, struct perf_link *l, struct perf_result *result)
{
	struct load *d = calloc(1, sizeof *d);
	struct lane *lanes = calloc(e->test.qps, sizeof *lanes);
	int answer = d && lanes ? 0 : -ENOMEM;

	*result = (struct perf_result){.test = e->test,
				       .has_profile = l->choice.has_profile,
				       .profile = l->choice.profile,
				       .driver = config_driver_names[e->info.setup.driver]};
	if (answer == 0) {
		*d = (struct load){.e = e, .l = l, .lanes = lanes, .signal_every = 1};
		if (takes_receives(&e->test) && e->test.mode == PERF_LATENCY)
			answer = post_all_receives(d);
	}
	if (answer == 0)
		answer = e->test.mode == PERF_LATENCY ? drive_latency(d, result)
						      : drive_bandwidth(d, result);
	if (answer == 0)
		count(e, result);
	free(lanes);
	free(d);
	return answer;
}

/* The server's half of ping: answers each mark once. */
static int answer_writes(struct load *d, uint8_t *last)
{
	const struct perf_end *e = d->e;
	uint32_t size = e->test.size;
	uint8_t mark = __atomic_load_n(perf_in_at(e, 0, 0) + size - 1, __ATOMIC_ACQUIRE);

	if (mark == *last)
		return 0;
	perf_out_at(e, 0, 0)[size - 1] = mark;
	int posted = post(d, 0, 1);

	/* The acknowledgement of the last answer may still be on its way: later, then. */
	if (posted == 1)
		*last = mark;
	return posted < 0 ? posted : 0;
}

/* What the server does with completions: receives are posted again; in a ping-pong, answered. */
static int answer_sends(struct load *d, int n)
{
	int reported = d->is_behind ? report_all_credits(d) : 0;

	if (reported != 0)
		return reported;
	for (int k = 0; k < n; k++) {
		if (d->done[k].code != ENGINE_DONE_RECEIVED)
			continue;
		uint32_t i = (uint32_t)d->done[k].cookie;
		int answer = post_receives(d, i, 1);

		if (answer == 0 && has_credits(&d->e->test) &&
		    d->lanes[i].receives - d->lanes[i].reported >= CREDITS)
			answer = report_credits(d, i);
		if (answer != 0)
			return answer;
		d->n_owed += d->e->test.mode == PERF_LATENCY;
	}
	/* The acknowledgement of the last answer may still be on its way: later, then. */
	int posted = d->n_owed > 0 ? post(d, 0, 1) : 0;

	if (posted < 0)
		return posted;
	d->n_owed -= (uint32_t)posted;
	return 0;
}

int perf_serve(struct perf_end *e, struct perf_link *l)
{
	struct load *d = calloc(1, sizeof *d);
	struct lane *lanes = calloc(e->test.qps, sizeof *lanes);
	bool is_mutual = e->test.mode == PERF_LATENCY && e->test.op == PERF_WRITE;
	uint8_t last = 0;
	int answer = d && lanes ? 0 : -ENOMEM;

	if (answer == 0) {
		*d = (struct load){.e = e, .l = l, .lanes = lanes, .signal_every = 1};
		if (takes_receives(&e->test))
			answer = post_all_receives(d);
		for (uint32_t i = 0; i < e->test.qps; i++)
			lanes[i].reported = lanes[i].receives;
	}
	if (answer == 0)
		answer = perf_send_line(l, "go");
	if (answer == 0)
		perf_interval_begin(&d->interval, e, l, clock_now());
	for (uint64_t polls = 1; answer == 0; polls++) {
		int n = poll(d);

		if (n < 0)
			answer = n;
		else if (takes_receives(&e->test))
			answer = answer_sends(d, n);
		else if (is_mutual)
			answer = answer_writes(d, &last);
		if (polls % CALL_EVERY != 0)
			continue;
		if (d->interval.next_ns != UINT64_MAX)
			look(d, clock_now(), 0, 1);
		if (perf_is_called(l))
			break;
	}
	if (answer == 0)
		finish_look(d, clock_now(), 0, 1);
	free(lanes);
	free(d);
	return answer;
}
