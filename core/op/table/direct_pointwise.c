/* Small pointwise calls without an iterator (Z8).
 *
 * Note [Direct calls]
 * Most calls of a script have operands of one dtype and one shape, contiguous
 * and small. Then the iterator would find one dimension, no cast and no
 * overlap, and run the kernel's loop once. A direct call does that at once: it
 * checks these conditions, allocates the output and calls the loop. It writes
 * the same bits. A call that does not meet a condition, or that would fail,
 * takes the usual path, which has all the checks and messages.
 *
 * One operand may be a number, as a Scalar or wrapped as a 0-dim tensor, if it
 * does not change the result's dtype; it is converted by the loop that the
 * iterator would use. STRIDED_SHORTCUTS=0 in the environment disables direct
 * calls, to compare them with the usual path.
 */

#include "op/table/register.h"

#include <string.h>

#include "os/stack.h"
#include "kernel/kernel.h"
#include "op/elementwise/pointwise.h"

enum { MAX_INPUTS = 3 };

/* -- Rows ----------------------------------------------------------------- */

static bool has_alpha(const st_op_row *row) {
  return row->meta == st__add_meta;
}

int st__direct_inputs(const st_op_row *row, const st_schema *s,
                      st_variant variant) {
  if (!st_has_shortcuts()) return 0;
  const int nargs = s->nargs - (variant == ST_OUT) - has_alpha(row);
  if (row->kind != ST_KIND_POINTWISE && !has_alpha(row)) return 0;
  if (row->meta != st__pointwise_meta && !has_alpha(row)) return 0;
  if (nargs < 1 || nargs > MAX_INPUTS || s->nrets != 1) return 0;
  for (int i = 0; i < nargs; i++) {
    const st_arg *a = &s->args[i];
    if (a->list || a->optional) return 0;
    if (a->type != ST_TYPE_TENSOR && !st__is_scalar_operand(a)) return 0;
  }
  return nargs;
}

/* -- Operands ------------------------------------------------------------- */

typedef struct operands {
  const st_tensor *like;  /* an operand that is no number */
  int number;             /* the index of the operand that is one, or -1 */
} operands;

/* True if t's elements lie in the CPU's memory, contiguous. */
static bool is_contiguous(const st_tensor *t) {
  return t->device == ST_DEVICE_CPU && t->flags & ST_FLAG_CONTIGUOUS &&
         !st__lacks_memory(t);
}

static bool is_like(const st_tensor *t, const st_tensor *like) {
  return t->dtype == like->dtype && t->numel == like->numel &&
         t->ndim == like->ndim && is_contiguous(t) &&
         st__same_dims(t->ndim, t->sizes, like->sizes) &&
         st__same_dims(t->ndim, t->strides, like->strides);
}

static st_scalar_kind category(st_dtype d) {
  return st__is_complex(d) ? ST_SCALAR_COMPLEX
       : st__is_floating(d) ? ST_SCALAR_FLOAT
       : d == ST_BOOL ? ST_SCALAR_BOOL : ST_SCALAR_INT;
}

static bool is_number(const st_value *v) {
  return v->tag != ST_TAG_TENSOR || v->u.tensor->flags & ST_FLAG_WRAPPED;
}

/* The dtype of a number before its conversion. */
static st_dtype number_dtype(const st_value *v) {
  return v->tag == ST_TAG_TENSOR ? v->u.tensor->dtype
                                 : st__widest_dtype(st__scalar_of(v).kind);
}

static bool find_operands(const st_value *args, int n, operands *o) {
  o->like = NULL;
  o->number = -1;
  for (int i = 0; i < n; i++) {
    const st_tensor *t = args[i].u.tensor;
    if (is_number(&args[i])) {
      if (o->number >= 0) return false;
      if (args[i].tag == ST_TAG_TENSOR && !is_contiguous(t)) return false;
      o->number = i;
    } else if (!o->like) {
      /* the iterator's output may keep the stride of a size of 1 */
      if (!is_contiguous(t) || !st__has_new_strides(t)) return false;
      o->like = t;
    } else if (!is_like(t, o->like)) {
      return false;
    }
  }
  if (!o->like || o->number < 0) return o->like != NULL;
  return category(number_dtype(&args[o->number])) <= category(o->like->dtype);
}

/* True if each input is either the same memory as out or disjoint from it. */
static bool is_safe(const st_tensor *out, const st_value *args, int n,
                    const operands *o) {
  const size_t bytes = (size_t)out->numel * st__itemsize(out->dtype);
  const uintptr_t to = (uintptr_t)st__data(out);
  for (int i = 0; i < n; i++) {
    const st_tensor *t = args[i].u.tensor;
    if (i == o->number) continue;
    const size_t read = (size_t)t->numel * st__itemsize(t->dtype);
    const uintptr_t from = (uintptr_t)st__data(t);
    if (from == to && t->dtype == out->dtype) continue;
    if (from < to + bytes && to < from + read) return false;
  }
  return true;
}

/* -- The call ------------------------------------------------------------- */

/* The given output of the call if it can be written as it is, else NULL. */
static st_tensor *given_output(const st_structured_ctx *ctx,
                               const st_value *args, int n, const operands *o,
                               st_dtype d) {
  const int at = ctx->variant == ST_INPLACE ? 0 : n + has_alpha(ctx->row);
  st_tensor *t = args[at].u.tensor;
  if (args[at].tag != ST_TAG_TENSOR) return NULL;
  return t->dtype == d && !(t->flags & ST_FLAG_WRAPPED) && is_contiguous(t) &&
         st__has_sizes(t, o->like->ndim, o->like->sizes) &&
         is_safe(t, args, n, o) ? t : NULL;
}

/* Writes the number as an element of dtype d. */
static void convert(const st_value *v, st_dtype d, char *element) {
  static const int64_t strides[4];
  _Alignas(16) char wide[16];
  char *from = wide;
  const st_dtype dtype = number_dtype(v);
  if (v->tag == ST_TAG_TENSOR) from = st__data(v->u.tensor);
  else st__scalar_store(st__scalar_of(v), dtype, wide);
  st__copy_kernel(d, dtype)((char *[]){element, from}, strides, 1, 1, NULL);
}

static void run(st_loop loop, st_tensor *out, const st_value *args, int n,
                const operands *o) {
  static const st_params none;
  _Alignas(16) char number[16];
  int64_t strides[2 * (MAX_INPUTS + 1)] = {0};
  char *data[MAX_INPUTS + 1] = {st__data(out)};
  strides[0] = (int64_t)st__itemsize(out->dtype);
  for (int i = 0; i < n; i++) {
    const st_tensor *t = args[i].u.tensor;
    if (i == o->number) {
      convert(&args[i], o->like->dtype, number);
      data[i + 1] = number;
    } else {
      data[i + 1] = st__data(t);
      strides[i + 1] = (int64_t)st__itemsize(t->dtype);
    }
  }
  loop(data, strides, out->numel, 1, &none);
}

/* True if the kernel's result for these operands is that of the operator. */
static bool is_exact(const st_op_row *row, const st_value *args, int n,
                     const operands *o) {
  const st_dtype d = o->like->dtype;
  if (o->number >= 0 &&
      st__widens_number(row->kernel, o->number, d,
                        number_dtype(&args[o->number]))) {
    return false;
  }
  if (has_alpha(row)) { /* alpha must be 1, and sub refuses bool */
    const st_value *alpha = &args[n];
    return alpha->tag == ST_TAG_INT && alpha->u.i == 1 && d != ST_BOOL &&
           (o->number < 0 || number_dtype(&args[o->number]) != ST_BOOL);
  }
  return !(row->iter_flags & ST_ITER_INT_TO_FLOAT) ||
         category(d) >= ST_SCALAR_FLOAT;
}

bool st__direct_call(const st_structured_ctx *ctx, const st_value *args,
                     st_value *rets, st_status *status) {
  const st_op_row *row = ctx->row;
  const int n = ctx->direct_inputs;
  operands o;
  if (!find_operands(args, n, &o)) return false;
  const st_dtype d = o.like->dtype;
  const st_dtype to = row->iter_flags == ST_ITER_COMPARE ? ST_BOOL : d;
  const st_loop loop = st__kernel(row->kernel, d);
  if (!loop || o.like->numel == 0 ||
      o.like->numel > st__kernel_grain(row->kernel) ||
      !is_exact(row, args, n, &o) || !st__stack_is_large()) {
    return false;
  }
  st_tensor *out;
  if (ctx->variant != ST_FUNCTIONAL) {
    out = given_output(ctx, args, n, &o, to);
    if (!out) return false;
    st__tensor_retain(out);
  } else {
    *status = st__tensor_like(o.like, to, &out);
    if (*status != ST_OK) return true;
  }
  run(loop, out, args, n, &o);
  rets[0] = st__of_tensor(out);
  *status = ST_OK;
  return true;
}
