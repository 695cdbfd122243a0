#include "nic/inside.h"

#include <unistd.h>

#define WINDOW_DEFAULT (1u << 20)
#define WINDOW_LEAST   4096u
#define BUFFER_ASKED   (4 << 20) /* as the driver does */

/* DCQCN starts at the rate of the port and comes down with the first notice: too much costs a round
 * trip, too little the whole climb. */
#define LINE_RATE_BPS UINT64_C(100000000000)

/* What a socket of ours, and so likely one of the peer's, can hold. Of the number the kernel tells
 * half is for its own records (socket(7), SO_RCVBUF). */
static uint64_t buffer_bytes(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), got = 0;
	const int asked = BUFFER_ASKED;
	socklen_t len = sizeof got;

	if (fd < 0)
		return 0;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &asked, sizeof asked);
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &len) || got < 0)
		got = 0;
	close(fd);
	return (uint64_t)got / 2;
}

/* Two queue pairs at full window shall not overrun one socket buffer, where the kernel grants one
 * that large; what is lost all the same is retransmitted. */
static uint64_t window_by_buffers(void)
{
	uint64_t buffer = buffer_bytes();

	if (!buffer || WINDOW_DEFAULT <= buffer / 2)
		return WINDOW_DEFAULT;
	return buffer / 2 < WINDOW_LEAST ? WINDOW_LEAST : buffer / 2;
}

void device_cc(const struct config_setup *setup, struct cc_cfg *cc)
{
	cc->kind = setup->cc;
	cc->window_bytes = setup->window_bytes ? setup->window_bytes : window_by_buffers();
	cc->line_rate_bps = setup->rate_bps ? setup->rate_bps : LINE_RATE_BPS;
}
