/* The loop of a custom reduction (Note [Tiles and blocks of a custom
 * reduction]).
 */

#include "fuse/reduce/reduction_loop.h"

#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "tensor/loop_dims.h"

enum {
  LINE = 64,
  BLOCK_BYTES = 32768, /* approximate bytes of a block's values */
  COLUMNS = 128,     /* most outputs of a tile, interleaved */
  ROWS = 2048,       /* most outputs of a tile, one after the other */
  MIN_TILES = 64,    /* with fewer tiles, outputs are divided into chunks */
  CHUNKS = 256       /* approximate number of all chunks */
};

/* -- Plan ----------------------------------------------------------------- */

typedef struct plan {
  const st_reduction_loop *s;
  st_tree tree;
  st_loop_dims reduced, outer;
  int64_t strides[2][ST_MAX_DIMS * ST_PROGRAM_OPERANDS]; /* theirs */
  char *data[ST_PROGRAM_OPERANDS];
  bool by_columns;
  int64_t width, per_row, tiles;  /* outputs of a tile; number of tiles along
                                     dimension 0, and of all */
  int64_t lanes, items, rest;     /* of an output; elements after the items */
  int64_t block;                  /* items of a block */
  int64_t chunk, chunks;          /* items of a chunk; chunks */
  int depth;                      /* of the stack */
  st_accs init, values;           /* values: of chunks, if several */
  size_t room, fixed;             /* bytes of a workspace; of shared memory */
  int nworkspaces;
  atomic_flag *taken;
  char *workspaces;
} plan;

/* -- Dimensions ----------------------------------------------------------- */

static int64_t input_step(const st_tensor *t, int d, int ndim) {
  const int at = d - (ndim - t->ndim);
  return at < 0 || t->sizes[at] == 1
    ? 0 : t->strides[at] * (int64_t)st__itemsize(t->dtype);
}

/* The strides of a dimension are those of the inputs, in the order of map's
 * operands, then those of the outputs, in bytes. Sums are added in the order of
 * the reduced dimensions, so these are not sorted. */
static void find_dims(plan *w) {
  const st_reduction_loop *s = w->s;
  st_loop_dims *reduced = &w->reduced, *outer = &w->outer;
  const int nin = s->map->ninputs, nout = s->final->noutputs;
  int at = s->outs[0]->ndim;
  st__loop_dims_init(reduced, nin + nout, w->strides[0]);
  st__loop_dims_init(outer, nin + nout, w->strides[1]);
  for (int d = s->ndim - 1; d >= 0; d--) {
    const bool is_reduced = s->dims >> d & 1;
    int64_t step[ST_PROGRAM_OPERANDS] = {0};
    for (int i = 0; i < nin; i++) {
      step[i] = input_step(s->inputs[s->map->order[i]], d, s->ndim);
    }
    if (!is_reduced || s->keepdim) at--;
    for (int i = 0; i < nout && !is_reduced; i++) {
      const st_tensor *t = s->outs[i];
      step[nin + i] = t->strides[at] *
                      (int64_t)st__itemsize(t->dtype);
    }
    st__loop_dims_add(is_reduced ? reduced : outer, s->sizes[d], step);
  }
  st__loop_dims_merge(reduced);
  st__loop_dims_pad(reduced, 2);
  st__loop_dims_sort(outer, 0, nin + nout);
  st__loop_dims_merge(outer);
  st__loop_dims_pad(outer, 2);
  /* Tiles run along dimension 0. */
  if (outer->size[0] < 8 && reduced->total < 1024) {
    st__loop_dims_longest_first(outer);
  }
}

/* True if stepping from output to output has smaller input strides than
 * stepping along the reduced dimension. */
static bool are_columns(const plan *w) {
  int64_t columns = 0, rows = 0;
  for (int i = 0; i < w->s->map->ninputs; i++) {
    const int64_t c = st__magnitude(st__loop_strides(&w->outer, 0)[i]);
    const int64_t r = st__magnitude(st__loop_strides(&w->reduced, 0)[i]);
    columns += c < LINE ? c : LINE;
    rows += r < LINE ? r : LINE;
  }
  return w->outer.size[0] > 1 && w->reduced.total > 1 && columns < rows;
}

static int64_t min64(int64_t n, int64_t most) { return n < most ? n : most; }

/* The largest power of two <= n; n > 0. */
static int64_t floor_pow2(int64_t n) {
  int64_t p = 1;
  while (p <= n / 2) p *= 2;
  return p;
}

static void plan_tiles(plan *w, int64_t room) {
  const int64_t n = w->reduced.total, width = w->outer.size[0];
  const int64_t rows = room / (n > 0 ? n : 1);
  w->by_columns = are_columns(w);
  w->width = min64(width, w->by_columns ? COLUMNS
                           : rows < 1 ? 1 : min64(rows, ROWS));
  while (w->width > 1 && w->width * w->lanes > room) w->width /= 2;
  w->per_row = (width + w->width - 1) / w->width;
  w->tiles = w->per_row;
  for (int i = 1; i < w->outer.n; i++) w->tiles *= w->outer.size[i];
}

static void plan_chunks(plan *w, int64_t room) {
  const int64_t fit = room / (w->width * w->lanes);
  w->block = fit >= w->items ? w->items : floor_pow2(fit < 1 ? 1 : fit);
  w->chunk = w->items;
  w->chunks = 1;
  if (w->tiles < MIN_TILES && w->items > w->block) {
    const int64_t most = CHUNKS / w->tiles;
    w->chunk = w->block;
    while (w->items / w->chunk > most) w->chunk *= 2;
    w->chunks = (w->items + w->chunk - 1) / w->chunk;
  }
  int64_t n = w->chunks;
  if (w->block > 0 && w->chunk / w->block > n) n = w->chunk / w->block;
  for (w->depth = 2; n > 0; n /= 2) w->depth++;
}

static void plan_loop(plan *w) {
  int64_t bytes = 0;
  for (int j = 0; j < w->tree.n; j++) bytes += w->tree.size[j];
  w->lanes = w->s->is_commutative ? ST_TREE_LANES : 1;
  w->items = w->reduced.total / w->lanes;
  w->rest = w->reduced.total % w->lanes;
  if (w->items == 0) w->lanes = 1; /* fewer elements than lanes */
  plan_tiles(w, BLOCK_BYTES / bytes);
  plan_chunks(w, BLOCK_BYTES / bytes);
}

/* -- Memory --------------------------------------------------------------- */

/* The scratch memory of one thread, divided into buffers of accumulators. */
typedef struct workspace {
  st_accs mapped, item, stack, result;
  st_tree_scratch room;
  int64_t pushed;   /* since the stack was empty */
  int height;
} workspace;

static size_t rounded(int64_t n) {
  return ((size_t)n + LINE - 1) & ~(size_t)(LINE - 1);
}

/* Takes the next n values from base at offset *at; with base NULL only adds up
 * the bytes. */
static st_accs carve(const st_tree *t, char *base, size_t *at, int64_t n) {
  st_accs out = {{NULL}};
  for (int j = 0; j < t->n; j++) {
    if (base) out.p[j] = base + *at;
    *at += rounded(n * t->size[j]);
  }
  return out;
}

static size_t lay_out(const plan *w, char *base, workspace *s) {
  const int64_t item = w->lanes * w->width, rest = w->rest * w->width;
  const int64_t block = w->block * item;
  const int64_t most = block > rest ? block : rest;
  const int64_t half = (w->block + 1) / 2 * item;
  size_t n = 0;
  s->mapped = carve(&w->tree, base, &n, most);
  s->room.a = carve(&w->tree, base, &n, half > rest ? half : rest);
  s->room.b = carve(&w->tree, base, &n, half > rest ? half : rest);
  s->item = carve(&w->tree, base, &n, item);
  s->result = carve(&w->tree, base, &n, w->width);
  s->stack = carve(&w->tree, base, &n, w->depth * item);
  return n;
}

/* Allocates the shared memory and all workspaces at once. */
static st_status alloc_workspaces(plan *w, int nworkspaces, char **base,
                                  size_t *size) {
  workspace s;
  size_t at = 0;
  const int64_t values = w->chunks > 1
    ? w->tiles * w->chunks * w->width * w->lanes : 0;
  carve(&w->tree, NULL, &at, values);
  carve(&w->tree, NULL, &at, 1);
  w->fixed = at;
  w->room = lay_out(w, NULL, &s);
  w->nworkspaces = nworkspaces;
  at += rounded((int64_t)sizeof *w->taken * nworkspaces);
  *size = at + (size_t)nworkspaces * w->room + LINE;
  *base = st__alloc(ST_MEM_SCRATCH, *size);
  if (!*base) return ST_NO_MEMORY;
  char *p = (char *)(((uintptr_t)*base + LINE - 1) & ~(uintptr_t)(LINE - 1));
  w->workspaces = p + at;
  w->taken = (atomic_flag *)(void *)(p + w->fixed);
  for (int i = 0; i < nworkspaces; i++) atomic_flag_clear(&w->taken[i]);
  at = 0;
  w->values = carve(&w->tree, p, &at, values);
  w->init = carve(&w->tree, p, &at, 1);
  for (int j = 0; j < w->tree.n && w->s->has_init; j++) {
    st__scalar_store(w->s->init[j], (st_dtype)w->tree.combine->out_dtype[j],
                     w->init.p[j]);
  }
  return ST_OK;
}

/* Finds a free workspace. There are as many as threads. */
static int acquire_workspace(const plan *w, workspace *s) {
  int i = 0;
  while (atomic_flag_test_and_set_explicit(&w->taken[i],
                                           memory_order_acquire)) {
    i = (i + 1) % w->nworkspaces;
  }
  lay_out(w, w->workspaces + (size_t)i * w->room, s);
  return i;
}

static void release_workspace(const plan *w, int i) {
  atomic_flag_clear_explicit(&w->taken[i], memory_order_release);
}

/* -- Tiles ---------------------------------------------------------------- */

/* Neighbouring outputs. at: the tile's index. */
typedef struct tile {
  char *data[ST_PROGRAM_OPERANDS];
  int64_t width, at;
} tile;

static tile find_tile(const plan *w, int64_t index) {
  tile t = {.at = index};
  const int64_t from = index % w->per_row * w->width;
  const int64_t row = w->outer.size[0];
  memcpy(t.data, w->data, sizeof t.data);
  t.width = min64(row - from, w->width);
  st__loop_dims_seek(&w->outer, index / w->per_row * row + from, t.data);
  return t;
}

/* -- Mapping -------------------------------------------------------------- */

/* The arguments of one call of map: n0 x n1 elements, the inputs' strides in
 * bytes and the values' strides in elements. */
typedef struct window {
  int64_t n0, n1;
  const int64_t *in0, *in1;
  int64_t out0, out1;
} window;

static void map_window(const plan *w, char *const *in, st_accs to,
                       const window *v) {
  const st_program *p = w->s->map;
  const int n = p->noutputs + p->ninputs;
  char *data[ST_PROGRAM_OPERANDS];
  int64_t s[2 * ST_PROGRAM_OPERANDS];
  for (int j = 0; j < p->noutputs; j++) {
    data[j] = to.p[j];
    s[j] = v->out0 * w->tree.size[j];
    s[n + j] = v->out1 * w->tree.size[j];
  }
  for (int i = 0; i < p->ninputs; i++) {
    data[p->noutputs + i] = in[i];
    s[p->noutputs + i] = v->in0[i];
    s[n + p->noutputs + i] = v->in1[i];
  }
  st__program_loop(data, s, v->n0, v->n1, p);
}

/* Maps the elements [from, from + n) of each output of the tile. */
static void map_elements(const plan *w, const tile *t, int64_t from,
                         int64_t n, st_accs to) {
  const st_loop_dims *x = &w->reduced;
  const int64_t *step = st__loop_strides(x, 0);
  const int64_t *outer = st__loop_strides(&w->outer, 0);
  const int64_t row = x->size[0];
  for (int64_t done = 0, more; done < n; done += more) {
    char *in[ST_PROGRAM_OPERANDS];
    memcpy(in, t->data, sizeof in);
    st__loop_dims_seek(x, from + done, in);
    const int64_t at = (from + done) % row;
    more = min64(row - at, n - done);
    if (t->width > 1 && w->by_columns) {
      map_window(w, in, st__accs_at(&w->tree, to, done * t->width), &(window){
                 t->width, more, outer, step, 1, t->width});
    } else if (t->width > 1 || at > 0 || n - done < 2 * row) {
      map_window(w, in, st__accs_at(&w->tree, to, done), &(window){
                 more, t->width, step, outer, 1, n});
    } else {
      const int64_t first = (from + done) / row % x->size[1];
      const int64_t rows = min64((n - done) / row, x->size[1] - first);
      more = rows * row;
      map_window(w, in, st__accs_at(&w->tree, to, done), &(window){
                 row, rows, step, st__loop_strides(x, 1), 1, row});
    }
  }
}

/* The n mapped elements of each output at `at`, as items of `lanes` values. */
static st_items items_of(const plan *w, const tile *t, st_accs at, int64_t n,
                         int64_t lanes) {
  if (w->by_columns) {
    return (st_items){at, n / lanes, lanes * t->width, t->width, 1, lanes,
                      t->width};
  }
  return (st_items){at, n / lanes, lanes, t->width, n, lanes, 1};
}

/* -- The stack ------------------------------------------------------------ */

static st_accs stacked(const plan *w, const workspace *s, const tile *t,
                       int at) {
  return st__accs_at(&w->tree, s->stack, at * w->lanes * t->width);
}

static void join_top(const plan *w, workspace *s, const tile *t) {
  const st_accs a = stacked(w, s, t, s->height - 2);
  st__tree_combine(&w->tree, a, a, 1, stacked(w, s, t, s->height - 1),
                   w->lanes * t->width);
  s->height--;
}

/* The address of the next item on the stack. */
static st_accs top_of(const plan *w, const workspace *s, const tile *t) {
  return stacked(w, s, t, s->height);
}

/* Pushes the item at top_of, and combines values of equal numbers of items. */
static void push(const plan *w, workspace *s, const tile *t) {
  s->height++;
  for (int64_t n = s->pushed++; n & 1; n >>= 1) join_top(w, s, t);
}

static void clear(workspace *s) {
  s->height = 0;
  s->pushed = 0;
}

/* Reduces one chunk; its value is then at the bottom of the stack. */
static void reduce_chunk(const plan *w, workspace *s, const tile *t,
                           int64_t at) {
  const int64_t begin = at * w->chunk;
  const int64_t end = min64(begin + w->chunk, w->items);
  clear(s);
  for (int64_t i = begin; i < end; i += w->block) {
    const int64_t n = min64(w->block, end - i) * w->lanes;
    map_elements(w, t, i * w->lanes, n, s->mapped);
    const st_items items = items_of(w, t, s->mapped, n, w->lanes);
    st__tree_reduce(&w->tree, &items, top_of(w, s, t), &s->room);
    push(w, s, t);
  }
  while (s->height > 1) join_top(w, s, t);
}

static st_accs value_of(const plan *w, const tile *t, int64_t chunk) {
  const int64_t item = w->lanes * w->width;
  return st__accs_at(&w->tree, w->values,
                     (t->at * w->chunks + chunk) * item);
}

static void join_chunks(const plan *w, workspace *s, const tile *t) {
  clear(s);
  for (int64_t k = 0; k < w->chunks; k++) {
    st__tree_copy(&w->tree, top_of(w, s, t), value_of(w, t, k),
                  w->lanes * t->width);
    push(w, s, t);
  }
  while (s->height > 1) join_top(w, s, t);
}

/* -- Results -------------------------------------------------------------- */

/* Reduces the lanes of the item at the bottom of the stack to one value. */
static void reduce_lanes(const plan *w, workspace *s, const tile *t) {
  st_items items = items_of(w, t, stacked(w, s, t, 0), w->lanes, 1);
  if (w->lanes == 1) {
    st__tree_copy(&w->tree, s->result, items.at, t->width);
  } else {
    st__tree_reduce(&w->tree, &items, s->result, &s->room);
  }
}

/* Reduces the elements after the last item, and combines them with the
 * result. */
static void reduce_rest(const plan *w, workspace *s, const tile *t) {
  const bool is_all = w->items == 0;
  map_elements(w, t, w->items * w->lanes, w->rest, s->mapped);
  const st_items items = items_of(w, t, s->mapped, w->rest, 1);
  const st_accs to = is_all ? s->result : s->item;
  st__tree_reduce(&w->tree, &items, to, &s->room);
  if (is_all) return;
  st__tree_combine(&w->tree, s->result, s->result, 1, to, t->width);
}

static void apply_init(const plan *w, workspace *s, const tile *t) {
  const bool is_empty = w->reduced.total == 0;
  if (!w->s->has_init) return;
  if (!is_empty) {
    st__tree_combine(&w->tree, s->result, w->init, 0, s->result, t->width);
    return;
  }
  for (int64_t i = 0; i < t->width; i++) {
    st__tree_copy(&w->tree, st__accs_at(&w->tree, s->result, i), w->init, 1);
  }
}

static void store(const plan *w, const workspace *s, const tile *t) {
  const st_program *p = w->s->final;
  const int n = p->noutputs + p->ninputs, nin = w->s->map->ninputs;
  char *data[ST_PROGRAM_OPERANDS];
  int64_t strides[2 * ST_PROGRAM_OPERANDS] = {0};
  for (int i = 0; i < p->noutputs; i++) {
    data[i] = t->data[nin + i];
    strides[i] = st__loop_strides(&w->outer, 0)[nin + i];
  }
  for (int i = p->noutputs; i < n; i++) {
    const int j = p->order[i - p->noutputs];
    data[i] = s->result.p[j];
    strides[i] = w->tree.size[j];
  }
  st__program_loop(data, strides, t->width, 1, p);
}

/* Computes the tile's outputs from the item at the bottom of the stack, if
 * there is one, and the remaining elements. */
static void finish_tile(const plan *w, workspace *s, const tile *t) {
  if (w->items > 0) reduce_lanes(w, s, t);
  if (w->rest > 0) reduce_rest(w, s, t);
  apply_init(w, s, t);
  store(w, s, t);
}

/* -- Threads -------------------------------------------------------------- */

static void run_tiles(void *ctx, int64_t begin, int64_t end) {
  const plan *w = ctx;
  workspace s;
  const int mine = acquire_workspace(w, &s);
  for (int64_t i = begin; i < end; i++) {
    const tile t = find_tile(w, i);
    if (w->chunks > 1) join_chunks(w, &s, &t);
    else if (w->items > 0) reduce_chunk(w, &s, &t, 0);
    finish_tile(w, &s, &t);
  }
  release_workspace(w, mine);
}

static void run_chunks(void *ctx, int64_t begin, int64_t end) {
  const plan *w = ctx;
  workspace s;
  const int mine = acquire_workspace(w, &s);
  for (int64_t i = begin; i < end; i++) {
    const tile t = find_tile(w, i / w->chunks);
    reduce_chunk(w, &s, &t, i % w->chunks);
    st__tree_copy(&w->tree, value_of(w, &t, i % w->chunks),
                  stacked(w, &s, &t, 0), w->lanes * t.width);
  }
  release_workspace(w, mine);
}

/* The grain in units of `elements` elements. */
static int64_t units_of_grain(const plan *w, int64_t elements) {
  return w->s->map->grain / (elements + 1) + 1;
}

st_status st__reduction_run(const st_reduction_loop *s) {
  plan w;
  char *base;
  size_t size;
  w.s = s;
  st__tree_init(&w.tree, s->combine, s->naccs, s->is_commutative);
  find_dims(&w);
  if (w.outer.total == 0) return ST_OK;
  plan_loop(&w);
  for (int i = 0; i < s->map->ninputs; i++) {
    w.data[i] = st__data(s->inputs[s->map->order[i]]);
  }
  for (int i = 0; i < s->final->noutputs; i++) {
    w.data[s->map->ninputs + i] = st__data(s->outs[i]);
  }
  const int64_t units = w.tiles * w.chunks;
  const int64_t elements = w.width * w.reduced.total / w.chunks;
  const int64_t grain = units_of_grain(&w, elements);
  const int64_t last = w.chunks > 1
    ? units_of_grain(&w, w.chunks * w.width * w.lanes) : grain;
  const int pieces = st__num_shares(units, grain);
  const int others = st__num_shares(w.tiles, last);
  ST_TRY(alloc_workspaces(&w, pieces > others ? pieces : others, &base, &size));
  st_status status = ST_OK;
  if (w.chunks > 1) {
    status = st__parallel_try(0, units, grain, run_chunks, &w);
  }
  if (status == ST_OK) {
    status = st__parallel_try(0, w.tiles, last, run_tiles, &w);
  }
  st__free(ST_MEM_SCRATCH, base, size);
  return status;
}
