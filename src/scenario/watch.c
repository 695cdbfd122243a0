#include "scenario/watch.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t retransmitted(const struct sim *s, uint32_t host)
{
	const struct sim_transport *t = s->cfg.transport;

	return t->retransmitted(t->context, s->hosts[host].engine);
}

int watch_init(struct watch *w, uint32_t n_hosts)
{
	w->hosts = calloc(n_hosts, sizeof *w->hosts);
	if (!w->hosts)
		return -ENOMEM;
	w->n_hosts = n_hosts;
	for (uint32_t h = 0; h < n_hosts; h++)
		w->hosts[h] = (struct watch_host){.lost_at = PSEC_NEVER, .knows_at = PSEC_NEVER};
	return 0;
}

void watch_fini(struct watch *w)
{
	free(w->hosts);
	*w = (struct watch){0};
}

void watch_lost(struct watch *w, const struct sim *s, const struct packet *p)
{
	const struct fwd_names *names = &s->cfg.names;
	const struct sim_transport *transport = s->cfg.transport;
	struct packet_places places;

	/* RC's data has one codepoint, retransmitted or not. */
	if ((p->dscp != names->trimmable && p->dscp != names->no_trim) ||
	    !packet_find(p, &s->net.carriers, &places))
		return;
	if (transport->is_probe && places.transport < p->stored &&
	    transport->is_probe(p->head[p->start + places.transport]))
		return;
	uint32_t host =
		routing_host_of(s->cfg.routing, p->head + p->start + places.ip + 8 /* source */);

	if (host >= w->n_hosts)
		return;
	struct watch_host *h = &w->hosts[host];

	if (h->lost_at == PSEC_NEVER) {
		h->lost_at = sim_now(s);
		h->retx = retransmitted(s, host);
	}
	if (sim_now(s) > h->last_at)
		h->last_at = sim_now(s);
}

void watch_pulled(struct watch *w, const struct sim *s, uint32_t host)
{
	struct watch_host *h = &w->hosts[host];

	if (h->lost_at == PSEC_NEVER || h->knows_at != PSEC_NEVER)
		return;
	if (retransmitted(s, host) > h->retx)
		h->knows_at = sim_now(s);
}

psec watch_quiet_after(const struct watch *w)
{
	psec most = 0;

	for (uint32_t i = 0; i < w->n_hosts; i++) {
		const struct watch_host *h = &w->hosts[i];

		if (h->knows_at < h->last_at && h->last_at - h->knows_at > most)
			most = h->last_at - h->knows_at;
	}
	return most;
}
