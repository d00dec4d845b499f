/* The public vocabulary: status codes, dtypes, formats, devices and boxed
 * values. strided.h includes this file, and the build flattens the two into
 * the one header that is installed, so nothing here may include anything of
 * the engine.
 */
#ifndef ST_BASE_TYPES_H
#define ST_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ST_API __attribute__((visibility("default")))

/* -- Status --------------------------------------------------------------- */

/* One map of codes, names and texts. */
#define ST_STATUS_MAP(X) \
  X(OK,             "ok",             "no error")                            \
  X(NO_MEMORY,      "no_memory",      "out of memory")                       \
  X(BAD_VALUE,      "bad_value",      "an argument has an impossible value") \
  X(BAD_TYPE,       "bad_type",       "an argument has the wrong type")      \
  X(BAD_SHAPE,      "bad_shape",      "shapes do not fit together")          \
  X(BAD_DTYPE,      "bad_dtype",      "a dtype does not fit")                \
  X(BAD_DIM,        "bad_dim",        "a dimension is out of range")         \
  X(BAD_INDEX,      "bad_index",      "a position is out of range")          \
  X(BAD_LAYOUT,     "bad_layout",     "strides do not allow it")             \
  X(OVERLAP,        "overlap",        "memory overlaps")                     \
  X(BAD_SCHEMA,     "bad_schema",     "a schema string is malformed")        \
  X(NOT_FOUND,      "not_found",      "no such operator or object")          \
  X(NO_KERNEL,      "no_kernel",      "no kernel for the dispatch key")      \
  X(BAD_STATE,      "bad_state",      "not possible in this state")          \
  X(IO,             "io",             "a file could not be read or written") \
  X(HOST,           "host",           "the host language raised an error")

typedef enum st_status {
#define ST_STATUS_ENUM(id, name, text) ST_##id,
  ST_STATUS_MAP(ST_STATUS_ENUM)
#undef ST_STATUS_ENUM
  ST_STATUS_COUNT
} st_status;

/* -- Dtypes --------------------------------------------------------------- */

/* id, name, bytes. The first eight have ATen's numbers. complex32 is known to
 * type promotion only: no tensor has it.
 * ORDER DTYPE: promote_table (base/dtype.c), kernel tables. */
#define ST_DTYPE_MAP(X) \
  X(UINT8,      "uint8",      1)  \
  X(INT8,       "int8",       1)  \
  X(INT16,      "int16",      2)  \
  X(INT32,      "int32",      4)  \
  X(INT64,      "int64",      8)  \
  X(FLOAT16,    "float16",    2)  \
  X(FLOAT32,    "float32",    4)  \
  X(FLOAT64,    "float64",    8)  \
  X(COMPLEX64,  "complex64",  8)  \
  X(COMPLEX128, "complex128", 16) \
  X(BOOL,       "bool",       1)  \
  X(BFLOAT16,   "bfloat16",   2)  \
  X(COMPLEX32,  "complex32",  4)

typedef enum st_dtype {
#define ST_DTYPE_ENUM(id, name, bytes) ST_##id,
  ST_DTYPE_MAP(ST_DTYPE_ENUM)
#undef ST_DTYPE_ENUM
  ST_DTYPE_COUNT = ST_COMPLEX32, /* dtypes a tensor can have */
  ST_DTYPE_NONE = 255            /* "not given" */
} st_dtype;

/* -- Memory formats and devices ------------------------------------------- */

#define ST_FORMAT_MAP(X) \
  X(CONTIGUOUS,       "contiguous_format") \
  X(PRESERVE,         "preserve_format")   \
  X(CHANNELS_LAST,    "channels_last")     \
  X(CHANNELS_LAST_3D, "channels_last_3d")

typedef enum st_format {
#define ST_FORMAT_ENUM(id, name) ST_FORMAT_##id,
  ST_FORMAT_MAP(ST_FORMAT_ENUM)
#undef ST_FORMAT_ENUM
  ST_FORMAT_COUNT
} st_format;

typedef enum st_device {
  ST_DEVICE_CPU,
  ST_DEVICE_META,         /* shapes and strides, no data */
  ST_DEVICE_PRIVATEUSE1,  /* the three that extensions may register */
  ST_DEVICE_PRIVATEUSE2,
  ST_DEVICE_PRIVATEUSE3,
  ST_DEVICE_COUNT
} st_device;

/* -- Opaque objects ------------------------------------------------------- */

typedef struct st_storage st_storage;
typedef struct st_tensor st_tensor;
typedef struct st_generator st_generator;
typedef struct st_op st_op;
typedef struct st_call st_call;
typedef struct st_registration st_registration;

enum {
  ST_MAX_DIMS = 64,  /* dimensions of a tensor */
  ST_MAX_ARGS = 64   /* arguments of an operator (SEMANTICS C8) */
};

/* A set of dispatch keys: backend bits 0..13, functionality bits 14..53. */
typedef uint64_t st_keyset;

/* -- Scalars and boxed values --------------------------------------------- */

typedef enum st_scalar_kind {
  ST_SCALAR_BOOL, ST_SCALAR_INT, ST_SCALAR_FLOAT, ST_SCALAR_COMPLEX
} st_scalar_kind;

typedef struct st_scalar {
  st_scalar_kind kind;
  union { int64_t i; double f; double c[2]; } u; /* bool uses i */
} st_scalar;

typedef enum st_tag {
  ST_TAG_NONE,
  ST_TAG_TENSOR,    /* u.tensor; never NULL */
  ST_TAG_INT,       /* u.i: int, Dim, Index, End, dtype, format, device */
  ST_TAG_FLOAT,     /* u.f */
  ST_TAG_BOOL,      /* u.i, 0 or 1 */
  ST_TAG_COMPLEX,   /* u.pair: two doubles */
  ST_TAG_STRING,    /* u.string, len bytes and a NUL */
  ST_TAG_GENERATOR, /* u.generator */
  ST_TAG_INTS,      /* u.ints, len of them */
  ST_TAG_FLOATS,    /* u.floats */
  ST_TAG_BOOLS,     /* u.bools */
  ST_TAG_TENSORS    /* u.tensors; NULL entries in a Tensor?[] */
} st_tag;

/* A boxed value. As an argument it is borrowed, with everything it points
 * to. As a result it is owned: tensors are retained, lists are allocated by
 * the engine, and st_value_clear releases them. */
typedef struct st_value {
  uint32_t tag; /* st_tag */
  uint32_t len;
  union {
    int64_t i;
    double f;
    const double *pair;
    const char *string;
    st_tensor *tensor;
    st_generator *generator;
    const int64_t *ints;
    const double *floats;
    const bool *bools;
    st_tensor **tensors;
  } u;
} st_value;

/* -- Printing ------------------------------------------------------------- */

typedef struct st_print_options {
  int precision, threshold, edgeitems, linewidth;
  int sci_mode; /* -1: by the values, 0: never, 1: always */
} st_print_options;

/* -- Schemas -------------------------------------------------------------- */

/* What an argument or result is, lists and optionals taken off. */
typedef enum st_type {
  ST_TYPE_TENSOR, ST_TYPE_INT, ST_TYPE_FLOAT, ST_TYPE_BOOL, ST_TYPE_STRING,
  ST_TYPE_COMPLEX, ST_TYPE_SCALAR, ST_TYPE_DTYPE, ST_TYPE_LAYOUT,
  ST_TYPE_FORMAT, ST_TYPE_DEVICE, ST_TYPE_GENERATOR,
  ST_TYPE_DIM,    /* a dimension: 0-based in C, 1-based in Lua */
  ST_TYPE_INDEX,  /* a position: 0-based in C, 1-based in Lua */
  ST_TYPE_END,    /* end of a range: exclusive in C, inclusive in Lua */
  ST_TYPE_OTHER   /* a type of ATen's grammar that no operator here takes */
} st_type;

/* One argument or result of a schema. Owned by the operator. */
typedef struct st_arg {
  const char *name;      /* "" for an unnamed result */
  const char *text;      /* the type as written: "int[2]?" */
  st_type type;
  bool list;             /* a list of type */
  bool optional;         /* the whole may be absent */
  bool elem_optional;    /* an element may be absent: Tensor?[] */
  bool kwarg_only;
  bool has_default;
  bool is_write;         /* alias annotation with a "!" */
  bool is_alias;         /* has an alias annotation */
  const char *alias;     /* "(a! -> b)" as printed; NULL without */
  int32_t list_size;     /* N of int[N]; 0: any length */
  st_value default_value;
} st_arg;

/* A boxed kernel: reads the operator's arguments in schema order, writes its
 * results. On failure it has written no result and returns the status of
 * st_fail. */
typedef st_status (*st_kernel_fn)(const st_call *call, const st_value *args,
                                  st_value *rets);

#ifdef __cplusplus
}
#endif

#endif
