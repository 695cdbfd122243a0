/* What the files of one row know of each other. */
#ifndef WEFT_TRANSPORT_ROWS_H
#define WEFT_TRANSPORT_ROWS_H

#include "transport/host.h"
#include "transport/pair.h"
#include "transport/verbs.h"

extern const struct transport_host_ops transport_rc_hosts, transport_mrc_hosts;
extern const struct transport_pair_ops transport_rc_pairs, transport_mrc_pairs;
extern const struct transport_verbs_ops transport_rc_verbs;

/* Every queue pair can send something. */
static inline void rows_grant_sends(struct transport_caps *caps)
{
	if (!caps->max_send)
		caps->max_send = 1;
	if (!caps->max_send_sge)
		caps->max_send_sge = 1;
}

#endif
