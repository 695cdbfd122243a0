/* Programs of the classic packet filter (packet(7), the kernel's
 * Documentation/networking/filter.rst), made step by step, and the one part that all of ours have:
 * whose a packet is, by the rules of its carrier. A load beyond the end of a packet ends a program
 * with a refusal, so no length is checked. raw_filter.c and udp_survey.c make their programs by
 * this. */
#ifndef WEFT_IO_FILTER_H
#define WEFT_IO_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/carrier.h"

#define FILTER_MOST 1024u /* steps */

struct filter {
	struct sock_filter at[FILTER_MOST];
	uint16_t n;
};

/* Adds a step; its place. */
uint16_t filter_step(struct filter *f, uint16_t code, uint32_t k);

/* Adds a jump for when the accumulator is k, and one for always: to where filter_land says. */
uint16_t filter_jump_if(struct filter *f, uint32_t k);
uint16_t filter_jump(struct filter *f);
void filter_land(struct filter *f, uint16_t from);

/* Ends the program with a result if the accumulator is not k. */
void filter_require(struct filter *f, uint32_t k, uint32_t otherwise);

/* Goes on behind this with the tag of the packet's owner in the accumulator, where a rule finds a
 * number; ends with a result where a packet is anyone's, and where nobody knows. The index register
 * has the place of the carried bytes. */
struct filter_ends {
	uint32_t anyone, unknown;
};
void filter_owner(struct filter *f, const struct carrier *c, const struct filter_ends *ends);

#endif
