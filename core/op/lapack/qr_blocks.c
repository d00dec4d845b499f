/* QR factors, and products of their reflections: Note [Decompositions in
 * blocks].
 *
 * The reflections of a block are I - V T V', where V has a unit lower triangle
 * and T is an upper triangle: R. Schreiber, C. Van Loan, "A storage-efficient
 * WY representation for products of Householder transformations", SIAM J. Sci.
 * Stat. Comput. 10, 1989. Applying them takes three products.
 */

#include <string.h>

#include "kernel/lapack/reflect.h"
#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"
#include "op/lapack/panels.h"

/* Columns that a kernel factors, and of a block, within which its panels are
 * applied. */
enum { PANEL = 32, BLOCK = ST_REFLECT };

/* -- Blocks --------------------------------------------------------------- */

/* V, T and their conjugates, which are the same of real dtypes; V' V; what the
 * products leave; a panel. */
typedef struct block {
  st_part v, conj_v, t, conj_t, square, x, y;
  char *panel;
} block;

static int64_t block_of(int64_t k) { return st__smaller(k, BLOCK); }

static int64_t matrix_bytes(st_dtype dtype, int64_t m, int64_t n) {
  return st__whole_lines(m * n * (int64_t)st__itemsize(dtype));
}

int64_t st__qr_bytes(st_dtype dtype, int64_t m, int64_t n, int64_t k) {
  const int64_t width = block_of(k), copies = st__is_complex(dtype) ? 2 : 1;
  return copies * matrix_bytes(dtype, m, width) +
         (copies + 1) * matrix_bytes(dtype, BLOCK, width) +
         2 * matrix_bytes(dtype, width, n) + st__panel_bytes(dtype, m, PANEL);
}

/* m x n with contiguous columns in what *scratch has left. */
static st_part take(const st_lapack_job *j, char **scratch, int64_t m,
                    int64_t n) {
  const st_part a = st__columns_at(*scratch, m, n, m);
  *scratch += matrix_bytes(j->dtype, m, n);
  return a;
}

/* Of k reflections of m elements, which are applied to n columns. */
static block new_block(const st_lapack_job *j, int64_t m, int64_t n, int64_t k,
                       char *scratch) {
  const int64_t width = block_of(k);
  const bool is_complex = st__is_complex(j->dtype);
  block b = {.v = take(j, &scratch, m, width)};
  b.conj_v = is_complex ? take(j, &scratch, m, width) : b.v;
  b.t = take(j, &scratch, BLOCK, width);
  b.conj_t = is_complex ? take(j, &scratch, BLOCK, width) : b.t;
  b.square = take(j, &scratch, BLOCK, width);
  b.x = take(j, &scratch, width, n);
  b.y = take(j, &scratch, width, n);
  b.panel = scratch;
  return b;
}

/* The lower trapezoid of a, with ones on the diagonal, becomes b's V. */
static void load_vectors(const st_lapack_job *j, block *b, const st_part *a) {
  const st_number one = st__number(j, 1);
  const int64_t size = st__size(j);
  b->v = st__columns_at(b->v.p, a->m, a->n, a->m);
  b->conj_v = st__columns_at(b->conj_v.p, a->m, a->n, a->m);
  st__part_copy(j, &b->v, a, false);
  for (int64_t c = 0; c < a->n; c++) {
    memset(st__part_at(j, &b->v, 0, c), 0, (size_t)(c * size));
    memcpy(st__part_at(j, &b->v, c, c), &one, (size_t)size);
  }
  if (b->v.p != b->conj_v.p) st__part_copy(j, &b->conj_v, &b->v, true);
}

/* The reflections in a, with these factors. */
static bool load_block(const st_lapack_job *j, block *b, const st_part *a,
                       const char *tau) {
  const st_part square = st__part(j, &b->square, 0, 0, a->n, a->n);
  const int64_t pitch = BLOCK * st__size(j);
  const int64_t st[] = {0, 0, 0, pitch, pitch, 0};
  load_vectors(j, b, a);
  const st_part adjoint = st__turned(b->conj_v);
  if (!st__part_multiply(j, &square, &adjoint, &b->v, 1, false)) return false;
  b->t.m = b->t.n = b->conj_t.m = b->conj_t.n = a->n;
  st__kernel(ST_K_reflect_factor, j->dtype)(
    (char *[]){b->t.p, square.p, (char *)(uintptr_t)tau}, st, a->n, 1, NULL);
  if (b->t.p != b->conj_t.p) st__part_copy(j, &b->conj_t, &b->t, true);
  return true;
}

/* c -= V op(T) V' c. conjugates: of their conjugates. */
typedef struct application {
  const block *b;
  bool adjoint, conjugates;
} application;

/* The columns of c before `known` are those of an identity matrix. */
static bool apply(const st_lapack_job *j, const application *p,
                  const st_part *c, int64_t known) {
  const block *b = p->b;
  const st_part *v = p->conjugates ? &b->conj_v : &b->v;
  const st_part adjoint = st__turned(p->conjugates ? b->v : b->conj_v);
  const st_part t = p->adjoint
    ? st__turned(p->conjugates ? b->t : b->conj_t)
    : p->conjugates ? b->conj_t : b->t;
  const int64_t width = v->n, rest = c->n - known;
  const st_part x = st__columns_at(b->x.p, width, c->n, width);
  const st_part y = st__columns_at(b->y.p, width, c->n, width);
  const st_part x_known = st__part(j, &x, 0, 0, width, known);
  const st_part x_rest = st__part(j, &x, 0, known, width, rest);
  const st_part top = st__part(j, &adjoint, 0, 0, width, known);
  const st_part c_rest = st__part(j, c, 0, known, c->m, rest);
  st__part_copy(j, &x_known, &top, false);
  return st__part_multiply(j, &x_rest, &adjoint, &c_rest, 1, false) &&
         st__part_multiply(j, &y, &t, &x, 1, false) &&
         st__part_multiply(j, c, v, &y, -1, true);
}

/* -- Factors -------------------------------------------------------------- */

/* The reflections in columns [from, from + width) of a, which begin at row k,
 * are applied to `count` columns after them. */
static bool update(const st_lapack_job *j, block *b, const st_part *a,
                   int64_t k, int64_t width, int64_t count, const char *tau) {
  const st_part left = st__part(j, a, k, k, a->m - k, width);
  const st_part right = st__part(j, a, k, k + width, a->m - k, count);
  const application p = {b, true, false};
  return count == 0 || (load_block(j, b, &left, tau) &&
                        apply(j, &p, &right, 0));
}

bool st__geqrf(const st_lapack_job *j, const st_part *a, char *tau,
               char *scratch) {
  const int64_t all = st__smaller(a->m, a->n), size = st__size(j);
  block b = new_block(j, a->m, a->n, all, scratch);
  for (int64_t k = 0, end; k < all; k = end) {
    end = k + block_of(all - k);
    for (int64_t i = k, width; i < end; i += width) {
      width = st__smaller(end - i, PANEL);
      const st_part panel = st__part(j, a, i, i, a->m - i, width);
      st__factor_panel(j, ST_K_reflect_panel, &panel, tau + i * size, b.panel);
      if (!update(j, &b, a, i, width, end - i - width, tau + i * size)) {
        return false;
      }
    }
    if (!update(j, &b, a, k, end - k, a->n - end, tau + k * size)) return false;
  }
  return true;
}

/* -- Products ------------------------------------------------------------- */

/* Columns [from, to) of a become those of the identity matrix. */
static void set_identity(const st_lapack_job *j, const st_part *a, int64_t from,
                         int64_t to) {
  const st_number one = st__number(j, 1);
  for (int64_t c = from; c < to; c++) {
    memset(st__part_at(j, a, 0, c), 0, (size_t)(a->m * st__size(j)));
    memcpy(st__part_at(j, a, c, c), &one, (size_t)st__size(j));
  }
}

bool st__orgqr(const st_lapack_job *j, const st_part *a, int64_t k,
               const char *tau, char *scratch) {
  block b = new_block(j, a->m, a->n, k, scratch);
  const application p = {&b, false, false};
  set_identity(j, a, k, a->n);
  for (int64_t end = k, from; end > 0; end = from) {
    from = (end - 1) / BLOCK * BLOCK;
    const st_part v = st__part(j, a, from, from, a->m - from, end - from);
    const st_part c = st__part(j, a, from, from, a->m - from, a->n - from);
    if (!load_block(j, &b, &v, tau + from * st__size(j))) return false;
    set_identity(j, a, from, end);
    if (!apply(j, &p, &c, end - from)) return false;
  }
  return true;
}

bool st__ormqr(const st_lapack_job *j, const st_reflections *q,
               const st_part *c, char *scratch) {
  const int64_t k = q->a.n, blocks = (k + BLOCK - 1) / BLOCK;
  block b = new_block(j, q->a.m, c->n, k, scratch);
  const application p = {&b, q->adjoint, q->conjugates};
  for (int64_t i = 0; i < blocks; i++) {
    const int64_t from = (q->adjoint ? i : blocks - 1 - i) * BLOCK;
    const int64_t width = block_of(k - from), rows = q->a.m - from;
    const st_part v = st__part(j, &q->a, from, from, rows, width);
    const st_part rest = st__part(j, c, from, 0, rows, c->n);
    if (!load_block(j, &b, &v, q->tau + from * st__size(j)) ||
        !apply(j, &p, &rest, 0)) {
      return false;
    }
  }
  return true;
}
