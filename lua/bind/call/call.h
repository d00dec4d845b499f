/* The room of calls: of operators from Lua, and of Lua functions by the engine.
 */
#ifndef ST_LUA_CALL_CALL_H
#define ST_LUA_CALL_CALL_H

#include "value/value.h"

#define ST_CALL_OPENERS(X) \
  X(packet) X(resolution_cache) X(operator) X(scalar) X(results) X(kernel) \
  X(guard) X(mode)
ST_CALL_OPENERS(ST_DECLARE_OPENER)

/* -- describe_call.c ------------------------------------------------------- */

typedef enum st__reason_kind {
  ST_REASON_OTHER,   /* only a text */
  ST_REASON_TYPE,    /* an argument has the wrong type */
  ST_REASON_MISSING,
  ST_REASON_COUNT,   /* too many arguments */
  ST_REASON_KEYWORD  /* no argument has that name */
} st__reason_kind;

/* Why a call does not fit an overload. The reasons of several overloads that
 * reject the same argument become one. */
typedef struct st__reason {
  st__reason_kind kind;
  int source;            /* stack index of the argument, 0 if missing */
  bool has_names;        /* the overloads name the argument differently */
  bool is_nil_ok;
  int takes;             /* number of arguments that it takes at most */
  unsigned types;        /* bits 1 << st_type of what would fit */
  char name[48];         /* of the argument, or "" */
  char want[160];        /* what would fit, separated by "|" */
  char got[96];
  char given[48];        /* the string that was given, or "" */
  char text[352];        /* the whole reason, for one overload */
} st__reason;

/* -- argument_convert.c ---------------------------------------------------- */

enum {
  ST_FRAME_SLOTS = 256,
  ST_FRAME_STACK = 3  /* values pushed per argument: keyword, copy, list */
};

/* An element of a list argument. */
typedef union st__slot { int64_t i; double f; st_tensor *t; bool b; } st__slot;

/* Note [Call frames]
 * A frame holds the arguments of one call after their conversion from the Lua
 * stack. List elements are stored in the slots of the frame or in userdata on
 * the Lua stack, so nothing leaks when Lua raises an error. */
struct st__frame {
  st__state *h;
  lua_State *L;
  const st_op *op;
  const char *text;      /* its schema's text, to detect a redefinition */
  const st_arg *schema;  /* array of its arguments */
  const st_arg *rets;    /* array of its results */
  int nargs, nrets;
  int first, npos;   /* positional arguments: stack index, count */
  int keywords;      /* stack index of the keyword table, or 0 */
  int nkeywords;     /* keywords in it */
  bool is_method;    /* the first one is `self`, whatever its index */
  bool is_complete;  /* arguments in schema order, keyword-only ones too */
  bool allow_wrap;   /* a number may be passed for a Tensor */
  bool requires_grad; /* requires_grad = true was given to a factory */
  int shift;         /* extra positional arguments gathered into a list */
  bool is_packet;    /* the call names no overload: Note [alpha is a keyword] */
  bool has_tensors;  /* the first argument is a list of gathered tensors */
  int spare;         /* stack index of an empty tensor userdata for the result,
                        or 0 */
  int nused;         /* keywords used */
  int ntensors;
  int nwraps;
  int nslots;
  int score;         /* quality of the match, to select the failure that is
                        reported: two per argument that fits */
  bool needs_wrap;   /* failed on a number passed for a Tensor */
  bool has_minus_zero; /* -0.0 was given for a Scalar or a Tensor */
  st_value args[ST_MAX_ARGS];
  int source[ST_MAX_ARGS];    /* stack index of each, 0 if absent */
  uint8_t wrap[ST_MAX_ARGS];  /* indices of arguments to wrap as tensors */
  st_scalar scalar[ST_MAX_ARGS];
  st__slot slots[ST_FRAME_SLOTS];
  st__reason *why;   /* gets the reason of a failure; NULL: not needed */
};

/* Makes room on the Lua stack for a call, also for Lua functions that the
 * engine calls: Lua 5.1 raises a memory error where the stack grows, which must
 * not happen within the engine. */
static inline void st__check_room(lua_State *L) {
  luaL_checkstack(L, ST_FRAME_STACK * ST_MAX_ARGS + LUA_MINSTACK, NULL);
}
/* Converts the value at idx to argument i. On a mismatch returns false and sets
 * the reason, f->why. Lists may push values. */
bool st__convert(st__frame *f, int i, const st_arg *a, int idx);
/* Converts the numbers at idx .. idx + n - 1 to one list of integers. */
bool st__convert_gathered(st__frame *f, int i, const st_arg *a, int idx,
                          int n);
/* Decides what a -0.0 among the arguments of a filled frame is: Note [Negative
 * zero]. Raises if the trace has no room for it. */
void st__settle_zeros(st__frame *f);
/* True if the value at idx can be an element of a list of integers. */
bool st__is_number(st__frame *f, int idx);
/* Reads a dtype, memory format, device or layout; false if idx has none. */
bool st__to_enum(lua_State *L, st_type type, int idx, int64_t *n);
/* Makes an integer a float for an argument of type float. */
void st__fit_scalar(st_type type, st_scalar *s);
/* Indices and dimensions of schemas, from 1-based to 0-based and back. False
 * for a 1-based 0. */
static inline bool st__index_to_c(st_type type, int64_t *i) {
  switch (type) {
    case ST_TYPE_DIM: case ST_TYPE_INDEX:
      if (*i > 0) --*i;
      else if (*i == 0) return false;
      return true;
    case ST_TYPE_END:
      if (*i == -1) *i = INT64_MAX;
      else if (*i < 0) ++*i;
      return true;
    default: return true;
  }
}
int64_t st__index_to_lua(st_type type, int64_t i);

/* -- cut_numbers.c --------------------------------------------------------- */

/* True for the name of an operator that writes a number as it is. */
bool st__may_cut(const char *name);
/* True if a tensor of dtype d cannot hold the fraction of the value, or one of
 * bools NaN or an infinity. */
bool st__is_cut(double value, st_dtype d);
/* Warns of it, once per place. what: an operator, or "index" */
void st__warn_cut(st__state *h, lua_State *L, const char *what, double value,
                  st_dtype d);
struct st__packet;
/* Warns if a number among the arguments from first to top is cut, and returns
 * true: a function of the script may have run. */
bool st__check_cut(st__state *h, lua_State *L, const struct st__packet *p,
                   int first, int top);

/* -- overload_resolution.c ------------------------------------------------- */

/* Overload packet: the overloads of a name. A finalizer that runs while
 * arguments are converted may refresh it, so callers must not keep ops. */
typedef struct st__packet {
  st__state *h;
  int n;
  bool is_overload;     /* a single overload, not a packet */
  const st_op **ops;    /* owned; &only for a single overload */
  const st_op *only;
  struct st__resolution_cache *cache; /* owned; NULL: empty */
  bool may_cut;         /* Note [Numbers that are cut] */
  unsigned tensors;     /* bits of the arguments that were tensors lately, and
                           of the keywords */
  char name[];          /* "aten::add", with an overload "aten::add.Tensor" */
} st__packet;

/* Selects an overload and fills f; false when none fits. The caller has set h,
 * L, first, npos, keywords, nkeywords, is_method and is_complete. */
bool st__resolve_overload(st__frame *f, const st__packet *p);
/* The same with one overload. */
bool st__match_overload(st__frame *f, const st_op *op);
/* Raises an error that says why st__resolve_overload failed, with calls that
 * fit. */
void st__raise_mismatch(st__frame *f, const st__packet *p);
/* Converts the arguments from stack index first on into f, whose is_method and
 * is_complete the caller has set; raises when no overload fits. */
void st__resolve_frame(st__state *h, lua_State *L, st__packet *p, int first,
                       st__frame *f);

/* -- packet.c -------------------------------------------------------------- */

/* Pushes an empty packet. [+1] */
st__packet *st__push_packet(st__state *h, lua_State *L, const char *name,
                            const char *overload);
/* Empties its cache of resolutions. */
void st__free_resolutions(st__packet *p);
/* Looks up the overloads of a packet again. */
void st__refresh(st__state *h, lua_State *L, st__packet *p);
/* Pushes the object of the overload op, the same one as long as Lua holds it.
 * [+1] */
void st__push_overload(st__state *h, lua_State *L, const st_op *op);
/* Pushes the full name, such as "aten::add.Tensor". [+1] */
void st__push_op_name(lua_State *L, const st_op *op);
/* Pushes a text without its final newline. [+1] */
void st__push_lines(lua_State *L, const char *text);
/* Pushes the table of packets and overloads. [+1] */
void st__push_packets(st__state *h, lua_State *L);
/* The table of the methods of operator objects: keeps the one at the top,
 * pushes it. */
void st__keep_operator_methods(st__state *h, lua_State *L); /* [-1] */
void st__push_operator_methods(st__state *h, lua_State *L); /* [+1] */

/* -- push_value.c ---------------------------------------------------------- */

/* Pushes a result as a Lua value, which takes over what v owns. [+1] */
void st__push_value(st__state *h, lua_State *L, const st_arg *a, st_value *v);

/* -- resolution_cache.c ---------------------------------------------------- */

/* True if no call of this state is in progress, recorded or traced, so that a
 * shortcut may serve the next one. */
static inline bool st__may_shortcut(const st__state *h) {
  return h->has_shortcuts && !h->running && !h->fiber && !h->recorder &&
         !h->tracing && !h->has_returned && !h->has_deferred;
}
/* st_shortcut_call; raises if there is no memory. False if the usual path has
 * to run the call. */
bool st__run_shortcut(st__state *h, lua_State *L, const st_shortcut *s,
                      const st_value *args, st_value *ret);
/* Like st__resolve_frame, but uses and fills the packet's cache, and may call
 * the operator: then it returns the number of results pushed, else -1. Note
 * [Cached resolutions]. */
int st__call_cached(st__state *h, lua_State *L, st__packet *p, int first,
                    st__frame *f);

/* -- call_advice.c --------------------------------------------------------- */

/* Raises an error for a call that no overload takes, if it is one that NumPy,
 * torch7 or old PyTorch take: the error says what to write. */
void st__advise(const st__frame *f, const st__packet *p);

/* Adds to the message of a failure, if the dtype int64 of an argument is its
 * reason, why numbers have that. */
void st__advise_dtype(const st__frame *f);

/* -- describe_call.c, continued -------------------------------------------- */

/* Writes what an argument takes, in the words of Lua: "a list of integers". */
void st__arg_type_text(const st_arg *a, char *buf, size_t size);
/* Sets the reason that argument a does not accept the value at idx, or that it
 * is missing, for which idx is 0. */
void st__set_reason(st__frame *f, const st_arg *a, int idx);
/* Adds another reason of the same kind for the same argument; false if there
 * is another one. */
bool st__merge_reason(st__reason *r, const st__reason *other);
/* Writes the reason and calls that fit an overload of the packet. */
void st__describe_mismatch(const st__frame *f, const st__packet *p,
                           st__reason *r, char *buf, size_t size);

/* -- call_operator.c ------------------------------------------------------- */

/* Executes the request with the frame's operator and arguments; numbers passed
 * for Tensors are wrapped. */
st_status st__run_frame(st__frame *f, st__request *req);
/* The same, then pushes the results and returns their number. */
int st__return_frame(st__frame *f, st__request *req);
/* Resolves and calls an overload with the arguments from stack index first on;
 * returns the number of results pushed. */
int st__call_operator(st__state *h, lua_State *L, st__packet *p, int first,
                      bool is_method);
/* Calls op and stores its one tensor result in ud, a userdata on the Lua
 * stack; raises on failure. */
void st__call_into(st__state *h, lua_State *L, st_handle op, int n,
                   const st_value *args, st__tensor_ud *ud);
/* True if a call of op with all its arguments needs no dispatch. */
bool st__is_shortcut(st__state *h, st_handle op, int n, const st_value *args);
/* Calls op and releases its result; raises on failure. */
void st__call_for(st__state *h, lua_State *L, st_handle op, int n,
                  const st_value *args);
/* An argument that borrows its tensor. */
static inline st_value st__tensor_arg(st_tensor *t) {
  return (st_value){.tag = ST_TAG_TENSOR, .u.tensor = t};
}
static inline st_value st__int_arg(int64_t i) {
  return (st_value){.tag = ST_TAG_INT, .u.i = i};
}
st_value st__scalar_arg(const st_scalar *s);

/* -- operator_object.c ----------------------------------------------------- */

/* Pushes a C function that calls "ns::name"; false and nothing pushed when
 * there is no such operator. [+0|1] */
bool st__push_callable(st__state *h, lua_State *L, const char *name,
                       bool is_method);
/* Pushes a C function that calls the operator `name` of aten, or else of the
 * first library that has one; nil when there is none. True if it is aten's,
 * so that it may be cached. [+1] */
bool st__push_named(st__state *h, lua_State *L, const char *name,
                    bool is_method);
/* Pushes the operator object for the value at idx: an object of st.ops, an
 * operator's name, st.add or t.add; raises for anything else. [+1] */
st__packet *st__push_operator(st__state *h, lua_State *L, int idx,
                              bool *is_method);

/* -- arithmetic.c ---------------------------------------------------------- */

/* Sets the metamethods of the signs, of "+-*" "/%^", in the metatable at the
 * top to fn, which calls the two functions below. [0] */
void st__set_arithmetic(st__state *h, lua_State *L, const char *signs,
                        lua_CFunction fn);
/* If an operand is a tensor, calls the operator with both; else returns false.
 * [-0|2, +0|1] */
bool st__call_arithmetic(st__state *h, lua_State *L);
/* The sign of the running metamethod. */
char st__sign(lua_State *L);

/* -- lua_kernel.c ---------------------------------------------------------- */

/* What a Lua function gets before the operator's arguments. */
typedef enum st__convention {
  ST_TAKES_ARGS,      /* nothing */
  ST_TAKES_KEYS,      /* the dispatch key set */
  ST_TAKES_OPERATOR   /* the operator object and the dispatch key set */
} st__convention;

/* A Lua function that the engine can call. */
typedef struct st__lua_fn {
  st__state *h;
  int ref;             /* of the function in the registry */
  st__convention convention;
  const char *where;   /* "file:line" of its registration, for messages */
} st__lua_fn;

/* Calls the function; keys is the key set that it gets. */
st_status st__run_lua_fn(const st__lua_fn *s, const st_call *call,
                         st_keyset keys, const st_value *args,
                         st_value *rets);
/* Calls fn from within the engine, in protected mode. An error is raised again
 * where Lua entered the engine. h must be the current binding state. */
st_status st__run_task(st__state *h, void (*fn)(lua_State *L, void *arg),
                       void *arg);
/* Makes a kernel of the function at idx. A successful registration passes it
 * to the engine; otherwise st__drop_kernel frees it. */
void st__new_kernel(st__state *h, lua_State *L, int idx, st__convention c,
                    st_kernel *out);
void st__drop_kernel(st__state *h, lua_State *L, st_kernel *k);
/* Pushes a borrowed argument as a Lua value for a kernel. [+1] */
void st__push_argument(st__state *h, lua_State *L, const st_arg *a,
                       const st_value *v);

/* -- frame_environment.c --------------------------------------------------- */

/* st__env_collect for the arguments of a frame. [+0|1] */
bool st__env_collect_args(const st__frame *f);
/* st__pass_enter around a Lua function that runs for the call of a frame.
 * Returns false and pushes nothing if no environment exists; otherwise
 * st__pass_leave_call must follow. [+0|1] */
bool st__pass_enter_call(st__state *h, lua_State *L, const st__frame *f);
/* The results of the frame's call, from index `first` on, inherit the
 * environments of its arguments. */
void st__env_inherit(st__frame *f, int first);
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

#endif
