/* A look of `weft top` as a line of JSON. */
#include <string.h>

#include "tools/json_file.h"
#include "tools/top/top.h"

static void put_ports(struct json_writer *w, const struct member_device *d)
{
	json_array(w, "ports", JSON_INLINE);
	for (uint32_t i = 0; i < d->n_ports && i < MEMBER_PORTS; i++) {
		json_object(w, NULL, JSON_INLINE);
		json_number(w, "port", i + 1);
		json_text(w, "interface", d->port[i]);
		json_truth(w, "up", d->ports_up >> i & 1);
		json_close(w);
	}
	json_close(w);
}

/* The EVs of each port, a letter each: good, skip, bad, denied. */
static void put_evs(struct json_writer *w, const struct top_pair *pair)
{
	static const char letters[TOP_EVS] = {'g', 's', 'b', 'd'};
	uint32_t shown = top_evs_shown(&pair->p);

	json_object(w, "evs_of_ports", JSON_INLINE);
	for (uint32_t port = 0; port < MEMBER_PORTS; port++) {
		uint32_t end = pair->first[port + 1] < shown ? pair->first[port + 1] : shown;
		char name[16], evs[MEMBER_EVS + 1];
		uint32_t n = 0;

		if (pair->first[port] >= end)
			continue;
		for (uint32_t i = pair->first[port]; i < end; i++)
			evs[n++] = letters[top_ev_state(&pair->p, i)];
		evs[n] = '\0';
		snprintf(name, sizeof name, "%u", port + 1);
		json_text(w, name, evs);
	}
	json_close(w);
}

static void put_pair(struct json_writer *w, const struct top_pair *pair)
{
	const struct member_pair *p = &pair->p;
	char peer[64];

	top_peer(p, peer);
	json_object(w, NULL, JSON_INLINE);
	json_number(w, "number", p->number);
	json_number(w, "remote", p->remote);
	json_text(w, "peer", peer);
	json_text(w, "state", top_state_word(p->state));
	json_number_text(w, "profile", p->profile);
	json_number(w, "sent_bytes", p->sent_bytes);
	json_number(w, "got_bytes", p->got_bytes);
	json_number(w, "sent_packets", p->sent_packets);
	json_number(w, "retx_packets", p->retx_packets);
	json_number(w, "timeouts", p->timeouts);
	json_number(w, "window_bytes", p->window_bytes);
	json_number(w, "inflight_bytes", p->inflight_bytes);
	json_number(w, "srtt_ns", p->srtt_ns);
	if (pair->has_rate) {
		json_number(w, "tx_bps", pair->tx_bps);
		json_number(w, "rx_bps", pair->rx_bps);
		json_number(w, "retx", pair->retx);
	}
	json_number(w, "open_ports", p->open_ports);
	json_object(w, "evs", JSON_INLINE);
	json_number(w, "good", p->evs[TOP_GOOD]);
	json_number(w, "skip", p->evs[TOP_SKIP]);
	json_number(w, "bad", p->evs[TOP_BAD]);
	json_number(w, "denied", p->evs[TOP_DENIED]);
	json_close(w);
	put_evs(w, pair);
	json_close(w);
}

static void put_process(struct json_writer *w, const struct top_process *p)
{
	json_object(w, NULL, JSON_INLINE);
	json_signed(w, "pid", p->who.pid);
	json_number(w, "uid", p->who.uid);
	json_text(w, "command", p->who.command);
	json_truth(w, "hidden", p->is_hidden);
	json_text(w, "driver", p->device.driver);
	json_number(w, "n_pairs", p->device.n_pairs);
	json_number(w, "rx_packets", p->device.rx_packets);
	json_number(w, "tx_packets", p->device.tx_packets);
	json_number(w, "rx_dropped", p->device.rx_dropped);
	json_number(w, "rx_missed", p->device.rx_missed);
	put_ports(w, &p->device);
	json_array(w, "pairs", JSON_INLINE);
	for (uint32_t i = 0; i < p->n; i++)
		put_pair(w, &p->pairs[i]);
	json_close(w);
	json_close(w);
}

void top_json(const struct top *t, FILE *out)
{
	struct json_writer w = json_file(out);

	json_object(&w, NULL, JSON_INLINE);
	json_array(&w, "devices", JSON_INLINE);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct top_device *d = &t->devices[i];

		json_object(&w, NULL, JSON_INLINE);
		json_text(&w, "name", d->name);
		json_text(&w, "transport", d->transport->name);
		json_array(&w, "processes", JSON_INLINE);
		for (uint32_t k = 0; k < d->n; k++)
			put_process(&w, &d->list[k]);
		json_close(&w);
		json_close(&w);
	}
	json_close(&w);
	json_close(&w);
	json_end(&w);
}
