#include <assert.h>
#include <string.h>

#include "fwd/spread.h"
#include "scenario/reader.h"
#include "wire/net.h"

#define OVERHEAD_MAX 1000u
/* From the UDP header on: what leaves BTH, METH and TSETH (MRC 7.5.3, M-27); of MRC, BTH alone
 * names a packet (M-49). */
#define TRIM         28u
#define MIN_TRIM_MAX 4096u
#define WEIGHT_MAX   1000u

static const char *const modes[] = {"ecmp", "structured", "usid", "usid+srh", NULL};

static void read_hash(struct reader *r)
{
	static const char *const names[] = {"src",   "dst",        "protocol", "sport",
					    "dport", "flow_label", NULL};
	struct conf *c = &r->conf;
	struct conf_node *list = conf_get(c, r->fabric, "hash");

	r->s->routing.hash_fields = FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL;
	if (!conf_is_list(c, list))
		return;
	if (list->n == 0)
		conf_fail(c, list, "is empty; list fields like [src, dst, sport, dport]");
	r->s->routing.hash_fields = 0;
	for (struct conf_node *at = list->first; at && !c->status; at = at->next)
		r->s->routing.hash_fields |= 1u << conf_choice(c, at, names);
}

static void read_ev_widths(struct reader *r)
{
	struct conf *c = &r->conf;
	struct fwd_ev_layout *layout = &r->s->routing.ev_layout;
	struct conf_node *list = conf_get(c, r->fabric, "ev_widths");

	*layout = (struct fwd_ev_layout){2, {8, 8}};
	if (!conf_is_list(c, list))
		return;
	layout->n = 0;
	if (list->n > FWD_EV_HOPS_MAX)
		conf_fail(c, list, "%u hops; at most %u", list->n, FWD_EV_HOPS_MAX);
	for (struct conf_node *at = list->first; at && !c->status; at = at->next)
		layout->widths[layout->n++] =
			(uint8_t)conf_number(c, at, UNITS_COUNT, (struct conf_range){1, 16, 0});
	if (!c->status && !fwd_ev_layout_ok(layout, 6))
		conf_fail(c, list,
			  "the widths make no entropy value; 1 to %u of them, at most "
			  "32 bits together",
			  FWD_EV_HOPS_MAX);
}

/* The codepoints; no two of them may be one. */
static void read_dscps(struct reader *r)
{
	static const char *const keys[] = {"no_trim", "trimmable",       "trimmable_rtx",
					   "trimmed", "trimmed_lasthop", "control"};
	struct conf *c = &r->conf;
	struct fwd_names *n = &r->s->names;
	uint8_t *const values[] = {&n->no_trim, &n->trimmable,       &n->trimmable_rtx,
				   &n->trimmed, &n->trimmed_lasthop, &n->control};
	struct conf_node *map = conf_get_map(c, r->fabric, "dscp");

	*n = (struct fwd_names){0, 10, 12, 18, 20, 46};
	for (uint32_t i = 0; i < 6; i++) {
		*values[i] = (uint8_t)conf_get_u32(
			c, map, keys[i], (struct conf_range){0, FWD_DSCPS - 1, *values[i]});
		for (uint32_t j = 0; j < i; j++)
			if (*values[i] == *values[j])
				conf_fail_key(c, map, keys[i],
					      "%u is the number of %s too; each needs its own",
					      *values[i], keys[j]);
	}
	conf_finish(c, map, "dscp");
	r->s->routing.trims = net_trims_of(n->trimmed, n->trimmed_lasthop);
}

void read_forwarding(struct reader *r)
{
	static const char *const formats[] = {"F3216", "F1616", NULL};
	static const char *const decaps[] = {"host", "leaf", NULL};
	struct conf *c = &r->conf;
	struct conf_node *map = r->fabric;
	struct routing_cfg *cfg = &r->s->routing;

	cfg->mode = (enum routing_mode)conf_get_choice(c, map, "routing", modes, ROUTING_ECMP);
	cfg->format = (enum fwd_sid_format)conf_get_choice(c, map, "container", formats, FWD_F3216);
	cfg->decap = (enum routing_decap)conf_get_choice(c, map, "decapsulate", decaps,
							 ROUTING_DECAP_HOST);
	cfg->uses_adjacency = conf_get_flag(c, map, "adjacency", false);
	cfg->psp = conf_get_flag(c, map, "psp", false);
	if (cfg->psp && cfg->mode != ROUTING_USID_SRH)
		conf_fail_key(c, map, "psp", "there is no SRH to pop; use routing: usid+srh");
	read_hash(r);
	read_ev_widths(r);
	read_dscps(r);
	r->s->overhead_bytes =
		conf_get_u32(c, map, "overhead", (struct conf_range){0, OVERHEAD_MAX, 24});
	/* MRC 7.5.5.2: configurable. */
	r->s->udp_port = (uint16_t)conf_get_u32(c, map, "udp_port",
						(struct conf_range){1, UINT16_MAX, NET_ROCE_PORT});
}

uint32_t read_size(struct reader *r, struct conf_node *map, const char *key, uint32_t fallback)
{
	struct conf *c = &r->conf;
	const struct conf_node *node = conf_get(c, map, key);

	if (!node)
		return fallback;
	if (!units_is_bdp(conf_text(c, node)))
		return (uint32_t)conf_number(c, node, UNITS_BYTES,
					     (struct conf_range){1, UINT32_MAX, 0});
	uint64_t millionths =
		conf_number(c, node, UNITS_BDP, (struct conf_range){1, 1000000000, 0});
	uint64_t whole = millionths / 1000000 * r->s->plane_bdp_bytes;
	uint64_t bytes = whole + millionths % 1000000 * r->s->plane_bdp_bytes / 1000000;

	if (bytes == 0 || bytes > UINT32_MAX)
		conf_fail(c, node, "%s of %u bytes is out of range; 1 byte to 4 GiB", node->text,
			  r->s->plane_bdp_bytes);
	return (uint32_t)bytes;
}

static void read_buffer(struct reader *r)
{
	static const char *const kinds[] = {"port", "shared", NULL};
	struct conf *c = &r->conf;
	struct conf_node *map = conf_get_map(c, r->fabric, "buffer");

	r->s->buffer.shared = conf_get_choice(c, map, "kind", kinds, 1) == 1;
	r->s->buffer.total_bytes = conf_get_number(
		c, map, "size", UNITS_BYTES,
		(struct conf_range){0, UINT64_C(1) << 40, r->s->buffer.shared ? 64u << 20 : 0});
	conf_finish(c, map, "a buffer");
}

static void read_ecn(struct reader *r, struct fwd_class *low)
{
	struct conf *c = &r->conf;
	struct conf_node *node = conf_get(c, r->fabric, "ecn");

	if (!node)
		return;
	if (node->type == CONF_TEXT) {
		low->ecn = conf_flag(c, node);
		return;
	}
	if (!conf_is_map(c, node))
		return;
	low->ecn_min_bytes = read_size(r, node, "min", low->ecn_min_bytes);
	low->ecn_max_bytes = read_size(r, node, "max", low->ecn_max_bytes);
	if (low->ecn_min_bytes > low->ecn_max_bytes)
		conf_fail_key(c, node, "min", "%u bytes are above max, %u; make it smaller",
			      low->ecn_min_bytes, low->ecn_max_bytes);
	conf_finish(c, node, "ecn");
}

/* True when there is PFC. Paused data is not lost, so nothing may drop it early either. */
static bool read_pfc(struct reader *r, struct fwd_class *low)
{
	struct conf *c = &r->conf;
	struct conf_node *node = conf_get(c, r->fabric, "pfc");

	if (!node || (node->type == CONF_TEXT && !conf_flag(c, node)))
		return false;
	if (node->type != CONF_TEXT && !conf_is_map(c, node))
		return false;
	struct conf_node *map = node->type == CONF_MAP ? node : NULL;
	uint32_t quarter = r->s->plane_bdp_bytes / 4;

	low->pfc_xoff_bytes = read_size(r, map, "xoff", quarter > 0 ? quarter : 1);
	low->pfc_xon_bytes =
		read_size(r, map, "xon", low->pfc_xoff_bytes - low->pfc_xoff_bytes / 5);
	if (low->pfc_xon_bytes > low->pfc_xoff_bytes)
		conf_fail_key(c, map, "xon", "%u bytes are above xoff, %u; make it smaller",
			      low->pfc_xon_bytes, low->pfc_xoff_bytes);
	conf_finish(c, map, "pfc");
	low->threshold_bytes = 0;
	return true;
}

static void read_thresholds(struct reader *r, struct fwd_qos *qos)
{
	const struct fwd_names *n = &r->s->names;
	struct conf *c = &r->conf;
	struct conf_node *map = conf_get_map(c, r->fabric, "threshold");
	uint32_t *data = &qos->classes[0].threshold_bytes;
	uint32_t *retx = &qos->dscps[n->trimmable_rtx].threshold_bytes;
	struct fwd_class *high = &qos->classes[qos->n_classes - 1];

	*data = read_size(r, map, "data", *data);
	/* A retransmission has half as much room again (UE 3.6.17). */
	if (conf_get(c, map, "data") && *retx > 0)
		*retx = *data < UINT32_MAX / 3 * 2 ? *data + *data / 2 : UINT32_MAX;
	*retx = read_size(r, map, "retransmit", *retx);
	uint32_t cut = read_size(r, map, "trimmed", 0);

	qos->dscps[n->trimmed].threshold_bytes = cut;
	qos->dscps[n->trimmed_lasthop].threshold_bytes = cut;
	high->threshold_bytes = read_size(r, map, "control", high->threshold_bytes);
	conf_finish(c, map, "threshold");
}

static void read_scheduling(struct reader *r, struct fwd_qos *qos)
{
	static const char *const kinds[] = {"strict", "wrr", NULL};
	static const char *const keys[] = {"low", "med", "high"};
	/* Med gets three quarters of what high leaves (UE 3.6.17). */
	static const uint32_t shares[] = {1, 3, 1};
	struct conf *c = &r->conf;
	bool wrr = conf_get_choice(c, r->fabric, "scheduling", kinds, 0) == 1;
	struct conf_node *map = conf_get_map(c, r->fabric, "weights");

	if (wrr && qos->n_classes < 3)
		conf_fail_key(c, r->fabric, "scheduling",
			      "wrr shares between low and med; use classes: 3");
	if (wrr)
		qos->classes[1].level = qos->classes[0].level;
	assert(qos->n_classes <= 3);
	for (uint32_t i = 0; i < qos->n_classes; i++) {
		/* Of two classes, the upper one is high. */
		uint32_t which = i == qos->n_classes - 1u ? 2 : i;
		struct conf_range range = {1, WEIGHT_MAX, wrr ? shares[which] : 1};

		qos->classes[i].weight = (uint16_t)conf_get_u32(c, map, keys[which], range);
	}
	conf_finish(c, map, "weights");
}

/* What is in front of the UDP header in the outermost IP payload. */
static uint32_t segment_bytes(enum routing_mode mode)
{
	return mode == ROUTING_USID_SRH ? 64 : mode == ROUTING_USID ? 40 : 0;
}

static void read_bdp(struct reader *r)
{
	const struct conf_node *node = conf_get(&r->conf, r->fabric, "bdp");

	if (node)
		r->s->plane_bdp_bytes = (uint32_t)conf_number(
			&r->conf, node, UNITS_BYTES, (struct conf_range){64, UINT32_MAX, 0});
}

void read_queues(struct reader *r)
{
	struct conf *c = &r->conf;
	struct conf_node *map = r->fabric, *pfc = conf_get(c, map, "pfc");
	struct fwd_qos *qos = &r->s->qos;
	uint32_t before = segment_bytes(r->s->routing.mode);
	const struct transport *row = r->s->transport.row;
	bool may_cut = row && transport_has(row, TRANSPORT_TRIMS);
	uint32_t kept = before + TRIM;
	uint32_t least = may_cut ? before + udp_bytes + row->trim_least_bytes : kept;
	bool pauses = pfc && (pfc->type == CONF_MAP || conf_flag(c, pfc));
	/* Where no packet is ever trimmed, thresholds for trimming would only drop them early. */
	bool may_trim = !pauses && (!row || may_cut);

	read_bdp(r);
	struct fwd_bdp bdp = {
		.plane_bytes = r->s->plane_bdp_bytes,
		.trimming = conf_get_flag(c, map, "trimming", may_trim),
		.three_classes = conf_get_u32(c, map, "classes", (struct conf_range){2, 3, 3}) == 3,
		.min_trim_bytes = (uint16_t)conf_get_u32(
			c, map, "min_trim", (struct conf_range){least, MIN_TRIM_MAX, kept}),
	};

	fwd_qos_recommended(qos, &r->s->names, &bdp);
	read_buffer(r);
	read_ecn(r, &qos->classes[0]);
	read_pfc(r, &qos->classes[0]);
	read_thresholds(r, qos);
	uint64_t alpha = conf_get_number(c, map, "alpha", UNITS_RATIO,
					 (struct conf_range){125000, 1024000000, 0});

	if (alpha % 125000 != 0)
		conf_fail_key(c, map, "alpha", "is no multiple of 1/8; use one like 0.5 or 0.125");
	qos->classes[0].alpha_eighths = (uint16_t)(alpha / 125000);
	read_scheduling(r, qos);
	conf_finish(c, map, "fabric");
	const char *fault = c->status ? NULL : fwd_qos_fault(qos);

	if (fault)
		conf_fail_key(c, c->root, "fabric", "%s; change the thresholds or codepoints",
			      fault);
}
