/* RoCEv2 Reliable Connection. */
#include "rc/rc.h"

#include "transport/rows.h"
#include "transport/transport.h"
#include "wire/icrc.h"
#include "wire/roce.h"

#define WINDOW_MAX_PKTS 65536u

#define COUNTER(name, text) {#name, text},
static const struct transport_counter counters[] = {RC_COUNTERS(COUNTER)};
#undef COUNTER
#define PLACE(name)     (offsetof(struct rc_counters, name) / sizeof(uint64_t))
#define ONE(name, text) +1

static const char *const cc_words[] = {"none", "dcqcn", NULL};
static const struct transport_cc_choice cc_choices[] = {{.kind = CC_FIXED}, {.kind = CC_DCQCN}};

#define OPTION(member) SETTING_AT(struct transport_options, member)

static const struct setting settings[] = {
	{.name = "ack_every",
	 .unit = UNIT_COUNT,
	 OPTION(ack_every_pkts),
	 .least = 1,
	 .most = WINDOW_MAX_PKTS,
	 .fallback = 4},
	{.name = "retries", .unit = UNIT_COUNT, OPTION(retries), .most = 7, .fallback = 7},
};

_Static_assert(sizeof(struct rc_counters) == sizeof counters / sizeof counters[0] * 8,
	       "counters are numbers of 64 bits and nothing else");

/* All of its packets are alike to a switch, as RoCE NICs have it until they are told. */
const struct transport transport_rc = {
	.name = "rc",
	.engine = &rc_ops,
	.carrier = &carrier_roce,
	.features = TRANSPORT_CNPS | TRANSPORT_NOT_READY | TRANSPORT_GROUPS,
	.ops = 1u << ENGINE_WRITE | 1u << ENGINE_WRITE_IMM | 1u << ENGINE_SEND |
	       1u << ENGINE_SEND_IMM | 1u << ENGINE_SEND_INV | 1u << ENGINE_READ |
	       1u << ENGINE_ATOMIC | 1u << ENGINE_LOCAL_INV | 1u << ENGINE_BIND,
	.head_bytes = RC_HEAD_BYTES,
	.ports_max = 1,
	.ccs = 1u << CC_FIXED | 1u << CC_DCQCN,
	.cc = CC_FIXED,
	.first_number = 3, /* 0 and 1 are IBTA's; 2 is everybody's where MRC is (M-28) */
	.open_number = TRANSPORT_NO_NUMBER,
	.packet_name = roce_opcode_name,
	.counters = counters,
	.n_counters = sizeof counters / sizeof counters[0],
	.count_retx = PLACE(tx_retx),
	.count_received = PLACE(rx_bytes),
	.count_rx = PLACE(rx),
	.n_verdicts = 0 RC_ACCEPTED(ONE) RC_DROPS(ONE),
	.hosts = &transport_rc_hosts,
	.pairs = &transport_rc_pairs,
	.verbs = &transport_rc_verbs,
	.message_max = RC_MESSAGE_MAX,
	.settings = {settings, sizeof settings / sizeof settings[0]},
	.cc_words = cc_words,
	.cc_choices = cc_choices,
	.window_max_pkts = WINDOW_MAX_PKTS,
	.data_around_bytes = bth_bytes + icrc_bytes,
	.answer_bytes = bth_bytes + aeth_bytes + icrc_bytes,
};
