#include "engine/traced.h"

void traced_timeout(const struct tracer *t, const struct traced_qp *q, uint64_t out_bytes,
		    uint32_t tries)
{
	trace_add(t, &(struct trace_event){
			     .at = q->now,
			     .qp = q->qp,
			     .number = q->psn,
			     .a = traced_fit(out_bytes),
			     .b = tries,
			     .kind = TRACE_TIMEOUT,
		     });
}

void traced_failed(const struct tracer *t, const struct traced_qp *q, enum engine_status status,
		   uint32_t peer_code)
{
	trace_add(t, &(struct trace_event){
			     .at = q->now,
			     .qp = q->qp,
			     .number = q->psn,
			     .a = peer_code,
			     .kind = TRACE_FAILED,
			     .what = (uint8_t)status,
		     });
}

void traced_move(const struct tracer *t, const struct traced_qp *q, uint8_t *state, uint8_t to)
{
	if (*state != to && trace_is_on(t))
		trace_add(t, &(struct trace_event){
				     .at = q->now,
				     .qp = q->qp,
				     .kind = TRACE_STATE,
				     .what = *state,
				     .why = to,
			     });
	*state = to;
}

void traced_paths(const struct tracer *t, const struct traced_qp *q, uint32_t bad_evs, uint32_t evs)
{
	trace_add(t, &(struct trace_event){
			     .at = q->now,
			     .qp = q->qp,
			     .a = bad_evs,
			     .b = evs,
			     .kind = TRACE_PATHS,
		     });
}
