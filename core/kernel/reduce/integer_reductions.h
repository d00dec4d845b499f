/* The reductions FAMILY_u8 to FAMILY_u64. The other parameters are those of
 * reduction_template.h.
 */

#define T u8
#include "kernel/reduce/reduction_template.h"
#define T i8
#include "kernel/reduce/reduction_template.h"
#define T i16
#include "kernel/reduce/reduction_template.h"
#define T i32
#include "kernel/reduce/reduction_template.h"
#define T i64
#include "kernel/reduce/reduction_template.h"
#define T u16
#include "kernel/reduce/reduction_template.h"
#define T u32
#include "kernel/reduce/reduction_template.h"
#define T u64
#define ENDS_FAMILY
#include "kernel/reduce/reduction_template.h"
