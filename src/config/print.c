/* A device as a section of a configuration file. */
#include "config/inside.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wire/net.h"

/* Text in memory that may be too small: what does not fit is only counted. */
struct page {
	char *at;
	size_t room, len;
};

__attribute__((format(printf, 2, 3))) static void add(struct page *p, const char *format, ...)
{
	va_list args;
	size_t used = p->len < p->room ? p->len : p->room;

	va_start(args, format);
	int n = vsnprintf(p->at + used, p->room - used, format, args);

	va_end(args);
	p->len += n > 0 ? (size_t)n : 0;
}

static void add_key(struct page *p, enum config_key key)
{
	add(p, "%s = ", config_readers[key].name);
}

static void add_ports(struct page *p, const struct config_setup *s)
{
	add_key(p, KEY_PORTS);
	for (uint32_t i = 0; i < s->n_ports; i++)
		add(p, "%s%s", i ? " " : "", s->interfaces[i]);
	add(p, "\n");
}

static void add_addresses(struct page *p, const struct config_setup *s)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	char text[INET6_ADDRSTRLEN];

	if (!s->has_lo && !s->n_addresses)
		return;
	add_key(p, KEY_ADDRESSES);
	add(p, "%s", s->has_lo ? "lo" : "");
	for (uint32_t i = 0; i < s->n_addresses; i++) {
		const uint8_t *gid = s->addresses[i];
		bool is_v4 = !memcmp(gid, v4, sizeof v4);

		inet_ntop(is_v4 ? AF_INET : AF_INET6, gid + (is_v4 ? sizeof v4 : 0), text,
			  sizeof text);
		add(p, "%s%s", s->has_lo || i ? " " : "", text);
	}
	add(p, "\n");
}

static void add_service_levels(struct page *p, const struct config_setup *s)
{
	const char *before = "";

	if (!s->sls)
		return;
	add_key(p, KEY_SERVICE_LEVELS);
	for (uint32_t sl = 0; sl < CONFIG_SLS; sl++) {
		const uint8_t *dscp = s->sl_dscp[sl];

		if (!(s->sls >> sl & 1))
			continue;
		add(p, "%s%u:%u:%u:%u", before, sl, dscp[ENGINE_DATA], dscp[ENGINE_RETX],
		    dscp[ENGINE_NO_TRIM]);
		before = " ";
	}
	add(p, "\n");
}

static void add_classes(struct page *p, const struct config_setup *s)
{
	static const enum config_key keys[ENGINE_TCLASSES] = {KEY_DSCP_DATA, KEY_DSCP_RETRANSMIT,
							      KEY_DSCP_NO_TRIM, KEY_DSCP_CONTROL};

	for (uint32_t i = 0; i < ENGINE_TCLASSES; i++) {
		add_key(p, keys[i]);
		add(p, "%u\n", s->dscp[i]);
	}
	add_service_levels(p, s);
	add_key(p, KEY_ECN);
	add(p, "%s\n", s->is_not_ect ? "off" : "on");
	if (!transport_has(s->transport, TRANSPORT_TRIMS))
		return;
	add_key(p, KEY_TRIM);
	if (!s->has_trim)
		add(p, "off\n");
	else if (s->dscp_trimmed_lasthop == NET_DSCP_NONE)
		add(p, "%u\n", s->dscp_trimmed);
	else
		add(p, "%u %u\n", s->dscp_trimmed, s->dscp_trimmed_lasthop);
}

static void add_evs(struct page *p, const struct config_setup *s)
{
	const struct config_evs *e = &s->evs;

	add_key(p, KEY_EV);
	add(p, "%s", e->is_generated ? config_encoding_names[e->encoding] : "auto");
	for (uint32_t i = 0; i < e->n_fields; i++) {
		const struct path_field *f = &e->fields[i];

		add(p, "%c%u:0x%x", i ? ',' : ':', f->width, f->init);
		if (f->mask || f->min || f->max)
			add(p, ":0x%x:%u:%u", f->mask, f->min, f->max);
	}
	add(p, "\n");
	if (e->n) {
		add_key(p, KEY_EV_COUNT);
		add(p, "%u\n", e->n);
	}
	if (e->min_active) {
		add_key(p, KEY_EV_MIN_ACTIVE);
		add(p, "%u\n", e->min_active);
	}
	if (s->ev_burst) {
		add_key(p, KEY_EV_BURST);
		add(p, "%u\n", s->ev_burst);
	}
}

size_t config_print(const struct config_device *d, char *text, size_t len)
{
	const struct config_setup *s = &d->setup;
	struct page p = {text, len, 0};

	add(&p, "[%s]\n", d->name);
	add_key(&p, KEY_TRANSPORT);
	add(&p, "%s\n", s->transport->name);
	add_key(&p, KEY_DRIVER);
	add(&p, "%s\n", config_driver_names[s->driver]);
	add_ports(&p, s);
	add_addresses(&p, s);
	add_classes(&p, s);
	add_key(&p, KEY_CC);
	add(&p, "%s\n", config_cc_names[s->cc]);
	if (s->is_cnp_port_checked) {
		add_key(&p, KEY_CNP_PORT);
		add(&p, "peer\n");
	}
	if (s->window_bytes) {
		add_key(&p, KEY_WINDOW);
		add(&p, "%" PRIu64 "\n", s->window_bytes);
	}
	if (s->rate_bps) {
		add_key(&p, KEY_RATE);
		add(&p, "%" PRIu64 "\n", s->rate_bps);
	}
	if (transport_has(s->transport, TRANSPORT_PROFILES))
		add_evs(&p, s);
	if (s->pool_bytes) {
		add_key(&p, KEY_POOL_MEMORY);
		add(&p, "%" PRIu64 "\n", s->pool_bytes);
	}
	if (s->stranger_rate) {
		add_key(&p, KEY_STRANGER_RATE);
		add(&p, "%u\n", s->stranger_rate == CONFIG_NO_STRANGERS ? 0 : s->stranger_rate);
	}
	return p.len;
}
