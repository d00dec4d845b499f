/* Buffered iteration: blocks whose operands a loop may see through buffers. */

#include "iter/buffer.h"

#include <string.h>

#include "os/machine.h"
#include "iter/build.h"
#include "iter/strided_copy.h"
#include "kernel/stream_line.h"

enum {
  ROW = 128,       /* bytes of a contiguous row that a loop may read directly */
  PART = 8,        /* columns that are transposed at a time: L1 has 8 ways */
  FAR = 2048,      /* bytes from one to the next */
  AHEAD = 2,       /* blocks */
  LONG_ROW = 4096, /* bytes of an output that streams row by row */
  LINE = 64
};

/* -- Sizes ---------------------------------------------------------------- */

static int64_t size_of(const st_iter_operand *op) {
  return (int64_t)st__itemsize(op->target);
}

static int64_t stride_of(const st_iter *it, int i, int d) {
  return d < it->ndim ? it->op[i].stride[d] : 0;
}

/* Assumes a buffer for every operand. */
int64_t st__pack_capacity(const st_iter *it) {
  int64_t bytes = 0;
  for (int i = 0; i < it->noperands; i++) bytes += size_of(&it->op[i]);
  const int64_t fits = ST_PACK_ROOM / bytes;
  return fits < ST_PACK_BLOCK ? fits : ST_PACK_BLOCK;
}

int st__pack_dims(const st_iter *it, int64_t *unit) {
  const int64_t most = st__pack_capacity(it);
  int k = 0;
  *unit = 1;
  while (k + 1 < it->ndim && *unit * it->shape[k] <= most) {
    *unit *= it->shape[k++];
  }
  return k;
}

/* True if the operand is laid out in memory as in a block. Long rows may have
 * gaps between them. */
static bool is_direct(const st_pack *p, int i) {
  const st_iter *it = p->job->it;
  int64_t next = size_of(&it->op[i]);
  if (it->op[i].casts || (p->job->streams && i == 0)) return false;
  for (int d = 0; d <= p->k; d++) {
    if (stride_of(it, i, d) != next) return p->k == 1 && d == 1 && next >= ROW;
    if (d < p->k) next *= p->shape[d];
  }
  return true;
}

static int count_repeating(const st_pack *p, int i) {
  int d = 0;
  while (d < p->k && stride_of(p->job->it, i, d) == 0) d++;
  return d;
}

bool st__pack_streams(const st_iter *it) {
  const st_iter_operand *out = &it->op[0];
  const bool has_rows = it->ndim > 1;
  int64_t bytes = 0;
  if (it->noutputs != 1 || it->ncasts > 0 || it->ndim == 0 ||
      out->stride[0] != size_of(out) ||
      (has_rows && it->shape[0] * size_of(out) < LONG_ROW)) {
    return false;
  }
  for (int i = 0; i < it->noperands; i++) {
    const int64_t size = size_of(&it->op[i]), stride = it->op[i].stride[0];
    if (i > 0 && it->op[i].data == out->data) return false;
    if (has_rows && stride != size && stride != 0) return false;
    bytes += size;
  }
  if (has_rows) return it->numel >= st__machine.rows_streamed / size_of(out);
  return it->numel >= st__machine.map_streamed / bytes;
}

/* The elements of a tile that fit the buffers it uses, and the scratch buffer
 * where casts begin. */
static int64_t tile_capacity(const st_pack *p) {
  const st_iter *it = p->job->it;
  int64_t bytes = 0, own = 2;
  for (int i = 0; i < it->noperands; i++) {
    const int64_t size = (int64_t)st__itemsize(st__iter_own_dtype(&it->op[i]));
    if (!is_direct(p, i)) bytes += size_of(&it->op[i]);
    if (it->op[i].casts && size > own) own = size;
  }
  const int64_t room = ST_PACK_ROOM / (bytes > 0 ? bytes : 1);
  return room < ST_PACK_SCRATCH / own ? room : ST_PACK_SCRATCH / own;
}

/* The rows of a block; one that streams holds whole lines of the output. A tile
 * has as many rows as fit: the more, the fewer times it meets a line of a
 * transposed operand. */
static int64_t count_rows(const st_pack *p) {
  const st_iter *it = p->job->it;
  if (p->job->tiled) return tile_capacity(p) / p->inner;
  const int64_t most = st__pack_capacity(it) / p->inner;
  const int64_t line = LINE / size_of(&it->op[0]);
  const int64_t streamed = ST_PACK_STREAMED / LINE * line;
  if (!p->job->streams) return most;
  return streamed < most ? streamed : most / line * line;
}

void st__pack_init(st_pack *p, const st_iter_job *job, int k,
                   const int64_t *shape) {
  const st_iter *it = job->it;
  p->job = job;
  p->k = k;
  p->shape = shape;
  p->inner = 1;
  for (int d = 0; d < k; d++) p->inner *= shape[d];
  p->most = count_rows(p);
  char *at = p->arena;
  for (int i = 0; i < it->noperands; i++) {
    p->op[i].held = NULL;
    p->op[i].stride = stride_of(it, i, k);
    p->op[i].spread = count_repeating(p, i);
    p->op[i].buffer = is_direct(p, i) ? NULL : at;
    if (!p->op[i].buffer) continue;
    at += (p->most * p->inner * size_of(&it->op[i]) + 2 * LINE - 1) & -LINE;
  }
  p->scratch = at;
}

/* -- Gathering and scattering --------------------------------------------- */

/* True for an input whose columns are contiguous in memory, as rows are in a
 * buffer. Outputs decide the order of dimensions, so they hardly ever
 * qualify. */
static bool is_transposed(const st_pack *p, int i) {
  const st_iter_operand *op = &p->job->it->op[i];
  const int64_t size = (int64_t)st__itemsize(st__iter_own_dtype(op));
  return p->k == 1 && !op->is_output && p->op[i].stride == size &&
         op->stride[0] != size && op->stride[0] != 0;
}

/* The columns are so far apart that the processor predicts no access. */
static inline __attribute__((always_inline))
void prefetch_columns(const char *at, int64_t stride, int64_t columns,
                             int64_t bytes) {
  for (int64_t j = 0; j < columns; j++) {
    for (int64_t o = 0; o < bytes; o += LINE) {
      __builtin_prefetch(at + j * stride + o);
    }
  }
}

/* Transposes a part of the columns at a time if they are far apart or begin at
 * the same place in a line: then they meet in so few sets of L1 that more would
 * evict each other. The last part overlaps the one before it. */
static void transpose_columns(const st_pack *p, int64_t stride, int64_t size,
                              char *to, char *at, int64_t rows) {
  const st_loop transpose = st__kernel(ST_K_transpose, st__bits_of(size));
  const int64_t strides[4] = {size, stride, p->inner * size, size};
  const bool far = stride > FAR, meet = far || stride % LINE == 0;
  const int64_t n = p->inner, some = size < 4 ? 4 * PART / size : PART;
  const int64_t part = meet && some < n ? some : n;
  for (int64_t j = 0; j < n; j += part) {
    if (far && j + 2 * part <= n) {
      prefetch_columns(at + (j + part) * stride, stride, part, rows * size);
    }
    if (j > n - part) j = n - part;
    transpose((char *[]){to + j * size, at + j * stride}, strides, part, rows,
              NULL);
  }
}

/* Gathers `rows` rows of such an input by a transpose, in the input's own
 * dtype; an input that casts is converted afterwards. */
static void gather_transposed(const st_pack *p, int i, char *packed, char *at,
                              int64_t rows) {
  const st_iter_operand *op = &p->job->it->op[i];
  const st_dtype dtype = st__iter_own_dtype(op);
  const int64_t size = (int64_t)st__itemsize(dtype), to = size_of(op);
  const int64_t convert[4] = {to, size, 0, 0};
  char *own = op->casts ? p->scratch : packed;
  transpose_columns(p, op->stride[0], size, own, at, rows);
  if (!op->casts) return;
  st__copy_kernel(op->target, dtype)((char *[]){packed, own}, convert,
                                     p->inner * rows, 1, NULL);
}

/* Copies between an operand's memory and its buffer, where the elements are
 * packed: dimensions z to k - 1 in full, and a number of rows. */
typedef struct mover {
  const st_pack *p;
  int i, z;
  int packed, own; /* index of each side in the arguments of copy */
  st_loop copy;
  int64_t n0, n1, strides[4];
} mover;

/* copy covers dimensions z and k; this function covers the dimensions between
 * them, from d down. bytes: the size of the part per row. */
static void move_dims(const mover *m, char *packed, char *at, int d,
                      int64_t bytes) {
  if (d <= m->z) {
    char *data[2];
    data[m->packed] = packed;
    data[m->own] = at;
    m->copy(data, m->strides, m->n0, m->n1, NULL);
    return;
  }
  const int64_t n = m->p->shape[d], step = bytes / n;
  const int64_t own_step = stride_of(m->p->job->it, m->i, d);
  for (int64_t j = 0; j < n; j++) {
    move_dims(m, packed + j * step, at + j * own_step, d - 1, step);
  }
}

static void move_box(const st_pack *p, int i, char *packed, char *at, int z,
                     int64_t rows) {
  const st_iter_operand *op = &p->job->it->op[i];
  const st_dtype dtype = st__iter_own_dtype(op);
  const bool out = op->is_output, flat = z == p->k;
  int64_t bytes = size_of(op);
  if (z == 0 && is_transposed(p, i)) {
    gather_transposed(p, i, packed, at, rows);
    return;
  }
  mover m = {
    .p = p, .i = i, .z = z, .packed = out, .own = !out,
    .copy = out ? st__copy_kernel(dtype, op->target)
                : st__copy_kernel(op->target, dtype),
    .n0 = flat ? rows : p->shape[z], .n1 = flat ? 1 : rows };
  m.strides[m.packed] = bytes;
  m.strides[m.own] = stride_of(p->job->it, i, z);
  for (int d = z; d < p->k; d++) bytes *= p->shape[d];
  m.strides[2 + m.packed] = bytes;
  m.strides[2 + m.own] = p->op[i].stride;
  move_dims(&m, packed, at, p->k - 1, bytes);
}

typedef uint32_t lanes __attribute__((vector_size(16)));

/* Fills 16 bytes with copies of one element. */
static inline __attribute__((always_inline))
lanes splat16(const char *from, size_t size) {
  uint32_t bits = 0;
  uint64_t wide[2];
  lanes all = {0};
  if (size <= 4) {
    memcpy(&bits, from, size);
    all += bits * (size == 1 ? 0x01010101u : size == 2 ? 0x00010001u : 1u);
    return all;
  }
  memcpy(wide, from, size);
  if (size == 8) wide[1] = wide[0];
  memcpy(&all, wide, sizeof all);
  return all;
}

/* Repeats each of n elements `times` times, with whole 16-byte stores. A store
 * may exceed its element's range; the stores of the next element overwrite the
 * excess. */
static inline __attribute__((always_inline))
void spread_size(char *to, const char *from, int64_t times, int64_t n,
                 size_t size) {
  const int64_t step = (int64_t)size, bytes = times * step;
  for (; n > 0; n--, from += step, to += bytes) {
    const lanes all = splat16(from, size);
    memcpy(to, &all, sizeof all);
    for (int64_t o = 16; o < bytes; o += 16) memcpy(to + o, &all, sizeof all);
  }
}

static void spread(char *to, const char *from, int64_t times, int64_t n,
                   int64_t size) {
  switch (size) {
    case 1: spread_size(to, from, times, n, 1); break;
    case 2: spread_size(to, from, times, n, 2); break;
    case 4: spread_size(to, from, times, n, 4); break;
    case 8: spread_size(to, from, times, n, 8); break;
    default: spread_size(to, from, times, n, 16);
  }
}

/* Repeats the first row until there are n rows. */
static void replicate(char *rows, int64_t bytes, int64_t n) {
  const int64_t all = bytes * n;
  for (int64_t done = bytes; done < all; done *= 2) {
    const int64_t left = all - done;
    memcpy(rows + done, rows, (size_t)(left < done ? left : done));
  }
}

static void gather(st_pack *p, int i, char *at, int64_t rows) {
  const int64_t size = size_of(&p->job->it->op[i]);
  const bool repeats = p->op[i].stride == 0;
  const int64_t n = repeats ? 1 : rows;
  const int z = p->op[i].spread;
  char *buffer = p->op[i].buffer;
  if (p->op[i].held == at && p->op[i].rows >= rows) return;
  if (z == 0) {
    move_box(p, i, buffer, at, 0, n);
  } else {
    int64_t times = 1;
    for (int d = 0; d < z; d++) times *= p->shape[d];
    move_box(p, i, p->scratch, at, z, n);
    spread(buffer, p->scratch, times, n * p->inner / times, size);
  }
  if (repeats) replicate(buffer, p->inner * size, rows);
  p->op[i].held = at;
  p->op[i].rows = rows;
}

/* -- Blocks --------------------------------------------------------------- */

/* Requests the contiguous inputs of a block ahead. Next to stores past the
 * caches the processor requests few lines itself, and a function that takes
 * long would wait for each. Inlined, as GCC removes calls of functions that do
 * nothing else. */
static inline __attribute__((always_inline))
void prefetch_inputs(const st_pack *p, char *const *at) {
  for (int i = 1; i < p->job->it->noperands; i++) {
    const int64_t bytes = p->most * p->op[i].stride;
    const char *from = at[i] + AHEAD * bytes;
    if (p->op[i].buffer) continue;
    for (int64_t o = 0; o < bytes; o += LINE) __builtin_prefetch(from + o);
  }
}

static void stream_block(const st_pack *p, char *at, int64_t n) {
  static const int64_t strides[4] = {1, 1, 0, 0};
  char *data[] = {at, p->op[0].buffer};
  st__kernel(ST_K_stream, ST_UINT8)(data, strides,
                                    n * size_of(&p->job->it->op[0]), 1, NULL);
}

static void run_block(st_pack *p, char *const *at, int64_t rows) {
  const st_iter_job *j = p->job;
  const int n = j->it->noperands;
  const int64_t n0 = p->k ? p->inner : rows, n1 = p->k ? rows : 1;
  int64_t strides[2 * ST_ITER_MAX_OPERANDS];
  char *data[ST_ITER_MAX_OPERANDS];
  for (int i = 0; i < n; i++) {
    const int64_t size = size_of(&j->it->op[i]);
    char *buffer = p->op[i].buffer;
    data[i] = buffer ? buffer : at[i];
    strides[i] = size;
    strides[n + i] = buffer ? n0 * size : p->op[i].stride;
    if (buffer && !j->it->op[i].is_output) gather(p, i, at[i], rows);
  }
  j->loop(data, strides, n0, n1, j->ctx);
  if (j->streams) {
    stream_block(p, at[0], rows);
    return;
  }
  for (int i = 0; i < j->it->noutputs && !j->only_reads; i++) {
    char *buffer = p->op[i].buffer;
    if (buffer) move_box(p, i, buffer, at[i], 0, rows);
  }
}

void st__pack_run(st_pack *p, char *const *data, int64_t rows) {
  const int n = p->job->it->noperands;
  char *at[ST_ITER_MAX_OPERANDS];
  for (int64_t r = 0, step; r < rows; r += step) {
    for (int i = 0; i < n; i++) at[i] = data[i] + r * p->op[i].stride;
    step = p->most;
    if (p->job->streams) {
      prefetch_inputs(p, at);
      step -= (int64_t)((uintptr_t)at[0] % LINE) / size_of(&p->job->it->op[0]);
    }
    run_block(p, at, rows - r < step ? rows - r : step);
  }
  if (p->job->streams) st__fence_streams();
}
