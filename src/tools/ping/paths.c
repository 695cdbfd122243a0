/* Which paths there are: the device, its addresses towards the peers, and the entropy values. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/ctl/ctl.h"
#include "tools/ping/ping.h"
#include "wire/mrc.h"

#define GID_BYTES 16u
#define SENTENCE  256u

/* Both ends of the way to a peer. */
struct ends {
	uint8_t sgid[GID_BYTES], dgid[GID_BYTES];
};

static int complain(const struct ping *p, const char *what, const char *why)
{
	return command_error(p->name, STATUS_FILE, what, why);
}

static void gid_of(const struct sockaddr_storage *a, uint8_t gid[GID_BYTES])
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	memset(gid, 0, GID_BYTES);
	if (a->ss_family == AF_INET6) {
		memcpy(&in6, a, sizeof in6);
		memcpy(gid, &in6.sin6_addr, GID_BYTES);
		return;
	}
	memcpy(&in, a, sizeof in);
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, &in.sin_addr, 4);
}

/* The address that the kernel takes towards one; a negative errno: there is no way. */
static int find_source(const struct addrinfo *to, struct sockaddr_storage *from)
{
	socklen_t len = sizeof *from;
	int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), number = 0;

	if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) ||
	    getsockname(fd, (struct sockaddr *)from, &len))
		number = -errno;
	if (fd >= 0)
		close(fd);
	return number;
}

static int find_ends(const struct ping *p, const char *peer, struct ends *ends)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
	struct sockaddr_storage from = {.ss_family = AF_UNSPEC}, to = {.ss_family = AF_UNSPEC};
	struct addrinfo *found = NULL;
	int number = getaddrinfo(peer, "4791", &hints, &found);

	if (number)
		return complain(p, peer, gai_strerror(number));
	number = find_source(found, &from);
	memcpy(&to, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	if (number)
		return complain(p, peer, strerror(-number));
	gid_of(&from, ends->sgid);
	gid_of(&to, ends->dgid);
	return STATUS_OK;
}

static bool has_gid(const struct nic_info *info, const uint8_t gid[GID_BYTES])
{
	for (uint32_t i = 0; i < info->n_gids; i++)
		if (info->gids[i].address.ss_family != AF_UNSPEC &&
		    !memcmp(info->gids[i].raw, gid, GID_BYTES))
			return true;
	return false;
}

static bool is_of_port(const struct nic_info *info, const char *interface)
{
	for (uint32_t i = 0; i < info->n_ports; i++)
		if (!strcmp(info->ports[i].interface, interface))
			return true;
	return false;
}

/* The address of a host that has several ports, where it has one beside those of its ports, which
 * are in one plane each: answers to it come back by any of them. */
static void prefer_own(const struct nic_info *info, struct ends *ends)
{
	uint8_t v4[12] = {[10] = 0xff, [11] = 0xff}, gid[GID_BYTES];
	bool is_v4 = !memcmp(ends->dgid, v4, sizeof v4);
	struct ifaddrs *all = NULL;

	if (info->n_ports < 2 || getifaddrs(&all))
		return;
	for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
		struct sockaddr_storage address = {.ss_family = AF_UNSPEC};

		if (!a->ifa_addr || a->ifa_addr->sa_family != (is_v4 ? AF_INET : AF_INET6) ||
		    is_of_port(info, a->ifa_name))
			continue;
		memcpy(&address, a->ifa_addr,
		       is_v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
		gid_of(&address, gid);
		if (!has_gid(info, gid))
			continue;
		memcpy(ends->sgid, gid, GID_BYTES);
		break;
	}
	freeifaddrs(all);
}

static int no_device(const struct ping *p, const char *device, int n)
{
	char why[SENTENCE];

	if (n < 0)
		return complain(p, NULL, nic_error());
	if (device)
		snprintf(why, sizeof why, "there is no MRC device %.64s; see 'weft devices'",
			 device);
	else
		snprintf(why, sizeof why,
			 "no MRC device has the address of the way there; name one with "
			 "--device, see 'weft devices'");
	return complain(p, NULL, why);
}

int ping_find_device(struct ping *p, const char *device, char *const *peers, int n_peers)
{
	struct nic_info *list = NULL;
	struct ends ends = {.sgid = {0}};
	int status = n_peers && !device ? find_ends(p, peers[0], &ends) : STATUS_OK, i = 0;

	if (status)
		return status;
	if (!n_peers && !device)
		return ctl_choose(p->name, NULL, &p->info);
	int n = nic_list(&list);

	while (i < n &&
	       (!transport_has(list[i].setup.transport, TRANSPORT_PROFILES) ||
		(device ? strcmp(list[i].name, device) != 0 : !has_gid(&list[i], ends.sgid))))
		i++;
	if (i < n)
		p->info = list[i];
	free(list);
	return i < n ? STATUS_OK : no_device(p, device, n);
}

/* The values of an EV profile, as a controller set it. */
static int read_profile(struct ping *p, const struct control *c, const struct control_profile *f)
{
	uint8_t wide = CONTROL_STRUCTURED;

	for (uint32_t i = 0; f->mode != CONTROL_AUTO && i < c->n_formats; i++)
		if (c->formats[i].id == f->format_id)
			wide = c->formats[i].wide;
	for (uint32_t i = 0; i < f->count; i++) {
		struct nic_mrc_question *q = &p->paths[p->n_paths].question;

		if (f->evs[i].port == 0)
			continue;
		*q = (struct nic_mrc_question){
			.wide = wide,
			.port = (uint8_t)(f->evs[i].port - 1),
			.op = MRC_ENDPOINT_EV_PROBE,
			.dscp = p->info.setup.dscp[ENGINE_CONTROL],
		};
		control_expand(c, f, i, q->val);
		memcpy(p->paths[p->n_paths].value, f->evs[i].val, PATH_VALUE_BYTES);
		p->n_paths++;
	}
	return STATUS_OK;
}

static int find_profile(struct ping *p)
{
	const struct config_setup *s = &p->info.setup;
	char name[STORE_NAME_MAX], why[SENTENCE] = "";
	int number = -store_name(name, s->interfaces, s->n_ports), status = STATUS_OK;
	struct store *store = number ? NULL : store_open(name);
	struct control *c = store ? store_read(store) : NULL;
	struct control_profile *f = c ? control_find_profile(c, p->profile) : NULL;

	if (!c)
		snprintf(why, sizeof why, "what controllers set on %s cannot be read in %s: %s",
			 p->info.name, store_directory(), strerror(number ? number : errno));
	else if (!f || f->phase != CONTROL_ONLINE)
		snprintf(why, sizeof why, "%s has no EV profile %llu that is online", p->info.name,
			 (unsigned long long)p->profile);
	if (!f || *why)
		status = complain(p, NULL, why);
	else
		status = read_profile(p, c, f);
	control_free(c);
	if (store)
		store_close(store);
	return status;
}

static int check_counts(const struct ping *p, int n_peers)
{
	char why[SENTENCE];

	if (n_peers > 1 && (uint32_t)n_peers != p->info.n_ports) {
		snprintf(why, sizeof why,
			 "%d peers: one for all ports of %s, or one for each of its %u", n_peers,
			 p->info.name, p->info.n_ports);
		return complain(p, NULL, why);
	}
	return p->n_paths ? STATUS_OK : complain(p, NULL, "there are no paths to be asked");
}

int ping_find_paths(struct ping *p, char *const *peers, int n_peers)
{
	struct ends ends[ENGINE_PORTS] = {{.sgid = {0}}};
	struct nic_mrc_question *evs = calloc(PING_PATHS, sizeof *evs);
	int status = STATUS_OK;

	p->paths = calloc(PING_PATHS, sizeof *p->paths);
	if (!evs || !p->paths) {
		free(evs);
		return memory_error(p->name);
	}
	if (p->has_profile) {
		status = find_profile(p);
	} else {
		p->n_paths = nic_mrc_evs(p->user, evs, PING_PATHS);
		for (uint32_t i = 0; i < p->n_paths; i++) {
			p->paths[i].question = evs[i];
			memcpy(p->paths[i].value, evs[i].val, PATH_VALUE_BYTES);
		}
	}
	free(evs);
	if (!status)
		status = check_counts(p, n_peers);
	for (int i = 0; !status && i < n_peers; i++) {
		status = find_ends(p, peers[i], &ends[i]);
		if (!status && n_peers == 1)
			prefer_own(&p->info, &ends[i]);
		if (!status && !has_gid(&p->info, ends[i].sgid))
			status = complain(p, peers[i],
					  "the way there begins at an address that the device "
					  "does not have; see 'weft devices'");
	}
	for (uint32_t i = 0; !status && i < p->n_paths; i++) {
		struct nic_mrc_question *q = &p->paths[i].question;
		const struct ends *e = &ends[n_peers > 1 ? q->port % ENGINE_PORTS : 0];

		memcpy(q->sgid, e->sgid, GID_BYTES);
		memcpy(q->dgid, e->dgid, GID_BYTES);
	}
	return status;
}

int ping_sum(const struct ping *p, const uint8_t *port, struct ping_sum *sum)
{
	uint64_t *all = malloc(((size_t)p->n_paths * p->n_rounds + 1) * sizeof *all);
	size_t n = 0;

	*sum = (struct ping_sum){.n_paths = 0};
	if (!all)
		return memory_error(p->name);
	for (uint32_t i = 0; i < p->n_paths; i++) {
		const struct ping_path *path = &p->paths[i];

		if (port && path->question.port != *port)
			continue;
		sum->n_paths++;
		sum->n_asked += p->n_rounds;
		sum->n_whole += path->n_answers == p->n_rounds;
		sum->n_silent += path->n_answers == 0;
		memcpy(all + n, path->rtt_ns, path->n_answers * sizeof *all);
		n += path->n_answers;
	}
	sum->n_part = sum->n_paths - sum->n_whole - sum->n_silent;
	sum->n_answers = n;
	sum->rtt_ns = stats_of(all, n);
	free(all);
	return STATUS_OK;
}

static enum mrc_ctl_ev_fmt_mode mode_of(uint8_t wide)
{
	switch (wide) {
	case CONTROL_SRV6: return MRC_CTL_EV_FMT_MODE_SRV6;
	case CONTROL_UDP: return MRC_CTL_EV_FMT_MODE_UDP;
	default: return MRC_CTL_EV_FMT_MODE_STEV;
	}
}

void ping_value(const struct ping_path *path, struct text *t)
{
	struct mrc_ctl_ev ev = {.port = (uint8_t)(path->question.port + 1)};

	memcpy(ev.val, path->value, sizeof ev.val);
	ctl_value_text(t, mode_of(path->question.wide), &ev);
}
