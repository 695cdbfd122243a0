/* Writes a capture of one operation of RC between two engines: usage:
 *
 *	rc-capture OPERATION 4|6 FILE
 *
 * Every packet as it was sent, in Ethernet, IPv4 or IPv6 and UDP, with its ICRC. PMTU 1024 and
 * messages of 2500 bytes; the script tshark-rc says what should be in it. */
#include <stdio.h>
#include <stdlib.h>

#include "frame.h"
#include "pcap_out.h"
#include "rc_pair.h"

#define MESSAGE 2500u
#define WINDOW  0x7700u

static FILE *out;
static uint8_t ip_version;

static void swap(uint8_t *a, uint8_t *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint8_t keep = a[i];

		a[i] = b[i];
		b[i] = keep;
	}
}

/* The frame of a packet that end 1 sends goes the other way; sums do not mind the exchange. */
static void turn_round(struct frame *f)
{
	uint8_t *ip = f->bytes + f->ip_at;

	swap(f->bytes, f->bytes + 6, 6);
	if (ip_version == 4)
		swap(ip + 12, ip + 16, 4);
	else
		swap(ip + 8, ip + 24, 16);
	frame_fix_icrc(f, f->ip_at);
}

/* Over IPv6 a UDP checksum of zero is not what readers expect (RFC 8200, 8.1). The frame is closed:
 * the sum covers the ICRC, which leaves the sum out. */
static void sum_udp(struct frame *f)
{
	uint8_t *ip = f->bytes + f->ip_at, *udp = ip + ipv6_bytes;
	uint32_t len = f->len - f->ip_at - ipv6_bytes, sum = len + IPPROTO_UDP_IN;

	for (uint32_t i = 0; i < 32; i++)
		sum += (uint32_t)ip[8 + i] << (i % 2 ? 0 : 8);
	for (uint32_t i = 0; i < len; i++)
		sum += (uint32_t)udp[i] << (i % 2 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put_be16(udp + 6, (uint16_t)(sum == 0xffff ? sum : ~sum));
}

static void write_packet(uint32_t from, const struct end_pkt *p, struct fate *fate)
{
	static struct frame f;
	struct frame_spec spec = {.ip_version = ip_version,
				  .sport = (uint16_t)p->tx.ev,
				  .ecn = p->tx.not_ect ? 0 : 2};
	struct cspan transport = {p->bytes, p->tx.head_len},
		     payload = {p->bytes + p->tx.head_len, p->len - p->tx.head_len};

	frame_build(&f, &spec, transport, payload);
	if (from == 1)
		turn_round(&f);
	if (ip_version == 6)
		sum_udp(&f);
	(void)fate;
	pcap_frame(out, w.now, (struct cspan){f.bytes, f.len});
}

/* A window on end 1, to be invalidated by a send. */
static void bind_window(void)
{
	struct end *s = &w.end[1];
	struct mem_entry window = {.key = WINDOW, .pd = PD, .kind = MEM_WINDOW_2};
	struct mem_binding to = {.va = area_va(TARGET),
				 .len = 64,
				 .region = area_key(s, TARGET),
				 .new_key = WINDOW,
				 .qp = s->qp[0].number,
				 .access = MEM_REMOTE_WRITE};

	assert_int_equal(mem_add(s->mem, &window), 0);
	assert_int_equal(mem_bind(s->mem, WINDOW, &to), 0);
}

static const struct operation {
	const char *name;
	uint8_t code, atomic_op;
	uint32_t len;
	bool is_refused, is_put_off, is_marked, has_gap;
} operations[] = {
	{.name = "send", .code = ENGINE_SEND, .len = MESSAGE},
	{.name = "send-only", .code = ENGINE_SEND, .len = 7},
	{.name = "send-empty", .code = ENGINE_SEND},
	{.name = "send-imm", .code = ENGINE_SEND_IMM, .len = MESSAGE},
	{.name = "send-only-imm", .code = ENGINE_SEND_IMM, .len = 7},
	{.name = "send-inv", .code = ENGINE_SEND_INV, .len = MESSAGE},
	{.name = "send-only-inv", .code = ENGINE_SEND_INV, .len = 7},
	{.name = "write", .code = ENGINE_WRITE, .len = MESSAGE},
	{.name = "write-only", .code = ENGINE_WRITE, .len = 7},
	{.name = "write-imm", .code = ENGINE_WRITE_IMM, .len = MESSAGE},
	{.name = "write-only-imm", .code = ENGINE_WRITE_IMM, .len = 7},
	{.name = "read", .code = ENGINE_READ, .len = MESSAGE},
	{.name = "read-only", .code = ENGINE_READ, .len = 7},
	{.name = "compare-swap", .code = ENGINE_ATOMIC, .len = 8, .atomic_op = ENGINE_COMPARE_SWAP},
	{.name = "fetch-add", .code = ENGINE_ATOMIC, .len = 8, .atomic_op = ENGINE_FETCH_ADD},
	{.name = "refused", .code = ENGINE_WRITE, .len = 7, .is_refused = true},
	{.name = "put-off", .code = ENGINE_SEND, .len = 7, .is_put_off = true},
	{.name = "marked", .code = ENGINE_WRITE, .len = 7, .is_marked = true},
	{.name = "gap", .code = ENGINE_WRITE, .len = MESSAGE, .has_gap = true},
};

/* Takes the first packet out of the wire. */
static void lose_first(void)
{
	run_until(w.now + 1);
	heap_take();
}

static void perform(const struct operation *o)
{
	struct work k = {.cookie = 1,
			 .code = o->code,
			 .len = o->len,
			 .imm = o->code == ENGINE_SEND_INV ? WINDOW : 0x01020304,
			 .atomic_op = o->atomic_op,
			 .operand = {1, 2},
			 .flags = ENGINE_SOLICITED};

	start(1);
	join();
	w.script = write_packet;
	w.mark = o->is_marked ? 1000 : 0;
	bind_window();
	if (o->is_refused)
		assert_int_equal(rc_qp_modify(w.end[1].e, w.now, w.end[1].qp[0].number,
					      &(struct engine_attr){.access = 0},
					      ENGINE_SET_ACCESS),
				 0);
	if (!o->is_put_off)
		post_recv(1, 0, MESSAGE, 1, 2);
	assert_int_equal(try_post(&k), 0);
	if (o->has_gap)
		lose_first();
	run_until(w.now + 5000);
	if (o->is_put_off)
		post_recv(1, 0, MESSAGE, 1, 2);
	run();
	expect_sent(&k, o->is_refused ? ENGINE_REMOTE_INVALID : ENGINE_OK);
}

int main(int argc, char **argv)
{
	const struct operation *o = NULL;

	for (uint32_t i = 0; argc == 4 && i < sizeof operations / sizeof operations[0]; i++)
		if (strcmp(operations[i].name, argv[1]) == 0)
			o = &operations[i];
	ip_version = argc == 4 && strcmp(argv[2], "6") == 0 ? 6 : 4;
	if (!o) {
		fprintf(stderr, "usage: %s OPERATION 4|6 FILE\n", argv[0]);
		return 2;
	}
	out = fopen(argv[3], "wb");
	if (!out) {
		perror(argv[3]);
		return EXIT_FAILURE;
	}
	pcap_begin(out);
	perform(o);
	return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}
