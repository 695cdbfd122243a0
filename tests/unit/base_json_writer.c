/* base/json_writer.h: documents by hand, and random text against a naive reader. */
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/prng.h"
#include "base/utf8.h"
#include "check.h"

enum { ROOM = 4096, TEXTS = 40000, TEXT_BYTES = 50 };

struct page {
	char at[ROOM];
	size_t len;
};

static void put(void *to, const char *bytes, size_t n)
{
	struct page *p = to;

	assert_true(p->len + n < sizeof p->at);
	memcpy(p->at + p->len, bytes, n);
	p->len += n;
	p->at[p->len] = '\0';
}

static struct json_writer on(struct page *p)
{
	p->len = 0;
	p->at[0] = '\0';
	return json_writer(put, p);
}

static void commas_and_brackets_are_the_writers(void **state)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)state;
	json_object(&w, NULL, JSON_INLINE);
	json_number(&w, "a", 1);
	json_array(&w, "b", JSON_INLINE);
	json_number(&w, NULL, 2);
	json_object(&w, NULL, JSON_INLINE);
	json_text(&w, "c", "d");
	json_truth(&w, "e", true);
	json_close(&w);
	json_array(&w, NULL, JSON_INLINE);
	json_number(&w, NULL, 3);
	json_close(&w);
	json_close(&w);
	json_null(&w, "f");
	json_text(&w, "g", NULL);
	json_truth(&w, "h", false);
	json_close(&w);
	json_end(&w);
	assert_string_equal(p.at, "{\"a\":1,\"b\":[2,{\"c\":\"d\",\"e\":true},[3]],\"f\":null,"
				  "\"g\":null,\"h\":false}\n");
}

static void empty_containers_have_no_lines(void **state)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)state;
	json_object(&w, NULL, JSON_LINES);
	json_close(&w);
	json_end(&w);
	json_array(&w, NULL, JSON_INLINE);
	json_object(&w, NULL, JSON_INLINE);
	json_close(&w);
	json_array(&w, NULL, JSON_LINES);
	json_close(&w);
	json_close(&w);
	json_end(&w);
	assert_string_equal(p.at, "{}\n[{},[]]\n");
}

/* Only what is open with lines of its own indents; what is inline stays on the line. */
static void lines_are_indented_by_what_is_open(void **state)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)state;
	json_object(&w, NULL, JSON_LINES);
	json_array(&w, "a", JSON_LINES);
	json_object(&w, NULL, JSON_INLINE);
	json_number(&w, "b", 1);
	json_number(&w, "c", 2);
	json_array(&w, "d", JSON_LINES);
	json_number(&w, NULL, 3);
	json_close(&w);
	json_close(&w);
	json_null(&w, NULL);
	json_close(&w);
	json_number(&w, "e", 4);
	json_close(&w);
	json_end(&w);
	assert_string_equal(p.at, "{\n \"a\":[\n  {\"b\":1,\"c\":2,\"d\":[\n   3\n  ]},\n"
				  "  null\n ],\n \"e\":4\n}\n");
}

static void documents_may_be_any_value_and_follow_each_other(void **state)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)state;
	json_text(&w, NULL, "a");
	json_end(&w);
	json_number(&w, NULL, 0);
	json_end(&w);
	json_null(&w, NULL);
	json_end(&w);
	assert_string_equal(p.at, "\"a\"\n0\nnull\n");
}

static void numbers_keep_all_digits(void **state)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)state;
	json_array(&w, NULL, JSON_INLINE);
	json_number(&w, NULL, 0);
	json_number(&w, NULL, 10);
	json_number(&w, NULL, UINT64_MAX);
	json_number_text(&w, NULL, UINT64_MAX);
	json_signed(&w, NULL, 0);
	json_signed(&w, NULL, -1);
	json_signed(&w, NULL, INT64_MIN);
	json_signed(&w, NULL, INT64_MAX);
	json_decimal(&w, NULL, 0, 3);
	json_decimal(&w, NULL, 7, 3);
	json_decimal(&w, NULL, 999, 3);
	json_decimal(&w, NULL, 1000, 3);
	json_decimal(&w, NULL, 1500, 3);
	json_decimal(&w, NULL, 12, 1);
	json_decimal(&w, NULL, UINT64_MAX, 9);
	json_decimal(&w, NULL, UINT64_MAX, 19);
	json_decimal(&w, NULL, 1, 19);
	json_close(&w);
	json_end(&w);
	assert_string_equal(p.at,
			    "[0,10,18446744073709551615,\"18446744073709551615\",0,-1,"
			    "-9223372036854775808,9223372036854775807,0.000,0.007,0.999,1.000,"
			    "1.500,1.2,18446744073.709551615,1.8446744073709551615,"
			    "0.0000000000000000001]\n");
}

static void text_is_escaped(void **state)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{"", "\"\""},
		{"plain /text'", "\"plain /text'\""},
		{"\"", "\"\\\"\""},
		{"\\", "\"\\\\\""},
		{"a\"b\\c", "\"a\\\"b\\\\c\""},
		{"\n\t\r\b\f", "\"\\u000a\\u0009\\u000d\\u0008\\u000c\""},
		{"\x01\x1f\x7f\x1b[1m", "\"\\u0001\\u001f\\u007f\\u001b[1m\""},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8d",
		 "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8d\""},
		{"\xff", "\"\\ufffd\""},
		{"a\xffz", "\"a\\ufffdz\""},
		{"\xc3", "\"\\ufffd\""},                       /* cut off */
		{"\xe2\x82", "\"\\ufffd\\ufffd\""},            /* cut off */
		{"\xc3\"", "\"\\ufffd\\\"\""},                 /* takes no quote with it */
		{"\xc0\x80", "\"\\ufffd\\ufffd\""},            /* overlong */
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* a surrogate */
		{"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* beyond the last */
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct page p;
		struct json_writer w = on(&p);

		json_text(&w, NULL, cases[i].text);
		assert_string_equal(p.at, cases[i].json);
	}
}

static void keys_are_escaped(void **state)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)state;
	json_object(&w, NULL, JSON_INLINE);
	json_number(&w, "a\"\\\n", 1);
	json_close(&w);
	json_end(&w);
	assert_string_equal(p.at, "{\"a\\\"\\\\\\u000a\":1}\n");
}

/* Reads a string as RFC 8259 has it, one byte after the other; false: it is none. */
static bool read_string(const char *s, char *out)
{
	unsigned code;

	if (*s++ != '"')
		return false;
	while (*s != '"') {
		if ((unsigned char)*s < 0x20)
			return false;
		if (*s != '\\') {
			*out++ = *s++;
		} else if (s[1] == 'u' && sscanf(s + 2, "%4x", &code) == 1) {
			if (code == 0xfffd)
				*out++ = '?';
			else
				*out++ = (char)code;
			s += 6;
		} else if (s[1] == '"' || s[1] == '\\') {
			*out++ = s[1];
			s += 2;
		} else {
			return false;
		}
	}
	*out = '\0';
	return s[1] == '\0';
}

/* All bytes come back, but for those that are no UTF-8. */
static void random_text_comes_back(void **state)
{
	static const char often[] = "\"\\\n\x7f\xc3\xa9\xe2\x82\xac";
	struct prng r;

	(void)state;
	prng_init(&r, check_seed(1), 0);
	for (uint32_t round = 0; round < TEXTS; round++) {
		char text[TEXT_BYTES + 1], back[ROOM], want[TEXT_BYTES + 1];
		uint32_t n = (uint32_t)prng_below(&r, TEXT_BYTES + 1), k = 0;
		struct page p;
		struct json_writer w = on(&p);

		for (uint32_t i = 0; i < n; i++)
			text[i] = prng_below(&r, 2) ? (char)prng_range(&r, 1, 255)
						    : often[prng_below(&r, sizeof often - 1)];
		text[n] = '\0';
		for (uint32_t i = 0, step; i < n; i += step ? step : 1) {
			step = utf8_length(text + i);
			memcpy(want + k, step ? text + i : "?", step ? step : 1);
			k += step ? step : 1;
		}
		want[k] = '\0';
		json_text(&w, NULL, text);
		assert_true(read_string(p.at, back));
		assert_string_equal(back, want);
	}
}

static void key_in_an_array(void *arg)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)arg;
	json_array(&w, NULL, JSON_INLINE);
	json_number(&w, "key", 1);
}

static void no_key_in_an_object(void *arg)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)arg;
	json_object(&w, NULL, JSON_INLINE);
	json_number(&w, NULL, 1);
}

static void key_of_a_document(void *arg)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)arg;
	json_object(&w, "key", JSON_INLINE);
}

static void second_document_before_the_end(void *arg)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)arg;
	json_number(&w, NULL, 1);
	json_number(&w, NULL, 2);
}

static void close_too_many(void *arg)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)arg;
	json_object(&w, NULL, JSON_INLINE);
	json_close(&w);
	json_close(&w);
}

static void end_of_an_open_document(void *arg)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)arg;
	json_object(&w, NULL, JSON_INLINE);
	json_end(&w);
}

static void end_of_nothing(void *arg)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)arg;
	json_end(&w);
}

static void open_too_many(void *arg)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)arg;
	for (uint32_t i = 0; i <= JSON_DEPTH_MAX; i++)
		json_array(&w, NULL, JSON_INLINE);
}

static void decimal_without_digits(void *arg)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)arg;
	json_decimal(&w, NULL, 1, 0);
}

static void decimal_of_too_many_digits(void *arg)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)arg;
	json_decimal(&w, NULL, 1, 20);
}

static void mistakes_abort(void **state)
{
	static void (*const mistakes[])(void *) = {
		key_in_an_array,        no_key_in_an_object,
		key_of_a_document,      second_document_before_the_end,
		close_too_many,         end_of_an_open_document,
		end_of_nothing,         open_too_many,
		decimal_without_digits, decimal_of_too_many_digits,
	};

	(void)state;
	for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
		assert_true(check_aborts(mistakes[i], NULL));
}

static void the_deepest_is_allowed(void **state)
{
	struct page p;
	struct json_writer w = on(&p);

	(void)state;
	for (uint32_t i = 0; i < JSON_DEPTH_MAX; i++)
		json_array(&w, NULL, JSON_INLINE);
	for (uint32_t i = 0; i < JSON_DEPTH_MAX; i++)
		json_close(&w);
	json_end(&w);
	assert_int_equal(p.len, 2 * JSON_DEPTH_MAX + 1);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(commas_and_brackets_are_the_writers),
	cmocka_unit_test(empty_containers_have_no_lines),
	cmocka_unit_test(lines_are_indented_by_what_is_open),
	cmocka_unit_test(documents_may_be_any_value_and_follow_each_other),
	cmocka_unit_test(numbers_keep_all_digits),
	cmocka_unit_test(text_is_escaped),
	cmocka_unit_test(keys_are_escaped),
	cmocka_unit_test(random_text_comes_back),
	cmocka_unit_test(mistakes_abort),
	cmocka_unit_test(the_deepest_is_allowed),
};

CHECK_MAIN(cases)
