/* Any packets into an open queue pair of the reference transport, between its own work: every
 * packet is counted once, the laws of engine/engine.h hold, and nothing outside the memory is
 * touched. The engine, its memory and each packet have blocks of their own size. */
#include "fuzz.h"
#include "ref_records.h"

/* What the engine was asked to do. */
struct ref_subject {
	struct subject s;
	uint32_t n_posted, n_sent;
};

static uint64_t count(const struct engine *e)
{
	const struct ref_counters *c = ref_counters(e);
	uint64_t sum = 0;

#define REF_SUM(name, text) sum += c->name;
	REF_ACCEPTED(REF_SUM)
	REF_DROPS(REF_SUM)
#undef REF_SUM
	must(c->rx == sum);
	return c->rx;
}

static void poll(struct subject *subject)
{
	struct ref_subject *s = (struct ref_subject *)subject;
	struct done done[4];
	uint32_t n = ref_ops.poll(s->s.e, done, 4);

	must(n <= 4);
	for (uint32_t i = 0; i < n; i++) {
		must(done[i].qp == 0);
		/* Sent work completes in order, each once. */
		if (done[i].code == ENGINE_DONE_SENT)
			must(done[i].cookie == s->n_sent++ && s->n_sent <= s->n_posted);
	}
}

static void post(struct subject *subject, uint8_t what, uint8_t size)
{
	static uint8_t bytes[REF_MESSAGE];
	struct ref_subject *s = (struct ref_subject *)subject;
	struct sge sge = {bytes, sizeof bytes, 0};
	struct op op = {.code = ENGINE_WRITE_IMM, .cookie = s->n_posted, .sg = &sge, .n_sg = 1};

	(void)what;
	(void)size;
	if (ref_ops.post(s->s.e, s->s.now, &op) == 0)
		s->n_posted++;
}

static void fit(const struct subject *s, uint8_t flags, struct rx_pkt *rx, uint8_t *head)
{
	(void)s;
	(void)head;
	rx->ev = ref_record_evs[0];
	rx->port = flags & REF_IS_OTHER_PORT ? 1 : 0;
}

static const struct subject_ops subject_ops = {
	.head_bytes = ENGINE_HEAD_MAX,
	.wait_ns = 16,
	.n_ports = 2,
	.room = {3, 3},
	.count = count,
	.fit = fit,
	.post = post,
	.poll = poll,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *memory = malloc(REF_MEMORY);
	struct ref_cfg cfg = ref_record_cfg(memory);
	struct ref_subject s = {.s = {.ops = &subject_ops, .e = malloc(ref_ops.size(&cfg))}};

	must(memory != NULL && s.s.e != NULL);
	must(ref_ops.init(s.s.e, &cfg, 0) == 0);
	must(ref_open(s.s.e, &ref_record_peer) == 0);
	subject_run(&s.s, data, size);
	subject_pull(&s.s);
	free(s.s.e);
	free(memory);
	return 0;
}
