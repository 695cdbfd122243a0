#include "cc/settings.h"

#include "cc/cc.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

#define NSCC(member)  SETTING_AT(struct nscc_cfg, member)
#define DCQCN(member) SETTING_AT(struct dcqcn_cfg, member)

/* Times, speeds and sizes in their whole range. */
#define NSCC_TIME(name_, member)                                                                  \
	{                                                                                         \
		.name = (name_), .unit = UNIT_TIME, NSCC(member), .least = 1, .most = NSCC_NS_MAX \
	}
#define NSCC_RATE(name_, member)                                                         \
	{                                                                                \
		.name = (name_), .unit = UNIT_RATE, NSCC(member), .least = NSCC_BPS_MIN, \
		.most = NSCC_BPS_MAX                                                     \
	}
#define NSCC_SIZE(name_, member)                                                                  \
	{                                                                                         \
		.name = (name_), .unit = UNIT_BYTES, NSCC(member), .least = 1, .most = UINT32_MAX \
	}
#define NSCC_FRACTION(name_, member, bits_, most_)                                     \
	{                                                                              \
		.name = (name_), .unit = UNIT_FRACTION, .bits = (bits_), NSCC(member), \
		.most = (most_)                                                        \
	}

static const struct setting nscc[] = {
	{.name = "base_rtt",
	 .unit = UNIT_TIME,
	 NSCC(base_rtt_ns),
	 .least = NSCC_RTT_MIN_NS,
	 .most = NSCC_RTT_MAX_NS},
	NSCC_TIME("target_qdelay", target_qdelay_ns),
	NSCC_TIME("qa_threshold", qa_threshold_ns),
	NSCC_TIME("adjust_period", adjust_period_ns),
	NSCC_TIME("near", near_ns),
	NSCC_RATE("sender_rate", sender_bps),
	NSCC_RATE("receiver_rate", receiver_bps),
	NSCC_SIZE("bdp", bdp_bytes),
	NSCC_SIZE("max_window", max_wnd_bytes),
	NSCC_SIZE("base_bdp", base_bdp_bytes),
	NSCC_SIZE("adjust_bytes", adjust_bytes),
	{.name = "qa_gate", .unit = UNIT_COUNT, NSCC(qa_gate), .least = 1, .most = 31},
	NSCC_FRACTION("gamma", gamma_q32, 32, 1),
	NSCC_FRACTION("max_md_jump", max_md_jump_q32, 32, 1),
	NSCC_FRACTION("scaling_a", scaling_a_q32, 32, (1u << 16) - 1),
	NSCC_FRACTION("scaling_b", scaling_b_q32, 32, (1u << 18) - 1),
	NSCC_FRACTION("alpha", alpha_q40, 40, (1u << 20) - 1),
	NSCC_FRACTION("fi", fi_q24, 24, (UINT64_C(1) << 33) - 1),
	NSCC_FRACTION("fi_scale", fi_scale_q32, 32, (1u << 25) - 1),
	NSCC_FRACTION("eta", eta_q24, 24, (UINT64_C(1) << 33) - 1),
	{.name = "quick_adapt", .unit = UNIT_NO_FLAG, NSCC(has_no_quick_adapt)},
};

#define DCQCN_TIME(name_, member)                                              \
	{                                                                      \
		.name = (name_), .unit = UNIT_TIME, DCQCN(member), .least = 1, \
		.most = DCQCN_NS_MAX                                           \
	}
#define DCQCN_RATE(name_, member)                                                       \
	{                                                                               \
		.name = (name_), .unit = UNIT_RATE, DCQCN(member), .least = CC_BPS_MIN, \
		.most = DCQCN_BPS_MOST                                                  \
	}
#define DCQCN_BPS_MOST UINT64_C(100000000000000)

static const struct setting dcqcn[] = {
	{.name = "gain_shift", .unit = UNIT_COUNT, DCQCN(g_shift), .least = 1, .most = 10},
	DCQCN_TIME("cut_every", cut_every_ns),
	DCQCN_TIME("alpha_every", alpha_ns),
	DCQCN_TIME("increase_every", increase_ns),
	{.name = "increase_bytes",
	 .unit = UNIT_BYTES,
	 DCQCN(increase_bytes),
	 .least = 64u << 10,
	 .most = 1u << 30},
	{.name = "fast_rounds", .unit = UNIT_COUNT, DCQCN(fast_rounds), .least = 1, .most = 255},
	DCQCN_RATE("additive", additive_bps),
	DCQCN_RATE("hyper", hyper_bps),
	DCQCN_RATE("least", least_bps),
};

const struct settings nscc_settings = {nscc, N_OF(nscc)};
const struct settings dcqcn_settings = {dcqcn, N_OF(dcqcn)};
