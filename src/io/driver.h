/* What moves an engine's packets over the interfaces of this machine: kernel UDP, raw frames or
 * AF_XDP. Each is a driver behind the same functions; who uses one need not know which.
 *
 * One struct driver serves one engine of one process. Its ports are the engine's: port i of a
 * packet leaves by interface i. Local addresses and peers are named by handles, which stand in
 * rx_pkt and tx_pkt. What leaves is completed with all headers around the transport's and its seal;
 * what arrives passed the guard, had its seal checked, and is lent.
 *
 * One thread at a time calls this. A forked child may call driver_free, which does the parent no
 * harm, and nothing else. Counters balance: received = delivered + passed on + drops, but for
 * packets that wait to be passed on. */
#ifndef WEFT_IO_DRIVER_H
#define WEFT_IO_DRIVER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "encap/encap.h"
#include "engine/engine.h"

#define DRIVER_BATCH     64u /* most packets of one driver_send or driver_receive */
#define DRIVER_TAGS      256u
#define DRIVER_NO_HANDLE UINT32_MAX
#define DRIVER_EV_ALONE  0xffff0000u /* see driver_peer_segments */

/* clang-format off */
#define DRIVER_DROPS(C) \
	C(drop_short,    "dropped: shorter than a header and its ICRC") \
	C(drop_headers,  "dropped: headers around the transport's that are wrong, or not for us") \
	C(drop_stranger, "dropped unread: to no queue pair of ours, or not from its peer") \
	C(drop_icrc,     "dropped: the invariant CRC was wrong") \
	C(drop_peers,    "dropped: from an address that no queue pair has, and the table is full") \
	C(drop_stray,    "dropped: of another process, which is gone, too slow or another user's") \
	C(drop_probe,    "dropped: a probe, but not of a process that shares the address") \
	C(drop_disabled, "dropped: came by a port that a controller disabled")
#define DRIVER_COUNTERS(C) \
	C(rx,            "packets received") \
	C(rx_delivered,  "packets given to the engine") \
	C(rx_trimmed,    "of these, marked by a switch as cut") \
	C(rx_passed_on,  "packets passed on to the process that owns the queue pair") \
	C(rx_calls,      "receive calls that brought something") \
	C(rx_missed,     "packets that the kernel dropped because we were slow, where it tells") \
	DRIVER_DROPS(C) \
	C(rx_probes,     "probes of processes that share an address") \
	C(steered,       "times the kernel was told which process is where") \
	C(tx,            "packets sent") \
	C(tx_calls,      "send calls") \
	C(tx_failed,     "packets the kernel refused") \
	C(tx_no_route,   "packets not sent: no route, or the next hop does not answer") \
	C(tx_down,       "packets not sent: the port is down") \
	C(tx_too_long,   "packets not sent: longer than the port's MTU")
/* clang-format on */

struct driver_counters {
#define DRIVER_COUNTER_MEMBER(name, text) uint64_t name;
	DRIVER_COUNTERS(DRIVER_COUNTER_MEMBER)
#undef DRIVER_COUNTER_MEMBER
};

/* Who sends how much to which number of the carrier's, a queue pair's for one; peer is
 * DRIVER_NO_HANDLE if the address has no handle. len: the carried bytes, to the end of the seal. */
struct driver_call {
	uint32_t qp, peer, len;
};

/* Says whether a packet may be for somebody, by its base header and its sender alone. The driver
 * asks before it computes the seal, which costs as much as all the rest: who floods us without
 * knowing a queue pair and its peer is not worth that. The engine checks what is let through. */
struct driver_guard {
	bool (*expects)(const void *context, const struct driver_call *call); /* NULL: all */
	const void *context;
};

static inline bool driver_guard_expects(const struct driver_guard *g,
					const struct driver_call *call)
{
	return !g->expects || g->expects(g->context, call);
}

/* First member of every driver's own struct. The guard is whoever uses the driver's to set. */
struct driver {
	const struct driver_ops *ops;
	struct driver_counters count;
	struct driver_guard guard;
};

struct driver_ops {
	const char *name; /* "udp", "raw", "xdp" */
	void (*free)(struct driver *d);
	int (*bind)(struct driver *d, const struct sockaddr *local, uint32_t *handle, char *error,
		    size_t error_len);
	void (*unbind)(struct driver *d, uint32_t handle);
	uint32_t (*peer_get)(struct driver *d, const struct sockaddr *remote);
	void (*peer_hold)(struct driver *d, uint32_t handle);
	void (*peer_put)(struct driver *d, uint32_t handle);
	uint16_t (*pmtu)(struct driver *d, uint32_t local, uint32_t peer, char *error,
			 size_t error_len);
	int (*fd)(const struct driver *d);
	uint32_t (*receive)(struct driver *d, nsec now, struct rx_pkt *pkts, uint32_t n);
	uint32_t (*send)(struct driver *d, const struct tx_pkt *pkts, uint32_t n);
	void (*room)(struct driver *d, uint16_t room[ENGINE_PORTS]);
	uint32_t (*ports_up)(const struct driver *d);
	uint8_t (*tag)(const struct driver *d); /* NULL: nobody shares its addresses */
	/* What only drivers of frames have: NULL, else see below. */
	int (*local_address)(struct driver *d, uint32_t handle, uint32_t port,
			     const struct sockaddr *address);
	int (*peer_address)(struct driver *d, uint32_t handle, uint32_t port,
			    const struct sockaddr *address);
	int (*peer_segments)(struct driver *d, uint32_t handle, uint32_t port, uint32_t ev,
			     const struct encap_segments *segments);
};

/* NULL is nobody's. */
static inline void driver_free(struct driver *d)
{
	if (d)
		d->ops->free(d);
}

/* Opens a local address (sockaddr_in or sockaddr_in6; the port in it is ignored; a link-local one
 * needs its scope); *handle is what rx_pkt.local will say. Opened twice it is counted twice. 0 or
 * a negative errno and a sentence in error that says what to do next: in use by another program,
 * not an address of this machine, not permitted. */
static inline int driver_bind(struct driver *d, const struct sockaddr *local, uint32_t *handle,
			      char *error, size_t error_len)
{
	return d->ops->bind(d, local, handle, error, error_len);
}

static inline void driver_unbind(struct driver *d, uint32_t handle)
{
	d->ops->unbind(d, handle);
}

/* The handle of a peer's address, made if need be and kept until as many driver_peer_put;
 * DRIVER_NO_HANDLE when the table is full. Packets from addresses without a handle get one that
 * lasts for one driver_receive. */
static inline uint32_t driver_peer_get(struct driver *d, const struct sockaddr *remote)
{
	return d->ops->peer_get(d, remote);
}

/* Keeps a handle that packets of the last driver_receive name, as driver_peer_get would. */
static inline void driver_peer_hold(struct driver *d, uint32_t handle)
{
	d->ops->peer_hold(d, handle);
}

static inline void driver_peer_put(struct driver *d, uint32_t handle)
{
	d->ops->peer_put(d, handle);
}

/* The largest payload of its carrier's (carrier_payload) whose packets fit every route from local
 * to peer; 0: none, or no route, and a sentence. */
static inline uint16_t driver_pmtu(struct driver *d, uint32_t local, uint32_t peer, char *error,
				   size_t error_len)
{
	return d->ops->pmtu(d, local, peer, error, error_len);
}

/* Readable, in the sense of poll, when a packet may be waiting, or news of an interface: for a loop
 * that sleeps, which it may do once driver_receive answered 0. Packets that it kept back before do
 * not show here. */
static inline int driver_fd(const struct driver *d)
{
	return d->ops->fd(d);
}

/* What arrived, at most n <= DRIVER_BATCH, each with a right seal unless it was trimmed, lent until
 * the next call; never blocks. 0: nothing is waiting. now is the only clock there is for what has
 * to be tried later. */
static inline uint32_t driver_receive(struct driver *d, nsec now, struct rx_pkt *pkts, uint32_t n)
{
	return d->ops->receive(d, now, pkts, n);
}

/* Sends pkts[0 .. n), n <= DRIVER_BATCH, in order per peer and port, completing each with
 * padding-free payload as given and its seal. Returns how many are done with: fewer than n only
 * when there is no more room, and then the rest is to be tried again later. What is refused
 * otherwise is counted and gone, as on any wire. */
static inline uint32_t driver_send(struct driver *d, const struct tx_pkt *pkts, uint32_t n)
{
	return d->ops->send(d, pkts, n);
}

/* How many packets each port takes now, at most DRIVER_BATCH of each; 0 for one that is down or
 * not there. */
static inline void driver_room(struct driver *d, uint16_t room[ENGINE_PORTS])
{
	d->ops->room(d, room);
}

/* A bit for each port whose interface is there, up and has a carrier, as of the last call that
 * moved packets. */
static inline uint32_t driver_ports_up(const struct driver *d)
{
	return d->ops->ports_up(d);
}

/* Whether processes may share an address of it, so that numbers of queue pairs begin with a tag. */
static inline bool driver_is_shared(const struct driver *d)
{
	return d->ops->tag != NULL;
}

/* The top byte of the numbers of this process' queue pairs: where processes share an address, by
 * which packets find their owner; else 0. */
static inline uint8_t driver_tag(const struct driver *d)
{
	return d->ops->tag ? d->ops->tag(d) : 0;
}

/* Another address of ours, or of the peer, in the plane of a port: a host may have one in each.
 * Packets by that port name it, and packets that name it are this handle's. Until then a port uses
 * the handle's first address. 0, -EINVAL, -ENOSPC; -ENOTSUP: this driver cannot. */
static inline int driver_local_address(struct driver *d, uint32_t handle, uint32_t port,
				       const struct sockaddr *address)
{
	return d->ops->local_address ? d->ops->local_address(d, handle, port, address) : -ENOTSUP;
}

static inline int driver_peer_address(struct driver *d, uint32_t handle, uint32_t port,
				      const struct sockaddr *address)
{
	return d->ops->peer_address ? d->ops->peer_address(d, handle, port, address) : -ENOTSUP;
}

/* Packets to the peer with this entropy value by this port carry these segments (MRC 9.3.5), or
 * none again with segments->n 0. Once a port has one such list, packets with values that were not
 * named, answers for one, take the lists of that port by their value; but not those of values from
 * DRIVER_EV_ALONE on, which are for packets that name them and for no others. (Such a value begins
 * like a multicast address, which is no segment.) As above; IPv6 only. */
static inline int driver_peer_segments(struct driver *d, uint32_t handle, uint32_t port,
				       uint32_t ev, const struct encap_segments *segments)
{
	return d->ops->peer_segments ? d->ops->peer_segments(d, handle, port, ev, segments)
				     : -ENOTSUP;
}

#endif
