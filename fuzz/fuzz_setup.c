/* The configuration of devices from any text: it is answered, a refusal has a sentence that names
 * the file, and what is taken is within bounds and reads the same when it was printed. */
#include "fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "path/profile.h"

static void check_again(const struct config_device *d)
{
	struct config_file config = {.name = "again"};
	struct config_device *list = NULL;
	struct config_error error;
	char text[8192];

	config.len = config_print(d, text, sizeof text);
	config.text = text;
	must(config.len < sizeof text);
	must(config_read(&config, &list, &error) == 1);
	must(!strcmp(list->name, d->name) && list->setup.driver == d->setup.driver);
	must(!memcmp(list->setup.interfaces, d->setup.interfaces, sizeof d->setup.interfaces));
	must(!memcmp(list->setup.evs.fields, d->setup.evs.fields, sizeof d->setup.evs.fields));
	must(list->setup.evs.n == d->setup.evs.n);
	free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_file config = {.name = "fuzz", .len = size};
	struct config_device *list = NULL;
	struct config_error error;

	config.text = malloc(size ? size : 1);
	must(config.text != NULL);
	memcpy(config.text, data, size);
	int n = config_read(&config, &list, &error);

	free(config.text);
	if (n < 0) {
		must(n == -EINVAL || n == -ENOMEM);
		must(!strncmp(error.at, "fuzz:", 5) || n == -ENOMEM);
		return 0;
	}
	must((uint32_t)n <= CONFIG_DEVICES_MAX);
	for (int i = 0; i < n; i++) {
		const struct config_setup *s = &list[i].setup;

		must(s->n_ports >= 1 && s->n_ports <= ENGINE_PORTS);
		must(s->evs.n <= PATH_EVS_MAX && s->evs.n_fields <= PATH_FIELDS_MAX);
		must(s->n_addresses <= CONFIG_ADDRESSES_MAX);
		check_again(&list[i]);
	}
	free(list);
	return 0;
}
