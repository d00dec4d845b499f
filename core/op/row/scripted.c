/* Kernels that are functions of scripts.
 *
 * Note [What scripts return]
 * A script can replace any kernel. Where the engine itself calls the operator,
 * the code that follows relies on the shape, dtype, strides and device of the
 * results, and on whether they share memory with the arguments. So the call is
 * first made with fake tensors and the engine's own kernels, as on the meta
 * device; then the results of the script must look like those. Sizes that
 * depend on elements are not compared: code that uses such a result checks
 * them. Only a call that fails because it has no elements leaves nothing to
 * compare with; another failure is that of the call. A script may give an
 * operator a dtype that the engine's kernels lack: then a call with a dtype
 * that they have tells what the results look like.
 *
 * A call that a script made itself is not checked: its results go to scripts
 * only. Nor are operators of libraries, of which the engine has no kernel.
 */

#include "op/row/scripted.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "iter/fake_tensors.h"
#include "op/row/op.h"

typedef struct expected {
  st_call call;
  st_fake_tensors fakes;
  int device;            /* of the results on the meta device; -1: any */
  bool lacks_sizes;      /* they depend on elements */
  bool is_missing;       /* the call has looked for elements */
  st_status status;      /* of the call with fake tensors */
  char message[256];     /* if that failed */
  st_value rets[ST_MAX_ARGS];
} expected;

/* -- Expecting ------------------------------------------------------------ */

/* The device of the results: that of an argument, or else of all tensors. */
static int device_of(const st_schema *s, const st_value *args) {
  int device = -1;
  for (int i = 0; i < s->nargs; i++) {
    const st_value *v = &args[i];
    if (s->args[i].type == ST_TYPE_DEVICE && v->tag == ST_TAG_INT) {
      return (int)v->u.i;
    }
    const st_tensors all = st__tensors_in(v);
    for (uint32_t k = 0; k < all.n; k++) {
      if (!all.p[k]) continue;
      if (device >= 0 && device != (int)all.p[k]->device) return -1;
      device = (int)all.p[k]->device;
    }
  }
  return s->tensor_args && device < 0 ? -1 : device < 0 ? ST_DEVICE_CPU
                                                         : device;
}

/* A failure because elements are missing says nothing of the results. */
static bool is_unknown(const expected *e) {
  return (e->is_missing || e->lacks_sizes) && e->status != ST_OK;
}

/* A failure that has nothing to do with the arguments. */
static bool is_of_outside(st_status status) {
  return status == ST_NO_MEMORY || status == ST_INTERRUPTED;
}

/* The engine makes a strided tensor, of the same sizes and dtype, in place of
 * one in a layout that an argument names. True if there is such an argument. */
static bool take_layout(const st_schema *s, st_value *args) {
  for (int i = 0; i < s->nargs; i++) {
    if (s->args[i].type != ST_TYPE_LAYOUT ||
        st__to_int(&args[i], ST_LAYOUT_STRIDED) == ST_LAYOUT_STRIDED) {
      continue;
    }
    args[i] = st__none();
    return true;
  }
  return false;
}

/* Tensors of dtype `from` stand for ones of dtype `to`. */
static void call_as(expected *e, const st_value *args, st_dtype from,
                    st_dtype to) {
  st_value own[ST_MAX_ARGS];
  const st_schema *s = e->call.schema;
  memcpy(own, args, (size_t)s->nargs * sizeof *args);
  const bool missed = st__set_missed(false);
  const bool names_layout = take_layout(s, own);
  e->status = st__fake_arguments_as(&e->fakes, s, own, from, to);
  e->fakes.has_layouts = e->fakes.has_layouts || names_layout;
  if (e->status == ST_OK) {
    e->status = st__call_engine_kernel(
      &e->call, own, e->device == ST_DEVICE_CPU, e->rets, &e->lacks_sizes);
  }
  e->is_missing = st__set_missed(missed);
}

/* The dtypes that the engine's kernels have most often; those first that few
 * operators have results of in their own right. True if nothing is left to
 * try. */
static bool call_with_others(expected *e, const st_value *args,
                             st_dtype from) {
  static const st_dtype others[] = {ST_FLOAT32, ST_INT16, ST_COMPLEX64,
                                    ST_INT64, ST_BOOL};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (others[i] == from) continue;
    st__fake_tensors_release(&e->fakes);
    call_as(e, args, from, others[i]);
    if (e->status == ST_BAD_DTYPE) continue;
    return e->status == ST_OK || is_of_outside(e->status);
  }
  return false;
}

/* After a failure for the dtype of a tensor. */
static void replace_dtype(expected *e, const st_value *args) {
  uint64_t tried = 0;
  for (int i = 0; i < e->call.schema->nargs; i++) {
    const st_tensors all = st__tensors_in(&args[i]);
    for (uint32_t k = 0; k < all.n; k++) {
      const uint64_t bit = all.p[k] ? (uint64_t)1 << all.p[k]->dtype : tried;
      if (tried & bit || !bit) continue;
      tried |= bit;
      if (call_with_others(e, args, (st_dtype)all.p[k]->dtype)) return;
    }
  }
}

static void call_engine(expected *e, const st_value *args) {
  e->device = device_of(e->call.schema, args);
  call_as(e, args, ST_DTYPE_NONE, ST_DTYPE_NONE);
  if (e->status == ST_OK || is_of_outside(e->status)) return;
  snprintf(e->message, sizeof e->message, "%s", st_message());
  if (e->status != ST_BAD_DTYPE || e->is_missing) return;
  replace_dtype(e, args);
  if (e->status != ST_OK && !is_of_outside(e->status)) {
    e->status = ST_BAD_DTYPE;
  }
}

static void release(expected **e) {
  expected *p = *e;
  *e = NULL;
  if (!p) return;
  for (int i = 0; p->status == ST_OK && i < p->call.schema->nrets; i++) {
    st__value_clear(&p->rets[i]);
  }
  st__fake_tensors_release(&p->fakes);
  st__free(ST_MEM_VALUE, p, sizeof *p);
}

/* *out is NULL if nothing is known of the results. */
static st_status expect(const st_call *call, const st_value *args,
                        expected **out) {
  expected *e = st__alloc(ST_MEM_VALUE, sizeof *e);
  if (!e) return ST_NO_MEMORY;
  e->call = *call;
  call_engine(e, args);
  const st_status status = e->status;
  if (is_of_outside(status) || is_unknown(e)) release(&e);
  *out = e;
  return is_of_outside(status) ? status : ST_OK;
}

/* -- Checking ------------------------------------------------------------- */

/* A result that is compared. */
typedef struct subject {
  const expected *e;
  int i;             /* its number */
  const char *where;
} subject;

__attribute__((format(printf, 2, 3)))
static st_status differs(const subject *s, const char *format, ...) {
  char text[400], number[24] = "";
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (s->e->call.schema->nrets > 1) {
    snprintf(number, sizeof number, "result %d: ", s->i + 1);
  }
  const char *name = st_op_name(s->e->call.op);
  if (strncmp(name, "aten::", strlen("aten::")) == 0) name += strlen("aten::");
  return st__fail(ST_BAD_STATE, "%s: the function from %s is its kernel, but "
                  "another operator uses what it returns: %s%s", name,
                  s->where, number, text);
}

static st_status compare_dtype(const subject *s, const st_tensor *want,
                               const st_tensor *got) {
  const st_fake_tensors *fakes = &s->e->fakes;
  const bool stands = fakes->from != fakes->to && want->dtype == fakes->to;
  const st_dtype dtype = stands ? fakes->from : (st_dtype)want->dtype;
  if (got->dtype == dtype) return ST_OK;
  /* indices and masks are results in their own right */
  if (stands && got->dtype == fakes->to &&
      (fakes->to == ST_INT64 || fakes->to == ST_BOOL)) return ST_OK;
  return differs(s, "its dtype must be %s, got %s", st__dtype_name(dtype),
                 st__dtype_name((st_dtype)got->dtype));
}

/* A kernel for another layout may return that layout, too. */
static st_status compare_layout(const subject *s, const st_tensor *got) {
  if (!got->storage->layout || s->e->fakes.has_layouts) return ST_OK;
  return differs(s, "it must be strided, got layout '%s'",
                 st__layout_name(got->storage->layout));
}

static st_status compare_shape(const subject *s, const st_tensor *want,
                               const st_tensor *got) {
  if (s->e->lacks_sizes) {
    return want->ndim == got->ndim ? ST_OK
         : differs(s, "it must have %d dimension%s, got shape %s", want->ndim,
                   want->ndim == 1 ? "" : "s", ST_SHAPE_TEXT(got));
  }
  if (!st__same_sizes(want, got)) {
    return differs(s, "its shape must be %s, got %s", ST_SHAPE_TEXT(want),
                   ST_SHAPE_TEXT(got));
  }
  for (int d = 0; got->numel > 0 && d < got->ndim; d++) {
    if (got->storage->layout) break;
    if (got->sizes[d] == 1 || got->strides[d] == want->strides[d]) continue;
    return differs(s, "its strides must be %s, got %s",
                   st__shape_text(want->ndim, want->strides,
                                  (char[160]){0}, 160),
                   st__shape_text(got->ndim, got->strides,
                                  (char[160]){0}, 160));
  }
  return ST_OK;
}

static st_status compare_device(const subject *s, const st_tensor *want,
                                const st_tensor *got) {
  const int device = want->device == ST_DEVICE_META ? s->e->device
                                                    : (int)want->device;
  if (device >= 0 && device != (int)got->device) {
    return differs(s, "it must be on device '%s', got '%s'",
                   st__device_name((st_device)device),
                   st__device_name(got->device));
  }
  if ((want->keys & ST_LAZY_BITS) == (got->keys & ST_LAZY_BITS)) return ST_OK;
  return differs(s, "it must %sbe a conjugate, negative or zero tensor that "
                 "is not computed", st__is_lazy(want) ? "" : "not ");
}

/* The argument whose fake tensor is t, or has its storage; NULL for none. */
static const st_tensor *source_of(const expected *e, const st_tensor *t,
                                  bool same_header) {
  for (int i = 0; i < e->fakes.n; i++) {
    const st_tensor *made = e->fakes.made[i];
    if (same_header ? made == t : made->storage == t->storage) {
      return e->fakes.original[i];
    }
  }
  return NULL;
}

static bool shares_memory(const expected *e, const st_tensor *t) {
  for (int i = 0; i < e->fakes.n; i++) {
    if (e->fakes.original[i]->storage == t->storage) return true;
  }
  return false;
}

static st_status compare_memory(const subject *s, const st_tensor *want,
                                const st_tensor *got) {
  const st_tensor *same = source_of(s->e, want, true);
  if (s->e->call.schema->rets[s->i].is_write && same && same != got) {
    return differs(s, "it must be the argument that the operator writes");
  }
  return source_of(s->e, want, false) || !shares_memory(s->e, got) ? ST_OK
       : differs(s, "it must not share memory with an argument");
}

static st_status compare_tensor(const subject *s, const st_tensor *want,
                                const st_tensor *got) {
  if (!want || !got) {
    return want == got ? ST_OK
         : differs(s, "it must be %s", want ? "a tensor" : "nothing");
  }
  ST_TRY(compare_device(s, want, got));
  ST_TRY(compare_layout(s, got));
  ST_TRY(compare_dtype(s, want, got));
  ST_TRY(compare_shape(s, want, got));
  return compare_memory(s, want, got);
}

static st_status compare_list(const subject *s, const st_value *want,
                              const st_value *got) {
  if (want->len != got->len && !s->e->lacks_sizes) {
    return differs(s, "it must be a list of %u tensors, got %u",
                   (unsigned)want->len, (unsigned)got->len);
  }
  for (uint32_t k = 0; k < want->len && k < got->len; k++) {
    ST_TRY(compare_tensor(s, want->u.tensors[k], got->u.tensors[k]));
  }
  return ST_OK;
}

static st_status compare(const subject *s, const st_value *want,
                         const st_value *got) {
  if (want->tag == ST_TAG_TENSORS && got->tag == ST_TAG_TENSORS) {
    return compare_list(s, want, got);
  }
  if (want->tag == ST_TAG_TENSOR || got->tag == ST_TAG_TENSOR) {
    return compare_tensor(s, st__to_tensor(want), st__to_tensor(got));
  }
  if (want->tag == ST_TAG_INT && got->tag == ST_TAG_INT &&
      want->u.i != got->u.i && !s->e->lacks_sizes) {
    return differs(s, "it must be %lld, got %lld", (long long)want->u.i,
                   (long long)got->u.i);
  }
  return ST_OK; /* or other kinds of numbers */
}

static st_status check_results(const expected *e, const st_value *rets,
                               const char *where) {
  if (!e) return ST_OK;
  if (e->status != ST_OK) return st__fail(e->status, "%s", e->message);
  for (int i = 0; i < e->call.schema->nrets; i++) {
    ST_TRY(compare(&(subject){e, i, where}, &e->rets[i], &rets[i]));
  }
  return ST_OK;
}

/* -- Running -------------------------------------------------------------- */

/* Marks the tensors of n values: Note [Operands of running calls]. */
static void lend(int n, const st_value *values) {
  for (int i = 0; i < n; i++) {
    const st_tensors all = st__tensors_in(&values[i]);
    for (uint32_t k = 0; k < all.n; k++) {
      if (all.p[k]) st_lend(all.p[k]);
    }
  }
}

static st_status run_checked(const st_call *call, const st_value *args,
                             st_value *rets, const char *where,
                             const st_script_fn *f) {
  const int nrets = call->schema->nrets;
  expected *e = NULL;
  /* the engine's operators have static schemas */
  if (!call->schema->arena) ST_TRY(expect(call, args, &e));
  lend(call->schema->nargs, args);
  st_status status = st_run_script(f->fn, f->arg);
  if (status == ST_OK) {
    lend(nrets, rets);
    status = check_results(e, rets, where);
    for (int i = 0; i < nrets && status != ST_OK; i++) {
      st__value_clear(&rets[i]);
    }
  }
  release(&e);
  return status;
}

st_status st__run_scripted(const st_call *call, const st_value *args,
                           st_value *rets, const char *where,
                           const st_script_fn *f) {
  if (st__is_checking()) return st__run_engine_kernel(call, args, rets);
  if (st__serves_script(call->op)) return st_run_script(f->fn, f->arg);
  return run_checked(call, args, rets, where, f);
}
