/* Sends packets through the udp driver from one address to another of this machine, and receives
 * them, for a script that looks at the wire meanwhile:
 *
 *	udp-probe FROM TO PORT BYTES COUNT
 *
 * BYTES is the payload behind a header of 12 bytes; packets are numbered from 0 in the header's
 * last four. Prints the PMTU of the path and the receiver's counters, one `name value` a line. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "io/udp.h"

enum { BTH = 12, DATA = 8192, TURNS = 200, WAIT_MS = 10, HOPS = 33, DSCP = 26 };

static char error[512];

static void die(const char *what)
{
	fprintf(stderr, "udp-probe: %s\n", what);
	exit(1);
}

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	struct sockaddr_storage s = {0};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		memcpy(&s, &v4, sizeof v4);
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		memcpy(&s, &v6, sizeof v6);
	else
		die("bad address");
	return s;
}

static struct driver *open_at(const char *text, const struct udp_cfg *cfg, uint32_t *local)
{
	struct sockaddr_storage s = address(text);
	struct driver *u;

	if (udp_new(&u, cfg, error, sizeof error) ||
	    driver_bind(u, (struct sockaddr *)&s, local, error, sizeof error))
		die(error);
	return u;
}

static void send_some(struct driver *u, const struct tx_pkt *like, uint32_t first, uint32_t n)
{
	static uint8_t heads[DRIVER_BATCH][ENGINE_HEAD_MAX];
	struct tx_pkt pkts[DRIVER_BATCH];

	for (uint32_t i = 0; i < n; i++) {
		pkts[i] = *like;
		pkts[i].head = heads[i];
		memcpy(heads[i], like->head, BTH);
		put_be32(heads[i] + 8, first + i);
	}
	if (driver_send(u, pkts, n) != n)
		die("the send buffer was full");
}

static void receive_all(struct driver *u, uint32_t n)
{
	for (unsigned turn = 0; n > 0 && turn < TURNS; turn++) {
		struct rx_pkt pkts[DRIVER_BATCH];
		struct pollfd p = {driver_fd(u), POLLIN, 0};
		uint32_t got = driver_receive(u, 0, pkts, DRIVER_BATCH);

		n -= got < n ? got : n;
		if (got == 0)
			poll(&p, 1, WAIT_MS);
	}
}

int main(int argc, char **argv)
{
	static uint8_t data[DATA], head[ENGINE_HEAD_MAX];
	struct udp_cfg cfg = {.carrier = &carrier_roce,
			      .is_tag_in_order = true,
			      .dscp = {DSCP},
			      .hop_limit = HOPS};
	struct tx_pkt p = {.head = head, .head_len = BTH, .n_body = 1, .ev = 0x4321};
	struct sockaddr_storage to;
	struct driver *a, *b;
	uint32_t local, count;

	if (argc != 6)
		die("usage: udp-probe FROM TO PORT BYTES COUNT");
	cfg.port = (uint16_t)strtoul(argv[3], NULL, 10);
	p.body[0] = (struct cspan){data, (uint32_t)strtoul(argv[4], NULL, 10)};
	count = (uint32_t)strtoul(argv[5], NULL, 10);
	if (p.body[0].len > DATA)
		die("too many bytes");
	for (unsigned i = 0; i < DATA; i++)
		data[i] = (uint8_t)(i * 31 + i / 256);
	a = open_at(argv[1], &cfg, &p.local);
	b = open_at(argv[2], &cfg, &local);
	to = address(argv[2]);
	p.peer = driver_peer_get(a, (struct sockaddr *)&to);
	head[5] = driver_tag(b);
	printf("pmtu %u\n", driver_pmtu(a, p.local, p.peer, error, sizeof error));
	for (uint32_t at = 0; at < count; at += DRIVER_BATCH)
		send_some(a, &p, at, count - at < DRIVER_BATCH ? count - at : DRIVER_BATCH);
	receive_all(b, count);
#define PRINT(name, text) printf(#name " %llu\n", (unsigned long long)b->count.name);
	DRIVER_COUNTERS(PRINT)
#undef PRINT
	driver_free(a);
	driver_free(b);
	return 0;
}
