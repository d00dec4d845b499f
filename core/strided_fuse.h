/* Part of strided.h: operators that are expressions.
 *
 * A function of tensors is traced once: called with symbols in place of
 * tensors, it leaves a graph of the operators that it calls. A graph of
 * elementwise operators becomes an operator that runs them as one loop, over
 * blocks that stay in the first-level cache, with the very kernels that its
 * parts have.
 */
#ifndef STRIDED_FUSE_H
#define STRIDED_FUSE_H

/* -- Tracing -------------------------------------------------------------- */

/* From now on this thread's calls with symbols are written down, and not run;
 * they fail (BAD_STATE) if they write to an input, read another tensor, or give
 * what is no tensor. */
ST_API st_status st_tracing_begin(const st_tracing_config *c,
                                  st_tracing **out);
/* The symbol of input i; borrowed. */
ST_API st_tensor *st_tracing_input(const st_tracing *t, int i);
/* A number that is computed from others: op is one of + - * / % ^, 'n' the
 * negative of a; or 'c', a constant. Numbers 0 .. nnumbers - 1 are those of a
 * call. A number is passed to an operator as a value whose len is its index
 * + 1: such a value is used with symbols only. */
ST_API st_status st_tracing_number(st_tracing *t, char op, int a, int b,
                                   st_scalar value, int *out);
/* A number as a symbol, for where a tensor must be; owned. */
ST_API st_status st_tracing_number_symbol(st_tracing *t, int number,
                                          st_tensor **out);
/* Ends the trace. outputs: up to 4 symbols; NULL gives it up. */
ST_API st_status st_tracing_end(st_tracing **t, int n,
                                st_tensor *const *outputs, st_graph **out);
/* Has the tensor neither dtype nor shape nor elements? */
ST_API bool st_tensor_is_symbol(const st_tensor *t);
/* Do calls of this thread only show what is to be fused? Their tensors have
 * shapes that say nothing. */
ST_API bool st_is_capturing(void);
ST_API void st_graph_release(st_graph **g);
ST_API int st_graph_noutputs(const st_graph *g);

/* -- Operators ------------------------------------------------------------ */

/* How many tensors and numbers the arguments of a schema are. BAD_SCHEMA when
 * there are others, or results that are no tensors. */
ST_API st_status st_graph_arguments(const st_schema *s, int *ninputs,
                                    int *nnumbers);

/* Defines an operator of tensors and numbers (float, int, bool, Scalar) that
 * computes the graph: functional, in place where it returns one tensor, and
 * with out=; for CPU and Meta, with a derivative. Its arguments broadcast and
 * promote as those of the operators that it is made of do; a result has the
 * shape that all tensors broadcast to. *g is taken over on success. BAD_SCHEMA
 * when the schema does not fit, BAD_STATE at the first call, naming the
 * operator, when something in the graph is not elementwise. */
ST_API st_status st_library_elementwise(st_library *lib, const char *schema,
                                        st_graph **g, const char *doc,
                                        const char *debug);

/* Defines a reduction of tensors and numbers: map is applied to the elements
 * of the tensors, which broadcast, the values are folded over dimensions by
 * combine in a tree that depends on their number alone, beginning with init,
 * and final gives the results. The schema may have "Dim[1]? dim" and "bool
 * keepdim", which are appended as keywords otherwise. Functional and with
 * out=, for CPU and Meta, with a derivative. The graphs are retained.
 * BAD_SCHEMA when the schema does not fit, BAD_VALUE when the graphs do not
 * fit each other, BAD_STATE for what is not elementwise. */
ST_API st_status st_library_reduction(st_library *lib,
                                      const st_custom_reduction *f);

/* Fused operators run as machine code that is made for them, where that is
 * possible: on x86-64 with AVX2, where the system lets pages be executable
 * that were written. Results are the same without it. Is it made? Yes, unless
 * it was switched off, as STRIDED_JIT=0 in the environment does. */
ST_API bool st_is_jit_enabled(void);
/* For the programs that all threads make from now on; what it was before. */
ST_API bool st_set_jit_enabled(bool is_enabled);

/* -- Functions in steps --------------------------------------------------- */

/* A fusion has the steps of one function of tensors: what it did when it was
 * called with doubles of its arguments, pieces of it as one loop each. It is
 * for one thread at a time. name: for messages. NO_MEMORY. */
ST_API st_status st_compile_cache_new(const char *name, st_compile_cache **out);
ST_API void st_compile_cache_release(st_compile_cache **f);
/* Forgets all steps. */
ST_API void st_compile_cache_clear(st_compile_cache *f);
ST_API const char *st_compile_cache_name(const st_compile_cache *f);
/* True: it is known what to do with arguments like these. *steps, the
 * caller's, are to be run with the tensors among them; NULL: the function is
 * to be called. False: it is to be recorded. */
ST_API bool st_compile_cache_find(st_compile_cache *f, int n,
                                  const st_compile_cache_arg *args,
                                  st_schedule **steps);
/* Why there are none for arguments like these; good until f changes. */
ST_API const char *st_compile_cache_why(st_compile_cache *f, int n,
                                        const st_compile_cache_arg *args);

/* From now on this thread's calls are recorded, and run on doubles of the
 * inputs, at most 32 tensors; the name must live as long. */
ST_API st_status st_recorder_begin(const st_tracing_config *c,
                                   st_tensor *const *inputs,
                                   st_recorder **out);
/* The double of input i; borrowed. */
ST_API st_tensor *st_recorder_input(const st_recorder *r, int i);
/* Is t a double of this recording? */
ST_API bool st_recorder_is_fake(const st_recorder *r, const st_tensor *t);
/* What is done cannot be recorded, but called. */
ST_API void st_recorder_refuse(st_recorder *r, const char *why);
ST_API bool st_recorder_was_refused(const st_recorder *r);
/* Somebody looks at the elements of a double, or at its shape. BAD_STATE,
 * which is the fate of the recording, too. */
ST_API st_status st_recorder_reject_read(st_recorder *r);
ST_API void st_recorder_uses_shape(st_recorder *r);
/* Ends the recording, whose result f keeps for these arguments. outputs are
 * up to 16 doubles, noutputs negative when the function has failed. *steps is
 * the caller's; NULL: the function is to be called. BAD_STATE when somebody
 * has asked for elements, NO_MEMORY. */
ST_API st_status st_compile_cache_end(st_compile_cache *f, int n,
                                      const st_compile_cache_arg *args,
                                      st_recorder **r, int noutputs,
                                      st_tensor *const *outputs,
                                      st_schedule **steps);

ST_API void st_schedule_release(st_schedule **s);
/* Where the fusion keeps them, 0 to 63. */
ST_API int st_schedule_slot(const st_schedule *s);
/* Do they draw random numbers? */
ST_API bool st_schedule_is_random(const st_schedule *s);
ST_API int st_schedule_noutputs(const st_schedule *s);
ST_API int st_schedule_ncaptured(const st_schedule *s);
/* What the function has met as tensor i; borrowed. */
ST_API st_tensor *st_schedule_captured(const st_schedule *s, int i);
/* Which input output i is, -1: it is a new tensor. */
ST_API int st_schedule_output(const st_schedule *s, int i);
/* outs: as many as outputs, owned; written on success only. */
ST_API st_status st_schedule_run(const st_schedule *s, st_tensor *const *inputs,
                                 st_tensor **outs);
/* A step a line, the instructions of pieces below them; st_text_release. */
ST_API st_status st_schedule_text(const st_schedule *s, char **out);

#endif
