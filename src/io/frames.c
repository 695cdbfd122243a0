#include "io/frames_inside.h"

#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/carried.h"

bool frames_addr_of(const struct frames *f, const struct sockaddr *name, struct addr *a)
{
	uint32_t scope;

	if (!addr_of(name, a, &scope))
		return false;
	if (!addr_is_of_link(a))
		return true;
	/* Ports stay when interfaces are made anew, under other numbers. */
	for (uint32_t i = 0; i < f->cfg.n_ports && !a->where; i++)
		if (scope && f->hops.ports[i].port.ifindex == scope)
			a->where = i + 1;
	return a->where != 0;
}

static int refused(const struct frames *f, int number, const struct addr *a, char *error,
		   size_t error_len)
{
	char text[ADDRS_TEXT];

	addr_text(a, text);
	if (carrier_is_native(f->via.is) && (number == EACCES || number == EPERM))
		return say(-number, error, error_len,
			   "not permitted to hold IP protocol %u of %s: it needs CAP_NET_RAW; run "
			   "as root, or give the program the right",
			   f->via.protocol, text);
	if (carrier_is_native(f->via.is) && number != EADDRNOTAVAIL)
		return say(-number, error, error_len, "cannot hold IP protocol %u of %s: %s",
			   f->via.protocol, text, strerror(number));
	if (number == EADDRINUSE)
		return say(-number, error, error_len,
			   "UDP port %u of %s is in use by another program or user: end that one, "
			   "or choose another address or port",
			   f->via.port, text);
	if (number == EADDRNOTAVAIL)
		return say(-number, error, error_len,
			   "%s is not an address of this machine (in this network namespace), or "
			   "is not verified yet: `ip address` lists those that are",
			   text);
	if (number == EACCES || number == EPERM)
		return say(-number, error, error_len,
			   "not permitted to hold UDP port %u of %s: ports below "
			   "net.ipv4.ip_unprivileged_port_start need CAP_NET_BIND_SERVICE; choose "
			   "another port or allow it",
			   f->via.port, text);
	return say(-number, error, error_len, "cannot hold UDP port %u of %s: %s", f->via.port,
		   text, strerror(number));
}

static int bind_to(const struct frames *f, int fd, const struct addr *a)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(f->via.port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(f->via.port)};

	if (a->family == AF_INET) {
		memcpy(&v4.sin_addr, a->ip, 4);
		return bind(fd, (const struct sockaddr *)&v4, sizeof v4);
	}
	memcpy(&v6.sin6_addr, a->ip, 16);
	if (a->where)
		v6.sin6_scope_id = f->hops.ports[a->where - 1].port.ifindex;
	return bind(fd, (const struct sockaddr *)&v6, sizeof v6);
}

/* A socket that has the port, or the protocol, and takes nothing: a descriptor or a negative errno.
 */
static int hold(const struct frames *f, const struct addr *a)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {.len = 1, .filter = &nothing};
	bool is_native = carrier_is_native(f->via.is);
	int fd = socket((int)a->family,
			(is_native ? SOCK_RAW : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC,
			is_native ? f->via.protocol : 0);
	int one = 1, result;

	if (fd < 0)
		return -errno;
	if (a->family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
	/* Without it what arrives waits there for nobody, up to the socket's limit. */
	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
	/* Those who hold it so share it with each other, and not with sockets that want to receive:
	 * the udp driver's are shared by SO_REUSEPORT, and would have nothing left. */
	if ((!f->cfg.is_shared || !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one)) &&
	    !bind_to(f, fd, a))
		return fd;
	result = -errno;
	close(fd);
	return result;
}

/* An address of ours that has no place yet: its place, the port held, or ADDRS_NONE and the result
 * and a sentence. */
static uint32_t open_address(struct frames *f, const struct addr *a, int *result, char *error,
			     size_t error_len)
{
	int fd = hold(f, a);
	uint32_t place;

	if (fd < 0) {
		*result = refused(f, -fd, a, error, error_len);
		return ADDRS_NONE;
	}
	place = addrs_add(&f->local_addrs, a);
	if (place == ADDRS_NONE) {
		close(fd);
		*result = -ENOSPC;
		return ADDRS_NONE;
	}
	f->holds[place] = fd;
	return place;
}

static void close_address(struct frames *f, uint32_t place)
{
	close(f->holds[place]);
	addrs_remove(&f->local_addrs, place);
}

int frames_bind(struct frames *f, const struct sockaddr *local, uint32_t *handle, char *error,
		size_t error_len)
{
	struct addr a;
	uint32_t place, h = 0;
	int result = 0;

	if (!frames_addr_of(f, local, &a))
		return say(-EINVAL, error, error_len,
			   "not one IPv4 or IPv6 address: name a single address of this machine, "
			   "not a wildcard or a group, and one of a link (fe80::) with the "
			   "interface of a port, as in fe80::1%%eth0");
	place = addrs_find(&f->local_addrs, &a);
	if (place != ADDRS_NONE) {
		*handle = f->local_owners[place];
		f->locals[*handle].refs++;
		return 0;
	}
	while (h < FRAMES_LOCALS && f->locals[h].refs)
		h++;
	if (h == FRAMES_LOCALS)
		return say(-ENOSPC, error, error_len,
			   "%d addresses are open, as many as a device takes: close one",
			   FRAMES_LOCALS);
	place = open_address(f, &a, &result, error, error_len);
	if (place == ADDRS_NONE)
		return result;
	f->local_owners[place] = h;
	f->locals[h] = (struct frames_local){.refs = 1, .first = place};
	nexthops_change(&f->hops);
	*handle = h;
	return 0;
}

static struct frames_local *local_of(struct frames *f, uint32_t handle)
{
	assert(handle < FRAMES_LOCALS && f->locals[handle].refs > 0);
	return &f->locals[handle];
}

static bool uses(const struct frames_local *l, uint32_t place)
{
	bool is_in_use = l->first == place;

	for (uint32_t i = 0; i < ENGINE_PORTS; i++)
		is_in_use |= l->addresses[i] == place + 1;
	return is_in_use;
}

void frames_unbind(struct frames *f, uint32_t handle)
{
	struct frames_local *l = local_of(f, handle);

	if (--l->refs > 0)
		return;
	for (uint32_t i = 0; i < addrs_end(&f->local_addrs); i++)
		if (addrs_is_taken(&f->local_addrs, i) && f->local_owners[i] == handle)
			close_address(f, i);
	nexthops_change(&f->hops);
}

int frames_local_address(struct frames *f, uint32_t handle, uint32_t port,
			 const struct sockaddr *address)
{
	struct frames_local *l = local_of(f, handle);
	uint32_t place, before;
	struct addr a;
	int result = 0;

	assert(port < f->cfg.n_ports);
	if (!frames_addr_of(f, address, &a) ||
	    a.family != addrs_at(&f->local_addrs, l->first)->family)
		return -EINVAL;
	place = addrs_find(&f->local_addrs, &a);
	if (place != ADDRS_NONE && f->local_owners[place] != handle)
		return -EINVAL;
	if (place == ADDRS_NONE)
		place = open_address(f, &a, &result, NULL, 0);
	if (place == ADDRS_NONE)
		return result;
	before = l->addresses[port];
	f->local_owners[place] = handle;
	l->addresses[port] = place + 1;
	if (before && !uses(l, before - 1))
		close_address(f, before - 1);
	nexthops_change(&f->hops);
	return 0;
}

/* Bytes of IP around the payload of the largest packets by a port. */
static uint32_t bytes_around(const struct frames *f, const struct frames_peer *p, uint32_t port,
			     bool is_v4)
{
	const struct frames_lists *l = p->lists[port];
	uint32_t around = (is_v4 ? (uint32_t)ipv4_bytes : ipv6_bytes) +
			  carrier_front_bytes(f->via.is) + carrier_around_bytes(f->via.is);
	uint32_t most = 0;

	for (uint32_t i = 0; l && i < l->n_open; i++) {
		uint32_t n = l->at[i].segments.n;
		uint32_t bytes = ipv6_bytes + (n > 1 ? srh_bytes + srh_segment_bytes : 0);

		if (bytes > most)
			most = bytes;
	}
	return around + most;
}

/* The IP packets that a route takes; 0: none leads there, and *number says why. */
static uint32_t route_mtu(struct frames *f, uint32_t peer, uint32_t port, int *number)
{
	const struct frames_peer *p = &f->peers[peer];
	struct frames_headers *h = &f->headers[(size_t)peer * f->cfg.n_ports + port];
	const struct frames_port *link = &f->hops.ports[port].port;
	struct addr to = *frames_peer_addr(f, p, port);
	const struct nexthop_route *r;
	uint32_t route;

	/* Lists of a port are as one here: their routes begin at the same switch. */
	if (p->lists[port] && p->lists[port]->n_open > 0) {
		h = &p->lists[port]->at[0].headers;
		memcpy(to.ip, p->lists[port]->at[0].segments.at[0], sizeof to.ip);
	}
	route = frames_headers_route(f, h, port, &to);
	if (route == DRIVER_NO_HANDLE) {
		*number = -ENOSPC;
		return 0;
	}
	r = &f->hops.routes[route];
	if (r->seen != f->hops.routes_gen || r->neighbour == NEXTHOP_NONE)
		nexthop_ask(&f->hops, route, f->now);
	if (r->neighbour == NEXTHOP_NONE) {
		*number = r->number ? r->number : -ENOSPC;
		return 0;
	}
	return r->mtu && r->mtu < link->mtu ? r->mtu : link->mtu;
}

uint16_t frames_pmtu(struct frames *f, uint32_t local, uint32_t peer, char *error, size_t error_len)
{
	const struct frames_local *l = local_of(f, local);
	const struct frames_peer *p = &f->peers[peer];
	const struct addr *src = addrs_at(&f->local_addrs, l->first), *dst;
	uint32_t room = UINT32_MAX, around = 0, least, most;
	char from[ADDRS_TEXT], to[ADDRS_TEXT];
	uint16_t pmtu;
	int number = -ENETUNREACH;

	assert(peer < f->fresh_peer && p->is_used);
	dst = frames_peer_addr(f, p, 0);
	addr_text(src, from);
	addr_text(dst, to);
	if (src->family != dst->family) {
		say(0, error, error_len,
		    "%s and %s are not of one kind: use two IPv4 or two IPv6 addresses", from, to);
		return 0;
	}
	for (uint32_t port = 0; port < f->cfg.n_ports; port++) {
		uint32_t mtu = route_mtu(f, peer, port, &number);
		uint32_t head = bytes_around(f, p, port, src->family == AF_INET);

		if (mtu == 0)
			continue;
		if (mtu < head || mtu - head < room) {
			room = mtu < head ? 0 : mtu - head;
			around = head;
		}
	}
	if (room == UINT32_MAX) {
		say(0, error, error_len,
		    "no route from %s to %s by %s%s (%s): see `ip route get %s oif %s`", from, to,
		    f->hops.ports[0].name, f->cfg.n_ports > 1 ? " or another port" : "",
		    strerror(-number), to, f->hops.ports[0].name);
		return 0;
	}
	pmtu = carrier_payload(f->via.is, room);
	if (pmtu)
		return pmtu;
	least = carrier_payload_least(f->via.is);
	most = f->via.is->payload_max;
	say(0, error, error_len,
	    "the route from %s to %s takes too small packets: the smallest PMTU, %u, needs an MTU "
	    "of %u; raise that of the interfaces (%u needs %u)",
	    from, to, least, least + around, most, most + around);
	return 0;
}

uint32_t frames_ports_up(const struct frames *f)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < f->cfg.n_ports; i++)
		bits |= (uint32_t)f->hops.ports[i].port.is_up << i;
	return bits;
}

const struct frames_port *frames_port(const struct frames *f, uint32_t port)
{
	assert(port < f->cfg.n_ports);
	return &f->hops.ports[port].port;
}

int frames_fd(const struct frames *f)
{
	return f->hops.news_fd;
}

void frames_step(struct frames *f, nsec now)
{
	f->now = now;
	nexthops_step(&f->hops, now);
}

static int check_cfg(struct frames *f, const struct frames_cfg *cfg, char *error, size_t error_len)
{
	int result = carried_check(cfg->carrier, error, error_len);

	if (result)
		return result;
	f->cfg = *cfg;
	if (!f->cfg.max_peers)
		f->cfg.max_peers = 65536;
	if (!f->cfg.hop_limit)
		f->cfg.hop_limit = 64;
	if (f->cfg.n_ports < 1 || f->cfg.n_ports > ENGINE_PORTS || f->cfg.max_peers > 1u << 24)
		return say(-EINVAL, error, error_len,
			   "out of bounds: 1 to %u ports, and at most 2^24 peers", ENGINE_PORTS);
	f->seal = carrier_plain_seal(f->cfg.carrier);
	f->net = (struct net_cfg){.trims = cfg->trims};
	carriers_add(&f->net.carriers, f->cfg.carrier, f->cfg.port);
	f->via = f->net.carriers.use[0];
	for (unsigned i = 0; i < ENGINE_TCLASSES; i++)
		if (cfg->dscp[i] > 63)
			return say(-EINVAL, error, error_len, "DSCP %u is more than 63",
				   cfg->dscp[i]);
	return 0;
}

const struct carrier_use *frames_via(const struct frames *f)
{
	return &f->via;
}

void frames_set_guard(struct frames *f, const struct driver_guard *guard)
{
	f->guard = guard;
}

int frames_new(struct frames **out, const struct frames_cfg *cfg, struct driver_counters *count,
	       char *error, size_t error_len)
{
	uint32_t addresses = FRAMES_LOCALS * (ENGINE_PORTS + 1);
	struct frames *f = calloc(1, sizeof *f);
	int result;

	if (!f)
		return say(-ENOMEM, error, error_len, "out of memory");
	f->count = count;
	f->hops.ask_fd = f->hops.news_fd = -1;
	result = check_cfg(f, cfg, error, error_len);
	if (result)
		goto out;
	f->local_owners = calloc(addresses, sizeof *f->local_owners);
	f->holds = calloc(addresses, sizeof *f->holds);
	if (!f->local_owners || !f->holds || addrs_init(&f->local_addrs, addresses) ||
	    frames_peers_init(f)) {
		result = say(-ENOMEM, error, error_len, "out of memory");
		goto out;
	}
	result = nexthops_init(&f->hops, &f->cfg, error, error_len);
out:
	if (result) {
		frames_free(f);
		return result;
	}
	*out = f;
	return 0;
}

void frames_free(struct frames *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; f->holds && i < addrs_end(&f->local_addrs); i++)
		if (addrs_is_taken(&f->local_addrs, i))
			close(f->holds[i]);
	addrs_fini(&f->local_addrs);
	free(f->local_owners);
	free(f->holds);
	frames_peers_fini(f);
	nexthops_fini(&f->hops);
	free(f);
}
