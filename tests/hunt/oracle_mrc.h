/* The part of the oracle that reads MRC packets: see struct hunt_transport for who calls it. */
#ifndef WEFT_TESTS_HUNT_ORACLE_MRC_H
#define WEFT_TESTS_HUNT_ORACLE_MRC_H

#include "odd_mrc.h"
#include "oracle.h"
#include "plan_mrc.h"

/* clang-format off */
/* Of hunt_counts.more. The first ones are what became of a packet. */
#define ORACLE_MRC_MET(M) \
	M(DATA,           "data packets taken") \
	M(DUPLICATE,      "data packets again") \
	M(TRIMMED,        "data packets trimmed") \
	M(NACKED,         "data packets NACKed") \
	M(REFUSED,        "data packets NAKed") \
	M(EARLY,          "data packets too early to be NAKed") \
	M(PROBE,          "probes") \
	M(SACK,           "SACKs") \
	M(NACK,           "NACKs") \
	M(ACK,            "Transport ACKs") \
	M(NAK,            "Transport NAKs") \
	M(LOST_GAP,       "lost by a gap") \
	M(LOST_PROBE,     "lost by a probe") \
	M(LOST_NACK,      "lost by a NACK") \
	M(LOST_TIMEOUT,   "lost by a timeout") \
	M(SPARED,         "lost and found") \
	M(ANSWERS_FULL,   "no room for an answer") \
	M(NACK_TRIMMED,   "NACK: trimmed") \
	M(NACK_LASTHOP,   "NACK: trimmed, last hop") \
	M(NACK_NO_BITMAP, "NACK: no bitmap") \
	M(NACK_RANGE,     "NACK: out of range") \
	M(RANGE_GROWS,    "ranges that grew") \
	M(RANGE_SHRINKS,  "ranges that shrank") \
	M(RANGE_FULL,     "ranges filled") \
	M(RANGE_SHORT,    "ranges shorter than what is out") \
	M(WINDOW_FULL,    "windows filled") \
	M(WIMM_FULL,      "immediates at the limit") \
	M(STASHED,        "immediates kept") \
	M(WIMM_OVER,      "immediates over the limit") \
	M(RETX_FOR_ACK,   "sent for its ACK") \
	M(TURNED,         "EVs that changed") \
	M(DRAINED,        "queues drained") \
	M(HASTE,          "queues not drained in time") \
	M(PSN_WRAP,       "PSNs wrapped") \
	M(MSN_WRAP,       "MSNs wrapped") \
	M(COMMON,         "endpoint requests") \
	M(COMMON_RE,      "endpoint responses") \
	M(EV_PROBED,      "probes of EVs out of use") \
	M(BASE_PROBED,    "EV probes") \
	M(PORTS_REPORTED, "Port Status Updates") \
	M(EV_SKIPPED,     "EVs skipped") \
	M(EV_OUT,         "EVs out of use") \
	M(EV_DENIED,      "EVs denied in mid-run") \
	M(PORT_SHUT,      "packets past shut ports") \
	M(PEER_PORT_DOWN, "packets past ports that are down at the peer") \
	M(EV_DEAD,        "EVs that were dead") \
	M(WINDOW_CUT,     "windows cut for losses") \
	M(TAILS,          "ends that came to their tail") \
	M(SHELTERED,      "ends with a plane that works")
/* clang-format on */

enum oracle_mrc_met {
#define ORACLE_MRC_ENUM(id, name) MET_##id,
	ORACLE_MRC_MET(ORACLE_MRC_ENUM)
#undef ORACLE_MRC_ENUM
		MET_ODD, /* the first of enum odd_mrc */
	MET_COUNT = MET_ODD + ODD_COUNT,
};
_Static_assert(MET_COUNT < HUNT_MORE, "and the NULL behind them");

int oracle_mrc_new(struct hunt_oracle *o);
void oracle_mrc_free(struct hunt_oracle *o);
void oracle_mrc_output(struct hunt_oracle *o, uint32_t host, nsec now, const struct tx_pkt *tx);
void oracle_mrc_input(struct hunt_oracle *o, uint32_t host, nsec now, const struct rx_pkt *rx);
void oracle_mrc_taken(struct hunt_oracle *o, uint32_t end, const struct hunt_counts *before,
		      const struct hunt_counts *after);
uint32_t oracle_mrc_packet_of(const struct hunt_oracle *o, uint32_t end, const struct rx_pkt *rx,
			      uint32_t *i);
bool oracle_mrc_is_reported(const struct hunt_oracle *o, uint32_t end, uint32_t work);
bool oracle_mrc_may_give_up(const struct hunt_oracle *o, uint32_t end);
void oracle_mrc_at_rest(struct hunt_oracle *o);
uint32_t oracle_mrc_end_of(const struct hunt_plan *s, uint32_t host, struct cspan head);
void oracle_mrc_print(struct cspan bytes, uint32_t payload, char *text, size_t text_len);

bool oracle_mrc_is_shut(const struct hunt_oracle *o, uint32_t end);
bool oracle_mrc_is_sheltered(const struct hunt_oracle *o, uint32_t end);
void oracle_mrc_pulled(struct hunt_oracle *o, uint32_t host, const struct hunt_counts *before,
		       const struct hunt_counts *after);
void oracle_mrc_common(struct hunt_oracle *o, uint32_t host, const struct rx_pkt *rx,
		       const struct hunt_counts *before, const struct hunt_counts *after);

/* What the engine itself says of an end, in transport_mrc.c: the rules on EVs and windows are
 * about that. False: it has no such queue pair. */
struct oracle_mrc_view {
	uint64_t inflight_bytes, window_bytes;
	uint32_t n_usable, open_ports;
	nsec srtt_ns;
};
bool oracle_mrc_view(const struct hunt_oracle *o, uint32_t end, struct oracle_mrc_view *v);

/* Parts of it, of an end whose host did not restart; they cost less. */
enum path_state oracle_mrc_ev(const struct hunt_oracle *o, uint32_t end, uint32_t ev);
uint32_t oracle_mrc_ports(const struct hunt_oracle *o, uint32_t end);
uint32_t oracle_mrc_dead_ports(const struct hunt_oracle *o, uint32_t end);
uint32_t oracle_mrc_peer_ports_down(const struct hunt_oracle *o, uint32_t end);
/* Packets of its host that were taken for lost with their port. */
uint64_t oracle_mrc_port_losses(const struct hunt_oracle *o, uint32_t end);
uint64_t oracle_mrc_window(const struct hunt_oracle *o, uint32_t end);

/* Something changed at an end. All events that there were before it are known. */
void oracle_mrc_changed(struct hunt_oracle *o, const struct plan_mrc_change *c);

/* What the engine tells of an end. */
enum oracle_mrc_news {
	ORACLE_MRC_UNEXPECTED,
	ORACLE_MRC_DRAINED,
	ORACLE_MRC_FATAL,
	ORACLE_MRC_INVALID,
	ORACLE_MRC_ACCESS,
	ORACLE_MRC_EV_STATE,
};
void oracle_mrc_event(struct hunt_oracle *o, uint32_t end, enum oracle_mrc_news news);

#endif
