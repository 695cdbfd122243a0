#include "sim/impair.h"

#include "check.h"
#include "impaired.h"

static bool is_inside(uint32_t number)
{
	return number >= FROM && number < UNTIL;
}

/* Exactly the packets outside the window arrive, whole and on time. */
static void check_only_outside(void)
{
	uint32_t next = 0;

	assert_int_equal(run.n_seen[1], N - (UNTIL - FROM));
	for (uint32_t i = 0; i < run.n_seen[1]; i++, next++) {
		if (next == FROM)
			next = UNTIL;
		assert_int_equal(run.seen[1][i].number, next);
		assert_true(run.seen[1][i].is_clean);
		assert_int_equal(run.seen[1][i].at, arrival(next));
	}
}

static void without_faults_everything_arrives(void **state)
{
	(void)state;
	for (uint32_t real = 0; real < 2; real++) {
		run.is_payload_real = real;
		run_wire(NULL, 0, 1);
		assert_int_equal(run.n_seen[1], N);
		for (uint32_t i = 0; i < N; i++) {
			assert_int_equal(run.seen[1][i].number, i);
			assert_true(run.seen[1][i].is_clean);
			assert_int_equal(run.seen[1][i].at, arrival(i));
		}
		end_run();
	}
}

static void losses_take_the_packets_of_their_time(void **state)
{
	static const struct {
		enum fault_kind kind;
		uint32_t reason;
	} rows[] = {
		{FAULT_DROP, SIM_DROP_FAULT},
		{FAULT_BURST, SIM_DROP_FAULT},
		{FAULT_BLACK_HOLE, SIM_DROP_BLACK_HOLE},
	};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct fault f = always(rows[i].kind);

		run_wire(&f, 1, 1);
		check_only_outside();
		assert_int_equal(dropped(rows[i].reason), UNTIL - FROM);
		assert_int_equal(touched(0), UNTIL - FROM);
		end_run();
	}
}

/* A packet leaves at FROM * GAP exactly. What else happens a picosecond before decides in which
 * order events of one moment come, and must not decide whether the fault gets it. */
static void faults_begin_and_end_on_the_picosecond(void **state)
{
	static const struct {
		psec from[2], until[2];
		uint64_t touched[2];
	} rows[] = {
		{{FROM * GAP, 0}, {FROM * GAP + 1, 1}, {1, 1}},
		{{FROM * GAP + 1, 0}, {UNTIL * GAP + 1, 1}, {UNTIL - FROM, 1}},
		{{FROM * GAP + 1, 0}, {FROM * GAP + 2, 1}, {0, 1}},
		{{FROM * GAP - 1, 0}, {FROM * GAP, 1}, {0, 1}},
		{{FROM * GAP - 5, FROM * GAP}, {FROM * GAP - 1, FROM * GAP + 1}, {0, 1}},
		{{FROM * GAP, FROM * GAP - 5}, {FROM * GAP + 1, FROM * GAP - 1}, {1, 0}},
		{{FROM * GAP, FROM * GAP}, {FROM * GAP + 1, UNTIL * GAP}, {1, UNTIL - FROM - 1}},
		{{FROM * GAP, FROM * GAP}, {UNTIL * GAP, FROM * GAP + 1}, {UNTIL - FROM, 0}},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fault faults[2] = {always(FAULT_DROP), always(FAULT_DROP)};

		for (uint32_t n = 0; n < 2; n++) {
			faults[n].from_ps = rows[i].from[n];
			faults[n].until_ps = rows[i].until[n];
		}
		run_wire(faults, 2, 1);
		assert_int_equal(touched(0), rows[i].touched[0]);
		assert_int_equal(touched(1), rows[i].touched[1]);
		assert_int_equal(run.n_seen[1], N - touched(0) - touched(1));
		end_run();
	}
}

/* From the first moment, when work is posted before the run; and without end. */
static void a_fault_may_last_for_ever(void **state)
{
	struct fault f = always(FAULT_DROP);

	(void)state;
	f.from_ps = 0;
	f.until_ps = PSEC_NEVER;
	run_wire(&f, 1, 1);
	assert_int_equal(run.n_seen[1], 0);
	assert_int_equal(touched(0), N);
	end_run();
}

static void chances_are_kept(void **state)
{
	static const enum fault_kind kinds[] = {FAULT_DROP,    FAULT_DUPLICATE, FAULT_REORDER,
						FAULT_CORRUPT, FAULT_TRUNCATE,  FAULT_FORGE};
	uint64_t seed = check_seed(0x1a01);

	(void)state;
	for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		struct fault f = always(kinds[i]);

		/* 100 expected of 1000, 9.5 the standard deviation. */
		f.ppm = ALL / 10;
		run_wire(&f, 1, seed);
		assert_in_range(touched(0), 50, 150);
		end_run();
	}
}

static void gray_links_lose_both_ways(void **state)
{
	(void)state;
	for (uint32_t port = 0; port < 2; port++) {
		struct fault f = always(FAULT_GRAY);

		f.port = port;
		f.ppm = 300000;
		start_run(&wire_cfg, ROUTING_ECMP, &f, 1, 3);
		post(0, 1, N);
		post(1, 0, N);
		finish();
		/* 300 expected of 1000 each way, 14.5 the standard deviation. */
		assert_in_range(N - run.n_seen[0], 200, 400);
		assert_in_range(N - run.n_seen[1], 200, 400);
		assert_int_equal(dropped(SIM_DROP_FAULT), 2 * N - run.n_seen[0] - run.n_seen[1]);
		assert_int_equal(touched(0), dropped(SIM_DROP_FAULT));
		end_run();
	}
}

static void other_losses_act_one_way(void **state)
{
	struct fault f = always(FAULT_BLACK_HOLE);

	(void)state;
	f.port = 1;
	start_run(&wire_cfg, ROUTING_ECMP, &f, 1, 3);
	post(0, 1, N);
	post(1, 0, N);
	finish();
	assert_int_equal(run.n_seen[1], N);
	assert_int_equal(run.n_seen[0], N - (UNTIL - FROM));
	end_run();
}

static void bursts_have_their_length(void **state)
{
	struct fault f = always(FAULT_BURST);
	uint32_t gaps = 0, next = 0;

	(void)state;
	f.ppm = ALL / 100;
	f.count = 7;
	run_wire(&f, 1, 5);
	for (uint32_t i = 0; i < run.n_seen[1]; i++) {
		uint32_t lost = run.seen[1][i].number - next;

		next = run.seen[1][i].number + 1;
		/* The last may be cut short by the fault's end; two may touch. */
		assert_true(lost % 7 == 0 || next == UNTIL + 1);
		gaps += lost > 0;
	}
	assert_in_range(gaps, 3, 25);
	end_run();
}

static void duplicates_follow_their_packets(void **state)
{
	struct fault f = always(FAULT_DUPLICATE);
	uint32_t place = 0;

	(void)state;
	run_wire(&f, 1, 1);
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t n = 0; n < (is_inside(i) ? 2u : 1u); n++, place++) {
			assert_int_equal(run.seen[1][place].number, i);
			assert_true(run.seen[1][place].is_clean);
			assert_int_equal(run.seen[1][place].at, arrival(i) + n);
		}
	assert_int_equal(run.n_seen[1], place);
	assert_int_equal(run.sim.totals.copied, UNTIL - FROM);
	assert_int_equal(run.sim.totals.delivered, N + UNTIL - FROM);
	end_run();
}

static void reordered_packets_come_late(void **state)
{
	struct fault f = always(FAULT_REORDER);
	uint32_t late = 0, overtaken = 0;

	(void)state;
	f.ppm = ALL / 5;
	run_wire(&f, 1, 1);
	assert_int_equal(run.n_seen[1], N);
	for (uint32_t i = 0; i < N; i++) {
		const struct seen *seen = &run.seen[1][i];
		psec by = seen->at - arrival(seen->number);

		assert_true(seen->is_clean);
		assert_true(by <= f.amount_ps && (by == 0 || is_inside(seen->number)));
		late += by > 0;
		overtaken += i > 0 && seen->number < run.seen[1][i - 1].number;
	}
	assert_int_equal(late, touched(0));
	assert_in_range(overtaken, 50, 350);
	end_run();
}

static void delayed_packets_keep_their_order(void **state)
{
	struct fault f = always(FAULT_DELAY);
	uint32_t last = 0;

	(void)state;
	run_wire(&f, 1, 1);
	assert_int_equal(run.n_seen[1], N);
	assert_int_equal(touched(0), UNTIL - FROM);
	for (uint32_t i = 0; i < N; i++) {
		const struct seen *seen = &run.seen[1][i];
		bool in = is_inside(seen->number);

		assert_int_equal(seen->at, arrival(seen->number) + (in ? f.amount_ps : 0));
		if (!in)
			continue;
		assert_true(last == 0 || seen->number == last + 1);
		last = seen->number;
	}
	end_run();
}

static void a_bad_fcs_is_seen_by_the_next_port(void **state)
{
	struct fault f = always(FAULT_CORRUPT);

	(void)state;
	run_wire(&f, 1, 1);
	check_only_outside();
	assert_int_equal(dropped(SIM_DROP_FCS), UNTIL - FROM);
	end_run();
}

/* CRC-32 finds any three wrong bits in so short a packet. What reaches the engine was hit where the
 * ICRC does not look, and its own bytes are right; or a wrong DSCP says that it was trimmed and has
 * no ICRC: one bit is between the two here. */
static void a_bad_icrc_is_seen_by_the_host(void **state)
{
	struct fault f = always(FAULT_CORRUPT);

	(void)state;
	f.crc = FAULT_CRC_FCS_REPAIRED;
	for (uint32_t real = 0; real < 2; real++) {
		run.is_payload_real = real;
		run_wire(&f, 1, 1);
		assert_int_equal(dropped(SIM_DROP_FCS), 0);
		assert_in_range(dropped(SIM_DROP_HOST_SEAL), 500, UNTIL - FROM);
		assert_int_equal(touched(0), UNTIL - FROM);
		assert_int_equal(run.n_seen[1] + dropped(SIM_DROP_HOST_SEAL) +
					 dropped(SIM_DROP_HOST_FORMAT) +
					 dropped(SIM_DROP_HOST_ADDRESS),
				 N);
		for (uint32_t i = 0; i < run.n_seen[1]; i++)
			assert_true(run.seen[1][i].is_clean || run.seen[1][i].is_trimmed);
		end_run();
	}
}

static void with_every_crc_repaired_nobody_sees(void **state)
{
	static const uint32_t counts[] = {1, 3, 64};

	(void)state;
	for (uint32_t n = 0; n < 6; n++) {
		struct fault f = always(FAULT_CORRUPT);

		run.is_payload_real = n >= 3;
		f.crc = FAULT_CRC_ALL_REPAIRED;
		f.count = counts[n % 3];
		run_wire(&f, 1, n);
		assert_int_equal(run.n_seen[1], N);
		assert_int_equal(touched(0), UNTIL - FROM);
		for (uint32_t i = 0; i < N; i++)
			assert_int_equal(run.seen[1][i].wrong_bits, is_inside(i) ? f.count : 0);
		end_run();
	}
}

static void cut_frames_are_found_out(void **state)
{
	struct fault f = always(FAULT_TRUNCATE);

	(void)state;
	run_wire(&f, 1, 1);
	check_only_outside();
	assert_int_equal(dropped(SIM_DROP_HOST_FORMAT), UNTIL - FROM);
	assert_int_equal(touched(0), UNTIL - FROM);
	end_run();

	/* A switch sees it first. */
	start_run(&fabric_cfg, ROUTING_USID_SRH, &f, 1, 1);
	post(0, 3, N);
	finish();
	/* Every other packet goes by the other plane. */
	assert_int_equal(touched(0), (UNTIL - FROM) / 2);
	assert_int_equal(dropped(FWD_DROP_MALFORMED), (UNTIL - FROM) / 2);
	assert_int_equal(run.n_seen[3], N - (UNTIL - FROM) / 2);
	end_run();
}

static void forged_packets_follow_the_true_ones(void **state)
{
	struct fault f = always(FAULT_FORGE);
	uint32_t next = 0, forged = 0;

	(void)state;
	for (uint32_t real = 0; real < 2; real++, next = forged = 0) {
		run.is_payload_real = real;
		run_wire(&f, 1, 1);
		assert_int_equal(run.n_seen[1], N + UNTIL - FROM);
		for (uint32_t i = 0; i < run.n_seen[1]; i++) {
			const struct seen *seen = &run.seen[1][i];

			if (next > 0 && is_inside(next - 1) && forged < next - FROM) {
				assert_false(seen->is_clean);
				assert_int_equal(seen->at, arrival(next - 1) + 1);
				forged++;
				continue;
			}
			assert_true(seen->is_clean);
			assert_int_equal(seen->number, next);
			next++;
		}
		assert_int_equal(forged, UNTIL - FROM);
		assert_int_equal(run.sim.totals.copied, UNTIL - FROM);
		end_run();
	}
}

/* What a host makes of damage is its carrier's business: each of these has a seal that finds three
 * wrong bits, and forged packets have one that is right. A first byte that says TSS makes a packet
 * nobody here has a key for. */
static void every_carrier_has_its_seal(void **state)
{
	static const struct carrier *const all[] = {&carrier_roce, &carriers_uet,
						    &carriers_uet_native, &carriers_toy};
	struct fault damage = always(FAULT_CORRUPT), forge = always(FAULT_FORGE);

	(void)state;
	damage.crc = FAULT_CRC_FCS_REPAIRED;
	for (uint32_t i = 0; i < 2 * sizeof all / sizeof all[0]; i++) {
		uint64_t clean = 0;

		run.carrier = all[i / 2];
		run.is_payload_real = i % 2;
		run_wire(&damage, 1, 1);
		assert_in_range(dropped(SIM_DROP_HOST_SEAL), 500, UNTIL - FROM);
		for (uint32_t k = 0; k < run.n_seen[1]; k++) {
			assert_true(run.seen[1][k].is_clean || run.seen[1][k].is_trimmed);
			clean += run.seen[1][k].is_clean;
		}
		assert_true(clean >= N - (UNTIL - FROM));
		end_run();

		run_wire(&forge, 1, 1);
		clean = 0;
		for (uint32_t k = 0; k < run.n_seen[1]; k++)
			clean += run.seen[1][k].is_clean;
		assert_true(clean >= N);
		assert_true(run.n_seen[1] > N + (UNTIL - FROM) / 2);
		assert_int_equal(run.n_seen[1] + dropped(SIM_DROP_HOST_SEAL) +
					 dropped(SIM_DROP_HOST_FORMAT),
				 N + UNTIL - FROM);
		end_run();
	}
	run.carrier = NULL;
	run.is_payload_real = false;
}

static void faults_can_choose_packets(void **state)
{
	(void)state;
	for (uint32_t match = FAULT_ANY; match <= FAULT_CONTROL; match++) {
		struct fault f = always(FAULT_DROP);
		uint32_t place = 0;

		f.match = (uint8_t)match;
		run_wire(&f, 1, 1);
		for (uint32_t i = 0; i < N; i++) {
			bool is_control = i % CONTROL_EVERY == 0;
			bool is_meant =
				match == FAULT_ANY || is_control == (match == FAULT_CONTROL);

			if (!is_inside(i) || !is_meant)
				assert_int_equal(run.seen[1][place++].number, i);
		}
		assert_int_equal(run.n_seen[1], place);
		end_run();
	}
}

/* Two faults on one port see each packet in turn; copies are seen by the later one too. */
static void faults_act_one_after_the_other(void **state)
{
	struct fault pairs[][2] = {
		{always(FAULT_DUPLICATE), always(FAULT_BLACK_HOLE)},
		{always(FAULT_FORGE), always(FAULT_BLACK_HOLE)},
		{always(FAULT_BLACK_HOLE), always(FAULT_DUPLICATE)},
		{always(FAULT_DUPLICATE), always(FAULT_DUPLICATE)},
		{always(FAULT_DUPLICATE), always(FAULT_CORRUPT)},
	};
	static const struct {
		uint32_t in_window, copied, touched[2];
	} rows[] = {{0, 1000, {1000, 2000}},
		    {0, 1000, {1000, 2000}},
		    {0, 0, {1000, 0}},
		    {3000, 2000, {1000, 1000}},
		    {0, 1000, {1000, 2000}}};

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		run_wire(pairs[i], 2, 1);
		assert_int_equal(run.n_seen[1], N - 1000 + rows[i].in_window);
		assert_int_equal(run.sim.totals.copied, rows[i].copied);
		assert_int_equal(touched(0), rows[i].touched[0]);
		assert_int_equal(touched(1), rows[i].touched[1]);
		end_run();
	}
}

static uint64_t hash_of(const struct fault *faults, uint32_t n, uint64_t seed, uint64_t *first)
{
	uint64_t hash;

	start_run(&fabric_cfg, ROUTING_USID, faults, n, seed);
	for (uint32_t h = 0; h < 4; h++)
		post(h, (h + 1) % 4, N);
	hash = finish();
	*first = touched(0);
	end_run();
	return hash;
}

static void a_seed_gives_one_run(void **state)
{
	struct fault faults[3] = {always(FAULT_DROP), always(FAULT_FORGE), always(FAULT_REORDER)};
	uint64_t first, alone;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		faults[i].ppm = ALL / 3;
		faults[i].port = i;
	}
	uint64_t hash = hash_of(faults, 3, 1, &first);

	assert_int_equal(hash_of(faults, 3, 1, &alone), hash);
	assert_int_not_equal(hash_of(faults, 3, 2, &alone), hash);
	/* The second and third fault are elsewhere: they change nothing for the first. */
	assert_int_not_equal(hash_of(faults, 1, 1, &alone), hash);
	assert_int_equal(alone, first);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(without_faults_everything_arrives),
	cmocka_unit_test(losses_take_the_packets_of_their_time),
	cmocka_unit_test(faults_begin_and_end_on_the_picosecond),
	cmocka_unit_test(a_fault_may_last_for_ever),
	cmocka_unit_test(chances_are_kept),
	cmocka_unit_test(gray_links_lose_both_ways),
	cmocka_unit_test(other_losses_act_one_way),
	cmocka_unit_test(bursts_have_their_length),
	cmocka_unit_test(duplicates_follow_their_packets),
	cmocka_unit_test(reordered_packets_come_late),
	cmocka_unit_test(delayed_packets_keep_their_order),
	cmocka_unit_test(a_bad_fcs_is_seen_by_the_next_port),
	cmocka_unit_test(a_bad_icrc_is_seen_by_the_host),
	cmocka_unit_test(with_every_crc_repaired_nobody_sees),
	cmocka_unit_test(cut_frames_are_found_out),
	cmocka_unit_test(forged_packets_follow_the_true_ones),
	cmocka_unit_test(every_carrier_has_its_seal),
	cmocka_unit_test(faults_can_choose_packets),
	cmocka_unit_test(faults_act_one_after_the_other),
	cmocka_unit_test(a_seed_gives_one_run),
};

CHECK_MAIN(cases)
