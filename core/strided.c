/* The bodies of strided.h: a line or two each over the layers below. What
 * takes longer is an inspection of a tensor or of a plan.
 */

#include "strided.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/threads.h"
#include "dispatch/dispatch.h"
#include "iter/iter.h"
#include "op/format.h"
#include "op/op.h"
#include "op/random.h"

#ifndef STRIDED_VERSION
#define STRIDED_VERSION "unknown"
#endif

/* -- Process -------------------------------------------------------------- */

static pthread_once_t start_once = PTHREAD_ONCE_INIT;
static st_status start_status;
static char start_message[512];

static st_status start_all(void) {
  ST_TRY(st__dispatch_init());
  return st__register_operators();
}

static void start(void) {
  start_status = start_all();
  if (start_status != ST_OK) {
    snprintf(start_message, sizeof start_message, "%s", st__message());
  }
}

st_status st_init(void) {
  pthread_once(&start_once, start);
  if (start_status == ST_OK) return ST_OK;
  return st__fail(start_status, "strided could not start: %s", start_message);
}

const char *st_version(void) { return STRIDED_VERSION; }
const char *st_isa(void) { return st__isa_name(st__isa()); }
int st_num_threads(void) { return st__num_threads(); }
st_status st_set_num_threads(int n) { return st__set_num_threads(n); }

/* -- Errors --------------------------------------------------------------- */

int st_count_from(int first) {
  const int old = st__first_position;
  st__first_position = first;
  return old;
}

const char *st_message(void) { return st__message(); }
const char *st_status_name(st_status code) { return st__status_name(code); }
const char *st_status_text(st_status code) { return st__status_text(code); }

st_status st_fail(st_status code, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return st__fail(code, "%s", text);
}

/* -- Memory --------------------------------------------------------------- */

bool st_memory_stats(int kind, st_memory *out) {
  if (kind < 0 || kind >= ST_MEM_COUNT) return false;
  const st_mem_stats s = st__memory_stats((st_mem_kind)kind);
  *out = (st_memory){s.name, s.count, s.bytes, s.peak};
  return true;
}

int64_t st_memory_fail_at(int64_t k) { return st__memory_fail_at(k); }

/* -- Dtypes, formats, devices --------------------------------------------- */

const char *st_dtype_name(st_dtype d) { return st__dtype_name(d); }
bool st_dtype_parse(const char *name, st_dtype *out) {
  return st__dtype_parse(name, out);
}
size_t st_dtype_size(st_dtype d) { return st__itemsize(d); }
st_dtype st_default_dtype(void) { return st__default_dtype(); }
st_status st_set_default_dtype(st_dtype d) { return st__set_default_dtype(d); }
st_dtype st_promote_types(st_dtype a, st_dtype b) { return st__promote(a, b); }
bool st_can_cast(st_dtype from, st_dtype to) { return st__can_cast(from, to); }
st_dtype st_result_type(st_tensor *const *tensors, int n) {
  return st__result_type(tensors, n);
}

const char *st_format_name(st_format f) { return st__format_name(f); }
bool st_format_parse(const char *name, st_format *out) {
  return st__format_parse(name, out);
}
const char *st_device_name(st_device d) { return st__device_name(d); }
bool st_device_parse(const char *name, st_device *out) {
  return st__device_parse(name, out);
}

/* -- Tensors -------------------------------------------------------------- */

static st_status check_new(st_device device, st_dtype dtype) {
  if ((unsigned)device >= ST_DEVICE_COUNT) {
    return st__fail(ST_BAD_VALUE, "there is no device number %d", (int)device);
  }
  if ((unsigned)dtype >= ST_DTYPE_COUNT) {
    return st__fail(ST_BAD_DTYPE, "there is no dtype number %d", (int)dtype);
  }
  return ST_OK;
}

st_status st_tensor_empty(st_device device, st_dtype dtype, int ndim,
                          const int64_t *sizes, const int64_t *strides,
                          st_tensor **out) {
  ST_TRY(check_new(device, dtype));
  return strides
    ? st__tensor_empty_strided(device, dtype, ndim, sizes, strides, out)
    : st__tensor_empty(device, dtype, ndim, sizes, ST_FORMAT_CONTIGUOUS, out);
}

static void keep_data(void *ctx, void *data, size_t nbytes) {
  (void)ctx, (void)data, (void)nbytes;
}

/* Until a tensor stands on it data is the caller's. */
st_status st_tensor_wrap(void *data, size_t nbytes, st_dtype dtype, int ndim,
                         const int64_t *sizes, const int64_t *strides,
                         int64_t offset,
                         void (*free_fn)(void *ctx, void *data,
                                         size_t nbytes),
                         void *ctx, st_tensor **out) {
  st_storage *storage = NULL;
  ST_TRY(check_new(ST_DEVICE_CPU, dtype));
  ST_TRY(st__storage_wrap(data, nbytes, free_fn, ctx, &storage));
  const st_status status =
    st__tensor_new(storage, dtype, ndim, sizes, strides, offset, out);
  if (status != ST_OK) storage->free_fn = keep_data;
  st__storage_release(&storage);
  return status;
}

st_status st_tensor_scalar(st_scalar s, st_dtype dtype, bool wrapped,
                           st_tensor **out) {
  ST_TRY(check_new(ST_DEVICE_CPU, dtype));
  return st__tensor_from_scalar(s, dtype, wrapped, out);
}

void st_tensor_retain(st_tensor *t) { st__tensor_retain(t); }
void st_tensor_release(st_tensor **t) { st__tensor_release(t); }

int st_tensor_ndim(const st_tensor *t) { return t->ndim; }
const int64_t *st_tensor_sizes(const st_tensor *t) { return t->sizes; }
const int64_t *st_tensor_strides(const st_tensor *t) { return t->strides; }
int64_t st_tensor_numel(const st_tensor *t) { return t->numel; }
int64_t st_tensor_offset(const st_tensor *t) { return t->offset; }
st_dtype st_tensor_dtype(const st_tensor *t) { return (st_dtype)t->dtype; }
st_device st_tensor_device(const st_tensor *t) { return (st_device)t->device; }
st_keyset st_tensor_keys(const st_tensor *t) { return t->keys; }
bool st_tensor_is_wrapped(const st_tensor *t) { return st__is_wrapped(t); }
bool st_tensor_is_contiguous(const st_tensor *t, st_format f) {
  return st__is_contiguous_in(t, f);
}
bool st_tensor_is_dense(const st_tensor *t) {
  return t->flags & ST_FLAG_DENSE;
}
st_format st_tensor_suggest_format(const st_tensor *t) {
  return st__suggest_format(t, false);
}
void *st_tensor_data(const st_tensor *t) { return st__data(t); }
const void *st_tensor_storage(const st_tensor *t) { return t->storage; }
size_t st_tensor_storage_nbytes(const st_tensor *t) {
  return t->storage->nbytes;
}
int st_tensor_refcount(const st_tensor *t) { return st__ref_count(&t->refs); }

/* Where the element at index is. */
static st_status locate(const st_tensor *t, int n, const int64_t *index,
                        char **out) {
  int64_t at = 0;
  if (n != t->ndim) {
    return st__fail(ST_BAD_INDEX, "%d positions for a tensor of %d "
                    "dimensions", n, t->ndim);
  }
  for (int i = 0; i < n; i++) {
    if (index[i] < 0 || index[i] >= t->sizes[i]) {
      return st__fail(ST_BAD_INDEX, "position %lld is outside dimension %d "
                      "of shape %s", (long long)st__shown(index[i]),
                      (int)st__shown(i),
                      ST_SHAPE_TEXT(t));
    }
    at += index[i] * t->strides[i];
  }
  char *data = st__data(t);
  if (!data) return st__fail(ST_BAD_STATE, "the tensor has no data");
  *out = data + at * (int64_t)st__itemsize((st_dtype)t->dtype);
  return ST_OK;
}

st_status st_tensor_get(const st_tensor *t, int n, const int64_t *index,
                        st_scalar *out) {
  char *p;
  ST_TRY(locate(t, n, index, &p));
  *out = st__scalar_load((st_dtype)t->dtype, p);
  return ST_OK;
}

st_status st_tensor_set(st_tensor *t, int n, const int64_t *index,
                        st_scalar value) {
  char *p;
  ST_TRY(locate(t, n, index, &p));
  st__scalar_store(value, (st_dtype)t->dtype, p);
  return ST_OK;
}

st_status st_tensor_text(const st_tensor *t, const st_print_options *options,
                         char **out) {
  return st__tensor_text(t, options, out);
}

void st_text_release(char **text) {
  if (*text) st__free(ST_MEM_VALUE, *text, strlen(*text) + 1);
  *text = NULL;
}

/* -- Values --------------------------------------------------------------- */

void st_value_clear(st_value *v) { st__value_clear(v); }

st_status st_value_of_tensor(st_tensor *t, st_value *out) {
  const st_value v = st__of_tensor(t);
  return st__value_copy(&v, out);
}

st_status st_value_of_tensors(st_tensor *const *t, int n, st_value *out) {
  const st_value v = st__of_tensors((st_tensor **)(uintptr_t)t, n);
  return st__value_copy(&v, out);
}

st_status st_value_of_ints(const int64_t *p, int n, st_value *out) {
  const st_value v = st__of_ints(p, n);
  return st__value_copy(&v, out);
}

st_status st_value_of_string(const char *s, size_t n, st_value *out) {
  if (n >= UINT32_MAX) return st__fail(ST_BAD_VALUE, "a string is too long");
  char *text = st__strndup(ST_MEM_VALUE, s, n);
  if (!text) return ST_NO_MEMORY;
  *out = (st_value){.tag = ST_TAG_STRING, .len = (uint32_t)n,
                    .u.string = text};
  return ST_OK;
}

st_status st_value_of_scalar(st_scalar s, st_value *out) {
  const st_value v = st__of_scalar(&s);
  return st__value_copy(&v, out);
}

/* -- Operators ------------------------------------------------------------ */

const st_op *st_op_find(const char *name, const char *overload) {
  return st__op_find(name, overload);
}

int st_op_overloads(const char *name, const st_op **ops, int n) {
  return st__op_overloads(name, ops, n);
}

void st_op_each(bool (*fn)(void *ctx, const st_op *op), void *ctx) {
  st__op_each(fn, ctx);
}

const char *st_op_name(const st_op *op) { return st__op_name(op); }
const char *st_op_overload_name(const st_op *op) {
  return st__op_overload_name(op);
}
const char *st_op_doc(const st_op *op) { return st__op_doc(op); }

const char *st_op_schema(const st_op *op) {
  const st_schema *s = st__op_schema(op);
  return s ? s->text : NULL;
}

int st_op_nargs(const st_op *op) {
  const st_schema *s = st__op_schema(op);
  return s ? s->nargs : 0;
}

int st_op_nrets(const st_op *op) {
  const st_schema *s = st__op_schema(op);
  return s ? s->nrets : 0;
}

const st_arg *st_op_arg(const st_op *op, int i) {
  const st_schema *s = st__op_schema(op);
  return s && i >= 0 && i < s->nargs ? &s->args[i] : NULL;
}

const st_arg *st_op_ret(const st_op *op, int i) {
  const st_schema *s = st__op_schema(op);
  return s && i >= 0 && i < s->nrets ? &s->rets[i] : NULL;
}

bool st_op_slot(const st_op *op, const char *key, const char **kernel,
                const char **provenance) {
  const st_key k = st__key_parse(key);
  if (k == ST_KEY_INVALID) return false;
  st__op_slot(op, k, kernel, provenance);
  return true;
}

static st_status check_op(const st_op *op) {
  return op ? ST_OK : st__fail(ST_NOT_FOUND, "there is no such operator");
}

st_status st_call_op(const st_op *op, int n, const st_value *args,
                     st_value *rets) {
  ST_TRY(check_op(op));
  ST_TRY(st__check_args(op, n, args));
  return st__call_n(op, n, args, rets);
}

st_status st_redispatch(const st_op *op, st_keyset keys, const st_value *args,
                        st_value *rets) {
  ST_TRY(check_op(op));
  ST_TRY(st__check_args(op, st_op_nargs(op), args));
  return st__redispatch(op, keys, args, rets);
}

const st_op *st_call_operator(const st_call *call) { return call->op; }
st_keyset st_call_keys(const st_call *call) { return call->keys; }
void *st_call_context(const st_call *call) { return call->ctx; }

/* -- Registration --------------------------------------------------------- */

static st_status find_key(const char *name, st_key *out) {
  *out = st__key_parse(name);
  if (*out != ST_KEY_INVALID) return ST_OK;
  return st__fail(ST_BAD_VALUE, "there is no dispatch key '%.80s'", name);
}

st_status st_define(const char *ns, const char *schema, const char *doc,
                    const char *debug, st_registration **out) {
  return st__def(ns, schema, doc, debug, out);
}

st_status st_implement(const char *name, const char *key, st_kernel_fn fn,
                       void *ctx, void (*free_ctx)(void *),
                       const char *debug, st_registration **out) {
  const st_kernel kernel = {fn, ctx, free_ctx, debug};
  st_key k;
  ST_TRY(find_key(key ? key : "CompositeImplicitAutograd", &k));
  return st__impl(name, k, &kernel, out);
}

st_status st_implement_fallback(const char *key, st_kernel_fn fn, void *ctx,
                                void (*free_ctx)(void *), const char *debug,
                                st_registration **out) {
  const st_kernel kernel = {fn, ctx, free_ctx, debug};
  st_key k;
  ST_TRY(find_key(key, &k));
  return st__fallback(k, &kernel, out);
}

void st_registration_release(st_registration **r) { st__unregister(r); }

/* -- Keys ----------------------------------------------------------------- */

bool st_key_parse(const char *name, st_keyset *out) {
  const st_key k = st__key_parse(name);
  if (k != ST_KEY_INVALID) *out = st__key_set(k);
  return k != ST_KEY_INVALID;
}

char *st_keyset_text(st_keyset ks, char *buf, size_t size) {
  return st__keyset_text(ks, buf, size);
}

st_keyset st_keyset_minus(st_keyset a, st_keyset b) {
  return st__keyset_minus(a, b);
}

const char *st_keyset_highest(st_keyset ks) {
  return st__key_name(st__keyset_highest(ks));
}

st_status st_keyset_after(const char *key, st_keyset *out) {
  st_key k;
  ST_TRY(find_key(key, &k));
  if (st__key_is_alias(k) && k != ST_KEY_AUTOGRAD) {
    return st__fail(ST_BAD_VALUE, "nothing is below the alias key %s", key);
  }
  *out = st__keyset_after(k);
  return ST_OK;
}

/* -- Random numbers ------------------------------------------------------- */

st_status st_generator_new(uint64_t seed, st_generator **out) {
  return st__generator_new(seed, out);
}
void st_generator_retain(st_generator *g) { st__generator_retain(g); }
void st_generator_release(st_generator **g) { st__generator_release(g); }
void st_generator_seed(st_generator *g, uint64_t seed) {
  st__generator_seed(g, seed);
}
uint64_t st_generator_initial_seed(const st_generator *g) {
  return st__generator_initial_seed(g);
}
st_generator *st_default_generator(void) { return st__default_generator(); }

/* -- Plans ---------------------------------------------------------------- */

_Static_assert((int)ST_PLAN_CHECK_OVERLAP == (int)ST_ITER_CHECK_OVERLAP &&
               (int)ST_PLAN_CPU_SCALARS == (int)ST_ITER_CPU_SCALARS &&
               (int)ST_PLAN_REDUCTION == (int)ST_ITER_REDUCTION &&
               (int)ST_PLAN_RESIZE_OUTPUTS == (int)ST_ITER_RESIZE_OUTPUTS &&
               (int)ST_PLAN_SAME_DTYPE == (int)ST_ITER_SAME_DTYPE &&
               (int)ST_PLAN_SAME_DEVICE == (int)ST_ITER_SAME_DEVICE &&
               (int)ST_PLAN_SAFE_CAST == (int)ST_ITER_SAFE_CAST &&
               (int)ST_PLAN_LINEAR == (int)ST_ITER_LINEAR &&
               (int)ST_PLAN_PROMOTE == (int)ST_ITER_PROMOTE &&
               (int)ST_PLAN_INT_TO_FLOAT == (int)ST_ITER_INT_TO_FLOAT &&
               (int)ST_PLAN_CAST_OUTPUTS == (int)ST_ITER_CAST_OUTPUTS,
               "public and internal flags are the same");

/* Steps are asked for one by one and found in order, so the plan keeps the
 * last few: [first, first + n) of the range [begin, end). */
enum { WINDOW = 32 };
typedef struct window {
  int64_t begin, end, first, n;
  int64_t next;  /* element behind the last of them */
  st_iter_step steps[WINDOW];
} window;

struct st_plan {
  st_iter it;
  window *window;
};

static st_status add_operands(st_plan *p, int noutputs, int noperands,
                              st_tensor *const *operands, st_dtype dtype) {
  for (int i = 0; i < noperands; i++) {
    if (i < noutputs) {
      st__iter_output(&p->it, operands[i], dtype);
    } else if (operands[i]) {
      st__iter_input(&p->it, operands[i]);
    } else {
      return st__fail(ST_BAD_VALUE, "operand %d, an input, is missing", i);
    }
  }
  return ST_OK;
}

st_status st_plan_new(uint32_t flags, int noutputs, int noperands,
                      st_tensor *const *operands, st_dtype dtype,
                      st_plan **out) {
  st_status status;
  if (noutputs < 0 || noutputs > noperands || noperands < 1 ||
      noperands > ST_ITER_MAX_OPERANDS) {
    return st__fail(ST_BAD_VALUE, "a plan has 1 to %d operands, outputs "
                    "first; not %d with %d outputs", ST_ITER_MAX_OPERANDS,
                    noperands, noutputs);
  }
  if (dtype != ST_DTYPE_NONE) ST_TRY(check_new(ST_DEVICE_CPU, dtype));
  st_plan *p = st__alloc_zero(ST_MEM_SCRATCH, sizeof *p + sizeof(window));
  if (!p) return ST_NO_MEMORY;
  p->window = (window *)(p + 1);
  st__iter_init(&p->it, flags);
  ST_TRY_FAIL(add_operands(p, noutputs, noperands, operands, dtype));
  ST_TRY_FAIL(st__iter_build(&p->it));
  *out = p;
  return ST_OK;
fail:
  st_plan_release(&p);
  return status;
}

void st_plan_release(st_plan **p) {
  if (!*p) return;
  st__iter_release(&(*p)->it);
  st__free(ST_MEM_SCRATCH, *p, sizeof **p + sizeof(window));
  *p = NULL;
}

int st_plan_ndim(const st_plan *p) { return p->it.ndim; }
const int64_t *st_plan_shape(const st_plan *p) { return p->it.shape; }

const int64_t *st_plan_strides(const st_plan *p, int operand) {
  if (operand < 0 || operand >= p->it.noperands) return NULL;
  return p->it.op[operand].stride;
}

int st_plan_perm(const st_plan *p, const int **perm) {
  *perm = p->it.perm;
  return p->it.nperm;
}

int st_plan_common_shape(const st_plan *p, const int64_t **shape) {
  *shape = p->it.common_shape;
  return p->it.common_ndim;
}

const char *st_plan_fast(const st_plan *p) {
  switch (p->it.fast) {
    case ST_FAST_CONTIGUOUS: return "contiguous";
    case ST_FAST_CHANNELS_LAST: return "channels_last";
    case ST_FAST_DENSE: return "non_overlapping_dense";
    default: return "none";
  }
}

bool st_plan_coalesced(const st_plan *p) { return p->it.coalesced; }
int64_t st_plan_numel(const st_plan *p) { return p->it.numel; }
st_dtype st_plan_common_dtype(const st_plan *p) { return p->it.common_dtype; }
bool st_plan_is_contiguous(const st_plan *p) {
  return st__iter_is_contiguous(&p->it);
}
bool st_plan_has_contiguous_first_dim(const st_plan *p) {
  return st__iter_has_contiguous_first_dim(&p->it);
}
bool st_plan_can_use_32bit(const st_plan *p) {
  return st__iter_can_use_32bit(&p->it);
}

const char *st_plan_inner(const st_plan *p) {
  static const char *const names[] = {"vector", "scalar", "strided"};
  return names[st__iter_inner(&p->it)];
}

bool st_plan_is_tiled_copy(const st_plan *p) {
  return st__copy_is_tiled(&p->it);
}

st_tensor *st_plan_output(const st_plan *p, int i) {
  if (i < 0 || i >= p->it.noutputs) return NULL;
  const st_iter_operand *op = &p->it.op[i];
  st_tensor *t = op->original ? op->original : op->tensor;
  st__tensor_retain(t);
  return t;
}

/* Goes on to the steps behind the window. */
static bool advance(const st_plan *p, window *w) {
  w->first += w->n;
  w->n = st__iter_steps(&p->it, w->next, w->end, w->steps, WINDOW);
  if (w->n > WINDOW) w->n = WINDOW;
  for (int64_t i = 0; i < w->n; i++) {
    w->next += w->steps[i].n0 * w->steps[i].n1;
  }
  return w->n > 0;
}

bool st_plan_step(const st_plan *p, int64_t begin, int64_t end, int64_t k,
                  int64_t size[2], int64_t *offsets) {
  window *w = p->window;
  if (begin < 0 || end > p->it.numel || k < 0) return false;
  if (begin != w->begin || end != w->end || k < w->first) {
    *w = (window){.begin = begin, .end = end, .next = begin};
  }
  while (k >= w->first + w->n) {
    if (!advance(p, w)) return false;
  }
  const st_iter_step *step = &w->steps[k - w->first];
  size[0] = step->n0;
  size[1] = step->n1;
  memcpy(offsets, step->offset, (size_t)p->it.noperands * sizeof *offsets);
  return true;
}

/* -- Trace ---------------------------------------------------------------- */

typedef struct observer {
  void (*fn)(void *ctx, const st_trace *event);
  void *ctx;
} observer;

static _Thread_local observer observing;

static void observe(void *ctx, const st_trace_event *e) {
  const observer *o = ctx;
  const st_trace event = {e->op, e->kind, st__key_name(e->key), e->kernel,
                          e->keys, e->depth};
  o->fn(o->ctx, &event);
}

void st_set_trace(void (*fn)(void *ctx, const st_trace *event), void *ctx) {
  observing = (observer){fn, ctx};
  st__set_trace(fn ? observe : NULL, &observing);
}
