/* kernel/vectors.h with AVX-512.
 */
#define FMA_f4(a, b, c) \
  (v_f4)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define FMA_f8(a, b, c) \
  (v_f8)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))

typedef float narrow_f4 __attribute__((vector_size(32), aligned(4), may_alias));
typedef double narrow_f8 __attribute__((vector_size(32), aligned(8),
                                        may_alias));
#define FMA_NARROW_f4(a, b, c) \
  (narrow_f4)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define FMA_NARROW_f8(a, b, c) \
  (narrow_f8)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
#define WIDE_f4(x) (v_f4)_mm512_zextps256_ps512((__m256)(x))
#define WIDE_f8(x) (v_f8)_mm512_zextpd256_pd512((__m256d)(x))

#define MULTIPLY_u8(a, m) (v_u8)_mm512_mul_epu32((__m512i)(a), (__m512i)(m))

#define PAIRS_i2(a, b) (v_i4)_mm512_madd_epi16((__m512i)(a), (__m512i)(b))

#define WIDEN_u2(V, x) (V)_mm512_cvtepu16_epi32((__m256i)(x))

typedef __m512i indices_f8;
#define INDICES_f8(at) _mm512_cvtepi32_epi64(ST_LOAD_32(at))
#define LOOK_UP_f8(table, k)                                                 \
  (v_f8)_mm512_permutex2var_pd(_mm512_loadu_pd(table), k,                    \
                               _mm512_loadu_pd((table) + 8))

#define PICK_f4(x, k) \
  (v_f4)_mm512_permutexvar_ps((__m512i)(k), (__m512)(x))
#define PICK_f8(x, k) \
  (v_f8)_mm512_permutexvar_pd((__m512i)(k), (__m512d)(x))

static inline __m512i LOAD_4x16(const char *p, const char *q, const char *r,
                                const char *s) {
  __m512i x = _mm512_castsi128_si512(ST_LOAD_16(p));
  x = _mm512_inserti32x4(x, ST_LOAD_16(q), 1);
  x = _mm512_inserti32x4(x, ST_LOAD_16(r), 2);
  return _mm512_inserti32x4(x, ST_LOAD_16(s), 3);
}
#define LOAD_2x32(p, q) \
  _mm512_inserti64x4(_mm512_castsi256_si512(ST_LOAD_32(p)), ST_LOAD_32(q), 1)

typedef __mmask16 mask_f4;
typedef __mmask8 mask_f8;
#define MASK_f4(n) (mask_f4)((1u << (n)) - 1)
#define MASK_f8(n) (mask_f8)((1u << (n)) - 1)
#define GET_f4(p, m) (v_f4)_mm512_maskz_loadu_ps(m, p)
#define GET_f8(p, m) (v_f8)_mm512_maskz_loadu_pd(m, p)
#define PUT_f4(p, m, x) _mm512_mask_storeu_ps(p, m, (__m512)(x))
#define PUT_f8(p, m, x) _mm512_mask_storeu_pd(p, m, (__m512d)(x))
