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
#ifndef ST_BASE_SIGNATURE_H
#define ST_BASE_SIGNATURE_H

/* -- Types: C type, text, unboxing, boxing, dispatch keys ----------------- */

#define ST_C_TENSOR       st_tensor *
#define ST_C_OPT_TENSOR   st_tensor *
#define ST_C_TENSORS      st_tensors
#define ST_C_OPT_TENSORS  st_tensors
#define ST_C_INT          int64_t
#define ST_C_FLOAT        double
#define ST_C_BOOL         bool
#define ST_C_SCALAR       st_scalar
#define ST_C_STRING       st_string
#define ST_C_GENERATOR    st_generator *
#define ST_C_INTS         st_ints
#define ST_C_FLOATS       st_floats
#define ST_C_BOOLS        st_bools
#define ST_C_OPT_INT      st_opt_int
#define ST_C_OPT_FLOAT    st_opt_float
#define ST_C_OPT_BOOL     st_opt_bool
#define ST_C_OPT_SCALAR   st_opt_scalar
#define ST_C_OPT_INTS     st_opt_ints

#define ST_TEXT_TENSOR       "Tensor"
#define ST_TEXT_OPT_TENSOR   "Tensor?"
#define ST_TEXT_TENSORS      "Tensor[]"
#define ST_TEXT_OPT_TENSORS  "Tensor?[]"
#define ST_TEXT_INT          "int"
#define ST_TEXT_FLOAT        "float"
#define ST_TEXT_BOOL         "bool"
#define ST_TEXT_SCALAR       "Scalar"
#define ST_TEXT_STRING       "str"
#define ST_TEXT_GENERATOR    "Generator?"
#define ST_TEXT_INTS         "int[]"
#define ST_TEXT_FLOATS       "float[]"
#define ST_TEXT_BOOLS        "bool[]"
#define ST_TEXT_OPT_INT      "int?"
#define ST_TEXT_OPT_FLOAT    "float?"
#define ST_TEXT_OPT_BOOL     "bool?"
#define ST_TEXT_OPT_SCALAR   "Scalar?"
#define ST_TEXT_OPT_INTS     "int[]?"
#define ST_TEXT_NONE         "()"

static inline st_scalar st__scalar_in(const st_value *v) {
  st_scalar s = {ST_SCALAR_INT, {.i = 0}};
  switch (v->tag) {
    case ST_TAG_FLOAT: s.kind = ST_SCALAR_FLOAT; s.u.f = v->u.f; break;
    case ST_TAG_UINT: s.kind = ST_SCALAR_UINT; s.u.u = v->u.u; break;
    case ST_TAG_COMPLEX:
      s.kind = ST_SCALAR_COMPLEX;
      s.u.c[0] = v->u.pair[0];
      s.u.c[1] = v->u.pair[1];
      break;
    default:
      s.kind = v->tag == ST_TAG_BOOL ? ST_SCALAR_BOOL : ST_SCALAR_INT;
      s.u.i = v->tag == ST_TAG_NONE ? 0 : v->u.i;
  }
  return s;
}
/* A complex value borrows its two doubles from s. */
static inline st_value st__scalar_out(const st_scalar *s) {
  st_value v = {ST_TAG_INT, 0, {.i = s->u.i}};
  switch (s->kind) {
    case ST_SCALAR_BOOL: v.tag = ST_TAG_BOOL; break;
    case ST_SCALAR_INT: break;
    case ST_SCALAR_UINT: v.tag = ST_TAG_UINT; break;
    case ST_SCALAR_FLOAT: v.tag = ST_TAG_FLOAT; v.u.f = s->u.f; break;
    case ST_SCALAR_COMPLEX: v.tag = ST_TAG_COMPLEX; v.u.pair = s->u.c; break;
  }
  return v;
}
static inline double st__float_in(const st_value *v) {
  return v->tag == ST_TAG_FLOAT ? v->u.f
       : v->tag == ST_TAG_NONE ? 0 : (double)v->u.i;
}
static inline st_value st__none_or(bool has, st_value v) {
  const st_value none = {ST_TAG_NONE, 0, {.i = 0}};
  return has ? v : none;
}
#define ST_V(TAG, member, x) ((st_value){ST_TAG_##TAG, 0, {.member = (x)}})
#define ST_L(TAG, member, x) \
  ((st_value){ST_TAG_##TAG, (x).n, {.member = (x).p}})

#define ST_IN_TENSOR(v)      ((v)->u.tensor)
#define ST_IN_OPT_TENSOR(v)  ((v)->tag == ST_TAG_NONE ? NULL : (v)->u.tensor)
#define ST_IN_TENSORS(v)     ((st_tensors){(v)->u.tensors, (v)->len})
#define ST_IN_OPT_TENSORS(v) ST_IN_TENSORS(v)
#define ST_IN_INT(v)         ((v)->u.i)
#define ST_IN_FLOAT(v)       st__float_in(v)
#define ST_IN_BOOL(v)        ((v)->u.i != 0)
#define ST_IN_SCALAR(v)      st__scalar_in(v)
#define ST_IN_STRING(v)      ((st_string){(v)->u.string, (v)->len})
#define ST_IN_GENERATOR(v) \
  ((v)->tag == ST_TAG_NONE ? NULL : (v)->u.generator)
#define ST_IN_INTS(v)        ((st_ints){(v)->u.ints, (v)->len})
#define ST_IN_FLOATS(v)      ((st_floats){(v)->u.floats, (v)->len})
#define ST_IN_BOOLS(v)       ((st_bools){(v)->u.bools, (v)->len})
#define ST_HAS(v)            ((v)->tag != ST_TAG_NONE)
#define ST_IN_OPT_INT(v)    ((st_opt_int){ST_HAS(v), ST_HAS(v) ? (v)->u.i : 0})
#define ST_IN_OPT_FLOAT(v)   ((st_opt_float){ST_HAS(v), st__float_in(v)})
#define ST_IN_OPT_BOOL(v) \
  ((st_opt_bool){ST_HAS(v), ST_HAS(v) && (v)->u.i != 0})
#define ST_IN_OPT_SCALAR(v)  ((st_opt_scalar){ST_HAS(v), st__scalar_in(v)})
#define ST_IN_OPT_INTS(v) \
  ((st_opt_ints){ST_HAS(v), {ST_HAS(v) ? (v)->u.ints : NULL, (v)->len}})

#define ST_OUT_TENSOR(x)      ST_V(TENSOR, tensor, x)
#define ST_OUT_OPT_TENSOR(x)  st__none_or((x) != NULL, ST_OUT_TENSOR(x))
#define ST_OUT_TENSORS(x)     ST_L(TENSORS, tensors, x)
#define ST_OUT_OPT_TENSORS(x) ST_OUT_TENSORS(x)
#define ST_OUT_INT(x)         ST_V(INT, i, x)
#define ST_OUT_FLOAT(x)       ST_V(FLOAT, f, x)
#define ST_OUT_BOOL(x)        ST_V(BOOL, i, x)
#define ST_OUT_SCALAR(x)      st__scalar_out(&(x))
#define ST_OUT_STRING(x)      ((st_value){ST_TAG_STRING, (x).n, \
                                          {.string = (x).s}})
#define ST_OUT_GENERATOR(x) \
  st__none_or((x) != NULL, ST_V(GENERATOR, generator, x))
#define ST_OUT_INTS(x)        ST_L(INTS, ints, x)
#define ST_OUT_FLOATS(x)      ST_L(FLOATS, floats, x)
#define ST_OUT_BOOLS(x)       ST_L(BOOLS, bools, x)
#define ST_OUT_OPT_INT(x)     st__none_or((x).has, ST_OUT_INT((x).i))
#define ST_OUT_OPT_FLOAT(x)   st__none_or((x).has, ST_OUT_FLOAT((x).f))
#define ST_OUT_OPT_BOOL(x)    st__none_or((x).has, ST_OUT_BOOL((x).b))
#define ST_OUT_OPT_SCALAR(x)  st__none_or((x).has, ST_OUT_SCALAR((x).s))
#define ST_OUT_OPT_INTS(x)    st__none_or((x).has, ST_OUT_INTS((x).v))

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

/* -- Loops over a list of types ------------------------------------------- */

/* ST_EACH(M, x, (A, B)) expands to M(0, x, A) M(1, x, B). */
#define ST_EACH(M, x, list) ST_EACH_(M, x, ST_UNWRAP list)
#define ST_UNWRAP(...) __VA_ARGS__
#define ST_EACH_(M, x, ...) \
  ST_EACH_N(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)(M, x, __VA_ARGS__)
#define ST_EACH_N(...) ST_EACH_AT(__VA_ARGS__, 0)
#define ST_EACH_AT(a, b, c, d, e, f, g, h, n, ...) ST_EACH_##n
#define ST_EACH_1(M, x, a) M(0, x, a)
#define ST_EACH_2(M, x, a, b) ST_EACH_1(M, x, a) M(1, x, b)
#define ST_EACH_3(M, x, a, b, c) ST_EACH_2(M, x, a, b) M(2, x, c)
#define ST_EACH_4(M, x, a, b, c, d) ST_EACH_3(M, x, a, b, c) M(3, x, d)
#define ST_EACH_5(M, x, a, b, c, d, e) ST_EACH_4(M, x, a, b, c, d) M(4, x, e)
#define ST_EACH_6(M, x, a, b, c, d, e, f) \
  ST_EACH_5(M, x, a, b, c, d, e) M(5, x, f)
#define ST_EACH_7(M, x, a, b, c, d, e, f, g) \
  ST_EACH_6(M, x, a, b, c, d, e, f) M(6, x, g)
#define ST_EACH_8(M, x, a, b, c, d, e, f, g, h) \
  ST_EACH_7(M, x, a, b, c, d, e, f, g) M(7, x, h)

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

#define ST_SIGNATURE_ENTER(name, fn, enter, how, extra, ARGS, RETS)         \
  __attribute__((unused)) static inline st_status fn(                       \
      const st_typed *h extra ST_EACH(ST_SIG_PARAM, , ARGS)                 \
      ST_EACH(ST_RET_PARAM, , RETS)) {                                      \
    st_route r;                                                             \
    const st_keyset ks = 0 ST_EACH(ST_SIG_KEYS, , ARGS);                    \
    st_status status = enter how;                                           \
    (void)ks;                                                               \
    if (status != ST_OK) return status;                                     \
    if (!r.packs) {                                                         \
      status = ((name##_fn *)r.call.unboxed)(                               \
        &r.call ST_EACH(ST_SIG_PASS, , ARGS) ST_EACH(ST_RET_PASS, , RETS)); \
    } else {                                                                \
      const st_value args[] = { ST_EACH(ST_SIG_BOX, , ARGS) };              \
      st_value rets[4];                                                     \
      status = st_route_run(&r, args, rets);                                \
      if (status == ST_OK) { ST_EACH(ST_RET_UNBOX, , RETS) }                \
    }                                                                       \
    return st_route_leave(&r, status);                                      \
  }

/* Initializer of an st_kernel for an unboxed function; the compiler checks its
 * type. Other members (ctx, free_ctx, debug) may follow. */
#define ST_KERNEL(name, function, ...)                                      \
  {.fn = name##_boxed,                                                      \
   .unboxed = (st_unboxed_fn)(1 ? (function) : (name##_fn *)0),             \
   .signature = name##_signature, __VA_ARGS__}

#endif
