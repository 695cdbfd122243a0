/* Stands in for the real libibverbs behind libweft-verbs: under each of its names a function that
 * remembers that it was called and answers a number. */
#include "verbs_foreign.h"

#include <stddef.h>

const char *foreign_called;

#define FOREIGN_FUNCTION(name)                                  \
	__attribute__((visibility("default"))) long name(void); \
	long name(void)                                         \
	{                                                       \
		foreign_called = #name;                         \
		return FOREIGN_ANSWER;                          \
	}
FOREIGN_NAMES(FOREIGN_FUNCTION)

/* Its devices: enough of struct ibv_device to have a name. The array outlives every list. */
struct device_like {
	void *ops[2];
	int types[2];
	char name[640];
};

static struct device_like devices[2] = {{.name = "foreign0"}, {.name = "foreign1"}};

__attribute__((visibility("default"))) void **ibv_get_device_list(int *n);
void **ibv_get_device_list(int *n)
{
	static void *list[] = {&devices[0], &devices[1], NULL};

	*n = 2;
	return list;
}
