/* weft: check RoCEv2 and MRC packets from a C or C++ program.
 *
 * Every function may be called from any thread, keeps nothing, and allocates nothing. Strings that
 * are handed out are constants. Link with: pkg-config --cflags --libs weft */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_API __attribute__((visibility("default")))

/* The version of the library that runs, "0.1.0". */
WEFT_API const char *weft_version(void);

/* What weft_check_frame found. Bytes are counted from the start of the frame. */
struct weft_verdict {
	const char
		*packet_name;   /* "WRITE Only", "MRC SACK"; NULL before an opcode was recognized */
	const char *fault_name; /* "NONE" where accepted, else "TRUNCATED", "ICRC", ... */
	const char *fault_text; /* the same as a sentence */
	const char *fault_header; /* header the fault is in, "reth"; NULL where it is in none */
	uint32_t fault_at;        /* byte the fault was seen at */
	uint32_t payload_at;      /* where the payload starts; 0 where there is none */
	uint32_t payload_len;     /* without its padding */
	uint32_t icrc_carried;    /* as the packet has it; both 0 where the ICRC was not reached */
	uint32_t icrc_right;      /* as it should be */
};

/* Checks a whole Ethernet frame, without its FCS, down to the ICRC: Ethernet, up to two VLAN tags,
 * IPv4 or IPv6, UDP port 4791, then RoCEv2 or MRC. One encapsulation is followed: IPv4 or IPv6 in
 * IPv4 or IPv6, with a segment routing header behind an outer IPv6 header or without. Returns 0
 * when the packet is accepted, 1 when it is not a packet weft decodes: not RoCE traffic, or a
 * service other than RC and MRC; -EBADMSG when it is malformed; -EINVAL, with *out untouched, when
 * a pointer is NULL or the length beyond 4 GiB. */
WEFT_API int weft_check_frame(const void *frame, size_t len, struct weft_verdict *out);

/* The ICRC of a packet: len bytes from its IP header to the end of its padding, without the ICRC
 * itself. On the wire it goes least significant byte first. Returns 0; -EINVAL when the bytes do
 * not start with IPv4 without options, or IPv6, directly followed by UDP and 12 bytes of base
 * transport header. */
WEFT_API int weft_icrc(const void *ip_packet, size_t len, uint32_t *icrc);

#ifdef __cplusplus
}
#endif

#endif
