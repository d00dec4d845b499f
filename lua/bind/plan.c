/* Built iterators, to look at: how operands would be walked.
 */

#include <string.h>

#include "bind.h"

typedef struct plan { st_plan *p; int noutputs, noperands; } plan;

enum { MAX_OPERANDS = 16 };

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
  uint32_t bits = 0;
  for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
    lua_getfield(L, idx, flags[k].name);                /* [+1] */
    if (lua_toboolean(L, -1)) bits |= (uint32_t)flags[k].bit;
    lua_pop(L, 1);                                      /* [-1] */
  }
  return bits;
}

/* The tensors of the list at idx, false for none. Returns how many. */
static int read_operands(st__host *h, lua_State *L, int idx, const char *what,
                         st_tensor **out, int room) {
  const int n = (int)lua_objlen(L, idx);
  if (n > room) {
    st__error(h, L, ST_BAD_VALUE, "iterator: more than %d operands",
              MAX_OPERANDS);
  }
  for (int k = 0; k < n; k++) {
    lua_rawgeti(L, idx, k + 1);                         /* [+1] */
    out[k] = st__to_tensor(h, L, -1);
    if (!out[k] && lua_toboolean(L, -1) &&
        !st__is_mark(h, L, -1, ST_MARK_NONE)) {
      st__error(h, L, ST_BAD_TYPE, "iterator: element %d of '%s' must be a "
                "Tensor or false, got %s", k + 1, what,
                st__type_name(h, L, -1));
    }
    lua_pop(L, 1);                                      /* [-1] */
  }
  return n;
}

/* plan(flags, outputs, inputs, dtype or nil): a plan box */
static int new_plan(lua_State *L) {
  st__host *h = st__host_of(L);
  st_tensor *operands[MAX_OPERANDS];
  st_dtype dtype = ST_DTYPE_NONE;
  for (int i = 1; i <= 3; i++) luaL_checktype(L, i, LUA_TTABLE);
  const uint32_t bits = read_flags(L, 1);
  const int nout = read_operands(h, L, 2, "outputs", operands, MAX_OPERANDS);
  const int nin = read_operands(h, L, 3, "inputs", operands + nout,
                                MAX_OPERANDS - nout);
  for (int k = 0; k < nin; k++) {
    if (!operands[nout + k]) {
      return st__error(h, L, ST_BAD_TYPE, "iterator: element %d of 'inputs' "
                       "must be a Tensor", k + 1);
    }
  }
  if (!lua_isnoneornil(L, 4)) dtype = st__check_dtype(h, L, 4, "dtype");
  plan *p = st__box_new(h, L, ST_BOX_PLAN, sizeof *p);  /* [+1] */
  p->noutputs = nout;
  p->noperands = nout + nin;
  const int from = st_count_from(1);
  const st_status status = st_plan_new(bits, nout, nout + nin, operands,
                                       dtype, &p->p);
  st_count_from(from);
  if (status == ST_OK) return 1;
  return st__error(h, L, status, "iterator: %s", st_message());
}

static int plan_gc(lua_State *L) {
  plan *p = st__box_test(st__host_of(L), L, 1, ST_BOX_PLAN);
  if (p) st_plan_release(&p->p);
  return 0;
}

/* -- Looking -------------------------------------------------------------- */

static plan *check_plan(st__host *h, lua_State *L) {
  plan *p = st__box_check(h, L, 1, ST_BOX_PLAN, "plan");
  if (!p->p) st__error(h, L, ST_BAD_STATE, "iterator: it was released");
  return p;
}

static void set_lists(st__host *h, lua_State *L, const plan *p) {
  const int64_t *shape;
  const int *perm;
  const int ndim = st_plan_ndim(p->p);
  st__push_sizes(h, L, st_plan_shape(p->p), ndim, 1);   /* [+1] */
  lua_setfield(L, -2, "shape");                         /* [-1] */
  const int n = st_plan_common_shape(p->p, &shape);
  st__push_sizes(h, L, shape, n, 1);                    /* [+1] */
  lua_setfield(L, -2, "common_shape");                  /* [-1] */
  lua_createtable(L, p->noperands, 0);                  /* [+1] */
  for (int k = 0; k < p->noperands; k++) {
    st__push_sizes(h, L, st_plan_strides(p->p, k), ndim, 1); /* [+1] */
    lua_rawseti(L, -2, k + 1);                          /* [-1] */
  }
  lua_setfield(L, -2, "strides");                       /* [-1] */
  const int nperm = st_plan_perm(p->p, &perm);
  if (nperm == 0) return;
  lua_createtable(L, nperm, 0);                         /* [+1] */
  for (int k = 0; k < nperm; k++) {
    lua_pushinteger(L, perm[k] + 1);                    /* [+1] */
    lua_rawseti(L, -2, k + 1);                          /* [-1] */
  }
  lua_setfield(L, -2, "perm");                          /* [-1] */
}

static void set_flag(lua_State *L, const char *name, bool value) {
  lua_pushboolean(L, value);  /* [+1] */
  lua_setfield(L, -2, name);  /* [-1] */
}

/* plan_info(plan): what there is to know, as a table */
static int plan_info(lua_State *L) {
  st__host *h = st__host_of(L);
  const plan *p = check_plan(h, L);
  lua_newtable(L);                                      /* [+1] */
  set_lists(h, L, p);
  lua_pushstring(L, st_plan_fast(p->p));                /* [+1] */
  lua_setfield(L, -2, "fast");                          /* [-1] */
  st__push_int(h, L, st_plan_numel(p->p));              /* [+1] */
  lua_setfield(L, -2, "numel");                         /* [-1] */
  if (st_plan_common_dtype(p->p) <= ST_DTYPE_COUNT) {
    st__push_dtype(h, L, st_plan_common_dtype(p->p));   /* [+1] */
    lua_setfield(L, -2, "common_dtype");                /* [-1] */
  }
  lua_pushstring(L, st_plan_inner(p->p));               /* [+1] */
  lua_setfield(L, -2, "inner");                         /* [-1] */
  set_flag(L, "is_tiled_copy", st_plan_is_tiled_copy(p->p));
  set_flag(L, "coalesced", st_plan_coalesced(p->p));
  set_flag(L, "is_contiguous", st_plan_is_contiguous(p->p));
  set_flag(L, "has_contiguous_first_dim",
           st_plan_has_contiguous_first_dim(p->p));
  set_flag(L, "can_use_32bit_indexing", st_plan_can_use_32bit(p->p));
  lua_createtable(L, p->noutputs, 0);                   /* [+1] */
  for (int k = 0; k < p->noutputs; k++) {
    st__box *box = st__push_box(h, L);                  /* [+1] */
    box->t = st_plan_output(p->p, k);
    lua_rawseti(L, -2, k + 1);                          /* [-1] */
  }
  lua_setfield(L, -2, "outputs");                       /* [-1] */
  return 1;
}

/* plan_steps(plan, first, last): for the elements [first, last), counted from
 * 0, a list of {n0, n1, byte offset of each operand ...} */
static int plan_steps(lua_State *L) {
  st__host *h = st__host_of(L);
  const plan *p = check_plan(h, L);
  const int64_t first = st__check_int(h, L, 2, "first");
  const int64_t last = st__check_int(h, L, 3, "last");
  int64_t size[2], offsets[MAX_OPERANDS];
  if (first < 0 || last < first || last > st_plan_numel(p->p)) {
    return st__error(h, L, ST_BAD_INDEX, "steps: [%lld, %lld) is outside the "
                     "%lld elements", (long long)first, (long long)last,
                     (long long)st_plan_numel(p->p));
  }
  lua_newtable(L);                                      /* [+1] */
  for (int k = 0; st_plan_step(p->p, first, last, k, size, offsets); k++) {
    lua_createtable(L, p->noperands + 2, 0);            /* [+1] */
    for (int i = 0; i < p->noperands + 2; i++) {
      st__push_int(h, L, i < 2 ? size[i] : offsets[i - 2]); /* [+1] */
      lua_rawseti(L, -2, i + 1);                        /* [-1] */
    }
    lua_rawseti(L, -2, k + 1);                          /* [-1] */
  }
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_plan(st__host *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"plan", new_plan}, {"plan_info", plan_info}, {"plan_steps", plan_steps},
    {NULL, NULL}
  };
  static const luaL_Reg methods[] = {{"__gc", plan_gc}, {NULL, NULL}};
  st__set_functions(h, L, functions);
  st__push_meta(h, L, ST_BOX_PLAN); /* [+1] */
  st__set_functions(h, L, methods);
  lua_pop(L, 1);                    /* [-1] */
}
