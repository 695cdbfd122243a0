/* Which process is at which place of an address, and the program that steers by it.
 *
 * The kernel keeps the sockets of one address in a list; a program chooses among them by place. At
 * first a tag is taken for a place, which it seldom is, as tags are random: who is alone gets all
 * packets all the same. When one leaves, the kernel moves the last into its place, and from then on
 * packets reach the wrong process. Nothing tells a process its place, so it asks: a probe is a
 * packet that the program steers by the place in it instead of a tag. Whoever gets it tells the
 * prober its own tag, over the socket that strays travel on. A place behind the last is no answer
 * of the program, and the kernel chooses by hash, which is by addresses and ports and so the same
 * one each time: a tag that comes a second time marks the end. What was learned becomes a program,
 * of the whole group and in force at once. A tag that is not in it is taken for a place.
 *
 * A probe leaves by the receiving socket, so that it comes from the very address and port it goes
 * to, which only sockets of this user can have while we do; any other is dropped. Over IPv4 the
 * kernel takes no packet from outside that claims to come from an address of its own. Over IPv6 a
 * neighbour could forge one: it gets no answer, as that goes to a tag of this machine, and without
 * the nonce of a survey it changes nothing.
 *
 * Who comes to where others are begins a survey, since one who was alone got all packets whatever
 * his tag, and now no longer does; and since those of the newcomer may go to a process that is busy
 * with something else. It costs one probe and one answer for each place. Strays begin one too, of
 * ours or of whoever else sees them: a probe of another stands for one of our own, but not time and
 * again. Whatever comes of it, each packet still reaches its owner; a survey that was disturbed, by
 * another, or by somebody who left meanwhile, leaves strays behind, and these begin the next. It
 * costs a place nothing to be silent for long: what was known of it stays. */
#include "io/udp_inside.h"

#include <errno.h>

#include "base/bytes.h"
#include "io/filter.h"
#include "io/osrandom.h"

enum {
	PROBE_BYTES = 24,
	PROBE_PROBER_AT = 4,
	PROBE_PLACE_AT = 5,
	PROBE_NONCE_AT = 8,
	PROBE_BATCH = 8,
	NOBODY = DRIVER_TAGS, /* of tag_at: no answer */
	DELAYS = 32,
};

#define ANSWERS_NS UINT64_C(10000000) /* for the answers of a batch */
/* All see strays at once when somebody leaves; tags differ in how soon they do something about it,
 * so that most receive another's probe first. */
#define DELAY_NS     UINT64_C(500000)
#define GAP_LEAST_NS UINT64_C(50000000) /* between two surveys of an address */
#define GAP_MOST_NS  UINT64_C(800000000)

/* The program sees the UDP payload. Its result is a place in the list of sockets; one past the end
 * makes the kernel choose by hash. A question is to who answers; what is to nobody in particular is
 * for who gets it, and that is tag 0. */
static void make_program(struct filter *f, const struct carrier *c, const struct udp_local *l)
{
	const uint8_t *place_of = l->place_of;
	const struct filter_ends ends = {.anyone = place_of[l->answerer], .unknown = place_of[0]};

	f->n = 0;
	filter_step(f, BPF_LD | BPF_B | BPF_ABS, 0);
	f->at[filter_jump_if(f, c->spare)].jf = 2;
	filter_step(f, BPF_LD | BPF_B | BPF_ABS, PROBE_PLACE_AT);
	filter_step(f, BPF_RET | BPF_A, 0);
	filter_step(f, BPF_LDX | BPF_IMM, 0);
	filter_owner(f, c, &ends);
	for (uint32_t tag = 0; tag < 1u << c->tag_bits; tag++) {
		if (place_of[tag] == tag)
			continue;
		f->at[filter_jump_if(f, tag)].jf = 1;
		filter_step(f, BPF_RET | BPF_K, place_of[tag]);
	}
	filter_step(f, BPF_RET | BPF_A, 0);
}

int udp_survey_attach(const struct udp_driver *u, int fd, const struct udp_local *l)
{
	struct filter f;
	struct sock_fprog prog = {.filter = f.at};

	make_program(&f, u->carrier, l);
	prog.len = f.n;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof prog))
		return -errno;
	return 0;
}

void udp_survey_init(struct udp_driver *u)
{
	u->survey.local = DRIVER_NO_HANDLE;
	u->survey.next_at = NSEC_NEVER;
}

void udp_survey_open(const struct udp_driver *u, struct udp_local *l)
{
	l->answerer = u->tag;
	for (uint32_t tag = 0; tag < DRIVER_TAGS; tag++)
		l->place_of[tag] = (uint8_t)tag;
	l->survey_at = l->heed_at = l->gap_ns = 0;
	l->is_wanting = false;
}

void udp_survey_forget(struct udp_driver *u, uint32_t local)
{
	if (u->survey.local == local)
		u->survey.local = DRIVER_NO_HANDLE;
}

/* With the next call, unless that brings another's probe: nobody else sees that we came, and a
 * process that sleeps may not be called again for long. */
void udp_survey_join(struct udp_driver *u, uint32_t local)
{
	u->locals[local].is_wanting = true;
	u->survey.next_at = 0;
}

void udp_survey_want(struct udp_driver *u, uint32_t local)
{
	struct udp_local *l = &u->locals[local];
	nsec delay_ns = u->tag % DELAYS * DELAY_NS;

	if (l->refs == 0 || l->is_wanting || u->survey.local == local)
		return;
	l->is_wanting = true;
	/* Nothing was wrong for as long as the gap before: what is now is something new. */
	if (u->rx.called_at >= l->survey_at + l->gap_ns)
		l->gap_ns = 0;
	if (l->survey_at < u->rx.called_at + delay_ns)
		l->survey_at = u->rx.called_at + delay_ns;
	if (l->survey_at < u->survey.next_at)
		u->survey.next_at = l->survey_at;
}

/* What the kernel refuses to send is a place without an answer. */
static void ask(struct udp_driver *u, nsec now)
{
	struct udp_survey *s = &u->survey;
	const struct udp_local *l = &u->locals[s->local];
	uint8_t probe[PROBE_BYTES] = {[0] = u->carrier->spare, [PROBE_PROBER_AT] = u->tag};
	union udp_name name;
	socklen_t len = udp_name_of(&l->addr, u->cfg.port, &name);

	put_be64(probe + PROBE_NONCE_AT, s->nonce);
	for (uint32_t i = 0; i < PROBE_BATCH; i++) {
		probe[PROBE_PLACE_AT] = (uint8_t)s->asked++;
		sendto(l->fd, probe, sizeof probe, MSG_DONTWAIT | MSG_NOSIGNAL, &name.any, len);
	}
	s->asked_at = now;
	s->has_news = false;
}

static void begin(struct udp_driver *u, uint32_t local, nsec now)
{
	struct udp_survey *s = &u->survey;
	struct udp_local *l = &u->locals[local];

	l->is_wanting = false;
	if (osrandom_key((uint8_t *)&s->nonce, sizeof s->nonce)) {
		l->survey_at = now + GAP_LEAST_NS;
		return;
	}
	for (uint32_t i = 0; i < DRIVER_TAGS; i++)
		s->tag_at[i] = NOBODY;
	s->local = local;
	s->asked = 0;
	ask(u, now);
}

/* Begins what is due, one at a time. */
static void begin_next(struct udp_driver *u, nsec now)
{
	struct udp_survey *s = &u->survey;
	uint32_t due = DRIVER_NO_HANDLE;

	s->next_at = NSEC_NEVER;
	for (uint32_t i = 0; i < u->cfg.max_locals; i++) {
		const struct udp_local *l = &u->locals[i];

		if (l->refs == 0 || !l->is_wanting)
			continue;
		if (l->survey_at <= now && due == DRIVER_NO_HANDLE)
			due = i;
		else if (l->survey_at < s->next_at)
			s->next_at = l->survey_at;
	}
	if (due != DRIVER_NO_HANDLE)
		begin(u, due, now);
}

/* How many places there seem to be; *has_all: each of them answered. */
static uint32_t places(const struct udp_survey *s, bool *has_all)
{
	bool is_seen[DRIVER_TAGS] = {false};

	*has_all = true;
	for (uint32_t i = 0; i < s->asked; i++) {
		uint16_t tag = s->tag_at[i];

		if (tag == NOBODY)
			*has_all = false;
		else if (is_seen[tag])
			return i;
		else
			is_seen[tag] = true;
	}
	return s->asked;
}

/* The tag of somebody who answers questions, or ours. */
static uint8_t answerer_of(const struct udp_driver *u, uint32_t n)
{
	const struct udp_survey *s = &u->survey;

	for (uint32_t i = 0; i < n; i++)
		if (s->tag_at[i] != NOBODY && s->has_endpoints[i])
			return (uint8_t)s->tag_at[i];
	return u->tag;
}

/* A tag that did not answer may still be where it was, if nobody else answered from there. */
static void finish(struct udp_driver *u, uint32_t n, nsec now)
{
	struct udp_survey *s = &u->survey;
	struct udp_local *l = &u->locals[s->local];
	uint8_t place_of[DRIVER_TAGS];

	for (uint32_t tag = 0; tag < DRIVER_TAGS; tag++)
		place_of[tag] =
			s->tag_at[l->place_of[tag]] == NOBODY ? l->place_of[tag] : (uint8_t)tag;
	for (uint32_t i = 0; i < n; i++)
		if (s->tag_at[i] != NOBODY)
			place_of[s->tag_at[i]] = (uint8_t)i;
	if (!u->cfg.has_endpoints)
		l->answerer = answerer_of(u, n);
	/* Strays that remain although nothing changed are not for a survey to end: somebody sends
	 * to a tag that is not at this address, or its owner stands still. */
	if (memcmp(place_of, l->place_of, sizeof place_of) != 0)
		l->gap_ns = GAP_LEAST_NS;
	else
		l->gap_ns = l->gap_ns ? 2 * l->gap_ns : GAP_LEAST_NS;
	if (l->gap_ns > GAP_MOST_NS)
		l->gap_ns = GAP_MOST_NS;
	l->survey_at = now + l->gap_ns;
	s->local = DRIVER_NO_HANDLE;
	memcpy(l->place_of, place_of, sizeof place_of);
	/* Also when nothing changed: the program may be another's, who was wrong. */
	if (udp_survey_attach(u, l->fd, l) == 0)
		u->driver.count.steered++;
}

/* Whether anybody answered in the last batch. */
static bool was_answered(const struct udp_survey *s)
{
	for (uint32_t i = s->asked - PROBE_BATCH; i < s->asked; i++)
		if (s->tag_at[i] != NOBODY)
			return true;
	return false;
}

void udp_survey_step(struct udp_driver *u, nsec now)
{
	struct udp_survey *s = &u->survey;
	bool is_late = now >= s->asked_at + ANSWERS_NS, has_all;
	uint32_t n;

	if (s->local == DRIVER_NO_HANDLE) {
		if (now >= s->next_at)
			begin_next(u, now);
		return;
	}
	if (!s->has_news && !is_late)
		return;
	s->has_news = false;
	n = places(s, &has_all);
	if (!has_all && !is_late)
		return;
	if (n < s->asked || s->asked == DRIVER_TAGS || !was_answered(s))
		finish(u, n, now);
	else
		ask(u, now);
}

bool udp_survey_is_probe(const struct udp_driver *u, const struct udp_run *run)
{
	return run->at[0] == u->carrier->spare;
}

bool udp_survey_on_probe(struct udp_driver *u, const struct udp_run *run, uint32_t len, nsec now)
{
	struct udp_local *l = &u->locals[run->local];

	if (run->is_stray || len != PROBE_BYTES || run->sport != u->cfg.port ||
	    !udp_addr_equal(&run->from, &l->addr))
		return false;
	if (run->at[PROBE_PROBER_AT] == u->tag) {
		udp_survey_on_answer(u, run, len,
				     (struct udp_sharer){u->tag, u->cfg.has_endpoints});
		return true;
	}
	udp_share_answer(u, run, len, run->at[PROBE_PROBER_AT]);
	if (u->survey.local != run->local && now >= l->heed_at) {
		l->heed_at = now + 2 * GAP_LEAST_NS;
		l->is_wanting = false;
		if (l->survey_at < now + GAP_LEAST_NS)
			l->survey_at = now + GAP_LEAST_NS;
	}
	return true;
}

void udp_survey_on_answer(struct udp_driver *u, const struct udp_run *run, uint32_t len,
			  struct udp_sharer who)
{
	struct udp_survey *s = &u->survey;
	uint8_t place;

	if (s->local == DRIVER_NO_HANDLE || run->local != s->local || len != PROBE_BYTES ||
	    get_be64(run->at + PROBE_NONCE_AT) != s->nonce)
		return;
	place = run->at[PROBE_PLACE_AT];
	if (place >= s->asked)
		return;
	s->tag_at[place] = who.tag;
	s->has_endpoints[place] = who.has_endpoints;
	s->has_news = true;
}
