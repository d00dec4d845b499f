/* Expressions on the device "example": a loop over the elements of a plan, and
 * over the operations for each of them. A real device would print the
 * operations as source, and compile that.
 */

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

static atomic_int loops;

int64_t example_loops(void) { return loops; }

typedef struct code {
  st_expression e;
  st_vector_op ops[];
} code;

/* Elements are float32, float64 and bool; the CPU computes with others. */
static bool is_known(const st_vector_op *op) {
  if (op->code == ST_V_FLOAT || op->code == ST_V_HALF) return false;
  return (op->code != ST_V_LOAD && op->code != ST_V_STORE) ||
         op->dtype == ST_FLOAT32 || op->dtype == ST_FLOAT64 ||
         op->dtype == ST_BOOL;
}

st_status example_compile(void *ctx, const st_expression *e, void **out) {
  const size_t bytes = (size_t)e->nops * sizeof *e->ops;
  (void)ctx;
  for (int i = 0; i < e->nops; i++) {
    if (!is_known(&e->ops[i])) return ST_NO_KERNEL;
  }
  code *c = malloc(sizeof *c + bytes);
  if (!c) return st_fail(ST_NO_MEMORY, "out of memory");
  c->e = *e;
  memcpy(c->ops, e->ops, bytes);
  *out = c;
  return ST_OK;
}

void example_release_code(void *ctx, void *c) {
  (void)ctx;
  free(c);
}

/* -- Lanes ---------------------------------------------------------------- */

static double number(int width, uint64_t bits) {
  const uint32_t low = (uint32_t)bits;
  float f;
  double d;
  memcpy(&f, &low, sizeof f);
  memcpy(&d, &bits, sizeof d);
  return width == 4 ? f : d;
}

/* Sums, products, quotients and roots of floats that are rounded to double and
 * then to float are rounded as if once. */
static uint64_t bits_of(int width, double x) {
  const float f = (float)x;
  uint32_t low;
  uint64_t bits;
  memcpy(&low, &f, sizeof low);
  memcpy(&bits, &x, sizeof bits);
  return width == 4 ? low : bits;
}

static uint64_t ones(int width) { return width == 4 ? UINT32_MAX : UINT64_MAX; }

static bool holds(int predicate, double x, double y) {
  switch (predicate) {
    case ST_V_EQ: return x == y;
    case ST_V_NE: return x != y;
    case ST_V_LT: return x < y;
    case ST_V_LE: return x <= y;
    case ST_V_GE: return x >= y;
    default:      return x > y;
  }
}

static double rounded(int how, double x) {
  return how == ST_V_EVEN ? nearbyint(x) : how == ST_V_FLOOR ? floor(x)
       : how == ST_V_CEIL ? ceil(x) : trunc(x);
}

/* What an operation on numbers gives. */
static double on_numbers(const st_vector_op *op, int width, double x, double y,
                         double z) {
  switch (op->code) {
    case ST_V_ADD:  return x + y;
    case ST_V_SUB:  return x - y;
    case ST_V_MUL:  return x * y;
    case ST_V_DIV:  return x / y;
    case ST_V_SQRT: return sqrt(x);
    case ST_V_FMA:
      return width == 4 ? fmaf((float)x, (float)y, (float)z) : fma(x, y, z);
    default:        return rounded(op->imm, x);
  }
}

/* What an operation gives for the bits of its operands. */
static uint64_t apply(const st_vector_op *op, int width, uint64_t a, uint64_t b,
                      uint64_t c) {
  const double x = number(width, a), y = number(width, b);
  switch (op->code) {
    case ST_V_MIN:     return x < y ? a : b;
    case ST_V_MAX:     return x > y ? a : b;
    case ST_V_COMPARE: return holds(op->imm, x, y) ? ones(width) : 0;
    case ST_V_AND:     return a & b;
    case ST_V_AND_NOT: return ~a & b;
    case ST_V_OR:      return a | b;
    case ST_V_XOR:     return a ^ b;
    case ST_V_SELECT:  return c ? a : b;
    case ST_V_INT_ADD: return (a + b) & ones(width);
    case ST_V_INT_SUB: return (a - b) & ones(width);
    case ST_V_SHIFT_LEFT:  return a << op->imm & ones(width);
    case ST_V_SHIFT_RIGHT: return a >> op->imm;
    case ST_V_COPY:        return a;
    default:
      return bits_of(width, on_numbers(op, width, x, y, number(width, c)));
  }
}

/* -- The loop ------------------------------------------------------------- */

/* A run: where the operands are; scalars of the CPU are copied to `scalar`. */
typedef struct run {
  const code *c;
  const st_scalar *params;
  uint64_t *values;
  char *at[16];
  uint64_t scalar[16];
} run;

static double to_double(st_scalar s) {
  return s.kind == ST_SCALAR_FLOAT ? s.u.f
       : s.kind == ST_SCALAR_UINT ? (double)s.u.u : (double)s.u.i;
}

static uint64_t load(int width, st_dtype dtype, const char *p) {
  uint64_t bits = 0;
  const int own = dtype == ST_FLOAT32 ? 4 : 8;
  if (dtype == ST_BOOL) return *p ? ones(width) : 0;
  memcpy(&bits, p, (size_t)own);
  return own == width ? bits : bits_of(width, number(own, bits));
}

static void store(int width, st_dtype dtype, uint64_t bits, char *p) {
  const int own = dtype == ST_FLOAT32 ? 4 : 8;
  if (dtype == ST_BOOL) {
    *p = bits != 0;
    return;
  }
  if (own != width) bits = bits_of(own, number(width, bits));
  memcpy(p, &bits, (size_t)own);
}

static void evaluate(const run *r, char *const *p) {
  const int width = r->c->e.width;
  uint64_t *v = r->values;
  for (int i = 0; i < r->c->e.nops; i++) {
    const st_vector_op *op = &r->c->ops[i];
    if (op->code == ST_V_LOAD) {
      v[i] = load(width, op->dtype, p[op->slot]);
    } else if (op->code == ST_V_CONST) {
      v[i] = op->bits;
    } else if (op->code == ST_V_PARAM) {
      v[i] = bits_of(width, to_double(r->params[op->imm]));
    } else if (op->code != ST_V_STORE) {
      v[i] = apply(op, width, op->a < 0 ? 0 : v[op->a],
                   op->b < 0 ? 0 : v[op->b], op->c < 0 ? 0 : v[op->c]);
    } else {
      store(width, op->dtype, v[op->a], p[op->slot]);
    }
  }
}

/* The n0 x n1 elements of one step of the plan. */
static void run_step(const run *r, const st_plan *plan, const int64_t size[2],
                     const int64_t *offset) {
  const int n = r->c->e.noperands, ndim = st_plan_facts_of(plan).ndim;
  char *p[16];
  for (int64_t j = 0; j < size[1]; j++) {
    for (int64_t i = 0; i < size[0]; i++) {
      for (int k = 0; k < n; k++) {
        const int64_t *stride = st_plan_strides(plan, k);
        p[k] = r->at[k] + offset[k] + (ndim > 0 ? i * stride[0] : 0) +
               (ndim > 1 ? j * stride[1] : 0);
      }
      evaluate(r, p);
    }
  }
}

static st_status locate(run *r, const st_plan *plan, int k) {
  const st_place place = st_plan_place(plan, k);
  st_plan_operand o;
  st_scalar s;
  r->at[k] = place.block ? example_address(&place) : (char *)&r->scalar[k];
  if (place.block) return ST_OK;
  TRY(st_plan_operand_info(plan, k, &o));
  TRY(st_plan_get(plan, k, 0, &s));
  store(8, o.seen_as, bits_of(8, to_double(s)), (char *)&r->scalar[k]);
  return ST_OK;
}

st_status example_run(void *ctx, int device, void *program, const st_plan *plan,
                      const st_scalar *params) {
  run r = {.c = program, .params = params};
  const int64_t n = st_plan_facts_of(plan).numel;
  int64_t size[2], offset[16];
  (void)ctx, (void)device;
  for (int k = 0; k < r.c->e.noperands; k++) TRY(locate(&r, plan, k));
  r.values = malloc((size_t)r.c->e.nops * sizeof *r.values);
  if (!r.values) return st_fail(ST_NO_MEMORY, "out of memory");
  for (int64_t k = 0; st_plan_step(plan, 0, n, k, size, offset); k++) {
    run_step(&r, plan, size, offset);
  }
  free(r.values);
  loops++;
  return ST_OK;
}
