#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/devices.h"
#include "tools/text.h"

static void put_text(const char *key, const char *text)
{
	printf("\"%s\":", key);
	text_put_json(stdout, text);
}

static void put_ports(const struct nic_info *info)
{
	fputs(",\"ports\":[", stdout);
	for (uint32_t i = 0; i < info->n_ports; i++) {
		const struct nic_port *p = &info->ports[i];

		fputs(i ? ",{" : "{", stdout);
		put_text("interface", p->interface);
		printf(",\"ifindex\":%u,\"up\":%s,\"mtu\":%u,\"speed_bps\":%" PRIu64 "}",
		       p->ifindex, p->is_up ? "true" : "false", p->mtu, p->speed_bps);
	}
	fputs("]", stdout);
}

static void put_addresses(const struct nic_info *info)
{
	bool is_first = true;
	char text[64];

	fputs(",\"addresses\":[", stdout);
	for (uint32_t i = 0; i < info->n_gids; i++) {
		if (info->gids[i].address.ss_family == AF_UNSPEC)
			continue;
		devices_address(&info->gids[i], text);
		printf("%s{\"gid\":%u,", is_first ? "" : ",", i);
		put_text("address", text);
		fputs("}", stdout);
		is_first = false;
	}
	fputs("],\"missing_addresses\":[", stdout);
	for (uint32_t i = 0; devices_missing(info, i, text); i++) {
		fputs(i ? "," : "", stdout);
		text_put_json(stdout, text);
	}
	fputs("]", stdout);
}

static void put_device(const struct nic_info *info)
{
	const struct nic_setup *s = &info->setup;

	fputs("{", stdout);
	put_text("name", info->name);
	fputs(",", stdout);
	put_text("transport", nic_transport_names[s->transport]);
	fputs(",", stdout);
	put_text("driver", nic_driver_names[s->driver]);
	fputs(",", stdout);
	put_text("why", info->why);
	printf(",\"up\":%s,\"mtu\":%u,\"pmtu\":%u,\"window_bytes\":%" PRIu64
	       ",\"rate_bps\":%" PRIu64,
	       info->is_up ? "true" : "false", info->mtu, nic_pmtu(s, info->mtu), s->window_bytes,
	       s->rate_bps);
	put_ports(info);
	put_addresses(info);
	fputs("}", stdout);
}

static void put_probe(const char *interface, bool *is_first)
{
	char why[NIC_WHY_MAX];

	for (uint32_t driver = 0; driver < NIC_DRIVERS; driver++) {
		int r = nic_probe((enum nic_driver)driver, interface, why, sizeof why);

		fputs(*is_first ? "{" : ",{", stdout);
		put_text("interface", interface);
		fputs(",", stdout);
		put_text("driver", nic_driver_names[driver]);
		printf(",\"works\":%s,", r ? "false" : "true");
		put_text("why", why);
		fputs("}", stdout);
		*is_first = false;
	}
}

static void put_probes(const struct devices *d)
{
	struct port_holder holders[DEVICES_HOLDERS];
	uint32_t n = devices_holders(holders);
	bool is_first = true;

	fputs(",\"probes\":[", stdout);
	for (int i = 0; i < d->n; i++) {
		for (uint32_t k = 0; k < d->list[i].n_ports; k++) {
			if (devices_is_first(d, i, k))
				put_probe(d->list[i].ports[k].interface, &is_first);
		}
	}
	fputs("],\"port_holders\":[", stdout);
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? ",{" : "{", stdout);
		put_text("address", holders[i].address);
		fputs(",", stdout);
		put_text("program", holders[i].program);
		printf(",\"pid\":%u,\"uid\":%u}", holders[i].pid, holders[i].uid);
	}
	fputs("]", stdout);
}

void devices_json(const struct devices *d, bool has_probe)
{
	fputs("{\"source\":", stdout);
	if (d->source)
		text_put_json(stdout, d->source);
	else
		fputs("null", stdout);
	fputs(",\"devices\":[", stdout);
	for (int i = 0; i < d->n; i++) {
		fputs(i ? "," : "", stdout);
		put_device(&d->list[i]);
	}
	fputs("]", stdout);
	if (has_probe)
		put_probes(d);
	fputs("}\n", stdout);
}
