/* Overload resolution: a call selects the first overload, in order of
 * definition, whose schema accepts the arguments as they are; if there is
 * none, the first that accepts them with numbers wrapped as 0-dim tensors.
 *
 * Arguments are positional, or keywords in a table that is the last argument.
 * The elements of the first list of integers may be passed as separate
 * arguments, st.rand(2, 3), t:permute(2, 1), and so may two or more tensors of
 * a list that is the first argument: st.cat(a, b). The keyword out = gives the
 * output of an out= overload, or a table of tensors if it has several.
 * requires_grad = true is in no schema, but factories accept it. NumPy's axis,
 * keepdims and ddof stand for dim, keepdim and correction.
 *
 * Note [alpha is a keyword]
 * ATen's add.Scalar and sub.Scalar take alpha by position, too. In Lua it is a
 * keyword only, since t:sub(2, 3) narrows in torch7, unless the call names the
 * overload: st.ops.aten.sub.Scalar(t, 2, 3).
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "call/call.h"

__attribute__((format(printf, 2, 3)))
static bool mismatch(st__frame *f, const char *format, ...) {
  va_list args;
  if (!f->why) return false;
  *f->why = (st__reason){.kind = ST_REASON_OTHER};
  va_start(args, format);
  vsnprintf(f->why->text, sizeof f->why->text, format, args);
  va_end(args);
  return false;
}

/* -- Keyword arguments ---------------------------------------------------- */

/* Pushes the k-th output given by the keyword out=; false when there is none.
 * [+0|1] */
static bool push_out(st__frame *f, int k) {
  lua_State *L = f->L;
  lua_pushliteral(L, "out");      /* [+1] */
  lua_rawget(L, f->keywords);     /* [-1, +1] */
  if (lua_istable(L, -1)) {
    lua_rawgeti(L, -1, k);        /* [+1] */
    lua_remove(L, -2);            /* [-1] */
  } else if (k > 1) {
    lua_pop(L, 1);                /* [-1] */
    return false;
  }
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);                /* [-1] */
    return false;
  }
  f->nused += k == 1;
  return true;
}

static bool is_output(const st_arg *a) { return a->is_write && a->kwarg_only; }

/* 1-based index of argument i among the outputs. */
static int output_number(const st__frame *f, int i) {
  int k = 0;
  for (int j = 0; j <= i; j++) k += is_output(&f->schema[j]);
  return k;
}

/* Pushes the value of a keyword; false when there is none. [+0|1] */
static bool push_keyword(st__frame *f, const char *name) {
  lua_State *L = f->L;
  lua_pushstring(L, name);        /* [+1] */
  lua_rawget(L, f->keywords);     /* [-1, +1] */
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);                /* [-1] */
    return false;
  }
  f->nused++;
  return true;
}

/* Most names differ in their first letter. */
static inline bool same_text(const char *a, const char *b) {
  return *a == *b && strcmp(a, b) == 0;
}

/* NumPy's name for an argument, or NULL. */
static const char *synonym(const char *name) {
  if (same_text(name, "dim") || same_text(name, "dims")) return "axis";
  if (same_text(name, "correction")) return "ddof";
  return same_text(name, "keepdim") ? "keepdims" : NULL;
}

/* Pushes the keyword for argument i; returns its stack index, or 0. [+0|1] */
static int find_keyword(st__frame *f, int i, const st_arg *a) {
  lua_State *L = f->L;
  if (!f->keywords) return 0;
  if (f->nused == f->nkeywords && !is_output(a)) return 0;
  if (push_keyword(f, a->name)) return lua_gettop(L);
  const char *other = synonym(a->name);
  if (other && push_keyword(f, other)) return lua_gettop(L);
  return is_output(a) && push_out(f, output_number(f, i)) ? lua_gettop(L) : 0;
}

/* -- Lists passed as separate numbers ------------------------------------- */

static bool is_integer_list(const st_arg *a) {
  return a->list && (a->type == ST_TYPE_INT || a->type == ST_TYPE_DIM ||
                     a->type == ST_TYPE_INDEX || a->type == ST_TYPE_END);
}

static bool takes_number(const st_arg *a) {
  return !a->kwarg_only &&
         (is_integer_list(a) || a->type == ST_TYPE_INT ||
          a->type == ST_TYPE_DIM || a->type == ST_TYPE_INDEX ||
          a->type == ST_TYPE_END || a->type == ST_TYPE_FLOAT ||
          a->type == ST_TYPE_SCALAR);
}

/* A list may be passed as numbers if only tensors precede it. */
static bool may_gather(const st__frame *f, int i) {
  if (!is_integer_list(&f->schema[i])) return false;
  for (int j = 0; j < i; j++) {
    if (f->schema[j].type != ST_TYPE_TENSOR) return false;
  }
  return true;
}

/* Number of positional arguments from p on that form the list argument i; 0 if
 * it is not such a list. Only one if the next argument accepts a number, too:
 * the others are for that. */
static int count_gathered(st__frame *f, int i, int p) {
  int n = 0;
  if (f->is_complete || !may_gather(f, i)) return 0;
  while (p + n < f->npos && st__is_number(f, f->first + p + n)) n++;
  return n > 1 && i + 1 < f->nargs && takes_number(&f->schema[i + 1]) ? 1 : n;
}

/* Number of tensors from p on that form the list of tensors i; 0 if a tensor or
 * a number may precede or follow it. */
static int count_tensors(const st__frame *f, int i, int p) {
  int n = 0;
  const st_arg *a = &f->schema[i];
  if (f->is_complete) return 0;
  for (int j = 0; j < i; j++) {
    if (f->schema[j].type != ST_TYPE_STRING) return 0;
  }
  if (i + 1 < f->nargs && a[1].type == ST_TYPE_TENSOR && !a[1].kwarg_only) {
    return 0;
  }
  while (p + n < f->npos && st__to_tensor(f->h, f->L, f->first + p + n)) n++;
  return n;
}

/* Pushes the table of n tensors from stack index idx on. [+1] */
static void push_tensors(st__frame *f, int idx, int n) {
  lua_createtable(f->L, n, 0);              /* [+1] */
  for (int k = 0; k < n; k++) {
    lua_pushvalue(f->L, idx + k);           /* [+1] */
    lua_rawseti(f->L, -2, k + 1);           /* [-1] */
  }
}

/* -- One overload --------------------------------------------------------- */

static int self_index(const st__frame *f) {
  for (int i = 0; i < f->nargs; i++) {
    if (same_text(f->schema[i].name, "self")) return i;
  }
  return 0;
}

static bool fill_absent(st__frame *f, int i, const st_arg *a, bool is_nil) {
  f->source[i] = 0;
  if (a->has_default) {
    f->args[i] = a->default_value;
    /* Lua counts indices from 1, also those in tensors. */
    if (a->type == ST_TYPE_INT && same_text(a->name, "base")) {
      f->args[i] = st__int_arg(1);
    }
    return true;
  }
  if (is_nil && a->optional) {
    f->args[i] = (st_value){.tag = ST_TAG_NONE};
    return true;
  }
  if (is_output(a)) f->score = -1; /* out= was not given */
  st__set_reason(f, a, 0);
  return false;
}

/* An argument of the wrong type scores better than a missing one. */
static bool convert(st__frame *f, int i, const st_arg *a, int idx) {
  if (st__convert(f, i, a, idx)) return true;
  f->score++;
  return false;
}

/* Converts the n tensors from stack index idx on to the list argument i. */
static bool convert_tensors(st__frame *f, int i, const st_arg *a, int idx,
                            int n) {
  push_tensors(f, idx, n);                  /* [+1] */
  f->source[i] = lua_gettop(f->L);
  f->has_tensors = true;
  f->shift += n - 1;
  return convert(f, i, a, f->source[i]);
}

/* Fills argument i from the p-th positional argument. */
static bool fill_positional(st__frame *f, int i, const st_arg *a, int p) {
  const int idx = f->first + p;
  if (lua_isnil(f->L, idx)) {
    if (!f->is_complete || !a->optional) return fill_absent(f, i, a, true);
    f->source[i] = 0;
    f->args[i] = (st_value){.tag = ST_TAG_NONE};
    return true;
  }
  f->source[i] = idx;
  if (a->list && a->type == ST_TYPE_TENSOR) {
    const int n = count_tensors(f, i, p);
    if (n > (i == 0)) return convert_tensors(f, i, a, idx, n);
  }
  const int n = count_gathered(f, i, p);
  f->shift += n > 1 ? n - 1 : 0;
  return n ? st__convert_gathered(f, i, a, idx, n) : convert(f, i, a, idx);
}

/* Positional index of argument i. A method call passes self first, so the
 * arguments before self in the schema move up by one. */
static int positional_index(const st__frame *f, int i, int self) {
  return f->shift + (i == self ? 0 : i < self ? i + 1 : i);
}

/* Note [alpha is a keyword]. */
static bool is_alpha(const st__frame *f, const st_arg *a, int i) {
  return i == 2 && f->is_packet && same_text(a->name, "alpha") &&
         same_text(a[-1].name, "other");
}

static bool fill_one(st__frame *f, int i, const st_arg *a, int self) {
  const int p = positional_index(f, i, self);
  const bool is_positional = f->is_complete ||
                             !(a->kwarg_only || is_alpha(f, a, i));
  if (is_positional && p < f->npos) return fill_positional(f, i, a, p);
  const int idx = find_keyword(f, i, a);
  if (!idx) return fill_absent(f, i, a, false);
  f->source[i] = idx;
  return convert(f, i, a, idx);
}

static bool is_name_of(const st_arg *a, const char *key) {
  if (same_text(a->name, key)) return true;
  const char *other = synonym(a->name);
  return other && same_text(other, key);
}

/* True if the keyword was used for argument i. */
static bool is_used(st__frame *f, int i, const char *key) {
  const st_arg *a = &f->schema[i];
  const bool is_gathered = f->has_tensors && a->list &&
                           a->type == ST_TYPE_TENSOR;
  if (f->source[i] <= f->keywords || is_gathered) return false;
  if (is_output(a) && same_text(key, "out")) return true;
  if (!is_name_of(a, key)) return false;
  lua_pushstring(f->L, key);                           /* [+1] */
  lua_rawget(f->L, f->keywords);                       /* [-1, +1] */
  const bool same = lua_rawequal(f->L, -1, f->source[i]);
  lua_pop(f->L, 1);                                    /* [-1] */
  return same || same_text(a->name, key);
}

static bool keyword_mismatch(st__frame *f, const char *key) {
  for (int i = 0; i < f->nargs; i++) {
    if (is_name_of(&f->schema[i], key)) {
      return mismatch(f, "argument '%s' is given twice", f->schema[i].name);
    }
  }
  if (same_text(key, "out")) {
    return mismatch(f, "has no variant with out=");
  }
  mismatch(f, "has no argument '%.40s'", key);
  if (f->why) f->why->kind = ST_REASON_KEYWORD;
  return false;
}

/* True for a factory function: it has an argument pin_memory. */
static bool is_factory(const st__frame *f) {
  if (f->nrets != 1 || f->rets->is_alias) return false;
  for (int i = 0; i < f->nargs; i++) {
    if (strcmp(f->schema[i].name, "pin_memory") == 0) return true;
  }
  return false;
}

/* Accepts the keyword requires_grad, whose key is at the top of the stack, with
 * a boolean value. */
static bool take_requires_grad(st__frame *f, const char *key) {
  lua_State *L = f->L;
  if (strcmp(key, "requires_grad") != 0 || !is_factory(f)) return false;
  lua_pushvalue(L, -1);                   /* [+1] */
  lua_rawget(L, f->keywords);             /* [-1, +1] */
  const bool is_flag = lua_isboolean(L, -1);
  f->requires_grad = is_flag && lua_toboolean(L, -1);
  lua_pop(L, 1);                          /* [-1] */
  return is_flag;
}

/* True if every keyword was used. A keyword is unused if its argument was also
 * given by position, or if the schema has no such argument. */
static bool check_keywords(st__frame *f) {
  lua_State *L = f->L;
  if (f->nkeywords == f->nused) return true;
  const int64_t listed = (int64_t)lua_objlen(L, f->keywords);
  lua_pushnil(L);                         /* [+1] */
  while (lua_next(L, f->keywords)) {      /* [-1, +0|2] */
    lua_pop(L, 1);                        /* [-1] */
    if (st__is_list_key(L, -1, listed)) continue;
    if (lua_type(L, -1) != LUA_TSTRING) {
      return mismatch(f, "a keyword must be a string, got %s",
                      luaL_typename(L, -1));
    }
    const char *key = lua_tostring(L, -1);
    bool used = false;
    for (int i = 0; i < f->nargs; i++) used |= is_used(f, i, key);
    if (!used && !take_requires_grad(f, key)) return keyword_mismatch(f, key);
  }
  return true;
}

static bool too_many(st__frame *f, int takes) {
  const int given = f->npos - f->shift;
  const int self = f->is_method; /* not among the arguments that one sees */
  mismatch(f, "takes at most %d argument%s by position, got %d", takes - self,
           takes - self == 1 ? "" : "s", given - self);
  if (f->why) {
    f->why->kind = ST_REASON_COUNT;
    f->why->takes = takes;
  }
  return false;
}

static bool check_count(st__frame *f) {
  int n = 0;
  while (n < f->nargs && (f->is_complete || !(f->schema[n].kwarg_only ||
                                              is_alpha(f, &f->schema[n], n)))) {
    n++;
  }
  for (int p = n + f->shift; p < f->npos; p++) {
    if (!lua_isnil(f->L, f->first + p)) {
      f->score = 0; /* prefer the reason of one that takes as many */
      return too_many(f, n);
    }
  }
  return true;
}

bool st__match_overload(st__frame *f, const st_op *op) {
  f->op = op;
  f->text = st_op_schema(op);
  f->nargs = st_op_nargs(op);
  f->schema = st_op_arg(op, 0);
  f->nrets = st_op_nrets(op);
  f->rets = st_op_ret(op, 0);
  f->requires_grad = f->has_tensors = f->has_minus_zero = false;
  f->shift = f->nused = f->ntensors = f->nwraps = f->nslots = f->score = 0;
  const int self = f->is_method ? self_index(f) : 0;
  for (int i = 0; i < f->nargs; i++) {
    if (!fill_one(f, i, &f->schema[i], self)) return false;
    f->score += 2 * (f->source[i] > 0);
  }
  if (!check_count(f)) return false;
  if (f->keywords && !check_keywords(f)) return false;
  if (f->nwraps > 0 && f->ntensors == 0) {
    return mismatch(f, "needs a Tensor among its arguments");
  }
  if (f->has_minus_zero) st__settle_zeros(f);
  return true;
}

/* -- All overloads -------------------------------------------------------- */

/* Tries each overload; best_why gets the reason of the best failed match. */
static bool try_all(st__frame *f, const st__packet *p, int *best,
                    st__reason *best_why) {
  const int top = lua_gettop(f->L);
  for (int k = 0; k < p->n; k++) {
    if (!st_op_schema(p->ops[k])) continue;
    if (st__match_overload(f, p->ops[k])) return true;
    lua_settop(f->L, top);
    if (!f->why || f->score < *best) continue;
    if (f->score == *best && st__merge_reason(best_why, f->why)) continue;
    if (f->score == *best && !f->allow_wrap) continue;
    *best = f->score;
    *best_why = *f->why;
  }
  return false;
}

static bool try_both(st__frame *f, const st__packet *p, st__reason *why) {
  int best = -2;
  f->allow_wrap = f->needs_wrap = false;
  if (try_all(f, p, &best, why)) return true;
  f->allow_wrap = true;
  return f->needs_wrap && try_all(f, p, &best, why);
}

bool st__resolve_overload(st__frame *f, const st__packet *p) {
  f->why = NULL;
  f->is_packet = !p->is_overload;
  return try_both(f, p, NULL);
}

void st__raise_mismatch(st__frame *f, const st__packet *p) {
  char text[1000];
  st__reason each, best = {.text = "there is no such operator"};
  f->why = &each;
  try_both(f, p, &best);
  st__describe_mismatch(f, p, &best, text, sizeof text);
  st__error(f->h, f->L, ST_BAD_TYPE, "%s", text);
}

/* -- Frames ---------------------------------------------------------------- */

/* Classifies the last argument. A table with names holds keywords; if it has
 * a list, too, that is the last positional argument: x:sum {1, keepdim = true}.
 */
static void split_keywords(st__frame *f, const st__packet *p, int top) {
  lua_State *L = f->L;
  const unsigned parts = top >= f->first && lua_istable(L, top)
                         ? st__count_names(L, top, &f->nkeywords) : 0;
  const bool has_list = parts & ST_PART_LIST;
  if (parts & ST_PART_OTHER && (has_list || !(parts & ST_PART_NAMES))) {
    st__error(f->h, L, ST_BAD_TYPE, "%s: a list must have no nil and no other "
              "keys, but element %d is nil", st__short_name(p->name),
              (int)lua_objlen(L, top) + 1);
  }
  if (parts & ST_PART_OTHER) f->nkeywords++; /* which no argument uses */
  f->keywords = parts & ST_PART_NAMES ? top : 0;
  f->npos = top - f->first + 1 - (f->keywords && !has_list);
}

/* Resolves again without the last argument if that is an empty table, which
 * may be a table of keywords whose values are all nil. */
static bool resolve_without_empty(st__frame *f, const st__packet *p, int top) {
  if (top < f->first || !lua_istable(f->L, top)) return false;
  if (f->keywords || st__table_parts(f->L, top)) return false;
  f->npos--;
  if (st__resolve_overload(f, p)) return true;
  f->npos++;
  return false;
}

void st__resolve_frame(st__state *h, lua_State *L, st__packet *p, int first,
                       st__frame *f) {
  const int top = lua_gettop(L);
  st__check_room(L);
  f->h = h;
  f->L = L;
  f->first = first;
  split_keywords(f, p, top);
  if (st__resolve_overload(f, p)) return;
  st__refresh(h, L, p);
  if (st__resolve_overload(f, p)) return;
  if (resolve_without_empty(f, p, top)) return;
  st__advise(f, p);
  st__raise_mismatch(f, p);
}
