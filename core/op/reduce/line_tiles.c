/* Lines copied by tiles: Note [Tiles of lines].
 */

#include "op/reduce/line_tiles.h"

#include "base/memory.h"
#include "base/threads.h"
#include "iter/strided_copy.h"

/* Lines shorter than SHORT stay in a cache from one to the next; a buffer of
 * lines longer than LONG does not. Of each element along a line, WIDE bytes are
 * copied at once, since each may lie in another page; fewer if the buffer gets
 * larger than ROOM. */
enum {
  SHORT = 128, LONG = 1 << 15, WIDE = 128, ROOM = 1 << 20, FEWEST = 4,
  CACHE_LINE = 64
};

static bool adjoins(const st_lines *l, int k, int64_t length) {
  const int64_t along = l->along[k] < 0 ? -l->along[k] : l->along[k];
  const int64_t across = st__loop_strides(&l->dims, 0)[k];
  return l->t[k] && length >= FEWEST && l->dims.size[0] >= FEWEST &&
         across == (int64_t)st__itemsize(l->t[k]->dtype) && across < along;
}

bool st__line_tiles_init(st_line_tiles *t, const st_lines *l, int outputs,
                         int64_t length) {
  int64_t pitch = 0; /* of all operands */
  *t = (st_line_tiles){.n = l->n, .outputs = outputs};
  if (l->length < SHORT || l->length > LONG) return false;
  for (int k = 0; k < l->n; k++) {
    const int64_t n = k < outputs ? length : l->length;
    if (!adjoins(l, k, n)) continue;
    t->length[k] = n;
    t->size[k] = (int64_t)st__itemsize(l->t[k]->dtype);
    t->transpose[k] = st__kernel(ST_K_transpose, st__bits_of(t->size[k]));
    /* lines do not share the sets of a cache */
    t->pitch[k] = (n * t->size[k] + 2 * CACHE_LINE - 1) & -CACHE_LINE;
    t->at[k] = pitch;
    pitch += t->pitch[k];
  }
  t->lines = WIDE / (int64_t)st__itemsize(l->t[l->n - 1]->dtype);
  while (t->lines > CACHE_LINE / 4 && t->lines * pitch > ROOM) t->lines /= 2;
  for (int k = 0; k < l->n; k++) t->at[k] *= t->lines;
  t->bytes = t->lines * pitch;
  return pitch > 0;
}

/* Copies lines of operand k to the buffer. A call copies few elements of each,
 * so that their cache lines stay until the last of the lines has been read. */
static void gather(const st_line_tiles *t, int k, char *from, int64_t along,
                   int64_t lines) {
  const int64_t size = t->size[k], most = size < 4 ? 32 / size : 8;
  const int64_t s[] = {size, along, t->pitch[k], size};
  char *to = t->buffer + t->at[k];
  for (int64_t i = 0; i < t->length[k]; i += most) {
    const int64_t left = t->length[k] - i;
    t->transpose[k]((char *[]){to + i * size, from + i * along}, s,
                    left < most ? left : most, lines, NULL);
  }
}

static void scatter(const st_line_tiles *t, int k, char *to, int64_t along,
                    int64_t lines) {
  const int64_t size = t->size[k];
  const int64_t s[] = {size, t->pitch[k], along, size};
  t->transpose[k]((char *[]){to, t->buffer + t->at[k]}, s, lines,
                  t->length[k], NULL);
}

void st__line_tiles_loop(char **data, const int64_t *s, int64_t n0, int64_t n1,
                         const void *ctx) {
  const st_line_tiles *t = ctx;
  const int n = t->n;
  if (n1 < FEWEST) {
    t->loop(data, s, n0, n1, t->ctx);
    return;
  }
  for (int64_t j = 0, m; j < n1; j += m) {
    char *own[ST_LINE_OPERANDS], *p[ST_LINE_OPERANDS];
    int64_t steps[2 * ST_LINE_OPERANDS];
    m = n1 - j < t->lines ? n1 - j : t->lines;
    for (int k = 0; k < n; k++) {
      const bool copied = t->length[k] > 0;
      own[k] = data[k] ? data[k] + j * s[n + k] : NULL;
      p[k] = copied ? t->buffer + t->at[k] : own[k];
      steps[k] = copied ? t->size[k] : s[k];
      steps[n + k] = copied ? t->pitch[k] : s[n + k];
      if (copied && k >= t->outputs) gather(t, k, own[k], s[k], m);
    }
    t->loop(p, steps, n0, m, t->ctx);
    if (st__stops()) return; /* the lines may be half written */
    for (int k = 0; k < t->outputs; k++) {
      if (t->length[k] > 0) scatter(t, k, own[k], s[k], m);
    }
  }
}

typedef struct job {
  const st_line_tiles *tiles;
  const st_lines *lines;
  int chunks; /* each has a buffer */
} job;

static void run_chunks(void *ctx, int64_t begin, int64_t end) {
  const job *j = ctx;
  const int64_t count = j->lines->count;
  for (int64_t i = begin; i < end; i++) {
    st_line_tiles t = *j->tiles;
    t.buffer += i * t.bytes;
    st__lines_run(j->lines, st__line_tiles_loop, &t, count * i / j->chunks,
                  count * (i + 1) / j->chunks);
  }
}

static bool copies_all(const st_line_tiles *t) {
  for (int k = 0; k < t->n; k++) {
    if (t->length[k] == 0) return false;
  }
  return true;
}

st_status st__line_tiles_run_all(const st_lines *l, int outputs, int64_t least,
                                 st_loop loop, const void *ctx,
                                 st_kernel_id kernel) {
  st_line_tiles t;
  if (!st__line_tiles_init(&t, l, outputs, l->length) ||
      (l->length < least && copies_all(&t))) {
    return st__lines_run_all(l, loop, ctx, kernel);
  }
  const int64_t grain = st__kernel_grain(kernel) / (l->length + 1) + t.lines;
  job j = {&t, l, st__num_shares(l->count, grain)};
  const size_t bytes = (size_t)(j.chunks * t.bytes);
  t.loop = loop;
  t.ctx = ctx;
  t.buffer = st__alloc(ST_MEM_SCRATCH, bytes);
  if (!t.buffer) return ST_NO_MEMORY;
  const st_status status = st__parallel_try(0, j.chunks, 1, run_chunks, &j);
  st__free(ST_MEM_SCRATCH, t.buffer, bytes);
  return status;
}
