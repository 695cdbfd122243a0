/* Address handles: the sending half of a queue pair, whose peer serves strangers. */
#include <errno.h>

#include "engine/layout.h"
#include "state.h"

#define ADDRESS_SENDS 16u
#define ADDRESS_SGE   2u

static const struct transport_caps caps = {.max_send = ADDRESS_SENDS, .max_send_sge = ADDRESS_SGE};

static size_t bytes(void)
{
	return engine_aligned(sizeof(struct stopwait_pair)) + stopwait_sends_bytes(&caps);
}

static int check(const struct stopwait *s, uint32_t number, const struct transport_address *to)
{
	if (number <= STOPWAIT_OPEN || number >= STOPWAIT_NUMBERS)
		return -EINVAL;
	if (stopwait_find(s, number))
		return -EEXIST;
	if (transport_end_number(&to->theirs) != STOPWAIT_OPEN)
		return -EPROTO;
	return engine_numbers_problem(&s->addresses, number);
}

static int make(struct engine *e, nsec now, uint32_t number, const struct transport_address *to,
		void *memory)
{
	struct stopwait *s = stopwait_of(e);
	struct stopwait_pair *p = memory;
	const struct transport_link link = {
		.theirs = to->theirs, .path = to->path, .manner = to->manner, .pmtu = to->pmtu};
	int problem = check(s, number, to);

	s->now = now;
	if (problem)
		return problem;
	if (!stopwait_is_link_good(&link))
		return -EINVAL;
	*p = (struct stopwait_pair){.caps = caps, .end.number = number, .is_address = true};
	stopwait_init_sends(p);
	stopwait_take_link(p, &link);
	engine_number_add(&s->addresses, &p->id, number);
	stopwait_set_state(s, p, ENGINE_RTS);
	return 0;
}

static int end(struct engine *e, nsec now, uint32_t number, void **memory)
{
	struct stopwait *s = stopwait_of(e);
	struct stopwait_pair *p = stopwait_find_address(s, number);

	s->now = now;
	if (!p)
		return -ENOENT;
	if (p->sends.freed < p->sends.posted)
		return -EBUSY;
	engine_number_remove(&s->addresses, &p->id);
	*memory = p;
	return 0;
}

const struct transport_address_ops stopwait_addresses = {
	.most = STOPWAIT_ADDRESSES,
	.bytes = bytes,
	.make = make,
	.end = end,
};
