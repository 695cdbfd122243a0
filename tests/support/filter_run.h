/* Programs of the classic packet filter, run by a second reading of what the kernel says of them,
 * and frames for them. */
#ifndef WEFT_TESTS_SUPPORT_FILTER_RUN_H
#define WEFT_TESTS_SUPPORT_FILTER_RUN_H

#include "check.h"

#include <linux/if_packet.h>
#include <string.h>

#include "encap/encap.h"
#include "io/filter.h"

enum { FILTER_STEPS_MOST = 4096 };

/* Loads n bytes; false: beyond the end. */
static inline bool filter_load(struct cspan packet, uint64_t at, uint32_t n, uint32_t *value)
{
	*value = 0;
	if (at == (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)) {
		*value = PACKET_HOST;
		return true;
	}
	if (at == (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG))
		return true;
	if (at + n > packet.len)
		return false;
	for (uint32_t i = 0; i < n; i++)
		*value = *value << 8 | packet.at[at + i];
	return true;
}

static inline uint32_t filter_size_of(uint16_t code)
{
	return BPF_SIZE(code) == BPF_W ? 4 : BPF_SIZE(code) == BPF_H ? 2 : 1;
}

/* The result of a program that begins with x in its index register. */
static inline uint32_t filter_run(const struct filter *f, struct cspan packet, uint32_t x)
{
	uint32_t a = 0, v;

	for (uint32_t i = 0, steps = 0; i < f->n; i++, steps++) {
		const struct sock_filter *s = &f->at[i];
		bool is_taken;

		assert_true(steps < FILTER_STEPS_MOST);
		switch (s->code) {
		case BPF_RET | BPF_K: return s->k;
		case BPF_RET | BPF_A: return a;
		case BPF_LD | BPF_IMM: a = s->k; break;
		case BPF_LDX | BPF_IMM: x = s->k; break;
		case BPF_MISC | BPF_TAX: x = a; break;
		case BPF_MISC | BPF_TXA: a = x; break;
		case BPF_ALU | BPF_AND | BPF_K: a &= s->k; break;
		case BPF_ALU | BPF_ADD: a += s->k; break;
		case BPF_ALU | BPF_RSH | BPF_K: a >>= s->k; break;
		case BPF_ALU | BPF_LSH | BPF_K: a <<= s->k; break;
		case BPF_JMP | BPF_JA: i += s->k; break;
		case BPF_LDX | BPF_B | BPF_MSH:
			if (!filter_load(packet, s->k, 1, &v))
				return 0;
			x = 4 * (v & 0xf);
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			is_taken = BPF_OP(s->code) == BPF_JEQ ? a == s->k : (a & s->k) != 0;
			i += is_taken ? s->jt : s->jf;
			break;
		default:
			assert_int_equal(BPF_CLASS(s->code), BPF_LD);
			if (!filter_load(packet,
					 BPF_MODE(s->code) == BPF_IND ? (uint64_t)x + s->k : s->k,
					 filter_size_of(s->code), &a))
				return 0;
		}
	}
	fail_msg("a program without an end");
	return 0;
}

/* A frame by a carrier to an address, NULL: zeros, of 64 carried bytes, which begin at *transport;
 * its bytes. Shapes: IPv6 bare, under an encapsulation, under one with a routing header; IPv4. */
enum { FILTER_SHAPES = 4, FILTER_CARRIED = 64 };

static inline uint32_t filter_frame(const struct carrier_use *via, uint32_t shape,
				    const uint8_t *dst, uint8_t *frame, uint32_t *transport)
{
	struct encap_ends ends = {.dport = via->port,
				  .hop_limit = 64,
				  .native = via->port ? 0 : via->protocol,
				  .is_v4 = shape == 3};
	struct encap_segments segments = {.n = shape < 3 ? (uint8_t)shape : 0};
	struct encap_packet what = {.ev = 0x12345678, .transport_bytes = FILTER_CARRIED};
	struct encap_head head;

	if (dst)
		memcpy(ends.dst, dst, sizeof ends.dst);
	encap_make(&head, &ends, &segments);
	encap_write(&head, &what, frame);
	*transport = head.len;
	return head.len + FILTER_CARRIED;
}

#endif
