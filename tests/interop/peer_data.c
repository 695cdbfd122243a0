/* Cases that move data. Both regions begin alike; once the messages of the one are in the other, at
 * the same places, the regions are alike again, to the last byte between the messages. */
#include "peer.h"

#include <string.h>

/* Around every border of packets, and odd. */
static const uint32_t sizes[] = {1,    2,    3,    255,  256, 257, 1023,  1024,  1025,  4095,
				 4096, 4097, 8191, 8193, 5,   0,   12345, 65537, 131071};

enum {
	MESSAGES = sizeof sizes / sizeof *sizes,
	GAP = 17, /* so that places are odd, too */
	ROUNDS = 2,
	ATOMICS = 40,
	IMM = 0x10000,
	READ_BACK_AT = REGION_BYTES / 2, /* where read_back puts what it reads */
};

/* Where message i lies in either region. */
static uint32_t place(uint32_t i)
{
	uint32_t at = GAP;

	for (uint32_t j = 0; j < i; j++)
		at += sizes[j] + GAP;
	return at;
}

static void fill(struct end *e, uint64_t seed)
{
	for (uint32_t i = 0; i < MESSAGES; i++) {
		for (uint32_t j = 0; j < sizes[i]; j++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			e->region[place(i) + j] = (uint8_t)(seed >> 56);
		}
	}
}

/* Message i in up to `pieces` pieces of odd sizes; how many there are. */
static int pieces_of(const struct end *e, uint32_t i, struct ibv_sge *list, int pieces)
{
	uint32_t at = place(i), left = sizes[i];
	int n = 0;

	while (left) {
		uint32_t len = n == pieces - 1 ? left : left / 3 + 1;

		list[n++] = (struct ibv_sge){(uintptr_t)e->region + at, len, e->mr->lkey};
		at += len;
		left -= len;
	}
	return n;
}

static void post_message(struct end *e, uint32_t i, enum ibv_wr_opcode opcode)
{
	struct ibv_sge list[SGES];
	struct ibv_send_wr wr = {.wr_id = i, .sg_list = list, .opcode = opcode};

	wr.num_sge = pieces_of(e, i, list, SGES - 1);
	wr.imm_data = IMM + i;
	wr.wr.rdma.remote_addr = e->remote_addr + place(i);
	wr.wr.rdma.rkey = e->remote_rkey;
	end_post(e, &wr);
}

static void check_receive(struct end *e, uint32_t i, enum ibv_wr_opcode opcode)
{
	bool has_imm = opcode != IBV_WR_SEND, is_write = opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_wc wc = end_done(e);

	if (wc.wr_id != i || wc.byte_len != sizes[i])
		fail("receive %u: work %u of %u bytes, not %u", i, (unsigned)wc.wr_id, wc.byte_len,
		     sizes[i]);
	if (wc.opcode != (is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV))
		fail("receive %u: opcode %d", i, (int)wc.opcode);
	if (has_imm != !!(wc.wc_flags & IBV_WC_WITH_IMM) || (has_imm && wc.imm_data != IMM + i))
		fail("receive %u: immediate data %#x", i, wc.imm_data);
}

/* The requester has posted everything before the first completion is taken. */
static void requester(struct end *e, enum ibv_wr_opcode opcode)
{
	for (uint32_t i = 0; i < MESSAGES; i++)
		post_message(e, i, opcode);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct ibv_wc wc = end_done(e);

		if (wc.wr_id != i)
			fail("completion %u is that of work %u", i, (unsigned)wc.wr_id);
	}
}

static void post_receives(struct end *e, bool has_room)
{
	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct ibv_sge list[SGES];
		int n = has_room ? pieces_of(e, i, list, 2) : 0;

		end_post_receive(e, i, list, n);
	}
}

static void check_regions(struct end *e)
{
	uint64_t mine = region_hash(e);

	end_send(e, mine);
	uint64_t theirs = end_receive(e);

	if (mine != theirs)
		fail("the regions differ: hash %016llx, the peer's %016llx",
		     (unsigned long long)mine, (unsigned long long)theirs);
}

static void move(struct end *e, enum ibv_wr_opcode opcode)
{
	bool has_receives = opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
			    opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool is_source = e->is_client != (opcode == IBV_WR_RDMA_READ);

	end_connect(e, &(struct terms){0});
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (is_source)
			fill(e, round);
		if (has_receives && !e->is_client)
			post_receives(e, opcode != IBV_WR_RDMA_WRITE_WITH_IMM);
		end_meet(e);
		if (e->is_client)
			requester(e, opcode);
		for (uint32_t i = 0; i < MESSAGES && has_receives && !e->is_client; i++)
			check_receive(e, i, opcode);
		end_meet(e);
		check_regions(e);
	}
	end_disconnect(e);
}

/* Every write is read back by the work that follows it, which finds the memory as written. */
static void read_back(struct end *e)
{
	end_connect(e, &(struct terms){0});
	if (e->is_client)
		fill(e, 7);
	for (uint32_t i = 0; i < MESSAGES && e->is_client; i++) {
		struct ibv_sge back = {(uintptr_t)e->region + READ_BACK_AT + place(i), sizes[i],
				       e->mr->lkey};
		struct ibv_send_wr wr = {.wr_id = MESSAGES + i, .sg_list = &back, .num_sge = 1};

		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = e->remote_addr + place(i);
		wr.wr.rdma.rkey = e->remote_rkey;
		post_message(e, i, IBV_WR_RDMA_WRITE);
		end_post(e, &wr);
	}
	for (uint32_t i = 0; i < 2 * MESSAGES && e->is_client; i++)
		end_done(e);
	for (uint32_t i = 0; i < MESSAGES && e->is_client; i++) {
		if (memcmp(e->region + place(i), e->region + READ_BACK_AT + place(i), sizes[i]) !=
		    0)
			fail("message %u of %u bytes comes back different", i, sizes[i]);
	}
	end_meet(e);
	end_disconnect(e);
}

/* What atomic i does: adds, or compares and swaps, every third time in vain. */
static void post_atomic(struct end *e, uint64_t i, bool is_add, uint64_t present)
{
	struct ibv_sge result = {(uintptr_t)e->region + 8 * i, 8, e->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = i, .sg_list = &result, .num_sge = 1};

	wr.opcode = is_add ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.remote_addr = e->remote_addr + 64;
	wr.wr.atomic.rkey = e->remote_rkey;
	wr.wr.atomic.compare_add =
		is_add ? UINT64_C(0x0123456789abcdef) * (i + 1) : present + (i % 3 == 2);
	wr.wr.atomic.swap = present * 3 + i;
	end_post(e, &wr);
}

static void atomics(struct end *e, bool is_add)
{
	uint64_t present, found;

	end_connect(e, &(struct terms){0});
	memset(&present, GUARD, sizeof present);
	uint64_t before[ATOMICS];

	for (uint64_t i = 0; i < ATOMICS; i++) {
		before[i] = present;
		if (e->is_client)
			post_atomic(e, i, is_add, present);
		if (is_add)
			present += UINT64_C(0x0123456789abcdef) * (i + 1);
		else if (i % 3 != 2)
			present = present * 3 + i;
	}
	for (uint64_t i = 0; i < ATOMICS && e->is_client; i++)
		end_done(e);
	for (uint64_t i = 0; i < ATOMICS && e->is_client; i++) {
		memcpy(&found, e->region + 8 * i, sizeof found);
		if (found != before[i])
			fail("atomic %u found %016llx, not %016llx", (unsigned)i,
			     (unsigned long long)found, (unsigned long long)before[i]);
	}
	end_meet(e);
	memcpy(&found, e->region + 64, sizeof found);
	if (!e->is_client && found != present)
		fail("%016llx is left, not %016llx", (unsigned long long)found,
		     (unsigned long long)present);
	end_meet(e);
	end_disconnect(e);
}

static const struct {
	const char *name;
	enum ibv_wr_opcode opcode;
} moves[] = {
	{"send", IBV_WR_SEND},        {"send-imm", IBV_WR_SEND_WITH_IMM},
	{"write", IBV_WR_RDMA_WRITE}, {"write-imm", IBV_WR_RDMA_WRITE_WITH_IMM},
	{"read", IBV_WR_RDMA_READ},
};

bool run_data_case(struct end *e, const char *name)
{
	for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
		if (!strcmp(name, moves[i].name)) {
			move(e, moves[i].opcode);
			return true;
		}
	}
	if (!strcmp(name, "read-back"))
		read_back(e);
	else if (!strcmp(name, "fetch-add"))
		atomics(e, true);
	else if (!strcmp(name, "cmp-swap"))
		atomics(e, false);
	else
		return false;
	return true;
}
