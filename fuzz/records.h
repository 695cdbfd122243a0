/* What an input of the targets that drive an engine means: records, one after the other, of what
 * happens to it. Here is what these targets share: they run the records and check the laws of
 * engine/engine.h; what is particular to a transport is its target's. The seeds are written in the
 * same way. */
#ifndef WEFT_FUZZ_RECORDS_H
#define WEFT_FUZZ_RECORDS_H

#include <stddef.h>

#include "engine/engine.h"

/* A record is four bytes: what; flags, or which work; virtual payload in pieces of 16 bytes, or the
 * size of the work, or how many are in front of it; n, and then n bytes of a packet. */
enum { RECORD_PACKET, RECORD_PULL, RECORD_POST, RECORD_WAIT, RECORD_CANCEL, RECORD_KINDS };
enum {
	RECORD_IS_TRIMMED = 1,
	RECORD_IS_MARKED = 2,
	RECORD_IS_STRANGE = 4, /* from somebody else */
	RECORD_IS_SPECIAL = 8, /* whatever that is to the target */
};
enum { RECORD_HEAD = 4, RECORD_PEER = 7 };

struct subject;

/* What a target knows of its transport. */
struct subject_ops {
	uint32_t head_bytes; /* most of a header; what comes behind is payload */
	uint32_t wait_ns;    /* unit of RECORD_WAIT */
	uint32_t n_ports;
	uint16_t room[ENGINE_PORTS]; /* of each, at each pull: together less than 8 */
	/* The packets received, once it is sure that each counts as something. */
	uint64_t (*count)(const struct engine *e);
	/* May change a packet before it goes in; head is that of rx. */
	void (*fit)(const struct subject *s, uint8_t flags, struct rx_pkt *rx, uint8_t *head);
	/* NULL, or looks at a packet that came out. */
	void (*check)(const struct subject *s, const struct tx_pkt *tx);
	void (*post)(struct subject *s, uint8_t what, uint8_t size);
	/* NULL, or takes work back. */
	void (*cancel)(struct subject *s, uint8_t what, uint8_t ahead);
	void (*poll)(struct subject *s); /* after every record */
};

/* An engine under test; first member of what a target knows about it. */
struct subject {
	const struct subject_ops *ops;
	struct engine *e;
	nsec now;
};

void subject_run(struct subject *s, const uint8_t *data, size_t size);
void subject_pull(struct subject *s);

/* An input under construction. */
struct records {
	uint8_t bytes[8192];
	uint32_t len;
};

/* Adds a record. tx: NULL, or a packet that an engine sent; its virtual payload stays virtual. */
void records_add(struct records *r, uint8_t what, uint8_t flags, const struct tx_pkt *tx);

/* What two engines say to each other, and what becomes of it on the way. */
struct talk {
	struct engine *from, *to; /* to: NULL, and nobody hears it */
	nsec now, heard;
	uint8_t flags;   /* RECORD_IS_ */
	uint32_t except; /* bit per packet that does not come through, of those pulled at once */
};

/* Pulls packets, adds those that come through, and passes them on. */
void records_converse(struct records *r, const struct talk *t);

#endif
