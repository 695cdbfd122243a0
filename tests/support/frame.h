/* Puts frames together for tests, captures and fuzz seeds: link, IP, SRv6 and UDP around transport
 * bytes, with lengths, checksum and ICRC right. Independent of the parsers it is used to test. */
#ifndef WEFT_TESTS_SUPPORT_FRAME_H
#define WEFT_TESTS_SUPPORT_FRAME_H

#include "base/span.h"
#include "wire/net.h"

#define FRAME_MAX 2048u

enum frame_srv6 {
	FRAME_NATIVE,       /* no encapsulation */
	FRAME_USID,         /* IPv6 in IPv6, the path in the outer destination */
	FRAME_USID_SRH,     /* one more container in a segment routing header */
	FRAME_USID_SRH_TLV, /* with HMAC and padding TLVs */
};

struct frame_spec {
	uint8_t n_vlan;
	uint8_t ip_version; /* of the header UDP belongs to */
	enum frame_srv6 srv6;
	uint8_t dscp, ecn;
	uint16_t sport;
	uint32_t flow_label;
	uint16_t udp_length; /* 0: the right one */
};

struct frame {
	uint32_t len;
	uint32_t ip_at; /* the outermost IP header */
	uint8_t bytes[FRAME_MAX];
};

/* Wraps transport headers and padded payload. transport.len + payload.len must be at most 1500. */
void frame_build(struct frame *f, const struct frame_spec *spec, struct cspan transport,
		 struct cspan payload);

/* What a trimming switch does (UE 4.1): cuts the outermost IP payload to keep bytes, rewrites the
 * outermost DSCP, length and IPv4 checksum, and touches nothing else. */
void frame_trim(struct frame *f, uint8_t dscp, uint32_t keep);

/* What a hop with End.DX6 behaviour does: takes the outer header off, carrying its DSCP inward. */
void frame_decapsulate(struct frame *f);

/* Puts n bytes in front of the byte at; no length field is changed. */
void frame_insert(struct frame *f, uint32_t at, const void *bytes, uint32_t n);

/* Makes the length of the outermost IP header right again, and its IPv4 checksum. */
void frame_fix_length(struct frame *f);

/* Makes the IPv4 header checksum of the header at byte at right again. */
void frame_fix_ipv4(struct frame *f, uint32_t at);

/* Makes the ICRC right again after the packet was changed; ip_at is the innermost IP header. */
void frame_fix_icrc(struct frame *f, uint32_t ip_at);

#endif
