/* Contexts. */
#define _GNU_SOURCE /* memfd_create(2) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/inside.h"

/* A context's command descriptor. Nothing is behind it but its name, by which ibv_import_device
 * knows it, whatever its number, and whichever process it came from. */
#define COMMAND_NAME "weft-verbs"

static bool is_our_command(int fd)
{
	static const char ours[] = "/memfd:" COMMAND_NAME " ";
	char path[32], name[64] = "";

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return readlink(path, name, sizeof name - 1) > 0 && !strncmp(name, ours, sizeof ours - 1);
}

/* The rest of an open context could be had from its descriptor only in the process that has it, and
 * there it has the context. */
struct ibv_context *ibv_import_device(int cmd_fd)
{
	if (!is_our_command(cmd_fd))
		return VERBS_PASS_POINTER(ibv_import_device, cmd_fd);
	nic_fail(EOPNOTSUPP, "a device of weft is not imported: open it with ibv_open_device");
	return verbs_null(EOPNOTSUPP);
}

/* NULL and errno: nothing is left of it. */
static struct verbs_opened *opened_new(struct verbs_device *d, struct nic_info *info)
{
	struct verbs_opened *opened = calloc(1, sizeof *opened);

	if (!opened)
		return verbs_null(ENOMEM);
	int fd = memfd_create(COMMAND_NAME, MFD_CLOEXEC);

	if (fd < 0) {
		free(opened);
		return NULL;
	}
	verbs_device_hold(d, info);
	opened->extended.context.cmd_fd = fd;
	opened->user = nic_open(info);
	if (opened->user)
		return opened;
	int why = errno;

	verbs_device_put(d);
	close(fd);
	free(opened);
	return verbs_null(why);
}

static struct ibv_context *open_ours(struct verbs_device *d)
{
	struct nic_info info;
	struct verbs_opened *opened = opened_new(d, &info);

	if (!opened)
		return NULL;
	struct ibv_context *context = &opened->extended.context;

	opened->device = d;
	opened->n_ports = info.setup.n_ports;
	opened->transport = info.setup.transport;
	opened->extended.sz = sizeof opened->extended;
	context->device = &d->device;
	context->async_fd = nic_event_fd(opened->user);
	context->num_comp_vectors = 1;
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&opened->lock, NULL);
	pthread_mutex_init(&context->mutex, NULL);
	verbs_fill_table(&opened->extended);
	return context;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	if (!verbs_is_our_device(device))
		return VERBS_PASS_POINTER(ibv_open_device, device);
	return open_ours(verbs_device_of(device));
}

int ibv_close_device(struct ibv_context *context)
{
	if (!verbs_is_ours(context))
		return VERBS_PASS(ibv_close_device, verbs_minus_one(ENOSYS), context);
	struct verbs_opened *opened = verbs_opened(context);

	/* Their queue pairs have domains of this context. */
	if (__atomic_load_n(&opened->n_above, __ATOMIC_RELAXED))
		return verbs_minus_one(EBUSY);
	verbs_destroy_all(context);
	int error = nic_close(opened->user);

	if (error)
		return verbs_minus_one(-error);
	verbs_device_put(opened->device);
	close(context->cmd_fd);
	pthread_mutex_destroy(&context->mutex);
	pthread_mutex_destroy(&opened->lock);
	free(opened);
	return 0;
}
