/* AF_XDP sockets as the xdp driver has them, and nothing else: each frame that arrives is taken by
 * a program of four instructions. */
#include "io.h"

#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <xdp/xsk.h>

#define CHUNK  4096u
#define CHUNKS 1024u /* to receive into, and as many to send from */
#define BYTES  ((size_t)2 * CHUNKS * CHUNK)

/* Newer than headers of the C library may be: Linux 6.6, 5.18 and 6.17. */
#define USE_TWO       (1u << 4)
#define CONTINUED     1u
#define KNOWS_PIECES  (1u << 5)
#define OPTION_BUDGET 9

struct bare {
	struct io_end end;
	uint8_t *memory;
	struct xsk_umem *umem;
	struct xsk_socket *socket;
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons done, rx;
	int map, program, link;
	uint64_t free[CHUNKS];
	uint32_t n_free;
};

/* bpf_redirect_map(map, context->rx_queue_index, XDP_PASS) */
static int load(int map)
{
	const struct bpf_insn take[] = {
		{BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, 16, 0},
		{BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map},
		{0, 0, 0, 0, 0},
		{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, XDP_PASS},
		{BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map},
		{BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
	};
	struct bpf_prog_load_opts opts = {.sz = sizeof opts, .prog_flags = KNOWS_PIECES};

	return bpf_prog_load(BPF_PROG_TYPE_XDP, "take", "Apache-2.0", take,
			     sizeof take / sizeof take[0], &opts);
}

static int open_socket(struct bare *b)
{
	const struct xsk_umem_config memory = {CHUNKS, CHUNKS, CHUNK, 0, 0};
	const struct xsk_socket_config config = {
		.rx_size = CHUNKS,
		.tx_size = CHUNKS,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP | USE_TWO,
	};
	const int buffer = (int)BYTES * 2;
	const uint32_t budget = CHUNKS;
	int result = -EBUSY, fd;

	/* The queue is free some time after the last socket there was closed. */
	for (unsigned i = 0; result == -EBUSY && i < 200; i++) {
		result = xsk_umem__create(&b->umem, b->memory, BYTES, &b->fill, &b->done, &memory);
		if (result)
			return result;
		result = xsk_socket__create(&b->socket, b->end.interface, 0, b->umem, &b->rx,
					    &b->tx, &config);
		if (result) {
			xsk_umem__delete(b->umem);
			b->umem = NULL;
			usleep(5000);
		}
	}
	if (result)
		return result;
	fd = xsk_socket__fd(b->socket);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
	setsockopt(fd, SOL_XDP, OPTION_BUDGET, &budget, sizeof budget);
	return xsk_socket__update_xskmap(b->socket, b->map);
}

static int prepare(struct bare *b)
{
	struct bpf_link_create_opts opts = {.sz = sizeof opts, .flags = XDP_FLAGS_DRV_MODE};
	uint32_t at = 0;
	int result;

	b->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b->memory == MAP_FAILED)
		return -ENOMEM;
	madvise(b->memory, BYTES, MADV_HUGEPAGE);
	b->map = bpf_map_create(BPF_MAP_TYPE_XSKMAP, "sockets", 4, 4, 1, NULL);
	b->program = b->map < 0 ? b->map : load(b->map);
	if (b->program < 0)
		return b->program;
	b->link =
		bpf_link_create(b->program, (int)if_nametoindex(b->end.interface), BPF_XDP, &opts);
	result = b->link < 0 ? b->link : open_socket(b);
	if (result)
		return result;
	xsk_ring_prod__reserve(&b->fill, CHUNKS, &at);
	for (uint32_t i = 0; i < CHUNKS; i++) {
		*xsk_ring_prod__fill_addr(&b->fill, at + i) = (uint64_t)i * CHUNK;
		b->free[b->n_free++] = (uint64_t)(CHUNKS + i) * CHUNK;
	}
	xsk_ring_prod__submit(&b->fill, CHUNKS);
	return 0;
}

static void bare_close(void *end)
{
	struct bare *b = end;

	if (b->link >= 0)
		close(b->link);
	if (b->socket)
		xsk_socket__delete(b->socket);
	if (b->umem)
		xsk_umem__delete(b->umem);
	if (b->program >= 0)
		close(b->program);
	if (b->map >= 0)
		close(b->map);
	if (b->memory != MAP_FAILED)
		munmap(b->memory, BYTES);
	free(b);
}

static void *bare_open(const struct io_end *end)
{
	struct bare *b = calloc(1, sizeof *b);
	int result;

	if (!b)
		return NULL;
	b->end = *end;
	b->map = b->program = b->link = -1;
	result = prepare(b);
	if (result == 0)
		return b;
	fprintf(stderr, "bench-io: bare AF_XDP sockets: %s\n", strerror(-result));
	bare_close(b);
	return NULL;
}

static void reap(struct bare *b)
{
	uint32_t at = 0, n = xsk_ring_cons__peek(&b->done, CHUNKS, &at);

	for (uint32_t i = 0; i < n; i++)
		b->free[b->n_free++] = *xsk_ring_cons__comp_addr(&b->done, at + i);
	xsk_ring_cons__release(&b->done, n);
}

/* One frame, of two chunks where it needs them; nothing is written but its addresses. */
static void put_frame(struct bare *b)
{
	uint8_t *frame = b->memory + b->free[b->n_free - 1];
	uint32_t left = b->end.bytes, at = 0;

	memcpy(frame, b->end.peer, 6);
	memcpy(frame + 6, b->end.mac, 6);
	frame[12] = IO_TYPE >> 8;
	frame[13] = IO_TYPE & 0xff;
	while (left > 0) {
		uint32_t n = left < CHUNK ? left : CHUNK;

		left -= n;
		xsk_ring_prod__reserve(&b->tx, 1, &at);
		*xsk_ring_prod__tx_desc(&b->tx, at) =
			(struct xdp_desc){b->free[--b->n_free], n, left > 0 ? CONTINUED : 0};
		xsk_ring_prod__submit(&b->tx, 1);
	}
}

static uint32_t bare_send(void *end, uint32_t n)
{
	struct bare *b = end;
	uint32_t i, before;

	reap(b);
	for (i = 0; i < n && b->n_free >= 2; i++)
		put_frame(b);
	do {
		before = *b->tx.consumer;
		if (sendto(xsk_socket__fd(b->socket), NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 &&
		    errno != EAGAIN && errno != EBUSY)
			break;
	} while (*b->tx.consumer != *b->tx.producer && *b->tx.consumer != before);
	return i;
}

static uint32_t bare_receive(void *end)
{
	struct bare *b = end;
	uint32_t at = 0, to = 0, frames = 0, n = xsk_ring_cons__peek(&b->rx, 2 * IO_BURST, &at);

	if (n == 0)
		return 0;
	xsk_ring_prod__reserve(&b->fill, n, &to);
	for (uint32_t i = 0; i < n; i++) {
		const struct xdp_desc *d = xsk_ring_cons__rx_desc(&b->rx, at + i);

		frames += !(d->options & CONTINUED);
		*xsk_ring_prod__fill_addr(&b->fill, to + i) = d->addr & ~(uint64_t)(CHUNK - 1);
	}
	xsk_ring_cons__release(&b->rx, n);
	xsk_ring_prod__submit(&b->fill, n);
	return frames;
}

const struct io_bare io_bare_xdp = {bare_open, bare_close, bare_send, bare_receive};
