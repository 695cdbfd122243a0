/* Captures of a foreign implementation, RoCEv2 RC between two Linux guests (kernel rdma_rxe, PMTU
 * 1024, write 3000 bytes, read 3000, send 1500, fetch-and-add, compare-and-swap), played to our
 * engine from both sides.
 *
 * To the responder: the captured requests, into memory that is as the capture shows it to have
 * been. To the requester: the same work posted, then the captured responses. What our engine says
 * is put behind the Ethernet, IP and UDP headers of the captured packet, closed with an ICRC, and
 * then equal to the captured packet in every byte, opcodes, PSNs, syndromes, MSNs, AckReq and
 * payload included. Only the order between the two directions is free. The kernel counts no credits
 * (syndrome 31); a queue pair of ours on a shared receive queue does neither (IBTA 9.7.7.2), so
 * ours is on one. */
#include <stdio.h>

#include "rc_end.h"
#include "wire/icrc.h"
#include "wire/net.h"

#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden"
#endif

#define PACKETS_MAX 64u
#define FRAME_BYTES 2048u
#define PMTU        1024u
#define RECEIVE     2048u

struct packet {
	uint32_t len;
	uint8_t bytes[FRAME_BYTES];
	struct net_pkt net;
	struct roce_pkt roce;
};

struct capture {
	uint32_t n;
	struct packet packet[PACKETS_MAX];
};

static struct capture cap;
static struct end s;
static nsec now;

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static void decode(struct packet *p)
{
	const struct net_cfg cfg = net_cfg_default();
	struct cspan frame = {p->bytes, p->len};

	assert_int_equal(net_get(frame, NET_LINK_ETHERNET, &cfg, &p->net, NULL).why,
			 WIRE_DROP_NONE);
	struct cspan transport = {p->bytes + p->net.transport,
				  p->net.end - icrc_bytes - p->net.transport};
	struct cursor c = cursor_of(transport);

	assert_int_equal(roce_pkt_get(&c, &p->roce, NULL).why, WIRE_DROP_NONE);
}

/* Reads a little-endian pcap of Ethernet frames and decodes each. */
static void read_capture(const char *name, uint32_t version)
{
	char path[512];
	uint8_t head[24], record[16];

	snprintf(path, sizeof path, "%s/soft-roce/%s-v%u.pcap", GOLDEN_DIR, name, version);
	FILE *f = fopen(path, "rb");

	if (!f)
		fail_msg("cannot open %s", path);
	assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
	assert_int_equal(le32(head), 0xa1b2c3d4);
	for (cap.n = 0; fread(record, 1, sizeof record, f) == sizeof record; cap.n++) {
		struct packet *p = &cap.packet[cap.n];

		assert_true(cap.n < PACKETS_MAX);
		p->len = le32(record + 8);
		assert_true(p->len <= FRAME_BYTES);
		assert_int_equal(fread(p->bytes, 1, p->len, f), p->len);
		decode(p);
	}
	fclose(f);
	assert_true(cap.n >= 10);
}

/* The next packet of the capture in that direction, from *i on, which moves past it. */
static const struct packet *next_packet(uint32_t *i, bool is_response)
{
	while (*i < cap.n) {
		const struct packet *p = &cap.packet[(*i)++];

		if (is_answer(p->roce.bth.opcode) == is_response)
			return p;
	}
	return NULL;
}

/* What the engine said, in the captured packet's own wrapping, is that packet. */
static void check_frame(const struct end_pkt *ours, const struct packet *theirs)
{
	static uint8_t frame[FRAME_BYTES];
	uint32_t at = theirs->net.transport, ip = net_ip(&theirs->net)->at;
	uint32_t end = at + ours->len;

	assert_int_equal(end + icrc_bytes, theirs->len);
	memcpy(frame, theirs->bytes, at);
	memcpy(frame + at, ours->bytes, ours->len);
	icrc_put(frame + end, icrc_of((struct cspan){frame + ip, end - ip}));
	assert_memory_equal(frame, theirs->bytes, theirs->len);
}

static void feed(const struct packet *p)
{
	uint32_t at = p->net.transport;
	struct rx_pkt rx = {.peer = PEER, .local = LOCAL, .ecn = 2, .ttl = 64};

	end_input(&s, ++now, rx, p->bytes + at, p->net.end - icrc_bytes - at,
		  p->net.end - icrc_bytes - at);
}

/* The first packet of the capture in a direction. */
static struct roce_pkt first_of(bool is_response)
{
	uint32_t i = 0;
	const struct packet *p = next_packet(&i, is_response);

	assert_non_null(p);
	return p ? p->roce : (struct roce_pkt){0};
}

/* A responder or requester in the place of the captured one, on a shared receive queue. */
static void take_part(bool is_responder)
{
	struct engine_srq_caps caps = {.max_recv = 32, .max_sge = 1, .pd = PD};
	const struct bth there = first_of(false).bth, here = first_of(true).bth;

	now = 1000;
	end_defaults(&s, is_responder ? there.dest_qp : here.dest_qp,
		     is_responder ? here.dest_qp : there.dest_qp);
	s.key_base = 0xabc000;
	s.qp[0].caps.srq = 0;
	s.qp[0].attr.pmtu = PMTU;
	s.qp[0].attr.rq_psn = s.qp[0].attr.sq_psn = there.psn;
	end_open(&s, now, 1);
	assert_int_equal(rc_srq_new(s.e, 0, &caps, s.srq_memory), 0);
	end_connect(&s, now, ENGINE_RTS);
	for (uint32_t i = 0; i < 16; i++) {
		struct sge sg = area_piece(&s, INBOX, RECEIVE * i, RECEIVE);
		struct op op = {.code = ENGINE_RECV,
				.flags = ENGINE_SHARED,
				.cookie = i,
				.sg = &sg,
				.n_sg = 1};

		assert_int_equal(end_post(&s, now, op), 0);
	}
}

/* Where the captured requests point, as part of TARGET: 4096 bytes around the first address. */
static uint64_t open_region(void)
{
	const struct roce_pkt h = first_of(false);
	bool is_atomic = h.has & ROCE_ATOMIC;
	uint64_t va = is_atomic ? h.atomic.va : h.reth.va;
	struct mem_entry entry = {.at = area_at(&s, TARGET, 0),
				  .iova = va,
				  .len = 4096,
				  .key = is_atomic ? h.atomic.rkey : h.reth.rkey,
				  .pd = PD,
				  .access = ALL_ACCESS};

	if (h.has & (ROCE_RETH | ROCE_ATOMIC))
		assert_int_equal(mem_add(s.mem, &entry), 0);
	return va;
}

/* The request that a response answers: the last one that does not begin after it. */
static const struct roce_pkt *answered(const struct roce_pkt *response)
{
	const struct roce_pkt *found = NULL;
	uint32_t i = 0;

	for (const struct packet *p; (p = next_packet(&i, false));)
		if (((response->bth.psn - p->roce.bth.psn) & 0xffffff) < 0x800000)
			found = &p->roce;
	assert_non_null(found);
	return found;
}

/* Memory before the first request, as the responses show it. A word that several atomics name was
 * what the first of them found. */
static void restore_memory(uint64_t va)
{
	bool is_known[4096] = {false};
	uint32_t i = 0;

	for (const struct packet *p; (p = next_packet(&i, true));) {
		const struct roce_pkt *h = &p->roce, *request = answered(h);
		uint32_t skip = ((h->bth.psn - request->bth.psn) & 0xffffff) * PMTU;
		uint64_t at = request->reth.va - va + skip;

		if (h->has & ROCE_PAYLOAD)
			memcpy(area_at(&s, TARGET, (uint32_t)at), h->payload.at, h->payload.len);
		if (!(h->has & ROCE_ATOMIC_ACK))
			continue;
		at = request->atomic.va - va;
		if (!is_known[at])
			memcpy(area_at(&s, TARGET, (uint32_t)at), &h->atomic_ack.original, 8);
		is_known[at] = true;
	}
}

/* What the last write left, and what the sends brought, is in memory. */
static void check_effects(void)
{
	uint32_t i = 0, at = 0, n_sends = 0;

	for (const struct packet *p; (p = next_packet(&i, false));) {
		const struct roce_pkt *h = &p->roce;
		uint8_t opcode = h->bth.opcode;
		bool is_send = opcode <= ROCE_OP_SEND_ONLY;

		if (!(h->has & ROCE_PAYLOAD))
			continue;
		if (opcode == ROCE_OP_SEND_FIRST || opcode == ROCE_OP_WRITE_FIRST)
			at = 0;
		assert_memory_equal(area_at(&s, is_send ? INBOX : TARGET, at + RECEIVE * n_sends),
				    h->payload.at, h->payload.len);
		at += h->payload.len;
		n_sends += opcode == ROCE_OP_SEND_LAST;
	}
	for (uint32_t n = 0; n < n_sends; n++) {
		struct done done;

		assert_true(end_poll(&s, &done));
		assert_int_equal(done.cookie, n);
		assert_int_equal(done.status, ENGINE_OK);
		assert_int_equal(done.len, 1500);
	}
}

static void check_responder(const char *name, uint32_t version)
{
	uint32_t there = 0, back = 0;

	read_capture(name, version);
	take_part(true);
	restore_memory(open_region());
	for (const struct packet *p; (p = next_packet(&there, false));) {
		feed(p);
		end_pull(&s, now, wide, END_BATCH);
		for (uint32_t i = 0; i < s.n_out; i++) {
			const struct packet *theirs = next_packet(&back, true);

			assert_non_null(theirs);
			check_frame(&s.out[i], theirs);
		}
	}
	assert_null(next_packet(&back, true));
	assert_int_equal(counts(&s)->rx, counts(&s)->rx_request);
	check_effects();
}

/* Posts the work that a captured request begins, its payload copied to SOURCE, which has one place
 * for each. */
static void post_captured(uint32_t at, uint64_t cookie)
{
	const struct roce_pkt *h = &cap.packet[at].roce;
	uint8_t opcode = h->bth.opcode;
	uint32_t len = 0, place = (uint32_t)cookie * 4096;
	struct op op = {.cookie = cookie,
			.qp = s.qp[0].number,
			.remote = h->has & ROCE_ATOMIC ? h->atomic.va : h->reth.va,
			.key = h->has & ROCE_ATOMIC ? h->atomic.rkey : h->reth.rkey,
			.n_sg = 1};
	bool is_fetch = !(h->has & ROCE_PAYLOAD);

	op.code = opcode <= ROCE_OP_SEND_ONLY ? ENGINE_SEND : ENGINE_WRITE;
	if (opcode == ROCE_OP_READ_REQUEST)
		op.code = ENGINE_READ;
	if (h->has & ROCE_ATOMIC) {
		bool is_swap = opcode == ROCE_OP_COMPARE_SWAP;

		op.code = ENGINE_ATOMIC;
		op.atomic_op = is_swap ? ENGINE_COMPARE_SWAP : ENGINE_FETCH_ADD;
		memcpy(op.operand[0], is_swap ? &h->atomic.compare : &h->atomic.swap_add, 8);
		memcpy(op.operand[1], &h->atomic.swap_add, 8);
	}
	for (bool more = !is_fetch; more; h = &cap.packet[at].roce) {
		memcpy(area_at(&s, SOURCE, place + len), h->payload.at, h->payload.len);
		len += h->payload.len;
		more = is_partial(h->bth.opcode);
		for (at++; more && is_answer(cap.packet[at].roce.bth.opcode); at++)
			;
	}
	if (is_fetch)
		len = op.code == ENGINE_READ ? h->reth.dmalen : 8;
	struct sge sg = area_piece(&s, is_fetch ? INBOX : SOURCE,
				   is_fetch ? place + RECEIVE * 16 : place, len);

	op.sg = &sg;
	assert_int_equal(end_post(&s, now, op), 0);
}

static bool begins(uint8_t opcode)
{
	return opcode == ROCE_OP_SEND_FIRST || opcode == ROCE_OP_WRITE_FIRST ||
	       opcode == ROCE_OP_READ_REQUEST || opcode == ROCE_OP_COMPARE_SWAP ||
	       opcode == ROCE_OP_FETCH_ADD;
}

/* What came back from the peer is where the work wanted it. */
static void check_fetched(void)
{
	uint32_t i = 0, at = 0, cookie = 0;

	for (const struct packet *p; (p = next_packet(&i, true));) {
		const struct roce_pkt *h = &p->roce;
		uint8_t *place = area_at(&s, INBOX, RECEIVE * 16 + 4096 * cookie + at);

		if (h->has & ROCE_PAYLOAD)
			assert_memory_equal(place, h->payload.at, h->payload.len);
		if (h->has & ROCE_ATOMIC_ACK)
			assert_memory_equal(place, &h->atomic_ack.original, 8);
		at = is_partial(h->bth.opcode) ? at + h->payload.len : 0;
		cookie += !is_partial(h->bth.opcode);
	}
}

static void check_requester(const char *name, uint32_t version)
{
	uint32_t n_works = 0, there = 0, back = 0;
	struct done done;

	read_capture(name, version);
	take_part(false);
	for (uint32_t i = 0; i < cap.n; i++)
		if (begins(cap.packet[i].roce.bth.opcode))
			post_captured(i, n_works++);
	assert_int_equal(n_works, 5);
	end_pull(&s, now, wide, END_BATCH);
	for (uint32_t i = 0; i < s.n_out; i++) {
		const struct packet *theirs = next_packet(&there, false);

		assert_non_null(theirs);
		check_frame(&s.out[i], theirs);
	}
	assert_null(next_packet(&there, false));
	for (const struct packet *p; (p = next_packet(&back, true));)
		feed(p);
	assert_int_equal(counts(&s)->rx, counts(&s)->rx_response);
	for (uint32_t i = 0; i < n_works; i++) {
		assert_true(end_poll(&s, &done));
		assert_int_equal(done.cookie, i);
		assert_int_equal(done.status, ENGINE_OK);
	}
	assert_false(end_poll(&s, &done));
	check_fetched();
}

#define CAPTURE(name)                              \
	static void responder_##name(void **state) \
	{                                          \
		(void)state;                       \
		check_responder(#name, 4);         \
		check_responder(#name, 6);         \
	}                                          \
	static void requester_##name(void **state) \
	{                                          \
		(void)state;                       \
		check_requester(#name, 4);         \
		check_requester(#name, 6);         \
	}

CAPTURE(write)
CAPTURE(read)
CAPTURE(send)
CAPTURE(atomic)
CAPTURE(cas)

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(responder_write),  cmocka_unit_test(responder_read),
	cmocka_unit_test(responder_send),   cmocka_unit_test(responder_atomic),
	cmocka_unit_test(responder_cas),    cmocka_unit_test(requester_write),
	cmocka_unit_test(requester_read),   cmocka_unit_test(requester_send),
	cmocka_unit_test(requester_atomic), cmocka_unit_test(requester_cas),
};
CHECK_MAIN(cases)
