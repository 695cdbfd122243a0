/* The fields of EV profiles, and the values that are made from them (MRC 9.4.1, 9.4.3). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mrcapi/ctl/ctl.h"
#include "path/profile.h"

static int check_alone(const struct path_field *field)
{
	const struct path_format one = {PATH_USID_SRH, field, 1};
	uint64_t combinations;

	return path_format_check(&one, &combinations) ? -EINVAL : 0;
}

/* A field of the format may be wider than the profile's, but not the other way. */
static int check_widths(const struct control_profile *p, const struct control_format *f)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < p->n_fields; i++)
		bits += p->fields[i].width;
	if (bits > ctl_mode_bits(f))
		return -E2BIG;
	if (f->n_fields == 0)
		return 0;
	if (p->n_fields > f->n_fields)
		return -EINVAL;
	for (uint32_t i = 0; i < p->n_fields; i++)
		if (p->fields[i].width > f->width[i])
			return -EINVAL;
	return 0;
}

int ctl_fields_check(struct control *c, const struct control_profile *p)
{
	const struct control_format *f = control_find_format(c, p->format_id);
	struct path_field fields[PATH_FIELDS_MAX];
	struct path_format shape = {PATH_USID_SRH, fields, 0};
	uint64_t combinations;

	if (p->n_fields == 0)
		return p->mode == CONTROL_GENERATED ? -EINVAL : 0;
	for (uint32_t i = 0; i < p->n_fields; i++) {
		int error = check_alone(&p->fields[i]);

		if (error)
			return error;
	}
	int error = check_widths(p, f);

	if (error || p->mode != CONTROL_GENERATED)
		return error;
	/* All that is left to be wrong: more combinations than a number of 32 bits can name. */
	shape.n_fields = control_shape(c, p, fields);
	return path_format_check(&shape, &combinations) ? -E2BIG : 0;
}

int ctl_fields_set(struct ctl_edit *e, struct control_profile *p,
		   const struct mrc_ctl_ev_profile_attr *a)
{
	int n = a->ev_fields_op.field_count;

	if (p->mode == CONTROL_AUTO || n < 0 || (n > 0 && !a->ev_fields_op.fields))
		return -EINVAL;
	if ((uint32_t)n > PATH_FIELDS_MAX)
		return -E2BIG;
	memset(p->fields, 0, sizeof p->fields);
	p->n_fields = (uint8_t)n;
	for (int i = 0; i < n; i++) {
		const struct mrc_ctl_ev_field *from = &a->ev_fields_op.fields[i];

		p->fields[i] = (struct path_field){
			.width = from->width,
			.init = from->init_val,
			.mask = from->mask,
			.min = from->min_val,
			.max = from->max_val,
		};
	}
	return ctl_fields_check(e->c, p);
}

int ctl_fields_query(const struct control_profile *p, struct mrc_ctl_ev_profile_attr *a)
{
	int room = a->ev_fields_op.field_count;

	if (room < 0 || (p->n_fields > 0 && room > 0 && !a->ev_fields_op.fields))
		return -EINVAL;
	a->ev_fields_op.field_count = p->n_fields;
	if (room < p->n_fields)
		return -E2BIG;
	for (uint32_t i = 0; i < p->n_fields; i++) {
		const struct path_field *from = &p->fields[i];

		a->ev_fields_op.fields[i] = (struct mrc_ctl_ev_field){
			.width = from->width,
			.init_val = from->init,
			.min_val = from->min,
			.max_val = from->max,
			.mask = from->mask,
		};
	}
	return 0;
}

/* An EV of the path room as a value: wide ones are the number of a combination there. */
static void fill(struct control_ev *to, const struct path_ev *ev, const struct path_format *f)
{
	*to = (struct control_ev){.port = (uint8_t)(ev->port + 1)};
	if (f->encoding == PATH_USID || f->encoding == PATH_USID_SRH) {
		path_format_value(f, ev->value, to->val);
		return;
	}
	for (uint32_t i = 0; i < 4; i++)
		to->val[i] = (uint8_t)(ev->value >> (24 - 8 * i));
}

/* The id is the seed: a profile that is put online again has the values it had. */
int ctl_draw(struct ctl_edit *e, struct control_profile *p)
{
	const struct path_wanted wanted = {p->count, (1u << e->device->n_ports) - 1, e->id};
	struct path_field fields[PATH_FIELDS_MAX];
	struct path_format shape = {PATH_STRUCTURED, fields, 0};
	struct path_profile drawn;
	void *memory = malloc(path_profile_size(p->count));
	enum path_error bad;
	int error = 0;

	if (!memory)
		return -ENOMEM;
	if (p->mode == CONTROL_AUTO) {
		bad = path_profile_auto(&drawn, memory, &wanted);
	} else {
		shape.encoding = control_encoding(control_find_format(e->c, p->format_id));
		shape.n_fields = control_shape(e->c, p, fields);
		bad = path_profile_generated(&drawn, memory, &shape, &wanted);
	}
	if (bad)
		error = -EINVAL;
	else if (drawn.set.n != p->count && control_set_count(e->c, p, drawn.set.n))
		error = -ENOMEM;
	for (uint32_t i = 0; !error && i < p->count; i++)
		fill(&p->evs[i], &drawn.set.evs[i], &shape);
	if (p->min_active > p->count)
		p->min_active = p->count;
	free(memory);
	return error;
}
