/* MRC on the soft device, over kernel UDP on loopback: writes, immediate data, what happens to bad
 * requests and to a peer that is gone, many queue pairs, and the EVs that packets take. */
#include "nic_mrc_stage.h"

#include <arpa/inet.h>
#include <poll.h>

#include "io/udp.h"
#include "nic/inside.h"

#define MANY  64u
#define PAIRS 1024u

static void writes_arrive(int family)
{
	struct side s[SIDES];
	struct done done;

	pair_open(s, family);
	stage_fill(s[0].bytes, STAGE_BYTES, 7);
	for (uint32_t len = 0; len <= STAGE_BYTES; len = len * 4 + 1) {
		struct sge piece = piece_of(&s[0], STAGE_BYTES - len, len);

		assert_int_equal(stage_post(s[0].qp, write_op(&s[1], &piece, len)), 0);
		stage_take(s[0].cq, &done, 1);
		assert_int_equal(done.status, ENGINE_OK);
		assert_int_equal(done.cookie, len);
		assert_memory_equal(s[1].bytes, s[0].bytes + STAGE_BYTES - len, len);
	}
	pair_close(s);
}

static void writes_arrive_over_ipv4(void **state)
{
	(void)state;
	writes_arrive(AF_INET);
}

static void writes_arrive_over_ipv6(void **state)
{
	(void)state;
	writes_arrive(AF_INET6);
}

/* 1 MiB, all of it, posted as one work and as many. */
static void a_megabyte_is_the_same(void **state)
{
	struct side s[SIDES];
	struct done done[64];
	struct mrc_counters count;

	(void)state;
	pair_open(s, AF_INET);
	for (uint32_t round = 0; round < 4; round++) {
		struct sge whole = piece_of(&s[0], 0, STAGE_BYTES);

		stage_fill(s[0].bytes, STAGE_BYTES, round);
		assert_int_equal(stage_post(s[0].qp, write_op(&s[1], &whole, 0)), 0);
		stage_take(s[0].cq, done, 1);
		assert_int_equal(done[0].status, ENGINE_OK);
		assert_memory_equal(s[0].bytes, s[1].bytes, STAGE_BYTES);
	}
	stage_fill(s[0].bytes, STAGE_BYTES, 99);
	for (uint32_t i = 0; i < 64; i++) {
		struct sge piece = piece_of(&s[0], i * (STAGE_BYTES / 64), STAGE_BYTES / 64);
		struct op op = write_op(&s[1], &piece, i);

		op.remote += i * (STAGE_BYTES / 64);
		assert_int_equal(stage_post(s[0].qp, op), 0);
	}
	stage_take(s[0].cq, done, 64);
	for (uint32_t i = 0; i < 64; i++) {
		assert_int_equal(done[i].status, ENGINE_OK);
		assert_int_equal(done[i].cookie, i);
	}
	assert_memory_equal(s[0].bytes, s[1].bytes, STAGE_BYTES);
	nic_counters(s[0].user, &count, sizeof count, NULL);
	assert_true(count.rx_bytes >= 5ull * STAGE_BYTES);
	assert_int_equal(count.failed, 0);
	pair_close(s);
}

static void immediate_data_takes_a_receive(void **state)
{
	struct side s[SIDES];
	struct done done[32];

	(void)state;
	pair_open(s, AF_INET6);
	stage_fill(s[0].bytes, STAGE_BYTES, 5);
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(
			stage_post(s[1].qp, (struct op){.code = ENGINE_RECV, .cookie = 100 + i}),
			0);
	for (uint32_t i = 0; i < 16; i++) {
		struct sge piece = piece_of(&s[0], 0, i * 999);
		struct op op = write_op(&s[1], &piece, i);

		op.code = ENGINE_WRITE_IMM;
		op.imm = 0xabc00000u + i;
		assert_int_equal(stage_post(s[0].qp, op), 0);
	}
	stage_take(s[1].cq, done, 16);
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(done[i].status, ENGINE_OK);
		assert_int_equal(done[i].code, ENGINE_DONE_RECEIVED);
		assert_int_equal(done[i].cookie, 100 + i);
		assert_int_equal(done[i].imm, 0xabc00000u + i);
		assert_int_equal(done[i].len, i * 999);
		assert_int_equal(done[i].source, nic_qp_number(s[0].qp));
	}
	stage_take(s[0].cq, done, 16);
	assert_memory_equal(s[0].bytes, s[1].bytes, 15 * 999);
	pair_close(s);
}

static void inline_bytes_are_copied(void **state)
{
	struct side s[SIDES];
	struct done done;
	uint8_t own[100];

	(void)state;
	pair_open(s, AF_INET);
	for (uint32_t i = 0; i < 200; i++) {
		struct sge piece = {own, sizeof own, 0};
		struct nic_work work = {.op = write_op(&s[1], &piece, i)};
		uint32_t posted;

		work.op.flags = ENGINE_INLINE;
		stage_fill(own, sizeof own, i);
		assert_int_equal(nic_post(s[0].qp, &work, 1, &posted), 0);
		memset(own, 0, sizeof own);
		stage_take(s[0].cq, &done, 1);
		assert_int_equal(done.status, ENGINE_OK);
		stage_fill(own, sizeof own, i);
		assert_memory_equal(s[1].bytes, own, sizeof own);
	}
	pair_close(s);
}

static void a_bad_key_is_a_remote_access_error(void **state)
{
	struct side s[SIDES];
	struct done done[2];
	struct nic_event event;

	(void)state;
	pair_open(s, AF_INET);
	struct sge piece = piece_of(&s[0], 0, 5000);
	struct op op = write_op(&s[1], &piece, 1);

	op.key ^= 0x100;
	assert_int_equal(stage_post(s[0].qp, op), 0);
	stage_take(s[0].cq, done, 1);
	assert_int_equal(done[0].status, ENGINE_REMOTE_ACCESS);
	struct pollfd news = {.fd = nic_event_fd(s[1].user), .events = POLLIN};

	assert_int_equal(poll(&news, 1, 2000), 1);
	assert_int_equal(nic_event_get(s[1].user, &event), 0);
	assert_int_equal(event.kind, NIC_EVENT_QP_ACCESS);
	assert_ptr_equal(event.object, s[1].qp);
	nic_event_ack(s[1].user, &event);
	assert_int_equal(stage_post(s[0].qp, write_op(&s[1], &piece, 2)), 0);
	stage_take(s[0].cq, done, 1);
	assert_int_equal(done[0].status, ENGINE_FLUSHED);
	pair_close(s);
}

static void our_own_bad_key_is_ours(void **state)
{
	struct side s[SIDES];
	struct done done;

	(void)state;
	pair_open(s, AF_INET);
	struct sge piece = piece_of(&s[0], 0, 64);

	piece.lkey ^= 0x100;
	assert_int_equal(stage_post(s[0].qp, write_op(&s[1], &piece, 1)), 0);
	stage_take(s[0].cq, &done, 1);
	assert_int_equal(done.status, ENGINE_LOCAL_PROTECTION);
	pair_close(s);
}

static void a_peer_without_receives_fails(void **state)
{
	struct side s[SIDES];
	struct done done;

	(void)state;
	pair_open(s, AF_INET);
	struct sge piece = piece_of(&s[0], 0, 64);
	struct op op = write_op(&s[1], &piece, 1);

	op.code = ENGINE_WRITE_IMM;
	assert_int_equal(stage_post(s[0].qp, op), 0);
	stage_take(s[0].cq, &done, 1);
	assert_int_equal(done.status, ENGINE_REMOTE_OPERATION);
	pair_close(s);
}

static void a_peer_that_is_gone_is_given_up(void **state)
{
	struct side s[SIDES];
	struct done done[2];
	struct nic_info info = mrc_info();

	(void)state;
	side_open(&s[0], &info);
	side_open(&s[1], &info);
	struct nic_link link = link_of(s[0].qp, s[1].qp, &info, stage_gid(&info, AF_INET));
	const struct mrc_attr hasty = {.timeout = 12, .linear_retries = 2}; /* 4.2 ms */

	assert_int_equal(nic_qp_connect(s[0].qp, &link), 0);
	assert_int_equal(
		nic_mrc_qp_modify(s[0].qp, &hasty, MRC_SET_TIMEOUT | MRC_SET_RETRIES, NULL), 0);
	assert_int_equal(nic_qp_free(s[1].qp), 0);
	s[1].qp = NULL;
	struct sge piece = piece_of(&s[0], 0, 5000);

	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(stage_post(s[0].qp, write_op(&s[1], &piece, i)), 0);
	stage_take(s[0].cq, done, 2);
	assert_int_equal(done[0].status, ENGINE_RETRY_EXCEEDED);
	assert_int_equal(done[1].status, ENGINE_FLUSHED);
	pair_close(s);
}

static void expect_event(struct side *s, enum nic_event_kind kind, const void *object)
{
	struct pollfd p = {.fd = nic_event_fd(s->user), .events = POLLIN};
	struct nic_event event;

	WAIT_FOR(poll(&p, 1, 0) == 1);
	assert_int_equal(nic_event_get(s->user, &event), 0);
	assert_int_equal(event.kind, kind);
	assert_ptr_equal(event.object, object);
	nic_event_ack(s->user, &event);
}

/* Writes with immediate data, one more than completions fit the queue at one of the sides: of work
 * sent, or of receives. */
static void overrun_at(uint32_t at)
{
	enum { ROOM = 4 };
	struct nic_info info = mrc_info();
	struct side s[SIDES];
	struct done done;
	struct mrc_attr attr;

	side_open(&s[0], &info);
	side_open(&s[1], &info);
	struct nic_cq *small = nic_cq_new(s[at].user, ROOM, NULL, NULL);
	struct nic_qp_spec spec = {.pd = s[at].pd,
				   .send_cq = at == 0 ? small : s[at].cq,
				   .recv_cq = at == 1 ? small : s[at].cq,
				   .max_send = 16,
				   .max_recv = 16,
				   .max_send_sge = 1};

	assert_int_equal(nic_qp_free(s[at].qp), 0);
	s[at].qp = nic_qp_new(s[at].user, &spec);
	assert_true(small && s[at].qp);
	join(s[0].qp, s[1].qp, &info, stage_gid(&info, AF_INET));
	struct sge piece = piece_of(&s[0], 0, 64);
	struct op op = write_op(&s[1], &piece, 1), recv = {.code = ENGINE_RECV};

	op.code = ENGINE_WRITE_IMM;
	for (uint32_t i = 0; i <= ROOM; i++)
		assert_int_equal(stage_post(s[1].qp, recv), 0);
	for (uint32_t i = 0; i <= ROOM; i++)
		assert_int_equal(stage_post(s[0].qp, op), 0);
	expect_event(&s[at], NIC_EVENT_CQ_ERROR, small);
	expect_event(&s[at], NIC_EVENT_QP_FATAL, s[at].qp);
	assert_int_equal(nic_cq_poll(small, &done, 1), -EOVERFLOW);
	assert_int_equal(nic_mrc_qp_query(s[at].qp, &attr, NULL, NULL), 0);
	assert_int_equal(attr.state, MRC_ERROR);
	assert_int_equal(nic_qp_free(s[at].qp), 0);
	s[at].qp = NULL;
	assert_int_equal(nic_cq_free(small), 0);
	pair_close(s);
}

/* A completion that finds no place ends the queue pair, and events tell (MRC tables 6-11 and 6-14:
 * as RC). */
static void a_queue_that_overruns_ends_its_pairs(void **state)
{
	(void)state;
	overrun_at(0);
	overrun_at(1);
}

static void many_queue_pairs_take_turns(void **state)
{
	struct side s[SIDES];
	struct nic_info info = mrc_info();
	struct nic_qp *qps[SIDES][MANY];
	struct done done[MANY];
	uint32_t gid = stage_gid(&info, AF_INET), each = STAGE_BYTES / MANY;

	(void)state;
	side_open(&s[0], &info);
	side_open(&s[1], &info);
	for (uint32_t i = 0; i < MANY; i++) {
		for (uint32_t k = 0; k < SIDES; k++)
			qps[k][i] = new_qp(&s[k]);
		join(qps[0][i], qps[1][i], &info, gid);
	}
	for (uint32_t round = 0; round < 4; round++) {
		stage_fill(s[0].bytes, STAGE_BYTES, round);
		for (uint32_t i = 0; i < MANY; i++) {
			struct sge piece = piece_of(&s[0], i * each, each);
			struct op op = write_op(&s[1], &piece, i);

			op.remote += i * each;
			assert_int_equal(stage_post(qps[0][i], op), 0);
		}
		stage_take(s[0].cq, done, MANY);
		for (uint32_t i = 0; i < MANY; i++)
			assert_int_equal(done[i].status, ENGINE_OK);
		assert_memory_equal(s[0].bytes, s[1].bytes, STAGE_BYTES);
	}
	for (uint32_t i = 0; i < MANY; i++)
		for (uint32_t k = 0; k < SIDES; k++)
			assert_int_equal(nic_qp_free(qps[k][i]), 0);
	pair_close(s);
}

/* What the ends do as responders is told by each and kept to by the other, each way by itself
 * (7.5.3, 7.5.5.8). */
static void capabilities_are_those_of_the_peer(void **state)
{
	const struct nic_info info = mrc_info();
	uint32_t gid = stage_gid(&info, AF_INET);

	(void)state;
	for (uint32_t lacks = 0; lacks < 4; lacks++) {
		struct side s[SIDES];

		side_open(&s[0], &info);
		side_open(&s[1], &info);
		for (uint32_t i = 0; i < SIDES; i++) {
			struct nic_link link = link_of(s[i].qp, s[i ^ 1].qp, &info, gid);
			struct mrc_attr is;

			const struct transport_self lacking = {
				.number = nic_qp_number(s[i ^ 1].qp),
				.does = TRANSPORT_ANSWERS_TRIMS,
				.caps = &s[i ^ 1].qp->caps,
			};

			if (lacks >> i & 1)
				transport_mrc.pairs->tell(&lacking, &link.theirs);
			assert_int_equal(nic_qp_connect(s[i].qp, &link), 0);
			assert_int_equal(nic_mrc_qp_query(s[i].qp, &is, NULL, NULL), 0);
			assert_int_equal(!!(is.flags & MRC_PEER_SERVICE_TIME), !(lacks >> i & 1));
			/* Over udp nobody learns of trimmed packets. */
			assert_int_equal(is.flags & (MRC_PEER_TRIM_NACK | MRC_NO_TRIM),
					 MRC_NO_TRIM);
		}
		pair_close(s);
	}
}

/* A device has room for what its queue pairs may have under way, and its key bounds that. */
static void pools_follow_the_pairs(uint64_t pool_bytes, uint32_t n, uint32_t n_early)
{
	struct nic_info info = mrc_info();
	struct nic_qp *qps[PAIRS];
	struct side s;

	info.setup.device.pool_bytes = pool_bytes;
	side_open(&s, &info);
	struct nic_qp_spec spec = {.pd = s.pd,
				   .send_cq = s.cq,
				   .recv_cq = s.cq,
				   .max_send = 1,
				   .ahead_pkts = 255 * MRC_MPR_UNIT};

	for (uint32_t i = 0; i < n; i++) {
		qps[i] = nic_qp_new(s.user, &spec);
		assert_non_null(qps[i]);
	}
	struct mrc_usage use = mrc_usage(s.qp->shard->engine);

	assert_int_equal(use.early_chunks, 0);
	if (n_early) {
		assert_in_range(use.max_early_chunks, n_early / 2, n_early);
	} else {
		assert_in_range(use.max_early_chunks, n * 256, n * 256 + 64);
		assert_in_range(use.max_out_chunks, n * 511, n * 512 + 128);
		assert_in_range(use.max_ev_faults, n * 256, (n + 1) * 1100);
	}
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(nic_qp_free(qps[i]), 0);
	side_close(&s);
}

static void pools_are_as_large_as_pairs_need(void **state)
{
	(void)state;
	pools_follow_the_pairs(0, 1, 0);
	pools_follow_the_pairs(0, PAIRS, 0);
	pools_follow_the_pairs(UINT64_C(4) << 20, PAIRS, (1u << 20) / 32);
}

/* Over kernel UDP the receiver sees the entropy value that was meant, of as many as there are
 * sources: what SACKs reflect names an EV. */
static void the_value_that_was_meant_is_seen(void **state)
{
	const struct udp_cfg cfg = {
		.carrier = &carrier_roce, .port = 20000, .sources = 64, .has_ports_of_ev = true};
	const struct sockaddr_in6 here = {.sin6_family = AF_INET6,
					  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	uint8_t head[ENGINE_HEAD_MAX] = {0};
	char error[200];
	struct driver *u;
	uint32_t local, peer;

	(void)state;
	assert_int_equal(udp_new(&u, &cfg, error, sizeof error), 0);
	assert_int_equal(
		driver_bind(u, (const struct sockaddr *)&here, &local, error, sizeof error), 0);
	peer = driver_peer_get(u, (const struct sockaddr *)&here);
	head[5] = driver_tag(u);
	for (uint32_t i = 0; i < 128; i++) {
		uint32_t ev = (0xc000u + i % 64 * 37) << 16 | (1 + i % 64), got = 0;
		struct tx_pkt tx = {
			.head = head, .head_len = 12, .peer = peer, .local = local, .ev = ev};
		struct rx_pkt rx[DRIVER_BATCH];

		assert_int_equal(driver_send(u, &tx, 1), 1);
		for (uint32_t tries = 0; !got && tries < 100000; tries++)
			got = driver_receive(u, i + 1, rx, DRIVER_BATCH);
		assert_int_equal(got, 1);
		assert_int_equal(rx[0].ev, ev);
	}
	driver_peer_put(u, peer);
	driver_free(u);
}

/* By every EV there is one. */
static void every_ev_answers(void **state)
{
	struct side s[SIDES];
	struct mrc_attr attr;
	struct transport_progress progress;
	nsec rtt_ns;

	(void)state;
	pair_open(s, AF_INET);
	assert_int_equal(nic_mrc_qp_query(s[0].qp, &attr, NULL, NULL), 0);
	assert_int_equal(attr.evs->set.n, 64);
	assert_int_equal(nic_qp_progress(s[0].qp, &progress), 0);
	assert_int_equal(progress.evs[PATH_GOOD], 64);
	for (uint32_t ev = 0; ev < attr.evs->set.n; ev++) {
		if (nic_mrc_ping(s[0].qp, ev, &rtt_ns))
			fail_msg("EV %u: %s", ev, nic_error());
		assert_true(rtt_ns > 0);
	}
	assert_int_equal(nic_mrc_ping(s[0].qp, 64, &rtt_ns), -EINVAL);
	pair_close(s);
}

/* What takes one EV in a row: what one call to the kernel takes, unless the device says. */
static void bursts_fit_the_offload(void **state)
{
	static const struct {
		uint32_t pmtu, device, burst;
	} want[] = {{4096, 0, 15}, {2048, 0, 30}, {1024, 0, 60}, {256, 0, 60}, {1024, 1, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		struct nic_info info = mrc_info();
		struct side s;
		struct mrc_attr attr;

		info.setup.ev_burst = (uint16_t)want[i].device;
		side_open(&s, &info);
		struct nic_link link = link_of(s.qp, s.qp, &info, stage_gid(&info, AF_INET));

		link.pmtu = (uint16_t)want[i].pmtu;
		assert_int_equal(nic_qp_connect(s.qp, &link), 0);
		assert_int_equal(nic_mrc_qp_query(s.qp, &attr, NULL, NULL), 0);
		assert_int_equal(attr.burst, want[i].burst);
		side_close(&s);
	}
}

static void rc_and_mrc_are_told_apart(void **state)
{
	struct nic_info rc = stage_info("lo"), mrc = mrc_info();
	struct nic_user *u = nic_open(&rc), *m = nic_open(&mrc);
	struct engine_srq_caps srq = {.max_recv = 1};
	const struct mrc_attr mrc_attr = {.state = MRC_INIT};
	const struct engine_attr verbs_attr = {.state = ENGINE_INIT};
	struct side s;
	struct end e;

	(void)state;
	assert_ptr_equal(rc.setup.transport, &transport_rc);
	assert_true(u && m && u->device != m->device);
	side_open(&s, &mrc);
	stage_open(&e, &rc, NULL);
	assert_int_equal(nic_mrc_qp_modify(e.qp, &mrc_attr, MRC_SET_STATE, NULL), -ENOTSUP);
	assert_non_null(strstr(nic_error(), "is a device of rc"));
	assert_int_equal(nic_qp_modify(s.qp, &verbs_attr, ENGINE_SET_STATE, NULL), -ENOTSUP);
	assert_non_null(strstr(nic_error(), "is a device of mrc"));
	stage_close(&e);
	side_close(&s);
	struct nic_pd *pd = nic_pd_new(m);

	assert_null(nic_srq_new(pd, &srq, NULL));
	assert_int_equal(errno, ENOTSUP);
	assert_int_equal(nic_pd_free(pd), 0);
	assert_int_equal(nic_close(u), 0);
	assert_int_equal(nic_close(m), 0);
}

static void what_mrc_cannot_do_is_refused(void **state)
{
	struct side s[SIDES];

	(void)state;
	pair_open(s, AF_INET);
	struct sge piece = piece_of(&s[0], 0, 64);

	for (uint32_t code = 0; code <= ENGINE_BIND; code++) {
		struct op op = write_op(&s[1], &piece, 1);
		bool is_mrc = code == ENGINE_WRITE || code == ENGINE_WRITE_IMM;

		op.code = (uint8_t)code;
		if (!is_mrc)
			assert_int_equal(stage_post(s[0].qp, op), -EINVAL);
	}
	/* Nor is one taken that is posted with what it does. */
	struct nic_work work[2] = {{.op = write_op(&s[1], &piece, 1)}};
	struct done done;

	work[1] = work[0];
	work[1].op.code = ENGINE_READ;
	assert_int_equal(nic_post_all(s[0].qp, work, 2), -EINVAL);
	work[1] = work[0];
	work[1].op.cookie = 2;
	assert_int_equal(nic_post_all(s[0].qp, work, 2), 0);
	for (uint64_t cookie = 1; cookie <= 2; cookie++) {
		stage_take(s[0].cq, &done, 1);
		assert_int_equal(done.cookie, cookie);
		assert_int_equal(done.status, ENGINE_OK);
	}
	pair_close(s);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(writes_arrive_over_ipv4),
	cmocka_unit_test(writes_arrive_over_ipv6),
	cmocka_unit_test(a_megabyte_is_the_same),
	cmocka_unit_test(immediate_data_takes_a_receive),
	cmocka_unit_test(inline_bytes_are_copied),
	cmocka_unit_test(a_bad_key_is_a_remote_access_error),
	cmocka_unit_test(our_own_bad_key_is_ours),
	cmocka_unit_test(a_peer_without_receives_fails),
	cmocka_unit_test(a_peer_that_is_gone_is_given_up),
	cmocka_unit_test(a_queue_that_overruns_ends_its_pairs),
	cmocka_unit_test(many_queue_pairs_take_turns),
	cmocka_unit_test(capabilities_are_those_of_the_peer),
	cmocka_unit_test(pools_are_as_large_as_pairs_need),
	cmocka_unit_test(the_value_that_was_meant_is_seen),
	cmocka_unit_test(every_ev_answers),
	cmocka_unit_test(bursts_fit_the_offload),
	cmocka_unit_test(rc_and_mrc_are_told_apart),
	cmocka_unit_test(what_mrc_cannot_do_is_refused),
};

ISOLATED_MAIN(cases)
