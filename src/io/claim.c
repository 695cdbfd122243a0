#include "io/claim.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/netlink.h"
#include "io/osrandom.h"

enum {
	TRIES = 64,      /* at a number that somebody takes at the same time */
	LOOKS = 1 << 20, /* messages of the kernel: more sockets than a machine has */
	END_DIGITS = 16,
};

#ifndef UDIAG_SHOW_UID /* Linux 5.3 */
#define UDIAG_SHOW_UID 0x40
#endif
#define DIAG_UID 7u /* UNIX_DIAG_UID, of the same */

socklen_t claim_name(const char *all, uint8_t tag, uint64_t end, struct sockaddr_un *name)
{
	int len;

	memset(name, 0, sizeof *name);
	name->sun_family = AF_UNIX;
	/* A zero first byte makes it abstract. */
	len = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "%s-%u", all, tag);
	if (end)
		len += snprintf(name->sun_path + 1 + len, sizeof name->sun_path - 1 - (size_t)len,
				"-%016" PRIx64, end);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* Reads what stands behind the name of all: "-TAG" or "-TAG-END". */
static bool read_name(const char *text, uint8_t *tag, uint64_t *end)
{
	char *rest;

	*end = 0;
	if (text[0] != '-' || text[1] < '0' || text[1] > '9')
		return false;
	unsigned long number = strtoul(text + 1, &rest, 10);

	*tag = (uint8_t)number;
	if (number >= DRIVER_TAGS || *rest == '\0')
		return number < DRIVER_TAGS;
	if (*rest != '-' || strspn(rest + 1, "0123456789abcdef") != END_DIGITS ||
	    rest[1 + END_DIGITS] != '\0')
		return false;
	*end = strtoull(rest + 1, NULL, 16);
	return *end != 0;
}

/* One socket, as the kernel describes it. */
static void note(const struct nlmsghdr *h, const char *all, uint64_t mine, struct claim_held *held)
{
	uint32_t len = 0, uid;
	const uint8_t *at = netlink_get(h, sizeof(struct unix_diag_msg), UNIX_DIAG_NAME, &len);
	char text[sizeof(struct sockaddr_un)];
	size_t all_len = strlen(all);
	uint64_t end;
	uint8_t tag;

	if (!at || len <= 1 + all_len || len >= sizeof text || at[0] != 0)
		return;
	memcpy(text, at + 1, len - 1);
	text[len - 1] = '\0';
	if (strncmp(text, all, all_len) != 0 || !read_name(text + all_len, &tag, &end))
		return;
	uid = netlink_get_u32(h, sizeof(struct unix_diag_msg), DIAG_UID, 0);
	if (uid != 0 && uid != geteuid())
		return;
	if (!end)
		held->is_plain[tag] = true;
	else if (end != mine)
		held->ends[tag] = end;
}

/* Reads the kernel's list: 0 at its end, or a negative errno. */
static int read_list(int fd, const char *all, uint64_t mine, struct claim_held *held)
{
	struct netlink_message m;

	for (uint32_t i = 0; i < LOOKS; i++) {
		if (netlink_read(fd, &m) != 1)
			return -EIO;
		for (const struct nlmsghdr *h = NULL; (h = netlink_next(&m, h));) {
			int number = -EPROTO;

			if (h->nlmsg_type == NLMSG_DONE)
				return 0;
			if (h->nlmsg_type == NLMSG_ERROR) {
				netlink_fixed(h, &number, sizeof number);
				return number ? number : -EPROTO;
			}
			note(h, all, mine, held);
		}
	}
	return -E2BIG;
}

int claim_look(const char *all, uint64_t mine, struct claim_held *held)
{
	const struct unix_diag_req wanted = {
		.sdiag_family = AF_UNIX,
		.udiag_states = UINT32_MAX,
		.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), result;
	struct netlink_message m;

	memset(held, 0, sizeof *held);
	if (fd < 0)
		return -errno;
	netlink_begin(&m, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &wanted, sizeof wanted);
	if (send(fd, m.bytes, m.head.nlmsg_len, MSG_NOSIGNAL) < 0)
		result = -errno;
	else
		result = read_list(fd, all, mine, held);
	close(fd);
	return result;
}

/* A socket with that name, or a negative errno. */
static int bind_name(const struct claim_wish *wish, uint8_t tag, uint64_t end)
{
	struct sockaddr_un name;
	socklen_t len = claim_name(wish->all, tag, end, &name);
	int fd = socket(AF_UNIX, wish->type, 0), number;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&name, len) == 0)
		return fd;
	number = errno;
	close(fd);
	return -number;
}

/* Whether a number is free of names with an end: 0, or -EADDRINUSE. A kernel that does not say has
 * nobody with such a name; one that could not is another matter. */
static int check_ends(const char *all, uint8_t tag)
{
	struct claim_held held;
	int result = claim_look(all, 0, &held);

	if (result == -EMFILE || result == -ENFILE || result == -ENOMEM || result == -ENOBUFS)
		return result;
	return result == 0 && held.ends[tag] ? -EADDRINUSE : 0;
}

/* How many numbers there are: a power of two. */
static uint32_t tags_of(const struct claim_wish *wish)
{
	return wish->bits ? 1u << wish->bits : DRIVER_TAGS;
}

/* A plain name: its socket, -EADDRINUSE: all are taken, whoever has them. */
static int take_plain(const struct claim_wish *wish, uint8_t first, uint8_t *tag)
{
	uint32_t n = tags_of(wish);
	int fd = -EADDRINUSE;

	for (uint32_t i = 0; i < n && fd == -EADDRINUSE; i++) {
		*tag = (uint8_t)((first + i) & (n - 1));
		fd = bind_name(wish, *tag, 0);
		int result = fd < 0 ? 0 : check_ends(wish->all, *tag);

		if (result) {
			close(fd);
			fd = result;
		}
	}
	return fd;
}

/* A name with an end, where plain ones are taken by strangers. */
static int take_other(const struct claim_wish *wish, uint8_t first, uint8_t *tag)
{
	uint32_t n = tags_of(wish), i = 0;
	struct claim_held held;
	uint64_t end;

	if (claim_look(wish->all, 0, &held))
		return -EBUSY;
	while (i < n && (held.is_plain[(first + i) & (n - 1)] || held.ends[(first + i) & (n - 1)]))
		i++;
	if (i == n)
		return -EBUSY;
	if (osrandom_key((uint8_t *)&end, sizeof end) || end == 0)
		return -EAGAIN;
	*tag = (uint8_t)((first + i) & (n - 1));
	int fd = bind_name(wish, *tag, end);

	if (fd < 0)
		return fd == -EADDRINUSE ? -EAGAIN : fd;
	int result = claim_look(wish->all, end, &held);

	if (result == 0 && !held.is_plain[*tag] && !held.ends[*tag])
		return fd;
	close(fd);
	return result ? result : -EAGAIN;
}

int claim_tag(const struct claim_wish *wish, uint8_t *tag)
{
	int fd = -EAGAIN;

	for (unsigned i = 0; i < TRIES && fd == -EAGAIN; i++) {
		uint8_t first = 0;

		if (!wish->is_in_order && osrandom_key(&first, sizeof first))
			return -EIO;
		fd = take_plain(wish, first, tag);
		if (fd == -EADDRINUSE)
			fd = take_other(wish, first, tag);
	}
	return fd == -EAGAIN ? -EBUSY : fd;
}
