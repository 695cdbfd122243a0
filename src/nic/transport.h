/* What the soft device does for a transport beyond what its row says (transport/transport.h), a
 * table for each: the rest of nic serves them all.
 *
 * What is done for the packets of one engine takes the shard, and what is done for a queue pair
 * takes that, which knows its shard: ev_state and take_answers have the lock of that shard, all
 * others the locks of all the device's (inside.h). */
#ifndef WEFT_NIC_TRANSPORT_H
#define WEFT_NIC_TRANSPORT_H

#include "transport/transport.h"

struct addr_pair;
struct device;
struct nic_path;
struct nic_qp;
struct shard;

/* What a path shall carry. */
struct path_use {
	uint16_t pmtu;
	uint32_t remote_qp;
};

struct nic_transport_ops {
	const struct transport *transport;
	/* Queue pairs may be in domains of other users of the device: programs of libmrc have
	 * theirs from verbs. */
	bool shares_domains;

	/* Makes what such a device needs beside what all have, its drivers being there. 0, or a
	 * negative errno and a sentence by nic_fail. NULL: nothing. */
	int (*make)(struct device *d);
	/* Adds to what the engine of every shard is told of its host what the transport alone asks
	 * of one. */
	void (*configure)(const struct shard *s, struct transport_host *host);
	/* Ends what make made; of a device made in part as well. NULL: nothing. */
	void (*end)(struct device *d);

	/* Opens the addresses of a path, and says how the engine has it. 0, or a negative errno and
	 * a sentence; then *addrs is none. */
	int (*path_open)(struct nic_qp *qp, const struct nic_path *path, struct path_use use,
			 struct transport_path *to, struct addr_pair *addrs);
	/* Closes addresses that are not the queue pair's, or no longer. */
	void (*path_close)(struct nic_qp *qp, struct addr_pair *addrs);
	/* TRANSPORT_PROFILES: entropy values that a queue pair may come to have; NULL: none. */
	uint32_t (*most_evs)(const struct device *d);
	/* What it does for peers as a host; enum transport_does. */
	uint32_t (*does)(const struct device *d);

	/* TRANSPORT_PROFILES: the engine thinks otherwise of some entropy value. */
	void (*ev_state)(struct nic_qp *qp);
	/* TRANSPORT_ENDPOINTS: takes what the engine has of answers to questions; NULL: none. */
	void (*take_answers)(struct shard *s);

	/* What follows is for transports that controllers govern, or that show how they fare; NULL:
	 * not this one. The device is made, but its thread does not run yet: begins both. */
	void (*govern)(struct device *d);
	/* In a child of fork, in place of end. */
	void (*abandon)(struct device *d);
	/* Readable when there may be news, or -1; takes them. */
	int (*news_fd)(const struct device *d);
	void (*take_news)(struct device *d);
	/* Shows how the device fares, now and then; when it is to be called next, or NSEC_NEVER:
	 * not before something happens. Gives the lock back now and then. */
	nsec (*show)(struct device *d, nsec now);
	/* The engine has forgotten this queue pair. */
	void (*qp_end)(struct nic_qp *qp);
};

extern const struct nic_transport_ops nic_transport_rc, nic_transport_mrc, nic_transport_plain;

/* The table of a transport: its own, or that of all which have none. */
const struct nic_transport_ops *nic_ops_of(const struct transport *t);

#endif
