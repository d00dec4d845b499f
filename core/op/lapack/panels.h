/* Factors of panels, by the kernels of kernel/lapack/panel.h and
 * kernel/lapack/reflect.h. */
#ifndef ST_OP_LAPACK_PANELS_H
#define ST_OP_LAPACK_PANELS_H

#include "kernel/lapack/panel.h"
#include "op/lapack/part.h"

/* Factors a panel of at most ST_PANEL columns in place; returns info. other:
 * the pivots of lu_panel, in rows of the panel, the tau of reflect_panel, or
 * NULL. scratch: st__panel_bytes of the matrix that the panel is of. */
blasint st__factor_panel(const st_lapack_job *j, st_kernel_id kernel,
                         const st_part *a, void *other, char *scratch);
int64_t st__panel_bytes(st_dtype dtype, int64_t m, int64_t n);

/* Bytes from column to column of scratch for panels of m rows. */
int64_t st__panel_pitch(int64_t size, int64_t m);

#endif
