/* A reduction: its bodies by rows and by columns, and its loop, which calls
 * st__run_reduction with these bodies. Included once per reduction, with these
 * macros as parameters, which it undefines:
 *
 *   NAME       the loop, and the prefix of the bodies; default: FAMILY_T
 *   T          the type of the elements
 *   A          that of the accumulators, which accumulator_template.h makes;
 *              default: T, and they are made here
 *   OP(a, b)   the operation; default: ADD
 *   LOAD(x)    converts an element; default: to A
 *   MAP(x, r)  maps it, given the pivot r; default: x
 *   R          the type of the pivots; default: char, for MAP that ignores r
 *   OPTIONS    more fields of st_reduce_ops; default: IN_ORDER
 *   HALVES     the prefix of two more loops, f16 and bf16, which load floats
 *   BY_ROWS    there are bodies for columns of one block, and for several rows,
 *              which map elements beyond the end of a row, too. They suit sums
 *              and products of float64
 *   BY_COLUMNS only those for columns
 *   PAD(x)     an element that, added to a row of x, does not change its result
 *
 * Reductions of a FAMILY differ in NAME, T and HALVES only. The other
 * parameters are undefined after the one that has the parameter ENDS_FAMILY.
 */

#ifndef NAME
#define NAME JOIN(FAMILY, T)
#endif
#ifndef OP
#define OP ADD
#endif
#ifndef A
#define A T
#define OWN_ACCUMULATORS
#include "kernel/reduce/accumulator_template.h"
#endif
#ifndef LOAD
#define LOAD(x) ((A)(x))
#endif
#ifndef MAP
#define MAP(x, r) (x)
#endif
#ifndef R
#define R char
#endif
#ifndef OPTIONS
#define OPTIONS IN_ORDER
#endif

/* There is a body for several rows. With narrower vectors compilers make
 * branches of its selections. */
#if defined PAD && (ST_VECTOR_BYTES >= 64 || \
                    (ST_VECTOR_BYTES >= 32 && defined BY_COLUMNS))
#define PADDED_ROWS
#endif

typedef T JOIN(NAME, element);
typedef A JOIN(NAME, acc);
typedef R JOIN(NAME, pivot);
enum { JOIN(NAME, lane_count) = LANES(A) };

/* A block of one output. */
static void JOIN(NAME, row)(const span *p) {
  enum { W = JOIN(NAME, lane_count) };
  const T *x = (const T *)p->in;
  ST_MAYBE const R r = *(const R *)p->pivot;
  A v[W];
  int64_t i = 0, n = p->n0;
#ifdef PAD
  T padded[W];
  if (n < W) {
    for (int l = 0; l < W; l++) padded[l] = PAD(x);
    x = memcpy(padded, x, (size_t)n * sizeof(T));
    n = W;
  }
#endif
  const int64_t m = n < W ? n : W;
  if (n < W) { /* the other loop has a known length: it is vectorised */
    for (; i < m; i++) v[i] = MAP(LOAD(x[i]), r);
  } else {
    for (; i < W; i++) v[i] = MAP(LOAD(x[i]), r);
  }
  for (; i + W <= n; i += W) {
    for (int o = 0; o < W * (int)sizeof(T); o += 64) /* a line each */
      __builtin_prefetch((const char *)(x + i) + 4096 + o);
    for (int l = 0; l < W; l++) v[l] = OP(v[l], MAP(LOAD(x[i + l]), r));
  }
  for (int64_t l = 0; i + l < n; l++) v[l] = OP(v[l], MAP(LOAD(x[i + l]), r));
  JOIN(JOIN(OP, A), lanes)(p->acc, v, m);
}

#ifdef BY_ROWS
/* A block of one output in the first w lanes, which are enough. It reads whole
 * lanes, that is beyond the end of x, and selects. */
static ST_ALWAYS_INLINE void JOIN(NAME, whole)(char *to, const T *x,
                                               ST_MAYBE const R *pivot,
                                               int n, const int w) {
  enum { W = JOIN(NAME, lane_count) };
  ST_MAYBE const R r = *pivot;
  A v[W];
  int i = w;
  for (int l = 0; l < w; l++) v[l] = MAP(LOAD(x[l]), r);
  for (; i + w <= n; i += w)
    for (int l = 0; l < w; l++) v[l] = OP(v[l], MAP(LOAD(x[i + l]), r));
  for (int l = 0, m = n - i; m > 0 && l < w; l++) {
    const A y = OP(v[l], MAP(LOAD(x[i + l]), r));
    v[l] = l < m ? y : v[l];
  }
  if (n >= w) JOIN(JOIN(OP, A), fold)(to, v, w, w);
  else JOIN(JOIN(OP, A), fold)(to, v, n, w);
}

/* A block of each of n1 outputs. */
static void JOIN(NAME, rows)(const span *p) {
  enum { W = JOIN(NAME, lane_count), HALF = W > 16 ? W / 2 : W };
  const R *r = (const R *)p->pivot;
  char *to = p->acc;
  const char *in = p->in;
  const int n = (int)p->n0;
  for (int64_t j = 0; j < p->n1; j++, in += p->skip, to += sizeof(A)) {
    const T *x = (const T *)in;
    if (n <= 8) JOIN(NAME, whole)(to, x, r, n, 8);
    else if (n <= 16) JOIN(NAME, whole)(to, x, r, n, 16);
    else if (n <= HALF) JOIN(NAME, whole)(to, x, r, n, HALF);
    else JOIN(NAME, whole)(to, x, r, n, W);
    r += p->more;
  }
}
#elif defined PADDED_ROWS
/* A block of each of n1 outputs. It reads whole lanes, that is beyond the end
 * of x, and selects. */
static void JOIN(NAME, rows)(const span *p) {
  enum { W = JOIN(NAME, lane_count) };
  const R *r = (const R *)p->pivot;
  char *to = p->acc;
  const char *in = p->in;
  const int n = (int)p->n0;
  for (int64_t j = 0; j < p->n1; j++, in += p->skip, to += sizeof(A)) {
    const T *x = (const T *)in;
    const T pad = PAD(x);
    A v[W];
    int i = W;
    for (int l = 0; l < W; l++) v[l] = MAP(LOAD(l < n ? x[l] : pad), *r);
    for (; i + W <= n; i += W)
      for (int l = 0; l < W; l++) v[l] = OP(v[l], MAP(LOAD(x[i + l]), *r));
    if (i < n) {
      T last[W];
      x += i;
      for (int l = 0; l < W; l++) last[l] = l < n - i ? x[l] : pad;
      for (int l = 0; l < W; l++) v[l] = OP(v[l], MAP(LOAD(last[l]), *r));
    }
    JOIN(JOIN(OP, A), lanes)(to, v, W);
    r += p->more;
  }
}
#endif

#if defined BY_ROWS || defined BY_COLUMNS
/* Reduces n rows, step bytes apart, of c columns in order. */
static ST_ALWAYS_INLINE void JOIN(NAME, lane)(A *restrict to, const char *in,
                                              int64_t step, int n,
                                              ST_MAYBE const R *r,
                                              const int c) {
  const T *x = (const T *)in;
  A a[COLUMNS_OF(A)];
  for (int q = 0; q < c; q++) a[q] = MAP(LOAD(x[q]), r[q]);
  for (int i = 1; i < n; i++) {
    x = (const T *)(in += step);
    for (int q = 0; q < c; q++) a[q] = OP(a[q], MAP(LOAD(x[q]), r[q]));
  }
  memcpy(to, a, (size_t)c * sizeof(A));
}

/* Columns from j on, c of them, of n0 rows. */
static ST_ALWAYS_INLINE void JOIN(NAME, lanes_of)(const span *p, int64_t j,
                                                  const int c) {
  enum { W = JOIN(NAME, lane_count), C = COLUMNS_OF(A) };
  ST_MAYBE const R *r = (const R *)p->pivot + j;
  const char *in = p->in + j * (int64_t)sizeof(T);
  const int n = (int)p->n0;
  A v[W][C];
  int w = 1;
  while (2 * w < n && w < W) w *= 2;
  if (w == W) {
    for (int l = 0; l < W; l++)
      JOIN(NAME, lane)(v[l], in + l * p->skip, W * p->skip,
                       (n - l + W - 1) / W, r, c);
  }
  for (int l = 0; w < W && l < w; l++) {
    const T *x = (const T *)(in + l * p->skip);
    const T *y = (const T *)(in + (l + w) * p->skip);
    if (l + w < n) {
#pragma omp simd
      for (int q = 0; q < c; q++)
        v[l][q] = OP(MAP(LOAD(x[q]), r[q]), MAP(LOAD(y[q]), r[q]));
    } else {
#pragma omp simd
      for (int q = 0; q < c; q++) v[l][q] = MAP(LOAD(x[q]), r[q]);
    }
  }
  for (w /= 2; w; w /= 2)
    for (int l = 0; l < w; l++)
#pragma omp simd
      for (int q = 0; q < c; q++) v[l][q] = OP(v[l][q], v[l + w][q]);
  memcpy((A *)p->acc + j, v[0], (size_t)c * sizeof(A));
}

/* n1 columns of at least 2 rows. The last ones overlap those before. */
static void JOIN(NAME, columns)(const span *p) {
  enum { C = COLUMNS_OF(A) };
  const int64_t n = p->n1;
  for (int64_t j = 0, c; j < n; j += c) {
    const int64_t left = n - j;
    c = left > C / 2 ? C : left > C / 4 ? C / 2 : C / 4;
    while (c > n) c = c > C / 4 ? c / 2 : 1;
    const int64_t at = j + c <= n ? j : n - c;
    if (c == C) JOIN(NAME, lanes_of)(p, at, C);
    else if (c == C / 2) JOIN(NAME, lanes_of)(p, at, C / 2);
    else if (c == C / 4) JOIN(NAME, lanes_of)(p, at, C / 4);
    else JOIN(NAME, lanes_of)(p, at, 1);
  }
}
#endif
#ifdef BY_ROWS
#define BODIES .rows = JOIN(NAME, rows), .columns = JOIN(NAME, columns)
#elif defined PADDED_ROWS && defined BY_COLUMNS
#define BODIES .rows = JOIN(NAME, rows), .columns = JOIN(NAME, columns), \
               .long_rows = true
#elif defined PADDED_ROWS
#define BODIES .rows = JOIN(NAME, rows), .long_rows = true
#elif defined BY_COLUMNS
#define BODIES .columns = JOIN(NAME, columns)
#else
#define BODIES .columns = NULL
#endif

/* Initialises the accumulators with a row. */
static void JOIN(NAME, first)(const span *p) {
  A *restrict a = (A *)p->acc;
  ST_MAYBE const R *r = (const R *)p->pivot;
  const T *x = (const T *)p->x[0];
  for (int64_t j = 0, n = p->n1; j < n; j++) a[j] = MAP(LOAD(x[j]), r[j]);
}

/* Adds a row. */
static void JOIN(NAME, next)(const span *p) {
  A *restrict a = (A *)p->acc;
  ST_MAYBE const R *r = (const R *)p->pivot;
  const T *x = (const T *)p->x[0];
  for (int64_t j = 0, n = p->n1; j < n; j++)
    a[j] = OP(a[j], MAP(LOAD(x[j]), r[j]));
}

/* Four rows at a time read and write the accumulators a fourth as often. */
static void JOIN(NAME, four)(const span *p) {
  A *restrict a = (A *)p->acc;
  ST_MAYBE const R *r = (const R *)p->pivot;
  const T *x = (const T *)p->x[0], *y = (const T *)p->x[1],
          *z = (const T *)p->x[2], *u = (const T *)p->x[3];
  if (p->more) {
    for (int64_t j = 0, n = p->n1; j < n; j++)
      a[j] = OP(OP(OP(OP(a[j], MAP(LOAD(x[j]), r[j])), MAP(LOAD(y[j]), r[j])),
                   MAP(LOAD(z[j]), r[j])), MAP(LOAD(u[j]), r[j]));
  } else {
    for (int64_t j = 0, n = p->n1; j < n; j++)
      a[j] = OP(OP(OP(MAP(LOAD(x[j]), r[j]), MAP(LOAD(y[j]), r[j])),
                   MAP(LOAD(z[j]), r[j])), MAP(LOAD(u[j]), r[j]));
  }
}

LOOP(NAME, LOAD_OF(T), sizeof(T), NAME, JOIN(OP, A), OPTIONS, BODIES)
#ifdef HALVES
#include "kernel/reduce/stored_halves_template.h"
LOOP(JOIN(HALVES, f16), load_half, 2, NAME, JOIN(OP, A), OPTIONS, BODIES,
     STORED_F16)
LOOP(JOIN(HALVES, bf16), load_bf16, 2, NAME, JOIN(OP, A), OPTIONS, BODIES,
     STORED_BF16)
#undef STORED_F16
#undef STORED_BF16
#endif

#ifdef OWN_ACCUMULATORS
#undef OWN_ACCUMULATORS
#undef A
#endif
#undef BODIES
#undef PADDED_ROWS
#undef NAME
#undef T
#undef HALVES
#if !defined FAMILY || defined ENDS_FAMILY
#undef FAMILY
#undef ENDS_FAMILY
#undef A
#undef OP
#undef LOAD
#undef MAP
#undef R
#undef OPTIONS
#undef BY_ROWS
#undef BY_COLUMNS
#undef PAD
#endif
