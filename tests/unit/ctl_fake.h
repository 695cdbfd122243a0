/* A device behind mrc_ctl.h that is all memory: the rules of the header, and marks by which a test
 * makes steps fail. */
#ifndef WEFT_TESTS_UNIT_CTL_FAKE_H
#define WEFT_TESTS_UNIT_CTL_FAKE_H

#include <mrc_ctl.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/ctl/ctl.h"

struct mrc_context {
	uint32_t disabled;  /* bit n: port n */
	struct ctl_state s; /* what a device has, as weft ctl has it */
	uint64_t busy;      /* EV profile that queue pairs use; 0: none */
	uint64_t stuck;     /* EV profile that does not go online any more; 0: none */
	bool refuses_fields;
	uint64_t refused_cc; /* CC profile that is not made; 0: none */
	uint32_t n_modified; /* calls that changed something */
};

void fake_init(struct mrc_context *m);
void fake_fini(struct mrc_context *m);
/* The numbers of what it has. */
void fake_ids(const struct mrc_context *m, struct ctl_ids *ids);

#endif
