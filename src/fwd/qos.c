#include "fwd/qos.h"

#include <stddef.h>

static uint32_t fit32(uint64_t bytes)
{
	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

/* A fabric need not use every name. */
static void set_dscp(struct fwd_qos *qos, uint8_t dscp, struct fwd_dscp what)
{
	if (dscp < FWD_DSCPS)
		qos->dscps[dscp] = what;
}

static void set_classes(struct fwd_qos *qos, const struct fwd_bdp *bdp)
{
	for (uint8_t c = 0; c < qos->n_classes; c++)
		qos->classes[c] = (struct fwd_class){
			.level = c,
			.weight = 1,
			.threshold_bytes = bdp->plane_bytes,
			.min_trim_bytes = bdp->min_trim_bytes,
		};
	struct fwd_class *low = &qos->classes[0];

	low->ecn = true;
	low->ecn_min_bytes = bdp->plane_bytes / 5;
	low->ecn_max_bytes = fit32((uint64_t)bdp->plane_bytes * 4 / 5);
	/* UE 3.6.17 wants 2 to 5 times Plane_BDP where nothing is trimmed: a drop is found late. */
	if (!bdp->trimming)
		low->threshold_bytes = fit32((uint64_t)bdp->plane_bytes * 5);
}

void fwd_qos_recommended(struct fwd_qos *qos, const struct fwd_names *names,
			 const struct fwd_bdp *bdp)
{
	uint8_t high = bdp->three_classes ? 2 : 1;
	struct fwd_dscp plain = {0, FWD_TRIM_NEVER, FWD_NO_DSCP, FWD_NO_DSCP, 0};
	struct fwd_dscp control = plain, cut = plain, data = plain;

	control.tclass = high;
	cut.tclass = 1; /* TC_med of three, TC_high of two */
	cut.trim = FWD_TRIM_TRIMMED;
	if (bdp->trimming) {
		data.trim = FWD_TRIM_TRIMMABLE;
		data.trimmed = names->trimmed;
		data.trimmed_lasthop = names->trimmed_lasthop;
	}
	struct fwd_dscp retx = data;

	if (bdp->trimming)
		retx.threshold_bytes = fit32((uint64_t)bdp->plane_bytes * 3 / 2);

	*qos = (struct fwd_qos){.n_classes = (uint8_t)(high + 1)};
	set_classes(qos, bdp);
	for (uint8_t d = 0; d < FWD_DSCPS; d++)
		set_dscp(qos, d, plain);
	set_dscp(qos, names->no_trim, plain);
	/* Where a fabric has one number for both, it is an ordinary trimmable packet's. */
	set_dscp(qos, names->trimmable_rtx, retx);
	set_dscp(qos, names->trimmable, data);
	set_dscp(qos, names->trimmed, cut);
	set_dscp(qos, names->trimmed_lasthop, cut);
	set_dscp(qos, names->control, control);
}

struct net_trims fwd_qos_trims(const struct fwd_qos *qos)
{
	struct net_trims trims = {0, 0};

	for (uint32_t i = 0; i < FWD_DSCPS; i++) {
		const struct fwd_dscp *d = &qos->dscps[i];

		if (d->trim != FWD_TRIM_TRIMMABLE)
			continue;
		struct net_trims one = net_trims_of(d->trimmed, d->trimmed_lasthop);

		trims.trimmed |= one.trimmed;
		trims.lasthop |= one.lasthop;
	}
	return trims;
}

static const char *class_fault(const struct fwd_class *c)
{
	if (c->level >= FWD_CLASSES)
		return "a class's level is out of range";
	if (c->weight == 0)
		return "a class's weight is 0";
	if (c->ecn && c->ecn_min_bytes > c->ecn_max_bytes)
		return "a class's lower ECN threshold is above its upper one";
	if (c->pfc_xon_bytes > c->pfc_xoff_bytes)
		return "a class's PFC xon is above its xoff";
	return NULL;
}

/* What is wrong with the name a trimmable packet gets once it is cut. */
static const char *trimmed_fault(const struct fwd_qos *qos, uint8_t trimmed)
{
	if (trimmed >= FWD_DSCPS)
		return "a trimmable DSCP has no trimmed one";
	if (qos->dscps[trimmed].trim == FWD_TRIM_TRIMMABLE)
		return "a trimmed DSCP is itself trimmable";
	if (qos->dscps[trimmed].trim != FWD_TRIM_TRIMMED)
		return "the DSCP of trimmed packets does not say that they were trimmed";
	return NULL;
}

static const char *dscp_fault(const struct fwd_qos *qos, const struct fwd_dscp *d)
{
	if (d->tclass >= qos->n_classes)
		return "a DSCP's class is out of range";
	if (d->trim > FWD_TRIM_TRIMMED)
		return "a DSCP's kind of trimming is unknown";
	if (d->trim != FWD_TRIM_TRIMMABLE)
		return NULL;
	const char *fault = trimmed_fault(qos, d->trimmed);

	if (!fault && d->trimmed_lasthop != FWD_NO_DSCP)
		fault = trimmed_fault(qos, d->trimmed_lasthop);
	return fault;
}

const char *fwd_qos_fault(const struct fwd_qos *qos)
{
	const char *fault = NULL;

	if (qos->n_classes == 0 || qos->n_classes > FWD_CLASSES)
		return "the number of classes is out of range";
	for (uint32_t c = 0; c < qos->n_classes && !fault; c++)
		fault = class_fault(&qos->classes[c]);
	for (uint32_t d = 0; d < FWD_DSCPS && !fault; d++)
		fault = dscp_fault(qos, &qos->dscps[d]);
	return fault;
}
