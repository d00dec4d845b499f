/* The steps of scaled_dot_product_attention between its matrix products
 * (kernel/nn/attention.h). A column is computed in the same order whatever the
 * instruction set: rows in blocks of BLOCK, sums of blocks in double.
 */

#include "kernel/nn/attention.h"

#include <math.h>
#include <stdbool.h>

#include "kernel/loop.h"
#include "kernel/math/exp_minus.h"
#include "kernel/unroll.h"

enum { BLOCK = 32, LANES = 16, SIDE = 4 };

#define LARGER(a, b) (((b) > (a)) | ((b) != (b)) ? (b) : (a))

EXP_MINUS(INLINE, f4, float, 128 / (int)sizeof(float)) /* GROUP elements */
EXP_MINUS(INLINE, f8, double, 128 / (int)sizeof(double))

#define T float
#define NAME(name) name##_f4
#include "kernel/nn/attention_template.h"

#define T double
#define NAME(name) name##_f8
#include "kernel/nn/attention_template.h"

static const st_kernel_row rows[] = {
  ST_FLOATS(attention_weights), ST_FLOATS(attention_slopes),
  ST_FLOATS(attention_mask), ST_FLOATS(attention_dots),
};

ST_EXPORT(st__attention, rows)
