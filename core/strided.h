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

/* -- Memory --------------------------------------------------------------- */

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

/* -- Gradients ------------------------------------------------------------ */

/* A tensor that requires a gradient has the Autograd key of its backend.
 * BAD_DTYPE unless floating or complex, BAD_STATE for an inference tensor. */
ST_API st_status st_tensor_set_requires_grad(st_tensor *t,
                                             bool requires_grad);
ST_API bool st_tensor_requires_grad(const st_tensor *t);
/* Made in the inference mode: no Autograd, no ADInplaceOrView. */
ST_API bool st_tensor_is_inference(const st_tensor *t);

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
 * all arguments; results and errors as for st_call_op, and BAD_STATE when the
 * highest key falls through. */
ST_API st_status st_redispatch(const st_op *op, st_keyset keys,
                               const st_value *args, st_value *rets);

/* Straight to the kernel for a key, or to that key's fallback, whatever the
 * arguments are. NO_KERNEL when there is neither, BAD_VALUE for what is no key
 * or an alias key, BAD_STATE for a key that falls through. */
ST_API st_status st_call_for_key(const st_op *op, const char *key,
                                 const st_value *args, st_value *rets);
/* The same three where other threads may redefine the operator: declared is
 * what st_op_schema gave when the caller made room for the results, and the
 * call fails with BAD_STATE when the schema is another one by now. */
ST_API st_status st_call_declared(const st_op *op, const char *declared,
                                  int n, const st_value *args,
                                  st_value *rets);
ST_API st_status st_redispatch_declared(const st_op *op,
                                        const char *declared,
                                        st_keyset keys, const st_value *args,
                                        st_value *rets);
ST_API st_status st_call_for_key_declared(const st_op *op,
                                          const char *declared,
                                          const char *key,
                                          const st_value *args,
                                          st_value *rets);

/* -- Schemas -------------------------------------------------------------- */

/* A schema string as data, without an operator. ns is put in front of a name
 * that has no namespace; NULL: it must have one. BAD_SCHEMA with the position
 * of what is wrong; NO_MEMORY. */
ST_API st_status st_schema_new(const char *text, const char *ns,
                               st_schema **out);
ST_API void st_schema_release(st_schema **s);
/* What it says; texts and arguments live as long as the schema. */
ST_API const char *st_schema_text(const st_schema *s); /* canonical */
ST_API const char *st_schema_name(const st_schema *s); /* "aten::add" */
ST_API const char *st_schema_overload(const st_schema *s); /* "" without */
ST_API int st_schema_nargs(const st_schema *s);
ST_API int st_schema_nrets(const st_schema *s);
/* NULL outside. */
ST_API const st_arg *st_schema_arg(const st_schema *s, int i);
ST_API const st_arg *st_schema_ret(const st_schema *s, int i);
/* Is some argument written? */
ST_API bool st_schema_is_mutable(const st_schema *s);
/* Does "..." end the arguments, the results? */
ST_API bool st_schema_is_vararg(const st_schema *s);
ST_API bool st_schema_is_varret(const st_schema *s);
/* The C types that an operator of this schema has (see Typed calls), into
 * buf; returns buf. */
ST_API char *st_schema_signature(const st_schema *s, char *buf, size_t size);

/* -- Typed calls ---------------------------------------------------------- */

/* A st_typed is an operator with the C types that a caller passes. ST_SIGNATURE
 * makes the functions that use it:
 *
 *   ST_SIGNATURE(axpy, (TENSOR, TENSOR, SCALAR), (TENSOR))
 *   static axpy_fn my_axpy;        a kernel: st_status (const st_call *,
 *                                    st_tensor *, st_tensor *, st_scalar,
 *                                    st_tensor **)
 *   st_kernel k = ST_KERNEL(axpy, my_axpy, .debug = "axpy.c");
 *   axpy_find("geo::axpy", "", &h);
 *   axpy_call(&h, x, y, alpha, &out);
 *   axpy_redispatch(&h, keys, x, y, alpha, &out);
 *
 * A typed call of a kernel of the same signature makes no st_value. */

/* NOT_FOUND, or BAD_TYPE when the operator's schema has other C types. */
ST_API st_status st_typed_find(const char *name, const char *overload,
                               const char *signature, st_typed *out);
/* The C types of an operator's schema: "Tensor, Scalar -> Tensor". */
ST_API const char *st_op_signature(const st_op *op);
/* For ST_SIGNATURE. keys: those of the tensors. After a success leave must
 * follow, on the same thread; it returns status, its message completed. */
ST_API st_status st_route_enter(const st_typed *h, st_keyset keys,
                                st_route *r);
ST_API st_status st_route_reenter(const st_typed *h, st_keyset keys,
                                  st_route *r); /* redispatch */
ST_API st_status st_route_run(st_route *r, const st_value *args,
                              st_value *rets);
ST_API st_status st_route_leave(st_route *r, st_status status);

/* -- Registration --------------------------------------------------------- */

/* Each gives a handle whose release takes the registration back; out NULL
 * keeps it for good. debug says where it comes from; texts are copied. A
 * failed registration changes nothing and leaves ctx with the caller:
 * BAD_SCHEMA with the position for a malformed schema or name, BAD_STATE for
 * an operator that is defined already or a second fallback of a key,
 * BAD_TYPE for an unboxed kernel of other C types than the schema,
 * BAD_VALUE for an unknown key, NO_MEMORY. */
ST_API st_status st_define(const char *ns, const char *schema,
                           const char *doc, const char *debug,
                           st_registration **out);
/* name "geo::hypot2.out"; key "CPU", "CompositeImplicitAutograd", ..., NULL:
 * CompositeImplicitAutograd. The newest kernel of a key is the one that runs;
 * releasing it uncovers the one below. */
ST_API st_status st_implement(const char *name, const char *key,
                              const st_kernel *kernel,
                              st_registration **out);
/* Runs for every operator that has no kernel for the key. An alias key stands
 * for its runtime keys. */
ST_API st_status st_implement_fallback(const char *key,
                                       const st_kernel *kernel,
                                       st_registration **out);
ST_API void st_registration_release(st_registration **r);

/* Calls fn for every operator that is defined, then whenever one is defined,
 * defined anew or taken back, on the thread that did it, after it is done. fn
 * may register, too. On another thread it may still be running when the
 * release of the handle returns. */
ST_API st_status st_listen(void (*fn)(void *ctx, const st_op *op,
                                      bool is_defined),
                           void *ctx, st_registration **out);

/* -- Libraries ------------------------------------------------------------ */

/* key: the one key of all its kernels, or NULL. BAD_STATE: the namespace has
 * an owner. BAD_VALUE: no name of a namespace, no key, "_" for another kind
 * than IMPL. */
ST_API st_status st_library_open(const char *ns, st_library_kind kind,
                                 const char *key, int flags,
                                 const char *debug, st_library **out);
/* Errors as for st_define and its kin, and BAD_VALUE for what the kind does
 * not allow, another namespace or another key than the library's. With
 * ST_REPLACE what the same library registered for the same name (and key) is
 * replaced in one step. */
ST_API st_status st_library_define(st_library *lib, const char *schema,
                                   const char *doc, int tags,
                                   const char *debug);
/* With a kernel for the library's key, or CompositeImplicitAutograd: both or
 * none. */
ST_API st_status st_library_define_with(st_library *lib, const char *schema,
                                        const char *doc, int tags,
                                        const st_kernel *kernel);
ST_API st_status st_library_implement(st_library *lib, const char *name,
                                      const char *key,
                                      const st_kernel *kernel);
ST_API st_status st_library_fallback(st_library *lib, const char *key,
                                     const st_kernel *kernel);
/* With ST_DEFER: all of it, or BAD_STATE, BAD_TYPE and nothing. */
ST_API st_status st_library_commit(st_library *lib);
/* False once closed by another DEF library of the namespace. */
ST_API bool st_library_is_open(const st_library *lib);
ST_API const char *st_library_namespace(const st_library *lib);
/* Takes everything back, newest first. */
ST_API void st_library_close(st_library **lib);

/* -- Structured operators ------------------------------------------------- */

/* One meta function, which checks the arguments and says what the outputs
 * are, and one implementation, which fills them, behind three variants
 * (SEMANTICS 1.10): functional, in-place and out=. meta alone runs for Meta,
 * so shapes, strides and dtypes can be inferred without data.
 *
 * Defines the variants in lib and registers their kernels, all of it or
 * nothing; what s points to is copied, ctx stays the caller's on failure.
 * BAD_SCHEMA when a variant cannot be derived: results that are no new
 * tensors, or more than ST_MAX_OUTS; an in-place variant without a Tensor as
 * first argument; an out= variant whose results have no names. BAD_VALUE for
 * another backend than CPU and PrivateUse1 to 3; and as for
 * st_library_define. */
ST_API st_status st_library_structured(st_library *lib,
                                       const st_structured *s);

/* Inside meta and impl. */

/* The arguments, in the order of the functional schema. */
ST_API const st_value *st_run_args(const st_run *r);
/* Argument i if it is a tensor, else NULL. */
ST_API st_tensor *st_run_tensor(const st_run *r, int i);
ST_API void *st_run_ctx(const st_run *r);
/* Where the outputs are: the backend's device, or META. */
ST_API st_device st_run_device(const st_run *r);
ST_API int st_run_noutputs(const st_run *r);
/* ST_RUN_NOTE numbers for meta to fill and impl to read. */
ST_API int64_t *st_run_note(st_run *r);

/* For meta, once per output. A new tensor is made for the functional variant;
 * what out= gives is resized if its shape differs, and only then gets these
 * strides; self of the in-place variant must fit. strides NULL: contiguous.
 * BAD_DTYPE, BAD_VALUE (device), BAD_SHAPE, OVERLAP (an output within itself
 * or another output), NO_MEMORY. Where it shares memory with an input, other
 * than by being the same elements in the same order, impl gets a proxy, which
 * is copied to it afterwards. */
ST_API st_status st_set_output_raw_strided(st_run *r, int i, int ndim,
                                           const int64_t *sizes,
                                           const int64_t *strides,
                                           st_dtype dtype);
/* impl insists on the strides. Where the caller's tensor has others impl gets
 * a proxy that has them, which is copied back afterwards. */
ST_API st_status st_set_output_strided(st_run *r, int i, int ndim,
                                       const int64_t *sizes,
                                       const int64_t *strides,
                                       st_dtype dtype);
ST_API st_status st_set_output_contiguous(st_run *r, int i, int ndim,
                                          const int64_t *sizes,
                                          st_dtype dtype);
/* What impl writes: the proxy if there is one. NULL before it is set. It
 * shares no memory with an input, unless the two are one and the same view:
 * impl may read an element, then write it. */
ST_API st_tensor *st_maybe_get_output(const st_run *r, int i);

/* -- Inspection ----------------------------------------------------------- */

/* Texts are the caller's: st_text_release. NO_MEMORY. */

/* What is registered for "ns::name.overload": schema, tags, kernels with
 * where they come from, hidden ones as (inactive). Operators that only have
 * kernels show schema: (none). NOT_FOUND for a name that never was. */
ST_API st_status st_dump(const char *name, char **out);
/* The computed table: a line "CPU: kernel [provenance]" per key. */
ST_API st_status st_dump_table(const char *name, char **out);
/* Names of operators that have kernels but no schema, a line each. */
ST_API st_status st_dump_dangling(char **out);
/* Computes every table again and compares. BAD_STATE names the first that
 * differs; it would be an error of the engine. NO_MEMORY. */
ST_API st_status st_check_registry(void);
/* How a call with these arguments would run, without running it: which keys
 * come from which argument, from the thread, what falls through, the key
 * taken, its kernel and why, what kind of kernel that is. */
ST_API st_status st_explain(const st_op *op, int n, const st_value *args,
                            char **out);
/* The instruction set that a built-in operator's own loops were compiled for,
 * "avx2"; NULL when it has none. */
ST_API const char *st_op_isa(const st_op *op);
/* ST_OPTAG_ bits. */
ST_API int st_op_tags(const st_op *op);
ST_API const char *st_tag_name(int bit); /* NULL beyond the last */

/* -- Thread state --------------------------------------------------------- */

ST_API st_tls st_tls_get(void);
ST_API void st_tls_set(st_tls state);
/* Guards: the present state, changed. Set it, and set the old one again when
 * the scope ends. */
ST_API st_tls st_tls_include(st_keyset keys);
ST_API st_tls st_tls_exclude(st_keyset keys);
ST_API st_tls st_tls_below_autograd(void);
ST_API st_tls st_tls_below_adinplaceorview(void);
ST_API st_tls st_tls_grad(bool enabled);
ST_API st_tls st_tls_inference(bool enabled);

/* Push and pop in pairs, on one thread. */
ST_API void st_mode_push(st_mode *m);
ST_API void st_mode_pop(void);
ST_API void st_observe(st_observer *o);
ST_API void st_unobserve(st_observer *o);

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
ST_API st_keyset st_keyset_full(void);
/* The name of the next runtime key of the set, from low to high priority;
 * NULL at the end. Start with *state = 0. */
ST_API const char *st_keyset_next(st_keyset ks, int *state);
/* The backend bits of a set go only by name: "CPU". BAD_VALUE. */
ST_API st_status st_keyset_remove_backend(st_keyset *ks,
                                          const char *backend);
/* Is it the name of an alias key, which no set can hold? */
ST_API bool st_key_is_alias(const char *name);

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

/* The flags and the static dtype that operators of a kind use: "default",
 * "unary", "unary_float", "force_boolean", "binary", "binary_float",
 * "comparison", "ternary", "nullary", "reduce", "copy". BAD_VALUE. */
ST_API st_status st_plan_preset(const char *name, uint32_t *flags,
                                st_dtype *static_dtype);
/* The name of preset k, NULL behind the last. */
ST_API const char *st_plan_preset_name(int k);

/* NULL outputs are allocated, given ones may be resized. Pointers into a plan
 * live as long as it does; one plan is for one thread at a time. Errors:
 * those of an elementwise operator on these operands (BAD_SHAPE, BAD_DTYPE,
 * OVERLAP, NO_MEMORY), BAD_VALUE for a config that makes no sense. */
ST_API st_status st_plan_new(const st_plan_config *config, st_plan **out);
ST_API void st_plan_release(st_plan **p);
/* Pointers in it are good until the plan changes. */
ST_API st_plan_facts st_plan_facts_of(const st_plan *p);
ST_API const int64_t *st_plan_strides(const st_plan *p,
                                      int operand); /* in bytes */
/* Output i, owned by the caller. */
ST_API st_tensor *st_plan_output(const st_plan *p, int i);
/* Step k of the 2-d calls for elements [begin, end): sizes and the byte
 * offset of every operand. False when there is no such step. */
ST_API bool st_plan_step(const st_plan *p, int64_t begin, int64_t end,
                         int64_t k, int64_t size[2], int64_t *offsets);
/* What loops meet as operand i; BAD_INDEX. */
ST_API st_status st_plan_operand_info(const st_plan *p, int i,
                                      st_plan_operand *out);
/* Where the elements at a step's offsets lie now. BAD_INDEX when the step
 * leaves a storage, as after that shrank; BAD_STATE without memory here. */
ST_API st_status st_plan_data(const st_plan *p, const int64_t size[2],
                              const int64_t *offsets, void **data);
/* The element of operand i, offset bytes from its first one; inputs cannot be
 * set. BAD_INDEX outside of its storage, BAD_STATE without memory here,
 * BAD_VALUE when the dtype cannot hold the value. */
ST_API st_status st_plan_get(const st_plan *p, int i, int64_t offset,
                             st_scalar *out);
ST_API st_status st_plan_set(st_plan *p, int i, int64_t offset,
                             st_scalar value);
/* Copies outputs that loops write as another dtype to where they belong. */
ST_API st_status st_plan_cast_outputs(st_plan *p);
/* Leaves `size` positions of a dimension, from start on. A dimension of one
 * position goes away, but in a reduction. BAD_DIM, BAD_INDEX. */
ST_API st_status st_plan_narrow(st_plan *p, int dim, int64_t start,
                                int64_t size);
/* *first becomes the first half of a dimension, p the second one. BAD_DIM,
 * BAD_INDEX without two positions. */
ST_API st_status st_plan_split(st_plan *p, int dim, st_plan **first);
/* Calls fn for parts of p whose offsets fit 32 bits, in order; p becomes the
 * last one. Fails with what fn returns. */
ST_API st_status st_plan_with_32bit(st_plan *p, st_plan_fn fn, void *ctx);
/* Those behind it move up. BAD_INDEX; BAD_VALUE for the only one. */
ST_API st_status st_plan_remove_operand(st_plan *p, int i);
/* Operand i is found where t begins, whatever t's shape. BAD_INDEX,
 * BAD_DTYPE when its dtype is another. */
ST_API st_status st_plan_replace_operand(st_plan *p, int i, st_tensor *t);

/* What a call with these arguments would walk, without any of it taking place:
 * the first `room` of *count plans. Fails as the call would; BAD_STATE when it
 * cannot be told. *count is 0 also when the kernels are not the engine's. */
ST_API st_status st_plan_call(const st_op *op, int n, const st_value *args,
                              st_plan **plans, int room, int *count);

/* Share k of those that a team of `threads` has of n units of work: each takes
 * his own piece by piece, then helps others. False behind the last. */
ST_API bool st_chunk(int64_t n, int64_t grain, int threads, int k,
                     int64_t *begin, int64_t *end);

/* Calls fn for every dispatch of this thread until fn is NULL. The
 * environment variable STRIDED_SHOW_DISPATCH_TRACE=1 prints them. */
ST_API void st_set_trace(void (*fn)(void *ctx, const st_trace *event),
                         void *ctx);

#include "base/signature.h"

#ifdef __cplusplus
}
#endif

#endif
