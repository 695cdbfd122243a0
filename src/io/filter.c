#include "io/filter.h"

#include <assert.h>

uint16_t filter_step(struct filter *f, uint16_t code, uint32_t k)
{
	assert(f->n < FILTER_MOST);
	f->at[f->n] = (struct sock_filter){.code = code, .k = k};
	return f->n++;
}

uint16_t filter_jump_if(struct filter *f, uint32_t k)
{
	return filter_step(f, BPF_JMP | BPF_JEQ | BPF_K, k);
}

uint16_t filter_jump(struct filter *f)
{
	return filter_step(f, BPF_JMP | BPF_JA, 0);
}

void filter_land(struct filter *f, uint16_t from)
{
	uint32_t steps = f->n - from - 1u;

	if (BPF_OP(f->at[from].code) == BPF_JA) {
		f->at[from].k = steps;
		return;
	}
	assert(steps <= UINT8_MAX);
	f->at[from].jt = (uint8_t)steps;
}

void filter_require(struct filter *f, uint32_t k, uint32_t otherwise)
{
	f->at[filter_jump_if(f, k)].jt = 1;
	filter_step(f, BPF_RET | BPF_K, otherwise);
}

/* Jumps, if a word does not match, to a step that is still to come; its place. */
static uint16_t leave_unless(struct filter *f, const struct carrier_match *m)
{
	filter_step(f, BPF_LD | BPF_W | BPF_IND, m->at);
	if (m->mask != UINT32_MAX)
		filter_step(f, BPF_ALU | BPF_AND | BPF_K, m->mask);
	f->at[filter_jump_if(f, m->value)].jt = 1;
	return filter_jump(f);
}

/* The tag in a number. */
static void load_tag(struct filter *f, const struct carrier *c, const struct carrier_bits *b)
{
	uint32_t shift = b->shift + b->width - c->tag_bits;

	filter_step(f, BPF_LD | BPF_W | BPF_IND, b->at);
	if (shift)
		filter_step(f, BPF_ALU | BPF_RSH | BPF_K, shift);
	filter_step(f, BPF_ALU | BPF_AND | BPF_K, (1u << c->tag_bits) - 1);
}

void filter_owner(struct filter *f, const struct carrier *c, const struct filter_ends *ends)
{
	uint16_t found[CARRIER_RULES], n_found = 0;
	bool is_for_all = false;

	for (uint32_t i = 0; i < c->n_rules && !is_for_all; i++) {
		const struct carrier_rule *rule = &c->rules[i];
		uint16_t misses[CARRIER_MATCHES];

		for (uint32_t k = 0; k < rule->n_match; k++)
			misses[k] = leave_unless(f, &rule->match[k]);
		is_for_all = rule->n_match == 0;
		if (rule->owner == CARRIER_NUMBER) {
			load_tag(f, c, &rule->bits);
			found[n_found++] = filter_jump(f);
		} else {
			filter_step(f, BPF_RET | BPF_K,
				    rule->owner == CARRIER_ANYONE ? ends->anyone : ends->unknown);
		}
		for (uint32_t k = 0; k < rule->n_match; k++)
			filter_land(f, misses[k]);
	}
	if (!is_for_all)
		filter_step(f, BPF_RET | BPF_K, ends->unknown);
	for (uint32_t i = 0; i < n_found; i++)
		filter_land(f, found[i]);
}
