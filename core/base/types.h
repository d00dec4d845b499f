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
  X(BAD_INDEX,      "bad_index",      "an index is out of range")          \
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
  ST_DEVICE_PRIVATEUSE1,  /* the three that st_device_register makes real */
  ST_DEVICE_PRIVATEUSE2,
  ST_DEVICE_PRIVATEUSE3,
  ST_DEVICE_COUNT
} st_device;

/* Where the elements of a registered device live. Any thread may call these,
 * also while the device's own kernels run. */
typedef struct st_allocator {
  /* Uninitialised memory, aligned for 16-byte elements, never NULL for
   * nbytes = 0; NULL when there is none. */
  void *(*alloc)(void *ctx, size_t nbytes);
  void (*free)(void *ctx, void *data, size_t nbytes);
  /* Copies within the device; NULL: tensors that have elements cannot grow. */
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
typedef struct st_node st_node; /* an operation recorded for its gradient */

enum {
  ST_MAX_DIMS = 64,  /* dimensions of a tensor */
  ST_MAX_ARGS = 64   /* arguments of an operator (C8) */
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
  ST_TAG_FLOAT,     /* u.f; an argument `float` may be an INT, too */
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

/* -- Figures and events --------------------------------------------------- */

/* Memory of one kind. */
typedef struct st_memory {
  const char *name;  /* "tensors", "data", ... */
  int64_t count;     /* live blocks */
  int64_t bytes;     /* live bytes */
  int64_t peak;      /* most live bytes so far, as seen: each thread tells of
                      * a megabyte at a time, reading tells of the rest */
} st_memory;

/* Of all kinds, in bytes. */
typedef struct st_memory_totals {
  int64_t live, peak;
  int64_t cached;       /* kept for reuse */
  int64_t limit;        /* of live and cached; INT64_MAX: none */
  int64_t cache_limit;
} st_memory_totals;

/* One dispatch, as it is seen by a trace. */
typedef struct st_trace {
  const st_op *op;
  const char *kind;   /* "call", "redispatch", "callBoxed", ... */
  const char *key;    /* chosen */
  const char *kernel; /* its debug string */
  st_keyset keys;
  int depth;
} st_trace;

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

/* What is known about an operator beyond its schema (R15). */
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

/* -- Kernels -------------------------------------------------------------- */

/* Any C function; it is cast back to its own type before it is called. */
typedef void (*st_unboxed_fn)(void);

/* What a kernel is told about the call it serves. Read only. */
struct st_call {
  const st_op *op;
  const st_schema *schema; /* of this call, whatever becomes of op's */
  st_keyset keys;        /* redispatch with a part of them */
  void *ctx;             /* given at registration */
  st_unboxed_fn unboxed; /* NULL, or the kernel behind a boxed adapter */
};

/* A boxed kernel: reads the operator's arguments in schema order, writes its
 * results. On failure it has written no result and returns the status of
 * st_fail. */
typedef st_status (*st_kernel_fn)(const st_call *call, const st_value *args,
                                  st_value *rets);

/* A kernel as it is registered. Unboxed ones come from ST_KERNEL, which fills
 * in the boxed adapter, too. */
typedef struct st_kernel {
  st_kernel_fn fn;           /* NULL: fallthrough */
  st_unboxed_fn unboxed;     /* NULL for a boxed kernel */
  const char *signature;     /* the C types of unboxed; static */
  void *ctx;
  void (*free_ctx)(void *);  /* may be NULL; called once nothing can run the
                              * kernel, on whatever thread finds that out */
  const char *debug;         /* where it comes from; copied */
} st_kernel;

/* A call of a structured operator on its way; opaque. */
typedef struct st_run st_run;
/* The meta function or the implementation of one. */
typedef st_status (*st_run_fn)(st_run *run);

enum {
  ST_MAX_OUTS = 4,  /* results of a structured operator */
  ST_RUN_NOTE = 36  /* numbers that a meta can leave for the implementation */
};

/* A structured operator: what its three variants share (Z1 to Z6). */
typedef struct st_structured {
  const char *schema;    /* functional: "scale(Tensor self) -> Tensor" */
  bool inplace;          /* also "scale_", which writes self */
  const char *out;       /* also this overload, which writes out=; or NULL */
  st_run_fn meta, impl;
  void *ctx;             /* st_run_ctx */
  void (*free_ctx)(void *); /* may be NULL; as for a kernel */
  const char *doc, *debug;
  int tags;              /* ST_OPTAG_ bits */
  /* Keys that have impl: "CPU", "PrivateUse1" to 3. None: "CPU". */
  const char *backends[4];
} st_structured;

/* An operator together with the C types that a caller passes: see
 * "Typed calls" in strided.h. */
typedef struct st_typed {
  const st_op *op;
  const char *signature; /* the registry's copy */
} st_typed;

/* A typed call on its way: what st_route_enter found. */
typedef struct st_route {
  st_call call;
  st_kernel_fn fn;
  bool packs;       /* the caller makes st_values, for st_route_run */
  int observed;     /* the dispatcher's */
} st_route;

/* -- Libraries ------------------------------------------------------------ */

/* Registrations that come and go together (R2). A DEF library owns
 * its namespace: there is one at a time. A FRAGMENT adds definitions to a
 * namespace, an IMPL library only kernels and, in the namespace "_",
 * fallbacks. */
typedef enum st_library_kind {
  ST_LIBRARY_DEF, ST_LIBRARY_FRAGMENT, ST_LIBRARY_IMPL
} st_library_kind;

/* How a library takes what is there already. */
enum {
  /* What was registered with ST_REPLACE may be registered again: the newer
   * one replaces it, and closing the newer one uncovers the older. Opening a
   * DEF library closes the earlier one of that namespace. */
  ST_REPLACE = 1,
  /* Nothing takes effect before st_library_commit, then all at once. */
  ST_DEFER = 2
};

/* -- Thread state --------------------------------------------------------- */

/* Keys that every call of this thread has on top of its arguments', and keys
 * that it never has; whether gradients are recorded; whether new tensors are
 * inference tensors (C2, C3). */
typedef struct st_tls {
  st_keyset included, excluded;
  bool grad, inference;
} st_tls;

/* A scripted mode sees every call of its thread that reaches the key Lua. It
 * is off while fn runs, so fn may call operators, redispatch with call->keys,
 * or make results of its own. The keys hold Lua as long as there is a mode
 * further out, which then sees the call. The struct is the caller's until it
 * is popped. */
typedef struct st_mode st_mode;
struct st_mode {
  st_kernel_fn fn;
  void *ctx;
  st_mode *outer; /* set by the engine */
};

/* Sees the calls of its thread, but no redispatches (C14). args and
 * rets are NULL unless wants_values; neither function may fail. The struct is
 * the caller's until it is removed. */
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

/* What st_backward is asked for. */
typedef struct st_backward_pass {
  int noutputs;
  st_tensor *const *outputs;
  /* The gradient of each output, of its shape, or NULL: ones for an output of
   * one element. The list itself may be NULL. */
  st_tensor *const *grad_outputs;
  /* Whose gradients are wanted. None: every leaf's, added to its `grad`. */
  int ninputs;
  st_tensor *const *inputs;
  bool accumulate;    /* add the inputs' gradients to their `grad`, too */
  bool retain_graph;  /* keep what was saved, so that it can run again */
  bool create_graph;  /* record the gradients themselves */
  bool allow_unused;  /* an input that the outputs do not depend on has no
                         gradient; otherwise that is BAD_VALUE */
} st_backward_pass;

/* Looks at a gradient on its way, and may put another, owned, in *out, which
 * comes as NULL. */
typedef struct st_tensor_hook {
  st_status (*fn)(void *ctx, st_tensor *grad, st_tensor **out);
  void *ctx;
  void (*free_ctx)(void *); /* may be NULL */
} st_tensor_hook;

/* Sees a node run: after it with the gradients of its inputs and of its
 * results, before it with the latter alone (inputs NULL). It may put others
 * in place of what is to be passed on: owned; the old ones are to be
 * released. Entries may be NULL. */
typedef struct st_node_hook {
  st_status (*fn)(void *ctx, int ninputs, st_tensor **inputs, int nresults,
                  st_tensor **results);
  void *ctx;
  void (*free_ctx)(void *); /* may be NULL */
} st_node_hook;

/* grads: of the outputs, NULL where there is none. saved: as they were at the
 * time of recording. inputs: to be filled with owned tensors, NULL where there
 * is no gradient; wanted says where one is of use. */
typedef st_status (*st_function_fn)(void *ctx, st_tensor *const *grads,
                                    st_tensor *const *saved,
                                    const bool *wanted, st_tensor **inputs);

/* An operation whose gradient is a function of the caller's. */
typedef struct st_function {
  const char *name;
  st_function_fn backward;
  void *ctx;
  void (*release)(void *ctx);  /* may be NULL: what was saved can go */
  void (*free_ctx)(void *ctx); /* may be NULL; taken over on success only */
  int ninputs, noutputs, nsaved;
  st_tensor *const *inputs;    /* entries may be NULL */
  st_tensor *const *outputs;   /* they get the history; one that is an input,
                                  too, was written in place */
  st_tensor *const *saved;     /* inputs, outputs or others; may be NULL */
  const bool *differentiable;  /* of the outputs; NULL: all are */
} st_function;

/* The derivative of an operator. args and rets are its own, of the time of
 * the call; grads one per result, NULL without; inputs has a slot for each
 * tensor among the arguments, a list's one after the other, to be filled with
 * owned tensors or left NULL. */
typedef struct st_derivative {
  st_status (*backward)(void *ctx, const st_op *op, const st_value *args,
                        const st_value *rets, st_tensor *const *grads,
                        const bool *wanted, st_tensor **inputs);
  void *ctx;
  void (*free_ctx)(void *); /* may be NULL */
} st_derivative;

/* Is told of every node that this thread records, and gives a text that says
 * where: *where is copied. For messages of the backward pass. */
typedef struct st_anomaly {
  st_status (*where)(void *ctx, char *text, size_t size);
  void *ctx;
  bool checks_nan; /* a gradient with a NaN in it is an error */
} st_anomaly;

/* -- Expressions ---------------------------------------------------------- */

typedef struct st_graph st_graph;     /* calls that were traced */
typedef struct st_tracing st_tracing; /* a trace on its way */

typedef struct st_recorder st_recorder;   /* calls as they are recorded */
typedef struct st_schedule st_schedule;   /* what a recording has become */
typedef struct st_compile_cache st_compile_cache; /* those of one function */
/* An argument of it: a tensor, or bytes that tell it from others of a kind. */
typedef struct st_compile_cache_arg {
  st_tensor *tensor;
  const void *bytes;
  int nbytes, kind; /* 0 to 255 */
} st_compile_cache_arg;

/* What is traced. where: NULL, or says where the function is that is being
 * traced, for messages. */
typedef struct st_tracing_config {
  const char *name;
  int ninputs, nnumbers;   /* at most 12 tensors, 16 numbers */
  void (*where)(void *ctx, char *text, size_t size);
  void *ctx;
} st_tracing_config;

/* A reduction: what is done with the elements, how two values become one, and
 * what is made of the last one. */
typedef struct st_custom_reduction {
  const char *schema;
  const st_graph *map;     /* its tensors, then its numbers: 1 to 4 values */
  const st_graph *combine; /* those of one element, then of another: one */
  const st_graph *final;   /* values, the number of elements and the schema's
                              numbers: the results */
  int ninit;               /* as many as map has results, or none */
  st_scalar init[4];
  const char *doc, *debug;
} st_custom_reduction;

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

/* What an iterator is built of (st_plan_new). */
typedef struct st_plan_config {
  uint32_t flags;         /* ST_PLAN_... */
  int noutputs, noperands;
  st_tensor *const *operands;  /* outputs first; NULL ones are allocated */
  st_dtype dtype;         /* of outputs to be made, or NONE */
  st_dtype static_dtype;  /* what loops write, or NONE: the common dtype */
  const int64_t *static_shape; /* what is walked, whatever the operands'
                             shapes, which must have room for it; or NULL */
  int static_ndim;
  bool has_static_device; /* outputs are made on: */
  st_device static_device;
} st_plan_config;

typedef struct st_plan st_plan; /* a built iterator */

/* What a plan is of: one made by hand, or a part of a call (st_plan_call). */
typedef enum st_plan_kind {
  ST_PLAN_OWN, ST_PLAN_ELEMENTWISE, ST_PLAN_COPY, ST_PLAN_FOLD
} st_plan_kind;

/* How the call runs it. */
typedef struct st_plan_run {
  st_plan_kind kind;
  int64_t grain;    /* elements worth a thread; 0: it does not go by that */
  bool is_tiled;    /* elementwise: tile by tile */
  bool is_buffered; /* elementwise: operands that cast or have short rows are
                       gathered block by block */
} st_plan_run;

/* What there is to say of a plan. Dimensions: the fastest first. */
typedef struct st_plan_facts {
  st_plan_run run;
  int noutputs, noperands;
  int ndim;
  const int64_t *shape;
  const int64_t *view_offset;   /* what narrowing has cut off in front */
  int common_ndim;              /* before reordering and coalescing */
  const int64_t *common_shape;
  int nperm;                    /* 0 after a fast set-up */
  const int *perm;              /* the dimension of common_shape each one was */
  const char *fast; /* "none", "contiguous", "channels_last",
                       "non_overlapping_dense" */
  const char *inner; /* what loops meet along the first dimension: "vector"
                        (every operand is contiguous), "scalar" (all but one
                        input, which has stride 0) or "strided" (gathered
                        block by block) */
  int64_t numel;
  int64_t num_output_elements;  /* of the first output, */
  int num_reduce_dims;          /* which has stride 0 along these */
  int dim_to_split;             /* that which reaches farthest; -1: none */
  st_dtype common_dtype;
  bool is_coalesced, is_contiguous, has_contiguous_first_dim;
  bool can_use_32bit;           /* for all offsets */
  bool is_tiled_copy;           /* a copy over it goes tile by tile */
  bool accumulates, is_final;   /* the second and the last part of those that
                                   fold into one output, split */
} st_plan_facts;

typedef st_status (*st_plan_fn)(st_plan *part, void *ctx);

/* An operand as a loop over a plan meets it. */
typedef struct st_plan_operand {
  st_dtype dtype;     /* of the elements in memory */
  st_dtype seen_as;   /* what the loop sees, when it casts on the way */
  int64_t numel;      /* of the tensor; 1: a scalar */
  int64_t low, high;  /* bytes that may be touched, from its first element */
  bool is_output, is_read_write, is_resized;
  bool is_temporary;  /* a copy of the caller's tensor or number */
} st_plan_operand;

#ifdef __cplusplus
}
#endif

#endif
