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
 * call. A number is passed to an operator as a value whose len is its index + 1:
 * such a value is used with symbols only. */
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
ST_API void st_graph_release(st_graph **g);

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

#endif
