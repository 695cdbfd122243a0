/* VPCLMULQDQ on processors without it: included before src/base/crc32_x86.c by its compiler's
 * command line, for the one test that compiles it again. The instruction multiplies each 128-bit
 * half as PCLMULQDQ does; everything around it runs as on a processor that has it, AVX2 included.
 */
#ifndef WEFT_TESTS_SUPPORT_WIDE_MULTIPLY_H
#define WEFT_TESTS_SUPPORT_WIDE_MULTIPLY_H

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define HALF(v, n) _mm256_extracti128_si256(v, n)

#undef _mm256_clmulepi64_epi128
#define _mm256_clmulepi64_epi128(a, b, which)                                 \
	_mm256_set_m128i(_mm_clmulepi64_si128(HALF(a, 1), HALF(b, 1), which), \
			 _mm_clmulepi64_si128(HALF(a, 0), HALF(b, 0), which))

#define __builtin_cpu_supports(what) \
	(strcmp(what, "vpclmulqdq") == 0 || __builtin_cpu_supports(what))

#endif

#endif
