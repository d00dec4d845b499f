/* The kernels: loops over pointers and byte strides. They cannot fail,
 * allocate, lock or see a tensor.
 *
 * Note [Kernel tables]
 * Each kernel source is compiled once per instruction set and exports one
 * table, whose rows name a kernel and hold a loop per dtype. At load the
 * tables are overlaid in ascending order of instruction sets onto one array,
 * which st__kernel reads.
 */
#ifndef ST_KERNEL_KERNEL_H
#define ST_KERNEL_KERNEL_H

#include "base/cpu.h"
#include "base/dtype.h"

/* The one signature of elementwise, copy and reduction loops.
 *
 * data: one pointer per operand, outputs first. strides: the operands' inner
 * byte strides (one each), then their outer ones. n0 inner and n1 outer
 * steps. ctx: what the operator passes along (a scalar, a pair of bounds).
 * data may be overwritten by the loop. */
typedef void (*st_loop)(char **data, const int64_t *strides, int64_t n0,
                        int64_t n1, const void *ctx);

/* What ctx points to for elementwise kernels: the operator's numbers, in
 * schema order. */
typedef struct st_params { st_scalar s[4]; } st_params;

/* Kernels by name, one enumerator per row of the .def files. */
typedef enum st_kernel_id {
  ST_K_NONE,
#define ROW(name, ...) ST_K_##name,
#include "kernel/kernels.def"
  ST_K_COUNT
} st_kernel_id;

typedef struct st_kernel_row {
  st_kernel_id id;
  st_loop loop[ST_DTYPE_COUNT]; /* by the common dtype; NULL: none */
} st_kernel_row;

typedef struct st_kernel_table {
  const st_kernel_row *rows;
  int n;
} st_kernel_table;

/* st__unary becomes st__unary_avx2 in the AVX2 object, and so on. */
#define ST_ISA_NAME_(name, isa) name##_##isa
#define ST_ISA_NAME2(name, isa) ST_ISA_NAME_(name, isa)
#define ST_ISA_NAME(name) ST_ISA_NAME2(name, ST_KERNEL_ISA)

/* A source's one exported symbol. */
#define ST_EXPORT(name, rows)                                                \
  extern const st_kernel_table ST_ISA_NAME(name);                            \
  const st_kernel_table ST_ISA_NAME(name) = {                                \
    rows, (int)(sizeof rows / sizeof *rows)};

/* The loop of kernel id for a common dtype, or NULL when there is none. */
st_loop st__kernel(st_kernel_id id, st_dtype dtype);
/* The name of the row of a loop; "?" for another function. */
const char *st__loop_name(st_loop loop);
/* The instruction set of those loops (SEMANTICS U1). */
st_isa_level st__kernel_isa(st_kernel_id id);
/* Elements worth a thread: 32768 for cheap kernels, less for costly ones. */
int64_t st__kernel_grain(st_kernel_id id);

/* The loop that converts src elements to dst elements (copy_ rules, Y6). */
st_loop st__copy_kernel(st_dtype dst, st_dtype src);

#endif
