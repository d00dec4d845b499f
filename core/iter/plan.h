/* A built iterator that one can look at and run by hand: what st_plan in
 * strided.h is made of.
 */
#ifndef ST_ITER_PLAN_H
#define ST_ITER_PLAN_H

#include "iter/iter.h"

/* The flags and the static dtype that an iterator has by a name; false when
 * there is no such preset. */
bool st__plan_preset(const char *name, uint32_t *flags,
                     st_dtype *static_dtype);
/* The name of preset k, NULL behind the last. */
const char *st__plan_preset_name(int k);

st_status st__plan_new(const st_plan_config *c, st_plan **out);
/* Of a built iterator, which lives on by itself. */
st_status st__plan_of(const st_iter *it, const st_plan_run *run,
                      st_plan **out);
void st__plan_release(st_plan **p);
const st_iter *st__plan_iter(const st_plan *p);
st_plan_facts st__plan_facts(const st_plan *p);
void st__plan_operand(const st_plan *p, int i, st_plan_operand *out);
bool st__plan_step(const st_plan *p, int64_t begin, int64_t end, int64_t k,
                   int64_t size[2], int64_t *offsets);
/* Where the elements at these offsets lie now. BAD_INDEX when a step of that
 * size leaves a storage, BAD_STATE without memory. */
st_status st__plan_data(const st_plan *p, const int64_t size[2],
                        const int64_t *offsets, void **data);
st_status st__plan_get(const st_plan *p, int i, int64_t offset,
                       st_scalar *out);
/* value is stored as it is: the caller sees to it that it fits. */
st_status st__plan_set(const st_plan *p, int i, int64_t offset,
                       st_scalar value);
st_status st__plan_cast_outputs(const st_plan *p);

/* -- Splitting ------------------------------------------------------------ */

/* BAD_INDEX for what the plan does not have. */
st_status st__plan_narrow(st_plan *p, int dim, int64_t start, int64_t size);
st_status st__plan_split(st_plan *p, int dim, st_plan **first);
st_status st__plan_with_32bit(st_plan *p, st_plan_fn fn, void *ctx);
st_status st__plan_remove_operand(st_plan *p, int i);
st_status st__plan_replace_operand(st_plan *p, int i, const st_tensor *t);

#endif
