/* Any packets into a connected queue pair of MRC with writes and endpoint requests out, and
 * receives posted: every packet is counted once, the laws of engine/engine.h hold, completions come
 * once and in order, pools give back what they lent, and nothing outside the region is touched. The
 * engine, its table, its queue pair, the region and each packet have blocks of their own size. A
 * queue pair that failed is connected anew. */
#include "fuzz.h"
#include "mrc_records.h"

#include "base/bytes.h"
#include "base/serial.h"

struct mrc_subject {
	struct subject s;
	uint8_t *region;
	uint64_t next_cookie[2]; /* of sends, and of receives */
	uint64_t n_posted[2];
	uint64_t asked, answered; /* endpoint requests */
};

static uint64_t count(const struct engine *e)
{
	const struct mrc_counters *c = mrc_counters(e);
	uint64_t sum = 0;

#define MRC_SUM(name, text) sum += c->name;
	MRC_ACCEPTED(MRC_SUM)
	MRC_DROPS(MRC_SUM)
#undef MRC_SUM
	must(c->rx == sum);
	return c->rx;
}

/* Payload comes from the region, and padding from the engine; what is sent can be read. */
static void check(const struct subject *subject, const struct tx_pkt *t)
{
	const uint8_t *region = ((const struct mrc_subject *)subject)->region;
	struct cursor c = cursor_of((struct cspan){t->head, t->head_len});
	struct mrc_pkt h;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_body; i++) {
		const uint8_t *at = t->body[i].at;
		bool is_ours = at >= region && at + t->body[i].len <= region + MRC_MEMORY;

		must(is_ours || (i + 1u == t->n_body && t->body[i].len < 4));
		n += t->body[i].len;
	}
	must(mrc_head_get(&c, false, &h, NULL).why == WIRE_DROP_NONE && cursor_left(&c) == 0);
	must(n <= MRC_RECORD_PMTU && n % 4 == 0 && h.bth.pad <= n);
	must(n == 0 ||
	     (h.bth.opcode >= MRC_OP_WRITE_FIRST && h.bth.opcode <= MRC_OP_WRITE_ONLY_IMM));
}

static void poll_endpoints(struct mrc_subject *s)
{
	struct mrc_endpoint_done done;

	while (mrc_endpoint_poll(s->s.e, &done, 1) > 0) {
		must(done.news <= MRC_ENDPOINT_PORTS && done.op <= MRC_ENDPOINT_EV_PROBE);
		s->answered += done.news != MRC_ENDPOINT_PORTS;
		must(s->answered <= s->asked);
	}
}

/* Work that was silent and went well is skipped, never doubled. */
static void poll(struct subject *subject)
{
	struct mrc_subject *s = (struct mrc_subject *)subject;
	struct engine *e = subject->e;
	struct engine_event events[4];
	struct mrc_attr attr;
	struct done done;

	while (mrc_ops.poll(e, &done, 1) > 0) {
		uint32_t kind = done.code == ENGINE_DONE_SENT ? 0 : 1;

		must(done.qp == MRC_RECORD_QP && done.code <= ENGINE_DONE_RECEIVED);
		must(done.cookie >= s->next_cookie[kind] && done.cookie < s->n_posted[kind]);
		must(kind == 0 || done.cookie == s->next_cookie[1]);
		must(done.status >= 0 && done.status < ENGINE_STATUSES);
		s->next_cookie[kind] = done.cookie + 1;
	}
	poll_endpoints(s);
	must(e->ops->events(e, events, 4) <= 4);
	must(mrc_qp_query(e, MRC_RECORD_QP, &attr, NULL, NULL) == 0);
	if (attr.state != MRC_ERROR)
		return;
	/* Flushed: everything has come back. */
	must(s->next_cookie[1] == s->n_posted[1]);
	must(mrc_record_connect(e, subject->now) == 0);
	must(mrc_usage(e).out_chunks == 0 && mrc_usage(e).early_chunks == 0);
	s->next_cookie[0] = s->n_posted[0];
}

static void post(struct subject *subject, uint8_t what, uint8_t size)
{
	struct mrc_subject *s = (struct mrc_subject *)subject;
	struct engine *e = subject->e;
	/* The region's addresses are not those of the process. */
	struct sge sge = {(void *)(uintptr_t)(MRC_RECORD_VA + size), 3u * size, MRC_RECORD_KEY};
	uint8_t which = what % MRC_WORKS;

	if (which == MRC_WORK_RANGE) {
		struct mrc_attr attr = {.mpr = (uint8_t)(1 + size % mrc_record_caps.max_mpr)};

		must(mrc_qp_modify(e, subject->now, MRC_RECORD_QP, &attr, MRC_SET_MPR) == 0);
		return;
	}
	if (which >= MRC_WORK_ENDPOINT) {
		struct mrc_endpoint request = mrc_record_endpoint(what, s->asked);

		if (mrc_endpoint_post(e, subject->now, &request) == 0)
			s->asked++;
		else
			mrc_endpoint_expire(e, subject->now);
		return;
	}
	struct op op = mrc_record_op(which, &sge, 0);
	uint32_t kind = op.code == ENGINE_RECV;

	op.cookie = s->n_posted[kind];
	op.flags = what & 16 ? ENGINE_SILENT : 0;
	if (mrc_ops.post(e, subject->now, &op) == 0)
		s->n_posted[kind]++;
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

static const struct subject_ops subject_ops = {
	.head_bytes = MRC_HEAD_BYTES,
	.wait_ns = 256,
	.n_ports = 2,
	.room = {3, 4},
	.count = count,
	.fit = fit,
	.check = check,
	.post = post,
	.poll = poll,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *table = calloc(1, mem_bytes(4)), *qp = malloc(mrc_qp_size(&mrc_record_caps));
	struct mrc_subject s = {.s.ops = &subject_ops, .region = calloc(1, MRC_MEMORY)};

	must(table && qp && s.region);
	struct mem *mem = mem_init(table, 4);
	struct mrc_cfg cfg = mrc_record_cfg(mem);
	struct mem_entry entry = {.at = s.region,
				  .iova = MRC_RECORD_VA,
				  .len = MRC_MEMORY,
				  .key = MRC_RECORD_KEY,
				  .access = mrc_record_attr.access};

	s.s.e = malloc(mrc_ops.size(&cfg));
	must(s.s.e && mem_add(mem, &entry) == 0 && mrc_ops.init(s.s.e, &cfg, 0) == 0);
	must(mrc_qp_new(s.s.e, MRC_RECORD_QP, &mrc_record_caps, qp) == 0);
	must(mrc_record_connect(s.s.e, 0) == 0);
	s.s.now = MRC_RECORD_START;
	for (uint32_t i = 0; i < sizeof mrc_record_out; i++)
		post(&s.s, mrc_record_out[i], MRC_RECORD_SIZE);
	subject_pull(&s.s);
	subject_run(&s.s, data, size);
	subject_pull(&s.s);
	must(mrc_qp_free(s.s.e, MRC_RECORD_QP) == qp);
	struct mrc_usage use = mrc_usage(s.s.e);

	must(use.out_chunks == 0 && use.early_chunks == 0 && use.answers == 0);
	free(s.s.e);
	free(qp);
	free(table);
	free(s.region);
	return 0;
}
