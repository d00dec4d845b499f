/* Fusions: the steps of one function, by what it was called with.
 */
#ifndef ST_FUSE_SCHEDULE_COMPILE_CACHE_H
#define ST_FUSE_SCHEDULE_COMPILE_CACHE_H

#include "fuse/schedule/schedule.h"

enum { ST_FUSION_ENTRIES = 64 };

/* See strided_fuse.h. */
st_status st__fusion_new(const char *name, st_fusion **out);
void st__fusion_release(st_fusion **f);
void st__fusion_clear(st_fusion *f);
const char *st__fusion_name(const st_fusion *f);
bool st__fusion_find(st_fusion *f, int n, const st_fusion_arg *args,
                     st_steps **steps);
st_status st__fusion_end(st_fusion *f, int n, const st_fusion_arg *args,
                         st_rehearsal **r, int noutputs,
                         st_tensor *const *outputs, st_steps **steps);
const char *st__fusion_why(st_fusion *f, int n, const st_fusion_arg *args);

#endif
