#include "io/xdp_inside.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdalign.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>

/* What the kernel says about an interface's XDP since Linux 6.3 (its netdev family); headers of the
 * C library may be older. */
enum {
	NETDEV_DEV_GET = 1,
	NETDEV_DEV_IFINDEX = 1,
	NETDEV_DEV_XDP_FEATURES = 3,
	NETDEV_XDP_BASIC = 1,
	NETDEV_XDP_REDIRECT = 2,
	NETDEV_XDP_RX_PIECES = 32,
	ANSWER_BYTES = 4096,
	LINK_BYTES = 18, /* of Ethernet, around an MTU */
};

struct request {
	struct nlmsghdr head;
	struct genlmsghdr gen;
	struct nlattr attr;
	uint8_t value[16];
};

/* One question, one answer: its attributes, of which *len bytes are there; NULL: none came. */
static const uint8_t *ask(int fd, struct request *r, size_t value_len, uint8_t *answer, size_t *len)
{
	struct nlmsghdr head;
	ssize_t n;

	r->attr.nla_len = (uint16_t)(NLA_HDRLEN + value_len);
	r->head.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + GENL_HDRLEN + NLA_ALIGN(r->attr.nla_len));
	r->head.nlmsg_flags = NLM_F_REQUEST;
	if (send(fd, r, r->head.nlmsg_len, 0) < 0)
		return NULL;
	n = recv(fd, answer, ANSWER_BYTES, 0);
	if (n < (ssize_t)(NLMSG_HDRLEN + GENL_HDRLEN))
		return NULL;
	memcpy(&head, answer, sizeof head);
	if (head.nlmsg_type != r->head.nlmsg_type || head.nlmsg_len > (size_t)n)
		return NULL;
	*len = head.nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
	return answer + NLMSG_HDRLEN + GENL_HDRLEN;
}

/* Copies the value of an attribute, which has value_len bytes; false: it is not there. */
static bool attribute(const uint8_t *at, size_t len, uint16_t type, void *value, size_t value_len)
{
	struct nlattr a;

	for (size_t i = 0; i + NLA_HDRLEN <= len; i += NLA_ALIGN(a.nla_len)) {
		memcpy(&a, at + i, sizeof a);
		if (a.nla_len < NLA_HDRLEN || i + a.nla_len > len)
			return false;
		if ((a.nla_type & NLA_TYPE_MASK) == type && a.nla_len == NLA_HDRLEN + value_len) {
			memcpy(value, at + i + NLA_HDRLEN, value_len);
			return true;
		}
	}
	return false;
}

static bool features_by(int fd, uint32_t ifindex, uint64_t *features)
{
	static const char family[] = "netdev";
	alignas(8) uint8_t answer[ANSWER_BYTES];
	struct request r = {.head.nlmsg_type = GENL_ID_CTRL,
			    .gen.cmd = CTRL_CMD_GETFAMILY,
			    .attr.nla_type = CTRL_ATTR_FAMILY_NAME};
	uint16_t id;
	size_t len = 0;
	const uint8_t *at;

	memcpy(r.value, family, sizeof family);
	at = ask(fd, &r, sizeof family, answer, &len);
	if (!at || !attribute(at, len, CTRL_ATTR_FAMILY_ID, &id, sizeof id))
		return false;
	r = (struct request){.head.nlmsg_type = id,
			     .gen.cmd = NETDEV_DEV_GET,
			     .attr.nla_type = NETDEV_DEV_IFINDEX};
	memcpy(r.value, &ifindex, sizeof ifindex);
	at = ask(fd, &r, sizeof ifindex, answer, &len);
	return at && attribute(at, len, NETDEV_DEV_XDP_FEATURES, features, sizeof *features);
}

/* false: this kernel does not tell. */
static bool features_of(uint32_t ifindex, uint64_t *features)
{
	struct timeval timeout = {.tv_sec = 1};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	bool is_known;

	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	is_known = features_by(fd, ifindex, features);
	close(fd);
	return is_known;
}

static bool is_ethernet(const char *interface)
{
	struct ifreq request = {.ifr_name = ""};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is;

	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
	is = fd >= 0 && ioctl(fd, SIOCGIFHWADDR, &request) == 0 &&
	     request.ifr_hwaddr.sa_family == ARPHRD_ETHER;
	if (fd >= 0)
		close(fd);
	return is;
}

static int probe_program(const char *interface, uint32_t ifindex, char *why, size_t len)
{
	struct bpf_object *program = NULL;
	struct bpf_xdp_query_opts query = {.sz = sizeof query};
	/* Any will do. */
	const struct steer_carrier by = {.port = 1, .protocol = CARRIER_UDP};
	int result = xdp_program_load(&program, &by, why, len);

	if (result)
		return result;
	bpf_object__close(program);
	if (bpf_xdp_query((int)ifindex, 0, &query) == 0 && query.attach_mode != XDP_ATTACHED_NONE)
		return xdp_program_busy(interface, why, len);
	return 0;
}

int xdp_probe(const char *interface, uint32_t mtu, char *why, size_t len)
{
	uint32_t ifindex = if_nametoindex(interface);
	uint64_t features = 0;
	bool has_pieces = false, is_one_enough = mtu + LINK_BYTES <= XDP_CHUNK - XDP_RX_HEADROOM;
	int result;

	if (len > 0)
		why[0] = 0;
	if (ifindex == 0)
		return say(-ENODEV, why, len, "there is no interface %s: `ip link` lists them",
			   interface);
	if (!is_ethernet(interface))
		return say(-ENODEV, why, len, "%s is not Ethernet: use the driver udp", interface);
	result = xdp_socket_probe(interface, &has_pieces, why, len);
	if (result == 0)
		result = probe_program(interface, ifindex, why, len);
	if (result)
		return result;
	if (!has_pieces && !is_one_enough)
		return say(-EMSGSIZE, why, len,
			   "frames of more than %d bytes over AF_XDP need Linux 6.6 or later: use "
			   "the driver raw, or an MTU of at most %d on %s",
			   XDP_CHUNK - XDP_RX_HEADROOM, XDP_CHUNK - XDP_RX_HEADROOM - LINK_BYTES,
			   interface);
	if (!features_of(ifindex, &features))
		return 0;
	if (!(features & NETDEV_XDP_BASIC) || !(features & NETDEV_XDP_REDIRECT))
		return say(1, why, len,
			   "%s has no XDP of its own: the kernel's generic one is used, which is "
			   "slower",
			   interface);
	if (!(features & NETDEV_XDP_RX_PIECES) && !is_one_enough)
		return say(1, why, len,
			   "the XDP of %s does not know frames above one page: the kernel's "
			   "generic one is used, which is slower",
			   interface);
	return 0;
}
