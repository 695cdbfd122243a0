/* One node of multicast trees behind standard input, for a referee of its copies and answers. A
 * command is a line of words key=value: addresses as text; qpn, psn, msn, rkey, va, hex strings
 * without 0x; all else decimal.
 *
 *	node address= mac= tlv_type= [trimmed=DSCP]    forgets everything; eight ports
 *	route prefix=ADDRESS/LEN port=
 *	group qpn= proxy= sid= by_tlv= headend= first= up= up_qpn= up_port=N|any sport= dscp= most=
 *	      [mtu=] [keeps_source=] [wrap_src= wrap_hops= wrap_srh=] [start=PSN]
 *	      [guard_src= guard_last= guard_flags= guard_key= guard_segments= guard_hmac=]
 *	branch kind=receiver|node address= port=N|any [qpn=] [sid=] [va= rkey= psn= msn=]
 *	in port= frame=HEX      answers lines `copy port= frame=`, `answer port= frame=`,
 *	                        `cnp port= frame=`, `drop NAME`, `skip NAME`, `window`, `pass`
 *	window qpn=             the window of CNPs ends: answers `cnp port= frame=`, or nothing
 *
 * The answers of in and window end with a line `.`; in front of the first after a set-up that is
 * wrong stands `fault SENTENCE`. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fwd/mt_node.h"

enum {
	PORTS = 8,
	GROUPS_MAX = 8,
	BRANCHES_MAX = 1100,
	ROUTES_MAX = 4096,
	FRAME_MAX = 16384,
	LINE_BYTES = 2 * FRAME_MAX + 4096,
	WORDS_MAX = 40,
};

/* What a group of the node points to. */
struct slot {
	struct mt_branch branches[BRANCHES_MAX];
	struct mt_branch_state states[BRANCHES_MAX];
	uint32_t by_address[BRANCHES_MAX];
	struct mt_wrap wrap;
	uint8_t srh[4096], segments[4096], hmac[64];
	uint32_t n;
};

static struct slot slots[GROUPS_MAX];
static struct mt_group groups[GROUPS_MAX];
static struct mt_node node;
static struct fwd_switch sw;
static struct fwd_port ports[PORTS];
static struct fwd_group routes_to[PORTS];
static uint16_t members[PORTS];
static void *routes;
static uint32_t last_qpn;
static bool is_changed;
static char *words[WORDS_MAX];
static uint32_t n_words;

static void die(const char *what, const char *of)
{
	fprintf(stderr, "mt-copies: %s: %s\n", what, of);
	exit(2);
}

/* The value of a key of the line at hand, or NULL. */
static const char *value(const char *key)
{
	size_t n = strlen(key);

	for (uint32_t i = 1; i < n_words; i++)
		if (strncmp(words[i], key, n) == 0 && words[i][n] == '=')
			return words[i] + n + 1;
	return NULL;
}

static const char *need(const char *key)
{
	const char *v = value(key);

	if (!v)
		die("missing", key);
	return v;
}

static uint64_t number(const char *key, int base)
{
	const char *v = value(key);
	char *rest;

	if (!v)
		return 0;
	uint64_t n = strtoull(v, &rest, base);

	if (*v == '\0' || *rest != '\0')
		die("no number", key);
	return n;
}

static uint16_t port_of(const char *key)
{
	const char *v = value(key);

	return !v || strcmp(v, "any") == 0 ? MT_ANY_PORT : (uint16_t)number(key, 10);
}

static void address(const char *key, uint8_t out[16])
{
	if (inet_pton(AF_INET6, need(key), out) != 1)
		die("no address", key);
}

static void optional_address(const char *key, uint8_t out[16])
{
	if (value(key))
		address(key, out);
}

static uint32_t hex(const char *key, uint8_t *out, uint32_t max)
{
	const char *text = value(key);
	uint32_t n = 0;

	for (unsigned byte; text && text[0] && text[1]; text += 2) {
		if (n == max || sscanf(text, "%2x", &byte) != 1)
			die("bad hex", key);
		out[n++] = (uint8_t)byte;
	}
	return n;
}

static void add_route(const uint8_t *at, uint8_t len, uint32_t to)
{
	struct fwd_prefix prefix = {.len = len};

	memcpy(prefix.address, at, 16);
	if (fwd_routes_add(&sw.routes, &prefix, to) != 0)
		die("no room for a route", "");
}

static void new_node(void)
{
	memset(&sw, 0, sizeof sw);
	memset(&node, 0, sizeof node);
	fwd_routes_init(&sw.routes, routes, ROUTES_MAX);
	sw.ports = ports;
	sw.groups = routes_to;
	sw.members = members;
	sw.n_ports = PORTS;
	for (uint32_t i = 0; i < PORTS; i++) {
		members[i] = (uint16_t)i;
		routes_to[i] = (struct fwd_group){.first = i, .n = 1};
		ports[i] = (struct fwd_port){.neighbour = {2, 0, 0, 0, 0, (uint8_t)i}};
		if (hex("mac", ports[i].mac, 6) != 6)
			die("no MAC", "mac");
	}
	if (value("trimmed"))
		sw.sids.trims = net_trims_of((uint8_t)number("trimmed", 10), NET_DSCP_NONE);
	node.fib = &sw;
	node.groups = groups;
	node.tlv_type = (uint8_t)number("tlv_type", 16);
	address("address", node.address);
	add_route(node.address, 128, FWD_MULTICAST);
}

static void route(void)
{
	char text[64];
	uint8_t at[16];
	char *slash;

	snprintf(text, sizeof text, "%s", need("prefix"));
	slash = strchr(text, '/');
	if (!slash)
		die("no prefix", text);
	*slash = '\0';
	if (inet_pton(AF_INET6, text, at) != 1 || number("port", 10) >= PORTS)
		die("no route", text);
	add_route(at, (uint8_t)atoi(slash + 1), (uint32_t)number("port", 10));
}

static struct mt_group *find(uint32_t qpn)
{
	for (uint32_t i = 0; i < node.n_groups; i++)
		if (groups[i].qpn == qpn)
			return &groups[i];
	return NULL;
}

static void set_guard(struct slot *s, struct mt_guard *guard)
{
	optional_address("guard_src", guard->src);
	guard->last_entry = (uint8_t)number("guard_last", 10);
	guard->flags = (uint8_t)number("guard_flags", 16);
	guard->key_id = (uint32_t)number("guard_key", 16);
	guard->segments.at = s->segments;
	guard->segments.len = hex("guard_segments", s->segments, sizeof s->segments);
	guard->hmac.at = s->hmac;
	guard->hmac.len = hex("guard_hmac", s->hmac, sizeof s->hmac);
}

static void set_wrap(struct slot *s)
{
	optional_address("wrap_src", s->wrap.src);
	s->wrap.hop_limit = (uint8_t)number("wrap_hops", 10);
	s->wrap.srh.at = s->srh;
	s->wrap.srh.len = hex("wrap_srh", s->srh, sizeof s->srh);
}

static void set_names(struct mt_group *g)
{
	address("proxy", g->proxy);
	optional_address("sid", g->sid);
	address("up", g->up.address);
	g->up.qpn = (uint32_t)number("up_qpn", 16);
	g->up.port = port_of("up_port");
	g->is_edge_by_tlv = number("by_tlv", 10);
	g->keeps_source = number("keeps_source", 10);
	g->is_first = number("first", 10);
	g->sport = (uint16_t)number("sport", 10);
	g->dscp = (uint8_t)number("dscp", 10);
	g->most_bytes = (uint32_t)number("most", 10);
	g->mtu = (uint32_t)number("mtu", 10);
	add_route(g->proxy, 128, FWD_MULTICAST);
	if (value("sid"))
		add_route(g->sid, 128, FWD_MULTICAST);
}

static void group(void)
{
	uint32_t at = node.n_groups;

	if (at == GROUPS_MAX)
		die("too many groups", "");
	struct slot *s = &slots[at];
	struct mt_group g = {.qpn = (uint32_t)number("qpn", 16),
			     .branches = s->branches,
			     .n_branches = BRANCHES_MAX,
			     .by_address = s->by_address};
	struct mt_merge_cfg cfg = {.n_branches = BRANCHES_MAX,
				   .has_start = value("start"),
				   .start = psn24_of((uint32_t)number("start", 16)),
				   .is_first = number("first", 10)};

	memset(s, 0, sizeof *s);
	set_names(&g);
	set_guard(s, &g.guard);
	set_wrap(s);
	if (number("headend", 10))
		g.wrap = &s->wrap;
	mt_merge_init(&g.merge, &cfg, s->states);
	for (; at > 0 && groups[at - 1].qpn > g.qpn; at--)
		groups[at] = groups[at - 1];
	groups[at] = g;
	node.n_groups++;
	last_qpn = g.qpn;
	is_changed = true;
}

static void branch(void)
{
	struct mt_group *g = find(last_qpn);
	uint32_t at = 0;

	while (g && at < BRANCHES_MAX && g->merge.branches[at].state != MT_FREE)
		at++;
	if (!g || at == BRANCHES_MAX)
		die("no room for a branch", "");
	struct mt_branch *b = &g->branches[at];

	b->is_node = strcmp(need("kind"), "node") == 0;
	address("address", b->address);
	optional_address("sid", b->sid);
	b->port = port_of("port");
	b->qpn = (uint32_t)number("qpn", 16);
	b->shift = (struct mt_shift){
		.va = number("va", 16),
		.rkey = (uint32_t)number("rkey", 16),
		.has_rkey = value("rkey"),
		.psn = (uint32_t)number("psn", 16),
		.msn = (uint32_t)number("msn", 16),
	};
	if (mt_merge_join(&g->merge, at) != 0)
		die("cannot join", need("address"));
	mt_group_index(g);
	is_changed = true;
}

static void say_frame(const char *what, uint16_t port, const uint8_t *at, uint32_t len)
{
	printf("%s port=%u frame=", what, port);
	for (uint32_t i = 0; i < len; i++)
		printf("%02x", at[i]);
	putchar('\n');
}

static void say_fault(void)
{
	const char *fault = is_changed ? mt_node_fault(&node) : NULL;

	is_changed = false;
	if (fault)
		printf("fault %s\n", fault);
}

static void say_up(const struct mt_group *g, const struct mt_out *out)
{
	uint8_t at[MT_ANSWER_MAX];
	uint16_t port;
	uint32_t len;

	if (out->has_answer) {
		len = mt_node_answer(&node, g, &out->answer, at, &port);
		if (len)
			say_frame("answer", port, at, len);
	}
	if (out->has_cnp) {
		len = mt_node_cnp(&node, g, at, &port);
		if (len)
			say_frame("cnp", port, at, len);
	}
	if (out->opens_window)
		printf("window\n");
}

static void say_skips(const uint64_t *before)
{
	for (uint32_t i = 0; i < MT_DROP_COUNT; i++)
		for (uint64_t k = before[i]; k < node.skips[i]; k++)
			printf("skip %s\n", mt_drop_name((enum mt_drop)i));
}

static void take_frame(void)
{
	static uint8_t bytes[FRAME_MAX], made[FRAME_MAX + MT_FRONT_MAX], front[MT_FRONT_MAX];
	static struct mt_result r;
	uint64_t skips[MT_DROP_COUNT];
	uint32_t len = hex("frame", bytes, sizeof bytes), n = 0;
	struct fwd_frame f = {bytes, len, len};
	struct fwd_view view;
	struct mt_copy copy;
	struct fwd_verdict v = fwd_switch_forward(&sw, &f, &view);

	if (v.drop != FWD_DROP_NONE || !v.multicast) {
		printf("drop %s\n", v.drop != FWD_DROP_NONE ? fwd_drop_name(v.drop) : "unicast");
		return;
	}
	memcpy(skips, node.skips, sizeof skips);
	mt_node_take(&node, &(struct mt_input){port_of("port"), &f, &view, false}, &r);
	for (; mt_node_copy(&node, &r, &copy, front); n++) {
		memcpy(made, front, copy.front_len);
		memcpy(made + copy.front_len, f.at + copy.from, copy.len - copy.front_len);
		mt_copy_finish(&copy, made);
		say_frame("copy", copy.port, made, copy.len);
	}
	if (r.group)
		say_up(r.group, &r.out);
	if (r.drop != MT_DROP_NONE)
		printf("drop %s\n", mt_drop_name(r.drop));
	else if (n == 0)
		printf("pass\n");
	say_skips(skips);
}

static void window(void)
{
	struct mt_group *g = find((uint32_t)number("qpn", 16));
	struct mt_out out;

	if (!g)
		die("no such group", "qpn");
	mt_merge_window(&g->merge, &out);
	say_up(g, &out);
}

static void obey(char *line)
{
	char *rest = line, *word;

	n_words = 0;
	while (n_words < WORDS_MAX && (word = strtok_r(rest, " \n", &rest)) != NULL)
		words[n_words++] = word;
	if (n_words == 0)
		return;
	if (strcmp(words[0], "node") == 0)
		new_node();
	else if (strcmp(words[0], "route") == 0)
		route();
	else if (strcmp(words[0], "group") == 0)
		group();
	else if (strcmp(words[0], "branch") == 0)
		branch();
	else if (strcmp(words[0], "in") != 0 && strcmp(words[0], "window") != 0)
		die("no such command", words[0]);
	if (words[0][0] != 'i' && words[0][0] != 'w')
		return;
	say_fault();
	if (words[0][0] == 'i')
		take_frame();
	else
		window();
	printf(".\n");
	fflush(stdout);
}

int main(void)
{
	static char line[LINE_BYTES];

	routes = malloc(fwd_routes_bytes(ROUTES_MAX));
	if (!routes)
		die("no memory", "routes");
	while (fgets(line, sizeof line, stdin))
		obey(line);
	free(routes);
	return 0;
}
