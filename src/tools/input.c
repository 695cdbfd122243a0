#include "tools/input.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/edits.h"
#include "scenario/scenario.h"

static int refuse(int number, char *error, size_t error_len)
{
	if (number == EFBIG)
		snprintf(error, error_len,
			 "too long: a scenario or a controller's file has less than 4 MiB, another "
			 "regular file less than 256 MiB; name the one that is meant");
	else if (number == EISDIR)
		snprintf(error, error_len, "is a directory; name a file in it");
	else
		snprintf(error, error_len, "%s", strerror(number));
	return -number;
}

/* How many bytes to read at most of a file that should have no more than most; 0: it has, or is a
 * directory, and errno says which. */
static size_t find_limit(FILE *file, size_t most)
{
	struct stat st;

	if (fstat(fileno(file), &st))
		return 0;
	if (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size >= (off_t)most)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EFBIG;
		return 0;
	}
	return S_ISREG(st.st_mode) ? most : INPUT_BYTES_MAX;
}

/* All of an open stream, which has less than most bytes, a power of two; NULL with errno set. */
static char *read_all(FILE *file, size_t most, size_t *len)
{
	size_t room = 1u << 16;
	char *text;

	most = find_limit(file, most);
	if (most == 0)
		return NULL;
	text = malloc(room);
	*len = 0;
	while (text) {
		*len += fread(text + *len, 1, room - *len, file);
		if (ferror(file) || *len >= most) {
			int number = ferror(file) ? errno : EFBIG;

			free(text);
			errno = number;
			return NULL;
		}
		if (*len < room)
			return text;
		char *more = realloc(text, room *= 2);

		if (!more)
			free(text);
		text = more;
	}
	errno = ENOMEM;
	return NULL;
}

static char *read_path(const char *path, size_t most, size_t *len)
{
	FILE *file = fopen(path, "rb");

	if (!file)
		return NULL;
	char *text = read_all(file, most, len);
	int number = errno;

	fclose(file);
	errno = number;
	return text;
}

int input_read_file(struct input *in, const char *name, char *error, size_t error_len)
{
	*in = (struct input){.shown = name, .summary = ""};
	if (strcmp(name, "-") == 0) {
		in->shown = "standard input";
		in->text = read_all(stdin, INPUT_BYTES_MAX, &in->len);
	} else {
		in->text = read_path(name, INPUT_BYTES_MAX, &in->len);
	}
	return in->text ? 0 : refuse(errno, error, error_len);
}

struct text input_guess(const char *name)
{
	struct edits_guess guess = edits_guess(name);
	const struct scenario_builtin *b;
	struct text t;

	for (uint32_t i = 0; (b = scenario_builtin_at(i)); i++)
		edits_offer(&guess, b->name);
	text_clear(&t);
	if (guess.nearest)
		text_add(&t, "; did you mean '%s'?", guess.nearest);
	return t;
}

int input_read(struct input *in, const char *name, char *error, size_t error_len)
{
	const struct scenario_builtin *b = scenario_builtin_find(name);

	if (!b) {
		int r = input_read_file(in, name, error, error_len);

		if (r != -ENOENT || strpbrk(name, "./"))
			return r;
		snprintf(error, error_len,
			 "no built-in scenario and no file has this name%s; see weft sim --list",
			 input_guess(name).at);
		return r;
	}
	*in = (struct input){.shown = name, .summary = b->summary, .len = strlen(b->yaml)};
	in->text = strdup(b->yaml);
	return in->text ? 0 : refuse(ENOMEM, error, error_len);
}

void input_fini(struct input *in)
{
	free(in->text);
	in->text = NULL;
}

char *input_read_near(const char *near, const char *name, size_t *len, char *error,
		      size_t error_len)
{
	const char *slash = strrchr(near, '/');
	int folder = slash && name[0] != '/' ? (int)(slash - near) + 1 : 0;
	size_t size = (size_t)folder + strlen(name) + 1;
	char *path = malloc(size), *text = NULL;

	if (path) {
		snprintf(path, size, "%.*s%s", folder, near, name);
		text = read_path(path, INPUT_OTHER_BYTES_MAX, len);
	} else {
		errno = ENOMEM;
	}
	if (!text)
		refuse(errno, error, error_len);
	free(path);
	return text;
}
