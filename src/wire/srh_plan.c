#include "wire/srh_plan.h"

#include <errno.h>
#include <string.h>

#define HMAC_TLV (srh_hmac_bytes + SRH_HMAC_MAX + 0u)

/* A type with the top bit set may change on the way (RFC 8754 2.1). */
static bool is_type_free(uint8_t type)
{
	return type < 0x80 && type != SRH_TLV_PAD1 && type != SRH_TLV_PADN && type != SRH_TLV_HMAC;
}

/* Neither multicast nor the unspecified address. */
static bool is_host(const uint8_t *address)
{
	static const uint8_t none[16];

	return address[0] != 0xff && memcmp(address, none, sizeof none) != 0;
}

/* Whether a receiver before number `before` of edge `edge` has this address. */
static bool is_taken(const struct srh_plan *plan, uint32_t edge, uint32_t before,
		     const uint8_t *address)
{
	for (uint32_t e = 0; e <= edge; e++) {
		uint32_t n = e == edge ? before : plan->edges[e].n;

		for (uint32_t i = 0; i < n; i++)
			if (memcmp(plan->edges[e].receivers[i].address, address, 16) == 0)
				return true;
	}
	return false;
}

static int check_receivers(const struct srh_plan *plan, uint32_t edge)
{
	const struct srh_edge *e = &plan->edges[edge];

	for (uint32_t i = 0; i < e->n; i++) {
		const struct endmt_receiver *r = &e->receivers[i];

		if (!is_host(r->address) || r->qpn > 0xffffff)
			return -EINVAL;
		if (is_taken(plan, edge, i, r->address))
			return -EEXIST;
	}
	return 0;
}

/* TLVs of one edge: full ones, and one for the rest. */
static uint32_t tlvs_of(uint32_t n)
{
	return (n + ENDMT_TLV_RECEIVERS - 1) / ENDMT_TLV_RECEIVERS;
}

/* The bytes of all edges' TLVs; lengths are checked first, as receivers are compared with each
 * other. */
static int edges_bytes(const struct srh_plan *plan)
{
	uint32_t bytes = 0;

	for (uint32_t e = 0; e < plan->n_edges; e++) {
		uint32_t n = plan->edges[e].n;

		if (n == 0 || !is_host(plan->edges[e].address))
			return -EINVAL;
		if (n > ENDMT_RECEIVERS_MAX)
			return -EMSGSIZE;
		bytes += tlvs_of(n) * endmt_tlv_bytes + n * endmt_receiver_bytes;
		if (bytes > SRH_MAX)
			return -EMSGSIZE;
	}
	return (int)bytes;
}

/* An odd number of receivers leaves 4 bytes that make no whole 8 (T-02). */
static uint32_t padding_of(uint32_t bytes)
{
	return -bytes & 7;
}

static int check_edges(const struct srh_plan *plan)
{
	/* A segment is left when it comes to an edge, so that there are two; with one that might be
	 * left out, nobody could tell where TLVs begin (T-08). */
	if (plan->segments_left == 0 || !is_type_free(plan->endmt_type))
		return -EINVAL;
	for (uint32_t e = 0; e < plan->n_edges; e++) {
		int status = check_receivers(plan, e);

		if (status)
			return status;
	}
	return 0;
}

int srh_plan_bytes(const struct srh_plan *plan)
{
	if (plan->n_segments == 0 || plan->segments_left >= plan->n_segments)
		return -EINVAL;
	int edges = edges_bytes(plan);

	if (edges < 0)
		return edges;
	if (plan->n_segments > SRH_MAX / srh_segment_bytes)
		return -EMSGSIZE;
	uint32_t bytes = srh_bytes + plan->n_segments * srh_segment_bytes + (uint32_t)edges;

	bytes += padding_of(bytes) + (plan->has_hmac ? HMAC_TLV : 0);
	if (bytes > SRH_MAX)
		return -EMSGSIZE;
	int status = plan->n_edges ? check_edges(plan) : 0;

	return status ? status : (int)bytes;
}

static uint8_t *put_tlv(uint8_t *p, const struct srh_plan *plan, const struct srh_edge *edge,
			uint32_t first)
{
	uint32_t left = edge->n - first;
	uint32_t n = left < ENDMT_TLV_RECEIVERS ? left : ENDMT_TLV_RECEIVERS;
	struct endmt_tlv tlv = {
		.type = plan->endmt_type,
		.length = (uint8_t)(endmt_tlv_bytes - srh_tlv_bytes + n * endmt_receiver_bytes),
		.n_receivers = (uint8_t)n,
	};

	memcpy(tlv.edge, edge->address, sizeof tlv.edge);
	endmt_tlv_put(&tlv, p);
	p += endmt_tlv_bytes;
	for (uint32_t i = first; i < first + n; i++, p += endmt_receiver_bytes) {
		struct endmt_receiver receiver = edge->receivers[i];

		receiver.rsv0 = 0;
		endmt_receiver_put(&receiver, p);
	}
	return p;
}

/* PadN, never Pad1: Linux reads a type and a length of every TLV (T-02). */
static uint8_t *put_padding(uint8_t *p, uint32_t n)
{
	struct srh_tlv tlv = {SRH_TLV_PADN, (uint8_t)(n - srh_tlv_bytes)};

	if (n == 0)
		return p;
	memset(p, 0, n);
	srh_tlv_put(&tlv, p);
	return p + n;
}

/* The destination is not verified: a node that replicates writes it (T-12). */
static void put_hmac(uint8_t *p, uint32_t key_id)
{
	struct srh_hmac hmac = {
		.type = SRH_TLV_HMAC,
		.length = (uint8_t)(HMAC_TLV - srh_tlv_bytes),
		.d = 1,
		.key_id = key_id,
	};

	srh_hmac_put(&hmac, p);
	memset(p + srh_hmac_bytes, 0, SRH_HMAC_MAX);
}

int srh_plan_put(const struct srh_plan *plan, struct span out)
{
	int bytes = srh_plan_bytes(plan);

	if (bytes < 0)
		return bytes;
	if ((uint32_t)bytes > out.len)
		return -ENOSPC;
	struct srh head = {
		.next_header = plan->next_header,
		.ext_len = (uint8_t)(bytes / 8 - 1),
		.routing_type = SRH_ROUTING_TYPE,
		.segments_left = plan->segments_left,
		.last_entry = (uint8_t)(plan->n_segments - 1),
		.flags = plan->flags,
		.tag = plan->tag,
	};
	uint8_t *p = out.at;

	srh_put(&head, p);
	p += srh_bytes;
	for (uint32_t i = 0; i < plan->n_segments; i++, p += srh_segment_bytes)
		srh_segment_put(&plan->segments[i], p);
	for (uint32_t e = 0; e < plan->n_edges; e++)
		for (uint32_t i = 0; i < plan->edges[e].n; i += ENDMT_TLV_RECEIVERS)
			p = put_tlv(p, plan, &plan->edges[e], i);
	p = put_padding(p, padding_of((uint32_t)(p - out.at)));
	if (plan->has_hmac)
		put_hmac(p, plan->key_id);
	return bytes;
}
