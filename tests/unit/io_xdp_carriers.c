/* io/xdp.h by other carriers than RoCE's: packets that lie in three chunks, and native IP. Needs
 * root. */
#include "xdp_pair.h"

#include "carriers.h"

/* Ethernet, the innermost IP, what the carrier goes by; headers; and the seal. */
static uint32_t around(const struct carrier *c, bool is_v4)
{
	return 14 + (is_v4 ? 20 : 40) + carrier_front_bytes(c) + carrier_plain_seal(c)->head_bytes +
	       PAIR_HEAD + carrier_plain_seal(c)->tail_bytes;
}

/* Sizes whose frames end at borders of chunks, sending (4096) and receiving (3840). */
static void carry_borders(const struct carrier *c, bool is_v4)
{
	static const uint32_t borders[] = {256, 3840, 4096, 7680, 8192};
	const uint32_t less = around(c, is_v4);

	for (unsigned i = 0; i < sizeof borders / sizeof borders[0]; i++)
		for (uint32_t bytes = borders[i] - 1; bytes <= borders[i] + 1; bytes++)
			if (bytes - less <= c->payload_max)
				assert_int_equal(carry(i % 2, 20, bytes - less, is_v4), 20);
	assert_int_equal(carry(0, 40, c->payload_max, is_v4), 40);
	assert_int_equal(carry(1, 1, 0, is_v4), 1);
}

static void cross_by(const struct carrier *c, bool is_v4, const char *chunks)
{
	struct xdp_cfg cfg = pair_cfg(2);
	char text[128];

	cfg.frames.carrier = c;
	lay_cables(2, 9000);
	open_end(0, &cfg, is_v4);
	open_end(1, &cfg, is_v4);
	xdp_port_text(ends[0], 1, text, sizeof text);
	assert_non_null(strstr(text, chunks));
	assert_int_equal(driver_pmtu(ends[0], locals[0], peers[0], pair_error, sizeof pair_error),
			 c->payload_max);
	warm_up(0);
	warm_up(1);
	carry_borders(c, is_v4);
	for (unsigned side = 0; side < 2; side++)
		assert_int_equal(ends[side]->count.rx, ends[side]->count.rx_delivered);
	close_pair();
}

static void three_chunks(void **state)
{
	(void)state;
	need_privilege();
	cross_by(&carriers_uet, true, "three chunks");
	cross_by(&carriers_uet, false, "three chunks");
}

static void native_ip(void **state)
{
	(void)state;
	need_privilege();
	cross_by(&carriers_uet_native, true, "three chunks");
	cross_by(&carriers_uet_native, false, "three chunks");
}

static void one_chunk(void **state)
{
	(void)state;
	need_privilege();
	cross_by(&carriers_toy, false, "one chunk");
}

/* A carrier whose payloads lie in fewer pieces than its frames need chunks, and one without a key.
 */
static void refused(void **state)
{
	struct xdp_cfg cfg = pair_cfg(1);
	struct carrier whole = carriers_uet;
	struct driver *d = NULL;

	(void)state;
	need_privilege();
	lay_cables(1, 9000);
	whole.pieces_max = 2;
	cfg.frames.carrier = &whole;
	assert_int_equal(xdp_new(&d, &cfg, pair_error, sizeof pair_error), -ENOTSUP);
	assert_non_null(strstr(pair_error, "more than 2 chunks"));
	cfg.frames.carrier = &carriers_falcon;
	assert_int_equal(xdp_new(&d, &cfg, pair_error, sizeof pair_error), -ENOTSUP);
	cfg.frames.carrier = NULL;
	assert_int_equal(xdp_new(&d, &cfg, pair_error, sizeof pair_error), -EINVAL);
	assert_null(d);
}

static const struct CMUnitTest cases[] = {
	XDP_PAIR_CASE(three_chunks),
	XDP_PAIR_CASE(native_ip),
	XDP_PAIR_CASE(one_chunk),
	XDP_PAIR_CASE(refused),
};

XDP_PAIR_MAIN(cases)
