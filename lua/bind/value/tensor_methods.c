/* Properties of tensors, and the methods that only read the header and so are
 * no operators.
 */

#include <inttypes.h>

#include "state/guard.h"
#include "value/value.h"

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

/* Raises unless t has strides. */
static const st_tensor *check_strided(lua_State *L, const st_tensor *t) {
  const st_layout layout = st_tensor_layout(t);
  if (layout == ST_LAYOUT_STRIDED) return t;
  st__error(st__state_of(L), L, ST_BAD_LAYOUT, "a tensor of layout '%s' has no "
            "strides and no memory of elements", st_layout_name(layout));
  return NULL;
}

/* stride([dim]), in elements */
static int tensor_stride(lua_State *L) {
  const st_tensor *t = check_strided(L, self(L));
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
  st__push_int(st__state_of(L), L, (int64_t)st_tensor_nbytes(t)); /* [+1] */
  return 1;
}

static int tensor_layout(lua_State *L) {
  lua_pushstring(L, st_layout_name(st_tensor_layout(self(L)))); /* [+1] */
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

/* -- Properties that cannot be set ---------------------------------------- */

/* What to write instead of an assignment to a field. */
static const struct { const char *name, *text; } unset[] = {
  {"shape", "; write t:reshape(2, 3), or t:resize_(2, 3)"},
  {"dtype", "; write t:to(dtype)"}, {"device", "; write t:to(device)"},
  {"data", "; write t:copy_(source) in st.no_grad(function() ... end)"}
};

int st__refuse_property(st__state *h, lua_State *L, const char *name) {
  const char *text = "; keep it in a table of yours";
  for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) {
    if (strcmp(unset[i].name, name) == 0) text = unset[i].text;
  }
  return st__error(h, L, ST_BAD_VALUE, "a Tensor has no property '%.40s' that "
                   "can be set%s", name, text);
}

/* -- Elements and memory -------------------------------------------------- */

static int tensor_dtype(lua_State *L) {
  st__push_dtype(st__state_of(L), L, st_tensor_dtype(self(L))); /* [+1] */
  return 1;
}

static int tensor_device(lua_State *L) {
  const st__state *h = st__state_of(L);
  const st_tensor *t = self(L);
  const st_device device = st__is_fake(h, t) ? st_recorder_device(h->recorder)
                                             : st_tensor_device(t);
  lua_pushstring(L, st_device_name(device)); /* [+1] */
  return 1;
}

static int tensor_element_size(lua_State *L) {
  st__push_itemsize(L, st_tensor_dtype(self(L))); /* [+1] */
  return 1;
}

static int tensor_storage_offset(lua_State *L) {
  const st_tensor *t = check_strided(L, self_in_memory(L));
  st__push_int(st__state_of(L), L, st_tensor_offset(t)); /* [+1] */
  return 1;
}

/* data_ptr(): the address of the first element as a number, 0 on meta. It is
 * valid while a tensor of the storage is alive and the storage is not
 * resized. */
static int tensor_data_ptr(lua_State *L) {
  const st_tensor *t = check_strided(L, self_in_memory(L));
  st__push_int(st__state_of(L), L, (intptr_t)st_tensor_data(t)); /* [+1] */
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
  {NULL, NULL}
};
static const luaL_Reg properties[] = {
  {"shape", tensor_shape}, {"dtype", tensor_dtype},
  {"device", tensor_device}, {"ndim", tensor_dim},
  {"itemsize", tensor_element_size}, {"nbytes", tensor_nbytes},
  {"layout", tensor_layout}, {NULL, NULL}
};
static const luaL_Reg metamethods[] = {
  {"__len", tensor_len}, {"__concat", st__concat}, {NULL, NULL}
};
static const luaL_Reg functions[] = {
  {"may_share_memory", may_share_memory}, {NULL, NULL}
};

void st__open_tensor_methods(st__state *h, lua_State *L) {
  st__set_functions(h, L, functions);
  lua_getfield(L, -1, "properties");            /* [+1] */
  st__set_functions(h, L, properties);
  lua_getfield(L, -2, "methods");               /* [+1] */
  st__set_functions(h, L, methods);
  lua_pop(L, 2);                                /* [-2] */
  st__push_meta(h, L, ST_UD_TENSOR);            /* [+1] */
  st__set_functions(h, L, metamethods);
  lua_pop(L, 1);                                /* [-1] */
}
