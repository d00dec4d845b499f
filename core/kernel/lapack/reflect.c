/* Householder's reflections of a block of columns: G. H. Golub, C. F. Van Loan,
 * "Matrix Computations", 4th edition, 5.1 and 5.2. A reflection is I - tau v v'
 * with v[0] = 1; v's other elements take the place of those they make zero.
 *
 * Numbers are summed in lines of 64 bytes, whose parts are added up at last: so
 * the sums are those of any vectors.
 */

#include "kernel/lapack/reflect.h"

#include <stdbool.h>
#include <string.h>

#include "kernel/lapack/number_types.h"
#include "kernel/lapack/panel.h"

/* Vectors of a line. */
enum { LINE = 64 / BYTES };

/* Sums of squares are accurate from LEAST on, and finite up to MOST. STEEP: the
 * greatest power of two to scale by. */
#define LEAST_f4 0x1p-90f
#define LEAST_c4 LEAST_f4
#define LEAST_f8 0x1p-900
#define LEAST_c8 LEAST_f8
#define MOST_f4 0x1p100f
#define MOST_c4 MOST_f4
#define MOST_f8 0x1p900
#define MOST_c8 MOST_f8
#define STEEP_f4 100
#define STEEP_c4 STEEP_f4
#define STEEP_f8 1000
#define STEEP_c8 STEEP_f8
#define TEMPLATE "kernel/lapack/reflect_template.h"
#include "kernel/lapack/each_number.h"

static const st_kernel_row rows[] = {ST_NUMBERS(reflect_panel),
                                     ST_NUMBERS(reflect_factor),
                                     ST_NUMBERS(multiply_hermitian),
                                     ST_NUMBERS(subtract_columns),
                                     ST_NUMBERS(column_dots)};

ST_EXPORT(st__reflect, rows)
