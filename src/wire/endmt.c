#include "wire/endmt.h"

#include <assert.h>

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

static bool is_of(const uint8_t *tlv, const struct endmt_edge *edge)
{
	struct endmt_tlv head;

	endmt_tlv_get(tlv, &head);
	return memcmp(head.edge, edge->address, sizeof head.edge) == 0 ||
	       memcmp(head.edge, edge->sid, sizeof head.edge) == 0;
}

/* Their addresses come first; at most ENDMT_RECEIVERS_MAX are looked at. */
static bool is_listed(const struct endmt_receivers *to, const uint8_t *address)
{
	for (uint32_t i = 0; i < to->n; i++)
		if (memcmp(to->tlvs.at + to->at[i], address, 16) == 0)
			return true;
	return false;
}

static void add_receivers(struct endmt_receivers *to, struct cspan tlv)
{
	for (uint32_t n = endmt_tlv_bytes; n < tlv.len; n += endmt_receiver_bytes)
		if (!is_listed(to, tlv.at + n))
			to->at[to->n++] = (uint16_t)(tlv.at + n - to->tlvs.at);
}

struct wire_fault endmt_receivers_get(struct cspan tlvs, uint8_t type,
				      const struct endmt_edge *edge, struct endmt_receivers *to)
{
	struct cursor t = cursor_of(tlvs);
	struct cspan tlv;

	assert(tlvs.len <= SRH_TLVS_MAX);
	to->tlvs = tlvs;
	to->n = 0;
	while (srh_tlv_next(&t, &tlv)) {
		if (tlv.at[0] != type)
			continue;
		struct wire_fault fault = tlv_fault(tlv);

		if (fault.why != WIRE_DROP_NONE) {
			to->n = 0;
			fault.at += t.at - tlv.len;
			return fault;
		}
		if (is_of(tlv.at, edge))
			add_receivers(to, tlv);
	}
	return no_fault();
}

struct endmt_receiver endmt_receiver_at(const struct endmt_receivers *receivers, uint32_t i)
{
	struct endmt_receiver receiver;

	assert(i < receivers->n);
	endmt_receiver_get(receivers->tlvs.at + receivers->at[i], &receiver);
	return receiver;
}
