/* The generic meta and impl of elementwise operators, and helpers for others.
 */

#include "op/elementwise/pointwise.h"

#include <string.h>

#include "op/create/copy_clone_to.h"
#include "op/device/device.h"
#include "op/elementwise/result_layout.h"
#include "tensor/memory_format.h"
#include "tensor/view.h"

/* -- Operands ------------------------------------------------------------- */

/* The number of arguments of the functional schema; out= arguments follow. */
static int count_args(const st_run *r) {
  const int n = r->call->schema->nargs;
  return r->variant == ST_OUT ? n - r->nouts : n;
}

bool st__is_scalar_operand(const st_arg *arg) {
  static const char *const names[] = {"other", "self", "exponent", "x", "n"};
  if (arg->type != ST_TYPE_SCALAR) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(arg->name, names[i]) == 0) return true;
  }
  return false;
}

st_dtype st__widest_dtype(st_scalar_kind kind) {
  switch (kind) {
    case ST_SCALAR_BOOL: return ST_BOOL;
    case ST_SCALAR_INT: return ST_INT64;
    case ST_SCALAR_UINT: return ST_UINT64;
    case ST_SCALAR_FLOAT: return ST_FLOAT64;
    default: return ST_COMPLEX128;
  }
}

st_status st__add_scalar(st_inputs *in, st_scalar s) {
  ST_ASSERT(in->n < ST_MAX_INPUTS);
  ST_TRY(st__tensor_from_scalar(s, st__widest_dtype(s.kind), true,
                                &in->t[in->n]));
  in->casts[in->n] = false;
  in->borrowed[in->n++] = false;
  return ST_OK;
}

static void add_tensor(st_inputs *in, st_tensor *t) {
  ST_ASSERT(in->n < ST_MAX_INPUTS);
  in->t[in->n] = t;
  in->casts[in->n] = false;
  in->borrowed[in->n++] = true;
}

void st__release_inputs(st_inputs *in) {
  for (int i = 0; i < in->n; i++) {
    if (!in->borrowed[i]) st__tensor_release(&in->t[i]);
  }
  in->n = 0;
}

st_status st__checked_inputs(st_inputs *in, st_status status) {
  if (status != ST_OK) st__release_inputs(in);
  return status;
}

st_status st__get_inputs(const st_run *r, st_inputs *in) {
  const st_arg *args = r->call->schema->args;
  const int n = count_args(r);
  in->n = 0;
  for (int i = 0; i < n; i++) {
    st_tensor *t = st__arg_tensor(r, i);
    if (t) {
      add_tensor(in, t);
    } else if (st__is_scalar_operand(&args[i])) {
      ST_TRY(st__checked_inputs(
        in, st__add_scalar(in, st__scalar_of(&r->args[i]))));
    }
  }
  return ST_OK;
}

void st__get_self_as(const st_run *r, st_dtype d, st_inputs *in) {
  in->n = 0;
  add_tensor(in, st__arg_tensor(r, 0));
  in->casts[0] = true;
  in->as = d;
}

st_status st__dtype_among(const st_run *r, const st_scalar *s, int n,
                          st_dtype *out) {
  st_inputs in = {.n = 0};
  st_status status = ST_OK;
  add_tensor(&in, st__arg_tensor(r, 0));
  for (int i = 0; i < n && status == ST_OK; i++) {
    status = st__add_scalar(&in, s[i]);
  }
  if (status == ST_OK) {
    status = st__promoted(st__result_type(in.t, in.n), out);
  }
  st__release_inputs(&in);
  return status;
}

/* -- The iterator --------------------------------------------------------- */

st_status st__new_like_self(st_run *r, st_dtype d, st_format format) {
  const st_tensor *self = st__arg_tensor(r, 0);
  int64_t strides[ST_MAX_DIMS];
  if (r->variant != ST_FUNCTIONAL) return ST_OK;
  if (format == ST_FORMAT_PRESERVE) {
    st__preserved_strides(self, strides);
  } else {
    ST_TRY(st__format_strides(self->ndim, self->sizes, format, strides));
  }
  return st__tensor_empty_strided(self->device, d, self->ndim,
                                  self->sizes, strides, &r->out[0]);
}

st_status st__build_pointwise(st_run *r, uint32_t flags, st_inputs *in,
                              st_dtype static_dtype) {
  r->has_iter = true;
  st__iter_init(&r->it, flags | ST_ITER_BORROWED);
  r->it.static_dtype = static_dtype;
  st__iter_output(&r->it, r->out[0] ? r->out[0] : r->given[0], static_dtype);
  for (int i = 0; i < in->n; i++) {
    st__iter_input_as(&r->it, in->t[i], in->casts[i] ? in->as
                                                     : ST_DTYPE_NONE);
    if (!in->borrowed[i]) r->held[r->nheld++] = in->t[i];
  }
  return st__run_iter_build(r);
}

/* -- Kernels -------------------------------------------------------------- */

void st__get_scalars(const st_run *r, st_params *k) {
  const st_arg *args = r->call->schema->args;
  const int n = count_args(r);
  int at = 0;
  memset(k, 0, sizeof *k);
  for (int i = 0; i < n; i++) {
    if (args[i].type == ST_TYPE_TENSOR || args[i].type == ST_TYPE_STRING ||
        st__is_scalar_operand(&args[i])) {
      continue;
    }
    ST_ASSERT(at < (int)(sizeof k->s / sizeof *k->s));
    if (st__is_number(&r->args[i])) k->s[at] = st__scalar_of(&r->args[i]);
    at++;
  }
}

st_status st__check_scalars(const st_run *r) {
  const st_arg *args = r->call->schema->args;
  const int n = count_args(r);
  for (int i = 0; i < n; i++) {
    if (args[i].type == ST_TYPE_SCALAR && st__is_number(&r->args[i]) &&
        !st__is_scalar_operand(&args[i])) {
      ST_TRY(st__check_scalar_arg(r, i, r->it.common_dtype));
    }
  }
  return ST_OK;
}

st_status st__run_kernel(st_run *r, st_kernel_id id, const st_params *k) {
  st_loop loop;
  ST_TRY(st__find_kernel(id, r->it.common_dtype, &loop));
  r->it.kernel = (st_kernel_key){id, r->it.common_dtype};
  if (r->it.device > ST_DEVICE_META) return st__device_loop(&r->it, k);
  return st__iter_map(&r->it, loop, k, st__kernel_grain(id));
}

/* -- Generic -------------------------------------------------------------- */

static st_status build(st_run *r, uint32_t flags, st_dtype static_dtype) {
  st_inputs in;
  ST_TRY(st__get_inputs(r, &in));
  return st__build_pointwise(r, flags, &in, static_dtype);
}

st_status st__unary_meta(st_run *r) {
  return build(r, ST_ITER_UNARY, ST_DTYPE_NONE);
}

st_status st__binary_meta(st_run *r) {
  return build(r, ST_ITER_BINARY, ST_DTYPE_NONE);
}

st_status st__like_self_meta(st_run *r) {
  ST_TRY(st__new_like_self(r, st__arg_tensor(r, 0)->dtype, ST_FORMAT_PRESERVE));
  return st__unary_meta(r);
}

st_status st__contiguous_meta(st_run *r) {
  ST_TRY(st__new_like_self(r, st__arg_tensor(r, 0)->dtype,
                           ST_FORMAT_CONTIGUOUS));
  return st__unary_meta(r);
}

typedef st_status (*layout_fn)(const st_tensor *self, st_tensor **out);

/* Makes the bool result in the layout of Note [Layouts of chains]. */
static st_status new_by_chain(st_run *r, layout_fn layout) {
  const st_tensor *self = st__arg_tensor(r, 0);
  st_tensor *like = NULL;
  if (r->variant != ST_FUNCTIONAL) return ST_OK;
  ST_TRY(layout(self, &like));
  const st_status status = st__tensor_empty_strided(
    self->device, ST_BOOL, self->ndim, self->sizes, like->strides,
    &r->out[0]);
  st__tensor_release(&like);
  return status;
}

static bool is_laid_out_as_new(const st_tensor *self) {
  return self->numel > 0 && st__has_new_strides(self);
}

st_status st__is_float_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_dtype d = self->dtype;
  if (!st__is_floating(d) && !st__is_complex(d)) {
    ST_TRY(st__new_like_self(r, ST_BOOL, ST_FORMAT_PRESERVE));
  } else if (!is_laid_out_as_new(self)) {
    ST_TRY(new_by_chain(r, r->row->kernel == ST_K_isinf ? st__isinf_layout
                                                        : st__isfinite_layout));
  }
  return build(r, ST_ITER_COMPARE | ST_ITER_CAST_OUTPUTS, ST_BOOL);
}

st_status st__isreal_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  st_inputs in = {.n = 0};
  if (st__is_complex(self->dtype)) {
    if (!is_laid_out_as_new(self)) ST_TRY(new_by_chain(r, st__isreal_layout));
    ST_TRY(st__view_imag(st__arg_tensor(r, 0), &in.t[0]));
    in.n = 1;
  } else {
    ST_TRY(st__new_like_self(r, ST_BOOL, ST_FORMAT_PRESERVE));
    ST_TRY(st__get_inputs(r, &in));
  }
  return st__build_pointwise(r, ST_ITER_COMPARE, &in, ST_BOOL);
}

st_status st__isreal_impl(st_run *r) {
  const bool complex = st__is_complex(st__arg_tensor(r, 0)->dtype);
  return st__run_kernel(r, complex ? ST_K_logical_not : ST_K_isreal, NULL);
}

bool st__widens_number(st_kernel_id kernel, int number, st_dtype self,
                       st_dtype other) {
  return (kernel == ST_K_mul || (number == 1 && (kernel == ST_K_div ||
          kernel == ST_K_div_floor || kernel == ST_K_div_trunc))) &&
         st__is_reduced_float(self) && other != self;
}

/* The input that is one element of another dtype and does not change the dtype
 * or the shape of the result; -1 if there is none. */
static int find_wide_number(const st_run *r, const st_inputs *in,
                            st_kernel_id kernel) {
  if (in->n != 2) return -1;
  const int number = st__is_wrapped(in->t[0]) ? 0 : 1;
  const st_tensor *self = in->t[1 - number], *other = in->t[number];
  const st_dtype d = self->dtype;
  const bool can_widen =
    st__widens_number(kernel, number, d, other->dtype) &&
    !st__is_privateuse(self) && !st__is_privateuse(other) &&
    other->numel == 1 && other->ndim <= self->ndim &&
    st__result_type(in->t, in->n).number == d &&
    (r->variant == ST_FUNCTIONAL || r->given[0]->dtype == d);
  return can_widen ? number : -1;
}

_Static_assert(sizeof(st_scalar) <= (ST_RUN_NOTE - 1) * sizeof(int64_t),
               "a note has room for a flag and a scalar");

static bool is_product(st_kernel_id kernel) {
  return kernel == ST_K_mul || kernel == ST_K_div;
}

/* Takes the number out of the iterator, which was built with it: the layout of
 * the result is that of an operator with two operands. */
static st_status build_with_number(st_run *r, uint32_t flags, st_inputs *in,
                                   int number) {
  const st_tensor *t = in->t[number];
  const st_scalar value = st__scalar_load(t->dtype, st__data(t));
  ST_TRY(st__build_pointwise(r, flags, in, ST_DTYPE_NONE));
  st__iter_remove_operand(&r->it, r->it.noutputs + number);
  r->note[0] = true;
  memcpy(&r->note[1], &value, sizeof value);
  return ST_OK;
}

/* In a functional call, makes the result as the iterator of the plain operator
 * does. */
static st_status new_by_iterator(st_run *r, uint32_t flags,
                                 const st_inputs *in) {
  if (r->variant != ST_FUNCTIONAL) return ST_OK;
  st__iter_init(&r->it, flags | ST_ITER_BORROWED);
  st__iter_output(&r->it, NULL, ST_DTYPE_NONE);
  for (int i = 0; i < in->n; i++) st__iter_input(&r->it, in->t[i]);
  const st_status status = st__iter_build(&r->it);
  if (status == ST_OK) r->out[0] = st__iter_take_output(&r->it, 0);
  st__iter_release(&r->it);
  return status;
}

static st_status build_in_float32(st_run *r, uint32_t flags, st_inputs *in) {
  if (!r->out[0]) ST_TRY(st__checked_inputs(in, new_by_iterator(r, flags, in)));
  in->casts[0] = in->casts[1] = true;
  in->as = ST_FLOAT32;
  return st__build_pointwise(r, flags & ~(uint32_t)ST_ITER_PROMOTE, in,
                             ST_DTYPE_NONE);
}

st_status st__build_product(st_run *r, uint32_t flags, st_inputs *in,
                            st_kernel_id kernel) {
  const int number = find_wide_number(r, in, kernel);
  r->note[0] = false;
  if (number < 0) return st__build_pointwise(r, flags, in, ST_DTYPE_NONE);
  return is_product(kernel) && !r->is_meta
       ? build_with_number(r, flags, in, number)
       : build_in_float32(r, flags, in);
}

/* Comparisons compute bool, which is cast to the dtype of a given output. */
st_status st__pointwise_meta(st_run *r) {
  const st_kernel_id kernel = r->row->kernel;
  if (is_product(kernel)) {
    st_inputs in;
    ST_TRY(st__get_inputs(r, &in));
    return st__build_product(r, r->row->iter_flags, &in, kernel);
  }
  return r->row->iter_flags != ST_ITER_COMPARE
       ? build(r, r->row->iter_flags, ST_DTYPE_NONE)
       : build(r, ST_ITER_COMPARE | ST_ITER_CAST_OUTPUTS, ST_BOOL);
}

st_status st__run_product(st_run *r, st_kernel_id id) {
  st_params k = {.s = {{0}}};
  if (!r->note[0]) return st__run_kernel(r, id, &k);
  memcpy(&k.s[0], &r->note[1], sizeof k.s[0]);
  return st__run_kernel(r, id == ST_K_mul ? ST_K_mul_number : ST_K_div_number,
                        &k);
}

st_status st__pointwise_impl(st_run *r) {
  st_params k;
  if (is_product(r->row->kernel)) return st__run_product(r, r->row->kernel);
  ST_TRY(st__check_scalars(r));
  st__get_scalars(r, &k);
  return st__run_kernel(r, r->row->kernel, &k);
}

st_status st__shrink_impl(st_run *r) {
  st_params k;
  ST_TRY(st__check_scalars(r));
  st__get_scalars(r, &k);
  ST_TRY(st__round_to_half("lambd", &k.s[0], r->it.common_dtype));
  return st__run_kernel(r, r->row->kernel, &k);
}
