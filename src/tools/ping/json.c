#include <arpa/inet.h>
#include <stdio.h>

#include "tools/command.h"
#include "tools/json_file.h"
#include "tools/ping/ping.h"

static void put_rtt(struct json_writer *w, const struct stats *s)
{
	if (!s->n) {
		json_null(w, "rtt_ns");
		return;
	}
	json_object(w, "rtt_ns", JSON_INLINE);
	json_number(w, "min", s->min);
	json_number(w, "median", s->p50);
	json_number(w, "p99", s->p99);
	json_number(w, "max", s->max);
	json_close(w);
}

static int put_ports(struct json_writer *w, const struct ping *p)
{
	json_array(w, "ports", JSON_INLINE);
	for (uint8_t port = 0; port < p->info.n_ports; port++) {
		struct ping_sum sum;

		if (ping_sum(p, &port, &sum))
			return STATUS_FILE;
		if (!sum.n_paths)
			continue;
		json_object(w, NULL, JSON_INLINE);
		json_number(w, "port", port + 1u);
		json_text(w, "interface", p->info.ports[port].interface);
		json_number(w, "paths", sum.n_paths);
		json_number(w, "silent", sum.n_silent);
		json_number(w, "asked", sum.n_asked);
		json_number(w, "answered", sum.n_answers);
		put_rtt(w, &sum.rtt_ns);
		json_close(w);
	}
	json_close(w);
	return STATUS_OK;
}

static void put_path(struct json_writer *w, const struct ping *p, const struct ping_path *path)
{
	struct stats s = stats_of(path->rtt_ns, path->n_answers);
	char peer[INET6_ADDRSTRLEN];
	struct text value;

	text_clear(&value);
	ping_value(path, &value);
	inet_ntop(AF_INET6, path->question.dgid, peer, sizeof peer);
	json_object(w, NULL, JSON_INLINE);
	json_number(w, "port", path->question.port + 1u);
	json_text(w, "value", value.at);
	json_text(w, "peer", peer);
	json_number(w, "asked", p->n_rounds);
	json_number(w, "answered", path->n_answers);
	put_rtt(w, &s);
	json_close(w);
}

int ping_json(const struct ping *p)
{
	struct json_writer w = json_file(stdout);

	json_object(&w, NULL, JSON_INLINE);
	json_text(&w, "device", p->info.name);
	json_text(&w, "driver", config_driver_names[p->info.setup.driver]);
	if (p->has_profile)
		json_number_text(&w, "profile", p->profile);
	json_number(&w, "dscp", p->paths[0].question.dscp);
	json_number(&w, "rounds", p->n_rounds);
	if (put_ports(&w, p))
		return STATUS_FILE;
	json_array(&w, "paths", JSON_INLINE);
	for (uint32_t i = 0; i < p->n_paths; i++)
		put_path(&w, p, &p->paths[i]);
	json_close(&w);
	json_close(&w);
	json_end(&w);
	return STATUS_OK;
}
