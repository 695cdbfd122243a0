/* Versions of the MRC control interface (mrc_ctl.h), which are counted apart from those of mrc.h.
 *
 * A version is one number: major << 24 | minor << 16 | sub-minor. A program names the one that it
 * was written for before it includes mrc_ctl.h:
 *
 *	#define MRC_CTL_API_VER_USED MRC_CTL_API_VER(1, 0, 0)
 *
 * and is compiled, and later served, by the rules of that version; a program that names none, or
 * MRC_CTL_API_VER_LATEST, gets the current one. What is vendor specific has versions of its own. */
#ifndef WEFT_MRC_CTL_API_VER_H
#define WEFT_MRC_CTL_API_VER_H

#define MRC_CTL_API_VER(major, minor, sub_minor) \
	(((major) + 0u) << 24 | ((minor) + 0u) << 16 | (sub_minor))

/* Whatever is current. */
#define MRC_CTL_API_VER_LATEST MRC_CTL_API_VER(0xFF, 0xFF, 0xFFFF)

#define MRC_CTL_API_CURRENT_VERSION               MRC_CTL_API_VER(1, 0, 1)
#define MRC_CTL_API_LAST_SUPPORTED_VERSION        MRC_CTL_API_VER(0, 0, 0)
#define MRC_CTL_VENDOR_API_CURRENT_VERSION        MRC_CTL_API_VER(1, 0, 0)
#define MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION MRC_CTL_API_VER(0, 0, 0)

#if !defined(MRC_CTL_API_VER_USED)
#define MRC_CTL_API_VER_USED MRC_CTL_API_CURRENT_VERSION
#elif MRC_CTL_API_VER_USED == MRC_CTL_API_VER_LATEST
#undef MRC_CTL_API_VER_USED
#define MRC_CTL_API_VER_USED MRC_CTL_API_CURRENT_VERSION
#endif

#if MRC_CTL_API_VER_USED > MRC_CTL_API_CURRENT_VERSION
#error "MRC_CTL_API_VER_USED is newer than this mrc_ctl.h"
#elif MRC_CTL_API_VER_USED < MRC_CTL_API_LAST_SUPPORTED_VERSION
#error "MRC_CTL_API_VER_USED is older than what this mrc_ctl.h still supports"
#endif

#if !defined(MRC_CTL_VENDOR_API_VER_USED)
#define MRC_CTL_VENDOR_API_VER_USED MRC_CTL_VENDOR_API_CURRENT_VERSION
#elif MRC_CTL_VENDOR_API_VER_USED == MRC_CTL_API_VER_LATEST
#undef MRC_CTL_VENDOR_API_VER_USED
#define MRC_CTL_VENDOR_API_VER_USED MRC_CTL_VENDOR_API_CURRENT_VERSION
#endif

#if MRC_CTL_VENDOR_API_VER_USED > MRC_CTL_VENDOR_API_CURRENT_VERSION
#error "MRC_CTL_VENDOR_API_VER_USED is newer than this mrc_ctl.h"
#elif MRC_CTL_VENDOR_API_VER_USED < MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION
#error "MRC_CTL_VENDOR_API_VER_USED is older than what this mrc_ctl.h still supports"
#endif

#endif
