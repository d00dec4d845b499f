/* Mirrors of arguments: Note [Mirrors of arguments].
 */

#include "op/device/mirrors.h"

#include <stdlib.h>

#include "base/memory.h"
#include "iter/copy.h"
#include "tensor/overlap.h"

enum { ALIGNMENT = 16 /* a multiple of the sizes of elements */ };

/* -- Bytes ---------------------------------------------------------------- */

/* Bytes of a storage. */
typedef struct range {
  st_storage *storage;
  size_t begin;
} range;

/* The n bytes as a vector of elements. */
static st_status vector_of(range r, st_dtype dtype, size_t n,
                           st_tensor **out) {
  const size_t size = st__itemsize(dtype);
  const int64_t numel = (int64_t)(n / size), step = 1;
  const st_geometry g = {1, &numel, &step, (int64_t)(r.begin / size)};
  return st__tensor_new(r.storage, dtype, &g, out);
}

/* By the device's kernel of copy_. */
static st_status copy_elements(range to, range from, st_dtype dtype,
                               size_t n) {
  st_tensor *dst = NULL, *src = NULL;
  st_status status;
  ST_TRY_FAIL(vector_of(to, dtype, n, &dst));
  ST_TRY_FAIL(vector_of(from, dtype, n, &src));
  status = st__copy(dst, src);
fail:
  st__tensor_release(&dst);
  st__tensor_release(&src);
  return status;
}

/* Between a storage on a device and one on the CPU. A device without a backend
 * copies elements of a dtype. */
static st_status copy_bytes(range to, range from, st_dtype dtype, size_t n) {
  const st_place target = {to.storage->device, to.storage->data, to.begin};
  const st_place source = {from.storage->device, from.storage->data,
                           from.begin};
  const st_device d = target.device == ST_DEVICE_CPU ? source.device
                                                     : target.device;
  if (n == 0) return ST_OK;
  return st__backend_of(d) ? st__device_copy(&target, &source, n)
                           : copy_elements(to, from, dtype, n);
}

/* -- Mirrors -------------------------------------------------------------- */

typedef struct mirror {
  st_tensor **slot;    /* the argument, owned: there, then the mirror */
  const st_tensor *there;
  size_t begin, end;   /* its bytes in its storage */
} mirror;

static int compare(uintptr_t a, uintptr_t b) { return (a > b) - (a < b); }

/* By storage and begin; equal tensors are neighbours. */
static int compare_mirrors(const void *x, const void *y) {
  const mirror *a = x, *b = y;
  int by = compare((uintptr_t)a->there->storage, (uintptr_t)b->there->storage);
  if (by == 0) by = compare(a->begin, b->begin);
  return by ? by : compare((uintptr_t)a->there, (uintptr_t)b->there);
}

/* Makes here the argument. */
static void fill_slot(const mirror *m, st_tensor *here) {
  here->keys |= m->there->keys & ST_LAZY_BITS;
  here->flags |= m->there->flags & ST_FLAG_WRAPPED;
  st__tensor_release(m->slot);
  *m->slot = here;
}

/* A tensor whose bytes are no other's. */
static st_status add_single(const mirror *m) {
  const st_tensor *t = m->there;
  st_tensor *here = NULL;
  ST_TRY(st__tensor_empty_strided(ST_DEVICE_CPU, t->dtype, t->ndim, t->sizes,
                                  t->strides, &here));
  const st_status status = copy_bytes((range){here->storage, 0},
                                      (range){t->storage, m->begin}, t->dtype,
                                      m->end - m->begin);
  if (status == ST_OK) fill_slot(m, here);
  else st__tensor_release(&here);
  return status;
}

/* A tensor over the bytes of s, which begin at byte `base` of t's storage. */
static st_status new_mirror(const st_tensor *t, st_storage *s, size_t base,
                            st_tensor **out) {
  const int64_t skipped = (int64_t)(base / st__itemsize(t->dtype));
  const st_geometry g = {t->ndim, t->sizes, t->strides, t->offset - skipped};
  return st__tensor_new(s, t->dtype, &g, out);
}

static st_dtype common_dtype(const mirror *m, int n) {
  const st_dtype dtype = m->there->dtype;
  for (int i = 1; i < n; i++) {
    if (m[i].there->dtype != dtype) return ST_UINT8;
  }
  return dtype;
}

static st_status fill_slots(mirror *m, int n, st_storage *s, size_t base) {
  for (int i = 0; i < n; i++) {
    const bool is_known = i > 0 && m[i].there == m[i - 1].there;
    st_tensor *here = is_known ? *m[i - 1].slot : NULL;
    if (is_known) st__tensor_retain(here);
    else ST_TRY(new_mirror(m[i].there, s, base, &here));
    fill_slot(&m[i], here);
  }
  return ST_OK;
}

/* n tensors whose bytes, up to `end`, overlap. */
static st_status add_group(mirror *m, int n, size_t end) {
  const size_t base = m->begin - m->begin % ALIGNMENT;
  const range from = {m->there->storage, base};
  st_storage *s = NULL;
  ST_TRY(st__storage_new(ST_DEVICE_CPU, end - base, &s));
  st_status status = copy_bytes((range){s, 0}, from, common_dtype(m, n),
                                end - base);
  if (status == ST_OK) status = fill_slots(m, n, s, base);
  st__storage_release(&s);
  return status;
}

static st_status add_groups(mirror *m, int n) {
  if (n > 1) qsort(m, (size_t)n, sizeof *m, compare_mirrors);
  for (int i = 0, next; i < n; i = next) {
    size_t end = m[i].end;
    for (next = i + 1; next < n; next++) {
      const mirror *k = &m[next];
      if (k->there->storage != m[i].there->storage ||
          (k->begin >= end && k->there != m[i].there)) {
        break;
      }
      if (k->end > end) end = k->end;
    }
    ST_TRY(next - i == 1 ? add_single(m + i) : add_group(m + i, next - i, end));
  }
  return ST_OK;
}

/* The tensors on devices; returns their number. list may be NULL. */
static int find_tensors(const st_value *v, int n, mirror *list) {
  int found = 0;
  for (int i = 0; i < n; i++) {
    const st_tensors all = st__tensors_in(&v[i]);
    for (uint32_t k = 0; k < all.n; k++) {
      const st_tensor *t = all.p[k];
      if (!t || !st__is_privateuse(t)) continue;
      if (list) {
        const size_t begin = st__place_of(t).offset;
        list[found] = (mirror){&all.p[k], t, begin, begin + st__span(t)};
      }
      found++;
    }
  }
  return found;
}

st_status st__mirror_values(st_value *v, int n) {
  const int found = find_tensors(v, n, NULL);
  const size_t size = (size_t)found * sizeof(mirror);
  if (found == 0) return ST_OK;
  mirror *list = st__alloc(ST_MEM_SCRATCH, size);
  if (!list) return ST_NO_MEMORY;
  find_tensors(v, n, list);
  const st_status status = add_groups(list, found);
  st__free(ST_MEM_SCRATCH, list, size);
  return status;
}

/* -- Writing back --------------------------------------------------------- */

static bool has_layout(const st_tensor *t, const st_tensor *of) {
  return st__same_sizes(t, of) && st__same_dims(t->ndim, t->strides,
                                                of->strides);
}

static st_status resize(st_written *w) {
  st_tensor *t = w->there;
  const st_tensor *to = w->here;
  size_t nbytes;
  ST_TRY(st__tensor_view(t, t->ndim, t->sizes, t->strides, t->offset,
                         &w->was));
  ST_TRY(st__nbytes_of(&(st_geometry){to->ndim, to->sizes, to->strides,
                                      t->offset}, t->dtype, &nbytes));
  ST_TRY(st__tensor_grow(t, nbytes));
  return st__tensor_restride(t, to->ndim, to->sizes, to->strides, t->offset);
}

/* Two outputs of one storage may overlap once they are larger. */
static st_status check_apart(const st_written *w, int n, int resized) {
  for (int i = 0; i < n; i++) {
    if (w[i].there == w[resized].there) continue;
    ST_TRY(st__check_no_overlap(w[resized].there, w[i].there));
  }
  return ST_OK;
}

static st_status resize_all(st_written *w, int n) {
  for (int i = 0; i < n; i++) {
    if (!has_layout(w[i].there, w[i].here)) ST_TRY(resize(&w[i]));
  }
  for (int i = 0; i < n; i++) {
    if (w[i].was) ST_TRY(check_apart(w, n, i));
  }
  return ST_OK;
}

static st_status write_mirror(const st_written *w) {
  const st_place to = st__place_of(w->there), from = st__place_of(w->here);
  /* between the elements of a larger shape may be those of other tensors */
  if (w->was && !(w->here->flags & ST_FLAG_DENSE)) {
    return st__copy(w->there, w->here);
  }
  return copy_bytes((range){w->there->storage, to.offset},
                    (range){w->here->storage, from.offset}, w->there->dtype,
                    st__span(w->here));
}

st_status st__write_mirrors(st_written *w, int n) {
  st_status status = resize_all(w, n);
  for (int i = 0; i < n && status == ST_OK; i++) status = write_mirror(&w[i]);
  for (int i = n - 1; i >= 0; i--) {
    if (!w[i].was) continue;
    if (status != ST_OK) st__tensor_swap(w[i].there, w[i].was);
    st__tensor_release(&w[i].was);
  }
  return status;
}
