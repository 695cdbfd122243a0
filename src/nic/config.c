#include "nic/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW_DEFAULT (1u << 20)
#define WINDOW_OWN     16384u
#define WINDOW_LEAST   4096u
#define WINDOW_MOST    (UINT64_C(1) << 30)
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

static int read_window(uint64_t *window)
{
	const char *text = getenv("WEFT_WINDOW");
	char *end;

	if (!text)
		return 0;
	errno = 0;
	unsigned long long v = strtoull(text, &end, 10);

	if (errno || *end || text[0] < '0' || text[0] > '9' || v < WINDOW_LEAST || v > WINDOW_MOST)
		return nic_fail(EINVAL, "WEFT_WINDOW=%s: give bytes, %u to %llu", text,
				WINDOW_LEAST, (unsigned long long)WINDOW_MOST);
	*window = v;
	return 0;
}

static int read_cc(uint8_t *kind)
{
	const char *text = getenv("WEFT_CC");

	if (!text || !strcmp(text, "fixed"))
		*kind = CC_FIXED;
	else if (!strcmp(text, "dcqcn"))
		*kind = CC_DCQCN;
	else
		return nic_fail(EINVAL, "WEFT_CC=%s: give fixed or dcqcn", text);
	return 0;
}

/* Two queue pairs at full window shall not overrun one socket buffer, where the kernel grants one
 * that large; what is lost all the same is sent again. */
int device_configure(struct rc_cfg *cfg)
{
	uint64_t window = WINDOW_DEFAULT, buffer = buffer_bytes();
	uint8_t kind = CC_FIXED;

	if (buffer && window > buffer / 2)
		window = buffer / 2 < WINDOW_LEAST ? WINDOW_LEAST : buffer / 2;
	int r = read_window(&window);

	if (!r)
		r = read_cc(&kind);
	if (r)
		return r;
	cfg->cc.kind = kind;
	cfg->cc.window_bytes = window;
	cfg->cc.line_rate_bps = LINE_RATE_BPS;
	cfg->total_window_bytes = 2 * window;
	cfg->own_window_bytes = WINDOW_OWN < window ? WINDOW_OWN : window;
	return 0;
}
