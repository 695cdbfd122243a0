/* The samples of End.MT in the catalog, which alone calls this. */
#ifndef WEFT_TESTS_SUPPORT_CATALOG_ENDMT_H
#define WEFT_TESTS_SUPPORT_CATALOG_ENDMT_H

#include "catalog.h"

#define CATALOG_ENDMT 5u

/* Sample i below CATALOG_ENDMT into *s, which is all zeros. */
void catalog_endmt(uint32_t i, struct sample *s);

#endif
