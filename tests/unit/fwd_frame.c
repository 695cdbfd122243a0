#include "fwd/frame.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "check.h"
#include "wire/net.h"

enum { ROOM = 256 };

/* What a frame is made of; zero means untagged IPv6 without ports. */
struct recipe {
	uint8_t version, protocol, tags, options; /* options: 32-bit words of them, IPv4 */
	uint16_t fragment;                        /* the IPv4 word of flags and offset */
	uint16_t payload;                         /* bytes behind the IP header */
	uint16_t padding;                         /* bytes behind the IP packet */
};

/* A frame in memory of its own size, so that a sanitizer sees a read beyond it. */
struct built {
	struct fwd_frame f;
	uint32_t ip_at, header;
};

/* The Internet checksum the long way. */
static uint16_t naive_checksum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < 4u * (ip[0] & 0xf); i += 2) {
		sum += i == 10 ? 0 : get_be16(ip + i);
		if (sum > 0xffff)
			sum -= 0xffff;
	}
	return (uint16_t)~sum;
}

static uint32_t put_ethernet(uint8_t *p, const struct recipe *r)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};
	uint32_t at = sizeof macs;

	memcpy(p, macs, sizeof macs);
	for (uint32_t i = 0; i < r->tags; i++, at += 4) {
		put_be16(p + at, i + 1 < r->tags ? ETHERTYPE_QINQ : ETHERTYPE_VLAN);
		put_be16(p + at + 2, 0x6000 + 5);
	}
	put_be16(p + at, r->version == 4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6);
	return at + 2;
}

static struct built build(struct prng *random, struct recipe r)
{
	uint8_t p[ROOM];
	struct built b;

	prng_fill(random, p, sizeof p);
	b.ip_at = put_ethernet(p, &r);
	b.header = r.version == 4 ? 20 + 4u * r.options : 40;
	uint8_t *ip = p + b.ip_at;

	if (r.version == 4) {
		ip[0] = (uint8_t)(0x45 + r.options);
		put_be16(ip + 2, (uint16_t)(b.header + r.payload));
		put_be16(ip + 6, r.fragment);
		ip[9] = r.protocol;
		put_be16(ip + 10, naive_checksum(ip));
	} else {
		ip[0] = (uint8_t)(0x60 | (ip[0] & 0xf));
		put_be16(ip + 4, r.payload);
		ip[6] = r.protocol;
	}
	uint32_t len = b.ip_at + b.header + r.payload + r.padding;

	assert_true(len <= ROOM);
	b.f = (struct fwd_frame){malloc(len), len, len};
	assert_non_null(b.f.at);
	memcpy(b.f.at, p, len);
	return b;
}

static void assert_same_view(const struct fwd_view *a, const struct fwd_view *b)
{
	assert_ptr_equal(a->ip, b->ip);
	assert_int_equal(a->ip_at, b->ip_at);
	assert_int_equal(a->ip_len, b->ip_len);
	assert_int_equal(a->flow_label, b->flow_label);
	assert_int_equal(a->sport, b->sport);
	assert_int_equal(a->dport, b->dport);
	assert_int_equal(a->version, b->version);
	assert_int_equal(a->dscp, b->dscp);
	assert_int_equal(a->ecn, b->ecn);
	assert_int_equal(a->hop_limit, b->hop_limit);
	assert_int_equal(a->protocol, b->protocol);
}

static void known_ipv6(void **state)
{
	uint8_t bytes[] =
		"\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x86\xdd"
		"\x6b\x9a\xbc\xde\x00\x0c\x11\x40" /* class 0xb9: DSCP 46, ECN 1; label abcde */
		"\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
		"\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02"
		"\xc0\x01\x12\xb7\x00\x0c\x00\x00\x41\x42\x43\x44";
	struct fwd_frame f = {bytes, sizeof bytes - 1, sizeof bytes - 1};
	struct fwd_view want = {.ip = bytes + 14,
				.ip_at = 14,
				.ip_len = 52,
				.flow_label = 0xabcde,
				.sport = 0xc001,
				.dport = 4791,
				.version = 6,
				.dscp = 46,
				.ecn = 1,
				.hop_limit = 64,
				.protocol = 17};
	struct fwd_view got;

	(void)state;
	assert_int_equal(fwd_view_get(&f, &got), FWD_DROP_NONE);
	assert_same_view(&got, &want);
}

static void known_ipv4(void **state)
{
	/* The words without the checksum sum to 2479c: 479c + 2 = 479e, whose complement is b861.
	 * Of the 115 bytes only the headers are stored. */
	uint8_t bytes[] = "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00"
			  "\x45\x00\x00\x73\x00\x00\x40\x00\x40\x11\xb8\x61"
			  "\xc0\xa8\x00\x01\xc0\xa8\x00\xc7\x80\x01\x12\xb7";
	struct fwd_frame f = {bytes, sizeof bytes - 1, 14 + 115};
	struct fwd_view want = {.ip = bytes + 14,
				.ip_at = 14,
				.ip_len = 115,
				.sport = 0x8001,
				.dport = 4791,
				.version = 4,
				.hop_limit = 64,
				.protocol = 17};
	struct fwd_view got;

	(void)state;
	assert_int_equal(fwd_view_get(&f, &got), FWD_DROP_NONE);
	assert_same_view(&got, &want);
	assert_int_equal(fwd_take_hop(&got), FWD_DROP_NONE);
	assert_int_equal(bytes[14 + 8], 0x3f);
	assert_int_equal(get_be16(bytes + 14 + 10), 0xb961);
}

static const struct {
	struct recipe r;
	enum fwd_drop drop;
	bool has_ports;
} shapes[] = {
	{{6, 17, 0, 0, 0, 12, 0}, FWD_DROP_NONE, true},
	{{6, 6, 0, 0, 0, 20, 0}, FWD_DROP_NONE, true},
	{{6, 17, 1, 0, 0, 12, 0}, FWD_DROP_NONE, true},
	{{6, 17, 2, 0, 0, 12, 9}, FWD_DROP_NONE, true},
	{{6, 17, 3, 0, 0, 12, 0}, FWD_DROP_NOT_IP, false},
	{{6, 17, 0, 0, 0, 8, 30}, FWD_DROP_NONE, true},
	{{6, 17, 0, 0, 0, 4, 0}, FWD_DROP_NONE, true},
	{{6, 17, 0, 0, 0, 3, 0}, FWD_DROP_NONE, false},
	{{6, 17, 0, 0, 0, 3, 20}, FWD_DROP_NONE, false},
	{{6, 17, 0, 0, 0, 0, 0}, FWD_DROP_NONE, false},
	{{6, 41, 0, 0, 0, 60, 0}, FWD_DROP_NONE, false},
	{{6, 43, 0, 0, 0, 60, 0}, FWD_DROP_NONE, false},
	{{6, 44, 0, 0, 0, 60, 0}, FWD_DROP_NONE, false}, /* a fragment header */
	{{6, 59, 0, 0, 0, 0, 0}, FWD_DROP_NONE, false},
	{{4, 17, 0, 0, 0, 12, 0}, FWD_DROP_NONE, true},
	{{4, 6, 0, 0, 0, 20, 6}, FWD_DROP_NONE, true},
	{{4, 17, 1, 0, 0, 12, 0}, FWD_DROP_NONE, true},
	{{4, 17, 2, 10, 0, 12, 0}, FWD_DROP_NONE, true},
	{{4, 17, 3, 0, 0, 12, 0}, FWD_DROP_NOT_IP, false},
	{{4, 17, 0, 1, 0, 12, 0}, FWD_DROP_NONE, true},
	{{4, 17, 0, 10, 0, 8, 0}, FWD_DROP_NONE, true},
	{{4, 17, 0, 10, 0, 3, 10}, FWD_DROP_NONE, false},
	{{4, 17, 0, 0, 0x4000, 12, 0}, FWD_DROP_NONE, true},  /* DF */
	{{4, 17, 0, 0, 0x2000, 16, 0}, FWD_DROP_NONE, true},  /* the first fragment */
	{{4, 17, 0, 0, 0x2001, 16, 0}, FWD_DROP_NONE, false}, /* one in the middle */
	{{4, 17, 0, 0, 0x1000, 16, 0}, FWD_DROP_NONE, false}, /* the last */
	{{4, 6, 0, 3, 0x0001, 16, 0}, FWD_DROP_NONE, false},
	{{4, 1, 0, 0, 0, 16, 0}, FWD_DROP_NONE, false},
	{{4, 17, 0, 0, 0, 0, 26}, FWD_DROP_NONE, false},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void shapes_of_frames(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0xf4a0), 0);
	for (uint32_t i = 0; i < 100 * SHAPES; i++) {
		uint32_t n = i % SHAPES;
		const struct recipe *r = &shapes[n].r;
		struct built b = build(&p, *r);
		struct fwd_view v;

		assert_int_equal(fwd_view_get(&b.f, &v), shapes[n].drop);
		if (shapes[n].drop == FWD_DROP_NONE) {
			const uint8_t *ip = b.f.at + b.ip_at, *ports = ip + b.header;

			assert_ptr_equal(v.ip, ip);
			assert_int_equal(v.ip_at, 14 + 4 * r->tags);
			assert_int_equal(v.ip_len, b.header + r->payload);
			assert_int_equal(v.version, r->version);
			assert_int_equal(v.protocol, r->protocol);
			assert_int_equal(v.sport, shapes[n].has_ports ? get_be16(ports) : 0);
			assert_int_equal(v.dport, shapes[n].has_ports ? get_be16(ports + 2) : 0);
			assert_int_equal(v.hop_limit, ip[r->version == 4 ? 8 : 7]);
			assert_int_equal(v.flow_label,
					 r->version == 4 ? 0 : get_be24(ip + 1) & 0xfffff);
		}
		free(b.f.at);
	}
}

static void what_is_not_ip(void **state)
{
	static const uint16_t types[] = {0,      46,     0x05dc, 0x0806, 0x0801,
					 0x86dc, 0x8847, 0x88cc, 0xffff};
	struct prng p;
	struct fwd_view v;

	(void)state;
	prng_init(&p, check_seed(0xf4a1), 0);
	for (uint32_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		struct built b = build(
			&p, (struct recipe){.version = 6, .tags = (uint8_t)(i % 3), .payload = 20});

		put_be16(b.f.at + b.ip_at - 2, types[i]);
		assert_int_equal(fwd_view_get(&b.f, &v), FWD_DROP_NOT_IP);
		free(b.f.at);
	}
	/* The version of the header is not the one that Ethernet announced. */
	for (uint32_t i = 0; i < 32; i++) {
		uint8_t version = i & 16 ? 4 : 6;
		struct built b = build(&p, (struct recipe){.version = version, .payload = 30});

		b.f.at[14] = (uint8_t)((i & 15) << 4 | (b.f.at[14] & 0xf));
		if (version == 4)
			put_be16(b.f.at + 14 + 10, naive_checksum(b.f.at + 14));
		assert_int_equal(fwd_view_get(&b.f, &v),
				 (i & 15) == version ? FWD_DROP_NONE : FWD_DROP_NOT_IP);
		free(b.f.at);
	}
}

/* The length field against the frame: one more than there is, and less than a header. */
static void length_fields(void **state)
{
	static const struct {
		uint8_t version, options;
		uint16_t field;
		enum fwd_drop drop;
	} table[] = {
		{6, 0, 60, FWD_DROP_NONE},         {6, 0, 61, FWD_DROP_MALFORMED},
		{6, 0, 65535, FWD_DROP_MALFORMED}, {6, 0, 59, FWD_DROP_NONE},
		{6, 0, 0, FWD_DROP_NONE},          {4, 0, 80, FWD_DROP_NONE},
		{4, 0, 81, FWD_DROP_MALFORMED},    {4, 0, 65535, FWD_DROP_MALFORMED},
		{4, 0, 79, FWD_DROP_NONE},         {4, 0, 20, FWD_DROP_NONE},
		{4, 0, 19, FWD_DROP_MALFORMED},    {4, 0, 0, FWD_DROP_MALFORMED},
		{4, 10, 120, FWD_DROP_NONE},       {4, 10, 121, FWD_DROP_MALFORMED},
		{4, 10, 60, FWD_DROP_NONE},        {4, 10, 59, FWD_DROP_MALFORMED},
	};
	struct prng p;
	struct fwd_view v;

	(void)state;
	prng_init(&p, check_seed(0xf4a2), 0);
	for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		struct recipe r = {.version = table[i].version,
				   .protocol = 17,
				   .options = table[i].options,
				   .payload = 60};
		struct built b = build(&p, r);
		uint8_t *ip = b.f.at + b.ip_at;

		put_be16(ip + (r.version == 4 ? 2 : 4), table[i].field);
		if (r.version == 4)
			put_be16(ip + 10, naive_checksum(ip));
		assert_int_equal(fwd_view_get(&b.f, &v), table[i].drop);
		free(b.f.at);
	}
	for (uint8_t ihl = 0; ihl < 5; ihl++) {
		struct built b = build(&p, (struct recipe){.version = 4, .payload = 60});

		b.f.at[14] = (uint8_t)(0x40 | ihl);
		put_be16(b.f.at + 14 + 10, naive_checksum(b.f.at + 14));
		assert_int_equal(fwd_view_get(&b.f, &v), FWD_DROP_MALFORMED);
		free(b.f.at);
	}
}

static void every_bit_of_an_ipv4_header_is_guarded(void **state)
{
	struct prng p;
	struct fwd_view v;

	(void)state;
	prng_init(&p, check_seed(0xf4a3), 0);
	for (uint8_t options = 0; options <= 10; options++) {
		struct built b = build(&p, (struct recipe){.version = 4,
							   .protocol = 17,
							   .options = options,
							   .payload = 40,
							   .padding = 20});

		for (uint32_t bit = 0; bit < 8 * b.header; bit++) {
			uint8_t *byte = b.f.at + b.ip_at + bit / 8;
			uint8_t flip = (uint8_t)(0x80 >> bit % 8);

			*byte ^= flip;
			enum fwd_drop drop = fwd_view_get(&b.f, &v);

			*byte ^= flip;
			if (bit >= 32 || (bit >= 8 && bit < 16))
				assert_int_equal(drop, FWD_DROP_CHECKSUM);
			assert_int_not_equal(drop, FWD_DROP_NONE);
		}
		assert_int_equal(fwd_view_get(&b.f, &v), FWD_DROP_NONE);
		free(b.f.at);
	}
}

/* One frame cut to stored bytes, the wire length being len. */
static enum fwd_drop view_of_cut(const struct built *b, uint32_t stored, uint32_t len)
{
	struct fwd_frame cut = {malloc(stored ? stored : 1), stored, len};
	struct fwd_view v;

	assert_non_null(cut.at);
	memcpy(cut.at, b->f.at, stored);
	enum fwd_drop drop = fwd_view_get(&cut, &v);

	free(cut.at);
	return drop;
}

static void every_truncation_is_malformed(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0xf4a4), 0);
	for (uint32_t kind = 0; kind < 2 * 3 * 2 * 11; kind++) {
		struct recipe r = {.version = kind & 1 ? 4 : 6,
				   .protocol = kind & 2 ? 17 : 59,
				   .tags = (uint8_t)(kind / 4 % 3),
				   .options = kind & 1 ? (uint8_t)(kind / 12) : 0,
				   .payload = 24};
		struct built b = build(&p, r);
		uint32_t need = b.ip_at + b.header + (r.protocol == 17 ? 4 : 0);

		for (uint32_t stored = 0; stored < b.f.len; stored++) {
			/* A switch may look at no byte behind the ports. */
			assert_int_equal(view_of_cut(&b, stored, b.f.len),
					 stored < need ? FWD_DROP_MALFORMED : FWD_DROP_NONE);
			assert_int_equal(view_of_cut(&b, stored, stored), FWD_DROP_MALFORMED);
		}
		free(b.f.at);
	}
}

/* Bytes at random behind a plausible start; the answer does not matter, a read beyond does. What is
 * accepted must lie in the frame. */
static void random_bytes_are_read_in_bounds(void **state)
{
	static const uint16_t types[] = {0x0800, 0x86dd, 0x8100, 0x88a8};
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0xf4a5), 0);
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t stored = (uint32_t)prng_below(&p, 100);
		struct fwd_frame f = {malloc(stored ? stored : 1), stored,
				      stored + (uint32_t)prng_below(&p, 2000)};
		struct fwd_view v;

		assert_non_null(f.at);
		prng_fill(&p, f.at, stored);
		for (uint32_t at = 12; at < 24 && at + 2 < stored; at += 4)
			put_be16(f.at + at, types[prng_below(&p, 4)]);
		for (uint32_t at = 14; at < 23 && at < stored; at += 4)
			f.at[at] = (uint8_t)((prng_chance(&p, 1, 2) ? 0x60 : 0x40) |
					     prng_below(&p, 16));
		if (fwd_view_get(&f, &v) == FWD_DROP_NONE) {
			assert_true(v.ip == f.at + v.ip_at);
			assert_true(v.ip_at + (v.version == 4 ? 20 : 40) <= f.stored);
			assert_true(v.ip_at + v.ip_len <= f.len);
		}
		free(f.at);
	}
}

/* Random frames of both versions under random changes: bytes and view change alike, the checksum
 * is what the long way gives, and no byte changes but the wanted ones. */
static void changes_agree_with_bytes(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0xf4a6), 0);
	for (uint32_t i = 0; i < 4000; i++) {
		struct recipe r = {.version = i & 1 ? 4 : 6,
				   .protocol = 17,
				   .options = i & 1 ? (uint8_t)prng_below(&p, 11) : 0,
				   .payload = (uint16_t)prng_range(&p, 8, 60)};
		struct built b = build(&p, r);
		uint8_t *ip = b.f.at + b.ip_at, want[ROOM];
		struct fwd_view v, again;

		memcpy(want, b.f.at, b.f.len);
		assert_int_equal(fwd_view_get(&b.f, &v), FWD_DROP_NONE);
		for (uint32_t step = 0; step < 20; step++) {
			uint8_t dscp = (uint8_t)prng_below(&p, 64),
				ecn = (uint8_t)prng_below(&p, 4);
			uint32_t len = (uint32_t)prng_range(&p, b.header + 8, b.header + r.payload);
			uint8_t *w = want + b.ip_at, *hop = w + (r.version == 4 ? 8 : 7);
			uint32_t class = r.version == 4 ? w[1] : (get_be16(w) >> 4 & 0xff);

			switch (prng_below(&p, 4)) {
			case 0: fwd_set_dscp(&v, dscp), class = dscp << 2 | (class & 3); break;
			case 1: fwd_set_ecn(&v, ecn), class = (class & 0xfc) | ecn; break;
			case 2:
				fwd_set_ip_len(&v, len);
				put_be16(w + (r.version == 4 ? 2 : 4),
					 (uint16_t)(r.version == 4 ? len : len - 40));
				break;
			default:
				assert_int_equal(fwd_take_hop(&v),
						 *hop > 1 ? FWD_DROP_NONE : FWD_DROP_HOP_LIMIT);
				*hop = *hop > 1 ? *hop - 1 : *hop;
			}
			if (r.version == 4) {
				w[1] = (uint8_t) class;
				put_be16(w + 10, naive_checksum(w));
			} else {
				put_be16(w, (uint16_t)((get_be16(w) & 0xf00f) | class << 4));
			}
			assert_memory_equal(b.f.at, want, b.f.len);
			assert_int_equal(fwd_view_get(&b.f, &again), FWD_DROP_NONE);
			assert_same_view(&v, &again);
			assert_ptr_equal(v.ip, ip);
		}
		free(b.f.at);
	}
}

/* Every sum there is passes through the incremental update, the two zeros included. */
static void checksum_stays_right_for_every_sum(void **state)
{
	struct prng p;
	struct fwd_view v;

	(void)state;
	prng_init(&p, check_seed(0xf4a7), 0);
	struct built b = build(&p, (struct recipe){.version = 4, .payload = 8});
	uint8_t *ip = b.f.at + b.ip_at;

	for (uint32_t id = 0; id < 65536; id++) {
		put_be16(ip + 4, (uint16_t)id);
		ip[8] = (uint8_t)(2 + id % 254);
		put_be16(ip + 10, naive_checksum(ip));
		assert_int_equal(fwd_view_get(&b.f, &v), FWD_DROP_NONE);
		fwd_set_dscp(&v, id & 63);
		assert_int_equal(get_be16(ip + 10), naive_checksum(ip));
		fwd_set_ecn(&v, id >> 6 & 3);
		assert_int_equal(get_be16(ip + 10), naive_checksum(ip));
		assert_int_equal(fwd_take_hop(&v), FWD_DROP_NONE);
		assert_int_equal(get_be16(ip + 10), naive_checksum(ip));
	}
	free(b.f.at);
}

static void hop_limits(void **state)
{
	struct prng p;
	struct fwd_view v;

	(void)state;
	prng_init(&p, check_seed(0xf4a8), 0);
	for (uint32_t i = 0; i < 512; i++) {
		struct recipe r = {.version = i & 1 ? 4 : 6, .payload = 30};
		struct built b = build(&p, r);
		uint8_t *ip = b.f.at + b.ip_at, *hop = ip + (r.version == 4 ? 8 : 7);
		uint8_t limit = (uint8_t)(i / 2), after = limit > 1 ? limit - 1 : limit;

		*hop = limit;
		if (r.version == 4)
			put_be16(ip + 10, naive_checksum(ip));
		assert_int_equal(fwd_view_get(&b.f, &v), FWD_DROP_NONE);
		assert_int_equal(fwd_take_hop(&v), limit > 1 ? FWD_DROP_NONE : FWD_DROP_HOP_LIMIT);
		assert_int_equal(v.hop_limit, after);
		assert_int_equal(*hop, after);
		assert_int_equal(fwd_view_get(&b.f, &v), FWD_DROP_NONE);
		free(b.f.at);
	}
}

static void drops_have_names(void **state)
{
	static const char *const ids[] = {
#define ID(id, text) #id,
		FWD_DROPS(ID)
#undef ID
	};

	(void)state;
	assert_int_equal(sizeof ids / sizeof ids[0], FWD_DROP_COUNT);
	for (uint32_t i = 0; i < FWD_DROP_COUNT; i++) {
		const char *name = fwd_drop_name((enum fwd_drop)i);

		assert_non_null(name);
		assert_int_equal(strlen(name), strlen(ids[i]));
		for (uint32_t k = 0; name[k]; k++)
			assert_int_equal(name[k], ids[i][k] == '_' ? '-' : tolower(ids[i][k]));
		assert_non_null(fwd_drop_text((enum fwd_drop)i));
	}
	assert_string_equal(fwd_drop_text(FWD_DROP_HOP_LIMIT), "the hop limit ran out");
	assert_null(fwd_drop_name(FWD_DROP_COUNT));
	assert_null(fwd_drop_text(FWD_DROP_COUNT));
	assert_null(fwd_drop_name((enum fwd_drop)1000));
	assert_null(fwd_drop_text((enum fwd_drop)1000));
}

static void set_wide_dscp(void *view)
{
	fwd_set_dscp(view, 64);
}

static void set_wide_ecn(void *view)
{
	fwd_set_ecn(view, 4);
}

static void set_short_len(void *view)
{
	const struct fwd_view *v = view;

	fwd_set_ip_len(view, v->version == 4 ? 4u * (v->ip[0] & 0xf) - 1 : 39);
}

static void set_long_len(void *view)
{
	const struct fwd_view *v = view;

	fwd_set_ip_len(view, v->version == 4 ? 65536 : 65576);
}

static void view_beyond(void *frame)
{
	const struct fwd_frame *f = frame;
	struct fwd_view v;

	fwd_view_get(&(struct fwd_frame){f->at, f->stored, f->stored - 1}, &v);
}

static void mistakes_abort(void **state)
{
	static void (*const mistakes[])(void *) = {set_wide_dscp, set_wide_ecn, set_short_len,
						   set_long_len};
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0xf4a9), 0);
	for (uint8_t version = 4; version <= 6; version += 2) {
		struct built b =
			build(&p, (struct recipe){.version = version, .options = 2, .payload = 30});
		struct fwd_view v;

		assert_int_equal(fwd_view_get(&b.f, &v), FWD_DROP_NONE);
		for (uint32_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
			assert_true(check_aborts(mistakes[i], &v));
		assert_true(check_aborts(view_beyond, &b.f));
		free(b.f.at);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(known_ipv6),
	cmocka_unit_test(known_ipv4),
	cmocka_unit_test(shapes_of_frames),
	cmocka_unit_test(what_is_not_ip),
	cmocka_unit_test(length_fields),
	cmocka_unit_test(every_bit_of_an_ipv4_header_is_guarded),
	cmocka_unit_test(every_truncation_is_malformed),
	cmocka_unit_test(random_bytes_are_read_in_bounds),
	cmocka_unit_test(changes_agree_with_bytes),
	cmocka_unit_test(checksum_stays_right_for_every_sum),
	cmocka_unit_test(hop_limits),
	cmocka_unit_test(drops_have_names),
	cmocka_unit_test(mistakes_abort),
};

CHECK_MAIN(cases)
