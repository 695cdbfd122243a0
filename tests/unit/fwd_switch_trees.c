/* What fwd/switch.h does for nodes of multicast trees: see also fwd_switch.c. */
#include "fwd/switch.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "check.h"

enum { PORTS = 4, LEN = 14 + 40 + 20, BLOCK = 0x5f001000, UN = 0x0100 };

static const uint8_t spread[16] = {0x20, 1}, tree[16] = {0x20, 2}, us[16] = {0x20, 3};
static const struct fwd_port ports[PORTS] = {
	{{2, 1}, {4, 1}, false},
	{{2, 2}, {4, 2}, false},
	{{2, 3}, {4, 3}, false},
	{{2, 4}, {4, 4}, false},
};
static const struct fwd_group groups[] = {{0, PORTS, false}};
static const uint16_t members[PORTS] = {0, 1, 2, 3};
static const struct fwd_sid sids[] = {{.usid = UN, .behaviour = FWD_SID_UN}};
static struct fwd_switch sw;
static uint8_t frame[LEN], before[LEN];
static struct fwd_view view;

static int start(void **state)
{
	void *memory = malloc(fwd_routes_bytes(3));
	struct fwd_prefix prefix = {.len = 16};

	(void)state;
	assert_non_null(memory);
	sw = (struct fwd_switch){
		.ports = ports,
		.groups = groups,
		.members = members,
		.n_ports = PORTS,
		.hash_fields = FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL,
		.sids = {.block = BLOCK, .format = FWD_F3216, .sids = sids, .n = 1},
	};
	fwd_routes_init(&sw.routes, memory, 3);
	memcpy(prefix.address, spread, 16);
	assert_int_equal(fwd_routes_add(&sw.routes, &prefix, 0), 0);
	memcpy(prefix.address, tree, 16);
	assert_int_equal(fwd_routes_add(&sw.routes, &prefix, FWD_MULTICAST), 0);
	memcpy(prefix.address, us, 16);
	assert_int_equal(fwd_routes_add(&sw.routes, &prefix, FWD_LOCAL), 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	free(sw.routes.slots);
	return 0;
}

static struct fwd_frame packet_to(const uint8_t *dst, uint32_t label, uint8_t hop_limit)
{
	memset(frame, 0xee, sizeof frame);
	put_be16(frame + 12, 0x86dd);
	put_be32(frame + 14, 6u << 28 | label);
	put_be16(frame + 18, 20);
	frame[20] = 17;
	frame[21] = hop_limit;
	memcpy(frame + 38, dst, 16);
	memcpy(before, frame, sizeof frame);
	return (struct fwd_frame){frame, LEN, LEN};
}

static void packets_of_multicast_trees(void **state)
{
	struct fwd_frame f = packet_to(tree, 0, 1);
	struct fwd_verdict v = fwd_switch_forward(&sw, &f, &view);

	(void)state;
	/* A hop limit of 1 is enough to arrive. */
	assert_int_equal(v.drop, FWD_DROP_NONE);
	assert_true(v.multicast && !v.local);
	assert_int_equal(view.hop_limit, 1);
	assert_memory_equal(frame, before, LEN);

	f = packet_to(us, 0, 1);
	v = fwd_switch_forward(&sw, &f, &view);
	assert_true(v.local && !v.multicast);
	f = packet_to(spread, 0, 64);
	v = fwd_switch_forward(&sw, &f, &view);
	assert_true(!v.local && !v.multicast);
	assert_int_equal(v.drop, FWD_DROP_NONE);
	assert_int_equal(frame[21], 63);
}

/* What is made here leaves by the port of what is forwarded, with its own hop limit. */
static void what_is_made_here_is_routed(void **state)
{
	uint32_t taken[PORTS] = {0};

	(void)state;
	for (uint32_t label = 0; label < 64; label++) {
		struct fwd_frame f = packet_to(spread, label, 64);
		uint16_t port = fwd_switch_forward(&sw, &f, &view).port;

		f = packet_to(spread, label, 1);
		f.stored = 14 + 44;
		struct fwd_verdict v = fwd_switch_send(&sw, &f);

		assert_int_equal(v.drop, FWD_DROP_NONE);
		assert_int_equal(v.port, port);
		assert_memory_equal(frame, ports[port].neighbour, 6);
		assert_memory_equal(frame + 6, ports[port].mac, 6);
		assert_memory_equal(frame + 12, before + 12, LEN - 12);
		taken[port]++;
	}
	for (uint32_t i = 0; i < PORTS; i++)
		assert_true(taken[i] > 0);
}

static void what_is_made_here_may_go_nowhere(void **state)
{
	const uint8_t ours[16] = {0x5f, 0, 0x10, 0, UN >> 8, UN & 0xff, 0x20, 1};
	struct fwd_frame f = packet_to(us, 0, 64);

	(void)state;
	assert_true(fwd_switch_send(&sw, &f).local);
	assert_memory_equal(frame, before, LEN);
	f = packet_to(tree, 0, 64);
	assert_true(fwd_switch_send(&sw, &f).multicast);
	f.stored = 20;
	assert_int_equal(fwd_switch_send(&sw, &f).drop, FWD_DROP_MALFORMED);
	/* A segment of ours is not executed. */
	f = packet_to(ours, 0, 64);
	assert_int_equal(fwd_switch_send(&sw, &f).drop, FWD_DROP_NO_ROUTE);
	assert_memory_equal(frame, before, LEN);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
	CASE(packets_of_multicast_trees),
	CASE(what_is_made_here_is_routed),
	CASE(what_is_made_here_may_go_nowhere),
};

CHECK_MAIN(cases)
