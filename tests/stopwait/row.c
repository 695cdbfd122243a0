/* What rooms above know of it: carrier, seal, host, row. */
#include "stopwait.h"
#include "wire/net.h"

#define STRANGERS 16u
#define HOLD_NS   UINT64_C(1000000000)

WIRE_DEFINE(stopwait_head, STOPWAIT_FIELDS)

/* A CRC-32C from the UDP header on, whose checksum counts as zeros. */
static const struct seal seal = {
	.name = "crc32c",
	.sum = SEAL_CRC32C,
	.tail_bytes = 4,
	.is_msb_first = true,
	.front = {{.from = ipv4_bytes,
		   .to = ipv4_bytes + 8,
		   .zeros = {[ipv4_bytes + 6] = 0xff, [ipv4_bytes + 7] = 0xff}},
		  {.from = ipv6_bytes,
		   .to = ipv6_bytes + 8,
		   .zeros = {[ipv6_bytes + 6] = 0xff, [ipv6_bytes + 7] = 0xff}}},
};

/* What is to STOPWAIT_OPEN is for whoever takes strangers; all else is to a number. */
const struct carrier stopwait_carrier = {
	.name = "stopwait",
	.port = STOPWAIT_PORT,
	.protocol = CARRIER_UDP,
	.head_least = stopwait_head_bytes,
	.head_most = stopwait_head_bytes,
	.pad_max = CARRIER_PAD_MAX,
	.payload_max = STOPWAIT_PAYLOAD_MAX,
	.pieces_max = 2,
	.spare = 0xff,
	.tag_bits = 8,
	.number = {.at = 0, .width = 24},
	.rules = {{.match = {{.at = 0, .mask = 0xffffffu, .value = STOPWAIT_OPEN}},
		   .n_match = 1,
		   .owner = CARRIER_ANYONE},
		  {.owner = CARRIER_NUMBER, .bits = {.at = 0, .width = 24}}},
	.n_rules = 2,
	.seals = {{.seal = &seal}},
	.n_seals = 1,
	.fields = {{0, 1}, {1, 3}, {4, 1}, {5, 3}, {8, 4}},
	.n_fields = 5,
};

static void configure(const struct transport_host *host, void *cfg)
{
	bool is_open = host->device.stranger_rate != TRANSPORT_NO_STRANGERS;

	*(struct stopwait_cfg *)cfg = (struct stopwait_cfg){
		.mem = host->mem,
		.max_pairs = host->max_pairs,
		.max_strangers = is_open ? STRANGERS : 0,
		.n_ports = host->n_ports,
		.hold_ns = HOLD_NS,
		.trace = host->trace,
	};
}

static const struct transport_host_ops hosts = {
	.cfg_bytes = sizeof(struct stopwait_cfg),
	.configure = configure,
};

#define COUNTER(name, text) {#name, text},
static const struct transport_counter counters[] = {STOPWAIT_COUNTERS(COUNTER)};
#undef COUNTER
#define PLACE(name)     (offsetof(struct stopwait_counters, name) / sizeof(uint64_t))
#define ONE(name, text) +1

static const char *packet_name(uint8_t kind)
{
	static const char *const names[] = {"WRITE", "WRITE_IMM", "SEND", "ACK"};

	return kind < sizeof names / sizeof names[0] ? names[kind] : NULL;
}

static const struct setting settings[] = {
	{.name = "retries",
	 .unit = UNIT_COUNT,
	 SETTING_AT(struct transport_options, retries),
	 .most = 1000,
	 .fallback = 15},
};
static const char *const cc_words[] = {"none", NULL};
static const struct transport_cc_choice cc_choices[] = {{.kind = CC_FIXED}};

const struct transport stopwait = {
	.name = "stopwait",
	.engine = &stopwait_ops,
	.carrier = &stopwait_carrier,
	.features = TRANSPORT_NOT_READY | TRANSPORT_STRANGERS,
	.ops = 1u << ENGINE_WRITE | 1u << ENGINE_WRITE_IMM | 1u << ENGINE_SEND,
	.head_bytes = stopwait_head_bytes,
	.ports_max = 1,
	.ccs = 1u << CC_FIXED,
	.cc = CC_FIXED,
	.first_number = STOPWAIT_OPEN + 1,
	.least_number = STOPWAIT_OPEN + 1,
	.open_number = STOPWAIT_OPEN,
	.open_bytes = stopwait_head_bytes + STOPWAIT_PAYLOAD_MAX + 4,
	.hosts = &hosts,
	.pairs = &stopwait_pairs,
	.addresses = &stopwait_addresses,
	.message_max = STOPWAIT_MESSAGE_MAX,
	.settings = {settings, sizeof settings / sizeof settings[0]},
	.cc_words = cc_words,
	.cc_choices = cc_choices,
	.window_max_pkts = 1,
	.data_around_bytes = stopwait_head_bytes + 4,
	.answer_bytes = stopwait_head_bytes + 4,
	.packet_name = packet_name,
	.counters = counters,
	.n_counters = sizeof counters / sizeof counters[0],
	.count_retx = PLACE(tx_retx),
	.count_received = PLACE(rx_bytes),
	.count_rx = PLACE(rx),
	.n_verdicts = 0 STOPWAIT_ACCEPTED(ONE) STOPWAIT_DROPS(ONE),
};
