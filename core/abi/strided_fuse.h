/* Part of strided.h: operators made from expressions.
 *
 * A function of tensors is traced once: it is called with proxies (symbols) in
 * place of tensors, and the operators that it calls form a graph. A graph of
 * elementwise operators becomes an operator that runs them as one loop over
 * blocks that stay in the first-level cache, with the same kernels as the
 * operators themselves.
 */
#ifndef STRIDED_FUSE_H
#define STRIDED_FUSE_H

/* -- Tracing -------------------------------------------------------------- */

/* Starts to record this thread's calls with proxies instead of running them.
 * Such a call fails with BAD_STATE if it writes to an input, reads a tensor
 * that is not a proxy, or returns anything but tensors. */
ST_API st_status st_tracing_begin(const st_tracing_config *c,
                                  st_tracing **out);
/* The proxy of input i; borrowed. */
ST_API st_tensor *st_tracing_input(const st_tracing *t, int i);
/* Adds a symbolic scalar: op is one of + - * / % ^, or 'n', the negative of a,
 * or 'c', the constant value, or 'z', the constant value -0.0 of a language
 * that has one kind of number: the integer 0 beside integers. Scalars
 * 0 .. nnumbers - 1 are the call's number arguments. A symbolic scalar is
 * passed to an operator as a value whose len is its index + 1; such a value may
 * only be used together with proxies. */
ST_API st_status st_tracing_number(st_tracing *t, char op, int a, int b,
                                   st_scalar value, int *out);
/* A symbolic scalar as a proxy, where a tensor is needed; owned. */
ST_API st_status st_tracing_number_symbol(st_tracing *t, int number,
                                          st_tensor **out);
/* Ends the trace. outputs: up to 4 proxies; NULL discards the trace. */
ST_API st_status st_tracing_end(st_tracing **t, int n,
                                st_tensor *const *outputs, st_graph **out);
/* True for a proxy: it has no dtype, shape or elements. */
ST_API bool st_tensor_is_symbol(const st_tensor *t);
/* True while this thread's calls are only recorded for fusion: the shapes of
 * their tensors are then meaningless. */
ST_API bool st_is_capturing(void);
ST_API void st_graph_release(st_graph **g);
ST_API int st_graph_noutputs(const st_graph *g);

/* -- Operators ------------------------------------------------------------ */

/* The numbers of tensors and of numbers among the arguments of a schema.
 * BAD_SCHEMA for arguments of other types, or results that are not tensors. */
ST_API st_status st_graph_arguments(const st_schema *s, int *ninputs,
                                    int *nnumbers);

/* Defines an operator on tensors and numbers (float, int, bool, Scalar) that
 * computes the graph: functional, in-place if it returns one tensor, and out=;
 * for CPU and Meta, with a derivative. Arguments broadcast and promote as for
 * the operators in the graph; a result has the shape that all tensors broadcast
 * to. On success *g is consumed. BAD_SCHEMA when the schema does not match the
 * graph; BAD_STATE, naming the operator, when an operator of the graph is not
 * elementwise. */
ST_API st_status st_library_elementwise(st_library *lib, const char *schema,
                                        st_graph **g, const char *doc,
                                        const char *debug);

/* Defines a reduction of tensors and numbers. map is applied to the elements of
 * the broadcast tensors, combine reduces its values over dimensions in a tree
 * that depends on their number alone, starting with init, and final computes
 * the results. The schema may have "Dim[1]? dim" and "bool keepdim"; if not,
 * they are appended as keyword-only arguments. Functional and out=, for CPU and
 * Meta, with a derivative. The graphs are retained. BAD_SCHEMA when the schema
 * does not match, BAD_VALUE when the graphs do not match each other, BAD_STATE
 * for operators that are not elementwise. */
ST_API st_status st_library_reduction(st_library *lib,
                                      const st_custom_reduction *f);

/* Whether fused operators are compiled to machine code. This needs x86-64 with
 * AVX2 and a system that allows written pages to become executable. Results are
 * the same without it. On by default; STRIDED_JIT=0 in the environment turns it
 * off. */
ST_API bool st_is_jit_enabled(void);
/* For programs that any thread compiles from now on. Returns the previous
 * setting. */
ST_API bool st_set_jit_enabled(bool is_enabled);

/* -- Compile cache -------------------------------------------------------- */

/* A compile cache holds schedules of one function of tensors, by its arguments.
 * A schedule comes from one run of the function with fake tensors; it runs each
 * fusion group as one loop. A cache must be used by one thread at a time. name
 * is for messages. NO_MEMORY. */
ST_API st_status st_compile_cache_new(const char *name, st_compile_cache **out);
ST_API void st_compile_cache_release(st_compile_cache **f);
/* Removes all schedules. */
ST_API void st_compile_cache_clear(st_compile_cache *f);
ST_API const char *st_compile_cache_name(const st_compile_cache *f);
/* True if the cache has an entry for such arguments. Then *steps is a schedule
 * to run with the tensors among them, owned by the caller, or NULL if the
 * function is to be called without one. False if the function is to be
 * recorded. */
ST_API bool st_compile_cache_find(st_compile_cache *f, int n,
                                  const st_compile_cache_arg *args,
                                  st_schedule **steps);
/* Why such arguments have no schedule; valid until f changes. */
ST_API const char *st_compile_cache_why(st_compile_cache *f, int n,
                                        const st_compile_cache_arg *args);

/* Starts to record this thread's calls and runs them on fake tensors of the
 * inputs, at most 32. The config's name must outlive the recorder. */
ST_API st_status st_recorder_begin(const st_tracing_config *c,
                                   st_tensor *const *inputs,
                                   st_recorder **out);
/* The fake tensor of input i; borrowed. */
ST_API st_tensor *st_recorder_input(const st_recorder *r, int i);
/* The device on which the recording will run: that of the arguments. */
ST_API st_device st_recorder_device(const st_recorder *r);
/* True if t is a fake tensor of this recorder. */
ST_API bool st_recorder_is_fake(const st_recorder *r, const st_tensor *t);
/* Marks the function as one that cannot be recorded for these arguments, and is
 * called instead. why is the reason; the place of the config is added. All
 * calls fail from then on. */
ST_API void st_recorder_refuse(st_recorder *r, const char *why);
ST_API bool st_recorder_was_refused(const st_recorder *r);
/* The same on an attempt to read elements; returns BAD_STATE. */
ST_API st_status st_recorder_reject_read(st_recorder *r);
ST_API void st_recorder_uses_shape(st_recorder *r);
/* Nothing is stored when the recording ends: its function was interrupted. */
ST_API void st_recorder_stop(st_recorder *r);
/* Ends the recording and stores its result in f for these arguments. outputs:
 * up to 16 fake tensors; noutputs is negative when the function failed. The
 * caller owns *steps; NULL: the function is to be called. NO_MEMORY. */
ST_API st_status st_compile_cache_end(st_compile_cache *f, int n,
                                      const st_compile_cache_arg *args,
                                      st_recorder **r, int noutputs,
                                      st_tensor *const *outputs,
                                      st_schedule **steps);

ST_API void st_schedule_release(st_schedule **s);
/* The index of the cache entry that holds the schedule, 0 to 63. */
ST_API int st_schedule_slot(const st_schedule *s);
/* True if it draws random numbers. */
ST_API bool st_schedule_is_random(const st_schedule *s);
ST_API int st_schedule_noutputs(const st_schedule *s);
ST_API int st_schedule_ncaptured(const st_schedule *s);
/* Captured tensor i: one that the function uses without being passed it;
 * borrowed. */
ST_API st_tensor *st_schedule_captured(const st_schedule *s, int i);
/* The index of the input that output i is; -1 for a new tensor. */
ST_API int st_schedule_output(const st_schedule *s, int i);
/* outs: one owned tensor per output, written on success only. */
ST_API st_status st_schedule_run(const st_schedule *s, st_tensor *const *inputs,
                                 st_tensor **outs);
/* One line per step, followed by the instructions of its fusion group. The
 * caller owns *out (st_text_release). */
ST_API st_status st_schedule_text(const st_schedule *s, char **out);

#endif
