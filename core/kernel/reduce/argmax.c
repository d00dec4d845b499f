/* The kernel find: the index of the first element equal to the pivot, for
 * argmax, argmin and the indices of max and min. A NaN equals a NaN.
 */

#include <math.h>

#include "kernel/reduce/reduction_kernels.h"

#define IS_NAN(x) ((x) != (x))
#define SAME_AS(x, r) (((x) == (r)) | (IS_NAN(x) & IS_NAN(r)))

/* The first of 16 bytes that is not 0, or more than any index of a row. */
static inline int64_t first_hit(const uint8_t *hit) {
  uint64_t bits[2];
  memcpy(bits, hit, sizeof bits);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  bits[0] = __builtin_bswap64(bits[0]), bits[1] = __builtin_bswap64(bits[1]);
#endif
  if (bits[0]) return __builtin_ctzll(bits[0]) / 8;
  return bits[1] ? 8 + __builtin_ctzll(bits[1]) / 8 : ST_REDUCE_BLOCK;
}

/* The bits of the elements equal to a pivot: those with u & mask in
 * [least, least + span]. */
#define RANGE(T, U)                                                         \
  typedef U T##_bits;                                                       \
  typedef struct T##_range { U mask, least, span; } T##_range;              \
  static inline T##_range T##_range_of(T r) {                               \
    const bool is_float = (T)0.5 != 0;                                      \
    const T inf = (T)(is_float ? INFINITY : 0);                             \
    const U digits = (U)((U)-1 >> 1);                                       \
    T##_range to = {(U)-1, 0, 0};                                           \
    memcpy(&to.least, &r, sizeof r);                                        \
    if (is_float && r == 0) to.mask = digits, to.least = 0;                 \
    if (r == r) return to;                                                  \
    memcpy(&to.least, &inf, sizeof inf);                                    \
    to.mask = digits, to.least++, to.span = digits - to.least;              \
    return to; }

RANGE(u8, bits8)
RANGE(i8, bits8)
RANGE(i16, bits16)
RANGE(i32, bits32)
RANGE(i64, bits64)
RANGE(f32, bits32)
RANGE(f64, bits64)

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
      .any_order = true, .rows = name##_rows};                              \
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

static const st_kernel_row rows[] = {
  {"find", {ST_BY_TYPE(WRAP_BOOL, find) ST_BY_TYPE(FLOAT, find)}}};

ST_EXPORT(st__argmax, rows)
