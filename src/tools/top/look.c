/* Looks at processes, and what became of their queue pairs between two looks. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/stats.h"
#include "tools/top/top.h"

#define NS_PER_S UINT64_C(1000000000)

/* A process shows itself a few times a second, and not at all while nothing happens. */
#define STILL_NS (NS_PER_S * 6 / 10)

#define TAKE_MOST 64u /* times 64 words of processes, in one look */

static void free_list(struct top_process *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(list[i].pairs);
	free(list);
}

void top_fini(struct top *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		free_list(t->devices[i].list, t->devices[i].n);
		members_close(t->devices[i].members);
	}
	free(t->devices);
	*t = (struct top){0};
}

/* The process and the pair at the look before; NULL: new. */
static const struct top_process *find_process(const struct top_device *d, uint64_t id)
{
	for (uint32_t i = 0; i < d->n; i++) {
		if (d->list[i].who.id == id)
			return &d->list[i];
	}
	return NULL;
}

static const struct top_pair *find_pair(const struct top_process *p, uint32_t number)
{
	for (uint32_t i = 0; p && i < p->n; i++) {
		if (p->pairs[i].p.number == number)
			return &p->pairs[i];
	}
	return NULL;
}

/* Counters of another life of the number begin below the old ones: no rate then. */
static uint64_t rate(uint64_t now, uint64_t before, nsec elapsed)
{
	return now > before ? stats_scale(now - before, 8 * NS_PER_S, elapsed) : 0;
}

/* What became of a pair since the look before. */
static void compare(struct top_pair *pair, const struct top_pair *before, nsec elapsed)
{
	pair->has_rate = before != NULL;
	if (!before)
		return;
	pair->tx_bps = rate(pair->p.sent_bytes, before->p.sent_bytes, elapsed);
	pair->rx_bps = rate(pair->p.got_bytes, before->p.got_bytes, elapsed);
	if (pair->p.retx_packets > before->p.retx_packets)
		pair->retx = pair->p.retx_packets - before->p.retx_packets;
}

/* Nothing new was shown: the rates still hold, or if that was long ago, nothing moves. */
static void keep(struct top_pair *pair, const struct top_pair *before, nsec age)
{
	pair->has_rate = before && before->has_rate;
	if (!before || age > STILL_NS)
		return;
	pair->tx_bps = before->tx_bps;
	pair->rx_bps = before->rx_bps;
	pair->retx = before->retx;
}

/* The ports that the engine of a process has: over kernel sockets one, whatever the device's
 * interfaces are. */
static uint32_t count_ports(const struct member_device *d)
{
	if (strncmp(d->driver, "udp", sizeof d->driver) == 0)
		return 1;
	return d->n_ports == 0 || d->n_ports > MEMBER_PORTS ? 1 : d->n_ports;
}

/* How the EVs of a pair are spread over ports: by its profile, or evenly where the device's own
 * setup made them. */
static void spread(struct top_pair *pair, const struct control *c, const struct member_device *d)
{
	uint32_t count[MEMBER_PORTS] = {0}, n = pair->p.n_evs, at = 0, n_ports = count_ports(d);
	const struct control_profile *p = NULL;

	for (uint32_t i = 0; c && i < c->n_profiles; i++) {
		if (c->profiles[i].id == pair->p.profile && c->profiles[i].count == n)
			p = &c->profiles[i];
	}
	bool is_by_profile = p && n_ports > 1;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t port = is_by_profile && p->evs[i].port ? p->evs[i].port - 1u : i % n_ports;

		count[port % MEMBER_PORTS]++;
	}
	for (uint32_t i = 0; i < MEMBER_PORTS; i++) {
		pair->first[i] = (uint16_t)at;
		at += count[i];
	}
	pair->first[MEMBER_PORTS] = (uint16_t)at;
}

static int by_number(const void *a, const void *b)
{
	const struct top_pair *x = a, *y = b;

	return x->p.number < y->p.number ? -1 : x->p.number > y->p.number;
}

/* The larger first; what is equal by number, so that rows keep their places. */
static int by_more(uint64_t one, uint64_t other, const void *a, const void *b)
{
	if (one != other)
		return one < other ? 1 : -1;
	return by_number(a, b);
}

static int by_rate(const void *a, const void *b)
{
	const struct top_pair *x = a, *y = b;

	return by_more(x->tx_bps + x->rx_bps, y->tx_bps + y->rx_bps, a, b);
}

static int by_retx(const void *a, const void *b)
{
	const struct top_pair *x = a, *y = b;

	return by_more(x->p.retx_packets, y->p.retx_packets, a, b);
}

static int by_rtt(const void *a, const void *b)
{
	const struct top_pair *x = a, *y = b;

	return by_more(x->p.srtt_ns, y->p.srtt_ns, a, b);
}

static int by_peer(const void *a, const void *b)
{
	const struct top_pair *x = a, *y = b;
	int order = memcmp(x->p.peer, y->p.peer, sizeof x->p.peer);

	return order ? order : by_number(a, b);
}

void top_sort(struct top *t, enum top_key by)
{
	static int (*const orders[TOP_KEYS])(const void *, const void *) = {
		by_rate, by_number, by_peer, by_retx, by_rtt,
	};

	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t k = 0; k < t->devices[i].n; k++) {
			struct top_process *p = &t->devices[i].list[k];

			if (p->n)
				qsort(p->pairs, p->n, sizeof *p->pairs, orders[by]);
		}
}

/* What a look at all processes of a device needs. */
struct look {
	nsec now;
	const struct control *control; /* or NULL */
	struct member_pair *room;      /* MEMBER_PAIRS of them */
};

/* Process i as it stands; one that has shown nothing yet, or not to us, has no pairs. */
static int read_process(struct top_device *d, uint32_t i, const struct look *look,
			struct top_process *p)
{
	struct member_pair *room = look->room;
	uint32_t n = 0;
	int r = members_read(d->members, i, &p->device, room, MEMBER_PAIRS, &n);

	p->who = *members_who(d->members, i);
	p->is_hidden = r == -EACCES;
	if (r)
		return 0;
	p->pairs = calloc(n + 1, sizeof *p->pairs);
	if (!p->pairs)
		return -ENOMEM;
	const struct top_process *before = find_process(d, p->who.id);
	nsec at = p->device.at, age = look->now > at ? look->now - at : 0;

	for (uint32_t k = 0; k < n; k++) {
		if (!room[k].number)
			continue;
		struct top_pair *pair = &p->pairs[p->n++];
		const struct top_pair *old = find_pair(before, room[k].number);

		pair->p = room[k];
		if (before && at <= before->device.at)
			keep(pair, old, age);
		else
			compare(pair, old, before ? at - before->device.at : 0);
		spread(pair, look->control, &p->device);
	}
	qsort(p->pairs, p->n, sizeof *p->pairs, by_rate);
	return 0;
}

int top_find(struct members *m)
{
	struct control_event events[64];
	const uint32_t n = sizeof events / sizeof events[0];
	int r = members_look(m);

	/* What is left stays for the next look. */
	for (uint32_t i = 0; i < TAKE_MOST && members_take(m, events, n) == n; i++)
		;
	return r;
}

static int look_at(struct top_device *d, const struct look *look)
{
	int r = top_find(d->members);
	uint32_t n = members_n(d->members);
	struct top_process *list = calloc(n + 1, sizeof *list);

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && !r; i++)
		r = read_process(d, i, look, &list[i]);
	free_list(d->list, d->n);
	d->list = list;
	d->n = n;
	return r;
}

int top_look(struct top *t, nsec now)
{
	struct member_pair *room = calloc(MEMBER_PAIRS, sizeof *room);
	int r = room ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < t->n && !r; i++) {
		const struct top_device *d = &t->devices[i];
		struct store *store = d->is_governed ? store_open(d->store) : NULL;
		struct control *c = store ? store_read(store) : NULL;

		const struct look look = {now, c, room};

		if (store)
			store_close(store);
		r = look_at(&t->devices[i], &look);
		control_free(c);
	}
	free(room);
	return r;
}

uint32_t top_evs_shown(const struct member_pair *p)
{
	return p->n_evs < MEMBER_EVS ? p->n_evs : MEMBER_EVS;
}

enum top_ev top_ev_state(const struct member_pair *p, uint32_t i)
{
	return (enum top_ev)(p->ev_state[i / 4] >> i % 4 * 2 & 3);
}

const char *top_state_word(uint8_t state)
{
	static const char *const words[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERROR"};

	return state < sizeof words / sizeof words[0] ? words[state] : "?";
}

void top_peer(const struct member_pair *p, char text[64])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t none[16];

	if (memcmp(p->peer, none, sizeof none) == 0)
		snprintf(text, 64, "-");
	else if (memcmp(p->peer, mapped, sizeof mapped) == 0)
		inet_ntop(AF_INET, p->peer + 12, text, 64);
	else
		inet_ntop(AF_INET6, p->peer, text, 64);
}
