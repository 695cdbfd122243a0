/* The smallest controller of an MRC device: makes an EV profile of four explicit values and a CC
 * profile, puts them online, and prints what happens to the values for a while. Queue pairs name
 * the profiles in mrc_modify_qp (EV 7, CC 3).
 *
 *	mrc_controller DEVICE SECONDS
 *
 * It needs CAP_NET_ADMIN, and a device without these profiles. What it made stays when it ends:
 * `weft ctl show` prints it, `weft ctl clear` removes it. */
#include <mrc_ctl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FORMAT = 1, EV_PROFILE = 7, CC_PROFILE = 3, VALUES = 4 };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void no_device(struct ibv_device **list, const char *name)
{
	fprintf(stderr, "there is no device %s; there are:", name);
	for (int i = 0; list && list[i]; i++)
		fprintf(stderr, " %s", ibv_get_device_name(list[i]));
	fprintf(stderr, "%s\n", list && list[0] ? "" : " none, see 'weft devices'");
	exit(1);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i = 0;

	while (list && list[i] && strcmp(ibv_get_device_name(list[i]), name) != 0)
		i++;
	if (!list || !list[i])
		no_device(list, name);
	struct ibv_context *context = ibv_open_device(list[i]);

	ibv_free_device_list(list);
	if (!context)
		die("open the device");
	return context;
}

/* Source port and flow label, one field of 16 bits each. */
static void make_format(struct mrc_context *mrc)
{
	struct mrc_ctl_ev_fmt_field fields[] = {{16}, {16}};
	struct mrc_ctl_ev_fmt_profile_attr attr = {
		.profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV,
		.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields, 2}};

	if (mrc_ctl_modify_ev_fmt_profile(mrc, FORMAT, &attr,
					  MRC_CTL_EV_FMT_PROFILE_STATE |
						  MRC_CTL_EV_FMT_PROFILE_MODE) ||
	    mrc_ctl_modify_ev_fmt_profile(mrc, FORMAT, &attr, MRC_CTL_EV_FMT_PROFILE_OP))
		die("make a format");
	attr.profile_state = MRC_CTL_PROFILE_ONLINE;
	if (mrc_ctl_modify_ev_fmt_profile(mrc, FORMAT, &attr, MRC_CTL_EV_FMT_PROFILE_STATE))
		die("put the format online");
}

/* Places are made with the step to OFFLINE, and filled one by one: each takes the first that holds
 * nothing yet. */
static void make_ev_profile(struct mrc_context *mrc)
{
	struct mrc_ctl_ev_op_entry entries[VALUES];
	struct mrc_ctl_ev_profile_attr attr = {
		.profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_mode = MRC_CTL_EV_MODE_EXP,
		.ev_fmt_profile_id = FORMAT,
		.ev_count = VALUES,
		.ev_min_active = 1,
		.ev_event_mask = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD,
		.ev_op = {MRC_CTL_EV_OP_REPLACE_EV, entries, VALUES}};

	memset(entries, 0, sizeof entries);
	for (int i = 0; i < VALUES; i++) {
		entries[i].ev = MRC_CTL_EV_UNPOPULATED;
		entries[i].ev_new = (struct mrc_ctl_ev){.val = {0xc0, (uint8_t)i, 0, 1}, .port = 1};
		entries[i].state = MRC_CTL_EV_GOOD;
	}
	if (mrc_ctl_modify_ev_profile(mrc, EV_PROFILE, &attr,
				      MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE |
					      MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT |
					      MRC_CTL_EV_PROFILE_MIN_ACTIVE |
					      MRC_CTL_EV_PROFILE_EVENT_MASK) ||
	    mrc_ctl_modify_ev_profile(mrc, EV_PROFILE, &attr, MRC_CTL_EV_PROFILE_EV_OP))
		die("make an EV profile");
	attr.profile_state = MRC_CTL_PROFILE_ONLINE;
	if (mrc_ctl_modify_ev_profile(mrc, EV_PROFILE, &attr, MRC_CTL_EV_PROFILE_STATE))
		die("put the EV profile online");
}

/* NSCC; what is 0 is the default. */
static void make_cc_profile(struct mrc_context *mrc)
{
	const struct mrc_ctl_cc_nscc_cfg nscc = {.base_rtt = 200000};
	struct mrc_ctl_cc_profile_attr attr = {.profile_state = MRC_CTL_PROFILE_OFFLINE,
					       .algorithm = "uet-1.0-nscc",
					       .cc_config = &nscc};

	if (mrc_ctl_modify_cc_profile(mrc, CC_PROFILE, &attr,
				      MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM) ||
	    mrc_ctl_modify_cc_profile(mrc, CC_PROFILE, &attr, MRC_CTL_CC_PROFILE_CONFIG))
		die("make a CC profile");
	attr.profile_state = MRC_CTL_PROFILE_ONLINE;
	if (mrc_ctl_modify_cc_profile(mrc, CC_PROFILE, &attr, MRC_CTL_CC_PROFILE_STATE))
		die("put the CC profile online");
}

static void print_event(const struct mrc_ctl_ev_event *e)
{
	printf("profile %llu, value 0x%02x%02x%02x%02x, port %u: %s\n",
	       (unsigned long long)e->profile_id, e->ev.val[0], e->ev.val[1], e->ev.val[2],
	       e->ev.val[3], e->ev.port, e->state == MRC_CTL_EV_GOOD ? "good" : "assumed bad");
	if (e->drop_count)
		printf("(%u events before it are lost)\n", e->drop_count);
}

/* The queue is armed before it is looked at, so that nothing falls between the two. */
static void watch(struct mrc_context *mrc, long seconds)
{
	struct mrc_comp_channel *channel;
	struct pollfd p = {.events = POLLIN};
	time_t end = time(NULL) + seconds;

	if (mrc_create_comp_channel(mrc, &channel) || mrc_get_comp_channel_fd(channel, &p.fd))
		die("make a channel");
	struct mrc_cq *cq = mrc_ctl_create_ev_event_cq(mrc, 1024, NULL, channel, 0);

	if (!cq)
		die("make a queue of events");
	while (time(NULL) < end) {
		struct mrc_ctl_ev_event event;
		struct mrc_cq *which;
		void *context;

		mrc_req_notify_cq(cq, 0);
		while (mrc_ctl_poll_ev_event(cq, 1, &event) == 1)
			print_event(&event);
		if (poll(&p, 1, 1000) == 1 && mrc_get_cq_event(channel, &which, &context) == 0)
			mrc_ack_cq_events(which, 1);
	}
	mrc_destroy_cq(cq);
	mrc_destroy_comp_channel(channel);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: mrc_controller DEVICE SECONDS\n");
		return 2;
	}
	struct ibv_context *verbs = open_device(argv[1]);
	struct mrc_context_attr attr = {MRC_API_VER_USED, MRC_VENDOR_API_VER_USED};
	struct mrc_context *mrc = mrc_create_context(verbs, &attr);

	if (!mrc)
		die("make a context");
	make_format(mrc);
	make_ev_profile(mrc);
	make_cc_profile(mrc);
	printf("EV profile %d and CC profile %d are online\n", EV_PROFILE, CC_PROFILE);
	watch(mrc, strtol(argv[2], NULL, 10));
	mrc_destroy_context(mrc);
	return ibv_close_device(verbs);
}
