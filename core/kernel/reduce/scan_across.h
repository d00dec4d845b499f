/* Scans across adjacent lines, a row of up to WIDTH of them at a time.
 */
#ifndef ST_KERNEL_REDUCE_SCAN_ACROSS_H
#define ST_KERNEL_REDUCE_SCAN_ACROSS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/threads.h"

enum { WIDTH = 256 };

static inline bool is_across_lines(int64_t inner, int64_t outer, int64_t n1) {
  return n1 >= 4 && (outer < 0 ? -outer : outer) < (inner < 0 ? -inner
                                                              : inner);
}

/* Asks whether to stop, before row i of up to WIDTH elements. */
static inline bool stops_at_row(int64_t i) {
  return i % (ST_PERIOD / WIDTH) == 0 && st__stops();
}

#endif
