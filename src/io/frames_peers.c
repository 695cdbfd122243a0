#include "io/frames_inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int frames_peers_init(struct frames *f)
{
	uint32_t max = f->cfg.max_peers, addresses = max * (f->cfg.n_ports + 1);

	f->free_peer = f->passing = f->last_peer = DRIVER_NO_HANDLE;
	for (uint32_t i = 0; i < FRAMES_STRANGERS; i++)
		f->strangers[i] = DRIVER_NO_HANDLE;
	f->peers = calloc(max, sizeof *f->peers);
	f->headers = calloc((size_t)max * f->cfg.n_ports, sizeof *f->headers);
	f->peer_owners = calloc(addresses, sizeof *f->peer_owners);
	if (!f->peers || !f->headers || !f->peer_owners)
		return -ENOMEM;
	return addrs_init(&f->peer_addrs, addresses);
}

static void free_lists(struct frames_lists *l)
{
	if (!l)
		return;
	free(l->at);
	free(l->slots);
	free(l);
}

void frames_peers_fini(struct frames *f)
{
	for (uint32_t i = 0; f->peers && i < f->fresh_peer; i++)
		for (uint32_t port = 0; port < f->cfg.n_ports; port++)
			free_lists(f->peers[i].lists[port]);
	free(f->peers);
	free(f->headers);
	free(f->peer_owners);
	addrs_fini(&f->peer_addrs);
}

static struct frames_headers *plain_headers(struct frames *f, uint32_t peer, uint32_t port)
{
	return &f->headers[(size_t)peer * f->cfg.n_ports + port];
}

uint32_t frames_headers_route(struct frames *f, struct frames_headers *h, uint32_t port,
			      const struct addr *to)
{
	if (!h->route) {
		uint32_t route = nexthop_get(&f->hops, port, to);

		if (route == NEXTHOP_NONE)
			return DRIVER_NO_HANDLE;
		h->route = route + 1;
	}
	return h->route - 1;
}

static void headers_drop(struct frames *f, struct frames_headers *h)
{
	if (h->route)
		nexthop_put(&f->hops, h->route - 1);
	h->route = h->gen = 0;
}

/* Asks for the route before the first packet needs it, which would be lost otherwise. */
static void headers_prepare(struct frames *f, struct frames_headers *h, uint32_t port,
			    const struct addr *to)
{
	uint32_t route = frames_headers_route(f, h, port, to);

	if (route != DRIVER_NO_HANDLE && f->hops.routes[route].seen != f->hops.routes_gen)
		nexthop_ask(&f->hops, route, f->now);
}

/* A place that another peer took over since is that one's. */
static void drop_address(struct frames *f, uint32_t handle, uint32_t place)
{
	if (addrs_is_taken(&f->peer_addrs, place) && f->peer_owners[place] == handle)
		addrs_remove(&f->peer_addrs, place);
}

static void drop_lists(struct frames *f, struct frames_peer *p, uint32_t port)
{
	struct frames_lists *l = p->lists[port];

	for (uint32_t i = 0; l && i < l->n; i++)
		headers_drop(f, &l->at[i].headers);
	free_lists(l);
	p->lists[port] = NULL;
}

static void discard(struct frames *f, uint32_t handle)
{
	struct frames_peer *p = &f->peers[handle];

	for (uint32_t port = 0; port < f->cfg.n_ports; port++) {
		headers_drop(f, plain_headers(f, handle, port));
		drop_lists(f, p, port);
		if (p->addresses[port])
			drop_address(f, handle, p->addresses[port] - 1);
	}
	drop_address(f, handle, p->first);
	p->is_used = false;
	p->next = f->free_peer;
	f->free_peer = handle;
	if (f->last_peer == handle)
		f->last_peer = DRIVER_NO_HANDLE;
}

/* No longer keeps a peer that only packets named. */
static void let_go(struct frames *f, uint32_t *stranger)
{
	struct frames_peer *p = *stranger < f->fresh_peer ? &f->peers[*stranger] : NULL;

	if (p && p->is_kept) {
		p->is_kept = false;
		if (p->refs == 0 && !p->is_passing)
			discard(f, *stranger);
	}
	*stranger = DRIVER_NO_HANDLE;
}

/* One who was answered may ask again, and then the route is known. */
static void keep(struct frames *f, uint32_t handle)
{
	uint32_t *place = &f->strangers[f->n_strangers++ % FRAMES_STRANGERS];

	let_go(f, place);
	*place = handle;
	f->peers[handle].is_kept = true;
}

static uint32_t make(struct frames *f, const struct addr *a)
{
	uint32_t h, place;

	for (uint32_t i = 0; f->free_peer == DRIVER_NO_HANDLE &&
			     f->fresh_peer == f->cfg.max_peers && i < FRAMES_STRANGERS;
	     i++)
		let_go(f, &f->strangers[i]);
	h = f->free_peer;
	if (h == DRIVER_NO_HANDLE && f->fresh_peer == f->cfg.max_peers)
		return DRIVER_NO_HANDLE;
	place = addrs_add(&f->peer_addrs, a);
	if (place == ADDRS_NONE)
		return DRIVER_NO_HANDLE;
	if (h != DRIVER_NO_HANDLE)
		f->free_peer = f->peers[h].next;
	else
		h = f->fresh_peer++;
	f->peers[h] = (struct frames_peer){.first = place, .is_used = true};
	f->peer_owners[place] = h;
	return h;
}

static uint32_t find(const struct frames *f, const struct addr *a)
{
	uint32_t place = addrs_find(&f->peer_addrs, a);

	return place == ADDRS_NONE ? DRIVER_NO_HANDLE : f->peer_owners[place];
}

static void hold(struct frames *f, uint32_t handle)
{
	struct frames_peer *p = &f->peers[handle];
	struct addr a = *addrs_at(&f->peer_addrs, p->first);

	if (p->refs++ == 0)
		for (uint32_t port = 0; port < f->cfg.n_ports; port++)
			headers_prepare(f, plain_headers(f, handle, port), port, &a);
}

uint32_t frames_peer_get(struct frames *f, const struct sockaddr *remote)
{
	struct addr a;
	uint32_t h;

	if (!frames_addr_of(f, remote, &a))
		return DRIVER_NO_HANDLE;
	h = find(f, &a);
	if (h == DRIVER_NO_HANDLE)
		h = make(f, &a);
	if (h == DRIVER_NO_HANDLE)
		return h;
	hold(f, h);
	return h;
}

static struct frames_peer *peer_of(struct frames *f, uint32_t handle)
{
	assert(handle < f->fresh_peer && f->peers[handle].is_used);
	return &f->peers[handle];
}

void frames_peer_hold(struct frames *f, uint32_t handle)
{
	peer_of(f, handle);
	hold(f, handle);
}

void frames_peer_put(struct frames *f, uint32_t handle)
{
	struct frames_peer *p = peer_of(f, handle);

	assert(p->refs > 0);
	/* One that a packet names as well lives until those are done with. */
	if (--p->refs == 0 && !p->is_passing && !p->is_kept)
		discard(f, handle);
}

uint32_t frames_peers_known(const struct frames *f, const struct addr *a)
{
	uint32_t h = f->last_peer;

	if (h != DRIVER_NO_HANDLE && f->peer_owners[f->peers[h].first] == h &&
	    addr_equal(addrs_at(&f->peer_addrs, f->peers[h].first), a))
		return h;
	return find(f, a);
}

uint32_t frames_peers_seen(struct frames *f, const struct addr *a)
{
	uint32_t h = frames_peers_known(f, a);
	struct frames_peer *p;

	if (h == DRIVER_NO_HANDLE)
		h = make(f, a);
	if (h == DRIVER_NO_HANDLE)
		return h;
	f->last_peer = h;
	p = &f->peers[h];
	/* Also one that is held: it may be put before its packets are looked at. */
	if (!p->is_passing) {
		p->is_passing = true;
		p->next_passing = f->passing;
		f->passing = h;
	}
	return h;
}

void frames_settle(struct frames *f)
{
	while (f->passing != DRIVER_NO_HANDLE) {
		uint32_t h = f->passing;
		struct frames_peer *p = &f->peers[h];

		f->passing = p->next_passing;
		p->is_passing = false;
		if (p->refs > 0 || p->is_kept)
			continue;
		if (p->is_answered)
			keep(f, h);
		else
			discard(f, h);
	}
}

int frames_peer_address(struct frames *f, uint32_t handle, uint32_t port,
			const struct sockaddr *address)
{
	struct frames_peer *p = peer_of(f, handle);
	struct addr a;
	uint32_t place, before;

	assert(port < f->cfg.n_ports);
	before = p->addresses[port];
	if (!frames_addr_of(f, address, &a) ||
	    a.family != addrs_at(&f->peer_addrs, p->first)->family)
		return -EINVAL;
	place = addrs_find(&f->peer_addrs, &a);
	if (place == ADDRS_NONE) {
		place = addrs_add(&f->peer_addrs, &a);
		if (place == ADDRS_NONE)
			return -ENOSPC;
	} else if (f->peer_owners[place] != handle && f->peers[f->peer_owners[place]].refs > 0) {
		return -EINVAL;
	}
	f->peer_owners[place] = handle;
	p->addresses[port] = place + 1;
	if (before && before != place + 1) {
		bool is_in_use = before - 1 == p->first;

		for (uint32_t i = 0; i < f->cfg.n_ports; i++)
			is_in_use |= p->addresses[i] == before;
		if (!is_in_use)
			drop_address(f, handle, before - 1);
	}
	headers_drop(f, plain_headers(f, handle, port));
	headers_prepare(f, plain_headers(f, handle, port), port, &a);
	/* Lists name it in the inner header. */
	nexthops_change(&f->hops);
	return 0;
}

static uint32_t slot_of(const struct frames_lists *l, uint32_t ev)
{
	uint32_t slot = (uint32_t)((uint64_t)(ev * UINT32_C(0x9e3779b1)) >> 7) & l->slot_mask;

	while (l->slots[slot] && l->at[l->slots[slot] - 1].ev != ev)
		slot = (slot + 1) & l->slot_mask;
	return slot;
}

struct frames_list *frames_list_of(struct frames_lists *l, uint32_t ev)
{
	uint32_t place = l->slots[slot_of(l, ev)];

	if (place)
		return &l->at[place - 1];
	if (l->n_open == 0)
		return NULL;
	return &l->at[(uint64_t)(ev * UINT32_C(0x9e3779b1)) * l->n_open >> 32];
}

static void fill_slots(struct frames_lists *l)
{
	memset(l->slots, 0, (l->slot_mask + 1) * sizeof *l->slots);
	for (uint32_t i = 0; i < l->n; i++)
		l->slots[slot_of(l, l->at[i].ev)] = i + 1;
}

/* Room for one more; false: no memory, and nothing has changed. */
static bool lists_grow(struct frames_lists *l)
{
	uint32_t room = l->room ? 2 * l->room : 8;
	struct frames_list *at;
	uint32_t *slots;

	if (l->n < l->room)
		return true;
	slots = calloc(2 * (size_t)room, sizeof *slots);
	at = slots ? realloc(l->at, room * sizeof *at) : NULL;
	if (!at) {
		free(slots);
		return false;
	}
	free(l->slots);
	l->at = at;
	l->slots = slots;
	l->room = room;
	l->slot_mask = 2 * room - 1;
	fill_slots(l);
	return true;
}

/* The last one moves to where the list was; the last open one, if it was open. */
static void remove_list(struct frames *f, struct frames_peer *p, uint32_t port, uint32_t ev)
{
	struct frames_lists *l = p->lists[port];
	uint32_t place = l ? l->slots[slot_of(l, ev)] : 0;

	if (!place)
		return;
	headers_drop(f, &l->at[place - 1].headers);
	if (place <= l->n_open) {
		l->at[place - 1] = l->at[--l->n_open];
		place = l->n_open + 1;
	}
	l->at[place - 1] = l->at[--l->n];
	if (l->n == 0)
		drop_lists(f, p, port);
	else
		fill_slots(l);
}

static struct frames_list *add_list(struct frames *f, struct frames_peer *p, uint32_t port,
				    uint32_t ev)
{
	struct frames_lists *l;
	uint32_t slot;

	if (!p->lists[port])
		p->lists[port] = calloc(1, sizeof *l);
	l = p->lists[port];
	if (!l)
		return NULL;
	if (!lists_grow(l)) {
		if (l->n == 0)
			drop_lists(f, p, port);
		return NULL;
	}
	slot = slot_of(l, ev);
	if (!l->slots[slot]) {
		uint32_t last = l->n++, place = ev < DRIVER_EV_ALONE ? l->n_open++ : last;

		if (place < last)
			l->at[last] = l->at[place];
		l->at[place] = (struct frames_list){.ev = ev};
		l->slots[slot] = place + 1;
		if (place < last) {
			fill_slots(l);
			slot = slot_of(l, ev);
		}
	}
	headers_drop(f, &l->at[l->slots[slot] - 1].headers);
	return &l->at[l->slots[slot] - 1];
}

int frames_peer_segments(struct frames *f, uint32_t handle, uint32_t port, uint32_t ev,
			 const struct encap_segments *segments)
{
	struct frames_peer *p = peer_of(f, handle);
	struct addr first = {.family = AF_INET6};
	struct frames_list *list;

	assert(port < f->cfg.n_ports);
	if (segments->n == 0) {
		remove_list(f, p, port, ev);
		return 0;
	}
	if (segments->n > 2 || addrs_at(&f->peer_addrs, p->first)->family != AF_INET6)
		return -EINVAL;
	list = add_list(f, p, port, ev);
	if (!list)
		return -ENOSPC;
	list->segments = *segments;
	memcpy(first.ip, segments->at[0], sizeof first.ip);
	headers_prepare(f, &list->headers, port, &first);
	return 0;
}
