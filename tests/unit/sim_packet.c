#include "sim/packet.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "catalog.h"
#include "check.h"
#include "frame.h"
#include "fwd/trim.h"
#include "wire/icrc.h"

enum { HEAD_BYTES = PACKET_HEAD_MAX, ZEROS_MAX = 1400, BIG_MAX = 9216 };

static struct packet_pool pool;
static struct carriers known;
static uint8_t out[BIG_MAX];

static int start(void **state)
{
	(void)state;
	packet_pool_init(&pool, HEAD_BYTES);
	known = (struct carriers){.n = 0};
	carriers_add(&known, &carrier_roce, 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	packet_pool_fini(&pool);
	return 0;
}

/* A packet of those bytes, the first `stored` of them in its head and n more in a body. */
static struct packet *packet_of(const uint8_t *bytes, uint32_t len, uint32_t stored, uint32_t n)
{
	struct packet *p = packet_get(&pool);

	assert_non_null(p);
	p->start = (uint16_t)(HEAD_BYTES - stored);
	p->stored = (uint16_t)stored;
	p->len = len;
	memcpy(p->head + p->start, bytes, stored);
	if (n > 0) {
		assert_true(packet_add_body(p, n));
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(p->body->bytes[i], 0);
		memcpy(p->body->bytes, bytes + stored, n);
	}
	return p;
}

/* Both ways to see the whole frame agree with what it should be. */
static void check_bytes(struct packet *p, const uint8_t *want, uint32_t len)
{
	assert_int_equal(p->len, len);
	memset(out, 0xa5, sizeof out);
	packet_bytes(p, &known, out);
	assert_memory_equal(out, want, len);
	assert_true(packet_make_real(p, &known));
	assert_true(p->is_real);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(*packet_byte(p, i), want[i]);
	memset(out, 0xa5, sizeof out);
	packet_bytes(p, &known, out);
	assert_memory_equal(out, want, len);
}

static void check_new(const struct packet *p)
{
	assert_int_equal((uintptr_t)p % 64, 0);
	assert_true(!p->body && p->len == 0 && p->hops == 0);
	assert_true(p->start == 0 && p->stored == 0 && p->dscp == 0);
	assert_true(!p->is_real && !p->is_cut && !p->is_fcs_bad && !p->is_pause && !p->is_free);
	assert_int_equal(p->in_port, UINT32_MAX);
}

/* As different from a new one as can be; fill is in every byte of its head. */
static void make_old(struct packet *p, uint32_t fill)
{
	memset(p->head, (int)(fill % 251), HEAD_BYTES);
	p->is_real = p->is_cut = p->is_fcs_bad = p->is_pause = true;
	p->len = fill;
	p->hops = p->in_port = fill;
	p->start = p->stored = p->dscp = 1;
}

/* All packets that are not in use are in the pool's list, and say so. */
static void check_free(uint32_t in_use)
{
	uint32_t want = pool.n_chunks * 1024 - in_use, n = 0;

	for (const struct packet *p = pool.free; p && n <= want; p = p->next) {
		assert_true(p->is_free);
		n++;
	}
	assert_int_equal(n, want);
}

static void packets_come_and_go_as_in_a_model(void **state)
{
	enum { N = 3000 };
	static struct packet *held[N];
	uint64_t seed = check_seed(0x9001);
	uint32_t n = 0, most = 0;
	struct prng p;

	(void)state;
	prng_init(&p, seed, 0);
	for (uint32_t step = 0; step < 40000; step++) {
		bool grows = step / 5000 % 2 == 0;

		if (n < N && prng_chance(&p, grows ? 3 : 1, 4)) {
			struct packet *new = packet_get(&pool);

			check_new(new);
			make_old(new, n);
			held[n++] = new;
		} else if (n > 0) {
			n--;
			assert_int_equal(held[n]->len, n);
			for (uint32_t i = 0; i < HEAD_BYTES; i++)
				assert_int_equal(held[n]->head[i], n % 251);
			assert_false(held[n]->is_free);
			packet_put(&pool, held[n]);
			assert_true(held[n]->is_free);
		}
		if (step % 1000 == 0)
			check_free(n);
		most = n > most ? n : most;
		assert_int_equal(pool.in_use, n);
		assert_int_equal(pool.most, most);
	}
	assert_true(most > 1024 && pool.n_chunks == (most + 1023) / 1024);
}

static void the_packet_put_last_comes_first(void **state)
{
	struct packet *a = packet_get(&pool), *b = packet_get(&pool);

	(void)state;
	packet_put(&pool, a);
	packet_put(&pool, b);
	assert_ptr_equal(packet_get(&pool), b);
	assert_ptr_equal(packet_get(&pool), a);
}

/* More chunks than the first list of chunks has room for. */
static void the_pool_grows_without_end(void **state)
{
	enum { N = 20 * 1024 };
	struct packet *first = packet_get(&pool);

	(void)state;
	first->len = 77;
	for (uint32_t i = 1; i < N; i++)
		assert_non_null(packet_get(&pool));
	assert_int_equal(pool.n_chunks, N / 1024);
	assert_int_equal(first->len, 77);
}

static void copies_share_a_body_until_changed(void **state)
{
	uint8_t bytes[64];
	struct packet *p, *copy;

	(void)state;
	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)i;
	p = packet_of(bytes, 64, 20, 44);
	p->is_real = true;
	p->dscp = 9;
	p->hops = 0x5005;
	copy = packet_copy(&pool, p);
	assert_int_equal(copy->dscp, 9);
	assert_int_equal(copy->hops, 0x5005);
	assert_false(copy->is_free);
	assert_ptr_equal(copy->body, p->body);
	assert_int_equal(p->body->refs, 2);
	assert_true(packet_make_real(copy, &known));
	assert_ptr_not_equal(copy->body, p->body);
	assert_int_equal(p->body->refs, 1);
	/* Only of the one about to be changed are the hops unknown. */
	assert_int_equal(copy->hops, 0);
	assert_int_equal(p->hops, 0x5005);
	*packet_byte(copy, 3) = 0xff;
	*packet_byte(copy, 63) = 0xff;
	check_bytes(p, bytes, 64);
	packet_put(&pool, p);
	assert_int_equal(*packet_byte(copy, 3), 0xff);
	assert_int_equal(*packet_byte(copy, 62), 62);
	/* The last holder need not copy. */
	struct packet_body *own = copy->body;

	assert_true(packet_make_real(copy, &known));
	assert_ptr_equal(copy->body, own);
}

static void a_copy_without_body_has_none(void **state)
{
	static const uint8_t bytes[64] = {1, 2, 3};
	struct packet *p = packet_of(bytes, 1000, 64, 0), *copy = packet_copy(&pool, p);

	(void)state;
	assert_null(copy->body);
	assert_int_equal(copy->len, 1000);
	assert_memory_equal(copy->head + copy->start, bytes, 64);
}

/* Nobody can tell in advance what becomes of a packet that is changed on its way. */
static void a_real_packet_has_no_hops(void **state)
{
	static const uint8_t bytes[100];

	(void)state;
	/* Nothing behind the stored bytes; zeros; a body, and zeros. */
	for (uint32_t i = 0; i < 3; i++) {
		struct packet *p = packet_of(bytes, i ? 100 : 60, 60, i == 2 ? 20 : 0);

		p->hops = UINT64_MAX;
		packet_bytes(p, &known, out);
		assert_true(p->hops == UINT64_MAX);
		assert_true(packet_make_real(p, &known));
		assert_int_equal(p->hops, 0);
		packet_put(&pool, p);
	}
}

/* The pool goes while packets are in use. What stands where a body would is one only for packets in
 * use that are no pause frames; what the others are chained to must stay as it is. */
static void a_pool_ends_with_packets_in_use(void **state)
{
	enum { N = 1500 };
	static struct packet behind_pause, behind_free;
	static struct packet_body *bodies[N];
	struct packet *pauses[3];

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		struct packet *p = packet_get(&pool);

		assert_true(packet_add_body(p, 8));
		bodies[i] = p->body;
		bodies[i]->refs++; /* ours, to look at it later */
		if (i % 3 == 0)
			assert_non_null(packet_copy(&pool, p));
		if (i % 3 == 1)
			packet_put(&pool, p);
	}
	for (uint32_t i = 0; i < 3; i++) {
		pauses[i] = packet_get(&pool);
		pauses[i]->is_pause = true;
		pauses[i]->next = i ? pauses[i - 1] : &behind_pause;
	}
	assert_true(pool.n_chunks > 1);
	behind_pause = behind_free = (struct packet){0};
	pool.free->next = &behind_free;
	packet_pool_fini(&pool);
	assert_null(behind_pause.next);
	assert_null(behind_free.next);
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(bodies[i]->refs, 1);
		free(bodies[i]);
	}
	assert_true(pool.n_chunks == 0 && pool.in_use == 0 && !pool.free);
}

/* Pause frames wait at a port, chained, and come back to the pool one by one. */
static void pause_frames_come_back(void **state)
{
	struct packet *head = NULL;

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		struct packet *p = packet_get(&pool);

		p->is_pause = true;
		p->next = head;
		head = p;
	}
	for (uint32_t i = 10; i-- > 0;) {
		struct packet *p = head;

		head = p->next;
		p->body = NULL;
		packet_put(&pool, p);
		check_free(i);
	}
	assert_null(head);
}

/* Heads that end with a cache line, before it and behind it; the packets behind them are whole. */
static void heads_of_any_size_fit(void **state)
{
	const uint32_t line = 64 - offsetof(struct packet, head);
	const uint32_t sizes[] = {0, 1, line - 1, line, line + 1, line + 64, PACKET_HEAD_MAX};

	(void)state;
	for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct packet *held[3];

		packet_pool_fini(&pool);
		packet_pool_init(&pool, sizes[i]);
		for (uint32_t n = 0; n < 3; n++)
			held[n] = packet_get(&pool);
		for (uint32_t n = 0; n < 3; n++) {
			memset(held[n]->head, 0xff, sizes[i]);
			for (uint32_t other = n + 1; other < 3; other++)
				check_new(held[other]);
		}
		/* The common case is one line. */
		assert_int_equal(pool.stride == 64, sizes[i] <= line);
	}
}

/* Frames from another builder, cut into head and body anywhere behind UDP, their ICRC forgotten. */
static void every_kind_of_packet_gets_its_icrc(void **state)
{
	struct net_cfg cfg = catalog_cfg();
	uint64_t seed = check_seed(0x9002);
	uint32_t seen = 0;
	struct prng r;

	(void)state;
	prng_init(&r, seed, 0);
	for (uint32_t i = 0; i < catalog_size(); i++) {
		static struct sample s;
		static struct wire_packet pkt;

		catalog_get(i, &s);
		struct cspan frame = {s.frame.bytes, s.frame.len};

		assert_int_equal(wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, NULL).why,
				 WIRE_DROP_NONE);
		uint32_t least = pkt.net.transport, most = s.frame.len;

		/* A head of the simulator has no room for as many headers as there are in some. */
		if (!pkt.has_crc || least > HEAD_BYTES)
			continue;
		most = pkt.seal_at < HEAD_BYTES ? pkt.seal_at : HEAD_BYTES;
		assert_int_equal(pkt.seal_at, s.frame.len - icrc_bytes);
		for (uint32_t n = 0; n < 8; n++) {
			uint32_t stored = (uint32_t)prng_range(&r, least, most);
			/* A body may, but need not, have room for the ICRC. */
			uint32_t room = n % 2 ? icrc_bytes : 0;
			uint32_t rest = pkt.seal_at - stored + room;
			struct packet *p = packet_of(s.frame.bytes, s.frame.len, stored, rest);
			struct packet_places places;

			if (room)
				memset(p->body->bytes + rest - room, 0xee, room);
			assert_true(packet_find(p, &known, &places));
			assert_int_equal(places.ip, net_ip(&pkt.net)->at);
			assert_int_equal(places.transport, pkt.net.transport);
			check_bytes(p, s.frame.bytes, s.frame.len);
			packet_put(&pool, p);
		}
		seen++;
	}
	assert_true(seen > 50);
}

static const struct frame_spec specs[] = {
	{0, 6, FRAME_NATIVE, CATALOG_DSCP_TRIMMABLE, 2, 0xc001, 0x12345, 0},
	{0, 4, FRAME_NATIVE, CATALOG_DSCP_TRIMMABLE, 2, 0xc001, 0, 0},
	{2, 6, FRAME_NATIVE, CATALOG_DSCP_TRIMMABLE, 1, 0xc001, 0x12345, 0},
	{0, 6, FRAME_USID, CATALOG_DSCP_TRIMMABLE, 2, 0xc001, 0x12345, 0},
	{0, 6, FRAME_USID_SRH, CATALOG_DSCP_TRIMMABLE, 2, 0xc001, 0x12345, 0},
	{1, 4, FRAME_USID_SRH, CATALOG_DSCP_TRIMMABLE, 2, 0xc001, 0x12345, 0},
	{0, 6, FRAME_USID_SRH_TLV, CATALOG_DSCP_TRIMMABLE, 2, 0xc001, 0x12345, 0},
};
#define N_SPECS (sizeof specs / sizeof specs[0])

/* The headers of an MRC WRITE Middle. */
static struct cspan middle(void)
{
	static uint8_t bytes[mrc_bth_bytes + meth_bytes + reth_bytes];
	struct mrc_bth bth = {.opcode = MRC_OP_WRITE_MIDDLE, .dest_qp = 0x123456, .psn = 0xabcdef};
	struct meth meth = {.rqmsn = 7, .msn = 9};
	struct reth reth = {.va = 0x123456789a, .rkey = 0x5a5a, .dmalen = 1 << 20};

	mrc_bth_put(&bth, bytes);
	meth_put(&meth, bytes + mrc_bth_bytes);
	reth_put(&reth, bytes + mrc_bth_bytes + meth_bytes);
	return (struct cspan){bytes, sizeof bytes};
}

/* A frame of len zeros behind the headers, which alone are stored. */
static struct packet *virtual_packet(struct frame *f, const struct frame_spec *spec, uint32_t len)
{
	static const uint8_t zeros[ZEROS_MAX];

	frame_build(f, spec, middle(), (struct cspan){zeros, len});
	return packet_of(f->bytes, f->len, f->len - len - icrc_bytes, 0);
}

static void virtual_payload_gets_its_icrc(void **state)
{
	static const uint32_t lens[] = {0, 4, 8, 60, 64, 256, 1024, ZEROS_MAX};
	struct net_cfg cfg = catalog_cfg();

	(void)state;
	for (uint32_t i = 0; i < N_SPECS; i++) {
		for (uint32_t n = 0; n < sizeof lens / sizeof lens[0]; n++) {
			static struct frame f;
			static struct wire_packet pkt;
			struct packet *p = virtual_packet(&f, &specs[i], lens[n]);

			packet_bytes(p, &known, out);
			assert_int_equal(wire_packet_get((struct cspan){out, p->len},
							 NET_LINK_ETHERNET, &cfg, &pkt, NULL)
						 .why,
					 WIRE_DROP_NONE);
			assert_int_equal(wire_packet_payload(&pkt).len, lens[n]);
			check_bytes(p, f.bytes, f.len);
			packet_put(&pool, p);
		}
	}
}

/* Larger than the other builder goes: the decoder is the judge. */
static void large_frames_get_their_icrc(void **state)
{
	static const uint32_t lens[] = {4096, 4160, 8192, 9000};
	struct net_cfg cfg = catalog_cfg();

	(void)state;
	for (uint32_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
		static struct frame f;
		static struct wire_packet pkt;
		struct packet *p = virtual_packet(&f, &specs[0], 0);
		uint8_t *ip = p->head + p->start + eth_bytes;

		p->len += lens[i];
		put_be16(ip + 4, (uint16_t)(get_be16(ip + 4) + lens[i]));
		put_be16(ip + 44, (uint16_t)(get_be16(ip + 44) + lens[i]));
		packet_bytes(p, &known, out);
		assert_int_equal(wire_packet_get((struct cspan){out, p->len}, NET_LINK_ETHERNET,
						 &cfg, &pkt, NULL)
					 .why,
				 WIRE_DROP_NONE);
		assert_int_equal(wire_packet_payload(&pkt).len, lens[i]);
		packet_put(&pool, p);
	}
}

static struct fwd_qos trimming(void)
{
	struct fwd_names names = {0,
				  CATALOG_DSCP_TRIMMABLE,
				  CATALOG_DSCP_RETX,
				  CATALOG_DSCP_TRIMMED,
				  CATALOG_DSCP_TRIMMED_LASTHOP,
				  CATALOG_DSCP_CONTROL};
	struct fwd_bdp bdp = {100000, true, true, 0};
	struct fwd_qos qos;

	fwd_qos_recommended(&qos, &names, &bdp);
	return qos;
}

static void trim(struct packet *p, uint16_t keep)
{
	struct fwd_qos qos = trimming();
	struct fwd_frame f = packet_frame(p);
	struct fwd_view view;

	qos.classes[0].min_trim_bytes = keep;
	assert_int_equal(fwd_view_get(&f, &view), FWD_DROP_NONE);
	fwd_trim(&qos, &f, &view, false);
	packet_set_frame(p, &f);
}

/* Cut inside the stored bytes, at their end and inside the payload; before and after the packet
 * became real. What is left has no ICRC. */
static void trimmed_packets_have_no_icrc(void **state)
{
	static const uint16_t beyond[] = {0, 4, 40, 200, 256, 259};
	struct net_cfg cfg = catalog_cfg();

	(void)state;
	for (uint32_t n = 0; n < 2 * N_SPECS * 6; n++) {
		static struct frame f;
		static struct wire_packet pkt;
		struct packet *p = virtual_packet(&f, &specs[n / 2 % N_SPECS], 256);
		uint32_t ip = specs[n / 2 % N_SPECS].srv6 == FRAME_NATIVE &&
					      specs[n / 2 % N_SPECS].ip_version == 4
				      ? ipv4_bytes
				      : ipv6_bytes;
		uint32_t keep = p->stored - f.ip_at - ip + beyond[n / 2 / N_SPECS];

		if (n % 2)
			assert_true(packet_make_real(p, &known));
		trim(p, (uint16_t)keep);
		frame_trim(&f, CATALOG_DSCP_TRIMMED, keep);
		/* Only a packet made real before has ICRC bytes to keep. */
		if (n % 2 == 0 && beyond[n / 2 / N_SPECS] > 256)
			memset(f.bytes + f.len - 3, 0, 3);
		assert_true(p->is_cut);
		check_bytes(p, f.bytes, f.len);
		packet_repair(p, &known);
		check_bytes(p, f.bytes, f.len);
		assert_int_equal(wire_packet_get((struct cspan){out, p->len}, NET_LINK_ETHERNET,
						 &cfg, &pkt, NULL)
					 .why,
				 WIRE_DROP_NONE);
		assert_false(pkt.has_crc);
		packet_put(&pool, p);
	}
}

/* A NACK may say the UDP length of the packet it answers (M-13), and is whole all the same. */
static void a_strange_udp_length_does_not_cost_the_icrc(void **state)
{
	struct frame_spec spec = specs[0];
	static struct frame f;

	(void)state;
	spec.udp_length = 4200;
	struct packet *p = virtual_packet(&f, &spec, 12);

	check_bytes(p, f.bytes, f.len);
}

static void headers_are_taken_off_in_front(void **state)
{
	static struct frame f, inner;
	struct frame_spec spec = specs[4];
	struct packet *p;

	(void)state;
	p = virtual_packet(&f, &spec, 128);
	spec.srv6 = FRAME_NATIVE;
	packet_put(&pool, virtual_packet(&inner, &spec, 128));
	uint32_t front = f.len - inner.len;
	struct fwd_frame frame = packet_frame(p);

	assert_ptr_equal(frame.at, p->head + p->start);
	frame.at += front;
	frame.stored -= front;
	frame.len -= front;
	memcpy(frame.at, inner.bytes, eth_bytes);
	packet_set_frame(p, &frame);
	assert_false(p->is_cut);
	check_bytes(p, inner.bytes, inner.len);
}

static void a_changed_packet_can_be_repaired(void **state)
{
	struct net_cfg cfg = catalog_cfg();

	(void)state;
	for (uint32_t i = 0; i < N_SPECS; i++) {
		static struct frame f;
		static struct wire_packet pkt;
		struct packet *p = virtual_packet(&f, &specs[i], 64);
		struct packet_places places;

		assert_true(packet_find(p, &known, &places));
		assert_true(packet_make_real(p, &known));
		/* Packet number and payload. */
		*packet_byte(p, places.transport + 11) ^= 1;
		*packet_byte(p, p->len - icrc_bytes - 1) ^= 0x80;
		for (uint32_t round = 0; round < 2; round++) {
			packet_bytes(p, &known, out);
			assert_int_equal(wire_packet_get((struct cspan){out, p->len},
							 NET_LINK_ETHERNET, &cfg, &pkt, NULL)
						 .why,
					 round ? WIRE_DROP_NONE : WIRE_DROP_ICRC);
			packet_repair(p, &known);
		}
		packet_put(&pool, p);
	}
}

/* Without headers an ICRC covers, nothing is added: the rest is zeros. */
static void what_is_not_udp_stays_as_it_is(void **state)
{
	static struct frame f;
	static const struct {
		uint32_t at;
		uint8_t value;
	} rows[] = {{12, 0x88}, {13, 0x08}, {14, 0x55}, {14, 0x46}, {20, 6}, {20, 43}};

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct packet *p = virtual_packet(&f, &specs[0], 16);
		struct packet_places places;

		f.bytes[rows[i].at] = p->head[p->start + rows[i].at] = rows[i].value;
		memset(f.bytes + f.len - icrc_bytes, 0, icrc_bytes);
		assert_false(packet_find(p, &known, &places));
		check_bytes(p, f.bytes, f.len);
		packet_put(&pool, p);
	}
}

/* A segment routing header with nothing encapsulated behind it: no such packet has an ICRC. */
static void a_routing_header_before_udp_is_bounded(void **state)
{
	static struct frame f;
	struct packet *p = virtual_packet(&f, &specs[0], 32);
	uint8_t *ip = p->head + p->start + eth_bytes;

	(void)state;
	ip[6] = IPPROTO_ROUTING_IN;
	ip[ipv6_bytes] = IPPROTO_UDP_IN;
	ip[ipv6_bytes + 1] = 1;
	packet_bytes(p, &known, out);
	assert_int_equal(get_be32(out + p->len - icrc_bytes), 0);
	packet_put(&pool, p);
}

/* Any bytes, cut anywhere: a sanitizer is the judge of memory, a second look of the answer. */
static void any_bytes_can_be_made_real(void **state)
{
	uint64_t seed = check_seed(0x9003);
	struct prng r;

	(void)state;
	prng_init(&r, seed, 0);
	for (uint32_t i = 0; i < 20000; i++) {
		static struct frame f;
		uint32_t n = (uint32_t)prng_below(&r, 4);
		struct packet *p = virtual_packet(&f, &specs[prng_below(&r, N_SPECS)], 32);

		p->stored = (uint16_t)prng_range(&r, 0, p->stored);
		p->len = (uint32_t)prng_range(&r, p->stored, p->len);
		while (n-- > 0 && p->stored > 0)
			p->head[p->start + prng_below(&r, p->stored)] = (uint8_t)prng_u32(&r);
		packet_bytes(p, &known, out);
		check_bytes(p, memcpy(f.bytes, out, p->len), p->len);
		packet_repair(p, &known);
		packet_put(&pool, p);
	}
}

static void put_one_too_many(void *context)
{
	packet_put(&pool, context);
}

static void init_too_wide(void *context)
{
	packet_pool_init(context, PACKET_HEAD_MAX + 1);
}

static void mistakes_abort(void **state)
{
	struct packet *p = packet_get(&pool);

	(void)state;
	packet_put(&pool, p);
	assert_true(check_aborts(put_one_too_many, p));
	assert_true(check_aborts(init_too_wide, &(struct packet_pool){0}));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, end)

static const struct CMUnitTest cases[] = {
	CASE(packets_come_and_go_as_in_a_model),
	CASE(the_packet_put_last_comes_first),
	CASE(the_pool_grows_without_end),
	CASE(copies_share_a_body_until_changed),
	CASE(a_copy_without_body_has_none),
	CASE(a_real_packet_has_no_hops),
	CASE(a_pool_ends_with_packets_in_use),
	CASE(pause_frames_come_back),
	CASE(heads_of_any_size_fit),
	CASE(every_kind_of_packet_gets_its_icrc),
	CASE(virtual_payload_gets_its_icrc),
	CASE(large_frames_get_their_icrc),
	CASE(trimmed_packets_have_no_icrc),
	CASE(a_strange_udp_length_does_not_cost_the_icrc),
	CASE(headers_are_taken_off_in_front),
	CASE(a_changed_packet_can_be_repaired),
	CASE(what_is_not_udp_stays_as_it_is),
	CASE(a_routing_header_before_udp_is_bounded),
	CASE(any_bytes_can_be_made_real),
	CASE(mistakes_abort),
};

CHECK_MAIN(cases)
