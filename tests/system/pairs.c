#include "end.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RNR_CODE 1u /* 10 us */

static int gid_of(const char *address, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if (inet_pton(AF_INET6, address, gid) == 1)
		return 0;
	gid[10] = gid[11] = 0xff;
	return inet_pton(AF_INET, address, gid + 12) == 1 ? 0 : -EINVAL;
}

int end_open(struct end *e, const char *address)
{
	struct nic_info *list = NULL;
	uint8_t gid[16];
	int n = nic_list(&list), r = gid_of(address, gid);

	for (int i = 0; r == 0 && i < n && !e->user; i++)
		for (uint32_t k = 0; k < list[i].n_gids && !e->user; k++) {
			if (memcmp(list[i].gids[k].raw, gid, 16) != 0)
				continue;
			e->info = list[i];
			e->gid = k;
			e->user = nic_open(&e->info);
			r = e->user ? 0 : -errno;
		}
	free(list);
	if (r == 0 && !e->user)
		r = -ENODEV;
	if (r != 0)
		return r;
	e->pd = nic_pd_new(e->user);
	return e->pd ? 0 : -errno;
}

int end_close(struct end *e)
{
	int r = 0;

	crowd_close(e);
	if (e->n_pairs || e->cq)
		r = pairs_close(e);
	if (r == 0 && e->pd)
		r = nic_pd_free(e->pd);
	e->pd = r == 0 ? NULL : e->pd;
	if (r == 0 && e->user)
		r = nic_close(e->user);
	e->user = r == 0 ? NULL : e->user;
	return r;
}

static int pair_open(struct end *e, uint32_t i)
{
	struct nic_qp_spec spec = {
		.pd = e->pd,
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.max_send = e->depth,
		.max_recv = e->depth,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};
	struct pair *p = &e->pairs[i];

	*p = (struct pair){.qp = nic_qp_new(e->user, &spec)};
	if (!p->qp)
		return -errno;
	p->number = nic_qp_number(p->qp);
	fill(place_at(e, i, PLACE_BOOK), e->size, p->number);
	return 0;
}

int pairs_open(struct end *e, uint32_t n)
{
	struct nic_mr_spec spec = {.access = ALL_RIGHTS};
	int r = 0;

	e->memory_len = place_offset(e, n, PLACE_BOOK);
	e->memory = mmap(NULL, e->memory_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (e->memory == MAP_FAILED) {
		e->memory = NULL;
		return -errno;
	}
	spec.at = e->memory;
	spec.len = e->memory_len;
	spec.iova = (uintptr_t)e->memory;
	e->mr = nic_mr_new(e->pd, &spec);
	e->cq = e->mr ? nic_cq_new(e->user, 2 * n * e->depth, NULL, NULL) : NULL;
	e->pairs = calloc(n, sizeof *e->pairs);
	if (!e->mr || !e->cq || !e->pairs)
		return -errno;
	e->n_pairs = n;
	e->job = JOB_NONE;
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = pair_open(e, i);
	return r;
}

void pairs_print(const struct end *e)
{
	printf("ok %llu %u", (unsigned long long)(uintptr_t)e->memory, nic_mr_key(e->mr));
	for (uint32_t i = 0; i < e->n_pairs; i++)
		printf(" %u", e->pairs[i].number);
	answer("%s", "");
}

/* Both ends know both numbers, and so both first PSNs. */
static uint32_t psn_of(uint32_t number)
{
	return number * UINT32_C(0x9e3779b1) >> 8;
}

int connect_to(struct end *e, struct nic_qp *qp, uint32_t remote, const uint8_t gid[16])
{
	struct nic_path path = {.gid_index = nic_gid_index(e->gid), .hop_limit = 64};
	struct engine_attr a = {
		.state = ENGINE_INIT,
		.access = ALL_RIGHTS,
		.pmtu = 4096,
		.remote_qp = remote,
		.rq_psn = psn_of(remote),
		.sq_psn = psn_of(nic_qp_number(qp)),
		.rd_atomic = 4,
		.dest_rd_atomic = 4,
		.rnr_timer = RNR_CODE,
		.timeout = (uint8_t)e->timeout,
		.retries = (uint8_t)e->retries,
		.rnr_retries = 7,
	};
	int r = nic_qp_modify(qp, &a, ENGINE_SET_STATE | ENGINE_SET_ACCESS, NULL);

	memcpy(path.dgid, gid, 16);
	a.state = ENGINE_RTR;
	if (r == 0)
		r = nic_qp_modify(qp, &a,
				  ENGINE_SET_STATE | ENGINE_SET_PMTU | ENGINE_SET_PATH |
					  ENGINE_SET_REMOTE_QP | ENGINE_SET_RQ_PSN |
					  ENGINE_SET_DEST_RD_ATOMIC | ENGINE_SET_RNR_TIMER,
				  &path);
	a.state = ENGINE_RTS;
	if (r == 0)
		r = nic_qp_modify(qp, &a,
				  ENGINE_SET_STATE | ENGINE_SET_SQ_PSN | ENGINE_SET_RD_ATOMIC |
					  ENGINE_SET_TIMEOUT | ENGINE_SET_RETRIES |
					  ENGINE_SET_RNR_RETRIES,
				  NULL);
	return r;
}

int pairs_connect(struct end *e, const char *address, const char *rest, bool with_receives)
{
	uint8_t gid[16];
	int r = gid_of(address, gid);
	char *after;

	for (uint32_t i = 0; i < e->n_pairs && r == 0; i++, rest = after) {
		struct pair *p = &e->pairs[i];

		p->remote = (uint32_t)strtoul(rest, &after, 10);
		r = after == rest ? -EINVAL : connect_to(e, p->qp, p->remote, gid);
		if (r == 0 && with_receives)
			r = traffic_ready(e, i);
	}
	return r;
}

int pairs_drop(struct end *e, uint32_t from, uint32_t to)
{
	int r = 0;

	for (uint32_t i = from; i < to && i < e->n_pairs && r == 0; i++) {
		r = e->pairs[i].qp ? nic_qp_free(e->pairs[i].qp) : 0;
		e->pairs[i].qp = r == 0 ? NULL : e->pairs[i].qp;
	}
	return r;
}

int pairs_close(struct end *e)
{
	int r = pairs_drop(e, 0, e->n_pairs);

	if (r == 0 && e->cq)
		r = nic_cq_free(e->cq);
	e->cq = r == 0 ? NULL : e->cq;
	if (r == 0 && e->mr)
		r = nic_mr_free(e->mr);
	e->mr = r == 0 ? NULL : e->mr;
	if (r != 0)
		return r;
	if (e->memory)
		munmap(e->memory, e->memory_len);
	e->memory = NULL;
	free(e->pairs);
	e->pairs = NULL;
	e->n_pairs = 0;
	e->job = JOB_NONE;
	return 0;
}
