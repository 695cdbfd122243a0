/* Flows from start to completion: times against a naive model of store and forward, to the
 * picosecond, and what becomes of a flow that cannot go on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "leaf_spine.h"
#include "scenario/hosts.h"
#include "sim/ideal.h"
#include "sim/traffic.h"
#include "watched.h"
#include "wire/icrc.h"
#include "wire/mrc.h"

#define RATE      UINT64_C(400000000000) /* 20 ps per byte */
#define DELAY     PSEC_US
#define PAYLOAD   4096u
#define IN_FRONT  (14u + 40u + 8u)      /* Ethernet, IPv6, UDP */
#define HEAD      (12u + 4u + 16u + 4u) /* BTH, METH, RETH and the ICRC behind */
#define IMM       4u
#define RTO_NS    UINT64_C(50000)
#define SEEN_MAX  4096u
#define TICKS_MAX 1000u

static const struct fwd_names names = {0, 10, 12, 18, 20, 46};

/* A completion, as it came. */
struct seen {
	psec at;
	uint32_t host, flow, len;
	int16_t status;
	uint8_t code;
};

/* One run, and what it is made of. Tests change cfg and the like between prepare and start. */
static struct topology topology;
static struct routing routing;
static struct hosts_cfg hosts_cfg;
static struct hosts fleet;
static struct workload workload;
static struct traffic traffic;
static struct sim_cfg cfg;
static struct sim sim;
static struct seen seen[SEEN_MAX];
static uint32_t n_seen;
static uint64_t ticks[TICKS_MAX]; /* bytes that came in each microsecond */
static char error[256];

static void on_done(void *context, struct sim *s, uint32_t host, const struct done *done)
{
	bool is_sent = done->code == ENGINE_DONE_SENT;

	(void)context;
	if (n_seen < SEEN_MAX)
		seen[n_seen++] = (struct seen){
			.at = sim_now(s),
			.host = host,
			.flow = (uint32_t)(is_sent ? done->cookie : done->imm),
			.len = is_sent ? (uint32_t)(done->cookie >> 32) : done->len,
			.status = done->status,
			.code = done->code,
		};
	traffic_done(&traffic, s, host, done);
}

static void on_received(void *context, struct sim *s, uint32_t host, uint64_t bytes)
{
	(void)context;
	assert_in_range(host, 0, s->n_hosts - 1);
	assert_in_range(bytes, 1, PAYLOAD);
	if (sim_now(s) / PSEC_US < TICKS_MAX)
		ticks[sim_now(s) / PSEC_US] += bytes;
	traffic_received(&traffic, s, bytes);
}

static void on_alarm(void *context, struct sim *s, uint32_t host)
{
	(void)context;
	assert_in_range(host, 0, s->n_hosts - 1);
	traffic_alarm(&traffic, s, host);
}

static void on_restarted(void *context, struct sim *s, uint32_t host)
{
	(void)context;
	traffic_restarted(&traffic, s, host);
}

static struct topology_cfg leaf_spine(uint32_t hosts, uint32_t hosts_per_leaf, uint32_t spines)
{
	return leaf_spine_of(hosts, hosts_per_leaf, spines, (struct topology_link){RATE, DELAY, 0});
}

static struct topology_cfg wire(void)
{
	struct topology_cfg t = leaf_spine(2, 1, 1);

	t.kind = TOPOLOGY_WIRE;
	return t;
}

static void prepare(const struct topology_cfg *t)
{
	struct routing_cfg r = {
		.mode = ROUTING_ECMP,
		.hash_fields = FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL,
		.trims = net_trims_of(names.trimmed, names.trimmed_lasthop),
	};
	struct fwd_bdp bdp = {4000000, true, true, 28};

	watched_clear(false);
	n_seen = 0;
	memset(ticks, 0, sizeof ticks);
	assert_int_equal(topology_build(&topology, t, error, sizeof error), 0);
	assert_int_equal(routing_build(&routing, &topology, &r, 7, error, sizeof error), 0);
	workload_init(&workload);
	hosts_cfg = (struct hosts_cfg){
		.routing = &routing,
		.seed = 3,
		.payload_bytes = PAYLOAD,
		.window_pkts = 1024,
		.entropies = 64,
		.options = {.ack_every_pkts = 4, .retries = 2},
		.timeout_ns = RTO_NS,
	};
	cfg = (struct sim_cfg){
		.seed = 1,
		.topology = &topology,
		.routing = &routing,
		.names = names,
		.overhead_bytes = 24,
		.nic_queue_pkts = 2,
		.transport = &fleet.sim,
		.hooks = {.done = on_done,
			  .received = on_received,
			  .alarm = on_alarm,
			  .restarted = on_restarted},
	};
	fwd_qos_recommended(&cfg.qos, &names, &bdp);
}

static uint32_t add(uint32_t src, uint32_t dst, uint64_t bytes)
{
	struct workload_flow f = {.src = src, .dst = dst, .bytes = bytes, .window = 1, .repeat = 1};

	return workload_add(&workload, &f);
}

static void start(void)
{
	assert_int_equal(traffic_init(&traffic, &workload, topology.n_hosts, PSEC_US), 0);
	if (!hosts_cfg.qps)
		hosts_cfg.qps = traffic.qps;
	if (!hosts_cfg.ops)
		hosts_cfg.ops = traffic.ops;
	assert_int_equal(hosts_init(&fleet, &hosts_cfg), 0);
	fleet.sim.ops = &watched_ops;
	assert_int_equal(sim_init(&sim, &cfg), 0);
	assert_int_equal(traffic_start(&traffic, &sim), 0);
	assert_false(traffic_is_over(&traffic));
}

static void finish(void)
{
	psec until = 0;

	while (sim_run(&sim, until)) {
		assert_true(sim_is_conserved(&sim));
		until += 100 * PSEC_US;
	}
	assert_true(sim_is_conserved(&sim));
	assert_int_equal(sim_in_flight(&sim), 0);
	assert_true(traffic_is_over(&traffic));
}

static void end(void)
{
	sim_fini(&sim);
	hosts_fini(&fleet);
	traffic_fini(&traffic);
	workload_fini(&workload);
	routing_fini(&routing);
	topology_fini(&topology);
}

/* When packets of these sizes, sent back to back at 0, have arrived: one after the other, hop by
 * hop. */
static psec model(uint32_t src, uint32_t dst, const uint32_t *frames, uint32_t n)
{
	uint32_t hops[16], n_hops = routing_hops(&routing, src, 0, dst, 0, hops, 16);
	psec free_at[16] = {0}, at = 0;

	for (uint32_t i = 0; i < n; i++) {
		at = 0;
		for (uint32_t h = 0; h < n_hops; h++) {
			const struct topology_port *port = &topology.ports[hops[h]];

			at = at > free_at[h] ? at : free_at[h];
			at += psec_of_bytes(frames[i] + cfg.overhead_bytes, port->rate_bps);
			free_at[h] = at;
			at += port->delay_ps;
			if (h + 1 < n_hops)
				at += topology.switch_delay_ps;
		}
	}
	return at;
}

/* The packets of a message. What is really sent is padded to words, and the last one carries
 * immediate data; the ideal knows of neither. */
static psec model_message(uint32_t src, uint32_t dst, uint64_t bytes, bool is_real)
{
	static uint32_t frames[2000];
	uint32_t ports = topology.nodes[src].n_ports, n = 0;
	uint32_t ack = IN_FRONT + mrc_bth_bytes + seth_bytes + cc_state_bytes + icrc_bytes;
	psec last = 0;

	for (uint32_t p = 0; p < ports; p++) {
		n = 0;
		for (uint64_t at = (uint64_t)p * PAYLOAD; at < bytes; at += ports * PAYLOAD) {
			bool is_last = bytes - at <= PAYLOAD;
			uint32_t len = is_last ? (uint32_t)(bytes - at) : PAYLOAD;

			if (is_real)
				len = (len + 3) / 4 * 4 + (is_last ? IMM : 0);
			frames[n++] = IN_FRONT + HEAD + len;
		}
		psec at = model(src, dst, frames, n);

		last = at > last ? at : last;
	}
	return last + model(dst, src, &ack, 1);
}

static void check_alone(const struct topology_cfg *t, uint32_t dst, uint64_t bytes)
{
	prepare(t);
	/* Else the last acknowledgement may have to wait for the one before. */
	hosts_cfg.options.ack_every_pkts = 1024;
	hosts_cfg.timeout_ns = 1000 * RTO_NS;
	add(0, dst, bytes);
	start();
	finish();
	const struct traffic_flow *f = &traffic.flows[0];

	assert_int_equal(f->state, TRAFFIC_DONE);
	assert_int_equal(f->started_ps, 0);
	assert_int_equal(f->completed_ps, model_message(0, dst, bytes, true));
	assert_int_equal(f->busy_ps, f->completed_ps);
	assert_int_equal(f->total_bytes, bytes);
	assert_int_equal(ideal_time(&sim, 0, dst, bytes), model_message(0, dst, bytes, false));
	assert_true(f->completed_ps >= ideal_time(&sim, 0, dst, bytes));
	assert_true(f->delivered_ps < f->completed_ps);
	assert_int_equal(fleet.sim.retransmitted(&fleet, sim.hosts[0].engine), 0);
	end();
}

static const uint64_t sizes[] = {1,     4,      5,       64,       4095,     4096,
				 4097,  8191,   8192,    3 * 4096, 5 * 4096, 20480 + 4,
				 65536, 100000, 1048576, 1048579};
#define N_SIZES (sizeof sizes / sizeof sizes[0])

static void a_flow_alone_takes_what_the_model_says(void **state)
{
	struct topology_cfg one = wire(), same = leaf_spine(4, 2, 1), tree = leaf_spine(16, 2, 1);
	struct topology_cfg slow_core = leaf_spine(4, 2, 1), slow_end = leaf_spine(4, 2, 1);

	(void)state;
	same.switch_delay_ps = 300001;
	tree.kind = TOPOLOGY_FAT_TREE;
	tree.leaves_per_pod = 2;
	tree.cores = 1;
	slow_core.links[1].rate_bps = UINT64_C(25000000000);
	slow_core.links[0].delay_ps = 20000;
	slow_end.links[0].rate_bps = UINT64_C(30000000000); /* 266.67 ps per byte */
	for (uint32_t i = 0; i < N_SIZES; i++) {
		check_alone(&one, 1, sizes[i]);
		check_alone(&same, 1, sizes[i]);
		check_alone(&same, 3, sizes[i]);
		check_alone(&tree, 15, sizes[i]);
		check_alone(&slow_core, 3, sizes[i]);
		check_alone(&slow_end, 3, sizes[i]);
	}
}

static void a_flow_uses_all_ports_of_its_host(void **state)
{
	static const uint32_t ports[] = {2, 3, 8};

	(void)state;
	for (uint32_t k = 0; k < 3; k++) {
		struct topology_cfg t = leaf_spine(4, 2, 1);

		t.planes = ports[k];
		t.nic_ports = ports[k];
		for (uint32_t i = 0; i < N_SIZES; i++)
			check_alone(&t, 3, sizes[i]);
	}
}

/* A last packet that is short may overtake on another path: then it costs nothing at the end. With
 * full ones there is nothing to gain. */
static void many_paths_are_as_fast_as_one(void **state)
{
	struct topology_cfg t = leaf_spine(8, 4, 4);

	(void)state;
	t.planes = 2;
	t.nic_ports = 2;
	for (uint32_t n = 1; n < 300; n += n / 2 + 1)
		check_alone(&t, 7, (uint64_t)n * PAYLOAD);
}

/* The formula of those who measure with fixed packet sizes: n t + (hops - 1) t + 2 hops 1 us +
 * hops t_ack. */
static void the_ideal_is_the_known_formula(void **state)
{
	struct topology_cfg t = leaf_spine(128, 16, 16);
	psec data = (IN_FRONT + HEAD + PAYLOAD) * 20;

	(void)state;
	prepare(&t);
	cfg.overhead_bytes = 0;
	add(0, 1, 1);
	start();
	psec ack = (IN_FRONT + fleet.sim.ack_bytes) * 20;

	for (uint64_t n = 1; n <= 2048; n += 1 + n / 2) {
		psec near = n * data + data + 2 * 2 * PSEC_US + 2 * ack;
		psec far = n * data + 3 * data + 2 * 4 * PSEC_US + 4 * ack;

		assert_int_equal(ideal_time(&sim, 0, 15, n * PAYLOAD), near);
		assert_int_equal(ideal_time(&sim, 0, 16, n * PAYLOAD), far);
	}
	finish();
	end();
}

static void repetitions_follow_after_their_gap(void **state)
{
	struct topology_cfg t = wire();

	(void)state;
	prepare(&t);
	uint32_t flow = add(0, 1, 50000);

	workload.flows[flow].repeat = 3;
	workload.flows[flow].gap_ps = 5 * PSEC_US + 1;
	workload.flows[flow].start_ps = 7 * PSEC_US + 3;
	start();
	psec each = model_message(0, 1, 50000, true), first = 7 * PSEC_US + 3;
	const struct traffic_flow *f = &traffic.flows[0];

	/* In the gap nothing runs, and still it is not over. */
	sim_run(&sim, first + each + PSEC_US);
	assert_int_equal(f->repeats_left, 2);
	assert_int_equal(f->state, TRAFFIC_RUNNING);
	assert_false(traffic_is_over(&traffic));
	assert_int_equal(sim_in_flight(&sim), 0);
	finish();
	assert_int_equal(f->started_ps, first);
	assert_int_equal(f->busy_ps, 3 * each);
	assert_int_equal(f->completed_ps, first + 3 * each + 2 * (5 * PSEC_US + 1));
	assert_int_equal(f->total_bytes, 150000);
	assert_int_equal(traffic.n_done, 1);
	assert_int_equal(watched_table[0].posts, 3);
	end();
}

/* Messages posted at a time, from the outside: posts the engine took less completions. */
static void messages_keep_to_their_window(void **state)
{
	(void)state;
	for (uint32_t window = 1; window < 14; window += 3) {
		struct topology_cfg t = wire();

		prepare(&t);
		uint32_t flow = add(0, 1, 95000);

		workload.flows[flow].message_bytes = 10000;
		workload.flows[flow].window = window;
		start();
		assert_int_equal(traffic.ops[0], window < 10 ? window : 10);
		assert_int_equal(traffic.ops[1], 0);
		uint32_t most = 0, acked = 0, at = 0;

		for (psec now = 0; sim_run(&sim, now) && now < PSEC_MS; now += 5000) {
			for (; at < n_seen; at++)
				acked += seen[at].code == ENGINE_DONE_SENT;
			uint32_t out = (uint32_t)watched_table[0].posts - acked;

			assert_in_range(out, 0, window);
			assert_int_equal(out, traffic.flows[0].outstanding);
			most = out > most ? out : most;
		}
		finish();
		assert_int_equal(most, window < 10 ? window : 10);
		assert_int_equal(watched_table[0].posts, 10);
		assert_int_equal(n_seen, 20);
		uint32_t sent = 0, received = 0;

		for (uint32_t i = 0; i < n_seen; i++) {
			uint32_t *n = seen[i].code == ENGINE_DONE_SENT ? &sent : &received;

			assert_int_equal(seen[i].len, ++*n == 10 ? 5000 : 10000);
			assert_int_equal(seen[i].host, seen[i].code != ENGINE_DONE_SENT);
		}
		assert_int_equal(traffic.flows[0].total_bytes, 95000);
		end();
	}
}

static void flows_start_on_time(void **state)
{
	struct topology_cfg t = leaf_spine(8, 4, 4);
	struct prng random;

	(void)state;
	prng_init(&random, check_seed(11), 0);
	for (uint32_t n = 1; n < 200; n += 1 + n / 12) {
		prepare(&t);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t src = (uint32_t)prng_below(&random, 8);
			uint32_t dst = (src + 1 + (uint32_t)prng_below(&random, 7)) % 8;
			uint32_t flow = add(src, dst, 5000);

			workload.flows[flow].start_ps = prng_below(&random, 40) * PSEC_US / 3;
		}
		start();
		finish();
		assert_int_equal(traffic.n_done, n);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(traffic.flows[i].started_ps, workload.flows[i].start_ps);
		end();
	}
}

static void connections_are_shared_by_pairs(void **state)
{
	struct topology_cfg t = leaf_spine(4, 2, 2);

	(void)state;
	prepare(&t);
	for (uint32_t i = 0; i < 5; i++)
		add(0, 3, 1000 + i);
	add(3, 0, 1000);
	add(0, 2, 1000);
	start();
	assert_int_equal(traffic.n_links, 3);
	assert_int_equal(traffic.qps[0], 3);
	assert_int_equal(traffic.qps[1], 0);
	assert_int_equal(traffic.qps[2], 1);
	assert_int_equal(traffic.qps[3], 2);
	assert_int_equal(traffic.ops[0], 6);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(traffic.flows[i].link, 0);
	finish();
	assert_int_equal(traffic.n_done, 7);
	end();
}

static void connections_are_told_apart_by_number(void **state)
{
	struct topology_cfg t = leaf_spine(4, 2, 2);

	(void)state;
	prepare(&t);
	for (uint32_t i = 0; i < 6; i++) {
		add(0, 3, 1000 + i);
		/* The same place of the table, whatever its size. */
		workload.flows[i].qp = (i % 3) << 16;
	}
	start();
	assert_int_equal(traffic.n_links, 3);
	assert_int_equal(traffic.qps[0], 3);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(traffic.flows[i].link, i % 3);
	finish();
	assert_int_equal(traffic.n_done, 6);
	end();
}

/* A step starts at the very moment the last of those before it was delivered, and not before its
 * own time. */
static void check_dependencies(enum workload_kind kind, psec stagger)
{
	struct topology_cfg t = leaf_spine(8, 4, 4);
	struct workload_cfg pattern = {
		.kind = kind,
		.hosts = 8,
		.bytes = 400000,
		.chunk_bytes = 50000,
		.window = 1,
		.repeat = 1,
		.start_ps = PSEC_US,
		.stagger_ps = stagger,
	};
	uint32_t waited = 0;

	prepare(&t);
	assert_int_equal(workload_build(&workload, &pattern, 1, error, sizeof error), 0);
	start();
	finish();
	assert_int_equal(traffic.n_done, workload.n);
	static psec ready[4096];

	for (uint32_t i = 0; i < workload.n; i++)
		ready[i] = workload.flows[i].start_ps;
	for (uint32_t i = 0; i < workload.n; i++)
		for (uint32_t k = 0; k < workload.flows[i].n_after; k++) {
			uint32_t next = workload.after[workload.flows[i].first_after + k];

			if (traffic.flows[i].delivered_ps > ready[next])
				ready[next] = traffic.flows[i].delivered_ps;
			waited++;
		}
	assert_true(waited > 20);
	for (uint32_t i = 0; i < workload.n; i++)
		assert_int_equal(traffic.flows[i].started_ps, ready[i]);
	end();
}

static void dependencies_are_kept(void **state)
{
	(void)state;
	check_dependencies(WORKLOAD_RING, 0);
	check_dependencies(WORKLOAD_RING, 9 * PSEC_US);
	check_dependencies(WORKLOAD_TREE, 0);
	check_dependencies(WORKLOAD_TREE, 200 * PSEC_US);
}

/* One that is repeated is waited for to the end. */
static void the_last_repetition_releases(void **state)
{
	struct topology_cfg t = wire();

	(void)state;
	prepare(&t);
	uint32_t first = add(0, 1, 10000), second = add(1, 0, 100);

	workload.flows[first].repeat = 3;
	workload.flows[first].gap_ps = PSEC_US;
	assert_int_equal(workload_wait(&workload, first, second), 0);
	start();
	finish();
	assert_int_equal(traffic.flows[second].started_ps, traffic.flows[first].delivered_ps);
	assert_true(traffic.flows[second].started_ps > 2 * model_message(0, 1, 10000, true));
	end();
}

static void ticks_add_up_to_what_was_delivered(void **state)
{
	struct topology_cfg t = leaf_spine(8, 4, 4);
	uint64_t sum = 0, bytes = 0;

	(void)state;
	prepare(&t);
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t flow = add(i, (i + 3) % 8, 100000 + i);

		workload.flows[flow].message_bytes = 7000;
		workload.flows[flow].window = 2;
		workload.flows[flow].start_ps = i * 20 * PSEC_US;
		workload.flows[flow].repeat = 1 + i % 2;
		bytes += (100000 + i) * (1 + i % 2);
	}
	start();
	finish();
	assert_in_range(traffic.n_ticks, 1, TICKS_MAX);
	for (uint32_t i = 0; i < traffic.n_ticks; i++) {
		assert_int_equal(traffic.ticks[i], ticks[i]);
		sum += traffic.ticks[i];
	}
	assert_true(traffic.ticks[traffic.n_ticks - 1] > 0);
	assert_int_equal(sum, bytes);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(traffic.flows[i].total_bytes, (100000 + i) * (1 + i % 2));
	end();
}

static void who_is_cut_off_fails(void **state)
{
	struct topology_cfg t = leaf_spine(4, 2, 2);

	(void)state;
	prepare(&t);
	uint32_t lost = add(0, 3, 100000), fine = add(1, 2, 100000), later = add(2, 0, 1000);
	uint32_t last = add(2, 1, 1000);

	assert_int_equal(workload_wait(&workload, lost, later), 0);
	assert_int_equal(workload_wait(&workload, later, last), 0);
	start();
	sim_port_set_down(&sim, topology.nodes[3].first_port, true);
	sim_port_set_down(&sim, sim.ports[topology.nodes[3].first_port].peer, true);
	finish();
	assert_int_equal(traffic.flows[lost].state, TRAFFIC_FAILED);
	assert_int_equal(traffic.flows[lost].status, -ETIMEDOUT);
	assert_int_equal(traffic.flows[fine].state, TRAFFIC_DONE);
	assert_int_equal(traffic.flows[later].state, TRAFFIC_WAITING);
	assert_int_equal(traffic.flows[last].state, TRAFFIC_WAITING);
	assert_true(traffic.n_failed == 1 && traffic.n_done == 1 && traffic.n_running == 0);
	/* Time runs from the first packet; with each of two retries twice as long as before. */
	struct seen end_of = {.at = 0};

	for (uint32_t i = 0; i < n_seen; i++)
		if (seen[i].flow == lost && seen[i].code == ENGINE_DONE_SENT)
			end_of = seen[i];
	assert_int_equal(end_of.status, -ETIMEDOUT);
	assert_int_equal(end_of.at, (1 + 2 + 4) * RTO_NS * PSEC_NS);
	assert_int_equal(traffic.flows[lost].total_bytes, 0);
	end();
}

static void work_goes_on_after_a_cut(void **state)
{
	struct topology_cfg t = leaf_spine(4, 2, 2);

	(void)state;
	prepare(&t);
	add(0, 3, 2000000);
	start();
	uint32_t port = topology.nodes[3].first_port, peer = sim.ports[port].peer;

	sim_run(&sim, 10 * PSEC_US);
	sim_port_set_down(&sim, port, true);
	sim_port_set_down(&sim, peer, true);
	sim_run(&sim, 20 * PSEC_US);
	assert_true(sim_is_conserved(&sim));
	sim_port_set_down(&sim, port, false);
	sim_port_set_down(&sim, peer, false);
	finish();
	assert_int_equal(traffic.flows[0].state, TRAFFIC_DONE);
	assert_int_equal(traffic.flows[0].total_bytes, 2000000);
	assert_true(fleet.sim.retransmitted(&fleet, sim.hosts[0].engine) > 0);
	end();
}

/* What has not started finds new queue pairs. */
static void a_restart_fails_what_is_under_way(void **state)
{
	(void)state;
	for (uint32_t host = 0; host < 4; host++) {
		struct topology_cfg t = leaf_spine(4, 2, 2);

		prepare(&t);
		uint32_t running = add(0, 3, 1000000), later = add(3, 0, 1000),
			 other = add(1, 2, 500000);
		uint32_t early = add(3, 1, 100), after = add(2, 1, 700);

		workload.flows[later].start_ps = 15 * PSEC_US;
		workload.flows[other].repeat = 2;
		assert_int_equal(workload_wait(&workload, running, after), 0);
		start();
		sim_run(&sim, 10 * PSEC_US);
		assert_int_equal(traffic.flows[early].state, TRAFFIC_DONE);
		sim_host_restart(&sim, host);
		assert_true(sim_is_conserved(&sim));
		finish();
		bool is_ours = host == 0 || host == 3;

		assert_int_equal(traffic.flows[running].status, is_ours ? -ECONNRESET : 0);
		assert_int_equal(traffic.flows[later].state, TRAFFIC_DONE);
		assert_int_equal(traffic.flows[other].status, is_ours ? 0 : -ECONNRESET);
		assert_int_equal(traffic.flows[other].state,
				 is_ours ? TRAFFIC_DONE : TRAFFIC_FAILED);
		assert_int_equal(traffic.flows[early].state, TRAFFIC_DONE);
		assert_int_equal(traffic.flows[early].status, 0);
		assert_int_equal(traffic.flows[after].state,
				 is_ours ? TRAFFIC_WAITING : TRAFFIC_DONE);
		assert_int_equal(traffic.n_running, 0);
		end();
	}
}

/* An engine with less room than the workload wants makes it slower, and no more. */
static void a_full_engine_is_asked_again(void **state)
{
	static const uint32_t one[2] = {1, 1};
	struct topology_cfg t = wire();

	(void)state;
	prepare(&t);
	uint32_t flow = add(0, 1, 95000);

	workload.flows[flow].message_bytes = 10000;
	workload.flows[flow].window = 4;
	hosts_cfg.ops = one;
	start();
	finish();
	assert_int_equal(traffic.flows[flow].state, TRAFFIC_DONE);
	assert_int_equal(traffic.flows[flow].total_bytes, 95000);
	assert_int_equal(watched_table[0].posts, 10);
	assert_true(watched_table[0].refused > 0);
	end();
}

static void a_flow_that_can_post_nothing_fails(void **state)
{
	static const uint32_t one[2] = {1, 1};
	struct topology_cfg t = wire();

	(void)state;
	prepare(&t);
	uint32_t first = add(0, 1, 10000), second = add(0, 1, 10000);

	hosts_cfg.ops = one;
	start();
	finish();
	assert_int_equal(traffic.flows[first].state, TRAFFIC_DONE);
	assert_int_equal(traffic.flows[second].state, TRAFFIC_FAILED);
	assert_int_equal(traffic.flows[second].status, -ENOMEM);
	end();
}

/* Whatever a forged packet claims was delivered, a flow starts once, and none that does not exist
 * is touched. */
static void forged_deliveries_do_no_harm(void **state)
{
	struct topology_cfg t = wire();
	struct done forged = {.code = ENGINE_DONE_RECEIVED, .imm = 0, .len = 10000};

	(void)state;
	prepare(&t);
	uint32_t first = add(0, 1, 10000), second = add(1, 0, 100), third = add(0, 1, 100);

	assert_int_equal(workload_wait(&workload, first, second), 0);
	assert_int_equal(workload_wait(&workload, second, third), 0);
	start();
	traffic_done(&traffic, &sim, 1, &forged);
	forged.len = 0;
	traffic_done(&traffic, &sim, 1, &forged);
	forged.imm = 3;
	forged.len = 10000;
	traffic_done(&traffic, &sim, 1, &forged);
	forged.imm = UINT64_C(1) << 32;
	traffic_done(&traffic, &sim, 1, &forged);
	/* Too little for the third to start by delivery: only the completion tells. */
	finish();
	assert_int_equal(traffic.flows[3].total_bytes, 0);
	assert_int_equal(traffic.n_done, 3);
	assert_int_equal(watched_table[0].posts, 2);
	assert_int_equal(watched_table[1].posts, 1);
	end();
}

/* The bytes of a delivery were lost to another flow's account: the acknowledgement counts. */
static void a_completion_releases_as_well(void **state)
{
	struct topology_cfg t = wire();

	(void)state;
	prepare(&t);
	uint32_t first = add(0, 1, 10000), second = add(1, 0, 100);

	assert_int_equal(workload_wait(&workload, first, second), 0);
	start();
	sim_run(&sim, 100 * PSEC_NS);
	traffic.flows[first].delivered_bytes = -(uint64_t)10000; /* never comes to 10000 */
	finish();
	assert_int_equal(traffic.flows[second].state, TRAFFIC_DONE);
	assert_int_equal(traffic.flows[second].started_ps, traffic.flows[first].completed_ps);
	end();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_flow_alone_takes_what_the_model_says),
	cmocka_unit_test(a_flow_uses_all_ports_of_its_host),
	cmocka_unit_test(many_paths_are_as_fast_as_one),
	cmocka_unit_test(the_ideal_is_the_known_formula),
	cmocka_unit_test(repetitions_follow_after_their_gap),
	cmocka_unit_test(messages_keep_to_their_window),
	cmocka_unit_test(flows_start_on_time),
	cmocka_unit_test(connections_are_shared_by_pairs),
	cmocka_unit_test(connections_are_told_apart_by_number),
	cmocka_unit_test(dependencies_are_kept),
	cmocka_unit_test(the_last_repetition_releases),
	cmocka_unit_test(ticks_add_up_to_what_was_delivered),
	cmocka_unit_test(who_is_cut_off_fails),
	cmocka_unit_test(work_goes_on_after_a_cut),
	cmocka_unit_test(a_restart_fails_what_is_under_way),
	cmocka_unit_test(a_full_engine_is_asked_again),
	cmocka_unit_test(a_flow_that_can_post_nothing_fails),
	cmocka_unit_test(forged_deliveries_do_no_harm),
	cmocka_unit_test(a_completion_releases_as_well),
};

CHECK_MAIN(cases)
