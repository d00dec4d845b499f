/* Kernels with two inputs and a bool result.
 */

#include "kernel/elementwise/elementwise_loops.h"

#define ST_BINARY(name, ...)
#define ST_BINARY_MORE(name, ...)
#define ST_COMPARE(name, grain, list, ...) \
  ST_LIST_##list(ST_COMPARE, name, __VA_ARGS__)
#define ST_COMPARE_MORE ST_COMPARE
#include "kernel/elementwise/binary.def"
#undef ST_COMPARE

/* Whether bcomplex32 is zero; beyond PyTorch. */
ST_LIST_BCOMPLEX(ST_COMPARE, logical_and, )
ST_LIST_BCOMPLEX(ST_COMPARE, logical_or, )
ST_LIST_BCOMPLEX(ST_COMPARE, logical_xor, )

static const st_kernel_row rows[] = {
  {"logical_and", {ST_BY_TAG(BCOMPLEX, logical_and)}},
  {"logical_or", {ST_BY_TAG(BCOMPLEX, logical_or)}},
  {"logical_xor", {ST_BY_TAG(BCOMPLEX, logical_xor)}},
#define ST_BINARY_MORE(name, ...)
#define ST_COMPARE(name, grain, list, ...) \
  {#name, {ST_LIST_##list(ST_SLOT, name, __VA_ARGS__)}},
#define ST_COMPARE_MORE ST_COMPARE
#include "kernel/elementwise/binary.def"
};

ST_EXPORT(st__compare, rows)
