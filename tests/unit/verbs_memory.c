/* libweft-verbs: protection domains, regions, windows. */
#include "verbs_rig.h"

#include <sys/mman.h>

static void domain_in_use_stays(void **state)
{
	struct rig rig;

	(void)state;
	rig_start(&rig);
	assert_int_equal(ibv_dealloc_pd(rig.pd), EBUSY);
	rig_stop(&rig);
}

static void region_knows_its_place(void **state)
{
	struct rig rig;

	(void)state;
	rig_start(&rig);
	assert_ptr_equal(rig.mr->addr, rig.memory);
	assert_int_equal(rig.mr->length, RIG_BYTES);
	assert_ptr_equal(rig.mr->pd, rig.pd);
	assert_ptr_equal(rig.mr->context, rig.context);
	assert_int_equal(rig.mr->lkey, rig.mr->rkey);
	assert_int_not_equal(rig.mr->lkey, 0);
	struct ibv_mr *second = ibv_reg_mr(rig.pd, rig.memory, 100, IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(second);
	assert_int_not_equal(second->lkey, rig.mr->lkey);
	assert_int_equal(ibv_dereg_mr(second), 0);
	rig_stop(&rig);
}

static void rights_that_contradict_are_refused(void **state)
{
	static const struct {
		unsigned access;
		int error;
	} all[] = {
		{IBV_ACCESS_REMOTE_WRITE, EINVAL},
		{IBV_ACCESS_REMOTE_ATOMIC, EINVAL},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND, EOPNOTSUPP},
		{1u << 8, EINVAL},
		{IBV_ACCESS_REMOTE_READ, 0},
		{0, 0},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING, 0},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_HUGETLB | IBV_ACCESS_ZERO_BASED, 0},
	};
	struct rig rig;

	(void)state;
	rig_start(&rig);
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		errno = 0;
		struct ibv_mr *mr =
			ibv_reg_mr_iova2(rig.pd, rig.memory, 4096, 0x1000, all[i].access);

		assert_int_equal(mr == NULL, all[i].error != 0);
		if (mr)
			assert_int_equal(ibv_dereg_mr(mr), 0);
		else
			assert_int_equal(errno, all[i].error);
	}
	rig_stop(&rig);
}

static void memory_that_is_not_there_is_refused(void **state)
{
	struct rig rig;
	uint8_t *hole =
		mmap(NULL, 3 * 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	rig_start(&rig);
	assert_ptr_not_equal(hole, MAP_FAILED);
	assert_int_equal(munmap(hole + 65536, 65536), 0);
	errno = 0;
	assert_null(ibv_reg_mr(rig.pd, hole, 3 * 65536, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	assert_null((ibv_reg_mr_iova)(rig.pd, hole + 65536, 10, 0, 0));
	assert_int_equal(errno, EFAULT);
	/* Memory that can only be read cannot be registered for writing. */
	assert_int_equal(mprotect(hole, 65536, PROT_READ), 0);
	assert_null(ibv_reg_mr(rig.pd, hole, 65536, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	struct ibv_mr *mr = ibv_reg_mr(rig.pd, hole, 65536, IBV_ACCESS_REMOTE_READ);

	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(hole, 3 * 65536);
	rig_stop(&rig);
}

static void advice_is_taken(void **state)
{
	struct rig rig;
	struct ibv_sge sge;

	(void)state;
	rig_start(&rig);
	sge = piece(&rig, 0, 4096);
	assert_int_equal(ibv_advise_mr(rig.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), 0);
	assert_int_equal(ibv_advise_mr(rig.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
			 0);
	assert_int_equal(ibv_advise_mr(rig.pd, (enum ibv_advise_mr_advice)77, 0, &sge, 1),
			 EOPNOTSUPP);
	rig_stop(&rig);
}

static void write_from(struct rig_pair *p, struct ibv_sge *pieces, int n, enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr wr = {.sg_list = pieces,
				 .num_sge = n,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)p->rig.memory + 32768;
	wr.wr.rdma.rkey = p->rig.mr->rkey;
	assert_int_equal(ibv_post_send(p->a.qp, &wr, &bad), 0);
	assert_int_equal(wait_wc(p->a.send_cq).status, IBV_WC_SUCCESS);
}

static void the_null_region_is_zeros_and_forgets(void **state)
{
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	struct ibv_mr *null = ibv_alloc_null_mr(p.rig.pd);

	assert_non_null(null);
	assert_int_equal(null->rkey, 0);
	struct ibv_sge pieces[] = {piece(&p.rig, 0, 8), {0, 8, null->lkey}, {8, 8, null->lkey}};

	memset(p.rig.memory, 1, 8);
	memset(p.rig.memory + 32768, 2, 32);
	write_from(&p, pieces, 2, IBV_WR_RDMA_WRITE);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(p.rig.memory[32768 + i], i < 8 ? 1 : i < 16 ? 0 : 2);
	memset(p.rig.memory + 32768, 3, 16);
	write_from(&p, pieces, 3, IBV_WR_RDMA_READ);
	assert_int_equal(p.rig.memory[7], 3);
	/* It cannot be registered again, and no window bound to it. */
	assert_int_equal(ibv_rereg_mr(null, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p.rig.memory,
				      RIG_BYTES, 0),
			 IBV_REREG_MR_ERR_INPUT);
	struct ibv_mw *mw = ibv_alloc_mw(p.rig.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED,
				   .bind_info = {null, 0, 8, IBV_ACCESS_REMOTE_WRITE}};

	assert_int_equal(ibv_bind_mw(p.a.qp, mw, &bind), EINVAL);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(null), 0);
	pair_stop(&p);
}

static void windows_are_of_two_types(void **state)
{
	struct rig rig;

	(void)state;
	rig_start(&rig);
	for (int type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		struct ibv_mw *mw = ibv_alloc_mw(rig.pd, (enum ibv_mw_type)type);

		assert_non_null(mw);
		assert_int_equal(mw->type, type);
		assert_int_not_equal(mw->rkey, 0);
		assert_ptr_equal(mw->pd, rig.pd);
		assert_int_equal(ibv_dealloc_mw(mw), 0);
	}
	assert_null(ibv_alloc_mw(rig.pd, (enum ibv_mw_type)3));
	assert_int_equal(errno, EINVAL);
	rig_stop(&rig);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(domain_in_use_stays),
	cmocka_unit_test(region_knows_its_place),
	cmocka_unit_test(rights_that_contradict_are_refused),
	cmocka_unit_test(memory_that_is_not_there_is_refused),
	cmocka_unit_test(advice_is_taken),
	cmocka_unit_test(the_null_region_is_zeros_and_forgets),
	cmocka_unit_test(windows_are_of_two_types),
};

ISOLATED_MAIN(cases)
