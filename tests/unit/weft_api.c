/* The public library as a program sees it: its header and the shared library, nothing else. */
#include "check.h"
#include "vectors.h"

#include <errno.h>
#include <string.h>
#include <weft/weft.h>

#define MACS 0x02, 0, 0, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0x02

/* Known packets behind an Ethernet header. */
static const uint8_t sack[] = {MACS, 0x86, 0xdd, VECTOR_SACK};
static const uint8_t write_imm[] = {MACS, 0x08, 0x00, VECTOR_WRITE};

enum { ETH = 14, ICRC = 4, SACK_ICRC = 0xcb57d6b3 };

static void version_is_the_project_s(void **state)
{
	(void)state;
	assert_string_equal(weft_version(), WEFT_VERSION);
}

static void accepts_known_packets(void **state)
{
	struct weft_verdict v;

	(void)state;
	assert_int_equal(weft_check_frame(sack, sizeof sack, &v), 0);
	assert_string_equal(v.packet_name, "MRC SACK");
	assert_string_equal(v.fault_name, "NONE");
	assert_null(v.fault_header);
	assert_int_equal(v.payload_at, 0);
	assert_int_equal(v.payload_len, 0);
	assert_true(v.icrc_carried == SACK_ICRC);
	assert_true(v.icrc_right == SACK_ICRC);
	assert_int_equal(weft_check_frame(write_imm, sizeof write_imm, &v), 0);
	assert_string_equal(v.packet_name, "MRC WRITE Only Imm");
	assert_int_equal(v.payload_at, 82);
	assert_int_equal(v.payload_len, 5);
}

static void names_what_is_wrong(void **state)
{
	uint8_t frame[sizeof sack];
	struct weft_verdict v;

	(void)state;
	memcpy(frame, sack, sizeof frame);
	frame[sizeof frame - 1] ^= 1;
	assert_int_equal(weft_check_frame(frame, sizeof frame, &v), -EBADMSG);
	assert_string_equal(v.fault_name, "ICRC");
	assert_string_equal(v.packet_name, "MRC SACK");
	assert_int_equal(v.fault_at, sizeof frame - ICRC);
	assert_true(v.icrc_carried == (SACK_ICRC ^ 1u << 24));
	assert_true(v.icrc_right == SACK_ICRC);

	frame[ETH + 48] = 0xc0;
	assert_int_equal(weft_check_frame(frame, sizeof frame, &v), -EBADMSG);
	assert_string_equal(v.fault_name, "OPCODE");
	assert_string_equal(v.fault_header, "mrc_bth");
	assert_int_equal(v.fault_at, ETH + 48);
	assert_null(v.packet_name);

	assert_int_equal(weft_check_frame(sack, 20, &v), -EBADMSG);
	assert_string_equal(v.fault_name, "TRUNCATED");
	assert_string_equal(v.fault_header, "ipv6");
	assert_true(strlen(v.fault_text) > 10);
	assert_int_equal(weft_check_frame(sack, 0, &v), -EBADMSG);
	assert_string_equal(v.fault_header, "eth");
}

static void tells_foreign_from_malformed(void **state)
{
	uint8_t frame[sizeof write_imm];
	struct weft_verdict v;

	(void)state;
	memcpy(frame, write_imm, sizeof frame);
	frame[12] = 0x08;
	frame[13] = 0x06;
	assert_int_equal(weft_check_frame(frame, sizeof frame, &v), 1);
	assert_string_equal(v.fault_name, "NOT_IP");
	assert_null(v.packet_name);
	assert_int_equal(v.icrc_carried, 0);

	/* A datagram: InfiniBand, but not a service that weft decodes. */
	memcpy(frame, write_imm, sizeof frame);
	frame[ETH + 28] = 0x64;
	assert_int_equal(weft_check_frame(frame, sizeof frame, &v), 1);
	assert_string_equal(v.fault_name, "OTHER_SERVICE");
	assert_null(v.packet_name);
}

static void refuses_wrong_arguments(void **state)
{
	struct weft_verdict v;
	uint32_t icrc;

	(void)state;
	assert_int_equal(weft_check_frame(NULL, 0, &v), -EINVAL);
	assert_int_equal(weft_check_frame(sack, sizeof sack, NULL), -EINVAL);
	assert_int_equal(weft_icrc(NULL, 60, &icrc), -EINVAL);
	assert_int_equal(weft_icrc(sack + ETH, sizeof sack - ETH - ICRC, NULL), -EINVAL);
#if SIZE_MAX > UINT32_MAX
	assert_int_equal(weft_check_frame(sack, (size_t)UINT32_MAX + 1, &v), -EINVAL);
	assert_int_equal(weft_icrc(sack + ETH, (size_t)UINT32_MAX + 1, &icrc), -EINVAL);
#endif
}

static void computes_the_icrc(void **state)
{
	uint32_t icrc = 0;

	(void)state;
	assert_int_equal(weft_icrc(sack + ETH, sizeof sack - ETH - ICRC, &icrc), 0);
	assert_true(icrc == SACK_ICRC);
	assert_int_equal(weft_icrc(write_imm + ETH, sizeof write_imm - ETH - ICRC, &icrc), 0);
	assert_true(icrc == 0x23f549c8);
}

/* Too short by a byte, IPv4 with options, another protocol, another IP version. */
static void icrc_needs_its_headers(void **state)
{
	uint8_t v4[sizeof write_imm - ETH], v6[sizeof sack - ETH];
	uint32_t icrc = 7;

	(void)state;
	memcpy(v4, write_imm + ETH, sizeof v4);
	memcpy(v6, sack + ETH, sizeof v6);
	assert_int_equal(weft_icrc(v4, 40, &icrc), 0);
	assert_int_equal(weft_icrc(v6, 60, &icrc), 0);
	icrc = 7;
	for (size_t len = 0; len < 40; len++)
		assert_int_equal(weft_icrc(v4, len, &icrc), -EINVAL);
	for (size_t len = 0; len < 60; len++)
		assert_int_equal(weft_icrc(v6, len, &icrc), -EINVAL);
	v4[0] = 0x46;
	assert_int_equal(weft_icrc(v4, sizeof v4, &icrc), -EINVAL);
	v4[0] = 0x55;
	assert_int_equal(weft_icrc(v4, sizeof v4, &icrc), -EINVAL);
	v4[0] = 0x45;
	v4[9] = 6;
	assert_int_equal(weft_icrc(v4, sizeof v4, &icrc), -EINVAL);
	v6[6] = 43;
	assert_int_equal(weft_icrc(v6, sizeof v6, &icrc), -EINVAL);
	assert_int_equal(icrc, 7);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(version_is_the_project_s), cmocka_unit_test(accepts_known_packets),
	cmocka_unit_test(names_what_is_wrong),      cmocka_unit_test(tells_foreign_from_malformed),
	cmocka_unit_test(refuses_wrong_arguments),  cmocka_unit_test(computes_the_icrc),
	cmocka_unit_test(icrc_needs_its_headers),
};

CHECK_MAIN(cases)
