/* `weft top`: looks at processes, rates between two of them, and how both are written. */
#include "tools/top/top.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define SECOND UINT64_C(1000000000)

/* A device of two ports, and this process on it. */
struct rig {
	char folder[32];
	struct top top;
	struct member *member;
	struct member_device device;
	struct member_pair pairs[2];
};

static void set_ev(struct member_pair *p, uint32_t ev, enum top_ev state)
{
	p->ev_state[ev / 4] =
		(uint8_t)((p->ev_state[ev / 4] & ~(3u << ev % 4 * 2)) | state << ev % 4 * 2);
}

static void open_rig(struct rig *r)
{
	static const char interfaces[2][IF_NAMESIZE] = {"top0", "top1"};

	*r = (struct rig){.folder = "/tmp/weft-top-XXXXXX"};
	assert_non_null(mkdtemp(r->folder));
	setenv("WEFT_STATE_DIR", r->folder, 1);
	r->top.devices = calloc(1, sizeof *r->top.devices);
	assert_non_null(r->top.devices);
	struct top_device *d = r->top.devices;

	r->top.n = 1;
	strcpy(d->name, "weft_mrc0");
	d->transport = &transport_mrc;
	d->is_governed = true;
	assert_int_equal(store_name(d->store, interfaces, 2), 0);
	d->members = members_open(d->store);
	assert_non_null(d->members);
	r->member = member_join(d->store, "weft_mrc0");
	assert_non_null(r->member);
	r->device = (struct member_device){.at = SECOND,
					   .n_ports = 2,
					   .ports_up = 1,
					   .n_pairs = 2,
					   .port = {"top0", "top1"},
					   .driver = "raw"};
	for (uint32_t i = 0; i < 2; i++)
		r->pairs[i] = (struct member_pair){.number = 0x11 + i,
						   .remote = 0x21 + i,
						   .state = 3,
						   .open_ports = 1,
						   .n_evs = 5,
						   .peer = {[10] = 0xff, 0xff, 192, 0, 2, 7},
						   .srtt_ns = 25000,
						   .evs = {3, 1, 1, 0}};
	set_ev(&r->pairs[0], 1, TOP_SKIP);
	set_ev(&r->pairs[0], 4, TOP_BAD);
	member_show(r->member, &r->device, r->pairs, 2);
}

static void remove_folder(const char *path)
{
	DIR *list = opendir(path);

	assert_non_null(list);
	for (const struct dirent *e; (e = readdir(list));) {
		if (e->d_name[0] != '.')
			assert_int_equal(unlinkat(dirfd(list), e->d_name, 0), 0);
	}
	closedir(list);
	assert_int_equal(rmdir(path), 0);
}

static void close_rig(struct rig *r)
{
	if (r->member)
		member_leave(r->member);
	top_fini(&r->top);
	remove_folder(r->folder);
}

/* Half a second later by the process's own clock. */
static void advance(struct rig *r)
{
	r->device.at += SECOND / 2;
	r->pairs[1].sent_bytes += 125000000; /* 2 Gb/s */
	r->pairs[1].got_bytes += 62500000;
	r->pairs[1].retx_packets += 3;
	member_show(r->member, &r->device, r->pairs, 2);
}

static char *write_text(const struct rig *r, bool has_color, bool is_json)
{
	const struct top_style style = {.has_color = has_color};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	if (is_json)
		top_json(&r->top, out);
	else
		top_text(&r->top, &style, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void rates_come_from_two_looks(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	assert_int_equal(top_look(&r.top, r.device.at), 0);
	assert_int_equal(r.top.devices[0].n, 1);
	const struct top_process *p = r.top.devices[0].list;

	assert_int_equal(p->who.pid, getpid());
	assert_int_equal(p->n, 2);
	assert_false(p->pairs[0].has_rate);
	advance(&r);
	assert_int_equal(top_look(&r.top, r.device.at), 0);
	p = r.top.devices[0].list;
	/* The busiest first. */
	assert_int_equal(p->pairs[0].p.number, 0x12);
	assert_true(p->pairs[0].has_rate);
	assert_int_equal(p->pairs[0].tx_bps, 2 * SECOND);
	assert_int_equal(p->pairs[0].rx_bps, SECOND);
	assert_int_equal(p->pairs[0].retx, 3);
	assert_int_equal(p->pairs[1].tx_bps, 0);
	/* Nothing new is shown, and then not for long. */
	assert_int_equal(top_look(&r.top, r.device.at + SECOND / 4), 0);
	assert_int_equal(r.top.devices[0].list[0].pairs[0].tx_bps, 2 * SECOND);
	assert_int_equal(top_look(&r.top, r.device.at + SECOND), 0);
	assert_int_equal(r.top.devices[0].list[0].pairs[0].tx_bps, 0);
	assert_true(r.top.devices[0].list[0].pairs[0].has_rate);
	close_rig(&r);
}

static void a_number_that_begins_anew_has_no_rate(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	advance(&r);
	assert_int_equal(top_look(&r.top, r.device.at), 0);
	r.device.at += SECOND;
	r.pairs[1].sent_bytes = 10;
	r.pairs[1].retx_packets = 0;
	member_show(r.member, &r.device, r.pairs, 2);
	assert_int_equal(top_look(&r.top, r.device.at), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(r.top.devices[0].list[0].pairs[i].tx_bps, 0);
		assert_int_equal(r.top.devices[0].list[0].pairs[i].retx, 0);
	}
	close_rig(&r);
}

static void who_leaves_is_gone(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	assert_int_equal(top_look(&r.top, r.device.at), 0);
	member_leave(r.member);
	r.member = NULL;
	assert_int_equal(top_look(&r.top, r.device.at), 0);
	assert_int_equal(r.top.devices[0].n, 0);
	char *text = write_text(&r, false, false);

	assert_has(text, "weft_mrc0: 0 processes");
	free(text);
	close_rig(&r);
}

/* EVs of the device's own setup are dealt out to its ports: three and two. */
static void evs_stand_by_port(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	assert_int_equal(top_look(&r.top, r.device.at), 0);
	char *text = write_text(&r, false, false);

	assert_has(text, "ports 1 top0 up 2 top1 DOWN");
	assert_has(text, "192.0.2.7");
	assert_has(text, "25 us");
	assert_has(text, "    port 1  .s.\n    port 2! .X\n");
	assert_null(strchr(text, '\033'));
	free(text);
	text = write_text(&r, true, false);
	assert_has(text, "\033[31mDOWN");
	free(text);
	text = write_text(&r, false, true);
	assert_has(text, "\"evs_of_ports\":{\"1\":\"gsg\",\"2\":\"gb\"}");
	assert_has(text, "\"up\":false");
	assert_int_equal(text[strlen(text) - 1], '\n');
	free(text);
	close_rig(&r);
}

/* Over udp the engine has one port, however many interfaces there are, and all goes by it. */
static void sockets_have_one_port(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	strcpy(r.device.driver, "udp");
	member_show(r.member, &r.device, r.pairs, 2);
	assert_int_equal(top_look(&r.top, r.device.at), 0);
	char *text = write_text(&r, false, false);

	assert_has(text, "    port 1  .s..X\n");
	assert_null(strstr(text, "    port 2"));
	free(text);
	text = write_text(&r, false, true);
	assert_has(text, "\"evs_of_ports\":{\"1\":\"gsggb\"}");
	free(text);
	close_rig(&r);
}

/* Profile 7 has five values, four of them by port 2. */
static void make_profile(const struct rig *r)
{
	struct store *s = store_open(r->top.devices[0].store);
	struct control *c;

	assert_non_null(s);
	assert_int_equal(store_begin(s, &c), 0);
	struct control_profile *p = control_add_profile(c, 7);

	assert_non_null(p);
	p->phase = CONTROL_ONLINE;
	p->mode = CONTROL_AUTO;
	assert_int_equal(control_set_count(c, p, 5), 0);
	for (uint32_t i = 0; i < 5; i++) {
		p->evs[i].port = i < 4 ? 2 : 1;
		p->evs[i].val[3] = (uint8_t)i;
	}
	assert_int_equal(store_commit(s, c), 0);
	store_end(s);
	control_free(c);
	store_close(s);
}

/* Those of a profile are where the controller put them. */
static void evs_of_a_profile_are_on_its_ports(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	make_profile(&r);
	r.pairs[0].profile = 7;
	member_show(r.member, &r.device, r.pairs, 2);
	assert_int_equal(top_look(&r.top, r.device.at), 0);
	char *text = write_text(&r, false, false);

	assert_has(text, "    port 1  .\n    port 2! s..X\n");
	free(text);
	strcpy(r.device.driver, "udp");
	member_show(r.member, &r.device, r.pairs, 2);
	assert_int_equal(top_look(&r.top, r.device.at), 0);
	text = write_text(&r, false, false);
	assert_has(text, "    port 1  .s..X\n");
	assert_null(strstr(text, "    port 2"));
	free(text);
	close_rig(&r);
}

/* What another user's process says of itself cannot act on a terminal. */
static void hostile_text_is_harmless(void **state)
{
	struct rig r;

	(void)state;
	open_rig(&r);
	strcpy(r.device.port[0], "\033[2Jx");
	r.device.n_ports = 1000;
	r.pairs[0].state = 200;
	r.pairs[0].n_evs = 60000;
	member_show(r.member, &r.device, r.pairs, 2);
	assert_int_equal(top_look(&r.top, r.device.at), 0);
	char *text = write_text(&r, false, false);

	assert_null(strchr(text, '\033'));
	assert_has(text, " ...\n");
	free(text);
	free(write_text(&r, false, true));
	close_rig(&r);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(rates_come_from_two_looks),
	cmocka_unit_test(a_number_that_begins_anew_has_no_rate),
	cmocka_unit_test(who_leaves_is_gone),
	cmocka_unit_test(evs_stand_by_port),
	cmocka_unit_test(sockets_have_one_port),
	cmocka_unit_test(evs_of_a_profile_are_on_its_ports),
	cmocka_unit_test(hostile_text_is_harmless),
};

CHECK_MAIN(cases)
