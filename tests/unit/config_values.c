/* config/inside.h: settings by what they say of themselves, and all keys that there are. */
#include "check.h"
#include "config/inside.h"

struct place {
	uint32_t before, value, behind;
};

static const char *const words[] = {"none", "some", NULL};

#define PLACE SETTING_AT(struct place, value)
static const struct setting count = {.unit = UNIT_COUNT, PLACE, .least = 2, .most = 9};
static const struct setting count_or_none = {.unit = UNIT_COUNT_OR_NONE, PLACE, .most = 9};
static const struct setting bytes = {
	.unit = UNIT_BYTES, PLACE, .least = 4096, .most = UINT64_C(3) << 19};
static const struct setting delay = {
	.unit = UNIT_TIME, PLACE, .least = 1500, .most = UINT64_C(2000000000)};
static const struct setting rate = {.unit = UNIT_RATE, PLACE, .least = 1000, .most = 100000};
static const struct setting flag = {.unit = UNIT_FLAG, PLACE};
static const struct setting no_flag = {.unit = UNIT_NO_FLAG, PLACE};
static const struct setting word = {.unit = UNIT_WORD, PLACE, .words = words};

static void a_value_is_read_and_printed(void **state)
{
	static const struct {
		const struct setting *k;
		const char *text;
		uint32_t value;
		const char *printed;
	} table[] = {
		{&count, "9", 9, "9"},
		{&count, "0x2", 2, "2"},
		{&count_or_none, "9", 9, "9"},
		{&count_or_none, "0", UINT32_MAX, "0"},
		{&bytes, "4096", 4096, "4096"},
		{&bytes, "1 MiB", 1048576, "1048576"},
		{&delay, "1500ns", 1500, "1500ns"},
		{&delay, "2 us", 2000, "2000ns"},
		{&delay, "2s", 2000000000, "2000000000ns"},
		{&rate, "20kb/s", 20000, "20000"},
		{&flag, "on", 1, "on"},
		{&flag, "off", 0, "off"},
		{&no_flag, "on", 0, "on"},
		{&no_flag, "off", 1, "off"},
		{&word, "some", 1, "some"},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		struct place p = {77, 77, 77};
		struct config_why why = {""};
		char text[32] = "";
		struct config_page page = {text, sizeof text, 0};

		if (!config_read_setting(table[i].k, table[i].text, &p, &why))
			fail_msg("%s: %s", table[i].text, why.at);
		assert_int_equal(p.value, table[i].value);
		assert_int_equal(p.before, 77);
		assert_int_equal(p.behind, 77);
		config_print_setting(table[i].k, &p, &page);
		assert_string_equal(text, table[i].printed);
	}
}

static void a_wrong_value_leaves_the_place_and_says_what_is_right(void **state)
{
	static const char in_bytes[] = "give bytes, 4KiB to 1536KiB; KiB, MiB and GiB may follow";
	static const char in_time[] = "give a time, 1500ns to 2s, with ns, us, ms or s behind it";
	static const struct {
		const struct setting *k;
		const char *text, *sentence;
	} table[] = {
		{&count, "1", "give a number from 2 to 9"},
		{&count_or_none, "10", "give a number from 0 to 9"},
		{&bytes, "4095", in_bytes},
		{&bytes, "2MiB", in_bytes},
		{&delay, "1us", in_time},
		{&delay, "1500", in_time},
		{&rate, "1Gb/s", "give bits per second, from 1000 on, or say 100Gb/s"},
		{&flag, "1", "give off or on"},
		{&word, "all", "give none or some"},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		struct place p = {77, 77, 77};
		struct config_why why = {""};

		assert_false(config_read_setting(table[i].k, table[i].text, &p, &why));
		assert_string_equal(why.at, table[i].sentence);
		assert_int_equal(p.value, 77);
	}
}

/* Those of rows stand behind the others, each once, and only for transports that have them. */
static void keys_have_names_and_places_of_their_own(void **state)
{
	uint32_t n = 0, n_of_rows = 0;
	struct config_key key;

	(void)state;
	for (; config_key(n, &key); n++) {
		struct config_key other;

		for (uint32_t i = 0; i < n && config_key(i, &other); i++) {
			assert_string_not_equal(other.setting.name, key.setting.name);
			assert_true(!key.of_row || other.of_row != key.of_row);
		}
		assert_int_equal(key.of_row != NULL, n >= CONFIG_KEYS);
		if (!key.of_row)
			continue;
		n_of_rows++;
		assert_in_range(key.setting.place, offsetof(struct config_setup, device),
				offsetof(struct config_setup, device) +
					sizeof(struct transport_device) - key.setting.bytes);
		for (uint32_t i = 0; i < TRANSPORTS; i++)
			assert_int_equal(config_key_suits(&key, transports[i]),
					 transport_has_key(transports[i], key.of_row));
	}
	assert_in_range(n, CONFIG_KEYS, CONFIG_KEYS_MAX);
	assert_true(n_of_rows > 0);
}

static void what_is_not_said_falls_back(void **state)
{
	struct transport_device device = {.stranger_rate = 7};
	const struct transport_device none = {0};

	(void)state;
	transport_fall_back(&transport_mrc, &device);
	assert_int_equal(device.stranger_rate, 7);
	assert_true(device.pool_bytes == UINT64_C(1) << 30);
	device = none;
	transport_fall_back(&transport_rc, &device);
	assert_memory_equal(&device, &none, sizeof device);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_value_is_read_and_printed),
	cmocka_unit_test(a_wrong_value_leaves_the_place_and_says_what_is_right),
	cmocka_unit_test(keys_have_names_and_places_of_their_own),
	cmocka_unit_test(what_is_not_said_falls_back),
};
CHECK_MAIN(cases)
