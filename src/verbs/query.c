/* What a device says of itself. */
#include <string.h>
#include <time.h>

#include "verbs/inside.h"

/* perftest and others choose special paths by the vendor's OUI and part number. Ours is in the part
 * of the number space that is assigned to nobody (IEEE 802, the U/L bit), and the part has none. */
#define VENDOR_ID   0x025745u
#define VENDOR_PART 0

/* What only queue pairs of the verbs have: reads, atomics, shared queues and windows. */
static void fill_verbs(struct ibv_device_attr *attr, const struct transport_verbs_ops *verbs)
{
	attr->device_cap_flags |= IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW |
				  IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	attr->max_sge_rd = ENGINE_SGE;
	attr->max_qp_rd_atom = verbs->rd_atomic_max;
	attr->max_res_rd_atom = verbs->rd_atomic_max * (int)NIC_MAX_QPS;
	attr->max_qp_init_rd_atom = verbs->rd_atomic_max;
	attr->atomic_cap = IBV_ATOMIC_HCA;
	attr->max_mw = NIC_MAX_MRS;
	attr->max_srq = NIC_MAX_SRQS;
	attr->max_srq_wr = (int)verbs->most.max_recv;
	attr->max_srq_sge = (int)verbs->most.max_sge;
}

static void fill_device(struct ibv_device_attr *attr, struct ibv_context *context)
{
	const struct verbs_opened *opened = verbs_opened(context);
	const struct transport *transport = opened->transport;
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
		.max_qp_wr = (int)transport->pairs->most.max_send,
		.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
				    IBV_DEVICE_SYS_IMAGE_GUID,
		.max_sge = ENGINE_SGE,
		.max_cq = NIC_MAX_CQS,
		.max_cqe = NIC_MAX_CQE,
		.max_mr = NIC_MAX_MRS,
		.max_pd = VERBS_MAX_PDS,
		.atomic_cap = IBV_ATOMIC_NONE,
		.max_pkeys = 1,
		/* 4.096 us * 2^15: a thread that waits for its processor answers late. */
		.local_ca_ack_delay = 15,
		.phys_port_cnt = (uint8_t)opened->n_ports,
	};
	if (transport->verbs)
		fill_verbs(attr, transport->verbs);
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
