#include "peer.h"

#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { USAGE = 2, LINK_WAIT_S = 60 };

_Noreturn void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("peer: ", stderr);
	vfprintf(stderr, format, args);
	fputs("\n", stderr);
	va_end(args);
	exit(1);
}

static struct addrinfo *addresses(const char *host, const char *port)
{
	struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_family = host ? 0 : AF_INET6};
	struct addrinfo *list = NULL;

	if (!host)
		want.ai_flags = AI_PASSIVE;
	if (getaddrinfo(host, port, &want, &list))
		fail("no address %s port %s", host ? host : "of our own", port);
	return list;
}

static int accept_peer(const char *port)
{
	struct addrinfo *at = addresses(NULL, port);
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), link;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) ||
	    bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, 1))
		fail("cannot listen at port %s", port);
	link = accept(fd, NULL, NULL);
	if (link < 0)
		fail("no client");
	close(fd);
	freeaddrinfo(at);
	return link;
}

static int connect_peer(const char *host, const char *port)
{
	struct addrinfo *at = addresses(host, port);
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, at->ai_addr, at->ai_addrlen))
		fail("cannot connect to %s port %s", host, port);
	freeaddrinfo(at);
	return fd;
}

static enum ibv_mtu mtu_of(const char *text)
{
	for (enum ibv_mtu mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++) {
		if (strtol(text, NULL, 10) == 128l << mtu)
			return mtu;
	}
	fail("-m takes 256, 512, 1024, 2048 or 4096, not %s", text);
}

int main(int argc, char **argv)
{
	struct end e = {.timeout = 17, .mtu = IBV_MTU_4096};
	const struct timeval wait = {.tv_sec = LINK_WAIT_S};
	const char *port = "18515";
	int option;

	while ((option = getopt(argc, argv, "d:g:m:p:t:")) >= 0) {
		if (option == 'd')
			e.device = optarg;
		else if (option == 'g')
			e.gid_index = (uint8_t)strtoul(optarg, NULL, 10);
		else if (option == 'm')
			e.mtu = mtu_of(optarg);
		else if (option == 'p')
			port = optarg;
		else if (option == 't')
			e.timeout = (uint8_t)strtoul(optarg, NULL, 10);
		else
			return USAGE;
	}
	if (!e.device || optind >= argc || argc - optind > 2) {
		fputs("usage: peer -d DEVICE [-g GID] [-m MTU] [-p PORT] [-t TIMEOUT] CASE "
		      "[SERVER]\n",
		      stderr);
		return USAGE;
	}
	const char *name = argv[optind];

	e.is_client = argc - optind == 2;
	end_open(&e);
	e.link = e.is_client ? connect_peer(argv[optind + 1], port) : accept_peer(port);
	setsockopt(e.link, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	if (!run_data_case(&e, name) && !run_error_case(&e, name))
		fail("no case %s", name);
	end_close(&e);
	close(e.link);
	printf("peer: %s ok\n", name);
	return 0;
}
