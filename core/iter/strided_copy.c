/* Moves: strided copies planned by their geometry alone.
 *
 * Note [Strided copies]
 * Dimensions are sorted by the strides of dst, and merged where both sides
 * allow it. If both sides are contiguous along the first dimension, but only
 * for a few bytes, such a run of elements is treated as one element. Then a
 * plane is chosen: the fastest dimension of dst and that of src. It is cut into
 * tiles, each the work of one loop call. Threads share the grid of tiles over
 * the plane and all other dimensions.
 *
 * Note [Staged tiles]
 * A transposed copy touches a new cache line for each element of one side. So
 * it runs tile by tile, and tiles are transposed in registers. Rows of src are
 * first loaded into a small staging buffer if they must be converted, if their
 * elements are not adjacent, or if their stride is about a power of two: then
 * they map to so few sets of L1 that they evict each other.
 *
 * Note [Streamed tiles]
 * A destination too large for the caches is written by non-temporal stores of
 * whole lines from a second buffer, because a line that is only written need
 * not be read first. Where rows of dst begin within a line, the border of two
 * tiles is, in each row, the last line that begins at or before it. So a tile
 * transposes up to a line of dst before its own share, too, and only the ends
 * of a whole row are partial lines. Short rows without gaps are one row of the
 * buffer. The buffer is filled in strips of a line: the few rows of src that
 * a strip needs do not evict each other.
 */

#include "iter/strided_copy.h"

#include <string.h>

#include "os/machine.h"
#include "base/status.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "kernel/copy/transpose.h"
#include "kernel/stream_line.h"

enum {
  PAD = 16,            /* puts columns of a buffer into different cache sets */
  STAGE = ST_FIXED_stage_bytes,
  PIECE = ST_FIXED_piece_bytes,
  LINE = 64,
  FEW_ROWS = 16,       /* of src, requested ahead by the processor */
  TALL = 256, WIDE = 32, /* elements of a tile without a buffer */
  PERIOD = 1 << 15,    /* elements between two questions whether to stop */
  LONG_RUN = 64        /* bytes: runs this long on both sides need no tiles */
};

/* -- Dimensions ----------------------------------------------------------- */

enum { DST, SRC }; /* strides of a dimension */

void st__move_init(st_move *m, char *dst, st_dtype to, const char *src,
                   st_dtype from) {
  m->dst = dst;
  m->src = src;
  m->to = to;
  m->from = from;
  st__loop_dims_init(&m->dims, 2, m->strides);
}

void st__move_dim(st_move *m, int64_t size, int64_t dst_stride,
                  int64_t src_stride) {
  st__loop_dims_add(&m->dims, size, (int64_t[]){dst_stride, src_stride});
}

static int64_t dst_stride(const st_loop_dims *x, int d) {
  return st__loop_strides(x, d)[DST];
}

static int64_t src_stride(const st_loop_dims *x, int d) {
  return st__loop_strides(x, d)[SRC];
}

static void drop_first(st_loop_dims *x) {
  x->n--;
  x->strides += x->nstrides;
  memmove(x->size, x->size + 1, (size_t)x->n * sizeof *x->size);
}

/* -- Elements ------------------------------------------------------------- */

typedef struct plan {
  const st_move *move;
  int64_t size;           /* bytes of an element of dst, or of a run */
  int axis;               /* of src; spans the plane with dimension 0 */
  bool tiled;             /* small tiles: the fastest dimensions differ */
  bool transposes;
  bool stages;            /* rows of src are loaded into a buffer first */
  bool streams;           /* rows of dst are written by non-temporal stores */
  bool direct;            /* the same, directly from src */
  bool aligned;           /* tiles of dst begin with a line in every row */
  bool joins;             /* streamed rows are short and have no gaps */
  int64_t before;         /* elements of dst before a tile that it needs, too */
  int64_t spare;          /* by which the last tile of a row may be longer */
  st_loop load;           /* converts between dtypes or copies bits */
  st_loop transpose, stream;
  st_runs_ctx run;        /* ctx of load if runs are moved */
  int64_t strides[4];     /* of the plane, in the order that loops expect */
  int64_t shape[2], tile[2]; /* of the plane, in elements */
  int ndim;               /* of the grid: the plane, then other dimensions */
  int64_t count[ST_MAX_DIMS], dst_step[ST_MAX_DIMS], src_step[ST_MAX_DIMS];
} plan;

st_dtype st__bits_of(int64_t size) {
  switch (size) {
    case 1: return ST_UINT8;
    case 2: return ST_INT16;
    case 4: return ST_INT32;
    case 8: return ST_INT64;
    default: return ST_COMPLEX128;
  }
}

static bool is_element(int64_t bytes) {
  return bytes <= 16 && (bytes & (bytes - 1)) == 0;
}

/* True if both sides are contiguous along the first dimension. */
static bool has_runs(const plan *p) {
  const st_move *m = p->move;
  const st_loop_dims *x = &m->dims;
  return m->to == m->from && dst_stride(x, 0) == p->size &&
         src_stride(x, 0) == p->size;
}

/* Chooses the size of an element and the loop that copies it. */
static void choose_elements(plan *p, st_move *m) {
  p->size = (int64_t)st__itemsize(m->to);
  p->load = st__copy_kernel(m->to, m->from);
  p->run.bytes = 0;
  if (m->dims.n < 2 || !has_runs(p)) return;
  const int64_t bytes = m->dims.size[0] * p->size;
  if (bytes >= LONG_RUN) return;
  p->size = bytes;
  p->run.bytes = (size_t)bytes;
  p->load = is_element(bytes) ? st__copy_kernel(st__bits_of(bytes),
                                                st__bits_of(bytes))
                              : st__kernel(ST_K_runs, ST_UINT8);
  drop_first(&m->dims);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* -- The walk ------------------------------------------------------------- */

/* The fastest dimension of src; 0 if it is ambiguous. */
static int fastest_of_src(const st_loop_dims *x) {
  int axis = 0;
  if (src_stride(x, 0) == 0) return 0;
  for (int d = 1; d < x->n; d++) {
    if (src_stride(x, d) != 0 &&
        st__magnitude(src_stride(x, d)) < st__magnitude(src_stride(x, axis))) {
      axis = d;
    }
  }
  return axis;
}

/* A transpose by tiles is faster from four elements on, or as many as a
 * register holds. */
static bool can_transpose(const plan *p) {
  const st_loop_dims *x = &p->move->dims;
  const int64_t few = p->size < 4 ? 16 / p->size : 4;
  return p->axis > 0 && is_element(p->size) && dst_stride(x, 0) == p->size &&
         x->size[0] >= few && x->size[p->axis] >= few;
}

/* True if the rows of a tile of src, or of dst in its turn, fall into so few
 * sets of L1 that a set, here that of the first row, has no room for all. */
static bool crowds_sets(const plan *p) {
  const st_loop_dims *x = &p->move->dims;
  const int64_t span = st__machine.l1_span;
  const int64_t rows = least(x->size[0], (p->streams ? 1 : 2) * LINE / p->size);
  const int64_t width = least(x->size[p->axis] * p->size,
                              (p->size == 1 ? 2 : 4) * LINE);
  const int64_t step = st__magnitude(src_stride(x, 0)) % span;
  int64_t at = 0, n = 0;
  for (int64_t r = 0; r < rows; r++) {
    n += (at < LINE) | (at > span - width); /* rows that meet one line */
    at += step;
    if (at >= span) at -= span;
  }
  return n >= st__machine.crowded_rows;
}

/* The prefetcher does not predict accesses by tiles, so their lines are evicted
 * earlier: half of the cache counts. */
static bool is_larger_than_cache(const plan *p) {
  int64_t bytes = 2 * p->size; /* src is about as large as dst */
  for (int d = 0; d < p->move->dims.n; d++) bytes *= p->move->dims.size[d];
  return bytes >= (p->tiled ? st__machine.tiles_streamed
                            : st__machine.copy_streamed);
}

/* True if rows of dst, and tiles of whole lines, begin with a line. */
static bool is_aligned(const plan *p) {
  const st_loop_dims *x = &p->move->dims;
  int64_t bits = (int64_t)(uintptr_t)p->move->dst | LINE / p->size * p->size;
  for (int d = 1; d < x->n; d++) bits |= dst_stride(x, d);
  return bits % LINE == 0;
}

/* True if it pays off to write dst line by line. Rows that do not begin with a
 * line are long, or have no gaps, and are not of bytes from short rows, whose
 * transpose takes longer than ordinary stores. */
static bool has_streams(const plan *p) {
  const st_loop_dims *x = &p->move->dims;
  const int64_t row = x->size[0] * p->size;
  if (dst_stride(x, 0) != p->size || !is_larger_than_cache(p)) return false;
  if (!p->tiled || p->aligned) return row >= LONG_RUN;
  if (p->size == 1 && x->size[p->axis] < 2 * LINE) return false;
  return row > 4 * LINE ||
         (row >= LINE / 2 && row == dst_stride(x, p->axis));
}

static void choose_walk(plan *p) {
  const st_move *m = p->move;
  const st_loop_dims *x = &m->dims;
  p->axis = fastest_of_src(x);
  p->tiled = p->axis > 0;
  p->aligned = is_aligned(p);
  p->streams = has_streams(p);
  p->direct = p->streams && !p->tiled && has_runs(p);
  p->transposes = can_transpose(p);
  p->stages = p->transposes &&
              (m->to != m->from ||
               src_stride(x, p->axis) != p->size ||
               crowds_sets(p));
  p->transpose = p->transposes ? st__kernel(ST_K_transpose,
                                            st__bits_of(p->size))
                               : NULL;
  p->stream = p->streams ? st__kernel(ST_K_stream, ST_UINT8) : NULL;
}

/* -- Tiles ---------------------------------------------------------------- */

/* True if the second buffer has the room of the first, too. */
static bool has_both(const plan *p) {
  return p->streams && !p->stages && !p->aligned;
}

/* The number of rows that fit a buffer, whichever side they belong to, if the
 * other side has n. */
static int64_t room(const plan *p, int64_t n) {
  const int64_t bytes = has_both(p) ? 2 * STAGE : STAGE;
  const int64_t own = bytes / (n * p->size + PAD);
  const int64_t other = (bytes / n - PAD) / p->size;
  return own < other ? own : other;
}

/* The rows at a distance that a tile may touch side by side, at most TALL:
 * their lines fill three quarters of the sets of L1 that they fall into. */
static int64_t rows_in_sets(int64_t distance) {
  const int64_t span = st__machine.l1_span;
  int64_t g = span, rest = st__magnitude(distance) % span, rows = TALL;
  while (rest) { /* Euclid's algorithm: the distance of two sets */
    const int64_t next = g % rest;
    g = rest;
    rest = next;
  }
  const int64_t sets = span / (g > LINE ? g : LINE);
  while (4 * rows > 3 * sets * st__machine.l1_ways) rows /= 2;
  return rows;
}

/* Whole cache lines of both sides, if they fit the buffers. Without a buffer, a
 * tile of many rows of src: a load waits for an unfinished store to an address
 * that differs by a multiple of 4 KB, and in a row of dst the loads run ahead
 * of the stores. A tile has many rows of dst instead where L1 has no room for
 * those of src. */
static void choose_small_tile(plan *p) {
  const int64_t line = LINE / p->size;
  const int64_t n0 = p->shape[0], n1 = p->shape[1];
  /* of a streamed tile, with what comes before it */
  const int64_t row = p->size > 1 || p->stages ? 4 * line : 8 * line;
  int64_t t0 = 2 * line, t1 = p->size == 1 ? 2 * line : 4 * line;
  if (p->streams && !p->aligned) {
    p->joins = p->strides[2] == n0 * p->size && n0 <= 8 * line &&
               room(p, n0) >= line;
    p->before = p->joins ? 0 : (LINE - 1) / p->size + 1;
    t0 = p->joins ? n0 : row - p->before;
    t1 = least(t1, room(p, row) / line * line);
  }
  if (!p->streams && !p->stages && n1 >= WIDE) {
    const int64_t rows = rows_in_sets(p->strides[1]);
    if (rows > t0) {
      t0 = rows;
      t1 = WIDE;
    } else if (rows <= line && rows_in_sets(p->strides[2]) == TALL) {
      t0 = line;
      t1 = TALL;
    }
  }
  p->tile[1] = least(n1, n0 < t0 || p->joins ? room(p, n0) / line * line : t1);
  if (n1 < t1 && !p->joins) t0 = room(p, n1) / line * line - p->before;
  p->tile[0] = least(n0, t0);
}

/* A last tile of a few elements would take nearly as long as a whole one. */
static int64_t spare_of(const plan *p) {
  const int64_t spare = 32 / p->size - 1, t0 = p->tile[0] + spare;
  const int64_t bytes = t0 * ((p->tile[1] + spare) * p->size + PAD);
  return p->streams || spare < 0 || (p->stages && bytes > STAGE) ? 0 : spare;
}

/* As much of a row as fits, then as many rows as fit. A part of a row is whole
 * lines, so that the next part begins with a line if this one does. */
static void choose_tile(plan *p) {
  const int64_t bytes = p->streams && !p->direct ? STAGE : PIECE;
  const int64_t part = (bytes - PAD) / p->size / LINE * LINE;
  const int64_t t0 = least(p->shape[0], part);
  p->tile[0] = t0;
  p->tile[1] = least(p->shape[1], bytes / (t0 * p->size + PAD));
}

static void choose_plane(plan *p) {
  const st_loop_dims *x = &p->move->dims;
  const int axis = p->tiled ? p->axis : 1;
  p->joins = false;
  p->before = p->spare = 0;
  p->shape[0] = x->size[0];
  p->shape[1] = x->size[axis];
  p->strides[0] = dst_stride(x, 0);
  p->strides[1] = src_stride(x, 0);
  p->strides[2] = dst_stride(x, axis);
  p->strides[3] = src_stride(x, axis);
  if (p->tiled) {
    choose_small_tile(p);
    p->spare = spare_of(p);
  } else {
    choose_tile(p);
  }
}

/* -- The grid ------------------------------------------------------------- */

static void add_counter(plan *p, int64_t count, int64_t dst_step,
                        int64_t src_step) {
  p->count[p->ndim] = count;
  p->dst_step[p->ndim] = dst_step;
  p->src_step[p->ndim++] = src_step;
}

/* Adds the counter of tiles along dimension d of the plane. */
static void add_tiles(plan *p, int d) {
  const int64_t tile = p->tile[d], n = p->shape[d];
  const int64_t count = n > p->spare ? (n - p->spare + tile - 1) / tile : 1;
  add_counter(p, count, tile * p->strides[2 * d],
              tile * p->strides[2 * d + 1]);
}

/* The order of tiles follows the rows of src, so that src is read sequentially;
 * without small tiles it follows the rows of dst. */
static int64_t choose_grid(plan *p) {
  const st_loop_dims *x = &p->move->dims;
  const int axis = p->tiled ? p->axis : 1;
  int64_t n = 1;
  p->ndim = 0;
  add_tiles(p, p->tiled);
  add_tiles(p, !p->tiled);
  for (int d = 1; d < x->n; d++) {
    if (d == axis) continue;
    add_counter(p, x->size[d], dst_stride(x, d), src_stride(x, d));
  }
  for (int d = 0; d < p->ndim; d++) n *= p->count[d];
  return n;
}

/* -- Running -------------------------------------------------------------- */

static void stream_rows(const plan *p, char *dst, char *src, int64_t pitch,
                        const int64_t *n) {
  const int64_t strides[] = {1, 1, p->strides[2], pitch};
  p->stream((char *[]){dst, src}, strides, n[0] * p->size, n[1], NULL);
}

typedef struct tile {
  int64_t n[2];
  bool begins, ends; /* with the rows of dst */
} tile;

/* Writes a tile whose rows have borders of their own: Note [Streamed tiles]. */
static void stream_tile(const plan *p, const tile *t, char *dst, char *src,
                        int64_t pitch) {
  static const int64_t strides[4] = {1, 1, 0, 0};
  const int64_t bytes = t->n[0] * p->size;
  for (int64_t j = 0; j < t->n[1]; j++) {
    const int64_t off = (int64_t)((uintptr_t)dst % LINE);
    const int64_t head = t->begins ? 0 : off;
    const int64_t tail = t->ends ? 0 : (off + bytes) % LINE;
    p->stream((char *[]){dst - head, src - head}, strides,
              bytes + head - tail, 1, NULL);
    dst += p->strides[2];
    src += pitch;
  }
}

/* Requests the src rows of the next tile, which have room in L2 whatever their
 * stride; a few rows the processor requests itself. Inlined, as GCC removes
 * calls of functions that do nothing else. */
static inline __attribute__((always_inline))
void prefetch_rows(const char *src, const int64_t *s, const int64_t *n) {
  const int64_t bytes = n[1] * s[3];
  if (n[0] <= FEW_ROWS || s[3] > LINE) return;
  for (int64_t i = 0; i < n[0]; i++, src += s[1]) {
    for (int64_t o = 0; o < bytes; o += LINE) {
      __builtin_prefetch(src + bytes + o, 0, 2);
    }
  }
}

/* The transpose of a tile into a buffer, strip by strip. The last strip may
 * overlap the one before it. */
static void transpose_strips(const plan *p, char *const *data,
                             const int64_t *s, const int64_t *n) {
  const int64_t strip = n[1] * p->size <= LINE ? n[0]
                      : least(n[0], LINE / p->size);
  for (int64_t i = 0; i < n[0]; i += strip) {
    const int64_t at = least(i, n[0] - strip);
    p->transpose((char *[]){data[0] + at * s[0], data[1] + at * s[1]}, s,
                 strip, n[1], NULL);
  }
}

/* Copies a tile. */
static void move_tile(const plan *p, const tile *t, char *dst, char *src) {
  _Alignas(64) char in[2 * STAGE];
  char *const out = has_both(p) ? in : in + STAGE;
  const int64_t before = t->begins ? 0 : p->before;
  const int64_t n[] = {t->n[0] + before, t->n[1]};
  const int64_t in_pitch = n[1] * p->size + PAD;
  const int64_t out_pitch = n[0] * p->size + (p->joins ? 0 : PAD);
  int64_t s[] = {p->strides[0], p->strides[1], p->strides[2], p->strides[3]};
  src -= before * s[1];
  char *data[] = {dst, src};
  if (p->direct) {
    stream_rows(p, dst, src, s[3], n);
    return;
  }
  if (p->streams && p->transposes && n[1] < p->shape[1]) {
    prefetch_rows(src, s, n);
  }
  if (p->stages) {
    const int64_t strides[] = {p->size, s[3], in_pitch, s[1]};
    p->load((char *[]){in, src}, strides, n[1], n[0], &p->run);
    data[1] = in;
    s[1] = in_pitch;
    s[3] = p->size;
  }
  if (p->streams) {
    data[0] = out;
    s[0] = p->size;
    s[2] = out_pitch;
  }
  if (p->streams && p->transposes) transpose_strips(p, data, s, n);
  else (p->transposes ? p->transpose : p->load)(data, s, n[0], n[1], &p->run);
  if (p->joins) {
    stream_rows(p, dst, out, 0, (int64_t[]){n[0] * n[1], 1});
  } else if (p->before) {
    stream_tile(p, t, dst, out + before * p->size, out_pitch);
  } else if (p->streams) {
    stream_rows(p, dst, out, out_pitch, n);
  }
}

/* Moves tiles [begin, end) of the grid. */
static void move_tiles(const plan *p, int64_t begin, int64_t end) {
  const int at[] = {p->tiled, !p->tiled}; /* counters of the plane */
  int64_t index[ST_MAX_DIMS], dst = 0, src = 0, rest = begin;
  for (int d = 0; d < p->ndim; d++) {
    index[d] = rest % p->count[d];
    rest /= p->count[d];
    dst += index[d] * p->dst_step[d];
    src += index[d] * p->src_step[d];
  }
  const int64_t period = PERIOD / (p->tile[0] * p->tile[1]) + 1;
  for (int64_t k = begin; k < end; k++) {
    if (k % period == period - 1 && st__stops()) return;
    tile t = {.begins = index[at[0]] == 0,
              .ends = index[at[0]] == p->count[at[0]] - 1};
    for (int d = 0; d < 2; d++) {
      const int64_t i = index[at[d]], left = p->shape[d] - i * p->tile[d];
      t.n[d] = i < p->count[at[d]] - 1 ? p->tile[d] : left;
    }
    move_tile(p, &t, p->move->dst + dst,
              (char *)(uintptr_t)p->move->src + src);
    for (int d = 0; d < p->ndim; d++) {
      dst += p->dst_step[d];
      src += p->src_step[d];
      if (++index[d] < p->count[d]) break;
      dst -= p->count[d] * p->dst_step[d];
      src -= p->count[d] * p->src_step[d];
      index[d] = 0;
    }
  }
}

static void run_tiles(void *ctx, int64_t begin, int64_t end) {
  const plan *p = ctx;
  move_tiles(p, begin, end);
  if (p->streams) st__fence_streams();
}

static void choose(plan *p, st_move *m) {
  p->move = m;
  st__loop_dims_sort(&m->dims, DST, 1);
  st__loop_dims_merge(&m->dims);
  st__loop_dims_pad(&m->dims, 2);
  choose_elements(p, m);
  st__loop_dims_pad(&m->dims, 2);
  choose_walk(p);
  choose_plane(p);
}

bool st__move_is_tiled(st_move *m) {
  plan p;
  if (m->dims.total == 0) return false;
  choose(&p, m);
  return p.tiled;
}

st_status st__move_run(st_move *m) {
  plan p;
  if (m->dims.total == 0) return ST_OK;
  choose(&p, m);
  const int64_t tiles = choose_grid(&p);
  const int64_t bytes = p.tile[0] * p.tile[1] * p.size;
  return st__parallel_try(0, tiles, ST_FIXED_copy_grain / bytes, run_tiles, &p);
}
