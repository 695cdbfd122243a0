/* Embeds an engine: two of RoCEv2 RC in one process, with a loop, a clock and a wire of our own,
 * and no driver. One writes into the other's memory, over a wire that loses the second packet.
 *
 * The loop is that of src/engine/engine.h: what arrived goes into input; pull until short, and
 * send; poll; then sleep until the deadline, or a packet. All that is RC's is its row of the
 * registry (src/transport/transport.h): another transport's would do. The engine's interface is the
 * house's own, so this links its rooms; `libweft` shows other programs include/weft/ alone.
 *
 * Exit status: 0 all bytes arrived. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/transport.h"

enum { BYTES = 10000, PMTU = 4096, KEY = 1, NUMBER = 5, WIRE = 64, BATCH = 8, TURNS = 1000 };
#define DELAY_NS UINT64_C(1000)

static const struct transport *const row = &transport_rc;

struct end {
	char name;
	struct engine *e;
	struct mem *mem;
	uint8_t memory[BYTES];
};

/* A packet on its way, copied: what an engine lends is valid until the next call on it. */
struct flight {
	struct end *to;
	nsec at;
	uint32_t len;
	struct rx_pkt rx;
	uint8_t bytes[ENGINE_HEAD_MAX + PMTU + CARRIER_PAD_MAX];
};

/* First in, first out: all take the same time. */
static struct flight wire[WIRE];
static uint32_t first, n_flights, n_sent;
static nsec now;

static void *get(size_t bytes)
{
	void *at = bytes ? calloc(1, bytes) : NULL;

	if (!at)
		exit(EXIT_FAILURE);
	return at;
}

static void check(const char *what, int error)
{
	if (!error)
		return;
	printf("%s: %s\n", what, strerror(-error));
	exit(EXIT_FAILURE);
}

/* Its memory is a region that the peer may write to; then comes the engine, of so many bytes. */
static void make_engine(struct end *s)
{
	struct mem_entry region = {.at = s->memory,
				   .iova = (uintptr_t)s->memory,
				   .len = BYTES,
				   .key = KEY,
				   .qp = MEM_ANY_QP,
				   .access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE};
	struct transport_host host = {.max_pairs = 1, .n_ports = 1};
	void *cfg = get(row->hosts->cfg_bytes);

	host.cc = (struct cc_cfg){.kind = CC_FIXED, .window_bytes = 65536};
	host.mem = s->mem = mem_init(get(mem_bytes(1)), 1);
	check("region", mem_add(s->mem, &region));
	row->hosts->configure(&host, cfg);
	s->e = get(row->engine->size(cfg));
	s->e->ops = row->engine;
	check("engine", row->engine->init(s->e, cfg, now));
	free(cfg);
}

/* What both ends tell each other, by whatever means they have: here they are alike. */
static void connect_pair(struct end *s)
{
	struct transport_caps caps = {.max_send = 4, .srq = TRANSPORT_NO_SRQ};
	void *memory = get(row->pairs->grant(&caps));
	const struct transport_self self = {.number = NUMBER, .psn = 100, .caps = &caps};
	struct transport_link link = {.pmtu = PMTU, .access = MEM_REMOTE_WRITE};

	row->pairs->tell(&self, &link.mine);
	link.theirs = link.mine;
	check("queue pair", row->pairs->make(s->e, NUMBER, &caps, memory));
	check("connection", row->pairs->connect(s->e, now, NUMBER, &link));
}

/* The second packet of all is lost. */
static void send_packet(const struct end *from, struct end *to, const struct tx_pkt *tx)
{
	struct flight *f = &wire[(first + n_flights) % WIRE];
	bool is_lost = ++n_sent == 2;

	*f = (struct flight){.to = to, .at = now + DELAY_NS, .len = tx->head_len};
	f->rx = (struct rx_pkt){.peer = tx->peer, .local = tx->local, .ev = tx->ev};
	memcpy(f->bytes, tx->head, tx->head_len);
	for (uint32_t i = 0; i < tx->n_body; f->len += tx->body[i++].len)
		memcpy(f->bytes + f->len, tx->body[i].at, tx->body[i].len);
	printf("%7llu ns  %c > %c  %4u bytes%s\n", (unsigned long long)now, from->name, to->name,
	       f->len, is_lost ? ", lost" : "");
	if (is_lost || n_flights == WIRE)
		return;
	n_flights++;
}

static void pull_packets(struct end *s, struct end *peer)
{
	static const struct engine_room room = {.pkts = {BATCH}, .may = UINT32_MAX};
	uint8_t heads[BATCH][ENGINE_HEAD_MAX];
	struct tx_pkt tx[BATCH];
	uint32_t n;

	for (uint32_t i = 0; i < BATCH; i++)
		tx[i].head = heads[i];
	do {
		n = row->engine->pull(s->e, now, &room, tx, BATCH);
		for (uint32_t i = 0; i < n; i++)
			send_packet(s, peer, &tx[i]);
	} while (n == BATCH);
}

static void receive(void)
{
	struct flight *f = &wire[first];

	first = (first + 1) % WIRE;
	n_flights--;
	f->rx.at = now;
	f->rx.head = (struct cspan){f->bytes, f->len};
	row->engine->input(f->to->e, now, &f->rx, 1);
}

/* The next moment at which something happens. */
static nsec next_moment(const struct end ends[2])
{
	nsec next = n_flights ? wire[first].at : NSEC_NEVER;

	for (uint32_t i = 0; i < 2; i++) {
		nsec at = row->engine->deadline(ends[i].e, engine_may_all(1));

		next = at < next ? at : next;
	}
	return next > now ? next : now;
}

/* Until the work is done; false: it never was. */
static bool run(struct end ends[2], struct done *done)
{
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		pull_packets(&ends[0], &ends[1]);
		pull_packets(&ends[1], &ends[0]);
		if (row->engine->poll(ends[0].e, done, 1))
			return true;
		now = next_moment(ends);
		if (now == NSEC_NEVER)
			return false;
		while (n_flights && wire[first].at <= now)
			receive();
	}
	return false;
}

int main(void)
{
	static struct end ends[2] = {{.name = 'a'}, {.name = 'b'}};
	struct sge piece = {ends[0].memory, BYTES, KEY};
	struct op write = {.code = ENGINE_WRITE,
			   .qp = NUMBER,
			   .remote = (uintptr_t)ends[1].memory,
			   .key = KEY,
			   .sg = &piece,
			   .n_sg = 1};
	struct done done = {.status = ENGINE_FATAL};

	for (uint32_t i = 0; i < BYTES; i++)
		ends[0].memory[i] = (uint8_t)(i * 7);
	for (uint32_t i = 0; i < 2; i++) {
		make_engine(&ends[i]);
		connect_pair(&ends[i]);
	}
	check("work", row->engine->post(ends[0].e, now, &write));
	bool is_done = run(ends, &done) && done.status == ENGINE_OK &&
		       memcmp(ends[0].memory, ends[1].memory, BYTES) == 0;

	printf("%s: %llu packets sent again\n", is_done ? "all bytes arrived" : "it failed",
	       (unsigned long long)row->engine->count(ends[0].e)[row->count_retx]);
	for (uint32_t i = 0; i < 2; i++) {
		free(row->pairs->end(ends[i].e, NUMBER));
		free(ends[i].e);
		free(ends[i].mem);
	}
	return is_done ? EXIT_SUCCESS : EXIT_FAILURE;
}
