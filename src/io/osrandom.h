/* Secret random bytes from the operating system: the key of every keystream in production.
 *
 * Any thread may call this. It waits only while the kernel's own generator is not yet seeded, early
 * after boot. */
#ifndef WEFT_IO_OSRANDOM_H
#define WEFT_IO_OSRANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Signals, one after another, that may cut a call short before it gives up. */
#define OSRANDOM_TRIES 1000

/* Fills n bytes of out, any n. 0, or a negative errno, and then the bytes are no key: -EINVAL when
 * out is NULL and n is not 0, -EINTR after OSRANDOM_TRIES answers in a row without a byte, else
 * what getrandom(2) answered. */
int osrandom_key(uint8_t *out, size_t n);

#endif
