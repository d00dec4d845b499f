/* Cached overload resolutions, for the calls that scripts repeat (C16).
 *
 * Note [Cached resolutions]
 * Overload resolution depends on the types of the arguments alone while they
 * are tensors, numbers and booleans by position, with nothing else than
 * {out = tensor} behind them. Numbers count as three types: 0, which is no
 * index, other integers, and the rest. So a packet caches its last resolutions
 * by these types. A hit fills the frame without trying overloads; it gives what
 * st__resolve_overload would give. An entry is valid until an operator is
 * redefined or removed anywhere, or until the packet lists its overloads again.
 * A resolution that passed over an undefined overload is not cached, since
 * defining that would change it. STRIDED_SHORTCUTS=0 in the environment
 * disables the cache.
 */

#include <stdlib.h>
#include <string.h>

#include "bind.h"

enum { MAX_POSITIONAL = 6, MAX_SCHEMA = 12, ENTRIES = 4 };

/* The type of an argument, in 3 bits of a key. */
typedef enum kind { OTHER, TENSOR, ZERO, INTEGER, NUMBER, BOOLEAN, OUT } kind;

/* What was read from an argument of the call. */
typedef struct value {
  st_tensor *t;
  st_scalar s;
} value;

/* How an argument of the schema gets its value. */
typedef enum source_kind {
  FROM_DEFAULT, FROM_TENSOR, FROM_INTEGER, FROM_SCALAR, FROM_WRAPPED,
  FROM_INTEGERS /* n numbers, as a list */
} source_kind;

typedef struct source {
  uint8_t kind, at, n; /* at: index among the arguments of the call */
} source;

typedef struct entry {
  uint32_t key;
  uint64_t epoch;
  const st_op *op;
  const char *text;
  const st_arg *schema, *rets;
  int nargs, nrets, ntensors;
  source from[MAX_SCHEMA];
  st_value defaults[MAX_SCHEMA];
} entry;

struct st__resolution_cache {
  unsigned next; /* the entry that the next resolution replaces */
  entry entries[ENTRIES];
};

/* -- The arguments of a call ---------------------------------------------- */

/* The only value of the table at idx, if its key is "out" and it is a tensor;
 * the value is pushed. [+0|1] */
static st_tensor *push_only_out(st__state *h, lua_State *L, int idx) {
  lua_pushnil(L);                                    /* [+1] */
  if (!lua_next(L, idx)) return NULL;                /* [-1, +0|2] */
  st_tensor *t = NULL;
  if (lua_type(L, -2) == LUA_TSTRING && lua_tostring(L, -2) == h->out_key) {
    t = st__to_tensor(h, L, -1);
  }
  lua_insert(L, -2);                                 /* the key on top */
  if (!lua_next(L, idx)) {                           /* [-1, +0|2] */
    if (!t) lua_pop(L, 1);                           /* [-1] */
    return t;
  }
  lua_pop(L, 3);                                     /* [-3] */
  return NULL;
}

static kind kind_of(st__state *h, lua_State *L, int idx, value *arg) {
  switch (lua_type(L, idx)) {
    case LUA_TUSERDATA:
      arg->t = st__to_tensor(h, L, idx);
      return arg->t ? TENSOR : OTHER;
    case LUA_TNUMBER:
      st__to_scalar(h, L, idx, &arg->s);
      return arg->s.kind != ST_SCALAR_INT ? NUMBER
           : arg->s.u.i == 0 ? ZERO : INTEGER;
    case LUA_TBOOLEAN:
      st__to_scalar(h, L, idx, &arg->s);
      return BOOLEAN;
    default: return OTHER;
  }
}

/* Reads the arguments and returns the key of their types; 0 for a call whose
 * resolution is not cached. */
static uint32_t read_args(st__frame *f, int top, value *args) {
  const int n = top - f->first + 1;
  uint32_t key = f->is_method;
  if (n < 1 || n > MAX_POSITIONAL) return 0;
  for (int i = 0; i < n; i++) {
    const int idx = f->first + i;
    kind k = kind_of(f->h, f->L, idx, &args[i]);
    if (k == OTHER && i == n - 1 && lua_istable(f->L, idx)) {
      args[i].t = push_only_out(f->h, f->L, idx);    /* [+0|1] */
      k = args[i].t ? OUT : OTHER;
    }
    if (k == OTHER) return 0;
    key = key << 3 | (uint32_t)k;
  }
  return key << 3 | (uint32_t)n;
}

/* -- Hits ----------------------------------------------------------------- */

static bool fill_integers(st__frame *f, int i, const source *from,
                          const value *args) {
  int64_t *p = &f->slots[f->nslots].i;
  f->nslots += from->n;
  for (int k = 0; k < from->n; k++) {
    p[k] = args[from->at + k].s.u.i;
    if (!st__index_to_c(f->schema[i].type, &p[k])) return false;
  }
  f->args[i] = (st_value){.tag = ST_TAG_INTS, .len = from->n, .u.ints = p};
  return true;
}

static bool fill_arg(st__frame *f, int i, const source *from,
                     const value *args) {
  const value *arg = &args[from->at];
  switch ((source_kind)from->kind) {
    case FROM_TENSOR: f->args[i] = st__tensor_arg(arg->t); return true;
    case FROM_INTEGER:
      f->args[i] = st__int_arg(arg->s.u.i);
      return st__index_to_c(f->schema[i].type, &f->args[i].u.i);
    case FROM_SCALAR:
      f->scalar[i] = arg->s;
      st__fit_scalar(f->schema[i].type, &f->scalar[i]);
      f->args[i] = st__scalar_arg(&f->scalar[i]);
      return true;
    case FROM_WRAPPED:
      f->scalar[i] = arg->s;
      f->wrap[f->nwraps++] = (uint8_t)i;
      return true;
    case FROM_INTEGERS: return fill_integers(f, i, from, args);
    default: return false;
  }
}

static bool fill_frame(st__frame *f, const entry *e, int top,
                       const value *args) {
  f->op = e->op;
  f->text = e->text;
  f->schema = e->schema;
  f->rets = e->rets;
  f->nargs = e->nargs;
  f->nrets = e->nrets;
  f->ntensors = e->ntensors;
  f->nwraps = f->nslots = 0;
  f->requires_grad = f->has_tensors = false;
  for (int i = 0; i < e->nargs; i++) {
    const source *from = &e->from[i];
    if (from->kind == FROM_DEFAULT) {
      f->args[i] = e->defaults[i];
      f->source[i] = 0;
      continue;
    }
    if (!fill_arg(f, i, from, args)) return false;
    const int idx = f->first + from->at;
    f->source[i] = idx == top && lua_gettop(f->L) > top ? top + 1 : idx;
  }
  return true;
}

/* -- Misses --------------------------------------------------------------- */

static bool is_wrapped(const st__frame *f, int i) {
  for (int k = 0; k < f->nwraps; k++) {
    if (f->wrap[k] == i) return true;
  }
  return false;
}

/* Where argument i came from; false if that is not cached. */
static bool trace_source(const st__frame *f, int i, int top, source *from) {
  const st_value *v = &f->args[i];
  const int idx = f->source[i];
  *from = (source){FROM_DEFAULT, 0, 1};
  if (idx == 0) return true;
  from->at = (uint8_t)((idx > top ? top : idx) - f->first);
  if (is_wrapped(f, i)) {
    from->kind = FROM_WRAPPED;
    return true;
  }
  switch ((st_tag)v->tag) {
    case ST_TAG_TENSOR: from->kind = FROM_TENSOR; return true;
    case ST_TAG_INTS:
      if (!lua_isnumber(f->L, idx)) return false;
      from->kind = FROM_INTEGERS;
      from->n = (uint8_t)v->len;
      return true;
    case ST_TAG_INT: case ST_TAG_FLOAT: case ST_TAG_BOOL:
      from->kind = f->schema[i].type == ST_TYPE_SCALAR ||
                   f->schema[i].type == ST_TYPE_FLOAT ||
                   f->schema[i].type == ST_TYPE_COMPLEX ||
                   f->schema[i].type == ST_TYPE_BOOL
                   ? FROM_SCALAR : FROM_INTEGER;
      return true;
    default: return false;
  }
}

/* A call with a wrapped number has passed over all other overloads. */
static bool passed_undefined(const st__frame *f, const st__packet *p) {
  for (int k = 0; k < p->n && (f->allow_wrap || p->ops[k] != f->op); k++) {
    if (!st_op_schema(p->ops[k])) return true;
  }
  return false;
}

/* Nothing is cached without memory. */
static void cache(st__frame *f, st__packet *p, uint32_t key, uint64_t epoch,
                  int top) {
  entry e = {.key = key, .epoch = epoch, .op = f->op, .text = f->text,
             .schema = f->schema, .rets = f->rets, .nargs = f->nargs,
             .nrets = f->nrets, .ntensors = f->ntensors};
  if (f->nargs > MAX_SCHEMA || f->requires_grad || f->has_tensors ||
      passed_undefined(f, p)) {
    return;
  }
  for (int i = 0; i < f->nargs; i++) {
    if (!trace_source(f, i, top, &e.from[i])) return;
    if (e.from[i].kind == FROM_DEFAULT) e.defaults[i] = f->args[i];
  }
  if (!p->cache) p->cache = calloc(1, sizeof *p->cache);
  if (!p->cache) return;
  p->cache->entries[p->cache->next++ % ENTRIES] = e;
}

/* -- Calls ---------------------------------------------------------------- */

static const entry *find(const st__packet *p, uint32_t key, uint64_t epoch) {
  for (int k = 0; p->cache && k < ENTRIES; k++) {
    const entry *e = &p->cache->entries[k];
    if (e->key == key && e->epoch == epoch) return e;
  }
  return NULL;
}

void st__resolve_cached(st__state *h, lua_State *L, st__packet *p, int first,
                        st__frame *f) {
  value args[MAX_POSITIONAL];
  const int top = lua_gettop(L);
  const uint64_t epoch = st_registry_epoch();
  st__check_room(L);
  f->h = h;
  f->L = L;
  f->first = first;
  const uint32_t key = h->has_shortcuts ? read_args(f, top, args) : 0;
                                                      /* [+0|1] */
  const entry *e = key ? find(p, key, epoch) : NULL;
  if (e && fill_frame(f, e, top, args)) return;
  lua_settop(L, top);                                 /* [-0|1] */
  st__resolve_frame(h, L, p, first, f);
  if (key && epoch == st_registry_epoch()) cache(f, p, key, epoch, top);
}

void st__free_resolutions(st__packet *p) {
  free(p->cache);
  p->cache = NULL;
}
