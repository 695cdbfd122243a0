#include <stdio.h>

#include "cc/settings.h"
#include "ref/ref.h"
#include "scenario/reader.h"

__extension__ typedef unsigned __int128 u128;

/* A full packet: Ethernet 14, IPv6 40, UDP 8, BTH 12, RETH 16, METH or immediate data 4, ICRC 4
 * around the payload. Under SRv6 one more IPv6 header, and a segment routing header of one segment.
 */
#define HEADER_BYTES 98u
#define IPV6_BYTES   40u
#define SRH_BYTES    24u
#define ACK_BYTES    64u

/* Times as they add up along a path, in both directions. */
struct trip {
	uint32_t out_bytes, back_bytes;
	psec total_ps;
};

/* Transports of the registry have five sizes of packets, and no others (IBTA 9.7.2). */
static void read_pmtu(struct reader *r)
{
	struct conf *c = &r->conf;
	uint32_t *payload = &r->s->transport.payload_bytes;

	*payload = (uint32_t)conf_get_number(c, r->transport, "payload", UNITS_BYTES,
					     (struct conf_range){256, 4096, 4096});
	if ((*payload & (*payload - 1)) != 0)
		conf_fail_key(c, r->transport, "payload",
			      "%u is no path MTU of %s; use 256, 512, 1024, 2048 or 4096", *payload,
			      r->s->transport.name);
}

/* The reference transport, and those of the registry. */
static const struct transport *read_kind(struct reader *r)
{
	const char *kinds[TRANSPORTS + 2] = {"ref"};

	for (uint32_t i = 0; i < TRANSPORTS; i++)
		kinds[1 + i] = transports[i]->name;
	uint32_t kind = conf_get_choice(&r->conf, r->transport, "kind", kinds, 0);

	return kind ? transports[kind - 1] : NULL;
}

void read_payload(struct reader *r)
{
	struct conf *c = &r->conf;
	struct scenario_transport *t = &r->s->transport;
	uint32_t *payload = &t->payload_bytes;

	t->row = read_kind(r);
	t->name = t->row ? t->row->name : "ref";
	if (t->row) {
		read_pmtu(r);
		return;
	}
	*payload = (uint32_t)conf_get_number(c, r->transport, "payload", UNITS_BYTES,
					     (struct conf_range){64, REF_PAYLOAD_MAX, 4096});
	if (*payload % 4 != 0)
		conf_fail_key(c, r->transport, "payload", "%u is no multiple of 4; use one",
			      *payload);
}

static void add_hop(struct trip *trip, const struct topology *t, uint32_t port)
{
	const struct topology_port *out = &t->ports[port], *back = &t->ports[out->peer];

	trip->total_ps += psec_of_bytes(trip->out_bytes, out->rate_bps) + out->delay_ps +
			  psec_of_bytes(trip->back_bytes, back->rate_bps) + back->delay_ps;
	/* Each switch is passed once in each direction. */
	if (!t->nodes[back->node].is_host)
		trip->total_ps += 2 * t->switch_delay_ps;
}

static uint64_t least_host_rate(const struct topology *t)
{
	uint64_t rate = UINT64_MAX;

	for (uint32_t p = 0; p < t->n_ports; p++)
		if (t->nodes[t->ports[p].node].is_host && t->ports[p].rate_bps < rate)
			rate = t->ports[p].rate_bps;
	return rate;
}

void read_times(struct reader *r)
{
	const struct topology *t = &r->s->topology;
	enum routing_mode mode = r->s->routing.mode;
	uint32_t full = r->s->transport.payload_bytes + HEADER_BYTES + r->s->overhead_bytes;
	uint32_t ports[16];

	if (r->conf.status)
		return;
	if (mode == ROUTING_USID || mode == ROUTING_USID_SRH)
		full += IPV6_BYTES + (mode == ROUTING_USID_SRH ? SRH_BYTES : 0);
	for (uint32_t p = 0; p < t->nodes[0].n_ports; p++) {
		struct trip trip = {full, ACK_BYTES + r->s->overhead_bytes, 0};

		if (!routing_reaches(&r->routing, 0, p, t->n_hosts - 1))
			continue;
		uint32_t n = routing_hops(&r->routing, 0, p, t->n_hosts - 1, 0, ports, 16);

		for (uint32_t i = 0; i < n; i++)
			add_hop(&trip, t, ports[i]);
		if (trip.total_ps > r->s->base_rtt_ps)
			r->s->base_rtt_ps = trip.total_ps;
	}
	u128 bytes = (u128)least_host_rate(t) * r->s->base_rtt_ps / (8 * PSEC_S);

	r->s->plane_bdp_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
	/* Where the first and the last host do not see each other there is a better message than a
	 * threshold of 0, and it comes with the workload. */
	if (r->s->plane_bdp_bytes < full)
		r->s->plane_bdp_bytes = full;
}

/* In packets, in bytes, or in bandwidth-delay products of all the ports that a connection uses. */
static void read_window(struct reader *r, uint32_t n_ports, uint32_t most)
{
	struct conf *c = &r->conf;
	const struct conf_node *node = conf_get(c, r->transport, "window");
	const char *text = node ? conf_text(c, node) : "";
	uint64_t pkts = 0, value;

	if (!node || c->status)
		return;
	if (units_is_bdp(text)) {
		uint32_t full = r->s->transport.payload_bytes + HEADER_BYTES;
		u128 bytes = (u128)r->s->plane_bdp_bytes * n_ports;

		bytes *= conf_number(c, node, UNITS_BDP, (struct conf_range){1, 1000000000, 0});
		pkts = (uint64_t)((bytes / 1000000 + full - 1) / full);
	} else if (units_read(UNITS_COUNT, text, &value) == NULL) {
		pkts = value;
	} else {
		pkts = conf_number(c, node, UNITS_BYTES,
				   (struct conf_range){1, UINT64_C(1) << 32, 0});
		pkts = (pkts + r->s->transport.payload_bytes - 1) / r->s->transport.payload_bytes;
	}
	if (pkts == 0 || pkts > most)
		conf_fail(c, node, "\"%.40s\" is %llu packets; 1 to %u", text,
			  (unsigned long long)pkts, most);
	r->s->transport.window_pkts = (uint32_t)pkts;
}

static void read_entropies(struct reader *r, uint32_t n_ports, struct conf_range range)
{
	struct scenario_transport *t = &r->s->transport;

	t->entropies = conf_get_u32(&r->conf, r->transport, "entropies", range);
	if (!r->conf.status && t->entropies < n_ports)
		conf_fail_key(&r->conf, r->transport, "entropies",
			      "%u are fewer than the %u ports of a host; use more", t->entropies,
			      n_ports);
}

static void read_timeout(struct reader *r)
{
	r->s->transport.timeout_ps =
		conf_get_number(&r->conf, r->transport, "timeout", UNITS_TIME,
				(struct conf_range){PSEC_NS, READER_TIME_MAX, 0});
}

static void read_ref(struct reader *r)
{
	struct conf *c = &r->conf;
	struct conf_node *map = r->transport;
	struct scenario_transport *t = &r->s->transport;
	uint32_t n_ports = r->s->topology.nodes[0].n_ports;

	read_window(r, n_ports, REF_WINDOW_MAX);
	read_entropies(r, n_ports, (struct conf_range){1, 65535, 64});
	t->options.ack_every_pkts =
		conf_get_u32(c, map, "ack_every", (struct conf_range){1, REF_WINDOW_MAX, 4});
	t->options.retries =
		conf_get_u32(c, map, "retries", (struct conf_range){0, REF_RETRIES_MAX, 7});
	read_timeout(r);
	conf_finish(c, map, "a ref transport");
}

/* What is left out is 0 here, and a default of the controller's. */
static void read_dcqcn(struct reader *r, struct conf_node *map)
{
	struct conf *c = &r->conf;
	struct transport_options *o = &r->s->transport.options;

	read_settings(c, map, &dcqcn_settings, &o->dcqcn);
	o->cnp_every_ns = conf_get_number(c, map, "cnp_every", UNITS_TIME,
					  (struct conf_range){PSEC_NS, DCQCN_NS_MAX * PSEC_NS, 0}) /
			  PSEC_NS;
	conf_finish(c, map, "dcqcn");
	if (c->status)
		return;
	const char *problem = dcqcn_cfg_problem(&o->dcqcn, least_host_rate(&r->s->topology));

	if (problem)
		conf_fail_key(c, r->transport, "dcqcn", "%s; change it", problem);
}

/* Controllers are read in any case, so that --set cc=none is all it takes to compare. */
static void read_controllers(struct reader *r)
{
	const struct transport *row = r->s->transport.row;

	if (row->ccs >> CC_DCQCN & 1)
		read_dcqcn(r, conf_get_map(&r->conf, r->transport, "dcqcn"));
	if (row->ccs >> CC_NSCC & 1)
		read_nscc(r, conf_get_map(&r->conf, r->transport, "nscc"));
}

static void read_row(struct reader *r)
{
	struct conf *c = &r->conf;
	struct scenario_transport *t = &r->s->transport;
	bool sprays = transport_has(t->row, TRANSPORT_PROFILES);
	uint32_t n_ports = r->s->topology.nodes[0].n_ports;
	char what[40];

	read_window(r, sprays ? n_ports : 1, t->row->window_max_pkts);
	t->entropies = 1;
	if (sprays)
		read_entropies(r, n_ports, (struct conf_range){1, PATH_EVS_MAX, t->row->evs});
	read_settings(c, r->transport, &t->row->settings, &t->options);
	read_timeout(r);
	t->options.cc = (uint8_t)conf_get_choice(c, r->transport, "cc", t->row->cc_words, 0);
	read_controllers(r);
	snprintf(what, sizeof what, "an %s transport", t->name);
	conf_finish(c, r->transport, what);
}

void read_transport(struct reader *r)
{
	if (r->conf.status)
		return;
	if (r->s->transport.row)
		read_row(r);
	else
		read_ref(r);
}
