/* The two fabrics of `weft demo`, and what it compares at the end. */
#include "tools/demo/demo.h"

#include <errno.h>
#include <stdlib.h>

#include "runs.h"

#define STEPS 600u /* of a microsecond: some messages are done, and a plane is lost */

static struct demo *begin(uint64_t seed)
{
	struct demo *d = calloc(1, sizeof *d);

	assert_non_null(d);
	d->name = "test";
	d->seed = seed;
	assert_int_equal(demo_init(d), 0);
	return d;
}

static void step(struct demo *d, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_true(demo_step(d));
}

static void end(struct demo *d)
{
	assert_int_equal(demo_fini(d), 0);
	free(d);
}

static void receivers_memory_is_what_is_compared(void **state)
{
	struct demo *d = begin(check_seed(5));

	(void)state;
	step(d, STEPS);
	demo_verify(d);
	for (uint32_t i = 0; i < DEMO_SIDES; i++) {
		struct demo_side *side = &d->sides[i];

		assert_in_range(d->hashed[i], 1u << 20, DEMO_BYTES - 1);
		for (uint32_t k = 0; k < side->n_qps; k++) {
			uint64_t len = side->run.traffic.flows[k].acked_bytes;
			uint8_t *last = side->to + k * (DEMO_BYTES / side->n_qps) + len - 1;

			assert_in_range(len, 1u << 20, DEMO_BYTES / side->n_qps - 1);
			assert_true(d->is_verified[i]);
			*last ^= 1;
			demo_verify(d);
			for (uint32_t j = 0; j < DEMO_SIDES; j++)
				assert_int_equal(d->is_verified[j], j != i);
			*last ^= 1;
			demo_verify(d);
		}
	}
	d->from[0] ^= 1;
	demo_verify(d);
	for (uint32_t i = 0; i < DEMO_SIDES; i++)
		assert_false(d->is_verified[i]);
	/* Right as far as it came is not all there is to prove. */
	d->from[0] ^= 1;
	demo_verify(d);
	assert_false(demo_is_proven(d));
	end(d);
}

static bool is_zero(const uint8_t *bytes, uint64_t len)
{
	for (uint64_t i = 0; i < len; i++)
		if (bytes[i])
			return false;
	return true;
}

static void engines_place_the_bytes(void **state)
{
	struct demo *d = begin(check_seed(5));

	(void)state;
	assert_false(is_zero(d->from, 4096));
	for (uint32_t i = 0; i < DEMO_SIDES; i++)
		assert_true(is_zero(d->sides[i].to, 1u << 20));
	step(d, 100);
	for (uint32_t i = 0; i < DEMO_SIDES; i++) {
		assert_false(is_zero(d->sides[i].to, 4096));
		/* Nothing arrives that was not posted yet. */
		assert_true(is_zero(d->sides[i].to + DEMO_BYTES / d->sides[i].n_qps / 2, 1u << 20));
	}
	end(d);
}

/* Each queue pair of RC x8 has a plane of its own, that of RC its one. */
static void queue_pairs_keep_to_their_planes(void **state)
{
	struct demo *d = begin(check_seed(5));

	(void)state;
	step(d, 100);
	for (uint32_t i = DEMO_RC; i < DEMO_SIDES; i++) {
		const struct run *r = &d->sides[i].run;

		assert_int_equal(r->traffic.links[0].messages, i == DEMO_RC ? 16 : 2);
		for (uint32_t p = 0; p < DEMO_PLANES; p++) {
			const struct sim_host *h = &r->sim.hosts[DEMO_SRC];
			uint64_t sent = r->sim.ports[h->first_port + p].counts.sent_pkts;

			/* A packet of 4 KiB takes less than a microsecond at 50 Gb/s. */
			if (i == DEMO_RC8 || p == d->place.port)
				assert_true(sent >= 100);
			else
				assert_int_equal(sent, 0);
		}
		assert_true(r->sim.ports[d->place.uplink].counts.sent_pkts >= 50);
	}
	end(d);
}

/* Cross traffic leaves its hosts by the port of the congested path alone. */
static void cross_traffic_keeps_to_its_path(void **state)
{
	struct demo *d = begin(check_seed(5));
	uint32_t steps = 2050;

	(void)state;
	step(d, steps);
	for (uint32_t i = 0; i < DEMO_SIDES; i++) {
		const struct run *r = &d->sides[i].run;

		for (uint32_t k = d->sides[i].n_qps; k < r->scenario->workload.n; k++) {
			const struct sim_host *h =
				&r->sim.hosts[r->scenario->workload.flows[k].src];

			for (uint32_t p = 0; p < h->n_ports; p++) {
				uint64_t sent = r->sim.ports[h->first_port + p].counts.sent_pkts;

				assert_int_equal(sent > 0, p == d->place.port);
			}
		}
	}
	end(d);
}

static void real_memory_is_of_few_flows(void **state)
{
	uint8_t bytes[8] = {0};

	(void)state;
	runs_read("topology: {kind: wire}\ntransport: {kind: rc}\n"
		  "workload: {kind: single, bytes: 8}\n",
		  "");
	runs_begin(NULL, NULL);
	assert_int_equal(run_use_memory(&runs_run, 0, bytes, bytes), 0);
	assert_int_equal(run_use_memory(&runs_run, 0, bytes, bytes), -EEXIST);
	runs_finish(PSEC_NEVER, PSEC_MS);
	runs_all_done();
	runs_end();
	struct demo *d = begin(check_seed(5));

	assert_int_equal(run_use_memory(&d->sides[DEMO_RC8].run, DEMO_QPS, bytes, bytes), -ENOSPC);
	end(d);
	runs_read("topology: {kind: wire}\nworkload: {kind: single, bytes: 8}\n", "");
	runs_begin(NULL, NULL);
	assert_int_equal(run_use_memory(&runs_run, 0, bytes, bytes), -EINVAL);
	runs_finish(PSEC_NEVER, PSEC_MS);
	runs_all_done();
	runs_end();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(receivers_memory_is_what_is_compared),
	cmocka_unit_test(engines_place_the_bytes),
	cmocka_unit_test(queue_pairs_keep_to_their_planes),
	cmocka_unit_test(cross_traffic_keeps_to_its_path),
	cmocka_unit_test(real_memory_is_of_few_flows),
};

CHECK_MAIN(cases)
