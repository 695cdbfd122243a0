/* control/control.h: tables, copies, and bytes that are one whole struct control or none. */
#include "check.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32.h"
#include "control_sample.h"

static void tables_are_kept(void **state)
{
	struct control *c = control_new();

	(void)state;
	assert_non_null(c);
	for (uint64_t id = 0; id < CONTROL_PROFILES; id++) {
		assert_int_equal(control_add_format(c, id)->id, id);
		assert_int_equal(control_add_profile(c, 100 + id)->id, 100 + id);
		assert_int_equal(control_add_cc(c, 200 + id)->id, 200 + id);
	}
	assert_null(control_add_format(c, 1000));
	assert_null(control_add_profile(c, 1000));
	assert_null(control_add_cc(c, 1000));
	control_remove(c, CONTROL_FORMAT, 0);
	control_remove(c, CONTROL_EV, 163);
	control_remove(c, CONTROL_CC, 230);
	control_remove(c, CONTROL_CC, 230);
	assert_null(control_find_format(c, 0));
	assert_null(control_find_profile(c, 163));
	assert_null(control_find_cc(c, 230));
	assert_ptr_equal(control_find_format(c, 1), &c->formats[0]);
	assert_ptr_equal(control_find_profile(c, 162), &c->profiles[62]);
	assert_ptr_equal(control_find_cc(c, 231), &c->ccs[30]);
	assert_true(c->n_formats == 63 && c->n_profiles == 63 && c->n_ccs == 63);
	control_free(c);
	control_free(NULL);
}

static void values_have_a_limit(void **state)
{
	struct control *c = control_new();
	struct control_profile *p = control_add_profile(c, 1);

	(void)state;
	assert_int_equal(control_set_count(c, p, 0), -EINVAL);
	assert_int_equal(control_set_count(c, p, CONTROL_EVS + 1), -EINVAL);
	for (uint32_t i = 0; i < CONTROL_EVS_ALL / CONTROL_EVS; i++)
		assert_int_equal(
			control_set_count(c, i ? control_add_profile(c, 10 + i) : p, CONTROL_EVS),
			0);
	assert_int_equal(control_count_evs(c), CONTROL_EVS_ALL);
	p->evs[3].port = 3;
	assert_int_equal(control_set_count(c, control_add_profile(c, 2), 1), -ENOSPC);
	assert_int_equal(control_set_count(c, p, CONTROL_EVS - 1), 0);
	assert_int_equal(p->evs[3].port, 0);
	assert_int_equal(control_set_count(c, control_find_profile(c, 2), 1), 0);
	control_remove(c, CONTROL_EV, 1);
	assert_int_equal(control_count_evs(c), CONTROL_EVS_ALL - CONTROL_EVS + 1);
	control_free(c);
}

static void check_same(const struct control *a, const struct control *b)
{
	size_t len_a, len_b;
	void *bytes_a = control_encode(a, &len_a), *bytes_b = control_encode(b, &len_b);

	assert_true(a->generation == b->generation && a->disabled_ports == b->disabled_ports);
	assert_true(a->n_formats == b->n_formats && a->n_profiles == b->n_profiles);
	assert_memory_equal(a->formats, b->formats, a->n_formats * sizeof a->formats[0]);
	for (uint32_t i = 0; i < a->n_profiles; i++) {
		const struct control_profile *p = &a->profiles[i], *q = &b->profiles[i];

		assert_memory_equal(p, q, offsetof(struct control_profile, evs));
		assert_int_equal(!p->evs, !q->evs);
		if (p->evs)
			assert_memory_equal(p->evs, q->evs, p->count * sizeof *p->evs);
	}
	assert_memory_equal(a->ccs, b->ccs, a->n_ccs * sizeof a->ccs[0]);
	assert_int_equal(len_a, len_b);
	assert_memory_equal(bytes_a, bytes_b, len_a);
	free(bytes_a);
	free(bytes_b);
}

static void bytes_and_copies_are_the_same(void **state)
{
	uint64_t seed = check_seed(1);

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		struct prng p;
		size_t len;

		prng_init(&p, seed, i);
		struct control *c = control_sample(&p, i % 10 ? 8 : 40);
		struct control *copy = control_copy(c);
		void *bytes = control_encode(c, &len);

		assert_true(control_is_whole(c));
		assert_true(bytes && len <= CONTROL_BYTES);
		struct control *back = control_decode(bytes, len);

		assert_non_null(back);
		check_same(c, back);
		check_same(c, copy);
		control_free(c);
		check_same(copy, back);
		control_free(copy);
		control_free(back);
		free(bytes);
	}
}

/* The largest there can be has room. */
static void all_fits_in_its_bytes(void **state)
{
	struct control *c = control_new();
	struct prng p;
	size_t len;

	(void)state;
	prng_init(&p, 1, 1);
	for (uint32_t i = 0; i < CONTROL_PROFILES; i++) {
		struct control_format *f = control_add_format(c, i);
		struct control_profile *ev = control_add_profile(c, i);

		f->phase = CONTROL_ONLINE;
		f->wide = CONTROL_SRV6;
		f->n_fields = PATH_FIELDS_MAX;
		memset(f->width, 8, sizeof f->width);
		ev->phase = CONTROL_ONLINE;
		ev->n_fields = PATH_FIELDS_MAX;
		for (uint32_t k = 0; k < PATH_FIELDS_MAX; k++)
			ev->fields[k].width = 8;
		assert_int_equal(control_set_count(c, ev, CONTROL_EVS_ALL / CONTROL_PROFILES), 0);
		sample_cc(&p, control_add_cc(c, i));
	}
	void *bytes = control_encode(c, &len);

	assert_in_range(len, CONTROL_EVS_ALL * 34u, CONTROL_BYTES);
	struct control *back = control_decode(bytes, len);

	assert_non_null(back);
	control_free(back);
	control_free(c);
	free(bytes);
}

/* As a file that somebody wrote with a CRC that fits. */
static struct control *decode_mended(uint8_t *bytes, size_t len)
{
	uint32_t crc = crc32_update(0, bytes, len - 4);

	for (uint32_t i = 0; i < 4; i++)
		bytes[len - 4 + i] = (uint8_t)(crc >> 8 * i);
	return control_decode(bytes, len);
}

/* Of exact size, so that reading on is seen by a sanitizer. */
static uint8_t *cut(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	return copy;
}

static uint8_t *sample_bytes(size_t *len)
{
	struct control *c = NULL;
	struct prng p;

	prng_init(&p, 3, 14);
	/* One with something of everything. */
	while (!c || !c->n_formats || !c->n_profiles || !c->n_ccs) {
		control_free(c);
		c = control_sample(&p, 3);
	}
	uint8_t *bytes = control_encode(c, len);

	control_free(c);
	return bytes;
}

static void parts_are_refused(void **state)
{
	size_t len;
	uint8_t *bytes = sample_bytes(&len);

	(void)state;
	for (size_t n = 0; n < len; n++) {
		uint8_t *part = cut(bytes, n);

		errno = 0;
		assert_null(control_decode(part, n));
		assert_int_equal(errno, EBADMSG);
		if (n >= 4) {
			errno = 0;
			assert_null(decode_mended(part, n));
			assert_int_equal(errno, EBADMSG);
		}
		free(part);
	}
	/* Nor is there more. */
	uint8_t *more = calloc(1, len + 1);

	memcpy(more, bytes, len);
	assert_null(control_decode(more, len + 1));
	assert_null(decode_mended(more, len + 1));
	free(more);
	free(bytes);
}

static void every_flipped_bit_is_noticed(void **state)
{
	size_t len;
	uint8_t *bytes = sample_bytes(&len);
	uint32_t n_taken = 0;

	(void)state;
	for (size_t bit = 0; bit < 8 * len; bit += bit < 4096 ? 1 : 61) {
		uint8_t *flipped = cut(bytes, len);

		flipped[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_null(control_decode(flipped, len));
		/* With a CRC that fits it may be another one, which is whole. */
		struct control *c = decode_mended(flipped, len);

		if (c) {
			size_t again;
			uint8_t *same = control_encode(c, &again);

			assert_int_equal(again, len);
			assert_memory_equal(same, flipped, len);
			free(same);
			n_taken++;
		}
		control_free(c);
		free(flipped);
	}
	assert_in_range(n_taken, 100, 8 * len);
	free(bytes);
}

/* One of everything, all good. */
static struct control *plain(void)
{
	struct control *c = control_new();

	assert_non_null(c);
	*control_add_format(c, 1) = (struct control_format){.id = 1,
							    .phase = CONTROL_ONLINE,
							    .wide = CONTROL_UDP,
							    .n_fields = 1,
							    .width = {16}};
	*control_add_profile(c, 2) =
		(struct control_profile){.id = 2,
					 .phase = CONTROL_ONLINE,
					 .mode = CONTROL_GENERATED,
					 .format_id = 1,
					 .n_fields = 1,
					 .fields = {{.width = 16, .mask = 0xff, .max = 0xff}}};
	assert_int_equal(control_set_count(c, &c->profiles[0], 2), 0);
	*control_add_cc(c, 3) = (struct control_cc){.id = 3, .phase = CONTROL_ONLINE};
	return c;
}

static void spoil(struct control *c, uint32_t how)
{
	struct control_format *f = &c->formats[0];
	struct control_profile *p = &c->profiles[0];
	struct control_cc *cc = &c->ccs[0];

	switch (how) {
	case 0: f->phase = CONTROL_INIT; break;
	case 1: f->phase = 3; break;
	case 2: f->wide = 3; break;
	case 3: f->width[0] = 0; break;
	case 4: f->width[0] = 17; break;
	case 5: f->wide = CONTROL_SRV6, f->width[0] = 33; break;
	case 6: p->phase = CONTROL_INIT; break;
	case 7: p->mode = 3; break;
	case 8: p->event_mask = 4; break;
	case 9: p->format_id = 2; break;
	case 10: p->min_active = 3; break;
	case 11: p->fields[0].width = 0; break;
	case 12: p->fields[0].width = 33; break;
	case 13: p->fields[0].init = 0x10000; break;
	case 14: p->fields[0].mask = 0x10000; break;
	case 15: p->fields[0].max = 0x100; break;
	case 16: p->fields[0].min = 0xff, p->fields[0].max = 0xfe; break;
	case 17: p->evs[1].port = PATH_PORTS + 1; break;
	case 18: p->evs[1].val[31] = 1; break;
	case 19: free(p->evs), p->evs = NULL; break;
	case 20: cc->phase = CONTROL_INIT; break;
	case 21: cc->nscc.eta = -1; break;
	case 22: cc->nscc.fi = NAN; break;
	case 23: cc->nscc.fi_scale = INFINITY; break;
	case 24: cc->nscc.gamma = -FLT_MIN; break;
	case 25: cc->nscc.max_md_jump = -INFINITY; break;
	case 26: *control_add_format(c, 1) = *f; break;
	case 27: *control_add_profile(c, 2) = *p, c->profiles[1].evs = NULL; break;
	case 28: *control_add_cc(c, 3) = *cc; break;
	case 29: p->mode = CONTROL_AUTO, p->count = 0; break;
	default: fail();
	}
}

static void whatever_is_out_of_range_is_refused(void **state)
{
	(void)state;
	for (uint32_t how = 0; how < 30; how++) {
		struct control *c = plain();
		size_t len;

		assert_true(control_is_whole(c));
		spoil(c, how);
		if (control_is_whole(c))
			fail_msg("taken: %u", how);
		uint8_t *bytes = control_encode(c, &len);

		errno = 0;
		assert_null(control_decode(bytes, len));
		assert_int_equal(errno, EBADMSG);
		free(bytes);
		control_free(c);
	}
}

/* What stands between two steps of a profile is whole as well. */
static void steps_between_are_whole(void **state)
{
	struct control *c = plain();

	(void)state;
	c->profiles[0].phase = CONTROL_OFFLINE;
	free(c->profiles[0].evs);
	c->profiles[0].evs = NULL;
	assert_true(control_is_whole(c));
	c->profiles[0].mode = CONTROL_EXPLICIT;
	assert_false(control_is_whole(c));
	assert_int_equal(control_set_count(c, &c->profiles[0], 5), 0);
	c->profiles[0].n_fields = 0;
	assert_true(control_is_whole(c));
	/* The bounds of a field are for those that are generated. */
	c->profiles[0].n_fields = 1;
	c->profiles[0].fields[0].max = UINT32_MAX;
	assert_true(control_is_whole(c));
	control_remove(c, CONTROL_FORMAT, 1);
	assert_false(control_is_whole(c));
	c->profiles[0].mode = CONTROL_AUTO;
	assert_true(control_is_whole(c));
	control_free(c);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(tables_are_kept),
	cmocka_unit_test(values_have_a_limit),
	cmocka_unit_test(bytes_and_copies_are_the_same),
	cmocka_unit_test(all_fits_in_its_bytes),
	cmocka_unit_test(parts_are_refused),
	cmocka_unit_test(every_flipped_bit_is_noticed),
	cmocka_unit_test(whatever_is_out_of_range_is_refused),
	cmocka_unit_test(steps_between_are_whole),
};

CHECK_MAIN(cases)
