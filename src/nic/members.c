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
	d->show = calloc(1, sizeof *d->show);
	if (!d->show)
		return;
	show_begin(d, d->show, name);
}

void members_end(struct device *d)
{
	if (d->show)
		show_end(d, d->show);
	free(d->show);
	d->show = NULL;
}

void members_abandon(struct device *d)
{
	if (d->show)
		show_abandon(d, d->show);
}

nsec members_show(struct device *d, nsec now)
{
	return d->show ? show_device(d, d->show, now) : NSEC_NEVER;
}
