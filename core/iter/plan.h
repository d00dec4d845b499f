/* A built iterator that one can look at and run by hand: what st_plan in
 * strided.h is made of.
 */
#ifndef ST_ITER_PLAN_H
#define ST_ITER_PLAN_H

#include "iter/iter.h"

typedef struct st_plan st_plan;

/* The flags and the static dtype that an iterator has by a name; false when
 * there is no such preset. */
bool st__plan_preset(const char *name, uint32_t *flags,
                     st_dtype *static_dtype);
/* The name of preset k, NULL behind the last. */
const char *st__plan_preset_name(int k);

st_status st__plan_new(const st_plan_config *c, st_plan **out);
void st__plan_release(st_plan **p);
const st_iter *st__plan_iter(const st_plan *p);
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

#endif
