/* OpenBLAS, loaded on first use (Note [Loading OpenBLAS]). */
#ifndef ST_OP_LINALG_BLAS_H
#define ST_OP_LINALG_BLAS_H

#include <cblas.h>

#include "abi/types.h"

/* ORDER BLAS: the names in blas.c. */
typedef struct st_blas {
  __typeof__(&cblas_sgemm) sgemm;
  __typeof__(&cblas_dgemm) dgemm;
  __typeof__(&cblas_cgemm) cgemm;
  __typeof__(&cblas_zgemm) zgemm;
  __typeof__(&cblas_sgemv) sgemv;
  __typeof__(&cblas_dgemv) dgemv;
  __typeof__(&cblas_cgemv) cgemv;
  __typeof__(&cblas_zgemv) zgemv;
  __typeof__(&openblas_get_num_threads) get_num_threads;
  __typeof__(&openblas_set_num_threads) set_num_threads;
} st_blas;

/* Starts one call on `threads` threads; st__blas_leave ends it. BAD_STATE,
 * with the dynamic linker's message, if the library cannot be loaded;
 * NO_MEMORY if there is no memory for its buffers. */
st_status st__blas_enter(int threads, const st_blas **out);
void st__blas_leave(void);
/* Another function of the library, between these two; NULL if it has none of
 * that name. */
void *st__blas_function(const char *name);

#endif
