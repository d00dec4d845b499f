/* Plans: built tensor iterators (ATen's TensorIterator) that a script can
 * inspect and run step by step.
 */

#include <inttypes.h>
#include <string.h>

#include "tensor/tensor.h"

typedef struct plan { st_plan *p; int noutputs, noperands; } plan;

enum { MAX_OPERANDS = 16, MAX_THREADS = 256, PLAN_ARGS = 7 };

/* ORDER st_plan_kind */
static const char *const kinds[] = {"own", "elementwise", "copy", "reduction"};

/* ORDER PLAN_FLAG: the names of ATen's TensorIteratorConfig. */
static const struct { const char *name; int bit; } flags[] = {
  {"check_mem_overlap", ST_PLAN_CHECK_OVERLAP},
  {"allow_cpu_scalars", ST_PLAN_CPU_SCALARS},
  {"is_reduction", ST_PLAN_REDUCTION},
  {"resize_outputs", ST_PLAN_RESIZE_OUTPUTS},
  {"check_all_same_dtype", ST_PLAN_SAME_DTYPE},
  {"check_all_same_device", ST_PLAN_SAME_DEVICE},
  {"enforce_safe_casting_to_output", ST_PLAN_SAFE_CAST},
  {"enforce_linear_iteration", ST_PLAN_LINEAR},
  {"promote_inputs_to_common_dtype", ST_PLAN_PROMOTE},
  {"promote_integer_inputs_to_float", ST_PLAN_INT_TO_FLOAT},
  {"cast_common_dtype_to_outputs", ST_PLAN_CAST_OUTPUTS}
};

/* -- Building ------------------------------------------------------------- */

static uint32_t read_flags(lua_State *L, int idx) {
  st__state *h = st__state_of(L);
  uint32_t bits = 0;
  for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
    st__get_field(h, L, idx, flags[k].name);            /* [+1] */
    if (lua_toboolean(L, -1)) bits |= (uint32_t)flags[k].bit;
    lua_pop(L, 1);                                      /* [-1] */
  }
  return bits;
}

/* The dtype of a wrapped number: the widest of its kind, so that the value is
 * exact. Type promotion treats it as a number. ORDER SCALAR_KIND */
static st_dtype widest(st_scalar s) {
  switch (s.kind) {
    case ST_SCALAR_BOOL: return ST_BOOL;
    case ST_SCALAR_INT: return ST_INT64;
    case ST_SCALAR_UINT: return ST_UINT64;
    case ST_SCALAR_FLOAT: return ST_FLOAT64;
    default: return ST_COMPLEX128;
  }
}

/* Wraps a number as a 0-dim tensor, whose userdata replaces element `at` of
 * the list at idx. The list keeps the tensor alive. */
static st_tensor *wrap_number(st__state *h, lua_State *L, int idx, int at,
                              st_scalar s) {
  st__tensor_ud *ud = st__new_tensor_ud(h, L);          /* [+1] */
  const st_status status = st_tensor_scalar(s, widest(s), true, &ud->t);
  if (status != ST_OK) st__raise(h, L, status);
  lua_rawseti(L, idx, at);                              /* [-1] */
  return ud->t;
}

/* True if the list at idx has a floating or complex tensor. */
static bool holds_floats(st__state *h, lua_State *L, int idx) {
  bool holds = false;
  for (int k = 1; k <= (int)lua_objlen(L, idx); k++) {
    lua_rawgeti(L, idx, k);                             /* [+1] */
    const st_tensor *t = st__to_tensor(h, L, -1);
    holds |= t && st__has_fractions(st_tensor_dtype(t));
    lua_pop(L, 1);                                      /* [-1] */
  }
  return holds;
}

/* Reads the tensors of the list at idx: an output may be false, which gives
 * NULL; a number among the inputs is replaced in the list by a tensor. Returns
 * the number of operands. */
static int read_operands(st__state *h, lua_State *L, int idx, bool is_output,
                         st_tensor **out, int room) {
  const char *what = is_output ? "outputs" : "inputs";
  const int n = (int)lua_objlen(L, idx);
  st_scalar s;
  if (n > room) {
    st__error(h, L, ST_BAD_VALUE, "iterator: more than %d operands",
              MAX_OPERANDS);
  }
  for (int k = 0; k < n; k++) {
    lua_rawgeti(L, idx, k + 1);                         /* [+1] */
    out[k] = st__to_tensor(h, L, -1);
    const bool is_absent = is_output &&
      (!lua_toboolean(L, -1) || st__is_sentinel(h, L, -1, ST_SENTINEL_NONE));
    if (!out[k] && !is_output && st__to_scalar(h, L, -1, &s) &&
        !lua_isboolean(L, -1)) {
      if (st__is_minus_zero(L, -1) && holds_floats(h, L, idx)) {
        s = st__minus_zero;
      }
      out[k] = wrap_number(h, L, idx, k + 1, s);
    }
    if (!out[k] && !is_absent) {
      st__error(h, L, ST_BAD_TYPE, "iterator: element %d of '%s' must be a "
                "Tensor or %s, got %s", k + 1, what,
                is_output ? "false" : "a number", st__type_name(h, L, -1));
    }
    lua_pop(L, 1);                                      /* [-1] */
  }
  return n;
}

/* Reads the static shape in the list at idx, if there is one. */
static void read_shape(st__state *h, lua_State *L, int idx, int64_t *sizes,
                       st_plan_config *c) {
  if (lua_isnoneornil(L, idx)) return;
  luaL_checktype(L, idx, LUA_TTABLE);
  c->static_ndim = (int)lua_objlen(L, idx);
  if (c->static_ndim > ST_MAX_DIMS) {
    st__error(h, L, ST_BAD_SHAPE, "iterator: a shape has at most %d "
              "dimensions", ST_MAX_DIMS);
  }
  for (int d = 0; d < c->static_ndim; d++) {
    lua_rawgeti(L, idx, d + 1);                         /* [+1] */
    sizes[d] = st__check_int(h, L, -1, "static_shape");
    lua_pop(L, 1);                                      /* [-1] */
  }
  c->static_shape = sizes;
}

/* plan(flags, outputs, inputs, dtype or nil, static dtype or nil, static
 * shape or nil, static device or nil): a plan userdata. Modifies the lists. */
static int new_plan(lua_State *L) {
  st__state *h = st__state_of(L);
  st_tensor *operands[MAX_OPERANDS];
  int64_t sizes[ST_MAX_DIMS];
  lua_settop(L, PLAN_ARGS);
  for (int i = 1; i <= 3; i++) luaL_checktype(L, i, LUA_TTABLE);
  st__cannot_record(h, L, "it builds a tensor iterator");
  st_plan_config c = {.flags = read_flags(L, 1), .operands = operands,
                      .dtype = ST_DTYPE_NONE, .static_dtype = ST_DTYPE_NONE};
  c.noutputs = read_operands(h, L, 2, true, operands, MAX_OPERANDS);
  c.noperands = c.noutputs + read_operands(h, L, 3, false,
                                           operands + c.noutputs,
                                           MAX_OPERANDS - c.noutputs);
  if (!lua_isnil(L, 4)) c.dtype = st__check_dtype(h, L, 4, "dtype");
  if (!lua_isnil(L, 5)) {
    c.static_dtype = st__check_dtype(h, L, 5, "static_dtype");
  }
  read_shape(h, L, 6, sizes, &c);
  c.has_static_device = !lua_isnil(L, 7);
  if (c.has_static_device && !st__to_device(L, 7, &c.static_device)) {
    st__error(h, L, ST_BAD_VALUE, "iterator: argument 'static_device' must be "
              "the name of a device");
  }
  st__check_fiber(h, L, "iterator");
  plan *p = st__newudata(h, L, ST_UD_PLAN, sizeof *p);  /* [+1] */
  p->noutputs = c.noutputs;
  p->noperands = c.noperands;
  const st__entry e = st__enter(h, L);
  const st_status status = st_plan_new(&c, &p->p);
  st__leave(h, &e);
  if (status == ST_OK) return 1;
  return st__error(h, L, status, "iterator: %s", st_message());
}

static int plan_gc(lua_State *L) {
  plan *p = st__testudata(st__state_of(L), L, 1, ST_UD_PLAN);
  if (p) st_plan_release(&p->p);
  return 0;
}

enum { MAX_PLANS = 8 };

/* plan_call(op, ...): a list of MAX_PLANS userdata, the first of which hold
 * the plans that a call would run, and the number of plans; or nil, and why
 * the call would fail; or only nil if its plans cannot be determined */
static int plan_call(lua_State *L) {
  st__state *h = st__state_of(L);
  st__frame f;
  plan *uds[MAX_PLANS];
  st_plan *plans[MAX_PLANS];
  int count = 0;
  luaL_checkany(L, 1);
  st__cannot_record(h, L, "it builds a tensor iterator");
  st__packet *packet = st__push_operator(h, L, 1, &f.is_method); /* [+1] */
  lua_replace(L, 1);                                    /* [-1] */
  f.is_complete = false;
  st__resolve_frame(h, L, packet, 2, &f);
  lua_newtable(L);                                      /* [+1] */
  for (int k = 0; k < MAX_PLANS; k++) {
    uds[k] = st__newudata(h, L, ST_UD_PLAN, sizeof **uds);     /* [+1] */
    lua_rawseti(L, -2, k + 1);                          /* [-1] */
  }
  st__request req = {.kind = ST_REQUEST_PLANS, .plans = plans,
                     .room = MAX_PLANS, .count = &count};
  const st_status status = st__run_frame(&f, &req);
  if (status != ST_OK) {
    lua_pushnil(L);                                     /* [+1] */
    if (status == ST_BAD_STATE || status == ST_NO_KERNEL) return 1;
    lua_pushstring(L, st_message());                    /* [+1] */
    return 2;
  }
  for (int k = 0; k < MAX_PLANS && k < count; k++) {
    const st_plan_facts facts = st_plan_facts_of(plans[k]);
    *uds[k] = (plan){plans[k], facts.noutputs, facts.noperands};
  }
  lua_pushinteger(L, count);                            /* [+1] */
  return 2;
}

/* plan_preset(name): a table of the preset's flags, and its static dtype or
 * nil; nothing if there is no such preset. Without a name: a list of all
 * names. */
static int plan_preset(lua_State *L) {
  uint32_t bits;
  st_dtype dtype;
  lua_newtable(L);                                      /* [+1] */
  if (lua_type(L, 1) != LUA_TSTRING) {
    const char *name;
    for (int k = 0; (name = st_plan_preset_name(k)); k++) {
      lua_pushstring(L, name);                          /* [+1] */
      lua_rawseti(L, -2, k + 1);                        /* [-1] */
    }
    return 1;
  }
  if (st_plan_preset(lua_tostring(L, 1), &bits, &dtype) != ST_OK) return 0;
  for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
    lua_pushboolean(L, (bits & (uint32_t)flags[k].bit) != 0); /* [+1] */
    lua_setfield(L, -2, flags[k].name);                 /* [-1] */
  }
  if (dtype == ST_DTYPE_NONE) return 1;
  st__push_dtype(st__state_of(L), L, dtype);            /* [+1] */
  return 2;
}

/* -- Inspecting ----------------------------------------------------------- */

static plan *check_plan(st__state *h, lua_State *L) {
  plan *p = st__checkudata(h, L, 1, ST_UD_PLAN, "plan");
  if (!p->p) st__error(h, L, ST_BAD_STATE, "iterator: the plan was released");
  return p;
}

static void set_sizes(st__state *h, lua_State *L, const char *name,
                      const int64_t *sizes, int n) {
  st__push_sizes(h, L, sizes, n, 1);                    /* [+1] */
  lua_setfield(L, -2, name);                            /* [-1] */
}

static void set_lists(st__state *h, lua_State *L, const plan *p,
                      const st_plan_facts *f) {
  set_sizes(h, L, "shape", f->shape, f->ndim);
  set_sizes(h, L, "view_offsets", f->view_offset, f->ndim);
  set_sizes(h, L, "common_shape", f->common_shape, f->common_ndim);
  lua_createtable(L, p->noperands, 0);                  /* [+1] */
  for (int k = 0; k < p->noperands; k++) {
    st__push_sizes(h, L, st_plan_strides(p->p, k), f->ndim, 1); /* [+1] */
    lua_rawseti(L, -2, k + 1);                          /* [-1] */
  }
  lua_setfield(L, -2, "strides");                       /* [-1] */
  if (f->nperm == 0) return;
  lua_createtable(L, f->nperm, 0);                      /* [+1] */
  for (int k = 0; k < f->nperm; k++) {
    lua_pushinteger(L, f->perm[k] + 1);                 /* [+1] */
    lua_rawseti(L, -2, k + 1);                          /* [-1] */
  }
  lua_setfield(L, -2, "perm");                          /* [-1] */
}

static void set_flag(lua_State *L, const char *name, bool value) {
  lua_pushboolean(L, value);  /* [+1] */
  lua_setfield(L, -2, name);  /* [-1] */
}

static void set_int(st__state *h, lua_State *L, const char *name, int64_t i) {
  st__push_int(h, L, i);      /* [+1] */
  lua_setfield(L, -2, name);  /* [-1] */
}

/* operands = {{dtype =, numel =, low =, high =, is_output =, ...}, ...} */
static void set_operands(st__state *h, lua_State *L, const plan *p) {
  st_plan_operand op;
  lua_createtable(L, p->noperands, 0);                  /* [+1] */
  for (int k = 0; k < p->noperands; k++) {
    if (st_plan_operand_info(p->p, k, &op) != ST_OK) continue;
    lua_createtable(L, 0, 8);                           /* [+1] */
    st__push_dtype(h, L, op.dtype);                     /* [+1] */
    lua_setfield(L, -2, "dtype");                       /* [-1] */
    st__push_dtype(h, L, op.seen_as);                   /* [+1] */
    lua_setfield(L, -2, "seen_as");                     /* [-1] */
    set_int(h, L, "numel", op.numel);
    set_int(h, L, "low", op.low);
    set_int(h, L, "high", op.high);
    set_flag(L, "is_output", op.is_output);
    set_flag(L, "is_read_write", op.is_read_write);
    set_flag(L, "is_resized", op.is_resized);
    set_flag(L, "is_temporary", op.is_temporary);
    lua_rawseti(L, -2, k + 1);                          /* [-1] */
  }
  lua_setfield(L, -2, "operands");                      /* [-1] */
}

static void set_outputs(st__state *h, lua_State *L, const plan *p) {
  lua_createtable(L, p->noutputs, 0);                   /* [+1] */
  for (int k = 0; k < p->noutputs; k++) {
    st__tensor_ud *ud = st__new_tensor_ud(h, L);        /* [+1] */
    ud->t = st_plan_output(p->p, k);
    lua_rawseti(L, -2, k + 1);                          /* [-1] */
  }
  lua_setfield(L, -2, "outputs");                       /* [-1] */
}

static void set_facts(st__state *h, lua_State *L, const st_plan_facts *f) {
  set_int(h, L, "numel", f->numel);
  set_int(h, L, "ndim", f->ndim);
  set_int(h, L, "num_output_elements", f->num_output_elements);
  set_int(h, L, "num_reduce_dims", f->num_reduce_dims);
  set_flag(L, "is_trivial_1d", f->ndim == 1);
  set_flag(L, "is_tiled_copy", f->is_tiled_copy);
  set_flag(L, "is_coalesced", f->is_coalesced);
  set_flag(L, "is_contiguous", f->is_contiguous);
  set_flag(L, "has_contiguous_first_dim", f->has_contiguous_first_dim);
  set_flag(L, "can_use_32bit_indexing", f->can_use_32bit);
  set_flag(L, "accumulate", f->accumulates);
  set_flag(L, "final_output", f->is_final);
  set_flag(L, "is_tiled", f->run.is_tiled);
  set_flag(L, "is_buffered", f->run.is_buffered);
  lua_pushstring(L, kinds[f->run.kind]);                /* [+1] */
  lua_setfield(L, -2, "kind");                          /* [-1] */
  if (f->run.grain > 0) set_int(h, L, "grain", f->run.grain);
  lua_pushstring(L, f->fast);                           /* [+1] */
  lua_setfield(L, -2, "fast");                          /* [-1] */
  lua_pushstring(L, f->inner);                          /* [+1] */
  lua_setfield(L, -2, "inner");                         /* [-1] */
  if (f->dim_to_split >= 0) set_int(h, L, "dim_to_split", f->dim_to_split + 1);
  if (f->common_dtype >= ST_DTYPE_ALL) return;
  st__push_dtype(h, L, f->common_dtype);                /* [+1] */
  lua_setfield(L, -2, "common_dtype");                  /* [-1] */
}

/* plan_info(plan): a table that describes the plan */
static int plan_info(lua_State *L) {
  st__state *h = st__state_of(L);
  const plan *p = check_plan(h, L);
  const st_plan_facts facts = st_plan_facts_of(p->p);
  lua_newtable(L);                                      /* [+1] */
  set_facts(h, L, &facts);
  set_lists(h, L, p, &facts);
  set_operands(h, L, p);
  set_outputs(h, L, p);
  return 1;
}

/* -- Running -------------------------------------------------------------- */

typedef struct range { int64_t first, last; } range;

static range check_range(st__state *h, lua_State *L, const plan *p) {
  const range r = {st__check_int(h, L, 2, "first"),
                   st__check_int(h, L, 3, "last")};
  const int64_t numel = st_plan_facts_of(p->p).numel;
  if (r.first < 0 || r.last < r.first || r.last > numel) {
    st__error(h, L, ST_BAD_INDEX, "iterator: [%" PRId64 ", %" PRId64 ") is "
              "outside the %" PRId64 " elements", r.first, r.last, numel);
  }
  return r;
}

/* Stores {n0, n1, byte offset of each operand ...} in the table at the top. */
static void set_step(st__state *h, lua_State *L, const plan *p,
                     const int64_t size[2], const int64_t *offsets) {
  for (int i = 0; i < p->noperands + 2; i++) {
    st__push_int(h, L, i < 2 ? size[i] : offsets[i - 2]); /* [+1] */
    lua_rawseti(L, -2, i + 1);                        /* [-1] */
  }
}

/* plan_steps(plan, first, last): a list of the steps for the elements [first,
 * last), 0-based */
static int plan_steps(lua_State *L) {
  st__state *h = st__state_of(L);
  const plan *p = check_plan(h, L);
  const range r = check_range(h, L, p);
  int64_t size[2], offsets[MAX_OPERANDS];
  lua_newtable(L);                                      /* [+1] */
  for (int k = 0; st_plan_step(p->p, r.first, r.last, k, size, offsets);
       k++) {
    lua_createtable(L, p->noperands + 2, 0);            /* [+1] */
    set_step(h, L, p, size, offsets);
    lua_rawseti(L, -2, k + 1);                          /* [-1] */
  }
  return 1;
}

/* plan_step(plan, first, last, k, into): stores step k, 0-based, in a table;
 * false if there is no such step */
static int plan_step(lua_State *L) {
  st__state *h = st__state_of(L);
  const plan *p = check_plan(h, L);
  const range r = check_range(h, L, p);
  const int64_t k = st__check_int(h, L, 4, "k");
  int64_t size[2], offsets[MAX_OPERANDS];
  luaL_checktype(L, 5, LUA_TTABLE);
  lua_settop(L, 5);
  const bool found = st_plan_step(p->p, r.first, r.last, k, size, offsets);
  if (found) set_step(h, L, p, size, offsets);
  lua_pushboolean(L, found);                            /* [+1] */
  return 1;
}

/* plan_data(plan, first, last, k, into): the same with addresses, as numbers,
 * in place of offsets; raises if the step is out of a storage's bounds */
static int plan_data(lua_State *L) {
  st__state *h = st__state_of(L);
  const plan *p = check_plan(h, L);
  const range r = check_range(h, L, p);
  const int64_t k = st__check_int(h, L, 4, "k");
  int64_t size[2], offsets[MAX_OPERANDS];
  void *data[MAX_OPERANDS];
  luaL_checktype(L, 5, LUA_TTABLE);
  lua_settop(L, 5);
  const bool found = st_plan_step(p->p, r.first, r.last, k, size, offsets);
  if (found) {
    const st_status status = st_plan_data(p->p, size, offsets, data);
    if (status != ST_OK) return st__raise(h, L, status);
    for (int i = 0; i < p->noperands; i++) offsets[i] = (intptr_t)data[i];
    set_step(h, L, p, size, offsets);
  }
  lua_pushboolean(L, found);                            /* [+1] */
  return 1;
}

/* Reads the 1-based operand in argument 2, returned 0-based, and the byte
 * offset in argument 3. Returns -1 for an invalid operand, which the engine
 * reports. */
static int check_element(st__state *h, lua_State *L, int64_t *offset) {
  const int64_t i = st__check_int(h, L, 2, "operand");
  *offset = st__check_int(h, L, 3, "offset");
  return i < 1 || i > MAX_OPERANDS ? -1 : (int)i - 1;
}

/* Restores the base of indices in messages (1 during the call), and raises a
 * failure. */
static int finish(st__state *h, lua_State *L, st_status status, int from) {
  st_count_from(from);
  return status == ST_OK ? 0 : st__error(h, L, status, "iterator: %s",
                                         st_message());
}

/* plan_get(plan, operand, offset): the element, a number, boolean or scalar */
static int plan_get(lua_State *L) {
  st__state *h = st__state_of(L);
  const plan *p = check_plan(h, L);
  int64_t offset;
  st_scalar s;
  const int i = check_element(h, L, &offset);
  const int from = st_count_from(1);
  finish(h, L, st_plan_get(p->p, i, offset, &s), from);
  st__push_scalar(h, L, s);                             /* [+1] */
  return 1;
}

/* plan_set(plan, operand, offset, value) */
static int plan_set(lua_State *L) {
  st__state *h = st__state_of(L);
  const plan *p = check_plan(h, L);
  int64_t offset;
  st_scalar s;
  const int i = check_element(h, L, &offset);
  if (!st__to_scalar(h, L, 4, &s)) {
    return st__error(h, L, ST_BAD_TYPE, "iterator: argument 'value' must be a "
                     "number, got %s", st__type_name(h, L, 4));
  }
  if (st__is_minus_zero(L, 4)) s = st__minus_zero;
  const int from = st_count_from(1);
  return finish(h, L, st_plan_set(p->p, i, offset, s), from);
}

/* plan_cast_outputs(plan) */
static int plan_cast_outputs(lua_State *L) {
  st__state *h = st__state_of(L);
  const plan *p = check_plan(h, L);
  const int from = st_count_from(1);
  return finish(h, L, st_plan_cast_outputs(p->p), from);
}

/* -- Splitting ------------------------------------------------------------ */

/* Reads a 1-based dimension or operand in argument 2 and returns it 0-based.
 * The engine checks the upper bound. */
static int check_number(st__state *h, lua_State *L, const char *what) {
  const int64_t i = st__check_int(h, L, 2, what);
  if (i < 1 || i > INT16_MAX) {
    st__error(h, L, ST_BAD_INDEX, "iterator: there is no %s %" PRId64, what, i);
  }
  return (int)i - 1;
}

/* plan_narrow(plan, dim, start, size) */
static int plan_narrow(lua_State *L) {
  st__state *h = st__state_of(L);
  const plan *p = check_plan(h, L);
  const int dim = check_number(h, L, "dimension");
  const int64_t start = st__check_int(h, L, 3, "start");
  const int64_t size = st__check_int(h, L, 4, "length");
  const int from = st_count_from(1);
  return finish(h, L, st_plan_narrow(p->p, dim, start < 1 ? -1 : start - 1,
                                     size), from);
}

/* plan_split(plan, dim): returns the plan of the first half of a dimension;
 * the plan itself keeps the second half */
static int plan_split(lua_State *L) {
  st__state *h = st__state_of(L);
  const plan *p = check_plan(h, L);
  const int dim = check_number(h, L, "dimension");
  plan *first = st__newudata(h, L, ST_UD_PLAN, sizeof *first); /* [+1] */
  first->noutputs = p->noutputs;
  first->noperands = p->noperands;
  const int from = st_count_from(1);
  finish(h, L, st_plan_split(p->p, dim, &first->p), from);
  return 1;
}

/* plan_remove_operand(plan, operand) */
static int plan_remove_operand(lua_State *L) {
  st__state *h = st__state_of(L);
  plan *p = check_plan(h, L);
  const int i = check_number(h, L, "operand");
  const int from = st_count_from(1);
  finish(h, L, st_plan_remove_operand(p->p, i), from);
  p->noperands--;
  if (i < p->noutputs) p->noutputs--;
  return 0;
}

/* plan_replace_operand(plan, operand, tensor) */
static int plan_replace_operand(lua_State *L) {
  st__state *h = st__state_of(L);
  const plan *p = check_plan(h, L);
  const int i = check_number(h, L, "operand");
  st_tensor *t = st__to_tensor(h, L, 3);
  if (!t) {
    return st__error(h, L, ST_BAD_TYPE, "iterator: the new operand must be a "
                     "Tensor, got %s", st__type_name(h, L, 3));
  }
  const int from = st_count_from(1);
  return finish(h, L, st_plan_replace_operand(p->p, i, t), from);
}

/* -- Chunks --------------------------------------------------------------- */

/* chunks(n, grain, threads): a list of the ranges {first, last} of each
 * thread's share of n elements; last is exclusive */
static int chunks(lua_State *L) {
  st__state *h = st__state_of(L);
  const int64_t n = st__check_int(h, L, 1, "n");
  const int64_t grain = st__check_int(h, L, 2, "grain");
  const int64_t threads = st__check_int(h, L, 3, "threads");
  int64_t begin, end;
  if (threads < 1 || threads > MAX_THREADS || grain < 1) {
    return st__error(h, L, ST_BAD_VALUE, "iterator: chunks need 1 to %d "
                     "threads and a grain of at least 1", MAX_THREADS);
  }
  lua_newtable(L);                                      /* [+1] */
  for (int k = 0; st_chunk(n, grain, (int)threads, k, &begin, &end); k++) {
    lua_createtable(L, 2, 0);                           /* [+1] */
    st__push_int(h, L, begin);                          /* [+1] */
    lua_rawseti(L, -2, 1);                              /* [-1] */
    st__push_int(h, L, end);                            /* [+1] */
    lua_rawseti(L, -2, 2);                              /* [-1] */
    lua_rawseti(L, -2, k + 1);                          /* [-1] */
  }
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_plan(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {{"__gc", plan_gc}, {NULL, NULL}};
  st__set_functions(h, L, methods);
}

void st__open_plan(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"plan", new_plan}, {"plan_call", plan_call}, {"plan_preset", plan_preset},
    {"plan_info", plan_info}, {"plan_steps", plan_steps},
    {"plan_step", plan_step}, {"plan_data", plan_data}, {"chunks", chunks},
    {"plan_narrow", plan_narrow}, {"plan_split", plan_split},
    {"plan_remove_operand", plan_remove_operand},
    {"plan_replace_operand", plan_replace_operand}, {NULL, NULL}};
  static const luaL_Reg access[] = {
    {"plan_get", plan_get}, {"plan_set", plan_set},
    {"plan_cast_outputs", plan_cast_outputs}, {NULL, NULL}};
  st__fill_meta(h, ST_UD_PLAN, fill_plan);
  st__set_functions(h, L, functions);
  st__set_access_functions(h, L, access, false);
}
