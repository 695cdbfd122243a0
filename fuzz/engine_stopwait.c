/* Stop and wait, for the target that drives an engine: made by its row alone. */
#include "engine_target.h"
#include "stopwait.h"

#include "base/bytes.h"

static const uint8_t out[] = {0, 1, 2, 3, 3};

/* RECORD_IS_SPECIAL: to our queue pair, or, with a mark, to the host; the last byte of the number
 * is a distance from the first, and the key is right. */
static void fit(const struct subject *s, uint8_t flags, struct rx_pkt *rx, uint8_t *bytes)
{
	(void)s;
	/* Strangers are answered, and the answers here go to one peer. */
	rx->peer = RECORD_PEER;
	if (!(flags & RECORD_IS_SPECIAL) || rx->head.len < stopwait_head_bytes)
		return;
	bytes[0] %= STOPWAIT_ACK + 1;
	put_be24(bytes + 1, flags & RECORD_IS_MARKED ? STOPWAIT_OPEN : TARGET_QP);
	put_be24(bytes + 5, TARGET_QP);
	put_be32(bytes + 8, TARGET_PSN + (uint32_t)(int8_t)bytes[11]);
	put_be32(bytes + 16, TARGET_KEY);
	put_be64(bytes + 24, TARGET_VA + bytes[31]);
}

static const void *configure(struct mem *mem)
{
	const struct transport_host host = {.mem = mem, .max_pairs = 1, .n_ports = 1};
	static struct stopwait_cfg cfg;

	stopwait.hosts->configure(&host, &cfg);
	return &cfg;
}

static struct transport_caps granted(size_t *bytes)
{
	struct transport_caps caps = {.max_send = 4, .max_recv = 4, .srq = TRANSPORT_NO_SRQ};

	*bytes = stopwait.pairs->grant(&caps);
	return caps;
}

static size_t pair_bytes(void)
{
	size_t bytes;

	granted(&bytes);
	return bytes;
}

static int make(struct engine *e, void *memory)
{
	size_t bytes;
	const struct transport_caps caps = granted(&bytes);

	return stopwait.pairs->make(e, TARGET_QP, &caps, memory);
}

static int connect_pair(struct engine *e, nsec now)
{
	const struct transport_self self = {.number = TARGET_QP, .psn = TARGET_PSN};
	struct transport_link link = {
		.path = {.peer = RECORD_PEER},
		.manner = {.timeout_ns = 10000, .retries = 3},
		.pmtu = TARGET_PMTU,
		.access = MEM_REMOTE_WRITE,
	};

	stopwait.pairs->tell(&self, &link.mine);
	link.theirs = link.mine;
	must(stopwait.pairs->stop(e, now, TARGET_QP, ENGINE_RESET) == 0);
	return stopwait.pairs->connect(e, now, TARGET_QP, &link);
}

static struct op op_of(uint8_t what, struct sge *sge)
{
	static const uint8_t codes[] = {ENGINE_WRITE, ENGINE_WRITE_IMM, ENGINE_SEND, ENGINE_RECV};

	return (struct op){.code = codes[what % sizeof codes],
			   .qp = TARGET_QP,
			   .remote = TARGET_VA,
			   .key = TARGET_KEY,
			   .flags = what & 16 ? ENGINE_SILENT : 0,
			   .sg = sge,
			   .n_sg = 1};
}

const struct engine_target target_stopwait = {
	.row = &stopwait,
	.subject = {.head_bytes = stopwait_head_bytes,
		    .wait_ns = 256,
		    .n_ports = 1,
		    .room = {5},
		    .fit = fit},
	.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE,
	.out = out,
	.n_out = sizeof out,
	.out_size = 208,
	.configure = configure,
	.pair_bytes = pair_bytes,
	.make = make,
	.connect = connect_pair,
	.op = op_of,
};
