/* The types of arguments and results: for each its C type, its text, how it is
 * taken out of a boxed value and put into one. For ST_SIGNATURE and, in the
 * engine, for the typed functions of rows. Included after abi/lists.h.
 */
#ifndef ST_ABI_BOXING_H
#define ST_ABI_BOXING_H

/* -- Types: C type, text, unboxing, boxing -------------------------------- */

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

#endif
