/* Structs of the control interface as those of the soft device, and back: the parts of batches and
 * event queues that need no device. */
#ifndef WEFT_MRCAPI_CTL_MAP_H
#define WEFT_MRCAPI_CTL_MAP_H

#include <mrc_ctl.h>

#include "nic/mrc/nic_mrc.h"

#define CTL_REQ_IDS 65536 /* more requests than that are not all different */

struct ctl_batch {
	enum mrc_ctl_ep_op_type type;
	uint8_t dscp;
	uint32_t n_ports;
};

/* One question, or n with ids that must all be different. 0 or -EINVAL. */
int ctl_fill_question(const struct ctl_batch *b, const struct mrc_ctl_ep_req *from,
		      struct nic_mrc_question *to);
int ctl_fill_batch(const struct ctl_batch *b, const struct mrc_ctl_ep_req *from, uint32_t n,
		   struct nic_mrc_question *to);

/* An answer to one of req; a round trip of more than 32 bits is the largest number. */
void ctl_fill_answer(const struct nic_mrc_answer *from, const struct mrc_ctl_ep_req *req,
		     struct mrc_ctl_ep_rsp *to);

/* The bytes of an event for a program of that version, and those of one event. */
size_t ctl_event_bytes(uint32_t version);
void ctl_fill_event(void *to, size_t len, const struct control_event *event);

#endif
