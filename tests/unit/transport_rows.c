/* transport/transport.h: what every row must be for the rooms above to rely on it. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "cc/settings.h"
#include "transport/transport.h"

static void rows_stand_where_their_names_do(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TRANSPORTS; i++) {
		assert_string_equal(transports[i]->name, transport_names[i]);
		assert_int_equal(transport_place(transports[i]), i);
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(transports[k]->name, transports[i]->name);
	}
	assert_null(transport_names[TRANSPORTS]);
	/* Devices have had their numbers in this order; programs remember them. */
	assert_ptr_equal(transports[0], &transport_rc);
	assert_ptr_equal(transports[1], &transport_mrc);
}

static void rows_are_whole(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TRANSPORTS; i++) {
		const struct transport *t = transports[i];

		assert_non_null(t->engine);
		assert_true(t->hosts && t->pairs && t->message_max > 0);
		assert_string_equal(t->counters[t->count_retx].name, "tx_retx");
		assert_string_equal(t->counters[t->count_received].name, "rx_bytes");
		assert_string_equal(t->counters[t->count_rx].name, "rx");
		assert_true(t->n_verdicts > 0);
		for (uint32_t k = 0; k < t->n_retx_reasons; k++)
			assert_in_range(t->retx_reasons[k], 0, t->n_counters - 1);
		assert_in_range(t->head_bytes, t->carrier->head_least, ENGINE_HEAD_MAX);
		assert_in_range(t->ports_max, 1, ENGINE_PORTS);
		assert_true(t->ccs >> t->cc & 1);
		assert_true(t->ops != 0 && !transport_takes(t, ENGINE_RECV));
		/* Who has several ports needs entropy values that are bound to them. */
		assert_true(t->ports_max == 1 || transport_has(t, TRANSPORT_PROFILES));
		assert_true(t->open_number == TRANSPORT_NO_NUMBER ||
			    (t->open_number < t->first_number && t->open_bytes > 0));
	}
}

/* Whoever may be below the verbs is so wholly, with queue pairs as they number them. */
static void the_verbs_find_all_they_ask_for(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TRANSPORTS; i++) {
		const struct transport *t = transports[i];
		const struct transport_verbs_ops *v = t->verbs;

		if (!v)
			continue;
		assert_true(v->modify && v->query && v->shared_make && v->shared_end);
		assert_true(v->shared_limit && v->shared_query);
		assert_int_equal(t->carrier->number.width, 24);
		struct engine_srq_caps caps = v->most;

		assert_true(caps.max_recv > 0 && v->shared_bytes(&caps) > 0);
		caps.max_recv++;
		assert_int_equal(v->shared_bytes(&caps), 0);
		caps = v->most;
		caps.max_sge++;
		assert_int_equal(v->shared_bytes(&caps), 0);
	}
}

/* A trimming fabric tells what it may cut, and what it cut, by the DSCP alone. */
static void trimmed_looks_like_nothing_else(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TRANSPORTS; i++) {
		const struct transport *t = transports[i];

		if (!transport_has(t, TRANSPORT_TRIMS))
			continue;
		assert_int_not_equal(t->dscps.trimmed, t->dscps.trimmed_lasthop);
		for (uint32_t class = 0; class < ENGINE_TCLASSES; class ++) {
			assert_int_not_equal(t->dscps.trimmable[class], t->dscps.trimmed);
			assert_int_not_equal(t->dscps.trimmable[class], t->dscps.trimmed_lasthop);
		}
	}
}

/* The engine takes what its row makes of any host that is one. */
static void hosts_are_taken(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TRANSPORTS; i++) {
		const struct transport *t = transports[i];
		struct mem *mem = mem_init(calloc(1, mem_bytes(1)), 1);
		void *cfg = calloc(1, t->hosts->cfg_bytes);
		struct transport_host host = {
			.mem = mem,
			.max_pairs = 1,
			.n_ports = t->ports_max,
			.cc = {.kind = CC_FIXED, .window_bytes = 65536},
			.pair_evs = 1,
			.pair_out_pkts = 1,
			.pair_ahead_pkts = 1,
		};

		t->hosts->configure(&host, cfg);
		assert_true(t->engine->size(cfg) > 0);
		host.is_software = true;
		host.device.stranger_rate = TRANSPORT_NO_STRANGERS;
		host.device.pool_bytes = 1 << 20;
		t->hosts->configure(&host, cfg);
		assert_true(t->engine->size(cfg) > 0);
		host.max_pairs = 0;
		t->hosts->configure(&host, cfg);
		assert_int_equal(t->engine->size(cfg), 0);
		free(cfg);
		free(mem);
	}
}

static void settings_fit(const struct settings *settings, size_t bytes)
{
	uint8_t *all = calloc(1, bytes);

	for (uint32_t i = 0; i < settings->n; i++) {
		const struct setting *s = &settings->at[i];
		uint64_t most = s->unit == UNIT_FLAG || s->unit == UNIT_NO_FLAG ? 1 : s->most;

		assert_true(s->place + s->bytes <= bytes);
		assert_true(s->unit != UNIT_FRACTION || (most << s->bits) >> s->bits == most);
		for (const char *const *word = s->words; word && *word; word++)
			most = (uint64_t)(word - s->words);
		assert_in_range(s->fallback, 0, most);
		most <<= s->bits;
		setting_put(s, all, most);
		assert_true(setting_get(s, all) == most);
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(settings->at[k].name, s->name);
	}
	/* No two have a place in common: the first still has what was put there. */
	for (uint32_t i = 0; i < settings->n; i++)
		setting_put(&settings->at[i], all, i & 1);
	for (uint32_t i = 0; i < settings->n; i++)
		assert_int_equal(setting_get(&settings->at[i], all), i & 1);
	free(all);
}

static void settings_have_places_of_their_own(void **state)
{
	(void)state;
	settings_fit(&nscc_settings, sizeof(struct nscc_cfg));
	settings_fit(&dcqcn_settings, sizeof(struct dcqcn_cfg));
	for (uint32_t i = 0; i < TRANSPORTS; i++) {
		const struct transport *t = transports[i];

		settings_fit(&t->settings, sizeof(struct transport_options));
		for (uint32_t k = 0; t->cc_words[k]; k++)
			assert_true(t->ccs >> t->cc_choices[k].kind & 1);
	}
}

/* What both ends can work out by themselves is what they would tell. */
static void ends_follow_from_what_is_known(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TRANSPORTS; i++) {
		const struct transport_pair_ops *ops = transports[i]->pairs;
		struct transport_caps caps = {.max_recv = 4, .srq = TRANSPORT_NO_SRQ};
		struct transport_self self = {.number = 0xabcdef, .psn = 0xff000001, .caps = &caps};
		struct transport_end first, again, other;

		assert_true(ops->grant(&caps) > 0);
		ops->tell(&self, &first);
		ops->tell(&self, &again);
		assert_memory_equal(&first, &again, sizeof first);
		assert_int_equal(transport_end_number(&first), 0xabcdef);
		self.psn++;
		ops->tell(&self, &other);
		assert_memory_not_equal(&first, &other, sizeof first);
	}
}

/* A time is the next that the transport can tell its peer or keep, and of more the longest. */
static void timeouts_are_not_shorter(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TRANSPORTS; i++) {
		nsec (*timeout)(nsec) = transports[i]->pairs->timeout;

		for (nsec ns = 1; ns < UINT64_C(1) << 33; ns = ns * 3 + 1) {
			assert_true(timeout(ns) >= ns);
			assert_true(timeout(timeout(ns)) == timeout(ns));
		}
		assert_true(timeout(UINT64_C(1) << 60) == timeout(UINT64_C(1) << 61));
	}
}

static void counters_have_names_of_their_own(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TRANSPORTS; i++) {
		const struct transport *t = transports[i];

		assert_true(t->n_counters > 0);
		for (uint32_t k = 0; k < t->n_counters; k++) {
			assert_true(strlen(t->counters[k].text) > 0);
			for (uint32_t n = 0; n < k; n++)
				assert_string_not_equal(t->counters[n].name, t->counters[k].name);
		}
	}
}

/* What goes around a payload is what the specifications draw: BTH and the longest of its extended
 * headers, and the ICRC behind. */
static void around_a_payload_is_its_seal_too(void **state)
{
	(void)state;
	assert_int_equal(transport_around_bytes(&transport_rc), 12 + 28 + 4);
	assert_int_equal(transport_around_bytes(&transport_mrc), transport_mrc.head_bytes + 4);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(rows_stand_where_their_names_do),
	cmocka_unit_test(rows_are_whole),
	cmocka_unit_test(the_verbs_find_all_they_ask_for),
	cmocka_unit_test(trimmed_looks_like_nothing_else),
	cmocka_unit_test(hosts_are_taken),
	cmocka_unit_test(settings_have_places_of_their_own),
	cmocka_unit_test(ends_follow_from_what_is_known),
	cmocka_unit_test(timeouts_are_not_shorter),
	cmocka_unit_test(counters_have_names_of_their_own),
	cmocka_unit_test(around_a_payload_is_its_seal_too),
};
CHECK_MAIN(cases)
