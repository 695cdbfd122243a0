/* How the queue pairs of an MRC device fare, for whoever looks from another process (show.h). */
#include <assert.h>
#include <string.h>

#include "nic/mrc/inside.h"

#define STATE_BITS 2u

static_assert(MEMBER_EVS <= CONTROL_EVS && PATH_STATES <= 1u << STATE_BITS, "a state has two bits");

static void fill_evs(const struct nic_qp *qp, struct member_pair *pair)
{
	uint8_t states[MEMBER_EVS];
	uint32_t n = 0;

	mrc_qp_evs(qp->shard->engine, qp->number, states, MEMBER_EVS, &n);
	pair->n_evs = (uint16_t)n;
	for (uint32_t i = 0; i < n && i < MEMBER_EVS; i++)
		pair->ev_state[i / 4] |= (uint8_t)(states[i] << i % 4 * STATE_BITS);
}

void mrc_fill_pair(const struct nic_qp *qp, struct member_pair *pair)
{
	const struct mrc_naming *n = mrc_naming_of(qp);

	pair->profile = n && n->evs ? n->evs->id : 0;
	fill_evs(qp, pair);
}
