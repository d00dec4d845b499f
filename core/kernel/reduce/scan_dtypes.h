/* The scans of one operation, one per dtype. cumsum.c includes this file once
 * per operation, after defining
 *
 *   SCAN(dtype)      the name of the st_loop for a dtype
 *   INT_OP(a, b)     the operation on a running value and an element; likewise
 *                    BOOL_OP, FLOAT_OP, COMPLEX_OP
 *   COMPLEX_LOAD(x)  a complex element as complex128
 *
 * Without INT_OP there are no scans of integers and bool.
 */

#ifdef INT_OP
#define ASSOCIATIVE
/* Integers wrap, so the sign does not matter. */
#define OP INT_OP
#define NAME(f) SCAN(u8##f)
#define T uint8_t
#include "kernel/reduce/scan_template.h"

#define NAME(f) SCAN(i16##f)
#define T uint16_t
#include "kernel/reduce/scan_template.h"

#define NAME(f) SCAN(i32##f)
#define T uint32_t
#include "kernel/reduce/scan_template.h"

#define NAME(f) SCAN(i64##f)
#define T uint64_t
#include "kernel/reduce/scan_template.h"
#undef OP
#undef ASSOCIATIVE

#define OP BOOL_OP
#define NAME(f) SCAN(b8##f)
#define T uint8_t
#define LOAD(x) ((x) != 0)
#include "kernel/reduce/scan_template.h"
#undef OP
#endif

#define OP FLOAT_OP
#define NAME(f) SCAN(f16##f)
#define T uint16_t
#define A double
#define LOAD(x) st__half_to_float(x)
#define STORE(a) st__float_to_half((float)(a))
#define LOAD_ROW st_load_f16
#define STORE_ROW st_store_f16
#include "kernel/reduce/scan_template.h"

#define NAME(f) SCAN(bf16##f)
#define T uint16_t
#define A double
#define LOAD(x) st__bf16_to_float(x)
#define STORE(a) st__float_to_bf16((float)(a))
#define LOAD_ROW st_load_bf16
#define STORE_ROW st_store_bf16
#include "kernel/reduce/scan_template.h"

#define NAME(f) SCAN(f32##f)
#define T float
#define A double
#include "kernel/reduce/scan_template.h"

#define NAME(f) SCAN(f64##f)
#define T double
#include "kernel/reduce/scan_template.h"
#undef OP

#define OP COMPLEX_OP
#define NAME(f) SCAN(c64##f)
#define T c64
#define A c128
#define LOAD COMPLEX_LOAD
#include "kernel/reduce/scan_template.h"

#define NAME(f) SCAN(c128##f)
#define T c128
#define LOAD COMPLEX_LOAD
#include "kernel/reduce/scan_template.h"
#undef OP

#undef SCAN
#undef INT_OP
#undef BOOL_OP
#undef FLOAT_OP
#undef COMPLEX_OP
#undef COMPLEX_LOAD
