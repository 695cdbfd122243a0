/* Packets that the kernel had no room for. The engine's packets point into the application's memory
 * and are its own until the next call, so they are copied here, whole, and go first when there is
 * room again. Until then nothing is pulled: the engine keeps what it has, instead of losing it on
 * the way out and finding out by a timeout. Receiving goes on, or two full sockets would wait for
 * each other. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "nic/inside.h"

bool backlog_init(struct backlog *b, const struct carrier *c)
{
	b->slot_bytes = ENGINE_HEAD_MAX + (uint32_t)c->payload_max + c->pad_max;
	b->bytes = malloc((size_t)DRIVER_BATCH * b->slot_bytes);
	return b->bytes != NULL;
}

void backlog_fini(struct backlog *b)
{
	free(b->bytes);
	b->bytes = NULL;
}

static uint32_t copy_body(uint8_t *to, uint32_t room, const struct tx_pkt *p)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < p->n_body; i++) {
		const struct cspan *piece = &p->body[i];

		assert(len + piece->len <= room);
		if (piece->at)
			memcpy(to + len, piece->at, piece->len);
		else
			memset(to + len, 0, piece->len);
		len += piece->len;
	}
	return len;
}

void backlog_keep(struct backlog *b, const struct tx_pkt *pkts, uint32_t n)
{
	assert(b->n == 0 && n <= DRIVER_BATCH);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *at = b->bytes + (size_t)i * b->slot_bytes;
		struct tx_pkt *p = &b->pkts[i];

		*p = pkts[i];
		memcpy(at, pkts[i].head, pkts[i].head_len);
		p->head = at;
		p->body[0] = (struct cspan){
			at + ENGINE_HEAD_MAX,
			copy_body(at + ENGINE_HEAD_MAX, b->slot_bytes - ENGINE_HEAD_MAX, &pkts[i])};
		p->n_body = p->body[0].len > 0;
	}
	b->at = 0;
	b->n = n;
}

void backlog_forget(struct backlog *b, uint32_t peer, uint32_t local)
{
	uint32_t kept = 0;

	for (uint32_t i = b->at; i < b->at + b->n; i++)
		if (b->pkts[i].peer != peer && b->pkts[i].local != local)
			b->pkts[b->at + kept++] = b->pkts[i];
	b->n = kept;
}

bool backlog_send(struct backlog *b, struct driver *u)
{
	if (b->n == 0)
		return true;
	uint32_t sent = driver_send(u, b->pkts + b->at, b->n);

	b->at += sent;
	b->n -= sent;
	return b->n == 0;
}
