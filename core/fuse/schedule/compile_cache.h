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

enum { ST_COMPILE_CACHE_ENTRIES = 64 };

/* See strided_fuse.h. */
st_status st__compile_cache_new(const char *name, st_compile_cache **out);
void st__compile_cache_release(st_compile_cache **f);
void st__compile_cache_clear(st_compile_cache *f);
const char *st__compile_cache_name(const st_compile_cache *f);
bool st__compile_cache_find(st_compile_cache *f, int n,
                            const st_compile_cache_arg *args,
                            st_schedule **steps);
st_status st__compile_cache_end(st_compile_cache *f, int n,
                                const st_compile_cache_arg *args,
                                st_recorder **r, int noutputs,
                                st_tensor *const *outputs, st_schedule **steps);
const char *st__compile_cache_why(st_compile_cache *f, int n,
                                  const st_compile_cache_arg *args);

#endif
