/* Segment routing headers: the parts of an accepted one fill it exactly, and each edge that one
 * names finds its receivers. */
#include "fuzz.h"

#include "wire/endmt.h"
#include "wire/srh.h"

static const uint8_t nobody[16];

/* No address twice, and every entry inside a TLV. */
static void check_receivers(const struct endmt_receivers *r)
{
	must(r->n <= ENDMT_RECEIVERS_MAX);
	for (uint32_t i = 0; i < r->n; i++) {
		const uint8_t *address = r->tlvs.at + r->at[i];

		must(r->at[i] >= endmt_tlv_bytes);
		must(r->at[i] + (uint32_t)endmt_receiver_bytes <= r->tlvs.len);
		must(endmt_receiver_at(r, i).qpn <= 0xffffff);
		for (uint32_t k = 0; k < i; k++)
			must(memcmp(r->tlvs.at + r->at[k], address, 16) != 0);
	}
}

/* Of a header that was accepted: no TLV can be malformed any more. */
static void read_edges(struct cspan tlvs)
{
	struct cursor t = cursor_of(tlvs);
	struct endmt_receivers r;
	struct cspan tlv;

	while (srh_tlv_next(&t, &tlv)) {
		const struct endmt_edge edge = {nobody, tlv.at + 4};

		if (tlv.at[0] != ENDMT_TLV_TYPE)
			continue;
		must(endmt_receivers_get(tlvs, ENDMT_TLV_TYPE, &edge, &r).why == WIRE_DROP_NONE);
		must(r.n > 0);
		check_receivers(&r);
	}
}

/* The input as TLVs that nobody has looked at. */
static void read_raw(struct cspan bytes)
{
	struct endmt_receivers r;

	if (bytes.len < 16 || bytes.len > SRH_TLVS_MAX)
		return;
	const struct endmt_edge edge = {bytes.at, bytes.at + bytes.len - 16};
	struct wire_fault fault = endmt_receivers_get(bytes, ENDMT_TLV_TYPE, &edge, &r);

	fuzz_check_fault(&fault, bytes);
	must(fault.why == WIRE_DROP_NONE || r.n == 0);
	check_receivers(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cspan bytes = {data, (uint32_t)size};
	struct cursor c = cursor_of(bytes);
	struct srh_view v;
	struct wire_trail trail = {.n = 0};
	struct wire_fault fault = srh_view_get(&c, ENDMT_TLV_TYPE, &v, &trail);

	fuzz_check_fault(&fault, bytes);
	fuzz_check_trail(&trail, bytes);
	read_raw(bytes);
	if (fault.why != WIRE_DROP_NONE)
		return 0;
	must(c.at == srh_bytes + v.segments.len + v.tlvs.len);
	must(c.at == 8u + 8u * v.head.ext_len);
	must(srh_n_segments(&v) == v.head.last_entry + 1u);
	must(!v.has_hmac || (v.hmac_value.len >= 8 && v.hmac_value.len <= SRH_HMAC_MAX));
	read_edges(v.tlvs);
	return 0;
}
