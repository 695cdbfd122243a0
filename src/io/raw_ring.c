/* A port's packet socket with its two rings.
 *
 * Slots of TPACKET_V2, one frame each: what arrives is seen at once, where blocks of TPACKET_V3 are
 * seen when they are full or a millisecond old. With PACKET_LOSS the kernel skips a frame that it
 * finds malformed instead of stopping at it; that is also how one is skipped which a device
 * refused: as one that is shorter than its header, of which the kernel says nothing in its log.
 */
#include "io/raw_inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux has this since 4.20; headers of a C library may be older. */
#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

enum {
	/* A frame of RoCE's, and what the kernel puts before it. A slot for longer ones lies where
	 * two of these would, so that the way to a slot divides by what the compiler knows. */
	SLOT_BYTES = 4608,
	BLOCK_BYTES = 65536,
	PER_BLOCK = BLOCK_BYTES / SLOT_BYTES,
	BEFORE_BYTES = TPACKET2_HDRLEN + 64,
	TX_OFFSET = TPACKET2_HDRLEN - (int)sizeof(struct sockaddr_ll), /* to the frame, packet(7) */
	SKIPPED = 0, /* a length that no frame has */
};
_Static_assert(2 * SLOT_BYTES >= BEFORE_BYTES + FRAMES_MOST, "a slot has room for any frame");
_Static_assert(PER_BLOCK % 2 == 0, "two slots lie in one block");
_Static_assert(SLOT_BYTES % TPACKET_ALIGNMENT == 0, "as the kernel demands");

static struct tpacket2_hdr *slot_at(const struct raw_ring *g, uint8_t *ring, uint32_t i)
{
	i <<= g->is_double;
	return (void *)(ring + (size_t)(i / PER_BLOCK) * BLOCK_BYTES +
			(size_t)(i % PER_BLOCK) * SLOT_BYTES);
}

/* The status says whose a slot is, and so comes before what is read of it and after what is written
 * to it. */
static uint32_t status_of(const struct tpacket2_hdr *h)
{
	return __atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE);
}

static void set_status(struct tpacket2_hdr *h, uint32_t status)
{
	__atomic_store_n(&h->tp_status, status, __ATOMIC_RELEASE);
}

static uint32_t after(uint32_t i, uint32_t n)
{
	return i + 1 == n ? 0 : i + 1;
}

static int set(int fd, int option, const void *value, socklen_t len)
{
	return setsockopt(fd, SOL_PACKET, option, value, len) ? -errno : 0;
}

static uint32_t slot_bytes(const struct raw_ring *g)
{
	return SLOT_BYTES << g->is_double;
}

static uint32_t per_block(const struct raw_ring *g)
{
	return PER_BLOCK >> g->is_double;
}

/* Asks for at least so many slots, and says how many there will be. */
static int add_ring(const struct raw_ring *g, int option, uint32_t *n)
{
	const uint32_t blocks = (*n + per_block(g) - 1) / per_block(g);
	const struct tpacket_req want = {
		.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = blocks,
		.tp_frame_size = slot_bytes(g),
		.tp_frame_nr = blocks * per_block(g),
	};

	*n = blocks * per_block(g);
	return set(g->fd, option, &want, sizeof want);
}

static size_t bytes_of(const struct raw_ring *g, uint32_t slots)
{
	return (size_t)(slots / per_block(g)) * BLOCK_BYTES;
}

/* Frames on their way are charged to the socket; the limit shall be the ring. */
static void set_buffer(const struct raw_ring *g)
{
	const int bytes = (int)(2 * bytes_of(g, g->n.tx_slots));

	if (setsockopt(g->fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes))
		setsockopt(g->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static int prepare(struct raw_ring *g, const struct carrier_use *via, uint8_t tag)
{
	const int version = TPACKET_V2, on = 1;
	int result = raw_filter_attach(g->fd, via, tag);

	/* Where the kernel is too old for it, the filter refuses our own frames too: they did not
	 * come to this host. */
	set(g->fd, PACKET_IGNORE_OUTGOING, &on, sizeof on);
	if (!result)
		result = set(g->fd, PACKET_VERSION, &version, sizeof version);
	if (!result)
		result = set(g->fd, PACKET_LOSS, &on, sizeof on);
	if (!result)
		result = add_ring(g, PACKET_RX_RING, &g->n.rx_slots);
	if (!result)
		result = add_ring(g, PACKET_TX_RING, &g->n.tx_slots);
	if (result)
		return result;
	set_buffer(g);
	g->map = mmap(NULL, bytes_of(g, g->n.rx_slots) + bytes_of(g, g->n.tx_slots),
		      PROT_READ | PROT_WRITE, MAP_SHARED, g->fd, 0);
	if (g->map == MAP_FAILED) {
		g->map = NULL;
		return -errno;
	}
	g->rx = g->map;
	g->tx = g->map + bytes_of(g, g->n.rx_slots);
	return 0;
}

int raw_ring_open(struct raw_ring *g, const struct raw_sizes *n, const struct carrier_use *via,
		  uint8_t tag)
{
	/* Protocol 0: no packet comes before the filter is there. */
	*g = (struct raw_ring){
		.fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
		.n = *n,
		.is_double = BEFORE_BYTES + frames_most(via->is) > SLOT_BYTES,
	};
	if (g->fd < 0)
		return -errno;
	int result = prepare(g, via, tag);

	if (result)
		raw_ring_close(g);
	return result;
}

void raw_ring_close(struct raw_ring *g)
{
	if (g->map)
		munmap(g->map, bytes_of(g, g->n.rx_slots) + bytes_of(g, g->n.tx_slots));
	if (g->fd >= 0)
		close(g->fd);
	g->map = NULL;
	g->fd = -1;
}

int raw_ring_bind(struct raw_ring *g, uint32_t ifindex)
{
	const struct sockaddr_ll name = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)ifindex,
	};

	if (bind(g->fd, (const struct sockaddr *)&name, sizeof name))
		return -errno;
	g->ifindex = ifindex;
	return 0;
}

void raw_ring_look(struct raw_ring *g)
{
	struct sockaddr_ll name = {.sll_ifindex = 0};
	socklen_t len = sizeof name, error_len = sizeof(int);
	int error;

	getsockopt(g->fd, SOL_SOCKET, SO_ERROR, &error, &error_len);
	if (getsockname(g->fd, (struct sockaddr *)&name, &len) || name.sll_ifindex <= 0)
		g->ifindex = 0;
}

uint32_t raw_ring_missed(const struct raw_ring *g)
{
	struct tpacket_stats stats = {.tp_drops = 0};
	socklen_t len = sizeof stats;

	getsockopt(g->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len);
	return stats.tp_drops;
}

struct cspan raw_ring_take(struct raw_ring *g)
{
	const struct tpacket2_hdr *h = slot_at(g, g->rx, g->rx_next);

	/* A slot that is lent looks as if the kernel had just filled it. */
	if (g->rx_n_lent == g->n.rx_slots || !(status_of(h) & TP_STATUS_USER))
		return (struct cspan){NULL, 0};
	g->rx_next = after(g->rx_next, g->n.rx_slots);
	g->rx_n_lent++;
	/* The next is on its way into the cache while this one is read. */
	__builtin_prefetch(slot_at(g, g->rx, g->rx_next));
	return (struct cspan){(const uint8_t *)h + h->tp_mac, h->tp_snaplen};
}

void raw_ring_return(struct raw_ring *g)
{
	uint32_t at = g->rx_next + g->n.rx_slots - g->rx_n_lent;

	if (at >= g->n.rx_slots)
		at -= g->n.rx_slots;
	for (; g->rx_n_lent > 0; g->rx_n_lent--, at = after(at, g->n.rx_slots))
		set_status(slot_at(g, g->rx, at), TP_STATUS_KERNEL);
}

struct span raw_ring_slot(const struct raw_ring *g)
{
	struct tpacket2_hdr *h = slot_at(g, g->tx, g->tx_next);

	if (status_of(h) != TP_STATUS_AVAILABLE)
		return (struct span){NULL, 0};
	return (struct span){(uint8_t *)h + TX_OFFSET, slot_bytes(g) - TX_OFFSET};
}

void raw_ring_commit(struct raw_ring *g, uint32_t bytes)
{
	struct tpacket2_hdr *h = slot_at(g, g->tx, g->tx_next);

	h->tp_len = bytes;
	set_status(h, TP_STATUS_SEND_REQUEST);
	g->tx_next = after(g->tx_next, g->n.tx_slots);
	g->tx_waiting++;
}

/* Takes back what the kernel did not take, and goes on where that began, as the kernel will. */
static uint32_t take_back(struct raw_ring *g)
{
	uint32_t n = 0, at = g->tx_first;

	for (; g->tx_waiting > 0; g->tx_waiting--) {
		n += slot_at(g, g->tx, at)->tp_len != SKIPPED;
		set_status(slot_at(g, g->tx, at), TP_STATUS_AVAILABLE);
		at = after(at, g->n.tx_slots);
	}
	g->tx_next = g->tx_first;
	return n;
}

/* How many of n frames from first the kernel skipped, if that was so many bytes: it does so with
 * those that are longer than the interface allows, which are the longest. */
static uint32_t count_skipped(const struct raw_ring *g, uint32_t first, uint32_t n, uint64_t bytes)
{
	uint32_t skipped = 0, below = UINT32_MAX;

	/* Each turn takes the next shorter length. */
	while (bytes > 0 && below > 0) {
		uint32_t longest = 0, of_it = 0;

		for (uint32_t i = 0, at = first; i < n; i++, at = after(at, g->n.tx_slots)) {
			uint32_t len = slot_at(g, g->tx, at)->tp_len;

			if (len == SKIPPED || len >= below || len < longest)
				continue;
			of_it = len == longest ? of_it + 1 : 1;
			longest = len;
		}
		uint64_t sum = (uint64_t)of_it * longest;

		skipped += of_it;
		bytes -= sum < bytes ? sum : bytes;
		below = longest;
	}
	return skipped;
}

/* Passes by the frames that the kernel took; of these it says to have sent so many bytes, < 0: it
 * does not say. */
static void pass_taken(struct raw_ring *g, ssize_t bytes, struct raw_pushed *done)
{
	uint32_t first = g->tx_first, n = 0, given_up = 0, skipped = 0;
	uint64_t sum = 0;

	for (; g->tx_waiting > 0; g->tx_waiting--, n++) {
		const struct tpacket2_hdr *h = slot_at(g, g->tx, g->tx_first);

		if (status_of(h) == TP_STATUS_SEND_REQUEST)
			break;
		given_up += h->tp_len == SKIPPED;
		sum += h->tp_len;
		g->tx_first = after(g->tx_first, g->n.tx_slots);
	}
	if (bytes >= 0 && (uint64_t)bytes < sum)
		skipped = count_skipped(g, first, n, sum - (uint64_t)bytes);
	done->failed += skipped;
	done->sent += n - given_up - skipped;
}

static bool is_down(int error)
{
	return error == ENETDOWN || error == ENXIO || error == ENODEV;
}

struct raw_pushed raw_ring_push(struct raw_ring *g)
{
	struct raw_pushed done = {0};
	bool has_looked = false;

	/* Each turn but one gives up a frame or ends. */
	while (g->tx_waiting > 0) {
		ssize_t bytes = send(g->fd, NULL, 0, MSG_DONTWAIT | MSG_NOSIGNAL);
		int error = bytes < 0 ? errno : 0;

		done.calls++;
		pass_taken(g, bytes, &done);
		if (g->tx_waiting == 0 || error == 0 || error == EAGAIN)
			break;
		if (error == ENOBUFS) {
			/* The device's queue has no room for the first that waits. */
			slot_at(g, g->tx, g->tx_first)->tp_len = SKIPPED;
			done.failed++;
		} else if (!is_down(error)) {
			/* Whatever it is, it will be the same for the next. */
			done.failed += take_back(g);
		} else if (has_looked) {
			done.down += take_back(g);
		} else {
			/* It may be an old error, of an interface that is up again. */
			raw_ring_look(g);
			has_looked = true;
		}
	}
	return done;
}

uint32_t raw_ring_room(const struct raw_ring *g, uint32_t most)
{
	uint32_t n = most < g->n.tx_slots ? most : g->n.tx_slots;

	/* Slots become free in their order, or nearly so; the next is what counts. */
	if (status_of(slot_at(g, g->tx, g->tx_next)) != TP_STATUS_AVAILABLE)
		return 0;
	while (n > 0) {
		uint32_t last = g->tx_next + n - 1;

		if (last >= g->n.tx_slots)
			last -= g->n.tx_slots;
		if (status_of(slot_at(g, g->tx, last)) == TP_STATUS_AVAILABLE)
			break;
		n /= 2;
	}
	return n;
}
