/* The list of devices: ours first, then those of the real library. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/inside.h"

/* A list as the application has it: at[] is what it sees. */
struct device_list {
	struct device_list *next;
	struct ibv_device **foreign;
	size_t n_ours;
	struct ibv_device *at[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct verbs_device *devices; /* under lock, as is all that follows */
static struct device_list *lists;

static void lock_list(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_list(void)
{
	pthread_mutex_unlock(&lock);
}

/* A child of fork has one thread, and what another one of its parent had locked would stay so. Said
 * before there is a second thread: a fork that is under way would not learn of it. */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(lock_list, unlock_list, unlock_list);
}

/* No device of the real library bears this function. */
static void our_mark(struct ibv_context *context)
{
	(void)context;
}

bool verbs_is_our_device(const struct ibv_device *device)
{
	return device->_ops._dummy2 == our_mark;
}

static struct verbs_device *device_new(const struct nic_info *info)
{
	struct verbs_device *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	struct ibv_device *device = &d->device;

	device->_ops._dummy2 = our_mark;
	device->node_type = IBV_NODE_CA;
	device->transport_type = IBV_TRANSPORT_IB;
	snprintf(device->name, sizeof device->name, "%.*s", IBV_SYSFS_NAME_MAX - 1, info->name);
	snprintf(device->dev_name, sizeof device->dev_name, "u%.*s", IBV_SYSFS_NAME_MAX - 2,
		 info->name);
	/* Nothing is there: a program that looks finds no file, as with an older kernel. */
	snprintf(device->dev_path, sizeof device->dev_path, "/sys/class/infiniband_verbs/u%s",
		 info->name);
	snprintf(device->ibdev_path, sizeof device->ibdev_path, "/sys/class/infiniband/%s",
		 info->name);
	d->next = devices;
	devices = d;
	return d;
}

/* The same interface is the same device for as long as anybody holds it, as with the real library:
 * programs compare pointers. */
static struct verbs_device *device_get(const struct nic_info *info)
{
	struct verbs_device *d = devices;

	while (d && (d->info.ifindex != info->ifindex || strcmp(d->info.name, info->name) != 0))
		d = d->next;
	if (!d)
		d = device_new(info);
	if (d) {
		d->info = *info;
		d->refs++;
	}
	return d;
}

static void device_put(struct verbs_device *d)
{
	struct verbs_device **link = &devices;

	if (--d->refs > 0)
		return;
	while (*link != d)
		link = &(*link)->next;
	*link = d->next;
	free(d);
}

void verbs_device_hold(struct verbs_device *d, struct nic_info *info)
{
	lock_list();
	d->refs++;
	*info = d->info;
	unlock_list();
}

void verbs_device_put(struct verbs_device *d)
{
	lock_list();
	device_put(d);
	unlock_list();
}

static struct device_list *list_new(const struct nic_info *infos, size_t n_infos,
				    struct ibv_device **foreign, size_t n_foreign)
{
	struct device_list *list =
		calloc(1, sizeof *list + (n_infos + n_foreign + 1) * sizeof(void *));

	if (!list)
		return NULL;
	lock_list();
	for (size_t i = 0; i < n_infos; i++) {
		struct verbs_device *d = device_get(&infos[i]);

		if (d)
			list->at[list->n_ours++] = &d->device;
	}
	list->next = lists;
	lists = list;
	unlock_list();
	for (size_t i = 0; i < n_foreign; i++)
		list->at[list->n_ours + i] = foreign[i];
	list->foreign = foreign;
	return list;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct nic_info *infos = NULL;
	int n_infos = nic_list(&infos), n_foreign = 0;
	struct ibv_device **foreign = VERBS_PASS_POINTER(ibv_get_device_list, &n_foreign);

	/* Where the kernel has no devices the real library fails; there still are ours. */
	if (!foreign)
		n_foreign = 0;
	if (n_infos < 0)
		n_infos = 0;
	struct device_list *list = list_new(infos, (size_t)n_infos, foreign, (size_t)n_foreign);

	free(infos);
	if (!list) {
		if (foreign)
			verbs_foreign()->ibv_free_device_list(foreign);
		return verbs_null(ENOMEM);
	}
	if (num_devices)
		*num_devices = (int)list->n_ours + n_foreign;
	errno = 0;
	return list->at;
}

static struct device_list *take_list(struct ibv_device **at)
{
	struct device_list **link = &lists, *list;

	while (*link && (*link)->at != at)
		link = &(*link)->next;
	list = *link;
	if (list) {
		*link = list->next;
		for (size_t i = 0; i < list->n_ours; i++)
			device_put(verbs_device_of(list->at[i]));
	}
	return list;
}

void ibv_free_device_list(struct ibv_device **at)
{
	lock_list();
	struct device_list *list = take_list(at);

	unlock_list();
	/* A list that is not ours came from the real library behind our back. */
	struct ibv_device **foreign = list ? list->foreign : at;

	if (foreign && verbs_foreign()->ibv_free_device_list)
		verbs_foreign()->ibv_free_device_list(foreign);
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	if (!verbs_is_our_device(device))
		return VERBS_PASS_POINTER(ibv_get_device_name, device);
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	if (!verbs_is_our_device(device))
		return VERBS_PASS(ibv_get_device_guid, 0, device);
	lock_list();
	__be64 guid = verbs_device_of(device)->info.guid;

	unlock_list();
	return guid;
}

/* The kernel numbers its own devices only. */
int ibv_get_device_index(struct ibv_device *device)
{
	if (!verbs_is_our_device(device))
		return VERBS_PASS(ibv_get_device_index, -1, device);
	return -1;
}
