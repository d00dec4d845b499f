/* The compile cache of st.fuse: the schedules of one function, by the keys of
 * its calls.
 *
 * Stage schedule of Note [Stages of fusion]. In: a call's arguments. Out: the
 * schedule to run, or none: then the caller records the function
 * (fuse/trace/recorder.h) or runs it without fusion.
 */
#ifndef ST_FUSE_SCHEDULE_COMPILE_CACHE_H
#define ST_FUSE_SCHEDULE_COMPILE_CACHE_H

#include "fuse/schedule/schedule.h"
#include "abi/strided_fuse.h"

enum { ST_COMPILE_CACHE_ENTRIES = 64 };

#endif
