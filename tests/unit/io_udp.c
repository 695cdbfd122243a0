/* io/udp.h on the loopback interface, without privilege: what is sent arrives, whole and in order;
 * peers come and go; and there are sentences for what cannot be had. The kernel is real, except
 * where a case scripts what sendmmsg(2) answers. */
#include "isolate.h"

#include "check.h"
#include "udp_pair.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

struct answer {
	int most; /* messages taken at most; 0: error */
	int error;
};

static const struct answer *script;
static unsigned script_len, send_calls;
static uint16_t sent_segments[1024]; /* segment size of each message sent, 0: no offload */
static unsigned n_sent_segments;

static void note_segment(struct msghdr *m)
{
	uint16_t segment = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_SEGMENT_OPTION)
			memcpy(&segment, CMSG_DATA(c), sizeof segment);
	if (n_sent_segments < 1024)
		sent_segments[n_sent_segments++] = segment;
}

/* Stands before libc's in the link, so the code under test calls this one. */
int sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	unsigned call = send_calls++;
	long got;

	if (call < script_len && script[call].error) {
		errno = script[call].error;
		return -1;
	}
	if (call < script_len && (unsigned)script[call].most < n)
		n = (unsigned)script[call].most;
	got = syscall(SYS_sendmmsg, fd, msgs, n, flags);
	for (long i = 0; i < got; i++)
		note_segment(&msgs[i].msg_hdr);
	return (int)got;
}

/* One message alone may go this way. */
ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct mmsghdr one = {.msg_hdr = *msg};

	return sendmmsg(fd, &one, 1, flags) == 1 ? (ssize_t)one.msg_len : -1;
}

static void play(const struct answer *answers, unsigned n)
{
	script = answers;
	script_len = n;
	send_calls = n_sent_segments = 0;
}

/* The offload on both sides, on one, on none: senders and receivers of all kinds must agree. */
static void each_kind(void (*run)(bool is_v6))
{
	for (unsigned i = 0; i < 8; i++) {
		struct udp_cfg cfg_a = {.is_offload_off = i & 1}, cfg_b = {.is_offload_off = i & 2};

		if (i >= 4 && !has_ipv6())
			continue;
		open_pair(&cfg_a, &cfg_b, i >= 4);
		run(i >= 4);
		assert_int_equal(b->count.drop_icrc, 0);
		assert_int_equal(a->count.tx_failed, 0);
		close_pair();
	}
}

static void run_sizes(bool is_v6)
{
	uint32_t step = is_v6 ? 3 : 1, at = 0, n = 0;

	for (; at <= 4200; at += step) {
		out[n] = packet(n, at);
		if (++n < DRIVER_BATCH)
			continue;
		cross(n);
		/* Falling sizes: each ends the group before it. */
		for (uint32_t i = 0; i < n; i++)
			out[i] = packet(i, at - i * step);
		cross(n);
		n = 0;
	}
	cross(n);
}

static void every_size_arrives(void **state)
{
	(void)state;
	fill_data();
	each_kind(run_sizes);
}

static void run_bursts(bool is_v6)
{
	(void)is_v6;
	for (unsigned turn = 0; turn < 3; turn++) {
		static const uint32_t lens[] = {4096, 1024, 52};

		for (uint32_t sent = 0; sent < 192; sent += DRIVER_BATCH) {
			for (uint32_t i = 0; i < DRIVER_BATCH; i++)
				out[i] = packet(sent + i, lens[turn]);
			send_all(a, out, DRIVER_BATCH);
		}
		assert_int_equal(receive(b, NULL, 192, 7, WAIT_MS), 192);
		for (uint32_t i = 0; i < 192; i++) {
			struct tx_pkt p = packet(i, lens[turn]);

			assert_arrived(&in[i], &p);
		}
	}
}

static void bursts_arrive_in_order(void **state)
{
	(void)state;
	fill_data();
	each_kind(run_bursts);
}

static struct prng rng;

static void random_pieces(struct tx_pkt *p)
{
	uint32_t left = (uint32_t)prng_below(&rng, 4096);

	p->head_len = (uint16_t)(BTH + prng_below(&rng, ENGINE_HEAD_MAX - BTH + 1));
	for (unsigned i = BTH; i < p->head_len; i++)
		p->head[i] = (uint8_t)prng_below(&rng, 256);
	p->n_body = (uint8_t)prng_below(&rng, ENGINE_PIECES + 1);
	for (unsigned i = 0; i < p->n_body; i++) {
		uint32_t len = (uint32_t)prng_below(&rng, prng_below(&rng, 2) ? left + 1 : 20);

		len = len < left ? len : left;
		left -= len;
		p->body[i] = (struct cspan){data + prng_below(&rng, 4096), len};
		if (prng_below(&rng, 4) == 0)
			p->body[i].at = NULL;
	}
}

static void run_pieces(bool is_v6)
{
	(void)is_v6;
	for (unsigned turn = 0; turn < 12; turn++) {
		uint32_t n = 1 + (uint32_t)prng_below(&rng, DRIVER_BATCH);

		for (uint32_t i = 0; i < n; i++) {
			out[i] = packet(i, 0);
			/* Runs of one shape make groups, also of many pieces. */
			if (i > 0 && prng_below(&rng, 4)) {
				memcpy(heads[i], heads[i - 1], ENGINE_HEAD_MAX);
				out[i] = out[i - 1];
				out[i].head = heads[i];
				put_be32(heads[i] + 8, i);
			} else {
				random_pieces(&out[i]);
			}
		}
		cross(n);
	}
}

static void pieces_and_virtual_bytes_are_gathered(void **state)
{
	(void)state;
	prng_init(&rng, check_seed(11), 0);
	fill_data();
	each_kind(run_pieces);
}

/* 64 packets of 17 pieces would be more than a call may gather. */
static void a_gather_list_has_its_limit(void **state)
{
	struct udp_cfg cfg = {0};

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	for (uint32_t i = 0; i < DRIVER_BATCH; i++) {
		out[i] = packet(i, 0);
		out[i].n_body = ENGINE_PIECES;
		for (unsigned k = 0; k < ENGINE_PIECES; k++)
			out[i].body[k] = (struct cspan){data + 100 * k + i, 17};
	}
	cross(DRIVER_BATCH);
	assert_int_equal(a->count.tx_failed, 0);
	close_pair();
}

static bool kernel_has_offload(void)
{
	int value, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof value;
	bool has = getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT_OPTION, &value, &len) == 0;

	close(fd);
	return has;
}

/* Which packets share a message: one size, the last perhaps shorter; one peer and class; 64 at
 * most. */
static void groups_are_as_large_as_the_kernel_allows(void **state)
{
	struct udp_cfg cfg = {.dscp = {0, 0, 0, 48}};

	(void)state;
	if (!kernel_has_offload())
		skip();
	fill_data();
	open_pair(&cfg, &cfg, false);
	play(NULL, 0);
	/* A longer one and a shorter, which ends it; 15 of one size, all that 65,507 bytes hold;
	 * one more and a shorter; the last by itself. */
	for (uint32_t i = 0; i < 20; i++)
		out[i] = packet(i, 4096);
	out[0] = packet(0, 4112);
	out[18] = packet(18, 100);
	cross(20);
	assert_int_equal(n_sent_segments, 4);
	assert_int_equal(sent_segments[0], BTH + 4112 + 4);
	assert_int_equal(sent_segments[1], BTH + 4096 + 4);
	assert_int_equal(sent_segments[2], BTH + 4096 + 4);
	assert_int_equal(sent_segments[3], 0);
	assert_int_equal(a->count.tx_calls, 1);
	/* Another class, another mark: a message of their own. */
	play(NULL, 0);
	for (uint32_t i = 0; i < DRIVER_BATCH; i++) {
		out[i] = packet(i, 64);
		out[i].tclass = i >= 20 ? ENGINE_CONTROL : ENGINE_DATA;
		out[i].not_ect = i >= 40;
	}
	cross(DRIVER_BATCH);
	assert_int_equal(n_sent_segments, 3);
	assert_int_equal(send_calls, 1);
	/* So do packets to several processes of the peer. */
	play(NULL, 0);
	for (uint32_t i = 0; i < 20; i++) {
		out[i] = packet(i, 64);
		out[i].head[5] = i >= 10 ? 99 : driver_tag(b);
	}
	send_all(a, out, 20);
	assert_int_equal(n_sent_segments, 2);
	close_pair();
}

/* The same bytes to two addresses by turns: every ICRC covers where it goes. */
static void peers_take_turns(void **state)
{
	struct udp_cfg cfg = {0};
	uint32_t other_peer, other_local;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	other_local = open_at(b, "127.0.0.4");
	other_peer = peer_of(a, "127.0.0.4");
	for (uint32_t i = 0; i < 40; i++) {
		out[i] = packet(i, 300);
		if (i / 3 % 2)
			out[i].peer = other_peer;
	}
	send_all(a, out, 40);
	assert_int_equal(receive(b, NULL, 40, 5, WAIT_MS), 40);
	for (uint32_t i = 0; i < 40; i++) {
		uint32_t number = get_be32(in[i].bytes + 8);

		assert_int_equal(in[i].pkt.local, number / 3 % 2 ? other_local : b_local);
		assert_memory_equal(in[i].bytes + BTH, out[number].body[0].at, 300);
	}
	assert_int_equal(b->count.drop_icrc, 0);
	close_pair();
}

static void a_rest_is_kept_without_a_call(void **state)
{
	struct udp_cfg cfg = {0};
	uint64_t calls;

	(void)state;
	if (!kernel_has_offload())
		skip();
	fill_data();
	open_pair(&cfg, &cfg, false);
	for (uint32_t i = 0; i < 40; i++)
		out[i] = packet(i, 512);
	play(NULL, 0);
	send_all(a, out, 40);
	assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
	calls = b->count.rx_calls;
	if (calls == 1 && n_sent_segments == 1) {
		assert_int_equal(receive(b, NULL, 39, 13, WAIT_MS), 39);
		assert_int_equal(b->count.rx_calls, calls);
		for (uint32_t i = 0; i < 39; i++)
			assert_arrived(&in[i], &out[i + 1]);
	}
	close_pair();
}

/* What waits for an address that is closed is gone with it. */
static void a_closed_address_keeps_nothing(void **state)
{
	struct udp_cfg cfg = {0};
	uint32_t again;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	for (uint32_t i = 0; i < 40; i++)
		out[i] = packet(i, 512);
	send_all(a, out, 40);
	assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
	again = open_at(b, "127.0.0.3");
	assert_int_equal(again, b_local);
	driver_unbind(b, again);
	assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1); /* it was open twice */
	driver_unbind(b, b_local);
	again = open_at(b, "127.0.0.4");
	assert_int_equal(receive(b, NULL, 1, 1, QUIET_MS), 0);
	assert_int_equal(b->count.rx, 2);
	close_pair();
}

static void classes_marks_and_hops_are_carried(void **state)
{
	struct udp_cfg cfg = {.dscp = {10, 11, 12, 48}, .hop_limit = 17};

	(void)state;
	fill_data();
	for (unsigned is_v6 = 0; is_v6 <= (has_ipv6() ? 1u : 0u); is_v6++) {
		open_pair(&cfg, &cfg, is_v6);
		for (uint32_t i = 0; i < 8; i++) {
			out[i] = packet(i, 64);
			out[i].tclass = (uint8_t)(i / 2);
			out[i].not_ect = i & 1;
			out[i].ev = 0x00051234;
		}
		cross(8);
		for (uint32_t i = 0; i < 8; i++) {
			assert_int_equal(in[i].pkt.dscp, engine_dscp((uint8_t)(i / 2), cfg.dscp));
			assert_int_equal(in[i].pkt.ecn, i & 1 ? 0 : 2);
			assert_int_equal(in[i].pkt.ttl, 17);
			assert_true(in[i].pkt.ev >> 16 >= 49152);
			assert_int_equal(in[i].pkt.ev >> 16, in[0].pkt.ev >> 16);
			/* IPv4 has no flow label (MRC-7.5.2.1-02). */
			assert_int_equal(in[i].pkt.ev & 0xffff, is_v6 ? 0x1234 : 0);
		}
		close_pair();
	}
}

static void entropy_chooses_the_source_port(void **state)
{
	struct udp_cfg cfg = {.sources = 4}, one = {.sources = 1};
	uint16_t ports[64] = {0};
	unsigned n_ports = 0;

	(void)state;
	fill_data();
	open_pair(&cfg, &one, false);
	for (uint32_t i = 0; i < 64; i++) {
		out[i] = packet(i, 64);
		out[i].ev = i << 16;
	}
	cross(64);
	for (uint32_t i = 0; i < 64; i++) {
		unsigned k = 0;

		while (k < n_ports && ports[k] != in[i].pkt.ev >> 16)
			k++;
		if (k == n_ports)
			ports[n_ports++] = (uint16_t)(in[i].pkt.ev >> 16);
	}
	assert_int_equal(n_ports, 4);
	/* The other way: one source is the port itself. */
	out[0] = packet(0, 64);
	out[0].head[5] = driver_tag(a);
	out[0].peer = a_of_b;
	out[0].local = b_local;
	send_all(b, out, 1);
	assert_int_equal(receive(a, NULL, 1, 1, WAIT_MS), 1);
	assert_int_equal(in[0].pkt.ev >> 16, port);
	assert_int_equal(in[0].pkt.peer, b_of_a);
	close_pair();
}

static void what_the_kernel_does_not_take_is_left(void **state)
{
	static const struct answer answers[] = {{1, 0}, {0, EAGAIN}, {1, 0}, {0, EAGAIN}, {9, 0}};
	struct udp_cfg cfg = {0};
	uint32_t done;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	/* Rising sizes: each a message of its own. */
	for (uint32_t i = 0; i < 5; i++)
		out[i] = packet(i, 100 + i);
	play(answers, 5);
	done = driver_send(a, out, 5);
	assert_int_equal(done, 1);
	assert_int_equal(driver_send(a, out + done, 5 - done), 1);
	assert_int_equal(driver_send(a, out + 2, 3), 3);
	assert_int_equal(a->count.tx, 5);
	assert_int_equal(a->count.tx_failed, 0);
	assert_int_equal(receive(b, NULL, 5, DRIVER_BATCH, WAIT_MS), 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_arrived(&in[i], &out[i]);
	close_pair();
}

static void what_the_kernel_refuses_is_counted_and_gone(void **state)
{
	static const int errors[] = {EMSGSIZE, ECONNREFUSED, EPERM, EHOSTUNREACH, EINVAL, ENOBUFS};
	struct udp_cfg cfg = {0};

	(void)state;
	fill_data();
	for (unsigned e = 0; e < sizeof errors / sizeof errors[0]; e++) {
		const struct answer answers[] = {{1, 0}, {0, errors[e]}};

		open_pair(&cfg, &cfg, false);
		for (uint32_t i = 0; i < 5; i++)
			out[i] = packet(i, 100 + i);
		play(answers, 2);
		assert_int_equal(driver_send(a, out, 5), 5);
		assert_int_equal(a->count.tx, 4);
		assert_int_equal(a->count.tx_failed, 1);
		assert_int_equal(receive(b, NULL, 4, DRIVER_BATCH, WAIT_MS), 4);
		assert_arrived(&in[0], &out[0]);
		assert_arrived(&in[1], &out[2]);
		close_pair();
	}
}

/* An interface without checksums answers EIO to offload: the same packets, one by one, must be
 * right too, although over IPv4 each ICRC is another one then. */
static void offload_that_fails_is_done_without(void **state)
{
	static const struct answer answers[] = {{0, EIO}};
	struct udp_cfg cfg = {0};

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	for (unsigned turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; i < 20; i++)
			out[i] = packet(i, 512);
		play(answers, turn == 0);
		cross(20);
		assert_int_equal(n_sent_segments, 20);
		assert_int_equal(sent_segments[19], 0);
	}
	assert_int_equal(a->count.tx_failed, 0);
	close_pair();
}

/* Somebody holds a flow label exclusively: the kernel's own label does then. */
static void a_flow_label_that_is_refused_is_done_without(void **state)
{
	static const struct answer answers[] = {{0, EINVAL}};
	struct udp_cfg cfg = {0};

	(void)state;
	if (!has_ipv6())
		skip();
	fill_data();
	open_pair(&cfg, &cfg, true);
	for (uint32_t i = 0; i < 20; i++) {
		out[i] = packet(i, 512);
		out[i].ev = 0x77;
	}
	play(answers, 1);
	cross(20);
	assert_int_equal(a->count.tx_failed, 0);
	close_pair();
}

/* A packet longer than UDP's longest, or between ends of different kinds: refused here. */
static void what_cannot_be_sent_is_counted(void **state)
{
	struct udp_cfg cfg = {0};

	(void)state;
	if (!has_ipv6())
		skip();
	fill_data();
	open_pair(&cfg, &cfg, false);
	for (uint32_t i = 0; i < 4; i++)
		out[i] = packet(i, 64);
	out[1].body[0] = (struct cspan){NULL, 65507 - BTH - 3};
	out[2].peer = peer_of(a, "::1");
	send_all(a, out, 4);
	assert_int_equal(a->count.tx_failed, 2);
	assert_int_equal(receive(b, NULL, 2, DRIVER_BATCH, WAIT_MS), 2);
	assert_arrived(&in[0], &out[0]);
	assert_arrived(&in[1], &out[3]);
	close_pair();
}

/* An answer may outlast a peer that only its question named, and an address that is closed. */
static void who_is_gone_is_passed_over(void **state)
{
	struct udp_cfg cfg = {0};
	uint32_t peer, local;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	peer = peer_of(a, "127.0.0.9");
	local = open_at(a, "127.0.0.8");
	driver_peer_put(a, peer);
	driver_unbind(a, local);
	for (uint32_t i = 0; i < 7; i++)
		out[i] = packet(i, 64);
	out[1].peer = out[5].peer = peer;
	out[3].local = out[5].local = local;
	send_all(a, out, 7);
	assert_int_equal(a->count.tx_failed, 3);
	assert_int_equal(receive(b, NULL, 4, DRIVER_BATCH, WAIT_MS), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_arrived(&in[i], &out[i < 3 ? 2 * i : 6]);
	close_pair();
}

/* ---- peers ----------------------------------------------------------------------------------- */

static void peers_are_counted(void **state)
{
	struct udp_cfg cfg = {.max_peers = 8};
	uint32_t first, again, many[8];

	(void)state;
	open_pair(&cfg, &cfg, false);
	first = peer_of(a, "127.1.0.1");
	again = peer_of(a, "127.1.0.1");
	assert_int_equal(first, again);
	for (unsigned i = 0; i < 6; i++) {
		char text[32];

		snprintf(text, sizeof text, "127.1.1.%u", i);
		many[i] = peer_of(a, text);
		assert_true(many[i] != DRIVER_NO_HANDLE && many[i] != first && many[i] != b_of_a);
	}
	assert_int_equal(peer_of(a, "127.1.2.1"), DRIVER_NO_HANDLE);
	driver_peer_put(a, first);
	assert_int_equal(peer_of(a, "127.1.2.1"), DRIVER_NO_HANDLE);
	assert_int_equal(peer_of(a, "127.1.1.3"), many[3]);
	driver_peer_put(a, first);
	assert_int_equal(peer_of(a, "127.1.2.1"), first);
	close_pair();
}

/* Packets from strangers: a handle for one receive, or kept if somebody takes it. */
static void a_stranger_has_a_handle_for_one_receive(void **state)
{
	struct udp_cfg cfg = {0}, two = {.max_peers = 2};
	uint32_t stranger;

	(void)state;
	fill_data();
	open_pair(&cfg, &two, false);
	open_at(a, "127.0.0.5");
	out[0] = packet(0, 10);
	out[1] = packet(1, 10);
	out[2] = packet(2, 10);
	out[0].local = open_at(a, "127.0.0.6");
	out[2].local = open_at(a, "127.0.0.7");
	send_all(a, out, 1);
	assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
	stranger = in[0].pkt.peer;
	assert_true(stranger != a_of_b);
	/* Taken while it is lent, it stays, and there is no room for the next one. */
	assert_int_equal(peer_of(b, "127.0.0.6"), stranger);
	send_all(a, out, 3);
	assert_int_equal(receive(b, NULL, 3, 3, QUIET_MS), 2);
	assert_int_equal(in[0].pkt.peer, stranger);
	assert_int_equal(in[1].pkt.peer, a_of_b);
	assert_int_equal(b->count.drop_peers, 1);
	/* Held once more it needs to be put twice. */
	driver_peer_hold(b, stranger);
	driver_peer_put(b, stranger);
	send_all(a, out, 3);
	assert_int_equal(receive(b, NULL, 3, 3, QUIET_MS), 2);
	assert_int_equal(in[0].pkt.peer, stranger);
	assert_int_equal(b->count.drop_peers, 2);
	/* Put, it is gone with the next receive, and another may come. */
	driver_peer_put(b, stranger);
	for (uint32_t i = 0; i < 2; i++) {
		out[i] = packet(i, 10);
		out[i].local = out[2].local;
	}
	send_all(a, out, 2);
	assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
	assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
	assert_true(in[0].pkt.peer != peer_of(b, "127.1.0.1"));
	assert_true(in[0].pkt.peer != a_of_b);
	close_pair();
	open_pair(&cfg, &two, false);
	out[2] = packet(2, 10);
	out[2].local = open_at(a, "127.0.0.7");
	send_all(a, out + 2, 1);
	assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
	assert_true(in[0].pkt.peer != a_of_b);
	/* One that is put while lent is still nobody else's. */
	out[0] = packet(0, 10);
	send_all(a, out, 1);
	assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
	assert_int_equal(in[0].pkt.peer, a_of_b);
	driver_peer_put(b, a_of_b);
	assert_true(peer_of(b, "127.1.0.2") != a_of_b);
	close_pair();
}

static uint32_t n_asked;

/* context: the handle of the peer of queue pair 7. */
static bool expects_seven(const void *context, const struct driver_call *call)
{
	const uint32_t *peer = context;

	n_asked++;
	return (call->qp & 0xffff) == 7 && call->peer == *peer;
}

/* Who is not expected leaves no trace: no handle either, where there is room for one only. */
static void a_guard_keeps_strangers_out(void **state)
{
	struct udp_cfg cfg = {0}, one = {.max_peers = 1};
	uint32_t stranger;

	(void)state;
	fill_data();
	open_pair(&cfg, &one, false);
	b->guard = (struct driver_guard){expects_seven, &a_of_b};
	stranger = open_at(a, "127.0.0.6");
	for (uint32_t i = 0; i < 30; i++) {
		out[i] = packet(i, 10);
		out[i].head[7] = i % 3 == 0 ? 6 : 7;
		if (i % 3 == 1)
			out[i].local = stranger;
	}
	send_all(a, out, 30);
	assert_int_equal(receive(b, NULL, 10, 30, QUIET_MS), 10);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(get_be32(in[i].bytes + 8) % 3, 2);
	assert_int_equal(b->count.drop_stranger, 20);
	assert_int_equal(b->count.drop_peers, 0);
	/* A burst of one queue pair is asked about once. */
	for (uint32_t i = 0; i < 20; i++) {
		out[i] = packet(i, 10);
		out[i].head[7] = 7;
	}
	n_asked = 0;
	send_all(a, out, 20);
	assert_int_equal(receive(b, NULL, 20, 20, WAIT_MS), 20);
	if (kernel_has_offload())
		assert_true(n_asked < 20);
	close_pair();
}

/* What finds a socket's buffer full is gone; the kernel says how many with the next that is not. */
static void what_the_kernel_drops_is_counted(void **state)
{
	struct udp_cfg cfg = {.is_offload_off = true};
	struct udp_cfg tight = {.is_offload_off = true, .buffer_bytes = 16384};
	uint32_t sent = 0, got;

	(void)state;
	fill_data();
	open_pair(&cfg, &tight, false);
	for (; sent < 8 * DRIVER_BATCH; sent++) {
		out[0] = packet(sent, 1000);
		send_all(a, out, 1);
	}
	got = receive(b, NULL, sent, DRIVER_BATCH, QUIET_MS);
	assert_true(got > 0 && got < sent);
	out[0] = packet(sent, 1000);
	send_all(a, out, 1);
	assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
	assert_int_equal(b->count.rx_missed, sent - got);
	/* They are not counted again. */
	send_all(a, out, 1);
	assert_int_equal(receive(b, NULL, 1, 1, WAIT_MS), 1);
	assert_int_equal(b->count.rx_missed, sent - got);
	close_pair();
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* Source ports leave the program descriptors, and packets go by those that there are. */
static void descriptors_are_spared(void **state)
{
	struct udp_cfg cfg = {.sources = 64, .has_ports_of_ev = true};
	int fds[UDP_SPARE_FDS], lowest;
	struct rlimit limit, few;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	lowest = dup(STDIN_FILENO);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){(rlim_t)lowest + 24, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (uint32_t i = 0; i < 60; i++) {
		out[i] = packet(i, 100);
		out[i].ev = (50000 + i) << 16;
	}
	send_all(a, out, 60);
	assert_int_equal(receive(b, NULL, 60, DRIVER_BATCH, WAIT_MS), 60);
	for (uint32_t i = 0; i < UDP_SPARE_FDS; i++) {
		fds[i] = dup(STDIN_FILENO);
		assert_true(fds[i] >= 0);
	}
	/* With no room at all nothing new is opened, and nothing lost. */
	send_all(a, out, 60);
	assert_int_equal(receive(b, NULL, 60, DRIVER_BATCH, WAIT_MS), 60);
	for (uint32_t i = 0; i < UDP_SPARE_FDS; i++)
		close(fds[i]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	/* When there are more, they are used after a while. */
	for (uint32_t i = 0; i < 200; i++) {
		send_all(a, out, 60);
		assert_int_equal(receive(b, NULL, 60, DRIVER_BATCH, WAIT_MS), 60);
	}
	int next = dup(STDIN_FILENO);

	close(next);
	assert_true(next > lowest + 30);
	close_pair();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(descriptors_are_spared),
	cmocka_unit_test(every_size_arrives),
	cmocka_unit_test(bursts_arrive_in_order),
	cmocka_unit_test(pieces_and_virtual_bytes_are_gathered),
	cmocka_unit_test(a_gather_list_has_its_limit),
	cmocka_unit_test(groups_are_as_large_as_the_kernel_allows),
	cmocka_unit_test(peers_take_turns),
	cmocka_unit_test(a_rest_is_kept_without_a_call),
	cmocka_unit_test(a_closed_address_keeps_nothing),
	cmocka_unit_test(classes_marks_and_hops_are_carried),
	cmocka_unit_test(entropy_chooses_the_source_port),
	cmocka_unit_test(what_the_kernel_does_not_take_is_left),
	cmocka_unit_test(what_the_kernel_refuses_is_counted_and_gone),
	cmocka_unit_test(offload_that_fails_is_done_without),
	cmocka_unit_test(a_flow_label_that_is_refused_is_done_without),
	cmocka_unit_test(what_cannot_be_sent_is_counted),
	cmocka_unit_test(who_is_gone_is_passed_over),
	cmocka_unit_test(peers_are_counted),
	cmocka_unit_test(a_stranger_has_a_handle_for_one_receive),
	cmocka_unit_test(a_guard_keeps_strangers_out),
	cmocka_unit_test(what_the_kernel_drops_is_counted),
};

ISOLATED_MAIN(cases)
