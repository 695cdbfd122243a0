/* What the records of the target `rc` are about. */
#ifndef WEFT_FUZZ_RC_RECORDS_H
#define WEFT_FUZZ_RC_RECORDS_H

#include "rc/rc.h"
#include "records.h"

enum {
	/* The packet's queue pair is set to ours, its PSN's last byte is taken as a distance from
	 * what is expected or out, and its keys are made right: else no mutation gets far. */
	RC_IS_FITTED = RECORD_IS_SPECIAL,
};
enum { RC_MEMORY = 4096, RC_RECORD_PMTU = 256 };

#define RC_RECORD_QP  0x11u
#define RC_RECORD_KEY 0x1234u
#define RC_RECORD_VA  UINT64_C(0x100000)

static inline struct rc_cfg rc_record_cfg(struct mem *mem)
{
	return (struct rc_cfg){
		.mem = mem,
		.max_qps = 1,
		.cc = {.kind = CC_DCQCN,
		       .window_bytes = 2048,
		       .line_rate_bps = UINT64_C(100000000000)},
		.ack_every_pkts = 4,
	};
}

static const struct rc_caps rc_record_caps = {
	.max_send = 4, .max_recv = 4, .max_send_sge = 2, .max_recv_sge = 2, .srq = RC_NO_SRQ};

/* Both ends of the connection. */
static const struct engine_attr rc_record_attr = {
	.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC,
	.pmtu = RC_RECORD_PMTU,
	.peer = RECORD_PEER,
	.remote_qp = RC_RECORD_QP,
	.rq_psn = 0xfffff0,
	.sq_psn = 0xfffff0,
	.rd_atomic = 2,
	.dest_rd_atomic = 2,
	.rnr_timer = 1,
	.timeout = 4,
	.retries = 2,
	.rnr_retries = 2,
};

/* Takes the queue pair from whatever state to ENGINE_RTS; 0 when all went well. */
static inline int rc_record_connect(struct engine *e, nsec now)
{
	static const uint8_t states[] = {ENGINE_RESET, ENGINE_INIT, ENGINE_RTR, ENGINE_RTS};
	static const uint32_t sets[] = {
		0, ENGINE_SET_ACCESS,
		ENGINE_SET_PMTU | ENGINE_SET_PATH | ENGINE_SET_REMOTE_QP | ENGINE_SET_RQ_PSN |
			ENGINE_SET_DEST_RD_ATOMIC | ENGINE_SET_RNR_TIMER,
		ENGINE_SET_SQ_PSN | ENGINE_SET_RD_ATOMIC | ENGINE_SET_TIMEOUT | ENGINE_SET_RETRIES |
			ENGINE_SET_RNR_RETRIES};
	struct engine_attr attr = rc_record_attr;
	int bad = 0;

	for (uint32_t i = 0; i < sizeof states; i++) {
		attr.state = states[i];
		bad |= rc_qp_modify(e, now, RC_RECORD_QP, &attr, ENGINE_SET_STATE | sets[i]);
	}
	return bad;
}

/* Work number `what` of the target: one of each kind. */
static inline struct op rc_record_op(uint8_t what, struct sge *sge, uint64_t cookie)
{
	static const uint8_t codes[] = {ENGINE_WRITE,    ENGINE_WRITE_IMM, ENGINE_SEND,
					ENGINE_SEND_IMM, ENGINE_READ,      ENGINE_ATOMIC,
					ENGINE_RECV,     ENGINE_RECV};
	uint8_t code = codes[what % sizeof codes];

	if (code == ENGINE_ATOMIC)
		sge->len = 8;
	return (struct op){.code = code,
			   .cookie = cookie,
			   .qp = RC_RECORD_QP,
			   .remote = RC_RECORD_VA,
			   .key = RC_RECORD_KEY,
			   .atomic_op = what & 8 ? ENGINE_FETCH_ADD : ENGINE_COMPARE_SWAP,
			   .flags = what & 16 ? ENGINE_SILENT : 0,
			   .sg = sge,
			   .n_sg = 1};
}

/* What is out when an input begins: a read, an atomic, a write and a send; two receives wait. Each
 * is of three times RC_RECORD_SIZE bytes. */
static const uint8_t rc_record_out[] = {4, 13, 0, 2, 6, 7};
enum { RC_RECORD_SIZE = 96 };

#endif
