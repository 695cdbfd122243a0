/* What fwd/mt_merge.h says, once more and slowly: every number counted on without end, every
 * minimum searched for anew, nothing remembered that could be found again.
 *
 * It shares the header's types, so that outputs compare field by field, and no code. PSNs and MSNs
 * are 64 bits wide here; who calls tells them from those of 24 bits. */
#ifndef WEFT_TESTS_SUPPORT_MT_MODEL_H
#define WEFT_TESTS_SUPPORT_MT_MODEL_H

#include "fwd/mt_merge.h"

#define MT_MODEL_BRANCHES 8
#define MT_MODEL_ASKED    2048

struct mt_model_branch {
	enum mt_state state;
	unsigned events, passes;
	bool is_silent, is_known, is_unbounded, has_nak, has_first;
	uint8_t nak;
	bool has_lacked; /* unknown: the first PSN that passed since it joined */
	int64_t first, acked, msn, limit, lacked;
	uint32_t cnps;
};

struct mt_model {
	struct mt_merge_cfg cfg;
	struct mt_model_branch branch[MT_MODEL_BRANCHES];
	bool is_over;
	uint8_t over_by; /* the syndrome that requests get from then on */
	bool has_passed, is_counted;
	int64_t highest, next, messages, last;
	bool has_told, is_limit_told, told_unbounded;
	int64_t told, told_msn, told_limit;
	bool has_nak_told;
	int64_t nak_told;
	bool is_refusing, is_refusal_told;
	int64_t refused;
	bool in_repeats, is_window_open;
	int64_t asked[MT_MODEL_ASKED]; /* all that wait, beyond the engine's ring too */
	unsigned n_asked;
	bool overflowed;
	uint32_t congested;
	struct mt_counts counts;
};

/* As their namesakes in fwd/mt_merge.h; start is cfg->start, counted on. */
void mt_model_init(struct mt_model *m, const struct mt_merge_cfg *cfg, int64_t start);
int mt_model_join(struct mt_model *m, uint32_t branch);
int mt_model_leave(struct mt_model *m, uint32_t branch, struct mt_out *out);
int mt_model_eject(struct mt_model *m, uint32_t branch, struct mt_out *out);
enum mt_pass mt_model_down(struct mt_model *m, const struct mt_data *data, int64_t psn,
			   struct mt_out *out);
bool mt_model_takes(const struct mt_model *m, uint32_t branch, int64_t psn);
enum mt_fate mt_model_answer(struct mt_model *m, uint32_t branch, int64_t psn, uint8_t syndrome,
			     int64_t msn, struct mt_out *out);
enum mt_fate mt_model_cnp(struct mt_model *m, uint32_t branch, struct mt_out *out);
void mt_model_window(struct mt_model *m, struct mt_out *out);
uint32_t mt_model_most_congested(const struct mt_model *m);
uint32_t mt_model_holder(const struct mt_model *m, uint32_t *behind);
bool mt_model_event(struct mt_model *m, uint32_t *branch, enum mt_event *event);

/* The highest PSN that all live branches have; false: there is none live, or one is unknown. */
bool mt_model_minimum(const struct mt_model *m, int64_t *psn);

#endif
