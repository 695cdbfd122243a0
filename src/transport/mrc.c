/* OCP MRC. */
#include "mrc/mrc.h"

#include "transport/rows.h"
#include "transport/transport.h"
#include "wire/icrc.h"
#include "wire/mrc.h"

#define COUNTER(name, text) {#name, text},
static const struct transport_counter counters[] = {MRC_COUNTERS(COUNTER)};
#undef COUNTER
#define PLACE(name) (offsetof(struct mrc_counters, name) / sizeof(uint64_t))

static const uint8_t retx_reasons[] = {
	PLACE(lost_gap),     PLACE(lost_probe), PLACE(lost_nack),    PLACE(lost_port),
	PLACE(lost_timeout), PLACE(spared),     PLACE(retx_for_ack),
};

static const uint64_t *count(const struct engine *e)
{
	return (const uint64_t *)(const void *)mrc_counters(e);
}

_Static_assert(sizeof(struct mrc_counters) == sizeof counters / sizeof counters[0] * 8,
	       "counters are numbers of 64 bits and nothing else");

const struct transport transport_mrc = {
	.name = "mrc",
	.engine = &mrc_ops,
	.carrier = &carrier_roce,
	.features = TRANSPORT_PROFILES | TRANSPORT_CONTROL | TRANSPORT_ENDPOINTS | TRANSPORT_TRIMS |
		    TRANSPORT_CLASSES | TRANSPORT_POOLS | TRANSPORT_AHEAD,
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
	.open_number = MRC_ENDPOINT_QP,
	.open_bytes = MRC_HEAD_BYTES + icrc_bytes,
	.counters = counters,
	.n_counters = sizeof counters / sizeof counters[0],
	.count = count,
	.count_retx = PLACE(tx_retx),
	.count_received = PLACE(rx_bytes),
	.retx_reasons = retx_reasons,
	.n_retx_reasons = sizeof retx_reasons,
	.hosts = &transport_mrc_hosts,
	.pairs = &transport_mrc_pairs,
	.message_max = MRC_MESSAGE_MAX,
};
