/* The program that the kernel runs for each frame of an interface of the xdp driver. It takes what
 * is ours, a packet by our carrier to one of our addresses, bare or under one encapsulation in IPv6
 * with or without a segment routing header (MRC 9.3.5), and gives it to the socket of its queue.
 * One process has an interface: whose a packet is in the eyes of the carrier does not matter. All
 * else, whatever is wrong or strange included, is the kernel's: tagged frames, fragments, options,
 * and packets on a queue that has no socket.
 *
 * Whether the packet is a good one is not decided here: see io/frames.h. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "io/steer.h"

enum {
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
	NEXT_IPV4 = 4,
	NEXT_IPV6 = 41,
	NEXT_ROUTING = 43,
	ETH_BYTES = 14,
	IPV4_BYTES = 20,
	IPV6_BYTES = 40,
	SRH_BYTES = 8,
	UDP_BYTES = 8,
	ENTROPY_BYTES = 4,    /* of native IP (UE 3.5.10.1) */
	ROUTING_SEGMENTS = 4, /* RFC 8754 */
};

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, STEER_QUEUES);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STEER_ADDRESSES);
	__uint(key_size, STEER_KEY_BYTES);
	__uint(value_size, 1);
} addresses SEC(".maps");

/* One of them, or zeros, which no packet is to: a look at it costs less than a search. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, STEER_KEY_BYTES);
} likely SEC(".maps");

/* Set before the program is loaded: the kernel knows it by then, and leaves out what it rules out.
 */
const volatile struct steer_carrier carried_by = {.port = 4791, .protocol = 17};

/* What is left of a frame. */
struct rest {
	const __u8 *at, *end;
};

static __always_inline __u32 get16(const __u8 *p)
{
	return (__u32)p[0] << 8 | p[1];
}

/* The next bytes, and moves past them; NULL when fewer are left. */
static __always_inline const __u8 *next(struct rest *r, __u32 bytes)
{
	const __u8 *p = r->at;

	if (p + bytes > r->end)
		return 0;
	r->at = p + bytes;
	return p;
}

/* What follows IP, whose protocol is ours. */
static __always_inline int is_our_front(struct rest *r, struct steer_carrier by)
{
	const __u8 *udp;

	if (by.port == 0)
		return next(r, ENTROPY_BYTES) != 0;
	udp = next(r, UDP_BYTES);
	return udp && get16(udp + 2) == by.port;
}

/* As two words: all machines that run this can load them from anywhere. */
static __always_inline int is_our_address(const void *key)
{
	const __u32 only = 0;
	const __u64 *a = key, *b = bpf_map_lookup_elem(&likely, &only);

	return (b && a[0] == b[0] && a[1] == b[1]) || bpf_map_lookup_elem(&addresses, key);
}

static __always_inline int is_our_ipv4(struct rest *r, struct steer_carrier by)
{
	const __u8 *ip = next(r, IPV4_BYTES);
	__u8 key[STEER_KEY_BYTES] __attribute__((aligned(8))) = {[10] = 0xff, [11] = 0xff};

	if (!ip || ip[0] != 0x45 || (get16(ip + 6) & 0x3fff) || ip[9] != by.protocol)
		return 0;
	__builtin_memcpy(key + 12, ip + 16, 4);
	return is_our_front(r, by) && is_our_address(key);
}

/* ip is an IPv6 header; r begins behind it. */
static __always_inline int is_our_ipv6(struct rest *r, const __u8 *ip, struct steer_carrier by)
{
	return ip[0] >> 4 == 6 && ip[6] == by.protocol && is_our_front(r, by) &&
	       is_our_address(ip + 24);
}

static __always_inline int is_ours_in_ipv6(struct rest *r, struct steer_carrier by)
{
	const __u8 *ip = next(r, IPV6_BYTES), *srh;
	__u8 following;

	if (!ip)
		return 0;
	following = ip[6];
	if (following == by.protocol)
		return is_our_ipv6(r, ip, by);
	if (following == NEXT_ROUTING) {
		srh = next(r, SRH_BYTES);
		if (!srh || srh[2] != ROUTING_SEGMENTS)
			return 0;
		following = srh[0];
		if (!next(r, (__u32)srh[1] * 8))
			return 0;
	}
	if (following == NEXT_IPV4)
		return is_our_ipv4(r, by);
	if (following != NEXT_IPV6)
		return 0;
	ip = next(r, IPV6_BYTES);
	return ip && is_our_ipv6(r, ip, by);
}

static __always_inline int is_ours(struct rest r, struct steer_carrier by)
{
	const __u8 *eth = next(&r, ETH_BYTES);
	__u32 type = eth ? get16(eth + 12) : 0;

	return (type == TYPE_IPV6 && is_ours_in_ipv6(&r, by)) ||
	       (type == TYPE_IPV4 && is_our_ipv4(&r, by));
}

/* Its loader says that it takes frames in pieces too, of which it looks at the first: where the
 * kernel knows the question. */
SEC("xdp")
int steer(struct xdp_md *context)
{
	struct rest r = {(const __u8 *)(long)context->data, (const __u8 *)(long)context->data_end};
	struct steer_carrier by = {.port = carried_by.port, .protocol = carried_by.protocol};

	if (is_ours(r, by))
		return (int)bpf_redirect_map(&sockets, context->rx_queue_index, XDP_PASS);
	return XDP_PASS;
}

const char steer_license[] SEC("license") = "Apache-2.0";
