/* The udp driver: packets of an engine through kernel UDP sockets, over IPv4 and IPv6, without any
 * privilege.
 *
 * One struct udp_driver serves one engine of one process: a socket for each local address it was
 * given, and a table of peers. Numbers of both are the handles in rx_pkt and tx_pkt. Packets of one
 * burst that go the same way and are of one size leave in one call by the kernel's segmentation
 * offload; others share a sendmmsg. What arrives is split, its ICRC checked, and lent.
 *
 * Several processes of one user may serve the same address. Each claims a tag, one of UDP_TAGS, and
 * numbers its queue pairs udp_tag(u) << 16 and up: the kernel steers by that byte of the packet,
 * and what still reaches the wrong process is passed on to its owner over a local socket: a packet
 * whose ICRC is right, to a process of whom the kernel says that its effective user is the one that
 * udp_new found here. Nobody else is given packets, or taken any from. When a process comes to
 * where others are, and when packets stray, udp_receive finds out which socket is whose and tells
 * the kernel: the processes ask each other by probes, UDP packets to their own address with a
 * manufacturer's opcode, which no engine may use. Nobody else's probes are heard.
 *
 * What the kernel imposes, and so deviates from the letter of RoCEv2: the UDP checksum is set where
 * offload is used (the ICRC masks it; receivers ignore it); the packets of a burst share a source
 * port; over IPv4 the identification, which the ICRC covers, is the packet's place in its burst.
 * A receiver cannot see the identification and tries those places.
 *
 * One thread at a time calls this. A forked child may call udp_free, which does the parent no harm,
 * and nothing else. Counters balance, but for packets that wait to be passed on because their owner
 * is slow: received = delivered + passed on + drops. Probes heard are not among the received. */
#ifndef WEFT_IO_UDP_H
#define WEFT_IO_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "engine/engine.h"

#define UDP_TAGS      256u
#define UDP_BATCH     64u /* most packets of one udp_send or udp_receive */
#define UDP_NO_HANDLE UINT32_MAX

/* Zero stands for the default in brackets. */
struct udp_cfg {
	uint16_t port;                 /* [4791] */
	uint32_t scope;                /* the same for all who may share an address: an interface */
	uint32_t max_locals;           /* addresses [64] */
	uint32_t max_peers;            /* [65536] */
	uint32_t buffer_bytes;         /* asked of the kernel per socket, each way [4 MiB] */
	uint32_t sources;              /* source ports used, by entropy, 1 .. 64 [4] */
	uint8_t dscp[ENGINE_TCLASSES]; /* as they are: 0 is DSCP 0 */
	uint8_t hop_limit;             /* [64] */
	bool is_not_ect;               /* data is not sent as ECN-capable */
	bool is_offload_off;           /* for comparison: every packet by itself */
};

/* clang-format off */
#define UDP_DROPS(C) \
	C(drop_short,    "dropped: shorter than a header and its ICRC") \
	C(drop_icrc,     "dropped: the invariant CRC was wrong") \
	C(drop_peers,    "dropped: from an address that no queue pair has, and the table is full") \
	C(drop_stray,    "dropped: of another process, which is gone, too slow or another user's") \
	C(drop_probe,    "dropped: a probe, but not of a process that shares the address")
#define UDP_COUNTERS(C) \
	C(rx,            "packets received") \
	C(rx_delivered,  "packets given to the engine") \
	C(rx_passed_on,  "packets passed on to the process that owns the queue pair") \
	C(rx_calls,      "receive calls that brought something") \
	UDP_DROPS(C) \
	C(rx_probes,     "probes of processes that share an address") \
	C(steered,       "times the kernel was told which process is where") \
	C(tx,            "packets sent") \
	C(tx_calls,      "send calls") \
	C(tx_failed,     "packets the kernel refused")
/* clang-format on */

struct udp_counters {
#define UDP_COUNTER_MEMBER(name, text) uint64_t name;
	UDP_COUNTERS(UDP_COUNTER_MEMBER)
#undef UDP_COUNTER_MEMBER
};

struct udp_driver;

/* A driver without addresses, its tag claimed. 0 and *u, or a negative errno and a sentence in
 * error that says what to do next. */
int udp_new(struct udp_driver **u, const struct udp_cfg *cfg, char *error, size_t error_len);
void udp_free(struct udp_driver *u);

/* Opens a local address (sockaddr_in or sockaddr_in6; the port in it is ignored; a link-local one
 * needs its scope); *handle is what rx_pkt.local will say. Opened twice it is counted twice. 0 or
 * a negative errno and a sentence: in use by another user, not an address of this machine, not
 * permitted. */
int udp_bind(struct udp_driver *u, const struct sockaddr *local, uint32_t *handle, char *error,
	     size_t error_len);
void udp_unbind(struct udp_driver *u, uint32_t handle);

/* The handle of a peer's address, made if need be and kept until as many udp_peer_put;
 * UDP_NO_HANDLE when the table is full. Packets from addresses without a handle get one that lasts
 * for one udp_receive. */
uint32_t udp_peer_get(struct udp_driver *u, const struct sockaddr *remote);
void udp_peer_put(struct udp_driver *u, uint32_t handle);

/* The largest PMTU of RoCE (256 .. 4096) whose packets fit the way from local to peer; 0: none, or
 * no way, and a sentence. */
uint16_t udp_pmtu(struct udp_driver *u, uint32_t local, uint32_t peer, char *error,
		  size_t error_len);

/* Readable, in the sense of poll, when a packet may be waiting: for a loop that sleeps, which it
 * may do once udp_receive answered 0. Packets that it kept back before do not show here. */
int udp_fd(const struct udp_driver *u);

/* What arrived, at most n <= UDP_BATCH, each with a right ICRC, lent until the next call; never
 * blocks. 0: nothing is waiting. now is the only clock there is for what has to be tried later. */
uint32_t udp_receive(struct udp_driver *u, nsec now, struct rx_pkt *pkts, uint32_t n);

/* Sends pkts[0 .. n), n <= UDP_BATCH, in order per peer, completing each with padding-free payload
 * as given and its ICRC. Returns how many are done with: fewer than n only when the kernel's buffer
 * is full, and then the rest is to be tried again later. What the kernel refuses otherwise is
 * counted and gone, as on any wire. */
uint32_t udp_send(struct udp_driver *u, const struct tx_pkt *pkts, uint32_t n);

uint8_t udp_tag(const struct udp_driver *u);
const struct udp_counters *udp_counters(const struct udp_driver *u);

#endif
