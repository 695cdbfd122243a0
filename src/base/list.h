/* A queue of things that carry their own link: first in, first out, without memory of its own.
 *
 * A thing has one link for each list that it may be in, and finds itself from the link with
 * LIST_OWNER. The links form a ring, so that a link is in a list exactly when its next is set, and
 * a list is no more than its last link. Everything takes constant time but list_remove, which
 * searches. All zeros is an empty list, and a link that is in none. Engines call this. */
#ifndef WEFT_BASE_LIST_H
#define WEFT_BASE_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded in what is listed. Its memory may not go, nor move, while it is in a list. */
struct list_link {
	struct list_link *next; /* of the last one: the first; NULL: in no list */
};

struct list {
	struct list_link *last; /* NULL: empty */
};

/* The thing, a struct type, whose member is this link. */
#define LIST_OWNER(link, type, member) \
	((struct type *)(void *)((uint8_t *)(link)-offsetof(struct type, member)))

static inline bool list_is_linked(const struct list_link *link)
{
	return link->next != NULL;
}

static inline bool list_is_empty(const struct list *l)
{
	return l->last == NULL;
}

/* The oldest link, or NULL. */
static inline struct list_link *list_first(const struct list *l)
{
	return l->last ? l->last->next : NULL;
}

/* The link behind one that is in l, or NULL. */
static inline struct list_link *list_after(const struct list *l, const struct list_link *link)
{
	return link == l->last ? NULL : link->next;
}

/* Puts a link that is in no list at the front. */
static inline void list_push_front(struct list *l, struct list_link *link)
{
	assert(!link->next);
	if (l->last) {
		link->next = l->last->next;
		l->last->next = link;
	} else {
		link->next = link;
		l->last = link;
	}
}

/* Puts a link that is in no list at the end. */
static inline void list_push(struct list *l, struct list_link *link)
{
	list_push_front(l, link);
	l->last = link;
}

/* Takes the first link out, or NULL. */
static inline struct list_link *list_pop(struct list *l)
{
	struct list_link *last = l->last;

	if (!last)
		return NULL;
	struct list_link *first = last->next;

	if (first == last)
		l->last = NULL;
	else
		last->next = first->next;
	first->next = NULL;
	return first;
}

/* Takes a link that is in l out of it; the others keep their order. Searches from the front. */
static inline void list_remove(struct list *l, struct list_link *link)
{
	struct list_link *before = l->last;

	assert(before && link->next);
	while (before->next != link) {
		before = before->next;
		assert(before != l->last);
	}
	before->next = link->next;
	if (l->last == link)
		l->last = before == link ? NULL : before;
	link->next = NULL;
}

/* Puts a link at the end, unless it is in l already: it may be in no other. */
static inline void list_join(struct list *l, struct list_link *link)
{
	if (!list_is_linked(link))
		list_push(l, link);
}

/* Takes a link out of l, if it is in it: it may be in no other. */
static inline void list_leave(struct list *l, struct list_link *link)
{
	if (list_is_linked(link))
		list_remove(l, link);
}

#endif
