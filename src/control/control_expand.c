/* What the values of a profile are on the wire. */
#include <assert.h>
#include <string.h>

#include "control/control.h"

enum path_encoding control_encoding(const struct control_format *f)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < f->n_fields; i++)
		bits += f->width[i];
	switch (f->wide) {
	case CONTROL_UDP: return PATH_ECMP;
	case CONTROL_SRV6: return bits > path_encoding_bits(PATH_USID) ? PATH_USID_SRH : PATH_USID;
	default: return PATH_STRUCTURED;
	}
}

/* NULL: the profile has none. */
static const struct control_format *format_of(const struct control *c,
					      const struct control_profile *p)
{
	if (p->mode == CONTROL_AUTO)
		return NULL;
	for (uint32_t i = 0; i < c->n_formats; i++)
		if (c->formats[i].id == p->format_id)
			return &c->formats[i];
	return NULL;
}

uint32_t control_shape(const struct control *c, const struct control_profile *p,
		       struct path_field fields[PATH_FIELDS_MAX])
{
	const struct control_format *f = format_of(c, p);

	if (p->n_fields == 0)
		return 0;
	memset(fields, 0, PATH_FIELDS_MAX * sizeof *fields);
	memcpy(fields, p->fields, p->n_fields * sizeof *fields);
	if (!f || f->n_fields < p->n_fields)
		return p->n_fields;
	for (uint32_t i = 0; i < f->n_fields; i++)
		fields[i].width = f->width[i];
	return f->n_fields;
}

void control_expand(const struct control *c, const struct control_profile *p, uint32_t i,
		    uint8_t value[PATH_VALUE_BYTES])
{
	struct path_field fields[PATH_FIELDS_MAX];
	struct path_format f = {PATH_USID_SRH, fields, 0};

	assert(i < p->count);
	if (p->mode == CONTROL_EXPLICIT && p->evs[i].port != 0)
		f.n_fields = control_shape(c, p, fields);
	if (f.n_fields == 0)
		memcpy(value, p->evs[i].val, PATH_VALUE_BYTES);
	else
		path_format_expand(&f, p->evs[i].val, value);
}
