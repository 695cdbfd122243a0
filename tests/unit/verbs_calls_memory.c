/* The calls of libweft-verbs about domains, regions and windows, one by one: see verbs_calls.h. */
#include "verbs_calls.h"

#include <sys/mman.h>

static void domains(void **state)
{
	struct rig rig;

	(void)state;
	rig_start(&rig);
	struct ibv_pd *pd = ibv_alloc_pd(rig.context);

	assert_non_null(pd);
	assert_ptr_equal(pd->context, rig.context);
	FINE(ibv_dealloc_pd(pd));
	SAYS(EBUSY, ibv_dealloc_pd(rig.pd));
	rig_stop(&rig);
}

/* By each of the calls that make regions. */
static struct ibv_mr *register_by(int call, struct ibv_pd *pd, void *addr, size_t len, int access)
{
	uint64_t iova = (uintptr_t)addr;

	switch (call) {
	case 0: return (ibv_reg_mr)(pd, addr, len, access);
	case 1: return (ibv_reg_mr_iova)(pd, addr, len, iova, access);
	default: return ibv_reg_mr_iova2(pd, addr, len, iova, (unsigned)access);
	}
}

static void regions(void **state)
{
	struct rig rig;

	(void)state;
	rig_start(&rig);
	void *read_only = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *nowhere = (void *)(uintptr_t)4096;
	const struct {
		void *addr;
		size_t length;
		int access, error;
	} wrong[] = {
		{rig.memory, 4096, IBV_ACCESS_REMOTE_WRITE, EINVAL},
		{rig.memory, 4096, IBV_ACCESS_REMOTE_ATOMIC, EINVAL},
		{rig.memory, 4096, 1 << 19, EINVAL},
		{rig.memory, 4096, IBV_ACCESS_ON_DEMAND, EOPNOTSUPP},
		{rig.memory, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE, EINVAL},
		{NULL, 4096, IBV_ACCESS_LOCAL_WRITE, EFAULT},
		{nowhere, 4096, IBV_ACCESS_LOCAL_WRITE, EFAULT},
		{nowhere, 4096, 0, EFAULT},
		{read_only, 4096, IBV_ACCESS_LOCAL_WRITE, EFAULT},
	};

	for (int call = 0; call < 3; call++) {
		for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
			NOTHING(wrong[i].error, register_by(call, rig.pd, wrong[i].addr,
							    wrong[i].length, wrong[i].access));
		struct ibv_mr *mr = register_by(call, rig.pd, read_only, 4096, 0);

		assert_non_null(mr);
		assert_ptr_equal(mr->pd, rig.pd);
		assert_int_equal(mr->length, 4096);
		FINE(ibv_dereg_mr(mr));
		/* What is only a wish may be overlooked. */
		mr = register_by(call, rig.pd, rig.memory, 4096, IBV_ACCESS_RELAXED_ORDERING);
		assert_non_null(mr);
		FINE(ibv_dereg_mr(mr));
	}
	NOTHING(EOPNOTSUPP, ibv_reg_dmabuf_mr(rig.pd, 0, 4096, 0, 0, IBV_ACCESS_LOCAL_WRITE));
	munmap(read_only, 4096);
	rig_stop(&rig);
}

/* Everything about ibv_rereg_mr is in verbs_rereg.c. */
static void regions_again(void **state)
{
	struct rig rig;

	(void)state;
	rig_start(&rig);
	FINE(ibv_rereg_mr(rig.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0));
	MINUS_ONE(EINVAL, ibv_rereg_mr(rig.mr, 0, NULL, NULL, 0, 0));
	rig_stop(&rig);
}

static void null_region(void **state)
{
	struct rig rig;

	(void)state;
	rig_start(&rig);
	struct ibv_mr *mr = ibv_alloc_null_mr(rig.pd);

	assert_non_null(mr);
	MINUS_ONE(EINVAL, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0));
	FINE(ibv_dereg_mr(mr));
	rig_stop(&rig);
}

static void advice(void **state)
{
	struct rig rig;

	(void)state;
	rig_start(&rig);
	struct ibv_sge sge = piece(&rig, 0, 4096);

	FINE(ibv_advise_mr(rig.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1));
	SAYS(EOPNOTSUPP, ibv_advise_mr(rig.pd, (enum ibv_advise_mr_advice)9, 0, &sge, 1));
	SAYS(EOPNOTSUPP, ibv_advise_mr(rig.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 8, &sge, 1));
	rig_stop(&rig);
}

static void windows(void **state)
{
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	NOTHING(EINVAL, ibv_alloc_mw(p.rig.pd, (enum ibv_mw_type)0));
	NOTHING(EINVAL, ibv_alloc_mw(p.rig.pd, (enum ibv_mw_type)3));
	struct ibv_mw *one = ibv_alloc_mw(p.rig.pd, IBV_MW_TYPE_1);
	struct ibv_mw *two = ibv_alloc_mw(p.rig.pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {p.rig.mr, (uintptr_t)p.rig.memory, 64, IBV_ACCESS_REMOTE_READ}};
	struct ibv_mw_bind wrong = bind;

	wrong.bind_info.mw_access_flags = IBV_ACCESS_MW_BIND;
	SAYS(EINVAL, ibv_bind_mw(p.a.qp, one, &wrong));
	wrong.bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED;
	SAYS(EOPNOTSUPP, ibv_bind_mw(p.a.qp, one, &wrong));
	/* The header looks at these before any function of ours, and leaves errno alone. */
	wrong.bind_info.mr = NULL;
	assert_int_equal(ibv_bind_mw(p.a.qp, one, &wrong), EINVAL);
	assert_int_equal(ibv_bind_mw(p.a.qp, two, &bind), EINVAL);
	FINE(ibv_bind_mw(p.a.qp, one, &bind));
	assert_int_equal(wait_wc(p.a.send_cq).status, IBV_WC_SUCCESS);
	SAYS(EBUSY, ibv_dereg_mr(p.rig.mr));
	/* A bound window is unbound by its end. */
	FINE(ibv_dealloc_mw(one));
	FINE(ibv_dealloc_mw(two));
	pair_stop(&p);
}

/* max_mw of these is 0. */
static void windows_of_mrc(void **state)
{
	struct ibv_context *context = open_mrc();
	struct ibv_pd *pd = ibv_alloc_pd(context);

	(void)state;
	NOTHING(EOPNOTSUPP, ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	NOTHING(EOPNOTSUPP, ibv_alloc_mw(pd, IBV_MW_TYPE_2));
	FINE(ibv_dealloc_pd(pd));
	FINE(ibv_close_device(context));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(domains),        cmocka_unit_test(regions),
	cmocka_unit_test(regions_again),  cmocka_unit_test(null_region),
	cmocka_unit_test(advice),         cmocka_unit_test(windows),
	cmocka_unit_test(windows_of_mrc),
};

ISOLATED_MAIN(cases)
