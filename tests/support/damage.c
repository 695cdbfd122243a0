/* One damaged or foreign packet for every drop reason, each made from a good one by the smallest
 * change that should earn it. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "catalog.h"

#define V4   "RoCE SEND Only, IPv4"
#define V6   "RoCE SEND Only, IPv6"
#define QINQ "RoCE SEND Only, QinQ IPv6"
#define ACK  "RoCE Acknowledge, IPv4"
#define SRV6 "MRC WRITE Only, SRv6 uSID"
#define SRH  "MRC WRITE Only, SRv6 uSID SRH"
#define TLV  "MRC WRITE Only, SRv6 uSID SRH HMAC"
#define MT   "End.MT request"

/* Where things stand in those samples. */
enum { V4_IP = 14, V4_UDP = 34, V4_BTH = 42, V6_IP = 14, SRH_AT = 54, SRH_TLVS = 78, MT_TLV = 94 };

static void set_ipv4(struct frame *f, uint32_t offset, uint8_t value)
{
	f->bytes[V4_IP + offset] = value;
	frame_fix_ipv4(f, V4_IP);
}

/* Makes the frame n bytes longer or shorter at its end, every length and CRC right again. */
static void resize_v4(struct frame *f, int n)
{
	f->len += (uint32_t)n;
	put_be16(f->bytes + V4_IP + 2, (uint16_t)(f->len - V4_IP));
	put_be16(f->bytes + V4_UDP + 4, (uint16_t)(f->len - V4_UDP));
	frame_fix_ipv4(f, V4_IP);
	frame_fix_icrc(f, V4_IP);
}

static void not_ip(struct frame *f)
{
	put_be16(f->bytes + 12, 0x0806);
}

static void not_udp(struct frame *f)
{
	set_ipv4(f, 9, 6);
}

static void not_roce(struct frame *f)
{
	put_be16(f->bytes + V4_UDP + 2, 53);
}

static void unreliable_datagram(struct frame *f)
{
	f->bytes[V4_BTH] = 0x64;
	frame_fix_icrc(f, V4_IP);
}

static void cut_short(struct frame *f)
{
	resize_v4(f, -2);
}

static void one_tag_more(struct frame *f)
{
	const uint32_t tag = 18; /* the second one */
	uint8_t copy[vlan_bytes];

	memcpy(copy, f->bytes + tag, sizeof copy);
	frame_insert(f, tag, copy, sizeof copy);
	put_be16(f->bytes + tag + 2, ETHERTYPE_VLAN);
}

static void version_5(struct frame *f)
{
	set_ipv4(f, 0, 0x55);
}

static void claims_more(struct frame *f)
{
	set_ipv4(f, 2, 0x7f);
}

static void more_fragments(struct frame *f)
{
	set_ipv4(f, 6, 0x20);
}

static void third_ip(struct frame *f)
{
	uint8_t copy[ipv6_bytes];

	memcpy(copy, f->bytes + V6_IP, sizeof copy);
	frame_insert(f, V6_IP, copy, sizeof copy);
	frame_fix_length(f);
}

static void short_ihl(struct frame *f)
{
	set_ipv4(f, 0, 0x44);
}

static void options(struct frame *f)
{
	static const uint8_t no_operation[4] = {1, 1, 1, 1};

	frame_insert(f, V4_UDP, no_operation, sizeof no_operation);
	f->bytes[V4_IP] = 0x46;
	frame_fix_length(f);
}

static void bad_checksum(struct frame *f)
{
	f->bytes[V4_IP + 11] ^= 1;
}

static void hop_by_hop(struct frame *f)
{
	static const uint8_t header[8] = {IPPROTO_UDP_IN, 0, 1, 4};

	frame_insert(f, V6_IP + ipv6_bytes, header, sizeof header);
	f->bytes[V6_IP + 6] = 0;
	frame_fix_length(f);
}

static void routing_type_0(struct frame *f)
{
	f->bytes[SRH_AT + 2] = 0;
}

static void list_too_long(struct frame *f)
{
	f->bytes[SRH_AT + 4] = 9;
}

static void left_too_far(struct frame *f)
{
	f->bytes[SRH_AT + 3] = 3;
}

static void tlv_too_long(struct frame *f)
{
	f->bytes[SRH_TLVS + 4] = 200;
}

/* Takes the inner IPv6 header out, so that UDP follows the routing header. */
/* It swallows the padding. */
static void no_whole_receiver(struct frame *f)
{
	f->bytes[MT_TLV + 1] += 4;
}

static void two_receivers(struct frame *f)
{
	f->bytes[MT_TLV + 20] = 2;
}

static void bare_srh(struct frame *f)
{
	uint8_t *inner = f->bytes + SRH_AT + srh_bytes + srh_segment_bytes;

	f->len -= ipv6_bytes;
	memmove(inner, inner + ipv6_bytes, (size_t)(f->bytes + f->len - inner));
	f->bytes[SRH_AT] = IPPROTO_UDP_IN;
	frame_fix_length(f);
}

static void udp_length(struct frame *f)
{
	put_be16(f->bytes + V4_UDP + 4, (uint16_t)(f->len - V4_UDP + 4));
	frame_fix_icrc(f, V4_IP);
}

static void version_1(struct frame *f)
{
	f->bytes[V4_BTH + 1] |= 1;
	frame_fix_icrc(f, V4_IP);
}

static void no_icrc(struct frame *f)
{
	resize_v4(f, (int)(V4_BTH + bth_bytes + 4) - (int)f->len);
	f->len -= 4;
	put_be16(f->bytes + V4_IP + 2, (uint16_t)(f->len - V4_IP));
	put_be16(f->bytes + V4_UDP + 4, (uint16_t)(f->len - V4_UDP));
	frame_fix_ipv4(f, V4_IP);
}

static void unassigned(struct frame *f)
{
	f->bytes[V4_BTH] = 0x15;
	frame_fix_icrc(f, V4_IP);
}

static void excess(struct frame *f)
{
	resize_v4(f, 4);
}

static void odd_payload(struct frame *f)
{
	resize_v4(f, -1);
}

static void pad_only(struct frame *f)
{
	resize_v4(f, (int)(V4_BTH + bth_bytes + 4) - (int)f->len);
}

static void trimmed(struct frame *f)
{
	frame_trim(f, CATALOG_DSCP_TRIMMED, 40);
}

static void flipped_bit(struct frame *f)
{
	f->bytes[f->len - 8] ^= 0x10;
}

static const struct {
	enum wire_drop why;
	const char *base;
	void (*change)(struct frame *f);
} damages[] = {
	{WIRE_DROP_NOT_IP, V4, not_ip},
	{WIRE_DROP_NOT_UDP, V4, not_udp},
	{WIRE_DROP_NOT_ROCE, V4, not_roce},
	{WIRE_DROP_OTHER_SERVICE, V4, unreliable_datagram},
	{WIRE_DROP_TRUNCATED, ACK, cut_short},
	{WIRE_DROP_VLAN_DEPTH, QINQ, one_tag_more},
	{WIRE_DROP_IP_VERSION, V4, version_5},
	{WIRE_DROP_IP_LENGTH, V4, claims_more},
	{WIRE_DROP_IP_FRAGMENT, V4, more_fragments},
	{WIRE_DROP_IP_DEPTH, SRV6, third_ip},
	{WIRE_DROP_IP4_HEADER, V4, short_ihl},
	{WIRE_DROP_IP4_OPTIONS, V4, options},
	{WIRE_DROP_IP4_CHECKSUM, V4, bad_checksum},
	{WIRE_DROP_IP6_EXTENSION, V6, hop_by_hop},
	{WIRE_DROP_SRH_TYPE, SRH, routing_type_0},
	{WIRE_DROP_SRH_LENGTH, SRH, list_too_long},
	{WIRE_DROP_SRH_LEFT, SRH, left_too_far},
	{WIRE_DROP_SRH_TLV, TLV, tlv_too_long},
	{WIRE_DROP_ENDMT_LENGTH, MT, no_whole_receiver},
	{WIRE_DROP_ENDMT_COUNT, MT, two_receivers},
	{WIRE_DROP_SRH_BARE, SRH, bare_srh},
	{WIRE_DROP_UDP_LENGTH, V4, udp_length},
	{WIRE_DROP_BTH_VERSION, V4, version_1},
	{WIRE_DROP_NO_ICRC, V4, no_icrc},
	{WIRE_DROP_OPCODE, V4, unassigned},
	{WIRE_DROP_EXCESS, ACK, excess},
	{WIRE_DROP_PAYLOAD_LENGTH, V4, odd_payload},
	{WIRE_DROP_PAD, V4, pad_only},
	{WIRE_DROP_TRIMMED, V4, trimmed},
	{WIRE_DROP_ICRC, V4, flipped_bit},
};

void catalog_damaged(enum wire_drop why, struct sample *s)
{
	_Static_assert(sizeof damages / sizeof damages[0] == WIRE_DROP_COUNT - 1,
		       "one sample for every reason");
	assert(why > WIRE_DROP_NONE && why < WIRE_DROP_COUNT);
	assert(damages[why - 1].why == why);
	catalog_find(damages[why - 1].base, s);
	damages[why - 1].change(&s->frame);
	s->expect = why;
	snprintf(s->file, sizeof s->file, "malformed");
	snprintf(s->name, sizeof s->name, "%s", wire_drop_name(why));
}
