/* A small program of libmrc that opens and closes each device, as a careless author would install
 * it set-uid: what its environment makes the library do is for the attack to find out. */
#include <infiniband/verbs.h>
#include <stdio.h>

int main(void)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);

	for (int i = 0; list && i < n; i++) {
		struct ibv_context *context = ibv_open_device(list[i]);

		if (context)
			ibv_close_device(context);
	}
	if (list)
		ibv_free_device_list(list);
	printf("%d devices\n", n);
	return 0;
}
