/* Kernels of running extrema with indices: cummax and cummin.
 *
 * Of equal elements the last one counts. A NaN is an extremum, and after it
 * only another NaN changes the index. ctx: the int64 added to indices. The
 * operands are values, indices (int64) and input. A line is the elements along
 * the dimension; the inner dimension of a loop runs along a line, the outer one
 * over the lines.
 */

#include "base/threads.h"
#include "kernel/inline.h"
#include "kernel/dtype_tables.h"
#include "kernel/reduce/scan_across.h"

enum { BLOCK = 16 };

/* Lines: pointers to the first, the steps between their elements and from line
 * to line, and what is added to indices. */
typedef struct extrema {
  char *values, *indices, *in;
  int64_t step[3], across[3], base;
} extrema;

/* -- Keys ----------------------------------------------------------------- */

/* The key of a float with these bits, of which `inf` are those of infinity:
 * both zeros have key 0. */
#define FLOAT_KEY(name, K, most, inf)                                       \
  INLINE K name(K u, bool least) {                                          \
    const K size = u & (most), k = (u < 0) != least ? (K)-size : size;      \
    return size > (inf) ? (most) : k; }

FLOAT_KEY(key_f16, int16_t, INT16_MAX, 0x7c00)
FLOAT_KEY(key_bf16, int16_t, INT16_MAX, 0x7f80)
FLOAT_KEY(key_f32, int32_t, INT32_MAX, 0x7f800000)
FLOAT_KEY(key_f64, int64_t, INT64_MAX, INT64_C(0x7ff) << 52)

/* Compilers unroll the loop over the keys of a block instead. Vectors pay for
 * floats of up to 32 bits. */
#define BY_VECTORS _Pragma("omp simd reduction(|:is_new)")

#define INTEGER_KEY(T, x, least) ((T)((least) ? ~(x) : (x)))

/* -- Loops ---------------------------------------------------------------- */

#define NAME(f) f##_u8
#define T uint8_t
#define KEY(x, least) INTEGER_KEY(T, x, least)
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_i8
#define T int8_t
#define KEY(x, least) INTEGER_KEY(T, x, least)
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_i16
#define T int16_t
#define KEY(x, least) INTEGER_KEY(T, x, least)
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_i32
#define T int32_t
#define KEY(x, least) INTEGER_KEY(T, x, least)
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_i64
#define T int64_t
#define KEY(x, least) INTEGER_KEY(T, x, least)
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_u16
#define T uint16_t
#define KEY(x, least) INTEGER_KEY(T, x, least)
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_u32
#define T uint32_t
#define KEY(x, least) INTEGER_KEY(T, x, least)
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_u64
#define T uint64_t
#define KEY(x, least) INTEGER_KEY(T, x, least)
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_b8
#define T uint8_t
#define KEY(x, least) ((uint8_t)(((x) != 0) != (least)))
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_f16
#define T int16_t
#define KEY key_f16
#define VECTORS BY_VECTORS
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_bf16
#define T int16_t
#define KEY key_bf16
#define VECTORS BY_VECTORS
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_f32
#define T int32_t
#define KEY key_f32
#define VECTORS BY_VECTORS
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_f64
#define T int64_t
#define KEY key_f64
#include "kernel/reduce/extrema_template.h"

/* -- The table ------------------------------------------------------------ */

#define ORDERED(name) {#name, {ST_BY_TYPE(REAL_BOOL, name)}}

static const st_kernel_row rows[] = {ORDERED(cummax), ORDERED(cummin)};

ST_EXPORT(st__extrema, rows)
