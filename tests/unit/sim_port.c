/* Links and clocks that change while packets are under way: what is lost, what waits, and until
 * when, to the picosecond. */
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "sim/impair.h"
#include "sim/sim.h"
#include "stage.h"

static struct topology_cfg wire(void)
{
	struct topology_cfg t = leaf_spine(2, 1, 1);

	t.kind = TOPOLOGY_WIRE;
	return t;
}

static void set_link(uint32_t port, bool is_down)
{
	sim_port_set_down(&sim, port, is_down);
	sim_port_set_down(&sim, sim.ports[port].peer, is_down);
}

/* Packets that a fault holds back are on the link: they are gone when it goes down, also when it is
 * up again before they would have arrived. Those on other links stay. */
static void what_is_held_back_is_lost_with_its_link(void **state)
{
	struct topology_cfg t = leaf_spine(3, 3, 1);
	struct script_send send = {.to = 2, .payload = 1000}, later = {.to = 2, .payload = 1000};
	struct fault faults[2] = {
		{.kind = FAULT_DELAY, .port = 0, .until_ps = PSEC_NEVER, .amount_ps = 50 * PSEC_US},
		{.kind = FAULT_DELAY, .port = 1, .until_ps = PSEC_NEVER, .amount_ps = 50 * PSEC_US},
	};

	(void)state;
	prepare(&t, ROUTING_ECMP);
	later.at = 30000;
	script_add(&x, 0, &send, 5);
	script_add(&x, 0, &later, 3);
	script_add(&x, 1, &send, 4);
	assert_int_equal(sim_init(&sim, &cfg), 0);
	struct impair_plan *plan = impair_plan_new(&sim, faults, 2, 1);

	assert_non_null(plan);
	for (uint32_t h = 0; h < topology.n_hosts; h++)
		sim_host_jump(&sim, h, 0);
	sim_run(&sim, 10 * PSEC_US);
	assert_int_equal(sim_in_flight(&sim), 9);
	set_link(0, true);
	assert_int_equal(sim.totals.drops[SIM_DROP_LINK_DOWN], 5);
	assert_int_equal(sim_in_flight(&sim), 4);
	sim_run(&sim, 20 * PSEC_US);
	set_link(0, false);
	/* Their places are used again. */
	finish();
	assert_int_equal(sim.totals.drops[SIM_DROP_LINK_DOWN], 5);
	assert_int_equal(x.n_seen[2], 7);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(x.seen[2][i].from, 1);
	for (uint32_t i = 4; i < 7; i++)
		assert_int_equal(x.seen[2][i].number, i + 1);
	impair_plan_free(plan);
	end();
}

/* The same as with flow control in sim_fabric: two hosts of one leaf send to a third. */
static void prepare_lossless(uint32_t n, uint32_t memory_pkts)
{
	struct topology_cfg t = leaf_spine(4, 4, 1);
	struct script_send send = {.to = 2, .payload = 1000};
	uint32_t frame = script_frame_bytes(1000);

	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &send, n);
	script_add(&x, 1, &send, n);
	cfg.qos.dscps[names.trimmable].trim = FWD_TRIM_NEVER;
	cfg.qos.dscps[names.trimmable].threshold_bytes = 0;
	cfg.qos.classes[0].threshold_bytes = 0x7fffffff;
	cfg.qos.classes[0].pfc_xoff_bytes = 4 * frame;
	cfg.qos.classes[0].pfc_xon_bytes = 2 * frame;
	cfg.is_buffer_shared = true;
	cfg.buffer_bytes = memory_pkts * frame;
}

/* Whatever waited when a pause came, those who come later are not held up by a pause that is over.
 */
static void a_pause_that_is_over_holds_nobody(void **state)
{
	(void)state;
	for (uint32_t n = 2; n < 130; n += 3) {
		struct script_send later = {.at = 40000, .to = 3, .payload = 1000};

		prepare_lossless(n, 1000);
		script_add(&x, 0, &later, 2);
		start();
		finish();
		assert_int_equal(x.n_seen[2], 2 * n);
		assert_int_equal(x.n_seen[3], 2);
		assert_int_equal(x.seen[3][0].at, 40 * PSEC_US + 2 * serial(1000) + 2 * DELAY);
		assert_int_equal(x.seen[3][1].at, 40 * PSEC_US + 3 * serial(1000) + 2 * DELAY);
		end();
	}
}

/* A pause lasts for 65535 times 512 bits unless it is said again: 83.9 us. */
static void a_pause_ends_by_itself(void **state)
{
	psec pause = 65535 * 64 * BYTE;

	(void)state;
	prepare_lossless(400, 1000);
	start();
	/* The way to the receiver is blocked: what comes in stays. */
	uint32_t out = sim.ports[topology.nodes[2].first_port].peer;

	sim_port_set_halted(&sim, out, true);
	sim_run(&sim, 50 * PSEC_US);
	uint64_t stored = sim.ports[out].queued_pkts, pauses = sim.totals.pauses;

	assert_true(pauses == 2 && stored < 800);
	sim_run(&sim, 50 * PSEC_US + pause);
	/* It ran out, packets came, and the pause was said again. */
	assert_true(sim.ports[out].queued_pkts > stored && sim.ports[out].queued_pkts < 800);
	assert_int_equal(sim.totals.pauses, 4);
	assert_int_equal(x.n_seen[2], 0);
	sim_port_set_halted(&sim, out, false);
	finish();
	assert_int_equal(x.n_seen[2], 800);
	end();
}

/* Host 0 is paused with n packets of data sent or under way, until 30 us at least, and then sends
 * one more packet, to host 3. The port at which its data waits. */
static uint32_t pause_host(uint32_t n, const struct script_send *later)
{
	prepare_lossless(n, 1000);
	x.n_sends[1] = 0;
	script_add(&x, 0, later, 1);
	start();
	uint32_t out = sim.ports[topology.nodes[2].first_port].peer;

	sim_port_set_halted(&sim, out, true);
	sim_run(&sim, 30 * PSEC_US);
	assert_int_equal(sim.ports[0].paused, 1);
	return out;
}

/* A host whose data is paused sends no more of it than waits for that already, and control at once,
 * though data fills its port. */
static void control_passes_data_that_is_paused(void **state)
{
	struct script_send later = {.at = 40000, .to = 3, .payload = 64, .tclass = ENGINE_CONTROL};
	uint32_t out = pause_host(400, &later), sent = (uint32_t)sim.ports[0].counts.sent_pkts;
	uint32_t room = sim.ports[0].room_pkts;

	(void)state;
	assert_int_equal(sim.ports[0].queued_pkts, room);
	sim_port_set_halted(&sim, out, false);
	finish();
	end();
	out = pause_host(sent + room, &later);
	assert_int_equal(sim.ports[0].queued_pkts, room);
	sim_run(&sim, 45 * PSEC_US);
	assert_int_equal(x.n_seen[3], 1);
	assert_int_equal(x.seen[3][0].at, 40 * PSEC_US + 2 * serial(64) + 2 * DELAY);
	assert_int_equal(sim.ports[0].queued_pkts, room);
	sim_port_set_halted(&sim, out, false);
	finish();
	assert_int_equal(x.n_seen[2], sent + room);
	end();
}

/* Data that a pause kept in the engine leaves when the pause ends, by a frame or by itself. */
static void data_goes_when_its_pause_ends(void **state)
{
	struct script_send later = {.at = 40000, .to = 3, .payload = 64};
	uint32_t out = pause_host(400, &later), sent = (uint32_t)sim.ports[0].counts.sent_pkts;

	(void)state;
	sim_port_set_halted(&sim, out, false);
	finish();
	end();
	for (uint32_t is_told = 0; is_told < 2; is_told++) {
		out = pause_host(sent, &later);
		psec until = sim.ports[0].pfc->paused_until[0];

		sim_run(&sim, 50 * PSEC_US);
		assert_int_equal(sim.ports[0].queued_pkts, 0);
		assert_int_equal(x.n_seen[3], 0);
		if (is_told)
			sim_port_set_halted(&sim, out, false);
		sim_run(&sim, until + 5 * PSEC_US);
		assert_int_equal(x.n_seen[3], 1);
		if (is_told)
			assert_true(x.seen[3][0].at < 60 * PSEC_US);
		else
			assert_int_equal(x.seen[3][0].at, until + 2 * serial(64) + 2 * DELAY);
		sim_port_set_halted(&sim, out, false);
		finish();
		end();
	}
}

/* A link that was down forgets its pauses at both ends: the sender starts at once, and is paused
 * again before the memory is full. */
static void a_pause_does_not_outlive_its_link(void **state)
{
	uint32_t paused = 0;

	(void)state;
	for (uint32_t at = 1; at < 15; at++) {
		prepare_lossless(500, 230);
		start();
		sim_run(&sim, at * PSEC_US);
		paused += sim.ports[0].paused != 0;
		set_link(0, true);
		set_link(1, true);
		sim_run(&sim, at * PSEC_US + 50000);
		uint64_t before = sim.ports[0].counts.sent_pkts;

		set_link(0, false);
		set_link(1, false);
		sim_run(&sim, at * PSEC_US + 150000);
		assert_true(sim.ports[0].counts.sent_pkts > before);
		finish();
		assert_int_equal(sim.totals.drops[SIM_DROP_MEMORY], 0);
		assert_int_equal(x.n_seen[2] + sim.totals.drops[SIM_DROP_LINK_DOWN], 1000);
		end();
	}
	assert_true(paused > 5);
}

/* Five frames of one host in the memory are more than four; two are few enough. The way to the
 * receiver is blocked, then free, and a frame leaves every 22 ns. */
static void pauses_start_and_end_at_the_exact_byte(void **state)
{
	uint32_t frame = script_frame_bytes(1000);

	(void)state;
	for (uint32_t extra = 0; extra < 2; extra++) {
		prepare_lossless(5, 1000);
		x.n_sends[1] = 0;
		cfg.qos.classes[0].pfc_xoff_bytes = 5 * frame - 1 + extra;
		cfg.qos.classes[0].pfc_xon_bytes = 2 * frame;
		start();
		uint32_t out = sim.ports[topology.nodes[2].first_port].peer;

		sim_port_set_halted(&sim, out, true);
		sim_run(&sim, 5 * PSEC_US);
		assert_int_equal(sim.ports[out].queued_pkts, 5);
		assert_int_equal(sim.totals.pauses, 1 - extra);
		assert_int_equal(sim.ports[0].paused, 1 - extra);
		sim_port_set_halted(&sim, out, false);
		sim_run(&sim, 5 * PSEC_US + 2 * serial(1000) - 1);
		assert_int_equal(sim.totals.pauses, 1 - extra);
		sim_run(&sim, 5 * PSEC_US + 2 * serial(1000));
		assert_int_equal(sim.totals.pauses, extra ? 0 : 2);
		finish();
		assert_int_equal(sim.ports[0].paused, 0);
		assert_int_equal(x.n_seen[2], 5);
		end();
	}
}

/* A slow receiver: the pause is said again for as long as it takes, and nothing comes in between.
 */
static void a_long_pause_is_kept_up(void **state)
{
	(void)state;
	prepare_lossless(300, 1000);
	x.n_sends[1] = 0;
	routing_fini(&routing);
	topology_fini(&topology);
	struct topology_cfg t = leaf_spine(4, 4, 1);
	struct routing_cfg r;

	assert_int_equal(topology_build(&topology, &t, error, sizeof error), 0);
	uint32_t out = topology.ports[topology.nodes[2].first_port].peer;

	topology.ports[out].rate_bps = RATE / 100;
	r = (struct routing_cfg){.mode = ROUTING_ECMP,
				 .hash_fields = FWD_HASH_FLOW_LABEL,
				 .trims = net_trims_of(names.trimmed, names.trimmed_lasthop)};
	assert_int_equal(routing_build(&routing, &topology, &r, 7, error, sizeof error), 0);
	start();
	sim_run(&sim, 20 * PSEC_US);
	uint64_t sent = sim.ports[0].counts.sent_pkts;

	/* Some 90 packets of 2.2 us each are in the memory. */
	assert_true(sent > 50 && sent < 150);
	sim_run(&sim, 180 * PSEC_US);
	assert_int_equal(sim.ports[0].counts.sent_pkts, sent);
	assert_in_range(sim.totals.pauses, 4, 6);
	finish();
	assert_int_equal(x.n_seen[2], 300);
	end();
}

/* A pause that waited to be said is gone with its link, and the next one is said. */
static void pauses_that_wait_are_lost_with_their_link(void **state)
{
	(void)state;
	prepare_lossless(400, 1000);
	x.n_sends[1] = 0;
	start();
	uint32_t out = sim.ports[topology.nodes[2].first_port].peer, in = sim.ports[0].peer;

	sim_port_set_halted(&sim, out, true);
	sim_port_set_halted(&sim, in, true);
	sim_run(&sim, 3 * PSEC_US);
	assert_int_equal(sim.totals.pauses, 1);
	assert_non_null(sim.ports[in].control_head);
	assert_int_equal(sim.packets.in_use, sim_in_flight(&sim) + 1);
	set_link(0, true);
	assert_int_equal(sim.packets.in_use, sim_in_flight(&sim));
	sim_port_set_halted(&sim, in, false);
	set_link(0, false);
	sim_run(&sim, 10 * PSEC_US);
	assert_int_equal(sim.totals.pauses, 2);
	assert_int_equal(sim.ports[0].paused, 1);
	sim_port_set_halted(&sim, out, false);
	finish();
	assert_int_equal(x.n_seen[2] + sim.totals.drops[SIM_DROP_LINK_DOWN], 400);
	end();
}

/* What a switch holds when it reboots, at any port, and what a NIC holds when it restarts. */
static void who_starts_again_loses_its_queues(void **state)
{
	(void)state;
	for (uint32_t to = 1; to < 4; to++) {
		struct topology_cfg t = leaf_spine(4, 4, 1);
		struct script_send send = {.to = to, .payload = 1000};

		prepare(&t, ROUTING_ECMP);
		script_add(&x, 0, &send, 7);
		start();
		uint32_t out = sim.ports[topology.nodes[to].first_port].peer;

		sim_port_set_halted(&sim, out, true);
		sim_run(&sim, 5 * PSEC_US);
		assert_int_equal(sim.ports[out].queued_pkts, 7);
		sim_switch_clear(&sim, sim.ports[out].node);
		assert_int_equal(sim.totals.drops[SIM_DROP_REBOOT], 7);
		assert_int_equal(sim.ports[out].buffer->used_bytes, 0);
		finish();
		end();
	}
	struct topology_cfg t = wire();
	struct script_send send = {.to = 1, .payload = 1000};

	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &send, 3);
	assert_int_equal(sim_init(&sim, &cfg), 0);
	sim_port_set_halted(&sim, 0, true);
	sim_host_jump(&sim, 0, 0);
	assert_int_equal(sim.ports[0].queued_pkts, 2);
	sim_host_restart(&sim, 0);
	/* The engine is new: it has all three to send again. */
	assert_int_equal(sim.totals.drops[SIM_DROP_RESTART], 2);
	sim_port_set_halted(&sim, 0, false);
	finish();
	assert_int_equal(x.n_seen[1], 3);
	end();
}

/* What a queue held matters to others as soon as it left, not when somebody next looks at it. */
static void shared_memory_is_free_when_it_is(void **state)
{
	struct topology_cfg t = leaf_spine(4, 4, 1);
	struct script_send both = {.to = 2, .payload = 1000}, other = {.to = 0, .payload = 1000};
	uint32_t frame = script_frame_bytes(1000);

	(void)state;
	for (uint32_t late = 0; late < 2; late++) {
		prepare(&t, ROUTING_ECMP);
		cfg.is_buffer_shared = true;
		cfg.buffer_bytes = frame + frame / 2;
		cfg.qos.dscps[names.trimmable].trim = FWD_TRIM_NEVER;
		/* The second of the two waits for 22 ns; meanwhile the third does not fit. */
		other.at = late ? 100 : 5;
		script_add(&x, 0, &both, 1);
		script_add(&x, 1, &both, 1);
		script_add(&x, 3, &other, 1);
		start();
		finish();
		assert_int_equal(x.n_seen[2], 2);
		assert_int_equal(x.n_seen[0], late);
		assert_int_equal(sim.totals.drops[SIM_DROP_MEMORY], 1 - late);
		end();
	}
}

/* The links of a topology may say how much memory is behind them, where ports have their own. */
static void a_port_has_the_memory_of_its_link(void **state)
{
	struct topology_cfg t = leaf_spine(4, 4, 1);
	struct script_send send = {.to = 2, .payload = 1000};
	uint32_t frame = script_frame_bytes(1000);

	(void)state;
	for (uint32_t own = 0; own < 2; own++) {
		t.links[0].buffer_bytes = own ? 3 * frame : 0;
		prepare(&t, ROUTING_ECMP);
		cfg.buffer_bytes = 5 * frame;
		cfg.qos.dscps[names.trimmable].trim = FWD_TRIM_NEVER;
		script_add(&x, 0, &send, 20);
		script_add(&x, 1, &send, 20);
		start();
		finish();
		uint32_t out = sim.ports[topology.nodes[2].first_port].peer;

		assert_int_equal(sim.ports[out].counts.most_bytes, (own ? 3 : 5) * frame);
		assert_true(sim.totals.drops[SIM_DROP_MEMORY] > 5);
		end();
	}
}

/* A frame whose destination was changed on the way is not for the host it reaches. */
static void hosts_take_only_what_is_theirs(void **state)
{
	struct topology_cfg t = wire();
	struct script_send send = {.to = 1, .payload = 8};
	struct fault fault = {.kind = FAULT_CORRUPT,
			      .crc = FAULT_CRC_FCS_REPAIRED,
			      .until_ps = PSEC_NEVER,
			      .ppm = 1000000,
			      .count = 1};

	(void)state;
	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &send, 300);
	assert_int_equal(sim_init(&sim, &cfg), 0);
	struct impair_plan *plan = impair_plan_new(&sim, &fault, 1, 1);

	assert_non_null(plan);
	sim_host_jump(&sim, 0, 0);
	finish();
	/* 128 of 720 bits are its address; some others nobody protects. */
	assert_in_range(sim.totals.drops[SIM_DROP_HOST_ADDRESS], 30, 80);
	assert_true(sim.totals.drops[SIM_DROP_HOST_SEAL] > 30);
	assert_true(sim.totals.drops[SIM_DROP_HOST_FORMAT] > 0);
	assert_int_equal(sim.totals.drops[SIM_DROP_FCS], 0);
	impair_plan_free(plan);
	end();
}

static psec tapped_at[2];

static void note_tap(void *context, uint32_t port, bool is_out, psec at, struct cspan frame)
{
	(void)context;
	(void)port;
	assert_int_equal(frame.len, script_frame_bytes(1000));
	tapped_at[is_out] = at;
}

/* A tap sees a frame when its first bit leaves and when its last one arrives, before a switch has
 * looked at it. */
static void taps_are_at_the_end_of_the_cable(void **state)
{
	struct topology_cfg t = leaf_spine(4, 4, 1);
	struct script_send send = {.at = 3, .to = 1, .payload = 1000};

	(void)state;
	t.switch_delay_ps = 700000;
	prepare(&t, ROUTING_ECMP);
	cfg.hooks.tap = note_tap;
	script_add(&x, 0, &send, 1);
	start();
	uint32_t leaf = sim.ports[0].peer;

	sim.ports[leaf].is_tapped = true;
	sim.ports[sim.ports[topology.nodes[1].first_port].peer].is_tapped = true;
	finish();
	assert_int_equal(tapped_at[false], 3000 + serial(1000) + DELAY);
	assert_int_equal(tapped_at[true], 3000 + serial(1000) + DELAY + 700000);
	assert_int_equal(x.seen[1][0].at, tapped_at[true] + serial(1000) + DELAY);
	end();
}

/* A NIC puts nothing into a port without carrier: what the engine has waits in the engine. */
static void a_port_without_carrier_takes_nothing(void **state)
{
	struct topology_cfg t = wire();
	struct script_send send = {.to = 1, .payload = 1000};

	(void)state;
	prepare(&t, ROUTING_ECMP);
	send.at = 5000;
	script_add(&x, 0, &send, 5);
	start();
	set_link(0, true);
	sim_run(&sim, 10 * PSEC_US);
	assert_int_equal(sim.totals.injected, 0);
	set_link(0, false);
	finish();
	assert_int_equal(x.n_seen[1], 5);
	assert_int_equal(x.seen[1][0].at, 10 * PSEC_US + serial(1000) + DELAY);
	end();
}

/* A clock shows the exact product of time and rate, rounded down, at every picosecond. */
static void a_skewed_clock_never_goes_back(void **state)
{
	static const int32_t ppms[] = {-10000, -1000, -999, -1, 1, 7, 10000};

	(void)state;
	for (uint32_t i = 0; i < sizeof ppms / sizeof ppms[0]; i++) {
		struct topology_cfg t = wire();
		psec base = 0;
		nsec last = 0;

		prepare(&t, ROUTING_ECMP);
		start();
		sim_host_skew(&sim, 0, ppms[i]);
		for (psec at = 0;
		     at<3000000; at += at % 1000000> 999990 || at % 1000000 < 5 ? 1 : 7) {
			sim_run(&sim, at);
			nsec now = sim_host_now(&sim, 0);

			assert_true(now >= last);
			assert_int_equal(now, at * (uint64_t)(1000000 + ppms[i]) / 1000000 / 1000);
			last = now;
			base = at;
		}
		/* At a change it goes on from where it was. */
		sim_host_skew(&sim, 0, -ppms[i]);
		assert_int_equal(sim_host_now(&sim, 0), last);
		sim_run(&sim, base + PSEC_US);
		assert_int_equal(sim_host_now(&sim, 0),
				 last + (uint64_t)(1000000 - ppms[i]) / 1000);
		assert_int_equal(sim_host_now(&sim, 1), sim_now(&sim) / 1000);
		end();
	}
}

/* The first picosecond at which the clock shows the time. */
static void a_skewed_clock_wakes_at_the_exact_moment(void **state)
{
	static const int32_t ppms[] = {-10000, -1000, -3, 0, 3, 1000, 10000};

	(void)state;
	for (uint32_t i = 0; i < sizeof ppms / sizeof ppms[0]; i++)
		for (nsec at = 1; at < 2000000000; at = at * 7 + 1) {
			struct topology_cfg t = wire();
			struct script_send send = {.at = at, .to = 1, .payload = 100};
			uint64_t rate = (uint64_t)(INT64_C(1000000) + ppms[i]);
			psec sent = (at * 1000 * 1000000 + rate - 1) / rate;

			prepare(&t, ROUTING_ECMP);
			script_add(&x, 0, &send, 1);
			start();
			sim_host_skew(&sim, 0, ppms[i]);
			sim_run(&sim, 3 * PSEC_S);
			assert_int_equal(x.n_seen[1], 1);
			assert_int_equal(x.seen[1][0].at, sent + serial(100) + DELAY);
			finish();
			end();
		}
}

/* Lengths as arriving packets found them, of the queue that they went to. */
static void queue_lengths_are_counted(void **state)
{
	struct topology_cfg t = leaf_spine(4, 4, 1);
	struct script_send send = {.to = 2, .payload = 1000};
	uint32_t frame = script_frame_bytes(1000);
	uint64_t expected[SIM_QUEUE_BUCKET] = {0};

	(void)state;
	for (uint32_t b = 1; b + 1 < SIM_QUEUE_BUCKET; b++)
		assert_int_equal(sim_queue_bound(b), UINT64_C(512) << b);
	assert_int_equal(sim_queue_bound(0), 0);
	assert_int_equal(sim_queue_bound(SIM_QUEUE_BUCKET - 1), UINT64_MAX);
	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &send, 20);
	script_add(&x, 1, &send, 20);
	start();
	finish();
	/* Packet i of the first host finds i in the queue and makes one leave, see sim_fabric. */
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t b = 0;

		while (i * frame > sim_queue_bound(b))
			b++;
		expected[b] += 1;
	}
	uint64_t down[SIM_QUEUE_BUCKET] = {0}, all = 0;

	for (uint32_t g = 0; g < SIM_GROUPS; g++)
		for (uint32_t b = 0; b < SIM_QUEUE_BUCKET; b++) {
			all += sim.queue_lengths[g][b];
			if (g == 6)
				down[b] = sim.queue_lengths[g][b];
			else
				assert_true(g == 0 || sim.queue_lengths[g][b] == 0);
		}
	/* 40 packets at two queues each, that of a host and that of the leaf towards a host. */
	assert_int_equal(all, 80);
	for (uint32_t b = 0; b < SIM_QUEUE_BUCKET; b++)
		assert_in_range(down[b], expected[b], 2 * expected[b] + 1);
	end();
}

/* Names and sentences of drops, those of the forwarding plane first. */
static void drops_have_names(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < SIM_DROP_COUNT; i++) {
		assert_non_null(sim_drop_name(i));
		assert_non_null(sim_drop_text(i));
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(sim_drop_name(i), sim_drop_name(k));
	}
	assert_string_equal(sim_drop_name(SIM_DROP_THRESHOLD), "threshold");
	assert_string_equal(sim_drop_name(SIM_DROP_NO_HOST_MEMORY), "no-memory");
	assert_null(sim_drop_name(SIM_DROP_COUNT));
	assert_null(sim_drop_text(SIM_DROP_COUNT));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(what_is_held_back_is_lost_with_its_link),
	cmocka_unit_test(a_pause_that_is_over_holds_nobody),
	cmocka_unit_test(a_pause_ends_by_itself),
	cmocka_unit_test(control_passes_data_that_is_paused),
	cmocka_unit_test(data_goes_when_its_pause_ends),
	cmocka_unit_test(a_pause_does_not_outlive_its_link),
	cmocka_unit_test(pauses_start_and_end_at_the_exact_byte),
	cmocka_unit_test(a_long_pause_is_kept_up),
	cmocka_unit_test(pauses_that_wait_are_lost_with_their_link),
	cmocka_unit_test(who_starts_again_loses_its_queues),
	cmocka_unit_test(shared_memory_is_free_when_it_is),
	cmocka_unit_test(a_port_has_the_memory_of_its_link),
	cmocka_unit_test(hosts_take_only_what_is_theirs),
	cmocka_unit_test(taps_are_at_the_end_of_the_cable),
	cmocka_unit_test(a_port_without_carrier_takes_nothing),
	cmocka_unit_test(a_skewed_clock_never_goes_back),
	cmocka_unit_test(a_skewed_clock_wakes_at_the_exact_moment),
	cmocka_unit_test(queue_lengths_are_counted),
	cmocka_unit_test(drops_have_names),
};

CHECK_MAIN(cases)
