/* The kernel find: the index of the first element equal to the pivot, for
 * argmax, argmin and the indices of max and min. A NaN equals a NaN.
 */

#include "kernel/reduce/reduction_kernels.h"

#define SAME_AS(x, r) (((x) == (r)) | (((x) != (x)) & ((r) != (r))))

static void combine_first(char *to, const char *with, int64_t n) {
  int64_t *restrict a = (int64_t *)to;
  const int64_t *restrict b = (const int64_t *)with;
  for (int64_t j = 0; j < n; j++) a[j] = b[j] < a[j] ? b[j] : a[j];
}

#define FIND_LOOP_(loop, load_fn, in_bytes, name, T)                        \
  static void loop(char **data, const int64_t *s, int64_t n0, int64_t n1,   \
                   const void *run) {                                       \
    static const st_reduce_ops k = {                                        \
      load_fn, name##_row, name##_first, name##_next, NULL, combine_first,  \
      in_bytes, sizeof(T), 8, sizeof(T), 1, .stops_early = true,            \
      .any_order = true};                                                   \
    st__run_reduction(&k, data, s, n0, n1, run); }
#define FIND_LOOP(...) FIND_LOOP_(__VA_ARGS__)

#define T u8
#include "kernel/reduce/find_template.h"
#define T i8
#include "kernel/reduce/find_template.h"
#define T i16
#include "kernel/reduce/find_template.h"
#define T i32
#include "kernel/reduce/find_template.h"
#define T i64
#include "kernel/reduce/find_template.h"
#define T f32
#include "kernel/reduce/find_template.h"
#define T f64
#include "kernel/reduce/find_template.h"

#define NAME find_b8
#define T u8
#define LOAD TRUTH_OF
#include "kernel/reduce/find_template.h"

FIND_LOOP(find_f16, load_half, 2, find_f32, f32)
FIND_LOOP(find_bf16, load_bf16, 2, find_f32, f32)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {REAL(find, find_b8)};

ST_EXPORT(st__argmax, rows)
