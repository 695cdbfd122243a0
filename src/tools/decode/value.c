#include "tools/decode/value.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "wire/mrc.h"
#include "wire/net.h"
#include "wire/roce.h"

struct name {
	uint64_t value;
	const char *text;
};

#define NAMES(...) ((const struct name[]){__VA_ARGS__, {0, NULL}})

static void note_name(struct text *out, const struct name *names, uint64_t v)
{
	for (const struct name *n = names; n->text; n++)
		if (n->value == v)
			text_add(out, "%s", n->text);
}

static void note_opcode(struct text *out, struct header_at h, uint64_t v)
{
	/* By the three bits in front (IBTA 9.2.1). */
	static const char *const services[8] = {[1] = "UC", [2] = "RD", [3] = "UD", [5] = "XRC"};
	const char *name = mrc_opcode_is_ours((uint8_t)v) ? mrc_opcode_name((uint8_t)v)
							  : roce_opcode_name((uint8_t)v);

	(void)h;
	if (!name)
		name = services[v >> 5 & 7];
	text_add(out, "%s", name ? name : "not assigned");
}

static void note_ethertype(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	note_name(out,
		  NAMES({ETHERTYPE_IPV4, "IPv4"}, {ETHERTYPE_IPV6, "IPv6"},
			{ETHERTYPE_VLAN, "VLAN"}, {ETHERTYPE_QINQ, "QinQ"}, {0x0806, "ARP"},
			{0x8035, "RARP"}, {0x8808, "flow control"}, {0x8809, "LACP"},
			{0x88cc, "LLDP"}, {0x88f7, "PTP"}, {0x8847, "MPLS"}, {0x8915, "RoCEv1"}),
		  v);
}

static void note_protocol(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	note_name(out,
		  NAMES({0, "hop-by-hop"}, {1, "ICMP"}, {2, "IGMP"}, {IPPROTO_IPV4_IN, "IPv4"},
			{6, "TCP"}, {IPPROTO_UDP_IN, "UDP"}, {IPPROTO_IPV6_IN, "IPv6"},
			{IPPROTO_ROUTING_IN, "routing"}, {44, "fragment"}, {47, "GRE"}, {50, "ESP"},
			{51, "AH"}, {58, "ICMPv6"}, {59, "nothing"}, {60, "destination options"},
			{89, "OSPF"}, {132, "SCTP"}, {143, "Ethernet"}, {253, "test"}),
		  v);
}

static void note_ecn(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	note_name(out, NAMES({0, "not ECT"}, {1, "ECT(1)"}, {2, "ECT(0)"}, {3, "CE"}), v);
}

static void note_port(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	note_name(out, NAMES({NET_ROCE_PORT, "RoCE"}), v);
}

static void note_aeth_type(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	note_name(out,
		  NAMES({AETH_ACK, "ACK"}, {AETH_RNR_NAK, "RNR NAK"}, {AETH_RESERVED, "reserved"},
			{AETH_NAK, "NAK"}),
		  v);
}

/* IBTA volume 1, 9.7.5.2.4: credits of each code; 31 carries none. */
static void add_credits(struct text *out, uint64_t code)
{
	static const uint16_t credits[31] = {0,    1,    2,    3,     4,     6,     8,    12,
					     16,   24,   32,   48,    64,    96,    128,  192,
					     256,  384,  512,  768,   1024,  1536,  2048, 3072,
					     4096, 6144, 8192, 12288, 16384, 24576, 32768};

	if (code < 31)
		text_add(out, "credits %u", credits[code]);
	else
		text_add(out, "credits off");
}

/* IBTA volume 1, 9.7.5.2.8: the wait of each code, in units of 10 microseconds. */
static void add_rnr_timer(struct text *out, uint64_t code)
{
	static const uint16_t units[32] = {0,    1,    2,    3,     4,     6,     8,     12,
					   16,   24,   32,   48,    64,    96,    128,   192,
					   256,  384,  512,  768,   1024,  1536,  2048,  3072,
					   4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
	uint32_t wait = code ? units[code & 31] : 65536;

	text_add(out, "timer %u.%02u ms", wait / 100, wait % 100);
}

static void add_nak(struct text *out, uint64_t code)
{
	static const char *const naks[] = {
		[AETH_NAK_SEQUENCE] = "PSN sequence error",
		[AETH_NAK_INVALID_REQUEST] = "invalid request",
		[AETH_NAK_REMOTE_ACCESS] = "remote access error",
		[AETH_NAK_REMOTE_OPERATION] = "remote operational error",
		[AETH_NAK_INVALID_RD] = "invalid RD request",
	};

	if (code < sizeof naks / sizeof naks[0])
		text_add(out, "%s", naks[code]);
	else
		text_add(out, "reserved code %" PRIu64, code);
}

static void note_aeth_value(struct text *out, struct header_at h, uint64_t v)
{
	switch (value_of(h, "type", AETH_RESERVED)) {
	case AETH_ACK: add_credits(out, v); break;
	case AETH_RNR_NAK: add_rnr_timer(out, v); break;
	case AETH_NAK: add_nak(out, v); break;
	default: text_add(out, "code %" PRIu64, v); break;
	}
}

void value_syndrome(struct text *out, struct header_at aeth)
{
	note_aeth_type(out, aeth, value_of(aeth, "type", AETH_RESERVED));
	text_add(out, " ");
	note_aeth_value(out, aeth, value_of(aeth, "value", 0));
}

static void note_mark(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	note_name(out,
		  NAMES({MRC_MARK_NONE, "none"}, {MRC_MARK_SKIP, "SKIP"},
			{MRC_MARK_ALWAYS_SKIP, "ALWAYS_SKIP"}, {MRC_MARK_RESERVED, "reserved"}),
		  v);
}

static void note_nack_reason(struct text *out, struct header_at h, uint64_t v)
{
	const char *name = mrc_nack_name((uint8_t)v);

	(void)h;
	text_add(out, "%s", name ? name : "reserved");
}

static void note_endpoint_op(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	note_name(out,
		  NAMES({MRC_ENDPOINT_PORT_STATUS, "port status"},
			{MRC_ENDPOINT_EV_PROBE, "EV probe"}, {2, "reserved"}, {3, "reserved"}),
		  v);
}

static void note_ftype(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	note_name(out, NAMES({MRC_FTYPE_TIMESTAMP, "timestamp"}), v);
}

static uint32_t offset_psn(struct header_at h, uint64_t offset)
{
	return mrc_offset_psn((uint32_t)value_of(h, "cack_psn", 0), (uint16_t)offset);
}

static void note_ack_offset(struct text *out, struct header_at h, uint64_t v)
{
	if (value_of(h, "pr", 0))
		text_add(out, "probe id 0x%04" PRIx64, v);
	else
		text_add(out, "psn %u", offset_psn(h, v));
}

static void note_sack_offset(struct text *out, struct header_at h, uint64_t v)
{
	text_add(out, "psn %u", offset_psn(h, v));
}

static void note_bitmap(struct text *out, struct header_at h, uint64_t v)
{
	uint32_t base = offset_psn(h, value_of(h, "sack_offset", 0));
	const char *comma = "psn ";

	for (unsigned i = 0; i < 64;) {
		unsigned n = 0;

		while (i + n < 64 && v >> (i + n) & 1)
			n++;
		if (n) {
			text_add(out, "%s%u", comma, (base + i) & 0xffffff);
			comma = ", ";
		}
		if (n > 1)
			text_add(out, "-%u", (base + i + n - 1) & 0xffffff);
		i += n + 1;
	}
}

static void note_mpr(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	if (v)
		text_add(out, "%" PRIu64 " packets", v * 128);
	else
		text_add(out, "ignored");
}

static void note_rcvd(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	text_add(out, "%" PRIu64 " bytes", v * 256);
}

static void note_entropy(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	text_add(out, "sport %u, flow label 0x%04x", (unsigned)(v >> 16), (unsigned)(v & 0xffff));
}

static void note_tlv(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	note_name(out, NAMES({SRH_TLV_PADN, "padding"}, {SRH_TLV_HMAC, "HMAC"}), v);
}

/* Its number is a setting. */
static void note_endmt(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	(void)v;
	text_add(out, "End.MT");
}

/* First row that fits wins; a NULL header fits any. */
static const struct rule {
	const char *header, *field;
	enum value_kind kind;
	void (*note)(struct text *out, struct header_at h, uint64_t v);
} rules[] = {
	{"eth", "dst", VALUE_MAC, NULL},
	{"eth", "src", VALUE_MAC, NULL},
	{"eth", "type", VALUE_HEX, note_ethertype},
	{"vlan", "type", VALUE_HEX, note_ethertype},
	{"sll", "protocol", VALUE_HEX, note_ethertype},
	{"sll2", "protocol", VALUE_HEX, note_ethertype},
	{"ipv4", "src", VALUE_IPV4, NULL},
	{"ipv4", "dst", VALUE_IPV4, NULL},
	{"ipv4", "id", VALUE_HEX, NULL},
	{"ipv4", "protocol", VALUE_DECIMAL, note_protocol},
	{NULL, "next_header", VALUE_DECIMAL, note_protocol},
	{NULL, "ecn", VALUE_DECIMAL, note_ecn},
	{NULL, "checksum", VALUE_HEX, NULL},
	{NULL, "flow_label", VALUE_HEX, NULL},
	{"udp", "dport", VALUE_DECIMAL, note_port},
	{"bth", "opcode", VALUE_HEX, note_opcode},
	{"mrc_bth", "opcode", VALUE_HEX, note_opcode},
	{NULL, "pkey", VALUE_HEX, NULL},
	{NULL, "dest_qp", VALUE_HEX, NULL},
	{"reth", "dmalen", VALUE_DECIMAL, NULL},
	{"aeth", "type", VALUE_DECIMAL, note_aeth_type},
	{"aeth", "value", VALUE_DECIMAL, note_aeth_value},
	{NULL, "tx_timestamp", VALUE_HEX, NULL},
	{NULL, "ftype", VALUE_DECIMAL, note_ftype},
	{NULL, "spdcid", VALUE_HEX, NULL},
	{NULL, "dpdcid", VALUE_HEX, NULL},
	{NULL, "entropy", VALUE_HEX, note_entropy},
	{"seth", "m", VALUE_DECIMAL, note_mark},
	{"seth", "ack_psn_offset", VALUE_SIGNED, note_ack_offset},
	{"seth", "sack_offset", VALUE_SIGNED, note_sack_offset},
	{"seth", "sack_bitmap", VALUE_HEX, note_bitmap},
	{"seth", "mpr", VALUE_DECIMAL, note_mpr},
	{"cc_state", "rcvd_bytes", VALUE_DECIMAL, note_rcvd},
	{"neth", "nack_reason", VALUE_HEX, note_nack_reason},
	{NULL, "vendor_info", VALUE_HEX, NULL},
	{"peth", "probe_id", VALUE_HEX, NULL},
	{"erth", "op", VALUE_DECIMAL, note_endpoint_op},
	{"eeth", "op", VALUE_DECIMAL, note_endpoint_op},
	{"srh", "tag", VALUE_HEX, NULL},
	{"srh_tlv", "type", VALUE_DECIMAL, note_tlv},
	{"srh_hmac", "type", VALUE_DECIMAL, note_tlv},
	{"endmt_tlv", "type", VALUE_HEX, note_endmt},
	{"endmt_receiver", "qpn", VALUE_HEX, NULL},
	{"srh", "flags", VALUE_HEX, NULL},
};

static const struct rule *find_rule(const struct wire_layout *layout, const struct wire_field *f)
{
	for (unsigned i = 0; i < sizeof rules / sizeof rules[0]; i++)
		if (strcmp(rules[i].field, f->name) == 0 &&
		    (!rules[i].header || strcmp(rules[i].header, layout->name) == 0))
			return &rules[i];
	return NULL;
}

/* In the answer to a probe the offset's place has the probe's identifier (Table 7-15). */
static bool is_probe_id(struct header_at h, const struct wire_field *f)
{
	return strcmp(f->name, "ack_psn_offset") == 0 && value_of(h, "pr", 0);
}

enum value_kind value_kind(struct header_at h, const struct wire_field *f)
{
	const struct rule *rule = find_rule(h.layout, f);

	if (rule)
		return is_probe_id(h, f) ? VALUE_DECIMAL : rule->kind;
	if (f->width == 128)
		return VALUE_IPV6;
	return f->width >= 32 ? VALUE_HEX : VALUE_DECIMAL;
}

static void add_hex(struct text *out, const uint8_t *bytes, const struct wire_field *f)
{
	if (f->width <= 64) {
		text_add(out, "0x%0*" PRIx64, (f->width + 3) / 4, wire_field_value(f, bytes));
		return;
	}
	text_add(out, "0x");
	for (unsigned i = 0; i < f->width / 8u; i++)
		text_add(out, "%02x", bytes[f->bit / 8 + i]);
}

int64_t value_signed(struct header_at h, const struct wire_field *f)
{
	uint64_t sign = UINT64_C(1) << (f->width - 1);

	return (int64_t)((wire_field_value(f, h.bytes) ^ sign) - sign);
}

void value_plain(struct text *out, struct header_at h, const struct wire_field *f)
{
	const uint8_t *p = h.bytes + f->bit / 8;
	char address[INET6_ADDRSTRLEN] = "";

	switch (value_kind(h, f)) {
	case VALUE_MAC:
		text_add(out, "%02x:%02x:%02x:%02x:%02x:%02x", p[0], p[1], p[2], p[3], p[4], p[5]);
		break;
	case VALUE_IPV4:
	case VALUE_IPV6:
		inet_ntop(f->width == 32 ? AF_INET : AF_INET6, p, address, sizeof address);
		text_add(out, "%s", address);
		break;
	case VALUE_DECIMAL: text_add(out, "%" PRIu64, wire_field_value(f, h.bytes)); break;
	case VALUE_SIGNED: text_add(out, "%" PRId64, value_signed(h, f)); break;
	case VALUE_HEX: add_hex(out, h.bytes, f); break;
	}
}

void value_note(struct text *out, struct header_at h, const struct wire_field *f)
{
	const struct rule *rule = find_rule(h.layout, f);

	if (rule && rule->note)
		rule->note(out, h, wire_field_value(f, h.bytes));
}

uint64_t value_of(struct header_at h, const char *field, uint64_t fallback)
{
	const struct wire_field *f = wire_field_find(h.layout, field);

	return f && f->width <= 64 ? wire_field_value(f, h.bytes) : fallback;
}

bool value_is_zero(struct header_at h, const struct wire_field *f)
{
	if (f->width <= 64)
		return wire_field_value(f, h.bytes) == 0;
	for (unsigned i = 0; i < f->width / 8u; i++)
		if (h.bytes[f->bit / 8 + i])
			return false;
	return true;
}

const char *const usid_format_names[] = {[USID_F3216] = "f3216", [USID_F1616] = "f1616", NULL};

uint32_t usid_block_bytes(enum usid_format format)
{
	return format == USID_F3216 ? 4 : 2;
}

void value_usids(struct text *out, const uint8_t address[16], enum usid_format format)
{
	uint32_t end = 16;

	while (end > usid_block_bytes(format) && get_be16(address + end - 2) == 0)
		end -= 2;
	if (end == usid_block_bytes(format))
		text_add(out, "none");
	for (uint32_t i = usid_block_bytes(format); i < end; i += 2)
		text_add(out, "%s%04x", i == usid_block_bytes(format) ? "" : " ",
			 get_be16(address + i));
}

bool value_is_network(const struct wire_layout *layout)
{
	return layout == ipv4_layout() || layout == ipv6_layout();
}
