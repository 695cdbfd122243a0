/* A controller of the MRC device under test, as another process would be one: it changes the
 * device's state and looks at who is on the device. All files are in a directory of their own. */
#ifndef WEFT_TESTS_SUPPORT_CONTROLLER_H
#define WEFT_TESTS_SUPPORT_CONTROLLER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "control/members.h"
#include "control/store.h"
#include "nic/mrc/nic_mrc.h"

struct controller {
	struct store *store;
	struct members *members;
	struct control *state; /* between controller_begin and controller_commit */
};

static char controller_directory[] = "/tmp/weft-control-XXXXXX";

/* Before any device is opened, and when all are closed. */
static inline void controller_setup(void)
{
	if (!mkdtemp(controller_directory))
		abort();
	setenv("WEFT_STATE_DIR", controller_directory, 1);
}

static inline void controller_teardown(void)
{
	DIR *directory = opendir(controller_directory);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	rmdir(controller_directory);
}

static inline void controller_open(struct controller *c, struct nic_user *u)
{
	char name[STORE_NAME_MAX];

	assert_int_equal(nic_mrc_store_name(u, name), 0);
	c->store = store_open(name);
	c->members = members_open(name);
	assert_true(c->store && c->members);
	assert_int_equal(members_look(c->members), 0);
}

static inline void controller_begin(struct controller *c)
{
	assert_int_equal(store_begin(c->store, &c->state), 0);
}

static inline void controller_commit(struct controller *c)
{
	assert_int_equal(store_commit(c->store, c->state), 0);
	store_end(c->store);
	control_free(c->state);
}

/* Nothing of what it set is left for the next. */
static inline void controller_close(struct controller *c)
{
	controller_begin(c);
	while (c->state->n_profiles)
		control_remove(c->state, CONTROL_EV, c->state->profiles[0].id);
	while (c->state->n_ccs)
		control_remove(c->state, CONTROL_CC, c->state->ccs[0].id);
	while (c->state->n_formats)
		control_remove(c->state, CONTROL_FORMAT, c->state->formats[0].id);
	c->state->disabled_ports = 0;
	controller_commit(c);
	members_close(c->members);
	store_close(c->store);
}

/* n values with source ports from `first` on, those of places that are a multiple of `ports` by
 * port 1 and so on; online, and every event is told. */
static inline struct control_profile *controller_add(struct controller *c, uint64_t id, uint32_t n,
						     uint16_t first, uint32_t ports)
{
	struct control_profile *p = control_add_profile(c->state, id);

	assert_non_null(p);
	assert_int_equal(control_set_count(c->state, p, n), 0);
	p->mode = CONTROL_AUTO;
	p->phase = CONTROL_ONLINE;
	p->event_mask = CONTROL_REPORT_GOOD | CONTROL_REPORT_BAD;
	for (uint32_t i = 0; i < n; i++) {
		p->evs[i].val[0] = (uint8_t)((first + i) >> 8);
		p->evs[i].val[1] = (uint8_t)(first + i);
		p->evs[i].port = (uint8_t)(i % ports + 1);
	}
	return p;
}

/* How many queue pairs use a profile. */
static inline uint32_t controller_count(struct controller *c, enum control_kind kind, uint64_t id)
{
	assert_int_equal(members_look(c->members), 0);
	return members_using(c->members, kind, id);
}

#endif
