/* What the files of the xdp driver share: its state, and the functions between them.
 *
 * xdp.c opens and closes, and knows the addresses; xdp_socket.c has the memory and the rings of a
 * port; xdp_program.c has the kernel run our program; xdp_send.c and xdp_receive.c move packets;
 * xdp_probe.c asks what an interface can do. Nobody else includes this, but the test. */
#ifndef WEFT_IO_XDP_INSIDE_H
#define WEFT_IO_XDP_INSIDE_H

/* MADV_DONTFORK is Linux's own. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <string.h>
#include <sys/types.h>

#include <bpf/libbpf.h>
#include <xdp/xsk.h>

#include "io/say.h"
#include "io/steer.h"
#include "io/xdp.h"

/* Linux has these since 6.6 and 6.17; headers of the C library may be older. */
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif
#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9
#endif

enum {
	XDP_CHUNK = 4096,          /* the largest there is where a page has as much */
	XDP_RX_HEADROOM = 256,     /* the kernel's own, in front of what arrives in a chunk */
	XDP_RX_CHUNKS_LEAST = 256, /* of a queue */
	XDP_ONE_CHUNK_PMTU = 2048, /* the largest whose frames fit XDP_CHUNK - XDP_RX_HEADROOM */
	/* Descriptors to look at so that a whole frame is among them: the kernel's own have at most
	 * 17 pieces behind the first. */
	XDP_FRAME_DESCS = 32,
};

struct xdp_queue {
	struct xsk_socket *socket; /* NULL: not open; only receives */
	struct xsk_ring_cons rx, completion;
	struct xsk_ring_prod fill;
	uint32_t lent_at, lent; /* descriptors of rx whose chunks are with the caller */
	uint64_t missed;        /* as the kernel said last */
	uint32_t n_busy;        /* calls in a row that found frames here */
	bool is_watched;        /* it is in the epoll set */
};

struct xdp_port {
	struct bpf_object *program; /* while the driver lives; interfaces come and go */
	int link_fd;                /* the program on the interface, or -1 */
	uint32_t ifindex;           /* of what is open, 0: nothing is */
	nsec open_at;               /* not tried again before */
	bool is_native, is_zero_copy;
	bool has_pieces; /* a frame may lie in several chunks */
	bool is_behind;  /* frames wait that the kernel would not take yet: sender is watched */

	uint8_t *memory; /* n_rx chunks of each queue, then those to send from */
	size_t memory_bytes;
	struct xsk_umem *umem;
	uint32_t n_queues, rx_each; /* rx_each: chunks of each queue */
	uint32_t tx_queue;
	struct xdp_queue *queues; /* STEER_QUEUES of them */
	/* Sends by tx_queue. Apart from the one that receives there, because the kernel has whoever
	 * waits for a socket woken for each frame that it sent, too. */
	struct xsk_socket *sender;
	struct xsk_ring_prod tx;
	uint64_t *free;           /* chunks to send from */
	uint32_t n_free, n_ready; /* n_ready: descriptors written and not yet submitted */
};

/* An address of ours as it stands in the maps. */
struct xdp_address {
	uint8_t key[STEER_KEY_BYTES];
	uint32_t handle, port; /* port: DRIVER_NO_HANDLE, the handle's first address */
	uint32_t refs;
};

struct xdp_driver {
	struct driver driver;
	struct xdp_cfg cfg;
	struct frames *frames;
	pid_t owner;               /* the process that made it */
	bool is_new;               /* in xdp_new, where waiting is allowed */
	uint32_t pieces_max;       /* of a frame that is received */
	uint32_t chunks_per_frame; /* that is sent, where it may lie in several */
	int epoll_fd;
	nsec now;     /* of the last receive */
	nsec step_at; /* when news is looked for at the latest */
	nsec look_at; /* not looked for before */
	nsec miss_at; /* when the kernel is asked what it dropped */
	uint32_t n_idle, next_port, next_queue;
	bool has_unwatched; /* queues that were so busy that nobody slept */
	struct xdp_port ports[ENGINE_PORTS];
	struct xdp_address addresses[STEER_ADDRESSES];
	uint32_t n_addresses;
};

/* Number of frames_fd in the epoll set; sockets have port << 16 | queue, senders XDP_SENDER. */
#define XDP_NEWS   UINT32_MAX
#define XDP_SENDER UINT16_MAX

static inline struct xdp_driver *xdp_of(struct driver *d)
{
	return (struct xdp_driver *)d;
}

static inline bool xdp_is_owner(const struct xdp_driver *x, pid_t self)
{
	return x->owner == self;
}

/* xdp_send.c and xdp_receive.c: the functions of driver.h. */
uint32_t xdp_send(struct driver *d, const struct tx_pkt *pkts, uint32_t n);
void xdp_room(struct driver *d, uint16_t room[ENGINE_PORTS]);
uint32_t xdp_receive(struct driver *d, nsec now, struct rx_pkt *pkts, uint32_t n);

/* xdp_send.c: takes back chunks of frames that have left. */
void xdp_reap(struct xdp_port *p);
/* Has the kernel send what waits in the ring. */
void xdp_kick(struct xdp_driver *x, uint32_t port);

/* xdp_socket.c: memory, sockets and program of a port whose interface is there; 0, or a negative
 * errno and a sentence. */
int xdp_port_open(struct xdp_driver *x, uint32_t port, char *error, size_t error_len);
/* Puts a queue's socket into the epoll set, or takes it out. 0 or a negative errno, and then
 * nothing has changed. */
int xdp_queue_watch(struct xdp_driver *x, uint32_t port, uint32_t queue, bool is_watched);
/* Closes what is open, if anything; what was lent is gone. */
void xdp_port_close(struct xdp_driver *x, uint32_t port);
/* Whether an AF_XDP socket can be had on this queue, and whether with frames in several chunks: as
 * xdp_port_open. */
int xdp_socket_probe(const char *interface, bool *has_pieces, char *error, size_t error_len);
/* Says why there is no socket: number is a positive errno. */
int xdp_socket_refused(int number, const char *interface, uint32_t queue, char *error,
		       size_t error_len);

/* xdp_program.c: loads the program for a carrier; it runs nowhere yet. 0 or a negative errno and a
 * sentence. */
int xdp_program_load(struct bpf_object **program, const struct steer_carrier *by, char *error,
		     size_t error_len);
/* Puts it on the interface, native if it can be and is wanted. A descriptor, or a negative errno
 * and a sentence. */
int xdp_program_attach(const struct bpf_object *program, uint32_t ifindex, bool *is_native,
		       char *error, size_t error_len);
/* Somebody else's program is on the interface: -EBUSY and a sentence. */
int xdp_program_busy(const char *interface, char *error, size_t error_len);
/* The descriptor of a map, by its name in steer.bpf.c. */
int xdp_program_map(const struct bpf_object *program, const char *name);

#endif
