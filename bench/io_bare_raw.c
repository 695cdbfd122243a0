/* Packet sockets with rings as the raw driver has them, and nothing else. */
#include "io.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SLOT_BYTES  4608u
#define BLOCK_BYTES 65536u
#define PER_BLOCK   (BLOCK_BYTES / SLOT_BYTES)
#define RX_BLOCKS   74u
#define TX_BLOCKS   19u
#define TX_OFFSET   (TPACKET2_HDRLEN - sizeof(struct sockaddr_ll))

struct bare {
	int fd;
	uint8_t *map;
	uint32_t rx, tx;
	struct io_end end;
};

static struct tpacket2_hdr *slot_at(const struct bare *b, uint32_t first_block, uint32_t i)
{
	return (void *)(b->map + (size_t)(first_block + i / PER_BLOCK) * BLOCK_BYTES +
			(size_t)(i % PER_BLOCK) * SLOT_BYTES);
}

static int set(int fd, int option, const void *value, socklen_t len)
{
	return setsockopt(fd, SOL_PACKET, option, value, len);
}

static int add_ring(int fd, int option, uint32_t blocks)
{
	const struct tpacket_req want = {BLOCK_BYTES, blocks, SLOT_BYTES, blocks * PER_BLOCK};

	return set(fd, option, &want, sizeof want);
}

static int prepare(struct bare *b)
{
	const int version = TPACKET_V2, on = 1, memory = 16 << 20;
	const struct sockaddr_ll name = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(IO_TYPE),
		.sll_ifindex = (int)if_nametoindex(b->end.interface),
	};

	setsockopt(b->fd, SOL_SOCKET, SO_SNDBUFFORCE, &memory, sizeof memory);
	if (set(b->fd, PACKET_VERSION, &version, sizeof version) ||
	    set(b->fd, PACKET_LOSS, &on, sizeof on) || add_ring(b->fd, PACKET_RX_RING, RX_BLOCKS) ||
	    add_ring(b->fd, PACKET_TX_RING, TX_BLOCKS))
		return -1;
	b->map = mmap(NULL, (RX_BLOCKS + TX_BLOCKS) * (size_t)BLOCK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_SHARED, b->fd, 0);
	return b->map == MAP_FAILED ? -1 : bind(b->fd, (const struct sockaddr *)&name, sizeof name);
}

static void *bare_open(const struct io_end *end)
{
	struct bare *b = calloc(1, sizeof *b);

	if (!b)
		return NULL;
	b->end = *end;
	b->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (b->fd >= 0 && prepare(b) == 0)
		return b;
	perror("bench-io: bare packet sockets");
	if (b->fd >= 0)
		close(b->fd);
	free(b);
	return NULL;
}

static void bare_close(void *end)
{
	struct bare *b = end;

	munmap(b->map, (RX_BLOCKS + TX_BLOCKS) * (size_t)BLOCK_BYTES);
	close(b->fd);
	free(b);
}

static uint32_t bare_send(void *end, uint32_t n)
{
	struct bare *b = end;
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct tpacket2_hdr *h = slot_at(b, RX_BLOCKS, b->tx);
		uint8_t *frame = (uint8_t *)h + TX_OFFSET;

		if (__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) != TP_STATUS_AVAILABLE)
			break;
		memcpy(frame, b->end.peer, 6);
		memcpy(frame + 6, b->end.mac, 6);
		frame[12] = IO_TYPE >> 8;
		frame[13] = IO_TYPE & 0xff;
		h->tp_len = b->end.bytes;
		__atomic_store_n(&h->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
		b->tx = (b->tx + 1) % (TX_BLOCKS * PER_BLOCK);
	}
	return i && send(b->fd, NULL, 0, MSG_DONTWAIT) < 0 ? 0 : i;
}

static uint32_t bare_receive(void *end)
{
	struct bare *b = end;
	uint32_t n;

	for (n = 0; n < IO_BURST; n++) {
		struct tpacket2_hdr *h = slot_at(b, 0, b->rx);

		if (!(__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
			break;
		__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		b->rx = (b->rx + 1) % (RX_BLOCKS * PER_BLOCK);
	}
	return n;
}

const struct io_bare io_bare_raw = {bare_open, bare_close, bare_send, bare_receive};
