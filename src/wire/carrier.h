/* Carriers: how the packets of a family of transports travel, as plain data.
 *
 * A carrier is a UDP port or an IP protocol and all that can be said of a packet by its first
 * bytes, before any transport has looked at it: whose it is, how long its headers are at least,
 * where its entropy is, what seals it. RC, MRC and the reference transport share one. Parsers,
 * switches, the simulator and printers ask these tables; drivers make the filters that kernels run
 * for them from the same ones, so nothing here is more than such a filter can do: words at fixed
 * places, masks, and jumps forward.
 *
 * Places count from the carried bytes on: behind the UDP header, or behind the entropy header of
 * four bytes that native IP begins with (UE 3.5.10.1); what a seal puts in front is part of them.
 * The 32-bit entropy of a packet is, for every carrier, the first 16 bits behind the IP header (the
 * UDP source port stands there) and the low 16 bits of the IPv6 flow label (MRC Table 9-1). */
#ifndef WEFT_WIRE_CARRIER_H
#define WEFT_WIRE_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/span.h"
#include "wire/seal.h"

#define CARRIER_RULES   8u
#define CARRIER_MATCHES 2u
#define CARRIER_SEALS   4u
#define CARRIER_FIELDS  8u

#define CARRIER_PAYLOAD_LEAST 256u  /* of the payload sizes to choose from, see carrier_payload */
#define CARRIER_PAYLOAD_MAX   8192u /* of all carriers */
#define CARRIER_PAD_MAX       3u

enum { CARRIER_UDP = 17 }; /* of carrier.protocol: not native */

/* Whether a word is a value: the four bytes from `at` on, most significant first, under a mask. */
struct carrier_match {
	uint32_t mask, value;
	uint8_t at;
};

/* Part of such a word: the low `width` bits, 1 to 32, of it shifted right. */
struct carrier_bits {
	uint8_t at, shift, width;
};

/* Whose of several processes, who share a port or an address, a packet is. */
enum carrier_owner {
	CARRIER_UNKNOWN, /* nothing tells: who gets it looks at it, and may drop it */
	CARRIER_NUMBER,  /* who gave itself the number: the top tag_bits of it are his tag */
	CARRIER_NAME,    /* who claimed this name */
	CARRIER_ANYONE,  /* who answers questions that are to nobody in particular */
};

/* Holds where all its matches do. */
struct carrier_rule {
	struct carrier_match match[CARRIER_MATCHES];
	uint8_t n_match;
	uint8_t owner;            /* enum carrier_owner */
	struct carrier_bits bits; /* the number or the name */
};

/* The seal of packets that match; the mask 0 matches all. */
struct carrier_seal {
	struct carrier_match match;
	const struct seal *seal;
};

/* Which parser of this room reads what is carried. */
enum carrier_headers { CARRIER_OPAQUE, CARRIER_ROCE };

struct carrier {
	const char *name;
	uint16_t port;      /* UDP destination; 0: native */
	uint8_t protocol;   /* of IP: CARRIER_UDP, or its own */
	uint8_t headers;    /* enum carrier_headers */
	uint8_t head_least; /* bytes that every packet has in front of its payload and of its
			     * seal's tail; no rule reads beyond them */
	uint8_t head_most;  /* the same of packets with a payload, at most, sealed in clear */
	uint8_t pad_max;    /* bytes of padding behind a payload */
	uint16_t payload_max;
	uint8_t pieces_max; /* a received payload may lie in so many pieces */
	uint8_t spare;      /* a first byte that no packet begins with: free for who steers them */
	uint8_t tag_bits;   /* of a number, at its top: which process gave it to itself, 1 to 8 */
	/* The number that a packet is to, of the receiver's own: a queue pair, a context. */
	struct carrier_bits number;
	/* Packets whose UDP length may differ from what the IP length leaves. A mask of 0: none. */
	struct carrier_match other_length;
	/* The first rule that holds says whose a packet is; where none does, nobody knows. */
	struct carrier_rule rules[CARRIER_RULES];
	/* The first that matches; the last, which matches all, is that of packets in clear. */
	struct carrier_seal seals[CARRIER_SEALS];
	/* The least header by what stands in it, as whole bytes: for who damages it on purpose. */
	struct {
		uint8_t at, bytes;
	} fields[CARRIER_FIELDS];
	uint8_t n_rules, n_seals, n_fields;
};

/* RoCEv2: RC, MRC and the reference transport. */
extern const struct carrier carrier_roce;

/* The carriers that somebody follows, each with the number that it goes by there: deployments
 * choose. A packet in the simulator names its carrier by its place here. */
#define CARRIERS_MAX 8u
struct carriers {
	struct carrier_use {
		const struct carrier *is;
		uint16_t port; /* 0: native */
		uint8_t protocol;
	} use[CARRIERS_MAX];
	uint8_t n;
};

/* Adds one, by another UDP port or IP protocol than its own where number is not 0. There is room.
 */
void carriers_add(struct carriers *all, const struct carrier *c, uint16_t number);

/* Who goes by a UDP port, or by an IP protocol other than UDP; NULL: none. */
static inline const struct carrier_use *carrier_of_udp(const struct carriers *all, uint16_t port)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (all->use[i].protocol == CARRIER_UDP && all->use[i].port == port)
			return &all->use[i];
	return NULL;
}

static inline const struct carrier_use *carrier_of_ip(const struct carriers *all, uint8_t protocol)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (all->use[i].protocol == protocol && protocol != CARRIER_UDP)
			return &all->use[i];
	return NULL;
}

static inline bool carrier_is_native(const struct carrier *c)
{
	return c->protocol != CARRIER_UDP;
}

/* Bytes between the IP header and the carried bytes. */
static inline uint32_t carrier_front_bytes(const struct carrier *c)
{
	return carrier_is_native(c) ? 4 : 8;
}

/* The entropy of a packet: front is the first 16 bits behind its IP header; label 0 over IPv4. */
static inline uint32_t carrier_entropy(uint16_t front, uint32_t flow_label)
{
	return (uint32_t)front << 16 | (flow_label & 0xffff);
}

/* For each function below head is the carried bytes, at least head_least of them. */

static inline bool carrier_matches(const struct carrier_match *m, const uint8_t *head)
{
	return (get_be32(head + m->at) & m->mask) == m->value;
}

static inline uint32_t carrier_bits_get(const struct carrier_bits *b, const uint8_t *head)
{
	return get_be32(head + b->at) >> b->shift & (UINT32_MAX >> (32 - b->width));
}

static inline bool carrier_has_other_length(const struct carrier *c, const uint8_t *head)
{
	return c->other_length.mask && carrier_matches(&c->other_length, head);
}

/* The rule that says whose the packet is, or NULL: CARRIER_UNKNOWN. */
const struct carrier_rule *carrier_rule_of(const struct carrier *c, const uint8_t *head);

/* The tag in a number of a rule. */
static inline uint8_t carrier_tag(const struct carrier *c, const struct carrier_rule *rule,
				  const uint8_t *head)
{
	return (uint8_t)(carrier_bits_get(&rule->bits, head) >> (rule->bits.width - c->tag_bits));
}

/* The seal of a packet that arrived, and of one that is to leave in clear. */
static inline const struct seal *carrier_seal_of(const struct carrier *c, const uint8_t *head)
{
	uint32_t i = 0;

	while (i + 1 < c->n_seals && !carrier_matches(&c->seals[i].match, head))
		i++;
	return c->seals[i].seal;
}
static inline const struct seal *carrier_plain_seal(const struct carrier *c)
{
	return c->seals[c->n_seals - 1].seal;
}

/* Bytes of a packet in clear around its payload, from the carried bytes on: at most. */
static inline uint32_t carrier_around_bytes(const struct carrier *c)
{
	return (uint32_t)c->head_most + carrier_plain_seal(c)->tail_bytes;
}

/* The largest payload of full packets that room is enough for: the carrier's largest, or a power of
 * two below it, CARRIER_PAYLOAD_LEAST or more; 0: none. */
static inline uint16_t carrier_payload(const struct carrier *c, uint32_t room)
{
	uint32_t bytes = CARRIER_PAYLOAD_MAX;

	if (c->payload_max <= room)
		return c->payload_max;
	while (bytes >= c->payload_max || bytes > room)
		bytes /= 2;
	return bytes < CARRIER_PAYLOAD_LEAST ? 0 : (uint16_t)bytes;
}

/* The smallest of them. */
static inline uint16_t carrier_payload_least(const struct carrier *c)
{
	return c->payload_max < CARRIER_PAYLOAD_LEAST ? c->payload_max : CARRIER_PAYLOAD_LEAST;
}

#endif
