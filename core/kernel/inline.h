/* INLINE: functions that compilers expand in place.
 *
 * Each function of a chain is expanded in each of its callers before a branch
 * of it is found dead. A build that does not optimize finds none, and a
 * sanitizer multiplies them: fft/butterflies.c takes half a minute.
 */
#ifndef ST_KERNEL_INLINE_H
#define ST_KERNEL_INLINE_H

#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && \
  !defined(__SANITIZE_THREAD__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

#endif
