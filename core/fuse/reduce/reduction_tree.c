/* The pairwise tree of a custom reduction (Note [The pairwise tree of a custom
 * reduction]).
 */

#include "fuse/reduce/reduction_tree.h"

#include <string.h>

enum { MIN_ROW = 16 /* shorter rows are no inner loop */ };

/* True if the instructions read and write inputs and outputs only. */
static bool has_no_slots(const st_program *p) {
  bool found = p->nprologue > 0;
  for (int k = 0; k < p->ninstrs; k++) {
    for (int i = 0; i < p->instrs[k].n; i++) {
      const int kind = p->slots[p->instrs[k].at[i]].kind;
      found |= kind != ST_SLOT_INPUT && kind != ST_SLOT_OUTPUT;
    }
  }
  return !found;
}

void st__tree_init(st_tree *t, const st_program *combine, int n,
                   bool is_commutative) {
  t->combine = combine;
  t->n = n;
  t->is_direct = is_commutative && has_no_slots(combine);
  for (int j = 0; j < n; j++) {
    t->size[j] = (int64_t)st__itemsize((st_dtype)combine->out_dtype[j]);
  }
}

st_accs st__accs_at(const st_tree *t, st_accs from, int64_t at) {
  for (int j = 0; j < t->n; j++) from.p[j] += at * t->size[j];
  return from;
}

/* -- Grids ---------------------------------------------------------------- */

enum { TO, A, B, ROLES };

/* The loop over one level: up to three dimensions; strides in elements. */
typedef struct grid {
  int n;
  int64_t size[3], step[3][ROLES];
} grid;

/* Appends a dimension, or merges it with the last one. Dimensions must come in
 * the order of the output's strides, the smallest first. */
static void add_dim(grid *g, int64_t size, int64_t to, int64_t a, int64_t b) {
  if (size == 1) return;
  if (g->n > 0) {
    int64_t *last = g->step[g->n - 1], *m = &g->size[g->n - 1];
    if (to == last[TO] * *m && a == last[A] * *m && b == last[B] * *m) {
      *m *= size;
      return;
    }
  }
  g->size[g->n] = size;
  g->step[g->n][TO] = to;
  g->step[g->n][A] = a;
  g->step[g->n++][B] = b;
}

static void swap_dims(grid *g, int i, int j) {
  const grid old = *g;
  g->size[i] = old.size[j];
  g->size[j] = old.size[i];
  memcpy(g->step[i], old.step[j], sizeof *g->step);
  memcpy(g->step[j], old.step[i], sizeof *g->step);
}

/* Pads the grid to three dimensions and moves longer ones inside. */
static void finish_grid(grid *g) {
  for (; g->n < 3; g->n++) {
    g->size[g->n] = 1;
    memset(g->step[g->n], 0, sizeof *g->step);
  }
  if (g->size[2] > g->size[1]) swap_dims(g, 1, 2);
  if (g->size[0] < MIN_ROW && g->size[1] > g->size[0]) swap_dims(g, 0, 1);
}

/* -- Loops ---------------------------------------------------------------- */

/* Runs each instruction over the whole window. An output may overwrite its
 * operands in place: later instructions read other accumulators only. */
static void run_direct(const st_program *p, char *const *data,
                       const int64_t *s, int64_t n0, int64_t n1) {
  const int n = p->noutputs + p->ninputs;
  int operand[ST_PROGRAM_OPERANDS];
  for (int i = 0; i < p->noutputs; i++) operand[i] = i;
  for (int i = 0; i < p->ninputs; i++) {
    operand[p->noutputs + p->order[i]] = p->noutputs + i;
  }
  for (int k = 0; k < p->ninstrs; k++) {
    const st_instr *x = &p->instrs[k];
    char *at[ST_INSTR_OPERANDS];
    int64_t strides[2 * ST_INSTR_OPERANDS];
    for (int i = 0; i < x->n; i++) {
      const int o = operand[x->at[i]];
      at[i] = data[o];
      strides[i] = s[o];
      strides[x->n + i] = s[n + o];
    }
    x->loop(at, strides, n0, n1, x->has_params ? &x->params : NULL);
  }
}

static void combine(const st_tree *t, const grid *g, st_accs to, st_accs a,
                    st_accs b) {
  const st_program *p = t->combine;
  const int n = p->noutputs + p->ninputs;
  char *data[ST_PROGRAM_OPERANDS];
  int64_t s[2 * ST_PROGRAM_OPERANDS], step[ST_PROGRAM_OPERANDS];
  for (int i = 0; i < n; i++) {
    const int in = i < t->n ? 0 : p->order[i - t->n];
    const int j = i < t->n ? i : in % t->n;
    const int role = i < t->n ? TO : in < t->n ? A : B;
    data[i] = (role == TO ? to : role == A ? a : b).p[j];
    s[i] = g->step[0][role] * t->size[j];
    s[n + i] = g->step[1][role] * t->size[j];
    step[i] = g->step[2][role] * t->size[j];
  }
  /* the interpreter's gather is faster than most kernels on strided data */
  const bool is_direct = t->is_direct && g->step[0][B] == 1;
  for (int64_t k = 0; k < g->size[2]; k++) {
    char *at[ST_PROGRAM_OPERANDS];
    for (int i = 0; i < n; i++) at[i] = data[i] + k * step[i];
    if (is_direct) run_direct(p, at, s, g->size[0], g->size[1]);
    else st__program_loop(at, s, g->size[0], g->size[1], p);
  }
}

static void copy(const st_tree *t, const grid *g, st_accs to, st_accs from) {
  for (int j = 0; j < t->n; j++) {
    const st_dtype d = (st_dtype)t->combine->out_dtype[j];
    const int64_t size = t->size[j];
    const int64_t s[4] = {g->step[0][TO] * size, g->step[0][A] * size,
                          g->step[1][TO] * size, g->step[1][A] * size};
    for (int64_t k = 0; k < g->size[2]; k++) {
      char *data[2] = {to.p[j] + k * g->step[2][TO] * size,
                       from.p[j] + k * g->step[2][A] * size};
      st__copy_kernel(d, d)(data, s, g->size[0], g->size[1], NULL);
    }
  }
}

void st__tree_combine(const st_tree *t, st_accs to, st_accs a, int64_t step,
                      st_accs b, int64_t n) {
  grid g = {0};
  add_dim(&g, n, 1, step, 1);
  finish_grid(&g);
  combine(t, &g, to, a, b);
}

void st__tree_copy(const st_tree *t, st_accs to, st_accs from, int64_t n) {
  for (int j = 0; j < t->n; j++) {
    memcpy(to.p[j], from.p[j], (size_t)(n * t->size[j]));
  }
}

/* -- Levels --------------------------------------------------------------- */

/* The contiguous layout at `at` of the n items that from is reduced to. Single
 * values in rows, one row per output, keep that layout while n is at least
 * MIN_ROW. */
static st_items dense_like(const st_items *from, int64_t n, st_accs at) {
  st_items to = *from;
  const bool by_lanes = from->lane_step < from->width_step;
  to.at = at;
  to.lane_step = by_lanes ? 1 : from->width;
  to.width_step = by_lanes ? from->lanes : 1;
  to.step = from->lanes * from->width;
  if (from->lanes == 1 && from->step < from->width_step && n >= MIN_ROW) {
    to.step = 1;
    to.width_step = n;
  }
  return to;
}

/* Appends the dimensions of one item. */
static void add_item(grid *g, const st_items *to, const st_items *from) {
  const int64_t w = from->width_step, l = from->lane_step;
  if (to->lane_step < to->width_step) {
    add_dim(g, to->lanes, to->lane_step, l, l);
    add_dim(g, to->width, to->width_step, w, w);
  } else {
    add_dim(g, to->width, to->width_step, w, w);
    add_dim(g, to->lanes, to->lane_step, l, l);
  }
}

/* Computes the next level: combines pairs, and copies an odd last item. */
static void halve(const st_tree *t, const st_items *from, st_items *to) {
  const int64_t pairs = from->n / 2, step = from->step;
  grid g = {0}, single = {0};
  const bool in_rows = to->step < to->width_step;
  if (!in_rows) add_item(&g, to, from);
  add_dim(&g, pairs, to->step, 2 * step, 2 * step);
  if (in_rows) add_item(&g, to, from);
  finish_grid(&g);
  combine(t, &g, to->at, from->at, st__accs_at(t, from->at, step));
  to->n = pairs + from->n % 2;
  if (from->n % 2 == 0) return;
  add_item(&single, to, from);
  finish_grid(&single);
  copy(t, &single, st__accs_at(t, to->at, pairs * to->step),
       st__accs_at(t, from->at, 2 * pairs * step));
}

void st__tree_reduce(const st_tree *t, const st_items *items, st_accs to,
                     const st_tree_scratch *scratch) {
  st_items now = *items;
  bool odd = false;
  if (now.n == 1) {
    st_items one = dense_like(&now, 1, to);
    grid g = {0};
    add_item(&g, &one, &now);
    finish_grid(&g);
    copy(t, &g, to, now.at);
  }
  for (; now.n > 1; odd = !odd) {
    st_items next = dense_like(&now, (now.n + 1) / 2,
                               now.n == 2 ? to : odd ? scratch->b : scratch->a);
    halve(t, &now, &next);
    now = next;
  }
}
