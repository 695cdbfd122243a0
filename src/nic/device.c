#include "nic/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/osrandom.h"
#include "nic/trace_file.h"

#define STEM_BYTES ((size_t)1 << (NIC_STEM_BITS - 3))

/* All devices of this process; those of a parent are kept aside in its child, where handles to
 * them may still be about. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct device *devices, *inherited;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	pthread_mutex_lock(&list_lock);
	for (struct device *d = devices; d; d = d->next) {
		device_enter(d);
		pthread_mutex_lock(&d->bell_lock);
	}
}

/* Nothing was done that a thread of it would have to know of. */
static void unlock(struct device *d)
{
	pthread_mutex_unlock(&d->bell_lock);
	for (uint32_t i = NIC_SHARDS; i > 0; i--)
		pthread_mutex_unlock(&device_shard(d, i - 1)->lock);
}

static void after_fork_parent(void)
{
	for (struct device *d = devices; d; d = d->next)
		unlock(d);
	pthread_mutex_unlock(&list_lock);
}

/* The child's copies of the sockets would keep the address and the tag taken after the parent's
 * death, and swallow its packets. Everything else is only memory: handles to it may be about. */
static void after_fork_child(void)
{
	while (devices) {
		struct device *d = devices;

		devices = d->next;
		d->next = inherited;
		inherited = d;
		d->is_dead = true;
		unlock(d);
		for (struct bell *b = d->bells; b; b = b->next)
			close(b->fd);
		if (d->netlink_fd >= 0)
			close(d->netlink_fd);
		device_drop_events(d);
		for (uint32_t i = 0; i < NIC_SHARDS; i++)
			shard_abandon(device_shard(d, i));
		if (d->ops->abandon)
			d->ops->abandon(d);
	}
	pthread_mutex_unlock(&list_lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* Also of a device that was made only in part: what is missing is NULL or -1. */
static void device_free(struct device *d)
{
	if (d->ops->end)
		d->ops->end(d);
	for (uint32_t i = 0; i < NIC_SHARDS; i++)
		shard_fini(device_shard(d, i));
	keystream_fini(&d->random);
	if (d->netlink_fd >= 0)
		close(d->netlink_fd);
	pages_unmap(d->mem, d->mem_bytes);
	pages_unmap(d->stems, STEM_BYTES);
	pthread_cond_destroy(&d->acked);
	pthread_mutex_destroy(&d->bell_lock);
	free(d->shards);
	free(d);
}

static int draw_seed(struct keystream *k)
{
	uint8_t key[CHACHA20_KEY_BYTES];
	int r = osrandom_key(key, sizeof key);

	if (r)
		return nic_fail(-r, "no random numbers from the system: %s", strerror(-r));
	keystream_init(k, key);
	explicit_bzero(key, sizeof key);
	return 0;
}

static int open_shards(struct device *d)
{
	int r = 0;

	for (uint32_t i = 0; i < NIC_SHARDS && !r; i++)
		r = shard_open(device_shard(d, i));
	if (r)
		return r;
	d->n_ports = d->info.setup.driver == CONFIG_UDP ? 1 : d->info.setup.n_ports;
	d->ports_up = (UINT32_C(1) << d->n_ports) - 1;
	d->ports_linked = device_linked_ports(d);
	for (uint32_t i = 0; i < NIC_SHARDS; i++)
		device_shard(d, i)->free_ports = d->ports_up;
	return 0;
}

static int make_shards(struct device *d)
{
	int r = 0;

	d->mem_bytes = mem_bytes(NIC_MAX_MRS);
	void *table = pages_map(d->mem_bytes);

	if (!table)
		return nic_fail(ENOMEM, "no memory for %u regions", NIC_MAX_MRS);
	d->mem = mem_init(table, NIC_MAX_MRS);
	d->stems = pages_map(STEM_BYTES);
	if (!d->stems)
		return nic_fail(ENOMEM, "no memory for the keys of %s", d->info.name);
	if (d->ops->make)
		r = d->ops->make(d);
	for (uint32_t i = 0; i < NIC_SHARDS && !r; i++)
		r = shard_make(device_shard(d, i));
	return r;
}

const struct nic_transport_ops *nic_ops_of(const struct transport *t)
{
	static const struct nic_transport_ops *const own[] = {&nic_transport_rc,
							      &nic_transport_mrc};

	for (uint32_t i = 0; i < sizeof own / sizeof own[0]; i++)
		if (own[i]->transport == t)
			return own[i];
	return &nic_transport_plain;
}

/* As much as needs nothing of the system's but memory; NULL and errno. */
static struct device *device_init(const struct nic_info *info)
{
	struct device *d = calloc(1, sizeof *d);
	struct shard *shards = calloc(NIC_SHARDS, sizeof *shards);

	if (!d || !shards) {
		free(d);
		free(shards);
		return nic_fail_null(ENOMEM, "no memory for %s", info->name);
	}
	d->info = *info;
	d->asked_driver = info->setup.driver;
	d->transport = info->setup.transport;
	d->ops = nic_ops_of(d->transport);
	d->netlink_fd = -1;
	pthread_mutex_init(&d->bell_lock, NULL);
	pthread_cond_init(&d->acked, NULL);
	d->shards = shards;
	for (uint32_t i = 0; i < NIC_SHARDS; i++)
		shard_init(device_shard(d, i), d);
	return d;
}

static struct device *device_new(const struct nic_info *info)
{
	struct device *d = device_init(info);

	if (!d)
		return NULL;
	int r = draw_seed(&d->random);

	d->netlink_fd = watch_open();
	if (!r)
		r = open_shards(d);
	if (!r)
		r = make_shards(d);
	device_note_links(d);
	/* None is disabled yet: which are up is as the driver found them. */
	if (!r)
		device_disable_ports(d, 0);
	if (!r && d->ops->govern)
		d->ops->govern(d);
	if (!r)
		r = device_start(d);
	if (!r) {
		trace_file_join(d);
		return d;
	}
	device_free(d);
	errno = -r;
	return NULL;
}

/* By its interfaces: names of devices change places when interfaces come and go. */
static bool is_of(const struct device *d, const struct nic_info *info)
{
	const struct config_setup *has = &d->info.setup, *wants = &info->setup;

	if (d->info.ifindex != info->ifindex || has->transport != wants->transport ||
	    has->n_ports != wants->n_ports ||
	    (d->asked_driver != wants->driver && has->driver != wants->driver))
		return false;
	for (uint32_t i = 0; i < wants->n_ports; i++)
		if (strcmp(has->interfaces[i], wants->interfaces[i]) != 0)
			return false;
	return true;
}

/* The device of these interfaces, transport and driver, opened once more. */
static struct device *device_get(const struct nic_info *info)
{
	struct device *d = devices;

	while (d && !is_of(d, info))
		d = d->next;
	if (!d) {
		d = device_new(info);
		if (!d)
			return NULL;
		d->next = devices;
		devices = d;
	}
	d->n_opens++;
	return d;
}

static void device_put(struct device *d)
{
	struct device **at = &devices;

	if (--d->n_opens)
		return;
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	device_stop(d);
	trace_file_leave(d);
	device_print_counters(d);
	device_free(d);
}

struct nic_user *nic_open(const struct nic_info *info)
{
	struct nic_user *u = calloc(1, sizeof *u);

	if (!u)
		return nic_fail_null(ENOMEM, "no memory to open %s", info->name);
	pthread_once(&fork_once, watch_forks);
	pthread_mutex_lock(&list_lock);
	struct device *d = device_get(info);
	bool is_open = false;

	if (d) {
		device_enter(d);
		is_open = !bell_open(d, &u->bell);
		if (is_open) {
			u->device = d;
			u->next = d->users;
			d->users = u;
		}
		device_leave(d);
		if (!is_open)
			device_put(d);
	}
	pthread_mutex_unlock(&list_lock);
	if (is_open)
		return u;
	free(u);
	return NULL;
}

int nic_close(struct nic_user *u)
{
	struct device *d = u->device;
	int r = device_check(d);

	if (r)
		return r;
	pthread_mutex_lock(&list_lock);
	device_enter(d);
	bool is_busy = u->n_objects > 0;

	if (!is_busy) {
		struct nic_user **at = &d->users;

		while (*at != u)
			at = &(*at)->next;
		*at = u->next;
		bell_close(d, &u->bell);
	}
	device_leave(d);
	if (!is_busy)
		device_put(d);
	pthread_mutex_unlock(&list_lock);
	if (is_busy)
		return nic_fail(EBUSY, "%s has objects that were not freed", d->info.name);
	free(u);
	return 0;
}

int nic_query(struct nic_user *u, struct nic_info *info)
{
	int r = device_check(u->device);

	if (r)
		return r;
	device_enter(u->device);
	*info = u->device->info;
	device_leave(u->device);
	return 0;
}
