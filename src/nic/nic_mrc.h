/* Queue pairs of MRC on the soft device: the native interface to them.
 *
 * A device whose setup has transport_mrc has an MRC engine. Domains, regions, completion queues,
 * channels and events are those of nic.h, and so is posting: nic_post with ENGINE_WRITE,
 * ENGINE_WRITE_IMM and ENGINE_RECV. Queue pairs are made and connected here. Their EVs (MRC 9.4)
 * are the device's, as its setup says, and so is the congestion control, unless they name profiles
 * of a controller's.
 *
 * The two ends tell each other struct nic_mrc_end and their GIDs, by whatever means they have. */
#ifndef WEFT_NIC_NIC_MRC_H
#define WEFT_NIC_NIC_MRC_H

#include "control/control.h"
#include "control/store.h"
#include "mrc/mrc.h"
#include "nic/nic.h"

/* Zero stands for the default in brackets. */
struct nic_mrc_spec {
	struct nic_pd *pd; /* of any user of the same device */
	struct nic_cq *send_cq, *recv_cq;
	uint32_t max_send, max_recv; /* work requests [1], [0] */
	uint32_t max_send_sge;       /* [1] */
	uint32_t max_inline;
	uint8_t max_mpr;   /* units of MRC_MPR_UNIT packets ahead of a gap, each way [32] */
	uint16_t max_wimm; /* immediate data stashed ahead of a gap [max_recv, 512 at most] */
	bool is_all_signaled;
	void *context;
};

/* In MRC_RESET; spec: as granted. nic_qp_free and nic_qp_number are for these as well. */
struct nic_qp *nic_mrc_qp_new(struct nic_user *u, struct nic_mrc_spec *spec);

/* Where both ends are: an address of ours, by its place in nic_query's table, and a GID of the
 * peer's. Where hosts have an address in the plane of each port, planes names the ports that have
 * one of their own at both ends, a bit each (-ENOTSUP: not with this driver). */
struct nic_mrc_path {
	uint32_t gid_index;
	uint8_t dgid[16];
	uint8_t sl; /* service level, < NIC_SLS: the device's setup has its DSCPs (7.5.5.1) */
	uint32_t planes;
	struct nic_mrc_plane {
		uint32_t gid_index;
		uint8_t dgid[16];
	} plane[ENGINE_PORTS];
};

/* As mrc_qp_modify, but MRC_SET_PATH takes the path: it opens the address and checks that the PMTU
 * fits the route; handles, EVs and burst are filled in. MRC_SET_FLAGS leaves out what the device
 * cannot do. Not MRC_SET_CC: see nic_mrc_qp_profiles. As nic_qp_modify. */
int nic_mrc_qp_modify(struct nic_qp *qp, const struct mrc_attr *attr, uint32_t set,
		      const struct nic_mrc_path *path);
/* Any but the number may be NULL. EVs and cc are the device's, or those of the profiles that the
 * queue pair names, and live as long. */
int nic_mrc_qp_query(struct nic_qp *qp, struct mrc_attr *attr, struct mrc_caps *caps,
		     bool *is_draining);

/* What one end tells the other of a queue pair. */
struct nic_mrc_end {
	uint32_t number, psn; /* psn: the first that it sends */
	uint8_t mpr;
	uint16_t wimm;
	uint8_t caps; /* MRC_PEER_TRIM_NACK, MRC_PEER_SERVICE_TIME: what it does as a responder */
};
/* A queue pair's own, with a PSN that is drawn for it. */
int nic_mrc_qp_end(struct nic_qp *qp, struct nic_mrc_end *end);

/* Moves a queue pair from MRC_RESET to MRC_RTS, with timeouts that suit software: silence is
 * noticed after 67 ms, and a peer is given up after some seconds. */
struct nic_mrc_link {
	struct nic_mrc_end mine, theirs;
	struct nic_mrc_path path;
	uint16_t pmtu;
	uint8_t access; /* enum mem_access */
};
int nic_mrc_qp_connect(struct nic_qp *qp, const struct nic_mrc_link *link);

/* How a queue pair fares, and the counters of the device's engine and driver; either may be NULL.
 */
int nic_mrc_qp_progress(struct nic_qp *qp, struct mrc_progress *progress);
void nic_mrc_counters(struct nic_user *u, struct mrc_counters *mrc, struct driver_counters *io);

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
