/* Segment routing headers as a controller writes them: bytes that are known, what fits and what
 * does not (T-01, T-02, T-08, T-12, T-21, T-25). */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "catalog.h"
#include "wire/srh_plan.h"

#define MOST 200u

/* The proxy is last, so that a segment is left when a request comes to an edge (T-08). */
static const struct srh_segment segments[2] = {{{0xfd, 0, 0, 9, [15] = 1}},
					       {{0xfc, 0xbb, 0xbb, 0, 0xe0, 1}}};

static struct endmt_receiver receivers[MOST];
static struct srh_edge edges[MOST];
static uint8_t out[SRH_MAX + 8];

/* Receiver i is fd00:b::(i+1), its queue pair 0b0000 + i + 1. */
static void name_receivers(void)
{
	for (uint32_t i = 0; i < MOST; i++) {
		receivers[i] = (struct endmt_receiver){
			.address = {0xfd, 0, 0,
				    0x0b, [14] = (uint8_t)((i + 1) >> 8), [15] = (uint8_t)(i + 1)},
			.qpn = 0x0b0000 + i + 1,
		};
		edges[i] = (struct srh_edge){
			.address = {0xfc, 0xbb, 0xbb, 0, 0xe0, (uint8_t)(i + 1), [15] = 1}};
	}
}

/* A header for edges of these many receivers, one after another. */
static struct srh_plan plan_of(uint32_t n_edges, const uint32_t *n)
{
	const struct endmt_receiver *next = receivers;

	name_receivers();
	for (uint32_t e = 0; e < n_edges; e++) {
		edges[e].receivers = next;
		edges[e].n = n[e];
		next += n[e];
	}
	return (struct srh_plan){
		.next_header = 41,
		.segments_left = 1,
		.segments = segments,
		.n_segments = 2,
		.endmt_type = ENDMT_TLV_TYPE,
		.edges = edges,
		.n_edges = n_edges,
	};
}

static int put(const struct srh_plan *plan)
{
	memset(out, 0xee, sizeof out);
	return srh_plan_put(plan, (struct span){out, sizeof out});
}

/* What was written is a header that a reader takes, and names each edge's receivers. */
static void check_read(const struct srh_plan *plan, int len)
{
	struct cursor c = cursor_of((struct cspan){out, (uint32_t)len});
	struct srh_view v;

	assert_int_equal(srh_view_get(&c, plan->endmt_type, &v, NULL).why, WIRE_DROP_NONE);
	assert_int_equal(cursor_left(&c), 0);
	assert_int_equal(v.has_hmac, plan->has_hmac);
	for (uint32_t e = 0; e < plan->n_edges; e++) {
		struct endmt_edge edge = {plan->edges[e].address, segments[0].address};
		struct endmt_receivers r;

		assert_int_equal(endmt_receivers_get(v.tlvs, plan->endmt_type, &edge, &r).why,
				 WIRE_DROP_NONE);
		assert_int_equal(r.n, plan->edges[e].n);
		for (uint32_t i = 0; i < r.n; i++) {
			struct endmt_receiver one = endmt_receiver_at(&r, i);

			assert_memory_equal(one.address, plan->edges[e].receivers[i].address, 16);
			assert_int_equal(one.qpn, plan->edges[e].receivers[i].qpn);
		}
	}
	assert_int_equal(out[len], 0xee);
}

/* The header that was worked out apart from the code, byte for byte. */
static void the_known_header(void **state)
{
	static struct sample s;
	struct srh_plan plan = plan_of(1, (uint32_t[]){1});

	(void)state;
	catalog_find("End.MT request", &s);
	assert_int_equal(put(&plan), 88);
	assert_memory_equal(out, s.frame.bytes + 54, 88);
	check_read(&plan, 88);
}

/* Two TLVs of odd numbers need no padding, also not before the HMAC. All but the HMAC itself. */
static void the_known_header_with_hmac(void **state)
{
	static struct sample s;
	struct srh_plan plan = plan_of(2, (uint32_t[]){1, 3});

	(void)state;
	plan.flags = SRH_FLAG_HMAC;
	plan.has_hmac = true;
	plan.key_id = 7;
	catalog_find("End.MT request, two edges, HMAC", &s);
	assert_int_equal(put(&plan), 208);
	assert_memory_equal(out, s.frame.bytes + 54, 208 - 32);
	for (int i = 208 - 32; i < 208; i++)
		assert_int_equal(out[i], 0);
	check_read(&plan, 208);
}

/* T-02: an odd number is padded with 04 02 00 00, an even one is not; T-01: 12 take two TLVs, of
 * which one is odd and one even. */
static void one_to_twelve_receivers(void **state)
{
	static const uint8_t pad[4] = {4, 2, 0, 0};

	(void)state;
	for (uint32_t n = 1; n <= 12; n++)
		for (int with_hmac = 0; with_hmac < 2; with_hmac++) {
			struct srh_plan plan = plan_of(1, &n);
			uint32_t tlvs = n == 12 ? 244 + 44 : 24 + 20 * n;
			uint32_t padded = (tlvs + 7) / 8 * 8;

			plan.has_hmac = with_hmac;
			int len = put(&plan);

			assert_int_equal(len, 40 + padded + (with_hmac ? 40 : 0));
			assert_int_equal(out[1], len / 8 - 1);
			assert_int_equal(out[41], n == 12 ? 242 : 22 + 20 * n);
			assert_int_equal(out[40 + 20], n == 12 ? 11 : n);
			if (n == 12)
				assert_int_equal(out[40 + 244 + 20], 1);
			assert_int_equal(padded - tlvs, n % 2 ? 4 : 0);
			assert_memory_equal(out + 40 + tlvs, pad, padded - tlvs);
			if (with_hmac)
				assert_int_equal(out[40 + padded], SRH_TLV_HMAC);
			check_read(&plan, len);
		}
}

/* MT-7.2-01: what stands in reserved bits of the caller's entries is not sent. */
static void reserved_bits_are_zero(void **state)
{
	struct srh_plan plan = plan_of(1, (uint32_t[]){1});
	uint8_t clean[88];

	(void)state;
	put(&plan);
	memcpy(clean, out, sizeof clean);
	receivers[0].rsv0 = 0xff;
	put(&plan);
	assert_memory_equal(out, clean, sizeof clean);
}

static int bytes_of_edges(uint32_t n_edges, uint32_t each, uint32_t last, bool has_hmac)
{
	uint32_t n[MOST];

	for (uint32_t e = 0; e < n_edges; e++)
		n[e] = e + 1 < n_edges ? each : last;
	struct srh_plan plan = plan_of(n_edges, n);

	plan.has_hmac = has_hmac;
	int len = put(&plan);

	if (len > 0)
		check_read(&plan, len);
	else
		assert_int_equal(out[0], 0xee);
	return len;
}

/* T-21: 89 receivers fit, 88 with an HMAC, 45 at an edge each; one more is refused as a whole. */
static void the_limits(void **state)
{
	(void)state;
	assert_int_equal(bytes_of_edges(9, 11, 1, false), 2040);
	assert_int_equal(bytes_of_edges(9, 11, 2, false), -EMSGSIZE);
	assert_int_equal(bytes_of_edges(8, 11, 11, true), 2032);
	assert_int_equal(bytes_of_edges(9, 11, 1, true), -EMSGSIZE);
	assert_int_equal(bytes_of_edges(45, 1, 1, false), 2024);
	assert_int_equal(bytes_of_edges(46, 1, 1, false), -EMSGSIZE);
	/* all of one edge */
	assert_int_equal(bytes_of_edges(1, 0, 89, false), 2040);
	assert_int_equal(bytes_of_edges(1, 0, 90, false), -EMSGSIZE);
	assert_int_equal(bytes_of_edges(1, 0, MOST, false), -EMSGSIZE);
	assert_int_equal(bytes_of_edges(MOST, 1, 1, false), -EMSGSIZE);
	struct srh_plan plan = plan_of(1, (uint32_t[]){UINT32_MAX});

	assert_int_equal(put(&plan), -EMSGSIZE);
	plan = plan_of(1, (uint32_t[]){1});
	for (uint32_t room = 0; room < 88; room++)
		assert_int_equal(srh_plan_put(&plan, (struct span){out, room}), -ENOSPC);
	assert_int_equal(srh_plan_put(&plan, (struct span){out, 88}), 88);
}

static void segments_alone(void **state)
{
	static struct srh_segment many[128];
	struct srh_plan plan = {
		.next_header = 41, .segments = many, .n_segments = 127, .segments_left = 126};

	(void)state;
	assert_int_equal(put(&plan), 8 + 127 * 16);
	check_read(&plan, 8 + 127 * 16);
	plan.n_segments = 128;
	assert_int_equal(put(&plan), -EMSGSIZE);
	plan.n_segments = UINT32_MAX;
	assert_int_equal(put(&plan), -EMSGSIZE);
	plan.n_segments = 126;
	assert_int_equal(put(&plan), -EINVAL);
	plan.n_segments = 0;
	plan.segments_left = 0;
	assert_int_equal(put(&plan), -EINVAL);
	plan.n_segments = 1;
	assert_int_equal(put(&plan), 24);
	check_read(&plan, 24);
	plan.has_hmac = true;
	assert_int_equal(put(&plan), 64);
	check_read(&plan, 64);
}

/* What no header may say is refused, and nothing is written. */
static void what_is_refused(void **state)
{
	const struct srh_plan good = plan_of(2, (uint32_t[]){2, 2});
	struct srh_plan plan = good;

	(void)state;
	assert_int_equal(srh_plan_bytes(&good), 40 + 2 * 64);
	plan.segments_left = 0;
	assert_int_equal(put(&plan), -EINVAL);
	plan = good;
	plan.n_segments = 1, plan.segments_left = 0;
	assert_int_equal(put(&plan), -EINVAL);
	static const uint8_t taken[] = {0, 4, 5, 0x80, 0xff};

	plan = good;
	for (unsigned i = 0; i < sizeof taken; i++) {
		plan.endmt_type = taken[i];
		assert_int_equal(put(&plan), -EINVAL);
	}
	plan.endmt_type = 0x7d;
	assert_int_equal(put(&plan), 168);
	plan = good;
	edges[1].n = 0;
	assert_int_equal(put(&plan), -EINVAL);
	edges[1].n = 2;
	receivers[3].qpn = 0x1000000;
	assert_int_equal(put(&plan), -EINVAL);
	receivers[3].qpn = 0xffffff;
	receivers[3].address[0] = 0xff;
	assert_int_equal(put(&plan), -EINVAL);
	memset(receivers[3].address, 0, 16);
	assert_int_equal(put(&plan), -EINVAL);
	/* at another edge, and at the same one */
	memcpy(receivers[3].address, receivers[0].address, 16);
	assert_int_equal(put(&plan), -EEXIST);
	memcpy(receivers[3].address, receivers[2].address, 16);
	assert_int_equal(put(&plan), -EEXIST);
	assert_int_equal(out[0], 0xee);
	receivers[3].address[15] = 0x77;
	assert_int_equal(put(&plan), 168);
	edges[0].address[0] = 0xff;
	assert_int_equal(put(&plan), -EINVAL);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(the_known_header),
	cmocka_unit_test(the_known_header_with_hmac),
	cmocka_unit_test(one_to_twelve_receivers),
	cmocka_unit_test(reserved_bits_are_zero),
	cmocka_unit_test(the_limits),
	cmocka_unit_test(segments_alone),
	cmocka_unit_test(what_is_refused),
};
CHECK_MAIN(cases)
