/* The congestion controllers of all transports, behind one set of functions: numbers in, a window
 * and a rate out. A controller never sees a packet, a path or a clock.
 *
 * One struct cc is one flow: a queue pair, or a connection. The transport reports what happened, in
 * the order of time, and asks what it may do; how many bytes are out is the transport's own count.
 * A controller with timers names the next one, cc_deadline; one that is late runs as if at its own
 * time. So a flow with nothing to send need not be woken: cc_on_timer before the next question
 * makes up for it. Same calls, same answers: integers and fixed point only.
 *
 * A new algorithm is one file with a struct cc_ops, and a member in union cc_memory. */
#ifndef WEFT_CC_CC_H
#define WEFT_CC_CC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"
#include "cc/dcqcn.h"
#include "cc/nscc.h"

/* What an acknowledgement told, or a loss. Zero where a transport does not know. */
struct cc_ack {
	nsec now;
	nsec rtt_ns;        /* of the newest packet it tells of; 0: not known (a resend) */
	nsec held_ns;       /* the part of rtt_ns that the peer took to answer */
	uint32_t bytes;     /* newly acknowledged; of a loss: newly taken for lost */
	uint32_t pkts;      /* those bytes as packets */
	uint32_t out_bytes; /* still out after it */
	bool is_marked;     /* it met congestion on the way */
	bool is_restored;   /* the peer takes its penalty back (UE 3.6.13.6) */
	uint8_t penalty;    /* the peer wants the window smaller by so many 128ths of bytes */
	uint8_t hops;       /* switches on the way to the peer */
	uint8_t level;      /* how full the peer's buffers are, 0 .. 31 (Falcon 10.2) */
};

enum cc_loss {
	CC_LOSS_GAP,           /* a NAK or a gap: packets did not arrive */
	CC_LOSS_TIMEOUT,       /* nothing was received for the whole timeout */
	CC_LOSS_TRIM,          /* a switch cut the payload off */
	CC_LOSS_TRIM_LAST_HOP, /* the last switch did */
	CC_LOSS_REFUSED,       /* it arrived, and the peer had no room */
};

/* What a flow may do now. */
struct cc_grant {
	uint64_t window_bytes; /* a packet may go while fewer than so many are out */
	uint64_t rate_bps;     /* CC_UNPACED: as fast as the port */
};
#define CC_UNPACED UINT64_MAX

/* Bounds of every rate in a configuration. */
#define CC_BPS_MIN UINT64_C(1000)
#define CC_BPS_MAX UINT64_C(1000000000000000)

enum cc_kind { CC_FIXED, CC_DCQCN, CC_NSCC };

/* Configuration of every flow of an engine. */
struct cc_cfg {
	uint8_t kind;           /* enum cc_kind */
	uint64_t window_bytes;  /* of every flow, whatever the kind, at most; not 0 */
	uint64_t line_rate_bps; /* the port's: CC_DCQCN starts there, CC_NSCC derives from it */
	nsec slack_ns;          /* see cc_next_send; at most CC_SLACK_MAX_NS */
	struct dcqcn_cfg dcqcn;
	struct nscc_cfg nscc;
};
#define CC_SLACK_MAX_NS UINT64_C(1000000000)

struct cc_ops;

/* Its members are for the files of this room. */
struct cc {
	const struct cc_ops *ops;
	const struct cc_cfg *cfg; /* lent for life */
	union cc_memory {
		struct dcqcn dcqcn;
		struct nscc nscc;
	} u;
	nsec free_at;  /* the pacer: when what was sent has passed at the granted rate, ... */
	uint64_t part; /* ... and this many of rate_bps parts of a nanosecond later */
};

/* All but name and grant may be NULL: what happens is then no matter. on_timer comes with deadline.
 */
struct cc_ops {
	const char *name;
	void (*start)(struct cc *c, nsec now);
	void (*on_new)(struct cc *c, nsec now, uint64_t bytes);
	void (*on_sent)(struct cc *c, nsec now, uint32_t bytes);
	void (*on_ack)(struct cc *c, const struct cc_ack *ack);
	void (*on_notice)(struct cc *c, nsec now); /* the peer's word of congestion: a CNP */
	void (*on_loss)(struct cc *c, const struct cc_ack *ack, enum cc_loss loss);
	void (*on_timer)(struct cc *c, nsec now); /* deadline <= now; leaves it after now */
	nsec (*deadline)(const struct cc *c);     /* NSEC_NEVER: no timer */
	struct cc_grant (*grant)(const struct cc *c);
};

/* NULL, or a phrase that says what is out of range. */
const char *cc_cfg_problem(const struct cc_cfg *cfg);

/* Starts a flow. cfg is one cc_cfg_problem accepts, lent for the flow's life. */
void cc_start(struct cc *c, const struct cc_cfg *cfg, nsec now);

/* So many bytes are to be sent from now on, headers included: what UE calls OnNewData. */
void cc_on_new(struct cc *c, nsec now, uint64_t bytes);

/* Bytes go out now, headers included, less than 2^31: charged to the pacer and told to the
 * algorithm. */
void cc_on_sent(struct cc *c, nsec now, uint32_t bytes);
void cc_on_ack(struct cc *c, const struct cc_ack *ack);
void cc_on_notice(struct cc *c, nsec now);
void cc_on_loss(struct cc *c, const struct cc_ack *ack, enum cc_loss loss);

/* Runs the timers due at now, each as if at its own time; cc_deadline is after now then. Costs
 * little however long ago they were due. */
void cc_on_timer(struct cc *c, nsec now);
nsec cc_deadline(const struct cc *c);

struct cc_grant cc_grant(const struct cc *c);

/* When the pacer lets the next packet go: each keeps the next one away for as long as its bytes
 * take at the granted rate. A flow that sends later than it might gains nothing by that, beyond the
 * slack: packets that leave within slack_ns of their time do not delay those behind them. That is
 * for drivers that cannot wake to the nanosecond; a flow long idle may send as much at once. */
nsec cc_next_send(const struct cc *c);

#endif
