/* A program as they are written for RoCE NICs: it takes the first device, and GID 3 because that is
 * RoCE version 2 over IPv4 there. Two queue pairs of it write to each other, and each reads what it
 * was sent. It knows nothing of weft and is linked to the real libibverbs.
 *
 * usage: nic-defaults [GID]
 *
 * Exit status: 0 the bytes arrived, 1 something failed, which is said with its errno. */
#include <assert.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PORT   1
#define BYTES  4096u
#define WAIT_S 30

struct end {
	struct ibv_qp *qp;
	uint8_t bytes[BYTES];
	struct ibv_mr *mr;
};

struct program {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	uint8_t gid_index;
	union ibv_gid gid;
	struct end end[2];
};

static void need(int is_fine, const char *what)
{
	if (is_fine)
		return;
	fprintf(stderr, "nic-defaults: %s: errno %d, %s\n", what, errno, strerror(errno));
	exit(1);
}

static void open_first(struct program *p)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);

	need(list && n > 0, "no device");
	assert(list);
	p->context = ibv_open_device(list[0]);
	need(p->context != NULL, "ibv_open_device");
	printf("first device: %s\n", ibv_get_device_name(list[0]));
	ibv_free_device_list(list);
	p->pd = ibv_alloc_pd(p->context);
	p->cq = ibv_create_cq(p->context, 16, NULL, NULL, 0);
	need(p->pd && p->cq, "domain and queue");
	need(!ibv_query_gid(p->context, PORT, p->gid_index, &p->gid), "ibv_query_gid");
}

static void make_end(struct program *p, struct end *e)
{
	struct ibv_qp_init_attr init = {
		.send_cq = p->cq, .recv_cq = p->cq, .qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1, 0}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = PORT,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	e->mr = ibv_reg_mr(p->pd, e->bytes, BYTES,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	e->qp = ibv_create_qp(p->pd, &init);
	need(e->mr && e->qp, "region and queue pair");
	need(!ibv_modify_qp(e->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "INIT");
}

static void connect_end(struct program *p, struct end *e, const struct end *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = PORT,
			    .grh = {.dgid = p->gid, .sgid_index = p->gid_index, .hop_limit = 64}},
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	need(!ibv_modify_qp(e->qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	attr.qp_state = IBV_QPS_RTS;
	need(!ibv_modify_qp(e->qp, &attr,
			    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

static void write_half(struct program *p, struct end *from, const struct end *to, uint32_t offset)
{
	struct ibv_sge sge = {(uintptr_t)from->bytes + offset, BYTES / 2, from->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)to->bytes + offset, to->mr->rkey}},
			   *bad;
	time_t end = time(NULL) + WAIT_S;
	struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};
	int n = 0;

	need(!ibv_post_send(from->qp, &wr, &bad), "ibv_post_send");
	while (!n && time(NULL) < end)
		n = ibv_poll_cq(p->cq, 1, &wc);
	need(n == 1 && wc.status == IBV_WC_SUCCESS, "no successful completion");
}

int main(int argc, char **argv)
{
	static struct program p;

	p.gid_index = argc > 1 ? (uint8_t)strtoul(argv[1], NULL, 10) : 3;
	open_first(&p);
	make_end(&p, &p.end[0]);
	make_end(&p, &p.end[1]);
	connect_end(&p, &p.end[0], &p.end[1]);
	connect_end(&p, &p.end[1], &p.end[0]);
	memset(p.end[0].bytes, 'a', BYTES / 2);
	memset(p.end[1].bytes + BYTES / 2, 'b', BYTES / 2);
	write_half(&p, &p.end[0], &p.end[1], 0);
	write_half(&p, &p.end[1], &p.end[0], BYTES / 2);
	need(!memcmp(p.end[0].bytes, p.end[1].bytes, BYTES) && p.end[0].bytes[BYTES - 1] == 'b',
	     "other bytes");
	printf("%u bytes went each way by GID %u\n", BYTES / 2, p.gid_index);
	for (int i = 0; i < 2; i++)
		need(!ibv_destroy_qp(p.end[i].qp) && !ibv_dereg_mr(p.end[i].mr), "destroy");
	need(!ibv_destroy_cq(p.cq) && !ibv_dealloc_pd(p.pd) && !ibv_close_device(p.context),
	     "close");
	return 0;
}
