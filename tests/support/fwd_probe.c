/* One switch of the forwarding plane behind standard input, for the kernel referee. Addresses and
 * frames are bare hex, all else decimal:
 *
 *	new                        forgets the switch that was there
 *	port MAC NEIGHBOUR         adds a port; they count from 0
 *	route ADDRESS LEN PORT     a route to a port
 *	route ADDRESS LEN local    to the node itself
 *	block FORMAT BLOCK         f3216 or f1616; the block in hex
 *	sid USID un|ua|dt6|dx6 PSP PORT
 *	trimmed DSCP LASTHOP_DSCP
 *	frame HEX                  answers `forward PORT HEX`, `local HEX` or `drop REASON` */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fwd/switch.h"

enum { PORTS_MAX = 16, SIDS_MAX = 16, ROUTES_MAX = 32, FRAME_MAX = 2048, LINE_BYTES = 8192 };

static struct fwd_port ports[PORTS_MAX];
static struct fwd_group groups[PORTS_MAX];
static uint16_t members[PORTS_MAX];
static struct fwd_sid sids[SIDS_MAX];
static struct fwd_switch sw;
static void *routes;

static void die(const char *what, const char *line)
{
	fprintf(stderr, "fwd_probe: %s: %s\n", what, line);
	exit(2);
}

static uint32_t hex(const char *text, uint8_t *out, uint32_t max)
{
	uint32_t n = 0;

	for (unsigned byte; text[0] && text[1]; text += 2) {
		if (n == max || sscanf(text, "%2x", &byte) != 1)
			die("bad hex", text);
		out[n++] = (uint8_t)byte;
	}
	if (text[0])
		die("odd hex", text);
	return n;
}

static void hex_exactly(const char *text, uint8_t *out, uint32_t n)
{
	if (hex(text, out, n) != n)
		die("short hex", text);
}

static unsigned number(const char *text, unsigned end)
{
	char *rest;
	unsigned long v = strtoul(text, &rest, 10);

	if (*text == '\0' || *rest != '\0' || v >= end)
		die("bad number", text);
	return (unsigned)v;
}

static void new_switch(void)
{
	memset(&sw, 0, sizeof sw);
	fwd_routes_init(&sw.routes, routes, ROUTES_MAX);
	sw.ports = ports;
	sw.groups = groups;
	sw.members = members;
	sw.sids.sids = sids;
	sw.hash_fields = FWD_HASH_5TUPLE;
}

static void add_port(const char *mac, const char *neighbour)
{
	uint16_t n = sw.n_ports;

	if (n == PORTS_MAX)
		die("too many ports", mac);
	hex_exactly(mac, ports[n].mac, 6);
	hex_exactly(neighbour, ports[n].neighbour, 6);
	members[n] = n;
	groups[n] = (struct fwd_group){.first = n, .n = 1};
	sw.n_ports++;
}

static void add_route(const char *address, const char *len, const char *to)
{
	struct fwd_prefix prefix = {.len = (uint8_t)number(len, 129)};

	hex_exactly(address, prefix.address, 16);
	if (fwd_routes_add(&sw.routes, &prefix,
			   strcmp(to, "local") == 0 ? FWD_LOCAL : number(to, sw.n_ports)) != 0)
		die("too many routes", address);
}

static void set_block(const char *format, const char *block)
{
	if (strcmp(format, "f3216") != 0 && strcmp(format, "f1616") != 0)
		die("no such format", format);
	sw.sids.format = strcmp(format, "f3216") == 0 ? FWD_F3216 : FWD_F1616;
	sw.sids.block = (uint32_t)strtoul(block, NULL, 16);
}

static void add_sid(const char *usid, const char *behaviour, const char *psp, const char *port)
{
	static const char *const names[] = {[FWD_SID_UN] = "un",
					    [FWD_SID_UA] = "ua",
					    [FWD_SID_DT6] = "dt6",
					    [FWD_SID_DX6] = "dx6"};
	struct fwd_sid *sid = &sids[sw.sids.n];

	if (sw.sids.n == SIDS_MAX)
		die("too many SIDs", usid);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(names[i], behaviour) == 0) {
			*sid = (struct fwd_sid){
				.usid = (uint16_t)strtoul(usid, NULL, 16),
				.behaviour = (uint8_t)i,
				.psp = number(psp, 2),
				.port = (uint16_t)number(port, sw.n_ports),
			};
			sw.sids.n++;
			return;
		}
	die("no such behaviour", behaviour);
}

static void forward(const char *text)
{
	uint8_t bytes[FRAME_MAX];
	uint32_t len = hex(text, bytes, sizeof bytes);
	struct fwd_frame f = {bytes, len, len};
	struct fwd_view view;
	struct fwd_verdict verdict = fwd_switch_forward(&sw, &f, &view);

	if (verdict.drop != FWD_DROP_NONE) {
		printf("drop %s\n", fwd_drop_name(verdict.drop));
		return;
	}
	if (verdict.local)
		printf("local ");
	else
		printf("forward %u ", verdict.port);
	for (uint32_t i = 0; i < f.len; i++)
		printf("%02x", f.at[i]);
	putchar('\n');
}

static void obey(char *line)
{
	char *words[6] = {NULL};
	unsigned n = 0;

	for (char *rest = line, *word; n < 6 && (word = strtok_r(rest, " \n", &rest)) != NULL;)
		words[n++] = word;
	if (n == 1 && strcmp(words[0], "new") == 0)
		new_switch();
	else if (n == 3 && strcmp(words[0], "port") == 0)
		add_port(words[1], words[2]);
	else if (n == 4 && strcmp(words[0], "route") == 0)
		add_route(words[1], words[2], words[3]);
	else if (n == 3 && strcmp(words[0], "block") == 0)
		set_block(words[1], words[2]);
	else if (n == 5 && strcmp(words[0], "sid") == 0)
		add_sid(words[1], words[2], words[3], words[4]);
	else if (n == 3 && strcmp(words[0], "trimmed") == 0) {
		sw.sids.trims =
			net_trims_of((uint8_t)number(words[1], 64), (uint8_t)number(words[2], 64));
	} else if (n == 2 && strcmp(words[0], "frame") == 0)
		forward(words[1]);
	else
		die("no such command", n ? words[0] : "an empty line");
}

int main(void)
{
	static char line[LINE_BYTES];

	routes = malloc(fwd_routes_bytes(ROUTES_MAX));
	if (!routes)
		die("no memory", "routes");
	new_switch();
	while (fgets(line, sizeof line, stdin)) {
		obey(line);
		fflush(stdout);
	}
	free(routes);
	return 0;
}
