/* Part of strided.h: memory, and tensors that go elsewhere.
 */
#ifndef STRIDED_MEMORY_H
#define STRIDED_MEMORY_H

/* -- Memory --------------------------------------------------------------- */

/* Figures of kind 0, 1, ...; false beyond the last. Process-wide. */
ST_API bool st_memory_stats(int kind, st_memory *out);
/* For tests: this thread's k-th allocation from now fails with NO_MEMORY.
 * k = 0 switches it off. Returns how many allocations were left to go. */
ST_API int64_t st_memory_fail_at(int64_t k);

#endif
