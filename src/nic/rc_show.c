/* How an RC device fares, for whoever looks from another process (show.h). */
#include "nic/rc_show.h"

#include <stdlib.h>

#include "control/store.h"
#include "nic/show.h"

static void fill(const struct device *d, const struct nic_qp *qp, struct member_pair *pair)
{
	struct rc_progress p;
	struct rc_attr attr;

	rc_qp_progress(d->engine, qp->number, &p);
	rc_qp_query(d->engine, qp->number, &attr, NULL, NULL);
	pair->state = attr.state == RC_ERROR ? SHOW_ERROR : attr.state;
	pair->open_ports = (uint8_t)(1u << attr.port);
	pair->sent_bytes = p.sent_bytes;
	pair->got_bytes = p.got_bytes;
	pair->sent_packets = p.sent_packets;
	pair->retx_packets = p.retx_packets;
	pair->timeouts = p.timeouts;
	pair->inflight_bytes = p.inflight_bytes;
	pair->srtt_ns = p.srtt_ns;
}

/* Without any of it the device works all the same. */
void rc_show_begin(struct device *d)
{
	const struct nic_setup *setup = &d->info.setup;
	char name[STORE_NAME_MAX];

	if (store_name_apart(name, setup->transport->name, setup->interfaces, setup->n_ports))
		return;
	d->show = calloc(1, sizeof *d->show);
	if (!d->show)
		return;
	d->show->fill = fill;
	show_begin(d->show, name, d->info.name);
}

void rc_show_end(struct device *d)
{
	if (d->show)
		show_end(d->show);
	free(d->show);
	d->show = NULL;
}

void rc_show_abandon(struct device *d)
{
	if (d->show)
		show_abandon(d->show);
}

nsec rc_show(struct device *d, nsec now)
{
	return d->show ? show_device(d, d->show, now) : NSEC_NEVER;
}
