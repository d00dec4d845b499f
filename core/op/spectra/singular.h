/* The singular values of one matrix of any dtype, and what its vectors are
 * products of. */
#ifndef ST_OP_SPECTRA_SINGULAR_H
#define ST_OP_SPECTRA_SINGULAR_H

#include "op/lapack/least_squares.h"
#include "op/spectra/bidiagonal.h"

/* A matrix of m rows and n columns, m >= n, is Q u S vt P', where Q and P are
 * products of reflections: of bidiagonalisation and, if there are many more
 * rows than columns, QR factors before it.
 *
 * d: the values, from the least on. u, vt: n x n and real; column order[i] - 1
 * of u and this row of vt belong to d[i]. */
typedef struct st_singular {
  int64_t m, n;
  char *d, *u, *vt;
  blasint *order;
  bool vectors, is_tall;
  st_part qr, a;
  st_bidiagonal b;
  char *tau_qr, *room;
} st_singular;

/* In scratch, st__singular_bytes; columns: the most that st__singular_left and
 * st__singular_right get. */
st_singular st__new_singular(const st_lapack_job *j, int64_t m, int64_t n,
                             bool vectors, char *scratch);
int64_t st__singular_bytes(st_dtype dtype, int64_t m, int64_t n,
                           int64_t columns, bool vectors);

/* Of `from`, or its conjugate. False: interrupted. info becomes -1 if an
 * element is not finite, else it is that of st__bdsdc; if it is not 0, nothing
 * else is defined. */
__attribute__((warn_unused_result))
bool st__find_singular(const st_lapack_job *j, st_singular *s,
                       const st_part *from, bool conjugates, blasint *info);
/* c, of m or n rows, becomes Q c or P c, or those of the adjoints. */
__attribute__((warn_unused_result))
bool st__singular_left(const st_lapack_job *j, const st_singular *s,
                       const st_part *c, bool adjoint);
__attribute__((warn_unused_result))
bool st__singular_right(const st_lapack_job *j, const st_singular *s,
                        const st_part *c, bool adjoint);

/* The least X of the least ||A X - B||, by singular values: b becomes X as
 * st__gels says. Columns of a and b have no gaps. A value counts if it is
 * greater than rcond times the greatest one, and `least`. */
typedef struct st_singular_solution {
  st_least_squares s;
  double least;
  char *values; /* they become A's, descending */
  blasint *rank, *info; /* info: that of st__find_singular */
} st_singular_solution;

__attribute__((warn_unused_result))
bool st__gelsd(const st_lapack_job *j, const st_singular_solution *p,
               char *scratch);
int64_t st__gelsd_bytes(st_dtype dtype, int64_t m, int64_t n, int64_t columns);

#endif
