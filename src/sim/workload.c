#include "sim/workload.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/patterns.h"

#define FIRST_ROOM 64u

void workload_init(struct workload *w)
{
	memset(w, 0, sizeof *w);
}

void workload_fini(struct workload *w)
{
	free(w->flows);
	free(w->after);
	free(w->groups);
	free(w->receivers);
	memset(w, 0, sizeof *w);
}

/* The next size of an array that is full at room, or 0 when it has reached max. */
static uint32_t more_room(uint32_t room, uint32_t max)
{
	if (room >= max)
		return 0;
	if (room < FIRST_ROOM)
		return FIRST_ROOM;
	return room < max / 2 ? 2 * room : max;
}

/* A list with more room for entries of so many bytes, at most max of them, or NULL: then the list
 * and *room are as they were. */
static void *grow(void *list, uint32_t *room, uint32_t max, size_t bytes)
{
	uint32_t more = more_room(*room, max);
	void *grown = more > 0 ? realloc(list, more * bytes) : NULL;

	if (grown)
		*room = more;
	return grown;
}

uint32_t workload_add(struct workload *w, const struct workload_flow *flow)
{
	assert(flow->bytes > 0 && flow->window > 0 && flow->repeat > 0);
	if (w->n == w->room) {
		struct workload_flow *flows =
			grow(w->flows, &w->room, WORKLOAD_FLOWS_MAX, sizeof *flows);

		if (!flows)
			return UINT32_MAX;
		w->flows = flows;
	}
	struct workload_flow *added = &w->flows[w->n];

	*added = *flow;
	added->n_before = 0;
	added->first_after = 0;
	added->n_after = 0;
	return w->n++;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Room for n more receivers, and one more group. */
static bool make_room(struct workload *w, uint32_t n)
{
	while (w->receiver_room - w->n_receivers < n) {
		uint32_t *list = grow(w->receivers, &w->receiver_room, UINT32_MAX, sizeof *list);

		if (!list)
			return false;
		w->receivers = list;
	}
	if (w->n_groups == w->group_room) {
		struct workload_group *groups =
			grow(w->groups, &w->group_room, WORKLOAD_FLOWS_MAX, sizeof *groups);

		if (!groups)
			return false;
		w->groups = groups;
	}
	return true;
}

uint32_t workload_add_group(struct workload *w, uint32_t src, const uint32_t *hosts, uint32_t n)
{
	assert(n > 0);
	if (!make_room(w, n))
		return UINT32_MAX;
	memcpy(w->receivers + w->n_receivers, hosts, n * sizeof *hosts);
	qsort(w->receivers + w->n_receivers, n, sizeof *hosts, by_number);
	w->groups[w->n_groups] = (struct workload_group){src, w->n_receivers, n};
	w->n_receivers += n;
	return w->n_groups++;
}

int workload_wait(struct workload *w, uint32_t before, uint32_t later)
{
	assert(before < w->n && later < w->n && before != later);
	struct workload_flow *first = &w->flows[before];

	/* The waiters of a flow lie in one row, so nobody else's may have come in between. */
	assert(first->n_after == 0 || first->first_after + first->n_after == w->n_after);
	if (w->n_after == w->after_room) {
		uint32_t *after = grow(w->after, &w->after_room, UINT32_MAX, sizeof *after);

		if (!after)
			return -ENOMEM;
		w->after = after;
	}
	if (first->n_after == 0)
		first->first_after = w->n_after;
	first->n_after++;
	w->after[w->n_after++] = later;
	w->flows[later].n_before++;
	return 0;
}

/* The pieces that every flow takes from cfg as they are. */
static int check_flow(const struct workload_cfg *cfg, struct pattern_error *e)
{
	if (cfg->message_bytes > WORKLOAD_MESSAGE_MAX)
		return pattern_refuse(e,
				      "message: %" PRIu32 " bytes, but a message has at most 1 GiB",
				      cfg->message_bytes);
	if (cfg->window == 0)
		return pattern_refuse(e, "window: 0 messages, but at least 1 must be on its way");
	if (cfg->repeat == 0)
		return pattern_refuse(e, "repeat: 0 times, but a flow runs at least once");
	if (cfg->start_ps > WORKLOAD_TIME_MAX)
		return pattern_refuse(e, "start: more than 53 days from now");
	if (cfg->gap_ps > WORKLOAD_TIME_MAX)
		return pattern_refuse(e, "gap: more than 53 days");
	return 0;
}

/* bytes, where a pattern has one size for all. */
static int check_bytes(const struct workload_cfg *cfg, struct pattern_error *e)
{
	if (cfg->bytes == 0)
		return pattern_refuse(e, "bytes: 0, but a flow has at least 1");
	if (cfg->bytes > WORKLOAD_BYTES_MAX)
		return pattern_refuse(e, "bytes: %" PRIu64 ", but a flow has at most 256 TiB",
				      cfg->bytes);
	if (cfg->repeat > WORKLOAD_BYTES_MAX / cfg->bytes)
		return pattern_refuse(e,
				      "repeat: %" PRIu32 " times %" PRIu64
				      " bytes, but a flow has at most 256 TiB",
				      cfg->repeat, cfg->bytes);
	return 0;
}

/* The last flow's start. An upper bound: in some patterns hosts count, not flows. */
static int check_stagger(const struct workload_cfg *cfg, uint64_t flows, struct pattern_error *e)
{
	uint64_t last;

	if (__builtin_mul_overflow(cfg->stagger_ps, flows, &last) || last > WORKLOAD_TIME_MAX)
		return pattern_refuse(
			e, "stagger: the last of %" PRIu64 " flows starts more than 53 days late",
			flows);
	return 0;
}

static int check(const struct workload *w, const struct workload_cfg *cfg, struct pattern_error *e)
{
	const struct pattern *pattern = pattern_of(cfg->kind);
	uint64_t flows = 0;
	int error;

	if (cfg->hosts < 2)
		return pattern_refuse(e, "hosts: %" PRIu32 ", but a flow needs 2", cfg->hosts);
	if (cfg->hosts > WORKLOAD_FLOWS_MAX)
		return pattern_refuse(e, "hosts: %" PRIu32 ", but at most %" PRIu32, cfg->hosts,
				      WORKLOAD_FLOWS_MAX);
	error = check_flow(cfg, e);
	if (!error && cfg->kind != WORKLOAD_RANDOM)
		error = check_bytes(cfg, e);
	if (!error)
		error = pattern->check(cfg, &flows, e);
	if (error)
		return error;
	if (flows > WORKLOAD_FLOWS_MAX - w->n)
		return pattern_refuse(e, "%s: more than %" PRIu32 " flows in all", pattern->key,
				      WORKLOAD_FLOWS_MAX);
	return cfg->kind == WORKLOAD_RANDOM ? 0 : check_stagger(cfg, flows, e);
}

int workload_build(struct workload *w, const struct workload_cfg *cfg, uint64_t seed, char *error,
		   size_t error_len)
{
	struct pattern_error e = {error, error_len};
	uint32_t n = w->n, n_after = w->n_after;
	uint32_t n_groups = w->n_groups, n_receivers = w->n_receivers;
	int result = check(w, cfg, &e);

	if (result)
		return result;
	result = pattern_of(cfg->kind)->make(w, cfg, seed, &e);
	if (result) {
		/* No flow of before waits for, or is waited for by, one of these. */
		w->n = n;
		w->n_after = n_after;
		w->n_groups = n_groups;
		w->n_receivers = n_receivers;
	}
	return result;
}
