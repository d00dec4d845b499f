/* The engine of reductions (Note [Reproducible reductions]).
 */

#include "op/fold.h"

#include <math.h>

#include "base/memory.h"
#include "base/threads.h"

enum {
  TILE = 512,          /* outputs whose accumulators live on the stack */
  FEW_TILES = 16,      /* fewer: the reduced elements are cut as well */
  CHUNK = 65536,       /* elements of a chunk, at least */
  MAX_CHUNKS = 64,
  ACC_SIZE = 16        /* of the largest accumulator */
};

/* -- The plan ------------------------------------------------------------- */

/* Byte strides; the fastest dimension first. There is at least one dimension
 * of each kind. */
typedef struct plan {
  int nreduced, nkept;
  int64_t rsize[ST_MAX_DIMS], rstride[ST_MAX_DIMS];
  int64_t ksize[ST_MAX_DIMS], kstride[ST_MAX_DIMS];
  int64_t ostride[2][ST_MAX_DIMS]; /* of the two outputs */
  int64_t reduced, kept;           /* numbers of elements */
} plan;

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static void swap(int64_t *a, int i, int j) {
  const int64_t t = a[i];
  a[i] = a[j];
  a[j] = t;
}

/* Insertion sort by the input's stride. */
static void sort_reduced(plan *p) {
  for (int i = 1; i < p->nreduced; i++) {
    for (int j = i; j > 0 && magnitude(p->rstride[j]) <
                             magnitude(p->rstride[j - 1]); j--) {
      swap(p->rsize, j, j - 1);
      swap(p->rstride, j, j - 1);
    }
  }
}

static void sort_kept(plan *p) {
  for (int i = 1; i < p->nkept; i++) {
    for (int j = i; j > 0 && magnitude(p->kstride[j]) <
                             magnitude(p->kstride[j - 1]); j--) {
      swap(p->ksize, j, j - 1);
      swap(p->kstride, j, j - 1);
      swap(p->ostride[0], j, j - 1);
      swap(p->ostride[1], j, j - 1);
    }
  }
}

static void merge_reduced(plan *p) {
  int n = 0;
  for (int i = 1; i < p->nreduced; i++) {
    if (p->rstride[i] == p->rstride[n] * p->rsize[n]) {
      p->rsize[n] *= p->rsize[i];
    } else {
      n++;
      p->rsize[n] = p->rsize[i];
      p->rstride[n] = p->rstride[i];
    }
  }
  p->nreduced = n + 1;
}

static void merge_kept(plan *p) {
  int n = 0;
  for (int i = 1; i < p->nkept; i++) {
    const int64_t size = p->ksize[n];
    if (p->kstride[i] == p->kstride[n] * size &&
        p->ostride[0][i] == p->ostride[0][n] * size &&
        p->ostride[1][i] == p->ostride[1][n] * size) {
      p->ksize[n] *= p->ksize[i];
    } else {
      n++;
      p->ksize[n] = p->ksize[i];
      p->kstride[n] = p->kstride[i];
      p->ostride[0][n] = p->ostride[0][i];
      p->ostride[1][n] = p->ostride[1][i];
    }
  }
  p->nkept = n + 1;
}

static void add_kept(plan *p, const st_reduction *r, int64_t size,
                     int64_t stride, int out_dim) {
  p->ksize[p->nkept] = size;
  p->kstride[p->nkept] = stride;
  p->ostride[0][p->nkept] = st__stride_of(r->out_first, out_dim);
  p->ostride[1][p->nkept] = st__stride_of(r->out_last, out_dim);
  p->nkept++;
}

static void add_reduced(plan *p, int64_t size, int64_t stride) {
  p->rsize[p->nreduced] = size;
  p->rstride[p->nreduced++] = stride;
}

static void make_plan(plan *p, const st_reduction *r, const st_tensor *in,
                      uint64_t dims, bool keepdim) {
  int out_dim = (r->out_first ? r->out_first : r->out_last)->ndim;
  p->nreduced = p->nkept = 0;
  p->reduced = p->kept = 1;
  for (int i = in->ndim - 1; i >= 0; i--) {
    const bool reduce = dims >> i & 1;
    const int64_t size = in->sizes[i];
    if (!reduce || keepdim) out_dim--;
    *(reduce ? &p->reduced : &p->kept) *= size;
    if (size == 1) continue;
    if (reduce) add_reduced(p, size, st__stride_of(in, i));
    else add_kept(p, r, size, st__stride_of(in, i), out_dim);
  }
  const int64_t item = (int64_t)st__itemsize((st_dtype)in->dtype);
  if (p->nreduced == 0) add_reduced(p, 1, item);
  if (!r->ordered) sort_reduced(p);
  merge_reduced(p);
  sort_kept(p);
  if (p->nkept == 0) {
    p->ksize[0] = 1;
    p->kstride[0] = p->ostride[0][0] = p->ostride[1][0] = 0;
    p->nkept = 1;
  }
  merge_kept(p);
}

/* -- Tiles ---------------------------------------------------------------- */

typedef struct job {
  const st_reduction *r;
  plan p;
  st_loop loop[2], combine[2], store[2]; /* by pass */
  char *in, *out[2];
  int64_t width, tiles, tiles_per_row, chunks;
  char *partial, *first, *refs;          /* scratch of chunked runs */
} job;

/* Up to `width` neighbouring outputs. */
typedef struct tile {
  char *in, *out[2];
  int64_t at, width; /* number of the first output; how many */
} tile;

static const st_fold *fold_of(const job *b, int pass) {
  return pass ? &b->r->second : &b->r->first;
}

static int64_t acc_size(const job *b, int pass) {
  return (int64_t)st__itemsize(fold_of(b, pass)->acc);
}

static tile find_tile(const job *b, int64_t index) {
  const plan *p = &b->p;
  int64_t row = index / b->tiles_per_row;
  const int64_t from = index % b->tiles_per_row * b->width;
  const int64_t left = p->ksize[0] - from;
  tile t = {b->in + from * p->kstride[0],
            {b->out[0] + from * p->ostride[0][0],
             b->out[1] + from * p->ostride[1][0]},
            row * p->ksize[0] + from, left < b->width ? left : b->width};
  for (int i = 1; i < p->nkept; i++) {
    const int64_t k = row % p->ksize[i];
    row /= p->ksize[i];
    t.in += k * p->kstride[i];
    t.out[0] += k * p->ostride[0][i];
    t.out[1] += k * p->ostride[1][i];
  }
  return t;
}

static void start(const job *b, int pass, char *acc, int64_t n) {
  const size_t all = (size_t)(n * acc_size(b, pass));
  size_t done = (size_t)acc_size(b, pass);
  st__scalar_store(fold_of(b, pass)->start, fold_of(b, pass)->acc, acc);
  for (size_t more; done < all; done += more) {
    more = done < all - done ? done : all - done;
    memcpy(acc + done, acc, more);
  }
}

/* References of a pass: a constant, or one per output. */
typedef struct refs { char *p; int64_t step; } refs;

static char *element(const plan *p, char *in, int64_t at) {
  for (int i = 0; i < p->nreduced; i++) {
    in += at % p->rsize[i] * p->rstride[i];
    at /= p->rsize[i];
  }
  return in;
}

/* Folds reduced elements lo .. hi - 1, numbered fastest dimension first, of
 * every output of the tile. A lone output takes whole planes at a time. */
static void fold_range(const job *b, int pass, const tile *t, char *acc,
                       refs ref, int64_t range[2]) {
  const plan *p = &b->p;
  const int64_t row = p->rsize[0], hi = range[1];
  for (int64_t at = range[0], n0, n1; at < hi; at += n0 * n1) {
    int64_t s[6] = {0, p->rstride[0], 0, acc_size(b, pass), p->kstride[0],
                    ref.step};
    char *data[3] = {acc, element(p, t->in, at), ref.p};
    const int64_t in_row = at % row;
    n1 = 1;
    n0 = row - in_row < hi - at ? row - in_row : hi - at;
    if (t->width == 1 && p->nreduced > 1 && n0 == row) {
      const int64_t left = p->rsize[1] - at / row % p->rsize[1];
      n1 = left < (hi - at) / row ? left : (hi - at) / row;
      s[3] = s[5] = 0;
      s[4] = p->rstride[1];
    }
    b->loop[pass](data, s, n0, t->width == 1 ? n1 : t->width, &at);
  }
}

static refs references(const job *b, int pass, char *found) {
  if (pass == 0) return (refs){(char *)(uintptr_t)&b->r->ref, 0};
  return (refs){found, b->r->first.acc == ST_COMPLEX128 ? 16
                     : b->r->refer ? 8 : acc_size(b, 0)};
}

static void refer(const job *b, const char *first, char *ref, int64_t n) {
  if (b->r->refer) b->r->refer(b->r, first, ref, n);
  else memcpy(ref, first, (size_t)(n * acc_size(b, 0)));
}

static void store(const job *b, const tile *t, int which, char *acc) {
  const int pass = which && b->loop[1] ? 1 : 0;
  const int64_t s[4] = {b->p.ostride[which][0], acc_size(b, pass), 0, 0};
  char *data[2] = {t->out[which], acc};
  b->store[which](data, s, t->width, 1, NULL);
}

/* Stores the first pass's accumulators if anyone wants them. */
static void first_done(const job *b, const tile *t, char *acc) {
  if (b->r->out_first) store(b, t, 0, acc);
}

static void last_done(const job *b, const tile *t, char *acc,
                      const char *ref) {
  if (b->r->finish) b->r->finish(b->r, acc, ref, t->width);
  if (b->r->out_last) store(b, t, 1, acc);
}

static void run_tiles(void *ctx, int64_t begin, int64_t end) {
  const job *b = ctx;
  _Alignas(64) char acc[TILE * ACC_SIZE], ref[TILE * ACC_SIZE];
  for (int64_t i = begin; i < end; i++) {
    const tile t = find_tile(b, i);
    start(b, 0, acc, t.width);
    fold_range(b, 0, &t, acc, references(b, 0, NULL),
               (int64_t[]){0, b->p.reduced});
    if (b->loop[1]) {
      refer(b, acc, ref, t.width);
      first_done(b, &t, b->r->refer ? ref : acc);
      start(b, 1, acc, t.width);
      fold_range(b, 1, &t, acc, references(b, 1, ref),
                 (int64_t[]){0, b->p.reduced});
    }
    last_done(b, &t, acc, ref);
  }
}

/* -- Chunks --------------------------------------------------------------- */

typedef struct chunk_pass { const job *b; int pass; } chunk_pass;

static void run_chunks(void *ctx, int64_t begin, int64_t end) {
  const chunk_pass *c = ctx;
  const job *b = c->b;
  const int64_t size = acc_size(b, c->pass), n = b->p.reduced;
  for (int64_t i = begin; i < end; i++) {
    const tile t = find_tile(b, i % b->tiles);
    const int64_t chunk = i / b->tiles, length = (n + b->chunks - 1) /
                                                 b->chunks;
    int64_t range[2] = {chunk * length, (chunk + 1) * length};
    char *acc = b->partial + (chunk * b->p.kept + t.at) * size;
    refs ref = references(b, c->pass, b->refs);
    ref.p += t.at * ref.step;
    if (range[1] > n) range[1] = n;
    start(b, c->pass, acc, t.width);
    fold_range(b, c->pass, &t, acc, ref, range);
  }
}

static void combine_chunks(const job *b, int pass, const tile *t,
                           char *acc) {
  const int64_t size = acc_size(b, pass);
  const int64_t s[6] = {0, b->p.kept * size, 0, size, size, 0};
  char *data[3] = {acc, b->partial + t->at * size,
                   (char *)(uintptr_t)&b->r->ref};
  start(b, pass, acc, t->width);
  b->combine[pass](data, s, b->chunks, t->width, NULL);
}

static void fold_chunks(job *b, int pass, int64_t grain) {
  chunk_pass c = {b, pass};
  const int64_t n = b->tiles * b->chunks;
  const int64_t each = b->p.reduced * b->p.kept / n + 1;
  st__parallel_for(0, n, grain / each + 1, run_chunks, &c);
}

/* Positions are searched tile by tile: the first hit ends the search. */
static void find_all(job *b, const tile *t, char *acc) {
  const refs all = references(b, 1, b->refs);
  const refs ref = {all.p + t->at * all.step, all.step};
  start(b, 1, acc, t->width);
  fold_range(b, 1, t, acc, ref, (int64_t[]){0, b->p.reduced});
}

static void run_chunked(job *b, int64_t grain[2]) {
  _Alignas(64) char acc[TILE * ACC_SIZE];
  const int64_t ref_size = references(b, 1, NULL).step;
  fold_chunks(b, 0, grain[0]);
  for (int64_t i = 0; i < b->tiles; i++) {
    const tile t = find_tile(b, i);
    combine_chunks(b, 0, &t, acc);
    if (!b->loop[1]) {
      last_done(b, &t, acc, NULL);
      continue;
    }
    refer(b, acc, b->refs + t.at * ref_size, t.width);
    first_done(b, &t, b->r->refer ? b->refs + t.at * ref_size : acc);
  }
  if (!b->loop[1]) return;
  const bool search = b->r->second.kernel == ST_K_find;
  if (!search) fold_chunks(b, 1, grain[1]);
  for (int64_t i = 0; i < b->tiles; i++) {
    const tile t = find_tile(b, i);
    if (search) find_all(b, &t, acc);
    else combine_chunks(b, 1, &t, acc);
    last_done(b, &t, acc, b->refs + t.at * ref_size);
  }
}

/* -- The run -------------------------------------------------------------- */

static st_status find_loops(job *b, st_dtype dtype) {
  const st_reduction *r = b->r;
  ST_TRY(st__find_kernel(r->first.kernel, dtype, &b->loop[0]));
  b->combine[0] = st__kernel(r->first.combine, r->first.acc);
  b->loop[1] = b->combine[1] = NULL;
  if (r->second.kernel != ST_K_NONE) {
    ST_TRY(st__find_kernel(r->second.kernel, dtype, &b->loop[1]));
    b->combine[1] = r->second.combine == ST_K_NONE ? NULL
                  : st__kernel(r->second.combine, r->second.acc);
  }
  return ST_OK;
}

static st_loop find_store(const job *b, const st_tensor *out, int pass) {
  return out ? st__copy_kernel((st_dtype)out->dtype, fold_of(b, pass)->acc)
             : NULL;
}

/* Outputs that are reduced row by row lose nothing when a tile has few. */
static void set_geometry(job *b) {
  const plan *p = &b->p;
  const bool by_rows = magnitude(p->kstride[0]) > magnitude(p->rstride[0]);
  b->width = by_rows ? CHUNK / (p->reduced + 1) : TILE;
  b->width = b->width < 1 ? 1 : b->width > TILE ? TILE : b->width;
  b->tiles_per_row = (p->ksize[0] + b->width - 1) / b->width;
  b->tiles = b->tiles_per_row;
  for (int i = 1; i < p->nkept; i++) b->tiles *= p->ksize[i];
  b->chunks = p->reduced / (CHUNK / p->kept + 1);
  if (b->chunks > MAX_CHUNKS) b->chunks = MAX_CHUNKS;
  if (b->tiles >= FEW_TILES || b->chunks < 2) b->chunks = 1;
}

static st_status run_with_scratch(job *b, int64_t grain[2]) {
  const size_t all = (size_t)b->p.kept * ACC_SIZE;
  const size_t bytes = all * (size_t)(b->chunks + 1);
  b->partial = st__alloc(ST_MEM_SCRATCH, bytes);
  if (!b->partial) return ST_NO_MEMORY;
  b->refs = b->partial + all * (size_t)b->chunks;
  run_chunked(b, grain);
  st__free(ST_MEM_SCRATCH, b->partial, bytes);
  return ST_OK;
}

st_status st__reduce(st_reduction *r, const st_tensor *in, uint64_t dims,
                     bool keepdim) {
  job b;
  b.r = r;
  ST_TRY(find_loops(&b, (st_dtype)in->dtype));
  make_plan(&b.p, r, in, dims, keepdim);
  if (b.p.kept == 0) return ST_OK;
  r->count = b.p.reduced;
  b.in = st__data(in);
  b.out[0] = r->out_first ? st__data(r->out_first) : NULL;
  b.out[1] = r->out_last ? st__data(r->out_last) : NULL;
  b.store[0] = find_store(&b, r->out_first, 0);
  b.store[1] = find_store(&b, r->out_last, b.loop[1] ? 1 : 0);
  set_geometry(&b);
  int64_t grain[2] = {st__kernel_grain(r->first.kernel),
                      st__kernel_grain(b.loop[1] ? r->second.kernel
                                                 : r->first.kernel)};
  if (b.chunks > 1) return run_with_scratch(&b, grain);
  const int64_t each = b.p.reduced * b.p.kept / b.tiles + 1;
  st__parallel_for(0, b.tiles, grain[1] / each + 1, run_tiles, &b);
  return ST_OK;
}

/* -- For metas ------------------------------------------------------------ */

st_scalar st__lowest(st_dtype d) {
  switch (d) {
    case ST_BOOL: case ST_UINT8: return st__scalar_int(0);
    case ST_INT8: return st__scalar_int(INT8_MIN);
    case ST_INT16: return st__scalar_int(INT16_MIN);
    case ST_INT32: return st__scalar_int(INT32_MIN);
    case ST_INT64: return st__scalar_int(INT64_MIN);
    default: return st__scalar_float(-INFINITY);
  }
}

st_scalar st__highest(st_dtype d) {
  switch (d) {
    case ST_BOOL: return st__scalar_int(1);
    case ST_UINT8: return st__scalar_int(UINT8_MAX);
    case ST_INT8: return st__scalar_int(INT8_MAX);
    case ST_INT16: return st__scalar_int(INT16_MAX);
    case ST_INT32: return st__scalar_int(INT32_MAX);
    case ST_INT64: return st__scalar_int(INT64_MAX);
    default: return st__scalar_float(INFINITY);
  }
}

const st_value *st__named_arg(const st_run *r, const char *name) {
  const int i = st__schema_arg(r->call->schema, name);
  return i < 0 || st__is_none(&r->args[i]) ? NULL : &r->args[i];
}

st_status st__get_dims(const st_run *r, st_dims *d) {
  const st_value *dim = st__named_arg(r, "dim");
  const st_value *keepdim = st__named_arg(r, "keepdim");
  d->self = st__arg_tensor(r, 0);
  d->keepdim = keepdim && keepdim->u.i;
  if (dim && dim->tag == ST_TAG_INT) {
    return st__wrap_dims(&dim->u.i, 1, d->self->ndim, &d->set);
  }
  return st__wrap_dims(dim ? dim->u.ints : NULL, dim ? (int)dim->len : 0,
                       d->self->ndim, &d->set);
}

st_status st__check_not_empty(const st_dims *d) {
  for (int i = 0; i < d->self->ndim; i++) {
    if (d->self->sizes[i] == 0 && d->set >> i & 1) {
      return st__fail(ST_BAD_SHAPE, "dimension %d of self, shape %s, has no "
                      "elements to choose from", (int)st__shown(i),
                      ST_SHAPE_TEXT(d->self));
    }
  }
  return ST_OK;
}

st_status st__set_reduced(st_run *r, int i, const st_dims *d,
                          st_dtype dtype) {
  int64_t sizes[ST_MAX_DIMS];
  int n = 0;
  for (int k = 0; k < d->self->ndim; k++) {
    const bool reduce = d->set >> k & 1;
    if (!reduce) sizes[n++] = d->self->sizes[k];
    else if (d->keepdim) sizes[n++] = 1;
  }
  return st__set_output(r, i, n, sizes, NULL, dtype);
}
