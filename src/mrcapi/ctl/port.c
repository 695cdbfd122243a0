/* Ports: a bit of the device's state for each that is disabled. */
#include <errno.h>

#include "mrcapi/ctl/ctl.h"

/* 0, or -EINVAL; *bit: the port's, counted from 0 below. */
static int find(const struct ctl_edit *e, uint32_t *bit)
{
	if (e->id == 0 || e->id > e->device->n_ports || e->mask & ~MRC_CTL_PORT_ADMIN_STATE)
		return -EINVAL;
	*bit = UINT32_C(1) << (e->id - 1);
	return 0;
}

int ctl_port_modify(struct ctl_edit *e, const struct mrc_ctl_port_attr *a)
{
	uint32_t bit, before = e->c->disabled_ports;
	int error = find(e, &bit);

	if (error || !(e->mask & MRC_CTL_PORT_ADMIN_STATE))
		return error;
	switch (a->port_admin_state) {
	case MRC_CTL_PORT_ADMIN_ENABLED: e->c->disabled_ports &= ~bit; break;
	case MRC_CTL_PORT_ADMIN_DISABLED: e->c->disabled_ports |= bit; break;
	default: return -EINVAL;
	}
	e->is_changed = e->c->disabled_ports != before;
	return 0;
}

int ctl_port_query(const struct ctl_edit *e, struct mrc_ctl_port_attr *a)
{
	uint32_t bit;
	int error = find(e, &bit);

	if (error || !(e->mask & MRC_CTL_PORT_ADMIN_STATE))
		return error;
	a->port_admin_state = e->c->disabled_ports & bit ? MRC_CTL_PORT_ADMIN_DISABLED
							 : MRC_CTL_PORT_ADMIN_ENABLED;
	return 0;
}
