/* strided: a tensor engine for C and Lua.
 *
 * This is the only public header. It has functions to make tensors, to call
 * any operator by its schema, and to register operators, kernels and backends.
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
 * Conventions. Functions that can fail return a st_status; st_message gives
 * the message, which each thread keeps until its next failure. Inputs are
 * borrowed. The caller owns what it gets through `**out` and releases it with
 * the matching _release, which takes a pointer to the pointer and sets it to
 * NULL. Dimensions and indices are 0-based, ranges exclude their end. Sizes,
 * strides and offsets count elements. Functions may be called from any
 * thread; two threads must not write a tensor at the same time. A
 * thread needs 48 KB of stack; if it has less than 448 KB left, loops run on a
 * second stack, which the engine maps for the thread.
 */
#ifndef STRIDED_H
#define STRIDED_H

#include "abi/lists.h"

/* -- Versions ------------------------------------------------------------- */

/* The version of the library. The build and the rock have it from here. */
#define ST_VERSION "0.2.0"

/* The version of this interface, for what is compiled with it: functions,
 * structs and constants. MAJOR grows when one of them changes or goes, and
 * MINOR is 0 then; MINOR grows when one is added (CONTRIBUTING.md). */
#define ST_API_MAJOR 1
#define ST_API_MINOR 8
#define ST_API_VERSION (ST_API_MAJOR * 1000 + ST_API_MINOR)

#ifdef __cplusplus
extern "C" {
#endif

/* -- Process -------------------------------------------------------------- */

/* Registers the built-in operators and selects the CPU kernels. Idempotent.
 * Must be called before any other function. Returns the status of the first
 * call; BAD_STATE if the caller was compiled with a header that does not fit
 * the library (st_init_for). */
ST_API st_status st_init(void);
/* The same for a caller that was compiled with version `api` of the interface.
 * BAD_STATE, and nothing else happens, unless the library has the same MAJOR
 * and at least its MINOR. */
ST_API st_status st_init_for(int api);
#define st_init() st_init_for(ST_API_VERSION)

ST_API const char *st_version(void); /* ST_VERSION of the library */
ST_API int st_api_version(void);     /* ST_API_VERSION of the library */
/* The instruction set of the selected kernels, "base" or a better one. The
 * environment variable STRIDED_ISA lowers it to one of that name. */
ST_API const char *st_isa(void);
/* True if multiply-adds of these kernels are fused, rounded once: the bits of
 * products of floats depend on that, not on the instruction set. */
ST_API bool st_has_fma(void);
/* The sizes and thresholds that loops use on this machine (cache sizes, tiles,
 * elements worth a thread): the name and the value of number i, from 0; NULL
 * after the last. No result depends on them. After st_init. */
ST_API const char *st_machine_choice(int i, int64_t *value);

/* The number of threads that a large operation may use, 1 to 256. The setter
 * fails with BAD_VALUE outside that range. */
ST_API int st_num_threads(void);
ST_API st_status st_set_num_threads(int n);
/* For kernels: calls fn over disjoint ranges that cover [begin, end), on
 * several threads when there are more than `grain` units. A nested call runs on
 * the calling thread. fn cannot fail. */
ST_API void st_parallel_for(int64_t begin, int64_t end, int64_t grain,
                            st_range_fn fn, void *ctx);

/* -- Errors --------------------------------------------------------------- */

/* The message of this thread's last failure, valid until its next failure. */
ST_API const char *st_message(void);
ST_API const char *st_status_name(st_status code); /* "bad_shape" */
ST_API const char *st_status_text(st_status code); /* one phrase */
/* For kernels of extensions: sets this thread's message and returns code. */
__attribute__((format(printf, 2, 3)))
ST_API st_status st_fail(st_status code, const char *format, ...);

/* Sets the process-wide handler of warnings, which are about allowed but
 * probably unintended use. fn runs on the thread that warns. NULL, the initial
 * handler, writes to stderr. */
ST_API void st_set_warning_handler(void (*fn)(void *ctx, const char *text),
                                   void *ctx);
/* Passes text to the handler of warnings. */
ST_API void st_warn(const char *text);

/* Sets the index base that this thread's messages use for dimensions and
 * indices: 0 by default, 1 for a host language with 1-based indices. Returns
 * the previous base. Arguments and results are not affected. */
ST_API int st_count_from(int first);

/* -- Interrupts ----------------------------------------------------------- */

/* A call that takes long asks about every millisecond, between two blocks of
 * its work, whether to stop; calls of less than a millisecond do not ask. If a
 * check returns true, the call fails with INTERRUPTED. It leaves new tensors
 * unwritten and releases them; what it has written in place or to out= stays
 * written in part, and its version counts that as a write. Every operator asks,
 * also inside of one long line, such as a sort's. Products of matrices ask
 * between matrices and panels of up to two tenths of a second on one core.
 * Nothing asks while the system clears new pages or syncs a file, while blocks
 * are freed, or in a loop on a second stack (a thread with less than 448 KB
 * left). A check runs on the thread that made the call. It may read a flag that
 * a signal handler or another thread sets, or the time, and must not call this
 * library.
 *
 * Sets the check of this thread; NULL for none. */
ST_API void st_set_interrupt_check(bool (*fn)(void *ctx), void *ctx);
/* Adds a check of the process, for language bindings, unless it is there. It
 * is never removed, so its library must stay loaded. That of the Lua binding
 * calls the count hook of the Lua state that made the call (lua_sethook);
 * an error of the hook becomes the error of the call. BAD_STATE if there are
 * 8 already. */
ST_API st_status st_add_interrupt_check(bool (*fn)(void));
/* For kernels of extensions that take long: asks whether to stop, at most once
 * per millisecond. The kernel returns the status if it is INTERRUPTED. Not
 * from a function that st_parallel_for runs. */
ST_API st_status st_poll_interrupt(void);

/* -- Dtypes, formats, devices --------------------------------------------- */

/* "float32"; a static string. */
ST_API const char *st_dtype_name(st_dtype d);
/* False if there is no dtype of that name. */
ST_API bool st_dtype_parse(const char *name, st_dtype *out);
ST_API size_t st_dtype_size(st_dtype d); /* bytes of an element */
/* NULL if there is no dtype of this number. */
ST_API const st_dtype_facts *st_dtype_facts_of(st_dtype d);
/* The dtype of new tensors of floating point numbers; process-wide. */
ST_API st_dtype st_default_dtype(void);
/* BAD_DTYPE unless d is floating. */
ST_API st_status st_set_default_dtype(st_dtype d);
/* The smallest dtype that both a and b promote to. ST_DTYPE_NONE if there is
 * none: float8 dtypes promote with no other. */
ST_API st_dtype st_promote_types(st_dtype a, st_dtype b);
/* True if an operator may write a result of dtype `from` to an output of dtype
 * `to`: the category (bool, integral, floating, complex) must not get lower. */
ST_API bool st_can_cast(st_dtype from, st_dtype to);
/* The result dtype of an operation on these tensors, wrapped numbers
 * included. */
ST_API st_dtype st_result_type(st_tensor *const *tensors, int n);

/* Memory formats and devices by name; false if there is none of that name. */
ST_API const char *st_format_name(st_format f);
ST_API bool st_format_parse(const char *name, st_format *out);
ST_API const char *st_device_name(st_device d); /* "cpu" */
ST_API bool st_device_parse(const char *name, st_device *out);
/* Names the device PRIVATEUSE1, 2 or 3 (lower case letters, digits and _, at
 * most 31 characters) and sets its allocator, once per process. Link the
 * library that contains the allocator's functions with -z nodelete: they are
 * used until the process exits. Kernels of the device are registered for the
 * dispatch key "PrivateUse1" and so on. The minimal set of kernels is
 * aten::empty.memory_format, aten::empty_strided and aten::copy_ in both
 * directions; it suffices to print, index and convert tensors. BAD_STATE when
 * the device or the name is taken. */
ST_API st_status st_device_register(st_device device, const char *name,
                                    const st_allocator *allocator);

/* The devices that can be used: the CPU, Meta, and those of backends. False
 * past the last. */
ST_API bool st_device_nth(int k, st_device *out);
/* Gives PRIVATEUSE1, 2 or 3 a name (lower case letters, digits and _, at most
 * 31 characters) and devices, for the life of the process. The functions are
 * used until the process exits: link the library that contains them with -z
 * nodelete. The engine registers kernels for the dispatch key "PrivateUse1" and
 * so on: empty, empty_strided, copy_, fill_ and zero_; if the backend compiles
 * expressions, those of all elementwise operators, in place and with out= too;
 * and st_cpu_fallback for all others. So every operator works, and gradients
 * do. Kernels that the extension registers replace these: st_library_implement,
 * st_library_implement_structured. BAD_STATE when the device or the name is
 * taken, BAD_VALUE when a function is missing, NO_MEMORY; then nothing is
 * registered. */
ST_API st_status st_backend_register(st_device kind, const char *name,
                                     const st_backend *backend);
/* Waits until the work of a device is done. Fails with what failed in it. */
ST_API st_status st_synchronize(st_device device);
/* What the backend says of a device. */
ST_API st_status st_device_properties_of(st_device device,
                                         st_device_properties *out);
/* The kernel for any operator on devices: copies the arguments to the CPU,
 * where those that share memory do so, too, calls the operator there, and
 * copies what it wrote and returned to the device. A call that fails for memory
 * changes nothing. BAD_VALUE for a tensor that is elsewhere, but for numbers
 * (0-dim tensors of the CPU) and index tensors; NO_KERNEL for an operator that
 * returns views. */
ST_API st_status st_cpu_fallback(const st_call *call, const st_value *args,
                                 st_value *rets);

/* -- Tensors -------------------------------------------------------------- */

/* A tensor with uninitialised elements; strides NULL means contiguous.
 * BAD_SHAPE for a negative size, an overflow or more than ST_MAX_DIMS
 * dimensions; BAD_STATE for a device that is not registered; NO_MEMORY. */
ST_API st_status st_tensor_empty(st_device device, st_dtype dtype, int ndim,
                                 const int64_t *sizes,
                                 const int64_t *strides, st_tensor **out);
/* A CPU tensor over memory of the caller. free_fn (may be NULL) is called when
 * the last tensor on it is released. On failure the caller keeps data. */
ST_API st_status st_tensor_wrap(void *data, size_t nbytes, st_dtype dtype,
                                int ndim, const int64_t *sizes,
                                const int64_t *strides, int64_t offset,
                                void (*free_fn)(void *ctx, void *data,
                                                size_t nbytes),
                                void *ctx, st_tensor **out);
/* A 0-dim CPU tensor. With wrapped set it is a wrapped number: in type
 * promotion it counts as a plain number, as the 2 in `t + 2`. */
ST_API st_status st_tensor_scalar(st_scalar s, st_dtype dtype, bool wrapped,
                                  st_tensor **out);
/* Adds a reference; each reference is removed by a release. */
ST_API void st_tensor_retain(st_tensor *t);
ST_API void st_tensor_release(st_tensor **t);

/* The properties of a tensor. Pointers are valid until its next resize. Of one
 * without strides these are 0, it is not contiguous, and it has no data. */
ST_API int st_tensor_ndim(const st_tensor *t);
ST_API const int64_t *st_tensor_sizes(const st_tensor *t);
ST_API const int64_t *st_tensor_strides(const st_tensor *t);
ST_API int64_t st_tensor_numel(const st_tensor *t);
ST_API int64_t st_tensor_offset(const st_tensor *t);
ST_API st_dtype st_tensor_dtype(const st_tensor *t);
ST_API st_device st_tensor_device(const st_tensor *t);
ST_API st_keyset st_tensor_keys(const st_tensor *t);
/* True if the stored bytes are not the elements: the tensor is a lazy
 * conjugate, a lazy negative or a ZeroTensor. `clone` gives a plain tensor. A
 * kernel gets lazy tensors only if it is registered for their key. */
ST_API bool st_tensor_is_lazy(const st_tensor *t);
ST_API bool st_tensor_is_wrapped(const st_tensor *t); /* st_tensor_scalar */
/* True if t is contiguous in memory format f. */
ST_API bool st_tensor_is_contiguous(const st_tensor *t, st_format f);
/* True if t is non-overlapping and dense. */
ST_API bool st_tensor_is_dense(const st_tensor *t);
/* Whether two elements of t share memory. Exact for up to 2^20 elements; a
 * larger tensor whose strides are too hard to decide counts as overlapping.
 * NO_MEMORY. */
ST_API st_status st_tensor_overlaps_itself(const st_tensor *t, bool *out);
/* Whether a and b have a byte in common. Exact if the search takes at most 2^16
 * steps, which suffices for all regular strides; otherwise true. */
ST_API bool st_may_share_memory(const st_tensor *a, const st_tensor *b);
/* The memory format that results of operators on t get. */
ST_API st_format st_tensor_suggest_format(const st_tensor *t);
/* The address of the first element, of a byte that begins with it; NULL on the
 * meta device, for ZeroTensors and for other layouts than the strided one. On a
 * registered device its meaning is up to the device's allocator. */
ST_API void *st_tensor_data(const st_tensor *t);
/* Identifies the storage: tensors with equal addresses share bytes. */
ST_API const void *st_tensor_storage(const st_tensor *t);
/* The same as a place in the memory of its device. */
ST_API st_place st_tensor_place(const st_tensor *t);
/* The bytes of the elements. Rows of int4, uint4, int2 and uint2 are padded to
 * whole bytes. */
ST_API size_t st_tensor_nbytes(const st_tensor *t);
ST_API size_t st_tensor_storage_nbytes(const st_tensor *t);
/* The number of references to t, and the number of tensors on its storage. */
ST_API int st_tensor_refcount(const st_tensor *t);
ST_API int st_tensor_storage_refcount(const st_tensor *t);

/* Reads or writes one element. BAD_INDEX if out of range, BAD_STATE on the meta
 * device, BAD_LAYOUT for a tensor without strides, BAD_VALUE for a number that
 * does not fit in fewer than eight bits. On a registered device and for lazy
 * tensors this calls operators, which is slow, and fails with their errors. */
ST_API st_status st_tensor_get(const st_tensor *t, int n,
                               const int64_t *index, st_scalar *out);
ST_API st_status st_tensor_set(st_tensor *t, int n, const int64_t *index,
                               st_scalar value);

/* The text that PyTorch prints for t. NULL options are PyTorch's defaults: 4
 * digits, 1000 elements, 3 edge items, 80 columns. The caller owns *out
 * (st_text_release). NO_MEMORY. */
ST_API st_status st_tensor_text(const st_tensor *t,
                                const st_print_options *options, char **out);
ST_API void st_text_release(char **text);

/* -- Values --------------------------------------------------------------- */

/* Releases a result: tensors, lists and strings. */
ST_API void st_value_clear(st_value *v);
/* Owned values, for the results of kernels: tensors are retained, data is
 * copied. NO_MEMORY. */
ST_API st_status st_value_of_tensor(st_tensor *t, st_value *out);
ST_API st_status st_value_of_tensors(st_tensor *const *t, int n,
                                     st_value *out);
ST_API st_status st_value_of_ints(const int64_t *p, int n, st_value *out);
ST_API st_status st_value_of_floats(const double *p, int n, st_value *out);
ST_API st_status st_value_of_bools(const bool *p, int n, st_value *out);
ST_API st_status st_value_of_string(const char *s, size_t n, st_value *out);
ST_API st_status st_value_of_scalar(st_scalar s, st_value *out);

/* -- Random numbers ------------------------------------------------------- */

/* A seed that the system chooses, below 2^53. */
ST_API uint64_t st_system_seed(void);
/* A Mersenne Twister; a seed gives the same numbers as in PyTorch.
 * NO_MEMORY. */
ST_API st_status st_generator_new(uint64_t seed, st_generator **out);
/* ST_PHILOX: Philox 4x32-10, whose key is the seed. Threads share its draws,
 * and their number does not change them. */
ST_API st_status st_generator_new_of(st_algorithm algorithm, uint64_t seed,
                                     st_generator **out);
ST_API st_algorithm st_generator_algorithm(const st_generator *g);
ST_API void st_generator_retain(st_generator *g);
ST_API void st_generator_release(st_generator **g);
/* Sets the state by a seed. */
ST_API void st_generator_seed(st_generator *g, uint64_t seed);
ST_API uint64_t st_generator_initial_seed(const st_generator *g);
/* Copies the algorithm and state of from to g. */
ST_API void st_generator_assign(st_generator *g, st_generator *from);
/* A new generator, independent of g and of all others split off: the n-th
 * split of equal generators gives equal ones. BAD_STATE unless g is Philox. */
ST_API st_status st_generator_split(st_generator *g, st_generator **out);
/* Skips n words of 32 bits. BAD_STATE unless g is Philox, BAD_VALUE beyond 2^64
 * words. */
ST_API st_status st_generator_jump(st_generator *g, uint64_t n);
/* The state in bytes: of a Mersenne Twister ST_MERSENNE_STATE, which are those
 * of torch.Generator.get_state; of Philox ST_PHILOX_STATE. BAD_VALUE for what
 * is no state of g's algorithm, or another size. */
ST_API size_t st_generator_state_size(st_generator *g);
ST_API st_status st_generator_get_state(st_generator *g, void *bytes,
                                        size_t n);
ST_API st_status st_generator_set_state(st_generator *g, const void *bytes,
                                        size_t n);
/* The generator that operators use when none is passed, one for all Lua states
 * of the process. The system seeds it at its first use, and in a forked child
 * anew, unless st_manual_seed, st_generator_seed, _assign or _set_state has.
 * Borrowed. */
ST_API st_generator *st_default_generator(void);
/* Seeds the default generator, and the generators of devices. */
ST_API void st_manual_seed(uint64_t seed);
/* Makes g, or NULL for that of the process, the default generator of this
 * thread. Borrowed: the thread enters another one before g is released. Returns
 * the one before, or NULL. */
ST_API st_generator *st_generator_enter(st_generator *g);

#include "abi/strided_layout.h"
#include "abi/strided_memory.h"
#include "abi/strided_dispatch.h"
#include "abi/strided_plan.h"
#include "abi/strided_grad.h"
#include "abi/strided_fuse.h"
#include "abi/signature.h"

#ifdef __cplusplus
}
#endif

#endif
