/* Queues made with ibv_create_cq_ex: one completion at a time, read field by field. */
#include <time.h>

#include "verbs/inside.h"

static struct verbs_queue *queue_of(struct ibv_cq_ex *cq)
{
	return verbs_queue_of(ibv_cq_ex_to_cq(cq));
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ENOENT: there is none. */
static int take_one(struct verbs_queue *queue)
{
	struct done done;
	int got = nic_cq_poll(queue->nic, &done, 1);

	if (got <= 0)
		return got < 0 ? -got : ENOENT;
	verbs_fill_wc(&queue->wc, &done);
	queue->ex.status = queue->wc.status;
	queue->ex.wr_id = queue->wc.wr_id;
	if (queue->has_time) {
		queue->time_ns = read_clock(CLOCK_MONOTONIC);
		queue->wallclock_ns = read_clock(CLOCK_REALTIME);
	}
	return 0;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	struct verbs_queue *queue = queue_of(cq);

	if (attr && attr->comp_mask)
		return EINVAL;
	if (!queue->is_unlocked)
		pthread_mutex_lock(&queue->poll);
	int error = take_one(queue);

	/* After a failure the application does not call ibv_end_poll. */
	if (error && !queue->is_unlocked)
		pthread_mutex_unlock(&queue->poll);
	return error;
}

static int next_poll(struct ibv_cq_ex *cq)
{
	return take_one(queue_of(cq));
}

static void end_poll(struct ibv_cq_ex *cq)
{
	struct verbs_queue *queue = queue_of(cq);

	if (!queue->is_unlocked)
		pthread_mutex_unlock(&queue->poll);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
	return queue_of(cq)->wc.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
	return queue_of(cq)->wc.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
	return queue_of(cq)->wc.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
	return queue_of(cq)->wc.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
	return queue_of(cq)->wc.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
	return queue_of(cq)->wc.src_qp;
}

static unsigned read_wc_flags(struct ibv_cq_ex *cq)
{
	return queue_of(cq)->wc.wc_flags;
}

/* Ethernet has no local identifiers, and what else is not ours to tell is zero as well. */
static uint32_t read_zero32(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static uint16_t read_zero16(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static uint8_t read_zero8(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static void read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *info)
{
	(void)cq;
	*info = (struct ibv_wc_tm_info){0};
}

static uint64_t read_completion_ts(struct ibv_cq_ex *cq)
{
	return queue_of(cq)->time_ns;
}

static uint64_t read_wallclock(struct ibv_cq_ex *cq)
{
	return queue_of(cq)->wallclock_ns;
}

void verbs_fill_readers(struct verbs_queue *queue)
{
	struct ibv_cq_ex *ex = &queue->ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_wc_flags = read_wc_flags;
	ex->read_slid = read_zero32;
	ex->read_sl = read_zero8;
	ex->read_dlid_path_bits = read_zero8;
	ex->read_completion_ts = read_completion_ts;
	ex->read_cvlan = read_zero16;
	ex->read_flow_tag = read_zero32;
	ex->read_tm_info = read_tm_info;
	ex->read_completion_wallclock_ns = read_wallclock;
}
