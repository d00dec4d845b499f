/* Plans: built iterators that can be inspected and run by hand, the
 * implementation of st_plan in strided_plan.h.
 */
#ifndef ST_ITER_PLAN_H
#define ST_ITER_PLAN_H

#include "iter/iter.h"
#include "abi/strided_plan.h"

/* The flags and the static dtype of a preset; false if there is none of that
 * name. */
bool st__plan_preset(const char *name, uint32_t *flags,
                     st_dtype *static_dtype);

st_status st__plan_new(const st_plan_config *c, st_plan **out);
/* A plan of a built iterator. The iterator is copied. */
st_status st__plan_of(const st_iter *it, const st_plan_run *run,
                      st_plan **out);
const st_iter *st__plan_iter(const st_plan *p);
void st__plan_operand(const st_plan *p, int i, st_plan_operand *out);
st_place st__plan_place(const st_plan *p, int i);
bool st__plan_step(const st_plan *p, int64_t begin, int64_t end, int64_t k,
                   int64_t size[2], int64_t *offsets);
/* The present addresses of the elements at these offsets. BAD_INDEX if a step
 * of that size is outside a storage, BAD_STATE for memory that the CPU cannot
 * access. */
st_status st__plan_data(const st_plan *p, const int64_t size[2],
                        const int64_t *offsets, void **data);
st_status st__plan_get(const st_plan *p, int i, int64_t offset,
                       st_scalar *out);
/* Stores value unchecked: the caller makes sure that it fits the dtype. */
st_status st__plan_set(const st_plan *p, int i, int64_t offset,
                       st_scalar value);

/* -- Splitting ------------------------------------------------------------ */

/* BAD_INDEX for an operand that the plan does not have. */
st_status st__plan_remove_operand(st_plan *p, int i);
st_status st__plan_replace_operand(st_plan *p, int i, const st_tensor *t);

#endif
