/* Public types: status codes, dtypes, boxed values and the structs of the API.
 * The build flattens strided.h and this file into the one installed header, so
 * this file must not include internal headers. */
#ifndef ST_ABI_TYPES_H
#define ST_ABI_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ST_API __attribute__((visibility("default")))

/* -- Status --------------------------------------------------------------- */

/* Code, name and text of each status. */
#define ST_STATUS_MAP(X) \
  X(OK,             "ok",             "no error")                            \
  X(NO_MEMORY,      "no_memory",      "out of memory")                       \
  X(BAD_VALUE,      "bad_value",      "an argument has an invalid value")    \
  X(BAD_TYPE,       "bad_type",       "an argument has the wrong type")      \
  X(BAD_SHAPE,      "bad_shape",      "shapes do not match")                 \
  X(BAD_DTYPE,      "bad_dtype",      "a dtype is not supported here")       \
  X(BAD_DIM,        "bad_dim",        "a dimension is out of range")         \
  X(BAD_INDEX,      "bad_index",      "an index is out of range")            \
  X(BAD_LAYOUT,     "bad_layout",     "the strides do not allow this")       \
  X(OVERLAP,        "overlap",        "tensors overlap in memory")           \
  X(BAD_SCHEMA,     "bad_schema",     "a schema string is malformed")        \
  X(NOT_FOUND,      "not_found",      "no such operator or object")          \
  X(NO_KERNEL,      "no_kernel",      "no kernel for the dispatch key")      \
  X(BAD_STATE,      "bad_state",      "not possible in this state")          \
  X(IO,             "io",             "a file could not be read or written") \
  X(HOST,           "host",           "the host language raised an error")    \
  X(INTERRUPTED,    "interrupted",    "the call was interrupted")

typedef enum st_status {
#define ST_STATUS_ENUM(id, name, text) ST_##id,
  ST_STATUS_MAP(ST_STATUS_ENUM)
#undef ST_STATUS_ENUM
  ST_STATUS_COUNT
} st_status;

#include "abi/dtypes.h"

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

/* Of random generators. */
typedef enum st_algorithm { ST_MERSENNE, ST_PHILOX } st_algorithm;

enum { ST_PHILOX_STATE = 40, ST_MERSENNE_STATE = 5056 }; /* bytes */

/* The kind of a device, plus ST_DEVICE_STEP times its number among those of
 * its backend: "name:2" is ST_DEVICE_PRIVATEUSE1 + 2 * ST_DEVICE_STEP. */
typedef enum st_device {
  ST_DEVICE_CPU,
  ST_DEVICE_META,         /* shapes and strides, no data */
  ST_DEVICE_PRIVATEUSE1,  /* usable after st_backend_register, as 2 and 3 */
  ST_DEVICE_PRIVATEUSE2,
  ST_DEVICE_PRIVATEUSE3,
  ST_DEVICE_COUNT,        /* number of kinds */
  ST_DEVICE_STEP = 8
} st_device;

#define ST_DEVICE_KIND(device)   ((st_device)((device) % ST_DEVICE_STEP))
#define ST_DEVICE_NUMBER(device) ((int)(device) / ST_DEVICE_STEP)
#define ST_DEVICE_AT(kind, number) \
  ((st_device)((int)(kind) + ST_DEVICE_STEP * (number)))

/* The allocator of a device that st_device_register registers. Any thread may
 * call these functions, also while kernels of the device run. */
typedef struct st_allocator {
  /* Returns uninitialised memory, aligned for 16-byte elements; NULL when out
   * of memory, but never for nbytes = 0. */
  void *(*alloc)(void *ctx, size_t nbytes);
  void (*free)(void *ctx, void *data, size_t nbytes);
  /* Copies within the device. If NULL, only empty tensors can grow. */
  void (*move)(void *ctx, void *to, const void *from, size_t nbytes);
  void *ctx;
} st_allocator;

/* -- Opaque objects ------------------------------------------------------- */

typedef struct st_storage st_storage;
typedef struct st_tensor st_tensor;
typedef struct st_generator st_generator;
typedef struct st_op st_op;
typedef struct st_schema st_schema;
typedef struct st_call st_call;
typedef struct st_registration st_registration;
typedef struct st_library st_library;
typedef struct st_node st_node; /* an operation in the autograd graph */

enum { ST_MAX_DIMS = 64 /* of a tensor */, ST_MAX_ARGS = 64 /* (C8) */ };

/* A set of dispatch keys: backend bits 0..13, functionality bits 14..53. */
typedef uint64_t st_keyset;

/* -- Scalars and boxed values --------------------------------------------- */

/* UINT: an integer from 2^63 on; smaller ones are INT. */
typedef enum st_scalar_kind {
  ST_SCALAR_BOOL, ST_SCALAR_INT, ST_SCALAR_FLOAT, ST_SCALAR_COMPLEX,
  ST_SCALAR_UINT
} st_scalar_kind;

typedef struct st_scalar {
  st_scalar_kind kind;
  union {
    int64_t i; /* of a bool, too */
    double f, c[2];
    uint64_t u;
  } u;
} st_scalar;

typedef enum st_tag {
  ST_TAG_NONE,
  ST_TAG_TENSOR,    /* u.tensor; never NULL */
  ST_TAG_INT,       /* u.i: int, Dim, Index, End, dtype, format, device */
  ST_TAG_FLOAT,     /* u.f; a `float` argument may also be an INT */
  ST_TAG_BOOL,      /* u.i, 0 or 1 */
  ST_TAG_COMPLEX,   /* u.pair: two doubles */
  ST_TAG_STRING,    /* u.string, len bytes and a NUL */
  ST_TAG_GENERATOR, /* u.generator */
  ST_TAG_INTS,      /* u.ints, len elements; so for the lists below */
  ST_TAG_FLOATS,    /* u.floats */
  ST_TAG_BOOLS,     /* u.bools */
  ST_TAG_TENSORS,   /* u.tensors; NULL entries in a Tensor?[] */
  ST_TAG_UINT       /* u.u: a Scalar from 2^63 on */
} st_tag;

/* A boxed value. An argument is borrowed, with everything it points to. A
 * result is owned by the caller: its tensors are retained, its lists are
 * allocated by the engine, and st_value_clear releases both. */
typedef struct st_value {
  uint32_t tag; /* st_tag */
  uint32_t len;
  union {
    int64_t i;
    uint64_t u;
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

/* -- Statistics and events ------------------------------------------------ */

/* Memory statistics of one kind of allocation. */
typedef struct st_memory {
  const char *name;  /* "tensors", "data", ... */
  int64_t count;     /* live blocks */
  int64_t bytes;     /* live bytes */
  int64_t peak;      /* most live bytes observed: a thread adds its count to
                      * the total per megabyte; reading adds the rest */
} st_memory;

/* Memory statistics of all kinds together, in bytes. */
typedef struct st_memory_totals {
  int64_t live, peak;
  int64_t cached;       /* freed, kept for reuse */
  int64_t limit;        /* of live plus cached; INT64_MAX: no limit */
  int64_t cache_limit;
} st_memory_totals;

/* One dispatch, as a trace callback sees it. */
typedef struct st_trace {
  const st_op *op;
  const char *kind;   /* "call", "redispatch", "callBoxed", ... */
  const char *key;    /* the key that was dispatched to */
  const char *kernel; /* debug string of the kernel */
  st_keyset keys;
  int depth;
} st_trace;

/* -- Printing ------------------------------------------------------------- */

typedef struct st_print_options {
  int precision, threshold, edgeitems, linewidth;
  int sci_mode; /* -1: chosen from the values, 0: never, 1: always */
} st_print_options;

/* -- Schemas -------------------------------------------------------------- */

/* The base type of an argument or result, without its list and optional. */
typedef enum st_type {
  ST_TYPE_TENSOR, ST_TYPE_INT, ST_TYPE_FLOAT, ST_TYPE_BOOL, ST_TYPE_STRING,
  ST_TYPE_COMPLEX, ST_TYPE_SCALAR, ST_TYPE_DTYPE, ST_TYPE_LAYOUT,
  ST_TYPE_FORMAT, ST_TYPE_DEVICE, ST_TYPE_GENERATOR,
  ST_TYPE_DIM,    /* a dimension: 0-based in C, 1-based in Lua */
  ST_TYPE_INDEX,  /* an index: 0-based in C, 1-based in Lua */
  ST_TYPE_END,    /* end of a range: exclusive in C, inclusive in Lua */
  ST_TYPE_OTHER   /* a type of ATen's grammar that no operator here uses */
} st_type;

/* One argument or result of a schema; the operator owns it. */
typedef struct st_arg {
  const char *name;      /* "" for an unnamed result */
  const char *text;      /* the type as written: "int[2]?" */
  st_type type;
  bool list;             /* a list of type */
  bool optional;         /* the argument may be None: int[]? */
  bool elem_optional;    /* an element may be None: Tensor?[] */
  bool kwarg_only;
  bool has_default;
  bool is_write;         /* alias annotation with a "!" */
  bool is_alias;         /* has an alias annotation */
  const char *alias;     /* "(a! -> b)" as printed, or NULL */
  int32_t list_size;     /* N of int[N]; 0: any length */
  st_value default_value;
} st_arg;

/* Tags of an operator, facts that its schema does not express (R15). */
#define ST_TAG_MAP(X) \
  X(NONDETERMINISTIC_SEEDED, "nondeterministic_seeded") \
  X(INPLACE_VIEW,            "inplace_view")            \
  X(VIEW_COPY,               "view_copy")               \
  X(DYNAMIC_OUTPUT_SHAPE,    "dynamic_output_shape")    \
  X(DATA_DEPENDENT_OUTPUT,   "data_dependent_output")   \
  X(POINTWISE,               "pointwise")

enum {
#define ST_TAG_ENUM(id, name) ST_OPTAG_BIT_##id,
  ST_TAG_MAP(ST_TAG_ENUM)
#undef ST_TAG_ENUM
#define ST_TAG_ENUM(id, name) ST_OPTAG_##id = 1 << ST_OPTAG_BIT_##id,
  ST_TAG_MAP(ST_TAG_ENUM)
#undef ST_TAG_ENUM
  ST_OPTAG_NONE = 0
};

#include "abi/kernel_types.h"

/* -- Libraries ------------------------------------------------------------ */

/* A library is a group of registrations with one lifetime (R2). A DEF library
 * owns its namespace: there is one at a time. A FRAGMENT adds definitions to a
 * namespace. An IMPL library adds only kernels and, in the namespace "_",
 * fallbacks. */
typedef enum st_library_kind {
  ST_LIBRARY_DEF, ST_LIBRARY_FRAGMENT, ST_LIBRARY_IMPL
} st_library_kind;

/* Flags of a library. */
enum {
  /* A registration made with ST_REPLACE may be made again: the newer one
   * replaces it, and closing the newer one restores the older. Opening a DEF
   * library closes the earlier one of that namespace. */
  ST_REPLACE = 1,
  /* All registrations take effect at once, in st_library_commit. */
  ST_DEFER = 2
};

/* -- Thread state --------------------------------------------------------- */

/* Thread-local dispatch state: keys that every call adds to its arguments' and
 * keys that it removes; whether gradients are recorded; whether new tensors
 * are inference tensors (C2, C3); the lower precision of autocast, and whether
 * casts of parameters are kept. */
typedef struct st_tls {
  st_keyset included, excluded;
  bool grad, inference, caches_casts;
  uint8_t autocast_dtype; /* st_dtype */
} st_tls;

/* A dispatch mode: fn runs for every call of the thread that reaches the key
 * Lua. The mode is disabled while fn runs, so fn may call operators,
 * redispatch with call->keys, or return other results. call->keys contains Lua
 * while there is an outer mode, which a redispatch then calls. The caller owns
 * the struct and keeps it until the mode is popped. */
typedef struct st_mode st_mode;
struct st_mode {
  st_kernel_fn fn;
  void *ctx;
  st_mode *outer; /* set by the engine */
};

/* Callbacks before and after each call of the thread, not for redispatches
 * (C14). args and rets are NULL unless wants_values; neither function may
 * fail. The caller owns the struct and keeps it until it is removed. */
typedef struct st_observer st_observer;
struct st_observer {
  void (*before)(void *ctx, const st_op *op, const st_value *args);
  void (*after)(void *ctx, const st_op *op, st_status status,
                const st_value *rets); /* rets: on success only */
  void *ctx;
  bool wants_values;
  st_observer *outer; /* set by the engine */
};

/* -- Gradients ------------------------------------------------------------ */

/* Arguments of st_backward. */
typedef struct st_backward_pass {
  int noutputs;
  st_tensor *const *outputs;
  /* The gradient of each output, of its shape. NULL entries mean ones, for an
   * output of one element. The list itself may be NULL. */
  st_tensor *const *grad_outputs;
  /* The tensors to differentiate with respect to. If there are none, the
   * gradient of every leaf is added to its `grad`. */
  int ninputs;
  st_tensor *const *inputs;
  bool accumulate;    /* also add the inputs' gradients to their `grad` */
  bool retain_graph;  /* keep saved tensors, for another backward pass */
  bool create_graph;  /* record the backward pass itself */
  bool allow_unused;  /* an input that no output depends on gets NULL; if
                         false, that is BAD_VALUE */
} st_backward_pass;

/* Called with a gradient when it is computed. *out is NULL on entry; fn may
 * store a replacement there, as an owned reference. */
typedef struct st_tensor_hook {
  st_status (*fn)(void *ctx, st_tensor *grad, st_tensor **out);
  void *ctx;
  void (*free_ctx)(void *); /* may be NULL */
} st_tensor_hook;

/* Called before a node runs with the gradients of its results (inputs is NULL),
 * or after it with those of its inputs, too. fn may replace the gradients that
 * are passed on: it releases the old tensor and stores an owned one. Entries
 * may be NULL. */
typedef struct st_node_hook {
  st_status (*fn)(void *ctx, int ninputs, st_tensor **inputs, int nresults,
                  st_tensor **results);
  void *ctx;
  void (*free_ctx)(void *); /* may be NULL */
} st_node_hook;

/* A backward function. grads: of the outputs; entries may be NULL. saved: the
 * saved tensors as recorded. inputs: receives owned gradients, or NULL where
 * there is none; wanted tells which ones are needed. */
typedef st_status (*st_function_fn)(void *ctx, st_tensor *const *grads,
                                    st_tensor *const *saved,
                                    const bool *wanted, st_tensor **inputs);

/* An operation with a custom backward function. */
typedef struct st_function {
  const char *name;
  st_function_fn backward;
  void *ctx;
  void (*release)(void *ctx);  /* may be NULL; drops the saved data */
  void (*free_ctx)(void *ctx); /* may be NULL; ctx is owned on success only */
  int ninputs, noutputs, nsaved;
  st_tensor *const *inputs;    /* entries may be NULL */
  st_tensor *const *outputs;   /* their grad_fn is set; one that is also an
                                  input was written in place */
  st_tensor *const *saved;     /* inputs, outputs or others; may be NULL */
  const bool *differentiable;  /* per output; NULL: all are */
} st_function;

/* The derivative of an operator. args and rets are the arguments and results
 * of the recorded call. grads has an entry per result, which may be NULL.
 * inputs has a slot for each tensor argument and each element of a tensor list,
 * in order; backward stores owned tensors or leaves NULL. */
typedef struct st_derivative {
  st_status (*backward)(void *ctx, const st_op *op, const st_value *args,
                        const st_value *rets, st_tensor *const *grads,
                        const bool *wanted, st_tensor **inputs);
  void *ctx;
  void (*free_ctx)(void *); /* may be NULL */
} st_derivative;

/* Anomaly mode. where runs for every node that this thread records and writes
 * the source location into text, for messages of the backward pass. */
typedef struct st_anomaly {
  st_status (*where)(void *ctx, char *text, size_t size);
  void *ctx;
  bool checks_nan; /* a gradient that contains a NaN is an error */
} st_anomaly;

/* -- Expressions ---------------------------------------------------------- */

typedef struct st_graph st_graph;     /* a traced graph of operator calls */
typedef struct st_tracing st_tracing; /* a trace in progress */

typedef struct st_recorder st_recorder;   /* records the calls of a function */
typedef struct st_schedule st_schedule;   /* a compiled recording */
typedef struct st_compile_cache st_compile_cache; /* schedules of a function */
/* A key of the cache: a tensor, or the bytes of another value of a kind. */
typedef struct st_compile_cache_arg {
  st_tensor *tensor;
  const void *bytes;
  int nbytes, kind; /* 0 to 255 */
} st_compile_cache_arg;

/* The function to trace. where: NULL, or writes the source location of the
 * traced function, for messages. */
typedef struct st_tracing_config {
  const char *name;
  int ninputs, nnumbers;   /* at most 12 tensors, 16 numbers */
  void (*where)(void *ctx, char *text, size_t size);
  void *ctx;
} st_tracing_config;

/* A reduction in three graphs: map turns an element into accumulators, combine
 * merges two sets of accumulators, final computes the results. */
typedef struct st_custom_reduction {
  const char *schema;
  const st_graph *map;     /* elements, scalars -> 1 to 4 accumulators */
  const st_graph *combine; /* accumulators, other ones -> accumulators */
  const st_graph *final;   /* accumulators, the number of elements and the
                              scalars -> results */
  int ninit;               /* the number of accumulators, or 0 */
  st_scalar init[4];
  const char *doc, *debug;
} st_custom_reduction;

typedef struct st_plan st_plan; /* a built iterator */

#include "abi/backend_types.h"

/* -- Plans ---------------------------------------------------------------- */

/* Work on the range [begin, end) of units (st_parallel_for). */
typedef void (*st_range_fn)(void *ctx, int64_t begin, int64_t end);

/* Flags of st_plan_new: those of ATen's TensorIteratorConfig. */
enum {
  ST_PLAN_CHECK_OVERLAP = 1 << 0,
  ST_PLAN_CPU_SCALARS = 1 << 1,
  ST_PLAN_REDUCTION = 1 << 2,
  ST_PLAN_RESIZE_OUTPUTS = 1 << 3,
  ST_PLAN_SAME_DTYPE = 1 << 4,
  ST_PLAN_SAME_DEVICE = 1 << 5,
  ST_PLAN_SAFE_CAST = 1 << 6,
  ST_PLAN_LINEAR = 1 << 7,
  ST_PLAN_PROMOTE = 1 << 8,
  ST_PLAN_INT_TO_FLOAT = 1 << 9,
  ST_PLAN_CAST_OUTPUTS = 1 << 10
};

/* What an iterator is built from (st_plan_new). */
typedef struct st_plan_config {
  uint32_t flags;         /* ST_PLAN_... */
  int noutputs, noperands;
  st_tensor *const *operands;  /* outputs first; NULL ones are allocated */
  st_dtype dtype;         /* of allocated outputs, or NONE */
  st_dtype static_dtype;  /* that loops write, or NONE: the common dtype */
  const int64_t *static_shape; /* to iterate over; operands must be at least as
                             large; NULL: the operands' shape */
  int static_ndim;
  bool has_static_device; /* outputs are allocated on static_device */
  st_device static_device;
} st_plan_config;

/* Origin of a plan: built by the caller, or a part of a call (st_plan_call). */
typedef enum st_plan_kind {
  ST_PLAN_OWN, ST_PLAN_ELEMENTWISE, ST_PLAN_COPY, ST_PLAN_FOLD
} st_plan_kind;

/* How the call runs a plan. */
typedef struct st_plan_run {
  st_plan_kind kind;
  int64_t grain;    /* least number of elements per thread; 0: not used */
  bool is_tiled;    /* elementwise: tile by tile */
  bool is_buffered; /* elementwise: operands that cast or have short rows are
                       gathered block by block */
} st_plan_run;

/* Properties of a plan. Dimensions are ordered fastest first. */
typedef struct st_plan_facts {
  st_plan_run run;
  int noutputs, noperands;
  int ndim;
  const int64_t *shape;
  const int64_t *view_offset;   /* start of a narrowed plan, per dimension */
  int common_ndim;              /* before reordering and coalescing */
  const int64_t *common_shape;
  int nperm;                    /* 0 if the fast set-up was used */
  const int *perm;              /* dimension -> dimension of common_shape */
  const char *fast; /* "none", "contiguous", "channels_last",
                       "non_overlapping_dense" */
  const char *inner; /* operands along the first dimension: "vector" (all
                        contiguous), "scalar" (all but one input, which has
                        stride 0) or "strided" (gathered block by block) */
  int64_t numel;
  int64_t num_output_elements;  /* of the first output */
  int num_reduce_dims;          /* where the first output has stride 0 */
  int dim_to_split;             /* that with the largest extent; -1: none */
  st_dtype common_dtype;
  bool is_coalesced, is_contiguous, has_contiguous_first_dim;
  bool can_use_32bit;           /* for all offsets */
  bool is_tiled_copy;           /* a copy runs tile by tile */
  bool accumulates, is_final;   /* of a split reduction: a part that adds to
                                   the output; the last part */
} st_plan_facts;

typedef st_status (*st_plan_fn)(st_plan *part, void *ctx);

/* An operand of a plan. */
typedef struct st_plan_operand {
  st_dtype dtype;     /* of the elements in memory */
  st_dtype seen_as;   /* dtype in the loop; differs if the operand casts */
  int64_t numel;      /* of the tensor; 1: a scalar */
  int64_t low, high;  /* bytes that may be accessed, from the first element */
  bool is_output, is_read_write, is_resized;
  bool is_temporary;  /* a copy of the caller's tensor or scalar */
} st_plan_operand;

#ifdef __cplusplus
}
#endif

#endif
