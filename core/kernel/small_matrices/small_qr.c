/* QR factors of small matrices: Note [Small matrices].
 */

#include <math.h>

#include "kernel/small_matrices/small_loops.h"
#include "kernel/unroll.h"

/* Elements beyond LARGE or below TINY are scaled; no float32 is. */
#define LARGE 0x1p500
#define TINY 0x1p-400
#define SCALE 0x1p600

#define SMALL_TEMPLATE "kernel/small_matrices/small_qr_template.h"
#include "kernel/small_matrices/small_types.h"

ST_SMALL_LOOP(qr, f4, 16)
ST_SMALL_LOOP(qr, f8, 8)

static const st_kernel_row rows[] = {ST_SMALL_ROW(qr)};

ST_EXPORT(st__small_qr, rows)
