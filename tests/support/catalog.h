/* One sample of every packet type in every encapsulation, and one of every kind of damage: what the
 * golden captures, the truncation tests and the fuzz seeds are made of. */
#ifndef WEFT_TESTS_SUPPORT_CATALOG_H
#define WEFT_TESTS_SUPPORT_CATALOG_H

#include "frame.h"
#include "wire/packet.h"

/* The DSCP numbers are a deployment's choice (MRC Table 7-7); these are the samples'. */
enum {
	CATALOG_DSCP_TRIMMABLE = 10,
	CATALOG_DSCP_TRIMMED = 12,
	CATALOG_DSCP_TRIMMED_LASTHOP = 14,
	CATALOG_DSCP_RETX = 18,
	CATALOG_DSCP_CONTROL = 48,
};

struct sample {
	char file[40]; /* the capture it belongs to, without its ending */
	char name[80]; /* what it is, for a person */
	enum wire_family family;
	uint8_t opcode;
	enum wire_drop expect;
	struct frame frame;
};

/* The configuration under which the samples decode: default port, the DSCPs above. */
struct net_cfg catalog_cfg(void);

/* Good packets: samples 0 to catalog_size() - 1, ordered by file. */
uint32_t catalog_size(void);
void catalog_get(uint32_t i, struct sample *s);

/* The good packet of that name; it must exist. */
void catalog_find(const char *name, struct sample *s);

/* Damaged and foreign packets: one for every reason after WIRE_DROP_NONE, in their order. */
void catalog_damaged(enum wire_drop why, struct sample *s);

#endif
