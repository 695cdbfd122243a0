/* What tests let leave, as engines are told: by port, of all classes. */
#ifndef WEFT_TESTS_SUPPORT_ROOM_H
#define WEFT_TESTS_SUPPORT_ROOM_H

#include <string.h>

#include "engine/engine.h"

static inline struct engine_room room_of(const uint16_t pkts[ENGINE_PORTS])
{
	struct engine_room room = {.may = UINT32_MAX};

	memcpy(room.pkts, pkts, sizeof room.pkts);
	return room;
}

/* Law 4: takes a packet's place; false: it has none, or its class may not go there. */
static inline bool room_take(struct engine_room *left, const struct tx_pkt *tx)
{
	if (tx->port >= ENGINE_PORTS || left->pkts[tx->port] == 0)
		return false;
	left->pkts[tx->port]--;
	return tx->tclass >= ENGINE_TCLASSES ||
	       engine_ports_of(left->may, (enum engine_tclass)tx->tclass) >> tx->port & 1;
}

#endif
