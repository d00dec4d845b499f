/* Part of bind.h: gradients.
 *
 * Note [Anchors]
 * A node of the graph may call Lua: a hook, the derivative of a function. Such
 * a function often refers to tensors whose graph has that very node. If C held
 * it, a reference would keep the circle alive that no collector can see. So C
 * never holds it, but knows it by a number, under which a weak table has it.
 * What holds it is Lua alone: the environments of the boxes whose graph may
 * call it. Any circle then runs through Lua, and its collector finds it.
 *
 * An environment is a table that is made once, is shared by the boxes that
 * need the same, and has other environments as keys. A box that has one is
 * anchored. Who records from anchored boxes gets what they have: results, what
 * was written in place, and what that is a view of (st__settle). A backward
 * pass has the environment of its outputs, and so has every tensor with a
 * history that Lua sees during it (st__push_seen). A hook that comes late
 * looks for the boxes that were computed from its tensor: those that may have
 * a history are noted, in a weak list.
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
typedef struct st__anchor {
  st__host *h;    /* counted */
  double number;
} st__anchor;

/* A block of size bytes that begins with an anchor of the table at idx, and
 * is zero behind it; raises when there is no memory. */
void *st__anchor_new(st__host *h, lua_State *L, int idx, size_t size);
/* Frees such a block, on any thread. */
void st__anchor_free(void *block);
/* The value at idx gets a number, by which it can be pushed, or nil when it is
 * gone. */
double st__remember(st__host *h, lua_State *L, int idx);
void st__push_remembered(st__host *h, lua_State *L, double number); /* [+1] */
/* May it run here? BAD_STATE if its Lua state does not run on this thread. */
st_status st__check_anchor(const st__anchor *a, const char *what);

/* The two environments at the top become one. [-2, +1] */
void st__join(lua_State *L);
/* The environment at the top becomes one of the box at idx, too. [-1] */
void st__attach(st__host *h, lua_State *L, int idx);
/* The environment of the tensors with a history at idx, a tensor or a list;
 * joined to that at the top if has_one says so. True: there is one.
 * [+0|1] */
bool st__gather(st__host *h, lua_State *L, int idx, bool has_one);
/* That of the tensors that a frame has. [+0|1] */
bool st__gather_arguments(const st__frame *f);
/* Drops what a kernel handed on and nobody took. [0] */
void st__drop_handed(st__host *h, lua_State *L);
/* What is at idx was returned by a Lua function that the engine runs. [0] */
void st__hand_on(st__host *h, lua_State *L, int idx);
/* The engine works with what the environment at the top belongs to, until
 * st__leave_pass puts back the one that is pushed here, for what there has
 * come to be meanwhile (nil or false: nothing). */
void st__enter_pass(st__host *h, lua_State *L, bool has_one); /* [-0|1, +1] */
bool st__leave_pass(st__host *h, lua_State *L);               /* [-1, +1] */
/* The same around a Lua function that runs for the call of a frame, if there
 * is something to it; slot: where the pushed one is. */
bool st__enter_call(st__host *h, lua_State *L, const st__frame *f); /* [+0|1] */
void st__leave_call(st__host *h, lua_State *L, int slot);           /* [-1] */
/* What is at idx was returned by a function of a backward pass. [0] */
void st__add_to_pass(st__host *h, lua_State *L, int idx);
/* The noted box of t, if there is one. [+0|1] */
bool st__push_known(st__host *h, lua_State *L, const st_tensor *t);
/* A box of t, which Lua sees because the engine is at work. [+1] */
st__box *st__push_seen(st__host *h, lua_State *L, st_tensor *t);
/* The box at idx may have a history from now on. [0] */
void st__note_box(st__host *h, lua_State *L, int idx);
/* It is about to be finalised. */
void st__forget_box(st__host *h, st__box *box);
/* Calls fn with each noted box that is alive and has a tensor, at the top of
 * the stack; or with those of nodes. */
void st__each_node(st__host *h, lua_State *L,
                   void (*fn)(lua_State *L, st__box *box, void *ctx),
                   void *ctx);
void st__each_box(st__host *h, lua_State *L,
                  void (*fn)(lua_State *L, st__box *box, void *ctx),
                  void *ctx);
/* The values from first on are the results of the frame's call. */
void st__settle(st__frame *f, int first);
/* The box at idx was computed, or written, by what has the environment at the
 * top. [0] */
void st__settle_with(st__host *h, lua_State *L, int idx, bool is_written);
/* The box at idx was computed from, or written with, that at source. */
void st__settle_from(st__host *h, lua_State *L, int idx, int source,
                     bool is_written);

/* Does a result say that there is something to settle? Of a view whose source
 * is noted there is not. */
static inline bool st__is_loose(const st__frame *f, const st_arg *ret,
                                const st_tensor *t) {
  if (st_tensor_requires_grad(t)) return true;
  if (!ret->is_alias || !st_tensor_base(t)) return false;
  if (f->nwraps > 0 || !f->source[0]) return true;
  const st__box *source = st__box_test(f->h, f->L, f->source[0],
                                       ST_BOX_TENSOR);
  return !source || !source->slot;
}

/* LuaJIT has no bound of its own for C functions inside of each other. */
enum { ST_MAX_GRAD_DEPTH = 200 };
#define ST_TOO_DEEP "functions of gradients call each other more than %d " \
                    "deep"

/* -- reachability.c -------------------------------------------------------- */

/* The node of t, or that which accumulates for a leaf, owned. */
st_status st__node_of(st__host *h, lua_State *L, st_tensor *t,
                      st_node **out);
/* The environment at the top becomes one of every box whose graph has the
 * node. [-1] */
void st__attach_downstream(st__host *h, lua_State *L, const st_node *target);

/* -- autograd_node.c ------------------------------------------------------- */

/* A node in Lua: a box without a tensor. */
typedef struct st__node_box {
  st__box box;
  st_node *n;
} st__node_box;

/* An empty box, which gets the environment of the box at index 1 if that is
 * anchored. [+1] */
st__node_box *st__push_node(st__host *h, lua_State *L, bool is_anchored);
st__node_box *st__check_node(st__host *h, lua_State *L, int idx);

/* -- gradient_hook.c ------------------------------------------------------- */

/* node:register_hook(fn), node:register_prehook(fn): a handle */
int st__node_hook(lua_State *L);
int st__node_prehook(lua_State *L);

/* -- function_context.c ---------------------------------------------------- */

/* A new one. [+1] */
void st__push_context(st__host *h, lua_State *L);
/* A field of its own table, which scripts do not see; set to the value at the
 * top. ctx: where the context is, not negative. [+1], [-1] */
void st__push_field(lua_State *L, int ctx, const char *name);
void st__set_field(lua_State *L, int ctx, const char *name);

/* -- custom_derivative.c --------------------------------------------------- */

/* Registers the function at idx as the derivative of name; it lives as long
 * as the library, whose box is at index 1. */
st_status st__derive(st__host *h, lua_State *L, st_library *lib,
                     const char *name, int idx, bool *has_env);

/* -- backward.c ------------------------------------------------------------ */

/* t.name = value: argument 3 of __newindex; false if there is no property of
 * that name that can be set. [0] */
bool st__set_property(st__host *h, lua_State *L, const char *name);

#endif
