/* What a person may say of a transport, and settings for it: each row lists those that it has, by
 * the names that its documents give them. What is left out is 0, unless the setting has another
 * fallback. */
#ifndef WEFT_TRANSPORT_OPTIONS_H
#define WEFT_TRANSPORT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/setting.h"
#include "cc/cc.h"

struct transport_options {
	uint32_t retries, slow_retries; /* see struct transport_manner */
	uint32_t ack_every_pkts;        /* see struct transport_host */
	uint32_t ahead_units;           /* see transport.ahead_unit_pkts; 0: as the window needs */
	bool answers_trims;             /* TRANSPORT_ANSWERS_TRIMS */
	bool counts_trims, is_oblivious;
	uint8_t cc; /* the place of a choice among the row's */
	nsec cnp_every_ns;
	struct nscc_cfg nscc;
	struct dcqcn_cfg dcqcn;
};

/* What is said of a device for its transport alone. 0: nothing. */
struct transport_device {
	bool is_cnp_port_checked; /* TRANSPORT_CNPS: only those by the port that the peer's other
				   * packets come by */
	/* What queue pairs share is sized for so many bytes. */
	uint64_t pool_bytes;
	/* TRANSPORT_ENDPOINTS: questions a second that strangers get answers to, or
	 * TRANSPORT_NO_STRANGERS. */
	uint32_t stranger_rate;
};

#define TRANSPORT_NO_STRANGERS UINT32_MAX

/* A key of device files that some transports have, with a place in struct transport_device. A value
 * of 0 says nothing, and is then the fallback; not for fractions. Rows that share one have the same
 * object. */
struct transport_key {
	struct setting setting;
	const char *variable; /* of the environment that says the same for all devices; or NULL */
};

/* A choice of congestion control. */
struct transport_cc_choice {
	uint8_t kind;      /* enum cc_kind */
	bool is_unbounded; /* nothing bounds what is out but what the peer tracks */
};

#endif
