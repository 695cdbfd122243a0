/* Hosts that run a transport of the registry. */
#include <errno.h>
#include <stdlib.h>

#include "scenario/hosts.h"

#define NOT_READY_NS 10000u /* each message finds a receive, unless packets are forged */

static bool sprays(const struct hosts *t)
{
	return transport_has(t->cfg.transport, TRANSPORT_PROFILES);
}

static struct cc_cfg cc_of(const struct hosts *t, uint32_t host)
{
	const struct topology *topology = t->cfg.routing->topology;

	return (struct cc_cfg){
		.kind = t->cfg.cc,
		.window_bytes = t->cfg.window_bytes,
		.line_rate_bps =
			sprays(t) ? hosts_rate(topology, host) : hosts_line_rate(topology, host),
		.dcqcn = t->cfg.options.dcqcn,
		.nscc = t->cfg.options.nscc,
	};
}

static uint32_t does(const struct hosts *t)
{
	return t->cfg.options.answers_trims ? TRANSPORT_ANSWERS_TRIMS : 0;
}

static const void *host_cfg(void *context, uint32_t host, uint64_t seed)
{
	struct hosts *t = context;
	const struct transport_host as = {
		.mem = t->pairs.mem,
		.trace = {t->cfg.trace, host},
		.max_pairs = t->cfg.qps[host] ? t->cfg.qps[host] : 1,
		.n_ports = t->cfg.routing->topology->nodes[host].n_ports,
		.seed = seed,
		.cc = cc_of(t, host),
		.does = does(t),
		.ack_every_pkts = t->cfg.options.ack_every_pkts,
		.cnp_every_ns = t->cfg.options.cnp_every_ns,
		.pair_evs = t->cfg.entropies,
		.pair_out_pkts = t->cfg.window_pkts,
		.pair_ahead_pkts = t->cfg.ahead_pkts,
	};

	pairs_forget(&t->pairs, host);
	t->cfg.transport->hosts->configure(&as, t->host);
	return t->host;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* What an end is made with that posts so many messages, and takes so many. */
static struct transport_caps caps_of(const struct hosts *t, uint32_t sends, uint32_t takes)
{
	const struct transport_caps *most = &t->cfg.transport->pairs->most;

	return (struct transport_caps){
		.max_send = sends ? least(sends, most->max_send) : 1,
		.max_recv = least(takes, most->max_recv),
		.max_send_sge = 1,
		.srq = TRANSPORT_NO_SRQ,
		.ahead_pkts = t->cfg.ahead_pkts,
		.ahead_imm = least(takes, most->ahead_imm),
		.max_evs = sprays(t) ? t->cfg.entropies : 0,
	};
}

static struct transport_end tell(const struct hosts *t, uint32_t qp, uint32_t psn,
				 const struct transport_caps *caps)
{
	const struct transport_self self = {
		.number = qp,
		.psn = psn,
		.does = does(t),
		.caps = caps,
	};
	struct transport_end end;

	t->cfg.transport->pairs->tell(&self, &end);
	return end;
}

/* The port that an end of a connection sends by, among its host's. */
static uint8_t port_of(const struct hosts *t, uint32_t host, uint32_t qp)
{
	return (uint8_t)(hosts_draw(t, host, qp, HOSTS_DRAW_PORT) %
			 t->cfg.routing->topology->nodes[host].n_ports);
}

/* The address of ours that its peer sends to is the one in the plane of the peer's port. */
static uint32_t address_of(const struct hosts *t, const struct sim_qp *qp)
{
	const struct topology *topology = t->cfg.routing->topology;
	uint32_t port = port_of(t, qp->peer, qp->peer_qp);

	return topology->ports[topology->nodes[qp->peer].first_port + port].plane;
}

/* A member is in its group's plane, whoever its peers are. */
static struct transport_path path_of_member(const struct hosts *t, const struct sim_qp *qp,
					    uint32_t path)
{
	const struct topology *topology = t->cfg.routing->topology;

	return (struct transport_path){
		.peer = qp->peer,
		.local = topology->ports[topology->nodes[qp->host].first_port + qp->port].plane,
		.port = qp->port,
		.ev = routing_entropy(t->cfg.routing, t->cfg.seed, path),
	};
}

static struct transport_path path_of(const struct hosts *t, const struct sim_qp *qp)
{
	uint32_t path = hosts_draw(t, qp->host, qp->qp, HOSTS_DRAW_PATH) & 0xffff;

	if (qp->is_member)
		return path_of_member(t, qp, path);
	if (sprays(t))
		return (struct transport_path){.peer = qp->peer, .evs = &t->profile};
	return (struct transport_path){
		.peer = qp->peer,
		.local = address_of(t, qp),
		.port = port_of(t, qp->host, qp->qp),
		.ev = routing_entropy(t->cfg.routing, t->cfg.seed, path),
	};
}

static int connect(const struct hosts *t, struct engine *e, const struct sim_qp *qp,
		   const struct transport_caps *caps)
{
	const struct transport_options *o = &t->cfg.options;
	/* What the peer posts comes to us, and the other way round. */
	struct transport_caps theirs = caps_of(t, qp->takes, qp->sends);

	uint32_t psn = hosts_draw(t, qp->host, qp->qp, HOSTS_DRAW_PSN);
	uint32_t peer_psn = hosts_draw(t, qp->peer, qp->peer_qp, HOSTS_DRAW_PSN);

	t->cfg.transport->pairs->grant(&theirs);
	const struct transport_link link = {
		.mine = tell(t, qp->qp, qp->is_member ? qp->psn : psn, caps),
		.theirs = tell(t, qp->peer_qp, qp->is_member ? qp->psn : peer_psn, &theirs),
		.path = path_of(t, qp),
		.manner =
			{
				.timeout_ns = t->cfg.timeout_ns,
				.retries = o->retries,
				.slow_retries = o->slow_retries,
				.not_ready_ns = NOT_READY_NS,
				.counts_trims = o->counts_trims,
				.is_oblivious = o->is_oblivious,
				.trim = TRANSPORT_TRIM_ALWAYS,
			},
		.pmtu = (uint16_t)t->cfg.payload_bytes,
		.access = MEM_REMOTE_WRITE,
	};

	return t->cfg.transport->pairs->connect(e, qp->now, qp->qp, &link);
}

static int open_qp(void *context, struct engine *e, const struct sim_qp *qp)
{
	struct hosts *t = context;
	const struct transport_pair_ops *ops = t->cfg.transport->pairs;
	struct transport_caps caps = caps_of(t, qp->sends, qp->takes);

	if (qp->is_member && sprays(t))
		return -EINVAL; /* a group is one path at each link */
	size_t bytes = ops->grant(&caps);
	void *memory = bytes ? pairs_new(&t->pairs, qp->host, bytes) : NULL;

	if (!memory)
		return bytes ? -ENOMEM : -EINVAL;
	int error = ops->make(e, qp->qp, &caps, memory);

	if (error) {
		pairs_undo(&t->pairs, qp->host);
		return error;
	}
	error = connect(t, e, qp, &caps);
	return error || qp->is_member ? error : pairs_receive(e, qp, caps.max_recv);
}

static uint64_t retransmitted(void *context, const struct engine *e)
{
	const struct transport *t = ((const struct hosts *)context)->cfg.transport;

	return e->ops->count(e)[t->count_retx];
}

static uint64_t received(void *context, const struct engine *e)
{
	const struct transport *t = ((const struct hosts *)context)->cfg.transport;

	return e->ops->count(e)[t->count_received];
}

static uint64_t probes(void *context, const struct engine *e)
{
	const struct transport *t = ((const struct hosts *)context)->cfg.transport;
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->n_probes; i++)
		n += e->ops->count(e)[t->probes[i]];
	return n;
}

static int make_profile(struct hosts *t)
{
	const uint32_t n = t->cfg.entropies, n_ports = t->cfg.routing->topology->nodes[0].n_ports;
	struct path_ev *evs = malloc(n * sizeof *evs);

	t->profile_memory = malloc(path_profile_size(n));
	if (!evs || !t->profile_memory) {
		free(evs);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		evs[i].value = hosts_entropy(t, i);
		evs[i].port = i % n_ports;
	}
	enum path_error error = path_profile_explicit(&t->profile, t->profile_memory, evs, n);

	free(evs);
	return error == PATH_OK ? 0 : -EINVAL;
}

int hosts_init_row(struct hosts *t)
{
	const struct transport *row = t->cfg.transport;

	t->sim = (struct sim_transport){
		.name = row->name,
		.ops = row->engine,
		.carrier = row->carrier,
		.head_bytes = row->head_bytes,
		.payload_bytes = t->cfg.payload_bytes,
		.data_head_bytes = row->data_around_bytes,
		.ack_bytes = row->answer_bytes,
		.first_qp = row->least_number,
		.key = PAIRS_KEY,
		.takes_receives = true,
		.context = t,
		.host_cfg = host_cfg,
		.open = open_qp,
		.retransmitted = retransmitted,
		.received = received,
		.probes = row->n_probes ? probes : NULL,
		.is_probe = row->is_probe,
	};
	t->host = calloc(1, row->hosts->cfg_bytes);
	if (!t->host)
		return -ENOMEM;
	int error = pairs_init(&t->pairs, t->cfg.routing->topology->n_hosts);

	return error || !sprays(t) ? error : make_profile(t);
}
