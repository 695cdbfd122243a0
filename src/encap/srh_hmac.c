#include "encap/srh_hmac.h"

#include <errno.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

/* What it covers in front of the segments: address, Last Entry, Flags, key id. */
#define FIXED 22u

bool srh_hmac_compute(const struct srh_view *srh, const uint8_t src[16], struct cspan key,
		      uint8_t out[SRH_HMAC_MAX])
{
	uint8_t text[FIXED + SRH_MAX], digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (key.len > INT_MAX || srh->segments.len > SRH_MAX)
		return false;
	memcpy(text, src, 16);
	text[16] = srh->head.last_entry;
	text[17] = srh->head.flags;
	put_be32(text + 18, srh->has_hmac ? srh->hmac.key_id : 0);
	memcpy(text + FIXED, srh->segments.at, srh->segments.len);
	/* An empty key is a key, but no pointer is not: libcrypto would reuse an earlier one. */
	if (!HMAC(EVP_sha256(), key.len ? (const void *)key.at : "", (int)key.len, text,
		  FIXED + srh->segments.len, digest, &n) ||
	    n != SRH_HMAC_MAX)
		return false;
	memcpy(out, digest, SRH_HMAC_MAX);
	return true;
}

int srh_hmac_sign(struct span header, const uint8_t src[16], struct cspan key)
{
	struct cursor c = cursor_of((struct cspan){header.at, header.len});
	uint8_t hmac[SRH_HMAC_MAX];
	struct srh_view srh;

	if (srh_view_get(&c, 0, &srh, NULL).why != WIRE_DROP_NONE || !srh.has_hmac ||
	    srh.hmac_value.len != SRH_HMAC_MAX)
		return -EINVAL;
	if (!srh_hmac_compute(&srh, src, key, hmac))
		return -EIO;
	memcpy(header.at + (srh.hmac_value.at - header.at), hmac, sizeof hmac);
	return 0;
}

bool srh_hmac_is_right(const struct srh_view *srh, const uint8_t src[16], struct cspan key)
{
	uint8_t right[SRH_HMAC_MAX];

	/* A shorter one is easier to guess; nothing here makes one. */
	if (!srh->has_hmac || srh->hmac_value.len != sizeof right)
		return false;
	return srh_hmac_compute(srh, src, key, right) &&
	       CRYPTO_memcmp(right, srh->hmac_value.at, sizeof right) == 0;
}
