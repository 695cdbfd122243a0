/* Any packets into a connected queue pair of RC with work out both ways: every packet is counted
 * once, the laws of engine/engine.h hold, completions come once and in order, and nothing outside
 * the region is touched. The engine, its table, its queue pair, the region and each packet have
 * blocks of their own size. A queue pair that failed is connected anew. */
#include "fuzz.h"
#include "rc_records.h"

#include "base/bytes.h"
#include "base/serial.h"
#include "wire/roce.h"

struct rc_subject {
	struct subject s;
	uint8_t *region;
	uint64_t next_cookie[2]; /* of sends, and of receives */
	uint64_t n_posted[2];
};

static uint64_t count(const struct engine *e)
{
	const struct rc_counters *c = rc_counters(e);
	uint64_t sum = 0;

#define RC_SUM(name, text) sum += c->name;
	RC_ACCEPTED(RC_SUM)
	RC_DROPS(RC_SUM)
#undef RC_SUM
	must(c->rx == sum);
	return c->rx;
}

/* Payload comes from the region, and padding from the engine. */
static void check(const struct subject *subject, const struct tx_pkt *t)
{
	const uint8_t *region = ((const struct rc_subject *)subject)->region;

	for (uint32_t i = 0; i < t->n_body; i++) {
		const uint8_t *at = t->body[i].at;
		bool is_ours = at >= region && at + t->body[i].len <= region + RC_MEMORY;

		must(is_ours || (i + 1u == t->n_body && t->body[i].len < 4));
	}
}

/* Work that was silent and went well is skipped, never doubled. */
static void poll(struct subject *subject)
{
	struct rc_subject *s = (struct rc_subject *)subject;
	struct engine *e = subject->e;
	struct engine_event events[4];
	struct rc_attr attr;
	struct done done;

	while (rc_ops.poll(e, &done, 1) > 0) {
		uint32_t kind = done.code == ENGINE_DONE_SENT ? 0 : 1;

		must(done.qp == RC_RECORD_QP && done.code <= ENGINE_DONE_RECEIVED);
		must(done.cookie >= s->next_cookie[kind] && done.cookie < s->n_posted[kind]);
		must(kind == 0 || done.cookie == s->next_cookie[1]);
		must(done.status >= 0 && done.status < ENGINE_STATUSES);
		s->next_cookie[kind] = done.cookie + 1;
	}
	must(e->ops->events(e, events, 4) <= 4);
	must(rc_qp_query(e, RC_RECORD_QP, &attr, NULL, NULL) == 0);
	if (attr.state != RC_ERROR)
		return;
	/* Flushed: everything has come back. */
	must(s->next_cookie[1] == s->n_posted[1]);
	must(rc_record_connect(e, subject->now) == 0);
	s->next_cookie[0] = s->n_posted[0];
}

static void post(struct subject *subject, uint8_t what, uint8_t size)
{
	struct rc_subject *s = (struct rc_subject *)subject;
	struct sge sge = {s->region, 3u * size, RC_RECORD_KEY};
	struct op op = rc_record_op(what, &sge, 0);
	uint32_t kind = op.code == ENGINE_RECV;

	/* The region's addresses are not those of the process. */
	sge.at = (void *)(uintptr_t)(RC_RECORD_VA + size);
	op.cookie = s->n_posted[kind];
	if (rc_ops.post(subject->e, subject->now, &op) == 0)
		s->n_posted[kind]++;
}

static bool is_response(uint8_t opcode)
{
	return opcode >= ROCE_OP_READ_RESPONSE_FIRST && opcode <= ROCE_OP_ATOMIC_ACKNOWLEDGE;
}

/* See RC_IS_FITTED. */
static void fit(const struct subject *s, uint8_t flags, struct rx_pkt *rx, uint8_t *bytes)
{
	uint32_t n = rx->head.len;
	struct rc_attr attr;
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

static const struct subject_ops subject_ops = {
	.head_bytes = RC_HEAD_BYTES,
	.wait_ns = 256,
	.n_ports = 1,
	.room = {5},
	.count = count,
	.fit = fit,
	.check = check,
	.post = post,
	.poll = poll,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *table = calloc(1, mem_bytes(4)), *qp = malloc(rc_qp_size(&rc_record_caps));
	struct rc_subject s = {.s.ops = &subject_ops, .region = calloc(1, RC_MEMORY)};

	must(table && qp && s.region);
	struct mem *mem = mem_init(table, 4);
	struct rc_cfg cfg = rc_record_cfg(mem);
	struct mem_entry entry = {.at = s.region,
				  .iova = RC_RECORD_VA,
				  .len = RC_MEMORY,
				  .key = RC_RECORD_KEY,
				  .access = rc_record_attr.access};

	s.s.e = malloc(rc_ops.size(&cfg));
	must(s.s.e && mem_add(mem, &entry) == 0 && rc_ops.init(s.s.e, &cfg, 0) == 0);
	must(rc_qp_new(s.s.e, RC_RECORD_QP, &rc_record_caps, qp) == 0);
	must(rc_record_connect(s.s.e, 0) == 0);
	for (uint32_t i = 0; i < sizeof rc_record_out; i++)
		post(&s.s, rc_record_out[i], RC_RECORD_SIZE);
	subject_pull(&s.s);
	subject_run(&s.s, data, size);
	subject_pull(&s.s);
	must(rc_qp_free(s.s.e, RC_RECORD_QP) == qp);
	free(s.s.e);
	free(qp);
	free(table);
	free(s.region);
	return 0;
}
