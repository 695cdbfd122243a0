/* MRC, for the target that drives an engine: endpoint requests are out too, and pools give back
 * what they lent. */
#include "engine_target.h"
#include "mrc_records.h"

#include "base/bytes.h"
#include "base/serial.h"

/* What is sent can be read. */
static void check(const struct tx_pkt *tx)
{
	struct cursor c = cursor_of((struct cspan){tx->head, tx->head_len});
	struct mrc_pkt h;
	uint32_t n = 0;

	for (uint32_t i = 0; i < tx->n_body; i++)
		n += tx->body[i].len;
	must(mrc_head_get(&c, false, &h, NULL).why == WIRE_DROP_NONE && cursor_left(&c) == 0);
	must(n <= MRC_RECORD_PMTU && n % 4 == 0 && h.bth.pad <= n);
	must(n == 0 ||
	     (h.bth.opcode >= MRC_OP_WRITE_FIRST && h.bth.opcode <= MRC_OP_WRITE_ONLY_IMM));
}

static void poll_endpoints(struct driven *d)
{
	struct mrc_endpoint_done done;

	while (mrc_endpoint_poll(d->s.e, &done, 1) > 0) {
		must(done.news <= MRC_ENDPOINT_PORTS && done.op <= MRC_ENDPOINT_EV_PROBE);
		d->answered += done.news != MRC_ENDPOINT_PORTS;
		must(d->answered <= d->asked);
	}
}

static bool post_other(struct driven *d, uint8_t what, uint8_t size)
{
	struct engine *e = d->s.e;
	uint8_t which = what % MRC_WORKS;

	if (which == MRC_WORK_RANGE) {
		struct mrc_attr attr = {.mpr = (uint8_t)(1 + size % mrc_record_caps.max_mpr)};

		must(mrc_qp_modify(e, d->s.now, MRC_RECORD_QP, &attr, MRC_SET_MPR) == 0);
	} else if (which >= MRC_WORK_ENDPOINT) {
		struct mrc_endpoint request = mrc_record_endpoint(what, d->asked);

		if (mrc_endpoint_post(e, d->s.now, &request) == 0)
			d->asked++;
		else
			mrc_endpoint_expire(e, d->s.now);
	}
	return which >= MRC_WORK_ENDPOINT;
}

/* A PSN of 24 bits: its last byte becomes a distance from base. */
static void fit_psn(uint8_t *at, uint32_t base)
{
	put_be24(at, psn24_add(psn24_of(base), (int8_t)at[2]).v);
}

/* See MRC_IS_FITTED. */
static void fit(const struct subject *s, uint8_t flags, struct rx_pkt *rx, uint8_t *bytes)
{
	uint32_t n = rx->head.len;
	struct mrc_attr attr;
	uint16_t stack;

	rx->ev = mrc_record_evs[flags % MRC_RECORD_EVS].value;
	rx->port = flags >> 4 & 1;
	if (n < mrc_bth_bytes || mrc_qp_query(s->e, MRC_RECORD_QP, &attr, NULL, NULL) != 0)
		return;
	bool is_known = mrc_opcode_stack(bytes[0], &stack);

	/* Those are answered whoever sends them, and the answers here go to one peer. */
	if (is_known && stack & MRC_ERTH)
		rx->peer = RECORD_PEER;
	if (!(flags & MRC_IS_FITTED))
		return;
	bool is_endpoint = is_known && stack & (MRC_ERTH | MRC_EETH);
	bool is_answer = is_known && stack & (MRC_AETH | MRC_SETH | MRC_NETH);

	bytes[1] &= 0xf0;
	put_be16(bytes + 2, ROCE_PKEY_DEFAULT);
	put_be24(bytes + 5, is_endpoint ? MRC_ENDPOINT_QP : MRC_RECORD_QP);
	if (!is_endpoint)
		fit_psn(bytes + 9, is_answer ? attr.sq_psn : attr.rq_psn);
	uint8_t *more = bytes + mrc_bth_bytes;

	if (!is_known)
		return;
	if (stack & (MRC_SETH | MRC_NETH) && n >= mrc_bth_bytes + neth_bytes)
		fit_psn(more + 13, attr.sq_psn);
	more += meth_bytes + (bytes[8] & 0x10 ? tseth_bytes : 0);
	if (stack & MRC_RETH && more + reth_bytes <= bytes + n) {
		put_be64(more, MRC_RECORD_VA + more[7]);
		put_be32(more + 8, MRC_RECORD_KEY);
	}
}

static const void *configure(struct mem *mem)
{
	static struct mrc_cfg cfg;

	cfg = mrc_record_cfg(mem);
	return &cfg;
}

static size_t pair_bytes(void)
{
	return mrc_qp_size(&mrc_record_caps);
}

static int make(struct engine *e, void *memory)
{
	return mrc_qp_new(e, MRC_RECORD_QP, &mrc_record_caps, memory);
}

static struct op op_of(uint8_t what, struct sge *sge)
{
	struct op op = mrc_record_op(what % MRC_WORKS, sge, 0);

	op.flags = what & 16 ? ENGINE_SILENT : 0;
	return op;
}

static void check_idle(const struct engine *e)
{
	const struct mrc_usage use = mrc_usage(e);

	must(use.out_chunks == 0 && use.early_chunks == 0);
}

const struct engine_target engine_target = {
	.row = &transport_mrc,
	.subject = {.head_bytes = MRC_HEAD_BYTES,
		    .wait_ns = 256,
		    .n_ports = 2,
		    .room = {3, 4},
		    .fit = fit},
	.number = MRC_RECORD_QP,
	.key = MRC_RECORD_KEY,
	.va = MRC_RECORD_VA,
	.region_bytes = MRC_MEMORY,
	.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE,
	.start = MRC_RECORD_START,
	.out = mrc_record_out,
	.n_out = sizeof mrc_record_out,
	.out_size = MRC_RECORD_SIZE,
	.configure = configure,
	.pair_bytes = pair_bytes,
	.make = make,
	.connect = mrc_record_connect,
	.op = op_of,
	.post_other = post_other,
	.poll_other = poll_endpoints,
	.check = check,
	.check_idle = check_idle,
};
