/* Fake tensors for the arguments of a call. */

#include "iter/fake_tensors.h"

#include "base/memory.h"

/* -- Arrays --------------------------------------------------------------- */

static int count_tensors(const st_schema *s, const st_value *args) {
  int n = 0;
  for (int i = 0; i < s->nargs; i++) n += (int)st__tensors_in(&args[i]).n;
  return n;
}

static st_status reserve(st_fake_tensors *c, int n) {
  c->size = 3 * (size_t)n * sizeof *c->made;
  if (n == 0) return ST_OK;
  c->block = st__alloc(ST_MEM_VALUE, c->size);
  if (!c->block) return ST_NO_MEMORY;
  c->original = c->block;
  c->made = (st_tensor **)c->block + n;
  c->listed = c->made + n;
  return ST_OK;
}

void st__fake_tensors_release(st_fake_tensors *c) {
  for (int i = 0; i < c->n; i++) st__tensor_release(&c->made[i]);
  if (c->block) st__free(ST_MEM_VALUE, c->block, c->size);
  c->block = NULL;
  c->n = 0;
}

/* -- Tensors -------------------------------------------------------------- */

static st_status new_storage(const st_fake_tensors *c, const st_storage *s,
                             st_storage **out) {
  for (int i = 0; i < c->n; i++) {
    if (c->original[i]->storage != s) continue;
    *out = c->made[i]->storage;
    st__storage_retain(*out);
    return ST_OK;
  }
  /* a larger dtype needs more room */
  const size_t times = c->from == c->to ? 1 : 16;
  return st__storage_new(ST_DEVICE_META, s->nbytes * times, out);
}

static st_status keep(st_fake_tensors *c, const st_tensor *t,
                      st_tensor *made) {
  c->original[c->n] = t;
  c->made[c->n++] = made;
  return ST_OK;
}

static st_status get_fake_tensor(st_fake_tensors *c, const st_tensor *t,
                                 st_tensor **out) {
  st_storage *storage = NULL;
  for (int i = 0; i < c->n; i++) {
    if (c->original[i] == t) {
      *out = c->made[i];
      return ST_OK;
    }
  }
  if (st__is_privateuse(t) && !c->any_device) {
    return st__fail(ST_BAD_STATE, "a tensor is on device '%s', which dry "
                    "runs do not support",
                    st__device_name(t->device));
  }
  const st_dtype dtype = t->dtype == c->from ? c->to : (st_dtype)t->dtype;
  if (t->storage->layout) { /* its results have the shapes and dtypes */
    if (!c->any_device) return st__refuse_memoryless(t);
    ST_TRY(st__tensor_empty(ST_DEVICE_META, dtype, t->ndim, t->sizes,
                            ST_FORMAT_CONTIGUOUS, out));
    c->has_layouts = true;
    return keep(c, t, *out);
  }
  ST_TRY(new_storage(c, t->storage, &storage));
  const st_geometry g = st__geometry(t);
  const st_status status = st__tensor_new(storage, dtype, &g, out);
  st__storage_release(&storage);
  if (status != ST_OK) return status;
  (*out)->flags |= t->flags & ST_FLAG_WRAPPED;
  (*out)->keys |= t->keys & ST_LAZY_BITS;
  return keep(c, t, *out);
}

/* -- Arguments ------------------------------------------------------------ */

static st_status replace_list(st_fake_tensors *c, st_value *v) {
  st_tensor **list = c->listed + c->nlisted;
  for (uint32_t i = 0; i < v->len; i++) {
    list[i] = NULL;
    if (v->u.tensors[i]) ST_TRY(get_fake_tensor(c, v->u.tensors[i], &list[i]));
  }
  c->nlisted += (int)v->len;
  v->u.tensors = list;
  return ST_OK;
}

static st_status replace(st_fake_tensors *c, const st_arg *arg, st_value *v) {
  if (v->tag == ST_TAG_TENSORS) return replace_list(c, v);
  if (v->tag == ST_TAG_TENSOR) {
    return get_fake_tensor(c, v->u.tensor, &v->u.tensor);
  }
  if (arg->type == ST_TYPE_DEVICE && !arg->list) {
    *v = st__of_int(ST_DEVICE_META);
  }
  return ST_OK;
}

static st_status fake_arguments(st_fake_tensors *c, const st_schema *s,
                                st_value *args) {
  st_status status = reserve(c, count_tensors(s, args));
  for (int i = 0; i < s->nargs && status == ST_OK; i++) {
    status = replace(c, &s->args[i], &args[i]);
  }
  return status;
}

st_status st__fake_arguments(st_fake_tensors *c, const st_schema *s,
                             st_value *args) {
  *c = (st_fake_tensors){.n = 0};
  return fake_arguments(c, s, args);
}

st_status st__fake_arguments_as(st_fake_tensors *c, const st_schema *s,
                                st_value *args, st_dtype from, st_dtype to) {
  *c = (st_fake_tensors){.any_device = true, .from = from, .to = to};
  return fake_arguments(c, s, args);
}
