/* What `weft ctl` knows beside the queries: which profiles there are, and which processes use them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "control/members.h"
#include "tools/ctl/ctl.h"

static void take_ids(const struct control *c, struct ctl_ids *ids)
{
	for (uint32_t i = 0; i < c->n_formats; i++)
		ids->at[CONTROL_FORMAT][ids->n[CONTROL_FORMAT]++] = c->formats[i].id;
	for (uint32_t i = 0; i < c->n_profiles; i++)
		ids->at[CONTROL_EV][ids->n[CONTROL_EV]++] = c->profiles[i].id;
	for (uint32_t i = 0; i < c->n_ccs; i++)
		ids->at[CONTROL_CC][ids->n[CONTROL_CC]++] = c->ccs[i].id;
}

int ctl_ids_read(const struct ctl_device *d, struct ctl_ids *ids)
{
	struct store *store = store_open(d->store);
	struct control *c = store ? store_read(store) : NULL;
	int number = errno;

	*ids = (struct ctl_ids){.n = {0}};
	store_close(store);
	if (!c) {
		errno = number;
		return -1;
	}
	for (uint32_t kind = 0; kind < CONTROL_KINDS; kind++) {
		ids->at[kind] = calloc(CONTROL_PROFILES, sizeof *ids->at[kind]);
		if (ids->at[kind])
			continue;
		control_free(c);
		ctl_ids_fini(ids);
		errno = ENOMEM;
		return -1;
	}
	take_ids(c, ids);
	control_free(c);
	return 0;
}

void ctl_ids_fini(struct ctl_ids *ids)
{
	for (uint32_t kind = 0; kind < CONTROL_KINDS; kind++)
		free(ids->at[kind]);
	*ids = (struct ctl_ids){.n = {0}};
}

/* Adds the processes with queue pairs that use it. */
static void add_processes(struct members *m, enum control_kind kind, uint64_t id, struct text *t)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < members_n(m); i++) {
		const struct member_who *who = members_who(m, i);

		if (!members_using_of(m, i, kind, id))
			continue;
		text_add(t, "%s%s (process %d)", found++ ? ", " : ": ", who->command,
			 (int)who->pid);
	}
}

void ctl_users(const struct ctl_device *d, enum control_kind kind, uint64_t id, struct text *t)
{
	struct members *m = members_open(d->store);
	uint32_t n = m ? members_using(m, kind, id) : 0;

	if (n == 0) {
		text_add(t, "queue pairs use it");
		members_close(m);
		return;
	}
	if (n == 1)
		text_add(t, "a queue pair uses it");
	else
		text_add(t, "%u queue pairs use it", n);
	add_processes(m, kind, id, t);
	members_close(m);
}
