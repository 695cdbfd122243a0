/* Queue pairs of every transport, made and connected by the same calls. */
#include "nic_stage.h"

#include "nic/inside.h"

#define PMTU   1024u
#define BYTES  (8u * PMTU)
#define SIDES  2u
#define ROUNDS 3u

static void open_both(struct end e[SIDES], const struct nic_info *info)
{
	stage_open(&e[0], info, NULL);
	stage_open(&e[1], info, NULL);
}

static void close_both(struct end e[SIDES])
{
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void write_all(struct end e[SIDES], uint32_t seed)
{
	struct sge piece = stage_piece(&e[0], 0, BYTES);
	struct done done;

	stage_fill(e[0].bytes, BYTES, seed);
	assert_int_equal(stage_post(e[0].qp, stage_op(&e[1], ENGINE_WRITE, &piece)), 0);
	done = stage_one(e[0].cq);
	assert_int_equal(done.status, ENGINE_OK);
	assert_memory_equal(e[0].bytes, e[1].bytes, BYTES);
}

static void writes_cross(const struct transport *t)
{
	struct nic_info info = stage_device(t, "lo");
	struct transport_progress p;
	struct end e[SIDES];

	open_both(e, &info);
	stage_join(e, &info, PMTU);
	for (uint32_t seed = 1; seed <= ROUNDS; seed++)
		write_all(e, seed);
	assert_int_equal(nic_qp_progress(e[0].qp, &p), 0);
	assert_int_equal(p.state, ENGINE_RTS);
	assert_int_equal(p.sent_bytes, ROUNDS * BYTES);
	assert_int_equal(p.sent_packets, ROUNDS * BYTES / PMTU);
	assert_int_equal(p.inflight_bytes, 0);
	assert_true(p.open_ports & 1);
	assert_int_equal(p.evs[PATH_GOOD] > 0, transport_has(t, TRANSPORT_PROFILES));
	assert_int_equal(nic_qp_progress(e[1].qp, &p), 0);
	assert_int_equal(p.got_bytes, ROUNDS * BYTES);
	/* Both ends are of one device here. */
	assert_int_equal(nic_count(e[1].user, t->count_received), ROUNDS * BYTES);
	assert_int_equal(nic_count(e[1].user, t->n_counters), 0);
	close_both(e);
}

/* What is not reported is counted: here all but the last. */
static void silence_is_counted(const struct transport *t)
{
	struct nic_info info = stage_device(t, "lo");
	struct transport_progress p;
	struct end e[SIDES];

	open_both(e, &info);
	stage_join(e, &info, PMTU);
	struct sge piece = stage_piece(&e[0], 0, 100);
	struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);

	op.flags = ENGINE_SILENT;
	for (uint32_t i = 0; i < ROUNDS; i++)
		assert_int_equal(stage_post(e[0].qp, op), 0);
	write_all(e, 1);
	assert_int_equal(nic_qp_progress(e[0].qp, &p), 0);
	assert_int_equal(p.silent, ROUNDS);
	close_both(e);
}

/* Nothing came for the receive, and nothing is left of the write. */
static void receives_come_back(const struct transport *t)
{
	struct nic_info info = stage_device(t, "lo");
	const struct op receive = {.code = ENGINE_RECV, .cookie = 9};
	struct end e[SIDES];

	open_both(e, &info);
	stage_join(e, &info, PMTU);
	assert_int_equal(nic_cancel(e[0].qp, 9, true), -ENOENT);
	assert_int_equal(stage_post(e[0].qp, receive), 0);
	assert_int_equal(nic_cancel(e[0].qp, 9, false), -ENOENT);
	assert_int_equal(nic_cancel(e[0].qp, 9, true), 0);
	struct done done = stage_one(e[0].cq);

	assert_int_equal(done.code, ENGINE_DONE_RECEIVED);
	assert_int_equal(done.cookie, 9);
	assert_int_equal(done.status, ENGINE_CANCELLED);
	write_all(e, 1);
	assert_int_equal(nic_cancel(e[0].qp, 0, false), -ENOENT);
	close_both(e);
}

/* A queue that several share gives nothing back. */
static void shared_receives_stay(const struct transport *t)
{
	struct nic_info info = stage_device(t, "lo");
	struct engine_srq_caps caps = {.max_recv = 4, .max_sge = 1};
	struct end e;

	if (!t->verbs || !t->verbs->shared_make)
		return;
	stage_open(&e, &info, NULL);
	struct nic_srq *srq = nic_srq_new(e.pd, &caps, NULL);
	struct nic_qp_spec spec = {.pd = e.pd, .send_cq = e.cq, .recv_cq = e.cq, .srq = srq};
	struct nic_qp *qp = nic_qp_new(e.user, &spec);
	struct nic_work work = {.op = {.code = ENGINE_RECV, .cookie = 9}};
	uint32_t posted;

	assert_non_null(qp);
	assert_int_equal(nic_srq_post(srq, &work, 1, &posted), 0);
	assert_int_equal(nic_cancel(qp, 9, true), -ENOTSUP);
	assert_int_equal(nic_qp_free(qp), 0);
	assert_int_equal(nic_srq_free(srq), 0);
	stage_close(&e);
}

/* The number is that of the queue pair; that of the first packet is drawn. */
static void ends_are_told(const struct transport *t)
{
	struct nic_info info = stage_device(t, "lo");
	struct transport_end first, second;
	struct end e[SIDES];

	open_both(e, &info);
	assert_int_equal(nic_qp_end(e[0].qp, &first), 0);
	assert_int_equal(nic_qp_end(e[0].qp, &second), 0);
	assert_int_equal(transport_end_number(&first), nic_qp_number(e[0].qp));
	assert_int_equal(transport_end_number(&second), nic_qp_number(e[0].qp));
	assert_memory_not_equal(&first, &second, sizeof first);
	close_both(e);
}

static void nonsense_is_refused(const struct transport *t)
{
	struct nic_info info = stage_device(t, "lo");
	struct end e[SIDES];

	open_both(e, &info);
	struct nic_link good = stage_link(e, 0, &info, PMTU), bad = good;

	memset(&bad.theirs, 0xff, sizeof bad.theirs);
	assert_int_equal(nic_qp_connect(e[0].qp, &bad), -EPROTO);
	bad = good;
	bad.pmtu = PMTU + 1;
	assert_int_equal(nic_qp_connect(e[0].qp, &bad), -EINVAL);
	bad = good;
	bad.path.gid_index = NIC_GID_TABLE;
	assert_int_equal(nic_qp_connect(e[0].qp, &bad), -EINVAL);
	/* It is as if nothing had been tried. */
	assert_int_equal(qp_state(e[0].qp), ENGINE_RESET);
	stage_join(e, &info, PMTU);
	write_all(e, 7);
	/* Once connected it is not to be had again, and goes on. */
	assert_int_equal(nic_qp_connect(e[0].qp, &good), -EINVAL);
	write_all(e, 8);
	close_both(e);
}

static void too_much_is_refused(const struct transport *t)
{
	struct nic_info info = stage_device(t, "lo");
	struct end e;

	stage_open(&e, &info, NULL);
	struct nic_qp_spec spec = {
		.pd = e.pd,
		.send_cq = e.cq,
		.recv_cq = e.cq,
		.max_send = t->pairs->most.max_send + 1,
	};

	assert_null(nic_qp_new(e.user, &spec));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(nic_error(), "at most"));
	spec.max_send = 0;
	struct nic_qp *qp = nic_qp_new(e.user, &spec);

	assert_non_null(qp);
	assert_int_equal(spec.max_send, 1);
	assert_int_equal(spec.max_send_sge, 1);
	assert_int_equal(spec.ahead_pkts > 0, transport_has(t, TRANSPORT_AHEAD));
	assert_int_equal(nic_qp_free(qp), 0);
	spec.ahead_pkts = t->pairs->most.ahead_pkts + 1;
	if (transport_has(t, TRANSPORT_AHEAD)) {
		assert_null(nic_qp_new(e.user, &spec));
		assert_non_null(strstr(nic_error(), "ahead of a gap"));
	}
	stage_close(&e);
}

static void for_each(void (*test)(const struct transport *t))
{
	for (uint32_t i = 0; i < TRANSPORTS; i++)
		test(transports[i]);
}

static void every_transport_writes(void **state)
{
	(void)state;
	for_each(writes_cross);
}

static void every_transport_counts_silent_work(void **state)
{
	(void)state;
	for_each(silence_is_counted);
}

static void every_transport_gives_receives_back(void **state)
{
	(void)state;
	for_each(receives_come_back);
	for_each(shared_receives_stay);
}

static void every_end_tells_its_number(void **state)
{
	(void)state;
	for_each(ends_are_told);
}

static void what_makes_no_sense_changes_nothing(void **state)
{
	(void)state;
	for_each(nonsense_is_refused);
}

static void more_than_there_is_is_refused(void **state)
{
	(void)state;
	for_each(too_much_is_refused);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(every_transport_writes),
	cmocka_unit_test(every_transport_counts_silent_work),
	cmocka_unit_test(every_transport_gives_receives_back),
	cmocka_unit_test(every_end_tells_its_number),
	cmocka_unit_test(what_makes_no_sense_changes_nothing),
	cmocka_unit_test(more_than_there_is_is_refused),
};

ISOLATED_MAIN(cases)
