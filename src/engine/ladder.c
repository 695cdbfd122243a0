#include "engine/ladder.h"

bool engine_may_move(struct engine_move m)
{
	switch (m.to) {
	case ENGINE_RESET:
	case ENGINE_ERROR: return true;
	case ENGINE_INIT: return m.from == ENGINE_RESET || m.from == ENGINE_INIT;
	case ENGINE_RTR: return m.from == ENGINE_INIT;
	case ENGINE_RTS:
		return m.from == ENGINE_RTR || m.from == ENGINE_RTS || m.from == ENGINE_SQD;
	case ENGINE_SQD: return m.from == ENGINE_RTS || m.from == ENGINE_SQD;
	default: return false;
	}
}

enum engine_begin engine_begins(struct engine_move m)
{
	switch (m.to) {
	case ENGINE_RTR:
		return m.from == ENGINE_INIT ? ENGINE_BEGINS_TO_TAKE : ENGINE_BEGINS_NOTHING;
	case ENGINE_RTS:
		return m.from == ENGINE_RTR   ? ENGINE_BEGINS_TO_SEND
		       : m.from == ENGINE_SQD ? ENGINE_BEGINS_TO_RESUME
					      : ENGINE_BEGINS_NOTHING;
	case ENGINE_SQD:
		return m.from == ENGINE_RTS ? ENGINE_BEGINS_TO_DRAIN : ENGINE_BEGINS_NOTHING;
	case ENGINE_ERROR:
		return m.from != ENGINE_ERROR ? ENGINE_BEGINS_TO_FAIL : ENGINE_BEGINS_NOTHING;
	default: return ENGINE_BEGINS_NOTHING;
	}
}
