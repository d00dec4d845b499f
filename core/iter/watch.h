/* What a call would walk: the plans of the iterators, copies and reductions
 * it is made of, found by making it with tensors that have no data.
 *
 * Note [Watched calls]
 * On the meta device a call goes the same way as on the CPU, up to the loops.
 * A watched call is one on doubles of its tensors there: of the same geometry
 * and dtypes, sharing memory as the originals do. Whoever would run a loop
 * over something and finds it on that device says so here. Nothing is read or
 * written, no mode or observer hears of it, and nobody but a watched call pays
 * for it.
 */
#ifndef ST_ITER_WATCH_H
#define ST_ITER_WATCH_H

#include "dispatch/dispatch.h"
#include "iter/plan.h"

/* Is this thread in such a call? */
bool st__is_watched(void);

/* On the meta device, in such a call or not. dims: a bit set. */
void st__watch_iter(const st_iter *it, int64_t grain, bool tiled,
                    bool buffered);
void st__watch_copy(const st_tensor *dst, const st_tensor *src);
void st__watch_fold(const st_tensor *self, uint64_t dims);

/* See strided.h. */
st_status st__watch_call(const st_op *op, int n, const st_value *args,
                         st_plan **plans, int room, int *count);

#endif
