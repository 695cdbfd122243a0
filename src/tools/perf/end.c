#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf/perf.h"

#define CREDIT_BYTES 8u

int perf_complain(const struct perf_link *l, const char *what, int why)
{
	const char *more = nic_error();

	fprintf(stderr, "%s: cannot %s: %s%s%s\n", l->name, what, strerror(-why), *more ? ": " : "",
		more);
	return why;
}

const char *perf_too_large(const struct perf_test *t)
{
	if (2 * (uint64_t)t->size * t->qps * perf_slots(t) > PERF_BYTES_MAX)
		return "messages of that size on so many queue pairs need more than 4 GiB";
	if ((uint64_t)t->qps * (t->depth + perf_receives(t)) > NIC_MAX_CQE)
		return "so many messages out at once on so many queue pairs are more than a "
		       "completion queue holds";
	return NULL;
}

/* The server of a transport that has no answer for a sender who is too early writes credits. */
static struct nic_qp *make_pair(struct perf_end *e)
{
	const struct perf_test *t = &e->test;
	struct nic_qp_spec spec = {
		.pd = e->pd,
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.max_send = t->depth,
		.max_recv = perf_receives(t),
		.max_send_sge = 1,
		.max_inline = CREDIT_BYTES,
	};

	return nic_qp_new(e->user, &spec);
}

static int make_objects(struct perf_end *e, const struct perf_link *l)
{
	const struct perf_test *t = &e->test;
	struct nic_mr_spec spec = {.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ |
					     MEM_REMOTE_ATOMIC};

	e->memory_len = perf_credit_offset(t, t->qps);
	if (posix_memalign((void **)&e->memory, 4096, e->memory_len) != 0)
		return perf_complain(l, "reserve the memory", -ENOMEM);
	memset(e->memory, 0, e->memory_len);
	spec.at = e->memory;
	spec.len = e->memory_len;
	spec.iova = (uintptr_t)e->memory;
	e->pd = nic_pd_new(e->user);
	e->mr = e->pd ? nic_mr_new(e->pd, &spec) : NULL;
	e->cq = nic_cq_new(e->user, t->qps * (t->depth + perf_receives(t)), NULL, NULL);
	e->qps = calloc(t->qps, sizeof(struct nic_qp *));
	if (!e->pd || !e->mr || !e->cq || !e->qps)
		return perf_complain(l, "make the device's objects", -errno);
	for (uint32_t i = 0; i < t->qps; i++) {
		e->qps[i] = make_pair(e);
		if (!e->qps[i])
			return perf_complain(l, "make a queue pair", -errno);
	}
	return 0;
}

/* Each side names its own: profiles belong to a device. */
static int name_profile(const struct perf_end *e, const struct perf_link *l, struct nic_qp *qp)
{
	const struct perf_choice *c = &l->choice;

	if (!c->has_profile || nic_mrc_qp_profiles(qp, &c->profile, NULL) == 0)
		return 0;
	fprintf(stderr,
		"%s: %s has no EV profile %" PRIu64
		" that is online; 'weft ctl --device %s show' lists those that it has\n",
		l->name, e->info.name, c->profile, e->info.name);
	return -ENOENT;
}

static int send_end(struct perf_link *l, const struct transport_end *end)
{
	char text[2 * TRANSPORT_END_BYTES + 1];

	for (uint32_t i = 0; i < TRANSPORT_END_BYTES; i++)
		snprintf(text + (size_t)2 * i, 3, "%02x", end->bytes[i]);
	return perf_send_line(l, "qp %s", text);
}

static bool read_end(const char *line, struct transport_end *end)
{
	const size_t len = strlen("qp ") + (size_t)2 * TRANSPORT_END_BYTES;

	if (strlen(line) != len || strncmp(line, "qp ", 3) != 0 ||
	    strspn(line + 3, "0123456789abcdef") != len - 3)
		return false;
	for (uint32_t i = 0; i < TRANSPORT_END_BYTES; i++) {
		const char digits[] = {line[3 + 2 * i], line[4 + 2 * i], '\0'};

		end->bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return true;
}

/* Tells the other side of a queue pair, learns of its namesake, and connects the two. */
static int join(const struct perf_end *e, struct perf_link *l, struct nic_qp *qp,
		struct nic_link *link)
{
	char line[PERF_LINE_MAX];
	int answer = name_profile(e, l, qp);

	if (answer == 0)
		answer = nic_qp_end(qp, &link->mine);
	if (answer == 0)
		answer = send_end(l, &link->mine);
	if (answer != 0 || (answer = perf_read_line(l, line)) != 0)
		return answer;
	if (!read_end(line, &link->theirs))
		return perf_complain(l, "read the peer's queue pair", -EPROTO);
	answer = nic_qp_connect(qp, link);
	return answer != 0 ? perf_complain(l, "connect a queue pair", answer) : 0;
}

static int connect_all(struct perf_end *e, struct perf_link *l)
{
	struct nic_link link = {
		.path = {.gid_index = e->gid_index},
		.pmtu = e->test.pmtu,
		.access = MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC,
	};
	char line[PERF_LINE_MAX];
	uint64_t v[2];
	int answer = perf_send_line(l, "mem %" PRIu64 " %u", (uint64_t)(uintptr_t)e->memory,
				    nic_mr_key(e->mr));

	if (answer != 0 || (answer = perf_read_line(l, line)) != 0)
		return answer;
	if (!perf_numbers(line, "mem", v, 2))
		return perf_complain(l, "read the peer's memory", -EPROTO);
	e->peer_va = v[0];
	e->peer_key = (uint32_t)v[1];
	perf_gid_of(&l->remote, link.path.dgid);
	if (transport_has(transports[e->test.transport], TRANSPORT_PROFILES))
		answer = perf_meet_planes(e, l, &link.path);
	for (uint32_t i = 0; answer == 0 && i < e->test.qps; i++)
		answer = join(e, l, e->qps[i], &link);
	return answer;
}

/* Both sides are ready when both have said so. */
static int meet(struct perf_link *l)
{
	char line[PERF_LINE_MAX];
	int answer = perf_send_line(l, "ready");

	return answer != 0 ? answer : perf_read_line(l, line);
}

int perf_end_open(struct perf_end *e, struct perf_link *l, const struct perf_test *test)
{
	*e = (struct perf_end){.test = *test};
	int answer = perf_find_device(l, test->transport, &e->info, &e->gid_index);

	if (answer == 0) {
		e->user = nic_open(&e->info);
		answer = e->user ? make_objects(e, l) : perf_complain(l, "open the device", -errno);
	}
	if (answer == 0)
		answer = nic_query(e->user, &e->info);
	if (answer == 0)
		answer = connect_all(e, l);
	if (answer == 0)
		answer = meet(l);
	if (answer != 0) {
		if (answer != -ECONNRESET && answer != -EPROTO)
			perf_send_line(l, "error %s", strerror(-answer));
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
