/* Many threads: on one queue pair and one completion queue, and each on its own that come and go.
 */
#include "end.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS_MAX 64u
#define WORK_BYTES  256u
#define TAKE        8
#define NSEC_PER_MS UINT64_C(1000000)
#define RECEIVE_BIT (UINT64_C(1) << 32) /* in cookies */
#define CHURN_BYTES 65536u
#define CHURN_WORKS 16u
#define CHURN_KINDS 3u

/* Work w of a crowd is a write, a read or a message, by turns; its bytes are w's own. A thread has
 * `works` of them. A message takes whatever receive is next, and says in its immediate data which
 * it is. */
enum { KIND_WRITE, KIND_READ, KIND_SEND, KINDS };

struct crowd {
	struct end *e;
	struct nic_mr *mr;
	uint8_t *memory; /* out, in, and the messages received: n places each */
	uint64_t peer_va;
	uint32_t n_threads, works, n, n_sends, peer_key;
	uint64_t until;
	atomic_uint n_done, n_wrong;
	atomic_uint *seen; /* completions of each work, and of each message */
};

struct member {
	struct crowd *c;
	uint32_t thread;
	pthread_t id;
};

static uint8_t *slot(const struct crowd *c, uint32_t area, uint32_t w)
{
	return c->memory + ((size_t)area * c->n + w) * WORK_BYTES;
}

static uint64_t crowd_seed(uint32_t number, uint32_t w)
{
	return UINT64_C(0xc0) << 56 | (uint64_t)number << 24 | w;
}

int crowd_open(struct end *e, uint32_t n_threads, uint32_t works)
{
	struct crowd *c = calloc(1, sizeof *c);
	struct nic_mr_spec spec = {.access = ALL_RIGHTS};

	if (!c || n_threads == 0 || n_threads > THREADS_MAX || works == 0 || e->n_pairs == 0) {
		free(c);
		return -EINVAL;
	}
	*c = (struct crowd){.e = e, .n_threads = n_threads, .works = works};
	c->n = n_threads * works;
	c->memory = calloc(3 * (size_t)c->n, WORK_BYTES);
	c->seen = calloc(2 * (size_t)c->n, sizeof *c->seen);
	e->crowd = c;
	if (!c->memory || !c->seen)
		return -ENOMEM;
	for (uint32_t w = 0; w < c->n; w++) {
		c->n_sends += w % KINDS == KIND_SEND;
		fill(slot(c, 0, w), WORK_BYTES, crowd_seed(e->pairs[0].number, w));
	}
	spec.at = c->memory;
	spec.len = 3 * (uint64_t)c->n * WORK_BYTES;
	spec.iova = (uintptr_t)c->memory;
	c->mr = nic_mr_new(e->pd, &spec);
	if (!c->mr)
		return -errno;
	answer("ok %llu %u", (unsigned long long)spec.iova, nic_mr_key(c->mr));
	return 0;
}

void crowd_close(struct end *e)
{
	struct crowd *c = e->crowd;

	if (!c)
		return;
	if (c->mr)
		nic_mr_free(c->mr);
	free(c->memory);
	free(c->seen);
	free(c);
	e->crowd = NULL;
}

static void wrong(struct crowd *c, const char *what)
{
	/* One says it for all. */
	if (atomic_fetch_add(&c->n_wrong, 1) == 0)
		fprintf(stderr, "end: crowd: %s\n", what);
}

static void crowd_take(struct crowd *c)
{
	struct done done[TAKE];
	int n = nic_cq_poll(c->e->cq, done, TAKE);

	if (n < 0)
		wrong(c, "the completion queue failed");
	for (int k = 0; k < n; k++) {
		const struct done *d = &done[k];
		uint32_t w = (uint32_t)d->cookie, place = w;

		if (d->status != ENGINE_OK)
			wrong(c, "a work failed");
		if (d->code == ENGINE_DONE_RECEIVED) {
			place = c->n + (uint32_t)d->imm % c->n;
			if (!(d->cookie & RECEIVE_BIT) || w >= c->n || d->len != WORK_BYTES ||
			    !is_filled(slot(c, 2, w), WORK_BYTES,
				       crowd_seed(c->e->pairs[0].remote, (uint32_t)d->imm)))
				wrong(c, "a message came wrong");
		} else if (d->cookie >= c->n) {
			wrong(c, "a completion of nothing");
			continue;
		}
		atomic_fetch_add(&c->seen[place], 1);
		atomic_fetch_add(&c->n_done, 1);
	}
	if (n == 0)
		sched_yield();
}

static int crowd_post(struct crowd *c, struct op op, uint8_t *at)
{
	struct sge sg = {at, WORK_BYTES, nic_mr_key(c->mr)};
	struct nic_work work = {.op = op};
	uint32_t posted;

	work.op.sg = &sg;
	work.op.n_sg = 1;
	return nic_post(c->e->pairs[0].qp, &work, 1, &posted);
}

static int crowd_work(struct crowd *c, uint32_t w)
{
	static const uint8_t codes[KINDS] = {ENGINE_WRITE, ENGINE_READ, ENGINE_SEND_IMM};
	uint32_t kind = w % KINDS;
	struct op op = {.cookie = w, .imm = w, .key = c->peer_key, .code = codes[kind]};

	op.remote = c->peer_va + ((uint64_t)(kind == KIND_WRITE) * c->n + w) * WORK_BYTES;
	return crowd_post(c, op, slot(c, kind == KIND_READ, w));
}

/* Every thread posts its share, and takes whatever is complete, until all of all is done. */
static void *crowd_run(void *context)
{
	struct member *m = context;
	struct crowd *c = m->c;
	uint32_t all = c->n + c->n_sends;

	for (uint32_t i = 0; i < c->works && now_ns() < c->until;) {
		int r = crowd_work(c, m->thread * c->works + i);

		if (r == 0)
			i++;
		else if (r != -ENOMEM)
			wrong(c, "the device refused a work");
		crowd_take(c);
	}
	while (atomic_load(&c->n_done) < all && now_ns() < c->until)
		crowd_take(c);
	return NULL;
}

static int crowd_receives(struct crowd *c)
{
	int r = 0;

	for (uint32_t i = 0; i < c->n_sends && r == 0; i++) {
		struct op op = {.cookie = RECEIVE_BIT | i, .code = ENGINE_RECV};

		r = crowd_post(c, op, slot(c, 2, i));
	}
	return r;
}

int crowd_go(struct end *e, uint64_t peer_va, uint32_t peer_key, uint32_t ms)
{
	struct member members[THREADS_MAX];
	struct crowd *c = e->crowd;
	uint32_t n = 0;
	int r = c ? crowd_receives(c) : -EINVAL;

	if (r != 0)
		return r;
	c->peer_va = peer_va;
	c->peer_key = peer_key;
	c->until = now_ns() + ms * NSEC_PER_MS;
	for (; n < c->n_threads && r == 0; n += r == 0) {
		members[n] = (struct member){.c = c, .thread = n};
		r = -pthread_create(&members[n].id, NULL, crowd_run, &members[n]);
	}
	for (uint32_t i = 0; i < n; i++)
		pthread_join(members[i].id, NULL);
	if (r == 0)
		answer("ok done=%u of=%u wrong=%u", atomic_load(&c->n_done), c->n + c->n_sends,
		       atomic_load(&c->n_wrong));
	return r;
}

int crowd_check(struct end *e)
{
	struct crowd *c = e->crowd;
	uint32_t once = 0, right = 0;

	if (!c)
		return -EINVAL;
	for (uint32_t w = 0; w < c->n; w++) {
		bool is_send = w % KINDS == KIND_SEND;

		once += atomic_load(&c->seen[w]) == 1 && atomic_load(&c->seen[c->n + w]) == is_send;
		right += is_send ||
			 is_filled(slot(c, 1, w), WORK_BYTES, crowd_seed(e->pairs[0].remote, w));
	}
	answer("ok once=%u right=%u of=%u", once, right, c->n);
	return 0;
}

/* What one turn of a churning thread makes, and frees in mid-flight. */
struct turn {
	struct end *e;
	uint8_t *memory;
	struct nic_cq *cq;
	struct nic_mr *mr;
	struct nic_qp *qps[2];
};

static int turn_open(struct turn *t)
{
	struct end *e = t->e;
	struct nic_mr_spec spec = {.len = CHURN_BYTES, .access = ALL_RIGHTS};

	t->memory =
		mmap(NULL, CHURN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->memory == MAP_FAILED)
		return -errno;
	spec.at = t->memory;
	spec.iova = (uintptr_t)t->memory;
	t->mr = nic_mr_new(e->pd, &spec);
	t->cq = nic_cq_new(e->user, 4 * CHURN_WORKS, NULL, NULL);
	for (uint32_t i = 0; i < 2 && t->cq; i++) {
		struct nic_qp_spec qp = {
			.pd = e->pd,
			.send_cq = t->cq,
			.recv_cq = t->cq,
			.max_send = CHURN_WORKS,
			.max_recv = CHURN_WORKS,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		};

		t->qps[i] = nic_qp_new(e->user, &qp);
	}
	if (!t->mr || !t->cq || !t->qps[0] || !t->qps[1])
		return -errno;
	int r = connect_to(e, t->qps[0], nic_qp_number(t->qps[1]), e->info.gids[e->gid].raw);

	return r != 0 ? r
		      : connect_to(e, t->qps[1], nic_qp_number(t->qps[0]),
				   e->info.gids[e->gid].raw);
}

static int turn_post(struct turn *t, struct nic_qp *qp)
{
	static const uint8_t codes[CHURN_KINDS] = {ENGINE_WRITE, ENGINE_READ, ENGINE_SEND};
	struct sge sg = {t->memory, CHURN_BYTES, nic_mr_key(t->mr)};
	struct nic_work works[CHURN_WORKS];
	uint32_t posted;

	for (uint32_t i = 0; i < CHURN_WORKS; i++) {
		struct op op = {.code = codes[i % CHURN_KINDS], .sg = &sg, .n_sg = 1};

		op.remote = (uintptr_t)t->memory;
		op.key = sg.lkey;
		works[i] = (struct nic_work){.op = op};
	}
	return nic_post(qp, works, CHURN_WORKS, &posted);
}

/* The queues are still at work, and some have completions that nobody took. */
static int turn_close(struct turn *t)
{
	int r = nic_cq_free(t->cq) == -EBUSY ? 0 : -EPROTO;

	for (uint32_t i = 0; i < 2 && r == 0; i++)
		r = nic_qp_free(t->qps[i]);
	if (r == 0)
		r = nic_mr_free(t->mr);
	munmap(t->memory, CHURN_BYTES);
	return r == 0 ? nic_cq_free(t->cq) : r;
}

struct churner {
	struct end *e;
	uint32_t times;
	pthread_t id;
	int result;
};

static void *churn_run(void *context)
{
	struct churner *c = context;

	for (uint32_t i = 0; i < c->times && c->result == 0; i++) {
		struct turn t = {.e = c->e};
		struct done done[TAKE];
		int r = turn_open(&t);

		for (uint32_t k = 0; k < 2 && r == 0; k++)
			r = turn_post(&t, t.qps[k]);
		/* Sometimes at once, sometimes after a while. */
		for (uint32_t k = 0; k < i % 16 && r >= 0; k++)
			r = nic_cq_poll(t.cq, done, 1);
		c->result = r < 0 ? r : turn_close(&t);
	}
	return NULL;
}

int churn(struct end *e, uint32_t n_threads, uint32_t times)
{
	struct churner churners[THREADS_MAX];
	uint32_t n = 0;
	int r = n_threads <= THREADS_MAX ? 0 : -EINVAL;

	for (; n < n_threads && r == 0; n += r == 0) {
		churners[n] = (struct churner){.e = e, .times = times};
		r = -pthread_create(&churners[n].id, NULL, churn_run, &churners[n]);
	}
	for (uint32_t i = 0; i < n; i++) {
		pthread_join(churners[i].id, NULL);
		r = r != 0 ? r : churners[i].result;
	}
	return r;
}
