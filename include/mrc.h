/* Multipath Reliable Connections (OCP MRC 1.0): queue pairs whose writes are sprayed over many
 * paths through a fabric. What an application calls; a controller includes mrc_ctl.h.
 *
 * Devices, contexts, protection domains and memory regions are those of libibverbs; everything else
 * of MRC is made from a struct mrc_context, which belongs to an open device. A queue pair takes
 * RDMA writes with and without immediate data, and receives, which only immediate data consumes.
 * Reads, sends, atomics, shared receive queues and RDMA-CM are not part of MRC.
 *
 * Every function may be called from any thread. Failures: functions that return pointers give NULL
 * and set errno. Of those that return int, one that stands for a function of libibverbs fails as
 * that does, and all set errno as well; which value means what is in the manual page of each.
 *
 * The values and layouts here are those of MRC API 1.0.1. */
#ifndef WEFT_MRC_H
#define WEFT_MRC_H

#include <infiniband/verbs.h>
#include <mrc_api_ver.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MRC_MAX_VENDOR_CFG_SIZE 128

struct mrc_context;
struct mrc_comp_channel;
struct mrc_cq;
struct mrc_qp_hint;
struct mrc_qp;

/* Of the wire, a bit each. 0 leaves the choice to the device. */
enum mrc_protocol_version {
	MRC_PROTOCOL_VERSION_0 = 0,
	MRC_PROTOCOL_VERSION_1 = 1 << 0,
};

enum mrc_device_cap {
	MRC_DEVICE_CAP_TRIM_NACK = 1 << 0,   /* answers trimmed packets with NACKs */
	MRC_DEVICE_CAP_DYNAMIC_MPR = 1 << 1, /* may change its range while a queue pair works */
	MRC_DEVICE_CAP_SVC_TIME = 1 << 2,    /* tells how long an answer waited */
};

/* What a device can do. */
struct mrc_device_attr {
	uint32_t mrc_protocol_version; /* bits of enum mrc_protocol_version */
	struct {
		uint16_t max_wimm;      /* largest mrc_qp_attr.wimm.max_wimm ... */
		uint16_t max_wimm_dest; /* ... and max_wimm_dest */
	} wimm_attr;
	struct {
		uint8_t max_mpr;        /* largest range, in units of 128 packets */
		uint8_t mpr_resolution; /* ranges are multiples of so many units */
	} mpr_attr;
	struct {
		uint32_t max_qp_hint; /* hints of a context */
	} qp_attr;
	uint32_t cap; /* enum mrc_device_cap */
};

/* Whether the device of a context does MRC, and what of it: *supported is 0 or 1, and attr is
 * filled in only if 1. mcontext may be NULL. As ibv_query_device: 0 or an errno value.
 * mrc_query_device is the function of API 1.0.0 and answers by its rules. */
#if MRC_API_VER_USED >= MRC_API_VER(1, 0, 1)
int mrc_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
			struct mrc_device_attr *attr, int *supported);
#endif
int mrc_query_device(struct ibv_context *context, struct mrc_device_attr *attr, int *supported);

/* The versions of this interface that the library serves, newest and oldest, and of its vendor's
 * part. Pointers may be NULL. */
void mrc_query_version(uint32_t *current_version, uint32_t *last_supported_version,
		       uint32_t *vendor_version, uint32_t *last_supported_vendor_version);

struct mrc_context_attr {
	uint32_t mrc_api_version_used;        /* MRC_API_VER_USED */
	uint32_t mrc_vendor_api_version_used; /* MRC_VENDOR_API_VER_USED */
};

/* What all else belongs to. context_attr NULL: the current versions. */
struct mrc_context *mrc_create_context(struct ibv_context *vcontext,
				       struct mrc_context_attr *context_attr);
/* Ends it, and what is left of its objects. 0 or -1. */
int mrc_destroy_context(struct mrc_context *mrc_ctx);

/* Completion channels: a file descriptor that is readable while a queue of it has an event. */
int mrc_create_comp_channel(struct mrc_context *mrc_ctx, struct mrc_comp_channel **channel);
int mrc_get_comp_channel_fd(struct mrc_comp_channel *channel, int *fd);
int mrc_destroy_comp_channel(struct mrc_comp_channel *channel);

/* Completion queues, as those of libibverbs. channel may be NULL. */
struct mrc_cq *mrc_create_cq(struct mrc_context *mrc_ctx, int cqe, void *cq_context,
			     struct mrc_comp_channel *channel, int comp_vector);
/* The number of completions taken, or -1. */
int mrc_poll_cq(struct mrc_cq *cq, int num_entries, struct ibv_wc *wc);
int mrc_destroy_cq(struct mrc_cq *cq);

/* A hint says how queue pairs will be used; nothing depends on its being true. */
enum mrc_qp_hint_attr_mask {
	MRC_QP_HINT_NUM_QPS_PER_PEER = 1 << 0,
	MRC_QP_HINT_NUM_SEND_PEERS = 1 << 1,
	MRC_QP_HINT_NUM_REMOTE_RECV_PEERS = 1 << 2,
	MRC_QP_HINT_VENDOR_CFG = (int)(1u << 31),
};

struct mrc_qp_hint_attr {
	int num_qps_per_peer;      /* of ours to one peer's address at a time */
	int num_send_peers;        /* addresses that we send to at a time */
	int num_remote_recv_peers; /* senders that share our peer with us: its incast */
	uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

struct mrc_qp_hint_init_attr {
	struct mrc_qp_hint_attr attr;
};

struct mrc_qp_hint *mrc_create_qp_hint(struct mrc_context *mrc_ctx,
				       struct mrc_qp_hint_init_attr *init_attr);
/* 0, or -1: EBUSY while a queue pair has it. */
int mrc_destroy_qp_hint(struct mrc_qp_hint *qp_hint);
int mrc_query_qp_hint(struct mrc_qp_hint *qp_hint, struct mrc_qp_hint_attr *qp_hint_attr,
		      int qp_hint_attr_mask);
int mrc_modify_qp_hint(struct mrc_qp_hint *qp_hint, struct mrc_qp_hint_attr *qp_hint_attr,
		       int qp_hint_attr_mask);

struct mrc_qp_init_attr {
	void *qp_context;
	struct mrc_cq *send_cq;
	struct mrc_cq *recv_cq;
	struct ibv_qp_cap cap; /* mrc_create_qp writes back what was granted */
	int sq_sig_all;
	struct ibv_pd *pd;
	uint64_t send_ops_flags; /* 0, or IBV_QP_EX_WITH_RDMA_WRITE and .._WRITE_WITH_IMM */
	enum mrc_protocol_version protocol_version;
};

/* Queue pairs begin in IBV_QPS_RESET. */
struct mrc_qp *mrc_create_qp(struct mrc_context *mrc_ctx, struct mrc_qp_init_attr *mrc_qp_attr);
int mrc_destroy_qp(struct mrc_qp *qp);

/* What mrc_modify_qp sets, and when it may: hint and profiles on the way to INIT, what ends in
 * _DEST and the capabilities on the way to RTR, the rest on the way to RTS. Whatever is never set
 * has a default that works. */
enum mrc_qp_attr_mask {
	MRC_QP_MAX_WIMM = 1 << 0,
	MRC_QP_MAX_WIMM_DEST = 1 << 1,
	MRC_QP_MPR = 1 << 2,
	MRC_QP_MPR_DEST = 1 << 3,
	MRC_QP_TIMEOUT = 1 << 4,
	MRC_QP_EV_PROFILE_ID = 1 << 5,
	MRC_QP_CC_PROFILE_ID = 1 << 6,
	MRC_QP_HINT = 1 << 7,
	MRC_QP_RETRY_CNT = 1 << 8,
	MRC_QP_CAP = 1 << 9,
	MRC_QP_VENDOR_CFG = (int)(1u << 31),
};

/* What the peer, as responder, does not do; and what both ends agreed on. */
enum mrc_qp_cap {
	MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED = 1 << 0,
	MRC_QP_CAP_DYNAMIC_MPR = 1 << 1, /* only if both ends set it */
	MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED = 1 << 2,
};

struct mrc_qp_attr {
	struct {
		uint8_t mpr;      /* as requester: the peer's range, in units of 128 packets */
		uint8_t mpr_dest; /* as responder: the range that the peer is told */
	} mpr;
	struct {
		uint16_t max_wimm;      /* as requester: writes with immediate data under way */
		uint16_t max_wimm_dest; /* as responder: those that are kept ahead of a gap */
	} wimm;
	uint8_t timeout; /* 1.024 us * 2^timeout, 0 .. 24 */
	struct {
		uint64_t ev_profile_id; /* that a controller made and put online, see mrc_ctl.h */
		uint64_t cc_profile_id;
	} profile;
	struct {
		uint8_t linear_cnt; /* retries of equal distance, 0 .. 7 */
		uint8_t exp_cnt;    /* then of doubling distance, 0 .. 24; 25: without end */
	} retry;
	struct mrc_qp_hint *qp_hint; /* or NULL */
	uint32_t cap;                /* enum mrc_qp_cap */
	uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

/* As ibv_query_qp and ibv_modify_qp: 0 or an errno value. Either struct may be NULL if its mask is
 * 0. Of libibverbs' attributes those that MRC has no use for (port, timeout, retry and RNR counts,
 * read and atomic depths) are taken and ignored; alternate paths and path migration are refused. */
int mrc_query_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		 struct mrc_qp_attr *mrc_attr, int mrc_attr_mask,
		 struct mrc_qp_init_attr *init_attr);
int mrc_modify_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		  struct mrc_qp_attr *mrc_attr, int mrc_attr_mask);

/* The number that the peer's queue pair is to be told. 0 or -1. */
int mrc_get_qpn(struct mrc_qp *qp, uint32_t *qpn);

/* Posting, as in libibverbs: 0, or an error and *bad_wr names the first request that was not taken;
 * those before it were. mrc_post_recv answers -1, mrc_post_send an errno value. Only
 * IBV_WR_RDMA_WRITE and IBV_WR_RDMA_WRITE_WITH_IMM are sent; pieces of a receive are not written
 * to.
 */
int mrc_post_recv(struct mrc_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int mrc_post_send(struct mrc_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

struct mrc_async_event {
	union {
		struct mrc_cq *cq;
		struct mrc_qp *qp;
		int port_num;
	} element;
	enum ibv_event_type event_type;
};

/* Waits for the next event of the context's objects. 0 or -1. Each one is to be acknowledged: an
 * object waits with its end for that. */
int mrc_get_async_event(struct mrc_context *mrc_ctx, struct mrc_async_event *event);
void mrc_ack_async_event(struct mrc_async_event *event);

/* Notification, as ibv_req_notify_cq, ibv_get_cq_event and ibv_ack_cq_events. */
int mrc_req_notify_cq(struct mrc_cq *cq, int solicited_only);
int mrc_get_cq_event(struct mrc_comp_channel *channel, struct mrc_cq **cq, void **cq_context);
void mrc_ack_cq_events(struct mrc_cq *cq, unsigned int nevents);

#ifdef __cplusplus
}
#endif

#endif
