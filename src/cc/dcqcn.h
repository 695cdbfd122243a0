/* DCQCN (Zhu et al., SIGCOMM 2015): the rate of a flow from the congestion notification packets
 * (CNPs) that its receiver sends.
 *
 * The reaction point, at the sender, is behind cc/cc.h and nothing else calls it. A notice cuts the
 * rate; a timer and a byte counter raise it again in three stages, halfway to the rate before the
 * cut in the first, and that target by ever larger steps in the others. Loss is no signal to it,
 * nor are acknowledgements. Invariant: least_bps <= rate_bps <= target_bps <= line rate; a flow at
 * line rate is not paced and has no timer. The notification point, at the receiver, is dcqcn_np. */
#ifndef WEFT_CC_DCQCN_H
#define WEFT_CC_DCQCN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"

/* Zero stands for the default in brackets. Those of g, alpha_ns, the byte counter, the rounds and
 * the additive step are the paper's. Its increase timer is 55 us; ours, and the time between cuts,
 * are what NICs have (rpg_time_reset, rate_reduce_monitor_period). The paper names no hyper step:
 * ten additive ones, as in IEEE 802.1Qau and in NICs (rpg_ai_rate, rpg_hai_rate). */
struct dcqcn_cfg {
	uint32_t g_shift;        /* gain of alpha is 2^-g_shift, 1 .. 10 [8] */
	nsec cut_every_ns;       /* at most one cut of the rate in this time [4 us] */
	nsec alpha_ns;           /* alpha decays each time so long passes without a cut [55 us] */
	nsec increase_ns;        /* the increase timer [300 us] */
	uint32_t increase_bytes; /* the byte counter, at least 64 KiB [10 MiB] */
	uint32_t fast_rounds;    /* of fast recovery before additive increase, 1 .. 255 [5] */
	uint64_t additive_bps;   /* [40 Mb/s] */
	uint64_t hyper_bps;      /* [400 Mb/s] */
	uint64_t least_bps;      /* the rate is never cut below [100 Mb/s, or a lower line rate] */
};
#define DCQCN_NS_MAX UINT64_C(10000000000) /* of every time in it */

#define DCQCN_ALPHA_ONE (UINT32_C(1) << 30)

struct dcqcn {
	uint64_t rate_bps, target_bps;
	uint32_t alpha;                     /* of DCQCN_ALPHA_ONE, as it was at the last cut */
	uint32_t timer_rounds, byte_rounds; /* since the last cut */
	uint32_t bytes;                     /* sent since the last round of the byte counter */
	nsec alpha_at;                      /* the last cut, if there was one */
	nsec cut_after;                     /* notices before this are part of the last one */
	nsec increase_at;                   /* the increase timer; NSEC_NEVER: at line rate */
};

struct cc_ops;
extern const struct cc_ops dcqcn_ops;

/* NULL, or a phrase that says what is out of range. */
const char *dcqcn_cfg_problem(const struct dcqcn_cfg *cfg, uint64_t line_rate_bps);

/* The notification point, one per queue pair. All zeros is a fresh one. */
struct dcqcn_np {
	nsec next_at;
};

/* Whether a marked packet that arrives at now is to be answered with a CNP; if so, the next one is
 * not before interval_ns have passed. */
bool dcqcn_np_notify(struct dcqcn_np *np, nsec now, nsec interval_ns);

#endif
