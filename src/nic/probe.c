/* What would become of a driver on an interface of this machine. */
#include <errno.h>
#include <net/if_arp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "encap/encap.h"
#include "io/xdp.h"
#include "nic/inside.h"

/* In front of the transport's headers: IPv6 and UDP. */
#define FRONT (40u + 8u)

/* Of all transports, padding apart: which one a device will have is not asked. */
static uint32_t packet_most(void)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < TRANSPORTS; i++) {
		uint32_t bytes =
			transport_around_bytes(transports[i]) + transports[i]->carrier->payload_max;

		most = bytes > most ? bytes : most;
	}
	return most;
}

uint32_t nic_pmtu(const struct config_setup *setup, uint32_t mtu)
{
	uint32_t around = FRONT + transport_around_bytes(setup->transport);

	/* Another IPv6 header, and a routing header of one segment (MRC 9.3.5). */
	if (setup->evs.is_generated && setup->evs.encoding >= PATH_USID)
		around += 40;
	if (setup->evs.is_generated && setup->evs.encoding == PATH_USID_SRH)
		around += 24;
	return carrier_payload(setup->transport->carrier, mtu < around ? 0 : mtu - around);
}

__attribute__((format(printf, 4, 5))) static int answer(int error, char *why, size_t len,
							const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, len, format, args);
	va_end(args);
	return -error;
}

static int probe_udp(char *why, size_t len)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return answer(errno, why, len, "no UDP socket: %s", strerror(errno));
	close(fd);
	return answer(0, why, len, "needs no privilege");
}

struct interface {
	uint16_t kind; /* ARPHRD_ETHER, ... */
	uint32_t mtu;
};

static int probe_interface(const char *interface, struct interface *is, char *why, size_t len)
{
	struct ifreq request = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = 0;

	if (fd < 0)
		return answer(errno, why, len, "no socket: %s", strerror(errno));
	memcpy(request.ifr_name, interface, strnlen(interface, IF_NAMESIZE - 1));
	if (ioctl(fd, SIOCGIFHWADDR, &request))
		error = errno;
	is->kind = request.ifr_hwaddr.sa_family;
	if (!error && ioctl(fd, SIOCGIFMTU, &request))
		error = errno;
	close(fd);
	is->mtu = (uint32_t)request.ifr_mtu;
	if (error)
		return answer(error, why, len, "no interface %s: %s", interface, strerror(error));
	return 0;
}

static int probe_raw(const char *interface, uint16_t kind, char *why, size_t len)
{
	if (kind != ARPHRD_ETHER && kind != ARPHRD_LOOPBACK)
		return answer(EOPNOTSUPP, why, len,
			      "%s is neither an Ethernet interface nor lo: use the driver udp",
			      interface);
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		close(fd);
		return answer(0, why, len, "packet sockets are permitted");
	}
	if (errno == EPERM || errno == EACCES)
		return answer(errno, why, len,
			      "needs CAP_NET_RAW: run as root, or setcap cap_net_raw+ep PROGRAM");
	return answer(errno, why, len, "no packet socket: %s", strerror(errno));
}

static int probe_xdp(const char *interface, uint32_t mtu, char *why, size_t len)
{
	/* No packet of ours is longer than the largest PMTU makes it. */
	uint32_t most = ENCAP_BYTES_MAX + FRONT + packet_most();
	int r = xdp_probe(interface, mtu < most ? mtu : most, why, len);

	if (!r)
		return answer(0, why, len, "AF_XDP can be had");
	return r < 0 ? r : 0;
}

int nic_probe(enum config_driver driver, const char *interface, char *why, size_t why_len)
{
	struct interface is = {0};
	int r = probe_interface(interface, &is, why, why_len);

	if (r)
		return r;
	switch (driver) {
	case CONFIG_UDP: return probe_udp(why, why_len);
	case CONFIG_RAW: return probe_raw(interface, is.kind, why, why_len);
	default: return probe_xdp(interface, is.mtu, why, why_len);
	}
}

void nic_settle(struct nic_info *info)
{
	char why[CONFIG_WHY_MAX];

	for (uint32_t i = 0; i < info->n_ports && info->setup.driver == CONFIG_XDP; i++) {
		/* One that is not there yet speaks against no driver. */
		if (!info->ports[i].ifindex ||
		    !nic_probe(CONFIG_XDP, info->ports[i].interface, why, sizeof why))
			continue;
		info->setup.driver = CONFIG_RAW;
		snprintf(info->why, sizeof info->why, "raw: xdp was asked for, but %.200s", why);
	}
}
