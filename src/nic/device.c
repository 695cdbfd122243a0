#include "nic/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/pool.h"
#include "io/osrandom.h"
#include "nic/trace_file.h"

#define STEM_BYTES ((size_t)1 << (NIC_STEM_BITS - 3))
#define QPS_BYTES  (NIC_LOW_NUMBERS * sizeof(void *))
#define SRQS_BYTES (NIC_MAX_SRQS * sizeof(void *))

/* All devices of this process; those of a parent are kept aside in its child, where handles to
 * them may still be about. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct device *devices, *inherited;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Zero pages that cost nothing until they are touched; most never are. */
static void *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void unmap(void *at, size_t bytes)
{
	if (at)
		munmap(at, bytes);
}

static void before_fork(void)
{
	pthread_mutex_lock(&list_lock);
	for (struct device *d = devices; d; d = d->next) {
		device_enter(d);
		pthread_mutex_lock(&d->bell_lock);
	}
}

static void after_fork_parent(void)
{
	for (struct device *d = devices; d; d = d->next) {
		pthread_mutex_unlock(&d->bell_lock);
		pthread_mutex_unlock(&d->lock);
	}
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
		pthread_mutex_unlock(&d->bell_lock);
		pthread_mutex_unlock(&d->lock);
		for (struct bell *b = d->bells; b; b = b->next)
			close(b->fd);
		close(d->kick_fd);
		if (d->netlink_fd >= 0)
			close(d->netlink_fd);
		device_drop_events(d);
		driver_free(d->io);
		d->io = NULL;
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
	driver_free(d->io);
	if (d->ops->end)
		d->ops->end(d);
	backlog_fini(&d->backlog);
	keystream_fini(&d->random);
	if (d->kick_fd >= 0)
		close(d->kick_fd);
	if (d->netlink_fd >= 0)
		close(d->netlink_fd);
	if (d->engine)
		pool_give_back(d->engine, d->engine_bytes);
	unmap(d->engine, d->engine_bytes);
	unmap(d->mem, d->mem_bytes);
	unmap(d->stems, STEM_BYTES);
	unmap(d->qps, QPS_BYTES);
	unmap(d->srqs, SRQS_BYTES);
	pthread_cond_destroy(&d->acked);
	pthread_cond_destroy(&d->answered);
	pthread_mutex_destroy(&d->bell_lock);
	pthread_mutex_destroy(&d->lock);
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

static int configure(struct device *d, void *cfg)
{
	const struct config_setup *setup = &d->info.setup;
	const uint64_t upper = keystream_u32(&d->random), lower = keystream_u32(&d->random);
	struct transport_host host = {
		.mem = d->mem,
		.trace = {.to = &d->trace},
		.max_pairs = NIC_MAX_QPS,
		.max_srqs = NIC_MAX_SRQS,
		.n_ports = d->n_ports,
		.seed = upper << 32 | lower,
		.is_software = true,
		.has_bursts = setup->driver == CONFIG_UDP,
		/* Other processes may have the address too, and receive our answers. */
		.shares_address = true,
		.tag = driver_tag(d->io),
		.device = setup->device,
	};

	transport_fall_back(d->transport, &host.device);
	device_cc(setup, &host.cc);
	int r = d->ops->configure(d, &host);

	if (!r)
		d->transport->hosts->configure(&host, cfg);
	return r;
}

static int start_engine(struct device *d, const void *cfg)
{
	const struct engine_ops *ops = d->transport->engine;

	d->engine_bytes = ops->size(cfg);
	if (!d->engine_bytes)
		return nic_fail(EINVAL, "%s: the engine does not take this configuration",
				d->info.name);
	d->engine = map(d->engine_bytes);
	if (!d->engine)
		return nic_fail(ENOMEM,
				"%s: no room for %zu MiB of addresses, reserved for what may be "
				"under way: raise ulimit -v, or give the device a smaller "
				"pool-memory where it has one",
				d->info.name, d->engine_bytes >> 20);
	return ops->init(d->engine, cfg, d->clock);
}

static int make_engine(struct device *d)
{
	d->mem_bytes = mem_bytes(NIC_MAX_MRS);
	void *table = map(d->mem_bytes);

	if (!table)
		return nic_fail(ENOMEM, "no memory for %u regions", NIC_MAX_MRS);
	d->mem = mem_init(table, NIC_MAX_MRS);
	void *cfg = calloc(1, d->transport->hosts->cfg_bytes);
	int r = cfg ? configure(d, cfg) : -ENOMEM;

	if (!r)
		r = start_engine(d, cfg);
	free(cfg);
	return r;
}

static int make_tables(struct device *d)
{
	d->stems = map(STEM_BYTES);
	d->qps = map(QPS_BYTES);
	d->srqs = map(SRQS_BYTES);
	if (!d->stems || !d->qps || !d->srqs)
		return nic_fail(ENOMEM, "no memory for the tables of %s", d->info.name);
	for (uint32_t i = 0; i < DRIVER_BATCH; i++)
		d->tx[i].head = d->heads[i];
	return 0;
}

/* One that has no peer yet, or none any more, expects nobody. */
static bool expects(const void *context, const struct driver_call *call)
{
	const struct device *d = context;
	const struct nic_qp *qp = d->qps[call->qp % NIC_LOW_NUMBERS];

	if (!qp || qp->number != call->qp)
		return call->qp == d->transport->open_number &&
		       call->len <= d->transport->open_bytes;
	return call->peer == qp->addrs.peer && call->peer != DRIVER_NO_HANDLE;
}

static int make_io(struct device *d)
{
	char error[NIC_SENTENCE_MAX] = "";

	d->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->kick_fd < 0)
		return nic_fail(errno, "no file descriptor: %s", strerror(errno));
	d->netlink_fd = watch_open();
	if (!backlog_init(&d->backlog, d->info.setup.transport->carrier))
		return nic_fail(ENOMEM, "no memory for %s", d->info.name);
	int r = driver_open(&d->info, &d->io, error, sizeof error);

	if (r)
		return nic_fail(-r, "%s: %s", d->info.name, error);
	d->io->guard = (struct driver_guard){expects, d};
	d->n_ports = d->info.setup.driver == CONFIG_UDP ? 1 : d->info.setup.n_ports;
	d->ports_up = d->ports_linked = d->free_ports = (UINT32_C(1) << d->n_ports) - 1;
	if (d->info.setup.driver != CONFIG_UDP)
		d->ports_linked = driver_ports_up(d->io);
	gids_hold(d);
	return 0;
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

static struct device *device_new(const struct nic_info *info)
{
	struct device *d = calloc(1, sizeof *d);
	pthread_mutexattr_t attr;
	pthread_condattr_t by_clock;

	if (!d)
		return nic_fail_null(ENOMEM, "no memory for %s", info->name);
	d->info = *info;
	d->asked_driver = info->setup.driver;
	d->transport = info->setup.transport;
	d->ops = nic_ops_of(d->transport);
	d->clock = device_now();
	d->kick_fd = d->netlink_fd = -1;
	/* Held for less time than a sleep takes, mostly: spin before sleeping. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(&d->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_mutex_init(&d->bell_lock, NULL);
	pthread_cond_init(&d->acked, NULL);
	pthread_condattr_init(&by_clock);
	pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
	pthread_cond_init(&d->answered, &by_clock);
	pthread_condattr_destroy(&by_clock);
	int r = draw_seed(&d->random);

	if (!r)
		r = make_io(d);
	if (!r)
		r = make_engine(d);
	if (!r)
		r = make_tables(d);
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
