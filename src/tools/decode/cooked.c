#include "tools/decode/cooked.h"

WIRE_DEFINE(sll, SLL_FIELDS)
WIRE_DEFINE(sll2, SLL2_FIELDS)
