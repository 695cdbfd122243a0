/* EVs and planes that fail, and their return: a small fabric that loses packets by rule, with the
 * delays of a real one, around one sender. Time goes by packets; news of a packet or probe comes a
 * round trip after it was sent, news of its loss some time later. */
#include "path/path.h"

#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"

#define RTT     10000u /* ns */
#define LOSS    15000u /* from sending a packet to taking it for lost */
#define TIMEOUT 40000u /* from sending a probe to its failure */
#define MS      UINT64_C(1000000)
#define RECORDS 512u
#define RING    8192u

/* Things on their way, all with the same delay. */
struct line {
	struct item {
		nsec sent;
		struct path_probe probe;
	} items[RING];
	uint32_t head, tail;
	nsec delay;
};

static struct fabric {
	struct path_profile profile;
	struct pool pool;
	struct path_cfg cfg;
	struct path path;
	struct prng rng;
	nsec now, tick;
	struct line arrived, lost, clean, failed;
	uint32_t loss[256]; /* of each EV, in 1 / 10000 */
	uint32_t dead;      /* ports */
	nsec evidence;      /* first news of a loss since it was set to NSEC_NEVER */
	uint64_t sent[256], n_sent, n_lost, n_probes;
	nsec sent_at[256];   /* newest packet of an EV */
	uint32_t fewest;     /* usable EVs, since it was set */
	uint64_t sum_usable; /* over all ticks */
	uint64_t n_ticks;
} w;

static uint64_t memory[PATH_EVS_MAX], bits[64], pool_memory[RECORDS * 16];

static void make(uint32_t n, uint32_t ports, uint32_t records, uint64_t seed)
{
	const struct pool_shape shape = {sizeof(struct path_ev_fault), 8, records};

	if (w.pool.slots)
		pool_fini(&w.pool);
	memset(&w, 0, sizeof w);
	assert_true(pool_bytes(&shape) <= sizeof pool_memory);
	pool_init(&w.pool, pool_memory, &shape);
	w.cfg = (struct path_cfg)PATH_CFG_DEFAULT;
	w.cfg.ev_faults = &w.pool;
	assert_int_equal(
		path_profile_auto(&w.profile, memory, &(struct path_wanted){n, ports, seed}),
		PATH_OK);
	path_start(&w.path, &(struct path_sender){&w.profile, &w.cfg, bits, seed, 0});
	prng_init(&w.rng, seed, 1);
	w.now = MS;
	w.tick = 83;
	w.arrived.delay = w.clean.delay = RTT;
	w.lost.delay = LOSS;
	w.failed.delay = TIMEOUT;
	w.evidence = NSEC_NEVER;
	w.fewest = UINT32_MAX;
}

static void put(struct line *l, uint32_t ev, uint32_t tag)
{
	l->items[l->head++ % RING] = (struct item){w.now, {(uint16_t)ev, (uint16_t)tag}};
	assert_true(l->head - l->tail <= RING);
}

static struct item *take(struct line *l)
{
	struct item *i = &l->items[l->tail % RING];

	if (l->tail == l->head || i->sent + l->delay > w.now)
		return NULL;
	l->tail++;
	return i;
}

static bool is_lost(uint32_t ev)
{
	return w.dead >> w.profile.set.evs[ev].port & 1 || prng_below(&w.rng, 10000) < w.loss[ev];
}

static uint32_t usable(void)
{
	uint32_t n[PATH_STATES];

	path_count(&w.path, n);
	assert_int_equal(n[0] + n[1] + n[2] + n[3], w.profile.set.n);
	return n[PATH_GOOD] + n[PATH_SKIP];
}

static void news(void)
{
	struct item *i;

	while ((i = take(&w.arrived)))
		path_on_arrived(&w.path, i->probe.ev, i->sent, w.now);
	while ((i = take(&w.lost))) {
		if (w.evidence == NSEC_NEVER)
			w.evidence = w.now;
		path_on_lost(&w.path, i->probe.ev, i->sent, w.now);
	}
	while ((i = take(&w.clean)))
		path_on_probe(&w.path, i->probe, PATH_PROBE_CLEAN, w.now);
	while ((i = take(&w.failed)))
		path_on_probe(&w.path, i->probe, PATH_PROBE_FAILED, w.now);
}

/* Sends a packet each tick until then. */
static void run(nsec until)
{
	struct path_probe probe;

	for (; w.now < until; w.now += w.tick, w.n_ticks++) {
		news();
		while (path_probe_next(&w.path, w.now, UINT32_MAX, &probe)) {
			put(is_lost(probe.ev) ? &w.failed : &w.clean, probe.ev, probe.tag);
			w.n_probes++;
		}
		assert_true(path_deadline(&w.path, UINT32_MAX) > w.now);
		const struct path_ev *next = path_next(&w.path, UINT32_MAX);

		if (next) {
			uint32_t ev = path_number(&w.path, next);

			assert_true(path_state(&w.path, ev) == PATH_GOOD);
			w.sent[ev]++;
			w.n_sent++;
			w.sent_at[ev] = w.now;
			bool is_gone = is_lost(ev);

			w.n_lost += is_gone;
			put(is_gone ? &w.lost : &w.arrived, ev, 0);
		}
		uint32_t n = 0;

		for (uint32_t port = 0; port < PATH_PORTS; port++)
			if (path_ports(&w.path) >> port & 1)
				n += w.path.lanes[port].usable;
		w.fewest = n < w.fewest ? n : w.fewest;
		w.sum_usable += n;
	}
	assert_true(w.fewest >= w.profile.min_active || w.fewest == UINT32_MAX);
}

static nsec newest_of_port(uint32_t port)
{
	nsec at = 0;

	for (uint32_t i = w.profile.first[port]; i < w.profile.first[port + 1]; i++)
		at = w.sent_at[i] > at ? w.sent_at[i] : at;
	return at;
}

static void set_loss(uint32_t loss)
{
	for (uint32_t i = 0; i < 256; i++)
		w.loss[i] = loss;
}

/* Loss that hits all EVs alike costs few of them, at any rate of packets. */
static void loss_everywhere(void **state)
{
	static const uint32_t counts[] = {64, 128, 256}, losses[] = {10, 100, 500};
	uint64_t seed = check_seed(101);

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t n = counts[i];

			make(n, i % 2 ? 0xff : 1, RECORDS, seed + i);
			set_loss(losses[k]);
			run(w.now + 3 * MS);
			uint32_t mean = (uint32_t)(w.sum_usable / w.n_ticks);

			printf("%3u EVs, %u.%02u %% lost: usable %u on average, %u at least; "
			       "%u packets, %u probes\n",
			       n, losses[k] / 100, losses[k] % 100, mean, w.fewest,
			       (uint32_t)w.n_sent, (uint32_t)w.n_probes);
			assert_true(w.fewest >= n / 2);
			assert_true(losses[k] > 100 || mean >= n - n / 8);
			/* And all of them when it ends. */
			set_loss(0);
			run(w.now + MS);
			assert_int_equal(usable(), n);
			w.tick = 10000;
			run(w.now + 5 * MS);
			assert_int_equal(pool_in_use(&w.pool), 0);
			assert_int_equal(path_deadline(&w.path, UINT32_MAX), NSEC_NEVER);
		}
}

/* One EV that drops a fifth goes with its first loss, stays out, and is back when it is well. */
static void one_gray_ev(void **state)
{
	static const uint32_t counts[] = {64, 128, 256};
	uint64_t seed = check_seed(201);

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t n = counts[i % 3], gray = (uint32_t)(seed * 7 + i * 13) % n;

		make(n, i % 2 ? 0xff : 1, RECORDS, seed + i);
		w.loss[gray] = 2000;
		run(w.now + 10 * MS);
		assert_true(w.evidence != NSEC_NEVER);
		assert_true(w.sent_at[gray] <= w.evidence);
		assert_true(w.fewest == n - 1);
		assert_int_equal(path_state(&w.path, gray), PATH_ASSUMED_BAD);
		assert_true(w.n_probes < 1500);
		w.loss[gray] = 0;
		run(w.now + MS);
		assert_int_equal(usable(), n);
	}
}

/* EVs that are dead, without their port: up to half of them. Of more than 64 not all are found, as
 * not all are used, but none that is used is dead. */
static void dead_evs(void **state)
{
	uint64_t seed = check_seed(301);

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t n = i % 2 ? 128 : 64, share = 2u << i / 2;

		make(n, 1, RECORDS, seed);
		for (uint32_t ev = 0; ev < n; ev += share)
			w.loss[ev] = 10000;
		run(w.now + MS);
		assert_true(i % 2 || usable() == n - n / share);
		w.fewest = UINT32_MAX;
		uint64_t lost = w.n_lost;

		run(w.now + 3 * MS);
		assert_true(i % 2 || usable() == n - n / share);
		assert_int_equal(w.n_lost, lost);
		set_loss(0);
		run(w.now + MS);
		assert_int_equal(usable(), n);
	}
}

/* The EVs of a port that carry packets for a while. */
static uint32_t in_use(uint32_t port)
{
	uint32_t n = 0;

	memset(w.sent, 0, sizeof w.sent);
	run(w.now + MS);
	for (uint32_t ev = w.profile.first[port]; ev < w.profile.first[port + 1]; ev++)
		n += w.sent[ev] > 0;
	return n;
}

/* A sixteenth of the EVs drops a fifth, all of one port: that port goes on with a quarter of its
 * EVs, so that the bad ones among them show soon, and with all when it is well. */
static void few_evs_where_some_are_bad(void **state)
{
	uint64_t seed = check_seed(251);

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t n_ports = 1 + i % 2, n = 256 / n_ports;

		make(256, n_ports == 2 ? 3 : 1, RECORDS, seed + i);
		for (uint32_t ev = i; ev < n; ev += 16)
			w.loss[ev] = 2000;
		run(w.now + MS);
		uint64_t lost = w.n_lost;

		assert_in_range(in_use(0), n / 4 * 3 / 4, n / 4);
		assert_true(n_ports == 1 || in_use(1) == n);
		/* Only an EV that passed all its probes by chance would lose one more. */
		assert_in_range(w.n_lost, lost, lost + 1);
		set_loss(0);
		run(w.now + 6 * MS);
		assert_int_equal(in_use(0), n);
	}
}

/* Half of the few are out: others take their place. */
static void others_for_the_few(void **state)
{
	uint64_t seed = check_seed(271);

	(void)state;
	make(256, 1, RECORDS, seed);
	w.loss[0] = w.loss[1] = 10000;
	run(w.now + MS);
	assert_in_range(in_use(0), 60, 64);
	for (uint32_t ev = 0; ev < 256; ev++)
		w.loss[ev] = w.sent[ev] && ev % 8 ? 10000 : 0;
	run(w.now + MS);
	assert_in_range(in_use(0), 32, 64);
}

/* Show 4: a plane dies and comes back. Fast, and at a rate where packets of a port are rare. */
static void a_dead_plane(void **state)
{
	static const nsec ticks[] = {83, 1000, 5000, 20000};
	uint64_t seed = check_seed(401);

	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t port = (uint32_t)(seed + i) % 8;

		make(i & 4 ? 256 : 128, 0xff, RECORDS, seed + i);
		set_loss(i & 8 ? 10 : 0);
		w.tick = ticks[i % 4];
		run(w.now + 2 * MS);
		w.evidence = NSEC_NEVER;
		w.dead = 1u << port;
		run(w.now + 3 * MS);
		if (!(i & 8)) {
			assert_true(newest_of_port(port) <= w.evidence + 100000);
			assert_int_equal(usable(), w.profile.set.n / 8 * 7);
		}
		assert_int_equal(path_ports(&w.path), 0xff & ~w.dead);
		assert_true(w.n_probes < 400 || i & 8);
		w.dead = 0;
		run(w.now + MS);
		assert_true(i & 8 ? usable() >= w.profile.set.n * 7 / 8
				  : usable() == w.profile.set.n);
		/* The plane has its share again. */
		memset(w.sent, 0, sizeof w.sent);
		w.n_sent = 0;
		run(w.now + 400 * w.tick);
		uint64_t on = 0;

		for (uint32_t k = w.profile.first[port]; k < w.profile.first[port + 1]; k++)
			on += w.sent[k];
		assert_in_range(on, w.n_sent / 10, w.n_sent / 7);
	}
}

static void planes_one_after_another(void **state)
{
	uint64_t seed = check_seed(501);

	(void)state;
	make(128, 0xff, RECORDS, seed);
	for (uint32_t port = 0; port < 7; port++) {
		w.dead |= 1u << port;
		run(w.now + MS / 2);
		assert_int_equal(path_ports(&w.path), 0xff & ~w.dead);
		assert_int_equal(usable(), 112 - 16 * port);
	}
	w.dead = 0;
	run(w.now + MS);
	assert_int_equal(usable(), 128);
	/* A plane of which only some EVs return. */
	w.dead = 1;
	run(w.now + MS);
	for (uint32_t i = 0; i < 16; i += 2)
		w.loss[i] = 10000;
	w.dead = 0;
	run(w.now + MS);
	assert_int_equal(usable(), 120);
	set_loss(0);
	run(w.now + MS);
	assert_int_equal(usable(), 128);
}

static void flapping(void **state)
{
	uint64_t seed = check_seed(601);

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		make(128, 0xff, RECORDS, seed + i);
		nsec half = (nsec[]){30000, 150000, 700000, 1500000}[i];

		while (w.now < 6 * MS) {
			w.dead ^= 8;
			run(w.now + half);
			assert_true(w.fewest >= 112 - 8);
		}
		/* What is lost is little: the plane would have carried an eighth of all. */
		assert_true(w.n_lost < w.n_sent / 100);
		w.dead = 0;
		run(w.now + MS);
		assert_int_equal(usable(), 128);
	}
}

static void everything_lost(void **state)
{
	uint64_t seed = check_seed(701);

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		make(128, i % 2 ? 0xff : 1, i < 4 ? RECORDS : 20, seed + i);
		assert_int_equal(path_profile_set_min_active(&w.profile, i / 2 * 16), PATH_OK);
		run(w.now + MS);
		w.dead = 0xff;
		run(w.now + 3 * MS);
		assert_true(w.fewest >= w.profile.min_active);
		w.dead = 0;
		run(w.now + 2 * MS);
		assert_int_equal(usable(), 128);
	}
}

/* More is wrong than may go: those out longest come back in turn. */
static void min_active(void **state)
{
	uint64_t seed = check_seed(801);

	(void)state;
	make(64, 1, RECORDS, seed);
	assert_int_equal(path_profile_set_min_active(&w.profile, 54), PATH_OK);
	for (uint32_t i = 0; i < 20; i++)
		w.loss[i] = 10000;
	run(w.now + 5 * MS);
	assert_int_equal(w.fewest, 54);
	/* All of them were tried again, and those that are well were not taken for them. */
	for (uint32_t i = 0; i < 64; i++) {
		assert_true(w.sent_at[i] > w.now - 2 * MS);
		if (i >= 20)
			assert_int_equal(path_state(&w.path, i), PATH_GOOD);
	}
	/* The controller takes EVs that are well: others come back for them. */
	make(8, 1, RECORDS, seed);
	assert_int_equal(path_profile_set_min_active(&w.profile, 4), PATH_OK);
	for (uint32_t i = 0; i < 3; i++)
		path_on_avoid(&w.path, i, w.now);
	assert_int_equal(usable(), 5);
	path_deny(&w.path, 7, true, w.now);
	assert_int_equal(usable(), 4);
	path_deny(&w.path, 6, true, w.now);
	assert_int_equal(usable(), 4);
	assert_int_equal(path_state(&w.path, 0), PATH_GOOD);
	for (uint32_t i = 0; i < 8; i++)
		path_deny(&w.path, i, true, w.now);
	assert_null(path_next(&w.path, 1));
	path_stop(&w.path);
}

/* Port Status Updates, ours and the peer's: at once, and back at once. */
static void ports_down_and_up(void **state)
{
	uint64_t seed = check_seed(901);

	(void)state;
	make(128, 0xff, RECORDS, seed);
	for (uint32_t why = 0; why < PATH_BLOCKS; why++) {
		w.dead = 4;
		path_block(&w.path, (enum path_block)why, 4, w.now);
		nsec down = w.now;

		run(w.now + 2 * MS);
		assert_true(newest_of_port(2) < down);
		assert_int_equal(path_state(&w.path, w.profile.first[2]),
				 why == PATH_BLOCK_DENIED ? PATH_DENIED : PATH_ASSUMED_BAD);
		assert_int_equal(w.n_probes, 0);
		w.dead = 0;
		path_block(&w.path, (enum path_block)why, 0, w.now);
		assert_int_equal(usable(), 128);
	}
	/* A plane that died, went down and came up is probed at once, whenever it was to be. */
	w.dead = 4;
	run(w.now + 3 * MS);
	for (uint32_t i = 0; i < 10000 && (path_deadline(&w.path, 0xff) < w.now + 150000 ||
					   path_deadline(&w.path, 0xff) == NSEC_NEVER);
	     i++)
		run(w.now + 100);
	path_block(&w.path, PATH_BLOCK_LINK, 4, w.now);
	assert_int_equal(path_deadline(&w.path, 0xff), NSEC_NEVER);
	w.dead = 0;
	path_block(&w.path, PATH_BLOCK_LINK, 0, w.now);
	run(w.now + 60000);
	assert_int_equal(usable(), 128);
}

/* An EV that was dead before its plane: it need not wait for its own time. */
static void dead_in_a_dead_plane(void **state)
{
	uint64_t seed = check_seed(951);

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		make(128, 0xff, RECORDS, seed + i);
		w.loss[0] = 10000;
		run(w.now + 2 * MS);
		assert_int_equal(path_state(&w.path, 0), PATH_ASSUMED_BAD);
		w.dead = 1;
		run(w.now + 150000);
		assert_int_equal(path_ports(&w.path), 0xfe);
		w.dead = w.loss[0] = 0;
		for (uint32_t k = 0; k < 300 && !(path_ports(&w.path) & 1); k++)
			run(w.now + 1000);
		run(w.now + 120000);
		assert_int_equal(usable(), 128);
	}
}

/* All probes that are due, with one outcome. */
static uint32_t probe_all(enum path_outcome outcome)
{
	struct path_probe probe;
	uint32_t n = 0;

	for (; path_probe_next(&w.path, w.now, UINT32_MAX, &probe); w.now += 500, n++)
		path_on_probe(&w.path, probe, outcome, w.now);
	return n;
}

/* News of what was sent before a return say nothing; nor do arrivals of what was sent before the
 * first loss. Two ports that both lose are not dead; one that does is. */
static void late_news(void **state)
{
	(void)state;
	make(64, 3, RECORDS, 5);
	nsec sent = w.now;

	w.now += LOSS;
	path_on_lost(&w.path, 0, sent, w.now);
	assert_int_equal(path_state(&w.path, 0), PATH_ASSUMED_BAD);
	assert_true(probe_all(PATH_PROBE_CLEAN) >= 40);
	assert_int_equal(path_state(&w.path, 0), PATH_GOOD);
	path_on_lost(&w.path, 0, sent + 1, w.now);
	assert_int_equal(path_state(&w.path, 0), PATH_GOOD);
	/* It failed before: more probes than the first time. */
	path_on_lost(&w.path, 0, w.now, w.now);
	assert_int_equal(path_state(&w.path, 0), PATH_ASSUMED_BAD);
	assert_true(probe_all(PATH_PROBE_CLEAN) >= 48);
	assert_int_equal(path_state(&w.path, 0), PATH_GOOD);

	make(64, 3, RECORDS, 5);
	path_on_lost(&w.path, 0, sent, w.now);
	path_on_arrived(&w.path, 1, sent - 1, w.now);
	assert_int_equal(w.path.suspect, 1);
	path_on_arrived(&w.path, 1, sent + 1, w.now);
	assert_int_equal(w.path.suspect, 0);
	for (uint32_t i = 1; i < 7; i++) {
		path_on_lost(&w.path, i, w.now, w.now);
		path_on_lost(&w.path, 32 + i, w.now, w.now);
	}
	assert_int_equal(w.path.suspect, 3);
	assert_int_equal(w.path.dead, 0);
	path_on_arrived(&w.path, 40, w.now + 1, w.now + 1);
	path_on_lost(&w.path, 7, w.now, w.now + 2);
	assert_int_equal(w.path.dead, 1);
	assert_int_equal(path_ports(&w.path), 2);
	/* While its EVs wait for their probes the other port goes: they are used at once. */
	struct path_probe probe;

	w.now += 100;
	assert_true(path_probe_next(&w.path, w.now, 1, &probe));
	path_on_probe(&w.path, probe, PATH_PROBE_CLEAN, w.now);
	assert_int_equal(path_ports(&w.path), 3);
	path_deny(&w.path, probe.ev, true, w.now);
	assert_int_equal(path_ports(&w.path), 2);
	path_block(&w.path, PATH_BLOCK_LINK, 2, w.now);
	assert_int_equal(path_ports(&w.path), 1);
	path_block(&w.path, PATH_BLOCK_LINK, 0, w.now);
	for (uint32_t i = 8; i < 12; i++)
		path_on_lost(&w.path, i, w.now, w.now);
	assert_int_equal(w.path.dead, 1);
	/* What arrives from a port that was taken for dead brings it back as it was. */
	path_on_arrived(&w.path, 9, w.now + 1, w.now + 3);
	assert_int_equal(w.path.dead, 0);
	assert_int_equal(path_ports(&w.path), 3);
	path_stop(&w.path);
}

/* An EV that failed lately, and is then found dead in a sweep, is known once: when it is denied, or
 * its port is swept, nothing of it is left. */
static void remembered_evs_are_swept(void **state)
{
	(void)state;
	for (uint32_t is_dead = 0; is_dead < 2; is_dead++) {
		struct path_probe probe = {1, 0};

		make(64, 3, RECORDS, 5);
		path_on_lost(&w.path, 0, w.now, w.now);
		assert_true(probe_all(PATH_PROBE_CLEAN) >= 40);
		assert_int_equal(path_state(&w.path, 0), PATH_GOOD);
		w.now += 100;
		for (uint32_t i = 1; i < 5; i++)
			path_on_lost(&w.path, i, w.now, w.now);
		assert_int_equal(w.path.dead, 1);
		while (w.path.dead || probe.ev != 0) {
			path_on_probe(&w.path, probe, PATH_PROBE_CLEAN, w.now);
			do {
				w.now += 100;
			} while (!path_probe_next(&w.path, w.now, 1, &probe));
		}
		if (is_dead)
			path_on_probe(&w.path, probe, PATH_PROBE_FAILED, w.now);
		path_deny(&w.path, 0, true, w.now);
		for (uint32_t i = 0; i < 10000; i++) {
			w.now += 1000;
			if (!path_probe_next(&w.path, w.now, 3, &probe))
				continue;
			assert_int_not_equal(probe.ev, 0);
			path_on_probe(&w.path, probe, PATH_PROBE_CLEAN, w.now);
		}
		assert_int_equal(pool_in_use(&w.pool), 0);
	}
}

/* With one record, for the port: EVs that a sweep finds dead wait for the next one. And memories
 * make room. */
static void few_records(void **state)
{
	uint64_t seed = check_seed(961);

	(void)state;
	make(128, 0xff, 1, seed);
	w.dead = 1;
	run(w.now + MS);
	assert_int_equal(path_ports(&w.path), 0xfe);
	for (uint32_t i = 0; i < 16; i += 2)
		w.loss[i] = 10000;
	w.dead = 0;
	run(w.now + 2 * MS);
	assert_int_equal(usable(), 120);
	set_loss(0);
	run(w.now + MS);
	assert_int_equal(usable(), 128);

	make(64, 1, 3, seed);
	for (uint32_t i = 0; i < 10; i++) {
		path_on_avoid(&w.path, i, w.now);
		assert_int_equal(path_state(&w.path, i), PATH_ASSUMED_BAD);
		probe_all(PATH_PROBE_CLEAN);
		assert_int_equal(path_state(&w.path, i), PATH_GOOD);
	}
	for (uint32_t i = 0; i < 5; i++)
		path_on_avoid(&w.path, i, w.now);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(path_state(&w.path, i), i < 3 ? PATH_ASSUMED_BAD : PATH_SKIP);
}

/* Queues overflow behind all ports, in bursts: no port is taken for dead for long. */
static void congestion(void **state)
{
	uint64_t seed = check_seed(1001);
	uint32_t n_closed = 0;

	(void)state;
	make(128, 0xff, RECORDS, seed);
	for (uint32_t i = 0; i < 400; i++) {
		/* A fifth of all packets, those of 1 us in 5. */
		set_loss(i % 5 == 0 ? 10000 : 0);
		run(w.now + 1000);
		n_closed += path_ports(&w.path) != 0xff;
	}
	assert_int_equal(n_closed, 0);
	assert_true(w.fewest >= 128 / 4);
	set_loss(0);
	run(w.now + MS);
	assert_int_equal(usable(), 128);
}

/* The pool may be empty at any time: no EV is lost for good, no record either. */
static void empty_pool(void **state)
{
	uint64_t seed = check_seed(1101);

	(void)state;
	for (uint32_t records = 1; records < 40; records += 3) {
		make(64, records % 2 ? 0xff : 1, records, seed + records);
		set_loss(100);
		run(w.now + MS);
		w.dead = 2;
		run(w.now + MS);
		w.dead = 0;
		set_loss(0);
		run(w.now + 2 * MS);
		assert_int_equal(usable(), 64);
		w.tick = 10000;
		run(w.now + 5 * MS);
		assert_int_equal(pool_in_use(&w.pool), 0);
	}
	for (uint32_t nth = 1; nth < 60; nth += 2) {
		make(64, 0xff, RECORDS, seed + nth);
		set_loss(100);
		pool_fail_at(&w.pool, nth);
		run(w.now + MS / 5);
		w.dead = 2;
		run(w.now + MS / 2);
		w.dead = 0;
		set_loss(0);
		run(w.now + MS);
		assert_int_equal(usable(), 64);
		path_stop(&w.path);
		assert_int_equal(pool_in_use(&w.pool), 0);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(loss_everywhere),
	cmocka_unit_test(one_gray_ev),
	cmocka_unit_test(dead_evs),
	cmocka_unit_test(few_evs_where_some_are_bad),
	cmocka_unit_test(others_for_the_few),
	cmocka_unit_test(a_dead_plane),
	cmocka_unit_test(planes_one_after_another),
	cmocka_unit_test(flapping),
	cmocka_unit_test(everything_lost),
	cmocka_unit_test(min_active),
	cmocka_unit_test(ports_down_and_up),
	cmocka_unit_test(dead_in_a_dead_plane),
	cmocka_unit_test(late_news),
	cmocka_unit_test(remembered_evs_are_swept),
	cmocka_unit_test(few_records),
	cmocka_unit_test(congestion),
	cmocka_unit_test(empty_pool),
};

CHECK_MAIN(cases)
