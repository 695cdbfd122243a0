/* A struct control with something of everything in it, drawn by a seed. */
#ifndef WEFT_TESTS_SUPPORT_CONTROL_SAMPLE_H
#define WEFT_TESTS_SUPPORT_CONTROL_SAMPLE_H

#include <assert.h>
#include <stddef.h>

#include "base/prng.h"
#include "control/control.h"
#include "path/profile.h"

static inline uint8_t sample_phase(struct prng *p)
{
	return prng_chance(p, 1, 2) ? CONTROL_ONLINE : CONTROL_OFFLINE;
}

static inline void sample_format(struct prng *p, struct control_format *f)
{
	static const uint32_t bits[] = {32, 256, 16};

	f->phase = sample_phase(p);
	f->wide = (uint8_t)prng_below(p, 3);
	prng_fill(p, f->vendor, sizeof f->vendor);
	for (uint32_t left = bits[f->wide]; left > 0 && f->n_fields < PATH_FIELDS_MAX;) {
		uint8_t width = (uint8_t)prng_range(p, 1, left < 32 ? left : 32);

		if (prng_chance(p, 1, 10))
			break;
		f->width[f->n_fields++] = width;
		left -= width;
	}
}

static inline void sample_field(struct prng *p, struct path_field *f)
{
	uint64_t span, choices;

	f->width = (uint32_t)prng_range(p, 1, 8);
	span = UINT64_C(1) << f->width;
	f->init = (uint32_t)prng_below(p, span);
	f->mask = (uint32_t)prng_below(p, span);
	choices = UINT64_C(1) << __builtin_popcount(f->mask);
	f->max = (uint32_t)prng_below(p, choices);
	f->min = (uint32_t)prng_range(p, 0, f->max);
}

static inline void sample_profile(struct prng *p, struct control *c, struct control_profile *f)
{
	uint32_t count = (uint32_t)prng_range(p, 1, prng_chance(p, 1, 20) ? CONTROL_EVS : 64);

	f->phase = sample_phase(p);
	f->mode = c->n_formats ? (uint8_t)prng_below(p, 3) : CONTROL_AUTO;
	f->event_mask = (uint8_t)prng_below(p, 4);
	if (f->mode != CONTROL_AUTO)
		f->format_id = c->formats[prng_below(p, c->n_formats)].id;
	f->n_fields = (uint8_t)prng_range(p, 0, PATH_FIELDS_MAX);
	for (uint32_t i = 0; i < f->n_fields; i++)
		sample_field(p, &f->fields[i]);
	prng_fill(p, f->vendor, sizeof f->vendor);
	if (f->mode == CONTROL_GENERATED && f->phase == CONTROL_OFFLINE && prng_chance(p, 1, 2)) {
		f->count = count;
		return;
	}
	assert(control_set_count(c, f, count) == 0);
	f->min_active = (uint32_t)prng_range(p, 0, count);
	for (uint32_t i = 0; i < count; i++) {
		f->evs[i].port = (uint8_t)prng_range(p, 0, PATH_PORTS);
		f->evs[i].is_denied = prng_chance(p, 1, 4);
		if (f->evs[i].port)
			prng_fill(p, f->evs[i].val, sizeof f->evs[i].val);
	}
}

static inline void sample_cc(struct prng *p, struct control_cc *f)
{
	struct control_nscc *n = &f->nscc;

	f->phase = sample_phase(p);
	f->is_nscc = prng_chance(p, 1, 2);
	f->has_config = prng_chance(p, 1, 2);
	n->has_no_quick_adapt = prng_chance(p, 1, 2);
	n->qa_gate = (uint8_t)prng_u32(p);
	n->adjust_bytes = prng_u32(p);
	n->adjust_period_ns = prng_u32(p);
	n->base_rtt_ns = prng_u32(p);
	n->max_cwnd_bytes = prng_u32(p);
	n->qa_threshold_ns = prng_u32(p);
	n->target_delay_ns = prng_u32(p);
	n->eta = (float)prng_f64(p);
	n->fi = (float)prng_f64(p) * 1e30f;
	n->fi_scale = (float)prng_f64(p);
	n->gamma = (float)prng_f64(p);
	n->max_md_jump = (float)prng_f64(p);
	prng_fill(p, f->vendor, sizeof f->vendor);
}

/* With at most that many profiles of each kind; the caller's to free. */
static inline struct control *control_sample(struct prng *p, uint32_t most)
{
	struct control *c = control_new();
	uint32_t n = (uint32_t)prng_range(p, 0, most);

	assert(c != NULL);
	c->generation = prng_u64(p);
	c->disabled_ports = prng_u32(p);
	for (uint32_t i = 0; i < n; i++)
		sample_format(p, control_add_format(c, prng_u64(p)));
	n = (uint32_t)prng_range(p, 0, most);
	for (uint32_t i = 0; i < n; i++)
		sample_profile(p, c, control_add_profile(c, prng_u64(p)));
	n = (uint32_t)prng_range(p, 0, most);
	for (uint32_t i = 0; i < n; i++)
		sample_cc(p, control_add_cc(c, prng_u64(p)));
	return c;
}

#endif
