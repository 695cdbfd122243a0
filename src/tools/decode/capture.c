#include "tools/decode/capture.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/decode/cooked.h"

#define RECORD_ONE "record one with: tcpdump -w FILE udp port 4791"

struct capture {
	FILE *file;
	pcap_t *pcap;
	struct capture_link link;
	struct net_cfg net;
	uint64_t size;
};

static const struct {
	int dlt;
	struct capture_link link;
} links[] = {
	{DLT_EN10MB, {NET_LINK_ETHERNET, NULL}},
	{DLT_RAW, {NET_LINK_IP, NULL}},
	{DLT_IPV4, {NET_LINK_IP, NULL}},
	{DLT_IPV6, {NET_LINK_IP, NULL}},
	{DLT_LINUX_SLL, {NET_LINK_IP, sll_layout}},
	{DLT_LINUX_SLL2, {NET_LINK_IP, sll2_layout}},
};

static bool find_link(struct capture *c, struct text *why)
{
	int dlt = pcap_datalink(c->pcap);
	const char *name = pcap_datalink_val_to_name(dlt);

	for (unsigned i = 0; i < sizeof links / sizeof links[0]; i++)
		if (links[i].dlt == dlt) {
			c->link = links[i].link;
			return true;
		}
	text_add(why,
		 "link type %s (%d) is not supported; capture on an Ethernet, raw IP or Linux "
		 "cooked (\"any\") interface",
		 name ? name : "unknown", dlt);
	return false;
}

static bool open_file(struct capture *c, const char *path, struct text *why)
{
	struct stat st;

	c->file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	if (!c->file || fstat(fileno(c->file), &st) < 0) {
		text_add(why, "cannot open: %s; check the file's name and permissions",
			 strerror(errno));
		return false;
	}
	if (S_ISDIR(st.st_mode)) {
		text_add(why, "is a directory; name the capture files in it");
		return false;
	}
	if (S_ISREG(st.st_mode)) {
		c->size = (uint64_t)st.st_size;
		if (c->size == 0) {
			text_add(why,
				 "the file is empty, not a pcap or pcapng capture; " RECORD_ONE);
			return false;
		}
	}
	return true;
}

static bool open_pcap(struct capture *c, struct text *why)
{
	char error[PCAP_ERRBUF_SIZE] = "";

	c->net = net_cfg_default();
	if (!capture_peek(c->file, &c->net)) {
		text_add(why, "cannot read: no memory for its first bytes");
		return false;
	}
	c->pcap = pcap_fopen_offline_with_tstamp_precision(c->file, PCAP_TSTAMP_PRECISION_NANO,
							   error);
	if (c->pcap)
		return true;
	if (ferror(c->file))
		text_add(why, "cannot read: %s", error);
	else
		text_add(why, "not a pcap or pcapng capture (%s); " RECORD_ONE, error);
	return false;
}

struct capture *capture_open(const char *path, struct text *why)
{
	struct capture *c = calloc(1, sizeof *c);

	text_clear(why);
	if (!c) {
		text_add(why, "out of memory");
		return NULL;
	}
	if (open_file(c, path, why) && open_pcap(c, why) && find_link(c, why))
		return c;
	capture_close(c);
	return NULL;
}

void capture_close(struct capture *c)
{
	/* libpcap owns the file once it opened it. */
	if (c->pcap)
		pcap_close(c->pcap);
	else if (c->file && c->file != stdin)
		fclose(c->file);
	free(c);
}

struct capture_link capture_link(const struct capture *c)
{
	return c->link;
}

struct net_cfg capture_net(const struct capture *c)
{
	return c->net;
}

/* pcap holds unsigned seconds, which libpcap reads as signed. A damaged file may hold anything;
 * what is left here can be added and subtracted. */
static int64_t sane_seconds(int64_t sec)
{
	if (sec < 0 && sec >= INT32_MIN)
		return sec + (INT64_C(1) << 32);
	return sec < 0 || sec > INT64_MAX / 2 ? 0 : sec;
}

enum capture_step capture_next(struct capture *c, struct capture_packet *packet, struct text *why)
{
	const uint32_t second = 1000000000;
	struct pcap_pkthdr *head;
	const uint8_t *bytes;
	int got = pcap_next_ex(c->pcap, &head, &bytes);

	if (got == PCAP_ERROR_BREAK)
		return CAPTURE_END;
	if (got != 1) {
		text_clear(why);
		text_add(why, "%s", pcap_geterr(c->pcap));
		return CAPTURE_BROKEN;
	}
	/* A damaged file may hold more than a second's worth of nanoseconds. */
	uint64_t nsec = (uint64_t)head->ts.tv_usec & UINT32_MAX;

	packet->bytes = (struct cspan){bytes, head->caplen};
	packet->wire_len = head->len;
	packet->sec = sane_seconds(head->ts.tv_sec) + (int64_t)(nsec / second);
	packet->nsec = (uint32_t)(nsec % second);
	return CAPTURE_PACKET;
}

uint64_t capture_size(const struct capture *c)
{
	return c->size;
}

uint64_t capture_position(const struct capture *c)
{
	off_t at = ftello(c->file);

	return at > 0 ? (uint64_t)at : 0;
}
