/* nic/nic.h: completion queues and channels, their events, and asynchronous ones. */
#include "nic_stage.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static bool becomes_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 2000) == 1;
}

static void send_one(struct end e[2], uint8_t flags)
{
	struct sge piece = stage_piece(&e[0], 0, 16);
	struct op op = {.code = ENGINE_SEND,
			.sg = &piece,
			.n_sg = 1,
			.flags = (uint8_t)(flags | ENGINE_SILENT)};

	stage_recv(&e[1], 0, 16, 1);
	assert_int_equal(stage_post(e[0].qp, op), 0);
}

static void sizes_are_bounded(void **state)
{
	struct nic_info info = stage_info("lo");
	struct nic_user *u = nic_open(&info);

	(void)state;
	assert_non_null(u);
	assert_null(nic_cq_new(u, 0, NULL, NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(nic_cq_new(u, NIC_MAX_CQE + 1, NULL, NULL));
	assert_int_equal(errno, EINVAL);
	struct nic_cq *cq = nic_cq_new(u, 10, NULL, NULL);

	assert_non_null(cq);
	assert_true(nic_cq_cqe(cq) >= 10);
	assert_int_equal(nic_cq_arm(cq, false), 0);
	assert_int_equal(nic_close(u), -EBUSY);
	assert_int_equal(nic_cq_free(cq), 0);
	assert_int_equal(nic_close(u), 0);
}

/* Works that are flushed at once: completions without a peer. */
static void flush_some(struct end *e, uint32_t n, uint64_t cookie)
{
	struct engine_attr attr = {.state = ENGINE_ERROR};

	assert_int_equal(nic_qp_modify(e->qp, &attr, ENGINE_SET_STATE, NULL), 0);
	for (uint32_t i = 0; i < n; i++)
		stage_recv(e, 0, 16, cookie + i);
}

static void resized_in_use(void **state)
{
	struct nic_info info = stage_info("lo");
	struct done done[40];
	struct end e;

	(void)state;
	stage_open(&e, &info, NULL);
	assert_int_equal(nic_cq_resize(e.cq, 32), 0);
	flush_some(&e, 30, 0);
	stage_take(e.cq, done, 20);
	flush_some(&e, 15, 30); /* wraps around */
	assert_int_equal(nic_cq_resize(e.cq, 24), -EINVAL);
	assert_int_equal(nic_cq_resize(e.cq, 25), 0);
	assert_int_equal(nic_cq_resize(e.cq, 100), 0);
	assert_int_equal(nic_cq_cqe(e.cq), 100);
	flush_some(&e, 5, 45);
	stage_take(e.cq, done, 30);
	for (uint32_t i = 0; i < 30; i++)
		assert_int_equal(done[i].cookie, 20 + i);
	stage_close(&e);
}

static void check_event(struct end *e, enum nic_event_kind kind, const void *object)
{
	struct nic_event event;

	assert_true(becomes_readable(nic_event_fd(e->user)));
	assert_int_equal(nic_event_get(e->user, &event), 0);
	assert_int_equal(event.kind, kind);
	assert_ptr_equal(event.object, object);
	nic_event_ack(e->user, &event);
}

static void overrun_is_told_and_kept(void **state)
{
	struct nic_info info = stage_info("lo");
	struct done done;
	struct end e;

	(void)state;
	stage_open(&e, &info, NULL);
	assert_int_equal(nic_cq_resize(e.cq, 4), 0);
	flush_some(&e, 4, 0);
	assert_false(is_readable(nic_event_fd(e.user)));
	flush_some(&e, 3, 4);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(nic_cq_poll(e.cq, &done, 1), -EOVERFLOW);
	check_event(&e, NIC_EVENT_CQ_ERROR, e.cq);
	check_event(&e, NIC_EVENT_QP_FATAL, e.qp);
	/* Told once, however much is lost. */
	flush_some(&e, 3, 7);
	assert_false(is_readable(nic_event_fd(e.user)));
	assert_int_equal(nic_cq_resize(e.cq, 100), 0);
	assert_int_equal(nic_cq_poll(e.cq, &done, 1), -EOVERFLOW);
	stage_close(&e);
}

static enum engine_state state_of(struct nic_qp *qp)
{
	struct engine_attr attr;

	assert_int_equal(nic_qp_query(qp, &attr, NULL, NULL), 0);
	return (enum engine_state)attr.state;
}

/* Queue pairs of one user; the second has its receives completed elsewhere. */
struct overrun {
	struct end e[2];
	struct nic_cq *small, *elsewhere;
	struct nic_qp *first, *second, *unused, *other;
};

static struct nic_qp *pair_with(struct end *e, struct nic_cq *send, struct nic_cq *recv)
{
	struct nic_qp_spec spec = {.pd = e->pd,
				   .send_cq = send,
				   .recv_cq = recv,
				   .max_send = 16,
				   .max_recv = 16,
				   .max_recv_sge = 1};
	struct nic_qp *qp = nic_qp_new(e->user, &spec);

	assert_non_null(qp);
	return qp;
}

static void overrun_start(struct overrun *o)
{
	struct nic_info info = stage_info("lo");

	stage_pair(o->e, AF_INET);
	struct end *e = &o->e[0];

	o->small = nic_cq_new(e->user, 4, NULL, NULL);
	o->elsewhere = nic_cq_new(e->user, 64, e->channel, NULL);
	o->first = pair_with(e, o->small, e->cq);
	o->second = pair_with(e, o->small, o->elsewhere);
	o->unused = pair_with(e, o->small, o->small);
	o->other = pair_with(e, e->cq, e->cq);
	stage_connect(o->first, o->other, &info, 0);
	stage_aim(o->second, stage_attr(nic_qp_number(o->first)), &info, 0);
}

static void overrun_stop(struct overrun *o)
{
	assert_int_equal(nic_qp_free(o->first), 0);
	assert_int_equal(nic_qp_free(o->second), 0);
	assert_int_equal(nic_qp_free(o->unused), 0);
	assert_int_equal(nic_qp_free(o->other), 0);
	assert_int_equal(nic_cq_free(o->small), 0);
	assert_int_equal(nic_cq_free(o->elsewhere), 0);
	stage_close(&o->e[0]);
	stage_close(&o->e[1]);
}

static void write_some(struct overrun *o, uint32_t n)
{
	struct sge piece = stage_piece(&o->e[0], 0, 16);

	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(stage_post(o->first, stage_op(&o->e[0], ENGINE_WRITE, &piece)), 0);
}

/* All that use the queue end, and what they flush elsewhere comes out, with nobody polling; also
 * when it overruns by work that is flushed when it is posted: no packet comes after that. */
static void overrun_ends_those(bool is_flush)
{
	struct engine_attr error = {.state = ENGINE_ERROR};
	struct timespec nap = {0, 50000000};
	struct overrun o;
	struct end *e = &o.e[0];
	struct nic_cq *cq;
	void *context;

	overrun_start(&o);
	struct op recv = {.code = ENGINE_RECV, .cookie = 77};

	assert_int_equal(stage_post(o.second, recv), 0);
	assert_int_equal(nic_cq_arm(o.elsewhere, false), 0);
	if (is_flush)
		assert_int_equal(nic_qp_modify(o.first, &error, ENGINE_SET_STATE, NULL), 0);
	nanosleep(&nap, NULL); /* the device's thread is fast asleep */
	write_some(&o, 5);
	check_event(e, NIC_EVENT_CQ_ERROR, o.small);
	assert_true(becomes_readable(nic_channel_fd(e->channel)));
	assert_int_equal(nic_channel_get(e->channel, &cq, &context), 0);
	assert_ptr_equal(cq, o.elsewhere);
	nic_cq_ack(cq, 1);
	struct done done = stage_one(o.elsewhere);

	assert_int_equal(done.status, ENGINE_FLUSHED);
	assert_int_equal(done.cookie, 77);
	assert_int_equal(nic_cq_poll(o.small, &done, 1), -EOVERFLOW);
	assert_int_equal(state_of(o.first), ENGINE_ERROR);
	assert_int_equal(state_of(o.second), ENGINE_ERROR);
	assert_int_equal(state_of(o.unused), ENGINE_RESET);
	assert_int_equal(state_of(o.other), ENGINE_RTS);
	assert_int_equal(state_of(e->qp), ENGINE_RTS);
	for (uint32_t i = 0; i < 2; i++) {
		struct nic_event event;

		assert_int_equal(nic_event_get(e->user, &event), 0);
		assert_int_equal(event.kind, NIC_EVENT_QP_FATAL);
		assert_true(event.object == o.first || event.object == o.second);
		nic_event_ack(e->user, &event);
	}
	assert_false(is_readable(nic_event_fd(e->user)));
	overrun_stop(&o);
}

static void overrun_ends_those_who_use_it(void **state)
{
	(void)state;
	overrun_ends_those(false);
	overrun_ends_those(true);
}

/* Whoever comes back to it ends with the first completion that it loses. */
static void an_overrun_queue_stays_of_no_use(void **state)
{
	struct nic_info info = stage_info("lo");
	struct engine_attr reset = {.state = ENGINE_RESET};
	struct overrun o;
	struct nic_event event;
	struct end *e = &o.e[0];

	(void)state;
	overrun_start(&o);
	write_some(&o, 5);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(becomes_readable(nic_event_fd(e->user)));
		assert_int_equal(nic_event_get(e->user, &event), 0);
		nic_event_ack(e->user, &event);
	}
	assert_false(is_readable(nic_event_fd(e->user)));
	assert_int_equal(nic_cq_resize(o.small, 64), 0);
	assert_int_equal(nic_qp_modify(o.first, &reset, ENGINE_SET_STATE, NULL), 0);
	assert_int_equal(nic_qp_modify(o.other, &reset, ENGINE_SET_STATE, NULL), 0);
	stage_connect(o.first, o.other, &info, 0);
	assert_int_equal(state_of(o.first), ENGINE_RTS);
	write_some(&o, 1);
	check_event(e, NIC_EVENT_QP_FATAL, o.first);
	assert_int_equal(state_of(o.first), ENGINE_ERROR);
	assert_false(is_readable(nic_event_fd(e->user)));
	overrun_stop(&o);
}

static void one_event_for_each_arming(void **state)
{
	struct end e[2];
	struct done done[4];
	struct nic_cq *cq;
	void *context;

	(void)state;
	stage_pair(e, AF_INET);
	int fd = nic_channel_fd(e[1].channel);

	/* Not armed: no event. */
	send_one(e, 0);
	stage_take(e[1].cq, done, 1);
	assert_false(is_readable(fd));
	/* What was there before makes none; the next one does, once. */
	send_one(e, 0);
	struct timespec nap = {0, 20000000};

	nanosleep(&nap, NULL);
	assert_int_equal(nic_cq_arm(e[1].cq, false), 0);
	assert_false(is_readable(fd));
	send_one(e, 0);
	send_one(e, 0);
	assert_true(becomes_readable(fd));
	assert_int_equal(nic_channel_get(e[1].channel, &cq, &context), 0);
	assert_ptr_equal(cq, e[1].cq);
	assert_ptr_equal(context, &e[1]);
	stage_take(e[1].cq, done, 3);
	assert_false(is_readable(fd));
	nic_cq_ack(cq, 1);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void solicited_events_only(void **state)
{
	struct end e[2];
	struct done done[4];
	struct nic_cq *cq;
	void *context;

	(void)state;
	stage_pair(e, AF_INET);
	int fd = nic_channel_fd(e[1].channel);

	assert_int_equal(nic_cq_arm(e[1].cq, true), 0);
	send_one(e, 0);
	stage_take(e[1].cq, done, 1);
	assert_false(is_readable(fd));
	send_one(e, ENGINE_SOLICITED);
	assert_true(becomes_readable(fd));
	assert_int_equal(nic_channel_get(e[1].channel, &cq, &context), 0);
	stage_take(e[1].cq, done, 1);
	/* Armed for all is not undone by arming for less. */
	assert_int_equal(nic_cq_arm(e[1].cq, false), 0);
	assert_int_equal(nic_cq_arm(e[1].cq, true), 0);
	send_one(e, 0);
	assert_true(becomes_readable(fd));
	assert_int_equal(nic_channel_get(e[1].channel, &cq, &context), 0);
	stage_take(e[1].cq, done, 1);
	/* A failure counts, too. */
	assert_int_equal(nic_cq_arm(e[1].cq, true), 0);
	flush_some(&e[1], 1, 0);
	assert_true(becomes_readable(fd));
	assert_int_equal(nic_channel_get(e[1].channel, &cq, &context), 0);
	nic_cq_ack(cq, 3);
	stage_take(e[1].cq, done, 1);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static void a_channel_need_not_block(void **state)
{
	struct end e[2];
	struct nic_event event;
	struct nic_cq *cq;
	void *context;

	(void)state;
	stage_pair(e, AF_INET);
	fcntl(nic_channel_fd(e[1].channel), F_SETFL, O_NONBLOCK);
	fcntl(nic_event_fd(e[1].user), F_SETFL, O_NONBLOCK);
	assert_int_equal(nic_channel_get(e[1].channel, &cq, &context), -EAGAIN);
	assert_int_equal(nic_event_get(e[1].user, &event), -EAGAIN);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

struct sleeper {
	struct end *end;
	uint32_t rounds, done;
};

/* As an application that sleeps: arm, look, sleep. */
static void *sleep_for_completions(void *context)
{
	struct sleeper *s = context;
	struct done done;
	struct nic_cq *cq;
	void *unused;

	while (s->done < s->rounds) {
		nic_cq_arm(s->end->cq, false);
		int n = nic_cq_poll(s->end->cq, &done, 1);

		if (n < 0)
			break;
		s->done += (uint32_t)n;
		if (n || nic_channel_get(s->end->channel, &cq, &unused))
			continue;
		nic_cq_ack(cq, 1);
	}
	return NULL;
}

static void a_sleeper_is_woken_each_time(void **state)
{
	struct end e[2];
	struct sleeper s = {.end = &e[1], .rounds = 200};
	pthread_t thread;

	(void)state;
	stage_pair(e, AF_INET);
	for (uint32_t i = 0; i < 60; i++)
		stage_recv(&e[1], 0, 16, i);
	assert_int_equal(pthread_create(&thread, NULL, sleep_for_completions, &s), 0);
	struct sge piece = stage_piece(&e[0], 0, 16);
	struct op op = {.code = ENGINE_SEND, .sg = &piece, .n_sg = 1};

	for (uint32_t i = 0; i < s.rounds; i++) {
		assert_int_equal(stage_post(e[0].qp, op), 0);
		assert_int_equal(stage_one(e[0].cq).status, ENGINE_OK);
		if (i + 60 < s.rounds)
			stage_recv(&e[1], 0, 16, i);
	}
	pthread_join(thread, NULL);
	assert_int_equal(s.done, s.rounds);
	stage_close(&e[0]);
	stage_close(&e[1]);
}

struct freeing {
	struct nic_cq *cq;
	atomic_int result;
};

static void *free_queue(void *context)
{
	struct freeing *f = context;

	atomic_store(&f->result, nic_cq_free(f->cq));
	return NULL;
}

static void freeing_waits_for_acknowledgements(void **state)
{
	struct nic_info info = stage_info("lo");
	struct freeing f = {.result = 1};
	struct timespec nap = {0, 20000000};
	struct nic_cq *cq;
	pthread_t thread;
	struct end e;
	void *context;

	(void)state;
	stage_open(&e, &info, NULL);
	f.cq = e.cq;
	assert_int_equal(nic_cq_free(e.cq), -EBUSY);
	assert_int_equal(nic_channel_free(e.channel), -EBUSY);
	nic_cq_arm(e.cq, false);
	flush_some(&e, 1, 0);
	assert_int_equal(nic_channel_get(e.channel, &cq, &context), 0);
	nic_cq_arm(e.cq, false);
	flush_some(&e, 1, 0); /* an event that nobody takes */
	assert_true(is_readable(nic_channel_fd(e.channel)));
	assert_int_equal(nic_qp_free(e.qp), 0);
	assert_int_equal(pthread_create(&thread, NULL, free_queue, &f), 0);
	nanosleep(&nap, NULL);
	assert_int_equal(atomic_load(&f.result), 1);
	assert_false(is_readable(nic_channel_fd(e.channel)));
	nic_cq_ack(cq, 1);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&f.result), 0);
	e.qp = NULL;
	e.cq = nic_cq_new(e.user, 1, NULL, NULL);
	stage_close(&e);
}

static void drain(struct nic_qp *qp, uint32_t set)
{
	struct engine_attr attr = {.state = ENGINE_SQD, .wants_drained = true};

	assert_int_equal(nic_qp_modify(qp, &attr, ENGINE_SET_STATE | set, NULL), 0);
	attr.state = ENGINE_RTS;
	assert_int_equal(nic_qp_modify(qp, &attr, ENGINE_SET_STATE, NULL), 0);
}

/* Two that wait at the same time, the second after a write without the right to it, of which the
 * peer is told by a NAK and its owner by an event; the first one twice, which counts once. */
static void events_of_a_queue_pair(void **state)
{
	struct end e[2];

	(void)state;
	stage_pair(e, AF_INET);
	drain(e[1].qp, 0);
	assert_false(is_readable(nic_event_fd(e[1].user)));
	drain(e[1].qp, ENGINE_SET_WANTS_DRAINED);
	drain(e[1].qp, ENGINE_SET_WANTS_DRAINED);
	struct sge piece = stage_piece(&e[0], 0, 16);
	struct op op = stage_op(&e[1], ENGINE_WRITE, &piece);

	op.key ^= 0x100;
	assert_int_equal(stage_post(e[0].qp, op), 0);
	assert_int_equal(stage_one(e[0].cq).status, ENGINE_REMOTE_ACCESS);
	check_event(&e[1], NIC_EVENT_QP_ACCESS, e[1].qp);
	check_event(&e[1], NIC_EVENT_DRAINED, e[1].qp);
	assert_false(is_readable(nic_event_fd(e[1].user)));
	stage_close(&e[0]);
	stage_close(&e[1]);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(sizes_are_bounded),
	cmocka_unit_test(resized_in_use),
	cmocka_unit_test(overrun_is_told_and_kept),
	cmocka_unit_test(overrun_ends_those_who_use_it),
	cmocka_unit_test(an_overrun_queue_stays_of_no_use),
	cmocka_unit_test(one_event_for_each_arming),
	cmocka_unit_test(solicited_events_only),
	cmocka_unit_test(a_channel_need_not_block),
	cmocka_unit_test(a_sleeper_is_woken_each_time),
	cmocka_unit_test(freeing_waits_for_acknowledgements),
	cmocka_unit_test(events_of_a_queue_pair),
};
ISOLATED_MAIN(cases)
