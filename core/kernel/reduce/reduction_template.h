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
  int64_t i = 0, n = p->n0, m = n < W ? n : W;
  for (; i < m; i++) v[i] = MAP(LOAD(x[i]), r);
  for (; i + W <= n; i += W) {
    __builtin_prefetch((const char *)(x + i) + 2048); /* bytes ahead of use */
    for (int l = 0; l < W; l++) v[l] = OP(v[l], MAP(LOAD(x[i + l]), r));
  }
  for (int64_t l = 0; i + l < n; l++) v[l] = OP(v[l], MAP(LOAD(x[i + l]), r));
  JOIN(JOIN(OP, A), lanes)(p->acc, v, m);
}

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

LOOP(NAME, LOAD_OF(T), sizeof(T), NAME, JOIN(OP, A), OPTIONS)
#ifdef HALVES
LOOP(JOIN(HALVES, f16), load_half, 2, NAME, JOIN(OP, A), OPTIONS)
LOOP(JOIN(HALVES, bf16), load_bf16, 2, NAME, JOIN(OP, A), OPTIONS)
#endif

#ifdef OWN_ACCUMULATORS
#undef OWN_ACCUMULATORS
#undef A
#endif
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
#endif
