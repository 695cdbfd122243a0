/* What tests of a library of verbs stand on: a device, memory on it, and two queue pairs that talk
 * to each other. Every wait ends after WAIT_MS. A test that fails leaves its objects: the process
 * ends soon after.
 *
 * A library's own header (verbs_rig.h, mrcapi_rig.h) defines RIG_OF(name), the name of a function
 * or struct of it, and struct rig, with pd, mr and memory, before it includes this, and behind it
 * what is only declared here. */
#ifndef WEFT_TESTS_UNIT_RIG_H
#define WEFT_TESTS_UNIT_RIG_H

#define WAIT_MS   5000
#define RIG_BYTES 65536u /* of memory; the second half is the second end's */
#define RIG_DEPTH 16u
#define RIG_GID   3u /* RoCE version 2 over IPv4, as on NICs */

struct end {
	struct RIG_OF(comp_channel) * channel;
	struct RIG_OF(cq) * send_cq, *recv_cq;
	struct RIG_OF(qp) * qp;
};

struct rig_pair {
	struct rig rig;
	struct end a, b;
};

/* The device with its memory, and its end. */
static inline void rig_start(struct rig *rig);
static inline void rig_stop(struct rig *rig);

static inline void rig_map(struct rig *rig, struct ibv_context *context, unsigned rights)
{
	rig->pd = ibv_alloc_pd(context);
	assert_non_null(rig->pd);
	rig->memory = aligned_alloc(4096, RIG_BYTES);
	assert_non_null(rig->memory);
	memset(rig->memory, 0, RIG_BYTES);
	rig->mr = ibv_reg_mr(rig->pd, rig->memory, RIG_BYTES, rights);
	assert_non_null(rig->mr);
}

static inline void rig_unmap(struct rig *rig)
{
	assert_int_equal(ibv_dereg_mr(rig->mr), 0);
	assert_int_equal(ibv_dealloc_pd(rig->pd), 0);
	free(rig->memory);
}

/* The way to the device itself. */
static inline struct ibv_ah_attr rig_address(struct ibv_context *context)
{
	struct ibv_ah_attr to = {
		.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64, .sgid_index = RIG_GID}};

	assert_int_equal(ibv_query_gid(context, 1, RIG_GID, &to.grh.dgid), 0);
	return to;
}

static inline void end_stop(struct end *end)
{
	assert_int_equal(RIG_OF(destroy_qp)(end->qp), 0);
	assert_int_equal(RIG_OF(destroy_cq)(end->send_cq), 0);
	assert_int_equal(RIG_OF(destroy_cq)(end->recv_cq), 0);
	assert_int_equal(RIG_OF(destroy_comp_channel)(end->channel), 0);
}

static inline void pair_stop(struct rig_pair *p)
{
	end_stop(&p->a);
	end_stop(&p->b);
	rig_stop(&p->rig);
}

static inline int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The next completion of the queue. */
static inline struct ibv_wc wait_wc(struct RIG_OF(cq) * cq)
{
	struct ibv_wc wc = {0};
	int64_t end = now_ms() + WAIT_MS;

	while (now_ms() < end) {
		int n = RIG_OF(poll_cq)(cq, 1, &wc);

		assert_true(n >= 0);
		if (n == 1)
			return wc;
	}
	fail_msg("no completion after %d ms", WAIT_MS);
	return wc;
}

/* A piece of the rig's memory. */
static inline struct ibv_sge piece(const struct rig *rig, uint32_t offset, uint32_t length)
{
	return (struct ibv_sge){(uintptr_t)rig->memory + offset, length, rig->mr->lkey};
}

#endif
