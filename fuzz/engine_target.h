/* An engine that is driven: by fuzz_engine.c, which is one program for each transport, and by
 * engine_seeds.c, which writes what they begin with. A transport says here what is particular to
 * it, its row the rest. */
#ifndef WEFT_FUZZ_ENGINE_TARGET_H
#define WEFT_FUZZ_ENGINE_TARGET_H

#include "fuzz.h"
#include "records.h"
#include "transport/transport.h"

enum { TARGET_QP = 0x11, TARGET_PSN = 0xfffff0, TARGET_PMTU = 256 };
/* The one region. */
enum { TARGET_KEY = 0x1234, TARGET_VA = 0x100000, TARGET_BYTES = 4096 };

struct engine_target;

/* An engine with one queue pair, and what it was asked to do. */
struct driven {
	struct subject s;
	const struct engine_target *target;
	uint8_t *region;
	void *table, *pair;
	uint64_t next_cookie[2]; /* of sends, and of receives */
	uint64_t n_posted[2];
	uint64_t asked, answered; /* of what the target posts beside work */
};

static inline struct driven *driven_of(struct subject *s)
{
	return (struct driven *)s;
}

struct engine_target {
	const struct transport *row;
	struct subject_ops subject; /* count, check, post and poll are filled in for all */
	uint8_t access;             /* enum mem_access */
	nsec start;                 /* when an input begins */
	/* What is out then: works, each of three times out_size bytes. */
	const uint8_t *out;
	uint32_t n_out;
	uint8_t out_size;

	/* A configuration, until the next call. */
	const void *(*configure)(struct mem *mem);
	size_t (*pair_bytes)(void);
	int (*make)(struct engine *e, void *memory);
	/* From whatever state to where it sends; 0 when all went well. */
	int (*connect)(struct engine *e, nsec now);
	/* Work number `what` of the target; its cookie is filled in. */
	struct op (*op)(uint8_t what, struct sge *sge);
	/* What NULL is nothing: posts what is no work, and says whether `what` was that; takes
	 * answers to it; looks at a packet that came out; and at the engine, nothing being out. */
	bool (*post_other)(struct driven *d, uint8_t what, uint8_t size);
	void (*poll_other)(struct driven *d);
	void (*check)(const struct tx_pkt *tx);
	void (*check_idle)(const struct engine *e);
};

extern const struct engine_target target_mrc_engine, target_rc, target_stopwait;

/* The engine with its table and its queue pair, in blocks of their own size, and the work of the
 * target posted. d->region: NULL, virtual. */
void driven_begin(struct driven *d, const struct engine_target *target);
void driven_end(struct driven *d);
/* Work number `what` of the target, of three times size bytes. */
void driven_post(struct subject *s, uint8_t what, uint8_t size);

#endif
