/* Writes of 1 byte to 64 MiB through libmrc, between two processes, every byte looked at.
 *
 * usage: mrc-sweep [OPTION]...          waits for the other
 *        mrc-sweep [OPTION]... HOST     writes to it
 *
 *   -d DEVICE    of ibv_get_device_list (the first that does MRC)
 *   -a ADDRESS   of this host, one of the device's GIDs (the first)
 *   -p PORT      of TCP, by which the two meet (18515)
 *   -q PAIRS     queue pairs, which take turns (1)
 *   -r MPR       in units of 128 packets (the default of the library)
 *   -s BYTES     the largest write (64 MiB)
 *   -n ROUNDS    through all sizes, of both alike (1)
 *   -e PROFILE   the EV profile of the queue pairs (what the device has)
 *   -i           every write has immediate data, not only the last of each size and queue pair
 *
 * It uses mrc.h, libibverbs and nothing else, and is compiled as any program would be. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <mrc.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_BYTES (UINT64_C(64) << 20)
#define MOST_PAIRS 4096u
#define CALL_S     10
#define DEPTH      128u                 /* writes that are under way, on all queue pairs */
#define SIGNAL     16u                  /* of so many on a queue pair one tells of its end */
#define ROUND      (UINT64_C(64) << 20) /* bytes of one size, about */
#define WRITES     256u                 /* at most, of one size */
#define LIMIT_S    60
#define WC_BATCH   32

struct options {
	const char *device, *address, *port, *host;
	uint32_t pairs;
	int mpr;
	uint64_t most;
	uint32_t rounds;
	uint64_t profile; /* 0: none */
	bool is_all_imm;
};

/* What the ends tell each other of themselves, and of each queue pair its number. */
struct meeting {
	uint64_t at;
	uint32_t key;
	uint8_t gid[16];
};

struct pair {
	struct mrc_qp *qp;
	uint32_t number, remote;
	uint32_t n_silent; /* writes since the last that tells of its end */
	uint32_t n_out;    /* writes under way */
};

struct sweep {
	struct options o;
	struct ibv_context *context;
	struct mrc_context *mrc;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct mrc_cq *cq;
	struct pair *pairs;
	uint8_t *bytes;
	int gid_index, link;
	struct meeting mine, theirs;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "mrc-sweep: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void check(bool is_good, const char *what)
{
	if (!is_good)
		die(what);
}

static time_t seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static struct ibv_context *open_device(const char *name)
{
	int n = 0, is_mrc = 0;
	struct ibv_device **list = ibv_get_device_list(&n);
	struct ibv_context *found = NULL;
	struct mrc_device_attr attr;

	check(list != NULL, "ibv_get_device_list");
	for (int i = 0; i < n && !found; i++) {
		if (name && strcmp(name, ibv_get_device_name(list[i])) != 0)
			continue;
		found = ibv_open_device(list[i]);
		check(found != NULL, "ibv_open_device");
		check(mrc_query_device(found, &attr, &is_mrc) == 0, "mrc_query_device");
		if (!is_mrc) {
			ibv_close_device(found);
			found = NULL;
		}
	}
	errno = ENODEV;
	check(found != NULL, "a device that does MRC");
	ibv_free_device_list(list);
	return found;
}

/* The place of an address in the device's table; without one, of the first there is. */
static int find_gid(struct ibv_context *context, const char *address, union ibv_gid *gid)
{
	uint8_t want[16] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t none[16];

	if (address && inet_pton(AF_INET, address, want + 12) != 1 &&
	    inet_pton(AF_INET6, address, want) != 1) {
		errno = EINVAL;
		die(address);
	}
	/* Those of RoCE version 2 stand at the odd numbers. */
	for (int i = 1; i < 128; i += 2) {
		if (ibv_query_gid(context, 1, i, gid) || !memcmp(gid->raw, none, 16))
			continue;
		if (!address || !memcmp(gid->raw, want, 16))
			return i;
	}
	errno = EADDRNOTAVAIL;
	die(address ? address : "an address");
}

static void make_pair(struct sweep *s, struct pair *p)
{
	struct mrc_qp_init_attr init = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.pd = s->pd,
		.cap = {.max_send_wr = DEPTH, .max_recv_wr = WRITES, .max_send_sge = 1},
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
	struct mrc_qp_attr mrc = {.profile = {.ev_profile_id = s->o.profile}};

	p->qp = mrc_create_qp(s->mrc, &init);
	check(p->qp != NULL, "mrc_create_qp");
	check(mrc_get_qpn(p->qp, &p->number) == 0, "mrc_get_qpn");
	check(mrc_modify_qp(p->qp, &attr, IBV_QP_STATE, &mrc,
			    s->o.profile ? MRC_QP_EV_PROFILE_ID : 0) == 0,
	      "INIT");
}

static void open_sweep(struct sweep *s)
{
	struct mrc_context_attr version = {MRC_API_VER_USED, MRC_VENDOR_API_VER_USED};
	uint64_t cqe = (uint64_t)s->o.pairs * WRITES;
	union ibv_gid gid;

	s->context = open_device(s->o.device);
	s->gid_index = find_gid(s->context, s->o.address, &gid);
	s->mrc = mrc_create_context(s->context, &version);
	check(s->mrc != NULL, "mrc_create_context");
	s->pd = ibv_alloc_pd(s->context);
	check(s->pd != NULL, "ibv_alloc_pd");
	s->bytes =
		mmap(NULL, s->o.most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(s->bytes != MAP_FAILED, "memory");
	s->mr = ibv_reg_mr(s->pd, s->bytes, s->o.most,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	check(s->mr != NULL, "ibv_reg_mr");
	s->cq = mrc_create_cq(s->mrc, (int)(cqe < 1 << 18 ? cqe : 1 << 18), NULL, NULL, 0);
	check(s->cq != NULL, "mrc_create_cq");
	s->pairs = calloc(s->o.pairs, sizeof *s->pairs);
	check(s->pairs != NULL, "memory");
	for (uint32_t i = 0; i < s->o.pairs; i++)
		make_pair(s, &s->pairs[i]);
	s->mine = (struct meeting){.at = (uintptr_t)s->bytes, .key = s->mr->rkey};
	memcpy(s->mine.gid, gid.raw, sizeof s->mine.gid);
}

static void close_sweep(struct sweep *s)
{
	for (uint32_t i = 0; i < s->o.pairs; i++)
		check(mrc_destroy_qp(s->pairs[i].qp) == 0, "mrc_destroy_qp");
	check(mrc_destroy_cq(s->cq) == 0, "mrc_destroy_cq");
	check(ibv_dereg_mr(s->mr) == 0, "ibv_dereg_mr");
	check(ibv_dealloc_pd(s->pd) == 0, "ibv_dealloc_pd");
	check(mrc_destroy_context(s->mrc) == 0, "mrc_destroy_context");
	check(ibv_close_device(s->context) == 0, "ibv_close_device");
	munmap(s->bytes, s->o.most);
	free(s->pairs);
	close(s->link);
}

static int listen_once(const char *port)
{
	int fd = socket(AF_INET6, SOCK_STREAM, 0), on = 1, off = 0;
	struct sockaddr_in6 any = {.sin6_family = AF_INET6,
				   .sin6_port = htons((uint16_t)strtoul(port, NULL, 10))};

	check(fd >= 0, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
	check(bind(fd, (struct sockaddr *)&any, sizeof any) == 0 && listen(fd, 1) == 0, port);
	fprintf(stderr, "waiting on port %s\n", port);
	int link = accept(fd, NULL, NULL);

	check(link >= 0, "accept");
	close(fd);
	return link;
}

/* The other may not be there yet: it is tried for a while. */
static int call(const char *host, const char *port)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	const struct timespec nap = {.tv_nsec = 50000000};
	time_t until = seconds() + CALL_S;
	struct addrinfo *to = NULL;

	errno = EADDRNOTAVAIL;
	check(getaddrinfo(host, port, &hints, &to) == 0, host);
	for (;;) {
		int fd = socket(to->ai_family, SOCK_STREAM, 0);

		check(fd >= 0, "socket");
		if (connect(fd, to->ai_addr, to->ai_addrlen) == 0) {
			freeaddrinfo(to);
			return fd;
		}
		check(errno == ECONNREFUSED && seconds() < until, host);
		close(fd);
		nanosleep(&nap, NULL);
	}
}

static void tell(const struct sweep *s, const void *what, size_t len)
{
	check(send(s->link, what, len, MSG_NOSIGNAL) == (ssize_t)len, "the other is gone");
}

static void receive(const struct sweep *s, void *what, size_t len)
{
	errno = ECONNRESET;
	check(recv(s->link, what, len, MSG_WAITALL) == (ssize_t)len, "the other is gone");
}

static void connect_pair(struct sweep *s, struct pair *p)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = p->remote,
		.rq_psn = p->remote & 0xffffff,
		.sq_psn = p->number & 0xffffff,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.sgid_index = (uint8_t)s->gid_index, .hop_limit = 64}},
	};
	struct mrc_qp_attr mrc = {.mpr = {(uint8_t)s->o.mpr, (uint8_t)s->o.mpr}};
	int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	memcpy(attr.ah_attr.grh.dgid.raw, s->theirs.gid, sizeof s->theirs.gid);
	check(mrc_modify_qp(p->qp, &attr, rtr, &mrc, s->o.mpr ? MRC_QP_MPR_DEST : 0) == 0, "RTR");
	attr.qp_state = IBV_QPS_RTS;
	check(mrc_modify_qp(p->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, &mrc,
			    s->o.mpr ? MRC_QP_MPR : 0) == 0,
	      "RTS");
}

static void meet(struct sweep *s)
{
	char ready = 0;

	tell(s, &s->mine, sizeof s->mine);
	receive(s, &s->theirs, sizeof s->theirs);
	for (uint32_t i = 0; i < s->o.pairs; i++) {
		tell(s, &s->pairs[i].number, sizeof s->pairs[i].number);
		receive(s, &s->pairs[i].remote, sizeof s->pairs[i].remote);
		connect_pair(s, &s->pairs[i]);
	}
	tell(s, &ready, 1);
	receive(s, &ready, 1);
}

/* Writes of one size, all queue pairs together. */
static uint32_t count_of(const struct sweep *s, uint64_t size)
{
	uint64_t n = ROUND / size;

	n = n > WRITES ? WRITES : n < 2 ? 2 : n;
	return n < s->o.pairs ? s->o.pairs : (uint32_t)n;
}

/* Where the i-th of them goes: one behind the other, and from the start again. */
static uint64_t place_of(const struct sweep *s, uint64_t size, uint32_t i)
{
	return i % (s->o.most / size) * size;
}

static uint64_t touched(const struct sweep *s, uint64_t size)
{
	uint64_t all = count_of(s, size) * size, most = s->o.most / size * size;

	return all < most ? all : most;
}

static uint8_t byte_at(uint64_t at, uint64_t size)
{
	return (uint8_t)(at * 31 + (at >> 8) * 7 + size * 13 + (size >> 9));
}

static bool is_last(const struct sweep *s, uint32_t count, uint32_t i)
{
	return i + s->o.pairs >= count;
}

static uint32_t find_pair(const struct sweep *s, uint32_t number)
{
	uint32_t i = 0;

	while (i < s->o.pairs && s->pairs[i].number != number)
		i++;
	errno = EPROTO;
	check(i < s->o.pairs, "a completion of no queue pair of ours");
	return i;
}

/* Takes completions; how many writes, or receives, they stand for. */
static uint32_t reap(struct sweep *s, enum ibv_wc_opcode opcode, uint64_t size)
{
	struct ibv_wc wc[WC_BATCH];
	int n = mrc_poll_cq(s->cq, WC_BATCH, wc);
	uint32_t done = 0;

	check(n >= 0, "mrc_poll_cq");
	for (int i = 0; i < n; i++) {
		struct pair *p = &s->pairs[find_pair(s, wc[i].qp_num)];

		errno = EPROTO;
		check(wc[i].status == IBV_WC_SUCCESS, ibv_wc_status_str(wc[i].status));
		check(wc[i].opcode == opcode, "a completion of another kind");
		if (opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
			check(wc[i].byte_len == size && wc[i].src_qp == p->remote &&
				      wc[i].wc_flags == IBV_WC_WITH_IMM &&
				      ntohl(wc[i].imm_data) == (uint32_t)size,
			      "what the immediate data came with");
			done++;
			continue;
		}
		/* Its cookie says how many ended with it. */
		p->n_out -= (uint32_t)wc[i].wr_id;
		done += (uint32_t)wc[i].wr_id;
	}
	return done;
}

static void post_write(struct sweep *s, struct pair *p, uint64_t size, uint32_t i)
{
	bool is_end = is_last(s, count_of(s, size), i);
	bool has_imm = s->o.is_all_imm || is_end;
	uint64_t place = place_of(s, size, i);
	struct ibv_sge piece = {(uintptr_t)s->bytes + place, (uint32_t)size, s->mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = has_imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		.imm_data = htonl((uint32_t)size),
		.wr.rdma = {.remote_addr = s->theirs.at + place, .rkey = s->theirs.key},
	};
	struct ibv_send_wr *bad = NULL;

	p->n_silent++;
	if (is_end || p->n_silent == SIGNAL) {
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.wr_id = p->n_silent;
		p->n_silent = 0;
	}
	check(mrc_post_send(p->qp, &wr, &bad) == 0, "mrc_post_send");
	p->n_out++;
}

static void send_size(struct sweep *s, uint64_t size)
{
	uint32_t count = count_of(s, size), posted = 0, done = 0;
	time_t until = seconds() + LIMIT_S;
	char answer = 0;

	for (uint64_t i = 0; i < touched(s, size); i++)
		s->bytes[i] = byte_at(i, size);
	receive(s, &answer, 1); /* receives are posted there */
	while (done < count) {
		/* One that is not told of ends with a later one: as many more fit the queue. */
		while (posted < count && s->pairs[posted % s->o.pairs].n_out < DEPTH &&
		       posted - done < DEPTH + s->o.pairs * SIGNAL) {
			post_write(s, &s->pairs[posted % s->o.pairs], size, posted);
			posted++;
		}
		done += reap(s, IBV_WC_RDMA_WRITE, size);
		errno = ETIMEDOUT;
		check(seconds() < until, "writes do not end");
	}
	receive(s, &answer, 1);
	errno = EBADMSG;
	check(answer == 'y', "what arrived there is not what was sent");
}

static uint32_t post_receives(struct sweep *s, uint64_t size)
{
	uint32_t count = count_of(s, size), n = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct ibv_recv_wr wr = {.wr_id = i}, *bad = NULL;

		if (!s->o.is_all_imm && !is_last(s, count, i))
			continue;
		check(mrc_post_recv(s->pairs[i % s->o.pairs].qp, &wr, &bad) == 0, "mrc_post_recv");
		n++;
	}
	return n;
}

static bool is_intact(const struct sweep *s, uint64_t size)
{
	for (uint64_t i = 0; i < touched(s, size); i++)
		if (s->bytes[i] != byte_at(i, size))
			return false;
	return true;
}

static void receive_size(struct sweep *s, uint64_t size)
{
	uint32_t waiting = post_receives(s, size);
	time_t until = seconds() + LIMIT_S;
	char answer = 'r';

	memset(s->bytes, 0, touched(s, size));
	tell(s, &answer, 1);
	while (waiting > 0) {
		waiting -= reap(s, IBV_WC_RECV_RDMA_WITH_IMM, size);
		errno = ETIMEDOUT;
		check(seconds() < until, "immediate data does not come");
	}
	answer = is_intact(s, size) ? 'y' : 'n';
	tell(s, &answer, 1);
	errno = EBADMSG;
	check(answer == 'y', "what arrived is not what was sent");
}

static struct options parse(int argc, char **argv)
{
	struct options o = {.port = "18515", .pairs = 1, .most = MOST_BYTES, .rounds = 1};
	int c;

	while ((c = getopt(argc, argv, "d:a:p:q:r:s:n:e:i")) != -1)
		switch (c) {
		case 'd': o.device = optarg; break;
		case 'a': o.address = optarg; break;
		case 'p': o.port = optarg; break;
		case 'q': o.pairs = (uint32_t)strtoul(optarg, NULL, 0); break;
		case 'r': o.mpr = (int)strtoul(optarg, NULL, 0); break;
		case 's': o.most = strtoull(optarg, NULL, 0); break;
		case 'n': o.rounds = (uint32_t)strtoul(optarg, NULL, 0); break;
		case 'e': o.profile = strtoull(optarg, NULL, 0); break;
		case 'i': o.is_all_imm = true; break;
		default: exit(2);
		}
	o.host = argv[optind];
	if (o.pairs < 1 || o.pairs > MOST_PAIRS || o.mpr > 255 || o.most < 1 ||
	    o.most > MOST_BYTES) {
		fprintf(stderr, "mrc-sweep: a number is out of range\n");
		exit(2);
	}
	return o;
}

int main(int argc, char **argv)
{
	static struct sweep s;

	s.o = parse(argc, argv);
	open_sweep(&s);
	s.link = s.o.host ? call(s.o.host, s.o.port) : listen_once(s.o.port);
	meet(&s);
	for (uint32_t i = 0; i < s.o.rounds; i++)
		for (uint64_t size = 1; size <= s.o.most; size *= 2) {
			if (s.o.host)
				send_size(&s, size);
			else
				receive_size(&s, size);
		}
	close_sweep(&s);
	if (s.o.host)
		printf("1 to %" PRIu64 " bytes: all that was sent arrived\n", s.o.most);
	return 0;
}
