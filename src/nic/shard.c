/* A shard's making and its end: driver, engine and tables. */
#include "nic/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/pool.h"

#define QPS_BYTES  (NIC_LOW_NUMBERS * sizeof(void *))
#define SRQS_BYTES (NIC_MAX_SRQS * sizeof(void *))

void *pages_map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void pages_unmap(void *at, size_t bytes)
{
	if (at)
		munmap(at, bytes);
}

static void make_locks(struct shard *s)
{
	pthread_condattr_t by_clock;

	short_lock_init(&s->lock);
	pthread_condattr_init(&by_clock);
	pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
	pthread_cond_init(&s->answered, &by_clock);
	pthread_condattr_destroy(&by_clock);
}

void shard_init(struct shard *s, struct device *d)
{
	s->device = d;
	s->clock = device_now();
	s->kick_fd = -1;
	for (uint32_t i = 0; i < DRIVER_BATCH; i++)
		s->tx[i].head = s->heads[i];
	make_locks(s);
}

/* One that has no peer yet, or none any more, expects nobody. */
static bool expects(const void *context, const struct driver_call *call)
{
	const struct shard *s = context;
	const struct transport *t = s->device->transport;
	const struct nic_qp *qp = shard_qp(s, call->qp);

	if (!qp || qp->number != call->qp)
		return call->qp == t->open_number && call->len <= t->open_bytes;
	return call->peer == qp->addrs.peer && call->peer != DRIVER_NO_HANDLE;
}

int shard_open(struct shard *s)
{
	struct nic_info *info = &s->device->info;
	char error[NIC_SENTENCE_MAX] = "";

	s->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->kick_fd < 0)
		return nic_fail(errno, "no file descriptor: %s", strerror(errno));
	if (!backlog_init(&s->backlog, info->setup.transport->carrier))
		return nic_fail(ENOMEM, "no memory for %s", info->name);
	WITH_ONE_SHARD("its driver gets the packets of all queue pairs");
	int r = driver_open(info, &s->io, error, sizeof error);

	if (r)
		return nic_fail(-r, "%s: %s", info->name, error);
	s->io->guard = (struct driver_guard){expects, s};
	gids_hold(s);
	return 0;
}

static void configure(struct shard *s, void *cfg)
{
	WITH_ONE_SHARD("engines bind and invalidate in the table of memory, under their own locks");
	struct device *d = s->device;
	const struct config_setup *setup = &d->info.setup;
	const uint64_t upper = keystream_u32(&d->random), lower = keystream_u32(&d->random);
	struct transport_host host = {
		.mem = d->mem,
		.trace = {.to = &s->trace},
		.max_pairs = NIC_MAX_QPS,
		.max_srqs = NIC_MAX_SRQS,
		.n_ports = d->n_ports,
		.seed = upper << 32 | lower,
		.is_software = true,
		.has_bursts = setup->driver == CONFIG_UDP,
		/* Other processes may have the address too, and receive our answers. */
		.shares_address = true,
		.tag = driver_tag(s->io),
		.device = setup->device,
	};

	transport_fall_back(d->transport, &host.device);
	device_cc(setup, &host.cc);
	d->ops->configure(s, &host);
	d->transport->hosts->configure(&host, cfg);
}

static int start_engine(struct shard *s, const void *cfg)
{
	const struct device *d = s->device;
	const struct engine_ops *ops = d->transport->engine;

	s->engine_bytes = ops->size(cfg);
	if (!s->engine_bytes)
		return nic_fail(EINVAL, "%s: the engine does not take this configuration",
				d->info.name);
	s->engine = pages_map(s->engine_bytes);
	if (!s->engine)
		return nic_fail(ENOMEM,
				"%s: no room for %zu MiB of addresses, reserved for what may be "
				"under way: raise ulimit -v, or give the device a smaller "
				"pool-memory where it has one",
				d->info.name, s->engine_bytes >> 20);
	return ops->init(s->engine, cfg, s->clock);
}

int shard_make(struct shard *s)
{
	void *cfg = calloc(1, s->device->transport->hosts->cfg_bytes);
	if (!cfg)
		return nic_fail(ENOMEM, "no memory for %s", s->device->info.name);
	configure(s, cfg);
	int r = start_engine(s, cfg);

	free(cfg);
	if (r)
		return r;
	s->qps = pages_map(QPS_BYTES);
	s->srqs = pages_map(SRQS_BYTES);
	return s->qps && s->srqs
		       ? 0
		       : nic_fail(ENOMEM, "no memory for the tables of %s", s->device->info.name);
}

void shard_fini(struct shard *s)
{
	driver_free(s->io);
	backlog_fini(&s->backlog);
	if (s->kick_fd >= 0)
		close(s->kick_fd);
	if (s->engine)
		pool_give_back(s->engine, s->engine_bytes);
	pages_unmap(s->engine, s->engine_bytes);
	pages_unmap(s->qps, QPS_BYTES);
	pages_unmap(s->srqs, SRQS_BYTES);
	pthread_cond_destroy(&s->answered);
	pthread_mutex_destroy(&s->lock);
}

void shard_abandon(struct shard *s)
{
	close(s->kick_fd);
	driver_free(s->io);
	s->io = NULL;
}
