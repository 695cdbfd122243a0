/* Devices of `weft ctl`: found, opened, and what it says when one refuses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command.h"
#include "tools/ctl/ctl.h"

int ctl_devices(const char *name, struct nic_info **list)
{
	int n = nic_list(list), kept = 0;

	if (n < 0) {
		command_error(name, STATUS_FILE, NULL, nic_error());
		return -1;
	}
	for (int i = 0; i < n; i++) {
		if (transport_has((*list)[i].setup.transport, TRANSPORT_CONTROL))
			(*list)[kept++] = (*list)[i];
	}
	return kept;
}

/* "weft_mrc0 (lo), weft_mrc1 (eth0+eth1)". */
static void add_devices(struct text *t, const struct nic_info *list, int n)
{
	text_clear(t);
	for (int i = 0; i < n; i++) {
		const struct config_setup *s = &list[i].setup;

		text_add(t, "%s%s (", i ? ", " : "", list[i].name);
		for (uint32_t k = 0; k < s->n_ports; k++)
			text_add(t, "%s%s", k ? "+" : "", s->interfaces[k]);
		text_add(t, ")");
	}
}

static int refuse_many(const char *name, const struct nic_info *list, int n)
{
	struct text names;

	add_devices(&names, list, n);
	return usage_error(name, "there are several MRC devices: %s; choose one, as --device %s",
			   names.at, list[0].name);
}

static int refuse_unknown(const char *name, const char *wanted, const struct nic_info *list, int n)
{
	struct text names;

	add_devices(&names, list, n);
	return usage_error(name, "there is no MRC device '%s'; there is %s", wanted, names.at);
}

int ctl_choose(const char *name, const char *wanted, struct nic_info *info)
{
	struct nic_info *list = NULL;
	int n = ctl_devices(name, &list), at = 0, status = STATUS_OK;

	if (n < 0)
		return STATUS_FILE;
	while (wanted && at < n && strcmp(list[at].name, wanted) != 0)
		at++;
	if (n == 0)
		status = command_error(name, STATUS_FILE, NULL,
				       "no MRC device; weft devices shows what there is");
	else if (at == n)
		status = refuse_unknown(name, wanted, list, n);
	else if (!wanted && n > 1)
		status = refuse_many(name, list, n);
	else
		*info = list[at];
	free(list);
	return status;
}

static struct ibv_context *open_verbs(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	uint32_t i = 0;

	if (!list)
		return NULL;
	while (list[i] && strcmp(ibv_get_device_name(list[i]), name) != 0)
		i++;
	if (list[i])
		context = ibv_open_device(list[i]);
	else
		errno = ENODEV;
	ibv_free_device_list(list);
	return context;
}

static int query(struct ctl_device *d)
{
	int is_mrc = 0, has_control = 0;

	if (mrc_query_device_ex(d->verbs, NULL, &d->mrc_attr, &is_mrc) ||
	    mrc_ctl_query_device_ex(d->verbs, NULL, &d->attr, &has_control))
		return -1;
	errno = EOPNOTSUPP;
	return is_mrc && has_control ? 0 : -1;
}

static int open_all(struct ctl_device *d, bool needs_control)
{
	struct mrc_context_attr attr = {MRC_API_VER_USED, MRC_VENDOR_API_VER_USED};
	int r = store_name(d->store, d->info.setup.interfaces, d->info.setup.n_ports);

	if (r) {
		errno = -r;
		return -1;
	}
	d->verbs = open_verbs(d->info.name);
	if (!d->verbs || query(d))
		return -1;
	if (needs_control)
		d->mrc = mrc_create_context(d->verbs, &attr);
	return needs_control && !d->mrc ? -1 : 0;
}

int ctl_open(struct ctl_device *d, const char *name, const char *wanted, bool needs_control)
{
	*d = (struct ctl_device){.verbs = NULL};
	int status = ctl_choose(name, wanted, &d->info);

	if (status != STATUS_OK)
		return status;
	if (!open_all(d, needs_control))
		return STATUS_OK;
	status = ctl_error(d, name, "cannot be opened");
	ctl_close(d);
	return status;
}

void ctl_close(struct ctl_device *d)
{
	if (d->mrc)
		mrc_destroy_context(d->mrc);
	if (d->verbs)
		ibv_close_device(d->verbs);
	d->mrc = NULL;
	d->verbs = NULL;
}

void ctl_explain(const struct ctl_device *d, int number, struct text *t)
{
	switch (number) {
	case EPERM:
		text_add(t, "not permitted; run it as root, or with CAP_NET_ADMIN: "
			    "setcap cap_net_admin+ep on the program");
		break;
	case EIO:
		text_add(t,
			 "the state cannot be read or written; if it is damaged, end the programs "
			 "on the device and remove %s/%s*",
			 store_directory(), d->store);
		break;
	case EMFILE:
	case ENFILE:
		text_add(t, "more programs are on the device than files may be open here; raise "
			    "ulimit -n");
		break;
	case EAGAIN: text_add(t, "another controller is at work; try again"); break;
	case E2BIG:
		text_add(t, "too many bits: structured has 32, udp 16 and srv6 256, and fields to "
			    "generate from make 2^32 values at most; use narrower fields");
		break;
	case ENOMEM:
	case ENOSPC:
		text_add(t,
			 "no room: a device has %u profiles of each kind, of %u values at most, "
			 "and %u values, of which %u are free; weft ctl clear makes room",
			 d->attr.ev.ev_max_profiles, d->attr.ev.ev_max_count_profile,
			 d->attr.ev.ev_max_count, d->attr.ev.ev_free_count);
		break;
	case EINVAL:
		text_add(t, "not what this device takes; weft ctl devices has its limits, and "
			    "docs/controller.md the rules");
		break;
	case EOPNOTSUPP:
		text_add(t, "the driver cannot do it; SRv6 needs raw or xdp, see weft devices "
			    "--probe");
		break;
	case ENOENT: text_add(t, "there is no such value; weft ctl show --values has them"); break;
	default: text_add(t, "%s", strerror(number)); break;
	}
}

int ctl_error(const struct ctl_device *d, const char *name, const char *what)
{
	int number = errno;
	struct text t;

	text_clear(&t);
	text_add(&t, "%s: ", what);
	ctl_explain(d, number, &t);
	return command_error(name, STATUS_FILE, d->info.name, t.at);
}
