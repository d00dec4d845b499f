/* The room of autograd: passes, hooks, functions with derivatives in Lua.
 */
#ifndef ST_LUA_GRAD_GRAD_H
#define ST_LUA_GRAD_GRAD_H

#include "call/call.h"

#define ST_GRAD_OPENERS(X) \
  X(grad) X(node) X(hook) X(context) X(autograd_function)
ST_GRAD_OPENERS(ST_DECLARE_OPENER)

/* -- reachability.c -------------------------------------------------------- */

/* The node of t; for a leaf its accumulator. Owned by the caller. */
st_status st__node_of(st__state *h, lua_State *L, st_tensor *t,
                      st_node **out);
/* Adds the environment at the top to every userdata whose graph contains the
 * node. [-1] */
void st__env_add_downstream(st__state *h, lua_State *L, const st_node *target);

/* -- autograd_node.c ------------------------------------------------------- */

/* The userdata of a node; its tensor is NULL. */
typedef struct st__node_ud {
  st__tensor_ud ud;
  st_node *n;
} st__node_ud;

/* A new userdata without a node. has_keepalive: it shares the environment of
 * the userdata at index 1. [+1] */
st__node_ud *st__push_node(st__state *h, lua_State *L, bool has_keepalive);
st__node_ud *st__check_node(st__state *h, lua_State *L, int idx);

/* -- gradient_hook.c ------------------------------------------------------- */

/* node:register_hook(fn), node:register_prehook(fn): return a handle */
int st__node_hook(lua_State *L);
int st__node_prehook(lua_State *L);

/* -- function_context.c ---------------------------------------------------- */

/* A new context. [+1] */
void st__push_context(st__state *h, lua_State *L);
/* Gets or sets a field of the inner table, which scripts cannot see; the value
 * is at the top. ctx: the context's index, not negative. [+1], [-1] */
void st__push_field(st__state *h, lua_State *L, int ctx, const char *name);
void st__set_field(st__state *h, lua_State *L, int ctx, const char *name);

#endif
