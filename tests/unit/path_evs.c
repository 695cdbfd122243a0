/* Which EV the next packet takes, and the states of EVs (MRC 9.3.1, 9.3.2, 11.2.2), against a
 * model that keeps one state for each EV and knows nothing of orders, lanes or records. */
#include "path/path.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/prng.h"
#include "check.h"

#define RECORDS 64u

static uint64_t memory[PATH_EVS_MAX * 2], bits[PATH_EVS_MAX], pool_memory[RECORDS * 32];
static struct path_profile profile;
static struct pool pool;
static struct path_cfg cfg = PATH_CFG_DEFAULT;
static struct path path;

static void make(uint32_t n, uint32_t ports, uint64_t seed)
{
	const struct pool_shape shape = {sizeof(struct path_ev_fault), 8, RECORDS};

	assert_int_equal(path_profile_auto(&profile, memory, &(struct path_wanted){n, ports, 3}),
			 PATH_OK);
	assert_true(path_words(n) <= sizeof bits / sizeof *bits);
	assert_true(pool_bytes(&shape) <= sizeof pool_memory);
	if (pool.slots)
		pool_fini(&pool);
	pool_init(&pool, pool_memory, &shape);
	cfg.ev_faults = &pool;
	path_start(&path, &(struct path_sender){&profile, &cfg, bits, seed, 0});
}

static uint32_t next(uint32_t free_ports)
{
	const struct path_ev *ev = path_next(&path, free_ports);

	return ev ? path_number(&path, ev) : PATH_NONE;
}

/* Every EV once a round, in another order each round, and another one for each sender. */
static void rounds(void **state)
{
	static const uint32_t counts[] = {1, 2, 3, 5, 16, 31, 64, 100, 256, 1000};
	static uint16_t seen[2][PATH_EVS_MAX];

	(void)state;
	for (uint32_t k = 0; k < sizeof counts / sizeof *counts; k++) {
		uint32_t n = counts[k], alike = 0, again = 0;

		for (uint32_t sender = 0; sender < 2; sender++) {
			make(n, 1, sender + 1);
			uint32_t used[1000] = {0}, before = PATH_NONE, got = 0;

			for (uint32_t i = 0; i < 8 * n; i++) {
				uint32_t ev = next(1);

				assert_true(ev < n && (ev != before || n == 1));
				before = ev;
				if (i < n)
					seen[sender][i] = (uint16_t)ev;
				else if (i < 2 * n)
					again += seen[sender][i - n] == ev;
				used[ev]++;
			}
			/* An EV that is last and would be first loses a turn: seven at most. */
			for (uint32_t i = 0; i < n; i++) {
				assert_in_range(used[i], n > 2 ? 5 : 1, n > 2 ? 11 : 8);
				got += used[i];
			}
			assert_int_equal(got, 8 * n);
			/* The first round: no repetition at all. */
			bool is_there[1000] = {0};

			for (uint32_t i = 0; i < n; i++) {
				assert_false(is_there[seen[sender][i]]);
				is_there[seen[sender][i]] = true;
			}
		}
		for (uint32_t i = 0; i < n; i++)
			alike += seen[0][i] == seen[1][i];
		if (n >= 16) {
			assert_true(alike < n / 2);
			assert_true(again < n);
		}
	}
}

/* However ports become free, their EVs get the same share as far as that is possible. */
static void even_over_ports(void **state)
{
	struct prng rng;
	uint32_t used[128] = {0}, on[PATH_PORTS] = {0};

	(void)state;
	prng_init(&rng, check_seed(5), 0);
	make(128, 0xff, 9);
	for (uint32_t i = 0; i < 16000; i++) {
		uint32_t ev = next(UINT32_MAX);

		used[ev]++;
		on[profile.set.evs[ev].port]++;
	}
	for (uint32_t port = 0; port < PATH_PORTS; port++)
		assert_in_range(on[port], 1998, 2002);
	for (uint32_t ev = 0; ev < 128; ev++)
		assert_in_range(used[ev], 118, 130);
	/* Ports come free in pairs, by turns, or as drawn. */
	for (uint32_t how = 0; how < 3; how++) {
		memset(on, 0, sizeof on);
		for (uint32_t i = 0; i < 16000; i++) {
			uint32_t free_ports = how == 0   ? 3u << i % 4 * 2
					      : how == 1 ? 1u << i * 3 % 8
							 : prng_u32(&rng) & 0xff;
			uint32_t ev = next(free_ports);

			if (!free_ports) {
				assert_int_equal(ev, PATH_NONE);
				continue;
			}
			assert_true(free_ports >> profile.set.evs[ev].port & 1);
			on[profile.set.evs[ev].port]++;
		}
		for (uint32_t port = 0; port < PATH_PORTS; port++)
			assert_in_range(on[port], 1980, 2020);
	}
	/* One port was not free for long: it makes up for no more than a round. */
	for (uint32_t i = 0; i < 100000; i++)
		assert_true(profile.set.evs[next(0xfe)].port != 0);
	memset(on, 0, sizeof on);
	for (uint32_t i = 0; i < 160; i++)
		on[profile.set.evs[next(0xff)].port]++;
	assert_in_range(on[0], 20, 36);
}

/* A port with half of its EVs out gets half of the packets of others. */
static void shares_by_evs(void **state)
{
	uint32_t on[PATH_PORTS] = {0};

	(void)state;
	make(128, 0xff, 9);
	for (uint32_t i = 0; i < 8; i++)
		path_deny(&path, profile.first[2] + i, true, 0);
	for (uint32_t i = 0; i < 15000; i++)
		on[profile.set.evs[next(0xff)].port]++;
	assert_in_range(on[2], 990, 1010);
	assert_in_range(on[3], 1990, 2010);
}

static void few_of_many(void **state)
{
	static const uint32_t live[] = {5, 77, 1000, 2222, 4095};

	(void)state;
	for (uint32_t n_live = 1; n_live <= 5; n_live++) {
		uint32_t used[5] = {0}, before = PATH_NONE;

		make(PATH_EVS_MAX, 1, 4);
		for (uint32_t ev = 0; ev < PATH_EVS_MAX; ev++)
			path_deny(&path, ev, true, 0);
		assert_int_equal(next(1), PATH_NONE);
		for (uint32_t i = 0; i < n_live; i++)
			path_deny(&path, live[i], false, 0);
		for (uint32_t i = 0; i < 100 * n_live; i++) {
			uint32_t ev = next(1), k = 0;

			while (k < n_live && live[k] != ev)
				k++;
			assert_true(k < n_live && (ev != before || n_live == 1));
			before = ev;
			used[k]++;
		}
		for (uint32_t i = 0; i < n_live; i++)
			assert_int_equal(used[i], 100);
	}
}

/* Also when the way of walking a port changes. */
static void never_twice(void **state)
{
	uint32_t before = PATH_NONE;

	(void)state;
	make(16, 1, 8);
	for (uint32_t ev = 5; ev < 16; ev++)
		path_deny(&path, ev, true, 0);
	for (uint32_t i = 0; i < 4000; i++) {
		uint32_t ev = next(1);

		assert_true(ev != before);
		before = ev;
		path_deny(&path, 3, i % 4 == 0, 0);
		path_deny(&path, 4, i % 4 < 2, 0);
	}
}

/* Nor where a port with faulty EVs goes on with few, and hardly any of those is usable. */
static void never_twice_of_few(void **state)
{
	static struct path_ev evs[272];

	(void)state;
	for (uint32_t i = 0; i < 272; i++)
		evs[i] = (struct path_ev){.value = i, .port = i < 256 ? 0 : 1};
	for (uint64_t seed = 1; seed < 200; seed++) {
		make(256, 1, seed);
		assert_int_equal(path_profile_explicit(&profile, memory, evs, 272), PATH_OK);
		path_start(&path, &(struct path_sender){&profile, &cfg, bits, seed, 0});
		for (uint32_t ev = 256; ev < 266; ev++)
			path_on_avoid(&path, ev, 0);
		uint32_t before = PATH_NONE;

		for (uint32_t i = 0; i < 100; i++) {
			uint32_t ev = next(2);

			assert_true(ev >= 266 && ev != before);
			before = ev;
		}
	}
}

/* A port that was closed makes up for nothing. */
static void opened_ports(void **state)
{
	uint32_t on = 0;

	(void)state;
	make(128, 0xff, 8);
	for (uint32_t i = 0; i < 1000; i++) {
		path_block(&path, PATH_BLOCK_LINK, i < 900 ? 1 : 0, i);
		on += profile.set.evs[next(0xff)].port == 0 && i < 916;
	}
	assert_in_range(on, 1, 3);
}

static void bursts(void **state)
{
	uint32_t before = PATH_NONE, run = 0;

	(void)state;
	make(64, 0x3, 4);
	path_start(&path, &(struct path_sender){&profile, &cfg, bits, 1, 16});
	for (uint32_t i = 0; i < 1600; i++) {
		uint32_t ev = next(3);

		if (ev == before) {
			run++;
		} else {
			assert_true(before == PATH_NONE || run == 16);
			run = 1;
		}
		before = ev;
	}
	/* Not beyond a mark, nor on a port that is not free. */
	uint32_t ev = next(3);

	path_on_marked(&path, ev);
	assert_true(next(3) != ev);
	ev = next(3);
	assert_true(next(3u ^ 1u << profile.set.evs[ev].port) != ev);
}

/* The first packet that meets a skipped EV makes it good and goes on, past eight at most. */
static void skipping(void **state)
{
	(void)state;
	make(16, 1, 4);
	for (uint32_t ev = 0; ev < 16; ev++)
		path_on_marked(&path, ev);
	uint32_t n[PATH_STATES];

	/* All are to be skipped: it takes the first that it made good. */
	assert_int_equal(path_state(&path, next(1)), PATH_GOOD);
	path_count(&path, n);
	assert_int_equal(n[PATH_GOOD], 8);
	assert_int_equal(n[PATH_SKIP], 8);
	/* A skipped EV loses one turn: 15 others come, then it is used like them. */
	make(16, 1, 4);
	path_on_marked(&path, 7);
	uint32_t used[16] = {0};

	for (uint32_t i = 0; i < 15; i++)
		used[next(1)]++;
	assert_int_equal(used[7], 0);
	for (uint32_t i = 0; i < 16; i++)
		used[next(1)]++;
	assert_in_range(used[7], 1, 1);
	/* A plane whose EVs are skipped all the time gets fewer packets, not the same on fewer. */
	uint32_t on[2] = {0};

	make(32, 3, 4);
	for (uint32_t i = 0; i < 1000; i++) {
		for (uint32_t ev = 0; ev < 8; ev++)
			path_on_marked(&path, ev);
		on[profile.set.evs[next(3)].port]++;
	}
	assert_in_range(on[0], 300, 400);
}

/* Packets that go, each EV's marked with such a chance in 16; how many went by each EV. */
static void go_marked(uint32_t pkts, const uint8_t *chances, struct prng *rng, uint32_t *used)
{
	memset(used, 0, profile.set.n * sizeof *used);
	for (uint32_t i = 0; i < pkts; i++) {
		uint32_t ev = next(UINT32_MAX);

		used[ev]++;
		if (prng_u32(rng) % 16 < chances[ev])
			path_on_marked(&path, ev);
	}
}

static bool is_slow(uint32_t ev)
{
	return ev % 128 == 45;
}

/* Chances of marks for slow EVs, and for others. */
static void set_chances(uint8_t *chances, uint8_t slow, uint8_t others)
{
	for (uint32_t ev = 0; ev < profile.set.n; ev++)
		chances[ev] = is_slow(ev) ? slow : others;
}

/* An EV that is marked more often than the others gives up more than the turns that it is skipped,
 * but not all; marks that all have in common change nothing; without marks all is forgotten. */
static void marked_more_than_others(void **state)
{
	/* Marks in 16 packets, and how many of 400 turns are left. */
	static const struct {
		uint8_t slow, others;
		uint32_t slow_min, slow_max, others_min, others_max;
	} table[] = {
		{4, 4, 240, 540, 240, 540},
		{16, 4, 40, 200, 240, 540},
		{16, 0, 55, 150, 390, 420},
		{0, 0, 390, 410, 390, 410},
	};
	static uint32_t used[256];
	uint8_t chances[256] = {0};
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(31), 0);
	for (uint32_t n = 64; n <= 256; n *= 4) {
		make(n, 1, n);
		for (uint32_t k = 0; k < sizeof table / sizeof *table; k++) {
			set_chances(chances, table[k].slow, table[k].others);
			go_marked(800 * n, chances, &rng, used);
			go_marked(400 * n, chances, &rng, used);
			for (uint32_t ev = 0; ev < n; ev++)
				if (is_slow(ev))
					assert_in_range(used[ev], table[k].slow_min,
							table[k].slow_max);
				else
					assert_in_range(used[ev], table[k].others_min,
							table[k].others_max);
		}
	}
}

enum sign { MARKED, TRIMMED, LOST, ALLOWED, SIGNS };

static void show(enum sign sign, uint32_t ev)
{
	if (sign == MARKED)
		path_on_marked(&path, ev);
	else if (sign == LOST)
		path_on_lost(&path, ev, 1, 1);
	else
		path_on_trimmed(&path, ev);
	if (sign == ALLOWED) {
		path_deny(&path, ev, true, 1);
		path_deny(&path, ev, false, 1);
	}
}

/* A packet that met a full queue weighs more than one that was marked, also where nothing is taken
 * out for a loss; an EV that is allowed again is as good as new. */
static void full_queues_weigh_more(void **state)
{
	uint32_t turns[SIGNS] = {0};

	(void)state;
	for (uint32_t sign = 0; sign < SIGNS; sign++)
		for (uint32_t seed = 0; seed < 256; seed++) {
			make(64, 1, seed);
			cfg.ev_faults = NULL;
			show((enum sign)sign, 40);
			if (sign != ALLOWED)
				assert_int_equal(path_state(&path, 40), PATH_SKIP);
			for (uint32_t i = 0; i < 5 * 64; i++)
				turns[sign] += next(1) == 40;
		}
	/* Of 1280 turns, or 1024 behind the one that is skipped. */
	assert_in_range(turns[MARKED], 920, 1000);
	assert_in_range(turns[TRIMMED], 490, 600);
	assert_in_range(turns[LOST], 430, 600);
	assert_in_range(turns[ALLOWED], 1270, 1290);
}

/* The model: what a controller and the wire say of each EV, and which ports are blocked. */
struct model {
	enum path_state ev[256];
	uint32_t blocked[PATH_BLOCKS];
};

static enum path_state model_state(const struct model *m, uint32_t ev)
{
	uint32_t port = profile.set.evs[ev].port;

	if (m->ev[ev] == PATH_DENIED || m->blocked[PATH_BLOCK_DENIED] >> port & 1)
		return PATH_DENIED;
	if ((m->blocked[PATH_BLOCK_LINK] | m->blocked[PATH_BLOCK_PEER]) >> port & 1)
		return PATH_ASSUMED_BAD;
	return m->ev[ev];
}

static void compare(const struct model *m)
{
	uint32_t n[PATH_STATES], wanted[PATH_STATES] = {0};

	for (uint32_t ev = 0; ev < profile.set.n; ev++) {
		assert_int_equal(path_state(&path, ev), model_state(m, ev));
		wanted[model_state(m, ev)]++;
	}
	path_count(&path, n);
	for (uint32_t i = 0; i < PATH_STATES; i++)
		assert_int_equal(n[i], wanted[i]);
}

static void model_next(struct model *m, uint32_t free_ports)
{
	uint32_t ev = next(free_ports), resets = 0, usable = 0;

	for (uint32_t i = 0; i < profile.set.n; i++) {
		enum path_state before = model_state(m, i);

		if (free_ports >> profile.set.evs[i].port & 1)
			usable += before == PATH_GOOD || before == PATH_SKIP;
		if (before != path_state(&path, i)) {
			assert_int_equal(before, PATH_SKIP);
			assert_int_equal(path_state(&path, i), PATH_GOOD);
			m->ev[i] = PATH_GOOD;
			resets++;
		}
	}
	assert_true(resets <= 8);
	assert_int_equal(usable == 0, ev == PATH_NONE);
	if (ev == PATH_NONE)
		return;
	assert_int_equal(model_state(m, ev), PATH_GOOD);
	assert_true(free_ports >> profile.set.evs[ev].port & 1);
}

/* Runs all probes that are due at once; those of `ev` end like this, others are clean. */
static void model_probes(struct model *m, uint32_t ev, enum path_outcome outcome, nsec now)
{
	struct path_probe probe;
	uint32_t n = 0;

	while (path_probe_next(&path, now, UINT32_MAX, &probe)) {
		assert_int_equal(m->ev[probe.ev], PATH_ASSUMED_BAD);
		enum path_outcome this = probe.ev == ev ? outcome : PATH_PROBE_CLEAN;

		path_on_probe(&path, probe, this, now);
		if (path_state(&path, probe.ev) != model_state(m, probe.ev))
			m->ev[probe.ev] = this == PATH_PROBE_CLEAN ? PATH_GOOD : PATH_SKIP;
		if (this == PATH_PROBE_FAILED)
			assert_int_equal(m->ev[probe.ev], PATH_ASSUMED_BAD);
		assert_true(n++ < 10000);
	}
	assert_true(path_deadline(&path, UINT32_MAX) > now);
}

static uint32_t some_ports(struct prng *rng)
{
	uint32_t ports = prng_u32(rng);

	return ports & ports >> 8 & 0xff;
}

/* A packet is lost, or the peer asks to avoid its EV; but no more of them than an eighth, so that
 * none comes back because too many are out. What arrives next keeps the port above suspicion. */
static void model_evidence(struct model *m, uint32_t ev, bool is_loss, nsec now)
{
	uint32_t port = profile.set.evs[ev].port, n_bad = 0;
	bool is_blocked = (m->blocked[0] | m->blocked[1] | m->blocked[2]) >> port & 1;

	for (uint32_t i = 0; i < profile.set.n; i++)
		n_bad += m->ev[i] == PATH_ASSUMED_BAD;
	if (n_bad >= profile.set.n / 8)
		return;
	if (is_loss) {
		path_on_lost(&path, ev, now, now);
		path_on_arrived(&path, ev, now + 1, now);
	} else {
		path_on_avoid(&path, ev, now);
	}
	/* Loss behind a port that is down says nothing of the EV. */
	if ((m->ev[ev] == PATH_GOOD || m->ev[ev] == PATH_SKIP) && !(is_loss && is_blocked))
		m->ev[ev] = PATH_ASSUMED_BAD;
}

static void model_step(struct model *m, struct prng *rng, nsec now)
{
	uint32_t ev = (uint32_t)prng_below(rng, profile.set.n), what = prng_u32(rng) % 16;

	if (what < 2) {
		model_evidence(m, ev, what == 0, now);
	} else if (what < 5) {
		if (what == 2)
			path_on_trimmed(&path, ev);
		else
			path_on_marked(&path, ev);
		m->ev[ev] = m->ev[ev] == PATH_GOOD ? PATH_SKIP : m->ev[ev];
	} else if (what == 5) {
		path_deny(&path, ev, true, now);
		m->ev[ev] = PATH_DENIED;
	} else if (what == 6) {
		path_deny(&path, ev, false, now);
		m->ev[ev] = m->ev[ev] == PATH_DENIED ? PATH_GOOD : m->ev[ev];
	} else if (what == 7) {
		uint32_t why = prng_u32(rng) % PATH_BLOCKS;

		/* Never all of them. */
		m->blocked[why] = some_ports(rng) & 0xfa;
		path_block(&path, (enum path_block)why, m->blocked[why], now);
	} else if (what == 8) {
		model_probes(m, ev, (enum path_outcome)(prng_u32(rng) % 3), now);
	} else {
		model_next(m, some_ports(rng));
	}
}

static void states_like_the_model(void **state)
{
	uint64_t seed = check_seed(77);
	struct prng rng;

	(void)state;
	for (uint32_t round = 0; round < 40; round++) {
		static struct model m;
		nsec now = 1000;

		prng_init(&rng, seed, round);
		make(32u << round % 4, round % 2 ? 0xff : 0x5, round);
		memset(&m, 0, sizeof m);
		for (uint32_t step = 0; step < 600; step++) {
			now += prng_below(&rng, 300000);
			model_step(&m, &rng, now);
			compare(&m);
		}
		path_stop(&path);
		assert_int_equal(pool_in_use(&pool), 0);
	}
}

static void cost(void **state)
{
	static const uint32_t shape[][3] = {
		{64, 1, 0}, {128, 0xff, 0}, {128, 0xff, 1}, {4096, 0xff, 0}};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct timespec a, b;
		uint32_t sum = 0;

		make(shape[i][0], shape[i][1], 1);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
		for (uint32_t k = 0; k < 1000000; k++)
			sum += next(shape[i][2] ? 1u << k % 8 : 0xff);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
		printf("%u EVs, ports %#x, %s free: %.1f ns (%u)\n", shape[i][0], shape[i][1],
		       shape[i][2] ? "one" : "all",
		       ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) /
			       1e6,
		       sum);
	}
	printf("struct path %zu, struct path_ev_fault %zu bytes\n", sizeof(struct path),
	       sizeof(struct path_ev_fault));
}

/* A controller's word that an EV is good (10.2.2): whatever it was held for, but for denied ones.
 */
static void a_pardon(void **state)
{
	(void)state;
	make(8, 3, 1);
	path_on_avoid(&path, 2, 5);
	path_on_marked(&path, 3);
	assert_int_equal(path_state(&path, 2), PATH_ASSUMED_BAD);
	assert_true(path_take_news(&path));
	assert_int_equal(pool_in_use(&pool), 1);
	path_pardon(&path, 2, 6);
	path_pardon(&path, 3, 6);
	assert_int_equal(path_state(&path, 2), PATH_GOOD);
	assert_int_equal(path_state(&path, 3), PATH_GOOD);
	assert_true(path_take_news(&path));
	assert_int_equal(pool_in_use(&pool), 0);
	/* A good one is that already, a denied one stays denied, and a blocked port shut. */
	path_pardon(&path, 2, 7);
	assert_int_equal(path_state(&path, 2), PATH_GOOD);
	path_deny(&path, 5, true, 8);
	path_block(&path, PATH_BLOCK_LINK, 1, 8);
	path_take_news(&path);
	path_pardon(&path, 5, 9);
	path_pardon(&path, 0, 9);
	assert_int_equal(path_state(&path, 5), PATH_DENIED);
	assert_int_equal(path_state(&path, 0), PATH_ASSUMED_BAD);
	assert_false(path_take_news(&path));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_pardon),
	cmocka_unit_test(rounds),
	cmocka_unit_test(even_over_ports),
	cmocka_unit_test(shares_by_evs),
	cmocka_unit_test(few_of_many),
	cmocka_unit_test(never_twice),
	cmocka_unit_test(never_twice_of_few),
	cmocka_unit_test(opened_ports),
	cmocka_unit_test(bursts),
	cmocka_unit_test(skipping),
	cmocka_unit_test(marked_more_than_others),
	cmocka_unit_test(full_queues_weigh_more),
	cmocka_unit_test(states_like_the_model),
	cmocka_unit_test(cost),
};

CHECK_MAIN(cases)
