/* Non-temporal stores of a cache line.
 */
#ifndef ST_KERNEL_STREAM_LINE_H
#define ST_KERNEL_STREAM_LINE_H

#include "kernel/isa.h"

enum { ST_LINE = 64 }; /* bytes */

/* Copies a line to an address that is a multiple of ST_LINE. Non-temporal
 * stores that fill a line without a gap are combined into one write, and the
 * line is not read first. The loads are no wider than the stores that filled
 * the buffer shortly before, for which they would wait. */
static inline void st__stream_line(char *to, const char *from) {
  for (int i = 0; i < ST_LINE; i += ST_VECTOR_BYTES) {
    ST_STREAM_VECTOR(to + i, from + i);
  }
}

/* Orders the non-temporal stores of kernels before all later stores. */
static inline void st__fence_streams(void) { ST_FENCE_STREAMS(); }

#endif
