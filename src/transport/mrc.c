/* OCP MRC. */
#include "mrc/mrc.h"

#include "transport/rows.h"
#include "transport/transport.h"
#include "wire/icrc.h"
#include "wire/mrc.h"

#define COUNTER(name, text) {#name, text},
static const struct transport_counter counters[] = {MRC_COUNTERS(COUNTER)};
#undef COUNTER
#define PLACE(name)     (offsetof(struct mrc_counters, name) / sizeof(uint64_t))
#define ONE(name, text) +1

static const uint8_t retx_reasons[] = {
	PLACE(lost_gap),     PLACE(lost_probe), PLACE(lost_nack),    PLACE(lost_port),
	PLACE(lost_timeout), PLACE(spared),     PLACE(retx_for_ack),
};

static const uint8_t probes[] = {PLACE(tx_probe), PLACE(tx_fault_probe), PLACE(tx_endpoint),
				 PLACE(tx_endpoint_re)};

static const char *const cc_words[] = {"nscc", "fixed", "none", NULL};
static const struct transport_cc_choice cc_choices[] = {
	{.kind = CC_NSCC}, {.kind = CC_FIXED}, {.kind = CC_FIXED, .is_unbounded = true}};

static const char *const evs_words[] = {"aware", "oblivious", NULL};

#define OPTION(member) SETTING_AT(struct transport_options, member)

static const struct setting settings[] = {
	{.name = "linear_retries",
	 .unit = UNIT_COUNT,
	 OPTION(retries),
	 .most = MRC_LINEAR_MAX,
	 .fallback = MRC_LINEAR_MAX},
	{.name = "exponential_retries",
	 .unit = UNIT_COUNT,
	 OPTION(slow_retries),
	 .most = MRC_EXP_MAX,
	 .fallback = 8},
	{.name = "mpr", .unit = UNIT_COUNT, OPTION(ahead_units), .least = 1, .most = MRC_MPR_MAX},
	{.name = "trim_nack", .unit = UNIT_FLAG, OPTION(answers_trims), .fallback = true},
	{.name = "count_trims", .unit = UNIT_FLAG, OPTION(counts_trims)},
	{.name = "evs", .old = "ways", .unit = UNIT_WORD, OPTION(is_oblivious), .words = evs_words},
};

static const struct transport_key pool_memory = {
	.setting = {.name = "pool-memory",
		    .unit = UNIT_BYTES,
		    SETTING_AT(struct transport_device, pool_bytes),
		    .least = UINT64_C(1) << 20,
		    .most = UINT64_C(1) << 34,
		    .fallback = UINT64_C(1) << 30},
};
static const struct transport_key stranger_rate = {
	.setting = {.name = "stranger-rate",
		    .unit = UNIT_COUNT_OR_NONE,
		    SETTING_AT(struct transport_device, stranger_rate),
		    .most = MRC_RATE_MAX},
	.variable = "WEFT_STRANGER_RATE",
};
static const struct transport_key *const keys[] = {&pool_memory, &stranger_rate, NULL};

static bool is_probe(uint8_t opcode)
{
	return opcode == MRC_OP_PROBE_REQUEST;
}

_Static_assert(sizeof(struct mrc_counters) == sizeof counters / sizeof counters[0] * 8,
	       "counters are numbers of 64 bits and nothing else");

const struct transport transport_mrc = {
	.name = "mrc",
	.engine = &mrc_ops,
	.carrier = &carrier_roce,
	.features = TRANSPORT_PROFILES | TRANSPORT_CONTROL | TRANSPORT_ENDPOINTS | TRANSPORT_TRIMS |
		    TRANSPORT_CLASSES | TRANSPORT_AHEAD,
	.ops = 1u << ENGINE_WRITE | 1u << ENGINE_WRITE_IMM,
	.head_bytes = MRC_HEAD_BYTES,
	.ports_max = ENGINE_PORTS,
	.ccs = 1u << CC_FIXED | 1u << CC_NSCC,
	.cc = CC_NSCC,
	/* The numbers that `weft sim` uses too: a trimming fabric knows data by the first, and cuts
	 * none of the third (MRC Table 7-7). */
	.dscps = {.plain = {[ENGINE_DATA] = 0,
			    [ENGINE_RETX] = 12,
			    [ENGINE_NO_TRIM] = 0,
			    [ENGINE_CONTROL] = 46},
		  .trimmable = {[ENGINE_DATA] = 10,
				[ENGINE_RETX] = 12,
				[ENGINE_NO_TRIM] = 0,
				[ENGINE_CONTROL] = 46},
		  .trimmed = 18,
		  .trimmed_lasthop = 20},
	.first_number = 3, /* M-28 */
	.least_number = 3,
	.open_number = MRC_ENDPOINT_QP,
	.open_bytes = MRC_HEAD_BYTES + icrc_bytes,
	.packet_name = mrc_opcode_name,
	.counters = counters,
	.n_counters = sizeof counters / sizeof counters[0],
	.count_retx = PLACE(tx_retx),
	.count_received = PLACE(rx_bytes),
	.count_rx = PLACE(rx),
	.n_verdicts = 0 MRC_ACCEPTED(ONE) MRC_DROPS(ONE),
	.retx_reasons = retx_reasons,
	.n_retx_reasons = sizeof retx_reasons,
	.hosts = &transport_mrc_hosts,
	.pairs = &transport_mrc_pairs,
	.probes = probes,
	.n_probes = sizeof probes,
	.message_max = MRC_MESSAGE_MAX,
	.settings = {settings, sizeof settings / sizeof settings[0]},
	.keys = keys,
	.cc_words = cc_words,
	.cc_choices = cc_choices,
	.window_max_pkts = MRC_MPR_MAX * MRC_MPR_UNIT,
	.evs = MRC_EVS,
	.ahead_unit_pkts = MRC_MPR_UNIT,
	.data_around_bytes = mrc_bth_bytes + meth_bytes + tseth_bytes + reth_bytes + icrc_bytes,
	.answer_bytes = mrc_bth_bytes + seth_bytes + cc_state_bytes + icrc_bytes,
	.trim_least_bytes = mrc_bth_bytes, /* M-49 */
	.is_probe = is_probe,
};
