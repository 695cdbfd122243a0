/* SRv6 compressed segments (uSIDs) at a switch: RFC 8986 behaviours with the NEXT-CSID flavour of
 * RFC 9800, as MRC 9.3.5 uses them.
 *
 * A local SID is a block and a uSID. Its node finds it at the front of the destination address.
 * With uSIDs left behind it (the argument is not zero) the container is shifted left by one uSID
 * and zeros enter at the end; else, if a segment routing header has segments left, the next one is
 * promoted to the destination address; then the packet is routed again, by its new destination
 * (uN) or straight to a port (uA). DT6 and DX6 take the outer headers off. */
#ifndef WEFT_FWD_SID_H
#define WEFT_FWD_SID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fwd/frame.h"
#include "wire/net.h"

/* Container formats: bits of the block and of a uSID. Both are multiples of 8. */
enum fwd_sid_format {
	FWD_F3216, /* 32-bit block, six uSIDs of 16 bits */
	FWD_F1616, /* 16-bit block, seven uSIDs of 16 bits */
};

enum fwd_behaviour {
	FWD_SID_UN,  /* End with NEXT-CSID: shift or promote, then route by the new destination */
	FWD_SID_UA,  /* End.X with NEXT-CSID: the same, then out of port */
	FWD_SID_DT6, /* decapsulate, route the inner packet */
	FWD_SID_DX6, /* decapsulate, out of port */
};

struct fwd_sid {
	uint16_t usid;
	uint8_t behaviour; /* enum fwd_behaviour */
	bool psp;      /* uN, uA: pop the SRH when its last segment is promoted (RFC 8986 4.16.1) */
	uint16_t port; /* uA, DX6 */
};

/* The local SIDs of one switch. usids are unique. */
struct fwd_sids {
	uint32_t block; /* F1616: in the low 16 bits */
	uint8_t format; /* enum fwd_sid_format */
	const struct fwd_sid *sids;
	uint32_t n; /* 0: no SRv6 here */
	/* A hop that decapsulates a packet whose DSCP says that it was trimmed carries the DSCP
	 * inward (UE 4.1.3, M-42). */
	struct net_trims trims;
};

enum fwd_sid_next {
	FWD_SID_NOT_OURS, /* nothing changed: route by the destination as it stands */
	FWD_SID_ROUTE,    /* changed; route by the (new) outermost destination */
	FWD_SID_PORT,     /* changed; out of *port */
};

struct fwd_sid_result {
	enum fwd_drop drop; /* NONE, or why the packet is dropped; nothing else counts then */
	enum fwd_sid_next next;
	uint16_t port;
	bool decapsulated; /* view is of the inner header now */
};

/* Looks for a local SID in the destination of the IPv6 packet at *view and executes it on the
 * bytes. The hop limit is left to the caller, who takes it where the packet is forwarded. May move
 * f->at and set *view anew: the Ethernet header moves along and gets the right type. A destination
 * in our block whose first uSID is not local is FWD_SID_NOT_OURS (transit by ordinary routes). */
struct fwd_sid_result fwd_sid_execute(const struct fwd_sids *sids, struct fwd_frame *f,
				      struct fwd_view *view);

/* Writes a container: block, then the uSIDs in the order they are visited, zeros behind. n is at
 * most fwd_sid_capacity(format). */
void fwd_container_put(uint8_t address[16], uint32_t block, enum fwd_sid_format format,
		       const uint16_t *usids, uint32_t n);

/* Six or seven. */
uint32_t fwd_sid_capacity(enum fwd_sid_format format);

#endif
