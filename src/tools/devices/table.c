#include <stdio.h>
#include <string.h>

#include "tools/devices/devices.h"
#include "tools/text.h"

/* Columns as wide as what stands in them. */
struct widths {
	int name, port;
};

static int wider(int width, const char *text)
{
	int len = (int)strlen(text);

	return len > width ? len : width;
}

static struct widths measure(const struct devices *d)
{
	struct widths w = {(int)strlen("device"), (int)strlen("port")};

	for (int i = 0; i < d->n; i++) {
		w.name = wider(w.name, d->list[i].name);
		for (uint32_t k = 0; k < d->list[i].n_ports; k++)
			w.port = wider(w.port, d->list[i].ports[k].interface);
	}
	return w;
}

static void add_number(struct text *t, uint64_t value, int width)
{
	if (value)
		text_add(t, "%*llu  ", width, (unsigned long long)value);
	else
		text_add(t, "%*s  ", width, "-");
}

static void add_port(struct text *t, const struct nic_info *info, uint32_t i, int width)
{
	const struct nic_port *p = &info->ports[i];

	text_add(t, "%-*s  %-5s  ", width, p->interface,
		 !p->ifindex ? "none"
		 : p->is_up  ? "up"
			     : "down");
	add_number(t, p->speed_bps / 1000000000u, 4);
	add_number(t, p->mtu, 5);
	add_number(t, nic_pmtu(&info->setup, p->mtu), 4);
}

static void put_line(struct text *t)
{
	while (t->len && t->at[t->len - 1] == ' ')
		t->at[--t->len] = 0;
	puts(t->at);
}

/* Addresses have no lines of their own where there are ports to stand beside. An empty place in the
 * table of GIDs is skipped. */
static uint32_t next_gid(const struct nic_info *info, uint32_t at)
{
	while (at < info->n_gids && info->gids[at].address.ss_family == AF_UNSPEC)
		at++;
	return at;
}

static void put_device(const struct nic_info *info, struct widths w)
{
	uint32_t at = next_gid(info, 0);
	struct text line;
	char text[64];

	for (uint32_t i = 0; i < info->n_ports || at < info->n_gids; i++) {
		text_clear(&line);
		text_add(&line, "%-*s  %-9s  %-6s  ", w.name, i ? "" : info->name,
			 i ? "" : info->setup.transport->name,
			 i ? "" : config_driver_names[info->setup.driver]);
		if (i < info->n_ports)
			add_port(&line, info, i, w.port);
		else
			text_add(&line, "%-*s  %-5s  %4s  %5s  %4s  ", w.port, "", "", "", "", "");
		if (at < info->n_gids) {
			devices_address(&info->gids[at], text);
			text_add(&line, "%3u  %s", nic_gid_index(at), text);
			at = next_gid(info, at + 1);
		} else if (i == 0) {
			text_add(&line, "%3s  no address", "");
		}
		put_line(&line);
	}
	printf("%*s  %s\n", w.name, "", info->why);
	for (uint32_t i = 0; devices_missing(info, i, text); i++)
		printf("%*s  address %s: no interface has it\n", w.name, "", text);
	for (uint32_t i = 0; i < info->n_ports; i++) {
		if (!info->ports[i].ifindex)
			printf("%*s  port %s: there is no such interface\n", w.name, "",
			       info->ports[i].interface);
	}
}

static void put_probes(const char *interface, int width)
{
	char why[CONFIG_WHY_MAX];

	for (uint32_t driver = 0; driver < CONFIG_DRIVERS; driver++) {
		int r = nic_probe((enum config_driver)driver, interface, why, sizeof why);

		printf("%-*s  %-6s  %-5s  %s\n", width, driver ? "" : interface,
		       config_driver_names[driver], r ? "no" : "works", why);
	}
}

static void put_holders(void)
{
	struct port_holder holders[DEVICES_HOLDERS];
	uint32_t n = devices_holders(holders);

	printf("\nUDP port %u: ", DEVICES_PORT);
	if (!n) {
		puts("free");
		return;
	}
	puts("in use; devices of one user share it, any other program is in their way");
	for (uint32_t i = 0; i < n; i++) {
		printf("  %s: ", holders[i].address);
		if (holders[i].pid) {
			text_put_safe(stdout, holders[i].program);
			printf(", process %u", holders[i].pid);
		} else {
			fputs("a program that this user may not see", stdout);
		}
		printf(", of user %u\n", holders[i].uid);
	}
}

void devices_table(const struct devices *d, bool has_probe)
{
	struct widths w = measure(d);

	fputs("devices of ", stdout);
	text_put_safe(stdout, d->source ? d->source : "every interface with an address");
	puts(":");
	if (!d->n)
		puts("none");
	else
		printf("%-*s  %-9s  %-6s  %-*s  %-5s  %4s  %5s  %4s  %3s  %s\n", w.name, "device",
		       "transport", "driver", w.port, "port", "state", "Gb/s", "MTU", "PMTU", "GID",
		       "address");
	for (int i = 0; i < d->n; i++)
		put_device(&d->list[i], w);
	if (!has_probe)
		return;
	printf("\n%-*s  driver         what it needs, or lacks\n", w.port, "port");
	for (int i = 0; i < d->n; i++) {
		for (uint32_t k = 0; k < d->list[i].n_ports; k++) {
			if (devices_is_first(d, i, k))
				put_probes(d->list[i].ports[k].interface, w.port);
		}
	}
	put_holders();
}
