/* Part of the public header: dtypes, their kinds, and what is known of each.
 */
#ifndef ST_ABI_DTYPES_H
#define ST_ABI_DTYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- Dtypes --------------------------------------------------------------- */

/* id, name, bytes. The first eight have ATen's numbers. bcomplex32 is two
 * bfloat16. int128 exists in type promotion only: no tensor has it. An integer
 * of fewer than eight bits needs a byte where it is alone.
 * ORDER DTYPE: DTYPES of gdb/strided.py. */
#define ST_DTYPE_MAP(X) \
  X(UINT8,            "uint8",            1) \
  X(INT8,             "int8",             1) \
  X(INT16,            "int16",            2) \
  X(INT32,            "int32",            4) \
  X(INT64,            "int64",            8) \
  X(FLOAT16,          "float16",          2) \
  X(FLOAT32,          "float32",          4) \
  X(FLOAT64,          "float64",          8) \
  X(COMPLEX64,        "complex64",        8) \
  X(COMPLEX128,       "complex128",       16)\
  X(BOOL,             "bool",             1) \
  X(BFLOAT16,         "bfloat16",         2) \
  X(UINT16,           "uint16",           2) \
  X(UINT32,           "uint32",           4) \
  X(UINT64,           "uint64",           8) \
  X(COMPLEX32,        "complex32",        4) \
  X(BCOMPLEX32,       "bcomplex32",       4) \
  X(INT128,           "int128",           16)\
  X(FLOAT8_E4M3FN,    "float8_e4m3fn",    1) \
  X(FLOAT8_E5M2,      "float8_e5m2",      1) \
  X(FLOAT8_E4M3FNUZ,  "float8_e4m3fnuz",  1) \
  X(FLOAT8_E5M2FNUZ,  "float8_e5m2fnuz",  1) \
  X(FLOAT8_E8M0FNU,   "float8_e8m0fnu",   1) \
  X(FLOAT4_E2M1FN_X2, "float4_e2m1fn_x2", 1) \
  X(INT4,             "int4",             1) \
  X(UINT4,            "uint4",            1) \
  X(INT2,             "int2",             1) \
  X(UINT2,            "uint2",            1)

typedef enum st_dtype {
#define ST_DTYPE_ENUM(id, name, bytes) ST_##id,
  ST_DTYPE_MAP(ST_DTYPE_ENUM)
#undef ST_DTYPE_ENUM
  ST_DTYPE_ALL,
  ST_DTYPE_COUNT = ST_DTYPE_ALL, /* of a table by dtype */
  ST_DTYPE_NONE = 255            /* "not given" */
} st_dtype;

/* -- Kinds ---------------------------------------------------------------- */

/* HALF: a float of 16 bits, which is computed in float32. COMPLEX_HALF: two of
 * them, computed in complex64. FLOAT8: one in a byte, of eight bits or fewer,
 * that is stored, converted and compared; it promotes with no other dtype.
 * PACKED: two numbers of four bits in an element, the first in the low ones,
 * which is stored and moved. PROMOTED_INT: of type promotion only.
 * SUBBYTE_SIGNED and _UNSIGNED: integers of fewer than eight bits, several in a
 * byte, the first in the low bits; they are stored, converted, moved and
 * compared, and promote with no other dtype. */
typedef enum st_dtype_kind {
  ST_KIND_BOOL, ST_KIND_UNSIGNED, ST_KIND_SIGNED, ST_KIND_FLOAT, ST_KIND_HALF,
  ST_KIND_COMPLEX, ST_KIND_PROMOTED_INT, ST_KIND_COMPLEX_HALF, ST_KIND_FLOAT8,
  ST_KIND_PACKED, ST_KIND_SUBBYTE_SIGNED, ST_KIND_SUBBYTE_UNSIGNED
} st_dtype_kind;

/* X(a, id, kind, counterpart): the complex dtype of a floating one, the dtype
 * of the parts of a complex one, else id. */
#define ST_DTYPE_KIND_MAP(X, a) \
  X(a, UINT8,            UNSIGNED,     UINT8)             \
  X(a, INT8,             SIGNED,       INT8)              \
  X(a, INT16,            SIGNED,       INT16)             \
  X(a, INT32,            SIGNED,       INT32)             \
  X(a, INT64,            SIGNED,       INT64)             \
  X(a, FLOAT16,          HALF,         COMPLEX32)         \
  X(a, FLOAT32,          FLOAT,        COMPLEX64)         \
  X(a, FLOAT64,          FLOAT,        COMPLEX128)        \
  X(a, COMPLEX64,        COMPLEX,      FLOAT32)           \
  X(a, COMPLEX128,       COMPLEX,      FLOAT64)           \
  X(a, BOOL,             BOOL,         BOOL)              \
  X(a, BFLOAT16,         HALF,         BCOMPLEX32)        \
  X(a, UINT16,           UNSIGNED,     UINT16)            \
  X(a, UINT32,           UNSIGNED,     UINT32)            \
  X(a, UINT64,           UNSIGNED,     UINT64)            \
  X(a, COMPLEX32,        COMPLEX_HALF, FLOAT16)           \
  X(a, BCOMPLEX32,       COMPLEX_HALF, BFLOAT16)          \
  X(a, INT128,           PROMOTED_INT, INT128)            \
  X(a, FLOAT8_E4M3FN,    FLOAT8,       FLOAT8_E4M3FN)     \
  X(a, FLOAT8_E5M2,      FLOAT8,       FLOAT8_E5M2)       \
  X(a, FLOAT8_E4M3FNUZ,  FLOAT8,       FLOAT8_E4M3FNUZ)   \
  X(a, FLOAT8_E5M2FNUZ,  FLOAT8,       FLOAT8_E5M2FNUZ)   \
  X(a, FLOAT8_E8M0FNU,   FLOAT8,       FLOAT8_E8M0FNU)    \
  X(a, FLOAT4_E2M1FN_X2, PACKED,       FLOAT4_E2M1FN_X2)  \
  X(a, INT4,             SUBBYTE_SIGNED,   INT4)          \
  X(a, UINT4,            SUBBYTE_UNSIGNED, UINT4)         \
  X(a, INT2,             SUBBYTE_SIGNED,   INT2)          \
  X(a, UINT2,            SUBBYTE_UNSIGNED, UINT2)

/* The dtypes of some kinds, a bit set; kinds is one, too. */
#define ST_DTYPE_BIT(kinds, id, kind, counterpart) \
  | (uint64_t)((kinds) >> ST_KIND_##kind & 1u) << ST_##id
#define ST_DTYPES_OF(kinds) (0 ST_DTYPE_KIND_MAP(ST_DTYPE_BIT, kinds))
#define ST_KIND_BIT(kind) (1u << ST_KIND_##kind)

/* Is d, which may be ST_DTYPE_NONE, in the bit set? */
static inline bool st_dtype_is_in(uint64_t set, st_dtype d) {
  return (unsigned)d < ST_DTYPE_ALL && (set >> d & 1u);
}
static inline bool st_dtype_is_complex(st_dtype d) {
  return st_dtype_is_in(ST_DTYPES_OF(ST_KIND_BIT(COMPLEX) |
                                     ST_KIND_BIT(COMPLEX_HALF)), d);
}
static inline bool st_dtype_is_floating(st_dtype d) {
  return st_dtype_is_in(ST_DTYPES_OF(ST_KIND_BIT(FLOAT) |
                                     ST_KIND_BIT(HALF) |
                                     ST_KIND_BIT(FLOAT8)), d);
}
static inline bool st_dtype_is_unsigned(st_dtype d) {
  return st_dtype_is_in(ST_DTYPES_OF(ST_KIND_BIT(UNSIGNED) |
                                     ST_KIND_BIT(SUBBYTE_UNSIGNED)), d);
}
/* Integer dtypes of fewer than eight bits. */
static inline bool st_dtype_is_subbyte(st_dtype d) {
  return st_dtype_is_in(ST_DTYPES_OF(ST_KIND_BIT(SUBBYTE_SIGNED) |
                                     ST_KIND_BIT(SUBBYTE_UNSIGNED)), d);
}
/* Integer dtypes; bool is not one. */
static inline bool st_dtype_is_integer(st_dtype d) {
  return st_dtype_is_in(ST_DTYPES_OF(ST_KIND_BIT(UNSIGNED) |
                                     ST_KIND_BIT(SIGNED) |
                                     ST_KIND_BIT(SUBBYTE_SIGNED) |
                                     ST_KIND_BIT(SUBBYTE_UNSIGNED) |
                                     ST_KIND_BIT(PROMOTED_INT)), d);
}
/* Can a tensor have it? */
static inline bool st_dtype_is_of_tensors(st_dtype d) {
  return st_dtype_is_in(~ST_DTYPES_OF(ST_KIND_BIT(PROMOTED_INT)), d);
}

/* -- Facts ---------------------------------------------------------------- */

/* What is known of a dtype. The texts are static; NULL: the format does not
 * have it. Members may be added at the end. */
typedef struct st_dtype_facts {
  const char *name;
  uint8_t size;             /* bytes of an element */
  uint8_t kind;             /* st_dtype_kind */
  uint8_t counterpart;      /* st_dtype, as in ST_DTYPE_KIND_MAP */
  uint8_t dlpack;           /* DLPack's code; 255: none */
  uint8_t lanes;            /* numbers in an element, of a complex one 1 */
  uint8_t bits;             /* of an element, if fewer than eight; else 0 */
  double max, eps, tiny;    /* of a floating dtype: the greatest number, the
                             * distance from 1 to the next, the least normal */
  const char *alias;        /* PyTorch's other name: "long" */
  const char *npy;          /* NumPy's kind and size: "f4" */
  const char *safetensors;  /* "F32" */
  const char *pt;           /* of PyTorch's class of storages: "Float", "" for
                             * bytes */
  const char *arrow;        /* the format of Arrow's arrays: "f" */
  double min;               /* of a floating dtype: the least number */
} st_dtype_facts;

#endif
