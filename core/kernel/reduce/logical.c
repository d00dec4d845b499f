/* Truth value kernels: any, all and count_nonzero, reductions of x != 0.
 */

#include "kernel/reduce/reduction_bodies.h"

#define OR(a, b) ((a) | (b))
#define AND(a, b) ((a) & (b))

ACCUMULATORS(or_u8, uint8_t, OR)
ACCUMULATORS(and_u8, uint8_t, AND)
ACCUMULATORS(add_u64, uint64_t, ADD)

/* int8, uint8 and bool share the loop u8, float16 and bfloat16 the loop h. */
#define NONZERO_HALF(x) (((x) & 0x7fff) != 0)

#define TRUTH(name, accs, A, OP, s, T, L)                                   \
  REDUCE(name##_##s, accs, T, A, char, L, NONZERO, OP, ANY_ORDER)

#define LOGICAL(s, T, L)                                                    \
  TRUTH(any, or_u8, uint8_t, OR, s, T, L)                                   \
  TRUTH(all, and_u8, uint8_t, AND, s, T, L)                                 \
  TRUTH(count, add_u64, uint64_t, ADD, s, T, L)

LOGICAL(u8, uint8_t, SAME)
LOGICAL(i16, int16_t, SAME)
LOGICAL(i32, int32_t, SAME)
LOGICAL(i64, int64_t, SAME)
LOGICAL(h, uint16_t, NONZERO_HALF)
LOGICAL(f32, float, SAME)
LOGICAL(f64, double, SAME)
LOGICAL(c64, c64, SAME)
LOGICAL(c128, c128, SAME)

/* -- The table ------------------------------------------------------------ */

#define ALL_LOOPS(name)                                                     \
  {ST_K_##name, {                                                           \
    [ST_UINT8] = name##_u8, [ST_INT8] = name##_u8, [ST_BOOL] = name##_u8,   \
    [ST_INT16] = name##_i16, [ST_INT32] = name##_i32,                       \
    [ST_INT64] = name##_i64, [ST_FLOAT16] = name##_h,                       \
    [ST_BFLOAT16] = name##_h, [ST_FLOAT32] = name##_f32,                    \
    [ST_FLOAT64] = name##_f64, COMPLEX_LOOPS(name)}}

static const st_kernel_row rows[] = {
  ALL_LOOPS(any), ALL_LOOPS(all), ALL_LOOPS(count)};

ST_EXPORT(st__logical, rows)
