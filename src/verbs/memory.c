/* Protection domains and memory regions. */
#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/inside.h"

/* Headers older than the kernel (Linux 5.14). */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

static_assert((int)MEM_LOCAL_WRITE == IBV_ACCESS_LOCAL_WRITE &&
		      (int)MEM_REMOTE_WRITE == IBV_ACCESS_REMOTE_WRITE &&
		      (int)MEM_REMOTE_READ == IBV_ACCESS_REMOTE_READ &&
		      (int)MEM_REMOTE_ATOMIC == IBV_ACCESS_REMOTE_ATOMIC &&
		      (int)MEM_BIND == IBV_ACCESS_MW_BIND,
	      "the rights have the header's numbers");

#define RIGHTS (MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC | MEM_BIND)

/* What a program may ask for: our memory is never huge, and always in order. */
#define ALLOWED \
	((unsigned)RIGHTS | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE)

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS_POINTER(ibv_alloc_pd, context);
	struct verbs_domain *domain = calloc(1, sizeof *domain);

	if (!domain)
		return verbs_null(ENOMEM);
	domain->nic = nic_pd_new(verbs_opened(context)->user);
	if (!domain->nic) {
		free(domain);
		return NULL;
	}
	domain->pd.context = context;
	domain->pd.handle = verbs_join(context, VERBS_DOMAIN, &domain->link);
	return &domain->pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	if (!verbs_is_ours(pd->context))
		return VERBS_PASS(ibv_dealloc_pd, ENOSYS, pd);
	struct verbs_domain *domain = verbs_domain_of(pd);
	int error = nic_pd_free(domain->nic);

	if (error)
		return verbs_answer(error);
	verbs_leave(pd->context, &domain->link);
	free(domain);
	return 0;
}

/* Which rights make sense together is the soft device's to say. */
static int check_access(unsigned access)
{
	if (access & IBV_ACCESS_ON_DEMAND)
		return EOPNOTSUPP;
	return access & ~ALLOWED ? EINVAL : 0;
}

/* A device would pin the pages: each exists from now on, and a range that is not there is told of
 * here and not when a packet comes. Kernels and mappings that cannot do it (madvise(2): EINVAL) let
 * everything pass; but so it calls memory that can be read and not written, too. */
static int populate(void *at, size_t len, unsigned access)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)at & ~(page - 1);
	uintptr_t end = (uintptr_t)at + len;
	bool writes = access & IBV_ACCESS_LOCAL_WRITE;

	if (len == 0)
		return 0;
	if (end < (uintptr_t)at)
		return EINVAL;
	void *first = (void *)from;

	if (madvise(first, end - from, writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
		return 0;
	if (errno == EINVAL && writes && madvise(first, end - from, MADV_POPULATE_READ) == 0)
		return EFAULT;
	return errno == EFAULT || errno == ENOMEM ? EFAULT : 0;
}

/* Whether there may be such a region; 0 or an errno value. */
static int check_region(const struct nic_mr_spec *spec, unsigned access)
{
	int error = check_access(access);

	return error ? error : populate(spec->at, spec->len, access);
}

static struct nic_mr *new_mr(struct ibv_pd *pd, const struct nic_mr_spec *spec, unsigned access)
{
	int error = check_region(spec, access);

	return error ? verbs_null(error) : nic_mr_new(verbs_domain_of(pd)->nic, spec);
}

static void fill_mr(struct verbs_region *region, struct ibv_pd *pd)
{
	region->mr.context = pd->context;
	region->mr.pd = pd;
	region->mr.addr = region->spec.at;
	region->mr.length = region->spec.len;
	region->mr.lkey = region->mr.rkey = nic_mr_key(region->nic);
}

static struct nic_mr_spec make_spec(void *addr, size_t length, uint64_t iova, unsigned access)
{
	return (struct nic_mr_spec){
		.at = addr,
		.len = length,
		.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
		.access = (uint8_t)(access & (unsigned)RIGHTS),
	};
}

/* The region that stands for nic, or NULL if that is. */
static struct ibv_mr *region_new(struct ibv_pd *pd, const struct nic_mr_spec *spec,
				 struct nic_mr *nic)
{
	if (!nic)
		return NULL;
	struct verbs_region *region = calloc(1, sizeof *region);

	if (!region) {
		nic_mr_free(nic);
		return verbs_null(ENOMEM);
	}
	region->spec = *spec;
	region->nic = nic;
	fill_mr(region, pd);
	region->mr.handle = verbs_join(pd->context, VERBS_REGION, &region->link);
	return &region->mr;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, const struct nic_mr_spec *spec, unsigned access)
{
	return region_new(pd, spec, new_mr(pd, spec, access));
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	if (!verbs_is_ours(pd->context))
		return VERBS_PASS_POINTER(ibv_reg_mr, pd, addr, length, access);
	struct nic_mr_spec spec = make_spec(addr, length, (uintptr_t)addr, (unsigned)access);

	return reg_mr(pd, &spec, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	if (!verbs_is_ours(pd->context))
		return VERBS_PASS_POINTER(ibv_reg_mr_iova, pd, addr, length, iova, access);
	struct nic_mr_spec spec = make_spec(addr, length, iova, (unsigned)access);

	return reg_mr(pd, &spec, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned access)
{
	if (!verbs_is_ours(pd->context))
		return VERBS_PASS_POINTER(ibv_reg_mr_iova2, pd, addr, length, iova, access);
	struct nic_mr_spec spec = make_spec(addr, length, iova, access);

	return reg_mr(pd, &spec, access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	if (!verbs_is_ours(pd->context))
		return VERBS_PASS_POINTER(ibv_reg_dmabuf_mr, pd, offset, length, iova, fd, access);
	return verbs_null(EOPNOTSUPP);
}

/* Only its lkey is for use. Registering it again, or binding a window to it, is not possible (man
 * ibv_alloc_null_mr). */
struct ibv_mr *verbs_alloc_null_mr(struct ibv_pd *pd)
{
	const struct nic_mr_spec everything = {.len = UINT64_MAX};
	struct ibv_mr *mr = region_new(pd, &everything, nic_mr_new_null(verbs_domain_of(pd)->nic));

	if (mr)
		mr->rkey = 0;
	return mr;
}

static bool is_null_mr(const struct verbs_region *region)
{
	return !region->spec.at && region->spec.len;
}

/* All memory is there since its registration: advice changes nothing. */
int verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		    struct ibv_sge *sg_list, uint32_t num_sge)
{
	(void)pd, (void)sg_list, (void)num_sge;
	if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT || flags & ~IBV_ADVISE_MR_FLAG_FLUSH)
		return verbs_answer(-EOPNOTSUPP);
	return 0;
}

/* What the arguments of ibv_rereg_mr ask for; false: they contradict each other. */
static bool is_rereg_sound(const struct verbs_region *region, int flags, const struct ibv_pd *pd,
			   bool has_place, int access)
{
	if (!flags || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED || is_null_mr(region))
		return false;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION && !has_place)
		return false;
	if (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return false;
	return !(flags & IBV_REREG_MR_CHANGE_PD) || (pd && pd->context == region->mr.context);
}

/* Everything is looked at first and then changed at once, so a mistake of any kind leaves the
 * region as it was: of the answers that there are (man ibv_rereg_mr) only that one is ours. */
int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	if (!verbs_is_ours(mr->context))
		return VERBS_PASS(ibv_rereg_mr, verbs_minus_one(ENOSYS), mr, flags, pd, addr,
				  length, access);
	struct verbs_region *region = verbs_region_of(mr);
	struct nic_mr_spec spec = region->spec;
	unsigned rights =
		flags & IBV_REREG_MR_CHANGE_ACCESS ? (unsigned)access : region->spec.access;

	errno = EINVAL;
	if (!is_rereg_sound(region, flags, pd, addr && length, access))
		return IBV_REREG_MR_ERR_INPUT;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		spec = make_spec(addr, length, (uintptr_t)addr, rights);
	spec.access = (uint8_t)(rights & (unsigned)RIGHTS);
	if (!(flags & IBV_REREG_MR_CHANGE_PD))
		pd = mr->pd;
	int error = check_region(&spec, rights);

	if (!error)
		error = -nic_mr_change(region->nic, verbs_domain_of(pd)->nic, &spec);
	if (error) {
		errno = error;
		return IBV_REREG_MR_ERR_INPUT;
	}
	region->spec = spec;
	fill_mr(region, pd);
	return 0;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (!verbs_is_ours(mr->context))
		return VERBS_PASS(ibv_dereg_mr, ENOSYS, mr);
	struct verbs_region *region = verbs_region_of(mr);
	int error = nic_mr_free(region->nic);

	if (error)
		return verbs_answer(error);
	verbs_leave(mr->context, &region->link);
	free(region);
	return 0;
}

/* Objects of ours live in one process. */
struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS_POINTER(ibv_import_pd, context, pd_handle);
	return verbs_null(EOPNOTSUPP);
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
	if (!verbs_is_ours(pd->context) && verbs_foreign()->ibv_unimport_pd)
		verbs_foreign()->ibv_unimport_pd(pd);
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	if (!verbs_is_ours(pd->context))
		return VERBS_PASS_POINTER(ibv_import_mr, pd, mr_handle);
	return verbs_null(EOPNOTSUPP);
}

void ibv_unimport_mr(struct ibv_mr *mr)
{
	if (!verbs_is_ours(mr->context) && verbs_foreign()->ibv_unimport_mr)
		verbs_foreign()->ibv_unimport_mr(mr);
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS_POINTER(ibv_import_dm, context, dm_handle);
	return verbs_null(EOPNOTSUPP);
}
