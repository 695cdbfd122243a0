/* The settings of the controllers that have some: members of their configurations, of which one
 * that is left out is 0, and so the controller's own default. */
#ifndef WEFT_CC_SETTINGS_H
#define WEFT_CC_SETTINGS_H

#include "base/setting.h"

/* Of struct nscc_cfg, and of struct dcqcn_cfg. */
extern const struct settings nscc_settings, dcqcn_settings;

#endif
