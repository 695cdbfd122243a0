#include "io/netlink.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NETLINK_STALE 8u /* answers to earlier questions that are passed over */

int netlink_open(uint32_t groups)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE), result;

	if (fd < 0)
		return -errno;
	if (!bind(fd, (const struct sockaddr *)&address, sizeof address))
		return fd;
	result = -errno;
	close(fd);
	return result;
}

void netlink_begin(struct netlink_message *m, uint16_t type, uint16_t flags, const void *fixed,
		   uint32_t fixed_len)
{
	m->head = (struct nlmsghdr){
		.nlmsg_len = NLMSG_LENGTH(fixed_len),
		.nlmsg_type = type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
	};
	memcpy(m->bytes + NLMSG_HDRLEN, fixed, fixed_len);
}

void netlink_put(struct netlink_message *m, uint16_t type, const void *value, uint32_t len)
{
	struct nlattr a = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type};
	uint32_t at = NLMSG_ALIGN(m->head.nlmsg_len);

	assert(at + NLA_HDRLEN + NLA_ALIGN(len) <= NETLINK_BYTES);
	memset(m->bytes + at, 0, NLA_HDRLEN + NLA_ALIGN(len));
	memcpy(m->bytes + at, &a, sizeof a);
	memcpy(m->bytes + at + NLA_HDRLEN, value, len);
	m->head.nlmsg_len = at + NLA_HDRLEN + NLA_ALIGN(len);
}

/* What an answer amounts to. */
static int verdict(const struct nlmsghdr *h)
{
	int number = 0;

	if (h->nlmsg_type == NLMSG_ERROR && !netlink_fixed(h, &number, sizeof number))
		return -EPROTO;
	return number;
}

int netlink_ask(int fd, struct netlink_message *m)
{
	static uint32_t last;
	uint32_t seq = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);

	m->head.nlmsg_seq = seq;
	if (send(fd, m->bytes, m->head.nlmsg_len, MSG_NOSIGNAL) < 0)
		return -errno;
	for (unsigned i = 0; i < NETLINK_STALE; i++) {
		ssize_t n = recv(fd, m->bytes, NETLINK_BYTES, MSG_DONTWAIT);

		if (n < 0)
			return -errno;
		m->len = (uint32_t)n;
		const struct nlmsghdr *h = netlink_next(m, NULL);

		if (h && h->nlmsg_seq == seq)
			return verdict(h);
	}
	return -EAGAIN;
}

int netlink_read(int fd, struct netlink_message *m)
{
	ssize_t n = recv(fd, m->bytes, NETLINK_BYTES, MSG_DONTWAIT | MSG_TRUNC);

	if (n > (ssize_t)NETLINK_BYTES || (n < 0 && errno == ENOBUFS))
		return -ENOBUFS;
	if (n <= 0)
		return 0;
	m->len = (uint32_t)n;
	return 1;
}

const struct nlmsghdr *netlink_next(const struct netlink_message *m, const struct nlmsghdr *h)
{
	uint32_t at = 0;

	if (h)
		at = (uint32_t)((const uint8_t *)h - m->bytes) + NLMSG_ALIGN(h->nlmsg_len);
	if (at > m->len || m->len - at < sizeof *h)
		return NULL;
	/* Messages start where NLMSG_ALIGN puts them, as their heads need it. */
	h = (const struct nlmsghdr *)(const void *)(m->bytes + at);
	return h->nlmsg_len >= sizeof *h && h->nlmsg_len <= m->len - at ? h : NULL;
}

bool netlink_fixed(const struct nlmsghdr *h, void *fixed, uint32_t len)
{
	if (h->nlmsg_len < NLMSG_LENGTH(len))
		return false;
	memcpy(fixed, (const uint8_t *)h + NLMSG_HDRLEN, len);
	return true;
}

const uint8_t *netlink_find(const uint8_t *at, uint32_t left, uint16_t type, uint32_t *len)
{
	struct nlattr a;

	while (left >= sizeof a) {
		memcpy(&a, at, sizeof a);
		if (a.nla_len < sizeof a || a.nla_len > left)
			return NULL;
		if ((a.nla_type & NLA_TYPE_MASK) == type) {
			*len = a.nla_len - (uint32_t)NLA_HDRLEN;
			return at + NLA_HDRLEN;
		}
		uint32_t step = (uint32_t)NLA_ALIGN(a.nla_len);

		if (step > left)
			return NULL;
		at += step;
		left -= step;
	}
	return NULL;
}

const uint8_t *netlink_get(const struct nlmsghdr *h, uint32_t fixed_len, uint16_t type,
			   uint32_t *len)
{
	uint32_t start = NLMSG_ALIGN(NLMSG_LENGTH(fixed_len));

	if (h->nlmsg_len < start)
		return NULL;
	return netlink_find((const uint8_t *)h + start, h->nlmsg_len - start, type, len);
}

uint32_t netlink_get_u32(const struct nlmsghdr *h, uint32_t fixed_len, uint16_t type,
			 uint32_t fallback)
{
	uint32_t len, value;
	const uint8_t *at = netlink_get(h, fixed_len, type, &len);

	if (!at || len != sizeof value)
		return fallback;
	memcpy(&value, at, sizeof value);
	return value;
}
