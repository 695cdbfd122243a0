/* In place of the xdp driver, where libbpf, libxdp or clang were not there to build it. */
#include <errno.h>
#include <stdio.h>

#include "io/say.h"
#include "io/xdp.h"

static int refuse(char *error, size_t error_len)
{
	return say(-ENOTSUP, error, error_len,
		   "weft was built without the driver xdp: install clang, libbpf-dev and "
		   "libxdp-dev and build it again, or use the driver raw");
}

int xdp_new(struct driver **d, const struct xdp_cfg *cfg, char *error, size_t error_len)
{
	(void)d;
	(void)cfg;
	return refuse(error, error_len);
}

int xdp_probe(const char *interface, uint32_t mtu, char *why, size_t len)
{
	(void)interface;
	(void)mtu;
	return refuse(why, len);
}

void xdp_port_text(const struct driver *d, uint32_t port, char *text, size_t len)
{
	(void)d;
	(void)port;
	snprintf(text, len, "not there");
}
