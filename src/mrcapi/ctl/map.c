#include "mrcapi/ctl/map.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "wire/mrc.h"

#define DSCP_MAX 63

/* Programs before this version know events without their last member. */
#define WITH_STATE MRC_CTL_API_VER(1u, 0u, 1u)
#define OLD_BYTES  offsetof(struct mrc_ctl_ev_event, state)

static_assert(OLD_BYTES == 48 && sizeof(struct mrc_ctl_ev_event) == 56, "as the interface has it");
static_assert((int)CONTROL_REPORT_GOOD == MRC_CTL_EV_GOOD &&
		      (int)CONTROL_REPORT_BAD == MRC_CTL_EV_ASSUMED_BAD,
	      "one numbering of states");

/* The interface counts these the other way round than the wire does (WIRE M-29). */
static int read_op(enum mrc_ctl_ep_op_type type, uint8_t *op)
{
	switch (type) {
	case MRC_CTL_EP_OP_EV_PROBE: *op = MRC_ENDPOINT_EV_PROBE; return 0;
	case MRC_CTL_EP_OP_PORT_STATUS_UPDATE: *op = MRC_ENDPOINT_PORT_STATUS; return 0;
	default: return -EINVAL;
	}
}

static int read_wide(enum mrc_ctl_ev_fmt_mode mode, struct nic_mrc_question *to)
{
	switch (mode) {
	case MRC_CTL_EV_FMT_MODE_STEV: to->wide = CONTROL_STRUCTURED; return 0;
	case MRC_CTL_EV_FMT_MODE_SRV6: to->wide = CONTROL_SRV6; return 0;
	case MRC_CTL_EV_FMT_MODE_UDP: to->wide = CONTROL_UDP; return 0;
	default: return -EINVAL;
	}
}

/* Ports are counted from 1 there, and from 0 here. */
int ctl_fill_question(const struct ctl_batch *b, const struct mrc_ctl_ep_req *from,
		      struct nic_mrc_question *to)
{
	*to = (struct nic_mrc_question){.dscp = b->dscp};
	int error = read_op(b->type, &to->op);

	if (!error)
		error = read_wide(from->ev_fmt_mode, to);
	if (error || from->req_ev.port == 0 || from->req_ev.port > b->n_ports || b->dscp > DSCP_MAX)
		return -EINVAL;
	memcpy(to->sgid, from->sgid.raw, sizeof to->sgid);
	memcpy(to->dgid, from->dgid.raw, sizeof to->dgid);
	memcpy(to->val, from->req_ev.val, sizeof to->val);
	to->port = (uint8_t)(from->req_ev.port - 1);
	if (to->op == MRC_ENDPOINT_PORT_STATUS)
		to->port_status = from->op.port_status_update.port_status >> 1;
	return 0;
}

int ctl_fill_batch(const struct ctl_batch *b, const struct mrc_ctl_ep_req *from, uint32_t n,
		   struct nic_mrc_question *to)
{
	uint64_t seen[CTL_REQ_IDS / 64] = {0};

	for (uint32_t i = 0; i < n; i++) {
		uint64_t bit = UINT64_C(1) << from[i].req_id % 64;
		int error = ctl_fill_question(b, &from[i], &to[i]);

		if (error || seen[from[i].req_id / 64] & bit)
			return -EINVAL;
		seen[from[i].req_id / 64] |= bit;
	}
	return 0;
}

void ctl_fill_answer(const struct nic_mrc_answer *from, const struct mrc_ctl_ep_req *req,
		     struct mrc_ctl_ep_rsp *to)
{
	*to = (struct mrc_ctl_ep_rsp){
		.req_id = req[from->question].req_id,
		.port = (uint8_t)(from->port + 1),
		.rtt = from->rtt_ns < UINT32_MAX ? (unsigned)from->rtt_ns : UINT32_MAX,
		.adj_svc_time = from->is_adjusted,
	};
}

size_t ctl_event_bytes(uint32_t version)
{
	return version >= WITH_STATE ? sizeof(struct mrc_ctl_ev_event) : OLD_BYTES;
}

void ctl_fill_event(void *to, size_t len, const struct control_event *event)
{
	struct mrc_ctl_ev_event out;

	memset(&out, 0, sizeof out);
	out.profile_id = event->profile_id;
	memcpy(out.ev.val, event->ev.val, sizeof out.ev.val);
	out.ev.port = event->ev.port;
	out.drop_count = event->n_lost;
	out.state = (enum mrc_ctl_ev_state)event->state;
	memcpy(to, &out, len);
}
