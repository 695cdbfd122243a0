/* io/claim.h: numbers of processes, while strangers take all the names they can. */
#include "isolate.h"

#include "udp_others.h"

#include <sys/prctl.h>

#include "io/claim.h"

#define ALL "weft-claim-test-1"

static const struct claim_wish any = {.all = ALL, .type = SOCK_DGRAM | SOCK_CLOEXEC};
static const struct claim_wish lowest = {
	.all = ALL, .type = SOCK_DGRAM | SOCK_CLOEXEC, .is_in_order = true};

static void give_back(const int *fds, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		close(fds[i]);
}

static void numbers_are_given_once(void **state)
{
	bool is_seen[DRIVER_TAGS] = {false};
	int fds[DRIVER_TAGS];
	uint32_t n_in_order = 0;
	uint8_t tag = 0, last = 0;

	(void)state;
	for (uint32_t i = 0; i < DRIVER_TAGS; i++) {
		fds[i] = claim_tag(&any, &tag);
		assert_true(fds[i] >= 0);
		assert_false(is_seen[tag]);
		is_seen[tag] = true;
		n_in_order += i > 0 && i < 32 && tag == last + 1;
		last = tag;
	}
	/* Of the first few hardly any is the one behind the one before. */
	assert_in_range(n_in_order, 0, 16);
	assert_int_equal(claim_tag(&any, &tag), -EBUSY);
	close(fds[77]);
	fds[77] = claim_tag(&any, &tag);
	assert_true(fds[77] >= 0);
	give_back(fds, DRIVER_TAGS);
}

/* As many as packets have bits for, and then none is left. */
static void few_bits_make_few_numbers(void **state)
{
	struct claim_wish narrow = any;
	uint32_t seen = 0;
	uint8_t tag = 0;
	int fds[16];

	(void)state;
	narrow.bits = 4;
	for (uint32_t i = 0; i < 16; i++) {
		fds[i] = claim_tag(&narrow, &tag);
		assert_true(fds[i] >= 0);
		assert_true(tag < 16);
		seen |= 1u << tag;
	}
	assert_int_equal(seen, 0xffff);
	assert_int_equal(claim_tag(&narrow, &tag), -EBUSY);
	give_back(fds, 16);
}

static void in_order_means_the_lowest(void **state)
{
	int fds[4];
	uint8_t tag = 0;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		fds[i] = claim_tag(&lowest, &tag);
		assert_int_equal(tag, i);
	}
	close(fds[1]);
	fds[1] = claim_tag(&lowest, &tag);
	assert_int_equal(tag, 1);
	give_back(fds, 4);
}

struct squatter {
	pid_t pid;
	int fd;
};

/* Another user, who has all plain names from a number on, and all with a certain end, until it is
 * ended. */
static struct squatter start_squatter(const char *all, int type, uint32_t first)
{
	struct sockaddr_un name;
	char byte = 0;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		if (setgid(OTHER_UID) || setuid(OTHER_UID))
			_exit(1);
		for (uint32_t i = first; i < 2 * DRIVER_TAGS; i++) {
			int fd = socket(AF_UNIX, type, 0);
			uint64_t end = i < DRIVER_TAGS ? 0 : 0x1234;
			socklen_t len = claim_name(all, (uint8_t)i, end, &name);

			if (bind(fd, (struct sockaddr *)&name, len) ||
			    (type == SOCK_SEQPACKET && listen(fd, 8)))
				_exit(2);
		}
		if (write(ends[1], &byte, 1) != 1)
			_exit(3);
		_exit(read(ends[1], &byte, 1) != 0);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	return (struct squatter){pid, ends[0]};
}

static void end_squatter(const struct squatter *s)
{
	int status;

	close(s->fd);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_int_equal(status, 0);
}

static bool is_root(void)
{
	if (geteuid() != 0)
		print_message("not root: no other user can be had\n");
	return geteuid() == 0;
}

/* However many names strangers have, all numbers are there, and each once. */
static void a_stranger_takes_no_number(void **state)
{
	bool is_seen[DRIVER_TAGS] = {false};
	int fds[DRIVER_TAGS], plain[DRIVER_TAGS / 2];
	struct claim_held held;
	uint8_t tag = 0;

	(void)state;
	if (!is_root())
		skip();
	struct squatter s = start_squatter(ALL, SOCK_DGRAM, 0);

	for (uint32_t i = 0; i < DRIVER_TAGS; i++) {
		fds[i] = claim_tag(&any, &tag);
		if (fds[i] < 0)
			fail_msg("claim %u: %s", i, strerror(-fds[i]));
		assert_false(is_seen[tag]);
		is_seen[tag] = true;
	}
	assert_int_equal(claim_tag(&any, &tag), -EBUSY);
	assert_int_equal(claim_look(ALL, 0, &held), 0);
	for (uint32_t i = 0; i < DRIVER_TAGS; i++)
		assert_true(!held.is_plain[i] && held.ends[i] && held.ends[i] != 0x1234);
	/* When he goes, his names are free, and the numbers taken all the same. */
	end_squatter(&s);
	assert_int_equal(claim_tag(&any, &tag), -EBUSY);
	give_back(fds, DRIVER_TAGS / 2);
	memset(is_seen, 0, sizeof is_seen);
	assert_int_equal(claim_look(ALL, 0, &held), 0);
	for (uint32_t i = 0; i < DRIVER_TAGS / 2; i++) {
		plain[i] = claim_tag(&any, &tag);
		assert_true(plain[i] >= 0);
		assert_false(held.ends[tag] || is_seen[tag]);
		is_seen[tag] = true;
	}
	assert_int_equal(claim_tag(&any, &tag), -EBUSY);
	give_back(plain, DRIVER_TAGS / 2);
	give_back(fds + DRIVER_TAGS / 2, DRIVER_TAGS / 2);
}

enum { PROCESSES = 8, EACH = 8 };

/* All at once, in processes of their own: nobody gets what another has. */
static void claims_at_once_differ(void **state)
{
	bool is_seen[DRIVER_TAGS] = {false};
	pid_t pids[PROCESSES];
	int start[2], claimed[2], end[2], status;

	(void)state;
	if (!is_root())
		skip();
	struct squatter s = start_squatter(ALL, SOCK_DGRAM, 0);

	assert_int_equal(pipe(start) | pipe(claimed) | pipe(end), 0);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i])
			continue;
		char byte;
		uint8_t tags[EACH];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(start[1]);
		close(end[1]);
		if (read(start[0], &byte, 1) != 0)
			_exit(1);
		for (uint32_t k = 0; k < EACH; k++)
			if (claim_tag(&lowest, &tags[k]) < 0)
				_exit(2);
		if (write(claimed[1], tags, EACH) != EACH)
			_exit(3);
		_exit(read(end[0], &byte, 1) != 0);
	}
	close(start[1]);
	for (uint32_t i = 0; i < PROCESSES * EACH; i++) {
		uint8_t tag;

		assert_int_equal(read(claimed[0], &tag, 1), 1);
		assert_false(is_seen[tag]);
		is_seen[tag] = true;
	}
	close(end[1]);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	close(start[0]);
	close(end[0]);
	close(claimed[0]);
	close(claimed[1]);
	end_squatter(&s);
}

/* By many paths, so that some stray: all arrive, at the one or the other. */
static void send_to(struct driver *to, struct driver *other)
{
	for (uint32_t i = 0; i < 20; i++) {
		out[i] = packet(i, 100);
		out[i].ev = i << 16;
		out[i].head[5] = driver_tag(to);
	}
	send_all(a, out, 20);
	assert_int_equal(receive(to, other, 20, DRIVER_BATCH, WAIT_MS), 20);
	assert_int_equal(to->count.drop_stray + other->count.drop_stray, 0);
}

/* Drivers of this user still share an address, and pass packets on to each other. */
static void drivers_find_each_other(void **state)
{
	struct udp_cfg cfg = {.sources = 64};
	char all[64];

	(void)state;
	if (!is_root())
		skip();
	fill_data();
	port = free_port();
	snprintf(all, sizeof all, "weft-udp-2-0-%u-0", port);
	a = new_driver(&cfg);
	/* b has a plain name; c comes when there is none. */
	b = new_driver(&cfg);
	struct squatter s = start_squatter(all, SOCK_SEQPACKET, 2);
	struct driver *c = new_driver(&cfg);

	assert_int_not_equal(driver_tag(b), driver_tag(c));
	a_local = open_at(a, "127.0.0.2");
	b_of_a = peer_of(a, "127.0.0.3");
	open_at(b, "127.0.0.3");
	open_at(c, "127.0.0.3");
	send_to(b, c);
	send_to(c, b);
	assert_true(b->count.rx_passed_on + c->count.rx_passed_on > 0);
	/* And when he is gone. */
	end_squatter(&s);
	send_to(b, c);
	send_to(c, b);
	driver_free(c);
	driver_free(a);
	driver_free(b);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(numbers_are_given_once),    cmocka_unit_test(few_bits_make_few_numbers),
	cmocka_unit_test(in_order_means_the_lowest), cmocka_unit_test(a_stranger_takes_no_number),
	cmocka_unit_test(claims_at_once_differ),     cmocka_unit_test(drivers_find_each_other),
};

ISOLATED_MAIN(cases)
