#include "tools/tally.h"

#include <assert.h>

void tally_add(struct tally *t, const struct record *r)
{
	uint32_t i = 0;

	t->packets++;
	t->by_verdict[r->verdict]++;
	if (r->fault.why != WIRE_DROP_NONE) {
		t->by_fault[r->fault.why]++;
		return;
	}
	if (!r->name)
		return;
	/* Names are constants of the opcode tables: one pointer each. */
	while (i < t->n_names && t->by_name[i].name != r->name)
		i++;
	if (i == t->n_names) {
		assert(t->n_names < TALLY_NAMES_MAX);
		t->by_name[i].name = r->name;
		t->n_names++;
	}
	t->by_name[i].n++;
}
