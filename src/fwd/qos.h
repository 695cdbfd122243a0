/* What a switch is told about each DSCP and each traffic class: one table for a whole fabric
 * (UE 3.6.4.7, 3.6.17, 4.1.4; MRC 7.5.5.1). Pure configuration; the modules beside this one act. */
#ifndef WEFT_FWD_QOS_H
#define WEFT_FWD_QOS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/net.h"

#define FWD_CLASSES 8u
#define FWD_DSCPS   64u
#define FWD_NO_DSCP 0xffu

/* What trimming means for a codepoint (UE 4.1). */
enum fwd_trim_kind {
	FWD_TRIM_NEVER,     /* neither: dropped when it does not fit */
	FWD_TRIM_TRIMMABLE, /* cut when it fails admission */
	FWD_TRIM_TRIMMED,   /* was cut: never again, and never marked */
};

struct fwd_dscp {
	uint8_t tclass; /* < n_classes */
	uint8_t trim;   /* enum fwd_trim_kind */
	/* Of a trimmable codepoint: what the packet is called once cut, and once cut on the last
	 * hop (FWD_NO_DSCP: not told apart). */
	uint8_t trimmed, trimmed_lasthop;
	/* Admission fails once its queue holds so many bytes: trim or drop threshold. 0: the
	 * class's. A trimmable retransmission has a higher one (UE 3.6.17). */
	uint32_t threshold_bytes;
};

struct fwd_class {
	/* Scheduling: a higher level goes strictly first; classes of one level share by weight. */
	uint8_t level;
	uint16_t weight; /* >= 1 */
	/* ECN: marks with a chance that rises from 0 at ecn_min_bytes to 1 at ecn_max_bytes; equal:
	 * a step. ecn false: never. */
	bool ecn;
	uint32_t ecn_min_bytes, ecn_max_bytes;
	/* Admission: the queue's own limit, and a limit relative to the free part of a shared
	 * buffer, alpha_eighths / 8 of it; 0: no such limit. */
	uint32_t threshold_bytes;
	uint16_t alpha_eighths;
	/* Trimming: the least IP payload kept (UE Table 4-1). */
	uint16_t min_trim_bytes;
	/* Priority flow control: pause the sender above xoff, let it go on at xon or below. Bytes
	 * of this class that came in by one port. xoff 0: no PFC. */
	uint32_t pfc_xoff_bytes, pfc_xon_bytes;
};

struct fwd_qos {
	uint8_t n_classes; /* 1 .. FWD_CLASSES */
	struct fwd_class classes[FWD_CLASSES];
	struct fwd_dscp dscps[FWD_DSCPS];
};

/* Names and numbers of the codepoints of UE Table 3-71 and MRC Table 7-7 in a fabric. FWD_NO_DSCP:
 * not used here. */
struct fwd_names {
	uint8_t no_trim, trimmable, trimmable_rtx, trimmed, trimmed_lasthop, control;
};

/* Figures of the fabric from which UE 3.6.17 derives every threshold. */
struct fwd_bdp {
	uint32_t plane_bytes; /* Plane_BDP */
	bool trimming;
	bool three_classes; /* trimmed packets in TC_med, else in TC_high with control */
	uint16_t min_trim_bytes;
};

/* The configuration UE 3.6.17 and Table 3-71 recommend: TC_low 0, then TC_med 1 if there are three,
 * then TC_high; strict priority upwards. Unknown DSCPs go to TC_low untrimmed. */
void fwd_qos_recommended(struct fwd_qos *qos, const struct fwd_names *names,
			 const struct fwd_bdp *bdp);

/* What the DSCPs of packets say that a fabric of this table has cut. */
struct net_trims fwd_qos_trims(const struct fwd_qos *qos);

/* NULL, or what is wrong with a table: a class or level out of range, weight 0, ECN thresholds out
 * of order, a trimmable DSCP without a trimmed one, a trimmed DSCP that is itself trimmable or does
 * not say that it is trimmed, xon above xoff. */
const char *fwd_qos_fault(const struct fwd_qos *qos);

#endif
