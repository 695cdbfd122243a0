/* What the files of one row know of each other. */
#ifndef WEFT_TRANSPORT_ROWS_H
#define WEFT_TRANSPORT_ROWS_H

#include "transport/host.h"
#include "transport/pair.h"

extern const struct transport_host_ops transport_rc_hosts, transport_mrc_hosts;
extern const struct transport_pair_ops transport_rc_pairs, transport_mrc_pairs;

#endif
