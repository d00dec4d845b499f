/* Profiles in Lua: start, stop, and what they have recorded. The rest of
 * st.profile is strided/profile.lua.
 */

#include <stdlib.h>

#include "trace/trace.h"

typedef struct profile_ud { st__profile *p; } profile_ud;

static st__profile *check_profile(lua_State *L) {
  profile_ud *ud = st__checkudata(st__state_of(L), L, 1, ST_UD_PROFILE,
                                  "self");
  return ud->p;
}

static bool is_here(const st__profile *p) {
  return pthread_equal(p->thread, pthread_self());
}

/* -- Rows as tables ------------------------------------------------------- */

static void set_number(lua_State *L, const char *name, double x) {
  lua_pushnumber(L, (lua_Number)x);   /* [+1] */
  lua_setfield(L, -2, name);          /* [-1] */
}

static void set_count(lua_State *L, const char *name, int64_t n) {
  lua_pushinteger(L, (lua_Integer)n); /* [+1] */
  lua_setfield(L, -2, name);          /* [-1] */
}

static void set_index(lua_State *L, const char *name, int row) {
  if (row < 0) return;
  lua_pushinteger(L, row + 1);        /* [+1] */
  lua_setfield(L, -2, name);          /* [-1] */
}

static void set_text(lua_State *L, const char *name, const char *text) {
  if (!text) return;
  lua_pushstring(L, text);            /* [+1] */
  lua_setfield(L, -2, name);          /* [-1] */
}

static void add_shape(luaL_Buffer *b, st__key_head head, const uint64_t *sizes,
                      st__profile_args *s) {
  char text[32];
  int64_t numel = 1;
  luaL_addstring(b, st_dtype_name((st_dtype)head.dtype));
  luaL_addstring(b, " {");
  for (int d = 0; d < head.ndim; d++) {
    const int64_t size = (int64_t)sizes[d];
    snprintf(text, sizeof text, "%s%lld", d ? ", " : "", (long long)size);
    luaL_addstring(b, text);
    numel = size && numel > INT64_MAX / size ? INT64_MAX : numel * size;
  }
  luaL_addstring(b, "}");
  if (!head.is_contiguous) luaL_addstring(b, " strided");
  if (s->ntensors++ == 0) s->from = st_dtype_name((st_dtype)head.dtype);
  s->nstrided += !head.is_contiguous;
  if (numel > s->numel) s->numel = numel;
}

void st__profile_push_args(lua_State *L, const uint64_t *words, int n,
                           st__profile_args *out) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 0; i < n; i++) {
    st__key_head head;
    memcpy(&head, &words[i], sizeof head);
    if (i > 0) luaL_addstring(&b, ", ");
    if (head.kind == ST_KEY_TENSOR) {
      add_shape(&b, head, &words[i + 1], out);
      i += head.ndim;
    } else if (head.kind == ST_KEY_DTYPE) {
      out->to = st_dtype_name((st_dtype)head.dtype);
      luaL_addstring(&b, out->to);
    } else {
      luaL_addstring(&b, "none");
    }
  }
  luaL_pushresult(&b);                /* [+1] */
}

/* [+1] */
static void push_row(lua_State *L, const st__profile_row *row, int r) {
  lua_createtable(L, 0, 16);          /* [+1] */
  if (row->op) {
    st__push_op_name(L, row->op);     /* [+1] */
    lua_setfield(L, -2, "name");      /* [-1] */
  } else {
    set_text(L, "name", row->name ? row->name : "?");
    lua_pushboolean(L, 1);            /* [+1] */
    lua_setfield(L, -2, "is_named");  /* [-1] */
  }
  set_count(L, "calls", (int64_t)row->calls);
  set_number(L, "total", (double)row->total / 1e9);
  set_number(L, "self", (double)row->self / 1e9);
  set_count(L, "bytes", (int64_t)row->bytes);
  set_count(L, "self_bytes", (int64_t)row->self_bytes);
  set_text(L, "where", row->where);
  set_index(L, "group", row->group);
  set_index(L, "parent", row->parent);
  if (row->group == r) return;
  st__profile_args s = {.ntensors = 0};
  st__profile_push_args(L, row->key + 2, row->nkey - 2, &s); /* [+1] */
  lua_setfield(L, -2, "shapes");      /* [-1] */
  set_count(L, "tensors", s.ntensors);
  set_count(L, "strided", s.nstrided);
  set_count(L, "numel", (int64_t)s.numel);
  set_text(L, "from", s.from);
  set_text(L, "to", s.to);
}

/* -- Methods -------------------------------------------------------------- */

/* p:rows(): a list of the rows */
static int profile_rows(lua_State *L) {
  const st__profile *p = check_profile(L);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_createtable(L, p->nrows, 0);    /* [+1] */
  for (int r = 0; r < p->nrows; r++) {
    const st__profile_row row = p->rows[r];
    push_row(L, &row, r);             /* [+1] */
    lua_rawseti(L, -2, r + 1);        /* [-1] */
  }
  return 1;
}

/* p:event(i): the index of the row, depth, start and time in seconds, bytes */
static int profile_event(lua_State *L) {
  const st__profile *p = check_profile(L);
  const lua_Number i = luaL_checknumber(L, 2);
  if (!(i >= 1 && i <= (lua_Number)p->nevents)) return 0;
  const st__profile_event *e = &p->events[(int64_t)i - 1];
  lua_pushinteger(L, e->row + 1);                   /* [+1] */
  lua_pushinteger(L, e->depth);                     /* [+1] */
  lua_pushnumber(L, (lua_Number)e->start / 1e9);    /* [+1] */
  lua_pushnumber(L, (lua_Number)e->time / 1e9);     /* [+1] */
  lua_pushnumber(L, (lua_Number)e->bytes);          /* [+1] */
  return 5;
}

/* p:counts(): the seconds from start to stop, the number of events, and that of
 * the calls that are not among them; all numbers */
static int profile_counts(lua_State *L) {
  const st__profile *p = check_profile(L);
  lua_pushnumber(L, (lua_Number)(p->stop - p->start) / 1e9); /* [+1] */
  lua_pushnumber(L, (lua_Number)p->nevents);                 /* [+1] */
  lua_pushnumber(L, (lua_Number)p->lost);                    /* [+1] */
  return 3;
}

/* p:stop(): ends the profile; true if it was running */
static int profile_stop(lua_State *L) {
  st__profile *p = check_profile(L);
  const bool was_running = p->is_running;
  if (was_running && !is_here(p)) {
    return st__error(st__state_of(L), L, ST_BAD_STATE, "profile: stop: only "
                     "the thread that started the profile can stop it");
  }
  st__profile_stop(p);
  lua_pushboolean(L, was_running);    /* [+1] */
  return 1;
}

static int profile_is_running(lua_State *L) {
  lua_pushboolean(L, check_profile(L)->is_running); /* [+1] */
  return 1;
}

/* A profile that another thread observes stays there, and is never freed. */
static int profile_gc(lua_State *L) {
  profile_ud *ud = st__testudata(st__state_of(L), L, 1, ST_UD_PROFILE);
  if (!ud || !ud->p) return 0;
  st__profile *p = ud->p;
  ud->p = NULL;
  if (p->is_running && !is_here(p)) {
    st__profile_abandon(p);
  } else {
    st__profile_stop(p);
    st__profile_free(p);
  }
  return 0;
}

/* start_profile(shapes, events): starts a profile. shapes: rows by shapes, too;
 * events: the most that the timeline holds */
static int start_profile(lua_State *L) {
  st__state *h = st__state_of(L);
  const bool has_shapes = lua_toboolean(L, 1);
  const lua_Number limit = luaL_checknumber(L, 2);
  st__cannot_record(h, L, "it runs an observer");
  profile_ud *ud = st__newudata(h, L, ST_UD_PROFILE, sizeof *ud); /* [+1] */
  ud->p = st_limits_realloc(NULL, sizeof *ud->p);
  if (!ud->p) {
    return st__error(h, L, ST_NO_MEMORY, "profile: %s", st_message());
  }
  memset(ud->p, 0, sizeof *ud->p);
  ud->p->h = h;
  ud->p->has_shapes = has_shapes;
  ud->p->event_limit = (int64_t)limit;
  st__profile_start(ud->p);
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_profile(st__state *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {{"__gc", profile_gc}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
    {"rows", profile_rows}, {"event", profile_event},
    {"counts", profile_counts}, {"stop", profile_stop},
    {"is_running", profile_is_running}, {NULL, NULL}
  };
  st__set_functions(h, L, metamethods);
  lua_newtable(L);                    /* [+1] */
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "__index");     /* [-1] */
}

void st__open_profile(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"start_profile", start_profile}, {NULL, NULL}
  };
  st__fill_meta(h, ST_UD_PROFILE, fill_profile);
  st__set_functions(h, L, functions);
}
