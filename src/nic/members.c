/* How a device that no controller governs fares, for whoever looks from another process (show.h).
 */
#include "nic/members.h"

#include <stdlib.h>

#include "control/store.h"
#include "nic/show.h"

/* Without any of it the device works all the same. */
void members_begin(struct device *d)
{
	const struct config_setup *setup = &d->info.setup;
	char name[STORE_NAME_MAX];

	if (store_name_apart(name, setup->transport->name, setup->interfaces, setup->n_ports))
		return;
	struct nic_show *show = calloc(1, sizeof *show);

	if (!show)
		return;
	d->own = show;
	show_begin(d, show, name);
}

void members_end(struct device *d)
{
	if (d->own)
		show_end(d, d->own);
	free(d->own);
	d->own = NULL;
}

void members_abandon(struct device *d)
{
	if (d->own)
		show_abandon(d, d->own);
}

nsec members_show(struct device *d, nsec now)
{
	return d->own ? show_device(d, d->own, now) : NSEC_NEVER;
}
