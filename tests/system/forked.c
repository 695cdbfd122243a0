/* What a child of fork may do with what it inherited: nothing but know that; and what it may do
 * itself: open a device of its own. */
#include "end.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINGER_S 30 /* longer than any test waits */
#define WAIT_NS  UINT64_C(5000000000)

/* Every call refuses what belongs to the parent. */
static int inherited_is_dead(struct end *e)
{
	struct nic_info info;
	struct done done;
	struct op op = {.code = ENGINE_RECV};
	struct nic_work work = {.op = op};
	struct engine_attr attr = {.state = ENGINE_ERROR};
	uint32_t posted;
	bool is_dead = nic_query(e->user, &info) == -ENODEV && nic_close(e->user) == -ENODEV &&
		       !nic_pd_new(e->user) && errno == ENODEV;

	if (e->cq)
		is_dead &= nic_cq_poll(e->cq, &done, 1) == -ENODEV &&
			   nic_cq_free(e->cq) == -ENODEV && nic_mr_free(e->mr) == -ENODEV;
	if (e->n_pairs)
		is_dead &=
			nic_post(e->pairs[0].qp, &work, 1, &posted) == -ENODEV &&
			nic_qp_modify(e->pairs[0].qp, &attr, ENGINE_SET_STATE, NULL) == -ENODEV &&
			nic_qp_free(e->pairs[0].qp) == -ENODEV;
	return is_dead ? 0 : -EPROTO;
}

/* A device of the child's own, and two of its pairs that talk to each other. */
static int own_device_works(const struct end *parent)
{
	struct end e = {.size = 8192, .depth = 8, .timeout = 14, .retries = 7};
	char address[64], numbers[64];
	const uint8_t *gid = parent->info.gids[parent->gid].raw;

	snprintf(address, sizeof address, "%u.%u.%u.%u", gid[12], gid[13], gid[14], gid[15]);
	int r = end_open(&e, address);

	if (r == 0)
		r = pairs_open(&e, 2);
	if (r != 0)
		return r;
	snprintf(numbers, sizeof numbers, "%u %u", e.pairs[1].number, e.pairs[0].number);
	e.peer_va = (uintptr_t)e.memory;
	e.peer_key = nic_mr_key(e.mr);
	r = pairs_connect(&e, address, numbers, true);
	if (r == 0)
		r = traffic_start(&e, JOB_WRITES, 100);
	for (uint64_t until = now_ns() + WAIT_NS; r == 0 && !traffic_is_over(&e);) {
		traffic_step(&e);
		if (now_ns() > until)
			r = -ETIMEDOUT;
	}
	if (r == 0 && (e.n_bad || e.pairs[0].first || e.pairs[1].first))
		r = -EIO;
	return r == 0 ? end_close(&e) : r;
}

int forked_start(struct end *e, const char *kind)
{
	fflush(NULL);
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid > 0) {
		e->child = pid;
		return 0;
	}
	/* The commands are the parent's. */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	int r = inherited_is_dead(e);

	if (r == 0 && strcmp(kind, "open") == 0)
		r = own_device_works(e);
	if (r == 0 && strcmp(kind, "linger") == 0)
		sleep(LINGER_S);
	if (r != 0)
		fprintf(stderr, "end: the forked child: %s; %s\n", strerror(-r), nic_error());
	_exit(r == 0 ? 0 : 1);
}
