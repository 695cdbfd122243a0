/* What libmrc costs: writes between two queue pairs of this process, over kernel UDP on loopback,
 * by the native interface of the soft device and through libmrc, in turns. Prints what each moved
 * in a second, of the clock and of a processor, and the medians of the ratios. Size and number of
 * rounds: bench-mrcapi [BYTES [ROUNDS]]. The two devices, one in this program and one in the
 * library, are open in turns as well: processes that share an address would know them for two,
 * which costs something by itself. */
#include <mrc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nic/mrc/nic_mrc.h"

#define MOST_BYTES  (UINT32_C(1) << 20)
#define DEPTH       32u
#define GID         3u /* loopback's IPv4 address */
#define ROUND_BYTES (UINT64_C(96) << 20)
#define MOST_ROUNDS 99

static uint8_t memory[2 * MOST_BYTES];

struct native {
	struct nic_user *user;
	struct nic_pd *pd;
	struct nic_mr *mr;
	struct nic_cq *cq;
	struct nic_qp *qp[2];
};

struct through {
	struct ibv_context *verbs;
	struct mrc_context *mrc;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct mrc_cq *cq;
	struct mrc_qp *qp[2];
};

static void check(bool is_good, const char *what)
{
	if (is_good)
		return;
	fprintf(stderr, "bench-mrcapi: %s: %s\n", what, nic_error());
	exit(1);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void native_open(void *lane)
{
	struct native *n = lane;
	const unsigned rights = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE;
	struct nic_mr_spec region = {memory, sizeof memory, (uintptr_t)memory, (uint8_t)rights};
	struct nic_info *list = NULL;
	int i = 0, n_list = nic_list(&list);

	while (i < n_list && list[i].setup.transport != &transport_mrc)
		i++;
	check(i < n_list, "no device");
	n->user = nic_open(&list[i]);
	check(n->user, "nic_open");
	n->pd = nic_pd_new(n->user);
	n->mr = nic_mr_new(n->pd, &region);
	n->cq = nic_cq_new(n->user, 4 * DEPTH, NULL, NULL);
	check(n->mr && n->cq, "objects");
	struct nic_link link[2] = {
		{.pmtu = 4096, .access = MEM_REMOTE_WRITE, .path.gid_index = GID}};
	const struct nic_gid *gid = &list[i].gids[nic_gid_place(GID)];

	memcpy(link[0].path.dgid, gid->raw, sizeof link[0].path.dgid);
	link[1] = link[0];
	for (int k = 0; k < 2; k++) {
		struct nic_qp_spec spec = {.pd = n->pd, .send_cq = n->cq, .recv_cq = n->cq};

		spec.max_send = DEPTH;
		n->qp[k] = nic_qp_new(n->user, &spec);
		check(n->qp[k], "nic_qp_new");
		check(!nic_qp_end(n->qp[k], &link[k].mine), "nic_qp_end");
		link[!k].theirs = link[k].mine;
	}
	for (int k = 0; k < 2; k++)
		check(!nic_qp_connect(n->qp[k], &link[k]), "nic_qp_connect");
	free(list);
}

static void native_close(void *lane)
{
	struct native *n = lane;

	check(!nic_qp_free(n->qp[0]) && !nic_qp_free(n->qp[1]) && !nic_cq_free(n->cq) &&
		      !nic_mr_free(n->mr) && !nic_pd_free(n->pd) && !nic_close(n->user),
	      "closing");
}

static void connect_qp(struct through *t, int k)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.path_mtu = IBV_MTU_4096,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh.sgid_index = GID},
	};
	int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	check(!mrc_get_qpn(t->qp[!k], &attr.dest_qp_num), "mrc_get_qpn");
	check(!ibv_query_gid(t->verbs, 1, GID, &attr.ah_attr.grh.dgid), "ibv_query_gid");
	check(!mrc_modify_qp(t->qp[k], &attr, IBV_QP_STATE, NULL, 0), "INIT");
	attr.qp_state = IBV_QPS_RTR;
	check(!mrc_modify_qp(t->qp[k], &attr, rtr, NULL, 0), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	check(!mrc_modify_qp(t->qp[k], &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, NULL, 0), "RTS");
}

static void through_open(void *lane)
{
	struct through *t = lane;
	struct ibv_device **list = ibv_get_device_list(NULL);
	int supported = 0;

	check(list != NULL, "ibv_get_device_list");
	for (int i = 0; list[i] && !supported; i++) {
		struct mrc_device_attr attr;

		t->verbs = ibv_open_device(list[i]);
		check(t->verbs && !mrc_query_device(t->verbs, &attr, &supported), "a device");
		if (!supported)
			ibv_close_device(t->verbs);
	}
	check(supported, "no device of MRC");
	ibv_free_device_list(list);
	t->mrc = mrc_create_context(t->verbs, NULL);
	t->pd = ibv_alloc_pd(t->verbs);
	check(t->mrc && t->pd, "mrc_create_context");
	t->mr = ibv_reg_mr(t->pd, memory, sizeof memory,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	t->cq = mrc_create_cq(t->mrc, 4 * DEPTH, NULL, NULL, 0);
	check(t->mr && t->cq, "objects");
	for (int k = 0; k < 2; k++) {
		struct mrc_qp_init_attr init = {.send_cq = t->cq, .recv_cq = t->cq, .pd = t->pd};

		init.cap.max_send_wr = DEPTH;
		t->qp[k] = mrc_create_qp(t->mrc, &init);
		check(t->qp[k], "mrc_create_qp");
	}
	connect_qp(t, 0);
	connect_qp(t, 1);
}

static void through_close(void *lane)
{
	struct through *t = lane;

	check(!mrc_destroy_context(t->mrc) && !ibv_close_device(t->verbs), "closing");
}

static void native_post(void *lane, uint32_t bytes)
{
	struct native *n = lane;
	struct sge piece = {memory, bytes, nic_mr_key(n->mr)};
	struct nic_work work = {.op = {.code = ENGINE_WRITE,
				       .sg = &piece,
				       .n_sg = 1,
				       .remote = (uintptr_t)memory + MOST_BYTES,
				       .key = nic_mr_key(n->mr)}};
	uint32_t posted;

	check(!nic_post(n->qp[0], &work, 1, &posted), "nic_post");
}

static int native_poll(void *lane)
{
	struct native *n = lane;
	struct done done[DEPTH];
	int got = nic_cq_poll(n->cq, done, DEPTH);

	for (int i = 0; i < got; i++)
		check(done[i].status == ENGINE_OK, "a write failed");
	return got;
}

static void through_post(void *lane, uint32_t bytes)
{
	struct through *t = lane;
	struct ibv_sge piece = {(uintptr_t)memory, bytes, t->mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)memory + MOST_BYTES, t->mr->rkey},
	};
	struct ibv_send_wr *bad;

	check(!mrc_post_send(t->qp[0], &wr, &bad), "mrc_post_send");
}

static int through_poll(void *lane)
{
	struct through *t = lane;
	struct ibv_wc wc[DEPTH];
	int got = mrc_poll_cq(t->cq, DEPTH, wc);

	for (int i = 0; i < got; i++)
		check(wc[i].status == IBV_WC_SUCCESS, "a write failed");
	return got;
}

/* One of the two ways to write. */
struct lane {
	void *of;
	void (*open)(void *lane);
	void (*close)(void *lane);
	void (*post)(void *lane, uint32_t bytes);
	int (*poll)(void *lane);
};

static void write_bytes(const struct lane *lane, uint64_t count, uint32_t bytes)
{
	uint64_t posted = 0, done = 0;

	while (done < count) {
		for (; posted < count && posted - done < DEPTH; posted++)
			lane->post(lane->of, bytes);
		int got = lane->poll(lane->of);

		check(got >= 0, "polling");
		done += (uint64_t)got;
	}
}

/* Gb in a second. Others may have the processors in between, which only the clock sees. */
struct speed {
	double by_clock, by_processor;
};

/* The speed of one round, after a start that is not counted. */
static struct speed run_round(const struct lane *lane, uint32_t bytes)
{
	uint64_t count = ROUND_BYTES / bytes;
	double gigabits = (double)(count * bytes) * 8e-9;

	lane->open(lane->of);
	write_bytes(lane, count / 4, bytes);
	double at = seconds(CLOCK_MONOTONIC), had = seconds(CLOCK_PROCESS_CPUTIME_ID);

	write_bytes(lane, count, bytes);
	double passed = seconds(CLOCK_MONOTONIC) - at;
	double used = seconds(CLOCK_PROCESS_CPUTIME_ID) - had;

	lane->close(lane->of);
	return (struct speed){gigabits / passed, gigabits / used};
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof *values, compare);
	return values[n / 2];
}

int main(int argc, char **argv)
{
	uint32_t bytes = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 65536;
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 0) : 15;
	double by_clock[MOST_ROUNDS] = {0}, by_processor[MOST_ROUNDS] = {0};
	struct native n = {0};
	struct through t = {0};

	check(bytes >= 1 && bytes <= MOST_BYTES && rounds >= 1 && rounds <= MOST_ROUNDS, "usage");
	setenv("WEFT_INTERFACES", "lo", 0);
	const struct lane ours = {&n, native_open, native_close, native_post, native_poll};
	const struct lane libmrc = {&t, through_open, through_close, through_post, through_poll};

	printf("Gb in a second   of the clock             of a processor\n"
	       "%7s bytes    native libmrc  ratio    native libmrc  ratio\n",
	       argc > 1 ? argv[1] : "65536");
	for (int i = 0; i < rounds; i++) {
		struct speed a = run_round(&ours, bytes), b = run_round(&libmrc, bytes);

		by_clock[i] = b.by_clock / a.by_clock;
		by_processor[i] = b.by_processor / a.by_processor;
		printf("round %2d         %6.2f %6.2f  %.3f    %6.2f %6.2f  %.3f\n", i + 1,
		       a.by_clock, b.by_clock, by_clock[i], a.by_processor, b.by_processor,
		       by_processor[i]);
	}
	printf("median                         %.3f                   %.3f\n",
	       median(by_clock, rounds), median(by_processor, rounds));
	return 0;
}
