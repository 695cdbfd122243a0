#include "io/xdp_inside.h"

#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>

#include <bpf/bpf.h>

/* The object that clang made of steer.bpf.c; the build turns it into a C file. */
extern const unsigned char steer_object[];
extern const size_t steer_object_bytes;

/* The library would write to the terminal; what matters goes into our sentence. */
static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

int xdp_program_map(const struct bpf_object *program, const char *name)
{
	return bpf_object__find_map_fd_by_name(program, name);
}

static int refused(int number, char *error, size_t error_len)
{
	if (number == EPERM || number == EACCES)
		return say(-number, error, error_len,
			   "not permitted to load an XDP program: it needs CAP_BPF and "
			   "CAP_NET_ADMIN; run as root, or use the driver udp");
	return say(-number, error, error_len,
		   "the kernel does not take our XDP program (%s): use the driver raw",
		   strerror(number));
}

static int open_object(struct bpf_object **program, const struct steer_carrier *by)
{
	struct bpf_object_open_opts opts = {.sz = sizeof opts, .object_name = "steer"};
	struct bpf_object *o = bpf_object__open_mem(steer_object, steer_object_bytes, &opts);
	struct bpf_map *constants = o ? bpf_object__find_map_by_name(o, ".rodata") : NULL;
	int result = o ? 0 : -errno;

	if (o)
		result =
			constants ? bpf_map__set_initial_value(constants, by, sizeof *by) : -ENOENT;
	if (result && o)
		bpf_object__close(o);
	else
		*program = o;
	return result;
}

/* Before Linux 5.18 a program did not say whether it knows frames in pieces, and a kernel that
 * does not know the question refuses. */
static int load(struct bpf_object **program, const struct steer_carrier *by, bool knows_pieces)
{
	int result = open_object(program, by);

	if (result)
		return result;
	if (knows_pieces)
		bpf_program__set_flags(bpf_object__find_program_by_name(*program, "steer"),
				       BPF_F_XDP_HAS_FRAGS);
	result = bpf_object__load(*program);
	if (result) {
		bpf_object__close(*program);
		*program = NULL;
	}
	return result;
}

int xdp_program_load(struct bpf_object **program, const struct steer_carrier *by, char *error,
		     size_t error_len)
{
	libbpf_print_fn_t before = libbpf_set_print(say_nothing);
	int result = load(program, by, true);

	if (result == -EINVAL)
		result = load(program, by, false);
	libbpf_set_print(before);
	return result ? refused(-result, error, error_len) : 0;
}

int xdp_program_busy(const char *interface, char *error, size_t error_len)
{
	return say(-EBUSY, error, error_len,
		   "another XDP program is on %s: end the process that put it there, take it "
		   "off with `ip link set dev %s xdp off`, or use the driver raw",
		   interface, interface);
}

static int attach(const struct bpf_object *program, uint32_t ifindex, uint32_t mode)
{
	struct bpf_link_create_opts opts = {.sz = sizeof opts, .flags = mode};
	const struct bpf_program *steer = bpf_object__find_program_by_name(program, "steer");

	/* A link, and not an attachment: it ends with its last descriptor. */
	return bpf_link_create(bpf_program__fd(steer), (int)ifindex, BPF_XDP, &opts);
}

int xdp_program_attach(const struct bpf_object *program, uint32_t ifindex, bool *is_native,
		       char *error, size_t error_len)
{
	char name[IF_NAMESIZE] = "?";
	int fd = *is_native ? attach(program, ifindex, XDP_FLAGS_DRV_MODE) : -EOPNOTSUPP;

	if_indextoname(ifindex, name);
	if (fd < 0 && fd != -EBUSY && fd != -EEXIST) {
		*is_native = false;
		fd = attach(program, ifindex, XDP_FLAGS_SKB_MODE);
	}
	if (fd >= 0)
		return fd;
	/* The second: in the other mode. */
	if (fd == -EBUSY || fd == -EEXIST)
		return xdp_program_busy(name, error, error_len);
	if (fd == -EPERM || fd == -EACCES)
		return say(fd, error, error_len,
			   "not permitted to put an XDP program on %s: it needs CAP_NET_ADMIN; "
			   "run as root, or use the driver udp",
			   name);
	return say(fd, error, error_len, "no XDP program can be put on %s (%s): use the driver raw",
		   name, strerror(-fd));
}
