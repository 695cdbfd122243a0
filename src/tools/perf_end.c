#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "io/osrandom.h"
#include "tools/perf.h"

#define TIMEOUT_CODE 14u /* 67 ms: well above what a busy machine makes a packet wait */
#define RETRIES      7u
#define RNR_CODE     12u /* 640 us */
#define GID_BYTES    16u
#define PACKET_BYTES 92u /* most of IPv6, UDP, BTH, RETH or atomic header, immediate data, ICRC */

/* What one side tells the other of a queue pair. */
struct identity {
	uint32_t number, psn;
};

static int complain(const struct perf_link *l, const char *what, int why)
{
	const char *more = nic_error();

	fprintf(stderr, "%s: cannot %s: %s%s%s\n", l->name, what, strerror(-why), *more ? ": " : "",
		more);
	return why;
}

/* The 16 bytes of an address as a GID has them. */
static void gid_of(const struct sockaddr_storage *a, uint8_t gid[GID_BYTES])
{
	memset(gid, 0, GID_BYTES);
	if (a->ss_family == AF_INET6) {
		memcpy(gid, &((const struct sockaddr_in6 *)a)->sin6_addr, GID_BYTES);
		return;
	}
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
}

/* The device that has the address, and where in its table. */
static int find_device(const struct perf_link *l, struct nic_info *info, uint32_t *index)
{
	struct nic_info *list = NULL;
	uint8_t gid[GID_BYTES];
	int n = nic_list(&list);

	gid_of(&l->local, gid);
	for (int i = 0; i < n; i++)
		for (uint32_t k = 0; k < list[i].n_gids; k++)
			if (memcmp(list[i].gids[k].raw, gid, GID_BYTES) == 0) {
				*info = list[i];
				*index = k;
				free(list);
				return 0;
			}
	free(list);
	fprintf(stderr,
		"%s: no device has the address of the control connection; see WEFT_INTERFACES in "
		"weft(1)\n",
		l->name);
	return n < 0 ? n : -ENODEV;
}

const char *perf_too_large(const struct perf_test *t)
{
	if (2 * (uint64_t)t->size * t->qps > PERF_BYTES_MAX)
		return "messages of that size on so many queue pairs need more than 4 GiB";
	if ((uint64_t)t->qps * (t->depth + perf_receives(t)) > NIC_MAX_CQE)
		return "so many messages out at once on so many queue pairs are more than a "
		       "completion queue holds";
	return NULL;
}

static int make_objects(struct perf_end *e, const struct perf_link *l)
{
	const struct perf_test *t = &e->test;
	struct nic_mr_spec spec = {.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ |
					     MEM_REMOTE_ATOMIC};

	e->memory_len = (size_t)t->qps * 2 * t->size;
	if (posix_memalign((void **)&e->memory, 4096, e->memory_len) != 0)
		return complain(l, "reserve the memory", -ENOMEM);
	memset(e->memory, 0, e->memory_len);
	spec.at = e->memory;
	spec.len = e->memory_len;
	spec.iova = (uintptr_t)e->memory;
	e->pd = nic_pd_new(e->user);
	e->mr = e->pd ? nic_mr_new(e->pd, &spec) : NULL;
	e->cq = nic_cq_new(e->user, t->qps * (t->depth + perf_receives(t)), NULL, NULL);
	e->qps = calloc(t->qps, sizeof(struct nic_qp *));
	if (!e->pd || !e->mr || !e->cq || !e->qps)
		return complain(l, "make the device's objects", -errno);
	for (uint32_t i = 0; i < t->qps; i++) {
		struct nic_qp_spec qp = {
			.pd = e->pd,
			.send_cq = e->cq,
			.recv_cq = e->cq,
			.max_send = t->depth,
			.max_recv = perf_receives(t),
			.max_send_sge = 1,
			.max_recv_sge = 1,
		};

		e->qps[i] = nic_qp_new(e->user, &qp);
		if (!e->qps[i])
			return complain(l, "make a queue pair", -errno);
	}
	return 0;
}

static int connect_one(struct nic_qp *qp, const struct perf_test *t, const struct nic_path *path,
		       struct identity mine, struct identity theirs)
{
	struct rc_attr a = {
		.state = RC_INIT,
		.access = MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC,
		.pmtu = t->pmtu,
		.remote_qp = theirs.number,
		.rq_psn = theirs.psn,
		.sq_psn = mine.psn,
		.rd_atomic = RC_RD_ATOMIC_MAX,
		.dest_rd_atomic = RC_RD_ATOMIC_MAX,
		.rnr_timer = RNR_CODE,
		.timeout = TIMEOUT_CODE,
		.retries = RETRIES,
		.rnr_retries = 7,
	};
	int answer = nic_qp_modify(qp, &a, RC_SET_STATE | RC_SET_ACCESS, NULL);

	if (answer != 0)
		return answer;
	a.state = RC_RTR;
	answer = nic_qp_modify(qp, &a,
			       RC_SET_STATE | RC_SET_PMTU | RC_SET_PATH | RC_SET_REMOTE_QP |
				       RC_SET_RQ_PSN | RC_SET_DEST_RD_ATOMIC | RC_SET_RNR_TIMER,
			       path);
	if (answer != 0)
		return answer;
	a.state = RC_RTS;
	return nic_qp_modify(qp, &a,
			     RC_SET_STATE | RC_SET_SQ_PSN | RC_SET_RD_ATOMIC | RC_SET_TIMEOUT |
				     RC_SET_RETRIES | RC_SET_RNR_RETRIES,
			     NULL);
}

static int connect_all(struct perf_end *e, struct perf_link *l, uint32_t gid_index)
{
	struct nic_path path = {.gid_index = gid_index, .hop_limit = 64};
	char line[PERF_LINE_MAX];
	uint64_t v[2];
	int answer = perf_tell(l, "mem %" PRIu64 " %u", (uint64_t)(uintptr_t)e->memory,
			       nic_mr_key(e->mr));

	if (answer != 0 || (answer = perf_hear(l, line)) != 0)
		return answer;
	if (!perf_numbers(line, "mem", v, 2))
		return complain(l, "read the peer's memory", -EPROTO);
	e->peer_va = v[0];
	e->peer_key = (uint32_t)v[1];
	gid_of(&l->remote, path.dgid);
	for (uint32_t i = 0; i < e->test.qps; i++) {
		struct identity mine = {.number = nic_qp_number(e->qps[i])};

		if (osrandom_key((uint8_t *)&mine.psn, sizeof mine.psn) != 0)
			return complain(l, "draw a random number", -EIO);
		mine.psn &= 0xffffff;
		answer = perf_tell(l, "qp %u %u", mine.number, mine.psn);
		if (answer != 0 || (answer = perf_hear(l, line)) != 0)
			return answer;
		if (!perf_numbers(line, "qp", v, 2))
			return complain(l, "read the peer's queue pair", -EPROTO);
		struct identity theirs = {(uint32_t)v[0], (uint32_t)v[1]};

		answer = connect_one(e->qps[i], &e->test, &path, mine, theirs);
		if (answer != 0)
			return complain(l, "connect a queue pair", answer);
	}
	return 0;
}

/* Both sides are ready when both have said so. */
static int meet(struct perf_link *l)
{
	char line[PERF_LINE_MAX];
	int answer = perf_tell(l, "ready");

	return answer != 0 ? answer : perf_hear(l, line);
}

uint16_t perf_best_pmtu(struct perf_link *l)
{
	struct nic_info info;
	uint32_t gid_index;
	uint16_t pmtu = 4096;

	if (find_device(l, &info, &gid_index) != 0)
		return 0;
	while (pmtu > 256 && pmtu + PACKET_BYTES > info.mtu)
		pmtu /= 2;
	return pmtu;
}

int perf_end_open(struct perf_end *e, struct perf_link *l, const struct perf_test *test)
{
	struct nic_info info;
	uint32_t gid_index = 0;

	*e = (struct perf_end){.test = *test};
	int answer = find_device(l, &info, &gid_index);

	if (answer == 0) {
		e->user = nic_open(&info);
		answer = e->user ? make_objects(e, l) : complain(l, "open the device", -errno);
	}
	if (answer == 0)
		answer = connect_all(e, l, gid_index);
	if (answer == 0)
		answer = meet(l);
	if (answer != 0) {
		if (answer != -ECONNRESET && answer != -EPROTO)
			perf_tell(l, "error %s", strerror(-answer));
		perf_end_close(e);
	}
	return answer;
}

void perf_end_close(struct perf_end *e)
{
	for (uint32_t i = 0; e->qps && i < e->test.qps; i++)
		if (e->qps[i])
			nic_qp_free(e->qps[i]);
	free(e->qps);
	if (e->cq)
		nic_cq_free(e->cq);
	if (e->mr)
		nic_mr_free(e->mr);
	if (e->pd)
		nic_pd_free(e->pd);
	if (e->user)
		nic_close(e->user);
	free(e->memory);
	*e = (struct perf_end){.user = NULL};
}
