/* A look of `weft top` as a line of JSON. */
#include <inttypes.h>
#include <string.h>

#include "tools/text.h"
#include "tools/top.h"

static void put_ports(const struct member_device *d, FILE *out)
{
	fputs(",\"ports\":[", out);
	for (uint32_t i = 0; i < d->n_ports && i < MEMBER_PORTS; i++) {
		fprintf(out, "%s{\"port\":%u,\"interface\":", i ? "," : "", i + 1);
		text_put_json(out, d->port[i]);
		fprintf(out, ",\"up\":%s}", d->ports_up >> i & 1 ? "true" : "false");
	}
	fputs("]", out);
}

/* The ways of each port, a letter each: good, skip, bad, denied. */
static void put_ways(const struct top_pair *pair, FILE *out)
{
	static const char letters[TOP_WAYS] = {'g', 's', 'b', 'd'};
	uint32_t shown = top_ways_shown(&pair->p);
	bool is_first = true;

	fputs(",\"ways_of_ports\":{", out);
	for (uint32_t port = 0; port < MEMBER_PORTS; port++) {
		uint32_t end = pair->first[port + 1] < shown ? pair->first[port + 1] : shown;

		if (pair->first[port] >= end)
			continue;
		fprintf(out, "%s\"%u\":\"", is_first ? "" : ",", port + 1);
		for (uint32_t i = pair->first[port]; i < end; i++)
			fputc(letters[top_way_state(&pair->p, i)], out);
		fputc('"', out);
		is_first = false;
	}
	fputs("}", out);
}

static void put_pair(const struct top_pair *pair, FILE *out)
{
	const struct member_pair *p = &pair->p;
	char peer[64];

	top_peer(p, peer);
	fprintf(out,
		"{\"number\":%u,\"remote\":%u,\"peer\":\"%s\",\"state\":\"%s\",\"profile\":"
		"\"%" PRIu64 "\",\"sent_bytes\":%" PRIu64 ",\"got_bytes\":%" PRIu64
		",\"sent_packets\":%" PRIu64 ",\"again_packets\":%" PRIu64 ",\"timeouts\":%" PRIu64
		",\"window_bytes\":%" PRIu64 ",\"inflight_bytes\":%" PRIu64 ",\"srtt_ns\":%" PRIu64,
		p->number, p->remote, peer, top_state_word(p->state), p->profile, p->sent_bytes,
		p->got_bytes, p->sent_packets, p->again_packets, p->timeouts, p->window_bytes,
		p->inflight_bytes, p->srtt_ns);
	if (pair->has_rate)
		fprintf(out, ",\"tx_bps\":%" PRIu64 ",\"rx_bps\":%" PRIu64 ",\"again\":%" PRIu64,
			pair->tx_bps, pair->rx_bps, pair->again);
	fprintf(out,
		",\"open_ports\":%u,\"ways\":{\"good\":%u,\"skip\":%u,\"bad\":%u,\"denied\":%u}",
		p->open_ports, p->ways[TOP_GOOD], p->ways[TOP_SKIP], p->ways[TOP_BAD],
		p->ways[TOP_DENIED]);
	put_ways(pair, out);
	fputs("}", out);
}

static void put_process(const struct top_process *p, FILE *out)
{
	fprintf(out, "{\"pid\":%d,\"uid\":%u,\"command\":", (int)p->who.pid, (unsigned)p->who.uid);
	text_put_json(out, p->who.command);
	fputs(",\"driver\":", out);
	text_put_json(out, p->device.driver);
	fprintf(out,
		",\"n_pairs\":%u,\"rx_packets\":%" PRIu64 ",\"tx_packets\":%" PRIu64
		",\"rx_dropped\":%" PRIu64,
		p->device.n_pairs, p->device.rx_packets, p->device.tx_packets,
		p->device.rx_dropped);
	put_ports(&p->device, out);
	fputs(",\"pairs\":[", out);
	for (uint32_t i = 0; i < p->n; i++) {
		fputs(i ? "," : "", out);
		put_pair(&p->pairs[i], out);
	}
	fputs("]}", out);
}

void top_json(const struct top *t, FILE *out)
{
	fputs("{\"devices\":[", out);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct top_device *d = &t->devices[i];

		fputs(i ? ",{\"name\":" : "{\"name\":", out);
		text_put_json(out, d->name);
		fputs(",\"processes\":[", out);
		for (uint32_t k = 0; k < d->n; k++) {
			fputs(k ? "," : "", out);
			put_process(&d->list[k], out);
		}
		fputs("]}", out);
	}
	fputs("]}\n", out);
}
