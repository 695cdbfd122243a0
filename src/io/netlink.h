/* Questions to the kernel's routing side and its news (netlink(7), rtnetlink(7)).
 *
 * The kernel answers within the call that asks, so no question waits for anything. One thread at a
 * time calls this. */
#ifndef WEFT_IO_NETLINK_H
#define WEFT_IO_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/netlink.h>

#define NETLINK_BYTES 16384u /* more than the kernel sends at once, but for lists */

/* A message, to be sent or received. */
struct netlink_message {
	union {
		struct nlmsghdr head;
		uint8_t bytes[NETLINK_BYTES];
	};
	uint32_t len; /* of what was received */
};

/* A socket for questions, or one that also receives news of these groups (RTMGRP_...); a descriptor
 * or a negative errno. */
int netlink_open(uint32_t groups);

/* Begins a message of this type whose fixed part is these bytes; then attributes, then
 * netlink_ask. */
void netlink_begin(struct netlink_message *m, uint16_t type, uint16_t flags, const void *fixed,
		   uint32_t fixed_len);
void netlink_put(struct netlink_message *m, uint16_t type, const void *value, uint32_t len);

/* Sends m and puts the answer in its place. 0, or the negative errno that the kernel answered or
 * the call met; -EAGAIN: no answer. With NLM_F_ACK 0 means that it was done. */
int netlink_ask(int fd, struct netlink_message *m);

/* Reads news into m; their bytes are walked by netlink_next. 1, 0: there are none, or -ENOBUFS:
 * some were lost. */
int netlink_read(int fd, struct netlink_message *m);

/* The message behind h in m, or the first for NULL; NULL: no more. */
const struct nlmsghdr *netlink_next(const struct netlink_message *m, const struct nlmsghdr *h);

/* Copies the fixed part of a message; false: it is shorter. */
bool netlink_fixed(const struct nlmsghdr *h, void *fixed, uint32_t len);

/* The attribute of this type behind a fixed part of that length, its bytes and their number; NULL:
 * there is none. */
const uint8_t *netlink_get(const struct nlmsghdr *h, uint32_t fixed_len, uint16_t type,
			   uint32_t *len);
/* The attribute of this type among attributes. */
const uint8_t *netlink_find(const uint8_t *at, uint32_t left, uint16_t type, uint32_t *len);

/* A number of four bytes, or fallback. */
uint32_t netlink_get_u32(const struct nlmsghdr *h, uint32_t fixed_len, uint16_t type,
			 uint32_t fallback);

#endif
