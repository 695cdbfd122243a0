/* nic/nic.h: memory that peers may touch, and no longer. */
#include "nic_stage.h"

#include <sys/mman.h>

static struct nic_mr *region(struct nic_pd *pd, void *at, uint64_t len, uint8_t access)
{
	struct nic_mr_spec spec = {at, len, (uintptr_t)at, access};

	return nic_mr_new(pd, &spec);
}

static int compare_keys(const void *a, const void *b)
{
	uint32_t left, right;

	memcpy(&left, a, 4);
	memcpy(&right, b, 4);
	return (left > right) - (left < right);
}

/* All different, and each of their low bits set in about half of them. */
static void check_spread(uint32_t *keys, uint32_t n, uint32_t bits)
{
	qsort(keys, n, sizeof *keys, compare_keys);
	for (uint32_t i = 1; i < n; i++)
		assert_int_not_equal(keys[i], keys[i - 1]);
	for (uint32_t bit = 0; bit < bits; bit++) {
		uint32_t ones = 0;

		for (uint32_t i = 0; i < n; i++)
			ones += keys[i] >> bit & 1;
		assert_in_range(ones, n / 4, n / 4 * 3);
	}
}

static void keys_cannot_be_guessed(void **state)
{
	enum { N = 1024 };
	struct nic_info info = stage_info("lo");
	struct nic_mr *mrs[N];
	uint32_t keys[N];
	struct end e;

	(void)state;
	stage_open(&e, &info, NULL);
	for (uint32_t i = 0; i < N; i++) {
		mrs[i] = region(e.pd, e.bytes, 16, MEM_LOCAL_WRITE);
		assert_non_null(mrs[i]);
		keys[i] = nic_mr_key(mrs[i]);
		assert_int_not_equal(keys[i], 0);
	}
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(nic_mr_free(mrs[i]), 0);
	check_spread(keys, N, 32);
	stage_close(&e);
}

static void numbers_cannot_be_guessed(void **state)
{
	enum { N = 512 };
	struct nic_info info = stage_info("lo");
	struct nic_qp *qps[N];
	uint32_t numbers[N];
	struct end e;

	(void)state;
	stage_open(&e, &info, NULL);
	for (uint32_t i = 0; i < N; i++) {
		struct nic_qp_spec spec = {.pd = e.pd, .send_cq = e.cq, .recv_cq = e.cq};

		qps[i] = nic_qp_new(e.user, &spec);
		assert_non_null(qps[i]);
		numbers[i] = nic_qp_number(qps[i]);
		assert_in_range(numbers[i], 2, 0xffffff);
		assert_int_equal(numbers[i] >> 16, numbers[0] >> 16);
	}
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(nic_qp_free(qps[i]), 0);
	check_spread(numbers, N, 16);
	stage_close(&e);
}

/* More than there are, one after another. */
static void numbers_and_keys_are_used_again(void **state)
{
	struct nic_info info = stage_info("lo");
	struct end e;

	(void)state;
	stage_open(&e, &info, NULL);
	for (uint32_t i = 0; i < 70000; i++) {
		struct nic_qp_spec spec = {.pd = e.pd, .send_cq = e.cq, .recv_cq = e.cq};
		struct nic_qp *qp = nic_qp_new(e.user, &spec);

		assert_non_null(qp);
		assert_int_equal(nic_qp_free(qp), 0);
	}
	for (uint32_t i = 0; i < NIC_MAX_MRS + 1; i++) {
		struct nic_mr *mr = region(e.pd, e.bytes, 16, MEM_LOCAL_WRITE);

		assert_non_null(mr);
		assert_int_equal(nic_mr_free(mr), 0);
	}
	stage_close(&e);
}

static void regions_are_checked(void **state)
{
	struct nic_info info = stage_info("lo");
	struct end e;

	(void)state;
	stage_open(&e, &info, NULL);
	assert_null(region(e.pd, e.bytes, 16, MEM_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(region(e.pd, e.bytes, UINT64_MAX, MEM_LOCAL_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(region(e.pd, NULL, 16, MEM_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	assert_int_equal(nic_pd_free(e.pd), -EBUSY);
	stage_close(&e);
}

/* Each case is one try to get at memory of e[1] that it does not give. */
static void what_is_not_given_is_not_had(void **state)
{
	struct end e[2];

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		stage_pair(e, AF_INET);
		struct nic_pd *other = nic_pd_new(e[1].user);
		struct nic_mr *mr = region(i == 0 ? other : e[1].pd, e[1].bytes, 64,
					   i == 1 ? MEM_LOCAL_WRITE | MEM_REMOTE_READ : STAGE_ALL);
		struct sge piece = stage_piece(&e[0], 0, 16);
		struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);

		op.key = nic_mr_key(mr);
		if (i == 2)
			op.remote += 49;
		if (i == 3)
			op.remote = UINT64_MAX - 15;
		memset(e[0].bytes, 0xff, 64);
		assert_int_equal(stage_post(e[0].qp, op), 0);
		assert_int_equal(stage_one(e[0].cq).status, ENGINE_REMOTE_ACCESS);
		for (uint32_t k = 0; k < 128; k++)
			assert_int_equal(e[1].bytes[k], 0);
		assert_int_equal(nic_mr_free(mr), 0);
		assert_int_equal(nic_pd_free(other), 0);
		stage_close(&e[0]);
		stage_close(&e[1]);
	}
}

static void regions_have_an_address_of_their_own(void **state)
{
	struct end e[2];

	(void)state;
	stage_pair(e, AF_INET);
	struct nic_mr_spec spec = {e[1].bytes, 4096, 0x1000, STAGE_ALL};
	struct nic_mr *mr = nic_mr_new(e[1].pd, &spec);
	struct sge piece = stage_piece(&e[0], 0, 16);
	struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);

	assert_non_null(mr);
	memset(e[0].bytes, 0x77, 16);
	op.key = nic_mr_key(mr);
	op.remote = 0x1100;
	assert_int_equal(stage_post(e[0].qp, op), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_OK);
	assert_memory_equal(e[1].bytes + 0x100, e[0].bytes, 16);
	assert_int_equal(nic_mr_free(mr), 0);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* The region goes away, and its pages with it, while writes stream in: whoever still wrote would
 * crash. The writer gets a remote access error. */
static void deregistered_while_writes_arrive(void **state)
{
	enum { BYTES = 1 << 16, WORKS = 64 };
	struct end e[2];
	struct done done[WORKS];
	struct timespec nap = {0, 300000};

	(void)state;
	for (uint32_t round = 0; round < 10; round++) {
		stage_pair(e, AF_INET);
		uint8_t *page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_ptr_not_equal(page, MAP_FAILED);
		struct nic_mr *mr = region(e[1].pd, page, BYTES, STAGE_ALL);
		struct sge piece = stage_piece(&e[0], 0, BYTES);
		struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);

		op.key = nic_mr_key(mr);
		op.remote = (uintptr_t)page;
		for (uint32_t i = 0; i < WORKS; i++)
			assert_int_equal(stage_post(e[0].qp, op), 0);
		nap.tv_nsec = 100000 * (long)round;
		nanosleep(&nap, NULL);
		assert_int_equal(nic_mr_free(mr), 0);
		assert_int_equal(munmap(page, BYTES), 0);
		stage_take(e[0].cq, done, WORKS);
		for (uint32_t i = 1; i < WORKS; i++)
			assert_true(done[i].status == ENGINE_OK ||
				    done[i].status == ENGINE_REMOTE_ACCESS ||
				    (done[i].status == ENGINE_FLUSHED &&
				     done[i - 1].status != ENGINE_OK));
		stage_close(&e[0]);
		stage_close(&e[1]);
	}
}

/* The same on the sender's side: what is not sent yet fails with a local protection error. */
static void deregistered_while_being_sent(void **state)
{
	enum { BYTES = 1 << 22, WORKS = 32 };
	struct end e[2];
	struct done done[WORKS];

	(void)state;
	stage_pair(e, AF_INET);
	uint8_t *page =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	struct nic_mr *mr = region(e[0].pd, page, BYTES, MEM_LOCAL_WRITE);
	struct sge piece = {page, BYTES, nic_mr_key(mr)};

	for (uint32_t i = 0; i < WORKS; i++)
		assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
	assert_int_equal(nic_mr_free(mr), 0);
	assert_int_equal(munmap(page, BYTES), 0);
	stage_take(e[0].cq, done, WORKS);
	assert_int_equal(done[WORKS - 1].status, ENGINE_FLUSHED);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static uint8_t *new_pages(size_t bytes)
{
	uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* Behind the address that peers name stands other memory from now on. What was there is unmapped at
 * once: who still had it would end the process. */
static void move(struct nic_mr *mr, struct nic_pd *pd, uint8_t **pages, size_t bytes)
{
	struct nic_mr_spec spec = {new_pages(bytes), bytes, 4096, STAGE_ALL};

	assert_int_equal(nic_mr_change(mr, pd, &spec), 0);
	assert_int_equal(munmap(*pages, bytes), 0);
	*pages = spec.at;
}

/* Packets before the change go to the old place, those after it to the new one; none is refused, at
 * either end. */
static void moved_while_packets_fly(void **state)
{
	enum { BYTES = 1 << 16, WORKS = 64, MOVES = 5 };
	struct end e[2];
	struct done done[WORKS];

	(void)state;
	for (uint32_t side = 0; side < 2; side++) {
		stage_pair(e, AF_INET);
		uint8_t *pages = new_pages(BYTES);
		struct nic_mr_spec spec = {pages, BYTES, 4096, STAGE_ALL};
		struct nic_mr *mr = nic_mr_new(e[side].pd, &spec);
		uint32_t key = nic_mr_key(mr);
		struct sge piece = stage_piece(&e[0], 0, BYTES);

		if (side == 0)
			piece = (struct sge){(void *)(uintptr_t)4096, BYTES, key};
		struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);

		if (side == 1) {
			op.key = key;
			op.remote = 4096;
		}
		for (uint32_t i = 0; i < WORKS; i++)
			assert_int_equal(stage_post(e[0].qp, op), 0);
		for (uint32_t i = 0; i < MOVES; i++)
			move(mr, e[side].pd, &pages, BYTES);
		stage_take(e[0].cq, done, WORKS);
		for (uint32_t i = 0; i < WORKS; i++)
			assert_int_equal(done[i].status, ENGINE_OK);
		assert_int_equal(nic_mr_key(mr), key);
		assert_int_equal(nic_mr_free(mr), 0);
		assert_int_equal(munmap(pages, BYTES), 0);
		stage_close(&e[0]);
		stage_close(&e[1]);
	}
}

static int post_bind(struct nic_qp *qp, struct nic_mw *mw, const struct mem_binding *to,
		     uint8_t flags)
{
	struct mem_binding bind = to ? *to : (struct mem_binding){0};
	struct nic_work work = {.op = {.code = ENGINE_BIND, .flags = flags},
				.window = mw,
				.bind = to ? &bind : NULL};
	uint32_t posted;

	return nic_post(qp, &work, 1, &posted);
}

static enum engine_status bind_window(struct end *e, struct nic_mw *mw,
				      const struct mem_binding *to)
{
	assert_int_equal(post_bind(e->qp, mw, to, 0), 0);
	return (enum engine_status)stage_one(e->cq).status;
}

/* The first 64 bytes of e's memory, for writing. */
static struct mem_binding binding_of(const struct end *e, uint32_t new_key)
{
	return (struct mem_binding){
		.va = (uintptr_t)e->bytes,
		.len = 64,
		.region = nic_mr_key(e->mr),
		.new_key = new_key,
		.access = MEM_REMOTE_WRITE,
	};
}

static enum engine_status write_by_key(struct end e[2], uint32_t key, uint32_t at)
{
	struct sge piece = stage_piece(&e[0], 0, 16);
	struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);

	op.key = key;
	op.remote += at;
	assert_int_equal(stage_post(e[0].qp, op), 0);
	return (enum engine_status)stage_one(e[0].cq).status;
}

static void check_window(enum mem_kind kind)
{
	struct end e[2];

	stage_pair(e, AF_INET);
	struct nic_mw *mw = nic_mw_new(e[1].pd, kind);

	assert_non_null(mw);
	uint32_t first = nic_mw_key(mw);
	struct mem_binding to = binding_of(&e[1], first ^ 0x55);

	to.va += 64;
	memset(e[0].bytes, 0x33, 16);
	assert_int_equal(bind_window(&e[1], mw, &to), ENGINE_OK);
	uint32_t next = nic_mw_key(mw);

	/* Of type 1 the device chooses. */
	assert_int_not_equal(next, first);
	assert_int_equal(first >> 8, next >> 8);
	if (kind == MEM_WINDOW_2)
		assert_int_equal(next, to.new_key);
	assert_int_equal(nic_mr_free(e[1].mr), -EBUSY);
	assert_int_equal(write_by_key(e, next, 64), ENGINE_OK);
	assert_memory_equal(e[1].bytes + 64, e[0].bytes, 16);
	assert_int_equal(write_by_key(e, first, 64), ENGINE_REMOTE_ACCESS);
	assert_int_equal(nic_mw_free(mw), 0);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void windows_of_type_1(void **state)
{
	(void)state;
	check_window(MEM_WINDOW_1);
}

static void windows_of_type_2(void **state)
{
	(void)state;
	check_window(MEM_WINDOW_2);
}

static void windows_are_checked(void **state)
{
	struct end e[2];

	(void)state;
	stage_pair(e, AF_INET);
	assert_null(nic_mw_new(e[1].pd, MEM_REGION));
	struct nic_mw *mw = nic_mw_new(e[1].pd, MEM_WINDOW_2);
	uint32_t key = nic_mw_key(mw);
	struct mem_binding to = binding_of(&e[1], key ^ 0x100);

	assert_int_equal(post_bind(e[1].qp, mw, &to, 0), -EINVAL);
	to.new_key = 0;
	assert_int_equal(post_bind(e[1].qp, mw, &to, 0), -EINVAL);
	assert_int_equal(post_bind(e[1].qp, mw, NULL, 0), -EINVAL);
	to.new_key = key;
	assert_int_equal(post_bind(e[1].qp, NULL, &to, 0), -EINVAL);
	assert_int_equal(nic_mw_key(mw), key);
	assert_int_equal(bind_window(&e[1], mw, &to), ENGINE_OK);
	assert_int_equal(nic_mw_key(mw), key);
	assert_int_equal(nic_mw_free(mw), 0);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* Another queue pair of e that can bind. */
static struct nic_qp *binder(struct end *e)
{
	struct nic_info info = stage_info("lo");
	struct nic_qp *qp = stage_qp(e, NULL);

	stage_aim(qp, stage_attr(nic_qp_number(qp)), &info, 0);
	return qp;
}

/* A binding that fails, on a queue pair of its own, leaves the window as it was: bound with the key
 * it had, and ready for another. */
static void a_failed_bind_changes_nothing(void **state)
{
	struct end e[2];

	(void)state;
	stage_pair(e, AF_INET);
	struct nic_mw *mw = nic_mw_new(e[1].pd, MEM_WINDOW_1);
	struct mem_binding to = binding_of(&e[1], 0);

	assert_int_equal(bind_window(&e[1], mw, &to), ENGINE_OK);
	uint32_t key = nic_mw_key(mw);

	for (uint32_t i = 0; i < 3; i++) {
		struct nic_qp *other = binder(&e[1]);

		to.region ^= 0x100;
		assert_int_equal(post_bind(other, mw, &to, i == 1 ? ENGINE_SILENT : 0), 0);
		assert_int_equal(stage_one(e[1].cq).status, ENGINE_BIND_FAILED);
		assert_int_equal(nic_mw_key(mw), key);
		to.region ^= 0x100;
		/* In error it is flushed, and never executed. */
		assert_int_equal(post_bind(other, mw, &to, 0), 0);
		assert_int_equal(stage_one(e[1].cq).status, ENGINE_FLUSHED);
		assert_int_equal(nic_qp_free(other), 0);
		assert_int_equal(nic_mw_key(mw), key);
	}
	assert_int_equal(write_by_key(e, key, 0), ENGINE_OK);
	to.va += 64;
	assert_int_equal(bind_window(&e[1], mw, &to), ENGINE_OK);
	assert_int_not_equal(nic_mw_key(mw), key);
	assert_int_equal(write_by_key(e, nic_mw_key(mw), 64), ENGINE_OK);
	assert_int_equal(write_by_key(e, key, 0), ENGINE_REMOTE_ACCESS);
	assert_int_equal(nic_mw_free(mw), 0);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

/* A read that nobody answers, and behind it, fenced, two bindings in a chain. */
static struct nic_qp *post_pending(struct end *e, struct nic_mw *mw, uint32_t last_key)
{
	struct nic_info info = stage_info("lo");
	struct nic_qp *qp = stage_qp(e, NULL);
	struct mem_binding to = binding_of(e, last_key ^ 1);
	struct sge piece = stage_piece(e, 0, 16);
	uint32_t gid = stage_gid(&info, AF_INET);

	/* 127.0.0.9 is an address of the loopback interface without being one of the device's. */
	info.gids[gid].raw[15] = 9;
	stage_aim(qp, stage_attr(5), &info, gid);
	assert_int_equal(stage_post(qp, stage_op(e, ENGINE_READ, &piece)), 0);
	assert_int_equal(post_bind(qp, mw, &to, ENGINE_FENCE), 0);
	to.new_key = last_key;
	assert_int_equal(post_bind(qp, mw, &to, ENGINE_FENCE), 0);
	return qp;
}

/* The key is the last one's while they wait, and the old one when their queue pair fails, begins
 * anew, or goes. */
static void a_bind_that_waits_may_never_be(void **state)
{
	struct nic_info info = stage_info("lo");
	struct done done[3];
	struct end e[2];

	(void)state;
	stage_pair(e, AF_INET);
	struct nic_mw *mw = nic_mw_new(e[1].pd, MEM_WINDOW_2);
	uint32_t key = nic_mw_key(mw), next = key ^ 2;
	struct mem_binding to = binding_of(&e[1], key ^ 4);

	for (uint32_t i = 0; i < 3; i++) {
		struct nic_qp *qp = post_pending(&e[1], mw, next);
		struct engine_attr end = {.state = i == 0 ? ENGINE_ERROR : ENGINE_RESET};

		assert_int_equal(nic_mw_key(mw), next);
		if (i < 2)
			assert_int_equal(nic_qp_modify(qp, &end, ENGINE_SET_STATE, NULL), 0);
		if (i == 0)
			stage_take(e[1].cq, done, 3);
		if (i == 1)
			stage_aim(qp, stage_attr(nic_qp_number(qp)), &info, 0);
		if (i < 2)
			assert_int_equal(nic_mw_key(mw), key);
		assert_int_equal(nic_qp_free(qp), 0);
		assert_int_equal(nic_mw_key(mw), key);
	}
	assert_int_equal(bind_window(&e[1], mw, &to), ENGINE_OK);
	assert_int_equal(nic_mw_key(mw), to.new_key);
	assert_int_equal(write_by_key(e, to.new_key, 0), ENGINE_OK);
	/* Freed with one that waits. */
	struct nic_qp *qp = post_pending(&e[1], mw, next);

	assert_int_equal(nic_mw_free(mw), 0);
	assert_int_equal(nic_qp_free(qp), 0);
	assert_int_equal(write_by_key(e, to.new_key, 0), ENGINE_REMOTE_ACCESS);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void nothing_is_in_the_null_region(void **state)
{
	struct end e[2];

	(void)state;
	stage_pair(e, AF_INET);
	struct nic_mr *null = nic_mr_new_null(e[0].pd);

	assert_non_null(null);
	memset(e[0].bytes, 0x11, 3000);
	memset(e[1].bytes, 0x22, 3000);
	/* Written from: its part is zeros. */
	struct sge pieces[] = {stage_piece(&e[0], 0, 100), {NULL, 2000, nic_mr_key(null)}};
	struct op op = stage_op(&e[1], ENGINE_WRITE, pieces);

	op.n_sg = 2;
	assert_int_equal(stage_post(e[0].qp, op), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_OK);
	for (uint32_t i = 0; i < 3000; i++)
		assert_int_equal(e[1].bytes[i], i < 100 ? 0x11 : i < 2100 ? 0 : 0x22);
	/* Read into: its part is forgotten, at any address. */
	memset(e[1].bytes, 0x44, 3000);
	pieces[1] = pieces[0];
	pieces[0] = (struct sge){(void *)(uintptr_t)0xdead0000, 2000, nic_mr_key(null)};
	op.code = ENGINE_READ;
	assert_int_equal(stage_post(e[0].qp, op), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_OK);
	for (uint32_t i = 0; i < 3000; i++)
		assert_int_equal(e[0].bytes[i], i < 100 ? 0x44 : 0x11);
	/* Peers cannot have it. */
	struct sge piece = stage_piece(&e[1], 0, 16);

	op = stage_op(&e[0], ENGINE_WRITE, &piece);
	op.key = nic_mr_key(null);
	assert_int_equal(stage_post(e[1].qp, op), 0);
	assert_int_equal(stage_one(e[1].cq).status, ENGINE_REMOTE_ACCESS);
	assert_int_equal(nic_mr_free(null), 0);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(keys_cannot_be_guessed),
	cmocka_unit_test(numbers_cannot_be_guessed),
	cmocka_unit_test(numbers_and_keys_are_used_again),
	cmocka_unit_test(regions_are_checked),
	cmocka_unit_test(what_is_not_given_is_not_had),
	cmocka_unit_test(regions_have_an_address_of_their_own),
	cmocka_unit_test(deregistered_while_writes_arrive),
	cmocka_unit_test(deregistered_while_being_sent),
	cmocka_unit_test(moved_while_packets_fly),
	cmocka_unit_test(windows_of_type_1),
	cmocka_unit_test(windows_of_type_2),
	cmocka_unit_test(windows_are_checked),
	cmocka_unit_test(a_failed_bind_changes_nothing),
	cmocka_unit_test(a_bind_that_waits_may_never_be),
	cmocka_unit_test(nothing_is_in_the_null_region),
};
ISOLATED_MAIN(cases)
