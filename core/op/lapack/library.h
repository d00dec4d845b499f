/* The LAPACK of the system, loaded on first use: Note [Loading LAPACK].
 */
#ifndef ST_OP_LAPACK_LIBRARY_H
#define ST_OP_LAPACK_LIBRARY_H

#include <stddef.h>

#include "abi/types.h"

/* LAPACK's integers. */
typedef int32_t blasint;

/* The functions for one dtype. Pointers to elements are void; the lengths of
 * the texts come last, as Fortran compilers pass them.
 * ORDER LAPACK: the names in library.c. */
typedef struct st_lapack {
  void (*geev)(const char *left, const char *right, const blasint *n, void *a,
               const blasint *lda, void *reals, void *imaginaries, void *vl,
               const blasint *ldvl, void *vr, const blasint *ldvr, void *work,
               const blasint *lwork, blasint *info, size_t, size_t);
  void (*complex_geev)(const char *left, const char *right, const blasint *n,
                       void *a, const blasint *lda, void *values, void *vl,
                       const blasint *ldvl, void *vr, const blasint *ldvr,
                       void *work, const blasint *lwork, void *reals,
                       blasint *info, size_t, size_t);
} st_lapack;

/* Starts one call on `threads` threads, of functions for the dtype;
 * st__library_leave ends it. BAD_STATE, which says what to install, if there is
 * no library; NO_MEMORY if there is no memory for its buffers. */
st_status st__library_enter(st_dtype dtype, int threads,
                            const st_lapack **out);
void st__library_leave(void);
/* Between these two: a function runs on the thread that calls it. */
void st__library_use_one_thread(void);

#endif
