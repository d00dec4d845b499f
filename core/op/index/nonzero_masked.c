/* Indexing by masks: nonzero, masked_select, masked_scatter.
 *
 * Elements are visited in logical order, in chunks that run in parallel. A
 * first pass counts the elements set in each chunk; a second writes each chunk
 * at the prefix sum of the counts.
 */

#include <inttypes.h>

#include "base/threads.h"
#include "op/create/factory.h"
#include "op/index/index.h"
#include "tensor/view.h"

enum { MAX_CHUNKS = 256 };

/* -- Ordered iteration in chunks ------------------------------------------ */

typedef struct chunked_loop {
  st_iter it;                      /* over the elements, in logical order */
  st_loop loop;
  int chunks;
  int64_t size;                    /* elements per chunk */
  int64_t before[MAX_CHUNKS + 1];  /* elements set in earlier chunks */
} chunked_loop;

/* mask may be NULL. Only masked_scatter writes to the elements. */
static st_status chunked_loop_init(chunked_loop *w, const st_tensor *elements,
                                   const st_tensor *mask) {
  st__iter_init(&w->it, ST_ITER_SAME_DEVICE | ST_ITER_LINEAR);
  st__iter_output(&w->it, elements, ST_DTYPE_NONE);
  if (mask) st__iter_input(&w->it, mask);
  const st_status status = st__iter_build(&w->it);
  if (status != ST_OK) {
    st__iter_release(&w->it);
    return status;
  }
  w->chunks = st__num_shares(w->it.numel, ST_GRAIN);
  if (w->chunks > MAX_CHUNKS) w->chunks = MAX_CHUNKS;
  w->size = (w->it.numel + w->chunks - 1) / w->chunks;
  return ST_OK;
}

static void chunked_loop_release(chunked_loop *w) { st__iter_release(&w->it); }

static int64_t chunk_begin(const chunked_loop *w, int64_t chunk) {
  const int64_t begin = chunk * w->size;
  return begin < w->it.numel ? begin : w->it.numel;
}

static void run_chunk(const chunked_loop *w, st_loop loop, const void *ctx,
                      int64_t chunk) {
  const int64_t begin = chunk_begin(w, chunk);
  const int64_t end = chunk_begin(w, chunk + 1);
  if (begin < end) st__iter_serial_range(&w->it, loop, ctx, begin, end);
}

static void count_chunks(void *ctx, int64_t begin, int64_t end) {
  chunked_loop *w = ctx;
  for (int64_t i = begin; i < end; i++) {
    int64_t n = 0;
    const st_count_ctx count = {&n};
    run_chunk(w, w->loop, &count, i);
    w->before[i + 1] = n;
  }
}

/* Fills w->before and *n, the number of nonzero elements. */
static st_status chunked_loop_count(chunked_loop *w, st_dtype dtype,
                                    int64_t *n) {
  *n = 0;
  w->loop = st__kernel(ST_K_nonzero_count, dtype);
  if (!w->loop) return st__no_kernel_for(dtype);
  w->before[0] = 0;
  ST_TRY(st__parallel_try(0, w->chunks, 1, count_chunks, w));
  for (int i = 0; i < w->chunks; i++) w->before[i + 1] += w->before[i];
  *n = w->before[w->chunks];
  return ST_OK;
}

static st_status count_nonzero(const st_tensor *t, int64_t *n) {
  chunked_loop w;
  ST_TRY(chunked_loop_init(&w, t, NULL));
  const st_status status = chunked_loop_count(&w, t->dtype, n);
  chunked_loop_release(&w);
  return status;
}

static st_status no_elements(void) {
  if (st__may_lack_size()) return ST_OK;
  return st__fail(ST_BAD_STATE, "the shape of the result depends on values, "
                  "which a meta tensor does not have");
}

/* -- nonzero -------------------------------------------------------------- */

typedef struct nonzero_job {
  chunked_loop *w;
  st_loop loop;
  int64_t *to;      /* the flat indices of nonzero elements */
  int64_t first;    /* flat index of the first element */
} nonzero_job;

static void flat_indices_of_chunks(void *ctx, int64_t begin, int64_t end) {
  const nonzero_job *n = ctx;
  for (int64_t i = begin; i < end; i++) {
    int64_t *to = n->to + n->w->before[i];
    int64_t index = n->first + chunk_begin(n->w, i);
    const st_nonzero_ctx c = {&to, &index};
    run_chunk(n->w, n->loop, &c, i);
  }
}

/* Writes the flat indices of all nonzero elements, counted from first, to
 * `to`. */
static st_status write_flat_indices(chunked_loop *w, st_dtype dtype,
                                    int64_t first, int64_t *to) {
  nonzero_job n = {w, st__kernel(ST_K_nonzero_pack, dtype), to, first};
  return st__parallel_try(0, w->chunks, 1, flat_indices_of_chunks, &n);
}

typedef struct unravel {
  const int64_t *flat;
  const st_tensor *self;
  const st_tensor *out;
  int64_t base;
} unravel;

/* Carries what is beyond the size of the last dimension to those before it. */
static void carry(const unravel *u, int64_t *at) {
  const int64_t *size = u->self->sizes;
  for (int d = u->self->ndim - 1; d > 0 && at[d] >= size[d]; d--) {
    const int64_t over = at[d] / size[d];
    at[d] -= over * size[d];
    at[d - 1] += over;
  }
}

/* Flat indices ascend, so each is found from the one before, mostly without a
 * division. The last coordinate is written last, since flat may be stored in
 * the same column. */
static void unravel_range(void *ctx, int64_t begin, int64_t end) {
  const unravel *u = ctx;
  const int last = u->self->ndim - 1;
  const int64_t row = u->out->strides[0], column = u->out->strides[1];
  int64_t *out = (int64_t *)(void *)st__data(u->out);
  int64_t at[ST_MAX_DIMS] = {0}, before = 0;
  for (int64_t i = begin; i < end; i++) {
    const int64_t n = u->flat[i];
    at[last] += n - before;
    before = n;
    if (at[last] >= u->self->sizes[last]) carry(u, at);
    for (int d = 0; d <= last; d++) {
      out[i * row + d * column] = at[d] + u->base;
    }
  }
}

/* flat: room for the flat indices; vector: they are the result. */
static st_status write_rows(chunked_loop *w, const st_tensor *self,
                            int64_t base, bool vector, int64_t *flat,
                            st_tensor *out) {
  const st_dtype dtype = self->dtype;
  int64_t n;
  ST_TRY(chunked_loop_count(w, dtype, &n));
  ST_TRY(write_flat_indices(w, dtype, vector ? base : 0, flat));
  if (vector) return ST_OK;
  unravel u = {flat, self, out, base};
  return st__parallel_try(0, n, ST_GRAIN / 8, unravel_range, &u);
}

/* out: (count, ndim) int64 of any strides. If the columns are contiguous, the
 * last one holds the flat indices until they are unravelled. */
static st_status write_nonzero(const st_tensor *self, int64_t base,
                               st_tensor *out) {
  const int64_t n = out->sizes[0];
  int64_t *scratch = NULL, *flat;
  chunked_loop w;
  if (n == 0 || self->ndim == 0) return ST_OK;
  if (out->strides[0] == 1) {
    flat = (int64_t *)(void *)st__data(out) +
           (self->ndim - 1) * out->strides[1];
  } else {
    scratch = flat = st__alloc(ST_MEM_SCRATCH, (size_t)n * sizeof *flat);
    if (!scratch) return ST_NO_MEMORY;
  }
  st_status status = chunked_loop_init(&w, self, NULL);
  if (status == ST_OK) {
    status = write_rows(&w, self, base, self->ndim == 1 && !scratch, flat, out);
    chunked_loop_release(&w);
  }
  st__free(ST_MEM_SCRATCH, scratch, (size_t)n * sizeof *flat);
  return status;
}

st_status st__nonzero(const st_tensor *t, int64_t base, st_tensor **out) {
  int64_t n = 0;
  ST_TRY(count_nonzero(t, &n));
  const int64_t sizes[] = {n, t->ndim}, strides[] = {1, n};
  ST_TRY(st__tensor_empty_strided(ST_DEVICE_CPU, ST_INT64, 2, sizes, strides,
                                  out));
  const st_status status = write_nonzero(t, base, *out);
  if (status != ST_OK) st__tensor_release(out);
  return status;
}

st_status st__nonzero_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  int64_t n = 0;
  ST_TRY(r->is_meta ? no_elements() : count_nonzero(self, &n));
  const int64_t sizes[] = {n, self->ndim}, strides[] = {1, n};
  ST_TRY(st__set_output(r, 0, 2, sizes, strides, ST_INT64));
  return st__forbid_alias(r, 0, self);
}

st_status st__nonzero_impl(st_run *r) {
  return write_nonzero(st__arg_tensor(r, 0), st__arg_base(r), r->out[0]);
}

ST_BOXED(st__box_argwhere) { return st__invoke(ST_OP_nonzero, 2, args, rets); }

/* A 0-dimensional tensor counts as a vector of one element. */
ST_BOXED(st__box_nonzero_numpy) {
  st_value self = *st__next(&args), rows;
  ST_ARGS(BOXED(base));
  st_status status;
  const bool is_scalar = self.u.tensor->ndim == 0;
  if (is_scalar) ST_TRY(st__invoke(ST_OP_unsqueeze, ST_VALUES(self, 0), &self));
  status = st__invoke(ST_OP_nonzero, ST_VALUES(self, *base), &rows);
  if (is_scalar) st__value_clear(&self);
  ST_TRY(status);
  status = st__invoke(ST_OP_unbind_int, ST_VALUES(rows, 1), rets);
  st__value_clear(&rows);
  return status;
}

/* -- masked_select -------------------------------------------------------- */

static st_status check_mask(const st_tensor *self, const st_tensor *mask) {
  if (mask->dtype != ST_BOOL && mask->dtype != ST_UINT8) {
    return st__fail(ST_BAD_DTYPE, "mask must have dtype bool, not %s",
                    st__dtype_name(mask->dtype));
  }
  if (mask->device != self->device) {
    return st__fail(ST_BAD_VALUE, "mask is on another device than self");
  }
  return ST_OK;
}

/* Broadcasts both to a common shape; the results are owned. */
static st_status broadcast_both(const st_tensor *self, const st_tensor *mask,
                                st_tensor **elements, st_tensor **set) {
  int64_t sizes[ST_MAX_DIMS];
  int ndim;
  ST_TRY(st__broadcast_shape(self->ndim, self->sizes, mask->ndim, mask->sizes,
                             sizes, &ndim));
  ST_TRY(st__view_expand(self, ndim, sizes, elements));
  const st_status status = st__view_expand(mask, ndim, sizes, set);
  if (status != ST_OK) st__tensor_release(elements);
  return status;
}

st_status st__masked_select_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_tensor *mask = st__arg_tensor(r, 1);
  st_tensor *elements = NULL, *set = NULL;
  int64_t n = 0;
  ST_TRY(check_mask(self, mask));
  ST_TRY(broadcast_both(self, mask, &elements, &set));
  const st_status status = r->is_meta ? no_elements()
                                      : count_nonzero(set, &n);
  st__tensor_release(&elements);
  st__tensor_release(&set);
  ST_TRY(status);
  ST_TRY(st__set_output(r, 0, 1, &n, NULL, self->dtype));
  ST_TRY(st__forbid_alias(r, 0, self));
  return st__forbid_alias(r, 0, mask);
}

typedef struct packing {
  chunked_loop *w;
  const int64_t *before;
  st_loop loop;
  char *to;
  int64_t size;
} packing;

static void pack_chunks(void *ctx, int64_t begin, int64_t end) {
  const packing *p = ctx;
  for (int64_t i = begin; i < end; i++) {
    char *to = p->to + p->before[i] * p->size;
    const st_pack_ctx c = {&to};
    run_chunk(p->w, p->loop, &c, i);
  }
}

static st_status pack(chunked_loop *w, chunked_loop *counts, st_dtype mask,
                      st_tensor *packed) {
  const st_dtype dtype = packed->dtype;
  int64_t n;
  ST_TRY(chunked_loop_count(counts, mask, &n));
  packing p = {w, counts->before, st__kernel(ST_K_mask_pack, dtype),
               st__data(packed), (int64_t)st__itemsize(dtype)};
  return st__parallel_try(0, w->chunks, 1, pack_chunks, &p);
}

/* out is a vector with one element per element set in the mask; a strided out
 * is filled from a contiguous copy. */
static st_status select_into(const st_tensor *elements, const st_tensor *set,
                             st_tensor *out) {
  st_tensor *packed = NULL;
  chunked_loop counts, w;
  ST_TRY(st__contiguous(out, ST_FORMAT_CONTIGUOUS, &packed));
  st_status status = chunked_loop_init(&counts, set, NULL);
  if (status == ST_OK) {
    status = chunked_loop_init(&w, elements, set);
    if (status == ST_OK) {
      status = pack(&w, &counts, set->dtype, packed);
      if (status == ST_OK && packed != out) {
        status = st__copy_unchecked(out, packed);
      }
      chunked_loop_release(&w);
    }
    chunked_loop_release(&counts);
  }
  st__tensor_release(&packed);
  return status;
}

st_status st__masked_select_impl(st_run *r) {
  st_tensor *elements = NULL, *set = NULL;
  if (r->out[0]->numel == 0) return ST_OK;
  ST_TRY(broadcast_both(st__arg_tensor(r, 0), st__arg_tensor(r, 1), &elements,
                        &set));
  const st_status status = select_into(elements, set, r->out[0]);
  st__tensor_release(&elements);
  st__tensor_release(&set);
  return status;
}

/* -- masked_scatter ------------------------------------------------------- */

static st_status scatter_into(st_tensor *self, const st_tensor *set,
                              const st_tensor *source) {
  st_tensor *packed = NULL;
  int64_t n = 0;
  chunked_loop w;
  ST_TRY(count_nonzero(set, &n));
  if (n > source->numel) {
    return st__fail(ST_BAD_SHAPE, "mask selects %" PRId64 " elements, source "
                    "has only %" PRId64, n, source->numel);
  }
  ST_TRY(st__contiguous(source, ST_FORMAT_CONTIGUOUS, &packed));
  st_status status = chunked_loop_init(&w, self, set);
  if (status == ST_OK) {
    char *from = st__data(packed);
    const st_pack_ctx c = {&from};
    status = st__iter_run_serial(&w.it, st__kernel(ST_K_mask_unpack,
                                                   self->dtype), &c);
    chunked_loop_release(&w);
  }
  st__tensor_release(&packed);
  return status;
}

/* As scatter_into, but copies set and source if they overlap self. */
static st_status scatter_overlapping(st_tensor *self, const st_tensor *set,
                                     const st_tensor *source) {
  st_tensor *own_set = NULL, *own_source = NULL;
  st_status status;
  ST_TRY_FAIL(st__clone_if_overlapping(self, set, &own_set));
  ST_TRY_FAIL(st__clone_if_overlapping(self, source, &own_source));
  status = scatter_into(self, own_set, own_source);
fail:
  st__tensor_release(&own_set);
  st__tensor_release(&own_source);
  return status;
}

ST_BOXED(st__box_masked_scatter_) {
  st_tensor *self = st__next_tensor(&args), *set = NULL;
  ST_ARGS(TENSOR(mask), TENSOR(source));
  ST_TRY(st__check_cpu_or_meta(self));
  ST_TRY(check_mask(self, mask));
  if (source->dtype != self->dtype) {
    return st__fail(ST_BAD_DTYPE, "source has dtype %s, self %s",
                    st__dtype_name(source->dtype),
                    st__dtype_name(self->dtype));
  }
  if (source->device != self->device) {
    return st__fail(ST_BAD_VALUE, "source is on another device than self");
  }
  ST_TRY(st__check_internal_overlap(self));
  ST_TRY(st__view_expand(mask, self->ndim, self->sizes, &set));
  const st_status status = !st__has_elements(self) ? ST_OK
                         : scatter_overlapping(self, set, source);
  st__tensor_release(&set);
  ST_TRY(status);
  return st__return_tensor(self, rets);
}

/* Broadcasts self with mask, too. */
static st_status masked_scatter(const st_tensor *self, const st_tensor *mask,
                                const st_value *source, st_value *rets) {
  st_tensor *elements = NULL, *set = NULL;
  st_value copy, same;
  ST_TRY(check_mask(self, mask));
  ST_TRY(broadcast_both(self, mask, &elements, &set));
  st_status status =
    st__invoke(ST_OP_clone, ST_VALUES(elements, ST_FORMAT_CONTIGUOUS), &copy);
  if (status == ST_OK) {
    status =
      st__invoke(ST_OP_masked_scatter_, ST_VALUES(copy, set, *source), &same);
    if (status == ST_OK) {
      st__value_clear(&same);
      rets[0] = copy;
    } else {
      st__value_clear(&copy);
    }
  }
  st__tensor_release(&elements);
  st__tensor_release(&set);
  return status;
}
ST_TYPED_ARGS(st__box_masked_scatter, masked_scatter, (TENSOR, TENSOR, VALUE))
