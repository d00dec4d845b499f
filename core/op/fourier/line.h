/* Transforms of single lines of complex numbers, from contiguous memory to
 * contiguous memory.
 */
#ifndef ST_OP_FOURIER_LINE_H
#define ST_OP_FOURIER_LINE_H

#include "op/fourier/passes.h"

typedef enum st_fft_kind {
  ST_FFT_FORWARD, ST_FFT_BACKWARD, /* complex to complex */
  ST_FFT_R2C,  /* n reals to n / 2 + 1 complex numbers */
  ST_FFT_C2R,  /* the inverse */
  ST_FFT_TWIST, ST_FFT_TWIST_IV /* of plans: roots of cosine transforms */
} st_fft_kind;

/* The transform of a line: its passes, or a matrix. */
typedef struct st_fft_line {
  int64_t length;
  st_fft_passes passes;
  void *first;                  /* roots of the first pass */
  struct st_fft_matrix *matrix; /* of a long line (long_lines.h), or NULL */
} st_fft_line;

/* A line of n >= 1 numbers that has passes (passes.h), 0 before. It must be
 * freed after a failure, too. */
st_status st__fft_line_init(bool backward, bool is_double, int64_t n,
                            st_fft_line *out);
void st__fft_line_free(st_fft_line *l);

/* Threads that may share the line, and bytes of scratch memory for so many. */
int st__fft_line_shares(const st_fft_line *l);
int64_t st__fft_line_bytes(const st_fft_line *l, bool is_double, int shares);

typedef struct st_fft_call {
  const st_fft_line *line;
  bool is_double;
  int shares;    /* 1 inside of a parallel loop */
  double scale;
  char *scratch; /* aligned to cache lines */
} st_fft_call;

/* in and out may be the same. INTERRUPTED may come after the first write. */
st_status st__fft_execute(const st_fft_call *c, const char *in, char *out);

/* All n numbers of a line, from real ones or from the first n / 2 + 1. */
void st__fft_widen(bool is_double, bool from_real, int64_t n, const char *in,
                   char *out);
/* The real parts of n numbers, which are elsewhere. */
void st__fft_real_parts(bool is_double, int64_t n, const char *in, char *out);

#endif
