#include <inttypes.h>

#include "tools/decode/print.h"
#include "tools/json_file.h"
#include "tools/text.h"

/* Addresses are text, other fields numbers; beyond 32 bits a hexadecimal string, because many
 * readers of JSON keep only 53 bits of a number. */
static void put_field(struct json_writer *w, struct header_at h, const struct wire_field *f)
{
	enum value_kind kind = value_kind(h, f);
	bool is_address = kind == VALUE_MAC || kind == VALUE_IPV4 || kind == VALUE_IPV6;
	struct text value;

	if (kind == VALUE_SIGNED) {
		json_signed(w, f->name, value_signed(h, f));
		return;
	}
	if (!is_address && f->width <= 32) {
		json_number(w, f->name, wire_field_value(f, h.bytes));
		return;
	}
	text_clear(&value);
	value_plain(&value, h, f);
	json_text(w, f->name, value.at);
}

static void put_layers(struct json_writer *w, const struct record *r)
{
	json_array(w, "layers", JSON_INLINE);
	for (uint32_t i = 0; i < r->trail.n; i++) {
		const struct wire_layer *layer = &r->trail.layer[i];
		struct header_at h = record_header(r, i);

		json_object(w, NULL, JSON_INLINE);
		json_text(w, "header", h.layout->name);
		json_number(w, "at", layer->at);
		json_number(w, "len", layer->len);
		json_object(w, "fields", JSON_INLINE);
		for (unsigned k = 0; k < h.layout->n_fields; k++)
			put_field(w, h, &h.layout->fields[k]);
		json_close(w);
		json_close(w);
	}
	json_close(w);
	if (r->trail.full)
		json_truth(w, "layers_left_out", true);
}

static void put_payload(struct json_writer *w, const struct record *r)
{
	if (!r->has_payload) {
		json_null(w, "payload");
		return;
	}
	json_object(w, "payload", JSON_INLINE);
	json_number(w, "at", r->payload_at);
	json_number(w, "len", r->payload_len);
	json_close(w);
}

static void put_hex(struct json_writer *w, const char *key, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof text, "0x%08" PRIx32, value);
	json_text(w, key, text);
}

static void put_crc(struct json_writer *w, const struct wire_packet *pkt)
{
	const char *name = pkt->seal ? pkt->seal->name : seal_icrc.name;

	if (!pkt->has_crc) {
		json_null(w, name);
		return;
	}
	json_object(w, name, JSON_INLINE);
	json_number(w, "at", pkt->seal_at);
	put_hex(w, "carried", pkt->crc);
	put_hex(w, "right", pkt->crc_right);
	json_truth(w, "ok", pkt->crc == pkt->crc_right);
	json_close(w);
}

static void put_fault(struct json_writer *w, const struct record *r)
{
	struct text why;

	if (r->fault.why == WIRE_DROP_NONE) {
		json_null(w, "fault");
		return;
	}
	text_clear(&why);
	record_explain(r, &why);
	json_object(w, "fault", JSON_INLINE);
	json_text(w, "why", wire_drop_name(r->fault.why));
	json_number(w, "at", r->fault.at);
	json_text(w, "in", r->fault.in ? r->fault.in->name : NULL);
	json_text(w, "text", why.at);
	json_close(w);
}

static void put_rule(struct json_writer *w, const struct packet_rule *rule)
{
	json_object(w, NULL, JSON_INLINE);
	json_text(w, "rule", rule->id);
	json_text(w, "text", rule->text);
	json_close(w);
}

static void put_warnings(struct json_writer *w, const struct record *r)
{
	json_array(w, "warnings", JSON_INLINE);
	for (uint32_t i = 0; i < r->warnings.n; i++)
		put_rule(w, rules_at(r->warnings.rule[i]));
	json_close(w);
}

void json_rules(FILE *out)
{
	for (uint32_t i = 0; i < rules_count(); i++) {
		struct json_writer w = json_file(out);

		put_rule(&w, rules_at(i));
		json_end(&w);
	}
}

void json_print(FILE *out, const struct record *r)
{
	static const char *const families[] = {NULL, "roce", "mrc"};
	static const char *const trims[] = {NULL, "trimmed", "lasthop"};
	const struct wire_packet *pkt = &r->pkt;
	struct json_writer w = json_file(out);
	char time[48];

	snprintf(time, sizeof time, "%" PRId64 ".%09u", r->cap.sec, r->cap.nsec);
	json_object(&w, NULL, JSON_INLINE);
	json_number(&w, "n", r->number);
	json_text(&w, "time", time);
	json_number(&w, "len", r->cap.bytes.len);
	json_number(&w, "wire_len", r->cap.wire_len);
	json_text(&w, "verdict", verdict_name(r->verdict));
	json_text(&w, "name", r->name);
	json_text(&w, "family", families[pkt->family]);
	if (trims[pkt->net.trim])
		json_text(&w, "trimmed", trims[pkt->net.trim]);
	else
		json_truth(&w, "trimmed", false);
	if (pkt->family != WIRE_NO_FAMILY)
		json_number(&w, "entropy", net_entropy(&pkt->net));
	put_layers(&w, r);
	put_payload(&w, r);
	put_crc(&w, pkt);
	put_fault(&w, r);
	put_warnings(&w, r);
	json_close(&w);
	json_end(&w);
}

void json_summary(FILE *out, const char *file, const struct tally *t)
{
	struct json_writer w = json_file(out);
	const char *id;
	uint64_t n;

	json_object(&w, NULL, JSON_INLINE);
	json_object(&w, "summary", JSON_INLINE);
	json_text(&w, "file", file);
	json_number(&w, "packets", t->packets);
	for (unsigned i = 0; i < VERDICT_COUNT; i++)
		json_number(&w, verdict_name((enum verdict)i), t->by_verdict[i]);
	json_object(&w, "by_name", JSON_INLINE);
	for (uint32_t i = 0; i < t->n_names; i++)
		json_number(&w, t->by_name[i].name, t->by_name[i].n);
	json_close(&w);
	json_object(&w, "by_fault", JSON_INLINE);
	for (unsigned why = 0; why < WIRE_DROP_COUNT; why++)
		if (t->by_fault[why])
			json_number(&w, wire_drop_name((enum wire_drop)why), t->by_fault[why]);
	json_close(&w);
	json_object(&w, "by_rule", JSON_INLINE);
	for (uint32_t i = 0; (id = tally_rule(t, &i, &n));)
		json_number(&w, id, n);
	json_close(&w);
	json_close(&w);
	json_close(&w);
	json_end(&w);
}
