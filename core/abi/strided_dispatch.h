/* Part of strided.h: operators, schemas, libraries and dispatch keys.
 */
#ifndef STRIDED_DISPATCH_H
#define STRIDED_DISPATCH_H

/* -- Operators ------------------------------------------------------------ */

/* Finds an operator, such as "aten::add", "Tensor"; NULL when there is none.
 * The handle is valid for the life of the process. */
ST_API const st_op *st_op_find(const char *name, const char *overload);
/* Writes up to n overloads of a name in order of definition; returns how many
 * there are. */
ST_API int st_op_overloads(const char *name, const st_op **ops, int n);
ST_API void st_op_each(bool (*fn)(void *ctx, const st_op *op), void *ctx);

ST_API const char *st_op_name(const st_op *op);
ST_API const char *st_op_overload_name(const st_op *op);
ST_API const char *st_op_schema(const st_op *op); /* canonical text */
ST_API const char *st_op_doc(const st_op *op);
/* A number that increases whenever a definition, kernel or fallback of any
 * operator is replaced or removed, or is added to operators that have been
 * called. Schemas read before are valid while it stays the same. */
ST_API uint64_t st_registry_epoch(void);
ST_API int st_op_nargs(const st_op *op);
ST_API int st_op_nrets(const st_op *op);
/* Argument or result i; NULL if out of range. The arguments form an array, and
 * so do the results. */
ST_API const st_arg *st_op_arg(const st_op *op, int i);
ST_API const st_arg *st_op_ret(const st_op *op, int i);
/* The kernel in the dispatch table for key and where it comes from; the strings
 * live as long as the process. False if the name is not a key. */
ST_API bool st_op_slot(const st_op *op, const char *key, const char **kernel,
                       const char **provenance);

/* Calls op with its first n arguments; the others take their defaults. rets has
 * room for st_op_nrets results, which are written on success only and owned by
 * the caller (st_value_clear). BAD_TYPE for a value whose type is not the
 * schema's, BAD_VALUE for a missing or an extra argument, NO_KERNEL, NOT_FOUND
 * when op is no longer defined, or an error of the operator. */
ST_API st_status st_call_op(const st_op *op, int n, const st_value *args,
                            st_value *rets);
/* Dispatches with exactly these keys: thread state and fallthrough kernels are
 * not applied. args has all arguments. Results and errors as for st_call_op;
 * also BAD_STATE when the kernel of the highest key is a fallthrough. */
ST_API st_status st_redispatch(const st_op *op, st_keyset keys,
                               const st_value *args, st_value *rets);

/* Calls the kernel for a key, or the key's fallback, whatever the keys of the
 * arguments. NO_KERNEL when there is neither, BAD_VALUE for an unknown or an
 * alias key, BAD_STATE for a fallthrough kernel. */
ST_API st_status st_call_for_key(const st_op *op, const char *key,
                                 const st_value *args, st_value *rets);
/* The same three for use while other threads may redefine the operator.
 * declared is the schema text (st_op_schema) that the caller sized rets by;
 * BAD_STATE when the schema has changed since. */
ST_API st_status st_call_declared(const st_op *op, const char *declared,
                                  int n, const st_value *args,
                                  st_value *rets);
/* Like st_call_declared, for all arguments of the schema `declared`, which the
 * caller has converted to its types; they are not checked again. */
ST_API st_status st_call_converted(const st_op *op, const char *declared,
                                   const st_value *args, st_value *rets);
/* Like st_call_converted, for calls that repeat. st_shortcut_find prepares,
 * once op has been called. st_shortcut_call needs no dispatch where the
 * arguments are tensors in the CPU's memory without gradients, and the thread
 * records and observes nothing. A number may stand for a Tensor. True with
 * *status ST_OK, NO_MEMORY or INTERRUPTED. False, with nothing done, for all
 * other calls, for those that fail for another reason, and once
 * st_registry_epoch has increased: then call the operator. */
ST_API bool st_has_shortcuts(void); /* false if the environment has
                                       STRIDED_SHORTCUTS=0 */
ST_API void st_shortcut_find(const st_op *op, st_shortcut *out);
ST_API bool st_shortcut_call(const st_shortcut *s, const st_value *args,
                             st_value *rets, st_status *status);
/* True if s is valid, and plain arguments and thread need no dispatch. */
ST_API bool st_shortcut_serves(const st_shortcut *s, const st_value *args);
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

/* Parses a schema string, without an operator. ns is the namespace of a name
 * that has none; if ns is NULL, the name must have one. BAD_SCHEMA with the
 * offset of the error; NO_MEMORY. */
ST_API st_status st_schema_new(const char *text, const char *ns,
                               st_schema **out);
ST_API void st_schema_release(st_schema **s);
/* The parts of a schema. Texts and arguments live as long as the schema. */
ST_API const char *st_schema_text(const st_schema *s); /* canonical */
ST_API const char *st_schema_name(const st_schema *s); /* "aten::add" */
ST_API const char *st_schema_overload(const st_schema *s); /* "" if none */
ST_API int st_schema_nargs(const st_schema *s);
ST_API int st_schema_nrets(const st_schema *s);
/* NULL if out of range. */
ST_API const st_arg *st_schema_arg(const st_schema *s, int i);
ST_API const st_arg *st_schema_ret(const st_schema *s, int i);
/* True if an argument is written in place. */
ST_API bool st_schema_is_mutable(const st_schema *s);
/* True if the arguments, or the results, end in "...". */
ST_API bool st_schema_is_vararg(const st_schema *s);
ST_API bool st_schema_is_varret(const st_schema *s);
/* Writes the C types of an operator with this schema (see Typed calls) into buf
 * and returns buf. */
ST_API char *st_schema_signature(const st_schema *s, char *buf, size_t size);

/* -- Typed calls ---------------------------------------------------------- */

/* A st_typed is an operator with the C types that a caller passes. ST_SIGNATURE
 * defines the functions that use it:
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
 * A typed call of a kernel with the same signature makes no st_value. */

/* NOT_FOUND, or BAD_TYPE when the operator's schema has other C types. */
ST_API st_status st_typed_find(const char *name, const char *overload,
                               const char *signature, st_typed *out);
/* The C types of an operator's schema: "Tensor, Scalar -> Tensor". */
ST_API const char *st_op_signature(const st_op *op);
/* For ST_SIGNATURE. keys: the union of the tensors' keys. Each success must be
 * followed by st_route_leave on the same thread, which returns status and
 * completes its message. */
ST_API st_status st_route_enter(const st_typed *h, st_keyset keys,
                                st_route *r);
ST_API st_status st_route_reenter(const st_typed *h, st_keyset keys,
                                  st_route *r); /* redispatch */
ST_API st_status st_route_run(st_route *r, const st_value *args,
                              st_value *rets);
ST_API st_status st_route_leave(st_route *r, st_status status);

/* -- Registration --------------------------------------------------------- */

/* Each function gives a handle; releasing it removes the registration. With out
 * NULL the registration is permanent. debug says where it comes from; texts are
 * copied. A failed registration changes nothing, and the caller keeps ctx:
 * BAD_SCHEMA with the offset for a malformed schema or name, BAD_STATE for an
 * operator that is already defined or a second fallback of a key, BAD_TYPE for
 * an unboxed kernel whose C types are not the schema's, BAD_VALUE for an
 * unknown key, NO_MEMORY. */
ST_API st_status st_define(const char *ns, const char *schema,
                           const char *doc, const char *debug,
                           st_registration **out);
/* Registers a kernel. name is "geo::hypot2.out"; key is "CPU",
 * "CompositeImplicitAutograd" (also the meaning of NULL) and so on. The newest
 * kernel of a key is the active one; releasing it activates the one before. */
ST_API st_status st_implement(const char *name, const char *key,
                              const st_kernel *kernel,
                              st_registration **out);
/* The kernel for all operators that have none for the key. An alias key stands
 * for its runtime keys. */
ST_API st_status st_implement_fallback(const char *key,
                                       const st_kernel *kernel,
                                       st_registration **out);
ST_API void st_registration_release(st_registration **r);

/* Calls fn for each defined operator, then each time an operator is defined,
 * redefined or removed, on the thread that did it and after the change. fn may
 * register. A call of fn on another thread may still be running when the
 * release of the handle returns. */
ST_API st_status st_listen(void (*fn)(void *ctx, const st_op *op,
                                      bool is_defined),
                           void *ctx, st_registration **out);

/* -- Libraries ------------------------------------------------------------ */

/* key: the one key of all kernels of the library, or NULL. BAD_STATE if another
 * DEF library owns the namespace. BAD_VALUE for an invalid namespace, an
 * unknown key, or "_" for a kind other than IMPL. */
ST_API st_status st_library_open(const char *ns, st_library_kind kind,
                                 const char *key, int flags,
                                 const char *debug, st_library **out);
/* Errors as for st_define and st_implement; also BAD_VALUE for what the kind
 * does not allow and for a namespace or key that is not the library's. With
 * ST_REPLACE the library's earlier registration for the same name (and key) is
 * replaced atomically. */
ST_API st_status st_library_define(st_library *lib, const char *schema,
                                   const char *doc, int tags,
                                   const char *debug);
/* Defines an operator together with a kernel for the library's key, or for
 * CompositeImplicitAutograd if it has none: both or neither. */
ST_API st_status st_library_define_with(st_library *lib, const char *schema,
                                        const char *doc, int tags,
                                        const st_kernel *kernel);
ST_API st_status st_library_implement(st_library *lib, const char *name,
                                      const char *key,
                                      const st_kernel *kernel);
ST_API st_status st_library_fallback(st_library *lib, const char *key,
                                     const st_kernel *kernel);
/* With ST_DEFER: applies all pending registrations or, on BAD_STATE or
 * BAD_TYPE, none. */
ST_API st_status st_library_commit(st_library *lib);
/* False after another DEF library of the namespace has closed it. */
ST_API bool st_library_is_open(const st_library *lib);
ST_API const char *st_library_namespace(const st_library *lib);
/* Removes all registrations, newest first. */
ST_API void st_library_close(st_library **lib);

/* -- Structured operators ------------------------------------------------- */

/* A structured operator is one meta function, which checks the arguments and
 * declares the outputs, and one implementation, which computes them, for three
 * variants (Z1 to Z6): functional, in-place and out=. For the key Meta only
 * meta runs, so shapes, strides and dtypes are inferred without data.
 *
 * Defines the variants in lib and registers their kernels, all or none. What s
 * points to is copied; on failure the caller keeps ctx. BAD_SCHEMA when a
 * variant cannot be derived: results that are not new tensors, or more than
 * ST_MAX_OUTS of them; an in-place variant whose first argument is not a
 * Tensor; an out= variant whose results have no names. BAD_VALUE for a backend
 * other than CPU and PrivateUse1 to 3. Other errors as for
 * st_library_define. */
ST_API st_status st_library_structured(st_library *lib,
                                       const st_structured *s);

/* Registers the kernels of lib, whose key is PrivateUse1 to 3, for a structured
 * operator of aten, "add.Tensor": functional, in place and out=, if there are
 * such. Only impl, ctx, free_ctx and debug of s are used: the meta function
 * is the operator's, with its checks, promotion, broadcasting, proxies and
 * rules of overlap; impl gets outputs on the device, and computes them. Its
 * inputs are the caller's, neither converted nor expanded, on the device, or
 * 0-dim on the CPU. If impl returns NO_KERNEL before it writes, the CPU
 * computes them (st_cpu_fallback). NOT_FOUND; BAD_VALUE for an operator that
 * is not structured. */
ST_API st_status st_library_implement_structured(st_library *lib,
                                                 const char *name,
                                                 const st_structured *s);

/* For use in meta and impl. */

/* The arguments, in the order of the functional schema. */
ST_API const st_value *st_run_args(const st_run *r);
/* Argument i if it is a tensor, otherwise NULL. */
ST_API st_tensor *st_run_tensor(const st_run *r, int i);
ST_API void *st_run_ctx(const st_run *r);
/* The device of the outputs: the backend's, or META. */
ST_API st_device st_run_device(const st_run *r);
ST_API int st_run_noutputs(const st_run *r);
/* For an impl of an elementwise operator: the iterator that its meta function
 * has built over outputs and inputs, to be released by the caller. BAD_STATE if
 * it has built none; NO_MEMORY. */
ST_API st_status st_run_plan(const st_run *r, st_plan **out);
/* An array of ST_RUN_NOTE integers, which meta fills and impl reads. */
ST_API int64_t *st_run_note(st_run *r);

/* For meta, once per output. The functional variant makes a new tensor. A
 * tensor given as out= is resized if its shape differs, and takes these strides
 * only then. self of the in-place variant must match. strides NULL: contiguous.
 * BAD_DTYPE, BAD_VALUE (device), BAD_SHAPE, OVERLAP (an output overlaps itself
 * or another output), NO_MEMORY. If the output shares memory with an input
 * without being the same view, impl gets a proxy, which is copied to the output
 * afterwards. */
ST_API st_status st_set_output_raw_strided(st_run *r, int i, int ndim,
                                           const int64_t *sizes,
                                           const int64_t *strides,
                                           st_dtype dtype);
/* The same for an impl that needs exactly these strides. If the caller's tensor
 * has others, impl gets a proxy with these strides, which is copied back
 * afterwards. */
ST_API st_status st_set_output_strided(st_run *r, int i, int ndim,
                                       const int64_t *sizes,
                                       const int64_t *strides,
                                       st_dtype dtype);
ST_API st_status st_set_output_contiguous(st_run *r, int i, int ndim,
                                          const int64_t *sizes,
                                          st_dtype dtype);
/* The tensor that impl writes: the proxy if there is one. NULL before the
 * output is set. It shares no memory with an input unless both are the same
 * view; impl may therefore read an element, then write it. */
ST_API st_tensor *st_maybe_get_output(const st_run *r, int i);

/* -- Inspection ----------------------------------------------------------- */

/* The caller owns the texts (st_text_release). NO_MEMORY. */

/* The registrations of "ns::name.overload": schema, tags and kernels with their
 * debug strings; inactive ones are marked (inactive). An operator with kernels
 * only has schema: (none). NOT_FOUND for a name that was never registered. */
ST_API st_status st_dump(const char *name, char **out);
/* The computed dispatch table: one line "CPU: kernel [provenance]" per key. */
ST_API st_status st_dump_table(const char *name, char **out);
/* Names of operators that have kernels but no schema, one per line. */
ST_API st_status st_dump_dangling(char **out);
/* Recomputes all dispatch tables and compares them. BAD_STATE names the first
 * that differs, which means a bug in the engine. NO_MEMORY. */
ST_API st_status st_check_registry(void);
/* Explains how a call with these arguments would be dispatched, without running
 * it: the keys of each argument and of the thread, the keys that fall through,
 * the selected key, its kernel, where it comes from, and its kind. */
ST_API st_status st_explain(const st_op *op, int n, const st_value *args,
                            char **out);
/* The instruction set of a built-in operator's kernels, such as "avx2"; NULL
 * for an operator without kernels of its own. */
ST_API const char *st_op_isa(const st_op *op);
/* ST_OPTAG_ bits. */
ST_API int st_op_tags(const st_op *op);
ST_API const char *st_tag_name(int bit); /* NULL beyond the last */
/* Calls fn on each dispatch of this thread; NULL ends it. The environment
 * variable STRIDED_SHOW_DISPATCH_TRACE=1 prints the dispatches. */
ST_API void st_set_trace(void (*fn)(void *ctx, const st_trace *event),
                         void *ctx);

/* -- Thread state --------------------------------------------------------- */

ST_API st_tls st_tls_get(void);
ST_API void st_tls_set(st_tls state);
/* Each returns the current state with one change. The caller sets it, and
 * restores the old state at the end of the scope. */
ST_API st_tls st_tls_include(st_keyset keys);
ST_API st_tls st_tls_exclude(st_keyset keys);
ST_API st_tls st_tls_below_autograd(void);
ST_API st_tls st_tls_below_adinplaceorview(void);
ST_API st_tls st_tls_grad(bool enabled);
ST_API st_tls st_tls_inference(bool enabled);

/* Autocast: while it is enabled, operators convert their arguments of float32,
 * float16 and bfloat16, some to the dtype of lower precision, some to float32.
 * st_tls_autocast writes the current state with autocast enabled or disabled
 * to *out; dtype is BFLOAT16 or FLOAT16, otherwise BAD_DTYPE. caches: casts of
 * float32 parameters are kept by the thread, for further calls. The caller
 * drops them with st_autocast_clear when the outermost region ends. */
ST_API st_status st_tls_autocast(bool enabled, st_dtype dtype, bool caches,
                                 st_tls *out);
ST_API bool st_autocast_is_enabled(void);
ST_API void st_autocast_clear(void);

/* Pushes and pops must be paired on one thread. */
ST_API void st_mode_push(st_mode *m);
ST_API void st_mode_pop(void);
ST_API void st_observe(st_observer *o);
ST_API void st_unobserve(st_observer *o);
/* The same for an observer that only measures: fused functions run as they do
 * without it, so it does not see the calls that are one loop. */
ST_API void st_watch(st_observer *o);
ST_API void st_unwatch(st_observer *o);

/* -- Scripts -------------------------------------------------------------- */

/* For bindings, whose scripts may be kernels, modes and hooks. A call that a
 * script makes, as st_call_declared, st_call_converted and
 * st_call_for_key_declared: kernels and modes of scripts may return to it what
 * they like, of the types of the schema. The others get results as the operator
 * gives them. */
ST_API st_status st_script_call_declared(const st_op *op, const char *declared,
                                         int n, const st_value *args,
                                         st_value *rets);
ST_API st_status st_script_call_converted(const st_op *op,
                                          const char *declared,
                                          const st_value *args,
                                          st_value *rets);
ST_API st_status st_script_call_for_key(const st_op *op, const char *declared,
                                        const char *key, const st_value *args,
                                        st_value *rets);
/* Calls fn(arg), which runs a function of a script inside of a call or a
 * backward pass. Meanwhile tensors that calls on this thread use cannot be
 * resized: BAD_STATE. */
ST_API st_status st_run_script(st_status (*fn)(void *arg), void *arg);
/* The same for a function that is the kernel of call and writes rets. Where the
 * engine uses the results, they must have the shape, strides, dtype
 * and device that the operator gives them, and share memory with the same
 * arguments: BAD_STATE with a message that names `where`. Otherwise rets are
 * released. */
ST_API st_status st_run_scripted_kernel(const st_call *call,
                                        const st_value *args, st_value *rets,
                                        const char *where,
                                        st_status (*fn)(void *arg), void *arg);
/* Marks a tensor that the engine passes to a script, or takes from it, as one
 * that the engine may use until the calls on this thread return. */
ST_API void st_lend(const st_tensor *t);

/* -- Keys ----------------------------------------------------------------- */

ST_API bool st_key_parse(const char *name, st_keyset *out);
/* "DispatchKeySet(CPU, AutogradCPU)" into buf; returns buf. */
ST_API char *st_keyset_text(st_keyset ks, char *buf, size_t size);
/* a without the functionality keys of b; backend bits stay (K5). */
ST_API st_keyset st_keyset_minus(st_keyset a, st_keyset b);
/* The key that a call with these keys dispatches to, "Undefined" if there is
 * none. A static string. */
ST_API const char *st_keyset_highest(st_keyset ks);
/* All keys of lower priority than key's functionality, with all backends.
 * BAD_VALUE for an unknown key. */
ST_API st_status st_keyset_after(const char *key, st_keyset *out);
ST_API st_keyset st_keyset_full(void);
/* The name of the next runtime key of the set, from low to high priority; NULL
 * at the end. Start with *state = 0. */
ST_API const char *st_keyset_next(st_keyset ks, int *state);
/* Removes a backend by its name, such as "CPU". BAD_VALUE for another name. */
ST_API st_status st_keyset_remove_backend(st_keyset *ks,
                                          const char *backend);
/* True for the name of an alias key, which a set cannot contain. */
ST_API bool st_key_is_alias(const char *name);

#endif
