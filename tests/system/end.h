/* One end of a system test: a process with a soft device, that does what lines on its standard
 * input tell, and answers each with a line on its standard output. What is common to its files.
 *
 *	end.c      the commands, and the loop
 *	pairs.c    queue pairs and their memory, made, connected and freed
 *	traffic.c  works on every queue pair, every byte checked
 *	crowd.c    many threads at once
 *	forked.c   what a forked child may and may not do
 *
 * Pairs stand in a table, and the same place of the other end's table is their peer. In a round a
 * pair sends one message, writes one with immediate data, reads the peer's book and adds one to the
 * peer's counter; it is over when its four works are done and the peer's two messages have come. A
 * pair starts round r + 1 after round r, so the peer is at most one round ahead: what it sends then
 * has places of its own, and a receive for each message of it was posted a round before. */
#ifndef WEFT_TESTS_SYSTEM_END_H
#define WEFT_TESTS_SYSTEM_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "nic/nic.h"

#define LINE_MAX_BYTES 65536u
#define PAIRS_MAX      4096u
#define ROUND_SENDS    4u
#define ROUND_RECEIVES 2u
#define ALL_RIGHTS     (MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC)

/* What the pairs do: rounds, or one kind of work over and over while the peer is passive. */
enum job { JOB_NONE, JOB_ROUNDS, JOB_WRITES, JOB_READS };

struct pair {
	struct nic_qp *qp; /* NULL: freed */
	uint32_t number, remote;
	uint64_t n_posted, n_done; /* sends */
	uint64_t n_recv_posted, n_received;
	uint64_t round;      /* the one that is under way */
	int16_t first;       /* status of the first work that failed; 0: none did */
	uint32_t n_rest[2];  /* works after that: flushed, and any others */
	uint64_t failed_at;  /* ns */
	uint64_t n_ok_later; /* works that were done after one had failed: there must be none */
};

/* The places of a pair's memory, in units of the message size. */
enum place {
	PLACE_BOOK,
	PLACE_READ,
	PLACE_OUT_SEND,
	PLACE_OUT_WRITE,
	PLACE_IN_SEND,                      /* of even rounds, and of odd ones */
	PLACE_IN_WRITE = PLACE_IN_SEND + 2, /* the same */
	PLACES = PLACE_IN_WRITE + 2,
};
#define COUNTER_BYTES 64u /* behind the places: the counter, and what an atomic brings back */

struct end {
	struct nic_info info;
	uint32_t gid;
	struct nic_user *user;
	struct nic_pd *pd;
	struct nic_cq *cq;
	struct nic_mr *mr;
	uint8_t *memory; /* mapped: of every pair */
	size_t memory_len;
	uint64_t peer_va;
	uint32_t peer_key;
	struct pair *pairs;
	uint32_t n_pairs, size, depth, timeout, retries;
	enum job job;
	uint64_t limit; /* rounds, or works */
	uint64_t n_bad; /* mismatches, each said on standard error */
	struct crowd *crowd;
	pid_t child;
};

uint64_t now_ns(void);
/* n bytes that only this seed gives; whether they are there. */
void fill(uint8_t *at, size_t n, uint64_t seed);
bool is_filled(const uint8_t *at, size_t n, uint64_t seed);
/* Counts and says something that must not be. */
__attribute__((format(printf, 2, 3))) void bad(struct end *e, const char *format, ...);
/* The answer to a command. */
__attribute__((format(printf, 1, 2))) void answer(const char *format, ...);

/* pairs.c: 0 or a negative errno. */
int end_open(struct end *e, const char *address);
/* Frees all there is. */
int end_close(struct end *e);
int pairs_open(struct end *e, uint32_t n);
/* What the peer's connect needs. */
void pairs_print(const struct end *e);
/* rest: the peer's numbers. with_receives: those of the first two rounds are posted. */
int pairs_connect(struct end *e, const char *address, const char *rest, bool with_receives);
int pairs_drop(struct end *e, uint32_t from, uint32_t to);
int pairs_close(struct end *e);
/* Connects two queue pairs of this process with each other. */
int connect_to(struct end *e, struct nic_qp *qp, uint32_t remote, const uint8_t gid[16]);

/* The place of a pair: in our memory, and where the peer has the same. */
static inline size_t place_offset(const struct end *e, uint32_t i, enum place p)
{
	return (size_t)i * (PLACES * (size_t)e->size + COUNTER_BYTES) + (size_t)p * e->size;
}

static inline uint8_t *place_at(const struct end *e, uint32_t i, enum place p)
{
	return e->memory + place_offset(e, i, p);
}

/* traffic.c: the receives of the first two rounds. */
int traffic_ready(struct end *e, uint32_t i);
int traffic_start(struct end *e, enum job job, uint64_t limit);
/* Rounds end with the one that the foremost pair is in: how many that makes. */
uint64_t traffic_stop(struct end *e);
/* Takes what is complete and posts what follows; how many completions there were. */
int traffic_step(struct end *e);
/* Whether every pair has come to its limit, or failed, and nothing of it is out. */
bool traffic_is_over(const struct end *e);
/* One more write on each of these pairs that stands: a peer that is gone is noticed by silence. */
int traffic_nudge(struct end *e, uint32_t from, uint32_t to);
/* A line of figures behind the word. */
void traffic_print(const struct end *e, const char *word);
/* Deregisters the memory under the traffic, checks for ms that it does not change, unmaps it. */
int traffic_deregister(struct end *e, uint32_t ms);
/* Whether the memory changes within ms. */
bool traffic_changes(struct end *e, uint32_t ms);

/* crowd.c: the memory of the crowd on pair 0; then its work; then the check of what came. */
int crowd_open(struct end *e, uint32_t n_threads, uint32_t works);
int crowd_go(struct end *e, uint64_t peer_va, uint32_t peer_key, uint32_t ms);
int crowd_check(struct end *e);
void crowd_close(struct end *e);
/* Threads that make queue pairs, post, and free everything with work in flight. */
int churn(struct end *e, uint32_t n_threads, uint32_t times);

/* forked.c: starts a child that does as kind says and ends with 0 if all was well. */
int forked_start(struct end *e, const char *kind);

#endif
