/* Segment routing headers: the parts of an accepted one fill it exactly. */
#include "fuzz.h"

#include "wire/endmt.h"
#include "wire/srh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cspan bytes = {data, (uint32_t)size};
	struct cursor c = cursor_of(bytes);
	struct srh_view v;
	struct wire_trail trail = {.n = 0};
	struct wire_fault fault = srh_view_get(&c, ENDMT_TLV_TYPE, &v, &trail);

	fuzz_check_fault(&fault, bytes);
	fuzz_check_trail(&trail, bytes);
	if (fault.why != WIRE_DROP_NONE)
		return 0;
	must(c.at == srh_bytes + v.segments.len + v.tlvs.len);
	must(c.at == 8u + 8u * v.head.ext_len);
	must(srh_n_segments(&v) == v.head.last_entry + 1u);
	must(!v.has_hmac || (v.hmac_value.len >= 8 && v.hmac_value.len <= SRH_HMAC_MAX));
	return 0;
}
