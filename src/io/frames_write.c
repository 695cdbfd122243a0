#include "io/frames_inside.h"

#include <assert.h>

enum { ECT_0 = 2 };

enum { HEADS_MAX = ENCAP_BYTES_MAX + SEAL_HEAD_MAX + ENGINE_HEAD_MAX };
static_assert(HEADS_MAX <= FRAMES_FIRST, "all headers fit the first piece");

/* Makes headers; false: nothing leads there now. segments: NULL for none. */
static bool make_headers(struct frames *f, struct frames_headers *h, const struct tx_pkt *p,
			 const struct encap_segments *segments, nsec now)
{
	static const struct encap_segments none;
	const struct addr *dst = frames_peer_addr(f, &f->peers[p->peer], p->port);
	const struct addr *src = frames_local_addr(f, &f->locals[p->local], p->port);
	struct encap_ends ends = {
		.dport = f->via.port,
		.native = carrier_is_native(f->via.is) ? f->via.protocol : 0,
		.hop_limit = f->cfg.hop_limit,
		.is_v4 = dst->family == AF_INET,
	};
	const struct nexthop_neighbour *b;
	struct addr to = *dst;
	uint32_t route, place;

	h->gen = 0;
	if (segments)
		memcpy(to.ip, segments->at[0], sizeof to.ip);
	route = frames_headers_route(f, h, p->port, &to);
	if (route == DRIVER_NO_HANDLE || dst->family != src->family)
		return false;
	place = nexthop_want(&f->hops, route, now);
	if (place == NEXTHOP_NONE || !f->hops.neighbours[place].is_known)
		return false;
	b = &f->hops.neighbours[place];
	memcpy(ends.src_mac, f->hops.ports[p->port].port.mac, sizeof ends.src_mac);
	memcpy(ends.dst_mac, b->mac, sizeof ends.dst_mac);
	memcpy(ends.src, src->ip, sizeof ends.src);
	memcpy(ends.dst, dst->ip, sizeof ends.dst);
	encap_make(&h->head, &ends, segments ? segments : &none);
	h->local = p->local;
	h->neighbour = place;
	h->neighbour_gen = b->gen;
	h->gen = f->hops.gen;
	return true;
}

/* The headers of a packet, ready; NULL: there are none. */
static const struct frames_headers *headers_of(struct frames *f, const struct tx_pkt *p, nsec now)
{
	struct frames_lists *l = f->peers[p->peer].lists[p->port];
	struct frames_list *list = l ? frames_list_of(l, p->ev) : NULL;
	struct frames_headers *h =
		list ? &list->headers : &f->headers[(size_t)p->peer * f->cfg.n_ports + p->port];

	if (h->gen != f->hops.gen || h->local != p->local ||
	    h->neighbour_gen != f->hops.neighbours[h->neighbour].gen) {
		if (!make_headers(f, h, p, list ? &list->segments : NULL, now))
			return NULL;
	}
	f->hops.neighbours[h->neighbour].is_used = true;
	return h;
}

/* Where the next byte goes: the piece that it lies in, and what is left of that. */
struct pen {
	const struct frames_out *out;
	uint32_t piece, room;
	uint8_t *at;
};

/* The bytes of the next run, of at most n, that lie together; there is room. */
static uint32_t pen_run(struct pen *pen, uint32_t n)
{
	while (pen->room == 0) {
		pen->piece++;
		assert(pen->piece < FRAMES_PIECES);
		pen->at = pen->out->at[pen->piece];
		pen->room = pen->out->room[pen->piece];
	}
	return n < pen->room ? n : pen->room;
}

static void pen_move(struct pen *pen, uint32_t n)
{
	pen->at += n;
	pen->room -= n;
}

static uint32_t put_piece(struct pen *pen, const struct seal *seal, const struct cspan *piece,
			  uint32_t crc)
{
	for (uint32_t done = 0; done < piece->len;) {
		uint32_t n = pen_run(pen, piece->len - done);

		crc = seal_copy(seal, crc, pen->at,
				(struct cspan){piece->at ? piece->at + done : NULL, n});
		pen_move(pen, n);
		done += n;
	}
	return crc;
}

static void put_tail(struct pen *pen, const struct seal *seal, uint32_t crc)
{
	uint8_t bytes[SEAL_TAIL_MAX];

	seal_put(seal, bytes, crc);
	for (uint32_t done = 0; done < seal->tail_bytes;) {
		uint32_t n = pen_run(pen, seal->tail_bytes - done);

		memcpy(pen->at, bytes + done, n);
		pen_move(pen, n);
		done += n;
	}
}

/* Headers, payload and seal; there is room. */
static void put_frame(const struct frames *f, const struct frames_headers *h,
		      const struct tx_pkt *p, uint32_t transport_bytes,
		      const struct frames_out *out)
{
	struct encap_packet packet = {
		.ev = p->ev,
		.transport_bytes = transport_bytes,
		.udp_len = p->udp_len,
		.dscp = engine_dscp(p->tclass, f->cfg.dscp),
		.ecn = p->not_ect || f->cfg.is_not_ect ? 0 : ECT_0,
	};
	const struct seal *seal = f->seal;
	uint32_t front = h->head.len + seal->head_bytes, head = front + p->head_len, crc;
	struct pen pen = {.out = out, .room = out->room[0] - head, .at = out->at[0] + head};

	encap_write(&h->head, &packet, out->at[0]);
	memset(out->at[0] + h->head.len, 0, seal->head_bytes);
	memcpy(out->at[0] + front, p->head, p->head_len);
	const struct cspan covered = {out->at[0] + h->head.inner_at, head - h->head.inner_at};

	crc = seal_is_crc(seal) ? seal_sum(seal, &covered, 1) : 0;
	for (unsigned i = 0; i < p->n_body; i++)
		crc = put_piece(&pen, seal, &p->body[i], crc);
	if (seal->tail_bytes)
		put_tail(&pen, seal, crc);
}

static uint64_t room_of(const struct frames_out *out)
{
	uint64_t room = 0;

	for (uint32_t i = 0; i < FRAMES_PIECES; i++)
		room += out->room[i];
	return room;
}

uint32_t frames_write(struct frames *f, nsec now, const struct tx_pkt *p,
		      const struct frames_out *out)
{
	const struct frames_port *port;
	const struct frames_headers *h;
	uint32_t transport = f->seal->head_bytes + (uint32_t)p->head_len + f->seal->tail_bytes;
	uint32_t bytes;

	assert(p->head_len + f->seal->head_bytes >= f->via.is->head_least &&
	       p->head_len <= ENGINE_HEAD_MAX);
	assert(p->n_body <= ENGINE_PIECES && engine_is_tclass(p->tclass));
	assert(p->port < f->cfg.n_ports && p->local < FRAMES_LOCALS && p->peer < f->fresh_peer);
	assert(out->room[0] >= HEADS_MAX);
	port = &f->hops.ports[p->port].port;
	if (!port->is_up) {
		f->count->tx_down++;
		return 0;
	}
	/* An answer may outlast the handle of a peer that only its question named, and an address
	 * of ours that is closed meanwhile. */
	h = f->peers[p->peer].is_used && f->locals[p->local].refs ? headers_of(f, p, now) : NULL;
	f->peers[p->peer].is_answered |= f->peers[p->peer].refs == 0;
	if (!h) {
		f->count->tx_no_route++;
		return 0;
	}
	for (unsigned i = 0; i < p->n_body; i++)
		transport += p->body[i].len;
	bytes = h->head.len + transport;
	if (bytes > port->mtu + eth_bytes) {
		f->count->tx_too_long++;
		return 0;
	}
	if (bytes > room_of(out)) {
		f->count->tx_failed++;
		return 0;
	}
	put_frame(f, h, p, transport, out);
	return bytes;
}
