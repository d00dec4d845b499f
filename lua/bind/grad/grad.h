/* Part of bind.h: autograd.
 *
 * Note [Keeping gradient functions alive]
 * A node of the graph may call a Lua function: a hook or a derivative. Such a
 * function often refers to tensors whose graph contains that node. If C held
 * the function by a strong reference, this cycle would pass through C, where no
 * collector can find it, and would leak. So C holds only a number, the key of
 * the function in a weak table. Strong references exist in Lua alone: in the
 * environments of the userdata whose graph may call the function. Every cycle
 * then consists of Lua objects, and Lua's collector finds it.
 *
 * An environment is a table; it is created once, is shared by the userdata that
 * need the same functions, and has other environments as keys. A userdata that
 * has one has has_keepalive set. An operator call passes the environments of
 * its arguments on to its results, to the tensors it writes in place, and to
 * the bases of those that are views (st__env_inherit). A backward pass has the
 * environment of its outputs, which every tensor with a history inherits that
 * Lua sees during the pass (st__push_in_pass). A hook may be registered after
 * tensors were computed from its tensor; the search for them covers the tracked
 * userdata, those that may have a history, which a weak list holds.
 *
 * To keep code without autograd fast, views of tensors without a history are
 * not tracked. If such a view outlives its base, or its base got a history
 * through another view, the view misses the environment. If a function was
 * collected, for that reason or because a finalizer runs a graph that was
 * collected with it, the pass fails with an error that says so.
 */
#ifndef ST_LUA_GRAD_GRAD_H
#define ST_LUA_GRAD_GRAD_H

/* -- keepalive.c ----------------------------------------------------------- */

/* A weak reference to a table: its number in the weak table of values. */
typedef struct st__weak_ref {
  st__state *h;   /* retained */
  double number;
} st__weak_ref;

/* Allocates a zeroed block of size bytes that begins with an st__weak_ref to
 * the table at idx. Raises if memory runs out. */
void *st__weak_ref_new(st__state *h, lua_State *L, int idx, size_t size);
/* Frees such a block; may run on any thread. */
void st__weak_ref_free(void *block);
/* st__weak_put assigns a number to the value at idx; st__weak_push pushes the
 * value of a number, nil if it was collected. */
double st__weak_put(st__state *h, lua_State *L, int idx);
void st__weak_push(st__state *h, lua_State *L, double number);      /* [+1] */
/* ST_BAD_STATE if the reference's Lua state does not run on this thread. */
st_status st__weak_ref_check(const st__weak_ref *a, const char *what);

/* Merges the two environments at the top. [-2, +1] */
void st__env_merge(lua_State *L);
/* Adds the environment at the top to the userdata at idx. [-1] */
void st__env_add(st__state *h, lua_State *L, int idx);
/* Pushes the environment of the tensors with a history at idx, a tensor or a
 * list. has_one: the environment at the top is merged with it. Returns true if
 * there is one. [+0|1] */
bool st__env_collect(st__state *h, lua_State *L, int idx, bool has_one);
/* The same for the arguments of a frame. [+0|1] */
bool st__env_collect_args(const st__frame *f);
/* Drops the environment that st__env_return stored, if it was not used. [0] */
void st__env_drop_returned(st__state *h, lua_State *L);
/* Stores the environment of the value at idx, which a Lua function returned to
 * the engine, for the results of the running call. [0] */
void st__env_return(st__state *h, lua_State *L, int idx);
/* st__pass_enter makes the environment at the top, if has_one, that of the pass
 * and pushes the outer one. st__pass_leave restores the outer one and leaves
 * the pass's, which may have grown, in its slot (nil or false: none); returns
 * true if there is one. */
void st__pass_enter(st__state *h, lua_State *L, bool has_one); /* [-0|1, +1] */
bool st__pass_leave(st__state *h, lua_State *L);              /* [-1, +1] */
/* The same around a Lua function that runs for the call of a frame. Returns
 * false and pushes nothing if no environment exists; slot: the stack index of
 * the pushed one. */
bool st__pass_enter_call(st__state *h, lua_State *L,
                         const st__frame *f); /* [+0|1] */
void st__pass_leave_call(st__state *h, lua_State *L, int slot);     /* [-1] */
/* Adds the environment of the value at idx, which a function of a backward pass
 * returned, to that of the pass. [0] */
void st__pass_add(st__state *h, lua_State *L, int idx);
/* Pushes the tracked userdata of t; false if there is none. [+0|1] */
bool st__push_existing(st__state *h, lua_State *L, const st_tensor *t);
/* A new userdata of t, for a Lua function that the engine calls; it inherits
 * the environment of the pass. [+1] */
st__tensor_ud *st__push_in_pass(st__state *h, lua_State *L, st_tensor *t);
/* The same for a tensor that the pass may use afterwards: st_lend. */
st__tensor_ud *st__push_lent(st__state *h, lua_State *L, st_tensor *t);
/* Tracks the userdata at idx: it may have a history. [0] */
void st__track_ud(st__state *h, lua_State *L, int idx);
/* Untracks a userdata that is being finalized. */
void st__untrack_ud(st__state *h, st__tensor_ud *ud);
/* Calls fn for each live tracked userdata, of a node or of a tensor that is not
 * freed, with the userdata at the top of the stack. */
void st__each_node_ud(st__state *h, lua_State *L,
                      void (*fn)(lua_State *L, st__tensor_ud *ud, void *ctx),
                      void *ctx);
void st__each_tensor_ud(st__state *h, lua_State *L,
                        void (*fn)(lua_State *L, st__tensor_ud *ud, void *ctx),
                        void *ctx);
/* The results of the frame's call, from index `first` on, inherit the
 * environments of its arguments. */
void st__env_inherit(st__frame *f, int first);
/* The value at idx inherits the environment at the top; is_written: it was
 * written in place. [0] */
void st__env_inherit_top(st__state *h, lua_State *L, int idx, bool is_written);
/* The value at idx inherits the environments of the userdata at source. */
void st__env_inherit_from(st__state *h, lua_State *L, int idx, int source,
                          bool is_written);

/* True if a result may have to inherit an environment. A view without a
 * history, of a tracked source, does not. */
static inline bool st__needs_env(const st__frame *f, const st_arg *ret,
                                 const st_tensor *t) {
  if (st_tensor_requires_grad(t)) return true;
  if (!ret->is_alias || !st_tensor_base(t)) return false;
  if (f->nwraps > 0 || !f->source[0]) return true;
  const st__tensor_ud *source = st__testudata(f->h, f->L, f->source[0],
                                              ST_UD_TENSOR);
  return !source || !source->slot;
}

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

/* -- custom_derivative.c --------------------------------------------------- */

/* Registers the function at idx as the derivative of name. The library, whose
 * userdata is at index 1, keeps it alive. */
st_status st__derive(st__state *h, lua_State *L, st_library *lib,
                     const char *name, int idx, bool *has_env);

/* -- backward.c ------------------------------------------------------------ */

/* t.name = value for __newindex, whose argument 3 is the value; false if no
 * settable property has that name. [0] */
bool st__set_property(st__state *h, lua_State *L, const char *name);
/* Pushes what makes the tensor at index 1, which requires a gradient, part of a
 * graph: "grad_fn=<MulBackward0>", or "requires_grad=true". */
void st__push_gradient_text(lua_State *L); /* [+1] */

#endif
