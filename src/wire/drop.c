#include "wire/drop.h"

static const struct {
	const char *name, *text;
} reasons[] = {
#define REASON(id, text) {#id, text},
	WIRE_DROPS(REASON)
#undef REASON
};

const char *wire_drop_name(enum wire_drop why)
{
	return (unsigned)why < WIRE_DROP_COUNT ? reasons[why].name : "UNKNOWN";
}

const char *wire_drop_text(enum wire_drop why)
{
	return (unsigned)why < WIRE_DROP_COUNT ? reasons[why].text : "unknown reason";
}

bool wire_drop_is_foreign(enum wire_drop why)
{
	return why >= WIRE_DROP_NOT_IP && why <= WIRE_DROP_OTHER_SERVICE;
}
