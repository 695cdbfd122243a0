/* One end of a connection for `make interop`: a program to verbs that runs the same on weft and on
 * the kernel's Soft-RoCE.
 *
 * Two of them run the same case: the server listens, the client connects and is the requester of
 * all work. A TCP connection keeps them in step; whatever goes wrong ends the program with a
 * sentence and exit status 1. */
#ifndef WEFT_TESTS_INTEROP_PEER_H
#define WEFT_TESTS_INTEROP_PEER_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REGION_BYTES = 1 << 19, QUEUE_DEPTH = 64, SGES = 4, RD_ATOMIC = 4 };

/* What a connection is made with; zero is the usual. */
struct terms {
	bool is_read_only;     /* the region grants the peer nothing */
	bool is_qp_closed;     /* the queue pair takes sends only, and no requests for memory */
	bool no_rnr_retry;     /* a receiver that is not ready is an error at once */
	bool is_soon_given_up; /* a peer that does not answer is given up within a second */
};

struct end {
	bool is_client;
	int link; /* the TCP connection */
	const char *device;
	uint8_t gid_index;
	uint8_t timeout; /* as in struct ibv_qp_attr */
	enum ibv_mtu mtu;
	struct ibv_context *context;
	struct ibv_pd *pd;
	/* Of the present connection, end_connect to end_disconnect. */
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *region; /* REGION_BYTES, all GUARD at first */
	uint64_t remote_addr;
	uint32_t remote_rkey;
};

enum { GUARD = 0xa5 };

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Opens the device. */
void end_open(struct end *e);
void end_close(struct end *e);

/* A fresh queue pair and region, connected to the peer's: both call it, with the same terms. */
void end_connect(struct end *e, const struct terms *terms);
void end_disconnect(struct end *e);

/* A number for the peer, and the peer's next. */
void end_send(struct end *e, uint64_t number);
uint64_t end_receive(struct end *e);
/* Returns when the peer is here, too. */
void end_meet(struct end *e);

/* Fails unless the call succeeds. */
void end_post(struct end *e, struct ibv_send_wr *wr);
void end_post_receive(struct end *e, uint64_t id, struct ibv_sge *list, int n);
/* The next completion, whatever its status; fails when none comes in time. */
struct ibv_wc end_wait(struct end *e);
/* The same; fails unless it is a success. */
struct ibv_wc end_done(struct end *e);

/* Over the whole region, guards included. */
uint64_t region_hash(const struct end *e);

/* Runs the case of that name; both ends do. false: there is none. */
bool run_data_case(struct end *e, const char *name);
bool run_error_case(struct end *e, const char *name);

#endif
