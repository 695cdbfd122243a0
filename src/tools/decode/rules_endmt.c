#include "tools/decode/rules_endmt.h"

#include <string.h>

#include "wire/endmt.h"

/* The next TLV of End.MT; all of them are well formed. */
static bool next_tlv(struct cursor *t, const struct wire_packet *p, struct cspan *tlv)
{
	const struct srh_view *srh = &p->net.srh;

	while (srh_tlv_next(t, tlv))
		if (srh->endmt_type && tlv->at[0] == srh->endmt_type)
			return true;
	return false;
}

bool endmt_reserved(const struct wire_packet *p)
{
	struct cursor t = cursor_of(p->net.srh.tlvs);
	struct endmt_receiver receiver;
	struct endmt_tlv head;
	struct cspan tlv;

	while (next_tlv(&t, p, &tlv)) {
		endmt_tlv_get(tlv.at, &head);
		if (head.rsv0 || head.rsv1)
			return true;
		for (uint32_t n = endmt_tlv_bytes; n < tlv.len; n += endmt_receiver_bytes) {
			endmt_receiver_get(tlv.at + n, &receiver);
			if (receiver.rsv0)
				return true;
		}
	}
	return false;
}

bool endmt_no_segment(const struct wire_packet *p)
{
	struct cursor t = cursor_of(p->net.srh.tlvs);
	struct cspan tlv;

	return next_tlv(&t, p, &tlv) && p->net.srh.head.segments_left == 0;
}

bool endmt_twice(const struct wire_packet *p)
{
	struct cursor t = cursor_of(p->net.srh.tlvs);
	const uint8_t *seen[ENDMT_RECEIVERS_MAX];
	uint32_t n_seen = 0;
	struct cspan tlv;

	while (next_tlv(&t, p, &tlv))
		for (uint32_t n = endmt_tlv_bytes; n < tlv.len; n += endmt_receiver_bytes) {
			for (uint32_t i = 0; i < n_seen; i++)
				if (memcmp(seen[i], tlv.at + n, 16) == 0)
					return true;
			seen[n_seen++] = tlv.at + n;
		}
	return false;
}
