/* A multicast group as one node of its tree knows it: who sends, who receives or passes on, and by
 * which addresses (draft 4, 5.1; T-09, T-11, T-24).
 *
 * Plain data that a controller fills in; mt_group_index and mt_group_fault are called whenever it
 * has changed it, before packets come again. Nodes (fwd/mt_node.h) look groups up by their
 * Designated QPN, and branches by the addresses that answers come from. */
#ifndef WEFT_FWD_MT_GROUP_H
#define WEFT_FWD_MT_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "fwd/mt_merge.h"

#define MT_ANY_PORT UINT16_MAX

/* How one receiver's numbers differ from the source's (T-27, T-28). Provisioned groups only. */
struct mt_shift {
	uint64_t va; /* added to addresses of memory */
	uint32_t rkey;
	bool has_rkey;     /* rkey stands in for the source's */
	uint32_t psn, msn; /* added on the way down, taken off on the way up, modulo 2^24 */
};

/* A receiver that is adjacent, or a node further down. */
struct mt_branch {
	bool is_node;
	uint8_t address[16]; /* where its answers come from; of a receiver, where copies go too.
			      * Zeros: nobody stands here */
	uint8_t sid[16];     /* of a node: where copies go */
	uint16_t port;       /* by which its answers come; MT_ANY_PORT */
	uint32_t qpn;        /* of a receiver; with receivers from TLVs: what the last one said */
	struct mt_shift shift;
	/* Of its last answer that counted, for those that are made in its name (T-35); pkey 0:
	 * none yet. */
	uint16_t pkey;
	bool mig_req;
};

/* What the headend puts in front of a request (T-21, T-32): constant for a group. */
struct mt_wrap {
	uint8_t src[16];
	uint8_t hop_limit;
	struct cspan srh; /* whole: segments, TLVs, padding, HMAC; next header IPv6 */
};

/* What an SRH must be to be believed (T-12): the fields that the HMAC covers, and the HMAC, which
 * is constant for a group and was computed by who has the key. */
struct mt_guard {
	uint8_t src[16];
	uint8_t last_entry, flags;
	uint32_t key_id;
	struct cspan segments; /* as they stand in the SRH */
	struct cspan hmac;     /* 32 bytes; none: not asked for */
};

struct mt_group {
	uint32_t qpn; /* Designated QPN: names the group in all of the domain (T-24) */
	uint8_t proxy[16];
	uint8_t sid[16];     /* by which requests come from the node above; not the headend's */
	bool is_edge_by_tlv; /* receivers' QPNs, and who gets copies, are said by TLVs; branches
			      * that are receivers are then those that are allowed (T-12) */
	bool keeps_source;   /* copies keep the SA: it is the Proxy's already (T-11) */
	const struct mt_wrap *wrap; /* the headend's; NULL: not the headend */
	struct mt_guard guard;
	struct {
		uint8_t address[16]; /* the source, or the node above: answers' DA, and of the
				      * source requests' SA */
		uint32_t qpn;        /* the source's own, where is_first */
		uint16_t port;       /* by which requests come; MT_ANY_PORT not at the headend */
	} up;
	/* The source is attached here: answers are made for it (T-11). */
	bool is_first;
	uint16_t sport;      /* UDP source port of answers that are made */
	uint8_t dscp;        /* their DSCP */
	uint32_t most_bytes; /* of a native request, from its IP header on (T-30) */
	uint32_t mtu;        /* the smallest of the tree, for IP packets; 0: not known */
	/* Of the last request that passed, until branches answer; pkey 0: none yet. */
	uint16_t pkey;
	bool mig_req;
	struct mt_branch *branches;
	uint32_t n_branches;
	/* Branches by address: memory for n_branches numbers, which mt_group_index fills. */
	uint32_t *by_address;
	uint32_t n_by_address, n_receivers; /* those that are somebody, and of them receivers */
	struct mt_merge merge;              /* of as many branches, with the same numbers */
};

/* Fills by_address anew. O(n log n). */
void mt_group_index(struct mt_group *g);

/* The branch at an address, or MT_NO_BRANCH. O(log n). */
uint32_t mt_group_find(const struct mt_group *g, const uint8_t address[16]);

/* Whether an address is one that a host or a node may have: not unspecified, loopback, multicast,
 * link-local or a mapped IPv4 address. */
bool mt_address_is_usable(const uint8_t address[16]);

#endif
