/* Tells damage from foreign traffic: a packet that the parsers do not follow, or that is broken on
 * its way down to UDP, is only ours to complain about if it leads to a carrier that is followed. */
#ifndef WEFT_WIRE_FOREIGN_H
#define WEFT_WIRE_FOREIGN_H

#include "base/span.h"
#include "wire/drop.h"
#include "wire/net.h"

/* Follows an IP packet of the given version, which c stands on, past any number of headers and with
 * no demand on them. NOT_UDP or NOT_ROCE where it leads elsewhere, NONE where it leads to a
 * carrier or its end cannot be seen. */
struct wire_fault foreign_fault(struct cursor c, uint8_t version, const struct net_cfg *cfg);

/* For a frame with more VLAN tags than are followed, c on the first of those: VLAN_DEPTH, or what
 * is foreign about the packet behind them. */
struct wire_fault foreign_vlan_fault(struct cursor c, const struct net_cfg *cfg);

#endif
