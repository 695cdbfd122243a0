/* Who sends what, and when, with a driver and an engine of the test's own: room of each port, ports
 * that are full, down and up again, and timers that wait until all was received. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "nic/inside.h"

#define PORTS    3u
#define STRANGER 77u
#define US       UINT64_C(1000)
#define MS       UINT64_C(1000000)

/* A driver: so much room, these ports up, so many packets that came. */
static struct fake_driver {
	struct driver driver;
	uint16_t room[ENGINE_PORTS];
	uint32_t up;
	uint32_t n_waiting; /* packets that arrived */
	uint32_t n_sent[ENGINE_PORTS];
	uint32_t takes; /* of one send; the rest is refused for want of room */
	int32_t n_held; /* peers */
} io;

static void fake_room(struct driver *d, uint16_t room[ENGINE_PORTS])
{
	(void)d;
	for (uint32_t i = 0; i < ENGINE_PORTS; i++)
		room[i] = io.up >> i & 1 ? io.room[i] : 0;
}

static uint32_t fake_ports_up(const struct driver *d)
{
	(void)d;
	return io.up;
}

static uint32_t fake_send(struct driver *d, const struct tx_pkt *pkts, uint32_t n)
{
	uint32_t taken = n < io.takes ? n : io.takes;

	(void)d;
	for (uint32_t i = 0; i < taken; i++) {
		io.n_sent[pkts[i].port]++;
		if (io.room[pkts[i].port] < DRIVER_BATCH)
			io.room[pkts[i].port]--;
	}
	return taken;
}

static uint32_t fake_receive(struct driver *d, nsec now, struct rx_pkt *pkts, uint32_t n)
{
	uint32_t got = io.n_waiting < n ? io.n_waiting : n;

	(void)d;
	for (uint32_t i = 0; i < got; i++)
		pkts[i] = (struct rx_pkt){.at = now};
	io.n_waiting -= got;
	return got;
}

static void fake_peer_hold(struct driver *d, uint32_t handle)
{
	(void)d;
	assert_int_equal(handle, STRANGER);
	io.n_held++;
}

static void fake_peer_put(struct driver *d, uint32_t handle)
{
	(void)d;
	assert_int_equal(handle, STRANGER);
	io.n_held--;
}

static const struct driver_ops driver_ops = {
	.name = "fake",
	.room = fake_room,
	.ports_up = fake_ports_up,
	.send = fake_send,
	.receive = fake_receive,
	.peer_hold = fake_peer_hold,
	.peer_put = fake_peer_put,
};

/* An engine: packets that wait for each port, and one timer. */
static struct fake_engine {
	struct engine engine;
	nsec now;
	uint32_t waiting[ENGINE_PORTS];
	nsec timer;
	uint32_t n_fired, n_rx, rx_when_fired;
	uint32_t down;    /* as it was told */
	uint8_t on_input; /* an event of a stranger that comes with each; 0: none */
	bool has_event;   /* not taken yet */
	uint32_t n_late;  /* events that were not taken before the next input */
} e;

static void fake_input(struct engine *engine, nsec now, const struct rx_pkt *pkts, uint32_t n)
{
	(void)engine;
	assert_true(now >= e.now);
	for (uint32_t i = 0; i < n; i++)
		assert_true(pkts[i].at <= now);
	e.now = now;
	e.n_rx += n;
	e.n_late += e.has_event;
	e.has_event = e.on_input != 0;
}

static uint32_t fake_pull(struct engine *engine, nsec now, const struct engine_room *room,
			  struct tx_pkt *pkts, uint32_t n)
{
	uint32_t got = 0;

	(void)engine;
	assert_true(now >= e.now);
	e.now = now;
	if (e.timer <= now) {
		e.timer = NSEC_NEVER;
		e.n_fired++;
		e.rx_when_fired = e.n_rx;
	}
	for (uint32_t port = 0; port < PORTS; port++) {
		for (uint32_t k = 0; k < room->pkts[port] && e.waiting[port] && got < n; k++) {
			struct tx_pkt *p = &pkts[got++];

			p->port = (uint8_t)port;
			p->head_len = 12;
			p->n_body = 0;
			e.waiting[port]--;
		}
	}
	return got;
}

static uint32_t fake_poll(struct engine *engine, struct done *done, uint32_t n)
{
	(void)engine;
	(void)done;
	(void)n;
	return 0;
}

static nsec fake_deadline(const struct engine *engine, uint32_t may)
{
	(void)engine;
	for (uint32_t port = 0; port < PORTS; port++)
		if (engine_data_ports(may) >> port & 1 && e.waiting[port])
			return e.now;
	return e.timer;
}

static uint32_t fake_events(struct engine *engine, struct engine_event *events, uint32_t n)
{
	(void)engine;
	if (!e.has_event || n == 0)
		return 0;
	e.has_event = false;
	events[0] = (struct engine_event){STRANGER, e.on_input};
	return 1;
}

static const struct engine_ops engine_ops = {
	.input = fake_input,
	.pull = fake_pull,
	.poll = fake_poll,
	.events = fake_events,
	.deadline = fake_deadline,
};

static void on_ports_down(struct engine *engine, nsec now, uint32_t ports)
{
	(void)engine;
	(void)now;
	e.down = ports & ((1u << PORTS) - 1);
}

static const struct nic_transport_ops ops = {.transport = &transport_rc};
static const struct transport_pair_ops pairs = {.ports_down = on_ports_down};
static struct transport transport;

static struct device *d;
static struct shard shard;
static struct nic_user user;

static int set_up(void **state)
{
	(void)state;
	io = (struct fake_driver){
		.driver = {.ops = &driver_ops}, .up = (1u << PORTS) - 1, .takes = DRIVER_BATCH};
	e = (struct fake_engine){.engine = {.ops = &engine_ops}, .timer = NSEC_NEVER};
	d = calloc(1, sizeof *d);
	shard = (struct shard){.device = d};
	if (!d || !backlog_init(&shard.backlog, &carrier_roce))
		return -1;
	for (uint32_t i = 0; i < ENGINE_PORTS; i++)
		io.room[i] = DRIVER_BATCH;
	for (uint32_t i = 0; i < DRIVER_BATCH; i++)
		shard.tx[i].head = shard.heads[i];
	transport = transport_rc;
	transport.pairs = &pairs;
	d->transport = &transport;
	d->ops = &ops;
	shard.engine = &e.engine;
	shard.io = &io.driver;
	d->n_ports = PORTS;
	d->shards = &shard;
	d->ports_up = d->ports_linked = shard.free_ports = (1u << PORTS) - 1;
	d->info.setup.driver = CONFIG_RAW;
	d->info.is_up = true;
	d->info.n_ports = PORTS;
	for (uint32_t i = 0; i < PORTS; i++)
		d->info.ports[i].is_up = true;
	pthread_mutex_init(&shard.lock, NULL);
	pthread_mutex_init(&d->bell_lock, NULL);
	pthread_cond_init(&d->acked, NULL);
	user = (struct nic_user){.device = d, .bell = {.is_rung = true}};
	d->users = &user;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	backlog_fini(&shard.backlog);
	free(d);
	return 0;
}

static void wait_on(uint32_t a, uint32_t b, uint32_t c)
{
	e.waiting[0] = a;
	e.waiting[1] = b;
	e.waiting[2] = c;
}

static void no_port_gets_more_than_its_room(void **state)
{
	(void)state;
	wait_on(10, 10, 10);
	io.room[0] = 3;
	io.room[1] = 0;
	io.room[2] = 7;
	shard_step(&shard, false);
	assert_int_equal(io.n_sent[0], 3);
	assert_int_equal(io.n_sent[1], 0);
	assert_int_equal(io.n_sent[2], 7);
	assert_int_equal(shard.backlog.n, 0);
}

/* Who polls no queue gets the same round, and has the thread stand back. */
static void progress_needs_no_queue(void **state)
{
	(void)state;
	wait_on(4, 0, 0);
	assert_int_equal(nic_progress(&user), 0);
	assert_int_equal(io.n_sent[0], 4);
	assert_true(shard.polled_at > 0 && shard.polled_at <= device_now());
	d->is_dead = true;
	assert_int_equal(nic_progress(&user), -ENODEV);
}

/* All that waits is for a port that is full: nothing to do before it is looked at again. */
static void a_full_port_is_tried_again_later(void **state)
{
	(void)state;
	wait_on(0, 5, 0);
	io.room[1] = 0;
	nsec now = shard_step(&shard, false);

	assert_int_equal(io.n_sent[1], 0);
	assert_true(shard_deadline(&shard) > now);
	assert_true(shard_deadline(&shard) <= device_now() + 1 * MS);
	io.room[1] = DRIVER_BATCH;
	shard_step(&shard, false);
	assert_int_equal(io.n_sent[1], 5);
	assert_int_equal(shard_deadline(&shard), NSEC_NEVER);
}

/* The timers of the engine come first, if they are sooner. */
static void a_full_port_does_not_delay_timers(void **state)
{
	(void)state;
	wait_on(0, 5, 0);
	io.room[1] = 0;
	shard_step(&shard, false);
	e.timer = shard.clock + 10 * US;
	assert_int_equal(shard_deadline(&shard), e.timer);
	e.timer = shard.clock + 100 * MS;
	assert_true(shard_deadline(&shard) < e.timer);
	e.waiting[1] = 0;
	assert_int_equal(shard_deadline(&shard), e.timer);
}

static void a_port_that_is_down_is_not_waited_for(void **state)
{
	(void)state;
	wait_on(0, 5, 0);
	io.up = 1 << 0 | 1 << 2;
	shard_step(&shard, false);
	assert_int_equal(e.down, 1 << 1);
	assert_int_equal(shard_deadline(&shard), NSEC_NEVER);
	io.up |= 1 << 1;
	shard_step(&shard, false);
	assert_int_equal(e.down, 0);
	assert_int_equal(io.n_sent[1], 5);
}

/* What waits for the user: kinds of events by port, and nothing of other ports. */
static void expect_waiting(uint32_t first, uint32_t second, uint32_t third)
{
	assert_int_equal(user.ports[0].waiting, first);
	assert_int_equal(user.ports[1].waiting, second);
	assert_int_equal(user.ports[2].waiting, third);
}

static void users_hear_of_every_port(void **state)
{
	const uint32_t is_down = 1 << NIC_EVENT_PORT_DOWN, is_up = 1 << NIC_EVENT_PORT_UP;
	struct nic_event event;

	(void)state;
	io.up = 1 << 2;
	shard_step(&shard, false);
	expect_waiting(is_down, is_down, 0);
	assert_true(d->info.is_up);
	/* And so do those who look from other processes. */
	assert_int_equal(d->n_changes, 1);
	io.up = 0;
	shard_step(&shard, false);
	expect_waiting(is_down, is_down, is_down);
	assert_false(d->info.is_up);
	for (uint8_t port = 0; port < PORTS; port++) {
		assert_int_equal(nic_event_get(&user, &event), 0);
		assert_int_equal(event.kind, NIC_EVENT_PORT_DOWN);
		assert_int_equal(event.port, port);
		nic_event_ack(&user, &event);
		assert_int_equal(user.ports[port].n_acked, 1);
	}
	/* The newer state takes the place of the older one. */
	io.up = 1 << 1;
	shard_step(&shard, false);
	expect_waiting(0, is_up, 0);
	assert_true(d->info.is_up);
	io.up = 1 << 0;
	shard_step(&shard, false);
	expect_waiting(is_up, is_down, 0);
	/* Nothing new is nothing to tell. */
	shard_step(&shard, false);
	expect_waiting(is_up, is_down, 0);
}

/* A disabled port is as one that is down, whatever its link does meanwhile. */
static void users_hear_of_disabled_ports(void **state)
{
	const uint32_t is_down = 1 << NIC_EVENT_PORT_DOWN, is_up = 1 << NIC_EVENT_PORT_UP;

	(void)state;
	device_disable_ports(d, 1 << 1);
	expect_waiting(0, is_down, 0);
	assert_int_equal(e.down & 7, 1 << 1);
	io.up = 1 << 0 | 1 << 2;
	shard_step(&shard, false);
	expect_waiting(0, is_down, 0);
	io.up = 7;
	shard_step(&shard, false);
	expect_waiting(0, is_down, 0);
	device_disable_ports(d, 0);
	expect_waiting(0, is_up, 0);
	assert_int_equal(e.down & 7, 0);
}

static void what_the_driver_leaves_goes_first(void **state)
{
	(void)state;
	wait_on(20, 0, 0);
	io.takes = 5;
	shard_step(&shard, false);
	assert_int_equal(io.n_sent[0], 5);
	assert_int_equal(shard.backlog.n, 15);
	assert_true(shard_deadline(&shard) > shard.clock);
	wait_on(0, 1, 0);
	io.takes = DRIVER_BATCH;
	shard_step(&shard, false);
	assert_int_equal(io.n_sent[0], 20);
	assert_int_equal(io.n_sent[1], 1);
	assert_int_equal(shard.backlog.n, 0);
}

/* A timer that is due does not fire before what has arrived was received. */
static void timers_wait_for_what_has_arrived(void **state)
{
	(void)state;
	shard_step(&shard, false);
	e.timer = shard.clock + 1;
	io.n_waiting = 1000;
	for (uint32_t i = 0; i < 20 && !e.n_fired; i++)
		shard_step(&shard, false);
	assert_int_equal(e.n_fired, 1);
	assert_int_equal(e.rx_when_fired, 1000);
}

/* But packets without end do not keep it from firing, ... */
static void a_flood_does_not_stop_time(void **state)
{
	(void)state;
	shard_step(&shard, false);
	e.timer = shard.clock + 1;
	for (uint32_t i = 0; i < 1000 && !e.n_fired; i++) {
		io.n_waiting = 100000;
		shard_step(&shard, false);
	}
	assert_int_equal(e.n_fired, 1);
	assert_true(e.rx_when_fired <= 10000);
}

/* ... nor do a few with every turn: the clock stands still for some turns at most. */
static void a_trickle_does_not_stop_time(void **state)
{
	(void)state;
	shard_step(&shard, false);
	e.timer = shard.clock + 1;
	for (uint32_t i = 0; i < 10 && !e.n_fired; i++) {
		io.n_waiting = 3;
		shard_step(&shard, false);
	}
	assert_int_equal(e.n_fired, 1);
}

/* Peers are held before the driver receives again, also where it does so many times in a row; and
 * put as soon as that is said. */
static void strangers_are_held_at_once(void **state)
{
	struct transport row = transport_rc;

	(void)state;
	row.features |= TRANSPORT_STRANGERS;
	d->transport = &row;
	shard_step(&shard, false);
	e.on_input = ENGINE_EVENT_PEER_HELD;
	e.timer = shard.clock + 1;
	io.n_waiting = 4 * DRIVER_BATCH;
	for (uint32_t i = 0; i < 20 && !e.n_fired; i++)
		shard_step(&shard, false);
	assert_int_equal(e.n_rx, 4 * DRIVER_BATCH);
	assert_int_equal(e.n_late, 0);
	assert_int_equal(io.n_held, 4);
	e.on_input = ENGINE_EVENT_PEER_RELEASED;
	io.n_waiting = 1;
	shard_step(&shard, false);
	assert_int_equal(io.n_held, 3);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		CASE(no_port_gets_more_than_its_room),
		CASE(progress_needs_no_queue),
		CASE(a_full_port_is_tried_again_later),
		CASE(a_full_port_does_not_delay_timers),
		CASE(a_port_that_is_down_is_not_waited_for),
		CASE(users_hear_of_every_port),
		CASE(users_hear_of_disabled_ports),
		CASE(what_the_driver_leaves_goes_first),
		CASE(timers_wait_for_what_has_arrived),
		CASE(a_flood_does_not_stop_time),
		CASE(a_trickle_does_not_stop_time),
		CASE(strangers_are_held_at_once),
	};

	return check_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
