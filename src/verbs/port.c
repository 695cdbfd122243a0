/* The ports of a device: their state, GIDs and partition. GIDs are the device's, and the same on
 * every port. */
#include <string.h>
#include <sys/types.h>

#include "verbs/inside.h"

#define PKEY 0xffff /* the default partition, the same in both byte orders: there is no other */

static enum ibv_mtu largest_mtu(const struct config_setup *setup, uint32_t mtu)
{
	uint32_t pmtu = nic_pmtu(setup, mtu);

	for (int code = IBV_MTU_4096; code > IBV_MTU_256; code--)
		if (pmtu >= 128u << code)
			return (enum ibv_mtu)code;
	return IBV_MTU_256;
}

bool verbs_has_port(struct ibv_context *context, uint32_t port)
{
	return port >= VERBS_PORT && port <= verbs_opened(context)->n_ports;
}

/* The device is what it is by its ports; one of several has a state and an MTU of its own. */
static int query_port(struct ibv_context *context, uint8_t port, void *attr, size_t size)
{
	struct nic_info info;

	if (!verbs_has_port(context, port))
		return verbs_answer(-EINVAL);
	int error = nic_query(verbs_opened(context)->user, &info);

	if (error)
		return verbs_answer(error);
	const struct nic_port *own = &info.ports[port - VERBS_PORT];
	bool is_up = info.n_ports > 1 ? own->is_up : info.is_up;

	/* Width and speed: the lowest there are, for the kernel's sockets tell none. */
	struct ibv_port_attr all = {
		.state = is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = largest_mtu(&info.setup,
					  info.n_ports > 1 && own->mtu ? own->mtu : info.mtu),
		.gid_tbl_len = NIC_GID_TABLE,
		.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = (uint32_t)info.setup.transport->message_max,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.active_width = 1,
		.active_speed = 1,
		.phys_state = is_up ? 5 : 3, /* LinkUp, Disabled (IBTA 14.2.5.6) */
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
	};

	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof all ? size : sizeof all);
	return 0;
}

int verbs_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		     size_t size)
{
	return query_port(context, port, attr, size);
}

/* Programs from before port_cap_flags2 have a struct without it. */
int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *port_attr)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS(ibv_query_port, ENOSYS, context, port_num, port_attr);
	return query_port(context, port_num, port_attr,
			  offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* Fills in the entry of that number; false: nothing stands there. An address that went away leaves
 * an empty place. */
static bool fill_gid(const struct nic_info *info, uint32_t index, uint32_t port,
		     struct ibv_gid_entry *entry)
{
	const struct nic_gid *gid = &info->gids[nic_gid_place(index)];

	if (gid->address.ss_family == AF_UNSPEC)
		return false;
	*entry = (struct ibv_gid_entry){
		.gid_index = index,
		.port_num = port,
		.gid_type = nic_gid_is_v1(index) ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2,
		.ndev_ifindex = info->ifindex,
	};
	memcpy(entry->gid.raw, gid->raw, sizeof entry->gid.raw);
	return true;
}

/* 0, EINVAL outside the table, ENODATA where nothing stands in it. */
static int find_gid(struct ibv_context *context, uint32_t port, uint32_t index,
		    struct ibv_gid_entry *entry)
{
	struct nic_info info;

	if (!verbs_has_port(context, port) || index >= NIC_GID_TABLE)
		return EINVAL;
	int error = nic_query(verbs_opened(context)->user, &info);

	if (error)
		return -error;
	return fill_gid(&info, index, port, entry) ? 0 : ENODATA;
}

/* An empty place of the table is a GID of zeros: programs walk over all of it. */
int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	struct ibv_gid_entry entry;

	if (!verbs_is_ours(context))
		return VERBS_PASS(ibv_query_gid, verbs_minus_one(ENOSYS), context, port_num, index,
				  gid);
	int error = find_gid(context, port_num, (uint32_t)index, &entry);

	if (error && error != ENODATA)
		return verbs_minus_one(error);
	if (error)
		memset(gid, 0, sizeof *gid);
	else
		*gid = entry.gid;
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry found;

	if (!verbs_is_ours(context))
		return VERBS_PASS(_ibv_query_gid_ex, ENOSYS, context, port_num, gid_index, entry,
				  flags, entry_size);
	if (flags || entry_size < sizeof found)
		return verbs_answer(-EINVAL);
	int error = find_gid(context, port_num, gid_index, &found);

	if (error)
		return verbs_answer(-error);
	memset(entry, 0, entry_size);
	*entry = found;
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS(_ibv_query_gid_table, -ENOSYS, context, entries, max_entries,
				  flags, entry_size);
	/* As the kernel has it: room for no entry at all is a mistake. */
	if (flags || entry_size < sizeof *entries || !entries || !max_entries)
		return -EINVAL;
	uint32_t n_all = verbs_opened(context)->n_ports * NIC_GID_TABLE;
	uint8_t *to = (uint8_t *)entries;
	struct nic_info info;
	size_t n = 0;
	int error = nic_query(verbs_opened(context)->user, &info);

	if (error)
		return error;
	for (uint32_t i = 0; i < n_all && n < max_entries; i++) {
		uint32_t port = VERBS_PORT + i / NIC_GID_TABLE;
		struct ibv_gid_entry found;

		if (!fill_gid(&info, i % NIC_GID_TABLE, port, &found))
			continue;
		memset(to, 0, entry_size);
		memcpy(to, &found, sizeof found);
		to += entry_size;
		n++;
	}
	return (ssize_t)n;
}

int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned index, int *type)
{
	struct ibv_gid_entry entry = {.gid_type = IBV_GID_TYPE_IB};

	if (!verbs_is_ours(context))
		return VERBS_PASS(ibv_query_gid_type, verbs_minus_one(ENOSYS), context, port_num,
				  index, type);
	int error = find_gid(context, port_num, index, &entry);

	if (error && error != ENODATA)
		return verbs_minus_one(error);
	*type = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
	return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS(ibv_query_pkey, verbs_minus_one(ENOSYS), context, port_num, index,
				  pkey);
	if (!verbs_has_port(context, port_num) || index != 0)
		return verbs_minus_one(EINVAL);
	*pkey = PKEY;
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS(ibv_get_pkey_index, verbs_minus_one(ENOSYS), context, port_num,
				  pkey);
	if (!verbs_has_port(context, port_num) || pkey != PKEY)
		return verbs_minus_one(EINVAL);
	return 0;
}
