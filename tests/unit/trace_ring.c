/* trace/: what was added is what is read, as long as it lasts; and each kind as JSON. */
#include "trace/ring.h"

#include "base/prng.h"
#include "check.h"
#include "trace/print.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 16u
#define STEPS 20000u
#define TEXT  1024u

static struct trace_event event_of(uint64_t i)
{
	return (struct trace_event){.at = i, .qp = (uint32_t)i, .number = (uint32_t)(3 * i)};
}

static void slots_are_powers_of_two_in_range(void **state)
{
	static const uint32_t cases[][2] = {
		{0, TRACE_SLOTS_MIN}, {TRACE_SLOTS_MIN, TRACE_SLOTS_MIN}, {17, 32}, {4096, 4096},
		{4097, 8192},         {UINT32_MAX, TRACE_SLOTS_MAX},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(trace_slots(cases[i][0]), cases[i][1]);
}

static void is_off_until_memory_is_lent(void **state)
{
	struct trace trace = {0};
	const struct tracer none = {0}, tracer = {.to = &trace};
	void *memory = calloc(1, trace_bytes(SLOTS));
	struct trace_event out;
	uint64_t next = 0, lost = 0;

	(void)state;
	assert_non_null(memory);
	assert_false(trace_is_on(&none));
	assert_false(trace_is_on(&tracer));
	assert_int_equal(trace_take(&trace, &next, &out, 1, &lost), 0);
	trace_lend(&trace, memory, SLOTS);
	assert_true(trace_is_on(&tracer));
	const struct trace_event first = event_of(1);

	trace_add(&tracer, &first);
	trace_lend(&trace, NULL, 0);
	assert_false(trace_is_on(&tracer));
	assert_int_equal(trace_take(&trace, &next, &out, 1, &lost), 0);
	free(memory);
}

/* Two engines that share a ring, and a reader that comes now and then. */
static void reader_gets_all_that_lasted(void **state)
{
	struct trace trace = {0};
	const struct tracer tracers[2] = {{&trace, 7}, {&trace, 9}};
	void *memory = calloc(1, trace_bytes(SLOTS));
	struct trace_event out[SLOTS + 3];
	uint64_t added = 0, next = 0, lost = 0, read = 0;
	struct prng prng;

	(void)state;
	assert_non_null(memory);
	trace_lend(&trace, memory, SLOTS);
	prng_init(&prng, 1, 0);
	for (uint32_t i = 0; i < STEPS; i++) {
		if (prng_below(&prng, 4) > 0) {
			const struct trace_event e = event_of(added);

			trace_add(&tracers[added % 2], &e);
			added++;
			continue;
		}
		uint32_t n = (uint32_t)prng_below(&prng, sizeof out / sizeof out[0]);
		uint64_t first = added > SLOTS && next < added - SLOTS ? added - SLOTS : next;
		uint32_t got = trace_take(&trace, &next, out, n, &lost);

		assert_int_equal(got, added - first < n ? added - first : n);
		assert_int_equal(next, first + got);
		for (uint32_t k = 0; k < got; k++) {
			struct trace_event want = event_of(first + k);

			want.node = (first + k) % 2 ? 9 : 7;
			assert_memory_equal(&out[k], &want, sizeof want);
		}
		read += got;
	}
	assert_int_equal(read + lost, next);
	assert_true(lost > 0 && read > STEPS / 4);
	free(memory);
}

struct text {
	char at[TEXT];
	size_t n;
};

static void put(void *to, const char *bytes, size_t n)
{
	struct text *text = to;

	assert_true(text->n + n < TEXT);
	memcpy(text->at + text->n, bytes, n);
	text->n += n;
}

static const char *word(const void *of, enum trace_word kind, uint8_t value)
{
	static const char *const words[TRACE_WORDS] = {
		[TRACE_WORD_PACKET] = "a packet",
		[TRACE_WORD_VERDICT] = "a verdict",
		[TRACE_WORD_STATE] = "a state",
	};

	(void)of;
	return value < 200 ? words[kind] : NULL;
}

static void is_written_as(const struct trace_event *e, const char *node_key, const char *want)
{
	const struct trace_words words = {.word = word};
	struct text text = {0};
	struct json_writer w = json_writer(put, &text);

	json_object(&w, NULL, JSON_INLINE);
	trace_json(&w, e, &words, node_key);
	json_close(&w);
	json_end(&w);
	assert_string_equal(text.at, want);
}

static void json_names_what_a_kind_has(void **state)
{
	struct trace_event e = {.at = 5,
				.node = 2,
				.qp = 17,
				.number = 3,
				.a = 4096,
				.b = 65536,
				.how = 1 | TRACE_MARKED};

	(void)state;
	is_written_as(&e, "host",
		      "{\"at_ns\":5,\"host\":2,\"event\":\"sent\",\"qp\":17,"
		      "\"packet\":\"a packet\",\"psn\":3,\"bytes\":4096,\"ev\":65536,"
		      "\"port\":1}\n");
	e.kind = TRACE_RECEIVED;
	is_written_as(&e, NULL,
		      "{\"at_ns\":5,\"event\":\"received\",\"qp\":17,"
		      "\"packet\":\"a packet\",\"verdict\":\"a verdict\",\"psn\":3,"
		      "\"bytes\":4096,\"ev\":65536,\"port\":1,\"trimmed\":false,"
		      "\"marked\":true}\n");
	e.kind = TRACE_STATE;
	is_written_as(&e, NULL,
		      "{\"at_ns\":5,\"event\":\"state\",\"qp\":17,\"from\":\"a state\","
		      "\"to\":\"a state\"}\n");
	e.kind = TRACE_FAILED;
	is_written_as(&e, NULL,
		      "{\"at_ns\":5,\"event\":\"failed\",\"qp\":17,\"status\":0,\"psn\":3,"
		      "\"peer_code\":4096}\n");
	e.kind = TRACE_KINDS;
	is_written_as(&e, NULL,
		      "{\"at_ns\":5,\"event\":\"?\",\"qp\":17,\"number\":3,\"a\":4096,"
		      "\"b\":65536}\n");
}

static void text_says_what_happened(void **state)
{
	const struct trace_words words = {.word = word};
	struct trace_event e = {.at = 5,
				.qp = 17,
				.number = 3,
				.a = 4096,
				.b = 0x123,
				.kind = TRACE_RECEIVED,
				.how = 1 | TRACE_MARKED};
	char text[256], little[12];

	(void)state;
	trace_text(&e, &words, text, sizeof text);
	assert_string_equal(
		text, "received  a packet  a verdict psn 3 bytes 4096 ev 0x123 port 1 marked");
	trace_text(&e, &words, little, sizeof little);
	assert_string_equal(little, "received  a");
	e.kind = TRACE_STATE;
	e.what = 200;
	trace_text(&e, &words, text, sizeof text);
	assert_string_equal(text, "state    from 200 -> a state");
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(slots_are_powers_of_two_in_range),
	cmocka_unit_test(is_off_until_memory_is_lent),
	cmocka_unit_test(reader_gets_all_that_lasted),
	cmocka_unit_test(json_names_what_a_kind_has),
	cmocka_unit_test(text_says_what_happened),
};

CHECK_MAIN(cases)
