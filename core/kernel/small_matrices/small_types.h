/* Includes SMALL_TEMPLATE for each type, for one matrix and for as many as the
 * lanes of a register: the parameters of small_lanes.h, and FABS and SQRT.
 */

#define FABS fabsf
#define SQRT sqrtf
#define T float
#define I int32_t
#define LANES 1
#define TAG f4
#include SMALL_TEMPLATE

#define T float
#define I int32_t
#define LANES 16
#define TAG f4s
#include SMALL_TEMPLATE
#undef FABS
#undef SQRT

#define FABS fabs
#define SQRT sqrt
#define T double
#define I int64_t
#define LANES 1
#define TAG f8
#include SMALL_TEMPLATE

#define T double
#define I int64_t
#define LANES 8
#define TAG f8s
#include SMALL_TEMPLATE
#undef FABS
#undef SQRT
#undef SMALL_TEMPLATE
