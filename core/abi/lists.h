/* Arguments of list types and of optional types in C. strided.h includes this
 * file, and the build flattens it in.
 */
#ifndef ST_ABI_LISTS_H
#define ST_ABI_LISTS_H

#include "abi/types.h"

typedef struct st_tensors { st_tensor **p; uint32_t n; } st_tensors;
typedef struct st_ints { const int64_t *p; uint32_t n; } st_ints;
typedef struct st_floats { const double *p; uint32_t n; } st_floats;
typedef struct st_bools { const bool *p; uint32_t n; } st_bools;
typedef struct st_string { const char *s; uint32_t n; } st_string;
typedef struct st_opt_int { bool has; int64_t i; } st_opt_int;
typedef struct st_opt_float { bool has; double f; } st_opt_float;
typedef struct st_opt_bool { bool has, b; } st_opt_bool;
typedef struct st_opt_scalar { bool has; st_scalar s; } st_opt_scalar;
typedef struct st_opt_ints { bool has; st_ints v; } st_opt_ints;

#endif
