/* Multicast groups in a simulated fabric: what switches that are nodes of trees keep, and what they
 * do with packets (draft 5; fwd/mt_node.h says what becomes of each).
 *
 * A struct sim_groups serves one run: a controller fills it in (sim/groups_build.h), sim_cfg.groups
 * lends it to the run, and what is known of receivers moves on in it. A node of a tree uses a
 * packet up; what it makes of it are new packets, admitted at their ports like any other. */
#ifndef WEFT_SIM_GROUPS_H
#define WEFT_SIM_GROUPS_H

#include <stdint.h>

#include "fwd/mt_node.h"
#include "sim/psec.h"

struct sim;
struct packet;

/* A window in which CNPs are counted (T-10). */
struct groups_window {
	psec end;
	uint32_t group; /* place among the node's */
};

/* A switch. Each group has one window at most, and all are as long: the oldest ends first. */
struct groups_node {
	struct mt_node mt;
	struct groups_window *windows; /* room for n_groups, a ring */
	uint32_t first_window, n_windows;
};

#define GROUPS_FRAME_MAX (65600u + MT_FRONT_MAX) /* a whole frame, and what copies get in front */

struct groups_builder;

struct sim_groups {
	struct groups_node *nodes;      /* by switch */
	psec window_ps;                 /* T of T-10 */
	uint8_t *frame, *copy;          /* GROUPS_FRAME_MAX bytes each */
	struct groups_builder *builder; /* the controller's */
};

/* What a switch does with a packet that its tables say is of a multicast tree. */
void groups_receive(struct sim *s, uint32_t in_port, struct packet *p);

/* A node's alarm: windows end. */
void groups_on_alarm(struct sim *s, uint32_t node);

/* A switch has rebooted: what receivers have is unknown, until they say it again (T-05). */
void groups_restart(struct sim *s, uint32_t node);

#endif
