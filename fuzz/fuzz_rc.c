/* Any packets into a connected queue pair of RC with work out both ways: every packet is counted
 * once, the laws of engine/engine.h hold, completions come once and in order, and nothing outside
 * the region is touched. The engine, its table, its queue pair, the region and each packet have
 * blocks of their own size. A queue pair that failed is connected anew. */
#include "fuzz.h"
#include "rc_records.h"

#include <stdbool.h>

#include "base/bytes.h"
#include "base/serial.h"
#include "wire/roce.h"

enum { PULL_MAX = 8, ROOM = 5 };

struct subject {
	struct engine *e;
	uint8_t *region;
	nsec now;
	uint64_t next_cookie[2]; /* of sends, and of receives */
	uint64_t n_posted[2];
};

static void check_counters(const struct engine *e)
{
	const struct rc_counters *c = rc_counters(e);
	uint64_t sum = 0;

#define RC_SUM(name, text) sum += c->name;
	RC_ACCEPTED(RC_SUM)
	RC_DROPS(RC_SUM)
#undef RC_SUM
	must(c->rx == sum);
}

static void check_body(const struct subject *s, const struct tx_pkt *t)
{
	for (uint32_t i = 0; i < t->n_body; i++) {
		const uint8_t *at = t->body[i].at;
		bool is_ours = at >= s->region && at + t->body[i].len <= s->region + RC_MEMORY;

		must(is_ours || (i + 1u == t->n_body && t->body[i].len < 4));
	}
}

static void pull(struct subject *s)
{
	static const uint16_t room[ENGINE_PORTS] = {ROOM};
	uint8_t heads[PULL_MAX][ENGINE_HEAD_MAX];
	struct tx_pkt tx[PULL_MAX];
	bool was_due = rc_ops.deadline(s->e, 1) <= s->now;

	for (uint32_t i = 0; i < PULL_MAX; i++)
		tx[i].head = heads[i];
	uint32_t n = rc_ops.pull(s->e, s->now, room, tx, PULL_MAX);

	must(n <= ROOM && (was_due || n == 0));
	for (uint32_t i = 0; i < n; i++) {
		must(tx[i].head_len <= RC_HEAD_BYTES && tx[i].n_body <= ENGINE_PIECES);
		must(tx[i].port == 0 && tx[i].peer == RC_PEER && tx[i].tclass < ENGINE_TCLASSES);
		check_body(s, &tx[i]);
	}
	must(rc_ops.deadline(s->e, n < ROOM ? 1 : 0) > s->now);
}

/* Work that was silent and went well is skipped, never doubled. */
static void poll(struct subject *s)
{
	struct rc_event events[4];
	struct rc_attr attr;
	struct done done;

	while (rc_ops.poll(s->e, &done, 1) > 0) {
		uint32_t kind = done.code == ENGINE_DONE_SENT ? 0 : 1;

		must(done.qp == RC_RECORD_QP && done.code <= ENGINE_DONE_RECEIVED);
		must(done.cookie >= s->next_cookie[kind] && done.cookie < s->n_posted[kind]);
		must(kind == 0 || done.cookie == s->next_cookie[1]);
		must(done.status >= 0 && done.status < ENGINE_STATUSES);
		s->next_cookie[kind] = done.cookie + 1;
	}
	must(rc_events(s->e, events, 4) <= 4);
	must(rc_qp_query(s->e, RC_RECORD_QP, &attr, NULL, NULL) == 0);
	if (attr.state != RC_ERROR)
		return;
	/* Flushed: everything has come back. */
	must(s->next_cookie[1] == s->n_posted[1]);
	must(rc_record_connect(s->e, s->now) == 0);
	s->next_cookie[0] = s->n_posted[0];
}

static void post(struct subject *s, uint8_t what, uint8_t size)
{
	struct sge sge = {s->region, 3u * size, RC_RECORD_KEY};
	struct op op = rc_record_op(what, &sge, 0);
	uint32_t kind = op.code == ENGINE_RECV;

	/* The region's addresses are not those of the process. */
	sge.at = (void *)(uintptr_t)(RC_RECORD_VA + size);
	op.cookie = s->n_posted[kind];
	if (rc_ops.post(s->e, s->now, &op) == 0)
		s->n_posted[kind]++;
}

static bool is_response(uint8_t opcode)
{
	return opcode >= ROCE_OP_READ_RESPONSE_FIRST && opcode <= ROCE_OP_ATOMIC_ACKNOWLEDGE;
}

/* See RC_IS_FITTED. */
static void fit(const struct subject *s, uint8_t *bytes, uint32_t n)
{
	struct rc_attr attr;
	uint16_t stack;

	if (n < bth_bytes || rc_qp_query(s->e, RC_RECORD_QP, &attr, NULL, NULL) != 0)
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

/* A copy in a block of just that size; NULL for nothing. */
static uint8_t *copy_of(const uint8_t *bytes, uint32_t n)
{
	uint8_t *copy = n ? malloc(n) : NULL;

	must(copy != NULL || n == 0);
	if (n)
		memcpy(copy, bytes, n);
	return copy;
}

static void input(struct subject *s, const uint8_t *record, uint32_t n)
{
	uint32_t n_virtual = 16u * record[2], flags = record[1];
	uint32_t n_head = n < RC_HEAD_BYTES ? n : RC_HEAD_BYTES;
	uint8_t *head = copy_of(record + RC_RECORD_HEAD, n_head);
	uint8_t *body = copy_of(record + RC_RECORD_HEAD + n_head, n - n_head);
	uint64_t before = rc_counters(s->e)->rx;

	if (flags & RC_IS_FITTED)
		fit(s, head, n_head);
	struct rx_pkt rx = {
		.head = {head, n_head},
		.body = {{body, n - n_head}, {NULL, n_virtual}},
		.at = s->now,
		.peer = flags & RC_IS_STRANGE ? RC_PEER + 1 : RC_PEER,
		.udp_len = (uint16_t)(n + n_virtual + 12),
		.trimmed = flags & RC_IS_TRIMMED ? 1 : 0,
		.ecn = flags & RC_IS_MARKED ? 3 : 2,
	};

	rc_ops.input(s->e, s->now, &rx, 1);
	must(rc_counters(s->e)->rx == before + 1);
	free(head);
	free(body);
}

static void run(struct subject *s, const uint8_t *data, size_t size)
{
	while (size >= RC_RECORD_HEAD) {
		uint32_t n = data[3], left = (uint32_t)size - RC_RECORD_HEAD;

		if (n > left)
			n = left;
		switch (data[0] % RC_RECORD_KINDS) {
		case RC_RECORD_PACKET: input(s, data, n); break;
		case RC_RECORD_PULL: pull(s); break;
		case RC_RECORD_POST: post(s, data[1], data[2]); break;
		case RC_RECORD_WAIT: s->now += 1 + 256u * data[1]; break;
		}
		poll(s);
		check_counters(s->e);
		data += RC_RECORD_HEAD + n;
		size -= RC_RECORD_HEAD + n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *table = calloc(1, mem_bytes(4)), *qp = malloc(rc_qp_size(&rc_record_caps));
	struct subject s = {.region = calloc(1, RC_MEMORY)};

	must(table && qp && s.region);
	struct mem *mem = mem_init(table, 4);
	struct rc_cfg cfg = rc_record_cfg(mem);
	struct mem_entry entry = {.at = s.region,
				  .iova = RC_RECORD_VA,
				  .len = RC_MEMORY,
				  .key = RC_RECORD_KEY,
				  .access = rc_record_attr.access};

	s.e = malloc(rc_ops.size(&cfg));
	must(s.e && mem_add(mem, &entry) == 0 && rc_ops.init(s.e, &cfg, 0) == 0);
	must(rc_qp_new(s.e, RC_RECORD_QP, &rc_record_caps, qp) == 0);
	must(rc_record_connect(s.e, 0) == 0);
	for (uint32_t i = 0; i < sizeof rc_record_out; i++)
		post(&s, rc_record_out[i], RC_RECORD_SIZE);
	pull(&s);
	run(&s, data, size);
	pull(&s);
	must(rc_qp_free(s.e, RC_RECORD_QP) == qp);
	free(s.e);
	free(qp);
	free(table);
	free(s.region);
	return 0;
}
