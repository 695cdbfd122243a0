#define _GNU_SOURCE /* secure_getenv(3) */

#include "nic/inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local char sentence[NIC_SENTENCE_MAX];

/* Straight to the descriptor: the application's streams are its own. */
static void print(void)
{
	char line[NIC_SENTENCE_MAX + 8];
	int n = snprintf(line, sizeof line, "weft: %s\n", sentence);

	if (n > 0 && write(STDERR_FILENO, line, strnlen(line, sizeof line)) < 0)
		return; /* nobody listens there */
}

__attribute__((format(printf, 1, 0))) static void keep(const char *format, va_list args)
{
	vsnprintf(sentence, sizeof sentence, format, args);
	if (secure_getenv("WEFT_VERBOSE"))
		print();
}

int nic_fail(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	keep(format, args);
	va_end(args);
	return -error;
}

void *nic_fail_null(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	keep(format, args);
	va_end(args);
	errno = error;
	return NULL;
}

const char *nic_error(void)
{
	return sentence;
}

int device_check(const struct device *d)
{
	if (!d->is_dead)
		return 0;
	return nic_fail(ENODEV, "%s was opened before fork: the child must open its own",
			d->info.name);
}

int device_check_for(const struct device *d, const struct transport *transport)
{
	int r = device_check(d);

	if (r || d->transport == transport)
		return r;
	return nic_fail(ENOTSUP, "%s is a device of %s, and this is for those of %s", d->info.name,
			d->transport->name, transport->name);
}

int device_check_verbs(const struct device *d)
{
	int r = device_check(d);

	if (r || d->transport->verbs)
		return r;
	return nic_fail(ENOTSUP, "%s is a device of %s, whose queue pairs are not the verbs'",
			d->info.name, d->transport->name);
}
