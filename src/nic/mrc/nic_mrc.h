/* What MRC alone has on the soft device: attributes that programs of libmrc set one by one,
 * profiles of a controller's, questions to peers as such, and events of all processes.
 *
 * All else is nic.h's. EVs of queue pairs (MRC 9.4) are the device's, as its setup says, and so is
 * the congestion control, unless they name profiles. */
#ifndef WEFT_NIC_MRC_NIC_MRC_H
#define WEFT_NIC_MRC_NIC_MRC_H

#include "control/control.h"
#include "control/store.h"
#include "mrc/mrc.h"
#include "nic/nic.h"

/* As mrc_qp_modify, but MRC_SET_PATH takes the path: it opens the address and checks that the PMTU
 * fits the route; handles, EVs and burst are filled in. MRC_SET_FLAGS leaves out what the device
 * cannot do. Not MRC_SET_CC: see nic_mrc_qp_profiles. As nic_qp_modify. */
int nic_mrc_qp_modify(struct nic_qp *qp, const struct mrc_attr *attr, uint32_t set,
		      const struct nic_path *path);
/* Any but the number may be NULL. EVs and cc are the device's, or those of the profiles that the
 * queue pair names, and live as long. */
int nic_mrc_qp_query(struct nic_qp *qp, struct mrc_attr *attr, struct mrc_caps *caps,
		     bool *is_draining);

/* Asks the peer of a connected queue pair for an answer by one of its EVs (an EV probe, MRC 7.3),
 * and waits for it. 0 and the round trip, -ETIMEDOUT after half a second, -EINVAL: no such EV. */
int nic_mrc_ping(struct nic_qp *qp, uint32_t ev, nsec *rtt_ns);

/* Names the profiles of a queue pair, before it is connected (MRC_RESET, MRC_INIT); NULL leaves one
 * as it is. Both count as in use until the queue pair ends, is reset, or names others. Id 0, where
 * there is no such profile, is what the device's setup says, as is a queue pair that names none. 0;
 * -EINVAL: no such profile is online, or the queue pair is in no state for it. */
int nic_mrc_qp_profiles(struct nic_qp *qp, const uint64_t *ev, const uint64_t *cc);

/* What the files of the device's control begin with (control/store.h). */
int nic_mrc_store_name(struct nic_user *u, char name[STORE_NAME_MAX]);

/* A queue of events of all processes on the device (control/members.h), from now on. It has no
 * completions; nic_cq_arm, channels and nic_cq_free serve it as any other. */
struct nic_cq *nic_mrc_event_cq_new(struct nic_user *u, uint32_t cqe, struct nic_channel *channel,
				    void *context);
/* Takes at most n; their number or a negative errno (-EINVAL: not a queue of events). n_lost of an
 * event counts those that found no room in the queue as well. */
int nic_mrc_event_poll(struct nic_cq *cq, struct control_event *events, int n);

/* Whether the device takes packets, and so answers questions, at an address of its table. 0, or a
 * negative errno and nic_error says why: -EADDRINUSE, somebody else has its port. */
int nic_mrc_check_address(struct nic_user *u, uint32_t gid_index);

/* A question to a peer as such (MRC 7.3), over any EV: none of a queue pair's or profile's. */
struct nic_mrc_question {
	uint8_t sgid[16], dgid[16];
	uint8_t wide;    /* enum control_wide: what val is */
	uint8_t val[32]; /* as in struct control_ev */
	uint8_t port;    /* from 0 */
	uint8_t op;      /* enum mrc_endpoint_op of wire/mrc.h */
	uint8_t dscp;    /* of an EV probe; port status: control (M-22) */
	uint32_t port_status;
};
/* The EVs of queue pairs that name no profile, as EV probes without ends; at most room. How many
 * there are. */
uint32_t nic_mrc_evs(struct nic_user *u, struct nic_mrc_question *evs, uint32_t room);

struct nic_mrc_answer {
	uint32_t question; /* its place in the batch */
	uint8_t port;      /* that the answer came by, from 0 */
	bool is_adjusted;  /* the peer's own time was taken off */
	nsec rtt_ns;
};
/* Sends n questions and waits for their answers, for timeout_ns at most; answers, in the order in
 * which they came, has room for n. 0 when all came; -ETIMEDOUT; -EINVAL, -ENOTSUP (an EV that this
 * driver does not take), -EAGAIN (too many questions are out): none was sent. */
int nic_mrc_ask(struct nic_user *u, const struct nic_mrc_question *questions, uint32_t n,
		nsec timeout_ns, struct nic_mrc_answer *answers, uint32_t *n_answers);

#endif
