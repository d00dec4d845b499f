/* SLEEF's functions over their whole range: where a result would depend on
 * its neighbours, and where it overflows too early.
 *
 * Note [Lanes do not see each other]
 * SLEEF's sin, cos and tan reduce all lanes more carefully when one of them
 * is large, which would make a result depend on its neighbours. So small
 * lanes and large ones are computed apart, the large ones beside huge ones.
 */
#ifndef ST_KERNEL_RANGE_H
#define ST_KERNEL_RANGE_H

#include <math.h>

#include "kernel/vec.h"

#define ST_VEC_WITHIN(tag)                                                   \
  static inline bool st_within_##tag(V_##tag v, T_##tag limit) {             \
    T_##tag x[ST_LANES_##tag];                                               \
    int n = 0;                                                               \
    memcpy(x, &v, sizeof x);                                                 \
    for (int i = 0; i < ST_LANES_##tag; i++) n += fabs_##tag(x[i]) <= limit; \
    return n == ST_LANES_##tag;                                              \
  }
#define fabs_f4 fabsf
#define fabs_f8 fabs
ST_VEC_WITHIN(f4)
ST_VEC_WITHIN(f8)
#undef ST_VEC_WITHIN

#define ST_VEC_APART(tag)                                                    \
  static V_##tag st_apart_##tag(V_##tag v, T_##tag limit, T_##tag huge,      \
                                V_##tag (*fn)(V_##tag)) {                    \
    T_##tag x[2][ST_LANES_##tag];                                            \
    bool is_small[ST_LANES_##tag];                                           \
    memcpy(x[0], &v, sizeof v);                                              \
    for (int i = 0; i < ST_LANES_##tag; i++) {                               \
      is_small[i] = fabs_##tag(x[0][i]) <= limit;                            \
      x[1][i] = is_small[i] ? huge : x[0][i];                                \
      x[0][i] = is_small[i] ? x[0][i] : 0;                                   \
    }                                                                        \
    for (int k = 0; k < 2; k++) {                                            \
      memcpy(&v, x[k], sizeof v);                                            \
      v = fn(v);                                                             \
      memcpy(x[k], &v, sizeof v);                                            \
    }                                                                        \
    for (int i = 0; i < ST_LANES_##tag; i++) {                               \
      if (is_small[i]) x[1][i] = x[0][i];                                    \
    }                                                                        \
    memcpy(&v, x[1], sizeof v);                                              \
    return v;                                                                \
  }
ST_VEC_APART(f4)
ST_VEC_APART(f8)
#undef ST_VEC_APART

#define ST_VEC_REPLACE(tag)                                                  \
  static V_##tag st_replace_##tag(V_##tag y, V_##tag v, T_##tag limit,       \
                                  T_##tag (*fn)(T_##tag)) {                  \
    T_##tag x[ST_LANES_##tag], z[ST_LANES_##tag];                            \
    memcpy(x, &v, sizeof v);                                                 \
    memcpy(z, &y, sizeof y);                                                 \
    for (int i = 0; i < ST_LANES_##tag; i++) {                               \
      if (!(fabs_##tag(x[i]) <= limit)) z[i] = fn(x[i]);                     \
    }                                                                        \
    memcpy(&y, z, sizeof y);                                                 \
    return y;                                                                \
  }
ST_VEC_REPLACE(f4)
ST_VEC_REPLACE(f8)
#undef ST_VEC_REPLACE

#define ST_BY_VEC(v, f4, f8) _Generic((v), V_f4: f4, V_f8: f8)

/* sin, cos, tan: |v| up to 100 (f4) or 14 (f8) is small to SLEEF. */
#define V_APART(fn, ulp, v)                                                  \
  (ST_BY_VEC(v, st_within_f4, st_within_f8)(v, ST_BY_VEC(v, 100.f, 14.))     \
   ? V(fn, ulp, v)                                                           \
   : ST_BY_VEC(v, st_apart_f4, st_apart_f8)(                                 \
       v, ST_BY_VEC(v, 100.f, 14.), ST_BY_VEC(v, 1e30f, 1e30),               \
       ST_BY_VEC(v, ST_SLEEF_f4(fn, ulp), ST_SLEEF_f8(fn, ulp))))

/* The C library beyond a limit of the vector's type. */
#define V_UPTO(fn, ulp, v, f4, f8)                                           \
  (ST_BY_VEC(v, st_within_f4, st_within_f8)(v, ST_BY_VEC(v, f4, f8))         \
   ? V(fn, ulp, v)                                                           \
   : ST_BY_VEC(v, st_replace_f4, st_replace_f8)(                             \
       V(fn, ulp, v), v, ST_BY_VEC(v, f4, f8), ST_BY_VEC(v, fn##f, fn)))

#endif
