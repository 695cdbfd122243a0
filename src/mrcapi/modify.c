/* mrc_modify_qp: what a program sets, as the engine has it. */
#include <assert.h>
#include <string.h>

#include "mrcapi/inside.h"

static_assert((int)MRC_RESET == IBV_QPS_RESET && (int)MRC_INIT == IBV_QPS_INIT &&
		      (int)MRC_RTR == IBV_QPS_RTR && (int)MRC_RTS == IBV_QPS_RTS &&
		      (int)MRC_SQD == IBV_QPS_SQD,
	      "the states have the header's numbers but for the last");

#define NUMBER_MASK (MRC_NUMBERS - 1)

/* Where a program says nothing: as nic_qp_connect has them, for ends that are software. */
#define MPR_DEFAULT     32u
#define TIMEOUT_DEFAULT 16u
#define LINEAR_DEFAULT  4u
#define EXP_DEFAULT     5u

enum ibv_qp_state mrcapi_state(uint8_t state)
{
	return state == MRC_ERROR ? IBV_QPS_ERR : (enum ibv_qp_state)state;
}

struct mrc_qp_attr mrcapi_defaults(void)
{
	return (struct mrc_qp_attr){
		.mpr = {MPR_DEFAULT, MPR_DEFAULT},
		.wimm = {MRCAPI_MAX_WIMM, MRCAPI_MAX_WIMM},
		.timeout = TIMEOUT_DEFAULT,
		.retry = {LINEAR_DEFAULT, EXP_DEFAULT},
	};
}

/* One call: what it names, and the pair's attributes as they would be after it. */
struct change {
	struct mrc_qp *qp;
	const struct ibv_qp_attr *verbs;
	int vmask;
	struct mrc_qp_attr mrc;
	unsigned mmask;
	enum ibv_qp_state from, to;
	uint16_t max_wimm; /* that the pair has room for */
	struct nic_path path;
};

/* The values of the verbs' attributes. A port is any of the device's: packets take all of them. */
static bool is_sound(const struct change *c)
{
	const struct ibv_qp_attr *a = c->verbs;
	const struct ibv_global_route *route = &a->ah_attr.grh;
	int mask = c->vmask;

	if (mask & IBV_QP_CUR_STATE && a->cur_qp_state != c->from)
		return false;
	if ((mask & IBV_QP_PKEY_INDEX && a->pkey_index != 0) ||
	    (mask & IBV_QP_PORT && !verbs_has_port(c->qp->context->verbs, a->port_num)))
		return false;
	if (mask & IBV_QP_AV && (!a->ah_attr.is_global || route->sgid_index >= NIC_GID_TABLE ||
				 a->ah_attr.sl >= CONFIG_SLS))
		return false;
	return !((mask & IBV_QP_PATH_MTU &&
		  (a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096)) ||
		 (mask & IBV_QP_DEST_QPN && a->dest_qp_num > NUMBER_MASK));
}

/* Those of MRC (Table 7-1, M-33, and what mrc_query_device says). */
static bool is_sound_mrc(const struct change *c)
{
	const struct mrc_qp_attr *a = &c->mrc;
	unsigned mask = c->mmask;
	const unsigned caps = MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED | MRC_QP_CAP_DYNAMIC_MPR |
			      MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED;

	if ((mask & MRC_QP_MPR && a->mpr.mpr == 0) ||
	    (mask & MRC_QP_MPR_DEST && a->mpr.mpr_dest == 0) ||
	    (mask & MRC_QP_MAX_WIMM && a->wimm.max_wimm > MRCAPI_MAX_WIMM) ||
	    (mask & MRC_QP_MAX_WIMM_DEST && a->wimm.max_wimm_dest > MRCAPI_MAX_WIMM))
		return false;
	if ((mask & MRC_QP_TIMEOUT && a->timeout > MRC_TIMEOUT_MAX) ||
	    (mask & MRC_QP_RETRY_CNT &&
	     (a->retry.linear_cnt > MRC_LINEAR_MAX || a->retry.exp_cnt > MRC_EXP_MAX)))
		return false;
	if (mask & MRC_QP_HINT && a->qp_hint && a->qp_hint->context != c->qp->context)
		return false;
	return !((mask & MRC_QP_CAP && a->cap & ~caps) ||
		 (mask & (unsigned)MRC_QP_VENDOR_CFG && !mrcapi_is_empty(a->vendor_cfg)));
}

/* Overlays what the mask names. */
static void overlay(struct mrc_qp_attr *to, const struct mrc_qp_attr *a, unsigned mask)
{
	if (mask & MRC_QP_MPR)
		to->mpr.mpr = a->mpr.mpr;
	if (mask & MRC_QP_MPR_DEST)
		to->mpr.mpr_dest = a->mpr.mpr_dest;
	if (mask & MRC_QP_MAX_WIMM)
		to->wimm.max_wimm = a->wimm.max_wimm;
	if (mask & MRC_QP_MAX_WIMM_DEST)
		to->wimm.max_wimm_dest = a->wimm.max_wimm_dest;
	if (mask & MRC_QP_TIMEOUT)
		to->timeout = a->timeout;
	if (mask & MRC_QP_EV_PROFILE_ID)
		to->profile.ev_profile_id = a->profile.ev_profile_id;
	if (mask & MRC_QP_CC_PROFILE_ID)
		to->profile.cc_profile_id = a->profile.cc_profile_id;
	if (mask & MRC_QP_RETRY_CNT)
		to->retry = a->retry;
	if (mask & MRC_QP_HINT)
		to->qp_hint = a->qp_hint;
	if (mask & MRC_QP_CAP)
		to->cap = a->cap;
	if (mask & (unsigned)MRC_QP_VENDOR_CFG)
		memcpy(to->vendor_cfg, a->vendor_cfg, sizeof to->vendor_cfg);
}

/* As many immediates as the program says are kept ahead of a gap, or as there may be receives. */
static uint16_t immediates_kept(const struct change *c)
{
	uint16_t most = c->mrc.wimm.max_wimm_dest;

	return most < c->max_wimm ? most : c->max_wimm;
}

/* A peer that is said to tell its service time, and does not, tells that it took none. One that
 * answers no trimmed packets is better off with none (7.5.3). */
static uint8_t flags_of(uint32_t cap)
{
	unsigned flags = 0;

	flags |= cap & MRC_QP_CAP_DYNAMIC_MPR ? MRC_DYNAMIC_MPR : 0;
	flags |= cap & MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED ? MRC_NO_TRIM : MRC_PEER_TRIM_NACK;
	flags |= cap & MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED ? 0 : MRC_PEER_SERVICE_TIME;
	return (uint8_t)flags;
}

/* The attributes as the engine has them; only those that set names are looked at. Devices take the
 * low 24 bits of a packet number. A program that names no rights means what MRC is for. */
static struct mrc_attr our_attr(const struct change *c)
{
	const unsigned rights = MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC;
	const struct ibv_qp_attr *a = c->verbs;
	bool has_rights = c->vmask & IBV_QP_ACCESS_FLAGS;
	struct mrc_attr attr = {
		.state = c->to == IBV_QPS_ERR ? (uint8_t)MRC_ERROR : (uint8_t)c->to,
		.access = MEM_REMOTE_WRITE,
		.timeout = c->mrc.timeout,
		.linear_retries = c->mrc.retry.linear_cnt,
		.exp_retries = c->mrc.retry.exp_cnt,
		/* Table 10-1: ours as a responder, whom the peer keeps to, and the peer's. */
		.mpr = c->mrc.mpr.mpr_dest,
		.mpr_dest = c->mrc.mpr.mpr,
		.wimm = immediates_kept(c),
		.wimm_dest = c->mrc.wimm.max_wimm,
		.flags = flags_of(c->mrc.cap),
	};

	if (!a)
		return attr;
	if (has_rights)
		attr.access = (uint8_t)(a->qp_access_flags & rights);
	attr.pmtu = (uint16_t)(128u << (a->path_mtu & 7u));
	attr.remote_qp = a->dest_qp_num;
	attr.rq_psn = a->rq_psn & NUMBER_MASK;
	attr.sq_psn = a->sq_psn & NUMBER_MASK;
	return attr;
}

/* What the engine needs for a step, whether the program named it or not. */
static uint32_t set_of_step(const struct change *c)
{
	if (c->from == IBV_QPS_RESET && c->to == IBV_QPS_INIT)
		return MRC_SET_ACCESS;
	if (c->from == IBV_QPS_INIT && c->to == IBV_QPS_RTR)
		return MRC_SET_MPR | MRC_SET_WIMM | MRC_SET_FLAGS;
	if (c->from != IBV_QPS_RTR || c->to != IBV_QPS_RTS)
		return 0;
	return MRC_SET_MPR_DEST | MRC_SET_WIMM_DEST | MRC_SET_TIMEOUT | MRC_SET_RETRIES;
}

static uint32_t our_set(const struct change *c)
{
	static const struct {
		int theirs;
		uint32_t ours;
	} map[] = {
		{IBV_QP_STATE, MRC_SET_STATE},        {IBV_QP_ACCESS_FLAGS, MRC_SET_ACCESS},
		{IBV_QP_PATH_MTU, MRC_SET_PMTU},      {IBV_QP_AV, MRC_SET_PATH},
		{IBV_QP_DEST_QPN, MRC_SET_REMOTE_QP}, {IBV_QP_RQ_PSN, MRC_SET_RQ_PSN},
		{IBV_QP_SQ_PSN, MRC_SET_SQ_PSN},
	};
	uint32_t set = set_of_step(c);

	for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
		set |= c->vmask & map[i].theirs ? map[i].ours : 0;
	/* A responder's range changes while packets flow if the ends agreed on that (7.5.4): the
	 * engine minds it. */
	if (c->from >= IBV_QPS_RTR && c->mmask & MRC_QP_MPR_DEST)
		set |= MRC_SET_MPR;
	if (c->from < IBV_QPS_RTS || c->from > IBV_QPS_SQD || c->to > IBV_QPS_SQD)
		return set;
	if (c->mmask & MRC_QP_MAX_WIMM)
		set |= MRC_SET_WIMM_DEST;
	if (c->mmask & MRC_QP_TIMEOUT)
		set |= MRC_SET_TIMEOUT;
	if (c->mmask & MRC_QP_RETRY_CNT)
		set |= MRC_SET_RETRIES;
	return set;
}

/* Profiles are named before the step, and named back if it fails. */
static int name_profiles(const struct change *c, const struct mrc_qp_attr *a)
{
	const uint64_t *ev = c->mmask & MRC_QP_EV_PROFILE_ID ? &a->profile.ev_profile_id : NULL;
	const uint64_t *cc = c->mmask & MRC_QP_CC_PROFILE_ID ? &a->profile.cc_profile_id : NULL;

	return ev || cc ? nic_mrc_qp_profiles(c->qp->nic, ev, cc) : 0;
}

static int set_engine(const struct change *c)
{
	struct mrc_attr attr = our_attr(c);
	uint32_t set = our_set(c);
	int error = name_profiles(c, &c->mrc);

	if (error || !set)
		return error;
	error = nic_mrc_qp_modify(c->qp->nic, &attr, set, &c->path);
	if (error)
		name_profiles(c, &c->qp->attr);
	return error;
}

/* What was said of the verbs' attributes, for mrc_query_qp. */
static void remember_verbs(struct ibv_qp_attr *to, const struct ibv_qp_attr *a, int mask)
{
	if (mask & IBV_QP_AV)
		to->ah_attr = a->ah_attr;
	if (mask & IBV_QP_PATH_MTU)
		to->path_mtu = a->path_mtu;
	if (mask & IBV_QP_DEST_QPN)
		to->dest_qp_num = a->dest_qp_num;
	if (mask & IBV_QP_PORT)
		to->port_num = a->port_num;
	if (mask & IBV_QP_TIMEOUT)
		to->timeout = a->timeout;
	if (mask & IBV_QP_RETRY_CNT)
		to->retry_cnt = a->retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		to->rnr_retry = a->rnr_retry;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = a->min_rnr_timer;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = a->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = a->max_dest_rd_atomic;
	if (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY)
		to->en_sqd_async_notify = a->en_sqd_async_notify;
}

/* A reset pair is as new. */
static void forget(struct mrc_qp *qp)
{
	mrcapi_hint_swap(qp->context, &qp->attr.qp_hint, NULL);
	qp->attr = mrcapi_defaults();
	qp->said = (struct ibv_qp_attr){.port_num = VERBS_PORT};
}

static void remember(const struct change *c)
{
	struct mrc_qp *qp = c->qp;
	struct mrc_qp_hint *hint = c->mrc.qp_hint;

	if (c->vmask & IBV_QP_STATE && c->to == IBV_QPS_RESET) {
		forget(qp);
		return;
	}
	if (c->vmask)
		remember_verbs(&qp->said, c->verbs, c->vmask);
	mrcapi_hint_swap(qp->context, &qp->attr.qp_hint, hint);
	qp->attr = c->mrc;
}

/* Under the pair's lock. 0 or a negative errno; then nothing changed. */
static int modify(struct change *c, const struct mrc_qp_attr *mrc)
{
	struct mrc_attr is;
	struct mrc_caps caps;
	int error = nic_mrc_qp_query(c->qp->nic, &is, &caps, NULL);

	if (error)
		return error;
	c->max_wimm = caps.max_wimm;
	c->from = mrcapi_state(is.state);
	c->to = c->vmask & IBV_QP_STATE ? c->verbs->qp_state : c->from;
	c->mrc = c->qp->attr;
	if (c->mmask)
		overlay(&c->mrc, mrc, c->mmask);
	if (!mrcapi_may_modify(c->from, c->to, c->vmask, (int)c->mmask) ||
	    (c->vmask && !is_sound(c)) || !is_sound_mrc(c))
		return -EINVAL;
	if (c->vmask & IBV_QP_AV) {
		const struct ibv_global_route *route = &c->verbs->ah_attr.grh;

		/* The traffic class is kept for those who ask, as for a reliable connection: which
		 * DSCP a packet has follows from what it is and its service level (7.5.5.1). */
		c->path.gid_index = route->sgid_index;
		c->path.sl = c->verbs->ah_attr.sl;
		memcpy(c->path.dgid, route->dgid.raw, sizeof c->path.dgid);
	}
	error = set_engine(c);
	if (!error)
		remember(c);
	return error;
}

int mrc_modify_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		  struct mrc_qp_attr *mrc_attr, int mrc_attr_mask)
{
	if (!qp || (!vattr && vattr_mask) || (!mrc_attr && mrc_attr_mask))
		return verbs_answer(-EINVAL);
	struct change change = {
		.qp = qp,
		.verbs = vattr,
		.vmask = vattr_mask,
		.mmask = (unsigned)mrc_attr_mask,
	};

	pthread_mutex_lock(&qp->modify);
	int error = modify(&change, mrc_attr);

	pthread_mutex_unlock(&qp->modify);
	return verbs_answer(error);
}
