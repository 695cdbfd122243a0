/* A capture of frames of Ethernet, written as pcap. */
#ifndef WEFT_TESTS_SUPPORT_PCAP_OUT_H
#define WEFT_TESTS_SUPPORT_PCAP_OUT_H

#include <stdio.h>

#include "base/nsec.h"
#include "base/span.h"

static inline void pcap_put(FILE *out, uint32_t v)
{
	const uint8_t bytes[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
				  (uint8_t)(v >> 24)};

	fwrite(bytes, 1, sizeof bytes, out);
}

static inline void pcap_begin(FILE *out)
{
	const uint32_t head[] = {0xa1b2c3d4, 4u << 16 | 2, 0, 0, 65535, 1 /* Ethernet */};

	for (uint32_t i = 0; i < sizeof head / sizeof head[0]; i++)
		pcap_put(out, head[i]);
}

static inline void pcap_frame(FILE *out, nsec at, struct cspan frame)
{
	pcap_put(out, (uint32_t)(at / 1000000000));
	pcap_put(out, (uint32_t)(at / 1000 % 1000000));
	pcap_put(out, frame.len);
	pcap_put(out, frame.len);
	fwrite(frame.at, 1, frame.len, out);
}

#endif
