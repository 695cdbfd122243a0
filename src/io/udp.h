/* The udp driver: packets of an engine through kernel UDP sockets, over IPv4 and IPv6, without any
 * privilege.
 *
 * A socket for each local address, and one port: the kernel's routes decide. Packets of one
 * burst that go to the same peer in the same class and are of one size leave in one call by the
 * kernel's segmentation offload; others share a sendmmsg. What arrives is split, its seal checked,
 * and lent. Whose packet it is, and what seals it, is by the rules of the carrier.
 *
 * Several processes of one user may serve the same address. Each claims a tag, one of as many as
 * the carrier's numbers have room for, and gives itself numbers that begin with it, as RoCE's queue
 * pairs from driver_tag(d) << 16 on: the kernel steers by it, and what still reaches the wrong
 * process is passed on to its owner over a local socket: a packet whose seal is right, to a process
 * of whom the kernel says that its effective user is the one that udp_new found here. Nobody else
 * is given packets, or taken any from. When a process comes to where others are, and when packets
 * stray, driver_receive finds out which socket is whose and tells the kernel: the processes ask
 * each other by probes, UDP packets to their own address with a first byte that the carrier has to
 * spare. Nobody else's probes are received.
 *
 * MRC's endpoint operations name a queue pair that all have in common. Their answers find the
 * process whose tag is the upper byte of the id that it gave the question; a question goes to one
 * of those whose engines answer (has_endpoints).
 *
 * With has_ports_of_ev a packet leaves by the source port that its entropy value has in the upper
 * half (MRC Table 9-1), so that the receiver sees the value that was meant, and may tell of it.
 * That holds for the first `sources` ports named at an address, and where nobody else has the port;
 * otherwise another takes its place, and what the receiver sees is not what was meant.
 *
 * What the kernel imposes, and so deviates from the letter of RoCEv2: the UDP checksum is set where
 * offload is used (the ICRC masks it; receivers ignore it); the packets of a burst share a source
 * port; over IPv4 the identification, which the ICRC covers, is the packet's place in its burst.
 * A receiver cannot see the identification and tries those places. Carriers with a seal that covers
 * more of what the kernel writes are refused (udp_pseudo.h). Probes received are not among the
 * packets received. */
#ifndef WEFT_IO_UDP_H
#define WEFT_IO_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/driver.h"
#include "wire/carrier.h"

/* Zero stands for the default in brackets. */
struct udp_cfg {
	const struct carrier *carrier; /* over UDP, its seal in clear no cipher */
	uint16_t port;                 /* [the carrier's own] */
	uint32_t scope;                /* the same for all who may share an address: an interface */
	uint32_t max_locals;           /* addresses [64] */
	uint32_t max_peers;            /* [65536] */
	uint32_t buffer_bytes;         /* asked of the kernel per socket, each way [4 MiB] */
	uint32_t sources;              /* source ports used, by entropy, 1 .. 64 [4] */
	bool has_endpoints;            /* the engine answers the questions of MRC 7.3 */
	bool has_ports_of_ev;          /* the upper half of an entropy value is the port wanted */
	uint8_t dscp[ENGINE_TCLASSES]; /* as they are: 0 is DSCP 0 */
	uint8_t hop_limit;             /* [64] */
	bool is_not_ect;               /* data is not sent as ECN-capable */
	bool is_offload_off;           /* for comparison: every packet by itself */
	bool is_tag_in_order;          /* for tests: the lowest tag that is free, not any */
};

/* Descriptors of the process that no source port but the first of an address gets: the rest of the
 * program has them, for its next queue pair for one. Packets then leave by fewer ports. */
#define UDP_SPARE_FDS 16u

/* A driver without addresses, its tag claimed. 0 and *d, or a negative errno and a sentence in
 * error that says what to do next. */
int udp_new(struct driver **d, const struct udp_cfg *cfg, char *error, size_t error_len);

#endif
