#include "engine_seeds.h"

#include "engine_target.h"

/* One end's packets as the other may get them, and time for both. */
static void say(struct records *r, struct driven *from, struct driven *to, struct talk fate)
{
	to->s.now += 256;
	fate.from = from->s.e;
	fate.to = to->s.e;
	fate.now = from->s.now;
	fate.heard = to->s.now;
	records_converse(r, &fate);
	records_add(r, RECORD_PULL, 0, NULL);
	records_add(r, RECORD_WAIT, 1, NULL);
}

/* Requests as the target may get them, then the answers to its own; what is lost comes later. */
void engine_seeds_write(const struct engine_target *target, const char *name, seed_write *write)
{
	static const struct talk fates[] = {{.flags = 0},
					    {.flags = RECORD_IS_MARKED},
					    {.flags = RECORD_IS_TRIMMED},
					    {.except = 1},
					    {.except = 10}};
	static struct records there, back;

	for (uint32_t i = 0; i < sizeof fates / sizeof fates[0]; i++) {
		struct talk fate = fates[i];
		struct driven a = {.s.now = 0}, b = {.s.now = 0};

		driven_begin(&a, target);
		driven_begin(&b, target);
		there.len = back.len = 0;
		for (uint32_t k = 0; k < 3; k++) {
			say(&there, &a, &b, fate);
			say(&back, &b, &a, fate);
			fate.except = 0;
			a.s.now += k * 20000;
		}
		for (uint8_t what = 0; what < 8; what++)
			records_add(&back, RECORD_POST, what, NULL);
		records_add(&back, RECORD_WAIT, 255, NULL);
		records_add(&back, RECORD_PULL, 0, NULL);
		write(name, 2 * i, (struct cspan){there.bytes, there.len});
		write(name, 2 * i + 1, (struct cspan){back.bytes, back.len});
		driven_end(&a);
		driven_end(&b);
	}
}
