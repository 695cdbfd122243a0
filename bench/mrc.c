/* What MRC costs: nanoseconds of one core for each data packet delivered, both ends and all their
 * acknowledgements together, with virtual payload, and what it costs more while events are
 * recorded; and the memory of a queue pair that is idle.
 *
 * bench-mrc [--quick] [--json]. Two engines hand each other packets without a wire, in virtual
 * time. Times are reported, never judged. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mrc/mrc.h"
#include "tools/json_file.h"

#define BATCH      60u /* packets a pull, as drivers ask for */
#define STEP_NS    1000u
#define PMTU       4096u
#define MESSAGE    (1u << 20)
#define EVS        64u
#define FIRST_QP   3u
#define AIM_NS     250.0
#define AIM_TRACED 1.05
#define RUNS       100u
#define WINDOW     (256u * PMTU)
#define MPR        8u
#define DEPTH      4u /* messages posted at a time */
#define LINE       64u
#define SLOTS      4096u  /* of each end's trace, as a device has them */
#define QUICK_PKTS 10000u /* of a run */
#define FULL_PKTS  100000u

struct end {
	struct engine *engine;
	void **memory; /* of queue pairs */
	struct trace trace;
	void *ring;
	struct tx_pkt tx[BATCH];
	uint8_t heads[BATCH][ENGINE_HEAD_MAX];
};

struct bench {
	struct mem *mem;
	struct path_ev evs[EVS];
	struct path_profile set;
	uint64_t set_memory[EVS * 4];
	struct end ends[2];
	uint32_t n_qps;
	nsec now;
	uint64_t delivered;
};

/* Time of this processor that we had: others may have it in between. */
static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void must(bool is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "bench-mrc: %s\n", what);
	exit(1);
}

static void *block(size_t bytes)
{
	void *memory = bytes ? calloc(1, bytes) : NULL;

	must(memory, "out of memory");
	return memory;
}

static struct mrc_caps caps_of(void)
{
	return (struct mrc_caps){
		.max_send = 2 * DEPTH, .max_recv = 0, .max_send_sge = 1, .max_mpr = MPR};
}

static void open_pair(struct bench *b, uint32_t side, uint32_t i)
{
	const struct mrc_caps caps = caps_of();
	struct engine *e = b->ends[side].engine;
	struct mrc_attr attr = {
		.access = MEM_REMOTE_WRITE,
		.pmtu = PMTU,
		.peer = 1 - side,
		.evs = &b->set,
		.remote_qp = FIRST_QP + i,
		.timeout = 14,
		.linear_retries = 7,
		.mpr = MPR,
		.mpr_dest = MPR,
		.state = MRC_INIT,
	};
	void *memory = block(mrc_qp_size(&caps));

	b->ends[side].memory[i] = memory;
	must(mrc_qp_new(e, FIRST_QP + i, &caps, memory) == 0, "no queue pair");
	bool is_open =
		mrc_qp_modify(e, b->now, FIRST_QP + i, &attr, MRC_SET_STATE | MRC_SET_ACCESS) == 0;

	attr.state = MRC_RTR;
	is_open &= mrc_qp_modify(e, b->now, FIRST_QP + i, &attr,
				 MRC_SET_STATE | MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP |
					 MRC_SET_RQ_PSN | MRC_SET_MPR) == 0;
	attr.state = MRC_RTS;
	is_open &= mrc_qp_modify(e, b->now, FIRST_QP + i, &attr,
				 MRC_SET_STATE | MRC_SET_SQ_PSN | MRC_SET_MPR_DEST |
					 MRC_SET_TIMEOUT | MRC_SET_RETRIES) == 0;
	must(is_open, "a queue pair does not open");
}

static void open_end(struct bench *b, uint32_t side)
{
	struct end *end = &b->ends[side];
	struct mrc_cfg cfg = {
		.mem = b->mem,
		.max_qps = b->n_qps,
		.cc = {.kind = CC_FIXED, .window_bytes = WINDOW},
		.max_out_pkts = b->n_qps * 512u,
		.max_early_pkts = b->n_qps * 512u,
		.trace = {.to = &end->trace},
	};

	end->engine = block(mrc_ops.size(&cfg));
	end->memory = block(b->n_qps * sizeof(void *));
	end->ring = aligned_alloc(LINE, trace_bytes(SLOTS));
	must(end->ring, "out of memory");
	memset(end->ring, 0, trace_bytes(SLOTS));
	must(mrc_ops.init(end->engine, &cfg, b->now) == 0, "the engine does not start");
	for (uint32_t i = 0; i < BATCH; i++)
		end->tx[i].head = end->heads[i];
	for (uint32_t i = 0; i < b->n_qps; i++)
		open_pair(b, side, i);
}

static void open_bench(struct bench *b, uint32_t n_qps)
{
	struct mem_entry all = {
		.len = UINT64_MAX,
		.key = 1,
		.qp = MEM_ANY_QP,
		.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE,
	};

	*b = (struct bench){.n_qps = n_qps, .now = 1000000};
	b->mem = mem_init(block(mem_bytes(1)), 1);
	must(mem_add(b->mem, &all) == 0, "no memory region");
	for (uint32_t i = 0; i < EVS; i++)
		b->evs[i] = (struct path_ev){.value = i << 16};
	path_profile_explicit(&b->set, b->set_memory, b->evs, EVS);
	open_end(b, 0);
	open_end(b, 1);
}

static void close_bench(struct bench *b)
{
	for (uint32_t side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < b->n_qps; i++)
			free(b->ends[side].memory[i]);
		free(b->ends[side].memory);
		free(b->ends[side].ring);
		free(b->ends[side].engine);
	}
	free(b->mem);
}

static void post(struct bench *b, uint32_t qp)
{
	struct sge sge = {NULL, MESSAGE, 1};
	struct op op = {
		.code = ENGINE_WRITE, .key = 1, .cookie = qp, .qp = qp, .sg = &sge, .n_sg = 1};
	struct engine *e = b->ends[0].engine;

	must(e->ops->post(e, b->now, &op) == 0, "work is refused");
}

/* What one end has to say reaches the other at once. */
static uint32_t pass(struct bench *b, uint32_t side)
{
	static const struct engine_room room = {.pkts = {BATCH}, .may = UINT32_MAX};
	struct end *from = &b->ends[side], *to = &b->ends[1 - side];
	struct rx_pkt rx[BATCH];
	uint32_t n = from->engine->ops->pull(from->engine, b->now, &room, from->tx, BATCH);

	for (uint32_t i = 0; i < n; i++) {
		const struct tx_pkt *t = &from->tx[i];
		uint32_t bytes = t->head_len;

		rx[i] = (struct rx_pkt){.head = {t->head, t->head_len},
					.at = b->now,
					.peer = side,
					.ev = t->ev,
					.ecn = 2};
		for (uint32_t k = 0; k < t->n_body && k < 2; k++) {
			rx[i].body[k] = t->body[k];
			bytes += t->body[k].len;
		}
		rx[i].udp_len = (uint16_t)(8 + bytes + 4);
	}
	if (n)
		to->engine->ops->input(to->engine, b->now, rx, n);
	return n;
}

static void run(struct bench *b, uint64_t pkts)
{
	const struct mrc_counters *c = mrc_counters(b->ends[1].engine);
	struct engine *e = b->ends[0].engine;
	uint64_t end = c->rx_data + pkts;
	struct done done[BATCH];

	while (c->rx_data < end) {
		uint32_t moved = pass(b, 0) + pass(b, 1);
		uint32_t n = e->ops->poll(e, done, BATCH);

		for (uint32_t i = 0; i < n; i++) {
			must(done[i].status == ENGINE_OK, "work failed");
			post(b, (uint32_t)done[i].cookie);
		}
		b->now += STEP_NS;
		must(moved || n || e->ops->deadline(e, engine_may_all(1)) != NSEC_NEVER,
		     "it stands still");
	}
}

static void trace(struct bench *b, bool is_on)
{
	for (uint32_t side = 0; side < 2; side++)
		trace_lend(&b->ends[side].trace, is_on ? b->ends[side].ring : NULL, SLOTS);
}

/* Without events, and with them: by turns, in runs so short that what else the machine does leaves
 * some of them alone, and the best of each. */
struct cost {
	double ns, traced_ns;
};

static double time_run(struct bench *b, uint64_t pkts, double best)
{
	double start = now_s();

	run(b, pkts);
	double ns = (now_s() - start) * 1e9 / (double)pkts;

	return ns < best ? ns : best;
}

static struct cost measure(uint32_t n_qps, uint64_t pkts)
{
	static struct bench b;
	struct cost best = {1e9, 1e9};

	open_bench(&b, n_qps);
	for (uint32_t i = 0; i < n_qps; i++)
		for (uint32_t k = 0; k < DEPTH; k++)
			post(&b, FIRST_QP + i);
	run(&b, pkts * RUNS / 20);
	for (uint32_t i = 0; i < RUNS; i++) {
		best.ns = time_run(&b, pkts, best.ns);
		trace(&b, true);
		best.traced_ns = time_run(&b, pkts, best.traced_ns);
		trace(&b, false);
	}
	close_bench(&b);
	return best;
}

int main(int argc, char **argv)
{
	bool is_json = false;
	uint64_t pkts = FULL_PKTS;
	const struct mrc_caps caps = caps_of();

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--quick"))
			pkts = QUICK_PKTS;
		else if (!strcmp(argv[i], "--json"))
			is_json = true;
	}
	const struct cost one = measure(1, pkts), many = measure(1000, pkts);
	size_t idle = mrc_qp_size(&caps);

	if (is_json) {
		struct json_writer w = json_file(stdout);

		json_object(&w, NULL, JSON_INLINE);
		json_measured(&w, "one_qp_ns", one.ns, 1);
		json_measured(&w, "thousand_qps_ns", many.ns, 1);
		json_measured(&w, "one_qp_traced_ratio", one.traced_ns / one.ns, 3);
		json_measured(&w, "thousand_qps_traced_ratio", many.traced_ns / many.ns, 3);
		json_number(&w, "idle_qp_bytes", idle);
		json_close(&w);
		json_end(&w);
		return 0;
	}
	printf("%-58s %10s %10s\n", "MRC, PMTU 4096, virtual payload, 64 EVs", "measured", "aim");
	printf("%-58s %10.1f %10.0f\n", "ns a delivered packet, both ends, 1 queue pair", one.ns,
	       AIM_NS);
	printf("%-58s %10.1f %10.0f\n", "the same, 1000 queue pairs", many.ns, AIM_NS);
	printf("%-58s %10.3f %10.2f\n", "ratio to that with events recorded, 1 queue pair",
	       one.traced_ns / one.ns, AIM_TRACED);
	printf("%-58s %10.3f %10.2f\n", "the same, 1000 queue pairs", many.traced_ns / many.ns,
	       AIM_TRACED);
	printf("%-58s %10zu\n", "bytes of an idle queue pair (8 sends, a range of 1024)", idle);
	return 0;
}
