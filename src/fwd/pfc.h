/* Priority flow control frames (IEEE 802.1Q clause 36, MAC control opcode 0x0101). */
#ifndef WEFT_FWD_PFC_H
#define WEFT_FWD_PFC_H

#include <stdbool.h>
#include <stdint.h>

#include "fwd/frame.h"
#include "wire/header.h"

/* clang-format off */
#define PFC_FIELDS(F) \
	F(opcode,             0, 16) \
	F(enable,            16, 16) \
	F(time0,             32, 16) \
	F(time1,             48, 16) \
	F(time2,             64, 16) \
	F(time3,             80, 16) \
	F(time4,             96, 16) \
	F(time5,            112, 16) \
	F(time6,            128, 16) \
	F(time7,            144, 16)
WIRE_HEADER(pfc, 20, PFC_FIELDS)
/* clang-format on */

enum { ETHERTYPE_MAC_CONTROL = 0x8808, PFC_OPCODE = 0x0101, PFC_FRAME_BYTES = 60 };

struct fwd_pause {
	uint8_t classes;    /* bit per priority this frame speaks of */
	uint16_t quanta[8]; /* of 512 bit times; 0: go on */
};

/* Writes a PFC frame of PFC_FRAME_BYTES, padding included, from the port whose address is mac. */
void fwd_pfc_put(uint8_t frame[PFC_FRAME_BYTES], const uint8_t mac[6],
		 const struct fwd_pause *pause);

/* True when f is a PFC frame; *pause is what it says. */
bool fwd_pfc_get(const struct fwd_frame *f, struct fwd_pause *pause);

#endif
