/* Which driver moves a device's packets: the one that its setup names, or the next best. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

#include "io/raw.h"
#include "io/udp.h"
#include "io/xdp.h"
#include "nic/inside.h"

#define SPRAY_SOURCES 64u /* source ports, as many as there are EVs by default */
#define FILES_WANTED  128u

/* Says, the first time, that there will be fewer EVs than there could be. */
static void note_limit(const char *name)
{
	static atomic_bool is_printed;
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur < FILES_WANTED &&
	    !atomic_exchange(&is_printed, true))
		nic_fail(EMFILE,
			 "%s: at most %lu files may be open, and %u of them are left to the "
			 "program: packets take fewer than %u source ports; raise the limit "
			 "(ulimit -n) to %u or more, or use the raw driver",
			 name, (unsigned long)most.rlim_cur, UDP_SPARE_FDS, SPRAY_SOURCES,
			 FILES_WANTED);
}

static int open_udp(const struct nic_info *info, struct driver **io, char *error, size_t error_len)
{
	const struct config_setup *s = &info->setup;
	struct udp_cfg cfg = {.carrier = s->transport->carrier,
			      .scope = info->ifindex,
			      .is_not_ect = s->is_not_ect};

	memcpy(cfg.dscp, s->dscp, sizeof cfg.dscp);
	cfg.has_endpoints = transport_has(s->transport, TRANSPORT_ENDPOINTS);
	cfg.has_ports_of_ev = transport_has(s->transport, TRANSPORT_PROFILES);
	if (cfg.has_ports_of_ev)
		cfg.sources = SPRAY_SOURCES;
	int r = udp_new(io, &cfg, error, error_len);

	if (!r && cfg.has_ports_of_ev)
		note_limit(info->name);
	return r;
}

static struct frames_cfg frames_of(const struct config_setup *s)
{
	struct frames_cfg cfg = {
		.n_ports = s->n_ports,
		.carrier = s->transport->carrier,
		.is_not_ect = s->is_not_ect,
		.is_shared = true,
	};

	if (s->has_trim)
		cfg.trims = net_trims_of(s->dscp_trimmed, s->dscp_trimmed_lasthop);
	memcpy(cfg.interfaces, s->interfaces, sizeof cfg.interfaces);
	memcpy(cfg.dscp, s->dscp, sizeof cfg.dscp);
	return cfg;
}

static int open_raw(const struct nic_info *info, struct driver **io, char *error, size_t error_len)
{
	const struct raw_cfg cfg = {.frames = frames_of(&info->setup)};

	return raw_new(io, &cfg, error, error_len);
}

static int open_xdp(const struct nic_info *info, struct driver **io, char *error, size_t error_len)
{
	const struct xdp_cfg cfg = {.frames = frames_of(&info->setup)};

	return xdp_new(io, &cfg, error, error_len);
}

int driver_open(struct nic_info *info, struct driver **io, char *error, size_t error_len)
{
	nic_settle(info);
	switch ((enum config_driver)info->setup.driver) {
	case CONFIG_RAW: return open_raw(info, io, error, error_len);
	case CONFIG_XDP: return open_xdp(info, io, error, error_len);
	default: return open_udp(info, io, error, error_len);
	}
}
