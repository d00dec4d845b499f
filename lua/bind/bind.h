/* What the files of the binding share. It is the only code that includes
 * lua.h, and it knows the engine by strided.h alone.
 *
 * Note [One host per Lua state]
 * A host holds what the binding needs of a Lua state: its metatables, the
 * call that is running, the error of a Lua kernel on its way out. Every C
 * function has it as its first upvalue. The engine may hold Lua kernels for
 * longer than the state lives, so a host is counted and lives in C memory.
 *
 * Note [Boxes]
 * A C object in Lua is a userdata whose metatable is the one of its kind; the
 * kind is tested by the metatable's address. The box is made first, empty,
 * then the engine is called, then the result is put into the box: nothing is
 * lost when Lua runs out of memory.
 *
 * Note [Stack comments]
 * A line that changes the Lua stack says so: [-popped, +pushed].
 */
#ifndef ST_LUA_BIND_H
#define ST_LUA_BIND_H

#include <pthread.h>
#include <stdatomic.h>

#include "compat.h"
#include "strided.h"

/* Name as tostring and messages show it. ORDER BOX: box_name (host.c). */
#define ST_BOX_MAP(X) \
  X(TENSOR, "Tensor")          \
  X(DTYPE, "dtype")            \
  X(SCALAR, "scalar")          \
  X(GENERATOR, "Generator")    \
  X(OPERATOR, "operator")      \
  X(LIBRARY, "library")        \
  X(LISTENER, "listener")      \
  X(PLAN, "plan")              \
  X(KEYSET, "keyset")          \
  X(MARK, "mark")              \
  X(VALUES, "values")          \
  X(TEXT, "text")              \
  X(EVENTS, "events")          \
  X(SCHEMA, "schema")          \
  X(CAPSULE, "capsule")        \
  X(SOURCE, "source")          \
  X(MEMBER, "member")          \
  X(ASIDE, "aside")            \
  X(HOST, "host")

typedef enum st_box_kind {
#define ST_BOX_ENUM(id, name) ST_BOX_##id,
  ST_BOX_MAP(ST_BOX_ENUM)
#undef ST_BOX_ENUM
  ST_BOX_COUNT
} st_box_kind;

/* Operators that the binding itself calls. */
#define ST_HANDLE_MAP(X) \
  X(SELECT, "aten::select", "int")         \
  X(SLICE, "aten::slice", "Tensor")        \
  X(UNSQUEEZE, "aten::unsqueeze", "")      \
  X(ALIAS, "aten::alias", "")              \
  X(INDEX, "aten::index", "Tensor")        \
  X(INDEX_PUT, "aten::index_put_", "")     \
  X(FILL, "aten::fill_", "Scalar")         \
  X(COPY, "aten::copy_", "")               \
  X(CLONE, "aten::clone", "")              \
  X(TO_DTYPE, "aten::to", "dtype")         \
  X(TO_DEVICE, "aten::to", "prim_Device")

typedef enum st_handle {
#define ST_HANDLE_ENUM(id, name, overload) ST_HANDLE_##id,
  ST_HANDLE_MAP(ST_HANDLE_ENUM)
#undef ST_HANDLE_ENUM
  ST_HANDLE_COUNT
} st_handle;

typedef enum st_mark { ST_MARK_NONE, ST_MARK_NEWAXIS, ST_MARK_ELLIPSIS }
  st_mark;

typedef struct st__held st__held;             /* Note [Held values] */
typedef struct st__listener st__listener;     /* listen.c */
typedef struct st__notice st__notice;         /* warning.c */
typedef struct st__scope st__scope;           /* scope.c */
typedef struct st__frame st__frame;           /* Note [A frame] */

typedef enum st__warnings {
  ST_WARNINGS_PRINTED, ST_WARNINGS_OFF, ST_WARNINGS_CALL
} st__warnings;

typedef struct st__host {
  atomic_int refs;
  lua_State *running;            /* of the innermost call into the engine */
  const void *meta[ST_BOX_COUNT];   /* addresses of the metatables */
  int meta_ref[ST_BOX_COUNT];       /* and where the registry has them */
  int dtype_ref[ST_DTYPE_COUNT + 1];
  int sizes_ref;                 /* the metatable of shapes */
  int error_ref;                 /* slot for the error of a Lua kernel */
  int is_int64_ref, new_int64_ref;  /* LuaJIT's int64_t; LUA_NOREF without */
  int graves_ref;                /* tensors freed while the engine runs */
  int thread_ref;                /* Note [Who waits] */
  const lua_State *thread;       /* the same, if it is the main one */
  int runner_ref, handler_ref;   /* what calls Lua kernels: kernel.c */
  int observer_ref;              /* what calls observers: mode.c */
  int warner_ref, warning_ref;   /* what calls the function for warnings,
                                    and that: warning.c */
  st__warnings warnings;
  st__notice *notices;           /* Note [Told afterwards] */
  int objects_ref;               /* those of operators, weak */
  int operators_ref;             /* methods of operators */
  bool has_error, has_graves, is_closed, has_retry;
  bool is_strict;                /* libraries may not replace each other */
  const st__frame *frame;        /* of the running call; Note [Identity] */
  void *fiber;                   /* that is inside; Note [Fibers] */
  void *(*fiber_self)(void);
  bool is_delivering;            /* to listeners */
  st__listener *listeners;
  int modes;                     /* in force */
  int64_t debt, due, paid;       /* bytes: Note [Pacing the collector] */
  bool is_collecting;            /* because of them */
  st__scope *scope;              /* the innermost, or NULL: scope.c */
  st_print_options print;
  const st_op *op[ST_HANDLE_COUNT];
  char home[256];                /* "@" and the folder of our Lua files */
  _Atomic(st__held *) dead;      /* values whose references can go */
  struct st__host *next_closed;  /* Note [Closed hosts] */
} st__host;

/* A tensor in Lua. */
typedef struct st__box {
  st_tensor *t;                /* NULL once freed */
  struct st__box *prev, *next; /* of the same scope; NULL outside */
  int64_t charged;             /* bytes: Note [Pacing the collector] */
} st__box;

/* -- host.c --------------------------------------------------------------- */

/* See Note [Who waits]. */
void st__note_thread(st__host *h, lua_State *L);

static inline st__host *st__host_of(lua_State *L) {
  st__host *h = lua_touserdata(L, lua_upvalueindex(1));
  if (h->thread != L) st__note_thread(h, L);
  return h;
}
/* The host whose call into the engine runs on this thread, or NULL. */
st__host *st__current_host(void);
void st__host_release(st__host *h);
/* Around is_closed, the dead and the queues of listeners, of any host. */
void st__lock_hosts(void);
void st__unlock_hosts(void);

/* An empty (zeroed) box of n bytes. [+1] */
void *st__box_new(st__host *h, lua_State *L, st_box_kind kind, size_t n);
/* The box at idx if it is of that kind, else NULL. */
void *st__box_test(st__host *h, lua_State *L, int idx, st_box_kind kind);
/* The same or an error that names argument arg. */
void *st__box_check(st__host *h, lua_State *L, int idx, st_box_kind kind,
                    const char *arg);
/* What the value at idx is, for messages: "Tensor", "string", ... */
const char *st__type_name(st__host *h, lua_State *L, int idx);

/* Puts closures over the host into the table at the top. */
void st__set_functions(st__host *h, lua_State *L, const luaL_Reg *fns);
/* The same for functions that call a body and hold nothing borrowed while it
 * runs. */
void st__set_runners(st__host *h, lua_State *L, const luaL_Reg *fns);
/* The metatable of a kind. [+1] */
void st__push_meta(st__host *h, lua_State *L, st_box_kind kind);

/* Does a C function of ours that may hold borrowed tensors wait below the
 * running one? So it is when a finaliser or a Lua kernel runs. */
bool st__is_nested(st__host *h, lua_State *L);

/* Between the two the engine works for L: it counts from one, and warnings
 * are L's. */
typedef struct st__entry {
  st__host *outer;
  lua_State *running;
  void *fiber;
  int first;
} st__entry;
st__entry st__enter(st__host *h, lua_State *L);
void st__leave(st__host *h, const st__entry *e);

typedef enum st__way { ST_WAY_CALL, ST_WAY_REDISPATCH, ST_WAY_KEY,
                       ST_WAY_EXPLAIN, ST_WAY_PLANS } st__way;

/* What the engine is to do with an operator. */
typedef struct st__job {
  st__way way;
  const st_op *op;
  const char *declared; /* the schema's text; NULL where nobody redefines */
  int n;
  const st_value *args;
  st_value *rets;
  st_keyset keys;   /* REDISPATCH */
  const char *key;  /* KEY */
  char **text;      /* EXPLAIN: the result */
  st_plan **plans;  /* PLANS: the results, of which there is room for so many */
  int room, *count;
} st__job;

/* Asks the engine for this state; on NO_MEMORY once more after a full
 * collection. */
st_status st__run(st__host *h, lua_State *L, const st__job *job);

/* -- fiber.c -------------------------------------------------------------- */

#define ST_OTHER_FIBER "another fiber yielded inside of a body, or of a Lua " \
                       "function that strided called, and has to end it first"

/* Is no other fiber inside? */
bool st__has_turn(const st__host *h);
/* Raises if one is. */
void st__check_turn(st__host *h, lua_State *L, const char *name);
/* lua_pcall for a body: this fiber is inside. */
int st__run_body(st__host *h, lua_State *L, int nargs, int nrets);
void st__open_fiber(st__host *h, lua_State *L); /* [0] */

/* -- pace.c --------------------------------------------------------------- */

void st__pace(st__host *h, lua_State *L);
/* Counts n new bytes, the box's or with NULL several ones', and lets the
 * collector catch up. */
static inline void st__charge(st__host *h, lua_State *L, st__box *box,
                              int64_t n) {
  if (box) box->charged += n;
  h->debt += n;
  if (h->debt > h->due) st__pace(h, L);
}
/* The box is about to be emptied ahead of the collector. */
void st__credit(st__host *h, const st__box *box);
/* A full collection after NO_MEMORY, once. True: try once more. */
bool st__make_room(st__host *h, lua_State *L, bool *made);

/* -- hold.c --------------------------------------------------------------- */

/* Note [Held values]
 * The engine may hold a Lua value, the function of a kernel or the owner of
 * foreign memory, for longer than Lua does, and let go of it on any thread,
 * also when the state is closed. The value has a reference in the registry;
 * who lets go puts it among the dead of the host, and the thread of the state
 * drops the references of these when it comes by. */
struct st__held {
  st__host *h;         /* counted */
  int ref;
  st__held *next;      /* among the dead */
};

/* A block of size bytes that begins with a reference to the value at idx and
 * is zero behind it; raises when there is no memory. */
void *st__hold(st__host *h, lua_State *L, int idx, size_t size);
/* Frees such a block, on any thread. */
void st__let_go(void *held);
/* Drops the references that can go. */
void st__bury(st__host *h, lua_State *L);

/* -- foreign.c ------------------------------------------------------------ */

/* What elements are, and how they lie in memory. */
typedef struct st__layout {
  st_dtype dtype;
  int ndim;
  bool has_strides;    /* without, they are contiguous */
  size_t nbytes;       /* from the first to the end of the last */
  int64_t sizes[ST_MAX_DIMS], strides[ST_MAX_DIMS];
} st__layout;

static inline const int64_t *st__layout_strides(const st__layout *l) {
  return l->has_strides ? l->strides : NULL;
}
/* A light userdata, or a pointer of LuaJIT's: its address. */
bool st__to_address(lua_State *L, int idx, void **out);
/* The table of integers at idx; returns how many. */
int st__check_sizes(st__host *h, lua_State *L, int idx, const char *arg,
                    int64_t *out);
/* dtype, shape and strides or nil at idx and behind. */
void st__check_layout(st__host *h, lua_State *L, int idx, st__layout *out);
/* Any byte but 0 becomes 1. */
void st__make_bools(char *p, size_t n);

/* -- source.c, aside.c ---------------------------------------------------- */

/* A file or bytes, counted; any thread may let go of it. */
typedef struct st__source st__source;

st__source *st__check_source(st__host *h, lua_State *L, int idx);
st__source *st__source_retain(st__source *s);
void st__source_release(st__source *s); /* NULL is fine */
size_t st__source_size(const st__source *s);
/* Why they could not be read; NULL when they were. */
const char *st__source_read(const st__source *s, size_t offset, void *out,
                            size_t n);
/* Appends to the file at idx; the same. */
const char *st__aside_write(lua_State *L, int idx, const void *p, size_t n);
/* The bytes of the string or of the tensor's memory at idx. */
const char *st__check_bytes(st__host *h, lua_State *L, int idx, size_t *n);
/* nil and why not. [+2] */
int st__failed(lua_State *L, const char *why);

/* -- raise.c -------------------------------------------------------------- */

/* Is it a frame of the user's: of Lua, and not of our own files? */
bool st__is_users(const st__host *h, const lua_Debug *ar);
/* "file:line" of the innermost of them, "" without, into buf; returns it. */
char *st__place(const st__host *h, lua_State *L, char *buf, size_t size);

/* Raises the failure that the engine reported, at the caller's line; does
 * not return. The only function here that does. */
int st__raise(st__host *h, lua_State *L, st_status status);
/* The same for a failure found here. */
__attribute__((format(printf, 4, 5)))
int st__error(st__host *h, lua_State *L, st_status code, const char *format,
              ...);

/* -- scalar.c ------------------------------------------------------------- */

/* Numbers, booleans, int64_t cdata and scalar boxes; false for the rest. */
bool st__to_scalar(st__host *h, lua_State *L, int idx, st_scalar *out);
/* A number without a fraction that fits. */
bool st__to_int(st__host *h, lua_State *L, int idx, int64_t *out);
bool st__to_double(st__host *h, lua_State *L, int idx, double *out);
int64_t st__check_int(st__host *h, lua_State *L, int idx, const char *arg);
void st__push_int(st__host *h, lua_State *L, int64_t i);       /* [+1] */
void st__push_scalar(st__host *h, lua_State *L, st_scalar s);  /* [+1] */
/* An exact integer from the integer or decimal string at idx. [+1] */
int st__new_int64(st__host *h, lua_State *L, int idx);
void st__open_scalar(st__host *h, lua_State *L);               /* [0] */

/* -- enum.c --------------------------------------------------------------- */

bool st__to_dtype(st__host *h, lua_State *L, int idx, st_dtype *out);
st_dtype st__check_dtype(st__host *h, lua_State *L, int idx,
                         const char *arg);
void st__push_dtype(st__host *h, lua_State *L, st_dtype d); /* [+1] */
bool st__to_format(lua_State *L, int idx, st_format *out);
bool st__to_device(lua_State *L, int idx, st_device *out);
bool st__is_mark(st__host *h, lua_State *L, int idx, st_mark mark);
void st__open_enum(st__host *h, lua_State *L); /* [0], core at the top */

/* -- tensor.c ------------------------------------------------------------- */

/* The tensor at idx, or NULL for anything else, freed ones included. */
st_tensor *st__to_tensor(st__host *h, lua_State *L, int idx);
st_tensor *st__check_tensor(st__host *h, lua_State *L, int idx,
                            const char *arg);
st__box *st__push_box(st__host *h, lua_State *L);                 /* [+1] */
/* A box of its own for t. */
st__box *st__push_kept(st__host *h, lua_State *L, st_tensor *t);  /* [+1] */
void st__push_sizes(st__host *h, lua_State *L, const int64_t *p, int n,
                    int64_t unit);                                /* [+1] */
void st__open_tensor(st__host *h, lua_State *L); /* [0], core at the top */

/* -- scope.c -------------------------------------------------------------- */

void st__scope_enter(st__scope *s, st__box *box);
void st__scope_leave(st__box *box); /* none: fine */
void st__open_scope(st__host *h, lua_State *L); /* [0], core at the top */

/* -- argument.c ----------------------------------------------------------- */

enum {
  ST_FRAME_SLOTS = 256,
  ST_FRAME_STACK = 3  /* an argument pushes at most: keyword, copy, list */
};

/* One element of a list. */
typedef union st__slot { int64_t i; double f; st_tensor *t; bool b; } st__slot;

/* Note [A frame]
 * One call on its way from the Lua stack into the engine. Lists lie in slots
 * or in userdata on the Lua stack, so nothing is lost when Lua raises. */
struct st__frame {
  st__host *h;
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
bool st__position_in(st_type type, int64_t *i);
int64_t st__position_out(st_type type, int64_t i);

/* -- resolve.c ------------------------------------------------------------ */

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
 * host, state, first, npos, keywords and is_method. */
bool st__resolve(st__frame *f, const st__packet *p);
/* One overload; false when it does not fit. */
bool st__fill(st__frame *f, const st_op *op);
/* Raises what st__resolve found missing. */
void st__complain(st__frame *f, const st__packet *p);

/* -- call.c --------------------------------------------------------------- */

/* Looks the overloads up again (operator.c). */
void st__refresh(st__host *h, lua_State *L, st__packet *p);
/* Reads the stack's arguments from first on into f, which says whether for a
 * method and whether complete; raises when no overload takes them. */
void st__prepare(st__host *h, lua_State *L, st__packet *p, int first,
                 st__frame *f);
/* Does the job with the frame's operator and arguments, numbers wrapped. */
st_status st__perform(st__frame *f, st__job *job);
/* The same, and returns how many results it pushed. */
int st__finish(st__frame *f, st__job *job);
/* Calls one of the overloads with the stack's arguments from first on;
 * returns how many results it pushed. */
int st__call(st__host *h, lua_State *L, st__packet *p, int first,
             bool is_method);
/* A result as a Lua value; v gives up what it owns. [+1] */
void st__push_value(st__host *h, lua_State *L, const st_arg *a, st_value *v);
/* op with one tensor result into box, which must be at the stack's top or
 * below; raises. */
void st__call_into(st__host *h, lua_State *L, st_handle op, int n,
                   const st_value *args, st__box *box);
/* op for its effect; raises. */
void st__call_for(st__host *h, lua_State *L, st_handle op, int n,
                  const st_value *args);
/* Borrowed arguments. */
static inline st_value st__tensor_arg(st_tensor *t) {
  return (st_value){.tag = ST_TAG_TENSOR, .u.tensor = t};
}
static inline st_value st__int_arg(int64_t i) {
  return (st_value){.tag = ST_TAG_INT, .u.i = i};
}
st_value st__scalar_arg(const st_scalar *s);
void st__open_call(st__host *h, lua_State *L); /* [0] */

/* -- operator.c ----------------------------------------------------------- */

/* A C function that calls "ns::name"; false and nothing when there is no
 * such operator. [+0|1] */
bool st__push_callable(st__host *h, lua_State *L, const char *name,
                       bool is_method);
/* The operator `name` of aten, or else of the first library that has one; nil
 * when there is none. True if it is aten's, which stay. [+1] */
bool st__push_named(st__host *h, lua_State *L, const char *name,
                    bool is_method);
/* The one overload op as an object, the same one while it lives. [+1] */
void st__push_overload(st__host *h, lua_State *L, const st_op *op);
/* A text without the end of its last line. [+1] */
void st__push_lines(lua_State *L, const char *text);
/* "aten::add.Tensor" [+1] */
void st__push_op_name(lua_State *L, const st_op *op);
/* The operator that the value at idx means: an object of st.ops, a name,
 * st.add or t.add. Pushes the object and raises for anything else. [+1] */
st__packet *st__push_operator(st__host *h, lua_State *L, int idx,
                              bool *is_method);
void st__open_operator(st__host *h, lua_State *L); /* [0], core at the top */

/* -- kernel.c ------------------------------------------------------------- */

/* What a function gets in front of the operator's arguments. */
typedef enum st__convention {
  ST_TAKES_ARGS,      /* nothing */
  ST_TAKES_KEYS,      /* the key set */
  ST_TAKES_OPERATOR   /* the operator's object and the key set */
} st__convention;

/* A Lua function that the engine can run. */
typedef struct st__script {
  st__host *h;
  int ref;             /* of the function in the registry */
  st__convention convention;
  const char *place;   /* where it was registered, for messages */
} st__script;

/* Runs it for a call; keys is what it is told. */
st_status st__run_script(const st__script *s, const st_call *call,
                         st_keyset keys, const st_value *args,
                         st_value *rets);
/* A kernel of the function at idx for the engine, which owns it from a
 * successful registration on; st__drop_kernel undoes it. */
void st__new_kernel(st__host *h, lua_State *L, int idx, st__convention c,
                    st_kernel *out);
void st__drop_kernel(st__host *h, lua_State *L, st_kernel *k);
/* A borrowed argument as a kernel sees it. [+1] */
void st__push_argument(st__host *h, lua_State *L, const st_arg *a,
                       const st_value *v);
/* Is the value at idx a function or another value that can be called? */
bool st__is_callable(lua_State *L, int idx);
/* The same or an error that names argument arg. */
void st__check_callable(st__host *h, lua_State *L, int idx, const char *arg);
void st__open_kernel(st__host *h, lua_State *L); /* [0], core at the top */

/* -- keyset.c ------------------------------------------------------------- */

void st__push_keyset(st__host *h, lua_State *L, st_keyset ks); /* [+1] */
/* A key set or the name of a key. */
st_keyset st__check_keyset(st__host *h, lua_State *L, int idx);
void st__open_keyset(st__host *h, lua_State *L); /* [0], core at the top */

/* -- listen.c ------------------------------------------------------------- */

/* Calls the listeners of this state with what changed; may raise what they
 * raise. Belongs at the end of whatever registers. */
void st__deliver(st__host *h, lua_State *L);
/* With the host. */
void st__free_listeners(st__host *h);
void st__open_listen(st__host *h, lua_State *L); /* [0], core at the top */

/* -- table.c -------------------------------------------------------------- */

/* A tensor from the table or number at idx. dtype NONE infers it. [+1] */
st__box *st__tensor_from(st__host *h, lua_State *L, int idx, st_dtype dtype,
                         st_device device);
void st__open_table(st__host *h, lua_State *L); /* [0], core at the top */

/* The bytes of the tensor at idx, from its first element to the end of its
 * last; raises where they are not here, or not its elements. */
char *st__check_memory(st__host *h, lua_State *L, int idx, size_t *n);

/* -- item.c --------------------------------------------------------------- */

typedef enum st__item_kind {
  ST_ITEM_POSITION, ST_ITEM_RANGE, ST_ITEM_NEWAXIS, ST_ITEM_ELLIPSIS,
  ST_ITEM_TENSOR, ST_ITEM_BOOL
} st__item_kind;

/* One part of a subscript; positions in C's convention. */
typedef struct st__item {
  st__item_kind kind;
  int64_t a, b, step;   /* POSITION: a; RANGE: [a, b) by step; BOOL: a */
  bool is_exact;        /* a range of one: out of range is an error */
  st_tensor *tensor;    /* a box on the Lua stack holds it */
} st__item;

enum { ST_MAX_ITEMS = 2 * ST_MAX_DIMS };

/* The subscript at idx (number, boolean, mark, tensor, table, string) as
 * items; returns how many, or raises. [+number of tensors] */
int st__items(st__host *h, lua_State *L, int idx, st__item *items);

/* -- The rest ------------------------------------------------------------- */

/* Into the core table at the top. [0] */
typedef void st__opener(st__host *h, lua_State *L);
st__opener st__open_subscript, st__open_library, st__open_plan,
  st__open_system, st__open_guard, st__open_mode, st__open_inspect,
  st__open_explain, st__open_trace, st__open_schema, st__open_signal,
  st__open_warning, st__open_foreign, st__open_capsule, st__open_source,
  st__open_aside, st__open_member, st__open_share, st__open_memory;

/* Calls the function for warnings with what a call has left; a failure keeps
 * its message. [0] */
void st__tell_notices(st__host *h);

/* In the middle of a call: runs the C function in slot ref of the registry on
 * arg; a failure under way stays what it is. Not 0: it raised. [+0|1] */
int st__aside(st__host *h, int ref, void *arg);

/* A new host; its sentinel stays in the registry. [0] */
st__host *st__host_new(lua_State *L);

#endif
