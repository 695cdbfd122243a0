/* A host that does as it is told: an engine which sends a list of packets at given times and
 * remembers what arrives, so that a test can say in advance what the fabric must do. */
#ifndef WEFT_TESTS_SUPPORT_SCRIPT_H
#define WEFT_TESTS_SUPPORT_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "sim/sim.h"

#define SCRIPT_SENDS_MAX 512u
#define SCRIPT_HEAD      16u /* opcode and number of the packet, then zeros */

struct script_send {
	nsec at;
	uint32_t to;
	uint32_t payload; /* virtual bytes */
	uint32_t ev;
	uint8_t tclass, port;
	bool not_ect;
};

/* Of one packet that arrived. */
struct script_seen {
	psec at;
	uint32_t from, number; /* number: which of the sender's packets */
	uint32_t bytes;        /* transport bytes, without ICRC */
	uint16_t udp_len;
	uint8_t ecn, trimmed, dscp, port, ttl;
	uint32_t ev;
};

/* All hosts of a run share one of these: what to send, by host, and what was seen. */
struct script {
	struct sim *sim;
	struct script_send sends[64][SCRIPT_SENDS_MAX];
	uint32_t n_sends[64];
	struct script_seen seen[64][SCRIPT_SENDS_MAX * 4];
	uint32_t n_seen[64];
	struct sim_transport transport;
	struct sim_hooks hooks;
	struct script_cfg {
		struct script *script;
		uint32_t host;
	} host_cfg;
};

/* Clears the script and sets up transport and hooks for sim_cfg. */
void script_init(struct script *x);

/* Adds packets to host's list, in order of time: count copies of send. */
void script_add(struct script *x, uint32_t host, const struct script_send *send, uint32_t count);

/* The frame's length on the wire without FCS, for a payload, in a native IPv6 fabric. */
uint32_t script_frame_bytes(uint32_t payload);

#endif
