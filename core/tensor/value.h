/* Boxed values: constructors, accessors, release. Constructors borrow what
 * they are given.
 */
#ifndef ST_TENSOR_VALUE_H
#define ST_TENSOR_VALUE_H

#include <string.h>

#include "abi/lists.h"
#include "abi/boxing.h"
#include "base/memory.h"
#include "tensor/tensor.h"

static inline st_value st__none(void) {
  return (st_value){.tag = ST_TAG_NONE};
}
static inline st_value st__of_tensor(const st_tensor *t) {
  if (!t) return st__none();
  return (st_value){.tag = ST_TAG_TENSOR,
                    .u.tensor = (st_tensor *)(uintptr_t)t};
}
static inline st_value st__of_uint(uint64_t u) {
  return (st_value){.tag = ST_TAG_UINT, .u.u = u};
}
static inline st_value st__of_int(int64_t i) {
  return (st_value){.tag = ST_TAG_INT, .u.i = i};
}
static inline st_value st__of_float(double f) {
  return (st_value){.tag = ST_TAG_FLOAT, .u.f = f};
}
static inline st_value st__of_bool(bool b) {
  return (st_value){.tag = ST_TAG_BOOL, .u.i = b};
}
static inline st_value st__of_text(const char *text) {
  return (st_value){.tag = ST_TAG_STRING, .len = (uint32_t)strlen(text),
                    .u.string = text};
}
static inline st_value st__of_ints(const int64_t *p, int n) {
  return (st_value){.tag = ST_TAG_INTS, .len = (uint32_t)n, .u.ints = p};
}
static inline st_value st__of_tensors(st_tensor **p, int n) {
  return (st_value){.tag = ST_TAG_TENSORS, .len = (uint32_t)n,
                    .u.tensors = p};
}
/* s must outlive the value, which borrows a complex scalar from it. */
st_value st__of_scalar(const st_scalar *s);
/* v must be INT, FLOAT, BOOL or COMPLEX (asserted). */
st_scalar st__scalar_of(const st_value *v);

static inline st_value st__of_value(st_value v) { return v; }

/* The boxed values of at most eight arguments, as two parameters of a function:
 * how many, and their array. The C type says which value an argument becomes;
 * boxed ones stay as they are. The truth values of C are integers: give
 * st__of_bool.
 *
 *     st__invoke(ST_OP_sum_dim_IntList, ST_VALUES(t, ST_INTS(-1)), rets)
 */
#define ST_VALUES(...)                \
  0 ST_EACH(ST_ONE, , (__VA_ARGS__)), \
    (const st_value[]) { ST_EACH(ST_BOXED_ELEMENT, , (__VA_ARGS__)) }
#define ST_ONE(k, x, v) + 1
#define ST_BOXED_ELEMENT(k, x, v) ST_TO_VALUE(v),
#define ST_TO_VALUE(v)                                               \
  _Generic((v), st_value: st__of_value, st_tensor *: st__of_tensor,  \
           const st_tensor *: st__of_tensor, double: st__of_float,   \
           bool: st__of_bool, default: st__of_int)(v)
/* The value of a list of integers. */
#define ST_INTS(...)                           \
  st__of_ints((const int64_t[]){__VA_ARGS__},  \
              (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)))

static inline bool st__is_none(const st_value *v) {
  return v->tag == ST_TAG_NONE;
}
static inline bool st__is_number(const st_value *v) {
  return v->tag == ST_TAG_INT || v->tag == ST_TAG_FLOAT ||
         v->tag == ST_TAG_BOOL || v->tag == ST_TAG_COMPLEX ||
         v->tag == ST_TAG_UINT;
}
/* The tensor, borrowed; NULL if v is no tensor. */
static inline st_tensor *st__to_tensor(const st_value *v) {
  return v->tag == ST_TAG_TENSOR ? v->u.tensor : NULL;
}
/* The tensors of v: itself, the elements of a list, of which some may be NULL,
 * or none. */
static inline st_tensors st__tensors_in(const st_value *v) {
  if (v->tag == ST_TAG_TENSORS) return (st_tensors){v->u.tensors, v->len};
  return (st_tensors){(st_tensor **)(uintptr_t)&v->u.tensor,
                      v->tag == ST_TAG_TENSOR};
}
static inline int64_t st__to_int(const st_value *v, int64_t otherwise) {
  return v->tag == ST_TAG_NONE ? otherwise : v->u.i;
}
static inline double st__to_float(const st_value *v, double otherwise) {
  return v->tag == ST_TAG_NONE ? otherwise
       : v->tag == ST_TAG_FLOAT ? v->u.f : (double)v->u.i;
}
static inline bool st__to_bool(const st_value *v, bool otherwise) {
  return v->tag == ST_TAG_NONE ? otherwise : v->u.i != 0;
}

/* Releases an owned value, such as a result, and sets it to NONE. */
void st__value_clear(st_value *v);
/* Copies a value into an owned one: retains tensors, duplicates lists. BAD_TYPE
 * for a generator. */
st_status st__value_copy(const st_value *v, st_value *out);
/* Allocate an owned list of n elements, all NULL or 0. */
st_status st__value_new_tensors(int n, st_value *out);
st_status st__value_new_ints(int n, st_value *out);

#endif
