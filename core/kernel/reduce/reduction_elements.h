/* Where the elements of an output are, and how they are gathered. Part of
 * pairwise_reduction.c.
 */
#ifndef ST_KERNEL_REDUCE_REDUCTION_ELEMENTS_H
#define ST_KERNEL_REDUCE_REDUCTION_ELEMENTS_H

#include "kernel/reduce/pairwise_reduction.h"

enum {
  SHORT = 32, /* shorter rows are reduced by columns */
  FEW = 10,   /* elements of a run that are not worth a load */
  RUNS = 8192 /* bytes of gathered elements of short runs */
};

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* Byte offset of element `at` of a run. *more is the number of elements from
 * there to the end of the first dimension. */
static int64_t offset_of(const st_reduce_run *r, int64_t at, int64_t *more) {
  int64_t offset = 0;
  if (r->ndim == 1) {
    *more = r->size[0] - at;
    return at * r->stride[0];
  }
  *more = r->size[0] - at % r->size[0];
  for (int i = 0; i < r->ndim; i++) {
    offset += at % r->size[i] * r->stride[i];
    at /= r->size[i];
  }
  return offset;
}

#define INTERLEAVE(T)                                                       \
  static void interleave_##T(void *to, const void *from, int64_t n0,        \
                             int64_t n1) {                                  \
    T *x = to;                                                              \
    const T *y = from;                                                      \
    for (int64_t j = 0; j < n1; j++)                                        \
      for (int64_t i = 0; i < n0; i++) x[j * n0 + i] = y[i * n1 + j]; }
INTERLEAVE(uint32_t)
INTERLEAVE(uint64_t)

/* Loads n1 runs of the first dimension, which is short: along the second one,
 * then element by element into the order of the runs. */
static void load_runs(const st_reduce_ops *k, char *to, const char *in,
                      const st_reduce_run *r, int64_t n1) {
  _Alignas(64) char columns[RUNS];
  const int64_t n0 = r->size[0], most = RUNS / (n0 * k->size);
  for (int64_t j = 0, m; j < n1; j += m) {
    m = least(n1 - j, most);
    const char *from = in + j * r->stride[1];
    for (int64_t i = 0; i < n0; i++) {
      k->load(columns + i * m * k->size, from + i * r->stride[0],
              r->stride[1], m);
    }
    if (k->size == 4) interleave_uint32_t(to, columns, n0, m);
    else interleave_uint64_t(to, columns, n0, m);
    to += m * n0 * k->size;
  }
}

/* The number of whole runs of the first dimension among n elements from `at`
 * that load_runs loads; 0 if to load them one by one is as fast. */
static int64_t whole_runs(const st_reduce_ops *k, const st_reduce_run *r,
                          int64_t at, int64_t n) {
  const int64_t n0 = r->size[0];
  if (r->ndim < 2 || n0 >= SHORT || at % n0 != 0 ||
      (k->size != 4 && k->size != 8) ||
      (n0 > FEW && magnitude(r->stride[0]) < magnitude(r->stride[1]))) {
    return 0;
  }
  const int64_t runs = least(n / n0, r->size[1] - at / n0 % r->size[1]);
  return runs < 4 ? 0 : runs;
}

/* Loads elements at .. at + n - 1 into a contiguous buffer. */
static void load_elements(const st_reduce_ops *k, char *to, const char *in,
                          const st_reduce_run *r, int64_t at, int64_t n) {
  for (int64_t m; n > 0; n -= m, at += m, to += m * k->size) {
    const int64_t offset = offset_of(r, at, &m);
    const int64_t runs = whole_runs(k, r, at, n);
    if (runs) {
      load_runs(k, to, in + offset, r, runs);
      m = runs * r->size[0];
    } else {
      m = least(m, n);
      k->load(to, in + offset, r->stride[0], m);
    }
  }
}

/* Byte offsets of elements at .. at + n - 1. */
static void fill_offsets(int64_t *off, const st_reduce_run *r, int64_t at,
                         int64_t n) {
  for (int64_t m; n > 0; n -= m, at += m, off += m) {
    const int64_t step = r->stride[0];
    int64_t offset = offset_of(r, at, &m);
    m = least(m, n);
    for (int64_t i = 0; i < m; i++, offset += step) off[i] = offset;
  }
}

#endif
