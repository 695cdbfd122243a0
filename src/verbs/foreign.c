/* The way to the real libibverbs. A program that uses verbs has it loaded behind this library; one
 * that loads it later, or never, has it loaded here at the first need. It is not a dependency: this
 * library is preloaded into every program of a script, most of which never call a verb, and works
 * where there is no libibverbs at all. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "verbs/inside.h"

static struct verbs_foreign table;

static void *find(void *library, const char *name, const char *version)
{
	void *function = dlvsym(RTLD_NEXT, name, version);

	if (!function && library)
		function = dlvsym(library, name, version);
	return function;
}

/* A pointer from dlsym is one to a function, by the word of POSIX but not of C. */
#define VERBS_FIND(name, version)                                  \
	do {                                                       \
		void *function = find(library, #name, version);    \
		memcpy(&table.name, &function, sizeof table.name); \
	} while (0);

static void fill(void)
{
	void *library = NULL;

	if (!dlvsym(RTLD_NEXT, "ibv_get_device_list", "IBVERBS_1.1"))
		library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	VERBS_FOREIGN(VERBS_FIND)
}

const struct verbs_foreign *verbs_foreign(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill);
	return &table;
}
