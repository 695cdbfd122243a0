/* The raw driver: whole frames of ours through packet sockets (packet(7)), over IPv4 and IPv6,
 * where the process may open such sockets (CAP_NET_RAW) and have neighbours found (CAP_NET_ADMIN).
 *
 * A socket for each port, with one ring of slots for frames that leave and one for frames that
 * arrive, both in memory that the kernel and the driver share: a frame is written straight into its
 * slot, a burst leaves by one call for each port, and an arrival is seen without any call. A slot
 * is lent with its packet and is the kernel's again at the next driver_receive. Frames pass the
 * interface's queueing discipline, and are seen by who captures there.
 *
 * A filter in the kernel takes what came to this host and UDP port, in a packet by itself or under
 * one SRv6 encapsulation (MRC 9.3.5), without a VLAN tag, and of these what is for our queue pairs:
 * each process with a raw driver and the same UDP port in this network namespace has a tag of its
 * own, the top byte of its queue pairs' numbers. Packets to numbers below 3 have no owner and are
 * given to each process: MRC's endpoint operations name queue pair 2 (M-28), and the state of a
 * peer's ports is news to all who talk to it. Each then answers a request; the peer takes the first
 * answer and drops the others as unasked.
 *
 * An interface that goes away is a port that is down, until one of that name is there again. What
 * the kernel merged into a frame larger than a slot (a sender on this machine that leaves
 * segmentation to the interface, as the udp driver does on a veth pair; `ethtool -K DEV
 * tx-udp-segmentation off` stops it there) is dropped and counted in drop_headers. What the filter
 * refuses is not in rx, nor what finds the ring full: that is in rx_missed, which is looked at
 * every few milliseconds. Where driver_room says 0, nothing but time tells when there is some
 * again.
 *
 * A forked child holds the same sockets, and so the tag, until it frees, executes another program
 * or ends. */
#ifndef WEFT_IO_RAW_H
#define WEFT_IO_RAW_H

#include "io/frames.h"

/* Zero stands for the default in brackets. */
struct raw_cfg {
	struct frames_cfg frames;
	uint32_t rx_slots; /* frames that may wait, of each port, 64 .. 65536 [1024] */
	uint32_t tx_slots; /* frames that may be on their way, of each port, as above [128] */
};

/* A driver without addresses, its tag claimed. 0 and *d, or a negative errno and a sentence in
 * error that says what to do next: no such interface, not permitted. */
int raw_new(struct driver **d, const struct raw_cfg *cfg, char *error, size_t error_len);

#endif
