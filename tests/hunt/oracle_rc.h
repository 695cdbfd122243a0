/* The part of the oracle that reads RC packets: see struct hunt_transport for who calls it. */
#ifndef WEFT_TESTS_HUNT_ORACLE_RC_H
#define WEFT_TESTS_HUNT_ORACLE_RC_H

#include "oracle.h"

/* Of hunt_counts.more. */
enum { ORACLE_RC_RNR };

int oracle_rc_new(struct hunt_oracle *o);
void oracle_rc_free(struct hunt_oracle *o);
void oracle_rc_output(struct hunt_oracle *o, uint32_t host, nsec now, const struct tx_pkt *tx);
void oracle_rc_input(struct hunt_oracle *o, uint32_t host, nsec now, const struct rx_pkt *rx);
void oracle_rc_taken(struct hunt_oracle *o, uint32_t end, const struct hunt_counts *before,
		     const struct hunt_counts *after);
uint32_t oracle_rc_end_of(const struct hunt_plan *s, uint32_t host, struct cspan head);
void oracle_rc_print(struct cspan bytes, uint32_t payload, char *text, size_t text_len);

#endif
