/* Queue pairs, as those above make, connect and end them, whatever their transport.
 *
 * Two ends agree on a connection by telling each other struct transport_end, by whatever means they
 * have, and their addresses, which are the driver's business. */
#ifndef WEFT_TRANSPORT_PAIR_H
#define WEFT_TRANSPORT_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/ladder.h"
#include "path/path.h"
#include "transport/host.h"

#define TRANSPORT_END_BYTES 32u
#define TRANSPORT_NO_SRQ    UINT32_MAX

/* What a queue pair is made with, for life. Zero stands for the default in brackets; what a
 * transport does not have is left at 0 and means nothing. */
struct transport_caps {
	uint32_t max_send;                   /* work requests [1] */
	uint32_t max_recv;                   /* the same; 0: none */
	uint32_t max_send_sge, max_recv_sge; /* pieces of each [1; 1 if there are receives] */
	uint32_t max_inline;                 /* bytes of one that are copied [0] */
	uint32_t pd;
	uint32_t srq;        /* TRANSPORT_NO_SRQ: a receive queue of its own */
	uint32_t ahead_pkts; /* TRANSPORT_AHEAD: packets taken ahead of a gap, at most [4096] */
	uint32_t ahead_imm;  /* the same: immediate data [max_recv, 512 at most] */
	uint32_t max_evs;    /* TRANSPORT_PROFILES: entropy values of a profile [256] */
};

/* What one end of a connection tells the other. For all but the transport these are bytes; the
 * first four are the number of the queue pair, in network order. */
struct transport_end {
	uint8_t bytes[TRANSPORT_END_BYTES];
};
uint32_t transport_end_number(const struct transport_end *end);

/* Of what an end is made: so that whoever knows this of a peer need not ask it. */
struct transport_self {
	uint32_t number, psn;              /* psn: any number; of the first packet that it sends */
	uint32_t does;                     /* enum transport_does */
	const struct transport_caps *caps; /* as granted */
};

/* Where packets to a peer go, as the driver knows it. */
struct transport_path {
	uint32_t peer, local; /* the driver's handles */
	/* Without TRANSPORT_PROFILES: where all packets leave, and their entropy. */
	uint8_t port;
	uint32_t ev;
	/* With: lent until others are set, or the queue pair ends; packets in a row that take one
	 * (0: 1); and what data leaves as, see ENGINE_DSCP (0: as it is). */
	const struct path_profile *evs;
	uint16_t burst;
	uint8_t tclass[ENGINE_CONTROL];
};

/* Whether switches may cut packets. */
enum transport_trim {
	TRANSPORT_TRIM_ANSWERED, /* if the peer tells us then */
	TRANSPORT_TRIM_ALWAYS,
	TRANSPORT_TRIM_NEVER, /* we would not hear of it */
};

/* How a connection treats what it meets; all 0 is what suits software on a wire, where a process
 * that waits for a processor is away for milliseconds without anything being wrong. */
struct transport_manner {
	nsec timeout_ns;       /* of silence. Not 0: as timeout() has it, and then ... */
	uint32_t retries;      /* ... so often, ... */
	uint32_t slow_retries; /* ... and so often again, each time twice as late */
	nsec not_ready_ns;     /* TRANSPORT_NOT_READY: put off so long; the next that there is */
	bool counts_trims;     /* each report of a cut packet is a try of it */
	bool is_oblivious;     /* entropy values are taken whatever happens on them */
	uint8_t trim;          /* enum transport_trim */
};

/* A connection, as one end sees it. */
struct transport_link {
	struct transport_end mine, theirs;
	struct transport_path path;
	struct transport_manner manner;
	uint16_t pmtu;
	uint8_t access; /* enum mem_access: what the peer may do at all */
};

/* How a queue pair fares, for reports; what a transport does not know is 0. */
struct transport_progress {
	uint8_t state;           /* enum engine_state */
	uint32_t open_ports;     /* a bit for each by which packets may leave */
	uint64_t inflight_bytes; /* payload sent or asked for, and not yet answered */
	uint64_t window_bytes;   /* a packet may go while fewer are in flight */
	nsec srtt_ns;            /* 0: not known */
	uint64_t sent_bytes;     /* payload acknowledged, and of answers to reads */
	uint64_t got_bytes;      /* payload placed */
	uint64_t sent_packets;   /* of data or requests, each once, ... */
	uint64_t retx_packets;   /* ... and once more */
	uint64_t timeouts;
	uint64_t silent;           /* ENGINE_SILENT work that ended in success since ENGINE_RESET */
	uint32_t evs[PATH_STATES]; /* of its profile, by state */
};

/* The operations of a row. Numbers of queue pairs are those of the engine; -ENOENT: there is none.
 */
struct transport_pair_ops {
	struct transport_caps most; /* of each number; pd and srq are nothing here */
	/* Fills in defaults; the memory that make needs, or 0: more than `most`. */
	size_t (*grant)(struct transport_caps *caps);
	/* Makes one in ENGINE_RESET, in memory that is the engine's until it ends. 0 or a negative
	 * errno. */
	int (*make)(struct engine *e, uint32_t number, const struct transport_caps *caps,
		    void *memory);
	/* Ends it: its work is forgotten. Its memory, or NULL. */
	void *(*end)(struct engine *e, uint32_t number);
	enum engine_state (*state)(const struct engine *e, uint32_t number);
	/* Moves it to ENGINE_RESET or ENGINE_ERROR, which may be done in every state. */
	int (*stop)(struct engine *e, nsec now, uint32_t number, enum engine_state state);

	/* What an end tells. Needs no engine: both ends' may be worked out anywhere. */
	void (*tell)(const struct transport_self *self, struct transport_end *end);
	/* From ENGINE_RESET to ENGINE_RTS. 0; -EPROTO: theirs makes no sense; or as the engine
	 * has it, and the queue pair is somewhere on the way: stop it, or end it. */
	int (*connect)(struct engine *e, nsec now, uint32_t number,
		       const struct transport_link *link);
	/* The shortest of the timeouts there are that is not shorter, or the longest. */
	nsec (*timeout)(nsec ns);
	int (*progress)(const struct engine *e, uint32_t number, struct transport_progress *p);
	/* The ports of the device that are down, a bit each, and no others; NULL: that is all one
	 * to it. */
	void (*ports_down)(struct engine *e, nsec now, uint32_t ports);
};

#endif
