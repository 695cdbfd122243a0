/* The xdp driver: frames of an engine through AF_XDP sockets, past the kernel's network stack, all
 * headers our own.
 *
 * Each port is an interface. A program of ours (steer.bpf.c) runs in the kernel for each frame that
 * comes by it: it gives us packets by our carrier to one of our addresses, and leaves the rest to
 * the kernel, which goes on with its own traffic. There is a socket for each receive queue of the
 * interface, since the entropy of packets spreads them over all, and one memory for each port, in
 * chunks that frames are written to and read from in place. Frames above one chunk lie in two
 * or three, where the kernel has that (Linux 6.6). Program and sockets end with the process.
 *
 * One process has an interface; other processes there use the udp driver, or wait. An interface
 * that goes away is taken up again when one of its name is there. Needs CAP_NET_RAW, CAP_NET_ADMIN
 * and CAP_BPF. */
#ifndef WEFT_IO_XDP_H
#define WEFT_IO_XDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/driver.h"
#include "io/frames.h"

/* Zero stands for the default in brackets. */
struct xdp_cfg {
	struct frames_cfg frames; /* is_shared is not looked at */
	uint32_t queue;           /* by which packets leave; one that the interface has [0] */
	uint32_t rx_chunks;       /* of 4 KiB, of each port, a power of two, 256 or more [1024] */
	uint32_t tx_chunks;       /* the same, to send from [1024] */
	bool is_generic;          /* not the interface's own XDP, even where it has that */
	bool is_copied;           /* no zero copy, even where the interface offers it */
};

/* A driver without addresses. 0 and *d, or a negative errno and a sentence in error that says what
 * to do next: not permitted, another program on the interface or its queue, not in this kernel. */
int xdp_new(struct driver **d, const struct xdp_cfg *cfg, char *error, size_t error_len);

/* Can this interface carry packets that fill an MTU of so many bytes? 0: yes; 1: yes, but in a
 * lesser way, and why has a sentence; a negative errno: no, and why says what to do next. Changes
 * nothing on the interface; whether its own XDP refuses for another reason shows when it is used.
 */
int xdp_probe(const char *interface, uint32_t mtu, char *why, size_t len);

/* How a port of this driver is used now, in a few words: "native, copied, two chunks, 1 queue". */
void xdp_port_text(const struct driver *d, uint32_t port, char *text, size_t len);

#endif
