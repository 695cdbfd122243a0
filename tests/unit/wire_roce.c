/* RoCEv2 RC header stacks. */
#include "check.h"

#include <string.h>

#include "base/prng.h"
#include "wire/roce.h"

/* The stack of every opcode by length, from the table of IBTA volume 1, 9.2 and 9.3. */
static const struct {
	uint8_t opcode, head; /* bytes of all headers */
	bool payload;
} stacks[] = {
	{0x00, 12, true},  {0x01, 12, true},  {0x02, 12, true},  {0x03, 16, true},
	{0x04, 12, true},  {0x05, 16, true},  {0x06, 28, true},  {0x07, 12, true},
	{0x08, 12, true},  {0x09, 16, true},  {0x0a, 28, true},  {0x0b, 32, true},
	{0x0c, 28, false}, {0x0d, 16, true},  {0x0e, 12, true},  {0x0f, 16, true},
	{0x10, 16, true},  {0x11, 16, false}, {0x12, 24, false}, {0x13, 40, false},
	{0x14, 40, false}, {0x16, 16, true},  {0x17, 16, true},  {0x81, 28, false},
};

static const struct roce_pkt full = {
	.bth = {.pkey = 0xffff, .dest_qp = 0x123456, .ack_req = 1, .psn = 0xabcdef},
	.reth = {0x1122334455667788, 0x99aabbcc, 0xddeeff00},
	.atomic = {0x0102030405060708, 0x11121314, 0x2122232425262728, 0x3132333435363738},
	.aeth = {.type = AETH_NAK, .value = AETH_NAK_REMOTE_ACCESS, .msn = 0x654321},
	.atomic_ack = {0x4142434445464748},
	.imm = {0x51525354},
	.ieth = {0x61626364},
};

static void stack_of_every_opcode(void **state)
{
	(void)state;
	for (unsigned op = 0, k = 0; op < 256; op++) {
		bool known = k < sizeof stacks / sizeof stacks[0] && stacks[k].opcode == op;
		struct roce_pkt in = full, out;
		uint8_t bytes[64];
		uint16_t stack;

		in.bth.opcode = (uint8_t)op;
		uint32_t n = roce_head_put(&in, (struct span){bytes, sizeof bytes});

		assert_int_equal(roce_opcode_stack((uint8_t)op, &stack), known);
		assert_int_equal(roce_opcode_name((uint8_t)op) != NULL, known);
		assert_int_equal(n, known ? stacks[k].head : 0);
		if (!known)
			continue;
		struct cursor c = cursor_of((struct cspan){bytes, n});

		assert_int_equal(roce_head_get(&c, &out, NULL).why, WIRE_DROP_NONE);
		assert_int_equal(cursor_left(&c), 0);
		assert_int_equal(!!(out.has & ROCE_PAYLOAD), stacks[k].payload);
		for (uint32_t len = 0; len < n; len++) {
			c = cursor_of((struct cspan){bytes, len});
			assert_int_equal(roce_head_get(&c, &out, NULL).why, WIRE_DROP_TRUNCATED);
		}
		/* too little room for the headers: nothing is claimed to be written */
		for (uint32_t room = 0; room < n; room++)
			assert_int_equal(roce_head_put(&in, (struct span){bytes, room}), 0);
		k++;
	}
}

/* Each header stands at its place with its own values. */
static void headers_carry_their_values(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t at;
		uint64_t first; /* the 32 bits there */
	} want[] = {
		{ROCE_OP_WRITE_ONLY_IMM, 12, 0x11223344},
		{ROCE_OP_WRITE_ONLY_IMM, 28, 0x51525354},
		{ROCE_OP_COMPARE_SWAP, 12, 0x01020304},
		{ROCE_OP_COMPARE_SWAP, 24, 0x21222324},
		{ROCE_OP_COMPARE_SWAP, 32, 0x31323334},
		{ROCE_OP_ATOMIC_ACKNOWLEDGE, 12, 0x62654321},
		{ROCE_OP_ATOMIC_ACKNOWLEDGE, 16, 0x41424344},
		{ROCE_OP_SEND_ONLY_INV, 12, 0x61626364},
		{ROCE_OP_SEND_LAST_IMM, 12, 0x51525354},
		{ROCE_OP_SEND_LAST_IMM, 4, 0x00123456},
		{ROCE_OP_SEND_LAST_IMM, 8, 0x80abcdef},
	};

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		struct roce_pkt in = full, out;
		uint8_t bytes[64];

		in.bth.opcode = want[i].opcode;
		uint32_t n = roce_head_put(&in, (struct span){bytes, sizeof bytes});

		assert_int_equal(get_be32(bytes + want[i].at), want[i].first);
		struct cursor c = cursor_of((struct cspan){bytes, n});

		roce_head_get(&c, &out, NULL);
		if (out.has & ROCE_RETH)
			assert_memory_equal(&out.reth, &full.reth, sizeof full.reth);
		if (out.has & ROCE_ATOMIC)
			assert_int_equal(out.atomic.compare, full.atomic.compare);
		if (out.has & ROCE_IMMDT)
			assert_int_equal(out.imm.immdt, full.imm.immdt);
	}
}

/* Payload and padding: whole words, and no more padding than there are bytes. */
static void payload_and_padding(void **state)
{
	struct roce_pkt in = full, out;
	uint8_t bytes[64] = {0};

	(void)state;
	in.bth.opcode = ROCE_OP_SEND_ONLY;
	for (uint8_t pad = 0; pad < 4; pad++) {
		for (uint32_t len = 0; len <= 32; len++) {
			in.bth.pad = pad;
			uint32_t n = roce_head_put(&in, (struct span){bytes, sizeof bytes});
			struct cursor c = cursor_of((struct cspan){bytes, n + len});
			struct wire_fault fault = roce_pkt_get(&c, &out, NULL);

			if (len % 4 != 0) {
				assert_int_equal(fault.why, WIRE_DROP_PAYLOAD_LENGTH);
			} else if (pad > len) {
				assert_int_equal(fault.why, WIRE_DROP_PAD);
			} else {
				assert_int_equal(fault.why, WIRE_DROP_NONE);
				assert_int_equal(out.payload.len, len - pad);
			}
		}
	}
}

/* A million random packets: decoding what was encoded gives the same headers. */
static void random_round_trips(void **state)
{
	struct prng rnd;

	(void)state;
	prng_init(&rnd, check_seed(0x726f6365), 0);
	for (int round = 0; round < 1000000; round++) {
		uint8_t in[64], out[64];
		struct roce_pkt pkt;
		unsigned k = (unsigned)prng_below(&rnd, sizeof stacks / sizeof stacks[0]);

		prng_fill(&rnd, in, sizeof in);
		in[0] = stacks[k].opcode;
		in[1] &= 0xf0;
		struct cursor c = cursor_of((struct cspan){in, sizeof in});

		assert_int_equal(roce_head_get(&c, &pkt, NULL).why, WIRE_DROP_NONE);
		assert_int_equal(roce_head_put(&pkt, (struct span){out, sizeof out}),
				 stacks[k].head);
		assert_memory_equal(in, out, stacks[k].head);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(stack_of_every_opcode),
	cmocka_unit_test(headers_carry_their_values),
	cmocka_unit_test(payload_and_padding),
	cmocka_unit_test(random_round_trips),
};
CHECK_MAIN(cases)
