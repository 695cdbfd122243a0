/* Interfaces as devices: those that a configuration describes, or all. */
#define _GNU_SOURCE /* secure_getenv(3) */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nic/links.h"

/* Behind the first place: what works most widely comes first. */
static int gid_rank(const struct nic_gid *gid)
{
	if (gid->address.ss_family == AF_INET)
		return 0;
	return gid_is_of_link(gid->raw) ? 2 : 1;
}

static bool has_gid(const struct nic_info *info, const struct nic_gid *gid)
{
	for (uint32_t i = 0; i < info->n_gids; i++) {
		if (!memcmp(&info->gids[i], gid, sizeof *gid))
			return true;
	}
	return false;
}

static void gid_insert(struct nic_info *info, const struct nic_gid *gid)
{
	uint32_t at = info->n_gids;

	if (at == NIC_GIDS_MAX || has_gid(info, gid))
		return;
	for (; at && gid_rank(&info->gids[at - 1]) > gid_rank(gid); at--)
		info->gids[at] = info->gids[at - 1];
	info->gids[at] = *gid;
	info->n_gids++;
}

/* Where the first of that rank is, or n_gids. */
static uint32_t first_of_rank(const struct nic_info *info, int rank)
{
	uint32_t at = 0;

	while (at < info->n_gids && gid_rank(&info->gids[at]) != rank)
		at++;
	return at;
}

/* Addresses are in the order of their ranks, from the first place on: the one that belongs there
 * comes to the front, or nothing. Programs take GID 3 for IPv4 because NICs have an IPv6 address of
 * the link before it, from the moment that they are up. */
static void lay_out(struct nic_info *info)
{
	struct nic_gid first = {0};
	uint32_t at = first_of_rank(info, 2);

	if (!info->n_gids)
		return;
	if (at == info->n_gids)
		at = first_of_rank(info, 1);
	if (at < info->n_gids)
		first = info->gids[at];
	else if (info->n_gids < NIC_GIDS_MAX)
		info->n_gids++;
	else
		at = NIC_GIDS_MAX - 1;
	memmove(&info->gids[1], &info->gids[0], at * sizeof info->gids[0]);
	info->gids[0] = first;
}

/* Port i of a device: the interface that it was, under whatever name, else one of the name that it
 * was set up with. */
static const struct link *link_of(const struct links *s, const struct nic_info *info, uint32_t i)
{
	const char *name = info->setup.interfaces[i];

	for (uint32_t k = 0; k < s->n && info->ports[i].ifindex; k++) {
		if (s->at[k].port.ifindex == info->ports[i].ifindex)
			return &s->at[k];
	}
	return link_named(s, name, strlen(name));
}

static bool is_local_only(const struct nic_gid *gid)
{
	static const uint8_t loopback[16] = {[15] = 1};

	if (gid->address.ss_family == AF_INET)
		return gid->raw[12] == 127;
	return gid_is_of_link(gid->raw) || !memcmp(gid->raw, loopback, sizeof loopback);
}

static bool is_listed(const struct config_setup *s, const struct nic_gid *gid)
{
	for (uint32_t i = 0; i < s->n_addresses; i++) {
		if (!memcmp(s->addresses[i], gid->raw, sizeof gid->raw))
			return true;
	}
	return false;
}

/* Addresses that the device has beside those of its ports. */
static void add_others(struct nic_info *info, const struct links *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct link *link = &s->at[i];
		bool is_lo = info->setup.has_lo && !strcmp(link->port.interface, "lo");

		for (uint32_t k = 0; k < link->n_gids; k++) {
			if ((is_lo && !is_local_only(&link->gids[k])) ||
			    is_listed(&info->setup, &link->gids[k]))
				gid_insert(info, &link->gids[k]);
		}
	}
}

/* What the interfaces say; name, setup, why and the numbers of ports are known. How many of its
 * ports are there. */
static uint32_t fill(struct nic_info *info, const struct links *s)
{
	uint32_t n_there = 0;

	info->n_ports = info->setup.n_ports;
	info->is_up = false;
	info->mtu = 0;
	info->n_gids = 0;
	memset(info->gids, 0, sizeof info->gids);
	for (uint32_t i = 0; i < info->n_ports; i++) {
		const struct link *link = link_of(s, info, i);

		if (!link) {
			info->ports[i] = (struct nic_port){0};
			memcpy(info->ports[i].interface, info->setup.interfaces[i], IF_NAMESIZE);
			continue;
		}
		info->ports[i] = link->port;
		info->is_up |= link->port.is_up;
		if (!info->mtu || link->port.mtu < info->mtu)
			info->mtu = link->port.mtu;
		if (n_there++ == 0) {
			memcpy(info->interface, link->port.interface, IF_NAMESIZE);
			info->ifindex = link->port.ifindex;
			info->guid = link->guid;
		}
		for (uint32_t k = 0; k < link->n_gids; k++)
			gid_insert(info, &link->gids[k]);
	}
	if (info->setup.has_lo || info->setup.n_addresses)
		add_others(info, s);
	lay_out(info);
	if (!n_there)
		memcpy(info->interface, info->setup.interfaces[0], IF_NAMESIZE);
	return n_there;
}

/* Devices as they are found. */
struct found {
	struct nic_info *at;
	uint32_t n;
};

static int add_device(struct found *f, const struct config_device *d, const struct links *s)
{
	struct nic_info *more = realloc(f->at, (f->n + 1) * sizeof *more);

	if (!more)
		return nic_fail(ENOMEM, "no memory for a list of %u devices", f->n + 1);
	f->at = more;
	struct nic_info *info = &more[f->n++];

	*info = (struct nic_info){.setup = d->setup};
	memcpy(info->name, d->name, sizeof info->name);
	memcpy(info->why, d->why, sizeof info->why);
	fill(info, s);
	return 0;
}

/* The interfaces of one device by default, in each transport that can have so many. */
struct group {
	uint32_t n;
	char names[ENGINE_PORTS][IF_NAMESIZE];
};

static int add_groups(struct found *f, const struct group *groups, uint32_t n,
		      const struct links *s)
{
	struct config_error error;

	for (uint32_t place = 0; place < TRANSPORTS; place++) {
		const struct transport *t = transports[place];
		uint32_t number = 0;

		for (uint32_t i = 0; i < n; i++) {
			struct config_device d = {
				.setup = {.transport = t, .n_ports = groups[i].n}};

			if (groups[i].n > t->ports_max)
				continue;
			memcpy(d.setup.interfaces, groups[i].names, sizeof groups[i].names);
			snprintf(d.name, sizeof d.name, "weft_%s%u", t->name, number++);
			int r = config_default(&d, &error);

			r = r ? nic_fail(-r, "%s", error.at) : add_device(f, &d, s);
			if (r)
				return r;
		}
	}
	return 0;
}

/* The interface that stands at the front of *at, up to a comma or a plus, as the next port. */
static int take_name(struct group *groups, uint32_t n, const struct links *s, const char **at)
{
	size_t len = strcspn(*at, ",+");
	const struct link *link = link_named(s, *at, len);
	struct group *g = &groups[n];

	if (!link)
		return nic_fail(ENODEV, "WEFT_INTERFACES: there is no interface '%.*s'", (int)len,
				*at);
	for (uint32_t i = 0; i <= n; i++) {
		for (uint32_t k = 0; k < groups[i].n; k++) {
			if (!strcmp(groups[i].names[k], link->port.interface))
				return nic_fail(ENODEV, "WEFT_INTERFACES: %.*s stands there twice",
						(int)len, *at);
		}
	}
	bool is_alone = !g->n && (*at)[len] != '+';

	if (is_alone && !link->n_gids)
		return nic_fail(ENODEV, "WEFT_INTERFACES: interface %.*s has no address", (int)len,
				*at);
	if (g->n == ENGINE_PORTS)
		return nic_fail(EINVAL, "WEFT_INTERFACES: too many joined: at most %u ports",
				ENGINE_PORTS);
	memcpy(g->names[g->n++], link->port.interface, IF_NAMESIZE);
	*at += len;
	return 0;
}

/* One by itself has an address already; of several, one must have. */
static int check_group(const struct group *g, const struct links *s)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const struct link *link = link_named(s, g->names[i], strlen(g->names[i]));

		if (link && link->n_gids)
			return 0;
	}
	return nic_fail(ENODEV, "WEFT_INTERFACES: none of %s and those joined to it has an address",
			g->names[0]);
}

/* The devices that WEFT_INTERFACES lists: "a,b+c" is a, and b and c as ports of one. */
static int list_named(struct found *f, const char *names, const struct links *s)
{
	/* There are no more groups than names, none of which is there twice. */
	struct group *groups = calloc((size_t)s->n + 1, sizeof *groups);
	uint32_t n = 0;
	int r = 0;

	if (!groups)
		return nic_fail(ENOMEM, "no memory for %u interfaces", s->n);
	for (const char *at = names; !r && *at;) {
		if (*at == ',') {
			n += groups[n].n > 0;
			at++;
			continue;
		}
		at += *at == '+';
		r = take_name(groups, n, s, &at);
	}
	if (!r)
		n += groups[n].n > 0;
	for (uint32_t i = 0; i < n && !r; i++)
		r = check_group(&groups[i], s);
	if (!r)
		r = add_groups(f, groups, n, s);
	free(groups);
	return r;
}

static int list_all(struct found *f, const struct links *s)
{
	struct group *groups = calloc((size_t)s->n + 1, sizeof *groups);
	uint32_t n = 0;

	if (!groups)
		return nic_fail(ENOMEM, "no memory for %u interfaces", s->n);
	for (uint32_t i = 0; i < s->n; i++) {
		if (!s->at[i].n_gids)
			continue;
		groups[n].n = 1;
		memcpy(groups[n++].names[0], s->at[i].port.interface, IF_NAMESIZE);
	}
	int r = add_groups(f, groups, n, s);

	free(groups);
	return r;
}

static int list_file(struct found *f, const struct links *s)
{
	struct config_device *list = NULL;
	struct config_file config;
	struct config_error error;
	int n = config_find(&config, &error), r = 0;

	if (!n)
		n = config_read(&config, &list, &error);
	if (n < 0)
		nic_fail(-n, "%s", error.at);
	free(config.text);
	for (int i = 0; list && i < n && !r; i++)
		r = add_device(f, &list[i], s);
	free(list);
	return n < 0 ? n : r;
}

int nic_list(struct nic_info **list)
{
	const char *names = secure_getenv("WEFT_INTERFACES");
	struct found f = {0};
	struct links s;
	int r = links_find(&s);

	if (!r && names)
		r = list_named(&f, names, &s);
	else if (!r)
		r = list_file(&f, &s);
	if (!r && !names && !f.n)
		r = list_all(&f, &s);
	free(s.at);
	if (r) {
		free(f.at);
		return r;
	}
	*list = f.at;
	return (int)f.n;
}

/* The first empty place for an address; NIC_GIDS_MAX: there is none. */
static uint32_t place_for(const struct nic_info *info, const struct nic_gid *gid)
{
	uint32_t at = gid->address.ss_family == AF_INET;

	while (at < NIC_GIDS_MAX && info->gids[at].address.ss_family != AF_UNSPEC)
		at++;
	return at;
}

/* Addresses keep their places, as in the table of a RoCE NIC: programs know them by number. Those
 * that are gone leave an empty place, new ones take the first that they may have. */
static void renew_gids(struct nic_info *info, const struct nic_info *fresh)
{
	static const struct nic_gid none;

	for (uint32_t i = 0; i < info->n_gids; i++) {
		if (!has_gid(fresh, &info->gids[i]))
			info->gids[i] = none;
	}
	for (uint32_t i = 0; i < fresh->n_gids; i++) {
		const struct nic_gid *gid = &fresh->gids[i];
		uint32_t at = place_for(info, gid);

		if (gid->address.ss_family == AF_UNSPEC || has_gid(info, gid) || at == NIC_GIDS_MAX)
			continue;
		info->gids[at] = *gid;
		if (at >= info->n_gids)
			info->n_gids = at + 1;
	}
	while (info->n_gids && info->gids[info->n_gids - 1].address.ss_family == AF_UNSPEC)
		info->n_gids--;
}

int nic_info_refresh(struct nic_info *info)
{
	struct nic_info *fresh = malloc(sizeof *fresh);
	struct links s = {0};

	if (!fresh)
		return nic_fail(ENOMEM, "no memory to look at %s", info->name);
	*fresh = *info;
	int r = links_find(&s);

	if (!r && !fill(fresh, &s))
		r = nic_fail(ENODEV, "%s: %s is gone", info->name, info->interface);
	else if (!r && !fresh->n_gids)
		r = nic_fail(ENODEV, "%s: %s has no address", info->name, info->interface);
	if (!r) {
		renew_gids(info, fresh);
		memcpy(fresh->gids, info->gids, sizeof fresh->gids);
		fresh->n_gids = info->n_gids;
		*info = *fresh;
	}
	free(s.at);
	free(fresh);
	return r;
}
