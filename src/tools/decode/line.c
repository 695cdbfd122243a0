#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/decode/print.h"

/* The column of addresses grows with what it saw, up to two long IPv6 addresses; the column of
 * names is as wide as most of them. */
enum { ADDRESS_WIDTH_MAX = 48, NAME_WIDTH = 21, SEGMENTS_SHOWN = 4, EDGES_SHOWN = 4 };

const char *view_tone(const struct view *v, enum tone tone)
{
	static const char *const codes[] = {"\033[0m", "\033[1m", "\033[2m", "\033[33m",
					    "\033[1;31m"};

	return v->color ? codes[tone] : "";
}

/* Of one width, as every line has one. */
static void show_psn(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	text_add(out, "%-8" PRIu64, v);
}

/* Addresses in memory are short as a rule: leading zeros would only cost the line's width. */
static void show_short(struct text *out, struct header_at h, uint64_t v)
{
	(void)h;
	text_add(out, "0x%" PRIx64, v);
}

static void show_syndrome(struct text *out, struct header_at h, uint64_t v)
{
	(void)v;
	value_syndrome(out, h);
}

static void show_timestamp(struct text *out, struct header_at h, uint64_t v)
{
	if (value_of(h, "ftype", 0) == MRC_FTYPE_TIMESTAMP)
		text_add(out, "ts 0x%04" PRIx64, v);
}

static void show_ack_psn(struct text *out, struct header_at h, uint64_t v)
{
	if (value_of(h, "pr", 0))
		text_add(out, "probe 0x%04" PRIx64, v);
	else
		text_add(out, "ack %u",
			 mrc_offset_psn((uint32_t)value_of(h, "cack_psn", 0), (uint16_t)v));
}

static void show_bitmap(struct text *out, struct header_at h, uint64_t v)
{
	uint16_t offset = (uint16_t)value_of(h, "sack_offset", 0);

	text_add(out, "base %u bitmap 0x%" PRIx64,
		 mrc_offset_psn((uint32_t)value_of(h, "cack_psn", 0), offset), v);
}

/* Only the note of a field: the name it stands for. */
static void show_name(struct text *out, struct header_at h, const char *label, const char *field)
{
	text_add(out, "%s%s", label, *label ? " " : "");
	value_note(out, h, wire_field_find(h.layout, field));
}

static void show_mark(struct text *out, struct header_at h, uint64_t v)
{
	if (v)
		show_name(out, h, "mark", "m");
}

static void show_nack_reason(struct text *out, struct header_at h, uint64_t v)
{
	if (mrc_nack_name((uint8_t)v))
		show_name(out, h, "", "nack_reason");
	else
		text_add(out, "reason 0x%02" PRIx64, v);
}

static void show_endpoint_op(struct text *out, struct header_at h, uint64_t v)
{
	(void)v;
	show_name(out, h, "", "op");
}

/* What a line says of each header, in the order of the headers and then of these rows: a label, if
 * there is one, and what show makes of the value; without show it is the plain value. */
static const struct key {
	const char *header, *field, *label;
	void (*show)(struct text *out, struct header_at h, uint64_t v);
} keys[] = {
	{"bth", "dest_qp", "qp", NULL},
	{"bth", "psn", "psn", show_psn},
	{"mrc_bth", "dest_qp", "qp", NULL},
	{"mrc_bth", "psn", "psn", show_psn},
	{"reth", "va", "va", show_short},
	{"reth", "rkey", "rkey", NULL},
	{"reth", "dmalen", "len", NULL},
	{"atomic_eth", "va", "va", show_short},
	{"atomic_eth", "rkey", "rkey", NULL},
	{"atomic_eth", "swap_add", "swap/add", show_short},
	{"atomic_eth", "compare", "compare", show_short},
	{"aeth", "value", NULL, show_syndrome},
	{"aeth", "msn", "msn", NULL},
	{"atomic_ack_eth", "original", "original", show_short},
	{"immdt", "immdt", "imm", NULL},
	{"ieth", "rkey", "invalidate rkey", NULL},
	{"meth", "rqmsn", "rqmsn", NULL},
	{"meth", "msn", "msn", NULL},
	{"tseth", "tx_timestamp", NULL, show_timestamp},
	{"seth", "cack_psn", "cack", NULL},
	{"seth", "ack_psn_offset", NULL, show_ack_psn},
	{"seth", "m", NULL, show_mark},
	{"seth", "mpr", "mpr", NULL},
	{"seth", "sack_bitmap", NULL, show_bitmap},
	{"neth", "nack_reason", NULL, show_nack_reason},
	{"neth", "nack_psn", "nack_psn", NULL},
	{"peth", "probe_id", "probe", NULL},
	{"peth", "tx_timestamp", NULL, show_timestamp},
	{"erth", "op", NULL, show_endpoint_op},
	{"erth", "port_status_mask", "ports", NULL},
	{"erth", "tx_timestamp", NULL, show_timestamp},
	{"eeth", "op", NULL, show_endpoint_op},
	{"eeth", "tx_timestamp", "ts", NULL},
};

/* Fields that show as a word when they have this value; a NULL header fits any. */
static const struct flag {
	const char *header, *field;
	uint64_t value;
	const char *word;
} flags[] = {
	{NULL, "ack_req", 1, "AR"}, {NULL, "se", 1, "SE"},      {"mrc_bth", "rtx", 1, "rtx"},
	{NULL, "ecn", 3, "CE"},     {"bth", "fecn", 1, "FECN"}, {"bth", "becn", 1, "BECN"},
};

static void add_keys(struct text *out, struct header_at h)
{
	for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const struct key *k = &keys[i];

		if (strcmp(k->header, h.layout->name) != 0)
			continue;
		const struct wire_field *f = wire_field_find(h.layout, k->field);
		uint32_t before = out->len;

		if (k->label)
			text_add(out, "%s ", k->label);
		if (k->show)
			k->show(out, h, wire_field_value(f, h.bytes));
		else
			value_plain(out, h, f);
		if (out->len > before)
			text_add(out, " ");
	}
}

static bool has_flag(const struct record *r, const struct flag *flag)
{
	for (uint32_t i = 0; i < r->trail.n; i++) {
		struct header_at h = record_header(r, i);

		if ((!flag->header || strcmp(flag->header, h.layout->name) == 0) &&
		    value_of(h, flag->field, 0) == flag->value)
			return true;
	}
	return false;
}

static void add_flags(struct text *out, const struct record *r)
{
	const char *before = "[";

	for (unsigned i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (has_flag(r, &flags[i])) {
			text_add(out, "%s%s", before, flags[i].word);
			before = " ";
		}
	if (*before == ' ')
		text_add(out, "] ");
}

/* The first header not before from that has addresses of that kind; trail.n when none has. */
static uint32_t find_addresses(const struct record *r, uint32_t from, bool is_network)
{
	for (uint32_t i = from; i < r->trail.n; i++) {
		const struct wire_layout *layout = r->trail.layer[i].layout;

		if (value_is_network(layout) == is_network && wire_field_find(layout, "src"))
			return i;
	}
	return r->trail.n;
}

static void add_pair(struct text *out, struct header_at h)
{
	value_plain(out, h, wire_field_find(h.layout, "src"));
	text_add(out, " > ");
	value_plain(out, h, wire_field_find(h.layout, "dst"));
}

/* The innermost network addresses, else those of the link, else nothing. */
static void add_addresses(struct text *out, const struct record *r)
{
	uint32_t i = find_addresses(r, 0, true);
	uint32_t inner = i < r->trail.n ? find_addresses(r, i + 1, true) : i;

	if (inner < r->trail.n)
		i = inner;
	if (i == r->trail.n)
		i = find_addresses(r, 0, false);
	if (i < r->trail.n)
		add_pair(out, record_header(r, i));
}

/* The edges of a multicast packet and how many receivers each serves. */
static void add_edges(struct text *out, const struct record *r)
{
	uint32_t shown = 0, left = 0;

	for (uint32_t i = 0; i < r->trail.n; i++) {
		struct header_at h = record_header(r, i);

		if (h.layout != endmt_tlv_layout())
			continue;
		if (shown == EDGES_SHOWN) {
			left++;
			continue;
		}
		text_add(out, "%s%" PRIu64 " at ", shown++ ? ", " : " receivers ",
			 value_of(h, "n_receivers", 0));
		value_plain(out, h, wire_field_find(h.layout, "edge"));
	}
	if (left)
		text_add(out, " and %u more", left);
}

/* Outer addresses, segments left, and the uSIDs of the destination and of each segment. */
static void add_outer(struct text *out, const struct view *v, const struct record *r)
{
	uint32_t outer = find_addresses(r, 0, true);

	if (outer == r->trail.n || find_addresses(r, outer + 1, true) == r->trail.n)
		return;
	struct header_at h = record_header(r, outer);
	const struct wire_field *dst = wire_field_find(h.layout, "dst");
	bool is_srv6 = dst->width == 128;

	text_add(out, is_srv6 ? "| srv6 " : "| outer ");
	add_pair(out, h);
	if (!is_srv6)
		return;
	text_add(out, " usid ");
	value_usids(out, h.bytes + dst->bit / 8, v->usid);
	uint32_t shown = 0;

	for (uint32_t i = outer + 1; i < r->trail.n; i++) {
		h = record_header(r, i);
		if (wire_field_find(h.layout, "segments_left"))
			text_add(out, " left %" PRIu64, value_of(h, "segments_left", 0));
		if (h.layout == srh_segment_layout() && shown++ < SEGMENTS_SHOWN) {
			text_add(out, shown == 1 ? " segments " : ", ");
			value_usids(out, h.bytes, v->usid);
		}
	}
	/* The trail may have left some out. */
	uint32_t segments = srh_n_segments(&r->pkt.net.srh);

	if (segments > SEGMENTS_SHOWN)
		text_add(out, " and %u more", segments - SEGMENTS_SHOWN);
	add_edges(out, r);
}

static void add_crc(struct text *out, const struct view *v, const struct record *r)
{
	if (!r->pkt.has_crc)
		return;
	const char *name = r->pkt.seal->name;

	if (r->pkt.crc == r->pkt.crc_right) {
		text_add(out, "%s ok ", name);
		return;
	}
	text_add(out, "%s", view_tone(v, TONE_BAD));
	for (; *name; name++)
		text_add(out, "%c", toupper((unsigned char)*name));
	text_add(out, " BAD%s (carried 0x%08x, right 0x%08x) ", view_tone(v, TONE_PLAIN),
		 r->pkt.crc, r->pkt.crc_right);
}

static void add_trim(struct text *out, const struct view *v, const struct record *r)
{
	if (r->pkt.net.trim == NET_WHOLE || r->pkt.net.udp.length == 0)
		return;
	text_add(out, "%strimmed%s%s (UDP length was %u) ", view_tone(v, TONE_WARN),
		 r->pkt.net.trim == NET_TRIMMED_LASTHOP ? " at the last hop" : "",
		 view_tone(v, TONE_PLAIN), r->pkt.net.udp.length);
}

/* Each rule that the packet breaks, by its id. */
static void add_warnings(struct text *out, const struct view *v, const struct record *r)
{
	for (uint32_t i = 0; i < r->warnings.n; i++) {
		const struct packet_rule *rule = rules_at(r->warnings.rule[i]);

		if (i == 0)
			text_add(out, "%swarning:%s ", view_tone(v, TONE_WARN),
				 view_tone(v, TONE_PLAIN));
		text_add(out, "%s (%s)%s", rule->text, rule->id, i + 1 < r->warnings.n ? "; " : "");
	}
	if (r->warnings.n)
		text_add(out, r->pkt.has_crc ? ", " : " ");
}

/* What a foreign packet is instead: the field that decided it. */
static void add_instead(struct text *out, const struct record *r)
{
	static const char *const deciders[] = {"dport", "protocol", "next_header", "type",
					       "opcode"};

	if (r->trail.n == 0)
		return;
	const struct wire_layer *last = &r->trail.layer[r->trail.n - 1];
	struct header_at h = record_header(r, r->trail.n - 1);

	/* Behind headers that are not followed, the last one shown decided nothing. */
	if (r->fault.at > last->at + last->len)
		return;

	for (unsigned i = 0; i < sizeof deciders / sizeof deciders[0]; i++) {
		const struct wire_field *f = wire_field_find(h.layout, deciders[i]);

		if (!f)
			continue;
		uint32_t before = out->len;

		text_add(out, " (");
		value_note(out, h, f);
		if (out->len == before + 2) {
			text_add(out, "%s ", f->name);
			value_plain(out, h, f);
		}
		text_add(out, ")");
		return;
	}
}

static void add_details(struct text *out, const struct view *v, const struct record *r)
{
	if (r->verdict == VERDICT_FOREIGN) {
		text_add(out, "%snot decoded: %s", view_tone(v, TONE_FAINT),
			 wire_drop_text(r->fault.why));
		add_instead(out, r);
		text_add(out, "%s", view_tone(v, TONE_PLAIN));
		return;
	}
	for (uint32_t i = 0; i < r->trail.n; i++)
		add_keys(out, record_header(r, i));
	if (r->has_payload)
		text_add(out, "%u B ", r->payload_len);
	add_flags(out, r);
	add_trim(out, v, r);
	if (r->verdict == VERDICT_CUT)
		text_add(out, "%scut:%s captured %u of %u bytes%s ", view_tone(v, TONE_WARN),
			 view_tone(v, TONE_PLAIN), r->cap.bytes.len, r->cap.wire_len,
			 r->warnings.n ? "," : "");
	if (r->verdict == VERDICT_MALFORMED) {
		text_add(out, "%smalformed:%s ", view_tone(v, TONE_BAD), view_tone(v, TONE_PLAIN));
		if (r->fault.why != WIRE_DROP_ICRC) {
			record_explain(r, out);
			text_add(out, r->pkt.has_crc ? ", " : " ");
		}
	}
	add_warnings(out, v, r);
	add_crc(out, v, r);
	add_outer(out, v, r);
}

/* The opcode's name; its number where it has none, "-" where none was read. */
static void add_name(struct text *out, const struct record *r)
{
	if (r->name) {
		text_add(out, "%s", r->name);
		return;
	}
	for (uint32_t i = 0; i < r->trail.n; i++) {
		struct header_at h = record_header(r, i);

		if (wire_field_find(h.layout, "opcode")) {
			text_add(out, "opcode 0x%02" PRIx64, value_of(h, "opcode", 0));
			return;
		}
	}
	text_add(out, "-");
}

/* Time since the first packet; captures are not always in order. */
static void add_time(struct text *out, const struct view *v, const struct capture_packet *p)
{
	const int64_t second = 1000000000;
	int64_t sec = p->sec - v->first_sec;
	int64_t nsec = (int64_t)p->nsec - v->first_nsec;
	bool is_before = sec < 0 || (sec == 0 && nsec < 0);

	if (is_before) {
		sec = -sec;
		nsec = -nsec;
	}
	if (nsec < 0) {
		sec--;
		nsec += second;
	}
	text_add(out, "%s%" PRId64 ".%09" PRId64, is_before ? "-" : "", sec, nsec);
}

void line_print(struct view *v, const struct record *r)
{
	struct text time, addresses, name, details;

	text_clear(&time);
	text_clear(&addresses);
	text_clear(&name);
	text_clear(&details);
	add_time(&time, v, &r->cap);
	add_addresses(&addresses, r);
	add_name(&name, r);
	add_details(&details, v, r);
	if (addresses.len > v->address_width)
		v->address_width =
			addresses.len < ADDRESS_WIDTH_MAX ? addresses.len : ADDRESS_WIDTH_MAX;
	while (details.len > 0 && details.at[details.len - 1] == ' ')
		details.at[--details.len] = '\0';
	fprintf(v->out, "%5" PRIu64 " %12s  %-*s  ", r->number, time.at, (int)v->address_width,
		addresses.at);
	if (r->verdict != VERDICT_FOREIGN)
		fprintf(v->out, "%s%-*s%s ", view_tone(v, TONE_STRONG), NAME_WIDTH, name.at,
			view_tone(v, TONE_PLAIN));
	fprintf(v->out, "%s\n", details.at);
}

static void summarize_warnings(const struct view *v, const struct tally *t)
{
	const char *before = " (", *id;
	uint64_t n;

	for (uint32_t i = 0; (id = tally_rule(t, &i, &n)); before = ", ")
		fprintf(v->out, "%s%" PRIu64 " %s", before, n, id);
	fputs(*before == ',' ? ")" : "", v->out);
}

void line_summary(const struct view *v, const char *file, const struct tally *t)
{
	const char *before = " (";

	text_put_safe(v->out, file);
	fprintf(v->out,
		": %" PRIu64 " packet%s: %" PRIu64 " ok, %" PRIu64 " foreign, %" PRIu64
		" malformed",
		t->packets, t->packets == 1 ? "" : "s", t->by_verdict[VERDICT_OK],
		t->by_verdict[VERDICT_FOREIGN], t->by_verdict[VERDICT_MALFORMED]);
	for (unsigned why = 0; why < WIRE_DROP_COUNT; why++)
		if (t->by_fault[why] && !wire_drop_is_foreign((enum wire_drop)why)) {
			fprintf(v->out, "%s%" PRIu64 " %s", before, t->by_fault[why],
				wire_drop_name((enum wire_drop)why));
			before = ", ";
		}
	fprintf(v->out, "%s, %" PRIu64 " cut, %" PRIu64 " with warnings", *before == ',' ? ")" : "",
		t->by_verdict[VERDICT_CUT], t->by_verdict[VERDICT_WARNING]);
	summarize_warnings(v, t);
	fputc('\n', v->out);
}

void line_rules(const struct view *v)
{
	for (uint32_t i = 0; i < rules_count(); i++)
		fprintf(v->out, "%-16s %s\n", rules_at(i)->id, rules_at(i)->text);
}
