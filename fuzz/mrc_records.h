/* What the records of the target `mrc_engine` are about. */
#ifndef WEFT_FUZZ_MRC_RECORDS_H
#define WEFT_FUZZ_MRC_RECORDS_H

#include "mrc/mrc.h"
#include "records.h"
#include "wire/mrc.h"

enum {
	/* The packet's queue pair is set to ours, the last bytes of its PSNs are taken as distances
	 * from what is expected or out, and its keys are made right: else no mutation gets far. */
	MRC_IS_FITTED = RECORD_IS_SPECIAL,
};
enum { MRC_MEMORY = 4096, MRC_RECORD_PMTU = 256, MRC_RECORD_EVS = 6 };

#define MRC_RECORD_START UINT64_C(1000000) /* ns: when an input begins */

#define MRC_RECORD_QP  0x11u
#define MRC_RECORD_KEY 0x1234u
#define MRC_RECORD_VA  UINT64_C(0x100000)

/* Small pools: all of them run empty now and then. */
static inline struct mrc_cfg mrc_record_cfg(struct mem *mem)
{
	return (struct mrc_cfg){
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
}

static const struct mrc_caps mrc_record_caps = {
	.max_send = 6, .max_recv = 4, .max_send_sge = 2, .max_mpr = 4, .max_wimm = 2};

static const struct path_ev mrc_record_evs[MRC_RECORD_EVS] = {
	{0xc0010001, 0}, {0xc0020002, 1}, {0xc0030003, 0},
	{0xc0040004, 1}, {0xc0050005, 0}, {0xc0060006, 0},
};

/* Both ends of the connection. */
static const struct mrc_attr mrc_record_attr = {
	.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE,
	.pmtu = MRC_RECORD_PMTU,
	.peer = RECORD_PEER,
	.remote_qp = MRC_RECORD_QP,
	.rq_psn = 0xfffff0,
	.sq_psn = 0xfffff0,
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
static inline int mrc_record_connect(struct engine *e, nsec now)
{
	static const uint8_t states[] = {MRC_RESET, MRC_INIT, MRC_RTR, MRC_RTS};
	static const uint32_t sets[] = {0, MRC_SET_ACCESS,
					MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP |
						MRC_SET_RQ_PSN | MRC_SET_MPR | MRC_SET_PENALTY |
						MRC_SET_FLAGS,
					MRC_SET_SQ_PSN | MRC_SET_MPR_DEST | MRC_SET_WIMM_DEST |
						MRC_SET_TIMEOUT | MRC_SET_RETRIES};
	static struct path_profile evs;
	static uint64_t evs_memory[MRC_RECORD_EVS * 8];
	struct mrc_attr attr = mrc_record_attr;
	int bad = 0;

	if (evs.set.n == 0)
		bad |= path_profile_explicit(&evs, evs_memory, mrc_record_evs, MRC_RECORD_EVS);
	attr.evs = &evs;

	for (uint32_t i = 0; i < sizeof states; i++) {
		attr.state = states[i];
		bad |= mrc_qp_modify(e, now, MRC_RECORD_QP, &attr, MRC_SET_STATE | sets[i]);
	}
	return bad;
}

/* Work number `what` of the target; the sixth and seventh are endpoint requests, and the eighth
 * another range. */
enum mrc_record_work { MRC_WORK_ENDPOINT = 5, MRC_WORK_RANGE = 7, MRC_WORKS };

static inline struct op mrc_record_op(uint8_t what, const struct sge *sge, uint64_t cookie)
{
	static const uint8_t codes[MRC_WORK_ENDPOINT] = {ENGINE_WRITE, ENGINE_WRITE_IMM,
							 ENGINE_WRITE, ENGINE_RECV, ENGINE_RECV};
	uint8_t code = codes[what % MRC_WORK_ENDPOINT];

	return (struct op){.code = code,
			   .cookie = cookie,
			   .qp = MRC_RECORD_QP,
			   .remote = MRC_RECORD_VA,
			   .key = MRC_RECORD_KEY,
			   .imm = cookie & 0xff,
			   .flags = what & 16 ? ENGINE_SILENT : 0,
			   .sg = sge,
			   .n_sg = code != ENGINE_RECV};
}

static inline struct mrc_endpoint mrc_record_endpoint(uint8_t what, uint64_t cookie)
{
	return (struct mrc_endpoint){
		.peer = RECORD_PEER,
		.ev = mrc_record_evs[what % MRC_RECORD_EVS],
		.op = what & 1 ? MRC_ENDPOINT_EV_PROBE : MRC_ENDPOINT_PORT_STATUS,
		.has_service_time = what & 2,
		.port_status = what,
		.cookie = cookie,
	};
}

/* What is out when an input begins: three writes, of which one has immediate data, and an endpoint
 * request of each kind; two receives wait. Each write is of three times MRC_RECORD_SIZE bytes. */
static const uint8_t mrc_record_out[] = {0, 1, 2, 3, 4, 5, 6};
enum { MRC_RECORD_SIZE = 208 };

#endif
