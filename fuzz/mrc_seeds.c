#include "mrc_seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mrc_records.h"

enum { PULL_MAX = 16 };

/* An engine with its queue pair, and what was asked of it. */
struct side {
	struct engine *e;
	void *table, *qp;
	nsec now;
};

static void post_all(struct side *s)
{
	struct sge sge = {(void *)(uintptr_t)MRC_RECORD_VA, 3 * MRC_RECORD_SIZE, MRC_RECORD_KEY};

	for (uint32_t i = 0; i < sizeof mrc_record_out; i++) {
		struct op op = mrc_record_op(mrc_record_out[i], &sge, i);
		struct mrc_endpoint request = mrc_record_endpoint(mrc_record_out[i], i);

		if (mrc_record_out[i] < MRC_WORK_ENDPOINT)
			mrc_ops.post(s->e, s->now, &op);
		else
			mrc_endpoint_post(s->e, s->now, &request);
	}
}

static struct side make_side(void)
{
	struct side s = {.table = calloc(1, mem_bytes(4)),
			 .qp = malloc(mrc_qp_size(&mrc_record_caps)),
			 .now = MRC_RECORD_START};
	struct mem *mem = s.table ? mem_init(s.table, 4) : NULL;
	struct mrc_cfg cfg = mrc_record_cfg(mem);
	struct mem_entry entry = {.iova = MRC_RECORD_VA,
				  .len = MRC_MEMORY,
				  .key = MRC_RECORD_KEY,
				  .access = mrc_record_attr.access};

	s.e = mem ? malloc(mrc_ops.size(&cfg)) : NULL;
	if (!s.e || !s.qp || mem_add(mem, &entry) || mrc_ops.init(s.e, &cfg, 0) ||
	    mrc_qp_new(s.e, MRC_RECORD_QP, &mrc_record_caps, s.qp) ||
	    mrc_record_connect(s.e, s.now)) {
		fprintf(stderr, "seeds: no engine\n");
		exit(EXIT_FAILURE);
	}
	post_all(&s);
	return s;
}

static void end_side(struct side *s)
{
	free(s->e);
	free(s->qp);
	free(s->table);
}

/* What becomes of a conversation's packets on their way. */
struct fate {
	uint8_t flags;   /* enum of records.h */
	uint32_t except; /* bit per packet that does not come through, of those pulled at once */
};

/* Pulls packets, records them and passes them on to `to`. */
static void converse(struct records *r, struct side *from, struct side *to, struct fate fate)
{
	static const uint16_t room[ENGINE_PORTS] = {PULL_MAX, PULL_MAX};
	static uint8_t heads[PULL_MAX][ENGINE_HEAD_MAX];
	struct tx_pkt tx[PULL_MAX];

	for (uint32_t i = 0; i < PULL_MAX; i++)
		tx[i].head = heads[i];
	uint32_t n = mrc_ops.pull(from->e, from->now, room, tx, PULL_MAX);

	to->now += 256;
	for (uint32_t i = 0; i < n; i++) {
		struct rx_pkt rx = {.head = {tx[i].head, tx[i].head_len},
				    .at = to->now,
				    .peer = RECORD_PEER,
				    .ev = tx[i].ev,
				    .port = tx[i].port};

		if (fate.except >> i & 1)
			continue;
		for (uint32_t k = 0; k < tx[i].n_body; k++)
			rx.body[0].len += tx[i].body[k].len;
		rx.udp_len = (uint16_t)(rx.head.len + rx.body[0].len + 12);
		rx.trimmed = fate.flags & RECORD_IS_TRIMMED ? 1 : 0;
		records_add(r, RECORD_PACKET, fate.flags, &tx[i]);
		mrc_ops.input(to->e, to->now, &rx, 1);
	}
	records_add(r, RECORD_PULL, 0, NULL);
	records_add(r, RECORD_WAIT, 1, NULL);
}

/* Requests as the target may get them, then the answers to its own; what is lost comes later. */
void mrc_seeds_write(void (*write)(const char *target, uint32_t number, struct cspan bytes))
{
	static const struct fate fates[] = {
		{0, 0}, {RECORD_IS_MARKED, 0}, {RECORD_IS_TRIMMED, 0}, {0, 1}, {0, 10}};
	static struct records there, back;

	for (uint32_t i = 0; i < sizeof fates / sizeof fates[0]; i++) {
		struct side a = make_side(), b = make_side();

		there.len = back.len = 0;
		for (uint32_t k = 0; k < 3; k++) {
			struct fate fate = {fates[i].flags, k == 0 ? fates[i].except : 0};

			converse(&there, &a, &b, fate);
			converse(&back, &b, &a, fate);
			a.now += k * 20000;
		}
		for (uint32_t what = 0; what < MRC_WORKS; what++)
			records_add(&back, RECORD_POST, (uint8_t)what, NULL);
		records_add(&back, RECORD_WAIT, 255, NULL);
		records_add(&back, RECORD_PULL, 0, NULL);
		write("mrc_engine", 2 * i, (struct cspan){there.bytes, there.len});
		write("mrc_engine", 2 * i + 1, (struct cspan){back.bytes, back.len});
		end_side(&a);
		end_side(&b);
	}
}
