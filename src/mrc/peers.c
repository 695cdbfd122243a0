/* Which queue pairs have EVs to a peer. Packets in the name of anybody make us ask, so they are in
 * lists by a hash of their peers, and few others are looked at. */
#include <string.h>

#include "mrc/state.h"

/* At most so many lists. */
#define LISTS_LEAST 64u
#define LISTS_MOST  (UINT32_C(1) << (32 - HASH_SHIFT))
#define HASH_SHIFT  12u

static uint32_t n_lists_of(const struct mrc_cfg *cfg)
{
	uint32_t n = LISTS_LEAST;

	while (n < cfg->max_qps && n < LISTS_MOST)
		n *= 2;
	return n;
}

size_t mrc_peers_bytes(const struct mrc_cfg *cfg)
{
	return n_lists_of(cfg) * sizeof(struct mrc_qp *);
}

void mrc_peers_init(struct mrc *m, void *memory)
{
	m->peers = (struct mrc_peers){.lists = memory, .mask = n_lists_of(&m->cfg) - 1};
	memset(memory, 0, mrc_peers_bytes(&m->cfg));
}

static struct mrc_qp **list_of(const struct mrc_peers *peers, uint32_t peer)
{
	return &peers->lists[peer * UINT32_C(0x9e3779b1) >> HASH_SHIFT & peers->mask];
}

void mrc_peer_join(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_qp **list = list_of(&m->peers, q->attr.peer);

	q->known_peer = q->attr.peer;
	q->peer_next = *list;
	q->peer_link = list;
	if (*list)
		(*list)->peer_link = &q->peer_next;
	*list = q;
}

void mrc_peer_leave(struct mrc_qp *q)
{
	*q->peer_link = q->peer_next;
	if (q->peer_next)
		q->peer_next->peer_link = q->peer_link;
}

struct mrc_qp *mrc_next_with_peer(const struct mrc *m, uint32_t peer, const struct mrc_qp *q)
{
	struct mrc_qp *next = q ? q->peer_next : *list_of(&m->peers, peer);

	while (next && next->known_peer != peer)
		next = next->peer_next;
	return next;
}
