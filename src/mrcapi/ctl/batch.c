/* Questions to peers as such (MRC 7.3). */
#include <stdlib.h>

#include "mrcapi/ctl/inside.h"

#include "mrcapi/ctl/map.h"

/* A batch, and where its answers go. */
struct batch {
	struct nic_mrc_question *questions;
	struct nic_mrc_answer *answers;
	const struct mrc_ctl_ep_req *req;
	struct mrc_ctl_ep_rsp *rsp;
	uint32_t n;
};

static int ask(struct nic_user *user, const struct batch *b, nsec timeout_ns, int *num_rsp)
{
	uint32_t n = 0;
	int error = nic_mrc_ask(user, b->questions, b->n, timeout_ns, b->answers, &n);

	/* What came in time is told, whether or not all did. */
	if (error && error != -ETIMEDOUT)
		return error;
	for (uint32_t i = 0; i < n; i++)
		ctl_fill_answer(&b->answers[i], b->req, &b->rsp[i]);
	*num_rsp = (int)n;
	return error;
}

int mrc_ctl_ep_batch_send_wait(struct mrc_context *context, uint8_t req_tc,
			       enum mrc_ctl_ep_op_type op_type, struct mrc_ctl_ep_req *req,
			       int num_req, uint32_t rsp_timeout, struct mrc_ctl_ep_rsp *rsp,
			       int *num_rsp)
{
	struct ctl_place place;
	int error = ctl_check(context);

	if (error)
		return ctl_answer(error);
	if (!req || !rsp || !num_rsp || num_req <= 0 || num_req > CTL_REQ_IDS)
		return verbs_minus_one(EINVAL);
	*num_rsp = 0;
	error = ctl_find_place(context->user, &place);
	if (error)
		return ctl_answer(error);
	const struct ctl_batch what = {op_type, req_tc, place.device.n_ports};
	struct batch b = {.req = req, .rsp = rsp, .n = (uint32_t)num_req};

	b.questions = calloc(b.n, sizeof *b.questions);
	b.answers = calloc(b.n, sizeof *b.answers);
	error = b.questions && b.answers ? ctl_fill_batch(&what, req, b.n, b.questions) : -ENOMEM;
	if (!error)
		error = ask(context->user, &b, rsp_timeout, num_rsp);
	free(b.questions);
	free(b.answers);
	return ctl_answer(error);
}
