/* What the xdp driver and the program that it has the kernel run agree on: sizes of the maps, how
 * an address stands in one, and what the program is told of a carrier. steer.bpf.c and the files of
 * the driver include this. */
#ifndef WEFT_IO_STEER_H
#define WEFT_IO_STEER_H

#include <linux/types.h>

#define STEER_QUEUES    64   /* of an interface: places in the map of sockets */
#define STEER_ADDRESSES 4096 /* of ours */
#define STEER_KEY_BYTES 16   /* of an address, IPv4 as ::ffff:a.b.c.d */

/* As in struct carrier_use. */
struct steer_carrier {
	__u16 port;
	__u8 protocol, unused;
};

#endif
