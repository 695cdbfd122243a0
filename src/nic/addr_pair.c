/* The two ends of a queue pair's path, as handles of the driver. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "nic/inside.h"

void addr_pair_close(struct shard *s, struct addr_pair *addrs)
{
	if (addrs->peer != DRIVER_NO_HANDLE || addrs->local != DRIVER_NO_HANDLE)
		backlog_forget(&s->backlog, addrs->peer, addrs->local);
	if (addrs->peer != DRIVER_NO_HANDLE)
		driver_peer_put(s->io, addrs->peer);
	if (addrs->local != DRIVER_NO_HANDLE)
		driver_unbind(s->io, addrs->local);
	*addrs = NO_ADDR_PAIR;
}

/* IPv4 inside IPv6 is IPv4 (RoCEv2 annex A17.4.5.2); one of the link is of this interface's. */
struct sockaddr_storage gid_address(const uint8_t gid[16], uint32_t ifindex)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	struct sockaddr_storage address = {0};
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

	if (!memcmp(gid, v4, sizeof v4)) {
		memcpy(&in.sin_addr, gid + sizeof v4, 4);
		memcpy(&address, &in, sizeof in);
		return address;
	}
	memcpy(&in6.sin6_addr, gid, 16);
	if (gid_is_of_link(gid))
		in6.sin6_scope_id = ifindex;
	memcpy(&address, &in6, sizeof in6);
	return address;
}

/* An entry of version 1 is there, unlike one that is empty, and another number names its address:
 * so it is told apart from that by its errno. */
const struct nic_gid *gid_find(const struct device *d, uint32_t index, int *error)
{
	uint32_t place = nic_gid_place(index);

	if (place >= d->info.n_gids || d->info.gids[place].address.ss_family == AF_UNSPEC)
		*error = nic_fail(EINVAL, "%s has no GID number %u", d->info.name, index);
	else if (nic_gid_is_v1(index))
		*error = nic_fail(EOPNOTSUPP,
				  "GID number %u of %s is RoCE version 1, which weft does not "
				  "speak: use %u, the same address in version 2",
				  index, d->info.name, nic_gid_index(place));
	else
		return &d->info.gids[place];
	return NULL;
}

int addr_pair_open(struct shard *s, uint32_t gid_index, const uint8_t dgid[16],
		   struct addr_pair *addrs)
{
	const struct device *d = s->device;
	struct sockaddr_storage to = gid_address(dgid, d->info.ifindex);
	char error[NIC_SENTENCE_MAX] = "";
	int r;
	const struct nic_gid *gid = gid_find(d, gid_index, &r);

	*addrs = NO_ADDR_PAIR;
	if (!gid)
		return r;
	if (gid->address.ss_family != to.ss_family)
		return nic_fail(EINVAL, "GID number %u of %s and the peer's are not of one family",
				gid_index, d->info.name);
	r = driver_bind(s->io, (const struct sockaddr *)&gid->address, &addrs->local, error,
			sizeof error);
	if (r) {
		addrs->local = DRIVER_NO_HANDLE;
		return nic_fail(-r, "%s: %s", d->info.name, error);
	}
	addrs->peer = driver_peer_get(s->io, (const struct sockaddr *)&to);
	if (addrs->peer != DRIVER_NO_HANDLE)
		return 0;
	addr_pair_close(s, addrs);
	return nic_fail(EINVAL, "%s: not an address of a peer, or too many peers", d->info.name);
}

/* Over UDP the kernel steers packets by the order in which processes opened an address, and the
 * driver takes that for the order of their tags: so both are taken at once, though most addresses
 * may never be used. A device that answers peers' questions does so at all of its addresses
 * (MRC 7.3). One that cannot be had is missed by a queue pair that names it, and said then. */
void gids_hold(struct shard *s)
{
	const struct device *d = s->device;
	bool is_wanted = d->info.setup.driver == CONFIG_UDP ||
			 transport_has(d->info.setup.transport, TRANSPORT_ENDPOINTS);
	char error[NIC_SENTENCE_MAX];

	for (uint32_t i = 0; i < NIC_GIDS_MAX; i++) {
		s->held[i] = DRIVER_NO_HANDLE;
		if (is_wanted && d->info.gids[i].address.ss_family != AF_UNSPEC &&
		    driver_bind(s->io, (const struct sockaddr *)&d->info.gids[i].address,
				&s->held[i], error, sizeof error))
			s->held[i] = DRIVER_NO_HANDLE;
	}
}

static int hold(struct shard *s, uint32_t place)
{
	const struct device *d = s->device;
	char error[NIC_SENTENCE_MAX] = "";

	if (s->held[place] != DRIVER_NO_HANDLE)
		return 0;
	int r = driver_bind(s->io, (const struct sockaddr *)&d->info.gids[place].address,
			    &s->held[place], error, sizeof error);

	if (!r)
		return 0;
	s->held[place] = DRIVER_NO_HANDLE;
	return nic_fail(-r, "%s: %s", d->info.name, error);
}

int gids_hold_one(struct device *d, uint32_t gid_index)
{
	int r = 0;

	if (!gid_find(d, gid_index, &r))
		return r;
	for (uint32_t i = 0; i < NIC_SHARDS && !r; i++)
		r = hold(device_shard(d, i), nic_gid_place(gid_index));
	return r;
}

int addr_pair_check(struct shard *s, const struct addr_pair *addrs, uint16_t pmtu)
{
	const struct device *d = s->device;
	char error[NIC_SENTENCE_MAX] = "";
	uint16_t most = driver_pmtu(s->io, addrs->local, addrs->peer, error, sizeof error);

	if (!most)
		return nic_fail(ENETUNREACH, "%s: %s", d->info.name, error);
	if (pmtu > most)
		return nic_fail(EMSGSIZE,
				"%s: a path MTU of %u does not fit the route to the peer, "
				"%u does",
				d->info.name, pmtu, most);
	return 0;
}
