#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>

#include "tools/command.h"
#include "tools/ping.h"

static void put_text(const char *key, const char *text)
{
	printf("\"%s\":", key);
	text_put_json(stdout, text);
}

static void put_rtt(const struct stats *s)
{
	if (!s->n) {
		fputs(",\"rtt_ns\":null", stdout);
		return;
	}
	printf(",\"rtt_ns\":{\"min\":%" PRIu64 ",\"median\":%" PRIu64 ",\"p99\":%" PRIu64
	       ",\"max\":%" PRIu64 "}",
	       s->min, s->p50, s->p99, s->max);
}

static int put_ports(const struct ping *p)
{
	bool is_first = true;

	fputs(",\"ports\":[", stdout);
	for (uint8_t port = 0; port < p->info.n_ports; port++) {
		struct ping_sum sum;

		if (ping_sum(p, &port, &sum))
			return STATUS_FILE;
		if (!sum.n_paths)
			continue;
		printf("%s{\"port\":%u,", is_first ? "" : ",", port + 1u);
		put_text("interface", p->info.ports[port].interface);
		printf(",\"paths\":%u,\"silent\":%u,\"asked\":%" PRIu64 ",\"answered\":%" PRIu64,
		       sum.n_paths, sum.n_silent, sum.n_asked, sum.n_answers);
		put_rtt(&sum.rtt_ns);
		putchar('}');
		is_first = false;
	}
	putchar(']');
	return STATUS_OK;
}

static void put_path(const struct ping *p, const struct ping_path *path)
{
	struct stats s = stats_of(path->rtt_ns, path->n_answers);
	char peer[INET6_ADDRSTRLEN];
	struct text value;

	text_clear(&value);
	ping_value(path, &value);
	inet_ntop(AF_INET6, path->question.dgid, peer, sizeof peer);
	printf("{\"port\":%u,", path->question.port + 1u);
	put_text("value", value.at);
	putchar(',');
	put_text("peer", peer);
	printf(",\"asked\":%u,\"answered\":%u", p->n_rounds, path->n_answers);
	put_rtt(&s);
	putchar('}');
}

int ping_json(const struct ping *p)
{
	putchar('{');
	put_text("device", p->info.name);
	putchar(',');
	put_text("driver", nic_driver_names[p->info.setup.driver]);
	if (p->has_profile)
		printf(",\"profile\":\"%" PRIu64 "\"", p->profile);
	printf(",\"dscp\":%u,\"rounds\":%u", p->paths[0].question.dscp, p->n_rounds);
	if (put_ports(p))
		return STATUS_FILE;
	fputs(",\"paths\":[", stdout);
	for (uint32_t i = 0; i < p->n_paths; i++) {
		fputs(i ? "," : "", stdout);
		put_path(p, &p->paths[i]);
	}
	puts("]}");
	return STATUS_OK;
}
