#include "wire/srh.h"

#include "wire/endmt.h"

WIRE_DEFINE(srh, SRH_FIELDS)
WIRE_DEFINE(srh_segment, SRH_SEGMENT_FIELDS)
WIRE_DEFINE(srh_tlv, SRH_TLV_FIELDS)
WIRE_DEFINE(srh_hmac, SRH_HMAC_FIELDS)
WIRE_DEFINE(usid_f3216, USID_F3216_FIELDS)
WIRE_DEFINE(usid_f1616, USID_F1616_FIELDS)

/* The HMAC is 8 to 32 bytes in steps of 8, behind 6 bytes that the length counts too. */
static bool is_hmac_length(uint32_t length)
{
	const uint32_t fixed = srh_hmac_bytes - srh_tlv_bytes;

	return length > fixed && length <= fixed + SRH_HMAC_MAX && (length - fixed) % 8 == 0;
}

bool srh_tlv_next(struct cursor *t, struct cspan *tlv)
{
	const uint8_t *p;

	while ((p = peek(t, 1)) && *p == SRH_TLV_PAD1)
		take(t, 1);
	p = peek(t, srh_tlv_bytes);
	if (!p)
		return false;
	struct srh_tlv head;

	srh_tlv_get(p, &head);
	tlv->len = srh_tlv_bytes + (uint32_t)head.length;
	tlv->at = take(t, tlv->len);
	return tlv->at != NULL;
}

static struct wire_fault get_hmac(struct cspan tlv, uint32_t at, struct srh_view *srh,
				  struct wire_trail *trail)
{
	if (!is_hmac_length(tlv.len - srh_tlv_bytes))
		return fault_at(WIRE_DROP_SRH_TLV, at, srh_tlv_layout());
	/* One HMAC covers the whole header; of several, the first counts. */
	if (!srh->has_hmac) {
		srh_hmac_get(tlv.at, &srh->hmac);
		srh->has_hmac = true;
		srh->hmac_value = (struct cspan){tlv.at + srh_hmac_bytes, tlv.len - srh_hmac_bytes};
	}
	trail_add_part(trail, (struct wire_layer){srh_hmac_layout(), at, tlv.len});
	return no_fault();
}

/* at: the first TLV's place in the frame. */
static struct wire_fault get_tlvs(struct srh_view *srh, uint32_t at, uint8_t endmt_type,
				  struct wire_trail *trail)
{
	struct cursor t = cursor_of(srh->tlvs);
	struct wire_fault fault = no_fault();
	struct cspan tlv;

	while (fault.why == WIRE_DROP_NONE && srh_tlv_next(&t, &tlv)) {
		uint32_t tlv_at = at + t.at - tlv.len;
		uint8_t type = tlv.at[0];

		if (type == SRH_TLV_HMAC)
			fault = get_hmac(tlv, tlv_at, srh, trail);
		else if (type == endmt_type)
			fault = endmt_tlv_check(tlv, tlv_at, trail);
		else
			trail_add_part(trail,
				       (struct wire_layer){srh_tlv_layout(), tlv_at, tlv.len});
	}
	if (fault.why == WIRE_DROP_NONE && cursor_left(&t) > 0)
		return fault_at(WIRE_DROP_SRH_TLV, at + t.at, srh_tlv_layout());
	return fault;
}

struct wire_fault srh_view_get(struct cursor *c, uint8_t endmt_type, struct srh_view *srh,
			       struct wire_trail *trail)
{
	memset(srh, 0, sizeof *srh);
	srh->at = c->at;
	srh->endmt_type = endmt_type;
	const uint8_t *p = TAKE(c, trail, srh);

	if (!p)
		return fault_at(WIRE_DROP_TRUNCATED, srh->at, srh_layout());
	srh_get(p, &srh->head);
	if (srh->head.routing_type != SRH_ROUTING_TYPE)
		return fault_at(WIRE_DROP_SRH_TYPE, srh->at + 2, srh_layout());
	uint32_t left = 8u * srh->head.ext_len;
	uint32_t list = srh_segment_bytes * (srh->head.last_entry + 1u);
	const uint8_t *body = take(c, left);

	if (!body)
		return fault_at(WIRE_DROP_SRH_LENGTH, srh->at + 1, srh_layout());
	if (list > left)
		return fault_at(WIRE_DROP_SRH_LENGTH, srh->at + 4, srh_layout());
	/* One past the list is legal: a reduced header leaves out the segment that is already the
	 * destination address (RFC 8754 4.1.1). */
	if (srh->head.segments_left > srh->head.last_entry + 1u)
		return fault_at(WIRE_DROP_SRH_LEFT, srh->at + 3, srh_layout());
	uint32_t at = srh->at + srh_bytes;

	for (uint32_t n = 0; n < list; n += srh_segment_bytes)
		trail_add_part(trail, (struct wire_layer){srh_segment_layout(), at + n,
							  srh_segment_bytes});
	srh->segments = (struct cspan){body, list};
	srh->tlvs = (struct cspan){body + list, left - list};
	return get_tlvs(srh, at + list, endmt_type, trail);
}
