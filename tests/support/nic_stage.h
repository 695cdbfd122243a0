/* Two ends on the loopback device of this process, for the tests of nic: each a user with domain,
 * memory, queues and one queue pair, connected to the other's. All waiting is bounded.
 * Include this first: isolate.h asks for what is not in POSIX. */
#ifndef WEFT_TESTS_SUPPORT_NIC_STAGE_H
#define WEFT_TESTS_SUPPORT_NIC_STAGE_H

#include "isolate.h"

#include "check.h"
#include "nic/nic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STAGE_BYTES (1u << 20)
#define STAGE_NS    UINT64_C(2000000000) /* longer waiting is a failure */
#define STAGE_ALL \
	(MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC | MEM_BIND)

struct end {
	struct nic_user *user;
	struct nic_pd *pd;
	struct nic_channel *channel;
	struct nic_cq *cq;
	struct nic_qp *qp;
	struct nic_mr *mr;
	uint8_t *bytes;
};

static inline uint64_t stage_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The device of a transport that stands for an interface. */
static inline struct nic_info stage_device(const struct transport *t, const char *interface)
{
	struct nic_info *list = NULL, found = {.ifindex = 0};
	int n = nic_list(&list);

	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		if (!strcmp(list[i].interface, interface) && list[i].setup.transport == t)
			found = list[i];
	}
	free(list);
	assert_true(found.ifindex > 0);
	return found;
}

/* The RC device of an interface. */
static inline struct nic_info stage_info(const char *interface)
{
	return stage_device(&transport_rc, interface);
}

/* The place of its first address of that family. */
static inline uint32_t stage_gid(const struct nic_info *info, int family)
{
	for (uint32_t i = 0; i < info->n_gids; i++) {
		if (info->gids[i].address.ss_family == family)
			return i;
	}
	fail_msg("%s has no address of family %d", info->interface, family);
	return 0;
}

static inline struct nic_qp *stage_qp(struct end *e, struct nic_srq *srq)
{
	struct nic_qp_spec spec = {
		.pd = e->pd,
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.srq = srq,
		.max_send = 64,
		.max_recv = 64,
		.max_send_sge = 4,
		.max_recv_sge = 4,
		.max_inline = 128,
	};
	struct nic_qp *qp = nic_qp_new(e->user, &spec);

	assert_non_null(qp);
	return qp;
}

static inline void stage_open(struct end *e, const struct nic_info *info, struct nic_srq *srq)
{
	*e = (struct end){.user = nic_open(info)};
	if (!e->user)
		fail_msg("%s", nic_error());
	e->pd = nic_pd_new(e->user);
	assert_non_null(e->pd);
	e->channel = nic_channel_new(e->user);
	assert_non_null(e->channel);
	e->cq = nic_cq_new(e->user, 1024, e->channel, e);
	assert_non_null(e->cq);
	e->bytes = calloc(1, STAGE_BYTES);
	assert_non_null(e->bytes);
	struct nic_mr_spec spec = {e->bytes, STAGE_BYTES, (uintptr_t)e->bytes, STAGE_ALL};

	e->mr = nic_mr_new(e->pd, &spec);
	assert_non_null(e->mr);
	e->qp = stage_qp(e, srq);
}

static inline void stage_close(struct end *e)
{
	if (e->qp)
		assert_int_equal(nic_qp_free(e->qp), 0);
	if (e->mr)
		assert_int_equal(nic_mr_free(e->mr), 0);
	assert_int_equal(nic_cq_free(e->cq), 0);
	assert_int_equal(nic_channel_free(e->channel), 0);
	assert_int_equal(nic_pd_free(e->pd), 0);
	assert_int_equal(nic_close(e->user), 0);
	free(e->bytes);
}

static inline struct engine_attr stage_attr(uint32_t remote_qp)
{
	return (struct engine_attr){
		.access = STAGE_ALL,
		.pmtu = 1024,
		.remote_qp = remote_qp,
		.rq_psn = 0xfffff0,
		.sq_psn = 0xfffff0,
		.rd_atomic = 4,
		.dest_rd_atomic = 4,
		.rnr_timer = 1,
		.timeout = 14,
		.retries = 7,
		.rnr_retries = 7,
	};
}

/* Moves qp to ENGINE_RTS towards remote_qp at one of the device's own addresses. */
static inline void stage_aim(struct nic_qp *qp, struct engine_attr attr,
			     const struct nic_info *info, uint32_t gid)
{
	struct nic_path path = {.gid_index = nic_gid_index(gid)};

	memcpy(path.dgid, info->gids[gid].raw, 16);
	attr.state = ENGINE_INIT;
	assert_int_equal(nic_qp_modify(qp, &attr, ENGINE_SET_STATE | ENGINE_SET_ACCESS, NULL), 0);
	attr.state = ENGINE_RTR;
	if (nic_qp_modify(qp, &attr,
			  ENGINE_SET_STATE | ENGINE_SET_PMTU | ENGINE_SET_PATH |
				  ENGINE_SET_REMOTE_QP | ENGINE_SET_RQ_PSN |
				  ENGINE_SET_DEST_RD_ATOMIC | ENGINE_SET_RNR_TIMER,
			  &path))
		fail_msg("%s", nic_error());
	attr.state = ENGINE_RTS;
	assert_int_equal(nic_qp_modify(qp, &attr,
				       ENGINE_SET_STATE | ENGINE_SET_SQ_PSN | ENGINE_SET_RD_ATOMIC |
					       ENGINE_SET_TIMEOUT | ENGINE_SET_RETRIES |
					       ENGINE_SET_RNR_RETRIES,
				       NULL),
			 0);
}

static inline void stage_connect(struct nic_qp *a, struct nic_qp *b, const struct nic_info *info,
				 uint32_t gid)
{
	stage_aim(a, stage_attr(nic_qp_number(b)), info, gid);
	stage_aim(b, stage_attr(nic_qp_number(a)), info, gid);
}

/* Two connected ends on loopback. */
static inline void stage_pair(struct end e[2], int family)
{
	struct nic_info info = stage_info("lo");

	stage_open(&e[0], &info, NULL);
	stage_open(&e[1], &info, NULL);
	stage_connect(e[0].qp, e[1].qp, &info, stage_gid(&info, family));
}

/* How end i is connected with the other one, whatever their transport. */
static inline struct nic_link stage_link(struct end e[2], uint32_t i, const struct nic_info *info,
					 uint16_t pmtu)
{
	struct nic_link link = {.pmtu = pmtu, .access = MEM_REMOTE_WRITE};
	uint32_t gid = stage_gid(info, AF_INET);

	link.path.gid_index = nic_gid_index(gid);
	memcpy(link.path.dgid, info->gids[gid].raw, sizeof link.path.dgid);
	assert_int_equal(nic_qp_end(e[i].qp, &link.mine), 0);
	assert_int_equal(nic_qp_end(e[1 - i].qp, &link.theirs), 0);
	return link;
}

/* Both ends, as they tell each other. */
static inline void stage_join(struct end e[2], const struct nic_info *info, uint16_t pmtu)
{
	struct nic_link there = stage_link(e, 0, info, pmtu), back = there;

	back.mine = there.theirs;
	back.theirs = there.mine;
	if (nic_qp_connect(e[0].qp, &there) || nic_qp_connect(e[1].qp, &back))
		fail_msg("%s", nic_error());
}

static inline struct sge stage_piece(const struct end *e, uint32_t at, uint32_t len)
{
	return (struct sge){e->bytes + at, len, nic_mr_key(e->mr)};
}

/* Takes n completions. */
static inline void stage_take(struct nic_cq *cq, struct done *done, uint32_t n)
{
	uint64_t end = stage_now() + STAGE_NS;
	uint32_t got = 0;

	while (got < n) {
		int r = nic_cq_poll(cq, done + got, (int)(n - got));

		if (r < 0)
			fail_msg("poll: %s", strerror(-r));
		got += (uint32_t)r;
		if (r == 0 && stage_now() > end)
			fail_msg("%u of %u completions came", got, n);
	}
}

static inline struct done stage_one(struct nic_cq *cq)
{
	struct done done;

	stage_take(cq, &done, 1);
	return done;
}

static inline int stage_post(struct nic_qp *qp, struct op op)
{
	struct nic_work work = {.op = op};
	uint32_t posted;

	return nic_post(qp, &work, 1, &posted);
}

static inline void stage_recv(struct end *e, uint32_t at, uint32_t len, uint64_t cookie)
{
	struct sge piece = stage_piece(e, at, len);
	struct op op = {.code = ENGINE_RECV, .sg = &piece, .n_sg = 1, .cookie = cookie};

	assert_int_equal(stage_post(e->qp, op), 0);
}

/* Work of from's on one piece of its memory, against the same place of to's. */
static inline struct op stage_op(const struct end *to, enum engine_op code, const struct sge *piece)
{
	return (struct op){
		.code = (uint8_t)code,
		.sg = piece,
		.n_sg = 1,
		.remote = (uintptr_t)to->bytes,
		.key = nic_mr_key(to->mr),
	};
}

static inline void stage_fill(uint8_t *at, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		at[i] = (uint8_t)(seed >> 24);
	}
}

#endif
