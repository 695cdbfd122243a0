/* Sending: packets to groups, groups to messages of one sendmmsg per socket.
 *
 * The kernel's segmentation offload cuts one message into packets of one size, the last perhaps
 * shorter, and over IPv4 numbers them from 0 in the identification, which the ICRC covers. So a
 * packet's place in its group must be known before its seal is computed, and a group that has to
 * go without offload after all is made anew. */
#include "io/udp_inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"

enum { ECT_0 = 2 };

static_assert(DRIVER_BATCH <= UDP_SEGMENTS_MAX,
	      "a group never has more packets than offload takes");

int udp_tx_init(struct udp_driver *u)
{
	struct udp_tx *tx = &u->tx;
	uint32_t pieces = ENGINE_PIECES * STAGE_PIECE, around, whole;

	whole = (uint32_t)u->carrier->payload_max + u->carrier->pad_max;
	tx->stage_whole = whole > pieces ? whole : pieces;
	around = (uint32_t)u->seal->head_bytes + ENGINE_HEAD_MAX + u->seal->tail_bytes;
	tx->stage = malloc((size_t)DRIVER_BATCH * (around + tx->stage_whole));
	tx->zeros = calloc(1, UDP_PAYLOAD_MAX);
	return tx->stage && tx->zeros ? 0 : -ENOMEM;
}

void udp_tx_fini(struct udp_driver *u)
{
	free(u->tx.stage);
	free(u->tx.zeros);
}

static uint32_t payload_bytes(const struct tx_pkt *p)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < p->n_body; i++)
		sum += p->body[i].len;
	return sum;
}

/* What a packet must have in common with its group. */
struct message {
	uint32_t bytes, peer, label;
	uint8_t tos, tag;
};

static bool fits(const struct udp_tx *tx, const struct udp_group *g, const struct tx_pkt *p,
		 const struct message *m)
{
	return tx->source->has_offload && !g->is_closed && g->peer == m->peer && g->tos == m->tos &&
	       g->label == m->label && g->tag == m->tag && m->bytes <= g->segment &&
	       g->bytes + m->bytes <= UDP_PAYLOAD_MAX && g->n_iov + p->n_body + 2 <= UDP_IOV_MAX;
}

static struct udp_group *begin_group(struct udp_driver *u, const struct message *m)
{
	struct udp_tx *tx = &u->tx;
	struct udp_group *g = &tx->groups[tx->n_groups];
	const struct udp_group *before = tx->n_groups ? g - 1 : NULL;

	*g = (struct udp_group){
		.first_iov = tx->n_iov,
		.segment = m->bytes,
		.peer = m->peer,
		.label = m->label,
		.tos = m->tos,
		.tag = m->tag,
	};
	if (seal_is_crc(u->seal) && (!before || before->peer != m->peer))
		udp_pseudo_make(&tx->pseudo, &(struct udp_ends){
						     &u->locals[tx->local].addr,
						     &u->peers[m->peer].addr,
						     tx->source->port,
						     u->cfg.port,
						     u->seal,
					     });
	tx->n_groups++;
	return g;
}

/* The list grows by bytes at at, in the same entry where they follow those before. */
static void gather(struct udp_tx *tx, struct udp_group *g, uint8_t *at, uint32_t len)
{
	if (g->n_iov > 0) {
		struct iovec *last = &tx->iov[tx->n_iov - 1];

		if ((uint8_t *)last->iov_base + last->iov_len == at) {
			last->iov_len += len;
			return;
		}
	}
	tx->iov[tx->n_iov++] = (struct iovec){at, len};
	g->n_iov++;
}

/* An iovec is not const, though sending only reads. */
static uint8_t *readable(const uint8_t *at)
{
	return (uint8_t *)(uintptr_t)at;
}

/* One pass over the payload, and where it is short a copy in the same pass. */
static uint32_t gather_piece(struct udp_tx *tx, struct udp_group *g, const struct seal *seal,
			     const struct cspan *piece, bool is_staged, uint32_t crc)
{
	if (!piece->at) {
		gather(tx, g, tx->zeros, piece->len);
		return seal_zeros(seal, crc, piece->len);
	}
	if (is_staged || piece->len <= STAGE_PIECE) {
		crc = seal_copy(seal, crc, tx->stage_at, *piece);
		gather(tx, g, tx->stage_at, piece->len);
		tx->stage_at += piece->len;
		return crc;
	}
	gather(tx, g, readable(piece->at), piece->len);
	return seal_update(seal, crc, piece->at, piece->len);
}

/* What the seal puts in front, and the transport's headers, where they are staged. A cipher would
 * write to the first; a CRC has nothing to say there. */
static void put_head(struct udp_tx *tx, const struct seal *seal, const struct tx_pkt *p)
{
	if (seal->head_bytes)
		memset(tx->stage_at, 0, seal->head_bytes);
	memcpy(tx->stage_at + seal->head_bytes, p->head, p->head_len);
}

/* The packet whose head was put. */
static void add_packet(struct udp_driver *u, struct udp_group *g, const struct tx_pkt *p,
		       uint32_t bytes)
{
	struct udp_tx *tx = &u->tx;
	const struct seal *seal = u->seal;
	uint32_t head = (uint32_t)seal->head_bytes + p->head_len, crc = 0;
	bool is_staged = bytes - head - seal->tail_bytes <= tx->stage_whole;

	if (seal_is_crc(seal)) {
		uint32_t covered;

		crc = udp_pseudo_crc(&tx->pseudo, bytes, (uint8_t)g->n, tx->stage_at);
		covered = tx->pseudo.covered;
		if (head > covered)
			crc = seal_update(seal, crc, tx->stage_at + covered, head - covered);
	}
	gather(tx, g, tx->stage_at, head);
	tx->stage_at += head;
	for (unsigned i = 0; i < p->n_body; i++)
		if (p->body[i].len > 0)
			crc = gather_piece(tx, g, seal, &p->body[i], is_staged, crc);
	if (seal_is_crc(seal)) {
		seal_put(seal, tx->stage_at, crc);
		gather(tx, g, tx->stage_at, seal->tail_bytes);
		tx->stage_at += seal->tail_bytes;
	}
	g->n++;
	g->bytes += bytes;
	g->is_closed = bytes < g->segment;
}

/* The tag in a packet's number; 0 where no number says whose it is: steered as tag 0's are. */
static uint8_t tag_of(const struct carrier *c, const uint8_t *carried)
{
	const struct carrier_rule *rule = carrier_rule_of(c, carried);

	return rule && rule->owner == CARRIER_NUMBER ? carrier_tag(c, rule, carried) : 0;
}

static uint8_t tos_of(const struct udp_driver *u, const struct tx_pkt *p)
{
	uint8_t ecn = p->not_ect || u->cfg.is_not_ect ? 0 : ECT_0;

	return (uint8_t)(engine_dscp(p->tclass, u->cfg.dscp) << 2 | ecn);
}

/* An answer may outlast the handle of a peer that only its question named, and an address of ours
 * that is closed meanwhile. */
static bool is_gone(const struct udp_driver *u, const struct tx_pkt *p)
{
	assert(p->local < u->cfg.max_locals && p->peer < u->fresh_peer);
	return !u->locals[p->local].refs || !u->peers[p->peer].is_used;
}

/* Puts packets into groups as long as they leave from one socket; returns how many. */
static uint32_t plan(struct udp_driver *u, const struct tx_pkt *pkts, uint32_t n)
{
	struct udp_tx *tx = &u->tx;
	struct udp_group *g = NULL;
	uint32_t i;

	tx->n_groups = tx->n_iov = 0;
	tx->stage_at = tx->stage;
	for (i = 0; i < n; i++) {
		const struct tx_pkt *p = &pkts[i];
		struct message m = {.peer = p->peer, .tos = tos_of(u, p)};

		assert(p->head_len + u->seal->head_bytes >= u->carrier->head_least &&
		       p->head_len <= ENGINE_HEAD_MAX);
		assert(p->n_body <= ENGINE_PIECES && engine_is_tclass(p->tclass));
		if (is_gone(u, p))
			break;
		if (p->local != tx->local || (i > 0 && p->ev != pkts[i - 1].ev &&
					      udp_source_of(u, p->local, p->ev) != tx->source))
			break;
		put_head(tx, u->seal, p);
		m.tag = tag_of(u->carrier, tx->stage_at);
		m.bytes =
			u->seal->head_bytes + p->head_len + payload_bytes(p) + u->seal->tail_bytes;
		if (m.bytes > UDP_PAYLOAD_MAX ||
		    u->peers[p->peer].addr.family != u->locals[p->local].addr.family)
			break;
		if (tx->source->has_label)
			m.label = p->ev & 0xffff;
		if (!g || !fits(tx, g, p, &m))
			g = begin_group(u, &m);
		add_packet(u, g, p, m.bytes);
	}
	return i;
}

static void add_control(struct msghdr *msg, int level, int type, const void *value, size_t len)
{
	struct cmsghdr c = {.cmsg_len = CMSG_LEN(len), .cmsg_level = level, .cmsg_type = type};
	uint8_t *at = (uint8_t *)msg->msg_control + msg->msg_controllen;

	memcpy(at, &c, sizeof c);
	memcpy(at + CMSG_LEN(0), value, len);
	msg->msg_controllen += CMSG_SPACE(len);
}

static void make_message(struct udp_driver *u, uint32_t i)
{
	struct udp_tx *tx = &u->tx;
	const struct udp_group *g = &tx->groups[i];
	const union udp_name *peer = &u->peers[g->peer].name;
	bool is_v4 = peer->any.sa_family == AF_INET;
	int tos = g->tos;
	struct msghdr *msg = &tx->msgs[i].msg_hdr;

	tx->names[i] = *peer;
	if (g->label)
		tx->names[i].v6.sin6_flowinfo = BYTES_BE32(g->label);
	*msg = (struct msghdr){
		.msg_name = &tx->names[i],
		.msg_namelen = is_v4 ? sizeof peer->v4 : sizeof peer->v6,
		.msg_iov = &tx->iov[g->first_iov],
		.msg_iovlen = g->n_iov,
		.msg_control = tx->control[i],
	};
	add_control(msg, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_TOS : IPV6_TCLASS, &tos,
		    sizeof tos);
	if (g->n > 1) {
		uint16_t segment = (uint16_t)g->segment;

		add_control(msg, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment);
	}
}

enum outcome { SENT, FULL, MAKE_ANEW };

/* What the kernel said about a group; the packets of a refused one are counted and gone. */
static enum outcome on_error(struct udp_driver *u, const struct udp_group *g, int number)
{
	struct udp_source *s = u->tx.source;

	if (number == EAGAIN || number == EWOULDBLOCK)
		return FULL;
	if (number == EINVAL && g->label) {
		/* Somebody holds a label exclusively, and now all need a lease. The kernel's own
		 * label, a hash of the ends, still spreads the ports. */
		s->has_label = false;
		return MAKE_ANEW;
	}
	if (g->n > 1 && (number == EIO || number == EOPNOTSUPP)) {
		/* An interface that computes no checksums, or a path that transforms packets. */
		s->has_offload = false;
		return MAKE_ANEW;
	}
	u->driver.count.tx_failed += g->n;
	return SENT;
}

/* The groups from at on, as sendmmsg(2) takes and counts them; one alone is sent sooner without. */
static int hand_over(struct udp_tx *tx, uint32_t at)
{
	const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;

	if (tx->n_groups - at > 1)
		return sendmmsg(tx->source->fd, tx->msgs + at, tx->n_groups - at, flags);
	return sendmsg(tx->source->fd, &tx->msgs[at].msg_hdr, flags) < 0 ? -1 : 1;
}

/* Hands the planned groups to the kernel; *done counts packets that are done with. */
static enum outcome flush(struct udp_driver *u, uint32_t *done)
{
	struct udp_tx *tx = &u->tx;

	for (uint32_t i = 0; i < tx->n_groups; i++)
		make_message(u, i);
	for (uint32_t at = 0; at < tx->n_groups;) {
		int got = hand_over(tx, at);

		u->driver.count.tx_calls++;
		if (got <= 0) {
			enum outcome o = on_error(u, &tx->groups[at], got < 0 ? errno : EIO);

			if (o != SENT)
				return o;
			*done += tx->groups[at++].n;
			continue;
		}
		for (int k = 0; k < got; k++, at++) {
			*done += tx->groups[at].n;
			u->driver.count.tx += tx->groups[at].n;
		}
	}
	return SENT;
}

uint32_t udp_send(struct driver *d, const struct tx_pkt *pkts, uint32_t n)
{
	struct udp_driver *u = udp_of(d);
	struct udp_tx *tx = &u->tx;
	uint32_t done = 0;

	assert(n <= DRIVER_BATCH);
	while (done < n) {
		const struct tx_pkt *first = &pkts[done];

		tx->local = first->local;
		tx->source = is_gone(u, first) ? NULL : udp_source_of(u, first->local, first->ev);
		if (!tx->source || plan(u, first, n - done) == 0) {
			/* No socket for it, an end that is gone, too long for UDP, or ends of
			 * different kinds. */
			u->driver.count.tx_failed++;
			done++;
			continue;
		}
		if (flush(u, &done) == FULL)
			break;
	}
	return done;
}
