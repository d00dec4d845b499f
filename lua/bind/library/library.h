/* The room of libraries: operators that a script defines.
 */
#ifndef ST_LUA_LIBRARY_LIBRARY_H
#define ST_LUA_LIBRARY_LIBRARY_H

#include "call/call.h"

#define ST_LIBRARY_OPENERS(X) X(library) X(listen) X(symbolic_trace)
ST_LIBRARY_OPENERS(ST_DECLARE_OPENER)

/* -- operator_library.c ---------------------------------------------------- */

/* True for a library at idx that is open. */
bool st__is_open_library(st__state *h, lua_State *L, int idx);

/* -- script_operators.c ---------------------------------------------------- */

/* Raises unless the operator that a schema or name of a script's library is of
 * was defined by such a library; is_new: unless it does not exist either. */
void st__check_own_operator(st__state *h, lua_State *L, const char *ns,
                            const char *name, bool is_new);
/* Remembers that the library at idx has defined an operator. */
void st__own_operator(lua_State *L, int idx, const char *ns, const char *name);

/* -- registration_listener.c ----------------------------------------------- */

/* Calls the listeners of this state with the queued events; an error in a
 * listener becomes a warning. Call it at the end of every registration. */
void st__deliver(st__state *h, lua_State *L);

/* -- custom_derivative.c --------------------------------------------------- */

/* Registers the function at idx as the derivative of name. The library, whose
 * userdata is at index 1, keeps it alive. */
st_status st__derive(st__state *h, lua_State *L, st_library *lib,
                     const char *name, int idx, bool *has_env);

/* -- symbolic_trace.c ------------------------------------------------------ */

/* Replaces an expression in a string at idx by a compiled function; the list
 * of its arguments' names is at the top. Leaves a function as it is. Raises.
 * [-1] */
void st__compile_expression(lua_State *L, st__state *h, int idx);
/* Pushes a list of the names of a schema's arguments; raises. [+1] */
void st__push_argument_names(st__state *h, lua_State *L, const char *schema,
                             const char *ns);
/* Traces the function at fn as the body of an operator with this schema.
 * Returns a graph, which the caller owns; raises. */
st_graph *st__trace_body(st__state *h, lua_State *L, const char *schema,
                         const char *ns, int fn);

/* -- trace_reduction.c ----------------------------------------------------- */

/* Traces the functions of a reduction, given in the table at idx. The caller
 * sets f->schema and f->debug; this sets the rest of *f, which borrows from
 * two values that it pushes. Raises. [+2] */
void st__trace_reduction(st__state *h, lua_State *L, const char *ns, int idx,
                         st_custom_reduction *f);
/* Releases and pops these two values. [-2] */
void st__end_reduction(lua_State *L);

#endif
