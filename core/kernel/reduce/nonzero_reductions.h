/* The reductions FAMILY_u8 to FAMILY_c128 of x != 0, by the parameters A and
 * OP. int8, uint8 and bool share u8, float16 and bfloat16 f16, complex numbers
 * of two of these pair. Floats of eight bits: float8, if their zeros have two
 * codes; power, if there is no zero. ENDS_AT is the field ends_at of
 * st_reduce_ops; default: 0.
 */

#ifndef ENDS_AT
#define ENDS_AT 0
#endif

#define LOAD SAME
#define MAP NONZERO
#define OPTIONS ANY_ORDER, .ends_at = ENDS_AT

#define T u8
#include "kernel/reduce/reduction_template.h"
#define T i16
#include "kernel/reduce/reduction_template.h"
#define T i32
#include "kernel/reduce/reduction_template.h"
#define T i64
#include "kernel/reduce/reduction_template.h"
#define T f32
#include "kernel/reduce/reduction_template.h"
#define T f64
#include "kernel/reduce/reduction_template.h"
#define T c64
#include "kernel/reduce/reduction_template.h"
#define T c128
#include "kernel/reduce/reduction_template.h"

#undef LOAD
#define LOAD(x) (((x) & 0x7f) != 0)
#define NAME JOIN(FAMILY, float8)
#define T u8
#include "kernel/reduce/reduction_template.h"

#undef LOAD
#define LOAD(x) ((x) | 1)
#define NAME JOIN(FAMILY, power)
#define T u8
#include "kernel/reduce/reduction_template.h"

#undef LOAD
#define LOAD(x) (((x) & 0x7fff7fffu) != 0)
#define NAME JOIN(FAMILY, pair)
#define T uint32_t
#include "kernel/reduce/reduction_template.h"

#undef LOAD
#define LOAD(x) (((x) & 0x7fff) != 0)
#define NAME JOIN(FAMILY, f16)
#define T uint16_t
#define ENDS_FAMILY
#include "kernel/reduce/reduction_template.h"
#undef ENDS_AT
