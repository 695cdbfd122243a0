/* MRC, for the target that drives an engine: endpoint requests are out too, and pools give back
 * what they lent. */
#include "engine_target.h"

#include "base/bytes.h"
#include "base/serial.h"
#include "mrc/mrc.h"
#include "wire/mrc.h"

enum {
	/* The packet's queue pair is set to ours, the last bytes of its PSNs are taken as distances
	 * from what is expected or out, and its keys are made right: else no mutation gets far. */
	IS_FITTED = RECORD_IS_SPECIAL,
};
enum { EVS = 6 };

static const struct mrc_caps caps = {
	.max_send = 6, .max_recv = 4, .max_send_sge = 2, .max_mpr = 4, .max_wimm = 2};

static const struct path_ev evs_of_target[EVS] = {
	{0xc0010001, 0}, {0xc0020002, 1}, {0xc0030003, 0},
	{0xc0040004, 1}, {0xc0050005, 0}, {0xc0060006, 0},
};

/* Both ends of the connection. */
static const struct mrc_attr attr_of_target = {
	.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE,
	.pmtu = TARGET_PMTU,
	.peer = RECORD_PEER,
	.remote_qp = TARGET_QP,
	.rq_psn = TARGET_PSN,
	.sq_psn = TARGET_PSN,
	.timeout = 4,
	.linear_retries = 2,
	.exp_retries = 2,
	.mpr = 2,
	.mpr_dest = 2,
	.wimm_dest = 2,
	.penalty = 3,
	.flags = MRC_DYNAMIC_MPR | MRC_PEER_TRIM_NACK | MRC_PEER_SERVICE_TIME,
};

/* Takes the queue pair from whatever state to MRC_RTS; 0 when all went well. */
static int connect_pair(struct engine *e, nsec now)
{
	static const uint8_t states[] = {MRC_RESET, MRC_INIT, MRC_RTR, MRC_RTS};
	static const uint32_t sets[] = {0, MRC_SET_ACCESS,
					MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP |
						MRC_SET_RQ_PSN | MRC_SET_MPR | MRC_SET_PENALTY |
						MRC_SET_FLAGS,
					MRC_SET_SQ_PSN | MRC_SET_MPR_DEST | MRC_SET_WIMM_DEST |
						MRC_SET_TIMEOUT | MRC_SET_RETRIES};
	static struct path_profile evs;
	static uint64_t evs_memory[EVS * 8];
	struct mrc_attr attr = attr_of_target;
	int bad = 0;

	if (evs.set.n == 0)
		bad |= path_profile_explicit(&evs, evs_memory, evs_of_target, EVS);
	attr.evs = &evs;

	for (uint32_t i = 0; i < sizeof states; i++) {
		attr.state = states[i];
		bad |= mrc_qp_modify(e, now, TARGET_QP, &attr, MRC_SET_STATE | sets[i]);
	}
	return bad;
}

/* Work number `what` of the target; the sixth and seventh are endpoint requests, and the eighth
 * another range. */
enum { WORK_ENDPOINT = 5, WORK_RANGE = 7, WORKS };

static struct mrc_endpoint endpoint_of(uint8_t what, uint64_t cookie)
{
	return (struct mrc_endpoint){
		.peer = RECORD_PEER,
		.ev = evs_of_target[what % EVS],
		.op = what & 1 ? MRC_ENDPOINT_EV_PROBE : MRC_ENDPOINT_PORT_STATUS,
		.has_service_time = what & 2,
		.port_status = what,
		.cookie = cookie,
	};
}

/* What is sent can be read. */
static void check(const struct tx_pkt *tx)
{
	struct cursor c = cursor_of((struct cspan){tx->head, tx->head_len});
	struct mrc_pkt h;
	uint32_t n = 0;

	for (uint32_t i = 0; i < tx->n_body; i++)
		n += tx->body[i].len;
	must(mrc_head_get(&c, false, &h, NULL).why == WIRE_DROP_NONE && cursor_left(&c) == 0);
	must(n <= TARGET_PMTU && n % 4 == 0 && h.bth.pad <= n);
	must(n == 0 ||
	     (h.bth.opcode >= MRC_OP_WRITE_FIRST && h.bth.opcode <= MRC_OP_WRITE_ONLY_IMM));
}

static void poll_endpoints(struct driven *d)
{
	struct mrc_endpoint_done done;

	while (mrc_endpoint_poll(d->s.e, &done, 1) > 0) {
		must(done.news <= MRC_ENDPOINT_PORTS && done.op <= MRC_ENDPOINT_EV_PROBE);
		d->answered += done.news != MRC_ENDPOINT_PORTS;
		must(d->answered <= d->asked);
	}
}

static bool post_other(struct driven *d, uint8_t what, uint8_t size)
{
	struct engine *e = d->s.e;
	uint8_t which = what % WORKS;

	if (which == WORK_RANGE) {
		struct mrc_attr attr = {.mpr = (uint8_t)(1 + size % caps.max_mpr)};

		must(mrc_qp_modify(e, d->s.now, TARGET_QP, &attr, MRC_SET_MPR) == 0);
	} else if (which >= WORK_ENDPOINT) {
		struct mrc_endpoint request = endpoint_of(what, d->asked);

		if (mrc_endpoint_post(e, d->s.now, &request) == 0)
			d->asked++;
		else
			mrc_endpoint_expire(e, d->s.now);
	}
	return which >= WORK_ENDPOINT;
}

/* A PSN of 24 bits: its last byte becomes a distance from base. */
static void fit_psn(uint8_t *at, uint32_t base)
{
	put_be24(at, psn24_add(psn24_of(base), (int8_t)at[2]).v);
}

/* See IS_FITTED. */
static void fit(const struct subject *s, uint8_t flags, struct rx_pkt *rx, uint8_t *bytes)
{
	uint32_t n = rx->head.len;
	struct mrc_attr attr;
	uint16_t stack;

	rx->ev = evs_of_target[flags % EVS].value;
	rx->port = flags >> 4 & 1;
	if (n < mrc_bth_bytes || mrc_qp_query(s->e, TARGET_QP, &attr, NULL, NULL) != 0)
		return;
	bool is_known = mrc_opcode_stack(bytes[0], &stack);

	/* Those are answered whoever sends them, and the answers here go to one peer. */
	if (is_known && stack & MRC_ERTH)
		rx->peer = RECORD_PEER;
	if (!(flags & IS_FITTED))
		return;
	bool is_endpoint = is_known && stack & (MRC_ERTH | MRC_EETH);
	bool is_answer = is_known && stack & (MRC_AETH | MRC_SETH | MRC_NETH);

	bytes[1] &= 0xf0;
	put_be16(bytes + 2, ROCE_PKEY_DEFAULT);
	put_be24(bytes + 5, is_endpoint ? MRC_ENDPOINT_QP : TARGET_QP);
	if (!is_endpoint)
		fit_psn(bytes + 9, is_answer ? attr.sq_psn : attr.rq_psn);
	uint8_t *more = bytes + mrc_bth_bytes;

	if (!is_known)
		return;
	if (stack & (MRC_SETH | MRC_NETH) && n >= mrc_bth_bytes + neth_bytes)
		fit_psn(more + 13, attr.sq_psn);
	more += meth_bytes + (bytes[8] & 0x10 ? tseth_bytes : 0);
	if (stack & MRC_RETH && more + reth_bytes <= bytes + n) {
		put_be64(more, TARGET_VA + more[7]);
		put_be32(more + 8, TARGET_KEY);
	}
}

/* Small pools: all of them run empty now and then. */
static const void *configure(struct mem *mem)
{
	static struct mrc_cfg cfg;

	cfg = (struct mrc_cfg){
		.mem = mem,
		.max_qps = 1,
		.n_ports = 2,
		.cc = {.kind = CC_FIXED,
		       .window_bytes = 4096,
		       .line_rate_bps = UINT64_C(100000000000)},
		.max_out_pkts = 128,
		.max_early_pkts = 256,
		.max_answers = 6,
		.max_probes = 3,
		.sack_every_bytes = 1024,
		.sack_least_bytes = 256,
		.first_msn = 0xfffe,
		.has_trim_nack = true,
		.has_service_time = true,
	};
	return &cfg;
}

static size_t pair_bytes(void)
{
	return mrc_qp_size(&caps);
}

static int make(struct engine *e, void *memory)
{
	return mrc_qp_new(e, TARGET_QP, &caps, memory);
}

static struct op op_of(uint8_t what, struct sge *sge)
{
	static const uint8_t codes[WORK_ENDPOINT] = {ENGINE_WRITE, ENGINE_WRITE_IMM, ENGINE_WRITE,
						     ENGINE_RECV, ENGINE_RECV};
	uint8_t code = codes[what % WORKS % WORK_ENDPOINT];

	return (struct op){.code = code,
			   .qp = TARGET_QP,
			   .remote = TARGET_VA,
			   .key = TARGET_KEY,
			   .flags = what & 16 ? ENGINE_SILENT : 0,
			   .sg = sge,
			   .n_sg = code != ENGINE_RECV};
}

/* What is out when an input begins: three writes, of which one has immediate data, and an endpoint
 * request of each kind; two receives wait. Each write is of three times out_size bytes. */
static const uint8_t out[] = {0, 1, 2, 3, 4, 5, 6};

static void check_idle(const struct engine *e)
{
	const struct mrc_usage use = mrc_usage(e);

	must(use.out_chunks == 0 && use.early_chunks == 0);
}

const struct engine_target target_mrc_engine = {
	.row = &transport_mrc,
	.subject = {.head_bytes = MRC_HEAD_BYTES,
		    .wait_ns = 256,
		    .n_ports = 2,
		    .room = {3, 4},
		    .fit = fit},
	.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE,
	.start = 1000000,
	.out = out,
	.n_out = sizeof out,
	.out_size = 208,
	.configure = configure,
	.pair_bytes = pair_bytes,
	.make = make,
	.connect = connect_pair,
	.op = op_of,
	.post_other = post_other,
	.poll_other = poll_endpoints,
	.check = check,
	.check_idle = check_idle,
};
