/* kernel/vectors.h for any processor.
 */
#ifndef ST_KERNEL_GENERIC_VECTORS_H
#define ST_KERNEL_GENERIC_VECTORS_H

#include <string.h>

#if ST_HAS_FMA
/* Compilers make one instruction of each. */
static inline v_f4 FMA_f4(v_f4 a, v_f4 b, v_f4 c) {
  for (int i = 0; i < BYTES / 4; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
}
static inline v_f8 FMA_f8(v_f8 a, v_f8 b, v_f8 c) {
  for (int i = 0; i < BYTES / 8; i++) c[i] = __builtin_fma(a[i], b[i], c[i]);
  return c;
}
#else
#define FMA_f4(a, b, c) ((a) * (b) + (c))
#define FMA_f8(a, b, c) ((a) * (b) + (c))
#endif

#define MULTIPLY_u8(a, m) (((a) & 0xffffffffu) * ((m) & 0xffffffffu))

/* Shifts of the sign to the left and back are those of the bits. */
static inline v_i4 PAIRS_i2(v_i4 a, v_i4 b) {
  typedef int32_t signed_i4 __attribute__((vector_size(BYTES)));
  const v_i4 low = (v_i4)((signed_i4)(a << 16) >> 16) *
                   (v_i4)((signed_i4)(b << 16) >> 16);
  return low + (v_i4)((signed_i4)a >> 16) * (v_i4)((signed_i4)b >> 16);
}

#define WIDEN_u2(V, x) __builtin_convertvector(x, V)

typedef const int32_t *indices_f8;
#define INDICES_f8(at) (at)

static inline v_f8 LOOK_UP_f8(const double *table, indices_f8 at) {
  v_f8 x;
  for (int i = 0; i < BYTES / 8; i++) x[i] = table[at[i]];
  return x;
}

static inline v_f4 PICK_f4(v_f4 x, v_f4 k) {
  v_f4 y;
  for (int i = 0; i < BYTES / 4; i++) y[i] = x[((v_i4)k)[i]];
  return y;
}
static inline v_f8 PICK_f8(v_f8 x, v_f8 k) {
  v_f8 y;
  for (int i = 0; i < BYTES / 8; i++) y[i] = x[((v_i8)k)[i]];
  return y;
}

typedef int64_t mask_f4, mask_f8; /* elements */
#define MASK_f4(n) (n)
#define MASK_f8(n) (n)
static inline v_f4 GET_f4(const float *from, mask_f4 n) {
  v_f4 x = {0};
  for (int64_t i = 0; i < n; i++) x[i] = from[i];
  return x;
}
static inline v_f8 GET_f8(const double *from, mask_f8 n) {
  v_f8 x = {0};
  for (int64_t i = 0; i < n; i++) x[i] = from[i];
  return x;
}
static inline void PUT_f4(float *to, mask_f4 n, v_f4 x) {
  for (int64_t i = 0; i < n; i++) to[i] = x[i];
}
static inline void PUT_f8(double *to, mask_f8 n, v_f8 x) {
  for (int64_t i = 0; i < n; i++) to[i] = x[i];
}

#if ST_VECTOR_BYTES >= 32
typedef uint64_t st_32_bytes __attribute__((vector_size(32)));

static inline st_32_bytes LOAD_2x16(const char *p, const char *q) {
  st_32_bytes x;
  memcpy(&x, p, 16);
  memcpy((char *)&x + 16, q, 16);
  return x;
}
#endif

#if ST_VECTOR_BYTES >= 64
static inline v_u8 LOAD_2x32(const char *p, const char *q) {
  v_u8 x;
  memcpy(&x, p, 32);
  memcpy((char *)&x + 32, q, 32);
  return x;
}

static inline v_u8 LOAD_4x16(const char *p, const char *q, const char *r,
                             const char *s) {
  v_u8 x;
  memcpy(&x, p, 16);
  memcpy((char *)&x + 16, q, 16);
  memcpy((char *)&x + 32, r, 16);
  memcpy((char *)&x + 48, s, 16);
  return x;
}
#endif

#endif
