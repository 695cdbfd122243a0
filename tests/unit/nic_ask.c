/* Questions to peers as such (nic_mrc_ask), over kernel UDP on loopback: every value, thousands in
 * one call, peers that are not there, processes and transports that share the address, and what is
 * refused. */
#include "nic_stage.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/wait.h>

#include "base/bytes.h"
#include "nic/inside.h"
#include "nic/mrc/nic_mrc.h"
#include "wire/mrc.h"

#define MANY      4096u
#define PORT      4791
#define SECOND_NS UINT64_C(1000000000)
#define SHORT_NS  UINT64_C(60000000)

static struct nic_info mrc_info(void)
{
	struct nic_info *list = NULL, found = {.ifindex = 0};
	int n = nic_list(&list);

	for (int i = 0; i < n; i++)
		if (!strcmp(list[i].interface, "lo") && list[i].setup.transport == &transport_mrc)
			found = list[i];
	free(list);
	assert_true(found.ifindex > 0);
	return found;
}

/* A device that answers so many strangers in a second: all who ask are, here. */
static struct nic_user *open_rate(struct nic_info *info, const char *rate)
{
	setenv("WEFT_STRANGER_RATE", rate, 1);
	*info = mrc_info();
	struct nic_user *u = nic_open(info);

	if (!u)
		fail_msg("%s", nic_error());
	return u;
}

static struct nic_user *open_mrc(struct nic_info *info)
{
	return open_rate(info, "1000000");
}

/* To ourselves, by value number i: other processes have others, as a source port is one's own. */
static struct nic_mrc_question question(const struct nic_info *info, int family, uint32_t i)
{
	struct nic_mrc_question q = {.wide = CONTROL_STRUCTURED, .op = MRC_ENDPOINT_EV_PROBE};
	uint32_t gid = stage_gid(info, family);

	memcpy(q.sgid, info->gids[gid].raw, 16);
	memcpy(q.dgid, info->gids[gid].raw, 16);
	put_be32(q.val, (0xc000u + (i % 64 * 61 + (uint32_t)getpid() * 7919) % 0x4000) << 16);
	return q;
}

/* An address of this host where nobody is. */
static void aim_away(struct nic_mrc_question *q)
{
	q->dgid[15] = 9;
}

static struct mrc_usage usage_of(struct nic_user *u)
{
	device_enter(u->device);
	struct mrc_usage usage = mrc_usage(device_shard(u->device, 0)->engine);

	device_leave(u->device);
	return usage;
}

static void check_answers(const struct nic_mrc_answer *answers, uint32_t n)
{
	bool *is_seen = calloc(n, sizeof *is_seen);

	for (uint32_t i = 0; i < n; i++) {
		assert_true(answers[i].question < n);
		assert_false(is_seen[answers[i].question]);
		is_seen[answers[i].question] = true;
		assert_true(answers[i].rtt_ns > 0);
		assert_int_equal(answers[i].port, 0);
	}
	free(is_seen);
}

static void every_question_is_answered(void **state)
{
	static const int families[] = {AF_INET, AF_INET6};
	static struct nic_mrc_question q[MANY];
	static struct nic_mrc_answer a[MANY];
	struct nic_info info;
	struct nic_user *u = open_mrc(&info);
	uint32_t n;

	(void)state;
	for (uint32_t k = 0; k < 2; k++) {
		for (uint32_t i = 0; i < MANY; i++) {
			q[i] = question(&info, families[k], i);
			q[i].wide = i % 2 ? CONTROL_UDP : CONTROL_STRUCTURED;
			q[i].dscp = i % 64;
			q[i].op = i % 16 ? MRC_ENDPOINT_EV_PROBE : MRC_ENDPOINT_PORT_STATUS;
		}
		memset(a, 0, sizeof a);
		if (nic_mrc_ask(u, q, MANY, SECOND_NS, a, &n))
			fail_msg("%s", nic_error());
		assert_int_equal(n, MANY);
		check_answers(a, MANY);
	}
	assert_int_equal(nic_mrc_ask(u, q, 0, SECOND_NS, a, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(usage_of(u).probes, 0);
	assert_int_equal(nic_close(u), 0);
}

/* stranger-rate: 4096 at once and some more, or none. */
static void strangers_are_answered_as_the_device_says(void **state)
{
	static struct nic_mrc_question q[MANY + 200];
	static struct nic_mrc_answer a[MANY + 200];
	struct nic_info info;
	struct nic_user *u = open_rate(&info, "1");
	uint32_t n;

	(void)state;
	for (uint32_t i = 0; i < MANY + 200; i++)
		q[i] = question(&info, AF_INET, i % MANY);
	assert_int_equal(nic_mrc_ask(u, q, MANY + 200, SHORT_NS, a, &n), -ETIMEDOUT);
	assert_true(n < MANY + 200);
	assert_int_equal(nic_close(u), 0);
	u = open_rate(&info, "0");
	assert_int_equal(nic_mrc_ask(u, q, 1, SHORT_NS, a, &n), -ETIMEDOUT);
	assert_int_equal(n, 0);
	assert_int_equal(nic_close(u), 0);
}

/* Those who never answer keep nobody else from being asked, and the call ends. */
static void the_silent_do_not_hold_up_the_others(void **state)
{
	static struct nic_mrc_question q[1024];
	static struct nic_mrc_answer a[1024];
	struct nic_info info;
	struct nic_user *u = open_mrc(&info);
	uint32_t n;

	(void)state;
	for (uint32_t i = 0; i < 1024; i++) {
		q[i] = question(&info, AF_INET, i);
		if (i < 900)
			aim_away(&q[i]);
	}
	assert_int_equal(nic_mrc_ask(u, q, 1024, SECOND_NS, a, &n), -ETIMEDOUT);
	assert_int_equal(n, 124);
	for (uint32_t i = 0; i < n; i++)
		assert_true(a[i].question >= 900);
	assert_int_equal(usage_of(u).probes, 0);
	assert_int_equal(nic_mrc_ask(u, q, 1, SHORT_NS, a, &n), -ETIMEDOUT);
	assert_int_equal(n, 0);
	assert_int_equal(nic_mrc_ask(u, q + 900, 1, SECOND_NS, a, &n), 0);
	assert_int_equal(nic_close(u), 0);
}

static void bad_questions_are_refused(void **state)
{
	struct nic_info info;
	struct nic_user *u = open_mrc(&info);
	struct nic_mrc_question good = question(&info, AF_INET, 0), q[2];
	struct nic_mrc_answer a[2];
	struct mrc_counters before, after;
	uint32_t n = 7;

	(void)state;
	nic_counters(u, &before, sizeof before, NULL);
	q[0] = good;
#define REFUSED(change, error)                                                      \
	do {                                                                        \
		q[1] = good;                                                        \
		change;                                                             \
		assert_int_equal(nic_mrc_ask(u, q, 2, SECOND_NS, a, &n), -(error)); \
		assert_int_equal(n, 0);                                             \
	} while (0)
	REFUSED(q[1].port = 1, EINVAL);
	REFUSED(q[1].op = 2, EINVAL);
	REFUSED(q[1].dscp = 64, EINVAL);
	REFUSED(q[1].wide = CONTROL_UDP + 1, EINVAL);
	REFUSED(q[1].wide = CONTROL_SRV6, ENOTSUP);
	REFUSED(q[1].sgid[15] ^= 0x40, EINVAL);
	REFUSED(memcpy(q[1].dgid, info.gids[stage_gid(&info, AF_INET6)].raw, 16), EINVAL);
#undef REFUSED
	assert_int_equal(nic_mrc_ask(u, q, 65537, SECOND_NS, a, &n), -EINVAL);
	nic_counters(u, &after, sizeof after, NULL);
	assert_int_equal(after.tx_endpoint, before.tx_endpoint);
	assert_int_equal(nic_close(u), 0);
	struct nic_info rc = stage_info("lo");

	u = nic_open(&rc);
	assert_int_equal(nic_mrc_ask(u, &good, 1, SECOND_NS, a, &n), -ENOTSUP);
	assert_int_equal(nic_close(u), 0);
}

/* MRC-10.2.2-01: in the DSCP that was asked for, as it leaves. */
static void the_code_point_is_on_the_wire(void **state)
{
	struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	struct nic_info info;
	struct nic_user *u = open_mrc(&info);
	struct nic_mrc_answer a;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t n;

	(void)state;
	inet_pton(AF_INET, "127.0.0.9", &there.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&there, sizeof there), 0);
	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &(int){1}, sizeof(int)), 0);
	for (uint32_t dscp = 0; dscp < 64; dscp += 7) {
		struct nic_mrc_question q = question(&info, AF_INET, 0);
		uint8_t bytes[256], control[CMSG_SPACE(1)] = {0};
		struct iovec iov = {bytes, sizeof bytes};
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = control,
				     .msg_controllen = sizeof control};

		aim_away(&q);
		q.dscp = (uint8_t)dscp;
		assert_int_equal(nic_mrc_ask(u, &q, 1, SECOND_NS / 100, &a, &n), -ETIMEDOUT);
		assert_true(recvmsg(fd, &msg, MSG_DONTWAIT) > 12);
		/* The one thing that was asked to be told. */
		assert_int_equal(msg.msg_controllen, CMSG_SPACE(1));
		assert_int_equal(control[CMSG_LEN(0)] >> 2, dscp);
		assert_int_equal(bytes[0], MRC_OP_ENDPOINT_REQUEST);
		assert_int_equal(bytes[10], driver_tag(device_shard(u->device, 0)->io));
	}
	close(fd);
	assert_int_equal(nic_close(u), 0);
}

/* Asks by all values until n times all were answered; false: they never are. Packets are lost where
 * others come or go, until the kernel was told. */
static bool ask_rounds(struct nic_user *u, const struct nic_info *info, uint32_t n)
{
	struct nic_mrc_question q[64];
	struct nic_mrc_answer a[64];
	uint32_t got;

	for (uint32_t i = 0; i < 64; i++)
		q[i] = question(info, AF_INET, i);
	for (uint32_t tries = 0; n > 0 && tries < 64; tries++)
		n -= nic_mrc_ask(u, q, 64, SHORT_NS, a, &got) == 0;
	return n == 0;
}

/* Each process on an address gets the answers to what it asked, whoever answers; also those that
 * came later, and those that stay when the first has gone. */
static void processes_ask_side_by_side(void **state)
{
	enum { CHILDREN = 3 };
	pid_t children[CHILDREN];
	struct nic_info info;
	int gate[2];

	(void)state;
	assert_int_equal(pipe(gate), 0);
	for (uint32_t i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		if (children[i])
			continue;
		char c;
		struct nic_info mine;
		struct nic_user *u = open_mrc(&mine);

		close(gate[1]);
		bool is_good = ask_rounds(u, &mine, 4);

		/* All have come, and one goes when the gate opens. */
		is_good &= read(gate[0], &c, 1) == 0;
		if (i == 0)
			_exit(!is_good);
		is_good &= ask_rounds(u, &mine, 4);
		_exit(!is_good);
	}
	struct nic_user *u = open_mrc(&info);

	assert_true(ask_rounds(u, &info, 4));
	close(gate[1]);
	close(gate[0]);
	for (uint32_t i = 0; i < CHILDREN; i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	assert_true(ask_rounds(u, &info, 4));
	assert_int_equal(nic_close(u), 0);
}

/* A device of RC on the address answers nothing, and keeps no question from who does. */
static void another_transport_is_no_hindrance(void **state)
{
	struct nic_info rc = stage_info("lo"), info;
	struct nic_user *first = nic_open(&rc), *u = open_mrc(&info);

	(void)state;
	assert_int_not_equal(driver_tag(device_shard(first->device, 0)->io),
			     driver_tag(device_shard(u->device, 0)->io));
	assert_true(ask_rounds(u, &info, 4));
	assert_int_equal(nic_close(first), 0);
	assert_true(ask_rounds(u, &info, 1));
	first = nic_open(&rc);
	assert_true(ask_rounds(u, &info, 4));
	assert_int_equal(nic_close(first), 0);
	assert_int_equal(nic_close(u), 0);
}

struct asker {
	struct nic_user *user;
	struct nic_info info;
	bool is_good;
};

static void *ask_in_thread(void *context)
{
	struct asker *a = context;

	a->is_good = ask_rounds(a->user, &a->info, 8);
	return NULL;
}

static void threads_ask_at_once(void **state)
{
	struct asker a[4];
	pthread_t threads[4];

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		a[i].user = open_mrc(&a[i].info);
		assert_int_equal(pthread_create(&threads[i], NULL, ask_in_thread, &a[i]), 0);
	}
	for (uint32_t i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_true(a[i].is_good);
		assert_int_equal(nic_close(a[i].user), 0);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(every_question_is_answered),
	cmocka_unit_test(strangers_are_answered_as_the_device_says),
	cmocka_unit_test(the_silent_do_not_hold_up_the_others),
	cmocka_unit_test(bad_questions_are_refused),
	cmocka_unit_test(the_code_point_is_on_the_wire),
	cmocka_unit_test(processes_ask_side_by_side),
	cmocka_unit_test(another_transport_is_no_hindrance),
	cmocka_unit_test(threads_ask_at_once),
};

ISOLATED_MAIN(cases)
