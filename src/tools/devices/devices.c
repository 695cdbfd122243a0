#define _GNU_SOURCE /* secure_getenv(3) */

#include "tools/devices/devices.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command.h"

static const char usage[] =
	"usage: weft devices [OPTION...]\n"
	"\n"
	"Shows the devices that RDMA programs and `weft perf` find on this machine: their\n"
	"transport, driver and why that one, ports, state, MTU and addresses.\n";

static const char notes[] =
	"Devices come from the file that WEFT_CONFIG names, else ~/.config/weft/devices.conf,\n"
	"else /etc/weft/devices.conf; without one each interface with an address is\n"
	"weft_rcN and weft_mrcN, on the udp driver. For quick use, the environment:\n"
	"\n"
	"  WEFT_INTERFACES=eth0,eth1+eth2  only these; joined ones are ports of one device\n"
	"  WEFT_DRIVER=udp|raw|xdp         the driver of all devices\n"
	"  WEFT_CC=fixed|dcqcn|nscc        congestion control, where the transport has it\n"
	"  WEFT_WINDOW=BYTES               that a queue pair has out at once\n"
	"  WEFT_EV=auto:128                entropy values of MRC devices\n"
	"  WEFT_EV_BURST=N                 packets in a row that take one EV\n"
	"  WEFT_STRANGER_RATE=N            endpoint requests of strangers answered in a second\n"
	"\n"
	"exit status:\n"
	"  0    the devices are shown, also where there are none\n"
	"  3    the configuration is wrong: standard error says where, and what is right\n"
	"\n"
	"examples:\n"
	"  weft devices\n"
	"  weft devices --probe\n"
	"  weft devices --config > devices.conf\n"
	"  WEFT_DRIVER=raw WEFT_INTERFACES=eth0+eth1 weft devices\n";

struct job {
	bool has_json, has_probe, has_config;
};

static const struct command_option options[] = {
	{"probe", NULL,
	 "try each driver on each interface, and say what would work,\n"
	 "and if not, why",
	 OPTION_INTO(has_probe)},
	{"config", NULL, "the devices as a configuration file, everything spelled out",
	 OPTION_INTO(has_config)},
	{"json", NULL, "one JSON document instead", OPTION_INTO(has_json)},
	{.name = NULL},
};

void devices_address(const struct nic_gid *gid, char text[64])
{
	char link[IF_NAMESIZE] = "";
	struct sockaddr_in6 in6;

	if (gid->address.ss_family == AF_INET) {
		inet_ntop(AF_INET, gid->raw + 12, text, 64);
		return;
	}
	memcpy(&in6, &gid->address, sizeof in6);
	inet_ntop(AF_INET6, gid->raw, text, 46);
	if (!in6.sin6_scope_id || !if_indextoname(in6.sin6_scope_id, link))
		return;
	size_t len = strlen(text);

	snprintf(text + len, 64 - len, "%%%s", link);
}

bool devices_missing(const struct nic_info *info, uint32_t i, char text[64])
{
	for (uint32_t k = 0; k < info->setup.n_addresses; k++) {
		const uint8_t *raw = info->setup.addresses[k];
		uint32_t at = 0;

		while (at < info->n_gids && memcmp(info->gids[at].raw, raw, 16) != 0)
			at++;
		if (at < info->n_gids || i-- > 0)
			continue;
		inet_ntop(AF_INET6, raw, text, 64);
		return true;
	}
	return false;
}

bool devices_is_first(const struct devices *d, int i, uint32_t k)
{
	const char *name = d->list[i].ports[k].interface;

	for (int j = 0; j <= i; j++) {
		for (uint32_t m = 0; m < (j < i ? d->list[j].n_ports : k); m++) {
			if (!strcmp(d->list[j].ports[m].interface, name))
				return false;
		}
	}
	return true;
}

static void print_config(const struct devices *d)
{
	for (int i = 0; i < d->n; i++) {
		struct config_device one = {.setup = d->list[i].setup};
		char text[4096];

		memcpy(one.name, d->list[i].name, sizeof one.name);
		config_print(&one, text, sizeof text);
		printf("%s# %s\n%s", i ? "\n" : "", d->list[i].why, text);
	}
}

/* Where it is said what devices there are, as nic_list went by it; NULL: nowhere. */
static const char *find_source(struct config_file *config)
{
	struct config_device *list = NULL;
	struct config_error error;

	if (secure_getenv("WEFT_INTERFACES"))
		return "WEFT_INTERFACES";
	if (config_find(config, &error) || config_read(config, &list, &error) <= 0)
		return NULL;
	free(list);
	return config->name;
}

static int show(const struct job *job)
{
	struct config_file config = {.text = NULL};
	struct devices d = {.list = NULL};

	d.n = nic_list(&d.list);
	if (d.n < 0)
		return command_error("weft devices", STATUS_FILE, NULL, nic_error());
	d.source = find_source(&config);
	if (job->has_config) {
		print_config(&d);
	} else {
		for (int i = 0; i < d.n; i++)
			nic_settle(&d.list[i]);
		if (job->has_json)
			devices_json(&d, job->has_probe);
		else
			devices_table(&d, job->has_probe);
	}
	free(config.text);
	free(d.list);
	return STATUS_OK;
}

static int run_devices(int argc, char **argv)
{
	struct job job = {0};
	int status = command_options(&devices_command, argc, argv, &job);

	if (status != STATUS_OK)
		return status == STATUS_HELP ? finish_output(argv[0]) : status;
	if (optind < argc)
		return usage_error(argv[0], "takes no arguments");
	if (job.has_config && (job.has_json || job.has_probe))
		return usage_error(argv[0], "--config stands alone");
	status = show(&job);
	int written = finish_output(argv[0]);

	return written > status ? written : status;
}

const struct command devices_command = {
	.name = "devices",
	.brief = "show the devices of this machine, their drivers, and what would work",
	.usage = usage,
	.options = options,
	.notes = notes,
	.run = run_devices,
};
