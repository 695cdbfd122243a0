/* Writes the seeds of every fuzz target from the sample packets: usage: seeds DIRECTORY
 * DIRECTORY/net and /packet get frames, /roce and /mrc what follows UDP without the ICRC, /srh
 * segment routing headers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "catalog.h"
#include "wire/icrc.h"

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
	uint32_t end = net->trim == NET_WHOLE ? net->end - icrc_bytes : net->end;
	struct cspan bytes = {s->frame.bytes + net->transport, end - net->transport};

	write_seed(s->family == WIRE_MRC ? "mrc" : "roce", number, bytes);
}

static void write_sample(const struct sample *s, uint32_t number)
{
	const struct net_cfg cfg = catalog_cfg();
	struct cspan frame = {s->frame.bytes, s->frame.len};
	struct net_pkt net;

	write_seed("net", number, frame);
	write_seed("packet", number, frame);
	if (net_get(frame, NET_LINK_ETHERNET, &cfg, &net, NULL).why != WIRE_DROP_NONE)
		return;
	if (net.end >= net.transport + icrc_bytes)
		write_transport(s, number, &net);
	if (net.has_srh)
		write_seed("srh", number,
			   (struct cspan){frame.at + net.srh.at, 8u + 8u * net.srh.head.ext_len});
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
	return EXIT_SUCCESS;
}
