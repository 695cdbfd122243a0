/* An MRC device under control, over kernel UDP on loopback: the profiles that queue pairs name,
 * what a controller changes while they run, and what they show. */
#include "nic_mrc_stage.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sys/wait.h>

#include "base/bytes.h"
#include "controller.h"
#include "nic/mrc/inside.h"

#define FIRST   30001u /* source ports of the profile, none of which the device takes by itself */
#define BURST   60u    /* packets in a row that take one EV here */
#define VALUES  4u
#define PROFILE UINT64_C(0x700000007)
#define ROCE    4791u

static struct side s[SIDES];
static struct nic_info info;
static struct controller c;

/* Both sides, their queue pairs not yet connected, and a profile of VALUES values. */
static void open_all(void)
{
	info = mrc_info();
	side_open(&s[0], &info);
	side_open(&s[1], &info);
	controller_open(&c, s[0].user);
	controller_begin(&c);
	controller_add(&c, PROFILE, VALUES, FIRST, 1);
	controller_commit(&c);
}

static void close_all(void)
{
	controller_close(&c);
	pair_close(s);
}

static void connect_all(void)
{
	join(s[0].qp, s[1].qp, &info, stage_gid(&info, AF_INET));
}

static int name_ev(struct nic_qp *qp, uint64_t id)
{
	return nic_mrc_qp_profiles(qp, &id, NULL);
}

static int name_cc(struct nic_qp *qp, uint64_t id)
{
	return nic_mrc_qp_profiles(qp, NULL, &id);
}

static struct transport_progress fare(void)
{
	struct transport_progress p;

	assert_int_equal(nic_qp_progress(s[0].qp, &p), 0);
	return p;
}

/* n writes of a packet each, one after the other. */
static void write_some(uint32_t n)
{
	struct sge piece = piece_of(&s[0], 0, PMTU);

	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(stage_post(s[0].qp, write_op(&s[1], &piece, i)), 0);
		assert_int_equal(stage_one(s[0].cq).status, ENGINE_OK);
	}
}

/* Sees what passes on lo; -1: not permitted. */
static int watch_lo(void)
{
	const struct sockaddr_ll lo = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IP),
		.sll_ifindex = (int)if_nametoindex("lo"),
	};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_IP));

	if (fd >= 0)
		assert_int_equal(bind(fd, (const struct sockaddr *)&lo, sizeof lo), 0);
	return fd;
}

/* The source ports of the profile that data was seen to have left by, a bit each. */
static uint32_t ports_seen(int fd)
{
	uint8_t bytes[64];
	uint32_t seen = 0;
	ssize_t len;

	while ((len = recv(fd, bytes, sizeof bytes, MSG_TRUNC)) > 0) {
		if (len < (ssize_t)PMTU)
			continue;
		uint32_t from = (uint32_t)bytes[20] << 8 | bytes[21];
		uint32_t to = (uint32_t)bytes[22] << 8 | bytes[23];

		if (to == ROCE && from >= FIRST && from < FIRST + VALUES)
			seen |= 1u << (from - FIRST);
	}
	return seen;
}

/* Those that n writes left by. */
static uint32_t ports_taken(int fd, uint32_t n)
{
	uint32_t seen = 0;

	ports_seen(fd);
	for (uint32_t i = 0; i < n; i++) {
		write_some(1);
		seen |= ports_seen(fd);
	}
	return seen;
}

static void packets_take_the_values_of_a_profile(void **state)
{
	struct mrc_attr attr;
	int fd = watch_lo();

	(void)state;
	if (fd < 0)
		skip();
	open_all();
	/* Both sides, that share an address: the driver has no more ports than the device's EVs.
	 */
	for (uint32_t i = 0; i < SIDES; i++)
		assert_int_equal(name_ev(s[i].qp, PROFILE), 0);
	connect_all();
	assert_int_equal(nic_mrc_qp_query(s[0].qp, &attr, NULL, NULL), 0);
	assert_int_equal(attr.evs->set.n, VALUES);
	assert_int_equal(fare().evs[PATH_GOOD], VALUES);
	assert_int_equal(ports_taken(fd, 2 * BURST * VALUES), (1u << VALUES) - 1);
	close_all();
	close(fd);
}

/* MRC 9.4: a controller sees who uses a profile, until nobody does. */
static void profiles_are_in_use(void **state)
{
	const struct mrc_attr reset = {.state = MRC_RESET};

	(void)state;
	open_all();
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE), 0);
	for (uint32_t i = 0; i < SIDES; i++)
		assert_int_equal(name_ev(s[i].qp, PROFILE), 0);
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE), 2);
	assert_ptr_equal(mrc_naming_of(s[0].qp)->evs, mrc_naming_of(s[1].qp)->evs);
	/* The same once more, and another. */
	assert_int_equal(name_ev(s[0].qp, PROFILE), 0);
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE), 2);
	assert_int_equal(name_ev(s[0].qp, 0), 0);
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE), 1);
	assert_int_equal(controller_count(&c, CONTROL_EV, 0), 0);
	connect_all();
	assert_int_equal(name_ev(s[1].qp, PROFILE), -EINVAL);
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE), 1);
	assert_int_equal(nic_mrc_qp_modify(s[1].qp, &reset, MRC_SET_STATE, NULL), 0);
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE), 0);
	assert_int_equal(name_ev(s[1].qp, PROFILE), 0);
	assert_int_equal(nic_qp_free(s[1].qp), 0);
	s[1].qp = NULL;
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE), 0);
	assert_null(mrc_device_of(s[0].user->device)->control->evs);
	close_all();
}

static void set_phase(uint8_t phase)
{
	controller_begin(&c);
	control_find_profile(c.state, PROFILE)->phase = phase;
	controller_commit(&c);
}

static void only_profiles_that_are_online(void **state)
{
	const uint64_t ev = PROFILE, none = 5;

	(void)state;
	open_all();
	assert_int_equal(name_ev(s[0].qp, PROFILE + 1), -EINVAL);
	assert_non_null(strstr(nic_error(), "no such profile"));
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE + 1), 0);
	set_phase(CONTROL_OFFLINE);
	assert_int_equal(name_ev(s[0].qp, PROFILE), -EINVAL);
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE), 0);
	set_phase(CONTROL_ONLINE);
	/* Both or none. */
	assert_int_equal(nic_mrc_qp_profiles(s[0].qp, &ev, &none), -EINVAL);
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE), 0);
	assert_int_equal(controller_count(&c, CONTROL_CC, none), 0);
	assert_int_equal(name_cc(s[0].qp, 0), 0);
	assert_int_equal(nic_mrc_qp_profiles(s[0].qp, NULL, NULL), 0);
	/* Profile 0 is like any other once it is there. */
	controller_begin(&c);
	controller_add(&c, 0, 3, FIRST, 1)->phase = CONTROL_OFFLINE;
	controller_commit(&c);
	assert_int_equal(name_ev(s[0].qp, 0), -EINVAL);
	close_all();
}

/* Values that this device cannot send, or that are not there. */
static void values_must_make_sense_here(void **state)
{
	struct control_format *format;

	(void)state;
	open_all();
	controller_begin(&c);
	controller_add(&c, 1, 2, FIRST, 2);
	memset(controller_add(&c, 2, 2, FIRST, 1)->evs, 0, 2 * sizeof(struct control_ev));
	format = control_add_format(c.state, 9);
	*format = (struct control_format){.id = 9,
					  .phase = CONTROL_ONLINE,
					  .wide = CONTROL_SRV6,
					  .n_fields = 1,
					  .width = {32}};
	struct control_profile *srv6 = controller_add(&c, 3, 2, FIRST, 1);

	srv6->mode = CONTROL_EXPLICIT;
	srv6->format_id = 9;
	controller_commit(&c);
	assert_int_equal(name_ev(s[0].qp, 1), -EINVAL);
	assert_non_null(strstr(nic_error(), "port 2"));
	assert_int_equal(name_ev(s[0].qp, 2), -EINVAL);
	assert_int_equal(name_ev(s[0].qp, 3), -EINVAL);
	assert_non_null(strstr(nic_error(), "raw"));
	for (uint64_t id = 1; id <= 3; id++)
		assert_int_equal(controller_count(&c, CONTROL_EV, id), 0);
	assert_null(mrc_device_of(s[0].user->device)->control->evs);
	close_all();
}

/* A profile of all values that there may be, some of them not populated. */
static void a_profile_may_be_large(void **state)
{
	struct mrc_attr attr;

	(void)state;
	open_all();
	controller_begin(&c);
	struct control_profile *p = controller_add(&c, 1, CONTROL_EVS, 20000, 1);

	p->min_active = CONTROL_EVS;
	p->evs[5] = (struct control_ev){.port = 0};
	controller_commit(&c);
	assert_int_equal(name_ev(s[0].qp, 1), 0);
	connect_all();
	assert_int_equal(nic_mrc_qp_query(s[0].qp, &attr, NULL, NULL), 0);
	assert_int_equal(attr.evs->set.n, CONTROL_EVS - 1);
	assert_int_equal(attr.evs->min_active, CONTROL_EVS - 1);
	assert_int_equal(attr.evs->set.evs[5].value, 20006u << 16);
	write_some(10);
	close_all();
}

static void deny(uint32_t which)
{
	controller_begin(&c);
	for (uint32_t i = 0; i < VALUES; i++)
		control_find_profile(c.state, PROFILE)->evs[i].is_denied = which >> i & 1;
	controller_commit(&c);
}

/* 9.3.2.1: at once, under packets, and for those that come later. */
static void a_controller_denies_values_of_those_that_run(void **state)
{
	int fd = watch_lo();

	(void)state;
	if (fd < 0)
		skip();
	open_all();
	assert_int_equal(name_ev(s[0].qp, PROFILE), 0);
	assert_int_equal(name_ev(s[1].qp, PROFILE), 0);
	deny(1);
	WAIT_FOR(mrc_naming_of(s[0].qp)->evs->profile.denied[0] == 1);
	connect_all();
	assert_int_equal(fare().evs[PATH_DENIED], 1);
	deny(7);
	WAIT_FOR(fare().evs[PATH_DENIED] == 3);
	assert_int_equal(ports_taken(fd, BURST), 8);
	deny(8);
	WAIT_FOR(fare().evs[PATH_DENIED] == 1);
	/* Values that became allowed are good again. */
	assert_int_equal(fare().evs[PATH_GOOD], 3);
	assert_int_equal(ports_taken(fd, 2 * BURST * VALUES), 7);
	close_all();
	close(fd);
}

static enum path_state state_of(uint32_t ev)
{
	uint8_t states[VALUES];
	uint32_t n;

	assert_int_equal(
		mrc_qp_evs(s[0].qp->shard->engine, nic_qp_number(s[0].qp), states, VALUES, &n), 0);
	assert_int_equal(n, VALUES);
	return (enum path_state)states[ev];
}

/* One EV is assumed bad, as the device knows; the device is held, or it would find out better. */
static void spoil(uint32_t ev)
{
	assert_int_equal(mrc_qp_judge(s[0].qp->shard->engine, s[0].qp->shard->clock,
				      nic_qp_number(s[0].qp), ev, true),
			 0);
	mrc_follow_evs(s[0].qp);
	assert_int_equal(state_of(ev), PATH_ASSUMED_BAD);
	assert_int_equal(mrc_naming_of(s[0].qp)->evs->n_bad[ev], 1);
}

static void look_now(struct device *d)
{
	mrc_device_of(d)->control->look_at = 0;
	mrc_look_late(d, device_now());
}

/* 10.2.2: GOOD is said of a value that queue pairs assume bad, and they take it back at once. */
static void a_controller_says_that_a_value_is_good(void **state)
{
	struct device *d;

	(void)state;
	open_all();
	assert_int_equal(name_ev(s[0].qp, PROFILE), 0);
	connect_all();
	d = s[0].user->device;
	device_enter(d);
	spoil(2);
	look_now(d);
	assert_int_equal(state_of(2), PATH_ASSUMED_BAD);
	controller_begin(&c);
	control_find_profile(c.state, PROFILE)->evs[2].n_good = 1;
	controller_commit(&c);
	look_now(d);
	assert_int_equal(state_of(2), PATH_GOOD);
	mrc_follow_evs(s[0].qp);
	assert_int_equal(mrc_naming_of(s[0].qp)->evs->n_bad[2], 0);
	device_leave(d);
	close_all();
}

/* 10.2.2: a value is replaced under those who use it; what they assume of the others stays. */
static void a_controller_replaces_a_value_of_those_that_run(void **state)
{
	const struct mrc_evs *before;
	struct device *d;
	int fd = watch_lo();

	(void)state;
	if (fd < 0)
		skip();
	open_all();
	controller_begin(&c);
	/* The last is not among those that are watched for. */
	control_find_profile(c.state, PROFILE)->evs[3].val[1] = (uint8_t)(FIRST + VALUES + 1);
	controller_commit(&c);
	for (uint32_t i = 0; i < SIDES; i++)
		assert_int_equal(name_ev(s[i].qp, PROFILE), 0);
	connect_all();
	assert_int_equal(ports_taken(fd, 2 * BURST * VALUES), 7);
	d = s[0].user->device;
	device_enter(d);
	before = mrc_naming_of(s[0].qp)->evs;
	spoil(1);
	spoil(0);
	controller_begin(&c);
	struct control_profile *p = control_find_profile(c.state, PROFILE);

	p->evs[3].val[1] = (uint8_t)(FIRST + 3);
	p->evs[0].val[1] = (uint8_t)(FIRST + VALUES + 2);
	controller_commit(&c);
	look_now(d);
	assert_ptr_not_equal(mrc_naming_of(s[0].qp)->evs, before);
	assert_ptr_equal(mrc_naming_of(s[0].qp)->evs, mrc_naming_of(s[1].qp)->evs);
	assert_ptr_equal(mrc_device_of(d)->control->evs, mrc_naming_of(s[0].qp)->evs);
	assert_null(mrc_device_of(d)->control->evs->next);
	assert_int_equal(state_of(1), PATH_ASSUMED_BAD);
	assert_int_equal(state_of(0), PATH_GOOD);
	assert_int_equal(mrc_device_of(d)->control->evs->n_bad[1], 1);
	assert_int_equal(mrc_device_of(d)->control->evs->n_bad[0], 0);
	device_leave(d);
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE), SIDES);
	/* A queue pair that sends finds out that the other was not so bad. */
	WAIT_FOR((write_some(1), fare().evs[PATH_GOOD] == VALUES));
	assert_int_equal(ports_taken(fd, 2 * BURST * VALUES), 0xe);
	close_all();
	close(fd);
}

static void disable(uint32_t ports)
{
	controller_begin(&c);
	c.state->disabled_ports = ports;
	controller_commit(&c);
}

static bool is_up(void)
{
	struct nic_info now;

	assert_int_equal(nic_query(s[0].user, &now), 0);
	assert_int_equal(now.is_up, now.ports[0].is_up);
	return now.is_up;
}

static void expect_event(struct nic_user *u, enum nic_event_kind kind)
{
	struct pollfd news = {.fd = nic_event_fd(u), .events = POLLIN};
	struct nic_event event;

	assert_int_equal(poll(&news, 1, 2000), 1);
	assert_int_equal(nic_event_get(u, &event), 0);
	assert_int_equal(event.kind, kind);
	nic_event_ack(u, &event);
}

/* As if its link were down. */
static void a_controller_disables_the_port(void **state)
{
	struct driver_counters before, after;
	struct done done;

	(void)state;
	open_all();
	connect_all();
	write_some(1);
	disable(1);
	WAIT_FOR(!is_up());
	for (uint32_t i = 0; i < SIDES; i++)
		expect_event(s[i].user, NIC_EVENT_PORT_DOWN);
	struct sge piece = piece_of(&s[0], 0, PMTU);

	nic_counters(s[0].user, NULL, 0, &before);
	assert_int_equal(stage_post(s[0].qp, write_op(&s[1], &piece, 1)), 0);
	usleep(20000);
	assert_int_equal(nic_cq_poll(s[0].cq, &done, 1), 0);
	nic_counters(s[0].user, NULL, 0, &after);
	assert_int_equal(after.tx, before.tx);
	assert_int_equal(fare().open_ports, 0);
	disable(0);
	WAIT_FOR(is_up());
	for (uint32_t i = 0; i < SIDES; i++)
		expect_event(s[i].user, NIC_EVENT_PORT_UP);
	assert_int_equal(stage_one(s[0].cq).status, ENGINE_OK);
	close_all();
}

/* What was set before the device was opened counts, too. */
static void a_port_may_be_disabled_from_the_start(void **state)
{
	(void)state;
	open_all();
	disable(1);
	pair_close(s);
	side_open(&s[0], &info);
	side_open(&s[1], &info);
	assert_false(is_up());
	disable(0);
	WAIT_FOR(is_up());
	expect_event(s[0].user, NIC_EVENT_PORT_UP);
	close_all();
}

static struct control_cc *add_cc(uint64_t id)
{
	struct control_cc *cc = control_add_cc(c.state, id);

	assert_non_null(cc);
	cc->phase = CONTROL_ONLINE;
	cc->is_nscc = cc->has_config = true;
	return cc;
}

static void a_cc_profile_sets_the_window(void **state)
{
	uint64_t window;

	(void)state;
	open_all();
	window = fare().window_bytes;
	controller_begin(&c);
	add_cc(1)->nscc.max_cwnd_bytes = 65536;
	add_cc(2)->is_nscc = false;
	add_cc(3)->nscc.base_rtt_ns = 10;
	add_cc(4)->nscc.eta = 1e30f;
	add_cc(5)->nscc.gamma = 2;
	controller_commit(&c);
	assert_int_equal(name_cc(s[0].qp, 1), 0);
	assert_int_equal(controller_count(&c, CONTROL_CC, 1), 1);
	assert_in_range(fare().window_bytes, 1, 65536);
	connect_all();
	write_some(10);
	assert_in_range(fare().window_bytes, 1, 65536);
	assert_int_equal(name_cc(s[0].qp, 2), -EINVAL);
	assert_int_equal(nic_mrc_qp_modify(s[0].qp, &(struct mrc_attr){.state = MRC_RESET},
					   MRC_SET_STATE, NULL),
			 0);
	assert_int_equal(controller_count(&c, CONTROL_CC, 1), 0);
	assert_int_equal(fare().window_bytes, window);
	assert_int_equal(name_cc(s[0].qp, 2), 0);
	assert_int_equal(mrc_naming_of(s[0].qp)->cc.kind, CC_FIXED);
	assert_int_equal(fare().window_bytes, mrc_naming_of(s[0].qp)->cc.window_bytes);
	for (uint64_t id = 3; id <= 5; id++) {
		assert_int_equal(name_cc(s[0].qp, id), -EINVAL);
		assert_int_equal(controller_count(&c, CONTROL_CC, id), 0);
	}
	assert_int_equal(controller_count(&c, CONTROL_CC, 2), 1);
	assert_int_equal(name_cc(s[0].qp, 0), 0);
	assert_int_equal(fare().window_bytes, window);
	close_all();
}

/* UE Table 3-76: each number where it belongs, in its fixed point; others are the device's. */
static void cc_numbers_become_fixed_points(void **state)
{
	(void)state;
	open_all();
	controller_begin(&c);
	add_cc(1)->nscc = (struct control_nscc){
		.has_no_quick_adapt = true,
		.qa_gate = 4,
		.adjust_bytes = 12345,
		.adjust_period_ns = 23456,
		.base_rtt_ns = 34567,
		.qa_threshold_ns = 45678,
		.target_delay_ns = 56789,
		.eta = 1.5f,
		.fi = 2.25f,
		.fi_scale = 0.125f,
		.gamma = 0.75f,
		.max_md_jump = 1e-20f,
	};
	add_cc(2)->has_config = false;
	controller_commit(&c);
	assert_int_equal(name_cc(s[1].qp, 2), 0);
	assert_int_equal(name_cc(s[0].qp, 1), 0);
	const struct nscc_cfg *n = &mrc_naming_of(s[0].qp)->cc.nscc,
			      *own = &mrc_naming_of(s[1].qp)->cc.nscc;

	assert_true(n->has_no_quick_adapt && !own->has_no_quick_adapt);
	assert_int_equal(n->qa_gate, 4);
	assert_int_equal(n->adjust_bytes, 12345);
	assert_int_equal(n->adjust_period_ns, 23456);
	assert_int_equal(n->base_rtt_ns, 34567);
	assert_int_equal(n->qa_threshold_ns, 45678);
	assert_int_equal(n->target_qdelay_ns, 56789);
	assert_int_equal(n->eta_q24, 3 << 23);
	assert_int_equal(n->fi_q24, 9 << 22);
	assert_int_equal(n->fi_scale_q32, UINT64_C(1) << 29);
	assert_int_equal(n->gamma_q32, UINT64_C(3) << 30);
	assert_int_equal(n->max_md_jump_q32, 1);
	assert_int_equal(n->max_wnd_bytes, own->max_wnd_bytes);
	assert_int_equal(own->base_rtt_ns, 200000);
	assert_int_equal(own->eta_q24, 0);
	close_all();
}

/* The queue pair of that number, as the process shows it; false: not yet. */
static bool read_pair(uint32_t number, struct member_device *device, struct member_pair *pair)
{
	static struct member_pair pairs[MEMBER_PAIRS];
	uint32_t n = 0;

	assert_int_equal(members_look(c.members), 0);
	assert_int_equal(members_n(c.members), 1);
	if (members_read(c.members, 0, device, pairs, MEMBER_PAIRS, &n))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (pairs[i].number == number) {
			*pair = pairs[i];
			return true;
		}
	return false;
}

static void a_process_shows_how_it_fares(void **state)
{
	struct member_device device = {0};
	struct member_pair pair = {0};
	uint32_t number;

	(void)state;
	open_all();
	number = nic_qp_number(s[0].qp);
	/* Also those that nothing happened to yet. */
	WAIT_FOR(read_pair(number, &device, &pair) && device.n_pairs == 2);
	assert_int_equal(pair.state, 0);
	assert_string_equal(members_who(c.members, 0)->device, info.name);
	assert_string_equal(device.driver, "udp");
	assert_string_equal(device.port[0], "lo");
	assert_int_equal(device.ports_up, 1);
	assert_int_equal(name_ev(s[0].qp, PROFILE), 0);
	deny(1);
	connect_all();
	write_some(10);
	WAIT_FOR(read_pair(number, &device, &pair) && pair.sent_bytes == 10 * PMTU &&
		 pair.evs[PATH_DENIED] == 1);
	assert_int_equal(pair.state, 3);
	assert_int_equal(pair.remote, nic_qp_number(s[1].qp));
	assert_memory_equal(pair.peer, info.gids[stage_gid(&info, AF_INET)].raw, 16);
	assert_int_equal(pair.profile, PROFILE);
	assert_int_equal(pair.n_evs, VALUES);
	assert_int_equal(pair.ev_state[0], PATH_DENIED);
	assert_int_equal(pair.sent_packets, 10);
	assert_int_equal(pair.open_ports, 1);
	assert_true(device.tx_packets > 0 && device.at > 0);
	assert_true(read_pair(nic_qp_number(s[1].qp), &device, &pair));
	assert_int_equal(pair.got_bytes, 10 * PMTU);
	assert_int_equal(pair.profile, 0);
	/* One that ended is gone. */
	assert_int_equal(nic_qp_free(s[0].qp), 0);
	s[0].qp = NULL;
	WAIT_FOR(!read_pair(number, &device, &pair));
	close_all();
}

/* Of a program that never sleeps but polls, as well. */
static void one_that_polls_is_shown(void **state)
{
	struct member_device device = {0};
	struct member_pair pair = {0};
	uint64_t end = stage_now() + STAGE_NS, before = 0;
	uint32_t n = 0;

	(void)state;
	open_all();
	connect_all();
	while (n < 2 && stage_now() < end) {
		write_some(1);
		if (read_pair(nic_qp_number(s[0].qp), &device, &pair) && pair.sent_bytes > before) {
			before = pair.sent_bytes;
			n++;
		}
	}
	assert_int_equal(n, 2);
	close_all();
}

static void a_child_leaves_the_parents_place_alone(void **state)
{
	int status = -1;

	(void)state;
	open_all();
	assert_int_equal(name_ev(s[0].qp, PROFILE), 0);
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		const uint64_t id = PROFILE;

		_exit(nic_mrc_qp_profiles(s[0].qp, &id, NULL) == -ENODEV ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE), 1);
	connect_all();
	write_some(1);
	/* It goes with the device. */
	pair_close(s);
	assert_int_equal(controller_count(&c, CONTROL_EV, PROFILE), 0);
	assert_int_equal(members_n(c.members), 0);
	controller_close(&c);
}

/* Programs of MRC have their domains from a verbs context, which is another user. */
static void a_domain_of_another_user_will_do(void **state)
{
	struct nic_qp_spec spec;
	struct nic_qp *qp;

	(void)state;
	open_all();
	spec = (struct nic_qp_spec){.pd = s[1].pd, .send_cq = s[0].cq, .recv_cq = s[0].cq};
	qp = nic_qp_new(s[0].user, &spec);
	assert_non_null(qp);
	assert_int_equal(nic_qp_free(s[1].qp), 0);
	s[1].qp = NULL;
	assert_int_equal(nic_mr_free(s[1].mr), 0);
	assert_int_equal(nic_pd_free(s[1].pd), -EBUSY);
	assert_int_equal(nic_close(s[1].user), -EBUSY);
	assert_int_equal(nic_qp_free(qp), 0);
	struct nic_mr_spec region = {s[1].bytes, STAGE_BYTES, (uintptr_t)s[1].bytes, STAGE_ALL};

	s[1].mr = nic_mr_new(s[1].pd, &region);
	assert_non_null(s[1].mr);
	/* Queues are the user's own. */
	spec = (struct nic_qp_spec){.pd = s[0].pd, .send_cq = s[1].cq, .recv_cq = s[0].cq};
	assert_null(nic_qp_new(s[0].user, &spec));
	close_all();
}

/* Without a place for files there is a device all the same. */
static void a_device_works_without_control(void **state)
{
	char name[STORE_NAME_MAX];

	(void)state;
	setenv("WEFT_STATE_DIR", "/nowhere/at/all", 1);
	info = mrc_info();
	side_open(&s[0], &info);
	side_open(&s[1], &info);
	assert_int_equal(nic_mrc_store_name(s[0].user, name), 0);
	assert_int_equal(name_ev(s[0].qp, PROFILE), -EINVAL);
	assert_int_equal(name_ev(s[0].qp, 0), 0);
	connect_all();
	write_some(10);
	pair_close(s);
	setenv("WEFT_STATE_DIR", controller_directory, 1);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(packets_take_the_values_of_a_profile),
	cmocka_unit_test(profiles_are_in_use),
	cmocka_unit_test(only_profiles_that_are_online),
	cmocka_unit_test(values_must_make_sense_here),
	cmocka_unit_test(a_profile_may_be_large),
	cmocka_unit_test(a_controller_denies_values_of_those_that_run),
	cmocka_unit_test(a_controller_says_that_a_value_is_good),
	cmocka_unit_test(a_controller_replaces_a_value_of_those_that_run),
	cmocka_unit_test(a_controller_disables_the_port),
	cmocka_unit_test(a_port_may_be_disabled_from_the_start),
	cmocka_unit_test(a_cc_profile_sets_the_window),
	cmocka_unit_test(cc_numbers_become_fixed_points),
	cmocka_unit_test(a_process_shows_how_it_fares),
	cmocka_unit_test(one_that_polls_is_shown),
	cmocka_unit_test(a_child_leaves_the_parents_place_alone),
	cmocka_unit_test(a_domain_of_another_user_will_do),
	cmocka_unit_test(a_device_works_without_control),
};

int main(int argc, char **argv)
{
	isolate();
	setenv("WEFT_CONFIG", "/dev/null", 1);
	controller_setup();
	int r = check_main(argc, argv, cases, sizeof cases / sizeof cases[0]);

	controller_teardown();
	return r;
}
