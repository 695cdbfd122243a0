/* MRC devices of two ports, raw frames over veth pairs, under control: the events of EVs that fail
 * and recover, ports that a controller disables, and entropy values that are SRv6 segments. */
#include "veth.h"

#include "nic_mrc_stage.h"

#include <sys/wait.h>

#include "controller.h"
#include "mrc/state.h"
#include "nic/mrc/inside.h"
#include "wire/mrc.h"

#define PORTS   2u
#define VALUES  6u /* three by each port */
#define FIRST   30001u
#define PROFILE 5u

static struct veth net;
static bool has_net;
static struct side s[SIDES];
static struct nic_info info[SIDES];
static struct controller c; /* of side 0 */

/* The device of both cables on a side. */
static struct nic_info find_device(unsigned side)
{
	struct nic_info *list = NULL, found = {.ifindex = 0};

	assert_true(veth_enter(&net, side));
	int n = nic_list(&list);

	for (int i = 0; i < n; i++)
		if (list[i].setup.transport == &transport_mrc && list[i].setup.n_ports == PORTS)
			found = list[i];
	free(list);
	assert_true(found.ifindex > 0);
	return found;
}

static uint32_t gid_of(unsigned side, unsigned port, bool is_v6)
{
	uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, 10, 9, (uint8_t)port, (uint8_t)(side + 1)};
	uint8_t v6[16] = {0xfd, 9, 0, (uint8_t)port, [15] = (uint8_t)(side + 1)};

	for (uint32_t i = 0; i < info[side].n_gids; i++)
		if (!memcmp(info[side].gids[i].raw, is_v6 ? v6 : v4, 16))
			return i;
	fail_msg("side %u has no address by port %u", side, port);
	return 0;
}

/* What a queue pair tells, with the number of its first packet always the same: so that ends can be
 * connected one after the other. */
static struct transport_end told_by(const struct nic_qp *qp)
{
	const struct transport_self self = {
		.number = qp->number, .psn = 77, .does = TRANSPORT_TELLS_TIME, .caps = &qp->caps};
	struct transport_end end;

	transport_mrc.pairs->tell(&self, &end);
	return end;
}

static void aim(unsigned side, struct nic_qp *a, struct nic_qp *b, bool is_v6)
{
	struct nic_link link = {.pmtu = PMTU, .access = MEM_REMOTE_WRITE};
	unsigned other = 1 - side;

	link.mine = told_by(a);
	link.theirs = told_by(b);
	link.path.gid_index = nic_gid_index(gid_of(side, 0, is_v6));
	memcpy(link.path.dgid, info[other].gids[gid_of(other, 0, is_v6)].raw, 16);
	link.path.planes = (1u << PORTS) - 1;
	for (unsigned port = 0; port < PORTS; port++) {
		link.path.plane[port].gid_index = nic_gid_index(gid_of(side, port, is_v6));
		memcpy(link.path.plane[port].dgid, info[other].gids[gid_of(other, port, is_v6)].raw,
		       16);
	}
	assert_true(veth_enter(&net, side));
	if (nic_qp_connect(a, &link))
		fail_msg("%s", nic_error());
	assert_true(veth_enter(&net, 0));
}

static void connect_pair(struct nic_qp *a, struct nic_qp *b)
{
	aim(0, a, b, false);
	aim(1, b, a, false);
}

static void open_all(void)
{
	if (!has_net)
		skip();
	for (unsigned side = 0; side < SIDES; side++) {
		info[side] = find_device(side);
		side_open(&s[side], &info[side]);
	}
	assert_true(veth_enter(&net, 0));
	controller_open(&c, s[0].user);
	controller_begin(&c);
	controller_add(&c, PROFILE, VALUES, FIRST, PORTS);
	controller_commit(&c);
}

static void close_all(void)
{
	controller_close(&c);
	side_close(&s[0]);
	side_close(&s[1]);
}

static void name(struct nic_qp *qp, uint64_t id)
{
	if (nic_mrc_qp_profiles(qp, &id, NULL))
		fail_msg("%s", nic_error());
}

static struct transport_progress fare(struct nic_qp *qp)
{
	struct transport_progress p;

	assert_int_equal(nic_qp_progress(qp, &p), 0);
	return p;
}

static void write_some(uint32_t n)
{
	struct sge piece = piece_of(&s[0], 0, PMTU);

	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(stage_post(s[0].qp, write_op(&s[1], &piece, i)), 0);
		assert_int_equal(stage_one(s[0].cq).status, ENGINE_OK);
	}
}

/* EVs whose neighbours are not known yet lose packets, and are out of use for a while. */
static void write_by_both(void)
{
	uint64_t end = stage_now() + STAGE_NS;

	do
		write_some(1);
	while (fare(s[0].qp).open_ports != 3 && stage_now() < end);
	assert_int_equal(fare(s[0].qp).open_ports, 3);
}

/* Port 1 of side 0; one that is down has lost its addresses of IPv6. */
static void take_down(void)
{
	assert_true(veth_ip(&net, 0, "link set w1 down\n"));
}

static void bring_up(void)
{
	assert_true(veth_set_up(&net, 0, 1));
}

/* The next n events are of n different values of this port, in this state. */
static void expect_events(uint32_t n, uint32_t port, uint8_t state)
{
	struct control_event events[16];
	uint64_t end = stage_now() + STAGE_NS;
	uint32_t seen = 0;

	for (uint32_t got = 0; got < n;) {
		assert_int_equal(members_look(c.members), 0);
		uint32_t k = members_take(c.members, events, n - got);

		for (uint32_t i = 0; i < k; i++) {
			uint32_t value = (uint32_t)events[i].ev.val[0] << 8 | events[i].ev.val[1];

			assert_int_equal(events[i].profile_id, PROFILE);
			assert_int_equal(events[i].ev.port, port);
			assert_int_equal(events[i].state, state);
			assert_int_equal(events[i].n_lost, 0);
			assert_in_range(value, FIRST, FIRST + VALUES - 1);
			seen |= 1u << (value - FIRST);
		}
		got += k;
		if (stage_now() > end)
			fail_msg("%u of %u events came", got, n);
		usleep(500);
	}
	assert_int_equal(__builtin_popcount(seen), n);
}

static void expect_no_event(void)
{
	struct control_event event;

	usleep(20000);
	assert_int_equal(members_look(c.members), 0);
	assert_int_equal(members_take(c.members, &event, 1), 0);
}

static uint32_t n_bad(void)
{
	uint32_t n = 0;

	assert_int_equal(members_look(c.members), 0);
	for (uint32_t i = 0; i < VALUES; i++)
		n += members_find_bad(c.members, PROFILE, i);
	return n;
}

/* Once for a device, however many queue pairs find the same; and good again when none does. */
static void evs_that_fail_are_told(void **state)
{
	struct nic_qp *more[SIDES];

	(void)state;
	open_all();
	for (unsigned side = 0; side < SIDES; side++)
		more[side] = new_qp(&s[side]);
	name(s[0].qp, PROFILE);
	name(more[0], PROFILE);
	connect_pair(s[0].qp, s[1].qp);
	connect_pair(more[0], more[1]);
	write_some(20);
	expect_no_event();
	take_down();
	expect_events(3, 2, CONTROL_REPORT_BAD);
	assert_int_equal(n_bad(), 3);
	for (uint32_t i = 0; i < VALUES; i++)
		assert_int_equal(members_find_bad(c.members, PROFILE, i), i % 2);
	write_some(20);
	/* One queue pair still says so. */
	assert_int_equal(nic_qp_free(more[0]), 0);
	expect_no_event();
	assert_int_equal(n_bad(), 3);
	bring_up();
	expect_events(3, 2, CONTROL_REPORT_GOOD);
	assert_int_equal(n_bad(), 0);
	expect_no_event();
	assert_int_equal(nic_qp_free(more[1]), 0);
	close_all();
}

/* Nobody assumes its EVs bad any more. */
static void who_ends_was_the_last_to_assume(void **state)
{
	(void)state;
	open_all();
	name(s[0].qp, PROFILE);
	connect_pair(s[0].qp, s[1].qp);
	take_down();
	expect_events(3, 2, CONTROL_REPORT_BAD);
	assert_int_equal(nic_qp_free(s[0].qp), 0);
	s[0].qp = NULL;
	expect_events(3, 2, CONTROL_REPORT_GOOD);
	assert_int_equal(n_bad(), 0);
	bring_up();
	expect_no_event();
	close_all();
}

static void events_are_told_by_the_mask(void **state)
{
	(void)state;
	open_all();
	name(s[0].qp, PROFILE);
	connect_pair(s[0].qp, s[1].qp);
	controller_begin(&c);
	control_find_profile(c.state, PROFILE)->event_mask = CONTROL_REPORT_GOOD;
	controller_commit(&c);
	WAIT_FOR(mrc_naming_of(s[0].qp)->evs->event_mask == CONTROL_REPORT_GOOD);
	take_down();
	WAIT_FOR(n_bad() == 3);
	bring_up();
	expect_events(3, 2, CONTROL_REPORT_GOOD);
	expect_no_event();
	close_all();
}

static void disable(uint32_t ports)
{
	controller_begin(&c);
	c.state->disabled_ports = ports;
	controller_commit(&c);
}

static uint32_t ports_up(void)
{
	struct nic_info now;

	assert_int_equal(nic_query(s[0].user, &now), 0);
	assert_true(now.is_up);
	return now.ports[0].is_up | (uint32_t)now.ports[1].is_up << 1;
}

/* The engine has something to send by port 1, whatever it knows of it. */
static void ask_by_port_1(void)
{
	struct device *d = s[0].user->device;
	struct shard *shard = s[0].qp->shard;
	const struct path_profile *own = &mrc_device_of(d)->evs->profile;
	struct mrc_endpoint request = {
		.peer = s[0].qp->addrs.peer,
		.local = s[0].qp->addrs.local,
		.ev = own->set.evs[own->first[1]],
		.op = MRC_ENDPOINT_EV_PROBE,
	};

	device_enter(d);
	assert_int_equal(mrc_endpoint_post(shard->engine, shard_catch_up(shard), &request), 0);
	device_leave(d);
}

/* MRC 7.4.8: the peer is told, as of any port that is down, and the other one serves. */
static void one_of_two_ports_is_disabled(void **state)
{
	struct mrc_counters before, after;
	struct driver_counters io;

	(void)state;
	open_all();
	connect_pair(s[0].qp, s[1].qp);
	write_by_both();
	disable(2);
	WAIT_FOR(ports_up() == 1);
	assert_int_equal(fare(s[0].qp).open_ports, 1);
	write_some(20);
	WAIT_FOR(fare(s[1].qp).open_ports == 1);
	nic_counters(s[0].user, &before, sizeof before, NULL);
	ask_by_port_1();
	write_some(20);
	nic_counters(s[0].user, &after, sizeof after, &io);
	assert_int_equal(after.tx_endpoint, before.tx_endpoint);
	assert_int_equal(io.rx, io.rx_delivered + io.drop_disabled);
	disable(0);
	WAIT_FOR(ports_up() == 3);
	WAIT_FOR(fare(s[1].qp).open_ports == 3);
	write_some(20);
	close_all();
}

/* A port whose peer was not told yet: what it sends there is lost, and counted. */
static void nothing_is_received_by_a_disabled_port(void **state)
{
	struct driver_counters count;
	nsec rtt_ns;
	uint32_t ev;

	(void)state;
	open_all();
	connect_pair(s[0].qp, s[1].qp);
	/* The first may meet a neighbour that is not known yet. */
	ev = mrc_device_of(s[1].user->device)->evs->profile.first[1];
	for (uint32_t i = 0; i < 3 && nic_mrc_ping(s[1].qp, ev, &rtt_ns); i++)
		continue;
	disable(2);
	WAIT_FOR(ports_up() == 1);
	assert_int_equal(nic_mrc_ping(s[1].qp, ev, &rtt_ns), -ETIMEDOUT);
	nic_counters(s[0].user, NULL, 0, &count);
	assert_true(count.drop_disabled > 0);
	disable(0);
	close_all();
}

/* 9.3.2, whatever the file says that a controller left. */
static void a_value_is_of_one_plane(void **state)
{
	const uint64_t id = 30;

	(void)state;
	open_all();
	controller_begin(&c);
	struct control_profile *p = controller_add(&c, id, 2, FIRST, 2);

	memcpy(p->evs[1].val, p->evs[0].val, sizeof p->evs[0].val);
	controller_commit(&c);
	assert_int_equal(nic_mrc_qp_profiles(s[0].qp, &id, NULL), -EINVAL);
	assert_non_null(strstr(nic_error(), "for several ports"));
	close_all();
}

static void add_format(void)
{
	*control_add_format(c.state, 9) = (struct control_format){
		.id = 9,
		.phase = CONTROL_ONLINE,
		.wide = CONTROL_SRV6,
		.n_fields = 4,
		.width = {32, 32, 32, 32},
	};
}

static void add_srv6(uint64_t id, uint8_t last)
{
	static const uint8_t locator[8] = {0xfd, 9, 0, 0, 0, 0, 0, 0};
	struct control_profile *p = controller_add(&c, id, VALUES, FIRST, PORTS);

	p->mode = CONTROL_EXPLICIT;
	p->format_id = 9;
	for (uint32_t i = 0; i < VALUES; i++) {
		memset(p->evs[i].val, 0, sizeof p->evs[i].val);
		memcpy(p->evs[i].val, locator, sizeof locator);
		p->evs[i].val[3] = (uint8_t)(i % PORTS);
		p->evs[i].val[14] = (uint8_t)(last + i);
		p->evs[i].val[15] = 2;
	}
}

/* 9.4.3: each value is the outer address of its packets. Queue pairs to the same peer with other
 * profiles have their own; and the driver forgets what nobody uses. */
static void values_may_be_segments(void **state)
{
	struct mrc_attr attr[2];
	struct nic_qp *more[SIDES];

	(void)state;
	open_all();
	controller_begin(&c);
	add_format();
	add_srv6(20, 10);
	add_srv6(21, 20);
	controller_commit(&c);
	for (unsigned side = 0; side < SIDES; side++)
		more[side] = new_qp(&s[side]);
	name(s[0].qp, 20);
	name(more[0], 21);
	aim(0, s[0].qp, s[1].qp, true);
	aim(0, more[0], more[1], true);
	assert_int_equal(nic_mrc_qp_query(s[0].qp, &attr[0], NULL, NULL), 0);
	assert_int_equal(nic_mrc_qp_query(more[0], &attr[1], NULL, NULL), 0);
	for (uint32_t i = 0; i < VALUES; i++) {
		const struct path_ev *ev = &attr[0].evs->set.evs[i];
		const struct encap_segments *segments = &mrc_naming_of(s[0].qp)->evs->segments[i];

		assert_int_equal(ev->port, i / 3);
		assert_int_equal(segments->n, 1);
		assert_int_equal(segments->at[0][14], 10 + 2 * (i % 3) + i / 3);
		assert_int_equal(path_profile_find(attr[1].evs, ev->value, PATH_ANY_PORT),
				 PATH_NONE);
	}
	for (unsigned side = 0; side < SIDES; side++)
		assert_int_equal(nic_qp_free(more[side]), 0);
	assert_int_equal(mrc_device_of(s[0].user->device)->control->evs->id, 20);
	assert_null(mrc_device_of(s[0].user->device)->control->evs->next);
	/* IPv4 has no segments. */
	more[0] = new_qp(&s[0]);
	name(more[0], 20);
	struct nic_link link = {.pmtu = PMTU, .path.gid_index = nic_gid_index(gid_of(0, 0, false))};

	assert_int_equal(nic_qp_end(more[0], &link.mine), 0);
	link.theirs = link.mine;
	memcpy(link.path.dgid, info[1].gids[gid_of(1, 0, false)].raw, 16);
	assert_int_equal(nic_qp_connect(more[0], &link), -EINVAL);
	assert_int_equal(nic_qp_free(more[0]), 0);
	close_all();
}

static void write_from(struct nic_qp *qp)
{
	struct sge piece = piece_of(&s[0], 0, PMTU);

	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(stage_post(qp, write_op(&s[1], &piece, i)), 0);
		assert_int_equal(stage_one(s[0].cq).status, ENGINE_OK);
	}
}

/* 9.3.5: packets go where their segments say, here to the peer itself; and those of others that
 * have none, to the same peer, go on as before when the lists are gone. */
static void segments_come_and_go_with_their_users(void **state)
{
	struct nic_qp *more[SIDES];

	(void)state;
	open_all();
	controller_begin(&c);
	add_format();
	add_srv6(20, 10);
	add_srv6(21, 0);
	for (uint32_t i = 0; i < VALUES; i++)
		control_find_profile(c.state, 21)->evs[i].val[14] = 0;
	controller_commit(&c);
	for (unsigned side = 0; side < SIDES; side++)
		more[side] = new_qp(&s[side]);
	aim(0, more[0], more[1], true);
	aim(1, more[1], more[0], true);
	write_from(more[0]);
	/* Nobody is at these addresses. */
	name(s[0].qp, 20);
	aim(0, s[0].qp, s[1].qp, true);
	assert_int_equal(nic_qp_free(s[0].qp), 0);
	write_from(more[0]);
	s[0].qp = new_qp(&s[0]);
	name(s[0].qp, 21);
	aim(0, s[0].qp, s[1].qp, true);
	aim(1, s[1].qp, s[0].qp, true);
	write_from(s[0].qp);
	for (unsigned side = 0; side < SIDES; side++)
		assert_int_equal(nic_qp_free(more[side]), 0);
	close_all();
}

/* What mrc_query_device says of every device, and of one that learns of trimmed packets. */
static void the_engine_does_what_is_said(void **state)
{
	(void)state;
	open_all();
	const struct mrc_cfg *does = &mrc_of(s[0].qp->shard->engine)->cfg;

	assert_true(s[0].user->device->info.setup.has_trim);
	assert_true(does->has_service_time);
	assert_true(does->has_trim_nack);
	close_all();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(evs_that_fail_are_told),
	cmocka_unit_test(who_ends_was_the_last_to_assume),
	cmocka_unit_test(events_are_told_by_the_mask),
	cmocka_unit_test(one_of_two_ports_is_disabled),
	cmocka_unit_test(nothing_is_received_by_a_disabled_port),
	cmocka_unit_test(a_value_is_of_one_plane),
	cmocka_unit_test(values_may_be_segments),
	cmocka_unit_test(segments_come_and_go_with_their_users),
	cmocka_unit_test(the_engine_does_what_is_said),
};

/* Interfaces of the second side have other numbers than those of the first: a process knows its
 * devices by them. */
int main(int argc, char **argv)
{
	has_net = veth_open(&net) && veth_ip(&net, 1, "link add x0 type veth peer name x1\n") &&
		  veth_add(&net, 0, 9000) && veth_add(&net, 1, 9000);
	setenv("WEFT_CONFIG", "/dev/null", 1);
	setenv("WEFT_INTERFACES", "w0+w1", 1);
	setenv("WEFT_DRIVER", "raw", 1);
	controller_setup();
	int r = check_main(argc, argv, cases, sizeof cases / sizeof cases[0]);

	controller_teardown();
	return r;
}
