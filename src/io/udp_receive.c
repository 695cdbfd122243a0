/* Receiving: whole bursts at a time, cut into packets, each checked before it is lent.
 *
 * Over IPv4 the ICRC, alone of all seals, covers the identification, which a socket is not told.
 * Senders like this one number the packets of a burst from 0, so the first of what arrived together
 * is expected to be 0 and each other one more than that before it. Where that is wrong (bursts
 * arrive cut differently, or packet by packet) the right number is found without reading the packet
 * again: a CRC is linear, so what a difference in the identification makes of it depends only on
 * how many bytes follow. */
#include "io/udp_inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/bytes.h"

enum {
	HOT_CALLS = 8,      /* calls to one busy socket before the others are asked */
	DIRECT_CALLS = 16,  /* calls to an idle one that was busy last, in vain, before that */
	STALE_NS = 1000000, /* who comes back after so long asks all of them at once */
	REFILLS = 64,       /* calls that one udp_receive makes when all they bring is dropped */
	BULK_BYTES = 16384, /* messages of that size on average: few slots at a time */
	ONES = 2,           /* calls for one that brought it, without one in vain between them */
	TOS_TO_DSCP = 2,
	ECN_BITS = 3,
};

int udp_rx_init(struct udp_driver *u)
{
	struct udp_rx *rx = &u->rx;

	rx->slots = malloc((size_t)RX_SLOTS * RX_SLOT_STRIDE);
	if (!rx->slots)
		return -ENOMEM;
	for (unsigned i = 0; i < RX_SLOTS; i++) {
		rx->iov[i] = (struct iovec){rx->slots + (size_t)i * RX_SLOT_STRIDE, RX_SLOT_BYTES};
		rx->msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &rx->names[i],
			.msg_namelen = sizeof rx->names[i],
			.msg_iov = &rx->iov[i],
			.msg_iovlen = 1,
			.msg_control = rx->control[i],
			.msg_controllen = RX_CONTROL_BYTES,
		};
	}
	rx->want = RX_SLOTS_BULK;
	rx->hot = rx->recent = DRIVER_NO_HANDLE;
	return 0;
}

void udp_rx_fini(struct udp_driver *u)
{
	free(u->rx.slots);
}

void udp_rx_forget(struct udp_driver *u, uint32_t local)
{
	struct udp_rx *rx = &u->rx;

	for (uint32_t i = rx->at_run; i < rx->n_runs; i++)
		if (rx->runs[i].local == local)
			rx->runs[i].left = 0;
	for (uint32_t i = rx->at_ready; i < rx->n_ready; i++)
		if (rx->ready[i] == local)
			rx->ready[i] = DRIVER_NO_HANDLE;
	if (rx->hot == local)
		rx->hot = DRIVER_NO_HANDLE;
	if (rx->recent == local)
		rx->recent = DRIVER_NO_HANDLE;
}

static int control_int(const struct cmsghdr *c)
{
	const uint8_t *at = (const uint8_t *)c + CMSG_LEN(0);
	int value = 0;

	/* IP_TOS comes as one byte, the others as an int. */
	if (c->cmsg_len == CMSG_LEN(1))
		return *at;
	memcpy(&value, at, sizeof value);
	return value;
}

/* What the kernel dropped up to this packet, for want of room, in the life of the socket. It says
 * so with the first packet behind, and a burst that was received as one is one. */
static void count_missed(struct udp_driver *u, uint32_t local, uint32_t missed)
{
	u->driver.count.rx_missed += missed - u->locals[local].missed;
	u->locals[local].missed = missed;
}

static void read_control(struct udp_driver *u, struct msghdr *msg, struct udp_run *run)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		int value = control_int(c);

		bool is_v4 = c->cmsg_level == IPPROTO_IP, is_v6 = c->cmsg_level == IPPROTO_IPV6;

		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO)
			run->segment = (uint32_t)value;
		else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL)
			count_missed(u, run->local, (uint32_t)value);
		else if ((is_v4 && c->cmsg_type == IP_TOS) ||
			 (is_v6 && c->cmsg_type == IPV6_TCLASS))
			run->tos = (uint8_t)value;
		else if ((is_v4 && c->cmsg_type == IP_TTL) ||
			 (is_v6 && c->cmsg_type == IPV6_HOPLIMIT))
			run->ttl = (uint8_t)value;
		else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_FLOWINFO)
			run->label = (uint16_t)BYTES_BE32((uint32_t)value);
	}
}

static void make_run(struct udp_driver *u, uint32_t i, uint32_t local)
{
	struct udp_rx *rx = &u->rx;
	struct mmsghdr *m = &rx->msgs[i];
	struct udp_run *run = &rx->runs[i];
	uint32_t len = m->msg_len;

	*run = (struct udp_run){
		.at = rx->iov[i].iov_base,
		.left = len,
		.segment = len,
		.local = local,
		.peer = DRIVER_NO_HANDLE,
	};
	udp_addr_of(&rx->names[i].any, &run->from);
	/* Both kinds of name have the port at the same place. */
	run->sport = BYTES_BE16(rx->names[i].v4.sin_port);
	read_control(u, &m->msg_hdr, run);
	/* As the kernel found them, for the next call. */
	m->msg_hdr.msg_namelen = sizeof rx->names[i];
	m->msg_hdr.msg_controllen = RX_CONTROL_BYTES;
	if (run->segment == 0 || run->segment > len)
		run->segment = len;
	/* No datagram is longer than a slot; an empty one is a packet too. */
	if (len == 0) {
		u->driver.count.rx++;
		u->driver.count.drop_short++;
	}
}

/* One at a time is the fastest way to get one: a call for more looks in vain for the second. More
 * are asked for when they come, one right behind the other. */
static uint32_t slots_to_want(struct udp_rx *rx, uint64_t bytes)
{
	bool is_one = rx->n_runs == 1 && bytes < BULK_BYTES;

	rx->n_ones = is_one && rx->want == 1 ? rx->n_ones + 1 : 0;
	if (is_one && rx->n_ones < ONES)
		return 1;
	return bytes / rx->n_runs >= BULK_BYTES ? RX_SLOTS_BULK : RX_SLOTS;
}

static void receive_from(struct udp_driver *u, uint32_t local)
{
	struct udp_rx *rx = &u->rx;
	uint64_t bytes = 0;
	int got;

	got = recvmmsg(u->locals[local].fd, rx->msgs, rx->want, MSG_DONTWAIT, NULL);
	rx->n_runs = rx->at_run = 0;
	if (got <= 0) {
		rx->hot = DRIVER_NO_HANDLE;
		rx->n_ones = 0;
		return;
	}
	u->driver.count.rx_calls++;
	for (uint32_t i = 0; i < (uint32_t)got; i++) {
		make_run(u, i, local);
		bytes += rx->msgs[i].msg_len;
	}
	rx->n_runs = (uint32_t)got;
	rx->recent = local;
	rx->n_direct = 0;
	if (rx->n_runs < rx->want)
		rx->hot = DRIVER_NO_HANDLE;
	else if (rx->hot != local) {
		rx->hot = local;
		rx->hot_left = HOT_CALLS;
	}
	rx->want = slots_to_want(rx, bytes);
}

/* One more call to the kernel, at a socket that has something; false: none has. */
static bool refill(struct udp_driver *u)
{
	struct udp_rx *rx = &u->rx;
	uint32_t which;

	if (rx->hot != DRIVER_NO_HANDLE && rx->hot_left > 0) {
		rx->hot_left--;
		receive_from(u, rx->hot);
		return true;
	}
	rx->hot = DRIVER_NO_HANDLE;
	/* The next packet most likely comes where the last one did: asking there first saves the
	 * question which socket has something. */
	if (rx->at_ready == rx->n_ready && rx->recent != DRIVER_NO_HANDLE &&
	    rx->n_direct < DIRECT_CALLS && !udp_share_is_awaited(u)) {
		rx->n_direct++;
		receive_from(u, rx->recent);
		return rx->n_runs > 0;
	}
	rx->n_direct = 0;
	if (rx->at_ready == rx->n_ready) {
		struct epoll_event events[RX_READY];
		int n = epoll_wait(u->epoll_fd, events, RX_READY, 0);

		if (n <= 0)
			return false;
		for (int i = 0; i < n; i++)
			rx->ready[i] = events[i].data.u32;
		rx->n_ready = (uint32_t)n;
		rx->at_ready = 0;
	}
	which = rx->ready[rx->at_ready++];
	if (which == UDP_STRAY) {
		udp_share_read(u);
		rx->n_direct = DIRECT_CALLS; /* messages seldom come alone */
	} else if (which < u->cfg.max_locals && u->locals[which].refs) {
		receive_from(u, which);
	}
	return true;
}

/* The identification that makes the ICRC right, from the one it was computed with and by how much
 * it is wrong; -1: none does. bytes: of the UDP payload, `tail` of them the ICRC. How many may do
 * so is in udp_pseudo.h. */
static int find_id(struct udp_driver *u, uint8_t tried, uint32_t wrong, uint32_t bytes,
		   uint32_t tail)
{
	unsigned n = udp_pseudo_ids(bytes);

	/* From the byte behind the identification's second: flags, to the UDP header's end. */
	uint32_t behind = UDP_IPV4_BYTES - 6 + UDP_HEADER_BYTES + bytes - tail;
	struct udp_deltas *d = &u->rx.deltas[(behind ^ behind >> 4) % DELTA_LENGTHS];

	udp_deltas_make(d, behind);
	for (unsigned i = 1; i < UDP_SEGMENTS_MAX; i++)
		if (d->of[i] == wrong)
			return (tried ^ i) < n ? (int)(tried ^ i) : -1;
	return -1;
}

static void make_pseudo(struct udp_driver *u, const struct udp_run *run, const struct seal *seal)
{
	udp_pseudo_make(&u->rx.pseudo, &(struct udp_ends){&run->from, &u->locals[run->local].addr,
							  run->sport, u->cfg.port, seal});
}

/* Of a cipher nobody here has the key. */
static bool is_seal_right(struct udp_driver *u, struct udp_run *run, uint32_t len,
			  const struct seal *seal)
{
	struct udp_pseudo *pseudo = &u->rx.pseudo;
	uint32_t end = len - seal->tail_bytes, crc, wrong;
	int id;

	if (!seal_is_crc(seal))
		return seal->sum == SEAL_NONE;
	if (pseudo->seal != seal)
		make_pseudo(u, run, seal);
	/* Where the next of this size cannot be, a new burst begins. */
	if (run->id >= udp_pseudo_ids(len))
		run->id = 0;
	crc = udp_pseudo_crc(pseudo, len, run->id, run->at);
	crc = seal_update(seal, crc, run->at + pseudo->covered, end - pseudo->covered);
	wrong = crc ^ seal_get(seal, run->at + end);
	if (wrong == 0)
		return true;
	if (!pseudo->has_ids)
		return false;
	id = find_id(u, run->id, wrong, len, seal->tail_bytes);
	if (id < 0)
		return false;
	run->id = (uint8_t)id;
	return true;
}

static void lend(const struct udp_run *run, uint32_t len, const struct seal *seal, nsec now,
		 struct rx_pkt *out)
{
	const uint8_t *at = run->at + seal->head_bytes;
	uint32_t bytes = len - seal->head_bytes - seal->tail_bytes;
	uint32_t head = bytes < ENGINE_HEAD_MAX ? bytes : ENGINE_HEAD_MAX;

	*out = (struct rx_pkt){
		.head = {at, head},
		.body = {{at + head, bytes - head}},
		.at = now,
		.peer = run->peer,
		.local = run->local,
		.ev = (uint32_t)run->sport << 16 | run->label,
		.udp_len = (uint16_t)(UDP_HEADER_BYTES + len),
		.dscp = (uint8_t)(run->tos >> TOS_TO_DSCP),
		.ttl = run->ttl,
		.ecn = run->tos & ECN_BITS,
	};
}

/* The tag of whose packet it is; a question is for anybody who answers some, and one of which
 * nothing tells is for who gets it. */
static uint8_t owner_of(const struct udp_driver *u, const struct udp_run *run)
{
	const struct carrier_rule *rule = carrier_rule_of(u->carrier, run->at);

	if (rule && rule->owner == CARRIER_NUMBER)
		return carrier_tag(u->carrier, rule, run->at);
	if (rule && rule->owner == CARRIER_ANYONE && !u->cfg.has_endpoints)
		return u->locals[run->local].answerer;
	return u->tag;
}

/* Bursts are of one sender and nearly always of one queue pair, and none of their packets is longer
 * than the first: one question serves all of them. */
static bool is_expected(const struct udp_driver *u, struct udp_run *run, uint32_t len)
{
	struct driver_call call = {.qp = carrier_bits_get(&u->carrier->number, run->at),
				   .peer = run->peer,
				   .len = len};

	if (call.qp == run->qp)
		return true;
	if (call.peer == DRIVER_NO_HANDLE)
		call.peer = udp_peers_known(u, &run->from);
	if (!driver_guard_expects(&u->driver.guard, &call))
		return false;
	run->qp = call.qp;
	return true;
}

/* Looks at the next packet of run, of len bytes; true: it is lent in *out. */
static bool accept_packet(struct udp_driver *u, struct udp_run *run, uint32_t len, nsec now,
			  struct rx_pkt *out)
{
	const struct seal *seal = NULL;

	if (len >= u->shortest && udp_survey_is_probe(u, run)) {
		bool is_ours = udp_survey_on_probe(u, run, len, now);

		u->driver.count.rx_probes += is_ours;
		u->driver.count.rx += !is_ours;
		u->driver.count.drop_probe += !is_ours;
		return false;
	}
	u->driver.count.rx++;
	if (len >= u->shortest)
		seal = carrier_seal_of(u->carrier, run->at);
	if (!seal || len < (uint32_t)u->carrier->head_least + seal->tail_bytes) {
		u->driver.count.drop_short++;
		return false;
	}
	uint8_t owner = owner_of(u, run);

	if (owner == u->tag && !is_expected(u, run, len)) {
		u->driver.count.drop_stranger++;
		return false;
	}
	if (owner != u->tag && (run->is_stray || !udp_share_has_owner(u, owner, now))) {
		/* One that was passed on to us is not passed on again: it could go round. */
		u->driver.count.drop_stray++;
		return false;
	}
	/* Before others have work with it. What they passed on to us they found right, and they are
	 * processes of this user. */
	if (!run->is_stray && !is_seal_right(u, run, len, seal)) {
		u->driver.count.drop_icrc++;
		return false;
	}
	if (owner != u->tag) {
		udp_share_pass(u, run, len, owner);
		return false;
	}
	if (run->peer == DRIVER_NO_HANDLE)
		run->peer = udp_peers_seen(u, &run->from);
	if (run->peer == DRIVER_NO_HANDLE) {
		u->driver.count.drop_peers++;
		return false;
	}
	u->driver.count.rx_delivered++;
	lend(run, len, seal, now, out);
	return true;
}

/* Lends packets of run, at most n. */
static uint32_t drain(struct udp_driver *u, struct udp_run *run, nsec now, struct rx_pkt *pkts,
		      uint32_t n)
{
	uint32_t lent = 0;

	/* Handles of peers last for one call. */
	run->peer = DRIVER_NO_HANDLE;
	run->qp = UDP_NO_QP;
	/* Of other ends, where it is not made anew here. */
	if (!seal_is_crc(u->seal))
		u->rx.pseudo.seal = NULL;
	else if (run->left > 0)
		make_pseudo(u, run, u->seal);
	while (run->left > 0 && lent < n) {
		uint32_t len = run->left < run->segment ? run->left : run->segment;

		lent += accept_packet(u, run, len, now, &pkts[lent]);
		run->at += len;
		run->left -= len;
		run->id = (uint8_t)((run->id + 1) % UDP_SEGMENTS_MAX);
	}
	return lent;
}

/* What is left of the last calls to the kernel. */
static uint32_t drain_all(struct udp_driver *u, nsec now, struct rx_pkt *pkts, uint32_t n)
{
	struct udp_rx *rx = &u->rx;
	struct udp_run stray;
	uint32_t lent = 0;

	while (lent < n && rx->at_run < rx->n_runs) {
		struct udp_run *run = &rx->runs[rx->at_run];

		lent += drain(u, run, now, pkts + lent, n - lent);
		if (run->left == 0)
			rx->at_run++;
	}
	while (lent < n && udp_share_next(u, &stray))
		lent += drain(u, &stray, now, pkts + lent, n - lent);
	return lent;
}

uint32_t udp_receive(struct driver *d, nsec now, struct rx_pkt *pkts, uint32_t n)
{
	struct udp_driver *u = udp_of(d);
	uint32_t lent;

	assert(n <= DRIVER_BATCH);
	if (n == 0)
		return 0;
	if (now - u->rx.called_at > STALE_NS)
		u->rx.n_direct = DIRECT_CALLS;
	u->rx.called_at = now;
	udp_peers_settle(u);
	lent = drain_all(u, now, pkts, n);
	for (unsigned i = 0; lent == 0 && i < REFILLS && refill(u); i++)
		lent = drain_all(u, now, pkts, n);
	udp_survey_step(u, now);
	udp_share_flush(u);
	return lent;
}
