/* How large the pools are that queue pairs share: at most what the configuration says, and of that
 * what the queue pairs that were made can use. So memory follows the queue pairs, though the block
 * is of one size: what lies beyond a pool's limit is never touched, and nothing moves when the
 * limit does. */
#include "mrc/state.h"

#define ANSWERS_EACH 16u /* what one queue pair may owe while a port is busy */
/* Parts of the memory: records of packets that came and of EVs are small and their lack is felt at
 * once, as NACKs and as bad EVs in use; what they leave is for packets that are out, the lack of
 * which makes a sender wait. */
#define PART_TRACKS    4u
#define PART_EV_FAULTS 4u
#define PART_ANSWERS   16u

/* What a queue pair can hold at most: places for chunks, and a record for each EV and port. */
static struct mrc_needs needs_of(const struct mrc_qp *q)
{
	return (struct mrc_needs){
		.flights = q->req.sent.n_chunks,
		.tracks = q->resp.seen.n_chunks,
		.ev_faults = (q->caps.max_evs ? q->caps.max_evs : MRC_EVS) + PATH_PORTS,
	};
}

void mrc_pools_take(struct mrc *m, const struct mrc_qp *q)
{
	struct mrc_needs more = needs_of(q), *all = &m->needs;

	all->flights += more.flights;
	all->tracks += more.tracks;
	all->ev_faults += more.ev_faults;
	pool_grow(&m->flights, all->flights);
	pool_grow(&m->tracks, all->tracks);
	pool_grow(&m->ev_faults, all->ev_faults);
}

void mrc_pools_leave(struct mrc *m, const struct mrc_qp *q)
{
	struct mrc_needs less = needs_of(q);

	m->needs.flights -= less.flights;
	m->needs.tracks -= less.tracks;
	m->needs.ev_faults -= less.ev_faults;
}

/* Slots of a size for all of them, or as many as fit. */
static uint32_t fit(uint64_t wanted, size_t slot_bytes, uint64_t bytes)
{
	uint64_t most = bytes / (slot_bytes + sizeof(uint32_t));

	return (uint32_t)(wanted < most ? wanted : most > 0 ? most : 1);
}

static uint64_t taken(uint32_t slots, size_t slot_bytes)
{
	return slots * (slot_bytes + sizeof(uint32_t));
}

void mrc_cfg_fit(struct mrc_cfg *cfg, uint64_t bytes, uint32_t evs)
{
	const uint64_t chunks = MRC_MPR_MAX + 1u, qps = cfg->max_qps;
	uint32_t tracks = fit(qps * chunks, sizeof(struct engine_seen_chunk), bytes / PART_TRACKS);
	uint64_t left = bytes - taken(tracks, sizeof(struct engine_seen_chunk));

	cfg->max_early_pkts = tracks * ENGINE_SEEN_PKTS;
	cfg->max_ev_faults =
		fit(qps * (evs + PATH_PORTS), sizeof(struct path_ev_fault), bytes / PART_EV_FAULTS);
	left -= taken(cfg->max_ev_faults, sizeof(struct path_ev_fault));
	cfg->max_answers = fit(qps * ANSWERS_EACH, sizeof(struct mrc_answer), bytes / PART_ANSWERS);
	left -= taken(cfg->max_answers, sizeof(struct mrc_answer));
	cfg->max_out_pkts = fit(qps * chunks * (ENGINE_SEEN_PKTS / ENGINE_SENT_PKTS),
				sizeof(struct engine_sent_chunk), left) *
			    ENGINE_SENT_PKTS;
}
