#include "fwd/switch.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/net.h"

enum { IPV4_DST_AT = 16, IPV6_DST_AT = 24 };

/* The one place where the hop limit is taken. RFC 8986 4.1 takes one for each segment; but however
 * many segments of a list are this node's own, the packet crosses one node, and a path must cost
 * what it costs without segment routing. */
static enum fwd_drop leave(const struct fwd_switch *sw, struct fwd_frame *f, struct fwd_view *view,
			   uint16_t port)
{
	assert(port < sw->n_ports);
	enum fwd_drop drop = fwd_take_hop(view);

	if (drop != FWD_DROP_NONE)
		return drop;
	memcpy(f->at, sw->ports[port].neighbour, 6);
	memcpy(f->at + 6, sw->ports[port].mac, 6);
	return FWD_DROP_NONE;
}

static uint32_t route_of(const struct fwd_switch *sw, const struct fwd_view *view)
{
	uint8_t mapped[16];

	if (view->version == 6)
		return fwd_routes_find(&sw->routes, view->ip + IPV6_DST_AT);
	fwd_route_map_ipv4(mapped, view->ip + IPV4_DST_AT);
	return fwd_routes_find(&sw->routes, mapped);
}

/* Native IP begins with its entropy, where UDP has the source port (UE 3.5.10.1). As with ports,
 * what the packet has must be in memory. */
static enum fwd_drop take_entropy(const struct fwd_switch *sw, const struct fwd_frame *f,
				  struct fwd_view *view)
{
	if (view->protocol == IPPROTO_UDP_IN || !sw->carriers ||
	    !carrier_of_ip(sw->carriers, view->protocol))
		return FWD_DROP_NONE;
	uint32_t header = view->version == 4 ? 4u * (view->ip[0] & 0xf) : ipv6_bytes;
	bool is_later = view->version == 4 && get_be16(view->ip + 6) & 0x1fff; /* a fragment */

	if (is_later || view->ip_len < header + entropy_bytes)
		return FWD_DROP_NONE;
	if (f->stored - view->ip_at < header + entropy_bytes)
		return FWD_DROP_MALFORMED;
	view->sport = get_be16(view->ip + header);
	return FWD_DROP_NONE;
}

/* Which member of the group the packet takes; not below group->n when its structured EV names
 * none. */
static uint32_t member_of(const struct fwd_switch *sw, const struct fwd_group *group,
			  const struct fwd_view *view)
{
	if (group->by_ev)
		return fwd_ev_field(&sw->ev_layout, fwd_ev_of(view), sw->ev_hop);
	if (group->n == 1)
		return 0;
	return fwd_pick(fwd_hash(view, sw->hash_fields, sw->hash_seed), group->n);
}

/* Sets *port, or *local. */
static enum fwd_drop pick_port(const struct fwd_switch *sw, const struct fwd_frame *f,
			       struct fwd_view *view, uint16_t *port, bool *local)
{
	enum fwd_drop drop = take_entropy(sw, f, view);

	if (drop != FWD_DROP_NONE)
		return drop;
	uint32_t route = route_of(sw, view);

	if (route == FWD_ROUTE_NONE)
		return FWD_DROP_NO_ROUTE;
	*local = route == FWD_LOCAL;
	if (*local)
		return FWD_DROP_NONE;
	const struct fwd_group *group = &sw->groups[route];
	uint32_t member = member_of(sw, group, view);

	if (member >= group->n)
		return FWD_DROP_EV_RANGE;
	*port = sw->members[group->first + member];
	return FWD_DROP_NONE;
}

/* Executes local segments until one names a port (*has_port), or none is left. Behind each of them
 * the packet goes to the routes again, which may find the next one local too: uN and uA of one
 * node, side by side. The bound is a container full of our own and a little; what needs more is a
 * list that only keeps this node busy. */
static enum fwd_drop run_segments(const struct fwd_switch *sw, struct fwd_frame *f,
				  struct fwd_view *view, uint16_t *port, bool *has_port)
{
	uint32_t rounds = fwd_sid_capacity((enum fwd_sid_format)sw->sids.format) + 2;

	for (; rounds > 0 && view->version == 6; rounds--) {
		struct fwd_sid_result r = fwd_sid_execute(&sw->sids, f, view);

		if (r.drop != FWD_DROP_NONE)
			return r.drop;
		if (r.next == FWD_SID_NOT_OURS)
			return FWD_DROP_NONE;
		if (r.next == FWD_SID_PORT) {
			*port = r.port;
			*has_port = true;
			return FWD_DROP_NONE;
		}
	}
	return rounds > 0 ? FWD_DROP_NONE : FWD_DROP_SID_HEADER;
}

struct fwd_verdict fwd_switch_forward(const struct fwd_switch *sw, struct fwd_frame *f,
				      struct fwd_view *view)
{
	uint16_t port = 0;
	bool has_port = false, local = false;
	enum fwd_drop drop = fwd_view_get(f, view);

	if (drop == FWD_DROP_NONE && sw->sids.n > 0)
		drop = run_segments(sw, f, view, &port, &has_port);
	if (drop == FWD_DROP_NONE && !has_port)
		drop = pick_port(sw, f, view, &port, &local);
	if (drop == FWD_DROP_NONE && !local)
		drop = leave(sw, f, view, port);
	return (struct fwd_verdict){.drop = drop, .local = local, .port = port};
}
