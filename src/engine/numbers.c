#include "engine/numbers.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/places.h"

size_t engine_numbers_bytes(uint32_t most)
{
	return places_for(most) * sizeof(struct engine_number *);
}

void engine_numbers_init(struct engine_numbers *t, void *memory, uint32_t most)
{
	assert(most > 0 && most <= ENGINE_NUMBERS_MOST);
	*t = (struct engine_numbers){.heads = memory, .mask = places_for(most) - 1, .most = most};
	memset(memory, 0, engine_numbers_bytes(most));
}

int engine_numbers_problem(const struct engine_numbers *t, uint32_t number)
{
	if (engine_number_find(t, number))
		return -EEXIST;
	return t->n == t->most ? -ENOSPC : 0;
}

void engine_number_add(struct engine_numbers *t, struct engine_number *link, uint32_t number)
{
	struct engine_number **head = &t->heads[engine_number_chain(t, number)];

	assert(engine_numbers_problem(t, number) == 0);
	*link = (struct engine_number){.next = *head, .number = number};
	*head = link;
	t->n++;
}

void engine_number_remove(struct engine_numbers *t, struct engine_number *link)
{
	struct engine_number **at = &t->heads[engine_number_chain(t, link->number)];

	while (*at != link) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = link->next;
	t->n--;
}

struct engine_number *engine_number_next(const struct engine_numbers *t,
					 const struct engine_number *link)
{
	uint32_t i = link ? engine_number_chain(t, link->number) + 1 : 0;

	if (link && link->next)
		return link->next;
	while (i <= t->mask && !t->heads[i])
		i++;
	return i <= t->mask ? t->heads[i] : NULL;
}
