#include "fwd/trim.h"

#include <assert.h>

#include "wire/net.h"

/* IPv6 extension headers are payload: MIN_TRIM_SIZE counts from the fixed header on (M-27). */
static uint32_t header_bytes(const struct fwd_view *view)
{
	return view->version == 4 ? (view->ip[0] & 0xfu) * 4 : ipv6_bytes;
}

static uint32_t kept_bytes(const struct fwd_qos *qos, const struct fwd_view *view)
{
	return header_bytes(view) + qos->classes[qos->dscps[view->dscp].tclass].min_trim_bytes;
}

bool fwd_trim_may(const struct fwd_qos *qos, const struct fwd_view *view)
{
	return qos->dscps[view->dscp].trim == FWD_TRIM_TRIMMABLE &&
	       view->ip_len > kept_bytes(qos, view);
}

void fwd_trim(const struct fwd_qos *qos, struct fwd_frame *f, struct fwd_view *view,
	      bool is_last_hop)
{
	assert(fwd_trim_may(qos, view));
	const struct fwd_dscp *was = &qos->dscps[view->dscp];
	uint32_t ip_len = kept_bytes(qos, view);
	bool say_lasthop = is_last_hop && was->trimmed_lasthop != FWD_NO_DSCP;

	fwd_set_dscp(view, say_lasthop ? was->trimmed_lasthop : was->trimmed);
	fwd_set_ip_len(view, ip_len);
	f->len = view->ip_at + ip_len;
	if (f->stored > f->len)
		f->stored = f->len;
}
