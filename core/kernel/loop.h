/* What a kernel source knows of the rest: the signature of its loops, and the
 * table that it exports (Note [Kernel tables]).
 *
 * Kernels cannot fail, and do not allocate, lock or access tensors.
 */
#ifndef ST_KERNEL_LOOP_H
#define ST_KERNEL_LOOP_H

#include "base/dtype.h"

/* The signature of all loops.
 *
 * data: one pointer per operand, outputs first; the loop may overwrite the
 * array. strides: the inner byte stride of each operand, then the outer byte
 * stride of each. n0 and n1: number of inner and outer steps. ctx: further
 * arguments of the operator (a scalar, a pair of bounds). */
#define ST_LOOP_FN(name, strides)                                            \
  void name(__attribute__((unused)) char **data,                             \
            __attribute__((unused)) const int64_t *strides,                  \
            __attribute__((unused)) int64_t n0,                              \
            __attribute__((unused)) int64_t n1,                              \
            __attribute__((unused)) const void *ctx)
typedef ST_LOOP_FN((*st_loop), strides);

/* The signature of tasks, of which ctx says all: no strides and no steps. data
 * and ctx are as those of a loop. */
typedef void (*st_task)(char **data, const void *ctx);

/* The ctx of elementwise kernels: the scalar arguments of the operator, in
 * schema order. */
typedef struct st_params { st_scalar s[4]; } st_params;

/* The name is that of a row of a .def file. A kernel source sees names and not
 * the list of all, so that a new kernel recompiles one source. */
typedef struct st_kernel_row {
  const char *name;
  st_loop loop[ST_DTYPE_COUNT]; /* by common dtype; NULL: not supported */
} st_kernel_row;

typedef struct st_task_row {
  const char *name;
  st_task task[ST_DTYPE_COUNT];
} st_task_row;

/* The kernels of a source are loops, or they are tasks. */
typedef struct st_kernel_table {
  const st_kernel_row *loops;
  const st_task_row *tasks;
  int n;
} st_kernel_table;

/* The kernels of an instruction set. */
typedef struct st_kernel_set {
  const st_kernel_table *const *tables; /* NULL after the last */
  bool has_fma;                         /* ST_HAS_FMA */
} st_kernel_set;

/* st__unary becomes st__unary_avx2 in the AVX2 object, and so on. */
#define ST_ISA_NAME_(name, isa) name##_##isa
#define ST_ISA_NAME2(name, isa) ST_ISA_NAME_(name, isa)
#define ST_ISA_NAME(name) ST_ISA_NAME2(name, ST_KERNEL_ISA)

/* A row of a kernel for float32 and float64: each_float.h. */
#define ST_FLOATS(name) \
  {#name, {[ST_FLOAT32] = name##_f4, [ST_FLOAT64] = name##_f8}}

/* Defines the only exported symbol of a kernel source. */
#define ST_EXPORT(name, rows)                                                \
  extern const st_kernel_table ST_ISA_NAME(name);                            \
  const st_kernel_table ST_ISA_NAME(name) = {                                \
    rows, NULL, (int)(sizeof rows / sizeof *rows)};
#define ST_EXPORT_TASKS(name, rows)                                          \
  extern const st_kernel_table ST_ISA_NAME(name);                            \
  const st_kernel_table ST_ISA_NAME(name) = {                                \
    NULL, rows, (int)(sizeof rows / sizeof *rows)};

#endif
