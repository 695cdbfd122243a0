#include "ref/ref.h"

#include <errno.h>
#include <string.h>

#include "check.h"
#include "ref_pair.h"
#include "wire/net.h"

/* Law 6 */
static void memory_is_one_block(void **state)
{
	(void)state;
	start();
	struct ref_cfg cfg = plain_cfg();

	cfg.memory = w.memory[0];
	size_t size = ref_ops.size(&cfg);

	post(0, 10000, ENGINE_WRITE_IMM, 3);
	run();
	poll_one(0, (struct done){.cookie = 3, .len = 10000});
	for (size_t i = size; i < BLOCK; i++)
		assert_int_equal(w.block[0][i] | w.block[1][i], CANARY);
	cfg.window_pkts = 256;
	cfg.n_evs = 64;
	assert_true(ref_ops.size(&cfg) < 32768);
	size = ref_ops.size(&cfg);
	cfg.max_qps++;
	assert_true(ref_ops.size(&cfg) - size < 16384);
}

static void configurations(void **state)
{
	const struct ref_cfg good = plain_cfg();
	struct ref_cfg bad[14];
	(void)state;

	for (uint32_t i = 0; i < 14; i++)
		bad[i] = good;
	bad[0].max_qps = 0;
	bad[1].max_qps = (1u << 24) + 1;
	bad[2].max_ops = 0;
	bad[3].payload_bytes = 66;
	bad[4].payload_bytes = REF_PAYLOAD_MAX + 4;
	bad[5].window_pkts = REF_WINDOW_MAX + 1;
	bad[6].evs = NULL;
	bad[7].n_evs = 0;
	bad[8].n_ports = N_EVS, bad[8].n_evs = N_EVS;
	bad[9].n_ports = 4, bad[9].n_evs = 3;
	bad[10].retries = REF_RETRIES_MAX + 1;
	bad[11].rto_ns = 0;
	bad[12].rto_ns = REF_RTO_MAX + 1;
	bad[13].n_evs = 65536;
	for (uint32_t i = 0; i < 14; i++) {
		bad[i].memory_bytes = 0;
		assert_int_equal(ref_ops.size(&bad[i]), 0);
		assert_int_equal(ref_ops.init(engine_in(w.block[0]), &bad[i], 0), -EINVAL);
	}
	assert_int_equal(ref_ops.size(&good), 0); /* bytes without memory */
	start();
	const struct ref_peer peers[] = {
		{.qp = 0},
		{.qp = 2},
		{.qp = 1, .remote_qp = 1u << 24},
		{.qp = 1, .sq_psn = 1u << 24},
		{.qp = 1, .rq_psn = 1u << 24},
	};

	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(ref_open(w.e[0], &peers[i]), -EINVAL);
}

static void post_refuses(void **state)
{
	(void)state;
	start();
	struct sge sg[REF_SGE + 1] = {{w.source, 8, 0},
				      {w.source, 8, 0},
				      {w.source, 8, 0},
				      {w.source, 8, 0},
				      {w.source, 8, 0}};
	const struct op good = {.sg = sg, .n_sg = 1, .code = ENGINE_WRITE};
	struct op bad[12];

	for (uint32_t i = 0; i < 12; i++)
		bad[i] = good;
	bad[0].qp = 1; /* not open */
	bad[1].qp = 2; /* not there */
	bad[2].code = ENGINE_SEND;
	bad[3].code = ENGINE_READ;
	bad[4].code = ENGINE_ATOMIC;
	bad[5].n_sg = REF_SGE + 1;
	bad[6].sg = NULL;
	bad[7].key = UINT64_C(1) << 32;
	bad[8].imm = UINT64_C(1) << 32;
	bad[9].remote = UINT64_MAX - 6;
	bad[10].n_sg = REF_SGE, bad[10].sg = (struct sge[]){sg[0], sg[0], sg[0], {w.source, 7, 0}};
	bad[11].n_sg = 2, bad[11].sg = (struct sge[]){{NULL, UINT32_MAX, 0}, {NULL, 1, 0}};
	for (uint32_t i = 0; i < 12; i++)
		assert_int_equal(ref_ops.post(w.e[0], w.now, &bad[i]), -EINVAL);
	assert_true(ref_ops.deadline(w.e[0], ALL_FREE) == NSEC_NEVER);
	assert_int_equal(pull(0, wide, BATCH), 0);
}

/* Law 5: a full pool is an answer, and its places come back by poll alone. */
static void pool_full(void **state)
{
	(void)state;
	w.psn = 0;
	struct ref_cfg cfg = plain_cfg();

	cfg.max_ops = 3;
	start_with(1, cfg);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 3; i++)
			post(100, 20, ENGINE_WRITE, 10 * round + i);
		assert_int_equal(post_at(100, 20, ENGINE_WRITE, 9), -ENOMEM);
		run();
		assert_int_equal(post_at(100, 20, ENGINE_WRITE, 9), -ENOMEM);
		for (uint64_t i = 0; i < 3; i++)
			poll_one(0, (struct done){.cookie = 10 * round + i, .len = 20});
		poll_none(0);
	}
	poll_none(1);
}

struct shape {
	uint32_t len;
	uint8_t code, n;
	uint8_t opcodes[3];
};

static void packets_of_a_message(void **state)
{
	static const struct shape shapes[] = {
		{0, ENGINE_WRITE, 1, {0xca}},
		{0, ENGINE_WRITE_IMM, 1, {0xcb}},
		{PAYLOAD, ENGINE_WRITE, 1, {0xca}},
		{PAYLOAD - 3, ENGINE_WRITE_IMM, 1, {0xcb}},
		{PAYLOAD + 1, ENGINE_WRITE, 2, {0xc6, 0xc8}},
		{2 * PAYLOAD + 2, ENGINE_WRITE, 3, {0xc6, 0xc7, 0xc8}},
		{3 * PAYLOAD, ENGINE_WRITE_IMM, 3, {0xc6, 0xc7, 0xc9}},
	};
	uint32_t psn = 0, rqmsn = 0;
	(void)state;

	start();
	for (uint32_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
		const struct shape *s = &shapes[k];
		uint32_t left = s->len;

		post(1000, s->len, s->code, 0x11223344);
		assert_int_equal(pull(0, wide, BATCH), s->n);
		for (uint32_t i = 0; i < s->n; i++) {
			struct mrc_pkt p = decode(&w.tx[i]);
			uint32_t part = left < PAYLOAD ? left : PAYLOAD;

			assert_int_equal(p.bth.opcode, s->opcodes[i]);
			assert_int_equal(p.bth.psn, psn++);
			assert_int_equal(p.bth.dest_qp, 1);
			assert_int_equal(p.bth.pkey, 0xffff);
			assert_int_equal(p.bth.rtx, 0);
			assert_int_equal(p.meth.msn, k);
			assert_int_equal(p.meth.rqmsn, rqmsn);
			assert_int_equal(p.reth.va, 1000 + i * PAYLOAD);
			assert_int_equal(p.reth.rkey, 0xabcd);
			assert_int_equal(p.reth.dmalen, s->len);
			assert_int_equal(p.payload.len, part);
			assert_memory_equal(p.payload.at, w.source + 1000 + i * PAYLOAD, part);
			if (p.has & MRC_IMMDT)
				assert_int_equal(p.imm.immdt, 0x11223344);
			assert_int_equal(w.tx[i].tclass, ENGINE_DATA);
			assert_int_equal(w.tx[i].udp_len, 0);
			left -= part;
		}
		rqmsn += s->code == ENGINE_WRITE_IMM;
	}
}

/* Pieces of any length, real and virtual, cut by the packets where it happens. */
static void pieces_straddle_packets(void **state)
{
	(void)state;
	start();
	static const uint32_t lens[][4] = {
		{1, 2, 200, 1}, {64, 0, 64, 0}, {10, 20, 30, 40}, {100, 1, 27, 0}, {3, 0, 0, 0},
	};

	for (uint32_t k = 0; k < 5; k++) {
		struct sge sg[4];
		uint32_t at = 4096 * k, len = 0;

		for (uint32_t i = 0; i < 4; i++) {
			sg[i] = (struct sge){i == 2 && k == 2 ? NULL : w.source + at + 1000 * i,
					     lens[k][i], 0};
			if (sg[i].at)
				memcpy(w.image + at + len, sg[i].at, sg[i].len);
			len += sg[i].len;
		}
		/* A virtual piece goes over the test's wire as the zeros it stands for. */
		if (k == 2)
			memset(w.image + at + 30, 0, 30);
		struct op op = {.remote = at, .sg = sg, .n_sg = len % 4 ? 3 : 4};

		len -= len % 4 ? lens[k][3] : 0;
		assert_int_equal(ref_ops.post(w.e[0], w.now, &op), 0);
		run();
		poll_one(0, (struct done){.len = len});
	}
	check_memory();
	check_balance(0), check_balance(1);
}

static void virtual_payload(void **state)
{
	(void)state;
	start();
	struct sge sg = {NULL, 1001, 0};
	/* No byte is stored, so no address is out of bounds. */
	struct op op = {
		.remote = UINT64_C(1) << 40, .sg = &sg, .n_sg = 1, .code = ENGINE_WRITE_IMM};

	assert_int_equal(ref_ops.post(w.e[0], w.now, &op), 0);
	assert_int_equal(pull(0, wide, 20), 16);
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(w.tx[i].n_body, 1);
		assert_null(w.tx[i].body[0].at);
		fly(0, &w.tx[i]);
	}
	run();
	poll_one(0, (struct done){.len = 1001});
	poll_one(1, (struct done){.code = ENGINE_DONE_RECEIVED, .len = 1001});
	check_memory();
	assert_int_equal(count(1)->rx_bytes, 1001);
	/* Without memory real bytes are counted, too, and go nowhere. */
	struct ref_cfg cfg = plain_cfg();

	cfg.memory_bytes = 0;
	start_with(1, cfg);
	post(0, 500, ENGINE_WRITE, 1);
	memset(w.image, CANARY, sizeof w.image);
	run();
	poll_one(0, (struct done){.cookie = 1, .len = 500});
	check_memory();
	assert_int_equal(count(1)->rx_bytes, 500);
}

static void window_is_kept(void **state)
{
	(void)state;
	for (uint32_t window = 1; window <= 64; window += 7) {
		struct ref_cfg cfg = plain_cfg();
		uint32_t sent = 0;

		cfg.window_pkts = window;
		w.psn = 0xfffff0;
		start_with(window, cfg);
		post(0, 100 * PAYLOAD, ENGINE_WRITE, 1);
		for (uint32_t got; (got = pull(0, wide, BATCH)) > 0;) {
			sent += got;
			for (uint32_t i = 0; i < got; i++)
				fly(0, &w.tx[i]);
			/* The one that fills it asks for an answer: nobody else might. */
			if (sent >= window)
				assert_int_equal(bth_of(&w.tx[got - 1]).ack_req, 1);
		}
		assert_int_equal(sent, window);
		assert_int_equal(ref_ops.deadline(w.e[0], ALL_FREE), w.now + RTO);
		run();
		poll_one(0, (struct done){.cookie = 1, .len = 100 * PAYLOAD});
		assert_int_equal(count(0)->timeouts, 0);
		check_memory();
	}
}

static void ends_after_the_last_retry(void **state)
{
	(void)state;
	start();
	w.lose = 1000;
	nsec begin = w.now, due = w.now;
	uint32_t sent = 0;

	post(0, 2 * PAYLOAD, ENGINE_WRITE, 1);
	post(1000, 10, ENGINE_WRITE_IMM, 2);
	for (uint32_t i = 0; i <= 3; i++) {
		assert_int_equal(ref_ops.deadline(w.e[0], ALL_FREE), i ? due : w.now);
		w.now = due;
		sent += pull(0, wide, BATCH);
		assert_int_equal(sent, 3 * (i + 1));
		due += (nsec)RTO << i;
		assert_int_equal(ref_ops.deadline(w.e[0], 0), due);
		w.now = due - 1;
		assert_int_equal(pull(0, wide, BATCH), 0);
		poll_none(0);
	}
	assert_int_equal(due, begin + 15 * RTO);
	w.now = due;
	assert_int_equal(pull(0, wide, 0), 0); /* no room needed to end */
	assert_true(ref_ops.deadline(w.e[0], ALL_FREE) == NSEC_NEVER);
	poll_one(0, (struct done){.cookie = 1, .len = 2 * PAYLOAD, .status = -ETIMEDOUT});
	poll_one(0, (struct done){.cookie = 2, .len = 10, .status = -ETIMEDOUT});
	poll_none(0);
	assert_int_equal(post_at(0, 10, ENGINE_WRITE, 3), -EINVAL);
	assert_int_equal(count(0)->tx_retx_timeout, 9);
	assert_int_equal(count(0)->timeouts, 4);
	assert_int_equal(count(0)->failed, 1);
}

/* A port that stays shut ends a queue pair as a silent peer does; one that opens in time does not,
 * and what gets through starts the count anew. */
static void a_shut_port_counts_like_a_silent_peer(void **state)
{
	static const uint16_t shut[ENGINE_PORTS];
	(void)state;

	for (uint32_t opens = 0; opens < 2; opens++) {
		uint32_t turns = plain_cfg().retries + !opens;

		start();
		post(0, 2 * PAYLOAD, ENGINE_WRITE, 1);
		assert_int_equal(pull(0, wide, BATCH), 2);
		for (uint32_t i = 0; i < turns; i++) {
			w.now = ref_ops.deadline(w.e[0], 0);
			assert_true(w.now != NSEC_NEVER);
			assert_int_equal(pull(0, shut, BATCH), 0);
		}
		assert_int_equal(count(0)->timeouts, turns);
		assert_int_equal(count(0)->failed, !opens);
		if (!opens) {
			poll_one(0, (struct done){
					    .cookie = 1, .len = 2 * PAYLOAD, .status = -ETIMEDOUT});
			assert_int_equal(pull(0, wide, BATCH), 0);
			assert_true(ref_ops.deadline(w.e[0], ALL_FREE) == NSEC_NEVER);
			continue;
		}
		run();
		poll_one(0, (struct done){.cookie = 1, .len = 2 * PAYLOAD});
		post(0, PAYLOAD, ENGINE_WRITE, 2);
		assert_int_equal(pull(0, wide, BATCH), 1);
		assert_int_equal(ref_ops.deadline(w.e[0], ALL_FREE), w.now + RTO);
	}
}

/* Law 4: acknowledgements go first, on the port their data came by. */
static void control_before_data(void **state)
{
	struct ref_cfg cfg = plain_cfg();
	(void)state;

	cfg.n_ports = 2;
	w.psn = 0;
	start_with(3, cfg);
	struct sge sg = {w.source, 10 * PAYLOAD, 0};
	struct op back = {.qp = 1, .sg = &sg, .n_sg = 1};

	for (uint32_t i = 0; i < 4; i++)
		post(64 * i, 64, ENGINE_WRITE, i);
	assert_int_equal(ref_ops.post(w.e[1], w.now, &back), 0);
	assert_int_equal(pull(0, wide, BATCH), 4);
	uint32_t by_port[2] = {0, 0};

	for (uint32_t i = 0; i < 4; i++) {
		by_port[w.tx[i].port]++;
		hand(i, NET_WHOLE, 0);
	}
	assert_int_equal(by_port[0], 2);
	/* The one that is shut keeps its own waiting, and nobody else's. */
	for (uint16_t port = 2; port-- > 0;) {
		uint16_t room[ENGINE_PORTS] = {port == 0 ? 2 : 0, port == 1 ? 3 : 0};
		uint32_t n = pull(1, room, BATCH);

		assert_int_equal(n, 2 + port);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(w.tx[i].tclass, i < 2 ? ENGINE_CONTROL : ENGINE_DATA);
			assert_int_equal(w.tx[i].port, port);
		}
	}
}

/* No port is idle while there is data, whichever ones have room. */
static void ports_fill_evenly(void **state)
{
	struct ref_cfg cfg = plain_cfg();
	(void)state;

	cfg.window_pkts = 1024;
	for (uint32_t ports = 1; ports <= 8; ports++) {
		cfg.n_ports = ports;
		w.psn = 0;
		start_with(ports, cfg);
		post(0, 1000 * PAYLOAD, ENGINE_WRITE, 1);
		for (uint32_t i = 0; i < 40; i++) {
			uint16_t room[ENGINE_PORTS] = {0};
			uint32_t sum = 0, most = BATCH - 8;

			for (uint32_t p = 0; p < ports; p++) {
				room[p] = (uint16_t)below(most / ports + 1);
				sum += room[p];
			}
			assert_int_equal(pull(0, room, BATCH), sum);
			for (uint32_t k = 0; k < sum; k++)
				assert_int_equal((w.tx[k].ev >> 16) % ports, w.tx[k].port);
		}
	}
}

static void spray_is_even(void **state)
{
	struct ref_cfg cfg = plain_cfg();
	uint32_t orders[8][N_EVS];
	(void)state;

	cfg.window_pkts = 1024;
	for (uint32_t seed = 0; seed < 8; seed++) {
		uint32_t seen[N_EVS] = {0};

		cfg.seed = 100 + seed;
		cfg.n_ports = 1u << seed / 2;
		w.psn = 0;
		start_with(1, cfg);
		post(0, 640 * PAYLOAD, ENGINE_WRITE, 1);
		for (uint32_t i = 0; i < 640; i++) {
			assert_int_equal(pull(0, wide, 1), 1);
			uint32_t number = w.tx[0].ev >> 16;

			assert_int_equal(w.tx[0].ev & 0xffff, 0xabc);
			assert_true(number < N_EVS);
			seen[number]++;
			/* One round takes each value once, and all rounds are alike. */
			if (i < N_EVS)
				orders[seed][i] = number;
			else
				assert_int_equal(orders[seed][i % N_EVS], number);
		}
		for (uint32_t i = 0; i < N_EVS; i++)
			assert_int_equal(seen[i], 640 / N_EVS);
		for (uint32_t i = 0; i < seed; i++)
			assert_memory_not_equal(orders[i], orders[seed], sizeof orders[0]);
	}
}

/* Two queue pairs of an engine go round in different ways. */
static void queue_pairs_do_not_march(void **state)
{
	struct ref_peer peer = {.qp = 1, .peer = PEER, .local = 5, .remote_qp = 9};
	struct sge sg = {w.source, N_EVS * PAYLOAD, 0};
	struct op op = {.qp = 1, .sg = &sg, .n_sg = 1};
	uint32_t orders[2][N_EVS], n[2] = {0, 0};
	(void)state;

	start();
	assert_int_equal(ref_open(w.e[0], &peer), 0);
	post(0, N_EVS * PAYLOAD, ENGINE_WRITE, 1);
	assert_int_equal(ref_ops.post(w.e[0], w.now, &op), 0);
	assert_int_equal(pull(0, wide, 2 * N_EVS), 2 * N_EVS);
	for (uint32_t i = 0; i < 2 * N_EVS; i++) {
		uint32_t q = bth_of(&w.tx[i]).dest_qp == 9;

		assert_true(n[q] < N_EVS);
		orders[q][n[q]++] = w.tx[i].ev;
	}
	assert_memory_not_equal(orders[0], orders[1], sizeof orders[0]);
}

/* What a run with faults must come to. */
struct work {
	uint32_t n, sent, received;
	uint32_t at[64], len[64];
	uint8_t code[64];
};

static void post_work(struct work *k)
{
	uint32_t at = 0;

	*k = (struct work){.n = 1 + below(20)};
	for (uint32_t i = 0; i < k->n; i++) {
		uint32_t len = chance(300) ? below(5) : below(12 * PAYLOAD);
		uint32_t cut[3] = {0, below(len + 1), len};
		struct sge sg[2];

		k->at[i] = at;
		k->len[i] = len;
		k->code[i] = chance(500) ? ENGINE_WRITE_IMM : ENGINE_WRITE;
		for (uint32_t p = 0; p < 2; p++)
			sg[p] = (struct sge){w.source + at + cut[p], cut[p + 1] - cut[p], 0};
		struct op op = {.cookie = i,
				.imm = i,
				.remote = at,
				.sg = sg,
				.n_sg = 2,
				.code = k->code[i]};

		assert_int_equal(ref_ops.post(w.e[0], w.now, &op), 0);
		memcpy(w.image + at, w.source + at, len);
		at += len + below(9);
	}
}

static void poll_work(struct work *k)
{
	struct done d;

	while (ref_ops.poll(w.e[0], &d, 1)) {
		assert_int_equal(d.code, ENGINE_DONE_SENT);
		assert_int_equal(d.status, 0);
		assert_int_equal(d.cookie, k->sent);
		/* Acknowledged means placed. */
		assert_memory_equal(w.memory[1] + k->at[k->sent], w.source + k->at[k->sent],
				    k->len[k->sent]);
		k->sent++;
	}
	while (ref_ops.poll(w.e[1], &d, 1)) {
		uint32_t i = k->received;

		while (i < k->n && k->code[i] != ENGINE_WRITE_IMM)
			i++;
		assert_int_equal(d.code, ENGINE_DONE_RECEIVED);
		assert_int_equal(d.imm, i);
		assert_int_equal(d.len, k->len[i]);
		assert_memory_equal(w.memory[1], w.image, k->at[i] + k->len[i]);
		k->received = i + 1;
	}
}

static struct ref_cfg random_cfg(struct prng *p)
{
	struct ref_cfg cfg = plain_cfg();

	cfg.n_ports = 1 + (uint32_t)prng_below(p, 8);
	cfg.n_evs = (uint32_t)prng_range(p, cfg.n_ports, N_EVS);
	cfg.window_pkts = 1 + (uint32_t)prng_below(p, 100);
	cfg.ack_every = 1 + (uint32_t)prng_below(p, 8);
	cfg.max_controls = 1 + (uint32_t)prng_below(p, 16);
	cfg.retries = REF_RETRIES_MAX;
	cfg.seed = prng_u64(p);
	return cfg;
}

/* One run: every fault by the seed's choice, until all is done; then the laws of the whole. */
static uint64_t run_faults(uint64_t seed)
{
	struct prng p;
	struct work k;
	uint64_t pkts = 0, bytes = 0;
	uint32_t steps = 0, last = 0;

	prng_init(&p, seed, 1);
	w.psn = (uint32_t)prng_below(&p, 1u << 24);
	if (prng_chance(&p, 1, 2))
		w.psn = 0xffffff - (uint32_t)prng_below(&p, 20);
	start_with(seed, random_cfg(&p));
	w.lose = below(2) * below(200);
	w.twice = below(2) * below(200);
	w.trim = below(2) * below(300);
	w.spoil = 500;
	w.mark = below(2) * below(300);
	w.jitter = below(2) * below(20000);
	post_work(&k);
	while (step()) {
		poll_work(&k);
		assert_true(++steps < 20000);
	}
	assert_int_equal(k.sent, k.n);
	for (uint32_t i = 0; i < k.n; i++) {
		pkts += k.len[i] ? (k.len[i] + PAYLOAD - 1) / PAYLOAD : 1;
		bytes += k.len[i];
		last = k.code[i] == ENGINE_WRITE_IMM ? i + 1 : last;
	}
	assert_int_equal(k.received, last);
	assert_int_equal(count(0)->tx_data, pkts);
	assert_int_equal(count(1)->rx_data, pkts);
	assert_int_equal(count(1)->rx_bytes, bytes);
	assert_int_equal(count(1)->events_lost, 0);
	check_balance(0), check_balance(1);
	check_memory();
	return w.hash;
}

static void random_faults(void **state)
{
	uint64_t seed = check_seed(0x7ef1);
	(void)state;

	for (uint64_t i = 0; i < 500; i++)
		run_faults(seed + i);
}

static void same_seed_same_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t hash = run_faults(seed);

		assert_true(hash != run_faults(seed + 1000));
		assert_true(hash == run_faults(seed));
	}
}

/* Queue pairs 1 to 8 sent their first of four packets at these times: each times out by its own. */
static void time_out_each(nsec at[9])
{
	for (uint32_t left = 8; left > 0;) {
		nsec first = NSEC_NEVER;

		for (uint32_t q = 1; q < 9; q++)
			first = at[q] < first ? at[q] : first;
		assert_int_equal(ref_ops.deadline(w.e[0], ALL_FREE), first + RTO);
		w.now = first + RTO;
		uint32_t got = pull(0, wide, BATCH);

		for (uint32_t q = 1; q < 9; q++) {
			if (at[q] != first)
				continue;
			at[q] = NSEC_NEVER;
			got -= 4;
			left--;
		}
		assert_int_equal(got, 0);
	}
}

/* Many queue pairs share the wire in turn, and each has its own timer. */
static void queue_pairs_take_turns(void **state)
{
	struct ref_cfg cfg = plain_cfg();
	(void)state;

	cfg.max_qps = 9;
	w.psn = 0;
	start_with(1, cfg);
	struct sge sg = {w.source, 4 * PAYLOAD, 0};
	nsec at[9] = {0};

	for (uint32_t q = 1; q < 9; q++) {
		struct ref_peer peer = {.qp = q, .peer = PEER, .local = 5, .remote_qp = 100 + q};

		assert_int_equal(ref_open(w.e[0], &peer), 0);
	}
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t q = 1 + (i * 5 + 3) % 8;
		struct op op = {.qp = q, .sg = &sg, .n_sg = 1, .cookie = q};

		assert_int_equal(ref_ops.post(w.e[0], w.now, &op), 0);
	}
	for (uint32_t i = 0; i < 8; i++) {
		w.now += below(5000);
		assert_int_equal(pull(0, wide, 1), 1);
		at[bth_of(&w.tx[0]).dest_qp - 100] = w.now;
	}
	uint32_t seen[9] = {0};

	assert_int_equal(pull(0, wide, 24), 24);
	for (uint32_t i = 0; i < 24; i++) {
		uint32_t q = bth_of(&w.tx[i]).dest_qp - 100;

		assert_true(q >= 1 && q <= 8);
		seen[q]++;
		/* No one is two packets ahead of another. */
		for (uint32_t k = 1; k < 9; k++)
			assert_true(seen[q] <= seen[k] + 1);
	}
	time_out_each(at);
	/* One that starts now is up before those that waited for the second time. */
	post(0, PAYLOAD, ENGINE_WRITE, 1);
	assert_int_equal(pull(0, wide, BATCH), 1);
	assert_int_equal(ref_ops.deadline(w.e[0], ALL_FREE), w.now + RTO);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(memory_is_one_block),
	cmocka_unit_test(configurations),
	cmocka_unit_test(post_refuses),
	cmocka_unit_test(pool_full),
	cmocka_unit_test(packets_of_a_message),
	cmocka_unit_test(pieces_straddle_packets),
	cmocka_unit_test(virtual_payload),
	cmocka_unit_test(window_is_kept),
	cmocka_unit_test(ends_after_the_last_retry),
	cmocka_unit_test(a_shut_port_counts_like_a_silent_peer),
	cmocka_unit_test(control_before_data),
	cmocka_unit_test(ports_fill_evenly),
	cmocka_unit_test(spray_is_even),
	cmocka_unit_test(queue_pairs_do_not_march),
	cmocka_unit_test(random_faults),
	cmocka_unit_test(same_seed_same_bytes),
	cmocka_unit_test(queue_pairs_take_turns),
};

CHECK_MAIN(cases)
