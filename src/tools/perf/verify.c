/* What messages carry when it shall be verified: bytes from a key of this process, the number of
 * the queue pair and that of the message. Each lies in a slot of its own, at both sides in the same
 * place, until the next but so many takes its place; in the end both sides hash all slots. */
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/prng.h"
#include "io/osrandom.h"
#include "tools/perf/perf.h"

#define DIGEST_BYTES 32u

/* Another key for each process: what an earlier test left anywhere is not taken for this one's. */
static uint64_t key(void)
{
	static uint64_t drawn;

	while (drawn == 0)
		if (osrandom_key((uint8_t *)&drawn, sizeof drawn) != 0)
			drawn = 1;
	return drawn;
}

void perf_fill(const struct perf_end *e, uint32_t qp, uint64_t n)
{
	uint8_t *at = perf_out_at(e, qp, n);
	uint64_t state = key() ^ ((uint64_t)qp << 48) ^ n;
	uint32_t left = e->test.size;

	for (; left >= sizeof state; left -= (uint32_t)sizeof state, at += sizeof state) {
		uint64_t word = prng_splitmix64(&state);

		memcpy(at, &word, sizeof word);
	}
	uint64_t word = prng_splitmix64(&state);

	memcpy(at, &word, left);
}

int perf_digest(const struct perf_end *e, bool is_in, char digest[PERF_DIGEST_TEXT])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t bytes[EVP_MAX_MD_SIZE];
	unsigned int len = 0;
	bool is_good = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;

	for (uint32_t qp = 0; qp < e->test.qps; qp++)
		for (uint32_t slot = 0; is_good && slot < perf_slots(&e->test); slot++)
			is_good = EVP_DigestUpdate(context,
						   is_in ? perf_in_at(e, qp, slot)
							 : perf_out_at(e, qp, slot),
						   e->test.size) == 1;
	is_good = is_good && EVP_DigestFinal_ex(context, bytes, &len) == 1 && len == DIGEST_BYTES;
	EVP_MD_CTX_free(context);
	for (uint32_t i = 0; is_good && i < DIGEST_BYTES; i++)
		snprintf(digest + 2 * i, 3, "%02x", bytes[i]);
	return is_good ? 0 : -EIO;
}
