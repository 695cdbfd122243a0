/* What the bytes of trace events mean. */
#include "engine/ladder.h"
#include "transport/transport.h"

static const char *state_word(uint8_t state)
{
	static const char *const words[] = {
		[ENGINE_RESET] = "RESET", [ENGINE_INIT] = "INIT", [ENGINE_RTR] = "RTR",
		[ENGINE_RTS] = "RTS",     [ENGINE_SQD] = "SQD",   [ENGINE_ERROR] = "ERROR",
	};

	return state < sizeof words / sizeof words[0] ? words[state] : NULL;
}

static const char *status_word(uint8_t status)
{
	static const char *const words[ENGINE_STATUSES] = {
		[ENGINE_OK] = "OK",
		[ENGINE_LOCAL_LENGTH] = "LOCAL_LENGTH",
		[ENGINE_LOCAL_QP] = "LOCAL_QP",
		[ENGINE_LOCAL_PROTECTION] = "LOCAL_PROTECTION",
		[ENGINE_FLUSHED] = "FLUSHED",
		[ENGINE_BIND_FAILED] = "BIND_FAILED",
		[ENGINE_BAD_RESPONSE] = "BAD_RESPONSE",
		[ENGINE_LOCAL_ACCESS] = "LOCAL_ACCESS",
		[ENGINE_REMOTE_INVALID] = "REMOTE_INVALID",
		[ENGINE_REMOTE_ACCESS] = "REMOTE_ACCESS",
		[ENGINE_REMOTE_OPERATION] = "REMOTE_OPERATION",
		[ENGINE_RETRY_EXCEEDED] = "RETRY_EXCEEDED",
		[ENGINE_RNR_EXCEEDED] = "RNR_EXCEEDED",
		[ENGINE_FATAL] = "FATAL",
		[ENGINE_CANCELLED] = "CANCELLED",
	};

	return status < ENGINE_STATUSES ? words[status] : NULL;
}

static const char *word(const void *of, enum trace_word kind, uint8_t value)
{
	const struct transport *t = of;

	switch (kind) {
	case TRACE_WORD_PACKET: return t->packet_name ? t->packet_name(value) : NULL;
	case TRACE_WORD_VERDICT:
		return value < t->n_verdicts ? t->counters[t->count_rx + 1 + value].name : NULL;
	case TRACE_WORD_STATE: return state_word(value);
	case TRACE_WORD_STATUS: return status_word(value);
	default: return NULL;
	}
}

struct trace_words transport_words(const struct transport *t)
{
	return (struct trace_words){word, t};
}
