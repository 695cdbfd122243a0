/* Contexts, and what a device says of itself. */
#define _GNU_SOURCE /* memfd_create(2) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "verbs/inside.h"

#include "mrc/mrc.h"

/* perftest and others choose special paths by the vendor's OUI and part number. Ours is in the part
 * of the number space that is assigned to nobody (IEEE 802, the U/L bit), and the part has none. */
#define VENDOR_ID   0x025745u
#define VENDOR_PART 0

/* A context's command descriptor. Nothing is behind it but its name, by which ibv_import_device
 * knows it, whatever its number, and whichever process it came from. */
#define COMMAND_NAME "weft-verbs"

static bool is_our_command(int fd)
{
	static const char ours[] = "/memfd:" COMMAND_NAME " ";
	char path[32], name[64] = "";

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return readlink(path, name, sizeof name - 1) > 0 && !strncmp(name, ours, sizeof ours - 1);
}

/* The rest of an open context could be had from its descriptor only in the process that has it, and
 * there it has the context. */
struct ibv_context *ibv_import_device(int cmd_fd)
{
	if (!is_our_command(cmd_fd))
		return VERBS_PASS_POINTER(ibv_import_device, cmd_fd);
	nic_fail(EOPNOTSUPP, "a device of weft is not imported: open it with ibv_open_device");
	return verbs_null(EOPNOTSUPP);
}

/* NULL and errno: nothing is left of it. */
static struct verbs_opened *opened_new(struct verbs_device *d, struct nic_info *info)
{
	struct verbs_opened *opened = calloc(1, sizeof *opened);

	if (!opened)
		return verbs_null(ENOMEM);
	int fd = memfd_create(COMMAND_NAME, MFD_CLOEXEC);

	if (fd < 0) {
		free(opened);
		return NULL;
	}
	verbs_device_hold(d, info);
	opened->extended.context.cmd_fd = fd;
	opened->user = nic_open(info);
	if (opened->user)
		return opened;
	int why = errno;

	verbs_device_put(d);
	close(fd);
	free(opened);
	return verbs_null(why);
}

static struct ibv_context *open_ours(struct verbs_device *d)
{
	struct nic_info info;
	struct verbs_opened *opened = opened_new(d, &info);

	if (!opened)
		return NULL;
	struct ibv_context *context = &opened->extended.context;

	opened->device = d;
	opened->n_ports = info.setup.n_ports;
	opened->transport = info.setup.transport;
	opened->extended.sz = sizeof opened->extended;
	context->device = &d->device;
	context->async_fd = nic_event_fd(opened->user);
	context->num_comp_vectors = 1;
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&opened->lock, NULL);
	pthread_mutex_init(&context->mutex, NULL);
	verbs_fill_table(&opened->extended);
	return context;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	if (!verbs_is_our_device(device))
		return VERBS_PASS_POINTER(ibv_open_device, device);
	return open_ours(verbs_device_of(device));
}

int ibv_close_device(struct ibv_context *context)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS(ibv_close_device, verbs_minus_one(ENOSYS), context);
	struct verbs_opened *opened = verbs_opened(context);

	/* Their queue pairs have domains of this context. */
	if (__atomic_load_n(&opened->n_above, __ATOMIC_RELAXED))
		return verbs_minus_one(EBUSY);
	verbs_destroy_all(context);
	int error = nic_close(opened->user);

	if (error)
		return verbs_minus_one(-error);
	verbs_device_put(opened->device);
	close(context->cmd_fd);
	pthread_mutex_destroy(&context->mutex);
	pthread_mutex_destroy(&opened->lock);
	free(opened);
	return 0;
}

/* An MRC device has none of RC's reads, atomics, shared queues and windows. */
static void fill_mrc(struct ibv_device_attr *attr)
{
	attr->max_qp_wr = MRC_WR_MAX;
	attr->device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
				 IBV_DEVICE_SYS_IMAGE_GUID;
	attr->max_sge_rd = 0;
	attr->max_qp_rd_atom = attr->max_res_rd_atom = attr->max_qp_init_rd_atom = 0;
	attr->atomic_cap = IBV_ATOMIC_NONE;
	attr->max_mw = 0;
	attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = 0;
}

static void fill_device(struct ibv_device_attr *attr, struct ibv_context *context)
{
	const struct verbs_opened *opened = verbs_opened(context);
	uint64_t guid = ibv_get_device_guid(context->device);

	*attr = (struct ibv_device_attr){
		.fw_ver = WEFT_VERSION,
		.node_guid = guid,
		.sys_image_guid = guid,
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffff000,
		.vendor_id = VENDOR_ID,
		.vendor_part_id = VENDOR_PART,
		.max_qp = NIC_MAX_QPS,
		.max_qp_wr = RC_WR_MAX,
		.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
				    IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
				    IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_MGT_EXTENSIONS |
				    IBV_DEVICE_MEM_WINDOW_TYPE_2B,
		.max_sge = ENGINE_SGE,
		.max_sge_rd = ENGINE_SGE,
		.max_cq = NIC_MAX_CQS,
		.max_cqe = NIC_MAX_CQE,
		.max_mr = NIC_MAX_MRS,
		.max_pd = VERBS_MAX_PDS,
		.max_qp_rd_atom = RC_RD_ATOMIC_MAX,
		.max_res_rd_atom = RC_RD_ATOMIC_MAX * NIC_MAX_QPS,
		.max_qp_init_rd_atom = RC_RD_ATOMIC_MAX,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_mw = NIC_MAX_MRS,
		.max_srq = NIC_MAX_SRQS,
		.max_srq_wr = RC_WR_MAX,
		.max_srq_sge = ENGINE_SGE,
		.max_pkeys = 1,
		/* 4.096 us * 2^15: a thread that waits for its processor answers late. */
		.local_ca_ack_delay = 15,
		.phys_port_cnt = (uint8_t)opened->n_ports,
	};
	if (!transport_has(opened->transport, TRANSPORT_VERBS))
		fill_mrc(attr);
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS(ibv_query_device, ENOSYS, context, attr);
	fill_device(attr, context);
	return 0;
}

/* size: of the struct that the program was compiled with. */
int verbs_query_device_ex(struct ibv_context *context,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex all = {
		.completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = 1000000, /* kHz: timestamps are nanoseconds */
	};

	if ((input && input->comp_mask) || size < sizeof all.orig_attr)
		return verbs_answer(-EINVAL);
	fill_device(&all.orig_attr, context);
	all.phys_port_cnt_ex = all.orig_attr.phys_port_cnt;
	all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof all ? size : sizeof all);
	return 0;
}

/* The clock of the completions. All of it is in tv_nsec, where programs look for a device's ticks;
 * read as a time it is right as well. */
int verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	struct timespec t;

	(void)context;
	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return verbs_answer(-EINVAL);
	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec = t.tv_sec * 1000000000 + t.tv_nsec;
	}
	return 0;
}
