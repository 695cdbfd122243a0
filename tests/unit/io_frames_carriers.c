/* Frames by other carriers than RoCE's: other seals, in front and behind, and native IP. */
#include "frames_pair.h"

#include "carriers.h"

enum { HEAD = 24 };

static const struct carrier *const all[] = {&carrier_roce, &carriers_uet, &carriers_uet_native,
					    &carriers_toy};
#define N_ALL (sizeof all / sizeof all[0])

/* A packet with a longer head than RC's samples have, which no rule takes for a cipher's. */
static void make(struct sample_packet *s, uint64_t seed, uint32_t bytes)
{
	make_packet(s, seed, bytes);
	for (uint32_t i = 0; i < HEAD; i++)
		s->head[i] = (uint8_t)(0x30 + i);
	s->tx.head_len = HEAD;
	s->tx.n_body = 3;
	s->bytes = bytes;
}

/* The frame, and what the parser finds: by which carrier, and a seal that is right. */
static void check_wire(const struct sample_packet *s, const struct cspan frame,
		       const struct seal *seal)
{
	struct net_cfg cfg = {.trims = net_trims_of(DSCP_TRIMMED, DSCP_LASTHOP)};
	struct net_pkt net;

	carriers_add(&cfg.carriers, carrier, 0);
	assert_int_equal(net_get(frame, NET_LINK_ETHERNET, &cfg, &net, NULL).why, WIRE_DROP_NONE);
	assert_int_equal(net.end, frame.len);
	assert_int_equal(net.end - net.transport,
			 seal->head_bytes + HEAD + s->bytes + seal->tail_bytes);
	assert_memory_equal(frame.at + net.transport + seal->head_bytes, s->head, HEAD);
	uint32_t ip_at = net_ip(&net)->at, end = net.end - seal->tail_bytes;
	struct cspan covered = {frame.at + ip_at, end - ip_at};

	assert_int_equal(seal_get(seal, frame.at + end), seal_sum(seal, &covered, 1));
	assert_int_equal(net_entropy(&net) >> 16, s->tx.ev >> 16);
}

/* In as many pieces as the carrier's payloads may lie in, each split where it may be: the last has
 * a part of the tail. */
static void read_pieces(uint8_t *frame, uint32_t len, const struct sample_packet *s)
{
	static uint8_t bytes[FRAME_BYTES];
	uint32_t most = carrier->pieces_max < FRAMES_PIECES ? carrier->pieces_max : FRAMES_PIECES;
	uint32_t last = len > 300 ? len - 2 : len, at = last / 2 > 256 ? last / 2 : last;

	for (uint32_t n = 2; n <= most; n++) {
		struct cspan piece[FRAMES_PIECES] = {{frame, last}, {frame + last, len - last}};
		struct rx_pkt rx;

		if (n == 3) {
			piece[2] = piece[1];
			piece[0].len = at;
			piece[1] = (struct cspan){frame + at, last - at};
		}
		frames_settle(b);
		assert_true(frames_read(b, NOW, 0, piece, &rx));
		assert_int_equal(join(&rx, bytes), HEAD + s->bytes);
		assert_memory_equal(bytes, s->head, HEAD);
		assert_memory_equal(bytes + HEAD, s->payload, s->bytes);
	}
}

/* Into pieces of three sizes, as it is in one. */
static void write_pieces(const uint8_t *frame, uint32_t len, const struct sample_packet *s)
{
	static uint8_t bytes[3][FRAME_BYTES];
	struct frames_out out = {.at = {bytes[0], bytes[1], bytes[2]},
				 .room = {FRAMES_FIRST, 300, FRAME_BYTES}};
	uint32_t first = len < FRAMES_FIRST ? len : FRAMES_FIRST;
	uint32_t second = len - first < 300 ? len - first : 300;

	assert_int_equal(frames_write(a, NOW, &s->tx, &out), len);
	assert_memory_equal(bytes[0], frame, first);
	assert_memory_equal(bytes[1], frame + first, second);
	assert_memory_equal(bytes[2], frame + first + second, len - first - second);
}

static void round_trips_by_every_carrier(void **state)
{
	static const uint32_t payloads[] = {0, 1, 7, 64, 255, 1000, 0};
	static uint8_t frame[FRAME_BYTES], bytes[FRAME_BYTES];
	static struct sample_packet s;

	(void)state;
	for (uint32_t n = 0; n < N_ALL * KINDS; n++) {
		enum kind kind = n / N_ALL;

		carrier = all[n % N_ALL];
		if (is_missing(kind))
			continue;
		open_pair(kind);
		const struct seal *seal = carrier_plain_seal(carrier);

		assert_ptr_equal(frames_via(a)->is, carrier);
		for (uint32_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
			bool is_last = i + 1 == sizeof payloads / sizeof *payloads;
			uint32_t n_payload = is_last ? carrier->payload_max : payloads[i];
			struct rx_pkt rx;

			make(&s, i, n_payload);
			uint32_t len = write_whole(&s.tx, frame);

			check_wire(&s, (struct cspan){frame, len}, seal);
			frames_settle(b);
			assert_true(read_whole(frame, len, &rx));
			assert_int_equal(join(&rx, bytes), HEAD + s.bytes);
			assert_memory_equal(bytes, s.head, HEAD);
			assert_memory_equal(bytes + HEAD, s.payload, n_payload);
			assert_int_equal(rx.ev >> 16, s.tx.ev >> 16);
			read_pieces(frame, len, &s);
			write_pieces(frame, len, &s);
			/* One bit, of the last byte that is sealed or of the seal. */
			frame[len - 1 - (i % 2 ? seal->tail_bytes : 0)] ^= 0x10;
			assert_false(read_whole(frame, len, &rx));
			assert_int_equal(count_b.drop_icrc, i + 1);
		}
		close_pair();
	}
	carrier = NULL;
}

/* What is shorter than the carrier's least header, or has no room for its tail. */
static void short_packets_are_counted(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	struct rx_pkt rx;

	(void)state;
	for (uint32_t n = 0; n < N_ALL; n++) {
		carrier = all[n];
		open_pair(IPV4);
		for (uint32_t cut = 1; cut <= HEAD + 4; cut++) {
			const struct seal *seal = carrier_plain_seal(carrier);

			make(&s, n, 0);
			uint32_t len = write_whole(&s.tx, frame) - cut;
			bool is_short = len - (14 + 20 + carrier_front_bytes(carrier)) <
					(uint32_t)carrier->head_least + seal->tail_bytes;
			uint64_t shorts = count_b.drop_short;

			put_be16(frame + 14 + 2, (uint16_t)(len - 14));
			put_be16(frame + 14 + 10, 0);
			put_be16(frame + 14 + 10, ipv4_checksum(frame + 14));
			if (!carrier_is_native(carrier))
				put_be16(frame + 14 + 20 + 4, (uint16_t)(len - 14 - 20));
			assert_false(read_whole(frame, len, &rx));
			assert_int_equal(count_b.drop_short - shorts, is_short);
		}
		close_pair();
	}
	carrier = NULL;
}

/* There is no key for what a cipher seals: such a carrier is refused, and such a packet dropped. */
static void ciphers_need_keys(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	struct frames_cfg cfg = cfg_of("lo");
	struct rx_pkt rx;

	(void)state;
	cfg.carrier = &carriers_falcon;
	assert_int_equal(frames_new(&a, &cfg, &count_a, error, sizeof error), -ENOTSUP);
	assert_non_null(strstr(error, "Falcon"));
	carrier = &carriers_uet;
	open_pair(IPV4);
	make(&s, 1, 100);
	s.head[0] = 1 << 3; /* TSS */
	uint32_t len = write_whole(&s.tx, frame);

	assert_false(read_whole(frame, len, &rx));
	assert_int_equal(count_b.drop_icrc, 1);
	close_pair();
	carrier = NULL;
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(round_trips_by_every_carrier),
	cmocka_unit_test(short_packets_are_counted),
	cmocka_unit_test(ciphers_need_keys),
};

ISOLATED_MAIN(cases)
