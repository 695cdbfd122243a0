/* io/udp.h where many share an address: packets that strayed, until a survey ends that, and owners
 * that are slow to take what strayed. Loopback only; needs no privilege. */
#include "isolate.h"

#include "check.h"
#include "udp_others.h"
#include "udp_pair.h"

#include <linux/filter.h>
#include <signal.h>

enum {
	MEMBERS = 20,
	ROUND = 48,      /* packets to each member */
	SETTLE = 40,     /* turns in which a survey is due, begins and ends */
	QUIET = 20,      /* turns in which what is not to happen would */
	PATIENT = 20000, /* turns for what must happen */
	CALLS = 1000,    /* that it takes a member to receive all there is */
	TURN_MS = 2,     /* by the members' clock, which does not care how busy the machine is */
	TURN_US = 50,    /* by another one */
	PROBE_BYTES = 24,
	PROBE = 0xe1,
};

static struct driver *member[MEMBERS]; /* NULL: not there, or not to be run */
static uint32_t member_got[MEMBERS];

static nsec now;

/* Takes all that is there; returns how many. */
static uint32_t run_one(struct driver *u)
{
	struct rx_pkt pkts[DRIVER_BATCH];
	uint32_t n, got = 0;

	for (unsigned i = 0; i < CALLS && (n = driver_receive(u, now, pkts, DRIVER_BATCH)) > 0; i++)
		got += n;
	return got;
}

/* Runs all members, and a, for so many turns, or until all of them have got n. */
static void run_members(uint32_t n, uint32_t turns)
{
	uint32_t behind = 1;

	for (; behind && turns > 0; turns--) {
		now += TURN_MS * UINT64_C(1000000);
		behind = 0;
		assert_int_equal(run_one(a), 0);
		for (unsigned i = 0; i < MEMBERS; i++) {
			if (!member[i])
				continue;
			member_got[i] += run_one(member[i]);
			behind += member_got[i] < n;
		}
		usleep(TURN_US);
	}
}

static uint64_t strays(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < MEMBERS; i++)
		if (member[i])
			n += member[i]->count.rx_passed_on;
	return n;
}

static uint64_t surveys(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < MEMBERS; i++)
		if (member[i])
			n += member[i]->count.steered;
	return n;
}

/* So many packets by many paths to a tag. */
static void send_to(uint8_t tag, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		out[i] = packet(i, 100);
		out[i].ev = i << 16;
		out[i].head[5] = tag;
	}
	send_all(a, out, n);
}

/* A round of packets by many paths to each member, all of which arrive. Returns how many strayed.
 */
static uint64_t round_of_all(void)
{
	uint64_t before = strays();

	memset(member_got, 0, sizeof member_got);
	for (uint32_t m = 0; m < MEMBERS; m++)
		if (member[m])
			send_to(driver_tag(member[m]), ROUND);
	run_members(ROUND, PATIENT);
	for (uint32_t m = 0; m < MEMBERS; m++)
		if (member[m])
			assert_int_equal(member_got[m], ROUND);
	return strays() - before;
}

static uint64_t settled_round(void)
{
	round_of_all();
	run_members(UINT32_MAX, SETTLE);
	return round_of_all();
}

static void open_members(uint32_t n, bool is_reverse)
{
	struct udp_cfg cfg = {.sources = 64}, small = {.max_peers = 8, .max_locals = 1};

	fill_data();
	port = free_port();
	a = new_driver(&cfg);
	a_local = open_at(a, "127.0.0.2");
	b_of_a = peer_of(a, "127.0.0.3");
	for (uint32_t i = 0; i < n; i++)
		member[i] = new_driver(&small);
	for (uint32_t i = 0; i < n; i++)
		open_at(member[is_reverse ? n - 1 - i : i], "127.0.0.3");
	b = member[0];
}

static void leave(uint32_t i)
{
	assert_balance(member[i]);
	driver_free(member[i]);
	member[i] = NULL;
}

static void close_members(void)
{
	for (unsigned i = 0; i < MEMBERS; i++)
		if (member[i])
			leave(i);
	driver_free(a);
	a = b = NULL;
}

static void strays_end_when_members_come_and_go(void **state)
{
	struct udp_cfg small = {.max_peers = 8, .max_locals = 1};

	(void)state;
	open_members(3, false);
	/* Their tags are 1 to 3, their places 0 to 2. */
	assert_true(round_of_all() > 0);
	assert_int_equal(settled_round(), 0);
	leave(0);
	b = member[1];
	assert_true(round_of_all() > 0);
	assert_int_equal(settled_round(), 0);
	member[0] = new_driver(&small);
	assert_int_equal(driver_tag(member[0]), 1);
	open_at(member[0], "127.0.0.3");
	assert_int_equal(settled_round(), 0);
	/* Once more without anything new: nothing is done about it. */
	run_members(UINT32_MAX, SETTLE);
	uint64_t probes = member[0]->count.rx_probes;

	assert_int_equal(settled_round(), 0);
	assert_int_equal(member[0]->count.rx_probes, probes);
	for (unsigned i = 0; i < 3; i++)
		assert_asleep(member[i], now);
	close_members();
}

/* One who comes takes the program as it is. */
static void a_newcomer_does_not_disturb(void **state)
{
	struct driver *newcomer;

	(void)state;
	open_members(4, true);
	assert_int_equal(settled_round(), 0);
	newcomer = new_driver(&(struct udp_cfg){.max_peers = 8, .max_locals = 1});
	open_at(newcomer, "127.0.0.3");
	assert_int_equal(round_of_all(), 0);
	driver_free(newcomer);
	close_members();
}

/* Where others are, before there is a packet; and where nobody is, not at all. */
static void one_who_comes_surveys(void **state)
{
	struct driver *busy;

	(void)state;
	open_members(1, false);
	run_members(UINT32_MAX, SETTLE);
	assert_int_equal(b->count.rx_probes, 0);
	close_members();
	open_members(5, true);
	run_members(UINT32_MAX, SETTLE);
	assert_in_range(surveys(), 1, 4);
	assert_int_equal(round_of_all(), 0);
	close_members();
	/* Not even one who does not run gets what is for the newcomer. */
	open_members(2, false);
	busy = member[0];
	member[0] = NULL;
	run_members(UINT32_MAX, SETTLE);
	round_of_all();
	member[0] = busy;
	run_members(UINT32_MAX, SETTLE);
	assert_int_equal(strays(), 0);
	close_members();
}

/* A socket of the address that answers nothing, as one of an older version would not. */
static int mute_socket(const char *at)
{
	struct sockaddr_storage s = address(at, port);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &(int){1}, sizeof(int)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&s, length_of(&s)), 0);
	return fd;
}

/* From now on all packets but probes reach the first. */
static void steer_wrong(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROBE, 0, 2),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 5),
		BPF_STMT(BPF_RET | BPF_A, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = {sizeof code / sizeof code[0], code};
	int fd = mute_socket("127.0.0.3");

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof prog),
			 0);
	close(fd);
}

/* More than one batch of probes, and nobody at the place of his tag. */
static void many_members_in_the_wrong_order(void **state)
{
	uint64_t before;

	(void)state;
	open_members(MEMBERS, true);
	assert_int_equal(settled_round(), 0);
	run_members(UINT32_MAX, SETTLE);
	before = surveys();
	steer_wrong();
	settled_round();
	/* Strays were seen by all, but few probed. */
	assert_in_range(surveys() - before, 1, MEMBERS / 2);
	assert_int_equal(settled_round(), 0);
	leave(3);
	leave(11);
	settled_round();
	assert_int_equal(settled_round(), 0);
	close_members();
}

static void a_stopped_process_does_not_hold_up_the_others(void **state)
{
	uint8_t tag = 0;
	int ready, status;
	pid_t pid;

	(void)state;
	open_members(3, false);
	pid = start_child(&ready);
	assert_int_equal(read(ready, &tag, 1), 1);
	assert_int_equal(settled_round(), 0);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	leave(0); /* the last is the stopped one */
	b = member[1];
	settled_round();
	assert_int_equal(settled_round(), 0);
	leave(1);
	b = member[2];
	settled_round();
	assert_int_equal(settled_round(), 0);
	assert_asleep(b, now);
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(ready);
	assert_int_equal(settled_round(), 0);
	close_members();
}

/* What a survey does not learn of stays as it was. */
static void a_silent_place_stays_known(void **state)
{
	struct driver *silent;
	struct other nine;

	(void)state;
	open_members(3, true);
	nine = tag_socket(9);
	/* b, who is the first to run, sees strays and probes. */
	send_to(9, DRIVER_BATCH);
	run_members(UINT32_MAX, SETTLE);
	assert_int_equal(b->count.steered, 1);
	silent = member[1];
	member[1] = NULL;
	leave(2);
	/* Now the places are b's and the silent one's, whose tag is 2. */
	send_to(9, DRIVER_BATCH);
	run_members(UINT32_MAX, 2 * SETTLE);
	assert_int_equal(b->count.steered, 2);
	uint64_t before = b->count.rx_passed_on;

	send_to(driver_tag(silent), ROUND);
	run_members(UINT32_MAX, QUIET);
	assert_int_equal(b->count.rx_passed_on, before);
	member[1] = silent;
	memset(member_got, 0, sizeof member_got);
	run_members(UINT32_MAX, QUIET);
	assert_int_equal(member_got[1], ROUND);
	tag_close(&nine);
	close_members();
}

/* Strays that no survey can end are not surveyed for ever more often; those to nobody never. */
static void surveys_in_vain_become_rare(void **state)
{
	struct other nine = {-1, -1};

	(void)state;
	open_members(2, false);
	assert_int_equal(settled_round(), 0);
	run_members(UINT32_MAX, 100);
	for (unsigned is_owned = 0; is_owned <= 1; is_owned++) {
		uint64_t before = surveys();

		if (is_owned)
			nine = tag_socket(9);
		for (unsigned i = 0; i < 50; i++) {
			uint8_t bytes[BYTES];

			send_to(9, 8);
			run_members(UINT32_MAX, 20);
			while (is_owned && tag_recv(&nine, bytes, sizeof bytes) >= 0)
				;
		}
		/* In two seconds 50, 100, ... 800 ms apart, and by either. */
		if (is_owned)
			assert_in_range(surveys() - before, 1, 16);
		else
			assert_int_equal(surveys(), before);
	}
	tag_close(&nine);
	close_members();
}

static void probes_of_others_are_dropped(void **state)
{
	uint8_t probe[PROBE_BYTES] = {[0] = PROBE, [4] = 5}, bytes[BYTES];
	struct other five;
	int far, near, mute;

	(void)state;
	open_members(1, false);
	five = tag_socket(5);
	far = mute_socket("127.0.0.9"); /* the port is the right one */
	near = plain_socket("127.0.0.3");
	plain_send(far, "127.0.0.3", probe, sizeof probe);
	plain_send(near, "127.0.0.3", probe, sizeof probe);
	run_members(UINT32_MAX, QUIET);
	assert_int_equal(b->count.drop_probe, 2);
	assert_int_equal(b->count.rx_probes, 0);
	assert_int_equal(tag_recv(&five, bytes, sizeof bytes), -1);
	/* From a member: received, but for its length. */
	mute = mute_socket("127.0.0.3");
	plain_send(mute, "127.0.0.3", probe, sizeof probe - 1);
	plain_send(mute, "127.0.0.3", probe, sizeof probe);
	run_members(UINT32_MAX, QUIET);
	assert_int_equal(b->count.drop_probe, 3);
	assert_int_equal(b->count.rx_probes, 1);
	assert_true(tag_recv(&five, bytes, sizeof bytes) > PROBE_BYTES);
	assert_int_equal(b->count.steered, 0);
	assert_asleep(b, now);
	close(far);
	close(near);
	close(mute);
	tag_close(&five);
	close_members();
}

/* b is asked by a false member what an answer looks like; it is then of tag 9, for probe. */
static size_t make_answer(int mute, const uint8_t *probe, uint8_t *answer)
{
	uint8_t question[PROBE_BYTES] = {[0] = PROBE, [4] = 7};
	struct other seven = tag_socket(7);
	ssize_t len;

	plain_send(mute, "127.0.0.3", question, sizeof question);
	run_members(UINT32_MAX, 1);
	len = tag_recv(&seven, answer, BYTES);
	assert_true(len > PROBE_BYTES);
	tag_close(&seven);
	memcpy(answer + len - PROBE_BYTES, probe, PROBE_BYTES);
	assert_int_equal(answer[len - PROBE_BYTES - 3], driver_tag(b));
	answer[len - PROBE_BYTES - 3] = 9;
	return (size_t)len;
}

/* Has b survey, and returns its probe for the place of the false member. */
static void provoke(int mute, uint8_t *probe)
{
	struct other six = tag_socket(6);

	/* Until one comes to b, which passes it on. */
	send_to(6, DRIVER_BATCH);
	for (int64_t end = now_ms() + WAIT_MS; now_ms() < end;) {
		run_members(UINT32_MAX, 1);
		while (recv(mute, probe, PROBE_BYTES, 0) == PROBE_BYTES)
			if (probe[0] == PROBE && probe[5] == 1) {
				tag_close(&six);
				return;
			}
	}
	fail_msg("no survey");
}

/* How many packets of DRIVER_BATCH to tag 9 the false member gets; those to b still reach b. */
static uint32_t nine_of(int mute)
{
	uint8_t bytes[BYTES];
	uint32_t n = 0;

	run_members(UINT32_MAX, SETTLE);
	while (recv(mute, bytes, sizeof bytes, 0) >= 0)
		;
	send_to(9, DRIVER_BATCH);
	round_of_all();
	while (recv(mute, bytes, sizeof bytes, 0) >= 0)
		n += bytes[5] == 9 && bytes[0] != PROBE;
	return n;
}

static void only_right_answers_change_anything(void **state)
{
	uint8_t probe[BYTES], answer[BYTES];
	size_t len;
	int mute;

	(void)state;
	open_members(1, false);
	mute = mute_socket("127.0.0.3");
	provoke(mute, probe);
	/* That the false member has tag 9, by one who cannot know the nonce; and by another user
	 * who does. */
	probe[8] ^= 1;
	len = make_answer(mute, probe, answer);
	assert_true(send_message(driver_tag(b), answer, len));
	answer[len - PROBE_BYTES + 8] ^= 1;
	if (geteuid() == 0)
		assert_true(send_as_other_user(driver_tag(b), answer, len, 1));
	assert_true(nine_of(mute) < DRIVER_BATCH); /* by hash, some are b's */
	assert_int_equal(b->count.steered, 1);
	/* The same, but right. */
	run_members(UINT32_MAX, SETTLE);
	provoke(mute, probe);
	len = make_answer(mute, probe, answer);
	assert_true(send_message(driver_tag(b), answer, len));
	assert_int_equal(nine_of(mute), DRIVER_BATCH);
	close(mute);
	close_members();
}

/* Whoever probes all the time does not keep others from it. */
static void probes_put_a_survey_off_only_for_a_while(void **state)
{
	uint8_t probe[PROBE_BYTES] = {[0] = PROBE, [4] = 5};
	struct other six;
	int mute;

	(void)state;
	open_members(1, false);
	mute = mute_socket("127.0.0.3");
	six = tag_socket(6);
	for (uint32_t i = 0; i < 3 * SETTLE; i++) {
		plain_send(mute, "127.0.0.3", probe, sizeof probe);
		if (i == 1)
			send_to(6, DRIVER_BATCH);
		run_members(UINT32_MAX, 1);
		if (i == SETTLE / 4)
			assert_int_equal(b->count.steered, 0);
	}
	assert_int_equal(b->count.steered, 1);
	close(mute);
	tag_close(&six);
	close_members();
}

static void a_survey_ends_with_its_address(void **state)
{
	uint8_t probe[BYTES];
	int mute;

	(void)state;
	open_members(1, false);
	mute = mute_socket("127.0.0.3");
	provoke(mute, probe);
	driver_unbind(b, 0);
	assert_int_equal(open_at(b, "127.0.0.4"), 0);
	run_members(UINT32_MAX, QUIET);
	assert_int_equal(b->count.steered, 0);
	close(mute);
	driver_unbind(b, 0);
	assert_int_equal(open_at(b, "127.0.0.3"), 0);
	assert_int_equal(settled_round(), 0);
	close_members();
}

/* ---- owners that are slow -------------------------------------------------------------------- */

static void stray_to(uint8_t tag, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		out[0] = packet(i, 4096);
		out[0].head[5] = tag;
		send_all(a, out, 1);
		assert_int_equal(run_one(b), 0);
	}
}

static uint32_t packets_of(struct other *o)
{
	static uint8_t bytes[1 << 16];
	uint32_t n = 0;
	ssize_t got;

	while ((got = tag_recv(o, bytes, sizeof bytes)) >= 0)
		n += (uint32_t)got / 4112;
	return n;
}

/* Whether it has packets yet to pass on. */
static bool b_waits(void)
{
	const struct driver_counters *c = &b->count;

	return c->rx > c->rx_passed_on + c->drop_stray;
}

/* Once an owner has room, it is not waited for, though it has not read all. */
static void give_room(struct other *owner)
{
	struct pollfd p = {driver_fd(b), POLLIN, 0};
	uint8_t bytes[BYTES];
	uint32_t n = 0;

	for (; !b_waits() && n < 100; n++)
		stray_to(5, 1);
	for (; n > 2; n--)
		assert_true(tag_recv(owner, bytes, sizeof bytes) > 0);
	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_int_equal(run_one(b), 0);
	assert_false(b_waits());
	assert_asleep(b, now);
	assert_int_equal(packets_of(owner), 2);
}

static void strays_wait_for_a_slow_owner(void **state)
{
	struct udp_cfg cfg = {0};
	struct pollfd p;
	uint32_t got = 0, got_six;
	struct other five, six;

	(void)state;
	fill_data();
	open_pair(&cfg, &cfg, false);
	five = tag_socket(5);
	six = tag_socket(6);
	stray_to(5, 60);
	assert_int_equal(b->count.drop_stray, 0);
	assert_true(b->count.rx_passed_on < 60);
	/* Far more than may wait; another owner has his at once all the same. */
	stray_to(5, 60);
	assert_true(b->count.drop_stray > 0);
	stray_to(6, 3);
	got_six = packets_of(&six);
	assert_int_equal(got_six, 3);
	stray_to(6, 30);
	assert_asleep(b, now);
	p = (struct pollfd){driver_fd(b), POLLIN, 0};
	for (unsigned i = 0; i < 100 && (i == 0 || poll(&p, 1, QUIET_MS)); i++) {
		got += packets_of(&five);
		got_six += packets_of(&six);
		assert_int_equal(run_one(b), 0);
	}
	got += packets_of(&five);
	got_six += packets_of(&six);
	assert_int_equal(got_six, 33);
	assert_int_equal(got + got_six, b->count.rx_passed_on);
	assert_int_equal(got + b->count.drop_stray, 120);
	assert_true(got > 40);
	assert_asleep(b, now);
	give_room(&five);
	/* One that is gone holds nothing up. */
	stray_to(5, 60);
	tag_close(&five);
	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_int_equal(run_one(b), 0);
	assert_balance(b);
	assert_asleep(b, now);
	tag_close(&six);
	close_pair();
}

/* One packet by a plain socket, taken at a time; how often b dropped such as nobody's so far. */
static uint64_t strays_at(int fd, const uint8_t *bytes, nsec at)
{
	struct rx_pkt pkts[DRIVER_BATCH];

	plain_send(fd, "127.0.0.3", bytes, PROBE_BYTES);
	assert_int_equal(driver_receive(b, at, pkts, DRIVER_BATCH), 0);
	return b->count.drop_stray;
}

/* Nobody has the tag: no ICRC is computed, and who has it is looked for now and then only. */
static void a_tag_that_nobody_has(void **state)
{
	const nsec ms = 1000000;
	uint8_t bytes[PROBE_BYTES] = {[0] = 4, [5] = 9};
	struct udp_cfg cfg = {0};
	struct other nine;
	int fd;

	(void)state;
	open_pair(&cfg, &cfg, false);
	fd = plain_socket("127.0.0.9");
	assert_int_equal(strays_at(fd, bytes, ms), 1);
	assert_int_equal(strays_at(fd, bytes, 2 * ms), 2);
	assert_int_equal(b->count.drop_icrc, 0);
	nine = tag_socket(9);
	assert_int_equal(strays_at(fd, bytes, 50 * ms), 3);
	/* Now somebody has, for whom it is read. */
	assert_int_equal(strays_at(fd, bytes, 51 * ms), 3);
	assert_int_equal(b->count.drop_icrc, 1);
	assert_balance(b);
	tag_close(&nine);
	assert_int_equal(strays_at(fd, bytes, 101 * ms), 4);
	close(fd);
	close_pair();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(strays_end_when_members_come_and_go),
	cmocka_unit_test(a_newcomer_does_not_disturb),
	cmocka_unit_test(one_who_comes_surveys),
	cmocka_unit_test(many_members_in_the_wrong_order),
	cmocka_unit_test(a_stopped_process_does_not_hold_up_the_others),
	cmocka_unit_test(a_silent_place_stays_known),
	cmocka_unit_test(surveys_in_vain_become_rare),
	cmocka_unit_test(probes_of_others_are_dropped),
	cmocka_unit_test(only_right_answers_change_anything),
	cmocka_unit_test(probes_put_a_survey_off_only_for_a_while),
	cmocka_unit_test(a_survey_ends_with_its_address),
	cmocka_unit_test(strays_wait_for_a_slow_owner),
	cmocka_unit_test(a_tag_that_nobody_has),
};

ISOLATED_MAIN(cases)
