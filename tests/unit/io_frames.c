/* Frames out of packets and back: what is written is read again, by the reader here and by the
 * parser of wire, in one piece and in two; what is wrong is counted. */
#include "frames_pair.h"

#include "base/crc32.h"
#include "wire/icrc.h"
#include "wire/mrc.h"

static const uint32_t payloads[] = {0,  1,   2,   3,    5,    31,   64,  83,
				    84, 255, 256, 1000, 1024, 4093, 4096};

static const uint8_t ip_len[KINDS] = {20, 40, 80, 104};

/* What the parser of wire says about the frame: everything that RoCEv2 wants is there. */
static void check_wire(const struct sample_packet *s, const uint8_t *frame, uint32_t len,
		       enum kind kind)
{
	struct net_cfg cfg = net_cfg_of(PORT, DSCP_TRIMMED, DSCP_LASTHOP);
	struct wire_packet pkt;
	struct wire_fault fault =
		wire_packet_get((struct cspan){frame, len}, NET_LINK_ETHERNET, &cfg, &pkt, NULL);

	assert_int_equal(fault.why, WIRE_DROP_NONE);
	assert_int_equal(pkt.net.end, len);
	assert_int_equal(pkt.net.n_ip, kind >= USID ? 2 : 1);
	assert_int_equal(pkt.net.has_srh, kind == USID_SRH);
	assert_int_equal(pkt.net.udp.checksum, 0);
	assert_int_equal(pkt.net.udp.sport, s->tx.ev >> 16);
	assert_int_equal(pkt.roce.bth.opcode, SEND_ONLY);
	assert_int_equal(wire_packet_payload(&pkt).len, s->bytes - s->head[1] / 16u);
	if (kind == IPV4) {
		assert_int_equal(pkt.net.ip[0].v4.id, 0);
		assert_int_equal(pkt.net.ip[0].v4.df, 1);
	}
	for (unsigned i = 0; kind != IPV4 && i < pkt.net.n_ip; i++)
		assert_int_equal(pkt.net.ip[i].v6.flow_label, s->tx.ev & 0xffff);
}

static void round_trips(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (is_missing(kind))
			continue;
		open_pair(kind);
		for (uint32_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
			struct rx_pkt rx;
			uint32_t len;

			make_packet(&s, i, payloads[i]);
			len = write_whole(&s.tx, frame);
			assert_int_equal(len, 14 + ip_len[kind] + 8 + BTH + s.bytes + 4);
			check_wire(&s, frame, len, kind);
			frames_settle(b);
			assert_true(read_whole(frame, len, &rx));
			check_received(&s, &rx, kind);
			/* Ethernet pads what is short; the packet ends before. */
			memset(frame + len, 0xaa, FRAME_BYTES - len < 9 ? FRAME_BYTES - len : 9);
			if (FRAME_BYTES - len >= 9) {
				assert_true(read_whole(frame, len + 9, &rx));
				check_received(&s, &rx, kind);
			}
		}
		assert_int_equal(drops_of(&count_b), 0);
		close_pair();
	}
}

/* A frame in two pieces of memory that end where they end. */
struct pieces {
	uint8_t *at[FRAMES_PIECES];
	uint32_t len[FRAMES_PIECES];
};

static struct pieces pieces_new(uint32_t first, uint32_t second)
{
	struct pieces p = {{malloc(first ? first : 1), malloc(second ? second : 1)},
			   {first, second}};

	assert_true(p.at[0] && p.at[1]);
	return p;
}

static void pieces_free(struct pieces *p)
{
	free(p->at[0]);
	free(p->at[1]);
}

static bool read_split(const uint8_t *frame, uint32_t len, uint32_t split, struct pieces *p,
		       struct rx_pkt *rx)
{
	*p = pieces_new(split, len - split);
	memcpy(p->at[0], frame, split);
	memcpy(p->at[1], frame + split, len - split);
	struct cspan piece[FRAMES_PIECES] = {{p->at[0], split}, {p->at[1], len - split}};

	return frames_read(b, NOW, 0, piece, rx);
}

static void every_split(void **state)
{
	static uint8_t frame[FRAME_BYTES], other[FRAME_BYTES];
	static struct sample_packet s;
	static const uint32_t some[] = {190, 333, 1023};
	struct pieces p;
	struct rx_pkt rx;

	(void)state;
	for (uint32_t i = 0; i < KINDS * 3u; i++) {
		enum kind kind = (enum kind)(i % KINDS);

		if (is_missing(kind))
			continue;
		open_pair(kind);
		make_packet(&s, i, some[i / KINDS]);
		uint32_t len = write_whole(&s.tx, frame);

		for (uint32_t split = 256; split <= len; split++) {
			p = pieces_new(split, len - split);
			struct frames_out out = {{p.at[0], p.at[1]}, {p.len[0], p.len[1]}};

			assert_int_equal(frames_write(a, NOW, &s.tx, &out), len);
			memcpy(other, p.at[0], split);
			memcpy(other + split, p.at[1], len - split);
			assert_memory_equal(other, frame, len);
			pieces_free(&p);
		}
		/* Below 256 bytes a split may cost the packet, and nothing else. */
		for (uint32_t split = 0; split <= len; split++) {
			bool is_read = read_split(frame, len, split, &p, &rx);

			assert_true(is_read || split < 256);
			if (is_read)
				check_received(&s, &rx, kind);
			pieces_free(&p);
		}
		close_pair();
	}
}

/* clang-format off */
static const uint8_t v4[] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x00, /* Ethernet */
	0x45, 0x2a, 0x00, 0x30, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, /* IPv4 */
	0x3c, 0x8e, 127, 0, 0, 2, 127, 0, 0, 3, /* its checksum and ends */
	0xab, 0xcd, 0x60, 0xd7, 0x00, 0x1c, 0x00, 0x00, /* UDP */
	0x04, 0x30, 0xff, 0xff, 0x00, 0x00, 0x01, 0x23, 0x00, 0x12, 0x34, 0x56, /* BTH */
	0x5a, 0x00, 0x00, 0x00, /* payload and padding */
};
static const uint8_t masked_v4[] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0x45, 0xff, 0x00, 0x30, 0x00, 0x00, 0x40, 0x00, 0xff, 0x11,
	0xff, 0xff, 127, 0, 0, 2, 127, 0, 0, 3,
	0xab, 0xcd, 0x60, 0xd7, 0x00, 0x1c, 0xff, 0xff,
	0x04, 0x30, 0xff, 0xff, 0xff, 0x00, 0x01, 0x23, 0x00, 0x12, 0x34, 0x56,
	0x5a, 0x00, 0x00, 0x00,
};
static const uint8_t v6[] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x86, 0xdd,
	0x62, 0xa0, 0xef, 0x01, 0x00, 0x1c, 0x11, 0x40,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
	0xab, 0xcd, 0x60, 0xd7, 0x00, 0x1c, 0x00, 0x00,
	0x04, 0x30, 0xff, 0xff, 0x00, 0x00, 0x01, 0x23, 0x00, 0x12, 0x34, 0x56,
	0x5a, 0x00, 0x00, 0x00,
};
/* clang-format on */

/* Written down byte by byte; only the ICRC is computed, by the CRC of base alone. */
static void golden_frames(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;

	(void)state;
	for (enum kind kind = IPV4; kind <= IPV6; kind++) {
		if (is_missing(kind))
			continue;
		open_pair(kind);
		make_packet(&s, 0, 1);
		s.payload[0] = 0x5a;
		put_be32(s.head + 8, 0x123456);
		s.tx.ev = 0xabcdef01;
		s.tx.tclass = ENGINE_DATA;
		s.tx.not_ect = 0;
		uint32_t len = kind == IPV4 ? sizeof v4 : sizeof v6;

		assert_int_equal(write_whole(&s.tx, frame), len + 4);
		assert_memory_equal(frame, kind == IPV4 ? v4 : v6, len);
		if (kind == IPV4)
			assert_int_equal(icrc_get(frame + len),
					 crc32_update(0, masked_v4, sizeof masked_v4));
		close_pair();
	}
}

/* A packet that answers a trimmed one says that one's length; no other may (M-13). */
static void nack_says_another_length(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	struct rx_pkt rx;

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (is_missing(kind))
			continue;
		open_pair(kind);
		make_packet(&s, kind, 40);
		s.tx.udp_len = 4180;
		s.head[0] = MRC_OP_NACK;
		uint32_t len = write_whole(&s.tx, frame);

		assert_true(read_whole(frame, len, &rx));
		assert_int_equal(rx.udp_len, 4180);
		s.head[0] = SEND_ONLY;
		len = write_whole(&s.tx, frame);
		assert_false(read_whole(frame, len, &rx));
		assert_int_equal(count_b.drop_headers, 1);
		close_pair();
	}
}

/* What a trimming switch leaves: the outermost length and DSCP are its own, the rest is history
 * (M-42). */
static uint32_t trim(uint8_t *frame, enum kind kind, uint8_t dscp, uint32_t keep)
{
	uint8_t *ip = frame + 14;

	if (kind == IPV4) {
		ip[1] = (uint8_t)(dscp << 2 | (ip[1] & 3));
		put_be16(ip + 2, (uint16_t)keep);
		put_be16(ip + 10, 0);
		put_be16(ip + 10, ipv4_checksum(ip));
	} else {
		ip[0] = (uint8_t)(0x60 | dscp >> 2);
		ip[1] = (uint8_t)((dscp & 3) << 6 | (ip[1] & 0x3f));
		put_be16(ip + 4, (uint16_t)(keep - 40));
	}
	return 14 + keep;
}

/* One that was cut by no byte has all its lengths right, and is trimmed by its DSCP alone: its ICRC
 * is there, and is looked at (M-48). */
static void trimmed_by_nothing(void **state)
{
	static const uint8_t dscps[] = {DSCP_TRIMMED, DSCP_LASTHOP, DSCP_TRIMMED_TOO};
	static uint8_t frame[FRAME_BYTES], got[FRAME_BYTES];
	static struct sample_packet s;
	struct rx_pkt rx;

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (is_missing(kind))
			continue;
		open_pair(kind);
		for (unsigned i = 0; i < 3; i++) {
			make_packet(&s, i, 64);
			uint32_t len = write_whole(&s.tx, frame);

			trim(frame, kind, dscps[i], len - 14);
			assert_true(read_whole(frame, len, &rx));
			assert_int_equal(rx.trimmed, i == 1 ? NET_TRIMMED_LASTHOP : NET_TRIMMED);
			assert_true(rx.is_uncut);
			assert_int_equal(join(&rx, got), BTH + 64);
			frame[len - 1] ^= 1;
			assert_false(read_whole(frame, len, &rx));
			assert_int_equal(count_b.drop_icrc, i + 1);
		}
		close_pair();
	}
}

/* The address of the last packet is ours only while it is open. */
static void closed_since_the_last_packet(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	struct rx_pkt rx;
	uint32_t len;

	(void)state;
	open_pair(IPV4);
	make_packet(&s, 1, 64);
	len = write_whole(&s.tx, frame);
	assert_true(read_whole(frame, len, &rx));
	frames_settle(b);
	frames_unbind(b, b_local);
	assert_false(read_whole(frame, len, &rx));
	assert_int_equal(count_b.drop_headers, 1);
	b_local = open_at(b, "127.0.0.3");
	assert_true(read_whole(frame, len, &rx));
	close_pair();
}

static void trimmed_frames(void **state)
{
	static uint8_t frame[FRAME_BYTES], got[FRAME_BYTES];
	static struct sample_packet s;
	struct pieces p;
	struct rx_pkt rx;

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (is_missing(kind))
			continue;
		open_pair(kind);
		for (uint32_t extra = 0; extra < 200; extra++) {
			bool is_last = extra & 1;
			uint32_t keep = ip_len[kind] + 8u + BTH + extra;

			make_packet(&s, extra, 1024);
			write_whole(&s.tx, frame);
			uint32_t len =
				trim(frame, kind, is_last ? DSCP_LASTHOP : DSCP_TRIMMED, keep);

			assert_true(read_whole(frame, len, &rx));
			assert_int_equal(rx.trimmed, is_last ? NET_TRIMMED_LASTHOP : NET_TRIMMED);
			assert_false(rx.is_uncut);
			assert_int_equal(rx.udp_len, 8 + BTH + 1024 + 4);
			assert_int_equal(join(&rx, got), BTH + extra);
			assert_memory_equal(got + BTH, s.payload, extra);
			if (len > 256) {
				assert_true(read_split(frame, len, 256, &p, &rx));
				assert_int_equal(join(&rx, got), BTH + extra);
				assert_memory_equal(got + BTH, s.payload, extra);
				pieces_free(&p);
			}
		}
		assert_int_equal(count_b.rx_trimmed, count_b.rx_delivered);
		/* Cut inside the transport header, it is nothing any more. */
		frames_settle(b);
		write_whole(&s.tx, frame);
		assert_false(read_whole(frame, trim(frame, kind, DSCP_TRIMMED, ip_len[kind] + 19u),
					&rx));
		assert_int_equal(count_b.drop_short, 1);
		close_pair();
	}
}

/* Changes a right frame into one that is dropped; returns its length. */
struct damage {
	const char *name;
	uint32_t (*make)(uint8_t *frame, uint32_t len);
	uint64_t *counter;
	uint8_t kinds; /* bits */
};

enum {
	ON_V4 = 1 << IPV4,
	ON_V6 = 1 << IPV6,
	ON_USID = 1 << USID,
	ON_SRH = 1 << USID_SRH,
	ON_ALL = 15
};

static uint32_t cut_to_13(uint8_t *frame, uint32_t len)
{
	(void)frame;
	return len ? 13 : 0;
}

static uint32_t cut_to_nothing(uint8_t *frame, uint32_t len)
{
	(void)frame;
	(void)len;
	return 0;
}

static uint32_t cut_in_ip(uint8_t *frame, uint32_t len)
{
	(void)frame;
	return len ? 30 : 0;
}

static uint32_t cut_last_byte(uint8_t *frame, uint32_t len)
{
	(void)frame;
	return len - 1;
}

static uint32_t not_ip(uint8_t *frame, uint32_t len)
{
	put_be16(frame + 12, 0x0806);
	return len;
}

static uint32_t of_vlan(uint8_t *frame, uint32_t len)
{
	memmove(frame + 16, frame + 12, len - 12);
	put_be16(frame + 12, ETHERTYPE_VLAN);
	put_be16(frame + 14, 5);
	return len + 4;
}

static uint32_t bad_checksum(uint8_t *frame, uint32_t len)
{
	frame[24] ^= 1;
	return len;
}

static uint32_t fragment(uint8_t *frame, uint32_t len)
{
	frame[20] = 0x20;
	fix_v4(frame);
	fix_icrc(frame, len);
	return len;
}

static uint32_t options(uint8_t *frame, uint32_t len)
{
	frame[14] = 0x46;
	fix_v4(frame);
	return len;
}

static uint32_t not_our_v4(uint8_t *frame, uint32_t len)
{
	frame[33]++;
	fix_v4(frame);
	fix_icrc(frame, len);
	return len;
}

static uint32_t not_our_v6(uint8_t *frame, uint32_t len)
{
	frame[14 + 39]++;
	fix_icrc(frame, len);
	return len;
}

/* The outer address is the fabric's business, the inner one is not ours. */
static uint32_t not_our_inner(uint8_t *frame, uint32_t len)
{
	frame[54 + 39]++;
	fix_icrc(frame, len);
	return len;
}

static uint32_t other_port(uint8_t *frame, uint32_t len)
{
	uint32_t udp = frame[12] == 0x08 ? 34 : 54;

	put_be16(frame + udp + 2, 4790);
	fix_icrc(frame, len);
	return len;
}

static uint32_t not_udp(uint8_t *frame, uint32_t len)
{
	frame[frame[12] == 0x08 ? 23 : 20] = 6;
	if (frame[12] == 0x08)
		fix_v4(frame);
	return len;
}

static uint32_t udp_length(uint8_t *frame, uint32_t len)
{
	uint32_t udp = frame[12] == 0x08 ? 34 : 54;

	frame[udp + 5]++;
	fix_icrc(frame, len);
	return len;
}

static uint32_t srh_type(uint8_t *frame, uint32_t len)
{
	frame[14 + 40 + 2] = 0;
	return len;
}

static uint32_t bad_payload(uint8_t *frame, uint32_t len)
{
	frame[len - 5] ^= 0x80;
	return len;
}

static uint32_t bad_icrc(uint8_t *frame, uint32_t len)
{
	frame[len - 1] ^= 1;
	return len;
}

/* Its IP lengths agree: there are 15 bytes, and 16 are the least. */
static uint32_t no_icrc(uint8_t *frame, uint32_t len)
{
	(void)len;
	if (frame[12] == 0x08) {
		put_be16(frame + 16, 20 + 8 + 15);
		fix_v4(frame);
		put_be16(frame + 38, 8 + 15);
		return 14 + 20 + 8 + 15;
	}
	put_be16(frame + 18, 8 + 15);
	put_be16(frame + 58, 8 + 15);
	return 14 + 40 + 8 + 15;
}

static const struct damage damages[] = {
	{"nothing", cut_to_nothing, &count_b.drop_short, ON_ALL},
	{"no whole Ethernet header", cut_to_13, &count_b.drop_short, ON_ALL},
	{"cut inside IP", cut_in_ip, &count_b.drop_short, ON_ALL},
	{"no room for the ICRC", no_icrc, &count_b.drop_short, ON_V4 | ON_V6},
	{"a byte missing", cut_last_byte, &count_b.drop_headers, ON_ALL},
	{"not IP", not_ip, &count_b.drop_headers, ON_ALL},
	{"of another VLAN", of_vlan, &count_b.drop_headers, ON_ALL},
	{"IPv4 checksum", bad_checksum, &count_b.drop_headers, ON_V4},
	{"fragment", fragment, &count_b.drop_headers, ON_V4},
	{"options", options, &count_b.drop_headers, ON_V4},
	{"not our IPv4 address", not_our_v4, &count_b.drop_headers, ON_V4},
	{"not our IPv6 address", not_our_v6, &count_b.drop_headers, ON_V6},
	{"not our inner address", not_our_inner, &count_b.drop_headers, ON_USID},
	{"another UDP port", other_port, &count_b.drop_headers, ON_V4 | ON_V6},
	{"not UDP", not_udp, &count_b.drop_headers, ON_V4 | ON_V6},
	{"UDP length", udp_length, &count_b.drop_headers, ON_V4 | ON_V6},
	{"routing type", srh_type, &count_b.drop_headers, ON_SRH},
	{"payload", bad_payload, &count_b.drop_icrc, ON_ALL},
	{"ICRC", bad_icrc, &count_b.drop_icrc, ON_ALL},
};

static void drops_are_counted(void **state)
{
	static uint8_t frame[FRAME_BYTES + 4];
	static struct sample_packet s;
	struct rx_pkt rx;

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (is_missing(kind))
			continue;
		open_pair(kind);
		for (uint32_t i = 0; i < sizeof damages / sizeof *damages; i++) {
			const struct damage *d = &damages[i];
			uint64_t before = *d->counter, dropped = drops_of(&count_b);

			if (!(d->kinds >> kind & 1))
				continue;
			make_packet(&s, i, 200);
			uint32_t len = d->make(frame, write_whole(&s.tx, frame));

			if (read_whole(frame, len, &rx))
				fail_msg("%s was taken", d->name);
			if (*d->counter != before + 1 || drops_of(&count_b) != dropped + 1)
				fail_msg("%s was counted elsewhere", d->name);
		}
		close_pair();
	}
}

static uint32_t expected_qp;

/* context: the handle of its peer. */
static bool expects_one(const void *context, const struct driver_call *call)
{
	const uint32_t *peer = context;

	return call->qp == expected_qp && call->peer == *peer;
}

/* By the base header and the sender alone: their ICRC is wrong, and nobody looked. */
static void a_guard_keeps_strangers_out(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	uint32_t other = DRIVER_NO_HANDLE;
	struct rx_pkt rx;

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		struct driver_guard guard = {expects_one, &a_of_b};

		if (is_missing(kind))
			continue;
		open_pair(kind);
		frames_set_guard(b, &guard);
		make_packet(&s, 1, 200);
		expected_qp = get_be24(s.head + 5);
		uint32_t len = write_whole(&s.tx, frame);

		assert_true(read_whole(frame, len, &rx));
		frame[len - 1] ^= 1;
		assert_false(read_whole(frame, len, &rx));
		assert_int_equal(count_b.drop_icrc, 1);
		expected_qp ^= 1;
		assert_false(read_whole(frame, len, &rx));
		expected_qp ^= 1;
		guard.context = &other;
		assert_false(read_whole(frame, len, &rx));
		assert_int_equal(count_b.drop_icrc, 1);
		assert_int_equal(count_b.drop_stranger, 2);
		close_pair();
	}
}

/* A tag that has only a priority is of no VLAN. */
static void priority_tag_is_taken(void **state)
{
	static uint8_t frame[FRAME_BYTES];
	static struct sample_packet s;
	struct rx_pkt rx;

	(void)state;
	open_pair(IPV4);
	make_packet(&s, 1, 200);
	uint32_t len = of_vlan(frame, write_whole(&s.tx, frame));

	put_be16(frame + 14, 0xa000);
	assert_true(read_whole(frame, len, &rx));
	check_received(&s, &rx, IPV4);
	close_pair();
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Bytes turned over anywhere, in one piece or two: each frame is delivered or dropped. */
static void random_flips(void **state)
{
	static uint8_t frame[FRAME_BYTES], bad[FRAME_BYTES];
	static struct sample_packet s;
	uint64_t seed = check_seed(20261116);
	int64_t until = now_ms() + 200;

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++, until += 200) {
		uint64_t delivered;

		if (is_missing(kind))
			continue;
		open_pair(kind);
		make_packet(&s, seed, 300);
		uint32_t len = write_whole(&s.tx, frame);

		for (uint64_t i = 0; i < 25000 && now_ms() < until; i++) {
			uint32_t cut, split, n;
			struct pieces p;
			struct rx_pkt rx;
			struct prng r;

			prng_init(&r, seed, i);
			memcpy(bad, frame, len);
			cut = prng_chance(&r, 1, 4) ? (uint32_t)prng_below(&r, len + 1) : len;
			for (n = (uint32_t)prng_range(&r, 1, 4); n > 0; n--)
				bad[prng_below(&r, prng_chance(&r, 3, 4) ? 160 : len)] =
					(uint8_t)prng_u32(&r);
			split = prng_chance(&r, 1, 2) ? cut : (uint32_t)prng_below(&r, cut + 1);
			if (read_split(bad, cut, split, &p, &rx) && rx.trimmed == NET_WHOLE)
				assert_true(join(&rx, bad) >= BTH);
			pieces_free(&p);
			frames_settle(b);
			if (count_b.rx != count_b.rx_delivered + drops_of(&count_b))
				fail_msg("flip %llu of seed %llu was not counted",
					 (unsigned long long)i, (unsigned long long)seed);
		}
		delivered = count_b.rx_delivered;
		assert_true(delivered < count_b.rx);
		close_pair();
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(round_trips),           cmocka_unit_test(every_split),
	cmocka_unit_test(golden_frames),         cmocka_unit_test(nack_says_another_length),
	cmocka_unit_test(trimmed_by_nothing),    cmocka_unit_test(closed_since_the_last_packet),
	cmocka_unit_test(trimmed_frames),        cmocka_unit_test(drops_are_counted),
	cmocka_unit_test(trimmed_frames),        cmocka_unit_test(a_guard_keeps_strangers_out),
	cmocka_unit_test(priority_tag_is_taken), cmocka_unit_test(random_flips),
};

ISOLATED_MAIN(cases)
