/* What the verbs set of a queue pair of reliable connections, one by one (IBTA 11.2.5.2), and what
 * a shared receive queue is made with: for every transport that can stand below the verbs. */
#ifndef WEFT_ENGINE_ATTR_H
#define WEFT_ENGINE_ATTR_H

#include <stdbool.h>
#include <stdint.h>

/* As named by the bits of enum engine_set; which values a transport takes it says itself. */
struct engine_attr {
	uint8_t state;        /* enum engine_state */
	uint8_t access;       /* enum mem_access: what the peer may do at all */
	uint16_t pmtu;        /* 256, 512, 1024, 2048, 4096 */
	uint32_t peer, local; /* driver's handles */
	uint8_t port;         /* of the engine's */
	uint32_t ev;          /* entropy of its packets */
	uint32_t remote_qp;
	uint32_t rq_psn, sq_psn; /* first to receive, first to send */
	uint8_t rd_atomic;       /* most reads and atomics we have out */
	uint8_t dest_rd_atomic;  /* most of the peer's that we take */
	uint8_t rnr_timer;       /* code sent in RNR NAKs, 0 .. 31 */
	uint8_t timeout;         /* 4.096 us * 2^timeout, 1 .. 31; 0: never */
	uint8_t retries;         /* 0 .. 7 */
	uint8_t rnr_retries;     /* 0 .. 6; 7: without end */
	bool wants_drained;      /* of this move to ENGINE_SQD: an event shall tell its end */
};

enum engine_set {
	ENGINE_SET_STATE = 1 << 0,
	ENGINE_SET_ACCESS = 1 << 1,
	ENGINE_SET_PMTU = 1 << 2,
	ENGINE_SET_PATH = 1 << 3, /* peer, local, port, ev */
	ENGINE_SET_REMOTE_QP = 1 << 4,
	ENGINE_SET_RQ_PSN = 1 << 5,
	ENGINE_SET_SQ_PSN = 1 << 6,
	ENGINE_SET_RD_ATOMIC = 1 << 7,
	ENGINE_SET_DEST_RD_ATOMIC = 1 << 8,
	ENGINE_SET_RNR_TIMER = 1 << 9,
	ENGINE_SET_TIMEOUT = 1 << 10,
	ENGINE_SET_RETRIES = 1 << 11,
	ENGINE_SET_RNR_RETRIES = 1 << 12,
	ENGINE_SET_WANTS_DRAINED = 1 << 13, /* from ENGINE_RTS to ENGINE_SQD only; each time anew */
};

struct engine_srq_caps {
	uint32_t max_recv, max_sge, pd;
};

#endif
