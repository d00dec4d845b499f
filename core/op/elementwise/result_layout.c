/* Layouts of results, found by iterators over meta tensors.
 *
 * Note [Layouts of chains]
 * ATen computes isinf, isfinite, isreal and addr by several operators. Each
 * iterator chooses the layout of its result from the layouts of its inputs, so
 * the last one depends on all. For a tensor that is not contiguous the chain
 * is repeated here on meta tensors, and the kernel writes to its layout.
 */

#include "op/elementwise/result_layout.h"

#include "tensor/memory_format.h"

st_status st__meta_twin(const st_tensor *t, int ndim, const int64_t *sizes,
                        const int64_t *strides, st_tensor **out) {
  return st__tensor_empty_strided(ST_DEVICE_META, t->dtype, ndim,
                                  sizes, strides, out);
}

st_status st__result_layout(int n, st_tensor *const *in, st_tensor **out) {
  st_iter it;
  st__iter_init(&it, ST_ITER_BINARY | ST_ITER_BORROWED);
  st__iter_output(&it, NULL, ST_DTYPE_NONE);
  for (int i = 0; i < n; i++) st__iter_input(&it, in[i]);
  const st_status status = st__iter_build(&it);
  if (status == ST_OK) *out = st__iter_take_output(&it, 0);
  st__iter_release(&it);
  return status;
}

/* -- Chains --------------------------------------------------------------- */

/* The layouts of a chain, owned; after a failure further steps do nothing. */
typedef struct chain {
  st_status status;
  int n;
  st_tensor *t[8];
} chain;

static st_tensor *keep(chain *c, st_tensor *t) {
  if (c->status == ST_OK) c->t[c->n++] = t;
  return t;
}

static st_tensor *twin(chain *c, const st_tensor *t, const int64_t *strides) {
  st_tensor *made = NULL;
  if (c->status != ST_OK) return NULL;
  c->status = st__tensor_empty_strided(ST_DEVICE_META, ST_FLOAT32, t->ndim,
                                       t->sizes, strides, &made);
  return keep(c, made);
}

/* The layout of an operator of a, or of a and b. */
static st_tensor *result(chain *c, st_tensor *a, st_tensor *b) {
  st_tensor *const in[] = {a, b};
  st_tensor *made = NULL;
  if (c->status != ST_OK) return NULL;
  c->status = st__result_layout(b ? 2 : 1, in, &made);
  return keep(c, made);
}

static st_tensor *number(chain *c) {
  st_tensor *made = NULL;
  if (c->status != ST_OK) return NULL;
  c->status = st__tensor_empty_strided(ST_DEVICE_META, ST_FLOAT32, 0, NULL,
                                       NULL, &made);
  return keep(c, made);
}

/* The real part of a complex tensor, or a float tensor itself. */
static st_tensor *real_part(chain *c, const st_tensor *self) {
  int64_t strides[ST_MAX_DIMS];
  const int64_t times = st__is_complex(self->dtype) ? 2 : 1;
  for (int d = 0; d < self->ndim; d++) strides[d] = self->strides[d] * times;
  return twin(c, self, strides);
}

static st_status finish(chain *c, st_tensor *last, st_tensor **out) {
  if (c->status == ST_OK) {
    st__tensor_retain(last);
    *out = last;
  }
  for (int i = 0; i < c->n; i++) st__tensor_release(&c->t[i]);
  return c->status;
}

/* abs(x) == inf, of the real part if self is complex */
st_status st__isinf_layout(const st_tensor *self, st_tensor **out) {
  chain c = {.status = ST_OK};
  st_tensor *size = result(&c, real_part(&c, self), NULL);
  return finish(&c, result(&c, size, number(&c)), out);
}

/* (x == x) * (abs(x) != inf), where x is self, or abs(self) if it is complex
 */
st_status st__isfinite_layout(const st_tensor *self, st_tensor **out) {
  chain c = {.status = ST_OK};
  int64_t strides[ST_MAX_DIMS];
  st__preserved_strides(self, strides);
  st_tensor *x = twin(&c, self, st__is_complex(self->dtype)
                                  ? strides : self->strides);
  st_tensor *same = result(&c, x, x);
  st_tensor *finite = result(&c, result(&c, x, NULL), number(&c));
  return finish(&c, result(&c, same, finite), out);
}

/* imag(self) == 0 */
st_status st__isreal_layout(const st_tensor *self, st_tensor **out) {
  chain c = {.status = ST_OK};
  return finish(&c, result(&c, real_part(&c, self), number(&c)), out);
}

/* -- Contiguous results --------------------------------------------------- */

st_tensor *st__apply_fresh(st_op_scope *c, const st_tensor *t) {
  int64_t strides[ST_MAX_DIMS];
  if (!st__scope_ok(c)) return NULL;
  st__contiguous_strides(t->ndim, t->sizes, strides);
  if (st__same_dims(t->ndim, t->strides, strides)) {
    return (st_tensor *)(uintptr_t)t;
  }
  return ST_APPLY(c, ST_OP_clone, t, ST_FORMAT_CONTIGUOUS);
}
