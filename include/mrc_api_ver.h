/* Versions of the MRC programming interface (mrc.h).
 *
 * A version is one number: major << 24 | minor << 16 | sub-minor. A program names the one that it
 * was written for before it includes mrc.h:
 *
 *	#define MRC_API_VER_USED MRC_API_VER(1, 0, 0)
 *
 * and is compiled, and later served, by the rules of that version; a program that names none, or
 * MRC_API_VER_LATEST, gets the current one. What is vendor specific has versions of its own. */
#ifndef WEFT_MRC_API_VER_H
#define WEFT_MRC_API_VER_H

#define MRC_API_VER(major, minor, sub_minor) \
	(((major) + 0u) << 24 | ((minor) + 0u) << 16 | (sub_minor))

/* Whatever is current. */
#define MRC_API_VER_LATEST MRC_API_VER(0xFF, 0xFF, 0xFFFF)

#define MRC_API_CURRENT_VERSION               MRC_API_VER(1, 0, 1)
#define MRC_API_LAST_SUPPORTED_VERSION        MRC_API_VER(0, 0, 0)
#define MRC_VENDOR_API_CURRENT_VERSION        MRC_API_VER(1, 0, 0)
#define MRC_VENDOR_API_LAST_SUPPORTED_VERSION MRC_API_VER(0, 0, 0)

#if !defined(MRC_API_VER_USED)
#define MRC_API_VER_USED MRC_API_CURRENT_VERSION
#elif MRC_API_VER_USED == MRC_API_VER_LATEST
#undef MRC_API_VER_USED
#define MRC_API_VER_USED MRC_API_CURRENT_VERSION
#endif

#if MRC_API_VER_USED > MRC_API_CURRENT_VERSION
#error "MRC_API_VER_USED is newer than this mrc.h"
#elif MRC_API_VER_USED < MRC_API_LAST_SUPPORTED_VERSION
#error "MRC_API_VER_USED is older than what this mrc.h still supports"
#endif

#if !defined(MRC_VENDOR_API_VER_USED)
#define MRC_VENDOR_API_VER_USED MRC_VENDOR_API_CURRENT_VERSION
#elif MRC_VENDOR_API_VER_USED == MRC_API_VER_LATEST
#undef MRC_VENDOR_API_VER_USED
#define MRC_VENDOR_API_VER_USED MRC_VENDOR_API_CURRENT_VERSION
#endif

#if MRC_VENDOR_API_VER_USED > MRC_VENDOR_API_CURRENT_VERSION
#error "MRC_VENDOR_API_VER_USED is newer than this mrc.h"
#elif MRC_VENDOR_API_VER_USED < MRC_VENDOR_API_LAST_SUPPORTED_VERSION
#error "MRC_VENDOR_API_VER_USED is older than what this mrc.h still supports"
#endif

#endif
