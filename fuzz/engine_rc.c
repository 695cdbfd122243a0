/* RC, for the target that drives an engine. */
#include "engine_target.h"

#include "base/bytes.h"
#include "base/serial.h"
#include "rc/rc.h"
#include "wire/roce.h"

enum {
	/* The packet's queue pair is set to ours, its PSN's last byte is taken as a distance from
	 * what is expected or out, and its keys are made right: else no mutation gets far. */
	IS_FITTED = RECORD_IS_SPECIAL,
};
static const struct rc_caps caps = {
	.max_send = 4, .max_recv = 4, .max_send_sge = 2, .max_recv_sge = 2, .srq = RC_NO_SRQ};

/* Both ends of the connection. */
static const struct engine_attr attr_of_target = {
	.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC,
	.pmtu = TARGET_PMTU,
	.peer = RECORD_PEER,
	.remote_qp = TARGET_QP,
	.rq_psn = TARGET_PSN,
	.sq_psn = TARGET_PSN,
	.rd_atomic = 2,
	.dest_rd_atomic = 2,
	.rnr_timer = 1,
	.timeout = 4,
	.retries = 2,
	.rnr_retries = 2,
};

/* Takes the queue pair from whatever state to ENGINE_RTS; 0 when all went well. */
static int connect_pair(struct engine *e, nsec now)
{
	static const uint8_t states[] = {ENGINE_RESET, ENGINE_INIT, ENGINE_RTR, ENGINE_RTS};
	static const uint32_t sets[] = {
		0, ENGINE_SET_ACCESS,
		ENGINE_SET_PMTU | ENGINE_SET_PATH | ENGINE_SET_REMOTE_QP | ENGINE_SET_RQ_PSN |
			ENGINE_SET_DEST_RD_ATOMIC | ENGINE_SET_RNR_TIMER,
		ENGINE_SET_SQ_PSN | ENGINE_SET_RD_ATOMIC | ENGINE_SET_TIMEOUT | ENGINE_SET_RETRIES |
			ENGINE_SET_RNR_RETRIES};
	struct engine_attr attr = attr_of_target;
	int bad = 0;

	for (uint32_t i = 0; i < sizeof states; i++) {
		attr.state = states[i];
		bad |= rc_qp_modify(e, now, TARGET_QP, &attr, ENGINE_SET_STATE | sets[i]);
	}
	return bad;
}

static bool is_response(uint8_t opcode)
{
	return opcode >= ROCE_OP_READ_RESPONSE_FIRST && opcode <= ROCE_OP_ATOMIC_ACKNOWLEDGE;
}

/* See IS_FITTED. */
static void fit(const struct subject *s, uint8_t flags, struct rx_pkt *rx, uint8_t *bytes)
{
	uint32_t n = rx->head.len;
	struct engine_attr attr;
	uint16_t stack;

	if (!(flags & IS_FITTED) || n < bth_bytes ||
	    rc_qp_query(s->e, TARGET_QP, &attr, NULL, NULL) != 0)
		return;
	struct bth bth;

	bth_get(bytes, &bth);
	uint32_t base = is_response(bth.opcode) ? attr.sq_psn : attr.rq_psn;

	bth.dest_qp = TARGET_QP;
	bth.pkey = RC_PKEY;
	bth.tver = 0;
	bth.psn = psn24_add(psn24_of(base), (int8_t)bytes[11]).v;
	bth_put(&bth, bytes);
	if (roce_opcode_stack(bth.opcode, &stack) && (stack & (ROCE_RETH | ROCE_ATOMIC)) &&
	    n >= bth_bytes + reth_bytes) {
		put_be64(bytes + bth_bytes, TARGET_VA + bytes[bth_bytes + 7]);
		put_be32(bytes + bth_bytes + 8, TARGET_KEY);
	}
}

static const void *configure(struct mem *mem)
{
	static struct rc_cfg cfg;

	cfg = (struct rc_cfg){
		.mem = mem,
		.max_qps = 1,
		.cc = {.kind = CC_DCQCN,
		       .window_bytes = 2048,
		       .line_rate_bps = UINT64_C(100000000000)},
		.ack_every_pkts = 4,
	};
	return &cfg;
}

static size_t pair_bytes(void)
{
	return rc_qp_size(&caps);
}

static int make(struct engine *e, void *memory)
{
	return rc_qp_new(e, TARGET_QP, &caps, memory);
}

/* Work number `what` of the target: one of each kind. */
static struct op op_of(uint8_t what, struct sge *sge)
{
	static const uint8_t codes[] = {ENGINE_WRITE,    ENGINE_WRITE_IMM, ENGINE_SEND,
					ENGINE_SEND_IMM, ENGINE_READ,      ENGINE_ATOMIC,
					ENGINE_RECV,     ENGINE_RECV};
	uint8_t code = codes[what % sizeof codes];

	if (code == ENGINE_ATOMIC)
		sge->len = 8;
	return (struct op){.code = code,
			   .qp = TARGET_QP,
			   .remote = TARGET_VA,
			   .key = TARGET_KEY,
			   .atomic_op = what & 8 ? ENGINE_FETCH_ADD : ENGINE_COMPARE_SWAP,
			   .flags = what & 16 ? ENGINE_SILENT : 0,
			   .sg = sge,
			   .n_sg = 1};
}

/* What is out when an input begins: a read, an atomic, a write and a send; two receives wait. Each
 * is of three times out_size bytes. */
static const uint8_t out[] = {4, 13, 0, 2, 6, 7};

const struct engine_target target_rc = {
	.row = &transport_rc,
	.subject = {.head_bytes = RC_HEAD_BYTES,
		    .wait_ns = 256,
		    .n_ports = 1,
		    .room = {5},
		    .fit = fit},
	.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC,
	.out = out,
	.n_out = sizeof out,
	.out_size = 96,
	.configure = configure,
	.pair_bytes = pair_bytes,
	.make = make,
	.connect = connect_pair,
	.op = op_of,
};
