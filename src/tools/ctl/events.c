/* `weft ctl events`: what happens to entropy values, as it happens. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "tools/clock.h"
#include "tools/command.h"
#include "tools/ctl/ctl.h"
#include "tools/ends.h"
#include "tools/json_file.h"

#define EVENTS_CQE   4096
#define EVENTS_BATCH 64
#define SECOND_NS    UINT64_C(1000000000)

/* How the value of a profile is written; a device's own profiles are not among those. */
static enum mrc_ctl_ev_fmt_mode mode_of(struct mrc_context *mrc, uint64_t id)
{
	struct mrc_ctl_ev_profile_attr profile = {0};
	struct mrc_ctl_ev_fmt_profile_attr format = {0};

	if (mrc_ctl_query_ev_profile(mrc, id, &profile, MRC_CTL_EV_PROFILE_MODE) ||
	    profile.ev_mode == MRC_CTL_EV_MODE_AUTO ||
	    mrc_ctl_query_ev_profile(mrc, id, &profile, MRC_CTL_EV_PROFILE_FMT_ID) ||
	    mrc_ctl_query_ev_fmt_profile(mrc, profile.ev_fmt_profile_id, &format,
					 MRC_CTL_EV_FMT_PROFILE_MODE))
		return MRC_CTL_EV_FMT_MODE_STEV;
	return format.ev_fmt_mode;
}

static void put_json(const struct timespec *now, const struct mrc_ctl_ev_event *e,
		     const char *value)
{
	struct json_writer w = json_file(stdout);
	char time[48];

	snprintf(time, sizeof time, "%lld.%09ld", (long long)now->tv_sec, now->tv_nsec);
	json_object(&w, NULL, JSON_INLINE);
	json_text(&w, "time", time);
	json_number_text(&w, "profile", e->profile_id);
	json_text(&w, "value", value);
	json_number(&w, "port", e->ev.port);
	json_text(&w, "state", ctl_ev_state_word(e->state));
	json_number(&w, "lost", e->drop_count);
	json_close(&w);
	json_end(&w);
}

static void put_event(const struct ctl_device *d, const struct ctl_watch *w,
		      const struct mrc_ctl_ev_event *e)
{
	char clock[32] = "";
	struct timespec now;
	struct text value;
	struct tm at;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &at);
	strftime(clock, sizeof clock, "%H:%M:%S", &at);
	text_clear(&value);
	ctl_value_text(&value, mode_of(d->mrc, e->profile_id), &e->ev);
	if (w->has_json) {
		put_json(&now, e, value.at);
		return;
	}
	printf("%s.%06ld  profile %" PRIu64 "  %s  %s", clock, now.tv_nsec / 1000, e->profile_id,
	       value.at, ctl_ev_state_word(e->state));
	if (e->drop_count)
		printf("  (%u events before it are lost)", e->drop_count);
	putchar('\n');
}

/* Prints what waits; how many, or -1 and errno. */
static int print_waiting(const struct ctl_device *d, const struct ctl_watch *w, struct mrc_cq *cq,
			 uint32_t room)
{
	struct mrc_ctl_ev_event events[EVENTS_BATCH];
	int most = room < EVENTS_BATCH ? (int)room : EVENTS_BATCH;
	int n = mrc_ctl_poll_ev_event(cq, most, events);

	if (n < 0) {
		errno = -n;
		return -1;
	}
	for (int i = 0; i < n; i++)
		put_event(d, w, &events[i]);
	return n;
}

/* Sleeps until something may be there, or it is time to end. */
static int wait_for(struct mrc_comp_channel *channel, struct mrc_cq *cq, nsec end)
{
	struct pollfd p = {.events = POLLIN};
	void *context;

	if (mrc_get_comp_channel_fd(channel, &p.fd))
		return -1;
	if (ends_poll(&p, 1, end) <= 0)
		return 0;
	if (mrc_get_cq_event(channel, &cq, &context))
		return -1;
	mrc_ack_cq_events(cq, 1);
	return 0;
}

static int follow(const struct ctl_device *d, const struct ctl_watch *w,
		  struct mrc_comp_channel *channel, struct mrc_cq *cq)
{
	nsec end = w->for_s ? clock_now() + w->for_s * SECOND_NS : NSEC_NEVER;
	uint32_t left = w->count ? w->count : UINT32_MAX;

	while (left && !ends_wanted() && !is_output_broken() && clock_now() < end) {
		/* Armed first: what comes between the two is seen by one of them. */
		if (mrc_req_notify_cq(cq, 0))
			return -1;
		int n = print_waiting(d, w, cq, left);

		if (n < 0)
			return -1;
		left -= w->count ? (uint32_t)n : 0;
		fflush(stdout);
		if (!n && wait_for(channel, cq, end))
			return -1;
	}
	return 0;
}

int ctl_events(const struct ctl_device *d, const struct ctl_watch *w)
{
	struct mrc_comp_channel *channel = NULL;
	struct mrc_cq *cq = NULL;
	int r = mrc_create_comp_channel(d->mrc, &channel);

	ends_catch();
	if (!r) {
		cq = mrc_ctl_create_ev_event_cq(d->mrc, EVENTS_CQE, NULL, channel, 0);
		r = cq ? follow(d, w, channel, cq) : -1;
	}
	int status = r ? ctl_error(d, w->name, "no events") : STATUS_OK;

	if (cq)
		mrc_destroy_cq(cq);
	if (channel)
		mrc_destroy_comp_channel(channel);
	return status;
}
