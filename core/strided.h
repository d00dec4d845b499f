/* strided: a tensor engine for C and Lua.
 *
 * This is the one public header. It is enough to make tensors, to call any
 * operator by its schema, and to register operators, kernels and backends.
 *
 *   #include <strided.h>
 *
 *   int64_t sizes[] = {2, 3};
 *   st_tensor *t;
 *   st_value args[2], ret;
 *   if (st_init() != ST_OK) die(st_message());
 *   st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 2, sizes, NULL, &t);
 *   ...
 *   args[0].tag = ST_TAG_TENSOR; args[0].u.tensor = t;
 *   args[1].tag = ST_TAG_INT;    args[1].u.i = 2;
 *   if (st_call_op(st_op_find("aten::mul", "Scalar"), 2, args, &ret)) ...
 *   st_value_clear(&ret);
 *   st_tensor_release(&t);
 *
 * Conventions. Functions that can fail return a st_status; the message is
 * kept per thread until the next failure (st_message). Inputs are borrowed;
 * what comes back through `**out` is owned by the caller and given back by
 * the matching _release, which takes a pointer to the pointer and nulls it.
 * Dimensions and positions are 0-based, ends of ranges exclusive. Sizes,
 * strides and offsets count elements. All functions may be called from any
 * thread; one tensor must not be written by two at once.
 */
#ifndef STRIDED_H
#define STRIDED_H

#include "base/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- Process -------------------------------------------------------------- */

/* Registers the built-in operators and picks the kernels for the CPU.
 * Idempotent; call it before anything else. */
ST_API st_status st_init(void);
ST_API const char *st_version(void);
/* "base", "avx2" or "avx512": what the kernels run on (STRIDED_ISA). */
ST_API const char *st_isa(void);

/* Threads a large operation may use: 1 to 256, BAD_VALUE otherwise. */
ST_API int st_num_threads(void);
ST_API st_status st_set_num_threads(int n);

/* -- Errors --------------------------------------------------------------- */

/* This thread's last message, valid until its next failure. */
ST_API const char *st_message(void);
ST_API const char *st_status_name(st_status code); /* "bad_shape" */
ST_API const char *st_status_text(st_status code);
/* For kernels of extensions: sets the message and returns code. */
__attribute__((format(printf, 2, 3)))
ST_API st_status st_fail(st_status code, const char *format, ...);

/* Where this thread's messages start to count dimensions and positions: 0
 * until set, 1 for a host language that counts from one. Returns the old
 * one. Results are not affected. */
ST_API int st_count_from(int first);

/* -- Memory --------------------------------------------------------------- */

typedef struct st_memory {
  const char *name;  /* "tensors", "data", ... */
  int64_t count;     /* live blocks */
  int64_t bytes;     /* live bytes */
  int64_t peak;      /* most live bytes so far */
} st_memory;

/* Figures of kind 0, 1, ...; false beyond the last. Process-wide. */
ST_API bool st_memory_stats(int kind, st_memory *out);
/* For tests: this thread's k-th allocation from now fails with NO_MEMORY.
 * k = 0 switches it off. Returns how many allocations were left to go. */
ST_API int64_t st_memory_fail_at(int64_t k);

/* -- Dtypes, formats, devices --------------------------------------------- */

ST_API const char *st_dtype_name(st_dtype d);
ST_API bool st_dtype_parse(const char *name, st_dtype *out);
ST_API size_t st_dtype_size(st_dtype d);
ST_API st_dtype st_default_dtype(void);
ST_API st_status st_set_default_dtype(st_dtype d); /* floating only */
ST_API st_dtype st_promote_types(st_dtype a, st_dtype b);
ST_API bool st_can_cast(st_dtype from, st_dtype to);
/* The dtype of an operation on these tensors (wrapped numbers included). */
ST_API st_dtype st_result_type(st_tensor *const *tensors, int n);

ST_API const char *st_format_name(st_format f);
ST_API bool st_format_parse(const char *name, st_format *out);
ST_API const char *st_device_name(st_device d); /* "cpu" */
ST_API bool st_device_parse(const char *name, st_device *out);

/* -- Tensors -------------------------------------------------------------- */

/* Uninitialised; strides NULL means contiguous. BAD_SHAPE for a negative
 * size, an overflow or more than ST_MAX_DIMS dimensions; NO_MEMORY. */
ST_API st_status st_tensor_empty(st_device device, st_dtype dtype, int ndim,
                                 const int64_t *sizes,
                                 const int64_t *strides, st_tensor **out);
/* Over foreign memory; free_fn (may be NULL) is called when the last tensor
 * on it is gone. On failure data stays the caller's. */
ST_API st_status st_tensor_wrap(void *data, size_t nbytes, st_dtype dtype,
                                int ndim, const int64_t *sizes,
                                const int64_t *strides, int64_t offset,
                                void (*free_fn)(void *ctx, void *data,
                                                size_t nbytes),
                                void *ctx, st_tensor **out);
/* A 0-dim tensor; wrapped: it takes part in type promotion as a plain
 * number, as in `t + 2`. */
ST_API st_status st_tensor_scalar(st_scalar s, st_dtype dtype, bool wrapped,
                                  st_tensor **out);
ST_API void st_tensor_retain(st_tensor *t);
ST_API void st_tensor_release(st_tensor **t);

ST_API int st_tensor_ndim(const st_tensor *t);
ST_API const int64_t *st_tensor_sizes(const st_tensor *t);
ST_API const int64_t *st_tensor_strides(const st_tensor *t);
ST_API int64_t st_tensor_numel(const st_tensor *t);
ST_API int64_t st_tensor_offset(const st_tensor *t);
ST_API st_dtype st_tensor_dtype(const st_tensor *t);
ST_API st_device st_tensor_device(const st_tensor *t);
ST_API st_keyset st_tensor_keys(const st_tensor *t);
ST_API bool st_tensor_is_wrapped(const st_tensor *t);
ST_API bool st_tensor_is_contiguous(const st_tensor *t, st_format f);
ST_API bool st_tensor_is_dense(const st_tensor *t); /* non-overlapping too */
ST_API st_format st_tensor_suggest_format(const st_tensor *t);
/* First element; NULL on the meta device. */
ST_API void *st_tensor_data(const st_tensor *t);
/* The storage: equal addresses share bytes. */
ST_API const void *st_tensor_storage(const st_tensor *t);
ST_API size_t st_tensor_storage_nbytes(const st_tensor *t);
/* How many headers, lists and callers hold t. */
ST_API int st_tensor_refcount(const st_tensor *t);

/* One element: BAD_INDEX outside, BAD_STATE on the meta device. */
ST_API st_status st_tensor_get(const st_tensor *t, int n,
                               const int64_t *index, st_scalar *out);
ST_API st_status st_tensor_set(st_tensor *t, int n, const int64_t *index,
                               st_scalar value);

/* How PyTorch would print it (4 digits, 1000 elements, 3 edge items, 80
 * columns); NULL options are these. *out is freed with st_text_release.
 * NO_MEMORY. */
ST_API st_status st_tensor_text(const st_tensor *t,
                                const st_print_options *options, char **out);
ST_API void st_text_release(char **text);


/* -- Values --------------------------------------------------------------- */

/* Releases a result: tensors, lists, strings. */
ST_API void st_value_clear(st_value *v);
/* Owned results for kernels: tensors are retained, data is copied. */
ST_API st_status st_value_of_tensor(st_tensor *t, st_value *out);
ST_API st_status st_value_of_tensors(st_tensor *const *t, int n,
                                     st_value *out);
ST_API st_status st_value_of_ints(const int64_t *p, int n, st_value *out);
ST_API st_status st_value_of_string(const char *s, size_t n, st_value *out);
ST_API st_status st_value_of_scalar(st_scalar s, st_value *out);

/* -- Operators ------------------------------------------------------------ */

/* "aten::add", "Tensor". NULL when there is none. The handle is valid for
 * the life of the process. */
ST_API const st_op *st_op_find(const char *name, const char *overload);
/* All overloads of a name, in order of definition; returns how many. */
ST_API int st_op_overloads(const char *name, const st_op **ops, int n);
ST_API void st_op_each(bool (*fn)(void *ctx, const st_op *op), void *ctx);

ST_API const char *st_op_name(const st_op *op);
ST_API const char *st_op_overload_name(const st_op *op);
ST_API const char *st_op_schema(const st_op *op); /* canonical text */
ST_API const char *st_op_doc(const st_op *op);
ST_API int st_op_nargs(const st_op *op);
ST_API int st_op_nrets(const st_op *op);
/* NULL outside; arguments lie side by side in memory, so do results. */
ST_API const st_arg *st_op_arg(const st_op *op, int i);
ST_API const st_arg *st_op_ret(const st_op *op, int i);
/* The kernel in a slot of the table and why it is there; strings that live as
 * long as the process. False for a name that is no key. */
ST_API bool st_op_slot(const st_op *op, const char *key, const char **kernel,
                       const char **provenance);

/* Calls op with its first n arguments; the others take their defaults. rets
 * has room for st_op_nrets results, which are the caller's (st_value_clear)
 * and written on success only. BAD_TYPE for a value of another type than the
 * schema's, BAD_VALUE for a missing or an extra one, NO_KERNEL, NOT_FOUND
 * when op is defined no longer, or what the operator says. */
ST_API st_status st_call_op(const st_op *op, int n, const st_value *args,
                            st_value *rets);
/* Continues with keys as they are: no thread state, no fallthrough. args are
 * all arguments; results and errors as for st_call_op. */
ST_API st_status st_redispatch(const st_op *op, st_keyset keys,
                               const st_value *args, st_value *rets);

/* Inside a kernel. */
ST_API const st_op *st_call_operator(const st_call *call);
ST_API st_keyset st_call_keys(const st_call *call);
ST_API void *st_call_context(const st_call *call);

/* -- Registration --------------------------------------------------------- */

/* Each gives a handle whose release takes the registration back; out NULL
 * keeps it for good. debug says where it comes from; texts are copied. A
 * failed registration changes nothing: BAD_SCHEMA with the position for a
 * malformed schema or name, BAD_STATE for an operator that is defined already
 * or a second fallback of a key, BAD_VALUE for an unknown key, NO_MEMORY. */
ST_API st_status st_define(const char *ns, const char *schema,
                           const char *doc, const char *debug,
                           st_registration **out);
/* name "geo::hypot2.out"; key "CPU", "CompositeImplicitAutograd", ...; fn
 * NULL registers a fallthrough. free_ctx (may be NULL) is called once nothing
 * can run the kernel any more. */
ST_API st_status st_implement(const char *name, const char *key,
                              st_kernel_fn fn, void *ctx,
                              void (*free_ctx)(void *), const char *debug,
                              st_registration **out);
ST_API st_status st_implement_fallback(const char *key, st_kernel_fn fn,
                                       void *ctx, void (*free_ctx)(void *),
                                       const char *debug,
                                       st_registration **out);
ST_API void st_registration_release(st_registration **r);

/* -- Keys ----------------------------------------------------------------- */

ST_API bool st_key_parse(const char *name, st_keyset *out);
/* "DispatchKeySet(CPU, AutogradCPU)" into buf; returns buf. */
ST_API char *st_keyset_text(st_keyset ks, char *buf, size_t size);
/* a without b's functionalities; backends stay (SEMANTICS K5). */
ST_API st_keyset st_keyset_minus(st_keyset a, st_keyset b);
/* The key that a call with these keys takes, "Undefined" for none. A static
 * string. */
ST_API const char *st_keyset_highest(st_keyset ks);
/* Every bit below key's functionality, all backends. BAD_VALUE for a name
 * that is no key. */
ST_API st_status st_keyset_after(const char *key, st_keyset *out);

/* -- Random numbers ------------------------------------------------------- */

/* A Mersenne twister; the same seed gives the numbers PyTorch gives.
 * NO_MEMORY. */
ST_API st_status st_generator_new(uint64_t seed, st_generator **out);
ST_API void st_generator_retain(st_generator *g);
ST_API void st_generator_release(st_generator **g);
ST_API void st_generator_seed(st_generator *g, uint64_t seed);
ST_API uint64_t st_generator_initial_seed(const st_generator *g);
/* The one that operators use when none is given. Borrowed. */
ST_API st_generator *st_default_generator(void);

/* -- Seeing --------------------------------------------------------------- */

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

typedef struct st_plan st_plan; /* a built iterator */

/* NULL outputs are allocated, given ones may be resized. dtype: that of
 * outputs to be made, or NONE. Pointers into a plan live as long as it does;
 * one plan is for one thread at a time. Errors: those of an elementwise
 * operator on these operands (BAD_SHAPE, BAD_DTYPE, OVERLAP, NO_MEMORY). */
ST_API st_status st_plan_new(uint32_t flags, int noutputs, int noperands,
                             st_tensor *const *operands, st_dtype dtype,
                             st_plan **out);
ST_API void st_plan_release(st_plan **p);
ST_API int st_plan_ndim(const st_plan *p);
ST_API const int64_t *st_plan_shape(const st_plan *p); /* fastest first */
ST_API const int64_t *st_plan_strides(const st_plan *p,
                                      int operand); /* in bytes */
ST_API int st_plan_perm(const st_plan *p, const int **perm); /* 0: fast */
ST_API int st_plan_common_shape(const st_plan *p, const int64_t **shape);
ST_API const char *st_plan_fast(const st_plan *p); /* "none", "contiguous".. */
ST_API bool st_plan_coalesced(const st_plan *p);
ST_API int64_t st_plan_numel(const st_plan *p);
ST_API st_dtype st_plan_common_dtype(const st_plan *p);
ST_API bool st_plan_is_contiguous(const st_plan *p);
ST_API bool st_plan_has_contiguous_first_dim(const st_plan *p);
ST_API bool st_plan_can_use_32bit(const st_plan *p);
/* What loops meet along the first dimension: "vector" (every operand is
 * contiguous), "scalar" (all but one input, which has stride 0) or "strided"
 * (gathered block by block). A static string. */
ST_API const char *st_plan_inner(const st_plan *p);
/* Whether a copy over this plan goes tile by tile. */
ST_API bool st_plan_is_tiled_copy(const st_plan *p);
/* Output i, owned by the caller. */
ST_API st_tensor *st_plan_output(const st_plan *p, int i);
/* Step k of the 2-d calls for elements [begin, end): sizes and the byte
 * offset of every operand. False when there is no such step. */
ST_API bool st_plan_step(const st_plan *p, int64_t begin, int64_t end,
                         int64_t k, int64_t size[2], int64_t *offsets);

/* Calls fn for every dispatch of this thread until fn is NULL. */
typedef struct st_trace {
  const st_op *op;
  const char *kind;   /* "call", "redispatch" */
  const char *key;    /* chosen */
  const char *kernel; /* its debug string */
  st_keyset keys;
  int depth;
} st_trace;
ST_API void st_set_trace(void (*fn)(void *ctx, const st_trace *event),
                         void *ctx);

#ifdef __cplusplus
}
#endif

#endif
