/* What an input of the target `ref` means: records, one after the other. The seeds are written in
 * the same way. */
#ifndef WEFT_FUZZ_REF_RECORDS_H
#define WEFT_FUZZ_REF_RECORDS_H

#include "ref/ref.h"

enum { REF_RECORD_PACKET, REF_RECORD_PULL, REF_RECORD_POST, REF_RECORD_WAIT };
enum { REF_IS_TRIMMED = 1, REF_IS_MARKED = 2, REF_IS_STRANGE = 4, REF_IS_OTHER_PORT = 8 };
enum { REF_RECORD_HEAD = 4, REF_MEMORY = 4096, REF_MESSAGE = 600, REF_PEER = 7 };

/* A record is these four bytes: what, of REF_RECORD_...; flags; virtual payload in pieces of 16
 * bytes; n, and then n bytes of a packet. */

static const uint32_t ref_record_evs[4] = {0xc0000001, 0xc0010002, 0xc0020003, 0xc0030004};

/* Both ends of the connection, which differ in their memory only. */
static inline struct ref_cfg ref_record_cfg(uint8_t *memory)
{
	return (struct ref_cfg){
		.seed = 1,
		.max_qps = 1,
		.max_ops = 4,
		.max_events = 4,
		.max_controls = 8,
		.payload_bytes = 128,
		.window_pkts = 16,
		.ack_every = 4,
		.evs = ref_record_evs,
		.n_evs = 4,
		.n_ports = 2,
		.retries = 2,
		.rto_ns = 1000,
		.memory = memory,
		.memory_bytes = memory ? REF_MEMORY : 0,
	};
}

static const struct ref_peer ref_record_peer = {.peer = REF_PEER};

#endif
