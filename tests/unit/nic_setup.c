/* config/config.h: the configuration of devices, read from text and environment: every key, every
 * mistake with its sentence, and text that nobody meant. */
#include "isolate.h"

#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/prng.h"
#include "cc/cc.h"
#include "mrc/mrc.h"
#include "nic/nic.h"
#include "path/profile.h"
#include "wire/net.h"

#define TEXT_MAX 8192u

static struct config_error error; /* of the last text that was read */

static int read_text(const char *text, size_t len, struct config_device **list)
{
	struct config_file config = {.name = "some.conf", .len = len};

	/* Not terminated, so that reading on would be seen. */
	config.text = malloc(len ? len : 1);
	assert_non_null(config.text);
	memcpy(config.text, text, len);
	int n = config_read(&config, list, &error);

	free(config.text);
	return n;
}

/* The only device of a text. */
static struct config_device one(const char *text)
{
	struct config_device *list = NULL;
	int n = read_text(text, strlen(text), &list);

	if (n < 0)
		fail_msg("%s: %s", text, error.at);
	assert_int_equal(n, 1);
	struct config_device d = list[0];

	free(list);
	return d;
}

static struct config_setup mrc(const char *lines)
{
	char text[TEXT_MAX];

	snprintf(text, sizeof text, "[weft_mrc0]\nports = eth0\n%s\n", lines);
	return one(text).setup;
}

static void check_wrong(const char *text, const char *sentence)
{
	struct config_device *list = NULL;
	int n = read_text(text, strlen(text), &list);

	if (n >= 0)
		fail_msg("taken: %s", text);
	assert_int_equal(n, -EINVAL);
	assert_null(list);
	assert_string_equal(error.at, sentence);
}

static void devices_have_defaults(void **state)
{
	static const uint8_t of_mrc[ENGINE_TCLASSES] = {0, 12, 0, 46}, of_rc[ENGINE_TCLASSES];
	struct config_device d = one("[weft_rc0]\nports = eth0\n");

	(void)state;
	assert_string_equal(d.name, "weft_rc0");
	assert_string_equal(d.why, "udp: the default");
	assert_ptr_equal(d.setup.transport, &transport_rc);
	assert_int_equal(d.setup.driver, CONFIG_UDP);
	assert_int_equal(d.setup.n_ports, 1);
	assert_string_equal(d.setup.interfaces[0], "eth0");
	assert_int_equal(d.setup.cc, CC_FIXED);
	assert_int_equal(d.setup.window_bytes, 0);
	assert_memory_equal(d.setup.dscp, of_rc, sizeof of_rc);
	assert_false(d.setup.is_not_ect || d.setup.has_trim || d.setup.has_lo);

	d = one("[weft_mrc7]\nports = eth0\n");
	assert_ptr_equal(d.setup.transport, &transport_mrc);
	assert_int_equal(d.setup.driver, CONFIG_UDP);
	assert_int_equal(d.setup.cc, CC_NSCC);
	assert_false(d.setup.has_trim);
	assert_memory_equal(d.setup.dscp, of_mrc, sizeof of_mrc);
	assert_false(d.setup.evs.is_generated);
	assert_int_equal(d.setup.evs.n, 0);
	assert_int_equal(d.setup.ev_burst, 0);
}

/* Table 7-7: DSCP_TRIMMABLE where trimming is used. */
static void a_driver_of_frames_sees_trims(void **state)
{
	static const uint8_t classes[ENGINE_TCLASSES] = {10, 12, 0, 46};
	struct config_setup s = mrc("driver = raw");

	(void)state;
	assert_true(s.has_trim);
	assert_int_equal(s.dscp_trimmed, 18);
	assert_int_equal(s.dscp_trimmed_lasthop, 20);
	assert_memory_equal(s.dscp, classes, sizeof classes);
	s = mrc("driver = xdp\ntrim = off");
	assert_false(s.has_trim);
	assert_int_equal(s.dscp[ENGINE_DATA], 0);
}

static void every_key_is_read(void **state)
{
	static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 1};
	static const uint8_t v6[16] = {0xfc, [15] = 9};
	struct config_device d = one("# a comment\n\n"
				     " [ plane.s-4_X ]\t# another\r\n"
				     "transport=mrc\n"
				     "driver = xdp\n"
				     "ports = a, b\tc+d\n"
				     "addresses = lo 192.0.2.1, fc00::9\n"
				     "dscp-data = 1\ndscp-retransmit = 0x2\ndscp-no-trim = 3\n"
				     "dscp-control = 63\necn = off\ntrim = 5 6\ncc = fixed\n"
				     "window = 2 MiB\nrate = 400Gb/s\n"
				     "ev = auto\nev-count = 64\nev-min-active = 8\nev-burst = 3");
	const struct config_setup *s = &d.setup;

	(void)state;
	assert_string_equal(d.name, "plane.s-4_X");
	assert_string_equal(d.why, "xdp: asked for by some.conf:5");
	assert_ptr_equal(s->transport, &transport_mrc);
	assert_int_equal(s->driver, CONFIG_XDP);
	assert_int_equal(s->n_ports, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const char name[2] = {(char)('a' + i), 0};

		assert_string_equal(s->interfaces[i], name);
	}
	assert_true(s->has_lo);
	assert_int_equal(s->n_addresses, 2);
	assert_memory_equal(s->addresses[0], v4, 16);
	assert_memory_equal(s->addresses[1], v6, 16);
	assert_int_equal(s->dscp[ENGINE_DATA], 1);
	assert_int_equal(s->dscp[ENGINE_RETX], 2);
	assert_int_equal(s->dscp[ENGINE_NO_TRIM], 3);
	assert_int_equal(s->dscp[ENGINE_CONTROL], 63);
	assert_true(s->is_not_ect);
	assert_true(s->has_trim);
	assert_int_equal(s->dscp_trimmed, 5);
	assert_int_equal(s->dscp_trimmed_lasthop, 6);
	assert_int_equal(s->cc, CC_FIXED);
	assert_int_equal(s->window_bytes, 2u << 20);
	assert_int_equal(s->rate_bps, UINT64_C(400000000000));
	assert_int_equal(s->evs.n, 64);
	assert_int_equal(s->evs.min_active, 8);
	assert_int_equal(s->ev_burst, 3);
}

static void amounts_have_units(void **state)
{
	(void)state;
	assert_int_equal(mrc("window = 4096").window_bytes, 4096);
	assert_int_equal(mrc("window = 8KiB").window_bytes, 8192);
	assert_int_equal(mrc("window = 1GiB").window_bytes, 1u << 30);
	assert_int_equal(mrc("service-levels = 2:9, 15:1:2:3").sls, 1u << 2 | 1u << 15);
	assert_int_equal(mrc("service-levels = 2:9, 15:1:2:3").sl_dscp[2][ENGINE_NO_TRIM], 9);
	assert_int_equal(mrc("service-levels = 2:9, 15:1:2:3").sl_dscp[15][ENGINE_RETX], 2);
	assert_int_equal(mrc("pool-memory = 1MiB").device.pool_bytes, 1u << 20);
	assert_int_equal(mrc("pool-memory = 16GiB").device.pool_bytes, UINT64_C(1) << 34);
	assert_int_equal(mrc("stranger-rate = 1").device.stranger_rate, 1);
	assert_int_equal(mrc("stranger-rate = 0").device.stranger_rate, TRANSPORT_NO_STRANGERS);
	assert_int_equal(mrc("rate = 1000").rate_bps, 1000);
	assert_int_equal(mrc("rate = 1kb/s").rate_bps, 1000);
	assert_int_equal(mrc("rate = 25 Mb/s").rate_bps, 25000000);
	assert_int_equal(mrc("rate = 1Tb/s").rate_bps, UINT64_C(1000000000000));
	assert_int_equal(mrc("driver = raw\ntrim = 7").dscp_trimmed_lasthop, NET_DSCP_NONE);
}

static void entropy_values_have_formats(void **state)
{
	struct config_evs e = mrc("ev = auto:256").evs;

	(void)state;
	assert_false(e.is_generated);
	assert_int_equal(e.n, 256);
	e = mrc("ev = structured:16:0xc000:0x3f:1:40, 16:7").evs;
	assert_true(e.is_generated);
	assert_int_equal(e.encoding, PATH_STRUCTURED);
	assert_int_equal(e.n_fields, 2);
	assert_int_equal(e.fields[0].width, 16);
	assert_int_equal(e.fields[0].init, 0xc000);
	assert_int_equal(e.fields[0].mask, 0x3f);
	assert_int_equal(e.fields[0].min, 1);
	assert_int_equal(e.fields[0].max, 40);
	assert_int_equal(e.fields[1].width, 16);
	assert_int_equal(e.fields[1].init, 7);
	assert_int_equal(e.fields[1].mask, 0);
	assert_int_equal(mrc("ev = ecmp:16:0xc000:0xff:0:255").evs.encoding, PATH_ECMP);
	e = mrc("ev-count = 16\nev = usid:32:0xfc000000,16:0x100:0xff:0:255").evs;
	assert_int_equal(e.encoding, PATH_USID);
	assert_int_equal(e.n, 16);
	assert_int_equal(mrc("ev = usid-srh:32:1,32:2,32:3,32:4,32:5").evs.encoding, PATH_USID_SRH);
	/* What udp cannot carry is not on udp by default. */
	assert_string_equal(one("[weft_mrc0]\nports=a\nev=usid:32:1").why,
			    "raw: udp cannot carry entropy values of a format");
	assert_string_equal(one("[weft_mrc0]\nports=a b").why,
			    "raw: it has several ports, and udp has one");
	assert_string_equal(one("[weft_mrc0]\nports=a\naddresses=lo").why,
			    "raw: udp has the addresses of its interface only");
	assert_string_equal(one("[weft_mrc0]\nports=a\ntrim=1").why,
			    "raw: udp never sees a packet that was cut");
}

static void rc_comes_first(void **state)
{
	static const char text[] = "[m]\ntransport=mrc\nports=a\n[r]\nports=a\n"
				   "[n]\ntransport=mrc\nports=b\n[s]\nports=b\n";
	static const char *const names[] = {"r", "s", "m", "n"};
	struct config_device *list = NULL;

	(void)state;
	assert_int_equal(read_text(text, sizeof text - 1, &list), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_string_equal(list[i].name, names[i]);
	free(list);
	assert_int_equal(read_text("", 0, &list), 0);
	assert_null(list);
	assert_int_equal(read_text("# nothing\n", 10, &list), 0);
}

struct mistake {
	const char *text, *sentence;
};

#define M "[weft_mrc0]\nports = eth0\n"
#define R "[weft_rc0]\nports = eth0\n"
#define SL_HELP                                                                                 \
	"give SL:DSCP, or SL:DATA:RETRANSMIT:NO-TRIM, with SL 0 to 15 and DSCPs 0 to 63; more " \
	"may "                                                                                  \
	"follow"

static const struct mistake mistakes[] = {
	{"port = eth0", "some.conf:1: there is no key 'port'; did you mean 'ports'?"},
	{M "ev-ways = 16", "some.conf:3: the key 'ev-ways' is called 'ev-count' now"},
	{M "wimdow = 1", "some.conf:3: there is no key 'wimdow'; did you mean 'window'?"},
	{M "zzz\033zzzzzzzz = 1",
	 "some.conf:3: there is no key 'zzz?zzzzzzzz', only transport driver ports addresses "
	 "dscp-data dscp-retransmit dscp-no-trim dscp-control service-levels ecn trim cc "
	 "cnp-port trace window rate ev ev-count ev-min-active ev-burst pool-memory stranger-rate"},
	{"ports = eth0", "some.conf:1: ports = ... stands before the first [NAME]"},
	{"[a", "some.conf:1: '[a': a section is [NAME]"},
	{"[]", "some.conf:1: '': a name is 1 to 31 letters, digits and _ . -"},
	{"[a b]", "some.conf:1: 'a b': a name is 1 to 31 letters, digits and _ . -"},
	{"[a/../b]", "some.conf:1: 'a/../b': a name is 1 to 31 letters, digits and _ . -"},
	{"[x]\nports = a\n\n[x]", "some.conf:4: x is there already, in line 1; each device has a "
				  "name of its own"},
	{"[x]\ncc = fixed\n", "some.conf:1: x has no ports: give ports = INTERFACE ..."},
	{"nonsense", "some.conf:1: 'nonsense': give [NAME], KEY = VALUE or # ..."},
	{M "cc = nscc\n#\ncc = fixed",
	 "some.conf:5: cc is there already, in line 3; leave one of them out"},
	{M "transport = tcp", "some.conf:3: transport = tcp: give rc or mrc"},
	{M "driver = dpdk", "some.conf:3: driver = dpdk: give udp, raw or xdp"},
	{M "cc = cubic", "some.conf:3: cc = cubic: give fixed, dcqcn or nscc"},
	{M "cc = dcqcn", "some.conf:3: weft_mrc0: cc: dcqcn is not for mrc; give fixed or nscc"},
	{R "cc = nscc", "some.conf:3: weft_rc0: cc: nscc is not for rc; give fixed or dcqcn"},
	{"[x]\nports =", "some.conf:2: ports = : give one to 8 interfaces"},
	{"[x]\nports = a b a", "some.conf:2: ports = a b a: a stands there twice"},
	{"[x]\nports = a b c d e f g h i",
	 "some.conf:2: ports = a b c d e f g h i: too many: a device has at most 8 ports"},
	{"[x]\nports = a/b", "some.conf:2: ports = a/b: 'a/b' is no name of an interface"},
	{"[x]\nports = sixteen-letters-",
	 "some.conf:2: ports = sixteen-letters-: 'sixteen-letters-' is no name of an interface"},
	{"[x]\nports = a b",
	 "some.conf:2: x: ports: a device of rc has at most 1; several need transport = mrc"},
	{"[weft_mrc0]\nports = a b\ndriver = udp",
	 "some.conf:3: weft_mrc0: driver: it has several ports, and udp has one; give driver = raw "
	 "or xdp"},
	{M "addresses =", "some.conf:3: addresses = : give lo, or addresses of this machine"},
	{M "addresses = lo 1.2.3",
	 "some.conf:3: addresses = lo 1.2.3: '1.2.3' is no address, and not lo"},
	{M "addresses = 1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4 1.1.1.5 1.1.1.6 1.1.1.7 1.1.1.8 1.1.1.9 "
	   "1.1.2.1 1.1.2.2 1.1.2.3 1.1.2.4 1.1.2.5 1.1.2.6 1.1.2.7 1.1.2.8",
	 "some.conf:3: addresses = 1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4 1.1.1...: too many: at most 16"},
	{M "driver = udp\naddresses = lo",
	 "some.conf:4: weft_mrc0: addresses: udp has the addresses of its interface only; give "
	 "driver = raw or xdp"},
	{M "dscp-data = 64", "some.conf:3: dscp-data = 64: give a number from 0 to 63"},
	{M "dscp-retransmit = -1", "some.conf:3: dscp-retransmit = -1: give a number from 0 to 63"},
	{M "dscp-no-trim = 0x", "some.conf:3: dscp-no-trim = 0x: give a number from 0 to 63"},
	{M "dscp-control = 1 2", "some.conf:3: dscp-control = 1 2: give a number from 0 to 63"},
	{M "ecn = yes", "some.conf:3: ecn = yes: give on or off"},
	{R "cnp-port = 1", "some.conf:3: cnp-port = 1: give any or peer"},
	{M "cnp-port = peer",
	 "some.conf:3: weft_mrc0: cnp-port: is for devices with transport = rc"},
	{M "trim = on",
	 "some.conf:3: trim = on: give off, or the DSCP of packets that were cut and, if it is "
	 "another one, that of the last hop, 0 to 63"},
	{M "trim = 4 4",
	 "some.conf:3: trim = 4 4: give off, or the DSCP of packets that were cut and, if it is "
	 "another one, that of the last hop, 0 to 63"},
	{M "trim = 46",
	 "some.conf:3: weft_mrc0: trim: 46 says by trim that a packet was cut, and by dscp-control "
	 "that it was not; change one of them"},
	{M "driver = raw\ndscp-data = 20",
	 "some.conf:4: weft_mrc0: dscp-data: 20 says by trim that a packet was cut, and by "
	 "dscp-data that it was not; change one of them"},
	{M "driver = udp\ntrim = 18",
	 "some.conf:4: weft_mrc0: trim: udp never sees a packet that was cut; give driver = raw or "
	 "xdp"},
	{R "trim = 18", "some.conf:3: weft_rc0: trim: is for devices with transport = mrc"},
	{M "window = 1MB",
	 "some.conf:3: window = 1MB: give bytes, 4096 to 1073741824; KiB, MiB and GiB may follow"},
	{M "window = 4095",
	 "some.conf:3: window = 4095: give bytes, 4096 to 1073741824; KiB, MiB and GiB may follow"},
	{M "window = 5000000KiB", "some.conf:3: window = 5000000KiB: give bytes, 4096 to "
				  "1073741824; KiB, MiB and GiB may follow"},
	{M "service-levels = 16:1", "some.conf:3: service-levels = 16:1: " SL_HELP},
	{M "service-levels = 1:64", "some.conf:3: service-levels = 1:64: " SL_HELP},
	{M "service-levels = 1", "some.conf:3: service-levels = 1: " SL_HELP},
	{M "service-levels = 1:2:3", "some.conf:3: service-levels = 1:2:3: " SL_HELP},
	{M "service-levels = 1:2:3:4:5", "some.conf:3: service-levels = 1:2:3:4:5: " SL_HELP},
	{M "service-levels = 1:2;", "some.conf:3: service-levels = 1:2;: " SL_HELP},
	{M "service-levels = 1:2 1:3", "some.conf:3: service-levels = 1:2 1:3: " SL_HELP},
	{M "driver = raw\nservice-levels = 4:24:18:2",
	 "some.conf:4: weft_mrc0: service-levels: 18 says by trim that a packet was cut, and by "
	 "service level 4 that it was not; change one of them"},
	{R "service-levels = 1:2", "some.conf:3: weft_rc0: service-levels: is for devices with "
				   "transport = mrc"},
	{M "pool-memory = 1048575", "some.conf:3: pool-memory = 1048575: give bytes, 1MiB to "
				    "16GiB; KiB, MiB and GiB may follow"},
	{M "pool-memory = 17GiB", "some.conf:3: pool-memory = 17GiB: give bytes, 1MiB to 16GiB; "
				  "KiB, MiB and GiB may follow"},
	{R "pool-memory = 1GiB", "some.conf:3: weft_rc0: pool-memory: is for devices with "
				 "transport = mrc"},
	{R "stranger-rate = 1", "some.conf:3: weft_rc0: stranger-rate: is for devices with "
				"transport = mrc"},
	{M "stranger-rate = 1000001", "some.conf:3: stranger-rate = 1000001: give a number from 0 "
				      "to 1000000"},
	{M "rate = 999", "some.conf:3: rate = 999: give bits per second, from 1000 on, or say "
			 "100Gb/s"},
	{M "rate = 99999999999999999999",
	 "some.conf:3: rate = 99999999999999999999: give bits per second, from 1000 on, or say "
	 "100Gb/s"},
	{M "rate = 1001Tb/s", "some.conf:3: rate = 1001Tb/s: give bits per second, from 1000 on, "
			      "or say 100Gb/s"},
	{M "ev = random", "some.conf:3: ev = random: give auto, auto:N, or ecmp, structured, usid "
			  "or usid-srh, a colon, and fields with commas"},
	{M "ev = auto:0", "some.conf:3: ev = auto:0: give auto, or auto:N with N from 1 to 4096"},
	{M "ev = auto:4097",
	 "some.conf:3: ev = auto:4097: give auto, or auto:N with N from 1 to 4096"},
	{M "ev = auto:16\nev-count = 16",
	 "some.conf:4: ev-count = 16: ev says how many there are; leave one of them out"},
	{M "ev-count = 16\nev = auto:16",
	 "some.conf:4: ev = auto:16: ev-count says how many there are; leave one of them out"},
	{M "ev = usid:", "some.conf:3: ev = usid:: field 1: give width:init or "
			 "width:init:mask:min:max"},
	{M "ev = usid:16:1,16:1:2",
	 "some.conf:3: ev = usid:16:1,16:1:2: field 2: give width:init or width:init:mask:min:max"},
	{M "ev = usid:16:1,33:1", "some.conf:3: ev = usid:16:1,33:1: field 2: a field's width is "
				  "not 1 to 32 bits"},
	{M "ev = usid:4:16",
	 "some.conf:3: ev = usid:4:16: field 1: a field's value or mask is wider than the field"},
	{M "ev = usid:4:0:3:0:4",
	 "some.conf:3: ev = usid:4:0:3:0:4: field 1: a field's bounds do not fit its mask"},
	{M "ev = structured:32:0,1:0",
	 "some.conf:3: ev = structured:32:0,1:0: the fields have more bits than the encoding: "
	 "structured has 32"},
	{M "ev = usid:32:0:0xffffffff:0:0xffffffff,1:0:1:0:1",
	 "some.conf:3: ev = usid:32:0:0xffffffff:0:0xffffffff,1:0...: more than 2^32 combinations"},
	{M "driver = udp\nev = usid:32:0",
	 "some.conf:4: weft_mrc0: ev: udp cannot carry entropy values of a format; give driver = "
	 "raw or xdp"},
	{R "ev = auto", "some.conf:3: weft_rc0: ev: is for devices with transport = mrc"},
	{M "ev-count = 0", "some.conf:3: ev-count = 0: give a number from 1 to 4096"},
	{M "ev-min-active = 129",
	 "some.conf:3: weft_mrc0: ev-min-active: 129 of 128 EVs: too many entropy values"},
	{M "ev = usid:4:0:3:0:3\nev-min-active = 5",
	 "some.conf:4: weft_mrc0: ev-min-active: 5 of 4 EVs: too many entropy values"},
	{M "ev-burst = 65536", "some.conf:3: ev-burst = 65536: give a number from 1 to 65535"},
	{M "ev-burst = 0", "some.conf:3: ev-burst = 0: give a number from 1 to 65535"},
};

static void every_mistake_has_its_sentence(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
		check_wrong(mistakes[i].text, mistakes[i].sentence);
}

static void too_much_is_refused(void **state)
{
	char text[TEXT_MAX] = "[x]\n#";
	struct config_device *list = NULL;
	uint32_t len = 0;

	(void)state;
	memset(text + 5, 'x', 5000);
	check_wrong(text, "some.conf:2: longer than 4095 bytes");
	assert_int_equal(read_text("[x]\nports\0= a", 13, &list), -EINVAL);
	assert_string_equal(error.at, "some.conf:2: a zero byte: this is no text");
	for (uint32_t i = 0; i <= CONFIG_DEVICES_MAX; i++)
		len += (uint32_t)snprintf(text + len, sizeof text - len, "[d%u]\nports=a\n", i);
	check_wrong(text, "some.conf:513: too many devices: at most 256");
	len = (uint32_t)snprintf(text, sizeof text, M "ev = usid:");
	for (uint32_t i = 0; i < 33; i++)
		len += (uint32_t)snprintf(text + len, sizeof text - len, "%s1:0", i ? "," : "");
	check_wrong(
		text,
		"some.conf:3: ev = usid:1:0,1:0,1:0,1:0,1:0,1:0,1:0,1:0,...: at most 32 fields");
}

static void a_long_name_shows_its_end(void **state)
{
	struct config_file config = {.text = NULL};
	struct config_device *list = NULL;
	char text[] = "[x]";

	(void)state;
	memset(config.name, 'a', 1000);
	memcpy(config.name + 990, "/last.conf", 11);
	config.text = text;
	config.len = strlen(text);
	assert_int_equal(config_read(&config, &list, &error), -EINVAL);
	assert_non_null(strstr(error.at, "/last.conf:1: x has no ports: give ports ="));
}

static void the_environment_has_the_last_word(void **state)
{
	(void)state;
	setenv("WEFT_DRIVER", "raw", 1);
	setenv("WEFT_CC", "dcqcn", 1);
	setenv("WEFT_WINDOW", "64KiB", 1);
	setenv("WEFT_EV", "auto:7", 1);
	setenv("WEFT_EV_BURST", "9", 1);
	setenv("WEFT_STRANGER_RATE", "5", 1);
	struct config_device d = one(M "driver = xdp\nwindow = 8192\nev-count = 100\nev-burst = 2");

	assert_string_equal(d.why, "raw: asked for by WEFT_DRIVER");
	assert_int_equal(d.setup.driver, CONFIG_RAW);
	assert_int_equal(d.setup.cc, CC_NSCC); /* which dcqcn is not for */
	assert_int_equal(d.setup.window_bytes, 65536);
	assert_int_equal(d.setup.evs.n, 7);
	assert_int_equal(d.setup.ev_burst, 9);
	assert_int_equal(d.setup.device.stranger_rate, 5);
	d = one(R);
	assert_int_equal(d.setup.driver, CONFIG_RAW);
	assert_int_equal(d.setup.cc, CC_DCQCN);
	assert_int_equal(d.setup.evs.n, 0);
	assert_int_equal(d.setup.ev_burst, 0);
	setenv("WEFT_DRIVER", "udp", 1);
	check_wrong("[weft_mrc0]\nports = a b",
		    "WEFT_DRIVER: weft_mrc0: it has several ports, and udp has one; give driver = "
		    "raw or xdp");
	setenv("WEFT_EV", "usid:1", 1);
	check_wrong(R, "WEFT_EV=usid:1: field 1: give width:init or width:init:mask:min:max");
	unsetenv("WEFT_DRIVER");
	unsetenv("WEFT_CC");
	unsetenv("WEFT_WINDOW");
	unsetenv("WEFT_EV");
	unsetenv("WEFT_EV_BURST");
	unsetenv("WEFT_STRANGER_RATE");
}

static void put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void check_found(const char *end)
{
	struct config_file config;
	int r = config_find(&config, &error);

	if (r)
		fail_msg("%s", error.at);
	assert_non_null(strstr(config.name, end));
	if (*end)
		assert_non_null(config.text);
	free(config.text);
}

static void a_file_is_looked_for_in_order(void **state)
{
	char top[] = "/tmp/weft-nic-setup-XXXXXX", path[128];
	struct config_file config;

	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(chdir(top), 0);
	unsetenv("WEFT_CONFIG");
	setenv("HOME", top, 1);
	setenv("XDG_CONFIG_HOME", "", 1);
	assert_int_equal(mkdir(".config", 0700), 0);
	check_found(""); /* the system's, or none */
	assert_int_equal(mkdir(".config/weft", 0700), 0);
	put_file(".config/weft/devices.conf", R);
	check_found("/.config/weft/devices.conf");
	snprintf(path, sizeof path, "%s/xdg", top);
	setenv("XDG_CONFIG_HOME", path, 1);
	assert_int_equal(mkdir("xdg", 0700), 0);
	assert_int_equal(mkdir("xdg/weft", 0700), 0);
	put_file("xdg/weft/devices.conf", M);
	check_found("/xdg/weft/devices.conf");
	put_file("mine", M);
	setenv("WEFT_CONFIG", "mine", 1);
	check_found("mine");
	setenv("WEFT_CONFIG", "", 1);
	check_found("/xdg/weft/devices.conf");
	setenv("WEFT_CONFIG", "not-there", 1);
	assert_int_equal(config_find(&config, &error), -ENOENT);
	assert_string_equal(error.at, "WEFT_CONFIG: there is no file not-there");
	setenv("WEFT_CONFIG", "xdg", 1);
	assert_int_equal(config_find(&config, &error), -EISDIR);
	assert_string_equal(error.at, "xdg: is a directory; name a file in it");
	assert_null(config.text);
	setenv("WEFT_CONFIG", "/dev/zero", 1);
	assert_int_equal(config_find(&config, &error), -EFBIG);
	assert_string_equal(error.at, "/dev/zero: longer than 1048576 bytes, which no "
				      "configuration is; name another file");
	setenv("WEFT_CONFIG", "/dev/null", 1);
	unlink("mine");
	unlink("xdg/weft/devices.conf");
	unlink(".config/weft/devices.conf");
	rmdir("xdg/weft");
	rmdir("xdg");
	rmdir(".config/weft");
	rmdir(".config");
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(top), 0);
}

/* A bad file is no reason to go on with something else. */
static void a_bad_file_means_no_devices(void **state)
{
	char path[] = "/tmp/weft-nic-setup-XXXXXX";
	struct nic_info *list = NULL;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	put_file(path, "[weft_rc0]\nprots = lo\n");
	setenv("WEFT_CONFIG", path, 1);
	assert_int_equal(nic_list(&list), -EINVAL);
	assert_null(list);
	assert_non_null(strstr(nic_error(), ":2: there is no key 'prots'; did you mean 'ports'?"));
	put_file(path, "[mine]\nports = lo\n");
	assert_int_equal(nic_list(&list), 1);
	assert_string_equal(list[0].name, "mine");
	assert_string_equal(list[0].interface, "lo");
	free(list);
	setenv("WEFT_CONFIG", "/dev/null", 1);
	unlink(path);
}

static void check_same(const struct config_setup *a, const struct config_setup *b)
{
	assert_int_equal(a->transport, b->transport);
	assert_int_equal(a->driver, b->driver);
	assert_int_equal(a->n_ports, b->n_ports);
	assert_memory_equal(a->interfaces, b->interfaces, sizeof a->interfaces);
	assert_memory_equal(a->dscp, b->dscp, sizeof a->dscp);
	assert_int_equal(a->sls, b->sls);
	assert_memory_equal(a->sl_dscp, b->sl_dscp, sizeof a->sl_dscp);
	assert_int_equal(a->is_not_ect, b->is_not_ect);
	assert_int_equal(a->has_trim, b->has_trim);
	assert_int_equal(a->dscp_trimmed, b->dscp_trimmed);
	assert_int_equal(a->dscp_trimmed_lasthop, b->dscp_trimmed_lasthop);
	assert_int_equal(a->cc, b->cc);
	assert_int_equal(a->device.is_cnp_port_checked, b->device.is_cnp_port_checked);
	assert_int_equal(a->window_bytes, b->window_bytes);
	assert_int_equal(a->rate_bps, b->rate_bps);
	assert_int_equal(a->ev_burst, b->ev_burst);
	assert_int_equal(a->device.pool_bytes, b->device.pool_bytes);
	assert_int_equal(a->device.stranger_rate, b->device.stranger_rate);
	assert_int_equal(a->evs.is_generated, b->evs.is_generated);
	assert_int_equal(a->evs.n, b->evs.n);
	assert_int_equal(a->evs.min_active, b->evs.min_active);
	assert_int_equal(a->evs.encoding, b->evs.encoding);
	assert_int_equal(a->evs.n_fields, b->evs.n_fields);
	assert_memory_equal(a->evs.fields, b->evs.fields, sizeof a->evs.fields);
	assert_int_equal(a->has_lo, b->has_lo);
	assert_int_equal(a->n_addresses, b->n_addresses);
	assert_memory_equal(a->addresses, b->addresses, sizeof a->addresses);
}

static const char *const lines[] = {
	"transport = mrc",
	"transport = rc",
	"driver = udp",
	"driver = raw",
	"driver = xdp",
	"ports = eth0",
	"ports = eth0 eth1 eth2 eth3",
	"addresses = lo",
	"addresses = 192.0.2.1 fc00::1",
	"addresses = lo fc00::1",
	"dscp-data = 11",
	"dscp-retransmit = 13",
	"dscp-no-trim = 1",
	"dscp-control = 48",
	"service-levels = 0:4 3:20:21:22 15:63:0:1",
	"ecn = off",
	"trim = 30",
	"trim = 30 31",
	"trim = off",
	"cc = nscc",
	"cc = fixed",
	"cc = dcqcn",
	"cnp-port = any",
	"cnp-port = peer",
	"window = 123456",
	"rate = 25Gb/s",
	"ev = auto",
	"ev = structured:16:0xc000:0xff:0:255,16:0:0xf:0:9",
	"ev = usid-srh:32:0xfc000000,16:0x100:0xff:0:255",
	"ev-count = 16",
	"ev-min-active = 4",
	"ev-burst = 15",
	"stranger-rate = 0",
	"stranger-rate = 250",
	"pool-memory = 64MiB",
};

/* Each key or none: many such texts are wrong, and what is not is written and read again. */
static void what_is_printed_reads_the_same(void **state)
{
	uint64_t seed = check_seed(8);
	uint32_t n_good = 0;
	struct prng p;

	(void)state;
	prng_init(&p, seed, 0);
	for (uint32_t i = 0; i < 5000; i++) {
		struct config_device *list = NULL, *again = NULL;
		char text[TEXT_MAX] = "[x]\n";
		const char *last = "";
		size_t len = strlen(text);

		for (uint32_t k = 0; k < sizeof lines / sizeof lines[0]; k++) {
			size_t key = strcspn(lines[k], " ") + 1;
			bool is_port = !strncmp(lines[k], "ports ", key);

			if (prng_chance(&p, is_port ? 1 : 2, is_port ? 2 : 3) ||
			    !strncmp(last, lines[k], key))
				continue;
			last = lines[k];
			len += (size_t)snprintf(text + len, sizeof text - len, "%s\n", last);
		}
		int n = read_text(text, len, &list);

		if (n < 0)
			continue;
		n_good++;
		len = config_print(&list[0], text, sizeof text);
		assert_int_equal(len, strlen(text));
		if (read_text(text, len, &again) != 1)
			fail_msg("round %u: %s: %s", i, error.at, text);
		check_same(&list[0].setup, &again[0].setup);
		assert_string_equal(list[0].name, again[0].name);
		/* Without room nothing is written, and the length told. */
		memset(text, 'e', sizeof text);
		assert_int_equal(config_print(&list[0], text, 4), len);
		assert_string_equal(text, "[x]");
		for (uint32_t k = 4; k < sizeof text; k++)
			assert_true(text[k] == 'e');
		free(list);
		free(again);
	}
	assert_true(n_good > 100);
}

/* What is taken makes sense, what is not has a sentence that a terminal can show. */
static void check_any(const char *text, size_t len)
{
	struct config_device *list = NULL;
	int n = read_text(text, len, &list);

	if (n < 0) {
		const char *says = error.at;

		assert_int_equal(n, -EINVAL);
		assert_int_equal(strncmp(says, "some.conf:", 10), 0);
		assert_true(strlen(says) > 15);
		for (; *says; says++)
			assert_true((unsigned char)*says >= ' ' && *says != 0x7f);
	}
	for (int i = 0; i < n; i++) {
		const struct config_setup *s = &list[i].setup;

		assert_true(s->n_ports >= 1 && s->n_ports <= ENGINE_PORTS);
		assert_true(s->driver < CONFIG_DRIVERS && s->transport);
		assert_true(s->evs.n <= PATH_EVS_MAX && s->evs.n_fields <= PATH_FIELDS_MAX);
		assert_true(strlen(list[i].name) > 0 && strlen(list[i].why) > 0);
	}
	free(list);
}

static void any_bytes_are_answered(void **state)
{
	static const char alphabet[] = "[]=#:,\n\n \txmrcwefport0123456789-_+\r\033\377";
	uint64_t seed = check_seed(9);
	struct prng p;

	(void)state;
	prng_init(&p, seed, 0);
	for (uint32_t i = 0; i < 30000; i++) {
		char text[512] = "[x]\ntransport = mrc\nports = eth0\n";
		size_t len = strlen(text);

		if (i % 3 == 0)
			len = 0;
		for (uint64_t n = prng_range(&p, 0, 6); n && i % 3 == 2; n--)
			len += (size_t)snprintf(
				text + len, sizeof text - len, "%s\n",
				lines[prng_below(&p, sizeof lines / sizeof lines[0])]);
		for (uint64_t n = prng_below(&p, 40); n && len < sizeof text; n--)
			text[len++] = i % 2 ? alphabet[prng_below(&p, sizeof alphabet - 1)]
					    : (char)prng_u32(&p);
		/* And a change somewhere. */
		if (len)
			text[prng_below(&p, len)] = alphabet[prng_below(&p, sizeof alphabet - 1)];
		check_any(text, len);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(devices_have_defaults),
	cmocka_unit_test(a_driver_of_frames_sees_trims),
	cmocka_unit_test(every_key_is_read),
	cmocka_unit_test(amounts_have_units),
	cmocka_unit_test(entropy_values_have_formats),
	cmocka_unit_test(rc_comes_first),
	cmocka_unit_test(every_mistake_has_its_sentence),
	cmocka_unit_test(too_much_is_refused),
	cmocka_unit_test(a_long_name_shows_its_end),
	cmocka_unit_test(the_environment_has_the_last_word),
	cmocka_unit_test(a_file_is_looked_for_in_order),
	cmocka_unit_test(a_bad_file_means_no_devices),
	cmocka_unit_test(what_is_printed_reads_the_same),
	cmocka_unit_test(any_bytes_are_answered),
};

ISOLATED_MAIN(cases)
