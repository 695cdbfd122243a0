/* Any packets into an open queue pair of the reference transport, between its own work: every
 * packet is counted once, the laws of engine/engine.h hold, and nothing outside the memory is
 * touched. The engine, its memory and each packet have blocks of their own size. */
#include "fuzz.h"
#include "ref_records.h"

#include <stdbool.h>

enum { PULL_MAX = 8, ROOM = 3 };

/* One engine, and what it was asked to do. */
struct subject {
	struct engine *e;
	nsec now;
	uint32_t n_posted, n_sent;
};

static void check_counters(const struct engine *e)
{
	const struct ref_counters *c = ref_counters(e);
	uint64_t sum = 0;

#define REF_SUM(name, text) sum += c->name;
	REF_ACCEPTED(REF_SUM)
	REF_DROPS(REF_SUM)
#undef REF_SUM
	must(c->rx == sum);
}

static void pull(struct subject *s)
{
	static const uint16_t room[ENGINE_PORTS] = {ROOM, ROOM};
	uint8_t heads[PULL_MAX][ENGINE_HEAD_MAX];
	struct tx_pkt tx[PULL_MAX];
	uint32_t used[ENGINE_PORTS] = {0};
	bool was_due = s->e->ops->deadline(s->e, 3) <= s->now;

	for (uint32_t i = 0; i < PULL_MAX; i++)
		tx[i].head = heads[i];
	uint32_t n = s->e->ops->pull(s->e, s->now, room, tx, PULL_MAX);
	uint32_t free_ports = 0;

	must(n <= PULL_MAX && (was_due || n == 0));
	for (uint32_t i = 0; i < n; i++) {
		must(tx[i].head_len <= ENGINE_HEAD_MAX && tx[i].n_body <= ENGINE_SGE);
		must(tx[i].port < 2 && ++used[tx[i].port] <= ROOM);
		must(tx[i].peer == REF_PEER && tx[i].tclass < ENGINE_TCLASSES);
	}
	for (uint32_t p = 0; p < 2; p++)
		free_ports |= used[p] < ROOM ? 1u << p : 0;
	if (n < PULL_MAX)
		must(s->e->ops->deadline(s->e, free_ports) > s->now);
}

static void poll(struct subject *s)
{
	struct done done[4];
	uint32_t n = s->e->ops->poll(s->e, done, 4);

	must(n <= 4);
	for (uint32_t i = 0; i < n; i++) {
		must(done[i].qp == 0);
		/* Sent work completes in order, each once. */
		if (done[i].code == ENGINE_DONE_SENT)
			must(done[i].cookie == s->n_sent++ && s->n_sent <= s->n_posted);
	}
}

static void post(struct subject *s)
{
	static uint8_t bytes[REF_MESSAGE];
	struct sge sge = {bytes, sizeof bytes, 0};
	struct op op = {.code = ENGINE_WRITE_IMM, .cookie = s->n_posted, .sg = &sge, .n_sg = 1};

	if (s->e->ops->post(s->e, s->now, &op) == 0)
		s->n_posted++;
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
	uint32_t n_head = n < ENGINE_HEAD_MAX ? n : ENGINE_HEAD_MAX;
	uint8_t *head = copy_of(record + REF_RECORD_HEAD, n_head);
	uint8_t *body = copy_of(record + REF_RECORD_HEAD + n_head, n - n_head);
	struct rx_pkt rx = {
		.head = {head, n_head},
		.body = {{body, n - n_head}, {NULL, n_virtual}},
		.at = s->now,
		.peer = flags & REF_IS_STRANGE ? REF_PEER + 1 : REF_PEER,
		.ev = ref_record_evs[0],
		.udp_len = (uint16_t)(n + n_virtual + 12),
		.port = flags & REF_IS_OTHER_PORT ? 1 : 0,
		.trimmed = flags & REF_IS_TRIMMED ? 1 : 0,
		.ecn = flags & REF_IS_MARKED ? 3 : 2,
	};
	uint64_t before = ref_counters(s->e)->rx;

	s->e->ops->input(s->e, s->now, &rx, 1);
	must(ref_counters(s->e)->rx == before + 1);
	free(head);
	free(body);
}

static void run(struct subject *s, const uint8_t *data, size_t size)
{
	while (size >= REF_RECORD_HEAD) {
		uint32_t n = data[3], left = (uint32_t)size - REF_RECORD_HEAD;

		if (n > left)
			n = left;
		switch (data[0] % 4) {
		case REF_RECORD_PACKET: input(s, data, n); break;
		case REF_RECORD_PULL: pull(s); break;
		case REF_RECORD_POST: post(s); break;
		case REF_RECORD_WAIT: s->now += 1 + 16u * data[1]; break;
		}
		poll(s);
		check_counters(s->e);
		data += REF_RECORD_HEAD + n;
		size -= REF_RECORD_HEAD + n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *memory = malloc(REF_MEMORY);
	struct ref_cfg cfg = ref_record_cfg(memory);
	struct subject s = {.e = malloc(ref_ops.size(&cfg))};

	must(memory != NULL && s.e != NULL);
	must(ref_ops.init(s.e, &cfg, 0) == 0);
	must(ref_open(s.e, &ref_record_peer) == 0);
	run(&s, data, size);
	pull(&s);
	free(s.e);
	free(memory);
	return 0;
}
