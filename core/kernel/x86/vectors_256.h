/* kernel/vectors.h with AVX2.
 */
#define FMA_f4(a, b, c) \
  (v_f4)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define FMA_f8(a, b, c) \
  (v_f8)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))

#define MULTIPLY_u8(a, m) (v_u8)_mm256_mul_epu32((__m256i)(a), (__m256i)(m))

#define PAIRS_i2(a, b) (v_i4)_mm256_madd_epi16((__m256i)(a), (__m256i)(b))

#define WIDEN_u2(V, x) (V)_mm256_cvtepu16_epi32((__m128i)(x))

typedef __m128i indices_f8;
#define INDICES_f8(at) ST_LOAD_16(at)
#define LOOK_UP_f8(table, k) (v_f8)_mm256_i32gather_pd(table, k, 8)

#define PICK_f4(x, k) \
  (v_f4)_mm256_permutevar8x32_ps((__m256)(x), (__m256i)(k))
static inline v_f8 PICK_f8(v_f8 x, v_f8 k) {
  const __m256i i = _mm256_slli_epi64((__m256i)k, 1); /* halves of elements */
  const __m256i next = _mm256_set1_epi64x((int64_t)1 << 32);
  const __m256i both = _mm256_or_si256(i, _mm256_slli_epi64(i, 32));
  return (v_f8)_mm256_permutevar8x32_ps((__m256)x,
                                        _mm256_or_si256(both, next));
}

typedef __m256i mask_f4, mask_f8;
#define MASK_f4(n) _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), \
                                      _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define MASK_f8(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), \
                                      _mm256_setr_epi64x(0, 1, 2, 3))
#define GET_f4(p, m) (v_f4)_mm256_maskload_ps(p, m)
#define GET_f8(p, m) (v_f8)_mm256_maskload_pd(p, m)
#define PUT_f4(p, m, x) _mm256_maskstore_ps(p, m, (__m256)(x))
#define PUT_f8(p, m, x) _mm256_maskstore_pd(p, m, (__m256d)(x))
