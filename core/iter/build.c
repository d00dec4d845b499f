/* Builds an iterator: the stages of the pipeline in their order (I20).
 */

#include "iter/build.h"

#include "base/memory.h"
#include "iter/copy.h"
#include "iter/loop_report.h"

/* -- Operands ------------------------------------------------------------- */

/* Does not clear the large arrays, because it runs on every operator call. */
void st__iter_init(st_iter *it, uint32_t flags) {
  it->flags = flags;
  it->noperands = it->noutputs = it->ndim = it->nperm = it->ncasts = 0;
  it->shape = it->common_shape = it->view_offset = it->slots;
  it->common_ndim = it->static_ndim = 0;
  it->numel = 0;
  it->common_dtype = it->static_dtype = ST_DTYPE_NONE;
  it->kernel = (st_kernel_key){ST_K_NONE, 0};
  it->device = ST_DEVICE_CPU;
  it->static_device = ST_DEVICE_COUNT;
  it->static_shape = NULL;
  it->fast = ST_FAST_NONE;
  it->is_meta = it->coalesced = it->same_shape = it->accumulate = false;
  it->final_output = true;
  it->heap = NULL;
  it->heap_size = 0;
}

static void add_operand(st_iter *it, const st_tensor *t, st_dtype target,
                        bool is_output) {
  ST_ASSERT(it->noperands < ST_ITER_MAX_OPERANDS);
  st_iter_operand *op = &it->op[it->noperands++];
  op->tensor = (st_tensor *)(uintptr_t)t;
  op->original = NULL;
  op->stride = NULL;
  op->data = NULL;
  op->target = target;
  op->owns_tensor = op->owns_original = false;
  op->casts = false;
  op->is_output = is_output;
  op->will_resize = op->is_read_write = false;
}

void st__iter_output(st_iter *it, const st_tensor *t, st_dtype dtype) {
  ST_ASSERT(it->noutputs == it->noperands);
  add_operand(it, t, dtype, true);
  it->noutputs++;
}

void st__iter_input_as(st_iter *it, const st_tensor *t, st_dtype dtype) {
  ST_ASSERT(t);
  add_operand(it, t, dtype, false);
}

void st__iter_input(st_iter *it, const st_tensor *t) {
  st__iter_input_as(it, t, ST_DTYPE_NONE);
}

void st__iter_release(st_iter *it) {
  for (int i = 0; i < it->noperands; i++) {
    st_iter_operand *op = &it->op[i];
    if (op->owns_tensor) st__tensor_release(&op->tensor);
    if (op->owns_original) st__tensor_release(&op->original);
  }
  it->noperands = it->noutputs = 0;
  if (it->heap) st__free(ST_MEM_SCRATCH, it->heap, it->heap_size);
  it->heap = NULL;
}

/* The iterator still borrows the tensor that it returns. */
st_tensor *st__iter_take_output(st_iter *it, int i) {
  st_iter_operand *op = &it->op[i];
  st_tensor *t = op->original ? op->original : op->tensor;
  bool *owns = op->original ? &op->owns_original : &op->owns_tensor;
  if (!*owns) st__tensor_retain(t);
  *owns = false;
  return t;
}

static st_status populate(st_iter *it) {
  const bool retain = !st__iter_has(it, ST_ITER_BORROWED);
  const st_tensor *bare = NULL;
  it->is_meta = it->static_device == ST_DEVICE_META;
  for (int i = 0; i < it->noperands; i++) {
    st_iter_operand *op = &it->op[i];
    if (!op->tensor) continue;
    it->is_meta |= st__is_meta(op->tensor);
    if (st__lacks_memory(op->tensor)) bare = op->tensor;
    if (!retain) continue;
    st__tensor_retain(op->tensor);
    op->owns_tensor = true;
  }
  return bare ? st__refuse_memoryless(bare) : ST_OK;
}

/* -- Overlap -------------------------------------------------------------- */

static void mark_read_write(st_iter *it) {
  for (int i = 0; i < it->noutputs; i++) {
    st_iter_operand *out = &it->op[i];
    if (!out->tensor) continue;
    for (int j = it->noutputs; j < it->noperands; j++) {
      out->is_read_write |= it->op[j].tensor == out->tensor;
    }
  }
}

/* Sets *shared if an input may overlap an output and may need a copy. */
static st_status check_overlap(const st_iter *it, bool *shared) {
  for (int i = 0; i < it->noutputs; i++) {
    const st_tensor *out = it->op[i].tensor;
    if (!out) continue;
    ST_TRY(st__check_internal_overlap(out));
    for (int j = 0; j < i; j++) {
      if (!it->op[j].tensor) continue;
      ST_TRY(st__check_no_overlap(out, it->op[j].tensor));
    }
    for (int j = it->noutputs; j < it->noperands; j++) {
      const st_tensor *in = it->op[j].tensor;
      *shared |= in != out && st__may_overlap(in, out);
    }
  }
  return ST_OK;
}

/* After its resize, out covers its storage from its offset on, contiguously in
 * some order of dimensions. */
static bool will_overlap(const st_iter *it, const st_tensor *out,
                         const st_tensor *in) {
  int64_t size = it->numel, stride = 1;
  const st_tensor line = {
    .dtype = out->dtype, .flags = ST_FLAG_DENSE, .ndim = 1,
    .device = out->device,
    .offset = out->offset, .numel = size, .storage = out->storage,
    .sizes = &size, .strides = &stride };
  return st__overlap(&line, in) != ST_OVERLAP_NO;
}

/* The output, if any, whose writes would change `in` before it is read. Outputs
 * with a temporary do not: they are copied after all inputs have been read. */
static const st_tensor *overlapped_by(const st_iter *it,
                                      const st_iter_operand *in) {
  if (in->original || in->data) return NULL;
  for (int i = 0; i < it->noutputs; i++) {
    const st_iter_operand *op = &it->op[i];
    const st_tensor *out = op->tensor;
    if (!out || out == in->tensor || op->original) continue;
    if (op->will_resize ? will_overlap(it, out, in->tensor)
                        : st__overlap(out, in->tensor) == ST_OVERLAP_SOME) {
      return out;
    }
  }
  return NULL;
}

/* -- Temporaries of inputs ------------------------------------------------ */

/* A 0-dim operand needs no temporary tensor: its converted value is stored in
 * the operand. On the meta device the value is 0. */
static void convert_scalar(st_iter_operand *op, st_dtype dtype,
                           bool is_meta) {
  static const int64_t none[4] = {0};
  char *data[2] = {(char *)op->scalar, st__data(op->tensor)};
  op->scalar[0] = op->scalar[1] = 0;
  if (!is_meta) {
    st__run_loop_once(st__copy_kernel(dtype, op->target), data, none, NULL);
  }
  op->data = (char *)op->scalar;
  op->target = dtype;
}

/* Replaces op by a copy in dtype with the same layout. A 0-dim operand needs no
 * allocation. */
static st_status copy_input(st_iter *it, st_iter_operand *op, st_dtype dtype) {
  const st_tensor *t = op->tensor;
  st_tensor *temporary = NULL;
  int64_t strides[ST_MAX_DIMS];
  if (t->ndim == 0 && !st__is_privateuse(t)) {
    convert_scalar(op, dtype, it->is_meta);
    return ST_OK;
  }
  st__preserved_strides(t, strides);
  ST_TRY(st__tensor_empty_strided(st__iter_temporary_device(it), dtype, t->ndim,
                                  t->sizes, strides, &temporary));
  const st_status status = st__copy_unchecked(temporary, t);
  if (status != ST_OK) {
    st__tensor_release(&temporary);
    return status;
  }
  st__iter_use_temporary(it, op, temporary, dtype);
  return ST_OK;
}

/* Inputs whose dtype the loop neither reads nor casts. */
static st_status convert_inputs(st_iter *it) {
  for (int i = it->noutputs; i < it->noperands; i++) {
    st_iter_operand *op = &it->op[i];
    if (op->target != op->seen) ST_TRY(copy_input(it, op, op->seen));
  }
  return ST_OK;
}

/* Note [Overlapping inputs are copied]
 * An input that shares memory with an output is read from a copy, unless both
 * are the same elements in the same order. The overlap is decided exactly, so
 * no other call pays for a copy. */
static st_status copy_overlapping(st_iter *it) {
  for (int j = it->noutputs; j < it->noperands; j++) {
    st_iter_operand *in = &it->op[j];
    const st_tensor *out = overlapped_by(it, in);
    if (!out) continue;
    ST_TRY(copy_input(it, in, in->target));
  }
  return ST_OK;
}

/* -- Shape ---------------------------------------------------------------- */

static bool shapes_count(const st_iter *it, const st_iter_operand *op) {
  return op->tensor &&
         !(op->is_output && st__iter_has(it, ST_ITER_RESIZE_OUTPUTS));
}

/* Reserves common_shape, shape, view_offset and the strides of all operands. */
static st_status reserve(st_iter *it) {
  int ndim = it->static_shape ? it->static_ndim : 0;
  for (int i = 0; i < it->noperands && !it->static_shape; i++) {
    const st_iter_operand *op = &it->op[i];
    if (shapes_count(it, op) && op->tensor->ndim > ndim) {
      ndim = op->tensor->ndim;
    }
  }
  const int need = ndim * (3 + it->noperands);
  int64_t *slots = it->slots;
  if (need > ST_ITER_INLINE) {
    it->heap_size = (size_t)need * sizeof *slots;
    it->heap = slots = st__alloc(ST_MEM_SCRATCH, it->heap_size);
    if (!slots) return ST_NO_MEMORY;
  }
  it->common_shape = slots;
  it->shape = slots + ndim;
  it->view_offset = slots + 2 * ndim;
  for (int d = 0; d < ndim; d++) it->view_offset[d] = 0;
  for (int i = 0; i < it->noperands; i++) {
    it->op[i].stride = slots + ndim * (3 + i);
  }
  return ST_OK;
}

static void copy_dims(int n, int64_t *to, const int64_t *from) {
  memmove(to, from, (size_t)n * sizeof *to);
}

static st_status compute_shape(st_iter *it) {
  bool has_scalars = false, has_tensors = false;
  it->same_shape = true;
  for (int i = 0; i < it->noperands; i++) {
    const st_tensor *t = it->op[i].tensor;
    if (!shapes_count(it, &it->op[i])) continue;
    if (t->ndim == 0) has_scalars = true;
    else has_tensors = true;
    if (it->common_ndim == 0) {
      copy_dims(t->ndim, it->common_shape, t->sizes);
      it->common_ndim = t->ndim;
    } else if (!st__has_sizes(t, it->common_ndim, it->common_shape)) {
      it->same_shape = false;
      ST_TRY(st__broadcast_shape(it->common_ndim, it->common_shape, t->ndim,
                                 t->sizes, it->common_shape,
                                 &it->common_ndim));
    }
  }
  if (has_scalars && has_tensors) it->same_shape = false;
  return ST_OK;
}

static st_status finish_shape(st_iter *it) {
  ST_TRY(reserve(it));
  if (it->static_shape) {
    copy_dims(it->static_ndim, it->common_shape, it->static_shape);
    it->common_ndim = it->static_ndim;
    it->static_shape = NULL; /* borrowed until build */
    it->same_shape = false;
    for (int i = 0; i < it->noperands; i++) {
      const st_tensor *t = it->op[i].tensor;
      ST_ASSERT(!t || t->ndim == it->common_ndim);
    }
  } else {
    ST_TRY(compute_shape(it));
  }
  return st__numel_of(it->common_ndim, it->common_shape, &it->numel);
}

static st_status mark_resize(st_iter *it) {
  for (int i = 0; i < it->noutputs; i++) {
    st_iter_operand *op = &it->op[i];
    if (!op->tensor ||
        st__has_sizes(op->tensor, it->common_ndim, it->common_shape)) {
      continue;
    }
    if (st__iter_has(it, ST_ITER_RESIZE_OUTPUTS) && !op->is_read_write) {
      op->will_resize = true;
    } else if (!st__iter_has(it, ST_ITER_REDUCTION)) {
      return st__fail(ST_BAD_SHAPE, "the output has shape %s, but the "
                      "operands broadcast to %s", ST_SHAPE_TEXT(op->tensor),
                      st__shape_text(it->common_ndim, it->common_shape,
                                     (char[160]){0}, 160));
    }
  }
  return ST_OK;
}

/* -- Planned strides ------------------------------------------------------ */

/* Note [Planned strides]
 * In ATen an operand that casts gets a whole temporary, whose strides take part
 * in the choice of the dimension order and of the layout of new outputs. To
 * give the same results, both are decided here as if there were temporaries.
 * After the outputs are made, an iterator that casts is laid out again by the
 * actual strides of its tensors, which are those it walks. */

/* In elements: the tensor's strides, or those of ATen's temporary. */
static const int64_t *planned_strides(const st_iter_operand *op,
                                      int64_t *room) {
  const st_tensor *t = op->tensor;
  if (!op->casts) return t->strides;
  if (op->is_output) st__contiguous_strides(t->ndim, t->sizes, room);
  else st__preserved_strides(t, room);
  return room;
}

static unsigned planned_flags(const st_iter_operand *op, const int64_t *s) {
  const st_tensor *t = op->tensor;
  return op->casts ? st__compute_flags(t->ndim, t->sizes, s) : t->flags;
}

/* -- Fast set-up ---------------------------------------------------------- */

/* The layout of outputs to be allocated. */
typedef struct layout {
  st_format format;       /* if strides is NULL */
  const int64_t *strides; /* in elements, in the original order of dimensions */
  int64_t own[ST_MAX_DIMS];
} layout;

/* The order of the tests matters: contiguous precedes channels_last, and dense
 * operands qualify only if all strides are equal. */
static st_fast_setup fast_setup(const st_iter *it, layout *l,
                                const int64_t **dense) {
  if (st__iter_has(it, ST_ITER_REDUCTION) || !it->same_shape) {
    return ST_FAST_NONE;
  }
  int64_t room[ST_MAX_DIMS];
  unsigned flags = UINT8_MAX;
  bool agree = true;
  for (int i = it->noperands - 1; i >= 0; i--) {
    const st_iter_operand *op = &it->op[i];
    if (!st__iter_is_fixed(op)) continue;
    const int64_t *strides = planned_strides(op, *dense ? room : l->own);
    flags &= planned_flags(op, strides);
    if (!*dense) *dense = strides;
    else agree = agree && st__same_dims(op->tensor->ndim, *dense, strides);
  }
  if (flags & ST_FLAG_CONTIGUOUS) return ST_FAST_CONTIGUOUS;
  if (st__iter_has(it, ST_ITER_LINEAR)) return ST_FAST_NONE;
  if (flags & ST_FLAG_CL_CONTIGUOUS) return ST_FAST_CHANNELS_LAST;
  return (flags & ST_FLAG_DENSE) && agree ? ST_FAST_DENSE : ST_FAST_NONE;
}

static bool set_up_fast(st_iter *it, layout *l) {
  const int64_t *dense = NULL;
  it->fast = fast_setup(it, l, &dense);
  if (it->fast == ST_FAST_NONE) return false;
  if (it->fast == ST_FAST_CHANNELS_LAST) l->format = ST_FORMAT_CHANNELS_LAST;
  if (it->fast == ST_FAST_DENSE) l->strides = dense;
  it->coalesced = it->common_ndim > 1;
  it->ndim = it->common_ndim > 0;
  if (it->ndim == 0) return true;
  it->shape[0] = it->numel;
  for (int i = 0; i < it->noperands; i++) {
    it->op[i].stride[0] = (int64_t)st__itemsize(it->op[i].target);
  }
  return true;
}

/* -- Strides -------------------------------------------------------------- */

static void compute_strides(const st_iter *it, const st_iter_operand *op,
                            const int64_t *strides, st_dtype dtype,
                            bool static_shape) {
  const st_tensor *t = op->tensor;
  const int64_t size = (int64_t)st__itemsize(dtype);
  const int skip = it->common_ndim - t->ndim;
  for (int d = 0; d < skip; d++) op->stride[d] = 0;
  for (int d = 0; d < t->ndim; d++) {
    const bool repeats = !static_shape && t->sizes[d] == 1 &&
                         it->common_shape[skip + d] != 1;
    op->stride[skip + d] = repeats ? 0 : st__wrapping_mul(strides[d], size);
  }
}

static void plan_strides(st_iter *it, bool static_shape) {
  int64_t room[ST_MAX_DIMS];
  for (int i = 0; i < it->noperands; i++) {
    const st_iter_operand *op = &it->op[i];
    if (!st__iter_is_fixed(op)) continue;
    compute_strides(it, op, planned_strides(op, room), op->target,
                    static_shape);
  }
}

/* Outputs to be allocated follow the iteration order. */
static void lay_out(st_iter *it, layout *l) {
  bool inverted = true;
  int64_t next = 1;
  for (int d = 0; d < it->ndim; d++) {
    l->own[it->perm[d]] = next;
    inverted = inverted && it->perm[d] == it->ndim - 1 - d;
    next = st__wrapping_mul(next, it->shape[d]);
  }
  if (!inverted) l->strides = l->own;
  for (int i = 0; i < it->noutputs; i++) {
    st_iter_operand *op = &it->op[i];
    if (st__iter_is_fixed(op)) continue;
    next = (int64_t)st__itemsize(op->target);
    for (int d = 0; d < it->ndim; d++) {
      op->stride[d] = next;
      next = st__wrapping_mul(next, it->shape[d]);
    }
  }
}

/* -- Outputs -------------------------------------------------------------- */

static st_status make_output(const st_iter *it, st_iter_operand *op,
                             const layout *l) {
  const int n = it->common_ndim;
  if (st__is_subbyte(op->target)) {
    return st__fail(ST_BAD_DTYPE, "not implemented for dtype %s",
                    st__dtype_name(op->target));
  }
  const st_device device = it->static_device != ST_DEVICE_COUNT
                           ? it->static_device : it->device;
  if (l->strides) {
    ST_TRY(st__tensor_empty_strided(device, op->target, n, it->common_shape,
                                    l->strides, &op->tensor));
  } else {
    ST_TRY(st__tensor_empty(device, op->target, n, it->common_shape,
                            l->format, &op->tensor));
  }
  op->owns_tensor = true;
  return ST_OK;
}

static st_status resize(const st_iter *it, st_tensor *t, const layout *l) {
  const int n = it->common_ndim;
  ST_TRY(st__tensor_resize_out(t, n, it->common_shape,
                               l->strides ? ST_FORMAT_CONTIGUOUS
                                          : l->format));
  return l->strides ? st__tensor_restride(t, n, it->common_shape, l->strides,
                                          t->offset)
                    : ST_OK;
}

/* Allocates new outputs first and resizes the caller's last. When a resize
 * fails, only the shapes of outputs resized before it have changed. */
static st_status make_outputs(st_iter *it, const layout *l) {
  for (int i = 0; i < it->noutputs; i++) {
    if (!it->op[i].tensor) ST_TRY(make_output(it, &it->op[i], l));
  }
  for (int i = 0; i < it->noutputs; i++) {
    const st_iter_operand *op = &it->op[i];
    if (!op->will_resize) continue;
    ST_TRY(resize(it, op->original ? op->original : op->tensor, l));
  }
  return ST_OK;
}

/* See Note [Planned strides]. All outputs have their final sizes here. */
static void plan_walk(st_iter *it, bool static_shape) {
  for (int i = 0; i < it->noperands; i++) {
    st_iter_operand *op = &it->op[i];
    const st_dtype own = st__iter_own_dtype(op);
    op->will_resize = false;
    compute_strides(it, op, op->tensor->strides, own, static_shape);
  }
  st__iter_reorder(it);
  st__iter_coalesce(it);
}

/* This is the last stage, because a resize may move a storage. */
static void find_data(st_iter *it) {
  for (int i = 0; i < it->noperands; i++) {
    st_iter_operand *op = &it->op[i];
    if (!op->data && !st__is_privateuse(op->tensor)) {
      op->data = st__data(op->tensor);
    }
  }
}

/* -- Build ---------------------------------------------------------------- */

st_status st__iter_build(st_iter *it) {
  const bool static_shape = it->static_shape != NULL;
  bool shared = false;
  layout l;
  l.format = ST_FORMAT_CONTIGUOUS;
  l.strides = NULL;
  ST_TRY(populate(it));
  mark_read_write(it);
  if (st__iter_has(it, ST_ITER_CHECK_OVERLAP)) {
    ST_TRY(check_overlap(it, &shared));
  }
  ST_TRY(finish_shape(it));
  if (!static_shape) ST_TRY(mark_resize(it));
  ST_TRY(st__iter_types(it));
  ST_TRY(convert_inputs(it));
  if (shared) ST_TRY(copy_overlapping(it));
  if (!set_up_fast(it, &l)) {
    plan_strides(it, static_shape);
    st__iter_reorder(it);
    lay_out(it, &l);
    if (!it->is_meta || st__is_dry_run()) st__iter_coalesce(it);
  }
  ST_TRY(make_outputs(it, &l));
  if (it->is_meta && !st__is_dry_run()) return ST_OK;
  if (it->ncasts > 0) plan_walk(it, static_shape);
  find_data(it);
  return ST_OK;
}
