#include "sim/impair.h"

#include <assert.h>
#include <stdlib.h>

#define ALL        UINT32_C(1000000) /* millionths */
#define FLIPS_MAX  64u
#define FORGES_MAX 3u  /* fields */
#define FIELD_MAX  4u  /* bytes */
#define FIELDS_END 64u /* of what is carried: no transport's headers reach further */

enum { STREAM_FIRST = 100 };

/* One fault on one port, in the list of those that look at the port's packets, by number. */
struct impair {
	struct impair *next;
	struct impair_plan *plan;
	uint32_t fault;
};

struct impair_fault {
	struct fault f;
	struct prng random;
	struct impair ends[2]; /* a gray link is gray in both directions */
	uint32_t step;         /* changes of state so far; an odd number: it is on */
	uint32_t burst_left;
};

struct impair_plan {
	struct impair_fault *faults;
	struct impair_count *counts;
	uint32_t n, timer;
	/* Faults that hold a port down or halted now, and the sum of those that skew a host's
	 * clock: what several faults do ends with the last of them. */
	uint32_t *downs, *halts;
	int32_t *skews;
};

/* Bytes [from, end) of a frame. */
struct stretch {
	uint32_t from, end;
};

/* One packet on its way past the faults of a port. */
struct trip {
	struct sim *s;
	uint32_t port;
	psec at;
};

static bool is_on_packets(uint8_t kind)
{
	static const bool answers[FAULT_KIND_COUNT] = {
#define ACTS_PACKET            true
#define ACTS_LINK              false
#define ACTS_NODE              false
#define ANSWER(id, name, acts) [FAULT_##id] = ACTS_##acts,
		FAULT_KINDS(ANSWER)
#undef ANSWER
#undef ACTS_NODE
#undef ACTS_LINK
#undef ACTS_PACKET
	};

	return answers[kind];
}

static void list_add(struct sim *s, uint32_t port, struct impair *entry)
{
	struct impair **at = &s->ports[port].impair;

	while (*at && (*at)->fault < entry->fault)
		at = &(*at)->next;
	entry->next = *at;
	*at = entry;
	sim_port_set_impaired(s, port, true);
}

static void list_remove(struct sim *s, uint32_t port, const struct impair *entry)
{
	struct impair **at = &s->ports[port].impair;

	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	sim_port_set_impaired(s, port, s->ports[port].impair != NULL);
}

static void watch(struct sim *s, struct impair_fault *fault, bool is_on)
{
	uint32_t ports[2] = {fault->f.port, s->ports[fault->f.port].peer};

	for (uint32_t i = 0; i < (fault->f.kind == FAULT_GRAY ? 2u : 1u); i++) {
		if (is_on)
			list_add(s, ports[i], &fault->ends[i]);
		else
			list_remove(s, ports[i], &fault->ends[i]);
	}
}

/* Counts one reason more or less; true when that was the first or the last. */
static bool count_reason(uint32_t *reasons, bool is_on)
{
	assert(is_on || *reasons > 0);
	if (is_on)
		return (*reasons)++ == 0;
	return --*reasons == 0;
}

static void set_down(struct impair_plan *plan, struct sim *s, uint32_t port, bool is_down)
{
	if (count_reason(&plan->downs[port], is_down))
		sim_port_set_down(s, port, is_down);
}

static void set_link_down(struct impair_plan *plan, struct sim *s, uint32_t port, bool is_down)
{
	set_down(plan, s, port, is_down);
	set_down(plan, s, s->ports[port].peer, is_down);
}

static void set_plane_down(struct impair_plan *plan, struct sim *s, uint32_t plane, bool is_down)
{
	const struct topology_port *ports = s->cfg.topology->ports;

	for (uint32_t i = 0; i < s->n_ports; i++)
		if (ports[i].plane == plane || ports[ports[i].peer].plane == plane)
			set_down(plan, s, i, is_down);
}

static void set_switch_down(struct impair_plan *plan, struct sim *s, uint32_t number, bool is_down)
{
	const struct topology_node *node = &s->cfg.topology->nodes[number];

	if (is_down)
		sim_switch_clear(s, number);
	for (uint32_t i = 0; i < node->n_ports; i++)
		set_link_down(plan, s, node->first_port + i, is_down);
}

static void set_skew(struct impair_plan *plan, struct sim *s, const struct fault *f, bool is_on)
{
	int32_t ppm = (int32_t)f->ppm * f->sign;

	plan->skews[f->node] += is_on ? ppm : -ppm;
	ppm = plan->skews[f->node];
	/* No clock is that wrong, however many faults there are. */
	if (ppm > SIM_SKEW_MAX)
		ppm = SIM_SKEW_MAX;
	if (ppm < -SIM_SKEW_MAX)
		ppm = -SIM_SKEW_MAX;
	sim_host_skew(s, f->node, ppm);
}

/* When change number step of a fault is due; PSEC_NEVER when there is no such. Packets that leave
 * at the very moment must find the fault in place, so it comes just before: impair_send looks at
 * the clock. */
static psec change_at(const struct fault *f, uint32_t step)
{
	if (f->kind == FAULT_FLAP)
		return step < 2 * f->count ? f->from_ps + step * f->amount_ps : PSEC_NEVER;
	if (step == 0)
		return is_on_packets(f->kind) && f->from_ps > 0 ? f->from_ps - 1 : f->from_ps;
	if (step > 1 || f->kind == FAULT_RESTART || f->kind == FAULT_JUMP)
		return PSEC_NEVER;
	return f->until_ps;
}

static void change(struct impair_plan *plan, struct sim *s, uint32_t i)
{
	struct impair_fault *fault = &plan->faults[i];
	const struct fault *f = &fault->f;
	bool is_on = fault->step++ % 2 == 0;

	if (is_on_packets(f->kind)) {
		watch(s, fault, is_on);
		return;
	}
	plan->counts[i].touched++;
	switch (f->kind) {
	case FAULT_FLAP:
	case FAULT_DOWN: set_link_down(plan, s, f->port, is_on); break;
	case FAULT_PLANE: set_plane_down(plan, s, f->node, is_on); break;
	case FAULT_PAUSE:
		if (count_reason(&plan->halts[f->port], is_on))
			sim_port_set_halted(s, f->port, is_on);
		break;
	case FAULT_REBOOT: set_switch_down(plan, s, f->node, is_on); break;
	case FAULT_RESTART: sim_host_restart(s, f->node); break;
	case FAULT_SKEW: set_skew(plan, s, f, is_on); break;
	case FAULT_JUMP: sim_host_jump(s, f->node, f->amount_ps / PSEC_NS); break;
	default: assert(false);
	}
}

static void arm(struct impair_plan *plan, struct sim *s)
{
	psec next = PSEC_NEVER;

	for (uint32_t i = 0; i < plan->n; i++) {
		psec at = change_at(&plan->faults[i].f, plan->faults[i].step);

		next = at < next ? at : next;
	}
	sim_timer_arm(s, plan->timer, next);
}

bool impair_timer(struct impair_plan *plan, struct sim *s, uint32_t timer)
{
	if (timer != plan->timer)
		return false;
	/* What begins goes before what ends at the same moment: a link that one fault hands to the
	 * next does not come up in between. */
	for (uint32_t ends = 0; ends < 2; ends++)
		for (uint32_t i = 0; i < plan->n; i++) {
			const struct impair_fault *fault = &plan->faults[i];

			if (fault->step % 2 == ends &&
			    change_at(&fault->f, fault->step) == sim_now(s))
				change(plan, s, i);
		}
	arm(plan, s);
	return true;
}

static bool get_memory(struct impair_plan *plan, const struct sim *s, uint32_t n)
{
	/* calloc may answer NULL for nothing. */
	plan->faults = calloc(n + 1, sizeof *plan->faults);
	plan->counts = calloc(n + 1, sizeof *plan->counts);
	plan->downs = calloc(s->n_ports + 1, sizeof *plan->downs);
	plan->halts = calloc(s->n_ports + 1, sizeof *plan->halts);
	plan->skews = calloc(s->n_hosts + 1, sizeof *plan->skews);
	return plan->faults && plan->counts && plan->downs && plan->halts && plan->skews;
}

struct impair_plan *impair_plan_new(struct sim *s, const struct fault *faults, uint32_t n,
				    uint64_t seed)
{
	struct impair_plan *plan = calloc(1, sizeof *plan);

	if (!plan)
		return NULL;
	plan->timer = UINT32_MAX;
	if (get_memory(plan, s, n))
		plan->timer = sim_timer_add(s);
	if (plan->timer == UINT32_MAX) {
		impair_plan_free(plan);
		return NULL;
	}
	plan->n = n;
	for (uint32_t i = 0; i < n; i++) {
		struct impair_fault *fault = &plan->faults[i];

		assert(!fault_problem(&faults[i], s->cfg.topology));
		fault->f = faults[i];
		fault->ends[0] = fault->ends[1] = (struct impair){NULL, plan, i};
		prng_init(&fault->random, seed, STREAM_FIRST + (uint64_t)i);
		/* Work posted before the run sends at once. */
		if (is_on_packets(fault->f.kind) && change_at(&fault->f, 0) <= sim_now(s))
			change(plan, s, i);
	}
	arm(plan, s);
	return plan;
}

void impair_plan_free(struct impair_plan *plan)
{
	if (!plan)
		return;
	free(plan->faults);
	free(plan->counts);
	free(plan->downs);
	free(plan->halts);
	free(plan->skews);
	free(plan);
}

const struct impair_count *impair_counts(const struct impair_plan *plan)
{
	return plan->counts;
}

/* Acknowledgements and what a switch trimmed: both are small and urgent. */
static bool is_control(const struct sim *s, const struct packet *p)
{
	return p->dscp == s->cfg.names.control || net_trim_of(&s->net.trims, p->dscp) != NET_WHOLE;
}

static bool is_meant(const struct sim *s, const struct fault *f, const struct packet *p)
{
	if (sim_now(s) < f->from_ps || sim_now(s) >= f->until_ps)
		return false;
	return f->match == FAULT_ANY || (f->match == FAULT_CONTROL) == is_control(s, p);
}

static bool is_hit(struct impair_fault *fault)
{
	const struct fault *f = &fault->f;

	if (f->kind != FAULT_BURST)
		return prng_chance(&fault->random, f->ppm, ALL);
	if (fault->burst_left == 0 && prng_chance(&fault->random, f->ppm, ALL))
		fault->burst_left = f->count;
	if (fault->burst_left == 0)
		return false;
	fault->burst_left--;
	return true;
}

/* Flips n different bits: Floyd's sample, one draw each. */
static void flip_bits(struct prng *random, struct packet *p, struct stretch in, uint32_t n)
{
	uint32_t bits = 8 * (in.end - in.from), chosen[FLIPS_MAX];

	n = n < bits ? n : bits;
	n = n < FLIPS_MAX ? n : FLIPS_MAX;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t last = bits - n + i;
		uint32_t bit = (uint32_t)prng_below(random, last + 1);

		for (uint32_t k = 0; k < i; k++)
			if (chosen[k] == bit) {
				bit = last;
				break;
			}
		chosen[i] = bit;
		*packet_byte(p, in.from + bit / 8) ^= (uint8_t)(1u << bit % 8);
	}
}

/* Where the carried bytes lie that a seal's end guards; false when there are none. */
static bool find_transport(const struct packet *p, const struct carriers *known,
			   struct stretch *found)
{
	struct packet_places places;

	if (!packet_find(p, known, &places))
		return false;
	uint32_t tail = packet_seal(p, known, places.transport)->tail_bytes;

	found->from = places.transport;
	found->end = p->len - (p->is_cut ? 0 : tail);
	return found->from < found->end;
}

/* True when the packet was changed. */
static bool corrupt(struct impair_fault *fault, struct packet *p, const struct carriers *known)
{
	struct stretch in = {0, p->len};

	if (fault->f.crc == FAULT_CRC_ALL_REPAIRED && !find_transport(p, known, &in))
		return false;
	flip_bits(&fault->random, p, in, fault->f.count);
	if (fault->f.crc == FAULT_CRC_ALL_REPAIRED)
		packet_repair(p, known);
	if (fault->f.crc == FAULT_CRC_BAD)
		p->is_fcs_bad = true;
	return true;
}

/* The cable's end of the frame is gone but its FCS is right: parsers must see for themselves. */
static bool truncate(struct impair_fault *fault, struct packet *p)
{
	if (p->len < 2)
		return false;
	p->len = (uint32_t)prng_range(&fault->random, 1, p->len - 1);
	p->is_cut = true;
	if (p->len <= p->stored) {
		p->stored = (uint16_t)p->len;
		packet_drop_body(p);
	}
	return true;
}

/* A field to forge: one of the carrier's least header, or any two or four bytes of what follows,
 * where lengths, addresses and sequence numbers of every transport stand. */
struct field {
	uint32_t at, bytes;
};

/* One that fits into so many bytes, at least 1. */
static struct field draw_field(struct prng *random, const struct carrier *c, uint32_t room)
{
	uint64_t i = prng_below(random, 2u * c->n_fields);
	const struct field first = {c->fields[0].at, c->fields[0].bytes};
	struct field field;

	if (i < c->n_fields) {
		field = (struct field){c->fields[i].at, c->fields[i].bytes};
	} else {
		uint32_t bytes = prng_chance(random, 1, 2) ? 2 : FIELD_MAX;
		uint64_t place = prng_below(random, (FIELDS_END - c->head_least) / bytes);

		field = (struct field){c->head_least + bytes * (uint32_t)place, bytes};
	}
	return field.at + field.bytes <= room ? field : first;
}

/* Values that are near, extreme or anything; never the same. */
static uint32_t draw_value(struct prng *random, uint32_t was, uint32_t most)
{
	uint32_t value;

	switch (prng_below(random, 5)) {
	case 0: value = 0; break;
	case 1: value = most; break;
	case 2: value = was + (uint32_t)prng_range(random, 1, 16); break;
	case 3: value = was - (uint32_t)prng_range(random, 1, 16); break;
	default: value = prng_u32(random); break;
	}
	value &= most;
	return value == was ? was ^ 1 : value;
}

static void forge_field(struct prng *random, struct packet *p, uint32_t from, struct field field)
{
	uint32_t at = from + field.at, was = 0, most = 0;

	for (uint32_t i = 0; i < field.bytes; i++) {
		was = was << 8 | *packet_byte(p, at + i);
		most = most << 8 | UINT8_MAX;
	}
	uint32_t value = draw_value(random, was, most);

	for (uint32_t i = field.bytes; i-- > 0; value >>= 8)
		*packet_byte(p, at + i) = (uint8_t)value;
}

/* Whoever forges a packet computes its checksums. The first field stays changed: no later one
 * covers it. */
static void forge(struct impair_fault *fault, struct packet *p, const struct carriers *known,
		  struct stretch in)
{
	const struct carrier *c = known->use[p->carrier].is;
	struct field first = draw_field(&fault->random, c, in.end - in.from);

	forge_field(&fault->random, p, in.from, first);
	for (uint64_t n = prng_below(&fault->random, FORGES_MAX); n > 0; n--) {
		struct field more = draw_field(&fault->random, c, in.end - in.from);

		if (more.at + more.bytes <= first.at || first.at + first.bytes <= more.at)
			forge_field(&fault->random, p, in.from, more);
	}
	packet_repair(p, known);
}

enum fate { UNTOUCHED, TOUCHED, GONE };

static enum fate lose(const struct trip *trip, struct packet *p, uint32_t reason)
{
	sim_drop(trip->s, &trip->s->ports[trip->port], p, reason);
	return GONE;
}

static enum fate damage(const struct trip *trip, struct impair_fault *fault, struct packet *p)
{
	const struct carriers *known = &trip->s->net.carriers;

	if (!packet_make_real(p, known))
		return lose(trip, p, SIM_DROP_NO_HOST_MEMORY);
	bool is_changed =
		fault->f.kind == FAULT_CORRUPT ? corrupt(fault, p, known) : truncate(fault, p);

	return is_changed ? TOUCHED : UNTOUCHED;
}

/* What a fault that makes no copies does to a packet that it is meant for. Every kind with a chance
 * draws once for each of these. */
static enum fate act(struct trip *trip, struct impair_fault *fault, struct packet *p)
{
	const struct fault *f = &fault->f;

	switch (f->kind) {
	case FAULT_BLACK_HOLE: return lose(trip, p, SIM_DROP_BLACK_HOLE);
	case FAULT_DELAY: trip->at += f->amount_ps; return TOUCHED;
	case FAULT_REORDER:
		if (!is_hit(fault))
			return UNTOUCHED;
		trip->at += prng_range(&fault->random, 1, f->amount_ps);
		return TOUCHED;
	case FAULT_CORRUPT:
	case FAULT_TRUNCATE: return is_hit(fault) ? damage(trip, fault, p) : UNTOUCHED;
	default: return is_hit(fault) ? lose(trip, p, SIM_DROP_FAULT) : UNTOUCHED;
	}
}

static enum fate meet(struct trip *trip, const struct impair *entry, struct packet *p)
{
	struct impair_fault *fault = &entry->plan->faults[entry->fault];

	if (!is_meant(trip->s, &fault->f, p))
		return UNTOUCHED;
	enum fate fate = act(trip, fault, p);

	entry->plan->counts[entry->fault].touched += fate != UNTOUCHED;
	return fate;
}

static bool makes_copies(const struct impair *entry)
{
	uint8_t kind = entry->plan->faults[entry->fault].f.kind;

	return kind == FAULT_DUPLICATE || kind == FAULT_FORGE;
}

/* A copy arrives just behind its packet, unless a later fault gets it. It is not copied again, or
 * they would double with every fault. */
static void follow(const struct trip *trip, const struct impair *entry, struct packet *copy)
{
	struct trip own = {trip->s, trip->port, trip->at + 1};

	while ((entry = entry->next))
		if (!makes_copies(entry) && meet(&own, entry, copy) == GONE)
			return;
	sim_send_late(own.s, own.port, copy, own.at);
}

/* The copy that a fault makes of a packet; NULL when there is nothing to forge, or no memory. */
static struct packet *copy_of(struct sim *s, struct impair_fault *fault, const struct packet *p)
{
	const struct carriers *known = &s->net.carriers;
	bool is_forged = fault->f.kind == FAULT_FORGE;
	struct stretch in;

	if (is_forged && !find_transport(p, known, &in))
		return NULL;
	struct packet *copy = packet_copy(&s->packets, p);

	if (!copy || !is_forged)
		return copy;
	if (!packet_make_real(copy, known)) {
		packet_put(&s->packets, copy);
		return NULL;
	}
	forge(fault, copy, known, in);
	return copy;
}

static void make_copy(const struct trip *trip, const struct impair *entry, const struct packet *p)
{
	struct impair_fault *fault = &entry->plan->faults[entry->fault];

	if (!is_meant(trip->s, &fault->f, p) || !is_hit(fault))
		return;
	struct packet *copy = copy_of(trip->s, fault, p);

	if (!copy)
		return;
	trip->s->totals.copied++;
	entry->plan->counts[entry->fault].touched++;
	follow(trip, entry, copy);
}

bool impair_send(struct sim *s, uint32_t port, struct packet *p, psec at)
{
	struct trip trip = {s, port, at};

	for (const struct impair *entry = s->ports[port].impair; entry; entry = entry->next) {
		if (makes_copies(entry))
			make_copy(&trip, entry, p);
		else if (meet(&trip, entry, p) == GONE)
			return false;
	}
	if (trip.at == at)
		return true;
	sim_send_late(s, port, p, trip.at);
	return false;
}
