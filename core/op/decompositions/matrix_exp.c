/* Exponentials of matrices: linalg_matrix_exp, matrix_exp_backward.
 *
 * Note [Exponentials of matrices]
 * The exponential of A is the Taylor polynomial of the least degree whose error
 * is below one rounding for the norm of A. Where the norm is above the bound of
 * degree 18, it is the polynomial of A / 2^s, squared s times. The polynomials
 * are arranged for few products: 1 for degree 2, 2 for 4, 3 for 8, 4 for 12 and
 * 5 for 18. An exponential commutes with transposition, so it does not matter
 * that rows of a matrix are taken for columns.
 *
 * Source: P. Bader, S. Blanes, F. Casas, "Computing the Matrix Exponential with
 * an Optimized Taylor Polynomial Approximation", Mathematics 7(12), 2019: the
 * polynomials and, in Table 1, the bounds.
 */

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "op/lapack/part.h"
#include "op/row/composite.h"

/* -- Linear combinations -------------------------------------------------- */

enum { TERMS = 5 };

/* one times the identity and the sum of c[k] p[k]; c ends with zeros. */
typedef struct sum {
  double one, c[TERMS];
} sum;

#define COMBINE(name, T)                                                  \
  static void name(int64_t count, const double *c, const void *const *p,  \
                   void *to) {                                            \
    const T a = (T)c[0], b = (T)c[1], d = (T)c[2], e = (T)c[3],           \
            f = (T)c[4];                                                  \
    const T *const p0 = p[0], *const p1 = p[1], *const p2 = p[2],         \
            *const p3 = p[3], *const p4 = p[4];                           \
    T *const out = to;                                                    \
    for (int64_t i = 0; i < count; i++) {                                 \
      out[i] = a * p0[i] + b * p1[i] + d * p2[i] + e * p3[i] + f * p4[i]; \
    }                                                                     \
  }

COMBINE(combine_f32, float)
COMBINE(combine_f64, double)

#define ADD_TO_DIAGONAL(name, T)                                          \
  static void name(int64_t n, int64_t step, double one, void *to) {       \
    T *const out = to;                                                    \
    for (int64_t i = 0; i < n; i++) out[i * (n + 1) * step] += (T)one;    \
  }

ADD_TO_DIAGONAL(add_to_diagonal_f32, float)
ADD_TO_DIAGONAL(add_to_diagonal_f64, double)

/* -- One matrix ----------------------------------------------------------- */

/* The powers of A, and room for sums and products. */
enum { A, A2, A3, A6, X, Y, Z, MATRICES };

typedef struct matrices {
  const st_lapack_job *j;
  st_dtype dtype;
  int64_t n, bytes;       /* rows; of a matrix */
  char *m[MATRICES];
} matrices;

static bool is_double(st_dtype dtype) {
  return st__real_dtype(dtype) == ST_FLOAT64;
}

static int64_t numbers(const matrices *w) {
  return w->n * w->n * (st__is_complex(w->dtype) ? 2 : 1);
}

/* to = the sum of these terms, of which there are no more than TERMS. */
static void combine(const matrices *w, const sum *s, const char *const *terms,
                    char *to) {
  const void *p[TERMS];
  for (int k = 0; k < TERMS; k++) p[k] = s->c[k] != 0 ? terms[k] : terms[0];
  (is_double(w->dtype) ? combine_f64 : combine_f32)(numbers(w), s->c, p, to);
  if (s->one == 0) return;
  (is_double(w->dtype) ? add_to_diagonal_f64 : add_to_diagonal_f32)(
    w->n, st__is_complex(w->dtype) ? 2 : 1, s->one, to);
}

/* to = `by` a b, or that is added to it. Of any value if the job is stopped. */
static void multiply(const matrices *w, double by, const char *a,
                     const char *b, bool adds, char *to) {
  const st_part x = st__columns_at(a, w->n, w->n, w->n);
  const st_part y = st__columns_at(b, w->n, w->n, w->n);
  const st_part z = st__columns_at(to, w->n, w->n, w->n);
  (void)!st__part_multiply(w->j, &z, &x, &y, by, adds);
}

/* I + A + A^2 (I/2 + A/6 + A^2/24) */
static void degree_4(const matrices *w, const char *const *powers, char *out) {
  static const sum first = {1, {1}}, rest = {.5, {1. / 6, 1. / 24}};
  multiply(w, 1, w->m[A], w->m[A], false, w->m[A2]);
  combine(w, &rest, powers, w->m[X]);
  combine(w, &first, powers, out);
  multiply(w, 1, w->m[A2], w->m[X], true, out);
}

static void degree_8(const matrices *w, char *out) {
  static const double root = 13.3041346956500707250; /* of 177 */
  const sum inner = {0, {(1 + root) / 132, (1 + root) / 528}};
  const sum left = {0, {0, 2. / 3, 1}};
  const sum right = {(-271 + 29 * root) / 210,
                     {(-11 + 11 * root) / 840, (-99 + 11 * root) / 3360,
                      (89 - root) / 2240}};
  const sum first = {1, {1, (857 - 58 * root) / 630}};
  const char *const terms[TERMS] = {w->m[A], w->m[A2], w->m[Z]};
  multiply(w, 1, w->m[A], w->m[A], false, w->m[A2]);
  combine(w, &inner, terms, w->m[X]);
  multiply(w, 1, w->m[A2], w->m[X], false, w->m[Z]);
  combine(w, &left, terms, w->m[X]);
  combine(w, &right, terms, w->m[Y]);
  combine(w, &first, terms, out);
  multiply(w, 1, w->m[X], w->m[Y], true, out);
}

/* P + (Q + Z) Z, where Z is R + S S. */
static void degree_12(const matrices *w, char *out) {
  static const sum P = {9.0198e-16,
    {.46932117595418237389, -.20099424927047284052, -.04623946134063071740}};
  static const sum Q = {5.31597895759871264183,
    {1.19926790417132231573, .01179296240992997031, .01108844528519167989,
     1}};
  static const sum R = {.18188869982170434744,
    {.05502798439925399070, .09351590770535414968, .00610700528898058230}};
  static const sum S = {-2.0861320e-13,
    {-.13181061013830184015, -.02027855540589259079, -.00675951846863086359}};
  const char *const terms[TERMS] = {w->m[A], w->m[A2], w->m[A3], w->m[Z]};
  multiply(w, 1, w->m[A], w->m[A], false, w->m[A2]);
  multiply(w, 1, w->m[A], w->m[A2], false, w->m[A3]);
  combine(w, &R, terms, w->m[Z]);
  combine(w, &S, terms, w->m[X]);
  multiply(w, 1, w->m[X], w->m[X], true, w->m[Z]);
  combine(w, &Q, terms, w->m[Y]);
  combine(w, &P, terms, out);
  multiply(w, 1, w->m[Y], w->m[Z], true, out);
}

/* P + (Q + Z) Z, where Z is R + S T. */
static void degree_18(const matrices *w, char *out) {
  static const sum S = {0, {-1.00365581030144618291e-01,
    -8.02924648241156932449e-03, -8.92138498045729985177e-04}};
  static const sum P = {0, {3.97849749499645077844e-01,
    1.36783778460411720168e+00, 4.98289622525382669416e-01,
    -6.37898194594723280150e-04}};
  static const sum Q = {-1.09676396052962061844e+01,
    {1.68015813878906206114e+00, 5.71779846478865511061e-02,
     -6.98210122488052056106e-03, 3.34975017086070470649e-05, 1}};
  static const sum R = {-9.04316832390810593223e-02,
    {-6.76404519071381882256e-02, 6.75961301770459654925e-02,
     2.95552570429315521194e-02, -1.39180257516060693404e-05}};
  static const sum T = {0, {0, -9.23364619367118555360e-02,
    -1.69364939002081722752e-02, -1.40086798182036094347e-05}};
  const char *const terms[TERMS] = {w->m[A], w->m[A2], w->m[A3], w->m[A6],
                                    w->m[Z]};
  multiply(w, 1, w->m[A], w->m[A], false, w->m[A2]);
  multiply(w, 1, w->m[A], w->m[A2], false, w->m[A3]);
  multiply(w, 1, w->m[A3], w->m[A3], false, w->m[A6]);
  combine(w, &S, terms, w->m[X]);
  combine(w, &T, terms, w->m[Y]);
  combine(w, &R, terms, w->m[Z]);
  multiply(w, 1, w->m[X], w->m[Y], true, w->m[Z]);
  combine(w, &Q, terms, w->m[X]);
  combine(w, &P, terms, out);
  multiply(w, 1, w->m[X], w->m[Z], true, out);
}

/* The norm of the matrix in A by its rows in memory; where it is complex, at
 * most sqrt 2 more. */
static double norm_of(const matrices *w) {
  const int64_t length = numbers(w) / w->n;
  const float *const f = (const float *)(const void *)w->m[A];
  const double *const d = (const double *)(const void *)w->m[A];
  double most = 0;
  for (int64_t i = 0; i < w->n; i++) {
    double total = 0;
    for (int64_t k = i * length; k < (i + 1) * length; k++) {
      total += is_double(w->dtype) ? fabs(d[k]) : (double)fabsf(f[k]);
    }
    if (!(total <= most)) most = total;
    if (most != most) break;
  }
  return most;
}

/* 2^-s of them must be squared s times. */
static int squarings(double norm, double bound) {
  int s = 0;
  if (norm > bound) frexp(norm / bound, &s);
  return s;
}

static void exponentiate(const matrices *w, double norm, char *out) {
  /* Of the degrees 1, 2, 4, 8, 12 and 18. */
  static const double bounds[2][6] = {
    {1.192092800768788e-07, 5.978858893805233e-04, 5.116619363445086e-02,
     5.800524627688768e-01, 1.461661507209034e+00, 3.010066362817634e+00},
    {2.220446049250313e-16, 2.580956802971767e-08, 3.397168839976962e-04,
     4.991228871115323e-02, 2.996158913811580e-01, 1.090863719290036e+00}};
  static const sum linear = {1, {1}};
  const double *const bound = bounds[is_double(w->dtype)];
  const char *const powers[TERMS] = {w->m[A], w->m[A2]};
  const int s = squarings(norm, bound[5]);
  const sum scaled = {0, {ldexp(1, -s)}};
  if (norm <= bound[1]) {
    combine(w, &linear, powers, out);
    if (norm > bound[0]) multiply(w, .5, w->m[A], w->m[A], true, out);
  } else if (norm <= bound[2]) {
    degree_4(w, powers, out);
  } else if (norm <= bound[3]) {
    degree_8(w, out);
  } else if (norm <= bound[4]) {
    degree_12(w, out);
  } else {
    if (s > 0) combine(w, &scaled, powers, w->m[A]);
    degree_18(w, out);
  }
  for (int i = 0; i < s && !st__stops(); i++) {
    multiply(w, 1, out, out, false, w->m[X]);
    memcpy(out, w->m[X], (size_t)w->bytes);
  }
}

/* -- linalg_matrix_exp ---------------------------------------------------- */

/* Matrix i of the batch, which holds the result at the end. What is not finite
 * has no exponential: NaN, which has all bits set. */
static void exponential(const st_lapack_job *j, int64_t i, char *scratch) {
  const st_tensor *t = j->ctx;
  matrices w = {.j = j, .dtype = j->dtype, .n = st__cols(t)};
  char *const out = st__matrix_at(t, i);
  w.bytes = w.n * w.n * (int64_t)st__itemsize(j->dtype);
  for (int k = 0; k < MATRICES; k++) w.m[k] = scratch + k * w.bytes;
  memcpy(w.m[A], out, (size_t)w.bytes);
  const double norm = norm_of(&w);
  if (norm - norm == 0) exponentiate(&w, norm, out);
  else memset(out, 0xff, (size_t)w.bytes);
}

static st_status exponentials(const st_tensor *self, st_tensor *t) {
  const int64_t n = st__cols(t);
  st_lapack_job j = {.fn = exponential, .ctx = t, .dtype = t->dtype,
                     .count = st__batch_count(t),
                     .cost = 8 * (double)n * (double)n * (double)n,
                     .bytes = MATRICES * n * n *
                              (int64_t)st__itemsize(t->dtype)};
  j.bytes = (j.bytes + 63) / 64 * 64; /* the next thread's is aligned */
  ST_TRY(st__lapack_begin(&j));
  st_status status = st__copy_unchecked(t, self);
  if (status == ST_OK) status = st__lapack_run(&j);
  st__lapack_end(&j);
  return status;
}

st_status st__linalg_matrix_exp_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  ST_TRY(st__is_reduced_float(self->dtype)
         ? st__check_square_sizes(self, "self")
         : st__check_square(self, "self"));
  ST_TRY(st__set_rows(r, 0, self->ndim, self->sizes, self->dtype));
  return st__write_apart(r, 0);
}

/* Halves are computed as float32. */
st_status st__linalg_matrix_exp_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  st_tensor *wide = NULL;
  st_status status;
  if (self->numel == 0) return ST_OK;
  if (!st__is_reduced_float(self->dtype)) return exponentials(self, r->out[0]);
  ST_TRY(st__tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, self->ndim, self->sizes,
                          ST_FORMAT_CONTIGUOUS, &wide));
  status = exponentials(self, wide);
  if (status == ST_OK) status = st__copy_unchecked(r->out[0], wide);
  st__tensor_release(&wide);
  return status;
}

/* -- The gradient --------------------------------------------------------- */

static st_tensor *join(st_op_scope *c, const st_tensor *a, const st_tensor *b,
                       int dim) {
  st_tensor *parts[] = {(st_tensor *)(uintptr_t)a, (st_tensor *)(uintptr_t)b};
  if (!st__scope_ok(c)) return NULL;
  return ST_APPLY(c, ST_OP_cat, st__of_tensors(parts, 2), dim);
}

/* The corner of the exponential of [A' grad; 0 A'], where A' is the adjoint.
 *
 * Source: N. J. Higham, "Functions of Matrices", SIAM 2008, equation (3.16). */
ST_BOXED(st__box_matrix_exp_backward) {
  ST_ARGS(TENSOR(self), TENSOR(grad));
  st_op_scope c = {.status = st__check_square_sizes(self, "self")};
  if (st__scope_ok(&c)) c.status = st__check_square_sizes(grad, "grad");
  if (!st__scope_ok(&c)) return c.status;
  const int64_t n = st__cols(self);
  const st_tensor *adjoint = st__adjoint(&c, self);
  const st_tensor *above = join(&c, adjoint, grad, -1);
  const st_tensor *below = join(&c, st__apply1(&c, ST_OP_zeros_like, grad),
                                adjoint, -1);
  const st_tensor *both = st__apply1(&c, ST_OP_linalg_matrix_exp,
                                     join(&c, above, below, -2));
  st_tensor *corner = st__apply_narrow(
    &c, st__apply_narrow(&c, both, -2, 0, n), -1, n, n);
  return st__scope_return(&c, corner, rets);
}
