/* Which device a test is run on, and what its addresses are. */
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf/perf.h"

#define GID_BYTES 16u

void perf_gid_of(const struct sockaddr_storage *a, uint8_t gid[GID_BYTES])
{
	memset(gid, 0, GID_BYTES);
	if (a->ss_family == AF_INET6) {
		memcpy(gid, &((const struct sockaddr_in6 *)a)->sin6_addr, GID_BYTES);
		return;
	}
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
}

/* Where in the table, or n_gids. */
static uint32_t place_of(const struct nic_info *info, const uint8_t gid[GID_BYTES])
{
	uint32_t i = 0;

	while (i < info->n_gids && memcmp(info->gids[i].raw, gid, GID_BYTES) != 0)
		i++;
	return i;
}

static bool is_chosen(const struct perf_choice *c, uint8_t transport, const struct nic_info *info)
{
	return info->setup.transport == transports[transport] &&
	       (!c->device || strcmp(c->device, info->name) == 0);
}

static int no_device(const struct perf_link *l, uint8_t transport, int n)
{
	const struct perf_choice *c = &l->choice;

	if (n < 0)
		return perf_complain(l, "list the devices", n);
	fprintf(stderr,
		"%s: no %s device%s%s has the address of the control connection; see 'weft "
		"devices', and WEFT_INTERFACES in weft-devices(1)\n",
		l->name, transport_names[transport], c->device ? " named " : "",
		c->device ? c->device : "");
	return -ENODEV;
}

int perf_find_device(const struct perf_link *l, uint8_t transport, struct nic_info *info,
		     uint32_t *gid_index)
{
	struct nic_info *list = NULL;
	uint8_t gid[GID_BYTES];
	int n = nic_list(&list), i = 0;

	perf_gid_of(&l->local, gid);
	while (i < n && (!is_chosen(&l->choice, transport, &list[i]) ||
			 place_of(&list[i], gid) == list[i].n_gids))
		i++;
	if (i < n) {
		*info = list[i];
		*gid_index = nic_gid_index(place_of(info, gid));
	}
	free(list);
	return i < n ? 0 : no_device(l, transport, n);
}

uint16_t perf_best_pmtu(struct perf_link *l, uint8_t transport)
{
	struct nic_info info = {.mtu = 0};
	uint32_t gid_index;

	if (perf_find_device(l, transport, &info, &gid_index) != 0)
		return 0;
	uint32_t pmtu = nic_pmtu(&info.setup, info.mtu);

	/* A route that carries no packet of ours says so when it is opened. */
	return pmtu ? (uint16_t)pmtu : 256;
}

/* The place of an address of that interface in the table, of the family of the link; n_gids: it has
 * none. One of the link only means nothing to the peer. */
static uint32_t plane_place(const struct nic_info *info, const char *interface, int family)
{
	struct ifaddrs *all;
	uint32_t place = info->n_gids;

	if (getifaddrs(&all) != 0)
		return place;
	for (const struct ifaddrs *a = all; a && place == info->n_gids; a = a->ifa_next) {
		struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
		uint8_t gid[GID_BYTES];

		if (!a->ifa_addr || a->ifa_addr->sa_family != family ||
		    strcmp(a->ifa_name, interface) != 0)
			continue;
		memcpy(&address, a->ifa_addr,
		       family == AF_INET6 ? sizeof(struct sockaddr_in6)
					  : sizeof(struct sockaddr_in));
		perf_gid_of(&address, gid);
		if (gid[0] != 0xfe || (gid[1] & 0xc0) != 0x80)
			place = place_of(info, gid);
	}
	freeifaddrs(all);
	return place;
}

static uint32_t word_of(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof word);
	return ntohl(word);
}

static int send_plane(struct perf_link *l, const struct nic_info *info, uint32_t port,
		      uint32_t gid_index)
{
	const uint8_t *gid = info->gids[nic_gid_place(gid_index)].raw;

	return perf_send_line(l, "plane %u %u %u %u %u", port, word_of(gid), word_of(gid + 4),
			      word_of(gid + 8), word_of(gid + 12));
}

static int read_plane(struct perf_link *l, struct nic_path *path)
{
	char line[PERF_LINE_MAX];
	uint64_t v[5];
	int answer = perf_read_line(l, line);

	if (answer != 0)
		return answer;
	if (!perf_numbers(line, "plane", v, 5) || v[0] >= ENGINE_PORTS)
		return perf_complain(l, "read the peer's addresses", -EPROTO);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t word = htonl((uint32_t)v[1 + i]);

		memcpy(path->plane[v[0]].dgid + 4 * (size_t)i, &word, sizeof word);
	}
	path->planes |= UINT32_C(1) << v[0];
	return 0;
}

int perf_meet_planes(struct perf_end *e, struct perf_link *l, struct nic_path *path)
{
	const struct config_setup *s = &e->info.setup;
	uint32_t mine = 0, n_ports = s->driver == CONFIG_UDP ? 1 : s->n_ports;
	/* A socket of IPv6 may have an end of IPv4: the table knows. */
	int family = e->info.gids[nic_gid_place(e->gid_index)].address.ss_family;
	char line[PERF_LINE_MAX];
	uint64_t theirs;

	for (uint32_t port = 0; n_ports > 1 && port < n_ports; port++) {
		uint32_t place = plane_place(&e->info, s->interfaces[port], family);

		path->plane[port].gid_index = nic_gid_index(place);
		mine |= (uint32_t)(place < e->info.n_gids) << port;
	}
	int answer = perf_send_line(l, "planes %u", mine);

	for (uint32_t port = 0; answer == 0 && port < ENGINE_PORTS; port++)
		if (mine >> port & 1)
			answer = send_plane(l, &e->info, port, path->plane[port].gid_index);
	if (answer == 0)
		answer = perf_read_line(l, line);
	if (answer != 0)
		return answer;
	if (!perf_numbers(line, "planes", &theirs, 1))
		return perf_complain(l, "read the peer's addresses", -EPROTO);
	for (uint32_t i = 0; answer == 0 && i < ENGINE_PORTS; i++)
		if (theirs >> i & 1)
			answer = read_plane(l, path);
	path->planes &= mine;
	return answer;
}
