/* The dtypes of an iterator: promotion, the common dtype, and temporaries for
 * operands of another dtype (P1 to P5, I5).
 */

#include "iter/build.h"

/* -- Promotion ------------------------------------------------------------ */

/* Note [Type promotion categories]
 * Tensors with dimensions outrank 0-dim tensors, which outrank wrapped numbers.
 * An operand of lower rank decides the dtype only if its category (complex,
 * floating, integral, bool) is higher. Each rank is promoted separately, then
 * the results are combined. */
typedef struct ranks { st_dtype dim, zero, wrapped; } ranks;

static st_dtype promote_known(st_dtype a, st_dtype b) {
  if (a == ST_DTYPE_NONE || a == b) return b;
  return b == ST_DTYPE_NONE ? a : st__promote(a, b).number;
}

static st_dtype combine(st_dtype high, st_dtype low) {
  if (st__is_complex(high)) return high;
  if (st__is_complex(low)) {
    return st__promotes_alone(high) ? st__refuses_others(high)
         : st__is_floating(high) ? st__complex_dtype(high) : low;
  }
  if (st__is_floating(high)) return high;
  if (high == ST_BOOL || st__is_floating(low)) return promote_known(high, low);
  return high != ST_DTYPE_NONE ? high : low;
}

/* A wrapped float counts as the default dtype, whatever dtype it is stored
 * in. */
static st_dtype wrapped_dtype(st_dtype d) {
  if (st__is_complex(d)) return st__complex_dtype(st__default_dtype());
  return st__is_floating(d) ? st__default_dtype() : d;
}

static void rank(ranks *r, const st_tensor *t) {
  const st_dtype d = t->dtype;
  if (st__is_wrapped(t)) {
    r->wrapped = promote_known(r->wrapped, wrapped_dtype(d));
  } else if (t->ndim > 0) {
    r->dim = promote_known(r->dim, d);
  } else {
    r->zero = promote_known(r->zero, d);
  }
}

static const ranks no_ranks = {ST_DTYPE_NONE, ST_DTYPE_NONE, ST_DTYPE_NONE};

static st_dtype combine_ranks(const ranks *r) {
  if (r->dim != ST_DTYPE_NONE && r->dim >= ST_NOTHING_PROMOTED) return r->dim;
  if (r->zero != ST_DTYPE_NONE && r->zero >= ST_NOTHING_PROMOTED) {
    return r->zero;
  }
  return combine(r->dim, combine(r->zero, r->wrapped));
}

st_promotion st__result_type(st_tensor *const *tensors, int n) {
  ranks r = no_ranks;
  for (int i = 0; i < n; i++) {
    if (tensors[i]) rank(&r, tensors[i]);
  }
  return (st_promotion){combine_ranks(&r)};
}

static st_promotion inputs_result_type(const st_iter *it) {
  ranks r = no_ranks;
  for (int i = it->noutputs; i < it->noperands; i++) {
    rank(&r, it->op[i].tensor);
  }
  return (st_promotion){combine_ranks(&r)};
}

/* -- Scan of the operands ------------------------------------------------- */

/* The results of one pass over the operands. */
typedef struct dtype_scan {
  st_dtype output;      /* dtype of the first defined output */
  bool inputs_differ, outputs_differ, has_wrapped, has_untyped;
} dtype_scan;

static void add_dtype(st_dtype *first, bool *differ, st_dtype d) {
  if (*first == ST_DTYPE_NONE) *first = d;
  else if (*first != d) *differ = true;
}

/* Sets it->common_dtype to the dtype of the first input. */
static dtype_scan scan_dtypes(st_iter *it) {
  dtype_scan s = {.output = ST_DTYPE_NONE};
  it->device = ST_DEVICE_CPU;
  for (int i = 0; i < it->noperands; i++) {
    st_iter_operand *op = &it->op[i];
    if (!op->tensor) {
      if (op->target == ST_DTYPE_NONE) op->target = it->static_dtype;
      s.has_untyped |= op->target == ST_DTYPE_NONE;
      continue;
    }
    const st_dtype own = op->tensor->dtype;
    op->seen = op->is_output || op->target == ST_DTYPE_NONE ? own : op->target;
    op->target = own;
    if (it->device == ST_DEVICE_CPU) {
      it->device = op->tensor->device;
    }
    if (op->is_output) {
      add_dtype(&s.output, &s.outputs_differ, op->target);
    } else {
      add_dtype(&it->common_dtype, &s.inputs_differ, op->seen);
      s.has_wrapped |= st__is_wrapped(op->tensor);
    }
  }
  return s;
}

static const char *operand_name(const st_iter *it, int i, char buf[24]) {
  const bool out = i < it->noutputs;
  const int n = out ? i : i - it->noutputs;
  snprintf(buf, 24, "%s %d", out ? "output" : "input",
           (int)st__display_index(n));
  return buf;
}

static st_status check_same_dtype(const st_iter *it, const dtype_scan *s) {
  const st_dtype want = it->noutputs < it->noperands ? it->common_dtype
                                                     : s->output;
  if (!s->inputs_differ && !s->outputs_differ &&
      (s->output == want || s->output == ST_DTYPE_NONE)) {
    return ST_OK;
  }
  for (int i = 0; i < it->noperands; i++) {
    const st_iter_operand *op = &it->op[i];
    if (op->tensor && op->seen != want) {
      return st__fail(ST_BAD_DTYPE, "%s has dtype %s, expected %s",
                      operand_name(it, i, (char[24]){0}),
                      st__dtype_name(op->seen), st__dtype_name(want));
    }
  }
  return ST_OK;
}

static st_status compute_common_dtype(st_iter *it, const dtype_scan *s) {
  const bool promote = st__iter_has(it, ST_ITER_PROMOTE);
  if (s->inputs_differ && !promote) {
    if (s->has_untyped ||
        st__iter_has(it, ST_ITER_CAST_OUTPUTS | ST_ITER_SAFE_CAST)) {
      return st__fail(ST_BAD_DTYPE, "the inputs have different dtypes, so the "
                      "dtype of the result is ambiguous");
    }
    it->common_dtype = ST_DTYPE_NONE;
    return ST_OK;
  }
  if (it->common_dtype == ST_DTYPE_NONE) it->common_dtype = s->output;
  if (promote && (s->inputs_differ || s->has_wrapped)) {
    it->common_dtype = inputs_result_type(it).number;
  }
  if (st__iter_has(it, ST_ITER_INT_TO_FLOAT) &&
      (it->common_dtype == ST_BOOL || st__is_integral(it->common_dtype))) {
    it->common_dtype = st__default_dtype();
  }
  return st__is_promoted_only(it->common_dtype)
    ? st__refuse_promoted(it->common_dtype) : ST_OK;
}

/* -- Temporaries ---------------------------------------------------------- */

void st__iter_use_temporary(st_iter *it, st_iter_operand *op,
                            st_tensor *temporary, st_dtype dtype) {
  it->ncasts -= op->casts;
  op->original = op->tensor;
  op->owns_original = op->owns_tensor;
  op->tensor = temporary;
  op->owns_tensor = temporary != NULL;
  op->target = dtype;
  op->casts = false;
}

/* Note [Casting inside the loop] */
static bool cast_in_loop(st_iter *it, st_iter_operand *op, st_dtype dtype) {
  if (st__iter_has(it, ST_ITER_TEMPORARIES) && st__iter_converts(it)) {
    return false;
  }
  op->casts = true;
  op->target = dtype;
  it->ncasts++;
  return true;
}

/* For an output that will be resized, the temporary is allocated later, with
 * the new outputs. */
static st_status replace_output(st_iter *it, st_iter_operand *op,
                                st_dtype dtype) {
  const st_tensor *t = op->tensor;
  st_tensor *temporary = NULL;
  if (cast_in_loop(it, op, dtype)) return ST_OK;
  if (!op->will_resize) {
    ST_TRY(st__tensor_empty(st__iter_temporary_device(it), dtype, t->ndim,
                            t->sizes, ST_FORMAT_CONTIGUOUS, &temporary));
  }
  st__iter_use_temporary(it, op, temporary, dtype);
  return ST_OK;
}

/* -- Checks and conversions ----------------------------------------------- */

/* A plain number has no device. Of other 0-dim CPU operands, one may be
 * combined with tensors of another device. On the devices of extensions every
 * operator takes numbers. */
static st_status check_devices(const st_iter *it) {
  const bool has_scalars = st__iter_has(it, ST_ITER_CPU_SCALARS);
  const bool has_numbers = has_scalars || it->device > ST_DEVICE_META;
  int scalars = 0;
  for (int i = 0; i < it->noperands; i++) {
    const st_tensor *t = it->op[i].tensor;
    if (!t || t->device == it->device) continue;
    if (i >= it->noutputs && t->ndim == 0 && t->device == ST_DEVICE_CPU &&
        (t->flags & ST_FLAG_WRAPPED ? has_numbers
                                    : has_scalars && scalars++ == 0)) {
      continue;
    }
    return st__fail(ST_BAD_VALUE, "%s is on device '%s', other tensors are "
                    "on '%s'", operand_name(it, i, (char[24]){0}),
                    st__device_name(t->device),
                    st__device_name(it->device));
  }
  return ST_OK;
}

static st_status resolve_output(st_iter *it, int i, st_dtype written) {
  st_iter_operand *op = &it->op[i];
  if (!op->tensor) {
    if (op->target == ST_DTYPE_NONE) op->target = written;
    if (st__is_tensor_dtype(op->target)) return ST_OK;
    return st__fail(ST_BAD_DTYPE, "the dtype of %s cannot be inferred",
                    operand_name(it, i, (char[24]){0}));
  }
  if (op->target == written) return ST_OK;
  if (st__iter_has(it, ST_ITER_SAFE_CAST) &&
      !st_can_cast(written, op->target)) {
    return st__fail(ST_BAD_DTYPE, "the result has dtype %s, which %s of "
                    "dtype %s cannot hold: convert the output first%s",
                    st__dtype_name(written),
                    operand_name(it, i, (char[24]){0}),
                    st__dtype_name(op->target),
                    op->target != ST_INT64 ? ""
                    : ", or make it with {dtype = \"float32\"}, since numbers "
                      "without a fraction make int64");
  }
  return st__iter_has(it, ST_ITER_CAST_OUTPUTS)
         ? replace_output(it, op, written) : ST_OK;
}

/* The caller converts the other inputs: convert_inputs in build.c. */
static void resolve_input(st_iter *it, st_iter_operand *op) {
  if (st__iter_has(it, ST_ITER_PROMOTE)) op->seen = it->common_dtype;
  if (op->target == op->seen) return;
  if (op->tensor->ndim > 0 || st__is_privateuse(op->tensor)) {
    cast_in_loop(it, op, op->seen);
  }
}

st_status st__iter_types(st_iter *it) {
  const dtype_scan s = scan_dtypes(it);
  if (st__iter_has(it, ST_ITER_SAME_DTYPE)) ST_TRY(check_same_dtype(it, &s));
  ST_TRY(compute_common_dtype(it, &s));
  if (st__iter_has(it, ST_ITER_SAME_DEVICE)) ST_TRY(check_devices(it));
  const st_dtype written = it->static_dtype != ST_DTYPE_NONE
                           ? it->static_dtype : it->common_dtype;
  for (int i = 0; i < it->noutputs; i++) {
    ST_TRY(resolve_output(it, i, written));
  }
  for (int i = it->noutputs; i < it->noperands; i++) {
    resolve_input(it, &it->op[i]);
  }
  return ST_OK;
}
