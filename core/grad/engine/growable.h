/* Arrays that grow, of the engine.
 */
#ifndef ST_GRAD_ENGINE_GROWABLE_H
#define ST_GRAD_ENGINE_GROWABLE_H

#include <string.h>

#include "base/memory.h"

/* Makes room for one more than n elements of a size. */
static inline st_status st__reserve(void **list, int64_t n, int64_t *capacity,
                                    size_t size) {
  if (n < *capacity) return ST_OK;
  const int64_t more = *capacity ? 2 * *capacity : 32;
  void *p = st__alloc(ST_MEM_SCRATCH, (size_t)more * size);
  if (!p) return ST_NO_MEMORY;
  if (*list) {
    memcpy(p, *list, (size_t)n * size);
    st__free(ST_MEM_SCRATCH, *list, (size_t)*capacity * size);
  }
  *list = p;
  *capacity = more;
  return ST_OK;
}

#endif
