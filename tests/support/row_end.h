/* One end of connections of any transport, made through its row alone: an engine, its memory, three
 * areas that work and packets name by addresses that are not the process', and queue pairs. The
 * reference transport, which has no row, is made beside. Every block has guards at both ends, and
 * is filled before it is given away: nothing may be taken for cleared. */
#ifndef WEFT_TESTS_SUPPORT_ROW_END_H
#define WEFT_TESTS_SUPPORT_ROW_END_H

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "ref/ref.h"
#include "transport/transport.h"

#define ROW_PAIRS  8u
#define ROW_PORTS  2u
#define ROW_EVS    8u
#define ROW_AREA   65536u
#define ROW_GUARD  64u
#define ROW_CANARY 0x5a
#define ROW_PMTU   256u
#define ROW_SENDS  8u /* works of a queue pair */
#define ROW_RECVS  8u
#define ROW_FIRST  0x10u /* the first queue pair's number, of a row */
#define ROW_PEER   77u
#define ROW_LOCAL  5u
#define ROW_PD     0u

/* SOURCE is read by our own work; TARGET is open to the peer; what we ask for arrives in INBOX. */
enum row_area { ROW_SOURCE, ROW_TARGET, ROW_INBOX, ROW_AREAS };

struct row_end {
	const struct transport *row; /* NULL: the reference transport */
	const struct engine_ops *ops;
	struct engine *e;
	uint32_t n_ports, n_pairs;
	uint8_t *block, *pair[ROW_PAIRS], *area[ROW_AREAS]; /* behind their front guards */
	size_t block_bytes, pair_bytes[ROW_PAIRS];
	void *table, *profile_memory;
	struct mem *mem;
	struct path_profile profile;
	uint32_t evs[ROW_EVS];
	struct trace trace; /* to no memory until somebody lends it some */
};

/* How many bytes are to be guarded; NULL without memory. */
static inline uint8_t *row_guarded(size_t bytes, struct prng *fill)
{
	uint8_t *all = malloc(bytes + 2 * ROW_GUARD);

	if (!all)
		return NULL;
	memset(all, ROW_CANARY, bytes + 2 * ROW_GUARD);
	prng_fill(fill, all + ROW_GUARD, bytes);
	return all + ROW_GUARD;
}

static inline bool row_is_guarded(const uint8_t *at, size_t bytes)
{
	for (uint32_t i = 0; i < ROW_GUARD; i++)
		if (at[bytes + i] != ROW_CANARY || *(at - 1 - i) != ROW_CANARY)
			return false;
	return true;
}

static inline void row_free(uint8_t *at)
{
	if (at)
		free(at - ROW_GUARD);
}

static inline uint64_t row_va(enum row_area area)
{
	return UINT64_C(0x7f0000000000) + area * UINT64_C(0x100000000);
}

/* A piece of an area, as work of this end names it; and a place of the peer's TARGET. */
static inline struct sge row_piece(const struct row_end *s, enum row_area area, uint32_t at,
				   uint32_t len)
{
	if (!s->row)
		return (struct sge){s->area[area] + at, len, 0};
	return (struct sge){(void *)(uintptr_t)(row_va(area) + at), len, 1 + area};
}

static inline uint64_t row_remote(const struct row_end *s, uint32_t at)
{
	return s->row ? row_va(ROW_TARGET) + at : at;
}

static inline uint32_t row_number(const struct row_end *s, uint32_t i)
{
	return s->row ? ROW_FIRST + i : i;
}

static inline bool row_takes(const struct row_end *s, enum engine_op op)
{
	return s->row ? transport_takes(s->row, op) : op == ENGINE_WRITE || op == ENGINE_WRITE_IMM;
}

static inline struct trace_words row_words(const struct row_end *s)
{
	return s->row ? transport_words(s->row) : ref_words();
}

/* How many numbers say what became of packets, and the first of them. */
static inline uint32_t row_n_verdicts(const struct row_end *s)
{
#define ROW_ONE(name, text) +1
	return s->row ? s->row->n_verdicts : 0 REF_ACCEPTED(ROW_ONE) REF_DROPS(ROW_ONE);
#undef ROW_ONE
}

static inline const uint64_t *row_verdicts(const struct row_end *s)
{
	uint32_t rx = s->row ? s->row->count_rx : offsetof(struct ref_counters, rx) / 8;

	return s->ops->count(s->e) + rx + 1;
}

static inline const struct carrier *row_carrier(const struct row_end *s)
{
	return s->row ? s->row->carrier : &carrier_roce;
}

static inline struct transport_end row_told(const struct transport *row, uint32_t number)
{
	struct transport_caps caps = {.max_recv = ROW_RECVS, .srq = TRANSPORT_NO_SRQ};
	const struct transport_self self = {.number = number, .psn = 0xfffff0, .caps = &caps};
	struct transport_end end;

	row->pairs->grant(&caps);
	row->pairs->tell(&self, &end);
	return end;
}

static inline bool row_make_areas(struct row_end *s, struct prng *fill)
{
	static const uint8_t access[ROW_AREAS] = {
		[ROW_TARGET] = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ,
		[ROW_INBOX] = MEM_LOCAL_WRITE,
	};
	struct prng bytes;

	prng_init(&bytes, 1, 0);
	s->table = calloc(1, mem_bytes(ROW_AREAS));
	if (!s->table)
		return false;
	s->mem = mem_init(s->table, ROW_AREAS);
	for (uint32_t a = 0; a < ROW_AREAS; a++) {
		s->area[a] = row_guarded(ROW_AREA, fill);
		if (!s->area[a])
			return false;
		prng_fill(&bytes, s->area[a], ROW_AREA);
		const struct mem_entry entry = {.at = s->area[a],
						.iova = row_va((enum row_area)a),
						.len = ROW_AREA,
						.key = 1 + a,
						.pd = ROW_PD,
						.qp = MEM_ANY_QP,
						.access = access[a]};

		if (mem_add(s->mem, &entry))
			return false;
	}
	return true;
}

/* The engine of a configuration, in a block of just its size. */
static inline bool row_start(struct row_end *s, const void *cfg, struct prng *fill)
{
	s->block_bytes = s->ops->size(cfg);
	s->block = s->block_bytes ? row_guarded(s->block_bytes, fill) : NULL;
	if (!s->block)
		return false;
	s->e = (struct engine *)(void *)s->block;
	s->e->ops = s->ops;
	return s->ops->init(s->e, cfg, 0) == 0;
}

static inline bool row_start_ref(struct row_end *s, struct prng *fill)
{
	const struct ref_cfg cfg = {
		.seed = 1,
		.max_qps = ROW_PAIRS,
		.max_ops = ROW_SENDS * ROW_PAIRS,
		.payload_bytes = ROW_PMTU,
		.window_pkts = 32,
		.evs = s->evs,
		.n_evs = ROW_EVS,
		.n_ports = s->n_ports,
		.retries = REF_RETRIES_MAX,
		.rto_ns = 1000000,
		.memory = s->area[ROW_TARGET],
		.memory_bytes = ROW_AREA,
		.trace = {.to = &s->trace},
	};

	for (uint32_t i = 0; i < ROW_EVS; i++)
		s->evs[i] = i << 16 | 0xabc;
	return row_start(s, &cfg, fill);
}

static inline bool row_start_row(struct row_end *s, struct prng *fill)
{
	const struct transport_host host = {
		.mem = s->mem,
		.trace = {.to = &s->trace},
		.max_pairs = ROW_PAIRS,
		.n_ports = s->n_ports,
		.seed = 1,
		.cc = {.kind = CC_FIXED,
		       .window_bytes = ROW_AREA,
		       .line_rate_bps = UINT64_C(100000000000)},
		.pair_evs = ROW_EVS,
		.pair_out_pkts = 256,
		.pair_ahead_pkts = 256,
	};
	void *cfg = calloc(1, s->row->hosts->cfg_bytes);
	struct path_ev evs[ROW_EVS];

	for (uint32_t i = 0; i < ROW_EVS; i++)
		evs[i] = (struct path_ev){.value = (i + 1) << 16, .port = i % s->n_ports};
	s->profile_memory = malloc(path_profile_size(ROW_EVS));
	bool is_done =
		cfg && s->profile_memory &&
		path_profile_explicit(&s->profile, s->profile_memory, evs, ROW_EVS) == PATH_OK;

	if (is_done) {
		s->row->hosts->configure(&host, cfg);
		is_done = row_start(s, cfg, fill);
	}
	free(cfg);
	return is_done;
}

static inline bool row_connect(struct row_end *s, nsec now, uint32_t i)
{
	const uint32_t number = row_number(s, i);
	const struct ref_peer peer = {.qp = i,
				      .peer = ROW_PEER,
				      .local = ROW_LOCAL,
				      .remote_qp = number,
				      .sq_psn = 0xfffff0,
				      .rq_psn = 0xfffff0};

	if (!s->row)
		return ref_open(s->e, &peer) == 0;
	const struct transport_end end = row_told(s->row, number);
	const struct transport_link link = {
		.mine = end,
		.theirs = end,
		.path = {.peer = ROW_PEER,
			 .local = ROW_LOCAL,
			 .ev = s->profile.set.n ? (i + 1) << 16 : 0,
			 .evs = transport_has(s->row, TRANSPORT_PROFILES) ? &s->profile : NULL},
		.manner = {.timeout_ns = 1000000, .retries = 7, .slow_retries = 7},
		.pmtu = ROW_PMTU,
		.access = MEM_REMOTE_WRITE | MEM_REMOTE_READ,
	};

	return s->row->pairs->connect(s->e, now, number, &link) == 0;
}

static inline bool row_make_pair(struct row_end *s, uint32_t i, struct prng *fill)
{
	struct transport_caps caps = {
		.max_send = ROW_SENDS,
		.max_recv = ROW_RECVS,
		.max_send_sge = 2,
		.pd = ROW_PD,
		.srq = TRANSPORT_NO_SRQ,
		.max_evs = transport_has(s->row, TRANSPORT_PROFILES) ? ROW_EVS : 0,
	};

	s->pair_bytes[i] = s->row->pairs->grant(&caps);
	s->pair[i] = s->pair_bytes[i] ? row_guarded(s->pair_bytes[i], fill) : NULL;
	return s->pair[i] && s->row->pairs->make(s->e, row_number(s, i), &caps, s->pair[i]) == 0;
}

/* An end with so many queue pairs, each connected to that of the same number at the other end.
 * False: something of it did not work; row_end_fini in any case. */
static inline bool row_end_init(struct row_end *s, const struct transport *row, uint32_t n_pairs,
				uint64_t fill_seed)
{
	struct prng fill;

	prng_init(&fill, fill_seed, 0);
	*s = (struct row_end){.row = row, .ops = row ? row->engine : &ref_ops, .n_pairs = n_pairs};
	s->n_ports = row && row->ports_max < ROW_PORTS ? row->ports_max : ROW_PORTS;
	if (!row_make_areas(s, &fill) || !(row ? row_start_row(s, &fill) : row_start_ref(s, &fill)))
		return false;
	for (uint32_t i = 0; i < n_pairs; i++)
		if ((row && !row_make_pair(s, i, &fill)) || !row_connect(s, 0, i))
			return false;
	return true;
}

/* Whether nothing was written around any block. */
static inline bool row_end_is_guarded(const struct row_end *s)
{
	bool is_whole = row_is_guarded(s->block, s->block_bytes);

	for (uint32_t a = 0; a < ROW_AREAS; a++)
		is_whole &= row_is_guarded(s->area[a], ROW_AREA);
	for (uint32_t i = 0; s->row && i < s->n_pairs; i++)
		is_whole &= row_is_guarded(s->pair[i], s->pair_bytes[i]);
	return is_whole;
}

static inline void row_end_fini(struct row_end *s)
{
	row_free(s->block);
	for (uint32_t i = 0; i < ROW_PAIRS; i++)
		row_free(s->pair[i]);
	for (uint32_t a = 0; a < ROW_AREAS; a++)
		row_free(s->area[a]);
	free(s->profile_memory);
	free(s->table);
}

/* Payload lies where the application has it, but for padding at its end. */
static inline bool row_is_lent(const struct row_end *s, const struct tx_pkt *tx)
{
	for (uint32_t i = 0; i < tx->n_body; i++) {
		const uint8_t *at = tx->body[i].at;
		bool is_ours = i + 1u == tx->n_body && tx->body[i].len <= CARRIER_PAD_MAX;

		for (uint32_t a = 0; a < ROW_AREAS; a++)
			is_ours |=
				at >= s->area[a] && at + tx->body[i].len <= s->area[a] + ROW_AREA;
		if (!is_ours)
			return false;
	}
	return true;
}

#endif
