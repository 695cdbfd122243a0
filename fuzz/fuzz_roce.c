/* RC header stacks: what decodes encodes to the same bytes. */
#include "fuzz.h"

#include "wire/roce.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cspan bytes = {data, (uint32_t)size};
	struct cursor c = cursor_of(bytes);
	struct roce_pkt pkt;
	struct wire_trail trail = {.n = 0};
	uint8_t head[64];
	struct wire_fault fault = roce_pkt_get(&c, &pkt, &trail);

	fuzz_check_fault(&fault, bytes);
	fuzz_check_trail(&trail, bytes);
	if (fault.why != WIRE_DROP_NONE)
		return 0;
	uint32_t n = roce_head_put(&pkt, (struct span){head, sizeof head});

	must(n >= bth_bytes && n <= size);
	must(memcmp(head, data, n) == 0);
	if (pkt.has & ROCE_PAYLOAD)
		must(n + pkt.payload.len + pkt.bth.pad == size);
	else
		must(n == size);
	return 0;
}
