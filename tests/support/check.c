#include "check.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

uint64_t check_seed(uint64_t fallback)
{
	const char *text = getenv("WEFT_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : fallback;

	printf("seed 0x%" PRIx64 " (repeat with WEFT_SEED=0x%" PRIx64 ")\n", seed, seed);
	return seed;
}

bool check_aborts(void (*call)(void *context), void *context)
{
	int status = 0;

	fflush(NULL);
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		if (!freopen("/dev/null", "w", stderr))
			_exit(2);
		/* cmocka's own handler would outlive the fork */
		signal(SIGABRT, SIG_DFL);
		call(context);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static const struct CMUnitTest *find_case(const struct CMUnitTest *cases, size_t n,
					  const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(cases[i].name, name) == 0)
			return &cases[i];
	return NULL;
}

int check_main(int argc, char **argv, const struct CMUnitTest *cases, size_t n)
{
	if (argc > 1 && strcmp(argv[1], "--list") == 0) {
		for (size_t i = 0; i < n; i++)
			puts(cases[i].name);
		return EXIT_SUCCESS;
	}
	if (argc > 1) {
		const struct CMUnitTest *one = find_case(cases, n, argv[1]);

		if (!one) {
			fprintf(stderr, "no such case: %s (try --list)\n", argv[1]);
			return EXIT_FAILURE;
		}
		return _cmocka_run_group_tests(argv[0], one, 1, NULL, NULL);
	}
	return _cmocka_run_group_tests(argv[0], cases, n, NULL, NULL);
}
