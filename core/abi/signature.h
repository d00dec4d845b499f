/* Unboxed kernels and typed calls: ST_SIGNATURE declares the adapters between
 * C types and boxed values for one signature. strided.h includes this file at
 * its end, and the build flattens it in.
 *
 * Note [Signatures]
 * The schema of an operator determines its C types, so a signature is a
 * string: "Tensor, Tensor, Scalar -> Tensor". ST_SIGNATURE(name, (arguments),
 * (results)) declares for one signature
 *
 *   name_signature   the string
 *   name_fn          the type of its kernels
 *   name_boxed       the boxed adapter of such a kernel
 *   name_find        finds a typed handle; checks the operator's schema
 *   name_call, name_redispatch   typed calls; they box the arguments only for
 *                    a boxed kernel or an observer that wants values
 *
 * An argument type is one of the names below ST_C_, at most eight of them; a
 * Tensor? that is None is NULL. A result type is TENSOR, INT, FLOAT or BOOL, at
 * most three of them, or (NONE). Dim, Index, End, ScalarType, Layout,
 * MemoryFormat and Device are INT, too.
 */
#ifndef ST_ABI_SIGNATURE_H
#define ST_ABI_SIGNATURE_H

#include "abi/boxing.h"

/* -- Dispatch keys of arguments ------------------------------------------- */

static inline st_keyset st__keys_of_tensor(const st_tensor *t) {
  return t ? st_tensor_keys(t) : 0;
}
static inline st_keyset st__keys_of_tensors(st_tensors list) {
  st_keyset ks = 0;
  for (uint32_t i = 0; i < list.n; i++) ks |= st__keys_of_tensor(list.p[i]);
  return ks;
}
#define ST_KEYS_TENSOR(x)      st__keys_of_tensor(x)
#define ST_KEYS_OPT_TENSOR(x)  st__keys_of_tensor(x)
#define ST_KEYS_TENSORS(x)     st__keys_of_tensors(x)
#define ST_KEYS_OPT_TENSORS(x) st__keys_of_tensors(x)
#define ST_KEYS_INT(x)         0
#define ST_KEYS_FLOAT(x)       0
#define ST_KEYS_BOOL(x)        0
#define ST_KEYS_SCALAR(x)      0
#define ST_KEYS_STRING(x)      0
#define ST_KEYS_GENERATOR(x)   0
#define ST_KEYS_INTS(x)        0
#define ST_KEYS_FLOATS(x)      0
#define ST_KEYS_BOOLS(x)       0
#define ST_KEYS_OPT_INT(x)     0
#define ST_KEYS_OPT_FLOAT(x)   0
#define ST_KEYS_OPT_BOOL(x)    0
#define ST_KEYS_OPT_SCALAR(x)  0
#define ST_KEYS_OPT_INTS(x)    0

/* -- Parts of declarations ------------------------------------------------ */

#define ST_COMMA_0
#define ST_COMMA_1 ", "
#define ST_COMMA_2 ", "
#define ST_COMMA_3 ", "
#define ST_COMMA_4 ", "
#define ST_COMMA_5 ", "
#define ST_COMMA_6 ", "
#define ST_COMMA_7 ", "
#define ST_SIG_TEXT(k, x, T)  ST_COMMA_##k ST_TEXT_##T
#define ST_SIG_PARAM(k, x, T) , ST_C_##T a##k
#define ST_SIG_PASS(k, x, T)  , a##k
#define ST_SIG_UNBOX(k, x, T) , ST_IN_##T(&args[k])
#define ST_SIG_BOX(k, x, T)   ST_OUT_##T(a##k),
#define ST_SIG_KEYS(k, x, T)  | ST_KEYS_##T(a##k)

/* Results are passed as pointers; NONE has no parameter. */
#define ST_RET_PARAM(k, x, T) ST_RET_PARAM_##T(k)
#define ST_RET_PARAM_NONE(k)
#define ST_RET_PARAM_TENSOR(k) , st_tensor **r##k
#define ST_RET_PARAM_INT(k)    , int64_t *r##k
#define ST_RET_PARAM_FLOAT(k)  , double *r##k
#define ST_RET_PARAM_BOOL(k)   , bool *r##k
#define ST_RET_PASS(k, x, T)  ST_RET_PASS_##T(k)
#define ST_RET_PASS_NONE(k)
#define ST_RET_PASS_TENSOR(k) , r##k
#define ST_RET_PASS_INT(k)    , r##k
#define ST_RET_PASS_FLOAT(k)  , r##k
#define ST_RET_PASS_BOOL(k)   , r##k
#define ST_RET_LOCAL(k, x, T) ST_RET_LOCAL_##T(k)
#define ST_RET_LOCAL_NONE(k)
#define ST_RET_LOCAL_TENSOR(k) st_tensor *o##k = NULL;
#define ST_RET_LOCAL_INT(k)    int64_t o##k = 0;
#define ST_RET_LOCAL_FLOAT(k)  double o##k = 0;
#define ST_RET_LOCAL_BOOL(k)   bool o##k = false;
#define ST_RET_TAKE(k, x, T)  ST_RET_TAKE_##T(k)
#define ST_RET_TAKE_NONE(k)
#define ST_RET_TAKE_TENSOR(k) , &o##k
#define ST_RET_TAKE_INT(k)    , &o##k
#define ST_RET_TAKE_FLOAT(k)  , &o##k
#define ST_RET_TAKE_BOOL(k)   , &o##k
#define ST_RET_BOX(k, x, T)   ST_RET_BOX_##T(k)
#define ST_RET_BOX_NONE(k)
#define ST_RET_BOX_TENSOR(k) rets[k] = ST_V(TENSOR, tensor, o##k);
#define ST_RET_BOX_INT(k)    rets[k] = ST_V(INT, i, o##k);
#define ST_RET_BOX_FLOAT(k)  rets[k] = ST_V(FLOAT, f, o##k);
#define ST_RET_BOX_BOOL(k)   rets[k] = ST_V(BOOL, i, o##k);
#define ST_RET_UNBOX(k, x, T) ST_RET_UNBOX_##T(k)
#define ST_RET_UNBOX_NONE(k)
#define ST_RET_UNBOX_TENSOR(k) *r##k = rets[k].u.tensor;
#define ST_RET_UNBOX_INT(k)    *r##k = rets[k].u.i;
#define ST_RET_UNBOX_FLOAT(k)  *r##k = st__float_in(&rets[k]);
#define ST_RET_UNBOX_BOOL(k)   *r##k = rets[k].u.i != 0;

/* -- ST_SIGNATURE --------------------------------------------------------- */

#define ST_SIGNATURE(name, ARGS, RETS)                                      \
  ST_SIGNATURE_TYPE(name, ARGS, RETS)                                       \
  ST_SIGNATURE_BOXED(name, ARGS, RETS)                                      \
  ST_SIGNATURE_ENTER(name, name##_call, st_route_enter, (h, ks, &r), ,      \
                     ARGS, RETS)                                            \
  ST_SIGNATURE_ENTER(name, name##_redispatch, st_route_reenter,             \
                     (h, keys, &r), ST_SIGNATURE_KEYS, ARGS, RETS)
#define ST_SIGNATURE_KEYS , st_keyset keys

#define ST_SIGNATURE_TYPE(name, ARGS, RETS)                                 \
  typedef st_status name##_fn(const st_call *call                           \
    ST_EACH(ST_SIG_PARAM, , ARGS) ST_EACH(ST_RET_PARAM, , RETS));           \
  static const char name##_signature[] =                                    \
    ST_EACH(ST_SIG_TEXT, , ARGS) " -> " ST_EACH(ST_SIG_TEXT, , RETS);       \
  __attribute__((unused)) static inline st_status name##_find(              \
      const char *op, const char *overload, st_typed *out) {                \
    return st_typed_find(op, overload, name##_signature, out);              \
  }

#define ST_SIGNATURE_BOXED(name, ARGS, RETS)                                \
  __attribute__((unused)) static st_status name##_boxed(                    \
      const st_call *call, const st_value *args, st_value *rets) {          \
    ST_EACH(ST_RET_LOCAL, , RETS)                                           \
    const st_status status = ((name##_fn *)call->unboxed)(                  \
      call ST_EACH(ST_SIG_UNBOX, , ARGS) ST_EACH(ST_RET_TAKE, , RETS));     \
    if (status != ST_OK) return status;                                     \
    ST_EACH(ST_RET_BOX, , RETS)                                             \
    (void)rets;                                                             \
    return ST_OK;                                                           \
  }

#define ST_SIGNATURE_UNBOXED(name, ARGS, RETS)                              \
  status = ((name##_fn *)r.call.unboxed)(                                   \
    &r.call ST_EACH(ST_SIG_PASS, , ARGS) ST_EACH(ST_RET_PASS, , RETS));

#define ST_SIGNATURE_PACKED(ARGS, RETS)                                     \
  const st_value args[] = { ST_EACH(ST_SIG_BOX, , ARGS) };                  \
  st_value rets[4];                                                         \
  status = st_route_run(&r, args, rets);                                    \
  if (status == ST_OK) { ST_EACH(ST_RET_UNBOX, , RETS) }

#define ST_SIGNATURE_ENTER(name, fn, enter, how, extra, ARGS, RETS)         \
  __attribute__((unused)) static inline st_status fn(                       \
      const st_typed *h extra ST_EACH(ST_SIG_PARAM, , ARGS)                 \
      ST_EACH(ST_RET_PARAM, , RETS)) {                                      \
    st_route r;                                                             \
    const st_keyset ks = 0 ST_EACH(ST_SIG_KEYS, , ARGS);                    \
    st_status status = enter how;                                           \
    (void)ks;                                                               \
    if (status != ST_OK) return status;                                     \
    if (!r.packs) { ST_SIGNATURE_UNBOXED(name, ARGS, RETS) }                \
    else { ST_SIGNATURE_PACKED(ARGS, RETS) }                                \
    return st_route_leave(&r, status);                                      \
  }

/* Initializer of an st_kernel for an unboxed function; the compiler checks its
 * type. Other members (ctx, free_ctx, debug) may follow. */
#define ST_KERNEL(name, function, ...)                                      \
  {.fn = name##_boxed,                                                      \
   .unboxed = (st_unboxed_fn)(1 ? (function) : (name##_fn *)0),             \
   .signature = name##_signature, __VA_ARGS__}

#endif
