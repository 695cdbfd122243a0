#include <stdio.h>
#include <string.h>

#include "tools/devices/devices.h"
#include "tools/json_file.h"

static void put_ports(struct json_writer *w, const struct nic_info *info)
{
	json_array(w, "ports", JSON_INLINE);
	for (uint32_t i = 0; i < info->n_ports; i++) {
		const struct nic_port *p = &info->ports[i];

		json_object(w, NULL, JSON_INLINE);
		json_text(w, "interface", p->interface);
		json_number(w, "ifindex", p->ifindex);
		json_truth(w, "up", p->is_up);
		json_number(w, "mtu", p->mtu);
		json_number(w, "speed_bps", p->speed_bps);
		json_close(w);
	}
	json_close(w);
}

static void put_addresses(struct json_writer *w, const struct nic_info *info)
{
	char text[64];

	json_array(w, "addresses", JSON_INLINE);
	for (uint32_t i = 0; i < info->n_gids; i++) {
		if (info->gids[i].address.ss_family == AF_UNSPEC)
			continue;
		devices_address(&info->gids[i], text);
		json_object(w, NULL, JSON_INLINE);
		json_number(w, "gid", nic_gid_index(i));
		json_text(w, "address", text);
		json_close(w);
	}
	json_close(w);
	json_array(w, "missing_addresses", JSON_INLINE);
	for (uint32_t i = 0; devices_missing(info, i, text); i++)
		json_text(w, NULL, text);
	json_close(w);
}

static void put_device(struct json_writer *w, const struct nic_info *info)
{
	const struct config_setup *s = &info->setup;

	json_object(w, NULL, JSON_INLINE);
	json_text(w, "name", info->name);
	json_text(w, "transport", s->transport->name);
	json_text(w, "driver", config_driver_names[s->driver]);
	json_text(w, "why", info->why);
	json_truth(w, "up", info->is_up);
	json_number(w, "mtu", info->mtu);
	json_number(w, "pmtu", nic_pmtu(s, info->mtu));
	json_number(w, "window_bytes", s->window_bytes);
	json_number(w, "rate_bps", s->rate_bps);
	put_ports(w, info);
	put_addresses(w, info);
	json_close(w);
}

static void put_probe(struct json_writer *w, const char *interface)
{
	char why[CONFIG_WHY_MAX];

	for (uint32_t driver = 0; driver < CONFIG_DRIVERS; driver++) {
		int r = nic_probe((enum config_driver)driver, interface, why, sizeof why);

		json_object(w, NULL, JSON_INLINE);
		json_text(w, "interface", interface);
		json_text(w, "driver", config_driver_names[driver]);
		json_truth(w, "works", r == 0);
		json_text(w, "why", why);
		json_close(w);
	}
}

static void put_probes(struct json_writer *w, const struct devices *d)
{
	struct port_holder holders[DEVICES_HOLDERS];
	uint32_t n = devices_holders(holders);

	json_array(w, "probes", JSON_INLINE);
	for (int i = 0; i < d->n; i++) {
		for (uint32_t k = 0; k < d->list[i].n_ports; k++) {
			if (devices_is_first(d, i, k))
				put_probe(w, d->list[i].ports[k].interface);
		}
	}
	json_close(w);
	json_array(w, "port_holders", JSON_INLINE);
	for (uint32_t i = 0; i < n; i++) {
		json_object(w, NULL, JSON_INLINE);
		json_text(w, "address", holders[i].address);
		json_text(w, "program", holders[i].program);
		json_number(w, "pid", holders[i].pid);
		json_number(w, "uid", holders[i].uid);
		json_close(w);
	}
	json_close(w);
}

void devices_json(const struct devices *d, bool has_probe)
{
	struct json_writer w = json_file(stdout);

	json_object(&w, NULL, JSON_INLINE);
	json_text(&w, "source", d->source);
	json_array(&w, "devices", JSON_INLINE);
	for (int i = 0; i < d->n; i++)
		put_device(&w, &d->list[i]);
	json_close(&w);
	if (has_probe)
		put_probes(&w, d);
	json_close(&w);
	json_end(&w);
}
