#include "tools/decode/tally.h"

#include <assert.h>
#include <string.h>

void tally_add(struct tally *t, const struct record *r)
{
	uint32_t i = 0;

	t->packets++;
	t->by_verdict[r->verdict]++;
	t->warnings += r->warnings.n;
	for (uint32_t k = 0; k < r->warnings.n; k++)
		t->by_rule[r->warnings.rule[k]]++;
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

const char *tally_rule(const struct tally *t, uint32_t *i, uint64_t *n)
{
	const char *id = NULL;

	for (*n = 0; *i < rules_count(); (*i)++) {
		if (id && strcmp(id, rules_at(*i)->id) != 0)
			break;
		if (t->by_rule[*i])
			id = rules_at(*i)->id;
		*n += t->by_rule[*i];
	}
	return id;
}
