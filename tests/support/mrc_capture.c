/* Writes captures of what two engines of MRC say to each other: usage:
 *
 *	mrc-capture DIRECTORY
 *
 * One for each case and each encapsulation, named CASE-ENCAPSULATION.pcap. Every packet as it was
 * sent, also one that was lost or cut behind the tap, in Ethernet, IPv4 or IPv6, perhaps one more
 * IPv6 header with the path, and UDP, with its ICRC. PMTU 1024 and messages of 2500 bytes; the
 * script tshark-mrc-engine says what should be in them. */
#include <stdio.h>
#include <stdlib.h>

#include "encap/encap.h"
#include "frame.h"
#include "mrc_stage.h"
#include "pcap_out.h"
#include "wire/icrc.h"

#define MESSAGE 2500u
#define SHORT   7u
#define HOP_MAX 64u

enum encapsulation { IPV4, IPV6, USID, SRH, ENCAPSULATIONS };
static const char *const encapsulations[ENCAPSULATIONS] = {"ipv4", "ipv6", "usid", "srh"};

/* Table 7-8, in numbers of the simulator's. */
static const uint8_t dscp[ENGINE_TCLASSES] = {
	[ENGINE_DATA] = 10, [ENGINE_RETX] = 12, [ENGINE_NO_TRIM] = 0, [ENGINE_CONTROL] = 46};

static FILE *out;
static enum encapsulation encapsulation;
static uint8_t frame[4096];

/* IPv4 is no encapsulation of our own: the frame of the golden captures. Its addresses are
 * exchanged for the way back, which the header's sum does not mind. */
static uint32_t wrap_ipv4(uint32_t from, const struct end_pkt *p)
{
	static struct frame f;
	struct frame_spec spec = {.ip_version = 4,
				  .sport = (uint16_t)(p->tx.ev >> 16),
				  .dscp = dscp[p->tx.tclass],
				  .ecn = p->tx.not_ect ? 0 : 2,
				  .udp_length = p->tx.udp_len};

	frame_build(&f, &spec, (struct cspan){p->bytes, p->tx.head_len},
		    (struct cspan){p->bytes + p->tx.head_len, p->len - p->tx.head_len});
	uint8_t *ip = f.bytes + f.ip_at;

	ip[15] = from == 0 ? 1 : 2;
	ip[19] = from == 0 ? 2 : 1;
	frame_fix_icrc(&f, f.ip_at);
	memcpy(frame, f.bytes, f.len);
	return f.len;
}

static uint32_t wrap_ipv6(uint32_t from, const struct end_pkt *p)
{
	struct encap_ends ends = {.src_mac = {2, [5] = (uint8_t)(1 + from)},
				  .dst_mac = {2, [5] = (uint8_t)(2 - from)},
				  .src = {0xfd, [15] = (uint8_t)(1 + from)},
				  .dst = {0xfd, [15] = (uint8_t)(2 - from)},
				  .dport = NET_ROCE_PORT,
				  .hop_limit = HOP_MAX};
	struct encap_segments segments = {
		.n = (uint8_t)(encapsulation - IPV6),
		.at = {{0xfc, 0, 0, 1, 0, 0x11}, {0xfc, 0, 0, 1, 0, 0x22}}};
	struct encap_packet packet = {.ev = p->tx.ev,
				      .transport_bytes = p->len + icrc_bytes,
				      .udp_len = p->tx.udp_len,
				      .dscp = dscp[p->tx.tclass],
				      .ecn = p->tx.not_ect ? 0 : 2};
	struct encap_head head;

	encap_make(&head, &ends, &segments);
	encap_write(&head, &packet, frame);
	memcpy(frame + head.len, p->bytes, p->len);
	uint32_t end = head.len + p->len;

	icrc_put(frame + end, icrc_of((struct cspan){frame + head.inner_at, end - head.inner_at}));
	return end + icrc_bytes;
}

/* What a case is. */
struct scene {
	const char *name;
	void (*play)(void);
	uint32_t len;
	uint8_t code;    /* of its work, enum engine_op */
	uint8_t flags;   /* of both ends, enum mrc_flag */
	uint8_t trimmed; /* what becomes of packet hit, enum net_trim; else it is lost */
	bool is_hit, is_marked;
	bool has_service_time;
	uint8_t hit_from; /* whose packets are counted */
	uint32_t hit;     /* which of them is hit, from 0 */
	uint32_t key;     /* added to the right one of a packet that nobody sent */
	uint8_t opcode;   /* of that packet */
	uint32_t ahead;   /* its PSN, from the expected one */
	uint8_t op;       /* enum mrc_endpoint_op */
};

static const struct scene *scene;
static uint32_t n_sent[2];

static void on_sent(uint32_t from, const struct end_pkt *p, struct fate *fate)
{
	uint32_t len = encapsulation == IPV4 ? wrap_ipv4(from, p) : wrap_ipv6(from, p);

	pcap_frame(out, w.now, (struct cspan){frame, len});
	fate->is_marked = scene->is_marked && is_data(p->h.bth.opcode);
	if (!scene->is_hit || from != scene->hit_from || n_sent[from]++ != scene->hit)
		return;
	fate->trimmed = scene->trimmed;
	fate->is_lost = scene->trimmed == 0;
}

/* Both ends; end 1 has room for so many packets ahead of a gap. */
static void open_ends(uint32_t early_pkts)
{
	start(1);
	w.now = 1000000;
	for (uint32_t i = 0; i < 2; i++) {
		w.end[i].cfg.has_service_time = scene->has_service_time;
		w.end[i].qp[0].attr.flags = (uint8_t)(scene->flags | MRC_OBLIVIOUS);
	}
	w.end[1].cfg.max_early_pkts = early_pkts;
	join();
	w.script = on_sent;
}

static void work(uint32_t len, enum engine_status status)
{
	struct work k = {.cookie = 1,
			 .code = scene->code,
			 .len = len,
			 .imm = 0x01020304,
			 .flags = ENGINE_SOLICITED};

	assert_int_equal(try_post(&k), 0);
	run();
	expect_sent(&k, status);
}

static void play_work(void)
{
	open_ends(8192);
	post_recv(1, 0, 1);
	work(scene->len, ENGINE_OK);
}

/* A short one is before it: the round trip is known. */
static void play_second(void)
{
	open_ends(8192);
	post_recv(1, 0, 1);
	work(SHORT, ENGINE_OK);
	work(scene->len, ENGINE_OK);
}

static void play_unexpected(void)
{
	open_ends(8192);
	work(scene->len, ENGINE_REMOTE_OPERATION);
}

static void send_stray(uint8_t opcode, uint32_t ahead)
{
	struct mrc_pkt h = {
		.bth = {.opcode = opcode,
			.pkey = MRC_PKEY_DEFAULT,
			.dest_qp = w.end[1].qp[0].number,
			.psn = psn24_add(psn24_of(w.end[1].qp[0].attr.rq_psn), (int32_t)ahead).v},
		.reth = {.va = area_va(TARGET),
			 .rkey = area_key(&w.end[1], TARGET) + scene->key,
			 .dmalen = 8},
		.payload = {.len = 8},
	};
	uint8_t bytes[ENGINE_HEAD_MAX];

	if (mrc_opcode_name(opcode)) {
		inject(1, &h);
		return;
	}
	/* Headers of what is not assigned are nobody's business: BTH and some zeros. */
	memset(bytes, 0, sizeof bytes);
	mrc_bth_put(&h.bth, bytes);
	inject_bytes(1, bytes, 28);
}

/* Answers to packets that end 0 did not send. The range of end 1 is full or shrinks meanwhile. */
static void play_stray(void)
{
	open_ends(MRC_MPR_UNIT);
	if (scene->flags & MRC_DYNAMIC_MPR) {
		w.end[1].qp[0].attr.mpr = 1;
		assert_int_equal(end_set(&w.end[1], w.now, 0, MRC_RTS, MRC_SET_MPR), 0);
	}
	if (scene->ahead > 0)
		send_stray(scene->opcode, 1);
	send_stray(scene->opcode, scene->ahead);
	run_until(w.now + 5000);
}

static void play_endpoint(void)
{
	struct mrc_endpoint request = {.peer = PEER,
				       .local = LOCAL,
				       .ev = {.value = 0xc0de1234},
				       .op = scene->op,
				       .tclass = ENGINE_DATA,
				       .has_service_time = scene->has_service_time,
				       .port_status = 5,
				       .cookie = 1};
	struct mrc_endpoint_done done;

	open_ends(8192);
	assert_int_equal(mrc_endpoint_post(w.end[0].e, w.now, &request), 0);
	run();
	assert_int_equal(mrc_endpoint_poll(w.end[0].e, &done, 1), 1);
	assert_int_equal(done.news, MRC_ENDPOINT_ANSWERED);
}

#define PLAIN MRC_NO_TIMESTAMPS
static const struct scene scenes[] = {
	{"write", play_work, .code = ENGINE_WRITE, .len = MESSAGE},
	{"write-imm", play_work, .code = ENGINE_WRITE_IMM, .len = MESSAGE},
	{"write-only", play_work, .code = ENGINE_WRITE, .len = SHORT},
	{"write-only-imm", play_work, .code = ENGINE_WRITE_IMM, .len = SHORT},
	{"write-empty", play_work, .code = ENGINE_WRITE},
	{"plain-write", play_work, .code = ENGINE_WRITE, .len = MESSAGE, .flags = PLAIN},
	{"plain-write-imm", play_work, .code = ENGINE_WRITE_IMM, .len = MESSAGE, .flags = PLAIN},
	{"plain-write-only", play_work, .code = ENGINE_WRITE, .len = SHORT, .flags = PLAIN},
	{"plain-write-only-imm", play_work, .code = ENGINE_WRITE_IMM, .len = SHORT, .flags = PLAIN},
	{"marked", play_work, .code = ENGINE_WRITE, .len = SHORT, .is_marked = true},
	{"range", play_work, .code = ENGINE_WRITE, .len = SHORT, .flags = MRC_DYNAMIC_MPR},
	{"gap", play_work, .code = ENGINE_WRITE, .len = MESSAGE, .is_hit = true},
	{"probe", play_second, .code = ENGINE_WRITE, .len = MESSAGE, .is_hit = true, .hit = 3},
	{"plain-probe", play_second, .code = ENGINE_WRITE, .len = MESSAGE, .flags = PLAIN,
	 .is_hit = true, .hit = 3},
	{"trimmed", play_work, .code = ENGINE_WRITE, .len = MESSAGE, .is_hit = true, .hit = 1,
	 .trimmed = NET_TRIMMED},
	{"trimmed-lasthop", play_work, .code = ENGINE_WRITE, .len = MESSAGE, .is_hit = true,
	 .hit = 1, .trimmed = NET_TRIMMED_LASTHOP},
	{"ack-lost", play_second, .code = ENGINE_WRITE, .len = SHORT, .is_hit = true, .hit = 3,
	 .hit_from = 1},
	{"service-time", play_work, .code = ENGINE_WRITE, .len = SHORT, .flags = PLAIN,
	 .has_service_time = true},
	{"no-receive", play_unexpected, .code = ENGINE_WRITE_IMM, .len = SHORT},
	{"invalid", play_stray, .opcode = 0xc4},
	{"access", play_stray, .opcode = MRC_OP_WRITE_ONLY, .key = 7},
	{"no-bitmap", play_stray, .opcode = MRC_OP_WRITE_ONLY, .ahead = 130},
	{"out-of-range", play_stray, .opcode = MRC_OP_WRITE_ONLY, .ahead = 200,
	 .flags = MRC_DYNAMIC_MPR},
	{"port-status", play_endpoint, .op = MRC_ENDPOINT_PORT_STATUS},
	{"ev-probe", play_endpoint, .op = MRC_ENDPOINT_EV_PROBE},
	{"ev-probe-service-time", play_endpoint, .op = MRC_ENDPOINT_EV_PROBE,
	 .has_service_time = true},
};

static bool capture(const char *directory)
{
	char path[4096];
	int len = snprintf(path, sizeof path, "%s/%s-%s.pcap", directory, scene->name,
			   encapsulations[encapsulation]);

	out = len > 0 && (size_t)len < sizeof path ? fopen(path, "wb") : NULL;
	if (!out)
		return false;
	pcap_begin(out);
	memset(n_sent, 0, sizeof n_sent);
	scene->play();
	end_close(&w.end[0]);
	end_close(&w.end[1]);
	return fclose(out) == 0;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	for (uint32_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
		for (encapsulation = IPV4; encapsulation < ENCAPSULATIONS; encapsulation++) {
			scene = &scenes[i];
			if (!capture(argv[1])) {
				perror(argv[1]);
				return EXIT_FAILURE;
			}
		}
	return EXIT_SUCCESS;
}
