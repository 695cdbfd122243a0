/* libmrc: what its files share. The MRC interface (mrc.h, mrc_ctl.h) stands beside the verbs in one
 * library: devices, domains and regions are the verbs', and a struct mrc_context is one more user
 * of the same soft device, with queues, pairs and events of its own.
 *
 * Invariant: whatever a context has made is in its lists until it is destroyed, so that the end of
 * the context is the end of all of it. Locks: one per pair around changes of its state, then one
 * per context around its lists, hints and their counts; the soft device has its own below both.
 * Every function looks first whether it was given what it needs: NULL is EINVAL. */
#ifndef WEFT_MRCAPI_INSIDE_H
#define WEFT_MRCAPI_INSIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "verbs/inside.h"

#include "nic/mrc/nic_mrc.h"

/* What these declare is what the library shows; all else is hidden by the build. */
#pragma GCC visibility push(default)
#include <mrc_ctl.h>
#pragma GCC visibility pop

/* Limits, as mrc_query_device tells them. */
#define MRCAPI_MAX_WIMM  512u
#define MRCAPI_MAX_HINTS 65536u

/* Kinds of objects, users before what they use. */
enum mrcapi_kind {
	MRCAPI_PAIR,
	MRCAPI_HINT,
	MRCAPI_QUEUE,
	MRCAPI_CHANNEL,
	MRCAPI_KINDS,
};

struct mrc_context {
	struct ibv_context *verbs;
	struct nic_user *user;
	uint32_t version, vendor_version; /* of the interface, that the program was written for */
	pthread_mutex_t lock;             /* around the two that follow, and counts of hints */
	uint32_t n_hints;
	struct verbs_link *objects[MRCAPI_KINDS];
};

struct mrc_comp_channel {
	struct mrc_context *context;
	struct verbs_link link;
	struct nic_channel *nic;
};

struct mrc_cq {
	struct mrc_context *context;
	struct verbs_link link;
	struct nic_cq *nic;
	void *cq_context;
	uint32_t n_taken;  /* events of its channel, taken and not yet acknowledged */
	bool is_of_events; /* of entropy values: it has no completions (mrc_ctl.h) */
};

struct mrc_qp_hint {
	struct mrc_context *context;
	struct verbs_link link;
	struct mrc_qp_hint_attr attr;
	uint32_t n_users; /* pairs that have it */
};

struct mrc_qp {
	struct mrc_context *context;
	struct verbs_link link;
	struct nic_qp *nic;
	struct mrc_qp_init_attr init; /* as granted */
	pthread_mutex_t modify;       /* around all that follows */
	struct ibv_qp_attr said;      /* what the program set last, for those who ask */
	struct mrc_qp_attr attr;      /* the same; what was never set has its default */
};

/* objects.c: a new object of the context; it leaves when it is destroyed. */
void mrcapi_join(struct mrc_context *context, enum mrcapi_kind kind, struct verbs_link *link);
void mrcapi_leave(struct mrc_context *context, struct verbs_link *link);
/* Destroys all objects that are left. */
void mrcapi_destroy_all(struct mrc_context *context);

/* device.c: whether a context of the verbs is of ours, on a device that does MRC. */
bool mrcapi_is_mrc(struct ibv_context *context);

/* completion.c: a queue; make is nic_cq_new, or nic_mrc_event_cq_new for one of events. NULL and
 * errno. */
struct mrcapi_queue_spec {
	int cqe, comp_vector;
	void *cq_context;
	struct mrc_comp_channel *channel; /* or NULL */
	bool is_of_events;
	struct nic_cq *(*make)(struct nic_user *user, uint32_t cqe, struct nic_channel *channel,
			       void *context);
};
struct mrc_cq *mrcapi_queue_new(struct mrc_context *context, const struct mrcapi_queue_spec *spec);

/* hint.c: a pair takes hold of one, and lets go of the one that it had; both may be NULL. */
void mrcapi_hint_swap(struct mrc_context *context, struct mrc_qp_hint **had,
		      struct mrc_qp_hint *has);

/* transition.c: whether mrc_modify_qp may go from one state to the other with these attributes of
 * either kind. */
bool mrcapi_may_modify(enum ibv_qp_state from, enum ibv_qp_state to, int vmask, int mmask);

/* modify.c: the state of the verbs that one of the engine's is; what a new pair has. */
enum ibv_qp_state mrcapi_state(uint8_t state);
struct mrc_qp_attr mrcapi_defaults(void);

/* No part of a vendor's configuration means anything to us. */
static inline bool mrcapi_is_empty(const uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE])
{
	unsigned any = 0;

	for (uint32_t i = 0; i < MRC_MAX_VENDOR_CFG_SIZE; i++)
		any |= vendor_cfg[i];
	return any == 0;
}

#endif
