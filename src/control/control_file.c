/* A struct control as bytes: integers with their low byte first, in the order in which the
 * functions below name them, a CRC-32 of all behind. One function for each struct serves both
 * directions, so that they cannot differ. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32.h"
#include "control/control.h"

#define FILE_MAGIC   UINT64_C(0x0a6c727463746677) /* "wftctrl\n" */
#define FILE_VERSION 1u
#define FILE_CRC     4u

/* from: reads; to: writes; neither: only counts. */
struct coder {
	const uint8_t *from;
	uint8_t *to;
	size_t at, len; /* len: of from */
	bool is_bad;    /* read past the end, or a value that cannot be */
	bool is_out_of_memory;
};

static void code_bytes(struct coder *k, void *bytes, size_t n)
{
	if (k->from) {
		if (n > k->len - k->at) {
			k->is_bad = true;
			k->at = k->len;
			memset(bytes, 0, n);
			return;
		}
		memcpy(bytes, k->from + k->at, n);
	} else if (k->to) {
		memcpy(k->to + k->at, bytes, n);
	}
	k->at += n;
}

static void code_u64(struct coder *k, uint64_t *v)
{
	uint8_t bytes[8];

	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(*v >> 8 * i);
	code_bytes(k, bytes, sizeof bytes);
	*v = 0;
	for (uint32_t i = 0; i < sizeof bytes; i++)
		*v |= (uint64_t)bytes[i] << 8 * i;
}

static void code_u32(struct coder *k, uint32_t *v)
{
	uint8_t bytes[4];

	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(*v >> 8 * i);
	code_bytes(k, bytes, sizeof bytes);
	*v = 0;
	for (uint32_t i = 0; i < sizeof bytes; i++)
		*v |= (uint32_t)bytes[i] << 8 * i;
}

static void code_u8(struct coder *k, uint8_t *v)
{
	code_bytes(k, v, 1);
}

static void code_bool(struct coder *k, bool *v)
{
	uint8_t byte = *v;

	code_u8(k, &byte);
	k->is_bad |= byte > 1;
	*v = byte == 1;
}

static void code_float(struct coder *k, float *v)
{
	uint32_t bits;

	memcpy(&bits, v, sizeof bits);
	code_u32(k, &bits);
	memcpy(v, &bits, sizeof bits);
}

/* A count, which is read as 0 when it is more than there may be. */
static void code_count(struct coder *k, uint32_t *n, uint32_t most)
{
	code_u32(k, n);
	if (*n > most) {
		k->is_bad = true;
		*n = 0;
	}
}

static void code_format(struct coder *k, struct control_format *f)
{
	uint32_t n_fields = f->n_fields;

	code_u64(k, &f->id);
	code_u8(k, &f->phase);
	code_u8(k, &f->wide);
	code_count(k, &n_fields, PATH_FIELDS_MAX);
	f->n_fields = (uint8_t)n_fields;
	code_bytes(k, f->width, n_fields);
	code_bytes(k, f->vendor, sizeof f->vendor);
}

static void code_field(struct coder *k, struct path_field *f)
{
	code_u32(k, &f->width);
	code_u32(k, &f->init);
	code_u32(k, &f->mask);
	code_u32(k, &f->min);
	code_u32(k, &f->max);
}

static void code_ev(struct coder *k, struct control_ev *ev)
{
	uint8_t said = (uint8_t)(ev->n_good << 1 | ev->is_denied);

	code_bytes(k, ev->val, sizeof ev->val);
	code_u8(k, &ev->port);
	code_u8(k, &said);
	ev->is_denied = said & 1;
	ev->n_good = said >> 1;
}

static void code_profile(struct coder *k, struct control_profile *p)
{
	uint32_t n_fields = p->n_fields;

	code_u64(k, &p->id);
	code_u8(k, &p->phase);
	code_u8(k, &p->mode);
	code_u8(k, &p->event_mask);
	code_u64(k, &p->format_id);
	code_u32(k, &p->min_active);
	code_count(k, &n_fields, PATH_FIELDS_MAX);
	p->n_fields = (uint8_t)n_fields;
	for (uint32_t i = 0; i < n_fields; i++)
		code_field(k, &p->fields[i]);
	code_bytes(k, p->vendor, sizeof p->vendor);
	code_count(k, &p->count, CONTROL_EVS);
}

static void code_cc(struct coder *k, struct control_cc *p)
{
	struct control_nscc *n = &p->nscc;

	code_u64(k, &p->id);
	code_u8(k, &p->phase);
	code_bool(k, &p->is_nscc);
	code_bool(k, &p->has_config);
	code_bool(k, &n->has_no_quick_adapt);
	code_u8(k, &n->qa_gate);
	code_u32(k, &n->adjust_bytes);
	code_u32(k, &n->adjust_period_ns);
	code_u32(k, &n->base_rtt_ns);
	code_u32(k, &n->max_cwnd_bytes);
	code_u32(k, &n->qa_threshold_ns);
	code_u32(k, &n->target_delay_ns);
	code_float(k, &n->eta);
	code_float(k, &n->fi);
	code_float(k, &n->fi_scale);
	code_float(k, &n->gamma);
	code_float(k, &n->max_md_jump);
	code_bytes(k, p->vendor, sizeof p->vendor);
}

static void code_head(struct coder *k, struct control *c)
{
	uint64_t magic = FILE_MAGIC;
	uint32_t version = FILE_VERSION;

	code_u64(k, &magic);
	code_u32(k, &version);
	k->is_bad |= magic != FILE_MAGIC || version != FILE_VERSION;
	code_u64(k, &c->generation);
	code_u32(k, &c->disabled_ports);
	code_count(k, &c->n_formats, CONTROL_PROFILES);
	code_count(k, &c->n_profiles, CONTROL_PROFILES);
	code_count(k, &c->n_ccs, CONTROL_PROFILES);
}

/* The profile's values, behind the rest of it; when reading, into memory of its own. */
static void code_values(struct coder *k, struct control_profile *p)
{
	bool has_evs = p->evs != NULL;

	code_bool(k, &has_evs);
	if (!has_evs || k->is_bad)
		return;
	if (k->from) {
		p->evs = calloc(p->count ? p->count : 1, sizeof *p->evs);
		k->is_out_of_memory = !p->evs;
		k->is_bad |= !p->evs;
	}
	for (uint32_t i = 0; !k->is_bad && i < p->count; i++)
		code_ev(k, &p->evs[i]);
}

/* All but the CRC. */
static void code_all(struct coder *k, struct control *c)
{
	code_head(k, c);
	for (uint32_t i = 0; i < c->n_formats && !k->is_bad; i++)
		code_format(k, &c->formats[i]);
	for (uint32_t i = 0; i < c->n_profiles && !k->is_bad; i++) {
		code_profile(k, &c->profiles[i]);
		code_values(k, &c->profiles[i]);
	}
	for (uint32_t i = 0; i < c->n_ccs && !k->is_bad; i++)
		code_cc(k, &c->ccs[i]);
}

void *control_encode(const struct control *c, size_t *len)
{
	/* What reads may change what it reads into, so that writing needs one of its own too. */
	struct control *copy = control_copy(c);
	struct coder count = {0}, write = {0};
	uint32_t crc;

	if (!copy)
		return NULL;
	code_all(&count, copy);
	*len = count.at + FILE_CRC;
	write.to = malloc(*len);
	if (write.to) {
		code_all(&write, copy);
		crc = crc32_update(0, write.to, write.at);
		code_u32(&write, &crc);
	}
	control_free(copy);
	return write.to;
}

struct control *control_decode(const void *bytes, size_t len)
{
	struct coder k = {.from = bytes, .len = len};
	struct control *c;
	uint32_t crc = 0;

	/* First, as nothing else in a damaged file means anything. */
	if (len < FILE_CRC || len > CONTROL_BYTES) {
		errno = EBADMSG;
		return NULL;
	}
	k.at = len - FILE_CRC;
	code_u32(&k, &crc);
	if (crc != crc32_update(0, bytes, len - FILE_CRC)) {
		errno = EBADMSG;
		return NULL;
	}
	k.at = 0;
	k.len = len - FILE_CRC;
	c = control_new();
	if (!c)
		return NULL;
	code_all(&k, c);
	if (!k.is_bad && k.at == k.len && control_is_whole(c))
		return c;
	control_free(c);
	errno = k.is_out_of_memory ? ENOMEM : EBADMSG;
	return NULL;
}
