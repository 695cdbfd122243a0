/* The keys of device files: those that all devices have, or all with some feature, and those that
 * the rows of transports bring. */
#include "config/inside.h"

#include "cc/cc.h"
#include "path/profile.h"

const char *const config_driver_names[CONFIG_DRIVERS + 1] = {"udp", "raw", "xdp", NULL};
const char *const config_cc_names[] = {
	[CC_FIXED] = "fixed", [CC_DCQCN] = "dcqcn", [CC_NSCC] = "nscc", NULL};
static const char *const ecn_words[] = {"on", "off", NULL};
static const char *const trace_words[] = {"on", "off", NULL};
static const char *const cnp_words[] = {"any", "peer", NULL};

static bool read_transport(struct config_setup *s, char *value, struct config_why *why)
{
	uint64_t place = 0;

	if (!config_read_word(value, transport_names, &place, why))
		return false;
	s->transport = transports[place];
	return true;
}

static void print_transport(const struct config_setup *s, struct config_page *page)
{
	config_add(page, "%s", s->transport->name);
}

#define AT(member) SETTING_AT(struct config_setup, member)

static bool read_window(struct config_setup *s, char *value, struct config_why *why)
{
	const struct setting window = {.unit = UNIT_BYTES,
				       AT(window_bytes),
				       .least = CONFIG_WINDOW_LEAST,
				       .most = CONFIG_WINDOW_MOST};
	return config_read_setting(&window, value, s, why) ||
	       config_wrong(why, "give bytes, %u to %llu; KiB, MiB and GiB may follow",
			    CONFIG_WINDOW_LEAST, (unsigned long long)CONFIG_WINDOW_MOST);
}

#define WORD(name_, member, words_) \
	.setting = {.name = (name_), .unit = UNIT_WORD, AT(member), .words = (words_)}
#define COUNT(name_, member, least_, most_) \
	.setting = {.name = (name_),        \
		    .unit = UNIT_COUNT,     \
		    AT(member),             \
		    .least = (least_),      \
		    .most = (most_)}
#define OWN(name_, key) \
	.setting.name = (name_), .read = config_read_##key, .print = config_print_##key

static const struct config_key all[CONFIG_KEYS] = {
	[KEY_TRANSPORT] = {.setting.name = "transport",
			   .read = read_transport,
			   .print = print_transport},
	[KEY_DRIVER] = {WORD("driver", driver, config_driver_names), .variable = "WEFT_DRIVER",
			.is_always = true},
	[KEY_PORTS] = {OWN("ports", ports)},
	[KEY_ADDRESSES] = {OWN("addresses", addresses)},
	[KEY_DSCP_DATA] = {COUNT("dscp-data", dscp[ENGINE_DATA], 0, CONFIG_DSCP_MOST),
			   .is_always = true},
	[KEY_DSCP_RETRANSMIT] = {COUNT("dscp-retransmit", dscp[ENGINE_RETX], 0, CONFIG_DSCP_MOST),
				 .is_always = true},
	[KEY_DSCP_NO_TRIM] = {COUNT("dscp-no-trim", dscp[ENGINE_NO_TRIM], 0, CONFIG_DSCP_MOST),
			      .is_always = true},
	[KEY_DSCP_CONTROL] = {COUNT("dscp-control", dscp[ENGINE_CONTROL], 0, CONFIG_DSCP_MOST),
			      .is_always = true},
	[KEY_SERVICE_LEVELS] = {OWN("service-levels", service_levels), .needs = TRANSPORT_CLASSES},
	[KEY_ECN] = {WORD("ecn", is_not_ect, ecn_words), .is_always = true},
	[KEY_TRIM] = {OWN("trim", trim), .needs = TRANSPORT_TRIMS},
	[KEY_CC] = {WORD("cc", cc, config_cc_names), .variable = "WEFT_CC", .is_always = true},
	[KEY_CNP_PORT] = {WORD("cnp-port", device.is_cnp_port_checked, cnp_words),
			  .needs = TRANSPORT_CNPS},
	[KEY_TRACE] = {WORD("trace", is_untraced, trace_words), .variable = "WEFT_TRACE"},
	[KEY_WINDOW] = {.setting = {.name = "window", .unit = UNIT_BYTES, AT(window_bytes)},
			.variable = "WEFT_WINDOW",
			.read = read_window},
	[KEY_RATE] = {.setting = {.name = "rate",
				  .unit = UNIT_RATE,
				  AT(rate_bps),
				  .least = CC_BPS_MIN,
				  .most = CC_BPS_MAX}},
	[KEY_EV] = {OWN("ev", ev), .variable = "WEFT_EV", .needs = TRANSPORT_PROFILES},
	[KEY_EV_COUNT] = {.setting = {.name = "ev-count", .unit = UNIT_COUNT, AT(evs.n)},
			  .needs = TRANSPORT_PROFILES,
			  .read = config_read_ev_count},
	[KEY_EV_MIN_ACTIVE] = {COUNT("ev-min-active", evs.min_active, 1, PATH_EVS_MAX),
			       .needs = TRANSPORT_PROFILES},
	[KEY_EV_BURST] = {COUNT("ev-burst", ev_burst, 1, UINT16_MAX), .variable = "WEFT_EV_BURST",
			  .needs = TRANSPORT_PROFILES},
};

/* Whether an earlier row has that key, too. */
static bool is_shared(uint32_t place, const struct transport_key *key)
{
	while (place--)
		if (transport_has_key(transports[place], key))
			return true;
	return false;
}

bool config_key(uint32_t number, struct config_key *key)
{
	if (number < CONFIG_KEYS) {
		*key = all[number];
		return true;
	}
	number -= CONFIG_KEYS;
	for (uint32_t place = 0; place < TRANSPORTS; place++) {
		const struct transport_key *const *k = transports[place]->keys;

		for (; k && *k; k++) {
			if (is_shared(place, *k) || number--)
				continue;
			*key = (struct config_key){
				.setting = (*k)->setting, .variable = (*k)->variable, .of_row = *k};
			key->setting.place += offsetof(struct config_setup, device);
			return true;
		}
	}
	return false;
}

bool config_key_suits(const struct config_key *key, const struct transport *t)
{
	return !(key->needs & ~t->features) && (!key->of_row || transport_has_key(t, key->of_row));
}

bool config_read_value(const struct config_key *key, struct config_setup *s, char *value,
		       struct config_why *why)
{
	return key->read ? key->read(s, value, why)
			 : config_read_setting(&key->setting, value, s, why);
}

void config_print_value(const struct config_key *key, const struct config_setup *s,
			struct config_page *page)
{
	if (key->print)
		key->print(s, page);
	else if (key->is_always || setting_get(&key->setting, s))
		config_print_setting(&key->setting, s, page);
}
