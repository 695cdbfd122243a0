#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "rc/rc.h"
#include "tools/command.h"
#include "tools/demo/demo.h"
#include "tools/stats.h"
#include "tools/text.h"

#define HOPS_MAX     16u
#define ANY_PATH     UINT32_MAX /* the one that the seed drew */
#define WINDOW       16u        /* messages that a side has posted at a time */
#define PAYLOAD_SALT UINT64_C(0x64656d6f)
#define DIGEST_BYTES 32u

/* Two tiers, eight planes; each plane of each leaf has as much upwards as downwards, so that only
 * the hosts' ports and what goes wrong bound the goodput. Both faults leave RC the time to repeat
 * before it gives up. */
static const char fabric_yaml[] =
	"name: demo\n"
	"seed: %" PRIu64 "\n"
	"topology:\n"
	"  {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, spines: 4, planes: 8, rate: 50Gbps}\n"
	"fabric: {routing: usid}\n"
	"transport: %s\n"
	"workload:\n";

static const char flow_yaml[] =
	"  - {kind: single, src: h0, dst: h7, bytes: %" PRIu64 "MiB, message: 1MiB, window: %u, "
	"qp: %u}\n";

static const char cross_yaml[] =
	"  - {kind: single, src: h1, dst: h5, bytes: 1MiB, message: 64KiB, window: 4, start: 2ms}\n"
	"  - {kind: single, src: h2, dst: h6, bytes: 1MiB, message: 64KiB, window: 4, start: "
	"2ms}\n";

static const char faults_yaml[] =
	"faults:\n"
	"  - {kind: plane, plane: %u, from: 400us, until: 900us}\n"
	"  - {kind: gray, at: %s, chance: 5%%, from: 1200us, until: 1700us}\n";

static const char mrc_yaml[] = "{kind: mrc, cc: nscc, entropies: 128}";
static const char rc_yaml[] = "{kind: rc, cc: dcqcn, dcqcn: {increase_every: 55us, increase_bytes: "
			      "1MiB, additive: 200Mbps, hyper: 1Gbps}}";

static int refuse(const struct demo *d, int answer, const char *error)
{
	return command_error(d->name, answer == -ENOMEM ? STATUS_FILE : STATUS_USAGE, "the fabric",
			     error);
}

/* Reads the scenario of one side, with the faults once it is known where. */
static int read_side(struct demo *d, uint32_t which, bool has_faults)
{
	struct demo_side *side = &d->sides[which];
	char error[SCENARIO_ERROR_MAX];
	struct text yaml;

	text_clear(&yaml);
	text_add(&yaml, fabric_yaml, d->seed, which == DEMO_MRC ? mrc_yaml : rc_yaml);
	for (uint32_t i = 0; i < side->n_qps; i++)
		text_add(&yaml, flow_yaml, DEMO_BYTES / side->n_qps >> 20, WINDOW / side->n_qps, i);
	text_add(&yaml, "%s", cross_yaml);
	if (has_faults)
		text_add(&yaml, faults_yaml, d->place.plane, d->place.link);
	struct scenario_source source = {.file = "demo", .text = yaml.at, .len = yaml.len};
	int answer = scenario_read(&side->scenario, &source, error, sizeof error);

	if (answer)
		return refuse(d, answer, error);
	side->has_scenario = true;
	return STATUS_OK;
}

static void on_frame(void *context, uint32_t port, bool is_out, psec at, struct cspan frame)
{
	struct demo *d = context;
	const struct topology *t = &d->sides[DEMO_MRC].scenario.topology;

	d->n_frames++;
	pcapng_write(d->capture, &(struct pcapng_frame){port - t->nodes[DEMO_SRC].first_port,
							is_out, at / PSEC_NS, frame});
}

static int start_side(struct demo *d, uint32_t which, const uint8_t *tapped)
{
	struct demo_side *side = &d->sides[which];
	struct run_tap tap = {.context = d, .frame = on_frame};
	char error[SCENARIO_ERROR_MAX];
	int answer = run_init(&side->run, &side->scenario, tapped ? &tap : NULL, tapped, error,
			      sizeof error);

	if (answer)
		return refuse(d, answer, error);
	side->has_run = true;
	return STATUS_OK;
}

static void end_side(struct demo_side *side)
{
	if (side->has_run)
		run_fini(&side->run);
	if (side->has_scenario)
		scenario_fini(&side->scenario);
	side->has_run = false;
	side->has_scenario = false;
}

uint32_t demo_qp_of(const struct run *r, uint32_t flow, bool is_source)
{
	const struct traffic_link *link = &r->traffic.links[r->traffic.flows[flow].link];

	return r->hosts.sim.first_qp + (is_source ? link->src_qp : link->dst_qp);
}

/* Which path the seed gave RC: that is where things will go wrong, or RC would most often not
 * notice. MRC uses all of them. */
static int find_place(struct demo *d)
{
	struct demo_place *place = &d->place;
	struct demo_side *side = &d->sides[DEMO_RC];
	uint32_t hops[HOPS_MAX];
	struct engine_attr attr;
	int status = read_side(d, DEMO_RC, false);

	if (status == STATUS_OK)
		status = start_side(d, DEMO_RC, NULL);
	if (status != STATUS_OK)
		return status;
	const struct topology *t = &side->scenario.topology;

	rc_qp_query(side->run.sim.hosts[DEMO_SRC].engine, demo_qp_of(&side->run, 0, true), &attr,
		    NULL, NULL);
	routing_hops(&side->run.routing, DEMO_SRC, attr.port, DEMO_DST, attr.ev, hops, HOPS_MAX);
	place->path = attr.ev;
	place->port = attr.port;
	place->plane = t->ports[hops[0]].plane;
	place->uplink = hops[1];
	const struct topology_port *up = &t->ports[hops[1]];

	snprintf(place->link, sizeof place->link, "%s-%s", t->labels[up->node],
		 t->labels[t->ports[up->peer].node]);
	end_side(side);
	return STATUS_OK;
}

/* The goodput of one port, were there nothing but full packets. */
static uint64_t plane_bps(const struct run *r)
{
	const struct sim_transport *t = &r->hosts.sim;
	const struct sim *s = &r->sim;
	uint64_t whole =
		t->payload_bytes + t->data_head_bytes + s->encap_bytes + s->cfg.overhead_bytes;

	return stats_scale(s->ports[s->hosts[DEMO_SRC].first_port].rate_bps, t->payload_bytes,
			   whole);
}

/* Keeps a cross flow of MRC on the congested path: its controller denies all other EVs. */
static int steer_mrc(const struct demo *d, struct run *r, uint32_t flow)
{
	const struct workload_flow *w = &r->scenario->workload.flows[flow];
	struct engine *e = r->sim.hosts[w->src].engine;
	uint32_t qp = demo_qp_of(r, flow, true), hops[HOPS_MAX];
	struct mrc_attr attr;
	int error = mrc_qp_query(e, qp, &attr, NULL, NULL);

	for (uint32_t i = 0; !error && i < attr.evs->set.n; i++) {
		const struct path_ev *ev = &attr.evs->set.evs[i];
		uint32_t n = routing_hops(&r->routing, w->src, ev->port, w->dst, ev->value, hops,
					  HOPS_MAX);

		if (n < 2 || hops[1] != d->place.uplink)
			error = mrc_qp_deny(e, 0, qp, i, true);
	}
	return error;
}

static int set_path(struct engine *e, uint32_t qp, struct engine_attr *attr)
{
	attr->state = ENGINE_SQD;
	int error = rc_qp_modify(e, 0, qp, attr, ENGINE_SET_STATE);

	attr->state = ENGINE_RTS;
	return error ? error : rc_qp_modify(e, 0, qp, attr, ENGINE_SET_STATE | ENGINE_SET_PATH);
}

/* A path of RC, as a queue pair of it is given one. */
struct rc_path {
	uint32_t port, ev;
	bool is_both_ways; /* answers come back by the same plane */
};

/* The same of RC: the queue pair is moved to a path, and its peer told where it comes from. */
static int steer_rc(struct run *r, uint32_t flow, struct rc_path path)
{
	const struct topology *t = &r->scenario->topology;
	const struct workload_flow *w = &r->scenario->workload.flows[flow];
	struct engine *src = r->sim.hosts[w->src].engine, *dst = r->sim.hosts[w->dst].engine;
	struct engine_attr attr;
	uint32_t plane = t->ports[t->nodes[w->src].first_port + path.port].plane;
	uint32_t at_src = demo_qp_of(r, flow, true), at_dst = demo_qp_of(r, flow, false);
	int error = rc_qp_query(src, at_src, &attr, NULL, NULL);

	attr.port = (uint8_t)path.port;
	if (path.ev != ANY_PATH)
		attr.ev = path.ev;
	if (path.is_both_ways)
		attr.local = plane;
	if (!error)
		error = set_path(src, at_src, &attr);
	if (!error)
		error = rc_qp_query(dst, at_dst, &attr, NULL, NULL);
	attr.local = plane;
	if (path.is_both_ways)
		attr.port = (uint8_t)path.port;
	return error ? error : set_path(dst, at_dst, &attr);
}

/* One queue pair by each plane, the best that RC can have: the one where things go wrong on the
 * very path, the others on the paths that the seed gave them. */
static int spread_rc(const struct demo *d, struct run *r)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < DEMO_QPS; i++) {
		struct rc_path path = {i, i == d->place.port ? d->place.path : ANY_PATH, true};

		error = steer_rc(r, i, path);
	}
	return error;
}

static int steer(struct demo *d, uint32_t which)
{
	struct run *r = &d->sides[which].run;
	struct rc_path path = {d->place.port, d->place.path, false};
	int error = which == DEMO_RC8 ? spread_rc(d, r) : 0;

	for (uint32_t i = d->sides[which].n_qps; !error && i < r->scenario->workload.n; i++)
		error = which == DEMO_MRC ? steer_mrc(d, r, i) : steer_rc(r, i, path);
	return error;
}

static int open_capture(struct demo *d, uint8_t *tapped)
{
	const struct scenario *s = &d->sides[DEMO_MRC].scenario;
	const struct net_cfg net =
		net_cfg_of(s->udp_port, s->names.trimmed, s->names.trimmed_lasthop);
	const struct topology *t = &s->topology;
	const struct topology_node *host = &t->nodes[DEMO_SRC];
	char name[2 * TOPOLOGY_NAME_MAX + 16];

	d->capture = pcapng_create(d->capture_path, &net);
	if (!d->capture)
		return command_error(d->name, STATUS_FILE, d->capture_path, strerror(errno));
	for (uint32_t i = host->first_port; i < host->first_port + host->n_ports; i++) {
		topology_port_name(t, i, name, sizeof name);
		pcapng_interface(d->capture, name, t->ports[i].rate_bps);
		tapped[i] = 1;
	}
	return STATUS_OK;
}

static int init_side(struct demo *d, uint32_t which)
{
	struct demo_side *side = &d->sides[which];
	int status = read_side(d, which, true);

	if (status != STATUS_OK)
		return status;
	bool has_capture = which == DEMO_MRC && d->capture_path;
	uint8_t *tapped = calloc(side->scenario.topology.n_ports, 1);

	side->to = calloc(1, DEMO_BYTES);
	if (!tapped || !side->to)
		status = memory_error(d->name);
	if (status == STATUS_OK && has_capture)
		status = open_capture(d, tapped);
	if (status == STATUS_OK)
		status = start_side(d, which, has_capture ? tapped : NULL);
	free(tapped);
	if (status != STATUS_OK)
		return status;
	uint64_t part = DEMO_BYTES / side->n_qps;
	int answer = 0;

	for (uint32_t i = 0; i < side->n_qps && !answer; i++)
		answer = run_use_memory(&side->run, i, d->from + i * part, side->to + i * part);
	if (!answer)
		answer = steer(d, which);
	side->plane_bps = plane_bps(&side->run);
	return answer ? refuse(d, answer, strerror(-answer)) : STATUS_OK;
}

int demo_init(struct demo *d)
{
	static const struct {
		const char *name, *key;
		uint32_t n_qps;
	} sides[DEMO_SIDES] = {{"MRC", "mrc", 1}, {"RC", "rc", 1}, {"RC x8", "rc8", DEMO_QPS}};
	struct prng random;

	for (uint32_t i = 0; i < DEMO_SIDES; i++) {
		d->sides[i].name = sides[i].name;
		d->sides[i].key = sides[i].key;
		d->sides[i].n_qps = sides[i].n_qps;
	}
	d->from = malloc(DEMO_BYTES);
	if (!d->from)
		return memory_error(d->name);
	prng_init(&random, d->seed, PAYLOAD_SALT);
	prng_fill(&random, d->from, DEMO_BYTES);
	int status = find_place(d);

	for (uint32_t i = 0; i < DEMO_SIDES && status == STATUS_OK; i++)
		status = init_side(d, i);
	return status;
}

int demo_fini(struct demo *d)
{
	int error = d->capture ? pcapng_close(d->capture) : 0;

	for (uint32_t i = 0; i < DEMO_SIDES; i++) {
		end_side(&d->sides[i]);
		free(d->sides[i].to);
	}
	free(d->from);
	return error ? command_error(d->name, STATUS_FILE, d->capture_path, strerror(error))
		     : STATUS_OK;
}

bool demo_step(struct demo *d)
{
	d->now_ps += DEMO_STEP_PS;
	d->n_steps++;
	for (uint32_t i = 0; i < DEMO_SIDES; i++)
		d->sides[i].is_over = !run_step(&d->sides[i].run, d->now_ps);
	demo_watch(d);
	return !d->sides[DEMO_MRC].is_over && d->now_ps < DEMO_END_PS &&
	       !(d->capture && pcapng_error(d->capture));
}

/* The digest of what was acknowledged of each flow, one behind the other. False where there is no
 * digest to be had. */
static bool hash(const struct demo_side *side, const uint8_t *bytes, char hex[DEMO_HEX_MAX])
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned int n = 0;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool is_good = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;

	hex[0] = '\0';
	for (uint32_t i = 0; i < side->n_qps && is_good; i++)
		is_good = EVP_DigestUpdate(context, bytes + i * (DEMO_BYTES / side->n_qps),
					   side->run.traffic.flows[i].acked_bytes) == 1;
	is_good = is_good && EVP_DigestFinal_ex(context, digest, &n) == 1 && n == DIGEST_BYTES;
	EVP_MD_CTX_free(context);
	for (uint32_t i = 0; i < n && is_good; i++)
		snprintf(hex + 2 * (size_t)i, 3, "%02x", digest[i]);
	return is_good;
}

void demo_verify(struct demo *d)
{
	for (uint32_t i = 0; i < DEMO_SIDES; i++) {
		const struct demo_side *side = &d->sides[i];

		d->hashed[i] = 0;
		for (uint32_t k = 0; k < side->n_qps; k++)
			d->hashed[i] += side->run.traffic.flows[k].acked_bytes;
		d->is_verified[i] = hash(side, d->from, d->sent_hash[i]) &&
				    hash(side, side->to, d->got_hash[i]) &&
				    strcmp(d->sent_hash[i], d->got_hash[i]) == 0;
	}
}

uint32_t demo_done(const struct demo_side *side)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < side->n_qps; i++)
		n += side->run.traffic.flows[i].state == TRAFFIC_DONE;
	return n;
}

bool demo_is_proven(const struct demo *d)
{
	bool is_good = d->hashed[DEMO_MRC] == DEMO_BYTES;

	for (uint32_t i = 0; i < DEMO_SIDES; i++)
		is_good = is_good && d->is_verified[i] && !d->sides[i].is_failed;
	return is_good;
}
