/* Which EV a mark is about (9.3.1): the one whose entropy value comes back with it, behind the
 * port that the packet left by. */
#include "mrc_evs.h"

/* Both values behind both ports, with a flow label. */
static const struct path_ev twins[] = {
	{0xa0001234, 0}, {0xb0005678, 0}, {0xa0001234, 1}, {0xb0005678, 1}};

static void begin_twins(uint32_t n)
{
	static struct evs set;

	begin_evs(2);
	evs_make(&set, twins, 4);
	w.end[0].qp[0].attr.evs = &set.profile;
	connect();
	for (uint32_t i = 0; i < n; i++)
		post_packets(1);
	assert_int_equal(gather(), n);
}

static void expect_skipped(uint32_t ev)
{
	EXPECT_EVS(.good = 3, .skip = 1);
	assert_int_equal(state_of(ev), PATH_SKIP);
}

/* A SACK that names the packet acknowledged last, as it must where another is out of reach or was
 * trimmed (M-20, M-41), is about the EV that it reflects (M-51). */
static void a_mark_is_about_what_it_reflects(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t n = i / 2;

		begin_twins(8);
		uint32_t ev = ev_taken(n), value = twins[ev].value;
		uint32_t other = value == twins[0].value ? twins[1].value : twins[0].value;

		SACK(.cack = n, .from = n, .acked = n, .ev = other,
		     .mark = i % 2 ? MRC_MARK_SKIP : MRC_MARK_ALWAYS_SKIP);
		if (i % 2)
			EXPECT_EVS(.good = 3, .skip = 1);
		else
			EXPECT_EVS(.good = 3, .bad = 1);
		for (uint32_t k = 0; k < 4; k++)
			assert_true(state_of(k) == PATH_GOOD || twins[k].value == other);
	}
}

/* MRC-9.3.2-01: of a packet that was retransmitted its record knows the plane too. */
static void the_plane_of_a_retransmitted_packet_is_known(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2 * 40; i++) {
		begin_twins(1 + i / 2);
		nack(0, MRC_NACK_NO_BITMAP);
		assert_int_equal(gather(), 1);
		uint32_t ev = ev_taken(0);

		if (i % 2)
			SACK(.cack = 0, .from = 0, .acked = 0, .is_retx = true,
			     .mark = MRC_MARK_SKIP);
		else
			nack(0, MRC_NACK_TRIMMED);
		expect_skipped(ev);
	}
}

/* MRC-9.1-X01: over IPv4 there is no flow label, and its half of the entropy comes back as 0. */
static void a_label_that_did_not_travel_is_no_difference(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		begin_twins(8);
		uint32_t n = 0;

		while (ev_taken(n) != i)
			n++;
		nack_marked(n, MRC_NACK_TRIMMED, twins[i].value & 0xffff0000);
		expect_skipped(i);
	}
	/* Also of packets that are out no more. */
	begin_twins(1);
	ack(0);
	SACK(.cack = 0, .from = 0, .acked = 0, .ev = 0xb0000000, .mark = MRC_MARK_SKIP);
	expect_skipped(1);
	/* Half a value is none otherwise. */
	SACK(.cack = 0, .from = 0, .acked = 0, .ev = 0xa0000001, .mark = MRC_MARK_SKIP);
	SACK(.cack = 0, .from = 0, .acked = 0, .ev = 0x00001234, .mark = MRC_MARK_SKIP);
	expect_skipped(1);
}

/* Where a value comes back that is of no EV, as over a kernel whose source port was taken, the
 * packet tells, if it surely is the one. */
static void a_value_of_no_ev_is_that_of_its_packet(void **state)
{
	const uint32_t nobodys = 0xdead0001;

	(void)state;
	begin_twins(8);
	SACK(.cack = -1, .from = 3, .acked = 3, .ev = nobodys, .mark = MRC_MARK_SKIP);
	expect_skipped(ev_taken(3));
	begin_twins(8);
	nack_marked(3, MRC_NACK_TRIMMED, nobodys);
	expect_skipped(ev_taken(3));
	/* Of the packet acknowledged last only its stamp is sure to tell. */
	begin_twins(8);
	w.now += 50000;
	uint32_t ev = ev_taken(0);
	uint16_t stamp = stamp_of(0);

	SACK(.cack = 0, .from = 0, .acked = 0, .ev = nobodys, .stamp = stamp + 100u,
	     .mark = MRC_MARK_SKIP);
	EXPECT_EVS(.good = 4);
	begin_twins(8);
	w.now += 50000;
	SACK(.cack = 0, .from = 0, .acked = 0, .ev = nobodys, .stamp = stamp,
	     .mark = MRC_MARK_SKIP);
	expect_skipped(ev);
}

/* 8.5, MRC-9.3.1-X09: a trim NACK tells of its EV, whatever became of the packet. */
static void a_trim_of_what_arrived_skips_its_ev(void **state)
{
	(void)state;
	begin_twins(4);
	uint32_t ev = ev_taken(0);

	ack(0);
	nack_marked(0, MRC_NACK_TRIMMED, twins[ev].value);
	assert_int_equal(COUNT(rx_nack), 1);
	EXPECT_EVS(.good = 3, .skip = 1);
	assert_int_equal(twins[ev].value, twins[state_of(0) == PATH_SKIP ? 0 : 1].value);
	/* Here, ahead of a gap; and to be retransmitted. */
	begin_twins(4);
	SACK(.cack = -1, .from = 2, .acked = 2, .ooo = UINT16_MAX);
	nack(2, MRC_NACK_TRIMMED);
	expect_skipped(ev_taken(2));
	begin_twins(4);
	nack(2, MRC_NACK_NO_BITMAP);
	nack(2, MRC_NACK_TRIMMED);
	expect_skipped(ev_taken(2));
}

/* MRC-7.4.4-16: whatever it was refused for, a packet takes another EV when it is retransmitted,
 * also where many in a row take one. */
static void a_packet_is_retransmitted_by_another_ev(void **state)
{
	static const uint8_t reasons[] = {MRC_NACK_TRIMMED_LASTHOP, MRC_NACK_NO_BITMAP,
					  MRC_NACK_NO_PKT_BUFFER, MRC_NACK_NO_RESOURCE,
					  MRC_NACK_PSN_OOR_WINDOW};

	(void)state;
	for (uint32_t i = 0; i < 400; i++) {
		begin_evs(1);
		w.end[0].qp[0].attr.burst = i % 2 ? 15 : 1;
		connect();
		for (uint32_t k = 0; k < 16 + i / 20; k++)
			post_packets(1);
		gather();
		uint32_t n = i % 16, ev = ev_taken(n);

		nack(n, reasons[i % sizeof reasons]);
		if (w.now < q->req.pause_until)
			w.now = q->req.pause_until;
		assert_int_equal(gather(), 1);
		assert_int_not_equal(gone[0].ev_number, ev);
	}
	/* There is no other. */
	static struct evs set;

	begin_evs(1);
	evs_make(&set, twins, 1);
	w.end[0].qp[0].attr.evs = &set.profile;
	connect();
	post_packets(1);
	assert_int_equal(gather(), 1);
	nack(0, MRC_NACK_NO_RESOURCE);
	assert_int_equal(gather(), 1);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_mark_is_about_what_it_reflects),
	cmocka_unit_test(the_plane_of_a_retransmitted_packet_is_known),
	cmocka_unit_test(a_label_that_did_not_travel_is_no_difference),
	cmocka_unit_test(a_value_of_no_ev_is_that_of_its_packet),
	cmocka_unit_test(a_trim_of_what_arrived_skips_its_ev),
	cmocka_unit_test(a_packet_is_retransmitted_by_another_ev),
};

CHECK_MAIN(cases)
