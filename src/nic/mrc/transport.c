/* MRC as a device's transport. */
#include <errno.h>
#include <stdlib.h>

#include "nic/mrc/inside.h"

static uint32_t does(const struct device *d)
{
	return TRANSPORT_TELLS_TIME | (d->info.setup.has_trim ? TRANSPORT_ANSWERS_TRIMS : 0);
}

static int make(struct device *d)
{
	d->own = calloc(1, sizeof(struct mrc_device));
	if (!d->own)
		return nic_fail(ENOMEM, "no memory for %s", d->info.name);
	return mrc_make_own_evs(d);
}

static void configure(const struct shard *s, struct transport_host *host)
{
	mrc_configure_cc(s->device, &host->cc);
	host->does = does(s->device);
	host->pair_evs = mrc_most_evs(s->device);
}

static void end(struct device *d)
{
	if (!d->own)
		return;
	mrc_ungovern(d);
	mrc_free_own_evs(d);
	free(d->own);
}

static void take_answers(struct shard *s)
{
	struct mrc_endpoint_done done[16];
	uint32_t n;

	/* What peers tell of their ports the engine has acted on already. */
	do {
		n = mrc_endpoint_poll(s->engine, done, 16);
		for (uint32_t i = 0; i < n; i++)
			if (done[i].news != MRC_ENDPOINT_PORTS)
				mrc_answered(s, &done[i]);
	} while (n == 16);
}

static nsec show(struct device *d, nsec now)
{
	nsec look = mrc_look_late(d, now);
	struct mrc_control *c = mrc_device_of(d)->control;
	nsec next = c ? show_device(d, &c->show, now) : NSEC_NEVER;

	return look < next ? look : next;
}

const struct nic_transport_ops nic_transport_mrc = {
	.transport = &transport_mrc,
	.shares_domains = true,
	.make = make,
	.configure = configure,
	.end = end,
	.path_open = mrc_path_open,
	.path_close = mrc_path_close,
	.most_evs = mrc_most_evs,
	.does = does,
	.ev_state = mrc_follow_evs,
	.take_answers = take_answers,
	.govern = mrc_govern,
	.abandon = mrc_abandon,
	.news_fd = mrc_news_fd,
	.take_news = mrc_take_news,
	.show = show,
	.qp_end = mrc_unname,
};
