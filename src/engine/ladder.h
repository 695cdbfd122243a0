/* The states of a queue pair (IBTA 10.3.1), which steps there are between them, and what each state
 * and step means. Engines ask this and do what follows. */
#ifndef WEFT_ENGINE_LADDER_H
#define WEFT_ENGINE_LADDER_H

#include <stdbool.h>
#include <stdint.h>

enum engine_state {
	ENGINE_RESET,
	ENGINE_INIT,
	ENGINE_RTR,
	ENGINE_RTS,
	ENGINE_SQD,
	ENGINE_ERROR,
};

/* A move, from and to enum engine_state; to stay is one too. */
struct engine_move {
	uint8_t from, to;
};

/* Whether there is such a move. */
bool engine_may_move(struct engine_move m);

/* What begins with a move that there is. RESET is a beginning of its own: all is forgotten. */
enum engine_begin {
	ENGINE_BEGINS_NOTHING,
	ENGINE_BEGINS_TO_TAKE, /* RTR: the receiving side works */
	ENGINE_BEGINS_TO_SEND, /* RTS: the sending side works */
	ENGINE_BEGINS_TO_DRAIN,
	ENGINE_BEGINS_TO_RESUME, /* RTS, from SQD */
	ENGINE_BEGINS_TO_FAIL,   /* ERROR, once: all work is flushed */
};
enum engine_begin engine_begins(struct engine_move m);

/* Whether the sending side works: packets may go, and answers to them are taken (IBTA table 91). */
static inline bool engine_is_sending(uint8_t state)
{
	return state == ENGINE_RTS || state == ENGINE_SQD;
}

/* Whether the receiving side works: requests are taken. */
static inline bool engine_is_receiving(uint8_t state)
{
	return state == ENGINE_RTR || engine_is_sending(state);
}

/* Whether post takes send work; in ERROR it comes back flushed. */
static inline bool engine_takes_sends(uint8_t state)
{
	return engine_is_sending(state) || state == ENGINE_ERROR;
}

/* Whether post takes receives; in ERROR they come back flushed. */
static inline bool engine_takes_receives(uint8_t state)
{
	return state != ENGINE_RESET;
}

#endif
