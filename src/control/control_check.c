#include <float.h>
#include <string.h>

#include "control/control.h"
#include "path/profile.h"

static bool is_phase(uint8_t phase)
{
	return phase == CONTROL_OFFLINE || phase == CONTROL_ONLINE;
}

static uint32_t bits_of(uint8_t wide)
{
	static const uint8_t encodings[] = {
		[CONTROL_STRUCTURED] = PATH_STRUCTURED,
		[CONTROL_SRV6] = PATH_USID_SRH,
		[CONTROL_UDP] = PATH_ECMP,
	};

	return wide < sizeof encodings ? path_encoding_bits(encodings[wide]) : 0;
}

static bool is_good_format(const struct control_format *f)
{
	uint32_t bits = 0;

	if (!is_phase(f->phase) || f->wide > CONTROL_UDP || f->n_fields > PATH_FIELDS_MAX)
		return false;
	for (uint32_t i = 0; i < f->n_fields; i++) {
		if (f->width[i] == 0 || f->width[i] > PATH_FIELD_WIDTH)
			return false;
		bits += f->width[i];
	}
	return bits <= bits_of(f->wide);
}

/* What expanding a value needs. The bounds are of those that generate. */
static bool is_good_field(const struct path_field *f, uint8_t mode)
{
	if (f->width == 0 || f->width > PATH_FIELD_WIDTH)
		return false;
	uint64_t span = UINT64_C(1) << f->width;

	if (f->init >= span || f->mask >= span)
		return false;
	return mode != CONTROL_GENERATED ||
	       (f->min <= f->max && f->max < UINT64_C(1) << __builtin_popcount(f->mask));
}

static bool is_good_ev(const struct control_ev *ev)
{
	static const uint8_t none[PATH_VALUE_BYTES];

	return ev->port <= PATH_PORTS && (ev->port > 0 || !memcmp(ev->val, none, sizeof none));
}

static bool has_format(const struct control *c, uint64_t id)
{
	for (uint32_t i = 0; i < c->n_formats; i++)
		if (c->formats[i].id == id)
			return true;
	return false;
}

static bool has_good_values(const struct control_profile *p)
{
	/* Those of a generated one are drawn when it comes online. */
	if (!p->evs)
		return p->mode == CONTROL_GENERATED && p->phase == CONTROL_OFFLINE;
	for (uint32_t i = 0; i < p->count; i++)
		if (!is_good_ev(&p->evs[i]))
			return false;
	return true;
}

static bool is_good_profile(const struct control *c, const struct control_profile *p)
{
	uint32_t bits = 0;

	if (!is_phase(p->phase) || p->mode > CONTROL_GENERATED || p->event_mask > 3 ||
	    p->n_fields > PATH_FIELDS_MAX)
		return false;
	if (p->count == 0 || p->count > CONTROL_EVS || p->min_active > p->count)
		return false;
	if (p->mode != CONTROL_AUTO && !has_format(c, p->format_id))
		return false;
	for (uint32_t i = 0; i < p->n_fields; i++) {
		if (!is_good_field(&p->fields[i], p->mode))
			return false;
		bits += p->fields[i].width;
	}
	return bits <= 8 * PATH_VALUE_BYTES && has_good_values(p);
}

/* Finite and not negative; what is not a number is neither. */
static bool is_amount(float f)
{
	return f >= 0 && f <= FLT_MAX;
}

static bool is_good_cc(const struct control_cc *p)
{
	const struct control_nscc *n = &p->nscc;

	return is_phase(p->phase) && is_amount(n->eta) && is_amount(n->fi) &&
	       is_amount(n->fi_scale) && is_amount(n->gamma) && is_amount(n->max_md_jump);
}

/* Whether an id comes once among the first n. */
static bool are_ids_apart(const struct control *c)
{
	for (uint32_t i = 0; i < CONTROL_PROFILES; i++)
		for (uint32_t k = 0; k < i; k++)
			if ((i < c->n_formats && c->formats[i].id == c->formats[k].id) ||
			    (i < c->n_profiles && c->profiles[i].id == c->profiles[k].id) ||
			    (i < c->n_ccs && c->ccs[i].id == c->ccs[k].id))
				return false;
	return true;
}

bool control_is_whole(const struct control *c)
{
	if (c->n_formats > CONTROL_PROFILES || c->n_profiles > CONTROL_PROFILES ||
	    c->n_ccs > CONTROL_PROFILES)
		return false;
	for (uint32_t i = 0; i < c->n_formats; i++)
		if (!is_good_format(&c->formats[i]))
			return false;
	for (uint32_t i = 0; i < c->n_profiles; i++)
		if (!is_good_profile(c, &c->profiles[i]))
			return false;
	for (uint32_t i = 0; i < c->n_ccs; i++)
		if (!is_good_cc(&c->ccs[i]))
			return false;
	return are_ids_apart(c) && control_count_evs(c) <= CONTROL_EVS_ALL;
}
