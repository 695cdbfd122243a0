/* What a driver of frames does beside bare frames of the same size and count through the same
 * interface: frames in a second with a core for each end; and in a second of one core, on which
 * everything happens, both ends and the kernel between them, which is what it costs.
 *
 * bench-io [--quick] [--json]. Two network namespaces of this process, joined by a veth pair with
 * MTU 9000; a sends a burst, b receives it. Needs the right to make namespaces (root). The two
 * kinds take turns, in slices of time, and each turn gives a ratio, of which the median is shown.
 * Times are reported, never judged. */
#include "veth.h"

#include "io_apart.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "io/raw.h"
#include "io/xdp.h"

#define MTU     9000u
#define PAYLOAD 4096u
#define HEAD    28u                                    /* BTH and RETH */
#define BYTES   (14u + 40u + 8u + HEAD + PAYLOAD + 4u) /* over IPv6 */
#define TURNS   15u
#define QUICK   3u
#define SLICE_S 0.05
#define LOST_S  0.01 /* a frame that did not come by then will not */
#define WARM_S  2.0

/* A driver on an interface of the namespace that this thread is in. */
static int new_raw(struct driver **d, const char *interface, char *error, size_t error_len)
{
	struct raw_cfg cfg = {.frames = {.n_ports = 1, .carrier = &carrier_roce}};

	snprintf(cfg.frames.interfaces[0], IF_NAMESIZE, "%s", interface);
	return raw_new(d, &cfg, error, error_len);
}

#ifdef BENCH_XDP
static int new_xdp(struct driver **d, const char *interface, char *error, size_t error_len)
{
	struct xdp_cfg cfg = {.frames = {.n_ports = 1, .carrier = &carrier_roce}};

	snprintf(cfg.frames.interfaces[0], IF_NAMESIZE, "%s", interface);
	return xdp_new(d, &cfg, error, error_len);
}
#endif

static const struct kind {
	const char *name;
	const struct io_bare *bare;
	int (*open)(struct driver **d, const char *interface, char *error, size_t error_len);
} kinds[] = {
	{"raw", &io_bare_raw, new_raw},
#ifdef BENCH_XDP
	{"xdp", &io_bare_xdp, new_xdp},
#endif
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* Two ends, of bare frames or of a driver. */
struct pair {
	const struct io_bare *bare; /* NULL: drivers */
	void *ends[2];
	struct driver *drivers[2];
};

static uint8_t payload[PAYLOAD];
static uint8_t heads[IO_BURST][ENGINE_HEAD_MAX];
static struct tx_pkt packets[IO_BURST];

static double time_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void must(bool is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "bench-io: %s\n", what);
	exit(1);
}

static struct sockaddr_in6 address_of(unsigned side)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6};

	must(inet_pton(AF_INET6, side ? "fd09:0::2" : "fd09:0::1", &a.sin6_addr) == 1, "address");
	return a;
}

/* Made once, as an engine would have them: what they cost is no driver's. */
static void make_packets(uint32_t local, uint32_t peer)
{
	for (uint32_t i = 0; i < IO_BURST; i++) {
		memset(heads[i], 0, HEAD);
		heads[i][7] = 3;
		packets[i] = (struct tx_pkt){
			.head = heads[i],
			.head_len = HEAD,
			.peer = peer,
			.local = local,
			.n_body = 1,
			.body = {{payload, PAYLOAD}},
		};
	}
}

static bool open_driver(struct pair *p, const struct kind *kind, unsigned side)
{
	const struct sockaddr_in6 ours = address_of(side), theirs = address_of(!side);
	char error[512] = "";
	uint32_t local, peer;

	if (kind->open(&p->drivers[side], "w0", error, sizeof error) ||
	    driver_bind(p->drivers[side], (const struct sockaddr *)&ours, &local, error,
			sizeof error)) {
		fprintf(stderr, "bench-io: %s: %s\n", kind->name, error);
		return false;
	}
	peer = driver_peer_get(p->drivers[side], (const struct sockaddr *)&theirs);
	if (side == 0)
		make_packets(local, peer);
	return true;
}

static bool open_bare(struct pair *p, unsigned side)
{
	struct io_end end = {
		.interface = "w0",
		.mac = {2, 9, 0, 0, 0, (uint8_t)(side + 1)},
		.peer = {2, 9, 0, 0, 0, (uint8_t)(2 - side)},
		.bytes = BYTES,
	};

	p->ends[side] = p->bare->open(&end);
	return p->ends[side];
}

static uint32_t send_packets(const struct pair *p, uint32_t n)
{
	static uint32_t number;

	for (uint32_t i = 0; i < n; i++) {
		heads[i][5] = driver_tag(p->drivers[1]);
		put_be32(heads[i] + 8, number);
		packets[i].ev = number++;
	}
	return driver_send(p->drivers[0], packets, n);
}

static uint32_t receive_packets(const struct pair *p, unsigned side)
{
	struct rx_pkt pkts[DRIVER_BATCH];
	nsec now = (nsec)(time_of(CLOCK_MONOTONIC) * 1e9);

	return driver_receive(p->drivers[side], now, pkts, DRIVER_BATCH);
}

static uint32_t pair_send(void *of, uint32_t n)
{
	const struct pair *p = of;

	return p->bare ? p->bare->send(p->ends[0], n) : send_packets(p, n);
}

static void pair_tend(void *of)
{
	const struct pair *p = of;

	if (!p->bare)
		receive_packets(p, 0);
}

static uint32_t pair_receive(void *of)
{
	const struct pair *p = of;

	return p->bare ? p->bare->receive(p->ends[1]) : receive_packets(p, 1);
}

/* One burst there; how many arrived. */
static uint32_t cross(struct pair *p)
{
	uint32_t sent = pair_send(p, IO_BURST), got = 0;
	double end = 0;

	while (got < sent) {
		pair_tend(p);
		uint32_t n = pair_receive(p);

		got += n;
		if (n)
			continue;
		if (end == 0)
			end = time_of(CLOCK_MONOTONIC) + LOST_S;
		else if (time_of(CLOCK_MONOTONIC) > end)
			break;
	}
	return got;
}

/* Frames in a second of our own time. */
static double slice_together(struct pair *p)
{
	double begin = time_of(CLOCK_PROCESS_CPUTIME_ID), now = begin;
	uint64_t frames = 0;

	while (now < begin + SLICE_S) {
		frames += cross(p);
		now = time_of(CLOCK_PROCESS_CPUTIME_ID);
	}
	return (double)frames / (now - begin);
}

/* Frames in a second of the clock. */
static double slice_apart(struct pair *p)
{
	const struct io_flow flow = {p, pair_send, pair_tend, pair_receive};

	return io_apart(&flow, SLICE_S);
}

/* Until frames arrive: the neighbour has to be found first. */
static bool warm_up(struct pair *p)
{
	double end = time_of(CLOCK_MONOTONIC) + WARM_S;

	while (time_of(CLOCK_MONOTONIC) < end)
		if (cross(p) == IO_BURST)
			return true;
	return false;
}

static void close_pair(struct pair *p)
{
	for (unsigned side = 0; side < 2; side++) {
		if (p->ends[side])
			p->bare->close(p->ends[side]);
		driver_free(p->drivers[side]);
	}
}

static bool open_pair(struct pair *p, const struct veth *v, const struct kind *kind)
{
	for (unsigned side = 0; side < 2; side++) {
		must(veth_enter(v, side), "cannot enter the namespace");
		if (p->bare ? !open_bare(p, side) : !open_driver(p, kind, side))
			return false;
	}
	if (warm_up(p))
		return true;
	fprintf(stderr, "bench-io: %s: no frame arrived\n", kind->name);
	return false;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, uint32_t n)
{
	qsort(values, n, sizeof *values, by_size);
	return values[n / 2];
}

struct result {
	double bare, driver, ratio;
};

static const struct setting {
	const char *name, *title;
	double (*slice)(struct pair *p);
} settings[] = {
	{"apart", "in a second, with a core for each end", slice_apart},
	{"together", "in a second of one core, both ends", slice_together},
};
#define SETTINGS (sizeof settings / sizeof settings[0])

/* One after the other in each turn, since a device may not take both at a time. */
static bool measure(const struct veth *v, const struct setting *setting, const struct kind *kind,
		    uint32_t turns, struct result *result)
{
	double bare[TURNS] = {0}, driver[TURNS] = {0}, ratio[TURNS] = {0};

	for (uint32_t i = 0; i < turns; i++) {
		double *to[] = {bare, driver};

		for (unsigned j = 0; j < 2; j++) {
			struct pair p = {.bare = j ? NULL : kind->bare};
			bool is_open = open_pair(&p, v, kind);

			to[j][i] = is_open ? setting->slice(&p) : 0;
			close_pair(&p);
			if (!is_open)
				return false;
		}
		ratio[i] = driver[i] / bare[i];
	}
	*result = (struct result){median(bare, turns), median(driver, turns), median(ratio, turns)};
	return true;
}

static void show(const struct setting *setting, const struct kind *kind, const struct result *r,
		 bool is_json)
{
	static bool has_before;

	if (is_json)
		printf("%s  {\"driver\": \"%s\", \"ends\": \"%s\", \"frame_bytes\": %u, "
		       "\"bare_per_s\": %.0f, \"driver_per_s\": %.0f, \"ratio\": %.3f}",
		       has_before ? ",\n" : "", kind->name, setting->name, BYTES, r->bare,
		       r->driver, r->ratio);
	else
		printf("%-8s %12.0f %12.0f %8.2f\n", kind->name, r->bare, r->driver, r->ratio);
	has_before = true;
}

/* How many kinds were measured. */
static uint32_t measure_kinds(const struct veth *v, const struct setting *setting, uint32_t turns,
			      bool is_json)
{
	uint32_t shown = 0;

	if (!is_json)
		printf("%u-byte frames %s\n%-8s %12s %12s %8s\n", BYTES, setting->title, "driver",
		       "bare", "driver", "ratio");
	for (uint32_t i = 0; i < KINDS; i++) {
		struct result r;

		if (!measure(v, setting, &kinds[i], turns, &r))
			continue;
		show(setting, &kinds[i], &r, is_json);
		shown++;
	}
	return shown;
}

int main(int argc, char **argv)
{
	uint32_t turns = TURNS, shown = 0, first = io_can_be_apart() ? 0 : 1;
	bool is_json = false;
	struct veth v;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0)
			turns = QUICK;
		else if (strcmp(argv[i], "--json") == 0)
			is_json = true;
		else
			must(false, "usage: bench-io [--quick] [--json]");
	}
	if (!veth_open(&v) || !veth_add(&v, 0, MTU)) {
		fprintf(stderr, "bench-io: not permitted to make network namespaces, or no ip(8): "
				"nothing was measured\n");
		return 77;
	}
	if (is_json)
		printf("[\n");
	for (uint32_t i = first; i < SETTINGS; i++)
		shown += measure_kinds(&v, &settings[i], turns, is_json);
	if (is_json)
		printf("\n]\n");
	veth_close(&v);
	return shown == KINDS * (SETTINGS - first) ? 0 : 1;
}
