/* Dtype tables, type promotion, and loading and storing scalars. */

#include "base/dtype.h"

#include <math.h>
#include <stdatomic.h>

#include "base/status.h"

/* -- Names ---------------------------------------------------------------- */

const char *st__dtype_name(st_dtype d) {
  return (unsigned)d < ST_DTYPE_ALL ? st__dtype_facts[d].name : "none";
}

bool st_dtype_parse(const char *s, st_dtype *out) {
  for (int i = 0; i < ST_DTYPE_ALL; i++) {
    const st_dtype_facts *f = &st__dtype_facts[i];
    if (st__is_tensor_dtype(i) && (strcmp(s, f->name) == 0 ||
                                 (f->alias && strcmp(s, f->alias) == 0))) {
      *out = (st_dtype)i;
      return true;
    }
  }
  return false;
}

/* -- Promotion ------------------------------------------------------------ */

static st_dtype signed_of(size_t bytes) {
  switch (bytes) {
    case 2: return ST_INT16;
    case 4: return ST_INT32;
    case 8: return ST_INT64;
    default: return ST_INT128;
  }
}

/* Of an unsigned and a signed dtype, a signed one. */
static st_dtype promote_integers(st_dtype a, st_dtype b) {
  const bool differ = st__is_unsigned(a) != st__is_unsigned(b);
  const size_t m = st__itemsize(a), n = st__itemsize(b);
  const size_t least = differ ? 2 * (st__is_unsigned(a) ? m : n) : 0;
  const size_t most = m > n ? m : n;
  if (least > most) return signed_of(least);
  return m > n ? a : b;
}

static st_dtype promote_floats(st_dtype a, st_dtype b) {
  const size_t m = st__itemsize(a), n = st__itemsize(b);
  return m == n && a != b ? ST_FLOAT32 : m > n ? a : b;
}

static st_dtype promote(st_dtype a, st_dtype b) {
  if (a == b || a >= ST_NOTHING_PROMOTED) return a;
  if (b >= ST_NOTHING_PROMOTED) return b;
  if (st__promotes_alone(a)) return st__refuses_others(a);
  if (st__promotes_alone(b)) return st__refuses_others(b);
  if (b == ST_BOOL) return a;
  if (a == ST_BOOL) return b;
  if (st__is_complex(a) || st__is_complex(b)) {
    return st__complex_dtype(promote(st__real_dtype(a), st__real_dtype(b)));
  }
  if (st__is_integral(a)) {
    return st__is_integral(b) ? promote_integers(a, b) : b;
  }
  return st__is_integral(b) ? a : promote_floats(a, b);
}

st_promotion st__promote(st_dtype a, st_dtype b) {
  return (st_promotion){promote(a, b)};
}

bool st_can_cast(st_dtype from, st_dtype to) {
  if (st__is_packed(from) || st__is_packed(to)) return from == to;
  if (st__is_complex(from) && !st__is_complex(to)) return false;
  if (st__is_floating(from) && (st__is_integral(to) || to == ST_BOOL)) {
    return false;
  }
  if (from != ST_BOOL && to == ST_BOOL) return false;
  return true;
}

st_status st__check_conversion(st_dtype from, st_dtype to) {
  if (from == to || (!st__is_packed(from) && !st__is_packed(to))) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "an element of %s holds two numbers and is "
                  "converted to no other dtype: view its codes, as in "
                  "t:view \"uint8\"",
                  st__dtype_name(st__is_packed(from) ? from : to));
}

st_status st__refuse_promoted(st_dtype d) {
  if (d >= ST_NOTHING_PROMOTED &&
      st__is_packed((st_dtype)(d - ST_NOTHING_PROMOTED))) {
    return st__fail(ST_BAD_DTYPE, "%s and other dtypes have no common dtype",
                    st__dtype_name((st_dtype)(d - ST_NOTHING_PROMOTED)));
  }
  if (d >= ST_NOTHING_PROMOTED) {
    return st__fail(ST_BAD_DTYPE, "%s and other dtypes have no common dtype: "
                    "convert the tensors to one first, as in t:to \"float32\"",
                    st__dtype_name((st_dtype)(d - ST_NOTHING_PROMOTED)));
  }
  ST_ASSERT(d == ST_INT128);
  return st__fail(ST_BAD_DTYPE, "uint64 and signed integers give int128, which "
                  "tensors cannot have: convert one of the tensors first");
}

static _Atomic int default_dtype = ST_FLOAT32;

st_dtype st__default_dtype(void) { return (st_dtype)default_dtype; }

st_status st_set_default_dtype(st_dtype d) {
  if (!st__is_floating(d) || st__is_float8(d)) {
    return st__fail(ST_BAD_DTYPE, "the default dtype must be a floating-point "
                    "dtype, not %s", st__dtype_name(d));
  }
  default_dtype = d;
  return ST_OK;
}

/* -- Scalars -------------------------------------------------------------- */

st_dtype st__scalar_dtype(st_scalar s) {
  switch (s.kind) {
    case ST_SCALAR_BOOL: return ST_BOOL;
    case ST_SCALAR_INT: return ST_INT64;
    case ST_SCALAR_UINT: return ST_UINT64;
    case ST_SCALAR_FLOAT: return st__default_dtype();
    default: return st__default_dtype() == ST_FLOAT64 ? ST_COMPLEX128
                  : st__default_dtype() == ST_FLOAT16 ? ST_COMPLEX32
                                                      : ST_COMPLEX64;
  }
}

double st__scalar_to_double(st_scalar s) {
  switch (s.kind) {
    case ST_SCALAR_FLOAT: return s.u.f;
    case ST_SCALAR_COMPLEX: return s.u.c[0];
    case ST_SCALAR_UINT: return (double)s.u.u;
    default: return (double)s.u.i;
  }
}

float st__scalar_to_float(st_scalar s) {
  switch (s.kind) {
    case ST_SCALAR_FLOAT: return (float)s.u.f;
    case ST_SCALAR_COMPLEX: return (float)s.u.c[0];
    case ST_SCALAR_UINT: return (float)s.u.u;
    default: return (float)s.u.i;
  }
}

int64_t st__scalar_to_int(st_scalar s) {
  switch (s.kind) {
    case ST_SCALAR_FLOAT: return st__f64_to_i64_x86(s.u.f);
    case ST_SCALAR_COMPLEX: return st__f64_to_i64_x86(s.u.c[0]);
    default: return s.u.i;
  }
}

uint64_t st__scalar_to_uint(st_scalar s) {
  switch (s.kind) {
    case ST_SCALAR_FLOAT: return st__f64_to_u64_x86(s.u.f);
    case ST_SCALAR_COMPLEX: return st__f64_to_u64_x86(s.u.c[0]);
    default: return s.u.u;
  }
}

void st__scalar_to_complex(st_scalar s, double out[2]) {
  out[0] = st__scalar_to_double(s);
  out[1] = s.kind == ST_SCALAR_COMPLEX ? s.u.c[1] : 0;
}

st_scalar st__int_lowest(st_dtype d) {
  ST_ASSERT(st__is_integral(d) || d == ST_BOOL);
  const int bits = st__bits(d);
  return st__scalar_int(d == ST_BOOL || st__is_unsigned(d)
                        ? 0 : INT64_MIN >> (64 - bits));
}

st_scalar st__int_highest(st_dtype d) {
  ST_ASSERT(st__is_integral(d) || d == ST_BOOL);
  const int bits = d == ST_BOOL ? 1 : st__bits(d) - !st__is_unsigned(d);
  return st__scalar_uint(UINT64_MAX >> (64 - bits));
}

static bool is_nonzero(st_scalar s) {
  switch (s.kind) {
    case ST_SCALAR_FLOAT: return s.u.f != 0;
    case ST_SCALAR_COMPLEX: return s.u.c[0] != 0 || s.u.c[1] != 0;
    default: return s.u.i != 0;
  }
}

#define STORE(T, value) memcpy(p, &(T){(T)(value)}, sizeof(T))

static void store_integer(uint64_t bits, size_t bytes, void *p) {
  switch (bytes) {
    case 1: STORE(uint8_t, bits); break;
    case 2: STORE(uint16_t, bits); break;
    case 4: STORE(uint32_t, bits); break;
    default: STORE(uint64_t, bits);
  }
}

/* Of 8 and 16 bits that are signed, of 16 bits that are not, and of 32 that
 * are, x86 truncates a float to 32 bits first. */
static uint64_t to_integer(st_scalar s, st_dtype d) {
  const bool is_exact = st__scalar_is_int(s) || s.kind == ST_SCALAR_BOOL;
  if (d == ST_UINT64) return st__scalar_to_uint(s);
  if (is_exact || d == ST_UINT8 || d == ST_UINT32 || d == ST_INT64) {
    return (uint64_t)st__scalar_to_int(s);
  }
  return (uint64_t)st__f64_to_i32_x86(st__scalar_to_double(s));
}

static void store_float(double f, float single, st_dtype d, void *p) {
  switch (d) {
#define STORE_REDUCED(id, T, name) \
  case ST_##id: STORE(T, st__float_to_##name(single)); break;
    ST_REDUCED_FLOATS(STORE_REDUCED)
    case ST_FLOAT32: STORE(float, single); break;
    default:
      ST_ASSERT(d == ST_FLOAT64);
      STORE(double, f);
  }
}

static void store_any(st_scalar s, st_dtype d, void *p) {
  const double im = s.kind == ST_SCALAR_COMPLEX ? s.u.c[1] : 0;
  const st_dtype part = st__real_dtype(d);
  ST_ASSERT(st__is_tensor_dtype(d));
  if (d == ST_BOOL) {
    STORE(uint8_t, is_nonzero(s));
  } else if (st__is_subbyte(d)) {
    STORE(uint8_t, to_integer(s, d) & ((1u << st__bits(d)) - 1));
  } else if (st__is_integral(d) || st__is_packed(d)) {
    store_integer(to_integer(s, d), st__itemsize(d), p);
  } else {
    store_float(st__scalar_to_double(s), st__scalar_to_float(s), part, p);
    if (part != d) {
      store_float(im, (float)im, part, (char *)p + st__itemsize(part));
    }
  }
}

/* The dtypes that most numbers have need no look at their kind. */
void st__scalar_store(st_scalar s, st_dtype d, void *p) {
  switch (d) {
    case ST_FLOAT32: STORE(float, st__scalar_to_float(s)); break;
    case ST_FLOAT64: STORE(double, st__scalar_to_double(s)); break;
    case ST_INT64: STORE(int64_t, st__scalar_to_int(s)); break;
    default: store_any(s, d, p);
  }
}

#define LOAD(T) (*(T *)memcpy(&(T){0}, p, sizeof(T)))

/* Fewer than eight bits; the highest one of a signed integer is its sign. */
static st_scalar load_bits(st_dtype d, const void *p) {
  const int bits = st__bits(d), sign = st__is_unsigned(d) ? 0 : 1 << (bits - 1);
  const int field = LOAD(uint8_t) & ((1 << bits) - 1);
  return st__scalar_int((field ^ sign) - sign);
}

static st_scalar load_integer(st_dtype d, const void *p) {
  const bool is_unsigned = st__is_unsigned(d);
  switch (st__itemsize(d)) {
    case 1: return st__scalar_int(is_unsigned ? LOAD(uint8_t) : LOAD(int8_t));
    case 2: return st__scalar_int(is_unsigned ? LOAD(uint16_t) : LOAD(int16_t));
    case 4:
      return st__scalar_int(is_unsigned ? (int64_t)LOAD(uint32_t)
                                        : LOAD(int32_t));
    default:
      return is_unsigned ? st__scalar_uint(LOAD(uint64_t))
                         : st__scalar_int(LOAD(int64_t));
  }
}

static double load_float(st_dtype d, const void *p) {
  switch (d) {
#define LOAD_REDUCED(id, T, name) \
  case ST_##id: return st__##name##_to_float(LOAD(T));
    ST_REDUCED_FLOATS(LOAD_REDUCED)
    case ST_FLOAT32: return LOAD(float);
    default:
      ST_ASSERT(d == ST_FLOAT64);
      return LOAD(double);
  }
}

st_scalar st__scalar_load(st_dtype d, const void *p) {
  if (d == ST_FLOAT32) return st__scalar_float(LOAD(float)); /* most are */
  if (d == ST_FLOAT64) return st__scalar_float(LOAD(double));
  const st_dtype part = st__real_dtype(d);
  ST_ASSERT(st__is_tensor_dtype(d));
  if (d == ST_BOOL) return st__scalar_bool(LOAD(uint8_t) != 0);
  if (st__is_subbyte(d)) return load_bits(d, p);
  if (st__is_integral(d)) return load_integer(d, p);
  if (st__is_packed(d)) return st__scalar_int(LOAD(uint8_t));
  if (part == d) return st__scalar_float(load_float(d, p));
  return st__scalar_complex(load_float(part, p),
                            load_float(part, (const char *)p +
                                             st__itemsize(part)));
}
