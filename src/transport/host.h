/* What a host is, for an engine that it runs: of this a transport makes its configuration.
 *
 * The soft device and the simulator describe themselves in these words, and know nothing of what an
 * engine makes of them. */
#ifndef WEFT_TRANSPORT_HOST_H
#define WEFT_TRANSPORT_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"
#include "cc/cc.h"
#include "mem/mem.h"
#include "trace/ring.h"
#include "transport/options.h"

/* What a host does for its peers; a bit each. */
enum transport_does {
	TRANSPORT_ANSWERS_TRIMS = 1, /* it tells who sent a packet that it was cut */
	TRANSPORT_TELLS_TIME = 2,    /* it tells how long its answers took it */
};

/* Zero stands for the transport's default, and for what it does not have. */
struct transport_host {
	struct mem *mem;     /* lent for the engine's life */
	struct tracer trace; /* what it is lent as well */
	uint32_t max_pairs, max_srqs, n_ports;
	uint64_t seed;    /* another for each host */
	struct cc_cfg cc; /* of queue pairs that name no other */
	uint32_t does;    /* enum transport_does */
	/* A wire that software works, where a round trip takes tens of microseconds at best and
	 * milliseconds where a process waits for its turn; else one that hardware works. */
	bool is_software;
	/* The driver sends packets in bursts that share an entropy value. */
	bool has_bursts;
	/* Others answer at the address too: numbers of questions begin with this tag. */
	bool shares_address;
	uint8_t tag;

	uint64_t total_window_bytes; /* out at once, of all queue pairs */
	uint64_t own_window_bytes;   /* that each may have out even so */
	uint32_t ack_every_pkts;
	nsec cnp_every_ns; /* TRANSPORT_CNPS: of each queue pair, at most one in this time */

	struct transport_device device;
	/* Where that has no bytes for what queue pairs share, it is sized for so many entropy
	 * values, packets out and packets ahead of a gap of each. */
	uint32_t pair_evs, pair_out_pkts, pair_ahead_pkts;
};

/* The operations of a row. */
struct transport_host_ops {
	size_t cfg_bytes;
	/* Makes a configuration of so many bytes, which the engine's functions take. */
	void (*configure)(const struct transport_host *host, void *cfg);
};

#endif
