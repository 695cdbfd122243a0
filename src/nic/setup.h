/* How a device is set up: what its configuration says, defaults filled in.
 *
 * A device is a name, a transport, a driver and the interfaces that are its ports. Without any
 * configuration each interface with an address is one of each transport, on the udp driver. The
 * file and the environment variables that say otherwise are described in docs/devices.md. */
#ifndef WEFT_NIC_SETUP_H
#define WEFT_NIC_SETUP_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "path/format.h"

enum nic_transport { NIC_RC, NIC_MRC, NIC_TRANSPORTS };
enum nic_driver { NIC_UDP, NIC_RAW, NIC_XDP, NIC_DRIVERS };

/* NULL behind the last: "rc", "mrc"; "udp", "raw", "xdp". */
extern const char *const nic_transport_names[NIC_TRANSPORTS + 1];
extern const char *const nic_driver_names[NIC_DRIVERS + 1];

/* The EV profile of an MRC device's queue pairs (MRC 9.4). */
struct nic_evs {
	bool is_generated; /* else AUTO */
	uint32_t n;        /* 0: path_profile_default, or all combinations that there are */
	uint16_t min_active;
	enum path_encoding encoding;
	uint32_t n_fields;
	struct path_field fields[PATH_FIELDS_MAX];
};

struct nic_setup {
	uint8_t transport; /* enum nic_transport */
	uint8_t driver;    /* enum nic_driver */
	uint32_t n_ports;
	char interfaces[ENGINE_PORTS][IF_NAMESIZE];
	uint8_t dscp[ENGINE_TCLASSES];
	bool is_not_ect;
	bool has_trim; /* these two DSCPs say that a switch cut a packet */
	uint8_t dscp_trimmed, dscp_trimmed_lasthop;
	uint8_t cc;            /* enum cc_kind */
	uint64_t window_bytes; /* 0: by the driver's buffers */
	uint64_t rate_bps;     /* of all ports: NSCC's and DCQCN's line rate; 0: 100 Gb/s */
	uint16_t ev_burst;     /* packets in a row that take one way; 0: 15 on udp, else 1 */
	struct nic_evs evs;
};

#endif
