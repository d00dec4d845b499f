/* Part of bind.h: gradients.
 *
 * Note [Keeping gradient functions alive]
 * A node of the graph may call Lua: a hook, the derivative of a function. Such
 * a function often refers to tensors whose graph has that very node. If C held
 * it, a reference would keep the circle alive that no collector can see. So C
 * never holds it, but knows it by a number, under which a weak table has it.
 * What holds it is Lua alone: the environments of the userdata whose graph may
 * call it. Any circle then runs through Lua, and its collector finds it.
 *
 * An environment is a table that is made once, is shared by the userdata that
 * need the same, and has other environments as keys. A userdata that has one is
 * anchored. Who records from anchored userdata gets what they have: results,
 * what was written in place, and what that is a view of (st__env_inherit). A
 * backward pass has the environment of its outputs, and so has every tensor
 * with a history that Lua sees during it (st__push_in_pass). A hook that comes
 * late looks for the userdata that were computed from its tensor: those that
 * may have a history are noted, in a weak list.
 *
 * Plain maths shall not pay for this, so views of plain tensors are not noted:
 * one that outlives its base, and every other view, through which the base got
 * a history, does not get the environment. If a function is gone, for that or
 * because a finaliser runs a graph that died with it, the pass fails with an
 * error that says so.
 */
#ifndef ST_LUA_GRAD_GRAD_H
#define ST_LUA_GRAD_GRAD_H

/* -- keepalive.c ----------------------------------------------------------- */

/* How C knows a Lua value: the table at idx of values. */
typedef struct st__weak_ref {
  st__state *h;   /* counted */
  double number;
} st__weak_ref;

/* A block of size bytes that begins with an anchor of the table at idx, and
 * is zero behind it; raises when there is no memory. */
void *st__weak_ref_new(st__state *h, lua_State *L, int idx, size_t size);
/* Frees such a block, on any thread. */
void st__weak_ref_free(void *block);
/* The value at idx gets a number, by which it can be pushed, or nil when it is
 * gone. */
double st__weak_put(st__state *h, lua_State *L, int idx);
void st__weak_push(st__state *h, lua_State *L, double number);      /* [+1] */
/* May it run here? BAD_STATE if its Lua state does not run on this thread. */
st_status st__weak_ref_check(const st__weak_ref *a, const char *what);

/* The two environments at the top become one. [-2, +1] */
void st__env_merge(lua_State *L);
/* The environment at the top becomes one of the userdata at idx, too. [-1] */
void st__env_add(st__state *h, lua_State *L, int idx);
/* The environment of the tensors with a history at idx, a tensor or a list;
 * joined to that at the top if has_one says so. True: there is one.
 * [+0|1] */
bool st__env_collect(st__state *h, lua_State *L, int idx, bool has_one);
/* That of the tensors that a frame has. [+0|1] */
bool st__env_collect_args(const st__frame *f);
/* Drops what a kernel handed on and nobody took. [0] */
void st__env_drop_returned(st__state *h, lua_State *L);
/* What is at idx was returned by a Lua function that the engine runs. [0] */
void st__env_return(st__state *h, lua_State *L, int idx);
/* The engine works with what the environment at the top belongs to, until
 * st__pass_leave puts back the one that is pushed here, for what there has
 * come to be meanwhile (nil or false: nothing). */
void st__pass_enter(st__state *h, lua_State *L, bool has_one); /* [-0|1, +1] */
bool st__pass_leave(st__state *h, lua_State *L);              /* [-1, +1] */
/* The same around a Lua function that runs for the call of a frame, if there
 * is something to it; slot: where the pushed one is. */
bool st__pass_enter_call(st__state *h, lua_State *L,
                         const st__frame *f); /* [+0|1] */
void st__pass_leave_call(st__state *h, lua_State *L, int slot);     /* [-1] */
/* What is at idx was returned by a function of a backward pass. [0] */
void st__pass_add(st__state *h, lua_State *L, int idx);
/* The noted userdata of t, if there is one. [+0|1] */
bool st__push_existing(st__state *h, lua_State *L, const st_tensor *t);
/* A userdata of t, which Lua sees because the engine is at work. [+1] */
st__tensor_ud *st__push_in_pass(st__state *h, lua_State *L, st_tensor *t);
/* The userdata at idx may have a history from now on. [0] */
void st__track_ud(st__state *h, lua_State *L, int idx);
/* It is about to be finalised. */
void st__untrack_ud(st__state *h, st__tensor_ud *ud);
/* Calls fn with each noted userdata that is alive and has a tensor, at the top
 * of the stack; or with those of nodes. */
void st__each_node_ud(st__state *h, lua_State *L,
                      void (*fn)(lua_State *L, st__tensor_ud *ud, void *ctx),
                      void *ctx);
void st__each_tensor_ud(st__state *h, lua_State *L,
                        void (*fn)(lua_State *L, st__tensor_ud *ud, void *ctx),
                        void *ctx);
/* The values from first on are the results of the frame's call. */
void st__env_inherit(st__frame *f, int first);
/* The userdata at idx was computed, or written, by what has the environment at
 * the top. [0] */
void st__env_inherit_top(st__state *h, lua_State *L, int idx, bool is_written);
/* The userdata at idx was computed from, or written with, that at source. */
void st__env_inherit_from(st__state *h, lua_State *L, int idx, int source,
                          bool is_written);

/* Does a result say that there is something to inherit? Of a view whose source
 * is noted there is not. */
static inline bool st__needs_env(const st__frame *f, const st_arg *ret,
                                 const st_tensor *t) {
  if (st_tensor_requires_grad(t)) return true;
  if (!ret->is_alias || !st_tensor_base(t)) return false;
  if (f->nwraps > 0 || !f->source[0]) return true;
  const st__tensor_ud *source = st__testudata(f->h, f->L, f->source[0],
                                              ST_UD_TENSOR);
  return !source || !source->slot;
}

/* LuaJIT has no bound of its own for C functions inside of each other. */
enum { ST_MAX_GRAD_DEPTH = 200 };
#define ST_TOO_DEEP "functions of gradients call each other more than %d " \
                    "deep"

/* -- reachability.c -------------------------------------------------------- */

/* The node of t, or that which accumulates for a leaf, owned. */
st_status st__node_of(st__state *h, lua_State *L, st_tensor *t,
                      st_node **out);
/* The environment at the top becomes one of every userdata whose graph has the
 * node. [-1] */
void st__env_add_downstream(st__state *h, lua_State *L, const st_node *target);

/* -- autograd_node.c ------------------------------------------------------- */

/* A node in Lua: a userdata without a tensor. */
typedef struct st__node_ud {
  st__tensor_ud ud;
  st_node *n;
} st__node_ud;

/* An empty userdata, which gets the environment of the userdata at index 1 if
 * that is anchored. [+1] */
st__node_ud *st__push_node(st__state *h, lua_State *L, bool has_keepalive);
st__node_ud *st__check_node(st__state *h, lua_State *L, int idx);

/* -- gradient_hook.c ------------------------------------------------------- */

/* node:register_hook(fn), node:register_prehook(fn): a handle */
int st__node_hook(lua_State *L);
int st__node_prehook(lua_State *L);

/* -- function_context.c ---------------------------------------------------- */

/* A new one. [+1] */
void st__push_context(st__state *h, lua_State *L);
/* A field of its own table, which scripts do not see; set to the value at the
 * top. ctx: where the context is, not negative. [+1], [-1] */
void st__push_field(lua_State *L, int ctx, const char *name);
void st__set_field(lua_State *L, int ctx, const char *name);

/* -- custom_derivative.c --------------------------------------------------- */

/* Registers the function at idx as the derivative of name; it lives as long
 * as the library, whose userdata is at index 1. */
st_status st__derive(st__state *h, lua_State *L, st_library *lib,
                     const char *name, int idx, bool *has_env);

/* -- backward.c ------------------------------------------------------------ */

/* t.name = value: argument 3 of __newindex; false if there is no property of
 * that name that can be set. [0] */
bool st__set_property(st__state *h, lua_State *L, const char *name);

#endif
