/* The dtypes as kernels call them, and the rows of their tables.
 */
#ifndef ST_KERNEL_DTYPE_TABLES_H
#define ST_KERNEL_DTYPE_TABLES_H

#include "kernel/loop.h"

/* X(a, tag, id, bytes): the dtypes of tensors. Those of fewer than eight bits,
 * which only kernel/copy/subbyte.c knows, have no tag. */
#define ST_TAGS(X, a) \
  X(a, u1, UINT8,           1)   \
  X(a, i1, INT8,            1)   \
  X(a, i2, INT16,           2)   \
  X(a, i4, INT32,           4)   \
  X(a, i8, INT64,           8)   \
  X(a, f2, FLOAT16,         2)   \
  X(a, f4, FLOAT32,         4)   \
  X(a, f8, FLOAT64,         8)   \
  X(a, c4, COMPLEX64,       8)   \
  X(a, c8, COMPLEX128,      16)  \
  X(a, b1, BOOL,            1)   \
  X(a, bf, BFLOAT16,        2)   \
  X(a, u2, UINT16,          2)   \
  X(a, u4, UINT32,          4)   \
  X(a, u8, UINT64,          8)   \
  X(a, c2, COMPLEX32,       4)   \
  X(a, cb, BCOMPLEX32,      4)   \
  X(a, e4, FLOAT8_E4M3FN,   1)   \
  X(a, e5, FLOAT8_E5M2,     1)   \
  X(a, z4, FLOAT8_E4M3FNUZ, 1)   \
  X(a, z5, FLOAT8_E5M2FNUZ, 1)   \
  X(a, e8, FLOAT8_E8M0FNU,  1)   \
  X(a, p4, FLOAT4_E2M1FN_X2, 1)

/* X(a, tag, conversion): the floats of eight bits. */
#define ST_FLOAT8_TAGS(X, a) \
  X(a, e4, e4m3fn)   \
  X(a, e5, e5m2)     \
  X(a, z4, e4m3fnuz) \
  X(a, z5, e5m2fnuz) \
  X(a, e8, e8m0fnu)

enum {
#define ST_TAG_ENUM(a, tag, id, bytes) ST_DTYPE_##tag = ST_##id,
  ST_TAGS(ST_TAG_ENUM, 0)
};

/* Loops end in the tag, as in add_f4, or in the type, as in sum_f32. */
#define ST_TYPE_u1 u8
#define ST_TYPE_i1 i8
#define ST_TYPE_i2 i16
#define ST_TYPE_i4 i32
#define ST_TYPE_i8 i64
#define ST_TYPE_u2 u16
#define ST_TYPE_u4 u32
#define ST_TYPE_u8 u64
#define ST_TYPE_f2 f16
#define ST_TYPE_bf bf16
#define ST_TYPE_f4 f32
#define ST_TYPE_f8 f64
#define ST_TYPE_c4 c64
#define ST_TYPE_c8 c128
#define ST_TYPE_b1 b8
/* Floats of eight bits, by the codes of their zeros: two, 0, none. */
#define ST_TYPE_e4 float8
#define ST_TYPE_e5 float8
#define ST_TYPE_z4 u8
#define ST_TYPE_z5 u8
#define ST_TYPE_e8 power

#define ST_TAG_BIT(a, tag, id, bytes) | UINT64_C(1) << ST_##id
_Static_assert((0 ST_TAGS(ST_TAG_BIT, 0)) ==
               ST_DTYPES_OF(~(ST_KIND_BIT(PROMOTED_INT) |
                              ST_KIND_BIT(SUBBYTE_SIGNED) |
                              ST_KIND_BIT(SUBBYTE_UNSIGNED))),
               "a dtype has no tag");

/* -- Lists of dtypes ------------------------------------------------------ */

/* ST_LIST_<list>(M, ...) expands to M_LOOP(tag, ...) per dtype, except M_MATH
 * for a dtype that uses functions of math/functions.def, M_PLAIN for one of
 * plain arguments, M_ANGLE for one of an angle, M_SAME(tag, signed, ...) for
 * one whose loop is that of the signed dtype, M_QUICK or M_HALF for a half
 * type: Note [Halves in registers], and M_PAIR for a complex one of two halves.
 * BCOMPLEX: bcomplex32, which is moved and compared, as in PyTorch.
 * LIBM is FLOAT for an expression that compilers do not vectorise. WRAP, NUMBER
 * and ALL: the result has the same bits for signed and unsigned integers. */
#define ST_LIST_SIGNED(M, ...)                                               \
  M##_LOOP(u1, __VA_ARGS__)                                                  \
  M##_LOOP(i1, __VA_ARGS__) M##_LOOP(i2, __VA_ARGS__)                        \
  M##_LOOP(i4, __VA_ARGS__) M##_LOOP(i8, __VA_ARGS__)
#define ST_LIST_UNSIGNED(M, ...)                                             \
  M##_LOOP(u2, __VA_ARGS__) M##_LOOP(u4, __VA_ARGS__)                        \
  M##_LOOP(u8, __VA_ARGS__)
#define ST_LIST_AS_SIGNED(M, ...)                                            \
  M##_SAME(u2, i2, __VA_ARGS__) M##_SAME(u4, i4, __VA_ARGS__)                \
  M##_SAME(u8, i8, __VA_ARGS__)
/* One loop per size: of integers, and of bits that decide whether an element
 * is zero. */
#define ST_LIST_SIZED_INT(M, ...)                                            \
  M##_LOOP(u1, __VA_ARGS__) M##_SAME(i1, u1, __VA_ARGS__)                    \
  M##_LOOP(i2, __VA_ARGS__) M##_LOOP(i4, __VA_ARGS__)                        \
  M##_LOOP(i8, __VA_ARGS__) ST_LIST_AS_SIGNED(M, __VA_ARGS__)
#define ST_LIST_NONZERO(M, ...)                                              \
  ST_LIST_SIZED_INT(M, __VA_ARGS__) M##_SAME(b1, u1, __VA_ARGS__)            \
  M##_LOOP(f2, __VA_ARGS__) M##_SAME(bf, f2, __VA_ARGS__)                    \
  ST_LIST_WIDE(M, __VA_ARGS__) ST_LIST_COMPLEX(M, __VA_ARGS__)               \
  ST_LIST_BCOMPLEX(M, __VA_ARGS__)
#define ST_LIST_BOOL(M, ...) M##_LOOP(b1, __VA_ARGS__)
#define ST_LIST_WIDE(M, ...)                                                 \
  M##_LOOP(f4, __VA_ARGS__) M##_LOOP(f8, __VA_ARGS__)
#define ST_LIST_HALF(M, ...)                                                 \
  M##_HALF(f2, __VA_ARGS__) M##_HALF(bf, __VA_ARGS__)
#define ST_LIST_FLOAT8(M, ...)                                               \
  M##_HALF(e4, __VA_ARGS__) M##_HALF(e5, __VA_ARGS__)                        \
  M##_HALF(z4, __VA_ARGS__) M##_HALF(z5, __VA_ARGS__)                        \
  M##_HALF(e8, __VA_ARGS__)
#define ST_LIST_PACKED(M, ...) M##_SAME(p4, u1, __VA_ARGS__)
#define ST_LIST_FLOAT(M, ...)                                                \
  ST_LIST_WIDE(M, __VA_ARGS__)                                               \
  M##_QUICK(f2, __VA_ARGS__) M##_QUICK(bf, __VA_ARGS__)
#define ST_LIST_LIBM(M, ...)                                                 \
  ST_LIST_WIDE(M, __VA_ARGS__)                                               \
  ST_LIST_HALF(M, __VA_ARGS__)
#define ST_LIST_MATH(M, ...)                                                 \
  M##_MATH(f4, __VA_ARGS__) M##_MATH(f8, __VA_ARGS__)                        \
  ST_LIST_HALF(M, __VA_ARGS__)
#define ST_LIST_PLAIN(M, ...)                                                \
  M##_PLAIN(f4, __VA_ARGS__) M##_PLAIN(f8, __VA_ARGS__)                      \
  ST_LIST_HALF(M, __VA_ARGS__)
#define ST_LIST_ANGLE(M, ...)                                                \
  M##_ANGLE(f4, __VA_ARGS__) M##_ANGLE(f8, __VA_ARGS__)                      \
  ST_LIST_HALF(M, __VA_ARGS__)
#define ST_LIST_COMPLEX(M, ...)                                              \
  M##_LOOP(c4, __VA_ARGS__) M##_LOOP(c8, __VA_ARGS__)                        \
  M##_PAIR(c2, __VA_ARGS__)
#define ST_LIST_BCOMPLEX(M, ...) M##_PAIR(cb, __VA_ARGS__)
#define ST_LIST_INT(M, ...)                                                  \
  ST_LIST_SIGNED(M, __VA_ARGS__) ST_LIST_UNSIGNED(M, __VA_ARGS__)
#define ST_LIST_INT_BOOL(M, ...)                                             \
  ST_LIST_INT(M, __VA_ARGS__) ST_LIST_BOOL(M, __VA_ARGS__)
#define ST_LIST_REAL(M, ...)                                                 \
  ST_LIST_INT(M, __VA_ARGS__) ST_LIST_FLOAT(M, __VA_ARGS__)
#define ST_LIST_REAL_BOOL(M, ...)                                            \
  ST_LIST_REAL(M, __VA_ARGS__) ST_LIST_BOOL(M, __VA_ARGS__)
#define ST_LIST_WRAP_INT(M, ...)                                             \
  ST_LIST_SIGNED(M, __VA_ARGS__) ST_LIST_AS_SIGNED(M, __VA_ARGS__)
#define ST_LIST_WRAP_BOOL(M, ...)                                            \
  ST_LIST_WRAP_INT(M, __VA_ARGS__) ST_LIST_BOOL(M, __VA_ARGS__)
#define ST_LIST_WRAP_REAL(M, ...)                                            \
  ST_LIST_WRAP_INT(M, __VA_ARGS__) ST_LIST_FLOAT(M, __VA_ARGS__)
#define ST_LIST_NUMBER(M, ...)                                               \
  ST_LIST_WRAP_REAL(M, __VA_ARGS__) ST_LIST_COMPLEX(M, __VA_ARGS__)
#define ST_LIST_ALL(M, ...)                                                  \
  ST_LIST_NUMBER(M, __VA_ARGS__) ST_LIST_BOOL(M, __VA_ARGS__)

#define ST_LISTED_HALF(tag, ...) | UINT64_C(1) << ST_DTYPE_##tag
#define ST_FLOAT8_BIT(a, tag, conversion) | UINT64_C(1) << ST_DTYPE_##tag
_Static_assert((0 ST_LIST_FLOAT8(ST_LISTED, 0)) ==
               ST_DTYPES_OF(ST_KIND_BIT(FLOAT8)) &&
               (0 ST_FLOAT8_TAGS(ST_FLOAT8_BIT, 0)) ==
               ST_DTYPES_OF(ST_KIND_BIT(FLOAT8)),
               "a float of eight bits is in no list");

/* Loops of a table row, by dtype. */
#define ST_SLOT_LOOP(tag, name, ...) [ST_DTYPE_##tag] = name##_##tag,
#define ST_SLOT_SAME(tag, signed, name, ...) [ST_DTYPE_##tag] = name##_##signed,
#define ST_SLOT_MATH(tag, name, ...) [ST_DTYPE_##tag] = name##_##tag,
#define ST_SLOT_PLAIN(tag, name, ...) [ST_DTYPE_##tag] = name##_##tag,
#define ST_SLOT_ANGLE(tag, name, ...) [ST_DTYPE_##tag] = name##_##tag,
#define ST_SLOT_HALF(tag, name, ...) [ST_DTYPE_##tag] = name##_##tag,
#define ST_SLOT_QUICK ST_SLOT_HALF
#define ST_SLOT_PAIR ST_SLOT_HALF

/* -- Tables --------------------------------------------------------------- */

#define ST_JOIN_(name, type) name##_##type
#define ST_JOIN(name, type) ST_JOIN_(name, type)
#define ST_TYPED_LOOP(tag, name, ...) \
  [ST_DTYPE_##tag] = ST_JOIN(name, ST_TYPE_##tag),
#define ST_TYPED_SAME(tag, as, name, ...) \
  [ST_DTYPE_##tag] = ST_JOIN(name, ST_TYPE_##as),
#define ST_TYPED_HALF ST_TYPED_LOOP
#define ST_TYPED_QUICK ST_TYPED_LOOP
#define ST_TYPED_PAIR(tag, name, ...) /* these loops have none */
#define ST_SIZED(name, tag, id, bytes) [ST_##id] = name##_##bytes,

/* The loops of a row for a list of dtypes: name_f4, ... by tag, name_f32, ...
 * by type; name_1, ... of every dtype by its size. */
#define ST_BY_TAG(list, name) ST_LIST_##list(ST_SLOT, name, )
#define ST_BY_TYPE(list, name) ST_LIST_##list(ST_TYPED, name, )
#define ST_BY_SIZE(name) ST_TAGS(ST_SIZED, name)

#endif
