/* Part of strided.h: memory, and tensors that go elsewhere.
 */
#ifndef STRIDED_MEMORY_H
#define STRIDED_MEMORY_H

/* -- Memory --------------------------------------------------------------- */

/* Figures of kind 0, 1, ...; false beyond the last. Process-wide. */
ST_API bool st_memory_stats(int kind, st_memory *out);
/* All kinds together, what is cached, and the bounds. Peaks are exact to a
 * megabyte for each thread but the one that asks. */
ST_API st_memory_totals st_memory_sum(void);
/* What is live from now on counts for the peaks, of every kind. */
ST_API void st_memory_reset_peak(void);
/* An allocation that would make more than `bytes` live fails with NO_MEMORY;
 * cached blocks are given back before that. With several threads it is off by
 * up to a megabyte for each. INT64_MAX, as at the start: no limit. BAD_VALUE
 * for a negative number. */
ST_API st_status st_memory_set_limit(int64_t bytes);
/* At most so many bytes are kept for reuse: at the start a quarter of the
 * memory of the machine or of the control group. BAD_VALUE. */
ST_API st_status st_memory_set_cache_limit(int64_t bytes);
/* Gives the cached blocks of this thread and those of all threads back to the
 * system; returns how many bytes that were. */
ST_API int64_t st_memory_trim(void);
/* For tests: this thread's k-th allocation from now fails with NO_MEMORY.
 * k = 0 switches it off. Returns how many allocations were left to go. */
ST_API int64_t st_memory_fail_at(int64_t k);

/* -- Sharing -------------------------------------------------------------- */

enum { ST_TOKEN_SIZE = 64 }; /* bytes of a token, its NUL included */

/* Hands t to whoever has the token, which is text, in whatever way strings
 * travel between threads and Lua states: `times` times, or with 0 until
 * st_unshare. Until then the token keeps the elements alive. What is handed
 * over is t as it is now, without gradients. Its storage cannot grow any
 * more. BAD_STATE for a tensor that is not on the CPU or is bound to its
 * host, BAD_VALUE for a negative number, NO_MEMORY. */
ST_API st_status st_share(const st_tensor *t, int64_t times,
                          char token[ST_TOKEN_SIZE]);
/* A tensor of the caller's own over the same elements. Nothing orders the
 * accesses of different threads but what hands over the token and what they
 * do themselves: while one writes, no other may read or write. A child of
 * fork has the tokens, like all memory, as copies. NOT_FOUND for a token that
 * is used up, unshared, of another process, or none; NO_MEMORY, which uses
 * nothing up. */
ST_API st_status st_attach(const char *token, st_tensor **out);
/* Takes a token back; false when there is nothing left to take. */
ST_API bool st_unshare(const char *token);
/* For hosts that make tensors over memory which they take back when they end:
 * from now on st_share refuses t and its views. */
ST_API void st_tensor_bind(st_tensor *t);

/* -- DLPack --------------------------------------------------------------- */

/* The structures of the DLPack standard, as its dlpack.h declares them. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* t for another library: *out keeps its elements alive, where they are, until
 * whoever consumes it calls its deleter. Its storage cannot grow any more.
 * BAD_STATE for a tensor that requires a gradient, is lazy, not on the CPU, or
 * bound to its host; NO_MEMORY. */
ST_API st_status st_tensor_to_dlpack(st_tensor *t,
                                     struct DLManagedTensor **out);
/* The same as DLPack 1.0 has it. */
ST_API st_status st_tensor_to_dlpack_versioned(
  st_tensor *t, struct DLManagedTensorVersioned **out);
/* A tensor over another library's elements. On success m belongs to it, and
 * the deleter is called when the last tensor on it is gone; on failure m is
 * as it was, the caller's. BAD_STATE for another device than the CPU,
 * BAD_DTYPE, BAD_SHAPE also for negative strides, BAD_VALUE for what is not
 * aligned or cannot be, NO_MEMORY. */
ST_API st_status st_tensor_from_dlpack(struct DLManagedTensor *m,
                                       st_tensor **out);
/* The same of DLPack 1.x. What is read-only is copied, and m deleted. */
ST_API st_status st_tensor_from_dlpack_versioned(
  struct DLManagedTensorVersioned *m, st_tensor **out);
/* Calls the deleter, for what nobody consumes. NULL is fine. */
ST_API void st_dlpack_release(struct DLManagedTensor **m);
ST_API void st_dlpack_release_versioned(struct DLManagedTensorVersioned **m);

#endif
