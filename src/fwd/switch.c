#include "fwd/switch.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/net.h"

enum { IPV4_DST_AT = 16, IPV6_DST_AT = 24 };

static void put_addresses(const struct fwd_switch *sw, struct fwd_frame *f, uint16_t port)
{
	assert(port < sw->n_ports);
	memcpy(f->at, sw->ports[port].neighbour, 6);
	memcpy(f->at + 6, sw->ports[port].mac, 6);
}

/* The one place where the hop limit is taken. RFC 8986 4.1 takes one for each segment; but however
 * many segments of a list are this node's own, the packet crosses one node, and a path must cost
 * what it costs without segment routing. */
static enum fwd_drop leave(const struct fwd_switch *sw, struct fwd_frame *f, struct fwd_view *view,
			   uint16_t port)
{
	enum fwd_drop drop = fwd_take_hop(view);

	if (drop == FWD_DROP_NONE)
		put_addresses(sw, f, port);
	return drop;
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

/* By routes: everything of the verdict. */
static struct fwd_verdict decide(const struct fwd_switch *sw, const struct fwd_frame *f,
				 struct fwd_view *view)
{
	enum fwd_drop drop = take_entropy(sw, f, view);

	if (drop != FWD_DROP_NONE)
		return (struct fwd_verdict){.drop = drop};
	uint32_t route = route_of(sw, view);

	/* The values that are no group's stand above all groups. */
	if (route >= FWD_MULTICAST)
		return (struct fwd_verdict){
			.drop = route == FWD_ROUTE_NONE ? FWD_DROP_NO_ROUTE : FWD_DROP_NONE,
			.local = route == FWD_LOCAL,
			.multicast = route == FWD_MULTICAST,
		};
	const struct fwd_group *group = &sw->groups[route];
	uint32_t member = member_of(sw, group, view);

	if (member >= group->n)
		return (struct fwd_verdict){.drop = FWD_DROP_EV_RANGE};
	return (struct fwd_verdict){.port = sw->members[group->first + member]};
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
	bool has_port = false;
	struct fwd_verdict v = {.drop = fwd_view_get(f, view)};

	if (v.drop == FWD_DROP_NONE && sw->sids.n > 0)
		v.drop = run_segments(sw, f, view, &v.port, &has_port);
	if (v.drop == FWD_DROP_NONE && !has_port)
		v = decide(sw, f, view);
	if (v.drop == FWD_DROP_NONE && !v.local && !v.multicast)
		v.drop = leave(sw, f, view, v.port);
	return v;
}

struct fwd_verdict fwd_switch_send(const struct fwd_switch *sw, struct fwd_frame *f)
{
	struct fwd_view view;
	struct fwd_verdict v = {.drop = fwd_view_get(f, &view)};

	if (v.drop == FWD_DROP_NONE)
		v = decide(sw, f, &view);
	if (v.drop == FWD_DROP_NONE && !v.local && !v.multicast)
		put_addresses(sw, f, v.port);
	return v;
}
