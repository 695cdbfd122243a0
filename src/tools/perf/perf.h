/* `weft perf`: a server that waits and a client that measures, over the soft device, with a plain
 * TCP connection between them for set-up. What is common to its files.
 *
 *	perf.c      the command line; the server's and the client's day
 *	link.c      the control connection: short lines of text
 *	device.c    which device, and its addresses
 *	end.c       one side's device, memory and queue pairs for one test
 *	load.c      the loops that are timed
 *	interval.c  what happens while they run
 *	verify.c    what messages carry, and whether it arrived
 *	udp.c       the same over a bare UDP socket, for comparison
 *	compare.c   iperf3 and bare UDP in the same minute
 *	report.c    table and JSON */
#ifndef WEFT_TOOLS_PERF_PERF_H
#define WEFT_TOOLS_PERF_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#include "nic/mrc/nic_mrc.h"
#include "nic/nic.h"

#define PERF_PORT        18515u
#define PERF_QPS_MAX     1024u
#define PERF_DEPTH_MAX   4096u
#define PERF_LINE_MAX    512u
#define PERF_SIZE_MAX    (1u << 30)
#define PERF_REASONS_MAX 16u
#define PERF_BYTES_MAX   (UINT64_C(1) << 32) /* of all queue pairs' memory, at one side */

enum perf_op { PERF_WRITE, PERF_READ, PERF_SEND, PERF_ATOMIC, PERF_WRITE_IMM, PERF_OPS };
enum perf_mode { PERF_BANDWIDTH, PERF_LATENCY, PERF_MODES };

extern const char *const perf_op_names[PERF_OPS + 1]; /* NULL behind the last */

/* One measurement, the same at both ends. */
struct perf_test {
	uint8_t op, mode;
	uint8_t transport;    /* its place in transports */
	uint8_t is_verified;  /* messages carry what the other side can tell from anything else */
	uint16_t pmtu;        /* 0: the largest that fits the way */
	uint32_t size;        /* bytes of a message; atomics: 8 */
	uint32_t qps, depth;  /* works out at once, at most, of each queue pair */
	uint64_t count;       /* messages; 0: as many as fit the time */
	uint32_t duration_ms; /* if count is 0 */
};

/* The percentiles that are reported: what they are called, and which they are to tools/stats.h. */
#define PERF_PERCENTILES 5u
extern const struct perf_percentile {
	const char *name;
	uint32_t which;
} perf_percentiles[PERF_PERCENTILES];

#define PERF_DIGEST_TEXT 65u /* SHA-256 in hexadecimal */

struct perf_result {
	struct perf_test test;
	uint64_t messages, elapsed_ns;
	uint64_t retransmitted; /* packets, by the client */
	const char *driver;     /* of the client */
	/* Why packets were retransmitted, or not after all: the transport's retx_reasons. */
	uint64_t reasons[PERF_REASONS_MAX];
	/* TRANSPORT_PROFILES: EVs of all queue pairs, and how many are in use at the end. */
	uint64_t evs, evs_used;
	bool has_profile;
	uint64_t profile;              /* the EV profile that was named, if has_profile */
	char digest[PERF_DIGEST_TEXT]; /* of all that lies at the server; "": not verified */
	/* Of latencies, in ns; half a round trip where both sides send. */
	uint64_t least_ns, most_ns, mean_ns, percentile_ns[PERF_PERCENTILES];
};

/* What a person would compare it with; 0: not measured. */
struct perf_baseline {
	uint64_t tcp_bps, udp_bps, udp_ping_ns;
};

/* Which device of those with the link's address. */
struct perf_choice {
	uint8_t transport;  /* its place in transports; TRANSPORTS: what the other side wants */
	const char *device; /* NULL: the first */
	bool has_profile;
	uint64_t profile; /* the EV profile of this side's queue pairs, if has_profile */
};

/* Where a server takes its clients from: one at a time, the others wait for their turn. */
#define PERF_WAITING_MAX 16u
struct perf_door {
	int listener;
	bool is_once; /* whoever comes second is refused */
	int waiting[PERF_WAITING_MAX];
	uint32_t n_waiting;
};

/* The control connection. Every function returns 0 or a negative errno after saying on standard
 * error what went wrong. */
struct perf_link {
	const char *name; /* "weft perf", for messages */
	FILE *in, *out;
	int fd;                                /* of in */
	struct sockaddr_storage local, remote; /* its ends: the devices have these addresses */
	struct perf_choice choice;
	struct perf_door *door; /* of a server; NULL: a client */
	uint32_t interval_ms;   /* between two reports of a test that runs; 0: none */
	bool json;
};

/* The port of an address, and another for it. */
uint16_t perf_port(const struct sockaddr_storage *a);
void perf_set_port(struct sockaddr_storage *a, uint16_t port);
/* The address without its port, INET6_ADDRSTRLEN bytes at most. */
void perf_address_text(const struct sockaddr_storage *a, char *text);

int perf_link_open(struct perf_link *l, const char *host, uint16_t port);
int perf_link_take(struct perf_link *l); /* waits for a client at the link's door */
int perf_listen(const char *name, const char *address, uint16_t port); /* a socket or -errno */
void perf_link_close(struct perf_link *l);
__attribute__((format(printf, 2, 3))) int perf_send_line(struct perf_link *l, const char *format,
							 ...);
/* Reads a line into text, without its end. -ECONNRESET: the other side is gone. A line that starts
 * with "error" is said on standard error and gives -EPROTO. */
int perf_read_line(struct perf_link *l, char text[PERF_LINE_MAX]);
/* The same, but the end of the connection is no failure, and -ENOTCONN. */
int perf_read_line_or_end(struct perf_link *l, char text[PERF_LINE_MAX]);
/* That, of the first line of a client: who says nothing keeps the next from being served. */
int perf_read_first_line(struct perf_link *l, char text[PERF_LINE_MAX]);
/* perf_read_line, of the first line of a server: as long as it is busy, which is said. */
int perf_read_greeting(struct perf_link *l, char text[PERF_LINE_MAX]);
/* Whether a line is the word and after it n numbers, each with one space before it; they are read
 * into values. */
bool perf_numbers(const char *line, const char *word, uint64_t *values, uint32_t n);
/* Whether a line is waiting, or the other side is gone. Does not block. A server tells clients that
 * came meanwhile that they have to wait. */
bool perf_is_called(struct perf_link *l);
/* Blocks until that is so. */
void perf_await_call(struct perf_link *l);

/* One side's part in one test. */
struct perf_end {
	struct nic_user *user;
	struct nic_pd *pd;
	struct nic_cq *cq;
	struct nic_mr *mr;
	struct nic_qp **qps;
	/* For each queue pair and each of its slots size bytes to send and size bytes to receive;
	 * behind that, for each queue pair, a word where the server counts receives. */
	uint8_t *memory;
	size_t memory_len;
	struct nic_info info;
	uint32_t gid_index;
	uint64_t peer_va;
	uint32_t peer_key;
	struct perf_test test;
};

/* Receives that a queue pair of the test has: with two for each message out, the sender need not
 * wait for the receiver to post them again. */
static inline uint32_t perf_receives(const struct perf_test *t)
{
	bool takes_them = t->op == PERF_SEND || t->op == PERF_WRITE_IMM;

	return !takes_them ? 1 : t->depth < 128 ? 256 : 2 * t->depth;
}

/* Messages of a queue pair go to its slots in turn; verified ones must not be overwritten by the
 * next, nor changed, before they have arrived. */
static inline uint32_t perf_slots(const struct perf_test *t)
{
	return t->is_verified ? t->depth : 1;
}

/* Messages out at once, so that there are some but not more bytes than leave soon. */
uint32_t perf_depth(const struct perf_test *t);

/* NULL, or what is too large in a test. */
const char *perf_too_large(const struct perf_test *t);

/* device.c: the device for a test of this transport, and where in its table the link's address
 * is. */
int perf_find_device(const struct perf_link *l, uint8_t transport, struct nic_info *info,
		     uint32_t *gid_index);
/* Both sides tell each other their addresses in the planes of single ports. */
int perf_meet_planes(struct perf_end *e, struct perf_link *l, struct nic_path *path);
void perf_gid_of(const struct sockaddr_storage *a, uint8_t gid[16]);

/* The largest PMTU that fits the interface of the link; 0: there is no device, and it was said. */
uint16_t perf_best_pmtu(struct perf_link *l, uint8_t transport);

int perf_complain(const struct perf_link *l, const char *what, int why); /* returns why */

/* Makes the device of the link's local address ready and connects every queue pair with its
 * namesake at the other end. */
int perf_end_open(struct perf_end *e, struct perf_link *l, const struct perf_test *test);
void perf_end_close(struct perf_end *e);

/* The place of a queue pair's message n, in the memory of either side. */
static inline size_t perf_out_offset(const struct perf_test *t, uint32_t qp, uint64_t n)
{
	uint64_t slot = t->is_verified ? n % t->depth : 0;

	return ((size_t)qp * perf_slots(t) + slot) * 2 * t->size;
}

static inline uint8_t *perf_out_at(const struct perf_end *e, uint32_t qp, uint64_t n)
{
	return e->memory + perf_out_offset(&e->test, qp, n);
}

static inline uint8_t *perf_in_at(const struct perf_end *e, uint32_t qp, uint64_t n)
{
	return perf_out_at(e, qp, n) + e->test.size;
}

/* Where the server writes how many receives it has posted for a queue pair (MRC has no answer for a
 * sender that is too early). */
static inline size_t perf_credit_offset(const struct perf_test *t, uint32_t qp)
{
	size_t messages = (size_t)t->qps * perf_slots(t) * 2 * t->size;

	return (messages + 7) / 8 * 8 + (size_t)qp * 8;
}

/* verify.c: message n of a queue pair into its place. */
void perf_fill(const struct perf_end *e, uint32_t qp, uint64_t n);
/* What was sent, or what lies where messages arrive, of all queue pairs. */
int perf_digest(const struct perf_end *e, bool is_in, char digest[PERF_DIGEST_TEXT]);

/* Reports of a test that runs. */
struct perf_interval {
	uint64_t start_ns, from_ns; /* of the test, and of the interval */
	uint64_t next_ns;           /* when it ends; UINT64_MAX: nobody wants to know */
	uint64_t n, messages, retx;
};

struct perf_interval_figures {
	uint64_t to_ns, messages, retx, bits_per_second, messages_per_second, mean_ns;
	bool is_latency;
};

/* What a test has done; legs: there, or there and back, by which the time of a message is divided.
 * A server knows messages by the bytes that arrived. */
struct perf_so_far {
	uint64_t now, messages, legs;
};

void perf_interval_begin(struct perf_interval *i, const struct perf_end *e,
			 const struct perf_link *l, uint64_t now);
/* Reports an interval, and begins the next. */
void perf_interval_end(struct perf_interval *i, const struct perf_end *e, const struct perf_link *l,
		       struct perf_so_far so_far);

/* The client's side of a test, timed. */
int perf_drive(struct perf_end *e, struct perf_link *l, struct perf_result *result);
/* The server's: until the client calls. */
int perf_serve(struct perf_end *e, struct perf_link *l);

/* The comparison, asked of the server one by one; those that cannot be had stay 0. */
int perf_compare(struct perf_link *l, const struct perf_test *test, struct perf_baseline *b);
/* The server's side of what perf_compare asks; -ENOTSUP: line is no such request. */
int perf_compare_serve(struct perf_link *l, const char *line);

/* Bare UDP: a sender that fills the way with segments of `size`, or one that plays ping-pong. */
int perf_udp_open(const struct sockaddr_storage *local, uint16_t *port); /* a socket or -errno */
int perf_udp_blast(int fd, const struct sockaddr_storage *to, uint32_t size, uint32_t ms);
uint64_t perf_udp_sink(int fd, struct perf_link *l, uint64_t *elapsed_ns);
uint64_t perf_udp_ping(int fd, const struct sockaddr_storage *to, uint32_t size, uint32_t ms);
void perf_udp_echo(int fd, struct perf_link *l);

/* The table starts with a head and has a line per result; JSON is one object per line. */
void perf_print_head(FILE *out, uint8_t mode);
void perf_print(FILE *out, const struct perf_result *r);
void perf_print_baseline(FILE *out, const struct perf_result *r, const struct perf_baseline *b);
void perf_json(FILE *out, const struct perf_result *r, const struct perf_baseline *b);

#endif
