/* Non-temporal stores of a cache line.
 */
#ifndef ST_KERNEL_STREAM_LINE_H
#define ST_KERNEL_STREAM_LINE_H

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum { ST_LINE = 64 }; /* bytes */

/* Copies a line to an address that is a multiple of ST_LINE. Non-temporal
 * stores that fill a line without a gap are combined into one write, and the
 * line is not read first. The loads are no wider than the stores that filled
 * the buffer shortly before, for which they would wait. */
static inline void st__stream_line(char *to, const char *from) {
#if defined(__AVX512F__)
  _mm512_stream_si512((__m512i *)(void *)to, _mm512_loadu_si512(from));
#elif defined(__AVX2__)
  for (int i = 0; i < ST_LINE; i += 32) {
    _mm256_stream_si256((__m256i *)(void *)(to + i),
                        _mm256_loadu_si256((const __m256i_u *)
                                           (const void *)(from + i)));
  }
#elif defined(__SSE2__)
  for (int i = 0; i < ST_LINE; i += 16) {
    _mm_stream_si128((__m128i *)(void *)(to + i),
                     _mm_loadu_si128((const __m128i_u *)
                                     (const void *)(from + i)));
  }
#else
  memcpy(to, from, ST_LINE);
#endif
}

#endif
