#include <stdio.h>
#include <string.h>

#include "sim/topology.h"

/* Two labels, what joins them, and the number of a parallel link. */
#define PORT_NAME_MAX (2 * TOPOLOGY_NAME_MAX + 8)

void topology_port_name(const struct topology *t, uint32_t port, char *text, size_t text_len)
{
	const struct topology_port *p = &t->ports[port];
	const char *a = t->labels[p->node], *b = t->labels[t->ports[p->peer].node];

	if (p->parallel > 0)
		snprintf(text, text_len, "%s>%s#%u", a, b, p->parallel + 1u);
	else
		snprintf(text, text_len, "%s>%s", a, b);
}

uint32_t topology_find_node(const struct topology *t, const char *name)
{
	for (uint32_t i = 0; i < t->n_nodes; i++)
		if (strcmp(t->labels[i], name) == 0)
			return i;
	return UINT32_MAX;
}

uint32_t topology_find_port(const struct topology *t, const char *name)
{
	const char *arrow = strchr(name, '>');
	char text[PORT_NAME_MAX];

	if (!arrow || arrow - name >= TOPOLOGY_NAME_MAX)
		return UINT32_MAX;
	memcpy(text, name, (size_t)(arrow - name));
	text[arrow - name] = '\0';
	uint32_t node = topology_find_node(t, text);

	if (node == UINT32_MAX)
		return UINT32_MAX;
	const struct topology_node *n = &t->nodes[node];

	for (uint32_t p = n->first_port; p < n->first_port + n->n_ports; p++) {
		topology_port_name(t, p, text, sizeof text);
		if (strcmp(text, name) == 0)
			return p;
	}
	return UINT32_MAX;
}

/* Whether c is in the set that starts at p, behind its '['. Returns what follows the set, or NULL
 * when the set has no end and '[' is an ordinary character. */
static const char *match_set(const char *p, char c, bool *in)
{
	bool negated = *p == '!' || *p == '^', found = false;

	p += negated;
	/* A bracket that comes first is a member. */
	for (const char *first = p; *p && (*p != ']' || p == first); p++) {
		char low = *p, high = low;

		if (p[1] == '-' && p[2] && p[2] != ']') {
			high = p[2];
			p += 2;
		}
		found |= low <= c && c <= high;
	}
	*in = found != negated;
	return *p ? p + 1 : NULL;
}

/* Whether one character matches the element of a pattern at p; *after is what follows the element.
 */
static bool match_one(const char *p, char c, const char **after)
{
	bool in;

	*after = p + 1;
	if (*p == '?')
		return true;
	if (*p == '[') {
		const char *end = match_set(p + 1, c, &in);

		if (end) {
			*after = end;
			return in;
		}
	}
	return *p == c;
}

/* A shell pattern, in which the character at arrow, if any, stands for '>'. Only the last star is
 * ever tried again, so this takes pattern times text steps. */
static bool match(const char *pattern, const char *arrow, const char *text)
{
	const char *star = NULL, *retry = NULL, *after;

	while (*text) {
		bool at_arrow = arrow && pattern == arrow;

		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (at_arrow && *text == '>') {
			pattern++;
			text++;
		} else if (*pattern && !at_arrow && match_one(pattern, *text, &after)) {
			pattern = after;
			text++;
		} else if (star) {
			pattern = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

/* The number behind "plane", or -1. */
static int plane_of(const char *pattern)
{
	static const char word[] = "plane";
	const char *digit = pattern + sizeof word - 1;

	if (strncmp(pattern, word, sizeof word - 1) != 0 || *digit < '0' || *digit > '9' ||
	    digit[1])
		return -1;
	return *digit - '0';
}

/* The next dash from p on that is not inside a set; NULL when there is none. */
static const char *find_dash(const char *p)
{
	const char *after;

	for (; *p && *p != '-'; p = after)
		match_one(p, '-', &after);
	return *p ? p : NULL;
}

/* Whether the pattern names the link of a port, from either end. Names may have dashes too: each
 * dash may be the one between them. */
static bool match_link(const struct topology *t, uint32_t port, const char *pattern)
{
	char text[PORT_NAME_MAX], back[PORT_NAME_MAX];
	const char *dash = find_dash(pattern);

	if (!dash)
		return false;
	topology_port_name(t, port, text, sizeof text);
	topology_port_name(t, t->ports[port].peer, back, sizeof back);
	for (; dash; dash = find_dash(dash + 1))
		if (match(pattern, dash, text) || match(pattern, dash, back))
			return true;
	return false;
}

uint32_t topology_match_ports(const struct topology *t, const char *pattern, uint8_t *set)
{
	bool is_bare = strpbrk(pattern, "*?[") == NULL;
	uint32_t node = is_bare ? topology_find_node(t, pattern) : UINT32_MAX, n = 0;
	int plane = plane_of(pattern);
	char text[PORT_NAME_MAX];

	for (uint32_t p = 0; p < t->n_ports; p++) {
		const struct topology_port *port = &t->ports[p];
		bool hit = port->plane == plane || port->node == node ||
			   t->ports[port->peer].node == node || match_link(t, p, pattern);

		if (!hit) {
			topology_port_name(t, p, text, sizeof text);
			hit = match(pattern, NULL, text);
		}
		if (hit) {
			set[p] = 1;
			n++;
		}
	}
	return n;
}
