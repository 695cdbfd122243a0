#include "wire/layouts.h"

#include "wire/endmt.h"
#include "wire/mrc.h"
#include "wire/net.h"
#include "wire/roce.h"
#include "wire/srh.h"

static const struct wire_layout *(*const layouts[])(void) = {
	eth_layout,
	vlan_layout,
	ipv4_layout,
	ipv6_layout,
	udp_layout,
	entropy_layout,
	ev32_layout,
	srh_layout,
	srh_segment_layout,
	srh_tlv_layout,
	srh_hmac_layout,
	endmt_tlv_layout,
	endmt_receiver_layout,
	usid_f3216_layout,
	usid_f1616_layout,
	bth_layout,
	reth_layout,
	aeth_layout,
	atomic_eth_layout,
	atomic_ack_eth_layout,
	immdt_layout,
	ieth_layout,
	cnp_layout,
	mrc_bth_layout,
	meth_layout,
	tseth_layout,
	seth_layout,
	cc_state_layout,
	neth_layout,
	peth_layout,
	erth_layout,
	eeth_layout,
};

const struct wire_layout *wire_layout_at(size_t i)
{
	return i < sizeof layouts / sizeof layouts[0] ? layouts[i]() : NULL;
}

const struct wire_layout *wire_layout_find(const char *name)
{
	const struct wire_layout *layout;

	for (size_t i = 0; (layout = wire_layout_at(i)); i++)
		if (strcmp(layout->name, name) == 0)
			return layout;
	return NULL;
}
