/* The fabric in numbers that were worked out by hand: when each packet arrives, which one is
 * marked, trimmed or dropped, to the picosecond and to the byte. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/ideal.h"
#include "sim/sim.h"
#include "stage.h"

static void a_wire_takes_its_time(void **state)
{
	struct topology_cfg t = leaf_spine(2, 1, 1);
	struct script_send big = {.at = 100, .to = 1, .payload = 4096};
	struct script_send small = {.at = 100, .to = 1, .payload = 8};

	(void)state;
	t.kind = TOPOLOGY_WIRE;
	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &big, 2);
	script_add(&x, 0, &small, 1);
	start();
	finish();
	assert_int_equal(x.n_seen[1], 3);
	/* 14 + 40 + 8 + 16 + 4096 + 4 bytes and 24 around them: 4202 bytes of 20 ps. */
	assert_int_equal(serial(4096), 84040);
	assert_int_equal(x.seen[1][0].at, 100000 + 84040 + DELAY);
	assert_int_equal(x.seen[1][1].at, 100000 + 2 * 84040 + DELAY);
	assert_int_equal(x.seen[1][2].at, 100000 + 2 * 84040 + (82 + 8 + 24) * BYTE + DELAY);
	assert_int_equal(x.seen[1][0].bytes, SCRIPT_HEAD + 4096);
	assert_int_equal(x.seen[1][0].ttl, 64);
	end();
}

/* Without a delay a packet arrives at the moment its port is free again: the next one leaves then.
 */
static void a_link_without_delay_is_kept_busy(void **state)
{
	struct topology_cfg t = leaf_spine(2, 1, 1);
	struct script_send send = {.to = 1, .payload = 1000};

	(void)state;
	t.kind = TOPOLOGY_WIRE;
	t.links[0].delay_ps = 0;
	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &send, 50);
	start();
	finish();
	assert_int_equal(x.n_seen[1], 50);
	assert_int_equal(x.seen[1][49].at, 50 * serial(1000));
	end();
}

static void a_rate_that_is_no_whole_number(void **state)
{
	struct topology_cfg t = leaf_spine(2, 1, 1);
	struct script_send send = {.to = 1, .payload = 1};

	(void)state;
	t.kind = TOPOLOGY_WIRE;
	t.links[0].rate_bps = UINT64_C(7000000000);
	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &send, 1);
	start();
	finish();
	/* 107 bytes at 7 Gb/s are 122285.71 ps, rounded up. */
	assert_int_equal(x.seen[1][0].at, 122286 + DELAY);
	end();
}

static void four_hops_store_and_forward(void **state)
{
	struct topology_cfg t = leaf_spine(4, 2, 2);
	struct script_send send = {.to = 3, .payload = 1000};

	(void)state;
	t.switch_delay_ps = 500;
	t.links[1].rate_bps = RATE / 2;
	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &send, 1);
	start();
	finish();
	/* Two hops at full and two at half rate, four cables, three switches. */
	assert_int_equal(x.seen[3][0].at, 6 * serial(1000) + 4 * DELAY + 3 * 500);
	assert_int_equal(x.seen[3][0].ttl, 61);
	assert_int_equal(sim.totals.hops, 4);
	end();
}

static void every_mode_of_routing_delivers(void **state)
{
	static const uint32_t around[] = {0, 0, 40, 64};

	(void)state;
	for (uint32_t mode = ROUTING_ECMP; mode <= ROUTING_USID_SRH; mode++) {
		struct topology_cfg t = leaf_spine(4, 2, 2);
		struct script_send send = {.to = 3, .payload = 1000};
		struct routing_cfg r = {
			.mode = mode,
			.hash_fields = FWD_HASH_FLOW_LABEL,
			.ev_layout = {1, {1}},
			.trims = net_trims_of(names.trimmed, names.trimmed_lasthop),
		};

		prepare(&t, ROUTING_ECMP);
		routing_fini(&routing);
		assert_int_equal(routing_build(&routing, &topology, &r, 7, error, sizeof error), 0);
		for (uint32_t i = 0; i < 16; i++) {
			send.ev = routing_entropy(&routing, 1, i);
			script_add(&x, 0, &send, 1);
		}
		start();
		finish();
		assert_int_equal(x.n_seen[3], 16);
		for (uint32_t i = 0; i < 16; i++) {
			psec each = serial(1000) + around[mode] * BYTE;

			assert_int_equal(x.seen[3][i].at, 4 * each + 4 * DELAY + i * each);
			assert_int_equal(x.seen[3][i].ev, x.sends[0][x.seen[3][i].number].ev);
			assert_int_equal(x.seen[3][i].bytes, SCRIPT_HEAD + 1000);
		}
		end();
	}
}

/* Two hosts send to a third on their leaf at the same moment, n packets each: what the queue to the
 * third holds is known at every step. Packet 0 of the first host goes straight through, that of the
 * second waits. When packets i come, the transmitter has just become free and taken its next
 * packet: the first host's finds i - 1 in the queue, the second's i. So packet k that leaves leaves
 * k - 1 behind while they come (k >= 1), and 2 n - 1 - k when no more do. */
static void prepare_two_to_one(uint32_t n, uint32_t payload)
{
	struct topology_cfg t = leaf_spine(4, 4, 1);
	struct script_send send = {.to = 2, .payload = payload};

	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &send, n);
	script_add(&x, 1, &send, n);
}

static void marks_start_at_the_exact_byte(void **state)
{
	uint32_t frame = script_frame_bytes(1000);

	(void)state;
	for (uint32_t extra = 0; extra < 2; extra++) {
		prepare_two_to_one(20, 1000);
		cfg.qos.classes[0].ecn_min_bytes = 5 * frame + extra;
		cfg.qos.classes[0].ecn_max_bytes = 5 * frame + extra;
		start();
		finish();
		assert_int_equal(x.n_seen[2], 40);
		for (uint32_t k = 0; k < 40; k++) {
			uint32_t behind = k == 0 ? 0 : k < 20 ? k - 1 : 39 - k;
			bool marked = behind >= 5 + extra;

			assert_int_equal(x.seen[2][k].ecn, marked ? FWD_ECN_CE : FWD_ECN_ECT0);
		}
		end();
	}
}

static void marks_need_an_ecn_capable_packet(void **state)
{
	(void)state;
	prepare_two_to_one(20, 1000);
	cfg.qos.classes[0].ecn_min_bytes = 0;
	cfg.qos.classes[0].ecn_max_bytes = 1;
	for (uint32_t i = 0; i < 20; i++)
		x.sends[0][i].not_ect = true;
	start();
	finish();
	uint64_t marked = 0;

	for (uint32_t k = 0; k < 40; k++) {
		const struct script_seen *seen = &x.seen[2][k];

		assert_true(seen->from == 1 || seen->ecn == FWD_ECN_NOT_ECT);
		marked += seen->ecn == FWD_ECN_CE;
	}
	assert_true(marked >= 18);
	assert_int_equal(marked, sim.totals.marked);
	end();
}

static struct script_seen first_trimmed(void)
{
	uint32_t k = 0;

	while (k < x.n_seen[2] && !x.seen[2][k].trimmed)
		k++;
	assert_true(k < x.n_seen[2]);
	return x.seen[2][k];
}

static void trims_start_at_the_exact_byte(void **state)
{
	uint32_t frame = script_frame_bytes(1000);

	(void)state;
	for (uint32_t extra = 0; extra < 2; extra++) {
		prepare_two_to_one(12, 1000);
		cfg.qos.dscps[names.trimmable].threshold_bytes = 5 * frame + extra;
		start();
		finish();
		/* Packet 5 of the second host finds five in the queue; with one byte more of room,
		 * its packet 6 is the first to find more. */
		struct script_seen first = first_trimmed();

		assert_int_equal(first.from, 1);
		assert_int_equal(first.number, extra ? 6 : 5);
		assert_int_equal(first.trimmed, NET_TRIMMED_LASTHOP);
		assert_int_equal(first.udp_len, 8 + SCRIPT_HEAD + 1000 + 4);
		assert_int_equal(first.bytes, 28 - 8);
		assert_int_equal(first.ecn, FWD_ECN_ECT0);
		assert_int_equal(x.n_seen[2], 24);
		assert_true(sim.totals.trimmed > 3);
		end();
	}
}

/* UE 4.1: what is cut is marked by the DSCP that it had, and the host knows it by any of those. */
static void classes_have_trimmed_dscps_of_their_own(void **state)
{
	enum { OWN = 30, OWN_CUT = 31 };
	uint32_t frame = script_frame_bytes(1000), n_own = 0, n_named = 0;

	(void)state;
	prepare_two_to_one(12, 1000);
	cfg.qos.dscps[names.trimmable].threshold_bytes = 5 * frame;
	cfg.qos.dscps[OWN] = cfg.qos.dscps[names.trimmable];
	cfg.qos.dscps[OWN].trimmed = OWN_CUT;
	cfg.qos.dscps[OWN].trimmed_lasthop = FWD_NO_DSCP;
	cfg.qos.dscps[OWN_CUT] = cfg.qos.dscps[names.trimmed];
	for (uint32_t i = 0; i < x.n_sends[1]; i++)
		x.sends[1][i].tclass = ENGINE_DSCP + OWN;
	start();
	finish();
	assert_int_equal(x.n_seen[2], 24);
	for (uint32_t i = 0; i < x.n_seen[2]; i++) {
		const struct script_seen *seen = &x.seen[2][i];

		if (!seen->trimmed)
			continue;
		assert_int_equal(seen->dscp, seen->from ? OWN_CUT : names.trimmed_lasthop);
		assert_int_equal(seen->trimmed, seen->from ? NET_TRIMMED : NET_TRIMMED_LASTHOP);
		assert_int_equal(seen->bytes, 28 - 8);
		*(seen->from ? &n_own : &n_named) += 1;
	}
	assert_true(n_own > 0 && n_named > 0);
	assert_int_equal(n_own + n_named, sim.totals.trimmed);
	end();
}

static void what_cannot_be_trimmed_is_dropped(void **state)
{
	uint32_t frame = script_frame_bytes(1000);

	(void)state;
	prepare_two_to_one(12, 1000);
	cfg.qos.dscps[names.trimmable].trim = FWD_TRIM_NEVER;
	cfg.qos.dscps[names.trimmable].threshold_bytes = 5 * frame;
	start();
	finish();
	assert_int_equal(sim.totals.trimmed, 0);
	assert_true(sim.totals.drops[SIM_DROP_THRESHOLD] > 3);
	assert_int_equal(x.n_seen[2] + sim.totals.drops[SIM_DROP_THRESHOLD], 24);
	end();
}

/* Sent with the DSCP of trimmed packets and not cut: its ICRC is still there, and is no part of
 * what the host is given (M-48). */
static void marked_as_trimmed_it_may_be_whole(void **state)
{
	struct script_send send = {.to = 2, .payload = 1000};

	(void)state;
	prepare_two_to_one(0, 0);
	send.tclass = (uint8_t)(ENGINE_DSCP + names.trimmed);
	script_add(&x, 0, &send, 1);
	start();
	finish();
	assert_int_equal(x.n_seen[2], 1);
	assert_int_equal(x.seen[2][0].trimmed, NET_TRIMMED);
	assert_int_equal(x.seen[2][0].bytes, SCRIPT_HEAD + 1000);
	end();
}

static uint64_t sim_total_drops(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < SIM_DROP_COUNT; i++)
		n += sim.totals.drops[i];
	return n;
}

/* Three hosts to one: more trimmed packets come than leave. */
static void trimmed_packets_are_dropped_when_their_queue_is_full(void **state)
{
	struct script_send send = {.to = 2, .payload = 1000};

	(void)state;
	prepare_two_to_one(40, 1000);
	script_add(&x, 3, &send, 40);
	cfg.qos.dscps[names.trimmable].threshold_bytes = 1;
	cfg.qos.classes[1].threshold_bytes = 1;
	start();
	finish();
	uint64_t dropped = sim.totals.drops[SIM_DROP_TRIMMED_THRESHOLD];

	assert_true(sim.totals.trimmed > 0 && dropped > 0);
	assert_int_equal(x.n_seen[2] + dropped, 120);
	assert_int_equal(dropped, sim_total_drops());
	end();
}

/* With a long queue of data, control leaves right behind the packet on the wire. */
static void control_does_not_wait_for_data(void **state)
{
	struct script_send control = {.at = 1000, .to = 2, .payload = 8, .tclass = ENGINE_CONTROL};

	(void)state;
	prepare_two_to_one(30, 1000);
	script_add(&x, 3, &control, 1);
	start();
	finish();
	uint32_t at = 0, frames = 0;
	psec arrival = 1000 * PSEC_NS + serial(8) + DELAY;
	psec first = serial(1000) + DELAY;

	for (uint32_t k = 0; k < x.n_seen[2]; k++)
		if (x.seen[2][k].from == 3)
			at = k;
	/* Packets that had started when it came to the leaf. */
	frames = (uint32_t)((arrival - first) / serial(1000)) + 1;
	assert_int_equal(at, frames);
	assert_int_equal(x.seen[2][at].at, first + frames * serial(1000) + serial(8) + DELAY);
	end();
}

static void weights_share_a_level(void **state)
{
	struct script_send low = {.to = 2, .payload = 1000};
	struct script_send med = {.to = 2, .payload = 1000, .tclass = ENGINE_CONTROL};
	struct topology_cfg t = leaf_spine(4, 4, 1);
	uint32_t meds = 0;

	(void)state;
	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &low, 400);
	script_add(&x, 1, &med, 400);
	for (uint32_t c = 0; c < 3; c++) {
		cfg.qos.classes[c].level = 0;
		cfg.qos.classes[c].threshold_bytes = 0x7fffffff;
	}
	cfg.qos.dscps[names.trimmable].threshold_bytes = 0x7fffffff;
	cfg.qos.classes[2].weight = 3;
	start();
	/* The quantum is a large frame's; shares show over several rounds. */
	finish();
	for (uint32_t k = 100; k < 500; k++)
		meds += x.seen[2][k].from == 1;
	assert_in_range(meds, 240, 340);
	end();
}

/* A link's own buffer bounds its port, whatever the switch has: five packets fit, and not a byte
 * more. */
static void a_link_has_its_own_bound(void **state)
{
	uint32_t frame = script_frame_bytes(1000);

	(void)state;
	for (uint32_t extra = 0; extra < 2; extra++) {
		prepare_two_to_one(40, 1000);
		cfg.is_buffer_shared = true;
		cfg.buffer_bytes = 1000 * frame;
		cfg.qos.dscps[names.trimmable].trim = FWD_TRIM_NEVER;
		for (uint32_t i = 0; i < topology.n_ports; i++)
			topology.ports[i].buffer_bytes = 6 * frame - 1 + extra;
		start();
		finish();
		uint32_t most = 0;

		for (uint32_t i = 0; i < sim.n_ports; i++)
			if (!sim.ports[i].is_host && sim.ports[i].counts.most_bytes > most)
				most = sim.ports[i].counts.most_bytes;
		assert_int_equal(most, (5 + extra) * frame);
		assert_true(sim.totals.drops[SIM_DROP_MEMORY] > 0);
		end();
	}
}

static void a_shared_memory_fills_from_all_sides(void **state)
{
	uint32_t frame = script_frame_bytes(1000);

	(void)state;
	prepare_two_to_one(40, 1000);
	cfg.is_buffer_shared = true;
	cfg.buffer_bytes = 6 * frame + frame / 2;
	cfg.qos.dscps[names.trimmable].trim = FWD_TRIM_NEVER;
	start();
	finish();
	assert_true(sim.totals.drops[SIM_DROP_MEMORY] > 0);
	assert_int_equal(sim.totals.drops[SIM_DROP_THRESHOLD], 0);
	assert_int_equal(x.n_seen[2] + sim.totals.drops[SIM_DROP_MEMORY], 80);
	for (uint32_t i = 0; i < sim.n_ports; i++) {
		assert_true(sim.ports[i].counts.most_bytes <= cfg.buffer_bytes);
		assert_int_equal(sim.ports[i].buffer->used_bytes, 0);
	}
	end();
}

static void pauses_keep_everything(void **state)
{
	uint32_t frame = script_frame_bytes(1000);

	(void)state;
	prepare_two_to_one(200, 1000);
	cfg.qos.dscps[names.trimmable].trim = FWD_TRIM_NEVER;
	cfg.buffer_bytes = 200 * frame;
	cfg.is_buffer_shared = true;
	cfg.qos.classes[0].threshold_bytes = 0x7fffffff;
	cfg.qos.dscps[names.trimmable].threshold_bytes = 0;
	cfg.qos.classes[0].pfc_xoff_bytes = 20 * frame;
	cfg.qos.classes[0].pfc_xon_bytes = 10 * frame;
	start();
	finish();
	assert_int_equal(x.n_seen[2], 400);
	assert_true(sim.totals.pauses >= 4);
	end();
	/* The same without: the queue grows until the end. */
	prepare_two_to_one(200, 1000);
	cfg.qos.dscps[names.trimmable].trim = FWD_TRIM_NEVER;
	cfg.buffer_bytes = 100 * frame;
	cfg.is_buffer_shared = true;
	start();
	finish();
	assert_true(sim.totals.drops[SIM_DROP_MEMORY] > 0);
	end();
}

static void entropy_spreads_over_the_spines(void **state)
{
	struct topology_cfg t = leaf_spine(8, 4, 8);
	uint32_t most = 0, used = 0;

	(void)state;
	prepare(&t, ROUTING_ECMP);
	for (uint32_t i = 0; i < 512; i++) {
		struct script_send send = {
			.at = i * 1000,
			.to = 7,
			.payload = 64,
			.ev = routing_entropy(&routing, 3, i),
		};

		script_add(&x, 0, &send, 1);
	}
	start();
	finish();
	for (uint32_t i = 0; i < sim.n_ports; i++) {
		const struct topology_port *port = &topology.ports[i];

		if (topology.nodes[port->node].is_host || !port->is_up)
			continue;
		uint32_t sent = (uint32_t)sim.ports[i].counts.sent_pkts;

		used += sent != 0;
		most = sent > most ? sent : most;
	}
	/* 64 expected on each of 8, standard deviation 7.5: five of them. */
	assert_int_equal(used, 8);
	assert_in_range(most, 64, 64 + 38);
	end();
}

static void planes_do_not_mix(void **state)
{
	struct topology_cfg t = leaf_spine(4, 2, 2);

	(void)state;
	t.planes = 4;
	t.nic_ports = 4;
	prepare(&t, ROUTING_ECMP);
	for (uint32_t p = 0; p < 4; p++) {
		struct script_send send = {.to = 3, .payload = 100, .port = (uint8_t)p};

		script_add(&x, 0, &send, 10);
	}
	start();
	finish();
	assert_int_equal(x.n_seen[3], 40);
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(x.seen[3][i].port, x.seen[3][i].number / 10);
	end();
}

static void a_link_that_goes_down_loses_what_it_carries(void **state)
{
	struct topology_cfg t = leaf_spine(2, 1, 1);
	struct script_send send = {.to = 1, .payload = 1000};

	(void)state;
	t.kind = TOPOLOGY_WIRE;
	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &send, 100);
	start();
	sim_run(&sim, 2 * PSEC_US);
	uint32_t before = x.n_seen[1];

	assert_true(before > 0 && before < 100);
	sim_port_set_down(&sim, 0, true);
	/* Everything on the link, and the two packets in the NIC's queue. */
	assert_true(sim_is_conserved(&sim));
	assert_true(sim.totals.drops[SIM_DROP_LINK_DOWN] > 30);
	sim_run(&sim, 20 * PSEC_US);
	assert_int_equal(x.n_seen[1], before);
	sim_port_set_down(&sim, 0, false);
	finish();
	assert_int_equal(x.n_seen[1] + sim.totals.drops[SIM_DROP_LINK_DOWN], 100);
	end();
}

static void a_halted_port_keeps_its_queue(void **state)
{
	struct topology_cfg t = leaf_spine(2, 1, 1);
	struct script_send send = {.to = 1, .payload = 1000};

	(void)state;
	t.kind = TOPOLOGY_WIRE;
	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &send, 10);
	start();
	sim_port_set_halted(&sim, 0, true);
	sim_run(&sim, 5 * PSEC_US);
	uint32_t before = x.n_seen[1];

	sim_port_set_halted(&sim, 0, false);
	finish();
	assert_in_range(before, 0, 1);
	assert_int_equal(x.n_seen[1], 10);
	end();
}

/* A clock that is fast reaches its engine's deadline early, to the drift. */
static void a_skewed_clock_wakes_at_its_own_time(void **state)
{
	static const int32_t ppms[] = {0, 1000, -1000};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct topology_cfg t = leaf_spine(2, 1, 1);
		struct script_send send = {.at = 1000000, .to = 1, .payload = 100};
		psec sent = PSEC_MS - (int64_t)ppms[i] * 1000;

		t.kind = TOPOLOGY_WIRE;
		prepare(&t, ROUTING_ECMP);
		script_add(&x, 0, &send, 1);
		start();
		sim_host_skew(&sim, 0, ppms[i]);
		finish();
		psec at = x.seen[1][0].at - serial(100) - DELAY;

		/* 1000 ppm of a millisecond are a microsecond; drift counts whole microseconds. */
		assert_in_range(at, sent - 2 * PSEC_US, sent + 2 * PSEC_US);
		end();
	}
}

static void a_clock_jump_brings_work_forward(void **state)
{
	struct topology_cfg t = leaf_spine(2, 1, 1);
	struct script_send send = {.at = 1000000, .to = 1, .payload = 100};

	(void)state;
	t.kind = TOPOLOGY_WIRE;
	prepare(&t, ROUTING_ECMP);
	script_add(&x, 0, &send, 1);
	start();
	sim_run(&sim, 10 * PSEC_US);
	sim_host_jump(&sim, 0, 980000);
	finish();
	assert_int_equal(x.seen[1][0].at, 20 * PSEC_US + serial(100) + DELAY);
	end();
}

/* Bytes that only switches add: packets have room for them, and neither take longer nor are thought
 * to by those who ask how long the best run takes. */
static void room_for_switches_costs_no_time(void **state)
{
	struct topology_cfg t = leaf_spine(4, 2, 1);
	struct script_send send = {.to = 3, .payload = 1000};
	uint32_t head_bytes[2];
	psec ideal[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		prepare(&t, ROUTING_ECMP);
		cfg.headroom = i * 2100;
		script_add(&x, 0, &send, 3);
		start();
		finish();
		assert_int_equal(x.n_seen[3], 3);
		assert_int_equal(x.seen[3][0].at, 4 * serial(1000) + 4 * DELAY);
		head_bytes[i] = sim.packets.head_bytes;
		ideal[i] = ideal_time(&sim, 0, 3, 5000);
		end();
	}
	assert_int_equal(head_bytes[1], head_bytes[0] + 2100);
	assert_int_equal(ideal[1], ideal[0]);
	prepare(&t, ROUTING_ECMP);
	cfg.headroom = PACKET_HEAD_MAX;
	assert_int_equal(sim_init(&sim, &cfg), -EINVAL);
	end();
}

#define ALARMS_MAX 64u

/* When a switch's alarms went off, and the most that one of its ports held by then. */
static struct {
	psec at[ALARMS_MAX];
	uint32_t bytes[ALARMS_MAX];
	uint32_t n, port;
	psec every;
} alarms;

static void note_alarm(void *context, struct sim *s, uint32_t node)
{
	(void)context;
	assert_int_equal(node, s->ports[alarms.port].node);
	assert_true(alarms.n < ALARMS_MAX);
	alarms.at[alarms.n] = sim_now(s);
	alarms.bytes[alarms.n++] = s->ports[alarms.port].counts.most_bytes;
	if (alarms.n < ALARMS_MAX)
		sim_alarm_arm(s, node, sim_now(s) + alarms.every);
}

/* Two hosts fill the queue to a third, packet by packet, and the switch's alarms go off at those
 * very moments, where the packet comes first, and half-way. Node by node as event by event; most
 * windows have several alarms, and some nothing else. */
static void alarms_of_a_switch_keep_their_place(void **state)
{
	uint64_t hashes[2];

	(void)state;
	for (uint32_t is_local = 0; is_local < 2; is_local++) {
		prepare_two_to_one(20, 1000);
		cfg.hooks.alarm = note_alarm;
		cfg.hooks.is_local = is_local;
		start();
		alarms.n = 0;
		alarms.port = topology.ports[topology.nodes[2].first_port].peer;
		alarms.every = serial(1000) / 2;
		sim_alarm_arm(&sim, topology.n_hosts, DELAY + serial(1000));
		while (sim_run(&sim, sim_now(&sim) + 777 * PSEC_NS))
			assert_int_equal(sim.is_windowed, is_local);
		assert_int_equal(sim_in_flight(&sim), 0);
		assert_int_equal(alarms.n, ALARMS_MAX);
		for (uint32_t i = 0; i < alarms.n; i++) {
			/* See prepare_two_to_one: what waits beside the one that is leaving. */
			uint32_t pairs = i / 2 < 19 ? i / 2 : 19;
			uint32_t frame = script_frame_bytes(1000);

			assert_int_equal(alarms.at[i], DELAY + serial(1000) + i * alarms.every);
			assert_int_equal(alarms.bytes[i], (pairs ? pairs + 1 : 1) * frame);
		}
		hashes[is_local] = sim.trace_hash;
		end();
	}
	assert_int_equal(hashes[0], hashes[1]);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_wire_takes_its_time),
	cmocka_unit_test(a_link_without_delay_is_kept_busy),
	cmocka_unit_test(a_rate_that_is_no_whole_number),
	cmocka_unit_test(four_hops_store_and_forward),
	cmocka_unit_test(every_mode_of_routing_delivers),
	cmocka_unit_test(marks_start_at_the_exact_byte),
	cmocka_unit_test(marks_need_an_ecn_capable_packet),
	cmocka_unit_test(trims_start_at_the_exact_byte),
	cmocka_unit_test(classes_have_trimmed_dscps_of_their_own),
	cmocka_unit_test(what_cannot_be_trimmed_is_dropped),
	cmocka_unit_test(marked_as_trimmed_it_may_be_whole),
	cmocka_unit_test(trimmed_packets_are_dropped_when_their_queue_is_full),
	cmocka_unit_test(control_does_not_wait_for_data),
	cmocka_unit_test(weights_share_a_level),
	cmocka_unit_test(a_link_has_its_own_bound),
	cmocka_unit_test(a_shared_memory_fills_from_all_sides),
	cmocka_unit_test(pauses_keep_everything),
	cmocka_unit_test(entropy_spreads_over_the_spines),
	cmocka_unit_test(planes_do_not_mix),
	cmocka_unit_test(a_link_that_goes_down_loses_what_it_carries),
	cmocka_unit_test(a_halted_port_keeps_its_queue),
	cmocka_unit_test(a_skewed_clock_wakes_at_its_own_time),
	cmocka_unit_test(a_clock_jump_brings_work_forward),
	cmocka_unit_test(room_for_switches_costs_no_time),
	cmocka_unit_test(alarms_of_a_switch_keep_their_place),
};

CHECK_MAIN(cases)
