/* The reductions FAMILY_f32 and FAMILY_f64, and the loops FAMILY_f16 and
 * FAMILY_bf16. The other parameters are those of reduction_template.h.
 */

#define T f32
#define HALVES FAMILY
#include "kernel/reduce/reduction_template.h"
#define T f64
#define ENDS_FAMILY
#include "kernel/reduce/reduction_template.h"
