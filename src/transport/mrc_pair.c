/* Queue pairs of MRC, as all transports have them. */
#include <errno.h>

#include "base/bytes.h"
#include "mrc/mrc.h"
#include "transport/rows.h"

#define AHEAD_PKTS   (32u * MRC_MPR_UNIT) /* 4096 packets: a window of 1 MiB at the smallest PMTU */
#define AHEAD_IMM    512u
#define TIMEOUT_CODE 16u /* 67 ms, as long as a busy machine may make a packet wait */
#define LINEAR       4u
#define EXPONENTIAL  5u             /* all in all 4.5 s */
#define TIMEOUT_UNIT UINT64_C(1024) /* Table 7-1 */

/* Where what an end tells stands, behind its number. */
#define AT_PSN  4u
#define AT_WIMM 8u
#define AT_MPR  10u
#define AT_DOES 11u /* enum transport_does */

static struct mrc_caps caps_of(const struct transport_caps *caps)
{
	return (struct mrc_caps){
		.max_send = caps->max_send,
		.max_recv = caps->max_recv,
		.max_send_sge = caps->max_send_sge,
		.max_inline = caps->max_inline,
		.pd = caps->pd,
		.max_mpr = (uint8_t)(caps->ahead_pkts / MRC_MPR_UNIT),
		.max_wimm = (uint16_t)caps->ahead_imm,
		.max_evs = (uint16_t)caps->max_evs,
	};
}

/* A range is told in units of packets (Table 6-1). */
static uint32_t whole_units(uint32_t pkts)
{
	return (pkts + MRC_MPR_UNIT - 1) / MRC_MPR_UNIT * MRC_MPR_UNIT;
}

static size_t grant(struct transport_caps *caps)
{
	rows_grant_sends(caps);
	if (!caps->ahead_pkts)
		caps->ahead_pkts = AHEAD_PKTS;
	if (!caps->ahead_imm)
		caps->ahead_imm = caps->max_recv < AHEAD_IMM ? caps->max_recv : AHEAD_IMM;
	if (caps->ahead_pkts > MRC_MPR_MAX * MRC_MPR_UNIT || caps->ahead_imm > MRC_WIMM_MAX ||
	    caps->max_evs > PATH_EVS_MAX)
		return 0;
	caps->ahead_pkts = whole_units(caps->ahead_pkts);
	const struct mrc_caps mrc = caps_of(caps);

	return mrc_qp_size(&mrc);
}

static int make(struct engine *e, uint32_t number, const struct transport_caps *caps, void *memory)
{
	const struct mrc_caps mrc = caps_of(caps);

	return mrc_qp_new(e, number, &mrc, memory);
}

static enum engine_state state(const struct engine *e, uint32_t number)
{
	struct mrc_attr is = {.state = MRC_ERROR};

	mrc_qp_query(e, number, &is, NULL, NULL);
	return (enum engine_state)is.state;
}

static int stop(struct engine *e, nsec now, uint32_t number, enum engine_state state)
{
	const struct mrc_attr attr = {.state = (uint8_t)state};

	return mrc_qp_modify(e, now, number, &attr, MRC_SET_STATE);
}

static void tell(const struct transport_self *self, struct transport_end *end)
{
	*end = (struct transport_end){{0}};
	put_be32(end->bytes, self->number);
	put_be32(end->bytes + AT_PSN, self->psn % MRC_NUMBERS);
	put_be16(end->bytes + AT_WIMM, (uint16_t)self->caps->ahead_imm);
	end->bytes[AT_MPR] = (uint8_t)(self->caps->ahead_pkts / MRC_MPR_UNIT);
	end->bytes[AT_DOES] = (uint8_t)self->does;
}

static nsec timeout_ns(uint32_t code)
{
	return TIMEOUT_UNIT << code;
}

static uint8_t code_of(nsec ns)
{
	uint32_t code = 0;

	while (code < MRC_TIMEOUT_MAX && timeout_ns(code) < ns)
		code++;
	return (uint8_t)code;
}

static nsec timeout(nsec ns)
{
	return timeout_ns(code_of(ns));
}

/* What the peer does as a responder is agreed on for each connection and direction (Table 10-1); to
 * one that answers no trimmed packets none that may be trimmed are sent (7.5.3). */
static uint8_t flags_of(uint32_t does, const struct transport_manner *m)
{
	const bool is_answered = does & TRANSPORT_ANSWERS_TRIMS && m->trim != TRANSPORT_TRIM_NEVER;
	uint32_t flags = 0;

	if (is_answered)
		flags |= MRC_PEER_TRIM_NACK;
	else if (m->trim != TRANSPORT_TRIM_ALWAYS)
		flags |= MRC_NO_TRIM;
	if (does & TRANSPORT_TELLS_TIME)
		flags |= MRC_PEER_SERVICE_TIME;
	if (m->counts_trims)
		flags |= MRC_COUNT_TRIMS;
	if (m->is_oblivious)
		flags |= MRC_OBLIVIOUS;
	return (uint8_t)flags;
}

static int go_to(struct engine *e, nsec now, uint32_t number, struct mrc_attr *attr, uint8_t state,
		 uint32_t set)
{
	attr->state = state;
	return mrc_qp_modify(e, now, number, attr, MRC_SET_STATE | set);
}

static int connect(struct engine *e, nsec now, uint32_t number, const struct transport_link *link)
{
	const uint8_t *mine = link->mine.bytes, *theirs = link->theirs.bytes;
	const struct transport_manner *m = &link->manner;
	const struct transport_path *path = &link->path;
	struct mrc_attr attr = {
		.access = link->access,
		.pmtu = link->pmtu,
		.peer = path->peer,
		.local = path->local,
		.evs = path->evs,
		.burst = path->burst,
		.tclass = {path->tclass[0], path->tclass[1], path->tclass[2]},
		.remote_qp = transport_end_number(&link->theirs),
		.rq_psn = get_be32(theirs + AT_PSN),
		.sq_psn = get_be32(mine + AT_PSN),
		.timeout = m->timeout_ns ? code_of(m->timeout_ns) : TIMEOUT_CODE,
		.linear_retries = m->timeout_ns ? (uint8_t)m->retries : LINEAR,
		.exp_retries = m->timeout_ns ? (uint8_t)m->slow_retries : EXPONENTIAL,
		.mpr = mine[AT_MPR],
		.mpr_dest = theirs[AT_MPR],
		.wimm_dest = get_be16(theirs + AT_WIMM),
		.flags = flags_of(theirs[AT_DOES], m),
	};

	if (attr.remote_qp >= MRC_NUMBERS || attr.rq_psn >= MRC_NUMBERS || attr.mpr_dest == 0 ||
	    attr.wimm_dest > MRC_WIMM_MAX)
		return -EPROTO;
	int r = go_to(e, now, number, &attr, MRC_INIT, MRC_SET_ACCESS);

	if (!r)
		r = go_to(e, now, number, &attr, MRC_RTR,
			  MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP | MRC_SET_RQ_PSN |
				  MRC_SET_MPR | MRC_SET_FLAGS);
	if (!r)
		r = go_to(e, now, number, &attr, MRC_RTS,
			  MRC_SET_SQ_PSN | MRC_SET_MPR_DEST | MRC_SET_WIMM_DEST | MRC_SET_TIMEOUT |
				  MRC_SET_RETRIES);
	return r;
}

static int progress(const struct engine *e, uint32_t number, struct transport_progress *p)
{
	struct mrc_progress mrc;
	struct mrc_attr attr;
	int r = mrc_qp_progress(e, number, &mrc);

	if (r)
		return r;
	mrc_qp_query(e, number, &attr, NULL, NULL);
	*p = (struct transport_progress){
		.state = attr.state,
		.open_ports = mrc.open_ports,
		.inflight_bytes = mrc.inflight_bytes,
		.window_bytes = mrc.window_bytes,
		.srtt_ns = mrc.srtt_ns,
		.sent_bytes = mrc.sent_bytes,
		.got_bytes = mrc.got_bytes,
		.sent_packets = mrc.sent_packets,
		.retx_packets = mrc.retx_packets,
		.timeouts = mrc.timeouts,
		.silent = mrc.silent,
	};
	for (uint32_t i = 0; i < PATH_STATES; i++)
		p->evs[i] = mrc.evs[i];
	return 0;
}

const struct transport_pair_ops transport_mrc_pairs = {
	.most =
		{
			.max_send = MRC_WR_MAX,
			.max_recv = MRC_WR_MAX,
			.max_send_sge = ENGINE_SGE,
			.max_inline = ENGINE_INLINE_MAX,
			.ahead_pkts = MRC_MPR_MAX * MRC_MPR_UNIT,
			.ahead_imm = MRC_WIMM_MAX,
			.max_evs = PATH_EVS_MAX,
		},
	.grant = grant,
	.make = make,
	.end = mrc_qp_free,
	.state = state,
	.stop = stop,
	.tell = tell,
	.connect = connect,
	.timeout = timeout,
	.progress = progress,
	.ports_down = mrc_ports_down,
};
