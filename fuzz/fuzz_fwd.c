/* Any frame at a switch with routes of both kinds and all kinds of segments: what is forwarded lies
 * inside the memory it came in, reads as the view says, and can be marked and trimmed. The first
 * byte of an input chooses the switch, the second how much payload follows that is not stored. The
 * frame has a block of memory of its own size. */
#include "fuzz.h"

#include "base/bytes.h"
#include "catalog.h"
#include "fwd/mark.h"
#include "fwd/switch.h"
#include "fwd/trim.h"

enum { PORTS = 6, ROUTES = 4 };
enum { GROUP_HASH, GROUP_EV, GROUP_ONE };
enum { CHOOSE_F1616 = 1, CHOOSE_DEFAULT = 2, CHOOSE_PLAIN = 4, CHOOSE_LASTHOP = 8 };

/* The containers of the sample packets are fc00:0:101:211:321:: and fc00:0:431:541::; all of one
 * are this switch's own, so that one frame meets several kinds. */
static const struct fwd_sid sids[] = {
	{.usid = 0x0101, .behaviour = FWD_SID_UN},
	{.usid = 0x0211, .behaviour = FWD_SID_UN},
	{.usid = 0x0321, .behaviour = FWD_SID_UN, .psp = true},
	{.usid = 0x0431, .behaviour = FWD_SID_DT6},
	{.usid = 0x0541, .behaviour = FWD_SID_UA, .port = 3, .psp = true},
	{.usid = 0x0611, .behaviour = FWD_SID_DX6, .port = 2},
};
static const struct fwd_group groups[] = {
	[GROUP_HASH] = {0, 4, false},
	[GROUP_EV] = {2, 3, true},
	[GROUP_ONE] = {5, 1, false},
};
static const uint16_t members[PORTS] = {0, 1, 2, 3, 4, 5};
static const struct fwd_names names = {
	.no_trim = 0,
	.trimmable = CATALOG_DSCP_TRIMMABLE,
	.trimmable_rtx = CATALOG_DSCP_RETX,
	.trimmed = CATALOG_DSCP_TRIMMED,
	.trimmed_lasthop = CATALOG_DSCP_TRIMMED_LASTHOP,
	.control = CATALOG_DSCP_CONTROL,
};

static void set_up(struct fwd_switch *sw, uint8_t choice)
{
	static struct fwd_port ports[PORTS];
	static uint64_t memory[1024];
	static const struct fwd_prefix routes[ROUTES] = {
		{{0xfd}, 8},
		{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192}, 104},
		{{0xfc}, 8},
		{{0}, 0},
	};
	static const uint32_t values[ROUTES] = {GROUP_HASH, GROUP_EV, FWD_LOCAL, GROUP_ONE};
	bool is_f1616 = choice & CHOOSE_F1616;

	*sw = (struct fwd_switch){
		.sids = {.block = is_f1616 ? 0xfc00 : 0xfc000000,
			 .format = is_f1616 ? FWD_F1616 : FWD_F3216,
			 .sids = sids,
			 .n = choice & CHOOSE_PLAIN ? 0 : sizeof sids / sizeof sids[0],
			 .trims = net_trims_of(CATALOG_DSCP_TRIMMED, CATALOG_DSCP_TRIMMED_LASTHOP)},
		.ports = ports,
		.groups = groups,
		.members = members,
		.ev_layout = {2, {2, 8}},
		.hash_fields = FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL,
		.n_ports = PORTS,
	};
	must(fwd_routes_bytes(ROUTES) <= sizeof memory);
	fwd_routes_init(&sw->routes, memory, ROUTES);
	for (uint32_t i = 0; i < (choice & CHOOSE_DEFAULT ? ROUTES : ROUTES - 1); i++)
		must(fwd_routes_add(&sw->routes, &routes[i], values[i]) == 0);
}

/* A trimmed packet that was taken out of its encapsulation: its length field is history (M-42). */
static bool is_cut_inside(const struct fwd_view *view)
{
	return (view->dscp == names.trimmed || view->dscp == names.trimmed_lasthop) &&
	       view->version == 6 && 40u + get_be16(view->ip + 4) > view->ip_len;
}

/* Read again, the frame says what the view says. */
static void check_view(const struct fwd_frame *f, const struct fwd_view *view)
{
	struct fwd_view again;

	must(f->stored <= f->len);
	must(view->ip == f->at + view->ip_at && view->ip_at + view->ip_len <= f->len);
	if (is_cut_inside(view))
		return;
	must(fwd_view_get(f, &again) == FWD_DROP_NONE);
	must(again.ip == view->ip && again.ip_len == view->ip_len);
	must(again.dscp == view->dscp && again.ecn == view->ecn);
	must(again.hop_limit == view->hop_limit && again.protocol == view->protocol);
	must(again.sport == view->sport && again.dport == view->dport);
	must(again.version == view->version && again.flow_label == view->flow_label);
}

static void mark_and_trim(struct fwd_frame *f, struct fwd_view *view, bool is_last_hop)
{
	const struct fwd_bdp bdp = {.plane_bytes = 100000,
				    .trimming = true,
				    .three_classes = true,
				    .min_trim_bytes = 28};
	struct fwd_qos qos;
	uint32_t len = f->len;

	fwd_qos_recommended(&qos, &names, &bdp);
	must(fwd_qos_fault(&qos) == NULL);
	if (fwd_mark(&qos, view))
		must(view->ecn == FWD_ECN_CE);
	check_view(f, view);
	if (!fwd_trim_may(&qos, view))
		return;
	fwd_trim(&qos, f, view, is_last_hop);
	check_view(f, view);
	must(f->len < len && f->len == view->ip_at + view->ip_len);
	must(view->dscp == (is_last_hop ? names.trimmed_lasthop : names.trimmed));
	must(!fwd_trim_may(&qos, view) && !fwd_mark(&qos, view));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fwd_switch sw;
	struct fwd_view view;

	if (size < 2)
		return 0;
	uint32_t stored = (uint32_t)size - 2;
	uint8_t *memory = malloc(stored ? stored : 1);

	must(memory != NULL);
	memcpy(memory, data + 2, stored);
	struct fwd_frame f = {memory, stored, stored + 16u * data[1]};

	set_up(&sw, data[0]);
	struct fwd_verdict verdict = fwd_switch_forward(&sw, &f, &view);

	must(verdict.drop < FWD_DROP_COUNT && fwd_drop_text(verdict.drop) != NULL);
	if (verdict.drop == FWD_DROP_NONE) {
		must(verdict.local || verdict.port < PORTS);
		must(f.at >= memory && f.stored <= stored);
		must(f.at + f.stored <= memory + stored);
		check_view(&f, &view);
		mark_and_trim(&f, &view, data[0] & CHOOSE_LASTHOP);
	}
	free(memory);
	return 0;
}
