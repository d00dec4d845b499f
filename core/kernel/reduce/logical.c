/* Truth value kernels: any, all and count_nonzero, reductions of x != 0.
 */

#include "kernel/reduce/reduction_kernels.h"

#define A u8
#define OP OR
#include "kernel/reduce/accumulator_template.h"
#define A u8
#define OP AND
#include "kernel/reduce/accumulator_template.h"
#define A u64
#include "kernel/reduce/accumulator_template.h"

#define FAMILY any
#define A u8
#define OP OR
#define ENDS_AT 2 /* true */
#include "kernel/reduce/nonzero_reductions.h"

#define FAMILY all
#define A u8
#define OP AND
#define ENDS_AT 1 /* false */
#include "kernel/reduce/nonzero_reductions.h"

#define FAMILY count
#define A u64
#include "kernel/reduce/nonzero_reductions.h"

/* -- The table ------------------------------------------------------------ */

#define ALL_LOOPS(name)                                                     \
  {#name, {                                                           \
    [ST_UINT8] = name##_u8, [ST_INT8] = name##_u8, [ST_BOOL] = name##_u8,   \
    [ST_INT16] = name##_i16, [ST_INT32] = name##_i32,                       \
    [ST_INT64] = name##_i64, [ST_UINT16] = name##_i16,                      \
    [ST_UINT32] = name##_i32, [ST_UINT64] = name##_i64,                     \
    [ST_FLOAT16] = name##_h,                                                \
    [ST_BFLOAT16] = name##_h, [ST_FLOAT32] = name##_f32,                    \
    [ST_FLOAT64] = name##_f64, COMPLEX_LOOPS(name)}}

static const st_kernel_row rows[] = {
  ALL_LOOPS(any), ALL_LOOPS(all), ALL_LOOPS(count)};

ST_EXPORT(st__logical, rows)
