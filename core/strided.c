/* The functions of strided.h, most of them one-line calls of the layers below.
 * The other parts of the header have files of their own.
 */

#include "strided.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "base/interrupt.h"
#include "os/cpu.h"
#include "os/machine.h"
#include "base/memory.h"
#include "os/mapped_memory.h"
#include "base/text.h"
#include "base/threads.h"
#include "dispatch/dispatch.h"
#include "kernel/kernel.h"
#include "op/create/copy_clone_to.h"
#include "op/device/device.h"
#include "fuse/device/device_loop.h"
#include "grad/autocast/autocast.h"
#include "grad/record/derivatives.h"
#include "grad/graph/history.h"
#include "op/random/random.h"
#include "op/row/op.h"
#include "op/table/register.h"
#include "tensor/subbyte.h"

/* -- Process -------------------------------------------------------------- */

static pthread_once_t start_once = PTHREAD_ONCE_INIT;
static st_status start_status;
static char start_message[512];

static st_status start_all(void) {
  st__machine_detect();
  st__open_startup_memory();
  st_status status = st__dispatch_init();
  if (status == ST_OK) status = st__register_operators();
  if (status == ST_OK) status = st__register_derivatives();
  if (status == ST_OK) status = st__register_autocast();
  st__device_copies_set_up();
  st__device_loops_set_up();
  st__close_startup_memory();
  return status;
}

/* Note [Forks during initialisation]
 * A child forked during initialisation would have half a registry and locks
 * that no thread of it can release. So forks wait until initialisation is over:
 * a fork handler takes the lock of the start. A fork must wait before it holds
 * any lock that the start takes. Prepare handlers run in reverse order of
 * registration, so this handler is registered last and the handlers for those
 * locks before it. Handlers that are registered during a fork do not run for
 * it; so all of them are registered when the library is loaded, and the start
 * registers none. In the child an unfinished pthread_once starts again, but
 * has_started keeps the work from being done twice. */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static bool has_started;

static void lock_start(void) { pthread_mutex_lock(&starting); }
static void unlock_start(void) { pthread_mutex_unlock(&starting); }

__attribute__((constructor)) static void register_atfork(void) {
  st_memory_sum();
  st__thread_set_up();
  pthread_atfork(lock_start, unlock_start, unlock_start);
}

static void start(void) {
  lock_start();
  if (!has_started) start_status = start_all();
  if (!has_started && start_status != ST_OK) {
    snprintf(start_message, sizeof start_message, "%s", st_message());
  }
  has_started = true;
  unlock_start();
}

/* In parentheses, a name is not the macro of that name. */
st_status (st_init)(void) {
  pthread_once(&start_once, start);
  if (start_status == ST_OK) return ST_OK;
  return st__fail(start_status, "strided could not start: %s", start_message);
}

st_status st_init_for(int api) {
  const int major = api / 1000, minor = api % 1000;
  if (major == ST_API_MAJOR && minor <= ST_API_MINOR) return (st_init)();
  return st__fail(ST_BAD_STATE,
                  "compiled for version %d.%d of strided's C interface, but "
                  "libstrided.so %s has version %d.%d: compile it again with "
                  "that library's strided.h",
                  major, minor, ST_VERSION, ST_API_MAJOR, ST_API_MINOR);
}

const char *st_version(void) { return ST_VERSION; }
int st_api_version(void) { return ST_API_VERSION; }
const char *st_isa(void) { return st__isa_name(st__isa()); }
bool st_has_fma(void) { return st__kernels_have_fma(); }
int st_num_threads(void) { return st__num_threads(); }
/* -- Errors --------------------------------------------------------------- */

int st_count_from(int first) {
  const int old = st__display_base;
  st__display_base = first;
  return old;
}

st_status st_poll_interrupt(void) { return st__poll_interrupt(); }

void st_warn(const char *text) { st__warn("%s", text); }

st_status st_fail(st_status code, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return st__fail(code, "%s", text);
}

/* -- Dtypes, formats, devices --------------------------------------------- */

const char *st_dtype_name(st_dtype d) { return st__dtype_name(d); }
size_t st_dtype_size(st_dtype d) { return st__itemsize(d); }
const st_dtype_facts *st_dtype_facts_of(st_dtype d) {
  return (unsigned)d < ST_DTYPE_ALL ? &st__dtype_facts[d] : NULL;
}
st_dtype st_default_dtype(void) { return st__default_dtype(); }
static st_dtype or_none(st_promotion p) {
  return p.number >= ST_NOTHING_PROMOTED ? ST_DTYPE_NONE : p.number;
}
st_dtype st_promote_types(st_dtype a, st_dtype b) {
  return or_none(st__promote(a, b));
}
st_dtype st_result_type(st_tensor *const *tensors, int n) {
  return or_none(st__result_type(tensors, n));
}

const char *st_device_name(st_device d) { return st__device_name(d); }
static st_status check_device(st_device device) {
  return st__is_device(device) ? ST_OK
    : st__fail(ST_BAD_VALUE, "there is no device number %d", (int)device);
}
st_status st_synchronize(st_device device) {
  ST_TRY(check_device(device));
  return st__device_synchronize(device);
}
st_status st_device_properties_of(st_device device,
                                  st_device_properties *out) {
  ST_TRY(check_device(device));
  return st__device_properties(device, out);
}
/* -- Tensors -------------------------------------------------------------- */

static st_status check_new(st_device device, st_dtype dtype) {
  ST_TRY(check_device(device));
  if (!st__is_tensor_dtype(dtype)) {
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

/* The caller keeps data unless a tensor was made. */
st_status st_tensor_wrap(void *data, size_t nbytes, st_dtype dtype, int ndim,
                         const int64_t *sizes, const int64_t *strides,
                         int64_t offset,
                         void (*free_fn)(void *ctx, void *data,
                                         size_t nbytes),
                         void *ctx, st_tensor **out) {
  st_storage *storage = NULL;
  ST_TRY(check_new(ST_DEVICE_CPU, dtype));
  ST_TRY(st__storage_wrap(data, nbytes, free_fn, ctx, &storage));
  const st_geometry g = {ndim, sizes, strides, offset};
  const st_status status = st__tensor_new(storage, dtype, &g, out);
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
st_dtype st_tensor_dtype(const st_tensor *t) { return t->dtype; }
st_device st_tensor_device(const st_tensor *t) { return t->device; }
st_keyset st_tensor_keys(const st_tensor *t) { return st__keys(t); }
bool st_tensor_is_lazy(const st_tensor *t) { return st__is_lazy(t); }
bool st_tensor_is_wrapped(const st_tensor *t) { return st__is_wrapped(t); }
bool st_tensor_is_contiguous(const st_tensor *t, st_format f) {
  return st__is_contiguous_in(t, f);
}
bool st_tensor_is_dense(const st_tensor *t) {
  return t->flags & ST_FLAG_DENSE;
}
bool st_may_share_memory(const st_tensor *a, const st_tensor *b) {
  return st__overlap(a, b) != ST_OVERLAP_NO;
}
st_format st_tensor_suggest_format(const st_tensor *t) {
  return st__suggest_format(t, false);
}
void *st_tensor_data(const st_tensor *t) {
  return t->storage->layout ? NULL : st__first_byte(t);
}
st_place st_tensor_place(const st_tensor *t) {
  return (st_place){t->device, t->storage->layout ? NULL : t->storage->data,
                    st__bytes_of_elements(t->dtype, (uint64_t)t->offset)};
}
size_t st_tensor_nbytes(const st_tensor *t) { return st__nbytes_of_tensor(t); }
const void *st_tensor_storage(const st_tensor *t) { return t->storage; }
size_t st_tensor_storage_nbytes(const st_tensor *t) {
  return t->storage->nbytes;
}
int st_tensor_refcount(const st_tensor *t) { return st__ref_count(&t->refs); }
int st_tensor_storage_refcount(const st_tensor *t) {
  return st__ref_count(&t->storage->refs);
}

/* The offset, in elements, of the element at index from the first element. */
static st_status locate(const st_tensor *t, int n, const int64_t *index,
                        int64_t *out) {
  int64_t at = 0;
  if (n != t->ndim) {
    return st__fail(ST_BAD_INDEX, "%d indices for a tensor of %d "
                    "dimensions", n, t->ndim);
  }
  for (int i = 0; i < n; i++) {
    if (index[i] < 0 || index[i] >= t->sizes[i]) {
      return st__fail(ST_BAD_INDEX, "index %" PRId64 " is out of range for "
                      "dimension %d of shape %s", st__display_index(index[i]),
                      (int)st__display_index(i), ST_SHAPE_TEXT(t));
    }
    at += index[i] * t->strides[i];
  }
  ST_TRY(st__check_layout(t));
  if (st__is_meta(t)) return st__fail(ST_BAD_STATE, "the tensor has no data");
  *out = at;
  return ST_OK;
}

/* On a registered device, and for lazy tensors, elements are read with item and
 * written with fill_. */
static bool needs_operators(const st_tensor *t) {
  return st__is_privateuse(t) || st__is_lazy(t);
}

static bool is_recorded(const st_tensor *t) {
  return st__tls().grad && st__requires_grad(t);
}

/* Calls an operator, so that gradients flow through it. */
static st_status view_element(const st_tensor *t, int64_t at,
                              st_tensor **out) {
  return st__invoke1(
    ST_OP_as_strided,
    ST_VALUES(t, st__of_ints(NULL, 0), st__of_ints(NULL, 0), t->offset + at),
    out);
}

static st_status call_on_element(const st_tensor *t, int64_t at, st_op_id id,
                                 st_value *number, st_value *ret) {
  st_tensor *one = NULL;
  ST_TRY(view_element(t, at, &one));
  const st_value args[] = {st__of_tensor(one), *number};
  const st_status status = st__invoke(id, id == ST_OP_item ? 1 : 2, args,
                                      ret);
  st__tensor_release(&one);
  return status;
}

st_status st_tensor_get(const st_tensor *t, int n, const int64_t *index,
                        st_scalar *out) {
  int64_t at;
  ST_TRY(locate(t, n, index, &at));
  if (needs_operators(t)) {
    st_value v = st__none();
    ST_TRY(call_on_element(t, at, ST_OP_item, &v, &v));
    *out = st__scalar_of(&v);
    st__value_clear(&v);
    return ST_OK;
  }
  *out = st__element_load(t, t->offset + at);
  return ST_OK;
}

st_status st_tensor_set(st_tensor *t, int n, const int64_t *index,
                        st_scalar value) {
  int64_t at;
  ST_TRY(locate(t, n, index, &at));
  if (needs_operators(t) || is_recorded(t)) {
    st_value number = st__of_scalar(&value), ret;
    ST_TRY(call_on_element(t, at, ST_OP_fill__Scalar, &number, &ret));
    st__value_clear(&ret);
    return ST_OK;
  }
  if (st__is_subbyte(t->dtype)) {
    ST_TRY(st__check_scalar_fits(value, t->dtype));
  }
  st__element_store(t, t->offset + at, value);
  st__bump_version(t);
  return ST_OK;
}

void st_text_release(char **text) { st__text_free(text); }

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

st_status st_value_of_floats(const double *p, int n, st_value *out) {
  const st_value v = {.tag = ST_TAG_FLOATS, .len = (uint32_t)n,
                      .u.floats = p};
  return st__value_copy(&v, out);
}

st_status st_value_of_bools(const bool *p, int n, st_value *out) {
  const st_value v = {.tag = ST_TAG_BOOLS, .len = (uint32_t)n, .u.bools = p};
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

/* -- Random numbers ------------------------------------------------------- */

st_status st_generator_new(uint64_t seed, st_generator **out) {
  return st_generator_new_of(ST_MERSENNE, seed, out);
}
void st_manual_seed(uint64_t seed) {
  st_generator_seed(st_default_generator(), seed);
  st__devices_seed(seed);
}
