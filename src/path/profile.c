#include "path/profile.h"

#include <assert.h>
#include <string.h>

#include "base/prng.h"
#include "path/shuffle.h"

#define DEFAULT_EVS UINT32_C(128)
#define PORT_BITS   14u /* source ports from AUTO_FIRST on: IANA's dynamic range */
#define AUTO_FIRST  UINT32_C(0xc000)
#define LABEL_MASK  UINT32_C(0xffff) /* of a value, the bits of the flow label */

/* A set to be drawn: combinations 0 .. n - 1 of something, some of them in some order. */
struct draw {
	uint64_t n;
	uint32_t bits, key, at;
};

static uint32_t words_of(uint32_t n)
{
	return (n + 63) / 64;
}

/* Twice as many places as EVs at least, so that a search is short. */
static uint32_t index_places(uint32_t n)
{
	return UINT32_C(2) << shuffle_bits(n);
}

uint32_t path_profile_default(uint32_t ports)
{
	uint32_t n_ports = (uint32_t)__builtin_popcount(ports & ((1u << PATH_PORTS) - 1));

	return n_ports ? (DEFAULT_EVS + n_ports - 1) / n_ports * n_ports : DEFAULT_EVS;
}

size_t path_profile_size(uint32_t n)
{
	if (n == 0)
		n = DEFAULT_EVS + PATH_PORTS;
	return n * sizeof(struct path_ev) + words_of(n) * sizeof(uint64_t) +
	       index_places(n) * sizeof(uint16_t);
}

static uint32_t place_of(const struct path_profile *f, uint32_t ev)
{
	return (ev * UINT32_C(0x9e3779b1) >> 16) & f->index_mask;
}

/* Copies are left out: else a profile of copies only would search through all of them each time. */
static void build_index(struct path_profile *f)
{
	for (uint32_t ev = 0; ev < f->set.n; ev++) {
		const struct path_ev *w = &f->set.evs[ev];
		uint32_t at = place_of(f, w->value);

		for (; f->index[at]; at = (at + 1) & f->index_mask) {
			const struct path_ev *there = &f->set.evs[f->index[at] - 1];

			if (there->value == w->value && there->port == w->port)
				break;
		}
		if (!f->index[at])
			f->index[at] = (uint16_t)(ev + 1);
	}
}

/* Divides the memory, and its EVs among the ports; the EVs themselves follow. */
static struct path_ev *lay_out(struct path_profile *f, void *memory,
			       const uint32_t count[PATH_PORTS])
{
	struct path_ev *evs = memory;
	uint32_t n = 0;

	*f = (struct path_profile){.min_active = 1};
	for (uint32_t port = 0; port < PATH_PORTS; port++) {
		f->first[port] = (uint16_t)n;
		n += count[port];
		f->order_bits[port] = (uint8_t)shuffle_bits(count[port] ? count[port] : 1);
		if (count[port])
			f->set.ports |= UINT32_C(1) << port;
	}
	f->first[PATH_PORTS] = (uint16_t)n;
	while (n >> f->narrow_bits >= 2 * PATH_FEW)
		f->narrow_bits++;
	f->set.evs = evs;
	f->set.n = n;
	f->denied = (uint64_t *)(void *)(evs + n);
	memset(f->denied, 0, words_of(n) * sizeof *f->denied);
	f->index = (uint16_t *)(void *)(f->denied + words_of(n));
	f->index_mask = (uint16_t)(index_places(n) - 1);
	memset(f->index, 0, index_places(n) * sizeof *f->index);
	return evs;
}

static enum path_error check_wanted(const struct path_wanted *wanted, uint32_t *n)
{
	*n = wanted->n ? wanted->n : path_profile_default(wanted->ports);
	if (wanted->ports == 0 || wanted->ports >> PATH_PORTS)
		return PATH_BAD_PORT;
	return *n > PATH_EVS_MAX ? PATH_TOO_MANY : PATH_OK;
}

/* Room for n EVs, dealt out to the ports one by one. */
static struct path_ev *spread(struct path_profile *f, void *memory, uint32_t n, uint32_t ports)
{
	uint32_t count[PATH_PORTS] = {0};

	for (uint32_t left = 0; n > 0; n--, left &= left - 1) {
		if (!left)
			left = ports;
		count[__builtin_ctz(left)]++;
	}
	return lay_out(f, memory, count);
}

/* One that was not drawn before; there is one. */
static uint64_t draw_next(struct draw *d)
{
	uint32_t x;

	do
		x = shuffle(d->at++, d->bits, d->key);
	while (x >= d->n);
	return x;
}

enum path_error path_profile_auto(struct path_profile *f, void *memory,
				  const struct path_wanted *wanted)
{
	uint32_t n;
	enum path_error error = check_wanted(wanted, &n);

	if (error)
		return error;
	struct path_ev *evs = spread(f, memory, n, wanted->ports);
	uint64_t state = wanted->seed;
	struct draw d = {UINT64_C(1) << PORT_BITS, PORT_BITS, (uint32_t)prng_splitmix64(&state), 0};

	for (uint32_t port = 0; port < PATH_PORTS; port++)
		for (uint32_t i = f->first[port]; i < f->first[port + 1]; i++) {
			uint32_t source = AUTO_FIRST | (uint32_t)draw_next(&d);
			uint32_t label = (uint32_t)prng_splitmix64(&state) & LABEL_MASK;

			evs[i] = (struct path_ev){source << 16 | label, port};
		}
	build_index(f);
	return PATH_OK;
}

enum path_error path_profile_explicit(struct path_profile *f, void *memory,
				      const struct path_ev *evs, uint32_t n)
{
	uint32_t count[PATH_PORTS] = {0}, next[PATH_PORTS];

	if (n == 0)
		return PATH_NO_EVS;
	if (n > PATH_EVS_MAX)
		return PATH_TOO_MANY;
	for (uint32_t i = 0; i < n; i++) {
		if (evs[i].port >= PATH_PORTS)
			return PATH_BAD_PORT;
		count[evs[i].port]++;
	}
	struct path_ev *to = lay_out(f, memory, count);

	for (uint32_t port = 0; port < PATH_PORTS; port++)
		next[port] = f->first[port];
	for (uint32_t i = 0; i < n; i++)
		to[next[evs[i].port]++] = evs[i];
	build_index(f);
	return PATH_OK;
}

enum path_error path_profile_generated(struct path_profile *f, void *memory,
				       const struct path_format *format,
				       const struct path_wanted *wanted)
{
	uint32_t n;
	uint64_t combinations, state = wanted->seed;
	enum path_error error = path_format_check(format, &combinations);

	if (!error)
		error = check_wanted(wanted, &n);
	if (error)
		return error;
	if (n > combinations)
		n = (uint32_t)combinations;
	struct path_ev *evs = spread(f, memory, n, wanted->ports);
	struct draw d = {combinations, shuffle_bits(combinations),
			 (uint32_t)prng_splitmix64(&state), 0};

	for (uint32_t port = 0; port < PATH_PORTS; port++)
		for (uint32_t i = f->first[port]; i < f->first[port + 1]; i++)
			evs[i] = (struct path_ev){path_format_ev(format, draw_next(&d)), port};
	build_index(f);
	return PATH_OK;
}

enum path_error path_profile_set_min_active(struct path_profile *f, uint32_t n)
{
	if (n > f->set.n)
		return PATH_TOO_MANY;
	f->min_active = n ? (uint16_t)n : 1;
	return PATH_OK;
}

void path_profile_deny(struct path_profile *f, uint32_t ev, bool is_denied)
{
	uint64_t bit = UINT64_C(1) << ev % 64;

	assert(ev < f->set.n);
	f->denied[ev / 64] = is_denied ? f->denied[ev / 64] | bit : f->denied[ev / 64] & ~bit;
}

void path_profile_deny_ports(struct path_profile *f, uint32_t ports)
{
	assert(ports >> PATH_PORTS == 0);
	f->denied_ports = (uint8_t)ports;
}

uint32_t path_profile_find(const struct path_profile *f, uint32_t ev, uint32_t port)
{
	for (uint32_t at = place_of(f, ev); f->index[at]; at = (at + 1) & f->index_mask) {
		const struct path_ev *w = &f->set.evs[f->index[at] - 1];

		if (w->value == ev && (port == PATH_ANY_PORT || w->port == port))
			return f->index[at] - 1u;
	}
	return PATH_NONE;
}

/* Of an answer over IPv4 the lower half is 0: there it has no place in a packet, and comes back so
 * (9.1). */
bool path_is_reflected(uint32_t ev, uint32_t entropy)
{
	return ev == entropy || (ev & ~LABEL_MASK) == entropy;
}

uint32_t path_profile_reflected(const struct path_profile *f, uint32_t entropy)
{
	uint32_t ev = path_profile_find(f, entropy, PATH_ANY_PORT);

	for (uint32_t i = 0; i < f->set.n && ev == PATH_NONE; i++)
		if (path_is_reflected(f->set.evs[i].value, entropy))
			ev = i;
	return ev;
}

bool path_profile_is_split(const struct path_profile *f)
{
	/* Whichever of them is found first, the others differ from it. */
	for (uint32_t ev = 0; ev < f->set.n; ev++) {
		const struct path_ev *w = &f->set.evs[ev];

		if (f->set.evs[path_profile_find(f, w->value, PATH_ANY_PORT)].port != w->port)
			return false;
	}
	return true;
}

uint32_t path_profile_copy(const struct path_profile *f, uint32_t ev)
{
	assert(ev < f->set.n);
	const struct path_ev *w = &f->set.evs[ev];

	for (uint32_t i = ev + 1; i < f->first[w->port + 1]; i++)
		if (f->set.evs[i].value == w->value)
			return i;
	return PATH_NONE;
}
