/* What tests of workloads start from. */
#ifndef WEFT_TESTS_SUPPORT_FLOWS_H
#define WEFT_TESTS_SUPPORT_FLOWS_H

#include "check.h"
#include "sim/workload.h"

/* A pattern of small flows with nothing wrong, but that random has no sizes. */
static inline struct workload_cfg flows_plain(enum workload_kind kind, uint32_t hosts)
{
	return (struct workload_cfg){
		.kind = kind,
		.hosts = hosts,
		.bytes = 1000,
		.message_bytes = 300,
		.window = 4,
		.repeat = 1,
		.start_ps = 7 * PSEC_US,
		.dst = 1,
		.fan_in = 1,
		.hosts_per_leaf = 4,
		.load_percent = 50,
		.rate_bps = UINT64_C(400000000000),
		.duration_ps = PSEC_MS,
	};
}

/* Builds it; the test fails when that does. */
static inline struct workload flows_build(const struct workload_cfg *cfg, uint64_t seed)
{
	char error[256] = "";
	struct workload w;

	workload_init(&w);
	if (workload_build(&w, cfg, seed, error, sizeof error) != 0)
		fail_msg("%s", error);
	return w;
}

#endif
