/* What the records of the target `ref` are about. */
#ifndef WEFT_FUZZ_REF_RECORDS_H
#define WEFT_FUZZ_REF_RECORDS_H

#include "records.h"
#include "ref/ref.h"

enum { REF_IS_OTHER_PORT = RECORD_IS_SPECIAL };
enum { REF_MEMORY = 4096, REF_MESSAGE = 600 };

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

static const struct ref_peer ref_record_peer = {.peer = RECORD_PEER};

#endif
