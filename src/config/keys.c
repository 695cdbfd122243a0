/* The keys of a configuration, and what may stand behind each. */
#include "config/inside.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cc/cc.h"
#include "path/profile.h"
#include "wire/net.h"

#define SEPARATORS " \t,+"
#define DSCP_MOST  63u

const char *const config_driver_names[CONFIG_DRIVERS + 1] = {"udp", "raw", "xdp", NULL};
const char *const config_cc_names[] = {
	[CC_FIXED] = "fixed", [CC_DCQCN] = "dcqcn", [CC_NSCC] = "nscc", NULL};

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit bytes_units[] = {
	{"", 1}, {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30}, {NULL, 0}};
static const struct unit rate_units[] = {{"", 1},
					 {"kb/s", 1000},
					 {"Mb/s", 1000000},
					 {"Gb/s", 1000000000},
					 {"Tb/s", UINT64_C(1000000000000)},
					 {NULL, 0}};

bool config_wrong(struct config_why *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->at, sizeof why->at, format, args);
	va_end(args);
	return false;
}

static uint32_t digit_of(char c, uint32_t base)
{
	uint32_t digit = base;

	if (c >= '0' && c <= '9')
		digit = (uint32_t)(c - '0');
	else if (c >= 'a' && c <= 'f')
		digit = (uint32_t)(c - 'a') + 10;
	else if (c >= 'A' && c <= 'F')
		digit = (uint32_t)(c - 'A') + 10;
	return digit < base ? digit : base;
}

bool config_take_number(const char **at, uint64_t most, uint64_t *value)
{
	const char *p = *at;
	uint32_t base = 10;
	uint64_t v = 0;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		base = 16;
		p += 2;
	}
	const char *first = p;

	for (uint32_t digit; (digit = digit_of(*p, base)) < base; p++) {
		if (v > (most - digit) / base || digit > most)
			return false;
		v = v * base + digit;
	}
	if (p == first)
		return false;
	*at = p;
	*value = v;
	return true;
}

static bool read_number(const char *text, uint64_t low, uint64_t high, uint64_t *value,
			struct config_why *why)
{
	const char *at = text;

	if (config_take_number(&at, high, value) && !*at && *value >= low)
		return true;
	return config_wrong(why, "give a number from %llu to %llu", (unsigned long long)low,
			    (unsigned long long)high);
}

/* A number and one of the units; false: anything else. */
static bool read_amount(const char *text, const struct unit *units, uint64_t most, uint64_t *value)
{
	const char *at = text;
	uint64_t v;

	if (!config_take_number(&at, most, &v))
		return false;
	at += strspn(at, " ");
	for (; units->name; units++) {
		if (strcmp(at, units->name) != 0)
			continue;
		*value = v * units->factor;
		return v <= most / units->factor;
	}
	return false;
}

/* The number of a word among some, "a, b or c". */
static bool read_word(const char *value, const char *const *words, uint8_t *number,
		      struct config_why *why)
{
	char list[CONFIG_WHY_MAX / 2] = "";
	size_t len = 0;

	for (uint8_t i = 0; words[i]; i++) {
		if (!strcmp(words[i], value)) {
			*number = i;
			return true;
		}
	}
	for (uint8_t i = 0; words[i] && len < sizeof list; i++) {
		const char *between = i == 0 ? "" : words[i + 1] ? ", " : " or ";
		int n = snprintf(list + len, sizeof list - len, "%s%s", between, words[i]);

		len += n > 0 ? (size_t)n : 0;
	}
	return config_wrong(why, "give %s", list);
}

static bool read_transport(struct config_setup *s, char *value, struct config_why *why)
{
	uint8_t place = 0;

	if (!read_word(value, transport_names, &place, why))
		return false;
	s->transport = transports[place];
	return true;
}

static bool read_driver(struct config_setup *s, char *value, struct config_why *why)
{
	return read_word(value, config_driver_names, &s->driver, why);
}

static bool read_cc(struct config_setup *s, char *value, struct config_why *why)
{
	return read_word(value, config_cc_names, &s->cc, why);
}

/* What the kernel takes for a name, and a terminal can show. */
static bool is_interface_name(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n >= IF_NAMESIZE || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (; *name; name++) {
		if (*name <= ' ' || *name == '/' || *name == ':' || *name == 0x7f)
			return false;
	}
	return true;
}

static bool read_ports(struct config_setup *s, char *value, struct config_why *why)
{
	char *rest = NULL;

	s->n_ports = 0;
	for (char *name = strtok_r(value, SEPARATORS, &rest); name;
	     name = strtok_r(NULL, SEPARATORS, &rest)) {
		if (!is_interface_name(name))
			return config_wrong(why, "'%.20s' is no name of an interface", name);
		for (uint32_t i = 0; i < s->n_ports; i++) {
			if (!strcmp(s->interfaces[i], name))
				return config_wrong(why, "%s stands there twice", name);
		}
		if (s->n_ports == ENGINE_PORTS)
			return config_wrong(why, "too many: a device has at most %u ports",
					    ENGINE_PORTS);
		snprintf(s->interfaces[s->n_ports++], IF_NAMESIZE, "%s", name);
	}
	return s->n_ports || config_wrong(why, "give one to %u interfaces", ENGINE_PORTS);
}

static bool add_address(struct config_setup *s, const char *text)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	uint8_t *gid = s->addresses[s->n_addresses];

	if (inet_pton(AF_INET, text, gid + sizeof v4) == 1)
		memcpy(gid, v4, sizeof v4);
	else if (inet_pton(AF_INET6, text, gid) != 1)
		return false;
	s->n_addresses++;
	return true;
}

static bool read_addresses(struct config_setup *s, char *value, struct config_why *why)
{
	char *rest = NULL;

	s->has_lo = false;
	s->n_addresses = 0;
	for (char *word = strtok_r(value, SEPARATORS, &rest); word;
	     word = strtok_r(NULL, SEPARATORS, &rest)) {
		if (!strcmp(word, "lo")) {
			s->has_lo = true;
			continue;
		}
		if (s->n_addresses == CONFIG_ADDRESSES_MAX)
			return config_wrong(why, "too many: at most %u", CONFIG_ADDRESSES_MAX);
		if (!add_address(s, word))
			return config_wrong(why, "'%.45s' is no address, and not lo", word);
	}
	return s->has_lo || s->n_addresses ||
	       config_wrong(why, "give lo, or addresses of this machine");
}

static bool read_dscp(uint8_t *dscp, const char *value, struct config_why *why)
{
	uint64_t v = 0;

	if (!read_number(value, 0, DSCP_MOST, &v, why))
		return false;
	*dscp = (uint8_t)v;
	return true;
}

static bool read_dscp_data(struct config_setup *s, char *value, struct config_why *why)
{
	return read_dscp(&s->dscp[ENGINE_DATA], value, why);
}

static bool read_dscp_retransmit(struct config_setup *s, char *value, struct config_why *why)
{
	return read_dscp(&s->dscp[ENGINE_RETX], value, why);
}

static bool read_dscp_no_trim(struct config_setup *s, char *value, struct config_why *why)
{
	return read_dscp(&s->dscp[ENGINE_NO_TRIM], value, why);
}

static bool read_dscp_control(struct config_setup *s, char *value, struct config_why *why)
{
	return read_dscp(&s->dscp[ENGINE_CONTROL], value, why);
}

/* SL:DSCP for all three, or SL:DATA:RETRANSMIT:NO_TRIM, off the front of *at. */
static bool take_service_level(const char **at, struct config_setup *s)
{
	uint64_t sl, dscp[ENGINE_CONTROL];
	uint32_t n = 0;

	if (!config_take_number(at, CONFIG_SLS - 1, &sl))
		return false;
	while (**at == ':') {
		++*at;
		if (n == ENGINE_CONTROL || !config_take_number(at, DSCP_MOST, &dscp[n++]))
			return false;
	}
	if ((n != 1 && n != ENGINE_CONTROL) || s->sls >> sl & 1)
		return false;
	s->sls = (uint16_t)(s->sls | 1u << sl);
	for (uint32_t i = 0; i < ENGINE_CONTROL; i++)
		s->sl_dscp[sl][i] = (uint8_t)dscp[n == 1 ? 0 : i];
	return true;
}

static bool read_service_levels(struct config_setup *s, char *value, struct config_why *why)
{
	const char *at = value;

	s->sls = 0;
	do {
		if (!take_service_level(&at, s) || !strchr(SEPARATORS, *at))
			return config_wrong(why,
					    "give SL:DSCP, or SL:DATA:RETRANSMIT:NO-TRIM, with "
					    "SL 0 to 15 and DSCPs 0 to 63; more may follow");
		at += strspn(at, SEPARATORS);
	} while (*at);
	return true;
}

static bool read_ecn(struct config_setup *s, char *value, struct config_why *why)
{
	static const char *const words[] = {"on", "off", NULL};
	uint8_t number = 0;

	if (!read_word(value, words, &number, why))
		return false;
	s->is_not_ect = number == 1;
	return true;
}

static bool read_cnp_port(struct config_setup *s, char *value, struct config_why *why)
{
	static const char *const words[] = {"any", "peer", NULL};
	uint8_t number = 0;

	if (!read_word(value, words, &number, why))
		return false;
	s->is_cnp_port_checked = number == 1;
	return true;
}

static bool read_trim(struct config_setup *s, char *value, struct config_why *why)
{
	uint64_t dscp[2] = {0, NET_DSCP_NONE};
	const char *at = value;

	s->has_trim = strcmp(value, "off") != 0;
	if (!s->has_trim)
		return true;
	bool is_good = config_take_number(&at, DSCP_MOST, &dscp[0]);
	size_t gap = strspn(at, SEPARATORS);

	at += gap;
	if (is_good && gap)
		is_good = config_take_number(&at, DSCP_MOST, &dscp[1]);
	if (!is_good || *at || dscp[0] == dscp[1])
		return config_wrong(why,
				    "give off, or the DSCP of packets that were cut and, if it is "
				    "another one, that of the last hop, 0 to %u",
				    DSCP_MOST);
	s->dscp_trimmed = (uint8_t)dscp[0];
	s->dscp_trimmed_lasthop = (uint8_t)dscp[1];
	return true;
}

static bool read_window(struct config_setup *s, char *value, struct config_why *why)
{
	if (read_amount(value, bytes_units, CONFIG_WINDOW_MOST, &s->window_bytes) &&
	    s->window_bytes >= CONFIG_WINDOW_LEAST)
		return true;
	return config_wrong(why, "give bytes, %u to %llu; KiB, MiB and GiB may follow",
			    CONFIG_WINDOW_LEAST, (unsigned long long)CONFIG_WINDOW_MOST);
}

static bool read_rate(struct config_setup *s, char *value, struct config_why *why)
{
	if (read_amount(value, rate_units, CC_BPS_MAX, &s->rate_bps) && s->rate_bps >= CC_BPS_MIN)
		return true;
	return config_wrong(why, "give bits per second, from %llu on, or say 100Gb/s",
			    (unsigned long long)CC_BPS_MIN);
}

static bool read_ev_count(struct config_setup *s, char *value, struct config_why *why)
{
	uint64_t v = 0;

	if (!read_number(value, 1, PATH_EVS_MAX, &v, why))
		return false;
	if (s->evs.n)
		return config_wrong(why, "ev says how many there are; leave one of them out");
	s->evs.n = (uint32_t)v;
	return true;
}

static bool read_min_active(struct config_setup *s, char *value, struct config_why *why)
{
	uint64_t v = 0;

	if (!read_number(value, 1, PATH_EVS_MAX, &v, why))
		return false;
	s->evs.min_active = (uint16_t)v;
	return true;
}

static bool read_burst(struct config_setup *s, char *value, struct config_why *why)
{
	uint64_t v = 0;

	if (!read_number(value, 1, UINT16_MAX, &v, why))
		return false;
	s->ev_burst = (uint16_t)v;
	return true;
}

static bool read_pool(struct config_setup *s, char *value, struct config_why *why)
{
	if (read_amount(value, bytes_units, CONFIG_POOL_MOST, &s->pool_bytes) &&
	    s->pool_bytes >= CONFIG_POOL_LEAST)
		return true;
	return config_wrong(why, "give bytes, 1MiB to 16GiB; KiB, MiB and GiB may follow");
}

static bool read_stranger_rate(struct config_setup *s, char *value, struct config_why *why)
{
	uint64_t v = 0;

	if (!read_number(value, 0, CONFIG_STRANGERS_MAX, &v, why))
		return false;
	s->stranger_rate = v ? (uint32_t)v : CONFIG_NO_STRANGERS;
	return true;
}

const struct config_reader config_readers[CONFIG_KEYS] = {
	[KEY_TRANSPORT] = {"transport", .read = read_transport},
	[KEY_DRIVER] = {"driver", "WEFT_DRIVER", .read = read_driver},
	[KEY_PORTS] = {"ports", .read = read_ports},
	[KEY_ADDRESSES] = {"addresses", .read = read_addresses},
	[KEY_DSCP_DATA] = {"dscp-data", .read = read_dscp_data},
	[KEY_DSCP_RETRANSMIT] = {"dscp-retransmit", .read = read_dscp_retransmit},
	[KEY_DSCP_NO_TRIM] = {"dscp-no-trim", .read = read_dscp_no_trim},
	[KEY_DSCP_CONTROL] = {"dscp-control", .read = read_dscp_control},
	[KEY_SERVICE_LEVELS] = {"service-levels", NULL, TRANSPORT_CLASSES, read_service_levels},
	[KEY_ECN] = {"ecn", .read = read_ecn},
	[KEY_TRIM] = {"trim", NULL, TRANSPORT_TRIMS, read_trim},
	[KEY_CC] = {"cc", "WEFT_CC", .read = read_cc},
	[KEY_CNP_PORT] = {"cnp-port", NULL, TRANSPORT_CNPS, read_cnp_port},
	[KEY_WINDOW] = {"window", "WEFT_WINDOW", .read = read_window},
	[KEY_RATE] = {"rate", .read = read_rate},
	[KEY_EV] = {"ev", "WEFT_EV", TRANSPORT_PROFILES, config_read_ev},
	[KEY_EV_COUNT] = {"ev-count", NULL, TRANSPORT_PROFILES, read_ev_count},
	[KEY_EV_MIN_ACTIVE] = {"ev-min-active", NULL, TRANSPORT_PROFILES, read_min_active},
	[KEY_EV_BURST] = {"ev-burst", "WEFT_EV_BURST", TRANSPORT_PROFILES, read_burst},
	[KEY_POOL_MEMORY] = {"pool-memory", NULL, TRANSPORT_POOLS, read_pool},
	[KEY_STRANGER_RATE] = {"stranger-rate", "WEFT_STRANGER_RATE", TRANSPORT_ENDPOINTS,
			       read_stranger_rate},
};
