/* What is known of each dtype: sizes, limits, names in other formats.
 */

#include "base/dtype.h"

#include <float.h>

/* X(id, greatest, eps, tiny, least) */
#define LIMITS(X) \
  X(FLOAT16,         65504.0,    0x1p-10, 0x1p-14,   -65504.0)    \
  X(BFLOAT16,        0x1.fep127, 0x1p-7,  0x1p-126,  -0x1.fep127) \
  X(FLOAT32,         FLT_MAX,    0x1p-23, 0x1p-126,  -FLT_MAX)    \
  X(FLOAT64,         DBL_MAX,    0x1p-52, 0x1p-1022, -DBL_MAX)    \
  X(FLOAT8_E4M3FN,   448.0,      0x1p-3,  0x1p-6,    -448.0)      \
  X(FLOAT8_E5M2,     57344.0,    0x1p-2,  0x1p-14,   -57344.0)    \
  X(FLOAT8_E4M3FNUZ, 240.0,      0x1p-3,  0x1p-7,    -240.0)      \
  X(FLOAT8_E5M2FNUZ, 57344.0,    0x1p-2,  0x1p-15,   -57344.0)    \
  X(FLOAT8_E8M0FNU,  0x1p127,    1.0,     0x1p-127,  0x1p-127)

/* X(id, bits): those of fewer than eight. */
#define BITS(X) X(INT4, 4) X(UINT4, 4) X(INT2, 2) X(UINT2, 2)

/* X(id, DLPack, alias, .npy, .safetensors, .pt, Arrow). The codes of DLPack are
 * those of its standard; 255: it has none. */
#define NAMES(X) \
  X(UINT8,           1,   "byte",    "u1",  "U8",      "Byte",          "C")  \
  X(INT8,            0,   "char",    "i1",  "I8",      "Char",          "c")  \
  X(INT16,           0,   "short",   "i2",  "I16",     "Short",         "s")  \
  X(INT32,           0,   "int",     "i4",  "I32",     "Int",           "i")  \
  X(INT64,           0,   "long",    "i8",  "I64",     "Long",          "l")  \
  X(FLOAT16,         2,   "half",    "f2",  "F16",     "Half",          "e")  \
  X(FLOAT32,         2,   "float",   "f4",  "F32",     "Float",         "f")  \
  X(FLOAT64,         2,   "double",  "f8",  "F64",     "Double",        "g")  \
  X(COMPLEX64,       5,   "cfloat",  "c8",  "C64",     "ComplexFloat",  NULL) \
  X(COMPLEX128,      5,   "cdouble", "c16", NULL,      "ComplexDouble", NULL) \
  X(BOOL,            6,   NULL,      "b1",  "BOOL",    "Bool",          "b")  \
  X(BFLOAT16,        4,   NULL,      NULL,  "BF16",    "BFloat16",      NULL) \
  X(UINT16,          1,   NULL,      "u2",  "U16",     "",              "S")  \
  X(UINT32,          1,   NULL,      "u4",  "U32",     "",              "I")  \
  X(UINT64,          1,   NULL,      "u8",  "U64",     "",              "L")  \
  X(COMPLEX32,       5,   "chalf",   NULL,  NULL,      "",              NULL) \
  X(BCOMPLEX32,      255, NULL,      NULL,  NULL,      "",              NULL) \
  X(INT128,          255, NULL,      NULL,  NULL,      NULL,            NULL) \
  X(FLOAT8_E4M3FN,   10,  NULL,      NULL,  "F8_E4M3", "",              NULL) \
  X(FLOAT8_E5M2,     12,  NULL,      NULL,  "F8_E5M2", "",              NULL) \
  X(FLOAT8_E4M3FNUZ, 11,  NULL,      NULL,  "F8_E4M3FNUZ", "",          NULL) \
  X(FLOAT8_E5M2FNUZ, 13,  NULL,      NULL,  "F8_E5M2FNUZ", "",          NULL) \
  X(FLOAT8_E8M0FNU,  14,  NULL,      NULL,  "F8_E8M0", "",              NULL) \
  X(FLOAT4_E2M1FN_X2, 17, NULL,      NULL,  "F4",      "",              NULL) \
  X(INT4,            0,   NULL,      NULL,  NULL,      NULL,            NULL) \
  X(UINT4,           1,   NULL,      NULL,  NULL,      NULL,            NULL) \
  X(INT2,            0,   NULL,      NULL,  NULL,      NULL,            NULL) \
  X(UINT2,           1,   NULL,      NULL,  NULL,      NULL,            NULL)

/* -- Every dtype has its rows --------------------------------------------- */

#define BIT(id, ...) | UINT64_C(1) << ST_##id
#define BIT_OF_KIND(a, id, kind, counterpart) BIT(id, kind)
#define EVERY ((UINT64_C(1) << ST_DTYPE_ALL) - 1)

_Static_assert((0 ST_DTYPE_KIND_MAP(BIT_OF_KIND, 0)) == EVERY,
               "a dtype has no row in ST_DTYPE_KIND_MAP");
_Static_assert((0 NAMES(BIT)) == EVERY, "a dtype has no names");
_Static_assert((0 LIMITS(BIT)) == ST_DTYPES_OF(ST_KIND_BIT(FLOAT) |
                                               ST_KIND_BIT(HALF) |
                                               ST_KIND_BIT(FLOAT8)),
               "a floating dtype has no limits");
_Static_assert((0 BITS(BIT)) == ST_DTYPES_OF(ST_KIND_BIT(SUBBYTE_SIGNED) |
                                             ST_KIND_BIT(SUBBYTE_UNSIGNED)),
               "an integer of fewer than eight bits has no number of bits");

enum {
#define BYTES(id, name, bytes) BYTES_OF_##id = bytes,
  ST_DTYPE_MAP(BYTES)
};
#define HAS_BYTES(id, T, name) && sizeof(T) == BYTES_OF_##id
_Static_assert(1 ST_REDUCED_FLOATS(HAS_BYTES),
               "a row of ST_REDUCED_FLOATS has a type of another size");

/* -- Tables --------------------------------------------------------------- */

const uint8_t st__dtype_size[ST_DTYPE_ALL] = {
#define SIZE(id, name, bytes) [ST_##id] = bytes,
  ST_DTYPE_MAP(SIZE)
};

const st_dtype_facts st__dtype_facts[ST_DTYPE_ALL] = {
#define FACTS(id, text, bytes) [ST_##id].name = text, [ST_##id].size = bytes,
  ST_DTYPE_MAP(FACTS)
#define KIND(a, id, what, to) \
  [ST_##id].kind = ST_KIND_##what, [ST_##id].counterpart = ST_##to,          \
  [ST_##id].lanes = ST_KIND_##what == ST_KIND_PACKED ? 2 : 1,
  ST_DTYPE_KIND_MAP(KIND, 0)
#define LIMIT(id, greatest, of_1, normal, least)                             \
  [ST_##id].max = greatest, [ST_##id].eps = of_1, [ST_##id].tiny = normal,   \
  [ST_##id].min = least,
  LIMITS(LIMIT)
#define BITS_OF(id, n) [ST_##id].bits = n,
  BITS(BITS_OF)
#define NAME(id, dl, other, numpy, hf, torch, arrays)                        \
  [ST_##id].dlpack = dl, [ST_##id].alias = other,                       \
  [ST_##id].npy = numpy, [ST_##id].safetensors = hf, [ST_##id].pt = torch,   \
  [ST_##id].arrow = arrays,
  NAMES(NAME)
};
