#include <inttypes.h>

#include "tools/print.h"
#include "tools/text.h"

static void put_string_or_null(FILE *out, const char *text)
{
	if (text)
		text_put_json(out, text);
	else
		fputs("null", out);
}

/* Addresses are text, other fields numbers; beyond 32 bits a hexadecimal string, because many
 * readers of JSON keep only 53 bits of a number. */
static void put_field(FILE *out, struct header_at h, const struct wire_field *f)
{
	enum value_kind kind = value_kind(h.layout, f);
	bool is_address = kind != VALUE_DECIMAL && kind != VALUE_HEX;
	struct text value;

	fprintf(out, "\"%s\":", f->name);
	if (!is_address && f->width <= 32) {
		fprintf(out, "%" PRIu64, wire_field_value(f, h.bytes));
		return;
	}
	text_clear(&value);
	value_plain(&value, h, f);
	fprintf(out, "\"%s\"", value.at);
}

static void put_layers(FILE *out, const struct record *r)
{
	fputs(",\"layers\":[", out);
	for (uint32_t i = 0; i < r->trail.n; i++) {
		const struct wire_layer *layer = &r->trail.layer[i];
		struct header_at h = record_header(r, i);

		fprintf(out, "%s{\"header\":\"%s\",\"at\":%u,\"len\":%u,\"fields\":{", i ? "," : "",
			h.layout->name, layer->at, layer->len);
		for (unsigned k = 0; k < h.layout->n_fields; k++) {
			if (k)
				fputc(',', out);
			put_field(out, h, &h.layout->fields[k]);
		}
		fputs("}}", out);
	}
	fputc(']', out);
	if (r->trail.full)
		fputs(",\"layers_left_out\":true", out);
}

static void put_fault(FILE *out, const struct record *r)
{
	struct text why;

	if (r->fault.why == WIRE_DROP_NONE) {
		fputs(",\"fault\":null", out);
		return;
	}
	text_clear(&why);
	record_explain(r, &why);
	fprintf(out, ",\"fault\":{\"why\":\"%s\",\"at\":%u,\"in\":", wire_drop_name(r->fault.why),
		r->fault.at);
	put_string_or_null(out, r->fault.in ? r->fault.in->name : NULL);
	fputs(",\"text\":", out);
	text_put_json(out, why.at);
	fputc('}', out);
}

void json_print(FILE *out, const struct record *r)
{
	static const char *const families[] = {NULL, "roce", "mrc"};
	static const char *const trims[] = {"false", "\"trimmed\"", "\"lasthop\""};
	const struct wire_packet *pkt = &r->pkt;

	fprintf(out, "{\"n\":%" PRIu64 ",\"time\":\"%" PRId64 ".%09u\",\"len\":%u,\"wire_len\":%u",
		r->number, r->cap.sec, r->cap.nsec, r->cap.bytes.len, r->cap.wire_len);
	fprintf(out, ",\"verdict\":\"%s\",\"name\":", verdict_name(r->verdict));
	put_string_or_null(out, r->name);
	fputs(",\"family\":", out);
	put_string_or_null(out, families[pkt->family]);
	fprintf(out, ",\"trimmed\":%s", trims[pkt->net.trim]);
	if (pkt->family != WIRE_NO_FAMILY)
		fprintf(out, ",\"entropy\":%u", net_entropy(&pkt->net));
	put_layers(out, r);
	if (r->has_payload)
		fprintf(out, ",\"payload\":{\"at\":%u,\"len\":%u}", r->payload_at, r->payload_len);
	else
		fputs(",\"payload\":null", out);
	if (pkt->has_icrc)
		fprintf(out,
			",\"icrc\":{\"at\":%u,\"carried\":\"0x%08x\",\"right\":\"0x%08x\",\"ok\":%"
			"s}",
			pkt->icrc_at, pkt->icrc, pkt->icrc_right,
			pkt->icrc == pkt->icrc_right ? "true" : "false");
	else
		fputs(",\"icrc\":null", out);
	put_fault(out, r);
	fputs("}\n", out);
}

void json_summary(FILE *out, const char *file, const struct tally *t)
{
	const char *comma = "";

	fputs("{\"summary\":{\"file\":", out);
	text_put_json(out, file);
	fprintf(out, ",\"packets\":%" PRIu64, t->packets);
	for (unsigned i = 0; i < VERDICT_COUNT; i++)
		fprintf(out, ",\"%s\":%" PRIu64, verdict_name((enum verdict)i), t->by_verdict[i]);
	fputs(",\"by_name\":{", out);
	for (uint32_t i = 0; i < t->n_names; i++) {
		fputs(i ? "," : "", out);
		text_put_json(out, t->by_name[i].name);
		fprintf(out, ":%" PRIu64, t->by_name[i].n);
	}
	fputs("},\"by_fault\":{", out);
	for (unsigned why = 0; why < WIRE_DROP_COUNT; why++)
		if (t->by_fault[why]) {
			fprintf(out, "%s\"%s\":%" PRIu64, comma,
				wire_drop_name((enum wire_drop)why), t->by_fault[why]);
			comma = ",";
		}
	fputs("}}}\n", out);
}
