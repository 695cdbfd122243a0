#include "sim/packet.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/net.h"

enum {
	CHUNK_PACKETS = 1024,
	CHUNKS_FIRST = 16,
	CACHE_LINE = 64,
};

void packet_pool_init(struct packet_pool *pool, uint32_t head_bytes)
{
	size_t slot = offsetof(struct packet, head) + head_bytes;

	assert(head_bytes <= PACKET_HEAD_MAX);

	*pool = (struct packet_pool){
		.head_bytes = head_bytes,
		.stride = (slot + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE,
	};
}

static struct packet *slot_at(const struct packet_pool *pool, uint32_t chunk, uint32_t i)
{
	return (struct packet *)(void *)((char *)pool->chunks[chunk] + i * pool->stride);
}

void packet_pool_fini(struct packet_pool *pool)
{
	for (uint32_t chunk = 0; chunk < pool->n_chunks; chunk++) {
		for (uint32_t i = 0; i < CHUNK_PACKETS; i++) {
			struct packet *p = slot_at(pool, chunk, i);

			if (!p->is_free && !p->is_pause)
				packet_drop_body(p);
		}
		free(pool->chunks[chunk]);
	}
	free(pool->chunks);
	*pool = (struct packet_pool){0};
}

/* Puts a chunk of new packets on the free list, the lowest first. */
static bool grow(struct packet_pool *pool)
{
	if (pool->n_chunks == pool->chunk_room) {
		uint32_t room = pool->chunk_room ? 2 * pool->chunk_room : CHUNKS_FIRST;
		void **chunks = realloc(pool->chunks, room * sizeof *chunks);

		if (!chunks)
			return false;
		pool->chunks = chunks;
		pool->chunk_room = room;
	}
	void *chunk = aligned_alloc(CACHE_LINE, CHUNK_PACKETS * pool->stride);

	if (!chunk)
		return false;
	pool->chunks[pool->n_chunks++] = chunk;
	for (uint32_t i = CHUNK_PACKETS; i-- > 0;) {
		struct packet *p = slot_at(pool, pool->n_chunks - 1, i);

		p->is_free = true;
		p->next = pool->free;
		pool->free = p;
	}
	return true;
}

struct packet *packet_get(struct packet_pool *pool)
{
	if (__builtin_expect(!pool->free, 0) && !grow(pool))
		return NULL;
	struct packet *p = pool->free;

	pool->free = p->next;
	if (++pool->in_use > pool->most)
		pool->most = pool->in_use;
	/* What only counts with another field set is left as it was. */
	p->body = NULL;
	p->in_port = UINT32_MAX;
	p->len = 0;
	p->hops = 0;
	p->start = 0;
	p->stored = 0;
	p->dscp = 0;
	p->is_free = false;
	p->is_fcs_bad = false;
	p->is_pause = false;
	p->is_real = false;
	p->is_cut = false;
	p->carrier = 0;
	return p;
}

void packet_put(struct packet_pool *pool, struct packet *p)
{
	assert(pool->in_use > 0 && !p->is_free);
	packet_drop_body(p);
	p->is_free = true;
	p->next = pool->free;
	pool->free = p;
	pool->in_use--;
}

struct packet *packet_copy(struct packet_pool *pool, const struct packet *p)
{
	struct packet *copy = packet_get(pool);

	if (!copy)
		return NULL;
	memcpy(copy, p, offsetof(struct packet, head));
	if (copy->body)
		copy->body->refs++;
	memcpy(copy->head + copy->start, p->head + p->start, p->stored);
	return copy;
}

static struct packet_body *new_body(uint32_t len)
{
	struct packet_body *body = calloc(1, sizeof *body + len);

	if (body) {
		body->refs = 1;
		body->len = len;
	}
	return body;
}

bool packet_add_body(struct packet *p, uint32_t len)
{
	assert(!p->body);
	p->body = new_body(len);
	return p->body != NULL;
}

void packet_drop_body(struct packet *p)
{
	if (p->body && --p->body->refs == 0)
		free(p->body);
	p->body = NULL;
}

/* Past one IP header at *at; the protocol of what follows, or -1. No seal by a CRC knows
 * options of IPv4. */
static int pass_ip(struct cspan stored, uint32_t *at)
{
	const uint8_t *ip = stored.at + *at;
	uint32_t left = stored.len - *at;

	if (left >= ipv4_bytes && ip[0] == 0x45) {
		*at += ipv4_bytes;
		return ip[9];
	}
	if (left < ipv6_bytes || ip[0] >> 4 != 6)
		return -1;
	*at += ipv6_bytes;
	return ip[6];
}

/* Past a segment routing header at *at; the protocol of what follows, or -1. */
static int pass_srh(struct cspan stored, uint32_t *at)
{
	if (stored.len - *at < srh_bytes)
		return -1;
	const uint8_t *srh = stored.at + *at;
	uint32_t bytes = 8 * (srh[1] + 1u);

	if (stored.len - *at < bytes)
		return -1;
	*at += bytes;
	return srh[0];
}

/* Past the Ethernet header and VLAN tags, to *at; false when no IP follows. */
static bool pass_link(struct cspan stored, uint32_t *at)
{
	*at = eth_bytes;
	for (uint32_t tags = 0; tags <= NET_VLANS_MAX && *at <= stored.len; tags++) {
		uint16_t type = get_be16(stored.at + *at - 2);

		if (type != ETHERTYPE_VLAN && type != ETHERTYPE_QINQ)
			return type == ETHERTYPE_IPV6 || type == ETHERTYPE_IPV4;
		*at += vlan_bytes;
	}
	return false;
}

bool packet_find(const struct packet *p, const struct carriers *known, struct packet_places *places)
{
	const struct carrier_use *use = &known->use[p->carrier];
	uint32_t front = carrier_front_bytes(use->is);
	struct cspan stored = {p->head + p->start, p->stored};
	uint32_t at;
	int next = IPPROTO_IPV6_IN;

	if (!pass_link(stored, &at))
		return false;
	for (uint32_t n = 0; n < 2 && (next == IPPROTO_IPV6_IN || next == IPPROTO_IPV4_IN); n++) {
		places->ip = at;
		next = pass_ip(stored, &at);
		if (next == IPPROTO_ROUTING_IN)
			next = pass_srh(stored, &at);
	}
	places->transport = at + front;
	return next == use->protocol && stored.len - at >= front;
}

/* The bytes behind the stored ones: of the body as far as it goes, then zeros. */
struct rest {
	struct cspan body;
	uint32_t len;
};

static struct rest rest_of(const struct packet *p)
{
	struct rest r = {{NULL, 0}, p->len - p->stored};

	if (p->body) {
		r.body.at = p->body->bytes;
		r.body.len = p->body->len < r.len ? p->body->len : r.len;
	}
	return r;
}

/* Bytes [from, end) of a frame. */
struct stretch {
	uint32_t from, end;
};

static void copy_bytes(const struct packet *p, struct stretch what, uint8_t *out)
{
	struct rest r = rest_of(p);

	for (uint32_t at = what.from; at < what.end; at++) {
		uint32_t behind = at - p->stored;

		if (at < p->stored)
			*out++ = p->head[p->start + at];
		else
			*out++ = behind < r.body.len ? r.body.at[behind] : 0;
	}
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

const struct seal *packet_seal(const struct packet *p, const struct carriers *known,
			       uint32_t transport)
{
	const struct carrier *c = known->use[p->carrier].is;
	uint8_t head[UINT8_MAX];

	if (p->len < transport + c->head_least)
		return carrier_plain_seal(c);
	copy_bytes(p, (struct stretch){transport, transport + c->head_least}, head);
	return carrier_seal_of(c, head);
}

/* What a CRC covers of a frame, in pieces: stored bytes, the body's, zeros. */
static void cover(const struct packet *p, struct stretch what, struct cspan pieces[3])
{
	struct rest r = rest_of(p);
	uint32_t stored = smaller(what.end, p->stored), rest = what.end - stored;
	uint32_t body = smaller(rest, r.body.len);

	pieces[0] = (struct cspan){p->head + p->start + what.from, stored - what.from};
	pieces[1] = (struct cspan){r.body.at, body};
	pieces[2] = (struct cspan){NULL, rest - body};
}

/* The end that a frame should have; false when there is none to be known: it was cut, is no such
 * packet, or its seal is not by a CRC. */
struct tail {
	const struct seal *seal;
	uint32_t crc;
};

static bool find_tail(const struct packet *p, const struct carriers *known, struct tail *tail)
{
	const struct carrier *c = known->use[p->carrier].is;
	struct packet_places places;
	struct cspan pieces[3];

	if (p->is_cut || !packet_find(p, known, &places))
		return false;
	bool is_v4 = p->head[p->start + places.ip] >> 4 == 4;
	uint32_t front = (is_v4 ? ipv4_bytes : ipv6_bytes) + carrier_front_bytes(c);

	tail->seal = packet_seal(p, known, places.transport);
	/* A routing header behind the innermost IP header: no CRC covers such a packet. */
	if (!seal_is_crc(tail->seal) || places.transport - places.ip != front)
		return false;
	uint32_t end = p->len - tail->seal->tail_bytes;

	if (p->len < places.transport + c->head_least + tail->seal->tail_bytes ||
	    end < places.ip + seal_least(tail->seal, is_v4))
		return false;
	cover(p, (struct stretch){places.ip, end}, pieces);
	tail->crc = seal_sum(tail->seal, pieces, 3);
	return true;
}

/* Writes all bytes behind the stored ones. The end of a seal still to be made never stands among
 * the stored bytes. */
static void write_rest(const struct packet *p, const struct carriers *known, uint8_t *out)
{
	struct rest r = rest_of(p);
	struct tail tail;

	if (r.body.len > 0)
		memcpy(out, r.body.at, r.body.len);
	if (r.len > r.body.len)
		memset(out + r.body.len, 0, r.len - r.body.len);
	if (!p->is_real && find_tail(p, known, &tail) && r.len >= tail.seal->tail_bytes)
		seal_put(tail.seal, out + r.len - tail.seal->tail_bytes, tail.crc);
}

bool packet_make_real(struct packet *p, const struct carriers *known)
{
	if (p->is_real && (!p->body || p->body->refs == 1))
		return true;
	struct packet_body *body = NULL;

	if (p->len > p->stored) {
		body = new_body(p->len - p->stored);
		if (!body)
			return false;
		write_rest(p, known, body->bytes);
	}
	packet_drop_body(p);
	p->body = body;
	p->is_real = true;
	p->hops = 0; /* whoever wants it real is about to change it */
	return true;
}

void packet_bytes(const struct packet *p, const struct carriers *known, uint8_t *out)
{
	memcpy(out, p->head + p->start, p->stored);
	write_rest(p, known, out + p->stored);
}

void packet_repair(struct packet *p, const struct carriers *known)
{
	uint8_t bytes[SEAL_TAIL_MAX];
	struct tail tail;

	assert(p->is_real);
	if (!find_tail(p, known, &tail))
		return;
	uint32_t n = tail.seal->tail_bytes;

	seal_put(tail.seal, bytes, tail.crc);
	for (uint32_t i = 0; i < n; i++)
		*packet_byte(p, p->len - n + i) = bytes[i];
}

void packet_set_frame(struct packet *p, const struct fwd_frame *f)
{
	uint32_t front = (uint32_t)(f->at - (p->head + p->start));

	assert(f->at >= p->head + p->start && front <= p->stored && f->stored <= f->len);
	assert(f->stored == p->stored - front || f->stored == f->len);
	if (f->len < p->len - front)
		p->is_cut = true;
	p->start = (uint16_t)(p->start + front);
	p->stored = (uint16_t)f->stored;
	p->len = f->len;
	if (p->len == p->stored)
		packet_drop_body(p);
}
