/* Part of strided.h: operators, schemas, libraries, keys.
 */
#ifndef STRIDED_DISPATCH_H
#define STRIDED_DISPATCH_H

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

/* Calls fn for every defined operator, then whenever one is defined, redefined
 * or removed, afterwards, on the thread that did it. fn may register, too. On
 * another thread it may still be running when the release of the handle
 * returns. */
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
 * (Z1 to Z6): functional, in-place and out=. meta alone runs for Meta,
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
/* Calls fn for every dispatch of this thread until fn is NULL. The
 * environment variable STRIDED_SHOW_DISPATCH_TRACE=1 prints them. */
ST_API void st_set_trace(void (*fn)(void *ctx, const st_trace *event),
                         void *ctx);

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
/* a without b's functionalities; backends stay (K5). */
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

#endif
