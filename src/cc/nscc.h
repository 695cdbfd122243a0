/* NSCC (Ultra Ethernet 1.0, section 3.6.13; MRC 1.0, section 8 adopts it): the window of a flow
 * from the round trips and the ECN marks of its acknowledgements, from trims and from losses.
 *
 * Behind cc/cc.h, and nothing else calls it but for nscc_complete. An acknowledgement whose packet
 * met no queue raises the window, one that was marked and late lowers it, and where packets are
 * lost or far too late the bytes that did arrive in a round trip are the next window. Invariant:
 * MTU <= cwnd <= max_wnd, and max_wnd only shrinks. There is no pacing and no timer.
 *
 * What a transport does:
 * - inflight is its own count, in nominal sizes (MRC 8.3.1): out_bytes of an event is what is left
 *   after the event was taken off, and never below 0 where the count itself may be.
 * - CanSend is "out_bytes < window_bytes", as for every controller: window_bytes is cwnd - MTU + 1.
 * - AckRequest is, once a packet was counted, "out_bytes >= window_bytes, or window_bytes + MTU - 1
 *   < ACK_Gen_Trigger": the same two numbers, so it is no function here.
 * - A round trip that may be another try's is told as 0 (3.6.13.1).
 * - A delay counts in the mean for the pkts of its event, or for one if that is marked.
 * - A CC_LOSS_TRIM_LAST_HOP counts as any trim: there is no receiver credit beside NSCC.
 * Left to it, as the text leaves it: windows that grow while a host has more flows than its own
 * link can feed, and the probe that measures an idle path (3.6.13.7), whose answer is an
 * acknowledgement of 0 bytes. */
#ifndef WEFT_CC_NSCC_H
#define WEFT_CC_NSCC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"

/* Table 3-76; zero stands for the default in brackets, and 1 in a fixed point is next to nothing.
 * Where the table has floating point there are 24 bits behind the point of bytes, 32 of numbers
 * without a unit, and 40 of bytes per nanosecond, which are small: the error of each default is
 * below 3 millionths of it, in the whole range of round trips, speeds and MTUs. */
struct nscc_cfg {
	nsec base_rtt_ns;      /* of the longest path, idle: 1 us .. 10 ms; no default */
	nsec target_qdelay_ns; /* [base_rtt, or 3/4 of it where switches trim] */
	nsec qa_threshold_ns;  /* mean delay for quick adapt [4 base_rtt, or never with trims] */
	nsec adjust_period_ns; /* adjust_period_threshold [base_rtt] */
	nsec near_ns;          /* a delay "~= 0" [target_qdelay / 2, at least 256 ns] */
	uint64_t sender_bps;   /* 1 Gb/s .. 1.6 Tb/s [the line rate] */
	uint64_t receiver_bps; /* the same [sender_bps] */
	uint32_t mtu_bytes; /* payload + headers of the transport + 40: 256 .. 65536; no default */
	uint32_t bdp_bytes; /* [the slower speed * base_rtt] */
	uint32_t max_wnd_bytes;   /* MaxWnd, from one MTU [1.5 bdp, at least one MTU] */
	uint32_t base_bdp_bytes;  /* [150000] */
	uint32_t adjust_bytes;    /* adjust_bytes_threshold [8 MTU]; cwnd / 8 if less */
	uint32_t qa_gate;         /* 1 .. 31 [3] */
	uint64_t gamma_q32;       /* up to 1 [0.8] */
	uint64_t max_md_jump_q32; /* up to 1 [0.5] */
	uint64_t scaling_a_q32;   /* [bdp / base_bdp] */
	uint64_t scaling_b_q32;   /* [target_qdelay / 12 us] */
	uint64_t alpha_q40;       /* bytes per ns [4 scaling_a * scaling_b * MTU / target_qdelay] */
	uint64_t fi_q24;          /* bytes [5 MTU * scaling_a] */
	uint64_t fi_scale_q32;    /* [0.25 scaling_a] */
	uint64_t eta_q24;         /* bytes [0.15 MTU * scaling_a] */
	bool has_trimming;        /* switches trim: see the defaults */
	bool has_no_quick_adapt;  /* disable_quick_adapt */
};
#define NSCC_RTT_MIN_NS UINT64_C(1000)
#define NSCC_RTT_MAX_NS UINT64_C(10000000)
#define NSCC_NS_MAX     UINT64_C(1000000000) /* of every other time, and of a delay that counts */
#define NSCC_BPS_MIN    UINT64_C(1000000000)
#define NSCC_BPS_MAX    UINT64_C(1600000000000)
#define NSCC_MTU_MIN    256u
#define NSCC_MTU_MAX    65536u

/* The delays of one stretch of base_rtt. */
struct nscc_delays {
	uint64_t sum_ns;
	uint32_t n; /* packets, at most 2^25 */
};

/* Table 3-77, but for inflight. */
struct nscc {
	struct nscc_cfg all; /* the configuration, completed */
	uint64_t cwnd_q24;
	uint64_t saved_q24; /* 0: none */
	uint64_t inc;       /* inc_bytes, in bytes * bytes */
	uint64_t achieved_bytes, received_bytes;
	uint64_t ignored_bytes, to_ignore_bytes;
	uint64_t fi_bytes; /* fi_count */
	nsec base_rtt_ns;
	nsec qa_end;                   /* 0: no stretch of quick adapt began yet */
	nsec adjusted_at, cut_at;      /* last_adjust_time, last_dec_time */
	nsec eta_at;                   /* when eta was last added */
	nsec delays_at;                /* when this stretch began */
	struct nscc_delays this, last; /* of update_delay */
	uint32_t max_wnd_bytes;
	bool has_trigger;      /* trigger_qa */
	bool is_fast_increase; /* increase_mode */
};

struct cc_ops;
extern const struct cc_ops nscc_ops;

/* NULL, or a phrase that says what is out of range. */
const char *nscc_cfg_problem(const struct nscc_cfg *cfg, uint64_t line_rate_bps);

/* The configuration with its defaults, for a cfg that nscc_cfg_problem accepts: what a flow does
 * with it, for tools to print. */
struct nscc_cfg nscc_complete(const struct nscc_cfg *cfg, uint64_t line_rate_bps);

#endif
