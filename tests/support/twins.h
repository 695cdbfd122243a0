/* Two ends of a transport with the same set-up and the same life, of which one, the subject, also
 * gets a bad packet now and then that the other, the twin, never sees. Where the reaction to it is
 * a drop, nothing that can be seen of the two may differ afterwards, but the counters of the drop;
 * and the answers to what comes next are the same, byte for byte. Packets to them are made by hand.
 *
 * A transport's own header (rc_twins.h, mrc_twins.h) includes its end, defines struct twins with
 * `end` and `now`, then includes this, and defines what is only declared here. */
#ifndef WEFT_TESTS_SUPPORT_TWINS_H
#define WEFT_TESTS_SUPPORT_TWINS_H

#define SUBJECT 0u
#define TWIN    1u
#define OURS    0x1230u /* queue pair of both */
#define THEIRS  0x4560u
#define PMTU    256u

static struct twins d;

/* A packet made by hand, without its ICRC, and how it comes in. */
struct crafted {
	END_HEADERS h;
	struct rx_pkt rx;
	uint32_t len;
	uint8_t bytes[PACKET_MAX * 2];
};

/* The life that both lead after what the subject went through. but: see check_same. */
static inline void live_on(const size_t *but);
/* The subject counts the packet there, and that is all. */
static inline void check_dropped(const struct crafted *c, size_t counter);

#define COUNTER(name) offsetof(struct END_OF(counters), name)

static inline uint64_t count_at(const struct end *s, size_t counter)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)counts(s) + counter, sizeof v);
	return v;
}

/* Makes the bytes of c->h with so much payload; its fields may be changed, then craft again. */
static inline void craft(struct crafted *c, uint32_t payload)
{
	c->h.bth.pad = (uint8_t)(-payload & 3);
	c->len = END_PUT(&c->h, (struct span){c->bytes, ENGINE_HEAD_MAX});
	assert_true(c->len > 0);
	for (uint32_t i = 0; i < payload; i++)
		c->bytes[c->len + i] = (uint8_t)(i * 7 + c->h.bth.psn);
	memset(c->bytes + c->len + payload, 0, c->h.bth.pad);
	c->len += payload + c->h.bth.pad;
}

static inline void feed(uint32_t to, const struct crafted *c)
{
	end_input(&d.end[to], d.now, c->rx, c->bytes, c->len, c->len);
}

static inline void pull_both(void)
{
	for (uint32_t i = 0; i < 2; i++)
		end_pull(&d.end[i], d.now, wide, END_BATCH);
}

static inline void check_same_packets(void)
{
	const struct end *a = &d.end[SUBJECT], *b = &d.end[TWIN];

	assert_int_equal(a->n_out, b->n_out);
	for (uint32_t i = 0; i < a->n_out; i++) {
		assert_int_equal(a->out[i].len, b->out[i].len);
		assert_memory_equal(a->out[i].bytes, b->out[i].bytes, a->out[i].len);
		assert_int_equal(a->out[i].tx.tclass, b->out[i].tx.tclass);
		assert_int_equal(a->out[i].tx.udp_len, b->out[i].tx.udp_len);
	}
}

static inline void check_same_completions(void)
{
	struct done done[2];
	struct engine_event event[2];
	bool has;

	do {
		memset(done, 0, sizeof done);
		has = end_poll(&d.end[SUBJECT], &done[0]);
		assert_int_equal(end_poll(&d.end[TWIN], &done[1]), has);
		assert_memory_equal(&done[0], &done[1], sizeof done[0]);
	} while (has);
	do {
		memset(event, 0, sizeof event);
		has = d.end[SUBJECT].e->ops->events(d.end[SUBJECT].e, &event[0], 1) > 0;
		assert_int_equal(d.end[TWIN].e->ops->events(d.end[TWIN].e, &event[1], 1) > 0, has);
		assert_memory_equal(&event[0], &event[1], sizeof event[0]);
	} while (has);
}

static inline void check_same_attributes(void)
{
	END_ATTR attr[2];
	bool is_draining[2];

	memset(attr, 0, sizeof attr);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(
			END_OF(qp_query)(d.end[i].e, OURS, &attr[i], NULL, &is_draining[i]), 0);
		END_FORGET(&attr[i]);
	}
	assert_memory_equal(&attr[0], &attr[1], sizeof attr[0]);
	assert_int_equal(is_draining[0], is_draining[1]);
}

/* All that can be seen of both is the same, but the counters whose offsets are given, 0 the last,
 * and `rx`. What both have to send is sent. */
static inline void check_same(const size_t *but)
{
	struct END_OF(counters) count[2];

	pull_both();
	check_same_packets();
	check_same_completions();
	check_same_attributes();
	assert_memory_equal(d.end[0].area, d.end[1].area, sizeof d.end[0].area);
	assert_int_equal(deadline_of(d.end[0].e), deadline_of(d.end[1].e));
	for (uint32_t i = 0; i < 2; i++) {
		count[i] = *counts(&d.end[i]);
		count[i].rx = 0;
		for (uint32_t k = 0; but[k]; k++)
			memset((uint8_t *)&count[i] + but[k], 0, sizeof(uint64_t));
	}
	assert_memory_equal(&count[0], &count[1], sizeof count[0]);
	check_balance(&d.end[0]);
}

/* A legitimate packet to both. */
static inline void feed_both(const struct crafted *c, const size_t *but)
{
	feed(SUBJECT, c);
	feed(TWIN, c);
	check_same(but);
}

/* Dropped, and life goes on as that of the twin. */
static inline void drop(const struct crafted *c, size_t counter)
{
	const size_t but[] = {counter, 0};

	check_dropped(c, counter);
	live_on(but);
}

/* Everything that was posted has come back flushed. */
static inline void expect_flushed(uint32_t n_sent, uint32_t n_received)
{
	struct end *s = &d.end[SUBJECT];
	uint32_t sent = 0, got = 0;
	struct done done;

	while (end_poll(s, &done)) {
		assert_int_equal(done.status, ENGINE_FLUSHED);
		sent += done.code == ENGINE_DONE_SENT;
		got += done.code == ENGINE_DONE_RECEIVED;
	}
	assert_int_equal(sent, n_sent);
	assert_int_equal(got, n_received);
}

#endif
