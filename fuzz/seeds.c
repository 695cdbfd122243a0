/* Writes the seeds of every fuzz target: usage: seeds DIRECTORY
 * From the sample packets DIRECTORY/net, /packet and /fwd get frames, /roce and /mrc what follows
 * UDP without the ICRC, /srh segment routing headers; /mt_node those of multicast trees, and what
 * else comes to a node of one; /ref and /rc what two engines say to each other, /scenario the files
 * in SCENARIO_DIR, /setup a configuration of devices, and /control states of their control. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "catalog.h"
#include "control_sample.h"
#include "engine_seeds.h"
#include "engine_target.h"
#include "mt_records.h"
#include "ref_records.h"
#include "wire/icrc.h"

/* The build says where; without it, as seen from the root of the tree. */
#ifndef SCENARIO_DIR
#define SCENARIO_DIR "examples/scenarios"
#endif

static const char *root;

static void write_seed(const char *target, uint32_t number, struct cspan bytes)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", root, target);
	if (mkdir(path, 0777) && errno != EEXIST) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	snprintf(path, sizeof path, "%s/%s/%04u", root, target, number);
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(bytes.at, 1, bytes.len, f) != bytes.len || fclose(f)) {
		perror(path);
		exit(EXIT_FAILURE);
	}
}

static void write_transport(const struct sample *s, uint32_t number, const struct net_pkt *net)
{
	uint32_t end = net_is_cut(net) ? net->end : net->end - icrc_bytes;
	struct cspan bytes = {s->frame.bytes + net->transport, end - net->transport};

	write_seed(s->family == WIRE_MRC ? "mrc" : "roce", number, bytes);
}

/* Two bytes in front: which switch, and how much more payload there is. */
static void write_forwarded(uint32_t number, struct cspan frame)
{
	uint8_t bytes[2 + FRAME_MAX] = {(uint8_t)number, 0};

	memcpy(bytes + 2, frame.at, frame.len);
	write_seed("fwd", number, (struct cspan){bytes, 2 + frame.len});
}

/* Of each kind of record: what is left out of one is 0. Groups as fuzz_mt_node numbers them. */
#define MT_REQUEST(group, opcode, psn, bits)                                                      \
	{                                                                                         \
		MT_RECORD_MADE | MT_RECORD_IS_SEALED | MT_RECORD_IS_REQUEST | (bits), 0, (group), \
			(opcode), (uint8_t)(psn), 2                                               \
	}
#define MT_ANSWER(group, branch, opcode, psn, syndrome)                                     \
	{                                                                                   \
		MT_RECORD_MADE | MT_RECORD_IS_SEALED, 0, (group) | (branch) << 4, (opcode), \
			(uint8_t)(psn), (syndrome), 0, (uint8_t)((psn) + 1)                 \
	}
#define MT_RECORDS 16

/* Of each group: requests, some answers to them, CNPs and their window, and members that go. */
static void write_mt_groups(void)
{
	for (uint32_t group = 0; group < MT_RECORD_GROUPS; group++) {
		const uint8_t g = (uint8_t)group;
		const uint8_t records[MT_RECORDS][MT_RECORD_HEAD] = {
			MT_REQUEST(g, ROCE_OP_SEND_ONLY, 0, MT_RECORD_ASKS),
			MT_REQUEST(g, ROCE_OP_WRITE_ONLY, 1, MT_RECORD_HAS_CHECKSUM),
			MT_REQUEST(g, ROCE_OP_READ_REQUEST, 2, 0),
			MT_ANSWER(g, 0, ROCE_OP_ACKNOWLEDGE, 1, 0x1f),
			MT_ANSWER(g, 1, ROCE_OP_ACKNOWLEDGE, 1, 0x05),
			MT_ANSWER(g, 2, ROCE_OP_ACKNOWLEDGE, 1, 0x60),
			MT_ANSWER(g, 3, ROCE_OP_ACKNOWLEDGE, 1, 0x1f),
			MT_ANSWER(g, 4, ROCE_OP_ACKNOWLEDGE, 1, 0x21),
			MT_ANSWER(g, 0, ROCE_OP_CNP, 0, 0),
			MT_ANSWER(g, 3, ROCE_OP_CNP, 0, 0),
			{MT_RECORD_WINDOW, 0, g},
			{MT_RECORD_MEMBER, 0, g | 1 << 4, 1},
			{MT_RECORD_MEMBER, 0, g | 2 << 4, 2},
			{MT_RECORD_MEMBER, 0, g | 1 << 4, 0},
			MT_REQUEST(g, ROCE_OP_SEND_FIRST, 2, 0),
			MT_ANSWER(g, 0, ROCE_OP_ACKNOWLEDGE, 2, 0x62),
		};

		write_seed("mt_node", g, (struct cspan){records[0], sizeof records});
	}
}

/* A sample, sealed or not, as a node gets it from above and from below. */
static void write_mt_frame(uint32_t number, struct cspan frame)
{
	uint8_t bytes[2][MT_RECORD_HEAD + FRAME_MAX] = {{0}};

	bytes[0][MT_RECORD_WHAT] = MT_RECORD_FRAME;
	bytes[1][MT_RECORD_WHAT] = MT_RECORD_FRAME | MT_RECORD_IS_SEALED;
	for (uint32_t i = 0; i < 2; i++) {
		bytes[i][MT_RECORD_PORT] = (uint8_t)(1 + i);
		put_be16(bytes[i] + MT_RECORD_LEN, (uint16_t)frame.len);
		memcpy(bytes[i] + MT_RECORD_HEAD, frame.at, frame.len);
		write_seed("mt_node", 100 + 2 * number + i,
			   (struct cspan){bytes[i], MT_RECORD_HEAD + frame.len});
	}
}

static void write_sample(const struct sample *s, uint32_t number)
{
	const struct net_cfg cfg = catalog_cfg();
	struct cspan frame = {s->frame.bytes, s->frame.len};
	struct net_pkt net;

	write_seed("net", number, frame);
	write_seed("packet", number, frame);
	write_forwarded(number, frame);
	if (strcmp(s->file, "endmt") == 0)
		write_mt_frame(number, frame);
	if (net_get(frame, NET_LINK_ETHERNET, &cfg, &net, NULL).why != WIRE_DROP_NONE)
		return;
	if (net.end >= net.transport + icrc_bytes)
		write_transport(s, number, &net);
	if (net.has_srh)
		write_seed("srh", number,
			   (struct cspan){frame.at + net.srh.at, 8u + 8u * net.srh.head.ext_len});
}

static struct engine *new_engine(void)
{
	struct ref_cfg cfg = ref_record_cfg(NULL);
	struct engine *e = malloc(ref_ops.size(&cfg));

	if (!e || ref_ops.init(e, &cfg, 0) || ref_open(e, &ref_record_peer)) {
		fprintf(stderr, "seeds: no engine\n");
		exit(EXIT_FAILURE);
	}
	return e;
}

/* A message as its receiver gets it, and what its sender gets back: acknowledgements, or NACKs. */
static void write_conversation(uint32_t number, uint8_t flags, void *payload)
{
	struct engine *a = new_engine(), *b = new_engine();
	struct sge sge = {payload, 8 * 128, 0};
	struct op op = {.code = ENGINE_WRITE_IMM, .sg = &sge, .n_sg = 1};
	static struct records there, back;

	there.len = back.len = 0;
	ref_ops.post(a, 1, &op);
	records_converse(&there, &(struct talk){a, b, 1, 1, flags, 0});
	records_add(&there, RECORD_PULL, 0, NULL);
	records_add(&back, RECORD_POST, 0, NULL);
	records_add(&back, RECORD_PULL, 0, NULL);
	records_converse(&back, &(struct talk){b, NULL, 1, 1, 0, 0});
	records_add(&back, RECORD_WAIT, 255, NULL);
	records_add(&back, RECORD_PULL, 0, NULL);
	write_seed("ref", 2 * number, (struct cspan){there.bytes, there.len});
	write_seed("ref", 2 * number + 1, (struct cspan){back.bytes, back.len});
	free(a);
	free(b);
}

static void write_file(const char *name, uint32_t number)
{
	static uint8_t bytes[65536];
	char path[512];

	snprintf(path, sizeof path, "%s/%s", SCENARIO_DIR, name);
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;

	if (!f || ferror(f)) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	fclose(f);
	write_seed("scenario", number, (struct cspan){bytes, (uint32_t)n});
}

static void write_setup(void)
{
	static const char text[] =
		"# planes\n[weft_mrc0]\ntransport = mrc\ndriver = xdp\nports = eth0 eth1\n"
		"addresses = lo 192.0.2.1 fc00::1\ndscp-data = 10\ndscp-retransmit = 12\n"
		"dscp-no-trim = 0\ndscp-control = 46\necn = on\ntrim = 18 20\ncc = nscc\n"
		"window = 1 MiB\nrate = 100Gb/s\n"
		"ev = usid-srh:32:0xfc000000,16:0x100:0xf:0:3\nev-count = 4\n"
		"ev-min-active = 2\nev-burst = 1\n[weft_rc0]\nports = eth0\ncc = dcqcn\n";

	write_seed("setup", 0, (struct cspan){(const uint8_t *)text, sizeof text - 1});
}

static void write_controls(void)
{
	for (uint32_t i = 0; i < 8; i++) {
		struct prng p;
		size_t len = 0;

		prng_init(&p, 1, i);
		struct control *c = control_sample(&p, i);
		uint8_t *bytes = control_encode(c, &len);

		if (bytes)
			write_seed("control", i, (struct cspan){bytes, (uint32_t)len});
		free(bytes);
		control_free(c);
	}
}

static void write_scenarios(void)
{
	DIR *dir = opendir(SCENARIO_DIR);
	uint32_t number = 0;

	if (!dir) {
		perror(SCENARIO_DIR);
		exit(EXIT_FAILURE);
	}
	for (const struct dirent *e; (e = readdir(dir));)
		if (e->d_name[0] != '.')
			write_file(e->d_name, number++);
	closedir(dir);
}

int main(int argc, char **argv)
{
	static struct sample s;
	uint32_t number = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	root = argv[1];
	if (mkdir(root, 0777) && errno != EEXIST) {
		perror(root);
		return EXIT_FAILURE;
	}
	for (; number < catalog_size(); number++) {
		catalog_get(number, &s);
		write_sample(&s, number);
	}
	for (enum wire_drop why = WIRE_DROP_NONE + 1; why < WIRE_DROP_COUNT; why++) {
		catalog_damaged(why, &s);
		write_sample(&s, number++);
	}
	write_conversation(0, 0, NULL);
	write_conversation(1, RECORD_IS_TRIMMED, NULL);
	write_conversation(2, 0, (uint8_t[8 * 128]){0x57});
	engine_seeds_write(&target_mrc_engine, "mrc_engine", write_seed);
	engine_seeds_write(&target_rc, "rc", write_seed);
	write_mt_groups();
	write_scenarios();
	write_setup();
	write_controls();
	return EXIT_SUCCESS;
}
