/* A sender's EVs through the fabric: which are good, and which one the next packet takes.
 *
 * One struct path for each queue pair that sends requests. It knows the state of each of its
 * profile's EVs (MRC Table 9-3) from what the engine tells: congestion, loss, probes, the
 * controller's word, ports down. It takes the usable EVs of each port in a drawn order, drawn anew
 * each round, and ports by how many usable EVs they have, so that every EV gets the same share
 * however ports become free; of a port with several faulty EVs it takes a part only. EVs out
 * of use are probed until they are fit again: recover.c says by what reasoning. Invariants: only
 * usable EVs are handed out; at least the profile's min_active EVs, or all that are neither
 * denied nor behind a blocked port, are usable. No clock: `now` never decreases. Integers only;
 * same calls, same answers. Engines that spray call this. */
#ifndef WEFT_PATH_PATH_H
#define WEFT_PATH_PATH_H

#include "base/nsec.h"
#include "base/pool.h"
#include "path/profile.h"

/* Usable are the good and those to be skipped: a skipped one is good again after one turn. */
enum path_state { PATH_GOOD, PATH_SKIP, PATH_ASSUMED_BAD, PATH_DENIED, PATH_STATES };

/* Why a port is not used, apart from what happens to packets. */
enum path_block {
	PATH_BLOCK_DENIED, /* the controller's word (9.3.2.1) */
	PATH_BLOCK_LINK,   /* our side of it is down */
	PATH_BLOCK_PEER,   /* the peer's Port Status Update: this plane is down there (7.4.8) */
	PATH_BLOCKS,
};

enum path_outcome {
	PATH_PROBE_CLEAN,  /* answered, M = NONE */
	PATH_PROBE_MARKED, /* answered, M = SKIP_ONCE */
	PATH_PROBE_FAILED, /* no answer in time, or M = ALWAYS_SKIP */
};

/* What the senders of an engine share. All times > 0. */
struct path_cfg {
	struct pool *ev_faults; /* of struct path_ev_fault; NULL: nothing is ever taken out */
	nsec backoff_ns;      /* from a failed probe to the next: at first, doubled each time ... */
	nsec backoff_max_ns;  /* ... up to this, ... */
	nsec backoff_port_ns; /* ... or up to this, for a port as a whole */
	nsec probe_gap_ns;    /* between probes of one train or sweep */
	nsec memory_ns;       /* how long an EV's or port's failures are remembered against it */
	nsec witness_ns;      /* from a loss to a probe of another EV of its port, if none comes */
	nsec suspect_ns;      /* two losses and nothing arriving for so long: the port is dead */
};
#define PATH_CFG_DEFAULT                                                                  \
	{                                                                                 \
		.backoff_ns = 25000, .backoff_max_ns = 400000, .backoff_port_ns = 200000, \
		.probe_gap_ns = 500, .memory_ns = 4000000, .witness_ns = 5000,            \
		.suspect_ns = 20000,                                                      \
	}

/* A faulty EV or port, or one that lately was; its members are recover.c's. */
struct path_ev_fault {
	struct path_ev_fault *next, *prev; /* of this sender, by since */
	nsec since;                        /* it went out of use, or came back */
	nsec due;      /* its next probe, or when it is forgotten; NSEC_NEVER: outcomes are due */
	nsec from;     /* port: when the first lost packet was sent, ... */
	nsec found_at; /* ... and when that was found */
	uint16_t at;   /* its EV, or port */
	uint16_t tag;  /* of its probes that count */
	uint16_t next_ev; /* port: where to look for the next to be probed */
	uint16_t n_left;  /* port, sweep: EVs that nothing is known of yet */
	uint8_t kind;
	uint8_t fails;             /* times it went out, within memory_ns of each other */
	uint8_t partials;          /* trains that failed after a clean probe, since it went out */
	uint8_t backoffs;          /* trains that failed in a row */
	uint8_t need, sent, clean; /* probes of the train */
	uint8_t losses;            /* port: EVs that lost a packet since anything arrived */
	uint8_t silent;            /* losses and failed probes since a probe was clean */
};

/* The walk of one port. */
struct path_lane {
	uint16_t stride; /* a round / usable */
	uint16_t at;     /* place in the round */
	uint16_t key;    /* of the round's order */
	uint16_t usable; /* EVs neither assumed bad nor denied themselves */
	uint16_t few;    /* key of the order whose first places narrow rounds have */
};

struct path {
	const struct path_profile *profile;
	const struct path_cfg *cfg;
	uint64_t *bits; /* seven per EV: see state.h */
	struct path_ev_fault *head, *tail;
	uint64_t random;
	uint32_t pass[PATH_PORTS]; /* of lanes, moved on by stride each turn: the lowest is next */
	uint64_t order;            /* a byte for each open port, by pass, the lowest byte first */
	struct path_lane lanes[PATH_PORTS];
	uint16_t last;        /* EV of the packet before */
	uint16_t burst, left; /* packets of one EV; and that may still follow on last */
	uint16_t tags;        /* trains of probes so far */
	uint8_t open;         /* ports that packets may take */
	uint8_t n_open;
	uint8_t sparse;  /* ports with few usable EVs, that are walked in their order */
	uint8_t dead;    /* ports out of use for what happened to packets */
	uint8_t suspect; /* ports of which nothing arrived since a loss */
	uint8_t narrow;  /* ports that use a part of their EVs, as some were bad */
	uint8_t blocked[PATH_BLOCKS]; /* ports, by reason */
	bool has_news;                /* see path_take_news */
	uint16_t n_denied;            /* EVs */
};

struct path_sender {
	const struct path_profile *profile; /* lent until path_stop */
	const struct path_cfg *cfg;         /* lent until path_stop */
	uint64_t *bits;                     /* path_words(profile->set.n) of them, likewise */
	uint64_t seed;                      /* another one for each sender */
	uint32_t burst; /* packets in a row on one EV, 0 for 1, at most UINT16_MAX */
};

/* A probe to be sent on an EV; the engine hands it back with its outcome. */
struct path_probe {
	uint16_t ev;
	uint16_t tag;
};

/* The words that the states of n EVs take. */
uint32_t path_words(uint32_t n);

/* Every EV good but for those that the profile denies (9.3.1). */
void path_start(struct path *p, const struct path_sender *sender);

/* Gives back the records; outcomes of probes that are out are not to be told any more. */
void path_stop(struct path *p);

/* The EV of the next packet, among those usable whose port has its bit in free_ports; NULL: there
 * is none, and nothing changes. A different one each time where there are two. A skipped EV that
 * is met becomes good and loses this turn (11.2.2). */
const struct path_ev *path_next(struct path *p, uint32_t free_ports);

/* The next packet begins a burst of its own: it does not leave together with those before. */
static inline void path_end_burst(struct path *p)
{
	p->left = 0;
}

/* The number of an EV that path_next returned: what the engine notes with the packet, and tells of
 * it later. The wire's entropy value alone is found by path_profile_find. */
static inline uint32_t path_number(const struct path *p, const struct path_ev *ev)
{
	return (uint32_t)(ev - p->profile->set.evs);
}

/* The ports that have a usable EV: answers keep to them too, while there is one. */
static inline uint32_t path_ports(const struct path *p)
{
	return p->open;
}

/* The ports that are out of use for what happened to packets: all that is under way by them may be
 * taken for lost. */
static inline uint32_t path_dead(const struct path *p)
{
	return p->dead;
}

/* A packet of this EV met congestion: a SACK with SKIP_ONCE. A good EV is skipped once. One that
 * is marked more often than the others gives up more turns, up to three of four. */
void path_on_marked(struct path *p, uint32_t ev);

/* The same for a NACK with TRIMMED, which weighs more; not for one with TRIMMED_LASTHOP, which no
 * other EV would have avoided. */
void path_on_trimmed(struct path *p, uint32_t ev);

/* A SACK with ALWAYS_SKIP: the EV is assumed bad. */
void path_on_avoid(struct path *p, uint32_t ev, nsec now);

/* Another sender with the same EVs found that nothing gets through by this one: it is out as if
 * that had been seen here, unless too few would stay. */
void path_on_dead(struct path *p, uint32_t ev, nsec now);

/* A packet of this EV, last sent at sent_at, is taken for lost, by silence or because others
 * overtook it; not for a trimmed one. The EV is assumed bad at once, unless the loss is older than
 * its return, too few would be left, or the pool is empty: then it is skipped. */
void path_on_lost(struct path *p, uint32_t ev, nsec sent_at, nsec now);

/* A packet of this EV, sent once, at sent_at, has arrived: for every such packet, though only a
 * port under suspicion makes it work. */
void path_clear_suspect(struct path *p, uint32_t ev, nsec sent_at, nsec now);
static inline void path_on_arrived(struct path *p, uint32_t ev, nsec sent_at, nsec now)
{
	if (p->suspect)
		path_clear_suspect(p, ev, sent_at, now);
}

/* Whether nothing gets through by an EV that is out, for all we know: a packet and two probes were
 * lost, and none has arrived since. */
bool path_is_silent(const struct path *p, uint32_t ev);

/* The controller denies an EV, or allows it again, which makes it good. */
void path_deny(struct path *p, uint32_t ev, bool is_denied, nsec now);

/* The controller says that an EV is good: what is held against it is forgotten. One that is denied
 * stays so, and one behind a port that is out of use waits for it. */
void path_pardon(struct path *p, uint32_t ev, nsec now);

/* Whether the controller denies an EV itself, whatever it says of its port. */
bool path_denies(const struct path *p, uint32_t ev);
static inline bool path_is_denied(const struct path *p, uint32_t ev)
{
	return p->n_denied && path_denies(p, ev);
}

/* Ports that somebody said not to use. */
static inline uint32_t path_shut(const struct path *p)
{
	return (uint32_t)p->blocked[PATH_BLOCK_DENIED] | p->blocked[PATH_BLOCK_LINK] |
	       p->blocked[PATH_BLOCK_PEER];
}

/* All ports, a bit each, that are blocked for this reason from now on; others are no longer. Port
 * numbers are ours: the engine maps the bits of a peer's update to the planes of our ports. */
void path_block(struct path *p, enum path_block why, uint32_t ports, nsec now);

/* When path_probe_next has something to do on one of free_ports; NSEC_NEVER: nothing. */
nsec path_deadline(const struct path *p, uint32_t free_ports);

/* Whether a probe is to be sent now, on an EV whose port is free: *probe says which. To be asked
 * until false whenever the deadline has come; then the deadline is later than now. */
bool path_probe_next(struct path *p, nsec now, uint32_t free_ports, struct path_probe *probe);

/* What became of a probe: once for each one sent. A failure should be told within 50 us or so, and
 * is to be told at some time: its EV waits for it. */
void path_on_probe(struct path *p, struct path_probe probe, enum path_outcome outcome, nsec now);

/* Whether an EV came to be assumed bad, or no longer is, since the last time this was asked. */
static inline bool path_take_news(struct path *p)
{
	bool has_news = p->has_news;

	p->has_news = false;
	return has_news;
}

/* For tools and tests. An EV behind a port that is blocked or dead counts as that: denied if the
 * port is, else assumed bad. */
enum path_state path_state(const struct path *p, uint32_t ev);
void path_count(const struct path *p, uint32_t n[PATH_STATES]);

#endif
