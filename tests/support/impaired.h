/* A simulation with faults and a toy transport: what tests of sim/impair.h run. Every host can send
 * numbered packets on a fixed beat, and records what arrives, byte by byte. */
#ifndef WEFT_TESTS_SUPPORT_IMPAIRED_H
#define WEFT_TESTS_SUPPORT_IMPAIRED_H

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "carriers.h"
#include "check.h"
#include "sim/impair.h"
#include "wire/roce.h"

enum {
	HOSTS_MAX = 8,
	LOG_MAX = 8192,
	HEAD = bth_bytes + 12,
	PAYLOAD = 240,
	N = 2000,
	GAP_NS = 100,
	ALL = 1000000,
	CONTROL_EVERY = 4,
	VARIANT_AT = 4,
};

/* Packet s leaves the NIC at s * GAP, so that these name packets and times alike. */
#define GAP   (GAP_NS * PSEC_NS)
#define FROM  500u
#define UNTIL 1500u

/* One arrival: the number that its place in the packet claims, and whether every byte is as sent.
 */
struct seen {
	uint32_t number;
	psec at;
	bool is_clean, is_trimmed;
	uint32_t wrong_bits; /* against packet number `place in the log` */
};

static struct {
	struct topology topology;
	struct routing routing;
	struct sim sim;
	struct impair_plan *plan;
	const struct carrier *carrier; /* NULL: RoCE's */
	struct sim_transport transport;
	bool is_payload_real;
	uint32_t n_restarted;
	uint32_t n_seen[HOSTS_MAX];
	struct seen seen[HOSTS_MAX][LOG_MAX];
} run;

/* An engine without reliability: after a post it sends numbered packets to one peer, one every
 * GAP_NS, and records what arrives. */
struct toy {
	struct engine engine;
	uint32_t host, n_ports, next, end, peer;
	nsec start_ns;
	uint8_t body[PAYLOAD];
};

static struct toy *toy_of(struct engine *e)
{
	return (struct toy *)(void *)e;
}

static void write_head(uint8_t *head, uint32_t number)
{
	for (uint32_t i = 0; i < HEAD; i++)
		head[i] = (uint8_t)((number + i) * UINT32_C(0x9e3779b1) >> 24);
	put_be32(head + bth_bytes, number);
}

static void write_body(uint8_t *body, uint32_t number)
{
	memset(body, 0, PAYLOAD);
	for (uint32_t i = 0; run.is_payload_real && i < PAYLOAD; i++)
		body[i] = (uint8_t)(number + i);
}

static size_t toy_size(const void *cfg)
{
	(void)cfg;
	return sizeof(struct toy);
}

static int toy_init(struct engine *e, const void *cfg, nsec now)
{
	struct toy *t = toy_of(e);
	uint32_t host;

	(void)now;
	memcpy(&host, cfg, sizeof host);
	t->host = host;
	t->n_ports = run.topology.nodes[host].n_ports;
	t->next = t->end = 0;
	return 0;
}

/* op: as many packets as imm says. */
static int toy_post(struct engine *e, nsec now, const struct op *op)
{
	struct toy *t = toy_of(e);

	t->peer = op->peer;
	t->end = (uint32_t)op->imm;
	t->next = 0;
	t->start_ns = now;
	return 0;
}

static uint32_t count_bits(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < n; i++)
		bits += (uint32_t)__builtin_popcount((uint8_t)(a[i] ^ b[i]));
	return bits;
}

/* Head and body in one piece, as far as they came. */
static uint32_t flatten(const struct rx_pkt *rx, uint8_t *out)
{
	uint32_t len = rx->head.len;

	memcpy(out, rx->head.at, len);
	for (uint32_t i = 0; i < 2; i++) {
		if (rx->body[i].at)
			memcpy(out + len, rx->body[i].at, rx->body[i].len);
		else
			memset(out + len, 0, rx->body[i].len);
		len += rx->body[i].len;
	}
	return len;
}

static void toy_input(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n)
{
	uint8_t got[HEAD + PAYLOAD], want[HEAD + PAYLOAD];
	uint32_t host = toy_of(e)->host;

	(void)now;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t place = run.n_seen[host]++;
		struct seen *seen = &run.seen[host][place % LOG_MAX];
		uint32_t len = 0;

		*seen = (struct seen){.number = UINT32_MAX,
				      .at = sim_now(&run.sim),
				      .is_trimmed = pkts[i].trimmed != NET_WHOLE,
				      .wrong_bits = UINT32_MAX};
		if (pkts[i].head.len + pkts[i].body[0].len + pkts[i].body[1].len <= sizeof got)
			len = flatten(&pkts[i], got);
		if (len < HEAD)
			continue;
		seen->number = get_be32(got + bth_bytes);
		write_head(want, seen->number);
		write_body(want + HEAD, seen->number);
		/* Congestion bits and those around them: no ICRC covers them (wire/icrc.h). */
		want[VARIANT_AT] = got[VARIANT_AT];
		seen->is_clean = len == sizeof got && memcmp(got, want, len) == 0;
		write_head(want, place);
		write_body(want + HEAD, place);
		seen->wrong_bits = count_bits(got, want, len);
	}
}

static enum engine_tclass toy_class(const struct toy *t)
{
	return t->next % CONTROL_EVERY ? ENGINE_DATA : ENGINE_CONTROL;
}

static nsec toy_deadline(const struct engine *e, uint32_t may)
{
	const struct toy *t = (const struct toy *)(const void *)e;

	if (t->next == t->end || !(engine_ports_of(may, toy_class(t)) >> t->next % t->n_ports & 1))
		return NSEC_NEVER;
	return t->start_ns + (nsec)t->next * GAP_NS;
}

static uint32_t toy_pull(struct engine *e, nsec now, const struct engine_room *room,
			 struct tx_pkt *pkts, uint32_t n)
{
	struct toy *t = toy_of(e);

	/* One at a time: the body is lent only until the next. */
	if (n == 0 || toy_deadline(e, engine_may(room)) > now)
		return 0;
	write_head(pkts->head, t->next);
	write_body(t->body, t->next);
	pkts->head_len = HEAD;
	pkts->udp_len = 0;
	pkts->port = (uint8_t)(t->next % t->n_ports);
	pkts->tclass = (uint8_t)toy_class(t);
	pkts->not_ect = 0;
	pkts->peer = t->peer;
	pkts->local = 0;
	pkts->ev = routing_entropy(&run.routing, 1, t->next);
	pkts->n_body = 1;
	pkts->body[0] = (struct cspan){run.is_payload_real ? t->body : NULL, PAYLOAD};
	t->next++;
	return 1;
}

static uint32_t toy_poll(struct engine *e, struct done *done, uint32_t n)
{
	(void)e;
	(void)done;
	(void)n;
	return 0;
}

static const struct engine_ops toy_ops = {
	.size = toy_size,
	.init = toy_init,
	.post = toy_post,
	.input = toy_input,
	.pull = toy_pull,
	.poll = toy_poll,
	.deadline = toy_deadline,
};

static const void *toy_cfg(void *context, uint32_t host, uint64_t seed)
{
	static uint32_t cfg;

	(void)context;
	(void)seed;
	cfg = host;
	return &cfg;
}

static const struct sim_transport toy_transport = {
	.name = "toy",
	.ops = &toy_ops,
	.carrier = &carrier_roce,
	.head_bytes = HEAD,
	.payload_bytes = PAYLOAD,
	.host_cfg = toy_cfg,
};

static void on_timer(void *context, struct sim *s, uint32_t timer)
{
	(void)context;
	assert_true(impair_timer(run.plan, s, timer));
}

static void post(uint32_t host, uint32_t peer, uint32_t n)
{
	assert_int_equal(sim_post(&run.sim, host, &(struct op){.peer = peer, .imm = n}), 0);
}

static void on_restart(void *context, struct sim *s, uint32_t host)
{
	(void)context;
	run.n_restarted++;
	post(host, (host + 1) % s->n_hosts, 50);
}

static const struct topology_link link_100g = {UINT64_C(100000000000), PSEC_US, 0};

static const struct topology_cfg wire_cfg = {
	.kind = TOPOLOGY_WIRE,
	.hosts = 2,
	.planes = 1,
	.nic_ports = 1,
	.links = {{UINT64_C(100000000000), PSEC_US, 0}},
};

/* Four hosts on two leaves, two spines; in each of two planes. */
static const struct topology_cfg fabric_cfg = {
	.kind = TOPOLOGY_LEAF_SPINE,
	.hosts = 4,
	.hosts_per_leaf = 2,
	.spines = 2,
	.planes = 2,
	.nic_ports = 2,
	.uplinks = 1,
	.links = {{UINT64_C(100000000000), PSEC_US, 0},
		  {UINT64_C(100000000000), PSEC_US, 0},
		  {0, 0, 0}},
	.switch_delay_ps = 500 * PSEC_NS,
};

static const struct fwd_names names = {8, 10, 18, 12, 14, 48};

static void start_run(const struct topology_cfg *shape, enum routing_mode mode,
		      const struct fault *faults, uint32_t n, uint64_t seed)
{
	struct routing_cfg routing = {
		.mode = mode,
		.format = FWD_F3216,
		.decap = ROUTING_DECAP_HOST,
		.hash_fields = FWD_HASH_5TUPLE,
		.trims = net_trims_of(names.trimmed, names.trimmed_lasthop),
	};
	run.transport = toy_transport;
	if (run.carrier)
		run.transport.carrier = run.carrier;
	carriers_add(&routing.carriers, run.transport.carrier, 0);
	struct sim_cfg cfg = {
		.seed = 1,
		.topology = &run.topology,
		.routing = &run.routing,
		.names = names,
		.overhead_bytes = 24,
		.nic_queue_pkts = 4,
		.transport = &run.transport,
		.hooks = {.timer = on_timer, .restarted = on_restart},
	};
	struct fwd_bdp bdp = {100000, true, true, 256};
	char error[200];

	assert_int_equal(topology_build(&run.topology, shape, error, sizeof error), 0);
	assert_int_equal(
		routing_build(&run.routing, &run.topology, &routing, 1, error, sizeof error), 0);
	fwd_qos_recommended(&cfg.qos, &names, &bdp);
	assert_int_equal(sim_init(&run.sim, &cfg), 0);
	run.plan = impair_plan_new(&run.sim, faults, n, seed);
	assert_non_null(run.plan);
	run.n_restarted = 0;
	memset(run.n_seen, 0, sizeof run.n_seen);
}

static void end_run(void)
{
	assert_true(sim_is_conserved(&run.sim));
	sim_fini(&run.sim);
	impair_plan_free(run.plan);
	routing_fini(&run.routing);
	topology_fini(&run.topology);
}

/* Until nothing happens any more; every packet accounted for all the way. Returns the trace. */
static uint64_t finish(void)
{
	for (psec t = 0; sim_run(&run.sim, t); t += 10 * PSEC_US)
		assert_true(sim_is_conserved(&run.sim));
	assert_true(sim_is_conserved(&run.sim));
	assert_int_equal(sim_in_flight(&run.sim), 0);
	return run.sim.trace_hash;
}

/* Host 0 sends N packets over a wire with these faults. */
static uint64_t run_wire(const struct fault *faults, uint32_t n, uint64_t seed)
{
	start_run(&wire_cfg, ROUTING_ECMP, faults, n, seed);
	post(0, 1, N);
	return finish();
}

static uint64_t dropped(uint32_t reason)
{
	return run.sim.totals.drops[reason];
}

static uint64_t touched(uint32_t fault)
{
	return impair_counts(run.plan)[fault].touched;
}

/* In the window, at port 0, every packet. */
static struct fault always(enum fault_kind kind)
{
	struct fault f = {.kind = (uint8_t)kind, .from_ps = FROM * GAP, .until_ps = UNTIL * GAP};

	f.ppm = kind == FAULT_DELAY || kind == FAULT_BLACK_HOLE ? 0 : ALL;
	f.count = kind == FAULT_BURST || kind == FAULT_CORRUPT ? 3 : 0;
	f.amount_ps = kind == FAULT_REORDER || kind == FAULT_DELAY ? 10 * GAP : 0;
	return f;
}

/* When a whole packet arrives at the other end of the wire. */
static psec arrival(uint32_t number)
{
	uint32_t bytes = 14 + 40 + 8 + HEAD + PAYLOAD + 4 + 24;

	return number * GAP + bytes * UINT64_C(80) + link_100g.delay_ps;
}

#endif
