/* A responder of a transport alone, in w: packets are put in as bytes, and what it sends, places
 *and reports is compared field by field. PSNs begin just before they wrap, and are counted from the
 * first here; payload arrives in two pieces. One per test program.
 *
 * A transport's own header (rc_responder.h, mrc_responder.h) defines struct responder, with what is
 * named here of it, and
 *	RESPONDER_ROW      its row
 *	RESPONDER_HEADERS  the struct that has a packet's headers
 *	RESPONDER_PUT      the function that writes them, and RESPONDER_PUT_BTH the first of them
 * before it includes this, and behind it what is only declared here. */
#ifndef WEFT_TESTS_SUPPORT_RESPONDER_H
#define WEFT_TESTS_SUPPORT_RESPONDER_H

#include "pull.h"
#include "transport/transport.h"

#define PMTU     256u
#define PEER     77u
#define LOCAL    3u
#define PSN      0xfffffdu
#define BASE     UINT64_C(0x7000000000000000) /* where the peer sees memory */
#define CANARY   0x5a
#define NO_EVENT ENGINE_EVENTS

enum { PD = 1, PD_OTHER };

static struct responder w;

/* What every packet has in common that it sends; decodes it into w.got. */
static inline void check_answer(struct cspan whole);

static inline uint8_t original_byte(uint32_t i)
{
	return (uint8_t)(i * 7 + (i >> 8));
}

/* Byte i of the payload of the packet with this PSN. */
static inline uint8_t payload_byte(uint32_t psn, uint32_t i)
{
	return (uint8_t)(psn * 31 + i * 3 + 1);
}

static inline void make_table(void)
{
	memset(w.table, 0, sizeof w.table);
	assert_in_range(mem_bytes(16), 1, sizeof w.table);
	w.mem = mem_init(w.table, 16);
	for (uint32_t i = 0; i < MEMORY; i++)
		w.memory[i] = original_byte(i);
}

static inline void add_region(uint32_t key, uint32_t pd, struct span at, uint64_t iova,
			      uint8_t access)
{
	const struct mem_entry entry = {.at = at.at,
					.iova = iova,
					.len = at.len,
					.key = key,
					.pd = pd,
					.qp = MEM_ANY_QP,
					.kind = MEM_REGION,
					.access = access};

	assert_int_equal(mem_add(w.mem, &entry), 0);
}

/* The engine of a configuration, in w.block. */
static inline void make_engine(const void *cfg)
{
	const struct engine_ops *ops = RESPONDER_ROW->engine;

	assert_in_range(ops->size(cfg), 1, sizeof w.block);
	w.e = (struct engine *)(void *)w.block;
	w.tx.head = w.head;
	assert_int_equal(ops->init(w.e, cfg, w.now), 0);
}

static inline void input(uint32_t head, uint32_t len)
{
	uint8_t *body = w.packet + ENGINE_HEAD_MAX;

	w.rx.head = (struct cspan){w.packet, head};
	w.rx.body[0] = (struct cspan){body, len / 3};
	w.rx.body[1] = (struct cspan){body + len / 3, len - len / 3};
	w.rx.at = w.now;
	w.e->ops->input(w.e, w.now, &w.rx, 1);
}

static inline void deliver(RESPONDER_HEADERS h, uint32_t len)
{
	uint8_t *body = w.packet + ENGINE_HEAD_MAX;

	h.bth.pad = -len & 3;
	for (uint32_t i = 0; i < len; i++)
		body[i] = payload_byte(h.bth.psn, i);
	memset(body + len, 0, h.bth.pad);
	uint32_t n = RESPONDER_PUT(&h, (struct span){w.packet, ENGINE_HEAD_MAX});

	if (n == 0) {
		RESPONDER_PUT_BTH(&h.bth, w.packet);
		n = bth_bytes;
	}
	input(n, len + h.bth.pad);
}

/* The next packet sent of those that room lets go, decoded into w.got; false when there is none. */
static inline bool pull_by(const struct engine_room *room)
{
	if (lawful_pull(w.e, w.now, room, &w.tx, 1) == 0)
		return false;
	check_answer((struct cspan){w.whole, flatten(&w.tx, w.whole, sizeof w.whole)});
	assert_int_equal(w.tx.peer, PEER);
	assert_int_equal(w.tx.local, LOCAL);
	return true;
}

static inline bool pull_on(uint16_t port0, uint16_t port1)
{
	return pull_by(&(struct engine_room){.pkts = {port0, port1}, .may = UINT32_MAX});
}

/* The same by all ports, of the classes that `may` has. */
static inline bool pull_of(uint32_t may)
{
	return pull_by(&(struct engine_room){.pkts = {8, 8}, .may = may});
}

static inline bool pull(void)
{
	return pull_of(UINT32_MAX);
}

static inline void expect_none(void)
{
	assert_false(pull());
}

static inline void expect_event(uint32_t kind)
{
	struct engine_event event;

	if (kind == NO_EVENT) {
		assert_int_equal(w.e->ops->events(w.e, &event, 1), 0);
		return;
	}
	assert_int_equal(w.e->ops->events(w.e, &event, 1), 1);
	assert_int_equal(event.kind, kind);
	assert_int_equal(event.number, NUMBER);
}

static inline struct done expect_done(uint64_t cookie, int status)
{
	struct done done;

	assert_int_equal(w.e->ops->poll(w.e, &done, 1), 1);
	assert_int_equal(done.code, ENGINE_DONE_RECEIVED);
	assert_int_equal(done.cookie, cookie);
	assert_int_equal(done.status, status);
	assert_int_equal(done.qp, NUMBER);
	assert_int_equal(done.peer, PEER);
	assert_int_equal(done.source, REMOTE);
	return done;
}

static inline void expect_no_done(void)
{
	struct done done;

	assert_int_equal(w.e->ops->poll(w.e, &done, 1), 0);
}

/* Law 1: every packet that came is in one counter. */
static inline void check_balance(void)
{
	const uint64_t *counts = w.e->ops->count(w.e);

	assert_int_equal(transport_verdicts(RESPONDER_ROW, counts),
			 counts[RESPONDER_ROW->count_rx]);
}

#endif
