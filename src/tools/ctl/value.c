/* Words and values of `weft ctl`, as text and back. */
#include <arpa/inet.h>
#include <string.h>

#include "tools/command.h"
#include "tools/ctl/ctl.h"

#define ADDRESS_BYTES 16u

const char *const ctl_format_modes[] = {"structured", "srv6", "udp", NULL};
const char *const ctl_modes[] = {"auto", "explicit", "generated", NULL};

const char *ctl_word(const char *const *words, int bit)
{
	for (int i = 0; words[i]; i++) {
		if (bit == 1 << i)
			return words[i];
	}
	return "unknown";
}

const char *ctl_ev_state_word(enum mrc_ctl_ev_state state)
{
	switch (state) {
	case MRC_CTL_EV_GOOD: return "good";
	case MRC_CTL_EV_ASSUMED_BAD: return "bad";
	case MRC_CTL_EV_DENIED: return "denied";
	case MRC_CTL_EV_UNKNOWN: break;
	}
	return "unknown";
}

const char *ctl_profile_state_word(enum mrc_ctl_profile_state state)
{
	static const char *const words[] = {"init", "offline", "online"};

	return words[state];
}

const char *ctl_kind_word(uint32_t kind)
{
	static const char *const words[] = {
		[CONTROL_FORMAT] = "format",
		[CONTROL_EV] = "EV profile",
		[CONTROL_CC] = "CC profile",
		[CTL_OF_PORT] = "port",
	};

	return words[kind];
}

uint32_t ctl_value_bytes(enum mrc_ctl_ev_fmt_mode mode)
{
	if (mode == MRC_CTL_EV_FMT_MODE_SRV6)
		return 2 * ADDRESS_BYTES;
	return mode == MRC_CTL_EV_FMT_MODE_UDP ? 2 : 4;
}

const char *ctl_value_like(enum mrc_ctl_ev_fmt_mode mode)
{
	if (mode == MRC_CTL_EV_FMT_MODE_SRV6)
		return "ADDRESS/PORT or ADDRESS,SEGMENT/PORT, like fc00:0:100:200::/1";
	return mode == MRC_CTL_EV_FMT_MODE_UDP ? "16 bits and a port, like 0xc001/1"
					       : "32 bits and a port, like 0xc0010002/1";
}

static void add_address(struct text *t, const uint8_t *bytes)
{
	char text[INET6_ADDRSTRLEN];

	text_add(t, "%s", inet_ntop(AF_INET6, bytes, text, sizeof text));
}

void ctl_value_text(struct text *t, enum mrc_ctl_ev_fmt_mode mode, const struct mrc_ctl_ev *ev)
{
	static const uint8_t none[ADDRESS_BYTES];

	if (mode == MRC_CTL_EV_FMT_MODE_SRV6) {
		add_address(t, ev->val);
		if (memcmp(ev->val + ADDRESS_BYTES, none, ADDRESS_BYTES) != 0) {
			text_add(t, ",");
			add_address(t, ev->val + ADDRESS_BYTES);
		}
	} else {
		text_add(t, "0x");
		for (uint32_t i = 0; i < ctl_value_bytes(mode); i++)
			text_add(t, "%02x", ev->val[i]);
	}
	text_add(t, "/%u", ev->port);
}

/* An address, and behind a comma another one. */
static bool read_segments(char *text, struct mrc_ctl_ev *ev)
{
	char *segment = strchr(text, ',');

	if (segment) {
		*segment++ = 0;
		if (inet_pton(AF_INET6, segment, ev->val + ADDRESS_BYTES) != 1)
			return false;
	}
	return inet_pton(AF_INET6, text, ev->val) == 1;
}

bool ctl_value_read(const char *text, enum mrc_ctl_ev_fmt_mode mode, struct mrc_ctl_ev *ev)
{
	char copy[2 * INET6_ADDRSTRLEN + 8];
	uint64_t port = 0, value = 0;

	memset(ev, 0, sizeof *ev);
	if (strlen(text) >= sizeof copy)
		return false;
	memcpy(copy, text, strlen(text) + 1);
	char *slash = strrchr(copy, '/');

	if (slash) {
		*slash++ = 0;
		if (!parse_number(slash, 1, ENGINE_PORTS, &port))
			return false;
	}
	ev->port = (uint8_t)port;
	if (mode == MRC_CTL_EV_FMT_MODE_SRV6)
		return read_segments(copy, ev);
	uint32_t bytes = ctl_value_bytes(mode);

	if (!parse_number(copy, 0, (UINT64_C(1) << 8 * bytes) - 1, &value))
		return false;
	for (uint32_t i = 0; i < bytes; i++)
		ev->val[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
	return true;
}

#define NSCC(member) offsetof(struct mrc_ctl_cc_nscc_cfg, member)

/* Ultra Ethernet Table 3-76. */
const struct ctl_nscc_key ctl_nscc_keys[] = {
	{"disable_qa", CTL_NSCC_FLAG, NSCC(disable_qa), 1},
	{"adjust_bytes_threshold", CTL_NSCC_BYTES, NSCC(adjust_bytes_threshold), UINT32_MAX},
	{"adjust_period_threshold", CTL_NSCC_TIME, NSCC(adjust_period_threshold), UINT32_MAX},
	{"base_rtt", CTL_NSCC_TIME, NSCC(base_rtt), UINT32_MAX},
	{"eta", CTL_NSCC_RATIO, NSCC(eta), UINT32_MAX},
	{"fi", CTL_NSCC_RATIO, NSCC(fi), UINT32_MAX},
	{"fi_scale", CTL_NSCC_RATIO, NSCC(fi_scale), UINT32_MAX},
	{"gamma", CTL_NSCC_RATIO, NSCC(gamma), 1},
	{"max_md_jump", CTL_NSCC_RATIO, NSCC(max_md_jump), 1},
	{"max_cwnd", CTL_NSCC_BYTES, NSCC(max_cwnd), UINT32_MAX},
	{"qa_gate", CTL_NSCC_COUNT, NSCC(qa_gate), UINT8_MAX},
	{"qa_threshold", CTL_NSCC_TIME, NSCC(qa_threshold), UINT32_MAX},
	{"target_delay", CTL_NSCC_TIME, NSCC(target_delay), UINT32_MAX},
	{.name = NULL},
};

/* Ratios are millionths. */
uint64_t ctl_nscc_get(const struct mrc_ctl_cc_nscc_cfg *n, const struct ctl_nscc_key *k)
{
	const char *at = (const char *)n + k->at;
	uint32_t number;
	float ratio;

	switch (k->kind) {
	case CTL_NSCC_FLAG:
	case CTL_NSCC_COUNT: return *(const uint8_t *)at;
	case CTL_NSCC_RATIO:
		memcpy(&ratio, at, sizeof ratio);
		return (uint64_t)((double)ratio * 1e6 + 0.5);
	case CTL_NSCC_BYTES:
	case CTL_NSCC_TIME: break;
	}
	memcpy(&number, at, sizeof number);
	return number;
}

void ctl_nscc_set(struct mrc_ctl_cc_nscc_cfg *n, const struct ctl_nscc_key *k, uint64_t value)
{
	char *at = (char *)n + k->at;
	uint32_t number = (uint32_t)value;
	float ratio = (float)((double)value / 1e6);

	switch (k->kind) {
	case CTL_NSCC_FLAG:
	case CTL_NSCC_COUNT: *(uint8_t *)at = (uint8_t)value; return;
	case CTL_NSCC_RATIO: memcpy(at, &ratio, sizeof ratio); return;
	case CTL_NSCC_BYTES:
	case CTL_NSCC_TIME: break;
	}
	memcpy(at, &number, sizeof number);
}
