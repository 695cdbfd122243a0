/* The interfaces and the addresses of a device. */
#include "config/inside.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff}; /* IPv4 as an address of IPv6 */

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

bool config_read_ports(struct config_setup *s, char *value, struct config_why *why)
{
	char *rest = NULL;

	s->n_ports = 0;
	for (char *name = strtok_r(value, CONFIG_SEPARATORS, &rest); name;
	     name = strtok_r(NULL, CONFIG_SEPARATORS, &rest)) {
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

void config_print_ports(const struct config_setup *s, struct config_page *page)
{
	for (uint32_t i = 0; i < s->n_ports; i++)
		config_add(page, "%s%s", i ? " " : "", s->interfaces[i]);
}

static bool add_address(struct config_setup *s, const char *text)
{
	uint8_t *gid = s->addresses[s->n_addresses];

	if (inet_pton(AF_INET, text, gid + sizeof v4) == 1)
		memcpy(gid, v4, sizeof v4);
	else if (inet_pton(AF_INET6, text, gid) != 1)
		return false;
	s->n_addresses++;
	return true;
}

bool config_read_addresses(struct config_setup *s, char *value, struct config_why *why)
{
	char *rest = NULL;

	s->has_lo = false;
	s->n_addresses = 0;
	for (char *word = strtok_r(value, CONFIG_SEPARATORS, &rest); word;
	     word = strtok_r(NULL, CONFIG_SEPARATORS, &rest)) {
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

void config_print_addresses(const struct config_setup *s, struct config_page *page)
{
	char text[INET6_ADDRSTRLEN];

	config_add(page, "%s", s->has_lo ? "lo" : "");
	for (uint32_t i = 0; i < s->n_addresses; i++) {
		const uint8_t *gid = s->addresses[i];
		bool is_v4 = !memcmp(gid, v4, sizeof v4);

		inet_ntop(is_v4 ? AF_INET : AF_INET6, gid + (is_v4 ? sizeof v4 : 0), text,
			  sizeof text);
		config_add(page, "%s%s", s->has_lo || i ? " " : "", text);
	}
}
