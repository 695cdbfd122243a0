/* What the soft device does for every transport that asks for nothing else, as functions of a table
 * (transport.h): paths of one address of ours and one of the peer's, and members. */
#ifndef WEFT_NIC_PLAIN_H
#define WEFT_NIC_PLAIN_H

#include "nic/inside.h"

int plain_path_open(struct nic_qp *qp, const struct nic_path *path, struct path_use use,
		    struct transport_path *to, struct addr_pair *addrs);
void plain_path_close(struct nic_qp *qp, struct addr_pair *addrs);

#endif
