/* OpenBLAS, loaded on first use (Note [Loading OpenBLAS]). */
#ifndef ST_OP_LINALG_BLAS_H
#define ST_OP_LINALG_BLAS_H

#include <cblas.h> /* blasint */

#include "abi/types.h"

/* ORDER BLAS: the names in blas.c. */
typedef struct st_blas {
  int (*get_num_threads)(void);
  void (*set_num_threads)(int);
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
