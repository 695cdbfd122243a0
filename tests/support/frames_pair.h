/* Two ends on the loopback interface, a and b, that hand each other frames through memory. For
 * tests of frames: each includes this once, first. */
#ifndef WEFT_TESTS_SUPPORT_FRAMES_PAIR_H
#define WEFT_TESTS_SUPPORT_FRAMES_PAIR_H

#include "isolate.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "io/frames.h"
#include "io/nexthop.h"
#include "wire/icrc.h"
#include "wire/packet.h"

enum {
	PORT = 24791, /* not RoCE's own: where no namespace is permitted others may have that */
	DSCP_TRIMMED = 12,
	DSCP_LASTHOP = 14,
	DSCP_TRIMMED_TOO = 41,
	BTH = 12,
	SEND_ONLY = 4,
	FRAME_BYTES = FRAMES_MOST,
	NOW = 77,
};

enum kind { IPV4, IPV6, USID, USID_SRH, KINDS };

static const struct encap_segments segments = {
	.n = 2,
	.at = {{0xfc, 0, 0, 1, 0x11, 0x22}, {0xfc, 0, 0, 1, 0x33, 0x44}},
};

static const uint8_t pair_dscps[ENGINE_TCLASSES] = {10, 18, 8, 48};
static const struct carrier *carrier; /* of both ends; NULL: RoCE's, to PORT */
static struct driver_counters count_a, count_b;
static struct frames *a, *b;
static uint32_t a_local, b_local, b_of_a, a_of_b; /* b_of_a: a's handle of b */
static char error[512];

static inline struct sockaddr_storage address(const char *text, uint32_t scope)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_scope_id = scope};
	struct sockaddr_storage s = {0};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
		memcpy(&s, &v4, sizeof v4);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
		memcpy(&s, &v6, sizeof v6);
	}
	return s;
}

static inline struct frames_cfg cfg_of(const char *interface)
{
	struct frames_cfg cfg = {
		.n_ports = 1,
		.carrier = carrier ? carrier : &carrier_roce,
		.port = carrier ? 0 : PORT,
		.max_peers = 8,
		.is_shared = true,
		.trims = {UINT64_C(1) << DSCP_TRIMMED | UINT64_C(1) << DSCP_TRIMMED_TOO,
			  UINT64_C(1) << DSCP_LASTHOP},
	};

	memcpy(cfg.interfaces[0], interface, strlen(interface) + 1);
	memcpy(cfg.dscp, pair_dscps, sizeof pair_dscps);
	return cfg;
}

static inline struct frames *new_frames(const struct frames_cfg *cfg, struct driver_counters *count)
{
	struct frames *f = NULL;

	*count = (struct driver_counters){0};
	if (frames_new(&f, cfg, count, error, sizeof error))
		fail_msg("%s", error);
	return f;
}

static inline uint32_t open_at(struct frames *f, const char *text)
{
	struct sockaddr_storage s = address(text, 0);
	uint32_t handle = DRIVER_NO_HANDLE;

	if (frames_bind(f, (struct sockaddr *)&s, &handle, error, sizeof error))
		fail_msg("%s: %s", text, error);
	return handle;
}

static inline uint32_t peer_of(struct frames *f, const char *text)
{
	struct sockaddr_storage s = address(text, 0);

	return frames_peer_get(f, (struct sockaddr *)&s);
}

static inline bool has_ipv6(void)
{
	struct sockaddr_storage s = address("::1", 0);
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool has = fd >= 0 && bind(fd, (struct sockaddr *)&s, sizeof(struct sockaddr_in6)) == 0;

	if (fd >= 0)
		close(fd);
	return has;
}

/* The loopback interface has one address of IPv6: both ends are there. */
static inline void open_pair(enum kind kind)
{
	const char *at_a = kind == IPV4 ? "127.0.0.2" : "::1";
	const char *at_b = kind == IPV4 ? "127.0.0.3" : "::1";
	struct encap_segments s = segments;
	struct frames_cfg cfg = cfg_of("lo");

	a = new_frames(&cfg, &count_a);
	b = new_frames(&cfg, &count_b);
	a_local = open_at(a, at_a);
	b_local = open_at(b, at_b);
	b_of_a = peer_of(a, at_b);
	a_of_b = peer_of(b, at_a);
	s.n = (uint8_t)(kind - IPV6);
	if (kind >= USID)
		assert_int_equal(frames_peer_segments(a, b_of_a, 0, 1, &s), 0);
}

static inline uint64_t drops_of(const struct driver_counters *c)
{
	uint64_t sum = 0;

#define DROP_ADD(name, text) sum += c->name;
	DRIVER_DROPS(DROP_ADD)
#undef DROP_ADD
	return sum;
}

static inline void close_pair(void)
{
	assert_int_equal(count_b.rx, count_b.rx_delivered + drops_of(&count_b));
	frames_peer_put(a, b_of_a);
	frames_peer_put(b, a_of_b);
	frames_settle(b);
	frames_unbind(a, a_local);
	frames_unbind(b, b_local);
	frames_free(a);
	frames_free(b);
	a = b = NULL;
}

/* A packet of RC with so many bytes of payload, from some seed; padding is a piece of its own, and
 * one piece is virtual. */
struct sample_packet {
	struct tx_pkt tx;
	uint8_t head[ENGINE_HEAD_MAX], payload[CARRIER_PAYLOAD_MAX];
	uint32_t bytes; /* of payload and padding */
};

static inline void make_packet(struct sample_packet *s, uint64_t seed, uint32_t bytes)
{
	static const uint8_t zeros[4];
	uint32_t pad = -bytes & 3, cut = bytes / 3;
	struct prng r;

	prng_init(&r, seed, 0);
	prng_fill(&r, s->payload, bytes);
	memset(s->payload + cut, 0, cut);
	s->head[0] = SEND_ONLY;
	s->head[1] = (uint8_t)(pad << 4);
	put_be16(s->head + 2, 0xffff);
	put_be32(s->head + 4, 0x000123);
	put_be32(s->head + 8, prng_u32(&r) & 0xffffff);
	s->tx = (struct tx_pkt){
		.head = s->head,
		.head_len = BTH,
		.n_body = 4,
		.peer = b_of_a,
		.local = a_local,
		.ev = prng_u32(&r),
		.tclass = (uint8_t)prng_below(&r, ENGINE_TCLASSES),
		.not_ect = (uint8_t)prng_below(&r, 2),
		.body = {{s->payload, cut},
			 {NULL, cut},
			 {s->payload + 2 * cut, bytes - 2 * cut},
			 {zeros, pad}},
	};
	s->bytes = bytes + pad;
}

/* The whole packet in one piece; its bytes. */
static inline uint32_t write_whole(const struct tx_pkt *tx, uint8_t *frame)
{
	struct frames_out out = {.at = {frame}, .room = {FRAME_BYTES}};

	return frames_write(a, NOW, tx, &out);
}

static inline bool read_whole(const uint8_t *frame, uint32_t len, struct rx_pkt *rx)
{
	struct cspan piece[FRAMES_PIECES] = {{frame, len}};

	return frames_read(b, NOW, 0, piece, rx);
}

/* Head and body as one run of bytes; how many. */
static inline uint32_t join(const struct rx_pkt *rx, uint8_t *out)
{
	uint32_t n = rx->head.len;

	memcpy(out, rx->head.at, n);
	for (unsigned i = 0; i < ENGINE_BODY; i++) {
		if (rx->body[i].len)
			memcpy(out + n, rx->body[i].at, rx->body[i].len);
		n += rx->body[i].len;
	}
	return n;
}

/* A kind without which this machine does; true: skip it. */
static inline bool is_missing(enum kind kind)
{
	return kind != IPV4 && !has_ipv6();
}

static inline void check_received(const struct sample_packet *s, const struct rx_pkt *rx,
				  enum kind kind)
{
	static uint8_t got[FRAME_BYTES];
	uint32_t n = join(rx, got);

	assert_int_equal(n, BTH + s->bytes);
	assert_memory_equal(got, s->head, BTH);
	assert_memory_equal(got + BTH, s->payload, s->bytes - s->head[1] / 16u);
	assert_true(rx->head.len == n || rx->head.len >= 96);
	assert_true(rx->head.len <= ENGINE_HEAD_MAX);
	assert_int_equal(rx->at, NOW);
	assert_int_equal(rx->peer, a_of_b);
	assert_int_equal(rx->local, b_local);
	assert_int_equal(rx->ev, kind == IPV4 ? s->tx.ev & 0xffff0000 : s->tx.ev);
	assert_int_equal(rx->udp_len, 8 + n + 4);
	assert_int_equal(rx->port, 0);
	assert_int_equal(rx->dscp, engine_dscp(s->tx.tclass, pair_dscps));
	assert_int_equal(rx->ttl, 64);
	assert_int_equal(rx->trimmed, NET_WHOLE);
	assert_int_equal(rx->ecn, s->tx.not_ect ? 0 : 2);
	assert_int_equal(rx->sa, 0);
	assert_int_equal(rx->stamp, 0);
}

static inline void fix_icrc(uint8_t *frame, uint32_t len)
{
	uint32_t at = frame[12] == 0x08 ? 14u : frame[20] == 17 ? 14u : frame[20] == 41 ? 54u : 78u;

	icrc_put(frame + len - 4, icrc_of((struct cspan){frame + at, len - 4 - at}));
}

static inline void fix_v4(uint8_t *frame)
{
	put_be16(frame + 24, 0);
	put_be16(frame + 24, ipv4_checksum(frame + 14));
}

#endif
