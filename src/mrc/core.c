/* What the other files of MRC stand on: queue pairs by their number, their turns to send and to
 * answer, who waits for room to send, and what all packets of a queue pair have in common. */
#include <assert.h>
#include <errno.h>

#include "mrc/state.h"

struct mrc_qp *mrc_find(const struct mrc *m, uint32_t number)
{
	struct engine_number *id = engine_number_find(&m->qps, number);

	return id ? LIST_OWNER(id, mrc_qp, id) : NULL;
}

int mrc_find_with_ev(const struct mrc *m, uint32_t number, uint32_t ev, struct mrc_qp **q)
{
	*q = mrc_find(m, number);
	if (!*q)
		return -ENOENT;
	return (*q)->attr.evs && ev < (*q)->attr.evs->set.n ? 0 : -EINVAL;
}

struct mrc_qp *mrc_next_qp(const struct mrc *m, const struct mrc_qp *q)
{
	struct engine_number *id = engine_number_next(&m->qps, q ? &q->id : NULL);

	return id ? LIST_OWNER(id, mrc_qp, id) : NULL;
}

/* Where answers may leave: by ports whose planes brought packets lately, as who only answers learns
 * nothing of planes that lose them; by all in use, or all there are, if none did. */
static uint32_t ports_back(const struct mrc *m, const struct mrc_qp *q)
{
	const struct mrc_responder *p = &q->resp;
	uint32_t ports = path_ports(&q->req.path), live = p->rx_ports[0] | p->rx_ports[1];

	if (!ports)
		ports = q->attr.evs->set.ports;
	return ports & live && m->now < p->rx_port_at + MRC_RX_PORT_NS ? ports & live : ports;
}

uint32_t mrc_ports_of(const struct mrc *m, const struct mrc_qp *q, bool is_answer)
{
	return is_answer ? ports_back(m, q) : path_ports(&q->req.path);
}

static void count_turn(struct mrc_turns *t, uint32_t ports, uint32_t by)
{
	for (; ports; ports &= ports - 1)
		t->n_on[__builtin_ctz(ports)] += by;
}

/* One whose ports are all out of use is in the list, and counted by none. */
static uint8_t add_turn(struct mrc_turns *t, struct list_link *link, uint32_t ports)
{
	list_push(&t->list, link);
	count_turn(t, ports, 1);
	return (uint8_t)ports;
}

static void take_out(struct mrc_turns *t, struct list_link *link, uint32_t ports)
{
	if (!list_is_linked(link))
		return;
	list_remove(&t->list, link);
	count_turn(t, ports, UINT32_MAX);
}

/* A queue pair without EVs has not begun, and nothing to say. */
void mrc_wake_send(struct mrc *m, struct mrc_qp *q)
{
	if (!list_is_linked(&q->send_link) && q->attr.evs)
		q->send_ports = add_turn(&m->sending, &q->send_link, mrc_ports_of(m, q, false));
}

void mrc_wake_answer(struct mrc *m, struct mrc_qp *q)
{
	if (list_is_linked(&q->answer_link) || !q->attr.evs)
		return;
	q->answer_ports = add_turn(&m->answering, &q->answer_link, mrc_ports_of(m, q, true));
	/* Other ports will do, if these stay shut. */
	if (q->answer_ports != q->attr.evs->set.ports)
		mrc_wake_at(m, q, q->resp.rx_port_at + MRC_RX_PORT_NS);
}

void mrc_unlist_turns(struct mrc *m, struct mrc_qp *q)
{
	take_out(&m->sending, &q->send_link, q->send_ports);
	take_out(&m->answering, &q->answer_link, q->answer_ports);
}

static uint8_t recount(struct mrc_turns *t, const struct list_link *link, uint32_t was,
		       uint32_t ports)
{
	if (list_is_linked(link)) {
		count_turn(t, was, UINT32_MAX);
		count_turn(t, ports, 1);
	}
	return (uint8_t)ports;
}

void mrc_recount_turns(struct mrc *m, struct mrc_qp *q)
{
	uint32_t send = mrc_ports_of(m, q, false), answer = mrc_ports_of(m, q, true);

	if (q->send_ports != send)
		q->send_ports = recount(&m->sending, &q->send_link, q->send_ports, send);
	if (q->answer_ports != answer)
		q->answer_ports = recount(&m->answering, &q->answer_link, q->answer_ports, answer);
}

bool mrc_has_turns(const struct mrc_turns *t, uint32_t free_ports)
{
	for (; free_ports; free_ports &= free_ports - 1)
		if (t->n_on[__builtin_ctz(free_ports)] > 0)
			return true;
	return false;
}

static struct mrc_qp *turn_owner(struct list_link *link, bool is_answer)
{
	return is_answer ? LIST_OWNER(link, mrc_qp, answer_link)
			 : LIST_OWNER(link, mrc_qp, send_link);
}

static uint32_t turn_ports(const struct mrc_qp *q, bool is_answer)
{
	return is_answer ? q->answer_ports : q->send_ports;
}

struct mrc_qp *mrc_next_turn(struct mrc_turns *t, uint32_t free_ports, bool is_answer)
{
	struct list_link *link = list_first(&t->list), *first;
	struct mrc_qp *q = turn_owner(link, is_answer);

	while (!(turn_ports(q, is_answer) & free_ports)) {
		link = list_after(&t->list, link);
		q = turn_owner(link, is_answer);
	}
	take_out(t, link, turn_ports(q, is_answer));
	/* With many queue pairs each is cold when its turn comes: the next one is fetched while
	 * this one has its turn. */
	first = list_first(&t->list);
	if (first && is_answer)
		mrc_fetch(&turn_owner(first, true)->resp, sizeof q->resp);
	else if (first)
		mrc_fetch(&turn_owner(first, false)->req, sizeof q->req);
	return q;
}

void mrc_starve(struct mrc *m, struct mrc_qp *q)
{
	list_join(&m->starved, &q->starved_link);
}

void mrc_unlist_starved(struct mrc *m, struct mrc_qp *q)
{
	list_leave(&m->starved, &q->starved_link);
}

/* A chunk is offered to the first that starves on each port, since a port may be shut. Whoever gets
 * a turn offers what it leaves, so that one offer goes on until it is taken, and a thousand starved
 * queue pairs are not all woken for one chunk. */
void mrc_offer_chunk(struct mrc *m)
{
	uint32_t ports = mrc_all_ports(m);
	struct list_link *link = list_first(&m->starved), *next;

	if (pool_left(&m->flights) == 0)
		return;
	for (; link && ports; link = next) {
		struct mrc_qp *q = LIST_OWNER(link, mrc_qp, starved_link);

		next = list_after(&m->starved, link);
		if (ports & mrc_ports_of(m, q, false)) {
			ports &= ~mrc_ports_of(m, q, false);
			list_remove(&m->starved, link);
			mrc_wake_send(m, q);
		}
	}
}

void mrc_offer_chunks(struct mrc *m, uint32_t n)
{
	while (n-- > 0)
		mrc_offer_chunk(m);
}

struct traced_qp mrc_traced(const struct mrc *m, const struct mrc_qp *q)
{
	uint32_t psn = mrc_psn(q->attr.sq_psn, q->req.sent.una).v;

	return (struct traced_qp){m->now, q->id.number, psn};
}

void mrc_set_state(const struct mrc *m, struct mrc_qp *q, uint8_t state)
{
	const struct traced_qp of = mrc_traced(m, q);

	traced_move(&m->cfg.trace, &of, &q->state, state);
}

void mrc_finish_packet(struct mrc *m, const struct mrc_qp *q, const struct path_ev *ev,
		       struct mrc_pkt *h, uint32_t payload, struct tx_pkt *tx)
{
	h->bth.pad = engine_pad_of(payload);
	h->bth.pkey = mrc_has_partition(h->bth.opcode) ? ROCE_PKEY_DEFAULT : m->cfg.pkey;
	h->bth.dest_qp = q->attr.remote_qp;
	tx->head_len = (uint16_t)mrc_head_put(h, (struct span){tx->head, ENGINE_HEAD_MAX});
	assert(tx->head_len > 0);
	if (h->bth.pad > 0)
		engine_cut_pad(tx, h->bth.pad);
	tx->port = (uint8_t)ev->port;
	tx->ev = ev->value;
	tx->peer = q->attr.peer;
	tx->local = q->attr.local;
}
