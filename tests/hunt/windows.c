/* Memory windows in a plan. One side of a connection binds a window and says so in a message; the
 * other uses it, and then it ends: invalidated by either side, bound anew, or never. The two wait
 * for each other's messages, so that each use is known to work, or to fail. */
#include "expand.h"
#include "mem/mem.h"

#define USES_MOST   3u
#define RIGHTS      (MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC)
#define LOW_BITS    0x80u /* of every window's key, and of no region's */
#define SERIAL_BITS 8u

struct session {
	struct hunt_draft *d;
	uint32_t owner, user; /* sides */
	uint32_t window, key; /* as its user knows it */
	uint32_t free_after;  /* messages that the owner has when it may be bound */
	uint8_t kind, flaw;
	uint8_t banned;   /* the operation that it shall not allow; UINT8_MAX: any */
	bool has_atomics; /* it covers the words, and nothing else goes through it */
	uint32_t ready;   /* messages that the user has when it is bound */
	struct hunt_work *bind;
};

static struct hunt_end *end_at(const struct session *n, uint32_t side)
{
	return &n->d->s->ends[n->d->first + side];
}

static uint32_t draw_key(struct hunt_draft *d)
{
	return (prng_u32(d->p) & 0xfff00000) | d->s->n_keys++ << SERIAL_BITS | LOW_BITS;
}

/* What a side posts only after the other one's message. */
static void wait_for(struct hunt_work *w, const struct hunt_work *message)
{
	w->after = message->message + 1;
}

static struct hunt_work *add_message(const struct session *n, uint32_t side)
{
	return hunt_draft_add(n->d, side, ENGINE_SEND, hunt_draw(n->d->p, 0, n->d->s->pmtu));
}

static void make_window(struct session *n)
{
	struct hunt_draft *d = n->d;

	n->window = d->s->n_windows++;
	n->key = draw_key(d);
	n->free_after = 0;
	d->s->windows[n->window] = (struct hunt_window){
		.end = d->first + n->owner,
		.key = n->key,
		.kind = n->kind,
	};
}

/* The window of a session: a new one, or one of this owner that came to its end. */
static void take_window(struct session *n)
{
	struct hunt_spare *spare = &n->d->spares[n->owner];

	if (!spare->is_free || spare->kind != n->kind || n->flaw == HUNT_UNBOUND) {
		make_window(n);
		return;
	}
	n->window = spare->window;
	n->key = spare->key;
	n->free_after = spare->after;
	spare->is_free = false;
}

/* Through the window, by the key that it has or had. */
static struct hunt_work *add_use(const struct session *n, uint8_t code, uint32_t len)
{
	struct hunt_work *w = hunt_draft_add(n->d, n->user, code, len);

	w->window = n->window;
	w->key = n->key;
	w->after = n->ready;
	return w;
}

static uint8_t draw_use(const struct session *n)
{
	static const uint8_t codes[] = {ENGINE_WRITE, ENGINE_WRITE_IMM, ENGINE_READ};
	bool may_read = end_at(n, n->user)->rd_atomic > 0;
	uint8_t code = codes[hunt_draw(n->d->p, 0, may_read ? 2 : 1)];

	if (n->has_atomics)
		return ENGINE_ATOMIC;
	if (n->banned == ENGINE_READ && code == ENGINE_READ)
		return ENGINE_WRITE;
	return n->banned == ENGINE_WRITE && code != ENGINE_READ ? ENGINE_READ : code;
}

/* One that fails: it has bytes, since for none no key is looked at. */
static struct hunt_work *add_bad_use(const struct session *n, uint8_t code)
{
	struct hunt_work *w = add_use(n, code, hunt_draw_len(n->d->s, n->d->p) + 1);

	w->flaw = n->flaw;
	return w;
}

static uint8_t right_of(uint8_t code)
{
	switch (code) {
	case ENGINE_READ: return MEM_REMOTE_READ;
	case ENGINE_ATOMIC: return MEM_REMOTE_ATOMIC;
	default: return MEM_REMOTE_WRITE;
	}
}

/* The owner's bind, of a range that is known later. */
static struct hunt_work *add_bind(const struct session *n)
{
	struct hunt_draft *d = n->d;
	struct hunt_work *w = hunt_draft_add(d, n->owner, ENGINE_BIND, 0);

	w->window = n->window;
	w->key = n->key;
	w->bind = (struct hunt_bind){
		.arena = d->first + n->owner,
		.region = d->s->arenas[d->first + n->owner].remote_key,
		.new_key = prng_chance(d->p, 1, 2) ? n->key : draw_key(d),
		.access = MEM_REMOTE_READ,
	};
	w->after = n->free_after;
	return w;
}

/* One of another queue pair in the same domain, of the same host as one of our ends. */
static uint32_t find_foreign(const struct hunt_draft *d, uint32_t side)
{
	const struct hunt_plan *s = d->s;
	uint32_t own = d->first + side;

	for (uint32_t i = 0; i < s->n_windows; i++) {
		uint32_t end = s->windows[i].end;

		if (s->windows[i].kind == MEM_WINDOW_2 && s->windows[i].range.len > 0 &&
		    end / 2 != own / 2 && s->ends[end].host == s->ends[own].host &&
		    s->arenas[end].pd == s->arenas[own].pd)
			return i;
	}
	return HUNT_NOTHING;
}

/* Through a window that its owner bound on another connection, at a time when it is bound. */
static bool add_from_other_pair(struct session *n)
{
	struct hunt_draft *d = n->d;

	n->window = find_foreign(d, n->owner);
	if (n->window == HUNT_NOTHING)
		return false;
	const struct hunt_window *window = &d->s->windows[n->window];
	uint32_t len = window->range.len < HUNT_WORD ? window->range.len : HUNT_WORD;
	struct hunt_work *w = hunt_draft_add(d, n->user, ENGINE_WRITE, len);

	w->window = n->window;
	w->key = window->bound_key;
	w->after_end = window->end ^ 1;
	w->after = window->ready;
	w->flaw = HUNT_OTHER_PAIR;
	return true;
}

static void add_bad_bind(struct session *n)
{
	struct hunt_draft *d = n->d;
	const struct hunt_arena *own = &d->s->arenas[d->first + n->owner];
	struct hunt_work *w = add_bind(n);
	struct hunt_bind *bind = &w->bind;

	w->flaw = HUNT_BAD_BIND;
	bind->range = (struct hunt_piece){
		hunt_take_remote(&d->bumps[d->first + n->owner], HUNT_WORD, 1), HUNT_WORD};
	bind->access = MEM_REMOTE_WRITE;
	switch (hunt_draw(d->p, 0, 9)) {
	case 0: w->key = HUNT_NO_KEY; break;
	case 1: bind->region = HUNT_NO_KEY; break;
	case 2: bind->range.len = 1u << 30; break;
	case 3: bind->new_key = own->remote_key; break;
	case 4: bind->access |= MEM_LOCAL_WRITE; break;
	case 5:
	case 6:
		for (uint32_t e = 0; e < d->s->n_ends; e++)
			if (d->s->ends[e].host == end_at(n, n->owner)->host &&
			    d->s->arenas[e].pd != own->pd)
				bind->arena = e;
		bind->region = d->s->arenas[bind->arena].remote_key;
		bind->range.at = 0;
		if (bind->arena != d->first + n->owner)
			break;
		__attribute__((fallthrough));
	default:
		bind->region = own->closed_key;
		bind->range.at = 0;
		break;
	}
}

/* A key of the owner's that is none of a bound window of type 2 of this queue pair. */
static void add_bad_invalidate(struct session *n)
{
	struct hunt_draft *d = n->d;
	bool is_peers = prng_chance(d->p, 1, 2);
	uint32_t foreign = find_foreign(d, n->owner);
	struct hunt_work *w = hunt_draft_add(d, is_peers ? n->user : n->owner,
					     is_peers ? ENGINE_SEND_INV : ENGINE_LOCAL_INV,
					     is_peers ? hunt_draw_len(d->s, d->p) : 0);

	w->flaw = HUNT_BAD_INVALIDATE;
	w->flags |= ENGINE_FENCE;
	w->after = is_peers ? n->ready : 0;
	w->key = HUNT_NO_KEY;
	if (n->kind == MEM_WINDOW_1) {
		w->key = n->key;
	} else if (foreign != HUNT_NOTHING) {
		w->key = d->s->windows[foreign].bound_key;
	} else if (prng_chance(d->p, 1, 2)) {
		w->key = d->s->arenas[d->first + n->owner].remote_key;
	} else {
		make_window(n);
		w->key = n->key;
	}
}

/* The owner takes the window back after the user's word that it is done with it. */
static struct hunt_work *add_end(const struct session *n)
{
	struct hunt_draft *d = n->d;
	struct hunt_work *done = add_message(n, n->user), *w;

	/* Not while an answer to a read of its own is on the way. */
	done->flags |= ENGINE_FENCE;
	if (n->kind == MEM_WINDOW_2) {
		w = hunt_draft_add(d, n->owner, ENGINE_LOCAL_INV, 0);
		w->window = n->window;
		w->key = n->key;
	} else {
		w = add_bind(n);
		if (w->bind.new_key != n->key && prng_chance(d->p, 1, 2)) {
			w->bind.range = n->bind->bind.range;
			w->bind.access = n->bind->bind.access;
		}
	}
	wait_for(w, done);
	d->spares[n->owner] = (struct hunt_spare){
		.is_free = true,
		.kind = n->kind,
		.window = n->window,
		.key = n->kind == MEM_WINDOW_2 ? n->key : w->bind.new_key,
		.after = w->after,
	};
	return w;
}

static void end_session(struct session *n)
{
	struct hunt_draft *d = n->d;

	if (n->flaw == HUNT_SOUND && prng_chance(d->p, 1, 4))
		return;
	if (n->kind == MEM_WINDOW_2 && prng_chance(d->p, 1, 2)) {
		struct hunt_work *w =
			hunt_draft_add(d, n->user, ENGINE_SEND_INV, hunt_draw_len(d->s, d->p));

		w->flags |= ENGINE_FENCE;
		w->window = n->window;
		w->key = n->key;
		w->after = n->ready;
		d->spares[n->owner] =
			(struct hunt_spare){true, n->kind, n->window, n->key, w->message + 1};
	} else {
		add_end(n);
		if (n->flaw != HUNT_SOUND)
			n->ready = add_message(n, n->owner)->message + 1;
	}
	if (n->flaw != HUNT_SOUND)
		add_bad_use(n, draw_use(n));
}

/* Binds the window, tells its user, and lets it be used. */
static void use_window(struct session *n)
{
	struct hunt_draft *d = n->d;
	struct hunt_bump *b = &d->bumps[d->first + n->owner];
	uint32_t base = hunt_take_remote(b, 1, HUNT_WORD), uses = hunt_draw(d->p, 0, USES_MOST);
	uint8_t rights = (uint8_t)(hunt_draw(d->p, 0, RIGHTS) & RIGHTS);

	n->bind = add_bind(n);
	n->key = n->bind->bind.new_key;
	n->ready = add_message(n, n->owner)->message + 1;
	for (uint32_t i = 0; i < uses && n->banned != ENGINE_ATOMIC; i++) {
		uint8_t code = draw_use(n);

		add_use(n, code, hunt_draw_len(d->s, d->p));
		rights |= right_of(code);
	}
	if (n->flaw == HUNT_NO_RIGHT) {
		add_bad_use(n, n->banned);
		rights &= (uint8_t)~right_of(n->banned);
	}
	if (n->has_atomics)
		n->bind->bind.range =
			(struct hunt_piece){end_at(n, n->owner)->words[0],
					    end_at(n, n->owner)->words[HUNT_WORDS - 1] + HUNT_WORD -
						    end_at(n, n->owner)->words[0]};
	else
		n->bind->bind.range = (struct hunt_piece){base, b->remote - base};
	if (n->flaw == HUNT_BEYOND_WINDOW) {
		struct hunt_work *w = add_bad_use(n, draw_use(n));

		n->bind->bind.range.len = w->remote + w->len - 1 - base;
		rights |= right_of(w->code);
	}
	n->bind->bind.access = rights;
	d->s->windows[n->window].range = n->bind->bind.range;
	d->s->windows[n->window].bound_key = n->key;
	d->s->windows[n->window].ready = n->ready;
}

/* Bound and invalidated before anybody learns of it: in this order, whatever else is under way. */
static void bind_in_vain(struct session *n)
{
	struct hunt_draft *d = n->d;
	struct hunt_work *bind = add_bind(n);

	bind->bind.range = (struct hunt_piece){end_at(n, n->owner)->words[0], HUNT_WORD};
	n->key = bind->bind.new_key;
	struct hunt_work *w = hunt_draft_add(d, n->owner, ENGINE_LOCAL_INV, 0);

	w->window = n->window;
	w->key = n->key;
}

static uint8_t draw_kind(const struct session *n)
{
	const struct hunt_spare *spare = &n->d->spares[n->owner];

	if (spare->is_free && n->flaw == HUNT_SOUND)
		return spare->kind;
	if (n->flaw == HUNT_INVALIDATED)
		return MEM_WINDOW_2;
	if (n->flaw == HUNT_REBOUND)
		return MEM_WINDOW_1;
	return prng_chance(n->d->p, 1, 3) ? MEM_WINDOW_1 : MEM_WINDOW_2;
}

/* The operation that a window shall not allow, of those that its user may do. */
static uint8_t draw_banned(const struct session *n)
{
	bool may_read = end_at(n, n->user)->rd_atomic > 0;

	if (n->has_atomics)
		return ENGINE_ATOMIC;
	return may_read && prng_chance(n->d->p, 1, 2) ? ENGINE_READ : ENGINE_WRITE;
}

void hunt_draft_session(struct hunt_draft *d, bool may_flaw)
{
	struct session n = {
		.d = d,
		.owner = hunt_draw(d->p, 0, 1),
		.banned = UINT8_MAX,
		.flaw = (uint8_t)(may_flaw ? hunt_draw(d->p, HUNT_UNBOUND, HUNT_BAD_BIND)
					   : HUNT_SOUND),
	};
	bool may_read;

	/* A second life, where what is left of the first may still be on the way. */
	if (d->spares[n.owner ^ 1].is_free && prng_chance(d->p, 3, 4))
		n.owner ^= 1;
	n.user = n.owner ^ 1;
	may_read = end_at(&n, n.user)->rd_atomic > 0;
	if (n.flaw == HUNT_OTHER_PAIR && add_from_other_pair(&n))
		return;
	if (n.flaw == HUNT_OTHER_PAIR || (n.flaw == HUNT_NO_RIGHT && !may_read))
		n.flaw = HUNT_SOUND;
	n.kind = draw_kind(&n);
	n.has_atomics = may_read && n.flaw != HUNT_BEYOND_WINDOW && prng_chance(d->p, 1, 4);
	if (n.flaw == HUNT_NO_RIGHT)
		n.banned = draw_banned(&n);
	take_window(&n);
	if (n.flaw == HUNT_UNBOUND) {
		add_bad_use(&n, draw_use(&n));
		return;
	}
	if (n.kind == MEM_WINDOW_2 && prng_chance(d->p, 1, 4))
		bind_in_vain(&n);
	if (n.flaw == HUNT_BAD_BIND) {
		add_bad_bind(&n);
		return;
	}
	use_window(&n);
	if (n.flaw == HUNT_BAD_INVALIDATE)
		add_bad_invalidate(&n);
	else if (n.flaw != HUNT_NO_RIGHT && n.flaw != HUNT_BEYOND_WINDOW)
		end_session(&n);
}
