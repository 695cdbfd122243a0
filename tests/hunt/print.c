/* A plan as lines that a person can read. */
#include <inttypes.h>
#include <stdio.h>

#include "hunt.h"
#include "mem/mem.h"

static const char *const kinds[] = {"a wire", "leaves and spines", "a fat tree"};
static const char *const modes[] = {"ECMP", "structured entropy", "uSID", "uSID and SRH"};

const char *hunt_op_name(const struct hunt_work *w)
{
	static const char *const ops[] = {"WRITE", "WRITE_IMM", "SEND",      "SEND_IMM", "SEND_INV",
					  "READ",  "ATOMIC",    "LOCAL_INV", "BIND"};

	if (w->code == ENGINE_ATOMIC)
		return w->atomic_op == ENGINE_FETCH_ADD ? "FAA" : "CAS";
	return ops[w->code];
}

const char *hunt_flaw_name(enum hunt_flaw flaw)
{
	static const char *const flaws[HUNT_FLAWS] = {"sound",
						      "bad remote key",
						      "key of another domain",
						      "beyond",
						      "forbidden",
						      "bad local key",
						      "misaligned",
						      "receive too short",
						      "window not bound",
						      "window invalidated",
						      "window bound anew",
						      "beyond the window",
						      "right not of the window",
						      "window of another pair",
						      "bad invalidate",
						      "bad bind",
						      "no receive"};

	return flaws[flaw];
}

static void print_window(const struct hunt_plan *s, const struct hunt_work *w)
{
	const struct hunt_bind *b = &w->bind;

	if (w->window != HUNT_NOTHING)
		printf(", window %u of type %u", w->window,
		       s->windows[w->window].kind == MEM_WINDOW_1 ? 1 : 2);
	if (w->window != HUNT_NOTHING || hunt_is_local(w) || w->code == ENGINE_SEND_INV)
		printf(", key %08x", w->key);
	if (w->code != ENGINE_BIND)
		return;
	if (b->range.len == 0)
		printf(", to nothing");
	else
		printf(", to bytes %u..%u of end %u's region %08x for%s%s%s", b->range.at,
		       b->range.at + b->range.len - 1, b->arena, b->region,
		       b->access & MEM_REMOTE_WRITE ? " write" : "",
		       b->access & MEM_REMOTE_READ ? " read" : "",
		       b->access & MEM_REMOTE_ATOMIC ? " atomic" : "");
	printf(", new key %08x", b->new_key);
}

static void print_work(const struct hunt_plan *s, uint32_t i)
{
	const struct hunt_work *w = &s->works[i];

	printf("    work %u: %s", i, hunt_op_name(w));
	if (w->n_pkts > 0)
		printf(" %u B in %u piece%s, packets %" PRIu64 "..%" PRIu64, w->len, w->n_sg,
		       w->n_sg == 1 ? "" : "s", w->first, w->first + w->n_pkts - 1);
	printf(", at %.3f us", (double)w->at / PSEC_US);
	if (w->after > 0)
		printf(", after message %u to end %u", w->after - 1, w->after_end);
	if (w->flags & ENGINE_SILENT)
		printf(", silent");
	if (w->flags & ENGINE_SOLICITED)
		printf(", solicited");
	if (w->flags & ENGINE_FENCE)
		printf(", fence");
	if (w->flags & ENGINE_TRUSTED)
		printf(", trusted");
	print_window(s, w);
	if (w->flaw)
		printf(", FLAW: %s", hunt_flaw_name(w->flaw));
	printf("\n");
}

static void print_recvs(const struct hunt_plan *s, uint32_t end, uint32_t host)
{
	uint32_t n = 0;
	psec last = 0;

	for (uint32_t i = 0; i < s->n_recvs; i++)
		if (s->recvs[i].end == end && s->recvs[i].host == host) {
			n++;
			last = s->recvs[i].at;
		}
	if (n > 0)
		printf("    %u receives, the last posted at %.3f us\n", n, (double)last / PSEC_US);
}

/* What all transports have that draw nothing of their own. */
static void print_manner(const struct hunt_end *end)
{
	printf("    port %u; timeout %.1f us, %u retries, %u for receives; RNR timer %.0f us\n",
	       end->port, (double)hunt_timeout_ns(end->timeout) / 1000, end->retries,
	       end->rnr_retries, (double)hunt_rnr_ns(end->rnr_timer) / 1000);
	printf("    reads and atomics: %u out, %u in%s\n", end->rd_atomic, end->dest_rd_atomic,
	       end->has_srq ? "; shared receives" : "");
}

static void print_end(const struct hunt_plan *s, uint32_t e)
{
	const struct hunt_end *end = &s->ends[e];

	printf("  end %u: h%u qp %u, first psn %u, to end %u; %u works at a time\n", e, end->host,
	       end->qp, end->psn, e ^ 1, end->max_send);
	if (s->transport->print_own)
		s->transport->print_own(s, e);
	else
		print_manner(end);
	print_recvs(s, e, end->host);
	for (uint32_t i = 0; i < end->n_works; i++)
		print_work(s, end->first_work + i);
}

void hunt_print(const struct hunt_plan *s)
{
	char text[256];

	printf("seed %" PRIu64 ": %s of %u hosts, %u plane%s, %u ports each, %" PRIu64
	       " Gb/s, %.3f us; %s\n",
	       s->seed, kinds[s->shape.kind], s->topology.n_hosts, s->shape.planes,
	       s->shape.planes == 1 ? "" : "s", s->shape.nic_ports,
	       s->shape.links[0].rate_bps / UINT64_C(1000000000),
	       (double)s->shape.links[0].delay_ps / PSEC_US, modes[s->routing_cfg.mode]);
	printf("  PMTU %u, window %u B, a packet in %u asks for an acknowledgement%s%s\n", s->pmtu,
	       s->window_bytes, s->ack_every, s->has_dcqcn ? ", DCQCN" : "",
	       s->has_forgery ? ", packets may be forged" : "");
	for (uint32_t e = 0; e < s->n_ends; e++)
		print_end(s, e);
	for (uint32_t h = 0; h < s->topology.n_hosts; h++)
		if (s->has_srq[h]) {
			printf("  shared receives of h%u\n", h);
			print_recvs(s, HUNT_NOTHING, h);
		}
	for (uint32_t i = 0; i < s->n_faults; i++) {
		fault_print(&s->faults[i], &s->topology, text, sizeof text);
		printf("  fault: %s\n", text);
	}
	if (s->n_tail > 0)
		printf("  %u works of each end when all is healed, one in %.1f us\n", s->n_tail,
		       (double)s->tail_gap / PSEC_US);
	printf("  healed at %.3f us, over by %.3f us\n", (double)s->healed_at / PSEC_US,
	       (double)s->bound / PSEC_US);
}
