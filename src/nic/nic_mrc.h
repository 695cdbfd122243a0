/* Queue pairs of MRC on the soft device: the native interface to them.
 *
 * A device whose setup has NIC_MRC has an MRC engine. Domains, regions, completion queues, channels
 * and events are those of nic.h, and so is posting: nic_post with ENGINE_WRITE, ENGINE_WRITE_IMM
 * and ENGINE_RECV. Queue pairs are made and connected here. Their ways (MRC 9.4) are the device's,
 * as its setup says, and so is the congestion control.
 *
 * The two ends tell each other struct nic_mrc_end and their GIDs, by whatever means they have. */
#ifndef WEFT_NIC_NIC_MRC_H
#define WEFT_NIC_NIC_MRC_H

#include "mrc/mrc.h"
#include "nic/nic.h"

/* Zero stands for the default in brackets. */
struct nic_mrc_spec {
	struct nic_pd *pd;
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
	uint32_t planes;
	struct nic_mrc_plane {
		uint32_t gid_index;
		uint8_t dgid[16];
	} plane[ENGINE_PORTS];
};

/* As mrc_qp_modify, but MRC_SET_PATH takes the path: it opens the address and checks that the PMTU
 * fits the way; handles, ways and burst are filled in. As nic_qp_modify. */
int nic_mrc_qp_modify(struct nic_qp *qp, const struct mrc_attr *attr, uint32_t set,
		      const struct nic_mrc_path *path);
/* Any but the number may be NULL. ways is the device's, and lives as long. */
int nic_mrc_qp_query(struct nic_qp *qp, struct mrc_attr *attr, struct mrc_caps *caps,
		     bool *is_draining);

/* What one end tells the other of a queue pair. */
struct nic_mrc_end {
	uint32_t number, psn; /* psn: the first that it sends */
	uint8_t mpr;
	uint16_t wimm;
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

/* Asks the peer of a connected queue pair for an answer by one of its ways (an EV probe, MRC 7.3),
 * and waits for it. 0 and the round trip, -ETIMEDOUT after half a second, -EINVAL: no such way. */
int nic_mrc_ping(struct nic_qp *qp, uint32_t way, nsec *rtt_ns);

#endif
