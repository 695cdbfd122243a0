/* Two sides on the loopback MRC device of this process, each a user with domain, memory, a queue
 * and one queue pair. Include this first, in place of nic_stage.h, whose waiting it uses. */
#ifndef WEFT_TESTS_SUPPORT_NIC_MRC_STAGE_H
#define WEFT_TESTS_SUPPORT_NIC_MRC_STAGE_H

#include "nic_stage.h"

#include "nic/mrc/nic_mrc.h"

#define PMTU  1024u
#define SIDES 2u

/* A bounded wait for something that another thread does. */
#define WAIT_FOR(what)                                       \
	do {                                                 \
		uint64_t until_ = stage_now() + STAGE_NS;    \
		while (!(what)) {                            \
			if (stage_now() > until_)            \
				fail_msg("in vain: " #what); \
			usleep(500);                         \
		}                                            \
	} while (0)

struct side {
	struct nic_user *user;
	struct nic_pd *pd;
	struct nic_cq *cq;
	struct nic_mr *mr;
	struct nic_qp *qp;
	uint8_t *bytes;
};

/* The loopback device with MRC. */
static inline struct nic_info mrc_info(void)
{
	return stage_device(&transport_mrc, "lo");
}

static inline struct nic_qp *new_qp(struct side *s)
{
	struct nic_qp_spec spec = {
		.pd = s->pd,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.max_send = 64,
		.max_recv = 64,
		.max_send_sge = 4,
		.max_inline = 128,
	};
	struct nic_qp *qp = nic_qp_new(s->user, &spec);

	if (!qp)
		fail_msg("%s", nic_error());
	assert_int_equal(spec.ahead_pkts, 4096);
	assert_int_equal(spec.ahead_imm, 64);
	return qp;
}

static inline void side_open(struct side *s, const struct nic_info *info)
{
	*s = (struct side){.user = nic_open(info)};
	if (!s->user)
		fail_msg("%s", nic_error());
	s->pd = nic_pd_new(s->user);
	s->cq = nic_cq_new(s->user, 8192, NULL, s);
	s->bytes = calloc(1, STAGE_BYTES);
	assert_true(s->pd && s->cq && s->bytes);
	struct nic_mr_spec spec = {s->bytes, STAGE_BYTES, (uintptr_t)s->bytes, STAGE_ALL};

	s->mr = nic_mr_new(s->pd, &spec);
	assert_non_null(s->mr);
	s->qp = new_qp(s);
}

static inline void side_close(struct side *s)
{
	if (s->qp)
		assert_int_equal(nic_qp_free(s->qp), 0);
	assert_int_equal(nic_mr_free(s->mr), 0);
	assert_int_equal(nic_cq_free(s->cq), 0);
	assert_int_equal(nic_pd_free(s->pd), 0);
	assert_int_equal(nic_close(s->user), 0);
	free(s->bytes);
}

static inline struct nic_link link_of(struct nic_qp *a, struct nic_qp *b,
				      const struct nic_info *info, uint32_t gid)
{
	struct nic_link link = {.pmtu = PMTU, .access = MEM_REMOTE_WRITE};

	assert_int_equal(nic_qp_end(a, &link.mine), 0);
	assert_int_equal(nic_qp_end(b, &link.theirs), 0);
	link.path.gid_index = nic_gid_index(gid);
	memcpy(link.path.dgid, info->gids[gid].raw, 16);
	return link;
}

static inline void join(struct nic_qp *a, struct nic_qp *b, const struct nic_info *info,
			uint32_t gid)
{
	struct nic_link there = link_of(a, b, info, gid), back = there;

	back.mine = there.theirs;
	back.theirs = there.mine;
	if (nic_qp_connect(a, &there) || nic_qp_connect(b, &back))
		fail_msg("%s", nic_error());
}

static inline void pair_open(struct side s[SIDES], int family)
{
	struct nic_info info = mrc_info();

	side_open(&s[0], &info);
	side_open(&s[1], &info);
	join(s[0].qp, s[1].qp, &info, stage_gid(&info, family));
}

static inline void pair_close(struct side s[SIDES])
{
	side_close(&s[0]);
	side_close(&s[1]);
}

static inline struct sge piece_of(const struct side *s, uint32_t at, uint32_t len)
{
	return (struct sge){s->bytes + at, len, nic_mr_key(s->mr)};
}

static inline struct op write_op(const struct side *to, const struct sge *piece, uint64_t cookie)
{
	return (struct op){
		.code = ENGINE_WRITE,
		.cookie = cookie,
		.sg = piece,
		.n_sg = 1,
		.remote = (uintptr_t)to->bytes,
		.key = nic_mr_key(to->mr),
	};
}

#endif
