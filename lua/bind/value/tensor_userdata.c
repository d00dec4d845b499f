/* Tensors in Lua: the userdata, whose finalizer releases the tensor, the
 * properties, and the methods that only read the header and so are not
 * operators. Scopes release early: tensor_scope.c.
 */

#include <inttypes.h>
#include <string.h>

#include "bind.h"
#include "state/nesting.h"

/* -- Userdata ------------------------------------------------------------- */

/* Called for each argument of each call, so it does not look at the metatable.
 * Only a full userdata has a length, and no other userdata of this size begins
 * with this address. */
static inline st__tensor_ud *to_tensor_ud(st__state *h, lua_State *L,
                                          int idx) {
  st__tensor_ud *ud = lua_touserdata(L, idx);
  return ud && lua_objlen(L, idx) == sizeof *ud &&
         ud->kind == &h->meta[ST_UD_TENSOR] ? ud : NULL;
}

st_tensor *st__to_tensor(st__state *h, lua_State *L, int idx) {
  const st__tensor_ud *ud = to_tensor_ud(h, L, idx);
  return ud ? ud->t : NULL;
}

st__tensor_ud *st__to_tensor_ud(st__state *h, lua_State *L, int idx) {
  st__tensor_ud *ud = to_tensor_ud(h, L, idx);
  return ud && ud->t ? ud : NULL;
}

st_tensor *st__check_tensor(st__state *h, lua_State *L, int idx,
                            const char *arg) {
  st_tensor *t = st__to_tensor(h, L, idx);
  if (!t) {
    const bool is_method = strcmp(arg, "self") == 0 && lua_isnoneornil(L, idx);
    st__argument_error(h, L, ST_BAD_TYPE, "argument '%s' must be a Tensor, "
                       "got %s%s", arg, st__type_name(h, L, idx),
                       is_method ? "; write a colon before a method" : "");
  }
  if (st_tensor_is_symbol(t)) {
    st__argument_error(h, L, ST_BAD_STATE, "argument '%s' represents tensors "
                       "of any dtype and shape while a function is traced: its "
                       "shape, dtype and elements are not known", arg);
  }
  if (st__is_fake(h, t)) st_recorder_uses_shape(h->recorder);
  return t;
}

/* A userdata that is in no scope. [+1] */
static st__tensor_ud *new_tensor_ud(st__state *h, lua_State *L) {
  st__tensor_ud *ud = st__new_with_env(L, sizeof *ud); /* [+1] */
  *ud = (st__tensor_ud){.kind = &h->meta[ST_UD_TENSOR]};
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->meta_ref[ST_UD_TENSOR]); /* [+1] */
  lua_setmetatable(L, -2);                             /* [-1] */
  return ud;
}

st__tensor_ud *st__new_tensor_ud(st__state *h, lua_State *L) {
  st__gc_pace_if_due(h, L);
  st__tensor_ud *ud = new_tensor_ud(h, L);          /* [+1] */
  if (h->scope && st__owns_fiber(h)) st__scope_enter(h, L, h->scope, ud);
  return ud;
}

st__tensor_ud *st__push_tensor(st__state *h, lua_State *L, st_tensor *t) {
  st__tensor_ud *ud = st__new_tensor_ud(h, L); /* [+1] */
  st_tensor_retain(t);
  ud->t = t;
  return ud;
}

/* Releasing a tensor may release the Lua owner of foreign memory, whose
 * reference is dropped here. */
static void release(st__state *h, lua_State *L, st__tensor_ud *ud) {
  st_tensor_release(&ud->t);
  if (!h->running && atomic_load_explicit(&h->unrefs, memory_order_relaxed)) {
    st__lua_ref_sweep(h, L);
  }
}

static int tensor_gc(lua_State *L) {
  st__state *h = st__state_of(L);
  st__tensor_ud *ud = to_tensor_ud(h, L, 1);
  if (!ud) return 0;
  h->freed += ud->charged;
  st__scope_leave(h, ud);
  st__untrack_ud(h, ud);
  release(h, L, ud);
  return 0;
}

/* free(): releases the tensor now; using it later is an error. In a Lua kernel
 * or a finalizer, a C function deeper in the stack may hold the tensor as a
 * borrowed argument: the release is then deferred until the outermost call
 * returns, and in a stack of more than 256 calls at times until there are fewer
 * calls. */
static int tensor_free(lua_State *L) {
  st__state *h = st__state_of(L);
  st__tensor_ud *ud = st__checkudata(h, L, 1, ST_UD_TENSOR, "self");
  if (!ud->t) {
    release(h, L, ud);
    return 0;
  }
  const st__nesting nesting = h->running ? ST__NESTED : st__nesting_of(h, L);
  if (nesting != ST__NESTED) st__cannot_record(h, L, "it frees a tensor");
  st__gc_credit(h, ud);
  if (nesting == ST__OUTERMOST) {
    release(h, L, ud);
    return 0;
  }
  lua_createtable(L, 2, 0);                         /* [+1] */
  st__tensor_ud *deferred = new_tensor_ud(h, L);    /* [+1] */
  lua_rawseti(L, -2, 1);                            /* [-1] */
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->deferred_ref); /* [+1] */
  lua_rawseti(L, -2, 2);                            /* [-1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->deferred_ref); /* [-1] */
  h->has_deferred = true;
  deferred->t = ud->t;
  ud->t = NULL;
  return 0;
}

static st_tensor *self(lua_State *L) {
  return st__check_tensor(st__state_of(L), L, 1, "self");
}

/* The tensor in argument 1, for methods that depend on its memory, which a
 * fake tensor does not have. */
static st_tensor *self_in_memory(lua_State *L) {
  st__state *h = st__state_of(L);
  st__cannot_record(h, L, "it reads where a tensor is in memory");
  return st__check_tensor(h, L, 1, "self");
}

/* -- Sizes ---------------------------------------------------------------- */

/* Converts the dimension at idx, 1-based or negative, to 0-based; raises if it
 * is out of range. */
static int check_dim(st__state *h, lua_State *L, int idx, int ndim) {
  const int64_t d = st__check_int(h, L, idx, "dim");
  if (d == 0 || d > ndim || d < -ndim) {
    return st__error(h, L, ST_BAD_DIM, "dimension %" PRId64 " is out of range: "
                     "the tensor has %d dimensions, which count from 1", d,
                     ndim);
  }
  return (int)(d > 0 ? d - 1 : d + ndim);
}

/* Pushes all elements of p, or the one of the dimension in argument 2. */
static int push_one_or_all(lua_State *L, const int64_t *p, int ndim) {
  st__state *h = st__state_of(L);
  if (lua_isnoneornil(L, 2)) st__push_sizes(h, L, p, ndim, 1);     /* [+1] */
  else st__push_int(h, L, p[check_dim(h, L, 2, ndim)]);            /* [+1] */
  return 1;
}

/* size([dim]) */
static int tensor_size(lua_State *L) {
  const st_tensor *t = self(L);
  return push_one_or_all(L, st_tensor_sizes(t), st_tensor_ndim(t));
}

/* stride([dim]), in elements */
static int tensor_stride(lua_State *L) {
  const st_tensor *t = self(L);
  return push_one_or_all(L, st_tensor_strides(t), st_tensor_ndim(t));
}

static int tensor_shape(lua_State *L) {
  const st_tensor *t = self(L);
  st__push_sizes(st__state_of(L), L, st_tensor_sizes(t), st_tensor_ndim(t), 1);
  return 1;
}

static int tensor_dim(lua_State *L) {
  lua_pushinteger(L, st_tensor_ndim(self(L))); /* [+1] */
  return 1;
}

static int tensor_numel(lua_State *L) {
  st__push_int(st__state_of(L), L, st_tensor_numel(self(L))); /* [+1] */
  return 1;
}

static int tensor_nbytes(lua_State *L) {
  const st_tensor *t = self(L);
  st__push_int(st__state_of(L), L, st_tensor_numel(t) * (int64_t)
               st_dtype_size(st_tensor_dtype(t))); /* [+1] */
  return 1;
}

/* There is one layout. */
static int tensor_layout(lua_State *L) {
  self(L);
  lua_pushliteral(L, "strided"); /* [+1] */
  return 1;
}

static int tensor_len(lua_State *L) {
  const st_tensor *t = self(L);
  st__state *h = st__state_of(L);
  if (st_tensor_ndim(t) == 0) {
    return st__error(h, L, ST_BAD_SHAPE, "a 0-dim tensor has no length");
  }
  st__push_int(h, L, st_tensor_sizes(t)[0]); /* [+1] */
  return 1;
}

/* -- Elements and memory -------------------------------------------------- */

static int tensor_dtype(lua_State *L) {
  st__push_dtype(st__state_of(L), L, st_tensor_dtype(self(L))); /* [+1] */
  return 1;
}

static int tensor_device(lua_State *L) {
  const st_tensor *t = self(L);
  const st_device device = st__is_fake(st__state_of(L), t)
                           ? ST_DEVICE_CPU : st_tensor_device(t);
  lua_pushstring(L, st_device_name(device)); /* [+1] */
  return 1;
}

static int tensor_element_size(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)st_dtype_size(st_tensor_dtype(self(L))));
  return 1;
}

static int tensor_storage_offset(lua_State *L) {
  const int64_t offset = st_tensor_offset(self_in_memory(L));
  st__push_int(st__state_of(L), L, offset); /* [+1] */
  return 1;
}

/* data_ptr(): the address of the first element as a number, 0 on meta. It is
 * valid while a tensor of the storage is alive and the storage is not
 * resized. */
static int tensor_data_ptr(lua_State *L) {
  st__push_int(st__state_of(L), L, (intptr_t)st_tensor_data(self_in_memory(L)));
  return 1;
}

/* storage(): an integer that identifies the storage, and its size in bytes */
static int tensor_storage(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_tensor *t = self_in_memory(L);
  st__push_int(h, L, st__hide_address(h, st_tensor_storage(t))); /* [+1] */
  st__push_int(h, L, (int64_t)st_tensor_storage_nbytes(t));      /* [+1] */
  return 2;
}

/* is_alias_of(other): true if both share a storage */
static int tensor_is_alias_of(lua_State *L) {
  const st_tensor *t = self_in_memory(L);
  const st_tensor *u = st__check_tensor(st__state_of(L), L, 2, "other");
  lua_pushboolean(L, st_tensor_storage(t) == st_tensor_storage(u)); /* [+1] */
  return 1;
}

/* has_internal_overlap(): true if two of its elements share memory */
static int tensor_has_internal_overlap(lua_State *L) {
  bool overlaps;
  st__state *h = st__state_of(L);
  const st_status status = st_tensor_overlaps_itself(self(L), &overlaps);
  if (status != ST_OK) return st__raise(h, L, status);
  lua_pushboolean(L, overlaps); /* [+1] */
  return 1;
}

/* may_share_memory(t, other): true if a byte may belong to both */
static int may_share_memory(lua_State *L) {
  st__state *h = st__state_of(L);
  st__cannot_record(h, L, "it reads where a tensor is in memory");
  const st_tensor *t = st__check_tensor(h, L, 1, "t");
  const st_tensor *u = st__check_tensor(h, L, 2, "other");
  lua_pushboolean(L, st_may_share_memory(t, u)); /* [+1] */
  return 1;
}

/* -- Formats -------------------------------------------------------------- */

/* is_contiguous("channels_last"), is_contiguous{memory_format = ...} */
static int tensor_is_contiguous(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_tensor *t = self(L);
  st_format f = ST_FORMAT_CONTIGUOUS;
  lua_settop(L, 2);
  if (lua_istable(L, 2)) st__get_field(h, L, 2, "memory_format"); /* [+0|1] */
  if (!lua_isnil(L, -1) && !st__to_format(L, -1, &f)) {
    return st__error(h, L, ST_BAD_TYPE, "is_contiguous: argument "
                     "'memory_format' must be the name of a memory format");
  }
  lua_pushboolean(L, st_tensor_is_contiguous(t, f)); /* [+1] */
  return 1;
}

static int tensor_is_dense(lua_State *L) {
  lua_pushboolean(L, st_tensor_is_dense(self(L))); /* [+1] */
  return 1;
}

static int tensor_suggest_format(lua_State *L) {
  lua_pushstring(L, st_format_name(st_tensor_suggest_format(self(L))));
  return 1;
}

static int tensor_keys(lua_State *L) {
  char text[512];
  st__cannot_record(st__state_of(L), L, "it reads dispatch keys");
  lua_pushstring(L, st_keyset_text(st_tensor_keys(self(L)), text,
                                   sizeof text)); /* [+1] */
  return 1;
}

/* -- Printing ------------------------------------------------------------- */

/* A hook that runs inside of a long call may print; it is not asked again. */
static st_status format(st__state *h, lua_State *L, const st_tensor *t,
                        char **text) {
  if (!st__owns_fiber(h)) return st_tensor_text(t, &h->print, text);
  const st__entry e = st__enter(h, L);
  const st_status status = st_tensor_text(t, &h->print, text);
  st__leave(h, &e);
  return status;
}

void st__push_tensor_text(st__state *h, lua_State *L, int idx) {
  const st__tensor_ud *ud = st__checkudata(h, L, idx, ST_UD_TENSOR, "self");
  char **text = st__newudata(h, L, ST_UD_TEXT, sizeof *text); /* [+1] */
  if (!ud->t) {  /* st__newudata may have run a finalizer that freed it */
    lua_pushliteral(L, "tensor(freed)"); /* [+1] */
    lua_remove(L, -2);                   /* [-1] */
    return;
  }
  st__access_elements(h, L, "tostring");
  const st_status status = format(h, L, ud->t, text);
  if (status != ST_OK) st__raise(h, L, status);
  lua_pushstring(L, *text);              /* [+1] */
  st_text_release(text);
  lua_remove(L, -2);                     /* [-1] */
  st__check_lost(h, L, lua_gettop(L) + 1, "tostring"); /* new faults only */
}

/* The text of a tensor and, as in PyTorch, whether it requires a gradient. */
static int tensor_tostring(lua_State *L) {
  st__state *h = st__state_of(L);
  lua_settop(L, 1);
  st__push_tensor_text(h, L, 1);                   /* [+1] */
  const st__tensor_ud *ud = lua_touserdata(L, 1);
  if (!ud->t || !st_tensor_requires_grad(ud->t)) return 1;
  st__push_gradient_text(L);                       /* [+1] */
  const char *text = lua_tostring(L, 2), *more = lua_tostring(L, 3);
  const char *last = strrchr(text, '\n');
  const size_t n = strlen(text), line = strlen(last ? last + 1 : text);
  const bool fits = line + strlen(more) + 3 <= (size_t)h->print.linewidth;
  lua_pushlstring(L, text, n - 1);                 /* [+1] */
  lua_pushstring(L, fits ? ", " : ",\n       ");   /* [+1] */
  lua_pushvalue(L, 3);                             /* [+1] */
  lua_pushliteral(L, ")");                         /* [+1] */
  lua_concat(L, 4);                                /* [-3] */
  return 1;
}

static int text_gc(lua_State *L) {
  char **text = st__testudata(st__state_of(L), L, 1, ST_UD_TEXT);
  if (text) st_text_release(text);
  return 0;
}

/* set_print(precision, threshold, edgeitems, linewidth, sci_mode) */
static int set_print(lua_State *L) {
  st__state *h = st__state_of(L);
  h->print = (st_print_options){
    (int)luaL_checkinteger(L, 1), (int)luaL_checkinteger(L, 2),
    (int)luaL_checkinteger(L, 3), (int)luaL_checkinteger(L, 4),
    (int)luaL_checkinteger(L, 5)};
  return 0;
}

/* set_metamethod(event, fn): sets a metamethod of tensors to a Lua function */
static int set_metamethod(lua_State *L) {
  const char *event = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  st__push_meta(st__state_of(L), L, ST_UD_TENSOR); /* [+1] */
  lua_pushvalue(L, 2);                             /* [+1] */
  lua_setfield(L, -2, event);                      /* [-1] */
  return 0;
}

static int is_tensor(lua_State *L) {
  lua_pushboolean(L, st__testudata(st__state_of(L), L, 1, ST_UD_TENSOR) !=
                     NULL); /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static const luaL_Reg methods[] = {
  {"size", tensor_size}, {"stride", tensor_stride}, {"dim", tensor_dim},
  {"numel", tensor_numel}, {"element_size", tensor_element_size},
  {"storage_offset", tensor_storage_offset}, {"data_ptr", tensor_data_ptr},
  {"storage", tensor_storage}, {"is_alias_of", tensor_is_alias_of},
  {"is_contiguous", tensor_is_contiguous},
  {"is_non_overlapping_and_dense", tensor_is_dense},
  {"is_dense", tensor_is_dense},
  {"has_internal_overlap", tensor_has_internal_overlap},
  {"suggest_memory_format", tensor_suggest_format}, {"keys", tensor_keys},
  {"free", tensor_free}, {NULL, NULL}
};
static const luaL_Reg properties[] = {
  {"shape", tensor_shape}, {"dtype", tensor_dtype},
  {"device", tensor_device}, {"ndim", tensor_dim},
  {"itemsize", tensor_element_size}, {"nbytes", tensor_nbytes},
  {"layout", tensor_layout}, {NULL, NULL}
};
static const luaL_Reg metamethods[] = {
  {"__gc", tensor_gc}, {"__close", tensor_free}, {"__len", tensor_len},
  {"__tostring", tensor_tostring}, {"__concat", st__concat}, {NULL, NULL}
};
static const luaL_Reg functions[] = {
  {"is_tensor", is_tensor}, {"set_print", set_print},
  {"may_share_memory", may_share_memory},
  {"set_metamethod", set_metamethod}, {NULL, NULL}
};

void st__meta_text(st__state *h, lua_State *L) {
  static const luaL_Reg text_methods[] = {{"__gc", text_gc}, {NULL, NULL}};
  st__set_functions(h, L, text_methods);
}

void st__open_tensor(st__state *h, lua_State *L) {
  st__set_functions(h, L, functions);
  lua_newtable(L);                              /* [+1] */
  st__set_functions(h, L, properties);
  lua_setfield(L, -2, "properties");            /* [-1] */
  lua_newtable(L);                              /* [+1] */
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "methods");               /* [-1] */
  lua_newtable(L);                              /* [+1] */
  lua_pushliteral(L, "list of tensors");        /* [+1] */
  lua_setfield(L, -2, "__metatable");           /* [-1] */
  lua_pushvalue(L, -1);                         /* [+1] */
  h->lists_ref = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
  lua_setfield(L, -2, "tensor_lists");          /* [-1] */
  st__push_meta(h, L, ST_UD_TENSOR);            /* [+1] */
  st__set_functions(h, L, metamethods);
  st__set_operators(h, L);
  lua_pop(L, 1);                                /* [-1] */
}
