/* Part of bind.h: calls of operators from Lua, and of Lua by the engine.
 */
#ifndef ST_LUA_CALL_CALL_H
#define ST_LUA_CALL_CALL_H

/* -- argument_convert.c ---------------------------------------------------- */

enum {
  ST_FRAME_SLOTS = 256,
  ST_FRAME_STACK = 3  /* an argument pushes at most: keyword, copy, list */
};

/* One element of a list. */
typedef union st__slot { int64_t i; double f; st_tensor *t; bool b; } st__slot;

/* Note [Call frames]
 * One call on its way from the Lua stack into the engine. Lists lie in slots
 * or in userdata on the Lua stack, so nothing is lost when Lua raises. */
struct st__frame {
  st__state *h;
  lua_State *L;
  const st_op *op;
  const char *text;      /* its schema as a whole, to know it again */
  const st_arg *schema;  /* its arguments, side by side */
  const st_arg *rets;    /* and its results */
  int nargs, nrets;
  int first, npos;   /* positional arguments: where, how many */
  int keywords;      /* where the table of keywords is, or 0 */
  bool is_method;    /* the first one is `self`, wherever that stands */
  bool is_complete;  /* arguments in schema order, keyword-only ones too */
  bool allow_wrap;   /* a number may stand for a Tensor */
  bool wants_grad;   /* a factory's result requires a gradient */
  int shift;         /* positional ones that a list took beyond its own */
  int nused;         /* keywords taken */
  int ntensors;
  int nwraps;
  int nslots;
  int score;         /* how near it came, to choose which failure to report:
                        two for each argument that fits */
  bool wants_wrap;   /* it failed on a number where a Tensor must be */
  bool explains;     /* note in `why` what does not fit */
  st_value args[ST_MAX_ARGS];
  int source[ST_MAX_ARGS];    /* stack index of each, 0 when it is absent */
  uint8_t wrap[ST_MAX_ARGS];  /* arguments that are numbers to be wrapped */
  st_scalar scalar[ST_MAX_ARGS];
  st__slot slots[ST_FRAME_SLOTS];
  char why[256];
};

/* Converts the value at idx to argument i; false and f->why when it does not
 * fit. Lists may push. */
bool st__convert(st__frame *f, int i, const st_arg *a, int idx);
/* The numbers at idx .. idx + n - 1 as a list of integers. */
bool st__convert_gathered(st__frame *f, int i, const st_arg *a, int idx,
                          int n);
/* Is the value at idx one that a list of integers is made of? */
bool st__is_number(st__frame *f, int idx);
/* Positions of schemas: Lua's to C's and back. False for 0. */
bool st__index_to_c(st_type type, int64_t *i);
int64_t st__index_to_lua(st_type type, int64_t i);

/* -- overload_resolution.c ------------------------------------------------- */

/* The overloads of a name. A finaliser that runs while arguments are read may
 * refresh it: ops is not to be kept. */
typedef struct st__packet {
  int n;
  bool is_overload;     /* one overload of a packet, not the packet */
  const st_op **ops;    /* owned; for an overload it is &only */
  const st_op *only;
  char name[];          /* "aten::add", with an overload "aten::add.Tensor" */
} st__packet;

/* Chooses among overloads and fills f; false when no overload fits. f has
 * binding state, state, first, npos, keywords and is_method. */
bool st__resolve(st__frame *f, const st__packet *p);
/* One overload; false when it does not fit. */
bool st__match_overload(st__frame *f, const st_op *op);
/* Raises what st__resolve found missing. */
void st__raise_mismatch(st__frame *f, const st__packet *p);

/* -- call_operator.c ------------------------------------------------------- */

/* Looks the overloads up again (operator_object.c). */
void st__refresh(st__state *h, lua_State *L, st__packet *p);
/* Reads the stack's arguments from first on into f, which says whether for a
 * method and whether complete; raises when no overload takes them. */
void st__resolve_frame(st__state *h, lua_State *L, st__packet *p, int first,
                       st__frame *f);
/* Does the request with the frame's operator and arguments, numbers wrapped. */
st_status st__run_frame(st__frame *f, st__request *req);
/* The same, and returns how many results it pushed. */
int st__return_frame(st__frame *f, st__request *req);
/* Calls one of the overloads with the stack's arguments from first on;
 * returns how many results it pushed. */
int st__call(st__state *h, lua_State *L, st__packet *p, int first,
             bool is_method);
/* A result as a Lua value; v gives up what it owns. [+1] */
void st__push_value(st__state *h, lua_State *L, const st_arg *a, st_value *v);
/* op with one tensor result into userdata, which must be at the stack's top or
 * below; raises. */
void st__call_into(st__state *h, lua_State *L, st_handle op, int n,
                   const st_value *args, st__tensor_ud *ud);
/* op for its effect; raises. */
void st__call_for(st__state *h, lua_State *L, st_handle op, int n,
                  const st_value *args);
/* Borrowed arguments. */
static inline st_value st__tensor_arg(st_tensor *t) {
  return (st_value){.tag = ST_TAG_TENSOR, .u.tensor = t};
}
static inline st_value st__int_arg(int64_t i) {
  return (st_value){.tag = ST_TAG_INT, .u.i = i};
}
st_value st__scalar_arg(const st_scalar *s);

/* -- operator_object.c ----------------------------------------------------- */

/* A C function that calls "ns::name"; false and nothing when there is no
 * such operator. [+0|1] */
bool st__push_callable(st__state *h, lua_State *L, const char *name,
                       bool is_method);
/* The operator `name` of aten, or else of the first library that has one; nil
 * when there is none. True if it is aten's, which stay. [+1] */
bool st__push_named(st__state *h, lua_State *L, const char *name,
                    bool is_method);
/* The one overload op as an object, the same one while it lives. [+1] */
void st__push_overload(st__state *h, lua_State *L, const st_op *op);
/* A text without the end of its last line. [+1] */
void st__push_lines(lua_State *L, const char *text);
/* "aten::add.Tensor" [+1] */
void st__push_op_name(lua_State *L, const st_op *op);
/* The operator that the value at idx means: an object of st.ops, a name,
 * st.add or t.add. Pushes the object and raises for anything else. [+1] */
st__packet *st__push_operator(st__state *h, lua_State *L, int idx,
                              bool *is_method);
void st__open_operator(st__state *h, lua_State *L); /* [0], core at the top */

/* -- lua_kernel.c ---------------------------------------------------------- */

/* What a function gets in front of the operator's arguments. */
typedef enum st__convention {
  ST_TAKES_ARGS,      /* nothing */
  ST_TAKES_KEYS,      /* the key set */
  ST_TAKES_OPERATOR   /* the operator's object and the key set */
} st__convention;

/* A Lua function that the engine can run. */
typedef struct st__lua_fn {
  st__state *h;
  int ref;             /* of the function in the registry */
  st__convention convention;
  const char *where;   /* where it was registered, for messages */
} st__lua_fn;

/* Runs it for a call; keys is what it is told. */
st_status st__run_lua_fn(const st__lua_fn *s, const st_call *call,
                         st_keyset keys, const st_value *args,
                         st_value *rets);
/* Calls fn from within the engine, in protected mode; what it raises comes out
 * where the engine was entered. The binding state must be the current one. */
st_status st__run_task(st__state *h, void (*fn)(lua_State *L, void *arg),
                       void *arg);
/* A kernel of the function at idx for the engine, which owns it from a
 * successful registration on; st__drop_kernel undoes it. */
void st__new_kernel(st__state *h, lua_State *L, int idx, st__convention c,
                    st_kernel *out);
void st__drop_kernel(st__state *h, lua_State *L, st_kernel *k);
/* A borrowed argument as a kernel sees it. [+1] */
void st__push_argument(st__state *h, lua_State *L, const st_arg *a,
                       const st_value *v);
/* Is the value at idx a function or another value that can be called? */
bool st__is_callable(lua_State *L, int idx);
/* The same or an error that names argument arg. */
void st__check_callable(st__state *h, lua_State *L, int idx, const char *arg);
void st__open_kernel(st__state *h, lua_State *L); /* [0], core at the top */

/* -- dispatch_keyset.c ----------------------------------------------------- */

void st__push_keyset(st__state *h, lua_State *L, st_keyset ks); /* [+1] */
/* A key set or the name of a key. */
st_keyset st__check_keyset(st__state *h, lua_State *L, int idx);
void st__open_keyset(st__state *h, lua_State *L); /* [0], core at the top */

#endif
