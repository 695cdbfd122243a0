/* What engines record of what they do: events of 32 bytes, one at most for each packet and side.
 *
 * The list names each kind and what its numbers are, so that who shows events knows no transport:
 * only the words of packets and of verdicts are a transport's own. */
#ifndef WEFT_TRACE_EVENT_H
#define WEFT_TRACE_EVENT_H

#include <stdint.h>

/* What the bytes `what` and `why` of an event are. */
enum trace_word {
	TRACE_WORD_NONE,
	TRACE_WORD_PACKET,  /* a kind of packet, as the transport numbers them */
	TRACE_WORD_VERDICT, /* what became of a packet, as the transport counts it */
	TRACE_WORD_STATE,   /* enum engine_state */
	TRACE_WORD_STATUS,  /* enum engine_status */
	TRACE_WORDS,
};

/* KIND, its name; the names of number, a and b, NULL where they mean nothing; what `what` and `why`
 * are; and a sentence. */
/* clang-format off */
#define TRACE_EVENTS(E) \
	E(SENT,     "sent",     "psn", "bytes",        "ev",      PACKET,  NONE, \
	  "a packet left for the first time, with so many bytes of payload") \
	E(RESENT,   "resent",   "psn", "bytes",        "ev",      PACKET,  NONE, \
	  "a packet left that had left before") \
	E(RECEIVED, "received", "psn", "bytes",        "ev",      PACKET,  VERDICT, \
	  "a packet came, and what became of it") \
	E(ANSWERED, "answered", "psn", "window_bytes", "srtt_ns", PACKET,  VERDICT, \
	  "an answer came; what may be out from now on, and the round trip") \
	E(TIMEOUT,  "timeout",  "psn", "out_bytes",    "tries",   NONE,    NONE, \
	  "the peer was silent for too long; psn is the oldest that it owes an answer for, " \
	  "tries how often that had happened since it answered") \
	E(FAILED,   "failed",   "psn", "peer_code",    NULL,      STATUS,  NONE, \
	  "work failed, and with it the queue pair; psn is the oldest not acknowledged") \
	E(STATE,    "state",    NULL,  NULL,           NULL,      STATE,   STATE, \
	  "a queue pair went from one state to another") \
	E(PATHS,    "paths",    NULL,  "bad_evs",      "evs",     NONE,    NONE, \
	  "entropy values went bad or came back; how many are assumed bad now, of all")
/* clang-format on */

enum trace_kind {
#define TRACE_KIND(kind, ...) TRACE_##kind,
	TRACE_EVENTS(TRACE_KIND)
#undef TRACE_KIND
		TRACE_KINDS,
};

struct trace_event {
	uint64_t at;   /* of the engine's clock */
	uint32_t node; /* whose engine, as whoever runs it numbers them */
	uint32_t qp;   /* number on our side; of a packet that nobody takes, the one it names */
	uint32_t number, a, b;
	uint8_t kind;      /* enum trace_kind */
	uint8_t what, why; /* as the list says */
	uint8_t how;       /* of packets: its port, and bits of enum trace_how */
};
_Static_assert(sizeof(struct trace_event) == 32, "two events are a cache line");

enum trace_how {
	TRACE_PORT = 15,    /* mask of the port */
	TRACE_TRIMMED = 64, /* a switch cut it, or would have */
	TRACE_MARKED = 128, /* congestion was experienced on the way */
};

/* What is known of a kind. */
struct trace_kind_words {
	const char *name, *number, *a, *b, *text;
	uint8_t what, why; /* enum trace_word */
};
extern const struct trace_kind_words trace_kinds[TRACE_KINDS];

#endif
