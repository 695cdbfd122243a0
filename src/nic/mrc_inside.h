/* What the files of MRC in nic do for each other. */
#ifndef WEFT_NIC_MRC_INSIDE_H
#define WEFT_NIC_MRC_INSIDE_H

#include "nic/inside.h"
#include "nic/nic_mrc.h"

/* The largest packet as NSCC counts it: BTH, METH, TSETH, RETH, ICRC, UDP and 40 (MRC 8.3.1). */
#define NIC_MRC_PACKET_BYTES (4096u + 96u)

/* A question to a peer that somebody waits for. */
struct ping {
	struct ping *next;
	bool is_done, is_answered;
	nsec rtt_ns;
};

/* mrc_pair.c: what became of a ping. */
void mrc_pinged(struct device *d, const struct mrc_endpoint_done *done);

/* The fields of generated entropy values. */
static inline struct path_format mrc_format(const struct nic_evs *evs)
{
	return (struct path_format){evs->encoding, evs->fields, evs->n_fields};
}

#endif
