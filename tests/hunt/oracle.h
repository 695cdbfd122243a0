/* The oracle: what a run must have been, from the plan alone. */
#ifndef WEFT_TESTS_HUNT_ORACLE_H
#define WEFT_TESTS_HUNT_ORACLE_H

#include "hunt.h"

enum hunt_fate {
	HUNT_WAITS, /* not posted yet */
	HUNT_POSTED,
	HUNT_DONE,   /* done well, told or not */
	HUNT_FAILED, /* the first that failed */
	HUNT_FLUSHED,
};

/* One work request at work. */
struct oracle_work {
	uint8_t fate;     /* enum hunt_fate */
	bool is_executed; /* atomics: the word changed */
	uint8_t refusal;  /* the status that the peer's word gives it; ENGINE_OK: none */
	uint64_t placed;  /* bit per packet of payload that is where it belongs */
};

/* One end at work. */
struct oracle_end {
	uint32_t n_posted, n_done;             /* of its works, in order */
	uint32_t n_received;                   /* messages that its receives reported */
	uint32_t n_recvs_done;                 /* of its own receives, in order */
	uint32_t write_at, read_at, atomic_at; /* works before these are wholly placed */
	bool has_failed;                       /* a send work was reported as failed */
	bool has_fallen;                       /* a receive was */
	bool fell_early;                       /* and not because we ended it */
	bool has_lapsed;  /* it went on without a message of a peer that died, whose packets may
			   * still come and find a window gone */
	bool has_refused; /* it refused a request of its peer's, and is dead */
	bool was_refused; /* its peer's word ended it: work before the one named is flushed */
	bool is_gone;     /* the host restarted, or this end was ended by us */
	bool is_tainted;  /* a packet that nobody sent was put in */
	bool is_muted;    /* and one for all of its host: it may have nothing to send by any more */
};

struct hunt_oracle {
	struct hunt_plan *plan;
	const struct hunt_transport *transport;
	struct oracle_end ends[HUNT_ENDS];
	struct oracle_work works[HUNT_WORKS];
	uint8_t recv_fates[HUNT_RECVS]; /* enum hunt_fate */
	uint64_t *sent;                 /* hashes of what hosts sent, if there are forgeries */
	uint32_t n_sent, sent_room;
	bool has_ended; /* all ends were ended by us */
	/* The packet of a work that comes, if is_sprayed, and whether its payload was placed. */
	uint32_t coming, coming_i;
	bool was_placed;
	nsec host_now[HUNT_HOSTS]; /* the time on each host's clock when it was last asked */
	const struct engine *engines[HUNT_HOSTS]; /* for what they tell of themselves */
	void *wire; /* of the transport's own part, see struct hunt_transport */
	psec (*now)(const void *clock);
	const void *clock;
	struct hunt_result *result;
};

/* 0 or -ENOMEM. */
int oracle_init(struct hunt_oracle *o, struct hunt_plan *s, const struct hunt_transport *t,
		struct hunt_result *result);
void oracle_fini(struct hunt_oracle *o);

/* Something is wrong; the first time counts. */
void oracle_fail(struct hunt_oracle *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Events, in the order in which they happen. */
void oracle_on_post(struct hunt_oracle *o, uint32_t work);
void oracle_on_post_recv(struct hunt_oracle *o, uint32_t recv);
void oracle_on_output(struct hunt_oracle *o, uint32_t host, nsec now, const struct tx_pkt *tx);
/* As it leaves, after an odd host changed it. */
void oracle_on_leave(struct hunt_oracle *o, uint32_t host, nsec now, const struct tx_pkt *tx);
void oracle_before_input(struct hunt_oracle *o, uint32_t host, nsec now, const struct rx_pkt *rx);
void oracle_after_input(struct hunt_oracle *o, uint32_t host, const struct rx_pkt *rx,
			const struct hunt_counts *before, const struct hunt_counts *after);
void oracle_on_done(struct hunt_oracle *o, uint32_t host, const struct done *done);
void oracle_on_restart(struct hunt_oracle *o, uint32_t host);

/* Whether a work that waits for messages may be posted: they came, or will never come. */
bool oracle_has_come(const struct hunt_oracle *o, uint32_t end, const struct hunt_work *w);

/* Whether every work of every living end has ended. */
bool oracle_is_idle(const struct hunt_oracle *o);

/* What must hold when all is over. */
void oracle_finish(struct hunt_oracle *o);

/* Bytes off ... off + len - 1 of pieces: are they those at want? As bytes or as shadow. */
bool oracle_equal(const uint8_t *memory, const struct hunt_piece *sg, uint32_t off,
		  const uint8_t *want, uint32_t len);

/* Whether the payload of packet number i of a work is placed; of one without payload: true. */
bool oracle_is_placed(const struct hunt_oracle *o, uint32_t work, uint32_t i);

/* Whether all that a work had to place is placed. */
bool oracle_is_whole(const struct hunt_oracle *o, uint32_t work);

/* The work of an end that packet number count belongs to, or HUNT_NOTHING. */
uint32_t oracle_work_at(const struct hunt_oracle *o, uint32_t end, uint64_t count);

static inline uint32_t oracle_pieces(uint32_t len, uint32_t pmtu)
{
	return len == 0 ? 1 : (len + pmtu - 1) / pmtu;
}

#endif
