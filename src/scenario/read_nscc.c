#include "scenario/hosts.h"
#include "scenario/reader.h"

__extension__ typedef unsigned __int128 u128;

#define MILLION 1000000u

/* A number in fixed point, from a decimal fraction: the nearest, and not the 0 of a default. */
static uint64_t fixed(struct conf *c, struct conf_node *map, const char *key, uint32_t bits,
		      uint64_t most)
{
	uint64_t millionths = conf_get_number(c, map, key, UNITS_RATIO,
					      (struct conf_range){1, most * MILLION, 0});

	return (uint64_t)((((u128)millionths << bits) + MILLION / 2) / MILLION);
}

static nsec time_ns(struct conf *c, struct conf_node *map, const char *key)
{
	return conf_get_number(c, map, key, UNITS_TIME,
			       (struct conf_range){PSEC_NS, NSCC_NS_MAX * PSEC_NS, 0}) /
	       PSEC_NS;
}

static uint64_t rate_bps(struct conf *c, struct conf_node *map, const char *key)
{
	return conf_get_number(c, map, key, UNITS_RATE,
			       (struct conf_range){NSCC_BPS_MIN, NSCC_BPS_MAX, 0});
}

static uint32_t size_bytes(struct conf *c, struct conf_node *map, const char *key)
{
	return (uint32_t)conf_get_number(c, map, key, UNITS_BYTES,
					 (struct conf_range){1, UINT32_MAX, 0});
}

static void read_numbers(struct conf *c, struct conf_node *map, struct nscc_cfg *n)
{
	n->qa_gate = conf_get_u32(c, map, "qa_gate", (struct conf_range){1, 31, 0});
	n->gamma_q32 = fixed(c, map, "gamma", 32, 1);
	n->max_md_jump_q32 = fixed(c, map, "max_md_jump", 32, 1);
	n->scaling_a_q32 = fixed(c, map, "scaling_a", 32, (1u << 16) - 1);
	n->scaling_b_q32 = fixed(c, map, "scaling_b", 32, (1u << 18) - 1);
	n->alpha_q40 = fixed(c, map, "alpha", 40, (1u << 20) - 1);
	n->fi_q24 = fixed(c, map, "fi", 24, (UINT64_C(1) << 33) - 1);
	n->fi_scale_q32 = fixed(c, map, "fi_scale", 32, (1u << 25) - 1);
	n->eta_q24 = fixed(c, map, "eta", 24, (UINT64_C(1) << 33) - 1);
	n->has_no_quick_adapt = !conf_get_flag(c, map, "quick_adapt", true);
}

/* A trimmed packet is learnt of where switches trim and receivers say so. */
static bool sees_trims(const struct scenario *s)
{
	return s->transport.has_trim_nack &&
	       s->qos.dscps[s->names.trimmable].trim == FWD_TRIM_TRIMMABLE;
}

/* From a queue of ecn_max_bytes on, switches mark every packet; below it some come unmarked from a
 * queue that does not shrink. NSCC takes a late packet without a mark for the end of congestion (UE
 * 3.6.13): that it is only where late means later than such a queue takes. So the target is an
 * eighth beyond that, where the text's own default, 3/4 of the round trip with trimming, is less.
 */
static nsec target_of(const struct scenario *s, nsec base_ns)
{
	const struct fwd_class *data = &s->qos.classes[s->qos.dscps[s->names.trimmable].tclass];
	nsec text_ns = sees_trims(s) ? base_ns * 3 / 4 : base_ns;
	u128 full_ns = (u128)base_ns * data->ecn_max_bytes / s->plane_bdp_bytes;

	full_ns += full_ns / 8;
	if (!data->ecn || full_ns <= text_ns || full_ns > NSCC_NS_MAX)
		return 0;
	return (nsec)full_ns;
}

static void check(struct reader *r)
{
	const struct scenario *s = r->s;

	if (s->transport.cc != SCENARIO_CC_NSCC)
		return;
	for (uint32_t h = 0; h < s->topology.n_hosts && !r->conf.status; h++) {
		const char *problem =
			nscc_cfg_problem(&s->transport.nscc, hosts_rate(&s->topology, h));

		if (problem)
			conf_fail_key(&r->conf, r->transport, "nscc",
				      "%s; set it, or use cc: fixed", problem);
	}
}

/* What is left out is 0 here, and a default of the controller's, but for what the fabric says. */
void read_nscc(struct reader *r, struct conf_node *map)
{
	struct conf *c = &r->conf;
	struct nscc_cfg *n = &r->s->transport.nscc;
	nsec base_ns = (r->s->base_rtt_ps + PSEC_NS - 1) / PSEC_NS;
	struct conf_range base = {NSCC_RTT_MIN_NS * PSEC_NS, NSCC_RTT_MAX_NS * PSEC_NS,
				  base_ns * PSEC_NS};

	*n = (struct nscc_cfg){
		.base_rtt_ns = conf_get_number(c, map, "base_rtt", UNITS_TIME, base) / PSEC_NS,
		.target_qdelay_ns = time_ns(c, map, "target_qdelay"),
		.qa_threshold_ns = time_ns(c, map, "qa_threshold"),
		.adjust_period_ns = time_ns(c, map, "adjust_period"),
		.near_ns = time_ns(c, map, "near"),
		.sender_bps = rate_bps(c, map, "sender_rate"),
		.receiver_bps = rate_bps(c, map, "receiver_rate"),
		.mtu_bytes = hosts_mrc_nominal(r->s->transport.payload_bytes),
		.bdp_bytes = size_bytes(c, map, "bdp"),
		.max_wnd_bytes = size_bytes(c, map, "max_window"),
		.base_bdp_bytes = size_bytes(c, map, "base_bdp"),
		.adjust_bytes = size_bytes(c, map, "adjust_bytes"),
		.has_trimming = sees_trims(r->s),
	};
	if (n->target_qdelay_ns == 0)
		n->target_qdelay_ns = target_of(r->s, n->base_rtt_ns);
	read_numbers(c, map, n);
	conf_finish(c, map, "nscc");
	if (!c->status)
		check(r);
}
