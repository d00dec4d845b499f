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
/* For kernels: calls fn, which cannot fail, over disjoint ranges that cover
 * [begin, end), on several threads when there are more than `grain` units; from
 * within fn, on one. */
ST_API void st_parallel_for(int64_t begin, int64_t end, int64_t grain,
                            st_range_fn fn, void *ctx);

/* -- Errors --------------------------------------------------------------- */

/* This thread's last message, valid until its next failure. */
ST_API const char *st_message(void);
ST_API const char *st_status_name(st_status code); /* "bad_shape" */
ST_API const char *st_status_text(st_status code);
/* For kernels of extensions: sets the message and returns code. */
__attribute__((format(printf, 2, 3)))
ST_API st_status st_fail(st_status code, const char *format, ...);

/* What is allowed but seldom meant goes to fn, on the thread that does it;
 * NULL, as at the start: to stderr. Process-wide. */
ST_API void st_set_warning_handler(void (*fn)(void *ctx, const char *text),
                                   void *ctx);
ST_API void st_warn(const char *text);

/* Where this thread's messages start to count dimensions and positions: 0
 * until set, 1 for a host language that counts from one. Returns the old
 * one. Results are not affected. */
ST_API int st_count_from(int first);

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
/* Gives PRIVATEUSE1, 2 or 3 a name (lower case letters, digits, _; at most
 * 31) and memory, once and for the life of the process: link what allocator
 * points to with -z nodelete. Its operators are kernels for the key of that
 * name, "PrivateUse1"; the least it takes are aten::empty.memory_format,
 * aten::empty_strided and aten::copy_ in both directions, which is enough to
 * print, to subscript and to convert. BAD_STATE when the device or the name
 * is taken. */
ST_API st_status st_device_register(st_device device, const char *name,
                                    const st_allocator *allocator);

/* -- Tensors -------------------------------------------------------------- */

/* Uninitialised; strides NULL means contiguous. BAD_SHAPE for a negative
 * size, an overflow or more than ST_MAX_DIMS dimensions; BAD_STATE for a
 * device that nobody has registered; NO_MEMORY. */
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
/* Are its elements not what its bytes say? `clone` gives a plain tensor, and
 * kernels are not handed another unless they serve its key. */
ST_API bool st_tensor_is_lazy(const st_tensor *t);
ST_API bool st_tensor_is_wrapped(const st_tensor *t);
ST_API bool st_tensor_is_contiguous(const st_tensor *t, st_format f);
ST_API bool st_tensor_is_dense(const st_tensor *t); /* non-overlapping too */
/* Do two elements of t share memory? Exact for tensors of up to 2^20 elements;
 * of larger ones those whose strides make it too hard to tell count as
 * overlapping. NO_MEMORY. */
ST_API st_status st_tensor_overlaps_itself(const st_tensor *t, bool *out);
/* Does any byte belong to both? Exact unless it takes the search more than
 * 2^16 steps, which no regular strides do; then true. */
ST_API bool st_may_share_memory(const st_tensor *a, const st_tensor *b);
ST_API st_format st_tensor_suggest_format(const st_tensor *t);
/* First element; NULL on the meta device and of zero tensors. On a registered
 * device it is whatever that device's allocator says. */
ST_API void *st_tensor_data(const st_tensor *t);
/* The storage: equal addresses share bytes. */
ST_API const void *st_tensor_storage(const st_tensor *t);
ST_API size_t st_tensor_storage_nbytes(const st_tensor *t);
/* How many headers, lists and callers hold t; how many tensors its bytes. */
ST_API int st_tensor_refcount(const st_tensor *t);
ST_API int st_tensor_storage_refcount(const st_tensor *t);

/* One element: BAD_INDEX outside, BAD_STATE on the meta device. On a
 * registered device, or of a lazy tensor, through operators, so slowly, and
 * with their errors. */
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
ST_API st_status st_value_of_floats(const double *p, int n, st_value *out);
ST_API st_status st_value_of_bools(const bool *p, int n, st_value *out);
ST_API st_status st_value_of_string(const char *s, size_t n, st_value *out);
ST_API st_status st_value_of_scalar(st_scalar s, st_value *out);

/* -- Random numbers ------------------------------------------------------- */

/* A Mersenne twister; the same seed gives the numbers PyTorch gives.
 * NO_MEMORY. */
ST_API st_status st_generator_new(uint64_t seed, st_generator **out);
ST_API void st_generator_retain(st_generator *g);
ST_API void st_generator_release(st_generator **g);
ST_API void st_generator_seed(st_generator *g, uint64_t seed);
ST_API uint64_t st_generator_initial_seed(const st_generator *g);
/* g goes on as from would. */
ST_API void st_generator_assign(st_generator *g, st_generator *from);
/* The one that operators use when none is given. Borrowed. */
ST_API st_generator *st_default_generator(void);

#include "strided_memory.h"
#include "strided_dispatch.h"
#include "strided_plan.h"
#include "strided_grad.h"
#include "strided_fuse.h"
#include "base/signature.h"

#ifdef __cplusplus
}
#endif

#endif
