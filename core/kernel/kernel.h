/* Kernels by id: loops over pointers and byte strides, for the rest of the
 * library.
 *
 * Note [Kernel tables]
 * Each kernel source is compiled once per instruction set and exports one
 * table, whose rows hold the name of a kernel and a loop per dtype. When the
 * library is loaded, the names are looked up, and the tables of the instruction
 * set in use and of those that it stands on (os/isa.def) are copied into one
 * array, from base upwards, so that later ones replace earlier ones. st__kernel
 * reads that array.
 */
#ifndef ST_KERNEL_KERNEL_H
#define ST_KERNEL_KERNEL_H

#include "os/cpu.h"
#include "kernel/dtype_tables.h"

/* Kernels by name, one enumerator per row of the .def files. */
typedef enum st_kernel_id {
  ST_K_NONE,
#define ROW(name, ...) ST_K_##name,
#include "kernel/kernels.def"
  ST_K_COUNT
} st_kernel_id;

/* A kernel and the common dtype that selects its loop. */
typedef struct st_kernel_key {
  uint16_t id;    /* st_kernel_id */
  uint8_t dtype;
} st_kernel_key;

/* The loop of a kernel for a common dtype, or NULL if it has none. */
st_loop st__kernel(st_kernel_id id, st_dtype dtype);
/* The same of a kernel that is a task, a row ST_TASKS of a .def file. */
st_task st__task(st_kernel_id id, st_dtype dtype);
/* The kernel name of a loop; "?" for any other function. */
const char *st__loop_name(st_loop loop);
/* The instruction set that the loops of a kernel were compiled for (U1). */
st_isa_level st__kernel_isa(st_kernel_id id);
/* True if multiply-adds of the kernels in use are fused. */
bool st__kernels_have_fma(void);
/* Least number of elements worth a thread: 32768 for cheap kernels, less for
 * costly ones. */
int64_t st__kernel_grain(st_kernel_id id);

/* The loop that converts src elements to dst elements (Y6). */
st_loop st__copy_kernel(st_dtype dst, st_dtype src);
/* The key of that loop. */
extern const uint16_t st__copy_ids[ST_DTYPE_ALL]; /* st_kernel_id, by dst */
static inline st_kernel_key st__copy_key(st_dtype dst, st_dtype src) {
  return (st_kernel_key){st__copy_ids[dst], (uint8_t)src};
}

static inline bool st__is_kernel(st_kernel_key k, st_kernel_id id,
                                 st_dtype dtype) {
  return k.id == id && k.dtype == dtype;
}

#endif
