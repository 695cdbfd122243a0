#include "fwd/qos.h"

#include <string.h>

#include "check.h"

enum { LOW = 0, MED = 1, BDP = 1000000 };

static const struct fwd_names names = {
	.no_trim = 0,
	.trimmable = 10,
	.trimmable_rtx = 11,
	.trimmed = 20,
	.trimmed_lasthop = 21,
	.control = 46,
};

static struct fwd_qos recommended(uint32_t plane_bytes, bool trimming, bool three_classes)
{
	struct fwd_bdp bdp = {plane_bytes, trimming, three_classes, 68};
	struct fwd_qos qos;

	memset(&qos, 0xa5, sizeof qos);
	fwd_qos_recommended(&qos, &names, &bdp);
	return qos;
}

static void check_dscp(const struct fwd_qos *qos, uint8_t dscp, struct fwd_dscp want)
{
	const struct fwd_dscp *got = &qos->dscps[dscp];

	assert_int_equal(got->tclass, want.tclass);
	assert_int_equal(got->trim, want.trim);
	assert_int_equal(got->trimmed, want.trimmed);
	assert_int_equal(got->trimmed_lasthop, want.trimmed_lasthop);
	assert_int_equal(got->threshold_bytes, want.threshold_bytes);
}

/* Every row of UE Table 3-71, and every DSCP that has no row. */
static void check_table(const struct fwd_qos *qos, bool trimming, uint8_t cut_class, uint8_t high)
{
	struct fwd_dscp plain = {LOW, FWD_TRIM_NEVER, FWD_NO_DSCP, FWD_NO_DSCP, 0};
	struct fwd_dscp data = {LOW, FWD_TRIM_TRIMMABLE, 20, 21, 0};
	struct fwd_dscp retx = {LOW, FWD_TRIM_TRIMMABLE, 20, 21, 1500000};
	struct fwd_dscp cut = {cut_class, FWD_TRIM_TRIMMED, FWD_NO_DSCP, FWD_NO_DSCP, 0};
	struct fwd_dscp control = {high, FWD_TRIM_NEVER, FWD_NO_DSCP, FWD_NO_DSCP, 0};

	for (uint8_t d = 0; d < FWD_DSCPS; d++)
		switch (d) {
		case 10: check_dscp(qos, d, trimming ? data : plain); break;
		case 11: check_dscp(qos, d, trimming ? retx : plain); break;
		case 20:
		case 21: check_dscp(qos, d, cut); break;
		case 46: check_dscp(qos, d, control); break;
		default: check_dscp(qos, d, plain); break;
		}
}

static void codepoints_map_as_table_3_71_says(void **state)
{
	(void)state;
	for (int trimming = 0; trimming < 2; trimming++) {
		struct fwd_qos two = recommended(BDP, trimming, false);
		struct fwd_qos three = recommended(BDP, trimming, true);

		assert_int_equal(two.n_classes, 2);
		assert_int_equal(three.n_classes, 3);
		check_table(&two, trimming, 1, 1);
		check_table(&three, trimming, MED, 2);
		assert_null(fwd_qos_fault(&two));
		assert_null(fwd_qos_fault(&three));
	}
}

static void higher_classes_go_strictly_first(void **state)
{
	struct fwd_qos qos = recommended(BDP, true, true);

	(void)state;
	for (uint8_t c = 0; c < 3; c++) {
		assert_int_equal(qos.classes[c].level, c);
		assert_int_equal(qos.classes[c].weight, 1);
		assert_int_equal(qos.classes[c].min_trim_bytes, 68);
		assert_int_equal(qos.classes[c].alpha_eighths, 0);
		assert_int_equal(qos.classes[c].pfc_xoff_bytes, 0);
	}
}

/* UE 3.6.17, rounded down to bytes; what exceeds 32 bits is as much as 32 bits can say. */
static void thresholds_follow_the_plane_bdp(void **state)
{
	static const struct {
		uint32_t bdp, ecn_min, ecn_max, rtx, drop;
	} rows[] = {
		{BDP, 200000, 800000, 1500000, 5000000},
		{125000, 25000, 100000, 187500, 625000},
		{7, 1, 5, 10, 35},
		{858993459, 171798691, 687194767, 1288490188, 4294967295},
		{858993460, 171798692, 687194768, 1288490190, 4294967295},
		{UINT32_MAX, 858993459, 3435973836, UINT32_MAX, UINT32_MAX},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fwd_qos cuts = recommended(rows[i].bdp, true, true);
		struct fwd_qos drops = recommended(rows[i].bdp, false, true);

		assert_true(cuts.classes[LOW].ecn && drops.classes[LOW].ecn);
		assert_int_equal(cuts.classes[LOW].ecn_min_bytes, rows[i].ecn_min);
		assert_int_equal(cuts.classes[LOW].ecn_max_bytes, rows[i].ecn_max);
		assert_int_equal(drops.classes[LOW].ecn_min_bytes, rows[i].ecn_min);
		assert_int_equal(drops.classes[LOW].ecn_max_bytes, rows[i].ecn_max);
		assert_int_equal(cuts.classes[LOW].threshold_bytes, rows[i].bdp);
		assert_int_equal(drops.classes[LOW].threshold_bytes, rows[i].drop);
		assert_int_equal(cuts.dscps[11].threshold_bytes, rows[i].rtx);
		for (uint8_t c = MED; c < 3; c++) {
			assert_false(cuts.classes[c].ecn || drops.classes[c].ecn);
			assert_int_equal(cuts.classes[c].threshold_bytes, rows[i].bdp);
			assert_int_equal(drops.classes[c].threshold_bytes, rows[i].bdp);
		}
	}
}

static void names_not_used_leave_no_mark(void **state)
{
	struct fwd_bdp bdp = {BDP, true, true, 28};
	struct fwd_names few = names;
	struct {
		struct fwd_qos qos;
		uint8_t behind[2048]; /* where an entry FWD_NO_DSCP would lie */
	} t;
	const struct fwd_dscp plain = {LOW, FWD_TRIM_NEVER, FWD_NO_DSCP, FWD_NO_DSCP, 0};
	const struct fwd_dscp data = {LOW, FWD_TRIM_TRIMMABLE, 20, FWD_NO_DSCP, 0};

	(void)state;
	memset(&t, 0xa5, sizeof t);
	few.no_trim = few.trimmable_rtx = few.trimmed_lasthop = FWD_NO_DSCP;
	fwd_qos_recommended(&t.qos, &few, &bdp);
	assert_null(fwd_qos_fault(&t.qos));
	check_dscp(&t.qos, 10, data);
	check_dscp(&t.qos, 11, plain);
	check_dscp(&t.qos, 21, plain);
	for (uint32_t i = 0; i < sizeof t.behind; i++)
		assert_int_equal(t.behind[i], 0xa5);

	few.trimmable_rtx = few.trimmable;
	fwd_qos_recommended(&t.qos, &few, &bdp);
	check_dscp(&t.qos, 10, data);
}

static void no_classes(struct fwd_qos *q)
{
	q->n_classes = 0;
}

static void nine_classes(struct fwd_qos *q)
{
	q->n_classes = FWD_CLASSES + 1;
}

static void high_level(struct fwd_qos *q)
{
	q->classes[2].level = FWD_CLASSES;
}

static void no_weight(struct fwd_qos *q)
{
	q->classes[2].weight = 0;
}

static void ecn_upside_down(struct fwd_qos *q)
{
	q->classes[0].ecn_min_bytes = q->classes[0].ecn_max_bytes + 1;
}

static void xon_above_xoff(struct fwd_qos *q)
{
	q->classes[1].pfc_xoff_bytes = 100;
	q->classes[1].pfc_xon_bytes = 101;
}

static void strange_class(struct fwd_qos *q)
{
	q->dscps[63].tclass = 3;
}

static void strange_kind(struct fwd_qos *q)
{
	q->dscps[63].trim = FWD_TRIM_TRIMMED + 1;
}

static void no_trimmed(struct fwd_qos *q)
{
	q->dscps[10].trimmed = FWD_NO_DSCP;
}

static void trimmed_beyond(struct fwd_qos *q)
{
	q->dscps[10].trimmed = FWD_DSCPS;
}

static void trimmed_trimmable(struct fwd_qos *q)
{
	q->dscps[10].trimmed = 11;
}

/* UE 4.1.4.1: DSCP_TRIMMED and DSCP_CONTROL are two. */
static void trimmed_control(struct fwd_qos *q)
{
	q->dscps[10].trimmed = 46;
}

static void lasthop_beyond(struct fwd_qos *q)
{
	q->dscps[11].trimmed_lasthop = FWD_DSCPS;
}

static void lasthop_trimmable(struct fwd_qos *q)
{
	q->dscps[11].trimmed_lasthop = 11;
}

static void lasthop_control(struct fwd_qos *q)
{
	q->dscps[11].trimmed_lasthop = 46;
}

static void each_fault_is_found(void **state)
{
	static const struct {
		void (*spoil)(struct fwd_qos *);
		const char *word;
	} rows[] = {
		{no_classes, "number of classes"},
		{nine_classes, "number of classes"},
		{high_level, "level"},
		{no_weight, "weight"},
		{ecn_upside_down, "ECN"},
		{xon_above_xoff, "xon"},
		{strange_class, "class"},
		{strange_kind, "kind"},
		{no_trimmed, "no trimmed"},
		{trimmed_beyond, "no trimmed"},
		{trimmed_trimmable, "itself"},
		{trimmed_control, "does not say"},
		{lasthop_beyond, "no trimmed"},
		{lasthop_trimmable, "itself"},
		{lasthop_control, "does not say"},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fwd_qos qos = recommended(BDP, true, true);

		assert_null(fwd_qos_fault(&qos));
		rows[i].spoil(&qos);
		const char *fault = fwd_qos_fault(&qos);

		assert_non_null(fault);
		assert_non_null(strstr(fault, rows[i].word));
	}
}

static void the_edges_of_right_are_right(void **state)
{
	struct fwd_qos qos = recommended(BDP, true, true);

	(void)state;
	qos.n_classes = FWD_CLASSES;
	for (uint8_t c = 0; c < FWD_CLASSES; c++)
		qos.classes[c].weight = 1;
	qos.classes[7].level = FWD_CLASSES - 1;
	qos.dscps[63].tclass = FWD_CLASSES - 1;
	qos.classes[0].ecn_min_bytes = qos.classes[0].ecn_max_bytes;
	qos.classes[1].pfc_xoff_bytes = qos.classes[1].pfc_xon_bytes = 100;
	/* Thresholds that are not in use may have any order. */
	qos.classes[1].ecn_min_bytes = 1;
	qos.dscps[10].trimmed = qos.dscps[10].trimmed_lasthop = 20;
	assert_null(fwd_qos_fault(&qos));

	/* What no packet can reach is not looked at. */
	qos.n_classes = 3;
	qos.dscps[63].tclass = 0;
	qos.classes[3].weight = 0;
	assert_null(fwd_qos_fault(&qos));
}

/* What hosts must know: whatever a switch may mark a packet with that it cut. */
static void a_table_says_what_is_trimmed(void **state)
{
	struct fwd_qos qos = recommended(100000, true, true);
	struct net_trims trims = fwd_qos_trims(&qos);

	(void)state;
	assert_true(trims.trimmed == UINT64_C(1) << names.trimmed);
	assert_true(trims.lasthop == UINT64_C(1) << names.trimmed_lasthop);
	qos.dscps[30] = qos.dscps[names.trimmable];
	qos.dscps[30].trimmed = 63;
	qos.dscps[30].trimmed_lasthop = FWD_NO_DSCP;
	trims = fwd_qos_trims(&qos);
	assert_true(trims.trimmed == (UINT64_C(1) << names.trimmed | UINT64_C(1) << 63));
	assert_true(trims.lasthop == UINT64_C(1) << names.trimmed_lasthop);
	qos = recommended(100000, false, true);
	trims = fwd_qos_trims(&qos);
	assert_true(!trims.trimmed && !trims.lasthop);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_table_says_what_is_trimmed),
	cmocka_unit_test(codepoints_map_as_table_3_71_says),
	cmocka_unit_test(higher_classes_go_strictly_first),
	cmocka_unit_test(thresholds_follow_the_plane_bdp),
	cmocka_unit_test(names_not_used_leave_no_mark),
	cmocka_unit_test(each_fault_is_found),
	cmocka_unit_test(the_edges_of_right_are_right),
};

CHECK_MAIN(cases)
