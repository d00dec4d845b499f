/* Cached overload resolutions and shortcuts, for the calls that scripts repeat
 * (C16).
 *
 * Note [Cached resolutions]
 * Overload resolution depends on the types of the arguments and on the names of
 * the keywords alone while all of them are tensors, numbers, booleans, strings
 * and lists of integers. Numbers count as three types: 0, which is no index,
 * other integers, and the rest. So a packet caches its last resolutions by
 * these types and names. A string is converted anew: if it is no dtype, for
 * example, the usual path tries the other overloads. Where an overload takes
 * any string and another one a dtype, the string decides, and nothing is
 * cached. A hit fills the frame without trying overloads; it gives what
 * st__resolve_overload would give. Names of keywords are compared by address:
 * Lua interns strings, and the binding state keeps those that are cached. An
 * entry is valid until an operator is redefined or removed anywhere, or until
 * the packet lists its overloads again.
 * A resolution that passed over an undefined overload is not cached, since
 * defining that would change it. STRIDED_SHORTCUTS=0 in the environment
 * disables the cache.
 *
 * An entry also has the operator's shortcut, if it has one: a function of the
 * engine that serves plain tensors without dispatch (st_shortcut_call). It
 * returns a number, a new tensor, a view, or the tensor that it wrote. The call
 * needs no frame then: it does not warn, does not call Lua functions, and fails
 * only without memory. If the shortcut cannot serve a call, the userdata made
 * for its result is left for the usual path.
 */

/* Note [The budget of a call]
 * Nanoseconds of a call on one element, and of a view of 10 x 10, from LuaJIT
 * on an AMD EPYC with AVX-512, one thread.
 *
 *                                          a + b  add_  m:t()  item()
 *   a loop that calls a C function            13    13     13      13
 *   a userdata, its finalizer, collection     61     -     61       -
 *   st_shortcut_call, its result released     48    37     52      12
 *   arguments, cached entry, result           68    43     57      29
 *   together                                 190    93    183      54
 *   the same through the dispatcher          258   157    310     116
 *   and without this cache                   464   386    302     149
 *
 * A new tensor takes 36 of the 48; a view takes 20 of its 52 for atomic counts
 * of the storage and the base, unless the process has one thread. */

#include <stdlib.h>
#include <string.h>

#include "call/call.h"
#include "call/argument_types.h"

enum { MAX_SCHEMA = 12, ENTRIES = 4, MAX_RESULTS = 4 };

struct st__resolutions { int names_ref; }; /* cached keywords, as keys */

typedef st__call_types call;

/* How an argument of the schema gets its value. */
typedef enum source_kind {
  FROM_DEFAULT, FROM_TENSOR, FROM_INTEGER, FROM_SCALAR, FROM_WRAPPED,
  FROM_STRING,
  FROM_INTEGERS, /* n numbers, as a list */
  FROM_LIST
} source_kind;

typedef struct source {
  uint8_t kind, at, n; /* at: index among the arguments of the call */
} source;

/* What a shortcut's result becomes, or its results. */
typedef enum result_kind {
  NOT_KNOWN_YET, NO_SHORTCUT, AS_NUMBER, AS_NEW_TENSOR, AS_NEW_TENSORS,
  AS_VIEW, AS_WRITTEN
} result_kind;

typedef struct entry {
  uint32_t key;
  uint64_t epoch;
  int nkeywords;
  const char *names[ST_MAX_KEYWORDS];
  const st_op *op;
  const char *text;
  const st_arg *schema, *rets;
  int nargs, nrets, ntensors;
  int ngiven;
  uint8_t given[MAX_SCHEMA]; /* the arguments without their default */
  result_kind result;
  uint8_t written; /* index of that argument of the call */
  uint8_t pause;   /* calls until the shortcut is tried again */
  st_shortcut shortcut;
  source from[MAX_SCHEMA];
  st_value defaults[MAX_SCHEMA];
} entry;

struct st__resolution_cache {
  unsigned next; /* the entry that the next resolution replaces */
  entry entries[ENTRIES];
};

/* -- Hits ----------------------------------------------------------------- */

enum { MAX_SLOTS = ST_MAX_GIVEN + ST_MAX_ELEMENTS };

/* The memory of converted arguments. */
typedef struct memory {
  st_scalar *scalars;  /* one per argument of the schema */
  st__slot *slots;     /* of lists */
  int nslots;
} memory;

/* n elements of a list, which are `elements` of the call. */
static bool to_list(st_type type, const int64_t *elements, int n, memory *m,
                    st_value *out) {
  int64_t *p = &m->slots[m->nslots].i;
  m->nslots += n;
  for (int k = 0; k < n; k++) {
    p[k] = elements[k];
    if (!st__index_to_c(type, &p[k])) return false;
  }
  *out = (st_value){.tag = ST_TAG_INTS, .len = (uint32_t)n, .u.ints = p};
  return true;
}

static bool to_string(st_type type, lua_State *L, int idx, st_value *out) {
  size_t n;
  int64_t i;
  if (type == ST_TYPE_STRING) {
    const char *text = lua_tolstring(L, idx, &n);
    *out = (st_value){.tag = ST_TAG_STRING, .len = (uint32_t)n,
                      .u.string = text};
    return true;
  }
  if (!st__to_enum(L, type, idx, &i)) return false;
  *out = st__int_arg(i);
  return true;
}

/* Converts argument i, which is neither a tensor nor one integer; a number to
 * wrap stays a number. Not inlined, since most arguments are one of the two. */
__attribute__((noinline))
static bool convert_other(const entry *e, int i, const call *c, memory *m,
                          st_value *out) {
  const source *from = &e->from[i];
  const st__argument *arg = &c->args[from->at];
  const st_type type = e->schema[i].type;
  int64_t numbers[ST_MAX_GIVEN];
  switch ((source_kind)from->kind) {
    case FROM_SCALAR: case FROM_WRAPPED:
      m->scalars[i] = arg->s;
      if (from->kind == FROM_SCALAR) st__fit_scalar(type, &m->scalars[i]);
      *out = st__scalar_arg(&m->scalars[i]);
      return true;
    case FROM_INTEGERS:
      for (int k = 0; k < from->n; k++) numbers[k] = arg[k].s.u.i;
      return to_list(type, numbers, from->n, m, out);
    case FROM_LIST:
      return to_list(type, c->elements + arg->first, arg->n, m, out);
    case FROM_STRING:
      return to_string(type, c->L, st__argument_index(c, from->at), out);
    default: return false;
  }
}

/* Sets all arguments of the schema. */
static inline bool convert(const entry *e, const call *c, memory *m,
                           st_value *out) {
  if (e->ngiven < e->nargs) {
    for (int i = 0; i < e->nargs; i++) out[i] = e->defaults[i];
  }
  for (int k = 0; k < e->ngiven; k++) {
    const int i = e->given[k];
    const source *from = &e->from[i];
    if (from->kind == FROM_TENSOR) {
      out[i] = st__tensor_arg(c->args[from->at].t);
    } else if (from->kind == FROM_INTEGER) {
      out[i] = st__int_arg(c->args[from->at].s.u.i);
      if (!st__index_to_c(e->schema[i].type, &out[i].u.i)) return false;
    } else if (!convert_other(e, i, c, m, &out[i])) {
      return false;
    }
  }
  return true;
}

static bool fill_frame(st__frame *f, const entry *e, const call *c) {
  memory m = {f->scalar, f->slots, 0};
  f->op = e->op;
  f->text = e->text;
  f->schema = e->schema;
  f->rets = e->rets;
  f->nargs = e->nargs;
  f->nrets = e->nrets;
  f->ntensors = e->ntensors;
  f->nwraps = 0;
  f->requires_grad = f->has_tensors = false;
  if (!convert(e, c, &m, f->args)) return false;
  for (int i = 0; i < e->nargs; i++) {
    const source *from = &e->from[i];
    if (from->kind == FROM_WRAPPED) f->wrap[f->nwraps++] = (uint8_t)i;
    f->source[i] = from->kind == FROM_DEFAULT
                   ? 0 : st__argument_index(c, from->at);
  }
  f->nslots = m.nslots;
  return true;
}

/* -- Shortcuts ------------------------------------------------------------ */

bool st__run_shortcut(st__state *h, lua_State *L, const st_shortcut *s,
                      const st_value *args, st_value *ret) {
  bool made = false;
  st_status status;
  if (!st_shortcut_call(s, args, ret, &status)) return false;
  if (status == ST_OK) return true;
  if (status != ST_NO_MEMORY || !st__gc_retry(h, L, &made)) {
    st__raise(h, L, status);
  }
  return false;
}

static bool are_new_tensors(const entry *e) {
  bool are = e->nrets <= MAX_RESULTS;
  for (int i = 0; i < e->nrets && are; i++) {
    const st_arg *ret = &e->rets[i];
    are = ret->type == ST_TYPE_TENSOR && !ret->list && !ret->optional &&
          !ret->is_write && !ret->is_alias;
  }
  return are;
}

/* Finds the shortcut of e and what its result becomes. */
static void find_shortcut(entry *e) {
  const st_arg *ret = e->rets;
  st_shortcut_find(e->op, &e->shortcut);
  if (e->shortcut.epoch) e->result = NO_SHORTCUT;
  if (!e->shortcut.run || e->nrets == 0) return;
  if (e->nrets > 1) {
    if (are_new_tensors(e)) e->result = AS_NEW_TENSORS;
    return;
  }
  if (ret->list || ret->optional) return;
  if (ret->is_write) {
    for (int i = 0; i < e->nargs; i++) {
      if (!e->schema[i].is_write || e->from[i].kind != FROM_TENSOR) continue;
      e->result = AS_WRITTEN;
      e->written = e->from[i].at;
    }
  } else if (ret->type == ST_TYPE_TENSOR) {
    if (ret->is_alias && e->from[0].kind != FROM_TENSOR) return;
    e->result = ret->is_alias ? AS_VIEW : AS_NEW_TENSOR;
  } else if (ret->type == ST_TYPE_SCALAR) {
    e->result = AS_NUMBER;
  }
}

/* Tracks the source of a view that may get a gradient, as st__env_inherit
 * does. */
static void track_source(const call *c, int at, const st_tensor *view) {
  if (c->args[at].ud->slot || !st_tensor_base(view)) return;
  st__track_ud(c->h, c->L, st__argument_index(c, at));
}

/* A new userdata may run a finalizer that frees e, so that is copied. */
static int push_tensor(const call *c, const entry *given, const st_value *args,
                       int *spare) {
  const st_shortcut shortcut = given->shortcut;
  const bool is_view = given->result == AS_VIEW;
  const int first = given->from[0].at;
  st_value v;
  st__tensor_ud *ud = st__new_tensor_ud(c->h, c->L);  /* [+1] */
  if (!st__run_shortcut(c->h, c->L, &shortcut, args, &v)) {
    *spare = lua_gettop(c->L);
    return -1;
  }
  if (is_view && v.u.tensor == args[0].u.tensor) { /* as t:contiguous() */
    st_value_clear(&v);
    lua_pushvalue(c->L, st__argument_index(c, first)); /* [+1] */
    return 1;
  }
  ud->t = v.u.tensor;
  if (is_view) track_source(c, first, ud->t);
  if (!is_view || st_tensor_storage_refcount(ud->t) == 1) { /* as t:to(dtype) */
    st__gc_charge(c->h, ud, st__memory_of(ud->t));
  }
  return 1;
}

/* The same for several new tensors. */
static int push_tensors(const call *c, const entry *given,
                        const st_value *args) {
  const st_shortcut shortcut = given->shortcut;
  const int n = given->nrets, top = lua_gettop(c->L);
  st__tensor_ud *ud[MAX_RESULTS];
  st_value v[MAX_RESULTS];
  for (int i = 0; i < n; i++) {
    ud[i] = st__new_tensor_ud(c->h, c->L);            /* [+1] */
  }
  if (!st__run_shortcut(c->h, c->L, &shortcut, args, v)) {
    lua_settop(c->L, top);                            /* [-n] */
    return -1;
  }
  for (int i = 0; i < n; i++) ud[i]->t = v[i].u.tensor;
  for (int i = 0; i < n; i++) {
    st__gc_charge(c->h, ud[i], st__memory_of(ud[i]->t));
  }
  return n;
}

/* Returns the number of results, or -1 if the usual path has to call the
 * operator. */
static int try_shortcut(const call *c, const entry *e, int *spare) {
  st_scalar scalars[MAX_SCHEMA];
  st__slot slots[MAX_SLOTS];
  st_value args[MAX_SCHEMA], v;
  memory m = {scalars, slots, 0};
  if (!convert(e, c, &m, args)) return -1;
  if (e->result == AS_NEW_TENSOR || e->result == AS_VIEW) {
    return push_tensor(c, e, args, spare);              /* [+1] */
  }
  if (e->result == AS_NEW_TENSORS) return push_tensors(c, e, args);
  if (!st__run_shortcut(c->h, c->L, &e->shortcut, args, &v)) return -1;
  if (e->result == AS_NUMBER) {
    st__push_value(c->h, c->L, e->rets, &v);            /* [+1] */
  } else {
    st_value_clear(&v);
    lua_pushvalue(c->L, st__argument_index(c, e->written));       /* [+1] */
  }
  return 1;
}

static inline bool has_names(const entry *e, const call *c) {
  if (e->nkeywords != c->nkeywords) return false;
  for (int k = 0; k < c->nkeywords; k++) {
    if (e->names[k] != c->names[k]) return false;
  }
  return true;
}

static inline entry *find(const call *c) {
  const st__packet *p = c->p;
  for (int k = 0; c->key && p->cache && k < ENTRIES; k++) {
    entry *e = &p->cache->entries[k];
    if (e->key == c->key && e->epoch == c->epoch && has_names(e, c)) return e;
  }
  return NULL;
}

/* Calls the shortcut of e, with the same result. One that cannot serve a call,
 * as of tensors with gradients, often cannot serve the next. */
static int call_shortcut(const call *c, entry *e, int *spare) {
  enum { PAUSE = 3 };
  if (e->result == NOT_KNOWN_YET) find_shortcut(e);
  if (e->result <= NO_SHORTCUT || !st__may_shortcut(c->h)) return -1;
  if (e->pause > 0) {
    e->pause--;
    return -1;
  }
  const int n = try_shortcut(c, e, spare);
  if (n < 0 && (e = find(c))) e->pause = PAUSE; /* it may be another by now */
  return n;
}

/* -- Misses --------------------------------------------------------------- */

static bool is_wrapped(const st__frame *f, int i) {
  for (int k = 0; k < f->nwraps; k++) {
    if (f->wrap[k] == i) return true;
  }
  return false;
}

static int find_name(const call *c, const char *name) {
  for (int k = 0; k < c->nkeywords; k++) {
    if (strcmp(c->names[k], name) == 0) return c->npos + k;
  }
  return -1;
}

/* Index among the arguments of the call of the keyword for argument i; -1 if it
 * has another name, such as a synonym. The name "out" stands for an output that
 * is not given by its own. */
static int find_keyword(const call *c, const st_arg *a) {
  const int at = find_name(c, a->name);
  return at < 0 && a->is_write && a->kwarg_only ? find_name(c, "out") : at;
}

/* True if an overload takes a dtype or another name. */
static bool takes_names(const st__packet *p) {
  for (int k = 0; k < p->n; k++) {
    const int nargs = st_op_schema(p->ops[k]) ? st_op_nargs(p->ops[k]) : 0;
    for (int i = 0; i < nargs; i++) {
      const st_type type = st_op_arg(p->ops[k], i)->type;
      if (type == ST_TYPE_DTYPE || type == ST_TYPE_LAYOUT ||
          type == ST_TYPE_FORMAT || type == ST_TYPE_DEVICE) {
        return true;
      }
    }
  }
  return false;
}

/* How argument i, which is no tensor, gets its value from the one at idx; false
 * if that is not cached. */
static bool trace_other(const st__frame *f, int i, const call *c, int idx,
                        source *from) {
  const st_value *v = &f->args[i];
  const st_type type = f->schema[i].type;
  if (lua_type(f->L, idx) == LUA_TSTRING) {
    from->kind = FROM_STRING;
    return !f->schema[i].list &&
           !(type == ST_TYPE_STRING && c->p->n > 1 && takes_names(c->p));
  }
  switch ((st_tag)v->tag) {
    case ST_TAG_INTS:
      from->kind = lua_istable(f->L, idx) ? FROM_LIST : FROM_INTEGERS;
      from->n = (uint8_t)v->len;
      return true;
    case ST_TAG_INT: case ST_TAG_FLOAT: case ST_TAG_BOOL:
      from->kind = type == ST_TYPE_SCALAR || type == ST_TYPE_FLOAT ||
                   type == ST_TYPE_COMPLEX || type == ST_TYPE_BOOL
                   ? FROM_SCALAR : FROM_INTEGER;
      return true;
    default: return false;
  }
}

/* Where argument i came from; false if that is not cached. */
static bool trace_source(const st__frame *f, int i, const call *c,
                         source *from) {
  const int idx = f->source[i];
  *from = (source){FROM_DEFAULT, 0, 1};
  if (idx == 0) return true;
  const int at = idx > c->top ? find_keyword(c, &f->schema[i])
                              : idx - c->first;
  if (at < 0) return false;
  from->at = (uint8_t)at;
  if (is_wrapped(f, i)) {
    from->kind = FROM_WRAPPED;
    return true;
  }
  if (f->args[i].tag == ST_TAG_TENSOR) {
    from->kind = FROM_TENSOR;
    return true;
  }
  return trace_other(f, i, c, idx, from);
}

/* A call with a wrapped number has passed over all other overloads. */
static bool passed_undefined(const st__frame *f, const st__packet *p) {
  for (int k = 0; k < p->n && (f->allow_wrap || p->ops[k] != f->op); k++) {
    if (!st_op_schema(p->ops[k])) return true;
  }
  return false;
}

/* Keeps the names of the call's keywords for the life of the state; false if
 * Lua does not intern one. */
static bool keep_names(const call *c) {
  lua_State *L = c->L;
  lua_rawgeti(L, LUA_REGISTRYINDEX, c->h->resolutions->names_ref); /* [+1] */
  bool are_interned = true;
  for (int k = 0; k < c->nkeywords; k++) {
    lua_pushstring(L, c->names[k]);                   /* [+1] */
    are_interned &= lua_tostring(L, -1) == c->names[k];
    lua_pushboolean(L, true);                         /* [+1] */
    lua_rawset(L, -3);                                /* [-2] */
  }
  lua_pop(L, 1);                                      /* [-1] */
  return are_interned;
}

/* Nothing is cached without memory, or if a keyword is for no argument, as
 * requires_grad. */
static void cache(st__frame *f, const call *c) {
  st__packet *p = c->p;
  entry e = {.key = c->key, .epoch = c->epoch, .op = f->op, .text = f->text,
             .schema = f->schema, .rets = f->rets, .nargs = f->nargs,
             .nrets = f->nrets, .ntensors = f->ntensors,
             .nkeywords = c->nkeywords};
  int nused = 0;
  if (f->nargs > MAX_SCHEMA || f->requires_grad || f->has_tensors ||
      passed_undefined(f, p)) {
    return;
  }
  for (int i = 0; i < f->nargs; i++) {
    if (!trace_source(f, i, c, &e.from[i])) return;
    if (e.from[i].kind == FROM_DEFAULT) e.defaults[i] = f->args[i];
    else e.given[e.ngiven++] = (uint8_t)i;
    nused += f->source[i] > c->top;
  }
  if (nused != c->nkeywords || (nused > 0 && !keep_names(c))) return;
  memcpy(e.names, c->names, (size_t)nused * sizeof *e.names);
  if (!p->cache) p->cache = calloc(1, sizeof *p->cache);
  if (!p->cache) return;
  p->cache->entries[p->cache->next++ % ENTRIES] = e;
}

/* -- Calls ---------------------------------------------------------------- */

static void resolve(call *c, st__frame *f) {
  st__state *h = c->h;
  lua_State *L = c->L;
  st__check_room(L);
  f->h = h;
  f->L = L;
  f->first = c->first;
  const entry *e = find(c);
  if (e && fill_frame(f, e, c)) return;
  lua_settop(L, c->top);                              /* [-n] */
  f->spare = 0;
  st__resolve_frame(h, L, c->p, c->first, f);
  if (c->key && c->epoch == st_registry_epoch()) cache(f, c);
}

static inline void read_call(call *c, const st__frame *f) {
  c->epoch = st_registry_epoch();
  c->key = 0;
  c->npos = c->nkeywords = c->nelements = 0;
  c->has_fraction = false;
  if (c->h->has_shortcuts) st__read_types(c, f->is_method); /* [+n] */
}

int st__call_cached(st__state *h, lua_State *L, st__packet *p, int first,
                    st__frame *f) {
  call c;
  c.h = h;
  c.L = L;
  c.p = p;
  c.first = first;
  c.top = lua_gettop(L);
  f->spare = 0;
  read_call(&c, f);                                   /* [+n] */
  if (p->may_cut && (c.has_fraction || c.key == 0) &&
      st__check_cut(h, L, p, first, c.top)) {
    lua_settop(L, c.top);                             /* [-n] */
    read_call(&c, f);       /* the handler may have changed keywords. [+n] */
  }
  entry *e = find(&c);
  const int n = e ? call_shortcut(&c, e, &f->spare) : -1;
  if (n < 0) resolve(&c, f);
  return n;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_resolution_cache(st__state *h, lua_State *L) {
  h->resolutions = st__new_part(h, L, sizeof *h->resolutions, NULL);
  lua_newtable(L);                                           /* [+1] */
  h->resolutions->names_ref = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
}
