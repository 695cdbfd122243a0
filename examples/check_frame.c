/* Checks one Ethernet frame, given as hexadecimal digits on standard input, and says what it is or
 * why a RoCE device would drop it.
 *
 *	cc check_frame.c $(pkg-config --cflags --libs weft) -o check_frame
 *	xxd -p frame.bin | ./check_frame
 *
 * Exit status: 0 accepted, 1 not decoded, 2 malformed or no frame. */
#include <ctype.h>
#include <stdio.h>
#include <weft/weft.h>

static int hex_digit(int c)
{
	if (isdigit(c))
		return c - '0';
	return isxdigit(c) ? tolower(c) - 'a' + 10 : -1;
}

/* Reads pairs of digits up to the end of input; spaces and newlines do not count. Returns the
 * number of bytes, or -1 where the input is no such text or too long. */
static long read_hex(unsigned char *out, long room)
{
	long n = 0;
	int c, high = -1;

	while ((c = getchar()) != EOF) {
		int digit = hex_digit(c);

		if (isspace(c))
			continue;
		if (digit < 0 || n == room)
			return -1;
		if (high < 0) {
			high = digit;
		} else {
			out[n++] = (unsigned char)(high << 4 | digit);
			high = -1;
		}
	}
	return high < 0 ? n : -1;
}

int main(void)
{
	static unsigned char frame[65536];
	long len = read_hex(frame, sizeof frame);
	struct weft_verdict verdict;

	if (len < 0) {
		fputs("check_frame: expected pairs of hexadecimal digits\n", stderr);
		return 2;
	}
	switch (weft_check_frame(frame, (size_t)len, &verdict)) {
	case 0:
		printf("%s, %u bytes of payload, icrc 0x%08x\n", verdict.packet_name,
		       verdict.payload_len, verdict.icrc_carried);
		return 0;
	case 1: printf("not decoded: %s\n", verdict.fault_text); return 1;
	default:
		printf("malformed: %s", verdict.fault_text);
		if (verdict.fault_header)
			printf(", in %s", verdict.fault_header);
		printf(", at byte %u\n", verdict.fault_at);
		return 2;
	}
}
