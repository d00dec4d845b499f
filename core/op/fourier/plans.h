/* What computes the transforms of lines of a kind, a precision and a length.
 */
#ifndef ST_OP_FOURIER_PLANS_H
#define ST_OP_FOURIER_PLANS_H

#include "op/fourier/eighths.h"
#include "op/fourier/tiles.h"

/* How lines are transformed: one by one, side by side (Note [Lines side by
 * side], tiles.h), or by eighths (Note [Lines by eighths], eighths.h). */
typedef enum st_fft_how { ST_FFT_LINE, ST_FFT_TILE, ST_FFT_EIGHTHS } st_fft_how;

typedef struct st_fft_plan {
  int64_t key;    /* length, kind, ...; 0: a free slot */
  int64_t n;
  int64_t size;   /* of all tables, in numbers */
  int users;      /* calls that hold it */
  int64_t used;   /* when it was last looked up */
  st_fft_line line;     /* of single lines */
  st_fft_passes passes; /* of lines side by side, or none */
  st_fft_eighths eighths; /* or none */
  int64_t count;    /* numbers of the complex line: n, or n / 2 by half */
  void *halving;    /* of real lines by half: st__fft_halving */
  bool is_iv;       /* of twist */
  void *twist;      /* of cosine transforms: st__fft_twist */
  void *chirp;      /* of a convolution: `count` numbers, and line.length */
  st_fft_line back; /* of a convolution: the reverse of line */
} st_fft_plan;

/* A call's hold of a plan, on its stack. */
typedef struct st_fft_hold {
  st_fft_plan *plan;
  struct st_fft_hold *outer; /* of the same thread */
} st_fft_hold;

/* A plan for lines of n >= 1 numbers, float64 or float32; st__fft_done must
 * follow, on the same thread and in reverse order. NO_MEMORY. */
st_status st__fft_plan(st_fft_kind kind, bool is_double, int64_t n,
                       st_fft_how how, st_fft_hold *out);
void st__fft_done(st_fft_hold *hold);

#endif
