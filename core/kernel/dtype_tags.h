/* The types of elements, by the tags of dtypes (dtype_tables.h).
 *
 * Per tag x: T_x is the type of an element in a block, W_x the type to compute
 * in where T_x could overflow (unsigned for integers), ST_ELEM_x the layout in
 * memory, st_param_x(ctx, i) the operator's i-th scalar argument. Half types
 * have no T_x: their blocks hold float32 (Note [Blocks]).
 */
#ifndef ST_KERNEL_DTYPE_TAGS_H
#define ST_KERNEL_DTYPE_TAGS_H

#include "kernel/dtype_tables.h"

#include "kernel/complex.h"

typedef uint8_t T_u1;
typedef int8_t T_i1;
typedef int16_t T_i2;
typedef int32_t T_i4;
typedef int64_t T_i8;
typedef float T_f4;
typedef double T_f8;
typedef float _Complex T_c4;
typedef double _Complex T_c8;
typedef uint16_t T_u2;
typedef uint32_t T_u4;
typedef uint64_t T_u8;
typedef uint8_t T_b1; /* memory of the user may hold other bytes than 0, 1 */

typedef uint32_t W_u1, W_i1, W_i2, W_i4, W_u2, W_u4;
typedef uint64_t W_i8, W_u8;
typedef T_f4 W_f4;
typedef T_f8 W_f8;
typedef T_c4 W_c4;
typedef T_c8 W_c8;
typedef T_b1 W_b1;

/* Layout of an element in memory: a size in bytes, or a float of at most 16
 * bits or a pair of them, of which a block holds float32. */
typedef enum st_elem {
  ST_ELEM_1, ST_ELEM_2, ST_ELEM_4, ST_ELEM_8, ST_ELEM_16,
  ST_ELEM_f2, ST_ELEM_bf,
#define ST_ELEM_ENUM(a, tag, conversion) ST_ELEM_##tag,
  ST_FLOAT8_TAGS(ST_ELEM_ENUM, 0)
  ST_ELEM_c2, ST_ELEM_cb,
  ST_ELEM_COUNT
} st_elem;

#define ST_ELEM_u1 ST_ELEM_1
#define ST_ELEM_i1 ST_ELEM_1
#define ST_ELEM_i2 ST_ELEM_2
#define ST_ELEM_i4 ST_ELEM_4
#define ST_ELEM_i8 ST_ELEM_8
#define ST_ELEM_u2 ST_ELEM_2
#define ST_ELEM_u4 ST_ELEM_4
#define ST_ELEM_u8 ST_ELEM_8
#define ST_ELEM_f4 ST_ELEM_4
#define ST_ELEM_f8 ST_ELEM_8
#define ST_ELEM_c4 ST_ELEM_8
#define ST_ELEM_c8 ST_ELEM_16
#define ST_ELEM_b1 ST_ELEM_1

/* Normalises a loaded element: a bool becomes 0 or 1. */
#define ST_IN_u1(v) (v)
#define ST_IN_i1(v) (v)
#define ST_IN_i2(v) (v)
#define ST_IN_i4(v) (v)
#define ST_IN_i8(v) (v)
#define ST_IN_u2(v) (v)
#define ST_IN_u4(v) (v)
#define ST_IN_u8(v) (v)
#define ST_IN_f4(v) (v)
#define ST_IN_f8(v) (v)
#define ST_IN_c4(v) (v)
#define ST_IN_c8(v) (v)
#define ST_IN_b1(v) ((uint8_t)((v) != 0))

/* -- Scalar arguments ----------------------------------------------------- */

#define ST_PARAM_INT(tag)                                                    \
  static inline T_##tag st_param_##tag(const st_params *k, int i) {          \
    return (T_##tag)st__scalar_to_int(k->s[i]);                              \
  }
/* An integer is rounded once, directly to the type of the tag. */
#define ST_PARAM_FLOAT(tag, to)                                              \
  static inline T_##tag st_param_##tag(const st_params *k, int i) {          \
    return to(k->s[i]);                                                      \
  }
#define ST_PARAM_COMPLEX(tag, to)                                            \
  static inline T_##tag st_param_##tag(const st_params *k, int i) {          \
    double c[2];                                                             \
    st__scalar_to_complex(k->s[i], c);                                       \
    return (T_##tag)CMPLX(to(k->s[i]), c[1]);                                \
  }
ST_PARAM_INT(u1)
ST_PARAM_INT(i1)
ST_PARAM_INT(i2)
ST_PARAM_INT(i4)
ST_PARAM_INT(i8)
ST_PARAM_INT(u2)
ST_PARAM_INT(u4)
ST_PARAM_FLOAT(f4, st__scalar_to_float)
ST_PARAM_FLOAT(f8, st__scalar_to_double)
ST_PARAM_COMPLEX(c4, st__scalar_to_float)
ST_PARAM_COMPLEX(c8, st__scalar_to_double)
static inline T_u8 st_param_u8(const st_params *k, int i) {
  return st__scalar_to_uint(k->s[i]);
}
#undef ST_PARAM_INT
#undef ST_PARAM_FLOAT
#undef ST_PARAM_COMPLEX

static inline T_b1 st_param_b1(const st_params *k, int i) {
  T_b1 b;
  st__scalar_store(k->s[i], ST_BOOL, &b);
  return b;
}

#endif
