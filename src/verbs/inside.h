/* libweft-verbs: what its files share. The library stands before libibverbs in a program that was
 * never changed for it, and answers for the devices of nic/nic.h.
 *
 * Every exported function looks first whose object it was given. One of ours is a struct below with
 * the application's struct in front, and goes to the soft device; every other belongs to the real
 * libibverbs and goes there unchanged. Invariant: nothing of ours reaches the real library, which
 * would follow pointers that are not there. Locks: those of a batch (ibv_wr_start) and of a poll
 * (ibv_start_poll) are held between calls, and come before the others; of these never two at a
 * time: the list of devices, also held over a fork, one per context for its objects, one per pair
 * around changes of its state. The soft device has its own. */
#ifndef WEFT_VERBS_INSIDE_H
#define WEFT_VERBS_INSIDE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What these declare is what the library shows; all else is hidden by the build. */
#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
/* Not in the header, but in the library's table, and ibv_devinfo calls it. type: 0 is InfiniBand
 * or RoCE version 1, 1 is RoCE version 2. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned index, int *type);
#pragma GCC visibility pop

/* Macros that stand before functions of the same name, which are ours to define. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#include "nic/nic.h"

#define VERBS_PORT    1u
#define VERBS_MAX_PDS 65536

/* An interface as a device. Behind its device the real library's providers look for their own
 * things before they decide that it is not theirs: they find zeros. */
struct verbs_device {
	struct ibv_device device; /* first: the two are one pointer */
	void *provider[64];
	struct verbs_device *next;
	uint32_t refs;        /* lists and contexts that hold it */
	struct nic_info info; /* as last listed */
};

/* Kinds of objects, users before what they use. */
enum verbs_kind {
	VERBS_PAIR,
	VERBS_SHARED,
	VERBS_QUEUE,
	VERBS_CHANNEL,
	VERBS_WINDOW,
	VERBS_REGION,
	VERBS_DOMAIN,
	VERBS_KINDS,
};

/* An object's place among those of its context. */
struct verbs_link {
	struct verbs_link *next, **back;
	uint32_t n_events; /* asynchronous ones that were taken and not yet acknowledged */
};

struct verbs_opened {
	struct verbs_device *device;
	struct nic_user *user;
	uint32_t n_ports;
	const struct transport *transport;
	pthread_mutex_t lock; /* around the two that follow */
	uint32_t n_handles;
	struct verbs_link *objects[VERBS_KINDS];
	uint32_t n_above;              /* contexts of libmrc that stand on this one; atomic */
	struct verbs_context extended; /* last, and the context its last member */
};

/* Objects: the application's struct is first, and the two are one pointer. */
struct verbs_domain {
	struct ibv_pd pd;
	struct verbs_link link;
	struct nic_pd *nic;
};

struct verbs_region {
	struct ibv_mr mr;
	struct verbs_link link;
	struct nic_mr *nic;
	struct nic_mr_spec spec;
};

struct verbs_window {
	struct ibv_mw mw;
	struct verbs_link link;
	struct nic_mw *nic;
};

struct verbs_channel {
	struct ibv_comp_channel channel;
	struct verbs_link link;
	struct nic_channel *nic;
};

/* A completion queue. ex begins with all of struct ibv_cq. */
struct verbs_queue {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	struct verbs_link link;
	struct nic_cq *nic;
	uint32_t n_taken;     /* events of its channel, taken and not yet acknowledged */
	bool is_unlocked;     /* ibv_start_poll: one thread alone polls it */
	bool has_time;        /* completions bear the time when they were polled */
	pthread_mutex_t poll; /* held from ibv_start_poll to ibv_end_poll */
	struct ibv_wc wc;     /* the completion that the readers read */
	uint64_t time_ns, wallclock_ns;
};

struct verbs_shared {
	struct ibv_srq srq;
	struct verbs_link link;
	struct nic_srq *nic;
	uint32_t max_sge;
};

/* Work requests on their way from ibv_wr_start to ibv_wr_complete. */
struct verbs_draft {
	pthread_mutex_t lock; /* held between the two */
	struct nic_work *work;
	struct mem_binding *bind;
	struct verbs_window **window;
	struct sge *sg; /* n_sg for each work */
	uint32_t n_sg;
	uint8_t *data; /* max_inline bytes for each work */
	uint32_t n;
	int error; /* the first mistake: nothing is posted */
};

struct verbs_pair {
	struct ibv_qp_ex ex;
	struct verbs_link link;
	struct nic_qp *nic;
	struct ibv_qp_cap cap;
	bool is_all_signaled;
	pthread_mutex_t modify;    /* around changes of state */
	struct verbs_draft *draft; /* NULL: made without ibv_wr_* */
};

/* The real library's functions for what is not ours; NULL where it has none, or is not there. */
#define VERBS_FOREIGN(F)                              \
	F(_ibv_query_gid_ex, "IBVERBS_1.11")          \
	F(_ibv_query_gid_table, "IBVERBS_1.11")       \
	F(ibv_ack_async_event, "IBVERBS_1.1")         \
	F(ibv_ack_cq_events, "IBVERBS_1.1")           \
	F(ibv_alloc_pd, "IBVERBS_1.1")                \
	F(ibv_attach_mcast, "IBVERBS_1.1")            \
	F(ibv_close_device, "IBVERBS_1.1")            \
	F(ibv_create_ah, "IBVERBS_1.1")               \
	F(ibv_create_ah_from_wc, "IBVERBS_1.1")       \
	F(ibv_create_comp_channel, "IBVERBS_1.0")     \
	F(ibv_create_cq, "IBVERBS_1.1")               \
	F(ibv_create_qp, "IBVERBS_1.1")               \
	F(ibv_create_srq, "IBVERBS_1.1")              \
	F(ibv_dealloc_pd, "IBVERBS_1.1")              \
	F(ibv_dereg_mr, "IBVERBS_1.1")                \
	F(ibv_destroy_ah, "IBVERBS_1.1")              \
	F(ibv_destroy_comp_channel, "IBVERBS_1.0")    \
	F(ibv_destroy_cq, "IBVERBS_1.1")              \
	F(ibv_destroy_qp, "IBVERBS_1.1")              \
	F(ibv_destroy_srq, "IBVERBS_1.1")             \
	F(ibv_detach_mcast, "IBVERBS_1.1")            \
	F(ibv_free_device_list, "IBVERBS_1.1")        \
	F(ibv_get_async_event, "IBVERBS_1.1")         \
	F(ibv_get_cq_event, "IBVERBS_1.1")            \
	F(ibv_get_device_guid, "IBVERBS_1.1")         \
	F(ibv_get_device_index, "IBVERBS_1.9")        \
	F(ibv_get_device_list, "IBVERBS_1.1")         \
	F(ibv_get_device_name, "IBVERBS_1.1")         \
	F(ibv_get_pkey_index, "IBVERBS_1.5")          \
	F(ibv_import_device, "IBVERBS_1.10")          \
	F(ibv_import_dm, "IBVERBS_1.13")              \
	F(ibv_import_mr, "IBVERBS_1.10")              \
	F(ibv_import_pd, "IBVERBS_1.10")              \
	F(ibv_init_ah_from_wc, "IBVERBS_1.1")         \
	F(ibv_modify_qp, "IBVERBS_1.1")               \
	F(ibv_modify_srq, "IBVERBS_1.1")              \
	F(ibv_open_device, "IBVERBS_1.1")             \
	F(ibv_qp_to_qp_ex, "IBVERBS_1.6")             \
	F(ibv_query_device, "IBVERBS_1.1")            \
	F(ibv_query_ece, "IBVERBS_1.10")              \
	F(ibv_query_gid, "IBVERBS_1.1")               \
	F(ibv_query_gid_type, "IBVERBS_PRIVATE_34")   \
	F(ibv_query_pkey, "IBVERBS_1.1")              \
	F(ibv_query_port, "IBVERBS_1.1")              \
	F(ibv_query_qp, "IBVERBS_1.1")                \
	F(ibv_query_qp_data_in_order, "IBVERBS_1.14") \
	F(ibv_query_srq, "IBVERBS_1.1")               \
	F(ibv_reg_dmabuf_mr, "IBVERBS_1.12")          \
	F(ibv_reg_mr, "IBVERBS_1.1")                  \
	F(ibv_reg_mr_iova, "IBVERBS_1.7")             \
	F(ibv_reg_mr_iova2, "IBVERBS_1.8")            \
	F(ibv_rereg_mr, "IBVERBS_1.1")                \
	F(ibv_resize_cq, "IBVERBS_1.1")               \
	F(ibv_resolve_eth_l2_from_gid, "IBVERBS_1.1") \
	F(ibv_set_ece, "IBVERBS_1.10")                \
	F(ibv_unimport_mr, "IBVERBS_1.10")            \
	F(ibv_unimport_pd, "IBVERBS_1.10")

struct verbs_foreign {
#define VERBS_FOREIGN_MEMBER(name, version) __typeof__(name) *name;
	VERBS_FOREIGN(VERBS_FOREIGN_MEMBER)
#undef VERBS_FOREIGN_MEMBER
};

/* The table, looked up once. */
const struct verbs_foreign *verbs_foreign(void);

/* Calls the real library's function of that name, or says that it does not exist. */
#define VERBS_PASS(name, missing, ...) \
	(verbs_foreign()->name ? (verbs_foreign()->name)(__VA_ARGS__) : (missing))
#define VERBS_PASS_POINTER(name, ...) VERBS_PASS(name, verbs_null(ENOSYS), __VA_ARGS__)

static inline void *verbs_null(int error)
{
	errno = error;
	return NULL;
}

/* For functions that answer -1 and set errno. */
static inline int verbs_minus_one(int error)
{
	errno = error;
	return -1;
}

/* For functions that answer an errno value: some callers look at errno all the same. error is 0 or
 * the negative errno of the soft device. */
static inline int verbs_answer(int error)
{
	if (error)
		errno = -error;
	return -error;
}

int verbs_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc);

static inline bool verbs_is_ours(const struct ibv_context *context)
{
	return context->ops.poll_cq == verbs_poll;
}

bool verbs_is_our_device(const struct ibv_device *device);

static inline struct verbs_opened *verbs_opened(struct ibv_context *context)
{
	size_t before =
		offsetof(struct verbs_opened, extended) + offsetof(struct verbs_context, context);

	return (struct verbs_opened *)(void *)((uint8_t *)context - before);
}

/* The application's pointers as ours: each struct begins with the application's. */
#define VERBS_OURS(type, name, theirs)                            \
	static inline struct type *type##_of(struct theirs *name) \
	{                                                         \
		return (struct type *)(void *)name;               \
	}
VERBS_OURS(verbs_device, device, ibv_device)
VERBS_OURS(verbs_domain, pd, ibv_pd)
VERBS_OURS(verbs_region, mr, ibv_mr)
VERBS_OURS(verbs_window, mw, ibv_mw)
VERBS_OURS(verbs_channel, channel, ibv_comp_channel)
VERBS_OURS(verbs_queue, cq, ibv_cq)
VERBS_OURS(verbs_shared, srq, ibv_srq)
VERBS_OURS(verbs_pair, qp, ibv_qp)

/* A new object of the context; returns a number for it. It leaves when it is destroyed. */
uint32_t verbs_join(struct ibv_context *context, enum verbs_kind kind, struct verbs_link *link);
void verbs_leave(struct ibv_context *context, struct verbs_link *link);
/* Destroys all objects that are left. */
void verbs_destroy_all(struct ibv_context *context);

/* Cards: a context holds one as a list does; info is a copy. */
void verbs_device_hold(struct verbs_device *d, struct nic_info *info);
void verbs_device_put(struct verbs_device *d);

/* Fills in every operation that the header's inline functions call; those that are left NULL answer
 * EOPNOTSUPP there. */
void verbs_fill_table(struct verbs_context *extended);

/* The operations, by file. They follow the conventions of the inline functions that call them. */
int verbs_query_device_ex(struct ibv_context *context,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t size);
int verbs_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		     size_t size);
int verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);
struct ibv_mr *verbs_alloc_null_mr(struct ibv_pd *pd);
int verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		    struct ibv_sge *sg_list, uint32_t num_sge);
struct ibv_mw *verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int verbs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int verbs_dealloc_mw(struct ibv_mw *mw);
int verbs_notify(struct ibv_cq *cq, int solicited_only);
struct ibv_cq_ex *verbs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
struct ibv_srq *verbs_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int verbs_get_srq_num(struct ibv_srq *srq, uint32_t *number);
int verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
int verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* Whether the device has a port of this number: they are counted from 1. */
bool verbs_has_port(struct ibv_context *context, uint32_t port);

/* An event of the soft device as the header calls it. */
enum ibv_event_type verbs_event_type(const struct nic_event *event);

/* A completion as the application sees it; and at most n of a queue: how many, or -1 and errno. */
void verbs_fill_wc(struct ibv_wc *wc, const struct done *done);
int verbs_take(struct nic_cq *queue, int n, struct ibv_wc *wc);

/* Functions of a queue that was made with ibv_create_cq_ex. */
void verbs_fill_readers(struct verbs_queue *queue);

/* A binding of the window as work; new_key is that of type 2. 0 or an errno value. */
struct verbs_bind {
	struct verbs_window *window;
	const struct ibv_mw_bind_info *info;
	uint32_t new_key;
};
int verbs_fill_bind(const struct verbs_bind *what, struct nic_work *work, struct mem_binding *to);
/* After a binding was posted: the application sees the window's key. */
void verbs_show_key(struct verbs_window *window);

/* ibv_send_flags as engine_flag. */
uint32_t verbs_flags(unsigned flags);

/* The draft of a pair of these caps, and its functions; false: no memory. */
bool verbs_draft_new(struct verbs_pair *pair);
void verbs_draft_free(struct verbs_pair *pair);

/* Whether ibv_modify_qp may go from one state to the other with these attributes (IBTA table 91);
 * states and mask are those of the header. */
bool verbs_may_modify(enum ibv_qp_state from, enum ibv_qp_state to, int mask);

#endif
