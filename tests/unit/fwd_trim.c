#include "fwd/trim.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "check.h"
#include "frame.h"

enum { PLAIN = 0, DATA = 10, RETX = 11, CUT = 20, CUT_LAST = 21, MIN_TRIM = 28 };

static struct fwd_qos table(uint16_t min_trim)
{
	struct fwd_bdp bdp = {100000, true, true, min_trim};
	struct fwd_names names = {PLAIN, DATA, RETX, CUT, CUT_LAST, 46};
	struct fwd_qos qos;

	fwd_qos_recommended(&qos, &names, &bdp);
	/* What counts is the class the packet came in, not the one it goes on in. */
	qos.classes[1].min_trim_bytes = qos.classes[2].min_trim_bytes = 9999;
	return qos;
}

/* Ethernet, then a UDP packet of 64 bytes that ends in 56 counted ones. */
static const uint8_t whole4[98] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x08, 0x00,
	0x45, 0x2a, 0x00, 0x54, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0xa4, 0x37, 0xc0, 0x00,
	0x02, 0x01, 0xc0, 0x00, 0x02, 0x02, 0xc0, 0x01, 0x12, 0xb7, 0x00, 0x40, 0x00, 0x00,
	1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,
	15,   16,   17,   18,   19,   20,   21,   22,   23,   24,   25,   26,   27,   28,
};

static const uint8_t cut4[62] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x08,
	0x00, 0x45, 0x52, 0x00, 0x30, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0xa4, 0x33,
	0xc0, 0x00, 0x02, 0x01, 0xc0, 0x00, 0x02, 0x02, 0xc0, 0x01, 0x12, 0xb7, 0x00,
	0x40, 0x00, 0x00, 1,    2,    3,    4,    5,    6,    7,    8,    9,    10,
	11,   12,   13,   14,   15,   16,   17,   18,   19,   20,
};

static const uint8_t whole6[118] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x86, 0xdd,
	0x62, 0xa1, 0x23, 0x45, 0x00, 0x40, 0x11, 0x40, 0xfd, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xfd, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xc0, 0x01,
	0x12, 0xb7, 0x00, 0x40, 0x00, 0x00, 1,    2,    3,    4,    5,    6,    7,    8,
	9,    10,   11,   12,   13,   14,   15,   16,   17,   18,   19,   20,   21,   22,
};

static const uint8_t cut6[82] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x86, 0xdd,
	0x65, 0x21, 0x23, 0x45, 0x00, 0x1c, 0x11, 0x40, 0xfd, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xfd, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xc0, 0x01,
	0x12, 0xb7, 0x00, 0x40, 0x00, 0x00, 1,    2,    3,    4,    5,    6,    7,    8,
	9,    10,   11,   12,   13,   14,   15,   16,   17,   18,   19,   20,
};

static void check_view(const struct fwd_frame *f, const struct fwd_view *view)
{
	struct fwd_view fresh;

	assert_int_equal(fwd_view_get(f, &fresh), FWD_DROP_NONE);
	assert_ptr_equal(view->ip, fresh.ip);
	assert_int_equal(view->ip_at, fresh.ip_at);
	assert_int_equal(view->ip_len, fresh.ip_len);
	assert_int_equal(view->flow_label, fresh.flow_label);
	assert_int_equal(view->dscp, fresh.dscp);
	assert_int_equal(view->ecn, fresh.ecn);
	assert_int_equal(view->hop_limit, fresh.hop_limit);
	assert_int_equal(view->sport, fresh.sport);
}

static void bytes_are_as_written_by_hand(void **state)
{
	static const struct {
		const uint8_t *whole, *cut;
		uint32_t whole_len, cut_len;
	} rows[] = {
		{whole4, cut4, sizeof whole4, sizeof cut4},
		{whole6, cut6, sizeof whole6, sizeof cut6},
	};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct fwd_qos qos = table(MIN_TRIM);
		uint8_t bytes[128];
		struct fwd_frame f = {bytes, rows[i].whole_len, rows[i].whole_len};
		struct fwd_view view;

		memcpy(bytes, rows[i].whole, rows[i].whole_len);
		assert_int_equal(fwd_view_get(&f, &view), FWD_DROP_NONE);
		assert_true(fwd_trim_may(&qos, &view));
		fwd_trim(&qos, &f, &view, false);
		assert_ptr_equal(f.at, bytes);
		assert_int_equal(f.len, rows[i].cut_len);
		assert_int_equal(f.stored, rows[i].cut_len);
		assert_memory_equal(bytes, rows[i].cut, rows[i].cut_len);
		check_view(&f, &view);
		/* UE 4.1: never twice, however little its new class would keep. */
		qos.classes[1].min_trim_bytes = 0;
		assert_false(fwd_trim_may(&qos, &view));
	}
}

static void the_last_hop_has_its_own_name(void **state)
{
	static const struct {
		uint8_t dscp, lasthop;
		bool is_last_hop;
		uint8_t want;
	} rows[] = {
		{DATA, CUT_LAST, false, CUT},     {DATA, CUT_LAST, true, CUT_LAST},
		{DATA, FWD_NO_DSCP, true, CUT},   {DATA, FWD_NO_DSCP, false, CUT},
		{RETX, CUT_LAST, true, CUT_LAST}, {RETX, CUT_LAST, false, CUT},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fwd_qos qos = table(MIN_TRIM);
		uint8_t bytes[sizeof whole6];
		struct fwd_frame f = {bytes, sizeof bytes, sizeof bytes};
		struct fwd_view view;

		qos.dscps[rows[i].dscp].trimmed_lasthop = rows[i].lasthop;
		memcpy(bytes, whole6, sizeof bytes);
		assert_int_equal(fwd_view_get(&f, &view), FWD_DROP_NONE);
		fwd_set_dscp(&view, rows[i].dscp);
		fwd_trim(&qos, &f, &view, rows[i].is_last_hop);
		assert_int_equal(view.dscp, rows[i].want);
		assert_int_equal((bytes[14] << 8 | bytes[15]) >> 6 & 0x3f, rows[i].want);
		assert_int_equal(view.ecn, FWD_ECN_ECT0);
	}
}

/* UE 4.1: a trimmed codepoint is associated with each trimmable one. */
static void what_is_cut_is_marked_by_its_own_dscp(void **state)
{
	enum { OTHER = 33, OTHER_LAST = 34 };
	static const uint8_t want[2][2] = {{CUT, CUT_LAST}, {OTHER, OTHER_LAST}};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct fwd_qos qos = table(MIN_TRIM);
		uint8_t bytes[sizeof whole6];
		struct fwd_frame f = {bytes, sizeof bytes, sizeof bytes};
		struct fwd_view view;

		qos.dscps[RETX].trimmed = OTHER;
		qos.dscps[RETX].trimmed_lasthop = OTHER_LAST;
		qos.dscps[OTHER] = qos.dscps[OTHER_LAST] = qos.dscps[CUT];
		assert_null(fwd_qos_fault(&qos));
		memcpy(bytes, whole6, sizeof bytes);
		assert_int_equal(fwd_view_get(&f, &view), FWD_DROP_NONE);
		fwd_set_dscp(&view, i / 2 ? RETX : DATA);
		fwd_trim(&qos, &f, &view, i % 2);
		assert_int_equal(view.dscp, want[i / 2][i % 2]);
		assert_false(fwd_trim_may(&qos, &view));
	}
}

static void only_longer_trimmable_packets_are_cut(void **state)
{
	struct fwd_qos qos = table(64);
	uint8_t bytes[2][128];
	struct fwd_frame f4 = {bytes[0], sizeof whole4, sizeof whole4};
	struct fwd_frame f6 = {bytes[1], sizeof whole6, sizeof whole6};
	struct fwd_view v4, v6;

	(void)state;
	memcpy(bytes[0], whole4, sizeof whole4);
	memcpy(bytes[1], whole6, sizeof whole6);
	assert_int_equal(fwd_view_get(&f4, &v4), FWD_DROP_NONE);
	assert_int_equal(fwd_view_get(&f6, &v6), FWD_DROP_NONE);
	assert_false(fwd_trim_may(&qos, &v4) || fwd_trim_may(&qos, &v6));
	qos.classes[0].min_trim_bytes = 65;
	assert_false(fwd_trim_may(&qos, &v4) || fwd_trim_may(&qos, &v6));
	qos.classes[0].min_trim_bytes = UINT16_MAX;
	assert_false(fwd_trim_may(&qos, &v4) || fwd_trim_may(&qos, &v6));
	for (uint32_t c = 0; c < qos.n_classes; c++)
		qos.classes[c].min_trim_bytes = 63;
	assert_true(fwd_trim_may(&qos, &v4) && fwd_trim_may(&qos, &v6));
	for (uint8_t d = 0; d < FWD_DSCPS; d++) {
		fwd_set_dscp(&v4, d);
		fwd_set_dscp(&v6, d);
		assert_int_equal(fwd_trim_may(&qos, &v4), d == DATA || d == RETX);
		assert_int_equal(fwd_trim_may(&qos, &v6), d == DATA || d == RETX);
	}
}

/* Options belong to the header: the payload counts behind them. */
static void ipv4_options_are_kept(void **state)
{
	struct fwd_qos qos = table(20);
	struct ipv4 ip = {.version = 4, .ihl = 7, .dscp = DATA, .ttl = 9, .protocol = 253};
	uint8_t bytes[14 + 28 + 21];
	struct fwd_frame f = {bytes, sizeof bytes, sizeof bytes};
	struct fwd_view view;

	(void)state;
	memset(bytes, 1, sizeof bytes);
	memcpy(bytes, whole4, 14);
	ip.length = 28 + 21;
	ipv4_put(&ip, bytes + 14);
	/* Eight no-operations, 0x01 each, are four words 0x0101 more in the sum. */
	uint32_t sum = (uint16_t)~ipv4_checksum(bytes + 14) + 4u * 0x0101;

	put_be16(bytes + 24, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
	assert_int_equal(fwd_view_get(&f, &view), FWD_DROP_NONE);
	qos.classes[0].min_trim_bytes = 21;
	assert_false(fwd_trim_may(&qos, &view));
	qos.classes[0].min_trim_bytes = 20;
	assert_true(fwd_trim_may(&qos, &view));
	fwd_trim(&qos, &f, &view, false);
	assert_int_equal(f.len, 14 + 28 + 20);
	assert_int_equal(get_be16(bytes + 16), 28 + 20);
	check_view(&f, &view);
}

/* stored and len of a 60-byte cut: virtual payload never becomes stored bytes. */
static void only_what_is_cut_leaves_memory(void **state)
{
	static const struct {
		uint32_t stored, want;
	} rows[] = {{118, 82}, {83, 82}, {82, 82}, {81, 81}, {62, 62}};
	struct fwd_qos qos = table(MIN_TRIM);

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		/* Memory of exactly that size, so that a sanitizer sees a byte too many. */
		uint8_t *bytes = malloc(rows[i].stored);
		struct fwd_frame f = {bytes, rows[i].stored, sizeof whole6};
		struct fwd_view view;

		assert_non_null(bytes);
		memcpy(bytes, whole6, rows[i].stored);
		assert_int_equal(fwd_view_get(&f, &view), FWD_DROP_NONE);
		fwd_trim(&qos, &f, &view, false);
		assert_int_equal(f.len, 82);
		assert_int_equal(f.stored, rows[i].want);
		assert_memory_equal(bytes, cut6, rows[i].want);
		free(bytes);
	}
}

/* What an Ethernet link padded a short packet with is not part of the packet. */
static void link_padding_goes_too(void **state)
{
	struct fwd_qos qos = table(63);
	uint8_t bytes[sizeof whole4 + 30];
	struct fwd_frame f = {bytes, sizeof bytes, sizeof bytes};
	struct fwd_view view;

	(void)state;
	memset(bytes, 0, sizeof bytes);
	memcpy(bytes, whole4, sizeof whole4);
	assert_int_equal(fwd_view_get(&f, &view), FWD_DROP_NONE);
	fwd_trim(&qos, &f, &view, false);
	assert_int_equal(f.len, 14 + 20 + 63);
	assert_int_equal(f.stored, 14 + 20 + 63);
}

static struct frame_spec any_spec(struct prng *p)
{
	return (struct frame_spec){
		.n_vlan = (uint8_t)prng_below(p, 3),
		.ip_version = prng_chance(p, 1, 2) ? 4 : 6,
		.srv6 = (enum frame_srv6)prng_below(p, 4),
		.dscp = prng_chance(p, 1, 2) ? DATA : RETX,
		.ecn = (uint8_t)prng_below(p, 4),
		.sport = (uint16_t)prng_u32(p),
		.flow_label = prng_u32(p) & 0xfffff,
	};
}

/* Packets native and under SRv6, with and without a segment routing header (M-27, M-42), held
 * against a trim that writes every header anew. */
static void random_packets_agree_with_a_plain_trim(void **state)
{
	struct prng p;
	uint32_t cuts = 0;

	(void)state;
	prng_init(&p, check_seed(0x7219), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		static struct frame got, want;
		uint8_t transport[1500];
		struct frame_spec spec = any_spec(&p);
		uint32_t n = (uint32_t)prng_range(&p, 12, prng_chance(&p, 1, 2) ? 100 : 1500);
		uint16_t keep = (uint16_t)prng_below(&p, 200);
		struct fwd_qos qos = table(keep);
		bool is_last = prng_chance(&p, 1, 2);
		struct fwd_view view;

		prng_fill(&p, transport, n);
		frame_build(&got, &spec, (struct cspan){transport, n}, (struct cspan){NULL, 0});
		want = got;
		struct fwd_frame f = {got.bytes, got.len, got.len};
		bool is_v4 = spec.ip_version == 4 && spec.srv6 == FRAME_NATIVE;
		uint32_t payload = got.len - got.ip_at - (is_v4 ? ipv4_bytes : ipv6_bytes);

		f.stored = (uint32_t)prng_range(&p, got.ip_at + 44, got.len);
		assert_int_equal(fwd_view_get(&f, &view), FWD_DROP_NONE);
		assert_int_equal(fwd_trim_may(&qos, &view), payload > keep);
		if (payload <= keep)
			continue;
		uint32_t stored = f.stored;

		cuts++;
		frame_trim(&want, is_last ? CUT_LAST : CUT, keep);
		fwd_trim(&qos, &f, &view, is_last);
		assert_int_equal(f.len, want.len);
		assert_int_equal(f.stored, stored < want.len ? stored : want.len);
		/* Bytes beyond the end are compared too: nothing behind the header is written. */
		assert_memory_equal(got.bytes, want.bytes, got.len);
		assert_false(fwd_trim_may(&qos, &view));
		/* A cut may go right through the ports, which a fresh look would miss. */
		if (f.stored >= view.ip_at + (is_v4 ? ipv4_bytes : ipv6_bytes) + 4 && keep >= 4)
			check_view(&f, &view);
	}
	assert_true(cuts > 5000);
}

struct refused {
	struct fwd_qos qos;
	struct fwd_view view;
	struct fwd_frame f;
};

static void trim_refused(void *context)
{
	struct refused *r = context;

	fwd_trim(&r->qos, &r->f, &r->view, false);
}

static void mistakes_abort(void **state)
{
	uint8_t bytes[sizeof whole6];
	struct refused r = {.qos = table(64), .f = {bytes, sizeof bytes, sizeof bytes}};

	(void)state;
	memcpy(bytes, whole6, sizeof bytes);
	assert_int_equal(fwd_view_get(&r.f, &r.view), FWD_DROP_NONE);
	assert_true(check_aborts(trim_refused, &r));
	r.qos = table(MIN_TRIM);
	fwd_set_dscp(&r.view, CUT);
	assert_true(check_aborts(trim_refused, &r));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(bytes_are_as_written_by_hand),
	cmocka_unit_test(the_last_hop_has_its_own_name),
	cmocka_unit_test(what_is_cut_is_marked_by_its_own_dscp),
	cmocka_unit_test(only_longer_trimmable_packets_are_cut),
	cmocka_unit_test(ipv4_options_are_kept),
	cmocka_unit_test(only_what_is_cut_leaves_memory),
	cmocka_unit_test(link_padding_goes_too),
	cmocka_unit_test(random_packets_agree_with_a_plain_trim),
	cmocka_unit_test(mistakes_abort),
};

CHECK_MAIN(cases)
