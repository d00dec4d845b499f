/* Tensors of integers of fewer than eight bits.
 *
 * Note [Elements of fewer than eight bits]
 * int4, uint4, int2 and uint2 have several elements in a byte, the first in the
 * low bits. Sizes, strides and the offset count elements, as always. A row, the
 * last dimension, begins at a byte: its stride is 1, and the offset and all
 * other strides are whole bytes. So a row of a new tensor is padded to whole
 * bytes, and what pads it is 0. A view whose geometry is another one is
 * refused. Writes leave the elements alone that share a byte with the last of a
 * row.
 *
 * No kernel of other dtypes computes an address in bits. So such a tensor has
 * the key SubByte in the place of Dense, and st__is_strided is false, as for
 * layouts (Note [Layouts of extensions]): what needs elements at strides of
 * bytes refuses it, and operators have kernels for the key (op/subbyte) or
 * fail. Copies convert through bytes, a row at a time (iter/subbyte_copy.c).
 */
#ifndef ST_TENSOR_SUBBYTE_H
#define ST_TENSOR_SUBBYTE_H

#include "base/dtype.h"
#include "tensor/tensor.h"

static inline bool st__is_subbyte_tensor(const st_tensor *t) {
  return t->keys & ST_BIT(ST_FUNC_SubByte);
}

/* The elements of a byte; 1 for the other dtypes. */
static inline int64_t st__per_byte(st_dtype d) {
  return st__is_subbyte(d) ? 8 / st__dtype_facts[d].bits : 1;
}

/* The keys of a tensor with these keys, but of dtype d. */
static inline st_keyset st__keys_of_dtype(st_keyset keys, st_dtype d) {
  const st_keyset both = ST_BIT(ST_FUNC_Dense) | ST_BIT(ST_FUNC_SubByte);
  return (keys & ~both) | ST_BIT(st__is_subbyte(d) ? ST_FUNC_SubByte
                                                   : ST_FUNC_Dense);
}

/* The bytes that n elements need, one after the other. */
static inline size_t st__bytes_of_elements(st_dtype d, uint64_t n) {
  const uint64_t per = (uint64_t)st__per_byte(d);
  return (size_t)(per == 1 ? n * st__itemsize(d) : n / per + (n % per != 0));
}

/* The strides of a new tensor of any dtype, contiguous. */
void st__new_strides(st_dtype d, int ndim, const int64_t *sizes,
                     int64_t *strides);
/* BAD_LAYOUT unless rows begin at bytes and are contiguous. */
st_status st__check_subbyte_rows(st_dtype d, const st_geometry *g);
/* The flags of such a geometry. */
uint8_t st__subbyte_flags(st_dtype d, const st_geometry *g);

/* Reads and writes element `at`, counted from the start of the storage. */
st_scalar st__subbyte_load(const st_tensor *t, int64_t at);
void st__subbyte_store(const st_tensor *t, int64_t at, st_scalar s);

/* The same of any tensor with elements in the CPU's memory. */
static inline st_scalar st__element_load(const st_tensor *t, int64_t at) {
  const st_dtype d = (st_dtype)t->dtype;
  return st__is_strided(t)
         ? st__scalar_load(d, t->storage->data +
                              at * (int64_t)st__itemsize(d))
         : st__subbyte_load(t, at);
}
static inline void st__element_store(const st_tensor *t, int64_t at,
                                     st_scalar s) {
  const st_dtype d = (st_dtype)t->dtype;
  if (!st__is_strided(t)) st__subbyte_store(t, at, s);
  else st__scalar_store(s, d, t->storage->data + at * (int64_t)st__itemsize(d));
}

/* The byte with the first element, of any dtype; NULL without memory. */
static inline char *st__first_byte(const st_tensor *t) {
  char *p = t->storage->data;
  if (st__is_strided(t) || !p) return st__data(t);
  return p + t->offset / st__per_byte((st_dtype)t->dtype);
}

/* The bytes that the elements have, with the padding of rows. */
size_t st__nbytes_of_tensor(const st_tensor *t);

#endif
