/* How a device is set up: what its configuration says, defaults filled in.
 *
 * A device is a name, a transport, a driver and the interfaces that are its ports. Without any
 * configuration each interface with an address is one of each transport, on the udp driver. The
 * file and the environment variables that say otherwise are described in docs/devices.md. What
 * stands in a struct config_setup was checked: it makes sense by itself, though interfaces and
 * addresses may not be there. Of a transport this room knows what its row says. Who lists devices
 * calls this, and tools that show or check a file. */
#ifndef WEFT_CONFIG_CONFIG_H
#define WEFT_CONFIG_CONFIG_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "path/format.h"
#include "transport/transport.h"

#define CONFIG_NAME_MAX      64u
#define CONFIG_WHY_MAX       256u
#define CONFIG_ERROR_MAX     512u
#define CONFIG_DEVICES_MAX   256u /* of a file */
#define CONFIG_ADDRESSES_MAX 16u  /* of a device, beside those of its ports */
#define CONFIG_SLS           16u  /* service levels */

enum config_driver { CONFIG_UDP, CONFIG_RAW, CONFIG_XDP, CONFIG_DRIVERS };

/* NULL behind the last: "udp", "raw", "xdp". */
extern const char *const config_driver_names[CONFIG_DRIVERS + 1];

/* TRANSPORT_PROFILES: the EV profile of a device's queue pairs (MRC 9.4). */
struct config_evs {
	bool is_generated; /* else AUTO */
	uint32_t n;        /* 0: path_profile_default, or all combinations that there are */
	uint16_t min_active;
	enum path_encoding encoding;
	uint32_t n_fields;
	struct path_field fields[PATH_FIELDS_MAX];
};

struct config_setup {
	const struct transport *transport;
	uint8_t driver; /* enum config_driver */
	uint32_t n_ports;
	char interfaces[ENGINE_PORTS][IF_NAMESIZE];
	uint8_t dscp[ENGINE_TCLASSES];
	/* TRANSPORT_CLASSES: DSCPs of service levels that have their own, a bit each, for
	 * ENGINE_DATA, _RETX and _NO_TRIM; the others have those above (MRC 7.5.5.1). */
	uint16_t sls;
	uint8_t sl_dscp[CONFIG_SLS][ENGINE_CONTROL];
	bool is_not_ect;
	bool has_trim; /* these two DSCPs say that a switch cut a packet */
	uint8_t dscp_trimmed, dscp_trimmed_lasthop;
	uint8_t cc;            /* enum cc_kind */
	uint64_t window_bytes; /* 0: by the driver's buffers */
	uint64_t rate_bps;     /* of all ports: NSCC's and DCQCN's line rate; 0: 100 Gb/s */
	bool is_untraced;      /* nothing is recorded of packets (trace/ring.h) */
	struct transport_device device;
	uint16_t ev_burst; /* packets in a row that take one EV; 0: 60 KiB on udp, else 1 */
	struct config_evs evs;
	/* Addresses of the device that are on none of its ports: a host's own one in a fabric of
	 * SRv6 is on lo. has_lo: all of lo's that mean something elsewhere. */
	bool has_lo;
	uint32_t n_addresses;
	uint8_t addresses[CONFIG_ADDRESSES_MAX][16]; /* IPv4 as ::ffff:a.b.c.d */
};

/* A device as it was described. */
struct config_device {
	char name[CONFIG_NAME_MAX];
	struct config_setup setup;
	char why[CONFIG_WHY_MAX]; /* why this driver: "udp: the default" */
};

/* What is wrong, and what would be right: a sentence. */
struct config_error {
	char at[CONFIG_ERROR_MAX];
};

/* A configuration file; name is for sentences. */
struct config_file {
	char name[4096];
	char *text; /* malloced; NULL: there is no file */
	size_t len;
};

/* Reads the file that WEFT_CONFIG names, else devices.conf of the user, else of the system. 0, or
 * a negative errno and a sentence: one that is named, or there, must be readable. */
int config_find(struct config_file *config, struct config_error *error);

/* Makes devices of a file's text, and of what the environment says beside it, in the order of
 * their transports. *list is malloced. Their number; or a negative errno, and the sentence has the
 * file and the line. A file that describes no device gives 0. */
int config_read(const struct config_file *config, struct config_device **list,
		struct config_error *error);

/* Fills in a device with the interfaces named in setup and all else as the environment says, or
 * by default. 0 or a negative errno, as above. */
int config_default(struct config_device *d, struct config_error *error);

/* Writes the device as a section of a file, terminated; returns its whole length, which may be more
 * than there was room for. Reading it gives the same setup. */
size_t config_print(const struct config_device *d, char *text, size_t len);

#endif
