/* Part of strided.h: memory, sharing between threads, and DLPack.
 */
#ifndef STRIDED_MEMORY_H
#define STRIDED_MEMORY_H

/* -- Memory --------------------------------------------------------------- */

/* The statistics of memory kind 0, 1, ...; false past the last.
 * Process-wide. */
ST_API bool st_memory_stats(int kind, st_memory *out);
/* The sums over all kinds, the bytes in the caches, and the limits. Peaks are
 * accurate to a megabyte per thread, and exact for the calling thread. */
ST_API st_memory_totals st_memory_sum(void);
/* The sum of live bytes, in a few nanoseconds: exact for what the calling
 * thread allocates and frees, and off by up to a megabyte for each other
 * thread. */
ST_API int64_t st_memory_live(void);
/* Sets the peaks of all kinds to the bytes that are live now. */
ST_API void st_memory_reset_peak(void);
/* An allocation that would raise the live bytes above the limit fails with
 * NO_MEMORY; cached blocks are released first. The limit is accurate to a
 * megabyte per thread. INT64_MAX, the default, means no limit. BAD_VALUE for a
 * negative number. */
ST_API st_status st_memory_set_limit(int64_t bytes);
/* The most bytes that are cached for reuse. The default is a quarter of the
 * memory of the machine or of the control group. BAD_VALUE for a negative
 * number. */
ST_API st_status st_memory_set_cache_limit(int64_t bytes);
/* Returns the blocks cached by this thread and by all threads together to the
 * system; returns the number of bytes. */
ST_API int64_t st_memory_trim(void);
/* For tests: this thread's k-th allocation from now on fails with NO_MEMORY; k
 * = 0 cancels. Returns how many allocations were left until then. */
ST_API int64_t st_memory_fail_at(int64_t k);

/* -- Limits --------------------------------------------------------------- */

/* From now on, calls of this thread use at most n threads; 0: as many as
 * st_num_threads. Unlike limits, it does not make other calls slower. */
ST_API void st_limit_own_threads(int n);

typedef struct st_limits st_limits;

/* Limits of the calls that a thread makes while it has entered them, for hosts
 * that run code which they do not trust. memory is the most bytes that may be
 * live at a time of what these calls create (INT64_MAX: any number): elements,
 * headers of tensors, graphs of gradients, generators, operators, fused
 * functions and their machine code, capsules, temporaries. An
 * allocation that exceeds it fails with NO_MEMORY. The bytes count until they
 * are released, on whichever thread. threads is the most threads that one of
 * these calls uses; 0: as many as st_num_threads. BAD_VALUE for a negative
 * number; NO_MEMORY. The caller owns *out; tensors made under the limits may
 * outlive it. */
ST_API st_status st_limits_new(int64_t memory, int threads, st_limits **out);
ST_API void st_limits_release(st_limits **l);
/* Makes l, or NULL for none, the limits of this thread. Returns those before,
 * which the caller enters again at the end. Limits do not add up, and threads
 * that these calls start for themselves do not have them. */
ST_API st_limits *st_limits_enter(st_limits *l);
/* From now on, calls under l have so many seconds, after which every call of an
 * operator, and a backward pass between two nodes, fails with BAD_STATE. A call
 * that runs is not interrupted. 1e9 and more: no limit, which is the initial
 * state. */
ST_API void st_limits_set_time(st_limits *l, double seconds);
/* BAD_STATE, with a message, once the time of this thread's limits is over. */
ST_API st_status st_limits_check(void);
/* The bytes that are charged to l now. */
ST_API int64_t st_limits_used(const st_limits *l);
/* realloc and free of what a binding keeps for the code under limits: n bytes
 * are charged to the limits of this thread until they are freed. NULL, with a
 * message, if these do not allow it, or out of memory; p is then as it was. */
ST_API void *st_limits_realloc(void *p, size_t n);
ST_API void st_limits_free(void *p);

/* -- Sharing -------------------------------------------------------------- */

enum { ST_TOKEN_SIZE = 64 }; /* bytes of a token, including its NUL */

/* Makes a token, a text, by which other threads or Lua states can attach to t:
 * `times` times or, if times is 0, until st_unshare. The token keeps the
 * elements alive until then. The attached tensors have the present shape and
 * strides of t and no gradient. The storage of t can no longer be resized.
 * BAD_STATE for a tensor that is not on the CPU or is bound (st_tensor_bind),
 * BAD_VALUE for a negative number, NO_MEMORY. */
ST_API st_status st_share(const st_tensor *t, int64_t times,
                          char token[ST_TOKEN_SIZE]);
/* A new tensor over the shared elements, owned by the caller. Accesses from
 * different threads are not synchronised, except by the transfer of the token:
 * while one thread writes, no other may read or write. After fork the child has
 * copies of the tokens and of the elements. NOT_FOUND for a token that is used
 * up, unshared, of another process or invalid; NO_MEMORY, which does not use
 * the token up. */
ST_API st_status st_attach(const char *token, st_tensor **out);
/* Revokes a token; false if it is not valid any more. */
ST_API bool st_unshare(const char *token);
/* For hosts that make tensors over memory which they free on their own end:
 * from now on st_share refuses t and its views. */
ST_API void st_tensor_bind(st_tensor *t);

/* -- DLPack --------------------------------------------------------------- */

/* The structures of the DLPack standard, as declared by dlpack.h. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* Exports t: *out keeps the elements alive, at their address, until its
 * consumer calls the deleter. The storage of t can no longer be resized.
 * BAD_STATE for a tensor that requires a gradient, is lazy, is not on the CPU,
 * or is bound; NO_MEMORY. */
ST_API st_status st_tensor_to_dlpack(st_tensor *t,
                                     struct DLManagedTensor **out);
/* The same for DLPack 1.0. */
ST_API st_status st_tensor_to_dlpack_versioned(
  st_tensor *t, struct DLManagedTensorVersioned **out);
/* Imports a tensor of another library. On success the new tensor owns m; the
 * deleter is called when the last tensor on it is released. On failure the
 * caller keeps m, unchanged. BAD_STATE for a device other than the CPU,
 * BAD_DTYPE, BAD_SHAPE (also for negative strides), BAD_VALUE for misaligned
 * data or strides, NO_MEMORY. */
ST_API st_status st_tensor_from_dlpack(struct DLManagedTensor *m,
                                       st_tensor **out);
/* The same for DLPack 1.x. A read-only tensor is copied, and m deleted. */
ST_API st_status st_tensor_from_dlpack_versioned(
  struct DLManagedTensorVersioned *m, st_tensor **out);
/* Calls the deleter of an export that was not consumed. NULL is allowed. */
ST_API void st_dlpack_release(struct DLManagedTensor **m);
ST_API void st_dlpack_release_versioned(struct DLManagedTensorVersioned **m);

#endif
