/* RC, for the target that drives an engine. */
#include "engine_target.h"
#include "rc_records.h"

#include "base/bytes.h"
#include "base/serial.h"
#include "wire/roce.h"

static bool is_response(uint8_t opcode)
{
	return opcode >= ROCE_OP_READ_RESPONSE_FIRST && opcode <= ROCE_OP_ATOMIC_ACKNOWLEDGE;
}

/* See RC_IS_FITTED. */
static void fit(const struct subject *s, uint8_t flags, struct rx_pkt *rx, uint8_t *bytes)
{
	uint32_t n = rx->head.len;
	struct engine_attr attr;
	uint16_t stack;

	if (!(flags & RC_IS_FITTED) || n < bth_bytes ||
	    rc_qp_query(s->e, RC_RECORD_QP, &attr, NULL, NULL) != 0)
		return;
	struct bth bth;

	bth_get(bytes, &bth);
	uint32_t base = is_response(bth.opcode) ? attr.sq_psn : attr.rq_psn;

	bth.dest_qp = RC_RECORD_QP;
	bth.pkey = RC_PKEY;
	bth.tver = 0;
	bth.psn = psn24_add(psn24_of(base), (int8_t)bytes[11]).v;
	bth_put(&bth, bytes);
	if (roce_opcode_stack(bth.opcode, &stack) && (stack & (ROCE_RETH | ROCE_ATOMIC)) &&
	    n >= bth_bytes + reth_bytes) {
		put_be64(bytes + bth_bytes, RC_RECORD_VA + bytes[bth_bytes + 7]);
		put_be32(bytes + bth_bytes + 8, RC_RECORD_KEY);
	}
}

static const void *configure(struct mem *mem)
{
	static struct rc_cfg cfg;

	cfg = rc_record_cfg(mem);
	return &cfg;
}

static size_t pair_bytes(void)
{
	return rc_qp_size(&rc_record_caps);
}

static int make(struct engine *e, void *memory)
{
	return rc_qp_new(e, RC_RECORD_QP, &rc_record_caps, memory);
}

static struct op op_of(uint8_t what, struct sge *sge)
{
	return rc_record_op(what, sge, 0);
}

const struct engine_target engine_target = {
	.row = &transport_rc,
	.subject = {.head_bytes = RC_HEAD_BYTES,
		    .wait_ns = 256,
		    .n_ports = 1,
		    .room = {5},
		    .fit = fit},
	.number = RC_RECORD_QP,
	.key = RC_RECORD_KEY,
	.va = RC_RECORD_VA,
	.region_bytes = RC_MEMORY,
	.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC,
	.out = rc_record_out,
	.n_out = sizeof rc_record_out,
	.out_size = RC_RECORD_SIZE,
	.configure = configure,
	.pair_bytes = pair_bytes,
	.make = make,
	.connect = rc_record_connect,
	.op = op_of,
};
