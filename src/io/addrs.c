#include "io/addrs.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

/* next: place + 1 in its bucket, or of the places that were removed; 0: the last. */
struct addrs_entry {
	struct addr addr;
	uint32_t next;
	bool is_taken;
};

bool addr_of(const struct sockaddr *name, struct addr *a, uint32_t *scope)
{
	static const uint8_t none[16];

	*a = (struct addr){.family = name->sa_family};
	*scope = 0;
	if (name->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, name, sizeof in);
		memcpy(a->ip, &in.sin_addr, 4);
		return memcmp(a->ip, none, 4) != 0 && a->ip[0] < 224;
	}
	if (name->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, name, sizeof in6);
		memcpy(a->ip, &in6.sin6_addr, 16);
		*scope = in6.sin6_scope_id;
		return memcmp(a->ip, none, 16) != 0 && a->ip[0] != 0xff &&
		       !IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr);
	}
	return false;
}

const char *addr_text(const struct addr *a, char *text)
{
	if (!inet_ntop((int)a->family, a->ip, text, ADDRS_TEXT))
		text[0] = 0;
	return text;
}

static uint32_t *bucket_of(const struct addrs *t, const struct addr *a)
{
	uint64_t words[3], sum = 0;

	static_assert(sizeof *a == sizeof words, "addresses are hashed whole");
	memcpy(words, a, sizeof words);
	for (unsigned i = 0; i < 3; i++) {
		sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		sum ^= sum >> 32;
	}
	return &t->buckets[(uint32_t)sum & t->bucket_mask];
}

int addrs_init(struct addrs *t, uint32_t max)
{
	uint32_t n_buckets = 1;

	assert(max > 0 && max <= 1u << 30);
	while (n_buckets < max)
		n_buckets *= 2;
	*t = (struct addrs){.bucket_mask = n_buckets - 1, .max = max};
	t->at = calloc(max, sizeof *t->at);
	t->buckets = calloc(n_buckets, sizeof *t->buckets);
	return t->at && t->buckets ? 0 : -ENOMEM;
}

void addrs_fini(struct addrs *t)
{
	free(t->at);
	free(t->buckets);
}

uint32_t addrs_find(const struct addrs *t, const struct addr *a)
{
	uint32_t next = *bucket_of(t, a);

	while (next && !addr_equal(&t->at[next - 1].addr, a))
		next = t->at[next - 1].next;
	return next ? next - 1 : ADDRS_NONE;
}

uint32_t addrs_add(struct addrs *t, const struct addr *a)
{
	uint32_t *bucket = bucket_of(t, a), place;

	assert(addrs_find(t, a) == ADDRS_NONE);
	if (t->free) {
		place = t->free - 1;
		t->free = t->at[place].next;
	} else if (t->fresh < t->max) {
		place = t->fresh++;
	} else {
		return ADDRS_NONE;
	}
	t->at[place] = (struct addrs_entry){*a, *bucket, true};
	*bucket = place + 1;
	t->n++;
	return place;
}

void addrs_remove(struct addrs *t, uint32_t place)
{
	assert(addrs_is_taken(t, place));
	struct addrs_entry *e = &t->at[place];
	uint32_t *link = bucket_of(t, &e->addr);

	while (*link != place + 1)
		link = &t->at[*link - 1].next;
	*link = e->next;
	e->next = t->free;
	e->is_taken = false;
	t->free = place + 1;
	t->n--;
}

const struct addr *addrs_at(const struct addrs *t, uint32_t place)
{
	assert(addrs_is_taken(t, place));
	return &t->at[place].addr;
}

bool addrs_is_taken(const struct addrs *t, uint32_t place)
{
	return place < t->fresh && t->at[place].is_taken;
}
