/* A device as a section of a configuration file. */
#include "config/inside.h"

size_t config_print(const struct config_device *d, char *text, size_t len)
{
	struct config_page page = {text, len, 0};
	struct config_key key;

	config_add(&page, "[%s]\n", d->name);
	for (uint32_t i = 0; config_key(i, &key); i++) {
		char at[4096] = "";
		struct config_page value = {at, sizeof at, 0};

		if (config_key_suits(&key, d->setup.transport))
			config_print_value(&key, &d->setup, &value);
		if (value.len)
			config_add(&page, "%s = %s\n", key.setting.name, at);
	}
	return page.len;
}
