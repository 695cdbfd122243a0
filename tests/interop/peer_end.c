/* The device, a connection and the steps that both ends take together. */
#include "peer.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HASH_START UINT64_C(0xcbf29ce484222325) /* of FNV-1a, 64 bits */
#define HASH_PRIME UINT64_C(0x00000100000001b3)

enum {
	WAIT_S = 40, /* for a completion: an emulated guest is slow, and more so under loss */
	PORT = 1,
	HOP_LIMIT = 64,
	SOON_TIMEOUT = 14, /* 67 ms */
	SOON_RETRIES = 2,
	RETRIES = 7,
	RNR_TIMER = 12, /* 0.64 ms */
};

void end_open(struct end *e)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (size_t i = 0; list && list[i] && !e->context; i++) {
		if (!strcmp(ibv_get_device_name(list[i]), e->device))
			e->context = ibv_open_device(list[i]);
	}
	if (list)
		ibv_free_device_list(list);
	if (!e->context)
		fail("no device %s that can be opened", e->device);
	e->pd = ibv_alloc_pd(e->context);
	if (!e->pd)
		fail("no protection domain: %s", strerror(errno));
}

void end_close(struct end *e)
{
	if (ibv_dealloc_pd(e->pd) || ibv_close_device(e->context))
		fail("the device does not close");
}

void end_send(struct end *e, uint64_t number)
{
	uint64_t wire = htobe64(number);

	if (write(e->link, &wire, sizeof wire) != sizeof wire)
		fail("the peer is gone");
}

uint64_t end_receive(struct end *e)
{
	uint64_t wire = 0;
	size_t got = 0;

	while (got < sizeof wire) {
		ssize_t n = read(e->link, (uint8_t *)&wire + got, sizeof wire - got);

		if (n <= 0)
			fail("the peer is gone, or silent for too long");
		got += (size_t)n;
	}
	return be64toh(wire);
}

void end_meet(struct end *e)
{
	const uint64_t word = 0x6d656574;

	end_send(e, word);
	if (end_receive(e) != word)
		fail("the peer is out of step");
}

static void make_objects(struct end *e, const struct terms *terms)
{
	const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_qp_init_attr init = {
		.cap = {QUEUE_DEPTH, QUEUE_DEPTH, SGES, SGES, 0},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = terms->is_qp_closed ? 0 : (unsigned)all,
	};
	const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;

	e->region = aligned_alloc(4096, REGION_BYTES);
	if (!e->region)
		fail("no memory");
	memset(e->region, GUARD, REGION_BYTES);
	e->mr = ibv_reg_mr(e->pd, e->region, REGION_BYTES,
			   terms->is_read_only ? IBV_ACCESS_LOCAL_WRITE : all);
	e->cq = ibv_create_cq(e->context, 2 * QUEUE_DEPTH, NULL, NULL, 0);
	if (!e->mr || !e->cq)
		fail("no region or no completion queue: %s", strerror(errno));
	init.send_cq = init.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &init);
	if (!e->qp || ibv_modify_qp(e->qp, &attr, mask))
		fail("no queue pair: %s", strerror(errno));
}

/* What one end tells the other, in this order. */
struct card {
	uint64_t qpn, psn, rkey, addr, gid_high, gid_low;
};

static struct card exchange(struct end *e, uint32_t psn)
{
	struct card mine = {e->qp->qp_num, psn, e->mr->rkey, (uintptr_t)e->region, 0, 0}, theirs;
	union ibv_gid gid;

	if (ibv_query_gid(e->context, PORT, e->gid_index, &gid))
		fail("no GID %u", e->gid_index);
	mine.gid_high = be64toh(gid.global.subnet_prefix);
	mine.gid_low = be64toh(gid.global.interface_id);
	const uint64_t words[] = {mine.qpn,  mine.psn,      mine.rkey,
				  mine.addr, mine.gid_high, mine.gid_low};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		end_send(e, words[i]);
	theirs.qpn = end_receive(e);
	theirs.psn = end_receive(e);
	theirs.rkey = end_receive(e);
	theirs.addr = end_receive(e);
	theirs.gid_high = end_receive(e);
	theirs.gid_low = end_receive(e);
	return theirs;
}

static void to_rtr(struct end *e, const struct card *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = e->mtu,
		.dest_qp_num = (uint32_t)peer->qpn,
		.rq_psn = (uint32_t)peer->psn,
		.max_dest_rd_atomic = RD_ATOMIC,
		.min_rnr_timer = RNR_TIMER,
		.ah_attr = {.is_global = 1, .port_num = PORT},
	};

	attr.ah_attr.grh.sgid_index = e->gid_index;
	attr.ah_attr.grh.hop_limit = HOP_LIMIT;
	attr.ah_attr.grh.dgid.global.subnet_prefix = htobe64(peer->gid_high);
	attr.ah_attr.grh.dgid.global.interface_id = htobe64(peer->gid_low);
	int r = ibv_modify_qp(e->qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER);

	if (r)
		fail("not ready to receive: %s", strerror(r));
}

static void to_rts(struct end *e, uint32_t psn, const struct terms *terms)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = terms->is_soon_given_up ? SOON_TIMEOUT : e->timeout,
		.retry_cnt = terms->is_soon_given_up ? SOON_RETRIES : RETRIES,
		.rnr_retry = terms->no_rnr_retry ? 0 : 7, /* 7: without end */
		.max_rd_atomic = RD_ATOMIC,
	};
	int r = ibv_modify_qp(e->qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);

	if (r)
		fail("not ready to send: %s", strerror(r));
}

void end_connect(struct end *e, const struct terms *terms)
{
	/* Close to the end of the numbers, so that they wrap. */
	const uint32_t psn = e->is_client ? 0xfffff0 : 0xffffe0;

	make_objects(e, terms);
	struct card peer = exchange(e, psn);

	e->remote_addr = peer.addr;
	e->remote_rkey = (uint32_t)peer.rkey;
	to_rtr(e, &peer);
	to_rts(e, psn, terms);
	end_meet(e);
}

void end_disconnect(struct end *e)
{
	if (e->qp && ibv_destroy_qp(e->qp))
		fail("the queue pair does not go");
	if (ibv_destroy_cq(e->cq) || ibv_dereg_mr(e->mr))
		fail("what belonged to the queue pair does not go");
	free(e->region);
	e->qp = NULL;
}

void end_post(struct end *e, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int r = ibv_post_send(e->qp, wr, &bad);

	if (r)
		fail("work is not taken: %s", strerror(r));
}

void end_post_receive(struct end *e, uint64_t id, struct ibv_sge *list, int n)
{
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = list, .num_sge = n}, *bad;
	int r = ibv_post_recv(e->qp, &wr, &bad);

	if (r)
		fail("a receive is not taken: %s", strerror(r));
}

struct ibv_wc end_wait(struct end *e)
{
	struct ibv_wc wc = {0};
	struct timespec now, pause = {.tv_nsec = 100000};
	int n = ibv_poll_cq(e->cq, 1, &wc);

	clock_gettime(CLOCK_MONOTONIC, &now);
	const time_t end = now.tv_sec + WAIT_S;

	while (n == 0 && now.tv_sec < end) {
		nanosleep(&pause, NULL);
		n = ibv_poll_cq(e->cq, 1, &wc);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	if (n != 1)
		fail(n < 0 ? "polling fails" : "no completion in %d s", WAIT_S);
	return wc;
}

struct ibv_wc end_done(struct end *e)
{
	struct ibv_wc wc = end_wait(e);

	if (wc.status != IBV_WC_SUCCESS)
		fail("work %llu: %s", (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
	return wc;
}

uint64_t region_hash(const struct end *e)
{
	uint64_t hash = HASH_START;

	for (size_t i = 0; i < REGION_BYTES; i++)
		hash = (hash ^ e->region[i]) * HASH_PRIME;
	return hash;
}
