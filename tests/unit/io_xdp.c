/* io/xdp.h: packets between two drivers over veth pairs, in network namespaces of this process.
 * Needs root: AF_XDP sockets and XDP programs. */
#include "xdp_pair.h"

#include "wire/net.h"

/* Sizes of payload whose frames end at each border of a chunk, sending (4096) and receiving
 * (3840), over IPv6 with PAIR_HEAD, and the ordinary ones. */
#define AROUND (14u + 40u + 8u + PAIR_HEAD + 4u)

static void carry_sizes(uint32_t pmtu, bool is_v4)
{
	const uint32_t sizes[] = {0,
				  1,
				  64,
				  256,
				  1024,
				  2048,
				  3839 - AROUND,
				  3840 - AROUND,
				  3841 - AROUND,
				  4095 - AROUND,
				  4096 - AROUND,
				  4097 - AROUND,
				  4100 - AROUND,
				  4096};

	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		if (sizes[i] > pmtu)
			continue;
		assert_int_equal(carry(0, 21, sizes[i], is_v4), 21);
		assert_int_equal(carry(1, 20, sizes[i], is_v4), 20);
	}
}

static void there_and_back(uint32_t ports, uint32_t mtu, uint32_t pmtu, bool is_v4)
{
	char text[128];

	open_pair(ports, mtu, is_v4);
	warm_up(0);
	warm_up(1);
	for (unsigned side = 0; side < 2; side++) {
		assert_int_equal(driver_pmtu(ends[side], locals[side], peers[side], pair_error,
					     sizeof pair_error),
				 pmtu);
		assert_int_equal(driver_ports_up(ends[side]), (1u << ports) - 1);
		assert_int_equal(driver_tag(ends[side]), 0);
		xdp_port_text(ends[side], ports - 1, text, sizeof text);
		assert_string_equal(text, "native, copied, two chunks, 1 queue");
	}
	carry_sizes(pmtu, is_v4);
	assert_int_equal(ends[0]->count.rx, ends[0]->count.rx_delivered);
	assert_int_equal(ends[1]->count.rx, ends[1]->count.rx_delivered);
	close_pair();
}

static void one_port_small(void **state)
{
	(void)state;
	need_privilege();
	there_and_back(1, 1500, 1024, true);
	there_and_back(1, 1500, 1024, false);
}

static void two_ports_of_two_chunks(void **state)
{
	(void)state;
	need_privilege();
	there_and_back(2, 4500, 4096, false);
	there_and_back(2, 4500, 4096, true);
}

static void four_ports_jumbo(void **state)
{
	(void)state;
	need_privilege();
	there_and_back(4, 9000, 4096, false);
}

static void generic_mode(void **state)
{
	struct xdp_cfg cfg = pair_cfg(1);
	char text[128];

	(void)state;
	need_privilege();
	cfg.is_generic = true;
	cfg.is_copied = true;
	lay_cables(1, 9000);
	open_end(0, &cfg, false);
	open_end(1, &cfg, false);
	xdp_port_text(ends[0], 0, text, sizeof text);
	assert_string_equal(text, "generic, copied, two chunks, 1 queue");
	warm_up(0);
	assert_int_equal(carry(0, 20, 4096, false), 20);
	assert_int_equal(carry(0, 20, 100, false), 20);
	close_pair();
}

/* Lists of one container and of two, and packets that no list was named for. */
static void segments(void **state)
{
	struct encap_segments one = {.n = 1}, two = {.n = 2};

	(void)state;
	need_privilege();
	open_pair(1, 9000, false);
	assert_true(veth_ip(&cables, 0, "route add fcbb::/32 via fd09:0::2 dev w0\n"));
	assert_int_equal(inet_pton(AF_INET6, "fcbb:0:1:2:3::", one.at[0]), 1);
	assert_int_equal(inet_pton(AF_INET6, "fcbb:0:4:5:6:7:8:9", two.at[0]), 1);
	assert_int_equal(inet_pton(AF_INET6, "fcbb:0:a:b::", two.at[1]), 1);
	for (uint32_t i = 1; i < 40; i++)
		assert_int_equal(driver_peer_segments(ends[0], peers[0], 0,
						      i * UINT32_C(0x9e3779b1),
						      i % 2 ? &one : &two),
				 0);
	warm_up(0);
	assert_int_equal(carry(0, 30, 1000, false), 30);
	assert_int_equal(carry(0, 30, 4096, false), 30);
	assert_int_equal(carry(0, 60, 4096, false), 60);
	close_pair();
}

/* What a switch has cut: another DSCP, a UDP length that is history, and no ICRC to look at. */
static void trimmed(void **state)
{
	struct xdp_cfg cfg = pair_cfg(1), cut = pair_cfg(1);
	struct rx_pkt in[DRIVER_BATCH];
	struct tx_pkt p;
	int64_t end;

	(void)state;
	need_privilege();
	lay_cables(1, 9000);
	for (unsigned i = 0; i < ENGINE_TCLASSES; i++)
		cut.frames.dscp[i] = 20;
	open_end(0, &cut, false);
	open_end(1, &cfg, false);
	warm_up(0);
	p = pair_packet(0, 7, 32);
	p.udp_len = 4000;
	assert_int_equal(driver_send(ends[0], &p, 1), 1);
	end = pair_ms() + PAIR_WAIT_MS;
	while (pair_receive(1, in, DRIVER_BATCH) == 0)
		assert_true(pair_ms() < end);
	assert_int_equal(in[0].trimmed, NET_TRIMMED);
	assert_int_equal(in[0].udp_len, 4000);
	assert_memory_equal(in[0].head.at, p.head, PAIR_HEAD);
	close_pair();
}

/* Many at once, in turns of both, with chunks used again and again; the room that is said is there.
 */
static void more_than_all_chunks(void **state)
{
	struct rx_pkt in[DRIVER_BATCH];
	uint16_t room[ENGINE_PORTS];
	uint32_t sent = 0, got = 0;
	int64_t end;

	(void)state;
	need_privilege();
	open_pair(2, 9000, false);
	warm_up(0);
	end = pair_ms() + PAIR_WAIT_MS;
	while (got < 3000 && pair_ms() < end) {
		struct tx_pkt out[DRIVER_BATCH];
		uint32_t n = 0, k;

		driver_room(ends[0], room);
		assert_int_equal(room[2], 0);
		assert_true(room[0] <= DRIVER_BATCH && room[1] <= DRIVER_BATCH);
		for (; n < 60 && sent + n < 3000 && n / 2 < room[0] && n / 2 < room[1]; n++)
			out[n] = pair_packet(0, sent + n, 4096);
		assert_int_equal(driver_send(ends[0], out, n), n);
		sent += n;
		while ((k = pair_receive(1, in, 1 + sent % DRIVER_BATCH)) > 0) {
			for (uint32_t i = 0; i < k; i++)
				assert_arrived(1, &in[i], 4096, false);
			got += k;
		}
	}
	assert_int_equal(got, 3000);
	assert_true(ends[0]->count.tx_calls < 400);
	close_pair();
}

/* A packet is the caller's until the next receive, however many come meanwhile. */
static void lent(void **state)
{
	struct rx_pkt first;
	struct tx_pkt p;
	int64_t end;

	(void)state;
	need_privilege();
	open_pair(1, 9000, false);
	warm_up(0);
	p = pair_packet(0, 5, 4096);
	assert_int_equal(driver_send(ends[0], &p, 1), 1);
	end = pair_ms() + PAIR_WAIT_MS;
	while (pair_receive(1, &first, 1) == 0)
		assert_true(pair_ms() < end);
	for (unsigned i = 0; i < 2 * PAIR_CHUNKS / 50; i++) {
		struct tx_pkt out[50];

		for (uint32_t k = 0; k < 50; k++)
			out[k] = pair_packet(0, k + 6, 4096);
		assert_int_equal(driver_send(ends[0], out, 50), 50);
		usleep(500);
	}
	assert_arrived(1, &first, 4096, false);
	close_pair();
}

/* Who sleeps wakes for a packet. */
static void wakes(void **state)
{
	(void)state;
	need_privilege();
	open_pair(2, 1500, true);
	warm_up(0);
	warm_up(1);
	assert_true(is_woken(0));
	assert_true(is_woken(1));
	close_pair();
}

/* A receiver that finds frames at each look has nobody woken; it is woken again once it found none.
 */
static void busy_and_then_asleep(void **state)
{
	enum { LOOKS = 200 };
	struct xdp_driver *x;
	struct rx_pkt in[DRIVER_BATCH];

	(void)state;
	need_privilege();
	open_pair(1, 9000, false);
	warm_up(0);
	x = xdp_of(ends[1]);
	for (unsigned turn = 0; turn < 2; turn++) {
		int64_t end = pair_ms() + PAIR_WAIT_MS;
		uint32_t looks = 0;

		for (uint32_t i = 0; looks < LOOKS; i++) {
			struct tx_pkt p = pair_packet(0, i, 1000);

			assert_true(pair_ms() < end);
			assert_int_equal(driver_send(ends[0], &p, 1), 1);
			looks = pair_receive(1, in, 1) ? looks + 1 : 0;
		}
		assert_false(x->ports[0].queues[0].is_watched);
		while (pair_receive(1, in, DRIVER_BATCH) > 0)
			assert_true(pair_ms() < end);
		assert_true(x->ports[0].queues[0].is_watched);
		assert_true(is_woken(1));
	}
	close_pair();
}

/* A sender by each of four queues: a receiver has all. */
static void four_queues(void **state)
{
	struct xdp_cfg cfg = pair_cfg(1);
	char text[128];

	(void)state;
	need_privilege();
	assert_true(veth_ip(&cables, 0,
			    "link add w0 mtu 9000 numtxqueues 4 numrxqueues 4 type veth peer name "
			    "w0 mtu 9000 numtxqueues 4 numrxqueues 4 netns /proc/%d/fd/%d\n",
			    (int)getpid(), cables.ns[1]));
	assert_true(veth_set_up(&cables, 0, 0) && veth_set_up(&cables, 1, 0));
	open_end(1, &cfg, false);
	xdp_port_text(ends[1], 0, text, sizeof text);
	assert_string_equal(text, "native, copied, two chunks, 4 queues");
	for (cfg.queue = 0; cfg.queue < 4; cfg.queue++) {
		const struct xdp_driver *x = xdp_of(ends[1]);
		uint32_t before = *x->ports[0].queues[cfg.queue].rx.producer;

		open_end(0, &cfg, false);
		warm_up(0);
		assert_int_equal(carry(0, 40, 4096, false), 40);
		assert_true(*x->ports[0].queues[cfg.queue].rx.producer - before >= 80);
		close_end(0);
	}
	n_ports = 1;
	close_pair();
}

/* Frames that nobody takes are counted by the kernel, and those that were taken are whole. */
static void slow_receiver(void **state)
{
	struct rx_pkt in[DRIVER_BATCH];
	uint64_t got = 0, missed;
	int64_t end;

	(void)state;
	need_privilege();
	open_pair(1, 9000, false);
	warm_up(0);
	got = ends[1]->count.rx_delivered;
	for (unsigned i = 0; i < 10; i++) {
		struct tx_pkt out[50];

		for (uint32_t k = 0; k < 50; k++)
			out[k] = pair_packet(0, k, 4096);
		assert_int_equal(driver_send(ends[0], out, 50), 50);
		usleep(1000);
	}
	end = pair_ms() + PAIR_WAIT_MS;
	do {
		uint32_t k = pair_receive(1, in, DRIVER_BATCH);

		for (uint32_t i = 0; i < k; i++)
			assert_arrived(1, &in[i], 4096, false);
		missed = ends[1]->count.rx_missed;
	} while (ends[1]->count.rx_delivered - got + missed < 500 && pair_ms() < end);
	assert_int_equal(ends[1]->count.rx_delivered - got + missed, 500);
	assert_true(missed >= 500 - PAIR_CHUNKS / 2);
	close_pair();
}

static const struct CMUnitTest cases[] = {
	XDP_PAIR_CASE(one_port_small),
	XDP_PAIR_CASE(two_ports_of_two_chunks),
	XDP_PAIR_CASE(four_ports_jumbo),
	XDP_PAIR_CASE(generic_mode),
	XDP_PAIR_CASE(segments),
	XDP_PAIR_CASE(trimmed),
	XDP_PAIR_CASE(more_than_all_chunks),
	XDP_PAIR_CASE(lent),
	XDP_PAIR_CASE(wakes),
	XDP_PAIR_CASE(busy_and_then_asleep),
	XDP_PAIR_CASE(four_queues),
	XDP_PAIR_CASE(slow_receiver),
};
XDP_PAIR_MAIN(cases)
