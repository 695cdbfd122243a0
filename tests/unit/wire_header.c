/* The technique of wire/header.h, on every header there is. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "wire/layouts.h"
#include "wire/mrc.h"
#include "wire/net.h"

#define ROUNDS     100000
#define BYTES_MAX  64
#define STRUCT_MAX 256

/* Fields follow each other without gap or overlap and fill the header. */
static void fields_tile(void **state)
{
	const struct wire_layout *l;

	(void)state;
	for (size_t i = 0; (l = wire_layout_at(i)); i++) {
		unsigned bit = 0;

		for (unsigned f = 0; f < l->n_fields; f++) {
			if (l->fields[f].bit != bit)
				fail_msg("%s.%s starts at bit %u, expected %u", l->name,
					 l->fields[f].name, l->fields[f].bit, bit);
			bit += l->fields[f].width;
		}
		assert_int_equal(bit, l->bytes * 8);
		assert_true(l->bytes <= BYTES_MAX && l->size <= STRUCT_MAX);
	}
	assert_true(wire_layout_at(1000) == NULL);
}

static void names_are_unique(void **state)
{
	const struct wire_layout *l;

	(void)state;
	for (size_t i = 0; (l = wire_layout_at(i)); i++) {
		assert_ptr_equal(wire_layout_find(l->name), l);
		for (unsigned f = 0; f < l->n_fields; f++)
			assert_ptr_equal(wire_field_find(l, l->fields[f].name), &l->fields[f]);
		assert_null(wire_field_find(l, "no such field"));
	}
	assert_null(wire_layout_find("no such header"));
}

/* Any bytes decode, and encode to the same bytes: no bit is lost, reserved ones neither. */
static void bytes_round_trip(void **state)
{
	struct prng rnd;
	const struct wire_layout *l;

	(void)state;
	prng_init(&rnd, check_seed(0x77656674), 1);
	for (size_t i = 0; (l = wire_layout_at(i)); i++) {
		for (int round = 0; round < ROUNDS; round++) {
			uint8_t in[BYTES_MAX], out[BYTES_MAX + 2], h[STRUCT_MAX];

			prng_fill(&rnd, in, l->bytes);
			memset(out, 0xa5, sizeof out);
			memset(h, 0xa5, sizeof h);
			l->get(in, h);
			l->put(h, out + 1);
			assert_memory_equal(in, out + 1, l->bytes);
			/* put writes its own bytes only */
			assert_int_equal(out[0], 0xa5);
			assert_int_equal(out[l->bytes + 1], 0xa5);
		}
	}
}

static void set_member(uint8_t *h, const struct wire_field *f, uint64_t v)
{
	uint8_t v8 = (uint8_t)v;
	uint16_t v16 = (uint16_t)v;
	uint32_t v32 = (uint32_t)v;

	switch (f->size) {
	case 1: memcpy(h + f->at, &v8, 1); break;
	case 2: memcpy(h + f->at, &v16, 2); break;
	case 4: memcpy(h + f->at, &v32, 4); break;
	default: memcpy(h + f->at, &v, 8); break;
	}
}

/* A value too wide for its field is cut to the field and never leaks into a neighbour. */
static void values_round_trip(void **state)
{
	struct prng rnd;
	const struct wire_layout *l;

	(void)state;
	prng_init(&rnd, check_seed(0x77656674), 2);
	for (size_t i = 0; (l = wire_layout_at(i)); i++) {
		for (int round = 0; round < ROUNDS; round++) {
			const struct wire_field *f = &l->fields[prng_below(&rnd, l->n_fields)];
			uint8_t h[STRUCT_MAX] = {0}, back[STRUCT_MAX], out[BYTES_MAX];
			uint64_t v = prng_u64(&rnd);

			if (f->width > 64)
				continue;
			set_member(h, f, v);
			l->put(h, out);
			l->get(out, back);
			uint64_t want = v & (UINT64_MAX >> (64 - f->width));

			assert_int_equal(wire_member_value(f, back), want);
			assert_int_equal(wire_field_value(f, out), want);
			for (unsigned k = 0; k < l->n_fields; k++)
				if (&l->fields[k] != f && l->fields[k].width <= 64)
					assert_int_equal(wire_member_value(&l->fields[k], back), 0);
		}
	}
}

static void prints_fields(void **state)
{
	uint8_t text[256];
	struct span out = {text, sizeof text};
	struct udp udp = {0xc123, 4791, 60, 0};
	struct vlan vlan = {3, 1, 0x123, 0x86dd};
	struct aeth aeth = {0, 3, 2, 7};
	struct srh_segment segment = {{0xfd, 0, [15] = 1}};

	(void)state;
	uint32_t need = udp_print(&udp, out);

	assert_int_equal(need, strlen((char *)text));
	assert_string_equal((char *)text, "udp sport=0xc123 dport=0x12b7 length=0x003c "
					  "checksum=0x0000");
	vlan_print(&vlan, out);
	assert_string_equal((char *)text, "vlan pcp=3 dei=1 vid=0x123 type=0x86dd");
	aeth_print(&aeth, out);
	assert_string_equal((char *)text, "aeth type=3 value=0x02 msn=0x000007");
	aeth.rsv0 = 1;
	aeth_print(&aeth, out);
	assert_string_equal((char *)text, "aeth rsv0=1 type=3 value=0x02 msn=0x000007");
	srh_segment_print(&segment, out);
	assert_string_equal((char *)text, "srh_segment address=fd000000000000000000000000000001");
}

/* Whatever the room, the text is terminated, never overruns, and the length is the whole need. */
static void prints_into_any_room(void **state)
{
	struct seth seth = {.m = 1, .cack_psn = 405, .sack_bitmap = 0x180000081, .rsv4 = 9};
	uint8_t whole[512], text[512];
	uint32_t need = seth_print(&seth, (struct span){whole, sizeof whole});

	(void)state;
	assert_true(need > 100 && need < sizeof whole);
	for (uint32_t room = 0; room <= need + 1; room++) {
		memset(text, 0xa5, sizeof text);
		assert_int_equal(seth_print(&seth, (struct span){text, room}), need);
		assert_int_equal(text[room], 0xa5);
		if (room) {
			assert_memory_equal(text, whole, room - 1);
			assert_int_equal(text[room - 1 < need ? room - 1 : need], 0);
		}
	}
}

static void reserved_by_name(void **state)
{
	(void)state;
	assert_true(wire_field_is_reserved(wire_field_find(seth_layout(), "rsv_type")));
	assert_false(wire_field_is_reserved(wire_field_find(seth_layout(), "entropy")));
}

/* No header of the later families has one yet: fields that start inside a byte and span 5 to 8. */
static void wide_fields_at_odd_bits(void **state)
{
	struct prng rnd;

	(void)state;
	prng_init(&rnd, check_seed(0x77656674), 3);
	for (int round = 0; round < ROUNDS; round++) {
		unsigned bit = (unsigned)prng_below(&rnd, 40);
		unsigned width = 1 + (unsigned)prng_below(&rnd, 64 - bit % 8);
		uint64_t v = prng_u64(&rnd) & (UINT64_MAX >> (64 - width));
		uint8_t p[16] = {0};

		wire_bits_put(p, bit, width, v);
		assert_int_equal(wire_bits_get(p, bit, width), v);
		for (unsigned b = 0; b < 128; b++) {
			unsigned set = p[b / 8] >> (7 - b % 8) & 1;
			bool inside = b >= bit && b < bit + width;

			assert_int_equal(set, inside ? v >> (bit + width - 1 - b) & 1 : 0);
		}
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(fields_tile),      cmocka_unit_test(names_are_unique),
	cmocka_unit_test(bytes_round_trip), cmocka_unit_test(values_round_trip),
	cmocka_unit_test(prints_fields),    cmocka_unit_test(prints_into_any_room),
	cmocka_unit_test(reserved_by_name), cmocka_unit_test(wide_fields_at_odd_bits),
};
CHECK_MAIN(cases)
