/* A stage for scripted hosts (script.h): one small fabric with figures that are easy to work with,
 * set up, changed by the test, run to its end and taken down. Included by one test each. */
#ifndef WEFT_TESTS_SUPPORT_STAGE_H
#define WEFT_TESTS_SUPPORT_STAGE_H

#include "check.h"
#include "leaf_spine.h"
#include "script.h"
#include "sim/sim.h"

#define RATE     UINT64_C(400000000000) /* 20 ps per byte */
#define BYTE     UINT64_C(20)
#define DELAY    PSEC_US
#define OVERHEAD 24u

static const struct fwd_names names = {0, 10, 12, 18, 20, 46};

/* One run, and what it is made of. */
static struct script x;
static struct topology topology;
static struct routing routing;
static struct sim sim;
static struct sim_cfg cfg;
static char error[256];

static inline struct topology_cfg leaf_spine(uint32_t hosts, uint32_t hosts_per_leaf,
					     uint32_t spines)
{
	return leaf_spine_of(hosts, hosts_per_leaf, spines, (struct topology_link){RATE, DELAY, 0});
}

/* Prepares cfg; the test may change it before start(). */
static inline void prepare(const struct topology_cfg *t, enum routing_mode mode)
{
	struct routing_cfg r = {
		.mode = mode,
		.hash_fields = FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL,
		.trims = net_trims_of(names.trimmed, names.trimmed_lasthop),
	};
	struct fwd_bdp bdp = {400000, true, true, 28};

	script_init(&x);
	assert_int_equal(topology_build(&topology, t, error, sizeof error), 0);
	assert_int_equal(routing_build(&routing, &topology, &r, 7, error, sizeof error), 0);
	cfg = (struct sim_cfg){
		.seed = 1,
		.topology = &topology,
		.routing = &routing,
		.names = names,
		.overhead_bytes = OVERHEAD,
		.nic_queue_pkts = 2,
		.transport = &x.transport,
		.hooks = x.hooks,
	};
	fwd_qos_recommended(&cfg.qos, &names, &bdp);
	x.sim = &sim;
}

static inline void start(void)
{
	assert_int_equal(sim_init(&sim, &cfg), 0);
	for (uint32_t h = 0; h < topology.n_hosts; h++)
		sim_host_jump(&sim, h, 0); /* wakes it */
}

static inline void finish(void)
{
	while (sim_run(&sim, sim_now(&sim) + PSEC_MS))
		assert_true(sim_is_conserved(&sim));
	assert_true(sim_is_conserved(&sim));
	assert_int_equal(sim_in_flight(&sim), 0);
	assert_int_equal(sim.packets.in_use, 0);
}

static inline void end(void)
{
	sim_fini(&sim);
	routing_fini(&routing);
	topology_fini(&topology);
}

static inline psec serial(uint32_t payload)
{
	return (script_frame_bytes(payload) + OVERHEAD) * BYTE;
}

#endif
