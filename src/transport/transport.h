/* The registry of transports: a row each, with all that the rooms above need to know to use one
 * without knowing which it is.
 *
 * A row is constant, and passed by pointer; nothing registers at run time. It knows neither the
 * simulator nor the soft device. Who wants to know whether something can be done with a transport
 * reads its row; where that lacks the answer, the row grows. */
#ifndef WEFT_TRANSPORT_TRANSPORT_H
#define WEFT_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "trace/print.h"
#include "transport/addresses.h"
#include "transport/host.h"
#include "transport/options.h"
#include "transport/pair.h"
#include "transport/verbs.h"
#include "wire/carrier.h"

#define TRANSPORTS          2u
#define TRANSPORT_NO_NUMBER UINT32_MAX

/* What a transport has that another may lack; bits of transport.features. */
enum transport_feature {
	TRANSPORT_PROFILES = 1,    /* packets of one queue pair take many entropy values, over
				    * several ports: those of a profile */
	TRANSPORT_CONTROL = 2,     /* controllers govern its devices (room control) */
	TRANSPORT_ENDPOINTS = 4,   /* it answers questions of peers at every address it has */
	TRANSPORT_TRIMS = 8,       /* it knows what to do with packets that a switch cut */
	TRANSPORT_CLASSES = 16,    /* packets have DSCPs by what they are, and by service levels */
	TRANSPORT_CNPS = 32,       /* it has congestion notification packets */
	TRANSPORT_NOT_READY = 64,  /* a message that finds no receive is put off, and not fatal */
	TRANSPORT_AHEAD = 128,     /* packets are taken ahead of a gap, so many and no more */
	TRANSPORT_STRANGERS = 256, /* it serves peers that it was not told of */
	TRANSPORT_GROUPS = 512,    /* switches copy its requests to many receivers, and merge what
				    * these answer */
};

/* The DSCPs that a device has for each class where nothing else is said. */
struct transport_dscps {
	uint8_t plain[ENGINE_TCLASSES];     /* of a fabric that does not trim */
	uint8_t trimmable[ENGINE_TCLASSES]; /* of one that does */
	uint8_t trimmed, trimmed_lasthop;   /* which it then marks what it cut with */
};

/* One of the numbers that an engine counts. */
struct transport_counter {
	const char *name, *text;
};

struct transport {
	const char *name; /* a word that devices, scenarios and options have for it */
	const struct engine_ops *engine;
	const struct carrier *carrier;
	uint32_t features;   /* enum transport_feature */
	uint32_t ops;        /* a bit for each enum engine_op that post takes for sending */
	uint32_t head_bytes; /* most header bytes of a packet, a seal's apart */
	uint32_t ports_max;  /* of a device */
	/* Congestion control: a bit for each enum cc_kind, and the one that a device has where
	 * nothing else is said. */
	uint32_t ccs;
	uint8_t cc;
	struct transport_dscps dscps;
	/* Of queue pairs: lower numbers than the first are special on the wire, and lower ones than
	 * the least the engine itself does not take. Packets of at most open_bytes, the seal's
	 * included, may come from anybody to the number `open`, if there is one. */
	uint32_t first_number, least_number, open_number, open_bytes;
	const struct transport_host_ops *hosts;
	const struct transport_pair_ops *pairs;
	/* NULL: its work does not name who receives it. Else that of the open number does. */
	const struct transport_address_ops *addresses;
	const struct transport_verbs_ops *verbs; /* NULL: its queue pairs are not the verbs' */
	uint64_t message_max;                    /* bytes of a message */

	/* What a person may say of it (struct transport_options), "cc" apart; and the choices of
	 * that, by word, NULL behind the last. */
	struct settings settings;
	const char *const *cc_words;
	const struct transport_cc_choice *cc_choices;
	/* Keys of device files that other transports lack; NULL behind the last, or for none. */
	const struct transport_key *const *keys;
	uint32_t window_max_pkts; /* of a window in full packets */
	/* TRANSPORT_PROFILES: entropy values of a connection where nothing else is said. */
	uint32_t evs;
	/* TRANSPORT_AHEAD: packets ahead of a gap are counted and told in units of so many. */
	uint32_t ahead_unit_pkts;
	/* Around the payload of a full packet, and of an answer to one: headers and seal. */
	uint32_t data_around_bytes, answer_bytes;
	/* TRANSPORT_TRIMS: from its first header on, what a switch must leave of a packet. */
	uint32_t trim_least_bytes;
	/* Whether a packet in the class of data, of which this is the first byte, only asks
	 * something. NULL: none does. */
	bool (*is_probe)(uint8_t first);
	/* The kind of a packet, as trace events number it; NULL: there is no such one. */
	const char *(*packet_name)(uint8_t kind);
	/* What its engine counts, all of them numbers of 64 bits in this order; and the places of
	 * those that mean the same for all: packets of data, or requests, retransmitted, and bytes
	 * of payload placed. */
	const struct transport_counter *counters;
	uint32_t n_counters;
	uint32_t count_retx, count_received;
	/* The place of the packets received. The n_verdicts behind it count what became of them:
	 * each packet is in one. */
	uint32_t count_rx, n_verdicts;
	/* The places of those that say why packets were retransmitted, or not after all. */
	const uint8_t *retx_reasons;
	uint32_t n_retx_reasons;
	/* And of packets sent to ask something, or to answer only that. */
	const uint8_t *probes;
	uint32_t n_probes;
};

extern const struct transport transport_rc, transport_mrc;

/* All rows, in the order in which devices have their numbers; and their names, NULL behind the
 * last, each at the same place. */
extern const struct transport *const transports[TRANSPORTS];
extern const char *const transport_names[TRANSPORTS + 1];

static inline bool transport_has(const struct transport *t, enum transport_feature feature)
{
	return t->features & feature;
}

static inline bool transport_takes(const struct transport *t, enum engine_op op)
{
	return t->ops >> op & 1;
}

/* Most bytes of a packet around its payload, from the transport's first header on. */
uint32_t transport_around_bytes(const struct transport *t);

/* Whether a key is one of the row's. */
bool transport_has_key(const struct transport *t, const struct transport_key *key);
/* Puts what the row's keys fall back to where nothing is said. */
void transport_fall_back(const struct transport *t, struct transport_device *device);

/* For how many packets received the numbers that its engine counts say what became of them. */
uint64_t transport_verdicts(const struct transport *t, const uint64_t *counts);

/* The words of a row's trace events. */
struct trace_words transport_words(const struct transport *t);

/* The place of a row in transports. */
uint32_t transport_place(const struct transport *t);

#endif
