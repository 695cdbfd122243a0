/* How the value of a field reads: addresses as text, numbers in the base people expect, and a note
 * that names what the number stands for. One table, keyed by the names of the field lists, holds
 * all that is particular; a header nobody wrote rows for still prints. */
#ifndef WEFT_TOOLS_DECODE_VALUE_H
#define WEFT_TOOLS_DECODE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/decode/record.h"
#include "tools/text.h"
#include "wire/header.h"

enum value_kind { VALUE_DECIMAL, VALUE_SIGNED, VALUE_HEX, VALUE_MAC, VALUE_IPV4, VALUE_IPV6 };

enum usid_format { USID_F3216, USID_F1616 };
extern const char *const usid_format_names[]; /* NULL behind the last */

/* Of this header: what a field holds may depend on another one. */
enum value_kind value_kind(struct header_at h, const struct wire_field *f);

/* The two's complement of a field of at most 64 bits. */
int64_t value_signed(struct header_at h, const struct wire_field *f);

/* Appends the value alone: "1024", "-16", "0x000011", "fd00::1". */
void value_plain(struct text *out, struct header_at h, const struct wire_field *f);

/* Appends what the value stands for, "MRC SACK"; nothing where there is no more to say. */
void value_note(struct text *out, struct header_at h, const struct wire_field *f);

/* The integer in the field of that name; fallback where the header has no such field. */
uint64_t value_of(struct header_at h, const char *field, uint64_t fallback);

bool value_is_zero(struct header_at h, const struct wire_field *f);

/* Appends an acknowledgment's syndrome in words: "ACK credits 16", "NAK remote access error". */
void value_syndrome(struct text *out, struct header_at aeth);

/* Appends the uSIDs of a container up to the last one in use, "0100 0200"; "none" when empty. */
void value_usids(struct text *out, const uint8_t address[16], enum usid_format format);

/* How long the block in front of the uSIDs is. */
uint32_t usid_block_bytes(enum usid_format format);

/* True for the header of a network layer: what follows a second one is encapsulated. */
bool value_is_network(const struct wire_layout *layout);

#endif
