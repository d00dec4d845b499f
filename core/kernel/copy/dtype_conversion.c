/* Kernels that copy and convert elements (Y6).
 *
 * Note [Conversions]
 * Floats are truncated to integers as the x86 instruction does: a value that
 * does not fit, or a NaN, gives the smallest integer of the width of the
 * instruction, which then wraps into a narrower type. As uint8, -1 becomes
 * 255 and 300 becomes 44. A float from 2^63 on becomes a uint64 exactly. A
 * complex element gives its real part, a bool is
 * true if the element is not zero, half types go through float32.
 */

#include "kernel/copy/truncate.h"
#include "kernel/elementwise/elementwise_loops.h"
#include "kernel/elementwise/reduced_floats.h"
#include "kernel/elementwise/steps.h"

/* -- One element ---------------------------------------------------------- */

static inline int32_t f32_to_i32_x86(float f) {
  return f >= -2147483648.0f && f < 2147483648.0f ? (int32_t)f : INT32_MIN;
}

static inline int64_t f32_to_i64_x86(float f) {
  return f >= -9223372036854775808.0f && f < 9223372036854775808.0f
       ? (int64_t)f : INT64_MIN;
}

static inline uint64_t f32_to_u64_x86(float f) {
  return f >= 9223372036854775808.0f
       ? (uint64_t)f32_to_i64_x86(f - 9223372036854775808.0f) ^ 1ull << 63
       : (uint64_t)f32_to_i64_x86(f);
}

#define REAL(v) _Generic((v), float _Complex: crealf((float _Complex)(v)), \
  double _Complex: creal((double _Complex)(v)), default: (v))
#define TRUNCATE(v, from_float, from_double) _Generic((v),                   \
  float: from_float((float)(v)), double: from_double((double)(v)),           \
  default: (v))
/* A float32 of 2^31 and more is a multiple of 256, so 32 bits suffice for
 * uint8. */
#define TO_u1(v) TRUNCATE(REAL(v), f32_to_i32_x86, st__f64_to_i64_x86)
#define TO_i1(v) TRUNCATE(REAL(v), f32_to_i32_x86, st__f64_to_i32_x86)
#define TO_i2(v) TRUNCATE(REAL(v), f32_to_i32_x86, st__f64_to_i32_x86)
#define TO_i4(v) TRUNCATE(REAL(v), f32_to_i32_x86, st__f64_to_i32_x86)
#define TO_i8(v) TRUNCATE(REAL(v), f32_to_i64_x86, st__f64_to_i64_x86)
#define TO_u2(v) TRUNCATE(REAL(v), f32_to_i32_x86, st__f64_to_i32_x86)
#define TO_u4(v) TRUNCATE(REAL(v), f32_to_i64_x86, st__f64_to_i64_x86)
#define TO_u8(v) TRUNCATE(REAL(v), f32_to_u64_x86, st__f64_to_u64_x86)
#define TO_f4(v) REAL(v)
#define TO_f8(v) REAL(v)
#define TO_c4(v) (v)
#define TO_c8(v) (v)
#define TO_b1(v) ((v) != 0)

/* 1 if v is not zero. With a comparison compilers do not vectorise the
 * conversion. */
#undef ST_IN_b1
#define ST_IN_b1(v) ((uint8_t)(((v) | (uint8_t)-(v)) >> 7))

/* -- Between dtypes ------------------------------------------------------- */

#define CONVERT(dst, src)                                                    \
  ST_BODY(dst, src) {                                                        \
    (void)ctx;                                                               \
    T_##dst *out = (T_##dst *)p[0];                                          \
    const T_##src *in = (const T_##src *)p[1];                               \
    ST_SIMD_FOR(i, n) {                                                      \
      const T_##src v = ST_IN_##src(in[i]);                                  \
      out[i] = (T_##dst)TO_##dst(v);                                         \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(dst##_##src, dst##_##src##_body, 2, ST_ELEM_##dst,           \
                ST_ELEM_##src)
#define CONVERT_TO_HALF(dst, src) \
  ST_BLOCK_LOOP(dst##_##src, f4_##src##_body, 2, ST_ELEM_##dst, ST_ELEM_##src)
#define CONVERT_FROM_HALF(src, dst) \
  ST_BLOCK_LOOP(dst##_##src, dst##_f4_body, 2, ST_ELEM_##dst, ST_ELEM_##src)
/* To and from float32 there is nothing else to do: b are the bytes of the tag.
 */
#define CONVERT_FLOATS(tag, b)                                               \
  static void f4_##tag##_body(char *const *p, int64_t n, const void *ctx) {  \
    (void)ctx;                                                               \
    st_widen((float *)p[0], p[1], n, ST_ELEM_##tag);                         \
  }                                                                          \
  static void tag##_f4_body(char *const *p, int64_t n, const void *ctx) {    \
    (void)ctx;                                                               \
    st_narrow(p[0], (const float *)p[1], n, ST_ELEM_##tag);                  \
  }                                                                          \
  ST_BLOCK_LOOP(f4_##tag, f4_##tag##_body, 2, ST_ELEM_f4, ST_ELEM_##b)       \
  ST_BLOCK_LOOP(tag##_f4, tag##_f4_body, 2, ST_ELEM_##b, ST_ELEM_f4)
#define CONVERT_HALVES(dst, src) \
  ST_BLOCK_LOOP(dst##_##src, f4_f4_body, 2, ST_ELEM_##dst, ST_ELEM_##src)

/* M(x, tag) for every dtype except the half types; SIGNED: and but uint16 to
 * uint64. Those convert as the signed dtypes of their size wherever bits are
 * only copied, extended by a sign or dropped, and for tests of zero. */
#define EACH_BUT_f4(M, x)                                                    \
  M(x, u1) M(x, i1) M(x, i2) M(x, i4) M(x, i8) M(x, f8) M(x, c4) M(x, c8)    \
  M(x, b1)
#define EACH_UNSIGNED(M, x) M(x, u2) M(x, u4) M(x, u8)
#define EACH_SIGNED(M, x) EACH_BUT_f4(M, x) M(x, f4)
#define EACH(M, x) EACH_SIGNED(M, x) EACH_UNSIGNED(M, x)

EACH_SIGNED(CONVERT, u1)
EACH_SIGNED(CONVERT, i1)
EACH_SIGNED(CONVERT, i2)
EACH_SIGNED(CONVERT, i4) CONVERT(i4, u2)
EACH_SIGNED(CONVERT, i8) CONVERT(i8, u2) CONVERT(i8, u4)
EACH(CONVERT, f4)
EACH(CONVERT, f8)
EACH(CONVERT, c4)
EACH(CONVERT, c8)
EACH_SIGNED(CONVERT, b1)
CONVERT(u4, f4)
CONVERT(u4, f8)
CONVERT(u4, c4)
CONVERT(u4, c8)
CONVERT(u8, f4)
CONVERT(u8, f8)
CONVERT(u8, c4)
CONVERT(u8, c8)
CONVERT_FROM_HALF(f2, u4)
CONVERT_FROM_HALF(f2, u8)
CONVERT_FROM_HALF(bf, u4)
CONVERT_FROM_HALF(bf, u8)
#define CONVERT_REDUCED(tag, b)                                              \
  EACH_BUT_f4(CONVERT_TO_HALF, tag) EACH_UNSIGNED(CONVERT_TO_HALF, tag)      \
  EACH_BUT_f4(CONVERT_FROM_HALF, tag)                                        \
  CONVERT_FLOATS(tag, b)
CONVERT_REDUCED(f2, 2)
CONVERT_REDUCED(bf, 2)
#define CONVERT_FLOAT8(a, tag, conversion)                                   \
  CONVERT_REDUCED(tag, 1)                                                    \
  CONVERT_FROM_HALF(tag, u4) CONVERT_FROM_HALF(tag, u8)                      \
  CONVERT_HALVES(tag, f2) CONVERT_HALVES(tag, bf)                            \
  CONVERT_HALVES(f2, tag) CONVERT_HALVES(bf, tag)                            \
  ST_LIST_FLOAT8(CONVERT_FROM_8, tag)
#define CONVERT_FROM_8_HALF(src, dst) CONVERT_HALVES(dst, src)
ST_FLOAT8_TAGS(CONVERT_FLOAT8, 0)
/* Of complex numbers of two halves. */
#define CONVERT_TO_PAIR(dst, src) \
  ST_BLOCK_LOOP(dst##_##src, c4_##src##_body, 2, ST_ELEM_##dst, ST_ELEM_##src)
#define CONVERT_FROM_PAIR(src, dst) \
  ST_BLOCK_LOOP(dst##_##src, dst##_c4_body, 2, ST_ELEM_##dst, ST_ELEM_##src)
#define CONVERT_PAIR_AND_HALF(half, pair)                                   \
  ST_BLOCK_LOOP(pair##_##half, c4_f4_body, 2, ST_ELEM_##pair,              \
                ST_ELEM_##half)                                              \
  ST_BLOCK_LOOP(half##_##pair, f4_c4_body, 2, ST_ELEM_##half, ST_ELEM_##pair)
#define CONVERT_PAIR(tag, other)                                             \
  EACH(CONVERT_TO_PAIR, tag)                                                 \
  EACH_SIGNED(CONVERT_FROM_PAIR, tag)                                        \
  CONVERT_FROM_PAIR(tag, u4) CONVERT_FROM_PAIR(tag, u8)                      \
  ST_LIST_HALF(CONVERT_PAIR_AND, tag) ST_LIST_FLOAT8(CONVERT_PAIR_AND, tag)  \
  ST_BLOCK_LOOP(tag##_##other, c4_c4_body, 2, ST_ELEM_##tag, ST_ELEM_##other)
CONVERT_PAIR(c2, cb)
CONVERT_PAIR(cb, c2)
CONVERT_HALVES(f2, bf)
CONVERT_HALVES(f2, f2)
CONVERT_HALVES(bf, f2)
CONVERT_HALVES(bf, bf)

/* -- From float64 to int32 and by way of it ------------------------------- */

enum { TRUNCATED = 256 }; /* elements at a time */

#define BY_INT32(dst)                                                        \
  static void dst##_by_int32_body(char *const *p, int64_t n,                 \
                                  const void *ctx) {                         \
    (void)ctx;                                                               \
    int32_t whole[TRUNCATED];                                                \
    for (int64_t k = 0; k < n; k += TRUNCATED) {                             \
      const int64_t m = n - k < TRUNCATED ? n - k : TRUNCATED;               \
      T_##dst *out = (T_##dst *)p[0] + k;                                    \
      st_truncate(whole, (const double *)p[1] + k, m);                       \
      ST_SIMD_FOR(i, m) out[i] = (T_##dst)whole[i];                          \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(dst##_by_int32, dst##_by_int32_body, 2, ST_ELEM_##dst,       \
                ST_ELEM_f8)
BY_INT32(i1)
BY_INT32(i2)

static void i4_by_int32_body(char *const *p, int64_t n, const void *ctx) {
  (void)ctx;
  st_truncate((int32_t *)p[0], (const double *)p[1], n);
}
ST_BLOCK_LOOP(i4_by_int32, i4_by_int32_body, 2, ST_ELEM_i4, ST_ELEM_f8)

/* -- The same dtype: bits ------------------------------------------------- */

enum { LONG_ROW = 2048 }; /* bytes: rows that are repeated one by one */

/* Copies n bytes, 64 or more, that do not overlap. The stores fill whole cache
 * lines: of rows with gaps between them, which begin anywhere in a line,
 * memmove takes up to half as long again. */
static void copy_lines(char *to, const char *from, int64_t n) {
  memcpy(to, from, 64);
  for (int64_t i = 64 - (int64_t)((uintptr_t)to % 64); i <= n - 64; i += 64) {
    memcpy(to + i, from + i, 64);
  }
  memcpy(to + n - 64, from + n - 64, 64);
}

/* Fills n bytes with the same row: a few copies, each of all rows before it. */
static void repeat_row(char *to, const char *row, size_t bytes, size_t n) {
  memcpy(to, row, bytes);
  for (size_t done = bytes, k; done < n; done += k) {
    k = done < n - done ? done : n - done;
    memcpy(to + done, to, k);
  }
}

static void copy_rows(char **data, const int64_t *strides, int64_t n1,
                      size_t bytes) {
  const bool by_lines = bytes >= 64;
  if (n1 == 1) {
    memmove(data[0], data[1], bytes);
    return;
  }
  if (strides[3] == 0 && strides[2] == (int64_t)bytes && bytes < LONG_ROW &&
      n1 > 0) {
    repeat_row(data[0], data[1], bytes, (size_t)n1 * bytes);
    return;
  }
  for (int64_t j = 0; j < n1; j++) {
    char *to = data[0] + j * strides[2];
    const char *from = data[1] + j * strides[3];
    const uintptr_t apart = to < from ? (uintptr_t)from - (uintptr_t)to
                                      : (uintptr_t)to - (uintptr_t)from;
    if (by_lines && apart >= bytes) copy_lines(to, from, (int64_t)bytes);
    else memmove(to, from, bytes);
  }
}

static bool is_interleaved(const int64_t *s, int64_t n0, int64_t n1,
                           int64_t b) {
  return n0 >= 2 && n0 <= 4 && n1 >= 8 && s[0] == b && s[2] == n0 * b &&
         s[3] == b;
}

#define NAME(f) f##1
#include "kernel/copy/copy_template.h"
#define NAME(f) f##2
#include "kernel/copy/copy_template.h"
#define NAME(f) f##4
#include "kernel/copy/copy_template.h"
#define NAME(f) f##8
#include "kernel/copy/copy_template.h"
#define NAME(f) f##16
#include "kernel/copy/copy_template.h"

/* -- Rows ----------------------------------------------------------------- */

#define SLOT(dst, src) [ST_DTYPE_##src] = dst##_##src,
#define SLOT_AS(src, dst, as) [ST_DTYPE_##src] = dst##_##as,
#define ROW_AS(tag, dst)                                                     \
  {"copy_" #tag, {                                                           \
    EACH_SIGNED(SLOT, dst) SLOT(dst, f2) SLOT(dst, bf)                       \
    SLOT_AS(u2, dst, i2) SLOT_AS(u4, dst, i4) SLOT_AS(u8, dst, i8)}},
#define ROW(dst) ROW_AS(dst, dst)
#define FROM_UNSIGNED(dst) \
  {"copy_" #dst, {SLOT(dst, u2) SLOT(dst, u4) SLOT(dst, u8)}},
#define FROM_FLOAT(dst)                                                      \
  {"copy_" #dst, {                                                           \
    SLOT(dst, f4) SLOT(dst, f8) SLOT(dst, c4) SLOT(dst, c8)                  \
    SLOT(dst, f2) SLOT(dst, bf)}},
#define TRUNCATING(tag, dst) \
  {"copy_" #tag, {[ST_DTYPE_f8] = dst##_by_int32}},
#define SAME(tag, b) {"copy_" #tag, {[ST_DTYPE_##tag] = same_##b}},
#define SAME_BITS(dst, src, b) {"copy_" #dst, {[ST_DTYPE_##src] = same_##b}},

#define FROM_HALF(src, dst) SLOT(dst, src)
#define FROM_FLOAT8(tag, dst) {"copy_" #tag, {ST_LIST_FLOAT8(FROM, dst)}},
/* Packed elements are codes wherever operators convert them on the way; users
 * cannot (st__check_conversion). */
#define FROM_PACKED(tag, dst) {"copy_" #tag, {SLOT_AS(p4, dst, u1)}},
#define FROM_PAIRS(tag, dst) {"copy_" #tag, {SLOT(dst, c2) SLOT(dst, cb)}},
#define REDUCED_ROWS(tag)                                                    \
  ROW(tag) FROM_UNSIGNED(tag) FROM_FLOAT8(tag, tag)
#define FLOAT8_ROWS(a, tag, conversion) \
  REDUCED_ROWS(tag) FROM_PAIRS(tag, tag) FROM_PACKED(tag, tag) SAME(tag, 1)
#define FROM_REDUCED(tag, dst) FROM_FLOAT8(tag, dst) FROM_PAIRS(tag, dst)

/* Further rows of a dtype replace conversions. */
static const st_kernel_row rows[] = {
  ROW(u1) ROW(i1) ROW(i2) ROW(i4) ROW(i8) ROW(f2) ROW(f4) ROW(f8) ROW(c4)
  ROW(c8) ROW(b1) ROW(bf)
  ROW_AS(u2, i2) ROW_AS(u4, i4) ROW_AS(u8, i8)
  FROM_UNSIGNED(f2) FROM_UNSIGNED(bf) FROM_UNSIGNED(f4) FROM_UNSIGNED(f8)
  FROM_UNSIGNED(c4) FROM_UNSIGNED(c8) FROM_FLOAT(u4) FROM_FLOAT(u8)
  {"copy_i4", {SLOT(i4, u2)}}, {"copy_u4", {SLOT(i4, u2)}},
  {"copy_i8", {SLOT(i8, u2) SLOT(i8, u4)}},
  {"copy_u8", {SLOT(i8, u2) SLOT(i8, u4)}},
  TRUNCATING(i1, i1) TRUNCATING(i2, i2) TRUNCATING(i4, i4) TRUNCATING(u2, i2)
  SAME(u1, 1) SAME(i1, 1) SAME(i2, 2) SAME(i4, 4) SAME(i8, 8) SAME(f2, 2)
  SAME(f4, 4) SAME(f8, 8) SAME(c4, 8) SAME(c8, 16) SAME(b1, 1) SAME(bf, 2)
  SAME(u2, 2) SAME(u4, 4) SAME(u8, 8) SAME_BITS(u2, i2, 2)
  SAME_BITS(i2, u2, 2) SAME_BITS(u4, i4, 4) SAME_BITS(i4, u4, 4)
  SAME_BITS(u8, i8, 8) SAME_BITS(i8, u8, 8)
  FROM_REDUCED(u1, u1) FROM_REDUCED(i1, i1) FROM_REDUCED(i2, i2)
  FROM_REDUCED(i4, i4) FROM_REDUCED(i8, i8) FROM_REDUCED(u2, i2)
  FROM_REDUCED(u4, u4) FROM_REDUCED(u8, u8) FROM_REDUCED(f2, f2)
  FROM_REDUCED(bf, bf) FROM_REDUCED(f4, f4) FROM_REDUCED(f8, f8)
  FROM_REDUCED(c4, c4) FROM_REDUCED(c8, c8) FROM_REDUCED(b1, b1)
  ST_FLOAT8_TAGS(FLOAT8_ROWS, 0)
  REDUCED_ROWS(c2) SAME(c2, 4) {"copy_c2", {SLOT(c2, cb)}},
  REDUCED_ROWS(cb) SAME(cb, 4) {"copy_cb", {SLOT(cb, c2)}},
  ROW_AS(p4, u1) FROM_REDUCED(p4, u1) SAME(p4, 1)
  FROM_PACKED(u1, u1) FROM_PACKED(i1, i1) FROM_PACKED(i2, i2)
  FROM_PACKED(i4, i4) FROM_PACKED(i8, i8) FROM_PACKED(u2, i2)
  FROM_PACKED(u4, i4) FROM_PACKED(u8, i8) FROM_PACKED(f2, f2)
  FROM_PACKED(bf, bf) FROM_PACKED(f4, f4) FROM_PACKED(f8, f8)
  FROM_PACKED(c4, c4) FROM_PACKED(c8, c8) FROM_PACKED(b1, b1)
  FROM_PACKED(c2, c2) FROM_PACKED(cb, cb)
};

ST_EXPORT(st__copy, rows)
