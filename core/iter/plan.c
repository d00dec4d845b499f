/* Plans: built iterators that can be inspected and run by hand.
 *
 * Note [Plans outlive shapes]
 * A script may change its tensors while it holds a plan, for example resize
 * them. A plan therefore retains the storages and stores the byte offset at
 * which each operand starts; it computes addresses and bounds anew on each
 * access.
 */

#include "iter/plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "iter/copy.h"

/* Steps are usually requested one by one in order, so the plan caches the last
 * few: [first, first + n) of the range [begin, end). */
enum { WINDOW = 32 };
typedef struct step_cache {
  int64_t begin, end, first, n;
  int64_t next;  /* index of the element after the last cached step */
  st_iter_step steps[WINDOW];
} step_cache;

/* The location of an operand's elements: `origin` bytes from the start of a
 * storage (retained) or, if storage is NULL, in the iterator itself. */
typedef struct location {
  st_storage *storage;
  int64_t origin;
  st_dtype dtype;
} location;

struct st_plan {
  st_iter it;
  st_plan_run run;
  location locations[ST_ITER_MAX_OPERANDS];
  step_cache step_cache;
};

/* -- Presets -------------------------------------------------------------- */

static const struct {
  const char *name;
  uint32_t flags;
  st_dtype static_dtype;
} presets[] = {
  {"default",       ST_ITER_DEFAULT,      ST_DTYPE_NONE},
  {"unary",         ST_ITER_UNARY,        ST_DTYPE_NONE},
  {"unary_float",   ST_ITER_UNARY_FLOAT,  ST_DTYPE_NONE},
  {"force_boolean", ST_ITER_DEFAULT & ~(uint32_t)ST_ITER_SAME_DTYPE, ST_BOOL},
  {"binary",        ST_ITER_BINARY,       ST_DTYPE_NONE},
  {"binary_float",  ST_ITER_BINARY_FLOAT, ST_DTYPE_NONE},
  {"comparison",    ST_ITER_COMPARE | ST_ITER_CAST_OUTPUTS, ST_BOOL},
  {"ternary",       ST_ITER_CHECK_OVERLAP | ST_ITER_RESIZE_OUTPUTS |
                    ST_ITER_SAME_DEVICE | ST_ITER_PROMOTE | ST_ITER_SAFE_CAST,
                    ST_DTYPE_NONE},
  {"nullary",       ST_ITER_NULLARY,      ST_DTYPE_NONE},
  {"reduce",        ST_ITER_REDUCE,       ST_DTYPE_NONE},
  {"copy",          ST_ITER_CHECK_OVERLAP, ST_DTYPE_NONE}
};

enum { PRESETS = sizeof presets / sizeof *presets };

const char *st_plan_preset_name(int k) {
  return k >= 0 && k < PRESETS ? presets[k].name : NULL;
}

bool st__plan_preset(const char *name, uint32_t *flags,
                     st_dtype *static_dtype) {
  for (int k = 0; k < PRESETS; k++) {
    if (strcmp(presets[k].name, name) != 0) continue;
    *flags = presets[k].flags;
    *static_dtype = presets[k].static_dtype;
    return true;
  }
  return false;
}

/* -- Building ------------------------------------------------------------- */

static st_status check_config(const st_plan_config *c) {
  if (c->noutputs < 0 || c->noutputs > c->noperands || c->noperands < 1 ||
      c->noperands > ST_ITER_MAX_OPERANDS) {
    return st__fail(ST_BAD_VALUE, "a plan has 1 to %d operands, outputs "
                    "first; not %d with %d outputs", ST_ITER_MAX_OPERANDS,
                    c->noperands, c->noutputs);
  }
  for (int i = c->noutputs; i < c->noperands; i++) {
    if (c->operands[i]) continue;
    return st__fail(ST_BAD_VALUE, "operand %d, an input, is missing",
                    (int)st__display_index(i));
  }
  if ((c->flags & ST_ITER_INT_TO_FLOAT) && !(c->flags & ST_ITER_PROMOTE)) {
    return st__fail(ST_BAD_VALUE, "promote_integer_inputs_to_float needs "
                    "promote_inputs_to_common_dtype");
  }
  return ST_OK;
}

static st_status check_static_size(const st_plan_config *c, int d) {
  const int64_t size = c->static_shape[d];
  if (size < 0) {
    return st__fail(ST_BAD_SHAPE, "static_shape has a negative size, %" PRId64,
                    size);
  }
  for (int i = 0; i < c->noperands; i++) {
    const st_tensor *t = c->operands[i];
    if (!t || (t->ndim == c->static_ndim && t->sizes[d] >= size)) continue;
    return st__fail(ST_BAD_SHAPE, "operand %d of shape %s does not cover "
                    "the static shape %s", (int)st__display_index(i),
                    ST_SHAPE_TEXT(t),
                    st__shape_text(c->static_ndim, c->static_shape,
                                   (char[160]){0}, 160));
  }
  return ST_OK;
}

/* ATen leaves this check to the caller that sets the shape; here scripts set
 * it. */
static st_status check_static_shape(const st_plan_config *c) {
  if (!c->static_shape) return ST_OK;
  if (c->static_ndim < 0 || c->static_ndim > ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "a shape has at most %d dimensions, not %d",
                    ST_MAX_DIMS, c->static_ndim);
  }
  for (int i = 0; i < c->noperands && c->static_ndim == 0; i++) {
    if (!c->operands[i] || c->operands[i]->ndim == 0) continue;
    return st__fail(ST_BAD_SHAPE, "operand %d of shape %s does not have the "
                    "static shape, which is 0-dim", (int)st__display_index(i),
                    ST_SHAPE_TEXT(c->operands[i]));
  }
  for (int d = 0; d < c->static_ndim; d++) ST_TRY(check_static_size(c, d));
  return ST_OK;
}

/* A plan accesses bytes, which are not the elements of a lazy tensor. */
static st_status check_plain(int i, const st_tensor *t) {
  return !t || !st__is_lazy(t) ? ST_OK
    : st__fail(ST_BAD_VALUE, "operand %d is a lazy conjugate or negative or a "
               "zero tensor: clone it first", (int)st__display_index(i));
}

static st_status check_operands(const st_plan_config *c) {
  for (int i = 0; i < c->noperands; i++) {
    ST_TRY(check_plain(i, c->operands[i]));
  }
  return ST_OK;
}

static void add_operands(st_iter *it, const st_plan_config *c) {
  it->static_dtype = c->static_dtype;
  if (c->has_static_device) it->static_device = c->static_device;
  it->static_shape = c->static_shape;
  it->static_ndim = c->static_ndim;
  for (int i = 0; i < c->noperands; i++) {
    if (i < c->noutputs) st__iter_output(it, c->operands[i], c->dtype);
    else st__iter_input(it, c->operands[i]);
  }
}

/* On the meta device too: a storage has bounds even if it has no bytes. */
static void init_location(const st_iter_operand *op, location *at) {
  if (st__is_inline_scalar(op)) {
    *at = (location){NULL, 0, op->target};
    return;
  }
  const st_tensor *t = op->tensor;
  const st_dtype dtype = t->dtype;
  const char *start = t->storage->data;
  const int64_t origin = start && op->data
                         ? op->data - start
                         : t->offset * (int64_t)st__itemsize(dtype);
  *at = (location){t->storage, origin, dtype};
  st__storage_retain(at->storage);
}

st_status st__plan_new(const st_plan_config *c, st_plan **out) {
  ST_TRY(check_config(c));
  ST_TRY(check_operands(c));
  ST_TRY(check_static_shape(c));
  st_plan *p = st__alloc_zero(ST_MEM_SCRATCH, sizeof *p);
  if (!p) return ST_NO_MEMORY;
  st__iter_init(&p->it, c->flags | ST_ITER_TEMPORARIES);
  add_operands(&p->it, c);
  const st_status status = st__iter_build(&p->it);
  if (status != ST_OK) {
    st_plan_release(&p);
    return status;
  }
  for (int i = 0; i < p->it.noperands; i++) {
    init_location(&p->it.op[i], &p->locations[i]);
  }
  *out = p;
  return ST_OK;
}

st_status st__plan_of(const st_iter *it, const st_plan_run *run,
                      st_plan **out) {
  st_plan *p = st__alloc_zero(ST_MEM_SCRATCH, sizeof *p);
  if (!p) return ST_NO_MEMORY;
  const st_status status = st__iter_copy(it, &p->it);
  if (status != ST_OK) {
    st_plan_release(&p);
    return status;
  }
  p->run = *run;
  for (int i = 0; i < it->noperands; i++) {
    init_location(&p->it.op[i], &p->locations[i]);
  }
  *out = p;
  return ST_OK;
}

void st_plan_release(st_plan **p) {
  if (!*p) return;
  for (int i = 0; i < ST_ITER_MAX_OPERANDS; i++) {
    st__storage_release(&(*p)->locations[i].storage);
  }
  st__iter_release(&(*p)->it);
  st__free(ST_MEM_SCRATCH, *p, sizeof **p);
  *p = NULL;
}

const st_iter *st__plan_iter(const st_plan *p) { return &p->it; }

/* ORDER st_fast_setup, st_inner */
static const char *const fast_names[] = {
  "none", "contiguous", "channels_last", "non_overlapping_dense"
};
static const char *const inner_names[] = {"vector", "scalar", "strided"};

st_plan_facts st_plan_facts_of(const st_plan *p) {
  const st_iter *it = &p->it;
  return (st_plan_facts){
    .run = p->run, .noutputs = it->noutputs, .noperands = it->noperands,
    .ndim = it->ndim, .shape = it->shape, .view_offset = it->view_offset,
    .common_ndim = it->common_ndim, .common_shape = it->common_shape,
    .nperm = it->nperm, .perm = it->perm,
    .fast = fast_names[it->fast],
    .inner = inner_names[st__iter_inner(it)],
    .numel = it->numel,
    .num_output_elements = st__iter_num_output_elements(it),
    .num_reduce_dims = st__iter_num_reduce_dims(it),
    .dim_to_split = st__iter_dim_to_split(it),
    .common_dtype = it->common_dtype,
    .is_coalesced = it->coalesced,
    .is_contiguous = st__iter_is_contiguous(it),
    .has_contiguous_first_dim = st__iter_has_contiguous_first_dim(it),
    .can_use_32bit = st__iter_can_use_32bit(it),
    .is_tiled_copy = st__copy_is_tiled(it),
    .accumulates = it->accumulate, .is_final = it->final_output};
}

/* -- Elements ------------------------------------------------------------- */

/* The range of bytes that the loop may access, relative to the operand's first
 * element. */
static void bounds(const st_plan *p, int i, int64_t *low, int64_t *high) {
  const location *at = &p->locations[i];
  *low = -at->origin;
  *high = at->storage ? (int64_t)at->storage->nbytes - at->origin
                      : (int64_t)sizeof p->it.op[i].scalar;
}

void st__plan_operand(const st_plan *p, int i, st_plan_operand *out) {
  const st_iter_operand *op = &p->it.op[i];
  *out = (st_plan_operand){
    .dtype = p->locations[i].dtype, .seen_as = op->target,
    .numel = op->tensor->numel,
    .is_output = op->is_output, .is_read_write = op->is_read_write,
    .is_resized = op->will_resize,
    .is_temporary = op->original != NULL || st__is_inline_scalar(op)};
  bounds(p, i, &out->low, &out->high);
}

st_place st__plan_place(const st_plan *p, int i) {
  const location *at = &p->locations[i];
  if (!at->storage) return (st_place){ST_DEVICE_CPU, NULL, 0};
  return (st_place){(st_device)at->storage->device, at->storage->data,
                    (size_t)at->origin};
}

/* The address of bytes [low, high), which are relative to operand i's first
 * element. */
static st_status locate(const st_plan *p, int i, int64_t low, int64_t high,
                        char **out) {
  const location *at = &p->locations[i];
  int64_t first, last;
  bounds(p, i, &first, &last);
  if (low < first || high > last) {
    return st__fail(ST_BAD_INDEX, "bytes %" PRId64 " to %" PRId64 " from the "
                    "first element of operand %d are outside of its storage, "
                    "which has %" PRId64 " to %" PRId64, low, high,
                    (int)st__display_index(i), first, last);
  }
  if (at->storage && at->storage->device != ST_DEVICE_CPU) {
    return st__fail(ST_BAD_STATE, "operand %d is on device '%s', whose memory "
                    "the CPU cannot access", (int)st__display_index(i),
                    st__device_name(at->storage->device));
  }
  char *data = at->storage ? at->storage->data + at->origin
                           : (char *)(uintptr_t)p->it.op[i].scalar;
  *out = data + low;
  return ST_OK;
}

/* The same for one element. */
static st_status locate_element(const st_plan *p, int i, int64_t offset,
                                char **out) {
  int64_t end;
  if (!st__add_sizes(offset, st__itemsize(p->locations[i].dtype), &end)) {
    end = INT64_MAX;
  }
  return locate(p, i, offset, end, out);
}

st_status st__plan_get(const st_plan *p, int i, int64_t offset,
                       st_scalar *out) {
  char *data = NULL;
  ST_TRY(locate_element(p, i, offset, &data));
  *out = st__scalar_load(p->locations[i].dtype, data);
  return ST_OK;
}

st_status st__plan_set(const st_plan *p, int i, int64_t offset,
                       st_scalar value) {
  char *data = NULL;
  ST_TRY(locate_element(p, i, offset, &data));
  st__scalar_store(value, p->locations[i].dtype, data);
  return ST_OK;
}

/* -- Steps ---------------------------------------------------------------- */

/* Loads the steps after those in the cache. */
static bool advance(const st_iter *it, step_cache *w) {
  w->first += w->n;
  w->n = st__iter_steps(it, w->next, w->end, w->steps, WINDOW);
  for (int64_t i = 0; i < w->n; i++) {
    w->next += w->steps[i].n0 * w->steps[i].n1;
  }
  return w->n > 0;
}

bool st__plan_step(const st_plan *p, int64_t begin, int64_t end, int64_t k,
                   int64_t size[2], int64_t *offsets) {
  step_cache *w = &((st_plan *)(uintptr_t)p)->step_cache;
  if (begin < 0 || end > p->it.numel || k < 0) return false;
  if (begin != w->begin || end != w->end || k < w->first) {
    *w = (step_cache){.begin = begin, .end = end, .next = begin};
  }
  while (k >= w->first + w->n) {
    if (!advance(&p->it, w)) return false;
  }
  const st_iter_step *step = &w->steps[k - w->first];
  size[0] = step->n0;
  size[1] = step->n1;
  memcpy(offsets, step->offset, (size_t)p->it.noperands * sizeof *offsets);
  return true;
}

/* Extends [low, high) by n elements along a dimension; false on an overflow. */
static bool widen(int64_t *low, int64_t *high, int64_t n, int64_t stride) {
  int64_t span;
  if (n < 1 || !st__mul_sizes(n - 1, stride, &span)) return false;
  int64_t *edge = span < 0 ? low : high;
  return st__add_sizes(*edge, span, edge);
}

static st_status find_step(const st_plan *p, int i, const int64_t size[2],
                           int64_t offset, void **data) {
  const int64_t *stride = p->it.op[i].stride;
  int64_t low = offset, high;
  char *first = NULL;
  bool ok = st__add_sizes(offset, st__itemsize(p->locations[i].dtype), &high);
  for (int d = 0; d < 2 && ok; d++) {
    ok = widen(&low, &high, size[d], d < p->it.ndim ? stride[d] : 0);
  }
  if (!ok) {
    return st__fail(ST_BAD_INDEX, "the plan has no step of %" PRId64 " x %"
                    PRId64 " elements", size[0], size[1]);
  }
  ST_TRY(locate(p, i, low, high, &first));
  *data = first + (offset - low);
  return ST_OK;
}

st_status st__plan_data(const st_plan *p, const int64_t size[2],
                        const int64_t *offsets, void **data) {
  for (int i = 0; i < p->it.noperands; i++) {
    ST_TRY(find_step(p, i, size, offsets[i], &data[i]));
  }
  return ST_OK;
}

/* -- Splitting ------------------------------------------------------------ */

static st_status check_dim(const st_plan *p, int dim) {
  if (dim >= 0 && dim < p->it.ndim) return ST_OK;
  return st__fail(ST_BAD_DIM, "the plan has no dimension %" PRId64 ", only %d",
                  st__display_index(dim), p->it.ndim);
}

/* Moves the start of each operand; strides are those of one dimension. */
static void advance_data(st_plan *p, const int64_t *strides, int64_t start) {
  for (int i = 0; i < p->it.noperands; i++) {
    p->locations[i].origin += start * strides[i];
  }
  p->step_cache = (step_cache){.n = 0};
}

static void get_strides(const st_iter *it, int dim, int64_t *strides) {
  for (int i = 0; i < it->noperands; i++) strides[i] = it->op[i].stride[dim];
}

st_status st_plan_narrow(st_plan *p, int dim, int64_t start, int64_t size) {
  int64_t strides[ST_ITER_MAX_OPERANDS];
  ST_TRY(check_dim(p, dim));
  const int64_t room = p->it.shape[dim];
  if (start < 0 || size < 1 || start > room || size > room - start) {
    return st__fail(ST_BAD_INDEX, "dimension %" PRId64 " of the plan has size %"
                    PRId64 " and cannot be narrowed to %" PRId64 " indices "
                    "from %" PRId64, st__display_index(dim), room, size,
                    st__display_index(start));
  }
  get_strides(&p->it, dim, strides);
  st__iter_narrow(&p->it, dim, start, size);
  advance_data(p, strides, start);
  return ST_OK;
}

static void copy_locations(const st_plan *from, st_plan *to) {
  for (int i = 0; i < from->it.noperands; i++) {
    to->locations[i] = from->locations[i];
    if (to->locations[i].storage) {
      st__storage_retain(to->locations[i].storage);
    }
  }
}

st_status st_plan_split(st_plan *p, int dim, st_plan **first) {
  int64_t strides[ST_ITER_MAX_OPERANDS];
  ST_TRY(check_dim(p, dim));
  const int64_t half = p->it.shape[dim] / 2;
  if (half < 1) {
    return st__fail(ST_BAD_INDEX, "dimension %" PRId64 " of the plan has size %"
                    PRId64 " and cannot be split", st__display_index(dim),
                    p->it.shape[dim]);
  }
  st_plan *q = st__alloc_zero(ST_MEM_SCRATCH, sizeof *q);
  if (!q) return ST_NO_MEMORY;
  get_strides(&p->it, dim, strides);
  st__iter_init(&q->it, p->it.flags);
  const st_status status = st__iter_split(&p->it, dim, &q->it);
  if (status != ST_OK) {
    st_plan_release(&q);
    return status;
  }
  copy_locations(p, q);
  advance_data(p, strides, half);
  *first = q;
  return ST_OK;
}

st_status st_plan_with_32bit(st_plan *p, st_plan_fn fn, void *ctx) {
  while (!st__iter_can_use_32bit(&p->it)) {
    st_plan *first = NULL;
    ST_TRY(st_plan_split(p, st__iter_dim_to_split(&p->it), &first));
    const st_status status = st_plan_with_32bit(first, fn, ctx);
    st_plan_release(&first);
    if (status != ST_OK) return status;
  }
  return fn(p, ctx);
}

st_status st__plan_remove_operand(st_plan *p, int i) {
  if (p->it.noperands == 1) {
    return st__fail(ST_BAD_VALUE, "a plan has at least one operand");
  }
  st__storage_release(&p->locations[i].storage);
  st__iter_remove_operand(&p->it, i);
  const int n = p->it.noperands;
  for (int k = i; k < n; k++) p->locations[k] = p->locations[k + 1];
  p->locations[n] = (location){NULL, 0, ST_DTYPE_NONE};
  p->step_cache = (step_cache){.n = 0};
  return ST_OK;
}

st_status st__plan_replace_operand(st_plan *p, int i, const st_tensor *t) {
  location *at = &p->locations[i];
  ST_TRY(check_plain(i, t));
  if (t->dtype != at->dtype) {
    return st__fail(ST_BAD_DTYPE, "operand %" PRId64 " has dtype %s, but the "
                    "new tensor has %s", st__display_index(i),
                    st__dtype_name(at->dtype), st__dtype_name(t->dtype));
  }
  st__storage_retain(t->storage);
  st__storage_release(&at->storage);
  *at = (location){t->storage, t->offset * (int64_t)st__itemsize(at->dtype),
                   at->dtype};
  st__iter_replace_data(&p->it, i, st__data(t));
  return ST_OK;
}

/* -- After the loop ------------------------------------------------------- */

/* Checked, unlike the cast of a running operator: Note [Plans outlive
 * shapes]. */
st_status st_plan_cast_outputs(st_plan *p) {
  for (int i = 0; i < p->it.noutputs; i++) {
    const st_iter_operand *op = &p->it.op[i];
    if (op->original) ST_TRY(st__copy(op->original, op->tensor));
  }
  return ST_OK;
}
