#include "fwd/mt_group.h"

#include <string.h>

#include "base/bytes.h"

static bool is_empty(const struct mt_branch *b)
{
	static const uint8_t zeros[16];

	return memcmp(b->address, zeros, 16) == 0;
}

static bool is_below(const struct mt_group *g, uint32_t a, uint32_t b)
{
	return memcmp(g->branches[a].address, g->branches[b].address, 16) < 0;
}

/* Lets the number at `at` sink in a heap of n, the largest at its top. */
static void sink(struct mt_group *g, uint32_t at, uint32_t n)
{
	uint32_t *heap = g->by_address;

	for (uint32_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
		if (child + 1 < n && is_below(g, heap[child], heap[child + 1]))
			child++;
		if (!is_below(g, heap[at], heap[child]))
			return;
		uint32_t up = heap[child];

		heap[child] = heap[at];
		heap[at] = up;
		at = child;
	}
}

void mt_group_index(struct mt_group *g)
{
	uint32_t n = 0;

	g->n_receivers = 0;
	for (uint32_t i = 0; i < g->n_branches; i++) {
		if (is_empty(&g->branches[i]))
			continue;
		g->by_address[n++] = i;
		g->n_receivers += !g->branches[i].is_node;
	}
	g->n_by_address = n;
	for (uint32_t at = n / 2; at-- > 0;)
		sink(g, at, n);
	while (n-- > 1) {
		uint32_t top = g->by_address[0];

		g->by_address[0] = g->by_address[n];
		g->by_address[n] = top;
		sink(g, 0, n);
	}
}

uint32_t mt_group_find(const struct mt_group *g, const uint8_t address[16])
{
	uint32_t from = 0, end = g->n_by_address;

	while (from < end) {
		uint32_t middle = from + (end - from) / 2, branch = g->by_address[middle];
		int order = memcmp(address, g->branches[branch].address, 16);

		if (order == 0)
			return branch;
		if (order < 0)
			end = middle;
		else
			from = middle + 1;
	}
	return MT_NO_BRANCH;
}

bool mt_address_is_usable(const uint8_t address[16])
{
	bool is_link_local = get_be16(address) >> 6 == 0xfe80 >> 6;

	/* ::/96 holds the unspecified address, loopback and nothing of use (RFC 4291 2.5). */
	if (get_be64(address) == 0 &&
	    (get_be32(address + 8) == 0 || get_be32(address + 8) == 0xffff))
		return false;
	return address[0] != 0xff && !is_link_local;
}
