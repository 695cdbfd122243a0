/* MRC header stacks, whole and trimmed: what decodes encodes to the same bytes. */
#include "fuzz.h"

#include "wire/mrc.h"

static void whole(struct cspan bytes)
{
	struct cursor c = cursor_of(bytes);
	struct mrc_pkt pkt;
	struct wire_trail trail = {.n = 0};
	uint8_t head[64];
	struct wire_fault fault = mrc_pkt_get(&c, false, &pkt, &trail);

	fuzz_check_fault(&fault, bytes);
	fuzz_check_trail(&trail, bytes);
	if (fault.why != WIRE_DROP_NONE)
		return;
	uint32_t n = mrc_head_put(&pkt, (struct span){head, sizeof head});

	must(n >= mrc_bth_bytes && n <= bytes.len);
	must(memcmp(head, bytes.at, n) == 0);
	if (pkt.has & MRC_PAYLOAD)
		must(n + pkt.payload.len + pkt.bth.pad == bytes.len);
	else
		must(n == bytes.len);
}

static void trimmed(struct cspan bytes)
{
	struct cursor c = cursor_of(bytes);
	struct mrc_pkt pkt;
	struct wire_trail trail = {.n = 0};
	struct wire_fault fault = mrc_pkt_get(&c, true, &pkt, &trail);

	fuzz_check_fault(&fault, bytes);
	fuzz_check_trail(&trail, bytes);
	if (fault.why == WIRE_DROP_NONE)
		must(!(pkt.has & MRC_PAYLOAD) && pkt.payload.len == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cspan bytes = {data, (uint32_t)size};

	whole(bytes);
	trimmed(bytes);
	return 0;
}
