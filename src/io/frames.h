/* Whole frames for the drivers that own every byte of them, raw and xdp: headers on, headers off,
 * who is where.
 *
 * One struct frames is one driver's knowledge: its ports (interfaces), its local addresses, its
 * peers with their addresses and segment lists, and the next hop of each route, which the kernel
 * knows: routes and neighbours come by netlink, and are asked for when a peer, an address or a list
 * is named. For the kernel to resolve a neighbour takes CAP_NET_ADMIN; without it only those are
 * reached that it knows from other traffic.
 * What leaves goes by its carrier, with a UDP checksum of 0 over IPv6 and IPv4 alike, source port
 * and flow label from its entropy value (MRC Table 9-1), the DSCP of its class, ECT(0) unless it
 * says not, and as many segments as its value's list has (MRC 9.3.5). What arrives may be under an
 * SRv6 encapsulation or without it (9.3.5.1), and trimmed. The functions named as those of driver.h
 * do what it says there.
 *
 * Drivers of frames call this, from one thread; it makes no packet leave by itself. */
#ifndef WEFT_IO_FRAMES_H
#define WEFT_IO_FRAMES_H

#include <net/if.h>

#include "io/driver.h"
#include "wire/net.h"

#define FRAMES_PIECES ENGINE_BODY /* most pieces of memory that a frame lies in */
#define FRAMES_FIRST  256u        /* least bytes of the first */
/* Bytes of a frame beside its payload and padding, and of all of it, by any carrier: at most. */
#define FRAMES_AROUND (ENCAP_BYTES_MAX + SEAL_HEAD_MAX + ENGINE_HEAD_MAX + SEAL_TAIL_MAX)
#define FRAMES_MOST   (FRAMES_AROUND + CARRIER_PAYLOAD_MAX + CARRIER_PAD_MAX)

/* Zero stands for the default in brackets. */
struct frames_cfg {
	uint32_t n_ports; /* 1 .. ENGINE_PORTS */
	char interfaces[ENGINE_PORTS][IF_NAMESIZE];
	const struct carrier *carrier;
	uint16_t port;                 /* UDP [the carrier's own] */
	uint32_t max_peers;            /* [65536] */
	uint8_t dscp[ENGINE_TCLASSES]; /* as they are: 0 is DSCP 0 */
	uint8_t hop_limit;             /* [64] */
	bool is_not_ect;               /* data is not sent as ECN-capable */
	bool is_shared;                /* addresses with other processes that share them, too */
	struct net_trims trims;        /* what says of a packet that a switch cut it */
};

struct frames;

/* Looks the interfaces up. 0 and *f, or a negative errno and a sentence: no such interface, not
 * Ethernet, no netlink. count is the driver's, and outlives f. */
int frames_new(struct frames **f, const struct frames_cfg *cfg, struct driver_counters *count,
	       char *error, size_t error_len);
void frames_free(struct frames *f);
/* What its packets go by, and the most bytes that a frame of one has. */
const struct carrier_use *frames_via(const struct frames *f);
static inline uint32_t frames_most(const struct carrier *c)
{
	return FRAMES_AROUND + c->payload_max + c->pad_max;
}
/* Has a guard asked of what is read. It is the driver's, and outlives f. */
void frames_set_guard(struct frames *f, const struct driver_guard *guard);

/* What a driver needs to know of a port. */
struct frames_port {
	uint32_t ifindex, mtu; /* ifindex 0: gone; another one when it is back. mtu: of IP */
	uint8_t mac[6];
	bool is_up; /* there, up, and with a carrier */
};
const struct frames_port *frames_port(const struct frames *f, uint32_t port);

/* As driver_bind and so on. The address is one of this machine. A socket of the kernel's holds its
 * UDP port meanwhile, or the kernel would answer each packet that the port is unreachable; nobody
 * reads it. -EADDRINUSE: another program has it. */
int frames_bind(struct frames *f, const struct sockaddr *local, uint32_t *handle, char *error,
		size_t error_len);
void frames_unbind(struct frames *f, uint32_t handle);
uint32_t frames_peer_get(struct frames *f, const struct sockaddr *remote);
void frames_peer_hold(struct frames *f, uint32_t handle);
void frames_peer_put(struct frames *f, uint32_t handle);
uint16_t frames_pmtu(struct frames *f, uint32_t local, uint32_t peer, char *error,
		     size_t error_len);
uint32_t frames_ports_up(const struct frames *f);
int frames_local_address(struct frames *f, uint32_t handle, uint32_t port,
			 const struct sockaddr *address);
int frames_peer_address(struct frames *f, uint32_t handle, uint32_t port,
			const struct sockaddr *address);
int frames_peer_segments(struct frames *f, uint32_t handle, uint32_t port, uint32_t ev,
			 const struct encap_segments *segments);

/* A descriptor that is readable when the kernel has news of links, routes or neighbours; and the
 * reading of them, which is to be done then and every few milliseconds, bounded. */
int frames_fd(const struct frames *f);
void frames_step(struct frames *f, nsec now);

/* Where a frame goes: pieces one behind the other, the first of at least FRAMES_FIRST bytes. */
struct frames_out {
	uint8_t *at[FRAMES_PIECES];
	uint32_t room[FRAMES_PIECES];
};

/* Writes the frame of a packet, payload copied while it is summed. Its bytes, or 0: counted in
 * tx_no_route, tx_down, tx_too_long or tx_failed, and gone. A route whose next hop is being asked
 * for has none yet: the transport sends again. */
uint32_t frames_write(struct frames *f, nsec now, const struct tx_pkt *p,
		      const struct frames_out *out);

/* Reads the frame that came by a port, in at most as many pieces as the carrier's payloads may lie
 * in, the others empty; the first has at least FRAMES_FIRST bytes or all. true: *p is a packet for
 * an address of ours, its seal right or trimmed off, as driver_receive lends it: spans lie in the
 * pieces. false: a drop was counted. Handles of peers that only packets have named last until
 * frames_settle. Counts rx and rx_delivered. */
bool frames_read(struct frames *f, nsec now, uint32_t port, const struct cspan piece[FRAMES_PIECES],
		 struct rx_pkt *p);
void frames_settle(struct frames *f);

#endif
