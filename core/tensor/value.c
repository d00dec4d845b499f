/* Boxed values: conversion of scalars, release, copies. */

#include "tensor/value.h"

#include <string.h>

#include "base/dtype.h"

/* -- Scalars -------------------------------------------------------------- */

st_value st__of_scalar(const st_scalar *s) {
  switch (s->kind) {
    case ST_SCALAR_BOOL: return st__of_bool(s->u.i != 0);
    case ST_SCALAR_INT: return st__of_int(s->u.i);
    case ST_SCALAR_UINT: return st__of_uint(s->u.u);
    case ST_SCALAR_FLOAT: return st__of_float(s->u.f);
    default: return (st_value){.tag = ST_TAG_COMPLEX, .u.pair = s->u.c};
  }
}

st_scalar st__scalar_of(const st_value *v) {
  switch (v->tag) {
    case ST_TAG_BOOL: return st__scalar_bool(v->u.i != 0);
    case ST_TAG_INT: return st__scalar_int(v->u.i);
    case ST_TAG_UINT: return st__scalar_uint(v->u.u);
    case ST_TAG_FLOAT: return st__scalar_float(v->u.f);
    default:
      ST_ASSERT(v->tag == ST_TAG_COMPLEX);
      return st__scalar_complex(v->u.pair[0], v->u.pair[1]);
  }
}

/* -- Ownership ------------------------------------------------------------ */

/* The size in bytes of the list, string or complex that v points to. */
static size_t data_size(const st_value *v) {
  switch (v->tag) {
    case ST_TAG_COMPLEX: return 2 * sizeof(double);
    case ST_TAG_STRING: return (size_t)v->len + 1;
    case ST_TAG_INTS: return v->len * sizeof(int64_t);
    case ST_TAG_FLOATS: return v->len * sizeof(double);
    case ST_TAG_BOOLS: return v->len * sizeof(bool);
    case ST_TAG_TENSORS: return v->len * sizeof(st_tensor *);
    default: return 0;
  }
}

/* All pointer members of the union have the same address and size, so any of
 * them can be read. */
static void *data_of(const st_value *v) {
  return (void *)(uintptr_t)v->u.string;
}

void st__value_clear(st_value *v) {
  switch (v->tag) {
    case ST_TAG_TENSOR:
      st__tensor_release(&v->u.tensor);
      break;
    case ST_TAG_TENSORS:
      for (uint32_t i = 0; i < v->len; i++) {
        st__tensor_release(&v->u.tensors[i]);
      }
      st__free(ST_MEM_VALUE, v->u.tensors, data_size(v));
      break;
    case ST_TAG_COMPLEX: case ST_TAG_STRING: case ST_TAG_INTS:
    case ST_TAG_FLOATS: case ST_TAG_BOOLS:
      st__free(ST_MEM_VALUE, data_of(v), data_size(v));
      break;
    default:
      break;
  }
  *v = st__none();
}

st_status st__value_copy(const st_value *v, st_value *out) {
  st_value copy = *v;
  switch (v->tag) {
    case ST_TAG_TENSOR:
      st__tensor_retain(v->u.tensor);
      break;
    case ST_TAG_GENERATOR:
      /* A value cannot own a generator, because the functions that retain and
       * release one belong to a higher layer. */
      return st__fail(ST_BAD_TYPE, "a value cannot own a generator");
    case ST_TAG_COMPLEX: case ST_TAG_STRING: case ST_TAG_INTS:
    case ST_TAG_FLOATS: case ST_TAG_BOOLS: case ST_TAG_TENSORS: {
      const size_t n = data_size(v);
      char *p = st__alloc(ST_MEM_VALUE, n);
      if (!p) return ST_NO_MEMORY;
      if (n) memcpy(p, data_of(v), n);
      copy.u.string = p;
      break;
    }
    default:
      break;
  }
  if (v->tag == ST_TAG_TENSORS) {
    for (uint32_t i = 0; i < copy.len; i++) {
      if (copy.u.tensors[i]) st__tensor_retain(copy.u.tensors[i]);
    }
  }
  *out = copy;
  return ST_OK;
}

st_status st__value_new_tensors(int n, st_value *out) {
  st_tensor **p =
    st__alloc_zero(ST_MEM_VALUE, (size_t)n * sizeof(st_tensor *));
  if (!p) return ST_NO_MEMORY;
  *out = st__of_tensors(p, n);
  return ST_OK;
}

st_status st__value_new_ints(int n, st_value *out) {
  int64_t *p = st__alloc_zero(ST_MEM_VALUE, (size_t)n * sizeof(int64_t));
  if (!p) return ST_NO_MEMORY;
  *out = st__of_ints(p, n);
  return ST_OK;
}

/* -- Tensors of scalars ---------------------------------------------------- */

st_status st__tensor_from_scalar(st_scalar s, st_dtype dtype, bool wrapped,
                                 st_tensor **out) {
  ST_TRY(st__tensor_empty(ST_DEVICE_CPU, dtype, 0, NULL,
                          ST_FORMAT_CONTIGUOUS, out));
  st__scalar_store(s, dtype, (*out)->storage->data);
  if (wrapped) (*out)->flags |= ST_FLAG_WRAPPED;
  return ST_OK;
}
