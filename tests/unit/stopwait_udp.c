/* Stop and wait over kernel UDP on loopback: two engines, two drivers, and a loop of our own. */
#include "isolate.h"

#include "stopwait.h"

#include "udp_pair.h"

enum { ENDS = 2, MEMORY = 65536, KEY = 0x77, PMTU = 1024, BLOCK = 65536, ENTRIES = 4 };

/* Of each end: an engine with one queue pair and one region, of domain 0. */
static struct end {
	struct driver *io;
	struct engine *e;
	_Alignas(max_align_t) uint8_t block[BLOCK], pair[BLOCK], table[BLOCK];
	uint8_t memory[MEMORY];
	uint32_t number, local, peer;
} ends[ENDS];

static nsec clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (nsec)t.tv_sec * 1000000000u + (nsec)t.tv_nsec;
}

static void make_engine(struct end *s)
{
	struct transport_host host = {.max_pairs = 2, .n_ports = 1, .is_software = true};
	struct mem_entry entry = {.at = s->memory,
				  .iova = (uintptr_t)s->memory,
				  .len = MEMORY,
				  .key = KEY,
				  .qp = MEM_ANY_QP,
				  .access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE};
	struct stopwait_cfg cfg;

	assert_true(mem_bytes(ENTRIES) <= BLOCK);
	memset(s->table, 0, BLOCK);
	host.mem = mem_init(s->table, ENTRIES);
	assert_int_equal(mem_add(host.mem, &entry), 0);
	stopwait.hosts->configure(&host, &cfg);
	assert_in_range(stopwait.engine->size(&cfg), 1, BLOCK);
	s->e = (struct engine *)(void *)s->block;
	s->e->ops = stopwait.engine;
	assert_int_equal(stopwait.engine->init(s->e, &cfg, clock_ns()), 0);
}

static void start(void)
{
	struct udp_cfg cfg = {.carrier = stopwait.carrier, .has_endpoints = true};

	open_pair(&cfg, &cfg, false);
	ends[0].io = a, ends[0].local = a_local, ends[0].peer = b_of_a;
	ends[1].io = b, ends[1].local = b_local, ends[1].peer = a_of_b;
	for (uint32_t i = 0; i < ENDS; i++) {
		make_engine(&ends[i]);
		ends[i].number = (uint32_t)driver_tag(ends[i].io) << 16 | 5;
	}
}

static struct transport_end told(uint32_t number, uint32_t psn)
{
	const struct transport_self self = {.number = number, .psn = psn};
	struct transport_end end;

	stopwait.pairs->tell(&self, &end);
	return end;
}

/* A queue pair of an end, towards a number of the other's. */
static void connect_to(struct end *s, uint32_t number)
{
	struct transport_caps caps = {.max_send = 8, .srq = TRANSPORT_NO_SRQ};
	const struct transport_link link = {
		.mine = told(s->number, 9),
		.theirs = told(number, 9),
		.path = {.peer = s->peer, .local = s->local, .ev = 0xc0010000},
		.manner = {.timeout_ns = 5000000, .retries = 200},
		.pmtu = PMTU,
		.access = MEM_REMOTE_WRITE,
	};

	assert_in_range(stopwait.pairs->grant(&caps), 1, BLOCK);
	assert_int_equal(stopwait.pairs->make(s->e, s->number, &caps, s->pair), 0);
	assert_int_equal(stopwait.pairs->connect(s->e, clock_ns(), s->number, &link), 0);
}

/* Peers that nobody told of are held for as long as the engine wants. */
static void hold_peers(struct end *s)
{
	struct engine_event event;

	while (s->e->ops->events(s->e, &event, 1)) {
		if (event.kind == ENGINE_EVENT_PEER_HELD)
			driver_peer_hold(s->io, event.number);
		else
			driver_peer_put(s->io, event.number);
	}
}

/* What a driver's loop is: receive, input, events; pull until short, send. */
static void turn(struct end *s)
{
	static uint8_t bytes[DRIVER_BATCH][ENGINE_HEAD_MAX];
	struct rx_pkt rx[DRIVER_BATCH];
	struct tx_pkt tx[DRIVER_BATCH];
	struct engine_room room = {.may = UINT32_MAX};
	nsec now = clock_ns();

	s->e->ops->input(s->e, now, rx, driver_receive(s->io, now, rx, DRIVER_BATCH));
	hold_peers(s);
	for (uint32_t i = 0; i < DRIVER_BATCH; i++)
		tx[i].head = bytes[i];
	driver_room(s->io, room.pkts);
	uint32_t n = s->e->ops->pull(s->e, now, &room, tx, DRIVER_BATCH);

	assert_int_equal(driver_send(s->io, tx, n), n);
}

/* Both ends take turns until the first has a completion, which is that of its write. */
static void write_all(uint32_t len)
{
	struct sge piece = {ends[0].memory, len, KEY};
	struct op op = {.code = ENGINE_WRITE,
			.qp = ends[0].number,
			.key = KEY,
			.remote = (uintptr_t)ends[1].memory,
			.sg = &piece,
			.n_sg = 1};
	int64_t end = now_ms() + WAIT_MS;
	struct done done;

	memcpy(ends[0].memory, data, len);
	assert_int_equal(ends[0].e->ops->post(ends[0].e, clock_ns(), &op), 0);
	while (!ends[0].e->ops->poll(ends[0].e, &done, 1)) {
		assert_true(now_ms() < end);
		turn(&ends[0]);
		turn(&ends[1]);
	}
	assert_int_equal(done.status, ENGINE_OK);
	assert_memory_equal(ends[1].memory, data, len);
}

static const struct stopwait_counters *counts(const struct end *s)
{
	return (const void *)s->e->ops->count(s->e);
}

static void writes_cross_between_queue_pairs(void **state)
{
	(void)state;
	fill_data();
	start();
	connect_to(&ends[0], ends[1].number);
	connect_to(&ends[1], ends[0].number);
	write_all(MEMORY / 2 + 3);
	assert_int_equal(counts(&ends[1])->rx_bytes, MEMORY / 2 + 3);
	close_pair();
}

/* The second end made no queue pair, and was told of nobody; what it was told of meanwhile does not
 * take the stranger's place. */
static void a_stranger_is_taken(void **state)
{
	(void)state;
	fill_data();
	start();
	connect_to(&ends[0], STOPWAIT_OPEN);
	driver_peer_put(b, a_of_b);
	write_all(20000);
	turn(&ends[1]);
	peer_of(b, "127.0.0.9");
	write_all(3);
	assert_int_equal(counts(&ends[1])->rx_bytes, 20003);
	assert_int_equal(counts(&ends[1])->held, 1);
	close_pair();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(writes_cross_between_queue_pairs),
	cmocka_unit_test(a_stranger_is_taken),
};
ISOLATED_MAIN(cases)
