/* Includes TEMPLATE for float32, float64, complex64 and complex128: T is the
 * type of a part, of which a number has PARTS, F(name) the name of a function,
 * type or constant, M(name) a function of math.h, V a vector of parts, and
 * FMA(a, b, c) the operation of vectors.h. kernel/lapack/number.h has those of
 * numbers.
 */

#define T float
#define PARTS 1
#define F(name) name##_f4
#define M(name) name##f
#define V v_f4
#define FMA FMA_f4
#define FUSED FUSED_f4
#include "kernel/lapack/number.h"
#include TEMPLATE
#undef PARTS
#undef F
#define PARTS 2
#define F(name) name##_c4
#define NEIGHBOURS ST_BY_WIDTH(NEIGHBOURS_4, NEIGHBOURS_8, NEIGHBOURS_16)
#define INDEX int32_t
#include "kernel/lapack/number.h"
#include TEMPLATE
#undef T
#undef PARTS
#undef F
#undef M
#undef V
#undef FMA
#undef FUSED
#undef NEIGHBOURS
#undef INDEX

#define T double
#define PARTS 1
#define F(name) name##_f8
#define M(name) name
#define V v_f8
#define FMA FMA_f8
#define FUSED FUSED_f8
#include "kernel/lapack/number.h"
#include TEMPLATE
#undef PARTS
#undef F
#define PARTS 2
#define F(name) name##_c8
#define NEIGHBOURS ST_BY_WIDTH(NEIGHBOURS_2, NEIGHBOURS_4, NEIGHBOURS_8)
#define INDEX int64_t
#include "kernel/lapack/number.h"
#include TEMPLATE
#undef T
#undef PARTS
#undef F
#undef M
#undef V
#undef FMA
#undef FUSED
#undef NEIGHBOURS
#undef INDEX

#undef TEMPLATE
