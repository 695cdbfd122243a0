#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "tools/amount.h"
#include "tools/command.h"
#include "tools/ping/ping.h"

#define ROW_PATHS 64u
#define PS_OF_NS  1000u

/* Empty where nothing was measured. */
static struct amount time_of(const struct stats *s, uint64_t ns)
{
	return s->n ? amount_time(ns * PS_OF_NS) : (struct amount){"-"};
}

static void put_times(const struct stats *s)
{
	printf("  %10s  %10s  %10s  %10s\n", time_of(s, s->min).at, time_of(s, s->p50).at,
	       time_of(s, s->p99).at, time_of(s, s->max).at);
}

static int port_width(const struct ping *p)
{
	int width = (int)strlen("plane");

	for (uint32_t i = 0; i < p->info.n_ports; i++)
		if ((int)strlen(p->info.ports[i].interface) > width)
			width = (int)strlen(p->info.ports[i].interface);
	return width;
}

static int put_planes(const struct ping *p, int width)
{
	struct ping_sum sum;

	printf("%-*s  %5s  %6s  %8s  %10s  %10s  %10s  %10s\n", width, "plane", "paths", "silent",
	       "lost", "min", "median", "99%", "max");
	for (uint8_t port = 0; port < p->info.n_ports; port++) {
		if (ping_sum(p, &port, &sum))
			return STATUS_FILE;
		if (!sum.n_paths)
			continue;
		printf("%-*s  %5u  %6u  %7.1f%%", width, p->info.ports[port].interface, sum.n_paths,
		       sum.n_silent,
		       100.0 * (double)(sum.n_asked - sum.n_answers) / (double)sum.n_asked);
		put_times(&sum.rtt_ns);
	}
	return STATUS_OK;
}

static char mark_of(const struct ping *p, const struct ping_path *path)
{
	if (path->n_answers == 0)
		return '.';
	return path->n_answers < p->n_rounds ? '-' : 'o';
}

/* A row for each plane, or more where it has many paths, and a mark for each path. */
static void put_picture(const struct ping *p, int width)
{
	for (uint8_t port = 0; port < p->info.n_ports; port++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < p->n_paths; i++) {
			if (p->paths[i].question.port != port)
				continue;
			if (n % ROW_PATHS == 0)
				printf("%s%-*s  ", n ? "\n" : "", width,
				       n ? "" : p->info.ports[port].interface);
			putchar(mark_of(p, &p->paths[i]));
			n++;
		}
		if (n)
			putchar('\n');
	}
}

static void put_paths(const struct ping *p, int width)
{
	int wide = (int)strlen("value");
	struct text value;

	for (uint32_t i = 0; i < p->n_paths; i++) {
		text_clear(&value);
		ping_value(&p->paths[i], &value);
		if ((int)value.len > wide)
			wide = (int)value.len;
	}
	printf("\n%-*s  %-*s  %8s  %10s  %10s  %10s  %10s\n", width, "plane", wide, "value",
	       "answered", "min", "median", "99%", "max");
	for (uint32_t i = 0; i < p->n_paths; i++) {
		const struct ping_path *path = &p->paths[i];
		struct stats s = stats_of(path->rtt_ns, path->n_answers);

		text_clear(&value);
		ping_value(path, &value);
		printf("%-*s  %-*s  %8u", width, p->info.ports[path->question.port].interface, wide,
		       value.at, path->n_answers);
		put_times(&s);
	}
}

int ping_table(const struct ping *p, bool has_paths)
{
	const uint8_t *dgid = p->paths[0].question.dgid;
	int width = port_width(p);
	char peer[INET6_ADDRSTRLEN];
	struct ping_sum all;

	if (ping_sum(p, NULL, &all))
		return STATUS_FILE;
	inet_ntop(AF_INET6, dgid, peer, sizeof peer);
	printf("%s, %s driver, to %s: %u paths, %u times\n\n", p->info.name,
	       config_driver_names[p->info.setup.driver],
	       strncmp(peer, "::ffff:", 7) ? peer : peer + 7, p->n_paths, p->n_rounds);
	if (put_planes(p, width))
		return STATUS_FILE;
	putchar('\n');
	put_picture(p, width);
	if (has_paths)
		put_paths(p, width);
	fputs("\no answered, - sometimes, . never: ", stdout);
	if (all.n_silent)
		printf("%u of %u paths are silent\n", all.n_silent, all.n_paths);
	else
		printf("every path answers\n");
	return STATUS_OK;
}
