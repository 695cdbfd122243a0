/* The configuration file: sections and their keys, line by line. */
#define _GNU_SOURCE /* secure_getenv(3) */

#include "config/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/edits.h"

#define LINE_MOST 4096u
#define TEXT_MOST (1u << 20)
#define WORD_MOST 32u
#define SPACES    " \t\r"

/* The text as far as it was read, and the devices so far. */
struct file_reader {
	const char *file;
	struct config_error *error;
	const char *at, *end;
	uint32_t line;
	struct config_draft *drafts;
	uint32_t n;
};

static const char *user_file(char *path, size_t len)
{
	const char *base = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");

	if (base && *base)
		snprintf(path, len, "%s/weft/devices.conf", base);
	else if (home && *home)
		snprintf(path, len, "%s/.config/weft/devices.conf", home);
	else
		return NULL;
	return path;
}

/* All of an open file, which may be no more than TEXT_MOST. */
static int read_all(int fd, struct config_file *config)
{
	config->text = malloc(TEXT_MOST + 1);
	config->len = 0;
	if (!config->text)
		return ENOMEM;
	while (config->len <= TEXT_MOST) {
		ssize_t n = read(fd, config->text + config->len, TEXT_MOST + 1 - config->len);

		if (n < 0 && errno != EINTR)
			return errno;
		if (n == 0)
			return 0;
		config->len += n > 0 ? (size_t)n : 0;
	}
	return EFBIG;
}

/* Whether the way to a file is closed to us: what is there is not ours then, as where a program was
 * started for another user in the environment of its own. */
static bool is_behind_door(const char *path)
{
	return access(path, F_OK) != 0 && errno == EACCES;
}

/* Whether an open file can be a configuration: what a pipe has is there once, and may never end or
 * never come. A character device may be /dev/null; one that does not end is too long. */
static int check_kind(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (S_ISREG(st.st_mode))
		return st.st_size > TEXT_MOST ? EFBIG : 0;
	return S_ISCHR(st.st_mode) ? 0 : ENOTSUP;
}

static int refuse_file(const char *path, int number, struct config_error *error)
{
	const char *shown = config_tail(path);

	if (number == EFBIG)
		return config_fail(error, number,
				   "%s: longer than %u bytes, which no configuration is; name "
				   "another file",
				   shown, TEXT_MOST);
	if (number == EISDIR)
		return config_fail(error, number, "%s: is a directory; name a file in it", shown);
	if (number == ENOTSUP)
		return config_fail(error, number,
				   "%s: is a pipe, a socket or a disk; name a regular file", shown);
	return config_fail(error, number, "%s: %s", shown, strerror(number));
}

/* 0 also where there is no such file. */
static int read_file(const char *path, struct config_file *config, struct config_error *error)
{
	/* Without O_NONBLOCK a pipe that nobody writes to would hold up every program. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int number = fd < 0 ? errno : check_kind(fd);

	if (!number)
		number = read_all(fd, config);

	if (fd >= 0)
		close(fd);
	if (!number) {
		snprintf(config->name, sizeof config->name, "%s", path);
		return 0;
	}
	free(config->text);
	config->text = NULL;
	if (fd < 0 && (number == ENOENT || number == ENOTDIR))
		return 0;
	return refuse_file(path, number, error);
}

int config_find(struct config_file *config, struct config_error *error)
{
	const char *named = secure_getenv("WEFT_CONFIG");
	char path[sizeof config->name];

	config->name[0] = 0;
	config->text = NULL;
	config->len = 0;
	if (named && *named) {
		int r = read_file(named, config, error);

		return r || config->text
			       ? r
			       : config_fail(error, ENOENT, "WEFT_CONFIG: there is no file %s",
					     config_tail(named));
	}
	const char *user = user_file(path, sizeof path);
	int r = user && !is_behind_door(user) ? read_file(user, config, error) : 0;

	return r || config->text ? r : read_file("/etc/weft/devices.conf", config, error);
}

static int unknown_key(const struct file_reader *r, const char *key)
{
	if (!strcmp(key, "ev-ways"))
		return config_fail_at(r->error, r->file, r->line,
				      "the key '%s' is called 'ev-count' now", key);
	struct edits_guess guess = edits_guess(key);
	char list[CONFIG_ERROR_MAX - 128] = "";
	size_t len = 0;

	struct config_key k;

	for (uint32_t i = 0; config_key(i, &k); i++) {
		const char *name = k.setting.name;

		edits_offer(&guess, name);
		if (len < sizeof list) {
			int added =
				snprintf(list + len, sizeof list - len, "%s%s", i ? " " : "", name);

			len += added > 0 ? (size_t)added : 0;
		}
	}
	if (guess.nearest)
		return config_fail_at(r->error, r->file, r->line,
				      "there is no key '%.32s'; did you mean '%s'?", key,
				      guess.nearest);
	return config_fail_at(r->error, r->file, r->line, "there is no key '%.32s', only %s", key,
			      list);
}

static char *trim(char *text)
{
	text += strspn(text, SPACES);
	size_t len = strlen(text);

	while (len && strchr(SPACES, text[len - 1]))
		len--;
	text[len] = 0;
	return text;
}

/* "[name]": the next device. */
static int read_section(struct file_reader *r, char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.-";
	size_t len = strlen(text);

	if (text[len - 1] != ']')
		return config_fail_at(r->error, r->file, r->line, "'%.40s': a section is [NAME]",
				      text);
	text[len - 1] = 0;
	char *name = trim(text + 1);

	len = strlen(name);
	if (len == 0 || len >= WORD_MOST || strspn(name, allowed) != len)
		return config_fail_at(r->error, r->file, r->line,
				      "'%.40s': a name is 1 to %u letters, digits and _ . -", name,
				      WORD_MOST - 1);
	for (uint32_t i = 0; i < r->n; i++) {
		if (!strcmp(r->drafts[i].d.name, name))
			return config_fail_at(r->error, r->file, r->line,
					      "%s is there already, in line %u; each device has a "
					      "name of its own",
					      name, r->drafts[i].line);
	}
	if (r->n == CONFIG_DEVICES_MAX)
		return config_fail_at(r->error, r->file, r->line, "too many devices: at most %u",
				      CONFIG_DEVICES_MAX);
	struct config_draft *more = realloc(r->drafts, (r->n + 1) * sizeof *more);

	if (!more)
		return config_fail(r->error, ENOMEM, "no memory for %s", r->file);
	r->drafts = more;
	more[r->n] = (struct config_draft){.line = r->line, .error = r->error};
	memcpy(more[r->n++].d.name, name, len + 1);
	return 0;
}

/* "key = value", of the last device. */
static int read_pair(struct file_reader *r, char *text)
{
	char *value = strchr(text, '='), said[41] = "";
	struct config_why why = {""};
	struct config_key k;
	uint32_t number = 0;
	bool is_key;

	if (!value)
		return config_fail_at(r->error, r->file, r->line,
				      "'%.40s': give [NAME], KEY = VALUE or # ...", text);
	*value++ = 0;
	text = trim(text);
	value = trim(value);
	snprintf(said, sizeof said, strlen(value) < sizeof said ? "%s" : "%.37s...", value);
	while ((is_key = config_key(number, &k)) && strcmp(k.setting.name, text) != 0)
		number++;
	if (!is_key)
		return unknown_key(r, text);
	if (!r->n)
		return config_fail_at(r->error, r->file, r->line,
				      "%s = ... stands before the first [NAME]", text);
	struct config_draft *draft = &r->drafts[r->n - 1];

	if (draft->given >> number & 1)
		return config_fail_at(r->error, r->file, r->line,
				      "%s is there already, in line %u; leave one of them out",
				      text, draft->lines[number]);
	if (!config_read_value(&k, &draft->d.setup, value, &why))
		return config_fail_at(r->error, r->file, r->line, "%s = %s: %s", text, said,
				      why.at);
	draft->given |= UINT64_C(1) << number;
	draft->lines[number] = r->line;
	return 0;
}

static int read_line(struct file_reader *r)
{
	const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
	char line[LINE_MOST];
	size_t len = (size_t)((end ? end : r->end) - r->at);

	r->line++;
	if (len >= sizeof line)
		return config_fail_at(r->error, r->file, r->line, "longer than %u bytes",
				      LINE_MOST - 1);
	if (memchr(r->at, 0, len))
		return config_fail_at(r->error, r->file, r->line, "a zero byte: this is no text");
	memcpy(line, r->at, len);
	line[len] = 0;
	r->at = end ? end + 1 : r->end;
	line[strcspn(line, "#")] = 0;
	char *text = trim(line);

	if (!*text)
		return 0;
	return *text == '[' ? read_section(r, text) : read_pair(r, text);
}

/* In the order of transports, which is that of the devices' numbers. */
static uint32_t gather(struct config_device *list, const struct file_reader *r)
{
	uint32_t n = 0;

	for (uint32_t place = 0; place < TRANSPORTS; place++) {
		for (uint32_t i = 0; i < r->n; i++) {
			if (r->drafts[i].d.setup.transport == transports[place])
				list[n++] = r->drafts[i].d;
		}
	}
	return n;
}

int config_read(const struct config_file *config, struct config_device **list,
		struct config_error *error)
{
	struct file_reader reader = {.file = config->name, .error = error};
	int r = 0;

	*list = NULL;
	if (config->text) {
		reader.at = config->text;
		reader.end = config->text + config->len;
	}
	while (!r && reader.at != reader.end)
		r = read_line(&reader);
	for (uint32_t i = 0; i < reader.n && !r; i++) {
		r = config_environment(&reader.drafts[i]);
		if (!r)
			r = config_finish(&reader.drafts[i], reader.file);
	}
	if (!r && reader.n) {
		*list = calloc(reader.n, sizeof **list);
		r = *list ? (int)gather(*list, &reader)
			  : config_fail(error, ENOMEM, "no memory for a list");
	}
	free(reader.drafts);
	return r;
}
