/* A group of a few branches and a script of what comes to it, each line with what must go up.
 *
 * PSNs of a script count from the group's first, so that each script runs at several places of the
 * range. Every packet is a message of its own unless its line says otherwise: whoever has PSN n has
 * MSN n + 1. */
#ifndef WEFT_TESTS_UNIT_FWD_MT_RIG_H
#define WEFT_TESTS_UNIT_FWD_MT_RIG_H

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "fwd/mt_merge.h"
#include "wire/aeth.h"
#include "wire/roce.h"

#define RIG_BRANCHES 4
#define RIG_ROWS     96

enum rig_op { RIG_END, RIG_DOWN, RIG_ANSWER, RIG_JOIN, RIG_LEAVE, RIG_EJECT };

enum { ASKS = 1, MIDDLE = 2, FIRST = 4, LAST = 8, READ = 16 };

struct rig_row {
	enum rig_op op;
	uint32_t branch;
	int32_t psn;
	unsigned how;     /* of a request: ASKS ... */
	uint8_t syndrome; /* of an answer */
	int32_t msn_more; /* of an answer: than its PSN says */
	int result;       /* fate, enum mt_pass or errno */
	bool goes_up;
	int32_t up_psn;
	uint8_t up_syndrome;
	int32_t up_msn_more;
};

#define SYN_ACK(code) (uint8_t)(AETH_ACK << 5 | (code))
#define SYN_RNR(code) (uint8_t)(AETH_RNR_NAK << 5 | (code))
#define SYN_NAK(code) (uint8_t)(AETH_NAK << 5 | (code))
#define SYN_SEQ       SYN_NAK(AETH_NAK_SEQUENCE)
#define SYN_FREE      SYN_ACK(AETH_NO_CREDITS)

#define DOWN(n, h)       .op = RIG_DOWN, .psn = (n), .how = (h)
#define CACK(b, n, code) .op = RIG_ANSWER, .branch = (b), .psn = (n), .syndrome = SYN_ACK(code)
#define ACK(b, n)        CACK(b, n, AETH_NO_CREDITS)
#define NAK(b, n, syn)   .op = RIG_ANSWER, .branch = (b), .psn = (n), .syndrome = (syn)
#define SEQ(b, n)        NAK(b, n, SYN_SEQ)
#define JOIN(b)          .op = RIG_JOIN, .branch = (b)
#define LEAVE(b)         .op = RIG_LEAVE, .branch = (b)
#define EJECT(b)         .op = RIG_EJECT, .branch = (b)

#define UP(n, syn) .goes_up = true, .up_psn = (n), .up_syndrome = (syn)
#define UP_ACK(n)  UP(n, SYN_FREE)
#define UP_SEQ(n)  UP(n, SYN_SEQ)
#define IS(r)      .result = (r)

struct rig_case {
	const char *name;
	struct mt_merge_cfg cfg;
	bool is_startless;
	uint32_t n; /* branches that join at once; 0: 2 */
	struct rig_row rows[RIG_ROWS];
};

struct rig {
	struct mt_merge m;
	struct mt_branch_state branches[RIG_BRANCHES];
	uint32_t base, msn_base;
	struct mt_out out;
};

static inline psn24 rig_psn(const struct rig *r, int32_t n)
{
	return psn24_add(psn24_of(r->base), n);
}

static inline void rig_init(struct rig *r, const struct rig_case *c, uint32_t base)
{
	struct mt_merge_cfg cfg = c->cfg;

	memset(r, 0xa5, sizeof *r);
	r->base = base;
	r->msn_base = c->is_startless ? base : 0;
	cfg.n_branches = RIG_BRANCHES;
	cfg.has_start = !c->is_startless;
	cfg.start = psn24_of(base);
	mt_merge_init(&r->m, &cfg, r->branches);
	for (uint32_t i = 0; i < (c->n ? c->n : 2); i++)
		assert_int_equal(mt_merge_join(&r->m, i), 0);
}

static inline int rig_down(struct rig *r, int32_t n, unsigned how)
{
	return (int)mt_merge_down(&r->m,
				  &(struct mt_data){
					  .psn = rig_psn(r, n),
					  .begins = !(how & (MIDDLE | LAST)),
					  .ends = !(how & (MIDDLE | FIRST)),
					  .asks = how & ASKS,
					  .is_refused = how & READ,
				  },
				  &r->out);
}

static inline int rig_answer(struct rig *r, const struct rig_row *row)
{
	const bool is_ack = row->syndrome >> 5 == AETH_ACK;
	const struct mt_answer answer = {
		.psn = rig_psn(r, row->psn),
		.syndrome = row->syndrome,
		.msn = psn24_add(psn24_of(r->msn_base), row->psn + is_ack + row->msn_more),
	};

	return (int)mt_merge_answer(&r->m, row->branch, &answer, &r->out);
}

static inline int rig_do(struct rig *r, const struct rig_row *row)
{
	memset(&r->out, 0xff, sizeof r->out);
	if (row->op == RIG_DOWN)
		return rig_down(r, row->psn, row->how);
	if (row->op == RIG_ANSWER)
		return rig_answer(r, row);
	if (row->op == RIG_LEAVE)
		return mt_merge_leave(&r->m, row->branch, &r->out);
	if (row->op == RIG_EJECT)
		return mt_merge_eject(&r->m, row->branch, &r->out);
	r->out = (struct mt_out){0};
	return mt_merge_join(&r->m, row->branch);
}

static inline bool rig_row_holds(struct rig *r, const struct rig_row *row)
{
	int result = rig_do(r, row);
	const struct mt_answer *up = &r->out.answer;
	bool is_ack = row->up_syndrome >> 5 == AETH_ACK;
	psn24 msn = psn24_add(psn24_of(r->msn_base), row->up_psn + is_ack + row->up_msn_more);

	if (result == row->result && r->out.has_answer == row->goes_up &&
	    (!row->goes_up || (psn24_eq(up->psn, rig_psn(r, row->up_psn)) &&
			       up->syndrome == row->up_syndrome && psn24_eq(up->msn, msn))))
		return true;
	print_message("result %d, up %d: %d %02x msn %d\n", result, r->out.has_answer,
		      psn24_diff(up->psn, psn24_of(r->base)), up->syndrome,
		      psn24_diff(up->msn, psn24_of(r->msn_base)));
	return false;
}

/* Runs one script from a PSN on. */
static inline void rig_run(struct rig *r, const struct rig_case *c, uint32_t base)
{
	rig_init(r, c, base);
	for (uint32_t i = 0; i < RIG_ROWS && c->rows[i].op != RIG_END; i++)
		if (!rig_row_holds(r, &c->rows[i]))
			fail_msg("%s from %06x: row %u", c->name, base, i);
}

static inline void rig_run_all(const struct rig_case *cases, uint32_t n)
{
	static const uint32_t bases[] = {0, 100, 0x7ffffd, 0x800000, 0xfffffd, 0xffffff};
	struct rig r;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < sizeof bases / sizeof *bases; k++)
			rig_run(&r, &cases[i], bases[k]);
}

#endif
