#include "wire/endmt.h"

#include "wire/srh.h"

WIRE_DEFINE(endmt_tlv, ENDMT_TLV_FIELDS)
WIRE_DEFINE(endmt_receiver, ENDMT_RECEIVER_FIELDS)

/* What length counts beside the receivers. */
#define FIXED ((uint32_t)(endmt_tlv_bytes - srh_tlv_bytes))

/* Which bytes of it say something wrong: the fault's place is in the TLV. */
static struct wire_fault tlv_fault(struct cspan tlv)
{
	uint32_t length = tlv.len - srh_tlv_bytes;
	struct endmt_tlv head;

	if (length <= FIXED || (length - FIXED) % endmt_receiver_bytes != 0)
		return fault_at(WIRE_DROP_ENDMT_LENGTH, 1, endmt_tlv_layout());
	endmt_tlv_get(tlv.at, &head);
	if (head.n_receivers != (length - FIXED) / endmt_receiver_bytes)
		return fault_at(WIRE_DROP_ENDMT_COUNT, 20, endmt_tlv_layout());
	return no_fault();
}

struct wire_fault endmt_tlv_check(struct cspan tlv, uint32_t at, struct wire_trail *trail)
{
	struct wire_fault fault = tlv_fault(tlv);

	if (tlv.len >= endmt_tlv_bytes)
		trail_add_part(trail, (struct wire_layer){endmt_tlv_layout(), at, endmt_tlv_bytes});
	fault.at += at;
	if (fault.why != WIRE_DROP_NONE)
		return fault;
	for (uint32_t n = endmt_tlv_bytes; n < tlv.len; n += endmt_receiver_bytes)
		trail_add_part(trail, (struct wire_layer){endmt_receiver_layout(), at + n,
							  endmt_receiver_bytes});
	return no_fault();
}
