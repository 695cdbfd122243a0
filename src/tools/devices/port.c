/* Who has the UDP port of RoCEv2, as the kernel tells in /proc. */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/devices/devices.h"

/* Columns of the kernel's table of sockets (proc_net(5)). */
enum { FIELD_LOCAL = 1, FIELD_UID = 7, FIELD_INODE = 9, FIELDS };

struct sockets {
	struct port_holder *at;
	uint64_t inodes[DEVICES_HOLDERS];
	uint32_t n;
};

/* Words of 32 bits as the machine has them, of an address in network order. */
static bool read_address(const char *hex, char text[64])
{
	uint32_t words[4] = {0};
	size_t n = strlen(hex) / 8;

	if (strlen(hex) % 8 || (n != 1 && n != 4))
		return false;
	for (size_t i = 0; i < n; i++) {
		char word[9] = "";

		memcpy(word, hex + 8 * i, 8);
		words[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	return inet_ntop(n == 1 ? AF_INET : AF_INET6, words, text, 64) != NULL;
}

/* "12: 0100007F:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000 1000 0 4711 ..." */
static void read_line(struct sockets *s, char *line)
{
	char *fields[FIELDS] = {NULL}, *rest = NULL;
	uint32_t n = 0;

	for (char *at = strtok_r(line, " \n", &rest); at && n < FIELDS;
	     at = strtok_r(NULL, " \n", &rest))
		fields[n++] = at;
	char *port = n == FIELDS ? strchr(fields[FIELD_LOCAL], ':') : NULL;

	if (!port || s->n == DEVICES_HOLDERS || strtoul(port + 1, NULL, 16) != DEVICES_PORT)
		return;
	*port = 0;
	struct port_holder *h = &s->at[s->n];

	*h = (struct port_holder){.uid = (uint32_t)strtoul(fields[FIELD_UID], NULL, 10)};
	if (read_address(fields[FIELD_LOCAL], h->address))
		s->inodes[s->n++] = strtoull(fields[FIELD_INODE], NULL, 10);
}

static void read_table(struct sockets *s, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[512];

	if (!f)
		return;
	while (fgets(line, sizeof line, f))
		read_line(s, line);
	fclose(f);
}

static void name_program(struct port_holder *h, const char *pid)
{
	char path[64];

	h->pid = (uint32_t)strtoul(pid, NULL, 10);
	snprintf(path, sizeof path, "/proc/%u/comm", h->pid);
	FILE *f = fopen(path, "re");

	if (!f)
		return;
	if (fgets(h->program, sizeof h->program, f))
		h->program[strcspn(h->program, "\n")] = 0;
	fclose(f);
}

/* Whether an open file of that process is one of the sockets. */
static void look_into(struct sockets *s, const char *pid)
{
	static const char start[] = "socket:[";
	char path[64], target[64];

	snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
	DIR *dir = opendir(path);

	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));) {
		ssize_t len = readlinkat(dirfd(dir), e->d_name, target, sizeof target - 1);

		target[len > 0 ? len : 0] = 0;
		if (strncmp(target, start, sizeof start - 1) != 0)
			continue;
		uint64_t inode = strtoull(target + sizeof start - 1, NULL, 10);

		for (uint32_t i = 0; i < s->n; i++) {
			if (s->inodes[i] == inode && !s->at[i].pid)
				name_program(&s->at[i], pid);
		}
	}
	closedir(dir);
}

uint32_t devices_holders(struct port_holder holders[DEVICES_HOLDERS])
{
	struct sockets s = {.at = holders};

	read_table(&s, "/proc/net/udp");
	read_table(&s, "/proc/net/udp6");
	DIR *dir = s.n ? opendir("/proc") : NULL;

	if (!dir)
		return s.n;
	for (struct dirent *e; (e = readdir(dir));) {
		if (isdigit((unsigned char)e->d_name[0]))
			look_into(&s, e->d_name);
	}
	closedir(dir);
	return s.n;
}
