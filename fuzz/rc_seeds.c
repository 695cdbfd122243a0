#include "rc_seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rc_records.h"

enum { PULL_MAX = 16 };

/* An engine with its queue pair, and what was asked of it. */
struct side {
	struct engine *e;
	void *table, *qp;
};

static void post_all(struct side *s)
{
	for (uint32_t i = 0; i < sizeof rc_record_out; i++) {
		struct sge sge = {(void *)(uintptr_t)RC_RECORD_VA, 3 * RC_RECORD_SIZE,
				  RC_RECORD_KEY};
		struct op op = rc_record_op(rc_record_out[i], &sge, i);

		rc_ops.post(s->e, 1, &op);
	}
}

static struct side make_side(void)
{
	struct side s = {.table = calloc(1, mem_bytes(4)),
			 .qp = malloc(rc_qp_size(&rc_record_caps))};
	struct mem *mem = s.table ? mem_init(s.table, 4) : NULL;
	struct rc_cfg cfg = rc_record_cfg(mem);
	struct mem_entry entry = {.iova = RC_RECORD_VA,
				  .len = RC_MEMORY,
				  .key = RC_RECORD_KEY,
				  .access = rc_record_attr.access};

	s.e = mem ? malloc(rc_ops.size(&cfg)) : NULL;
	if (!s.e || !s.qp || mem_add(mem, &entry) || rc_ops.init(s.e, &cfg, 0) ||
	    rc_qp_new(s.e, RC_RECORD_QP, &rc_record_caps, s.qp) || rc_record_connect(s.e, 0)) {
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

/* Pulls packets, records them and passes them on to `to`. */
static void converse(struct records *r, const struct side *from, const struct side *to,
		     uint8_t flags)
{
	static const uint16_t room[ENGINE_PORTS] = {PULL_MAX};
	static uint8_t heads[PULL_MAX][ENGINE_HEAD_MAX];
	struct tx_pkt tx[PULL_MAX];

	for (uint32_t i = 0; i < PULL_MAX; i++)
		tx[i].head = heads[i];
	uint32_t n = rc_ops.pull(from->e, 1, room, tx, PULL_MAX);

	for (uint32_t i = 0; i < n; i++) {
		struct rx_pkt rx = {.head = {tx[i].head, tx[i].head_len}, .peer = RECORD_PEER};

		for (uint32_t k = 0; k < tx[i].n_body; k++)
			rx.body[0].len += tx[i].body[k].len;
		records_add(r, RECORD_PACKET, flags, &tx[i]);
		rc_ops.input(to->e, 1, &rx, 1);
	}
	records_add(r, RECORD_PULL, 0, NULL);
	records_add(r, RECORD_WAIT, 1, NULL);
}

/* Requests as the target may get them, then the answers to its own. */
void rc_seeds_write(void (*write)(const char *target, uint32_t number, struct cspan bytes))
{
	static const uint8_t flags[] = {0, RECORD_IS_MARKED, RECORD_IS_TRIMMED};
	static struct records there, back;

	for (uint32_t i = 0; i < sizeof flags; i++) {
		struct side a = make_side(), b = make_side();

		there.len = back.len = 0;
		converse(&there, &a, &b, flags[i]);
		converse(&back, &b, &a, flags[i]);
		converse(&there, &a, &b, flags[i]);
		for (uint8_t what = 0; what < 8; what++)
			records_add(&back, RECORD_POST, what, NULL);
		records_add(&back, RECORD_WAIT, 255, NULL);
		records_add(&back, RECORD_PULL, 0, NULL);
		write("rc", 2 * i, (struct cspan){there.bytes, there.len});
		write("rc", 2 * i + 1, (struct cspan){back.bytes, back.len});
		end_side(&a);
		end_side(&b);
	}
}
