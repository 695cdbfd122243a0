#include "control/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct control *control_new(void)
{
	return calloc(1, sizeof(struct control));
}

void control_free(struct control *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n_profiles; i++)
		free(c->profiles[i].evs);
	free(c);
}

struct control *control_copy(const struct control *c)
{
	struct control *copy = control_new();

	if (!copy)
		return NULL;
	*copy = *c;
	/* Only lists that are its own yet, so that control_free may end it at any point. */
	for (copy->n_profiles = 0; copy->n_profiles < c->n_profiles; copy->n_profiles++) {
		const struct control_profile *from = &c->profiles[copy->n_profiles];
		struct control_profile *to = &copy->profiles[copy->n_profiles];

		if (!from->evs)
			continue;
		to->evs = calloc(from->count, sizeof *to->evs);
		if (!to->evs) {
			control_free(copy);
			return NULL;
		}
		memcpy(to->evs, from->evs, from->count * sizeof *to->evs);
	}
	return copy;
}

struct control_format *control_find_format(struct control *c, uint64_t id)
{
	for (uint32_t i = 0; i < c->n_formats; i++)
		if (c->formats[i].id == id)
			return &c->formats[i];
	return NULL;
}

struct control_profile *control_find_profile(struct control *c, uint64_t id)
{
	for (uint32_t i = 0; i < c->n_profiles; i++)
		if (c->profiles[i].id == id)
			return &c->profiles[i];
	return NULL;
}

struct control_cc *control_find_cc(struct control *c, uint64_t id)
{
	for (uint32_t i = 0; i < c->n_ccs; i++)
		if (c->ccs[i].id == id)
			return &c->ccs[i];
	return NULL;
}

struct control_format *control_add_format(struct control *c, uint64_t id)
{
	if (c->n_formats == CONTROL_PROFILES)
		return NULL;
	struct control_format *f = &c->formats[c->n_formats++];

	*f = (struct control_format){.id = id};
	return f;
}

struct control_profile *control_add_profile(struct control *c, uint64_t id)
{
	if (c->n_profiles == CONTROL_PROFILES)
		return NULL;
	struct control_profile *p = &c->profiles[c->n_profiles++];

	*p = (struct control_profile){.id = id};
	return p;
}

struct control_cc *control_add_cc(struct control *c, uint64_t id)
{
	if (c->n_ccs == CONTROL_PROFILES)
		return NULL;
	struct control_cc *p = &c->ccs[c->n_ccs++];

	*p = (struct control_cc){.id = id};
	return p;
}

static void remove_format(struct control *c, uint64_t id)
{
	struct control_format *f = control_find_format(c, id);

	if (f)
		memmove(f, f + 1, (size_t)(&c->formats[c->n_formats--] - (f + 1)) * sizeof *f);
}

static void remove_profile(struct control *c, uint64_t id)
{
	struct control_profile *p = control_find_profile(c, id);

	if (!p)
		return;
	free(p->evs);
	memmove(p, p + 1, (size_t)(&c->profiles[c->n_profiles--] - (p + 1)) * sizeof *p);
}

static void remove_cc(struct control *c, uint64_t id)
{
	struct control_cc *p = control_find_cc(c, id);

	if (p)
		memmove(p, p + 1, (size_t)(&c->ccs[c->n_ccs--] - (p + 1)) * sizeof *p);
}

void control_remove(struct control *c, enum control_kind kind, uint64_t id)
{
	if (kind == CONTROL_FORMAT)
		remove_format(c, id);
	else if (kind == CONTROL_EV)
		remove_profile(c, id);
	else
		remove_cc(c, id);
}

uint32_t control_count_evs(const struct control *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n_profiles; i++)
		n += c->profiles[i].count;
	return n;
}

int control_set_count(struct control *c, struct control_profile *p, uint32_t count)
{
	if (count == 0 || count > CONTROL_EVS)
		return -EINVAL;
	if (control_count_evs(c) - p->count + count > CONTROL_EVS_ALL)
		return -ENOSPC;
	struct control_ev *evs = calloc(count, sizeof *evs);

	if (!evs)
		return -ENOMEM;
	free(p->evs);
	p->evs = evs;
	p->count = count;
	return 0;
}
