#include "cc/settings.h"
#include "scenario/hosts.h"
#include "scenario/reader.h"

__extension__ typedef unsigned __int128 u128;

/* A trimmed packet is learnt of where switches trim and receivers say so. */
static bool sees_trims(const struct scenario *s)
{
	return s->transport.options.answers_trims &&
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

	if (scenario_cc(&s->transport) != CC_NSCC)
		return;
	for (uint32_t h = 0; h < s->topology.n_hosts && !r->conf.status; h++) {
		const char *problem =
			nscc_cfg_problem(&s->transport.options.nscc, hosts_rate(&s->topology, h));

		if (problem)
			conf_fail_key(&r->conf, r->transport, "nscc",
				      "%s; set it, or use cc: fixed", problem);
	}
}

/* What is left out is 0 here, and a default of the controller's, but for what the fabric says. */
void read_nscc(struct reader *r, struct conf_node *map)
{
	struct conf *c = &r->conf;
	struct nscc_cfg *n = &r->s->transport.options.nscc;
	nsec base_ns = (r->s->base_rtt_ps + PSEC_NS - 1) / PSEC_NS;

	*n = (struct nscc_cfg){0};
	read_settings(c, map, &nscc_settings, n);
	conf_finish(c, map, "nscc");
	if (c->status)
		return;
	if (!n->base_rtt_ns)
		n->base_rtt_ns = base_ns;
	n->mtu_bytes = hosts_nominal(r->s->transport.row, r->s->transport.payload_bytes);
	n->has_trimming = sees_trims(r->s);
	if (n->target_qdelay_ns == 0)
		n->target_qdelay_ns = target_of(r->s, n->base_rtt_ns);
	check(r);
}
