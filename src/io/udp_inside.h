/* What the files of the udp driver share: its state, and the small functions between them.
 *
 * udp.c opens and closes, udp_peers.c names addresses, udp_send.c and udp_receive.c move packets,
 * udp_share.c lives with other processes, udp_survey.c has the kernel steer between them,
 * udp_path.c asks for the route. Nobody else includes this. */
#ifndef WEFT_IO_UDP_INSIDE_H
#define WEFT_IO_UDP_INSIDE_H

/* sendmmsg, recvmmsg and struct ucred are Linux's own. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "io/say.h"
#include "io/udp.h"
#include "io/udp_pseudo.h"
#include "wire/carrier.h"

/* Linux has these since 3.16, 4.18 and 5.0; headers of a C library may be older. */
#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef IPV6_FLOWINFO
#define IPV6_FLOWINFO 11
#endif
#ifndef IPV6_FLOWINFO_SEND
#define IPV6_FLOWINFO_SEND 33
#endif

enum {
	UDP_SOURCES_MAX = 64,
	UDP_PAYLOAD_MAX = UDP_BURST_MAX, /* of IPv4; a little less than IPv6 allows */
	UDP_IOV_MAX = 1024,              /* UIO_MAXIOV of the kernel */
	STAGE_PIECE = 16,

	RX_SLOTS = 64,
	RX_SLOTS_BULK = 4,     /* so that what was received is still in the cache when read */
	RX_SLOT_BYTES = 65536, /* more than the largest datagram */
	RX_SLOT_STRIDE = 65536 + 832, /* slots begin in different sets of the cache */
	RX_CONTROL_BYTES = 128,
	RX_READY = 16,

	STRAY_BYTES = 32768, /* of one message between processes */
	SHARE_WAITING = 8,   /* messages that may wait for slow owners, 256 KiB in all */
	SHARE_LINKS = 2 * SHARE_WAITING, /* connections to owners */
	DELTA_LENGTHS = 16, /* packet lengths whose differences are remembered, see udp_receive.c */
};

union udp_name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct udp_peer {
	struct udp_addr addr;
	uint32_t refs;
	uint32_t next;   /* in its bucket, or of the free entries */
	bool is_passing; /* in the list of those made by a packet */
	bool is_used;
	union udp_name name; /* to send to */
};

/* A socket that sends. */
struct udp_source {
	int fd; /* -1: not yet opened */
	uint16_t port;
	uint16_t wanted; /* the port that was asked for, see udp_cfg.has_ports_of_ev */
	bool has_offload;
	bool has_label; /* IPv6: it takes a flow label with each packet */
};

struct udp_local {
	struct udp_addr addr;
	uint32_t refs;                 /* 0: free */
	int fd;                        /* receives */
	uint32_t missed;               /* that the kernel said it dropped of what came there */
	uint8_t answerer;              /* tag of one whose engine answers questions, or ours */
	uint8_t place_of[DRIVER_TAGS]; /* as the last survey found it; a tag unknown: the tag */
	nsec survey_at;                /* no survey begins before */
	nsec heed_at;                  /* a survey of another does not put off one of ours before */
	nsec gap_ns;                   /* between the last survey and survey_at */
	bool is_wanting;               /* a survey */
	struct udp_source sources[UDP_SOURCES_MAX];
};

/* Packets that arrived in one piece: from one sender, of one size but for the last. */
struct udp_run {
	const uint8_t *at;
	uint32_t left, segment; /* bytes */
	struct udp_addr from;
	uint32_t local, peer; /* peer: DRIVER_NO_HANDLE before it was looked up */
	uint32_t qp;          /* that the guard let it in to last, or UDP_NO_QP */
	uint16_t sport, label;
	uint8_t tos, ttl;
	uint8_t id; /* expected identification of the next packet (IPv4) */
	bool is_stray;
};

struct udp_rx {
	uint8_t *slots;
	struct mmsghdr msgs[RX_SLOTS];
	struct iovec iov[RX_SLOTS];
	union udp_name names[RX_SLOTS];
	_Alignas(struct cmsghdr) uint8_t control[RX_SLOTS][RX_CONTROL_BYTES];
	struct udp_run runs[RX_SLOTS];
	uint32_t n_runs, at_run;
	uint32_t want;   /* slots of the next call */
	uint32_t n_ones; /* calls for one that brought it, see slots_to_want */
	uint32_t ready[RX_READY];
	uint32_t n_ready, at_ready;
	uint32_t hot;      /* a socket that has more, or DRIVER_NO_HANDLE */
	uint32_t hot_left; /* calls before others are looked at again */
	uint32_t recent;   /* the one that had something last, or DRIVER_NO_HANDLE */
	uint32_t n_direct; /* calls to it in vain since */
	nsec called_at;
	struct udp_pseudo pseudo;
	struct udp_deltas deltas[DELTA_LENGTHS];
};

/* What goes to one owner, of one local address. */
struct udp_message {
	uint32_t local, len;
	uint32_t n; /* packets in it; answers do not count */
	uint8_t tag;
	uint8_t bytes[STRAY_BYTES];
};

/* A connection to the owner of a tag, to send messages. */
struct udp_link {
	int fd;
	uint8_t tag;
	bool is_full; /* and in the epoll set: until its owner read some */
};

/* Messages between processes of one user. */
struct udp_share {
	int fd;        /* an epoll set with all the others in it */
	int claim_fd;  /* where others connect; its name is the claim on our tag */
	uid_t uid;     /* effective, when the tag was claimed */
	bool is_alone; /* the kernel could name another user as us: nobody is trusted */
	struct udp_message pool[SHARE_WAITING];
	struct udp_message *out[SHARE_WAITING]; /* the first n_out wait, oldest first */
	uint32_t n_out;
	struct udp_link to[SHARE_LINKS];
	uint32_t n_to;
	uint64_t ends[DRIVER_TAGS]; /* of names that are not plain (claim.h), as of the last look */
	nsec look_next;             /* the names are not asked for before */
	int from[DRIVER_TAGS];      /* connections of others, -1: none */
	nsec look_at[DRIVER_TAGS];  /* whether a tag has an owner is known until then */
	bool is_absent[DRIVER_TAGS];
	uint8_t in[STRAY_BYTES];
	uint32_t in_at, in_len;
};

/* Who is at which place of a local address: one address at a time. */
struct udp_survey {
	uint32_t local; /* DRIVER_NO_HANDLE: none is under way */
	uint32_t asked; /* places */
	nsec asked_at;
	nsec next_at; /* none begins before; NSEC_NEVER: none is wanted */
	uint64_t nonce;
	uint16_t tag_at[DRIVER_TAGS];
	bool has_endpoints[DRIVER_TAGS]; /* by place, too */
	bool has_news;
};

/* One message to the kernel: packets that go to the same peer in the same class and are of one size
 * but for the last. */
struct udp_group {
	uint32_t first_iov, n_iov;
	uint32_t n, segment, bytes;
	uint32_t peer, label;
	uint8_t tos, tag; /* tag: a burst is steered by its first packet */
	bool is_closed;   /* its last packet is shorter: none may follow */
};

struct udp_tx {
	struct mmsghdr msgs[DRIVER_BATCH];
	struct udp_group groups[DRIVER_BATCH];
	union udp_name names[DRIVER_BATCH];
	_Alignas(struct cmsghdr) uint8_t control[DRIVER_BATCH][64];
	struct iovec iov[DRIVER_BATCH * (ENGINE_PIECES + 2)];
	/* A payload of at most stage_whole bytes, which is every one of the carrier's, and any
	 * piece of at most STAGE_PIECE, is copied beside its header while it is summed. Its owner
	 * may write to it meanwhile, and the kernel copies later than we sum: a second look would
	 * not match the seal. It is faster too: the kernel then reads one run of bytes from the
	 * cache. */
	uint32_t stage_whole;
	uint8_t *stage, *stage_at;
	uint32_t n_groups, n_iov;
	uint32_t local;
	struct udp_source *source;
	struct udp_pseudo pseudo;
	uint8_t *zeros; /* UDP_PAYLOAD_MAX of them, for virtual bytes */
};

struct udp_driver {
	struct driver driver;
	struct udp_cfg cfg;
	const struct carrier *carrier;
	const struct seal *seal; /* of what leaves, in clear */
	uint32_t shortest;       /* carried bytes of any packet */
	uint8_t tag;
	uint32_t n_short; /* descriptors are: no more sources for so many packets that want one */
	pid_t owner;      /* the process that made it */
	int epoll_fd;

	struct udp_local *locals;
	struct udp_peer *peers;
	uint32_t *buckets;
	uint32_t bucket_mask, free_peer, fresh_peer;
	uint32_t passing[DRIVER_BATCH]; /* peers known only by a packet of the last receive */
	uint32_t n_passing, last_peer;

	struct udp_rx rx;
	struct udp_tx tx;
	struct udp_share share;
	struct udp_survey survey;
};

/* More than any number of a queue pair. */
#define UDP_NO_QP UINT32_MAX

/* Number of what udp_share.c waits for in the epoll set; locals have theirs. */
#define UDP_STRAY UINT32_MAX

static inline bool udp_addr_equal(const struct udp_addr *a, const struct udp_addr *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

static inline struct udp_driver *udp_of(struct driver *d)
{
	return (struct udp_driver *)d;
}

/* The functions of driver.h that are not in udp.c: udp_peers.c, udp_path.c, udp_receive.c,
 * udp_send.c. */
uint32_t udp_peer_get(struct driver *d, const struct sockaddr *remote);
void udp_peer_hold(struct driver *d, uint32_t handle);
void udp_peer_put(struct driver *d, uint32_t handle);
uint16_t udp_pmtu(struct driver *d, uint32_t local, uint32_t peer, char *error, size_t error_len);
uint32_t udp_receive(struct driver *d, nsec now, struct rx_pkt *pkts, uint32_t n);
uint32_t udp_send(struct driver *d, const struct tx_pkt *pkts, uint32_t n);

/* udp.c: false for a family that is neither IPv4 nor IPv6, or an address that is one inside the
 * other. */
bool udp_addr_of(const struct sockaddr *name, struct udp_addr *addr);
/* The length of the name. */
socklen_t udp_name_of(const struct udp_addr *addr, uint16_t port, union udp_name *name);
#define UDP_ADDR_TEXT 64u
/* Returns text, which has UDP_ADDR_TEXT bytes. */
const char *udp_addr_text(const struct udp_addr *addr, char *text);
/* The handle of an open local address, or DRIVER_NO_HANDLE. */
uint32_t udp_local_find(const struct udp_driver *u, const struct udp_addr *addr);
/* Asks for so large a buffer by option, or by force where that is permitted. */
void udp_buffer(int fd, int force, int option, uint32_t bytes);
/* A socket of family with what all sockets here have in common; -1 and errno. */
int udp_socket(const struct udp_driver *u, uint32_t family);
/* The sending socket that entropy ev chooses at this address, opened if need be; NULL: none can be
 * opened. */
struct udp_source *udp_source_of(struct udp_driver *u, uint32_t local, uint32_t ev);

/* udp_peers.c */
int udp_peers_init(struct udp_driver *u);
void udp_peers_fini(struct udp_driver *u);
/* The handle of an address that has one, or DRIVER_NO_HANDLE. */
uint32_t udp_peers_known(const struct udp_driver *u, const struct udp_addr *addr);
/* A packet came from addr: its handle, made for this udp_receive if need be, or DRIVER_NO_HANDLE.
 */
uint32_t udp_peers_seen(struct udp_driver *u, const struct udp_addr *addr);
/* Ends the handles that only a packet of the last udp_receive had. */
void udp_peers_settle(struct udp_driver *u);

/* udp_send.c and udp_receive.c: 0 or -ENOMEM. */
int udp_tx_init(struct udp_driver *u);
void udp_tx_fini(struct udp_driver *u);
int udp_rx_init(struct udp_driver *u);
void udp_rx_fini(struct udp_driver *u);
/* Forgets what waits for a local address that is being closed. */
void udp_rx_forget(struct udp_driver *u, uint32_t local);

/* udp_share.c */
/* Claims a free tag; 0 or a negative errno and a sentence. */
int udp_share_open(struct udp_driver *u, char *error, size_t error_len);
void udp_share_close(struct udp_driver *u);
/* Whether a tag has an owner of this user: as it was a moment ago. */
bool udp_share_has_owner(struct udp_driver *u, uint8_t tag, nsec now);
/* One packet of another process, its seal right: kept, then sent with others by udp_share_flush. */
void udp_share_pass(struct udp_driver *u, const struct udp_run *run, uint32_t len, uint8_t owner);
/* A probe that reached us, to its prober: goes the same way. */
void udp_share_answer(struct udp_driver *u, const struct udp_run *run, uint32_t len,
		      uint8_t prober);
void udp_share_flush(struct udp_driver *u);
/* Messages are to come or to go: the sockets here are not to be forgotten over others. */
static inline bool udp_share_is_awaited(const struct udp_driver *u)
{
	return u->share.n_out > 0 || u->survey.local != DRIVER_NO_HANDLE;
}
/* The next packet that others of this user passed on to us, and that they found right; false: there
 * is none. */
bool udp_share_next(struct udp_driver *u, struct udp_run *run);
/* Does the next thing that UDP_STRAY stands for: reads a message of other processes, for one. */
void udp_share_read(struct udp_driver *u);

/* udp_survey.c */
void udp_survey_init(struct udp_driver *u);
/* Nothing is known of an address that is being opened. */
void udp_survey_open(const struct udp_driver *u, struct udp_local *l);
/* Ends a survey of a local address that is being closed. */
void udp_survey_forget(struct udp_driver *u, uint32_t local);
/* Makes the kernel choose among all sockets of fd's address by tag, as is known in l. 0 or a
 * negative errno. */
int udp_survey_attach(const struct udp_driver *u, int fd, const struct udp_local *l);
/* This process came to where others are: packets will reach the wrong one. */
void udp_survey_join(struct udp_driver *u, uint32_t local);
/* Packets of this address reach the wrong process. */
void udp_survey_want(struct udp_driver *u, uint32_t local);
/* Does what is due: a few packets at most. */
void udp_survey_step(struct udp_driver *u, nsec now);
bool udp_survey_is_probe(const struct udp_driver *u, const struct udp_run *run);
/* Answers a probe; false: it is not one of a process that shares the address. */
bool udp_survey_on_probe(struct udp_driver *u, const struct udp_run *run, uint32_t len, nsec now);
/* The process that is so got the probe in run, if that is one of ours. */
struct udp_sharer {
	uint8_t tag;
	bool has_endpoints; /* as in udp_cfg */
};
void udp_survey_on_answer(struct udp_driver *u, const struct udp_run *run, uint32_t len,
			  struct udp_sharer who);

#endif
