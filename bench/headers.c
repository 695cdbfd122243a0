/* How long headers take to write and to read, beside a memcpy of the same bytes in the same run.
 *
 * bench-headers [--quick] [--json]. Times are reported, never judged. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "catalog.h"
#include "tools/json_file.h"
#include "wire/mrc.h"

#define BATCH 10000u

/* What the calls work on; volatile reads keep the compiler from computing them once. */
struct work {
	uint8_t bytes[64], copy[64];
	struct mrc_bth bth;
	struct meth meth;
	struct tseth tseth;
	struct reth reth;
	struct mrc_pkt pkt;
	struct sample native, srv6;
	struct net_cfg cfg;
};

struct row {
	const char *what;
	void (*call)(struct work *w);
	double aim_ns; /* 0: none */
	double best_ns;
};

/* Tells the compiler that memory changed, so that no call is left out or merged with the next. */
static void touch(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void copy_36(struct work *w)
{
	memcpy(w->copy, w->bytes, 36);
	touch(w);
}

static void four_headers(struct work *w)
{
	mrc_bth_put(&w->bth, w->bytes);
	meth_put(&w->meth, w->bytes + 12);
	tseth_put(&w->tseth, w->bytes + 16);
	reth_put(&w->reth, w->bytes + 20);
	touch(w);
	mrc_bth_get(w->bytes, &w->bth);
	meth_get(w->bytes + 12, &w->meth);
	tseth_get(w->bytes + 16, &w->tseth);
	reth_get(w->bytes + 20, &w->reth);
	touch(w);
}

static void stack_by_opcode(struct work *w)
{
	struct cursor c;
	uint32_t n = mrc_head_put(&w->pkt, (struct span){w->bytes, sizeof w->bytes});

	touch(w);
	c = cursor_of((struct cspan){w->bytes, n});
	mrc_head_get(&c, false, &w->pkt, NULL);
	touch(w);
}

static void decode(struct work *w, const struct sample *s)
{
	struct wire_packet pkt;

	wire_packet_get((struct cspan){s->frame.bytes, s->frame.len}, NET_LINK_ETHERNET, &w->cfg,
			&pkt, NULL);
	touch(&pkt);
}

static void whole_packet(struct work *w)
{
	decode(w, &w->native);
}

static void whole_packet_srv6(struct work *w)
{
	decode(w, &w->srv6);
}

static void measure(struct row *r, struct work *w)
{
	double start = now_s();

	for (unsigned i = 0; i < BATCH; i++)
		r->call(w);
	double ns = (now_s() - start) * 1e9 / BATCH;

	if (r->best_ns == 0 || ns < r->best_ns)
		r->best_ns = ns;
}

static void print_table(const struct row *rows, size_t n)
{
	printf("%-44s %9s %9s  %s\n", "", "ns", "x memcpy", "aim");
	for (size_t i = 0; i < n; i++) {
		printf("%-44s %9.1f %9.2f", rows[i].what, rows[i].best_ns,
		       rows[i].best_ns / rows[0].best_ns);
		if (rows[i].aim_ns > 0)
			printf("  at most %.0f ns", rows[i].aim_ns);
		putchar('\n');
	}
}

static void print_json(const struct row *rows, size_t n)
{
	struct json_writer w = json_file(stdout);

	json_object(&w, NULL, JSON_INLINE);
	json_array(&w, "headers", JSON_INLINE);
	for (size_t i = 0; i < n; i++) {
		json_object(&w, NULL, JSON_INLINE);
		json_text(&w, "what", rows[i].what);
		json_measured(&w, "ns", rows[i].best_ns, 2);
		json_measured(&w, "ratio_to_memcpy", rows[i].best_ns / rows[0].best_ns, 3);
		json_close(&w);
	}
	json_close(&w);
	json_close(&w);
	json_end(&w);
}

int main(int argc, char **argv)
{
	static struct work w;
	struct row rows[] = {
		{"memcpy, 36 bytes", copy_36, 0, 0},
		{"BTH+METH+TSETH+RETH, put then get", four_headers, 30, 0},
		{"the same by opcode, head_put then head_get", stack_by_opcode, 0, 0},
		{"whole packet, 256 bytes of payload, ICRC checked", whole_packet, 0, 0},
		{"the same packet in SRv6 with SRH", whole_packet_srv6, 0, 0},
	};
	const size_t n = sizeof rows / sizeof rows[0];
	unsigned rounds = 200;
	bool json = false;

	for (int i = 1; i < argc; i++) {
		json |= strcmp(argv[i], "--json") == 0;
		if (strcmp(argv[i], "--quick") == 0)
			rounds = 20;
	}
	w.cfg = catalog_cfg();
	catalog_find("MRC WRITE First timestamp, IPv6", &w.native);
	catalog_find("MRC WRITE First timestamp, SRv6 uSID SRH", &w.srv6);
	w.bth = (struct mrc_bth){.opcode = MRC_OP_WRITE_ONLY, .ts = 1, .psn = 0x123456};
	w.pkt.bth = w.bth;
	for (unsigned round = 0; round < rounds; round++)
		for (size_t i = 0; i < n; i++)
			measure(&rows[i], &w);
	if (json)
		print_json(rows, n);
	else
		print_table(rows, n);
	return 0;
}
