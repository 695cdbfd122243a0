/* The frame every unit test stands in: one array of cases, one main.
 *
 * `test` runs all cases; `test --list` names them, one a line, so that docs/conformance.tsv can be
 * held against what really runs; `test CASE` runs one. A random test takes its seed from
 * WEFT_SEED, else from a constant, and prints it when it fails: see check_seed. */
#ifndef WEFT_TESTS_SUPPORT_CHECK_H
#define WEFT_TESTS_SUPPORT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The seed for this run: WEFT_SEED from the environment, or fallback. Prints it, so that the log
 * of a failing run says how to repeat it. */
uint64_t check_seed(uint64_t fallback);

/* True when call(context), run in a child process, ends by abort(): how a test sees an assert of
 * ours fire. What the child prints on standard error is not shown. */
bool check_aborts(void (*call)(void *context), void *context);

/* Runs the cases as main() should; returns the exit status. */
int check_main(int argc, char **argv, const struct CMUnitTest *cases, size_t n);

#define CHECK_MAIN(cases)                                                               \
	int main(int argc, char **argv)                                                 \
	{                                                                               \
		return check_main(argc, argv, cases, sizeof(cases) / sizeof(cases)[0]); \
	}

#endif
