/* The smallest pair of MRC programs: one writes into the other's memory, over many paths, and tells
 * it by immediate data.
 *
 *	mrc_write DEVICE GID_INDEX               waits for the other, and prints what it wrote
 *	mrc_write DEVICE GID_INDEX HOST TEXT     writes TEXT into the memory of the one at HOST
 *
 * The two tell each other about their queue pairs over TCP: MRC has no connection manager. What is
 * not set, as the range (MRC_QP_MPR_DEST), has a default that works. */
#include <errno.h>
#include <mrc.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT "18600"

/* What one end tells the other; both are of one machine's kind here. */
struct end {
	union ibv_gid gid;
	uint64_t address;
	uint32_t qpn, psn, rkey;
};

struct program {
	struct ibv_context *verbs;
	struct mrc_context *mrc;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct mrc_cq *cq;
	struct mrc_qp *qp;
	uint8_t gid_index;
	struct end mine, theirs;
	char memory[4096];
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "mrc_write: cannot %s: %s\n", what, why);
	exit(1);
}

/* After a call that sets errno. */
static void die(const char *what)
{
	fail(what, strerror(errno));
}

static void no_device(struct ibv_device **list, const char *name)
{
	fprintf(stderr, "mrc_write: there is no device %s; there are:", name);
	for (int i = 0; list && list[i]; i++)
		fprintf(stderr, " %s", ibv_get_device_name(list[i]));
	fprintf(stderr, "%s\n", list && list[0] ? "" : " none, see 'weft devices'");
	exit(1);
}

static void open_device(struct program *p, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct mrc_device_attr attr;
	int supported = 0, i = 0;

	while (list && list[i] && strcmp(ibv_get_device_name(list[i]), name) != 0)
		i++;
	if (!list || !list[i])
		no_device(list, name);
	p->verbs = ibv_open_device(list[i]);
	if (!p->verbs)
		die("open the device");
	if (mrc_query_device_ex(p->verbs, NULL, &attr, &supported) || !supported)
		fail("use the device", "it does no MRC; see 'weft devices' for one that does");
	p->mrc = mrc_create_context(p->verbs, NULL);
	if (!p->mrc || ibv_query_gid(p->verbs, 1, p->gid_index, &p->mine.gid))
		die("make a context");
	ibv_free_device_list(list);
}

/* Where packet sequence numbers begin: who could guess it could forge packets. */
static uint32_t draw_psn(void)
{
	uint32_t psn;

	if (getrandom(&psn, sizeof psn, 0) != (ssize_t)sizeof psn)
		die("draw a random number");
	return psn & 0xffffff;
}

static void make_pair(struct program *p)
{
	struct mrc_qp_init_attr init = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1}};

	init.pd = p->pd = ibv_alloc_pd(p->verbs);
	init.send_cq = init.recv_cq = p->cq = mrc_create_cq(p->mrc, 16, NULL, NULL, 0);
	if (p->pd)
		p->mr = ibv_reg_mr(p->pd, p->memory, sizeof p->memory,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (p->mr && p->cq)
		p->qp = mrc_create_qp(p->mrc, &init);
	if (!p->qp || mrc_get_qpn(p->qp, &p->mine.qpn))
		die("make a queue pair");
	p->mine.psn = draw_psn();
	p->mine.rkey = p->mr->rkey;
	p->mine.address = (uintptr_t)p->memory;
}

/* With a receive for the immediate data, which has no memory of its own. Without one the write
 * would fail: MRC has no RNR. */
static void to_init(struct program *p)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad;

	if (mrc_modify_qp(p->qp, &attr, mask, NULL, 0) || mrc_post_recv(p->qp, &wr, &bad))
		die("to INIT");
}

static void connect_pair(struct program *p)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = p->theirs.qpn,
		.rq_psn = p->theirs.psn,
		.sq_psn = p->mine.psn,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = p->theirs.gid, .sgid_index = p->gid_index}}};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (mrc_modify_qp(p->qp, &attr, mask, NULL, 0))
		die("to RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (mrc_modify_qp(p->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, NULL, 0))
		die("to RTS");
}

/* A TCP connection: to host, or where that is NULL from whoever comes. */
static int meet(const char *host)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *at;

	int answer = getaddrinfo(host, PORT, &hints, &at), on = 1;

	if (answer)
		fail("find the host", gai_strerror(answer));
	int fd = socket(at->ai_family, SOCK_STREAM, 0);

	/* The connection of an earlier run holds the port for a minute otherwise. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (host ? connect(fd, at->ai_addr, at->ai_addrlen)
		 : bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, 1))
		die(host ? "reach port " PORT " of the other" : "listen on port " PORT);
	freeaddrinfo(at);
	if (host)
		return fd;
	int taken = accept(fd, NULL, NULL);

	if (taken < 0)
		die("take the other's connection");
	close(fd);
	return taken;
}

static void exchange(int fd, const void *mine, void *theirs, size_t len)
{
	ssize_t n = send(fd, mine, len, MSG_NOSIGNAL);

	if (n == (ssize_t)len)
		n = recv(fd, theirs, len, MSG_WAITALL);
	if (n < 0)
		die("talk to the other");
	if (n != (ssize_t)len)
		fail("talk to the other", "it is gone");
}

static struct ibv_wc wait_for_one(struct program *p)
{
	struct ibv_wc wc;
	int n;

	while ((n = mrc_poll_cq(p->cq, 1, &wc)) == 0)
		;
	if (n < 0)
		die("poll");
	if (wc.status != IBV_WC_SUCCESS)
		fail("write", ibv_wc_status_str(wc.status));
	return wc;
}

static void write_text(struct program *p, const char *text)
{
	snprintf(p->memory, sizeof p->memory, "%s", text);
	struct ibv_sge sge = {(uintptr_t)p->memory, (uint32_t)strlen(p->memory) + 1, p->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = htobe32(42)},
			   *bad;

	wr.wr.rdma.remote_addr = p->theirs.address;
	wr.wr.rdma.rkey = p->theirs.rkey;
	if (mrc_post_send(p->qp, &wr, &bad))
		die("post a write");
	wait_for_one(p);
}

int main(int argc, char **argv)
{
	static struct program p;
	char done = 1;

	if (argc != 3 && argc != 5)
		return fprintf(stderr, "usage: mrc_write DEVICE GID_INDEX [HOST TEXT]\n"), 2;
	p.gid_index = (uint8_t)strtoul(argv[2], NULL, 10);
	open_device(&p, argv[1]);
	make_pair(&p);
	to_init(&p);
	int fd = meet(argc == 5 ? argv[3] : NULL);

	exchange(fd, &p.mine, &p.theirs, sizeof p.mine);
	connect_pair(&p);
	exchange(fd, &done, &done, 1); /* both are ready */
	if (argc == 5) {
		write_text(&p, argv[4]);
	} else {
		uint32_t immediate = be32toh(wait_for_one(&p).imm_data);

		printf("got \"%s\", immediate data %u\n", p.memory, immediate);
	}
	exchange(fd, &done, &done, 1); /* nobody leaves early */
	close(fd);
	mrc_destroy_context(p.mrc); /* and all that was made of it */
	ibv_dereg_mr(p.mr);
	ibv_dealloc_pd(p.pd);
	return ibv_close_device(p.verbs);
}
