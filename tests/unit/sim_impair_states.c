#include "sim/impair.h"

#include "check.h"
#include "impaired.h"

/* A state fault in words of its own: is it on at time t? Never asked at a moment of change. */
static bool is_on(const struct fault *f, psec t)
{
	if (f->kind == FAULT_FLAP)
		return t >= f->from_ps && (t - f->from_ps) / f->amount_ps < 2 * f->count &&
		       (t - f->from_ps) / f->amount_ps % 2 == 0;
	return t >= f->from_ps && t < f->until_ps;
}

static bool holds_down(const struct fault *f, uint32_t port)
{
	const struct topology *t = &run.topology;
	uint32_t peer = t->ports[port].peer;

	switch (f->kind) {
	case FAULT_FLAP:
	case FAULT_DOWN: return port == f->port || peer == f->port;
	case FAULT_PLANE: return t->ports[port].plane == f->node;
	case FAULT_REBOOT: return t->ports[port].node == f->node || t->ports[peer].node == f->node;
	default: return false;
	}
}

static void check_states(const struct fault *faults, uint32_t n, psec now)
{
	for (uint32_t port = 0; port < run.topology.n_ports; port++) {
		bool is_down = false, is_halted = false;

		for (uint32_t i = 0; i < n; i++) {
			bool on = is_on(&faults[i], now);

			is_down |= on && holds_down(&faults[i], port);
			is_halted |= on && faults[i].kind == FAULT_PAUSE && faults[i].port == port;
		}
		assert_int_equal(run.sim.ports[port].is_down, is_down);
		assert_int_equal(run.sim.ports[port].is_halted, is_halted);
	}
	for (uint32_t host = 0; host < run.topology.n_hosts; host++) {
		int32_t ppm = 0;

		for (uint32_t i = 0; i < n; i++)
			if (is_on(&faults[i], now) && faults[i].kind == FAULT_SKEW &&
			    faults[i].node == host)
				ppm += (int32_t)faults[i].ppm * faults[i].sign;
		assert_int_equal(run.sim.hosts[host].skew_ppm, ppm);
	}
}

/* Many state faults at once, with traffic: at any time what is down, halted or skewed is what some
 * fault that is on holds so. */
static void overlapping_states_agree_with_a_model(void **state)
{
	enum { FAULTS = 24, LOOKS = 60 };
	uint64_t seed = check_seed(0x1a02);
	uint64_t kinds = 1u << FAULT_FLAP | 1u << FAULT_DOWN | 1u << FAULT_PLANE |
			 1u << FAULT_PAUSE | 1u << FAULT_REBOOT | 1u << FAULT_SKEW;
	struct fault faults[FAULTS];
	struct prng p;

	(void)state;
	for (uint32_t round = 0; round < 30; round++) {
		psec now = 0;

		prng_init(&p, seed, round);
		start_run(&fabric_cfg, ROUTING_ECMP, NULL, 0, 1);
		for (uint32_t i = 0; i < FAULTS; i++)
			fault_draw(&faults[i], &p, &run.topology, kinds, 0, 200 * PSEC_US);
		/* One hands the link over to the next. */
		faults[1] = faults[0] = (struct fault){
			.kind = FAULT_DOWN, .from_ps = 50 * PSEC_US, .until_ps = 60 * PSEC_US};
		faults[1].from_ps = 60 * PSEC_US;
		faults[1].until_ps = 70 * PSEC_US;
		end_run();
		start_run(&fabric_cfg, ROUTING_ECMP, faults, FAULTS, seed);
		for (uint32_t h = 0; h < 4; h++)
			post(h, (h + 2) % 4, N);
		for (uint32_t i = 0; i < LOOKS; i++) {
			now += prng_range(&p, 1, 4 * PSEC_US);
			sim_run(&run.sim, now);
			check_states(faults, FAULTS, now);
			assert_true(sim_is_conserved(&run.sim));
		}
		finish();
		check_states(faults, FAULTS, PSEC_NEVER - 1);
		for (uint32_t i = 0; i < FAULTS; i++)
			assert_int_equal(touched(i),
					 faults[i].kind == FAULT_FLAP ? 2 * faults[i].count : 2);
		end_run();
	}
}

static void a_link_that_is_down_loses_what_is_on_it(void **state)
{
	/* Between two packets: the one before is on the wire for a microsecond more. */
	struct fault f = {.kind = FAULT_DOWN,
			  .from_ps = 500 * GAP + 50 * PSEC_NS,
			  .until_ps = 600 * GAP + 50 * PSEC_NS};

	(void)state;
	run_wire(&f, 1, 1);
	/* The NIC holds back what it would send on a link without carrier. */
	assert_in_range(dropped(SIM_DROP_LINK_DOWN), 10, 11);
	assert_int_equal(run.n_seen[1] + dropped(SIM_DROP_LINK_DOWN), N);
	for (uint32_t i = 0; i < run.n_seen[1]; i++)
		assert_true(run.seen[1][i].at < f.from_ps ||
			    run.seen[1][i].at > f.until_ps + link_100g.delay_ps);
	end_run();
}

static void handing_a_link_over_does_not_raise_it(void **state)
{
	struct fault faults[2] = {
		{.kind = FAULT_DOWN, .from_ps = 100 * GAP, .until_ps = 200 * GAP},
		{.kind = FAULT_DOWN, .from_ps = 200 * GAP, .until_ps = 300 * GAP},
	};

	(void)state;
	run_wire(faults, 2, 1);
	/* Only what was under way when the first began: nothing was sent in between. */
	assert_in_range(dropped(SIM_DROP_LINK_DOWN), 10, 11);
	assert_int_equal(touched(0), 2);
	end_run();
}

static void a_paused_port_sends_nothing(void **state)
{
	struct fault f = {.kind = FAULT_PAUSE, .from_ps = 500 * GAP, .until_ps = 600 * GAP};

	(void)state;
	run_wire(&f, 1, 1);
	assert_int_equal(run.n_seen[1], N);
	assert_int_equal(touched(0), 2);
	for (uint32_t i = 0; i < N; i++) {
		assert_true(run.seen[1][i].is_clean);
		assert_true(run.seen[1][i].at < arrival(501) || run.seen[1][i].at >= arrival(600));
	}
	end_run();
}

static void a_rebooting_switch_loses_its_queues(void **state)
{
	struct fault f = {.kind = FAULT_REBOOT, .from_ps = 50 * PSEC_US, .until_ps = 80 * PSEC_US};

	(void)state;
	/* Both neighbours' traffic meets at host 0's two links. */
	start_run(&fabric_cfg, ROUTING_ECMP, NULL, 0, 1);
	f.node = topology_find_node(&run.topology, "p0.leaf0");
	assert_int_not_equal(f.node, UINT32_MAX);
	end_run();
	start_run(&fabric_cfg, ROUTING_ECMP, &f, 1, 1);
	for (uint32_t i = 0; i < run.topology.n_ports; i++)
		if (run.topology.nodes[run.topology.ports[i].node].is_host == 0)
			run.sim.ports[i].ps_per_byte = 800; /* ten times slower */
	for (uint32_t h = 1; h < 4; h++)
		post(h, 0, N);
	finish();
	assert_true(dropped(SIM_DROP_REBOOT) > 10);
	assert_true(dropped(SIM_DROP_LINK_DOWN) > 0);
	assert_int_equal(touched(0), 2);
	end_run();
}

static void a_restarted_host_starts_anew(void **state)
{
	struct fault f = {.kind = FAULT_RESTART, .from_ps = 500 * GAP, .until_ps = 501 * GAP};

	(void)state;
	run_wire(&f, 1, 1);
	assert_int_equal(run.n_restarted, 1);
	assert_int_equal(touched(0), 1);
	/* 500 packets or 501, then the 50 that the hook asks for. */
	assert_in_range(run.n_seen[1], 550, 551);
	assert_int_equal(run.seen[1][run.n_seen[1] - 1].number, 49);
	end_run();
}

static void clocks_drift_and_jump(void **state)
{
	struct fault faults[] = {
		{.kind = FAULT_SKEW,
		 .from_ps = PSEC_MS,
		 .until_ps = 3 * PSEC_MS,
		 .ppm = 1000,
		 .sign = 1},
		{.kind = FAULT_SKEW,
		 .from_ps = 2 * PSEC_MS,
		 .until_ps = 4 * PSEC_MS,
		 .ppm = 500,
		 .sign = -1},
		{.kind = FAULT_JUMP,
		 .node = 1,
		 .from_ps = PSEC_MS,
		 .until_ps = 2 * PSEC_MS,
		 .amount_ps = 7 * PSEC_MS},
	};
	/* In nanoseconds ahead of the simulation: +1000, +500, then -500 in a millionth each ms. */
	static const struct {
		uint32_t ms;
		nsec ahead[2];
	} rows[] = {{1, {0, 7000000}},
		    {2, {1000, 7000000}},
		    {3, {1500, 7000000}},
		    {4, {1000, 7000000}},
		    {5, {1000, 7000000}}};

	(void)state;
	start_run(&wire_cfg, ROUTING_ECMP, faults, 3, 1);
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		sim_run(&run.sim, rows[i].ms * PSEC_MS);
		for (uint32_t host = 0; host < 2; host++)
			assert_int_equal(sim_host_now(&run.sim, host),
					 rows[i].ms * 1000000u + rows[i].ahead[host]);
	}
	assert_int_equal(touched(0) + touched(1), 4);
	assert_int_equal(touched(2), 1);
	end_run();
}

static void other_timers_are_left_alone(void **state)
{
	struct fault f = always(FAULT_DOWN);

	(void)state;
	f.ppm = 0;
	start_run(&wire_cfg, ROUTING_ECMP, &f, 1, 1);
	uint32_t timer = sim_timer_add(&run.sim);

	assert_false(impair_timer(run.plan, &run.sim, timer));
	assert_int_equal(touched(0), 0);
	end_run();
}

/* Anything at once, in every routing mode: nothing is lost from the counters, everything heals, and
 * the same seed does it again. */
static void random_faults_leave_the_counters_balanced(void **state)
{
	enum { FAULTS = 10, SEEDS = 200 };
	static const enum routing_mode modes[] = {ROUTING_ECMP, ROUTING_USID, ROUTING_USID_SRH};
	uint64_t seed = check_seed(0x1a03);
	uint64_t hash[2] = {0, 0}, hit = 0;

	(void)state;
	for (uint32_t round = 0; round < SEEDS; round++) {
		for (uint32_t again = 0; again < (round % 20 ? 1u : 2u); again++) {
			struct fault faults[FAULTS];
			struct prng p;

			run.is_payload_real = round % 2;
			prng_init(&p, seed, round);
			start_run(&fabric_cfg, modes[round % 3], NULL, 0, 1);
			for (uint32_t i = 0; i < FAULTS; i++)
				fault_draw(&faults[i], &p, &run.topology, UINT64_MAX, 0,
					   50 * PSEC_US);
			end_run();
			start_run(&fabric_cfg, modes[round % 3], faults, FAULTS, seed);
			for (uint32_t h = 0; h < 4; h++)
				post(h, (h + 1 + round % 3) % 4, 400);
			hash[again] = finish();
			check_states(faults, FAULTS, PSEC_NEVER - 1);
			for (uint32_t i = 0; i < FAULTS; i++)
				hit += touched(i) > 0;
			end_run();
		}
		assert_true(round % 20 || hash[0] == hash[1]);
	}
	assert_true(hit > SEEDS * FAULTS / 4);
}

static void take_a_senseless_fault(void *context)
{
	struct fault f = always(FAULT_DROP);

	f.port = run.topology.n_ports;
	impair_plan_new(context, &f, 1, 1);
}

static void mistakes_abort(void **state)
{
	(void)state;
	start_run(&wire_cfg, ROUTING_ECMP, NULL, 0, 1);
	assert_true(check_aborts(take_a_senseless_fault, &run.sim));
	end_run();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(overlapping_states_agree_with_a_model),
	cmocka_unit_test(a_link_that_is_down_loses_what_is_on_it),
	cmocka_unit_test(handing_a_link_over_does_not_raise_it),
	cmocka_unit_test(a_paused_port_sends_nothing),
	cmocka_unit_test(a_rebooting_switch_loses_its_queues),
	cmocka_unit_test(a_restarted_host_starts_anew),
	cmocka_unit_test(clocks_drift_and_jump),
	cmocka_unit_test(other_timers_are_left_alone),
	cmocka_unit_test(random_faults_leave_the_counters_balanced),
	cmocka_unit_test(mistakes_abort),
};

CHECK_MAIN(cases)
