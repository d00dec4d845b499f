/* Dtype tables, type promotion, and loading and storing scalars. */

#include "base/dtype.h"

#include <math.h>
#include <stdatomic.h>

#include "base/status.h"

const uint8_t st__dtype_size[ST_DTYPE_ALL] = {
#define SIZE(id, name, bytes) bytes,
  ST_DTYPE_MAP(SIZE)
#undef SIZE
};

/* -- Names ---------------------------------------------------------------- */

static const char *const dtype_names[] = {
#define NAME(id, name, bytes) name,
  ST_DTYPE_MAP(NAME)
#undef NAME
};

/* PyTorch's alternative names. */
static const struct { const char *name; st_dtype dtype; } aliases[] = {
  {"float", ST_FLOAT32}, {"double", ST_FLOAT64}, {"half", ST_FLOAT16},
  {"byte", ST_UINT8},    {"char", ST_INT8},      {"short", ST_INT16},
  {"int", ST_INT32},     {"long", ST_INT64},     {"cfloat", ST_COMPLEX64},
  {"cdouble", ST_COMPLEX128},
};

const char *st__dtype_name(st_dtype d) {
  return (unsigned)d < ST_DTYPE_ALL ? dtype_names[d] : "none";
}

bool st__dtype_parse(const char *s, st_dtype *out) {
  for (int i = 0; i < ST_DTYPE_COUNT; i++) {
    if (strcmp(s, dtype_names[i]) == 0) return *out = (st_dtype)i, true;
  }
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    if (strcmp(s, aliases[i].name) == 0) return *out = aliases[i].dtype, true;
  }
  return false;
}

/* -- Promotion ------------------------------------------------------------ */

/* ORDER DTYPE */
#define u1 ST_UINT8
#define i1 ST_INT8
#define i2 ST_INT16
#define i4 ST_INT32
#define i8 ST_INT64
#define f2 ST_FLOAT16
#define f4 ST_FLOAT32
#define f8 ST_FLOAT64
#define c4 ST_COMPLEX64
#define c8 ST_COMPLEX128
#define b1 ST_BOOL
#define bf ST_BFLOAT16
#define u2 ST_UINT16
#define u4 ST_UINT32
#define u8 ST_UINT64
#define c2 ST_COMPLEX32
#define cb ST_BCOMPLEX32
#define ix ST_INT128
static const uint8_t promote_table[ST_DTYPE_ALL][ST_DTYPE_ALL] = {
  /*        u1 i1 i2 i4 i8 f2 f4 f8 c4 c8 b1 bf u2 u4 u8 c2 cb ix */
  /* u1 */ {u1,i2,i2,i4,i8,f2,f4,f8,c4,c8,u1,bf,u2,u4,u8,c2,cb,ix},
  /* i1 */ {i2,i1,i2,i4,i8,f2,f4,f8,c4,c8,i1,bf,i4,i8,ix,c2,cb,ix},
  /* i2 */ {i2,i2,i2,i4,i8,f2,f4,f8,c4,c8,i2,bf,i4,i8,ix,c2,cb,ix},
  /* i4 */ {i4,i4,i4,i4,i8,f2,f4,f8,c4,c8,i4,bf,i4,i8,ix,c2,cb,ix},
  /* i8 */ {i8,i8,i8,i8,i8,f2,f4,f8,c4,c8,i8,bf,i8,i8,ix,c2,cb,ix},
  /* f2 */ {f2,f2,f2,f2,f2,f2,f4,f8,c4,c8,f2,f4,f2,f2,f2,c2,c4,f2},
  /* f4 */ {f4,f4,f4,f4,f4,f4,f4,f8,c4,c8,f4,f4,f4,f4,f4,c4,c4,f4},
  /* f8 */ {f8,f8,f8,f8,f8,f8,f8,f8,c8,c8,f8,f8,f8,f8,f8,c8,c8,f8},
  /* c4 */ {c4,c4,c4,c4,c4,c4,c4,c8,c4,c8,c4,c4,c4,c4,c4,c4,c4,c4},
  /* c8 */ {c8,c8,c8,c8,c8,c8,c8,c8,c8,c8,c8,c8,c8,c8,c8,c8,c8,c8},
  /* b1 */ {u1,i1,i2,i4,i8,f2,f4,f8,c4,c8,b1,bf,u2,u4,u8,c2,cb,ix},
  /* bf */ {bf,bf,bf,bf,bf,f4,f4,f8,c4,c8,bf,bf,bf,bf,bf,c4,cb,bf},
  /* u2 */ {u2,i4,i4,i4,i8,f2,f4,f8,c4,c8,u2,bf,u2,u4,u8,c2,cb,ix},
  /* u4 */ {u4,i8,i8,i8,i8,f2,f4,f8,c4,c8,u4,bf,u4,u4,u8,c2,cb,ix},
  /* u8 */ {u8,ix,ix,ix,ix,f2,f4,f8,c4,c8,u8,bf,u8,u8,u8,c2,cb,ix},
  /* c2 */ {c2,c2,c2,c2,c2,c2,c4,c8,c4,c8,c2,c4,c2,c2,c2,c2,c4,c2},
  /* cb */ {cb,cb,cb,cb,cb,c4,c4,c8,c4,c8,cb,cb,cb,cb,cb,c4,cb,cb},
  /* ix */ {ix,ix,ix,ix,ix,f2,f4,f8,c4,c8,ix,bf,ix,ix,ix,c2,cb,ix},
};
#undef u1
#undef i1
#undef i2
#undef i4
#undef i8
#undef f2
#undef f4
#undef f8
#undef c4
#undef c8
#undef b1
#undef bf
#undef u2
#undef u4
#undef u8
#undef c2
#undef cb
#undef ix

st_dtype st__promote(st_dtype a, st_dtype b) {
  return (st_dtype)promote_table[a][b];
}

bool st__can_cast(st_dtype from, st_dtype to) {
  if (st__is_complex(from) && !st__is_complex(to)) return false;
  if (st__is_floating(from) && (st__is_integral(to) || to == ST_BOOL)) {
    return false;
  }
  if (from != ST_BOOL && to == ST_BOOL) return false;
  return true;
}

st_dtype st__real_dtype(st_dtype d) {
  switch (d) {
    case ST_COMPLEX32: return ST_FLOAT16;
    case ST_BCOMPLEX32: return ST_BFLOAT16;
    case ST_COMPLEX64: return ST_FLOAT32;
    case ST_COMPLEX128: return ST_FLOAT64;
    default: return d;
  }
}

st_dtype st__complex_dtype(st_dtype d) {
  switch (d) {
    case ST_FLOAT16: return ST_COMPLEX32;
    case ST_BFLOAT16: return ST_BCOMPLEX32;
    case ST_FLOAT32: return ST_COMPLEX64;
    case ST_FLOAT64: return ST_COMPLEX128;
    default: return d;
  }
}

st_status st__refuse_promoted(st_dtype d) {
  const bool is_bfloat = d == ST_BCOMPLEX32;
  if (d == ST_INT128) {
    return st__fail(ST_BAD_DTYPE, "uint64 and signed integers give int128, "
                    "which tensors cannot have: convert one of the tensors "
                    "first");
  }
  return st__fail(ST_BAD_DTYPE, "%s and complex numbers give %s, which tensors "
                  "cannot have: convert the %s tensor to float32 or complex64 "
                  "first", is_bfloat ? "bfloat16" : "float16",
                  st__dtype_name(d), is_bfloat ? "bfloat16" : "float16");
}

static _Atomic int default_dtype = ST_FLOAT32;

st_dtype st__default_dtype(void) { return (st_dtype)default_dtype; }

st_status st__set_default_dtype(st_dtype d) {
  if (!st__is_floating(d)) {
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
  const int bits = 8 * (int)st__itemsize(d);
  return st__scalar_int(d == ST_BOOL || st__is_unsigned(d)
                        ? 0 : INT64_MIN >> (64 - bits));
}

st_scalar st__int_highest(st_dtype d) {
  ST_ASSERT(st__is_integral(d) || d == ST_BOOL);
  const int bits = d == ST_BOOL ? 1 : 8 * (int)st__itemsize(d)
                                      - !st__is_unsigned(d);
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

void st__scalar_store(st_scalar s, st_dtype d, void *p) {
  const double f = st__scalar_to_double(s);
  const float single = st__scalar_to_float(s);
  const int64_t i = st__scalar_to_int(s);
  const bool is_exact = st__scalar_is_int(s) || s.kind == ST_SCALAR_BOOL;
  const int64_t narrow = is_exact ? i : st__f64_to_i32_x86(f);
  const double im = s.kind == ST_SCALAR_COMPLEX ? s.u.c[1] : 0;
  switch (d) {
    case ST_BOOL: STORE(uint8_t, is_nonzero(s)); break;
    case ST_UINT8: STORE(uint8_t, i); break;
    case ST_INT8: STORE(int8_t, narrow); break;
    case ST_INT16: STORE(int16_t, narrow); break;
    case ST_INT32: STORE(int32_t, narrow); break;
    case ST_INT64: STORE(int64_t, i); break;
    case ST_UINT16: STORE(uint16_t, narrow); break;
    case ST_UINT32: STORE(uint32_t, i); break;
    case ST_UINT64: STORE(uint64_t, st__scalar_to_uint(s)); break;
    case ST_FLOAT16: STORE(uint16_t, st__float_to_half(single)); break;
    case ST_BFLOAT16: STORE(uint16_t, st__float_to_bf16(single)); break;
    case ST_FLOAT32: STORE(float, single); break;
    case ST_FLOAT64: STORE(double, f); break;
    case ST_COMPLEX64: {
      const float c[2] = {single, (float)im};
      memcpy(p, c, sizeof c);
      break;
    }
    case ST_COMPLEX128: {
      const double c[2] = {f, im};
      memcpy(p, c, sizeof c);
      break;
    }
    default: ST_ASSERT(!"a dtype that tensors have");
  }
}

#define LOAD(T) (*(T *)memcpy(&(T){0}, p, sizeof(T)))

st_scalar st__scalar_load(st_dtype d, const void *p) {
  switch (d) {
    case ST_BOOL: return st__scalar_bool(LOAD(uint8_t) != 0);
    case ST_UINT8: return st__scalar_int(LOAD(uint8_t));
    case ST_INT8: return st__scalar_int(LOAD(int8_t));
    case ST_INT16: return st__scalar_int(LOAD(int16_t));
    case ST_INT32: return st__scalar_int(LOAD(int32_t));
    case ST_INT64: return st__scalar_int(LOAD(int64_t));
    case ST_UINT16: return st__scalar_int(LOAD(uint16_t));
    case ST_UINT32: return st__scalar_int(LOAD(uint32_t));
    case ST_UINT64: return st__scalar_uint(LOAD(uint64_t));
    case ST_FLOAT16: return st__scalar_float(st__half_to_float(LOAD(uint16_t)));
    case ST_BFLOAT16:
      return st__scalar_float(st__bf16_to_float(LOAD(uint16_t)));
    case ST_FLOAT32: return st__scalar_float(LOAD(float));
    case ST_FLOAT64: return st__scalar_float(LOAD(double));
    case ST_COMPLEX64: {
      float c[2];
      memcpy(c, p, sizeof c);
      return st__scalar_complex(c[0], c[1]);
    }
    default: {
      double c[2];
      ST_ASSERT(d == ST_COMPLEX128);
      memcpy(c, p, sizeof c);
      return st__scalar_complex(c[0], c[1]);
    }
  }
}
