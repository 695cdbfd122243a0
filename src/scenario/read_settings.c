/* Settings that are data (base/setting.h), as a scenario has them. */
#include "scenario/reader.h"

__extension__ typedef unsigned __int128 u128;

#define MILLION 1000000u

/* A number in fixed point, from a decimal fraction: the nearest, and not the 0 of a default. */
static uint64_t read_fraction(struct conf *c, struct conf_node *map, const struct setting *s)
{
	uint64_t millionths = conf_get_number(c, map, s->name, UNITS_RATIO,
					      (struct conf_range){1, s->most * MILLION, 0});

	return (uint64_t)((((u128)millionths << s->bits) + MILLION / 2) / MILLION);
}

static uint64_t read_time(struct conf *c, struct conf_node *map, const struct setting *s)
{
	const struct conf_range range = {s->least * PSEC_NS, s->most * PSEC_NS,
					 s->fallback * PSEC_NS};

	return conf_get_number(c, map, s->name, UNITS_TIME, range) / PSEC_NS;
}

static uint64_t read_one(struct conf *c, struct conf_node *map, const struct setting *s)
{
	const struct conf_range range = {s->least, s->most, s->fallback};

	switch (s->unit) {
	case UNIT_BYTES: return conf_get_number(c, map, s->name, UNITS_BYTES, range);
	case UNIT_TIME: return read_time(c, map, s);
	case UNIT_RATE: return conf_get_number(c, map, s->name, UNITS_RATE, range);
	case UNIT_FRACTION: return read_fraction(c, map, s);
	case UNIT_FLAG: return conf_get_flag(c, map, s->name, s->fallback);
	case UNIT_NO_FLAG: return !conf_get_flag(c, map, s->name, !s->fallback);
	case UNIT_WORD: return conf_get_choice(c, map, s->name, s->words, (uint32_t)s->fallback);
	default: return conf_get_number(c, map, s->name, UNITS_COUNT, range);
	}
}

void read_settings(struct conf *c, struct conf_node *map, const struct settings *settings, void *to)
{
	for (uint32_t i = 0; i < settings->n; i++) {
		const struct setting *s = &settings->at[i];

		if (s->old)
			conf_refuse_old(c, map, s->old, s->name);
		setting_put(s, to, read_one(c, map, s));
	}
}
