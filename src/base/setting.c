#include "base/setting.h"

#include <string.h>

void setting_put(const struct setting *k, void *to, uint64_t value)
{
	const uint8_t u8 = (uint8_t)value;
	const uint16_t u16 = (uint16_t)value;
	const uint32_t u32 = (uint32_t)value;
	uint8_t *at = (uint8_t *)to + k->place;

	switch (k->bytes) {
	case 1: memcpy(at, &u8, sizeof u8); break;
	case 2: memcpy(at, &u16, sizeof u16); break;
	case 4: memcpy(at, &u32, sizeof u32); break;
	default: memcpy(at, &value, sizeof value);
	}
}

uint64_t setting_get(const struct setting *k, const void *from)
{
	const uint8_t *at = (const uint8_t *)from + k->place;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (k->bytes) {
	case 1: return *at;
	case 2: memcpy(&u16, at, sizeof u16); return u16;
	case 4: memcpy(&u32, at, sizeof u32); return u32;
	default: memcpy(&u64, at, sizeof u64); return u64;
	}
}
