#include <inttypes.h>
#include <string.h>

#include "tools/decode/print.h"

/* Bytes, then the name of the header, then its fields as they fit. */
enum { NAME_WIDTH = 14, INDENT = 2, WRAP = 116, PAYLOAD_SHOWN = 24 };

/* A header's lines while they are written. */
struct flow {
	const struct view *view;
	uint32_t margin, column;
};

static struct flow flow_begin(const struct view *v, uint32_t depth, uint32_t at, const char *name)
{
	uint32_t margin = 13 + NAME_WIDTH + INDENT * depth;

	fprintf(v->out, "%10u  %*s%s%-*s%s", at, (int)(INDENT * depth), "",
		view_tone(v, TONE_STRONG), NAME_WIDTH, name, view_tone(v, TONE_PLAIN));
	return (struct flow){v, margin, margin - 1};
}

/* One item, on the next line when this one is full. */
static void flow_add(struct flow *f, const struct text *item, enum tone tone)
{
	bool is_first = f->column < f->margin;
	uint32_t gap = is_first ? 1 : 3;

	if (!is_first && f->column + gap + item->len > WRAP) {
		fprintf(f->view->out, "\n%*s", (int)f->margin, "");
		f->column = f->margin;
		gap = 0;
	}
	fprintf(f->view->out, "%*s%s%s%s", (int)gap, "", view_tone(f->view, tone), item->at,
		tone == TONE_PLAIN ? "" : view_tone(f->view, TONE_PLAIN));
	f->column += gap + item->len;
}

static void add_field(struct flow *flow, struct header_at h, const struct wire_field *f)
{
	struct text item, note;
	bool is_reserved = wire_field_is_reserved(f);

	if (is_reserved && value_is_zero(h, f))
		return;
	text_clear(&item);
	text_clear(&note);
	text_add(&item, "%s = ", f->name);
	value_plain(&item, h, f);
	value_note(&note, h, f);
	if (is_reserved)
		text_add(&note, "reserved, not zero");
	if (note.len)
		text_add(&item, " (%s)", note.at);
	flow_add(flow, &item, is_reserved ? TONE_WARN : TONE_PLAIN);
}

static bool is_encapsulating(const struct record *r, uint32_t i)
{
	for (uint32_t k = i + 1; k < r->trail.n; k++)
		if (value_is_network(r->trail.layer[k].layout))
			return true;
	return false;
}

/* The uSIDs of an address that routes: the outer destination, or a segment. */
static void add_usids(struct flow *flow, const struct record *r, uint32_t i)
{
	struct header_at h = record_header(r, i);
	const struct wire_field *f = NULL;
	enum usid_format format = flow->view->usid;
	struct text item;

	if (h.layout == srh_segment_layout())
		f = wire_field_find(h.layout, "address");
	else if (value_is_network(h.layout) && is_encapsulating(r, i))
		f = wire_field_find(h.layout, "dst");
	if (!f || f->width != 128)
		return;
	const uint8_t *address = h.bytes + f->bit / 8;

	text_clear(&item);
	text_add(&item, "%s block ", usid_format_names[format]);
	for (uint32_t b = 0; b < usid_block_bytes(format); b += 2)
		text_add(&item, "%s%02x%02x", b ? ":" : "", address[b], address[b + 1]);
	text_add(&item, ", uSIDs ");
	value_usids(&item, address, format);
	flow_add(flow, &item, TONE_PLAIN);
}

static void print_header(const struct view *v, const struct record *r, uint32_t i, uint32_t depth)
{
	struct header_at h = record_header(r, i);
	const struct wire_layer *layer = &r->trail.layer[i];
	struct flow flow = flow_begin(v, depth, layer->at, h.layout->name);

	for (unsigned k = 0; k < h.layout->n_fields; k++)
		add_field(&flow, h, &h.layout->fields[k]);
	add_usids(&flow, r, i);
	if (layer->len > h.layout->bytes) {
		struct text item;

		text_clear(&item);
		text_add(&item, "and %u bytes", layer->len - h.layout->bytes);
		flow_add(&flow, &item, TONE_PLAIN);
	}
	fputc('\n', v->out);
}

static void print_payload(const struct view *v, const struct record *r, uint32_t depth)
{
	struct flow flow = flow_begin(v, depth, r->payload_at, "payload");
	uint32_t n = r->shown.len < PAYLOAD_SHOWN ? r->shown.len : PAYLOAD_SHOWN;
	struct text item;

	text_clear(&item);
	text_add(&item, "%u bytes%s", r->payload_len, n ? ":" : "");
	for (uint32_t i = 0; i < n; i++)
		text_add(&item, " %02x", r->cap.bytes.at[r->payload_at + i]);
	text_add(&item, n < r->payload_len ? " ..." : "");
	flow_add(&flow, &item, TONE_PLAIN);
	fputc('\n', v->out);
}

static void print_crc(const struct view *v, const struct record *r, uint32_t depth)
{
	struct flow flow = flow_begin(v, depth, r->pkt.seal_at, r->pkt.seal->name);
	bool is_right = r->pkt.crc == r->pkt.crc_right;
	struct text item;

	text_clear(&item);
	text_add(&item, "0x%08x ", r->pkt.crc);
	if (is_right)
		text_add(&item, "(ok)");
	else
		text_add(&item, "(BAD, right is 0x%08x)", r->pkt.crc_right);
	flow_add(&flow, &item, is_right ? TONE_PLAIN : TONE_BAD);
	fputc('\n', v->out);
}

void tree_print(const struct view *v, const struct record *r)
{
	uint32_t depth = 0, networks = 0;

	for (uint32_t i = 0; i < r->trail.n; i++) {
		if (value_is_network(r->trail.layer[i].layout) && networks++ > 0)
			depth++;
		print_header(v, r, i, depth);
	}
	if (r->trail.full)
		fprintf(v->out, "%10s  further headers are not shown\n", "");
	if (r->has_payload)
		print_payload(v, r, depth);
	if (r->pkt.has_crc)
		print_crc(v, r, depth);
	fputc('\n', v->out);
}
