/* The control of an MRC device (OCP MRC 1.0, sections 9 and 10.2.2): its ports, the entropy values
 * that queue pairs spray over, their congestion control, and what happens to the paths.
 *
 * A controller needs CAP_NET_ADMIN: without it every function fails with EPERM but for the queries
 * of version and device. What it sets belongs to the device: it holds for every process that uses
 * the device, at once, and outlives the controller.
 *
 * Profiles have an id of the controller's choice and three states. In INIT there is nothing; MODE,
 * or the algorithm, and what else describes a profile, comes with the step to OFFLINE, where all of
 * it may be changed; ONLINE profiles are what queue pairs name. Steps go INIT, OFFLINE, ONLINE, and
 * back the same way. A profile that queue pairs use does not leave ONLINE, and does not change:
 * EBUSY.
 *
 * Every function that returns int gives 0, or -1 and errno, unless it says otherwise. Ports are
 * counted from 1, times are nanoseconds.
 *
 * The values and layouts here are those of MRC control API 1.0.1. */
#ifndef WEFT_MRC_CTL_H
#define WEFT_MRC_CTL_H

#include <infiniband/verbs.h>
#include <mrc.h>
#include <mrc_ctl_api_ver.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MRC_CTL_MAX_VENDOR_CFG_SIZE 128
#define MRC_CTL_EV_MAX_BYTES        32

enum mrc_ctl_protocol_version {
	MRC_CTL_PROTOCOL_VERSION_0 = 0,
	MRC_CTL_PROTOCOL_VERSION_1 = 1 << 0,
};

enum mrc_ctl_profile_state {
	MRC_CTL_PROFILE_INIT,
	MRC_CTL_PROFILE_OFFLINE,
	MRC_CTL_PROFILE_ONLINE,
};

/* What a device may do beside what every one does. */
enum mrc_ctl_attr_opt {
	MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE = 1 << 0,
	MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE = 1 << 1,
	MRC_CTL_OPT_CAP_EV_EVENT = 1 << 2,
	MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE = 1 << 3, /* explicit values must follow each other */
	MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT = 1 << 4,
	MRC_CTL_OPT_CAP_EP_OP_EV_PROBE = 1 << 5,
};

struct mrc_ctl_device_attr {
	uint32_t mrc_ctl_protocol_version; /* bits of enum mrc_ctl_protocol_version */
	struct {
		uint32_t ev_max_fmt_profiles;
		uint32_t ev_max_profiles;
		uint32_t ev_max_count;         /* entropy values of all profiles together ... */
		uint32_t ev_free_count;        /* ... and how many more there may be now */
		uint32_t ev_max_count_profile; /* of one profile */
		uint32_t ev_count_align;       /* counts are multiples of this */
		uint32_t ev_max_width;         /* bits of an entropy value */
		uint32_t ev_fmt_mode_mask;     /* enum mrc_ctl_ev_fmt_mode */
		uint32_t ev_mode_mask;         /* enum mrc_ctl_ev_mode */
		uint32_t ev_op_max_entries;    /* of one call; 0: no limit */
	} ev;
	struct {
		uint32_t cc_max_profiles;
		const char **algorithms; /* names, NULL behind the last; the library's */
	} cc;
	uint32_t phy_port_mask; /* bit n: port n */
	uint32_t opt_attr;      /* enum mrc_ctl_attr_opt */
};

/* mcontext may be NULL. *supported is 0 or 1, and ctl_attr is filled in only if 1; the function of
 * API 1.0.0 fails with EOPNOTSUPP instead. */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
int mrc_ctl_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
			    struct mrc_ctl_device_attr *ctl_attr, int *supported);
#endif
int mrc_ctl_query_device(struct ibv_context *context, struct mrc_ctl_device_attr *ctl_attr);

/* As mrc_query_version, for this interface. */
void mrc_ctl_query_version(uint32_t *current_version, uint32_t *last_supported_version,
			   uint32_t *vendor_version, uint32_t *last_supported_vendor_version);

/* Ports. One that is disabled carries nothing, and libibverbs says that it is down. */
enum mrc_ctl_port_admin_state {
	MRC_CTL_PORT_ADMIN_DISABLED = 0,
	MRC_CTL_PORT_ADMIN_ENABLED = 1,
};

enum mrc_ctl_port_attr_mask {
	MRC_CTL_PORT_ADMIN_STATE = 1 << 0,
};

struct mrc_ctl_port_attr {
	enum mrc_ctl_port_admin_state port_admin_state;
};

int mrc_ctl_query_port(struct mrc_context *context, uint8_t port_num,
		       struct mrc_ctl_port_attr *attr, int attr_mask);
int mrc_ctl_modify_port(struct mrc_context *context, uint8_t port_num,
			struct mrc_ctl_port_attr *attr, int attr_mask);

/* EV format profiles: where the bits of an entropy value go, and into which fields. */
enum mrc_ctl_ev_fmt_mode {
	MRC_CTL_EV_FMT_MODE_STEV = 1 << 0, /* structured: UDP source port and flow label, 32 bits */
	MRC_CTL_EV_FMT_MODE_SRV6 =
		1 << 1, /* the outer address, 128 bits, and one segment, 128 more */
	MRC_CTL_EV_FMT_MODE_UDP = 1 << 2, /* UDP source port, 16 bits */
};

enum mrc_ctl_ev_fmt_op {
	MRC_CTL_EV_FMT_OP_MODIFY_FIELDS,
	MRC_CTL_EV_FMT_OP_QUERY_FIELDS,
};

enum mrc_ctl_ev_fmt_profile_attr_mask {
	MRC_CTL_EV_FMT_PROFILE_STATE = 1 << 0,
	MRC_CTL_EV_FMT_PROFILE_CUR_STATE = 1 << 1,
	MRC_CTL_EV_FMT_PROFILE_MODE = 1 << 2,
	MRC_CTL_EV_FMT_PROFILE_OP = 1 << 3,
	MRC_CTL_EV_FMT_VENDOR_CFG = (int)(1u << 31),
};

struct mrc_ctl_ev_fmt_field {
	uint8_t width; /* bits */
};

struct mrc_ctl_ev_fmt_profile_attr {
	enum mrc_ctl_profile_state profile_state;     /* modify: the state to go to */
	enum mrc_ctl_profile_state cur_profile_state; /* query: the state it is in */
	enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
	struct {
		enum mrc_ctl_ev_fmt_op op;
		struct mrc_ctl_ev_fmt_field *fmt_fields;
		int fmt_field_count; /* E2BIG: how many there are */
	} ev_fmt_op;
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* To OFFLINE: MODE. To ONLINE: fields. EBUSY while an EV profile that is ONLINE names it. E2BIG:
 * fields that the mode has no room for, or (query) more fields than there is room for. */
int mrc_ctl_modify_ev_fmt_profile(struct mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
				  struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask);
int mrc_ctl_query_ev_fmt_profile(struct mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
				 struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask);

/* The bits of an entropy value, first bit first: structured ones have 4 bytes, those of SRv6 16 of
 * the address and 16 of the segment. */
typedef uint8_t mrc_ctl_ev_t[MRC_CTL_EV_MAX_BYTES];

struct mrc_ctl_ev {
	mrc_ctl_ev_t val;
	uint8_t port;
};

/* A place of an explicit profile that holds nothing yet. */
#define MRC_CTL_EV_UNPOPULATED ((struct mrc_ctl_ev){.val = {0}, .port = 0})

enum mrc_ctl_ev_state {
	MRC_CTL_EV_GOOD = 1 << 0,
	MRC_CTL_EV_ASSUMED_BAD = 1 << 1,
	MRC_CTL_EV_DENIED = 1 << 2,
	MRC_CTL_EV_UNKNOWN = (int)(1u << 31),
};

/* EV profiles: which entropy values queue pairs use. */
enum mrc_ctl_ev_mode {
	MRC_CTL_EV_MODE_AUTO = 1 << 0, /* the device makes them up, for ECMP */
	MRC_CTL_EV_MODE_EXP = 1 << 1,  /* the controller names each */
	MRC_CTL_EV_MODE_GEN = 1 << 2,  /* the device makes them from the fields */
};

enum mrc_ctl_ev_op {
	MRC_CTL_EV_OP_REPLACE_EV,
	MRC_CTL_EV_OP_MODIFY_EV_STATE,
	MRC_CTL_EV_OP_QUERY_EV_STATE,
	MRC_CTL_EV_OP_QUERY_EV_ARRAY,
};

enum mrc_ctl_ev_fields_op {
	MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS,
	MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS,
};

enum mrc_ctl_ev_profile_attr_mask {
	MRC_CTL_EV_PROFILE_STATE = 1 << 0,
	MRC_CTL_EV_PROFILE_CUR_STATE = 1 << 1,
	MRC_CTL_EV_PROFILE_MODE = 1 << 2,
	MRC_CTL_EV_PROFILE_FMT_ID = 1 << 3,
	MRC_CTL_EV_PROFILE_COUNT = 1 << 4,
	MRC_CTL_EV_PROFILE_MIN_ACTIVE = 1 << 5,
	MRC_CTL_EV_PROFILE_EVENT_MASK = 1 << 6,
	MRC_CTL_EV_PROFILE_EV_OP = 1 << 7,
	MRC_CTL_EV_PROFILE_EV_FIELDS_OP = 1 << 8,
	MRC_CTL_EV_PROFILE_VENDOR_CFG = (int)(1u << 31),
};

/* How a field of an entropy value comes about: init_val, and in the places of mask's bits, from the
 * highest on, the next bits of the short value. Those of generated ones are numbers from min_val to
 * max_val. A fixed field has mask, min_val and max_val 0. */
struct mrc_ctl_ev_field {
	uint32_t width; /* bits */
	uint32_t init_val;
	uint32_t min_val;
	uint32_t max_val;
	uint32_t mask;
};

enum mrc_ctl_ev_op_flags {
	MRC_CTL_EV_OP_F_ALL_COPIES = 1 << 0, /* every place with this value, not only the first */
};

/* REPLACE_EV takes ev, ev_new and state, MODIFY_EV_STATE ev and state; flags are for both. A state
 * that is set is GOOD or DENIED, and 0 in REPLACE_EV is GOOD. QUERY_EV_STATE takes ev and fills in
 * state, QUERY_EV_ARRAY fills in ev and state; UNKNOWN is that of an unpopulated place. */
struct mrc_ctl_ev_op_entry {
	struct mrc_ctl_ev ev;
	struct mrc_ctl_ev ev_new;
	enum mrc_ctl_ev_state state;
	uint32_t flags;
};

struct mrc_ctl_ev_profile_attr {
	enum mrc_ctl_profile_state profile_state;
	enum mrc_ctl_profile_state cur_profile_state;
	enum mrc_ctl_ev_mode ev_mode;
	uint64_t ev_fmt_profile_id;
	uint32_t ev_count;
	uint32_t ev_min_active; /* so many are kept in use, however bad they seem */
	int ev_event_mask;      /* MRC_CTL_EV_GOOD, MRC_CTL_EV_ASSUMED_BAD: events of these */
	struct {
		enum mrc_ctl_ev_op op;
		struct mrc_ctl_ev_op_entry *entries;
		int entry_count; /* QUERY_EV_ARRAY: in room, out how many; E2BIG: how many there are
				  */
	} ev_op;
	struct {
		enum mrc_ctl_ev_fields_op op;
		struct mrc_ctl_ev_field *fields;
		int field_count; /* likewise */
	} ev_fields_op;
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* To OFFLINE: MODE, and unless that is AUTO, FMT_ID and COUNT; explicit values are then all
 * unpopulated, and are so again after another MODE or COUNT. To ONLINE: a format that is, generated
 * ones fields, explicit ones all their values; where fields make fewer than COUNT, COUNT becomes
 * what there is. While ONLINE: EVENT_MASK and states of values, and if no queue pair uses it,
 * values and fields. Attributes come first, then an operation, then the step. An operation on
 * values and one on fields exclude each other: EINVAL. Entries are taken one by one: at the first
 * that fails (ENOENT: no such value) what came before it has been done. */
int mrc_ctl_modify_ev_profile(struct mrc_context *mrc_ctx, uint64_t ev_profile_id,
			      struct mrc_ctl_ev_profile_attr *attr, int attr_mask);
int mrc_ctl_query_ev_profile(struct mrc_context *mrc_ctx, uint64_t ev_profile_id,
			     struct mrc_ctl_ev_profile_attr *attr, int attr_mask);

/* CC profiles: the congestion control of queue pairs. */
enum mrc_ctl_cc_profile_attr_mask {
	MRC_CTL_CC_PROFILE_STATE = 1 << 0,
	MRC_CTL_CC_PROFILE_CUR_STATE = 1 << 1,
	MRC_CTL_CC_PROFILE_ALGORITHM = 1 << 2,
	MRC_CTL_CC_PROFILE_CONFIG = 1 << 3,
	MRC_CTL_CC_PROFILE_VENDOR_CFG = (int)(1u << 31),
};

struct mrc_ctl_cc_profile_attr {
	enum mrc_ctl_profile_state profile_state;
	enum mrc_ctl_profile_state cur_profile_state;
	const char *algorithm; /* one of the device's; NULL: no congestion control */
	const void *cc_config; /* "uet-1.0-nscc": struct mrc_ctl_cc_nscc_cfg */
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* NSCC (Ultra Ethernet 1.0, Table 3-76). A member that is 0 has the default of that table, or of
 * the device. */
struct mrc_ctl_cc_nscc_cfg {
	uint8_t disable_qa;
	uint32_t adjust_bytes_threshold;
	uint32_t adjust_period_threshold;
	uint32_t base_rtt;
	float eta;
	float fi;
	float fi_scale;
	float gamma;
	float max_md_jump;
	uint32_t max_cwnd; /* bytes */
	uint8_t qa_gate;
	uint32_t qa_threshold;
	uint32_t target_delay;
};

/* To OFFLINE: ALGORITHM. To ONLINE: CONFIG, unless there is no algorithm. */
int mrc_ctl_modify_cc_profile(struct mrc_context *mrc_ctx, uint64_t cc_profile_id,
			      struct mrc_ctl_cc_profile_attr *attr, int attr_mask);
/* algorithm becomes the device's own string. cc_config: room for the algorithm's struct, which is
 * filled in though it is const here. */
int mrc_ctl_query_cc_profile(struct mrc_context *mrc_ctx, uint64_t cc_profile_id,
			     struct mrc_ctl_cc_profile_attr *attr, int attr_mask);

/* An entropy value of a profile came into another state, in some process on the device. */
struct mrc_ctl_ev_event {
	uint64_t profile_id;
	struct mrc_ctl_ev ev;
	uint32_t drop_count; /* events that were lost between the one before and this */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
	enum mrc_ctl_ev_state state; /* filled in for programs of API 1.0.1 */
#endif
};

/* A queue of such events, from now on; mrc_destroy_cq ends it, mrc_req_notify_cq and channels serve
 * it. Events without room in it are counted, see drop_count. */
struct mrc_cq *mrc_ctl_create_ev_event_cq(struct mrc_context *mrc_ctx, int cqe, void *cq_context,
					  struct mrc_comp_channel *channel, int comp_vector);
/* Takes at most num_entries; their number, or a negative errno value. The array's elements are of
 * the version that the context was created with: 48 bytes before 1.0.1, 56 since. */
int mrc_ctl_poll_ev_event(struct mrc_cq *ev_cq, int num_entries, struct mrc_ctl_ev_event *ev_event);

/* Questions to a peer as such, not to a queue pair (MRC 7.3). The order of these is not the wire's.
 */
enum mrc_ctl_ep_op_type {
	MRC_CTL_EP_OP_EV_PROBE,
	MRC_CTL_EP_OP_PORT_STATUS_UPDATE,
};

struct mrc_ctl_ep_req {
	uint16_t req_id; /* the caller's, of its own in a batch */
	union ibv_gid sgid;
	union ibv_gid dgid;
	enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
	struct mrc_ctl_ev req_ev; /* the EV to be taken */
	union {
		struct {
			uint32_t port_status; /* bit n: port n of ours is reachable */
		} port_status_update;
	} op;
};

struct mrc_ctl_ep_rsp {
	uint16_t req_id;
	uint8_t port; /* by which the answer came */
	unsigned int rtt;
	uint8_t adj_svc_time; /* not 0: the peer's own time was taken off rtt */
};

/* Sends a batch and waits until all is answered, or rsp_timeout has passed: then -1 with ETIMEDOUT,
 * and what did come is in rsp all the same. rsp has room for num_req, in the order of arrival;
 * *num_rsp is how many came. req_tc: the DSCP of EV probes. */
int mrc_ctl_ep_batch_send_wait(struct mrc_context *mrc_ctx, uint8_t req_tc,
			       enum mrc_ctl_ep_op_type op_type, struct mrc_ctl_ep_req *req,
			       int num_req, uint32_t rsp_timeout, struct mrc_ctl_ep_rsp *rsp,
			       int *num_rsp);

#ifdef __cplusplus
}
#endif

#endif
