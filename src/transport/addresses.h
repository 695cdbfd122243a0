/* Address handles: who posts to a queue that has many peers names the receiver of each work by one,
 * in op.peer.
 *
 * A handle is made of what two ends tell each other of a connection, but nothing is agreed on: the
 * peer need not know of us. Work for one receiver ends in the order it was posted, and the handle
 * is lost with work that fails: it flushes what follows, until it is ended. */
#ifndef WEFT_TRANSPORT_ADDRESSES_H
#define WEFT_TRANSPORT_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "transport/pair.h"

struct transport_address {
	struct transport_end theirs; /* the queue that receives, as its host tells it */
	struct transport_path path;
	struct transport_manner manner;
	uint16_t pmtu;
};

/* The operations of a row. Packets may carry a handle's number: it is one that could be a queue
 * pair's, that none of them has, and that no handle had lately, whose peer may still hold it. */
struct transport_address_ops {
	uint32_t most; /* handles of an engine */
	/* The memory that make needs. */
	size_t (*bytes)(void);
	/* Makes one in memory that is the engine's until it ends. 0; -EINVAL; -EEXIST; -ENOSPC;
	 * -EPROTO: theirs makes no sense. Unless 0 nothing has changed. */
	int (*make)(struct engine *e, nsec now, uint32_t number, const struct transport_address *to,
		    void *memory);
	/* Ends it, and gives its memory back. 0; -ENOENT; -EBUSY: there is work for it that is not
	 * done, or not polled. */
	int (*end)(struct engine *e, nsec now, uint32_t number, void **memory);
};

#endif
