/* What DSCPs say: service levels, and which packets a switch cut. */
#include "config/inside.h"

#include <string.h>

#include "wire/net.h"

/* SL:DSCP for all three, or SL:DATA:RETRANSMIT:NO_TRIM, off the front of *at. */
static bool take_service_level(const char **at, struct config_setup *s)
{
	uint64_t sl, dscp[ENGINE_CONTROL];
	uint32_t n = 0;

	if (!config_take_number(at, CONFIG_SLS - 1, &sl))
		return false;
	while (**at == ':') {
		++*at;
		if (n == ENGINE_CONTROL || !config_take_number(at, CONFIG_DSCP_MOST, &dscp[n++]))
			return false;
	}
	if ((n != 1 && n != ENGINE_CONTROL) || s->sls >> sl & 1)
		return false;
	s->sls = (uint16_t)(s->sls | 1u << sl);
	for (uint32_t i = 0; i < ENGINE_CONTROL; i++)
		s->sl_dscp[sl][i] = (uint8_t)dscp[n == 1 ? 0 : i];
	return true;
}

bool config_read_service_levels(struct config_setup *s, char *value, struct config_why *why)
{
	const char *at = value;

	s->sls = 0;
	do {
		if (!take_service_level(&at, s) || !strchr(CONFIG_SEPARATORS, *at))
			return config_wrong(why,
					    "give SL:DSCP, or SL:DATA:RETRANSMIT:NO-TRIM, with "
					    "SL 0 to 15 and DSCPs 0 to 63; more may follow");
		at += strspn(at, CONFIG_SEPARATORS);
	} while (*at);
	return true;
}

void config_print_service_levels(const struct config_setup *s, struct config_page *page)
{
	const char *before = "";

	for (uint32_t sl = 0; sl < CONFIG_SLS; sl++) {
		const uint8_t *dscp = s->sl_dscp[sl];

		if (!(s->sls >> sl & 1))
			continue;
		config_add(page, "%s%u:%u:%u:%u", before, sl, dscp[ENGINE_DATA], dscp[ENGINE_RETX],
			   dscp[ENGINE_NO_TRIM]);
		before = " ";
	}
}

bool config_read_trim(struct config_setup *s, char *value, struct config_why *why)
{
	uint64_t dscp[2] = {0, NET_DSCP_NONE};
	const char *at = value;

	s->has_trim = strcmp(value, "off") != 0;
	if (!s->has_trim)
		return true;
	bool is_good = config_take_number(&at, CONFIG_DSCP_MOST, &dscp[0]);
	size_t gap = strspn(at, CONFIG_SEPARATORS);

	at += gap;
	if (is_good && gap)
		is_good = config_take_number(&at, CONFIG_DSCP_MOST, &dscp[1]);
	if (!is_good || *at || dscp[0] == dscp[1])
		return config_wrong(why,
				    "give off, or the DSCP of packets that were cut and, if it is "
				    "another one, that of the last hop, 0 to %u",
				    CONFIG_DSCP_MOST);
	s->dscp_trimmed = (uint8_t)dscp[0];
	s->dscp_trimmed_lasthop = (uint8_t)dscp[1];
	return true;
}

void config_print_trim(const struct config_setup *s, struct config_page *page)
{
	if (!s->has_trim)
		config_add(page, "off");
	else if (s->dscp_trimmed_lasthop == NET_DSCP_NONE)
		config_add(page, "%u", s->dscp_trimmed);
	else
		config_add(page, "%u %u", s->dscp_trimmed, s->dscp_trimmed_lasthop);
}
