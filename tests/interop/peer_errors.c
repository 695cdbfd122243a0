/* Cases that fail: what the requester does wrong, and the status that its work must end with. Each
 * trial has a connection of its own, for none survives its error. */
#include "peer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BYTES = 600, LATER_NS = 300 * 1000 * 1000 };

struct trial {
	const char *case_name, *name;
	enum ibv_wr_opcode opcode;
	enum ibv_wc_status status;
	uint32_t bytes;   /* of the message */
	uint32_t key_off; /* added to the peer's key */
	uint64_t place;   /* where in the peer's region */
	uint32_t room;    /* of the one receive that the peer has; 0: it has none */
	bool is_late;     /* the receive is posted while the requester tries again and again */
	bool is_gone;     /* the peer's queue pair is destroyed first */
	struct terms terms;
};

#define WRITE   IBV_WR_RDMA_WRITE
#define READ    IBV_WR_RDMA_READ
#define ADD     IBV_WR_ATOMIC_FETCH_AND_ADD
#define SEND    IBV_WR_SEND
#define ACCESS  IBV_WC_REM_ACCESS_ERR
#define INVALID IBV_WC_REM_INV_REQ_ERR
#define NOBODY  IBV_WC_RETRY_EXC_ERR
#define BEYOND  (REGION_BYTES - BYTES + 1)

/* clang-format off */
static const struct trial trials[] = {
	{"bad-key", "write", WRITE, ACCESS, BYTES, .key_off = 0x11},
	{"bad-key", "read", READ, ACCESS, BYTES, .key_off = 0x11},
	{"bad-key", "atomic", ADD, ACCESS, 8, .key_off = 0x11},
	{"out-of-range", "write beyond the end", WRITE, ACCESS, BYTES, .place = BEYOND},
	{"out-of-range", "read beyond the end", READ, ACCESS, BYTES, .place = BEYOND},
	{"out-of-range", "write before the start", WRITE, ACCESS, BYTES, .place = UINT64_MAX},
	{"out-of-range", "atomic beyond the end", ADD, ACCESS, 8, .place = REGION_BYTES},
	{"no-right", "write", WRITE, ACCESS, BYTES, .terms.is_read_only = true},
	{"no-right", "read", READ, ACCESS, BYTES, .terms.is_read_only = true},
	{"no-right", "atomic", ADD, ACCESS, 8, .terms.is_read_only = true},
	{"closed", "write", WRITE, INVALID, BYTES, .terms.is_qp_closed = true},
	{"closed", "read", READ, INVALID, BYTES, .terms.is_qp_closed = true},
	{"closed", "atomic", ADD, INVALID, 8, .terms.is_qp_closed = true},
	{"odd-atomic", "atomic at an odd address", ADD, INVALID, 8, .place = 4},
	{"long-send", "longer than the receive", SEND, INVALID, BYTES, .room = BYTES - 1},
	/* For a responder that takes this for an error of its own. */
	{"long-send-other", "longer than the receive", SEND, IBV_WC_REM_OP_ERR, BYTES,
	 .room = BYTES - 1},
	{"rnr", "no receive", SEND, IBV_WC_RNR_RETRY_EXC_ERR, BYTES, .terms.no_rnr_retry = true},
	{"rnr-recovered", "receive posted late", SEND, IBV_WC_SUCCESS, BYTES, .room = BYTES,
	 .is_late = true},
	{"gone", "write", WRITE, NOBODY, BYTES, .is_gone = true, .terms.is_soon_given_up = true},
	{"gone", "read", READ, NOBODY, BYTES, .is_gone = true, .terms.is_soon_given_up = true},
};
/* clang-format on */

static void post_trial(struct end *e, const struct trial *t)
{
	struct ibv_sge one = {(uintptr_t)e->region, t->bytes, e->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 1, .sg_list = &one, .num_sge = 1, .opcode = t->opcode};

	if (t->opcode == ADD) {
		wr.wr.atomic.remote_addr = e->remote_addr + t->place;
		wr.wr.atomic.rkey = e->remote_rkey + t->key_off;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = e->remote_addr + t->place;
		wr.wr.rdma.rkey = e->remote_rkey + t->key_off;
	}
	end_post(e, &wr);
}

/* The status that was asked for; and with the queue pair in error what follows is flushed. */
static void client(struct end *e, const struct trial *t)
{
	post_trial(e, t);
	struct ibv_wc wc = end_wait(e);

	printf("peer: %s: %s\n", t->name, ibv_wc_status_str(wc.status));
	if (wc.status != t->status)
		fail("%s: %s, not %s", t->name, ibv_wc_status_str(wc.status),
		     ibv_wc_status_str(t->status));
	if (wc.status == IBV_WC_SUCCESS)
		return;
	post_trial(e, t);
	wc = end_wait(e);
	if (wc.status != IBV_WC_WR_FLUSH_ERR)
		fail("%s: after it: %s", t->name, ibv_wc_status_str(wc.status));
}

static void post_room(struct end *e, const struct trial *t)
{
	struct ibv_sge room = {(uintptr_t)e->region, t->room, e->mr->lkey};

	end_post_receive(e, 1, &room, 1);
}

/* What the responder does before the request comes, and while it is there. */
static void prepare(struct end *e, const struct trial *t)
{
	if (t->room && !t->is_late)
		post_room(e, t);
	if (!t->is_gone)
		return;
	if (ibv_destroy_qp(e->qp))
		fail("the queue pair does not go");
	e->qp = NULL;
}

static void receive_late(struct end *e, const struct trial *t)
{
	nanosleep(&(struct timespec){.tv_nsec = LATER_NS}, NULL);
	post_room(e, t);
	if (end_done(e).byte_len != t->bytes)
		fail("%s: the message has another length", t->name);
}

/* Memory that an erroneous request could have reached is as it was, but for a receive, which is at
 * the region's beginning: of a message that is too long a part may lie there. */
static void check_untouched(const struct end *e, const struct trial *t)
{
	for (size_t i = t->room; i < REGION_BYTES; i++) {
		if (e->region[i] != GUARD)
			fail("%s: byte %zu of the region was written", t->name, i);
	}
}

static void run_trial(struct end *e, const struct trial *t)
{
	end_connect(e, &t->terms);
	if (!e->is_client)
		prepare(e, t);
	end_meet(e);
	if (e->is_client)
		client(e, t);
	else if (t->is_late)
		receive_late(e, t);
	end_meet(e);
	if (!e->is_client)
		check_untouched(e, t);
	end_disconnect(e);
}

bool run_error_case(struct end *e, const char *name)
{
	bool is_known = false;

	for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
		if (strcmp(trials[i].case_name, name) != 0)
			continue;
		is_known = true;
		run_trial(e, &trials[i]);
	}
	return is_known;
}
