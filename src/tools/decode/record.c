#include "tools/decode/record.h"

#include <string.h>

/* Takes a cooked header, which stands where an Ethernet header would, and what it announces. */
static struct wire_fault get_cooked(struct cursor *c, const struct wire_layout *(*layout)(void),
				    uint16_t *type, struct wire_trail *trail)
{
	const struct wire_layout *cooked = layout();
	const uint8_t *p = take_header(c, trail, cooked->bytes, layout);

	if (!p)
		return fault_at(WIRE_DROP_TRUNCATED, c->at, cooked);
	*type = (uint16_t)wire_field_value(wire_field_find(cooked, "protocol"), p);
	/* Below are the lengths of 802.3 frames and the kernel's own numbers, none of them IP. */
	if (*type < 0x0600)
		return fault_at(WIRE_DROP_NOT_IP, c->at, NULL);
	return no_fault();
}

/* Where the bytes end that a header of the packet could have used. */
static uint32_t usable_end(const struct wire_packet *pkt, uint32_t frame_len)
{
	const struct net_ip *outer = &pkt->net.ip[0];
	uint32_t ip_len = outer->version == 4 ? outer->v4.length : outer->v6.length + ipv6_bytes;

	if (pkt->seal_at)
		return pkt->seal_at;
	if (pkt->net.end)
		return pkt->net.end;
	if (pkt->net.n_ip && outer->at + ip_len < frame_len)
		return outer->at + ip_len;
	return frame_len;
}

static void note_payload(struct record *r)
{
	struct cspan payload = wire_packet_payload(&r->pkt);

	r->has_payload = payload.at != NULL;
	r->payload_len = payload.len;
	r->shown = payload;
}

/* Decodes bytes, and counts everything printers use from their start. */
static void decode(struct record *r, struct cspan bytes, struct capture_link link,
		   const struct net_cfg *cfg)
{
	struct cursor c = cursor_of(bytes);
	struct wire_trail inner = {.n = 0};
	uint16_t start = link.start;

	memset(&r->pkt, 0, sizeof r->pkt);
	r->trail.n = 0;
	r->trail.full = false;
	r->fault = link.cooked ? get_cooked(&c, link.cooked, &start, &r->trail) : no_fault();
	r->left = cursor_left(&c);
	r->end = 0;
	if (r->fault.why == WIRE_DROP_NONE) {
		struct cspan frame = cursor_rest(&c);

		r->fault = wire_packet_get(frame, start, cfg, &r->pkt, &inner);
		uint32_t end = usable_end(&r->pkt, frame.len);

		r->left = r->fault.at < end ? end - r->fault.at : 0;
		r->fault.at += c.at;
		r->pkt.seal_at += c.at;
		r->end = r->pkt.net.end ? r->pkt.net.end + c.at : 0;
	}
	for (uint32_t i = 0; i < inner.n; i++) {
		inner.layer[i].at += c.at;
		trail_add(&r->trail, inner.layer[i]);
	}
	r->trail.full |= inner.full;
	note_payload(r);
	if (r->has_payload)
		r->payload_at = (uint32_t)(r->shown.at - bytes.at);
}

/* The end of the bytes that a fault was found in. */
static uint32_t fault_end(const struct record *r)
{
	const struct wire_fault *f = &r->fault;

	for (uint32_t i = 0; i < r->trail.n; i++) {
		const struct wire_layer *layer = &r->trail.layer[i];

		if (f->at >= layer->at && f->at - layer->at < layer->len)
			return layer->at + layer->len;
	}
	/* A packet that ends too early speaks of what came before. */
	if (!f->in || f->why == WIRE_DROP_TRUNCATED)
		return f->at;
	return f->at + f->in->bytes;
}

/* Takes the packet's last header away, and from pkt all that follows the base transport header:
 * what is left of a stack has no opcode of its own. */
static void forget_header(struct record *r)
{
	const struct wire_layout *last = r->trail.layer[--r->trail.n].layout;

	r->has_payload = false;
	if (wire_field_find(last, "opcode"))
		r->pkt.family = WIRE_NO_FAMILY;
	if (r->pkt.family == WIRE_ROCE)
		r->pkt.roce.has = 0;
	if (r->pkt.family == WIRE_MRC)
		r->pkt.mrc.has = 0;
}

static enum verdict verdict_of(const struct wire_fault *fault, enum verdict without)
{
	if (fault->why == WIRE_DROP_NONE)
		return without;
	return wire_drop_is_foreign(fault->why) ? VERDICT_FOREIGN : VERDICT_MALFORMED;
}

/* What lies behind the captured bytes was invented: forgets it. A fault stands only where all it
 * looked at was captured; else the packet is cut and no more is known of it. */
static void forget_missing(struct record *r, uint32_t captured)
{
	bool is_real = r->fault.why != WIRE_DROP_NONE && r->fault.why != WIRE_DROP_ICRC &&
		       fault_end(r) <= captured;

	r->pkt.has_crc = false;
	while (r->trail.n > 0) {
		const struct wire_layer *last = &r->trail.layer[r->trail.n - 1];

		if (last->at + last->len <= captured)
			break;
		forget_header(r);
	}
	if (r->has_payload) {
		uint32_t there = captured > r->payload_at ? captured - r->payload_at : 0;

		if (r->shown.len > there)
			r->shown.len = there;
	}
	if (!is_real)
		r->fault = no_fault();
	r->verdict = verdict_of(&r->fault, VERDICT_CUT);
}

void record_decode(struct record *r, struct capture_link link, const struct net_cfg *cfg,
		   struct rules *rules)
{
	struct cspan bytes = r->cap.bytes;
	uint32_t wire_len = r->cap.wire_len < RECORD_WHOLE_MAX ? r->cap.wire_len : RECORD_WHOLE_MAX;
	bool is_cut = wire_len > bytes.len;

	if (is_cut) {
		memcpy(r->whole, bytes.at, bytes.len);
		memset(r->whole + bytes.len, 0, wire_len - bytes.len);
		bytes = (struct cspan){r->whole, wire_len};
	}
	decode(r, bytes, link, cfg);
	r->verdict = verdict_of(&r->fault, VERDICT_OK);
	/* Where the packet ends before the cut, only padding of the link is missing. */
	if (is_cut && (r->end == 0 || r->end > r->cap.bytes.len))
		forget_missing(r, r->cap.bytes.len);
	r->name = wire_packet_name(&r->pkt);
	r->warnings.n = 0;
	if (r->fault.why == WIRE_DROP_NONE)
		rules_check(rules, &r->pkt, &r->warnings);
	if (r->verdict == VERDICT_OK && r->warnings.n)
		r->verdict = VERDICT_WARNING;
}

struct header_at record_header(const struct record *r, uint32_t i)
{
	const struct wire_layer *layer = &r->trail.layer[i];

	return (struct header_at){layer->layout, r->cap.bytes.at + layer->at};
}

void record_explain(const struct record *r, struct text *out)
{
	const struct wire_fault *f = &r->fault;

	text_add(out, "%s:", wire_drop_text(f->why));
	if (f->in)
		text_add(out, " %s", f->in->name);
	text_add(out, " at byte %u", f->at);
	if (f->why == WIRE_DROP_TRUNCATED && f->in)
		text_add(out, " (needs %u, %u left)", f->in->bytes, r->left);
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = {"ok", "foreign", "malformed", "cut", "warning"};

	return names[verdict];
}
