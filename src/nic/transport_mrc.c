/* MRC as a device's transport. */
#include "nic/inside.h"
#include "nic/mrc_inside.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* NSCC as it serves here. The round trip of an idle path is some 10 us, which is measured; but one
 * of a busy path is made of batches, wakeups and other programs on the processor, 200 us and far
 * more, which no smaller window makes shorter. So a window may be many times what the idle path
 * holds, up to the device's, and a millisecond of delay is no sign of congestion. */
#define BASE_RTT_NS  (200 * US)
#define TARGET_NS    (1 * MS)
#define WINDOWS_MOST 32u /* MaxWnd, which NSCC scales with the round trip it found */
#define WINDOW_MOST  (UINT32_C(1) << 26) /* of those that NSCC is to know */

void mrc_configure_cc(const struct device *d, struct cc_cfg *cc)
{
	cc->nscc.base_rtt_ns = BASE_RTT_NS;
	cc->nscc.target_qdelay_ns = TARGET_NS;
	cc->nscc.qa_threshold_ns = 4 * TARGET_NS;
	cc->nscc.bdp_bytes =
		(uint32_t)(cc->window_bytes < WINDOW_MOST ? cc->window_bytes : WINDOW_MOST);
	cc->nscc.max_wnd_bytes = WINDOWS_MOST * cc->nscc.bdp_bytes;
	cc->nscc.mtu_bytes = NIC_MRC_PACKET_BYTES;
	cc->nscc.has_trimming = d->info.setup.has_trim;
}

static uint32_t does(const struct device *d)
{
	return TRANSPORT_TELLS_TIME | (d->info.setup.has_trim ? TRANSPORT_ANSWERS_TRIMS : 0);
}

static int configure(struct device *d, struct transport_host *host)
{
	int r = mrc_make_own_evs(d);

	if (r)
		return r;
	mrc_configure_cc(d, &host->cc);
	host->does = does(d);
	host->pair_evs = mrc_most_evs(d);
	return 0;
}

static void end(struct device *d)
{
	mrc_ungovern(d);
	mrc_free_own_evs(d);
}

static void take_answers(struct device *d)
{
	struct mrc_endpoint_done done[16];
	uint32_t n;

	/* What peers tell of their ports the engine has acted on already. */
	do {
		n = mrc_endpoint_poll(d->engine, done, 16);
		for (uint32_t i = 0; i < n; i++)
			if (done[i].news != MRC_ENDPOINT_PORTS)
				mrc_answered(d, &done[i]);
	} while (n == 16);
}

const struct nic_transport_ops nic_transport_mrc = {
	.transport = &transport_mrc,
	.shares_domains = true,
	.configure = configure,
	.end = end,
	.path_open = mrc_path_open,
	.path_close = mrc_path_close,
	.most_evs = mrc_most_evs,
	.does = does,
	.ev_state = mrc_follow_evs,
	.take_answers = take_answers,
	.ports_down = mrc_ports_down,
	.govern = mrc_govern,
	.abandon = mrc_abandon,
	.news_fd = mrc_news_fd,
	.take_news = mrc_take_news,
	.show = mrc_show,
	.qp_end = mrc_unname,
};
