/* The expressions of the kernels as text, from the rows of the .def files.
 */

#include "kernel/source.h"

#include <string.h>

#include "kernel/dtype_tags.h"
#include "kernel/expression.h"
#include "kernel/polynomials.h"

typedef struct source {
  uint16_t id;
  uint32_t dtypes;          /* a bit set */
  const char *text;
} source;

_Static_assert(ST_DTYPE_ALL <= 32, "source.dtypes has a bit for each dtype");

#define BIT(tag, ...) | 1u << ST_DTYPE_##tag
#define BIT_LOOP BIT
#define BIT_SAME BIT
#define BIT_MATH BIT
#define BIT_PLAIN BIT
#define BIT_ANGLE BIT
#define BIT_HALF BIT
#define BIT_QUICK BIT
#define BIT_PAIR(tag, ...) /* fused operators call kernels of these */
/* Lists that are defined in single kernel sources. */
#undef ST_LIST_TO_REAL
#define ST_LIST_TO_REAL(M, ...)
#define ST_LIST_AS_HALF(M, ...)
#define ST_LIST_MODULO(M, ...)
#define ST_LIST_BITS ST_LIST_ALL
#undef ST_LIST_FLOAT8 /* as BIT_PAIR */
#define ST_LIST_FLOAT8(M, ...)
#undef ST_LIST_PACKED
#define ST_LIST_PACKED(M, ...)

/* What CLAMP of ternary.c computes. */
#define CLAMP(x, low, high) FIRST_NAN(x, low, AT_MOST(AT_LEAST(x, low), high))
#undef INFINITY /* the parser knows these names */
#undef NAN
#define F(name) st_##name
#define PLAIN(name) st_##name

#define TEXT(...) #__VA_ARGS__
#define ROW(name, list, ...) \
  {ST_K_##name, (uint32_t)(0 ST_LIST_##list(BIT, 0)), TEXT(__VA_ARGS__)},

static const source sources[] = {
#define ST_UNARY(name, grain, list, ...) ROW(name, list, __VA_ARGS__)
#define ST_UNARY_MORE ST_UNARY
#define ST_PREDICATE ST_UNARY
#define ST_PREDICATE_MORE ST_UNARY
#include "kernel/elementwise/unary.def"
#undef ST_UNARY
#define ST_BINARY(name, grain, list, ...) ROW(name, list, __VA_ARGS__)
#define ST_BINARY_MORE ST_BINARY
#define ST_COMPARE ST_BINARY
#define ST_COMPARE_MORE ST_BINARY
#include "kernel/elementwise/binary.def"
#undef ST_BINARY
#undef ST_COMPARE
#define ST_COPY(a, tag, id, bytes)
#define ST_LOOPS(name, grain, pattern, list, ...) ROW(name, list, __VA_ARGS__)
#define ST_LOOPS_MORE ST_LOOPS
#include "kernel/elementwise/ternary.def"
#define ST_LOOPS_MORE ST_LOOPS
#include "kernel/elementwise/backward.def"
#undef ST_LOOPS
#define ST_LOOPS(name, grain, pattern, first, second, side, ...) \
  ROW(name, WIDE, __VA_ARGS__)
#include "kernel/elementwise/fused_pairs.def"
#undef ST_LOOPS
};

/* -- Functions ------------------------------------------------------------ */

#define EXACT_FMA FMA
#define ST_FUNCTION(name, params, ...) \
  {#name, WIDTH, #params, TEXT(__VA_ARGS__)},
#define POLYNOMIAL(p, x, name) POLYNOMIAL_TAG(p, x, name)

static const st_function_source functions[] = {
#define WIDTH 4
#define K(f4, f8) f4##f
#define KU(f4, f8) f4##u
#define POLYNOMIAL_TAG(p, x, name) name##_f4(p, x)
#include "kernel/math/functions.def"
#undef WIDTH
#undef K
#undef KU
#undef POLYNOMIAL_TAG
#define WIDTH 8
#define K(f4, f8) f8
#define KU(f4, f8) f8##u
#define POLYNOMIAL_TAG(p, x, name) name##_f8(p, x)
#include "kernel/math/functions.def"
};

const st_function_source *st__function_source(const char *name, int width) {
  const int n = sizeof functions / sizeof *functions;
  for (int i = 0; i < n; i++) {
    const st_function_source *f = &functions[i];
    if (f->width == width && strcmp(f->name, name) == 0) return f;
  }
  return NULL;
}

/* -- Kernels -------------------------------------------------------------- */

enum { NSOURCES = sizeof sources / sizeof *sources };

const char *st__kernel_source(st_kernel_key kernel) {
  for (int i = 0; i < NSOURCES; i++) {
    const source *s = &sources[i];
    if (s->id == kernel.id && s->dtypes >> kernel.dtype & 1) return s->text;
  }
  return NULL;
}
