/* Numbers of queue pairs: every bit that packets are not steered by is as good as any other. */
#include "nic_stage.h"

#include "nic/inside.h"

#define DRAWS    20000u
#define THE_TAG  0xa5u
#define LOW_BITS 16u
#define ALL_BITS 24u

static uint8_t the_tag(const struct driver *d)
{
	(void)d;
	return THE_TAG;
}

static const struct driver_ops shared_ops = {.name = "shared", .tag = the_tag};
static const struct driver_ops alone_ops = {.name = "alone"};

/* As much of a device as draws numbers. */
struct drawer {
	struct device device;
	struct shard shard;
	struct driver driver;
	struct nic_qp *qps[NIC_LOW_NUMBERS];
};

static struct drawer *open_drawer(const struct driver_ops *ops, uint8_t seed)
{
	struct drawer *d = calloc(1, sizeof *d);
	const uint8_t key[CHACHA20_KEY_BYTES] = {seed};

	assert_non_null(d);
	d->driver.ops = ops;
	d->shard = (struct shard){.device = &d->device, .io = &d->driver, .qps = d->qps};
	d->device.shards = &d->shard;
	d->device.transport = &transport_rc;
	keystream_init(&d->device.random, key);
	return d;
}

/* How often each bit is set: of so many fair draws never outside of 45 .. 55 percent. */
static void check_bits(const struct driver_ops *ops, uint32_t n_random)
{
	struct drawer *d = open_drawer(ops, 1);
	uint32_t ones[ALL_BITS] = {0};

	for (uint32_t i = 0; i < DRAWS; i++) {
		uint32_t number = shard_draw_qp(&d->shard);

		assert_in_range(number, 3, 0xfffffe);
		for (uint32_t bit = 0; bit < ALL_BITS; bit++)
			ones[bit] += number >> bit & 1;
	}
	for (uint32_t bit = 0; bit < ALL_BITS; bit++) {
		if (bit < n_random)
			assert_in_range(ones[bit], DRAWS * 45 / 100, DRAWS * 55 / 100);
		else
			assert_int_equal(ones[bit], THE_TAG >> (bit - LOW_BITS) & 1 ? DRAWS : 0);
	}
	free(d);
}

static void what_the_tag_leaves_is_random(void **state)
{
	(void)state;
	check_bits(&shared_ops, LOW_BITS);
}

static void without_a_tag_all_bits_are(void **state)
{
	(void)state;
	check_bits(&alone_ops, ALL_BITS);
}

/* Each finds its own place, with only one left as well. */
static void no_place_is_taken_twice(void **state)
{
	static struct nic_qp other;
	struct drawer *d = open_drawer(&alone_ops, 2);

	(void)state;
	for (uint32_t i = 0; i < NIC_MAX_QPS; i++) {
		uint32_t number = shard_draw_qp(&d->shard);

		assert_int_not_equal(number, 0);
		assert_null(d->qps[number % NIC_LOW_NUMBERS]);
		d->qps[number % NIC_LOW_NUMBERS] = &other;
	}
	free(d);
}

/* 0 and 1 are of IBTA, 2 is MRC's: of both transports. */
static void special_numbers_are_nobodys(void **state)
{
	(void)state;
	assert_int_equal(transport_rc.first_number, 3);
	assert_int_equal(transport_mrc.first_number, 3);
}

/* Two devices of one process, one after the other, and what they draw: nothing repeats. */
static void devices_draw_from_the_system(void **state)
{
	struct nic_info info = stage_info("lo");
	uint32_t numbers[8], n_same = 0;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		struct end e;

		stage_open(&e, &info, NULL);
		numbers[i] = nic_qp_number(e.qp);
		for (uint32_t k = 0; k < i; k++)
			n_same += numbers[k] % NIC_LOW_NUMBERS == numbers[i] % NIC_LOW_NUMBERS;
		stage_close(&e);
	}
	assert_true(n_same <= 1);
}

/* That two in a row are the same happens to one of 256. */
static void tags_are_drawn_too(void **state)
{
	struct nic_info info = stage_info("lo");
	uint32_t n_same = 0;
	uint8_t last = 0;

	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		struct nic_user *u = nic_open(&info);

		assert_non_null(u);
		n_same += i > 0 && driver_tag(device_shard(u->device, 0)->io) == last;
		last = driver_tag(device_shard(u->device, 0)->io);
		assert_int_equal(nic_close(u), 0);
	}
	assert_in_range(n_same, 0, 8);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(what_the_tag_leaves_is_random),
	cmocka_unit_test(without_a_tag_all_bits_are),
	cmocka_unit_test(no_place_is_taken_twice),
	cmocka_unit_test(special_numbers_are_nobodys),
	cmocka_unit_test(devices_draw_from_the_system),
	cmocka_unit_test(tags_are_drawn_too),
};

ISOLATED_MAIN(cases)
