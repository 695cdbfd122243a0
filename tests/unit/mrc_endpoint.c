/* Endpoint operations (MRC 7.3, 7.4.7, 7.4.8, 7.5.6): what requests and responses are on the wire,
 * whose answer is believed, whose time counts, and what floods come to. */
#include "mrc_stage.h"

#define STAMP_NS 128u /* of a timestamp on the wire */
#define MASK     0x25c30f01u

/* Two engines that share no connection. */
static void open_ends(uint64_t seed)
{
	start(seed);
	w.end[0].n_qps = 0;
	w.end[0].cfg.n_ports = w.end[1].cfg.n_ports = 4;
	join();
}

static struct mrc_endpoint probe(uint64_t cookie)
{
	return (struct mrc_endpoint){.peer = PEER,
				     .local = LOCAL,
				     .ev = {.value = 0xc0de0000 + (uint32_t)cookie, .port = 1},
				     .op = MRC_ENDPOINT_EV_PROBE,
				     .tclass = ENGINE_DATA,
				     .cookie = cookie};
}

static struct mrc_endpoint status(uint64_t cookie, uint32_t mask)
{
	struct mrc_endpoint r = probe(cookie);

	r.op = MRC_ENDPOINT_PORT_STATUS;
	r.port_status = mask;
	return r;
}

static int try_ask(uint32_t side, struct mrc_endpoint r)
{
	return mrc_endpoint_post(w.end[side].e, w.now, &r);
}

static void ask(uint32_t side, struct mrc_endpoint r)
{
	assert_int_equal(try_ask(side, r), 0);
}

static struct mrc_endpoint_done take_done(uint32_t side)
{
	struct mrc_endpoint_done d;

	assert_int_equal(mrc_endpoint_poll(w.end[side].e, &d, 1), 1);
	return d;
}

static void expect_none(uint32_t side)
{
	struct mrc_endpoint_done d;

	assert_int_equal(mrc_endpoint_poll(w.end[side].e, &d, 1), 0);
}

static void expect_answered(uint32_t side, uint64_t cookie, nsec rtt)
{
	struct mrc_endpoint_done d = take_done(side);

	assert_int_equal(d.news, MRC_ENDPOINT_ANSWERED);
	assert_int_equal(d.cookie, cookie);
	assert_int_equal(d.rtt_ns, rtt);
	assert_int_equal(d.peer, PEER);
	assert_int_equal(d.local, LOCAL);
	assert_int_equal(d.ev, 0xc0de0000 + cookie);
}

/* The response that answers what end 0 asks with this id. */
static struct mrc_pkt response(uint32_t id, uint8_t op)
{
	return (struct mrc_pkt){
		.bth = {.opcode = MRC_OP_ENDPOINT_RESPONSE, .dest_qp = MRC_ENDPOINT_QP, .psn = id},
		.eeth = {.op = op},
	};
}

static struct mrc_pkt request(uint32_t id, uint8_t op)
{
	return (struct mrc_pkt){
		.bth = {.opcode = MRC_OP_ENDPOINT_REQUEST, .dest_qp = MRC_ENDPOINT_QP, .psn = id},
		.erth = {.op = op, .tx_timestamp = 0x1234, .ftype = MRC_FTYPE_TIMESTAMP},
	};
}

/* Pulls one packet of a side, and expects no second one. */
static const struct end_pkt *pull_one(uint32_t side)
{
	assert_int_equal(end_pull(&w.end[side], w.now, wide, 2), 1);
	return &w.end[side].out[0];
}

static void probe_and_answer(void **state)
{
	struct mrc_endpoint r = probe(7);

	(void)state;
	open_ends(1);
	w.now = 50 * STAMP_NS;
	/* Means nothing with a probe. */
	r.port_status = MASK;
	ask(0, r);
	run();
	const struct sighting *asked = seen(0, MRC_OP_ENDPOINT_REQUEST, 0);
	const struct sighting *answer = seen(1, MRC_OP_ENDPOINT_RESPONSE, 0);

	assert_int_equal(w.n_log, 2);
	assert_int_equal(asked->h.bth.dest_qp, 2);
	assert_int_equal(asked->h.bth.psn >> 16, 0);
	assert_int_equal(asked->h.bth.ts, 0);
	assert_int_equal(asked->h.erth.op, 1);
	assert_int_equal(asked->h.erth.port_status_mask, 0);
	assert_int_equal(asked->h.erth.tx_timestamp, 50);
	assert_int_equal(asked->h.erth.tsr, 0);
	assert_int_equal(asked->h.erth.ftype, 1);
	assert_int_equal(asked->ev, r.ev.value);
	assert_int_equal(asked->port, r.ev.port);
	assert_int_equal(asked->tclass, ENGINE_DATA);
	assert_int_equal(answer->h.bth.dest_qp, 2);
	assert_int_equal(answer->h.bth.psn, asked->h.bth.psn);
	assert_int_equal(answer->h.bth.ts, 0);
	assert_int_equal(answer->h.eeth.op, 1);
	assert_int_equal(answer->h.eeth.tx_timestamp, 50);
	/* Back the way it came. */
	assert_int_equal(answer->port, r.ev.port);
	assert_int_equal(answer->ev, r.ev.value);
	assert_int_equal(answer->tclass, ENGINE_CONTROL);
	struct mrc_endpoint_done d = take_done(0);

	assert_int_equal(d.news, MRC_ENDPOINT_ANSWERED);
	assert_int_equal(d.cookie, 7);
	assert_int_equal(d.rtt_ns, 2 * w.delay);
	assert_int_equal(d.port, r.ev.port);
	assert_false(d.is_adjusted);
	expect_none(0);
	expect_none(1);
	assert_int_equal(counts(&w.end[0])->tx_endpoint, 1);
	assert_int_equal(counts(&w.end[0])->rx_endpoint_re, 1);
	assert_int_equal(counts(&w.end[1])->rx_endpoint, 1);
	assert_int_equal(counts(&w.end[1])->tx_endpoint_re, 1);
	check_ends();
	check_idle(&w.end[0]);
}

/* M-22: an EV probe in any class, its answer and all of port status in the control class, and what
 * is in that class does not promise to react to congestion. */
static void traffic_classes(void **state)
{
	(void)state;
	for (uint32_t tclass = 0; tclass <= ENGINE_TCLASSES; tclass++) {
		struct mrc_endpoint p = probe(1), s = status(2, MASK);

		open_ends(tclass);
		p.tclass = s.tclass = (uint8_t)tclass;
		ask(0, s);
		assert_int_equal(pull_one(0)->tx.tclass, ENGINE_CONTROL);
		assert_int_equal(w.end[0].out[0].tx.not_ect, 1);
		inject(1, &w.end[0].out[0].h);
		assert_int_equal(pull_one(1)->tx.tclass, ENGINE_CONTROL);
		assert_int_equal(w.end[1].out[0].tx.not_ect, 1);
		assert_int_equal(try_ask(0, p), tclass < ENGINE_TCLASSES ? 0 : -EINVAL);
		if (tclass == ENGINE_TCLASSES)
			break;
		assert_int_equal(pull_one(0)->tx.tclass, tclass);
		assert_int_equal(w.end[0].out[0].tx.not_ect, tclass == ENGINE_CONTROL);
		inject(1, &w.end[0].out[0].h);
		assert_int_equal(pull_one(1)->tx.tclass, ENGINE_CONTROL);
		assert_int_equal(w.end[1].out[0].tx.not_ect, 1);
	}
}

/* MRC-10.2.2-01: or in any DSCP, whichever class that is of. */
static void code_points(void **state)
{
	(void)state;
	open_ends(1);
	for (uint32_t dscp = 0; dscp <= 64; dscp++) {
		struct mrc_endpoint p = probe(dscp);

		p.tclass = (uint8_t)(ENGINE_DSCP + dscp);
		assert_int_equal(try_ask(0, p), dscp < 64 ? 0 : -EINVAL);
		if (dscp == 64)
			break;
		assert_int_equal(pull_one(0)->tx.tclass, ENGINE_DSCP + dscp);
		struct mrc_pkt h = response(w.end[0].out[0].h.bth.psn, MRC_ENDPOINT_EV_PROBE);

		inject(0, &h);
		expect_answered(0, dscp, 0);
	}
	struct mrc_endpoint p = probe(1);

	p.tclass = ENGINE_DSCP - 1;
	assert_int_equal(try_ask(0, p), -EINVAL);
}

static void port_status(void **state)
{
	(void)state;
	open_ends(1);
	ask(0, status(3, MASK));
	run();
	assert_int_equal(seen(0, MRC_OP_ENDPOINT_REQUEST, 0)->h.erth.op, 0);
	assert_int_equal(seen(0, MRC_OP_ENDPOINT_REQUEST, 0)->h.erth.port_status_mask, MASK << 1);
	assert_int_equal(seen(1, MRC_OP_ENDPOINT_RESPONSE, 0)->h.eeth.op, 0);
	expect_answered(0, 3, 2 * w.delay);
	struct mrc_endpoint_done d = take_done(1);

	assert_int_equal(d.news, MRC_ENDPOINT_PORTS);
	assert_int_equal(d.op, MRC_ENDPOINT_PORT_STATUS);
	assert_int_equal(d.port_status, MASK);
	assert_int_equal(d.peer, PEER);
	assert_int_equal(d.local, LOCAL);
	expect_none(1);
	/* Of several not yet taken, the newest counts. */
	for (uint32_t i = 0; i < 5; i++)
		ask(0, status(i, i));
	run();
	assert_int_equal(take_done(1).port_status, 4);
	expect_none(1);
}

/* Table 7-23 and 7.5.5.8: what comes back of a timestamp, from an end that tells its service time
 * and from one that does not. */
static void timestamps_back(void **state)
{
	static const struct {
		bool has_stamp, is_foreign, has_service_time;
		uint16_t back;
	} rows[] = {
		{true, false, true, 0x1234 + 9}, {true, false, false, 0x1234},
		{true, true, true, 0x1234},      {true, true, false, 0x1234},
		{false, false, true, 9},         {false, false, false, 0},
		{false, true, true, 9},          {false, true, false, 0},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct mrc_pkt h = request(i, MRC_ENDPOINT_EV_PROBE);

		start(i);
		w.end[0].n_qps = 0;
		w.end[1].cfg.has_service_time = rows[i].has_service_time;
		join();
		h.erth.ftype = rows[i].has_stamp ? MRC_FTYPE_TIMESTAMP : 0;
		h.erth.tsr = rows[i].is_foreign;
		/* Means nothing here (M-43). */
		h.bth.ts = 1;
		inject(1, &h);
		w.now += 9 * STAMP_NS + 5;
		assert_int_equal(pull_one(1)->h.eeth.tx_timestamp, rows[i].back);
		assert_int_equal(w.end[1].out[0].h.bth.psn, i);
	}
}

/* The round trip is without what the peer took, where it tells that; a claim to have taken longer
 * than everything is not believed. */
static void service_time(void **state)
{
	const nsec held = 40 * STAMP_NS;

	(void)state;
	for (uint32_t known = 0; known < 4; known++) {
		struct mrc_endpoint r = probe(1);

		start(known);
		w.end[0].n_qps = 0;
		w.end[0].cfg.n_ports = w.end[1].cfg.n_ports = 2;
		w.end[1].cfg.has_service_time = known & 1;
		join();
		w.now = 30 * STAMP_NS;
		r.has_service_time = known & 2;
		ask(0, r);
		w.is_held[1] = true;
		run_until(w.now + w.delay + held);
		w.is_held[1] = false;
		run();
		struct mrc_endpoint_done d = take_done(0);

		assert_int_equal(d.news, MRC_ENDPOINT_ANSWERED);
		assert_int_equal(d.rtt_ns, known == 3 ? 2 * w.delay : 2 * w.delay + held);
		assert_int_equal(d.is_adjusted, known == 3);
	}
	open_ends(1);
	struct mrc_endpoint r = probe(5);

	r.has_service_time = true;
	ask(0, r);
	struct mrc_pkt h = response(pull_one(0)->h.bth.psn, MRC_ENDPOINT_EV_PROBE);

	h.eeth.tx_timestamp = (uint16_t)(w.end[0].out[0].h.erth.tx_timestamp + 1000);
	w.now += 5 * STAMP_NS;
	inject(0, &h);
	expect_answered(0, 5, 5 * STAMP_NS);
}

/* Identifiers have 16 bits, wrap, and none is given again while its request is out. */
static void identifiers(void **state)
{
	static uint8_t used[65536];
	uint32_t kept;

	(void)state;
	memset(used, 0, sizeof used);
	start(1);
	w.end[0].n_qps = 0;
	w.end[0].cfg.n_ports = 2;
	w.end[0].cfg.max_probes = 3;
	join();
	ask(0, probe(0));
	kept = pull_one(0)->h.bth.psn;
	for (uint32_t i = 0; i < 80000; i++) {
		ask(0, probe(1));
		struct mrc_pkt h = response(pull_one(0)->h.bth.psn, MRC_ENDPOINT_EV_PROBE);

		assert_true(h.bth.psn <= UINT16_MAX);
		assert_int_not_equal(h.bth.psn, kept);
		if (used[h.bth.psn] < 3)
			used[h.bth.psn]++;
		inject(0, &h);
		expect_answered(0, 1, 0);
	}
	/* They wrapped: nearly all were given, those once more that came after. */
	uint32_t n_used = 0;

	for (uint32_t id = 0; id < 65536; id++)
		n_used += used[id] > 0;
	assert_true(n_used > 40000);
	/* Nothing of PSN[23:16] counts (Table 7-6 note 3). */
	struct mrc_pkt h = response(kept | 0x5a0000, MRC_ENDPOINT_EV_PROBE);

	inject(0, &h);
	expect_answered(0, 0, 0);
	check_balance(&w.end[0]);
}

/* Engines that share an address: the upper byte of an id says whose it is. */
static void tagged_identifiers(void **state)
{
	const uint32_t most = 256;

	(void)state;
	start(1);
	w.end[0].n_qps = 0;
	w.end[0].cfg.n_ports = 2;
	w.end[0].cfg.has_id_tag = true;
	w.end[0].cfg.id_tag = 0x9c;
	w.end[0].cfg.max_probes = most + 1;
	assert_int_equal(mrc_ops.size(&w.end[0].cfg), 0);
	w.end[0].cfg.max_probes = most;
	join();
	for (uint32_t round = 0; round < 3; round++) {
		uint8_t used[256] = {0};

		for (uint32_t i = 0; i < most; i++) {
			ask(0, probe(i));
			uint32_t id = pull_one(0)->h.bth.psn;

			assert_int_equal(id >> 8, 0x9c);
			assert_int_equal(used[id & 255]++, 0);
		}
		assert_int_equal(try_ask(0, probe(0)), -ENOMEM);
		/* Of another engine's. */
		struct mrc_pkt h = response(0x9d00, MRC_ENDPOINT_EV_PROBE);

		inject(0, &h);
		assert_int_equal(counts(&w.end[0])->drop_unasked, round + 1);
		for (uint32_t i = 0; i < most; i++) {
			h = response(0x9c00 | i, MRC_ENDPOINT_EV_PROBE);
			inject(0, &h);
			assert_int_equal(take_done(0).news, MRC_ENDPOINT_ANSWERED);
		}
		expect_none(0);
	}
}

/* An answer is believed once, from the peer that was asked, of the operation that was asked. */
static void whose_answer(void **state)
{
	const struct mrc_counters *c;
	struct rx_pkt rx = {.peer = PEER, .local = LOCAL};

	(void)state;
	open_ends(1);
	c = counts(&w.end[0]);
	struct mrc_pkt h = response(0, MRC_ENDPOINT_EV_PROBE);

	inject(0, &h);
	assert_int_equal(c->drop_unasked, 1);
	ask(0, probe(1));
	for (uint32_t id = 0; id < 65536; id++) {
		/* Not before it was sent, whatever its number will be. */
		h.bth.psn = id;
		inject(0, &h);
	}
	assert_int_equal(c->drop_unasked, 65537);
	h.bth.psn = pull_one(0)->h.bth.psn;
	rx.peer = PEER + 1;
	inject_as(0, &h, rx);
	assert_int_equal(c->drop_stranger, 1);
	h.eeth.op = MRC_ENDPOINT_PORT_STATUS;
	inject(0, &h);
	h.eeth.op = MRC_ENDPOINT_EV_PROBE;
	h.bth.psn ^= 16;
	inject(0, &h);
	h.bth.psn ^= 16;
	assert_int_equal(c->drop_unasked, 65539);
	expect_none(0);
	inject(0, &h);
	inject(0, &h);
	assert_int_equal(c->drop_unasked, 65540);
	expect_answered(0, 1, 0);
	expect_none(0);
	check_balance(&w.end[0]);
}

static void given_up(void **state)
{
	uint32_t ids[3];

	(void)state;
	open_ends(1);
	for (uint32_t i = 0; i < 3; i++) {
		ask(0, probe(i));
		ids[i] = pull_one(0)->h.bth.psn;
		w.now += 100;
	}
	ask(0, probe(3));
	/* The middle one is answered; of the others, those sent before are given up. */
	struct mrc_pkt h = response(ids[1], MRC_ENDPOINT_EV_PROBE);

	inject(0, &h);
	mrc_endpoint_expire(w.end[0].e, w.now - 100);
	expect_answered(0, 1, 200);
	struct mrc_endpoint_done d = take_done(0);

	assert_int_equal(d.news, MRC_ENDPOINT_UNANSWERED);
	assert_int_equal(d.cookie, 0);
	expect_none(0);
	h.bth.psn = ids[0];
	inject(0, &h);
	assert_int_equal(counts(&w.end[0])->drop_unasked, 1);
	h.bth.psn = ids[2];
	inject(0, &h);
	expect_answered(0, 2, 100);
	/* One that was never sent is given up by the time it was posted: its port may be shut. */
	mrc_endpoint_expire(w.end[0].e, w.now);
	expect_none(0);
	mrc_endpoint_expire(w.end[0].e, w.now + 1);
	assert_int_equal(take_done(0).cookie, 3);
	assert_int_equal(mrc_ops.deadline(w.end[0].e, engine_may_all(1)), NSEC_NEVER);
	check_idle(&w.end[0]);
}

/* Those of one cookie, sent or not, leave no trace; the others stay. */
static void forgotten(void **state)
{
	uint32_t ids[4];

	(void)state;
	open_ends(1);
	for (uint32_t i = 0; i < 4; i++) {
		ask(0, probe(i % 2));
		ids[i] = pull_one(0)->h.bth.psn;
	}
	ask(0, probe(0));
	ask(0, probe(1));
	ask(0, probe(0));
	mrc_endpoint_forget(w.end[0].e, 0);
	mrc_endpoint_forget(w.end[0].e, 99);
	assert_int_equal(mrc_usage(w.end[0].e).probes, 3);
	expect_none(0);
	for (uint32_t i = 0; i < 4; i++) {
		struct mrc_pkt h = response(ids[i], MRC_ENDPOINT_EV_PROBE);

		inject(0, &h);
	}
	assert_int_equal(counts(&w.end[0])->drop_unasked, 2);
	expect_answered(0, 1, 0);
	expect_answered(0, 1, 0);
	expect_none(0);
	run();
	expect_answered(0, 1, 2 * w.delay);
	expect_none(0);
	check_idle(&w.end[0]);
}

/* No more than max_probes are out, or done and not polled. */
static void own_limit(void **state)
{
	const uint32_t max = 16;

	(void)state;
	open_ends(1);
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < max; i++)
			ask(0, probe(i));
		assert_int_equal(try_ask(0, probe(99)), -ENOMEM);
		assert_int_equal(mrc_usage(w.end[0].e).probes, max);
		run();
		assert_int_equal(mrc_usage(w.end[0].e).probes, 0);
		for (uint32_t i = 0; i < max; i++) {
			assert_int_equal(try_ask(0, probe(99)), -ENOMEM);
			expect_answered(0, i, 2 * w.delay);
			ask(0, probe(100 + i));
		}
		run();
		for (uint32_t i = 0; i < max; i++)
			expect_answered(0, 100 + i, 2 * w.delay);
	}
	expect_none(0);
}

/* A flood is answered as far as there is room; the rest is dropped and forgotten. */
static void request_flood(void **state)
{
	const struct mrc_counters *c;
	struct mrc_endpoint own = probe(1);

	(void)state;
	open_ends(1);
	c = counts(&w.end[1]);
	for (uint32_t i = 0; i < 1000; i++) {
		struct mrc_pkt h = request(i, MRC_ENDPOINT_EV_PROBE);

		inject(1, &h);
	}
	assert_int_equal(c->rx_endpoint, 16);
	assert_int_equal(c->drop_busy, 984);
	/* Our own requests take turns with them. */
	own.ev.port = 0;
	ask(1, own);
	ask(1, own);
	assert_int_equal(end_pull(&w.end[1], w.now, wide, 6), 6);
	uint32_t n = 0;

	for (uint32_t i = 0; i < 6; i++)
		n += w.end[1].out[i].h.bth.opcode == MRC_OP_ENDPOINT_REQUEST;
	assert_int_equal(n, 2);
	assert_int_equal(end_pull(&w.end[1], w.now, wide, END_BATCH), 12);
	check_balance(&w.end[1]);
}

/* n requests in the name of a peer, each answered before the next: how many were. */
static uint32_t answered_to(uint32_t peer, uint32_t n)
{
	uint64_t before = counts(&w.end[1])->rx_endpoint;
	uint64_t dropped = counts(&w.end[1])->drop_rate;

	for (uint32_t i = 0; i < n; i++) {
		struct mrc_pkt h = request(i, MRC_ENDPOINT_EV_PROBE);

		inject_as(1, &h, (struct rx_pkt){.peer = peer, .local = LOCAL});
		end_pull(&w.end[1], w.now, wide, END_BATCH);
	}
	check_balance(&w.end[1]);
	assert_int_equal(counts(&w.end[1])->drop_rate - dropped + counts(&w.end[1])->rx_endpoint -
				 before,
			 n);
	return (uint32_t)(counts(&w.end[1])->rx_endpoint - before);
}

/* An answer is longer than its request, and who asks is whoever he says: strangers get few answers,
 * all together, by the engine's time and nothing else. */
static void strangers_get_few_answers(void **state)
{
	static const uint32_t rates[] = {0, 1000, 10, MRC_RATE_MAX};
	static const uint32_t in_100_ms[] = {2000, 100, 1, 4096};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		start(1);
		w.end[0].n_qps = 0;
		w.end[1].cfg.stranger_rate = rates[i];
		join();
		assert_int_equal(answered_to(70, 3000), 3000);
		assert_int_equal(answered_to(71, 3000), 1096);
		assert_int_equal(answered_to(72, 200), 0);
		w.now += 100000000;
		assert_int_equal(answered_to(73, 5000), in_100_ms[i]);
		w.now += UINT64_C(500000000000);
		assert_int_equal(answered_to(74, 5000), 4096);
	}
}

static void strangers_get_no_answer(void **state)
{
	(void)state;
	start(1);
	w.end[0].n_qps = 0;
	w.end[1].cfg.stranger_rate = MRC_NO_STRANGERS;
	join();
	assert_int_equal(answered_to(70, 10), 0);
	w.now += UINT64_C(100000000000);
	assert_int_equal(answered_to(70, 10), 0);
}

/* A peer's EVs are all probed every few milliseconds, whatever strangers do; it is a peer as long
 * as it has a queue pair here. */
static void peers_get_all_answers(void **state)
{
	(void)state;
	start(1);
	w.end[1].cfg.stranger_rate = MRC_NO_STRANGERS;
	join();
	uint32_t peer = w.end[1].qp[0].attr.peer;

	for (uint32_t i = 1; i < 3000; i++)
		assert_int_equal(answered_to(peer + i, 1), 0);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(answered_to(peer, 1024), 1024);
		w.now += 2000000;
	}
	w.now += 10000000;
	assert_int_equal(answered_to(peer, 5000), 4096);
	w.now += 10000000;
	for (uint32_t i = 0; i < w.end[1].n_qps; i++)
		assert_non_null(mrc_qp_free(w.end[1].e, w.end[1].qp[i].number));
	assert_int_equal(answered_to(peer, 10), 0);
}

/* Ports of so many peers are told, no more; which leaves no trace of the one too many. */
static void port_updates_of_many(void **state)
{
	struct rx_pkt rx = {.local = LOCAL};
	struct mrc_endpoint_done d[MRC_PORT_UPDATES + 1];

	(void)state;
	start(1);
	w.end[0].n_qps = 0;
	w.end[1].cfg.max_probes = 64;
	join();
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i <= MRC_PORT_UPDATES; i++) {
			struct mrc_pkt h = request(i, MRC_ENDPOINT_PORT_STATUS);

			h.erth.port_status_mask = (100 * round + i) << 1;
			rx.peer = i;
			inject_as(1, &h, rx);
		}
	assert_int_equal(counts(&w.end[1])->drop_busy, 2);
	assert_int_equal(counts(&w.end[1])->rx_endpoint, 2 * MRC_PORT_UPDATES);
	assert_int_equal(mrc_endpoint_poll(w.end[1].e, d, 3), 3);
	assert_int_equal(mrc_endpoint_poll(w.end[1].e, d + 3, MRC_PORT_UPDATES),
			 MRC_PORT_UPDATES - 3);
	for (uint32_t i = 0; i < MRC_PORT_UPDATES; i++) {
		assert_int_equal(d[i].news, MRC_ENDPOINT_PORTS);
		assert_int_equal(d[i].peer, i);
		assert_int_equal(d[i].port_status, 100 + i);
	}
	expect_none(1);
	assert_int_equal(end_pull(&w.end[1], w.now, wide, END_BATCH), END_BATCH);
	expect_none(1);
}

/* A full pool changes nothing: an update that is not answered is not told either. */
static void no_answer_no_news(void **state)
{
	(void)state;
	open_ends(1);
	for (uint32_t i = 0; i < 16; i++) {
		struct mrc_pkt h = request(i, MRC_ENDPOINT_EV_PROBE);

		inject(1, &h);
	}
	struct mrc_pkt h = request(1, MRC_ENDPOINT_PORT_STATUS);

	inject(1, &h);
	assert_int_equal(counts(&w.end[1])->drop_busy, 1);
	expect_none(1);
}

/* What has no port to leave by waits, and keeps nobody else back. */
static void ports_apart(void **state)
{
	static const uint16_t shut_1[ENGINE_PORTS] = {9, 0, 9, 9}, only_1[ENGINE_PORTS] = {0, 1};
	static const uint16_t none[ENGINE_PORTS] = {0};
	struct mrc_endpoint r = probe(1);

	(void)state;
	open_ends(1);
	for (uint32_t i = 0; i < 8; i++) {
		r.ev.port = i % 4;
		r.cookie = i;
		ask(0, r);
	}
	assert_int_equal(end_pull(&w.end[0], w.now, none, 8), 0);
	assert_int_equal(end_pull(&w.end[0], w.now, shut_1, 8), 6);
	assert_true(mrc_ops.deadline(w.end[0].e, engine_may_all(0xd)) == NSEC_NEVER);
	assert_int_equal(mrc_ops.deadline(w.end[0].e, engine_may_all(0x2)), w.now);
	assert_int_equal(end_pull(&w.end[0], w.now, only_1, 8), 1);
	assert_int_equal(w.end[0].out[0].tx.port, 1);
	assert_int_equal(end_pull(&w.end[0], w.now, only_1, 8), 1);
	assert_true(mrc_ops.deadline(w.end[0].e, ALL_FREE) == NSEC_NEVER);
	r.ev.port = 4;
	assert_int_equal(try_ask(0, r), -EINVAL);
	r = probe(1);
	r.op = 2;
	assert_int_equal(try_ask(0, r), -EINVAL);
}

/* A response goes to the address that its request came from, from the one that it came to, whoever
 * that is: the driver gives it the encapsulation that this peer's addresses have (MRC-7.4.7-X02).
 * The entropy is the responder's to choose, and that of the request came through. */
static void answers_go_where_questions_came_from(void **state)
{
	(void)state;
	open_ends(1);
	for (uint32_t i = 0; i < 5; i++) {
		struct mrc_pkt h = request(i, MRC_ENDPOINT_EV_PROBE);
		struct rx_pkt rx = {.peer = PEER + 3 * i,
				    .local = LOCAL + i,
				    .ev = 0xc0de0000 + i,
				    .port = (uint8_t)(i % 4)};

		inject_as(1, &h, rx);
		assert_int_equal(end_pull(&w.end[1], w.now, wide, 8), 1);
		const struct tx_pkt *tx = &w.end[1].out[0].tx;

		assert_int_equal(w.end[1].out[0].h.bth.psn, i);
		assert_int_equal(tx->peer, rx.peer);
		assert_int_equal(tx->local, rx.local);
		assert_int_equal(tx->ev, rx.ev);
		assert_int_equal(tx->port, rx.port);
	}
}

/* Queue pair 2 takes endpoint operations and nothing else, and they are for nobody else
 * (MRC-7.3-02, MRC-7.3-03); operations that are not assigned are dropped. */
static void bad_packets(void **state)
{
	const struct mrc_counters *c;
	struct mrc_pkt h;
	uint8_t bytes[64] = {0};

	(void)state;
	start(1);
	join();
	c = counts(&w.end[1]);
	h = request(1, MRC_ENDPOINT_EV_PROBE);
	h.bth.dest_qp = w.end[1].qp[0].number;
	inject(1, &h);
	h = response(1, MRC_ENDPOINT_EV_PROBE);
	h.bth.dest_qp = w.end[1].qp[0].number;
	inject(1, &h);
	h = (struct mrc_pkt){.bth = {.opcode = MRC_OP_WRITE_ONLY, .pkey = 0xffff, .dest_qp = 2}};
	inject(1, &h);
	h.bth.opcode = MRC_OP_SACK;
	inject(1, &h);
	assert_int_equal(c->drop_qp, 4);
	h = request(1, 2);
	inject(1, &h);
	h = request(1, 3);
	inject(1, &h);
	assert_int_equal(c->drop_opcode, 2);
	for (uint32_t k = 0; k < 2; k++) {
		h = k ? response(1, MRC_ENDPOINT_EV_PROBE) : request(1, MRC_ENDPOINT_EV_PROBE);
		uint32_t len = mrc_head_put(&h, (struct span){bytes, sizeof bytes});
		uint64_t before = c->drop_malformed;

		for (uint32_t cut = 0; cut < len; cut++)
			inject_bytes(1, bytes, cut);
		inject_bytes(1, bytes, len + 4);
		end_input(&w.end[1], w.now,
			  (struct rx_pkt){.peer = PEER, .local = LOCAL, .trimmed = NET_TRIMMED},
			  bytes, len, len);
		assert_int_equal(c->drop_malformed, before + len + 2);
	}
	assert_int_equal(c->rx_endpoint + c->rx_endpoint_re, 0);
	assert_int_equal(end_pull(&w.end[1], w.now, wide, END_BATCH), 0);
	check_ends();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(probe_and_answer),
	cmocka_unit_test(traffic_classes),
	cmocka_unit_test(code_points),
	cmocka_unit_test(port_status),
	cmocka_unit_test(timestamps_back),
	cmocka_unit_test(service_time),
	cmocka_unit_test(identifiers),
	cmocka_unit_test(tagged_identifiers),
	cmocka_unit_test(whose_answer),
	cmocka_unit_test(given_up),
	cmocka_unit_test(forgotten),
	cmocka_unit_test(own_limit),
	cmocka_unit_test(request_flood),
	cmocka_unit_test(strangers_get_few_answers),
	cmocka_unit_test(strangers_get_no_answer),
	cmocka_unit_test(peers_get_all_answers),
	cmocka_unit_test(port_updates_of_many),
	cmocka_unit_test(no_answer_no_news),
	cmocka_unit_test(ports_apart),
	cmocka_unit_test(answers_go_where_questions_came_from),
	cmocka_unit_test(bad_packets),
};
CHECK_MAIN(cases)
