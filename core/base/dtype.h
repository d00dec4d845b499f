/* Dtypes: sizes, names, categories, type promotion (P1 to P5), scalars, and
 * conversions of half and bfloat16.
 */
#ifndef ST_BASE_DTYPE_H
#define ST_BASE_DTYPE_H

#include <string.h>

#include "abi/types.h"

extern const uint8_t st__dtype_size[ST_DTYPE_ALL];
extern const st_dtype_facts st__dtype_facts[ST_DTYPE_ALL];

static inline size_t st__itemsize(st_dtype d) { return st__dtype_size[d]; }
static inline bool st__is_subbyte(st_dtype d) { return st_dtype_is_subbyte(d); }
static inline int st__bits(st_dtype d) {
  return st__is_subbyte(d) ? st__dtype_facts[d].bits
                           : 8 * (int)st__itemsize(d);
}
/* The dtype of the bytes that hold the elements of a sub-byte dtype, one
 * each. */
static inline st_dtype st__byte_dtype(st_dtype d) {
  return st_dtype_is_unsigned(d) ? ST_UINT8 : ST_INT8;
}

const char *st__dtype_name(st_dtype d);            /* "float32" */
/* also "float", "long" */
ST_API bool st_dtype_parse(const char *s, st_dtype *out);

static inline bool st__is_complex(st_dtype d) { return st_dtype_is_complex(d); }
static inline bool st__is_floating(st_dtype d) {
  return st_dtype_is_floating(d);
}
/* Floating point or complex dtypes. */
static inline bool st__is_inexact(st_dtype d) {
  return st_dtype_is_floating(d) || st_dtype_is_complex(d);
}
static inline bool st__is_unsigned(st_dtype d) {
  return st_dtype_is_unsigned(d);
}
/* Integer dtypes; bool is not one. */
static inline bool st__is_integral(st_dtype d) {
  return st_dtype_is_integer(d);
}
/* float16 and bfloat16. */
static inline bool st__is_reduced_float(st_dtype d) {
  return st_dtype_is_in(ST_DTYPES_OF(ST_KIND_BIT(HALF)), d);
}
static inline bool st__is_float8(st_dtype d) {
  return st_dtype_is_in(ST_DTYPES_OF(ST_KIND_BIT(FLOAT8)), d);
}
static inline bool st__is_packed(st_dtype d) {
  return st_dtype_is_in(ST_DTYPES_OF(ST_KIND_BIT(PACKED)), d);
}
/* Do operators that make numbers, such as arange, not make any of it? */
static inline bool st__is_only_stored(st_dtype d) {
  return st__is_packed(d) || st__is_subbyte(d);
}
/* Has it no common dtype with another? */
static inline bool st__promotes_alone(st_dtype d) {
  return st_dtype_is_in(ST_DTYPES_OF(ST_KIND_BIT(FLOAT8) |
                                     ST_KIND_BIT(PACKED) |
                                     ST_KIND_BIT(SUBBYTE_SIGNED) |
                                     ST_KIND_BIT(SUBBYTE_UNSIGNED)), d);
}
/* complex32 and bcomplex32. */
static inline bool st__is_complex_half(st_dtype d) {
  return st_dtype_is_in(ST_DTYPES_OF(ST_KIND_BIT(COMPLEX_HALF)), d);
}
/* int128, or none. */
static inline bool st__is_promoted_only(st_dtype d) {
  return d != ST_DTYPE_NONE && !st_dtype_is_of_tensors(d);
}
/* What such a dtype promotes to with another one: a number that is of no dtype,
 * and from which a message tells the dtype. */
#define ST_NOTHING_PROMOTED 128u
static inline st_dtype st__refuses_others(st_dtype alone) {
  return (st_dtype)(ST_NOTHING_PROMOTED | alone);
}
/* Can tensors have the dtype of this number? */
static inline bool st__is_tensor_dtype(int64_t d) {
  return (uint64_t)d < ST_DTYPE_ALL && st_dtype_is_of_tensors((st_dtype)d);
}

/* What dtypes promote to. Tensors cannot have all of its numbers: int128, and
 * from ST_NOTHING_PROMOTED on. st__promoted makes a dtype of it. */
typedef struct st_promotion { st_dtype number; } st_promotion;

/* What a and b promote to, by ATen's rules. Two integer dtypes give the
 * narrowest one that holds all values of both: the Array API standard's rule,
 * where ATen refuses uint16, uint32 and uint64. int128: there is none. */
st_promotion st__promote(st_dtype a, st_dtype b);
/* False for complex -> real, float -> integer, non-bool -> bool, and between a
 * packed dtype and another. */
ST_API bool st_can_cast(st_dtype from, st_dtype to);
/* float32 for complex64, float64 for complex128, else d. */
static inline st_dtype st__real_dtype(st_dtype d) {
  return st__is_complex(d) ? (st_dtype)st__dtype_facts[d].counterpart : d;
}
/* complex64 for float32, ...; d must be floating or complex. */
static inline st_dtype st__complex_dtype(st_dtype d) {
  return st__is_floating(d) ? (st_dtype)st__dtype_facts[d].counterpart : d;
}
/* The limits of a floating dtype, or of the parts of a complex one. */
static inline const st_dtype_facts *st__float_limits(st_dtype d) {
  return &st__dtype_facts[st__real_dtype(d)];
}

/* BAD_DTYPE for a result of dtype int128, or of none. */
st_status st__refuse_promoted(st_dtype d);
/* The dtype of a promotion; BAD_DTYPE if tensors cannot have it. */
static inline st_status st__promoted(st_promotion p, st_dtype *out) {
  *out = p.number;
  return st__is_promoted_only(p.number) ? st__refuse_promoted(p.number) : ST_OK;
}

/* BAD_DTYPE between a packed dtype and another. */
st_status st__check_conversion(st_dtype from, st_dtype to);

/* The default dtype of floating-point results, process-wide: float32 at the
 * start. It must be a floating dtype (BAD_DTYPE). */
st_dtype st__default_dtype(void);
ST_API st_status st_set_default_dtype(st_dtype d);

/* -- Scalars -------------------------------------------------------------- */

static inline st_scalar st__scalar_int(int64_t i) {
  return (st_scalar){ST_SCALAR_INT, {.i = i}};
}
static inline st_scalar st__scalar_uint(uint64_t u) {
  return (st_scalar){u > INT64_MAX ? ST_SCALAR_UINT : ST_SCALAR_INT, {.u = u}};
}
static inline bool st__scalar_is_int(st_scalar s) {
  return s.kind == ST_SCALAR_INT || s.kind == ST_SCALAR_UINT;
}
/* Negative, 0 or positive, as a is below, equal to or above b; bools count as
 * integers. */
static inline int st__compare_ints(st_scalar a, st_scalar b) {
  const bool over = a.kind == ST_SCALAR_UINT, other = b.kind == ST_SCALAR_UINT;
  if (over != other) return over - other;
  return over ? (a.u.u > b.u.u) - (a.u.u < b.u.u)
              : (a.u.i > b.u.i) - (a.u.i < b.u.i);
}
static inline st_scalar st__scalar_float(double f) {
  return (st_scalar){ST_SCALAR_FLOAT, {.f = f}};
}
static inline st_scalar st__scalar_bool(bool b) {
  return (st_scalar){ST_SCALAR_BOOL, {.i = b}};
}
static inline st_scalar st__scalar_complex(double re, double im) {
  return (st_scalar){ST_SCALAR_COMPLEX, {.c = {re, im}}};
}
/* The dtype of a scalar: bool, int64, uint64, the default dtype, or its complex
 * counterpart. */
st_dtype st__scalar_dtype(st_scalar s);
double st__scalar_to_double(st_scalar s); /* real part of a complex */
float st__scalar_to_float(st_scalar s);   /* rounds an integer only once */
int64_t st__scalar_to_int(st_scalar s);   /* truncates, does not saturate */
uint64_t st__scalar_to_uint(st_scalar s);
void st__scalar_to_complex(st_scalar s, double out[2]);
/* The least and the greatest value of an integer dtype or bool. */
st_scalar st__int_lowest(st_dtype d);
st_scalar st__int_highest(st_dtype d);
/* Writes s as one element of dtype d at p (C conversion rules of copy_). One of
 * fewer than eight bits is in the low bits; the others become 0. */
void st__scalar_store(st_scalar s, st_dtype d, void *p);
/* Reads one element of dtype d at p, in the low bits. */
st_scalar st__scalar_load(st_dtype d, const void *p);

/* Conversions with x86's result for a double that is out of range, without
 * undefined behaviour. Integers of up to 32 bits use the 32-bit one. */
static inline int64_t st__f64_to_i64_x86(double f) {
  return f >= -9223372036854775808.0 && f < 9223372036854775808.0
       ? (int64_t)f : INT64_MIN;
}
/* From 2^63 on unsigned, below signed and wrapped. */
static inline uint64_t st__f64_to_u64_x86(double f) {
  return f >= 9223372036854775808.0
       ? (uint64_t)st__f64_to_i64_x86(f - 9223372036854775808.0) ^ 1ull << 63
       : (uint64_t)st__f64_to_i64_x86(f);
}
static inline int32_t st__f64_to_i32_x86(double f) {
  return f > -2147483649.0 && f < 2147483648.0 ? (int32_t)f : INT32_MIN;
}

/* -- Half and bfloat16 ---------------------------------------------------- */

/* Branch-free, so that compilers vectorise loops over them. Rounding is to
 * nearest even; a NaN becomes a quiet NaN. The bits equal those of the
 * conversion instructions, except that a half NaN keeps only its sign and no
 * payload. The method is Fabian Giesen's. */
static inline float st__bits_float(uint32_t u) {
  float f; memcpy(&f, &u, 4); return f;
}
static inline uint32_t st__float_bits(float f) {
  uint32_t u; memcpy(&u, &f, 4); return u;
}

static inline float st__half_to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  const uint32_t bits = (uint32_t)(h & 0x7fffu) << 13;
  /* The multiplication rebiases the exponent; it is exact for subnormals. */
  const float scaled = st__bits_float(bits) * st__bits_float(0x77800000u);
  const uint32_t infinite = bits >= 0x0f800000u ? 0x7f800000u : 0u;
  const uint32_t special = bits > 0x0f800000u ? 0x7fc00000u : infinite;
  return st__bits_float(st__float_bits(scaled) | special | sign);
}

static inline uint16_t st__float_to_half(float f) {
  const uint32_t u = st__float_bits(f);
  const uint32_t sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
  /* Subnormal results: adding 0.5 aligns and rounds the mantissa. */
  const uint32_t sub = st__float_bits(st__bits_float(a) + 0.5f) - 0x3f000000u;
  /* Normal results: rebias the exponent, round to nearest even. */
  const uint32_t nor = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
  uint32_t r = a < 0x38800000u ? sub : nor;
  r = a >= 0x477ff000u ? 0x7c00u : r;  /* 65520 and up */
  r = a > 0x7f800000u ? 0x7e00u : r;   /* NaN */
  return (uint16_t)(r | sign);
}

static inline float st__bf16_to_float(uint16_t h) {
  return st__bits_float((uint32_t)h << 16);
}

static inline uint16_t st__float_to_bf16(float f) {
  const uint32_t u = st__float_bits(f);
  const uint32_t r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : r);
}

/* -- Floats of eight bits ------------------------------------------------- */

/* As above: branch-free, rounded to nearest even, converted as in PyTorch. A
 * code is a sign, an exponent and `mantissa` bits; `bias` is the exponent's. */

/* The number of a code without its sign, as if none were special. */
static inline float st__float8_number(uint32_t c, int mantissa, int bias) {
  const float rebias = st__bits_float((uint32_t)(254 - bias) << 23);
  return st__bits_float((c & 0x7fu) << (23 - mantissa)) * rebias;
}

/* The code of a float of bits `a` without its sign, as if exponents had no
 * limit. */
static inline uint32_t st__float8_code(uint32_t a, int mantissa, int bias) {
  const int shift = 23 - mantissa;
  /* A subnormal result is a multiple of this float's last bit. */
  const uint32_t unit = (uint32_t)(151 - bias - mantissa) << 23;
  const uint32_t sub =
    st__float_bits(st__bits_float(a) + st__bits_float(unit)) - unit;
  const uint32_t nor = (a - ((uint32_t)(127 - bias) << 23) +
                        (1u << (shift - 1)) - 1u + ((a >> shift) & 1u)) >>
                       shift;
  return a < (uint32_t)(128 - bias) << 23 ? sub : nor;
}

/* e4m3fn and e5m2 are the Open Compute Project's; a NaN keeps its sign and no
 * payload. e4m3fn has no infinities, and numbers beyond 448 become 448. */

static inline float st__e4m3fn_to_float(uint8_t c) {
  const uint32_t nan = (c & 0x7fu) == 0x7fu ? 0x7fc00000u : 0u;
  return st__bits_float(st__float_bits(st__float8_number(c, 3, 7)) | nan |
                        (uint32_t)(c & 0x80u) << 24);
}

static inline uint8_t st__float_to_e4m3fn(float f) {
  const uint32_t u = st__float_bits(f), a = u & 0x7fffffffu;
  uint32_t r = st__float8_code(a, 3, 7);
  r = r > 0x7eu ? 0x7eu : r;           /* 448 */
  r = a > 0x7f800000u ? 0x7fu : r;     /* NaN */
  return (uint8_t)(r | (u >> 24 & 0x80u));
}

static inline float st__e5m2_to_float(uint8_t c) {
  const uint32_t infinite = (c & 0x7fu) >= 0x7cu ? 0x7f800000u : 0u;
  const uint32_t special = (c & 0x7fu) > 0x7cu ? 0x7fc00000u : infinite;
  return st__bits_float(st__float_bits(st__float8_number(c, 2, 15)) | special |
                        (uint32_t)(c & 0x80u) << 24);
}

static inline uint8_t st__float_to_e5m2(float f) {
  const uint32_t u = st__float_bits(f), a = u & 0x7fffffffu;
  uint32_t r = st__float8_code(a, 2, 15);
  r = r > 0x7cu ? 0x7cu : r;           /* 61440 and up: infinite */
  r = a > 0x7f800000u ? 0x7fu : r;     /* NaN */
  return (uint8_t)(r | (u >> 24 & 0x80u));
}

/* The formats fnuz have no -0, whose code is the only NaN, and no infinities:
 * what is beyond the greatest number becomes NaN. */

static inline float st__fnuz_to_float(uint8_t c, int mantissa, int bias) {
  const uint32_t sign = (uint32_t)(c & 0x80u) << 24;
  const uint32_t r =
    st__float_bits(st__float8_number(c, mantissa, bias)) | sign;
  return st__bits_float(c == 0x80u ? 0x7fc00000u : r);
}

static inline uint8_t st__float_to_fnuz(float f, int mantissa, int bias) {
  const uint32_t u = st__float_bits(f);
  const uint32_t r = st__float8_code(u & 0x7fffffffu, mantissa, bias);
  const uint32_t sign = r == 0u ? 0u : u >> 24 & 0x80u;
  return (uint8_t)(r > 0x7fu ? 0x80u : r | sign);
}

static inline float st__e4m3fnuz_to_float(uint8_t c) {
  return st__fnuz_to_float(c, 3, 8);
}
static inline uint8_t st__float_to_e4m3fnuz(float f) {
  return st__float_to_fnuz(f, 3, 8);
}
static inline float st__e5m2fnuz_to_float(uint8_t c) {
  return st__fnuz_to_float(c, 2, 16);
}
static inline uint8_t st__float_to_e5m2fnuz(float f) {
  return st__float_to_fnuz(f, 2, 16);
}

/* e8m0fnu: powers of two from 2^-127 on, and a NaN. A number loses its sign;
 * midpoints go up, and so do all numbers between the least two. */

static inline float st__e8m0fnu_to_float(uint8_t c) {
  const uint32_t power = c == 0u ? 0x00400000u : (uint32_t)c << 23;
  return st__bits_float(c == 0xffu ? 0x7fc00000u : power);
}

static inline uint8_t st__float_to_e8m0fnu(float f) {
  const uint32_t a = st__float_bits(f) & 0x7fffffffu;
  const uint32_t r = (a + 0x3fffffu + (a >= 0x00800000u)) >> 23;
  return (uint8_t)(r > 0xffu ? 0xffu : r);
}

/* X(id, T, name): the dtypes of fewer than 32 bits, the type of their bits, and
 * how the conversions from and to float32 are called. */
#define ST_REDUCED_FLOATS(X) \
  X(FLOAT16,         uint16_t, half)     \
  X(BFLOAT16,        uint16_t, bf16)     \
  X(FLOAT8_E4M3FN,   uint8_t,  e4m3fn)   \
  X(FLOAT8_E5M2,     uint8_t,  e5m2)     \
  X(FLOAT8_E4M3FNUZ, uint8_t,  e4m3fnuz) \
  X(FLOAT8_E5M2FNUZ, uint8_t,  e5m2fnuz) \
  X(FLOAT8_E8M0FNU,  uint8_t,  e8m0fnu)

#define ST_REDUCED_BIT(id, T, name) | UINT64_C(1) << ST_##id
_Static_assert((0 ST_REDUCED_FLOATS(ST_REDUCED_BIT)) ==
               ST_DTYPES_OF(ST_KIND_BIT(HALF) | ST_KIND_BIT(FLOAT8)),
               "a dtype has no conversions from and to float32");

#endif
